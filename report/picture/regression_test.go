package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// says holds that an SVG has each of these texts.
func says(t *testing.T, svg []byte, texts ...string) {
	t.Helper()
	for _, w := range texts {
		if !bytes.Contains(svg, []byte(">"+w+"<")) {
			t.Errorf("the picture does not say %q", w)
		}
	}
}

// within returns a function that tells where values from (x0, y0) to (x1, y1) are in a panel.
func within(f [4]float64, x0, x1, y0, y1 float64) func(x, y float64) [2]float64 {
	return func(x, y float64) [2]float64 {
		return [2]float64{f[0] + (x-x0)/(x1-x0)*(f[2]-f[0]), f[1] + (y-y0)/(y1-y0)*(f[3]-f[1])}
	}
}

func nearAll(t *testing.T, what string, got [][2]float64, want ...[2]float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d points, want %d", what, len(got), len(want))
		return
	}
	for i, g := range got {
		near(t, fmt.Sprintf("%s: x of %d", what, i), g[0], want[i][0])
		near(t, fmt.Sprintf("%s: y of %d", what, i), g[1], want[i][1])
	}
}

// panels returns the panels of a picture, without what looks like one.
func panels(all []shape) (out [][4]float64) {
	for _, f := range frames(all) {
		if f[2]-f[0] > 80 && f[3]-f[1] > 70 {
			out = append(out, f)
		}
	}
	return out
}

func TestCalibrationCurve(t *testing.T) {
	d := &CalibrationCurve{Title: "t", Subtitle: "of a model", Levels: []float64{0, 0.25, 0.5, 0.75, 1},
		Frequencies: []float64{0, 0.15, 0.6, 0.9, 1}, Low: []float64{0, 0.1, 0.5, 0.8, 0.9},
		High: []float64{0.1, 0.2, 0.7, 0.95, 1}, Area: 0.0877, Rows: 4321}
	svg := write(t, "svg", d)
	says(t, svg, "of a model", "4,321 rows", "miscalibration area 0.088", "95% Wilson interval", "forecasts", "calibrated",
		"level of the quantile", "share of rows at or below the quantile")
	all := parse(t, svg)
	f := panels(all)
	if len(f) != 1 || math.Abs((f[0][2]-f[0][0])-(f[0][3]-f[0][1])) > 0.1 {
		t.Fatalf("the panel is no square: %v", f)
	}
	at := within(f[0], 0, 1, 0, 1)
	line := with(all, 5, "stroke:#0072B2", "stroke-width:1.7")
	if len(line) != 1 {
		t.Fatalf("%d curves", len(line))
	}
	nearAll(t, "the curve", line[0].pts, at(0, 0), at(0.25, 0.15), at(0.5, 0.6), at(0.75, 0.9), at(1, 1))
	// The curve is 0.1 below the diagonal, then 0.1 above it: they meet in the middle.
	var shade []shape
	for _, s := range all {
		if strings.Contains(s.style, "fill:#C7E1F2") {
			shade = append(shade, s)
		}
	}
	if len(shade) != 3 { // the first is the key's
		t.Fatalf("%d shapes are shaded", len(shade))
	}
	nearAll(t, "the lower area", shade[1].pts, at(0, 0), at(0, 0), at(0.25, 0.15), at(0.375, 0.375))
	nearAll(t, "the upper area", shade[2].pts, at(0.375, 0.375), at(0.5, 0.6), at(0.75, 0.9), at(1, 1), at(1, 1))
	whiskers := 0
	for _, s := range with(all, 2, "stroke-width:0.9") {
		if s.pts[0][0] == s.pts[1][0] && s.pts[0][1] >= f[0][1]-0.01 && s.pts[1][1] <= f[0][3]+0.01 {
			whiskers++
		}
	}
	if whiskers != 5 {
		t.Errorf("%d whiskers", whiskers)
	}
	d.Band, d.X, d.Y, d.Area, d.Level = true, "level", "share", math.NaN(), 0.9
	svg = write(t, "svg", d)
	says(t, svg, "where 90% of calibrated curves lie, level by level", "distance from calibration", "level", "share")
	d.Band = false
	for i := range 40 {
		l := 1 + float64(i)/1000
		d.Levels, d.Frequencies = append(d.Levels, l), append(d.Frequencies, l)
		d.Low, d.High = append(d.Low, math.NaN()), append(d.High, math.NaN())
	}
	says(t, write(t, "svg", d), "90% Wilson intervals")
}

