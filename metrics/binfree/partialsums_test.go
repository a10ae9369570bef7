package binfree_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// simulated returns n rows with scores from a distribution and events of probability truth(p).
func simulated(r *rand.Rand, n int, score func(*rand.Rand) float64, truth func(p float64) float64) *metrics.Predictions {
	p, y := make([]float64, n), make([]int32, n)
	for i := range p {
		p[i] = score(r)
		if r.Float64() < truth(p[i]) {
			y[i] = 1
		}
	}
	return testrows.Binary(p, y)
}

func calibrated(p float64) float64 { return p }

// extreme is the true probability for scores that are too extreme: its logit is 0.7 times that of the score.
func extreme(p float64) float64 {
	return 1 / (1 + kernel.Exp64(-0.7*(kernel.Log64(p)-kernel.Log64(1-p))))
}

// fromUniform returns the largest distance of a sample's distribution from the uniform distribution.
func fromUniform(p []float64) (d float64) {
	slices.Sort(p)
	n := float64(len(p))
	for i, v := range p {
		d = max(d, math.Abs(v-float64(i)/n), math.Abs(v-float64(i+1)/n))
	}
	return d
}

// The distributions of a Brownian bridge. Those of the partial sums differ, because the last sum is not tied to 0.
func bridgeSup(x float64) float64 {
	s := 0.0
	for k := 1.0; k < 50; k++ {
		s += 2 * math.Cos(math.Pi*(k-1)) * math.Exp(-2*k*k*x*x)
	}
	return min(1, s)
}

func bridgeRange(x float64) float64 {
	s := 0.0
	for k := 1.0; k < 50; k++ {
		s += 2 * (4*k*k*x*x - 1) * math.Exp(-2*k*k*x*x)
	}
	return min(1, s)
}

// TestCalibratedPValues checks that for calibrated scores p-values are uniform, and that Wald's intervals contain 1 and 0 with
// their nominal coverage.
func TestCalibratedPValues(t *testing.T) {
	// With 1,000 sets, 0.0515 is exceeded by chance in 1% of cases. S is only observed at rows, which adds up to 0.02.
	sets := check.Size(100, 200, 1000)
	limit := 1.63/math.Sqrt(float64(sets)) + 0.0185
	const rows, each = 2000, 3 // Cox is fitted to one set in every `each`
	r := rand.New(rand.NewPCG(11, 12))
	p := map[string][]float64{}
	var slopes, intercepts, large float64
	holds := func(n *float64, i metrics.Interval, v float64) {
		if i.Low <= v && v <= i.High {
			*n++
		}
	}
	for set := range sets {
		in := simulated(r, rows, func(r *rand.Rand) float64 { return 0.05 + 0.9*r.Float64()*r.Float64() }, calibrated)
		c := seen(t, in)
		s := binfree.PartialSumsOf(c)
		variance := 0.0
		for _, v := range in.F64 {
			variance += v * (1 - v)
		}
		ks, _ := s.KS()
		kuiper, _ := s.Kuiper()
		unit := rows / math.Sqrt(variance)
		for law, v := range map[string]float64{"ks": s.KSP(), "kuiper": s.KuiperP(), "spiegelhalter": binfree.SpiegelhalterOf(c).P,
			"bridge, ks": bridgeSup(ks * unit), "bridge, kuiper": bridgeRange(kuiper * unit)} {
			p[law] = append(p[law], v)
		}
		if set%each == 0 {
			f := binfree.CoxOf(c, nil)
			holds(&slopes, f.SlopeInterval(0.9), 1)
			holds(&intercepts, f.InterceptInterval(0.9), 0)
			holds(&large, binfree.CoxOf(c, &binfree.CoxOptions{UnitSlope: true}).InterceptInterval(0.9), 0)
		}
	}
	for law, p := range p {
		d := fromUniform(p)
		t.Logf("p-values of %s are %.3f from uniform", law, d)
		if strings.HasPrefix(law, "bridge") {
			if d < 0.2 {
				t.Errorf("p-values by the wrong law (%s) are but %v from uniform: the test sees nothing", law, d)
			}
		} else if d > limit {
			t.Errorf("p-values of %s are %v from uniform", law, d)
		}
	}
	for what, n := range map[string]float64{"slope": slopes, "intercept": intercepts, "in the large": large} {
		fits := float64((sets + each - 1) / each)
		if v := n / fits; math.Abs(v-0.9) > 3.5*math.Sqrt(0.09/fits) {
			t.Errorf("intervals of the %s cover %v", what, v)
		}
	}
}

