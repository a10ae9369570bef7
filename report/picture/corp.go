package picture

import (
	"fmt"

	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/report/scene"
)

// CORP is a CORP reliability diagram of one set of predictions: the recalibrated frequency against the score, above a histogram of the
// scores. Calibrated scores would lie on the diagonal, and by chance within the consistency band. Only the histogram has bins. Below it are the
// number of rows, the event and the terms of the score.
//
// The curve is flat over scores that the fit pools, and straight between steps. If there are few steps, those too narrow to be seen
// are dots. The zero value draws a picture without data.
//
// Source: Dimitriadis, Gneiting and Jordan 2021.
type CORP struct {
	Title, Subtitle string
	Fit             *binfree.CORP
	Band            []binfree.BandPoint // see binfree.CORP.Band; nil draws none
	Level           float64             // of the band, for the words; 0 means 0.95
	Bins            []calib.Bin         // of the histogram: see calib.EvenOf
	Event           calib.Event         // for the words: Positive or TopLabel; ByShape is TopLabel
}

// steps returns the curve.
func (d *CORP) steps() []binfree.Step {
	if d.Fit == nil {
		return nil
	}
	return d.Fit.Steps()
}

// notes returns the subtitle and the terms of the score.
func (d *CORP) notes() string {
	if len(d.steps()) == 0 {
		return d.Subtitle
	}
	event := "the chosen class is right"
	if d.Event == calib.Positive {
		event = "y = 1"
	}
	rows := int64(0)
	for i := range d.Bins {
		rows += d.Bins[i].Count
	}
	data := "event: " + event
	if rows > 0 {
		data = counted(rows, "row") + "; " + data
	}
	score := "(p − y)²"
	switch d.Fit.Options().Score {
	case binfree.Logarithmic:
		score = "−ln of the probability of what happened"
	case binfree.Spherical:
		score = "the spherical loss"
	}
	mean, _ := d.Fit.Score()
	mcb, bound := d.Fit.MCB()
	dsc, _ := d.Fit.DSC()
	unc, _ := d.Fit.UNC()
	terms := fmt.Sprintf("MCB %s − DSC %s + UNC %s = %s, the mean of %s", small(mcb), small(dsc), small(unc), small(mean), score)
	if bound > 0 {
		terms += fmt.Sprintf("\non a grid of scores: MCB and DSC may be up to %s higher", small(bound))
	}
	return said(d.Subtitle, data, terms)
}

// Scene returns the picture with its title, key and notes.
func (d *CORP) Scene() *scene.Scene {
	var k []sample
	if len(d.steps()) > 0 {
		k = append(k, lineSample(stepLine, "recalibrated: the rising curve that fits best"))
	}
	if len(d.Band) > 0 {
		k = append(k, bandSample("where "+percent(d.Level)+" of calibrated curves lie, score by score"))
	}
	return sheet(d.Panel(), d.Title, d.notes(), k)
}

// Panel returns the picture alone, 360 points wide.
func (d *CORP) Panel() *scene.Scene {
	const left, top, side = 32, 22, 320
	n := namesOf(d.Event)
	s := &scene.Scene{Width: panelWidth, Title: "CORP reliability diagram", Desc: d.finding()}
	x0, x1 := domain(d.Bins)
	p := &plane{s, left, top, side, side, x0, x1, 0, 1}
	p.columns(fifths, fifthNames)
	p.rows(fifths, fifthNames)
	p.up("recalibrated " + n.up)
	p.consistency(d.Band)
	p.diagonal()
	p.Add(scene.Text{X: p.px(0.03), Y: p.y + 14, S: "more often than it says", Role: scene.UnderText},
		scene.Text{X: p.px(0.97), Y: p.y + p.h - 8, S: "less often than it says", Anchor: scene.End, Role: scene.OverText})
	p.steps(d.steps())
	if len(d.steps()) == 0 {
		p.note("no rows")
	}
	p.base()
	h := &plane{s, p.x, p.y + p.h + 30, p.w, 42, x0, x1, 0, 1}
	h.histogram(halved(d.Bins))
	h.right(n.score, 14)
	s.Height = h.y + h.h + 19
	return s
}

