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

// kernelCase is a set of testdata/oracle/kernels.json; see make_kernels.py there.
type kernelCase struct {
	Name    string
	P, W    []float64
	Y       []int32
	Netcal  float64
	Answers []struct{ H, Mmce, Skce, Single, Parts float64 }
}

func kernelCases(t testing.TB) []kernelCase {
	t.Helper()
	b, err := os.ReadFile("../../testdata/oracle/kernels.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Cases []kernelCase }
	if err := json.Unmarshal(b, &f); err != nil || len(f.Cases) < 8 {
		t.Fatal(err, len(f.Cases))
	}
	return f.Cases
}

func binaryRows(p []float64, y []int32) *metrics.Predictions {
	return &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y}
}

func isNear(t testing.TB, name string, got, want, off float64) {
	t.Helper()
	if !(math.Abs(got-want) <= off) {
		t.Errorf("%s: %.17g, want %.17g", name, got, want)
	}
}

// TestSKCEIsItsDefinition compares with sums over all pairs of rows, and with netcal's MMCE.
func TestSKCEIsItsDefinition(t *testing.T) {
	peers := 0
	for _, c := range kernelCases(t) {
		p := binaryRows(c.P, c.Y)
		if p.Weights = c.W; c.W == nil {
			p.Weights = nil
		}
		for _, a := range c.Answers {
			s := binfree.SKCEOf(seen(t, p), &binfree.SKCEOptions{Bandwidth: a.H})
			v, bound := s.MMCE()
			isNear(t, c.Name, v, a.Mmce, 1e-13)
			if bound != 0 {
				t.Errorf("%s: bound %v of exact cells", c.Name, bound)
			}
			v, bound = s.Value()
			i := s.Interval(0.95)
			if c.W != nil {
				if !math.IsNaN(v) || !math.IsNaN(bound) || !math.IsNaN(i.Low) || s.Reason() == "" {
					t.Errorf("%s: %v, %v, %v, %q", c.Name, v, bound, i, s.Reason())
				}
				continue
			}
			isNear(t, c.Name, v, a.Skce, 1e-14)
			n := float64(len(c.P))
			pairs := n * (n - 1)
			single := 2 * a.Single / pairs
			null := 0.0 // the variance if the scores are calibrated
			for i, p := range c.P {
				for _, q := range c.P[:i] {
					k := math.Exp(-math.Abs(p-q) / a.H)
					null += 4 * k * k * p * (1 - p) * q * (1 - q) / pairs / pairs
				}
			}
			single = math.Max(single, null)
			slope := math.Max(0, 4*a.Parts/n-4*a.Single/pairs) / math.Max(v, math.Sqrt(single))
			for _, end := range []float64{i.Low, i.High} {
				isNear(t, c.Name, (v-end)*(v-end), math.Pow(metrics.Z(0.95), 2)*(slope*end+single), 1e-14)
			}
		}
		if c.Netcal != 0 {
			peers++
			top := metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel}))
			if err := metrics.NewPass(nil, top).Add(p); err != nil {
				t.Fatal(err)
			}
			v, _ := binfree.SKCEOf(top, nil).MMCE()
			isNear(t, c.Name, v, c.Netcal, 1e-13)
		}
	}
	if peers == 0 {
		t.Error("no set has netcal's value")
	}
}

// TestSKCESorted holds that rows in memory have the same bits as cells.
func TestSKCESorted(t *testing.T) {
	for _, c := range kernelCases(t) {
		if c.W != nil {
			continue
		}
		p := binaryRows(c.P, c.Y)
		a, b := binfree.SKCEOf(seen(t, p), nil), binfree.SKCEOf(metrics.Must(cells.Sort(p, nil)), nil)
		va, _ := a.Value()
		vb, _ := b.Value()
		pa, _ := a.P()
		pb, _ := b.P()
		if va != vb || pa != pb || a.Interval(0.9) != b.Interval(0.9) {
			t.Errorf("%s: %v, %v, %v and %v, %v, %v", c.Name, va, pa, a.Interval(0.9), vb, pb, b.Interval(0.9))
		}
	}
}

