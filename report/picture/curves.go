package picture

import (
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/report/scene"
)

// Curve is a line in Curves.
type Curve struct {
	Name string // for the key
	X, Y []float64
	// Bound marks a reference: the best or worst possible curve, or chance. It is drawn in grey, dashed or dotted, behind the others.
	Bound bool
	// Steps keeps the value of a point back to the point before: nothing lies on a slanted line between them.
	Steps bool
	// Low and High, unless nil, are the ends of the interval at each point, which is drawn as a band; it breaks where either is not finite.
	Low, High []float64
}

// Curves draws curves over shares from 0 to 1, such as risk against coverage or a receiver operating characteristic, or over a longer range, as of time. The vertical axis goes
// from Low to High. If these are equal, it goes from 0 to 1, or fits the curves if Fit is set. NaN points break a curve; what is beyond the panel
// is cut off. X and Y of a curve have the same length. Curves differ in colour and dash. The zero value draws a
// picture without data.
type Curves struct {
	Title, Subtitle string
	X, Y            string // names of the axes
	Curves          []Curve
	Low, High       float64
	From, To        float64 // ends of the horizontal axis; a To of 0 is 1
	Fit             bool
	Square          bool   // as wide as high
	Band            string // what the bands of curves are, for the key
	Percent         bool   // values and shares are percentages
	Finding         string // what the picture shows
}

