package kernel

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// A scaler is a matrix's type with its softmax functions, all taking float32 values that the type can hold and giving
// float64 ones.
type scaler struct {
	name          string
	soft, logSoft func(dst []float64, dstStride int, x []float32, rows, k, stride int)
	lse           func(dst []float64, x []float32, rows, k, stride int)
	argMax        func(dst []int32, x []float32, rows, k, stride int)
	rel, more     float64 // softmax: relative error, and how it grows with the distance to the largest logit
	zeroBelow     float64 // the distance from which a probability may be 0
	floor         float64 // the error of what is below the normal numbers
	stats         func(c *Stats, x []float32, rows, k, stride int, y []int32) uint8
	round         func(x []float32)
}

// in32 makes the softmax of a type that gives float32 one that gives float64. Places that are not written keep theirs.
func in32[T any](conv func([]float32) []T, f func([]float32, int, []T, int, int, int)) func([]float64, int, []float32, int, int, int) {
	return func(dst []float64, dstStride int, x []float32, rows, k, stride int) {
		d := make([]float32, len(dst))
		for i, v := range dst {
			d[i] = float32(v)
		}
		f(d, dstStride, conv(x), rows, k, stride)
		for i, v := range d {
			dst[i] = float64(v)
		}
	}
}

func with[D, T any](conv func([]float32) []T, f func([]D, []T, int, int, int)) func([]D, []float32, int, int, int) {
	return func(dst []D, x []float32, rows, k, stride int) { f(dst, conv(x), rows, k, stride) }
}

func same[T any](x []T) []T { return x }

var scalers = []scaler{
	{"f32", in32(same[float32], SoftmaxF32), in32(same[float32], LogSoftmaxF32), LogSumExpF32, ArgMaxF32, 5e-7, 8e-8, 124 * math.Ln2, 0x1p-149, LogitStatsF32, forms[0].roundInput},
	{"f64", func(d []float64, ds int, x []float32, rows, k, stride int) {
		SoftmaxF64(d, ds, widen64(x), rows, k, stride)
	},
		func(d []float64, ds int, x []float32, rows, k, stride int) {
			LogSoftmaxF64(d, ds, widen64(x), rows, k, stride)
		},
		with(widen64, LogSumExpF64), with(widen64, ArgMaxF64), 1e-15, 2e-16, 1019 * math.Ln2, 0x1p-1074, forms[1].logits, forms[1].roundInput},
	{"f16", in32(toHalf, SoftmaxF16), in32(toHalf, LogSoftmaxF16), with(toHalf, LogSumExpF16), with(toHalf, ArgMaxF16), 5e-7, 8e-8, 124 * math.Ln2, 0x1p-149, forms[2].logits, forms[2].roundInput},
	{"bf16", in32(toBF16, SoftmaxBF16), in32(toBF16, LogSoftmaxBF16), with(toBF16, LogSumExpBF16), with(toBF16, ArgMaxBF16), 5e-7, 8e-8, 124 * math.Ln2, 0x1p-149, forms[3].logits, forms[3].roundInput},
}

