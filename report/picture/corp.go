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

// CORP is a CORP reliability diagram of one set of predictions above the histogram of its scores: the recalibrated frequency
// against the score, with the diagonal, where it lies if the scores are calibrated, and the consistency band, where it would
// lie by chance if they were. It has no bins but the histogram's. Below the subtitle stand the number of rows, the event,
// and the terms of the score.
//
// The curve is flat where scores were seen that the fit does not tell apart, and straight from one step to the next; of few
// steps those too narrow to be seen are dots. The zero value is a picture without data, and draws.
//
// Source: Dimitriadis, Gneiting and Jordan 2021.
type CORP struct {
	Title, Subtitle string
	Fit             *binfree.CORP
	Band            []binfree.BandPoint // see binfree.CORP.Band; nil draws none
	Level           float64             // that the band has, for the key; 0 means 0.9
	Bins            []calib.Bin         // of the histogram: see calib.EvenOf; 50 or so of them look well
	Event           calib.Event         // which names the axes have: Positive or TopLabel, which ByShape is
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

// subtitle returns the subtitle and what is said of the data.
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

// consistency draws the band: at a single score a narrow bar.
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

// steps draws the curve: flat pieces thick, with dots for narrow ones, and what joins them thin.
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

// legend returns the key of what is in the diagram.
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
