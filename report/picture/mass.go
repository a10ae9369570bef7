package picture

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/report/scene"
)

// Mass shows where the calibration error comes from: the gap of each bin, frequency minus mean score in points, over bins of equal mass, the least
// confident first. A bar is as wide as its bin's share of the rows, so that the bars' area is the error. The band is what chance does to a
// calibrated bin; a bar within it is pale. The second row of the axis has the scores at the edges of bins. The zero value draws a picture
// without data.
type Mass struct {
	Title, Subtitle string
	Bins            []calib.Bin // of equal mass, ascending
	Event           calib.Event // for the words; ByShape is TopLabel
	Level           float64     // of the intervals, for the words; 0 means 0.95
}

// Scene returns the picture with its title, key and notes.
func (d *Mass) Scene() *scene.Scene {
	return sheet(d.Panel(), d.Title, d.Subtitle, d.key())
}

// Panel returns the picture alone, 360 points wide.
func (d *Mass) Panel() *scene.Scene {
	const left, top, height = 36, 22, 210
	n := namesOf(d.Event)
	s := &scene.Scene{Width: panelWidth, Title: "Gaps by groups of equal size", Desc: d.Finding()}
	lo, hi := massRange(d.Bins)
	p := &plane{s, left, top, panelWidth - left - 10, height, 0, 1, lo, hi}
	t := ticks(lo, hi, 7)
	p.rows(t, pointTicks(t))
	p.up(gapOf(d.Event))
	total := 0.0
	for i := range d.Bins {
		if drawn(&d.Bins[i]) {
			total += d.Bins[i].Weight
		}
	}
	from := 0.0
	for i := range d.Bins {
		b := &d.Bins[i]
		if !drawn(b) || !(total > 0) {
			continue
		}
		to := from + b.Weight/total
		x0, x1 := p.px(from), p.px(to)
		from = to
		gap := b.Frequency - b.Confidence
		var m []scene.Mark
		if known(b.Band) {
			m = append(m, box(x0, x1, p.py(b.Band.Low-b.Confidence), p.py(b.Band.High-b.Confidence), bandPaint))
		}
		far, over := off(b)
		role := scene.UnderPale
		switch {
		case far:
			role = side(over)
		case over:
			role = scene.OverPale
		}
		edge := math.Min(1, (x1-x0)/8)
		m = append(m, box(x0+edge, x1-edge, p.py(0), p.py(gap), scene.Fill(role)))
		if known(b.Interval) {
			m = append(m, p.whisker((x0+x1)/2, b.Interval.Low-b.Confidence, b.Interval.High-b.Confidence, scene.Stroke(scene.Ink, 1))...)
		}
		tip := tipOf(b, n) + fmt.Sprintf(": %s points", points(gap, 2))
		if known(b.Interval) {
			tip += fmt.Sprintf(" [%s, %s]", points(b.Interval.Low-b.Confidence, 2), points(b.Interval.High-b.Confidence, 2))
		}
		p.Add(scene.Group{Title: tip, Marks: m})
	}
	p.Add(hline(p.x, p.x+p.w, p.py(0), scene.Stroke(scene.Ink, 1.2)))
	if total > 0 {
		d.edges(p, total)
	} else {
		p.note("no rows")
	}
	p.right("share of rows, lowest "+n.says+" first; below it the "+n.says, 41)
	s.Height = p.y + p.h + 45
	return s
}

// edges writes the share of rows and the score at some edges of bins.
func (d *Mass) edges(p *plane, total float64) {
	last, from, e, before := math.Inf(-1), 0.0, p.y+p.h, ""
	write := func(at, score float64) {
		x := p.px(at)
		if x-last < 44 && at < 1 || at < 1 && p.x+p.w-x < 44 {
			return
		}
		last = x
		a := scene.Middle
		if at >= 1 {
			a = scene.End
		}
		p.Add(vline(x, e, e+tickLength, scene.Stroke(scene.Axis, 1)), label(x, e+15, a, share(at, 0)))
		if s := score3(score); s != before {
			p.Add(scene.Text{X: x, Y: e + 27, S: s, Anchor: a, Size: scene.Small, Role: scene.Muted})
			before = s
		}
	}
	for i := range d.Bins {
		b := &d.Bins[i]
		if !drawn(b) {
			continue
		}
		write(from, b.Lower)
		from += b.Weight / total
		if i == len(d.Bins)-1 {
			write(1, b.Upper)
		}
	}
}

