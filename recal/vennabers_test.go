package recal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// vennGolden is testdata/venn_abers.json, which testdata/make_venn_abers.py made with venn-abers 1.5.0.
type vennGolden struct {
	Binary []struct {
		Scores, X, P, P0, P1 []float64
		Labels               []int32
		Log1                 []float64   `json:"folds1_log"`
		Brier1               []float64   `json:"folds1_brier"`
		Log3                 []float64   `json:"folds3_log"`
		Brier3               []float64   `json:"folds3_brier"`
		Bounds3              [][]float64 `json:"folds3_bounds"`
	}
	Classes []struct {
		Scores, X, P [][]float64
		P0, P1       [][]float64
		Labels       []int32
	}
}

func scoresOf(x ...float64) *metrics.Scores {
	return &metrics.Scores{Rows: len(x), Classes: 1, F64: slices.Clone(x)}
}

func flat(rows [][]float64) *metrics.Scores {
	s := &metrics.Scores{Rows: len(rows), Classes: len(rows[0])}
	s.F64 = slices.Concat(rows...)
	return s
}

func applied(m recal.Map, x *metrics.Scores) []float64 {
	d := &metrics.Scores{Rows: x.Rows, Classes: x.Classes, F64: make([]float64, len(x.F64))}
	m.Apply(d, x, metrics.Probs)
	return d.F64
}

func boundsOf(m recal.Map, x *metrics.Scores) (low, high []float64) {
	a, b := *x, *x
	a.F64, b.F64 = make([]float64, len(x.F64)), make([]float64, len(x.F64))
	m.(*recal.CurveMap).Bounds(&a, &b, x, metrics.Probs)
	return a.F64, b.F64
}

// near is the largest difference from venn-abers, whose means and divisions round in other places.
const near = 1e-14

func (g *vennGolden) hold(t *testing.T, name string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", name, len(got), len(want))
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= near) {
			t.Errorf("%s: row %d: %v, want %v", name, i, v, want[i])
		}
	}
}

