package calib

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
)

// TestSelectedIsSorted checks that selecting and sorting give bit-identical bins.
func TestSelectedIsSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for trial := range 60 {
		rows, classes, bins := 1+r.IntN(300), 2+r.IntN(5), 1+r.IntN(40)
		steps := []float64{1 << 20, 50, 7}[trial%3]
		p := &metrics.Predictions{Scores: metrics.Scores{Rows: rows, Classes: classes, Stride: classes + trial%2}}
		for range rows * p.Stride {
			v := float64(r.IntN(int(steps))) / steps
			if trial%5 == 0 {
				p.F32 = append(p.F32, float32(v))
			} else {
				p.F64 = append(p.F64, v)
			}
		}
		for range rows {
			p.Labels = append(p.Labels, int32(r.IntN(classes)))
		}
		o := GeneralOptions{Options: Options{Bins: bins, Event: AllClasses, Data: metrics.Options{Unchecked: true}}, Binning: Adaptive, ClassConditional: trial%4 < 2, TotalDenominator: true}
		if trial%2 == 0 {
			o.Above = new(0.2)
		}
		fast, err := GeneralOf(p, &o)
		if err != nil {
			t.Fatal(err)
		}
		o = o.normal()
		g := new(General)
		m, err := g.load(p, &o)
		if err != nil {
			t.Fatal(err)
		}
		groups := []scores{m.flat(0, rows)}
		if o.ClassConditional {
			groups = make([]scores, classes)
			m.columns(0, groups)
		}
		for _, s := range groups {
			s, lost := o.above(s)
			if len(s.p) == 0 {
				g.Partitions = append(g.Partitions, &Partition{lost: lost})
				continue
			}
			c := cutter{scores: sorted(s), o: &o}
			c.mass(bins)
			b := c.partition()
			b.lost = lost
			g.Partitions = append(g.Partitions, b)
		}
		if slow := o.value(g.Partitions); slow != fast.Value {
			t.Fatalf("trial %d: %v sorted, %v selected", trial, slow, fast.Value)
		}
		for j, b := range g.Partitions {
			f := fast.Partitions[j]
			if b.Len() != f.Len() {
				t.Fatalf("trial %d: %d scores sorted, %d selected", trial, b.Len(), f.Len())
			}
			for i := range b.cells {
				x, y := &b.cells[i], &f.cells[i]
				if x.N != y.N || !x.Y.Equal(&y.Y) || !x.P.Equal(&y.P) || !x.PP.Equal(&y.PP) || !x.PY.Equal(&y.PY) {
					t.Fatalf("trial %d: bin %d of %d differs: %d scores sorted, %d selected", trial, i, j, x.N, y.N)
				}
			}
			if len(b.cells) > 0 && (!slices.Equal(b.lower, f.lower) || !slices.Equal(b.upper, f.upper)) {
				t.Fatalf("trial %d: edges differ: %v, %v", trial, b.lower, f.lower)
			}
		}
	}
}

// TestSweeps compares the sweep with its definition, which tries every number of bins and compares all frequencies.
func TestSweeps(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	trials := check.Size(20, 50, 200)
	for trial := range trials {
		n := 1 + r.IntN(60)
		s := scores{}
		steps, noise := 1+r.IntN(200), r.Float64()
		if trial%4 == 0 {
			noise = 0
		}
		for range n {
			v := float64(r.IntN(steps+1)) / float64(steps)
			y := uint8(0)
			if v+noise*(r.Float64()-0.5) > 0.5 {
				y = 1
			}
			s.p, s.y = append(s.p, v), append(s.y, y)
			if trial%3 == 0 {
				s.w = append(s.w, float64(1+r.IntN(5)))
			}
		}
		for _, o := range []GeneralOptions{{Binning: SweepMass}, {Binning: SweepMass, EdgeRule: Rank}, {Binning: SweepEven},
			{Options: Options{Index: FloorMul}, Binning: SweepEven}, {Options: Options{Index: EdgeDiv}, Binning: SweepEven}} {
			got, err := o.partition(s, n, metrics.Float64)
			if o.EdgeRule == Rank && s.w != nil && err == errWeightless {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var want *Partition
			for bins := 1; bins <= max(1, n-1); bins++ {
				made := GeneralOptions{Options: Options{Bins: bins}, Binning: Adaptive, EdgeRule: o.EdgeRule}
				if o.Binning == SweepEven {
					made = GeneralOptions{Options: Options{Bins: bins, Index: o.Index}}
				}
				b, err := made.partition(s, n, metrics.Float64)
				if err != nil {
					t.Fatal(err)
				}
				bars := slices.DeleteFunc(b.Bins(0.95), func(b Bin) bool { return b.Count == 0 })
				if !slices.IsSortedFunc(bars, func(a, b Bin) int {
					if a.Frequency < b.Frequency-1e-12 {
						return -1
					}
					return 0
				}) {
					break
				}
				want = b
			}
			bars := slices.DeleteFunc(want.Bins(0.95), func(b Bin) bool { return b.Count == 0 })
			counts := func(b []Bin) (c []int64) {
				for i := range b {
					c = append(c, b[i].Count)
				}
				return c
			}
			if a, b := counts(got.Bins(0.95)), counts(bars); !slices.Equal(a, b) || got.ECE() != want.ECE() {
				t.Fatalf("trial %d, %+v: %v, want %v", trial, o, a, b)
			}
		}
	}
}

func TestCubeRoot(t *testing.T) {
	for n, want := range map[int64]int{0: 1, 1: 1, 2: 2, 8: 2, 9: 3, 27: 3, 28: 4, 1000: 10, 1001: 11, 1e15: 1e5, 1e15 + 1: 1e5 + 1} {
		if got := cubeRoot(int(n)); got != want && int64(int(n)) == n {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
	}
}

// TestWeightedRanks checks that with weights an edge is at the score where the cumulative weight passes rank times the mean
// weight.
func TestWeightedRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		n, bins := 1+r.IntN(40), 1+r.IntN(12)
		c := cutter{o: &GeneralOptions{}}
		equal := cutter{o: &GeneralOptions{}}
		w, total := 0x1p-20*(1+r.Float64()), 0
		for range n {
			v := 1 + r.IntN(9)
			c.p, c.w, total = append(c.p, 0), append(c.w, float64(v)), total+v
			equal.p, equal.w = append(equal.p, 0), append(equal.w, w)
		}
		plain := cutter{scores: scores{p: c.p}, o: &GeneralOptions{}}
		if a, b := equal.ranks(bins), plain.ranks(bins); !slices.Equal(a, b) {
			t.Fatalf("%d bins of %d: %v with equal weights, %v without", bins, n, a, b)
		}
		want := plain.ranks(bins)
		for j, rank := range want {
			sum, i := 0, 0
			for ; i < n-1 && (sum+int(c.w[i]))*n <= rank*total; i++ {
				sum += int(c.w[i])
			}
			want[j] = i
		}
		if got := c.ranks(bins); !slices.Equal(got, want) {
			t.Fatalf("%d bins of %v: %v, want %v", bins, c.w, got, want)
		}
	}
}
