package picture

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// Y selects the vertical axis of a diagram.
type Y uint8

const (
	Accuracy  Y = iota // the event's frequency; called accuracy if the event is a correct top label
	Frequency          // the same, called relative frequency
	Gap                // frequency minus mean score: positive means underconfident
)

// ParseY returns the Y named accuracy, frequency or gap; ok is false for other names.
func ParseY(s string) (y Y, ok bool) {
	for i, n := range []string{"accuracy", "frequency", "gap"} {
		if n == s {
			return Y(i), true
		}
	}
	return 0, false
}

// words returns the names of the axes.
func words(event calib.Event, y Y) (score, up string) {
	switch event {
	case calib.Positive:
		score, up = "probability of y = 1", "share of y = 1"
	case calib.AllClasses:
		score, up = "probability", "relative frequency"
	default:
		score, up = "confidence", "accuracy"
		if y == Frequency {
			up = "relative frequency of a right top label"
		}
	}
	if y == Gap {
		if event == calib.Positive {
			return score, up + " - probability"
		}
		return score, up + " - " + score
	}
	return score, up
}

// Reliability is a reliability diagram of one set of predictions, above the histogram of its scores.
//
// The height of a bar is the event's frequency in its bin. The hatched part is the gap to the bin's mean score: missing, or in excess.
// The point is at the mean score and the frequency, with the interval of the frequency. The band around the diagonal is the
// consistency band of calibrated scores. The largest gap of a bin with Enough rows is marked. Empty bins are left blank. More than 200
// bins are pooled, without intervals. The zero value draws a picture without data.
type Reliability struct {
	Title, Subtitle string
	Bins            []calib.Bin // see calib.Partition.Bins
	Event           calib.Event // for the names of axes; ByShape is TopLabel
	Y               Y
	Level           float64 // of the intervals, for the key; 0 means 0.95
	Lines           []Line  // in the histogram
	Centers         bool    // points are at the centres of bins, not at mean scores
}

// Line is a vertical line in a histogram, with its name in the key. A line at NaN is left out.
type Line struct {
	Name string
	At   float64
}

func (d *Reliability) size() (vg.Length, vg.Length) {
	bins, group := bars(d.Bins)
	_, lines := (*page)(nil).lines(d.Lines)
	return single(d.Title, d.Subtitle, append(d.legend(nil, bins, largest(bins), group), lines...))
}

// Heights, in points.
const (
	histogramHeight = 80
	axisHeight      = 30 // tick labels and the name of the axis, below a panel
	panelSkip       = 12 // between panels
)

func (d *Reliability) draw(p *page) {
	bins, group := bars(d.Bins)
	p.heading(d.Title, d.Subtitle)
	mark := largest(bins)
	p.key(d.legend(p, bins, mark, group))
	p.top -= 8 // for the mark of the largest gap

	score, up := words(d.Event, d.Y)
	a := &axes{y: up, xs: fifths, ys: fifths, yText: true, size: tickSize}
	lines, samples := p.lines(d.Lines)
	height := p.top - p.Min.Y - panelSkip - p.rows(samples)*keyRow - histogramHeight - axisHeight
	y0, y1 := 0.0, 1.0
	if d.Y == Gap {
		y0, y1 = gapRange(true, true, bins)
		a.ys = ticks(y0, y1, 7)
	}
	top := p.panel(height, y0, y1, bins)
	top.grid(a)
	for i := range bins {
		d.bar(top, &bins[i])
	}
	top.band(bins, d.Y)
	if d.Y == Gap {
		top.StrokeLine2(draw.LineStyle{Color: black, Width: 1}, top.r.Min.X, top.y(0), top.r.Max.X, top.y(0))
	} else {
		top.diagonal()
	}
	if mark >= 0 {
		d.mark(top, &bins[mark])
	}
	for i := range bins {
		d.point(top, &bins[i])
	}
	if !anyDrawn(bins) {
		top.note("no rows")
	}
	top.frame(a)

	p.top -= panelSkip
	p.key(samples)
	histogram(p, bins, lines, score)
}

