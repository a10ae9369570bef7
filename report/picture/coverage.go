package picture

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Coverage draws the share of rows inside a forecast's intervals against the nominal level. Calibrated intervals are on the diagonal;
// the gap to it is hatched. Below is the mean width of the intervals, if Widths are given: of two calibrated forecasts, the narrower
// is better.
//
// The slices have the same length, or Write panics. Low and High, the Wilson intervals of the shares, and Widths may be nil. Rows with
// a level or share that is not finite are left out. The zero value draws a picture without data.
type Coverage struct {
	Title, Subtitle string
	Levels, Held    []float64
	Low, High       []float64
	Widths          []float64
	Level           float64 // of Low and High, for the key; 0 means 0.95
	Rows            int64   // for the subtitle; 0 omits it
}

// widthsHeight is the height of the panel of widths.
const widthsHeight = 90

func (d *Coverage) size() (vg.Length, vg.Length) {
	extra := vg.Length(0)
	if d.Widths != nil {
		extra = panelSkip + widthsHeight
	}
	return square(d.Title, d.subtitle(), d.legend(nil), extra)
}

func (d *Coverage) subtitle() string { return said(d.Subtitle, rowsSaid(d.Rows)) }

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

func (d *Coverage) draw(p *page) {
	const stated = "level that the interval states"
	p.heading(d.Title, d.subtitle())
	p.key(d.legend(p))
	p.top -= keySkip
	at := d.points()
	a := &axes{y: "share of rows inside the interval", xs: fifths, ys: fifths, yText: true, size: tickSize}
	height := p.top - p.Min.Y - axisHeight
	if d.Widths != nil {
		height -= panelSkip + widthsHeight
	} else {
		a.x, a.xText = stated, true
	}
	top := p.panel(height, 0, 1)
	top.grid(a)
	const half = 4
	for _, i := range at {
		x, y := d.Levels[i], d.Held[i]
		c := top.x(x)
		lo, hi := top.y(math.Min(x, y)), top.y(math.Max(x, y))
		top.gap(vg.Rectangle{Min: vg.Point{X: c - half, Y: lo}, Max: vg.Point{X: c + half, Y: hi}}, y < x)
	}
	top.diagonal()
	for _, i := range at {
		c := top.at(d.Levels[i], d.Held[i])
		top.interval(c.X, ends(d.Low, d.High, i))
		top.DrawGlyphNoClip(forecastDot, c)
	}
	if len(at) == 0 {
		top.note("no rows")
	}
	top.frame(a)
	if d.Widths != nil {
		p.top -= panelSkip
		d.widths(p, at, stated)
	}
}

// widths draws the widths of the intervals, with the axis of levels below.
func (d *Coverage) widths(p *page, at []int, stated string) {
	most := 0.0
	for _, i := range at {
		if finite(d.Widths[i]) {
			most = math.Max(most, d.Widths[i])
		}
	}
	low := p.panel(widthsHeight, 0, upTo(most))
	a := &axes{x: stated, y: "mean width", xs: fifths, ys: ticks(0, low.y1, 4), xText: true, yText: true, size: tickSize}
	a.yNames = brief(a.ys)
	low.grid(a)
	for _, i := range at {
		if w := d.Widths[i]; finite(w) {
			c := low.at(d.Levels[i], w)
			low.StrokeLine2(draw.LineStyle{Color: blue, Width: 1}, c.X, low.r.Min.Y, c.X, c.Y)
			low.DrawGlyphNoClip(forecastDot, c)
		}
	}
	low.frame(a)
}

// legend returns the key.
func (d *Coverage) legend(p *page) (k []entry) {
	at := d.points()
	if len(at) == 0 {
		return nil
	}
	dot := func(r vg.Rectangle) { p.DrawGlyphNoClip(forecastDot, middle(r)) }
	k = append(k, entry{dot, "intervals"}, p.diagonalEntry("calibrated"))
	var fewer, more bool
	for _, i := range at {
		fewer, more = fewer || d.Held[i] < d.Levels[i], more || d.Held[i] > d.Levels[i]
	}
	if fewer {
		k = append(k, entry{func(r vg.Rectangle) { p.gap(r, true) }, "stated but missing"})
	}
	if more {
		k = append(k, entry{func(r vg.Rectangle) { p.gap(r, false) }, "more than stated"})
	}
	if anyKnown(d.Low, d.High) {
		k = append(k, p.intervalEntry(d.Level))
	}
	return k
}