func TestHistogram(t *testing.T) {
	d := &Histogram{Title: "t", X: "u", Rows: 1000, P: 0.25, Level: 0.9,
		Bars: []Bar{{0, 0.25, 1.5, 0.8, 1.2}, {0.25, 0.5, 0.5, 0.8, 1.2}, {0.5, 1, 1, 0.9, 1.1}}}
	svg := write(t, "svg", d)
	const test = "1,000 rows; chi-square test that the histogram is flat: p "
	says(t, svg, test+"= 0.25", "u", "density", "where 90% of calibrated bars would lie")
	all := parse(t, svg)
	f := panels(all)
	if len(f) != 1 {
		t.Fatal(f)
	}
	at := within(f[0], 0, 1, 0, 1.5*1.08)
	var bars, bands []shape
	for _, s := range all {
		if strings.Contains(s.style, "fill:#C7E1F2") {
			bars = append(bars, s)
		}
		if strings.Contains(s.style, "fill-opacity") && len(s.pts) == 12 {
			bands = append(bands, s)
		}
	}
	if len(bars) != 4 || len(bands) != 1 {
		t.Fatalf("%d bars, %d bands", len(bars), len(bands))
	}
	for i, b := range d.Bars {
		nearAll(t, "a bar", bars[i+1].pts, at(b.Lower, 0), at(b.Upper, 0), at(b.Upper, b.Density), at(b.Lower, b.Density))
	}
	nearAll(t, "the band", bands[0].pts, at(0, 0.8), at(0.25, 0.8), at(0.25, 0.8), at(0.5, 0.8), at(0.5, 0.9), at(1, 0.9),
		at(1, 1.1), at(0.5, 1.1), at(0.5, 1.2), at(0.25, 1.2), at(0.25, 1.2), at(0, 1.2))
	for _, c := range []struct {
		p    float64
		why  string
		want string
	}{{0.000099, "", test + "&lt; 0.0001"}, {math.NaN(), "", "1,000 rows"}, {0.00123, "", test + "= 0.0012"},
		{math.NaN(), "few", "1,000 rows; no test: few"}} {
		d.P, d.Reason = c.p, c.why
		says(t, write(t, "svg", d), c.want)
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
	says(t, write(t, "svg", d), "5 rows; no test: fewer than 5 rows a bin: take fewer bins, or more rows")
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{2.5, 9}}
	p.F64, p.Rows, p.Classes = []float64{1, 2, 3, 4, 5, 6}, 2, 3
	ranks := metrics.Must(regress.NewRanks(nil))
	empty := HistogramOfRanks(ranks, 0.9)
	says(t, write(t, "svg", empty), "no rows", "rank of the observed value among the samples")
	if err := metrics.NewPass(nil, ranks).Add(p); err != nil {
		t.Fatal(err)
	}
	d = HistogramOfRanks(ranks, 0.9)
	for i, want := range []float64{0, 0, 2, 2} {
		if b := d.Bars[i]; b.Lower != float64(i)-0.5 || b.Upper != float64(i)+0.5 || b.Density != want {
			t.Errorf("%+v, want %v", b, want)
		}
	}
	svg := write(t, "svg", d)
	says(t, svg, "rank of the observed value among 3 samples", "0", "3")
}