// score3 writes a score with two decimals, or more near 1.
func score3(v float64) string {
	switch {
	case v < 0.985:
		return fmt.Sprintf("%.2f", v)
	case v < 0.9995:
		return fmt.Sprintf("%.3f", v)
	case v < 0.99995:
		return fmt.Sprintf("%.4f", v)
	case v < 1:
		return "> .9999"
	}
	return "1"
}

// massRange returns the range of the axis: it holds the gaps and bands, and most of each interval.
func massRange(bins []calib.Bin) (lo, hi float64) {
	for i := range bins {
		b := &bins[i]
		if !drawn(b) {
			continue
		}
		g := b.Frequency - b.Confidence
		lo, hi = math.Min(lo, g), math.Max(hi, g)
		for _, in := range []struct {
			known     bool
			low, high float64
		}{{known(b.Band), b.Band.Low, b.Band.High}, {known(b.Interval), b.Interval.Low, b.Interval.High}} {
			if in.known {
				lo, hi = math.Min(lo, in.low-b.Confidence), math.Max(hi, in.high-b.Confidence)
			}
		}
	}
	room := math.Max(0.06*(hi-lo), 0.002)
	return math.Max(-1, lo-room), math.Min(1, hi+room)
}

// Finding says what the picture shows.
func (d *Mass) Finding() string {
	n, far, worst := 0, 0, -1
	for i := range d.Bins {
		b := &d.Bins[i]
		if !drawn(b) {
			continue
		}
		n++
		if o, _ := off(b); o {
			far++
			if worst < 0 || math.Abs(b.Frequency-b.Confidence) > math.Abs(d.Bins[worst].Frequency-d.Bins[worst].Confidence) {
				worst = i
			}
		}
	}
	switch {
	case n == 0:
		return "There are no rows."
	case far == 0:
		return fmt.Sprintf("In none of %d groups of equal size is the gap clear of chance.", n)
	}
	b := &d.Bins[worst]
	where := fmt.Sprintf("from %.3g to %.3g", b.Lower, b.Upper)
	if b.Lower == b.Upper {
		where = fmt.Sprintf("at %.3g", b.Lower)
	}
	return fmt.Sprintf("In %d of %d groups of equal size the gap is clear of chance. The largest is %s points, %s.", far, n, points(b.Frequency-b.Confidence, 1), where)
}

func (d *Mass) key() []sample {
	var over, under, pale, band bool
	for i := range d.Bins {
		b := &d.Bins[i]
		if !drawn(b) {
			continue
		}
		far, too := off(b)
		over, under, pale, band = over || far && too, under || far && !too, pale || !far, band || known(b.Band)
	}
	block := func(p scene.Paint) []scene.Mark { return []scene.Mark{scene.Rect{X: -8, Y: -4, W: 16, H: 8, Paint: p}} }
	var k []sample
	if over {
		k = append(k, sample{block(scene.Fill(scene.Over)), "overconfident"})
	}
	if under {
		k = append(k, sample{block(scene.Fill(scene.Under)), "underconfident"})
	}
	if pale {
		k = append(k, sample{[]scene.Mark{scene.Rect{X: -8, Y: -4, W: 8, H: 8, Paint: scene.Fill(scene.OverPale)}, scene.Rect{Y: -4, W: 8, H: 8, Paint: scene.Fill(scene.UnderPale)}}, "within chance"})
	}
	if band {
		k = append(k, bandSample("where "+percent(d.Level)+" of calibrated groups lie"))
	}
	return k
}
