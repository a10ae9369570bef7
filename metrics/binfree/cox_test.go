package binfree_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// seen returns the cells of the positive class of binary predictions.
func seen(t testing.TB, p *metrics.Predictions) *cells.Cells {
	t.Helper()
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	return c
}

// bisected solves the two score equations by bisection for the slope, with a bisection for the intercept at each slope.
func bisected(x, y, w []float64, unit bool) (a, b float64) {
	score := func(a, b float64) (s0, s1 float64) {
		for i := range x {
			mu := 1 / (1 + math.Exp(-(a + b*x[i])))
			s0 += w[i] * (y[i] - mu)
			s1 += w[i] * (y[i] - mu) * x[i]
		}
		return s0, s1
	}
	intercept := func(b float64) float64 {
		lo, hi := -3000.0, 3000.0
		for range 100 {
			a := (lo + hi) / 2
			if s, _ := score(a, b); s > 0 {
				lo = a
			} else {
				hi = a
			}
		}
		return lo
	}
	if unit {
		return intercept(1), 1
	}
	lo, hi := -50.0, 50.0
	for range 100 {
		b := (lo + hi) / 2
		if _, s := score(intercept(b), b); s > 0 {
			lo = b
		} else {
			hi = b
		}
	}
	return intercept(lo), lo
}

func TestCoxBisected(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range check.Size(15, 40, 40) {
		n := 5 + r.IntN(60)
		p, y, w := make([]float64, n), make([]int32, n), make([]float64, n)
		x, yf := make([]float64, n), make([]float64, n)
		k, s, o := 0.2+3*r.Float64(), 2*r.Float64()-0.5, 4*r.NormFloat64()
		for j := range p {
			x[j] = k*r.NormFloat64() + o
			p[j] = 1 / (1 + math.Exp(-x[j]))
			x[j] = math.Log(p[j] / (1 - p[j]))
			if r.Float64() < 1/(1+math.Exp(-s*x[j]+s*o/2)) {
				y[j], yf[j] = 1, 1
			}
			if w[j] = 1; i%3 == 2 {
				w[j] = math.Exp(4 * r.NormFloat64())
			}
		}
		in := testrows.Binary(p, y)
		if i%3 == 2 {
			in.Weights = w
		}
		c := seen(t, in)
		for _, unit := range []bool{false, true} {
			f := binfree.CoxOf(c, &binfree.CoxOptions{UnitSlope: unit})
			if f.Reason() != "" {
				continue
			}
			a, b := bisected(x, yf, w, unit)
			fa, _ := f.Intercept()
			fb, bound := f.Slope()
			if bound != 0 || math.Abs(fa-a) > 1e-10*(1+math.Abs(a)) || math.Abs(fb-b) > 1e-10*(1+math.Abs(b)) {
				t.Errorf("%d, n %d: %v %v, want %v %v", i, n, fa, fb, a, b)
			}
		}
	}
}

// given presents cells with a given list.
type given struct {
	*cells.Cells
	cells []cells.Cell
}

func (g given) Count() int { return len(g.cells) }
func (g given) Each(f func(*cells.Cell)) {
	for i := range g.cells {
		f(&g.cells[i])
	}
}

