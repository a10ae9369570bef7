package picture

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/report/scene"
)

// Verdict says what an interval of a Forest shows.
type Verdict uint8

// The verdicts of intervals.
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
	Rows     int64 // behind the value: the dot grows with them; 0 leaves it as it is
}

// ForestPanel holds rows that share an axis, as the differences of a metric.
type ForestPanel struct {
	Name   string  // above the rows; of a panel with one row, beside it
	Margin float64 // differences up to this size are shaded; 0 for none
	Points bool    // values are shares, written as points
	Rows   []ForestRow
}

// Forest draws intervals one below another, each with its name and its numbers, around a line at 0: of differences, or of groups. Each panel has
// an axis of its own, which holds 0 and the intervals. Rows whose value is not finite are left out; an interval that goes on beyond the axis
// ends in an arrow.
//
// First and Other say in the key what a decided interval speaks for, Undecided what another does; "" leaves that out. The zero value draws a
// picture without data.
type Forest struct {
	Title, Subtitle         string
	First, Other, Undecided string
	Sides                   bool // First is too low and Other too high, in the colours of these
	Narrow                  bool // 300 points wide, for phones, without the numbers beside the intervals
	Panels                  []ForestPanel
}

// Sizes, in points.
const (
	forestWidth = 500
	forestSlim  = 300
	forestRow   = 17
	forestHead  = 19 // the name of a panel
	forestAxis  = 20 // below its rows
	forestSkip  = 8  // between panels
)

// role returns the colour of a verdict. Its shape says the same.
func (d *Forest) role(v Verdict) scene.Role {
	switch {
	case v == Open:
		return scene.Muted
	case d.Sides:
		return side(v == Other)
	case v == First:
		return scene.Ideal
	}
	return scene.Set2
}

