package picture

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/candor-go/candor/metrics"
)

// Verdict says what an interval of a Forest shows.
type Verdict uint8

const (
	Open  Verdict = iota // nothing is decided
	First                // for what Forest.First names
	Other                // for what Forest.Other names
)

// ForestRow is a row of a Forest: a value with its interval.
type ForestRow struct {
	Name     string
	Value    float64
	Interval metrics.Interval
	Verdict  Verdict
}

// ForestPanel holds rows that share an axis, as the differences of a metric.
type ForestPanel struct {
	Name   string  // above the rows; of a panel with one row, beside it
	Margin float64 // differences up to this size are shaded; 0 for none
	Rows   []ForestRow
}

// Forest draws intervals one below another, each with its name and its numbers, around a line at 0: of differences, or of groups. Each panel has
// an axis of its own, which holds 0 and the intervals. Rows whose value is not finite are left out; the ends of an interval that are not
// finite are at the edge.
//
// First and Other say in the key what a decided interval speaks for, Undecided what another does; "" leaves that out. The zero value draws a
// picture without data.
type Forest struct {
	Title, Subtitle         string
	First, Other, Undecided string
	Panels                  []ForestPanel
}

const (
	forestWidth = 7 * vg.Inch
	forestRow   = 15
	forestHead  = 17 // the name of a panel
	forestAxis  = 19 // below its rows
	forestSkip  = 7  // between panels
)

// looks of verdicts, which differ in colour and marker.
func forestLook(v Verdict) look {
	l := look{draw.LineStyle{Color: axisGrey, Width: 1.3}, markers[0]}
	switch v {
	case First:
		l.color.Color, l.marker = blue, markers[1]
	case Other:
		l.color.Color, l.marker = vermilion, markers[2]
	}
	return l
}

// panels returns those that have rows to draw.
func (d *Forest) panels() (l []ForestPanel) {
	for _, p := range d.Panels {
		rows := p.Rows
		p.Rows = nil
		for _, r := range rows {
			if finite(r.Value) {
				p.Rows = append(p.Rows, r)
			}
		}
		if len(p.Rows) > 0 {
			l = append(l, p)
		}
	}
	return l
}

func (d *Forest) size() (vg.Length, vg.Length) {
	height := headHeight(forestWidth, d.Title, d.Subtitle, d.legend(nil)) + keySkip + 2*margin
	l := d.panels()
	for i := range l {
		height += forestHeight(&l[i]) + forestSkip
	}
	if len(l) == 0 {
		height += 60
	}
	return forestWidth, height
}

func forestHeight(p *ForestPanel) vg.Length {
	h := vg.Length(len(p.Rows))*forestRow + forestAxis
	if p.Name != "" && len(p.Rows) > 1 {
		h += forestHead
	}
	return h
}

// legend returns the key of the verdicts that are there, and of the margin.
func (d *Forest) legend(p *page) (k []entry) {
	seen := map[Verdict]bool{}
	shaded := false
	for _, l := range d.panels() {
		shaded = shaded || l.Margin > 0
		for _, r := range l.Rows {
			seen[r.Verdict] = true
		}
	}
	for _, e := range []struct {
		v    Verdict
		text string
	}{{First, d.First}, {Other, d.Other}, {Open, d.Undecided}} {
		if !seen[e.v] || e.text == "" {
			continue
		}
		l := forestLook(e.v)
		k = append(k, entry{func(r vg.Rectangle) {
			c := middle(r)
			p.StrokeLine2(l.color, r.Min.X, c.Y, r.Max.X, c.Y)
			p.dot(l, c, e.v == Open)
		}, e.text})
	}
	if shaded {
		k = append(k, entry{func(r vg.Rectangle) {
			p.FillPolygon(bandGrey, rectangle(r.Min.X, r.Min.Y, r.Max.X, r.Max.Y))
		}, "differences that do not matter"})
	}
	return k
}

func (d *Forest) draw(p *page) {
	p.heading(d.Title, d.Subtitle)
	p.key(d.legend(p))
	p.top -= keySkip
	l := d.panels()
	if len(l) == 0 {
		(&panel{page: p, r: vg.Rectangle{Min: p.Min, Max: vg.Point{X: p.Max.X, Y: p.top}}}).note("no interval")
		return
	}
	st := style(tickSize, black)
	names, numbers := vg.Length(0), vg.Length(0)
	for _, panel := range l {
		if len(panel.Rows) == 1 && panel.Name != "" {
			names = max(names, st.Width(panel.Name))
		}
		for _, r := range panel.Rows {
			if len(panel.Rows) > 1 || panel.Name == "" {
				names = max(names, st.Width(r.Name))
			}
			numbers = max(numbers, st.Width(forestNumbers(r)))
		}
	}
	width := p.Max.X - p.Min.X
	names = min(names, width*2/5)
	numbers = min(numbers, width*3/10)
	left, right := p.Min.X+names+10, p.Max.X-numbers-12
	for i := range l {
		d.panel(p, &l[i], left, right, names, numbers)
		p.top -= forestSkip
	}
}

