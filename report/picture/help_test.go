package picture

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/report/scene"
)

// bin returns a bin of n rows as calib makes it.
func bin(lower, upper float64, n int64, confidence, frequency float64) calib.Bin {
	b := calib.Bin{Lower: lower, Upper: upper, Count: n, Weight: float64(n), Confidence: confidence, Frequency: frequency,
		Interval: metrics.Wilson(frequency, float64(n), 0.95), Band: metrics.NoInterval()}
	if n > 0 {
		b.Band = metrics.Normal(confidence, math.Sqrt(confidence*(1-confidence)/float64(n)), 0.95)
		b.Band = metrics.Interval{Low: math.Max(0, b.Band.Low), High: math.Min(1, b.Band.High)}
	}
	return b
}

func empty(lower, upper float64) calib.Bin { return bin(lower, upper, 0, math.NaN(), math.NaN()) }

// five are bins of which one is empty, and another has a large gap and few rows.
func five() []calib.Bin {
	return []calib.Bin{bin(0, 0.2, 29, 0.1, 0.9), bin(0.2, 0.4, 30, 0.3, 0.45), empty(0.4, 0.6), bin(0.6, 0.8, 200, 0.7, 0.5), bin(0.8, 1, 741, 0.95, 0.94)}
}

// many are n bins of rising scores.
func many(n int) (bins []calib.Bin) {
	for i := range n {
		p := (float64(i) + 0.5) / float64(n)
		bins = append(bins, bin(float64(i)/float64(n), float64(i+1)/float64(n), int64(1+i*i), p, p*p))
	}
	return bins
}

// all returns the marks of a kind, in their order.
func all[M scene.Mark](s *scene.Scene) (l []M) {
	for _, m := range s.Flat() {
		if x, ok := m.(M); ok {
			l = append(l, x)
		}
	}
	return l
}

// filled returns the rectangles of a role.
func filled(s *scene.Scene, r scene.Role) []scene.Rect {
	return slices.DeleteFunc(all[scene.Rect](s), func(m scene.Rect) bool { return m.Fill != r })
}

// tips returns the titles of groups.
func tips(s *scene.Scene) (l []string) {
	var walk func([]scene.Mark)
	walk = func(marks []scene.Mark) {
		for _, m := range marks {
			if g, ok := m.(scene.Group); ok {
				if g.Title != "" {
					l = append(l, g.Title)
				}
				walk(g.Marks)
			}
		}
	}
	walk(s.Marks)
	return l
}

// words returns the texts of a scene.
func words(s *scene.Scene) (l []string) {
	for _, m := range all[scene.Text](s) {
		l = append(l, m.S)
	}
	return l
}

