package picture

import (
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/report/scene"
)

// Bar is a bar in a Histogram, from Lower to Upper. Density is its height. For a calibrated forecast, the height is likely between Low
// and High, which are NaN if unknown.
type Bar struct {
	Lower, Upper, Density float64
	Low, High             float64
}

// Histogram draws a histogram that is flat, with density 1, if forecasts are calibrated: of probability integral transforms or of
// ranks, with a band of chance for each bar. Bars outside their band are coloured. Verdict says what the shape means: a U, forecasts that are
// too narrow; a hump, too wide; a slope, too high or too low.
//
// Bars ascend side by side. Bars with a value that is not finite are left out, except for Low and High. The zero value draws a picture
// without data.
type Histogram struct {
	Title, Subtitle string
	X               string // name of the axis
	Bars            []Bar
	Level           float64 // of the band, for the words; 0 means 0.95
	Rows            int64   // for the notes and the verdict; 0 omits them and the test
	P               float64 // p-value of a test of flatness, for the notes
	Reason          string  // why P is NaN
	Together        bool    // of several numbers at a time, whose dependence may also make a U or a hump
}

// HistogramOfPIT returns the histogram of p, with bands at a level.
func HistogramOfPIT(p *regress.PIT, level float64) *Histogram {
	d := &Histogram{X: "probability that the forecast gave to what was observed or less", Level: level, Rows: p.Len(),
		P: p.P(), Reason: p.Reason()}
	for _, b := range p.Histogram(level) {
		d.Bars = append(d.Bars, Bar{b.Lower, b.Upper, b.Density, b.BandLow, b.BandHigh})
	}
	return d
}

// HistogramOfRanks returns the histogram of r, with bands at a level. Rank k covers k - 1/2 to k + 1/2.
func HistogramOfRanks(r *regress.Ranks, level float64) *Histogram {
	d := &Histogram{X: "rank of the observed value among the samples", Level: level, Rows: r.Len(),
		P: r.P(), Reason: r.Reason()}
	if n := r.Samples(); n > 1 {
		d.X = fmt.Sprintf("rank of the observed value among %d samples", n)
	}
	for _, b := range r.Histogram(level) {
		d.Bars = append(d.Bars, Bar{float64(b.First) - 0.5, float64(b.Last) + 0.5, b.Density, b.BandLow, b.BandHigh})
	}
	return d
}

// bars returns the bars to draw.
func (d *Histogram) bars() []Bar {
	return slices.DeleteFunc(slices.Clone(d.Bars), func(b Bar) bool {
		return !finite(b.Lower, b.Upper, b.Density) || b.Lower >= b.Upper
	})
}

// ends returns the ranges of the axes.
func (d *Histogram) ends(bars []Bar) (x0, x1, y1 float64) {
	if len(bars) == 0 {
		return 0, 1, 2
	}
	x0, x1, y1 = bars[0].Lower, bars[len(bars)-1].Upper, 1.25
	for _, b := range bars {
		y1 = math.Max(y1, b.Density)
		if finite(b.High) {
			y1 = math.Max(y1, math.Min(b.High, 4)) // with very few rows, the band is higher than any bar
		}
	}
	return x0, x1, upTo(y1)
}

// Verdict says in a sentence what the shape of the histogram means, or that it is flat within chance; "" without rows. It looks at the slope and
// the curvature of the histogram, each of which is beyond 2.24 standard errors in one of 40 calibrated sets.
//
// The slope is the mean of sqrt(3)(2u - 1) over the rows, the curvature that of sqrt(5)(6u^2 - 6u + 1), u from 0 to 1. Both have mean 0 and
// variance 1 if forecasts are calibrated.
func (d *Histogram) Verdict() string {
	bars := d.bars()
	if d.Rows <= 0 || len(bars) < 3 {
		return ""
	}
	x0, x1, _ := d.ends(bars)
	slope, bend := 0.0, 0.0
	for _, b := range bars {
		mass := b.Density * (b.Upper - b.Lower) / (x1 - x0)
		// The means of both polynomials over the bar.
		u, v := (b.Lower-x0)/(x1-x0), (b.Upper-x0)/(x1-x0)
		slope += float64(mass * math.Sqrt(3) * (u + v - 1))
		bend += float64(mass * math.Sqrt(5) * (float64(2*(float64(u*u)+float64(u*v)+float64(v*v))) - float64(3*(u+v)) + 1))
	}
	narrow, wide := "too narrow (U shape)", "too wide (hump)"
	if d.Together {
		narrow, wide = "too narrow or too weakly dependent (U shape)", "too wide or too strongly dependent (hump)"
	}
	n := math.Sqrt(float64(d.Rows))
	const clear = 2.24
	var shape []string
	switch z := bend * n; {
	case z > clear:
		shape = append(shape, narrow)
	case z < -clear:
		shape = append(shape, wide)
	}
	switch z := slope * n; {
	case z > clear:
		shape = append(shape, "too low (more on the right)")
	case z < -clear:
		shape = append(shape, "too high (more on the left)")
	}
	switch {
	case len(shape) == 2:
		return "Forecasts are " + shape[0] + " and " + shape[1] + "."
	case len(shape) == 1:
		return "Forecasts are " + shape[0] + "."
	case d.P < 0.05:
		return "The histogram is not flat, but neither a U, a hump nor a slope."
	}
	return "Flat within chance: neither a U, a hump nor a slope."
}