// TestPower checks that miscalibration is detected: that of one sign by the partial sums, and scores that are too extreme by
// all tests.
func TestPower(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	uniform := func(r *rand.Rand) float64 { return r.Float64() }
	for _, c := range []struct {
		name                string
		truth               func(float64) float64
		ks, kuiper, spiegel float64 // smallest shares to be detected
	}{
		{"too extreme", extreme, 0.7, 0.9, 0.95},
		{"too high", func(p float64) float64 { return 0.92 * p }, 0.95, 0.9, 0},
	} {
		const sets = 60
		var found [3]float64
		for range sets {
			k := seen(t, simulated(r, 3000, uniform, c.truth))
			s, z := binfree.PartialSumsOf(k), binfree.SpiegelhalterOf(k)
			for i, p := range []float64{s.KSP(), s.KuiperP(), z.P} {
				if p < 0.05 {
					found[i] += 1.0 / sets
				}
			}
			if c.spiegel > 0 && z.Z < 0 && z.P < 0.05 {
				t.Errorf("%s: Z is %v, which says too cautious", c.name, z.Z)
			}
		}
		if found[0] < c.ks || found[1] < c.kuiper || found[2] < c.spiegel {
			t.Errorf("%s: found in %v", c.name, found)
		}
		t.Log(c.name, found)
	}
}

// everyRow presents each row as a cell of its own.
type everyRow struct {
	*cells.Cells
	p []float64 // ascending
	y []int32
}

func (e everyRow) Exact() bool { return true }
func (e everyRow) Count() int  { return len(e.p) }
func (e everyRow) Each(f func(*cells.Cell)) {
	var c cells.Cell
	for i, p := range e.p {
		c = cells.Cell{P: p, Q: 1 - p, Low: p, High: p, N: 1, Weight: 1, Events: float64(e.y[i])}
		f(&c)
	}
}

// rowsOf returns the rows of predictions in ascending order.
func rowsOf(p *metrics.Predictions) everyRow {
	at := make([]int, p.Rows)
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int {
		if p.F64[a] < p.F64[b] {
			return -1
		}
		return 1
	})
	e := everyRow{metrics.Must(cells.New(nil)), make([]float64, p.Rows), make([]int32, p.Rows)}
	for i, j := range at {
		e.p[i], e.y[i] = p.F64[j], p.Labels[j]
	}
	return e
}

// turned returns the rows for the opposite event.
func (e everyRow) turned() everyRow {
	t := everyRow{e.Cells, make([]float64, len(e.p)), make([]int32, len(e.p))}
	for i, p := range e.p {
		j := len(e.p) - 1 - i
		t.p[j], t.y[j] = 1-p, 1-e.y[i]
	}
	return t
}

// sums returns KS, Kuiper, Z and the variance.
func (e everyRow) sums() (ks, kuiper, z, variance float64) {
	var s, low, high, over, under float64
	for i, p := range e.p {
		g := float64(e.y[i]) - p
		s += g
		low, high = min(low, s), max(high, s)
		over += g * (1 - 2*p)
		under += (1 - 2*p) * (1 - 2*p) * p * (1 - p)
		variance += p * (1 - p)
	}
	n := float64(len(e.p))
	return max(high, -low) / n, (high - low) / n, over / math.Sqrt(under), variance
}

