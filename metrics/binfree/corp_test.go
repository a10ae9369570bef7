package binfree_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// cellsOf returns the cells of unchecked predictions.
func cellsOf(t testing.TB, p *metrics.Predictions) *cells.Cells {
	t.Helper()
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	return c
}

// corp holds the terms of a decomposition, or their bounds.
type corp struct{ score, mcb, dsc, unc float64 }

// corpOfRows decomposes by definition: PAV over the sorted rows, with equal scores pooled.
func corpOfRows(p *metrics.Predictions, of binfree.ProperScore) corp {
	type group struct{ w, y float64 }
	at := make([]int, p.Rows)
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int { return cmp.Compare(p.F64[i], p.F64[j]) })
	weight := func(i int) float64 {
		if p.Weights == nil {
			return 1
		}
		return p.Weights[i]
	}
	loss := func(v float64, y int32) float64 {
		switch {
		case of == binfree.Squared:
			return (v - float64(y)) * (v - float64(y))
		case of == binfree.Spherical && y == 1:
			return 1 - v/math.Hypot(v, 1-v)
		case of == binfree.Spherical:
			return 1 - (1-v)/math.Hypot(v, 1-v)
		case y == 1:
			return -math.Log(v)
		}
		return -math.Log1p(-v)
	}
	var s corp
	var fit []group
	total, events := 0.0, 0.0
	for k := 0; k < len(at); {
		g, first := group{}, p.F64[at[k]]
		for ; k < len(at) && p.F64[at[k]] == first; k++ {
			i := at[k]
			g.w += weight(i)
			g.y += weight(i) * float64(p.Labels[i])
			s.score += weight(i) * loss(p.F64[i], p.Labels[i])
		}
		total, events = total+g.w, events+g.y
		fit = append(fit, g)
		for n := len(fit); n > 1 && fit[n-2].y*fit[n-1].w >= fit[n-1].y*fit[n-2].w; n-- {
			fit[n-2].w, fit[n-2].y = fit[n-2].w+fit[n-1].w, fit[n-2].y+fit[n-1].y
			fit = fit[:n-1]
		}
	}
	mean := func(g group) (sum float64) {
		if v := g.y / g.w; v > 0 && v < 1 {
			sum = g.y*loss(v, 1) + (g.w-g.y)*loss(v, 0)
		}
		return sum / total
	}
	left := 0.0
	for _, g := range fit {
		left += mean(g)
	}
	s.score /= total
	s.unc = mean(group{total, events})
	s.mcb, s.dsc = s.score-left, s.unc-left
	return s
}

func terms(c *binfree.CORP) (v, bound corp) {
	v.score, bound.score = c.Score()
	v.mcb, bound.mcb = c.MCB()
	v.dsc, bound.dsc = c.DSC()
	v.unc, bound.unc = c.UNC()
	return v, bound
}

// within reports whether a term of the rows is within the bound of the cells' value.
func within(rows, value, bound float64) bool {
	const rounding = 1e-12
	return rows >= value-rounding && rows <= value+bound+rounding
}

var scores = map[string]binfree.ProperScore{"squared": binfree.Squared, "logarithmic": binfree.Logarithmic, "spherical": binfree.Spherical}

// TestCORPOfRows checks that exact cells give the terms of the rows, and that those of a grid are within their bounds of them.
func TestCORPOfRows(t *testing.T) {
	for law := range testrows.Laws {
		for _, n := range []int{1, 2, 30, 5000, 300000} {
			if n > 5000 && (testing.Short() || law != "rare" && law != "confident" && !check.Full()) { // these two have the widest bounds
				continue
			}
			p := testrows.Lawful(law, n)
			c := cellsOf(t, p)
			for name, s := range scores {
				got, bound := terms(metrics.Must(binfree.CORPOf(c, &binfree.CORPOptions{Score: s})))
				want := corpOfRows(p, s)
				if c.Exact() && bound != (corp{}) {
					t.Errorf("%s, %s, %d rows: bounds %+v of exact cells", law, name, n, bound)
				}
				if math.IsInf(want.score, 1) {
					if !math.IsInf(got.score, 1) || !math.IsInf(got.mcb, 1) || c.Exact() == math.IsNaN(bound.mcb) {
						t.Errorf("%s, %s, %d rows: %+v, bounds %+v of an infinite score", law, name, n, got, bound)
					}
					got.score, got.mcb, want.score, want.mcb = 0, 0, 0, 0
					bound.score, bound.mcb = 0, 0
				} else if d := math.Abs(got.mcb - got.dsc + got.unc - got.score); !(d < 1e-12) {
					t.Errorf("%s, %s, %d rows: the terms of %+v are %v from the score", law, name, n, got, d)
				}
				if !within(want.score, got.score, bound.score) || !within(want.mcb, got.mcb, bound.mcb) ||
					!within(want.dsc, got.dsc, bound.dsc) || !within(want.unc, got.unc, 0) {
					t.Errorf("%s, %s, %d rows: %+v, bounds %+v, want %+v", law, name, n, got, bound, want)
				}
				if bound.mcb > 2e-3 {
					t.Errorf("%s, %s, %d rows: a bound of %v says nothing", law, name, n, bound.mcb)
				}
			}
		}
	}
}

