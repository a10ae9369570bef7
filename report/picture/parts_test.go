package picture

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/report/scene"
)

func TestCORP(t *testing.T) {
	q := &metrics.Predictions{Labels: []int32{0, 0, 1, 0, 1, 0, 1, 1}}
	q.Rows, q.Classes, q.F64 = 8, 1, []float64{0.1, 0.2, 0.2, 0.4, 0.6, 0.8, 0.8, 0.9}
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(q); err != nil {
		t.Fatal(err)
	}
	fit := metrics.Must(binfree.CORPOf(c, nil))
	bins, _ := calib.EvenOf(c, 50)
	d := &CORP{Title: "t", Subtitle: "of eight days", Fit: fit, Band: fit.Band(0.95, &metrics.Resampling{Replicates: 20}), Bins: bins.Bins(0.95), Event: calib.Positive}
	s := d.Panel()
	x := func(v float64) float64 { return 32 + 320*v }
	y := func(v float64) float64 { return 22 + 320*(1-v) }
	var flat []scene.Line
	for _, l := range all[scene.Line](s) {
		if l.Paint == stepLine {
			flat = append(flat, l)
		}
	}
	var joined scene.Path
	for _, p := range all[scene.Path](s) {
		if p.Paint == joinLine {
			joined = p
		}
	}
	n := 0
	for i, st := range fit.Steps() {
		near(t, "a step's begin", joined.Points[2*i].X, x(st.Low))
		near(t, "a step", joined.Points[2*i].Y, y(st.Frequency))
		near(t, "a step's end", joined.Points[2*i+1].X, x(st.High))
		if st.High > st.Low {
			near(t, "a flat piece", flat[n].Y1, y(st.Frequency))
			n++
		}
	}
	if n == 0 || n != len(flat) || len(all[scene.Circle](s)) != len(fit.Steps())-n {
		t.Errorf("%d flat pieces and %d dots of %d steps", len(flat), len(all[scene.Circle](s)), len(fit.Steps()))
	}
	says(t, d.Scene(), "of eight days", "8 rows; event: y = 1", "MCB 0.046 − DSC 0.083 + UNC 0.250 = 0.213, the mean of (p − y)²",
		"where 95% of calibrated curves lie, score by score", "↑ recalibrated share of y = 1")
	if h := filled(s, scene.Hist); len(h) != 6 {
		t.Errorf("the histogram has %d bars", len(h))
	}
	if got := halved(many(50)); len(got) != 17 || got[0].Count != 1+2+5 {
		t.Errorf("50 bins are %d, the first with %d rows", len(got), got[0].Count)
	}
	log := metrics.Must(binfree.CORPOf(c, &binfree.CORPOptions{Score: binfree.Logarithmic}))
	says(t, (&CORP{Fit: log, Bins: bins.Bins(0.95)}).Scene(), "event: the chosen class is right", "the mean of −ln of the probability of what happened")
}

func TestCurveEnds(t *testing.T) {
	y := func(v ...float64) []Curve { return []Curve{{X: make([]float64, len(v)), Y: v}} }
	for _, c := range []struct {
		d      Curves
		lo, hi float64
	}{
		{Curves{}, 0, 1},
		{Curves{Curves: y(0.2, 0.3)}, 0, 1},
		{Curves{Fit: true}, 0, 1},
		{Curves{Fit: true, Curves: y(nan, inf, -inf)}, 0, 1},
		{Curves{Fit: true, Curves: y(0.5, 0.5)}, 0, 1},
		{Curves{Fit: true, Curves: y(0.9, math.Nextafter(0.9, 1))}, 0, 1},
		{Curves{Fit: true, Curves: y(0.93, 1, nan)}, 0.92, 1},
		{Curves{Fit: true, Curves: y(0, 0.07, inf)}, 0, 0.08},
		{Curves{Fit: true, Curves: append(y(0.41), y(0.59)...)}, 0.4, 0.6},
		{Curves{Fit: true, Curves: append(y(0.41, 0.59), Curve{X: []float64{0, 1}, Y: []float64{0, 1}, Bound: true})}, 0.4, 0.6},
		{Curves{Fit: true, Curves: y(-0.5, 0.5)}, -0.6, 0.6},
		{Curves{Fit: true, Low: 0.2, High: 0.3, Curves: y(0, 1)}, 0.2, 0.3},
		{Curves{Low: 0.3, High: 0.3}, 0, 1},
	} {
		if lo, hi := c.d.ends(); math.Abs(lo-c.lo) > 1e-12 || math.Abs(hi-c.hi) > 1e-12 {
			t.Errorf("%+v is from %v to %v, want %v to %v", c.d.Curves, lo, hi, c.lo, c.hi)
		}
	}
}