func TestSoftmax(t *testing.T) {
	lengths := append([]int{1, 2, 3, 10, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 1000, 1023, 1024, 1025, 2050},
		sized(nil, []int{32000}, []int{32000, 128256})...)
	isatest.Each(t, func(t *testing.T) {
		for _, f := range scalers {
			for _, k := range lengths {
				r := check.Rand(uint64(k))
				const rows = 3
				x := check.Logits32(r, rows*k, []float64{1, 5, 15}[r.IntN(3)])
				x[r.IntN(len(x))] = float32(math.Inf(-1))
				if k == 1 {
					x[0], x[1], x[2] = 5, -7, 0
				}
				f.round(x)
				d, ld, lse := make([]float64, rows*k), make([]float64, rows*k), make([]float64, rows)
				f.soft(d, k, x, rows, k, k)
				f.logSoft(ld, k, x, rows, k, k)
				f.lse(lse, x, rows, k, k)
				c := newStats(rows)
				f.stats(c, x, rows, k, k, make([]int32, rows))
				for i := range rows {
					row := x[i*k : (i+1)*k]
					o, largest := logitOracle(row, 0), row64max(row)
					if lse[i] != c.Norm[i] {
						t.Fatalf("%s k=%d: log-sum-exp %v, Norm %v", f.name, k, lse[i], c.Norm[i])
					}
					sum := sum64{}
					for j, v := range row {
						p, lp := d[i*k+j], ld[i*k+j]
						sum.add(p)
						d := largest - float64(v)
						want := math.Exp(-d) * o.Top[0]
						if p == 0 && d > f.zeroBelow {
							continue
						}
						if math.Abs(p-want) > (f.rel+f.more*d)*want+f.floor || math.IsInf(float64(v), -1) && p != 0 {
							t.Fatalf("%s k=%d: softmax(%v) = %v, want %v", f.name, k, v, p, want)
						}
						wl := float64(v) - lse[i]
						if f.name != "f64" {
							wl = float64(float32(wl))
						}
						if lp != wl {
							t.Fatalf("%s k=%d: log-softmax(%v) = %v, want %v", f.name, k, v, lp, wl)
						}
					}
					if tol := f.rel + 10*f.more + float64(k)*f.floor; math.Abs(sum.val()-1) > tol {
						t.Fatalf("%s k=%d: sum %v", f.name, k, sum.val())
					}
					// The largest is the Top column but for the rounding of its factors.
					if p := d[i*k+int(c.ArgMax[i])]; math.Abs(p-c.Top[i]) > c.Top[i]*math.Min(f.rel, 0x1p-22) {
						t.Fatalf("%s k=%d: largest %v, Top %v", f.name, k, p, c.Top[i])
					}
				}
			}
		}
	})
}

func row64max(x []float32) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = math.Max(m, float64(v))
	}
	return m
}

// TestSoftmaxFaults: NaN in all places of a row with a fault, none beside it; a far row has its values.
func TestSoftmaxFaults(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	isatest.Each(t, func(t *testing.T) {
		for _, f := range scalers {
			for _, k := range []int{1, 2, 16, 17, 32, 33, 64, 1024, 1025, 2049} {
				for _, v := range []float32{nan, inf} {
					for _, j := range []int{0, k / 2, k - 1} {
						const pad = 3
						x := make([]float32, 3*k)
						x[k+j] = v
						d := make([]float64, 2*(k+pad)+k)
						for i := range d {
							d[i] = 9
						}
						ld := append([]float64(nil), d...)
						lse := make([]float64, 3)
						f.soft(d, k+pad, x, 3, k, k)
						f.logSoft(ld, k+pad, x, 3, k, k)
						f.lse(lse, x, 3, k, k)
						for i := range d {
							row, col := i/(k+pad), i%(k+pad)
							bad := row == 1
							switch {
							case col >= k:
								if d[i] != 9 || ld[i] != 9 {
									t.Fatalf("%s k=%d: the padding was written", f.name, k)
								}
							case bad != (d[i] != d[i]) || bad != (ld[i] != ld[i]):
								t.Fatalf("%s k=%d: row %d has %v %v", f.name, k, row, d[i], ld[i])
							}
						}
						if lse[1] == lse[1] || lse[0] != lse[2] || lse[0] != lse[0] {
							t.Fatalf("%s k=%d: log-sum-exp %v", f.name, k, lse)
						}
					}
				}
				x := make([]float32, k)
				for j := range x {
					x[j] = -inf
				}
				d := make([]float64, k)
				if f.soft(d, k, x, 1, k, k); d[0] == d[0] || d[k-1] == d[k-1] {
					t.Fatalf("%s k=%d: all -Inf gives %v", f.name, k, d[0])
				}
			}
		}
		for _, k := range []int{2, 33, 1500} { // beyond the range of the exponents
			for _, s := range []float32{3e38, -3e38, 1e7} {
				x := make([]float32, k)
				for j := range x {
					x[j] = s * (1 - float32(b2i(s > 0)*b2i(j > 1)))
				}
				d := make([]float32, k)
				SoftmaxF32(d, k, x, 1, k, k)
				want := float32(0.5)
				if s < 0 {
					want = 1 / float32(k)
				}
				if math.Abs(float64(d[1]/want-1)) > 1e-6 || k > 2 && s > 0 && d[2] != 0 {
					t.Fatalf("k=%d, %v: %v %v, want %v", k, s, d[1], d[k-1], want)
				}
			}
		}
	})
}