// TestAnswersOfCells checks that the answers of cells are those of the rows or, on a grid, within the bounds of them.
func TestAnswersOfCells(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it sorts hundreds of thousands of rows")
	}
	// The worst case: scores at the ends of grid cells, with more events at the upper ends.
	places, rising := kernel.GridPlaces()
	first := kernel.GridRank(0.003)
	atEnds := func(r *rand.Rand) float64 {
		i := first + r.IntN(len(rising)-1-first)
		q := places[rising[i]] * (1 + 1e-9*r.Float64())
		if r.IntN(2) == 0 {
			q = places[rising[i+1]] * (1 - 1e-9*r.Float64())
		}
		if r.IntN(2) == 0 {
			return 1 - q
		}
		return q
	}
	moreAbove := func(p float64) float64 {
		i := kernel.GridRank(min(p, 1-p))
		if i+1 < len(rising) && (min(p, 1-p) > (places[rising[i]]+places[rising[i+1]])/2) == (p < 0.5) {
			return extreme(p)
		}
		return 0.5 * extreme(p)
	}
	for name, law := range map[string]struct {
		score func(*rand.Rand) float64
		truth func(float64) float64
	}{
		"confident": {func(r *rand.Rand) float64 { u := r.Float64(); return 1 - max(u*u*u*u/2, 1e-15) }, extreme},
		"rare":      {func(r *rand.Rand) float64 { return kernel.Exp64(-2 - 14*r.Float64()) }, extreme},
		"middle":    {func(r *rand.Rand) float64 { return 0.45 + 0.1*r.Float64() }, extreme},
		"ends":      {atEnds, moreAbove},
	} {
		for _, n := range []int{3000, 265000} {
			if n > 3000 && !check.Full() && name != "confident" && name != "ends" {
				continue // these two have the widest bounds
			}
			r := rand.New(rand.NewPCG(uint64(n), 5))
			p := simulated(r, n, law.score, law.truth)
			c, rows := seen(t, p), rowsOf(p)
			if c.Exact() != (n == 3000) {
				t.Fatal("not the cells that this is about")
			}
			close := func(what string, got, bound, want, most float64) {
				if d := math.Abs(got - want); !(d <= bound+1e-11*(1+math.Abs(want))) {
					t.Errorf("%s, %d: %s is %v, %v from %v, bound %v", name, n, what, got, d, want, bound)
				}
				if bound > most || c.Exact() && bound != 0 {
					t.Errorf("%s, %d: a bound of %v of %s", name, n, bound, what)
				}
				if !c.Exact() {
					t.Logf("%s: %s %.9g, off by %.2g, bound %.2g", name, what, got, math.Abs(got-want), bound)
				}
			}
			ks, kuiper, z, variance := rows.sums()
			s := binfree.PartialSumsOf(c)
			v, b := s.KS()
			close("ks", v, b, ks, 3e-3)
			v, b = s.Kuiper()
			close("kuiper", v, b, kuiper, 6e-3)
			// The p-values of the rows, from cells that have only their partial sums.
			exact := binfree.PartialSumsOf(gaps{c, cells.Gaps{High: ks * float64(n), Total: float64(n), Variance: variance}})
			close("ks p", s.KSP(), s.KSPBound(), exact.KSP(), 1)
			exact = binfree.PartialSumsOf(gaps{c, cells.Gaps{High: kuiper * float64(n), Total: float64(n), Variance: variance}})
			close("kuiper p", s.KuiperP(), s.KuiperPBound(), exact.KuiperP(), 1)
			h := binfree.SpiegelhalterOf(c)
			close("z", h.Z, h.Bound, z, 1e-3*math.Abs(z))
			close("p", h.P, h.PBound, math.Erfc(math.Abs(z)/math.Sqrt2), 1e-3)
			for _, unit := range []bool{false, true} {
				o := &binfree.CoxOptions{UnitSlope: unit}
				f, g := binfree.CoxOf(c, o), binfree.CoxOf(rows, o)
				v, b = f.Slope()
				w, _ := g.Slope()
				close("slope", v, b, w, 0.02)
				v, b = f.Intercept()
				w, _ = g.Intercept()
				close("intercept", v, b, w, 0.02)
			}
		}
	}
}

// gaps presents cells with given partial sums.
type gaps struct {
	*cells.Cells
	g cells.Gaps
}

func (g gaps) Gaps() cells.Gaps { return g.g }

