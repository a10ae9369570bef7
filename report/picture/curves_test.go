package picture

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

func TestCurveEnds(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
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
		{Curves{Fit: true, Curves: y(-0.5, 0.5)}, -0.6, 0.6},
		{Curves{Fit: true, Low: 0.2, High: 0.3, Curves: y(0, 1)}, 0.2, 0.3},
		{Curves{Low: 0.3, High: 0.3}, 0, 1},
	} {
		if lo, hi := c.d.ends(); math.Abs(lo-c.lo) > 1e-12 || math.Abs(hi-c.hi) > 1e-12 {
			t.Errorf("%+v is from %v to %v, want %v to %v", c.d.Curves, lo, hi, c.lo, c.hi)
		}
	}
}

// TestCurves: points are where they belong, the others' measure is behind them, and a curve breaks where it is not known.
func TestCurves(t *testing.T) {
	nan := math.NaN()
	d := &Curves{Title: "t", Subtitle: "of eight days", X: "across", Y: "upwards", Curves: []Curve{
		{Name: "first", X: []float64{0, 0.25, 0.5, 0.75, 1}, Y: []float64{0.1, 0.2, nan, 0.4, 0.5}},
		{Name: "chance", X: []float64{0, 0.5, 1}, Y: []float64{0, 0.5, 1}, Bound: true},
		{Name: "second", X: []float64{0, 0.3, 0.6, 1}, Y: []float64{1, 0.9, 0.8, 0.7}},
		{X: []float64{0.5}, Y: []float64{0.5}},
	}}
	svg := write(t, "svg", d)
	for _, w := range []string{">of eight days<", ">across<", ">first<", ">second<", ">chance<"} {
		if !bytes.Contains(svg, []byte(w)) {
			t.Errorf("the picture does not say %s", w)
		}
	}
	if bytes.Contains(svg, []byte("no rows")) || bytes.Contains(svg, []byte("NaN")) {
		t.Error("it says no rows, or NaN")
	}
	all := parse(t, svg)
	f := frames(all)
	if len(f) != 2 { // chance looks like a frame
		t.Fatalf("the panels are %v", f)
	}
	f = f[1:]
	at := func(what string, s shape, x, y []float64) {
		t.Helper()
		for i, p := range s.pts {
			near(t, what+"'s x", p[0], f[0][0]+x[i]*(f[0][2]-f[0][0]))
			near(t, what+"'s y", p[1], f[0][1]+y[i]*(f[0][3]-f[0][1]))
		}
	}
	first := with(all, 2, "stroke:#0072B2", "stroke-width:1.7")
	if len(first) != 3 { // one is the key's
		t.Fatalf("the first curve has %d pieces", len(first)-1)
	}
	at("the first piece", first[1], []float64{0, 0.25}, []float64{0.1, 0.2})
	at("the other piece", first[2], []float64{0.75, 1}, []float64{0.4, 0.5})
	second, bound := with(all, 4, "stroke-width:1.7"), with(all, 3, "stroke-width:0.9", "stroke-dasharray")
	if len(second) != 1 || len(bound) != 1 || second[0].style == first[0].style {
		t.Fatalf("%d second curves, %d of chance", len(second), len(bound))
	}
	at("the second curve", second[0], d.Curves[2].X, d.Curves[2].Y)
	at("chance", bound[0], d.Curves[1].X, d.Curves[1].Y)
	if bytes.Index(svg, []byte("stroke-dasharray:4")) > bytes.LastIndex(svg, []byte("stroke-width:1.7")) {
		t.Error("chance is before the curves")
	}
	for _, format := range Formats() {
		a, b := write(t, format, d), write(t, format, d)
		if !bytes.Equal(a, b) {
			t.Errorf("two files in %s differ", format)
		}
		if format == "png" {
			if _, err := png.Decode(bytes.NewReader(a)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCurvesEdges: whatever there is to draw, it is on the page, and within its panel.
func TestCurvesEdges(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	line := []float64{0, 1}
	var many []Curve
	for i := range 9 {
		many = append(many, Curve{Name: strings.Repeat("curve ", i+1), X: line, Y: []float64{float64(i) / 9, 0.5}})
	}
	for name, c := range map[string]struct {
		d    *Curves
		rows bool
	}{
		"zero":         {&Curves{}, false},
		"no points":    {&Curves{Fit: true, Curves: []Curve{{Name: "c"}}}, false},
		"chance alone": {&Curves{Curves: []Curve{{Name: "by score"}, {Name: "chance", X: line, Y: line, Bound: true}}}, false},
		"not known":    {&Curves{Fit: true, Curves: []Curve{{Name: "c", X: line, Y: []float64{nan, inf}}}}, false},
		"x not known":  {&Curves{Curves: []Curve{{X: []float64{nan, 0.5, -inf}, Y: []float64{0, 0.5, 1}}}}, true},
		"beyond":       {&Curves{Curves: []Curve{{X: []float64{-1, 0.5, 2}, Y: []float64{3, 0.5, -7}}}, Low: 0.4, High: 0.6}, true},
		"level":        {&Curves{Fit: true, Curves: []Curve{{Name: "c", X: line, Y: []float64{1, 1}}}}, true},
		"many":         {&Curves{Fit: true, Title: strings.Repeat("long ", 60), Subtitle: strings.Repeat("a\n", 9), Curves: many}, true},
	} {
		svg := write(t, "svg", c.d)
		if err := xml.Unmarshal(svg, new(struct{})); err != nil || bytes.Contains(svg, []byte("NaN")) {
			t.Errorf("%s: %v, or it has NaN", name, err)
		}
		if bytes.Contains(svg, []byte(">no rows<")) == c.rows {
			t.Errorf("%s: it has rows: %v", name, c.rows)
		}
		all := parse(t, svg)
		f := frames(all)
		if len(f) != 1 || f[0][2]-f[0][0] < 80 || f[0][3]-f[0][1] < 70 {
			t.Fatalf("%s: panels %v", name, f)
		}
		w, h := c.d.size()
		for _, s := range all {
			for _, q := range s.pts {
				if !(q[0] >= -0.01 && q[1] >= -0.01 && q[0] <= w.Points()+0.01 && q[1] <= h.Points()+0.01) {
					t.Fatalf("%s: a point at %v is beyond the page", name, q)
				}
				if name == "beyond" && strings.Contains(s.style, "stroke-width:1.7") && !(q[1] >= f[0][1]-0.01 && q[1] <= f[0][3]+0.01) {
					t.Errorf("%s: a point at %v is beyond %v", name, q, f[0])
				}
			}
		}
		for i, format := range []string{"png", "pdf"} {
			if i == len(name)%2 || check.Full() { // by turns
				write(t, format, c.d)
			}
		}
	}
	defer func() {
		if r := recover(); r != "picture: a curve has X and Y of different lengths" {
			t.Errorf("%v", r)
		}
	}()
	write(t, "svg", &Curves{Curves: []Curve{{X: line}}})
}
