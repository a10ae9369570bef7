package calib_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/order"
)

func both(t *testing.T, p *metrics.Predictions, bins ...int) (*cells.Cells, []*calib.Bins) {
	t.Helper()
	c := metrics.Must(cells.New(nil))
	accs, all := []metrics.Accumulator{c}, []*calib.Bins(nil)
	for _, n := range bins {
		all = append(all, metrics.Must(calib.NewBins(&calib.Options{Bins: n})))
		accs = append(accs, all[len(all)-1])
	}
	if err := metrics.NewPass(nil, accs...).Add(p); err != nil {
		t.Fatal(err)
	}
	return c, all
}

// TestEvenOfCells compares equal-width bins from cells with those of the rows. If bins are unions of cells, they are
// bit-identical; otherwise the ECE differs by at most the bound.
func TestEvenOfCells(t *testing.T) {
	widest := 0.0
	for law := range testrows.Laws {
		for _, n := range []int{5000, 400000} {
			if n > 5000 && (testing.Short() || law != "rare" && law != "confident" && !check.Full()) {
				continue
			}
			c, all := both(t, testrows.Lawful(law, n), 1, 2, 3, 5, 7, 10, 11, 13, 15, 17, 20, 23, 25, 30, 37, 50, 64, 100, 101, 300)
			for _, b := range all {
				bins := b.Options().Bins
				got, bound := calib.EvenOf(c, bins)
				want := b.ECE()
				switch {
				case c.Exact() || kernel.GridBins(bins):
					if bound != 0 || got.ECE() != want {
						t.Errorf("%s, %d rows, %d bins: %v and bound %v, want %v", law, n, bins, got.ECE(), bound, want)
					}
					g, w := got.Bins(0.9), b.Bins(0.9)
					for i := range w {
						if g[i].Count != w[i].Count || g[i].Confidence != w[i].Confidence && w[i].Count > 0 || g[i].Lower != w[i].Lower || g[i].Upper != w[i].Upper {
							t.Errorf("%s: bin %d of %d: %+v, want %+v", law, i, bins, g[i], w[i])
						}
					}
					if gi, wi := got.Interval(0.95), b.Interval(0.95); math.Abs(gi.Low-wi.Low) > 1e-12 || math.Abs(gi.High-wi.High) > 1e-12 {
						t.Errorf("%s: interval %v, want %v", law, gi, wi)
					}
				default:
					if d := math.Abs(got.ECE() - want); !(d <= bound) {
						t.Errorf("%s, %d bins: %v is %v from %v, bound %v", law, bins, got.ECE(), d, want, bound)
					}
					if widest = max(widest, bound); bins < 40 && bound > 0.03 {
						t.Errorf("%s, %d bins: a bound of %v says nothing", law, bins, bound)
					}
				}
			}
		}
	}
	t.Logf("widest bound %v", widest)
}

func TestEqualMassOfCells(t *testing.T) {
	for law := range testrows.Laws {
		for _, n := range []int{1, 2, 10, 5000, 400000} {
			if n > 5000 && (testing.Short() || law != "rare" && law != "confident" && !check.Full()) {
				continue
			}
			p := testrows.Lawful(law, n)
			hit := make([]uint8, n)
			for i, y := range p.Labels {
				hit[i] = uint8(y)
			}
			c, _ := both(t, p)
			for _, bins := range []int{1, 2, 15, 30, 100} {
				want := order.EqualMassF64(p.F64, hit, bins, -1, 1)
				got, bound := calib.EqualMassOf(c, bins)
				if c.Exact() {
					if bound != 0 || got.ECE() != want.ECE() {
						t.Errorf("%s, %d rows, %d bins: %v, want %v", law, n, bins, got.ECE(), want.ECE())
					}
					for i, b := range got.Bins(0.9) {
						if b.Count != want.Cells[i].N {
							t.Errorf("%s, %d rows: bin %d of %d has %d, want %d", law, n, i, bins, b.Count, want.Cells[i].N)
						}
						if i > 0 && b.Lower != want.Edges[i-1] && b.Count > 0 {
							t.Errorf("%s, %d rows: bin %d of %d begins at %v, want %v", law, n, i, bins, b.Lower, want.Edges[i-1])
						}
					}
				} else if d := math.Abs(got.ECE() - want.ECE()); !(d <= bound) || bound > 0.02*float64(bins)/15+0.01 {
					t.Errorf("%s, %d bins: %v is %v from %v, bound %v", law, bins, got.ECE(), d, want.ECE(), bound)
				}
			}
		}
	}
}

// TestEqualMassOfWeights checks that equal weights give the same bins as no weights, and integer weights those of repeated
// rows.
func TestEqualMassOfWeights(t *testing.T) {
	p := testrows.Lawful("cents", 3000)
	q := testrows.Lawful("uniform", 1500)
	for _, p := range []*metrics.Predictions{p, q} {
		c, _ := both(t, p)
		for _, w := range []float64{1, 0.1, 1.0 / 3, 7} {
			p.Weights = slices.Repeat([]float64{w}, p.Rows)
			cw, _ := both(t, p)
			for _, bins := range []int{1, 7, 15, 100} {
				a, _ := calib.EqualMassOf(c, bins)
				b, _ := calib.EqualMassOf(cw, bins)
				x, y := a.Bins(0.9), b.Bins(0.9)
				for i := range x {
					if x[i].Count != y[i].Count || x[i].Lower != y[i].Lower {
						t.Fatalf("weights %v, bin %d of %d: %+v, want %+v", w, i, bins, y[i], x[i])
					}
				}
			}
		}
		p.Weights = nil
	}
	p.Weights = make([]float64, p.Rows)
	for i := range p.Weights {
		p.Weights[i] = float64(1 + i%3)
	}
	c, _ := both(t, p)
	b, _ := calib.EqualMassOf(c, 10)
	total := 0.0
	for _, x := range b.Bins(0.9) {
		if total += x.Weight; x.Weight < 400 || x.Weight > 900 {
			t.Errorf("a bin of weight %v among 10 of 6,000", x.Weight)
		}
	}
	if total != 6000 {
		t.Errorf("weights of %v in all", total)
	}
}