// panel draws the rows of a panel between two edges.
func (d *Forest) panel(p *page, f *ForestPanel, left, right, names, numbers vg.Length) {
	if f.Name != "" && len(f.Rows) > 1 {
		p.write(textSize, black, p.Min.X, p.top-2, text.XLeft, text.YTop, cut(f.Name, style(textSize, black), p.Max.X-p.Min.X))
		p.top -= forestHead
	}
	lo, hi := forestRange(f)
	height := vg.Length(len(f.Rows)) * forestRow
	b := &panel{p, vg.Rectangle{Min: vg.Point{X: left, Y: p.top - height}, Max: vg.Point{X: right, Y: p.top}}, lo, hi, 0, 1}
	p.top -= height + forestAxis
	a := &axes{xs: ticks(lo, hi, 4), xText: true, size: tickSize}
	b.grid(a)
	if f.Margin > 0 {
		p.FillPolygon(bandGrey, rectangle(b.x(-f.Margin), b.r.Min.Y, b.x(f.Margin), b.r.Max.Y))
	}
	p.StrokeLine2(draw.LineStyle{Color: axisGrey, Width: 1.1}, b.x(0), b.r.Min.Y, b.x(0), b.r.Max.Y)
	st := style(tickSize, black)
	for i, r := range f.Rows {
		y := b.r.Max.Y - (vg.Length(i)+0.5)*forestRow
		name := r.Name
		if len(f.Rows) == 1 && f.Name != "" {
			name = f.Name
		}
		p.write(tickSize, black, left-8, y, text.XRight, text.YCenter, cutMiddle(name, st, names))
		p.write(tickSize, textGrey, p.Max.X, y, text.XRight, text.YCenter, cut(forestNumbers(r), st, numbers))
		l := forestLook(r.Verdict)
		if known(r.Interval) {
			p.StrokeLine2(l.color, b.x(r.Interval.Low), y, b.x(r.Interval.High), y)
			for _, v := range []float64{r.Interval.Low, r.Interval.High} {
				if v >= lo && v <= hi {
					p.StrokeLine2(l.color, b.x(v), y-2.5, b.x(v), y+2.5)
				}
			}
		}
		p.dot(l, vg.Point{X: b.x(r.Value), Y: y}, r.Verdict == Open)
	}
	line := draw.LineStyle{Color: axisGrey, Width: 0.8}
	p.StrokeLine2(line, b.r.Min.X, b.r.Min.Y, b.r.Max.X, b.r.Min.Y)
	at := labels(a.xs)
	if small := a.xs[len(a.xs)-1] - a.xs[0]; small < 0.001 || small >= 1e5 { // labels have 4 decimals at most
		for i, v := range a.xs {
			at[i] = strconv.FormatFloat(v, 'g', 2, 64)
		}
	}
	for i, v := range a.xs {
		p.StrokeLine2(line, b.x(v), b.r.Min.Y-tickLen, b.x(v), b.r.Min.Y)
		p.write(tickSize, black, b.x(v), b.r.Min.Y-tickLen-2, text.XCenter, text.YTop, at[i])
	}
}

// cutMiddle shortens text to a width, with dots in its middle: names of groups often differ at their ends.
func cutMiddle(s string, st text.Style, width vg.Length) string {
	r := []rune(s)
	if st.Width(s) <= width {
		return s
	}
	for n := len(r) - 1; n > 0; n-- {
		if short := string(r[:(n+1)/2]) + "..." + string(r[len(r)-n/2:]); st.Width(short) <= width {
			return short
		}
	}
	return "..."
}

// forestRange returns the range of a panel: 0, the values, and the finite ends of intervals, a margin where these are not much narrower.
func forestRange(f *ForestPanel) (lo, hi float64) {
	take := func(v float64) {
		if finite(v) {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	for _, r := range f.Rows {
		take(r.Value)
		take(r.Interval.Low)
		take(r.Interval.High)
	}
	if f.Margin > 0 && f.Margin < 5*math.Max(hi, -lo) {
		take(f.Margin)
		take(-f.Margin)
	}
	if room := 0.06 * (hi - lo); room > 0 {
		return lo - room, hi + room
	}
	return -1, 1
}

// forestNumbers writes a value and its interval, with two digits of its width.
func forestNumbers(r ForestRow) string {
	if !known(r.Interval) {
		return strconv.FormatFloat(r.Value, 'g', 3, 64)
	}
	n := 3
	if half := (r.Interval.High - r.Interval.Low) / 2; half > 0 && finite(half) {
		n = min(9, max(0, 1-int(math.Floor(math.Log10(half)))))
	}
	f := func(v float64) string {
		if math.IsInf(v, 0) {
			return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'f', n, 64), "+"))
		}
		s := strconv.FormatFloat(v, 'f', n, 64)
		if v > -math.Pow(10, -float64(n))/2 && v < 0 {
			s = s[1:] // no minus before zeros
		}
		return s
	}
	return fmt.Sprintf("%s [%s, %s]", f(r.Value), f(r.Interval.Low), f(r.Interval.High))
}
