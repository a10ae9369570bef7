package binfree_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// tcalCase is a set of testdata/oracle/tcal.json; see make_tcal.py there.
type tcalCase struct {
	Name    string
	P       []float64
	Y       []int32
	Answers []struct {
		Bins int
		T, P float64
	}
}

func tcalCases(t testing.TB) []tcalCase {
	t.Helper()
	b, err := os.ReadFile("../../testdata/oracle/tcal.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Cases []tcalCase }
	if err := json.Unmarshal(b, &f); err != nil || len(f.Cases) < 6 {
		t.Fatal(err, len(f.Cases))
	}
	return f.Cases
}

func tcalOf(t testing.TB, r cells.Rising, bins int) (value, p float64) {
	t.Helper()
	s := binfree.TCalOf(r, &binfree.TCalOptions{Bins: bins})
	if s.Reason() != "" || s.Tests() < 1 || bins != 0 && s.Bins() != bins {
		t.Fatalf("%q, %d tests, %d bins", s.Reason(), s.Tests(), s.Bins())
	}
	value, bound := s.Value()
	p, unknown := s.P()
	if bound != 0 || unknown != 0 {
		t.Errorf("%d bins: bounds %v and %v of exact cells", bins, bound, unknown)
	}
	return value, p
}

// TestTCalIsItsDefinition compares with the formula in numpy and with simulated p-values, which for the few rows are exact. The tail of three
// moments is within 0.01 of them, within 0.05 for twelve rows, and within 0.02 and 0.07 where a bin expects a third and a tenth of an event.
func TestTCalIsItsDefinition(t *testing.T) {
	for _, c := range tcalCases(t) {
		r := seen(t, binaryRows(c.P, c.Y))
		for _, a := range c.Answers {
			v, p := tcalOf(t, r, a.Bins)
			isNear(t, c.Name, v, a.T, 1e-14)
			off := math.Min(0.01, 0.0005+a.P/15)
			switch {
			case len(c.P) < 20:
				off = 0.05
			case c.Name == "rare" && a.Bins >= 64:
				off = 0.07
			}
			isNear(t, fmt.Sprintf("p of %s, %d bins", c.Name, a.Bins), p, a.P, off)
		}
		// The adaptive test is the least of tests of single numbers of bins, times how many part the rows differently.
		n := float64(len(c.P))
		tests, before, least, value, bins := 0, 0, math.Inf(1), 0.0, 0
		for m := 2; ; m *= 2 {
			rows := map[float64]int{}
			shared := false
			for _, p := range c.P {
				place := math.Min(math.Floor(p*float64(m)), float64(m-1))
				rows[place]++
				shared = shared || rows[place] > 1
			}
			if len(rows) != before && shared {
				tests++
				if v, p := tcalOf(t, r, m); p < least {
					least, value, bins = p, v, m
				}
			}
			before = len(rows)
			if float64(m) >= n*n/math.Log(n) {
				break
			}
		}
		s := binfree.TCalOf(r, nil)
		v, p := tcalOf(t, r, 0)
		if s.Tests() != tests || s.Bins() != bins {
			t.Errorf("%s: %d tests and %d bins, want %d and %d", c.Name, s.Tests(), s.Bins(), tests, bins)
		}
		isNear(t, c.Name, v, value, 1e-15)
		isNear(t, c.Name, p, math.Min(1, least*float64(tests)), 1e-13)
		va, pa := tcalOf(t, metrics.Must(cells.Sort(binaryRows(c.P, c.Y), nil)), 0)
		if va != v || pa != p {
			t.Errorf("%s: %v and %v of sorted rows, %v and %v of cells", c.Name, va, pa, v, p)
		}
	}
}

// TestTCalGrid holds that bins of the grid are unions of its cells up to 128 bins: the value is that of the rows.
func TestTCalGrid(t *testing.T) {
	n := cells.MaxExact + 5000
	r := rand.New(rand.NewPCG(2, 29))
	p, y := make([]float64, n), make([]int32, n)
	for i := range p {
		if p[i] = r.Float64(); r.Float64() < p[i]+0.02*math.Sin(40*p[i]) {
			y[i] = 1
		}
	}
	d := binaryRows(p, y)
	grid, rows := seen(t, d), metrics.Must(cells.Sort(d, nil))
	if grid.Exact() {
		t.Fatal("no grid")
	}
	for _, bins := range []int{2, 15, 16, 64, 256} {
		s := binfree.TCalOf(grid, &binfree.TCalOptions{Bins: bins})
		a, bound := s.Value()
		b, q := tcalOf(t, rows, bins)
		pa, unknown := s.P()
		if !math.IsNaN(unknown) {
			t.Errorf("%d bins: the bound of p is %v", bins, unknown)
		}
		if bins <= 16 {
			if !(math.Abs(a-b) <= bound) || !(bound < 1e-14) || math.Abs(pa-q) > 1e-6*q {
				t.Errorf("%d bins: %.17g on the grid, %.17g of the rows, bound %.3g; p %v and %v", bins, a, b, bound, pa, q)
			}
		} else if !math.IsNaN(bound) || math.Abs(a-b) > 0.05*b {
			t.Errorf("%d bins: %.17g on the grid, %.17g of the rows, bound %.3g", bins, a, b, bound)
		}
	}
	if s := binfree.TCalOf(grid, nil); s.Tests() != 8 {
		t.Errorf("%d tests on the grid", s.Tests())
	}
}

// TestTCalWithoutValue holds the reasons.
func TestTCalWithoutValue(t *testing.T) {
	weighted := binaryRows([]float64{0.2, 0.2}, []int32{0, 1})
	weighted.Weights = []float64{1, 2}
	for _, c := range []struct {
		p      *metrics.Predictions
		bins   int
		reason string
	}{
		{binaryRows(nil, nil), 0, "no rows"},
		{binaryRows([]float64{0.2}, []int32{1}), 0, "a single row is no pair"},
		{binaryRows([]float64{0.2, 0.8}, []int32{1, 0}), 0, "no two rows share a bin"},
		{binaryRows([]float64{0.2, 0.8}, []int32{1, 0}), 3, "no two rows share a bin"},
		{weighted, 0, "with weights the distribution of the statistic is not known"},
	} {
		s := binfree.TCalOf(seen(t, c.p), &binfree.TCalOptions{Bins: c.bins})
		v, _ := s.Value()
		p, bound := s.P()
		if !math.IsNaN(v) || !math.IsNaN(p) || !math.IsNaN(bound) || s.Reason() != c.reason || s.Bins() != 0 || s.Tests() != 0 {
			t.Errorf("%v: %v, %v, %q", c.p, v, p, s.Reason())
		}
	}
	// Scores that leave nothing to chance: a wrong pair is impossible. The last bin is closed.
	for wrong, want := range map[int32]float64{1: 0, 0: 1} {
		s := binfree.TCalOf(seen(t, binaryRows([]float64{0, 0, 1, 1}, []int32{wrong, wrong, 1, 1})), nil)
		if p, _ := s.P(); p != want {
			t.Errorf("certain scores, outcomes %d of score 0: p %v", wrong, p)
		}
	}
	if v, _ := tcalOf(t, seen(t, binaryRows([]float64{0.9, 1}, []int32{0, 0})), 2); math.Abs(v-0.45) > 1e-15 {
		t.Errorf("scores 0.9 and 1 share the last bin: %v", v)
	}
	defer func() {
		if recover() == nil {
			t.Error("a negative number of bins does not panic")
		}
	}()
	binfree.TCalOf(seen(t, binaryRows([]float64{0.5, 0.5}, []int32{1, 0})), &binfree.TCalOptions{Bins: -1})
}

// TestTCalSees holds that the adaptive test finds waves that fewer tests of single bins miss.
func TestTCalSees(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 29))
	p, y := make([]float64, 5000), make([]int32, 5000)
	for i := range p {
		if p[i] = r.Float64(); r.Float64() < p[i]*0.7+0.15+0.15*math.Sin(2*math.Pi*16*p[i]) {
			y[i] = 1
		}
		p[i] = p[i]*0.7 + 0.15
	}
	c := seen(t, binaryRows(p, y))
	_, all := tcalOf(t, c, 0)
	_, few := tcalOf(t, c, 4)
	if !(all < 1e-6) || !(few > 0.05) {
		t.Errorf("p %v, with 4 bins %v", all, few)
	}
}

