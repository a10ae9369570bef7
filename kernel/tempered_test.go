package kernel

import (
	"hash/fnv"
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/internal/isa/isatest"
)

func newTempered(n int) *Tempered {
	return &Tempered{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
}

// temperedPlain returns a row's columns by math.Exp, with compensated sums, the variance by differences to the mean.
func temperedPlain(row []float64, y int, beta float64) [4]float64 {
	m := math.Inf(-1)
	for _, v := range row {
		m = math.Max(m, v)
	}
	sum := func(f func(d, e float64) float64) float64 {
		s, c := 0.0, 0.0
		for _, v := range row {
			e := math.Exp(beta * (v - m))
			if e == 0 {
				continue
			}
			z := f(v-m, e)
			t := s + z
			c += (s - t) + z
			s = t
		}
		return s + c
	}
	s0 := sum(func(_, e float64) float64 { return e })
	mean := sum(func(d, e float64) float64 { return d * e }) / s0
	dy := row[y] - m
	return [4]float64{math.Log(s0) - beta*dy, mean - dy, sum(func(d, e float64) float64 { return e * (d - mean) * (d - mean) }) / s0, dy}
}

// TestTempered holds the columns to the formulas, from one class to the most that there are.
func TestTempered(t *testing.T) {
	r := check.Rand(131)
	for _, k := range append([]int{1, 2, 3, 10, 31, 32, 33, 100, 1000, 1025, 5000}, sized(nil, []int{262144}, []int{262144})...) {
		rows, betas := 12, []float64{1, 0.01, 0.7, 3, 40, 1e-9}
		if k >= 1000 {
			rows = sized(2, 12, 12)
		}
		if k > 5000 {
			rows, betas = 1, betas[:sized(2, 2, len(betas))]
		}
		for _, beta := range betas {
			x, y := check.Logits32(r, rows*k, 4), make([]int32, rows)
			for i := range y {
				y[i] = int32(r.IntN(k))
			}
			wide := widen64(x)
			wants := make([][4]float64, rows)
			for i := range wants {
				wants[i] = temperedPlain(wide[i*k:(i+1)*k], int(y[i]), beta)
			}
			eachLevel(func(level isa.Level) {
				a, b := newTempered(rows), newTempered(rows)
				TemperedF32(a, x, rows, k, k, y, beta)
				TemperedF64(b, wide, rows, k, k, y, beta)
				for i, want := range wants {
					for j, w := range want {
						got := [4][]float64{a.NLL, a.Slope, a.Curvature, a.Label}[j][i]
						also := [4][]float64{b.NLL, b.Slope, b.Curvature, b.Label}[j][i]
						if got != also {
							t.Fatalf("isa=%v k=%d beta=%g row %d column %d: %v, of float64 %v", level, k, beta, i, j, got, also)
						}
						scale := math.Max(1, math.Abs(want[3])*math.Max(1, beta))
						if j == 2 {
							scale = w * (1 + float64(k)/100)
						}
						if math.Abs(got-w) > 5e-14*scale {
							t.Fatalf("isa=%v k=%d beta=%g row %d column %d: %v, want %v", level, k, beta, i, j, got, w)
						}
					}
				}
			})
		}
	}
}

// TestTemperedFaults: what is no row has the canonical NaN, and an infinite NLL is one.
func TestTemperedFaults(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	isatest.Each(t, func(t *testing.T) {
		for _, k := range []int{1, 2, 7, 10, 32, 33, 64, 100, 1030} {
			for at := range min(k, 70) {
				betas := []float64{1e-300, 1e-3, 1, 1e300}
				for d := range deal(at, sized(1, 2, all), len(betas)) {
					beta := betas[d[0]]
					const rows = 11
					x, y := make([]float32, rows*k), make([]int32, rows)
					for i := range x {
						x[i] = float32(i%7) - 3
					}
					row := func(i int) []float32 { return x[i*k : (i+1)*k] }
					row(0)[at], row(1)[at], y[2], y[3] = nan, inf, -1, int32(k)
					for j := range k {
						row(4)[j], row(5)[j], row(9)[j] = -inf, -inf, 5
					}
					row(5)[at], y[5] = 2, int32(at)
					row(6)[at], y[6] = -inf, int32(at)
					row(7)[at], y[7] = -3e38, int32(at)
					row(8)[at] = 3e38
					row(10)[at], row(10)[k-1] = nan, inf
					c := newTempered(rows)
					TemperedF32(c, x, rows, k, k, y, beta)
					d := newTempered(rows)
					TemperedF64(d, widen64(x), rows, k, k, y, beta)
					for i := range rows {
						for j, col := range [][]float64{c.NLL, c.Slope, c.Curvature, c.Label, d.NLL, d.Slope, d.Curvature, d.Label} {
							v := col[i]
							none := i <= 4 || i == 10 || i == 6 && k == 1
							if none != (v != v) || none && math.Float64bits(v) != 0x7FF8000000000000 {
								t.Fatalf("k=%d at %d beta=%g row %d column %d: %v", k, at, beta, i, j, v)
							}
							if i == 5 && v != 0 {
								t.Fatalf("k=%d at %d beta=%g: column %d of a row of one class is %v", k, at, beta, j, v)
							}
							if i == 6 && k > 1 && j%4 != 2 && v != [4]float64{math.Inf(1), math.Inf(1), 0, math.Inf(-1)}[j%4] {
								t.Fatalf("k=%d at %d beta=%g: column %d of a label of -Inf is %v", k, at, beta, j, v)
							}
						}
					}
				}
			}
		}
	})
}

// TestTemperedFar: no good row of float64 has a NaN, whatever beta is from 1e-300 to 1e300.
func TestTemperedFar(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(137)
		for range 2000 {
			k := 1 + r.IntN(70)
			x := make([]float64, k)
			for j := range x {
				if x[j] = math.Ldexp(r.NormFloat64(), r.IntN(2100)-1075); r.IntN(9) == 0 {
					x[j] = [...]float64{math.Inf(-1), maxFinite, -maxFinite, 0, 5e-324}[r.IntN(5)]
				}
				if math.IsInf(x[j], 1) {
					x[j] = 0
				}
			}
			x[r.IntN(k)] = 1
			c := newTempered(1)
			beta := math.Pow(10, r.Float64()*600-300)
			TemperedF64(c, x, 1, k, k, []int32{int32(r.IntN(k))}, beta)
			if c.NLL[0] != c.NLL[0] || c.Slope[0] != c.Slope[0] || !(c.Curvature[0] >= 0) || !(c.Label[0] <= 0) {
				t.Fatalf("beta=%g: %v of %v", beta, c, x)
			}
		}
	})
}