// TestSoftmaxInPlace: dst may be x; and the input, where it is not, stays; against guard pages and at offsets.
func TestSoftmaxInPlace(t *testing.T) {
	for _, tail := range []bool{true, false} {
		const most = 3 * 2060
		gx, gd := check.Guarded[float32](t, most, tail), check.Guarded[float32](t, most, tail)
		hx, hd := check.Guarded[float64](t, most, tail), check.Guarded[float64](t, most, tail)
		isatest.Each(t, func(t *testing.T) {
			for _, k := range []int{1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 65, 100, 1023, 1025, 2050} {
				stride := k + k%4
				n := 2*stride + k
				src := check.Logits32(check.Rand(uint64(k)), n, 4)
				x, d, x64, d64 := gx[:n], gd[:n], hx[:n], hd[:n]
				if tail {
					x, d, x64, d64 = gx[most-n:], gd[most-n:], hx[most-n:], hd[most-n:]
				}
				for _, f := range []func([]float32, int, []float32, int, int, int){SoftmaxF32, LogSoftmaxF32} {
					copy(x, src)
					copy(d, src) // so that the padding is the same
					f(d, stride, x, 3, k, stride)
					for j := range x {
						if x[j] != src[j] {
							t.Fatalf("k=%d: the input was written", k)
						}
					}
					f(x, stride, x, 3, k, stride)
					off := check.Offset[float32](n, k%16)
					copy(off, src)
					f(off, stride, off, 3, k, stride)
					for j := range x {
						if x[j] != d[j] || off[j] != d[j] {
							t.Fatalf("k=%d at %d: in place %v %v, else %v", k, j, x[j], off[j], d[j])
						}
					}
				}
				for _, f := range []func([]float64, int, []float64, int, int, int){SoftmaxF64, LogSoftmaxF64} {
					copy(x64, widen64(src))
					copy(d64, x64)
					f(d64, stride, x64, 3, k, stride)
					f(x64, stride, x64, 3, k, stride)
					for j := range x64 {
						if x64[j] != d64[j] {
							t.Fatalf("f64 k=%d at %d: in place %v, else %v", k, j, x64[j], d64[j])
						}
					}
				}
				var am [3]int32
				var lse [3]float64
				copy(x, src)
				ArgMaxF32(am[:], x, 3, k, stride)
				LogSumExpF32(lse[:], x, 3, k, stride)
			}
		})
	}
}

func TestArgMax(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	neg0 := float32(math.Copysign(0, -1))
	isatest.Each(t, func(t *testing.T) {
		for _, f := range scalers {
			for _, c := range []struct {
				row  []float32
				want int32
			}{
				{[]float32{1}, 0}, {[]float32{nan}, -1}, {[]float32{1, nan}, -1}, {[]float32{nan, 1}, -1}, {[]float32{inf, nan, inf}, -1},
				{[]float32{-inf, -inf}, 0}, {[]float32{-inf, -1, inf, inf}, 2}, {[]float32{neg0, 0}, 0}, {[]float32{0, neg0}, 0},
				{[]float32{-1, neg0, 0, 0}, 1}, {[]float32{2, 3, 3, 1}, 1}, {[]float32{-inf, -2}, 1},
			} {
				got := []int32{7, 7}
				if f.argMax(got, c.row, 1, len(c.row), len(c.row)); got[0] != c.want || got[1] != 7 {
					t.Errorf("%s %v: %v, want %d", f.name, c.row, got, c.want)
				}
			}
			for _, k := range []int{1, 2, 3, 15, 16, 17, 31, 33, 64, 100, 1023, 1024, 1025, 2100} {
				for _, at := range []int{0, 1, k / 2, k - 2, k - 1, min(k-1, 1023)} {
					if at < 0 || at >= k {
						continue
					}
					x := check.Logits32(check.Rand(uint64(k)), 2*k, 1)
					f.round(x)
					x[at], x[k+at] = 50, nan
					if at+1 < k {
						x[at+1] = 50
					}
					got := make([]int32, 2)
					if f.argMax(got, x, 2, k, k); got[0] != int32(at) || got[1] != -1 {
						t.Fatalf("%s k=%d: %v, want %d and -1", f.name, k, got, at)
					}
				}
			}
		}
	})
}
