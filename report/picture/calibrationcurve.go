package picture

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/report/scene"
)

// CalibrationCurve draws how often observed values fell below the quantiles of a forecast, against the levels of the quantiles. A
// calibrated forecast is on the diagonal. The area between curve and diagonal is shaded, in one colour above it and in another below: it is the
// miscalibration area. A curve above the diagonal on the left and below it on the right means forecasts that are too narrow; the reverse, too
// wide; above it everywhere, too high.
//
// Levels ascend. Frequencies, and Low and High if not nil, have the same length, or Scene panics. Rows with a value that is not finite
// are left out. More than 30 levels have no points, and a strip instead of whiskers. All points are of the same rows, so that neighbours move
// together; the notes say so. The zero value draws a picture without data.
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
	Level     float64 // of the intervals or band, for the words; 0 means 0.95
	Area      float64 // the miscalibration area, for the key; NaN omits it
	Rows      int64   // for the notes; 0 omits it
}

// fewLevels is the maximum number of points drawn one by one.
const fewLevels = 30

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

// Scene returns the picture with its title, key and notes.
func (d *CalibrationCurve) Scene() *scene.Scene {
	at := d.points()
	var k []sample
	notes := said(d.Subtitle, rowsSaid(d.Rows))
	if len(at) > 0 {
		k = append(k, lineSample(forecastLine, "forecasts"))
		area := "distance from calibration"
		if !math.IsNaN(d.Area) {
			area = fmt.Sprintf("miscalibration area %.3f", d.Area)
		}
		k = append(k, sample{[]scene.Mark{scene.Rect{X: -8, Y: -4, W: 8, H: 8, Paint: scene.Fill(scene.OverPale)}, scene.Rect{Y: -4, W: 8, H: 8, Paint: scene.Fill(scene.UnderPale)}}, area},
			lineSample(honestLine, "calibrated"))
		switch {
		case !anyKnown(d.Low, d.High):
		case d.Band:
			k = append(k, bandSample("where "+percent(d.Level)+" of calibrated curves lie, level by level"))
		case d.strips(len(at)):
			k = append(k, bandSample(percent(d.Level)+" intervals"))
		default:
			k = append(k, lineSampleUpright(scene.Stroke(scene.Muted, 1.1), percent(d.Level)+" interval"))
		}
		notes = said(notes, "All points are of the same rows, so neighbouring points move together.")
	}
	return sheet(d.Panel(), d.Title, notes, k)
}

// Colours of the curves of regression forecasts.
var (
	forecastLine = scene.Stroke(scene.Ideal, 1.9)
	forecastDot  = scene.Fill(scene.Ideal)
)

// Panel returns the picture alone, 360 points wide.
func (d *CalibrationCurve) Panel() *scene.Scene {
	const left, top, side = 32, 22, 320
	s := &scene.Scene{Width: panelWidth, Title: "Calibration curve", Desc: d.Finding()}
	p := &plane{s, left, top, side, side, 0, 1, 0, 1}
	p.columns(fifths, fifthNames)
	p.rows(fifths, fifthNames)
	x, y := d.X, d.Y
	if x == "" {
		x = "level of the quantile"
	}
	if y == "" {
		y = "share of rows at or below the quantile"
	}
	p.up(y)
	at := d.points()
	few := len(at) <= fewLevels
	if d.strips(len(at)) {
		p.strip(d.Levels, d.Low, d.High)
	}
	d.shade(p, at)
	p.diagonal()
	line := make([]scene.Point, len(at))
	for j, i := range at {
		line[j] = p.at(d.Levels[i], d.Frequencies[i])
	}
	if len(line) > 1 {
		p.Add(scene.Path{Points: line, Paint: forecastLine})
	}
	for j, i := range at {
		if !few {
			break
		}
		var m []scene.Mark
		in := ends(d.Low, d.High, i)
		tip := fmt.Sprintf("level %.4g: %s", d.Levels[i], share(d.Frequencies[i], 1))
		if !d.Band && known(in) {
			m = p.whisker(line[j].X, in.Low, in.High, scene.Stroke(scene.Muted, 1.1))
			tip += fmt.Sprintf(" [%.1f, %.1f]", 100*in.Low, 100*in.High)
		}
		p.Add(scene.Group{Title: tip, Marks: append(m, scene.Circle{X: line[j].X, Y: line[j].Y, R: 2.6, Paint: forecastDot})})
	}
	if len(at) == 0 {
		p.note("no rows")
	}
	p.base()
	p.right(x, 28)
	s.Height = p.y + p.h + 32
	return s
}

// strips reports whether Low and High of that many points are drawn as a strip.
func (d *CalibrationCurve) strips(points int) bool {
	return (d.Band || points > fewLevels) && anyKnown(d.Low, d.High)
}

// shade fills the area between curve and diagonal, one shape per crossing.
func (d *CalibrationCurve) shade(p *plane, at []int) {
	var shape []scene.Point
	start, sum := 0.0, 0.0
	flush := func(x float64) {
		if len(shape) > 0 && sum != 0 {
			role := scene.UnderPale
			if sum < 0 {
				role = scene.OverPale
			}
			p.Add(scene.Path{Points: append(append([]scene.Point{p.at(start, start)}, shape...), p.at(x, x)), Closed: true, Paint: scene.Fill(role)})
		}
		shape, start, sum = nil, x, 0
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
		sum += y - x
		if y == x {
			flush(x)
		}
	}
	if n := len(at); n > 0 {
		flush(d.Levels[at[n-1]])
	}
}

// Finding says what the shape of the curve means.
func (d *CalibrationCurve) Finding() string {
	at := d.points()
	if len(at) == 0 {
		return "There are no rows."
	}
	worst := at[0]
	below, above, n := 0.0, 0.0, [2]int{}
	for _, i := range at {
		g := d.Frequencies[i] - d.Levels[i]
		if math.Abs(g) > math.Abs(d.Frequencies[worst]-d.Levels[worst]) {
			worst = i
		}
		if d.Levels[i] < 0.5 {
			below += g
			n[0]++
		} else if d.Levels[i] > 0.5 {
			above += g
			n[1]++
		}
	}
	far := fmt.Sprintf("Farthest at level %.3g: %s of the rows.", d.Levels[worst], share(d.Frequencies[worst], 1))
	switch {
	case n[0] == 0 || n[1] == 0 || below == 0 || above == 0:
		return far
	case below > 0 && above < 0:
		return "The curve has the shape of forecasts that are too narrow. " + far
	case below < 0 && above > 0:
		return "The curve has the shape of forecasts that are too wide. " + far
	case below > 0:
		return "The curve is above the diagonal: forecasts are too high. " + far
	}
	return "The curve is below the diagonal: forecasts are too low. " + far
}
