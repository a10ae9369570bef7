package picture

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/candor-go/candor/metrics/calib"
)

// Set is one set of predictions in an Overlay.
type Set struct {
	Name string
	Bins []calib.Bin // see calib.Partition.Bins
}

// Overlay draws several sets of predictions in one diagram, above the outlines of their histograms. Each set has a curve around the
// diagonal, or with Gap around 0. Sets differ in colour, marker and dash, which repeat from the 29th set on.
//
// A curve breaks at empty bins. Points of bins with fewer than Enough rows are hollow. Up to three sets have intervals at their
// points. More than 200 bins are pooled. The zero value draws a picture without data.
type Overlay struct {
	Title, Subtitle string
	Sets            []Set
	Event           calib.Event // for the names of axes; ByShape is TopLabel
	Y               Y
	Centers         bool // points are at the centres of bins, not at mean scores
}

func (d *Overlay) size() (vg.Length, vg.Length) {
	return single(d.Title, d.Subtitle, d.legend(nil, d.bars()))
}

// bars returns the bars of each set.
func (d *Overlay) bars() [][]calib.Bin {
	all := make([][]calib.Bin, len(d.Sets))
	for i, s := range d.Sets {
		all[i], _ = bars(s.Bins)
	}
	return all
}

// intervals reports whether points have intervals.
func (d *Overlay) intervals() bool { return len(d.Sets) <= 3 }

// look distinguishes a set from the others.
type look struct {
	color  draw.LineStyle
	marker []vg.Point // polygon around the origin, with radius 1
}

var (
	colors = []draw.LineStyle{{Color: blue}, {Color: vermilion}, {Color: green}, {Color: purple}, {Color: orange},
		{Color: black}, {Color: sky}}
	dashes  = [][]vg.Length{nil, {6, 2.5}, {2, 2}, {8, 2, 2, 2}}
	markers = [][]vg.Point{polygon(16, 0, 1), polygon(4, math.Pi/4, 1.2), polygon(3, math.Pi/2, 1.3), polygon(4, 0, 1.3),
		polygon(3, -math.Pi/2, 1.3), polygon(6, 0, 1.15), polygon(5, math.Pi/2, 1.2)}
)

// polygon returns the corners of a regular polygon, the first at an angle.
func polygon(n int, from, radius float64) []vg.Point {
	pts := make([]vg.Point, n)
	for i := range pts {
		s, c := math.Sincos(from + 2*math.Pi*float64(i)/float64(n))
		pts[i] = vg.Point{X: vg.Length(radius * c), Y: vg.Length(radius * s)}
	}
	return pts
}

// lookOf returns the look of the i-th set.
func lookOf(i int) look {
	l := look{colors[i%len(colors)], markers[i%len(markers)]}
	l.color.Width, l.color.Dashes = 1.3, dashes[i%len(dashes)]
	return l
}

// dot draws a marker of the set, hollow if there are few rows.
func (p *page) dot(l look, at vg.Point, hollow bool) {
	const radius = 3
	pts := make([]vg.Point, len(l.marker))
	for i, q := range l.marker {
		pts[i] = vg.Point{X: at.X + q.X*radius, Y: at.Y + q.Y*radius}
	}
	if hollow {
		p.FillPolygon(white, pts)
	} else {
		p.FillPolygon(l.color.Color, pts)
	}
	p.outline(draw.LineStyle{Color: l.color.Color, Width: 0.9}, pts)
}

// legend returns the key of the sets.
func (d *Overlay) legend(p *page, all [][]calib.Bin) []entry {
	few := false
	var k []entry
	for i, bins := range all {
		for j := range bins {
			few = few || drawn(&bins[j]) && bins[j].Count < Enough
		}
		l := lookOf(i)
		k = append(k, entry{func(r vg.Rectangle) {
			c := middle(r)
			p.StrokeLine2(l.color, r.Min.X, c.Y, r.Max.X, c.Y)
			p.dot(l, c, false)
		}, d.Sets[i].Name})
	}
	if few {
		k = append(k, p.hollowEntry(look{draw.LineStyle{Color: axisGrey}, markers[0]}))
	}
	return k
}

