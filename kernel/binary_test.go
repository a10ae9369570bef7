package kernel

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// binaryLogits are scores of both signs and many sizes, with the awkward ones.
func binaryLogits() []float32 {
	x := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 1e-30, -1e-30, 0x1p-149, -0x1p-149, 17, -17, 50, -50, 62.3, 62.4, 62.5,
		-62.3, -62.4, 87, -87, 90, -90, 1000, -1000, 1e7, -1e7, 3e38, -3e38}
	r := check.Rand(41)
	for _, s := range []float64{0.01, 1, 8, 40} {
		x = append(x, check.Logits32(r, 500, s)...)
	}
	return x
}

// TestBinaryLogits: the columns are those of the row (0, x), bit for bit but for Rest and Entropy, which have no lane's
// rounding to float32, for Label where it is the smaller, which is Tail, and for the arg max at 0.
func TestBinaryLogits(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		x := binaryLogits()
		n := len(x)
		for _, wide := range []bool{false, true} {
			for y := range int32(2) {
				got, want := newStats(n), newStats(n)
				labels := make([]int32, n)
				pairs := make([]float32, 2*n)
				for i, v := range x {
					labels[i], pairs[2*i+1] = y, v
				}
				eps := 2e-6
				if wide {
					eps = 1e-13
					BinaryLogitStatsF64(got, widen64(x), labels)
					LogitStatsF64(want, widen64(pairs), n, 2, 2, labels)
				} else {
					BinaryLogitStatsF32(got, x, labels)
					LogitStatsF32(want, pairs, n, 2, 2, labels)
				}
				for i, v := range x {
					if got.Top[i] != want.Top[i] || got.Tail[i] != want.Tail[i] || got.NLL[i] != want.NLL[i] || got.Norm[i] != want.Norm[i] ||
						got.Flags[i] != 0 {
						t.Fatalf("wide=%v y=%d %v: %v %v %v %v, want %v %v %v %v", wide, y, v, got.Top[i], got.Tail[i], got.NLL[i], got.Norm[i],
							want.Top[i], want.Tail[i], want.NLL[i], want.Norm[i])
					}
					if math.Abs(got.Entropy[i]-want.Entropy[i]) > eps || math.Abs(got.Label[i]-want.Label[i]) > eps ||
						got.Rest[i] != got.Tail[i]*got.Tail[i] || math.Abs(got.Rest[i]-want.Rest[i]) > eps {
						t.Fatalf("wide=%v y=%d %v: %v %v %v, want %v %v %v", wide, y, v, got.Entropy[i], got.Label[i], got.Rest[i],
							want.Entropy[i], want.Label[i], want.Rest[i])
					}
					pred := int32(b2i(v > 0))
					if got.ArgMax[i] != pred || got.Rank[i] != int32(b2i(y != pred)) || got.ArgMax[i] != want.ArgMax[i] {
						t.Fatalf("%v: arg max %d rank %d", v, got.ArgMax[i], got.Rank[i])
					}
					p := 1 / (1 + math.Exp(-float64(v)))
					if math.Abs(got.Positive[i]-p) > eps || pred == y && got.Label[i] != got.Top[i] || pred != y && got.Label[i] != got.Tail[i] {
						t.Fatalf("%v: positive %v label %v, want %v", v, got.Positive[i], got.Label[i], p)
					}
					got.each(i, func(name string, u uint64) {
						if u == 1<<63 {
							t.Fatalf("%v: %s is -0", v, name)
						}
					})
				}
			}
		}
		half := []uint16{0x7e00, 0x7c00, 0xfc00, 0, 0x8000, 1, 0x8001, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x2e66}
		bf := []uint16{0x7fc0, 0x7f80, 0xff80, 0, 0x8000, 1, 0x8001, 0x3f80, 0xbf80, 0x7f7f, 0xff7f, 0x3dcd}
		wide := make([]float32, len(half))
		labels := make([]int32, len(half))
		for i := range labels {
			labels[i] = int32(i & 1)
		}
		for _, c := range []struct {
			bits   []uint16
			widen  func([]float32, []uint16)
			half   func(*Stats, []uint16, []int32) uint8
			single func(*Stats, []float32, []int32) uint8
		}{
			{half, WidenF16, BinaryLogitStatsF16, BinaryLogitStatsF32}, {half, WidenF16, BinaryProbStatsF16, BinaryProbStatsF32},
			{bf, WidenBF16, BinaryLogitStatsBF16, BinaryLogitStatsF32}, {bf, WidenBF16, BinaryProbStatsBF16, BinaryProbStatsF32},
		} {
			c.widen(wide, c.bits)
			g, w := newStats(len(half)), newStats(len(half))
			if c.half(g, c.bits, labels) != c.single(w, wide, labels) {
				t.Fatal("flags differ")
			}
			for i := range half {
				sameRow(t, "half precision", g, i, w, i)
			}
		}
	})
}