// pathsOf returns the lines of a role that are not dashed, as values of the plane of Curves.
func pathsOf(s *scene.Scene, r scene.Role) (l [][]scene.Point) {
	for _, p := range all[scene.Path](s) {
		if p.Paint.Line == r && !p.Closed {
			var v []scene.Point
			for _, q := range p.Points {
				v = append(v, scene.Point{X: math.Round((q.X-40)/310*1000) / 1000, Y: math.Round((22+240-q.Y)/240*1000) / 1000})
			}
			l = append(l, v)
		}
	}
	return l
}

// TestCurves: points are where they belong, bounds are behind them, a curve breaks where it is not known, and ends at the plane.
func TestCurves(t *testing.T) {
	d := &Curves{X: "across", Y: "upwards", Subtitle: "of eight days", Curves: []Curve{
		{Name: "first", X: []float64{0, 0.25, 0.5, 0.75, 1}, Y: []float64{0.1, 0.2, nan, 0.4, 1.4}},
		{Name: "chance", X: []float64{0, 1}, Y: []float64{0, 1}, Bound: true},
		{Name: "second", X: []float64{0.2, 0.6, 0.8}, Y: []float64{0.9, 0.7, 0.8}, Steps: true}}}
	s := d.Panel()
	if got, want := fmt.Sprint(pathsOf(s, scene.Ideal)), "[[{0 0.1} {0.25 0.2}] [{0.75 0.4} {0.9 1}]]"; got != want {
		t.Errorf("the first curve is %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(pathsOf(s, scene.Set2)), "[[{0.2 0.9} {0.2 0.7} {0.6 0.7} {0.6 0.8} {0.8 0.8}]]"; got != want {
		t.Errorf("the second curve is %s, want %s", got, want)
	}
	order := []scene.Role{}
	for _, p := range all[scene.Path](s) {
		order = append(order, p.Paint.Line)
	}
	if order[0] != scene.Axis {
		t.Errorf("the lines are %v: a bound is in front", order)
	}
	says(t, d.Scene(), "first", "second", "chance", "↑ upwards", "across", "of eight days")
	defer func() {
		if recover() == nil {
			t.Error("a curve with two lengths is drawn")
		}
	}()
	(&Curves{Curves: []Curve{{X: []float64{1}}}}).Panel()
}

func TestRisk(t *testing.T) {
	d := &Risk{Coverage: []float64{0.1, 0.5, 1}, Risk: []float64{0, 0.02, 0.1}}
	c := d.curves()
	if c.High < 0.1 || c.High > 0.12 || !c.Curves[0].Steps {
		t.Errorf("the curves are %+v", c)
	}
	if got, want := d.Finding(), "Of all rows 10.0% are wrong; of the 50% that come first, 2.00%."; got != want {
		t.Errorf("it finds %q, want %q", got, want)
	}
	best := c.Curves[1]
	if best.X[1] != 0.9 || best.Y[1] != 0 || best.X[len(best.X)-1] != 1 || math.Abs(best.Y[len(best.Y)-1]-0.1) > 1e-12 {
		t.Errorf("the best order is %+v", best)
	}
	says(t, d.Scene(), "by confidence", "best: all errors last", "all rows", "share of rows kept, most confident first", "10%")
	if got := (&Risk{Coverage: []float64{1}, Risk: []float64{0}}).Finding(); got != "All rows are right, so there is no error to sort out." {
		t.Errorf("without errors it finds %q", got)
	}
	says(t, (&Risk{Coverage: []float64{1}, Risk: []float64{0.5}, Order: "age"}).Scene(), "by age", "share of rows kept, first by age")
}

func TestCalibrationCurve(t *testing.T) {
	d := &CalibrationCurve{Subtitle: "of a model", Levels: []float64{0, 0.25, 0.5, 0.75, 1}, Frequencies: []float64{0, 0.35, 0.5, 0.6, 1}, Area: 0.0312, Rows: 400,
		Low: []float64{0, 0.3, 0.45, 0.55, 1}, High: []float64{0, 0.4, 0.55, 0.65, 1}}
	s := d.Panel()
	roles := map[scene.Role]int{}
	for _, p := range all[scene.Path](s) {
		roles[p.Fill]++
	}
	if roles[scene.UnderPale] != 1 || roles[scene.OverPale] != 1 {
		t.Errorf("the areas are %v", roles)
	}
	dots := all[scene.Circle](s)
	if len(dots) != 5 {
		t.Fatalf("there are %d dots", len(dots))
	}
	near(t, "a dot", dots[1].Y, 22+320*0.65)
	if got, want := d.Finding(), "The curve has the shape of forecasts that are too narrow. Farthest at level 0.75: 60.0% of the rows."; got != want {
		t.Errorf("it finds %q, want %q", got, want)
	}
	says(t, d.Scene(), "of a model", "400 rows", "miscalibration area 0.031", "calibrated", "95% interval", "neighbouring points move together")
	for f, want := range map[float64]string{0.1: "too high", -0.1: "too low"} {
		d := &CalibrationCurve{Levels: []float64{0.2, 0.8}, Frequencies: []float64{0.2 + f, 0.8 + f}}
		if !strings.Contains(d.Finding(), want) {
			t.Errorf("%v: %q", f, d.Finding())
		}
	}
	d.Band = true
	says(t, d.Scene(), "where 95% of calibrated curves lie, level by level")
}

func TestHistogram(t *testing.T) {
	shape := func(density ...float64) *Histogram {
		d := &Histogram{Rows: 1000, P: 0.001}
		n := float64(len(density))
		for i, v := range density {
			d.Bars = append(d.Bars, Bar{float64(i) / n, float64(i+1) / n, v, 0.8, 1.2})
		}
		return d
	}
	for _, c := range []struct {
		d    *Histogram
		want string
	}{
		{shape(1.5, 0.5, 0.5, 1.5), "Forecasts are too narrow (U shape)."},
		{shape(0.5, 1.5, 1.5, 0.5), "Forecasts are too wide (hump)."},
		{shape(0.7, 0.9, 1.1, 1.3), "Forecasts are too low (more on the right)."},
		{shape(1.3, 1.1, 0.9, 0.7), "Forecasts are too high (more on the left)."},
		{shape(1.9, 0.5, 0.5, 1.1), "Forecasts are too narrow (U shape) and too high (more on the left)."},
		{shape(0.7, 1.3, 0.7, 1.3, 0.7, 1.3, 0.7, 1.3), "The histogram is not flat, but neither a U, a hump nor a slope."},
	} {
		if got := c.d.Verdict(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.d.Bars, got, c.want)
		}
	}
	flat := shape(1.02, 0.99, 0.98, 1.01)
	flat.P = 0.9
	if got := flat.Verdict(); got != "Flat within chance: neither a U, a hump nor a slope." {
		t.Errorf("a flat one is %q", got)
	}
	d := shape(1.5, 0.5, 0.5, 1.5)
	s := d.Panel()
	over, under := filled(s, scene.Over), filled(s, scene.Under)
	if len(over) != 2 || len(under) != 2 {
		t.Errorf("%d bars are above the band and %d below", len(over), len(under))
	}
	says(t, d.Scene(), "Forecasts are too narrow (U shape).", "4 of 4 bars outside the band; one of 20 is expected.", "1,000 rows; chi-square test that the histogram is flat: p = 0.0010")
}