func TestCoverage(t *testing.T) {
	d := &Coverage{Title: "t", Levels: []float64{0.5, 0.9, 1}, Held: []float64{0.6, 0.8, 1},
		Low: []float64{0.5, 0.7, 0.9}, High: []float64{0.7, 0.9, 1}, Widths: []float64{1e6, 3e6, math.Inf(1)}, Rows: 1}
	svg := write(t, "svg", d)
	says(t, svg, "1 row", "intervals", "stated but missing", "more than stated", "95% Wilson interval", "mean width", "2e6",
		"level that the interval states", "share of rows inside the interval")
	all := parse(t, svg)
	f := panels(all)
	if len(f) != 2 || math.Abs((f[0][2]-f[0][0])-(f[0][3]-f[0][1])) > 0.1 || f[0][1] < f[1][3] {
		t.Fatalf("the panels are %v", f)
	}
	at := within(f[0], 0, 1, 0, 1)
	gaps := append(with(all, 4, "fill:#C9EBE0"), with(all, 4, "fill:#FDEBC8")...)
	if len(gaps) != 4 {
		t.Fatalf("%d gaps", len(gaps))
	}
	for i, c := range map[int][3]float64{1: {0.5, 0.5, 0.6}, 3: {0.9, 0.8, 0.9}} {
		x := at(c[0], 0)[0]
		lo, hi := at(0, c[1])[1], at(0, c[2])[1]
		nearAll(t, "a gap", gaps[i].pts, [2]float64{x - 4, lo}, [2]float64{x + 4, lo}, [2]float64{x + 4, hi}, [2]float64{x - 4, hi})
	}
	wide := within(f[1], 0, 1, 0, 3e6*1.08)
	stems := slices.DeleteFunc(with(all, 2, "stroke:#0072B2"), func(s shape) bool {
		return strings.Contains(s.style, "stroke-width") // which is 1 where it is not there
	})
	if len(stems) != 2 {
		t.Fatalf("%d widths", len(stems))
	}
	nearAll(t, "a width", stems[0].pts, wide(0.5, 0), wide(0.5, 1e6))
	nearAll(t, "a width", stems[1].pts, wide(0.9, 0), wide(0.9, 3e6))
	d.Widths, d.Low = nil, nil
	svg = write(t, "svg", d)
	if f := panels(parse(t, svg)); len(f) != 1 || bytes.Contains(svg, []byte("Wilson")) {
		t.Errorf("without widths the panels are %v", f)
	}
	says(t, svg, "level that the interval states", "0.4")
}