func TestBinaryProbs(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := []float64{0, math.Copysign(0, -1), 1, 0.5, math.Nextafter(0.5, 0), math.Nextafter(0.5, 1), 1e-300, 5e-324, 1e-20, 1e-10,
			1 - 0x1p-53, 0.25, 0.3, 0.9999, 0x1p-60}
		r := check.Rand(43)
		for range 2000 {
			p = append(p, r.Float64(), math.Ldexp(r.Float64(), -r.IntN(100)), 1-math.Ldexp(r.Float64(), -r.IntN(50)))
		}
		n := len(p)
		for y := range int32(2) {
			labels := make([]int32, n)
			for i := range labels {
				labels[i] = y
			}
			c := newStats(n)
			if f := BinaryProbStatsF64(c, p, labels); f != 0 {
				t.Fatalf("flags %d", f)
			}
			for i, v := range p {
				q := 1 - v
				pred := int32(b2i(v > 0.5))
				top, tail := q, v
				if pred == 1 {
					top, tail = v, q
				}
				label, nll := q, -math.Log1p(-v)
				if y == 1 {
					label, nll = v, -math.Log(v)
				}
				if v < 0x1p-1022 && v > 0 && y == 1 {
					nll = -math.Log(v*0x1p60) + 60*math.Ln2 // the amd64 math.Log is wrong for subnormal numbers
				}
				h := 0.0
				if v > 0 && v < 1 {
					h = -v*math.Log(v) - q*math.Log1p(-v)
				}
				if c.Top[i] != top || c.Tail[i] != tail || c.Label[i] != label || c.Rest[i] != tail*tail || c.Norm[i] != 1 ||
					c.ArgMax[i] != pred || c.Rank[i] != int32(b2i(y != pred)) || c.Positive[i] != v || c.Flags[i] != 0 {
					t.Fatalf("y=%d p=%v: %v %v %v %v %v %v", y, v, c.Top[i], c.Tail[i], c.Label[i], c.ArgMax[i], c.Rank[i], c.Positive[i])
				}
				if nll != c.NLL[i] && ulps(c.NLL[i], nll) > 4 || math.Abs(c.Entropy[i]-h) > 1e-15 {
					t.Fatalf("y=%d p=%v: nll %v entropy %v, want %v %v", y, v, c.NLL[i], c.Entropy[i], nll, h)
				}
				c.each(i, func(name string, u uint64) {
					if u == 1<<63 {
						t.Fatalf("%v: %s is -0", v, name)
					}
				})
			}
		}
		x, wide := make([]float32, 500), make([]float64, 500)
		labels := make([]int32, 500)
		for i := range x {
			x[i] = r.Float32()
			wide[i], labels[i] = float64(x[i]), int32(i&1)
		}
		a, b := newStats(500), newStats(500)
		BinaryProbStatsF32(a, x, labels)
		BinaryProbStatsF64(b, wide, labels)
		for i := range x {
			sameRow(t, "float32 probability", a, i, b, i)
		}
	})
}

func TestBinaryFaults(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	isatest.Each(t, func(t *testing.T) {
		for _, c := range []struct {
			v             float64
			y             int32
			logits, probs uint8
		}{
			{nan, 0, FlagNotFinite, FlagNotFinite}, {inf, 1, FlagNotFinite, FlagNotFinite}, {-inf, 1, 0, FlagNotFinite}, {-inf, 0, 0, FlagNotFinite},
			{0.5, 2, FlagBadLabel, FlagBadLabel}, {0.5, -1, FlagBadLabel, FlagBadLabel}, {nan, 7, FlagNotFinite | FlagBadLabel, FlagNotFinite | FlagBadLabel},
			{1.25, 1, 0, FlagOutside}, {-0.25, 0, 0, FlagOutside},
		} {
			// Among good rows, at each place of a vector.
			for n := 1; n <= 40; n++ {
				at := n * 7 % n
				x32, x64, y := make([]float32, n), make([]float64, n), make([]int32, n)
				for i := range x64 {
					x64[i] = 0.75
				}
				x64[at], y[at] = c.v, c.y
				for i, v := range x64 {
					x32[i] = float32(v)
				}
				for _, f := range []struct {
					want uint8
					run  func(*Stats) uint8
				}{
					{c.logits, func(s *Stats) uint8 { return BinaryLogitStatsF32(s, x32, y) }}, {c.logits, func(s *Stats) uint8 { return BinaryLogitStatsF64(s, x64, y) }},
					{c.probs, func(s *Stats) uint8 { return BinaryProbStatsF32(s, x32, y) }}, {c.probs, func(s *Stats) uint8 { return BinaryProbStatsF64(s, x64, y) }},
				} {
					s := newStats(n)
					if got := f.run(s); got != f.want || s.Flags[at] != f.want {
						t.Fatalf("%v label %d: flags %d %d, want %d", c.v, c.y, got, s.Flags[at], f.want)
					}
					if f.want&flagsNoColumns != 0 && (math.Float64bits(s.NLL[at]) != 0x7FF8000000000000 || s.ArgMax[at] != -1 || s.Rank[at] != -1) {
						t.Fatalf("%v: a faulty row has columns", c.v)
					}
				}
			}
		}
		c := newStats(2)
		BinaryLogitStatsF32(c, []float32{float32(-inf), float32(-inf)}, []int32{0, 1})
		if c.Top[0] != 1 || c.Tail[0] != 0 || c.NLL[0] != 0 || c.NLL[1] != inf || c.Entropy[0] != 0 || c.Positive[1] != 0 || c.Label[1] != 0 {
			t.Errorf("-Inf: %+v", c)
		}
	})
}