// TestHistogramVerdict: calibrated forecasts are called something else in about one of 20 sets.
func TestHistogramVerdict(t *testing.T) {
	const sets, rows, bars = 1000, 200, 10
	seed, wrong := uint64(7), 0
	for range sets {
		var n [bars]float64
		for range rows {
			seed = seed*6364136223846793005 + 1442695040888963407
			n[seed>>33*bars>>31]++
		}
		d := &Histogram{Rows: rows, P: 1}
		for i, v := range n {
			d.Bars = append(d.Bars, Bar{float64(i) / bars, float64(i+1) / bars, v * bars / rows, nan, nan})
		}
		if !strings.HasPrefix(d.Verdict(), "Flat") {
			wrong++
		}
	}
	if wrong < 25 || wrong > 75 { // 50 with a standard error of 7
		t.Errorf("%d of %d calibrated sets are not called flat", wrong, sets)
	}
}

func TestHistogramOf(t *testing.T) {
	pit := metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 4}))
	if err := pit.AddValues([]float64{0.1, 0.2, 0.3, 0.9, 0.95}, nil); err != nil {
		t.Fatal(err)
	}
	d := HistogramOfPIT(pit, 0.95)
	h := pit.Histogram(0.95)
	for i, b := range d.Bars {
		if b != (Bar{float64(i) / 4, float64(i+1) / 4, h[i].Density, h[i].BandLow, h[i].BandHigh}) {
			t.Errorf("%+v of %+v", b, h[i])
		}
	}
	if len(d.Bars) != 4 || d.Rows != 5 || d.P == d.P || d.Reason == "" || d.Level != 0.95 {
		t.Errorf("%+v", d)
	}
	says(t, d.Scene(), "5 rows; no test: fewer than 5 rows a bin: take fewer bins, or more rows")
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{2.5, 9}}
	p.F64, p.Rows, p.Classes = []float64{1, 2, 3, 4, 5, 6}, 2, 3
	ranks := metrics.Must(regress.NewRanks(nil))
	says(t, HistogramOfRanks(ranks, 0.9).Scene(), "no rows", "rank of the observed value among the samples")
	if err := metrics.NewPass(nil, ranks).Add(p); err != nil {
		t.Fatal(err)
	}
	d = HistogramOfRanks(ranks, 0.9)
	for i, want := range []float64{0, 0, 2, 2} {
		if b := d.Bars[i]; b.Lower != float64(i)-0.5 || b.Upper != float64(i)+0.5 || b.Density != want {
			t.Errorf("%+v, want %v", b, want)
		}
	}
	says(t, d.Scene(), "rank of the observed value among 3 samples", "0", "3")
}