// TestVennAbersGolden: what venn-abers 1.5 says of scores with and without ties, labels that are all equal and scores in reverse order, of one
// calibration set and of folds, for the log loss and for the Brier score; and of classes, each against the rest.
func TestVennAbersGolden(t *testing.T) {
	b, err := os.ReadFile("testdata/venn_abers.json")
	if err != nil {
		t.Fatal(err)
	}
	var g vennGolden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Binary) < 9 || len(g.Classes) < 2 {
		t.Fatal("cases are missing")
	}
	fit := func(m recal.Method, s *metrics.Scores, labels []int32) recal.Map {
		f, err := m.Fit(recal.InMemory(&metrics.Predictions{Scores: *s, Labels: labels}), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for i, c := range g.Binary {
		name := fmt.Sprintf("case %d of %d rows", i, len(c.Scores))
		x, s := scoresOf(c.X...), scoresOf(c.Scores...)
		m := fit(recal.VennAbers{AsCoded: true}, s, c.Labels)
		g.hold(t, name, applied(m, x), c.P)
		low, high := boundsOf(m, x)
		g.hold(t, name+", p0", low, c.P0)
		g.hold(t, name+", p1", high, c.P1)
		g.hold(t, name+", log", applied(m, x), c.Log1)
		g.hold(t, name+", brier", applied(fit(recal.VennAbers{Brier: true, AsCoded: true}, s, c.Labels), x), c.Brier1)
		// The default differs above all scores alone.
		top := slices.Max(c.Scores)
		got := applied(fit(recal.VennAbers{}, s, c.Labels), x)
		for k, v := range c.X {
			if (v <= top) != (math.Abs(got[k]-c.P[k]) <= near) && !(v > top && c.P1[k] == 1) {
				t.Errorf("%s: %v of %v, which is %v as coded", name, got[k], v, c.P[k])
			}
		}
		if c.Log3 == nil {
			continue
		}
		m = fit(recal.VennAbers{Folds: 3, AsCoded: true}, s, c.Labels)
		g.hold(t, name+", folds", applied(m, x), c.Log3)
		low, high = boundsOf(m, x)
		g.hold(t, name+", folds, p0", low, c.Bounds3[0])
		g.hold(t, name+", folds, p1", high, c.Bounds3[1])
		g.hold(t, name+", folds, brier", applied(fit(recal.VennAbers{Folds: 3, Brier: true, AsCoded: true}, s, c.Labels), x), c.Brier3)
	}
	for i, c := range g.Classes {
		name := fmt.Sprintf("classes %d", i)
		x := flat(c.X)
		m := fit(recal.VennAbers{AsCoded: true}, flat(c.Scores), c.Labels)
		g.hold(t, name, applied(m, x), slices.Concat(c.P...))
		low, high := boundsOf(m, x)
		for j := range c.P0 {
			for r := range c.X {
				if k := r*x.Classes + j; math.Abs(low[k]-c.P0[j][r]) > near || math.Abs(high[k]-c.P1[j][r]) > near {
					t.Errorf("%s: row %d, class %d: %v and %v, want %v and %v", name, r, j, low[k], high[k], c.P0[j][r], c.P1[j][r])
				}
			}
		}
	}
}

// TestVennAbersDefinition: p0 and p1 are those of two isotonic regressions of the rows and one more, with and without weights.
func TestVennAbersDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 15))
	for trial := range 60 {
		n := 1 + r.IntN(40)
		grid := 4 + r.IntN(60)
		p := &metrics.Predictions{Scores: *scoresOf(make([]float64, n)...), Labels: make([]int32, n)}
		if trial%3 == 2 {
			p.Weights = make([]float64, n)
		}
		for i := range n {
			p.F64[i] = float64(r.IntN(grid+1)) / float64(grid)
			p.Labels[i] = int32(r.IntN(2))
			if trial%2 == 0 && r.Float64() < p.F64[i] {
				p.Labels[i] = 1
			}
			if p.Weights != nil {
				p.Weights[i] = float64(1+r.IntN(8)) / 4
			}
		}
		m, err := recal.VennAbers{}.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		for x := range 2*grid + 1 {
			s := float64(x) / float64(2*grid)
			low, high := boundsOf(m, scoresOf(s))
			for event, got := range []float64{low[0], high[0]} {
				x, y, w := append(slices.Clone(p.F64), s), []float64{}, []float64{}
				for i, l := range append(slices.Clone(p.Labels), int32(event)) {
					y = append(y, float64(l))
					if p.Weights == nil || i == n {
						w = append(w, 1)
					} else {
						w = append(w, p.Weights[i])
					}
				}
				if want := isotonicAt(x, y, w, s); math.Abs(got-want) > 1e-12 {
					t.Fatalf("trial %d: p%d of %v is %v, want %v", trial, event, s, got, want)
				}
			}
			if low[0] >= high[0] {
				t.Errorf("p0 %v and p1 %v", low[0], high[0])
			}
		}
	}
}

// isotonicAt returns the value at s of the isotonic regression of y on x: the largest over lower ends of the smallest over upper ends of means.
func isotonicAt(x, y, w []float64, s float64) float64 {
	best := math.Inf(-1)
	for _, a := range x {
		if a > s {
			continue
		}
		least := math.Inf(1)
		for _, b := range x {
			if b < s {
				continue
			}
			sum, n := 0.0, 0.0
			for i, v := range x {
				if v >= a && v <= b {
					sum += w[i] * y[i]
					n += w[i]
				}
			}
			least = min(least, sum/n)
		}
		best = max(best, least)
	}
	return best
}

