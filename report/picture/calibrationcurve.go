package picture

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
)

// CalibrationCurve draws how often observed values fell below the quantiles of a forecast, against the levels of the quantiles. A
// calibrated forecast is on the diagonal. The area between curve and diagonal is shaded: it is the miscalibration area. A curve above
// the diagonal on the left and below it on the right means forecasts that are too narrow; the reverse, too wide; above it everywhere,
// too high.
//
// Levels ascend. Frequencies, and Low and High if not nil, have the same length, or Write panics. Rows with a value that is not finite
// are left out. More than 30 levels have no points, and a strip instead of whiskers. The zero value draws a picture without data.
//
// Source: Kuleshov, Fenner and Ermon 2018.
type CalibrationCurve struct {
	Title, Subtitle     string
	X, Y                string // names of the axes; "" means those for quantile levels
	Levels, Frequencies []float64
	// Low and High are Wilson intervals of the frequencies or, if Band is set, the consistency band of a calibrated forecast. If nil,
	// neither is drawn.
	Low, High []float64
	Band      bool
	Level     float64 // of the intervals or band, for the key; 0 means 0.95
	Area      float64 // the miscalibration area, for the key; NaN omits it
	Rows      int64   // for the subtitle; 0 omits it
}

// fewLevels is the maximum number of points drawn one by one.
const fewLevels = 30

func (d *CalibrationCurve) size() (vg.Length, vg.Length) {
	return square(d.Title, d.subtitle(), d.legend(nil), 0)
}

func (d *CalibrationCurve) subtitle() string { return said(d.Subtitle, rowsSaid(d.Rows)) }

// points returns the indices of the levels to draw.
func (d *CalibrationCurve) points() (at []int) {
	same(len(d.Levels), d.Frequencies, d.Low, d.High)
	for i, v := range d.Levels {
		if d.Frequencies != nil && finite(v, d.Frequencies[i]) {
			at = append(at, i)
		}
	}
	return at
}

func (d *CalibrationCurve) draw(p *page) {
	p.heading(d.Title, d.subtitle())
	p.key(d.legend(p))
	p.top -= keySkip
	a := &axes{x: d.X, y: d.Y, xs: fifths, ys: fifths, xText: true, yText: true, size: tickSize}
	if a.x == "" {
		a.x = "level of the quantile"
	}
	if a.y == "" {
		a.y = "share of rows at or below the quantile"
	}
	top := p.panel(p.top-p.Min.Y-axisHeight, 0, 1)
	top.grid(a)
	at := d.points()
	few := len(at) <= fewLevels
	d.shade(top, at)
	if d.strips(len(at)) {
		top.strip(d.Levels, d.Low, d.High)
	}
	top.diagonal()
	line := make([]vg.Point, len(at))
	for j, i := range at {
		line[j] = top.at(d.Levels[i], d.Frequencies[i])
	}
	top.StrokeLines(forecastLine, line)
	for j, i := range at {
		if few && !d.Band {
			top.interval(line[j].X, ends(d.Low, d.High, i))
		}
		if few {
			top.DrawGlyphNoClip(forecastDot, line[j])
		}
	}
	if len(at) == 0 {
		top.note("no rows")
	}
	top.frame(a)
}

// strips reports whether Low and High of that many points are drawn as a strip.
func (d *CalibrationCurve) strips(points int) bool {
	return (d.Band || points > fewLevels) && anyKnown(d.Low, d.High)
}

// shade fills the area between curve and diagonal, one shape per crossing.
func (d *CalibrationCurve) shade(p *panel, at []int) {
	var shape []vg.Point
	start := 0.0
	flush := func(x float64) {
		if len(shape) > 0 {
			p.FillPolygon(paleBlue, append(append([]vg.Point{p.at(start, start)}, shape...), p.at(x, x)))
		}
		shape, start = nil, x
	}
	for j, i := range at {
		x, y := d.Levels[i], d.Frequencies[i]
		if j == 0 {
			start = x
		} else if x0, y0 := d.Levels[at[j-1]], d.Frequencies[at[j-1]]; float64((y0-x0)*(y-x)) < 0 {
			t := (y0 - x0) / ((y0 - x0) - (y - x))
			flush(x0 + float64(t*(x-x0)))
		}
		shape = append(shape, p.at(x, y))
	}
	if n := len(at); n > 0 {
		flush(d.Levels[at[n-1]])
	}
}

// legend returns the key.
func (d *CalibrationCurve) legend(p *page) (k []entry) {
	n := len(d.points())
	if n == 0 {
		return nil
	}
	k = append(k, p.lineEntry(n <= fewLevels, "forecasts"))
	area := "distance from calibration"
	if !math.IsNaN(d.Area) {
		area = fmt.Sprintf("miscalibration area %.3f", d.Area)
	}
	k = append(k, entry{func(r vg.Rectangle) { p.FillPolygon(paleBlue, rectangle(r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)) }, area},
		p.diagonalEntry("calibrated"))
	switch {
	case !anyKnown(d.Low, d.High):
	case d.Band:
		e := p.bandEntry(d.Level)
		e.text = "where " + percent(d.Level) + " of calibrated curves lie, level by level"
		k = append(k, e)
	case d.strips(n):
		e := p.bandEntry(d.Level)
		e.text = percent(d.Level) + " Wilson intervals"
		k = append(k, e)
	default:
		k = append(k, p.intervalEntry(d.Level))
	}
	return k
}