func TestCoverage(t *testing.T) {
	d := &Coverage{Levels: []float64{0.5, 0.8, 0.9, 0.95}, Held: []float64{0.4, 0.8, 0.97, 0.96}, Low: []float64{0.35, 0.75, 0.95, 0.94}, High: []float64{0.45, 0.85, 0.99, 0.98}, Rows: 300,
		Widths: []float64{1, 2, 3, 4}}
	s := d.Panel()
	dots := all[scene.Circle](s)
	for i, want := range []scene.Role{scene.Over, scene.Ink, scene.Under, scene.Ink} {
		if dots[i].Fill != want {
			t.Errorf("the dot of %v has role %d, want %d", d.Levels[i], dots[i].Fill, want)
		}
		near(t, "a share", dots[i].Y, 22+285*(1-d.Held[i]))
	}
	says(t, s, "40.0%", "80.0%", "97.0%", "50%", "80%", "90", "95", "↑ mean width")
	says(t, d.Scene(), "too narrow: holds fewer rows than stated", "too wide: holds more", "300 rows")
	if got, want := d.Finding(), "The 90% interval holds 97.0% of the rows: too wide."; got != want {
		t.Errorf("it finds %q, want %q", got, want)
	}
}

func TestSpread(t *testing.T) {
	d := &Spread{RMV: []float64{0.1, 1, 10}, RMSE: []float64{0.2, 1.1, 5}, Low: []float64{0.15, 0.9, 4}, High: []float64{0.25, 1.3, 6}, Counts: []int64{29, 30, 29}, ENCE: 0.5, Rows: 88}
	dots := all[scene.Circle](d.Panel())
	for i, want := range []scene.Role{scene.Over, scene.Ink, scene.Under} {
		if dots[i].Fill != want { // neither is hollow because it has one row less
			t.Errorf("dot %d has role %d, want %d", i, dots[i].Fill, want)
		}
	}
	near(t, "log axes: a step of ten", dots[2].X-dots[1].X, dots[1].X-dots[0].X)
	d.Counts = []int64{19, 20, 19}
	for _, c := range all[scene.Circle](d.Panel()) {
		if c.Fill != scene.Bg {
			t.Errorf("bins of 19 rows have role %d", c.Fill)
		}
	}
	says(t, d.Scene(), "fewer than 20 rows", "88 rows; 3 bins; ENCE 0.500", "↑ root mean squared error (log scale)", "stated: root mean variance of the bin (log scale)", "95% interval")
	if got, want := d.Finding(), "Errors are 0.5 to 2 times the stated spread. Of 3 bins, 1 are clearly too narrow and 1 too wide."; got != want {
		t.Errorf("it finds %q, want %q", got, want)
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64 // the values at the ends
		want   []string
	}{
		{0.09, 11, []string{"0.1", "0.2", "0.5", "1", "2", "5", "10"}},
		{0.9, 1.1e5, []string{"1", "10", "100", "1000", "10000", "1e5"}},
		{1e-9, 1e-5, []string{"1e−9", "1e−8", "1e−7", "1e−6", "1e−5"}},
		{0.95e-12, 1.05e12, []string{"1e−12", "1e−8", "1e−4", "1", "10000", "1e8", "1e12"}},
		{3.05, 3.45, []string{"3.1", "3.2", "3.3", "3.4"}},
		{3.05e-9, 3.45e-9, []string{"3.1e−9", "3.2e−9", "3.3e−9", "3.4e−9"}},
	} {
		at, names := logTicks(log10(c.lo), log10(c.hi))
		if !slices.Equal(names, c.want) || len(at) != len(names) || !slices.IsSorted(at) {
			t.Errorf("from %v to %v: %q at %v, want %q", c.lo, c.hi, names, at, c.want)
		}
	}
}

