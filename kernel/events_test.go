package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// eventRows returns rows of a binary task, scores of which many are edges of bins.
func eventRows(n int, seed uint64) (p []float64, labels []int32) {
	r := check.Rand(seed)
	p, labels = make([]float64, n), make([]int32, n)
	for i := range p {
		switch p[i] = r.Float64(); r.IntN(8) {
		case 0:
			p[i] = float64(r.IntN(16)) / 15
		case 1:
			p[i] = []float64{0, 1, 0.5, math.Copysign(0, -1), 5e-324, 1 - 0x1p-53, 0x1p-30}[r.IntN(7)]
		case 2:
			p[i] = math.Nextafter(float64(r.IntN(16))/15, r.Float64())
		}
		labels[i] = int32(r.IntN(2))
	}
	return p, labels
}

func narrowed(p []float64) []float32 {
	x := make([]float32, len(p))
	for i, v := range p {
		x[i] = float32(v)
	}
	return x
}

func widened(x []float32) []float64 {
	p := make([]float64, len(x))
	for i, v := range x {
		p[i] = float64(v)
	}
	return p
}

// TestEventBins: the sums are those of bins and sums of the columns.
func TestEventBins(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for seed, n := range []int{0, 1, 15, 16, 17, 63, 64, 65, 100, 1000, 2047, MaxSum} {
			for _, bins := range []int{1, 2, 3, 10, 15, 20, 21, 100, 128, 129} {
				p, labels := eventRows(n, uint64(seed))
				x, edges := narrowed(p), Edges(bins)
				want := func(p []float64) []BinSum {
					idx, y, sums := make([]int32, n), make([]uint8, n), make([]BinSum, bins)
					for i, l := range labels {
						y[i] = uint8(l)
					}
					binEqual(idx, p, edges, LeftClosed)
					binSums(sums, idx, p, y)
					return sums
				}
				if got := make([]BinSum, bins); !EventBinsF64(got, p, labels, edges) || !slices.Equal(got, want(p)) {
					t.Errorf("%d rows, %d bins, float64: %v, not %v", n, bins, got, want(p))
				}
				if got := make([]BinSum, bins); !EventBinsF32(got, x, labels, edges) || !slices.Equal(got, want(widened(x))) {
					t.Errorf("%d rows, %d bins, float32: %v, not %v", n, bins, got, want(widened(x)))
				}
			}
		}
	})
}

// TestEventSums: the sums are those of the columns of a binary task.
func TestEventSums(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for seed, n := range []int{0, 1, 15, 16, 17, 100, 1000, 2047, MaxSum} {
			p, labels := eventRows(n, uint64(seed))
			want := func(p []float64) (s EventSum) {
				f := func() []float64 { return make([]float64, n) }
				c := Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(), Positive: f(), ArgMax: make([]int32, n), Flags: make([]uint8, n)}
				BinaryProbStatsF64(&c, p, labels)
				hit, errors := make([]uint8, n), f()
				Hits(hit, c.ArgMax, labels)
				SquaredErrors(errors, &c, hit, 1)
				s.Top, _ = cellSum(c.Top, hit)
				m := moments(errors, &WindowBrier, &WindowBrier2)
				s.Brier, s.Brier2 = m.Hi, m.Hi2
				return s
			}
			if got := EventSumsF64(p, labels); got != want(p) {
				t.Errorf("%d rows, float64: %+v, not %+v", n, got, want(p))
			}
			x := narrowed(p)
			if got := EventSumsF32(x, labels); got != want(widened(x)) {
				t.Errorf("%d rows, float32: %+v, not %+v", n, got, want(widened(x)))
			}
		}
	})
}

// TestEventFaults: one row with a fault, wherever it is, and nothing is added.
func TestEventFaults(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, n := range []int{1, 70, 100} {
			for at := range n {
				for _, fault := range []struct {
					p float64
					y int32
				}{{math.NaN(), 0}, {math.Inf(1), 1}, {math.Inf(-1), 1}, {-0x1p-149, 0}, {1 + 0x1p-23, 1}, {2, 0}, {0.5, 2}, {0.5, -1}, {0.5, math.MinInt32}, {1e30, 1}} {
					p, labels := eventRows(n, uint64(n))
					p[at], labels[at] = fault.p, fault.y
					x, edges := narrowed(p), Edges(15)
					sums := make([]BinSum, 15)
					wide, near := EventBinsF64(sums, p, labels, edges), EventBinsF32(sums, x, labels, edges)
					if wide || near || !slices.Equal(sums, make([]BinSum, 15)) {
						t.Fatalf("row %d of %d is %v: %v %v", at, n, fault, wide, near)
					}
				}
			}
		}
	})
}

func TestEventShapes(t *testing.T) {
	for name, f := range map[string]func(){
		"labels":   func() { EventSumsF32(make([]float32, 2), make([]int32, 1)) },
		"rows":     func() { EventSumsF64(make([]float64, MaxSum+1), make([]int32, MaxSum+1)) },
		"bins":     func() { EventBinsF32(make([]BinSum, 3), make([]float32, 2), make([]int32, 2), Edges(2)) },
		"bin rows": func() { EventBinsF64(make([]BinSum, 3), make([]float64, MaxSum+1), make([]int32, MaxSum+1), Edges(3)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