// TestOrderAndMirror checks that the order of rows changes no bit. Scores and outcomes of the opposite event change only signs,
// and KS, whose sums then start from the other end.
func TestOrderAndMirror(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	p := simulated(r, 20000, func(r *rand.Rand) float64 { return float64(1+r.IntN(1<<20-1)) / (1 << 20) }, extreme)
	answers := func(p *metrics.Predictions) []float64 {
		c := seen(t, p)
		s, z, f := binfree.PartialSumsOf(c), binfree.SpiegelhalterOf(c), binfree.CoxOf(c, nil)
		l := binfree.CoxOf(c, &binfree.CoxOptions{UnitSlope: true})
		ks, _ := s.KS()
		kuiper, _ := s.Kuiper()
		b, _ := f.Slope()
		a, _ := f.Intercept()
		al, _ := l.Intercept()
		bi, ai := f.SlopeInterval(0.95), f.InterceptInterval(0.95)
		return []float64{ks, kuiper, s.KSP(), s.KuiperP(), z.P, b, bi.Low, bi.High, math.Abs(z.Z), a, al, ai.Low, ai.High}
	}
	want := answers(p)
	q := testrows.Binary(slices.Clone(p.F64), slices.Clone(p.Labels))
	r.Shuffle(q.Rows, func(i, j int) {
		q.F64[i], q.F64[j] = q.F64[j], q.F64[i]
		q.Labels[i], q.Labels[j] = q.Labels[j], q.Labels[i]
	})
	if got := answers(q); !slices.Equal(got, want) {
		t.Errorf("shuffled: %v, want %v", got, want)
	}
	for i := range q.F64 {
		q.F64[i], q.Labels[i] = 1-q.F64[i], 1-q.Labels[i]
	}
	got := answers(q)
	rows := rowsOf(p)
	if ks, _, _, _ := rows.sums(); math.Abs(ks-want[0]) > 1e-12 {
		t.Errorf("ks %v, want %v", want[0], ks)
	}
	want[0], _, _, _ = rows.turned().sums()
	want[2] = got[2]
	want[9], want[10] = -want[9], -want[10]
	want[11], want[12] = -want[12], -want[11]
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-11*(math.Abs(want[i])+1e-3) {
			t.Errorf("mirrored: number %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// TestPartialSumsByHand checks cases computed by hand.
func TestPartialSumsByHand(t *testing.T) {
	p := testrows.Binary([]float64{0.25, 0.25, 0.5, 0.75, 0.75}, []int32{1, 0, 0, 1, 1})
	s := binfree.PartialSumsOf(seen(t, p)) // 0, 0.5/5, 0, 0.5/5
	ks, bound := s.KS()
	kuiper, _ := s.Kuiper()
	if math.Abs(ks-0.1) > 1e-15 || math.Abs(kuiper-0.1) > 1e-15 || bound != 0 {
		t.Errorf("%v %v %v", ks, kuiper, bound)
	}
	z := binfree.SpiegelhalterOf(seen(t, p))
	// Numerator: 0.5*(0.75-0.25) + 0 - 0.5*0.5 = 0.25 - 0.25. Variance: 4 * 0.25 * 0.1875.
	if want := (0.5*0.75 - 0.5*0.25 - 0.5*0.5) / math.Sqrt(0.1875); math.Abs(z.Z-want) > 1e-15 || z.P != 1 {
		t.Errorf("%+v, want %v", z, want)
	}
	// One score for all rows: one normal deviate.
	one := testrows.Binary(slices.Repeat([]float64{0.25}, 300), append(slices.Repeat([]int32{1}, 90), make([]int32, 210)...))
	o := binfree.PartialSumsOf(seen(t, one))
	deviate := 15 / math.Sqrt(300*0.1875)
	if v := o.KSP(); math.Abs(v-2*math.Erfc(deviate/math.Sqrt2)) > 1e-5 {
		t.Errorf("%v", v)
	}
	if z := binfree.SpiegelhalterOf(seen(t, one)); math.Abs(z.Z-deviate) > 1e-13 || math.Abs(z.P-math.Erfc(deviate/math.Sqrt2)) > 1e-13 {
		t.Errorf("%+v, want %v", z, deviate)
	}
}

// TestSpiegelhalterNextToHalf checks scores next to 1/2, which predict almost nothing of the Brier score. Z is still in units
// of that.
func TestSpiegelhalterNextToHalf(t *testing.T) {
	for _, away := range []float64{-0x1p-54, 0x1p-53, -0x1p-40, 0x1p-20} {
		p, y := make([]float64, 1000), make([]int32, 1000)
		for i := range p {
			p[i] = 0.5 + away
			if y[i] = int32(i & 1); i < 50 {
				y[i] = 1
			}
		}
		// 525 events, 25 more than half: (25 - 1000 away) * -2 away / sqrt(1000 * 4 away^2 / 4).
		want := math.Copysign(2*(25-1000*away)/math.Sqrt(1000), -away)
		if z := binfree.SpiegelhalterOf(seen(t, testrows.Binary(p, y))); math.Abs(z.Z/want-1) > 1e-9 {
			t.Errorf("%v from 1/2: %v, want %v", away, z.Z, want)
		}
	}
	// The sums of a grid have no digits of scores next to 0. The bound is the loss.
	n := cells.MaxExact + 1000
	p, y := make([]float64, n), make([]int32, n)
	for i := range p {
		p[i] = 4e-18 + float64(i)*0x1p-108
	}
	s, err := cells.Sort(testrows.Binary(p, y), &cells.SortOptions{Event: metrics.Positive})
	if err != nil {
		t.Fatal(err)
	}
	g, want := binfree.SpiegelhalterOf(seen(t, testrows.Binary(p, y))), binfree.SpiegelhalterOf(s)
	if !(math.Abs(g.Z-want.Z) <= g.Bound) || want.Bound != 0 {
		t.Errorf("%+v, want %+v", g, want)
	}
}

// TestCurveReasons checks that weights count as rows, and the reasons for missing answers.
func TestCurveReasons(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	p := simulated(r, 500, func(r *rand.Rand) float64 { return float64(1+r.IntN(99)) / 100 }, extreme)
	p.Weights = make([]float64, p.Rows)
	var q metrics.Predictions
	q.Classes = 1
	for i := range p.Weights {
		p.Weights[i] = float64(1 + i%3)
		for range 1 + i%3 {
			q.F64, q.Labels = append(q.F64, p.F64[i]), append(q.Labels, p.Labels[i])
		}
	}
	q.Rows = len(q.Labels)
	cw, c := seen(t, p), seen(t, &q)
	a, b := binfree.PartialSumsOf(cw), binfree.PartialSumsOf(c)
	ka, _ := a.KS()
	kb, _ := b.KS()
	ua, _ := a.Kuiper()
	ub, _ := b.Kuiper()
	if math.Abs(ka-kb) > 1e-14 || math.Abs(ua-ub) > 1e-14 {
		t.Errorf("weighted: %v %v, want %v %v", ka, ua, kb, ub)
	}
	fa, fb := binfree.CoxOf(cw, nil), binfree.CoxOf(c, nil)
	sa, _ := fa.Slope()
	sb, _ := fb.Slope()
	if math.Abs(sa-sb) > 1e-13 {
		t.Errorf("weighted slope %v, want %v", sa, sb)
	}
	nan := func(what, reason, part string, v ...float64) {
		t.Helper()
		for _, v := range v {
			if v == v {
				t.Errorf("%s: %v", what, v)
			}
		}
		if !strings.Contains(reason, part) || part == "" {
			t.Errorf("%s: %q does not say %q", what, reason, part)
		}
	}
	tests := func(what string, c *cells.Cells, part, partZ string) {
		t.Helper()
		s, z := binfree.PartialSumsOf(c), binfree.SpiegelhalterOf(c)
		nan(what, s.Reason(), part, s.KSP(), s.KuiperP(), s.KSPBound(), s.KuiperPBound())
		nan(what, z.Reason, partZ, z.Z, z.P, z.Bound, z.PBound)
	}
	tests("weights", cw, "weights", "weights")
	if i := fa.SlopeInterval(0.9); fa.Reason() != "" || i.Low == i.Low {
		t.Error("weights: a fit without interval")
	}
	nan("weights", fa.IntervalReason(), "weights")
	tests("no rows", metrics.Must(cells.New(nil)), "no rows", "no rows")
	for _, c := range []struct {
		p     []float64
		y     []int32
		wrong bool
	}{
		{[]float64{0, 1, 1}, []int32{0, 1, 0}, true}, {[]float64{0, 0, 1}, []int32{1, 0, 1}, true}, {[]float64{0, 0, 1, 1}, []int32{1, 0, 1, 0}, true},
		{[]float64{0, 1, 1}, []int32{0, 1, 1}, false}, {[]float64{0, 0}, []int32{0, 0}, false}, {[]float64{1e-20, 1}, []int32{0, 1}, false},
		{[]float64{0, 0.5, 1}, []int32{0, 1, 1}, false}, {[]float64{0, 0.5, 1}, []int32{0, 1, 0}, true},
	} {
		k := seen(t, testrows.Binary(c.p, c.y))
		s, z := binfree.PartialSumsOf(k), binfree.SpiegelhalterOf(k)
		want := 1.0
		if c.wrong {
			want = 0
		}
		if !slices.Contains(c.p, 0.5) && (s.KSP() != want || s.KuiperP() != want || s.KSPBound() != 0 || s.KuiperPBound() != 0 || s.Reason() != "") {
			t.Errorf("%v %v: ks %v, kuiper %v, %q", c.p, c.y, s.KSP(), s.KuiperP(), s.Reason())
		}
		if slices.Contains(c.p, 1e-20) {
			continue // its Z is a number
		}
		if z.P != want || z.PBound != 0 || c.wrong != math.IsInf(z.Z, 1) || c.wrong == math.IsNaN(z.Z) || c.wrong == strings.Contains(z.Reason, "none is wrong") {
			t.Errorf("%v %v: %+v", c.p, c.y, z)
		}
	}
	if k, b := binfree.PartialSumsOf(metrics.Must(cells.New(nil))).KS(); k == k || b != 0 {
		t.Errorf("no rows: %v %v", k, b)
	}
	outside := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
	if err := metrics.NewPass(&metrics.Options{Unchecked: true}, outside).Add(testrows.Binary([]float64{0.5, 0.2, 0.3, 1.5}, []int32{1, 0, 1, 1})); err != nil {
		t.Fatal(err)
	}
	tests("outside", outside, "outside", "outside")
	if _, b := binfree.PartialSumsOf(outside).KS(); b == b {
		t.Error("outside: a bound")
	}
	for _, x := range []struct {
		what, part, unit string
		p                []float64
		y                []int32
	}{
		{"same outcomes", "the same", "the same", []float64{0.2, 0.4}, []int32{1, 1}},
		{"one score", "equal", "", []float64{0.2, 0.2}, []int32{0, 1}},
		{"parted", "separate", "", []float64{0.2, 0.4, 0.4, 0.5}, []int32{0, 0, 1, 1}},
		{"parted the other way", "separate", "", []float64{0.2, 0.4, 0.4, 0.5}, []int32{1, 0, 1, 0}},
		{"ends", "0 or 1", "0 or 1", []float64{0, 1}, []int32{0, 1}},
		{"no rows", "no rows", "no rows", nil, nil},
		{"all but the ends parted", "separate", "", []float64{0, 0.2, 0.4, 1}, []int32{1, 0, 1, 0}},
	} {
		c := metrics.Must(cells.New(nil))
		if len(x.p) > 0 {
			c = seen(t, testrows.Binary(x.p, x.y))
		}
		f, u := binfree.CoxOf(c, nil), binfree.CoxOf(c, &binfree.CoxOptions{UnitSlope: true})
		s, sb := f.Slope()
		a, ab := f.Intercept()
		i := f.InterceptInterval(0.9)
		nan(x.what, f.Reason(), x.part, s, a, sb, ab, i.Low, i.High)
		nan(x.what, f.IntervalReason(), x.part)
		if a, _ := u.Intercept(); (u.Reason() == "") != (x.unit == "") || (a == a) != (x.unit == "") || !strings.Contains(u.Reason(), x.unit) {
			t.Errorf("%s: slope held: %v, %q", x.what, a, u.Reason())
		}
	}
	f := binfree.CoxOf(outside, nil)
	s0, _ := f.Slope()
	nan("outside", f.Reason(), "outside", s0)
}