func TestForest(t *testing.T) {
	in := func(low, high float64) metrics.Interval { return metrics.Interval{Low: low, High: high} }
	d := &Forest{First: "first better", Other: "other better", Undecided: "not decided", Panels: []ForestPanel{
		{Name: "loss", Margin: 0.01, Rows: []ForestRow{{Name: "a", Value: 0.02, Interval: in(0.01, 0.03), Verdict: First}, {Name: "b", Value: -0.02, Interval: in(-0.03, -0.01), Verdict: Other}, {Name: "c", Value: 0, Interval: in(-0.01, inf)}, {Name: "d", Value: nan}}},
		{Name: "alone", Points: true, Rows: []ForestRow{{Name: "hidden", Value: 0.05, Interval: in(0.02, 0.08), Rows: 40}}}}}
	s := d.Panel()
	says(t, s, "loss", "a", "b", "c", "alone", "0.0200 [0.0100, 0.0300]", "−0.0200 [−0.0300, −0.0100]", "5.0 [2.0, 8.0]", "+5")
	if slices.Contains(words(s), "hidden") || slices.Contains(words(s), "d") {
		t.Errorf("it says %q", words(s))
	}
	arrows, closed := 0, 0
	for _, p := range all[scene.Path](s) {
		if p.Closed {
			closed++
		} else {
			arrows++
		}
	}
	if arrows != 1 || closed != 2 || len(all[scene.Circle](s)) != 2 || len(filled(s, scene.Band)) != 1 {
		t.Errorf("%d arrows, %d markers, %d circles", arrows, closed, len(all[scene.Circle](s)))
	}
	if got, want := s.Desc, "Of 4 intervals, 2 are clear of 0, 1 first better, 1 other better."; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	says(t, d.Scene(), "first better", "other better", "not decided", "differences that do not matter")
	if r := (&Forest{Sides: true}).role(Other); r != scene.Over {
		t.Errorf("too high has role %d", r)
	}
	says(t, (&Forest{}).Scene(), "no interval")
}