// ends returns the range of the vertical axis.
func (d *Curves) ends() (lo, hi float64) {
	if d.Low < d.High {
		return d.Low, d.High
	}
	if !d.Fit {
		return 0, 1
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, c := range d.Curves {
		if c.Bound {
			continue
		}
		for i, v := range c.Y {
			if finite(v, c.X[i]) && c.X[i] >= d.From {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
		}
	}
	if !(hi-lo > 1e-9*math.Max(math.Abs(lo), math.Abs(hi))) { // flat, apart from rounding
		return 0, 1
	}
	// Round to ticks, so that no curve runs along the frame.
	const about = 6
	t := ticks(lo, hi, about)
	step := (hi - lo) / about
	if len(t) > 1 {
		step = t[1] - t[0]
	}
	down, up := step*math.Floor(lo/step+1e-9), step*math.Ceil(hi/step-1e-9)
	if lo >= 0 {
		down = math.Max(0, down)
	}
	if hi <= 1 {
		up = math.Min(1, up)
	}
	return down, up
}

// setRoles are the colours of sets. They repeat, and so do the dashes, at another pace.
var setRoles = []scene.Role{scene.Ideal, scene.Set2, scene.Set3, scene.Set4, scene.Set5, scene.Set6, scene.Set7}

// linePaint returns the line of the i-th set.
func linePaint(i int) scene.Paint {
	return scene.Stroke(setRoles[i%len(setRoles)], 1.8).Dashed([...]scene.Dash{scene.Solid, scene.Dashes, scene.Dots, scene.DashDots}[i%4])
}

// paints returns the paint of each curve.
func (d *Curves) paints() []scene.Paint {
	l, n, bounds := make([]scene.Paint, len(d.Curves)), 0, 0
	for i, c := range d.Curves {
		if c.Bound {
			l[i] = scene.Stroke(scene.Axis, 1.1).Dashed([...]scene.Dash{scene.Dashes, scene.Dots}[bounds%2])
			bounds++
			continue
		}
		l[i] = linePaint(n)
		n++
	}
	return l
}

// Scene returns the picture with its title, key and notes.
func (d *Curves) Scene() *scene.Scene {
	var k []sample
	for i, p := range d.paints() {
		if name := d.Curves[i].Name; name != "" {
			k = append(k, lineSample(p, name))
		}
	}
	if d.Band != "" {
		k = append(k, bandSample(d.Band))
	}
	return sheet(d.Panel(), d.Title, d.Subtitle, k)
}

// Panel returns the picture alone, 360 points wide.
func (d *Curves) Panel() *scene.Scene {
	s := &scene.Scene{Width: panelWidth, Title: d.Title, Desc: d.Finding}
	if s.Title == "" {
		s.Title = "Curves"
	}
	lo, hi := d.ends()
	to := d.To
	if to == 0 {
		to = 1
	}
	p := &plane{s, 40, 22, panelWidth - 50, 240, d.From, to, lo, hi}
	if d.Square {
		p.h = p.w
	}
	if !(d.From < to) {
		p.x0 = 0
	}
	xs, ys := ticks(p.x0, to, 6), ticks(lo, hi, 6)
	if d.Percent {
		p.columns(xs, percents(xs))
		p.rows(ys, percents(ys))
	} else {
		p.columns(xs, labels(xs))
		p.rows(ys, labels(ys))
	}
	if d.Y != "" {
		p.up(d.Y)
	}
	any := false
	paints := d.paints()
	for i := range d.Curves {
		p.curveBand(&d.Curves[i])
	}
	for _, bounds := range []bool{true, false} {
		for i, c := range d.Curves {
			if c.Bound != bounds {
				continue
			}
			any = p.curve(&c, paints[i]) && !bounds || any
		}
	}
	if !any {
		p.note("no rows")
	}
	p.base()
	p.right(d.X, 29)
	s.Height = p.y + p.h + 34
	return s
}

// curveBand draws the band of a curve, as far as the plane goes.
func (p *plane) curveBand(c *Curve) {
	same(len(c.X), c.Low, c.High)
	if c.Low == nil || c.High == nil {
		return
	}
	var up, down []scene.Point
	flush := func() {
		if len(up) > 1 {
			slices.Reverse(down)
			p.Add(scene.Path{Points: append(up, down...), Closed: true, Paint: bandPaint})
		}
		up, down = nil, nil
	}
	within := func(v float64) float64 { return math.Max(p.y0, math.Min(v, p.y1)) }
	for i, x := range c.X {
		if !finite(x, c.Low[i]) || !finite(x, c.High[i]) || x < p.x0 || x > p.x1 {
			flush()
			continue
		}
		up, down = append(up, p.at(x, within(c.High[i]))), append(down, p.at(x, within(c.Low[i])))
	}
	flush()
}

// curve draws a curve, and reports whether it has a point.
func (p *plane) curve(c *Curve, paint scene.Paint) (any bool) {
	if len(c.X) != len(c.Y) {
		panic("picture: a curve has X and Y of different lengths")
	}
	var line []scene.Point
	flush := func() {
		if len(line) > 1 {
			p.Add(scene.Path{Points: line, Paint: paint})
		}
		line = nil
	}
	var last scene.Point // the point before, as values
	started := false
	// to draws what is inside of the plane of the line from the last point.
	to := func(next scene.Point) {
		a, b, ok := p.clip(last, next)
		if ok {
			if len(line) == 0 || line[len(line)-1] != p.at(a.X, a.Y) {
				flush()
				line = append(line, p.at(a.X, a.Y))
			}
			line = append(line, p.at(b.X, b.Y))
		}
		last = next
	}
	for j, x := range c.X {
		y := c.Y[j]
		if !finite(x, y) {
			flush()
			started = false
			continue
		}
		any = true
		switch {
		case !started:
			last, started = scene.Point{X: x, Y: y}, true
			continue
		case c.Steps:
			to(scene.Point{X: last.X, Y: y})
		}
		to(scene.Point{X: x, Y: y})
	}
	flush()
	return any
}

// clip returns the part of a line that is inside of the plane, by Liang and Barsky.
func (p *plane) clip(a, b scene.Point) (from, to scene.Point, ok bool) {
	t0, t1 := 0.0, 1.0
	dx, dy := b.X-a.X, b.Y-a.Y
	for _, e := range [][2]float64{{-dx, a.X - p.x0}, {dx, p.x1 - a.X}, {-dy, a.Y - p.y0}, {dy, p.y1 - a.Y}} {
		d, room := e[0], e[1]
		switch {
		case d == 0 && room < 0:
			return from, to, false
		case d < 0:
			t0 = math.Max(t0, room/d)
		case d > 0:
			t1 = math.Min(t1, room/d)
		}
	}
	if t0 > t1 {
		return from, to, false
	}
	at := func(t float64) scene.Point {
		switch t {
		case 0:
			return a
		case 1:
			return b
		}
		return scene.Point{X: a.X + float64(t*dx), Y: a.Y + float64(t*dy)}
	}
	return at(t0), at(t1), true
}

// Risk draws the share of errors among the rows that are kept when the least confident ones are refused, in steps. Coverage ascends to 1.
// Below it the best order there could be is dashed, in which all errors are refused first; across it the share of errors of all rows. Low
// coverages, where a few rows decide, may go beyond the upper edge. The zero value draws a picture without data.
type Risk struct {
	Title, Subtitle string
	Coverage, Risk  []float64
	Order           string // what the rows are ordered by; "" means confidence
}

// Finding says what the picture shows.
func (d *Risk) Finding() string {
	n := len(d.Coverage)
	same(n, d.Risk)
	if n == 0 {
		return "There are no rows."
	}
	if d.Risk[n-1] == 0 {
		return "All rows are right, so there is no error to sort out."
	}
	half := 0
	for i, c := range d.Coverage {
		if math.Abs(c-0.5) < math.Abs(d.Coverage[half]-0.5) {
			half = i
		}
	}
	return fmt.Sprintf("Of all rows %s are wrong; of the %s that come first, %s.", share(d.Risk[n-1], 1), share(d.Coverage[half], 0), share(d.Risk[half], 2))
}

// curves returns the picture as Curves.
func (d *Risk) curves() *Curves {
	c := &Curves{Title: d.Title, Subtitle: d.Subtitle, X: "share of rows kept, most confident first", Y: "share of errors among them", Percent: true, Finding: d.Finding()}
	order := d.Order
	if order == "" {
		order = "confidence"
	}
	if d.Order != "" {
		c.X = "share of rows kept, first by " + d.Order
	}
	n := len(d.Coverage)
	if n == 0 {
		return c
	}
	wrong := d.Risk[n-1]
	// The upper edge leaves out what the first rows do by chance.
	most := wrong
	for i, r := range d.Risk {
		if d.Coverage[i] >= 0.05 && finite(r) {
			most = math.Max(most, r)
		}
	}
	c.High = upTo(most)
	if c.High > 1 {
		c.High = 1
	}
	x, y := append([]float64{0}, d.Coverage...), append([]float64{d.Risk[0]}, d.Risk...)
	c.Curves = []Curve{{Name: "by " + order, X: x, Y: y, Steps: true}}
	var bx, by []float64
	for i := range 51 {
		at := 1 - wrong + float64(wrong*float64(i)/50)
		bx, by = append(bx, at), append(by, 1-(1-wrong)/at)
	}
	if wrong < 1 {
		c.Curves = append(c.Curves, Curve{Name: "best: all errors last", X: append([]float64{0}, bx...), Y: append([]float64{0}, by...), Bound: true})
	}
	c.Curves = append(c.Curves, Curve{Name: "all rows", X: []float64{0, 1}, Y: []float64{wrong, wrong}, Bound: true})
	return c
}

// Scene returns the picture with its title, key and notes.
func (d *Risk) Scene() *scene.Scene { return d.curves().Scene() }

// Panel returns the picture alone, 360 points wide.
func (d *Risk) Panel() *scene.Scene {
	s := d.curves().Panel()
	s.Title = "Errors among the rows that are kept"
	return s
}