// TestCORPOrder checks that DSC depends only on the order of scores: increasing transformations, with ties preserved, change
// neither it nor the frequencies of steps. Recalibrated scores have no miscalibration and the same discrimination.
func TestCORPOrder(t *testing.T) {
	p := testrows.Lawful("float32", 3000)
	for i := range p.F64 {
		p.F64[i] = math.Round(p.F64[i]*300) / 300
	}
	base := metrics.Must(binfree.CORPOf(cellsOf(t, p), nil))
	dsc, _ := base.DSC()
	for name, f := range map[string]func(float64) float64{"square": func(v float64) float64 { return v * v },
		"root": math.Sqrt, "squeeze": func(v float64) float64 { return 0.3 + v/10 }} {
		q := *p
		q.F64 = nil
		for _, v := range p.F64 {
			q.F64 = append(q.F64, f(v))
		}
		c := metrics.Must(binfree.CORPOf(cellsOf(t, &q), nil))
		if d, _ := c.DSC(); d != dsc {
			t.Errorf("%s: DSC %v, want %v", name, d, dsc)
		}
		for i, s := range c.Steps() {
			if b := base.Steps()[i]; s.Frequency != b.Frequency || s.Weight != b.Weight || s.Low != f(b.Low) || s.High != f(b.High) {
				t.Errorf("%s: step %d is %+v, that of the scores %+v", name, i, s, b)
			}
		}
	}
	q := *p
	q.F64 = slices.Clone(p.F64)
	for i, v := range p.F64 {
		for _, s := range base.Steps() {
			if v >= s.Low && v <= s.High {
				q.F64[i] = s.Frequency
			}
		}
	}
	for name, s := range scores {
		c := metrics.Must(binfree.CORPOf(cellsOf(t, &q), &binfree.CORPOptions{Score: s}))
		mcb, _ := c.MCB()
		got, _ := c.DSC()
		want, _ := metrics.Must(binfree.CORPOf(cellsOf(t, p), &binfree.CORPOptions{Score: s})).DSC()
		if !(mcb >= 0 && mcb < 1e-12) || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: recalibrated scores have MCB %v and DSC %v, which was %v", name, mcb, got, want)
		}
	}
	last := -1.0
	for _, s := range base.Steps() {
		if s.Frequency <= last || s.Low > s.High || s.Weight <= 0 {
			t.Errorf("step %+v after %v", s, last)
		}
		last = s.Frequency
	}
}

// TestCORPBest checks that the fit is the best increasing one for every score: no other increasing function of the scores has a
// lower mean score.
func TestCORPBest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range check.Size(15, 50, 50) {
		n := 2 + r.IntN(200)
		p := &metrics.Predictions{Labels: make([]int32, n)}
		p.Rows, p.Classes = n, 1
		for i := range n {
			p.F64 = append(p.F64, float64(r.IntN(41))/40)
			if r.Float64() < p.F64[i]*p.F64[i] {
				p.Labels[i] = 1
			}
		}
		for name, s := range scores {
			o := &binfree.CORPOptions{Score: s}
			c := metrics.Must(binfree.CORPOf(cellsOf(t, p), o))
			unc, _ := c.UNC()
			dsc, _ := c.DSC()
			fitted := unc - dsc
			for range 20 {
				rising := make([]float64, 41)
				for i := range rising {
					rising[i] = r.Float64()
				}
				slices.Sort(rising)
				q := *p
				q.F64 = nil
				near := r.IntN(2) == 0 // a small step from the fit towards the other function
				for _, v := range p.F64 {
					to := rising[int(math.Round(v*40))]
					for _, step := range c.Steps() {
						if near && v >= step.Low && v <= step.High {
							to = 0.98*step.Frequency + 0.02*to
						}
					}
					q.F64 = append(q.F64, to)
				}
				if other, _ := metrics.Must(binfree.CORPOf(cellsOf(t, &q), o)).Score(); !(other >= fitted-1e-14) {
					t.Fatalf("%s: the fit has %v, another function %v", name, fitted, other)
				}
			}
		}
	}
}