func TestGaps(t *testing.T) {
	d := &Gaps{Y: "difference, points", Bins: []GapBin{{0, 0.5, 0.04, metrics.Interval{Low: 0.01, High: 0.07}, 90}, {0.5, 0.9, 0.01, metrics.Interval{Low: -0.01, High: 0.03}, 90}, {0.9, 1, -0.5, metrics.Interval{Low: -0.9, High: -0.1}, 5}}}
	dots := all[scene.Circle](d.Panel())
	if len(dots) != 3 || dots[0].Fill != scene.Ideal || dots[1].Fill != scene.Ink || dots[2].Fill != scene.Bg {
		t.Errorf("the dots are %+v", dots)
	}
	if got, want := d.Finding(), "The models differ in 1 of 3 bins with rows."; got != want {
		t.Errorf("it finds %q, want %q", got, want)
	}
	says(t, d.Scene(), "differs", "no difference seen", "fewer than 30 rows")
}

func TestFlips(t *testing.T) {
	says(t, (&Flips{A: "old", B: "new", Both: 1000, OnlyA: 250, OnlyB: 500, Neither: 250}).Scene(), "1,000, 50.0%", "250, 12.5%", "500, 25.0%", "only old right", "only new right", "both wrong")
	says(t, (&Flips{A: "a", B: "b"}).Scene(), "0")
}

func TestCell(t *testing.T) {
	d := NewCell(0.03, metrics.Interval{Low: 0.02, High: 0.04})
	d.Ideal, d.Band, d.Zero = 0.005, metrics.Interval{Low: 0, High: 0.01}, true
	s := d.Scene()
	if s.Width != 120 || s.Height != 16 || s.Title != "" {
		t.Errorf("the cell is %+v", s)
	}
	x := func(v float64) float64 { return 5 + 110*v/(0.04*1.08) }
	near(t, "the value", all[scene.Circle](s)[0].X, x(0.03))
	band := filled(s, scene.Band)[0]
	near(t, "the band's begin", band.X, x(0))
	near(t, "the band's end", band.X+band.W, x(0.01))
	for _, l := range all[scene.Line](s) {
		switch l.Paint.Line {
		case scene.Ideal:
			near(t, "the ideal", l.X1, x(0.005))
		case scene.Axis:
			near(t, "the interval", l.X2, x(0.04))
		}
	}
	for _, v := range []float64{nan, inf, 0, -3, 1e300} {
		sound(t, fmt.Sprint("cell of ", v), NewCell(v, metrics.NoInterval()).Scene())
		sound(t, fmt.Sprint("cell around ", v), NewCell(v, metrics.Interval{Low: -inf, High: v}).Scene())
	}
	d.Range = metrics.Interval{Low: 0, High: 0.3}
	near(t, "the value on a shared axis", all[scene.Circle](d.Scene())[0].X, 5+110*0.1)
}

