package picture

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/candor-go/candor/metrics/regress"
)

// Bar is a bar in a Histogram, from Lower to Upper. Density is its height. For a calibrated forecast, the height is likely between Low
// and High, which are NaN if unknown.
type Bar struct {
	Lower, Upper, Density float64
	Low, High             float64
}

// Histogram draws a histogram that is flat, with density 1, if forecasts are calibrated: of probability integral transforms or of
// ranks, with a band of chance for each bar. A U shape means forecasts that are too narrow; a hump, too wide; a peak at the right end,
// too low; at the left end, too high.
//
// Bars ascend side by side. Bars with a value that is not finite are left out, except for Low and High. The zero value draws a picture
// without data.
type Histogram struct {
	Title, Subtitle string
	X               string // name of the axis
	Bars            []Bar
	Level           float64 // of the band, for the key; 0 means 0.95
	Rows            int64   // for the subtitle; 0 omits it and the test
	P               float64 // p-value of a test of flatness, for the subtitle
	Reason          string  // why P is NaN
}

// HistogramOfPIT returns the histogram of p, with bands at a level.
func HistogramOfPIT(p *regress.PIT, level float64) *Histogram {
	d := &Histogram{X: "probability that the forecast gave to what was observed or less", Level: level, Rows: p.Len(),
		P: p.P(), Reason: p.Reason()}
	for _, b := range p.Histogram(level) {
		d.Bars = append(d.Bars, Bar{b.Lower, b.Upper, b.Density, b.BandLow, b.BandHigh})
	}
	return d
}

// HistogramOfRanks returns the histogram of r, with bands at a level. Rank k covers k - 1/2 to k + 1/2.
func HistogramOfRanks(r *regress.Ranks, level float64) *Histogram {
	d := &Histogram{X: "rank of the observed value among the samples", Level: level, Rows: r.Len(),
		P: r.P(), Reason: r.Reason()}
	if n := r.Samples(); n > 1 {
		d.X = fmt.Sprintf("rank of the observed value among %d samples", n)
	}
	for _, b := range r.Histogram(level) {
		d.Bars = append(d.Bars, Bar{float64(b.First) - 0.5, float64(b.Last) + 0.5, b.Density, b.BandLow, b.BandHigh})
	}
	return d
}

func (d *Histogram) size() (vg.Length, vg.Length) {
	w, h := single(d.Title, d.subtitle(), d.legend(nil))
	return w, h - 2.2*vg.Inch
}

func (d *Histogram) subtitle() string {
	if d.Rows <= 0 {
		return d.Subtitle
	}
	test := ""
	switch p := pValue(d.P); {
	case p != "":
		test = "chi-square test that the histogram is flat: " + p
	case d.Reason != "":
		test = "no test: " + d.Reason
	}
	return said(d.Subtitle, joined(rowsSaid(d.Rows), test))
}

// bars returns the bars to draw.
func (d *Histogram) bars() []Bar {
	return slices.DeleteFunc(slices.Clone(d.Bars), func(b Bar) bool {
		return !finite(b.Lower, b.Upper, b.Density) || b.Lower >= b.Upper
	})
}

// ends returns the ranges of the axes.
func (d *Histogram) ends(bars []Bar) (x0, x1, y1 float64) {
	if len(bars) == 0 {
		return 0, 1, 2
	}
	x0, x1, y1 = bars[0].Lower, bars[len(bars)-1].Upper, 1.25
	for _, b := range bars {
		y1 = math.Max(y1, b.Density)
		if finite(b.High) {
			y1 = math.Max(y1, math.Min(b.High, 4)) // with very few rows, the band is higher than any bar
		}
	}
	return x0, x1, upTo(y1)
}

func (d *Histogram) draw(p *page) {
	p.heading(d.Title, d.subtitle())
	p.key(d.legend(p))
	p.top -= keySkip
	bars := d.bars()
	x0, x1, y1 := d.ends(bars)
	top := p.panel(p.top-p.Min.Y-axisHeight, 0, y1)
	top.x0, top.x1 = x0, x1
	a := &axes{x: d.X, y: "density", xs: ticks(x0, x1, 6), ys: ticks(0, y1, 8), xText: true, yText: true, size: tickSize}
	a.xNames, a.yNames = brief(a.xs), brief(a.ys)
	top.grid(a)
	for _, b := range bars {
		l, r := top.x(b.Lower), top.x(b.Upper)
		pts := rectangle(l, top.r.Min.Y, r, top.y(b.Density))
		top.FillPolygon(paleBlue, pts)
		if r-l > 3 {
			top.outline(draw.LineStyle{Color: blue, Width: 0.6}, pts)
		} else {
			top.StrokeLine2(draw.LineStyle{Color: blue, Width: 0.9}, l, top.y(b.Density), r, top.y(b.Density))
		}
	}
	d.band(top, bars)
	top.StrokeLine2(calibratedLine, top.r.Min.X, top.y(1), top.r.Max.X, top.y(1))
	if len(bars) == 0 {
		top.note("no rows")
	}
	top.frame(a)
}

// band draws the bands of all bars as one stepped shape.
func (d *Histogram) band(p *panel, bars []Bar) {
	var x, low, high []float64
	for _, b := range bars {
		x, low, high = append(x, b.Lower, b.Upper), append(low, b.Low, b.Low), append(high, b.High, b.High)
	}
	p.strip(x, low, high)
}

// legend returns the key.
func (d *Histogram) legend(p *page) (k []entry) {
	bars := d.bars()
	if len(bars) == 0 {
		return nil
	}
	k = append(k, entry{func(r vg.Rectangle) {
		pts := rectangle(r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)
		p.FillPolygon(paleBlue, pts)
		p.outline(draw.LineStyle{Color: blue, Width: 0.6}, pts)
	}, "forecasts"}, p.diagonalEntry("calibrated"))
	if slices.ContainsFunc(bars, func(b Bar) bool { return finite(b.Low, b.High) }) {
		e := p.bandEntry(d.Level)
		e.text = "where " + percent(d.Level) + " of calibrated bars would lie"
		k = append(k, e)
	}
	return k
}