// says holds that a scene has each of these texts, joined where it breaks lines.
func says(t *testing.T, s *scene.Scene, texts ...string) {
	t.Helper()
	have := strings.Join(words(s), " ")
	for _, w := range texts {
		if !strings.Contains(have, w) {
			t.Errorf("the picture does not say %q: %q", w, words(s))
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 0.02) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// hyphen finds a number with a hyphen for its minus.
var hyphen = regexp.MustCompile(`(^|[ (\[])-[0-9]`)

// sound holds what every picture keeps to: marks are on the sheet, texts do not run over its sides, a number has a true minus, and the scene can be
// written.
func sound(t *testing.T, name string, s *scene.Scene) {
	t.Helper()
	const least, slack = 20, 0.06
	if !(s.Width >= least && s.Height >= least/2 && s.Height < 20000) {
		t.Fatalf("%s is %v by %v", name, s.Width, s.Height)
	}
	in := func(what string, x, y float64) {
		if !(x >= -slack && y >= -slack && x <= s.Width+slack && y <= s.Height+slack) {
			t.Errorf("%s: %s at (%v, %v) is beyond the sheet of %v by %v", name, what, x, y, s.Width, s.Height)
		}
	}
	for _, m := range s.Flat() {
		switch m := m.(type) {
		case scene.Rect:
			in("a rectangle", m.X, m.Y)
			in("a rectangle", m.X+m.W, m.Y+m.H)
			if m.W < 0 || m.H < 0 {
				t.Errorf("%s: a rectangle of %v by %v", name, m.W, m.H)
			}
		case scene.Line:
			in("a line", m.X1, m.Y1)
			in("a line", m.X2, m.Y2)
		case scene.Path:
			for _, p := range m.Points {
				in("a path", p.X, p.Y)
			}
		case scene.Circle:
			in("a circle", m.X, m.Y)
		case scene.Text:
			w := scene.Width(m.S, m.Size, m.Bold)
			x0 := m.X
			switch m.Anchor {
			case scene.Middle:
				x0 -= w / 2
			case scene.End:
				x0 -= w
			}
			// Half a label of a tick may stand in the edge of a panel.
			if x0 < -10 || x0+w > s.Width+10 {
				t.Errorf("%s: %q is from %v to %v of %v", name, m.S, x0, x0+w, s.Width)
			}
			if hyphen.MatchString(m.S) && !strings.Contains(name, "odd") || m.S == "−0" || m.S == "-0" || strings.Contains(m.S, "NaN") {
				t.Errorf("%s: a text is %q", name, m.S)
			}
		}
	}
	for _, tip := range tips(s) {
		if strings.Contains(tip, "NaN") || hyphen.MatchString(tip) && !strings.Contains(name, "odd") && !strings.Contains(name, "negative") {
			t.Errorf("%s: a tip is %q", name, tip)
		}
	}
	if n := len(s.SVG()) + len(s.Inline("a", "")); n < 200 {
		t.Errorf("%s: %d bytes", name, n)
	}
}

// odd numbers.
var (
	nan   = math.NaN()
	inf   = math.Inf(1)
	odd   = []float64{nan, -1, 0, 0.5, 2, inf}
	oddly = []float64{3, inf, 0.2, nan, -4, 0.1}
)

// drawings are of every kind, with whatever may happen.
func drawings() map[string]Drawing {
	weights := five()
	for i := range weights {
		weights[i].Weight *= 0.3
	}
	strange := []calib.Bin{{Count: 3, Confidence: nan, Frequency: 0.5, Weight: 3}, {Lower: -5, Upper: 0.5, Count: 3, Weight: 3, Confidence: -2, Frequency: 0.5,
		Interval: metrics.NoInterval(), Band: metrics.NoInterval()}, {Lower: 0.5, Upper: 7, Count: 50, Weight: 0, Confidence: 3, Frequency: 1, Interval: metrics.NoInterval(), Band: metrics.NoInterval()}}
	sets := map[string][]calib.Bin{
		"none": nil, "empty": {empty(0, 0.5), empty(0.5, 1)}, "five": five(), "weights": weights, "odd": strange,
		"one bin": {bin(0, 1, 500, 0.7, 0.6)}, "one row": {empty(0, 0.5), bin(0.5, 1, 1, 0.7, 1)}, "one bin of many": append(many(10)[:9:9], bin(0.9, 1, 1e12, 0.95, 1)),
		"100": many(100), "1000": many(1000), "apart": {bin(0, 0, 40, 0, 0.1), bin(0, 0.5, 40, 0.3, 0.3), empty(0.5, 1), bin(1, 1, 40, 1, 0.9)},
		"all apart": {bin(0, 0, 40, 0, 0), bin(1, 1, 40, 1, 1)}, "point": {bin(0, 0.5, 40, 0.2, 0.2), bin(0.5, 0.5, 40, 0.5, 0.5), bin(0.5, 1, 40, 0.7, 0.7)},
		"no gap": {bin(0, 0.5, 100, 0.5, 0.5), bin(0.5, 1, 100, 0.75, 0.75)},
	}
	title, sub := strings.Repeat("word ", 60)+strings.Repeat("x", 500), "a\nb\n"+strings.Repeat("<&>\" é ", 40)
	out := map[string]Drawing{"zero reliability": &Reliability{}, "zero overlay": &Overlay{}, "zero classes": &Classes{}, "zero mass": &Mass{}, "zero risk": &Risk{},
		"zero members": &Members{}, "zero forest": &Forest{}, "zero gaps": &Gaps{}, "zero flips": &Flips{}, "zero curves": &Curves{}, "zero corp": &CORP{}, "zero belt": &Belt{},
		"long": &Reliability{Title: title, Subtitle: sub, Bins: five(), Classes: 3}}
	for name, b := range sets {
		for _, y := range []Y{Accuracy, Frequency, Gap} {
			for i, e := range []calib.Event{calib.ByShape, calib.Positive, calib.AllClasses} {
				if (int(y)+i)%3 != len(name)%3 && !check.Full() {
					continue
				}
				out[fmt.Sprint(name, y, e)] = &Reliability{Title: name, Bins: b, Y: y, Event: e, Level: 0.9, Classes: 10}
			}
			out[fmt.Sprint("overlay ", name, y)] = &Overlay{Title: name, Y: y, Sets: []Set{{name, b}, {"five", five()}}}
			out[fmt.Sprint("classes ", name, y)] = &Classes{Title: name, Y: y, Classes: []Class{{name, b}, {"five", five()}, {"", nil}}}
		}
		out["mass "+name] = &Mass{Title: name, Bins: b}
	}
	var sets30 []Set
	var classes []Class
	for i := range 30 {
		sets30 = append(sets30, Set{fmt.Sprintf("a long name of set %d", i), many(5 + i)})
		classes = append(classes, Class{fmt.Sprintf("a long name of class %d", i), many(5 + i)})
	}
	out["30 sets"], out["30 classes"] = &Overlay{Sets: sets30, Y: Gap}, &Classes{Classes: classes}
	for range 3 {
		sets30 = append(sets30, sets30[:30]...)
	}
	out["120 sets"] = &Overlay{Title: strings.Repeat("a title of several lines ", 20), Sets: sets30, Subtitle: strings.Repeat("line\n", 30)}
	var long []float64
	for i := range 1000 {
		long = append(long, float64(i+1)/1000)
	}
	var bars []Bar
	for i := range 1000 {
		bars = append(bars, Bar{float64(i), float64(i + 1), float64(i%3) * 0.9, nan, 1.1})
	}
	in := metrics.Interval{Low: -0.2, High: 0.3}
	wild := []ForestRow{{Name: "a", Value: 0.1, Interval: in}, {Name: strings.Repeat("long", 90), Value: -0.1, Interval: metrics.Interval{Low: -inf, High: inf}, Verdict: First, Rows: 1e9},
		{Name: "nan", Value: nan}, {Name: "\x1b[31m", Value: 1e300, Interval: metrics.Interval{Low: -1e300, High: 1e305}, Verdict: Other}, {Value: 5e-324, Interval: metrics.NoInterval()}}
	for name, d := range map[string]Drawing{
		"curve, zero": &CalibrationCurve{}, "curve, no heights": &CalibrationCurve{Levels: odd},
		"curve, odd":         &CalibrationCurve{Levels: odd, Frequencies: oddly, Low: oddly, High: odd},
		"curve, odd band":    &CalibrationCurve{Levels: odd, Frequencies: oddly, Low: oddly, High: odd, Band: true},
		"curve, one":         &CalibrationCurve{Levels: []float64{0.5}, Frequencies: []float64{0.4}},
		"curve, long":        &CalibrationCurve{Title: title, Subtitle: sub, Levels: long, Frequencies: long, Low: long, High: long},
		"histogram, zero":    &Histogram{},
		"histogram, rows":    &Histogram{Rows: 5},
		"histogram, odd":     &Histogram{Rows: 5, Bars: []Bar{{0, 1, nan, 0, 1}, {1, 1, 1, 1, 1}, {inf, 1, 1, 1, 1}, {0, 1, 7, -inf, inf}}},
		"histogram, high":    &Histogram{Bars: []Bar{{0, 1, 1e280, 0, 1}, {1, 2, 0, 0, 1}}},
		"histogram, far":     &Histogram{Bars: []Bar{{1e6, 2e6, 1, 0, 2}}},
		"histogram, many":    &Histogram{Title: title, Subtitle: sub, Bars: bars, Rows: 9},
		"coverage, zero":     &Coverage{},
		"coverage, no share": &Coverage{Levels: odd, Widths: odd},
		"coverage, odd":      &Coverage{Levels: odd, Held: oddly, Low: oddly, High: odd, Widths: oddly},
		"coverage, negative": &Coverage{Levels: []float64{0.5}, Held: []float64{0.5}, Widths: []float64{-3}},
		"coverage, huge":     &Coverage{Levels: []float64{0.5}, Held: []float64{0.5}, Widths: []float64{1e280}},
		"coverage, long":     &Coverage{Title: title, Subtitle: sub, Levels: long, Held: long, Low: long, High: long, Widths: long},
		"spread, zero":       &Spread{},
		"spread, no errors":  &Spread{RMV: odd},
		"spread, odd":        &Spread{RMV: odd, RMSE: oddly, Low: oddly, High: odd, Counts: make([]int64, 6)},
		"spread, odd 0":      &Spread{RMV: []float64{1, 2}, RMSE: []float64{0, 0}, Low: []float64{-1, 0}, High: []float64{0, 0}},
		"spread, one":        &Spread{RMV: []float64{7}, RMSE: []float64{7}},
		"spread, wide":       &Spread{RMV: []float64{1e-300, 1e300}, RMSE: []float64{1e-307, math.MaxFloat64}},
		"spread, long":       &Spread{Title: title, Subtitle: sub, RMV: long, RMSE: long, Low: long, High: long},
		"spread, odd ends":   &Spread{RMV: []float64{1, 2}, RMSE: []float64{1, 2}, Low: []float64{-5, 1e-9}, High: []float64{inf, 1e9}},
		"curves, odd":        &Curves{Title: title, Curves: []Curve{{Name: title, X: odd, Y: oddly}, {X: odd, Y: oddly, Steps: true}, {X: oddly, Y: odd, Bound: true}}},
		"curves, fit":        &Curves{Fit: true, From: 1, Percent: true, Curves: []Curve{{X: odd, Y: oddly, Steps: true}, {Name: "d", X: []float64{0, 1}, Y: []float64{0, 1}, Bound: true}}},
		"curves, band":       &Curves{Band: title, Curves: []Curve{{Name: title, X: odd, Y: oddly, Low: oddly, High: odd}, {X: []float64{0, 0.5, 1}, Y: []float64{0, 0.5, 1}, Low: []float64{-5, 0.4, 1}, High: []float64{9, 0.6, 1}}}},
		"curves, beyond":     &Curves{Low: 0.9, High: 0.95, Curves: []Curve{{X: []float64{-1, 3}, Y: []float64{-5, 7}}}},
		"risk, all right":    &Risk{Coverage: []float64{0.5, 1}, Risk: []float64{0, 0}},
		"risk, all wrong":    &Risk{Coverage: []float64{0.5, 1}, Risk: []float64{1, 1}},
		"risk, one":          &Risk{Title: title, Coverage: []float64{1}, Risk: []float64{0.2}, Order: "age"},
		"risk":               &Risk{Coverage: []float64{0.001, 0.1, 0.5, 1}, Risk: []float64{1, 0.01, 0.02, 0.1}},
		"forest, odd":        &Forest{Title: title, Subtitle: sub, First: "f", Other: "o", Undecided: "u", Panels: []ForestPanel{{Name: title, Rows: wild, Margin: 0.1}, {Rows: wild[:1], Points: true}, {Name: "one", Rows: wild[1:2], Margin: inf}, {}}},
		"gaps, odd":          &Gaps{Title: title, X: "x", Y: "y", Band: "b", Bins: []GapBin{{0, 0.5, 0.1, in, 3}, {0.5, 1, nan, in, 9}, {-4, 9, 3, metrics.Interval{Low: -inf, High: inf}, 90}, {0.2, 0.2, -5, metrics.NoInterval(), 90}}},
		"flips":              &Flips{A: title, B: sub, Both: 1e15, OnlyA: 1, Neither: 3},
		"members, odd":       &Members{Title: title, Metric: "ece", Values: odd, Ensemble: nan},
		"members, one":       &Members{Metric: "ece", Values: []float64{0.1}, Names: []string{"\x00"}, Ensemble: 0.1},
	} {
		out[name] = d
	}
	return out
}