func TestStrip(t *testing.T) {
	for _, d := range []*Strip{{Says: 0.965, Is: 0.911, Interval: metrics.Interval{Low: 0.905, High: 0.916}}, {Says: 0.5, Is: 0.51, Interval: metrics.NoInterval()},
		{Says: 1, Is: 0, Interval: metrics.Interval{Low: 0, High: 1}}, {Says: 0.2, Is: 0.2}, {Says: 0.9999, Is: 1, SaysWords: "a very long way to say that it gives", IsWords: "and an even longer way to say that it is"}, {Says: nan, Is: 1}} {
		s := d.Panel()
		sound(t, fmt.Sprintf("%+v", d), s)
		w := all[scene.Text](s)
		if len(w) > 2 { // the two in bold do not touch
			a, b := w[len(w)-2], w[len(w)-1]
			if end := a.X + scene.Width(a.S, a.Size, a.Bold); end > b.X && len(d.SaysWords) == 0 {
				t.Errorf("%q ends at %v and %q begins at %v", a.S, end, b.S, b.X)
			}
		}
	}
	s := (&Strip{Says: 0.965, Is: 0.911}).Panel()
	says(t, s, "says 96.5%", "is right 91.1%")
	mark := all[scene.Path](s)[0]
	if mark.Fill != scene.Over || mark.Points[0].X <= 180 {
		t.Errorf("the mark is %+v", mark)
	}
	if p := all[scene.Path]((&Strip{Says: 0.9, Is: 0.95, Undirected: true}).Panel())[0]; p.Fill != scene.Ink {
		t.Errorf("an undirected mark has role %d", p.Fill)
	}
}

