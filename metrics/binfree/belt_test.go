package binfree_test

import (
	"compress/gzip"
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

// beltFile is testdata/oracle/belt.json.gz; see make_belt.py there.
type beltFile struct {
	Cases []struct {
		Name              string
		P                 []float64
		Y                 []int32
		Fitted            bool
		Statistic, Pvalue float64
		Degree            int
		Pycaleva          [2]float64
		Belts             map[string][][3]float64
	}
	Laws []struct {
		T, Cdf float64
		Degree int
		Fitted bool
	}
}

func beltCases(t testing.TB) (f beltFile) {
	t.Helper()
	file, err := os.Open("../../testdata/oracle/belt.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&f); err != nil || len(f.Cases) < 20 || len(f.Laws) < 70 {
		t.Fatal(err, len(f.Cases), len(f.Laws))
	}
	return f
}

// TestBeltIsItsPeers compares with calibration-belt, statsmodels' fits and pycaleva, whose degree is always the lowest.
func TestBeltIsItsPeers(t *testing.T) {
	degrees, belts := map[string]int{}, 0
	for _, c := range beltCases(t).Cases {
		r := seen(t, binaryRows(c.P, c.Y))
		b := binfree.BeltOf(r, &binfree.BeltOptions{Fitted: c.Fitted})
		v, bound := b.Statistic()
		p, _ := b.P()
		isNear(t, c.Name, v, c.Statistic, 1e-7*(1+c.Statistic))
		isNear(t, c.Name, p, math.Max(0, c.Pvalue), 2e-8)
		if b.Degree() != c.Degree || bound != 0 || b.Reason() != "" {
			t.Errorf("%s: degree %d, want %d; bound %v, %q", c.Name, b.Degree(), c.Degree, bound, b.Reason())
		}
		degrees[fmt.Sprint(c.Fitted, c.Degree)]++
		lowest := &binfree.BeltOptions{Fitted: c.Fitted, Degree: 1}
		if c.Fitted {
			lowest.Degree = 2
		}
		low := binfree.BeltOf(r, lowest)
		v, _ = low.Statistic()
		p, _ = low.P()
		isNear(t, c.Name+", pycaleva", v, c.Pycaleva[0], 1e-7*(1+v))
		isNear(t, c.Name+", pycaleva", p, c.Pycaleva[1], 2e-8)
		for level, points := range c.Belts {
			belts++
			var l float64
			fmt.Sscan(level, &l)
			for _, want := range points {
				got := b.Limits(l, want[0])[0]
				// The peer's optimizer stops early, and it clips likelihoods at 1e-5.
				isNear(t, c.Name+" low "+level, got.Low, want[1], 2e-3)
				isNear(t, c.Name+" high "+level, got.High, want[2], 2e-3)
			}
		}
	}
	if len(degrees) < 6 || belts < 6 {
		t.Errorf("degrees %v, %d belts", degrees, belts)
	}
}

// TestBeltLimits holds that a belt at a level leaves out the diagonal only if the p-value is below, and where polynomials of the same
// likelihood touch it.
func TestBeltLimits(t *testing.T) {
	scores := make([]float64, 99)
	for i := range scores {
		scores[i] = float64(i+1) / 100
	}
	for _, c := range beltCases(t).Cases {
		b := binfree.BeltOf(seen(t, binaryRows(c.P, c.Y)), &binfree.BeltOptions{Fitted: c.Fitted})
		p, _ := b.P()
		for _, level := range []float64{0.8, 0.95}[:check.Size(1, 1, 2)] {
			out := false
			for _, l := range b.Limits(level, scores...) {
				if !(0 <= l.Low && l.Low <= l.Frequency && l.Frequency <= l.High && l.High <= 1) {
					t.Errorf("%s: %+v", c.Name, l)
				}
				out = out || l.Score < l.Low || l.High < l.Score
			}
			if out && p > 1-level {
				t.Errorf("%s: the belt of %v leaves out the diagonal, and the p-value is %v", c.Name, level, p)
			}
		}
	}
}

// TestBeltManyScores holds that joining neighbours hardly moves limits, and that a grid hardly moves the test.
func TestBeltManyScores(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 29))
	n := cells.MaxExact + 1000
	p, y := make([]float64, n), make([]int32, n)
	for i := range p {
		x := 1.5 * r.NormFloat64()
		p[i] = 1 / (1 + math.Exp(-x))
		if r.Float64() < 1/(1+math.Exp(-x-0.004*x*x)) {
			y[i] = 1
		}
	}
	d := binaryRows(p, y)
	grid, rows := binfree.BeltOf(seen(t, d), nil), binfree.BeltOf(metrics.Must(cells.Sort(d, nil)), nil)
	vg, bound := grid.Statistic()
	vr, _ := rows.Statistic()
	pg, _ := grid.P()
	pr, _ := rows.P()
	if math.Abs(vg-vr) > 0.01 || math.Abs(pg-pr) > 0.001 || grid.Degree() != rows.Degree() || !math.IsNaN(bound) {
		t.Errorf("grid %v, %v, %d; rows %v, %v, %d", vg, pg, grid.Degree(), vr, pr, rows.Degree())
	}
	for _, s := range []float64{0.05, 0.5, 0.9} {
		a, b := grid.Limits(0.95, s)[0], rows.Limits(0.95, s)[0]
		if math.Abs(a.Low-b.Low) > 2e-6 || math.Abs(a.High-b.High) > 2e-6 {
			t.Errorf("at %v: %+v on the grid, %+v of the rows", s, a, b)
		}
	}
	t.Log(vr, pr, rows.Degree(), rows.Limits(0.95, 0.1, 0.5))
}