// diagonal is the line of calibrated scores.
func (p *panel) diagonal() {
	p.StrokeLines(draw.LineStyle{Color: axisGrey, Width: 1, Dashes: []vg.Length{4, 3}}, []vg.Point{p.at(0, 0), p.at(1, 1)})
}

// sides returns the left and right side of a bin's bar. A bin with a single score has a narrow bar there; one at 0 or 1 is outside the
// range.
func (p *panel) sides(b *calib.Bin) (vg.Length, vg.Length) {
	const narrow = 5
	x0, x1 := p.x(b.Lower), p.x(b.Upper)
	switch {
	case b.Lower < b.Upper && x1-x0 > 3:
		return x0 + 0.5, x1 - 0.5
	case b.Lower < b.Upper:
		return x0, x1
	case b.Upper <= 0:
		return x0 - narrow - 1, x0 - 1
	case b.Lower >= 1:
		return x1 + 1, x1 + 1 + narrow
	}
	return x0 - narrow/2, x0 + narrow/2
}

// bar draws a bin's bar and gap.
func (d *Reliability) bar(p *panel, b *calib.Bin) {
	if !drawn(b) {
		return
	}
	x0, x1 := p.sides(b)
	lo, hi := p.y(math.Min(b.Confidence, b.Frequency)), p.y(math.Max(b.Confidence, b.Frequency))
	if d.Y == Gap {
		lo, hi = p.y(math.Min(0, b.Frequency-b.Confidence)), p.y(math.Max(0, b.Frequency-b.Confidence))
	} else {
		p.FillPolygon(paleBlue, rectangle(x0, p.r.Min.Y, x1, p.y(b.Frequency)))
	}
	p.gap(vg.Rectangle{Min: vg.Point{X: x0, Y: lo}, Max: vg.Point{X: x1, Y: hi}}, b.Frequency < b.Confidence)
	if d.Y != Gap {
		p.outline(draw.LineStyle{Color: blue, Width: 0.6}, rectangle(x0, p.r.Min.Y, x1, p.y(b.Frequency)))
	}
}

// gap fills a rectangle that marks missing or excess frequency.
func (p *page) gap(r vg.Rectangle, missing bool) {
	fill, line := paleOrange, vermilion
	if !missing {
		fill, line = paleGreen, green
	}
	if r.Max.Y-r.Min.Y < 0.05 {
		return
	}
	pts := rectangle(r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)
	p.FillPolygon(fill, pts)
	p.hatch(r, line, missing)
	p.outline(draw.LineStyle{Color: line, Width: 0.6}, pts)
}

// band draws the consistency band: a strip through the ends of neighbouring bins' bands around the diagonal, or a rectangle per bin
// around 0.
func (p *panel) band(bins []calib.Bin, y Y) {
	var low, high []vg.Point
	end := func(b *calib.Bin, x float64) {
		low = append(low, p.at(x, x-(b.Confidence-b.Band.Low)))
		high = append(high, p.at(x, x+(b.Band.High-b.Confidence)))
	}
	for i := range bins {
		b := &bins[i]
		if !banded(b) {
			continue
		}
		if y == Gap {
			x0, x1 := p.sides(b)
			p.FillPolygon(bandGrey, rectangle(x0, p.y(b.Band.Low-b.Confidence), x1, p.y(b.Band.High-b.Confidence)))
			continue
		}
		if i == 0 || !banded(&bins[i-1]) {
			end(b, b.Lower)
		}
		end(b, b.Confidence)
		if i+1 == len(bins) || !banded(&bins[i+1]) {
			end(b, b.Upper)
			slices.Reverse(high)
			p.FillPolygon(bandGrey, append(low, high...))
			low, high = nil, nil
		}
	}
}

// banded reports whether a bin has a band. A bin of a single score, 0 or 1, has none.
func banded(b *calib.Bin) bool { return drawn(b) && known(b.Band) && b.Lower < b.Upper }

// place returns the vertical position of a bin's point, and what to add to the ends of its interval.
func place(p *panel, b *calib.Bin, y Y, centers bool) (x vg.Length, up, shift float64) {
	x, up = p.x(b.Confidence), b.Frequency
	if x0, x1 := p.sides(b); centers || b.Lower >= b.Upper {
		x = (x0 + x1) / 2
	}
	if y == Gap {
		shift = -b.Confidence
	}
	return x, up + shift, shift
}