func TestSpread(t *testing.T) {
	nan := math.NaN()
	d := &Spread{Title: "t", RMV: []float64{0.1, 1, 10, nan, -1, 3}, RMSE: []float64{0.2, 1, 5, 1, 1, nan},
		Counts: []int64{30, 29, 100, 1, 1, 1}, Low: []float64{0.15, 0.9, nan, 0, 0, 0},
		High: []float64{0.25, 1.1, nan, 0, 0, 0}, ENCE: 0.5, Rows: 159}
	svg := write(t, "svg", d)
	says(t, svg, "159 rows; 3 bins; ENCE 0.500", "bins of like spread", "95% interval", "hollow: fewer than 30 rows", "0.1",
		"0.2", "0.5", "10", "errors larger than stated", "errors smaller than stated", "stated: root mean variance of the bin",
		"actual: root mean squared error of the bin")
	all := parse(t, svg)
	f := panels(all)
	if len(f) != 1 || math.Abs((f[0][2]-f[0][0])-(f[0][3]-f[0][1])) > 0.1 {
		t.Fatalf("the panel is no square: %v", f)
	}
	at := within(f[0], -1.1, 1.1, -1.1, 1.1)
	line := with(all, 3, "stroke:#0072B2", "stroke-width:0.9")
	if len(line) != 1 {
		t.Fatalf("%d lines", len(line))
	}
	nearAll(t, "the line", line[0].pts, at(-1, math.Log10(0.2)), at(0, 0), at(1, math.Log10(5)))
	diagonal := with(all, 2, "stroke-dasharray:4")
	nearAll(t, "the diagonal", diagonal[len(diagonal)-1].pts, at(-1.1, -1.1), at(1.1, 1.1))
	d.ENCE, d.Rows = nan, 0
	says(t, write(t, "svg", d), "3 bins")
	d = &Spread{RMV: []float64{1}, RMSE: []float64{0}}
	says(t, write(t, "svg", d), "1 bin; ENCE 0.000")
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64 // the values at the ends
		want   []string
	}{
		{0.09, 11, []string{"0.1", "0.2", "0.5", "1", "2", "5", "10"}},
		{0.9, 1.1e5, []string{"1", "10", "100", "1000", "10000", "1e5"}},
		{1e-9, 1e-5, []string{"1e-9", "1e-8", "1e-7", "1e-6", "1e-5"}},
		{0.95e-12, 1.05e12, []string{"1e-12", "1e-8", "1e-4", "1", "10000", "1e8", "1e12"}},
		{3.05, 3.45, []string{"3.1", "3.2", "3.3", "3.4"}},
		{3.05e-9, 3.45e-9, []string{"3.1e-9", "3.2e-9", "3.3e-9", "3.4e-9"}},
	} {
		at, names := logTicks(math.Log10(c.lo), math.Log10(c.hi))
		if !slices.Equal(names, c.want) || len(at) != len(names) || !slices.IsSorted(at) {
			t.Errorf("from %v to %v: %q at %v, want %q", c.lo, c.hi, names, at, c.want)
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
		{[]float64{-2e6, 0, 2e6}, []string{"-2e6", "0", "2e6"}},
		{[]float64{0, 5e4, 1e5}, []string{"0", "50,000", "100,000"}},
		{[]float64{-1e5, 1e5}, []string{"-1e5", "1e5"}},
		{[]float64{0, 15000.5}, []string{"0", "1.5e4"}},
		{[]float64{0, 2.5e-7}, []string{"0", "2.5e-7"}},
		{[]float64{0, 1e20, 15e20}, []string{"0", "1e20", "1.5e21"}},
		{[]float64{1, 1e6}, []string{"1", "1e6"}},
		{[]float64{0, 500, 1000}, []string{"0", "500", "1000"}},
	} {
		if got := brief(c.ticks); !slices.Equal(got, c.want) {
			t.Errorf("%v is %q, want %q", c.ticks, got, c.want)
		}
	}
}