func TestSKCEGridBound(t *testing.T) {
	// More distinct scores than cells: the grid's value is within its bound of that of every row, and the bound is small.
	n := cells.MaxExact + 5000
	r := rand.New(rand.NewPCG(1, 29))
	for name, draw := range map[string]func() (p, q float64){
		"uniform":       func() (p, q float64) { p = r.Float64(); return p, p },
		"overconfident": func() (p, q float64) { u := r.Float64(); p = 1 - u*u/2; return p, p - 0.3*(1-p)*(2*p-1) },
		"rare":          func() (p, q float64) { p = math.Pow(r.Float64(), 8); return p, p },
	} {
		p, y := make([]float64, n), make([]int32, n)
		for i := range p {
			var q float64
			if p[i], q = draw(); r.Float64() < q {
				y[i] = 1
			}
		}
		d := binaryRows(p, y)
		grid, rows := seen(t, d), metrics.Must(cells.Sort(d, nil))
		if grid.Exact() {
			t.Fatal("no grid")
		}
		for _, h := range []float64{0.02, 0.4} {
			a, b := binfree.SKCEOf(grid, &binfree.SKCEOptions{Bandwidth: h}), binfree.SKCEOf(rows, &binfree.SKCEOptions{Bandwidth: h})
			va, bound := a.Value()
			vb, _ := b.Value()
			if !(math.Abs(va-vb) <= bound) || !(bound < 2e-6/h) {
				t.Errorf("%s, h = %v: %.9g on the grid, %.9g of the rows, bound %.3g", name, h, va, vb, bound)
			}
			ma, mb := a, b
			v, bm := ma.MMCE()
			w, _ := mb.MMCE()
			if !(math.Abs(v-w) <= bm) {
				t.Errorf("%s, h = %v: mmce %.9g on the grid, %.9g of the rows, bound %.3g", name, h, v, w, bm)
			}
			pa, unknown := a.P()
			pb, _ := b.P()
			if math.Abs(pa-pb) > 0.02*math.Max(pb, 0.01) || !math.IsNaN(unknown) {
				t.Errorf("%s, h = %v: p %v on the grid, %v of the rows", name, h, pa, pb)
			}
			ia, ib := a.Interval(0.95), b.Interval(0.95)
			if ia.Low > ib.Low+1e-9 || ia.High < ib.High-1e-9 {
				t.Errorf("%s, h = %v: interval %v on the grid, %v of the rows", name, h, ia, ib)
			}
			t.Logf("%s, h = %v: %.6g, bound %.2g, p %.4g and %.4g, mmce bound %.2g, %v %v", name, h, vb, bound, pa, pb, bm, ia, ib)
		}
	}
}

// TestSKCEWithoutValue holds the reasons.
func TestSKCEWithoutValue(t *testing.T) {
	for _, c := range []struct {
		p      []float64
		y      []int32
		reason string
	}{{nil, nil, "no rows"}, {[]float64{0.2}, []int32{1}, "a single row is no pair"}} {
		s := binfree.SKCEOf(seen(t, binaryRows(c.p, c.y)), nil)
		v, _ := s.Value()
		p, _ := s.P()
		if !math.IsNaN(v) || !math.IsNaN(p) || s.Reason() != c.reason || !math.IsNaN(s.Interval(0.5).Low) {
			t.Errorf("%v: %v, %v, %q", c.p, v, p, s.Reason())
		}
	}
	for wrong, want := range map[int32]float64{1: 0, 0: 1} {
		s := binfree.SKCEOf(seen(t, binaryRows([]float64{0, 1, 1}, []int32{wrong, 1, 1})), nil)
		if p, _ := s.P(); p != want {
			t.Errorf("certain scores, outcome %d of score 0: p %v", wrong, p)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a negative bandwidth does not panic")
		}
	}()
	binfree.SKCEOf(seen(t, binaryRows([]float64{0.5}, []int32{1})), &binfree.SKCEOptions{Bandwidth: -1})
}