// TestCORPNotNegative checks that no term is negative, for any scores and outcomes.
func TestCORPNotNegative(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + r.IntN(20)
		p := &metrics.Predictions{Labels: make([]int32, n)}
		p.Rows, p.Classes = n, 1
		if r.IntN(2) == 0 {
			p.Weights = make([]float64, n)
		}
		for i := range n {
			p.F64 = append(p.F64, float64(r.IntN(9))/8)
			p.Labels[i] = int32(r.IntN(2))
			if p.Weights != nil {
				p.Weights[i] = math.Ldexp(1+r.Float64(), r.IntN(60)-30)
			}
		}
		for name, s := range scores {
			got, _ := terms(metrics.Must(binfree.CORPOf(cellsOf(t, p), &binfree.CORPOptions{Score: s})))
			want := corpOfRows(p, s)
			if got.mcb < 0 || got.dsc < 0 || got.dsc > got.unc+1e-15 ||
				!(got.mcb == want.mcb || math.Abs(got.mcb-want.mcb) < 1e-12) ||
				math.Abs(got.dsc-want.dsc) > 1e-12 {
				t.Fatalf("%s of %+v: %+v, want %+v", name, p, got, want)
			}
		}
	}
}

// TestCORPWeights checks that equal weights of a power of 2 give bit-identical results to no weights, and that other integer
// weights act like repeated rows.
func TestCORPWeights(t *testing.T) {
	for _, law := range []string{"cents", "uniform"} {
		p := testrows.Lawful(law, 3000)
		if law == "cents" {
			for i, v := range p.F64 { // excludes scores of 0 and 1, which make the logarithmic score infinite
				p.F64[i] = 0.01 + 0.98*v
			}
		}
		for name, s := range scores {
			o := &binfree.CORPOptions{Score: s}
			want, _ := terms(metrics.Must(binfree.CORPOf(cellsOf(t, p), o)))
			q := *p
			q.Weights = slices.Repeat([]float64{2}, p.Rows)
			c := metrics.Must(binfree.CORPOf(cellsOf(t, &q), o))
			if got, bound := terms(c); s == binfree.Squared && got != want || math.Abs(got.mcb-want.mcb) > 1e-14 || bound != (corp{}) {
				t.Errorf("%s, %s: weights of 2 give %+v, %+v; want %+v", law, name, got, bound, want)
			}
			if i := c.Intervals(0.9, nil); !math.IsNaN(i.MCB.Low) || !math.IsNaN(i.Floor) ||
				c.Band(0.9, nil) != nil || c.IntervalReason() == "" {
				t.Errorf("%s: an interval of weights: %+v", law, i)
			}
			twice := *p
			twice.F64, twice.Labels = nil, nil
			for i := range p.Rows {
				q.Weights[i] = float64(1 + i%3)
				for range 1 + i%3 {
					twice.F64, twice.Labels = append(twice.F64, p.F64[i]), append(twice.Labels, p.Labels[i])
				}
			}
			twice.Rows = len(twice.F64)
			got, _ := terms(metrics.Must(binfree.CORPOf(cellsOf(t, &q), o)))
			want, _ = terms(metrics.Must(binfree.CORPOf(cellsOf(t, &twice), o)))
			if math.Abs(got.mcb-want.mcb) > 1e-13 || math.Abs(got.dsc-want.dsc) > 1e-13 || math.Abs(got.unc-want.unc) > 1e-13 {
				t.Errorf("%s, %s: weights of 1 to 3 give %+v, so many rows %+v", law, name, got, want)
			}
		}
	}
	// A grid with weights.
	p := testrows.Lawful("uniform", 60000)
	p.Weights = make([]float64, p.Rows)
	for i := range p.Weights {
		p.Weights[i] = 0.5 + float64(i%7)
	}
	c := cellsOf(t, p)
	for name, s := range scores {
		got, bound := terms(metrics.Must(binfree.CORPOf(c, &binfree.CORPOptions{Score: s})))
		want := corpOfRows(p, s)
		if c.Exact() || !within(want.score, got.score, bound.score) || !within(want.mcb, got.mcb, bound.mcb) ||
			!within(want.dsc, got.dsc, bound.dsc) || bound.mcb > 5e-3 {
			t.Errorf("%s: %+v, bounds %+v, want %+v", name, got, bound, want)
		}
	}
}