// TestCoxDigits compares coefficients and standard errors with Newton's method in 60 digits. Those of the first case also agree
// with statsmodels 0.13.5.
func TestCoxDigits(t *testing.T) {
	even := func(n int) (p []float64) {
		for i := range n {
			p = append(p, float64(i+1)/64)
		}
		return p
	}
	outcomes := func(n int, f func(i int) bool) (y []int32) {
		for i := range n {
			v := int32(0)
			if f(i) {
				v = 1
			}
			y = append(y, v)
		}
		return y
	}
	mixed := outcomes(40, func(i int) bool { return i*7%40 < i })
	weighted := testrows.Binary(even(40), mixed)
	for i := range 40 {
		weighted.Weights = append(weighted.Weights, []float64{1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1,
			1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}[i*5%19])
	}
	parted := outcomes(60, func(i int) bool { return i >= 30 })
	parted[29], parted[30] = 1, 0
	// Scores from 1e-286 to 1 - 1e-286.
	far := given{Cells: metrics.Must(cells.New(nil))}
	hits := outcomes(40, func(i int) bool { return i < 20 && i%9 == 4 || i >= 20 && i%7 != 3 })
	tiny := []float64{1e-1, 1e-16, 1e-31, 1e-46, 1e-61, 1e-76, 1e-91, 1e-106, 1e-121, 1e-136, 1e-151, 1e-166, 1e-181, 1e-196, 1e-211,
		1e-226, 1e-241, 1e-256, 1e-271, 1e-286}
	for i, q := range tiny {
		far.cells = append(far.cells, cells.Cell{P: q, Q: 1 - q, N: 1, Weight: 1, Events: float64(hits[i])},
			cells.Cell{P: 1 - q, Q: q, N: 1, Weight: 1, Events: float64(hits[20+i])})
	}
	slices.SortFunc(far.cells, func(a, b cells.Cell) int { return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(b.Q, a.Q)) })
	for _, x := range []struct {
		name               string
		in                 cells.Rising
		a, b, seA, seB     float64 // se 0: not compared
		large, seL, digits float64
	}{
		{"even", seen(t, testrows.Binary(even(40), mixed)), 1.246356223754680351, 1.6176242116920857871, 0.54805614191346734631, 0.54272070765680598523,
			0.78767894653274842, 0.35225681322332867555, 1e-14},
		{"weights", seen(t, weighted), -2.6320408221325699866, 1.1389924405301983739, 0, 0, -2.6484557425514283007, 0, 1e-13},
		{"nearly parted", seen(t, testrows.Binary(even(60), parted)), 1.9620615100728428377, 20.874075669967612569, 1.6853595156263649734,
			13.210892481079535918, 0.13300636985417707915, 0.30765027482746658499, 1e-13},
		{"far", far, -0.16901654322937152286, 0.0046600710088865238119, 0.41285487242702666131, 0.001404767500394349905,
			-19.525428079279997779, 4069.9791030397916067, 1e-9}, // here the likelihood is flat to 1e-7
	} {
		f, l := binfree.CoxOf(x.in, nil), binfree.CoxOf(x.in, &binfree.CoxOptions{UnitSlope: true})
		close := func(what string, got, want, digits float64) {
			t.Helper()
			if !(math.Abs(got-want) <= digits*math.Abs(want)) {
				t.Errorf("%s: %s is %v, want %v", x.name, what, got, want)
			}
		}
		a, _ := f.Intercept()
		b, _ := f.Slope()
		v, _ := l.Intercept()
		one, _ := l.Slope()
		close("intercept", a, x.a, min(x.digits, 1e-12))
		close("slope", b, x.b, min(x.digits, 1e-12))
		close("in the large", v, x.large, x.digits)
		close("slope held", one, 1, 0)
		for _, i := range []struct {
			what      string
			interval  metrics.Interval
			value, se float64
		}{{"intercept", f.InterceptInterval(0.95), a, x.seA}, {"slope", f.SlopeInterval(0.95), b, x.seB}, {"in the large", l.InterceptInterval(0.95), v, x.seL}} {
			if i.se == 0 {
				if i.interval.Low == i.interval.Low {
					t.Errorf("%s: %s has an interval", x.name, i.what)
				}
				continue
			}
			close("upper end of the "+i.what, i.interval.High, i.value+metrics.Z(0.95)*i.se, max(x.digits, 1e-12))
			close("lower end of the "+i.what, i.interval.Low, i.value-metrics.Z(0.95)*i.se, max(x.digits, 1e-12))
		}
		if i := l.SlopeInterval(0.95); i.Low == i.Low {
			t.Errorf("%s: a slope that is held has an interval", x.name)
		}
	}
}

// TestCoxManyRows checks that ten billion rows have the same fit as a small fraction of them, with a correspondingly smaller
// standard error.
func TestCoxManyRows(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	c := seen(t, simulated(r, 5000, func(r *rand.Rand) float64 { return r.Float64() }, extreme))
	state, err := c.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	f := binfree.CoxOf(c, nil)
	for range 21 {
		var other cells.Cells
		if err := other.UnmarshalBinary(state); err != nil {
			t.Fatal(err)
		}
		if err := c.Merge(&other); err != nil {
			t.Fatal(err)
		}
		if state, err = c.AppendBinary(state[:0]); err != nil {
			t.Fatal(err)
		}
	}
	if c.Len() != 5000<<21 {
		t.Fatal(c.Len())
	}
	g := binfree.CoxOf(c, nil)
	a, _ := f.Slope()
	b, _ := g.Slope()
	i, j := f.SlopeInterval(0.95), g.SlopeInterval(0.95)
	if math.Abs(a-b) > 1e-13 || math.Abs((i.High-i.Low)/(j.High-j.Low)/math.Sqrt(1<<21)-1) > 1e-8 {
		t.Errorf("%v %v, want %v %v", b, j, a, i)
	}
}

