package regress_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

func TestDieboldMarianoOracle(t *testing.T) {
	o := readSpreadOracle(t)
	cases, bartlett := 0, 0
	for i, c := range o.DM {
		for _, w := range c.Answers {
			if w.Horizon >= len(c.A) {
				continue
			}
			r := metrics.Must(regress.DieboldMariano(c.A, c.B, &regress.DMOptions{Horizon: w.Horizon}))
			if r.Reason != "" || r.Rows != len(c.A) || r.Bartlett != w.Bartlett || !spreadNear(r.Mean, w.Mean, 1e-11) ||
				!spreadNear(r.Statistic, w.Statistic, 1e-10) || !spreadNear(r.P, w.P, 1e-9) ||
				!spreadNear(r.Interval.Low, w.Interval[0], 1e-9) || !spreadNear(r.Interval.High, w.Interval[1], 1e-9) {
				t.Errorf("set %d, horizon %d: %+v, want %+v", i, w.Horizon, r, w)
			}
			if w.Bartlett {
				bartlett++
			}
			r = metrics.Must(regress.DieboldMariano(c.A, c.B, &regress.DMOptions{Horizon: w.Horizon, Asymptotic: true}))
			if !spreadNear(r.Statistic, w.Asymptotic, 1e-10) || !spreadNear(r.P, w.AsymptoticP, 1e-9) {
				t.Errorf("set %d, horizon %d: %+v, want %+v", i, w.Horizon, r, w)
			}
			// Swapping the two forecasts changes the signs, and nothing else.
			q := metrics.Must(regress.DieboldMariano(c.B, c.A, &regress.DMOptions{Horizon: w.Horizon, Asymptotic: true}))
			if q.Statistic != -r.Statistic || q.P != r.P || q.Mean != -r.Mean || q.Interval.Low != -r.Interval.High {
				t.Errorf("set %d, horizon %d: %+v and %+v", i, w.Horizon, r, q)
			}
			cases++
		}
	}
	if cases != 20 || bartlett == 0 {
		t.Error(cases, "cases,", bartlett, "by Bartlett's weights")
	}
}

// TestDieboldMarianoPublished compares with the output of two other implementations.
func TestDieboldMarianoPublished(t *testing.T) {
	published := readSpreadOracle(t).Published
	for i, c := range published {
		r := metrics.Must(regress.DieboldMariano(c.A, c.B, nil))
		if !spreadNear(r.Statistic, c.Statistic, 1e-12) || !spreadNear(r.P, c.P, 1e-12) {
			t.Errorf("case %d: %v %v, want %v %v", i, r.Statistic, r.P, c.Statistic, c.P)
		}
	}
	if len(published) != 3 {
		t.Error(len(published), "cases")
	}
	// Forecasts 0 1 2 3 4 5 and 0 2 3 3 5 6 of zeros, with squared errors: from the tests of the package dieboldmariano.
	a, b := []float64{0, 1, 4, 9, 16, 25}, []float64{0, 4, 9, 9, 25, 36}
	if r := metrics.Must(regress.DieboldMariano(a, b, nil)); math.Abs(r.Statistic+2.4905) > 5e-5 || math.Abs(r.P-0.05513) > 5e-6 {
		t.Error(r)
	}
}

// TestDieboldMarianoSize checks that a test at 5% rejects about that often if forecasts are equally good, and that the
// interval covers the mean at its level.
func TestDieboldMarianoSize(t *testing.T) {
	runs := check.Size(400, 2000, 4000)
	r := rand.New(rand.NewPCG(5, 1))
	for _, c := range []struct {
		rows, horizon int
		most          float64 // the correction is not complete for few rows and many lags
	}{{10, 1, 0.06}, {60, 1, 0.06}, {60, 3, 0.09}, {300, 4, 0.07}} {
		a, b := make([]float64, c.rows), make([]float64, c.rows)
		rejected, covered := 0, 0
		for range runs {
			for _, x := range [][]float64{a, b} {
				shocks := make([]float64, c.rows+c.horizon-1)
				for i := range shocks {
					shocks[i] = r.NormFloat64()
				}
				for i := range x {
					x[i] = 0
					for _, s := range shocks[i : i+c.horizon] {
						x[i] += s
					}
				}
			}
			m := metrics.Must(regress.DieboldMariano(a, b, &regress.DMOptions{Horizon: c.horizon}))
			if m.P < 0.05 {
				rejected++
			}
			if m.Interval.Low <= 0 && 0 <= m.Interval.High {
				covered++
			}
		}
		noise := 3 * math.Sqrt(0.05*0.95/float64(runs))
		if f := float64(rejected) / float64(runs); f < 0.05-noise-0.005 || f > c.most+noise {
			t.Errorf("%d rows, horizon %d: rejects %.3f", c.rows, c.horizon, f)
		}
		if rejected+covered != runs {
			t.Errorf("%d rows, horizon %d: %d rejected and %d covered of %d", c.rows, c.horizon, rejected, covered, runs)
		}
	}
}