// rareLaws draw scores of calibrated sets with few expected events, and of sets that are mostly certain.
var rareLaws = []struct {
	name  string
	rows  int
	score func(r *rand.Rand) float64
}{
	{"one event", 100, func(r *rand.Rand) float64 { return 0.02 * r.Float64() }},
	{"hardly any", 100, func(r *rand.Rand) float64 { return 0.001 * r.Float64() }},
	{"mostly none", 2000, func(r *rand.Rand) float64 { return math.Pow(r.Float64(), 30) }},
	{"ten in 10,000", 10000, func(r *rand.Rand) float64 { return 0.002 * r.Float64() }},
}

// TestTCalPSize holds how often the tests find fault with calibrated sets.
func TestTCalPSize(t *testing.T) {
	runs := check.Size(100, 400, 3000)
	slack := func(share float64) float64 { return 4 * math.Sqrt(share*(1-share)/float64(runs)) }
	for _, l := range append(calibratedLaws[:len(calibratedLaws):len(calibratedLaws)], rareLaws...) {
		for _, bins := range []int{0, 2, 256} {
			r := rand.New(rand.NewPCG(uint64(l.rows), uint64(bins)))
			five, one, kernel := 0, 0, 0
			for range runs {
				p, y := make([]float64, l.rows), make([]int32, l.rows)
				for i := range p {
					if p[i] = l.score(r); r.Float64() < p[i] {
						y[i] = 1
					}
				}
				c := metrics.Must(cells.Sort(binaryRows(p, y), nil))
				v, _ := binfree.TCalOf(c, &binfree.TCalOptions{Bins: bins}).P()
				five += b2i(v <= 0.05)
				one += b2i(v <= 0.01)
				v, _ = binfree.SKCEOf(c, nil).P()
				kernel += b2i(v <= 0.05)
			}
			share := func(k int) float64 { return float64(k) / float64(runs) }
			t.Logf("%s, %d rows, %d bins: p <= 5%% in %.2f%%, p <= 1%% in %.2f%%; skce_p %.2f%%", l.name, l.rows, bins, 100*share(five), 100*share(one), 100*share(kernel))
			most := 0.065
			if bins == 0 {
				most = 0.05
			}
			if f := share(five); f > most+slack(most) {
				t.Errorf("%s, %d rows, %d bins: p <= 5%% in %.2f%%", l.name, l.rows, bins, 100*f)
			}
			if f := share(one); f > 0.015+slack(0.015) {
				t.Errorf("%s, %d rows, %d bins: p <= 1%% in %.2f%%", l.name, l.rows, bins, 100*f)
			}
			if f := share(kernel); f > 0.06+slack(0.06) {
				t.Errorf("%s, %d rows: skce_p <= 5%% in %.2f%%", l.name, l.rows, 100*f)
			}
		}
	}
}

func ExampleTCalOf() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.2, 0.2, 0.3, 0.9, 0.9, 0.8}, Rows: 6, Classes: 1}, // P(y = 1)
		Labels: []int32{0, 1, 0, 0, 1, 0},
	}
	s := binfree.TCalOf(metrics.Must(cells.Sort(p, nil)), &binfree.TCalOptions{Bins: 0})
	value, _ := s.Value() // the second value bounds the error of a grid of scores; it is 0 here
	chance, _ := s.P()
	fmt.Printf("%d bins %.4f, p-value %.2f of %d tests%s\n", s.Bins(), value, chance, s.Tests(), s.Reason())
	// Output:
	// 4 bins 0.0344, p-value 0.40 of 3 tests
}

// BenchmarkTCal tests as many distinct scores as have a cell each.
func BenchmarkTCal(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	n := cells.MaxExact
	p, y := make([]float64, n), make([]int32, n)
	for i := range p {
		if p[i] = r.Float64(); r.Float64() < p[i] {
			y[i] = 1
		}
	}
	c := seen(b, binaryRows(p, y))
	for b.Loop() {
		binfree.TCalOf(c, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/cell")
}
