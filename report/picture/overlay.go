package picture

import (
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/report/scene"
)

// Set is one set of predictions in an Overlay.
type Set struct {
	Name string
	Bins []calib.Bin // see calib.Partition.Bins
}

// Overlay draws the bins of several sets of predictions in one diagram, above their histograms. The points of a bin stand beside each other, each
// with its interval, and are not linked: bins have nothing to do with each other. Sets differ in colour and marker, which repeat from the 29th
// on. Intervals of more than four sets would hide the points, and are left out. With Gap the points stand around 0, in points. Those of bins with fewer than Enough rows are hollow. More than 200 bins are pooled. The
// zero value draws a picture without data.
type Overlay struct {
	Title, Subtitle string
	Sets            []Set
	Event           calib.Event // for the words; ByShape is TopLabel
	Y               Y
	Level           float64 // of the intervals, for the words; 0 means 0.95
}

// mostWhiskers is the largest number of sets whose points have their intervals.
const mostWhiskers = 4

// bars returns the bars of each set.
func (d *Overlay) bars() [][]calib.Bin {
	all := make([][]calib.Bin, len(d.Sets))
	for i, s := range d.Sets {
		all[i], _ = bars(s.Bins)
	}
	return all
}

// markers are shapes around the origin with about the same area, in order of the sets: a circle, then polygons.
var markers = [][]scene.Point{
	nil,
	{{X: -0.9, Y: -0.9}, {X: 0.9, Y: -0.9}, {X: 0.9, Y: 0.9}, {X: -0.9, Y: 0.9}},
	{{X: 0, Y: -1.2}, {X: 1.1, Y: 0.8}, {X: -1.1, Y: 0.8}},
	{{X: 0, Y: -1.3}, {X: 1.3, Y: 0}, {X: 0, Y: 1.3}, {X: -1.3, Y: 0}},
	{{X: 0, Y: 1.2}, {X: 1.1, Y: -0.8}, {X: -1.1, Y: -0.8}},
	{{X: -1.2, Y: -0.4}, {X: -0.4, Y: -0.4}, {X: -0.4, Y: -1.2}, {X: 0.4, Y: -1.2}, {X: 0.4, Y: -0.4}, {X: 1.2, Y: -0.4}, {X: 1.2, Y: 0.4}, {X: 0.4, Y: 0.4}, {X: 0.4, Y: 1.2}, {X: -0.4, Y: 1.2}, {X: -0.4, Y: 0.4}, {X: -1.2, Y: 0.4}},
	{{X: -1.1, Y: 0}, {X: -0.55, Y: -1}, {X: 0.55, Y: -1}, {X: 1.1, Y: 0}, {X: 0.55, Y: 1}, {X: -0.55, Y: 1}},
}

// marker returns a shape of a size around a point.
func marker(i int, x, y, r float64, p scene.Paint) scene.Mark {
	m := markers[i%len(markers)]
	if m == nil {
		return scene.Circle{X: x, Y: y, R: r, Paint: p}
	}
	pts := make([]scene.Point, len(m))
	for j, q := range m {
		pts[j] = scene.Point{X: x + float64(q.X*r), Y: y + float64(q.Y*r)}
	}
	return scene.Path{Points: pts, Closed: true, Paint: p}
}

// setPaint returns the paint of the i-th set's points.
func setPaint(i int, few bool) scene.Paint {
	r := setRoles[(i+i/len(markers))%len(setRoles)]
	if few {
		return scene.Paint{Fill: scene.Bg, Line: r, Width: 1.1}
	}
	return scene.Fill(r)
}

// Scene returns the picture with its title, key and notes.
func (d *Overlay) Scene() *scene.Scene {
	all := d.bars()
	few, interval := false, false
	var k []sample
	for i, bins := range all {
		for j := range bins {
			few = few || drawn(&bins[j]) && bins[j].Count < Enough
			interval = interval || drawn(&bins[j]) && known(bins[j].Interval) && len(all) <= mostWhiskers
		}
		k = append(k, sample{[]scene.Mark{marker(i, 0, 0, 3.2, setPaint(i, false))}, d.Sets[i].Name})
	}
	if few {
		k = append(k, dotSample(hollow, fewerRows))
	}
	if interval {
		k = append(k, lineSampleUpright(scene.Stroke(scene.Muted, 1.1), percent(d.Level)+" interval"))
	}
	return sheet(d.Panel(), d.Title, d.Subtitle, k)
}