// point draws a bin's point and interval.
func (d *Reliability) point(p *panel, b *calib.Bin) {
	if !drawn(b) {
		return
	}
	x, y, shift := place(p, b, d.Y, d.Centers)
	x0, x1 := p.sides(b)
	fine := max(min((x1-x0)/8, 1), 0.5) // for narrow bars
	if known(b.Interval) {
		p.whisker(x, b.Interval, shift, min(3, (x1-x0)/4), draw.LineStyle{Color: black, Width: 0.9 * fine})
	}
	p.DrawGlyphNoClip(draw.GlyphStyle{Color: black, Radius: 2 * fine, Shape: draw.CircleGlyph{}}, vg.Point{X: x, Y: p.y(y)})
}

// whisker draws an interval. An end beyond the panel has no cap.
func (p *panel) whisker(x vg.Length, i metrics.Interval, shift float64, half vg.Length, l draw.LineStyle) {
	lo, hi := i.Low+shift, i.High+shift
	p.StrokeLine2(l, x, p.y(lo), x, p.y(hi))
	for _, v := range []float64{lo, hi} {
		if p.inside(v) {
			p.StrokeLine2(l, x-half, p.y(v), x+half, p.y(v))
		}
	}
}

// mark draws an outline around the largest gap, and a triangle above it at the edge of the panel.
func (d *Reliability) mark(p *panel, b *calib.Bin) {
	x0, x1 := p.sides(b)
	lo, hi := math.Min(b.Confidence, b.Frequency), math.Max(b.Confidence, b.Frequency)
	if d.Y == Gap {
		lo, hi = math.Min(0, b.Frequency-b.Confidence), math.Max(0, b.Frequency-b.Confidence)
	}
	p.outline(draw.LineStyle{Color: black, Width: min(1.6, (x1-x0)/3)}, rectangle(x0, p.y(lo), x1, p.y(hi)))
	p.triangle(vg.Point{X: (x0 + x1) / 2, Y: p.r.Max.Y + 1})
}

// triangle draws the mark of the largest gap, pointing down at tip.
func (p *page) triangle(tip vg.Point) {
	p.FillPolygon(black, []vg.Point{tip, {X: tip.X + 4, Y: tip.Y + 7}, {X: tip.X - 4, Y: tip.Y + 7}})
}

// legend returns the key.
func (d *Reliability) legend(p *page, bins []calib.Bin, mark, group int) []entry {
	_, up := words(d.Event, Accuracy)
	var missing, more, band, interval bool
	for i := range bins {
		if b := &bins[i]; drawn(b) {
			missing = missing || b.Frequency < b.Confidence
			more = more || b.Frequency > b.Confidence
			band = band || banded(b)
			interval = interval || known(b.Interval)
		}
	}
	var k []entry
	if d.Y != Gap && anyDrawn(bins) {
		k = append(k, entry{func(r vg.Rectangle) {
			pts := rectangle(r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)
			p.FillPolygon(paleBlue, pts)
			p.outline(draw.LineStyle{Color: blue, Width: 0.6}, pts)
		}, up})
	}
	if missing {
		k = append(k, entry{func(r vg.Rectangle) { p.gap(r, true) }, "claimed but missing"})
	}
	if more {
		k = append(k, entry{func(r vg.Rectangle) { p.gap(r, false) }, "more than claimed"})
	}
	if interval {
		k = append(k, p.intervalEntry(d.Level))
	}
	if band {
		k = append(k, p.bandEntry(d.Level))
	}
	if mark >= 0 {
		b := &bins[mark]
		k = append(k, entry{func(r vg.Rectangle) { p.triangle(vg.Point{X: middle(r).X, Y: r.Min.Y + 1}) },
			fmt.Sprintf("largest gap (n >= %d): %+.1f points, %s rows", Enough, 100*(b.Frequency-b.Confidence), thousands(b.Count))})
	}
	if group > 1 {
		k = append(k, entry{func(vg.Rectangle) {}, fmt.Sprintf("a bar is %d bins", group)})
	}
	return k
}