func ExampleEqualMassOf() {
	c := metrics.Must(cells.New(nil))
	p := &metrics.Predictions{Labels: []int32{0, 0, 1, 0, 1, 1}}
	p.Rows, p.Classes, p.F64 = 6, 1, []float64{0.1, 0.2, 0.2, 0.6, 0.8, 0.9}
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		fmt.Println(err)
		return
	}
	b, bound := calib.EqualMassOf(c, 3)
	for _, x := range b.Bins(metrics.DefaultLevel) {
		fmt.Printf("from %.1f: %d rows, %.2f said, %.2f seen\n", x.Lower, x.Count, x.Confidence, x.Frequency)
	}
	even, _ := calib.EvenOf(c, 2)
	fmt.Printf("%.3f (off by %v at most), %.3f\n", b.ECE(), bound, even.ECE())
	// Output:
	// from 0.1: 1 rows, 0.10 said, 0.00 seen
	// from 0.2: 3 rows, 0.33 said, 0.33 seen
	// from 0.8: 2 rows, 0.85 said, 1.00 seen
	// 0.067 (off by 0 at most), 0.133
}

// TestSweepOfCells checks that a sweep over exact cells equals that over the rows.
func TestSweepOfCells(t *testing.T) {
	for law := range testrows.Laws {
		for i, n := range []int{1, 2, 3, 10, 100, 1000, 30000, 100, 1000, 10000} {
			p := testrows.Lawful(law, n)
			if i > 6 {
				p.Weights = make([]float64, n)
				for j := range p.Weights {
					p.Weights[j] = float64(1+j%5) / 3
				}
			}
			c, _ := both(t, p)
			got, bound := calib.SweepOf(c)
			want, err := calib.Named["SweepECE"](p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := math.Abs(got.ECE() - want.Value); d > 1e-15 || i <= 6 && d > 0 || bound != 0 || len(got.Bins(0.9)) != len(want.Partitions[0].Bins(0.9)) {
				t.Errorf("%s, %d rows: %v of %d bins, want %v of %d", law, n, got.ECE(), len(got.Bins(0.9)), want.Value, len(want.Partitions[0].Bins(0.9)))
			}
		}
	}
	if !testing.Short() {
		c, _ := both(t, testrows.Lawful("uniform", 300000))
		if _, bound := calib.SweepOf(c); bound == bound {
			t.Error("a bound of a sweep over a grid")
		}
	}
	none, _ := calib.SweepOf(metrics.Must(cells.New(nil)))
	if v := none.ECE(); v == v {
		t.Errorf("%v of nothing", v)
	}
}

// TestSweepOfFewScores checks that many bins over few scores, which are mostly empty, are skipped efficiently.
func TestSweepOfFewScores(t *testing.T) {
	few := func(seed uint64, n int, weighted bool) *metrics.Predictions {
		r := rand.New(rand.NewPCG(seed, 9))
		p := &metrics.Predictions{Labels: make([]int32, n)}
		p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
		for i := range p.F64 {
			if p.F64[i] = float64(1+2*r.IntN(5)) / 10; r.IntN(40) == 0 {
				p.F64[i] = r.Float64()
			}
			if r.Float64() < p.F64[i] {
				p.Labels[i] = 1
			}
		}
		if weighted {
			p.Weights = make([]float64, n)
			for i := range p.Weights {
				p.Weights[i] = float64(1 + r.IntN(4))
			}
		}
		return p
	}
	for seed := range uint64(check.Size(100, 300, 300)) {
		p := few(seed, 1+int(seed)*2, seed%3 == 0)
		c, _ := both(t, p)
		got, _ := calib.SweepOf(c)
		want, err := calib.Named["SweepECE"](p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, m := len(got.Bins(0.9)), len(want.Partitions[0].Bins(0.9)); n != m || math.Abs(got.ECE()-want.Value) > 1e-15 {
			t.Errorf("seed %d: %v of %d bins, want %v of %d", seed, got.ECE(), n, want.Value, m)
		}
	}
	p := few(1, 400000, false)
	for i, v := range p.F64 {
		p.F64[i] = math.Round(v*10) / 10
	}
	// The only fall is between scores of single rows.
	p.F64[0], p.F64[1], p.Labels[0], p.Labels[1] = 0.31, 0.32, 1, 0
	c, _ := both(t, p)
	if got, _ := calib.SweepOf(c); got.Len() != 400000 {
		t.Errorf("%d rows", got.Len())
	}
	// Data that rise throughout do not require trying every number of bins.
	for i := range p.F64 {
		p.F64[i], p.Labels[i] = float64(1+2*(i%5))/10, 0
		if i/5%10 < 1+2*(i%5) {
			p.Labels[i] = 1
		}
	}
	if got, err := calib.Named["SweepECE"](p, nil); err != nil || !(got.Value < 1e-12) || len(got.Partitions[0].Bins(0.9)) != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}
