package picture

import (
	"fmt"

	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/report/scene"
)

// Belt is the calibration belt of one set of predictions: the frequency by a polynomial of the score's logit, with its limits at two levels, above
// a histogram of the scores. Calibrated scores would have the diagonal in the belt. Below it are the number of rows, the event, the degree and the
// test. The zero value draws a picture without data.
//
// Source: Finazzi, Poole, Luciani, Cogo and Bertolini 2011.
type Belt struct {
	Title, Subtitle string
	Belt            *binfree.Belt
	Bins            []calib.Bin // of the histogram, and the range of scores: see calib.EvenOf
	Event           calib.Event // for the words: Positive or TopLabel; ByShape is TopLabel
}

// The levels of the belt.
const (
	beltInner = 0.8
	beltOuter = 0.95
)

// limits returns the belt at a level between the smallest and the largest score.
func (d *Belt) limits(level float64) []binfree.BeltLimits {
	if d.Belt == nil || d.Belt.Reason() != "" {
		return nil
	}
	low, high := 1.0, 0.0
	for i := range d.Bins {
		if b := &d.Bins[i]; b.Count > 0 {
			low, high = min(low, b.Lower), max(high, b.Upper)
		}
	}
	const least, points = 0.001, 100 // scores of 0 and 1 have no logit
	low, high = max(low, least), min(high, 1-least)
	if !(low < high) {
		return nil
	}
	at := make([]float64, points+1)
	for i := range at {
		at[i] = low + (high-low)*float64(i)/points
	}
	return d.Belt.Limits(level, at...)
}

// notes returns the subtitle and the test.
func (d *Belt) notes() string {
	switch {
	case d.Belt == nil:
		return d.Subtitle
	case d.Belt.Reason() != "":
		return said(d.Subtitle, "no belt: "+d.Belt.Reason())
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
	t, _ := d.Belt.Statistic()
	p, _ := d.Belt.P()
	test := fmt.Sprintf("polynomial of degree %d of the logit; statistic %s, p-value %.2g", d.Belt.Degree(), small(t), p)
	if n := d.Belt.LeftOut(); n > 0 {
		test += "; " + counted(n, "row") + " of a score of 0 or 1 left out"
	}
	return said(d.Subtitle, data, test)
}

// Scene returns the picture with its title, key and notes.
func (d *Belt) Scene() *scene.Scene {
	var k []sample
	if d.Belt != nil && d.Belt.Reason() == "" {
		k = []sample{lineSample(stepLine, "frequency by a polynomial of the logit"), bandSample(percent(beltOuter) + " belt"),
			lineSample(joinLine, percent(beltInner)+" belt")}
	}
	return sheet(d.Panel(), d.Title, d.notes(), k)
}

// Panel returns the picture alone, 360 points wide.
func (d *Belt) Panel() *scene.Scene {
	const left, top, side = 32, 22, 320
	n := namesOf(d.Event)
	outer, inner := d.limits(beltOuter), d.limits(beltInner)
	s := &scene.Scene{Width: panelWidth, Title: "Calibration belt", Desc: beltFinding(outer)}
	x0, x1 := domain(d.Bins)
	p := &plane{s, left, top, side, side, x0, x1, 0, 1}
	p.columns(fifths, fifthNames)
	p.rows(fifths, fifthNames)
	p.up(n.up)
	var x, low, high, fit, under, over []float64
	for i, l := range outer {
		x, low, high, fit = append(x, l.Score), append(low, l.Low), append(high, l.High), append(fit, l.Frequency)
		under, over = append(under, inner[i].Low), append(over, inner[i].High)
	}
	p.strip(x, low, high)
	p.diagonal()
	for _, y := range [][]float64{under, over} {
		p.curve(&Curve{X: x, Y: y}, joinLine)
	}
	p.curve(&Curve{X: x, Y: fit}, stepLine)
	if len(outer) == 0 {
		p.note("no belt")
	}
	p.base()
	h := &plane{s, p.x, p.y + p.h + 30, p.w, 42, x0, x1, 0, 1}
	h.histogram(halved(d.Bins))
	h.right(n.score, 14)
	s.Height = h.y + h.h + 19
	return s
}

// beltFinding says where the diagonal is outside the belt.
func beltFinding(l []binfree.BeltLimits) string {
	if len(l) == 0 {
		return "There is no belt."
	}
	var low, high float64 // shares of the scores where the belt is above and below the diagonal
	for _, b := range l {
		if b.Low > b.Score {
			low++
		} else if b.High < b.Score {
			high++
		}
	}
	if low+high == 0 {
		return "The diagonal is within the " + percent(beltOuter) + " belt at all scores."
	}
	all := float64(len(l))
	return fmt.Sprintf("The %s belt is above the diagonal over %s of the range of scores, and below it over %s.", percent(beltOuter), share(low/all, 1), share(high/all, 1))
}