func (d *Overlay) draw(p *page) {
	all := d.bars()
	p.heading(d.Title, d.Subtitle)
	p.key(d.legend(p, all))
	p.top -= 4

	score, up := words(d.Event, d.Y)
	a := &axes{y: up, xs: fifths, ys: fifths, yText: true, size: tickSize}
	y0, y1 := 0.0, 1.0
	if d.Y == Gap {
		y0, y1 = gapRange(d.intervals(), false, all...)
		a.ys = ticks(y0, y1, 7)
	}
	top := p.panel(p.top-p.Min.Y-panelSkip-histogramHeight-axisHeight, y0, y1, all...)
	top.grid(a)
	if d.Y == Gap {
		top.StrokeLine2(draw.LineStyle{Color: axisGrey, Width: 1.2}, top.r.Min.X, top.y(0), top.r.Max.X, top.y(0))
	} else {
		top.diagonal()
	}
	any := false
	if d.intervals() {
		for i, bins := range all {
			top.intervals(lookOf(i), bins, d.Y, d.Centers)
		}
	}
	for i, bins := range all {
		top.curve(lookOf(i), bins, d.Y, d.Centers)
		any = any || anyDrawn(bins)
	}
	if !any {
		top.note("no rows")
	}
	top.frame(a)
	p.top -= panelSkip
	d.histograms(p, all, score)
}

// intervals draws the intervals of a set's points.
func (p *panel) intervals(l look, bins []calib.Bin, y Y, centers bool) {
	for i := range bins {
		if b := &bins[i]; drawn(b) && known(b.Interval) {
			x, _, shift := place(p, b, y, centers)
			p.whisker(x, b.Interval, shift, 1.5, draw.LineStyle{Color: l.color.Color, Width: 0.6})
		}
	}
}

// curve draws a set's line, which breaks at empty bins, and its points.
func (p *panel) curve(l look, bins []calib.Bin, y Y, centers bool) {
	var line []vg.Point
	for i := range bins {
		b := &bins[i]
		if !drawn(b) {
			p.StrokeLines(l.color, line)
			line = nil
			continue
		}
		x, v, _ := place(p, b, y, centers)
		line = append(line, vg.Point{X: x, Y: p.y(v)})
	}
	p.StrokeLines(l.color, line)
	for i := range bins {
		if b := &bins[i]; drawn(b) {
			x, v, _ := place(p, b, y, centers)
			p.dot(l, vg.Point{X: x, Y: p.y(v)}, b.Count < Enough)
		}
	}
}

// histograms draws the outlines of the histograms of all sets.
func (d *Overlay) histograms(p *page, all [][]calib.Bin, score string) {
	most, anyWeighted := 0.0, false
	for _, bins := range all {
		for _, v := range shares(bins) {
			most = math.Max(most, v)
		}
		anyWeighted = anyWeighted || weighted(bins)
	}
	h := p.panel(histogramHeight, 0, scale(most), all...)
	a := &axes{x: score, y: "rows, %", xs: fifths, ys: ticks(0, h.y1, 4), xText: true, yText: true, size: tickSize}
	if anyWeighted {
		a.y = "weight, %"
	}
	h.grid(a)
	for i, bins := range all {
		var line []vg.Point
		end := func() {
			if n := len(line); n > 0 {
				line = append(line, vg.Point{X: line[n-1].X, Y: h.r.Min.Y})
				h.StrokeLines(lookOf(i).color, line)
			}
			line = nil
		}
		for j, v := range shares(bins) {
			if !(v > 0) {
				end()
				continue
			}
			x0, x1 := h.x(bins[j].Lower), h.x(bins[j].Upper)
			if x0 == x1 {
				x0, x1 = h.sides(&bins[j])
			}
			if line == nil {
				line = append(line, vg.Point{X: x0, Y: h.r.Min.Y})
			}
			line = append(line, vg.Point{X: x0, Y: h.y(v)}, vg.Point{X: x1, Y: h.y(v)})
		}
		end()
	}
	h.frame(a)
}