func TestDieboldMarianoEdges(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		a, b    []float64
		horizon int
	}{
		"no rows":          {},
		"one row":          {a: []float64{1}, b: []float64{2}},
		"all equal":        {a: []float64{1, 2, 3}, b: []float64{2, 3, 4}},
		"infinite":         {a: []float64{1, inf, 3}, b: []float64{2, 3, 4}},
		"both infinite":    {a: []float64{1, inf, 3}, b: []float64{2, inf, 4}},
		"not a number":     {a: []float64{1, math.NaN(), 3}, b: []float64{2, 1, 4}},
		"a long horizon":   {a: []float64{1, 2, 4}, b: []float64{2, 3, 4}, horizon: 3},
		"beyond float64":   {a: []float64{1, math.MaxFloat64}, b: []float64{2, -math.MaxFloat64}},
		"a longer horizon": {a: []float64{1, 2, 4}, b: []float64{2, 3, 4}, horizon: 9},
	} {
		r := metrics.Must(regress.DieboldMariano(c.a, c.b, &regress.DMOptions{Horizon: c.horizon}))
		if r.Reason == "" || r.P == r.P || r.Statistic == r.Statistic || r.Interval.Low == r.Interval.Low || r.Rows != len(c.a) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	same := []float64{1, 2}
	if r := metrics.Must(regress.DieboldMariano(same, same, nil)); r.Reason != "" || r.Statistic != 0 || r.P != 1 || r.Interval.High != 0 {
		t.Error(r)
	}
	// The unit changes only the mean and its interval.
	a, b := []float64{1, 3, 2, 5, 4, 4}, []float64{2, 3, 1, 2, 5, 3}
	want := metrics.Must(regress.DieboldMariano(a, b, &regress.DMOptions{Horizon: 2}))
	for _, e := range []int{-1000, -500, 500, 1000} {
		x, y := make([]float64, len(a)), make([]float64, len(a))
		for i := range a {
			x[i], y[i] = math.Ldexp(a[i], e), math.Ldexp(b[i], e)
		}
		r := metrics.Must(regress.DieboldMariano(x, y, &regress.DMOptions{Horizon: 2}))
		if r.Statistic != want.Statistic || r.P != want.P || r.Mean != math.Ldexp(want.Mean, e) ||
			r.Interval.Low != math.Ldexp(want.Interval.Low, e) {
			t.Errorf("2^%d: %+v, want %+v", e, r, want)
		}
	}
	wide := metrics.Must(regress.DieboldMariano(a, b, &regress.DMOptions{Horizon: 2, Level: 0.99}))
	if wide.P != want.P || !(wide.Interval.High > want.Interval.High) {
		t.Error(wide, want)
	}
	var length *metrics.LengthError
	if _, err := regress.DieboldMariano(a, b[:2], nil); !errors.As(err, &length) {
		t.Error(err)
	}
	for _, o := range []regress.DMOptions{{Horizon: -1}, {Level: 1}, {Level: math.NaN()}} {
		if _, err := regress.DieboldMariano(a, b, &o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// TestDieboldMarianoSeries compares series of several lengths, in any order among each other, with sums by the definition.
func TestDieboldMarianoSeries(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	left := []int{9, 4, 30}
	const n, h = 43, 3
	var a, b []float64
	var series []int32
	each := make([][]float64, len(left))
	mean, v := 0.0, 0.0
	for range n {
		s := r.IntN(3)
		for left[s] == 0 {
			s = (s + 1) % 3
		}
		left[s]--
		x, y := r.ExpFloat64(), r.ExpFloat64()+0.3
		a, b, series, each[s] = append(a, x), append(b, y), append(series, int32(2*s)), append(each[s], x-y)
		mean += (x - y) / n
	}
	for _, d := range each {
		for k := range h {
			for i := k; i < len(d); i++ {
				g := (d[i] - mean) * (d[i-k] - mean) / n
				if k > 0 {
					g *= 2
				}
				v += g
			}
		}
	}
	want := mean / math.Sqrt(v/n) * math.Sqrt((n+1-2*h+3*h*(h-1)/float64(n))/n)
	got := metrics.Must(regress.DieboldMariano(a, b, &regress.DMOptions{Horizon: h, Series: series}))
	if got.Series != 3 || got.Bartlett || !spreadNear(got.Statistic, want, 1e-12) || !spreadNear(got.SE, mean/want, 1e-12) || !spreadNear(got.Mean, mean, 1e-12) {
		t.Errorf("%+v, want %v", got, want)
	}
	one := metrics.Must(regress.DieboldMariano(a, b, &regress.DMOptions{Horizon: h, Series: make([]int32, n)}))
	if one != metrics.Must(regress.DieboldMariano(a, b, &regress.DMOptions{Horizon: h})) || one.Statistic == got.Statistic {
		t.Errorf("one series: %+v", one)
	}
	if r := metrics.Must(regress.DieboldMariano(a, b, &regress.DMOptions{Horizon: 5, Series: series})); r.Reason != "the shortest series has 4 rows, and the horizon is 5" || !math.IsNaN(r.SE) {
		t.Errorf("%+v", r)
	}
	if _, err := regress.DieboldMariano(a, b, &regress.DMOptions{Series: series[1:]}); err == nil || !strings.Contains(err.Error(), "series") {
		t.Error(err)
	}
}

// TestDieboldMarianoSeriesSize: of equally good forecasts of many short series, a test at 5% rejects about that often.
func TestDieboldMarianoSeriesSize(t *testing.T) {
	runs := check.Size(400, 2000, 4000)
	const each, rows, h = 20, 12, 3
	r := rand.New(rand.NewPCG(6, 1))
	rejected := 0
	for range runs {
		a, b := make([]float64, each*rows), make([]float64, each*rows)
		series := make([]int32, each*rows)
		for s := range each {
			var shocks [2][rows + h - 1]float64
			for i := range shocks[0] {
				shocks[0][i], shocks[1][i] = r.NormFloat64(), r.NormFloat64()
			}
			for i := range rows {
				at := i*each + s // a table by time has the series in turn
				series[at] = int32(s)
				for k := range h {
					a[at] += shocks[0][i+k]
					b[at] += shocks[1][i+k]
				}
			}
		}
		if metrics.Must(regress.DieboldMariano(a, b, &regress.DMOptions{Horizon: h, Series: series})).P < 0.05 {
			rejected++
		}
	}
	if share := float64(rejected) / float64(runs); share < 0.02 || share > 0.08 {
		t.Errorf("rejects in %v", share)
	}
}