// Panel returns the picture alone, 360 points wide.
func (d *Overlay) Panel() *scene.Scene {
	const left, top, side = 32, 22, 320
	all := d.bars()
	n := namesOf(d.Event)
	s := &scene.Scene{Width: panelWidth, Title: "Reliability of several sets"}
	x0, x1 := domain(all...)
	p := &plane{s, left, top, side, side, x0, x1, 0, 1}
	if d.Y == Gap {
		p.h = 230
		p.y0, p.y1 = gapRange(all...)
	}
	p.columns(fifths, fifthNames)
	if d.Y == Gap {
		t := ticks(p.y0, p.y1, 7)
		p.rows(t, pointTicks(t))
		p.up(gapOf(d.Event))
		p.Add(hline(p.x, p.x+p.w, p.py(0), scene.Stroke(scene.Ink, 1.2)))
	} else {
		p.rows(fifths, fifthNames)
		p.up(n.up)
		p.diagonal()
		p.Add(scene.Text{X: p.px(0.03), Y: p.y + 14, S: "more often than it says", Role: scene.UnderText},
			scene.Text{X: p.px(0.97), Y: p.y + p.h - 8, S: "less often than it says", Anchor: scene.End, Role: scene.OverText})
	}
	any := false
	for i, bins := range all {
		for j := range bins {
			if b := &bins[j]; drawn(b) {
				any = true
				p.dodged(b, d.Y, i, len(all), d.Sets[i].Name+", "+tipOf(b, n))
			}
		}
	}
	if !any {
		p.note("no rows")
	}
	p.base()
	h := &plane{s, p.x, p.y + p.h + 26, p.w, 46, x0, x1, 0, 1}
	d.histograms(h, all)
	h.right(n.score, 14)
	s.Height = h.y + h.h + 19
	s.Desc = d.finding(all)
	return s
}

// dodged draws a bin of one of several sets, in its own part of the bin's width.
func (p *plane) dodged(b *calib.Bin, y Y, i, sets int, tip string) {
	x0, x1 := p.sides(b)
	x := x0 + float64((x1-x0)*(float64(i)+0.5)/float64(sets))
	few := b.Count < Enough
	paint := setPaint(i, few)
	role := paint.Fill
	if few {
		role = paint.Line
	}
	r := math.Min(3, math.Max(1.6, (x1-x0)/float64(sets)*0.42))
	var m []scene.Mark
	if known(b.Interval) && sets <= mostWhiskers {
		m = p.whisker(x, valueOf(b, b.Interval.Low, y), valueOf(b, b.Interval.High, y), scene.Stroke(role, 0.9))
	}
	v := p.py(valueOf(b, b.Frequency, y))
	if y != Gap && sets <= mostWhiskers { // where a calibrated bin would be
		c := p.py(b.Confidence)
		m = append(m, hline(x-r, x+r, c, scene.Stroke(scene.Muted, 0.9)), vline(x, c, v, scene.Stroke(role, 0.9)))
	}
	p.Add(scene.Group{Title: tip, Marks: append(m, marker(i, x, v, r, paint))})
}

// finding says which set is closest to what happens.
func (d *Overlay) finding(all [][]calib.Bin) string {
	best, least := -1, math.Inf(1)
	for i, bins := range all {
		gaps, total := 0.0, 0.0
		for j := range bins {
			if b := &bins[j]; drawn(b) {
				gaps += float64(b.Weight * math.Abs(b.Frequency-b.Confidence))
				total += b.Weight
			}
		}
		if total > 0 && gaps/total < least {
			best, least = i, gaps/total
		}
	}
	if best < 0 {
		return "There are no rows."
	}
	return fmt.Sprintf("Of %d sets %s has the smallest mean gap, %s points.", len(all), d.Sets[best].Name, points(least, 2)[1:])
}

// histograms draws the rows of each set in each bin beside each other, as shares.
func (d *Overlay) histograms(p *plane, all [][]calib.Bin) {
	most := 0.0
	what := "rows"
	for _, bins := range all {
		for _, v := range shares(bins) {
			most = math.Max(most, v)
		}
		if weighted(bins) {
			what = "weight"
		}
	}
	p.Add(label(0, p.y+p.h-1, scene.Start, what))
	if most > 0 {
		p.y1 = upTo(most)
		t := slices.DeleteFunc(ticks(0, p.y1, 3), func(v float64) bool { return v == 0 })
		names := labels(t)
		for i := range names {
			names[i] += "%"
		}
		p.rows(t, names)
	}
	for i, bins := range all {
		for j, v := range shares(bins) {
			if !(v > 0) {
				continue
			}
			b := &bins[j]
			x0, x1 := p.sides(b)
			if x1-x0 > 3 {
				x0, x1 = x0+0.5, x1-0.5
			}
			w := (x1 - x0) / float64(len(all))
			at := x0 + float64(w*float64(i))
			y := math.Min(p.py(v), p.y+p.h-0.8)
			p.Add(scene.Group{Title: fmt.Sprintf("%s: %s, %s", d.Sets[i].Name, counted(b.Count, "row"), share(v/100, 1)),
				Marks: []scene.Mark{scene.Rect{X: at, Y: y, W: w, H: p.y + p.h - y, Paint: scene.Fill(setPaint(i, false).Fill)}}})
		}
	}
	p.base()
}
