package picture

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
)

// CORP is a CORP reliability diagram of one set of predictions: the recalibrated frequency against the score, above a histogram of the
// scores. Calibrated scores would lie on the diagonal, and by chance within the consistency band. Only the histogram has bins. Below
// the subtitle are the number of rows, the event and the terms of the score.
//
// The curve is flat over scores that the fit pools, and straight between steps. If there are few steps, those too narrow to be seen
// are dots. The zero value draws a picture without data.
//
// Source: Dimitriadis, Gneiting and Jordan 2021.
type CORP struct {
	Title, Subtitle string
	Fit             *binfree.CORP
	Band            []binfree.BandPoint // see binfree.CORP.Band; nil draws none
	Level           float64             // of the band, for the key; 0 means 0.9
	Bins            []calib.Bin         // of the histogram: see calib.EvenOf; some 50 look best
	Event           calib.Event         // for the names of axes: Positive or TopLabel; ByShape is TopLabel
}

const bandLevel = 0.9

func (d *CORP) size() (vg.Length, vg.Length) {
	return single(d.Title, d.subtitle(), d.legend(nil))
}

// steps returns the curve.
func (d *CORP) steps() []binfree.Step {
	if d.Fit == nil {
		return nil
	}
	return d.Fit.Steps()
}

// subtitle returns the subtitle and the lines below it.
func (d *CORP) subtitle() string {
	if len(d.steps()) == 0 {
		return d.Subtitle
	}
	event := "a right top label"
	if d.Event == calib.Positive {
		event = "y = 1"
	}
	rows := int64(0)
	for i := range d.Bins {
		rows += d.Bins[i].Count
	}
	data := "event: " + event
	if rows > 0 {
		noun := " rows; "
		if rows == 1 {
			noun = " row; "
		}
		data = thousands(rows) + noun + data
	}
	score := "(p - y)^2"
	switch d.Fit.Options().Score {
	case binfree.Logarithmic:
		score = "-ln of the probability of what happened"
	case binfree.Spherical:
		score = "the spherical loss"
	}
	mean, _ := d.Fit.Score()
	mcb, bound := d.Fit.MCB()
	dsc, _ := d.Fit.DSC()
	unc, _ := d.Fit.UNC()
	terms := fmt.Sprintf("MCB %s - DSC %s + UNC %s = %s, the mean of %s", small(mcb), small(dsc), small(unc), small(mean), score)
	if bound > 0 {
		terms += fmt.Sprintf("\non a grid of scores: MCB and DSC may be up to %s higher", small(bound))
	}
	return strings.TrimPrefix(d.Subtitle+"\n"+data+"\n"+terms, "\n")
}

func (d *CORP) draw(p *page) {
	p.heading(d.Title, d.subtitle())
	p.key(d.legend(p))
	p.top -= 4

	score, up := words(d.Event, Frequency)
	a := &axes{y: up, xs: fifths, ys: fifths, yText: true, size: tickSize}
	top := p.panel(p.top-p.Min.Y-panelSkip-histogramHeight-axisHeight, 0, 1, d.Bins)
	top.grid(a)
	top.consistency(d.Band)
	top.diagonal()
	top.steps(d.steps())
	if len(d.steps()) == 0 {
		top.note("no rows")
	}
	top.frame(a)
	p.top -= panelSkip
	histogram(p, d.Bins, nil, score)
}

// consistency draws the band; for a single score, as a narrow bar.
func (p *panel) consistency(band []binfree.BandPoint) {
	var low, high []vg.Point
	for _, b := range band {
		low, high = append(low, p.at(b.Score, b.Low)), append(high, p.at(b.Score, b.High))
	}
	if len(band) == 1 {
		const narrow = 3
		p.FillPolygon(bandGrey, rectangle(low[0].X-narrow, low[0].Y, low[0].X+narrow, high[0].Y))
		return
	}
	slices.Reverse(high)
	if len(band) > 0 {
		p.FillPolygon(bandGrey, append(low, high...))
	}
}

var (
	stepLine = draw.LineStyle{Color: blue, Width: 2.2}
	joinLine = draw.LineStyle{Color: blue, Width: 0.9}
)

// steps draws the curve: flat pieces thick, with dots for narrow ones, and the lines between them thin.
func (p *panel) steps(steps []binfree.Step) {
	var joined []vg.Point
	for _, s := range steps {
		joined = append(joined, p.at(s.Low, s.Frequency), p.at(s.High, s.Frequency))
	}
	p.StrokeLines(joinLine, joined)
	const narrow, few = 4.0, 30
	dot := draw.GlyphStyle{Color: blue, Radius: narrow / 2, Shape: draw.CircleGlyph{}}
	for i := 0; i < len(joined); i += 2 {
		if a, b := joined[i], joined[i+1]; b.X-a.X >= narrow || len(steps) > few {
			p.StrokeLine2(stepLine, a.X, a.Y, b.X, b.Y)
		} else {
			p.DrawGlyphNoClip(dot, vg.Point{X: (a.X + b.X) / 2, Y: a.Y})
		}
	}
}

// legend returns the key.
func (d *CORP) legend(p *page) (k []entry) {
	if len(d.steps()) > 0 {
		k = append(k, entry{func(r vg.Rectangle) {
			y := middle(r).Y
			p.StrokeLine2(stepLine, r.Min.X, y, r.Max.X, y)
		}, "recalibrated: the rising curve that fits best"})
	}
	if len(d.Band) > 0 {
		level := d.Level
		if level == 0 || math.IsNaN(level) {
			level = bandLevel
		}
		k = append(k, entry{func(r vg.Rectangle) { p.FillPolygon(bandGrey, rectangle(r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)) },
			"where " + percent(level) + " of calibrated curves lie, score by score"})
	}
	return k
}