// TestVennAbersFinite: of rows where isotonic regression gives some event probability 0, the NLL is finite, and about as low as that of the
// truth. The mean of p0 is below the frequency, and that of p1 above it.
func TestVennAbersFinite(t *testing.T) {
	loss := func(m recal.Map, p *metrics.Predictions) (nll float64) {
		for i, q := range applied(m, &p.Scores) {
			if p.Labels[i] == 0 {
				q = 1 - q
			}
			nll -= math.Log(q)
		}
		return nll / float64(p.Rows)
	}
	infinite := 0
	for seed := range uint64(10) {
		all := drawn(seed, 6000, func(z float64) float64 { return sigma(2*z - 1) })
		for i, z := range all.F64 {
			all.F64[i] = sigma(z)
		}
		all.Kind = metrics.Probs
		held, test := all.Slice(0, 1000), all.Slice(1000, 6000)
		truth := 0.0
		for i, p := range test.F64 {
			q := sigma(2*math.Log(p/(1-p)) - 1)
			if test.Labels[i] == 0 {
				q = 1 - q
			}
			truth -= math.Log(q) / 5000
		}
		iso, err := recal.Isotonic{}.Fit(recal.InMemory(&held), nil)
		if err != nil {
			t.Fatal(err)
		}
		if math.IsInf(loss(iso, &test), 1) {
			infinite++
		}
		for _, m := range []recal.Method{recal.VennAbers{}, recal.VennAbers{Folds: 5}, recal.VennAbers{Brier: true}} {
			f, err := m.Fit(recal.InMemory(&held), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := loss(f, &test); !(got < truth+0.03) {
				t.Errorf("%s: NLL %v, that of the truth is %v", m, got, truth)
			}
		}
	}
	if infinite < 5 {
		t.Errorf("isotonic is infinite in %d of 10 sets: they show nothing", infinite)
	}
}

// TestVennAbersValid: the mean of p0 is at most the mean outcome, and that of p1 at least, in the long run, for any scores.
func TestVennAbersValid(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	var low, high, events, n float64
	for range 3000 {
		p := &metrics.Predictions{Scores: *scoresOf(make([]float64, 31)...), Labels: make([]int32, 31)}
		for i := range 31 {
			p.F64[i] = r.Float64()
			if r.Float64() < 0.3+0.6*p.F64[i]*p.F64[i] {
				p.Labels[i] = 1
			}
		}
		held := p.Slice(0, 30)
		m, err := recal.VennAbers{}.Fit(recal.InMemory(&held), nil)
		if err != nil {
			t.Fatal(err)
		}
		l, h := boundsOf(m, scoresOf(p.F64[30]))
		low, high, events, n = low+l[0], high+h[0], events+float64(p.Labels[30]), n+1
	}
	se := math.Sqrt(0.25 / n)
	if low/n > events/n+3*se || high/n < events/n-3*se || (high-low)/n > 0.3 {
		t.Errorf("p0 has the mean %v, p1 %v, and the outcomes %v", low/n, high/n, events/n)
	}
}

// TestVennAbersFile: a map gives the same bits after reading, and a changed curve is refused. All labels equal, and one row, have a map.
func TestVennAbersFile(t *testing.T) {
	p := drawn(2, 500, func(z float64) float64 { return sigma(2*z - 1) })
	for _, m := range []recal.VennAbers{{}, {Folds: 4}, {Brier: true}, {TopLabel: true}} {
		f, err := m.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := recal.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		again, err := recal.Unmarshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := recal.Marshal(again); err != nil || !bytes.Equal(b, c) {
			t.Errorf("%s: another file, %v", m, err)
		}
		x := scoresOf(0, 0.1, 0.5, 0.7, 1)
		if !slices.Equal(applied(f, x), applied(again, x)) || f.(*recal.CurveMap).HasBounds() == m.TopLabel {
			t.Errorf("%s: %v and %v", m, applied(f, x), applied(again, x))
		}
	}
	one := &metrics.Predictions{Scores: *scoresOf(0.3), Labels: []int32{1}}
	f, err := recal.VennAbers{}.Fit(recal.InMemory(one), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := applied(f, scoresOf(0.1, 0.3, 0.8)); !slices.Equal(got, []float64{0.5, 1 / (1 - 0.5 + 1), 1 / (1 - 0.5 + 1)}) {
		t.Errorf("of one row: %v", got)
	}
	b, err := recal.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recal.Unmarshal(b); err != nil {
		t.Error(err)
	}
	if _, err := (recal.VennAbers{Folds: 50}).Fit(recal.InMemory(one), nil); err == nil {
		t.Error("50 folds of one row have a map")
	}
}