// hashTempered is of the columns of rows and the probabilities that scaled ones have.
func hashTempered() uint64 {
	h := fnv.New64a()
	for _, k := range []int{1, 2, 3, 7, 10, 16, 31, 32, 33, 64, 100, 1000, 1024, 1025, 2500} {
		const rows = 6
		x := goldenRows(check.Rand(uint64(4000+k)), rows, k)
		y := make([]int32, rows)
		for i := range y {
			y[i] = int32(i * 7 % k)
		}
		c, p, q := newTempered(rows), make([]float32, rows*k), make([]float64, rows*k)
		for _, beta := range []float64{1, 0.6, 25, 1e-5, 1e-250} {
			for half := range 2 {
				if half == 0 {
					TemperedF32(c, x, rows, k, k, y, beta)
				} else {
					TemperedF64(c, widen64(x), rows, k, k, y, beta)
				}
				for i := range rows {
					for _, v := range []float64{c.NLL[i], c.Slope[i], c.Curvature[i], c.Label[i]} {
						hash64(h, math.Float64bits(v))
					}
				}
			}
			ScaledSoftmaxF32(p, k, x, rows, k, k, beta)
			ScaledSoftmaxF64(q, k, widen64(x), rows, k, k, beta)
			for j := range p {
				if p[j] == p[j] {
					hash64(h, uint64(math.Float32bits(p[j])))
					hash64(h, math.Float64bits(q[j]))
				}
			}
		}
	}
	return h.Sum64()
}

// TestTemperedOptimum: the inverse temperature of the least NLL, at which the slopes sum to 0, is that of 50 digits.
func TestTemperedOptimum(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, of := range []struct {
			rows, k int
			want    float64
		}{{60, 10, 0.2752903858134278805307378}, {60, 37, 0.4000816855075632368455619}, {20, 1100, 0.4191235157728862782005086}} {
			x, y := make([]float32, of.rows*of.k), make([]int32, of.rows)
			for i := range of.rows {
				row := x[i*of.k : (i+1)*of.k]
				for j := range row {
					row[j] = float32((i*i*7919+j*104729+i*j*31)%1009)/64 - 8
				}
				if y[i] = argMaxRow32(&rows32{f32: x}, i*of.k, of.k); i%3 == 0 {
					y[i] = int32(i * 5 % of.k)
				}
			}
			c := newTempered(of.rows)
			for name, run := range map[string]func(beta float64){
				"f32": func(beta float64) { TemperedF32(c, x, of.rows, of.k, of.k, y, beta) },
				"f64": func(beta float64) { TemperedF64(c, widen64(x), of.rows, of.k, of.k, y, beta) },
				"f16": func(beta float64) { TemperedF16(c, toHalf(x), of.rows, of.k, of.k, y, beta) },
			} {
				beta := 0.4
				for range 12 {
					run(beta)
					slope, curvature := 0.0, 0.0
					for i := range c.Slope {
						slope += c.Slope[i]
						curvature += c.Curvature[i]
					}
					beta -= slope / curvature
				}
				if e := math.Abs(beta/of.want - 1); e > 2e-14 {
					t.Errorf("%d x %d %s: %.17g, want %.17g, off by %.1e of it", of.rows, of.k, name, beta, of.want, e)
				}
			}
		}
	})
}
