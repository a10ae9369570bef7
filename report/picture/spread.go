package picture

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/candor-go/candor/metrics"
)

// Spread draws the errors of forecasts against their stated standard deviations, in bins of rows with similar standard deviations.
// Both axes are logarithmic with one range. Calibrated forecasts are on the diagonal; forecasts above it are too narrow. The mean
// relative distance from the diagonal, |RMV - RMSE|/RMV, is the ENCE.
//
// The slices have the same length, or Write panics. Low and High, the intervals of the RMSE, and Counts may be nil. Bins whose RMV is
// not a positive number or whose RMSE is NaN are left out; an RMSE of 0 is drawn at the edge. Points of bins with fewer than Enough
// rows are hollow. More than 60 bins have no intervals and no lines between points. The zero value draws a picture without data.
//
// Source: Levi, Gispan, Giladi and Fetaya 2022.
type Spread struct {
	Title, Subtitle string
	RMV             []float64 // root mean variance of a bin
	RMSE            []float64 // root mean squared error of a bin
	Low, High       []float64
	Counts          []int64 // rows of a bin
	Level           float64 // of Low and High, for the key; 0 means 0.95
	ENCE            float64 // for the subtitle; NaN omits it
	Rows            int64   // for the subtitle; 0 omits it
}

// fewBins is the maximum number of bins with intervals.
const fewBins = 60

func (d *Spread) size() (vg.Length, vg.Length) {
	return square(d.Title, d.subtitle(), d.legend(nil), 0)
}

func (d *Spread) subtitle() string {
	n := len(d.points())
	if n == 0 {
		return said(d.Subtitle, rowsSaid(d.Rows))
	}
	bins, ence := fmt.Sprintf("%d bins", n), ""
	if n == 1 {
		bins = "1 bin"
	}
	if !math.IsNaN(d.ENCE) {
		ence = fmt.Sprintf("ENCE %.3f", d.ENCE)
	}
	return said(d.Subtitle, joined(rowsSaid(d.Rows), bins, ence))
}

// points returns the indices of the bins to draw.
func (d *Spread) points() (at []int) {
	same(len(d.RMV), d.RMSE, d.Low, d.High)
	if d.Counts != nil && len(d.Counts) != len(d.RMV) {
		same(-1, d.RMV)
	}
	for i, v := range d.RMV {
		if v > 0 && d.RMSE != nil && d.RMSE[i] >= 0 && finite(v, d.RMSE[i]) {
			at = append(at, i)
		}
	}
	return at
}

// ends returns the range of both axes, as powers of ten.
func (d *Spread) ends(at []int) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	take := func(v float64) {
		if v > 0 && finite(v) {
			lo, hi = math.Min(lo, math.Log10(v)), math.Max(hi, math.Log10(v))
		}
	}
	for _, i := range at {
		take(d.RMV[i])
		take(d.RMSE[i])
	}
	inner, outer := lo, hi
	if len(at) > fewBins {
		at = nil
	}
	for _, i := range at { // intervals of few rows are wide
		in := ends(d.Low, d.High, i)
		take(math.Max(in.Low, math.Pow(10, inner-0.5)))
		take(math.Min(in.High, math.Pow(10, outer+0.5)))
	}
	if lo > hi {
		return -1, 1
	}
	room := math.Max(0.05*(hi-lo), 0.05)
	return lo - room, hi + room
}

// logTicks returns the ticks of a logarithmic axis between two powers of ten, as powers and by name: at 1, 2 and 5 times each power of
// ten; on a long axis at every power or some; on a short one at round numbers.
func logTicks(lo, hi float64) (at []float64, names []string) {
	times, step := []float64{1, 2, 5}, 1
	if hi-lo > 3.5 {
		times = times[:1]
	}
	for (hi-lo)/float64(step) > 7 {
		step++
	}
	var values []float64
	for e := int(math.Floor(lo)); e <= int(math.Ceil(hi)); e++ {
		for _, m := range times {
			if v := float64(e) + math.Log10(m); e%step == 0 && v >= lo && v <= hi {
				values = append(values, m*math.Pow10(e))
			}
		}
	}
	short := len(values) < 3
	if short {
		values = ticks(math.Pow(10, lo), math.Pow(10, hi), 5)
		names = brief(values)
	}
	for _, v := range values {
		at = append(at, math.Log10(v))
		switch {
		case short:
		case v >= 0.9e-3 && v < 1e5:
			names = append(names, strconv.FormatFloat(v, 'f', -1, 64))
		default:
			names = append(names, power(v))
		}
	}
	return at, names
}

func (d *Spread) draw(p *page) {
	p.heading(d.Title, d.subtitle())
	p.key(d.legend(p))
	p.top -= keySkip
	at := d.points()
	lo, hi := d.ends(at)
	xs, names := logTicks(lo, hi)
	a := &axes{x: "stated: root mean variance of the bin", y: "actual: root mean squared error of the bin", xs: xs, ys: xs,
		xNames: names, yNames: names, xText: true, yText: true, size: tickSize}
	top := p.panel(p.top-p.Min.Y-axisHeight, lo, hi)
	top.x0, top.x1 = lo, hi
	top.grid(a)
	top.StrokeLines(calibratedLine, []vg.Point{top.at(lo, lo), top.at(hi, hi)})
	line := make([]vg.Point, len(at))
	for j, i := range at {
		line[j] = top.at(math.Log10(d.RMV[i]), math.Log10(d.RMSE[i]))
	}
	few := len(at) <= fewBins
	if few {
		top.StrokeLines(draw.LineStyle{Color: blue, Width: 0.9}, line)
	}
	for j, i := range at {
		in := ends(d.Low, d.High, i)
		if few && known(in) {
			top.interval(line[j].X, metrics.Interval{Low: math.Log10(math.Max(in.Low, 0)), High: math.Log10(math.Max(in.High, 0))})
		}
		top.dot(spreadLook(), line[j], d.Counts != nil && d.Counts[i] < Enough)
	}
	const off = 5
	top.write(tickSize, textGrey, top.r.Min.X+off, top.r.Max.Y-off, text.XLeft, text.YTop, "errors larger than stated")
	top.write(tickSize, textGrey, top.r.Max.X-off, top.r.Min.Y+off, text.XRight, text.YBottom, "errors smaller than stated")
	if len(at) == 0 {
		top.note("no rows")
	}
	top.frame(a)
}

// spreadLook is the look of the points.
func spreadLook() look { return lookOf(0) }

// legend returns the key.
func (d *Spread) legend(p *page) (k []entry) {
	at := d.points()
	if len(at) == 0 {
		return nil
	}
	dot := func(r vg.Rectangle) { p.dot(spreadLook(), middle(r), false) }
	k = append(k, entry{dot, "bins of like spread"}, p.diagonalEntry("calibrated"))
	if len(at) <= fewBins && anyKnown(d.Low, d.High) {
		e := p.intervalEntry(d.Level)
		e.text = percent(d.Level) + " interval"
		k = append(k, e)
	}
	for _, i := range at {
		if d.Counts != nil && d.Counts[i] < Enough {
			return append(k, p.hollowEntry(spreadLook()))
		}
	}
	return k
}