// outside returns the number of bars outside their band.
func outside(bars []Bar) (n int) {
	for _, b := range bars {
		if b.Density < b.Low || b.Density > b.High {
			n++
		}
	}
	return n
}

// notes returns what is below the picture.
func (d *Histogram) notes() string {
	if d.Rows <= 0 {
		return d.Subtitle
	}
	test := ""
	switch p := pValue(d.P); {
	case p != "":
		test = "chi-square test that the histogram is flat: " + p
	case d.Reason != "":
		test = "no test: " + d.Reason
	}
	bars := d.bars()
	out := ""
	if slices.ContainsFunc(bars, func(b Bar) bool { return finite(b.Low, b.High) }) {
		out = fmt.Sprintf("%d of %s outside the band; one of 20 is expected.", outside(bars), counted(int64(len(bars)), "bar"))
		if d.Level != 0 && d.Level != 0.95 {
			out = fmt.Sprintf("%d of %s outside the band.", outside(bars), counted(int64(len(bars)), "bar"))
		}
	}
	return said(d.Verdict(), out, d.Subtitle, joined(rowsSaid(d.Rows), test))
}

// Scene returns the picture with its title, key and notes.
func (d *Histogram) Scene() *scene.Scene {
	bars := d.bars()
	var k []sample
	if len(bars) > 0 {
		k = append(k, lineSample(honestLine, "calibrated"))
		if slices.ContainsFunc(bars, func(b Bar) bool { return finite(b.Low, b.High) }) {
			k = append(k, bandSample("where "+percent(d.Level)+" of calibrated bars lie"))
		}
		if outside(bars) > 0 {
			k = append(k, sample{[]scene.Mark{scene.Rect{X: -8, Y: -4, W: 8, H: 8, Paint: scene.Fill(scene.Over)}, scene.Rect{Y: -4, W: 8, H: 8, Paint: scene.Fill(scene.Under)}}, "above it, below it"})
		}
	}
	return sheet(d.Panel(), d.Title, d.notes(), k)
}

// Panel returns the picture alone, 360 points wide.
func (d *Histogram) Panel() *scene.Scene {
	s := &scene.Scene{Width: panelWidth, Title: "Histogram that is flat if forecasts are calibrated", Desc: d.Verdict()}
	bars := d.bars()
	x0, x1, y1 := d.ends(bars)
	p := &plane{s, 32, 22, panelWidth - 42, 200, x0, x1, 0, y1}
	ys := ticks(0, y1, 6)
	p.rows(ys, brief(ys))
	p.up("density")
	xs := ticks(x0, x1, 6)
	for i, name := range brief(xs) {
		p.Add(vline(p.px(xs[i]), p.y+p.h, p.y+p.h+tickLength, scene.Stroke(scene.Axis, 1)), label(p.px(xs[i]), p.y+p.h+15, scene.Middle, name))
	}
	for _, b := range bars { // bands are behind the bars' outlines, and their edges stay visible
		if finite(b.Low, b.High) {
			p.Add(box(p.px(b.Lower), p.px(b.Upper), p.py(b.Low), p.py(b.High), scene.Fill(scene.Band)))
		}
	}
	for _, b := range bars {
		l, r := p.px(b.Lower), p.px(b.Upper)
		edge := math.Min(1, (r-l)/8)
		role := scene.Hist
		switch {
		case b.Density > b.High:
			role = scene.Over
		case b.Density < b.Low:
			role = scene.Under
		}
		tip := fmt.Sprintf("%.4g to %.4g: density %.3g", b.Lower, b.Upper, b.Density)
		if finite(b.Low, b.High) {
			tip += fmt.Sprintf("; calibrated %.3g to %.3g", b.Low, b.High)
		}
		p.Add(scene.Group{Title: tip, Marks: []scene.Mark{box(l+edge, r-edge, p.py(0), p.py(b.Density), scene.Fill(role))}})
	}
	// The band's edges are in front of tall bars, so that one sees where it ends.
	for _, b := range bars {
		if finite(b.Low, b.High) {
			l, r := p.px(b.Lower), p.px(b.Upper)
			p.Add(hline(l, r, p.py(b.Low), scene.Stroke(scene.Muted, 0.8)), hline(l, r, p.py(b.High), scene.Stroke(scene.Muted, 0.8)))
		}
	}
	p.Add(hline(p.x, p.x+p.w, p.py(1), scene.Stroke(scene.Ink, 1).Dashed(scene.Dashes)))
	if len(bars) == 0 {
		p.note("no rows")
	}
	p.base()
	p.right(d.X, 31)
	s.Height = p.y + p.h + 35
	return s
}