// calibratedLaws draw scores of calibrated sets with at least ten expected events.
var calibratedLaws = []struct {
	name  string
	rows  int
	score func(r *rand.Rand) float64
}{
	{"uniform", 50, func(r *rand.Rand) float64 { return r.Float64() }},
	{"uniform", 2000, func(r *rand.Rand) float64 { return r.Float64() }},
	{"confident", 200, func(r *rand.Rand) float64 { u := r.Float64(); return 1 - u*u/2 }},
	{"confident", 2000, func(r *rand.Rand) float64 { u := r.Float64(); return 1 - u*u/2 }},
	{"rare", 1000, func(r *rand.Rand) float64 { return 0.02 * r.Float64() }},
	{"rare tail", 500, func(r *rand.Rand) float64 { return math.Pow(r.Float64(), 9) }},
	{"ties", 300, func(r *rand.Rand) float64 { return float64(1+r.IntN(9)) / 10 }},
}

// TestSKCEPSize holds how often the test finds fault with calibrated sets, and how often the interval misses 0.
func TestSKCEPSize(t *testing.T) {
	runs := check.Size(200, 600, 1500)
	slack := func(share float64) float64 { return 4 * math.Sqrt(share*(1-share)/float64(runs)) }
	for _, l := range calibratedLaws {
		for _, h := range []float64{0.05, 0.4} {
			r := rand.New(rand.NewPCG(uint64(l.rows), math.Float64bits(h)))
			five, one, missed := 0, 0, 0
			for range runs {
				p, y := make([]float64, l.rows), make([]int32, l.rows)
				for i := range p {
					if p[i] = l.score(r); r.Float64() < p[i] {
						y[i] = 1
					}
				}
				s := binfree.SKCEOf(metrics.Must(cells.Sort(binaryRows(p, y), nil)), &binfree.SKCEOptions{Bandwidth: h})
				v, _ := s.P()
				five += b2i(v <= 0.05)
				one += b2i(v <= 0.01)
				i := s.Interval(0.95)
				missed += b2i(!(i.Low <= 0 && 0 <= i.High))
			}
			share := func(k int) float64 { return float64(k) / float64(runs) }
			t.Logf("%s, %d rows, h = %v: p <= 5%% in %.2f%%, p <= 1%% in %.2f%%, interval without 0 %.2f%%", l.name, l.rows, h, 100*share(five), 100*share(one), 100*share(missed))
			if f := share(five); f > 0.06+slack(0.06) || f < 0.04-slack(0.04) {
				t.Errorf("%s, %d rows, h = %v: p <= 5%% in %.2f%%", l.name, l.rows, h, 100*f)
			}
			if f := share(missed); f > 0.05+slack(0.05) {
				t.Errorf("%s, %d rows, h = %v: the interval misses 0 in %.2f%%", l.name, l.rows, h, 100*f)
			}
			if f := share(one); f > 0.017+slack(0.017) || f < 0.008-slack(0.008) {
				t.Errorf("%s, %d rows, h = %v: p <= 1%% in %.2f%%", l.name, l.rows, h, 100*f)
			}
		}
	}
}

func ExampleSKCEOf() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.2, 0.2, 0.3, 0.9, 0.9, 0.8}, Rows: 6, Classes: 1}, // P(y = 1)
		Labels: []int32{0, 1, 0, 0, 1, 0},
	}
	c := metrics.Must(cells.Sort(p, nil))
	s := binfree.SKCEOf(c, &binfree.SKCEOptions{Bandwidth: binfree.DefaultBandwidth})
	value, _ := s.Value() // the second value bounds the error of a grid of scores; it is 0 here
	mmce, _ := s.MMCE()
	chance, _ := s.P()
	i := s.Interval(0.95)
	fmt.Printf("skce %.4f [%.2f, %.2f], p-value %.2f, mmce %.3f%s\n", value, i.Low, i.High, chance, mmce, s.Reason())
	// Output:
	// skce 0.0027 [-0.07, 0.10], p-value 0.32, mmce 0.253
}

// BenchmarkSKCE sums the pairs of as many distinct scores as have a cell each.
func BenchmarkSKCE(b *testing.B) {
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
		binfree.SKCEOf(c, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/cell")
}