// TestBeltWithoutFit holds the reasons.
func TestBeltWithoutFit(t *testing.T) {
	for _, c := range []struct {
		p      []float64
		y      []int32
		fitted bool
		reason string
	}{
		{nil, nil, false, "no rows"},
		{[]float64{0, 1, 1}, []int32{0, 1, 0}, false, "all scores are 0 or 1, whose logits are infinite"},
		{[]float64{0.2, 0.3}, []int32{1, 1}, false, "all outcomes are the same: the intercept is infinite"},
		{[]float64{0.2, 0.2}, []int32{1, 0}, false, "a polynomial of degree 1 needs 2 distinct scores"},
		{[]float64{0.2, 0.3, 0.2}, []int32{1, 0, 0}, true, "a polynomial of degree 2 needs 3 distinct scores"},
	} {
		b := binfree.BeltOf(seen(t, binaryRows(c.p, c.y)), &binfree.BeltOptions{Fitted: c.fitted})
		v, _ := b.Statistic()
		p, _ := b.P()
		if !math.IsNaN(v) || !math.IsNaN(p) || b.Degree() != 0 || b.Limits(0.5, 0.5) != nil || b.Reason() != c.reason {
			t.Errorf("%v %v: %v, %v, degree %d, %q", c.p, c.y, v, p, b.Degree(), b.Reason())
		}
	}
	parted := binfree.BeltOf(seen(t, binaryRows([]float64{0.2, 0.3, 0.4, 0.5}, []int32{0, 0, 1, 1})), nil)
	if v, _ := parted.Statistic(); math.Abs(v+2*math.Log(0.8*0.7*0.4*0.5)) > 1e-8 {
		t.Errorf("outcomes that a line parts: %v", v)
	}
	for _, l := range parted.Limits(0.95, 0.1, 0.35, 0.9) {
		if l.Low > l.Score || l.High < l.Score {
			t.Errorf("the belt of outcomes that a line parts leaves out the diagonal: %+v", l)
		}
	}
	w := binaryRows([]float64{0.2, 0.3, 0.2}, []int32{1, 0, 0})
	w.Weights = []float64{1, 2, 3}
	if b := binfree.BeltOf(seen(t, w), nil); b.Reason() == "" {
		t.Error("weights have a test")
	}
	some := binfree.BeltOf(seen(t, binaryRows([]float64{0, 0.2, 0.2, 0.6, 0.6, 1}, []int32{0, 1, 0, 0, 1, 1})), nil)
	if p, _ := some.P(); some.LeftOut() != 2 || !(p > 0.1 && p < 1) || some.Degree() != 1 {
		t.Errorf("%d left out, p %v, degree %d", some.LeftOut(), p, some.Degree())
	}
	for _, o := range []binfree.BeltOptions{{Degree: 5}, {Degree: 1, Fitted: true}, {Degree: -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v does not panic", o)
				}
			}()
			binfree.BeltOf(seen(t, w), &o)
		}()
	}
}