// TestRegressionEdges: whatever there is to draw, it is on the page; and the same data give the same bytes.
func TestRegressionEdges(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	odd := []float64{nan, -1, 0, 0.5, 2, inf}
	back := []float64{3, inf, 0.2, nan, -4, 0.1}
	var long []float64
	for i := range 1000 {
		long = append(long, float64(i+1)/1000)
	}
	title, sub := strings.Repeat("long ", 60), strings.Repeat("a\n", 9)
	var bars []Bar
	for i := range 1000 {
		bars = append(bars, Bar{float64(i), float64(i + 1), float64(i%3) * 0.9, nan, 1.1})
	}
	cases := map[string]struct {
		d    Drawing
		rows bool
	}{
		"curve, zero":        {&CalibrationCurve{}, false},
		"curve, no heights":  {&CalibrationCurve{Levels: odd}, false},
		"curve, odd":         {&CalibrationCurve{Levels: odd, Frequencies: back, Low: back, High: odd}, true},
		"curve, odd band":    {&CalibrationCurve{Levels: odd, Frequencies: back, Low: back, High: odd, Band: true}, true},
		"curve, one":         {&CalibrationCurve{Levels: []float64{0.5}, Frequencies: []float64{0.4}}, true},
		"curve, long":        {&CalibrationCurve{Title: title, Subtitle: sub, Levels: long, Frequencies: long, Low: long, High: long}, true},
		"histogram, zero":    {&Histogram{}, false},
		"histogram, rows":    {&Histogram{Rows: 5}, false},
		"histogram, odd":     {&Histogram{Rows: 5, Bars: []Bar{{0, 1, nan, 0, 1}, {1, 1, 1, 1, 1}, {inf, 1, 1, 1, 1}, {0, 1, 7, -inf, inf}}}, true},
		"histogram, high":    {&Histogram{Bars: []Bar{{0, 1, 1e300, 0, 1}, {1, 2, 0, 0, 1}}}, true},
		"histogram, far":     {&Histogram{Bars: []Bar{{1e6, 2e6, 1, 0, 2}}}, true},
		"histogram, many":    {&Histogram{Title: title, Subtitle: sub, Bars: bars}, true},
		"coverage, zero":     {&Coverage{}, false},
		"coverage, no share": {&Coverage{Levels: odd, Widths: odd}, false},
		"coverage, odd":      {&Coverage{Levels: odd, Held: back, Low: back, High: odd, Widths: back}, true},
		"coverage, negative": {&Coverage{Levels: []float64{0.5}, Held: []float64{0.5}, Widths: []float64{-3}}, true},
		"coverage, huge":     {&Coverage{Levels: []float64{0.5}, Held: []float64{0.5}, Widths: []float64{1e300}}, true},
		"coverage, long":     {&Coverage{Title: title, Subtitle: sub, Levels: long, Held: long, Low: long, High: long, Widths: long}, true},
		"spread, zero":       {&Spread{}, false},
		"spread, no errors":  {&Spread{RMV: odd}, false},
		"spread, odd":        {&Spread{RMV: odd, RMSE: back, Low: back, High: odd, Counts: make([]int64, 6)}, false},
		"spread, all 0":      {&Spread{RMV: []float64{1, 2}, RMSE: []float64{0, 0}, Low: []float64{-1, 0}, High: []float64{0, 0}}, true},
		"spread, one":        {&Spread{RMV: []float64{7}, RMSE: []float64{7}}, true},
		"spread, wide":       {&Spread{RMV: []float64{1e-300, 1e300}, RMSE: []float64{5e-324, math.MaxFloat64}}, true},
		"spread, long":       {&Spread{Title: title, Subtitle: sub, RMV: long, RMSE: long, Low: long, High: long}, true},
		"spread, intervals":  {&Spread{RMV: []float64{1, 2}, RMSE: []float64{1, 2}, Low: []float64{-5, 1e-9}, High: []float64{inf, 1e9}}, true},
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		svg := write(t, "svg", c.d)
		if err := xml.Unmarshal(svg, new(struct{})); err != nil || bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s: %v, or it has NaN", name, err)
		}
		if bytes.Contains(svg, []byte(">no rows<")) == c.rows {
			t.Errorf("%s: it has rows: %v", name, c.rows)
		}
		all := parse(t, svg)
		if f := panels(all); len(f) < 1 {
			t.Errorf("%s: panels %v", name, frames(all))
		}
		w, h := c.d.size()
		for _, s := range all {
			for _, q := range s.pts {
				if !(q[0] >= -0.01 && q[1] >= -0.01 && q[0] <= w.Points()+0.01 && q[1] <= h.Points()+0.01) {
					t.Fatalf("%s: a point at %v is beyond the page", name, q)
				}
			}
		}
		if testing.Short() {
			continue
		}
		formats := Formats() // by turns, where nothing is odd
		if !check.Full() && !strings.HasSuffix(name, ", odd") {
			formats = formats[i%len(formats):][:1]
		}
		for _, format := range formats {
			a := write(t, format, c.d)
			if strings.HasSuffix(name, ", odd") && !bytes.Equal(a, write(t, format, c.d)) {
				t.Errorf("%s: two files in %s differ", name, format)
			}
			if format == "png" {
				if _, err := png.Decode(bytes.NewReader(a)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	for i, d := range []Drawing{
		&CalibrationCurve{Levels: odd, Frequencies: back[1:]},
		&CalibrationCurve{Levels: odd, Frequencies: back, Low: back[1:]},
		&Coverage{Levels: odd, Held: back, Widths: back[1:]},
		&Spread{RMV: odd, RMSE: back[1:]},
		&Spread{RMV: odd, RMSE: back, Counts: []int64{1}},
	} {
		func() {
			defer func() {
				if r := recover(); r != "picture: the columns of a picture differ in length" {
					t.Errorf("%d: %v", i, r)
				}
			}()
			write(t, "svg", d)
		}()
	}
}
