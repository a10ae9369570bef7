package picture

import (
	"math"

	"gonum.org/v1/plot/vg"
)

// Curve is a line in Curves.
type Curve struct {
	Name string // for the key
	X, Y []float64
	// Bound marks a reference: the best or worst possible curve, or chance. It is drawn in grey, dashed or dotted, behind the others.
	Bound bool
}

// Curves draws curves over shares from 0 to 1, such as risk against coverage, accuracy against the share of rejected rows, or a ROC.
// The vertical axis goes from Low to High. If these are equal, it goes from 0 to 1, or fits the curves if Fit is set. NaN points break
// a curve, and points beyond the panel are drawn at its edge. X and Y of a curve have the same length. Curves differ in colour and
// dash. The zero value draws a picture without data.
type Curves struct {
	Title, Subtitle string
	X, Y            string // names of the axes
	Curves          []Curve
	Low, High       float64
	Fit             bool
}

func (d *Curves) size() (vg.Length, vg.Length) {
	w, h := single(d.Title, d.Subtitle, d.legend(nil))
	return w, h - 1.2*vg.Inch
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
		for _, v := range c.Y {
			if v-v == 0 {
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

// boundLook returns the look of the i-th bound.
func boundLook(i int) look {
	l := lookOf(0)
	l.color.Color, l.color.Width, l.color.Dashes = axisGrey, 0.9, [][]vg.Length{{4, 3}, {1.2, 2.4}}[i%2]
	return l
}

// looks returns the look of each curve.
func (d *Curves) looks() []look {
	l, n, bounds := make([]look, len(d.Curves)), 0, 0
	for i, c := range d.Curves {
		if c.Bound {
			l[i] = boundLook(bounds)
			bounds++
			continue
		}
		l[i] = lookOf(n)
		l[i].color.Width = 1.7
		n++
	}
	return l
}

func (d *Curves) draw(p *page) {
	p.heading(d.Title, d.Subtitle)
	p.key(d.legend(p))
	p.top -= 4
	lo, hi := d.ends()
	a := &axes{x: d.X, y: d.Y, xs: fifths, ys: ticks(lo, hi, 6), xText: true, yText: true, size: tickSize}
	panel := p.panel(p.top-p.Min.Y-axisHeight, lo, hi)
	panel.grid(a)
	any := false
	looks := d.looks()
	for _, bounds := range []bool{true, false} {
		for i, c := range d.Curves {
			if c.Bound != bounds {
				continue
			}
			if len(c.X) != len(c.Y) {
				panic("picture: a curve has X and Y of different lengths")
			}
			var line []vg.Point
			for j, x := range c.X {
				if y := c.Y[j]; x-x == 0 && y-y == 0 {
					line = append(line, panel.at(x, y))
					any = any || !bounds
					continue
				}
				panel.StrokeLines(looks[i].color, line)
				line = nil
			}
			panel.StrokeLines(looks[i].color, line)
		}
	}
	if !any {
		panel.note("no rows")
	}
	panel.frame(a)
}

// legend returns the key of the curves that have a name.
func (d *Curves) legend(p *page) (k []entry) {
	looks := d.looks()
	for i, c := range d.Curves {
		if c.Name == "" {
			continue
		}
		l := looks[i]
		k = append(k, entry{func(r vg.Rectangle) {
			y := middle(r).Y
			p.StrokeLine2(l.color, r.Min.X, y, r.Max.X, y)
		}, c.Name})
	}
	return k
}