func TestMembers(t *testing.T) {
	d := &Members{Metric: "ece", Values: []float64{0.1, 0.2, 0.3}, Ensemble: 0.15}
	if got, want := d.Panel().Desc, "Of 3 members 2 have a higher value than the ensemble."; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if n := len(all[scene.Circle](d.Panel())); n != 3 {
		t.Errorf("there are %d dots", n)
	}
	says(t, d.Scene(), "a member", "the ensemble")
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{points(0.0123, 1), "+1.2"}, {points(-0.0123, 1), "−1.2"}, {points(-0.0001, 1), "0.0"}, {points(0, 2), "0.00"}, {points(inf, 1), "+Inf"},
		{share(0.5, 1), "50.0%"}, {share(0.99999, 1), "99.999%"}, {share(1, 1), "100.0%"}, {share(0.0001, 1), "0.01%"}, {share(0, 0), "0%"},
		{short(7), "7"}, {short(999), "999"}, {short(1234), "1.2k"}, {short(9949), "9.9k"}, {short(9950), "10k"}, {short(999499), "999k"}, {short(1e6), "1M"}, {short(123456789), "123.5M"}, {short(5e9), "5G"},
		{counted(1, "row"), "1 row"}, {counted(1234567, "row"), "1,234,567 rows"}, {counted(0, "class"), "0 classes"}, {thousands(-1234), "-1,234"}, {thousands(-123), "-123"},
		{signs("10 rows x 3 classes, -2 [-0.5, 0.5] a-1 -x"), "10 rows × 3 classes, −2 [−0.5, 0.5] a-1 -x"},
		{strings.Join(percents([]float64{0, 0.005, 0.5}), " "), "0.0% 0.5% 50.0%"}, {strings.Join(signed([]float64{-1, 0, 1}), " "), "−1 0 +1"},
		{small(0.00123), "0.0012"}, {small(0.5), "0.500"}, {pValue(0.5), "p = 0.50"}, {pValue(1e-9), "p < 0.0001"}, {percent(0), "95%"}, {percent(0.999), "99.9%"},
		{score3(0.5), "0.50"}, {score3(0.99), "0.990"}, {score3(0.9999), "0.9999"}, {score3(0.99999), "> .9999"}, {score3(1), "1"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   string
	}{
		{0, 1, 5, "0.0 0.2 0.4 0.6 0.8 1.0"}, {-0.41, 0.17, 7, "−0.4 −0.3 −0.2 −0.1 0.0 0.1"}, {0, 100, 4, "0 50 100"}, {0, 43, 4, "0 20 40"},
		{-0.005, 0.005, 7, "−0.004 −0.002 0.000 0.002 0.004"}, {0, 0.0123, 4, "0.000 0.005 0.010"}, {-1, 1, 7, "−1.0 −0.5 0.0 0.5 1.0"}, {1, 1, 5, ""}, {0, inf, 5, ""},
	} {
		if got := strings.Join(labels(ticks(c.lo, c.hi, c.n)), " "); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

func TestBrief(t *testing.T) {
	for _, c := range []struct {
		ticks []float64
		want  []string
	}{
		{[]float64{0, 0.5, 1}, []string{"0.0", "0.5", "1.0"}},
		{[]float64{0}, []string{"0"}},
		{[]float64{-2e6, 0, 2e6}, []string{"−2e6", "0", "2e6"}},
		{[]float64{0, 5e4, 1e5}, []string{"0", "50,000", "100,000"}},
		{[]float64{-1e5, 1e5}, []string{"−1e5", "1e5"}},
		{[]float64{0, 15000.5}, []string{"0", "1.5e4"}},
		{[]float64{0, 2.5e-7}, []string{"0", "2.5e−7"}},
		{[]float64{0, 1e20, 15e20}, []string{"0", "1e20", "1.5e21"}},
		{[]float64{1, 1e6}, []string{"1", "1e6"}},
		{[]float64{0, 500, 1000}, []string{"0", "500", "1000"}},
	} {
		if got := brief(c.ticks); !slices.Equal(got, c.want) {
			t.Errorf("%v is %q, want %q", c.ticks, got, c.want)
		}
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct{ in, want []string }{
		{nil, nil}, {[]string{"runs/a/p.npy"}, []string{"runs/a/p.npy"}},
		{[]string{"runs/a/probs.npy", "runs/b/probs.npy"}, []string{"a", "b"}},
		{[]string{"model-1.npy", "model-2.npy", "model-10.npy"}, []string{"1", "2", "10"}},
		{[]string{"resnet50", "resnet101"}, []string{"resnet50", "resnet101"}},
		{[]string{"a.npy", "a.npy"}, []string{"a.npy", "a.npy"}},
		{[]string{"x/a", "x/a/b"}, []string{"a", "a/b"}},
		{[]string{"a/", "a/b"}, []string{"a/", "a/b"}},
		{[]string{"é/α", "é/β"}, []string{"α", "β"}},
	} {
		if got := Short(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%q is %q, want %q", c.in, got, c.want)
		}
	}
}

func TestParseY(t *testing.T) {
	for s, want := range map[string]Y{"accuracy": Accuracy, "frequency": Frequency, "gap": Gap} {
		if y, ok := ParseY(s); y != want || !ok {
			t.Errorf("%s is %v, %v", s, y, ok)
		}
	}
	if _, ok := ParseY("Gap"); ok {
		t.Error("Gap is one")
	}
}

func TestLengths(t *testing.T) {
	for i, d := range []Drawing{
		&CalibrationCurve{Levels: odd, Frequencies: oddly[1:]},
		&CalibrationCurve{Levels: odd, Frequencies: oddly, Low: oddly[1:]},
		&Coverage{Levels: odd, Held: oddly, Widths: oddly[1:]},
		&Spread{RMV: odd, RMSE: oddly[1:]},
		&Spread{RMV: odd, RMSE: oddly, Counts: []int64{1}},
		&Risk{Coverage: odd, Risk: oddly[1:]},
	} {
		func() {
			defer func() {
				if r := recover(); r != "picture: the columns of a picture differ in length" {
					t.Errorf("%d: %v", i, r)
				}
			}()
			d.Scene()
		}()
	}
}

// TestNarrowForest: on a phone names and intervals have the width, and no numbers stand beside them.
func TestNarrowForest(t *testing.T) {
	d := &Forest{Panels: []ForestPanel{{Name: "m", Rows: []ForestRow{{Name: "r", Value: 0.5, Interval: metrics.Interval{Low: 0.25, High: 0.75}}, {Name: "s", Value: 0.5}}}}}
	has := func() bool {
		for _, x := range all[scene.Text](d.Panel()) {
			if strings.Contains(x.S, "[0.25") {
				return true
			}
		}
		return false
	}
	if d.Panel().Width != 500 || !has() {
		t.Error("the picture has no numbers beside its intervals")
	}
	if d.Narrow = true; d.Panel().Width != 300 || has() {
		t.Error("a narrow picture has numbers beside its intervals")
	}
}