// TestCoxHard checks fits on which a plain Newton method fails: the score equations hold as accurately as possible.
func TestCoxHard(t *testing.T) {
	var r *rand.Rand
	n := 2000
	for name, score := range map[string]func(i int) (p float64, y bool){
		"close together":    func(int) (float64, bool) { return 0.9 + 1e-12*r.Float64(), r.Float64() < 0.9 },
		"wide, no relation": func(int) (float64, bool) { return kernel.Exp64(-690 * r.Float64()), r.Float64() < 0.1 },
		"turned":            func(int) (float64, bool) { p := r.Float64(); return p, r.Float64() > p },
		"wide and turned":   func(int) (float64, bool) { u := r.Float64(); return kernel.Exp64(-600 * u), r.Float64() < u },
		"two far off": func(i int) (float64, bool) {
			return []float64{0.9 + 1e-9*r.Float64(), 1e-300}[i/(n-2)], r.Float64() < 0.9 && i < n-2
		},
		"one turned":         func(i int) (float64, bool) { return float64(i+1) / 2048, i >= 1000 && i != 1001 },
		"a single event":     func(i int) (float64, bool) { return float64(i+1) / 2048, i == 300 },
		"very small or even": func(i int) (float64, bool) { return []float64{1e-300, 0.5}[i%2], i%3 == 0 },
	} {
		r = rand.New(rand.NewPCG(23, 24)) // the same numbers for each case, whatever the order of the map
		p, y := make([]float64, n), make([]int32, n)
		for i := range p {
			var v bool
			if p[i], v = score(i); v {
				y[i] = 1
			}
		}
		f := binfree.CoxOf(seen(t, testrows.Binary(p, y)), nil)
		if f.Reason() != "" {
			t.Errorf("%s: %s", name, f.Reason())
			continue
		}
		a, _ := f.Intercept()
		b, _ := f.Slope()
		// Relative to the mean, with the differences of logits from that of one score, which keep all their digits.
		var at float64
		for _, v := range p {
			at = max(at, v)
		}
		x := func(v float64) float64 {
			if t := (v - at) / ((1 - v) * at); t > -0.5 {
				return math.Log1p(t)
			}
			return math.Log(v) - math.Log1p(-v) - math.Log(at) + math.Log1p(-at)
		}
		if b*b > 1e12 {
			a += b * math.Log(at/(1-at)) // their sum loses too many digits to compare more than the slope
		} else {
			a += b * (math.Log(at) - math.Log1p(-at))
		}
		var g0, g1, w, wx, wxx float64
		for i, v := range p {
			mu := 1 / (1 + math.Exp(-(a + b*x(v))))
			g0 += mu - float64(y[i])
			g1 += (mu - float64(y[i])) * x(v)
			w, wx, wxx = w+mu*(1-mu), wx+mu*(1-mu)*x(v), wxx+mu*(1-mu)*x(v)*x(v)
		}
		g1 -= wx / w * g0
		v := wxx - wx/w*wx
		slope := f.SlopeInterval(0.95)
		se := (slope.High - slope.Low) / 2 / metrics.Z(0.95)
		t.Logf("%s: %v %v, se %v; g %v %v", name, a, b, se, g0/math.Sqrt(w), g1/math.Sqrt(v))
		if !(math.Abs(g1)/math.Sqrt(v) < 1e-5 && math.Abs(se*math.Sqrt(v)-1) < 1e-3) {
			t.Errorf("%s: slope %v is off by %v standard errors of %v, %v", name, b, g1/math.Sqrt(v), se, 1/math.Sqrt(v))
		}
	}
}

// TestCoxLeftOut checks that scores of exactly 0 and 1 are left out and counted, and that the fit is that of the other rows.
func TestCoxLeftOut(t *testing.T) {
	p := testrows.Binary([]float64{0, 0.2, 0.3, 0.6, 0.7, 1, 1, 0.8}, []int32{1, 0, 1, 0, 1, 1, 0, 1})
	q := testrows.Binary([]float64{0.2, 0.3, 0.6, 0.7, 0.8}, []int32{0, 1, 0, 1, 1})
	f, g := binfree.CoxOf(seen(t, p), nil), binfree.CoxOf(seen(t, q), nil)
	a, _ := f.Slope()
	b, _ := g.Slope()
	if f.LeftOut() != 3 || g.LeftOut() != 0 || a != b || a != a {
		t.Errorf("%d and %d left out, slopes %v and %v", f.LeftOut(), g.LeftOut(), a, b)
	}
	// On the grid, scores next to 0 cannot be distinguished from 0.
	n := 270000
	many := testrows.Binary(make([]float64, n), make([]int32, n))
	for i := range n {
		many.F64[i], many.Labels[i] = (float64(i)+0.5)/float64(n), int32(i*7%10/5)
	}
	many.F64[5], many.F64[6], many.F64[7] = 0, 1e-30, 1
	h := binfree.CoxOf(seen(t, many), nil)
	v, bound := h.Slope()
	if h.LeftOut() != 3 || v != v || bound == bound {
		t.Errorf("%d left out, slope %v, bound %v", h.LeftOut(), v, bound)
	}
}
