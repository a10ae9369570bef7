package picture

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/report/scene"
)

// Coverage draws the share of rows inside a forecast's intervals against the level that these state. Calibrated intervals are on the diagonal;
// a stem is the gap to it. The levels 50, 80, 90 and 95% have their share written beside them. Below is the mean width of the intervals, if Widths
// are given: of two calibrated forecasts, the narrower is better.
//
// The slices have the same length, or Scene panics. Low and High, the Wilson intervals of the shares, and Widths may be nil. Rows with
// a level or share that is not finite are left out. The zero value draws a picture without data.
type Coverage struct {
	Title, Subtitle string
	Levels, Held    []float64
	Low, High       []float64
	Widths          []float64
	Level           float64 // of Low and High, for the words; 0 means 0.95
	Rows            int64   // for the notes; 0 omits it
}

// points returns the indices of the levels to draw.
func (d *Coverage) points() (at []int) {
	same(len(d.Levels), d.Held, d.Low, d.High, d.Widths)
	for i, v := range d.Levels {
		if d.Held != nil && finite(v, d.Held[i]) {
			at = append(at, i)
		}
	}
	return at
}

// off reports whether the interval of a level leaves it out, and whether too few rows are inside.
func (d *Coverage) off(i int) (off, over bool) {
	in := ends(d.Low, d.High, i)
	return known(in) && (d.Levels[i] < in.Low || d.Levels[i] > in.High), d.Held[i] < d.Levels[i]
}

// Scene returns the picture with its title, key and notes.
func (d *Coverage) Scene() *scene.Scene {
	var k []sample
	at := d.points()
	if len(at) > 0 {
		var fewer, more, calm bool
		for _, i := range at {
			far, over := d.off(i)
			fewer, more, calm = fewer || far && over, more || far && !over, calm || !far
		}
		if fewer {
			k = append(k, dotSample(scene.Fill(scene.Over), "too narrow: holds fewer rows than stated"))
		}
		if more {
			k = append(k, dotSample(scene.Fill(scene.Under), "too wide: holds more"))
		}
		if calm {
			k = append(k, dotSample(scene.Fill(scene.Ink), "an interval"))
		}
		k = append(k, lineSample(honestLine, "calibrated"))
		if anyKnown(d.Low, d.High) {
			k = append(k, lineSampleUpright(scene.Stroke(scene.Muted, 1.1), percent(d.Level)+" interval of the share"))
		}
	}
	return sheet(d.Panel(), d.Title, said(d.Subtitle, rowsSaid(d.Rows)), k)
}

// named are the levels whose share is written.
var named = []float64{0.5, 0.8, 0.9, 0.95}

// Panel returns the picture alone, 360 points wide.
func (d *Coverage) Panel() *scene.Scene {
	const left, top, size = 40, 22, 285
	const stated = "level that the interval states"
	s := &scene.Scene{Width: panelWidth, Title: "Coverage of central intervals", Desc: d.Finding()}
	at := d.points()
	p := &plane{s, left, top, size, size, 0, 1, 0, 1}
	tenths := []float64{0, 0.2, 0.5, 0.8, 0.9, 0.95}
	shares := []string{"0", "20%", "50%", "80%", "90", "95"}
	p.rows([]float64{0, 0.2, 0.4, 0.6, 0.8, 1}, []string{"0", "20%", "40%", "60%", "80%", "100%"})
	p.columns(tenths, shares)
	p.up("share of rows inside the interval")
	p.diagonal()
	for _, i := range at {
		x, y := d.Levels[i], d.Held[i]
		c := p.at(x, y)
		far, over := d.off(i)
		role := scene.Ink
		if far {
			role = side(over)
		}
		var m []scene.Mark
		in := ends(d.Low, d.High, i)
		tip := fmt.Sprintf("%s interval: holds %s", percent(x), share(y, 1))
		if known(in) {
			m = p.whisker(c.X, in.Low, in.High, scene.Stroke(scene.Muted, 1.1))
			tip += fmt.Sprintf(" [%.1f, %.1f]", 100*in.Low, 100*in.High)
		}
		m = append(m, vline(c.X, c.Y, p.py(x), scene.Stroke(role, 2)), scene.Circle{X: c.X, Y: c.Y, R: 3, Paint: scene.Fill(role)})
		p.Add(scene.Group{Title: tip, Marks: m})
	}
	d.names(p, at)
	if len(at) == 0 {
		p.note("no rows")
	}
	p.base()
	s.Height = p.y + p.h + 32
	if d.Widths == nil {
		p.right(stated, 28)
		return s
	}
	low := &plane{s, left, s.Height + 10, size, 70, 0, 1, 0, 1}
	most := 0.0
	for _, i := range at {
		if finite(d.Widths[i]) {
			most = math.Max(most, d.Widths[i])
		}
	}
	low.y1 = upTo(most)
	ys := ticks(0, low.y1, 3)
	low.rows(ys, brief(ys))
	low.up("mean width")
	for _, i := range at {
		if w := d.Widths[i]; finite(w) {
			c := low.at(d.Levels[i], w)
			low.Add(scene.Group{Title: fmt.Sprintf("%s interval: mean width %.4g", percent(d.Levels[i]), w), Marks: []scene.Mark{
				vline(c.X, low.y+low.h, c.Y, scene.Stroke(scene.Hist, 2)), scene.Circle{X: c.X, Y: c.Y, R: 2.6, Paint: scene.Fill(scene.Ink)}}})
		}
	}
	low.base()
	low.right(stated, 15)
	s.Height = low.y + low.h + 19
	return s
}

// names writes the shares of the levels that people ask for, away from the diagonal.
func (d *Coverage) names(p *plane, at []int) {
	last := math.Inf(-1)
	for _, v := range named {
		for _, i := range at {
			if math.Abs(d.Levels[i]-v) > 1e-9 {
				continue
			}
			x, y, anchor := p.px(v)-7, p.py(d.Held[i])-4, scene.End
			if d.Held[i] < v { // below the diagonal there is room to the right
				x, y, anchor = p.px(v)+6, p.py(d.Held[i])+9, scene.Start
			}
			if math.Abs(y-last) < 11 {
				continue
			}
			last = y
			p.Add(scene.Text{X: x, Y: y, S: share(d.Held[i], 1), Anchor: anchor})
		}
	}
}

// Finding says what the picture shows.
func (d *Coverage) Finding() string {
	at := d.points()
	if len(at) == 0 {
		return "There are no rows."
	}
	best := at[0]
	for _, i := range at { // the level nearest to 90%
		if math.Abs(d.Levels[i]-0.9) < math.Abs(d.Levels[best]-0.9) {
			best = i
		}
	}
	s := fmt.Sprintf("The %s interval holds %s of the rows", percent(d.Levels[best]), share(d.Held[best], 1))
	far, over := d.off(best)
	switch {
	case far && over:
		return s + ": too narrow."
	case far:
		return s + ": too wide."
	}
	return s + "."
}
