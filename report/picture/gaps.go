package picture

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/candor-go/candor/metrics"
)

// GapBin is a bin of Gaps: the difference of two models' gaps there, NaN if a model has no rows in it, with its interval.
type GapBin struct {
	Lower, Upper float64
	Difference   float64
	Interval     metrics.Interval
	Rows         float64 // of the model with fewer
}

// Gaps draws how the reliability of two models differs: for each bin of the score the gap of one, frequency minus mean score, less that of
// the other, with a band. Where the band leaves out 0 the models differ. Points of bins with fewer than Enough rows are hollow. The zero value
// draws a picture without data.
type Gaps struct {
	Title, Subtitle string
	X, Y            string // names of the axes
	Band            string // what the band is, for the key
	Bins            []GapBin
}

func (d *Gaps) size() (vg.Length, vg.Length) {
	const usual = 110
	width := 6 * vg.Inch
	return width, 4.5*vg.Inch + max(0, headHeight(width, d.Title, d.Subtitle, d.legend(nil))-usual)
}

func (d *Gaps) legend(p *page) (k []entry) {
	few := false
	for _, b := range d.Bins {
		few = few || finite(b.Difference) && b.Rows < Enough
	}
	k = append(k, entry{func(r vg.Rectangle) {
		p.FillPolygon(paleBlue, rectangle(r.Min.X, r.Min.Y, r.Max.X, r.Max.Y))
		p.dot(lookOf(0), middle(r), false)
	}, d.Band})
	if few {
		k = append(k, p.hollowEntry(look{draw.LineStyle{Color: axisGrey}, markers[0]}))
	}
	return k
}

func (d *Gaps) draw(p *page) {
	p.heading(d.Title, d.Subtitle)
	p.key(d.legend(p))
	p.top -= keySkip
	lo, hi := 0.0, 0.0
	for _, b := range d.Bins {
		if !finite(b.Difference) {
			continue
		}
		lo, hi = math.Min(lo, b.Difference), math.Max(hi, b.Difference)
		if known(b.Interval) && b.Rows >= Enough {
			lo, hi = math.Min(lo, b.Interval.Low), math.Max(hi, b.Interval.High)
		}
	}
	room := math.Max(0.05*(hi-lo), 0.005)
	lo, hi = math.Max(-2, lo-room), math.Min(2, hi+room)
	b := p.panel(p.top-p.Min.Y-axisHeight, lo, hi)
	a := &axes{x: d.X, y: d.Y, xs: fifths, ys: ticks(lo, hi, 6), xText: true, yText: true, size: tickSize}
	any := false
	for _, g := range d.Bins {
		if finite(g.Difference) && known(g.Interval) {
			p.FillPolygon(paleBlue, rectangle(b.x(g.Lower), b.y(g.Interval.Low), b.x(g.Upper), b.y(g.Interval.High)))
		}
	}
	b.grid(a)
	p.StrokeLine2(draw.LineStyle{Color: axisGrey, Width: 1.2}, b.r.Min.X, b.y(0), b.r.Max.X, b.y(0))
	l := lookOf(0)
	for _, g := range d.Bins {
		if finite(g.Difference) {
			any = true
			p.StrokeLine2(l.color, b.x(g.Lower), b.y(g.Difference), b.x(g.Upper), b.y(g.Difference))
			p.dot(l, vg.Point{X: (b.x(g.Lower) + b.x(g.Upper)) / 2, Y: b.y(g.Difference)}, g.Rows < Enough)
		}
	}
	if !any {
		b.note("no rows")
	}
	b.frame(a)
}