func TestCORPEdges(t *testing.T) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a score that is none")
			}
		}()
		metrics.Must(binfree.CORPOf(metrics.Must(cells.New(nil)), &binfree.CORPOptions{Score: binfree.Spherical + 1}))
	}()
	none := metrics.Must(binfree.CORPOf(metrics.Must(cells.New(nil)), nil))
	v, _ := terms(none)
	if i := none.Intervals(0.95, nil); v.score == v.score || v.mcb == v.mcb || v.dsc == v.dsc || v.unc == v.unc ||
		i.UNC.Low == i.UNC.Low || none.IntervalReason() == "" || none.Band(0.9, nil) != nil || len(none.Steps()) != 0 {
		t.Errorf("%+v of nothing, %+v", v, i)
	}
	one := &metrics.Predictions{Labels: []int32{1}}
	one.Rows, one.Classes, one.F64 = 1, 1, []float64{0.25}
	c := metrics.Must(binfree.CORPOf(cellsOf(t, one), nil))
	if v, bound := terms(c); v != (corp{0.5625, 0.5625, 0, 0}) || bound != (corp{}) || c.IntervalReason() == "" {
		t.Errorf("%+v, %+v of one row", v, bound)
	}
	// Rows whose outcome had a score of 0 are counted.
	zero := &metrics.Predictions{Labels: []int32{1, 0, 1, 0}}
	zero.Rows, zero.Classes, zero.F64 = 4, 1, []float64{0, 1, 1, 0.5}
	c = metrics.Must(binfree.CORPOf(cellsOf(t, zero), &binfree.CORPOptions{Score: binfree.Logarithmic}))
	v, _ = terms(c)
	if i := c.Intervals(0.95, nil); c.Infinite() != 2 || !math.IsInf(v.score, 1) || !math.IsInf(v.mcb, 1) || math.IsNaN(v.dsc+v.unc) ||
		!math.IsNaN(i.MCB.Low) ||
		!(i.DSC.Low >= 0 && i.DSC.High <= math.Ln2+1e-15 && i.UNC.High > 0) {
		t.Errorf("%+v, %v rows of 0, %+v", v, c.Infinite(), i)
	}
	if n := metrics.Must(binfree.CORPOf(cellsOf(t, zero), nil)).Infinite(); n != 0 {
		t.Errorf("%v rows make the squared score infinite", n)
	}
	// More scores than cells can distinguish, in the outermost grid cell.
	p := testrows.Lawful("uniform", 300000)
	p.F64[0], p.Labels[0] = 0, 1
	c = metrics.Must(binfree.CORPOf(cellsOf(t, p), &binfree.CORPOptions{Score: binfree.Logarithmic}))
	if _, bound := c.MCB(); c.Infinite() != 1 || !math.IsNaN(bound) {
		t.Errorf("%v rows of 0 on a grid, bound %v", c.Infinite(), bound)
	}
	outside := &metrics.Predictions{Labels: []int32{0, 1, 1}}
	outside.Rows, outside.Classes, outside.F64 = 3, 1, []float64{0.5, 0.6, 1.5}
	a := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(&metrics.Options{Unchecked: true}, a).Add(outside); err != nil {
		t.Fatal(err)
	}
	if _, bound := terms(metrics.Must(binfree.CORPOf(a, nil))); a.Outside() != 1 ||
		!math.IsNaN(bound.mcb) || !math.IsNaN(bound.dsc) || !math.IsNaN(bound.unc) || !math.IsNaN(bound.score) {
		t.Errorf("bounds %+v where a score is missing", bound)
	}
}