func middle(r vg.Rectangle) vg.Point {
	return vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
}

// intervalEntry is the entry in a key for the point with its interval.
func (p *page) intervalEntry(level float64) entry {
	return entry{func(r vg.Rectangle) {
		c := middle(r)
		l := draw.LineStyle{Color: black, Width: 0.9}
		p.StrokeLine2(l, c.X, r.Min.Y, c.X, r.Max.Y)
		p.StrokeLine2(l, c.X-3, r.Min.Y, c.X+3, r.Min.Y)
		p.StrokeLine2(l, c.X-3, r.Max.Y, c.X+3, r.Max.Y)
		p.DrawGlyphNoClip(draw.GlyphStyle{Color: black, Radius: 2, Shape: draw.CircleGlyph{}}, c)
	}, percent(level) + " Wilson interval"}
}

// bandEntry is the entry in a key for the consistency band.
func (p *page) bandEntry(level float64) entry {
	return entry{func(r vg.Rectangle) { p.FillPolygon(bandGrey, rectangle(r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)) },
		"where " + percent(level) + " of calibrated bins would lie"}
}

// hollowEntry is the entry in a key for points of few rows.
func (p *page) hollowEntry(l look) entry {
	return entry{func(r vg.Rectangle) { p.dot(l, middle(r), true) }, fmt.Sprintf("hollow: fewer than %d rows", Enough)}
}

// percent formats a level as a percentage with all its digits; 0 means the default.
func percent(v float64) string {
	if v == 0 {
		v = metrics.DefaultLevel
	}
	return strconv.FormatFloat(math.Round(1e8*v)/1e6, 'f', -1, 64) + "%"
}

// thousands formats a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// lineStyles distinguish the lines of a histogram.
var lineStyles = []draw.LineStyle{
	{Color: black, Width: 1.5},
	{Color: vermilion, Width: 1.5, Dashes: []vg.Length{5, 2.5}},
	{Color: purple, Width: 1.5, Dashes: []vg.Length{1.5, 2}},
}

// lines returns the lines to draw, and their key.
func (p *page) lines(all []Line) (at []Line, k []entry) {
	for _, l := range all {
		if math.IsNaN(l.At) {
			continue
		}
		st := lineStyles[len(at)%len(lineStyles)]
		at = append(at, l)
		k = append(k, entry{func(r vg.Rectangle) {
			y := (r.Min.Y + r.Max.Y) / 2
			p.StrokeLine2(st, r.Min.X, y, r.Max.X, y)
		}, l.Name})
	}
	return at, k
}

// histogram draws the share of rows in each bin, with the axis below.
func histogram(p *page, bins []calib.Bin, lines []Line, score string) {
	s := shares(bins)
	most := 0.0
	for _, v := range s {
		most = math.Max(most, v)
	}
	h := p.panel(histogramHeight, 0, scale(most), bins)
	a := &axes{x: score, y: "rows, %", xs: fifths, ys: ticks(0, h.y1, 4), xText: true, yText: true, size: tickSize}
	if weighted(bins) {
		a.y = "weight, %"
	}
	h.grid(a)
	for i := range bins {
		if s[i] > 0 {
			x0, x1 := h.sides(&bins[i])
			// Even the fewest rows are visible.
			top := max(h.y(s[i]), h.r.Min.Y+0.8)
			h.FillPolygon(barGrey, rectangle(x0, h.r.Min.Y, x1, top))
			h.outline(draw.LineStyle{Color: axisGrey, Width: 0.5}, rectangle(x0, h.r.Min.Y, x1, top))
		}
	}
	for i, l := range lines {
		h.StrokeLine2(lineStyles[i%len(lineStyles)], h.x(l.At), h.r.Min.Y, h.x(l.At), h.r.Max.Y)
	}
	h.frame(a)
}

// scale returns the upper end of an axis of percentages, with some room above a value.
func scale(most float64) float64 {
	switch {
	case !(most > 0):
		return 100
	case most > 95:
		return 105
	}
	return most * 1.08
}