// mark returns the mark of a verdict.
func (d *Forest) mark(v Verdict, x, y, r float64) scene.Mark {
	switch v {
	case First:
		return marker(1, x, y, r, scene.Fill(d.role(v)))
	case Other:
		return marker(2, x, y, r+0.4, scene.Fill(d.role(v)))
	}
	return scene.Circle{X: x, Y: y, R: r, Paint: hollow}
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

// beside reports whether the name of a panel stands beside its only row.
func (p *ForestPanel) beside() bool { return p.Name != "" && len(p.Rows) == 1 }

// Scene returns the picture with its title, key and notes.
func (d *Forest) Scene() *scene.Scene {
	seen := map[Verdict]bool{}
	shaded, interval := false, false
	for _, l := range d.panels() {
		shaded = shaded || l.Margin > 0
		for _, r := range l.Rows {
			seen[r.Verdict] = true
			interval = interval || known(r.Interval)
		}
	}
	var k []sample
	for _, e := range []struct {
		v    Verdict
		text string
	}{{First, d.First}, {Other, d.Other}, {Open, d.Undecided}} {
		if seen[e.v] && e.text != "" {
			k = append(k, sample{[]scene.Mark{hline(-9, 9, 0, scene.Stroke(d.role(e.v), 1.3)), d.mark(e.v, 0, 0, 3.2)}, e.text})
		}
	}
	if shaded {
		k = append(k, bandSample("differences that do not matter"))
	}
	return sheet(d.Panel(), d.Title, d.Subtitle, k)
}

// width returns that of the picture.
func (d *Forest) width() float64 {
	if d.Narrow {
		return forestSlim
	}
	return forestWidth
}

// Panel returns the intervals alone, 500 points wide, or 300 if they are narrow.
func (d *Forest) Panel() *scene.Scene {
	width := d.width()
	s := &scene.Scene{Width: width, Title: "Values with their intervals", Desc: d.finding()}
	l := d.panels()
	if len(l) == 0 {
		s.Height = 50
		s.Add(label(width/2, 28, scene.Middle, "no interval"))
		return s
	}
	names, numbers, most := 0.0, 0.0, int64(0)
	for i := range l {
		p := &l[i]
		if p.beside() {
			names = math.Max(names, scene.Width(p.Name, scene.Normal, false))
		}
		for _, r := range p.Rows {
			if !p.beside() {
				names = math.Max(names, scene.Width(r.Name, scene.Normal, false))
			}
			numbers = math.Max(numbers, scene.Width(forestNumbers(r, p.Points), scene.Normal, false))
			most = max(most, r.Rows)
		}
	}
	names, numbers = math.Min(names, width*0.4), math.Min(numbers, width*0.33)
	if d.Narrow {
		numbers = -8
	}
	y := 2.0
	for i := range l {
		p := &l[i]
		if p.Name != "" && !p.beside() {
			s.Add(scene.Text{Y: y + 11, S: scene.Cut(p.Name, scene.Normal, true, width), Bold: true})
			y += forestHead
		}
		d.rows(s, p, y, names+10, width-numbers-12, names, most)
		y += float64(forestRow*float64(len(p.Rows))) + forestAxis
		if i < len(l)-1 {
			y += forestSkip
		}
	}
	s.Height = y
	return s
}

// rows draws the rows of a panel between two edges.
func (d *Forest) rows(s *scene.Scene, f *ForestPanel, y, left, right, names float64, most int64) {
	lo, hi := forestRange(f)
	p := &plane{s, left, y, right - left, forestRow * float64(len(f.Rows)), lo, hi, 0, 1}
	t := ticks(lo, hi, 4)
	at := brief(t)
	if f.Points {
		at = pointTicks(t)
	}
	p.columns(t, at)
	if f.Margin > 0 {
		p.Add(scene.Rect{X: p.px(-f.Margin), Y: p.y, W: p.px(f.Margin) - p.px(-f.Margin), H: p.h, Paint: bandPaint})
	}
	p.Add(vline(p.px(0), p.y, p.y+p.h, scene.Stroke(scene.Ink, 1.2)))
	for i, r := range f.Rows {
		y := p.y + float64((float64(i)+0.5)*forestRow)
		name := r.Name
		if f.beside() {
			name = f.Name
		}
		numbers := forestNumbers(r, f.Points)
		s.Add(scene.Text{X: left - 8, Y: y + 3.5, S: scene.CutMiddle(name, scene.Normal, false, names), Anchor: scene.End})
		if width := d.width(); !d.Narrow {
			s.Add(label(width, y+3.5, scene.End, scene.Cut(numbers, scene.Normal, false, width-right-8)))
		}
		paint := scene.Stroke(d.role(r.Verdict), 1.5)
		var m []scene.Mark
		if known(r.Interval) {
			m = append(m, hline(p.px(r.Interval.Low), p.px(r.Interval.High), y, paint))
			for _, e := range []struct {
				beyond bool
				x, to  float64
			}{{r.Interval.Low < lo, p.x, 3.5}, {r.Interval.High > hi, p.x + p.w, -3.5}} {
				if e.beyond {
					m = append(m, scene.Path{Points: []scene.Point{{X: e.x + e.to, Y: y - 3}, {X: e.x, Y: y}, {X: e.x + e.to, Y: y + 3}}, Paint: paint})
				}
			}
		}
		size := 3.2
		if r.Rows > 0 {
			size = 2 + float64(2.4*math.Sqrt(float64(r.Rows)/float64(most)))
		}
		tip := name + ": " + numbers
		if r.Rows > 0 {
			tip += ", " + counted(r.Rows, "row")
		}
		p.Add(scene.Group{Title: tip, Marks: append(m, d.mark(r.Verdict, p.px(r.Value), y, size))})
	}
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
	if room := float64(0.06 * (hi - lo)); room > 0 && finite(room) {
		return lo - room, hi + room
	}
	return -1, 1
}

// forestNumbers writes a value and its interval, with two digits of its width.
func forestNumbers(r ForestRow, inPoints bool) string {
	times := 1.0
	if inPoints {
		times = 100
	}
	v, low, high := float64(times*r.Value), float64(times*r.Interval.Low), float64(times*r.Interval.High)
	if !known(r.Interval) {
		return minus(strconv.FormatFloat(v, 'g', 3, 64))
	}
	n := 3
	if half := float64((high - low) / 2); half > 0 && finite(half) {
		n = min(9, max(0, 1-exponent(half)))
	}
	f := func(v float64) string {
		if math.IsInf(v, 0) {
			return minus(strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'f', n, 64), "+")))
		}
		s := strconv.FormatFloat(v, 'f', n, 64)
		if n > 6 { // and there is no room for the zeros
			s = strconv.FormatFloat(v, 'e', 1, 64)
		}
		if strings.Trim(s, "-0.") == "" {
			s = strings.TrimPrefix(s, "-") // no minus before zeros
		}
		return minus(s)
	}
	return fmt.Sprintf("%s [%s, %s]", f(v), f(low), f(high))
}

// finding counts the verdicts.
func (d *Forest) finding() string {
	n, by := 0, [3]int{}
	for _, p := range d.panels() {
		for _, r := range p.Rows {
			n++
			by[r.Verdict]++
		}
	}
	if n == 0 {
		return "There is no interval."
	}
	s := fmt.Sprintf("Of %s, %s clear of 0", counted(int64(n), "interval"), map[bool]string{true: "1 is", false: fmt.Sprintf("%d are", by[First]+by[Other])}[by[First]+by[Other] == 1])
	if by[First] > 0 && d.First != "" {
		s += fmt.Sprintf(", %d %s", by[First], d.First)
	}
	if by[Other] > 0 && d.Other != "" {
		s += fmt.Sprintf(", %d %s", by[Other], d.Other)
	}
	return s + "."
}