// TestBeltPSize holds how often the test finds fault with calibrated sets.
func TestBeltPSize(t *testing.T) {
	runs := check.Size(100, 200, 1000)
	for _, l := range calibratedLaws {
		r := rand.New(rand.NewPCG(uint64(l.rows), 77))
		five, known, raised, fitted, fits := 0, 0, 0, 0, 0
		for range runs {
			p, y := make([]float64, l.rows), make([]int32, l.rows)
			for i := range p {
				if p[i] = l.score(r); r.Float64() < p[i] {
					y[i] = 1
				}
			}
			b := binfree.BeltOf(metrics.Must(cells.Sort(binaryRows(p, y), nil)), nil)
			if b.Reason() != "" {
				continue
			}
			known++
			v, _ := b.P()
			five += b2i(v <= 0.05)
			raised += b2i(b.Degree() > 1)
			// The same rows with the logistic regression on their logits: a model that was fitted to them.
			c := binfree.CoxOf(metrics.Must(cells.Sort(binaryRows(p, y), nil)), nil)
			slope, _ := c.Slope()
			intercept, _ := c.Intercept()
			for i := range p {
				p[i] = 1 / (1 + math.Exp(-intercept-slope*math.Log(p[i]/(1-p[i]))))
			}
			b = binfree.BeltOf(metrics.Must(cells.Sort(binaryRows(p, y), nil)), &binfree.BeltOptions{Fitted: true})
			if v, _ := b.P(); v == v {
				fits++
				fitted += b2i(v <= 0.05)
			}
		}
		if share, off := float64(fitted)/float64(fits), 4*math.Sqrt(0.05*0.95/float64(fits)); math.Abs(share-0.05) > 0.015+off || fits < runs*9/10 {
			t.Errorf("%s, %d rows: fitted, p <= 5%% in %.2f%% of %d", l.name, l.rows, 100*share, fits)
		} else {
			t.Logf("%s, %d rows: fitted, p <= 5%% in %.2f%% of %d", l.name, l.rows, 100*share, fits)
		}
		share := float64(five) / float64(known)
		if off := 4 * math.Sqrt(0.05*0.95/float64(known)); math.Abs(share-0.05) > 0.01+off || known < runs*9/10 {
			t.Errorf("%s, %d rows: p <= 5%% in %.2f%% of %d", l.name, l.rows, 100*share, known)
		}
		t.Logf("%s, %d rows: p <= 5%% in %.2f%% of %d, degree above 1 in %.1f%%", l.name, l.rows, 100*share, known, 100*float64(raised)/float64(known))
	}
}

func ExampleBeltOf() {
	r := rand.New(rand.NewPCG(1, 1))
	p, y := make([]float64, 500), make([]int32, 500)
	for i := range p {
		p[i] = r.Float64()
		if r.Float64() < p[i]*p[i] { // less often than it says
			y[i] = 1
		}
	}
	c := metrics.Must(cells.Sort(&metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: 500, Classes: 1}, Labels: y}, nil))
	b := binfree.BeltOf(c, &binfree.BeltOptions{Fitted: false})
	statistic, _ := b.Statistic()
	chance, _ := b.P()
	fmt.Printf("degree %d, statistic %.1f, p-value %.1g, %d left out%s\n", b.Degree(), statistic, chance, b.LeftOut(), b.Reason())
	for _, l := range b.Limits(0.95, 0.2, 0.5, 0.8) {
		fmt.Printf("says %.1f: %.3f [%.3f, %.3f]\n", l.Score, l.Frequency, l.Low, l.High)
	}
	// Output:
	// degree 1, statistic 97.7, p-value 6e-22, 0 left out
	// says 0.2: 0.050 [0.026, 0.088]
	// says 0.5: 0.225 [0.168, 0.289]
	// says 0.8: 0.616 [0.525, 0.705]
}

// BenchmarkBelt fits the polynomial to as many distinct scores as have a cell each.
func BenchmarkBelt(b *testing.B) {
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
		binfree.BeltOf(c, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/cell")
}
