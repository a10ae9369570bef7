package picture

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/report/scene"
)

// Cell is the picture of a number in a cell of a table, 120 by 16 points, without words: a dot for the value, a bar for its interval, a tick for
// the ideal, and a band for what chance does. What is NaN is left out. Zero holds 0 on the axis, for what cannot be below it. Range, if its ends
// differ, is the range of the axis, so that cells of a column compare; values beyond it are at its edge.
type Cell struct {
	Value    float64
	Interval metrics.Interval
	Ideal    float64
	Band     metrics.Interval
	Zero     bool
	Range    metrics.Interval
	Role     scene.Role // of the dot; None is Ink
}

// NewCell returns the cell of a value with an interval, and nothing else.
func NewCell(value float64, in metrics.Interval) *Cell {
	return &Cell{Value: value, Interval: in, Ideal: math.NaN(), Band: metrics.NoInterval()}
}

// Scene returns the picture. It has no title: the table says the numbers.
func (d *Cell) Scene() *scene.Scene {
	s := &scene.Scene{Width: 120, Height: 16}
	lo, hi := math.Inf(1), math.Inf(-1)
	take := func(l ...float64) {
		for _, v := range l {
			if finite(v) {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
		}
	}
	take(d.Value, d.Interval.Low, d.Interval.High, d.Ideal, d.Band.Low, d.Band.High)
	if lo > hi {
		return s
	}
	if d.Zero {
		take(0)
	}
	room := 0.08 * (hi - lo)
	if !(room > 0) {
		room = math.Max(math.Abs(hi)*0.1, 1e-9)
	}
	if !d.Zero || lo < 0 {
		lo -= room
	}
	hi += room
	if d.Range.Low < d.Range.High {
		lo, hi = d.Range.Low, d.Range.High
	}
	p := &plane{s, 5, 0, 110, 16, lo, hi, 0, 1}
	p.Add(hline(2, 118, 8, scene.Stroke(scene.Grid, 0.8)))
	if finite(d.Band.Low, d.Band.High) {
		p.Add(box(p.px(d.Band.Low), p.px(d.Band.High), 2, 14, bandPaint))
	}
	if finite(d.Ideal) {
		p.Add(vline(p.px(d.Ideal), 1, 15, scene.Stroke(scene.Ideal, 2)))
	}
	if known(d.Interval) && d.Interval.Low <= d.Interval.High && !math.IsNaN(d.Interval.Low) {
		p.Add(hline(p.px(d.Interval.Low), p.px(d.Interval.High), 8, scene.Stroke(scene.Axis, 3)))
	}
	if finite(d.Value) {
		role := d.Role
		if role == scene.None {
			role = scene.Ink
		}
		p.Add(scene.Circle{X: p.px(d.Value), Y: 8, R: 3.2, Paint: scene.Fill(role)})
	}
	return s
}

// Strip shows what a model says beside what happens, on one axis of percentages: the band is the interval of what happens. What is NaN is left
// out.
type Strip struct {
	Says, Is   float64
	Interval   metrics.Interval // of Is
	SaysWords  string           // before the number; "" means "says"
	IsWords    string           // "" means "is right"
	Title      string           // "" means "What it says, and how often it is right"
	Desc       string
	Undirected bool // the mark of what it says has no colour: the difference may be chance
}

// Panel returns the picture, 360 points wide.
func (d *Strip) Panel() *scene.Scene {
	s := &scene.Scene{Width: panelWidth, Height: 66, Title: d.Title, Desc: d.Desc}
	if s.Title == "" {
		s.Title = "What it says, and how often it is right"
	}
	says, is := "says", "is right"
	if d.SaysWords != "" {
		says = d.SaysWords
	}
	if d.IsWords != "" {
		is = d.IsWords
	}
	if !finite(d.Says, d.Is) {
		s.Add(label(panelWidth/2, 36, scene.Middle, "nothing to compare"))
		return s
	}
	lo, hi := math.Min(d.Says, d.Is), math.Max(d.Says, d.Is)
	if known(d.Interval) {
		lo, hi = math.Min(lo, d.Interval.Low), math.Max(hi, d.Interval.High)
	}
	pad := math.Max(0.35*(hi-lo), 0.004)
	lo, hi = math.Max(0, lo-pad), math.Min(1, hi+pad)
	p := &plane{s, 8, 25, panelWidth - 16, 26, lo, hi, 0, 1}
	mid := p.y + float64(p.h/2)
	if known(d.Interval) {
		p.Add(scene.Rect{X: p.px(d.Interval.Low), Y: mid - 10, W: p.px(d.Interval.High) - p.px(d.Interval.Low), H: 20, Paint: bandPaint})
	}
	p.Add(hline(p.x, p.x+p.w, mid, scene.Stroke(scene.Axis, 1)))
	t := ticks(lo, hi, 6)
	for i, name := range percents(t) {
		x := p.px(t[i])
		half := float64(scene.Width(name, scene.Normal, false) / 2)
		p.Add(vline(x, mid, mid+12, scene.Stroke(scene.Axis, 1)), label(math.Min(math.Max(x, half), panelWidth-half), 63, scene.Middle, name))
	}
	p.Add(vline(p.px(d.Is), mid-13, mid+13, scene.Stroke(scene.Ink, 2.5)))
	xs, xi := p.px(d.Says), p.px(d.Is)
	role := side(d.Says > d.Is)
	if d.Undirected || d.Says == d.Is {
		role = scene.Ink
	}
	p.Add(scene.Path{Points: []scene.Point{{X: xs, Y: mid - 3}, {X: xs - 6, Y: mid - 13}, {X: xs + 6, Y: mid - 13}}, Closed: true, Paint: scene.Fill(role)})
	// The words are beside each other, in the order of what they name.
	a, b := scene.Text{X: xi, S: is + " " + share(d.Is, 1)}, scene.Text{X: xs, S: says + " " + share(d.Says, 1)}
	if xs < xi {
		a, b = b, a
	}
	wa, wb := scene.Width(a.S, scene.Strong, true), scene.Width(b.S, scene.Strong, true)
	const gap = 14
	left := math.Min(a.X-float64(wa/2), panelWidth-wa-wb-gap)
	left = math.Max(left, 0)
	right := math.Min(math.Max(b.X-float64(wb/2), left+wa+gap), panelWidth-wb)
	if room := right - left - wa; room < gap { // both in the middle of their marks
		left = math.Max(0, right-gap-wa)
	}
	for _, w := range []struct {
		x float64
		s string
	}{{left, a.S}, {right, b.S}} {
		p.Add(scene.Text{X: w.x, Y: 16, S: w.s, Size: scene.Strong, Bold: true})
	}
	return s
}

// Members shows the value of a metric of each member of an ensemble as a dot, and that of the ensemble as a tick, on one axis. Values that are
// not finite are left out.
type Members struct {
	Title, Subtitle string
	Metric          string
	Names           []string // for the tips; nil for numbers
	Values          []float64
	Ensemble        float64 // NaN for none
}

// Scene returns the picture with its title, key and notes.
func (d *Members) Scene() *scene.Scene {
	return sheet(d.Panel(), d.Title, d.Subtitle, []sample{dotSample(hollow, "a member"), lineSampleUpright(scene.Stroke(scene.Ideal, 2.5), "the ensemble")})
}

func lineSampleUpright(p scene.Paint, text string) sample {
	return sample{[]scene.Mark{vline(0, -5, 5, p)}, text}
}

// Panel returns the picture alone, 360 points wide.
func (d *Members) Panel() *scene.Scene {
	s := &scene.Scene{Width: panelWidth, Height: 62, Title: d.Metric + " of the members and of the ensemble"}
	lo, hi, n, better := math.Inf(1), math.Inf(-1), int64(0), int64(0)
	for _, v := range d.Values {
		if finite(v) {
			n++
			lo, hi = math.Min(lo, v), math.Max(hi, v)
			if v > d.Ensemble {
				better++
			}
		}
	}
	if finite(d.Ensemble) {
		lo, hi = math.Min(lo, d.Ensemble), math.Max(hi, d.Ensemble)
		s.Desc = "Of " + counted(n, "member") + " " + thousands(better) + " have a higher value than the ensemble."
	}
	if lo > hi {
		s.Add(label(panelWidth/2, 30, scene.Middle, "no values"))
		return s
	}
	room := math.Max(0.06*(hi-lo), 1e-9)
	p := &plane{s, 8, 14, panelWidth - 16, 18, lo - room, hi + room, 0, 1}
	p.Add(label(0, 9, scene.Start, d.Metric))
	t := ticks(p.x0, p.x1, 6)
	p.columns(t, brief(t))
	p.base()
	for i, v := range d.Values {
		if !finite(v) {
			continue
		}
		name := "member " + thousands(int64(i+1))
		if d.Names != nil {
			name = d.Names[i]
		}
		p.Add(scene.Group{Title: name + ": " + small(v), Marks: []scene.Mark{scene.Circle{X: p.px(v), Y: p.y + float64(p.h/2), R: 3.4, Paint: hollow}}})
	}
	if finite(d.Ensemble) {
		p.Add(scene.Group{Title: "ensemble: " + small(d.Ensemble), Marks: []scene.Mark{vline(p.px(d.Ensemble), p.y-2, p.y+p.h, scene.Stroke(scene.Ideal, 2.5))}})
	}
	s.Height = p.y + p.h + 17
	return s
}
