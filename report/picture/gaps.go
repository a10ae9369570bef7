package picture

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/report/scene"
)

// GapBin is a bin of Gaps: the difference of two models' gaps there, NaN if a model has no rows in it, with its interval.
type GapBin struct {
	Lower, Upper float64
	Difference   float64
	Interval     metrics.Interval
	Rows         float64 // of the model with fewer
}

// Gaps draws how the reliability of two models differs, in points: for each bin of the score the gap of one, frequency minus mean score, less that
// of the other, with its interval. Where that leaves out 0 the models differ. Points of bins with fewer than Enough rows are hollow. The zero
// value draws a picture without data.
type Gaps struct {
	Title, Subtitle string
	X, Y            string // names of the axes
	Band            string // what the interval is, for the key
	Bins            []GapBin
}

// decided reports whether a bin's interval leaves out 0.
func (b *GapBin) decided() bool {
	return known(b.Interval) && b.Rows >= Enough && (b.Interval.Low > 0 || b.Interval.High < 0)
}

// Scene returns the picture with its title, key and notes.
func (d *Gaps) Scene() *scene.Scene {
	few, clear, calm := false, false, false
	for i := range d.Bins {
		b := &d.Bins[i]
		if finite(b.Difference) {
			few, clear, calm = few || b.Rows < Enough, clear || b.decided(), calm || b.Rows >= Enough && !b.decided()
		}
	}
	var k []sample
	if clear {
		k = append(k, dotSample(scene.Fill(scene.Ideal), "differs"))
	}
	if calm {
		k = append(k, dotSample(scene.Fill(scene.Ink), "no difference seen"))
	}
	if few {
		k = append(k, dotSample(hollow, fewerRows))
	}
	if d.Band != "" {
		k = append(k, lineSampleUpright(scene.Stroke(scene.Muted, 1.1), d.Band))
	}
	return sheet(d.Panel(), d.Title, d.Subtitle, k)
}

// Panel returns the picture alone, 360 points wide.
func (d *Gaps) Panel() *scene.Scene {
	s := &scene.Scene{Width: panelWidth, Title: "Difference of the gaps of two models", Desc: d.Finding()}
	lo, hi, any := 0.0, 0.0, false
	for i := range d.Bins {
		b := &d.Bins[i]
		if !finite(b.Difference) {
			continue
		}
		any = true
		lo, hi = math.Min(lo, b.Difference), math.Max(hi, b.Difference)
		if known(b.Interval) && b.Rows >= Enough && finite(b.Interval.Low, b.Interval.High) {
			lo, hi = math.Min(lo, b.Interval.Low), math.Max(hi, b.Interval.High)
		}
	}
	room := math.Max(0.05*(hi-lo), 0.005)
	p := &plane{s, 36, 22, panelWidth - 46, 220, 0, 1, math.Max(-2, lo-room), math.Min(2, hi+room)}
	p.columns(fifths, fifthNames)
	t := ticks(p.y0, p.y1, 6)
	p.rows(t, pointTicks(t))
	p.up(d.Y)
	p.Add(hline(p.x, p.x+p.w, p.py(0), scene.Stroke(scene.Ink, 1.2)))
	for i := range d.Bins {
		b := &d.Bins[i]
		if !finite(b.Difference) {
			continue
		}
		x := (p.px(b.Lower) + p.px(b.Upper)) / 2
		paint, role := scene.Fill(scene.Ink), scene.Muted
		switch {
		case b.Rows < Enough:
			paint, role = hollow, scene.Axis
		case b.decided():
			paint, role = scene.Fill(scene.Ideal), scene.Ideal
		}
		var m []scene.Mark
		tip := fmt.Sprintf("%.3f to %.3f: %s points", b.Lower, b.Upper, points(b.Difference, 2))
		if known(b.Interval) {
			m = p.whisker(x, b.Interval.Low, b.Interval.High, scene.Stroke(role, 1.2))
			tip += fmt.Sprintf(" [%s, %s]", points(b.Interval.Low, 2), points(b.Interval.High, 2))
		}
		p.Add(scene.Group{Title: tip, Marks: append(m, scene.Circle{X: x, Y: p.py(b.Difference), R: 3.2, Paint: paint})})
	}
	if !any {
		p.note("no rows")
	}
	p.base()
	p.right(d.X, 28)
	s.Height = p.y + p.h + 32
	return s
}

// Finding says what the picture shows.
func (d *Gaps) Finding() string {
	n, clear := 0, 0
	for i := range d.Bins {
		if finite(d.Bins[i].Difference) {
			n++
			if d.Bins[i].decided() {
				clear++
			}
		}
	}
	switch {
	case n == 0:
		return "There are no rows."
	case clear == 0:
		return fmt.Sprintf("No difference is seen in %s with rows.", counted(int64(n), "bin"))
	}
	return fmt.Sprintf("The models differ in %d of %s with rows.", clear, counted(int64(n), "bin"))
}