// halved joins neighbouring bins of a histogram until there are at most 20, so that there is room for their counts. Bins of one score
// stay alone.
func halved(bins []calib.Bin) []calib.Bin {
	const most = 20
	group := (len(bins) + most - 1) / most
	var out []calib.Bin
	for i := 0; i < len(bins); {
		j := i + 1
		for bins[i].Lower < bins[i].Upper && j < min(i+group, len(bins)) && bins[j].Lower < bins[j].Upper {
			j++
		}
		out = append(out, pool(bins[i:j]))
		i = j
	}
	return out
}

// finding says how far the curve is from the diagonal.
func (d *CORP) finding() string {
	l := d.steps()
	if len(l) == 0 {
		return "There are no rows."
	}
	mcb, _ := d.Fit.MCB()
	return fmt.Sprintf("The recalibrated curve has %s, from a share of %s to %s; miscalibration (MCB) is %s.", counted(int64(len(l)), "step"),
		share(l[0].Frequency, 1), share(l[len(l)-1].Frequency, 1), small(mcb))
}

// consistency draws the band; for a single score, as a narrow bar.
func (p *plane) consistency(band []binfree.BandPoint) {
	var x, low, high []float64
	for _, b := range band {
		x, low, high = append(x, b.Score), append(low, b.Low), append(high, b.High)
	}
	if len(band) == 1 && finite(x[0], low[0], high[0]) {
		const narrow = 3
		p.Add(box(p.px(x[0])-narrow, p.px(x[0])+narrow, p.py(low[0]), p.py(high[0]), bandPaint))
		return
	}
	p.strip(x, low, high)
}

// strip fills the area between two lines.
func (p *plane) strip(x, low, high []float64) {
	var lower, upper []scene.Point
	flush := func() {
		if len(lower) > 1 {
			for i := len(upper) - 1; i >= 0; i-- {
				lower = append(lower, upper[i])
			}
			p.Add(scene.Path{Points: lower, Closed: true, Paint: bandPaint})
		}
		lower, upper = nil, nil
	}
	for i, v := range x {
		if !finite(v, low[i], high[i]) {
			flush()
			continue
		}
		lower, upper = append(lower, p.at(v, low[i])), append(upper, p.at(v, high[i]))
	}
	flush()
}

var (
	stepLine = scene.Stroke(scene.Ideal, 2.4)
	joinLine = scene.Stroke(scene.Ideal, 0.9)
)

// steps draws the curve: flat pieces thick, with dots for narrow ones, and the lines between them thin.
func (p *plane) steps(steps []binfree.Step) {
	var joined []scene.Point
	for _, s := range steps {
		if finite(s.Low, s.High, s.Frequency) {
			joined = append(joined, p.at(s.Low, s.Frequency), p.at(s.High, s.Frequency))
		}
	}
	if len(joined) > 2 {
		p.Add(scene.Path{Points: joined, Paint: joinLine})
	}
	const narrow, few = 4.0, 30
	for i := 0; i+1 < len(joined); i += 2 {
		a, b := joined[i], joined[i+1]
		tip := ""
		if len(steps) <= 100 {
			s := steps[i/2]
			tip = fmt.Sprintf("%.4g to %.4g: recalibrated %s", s.Low, s.High, share(s.Frequency, 1))
		}
		var m scene.Mark = hline(a.X, b.X, a.Y, stepLine)
		if b.X-a.X < narrow && len(steps) <= few {
			m = scene.Circle{X: (a.X + b.X) / 2, Y: a.Y, R: narrow / 2, Paint: scene.Fill(scene.Ideal)}
		} else if b.X-a.X < 0.05 {
			continue
		}
		p.Add(scene.Group{Title: tip, Marks: []scene.Mark{m}})
	}
}
