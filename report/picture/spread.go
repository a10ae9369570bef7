package picture

import (
	"fmt"
	"math"
	"strconv"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/report/scene"
)

// Spread draws the errors of forecasts against their stated standard deviations, in bins of rows with similar standard deviations.
// Both axes are logarithmic with one range. Calibrated forecasts are on the diagonal; forecasts above it are too narrow. The mean
// relative distance from the diagonal, |RMV - RMSE|/RMV, is the ENCE.
//
// The slices have the same length, or Scene panics. Low and High, the intervals of the RMSE, and Counts may be nil. Bins whose RMV is
// not a positive number or whose RMSE is NaN are left out; an RMSE of 0 is drawn at the edge. Bins have about the same number of rows, so
// their points are hollow all or none: if they have fewer than 20 rows on average. More than 60 bins have no intervals. The zero value draws
// a picture without data.
//
// Source: Levi, Gispan, Giladi and Fetaya 2022.
type Spread struct {
	Title, Subtitle string
	RMV             []float64 // root mean variance of a bin
	RMSE            []float64 // root mean squared error of a bin
	Low, High       []float64
	Counts          []int64 // rows of a bin
	Level           float64 // of Low and High, for the words; 0 means 0.95
	ENCE            float64 // for the notes; NaN omits it
	Rows            int64   // for the notes; 0 omits it
}

// What a picture of spreads shows.
const (
	fewBins    = 60 // the maximum number of bins with intervals
	spreadRows = 20 // the least mean number of rows of filled points
)

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

// few reports whether bins have too few rows.
func (d *Spread) few(at []int) bool {
	if d.Counts == nil || len(at) == 0 {
		return false
	}
	n := int64(0)
	for _, i := range at {
		n += d.Counts[i]
	}
	return n < spreadRows*int64(len(at))
}

// log10 returns the decimal logarithm, with the same bits on every CPU.
func log10(v float64) float64 { return kernel.Log64(v) / math.Ln10 }

// ends returns the range of both axes, as powers of ten.
func (d *Spread) ends(at []int) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	take := func(v float64) {
		if v > 0 && finite(v) {
			lo, hi = math.Min(lo, log10(v)), math.Max(hi, log10(v))
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
		if in.Low > 0 {
			lo = math.Min(lo, math.Max(log10(in.Low), inner-0.5))
		}
		if in.High > 0 && finite(in.High) {
			hi = math.Max(hi, math.Min(log10(in.High), outer+0.5))
		}
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
			if v := float64(e) + log10(m); e%step == 0 && v >= lo-1e-9 && v <= hi+1e-9 {
				values = append(values, m*math.Pow10(e))
			}
		}
	}
	short := len(values) < 3
	if short {
		values = ticks(kernel.Exp64(lo*math.Ln10), kernel.Exp64(hi*math.Ln10), 5)
		names = brief(values)
	}
	for _, v := range values {
		at = append(at, log10(v))
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

// off reports whether the interval of a bin leaves out its stated spread, and whether errors are larger.
func (d *Spread) off(i int) (off, over bool) {
	in := ends(d.Low, d.High, i)
	return known(in) && (d.RMV[i] < in.Low || d.RMV[i] > in.High), d.RMSE[i] > d.RMV[i]
}

// Scene returns the picture with its title, key and notes.
func (d *Spread) Scene() *scene.Scene {
	at := d.points()
	var k []sample
	notes := said(d.Subtitle, rowsSaid(d.Rows))
	if n := len(at); n > 0 {
		ence := ""
		if !math.IsNaN(d.ENCE) {
			ence = fmt.Sprintf("ENCE %.3f", d.ENCE)
		}
		notes = said(d.Subtitle, joined(rowsSaid(d.Rows), counted(int64(n), "bin"), ence))
		var over, under, calm bool
		for _, i := range at {
			far, too := d.off(i)
			over, under, calm = over || far && too, under || far && !too, calm || !far
		}
		if over {
			k = append(k, dotSample(scene.Fill(scene.Over), "too narrow"))
		}
		if under {
			k = append(k, dotSample(scene.Fill(scene.Under), "too wide"))
		}
		switch few := d.few(at); {
		case few:
			k = append(k, dotSample(hollow, fmt.Sprintf("a bin of like spread, fewer than %d rows", spreadRows)))
		case calm:
			k = append(k, dotSample(scene.Fill(scene.Ink), "a bin of rows of like spread"))
		}
		k = append(k, lineSample(honestLine, "calibrated"))
		if n <= fewBins && anyKnown(d.Low, d.High) {
			k = append(k, lineSampleUpright(scene.Stroke(scene.Muted, 1.1), percent(d.Level)+" interval"))
		}
	}
	return sheet(d.Panel(), d.Title, notes, k)
}

// Panel returns the picture alone, 360 points wide.
func (d *Spread) Panel() *scene.Scene {
	const left, top, size = 40, 22, 310
	s := &scene.Scene{Width: panelWidth, Title: "Errors by stated spread", Desc: d.Finding()}
	at := d.points()
	lo, hi := d.ends(at)
	p := &plane{s, left, top, size, size, lo, hi, lo, hi}
	xs, names := logTicks(lo, hi)
	p.columns(xs, names)
	p.rows(xs, names)
	p.up("root mean squared error (log scale)")
	p.diagonal()
	p.Add(scene.Text{X: p.x + 6, Y: p.y + 14, S: "errors larger than stated", Role: scene.OverText},
		scene.Text{X: p.x + p.w - 6, Y: p.y + p.h - 8, S: "errors smaller than stated", Anchor: scene.End, Role: scene.UnderText})
	few := d.few(at)
	for _, i := range at {
		v := lo
		if d.RMSE[i] > 0 {
			v = log10(d.RMSE[i])
		}
		c := p.at(log10(d.RMV[i]), v)
		far, over := d.off(i)
		paint := scene.Fill(scene.Ink)
		var m []scene.Mark
		tip := fmt.Sprintf("stated %.4g, errors %.4g", d.RMV[i], d.RMSE[i])
		if d.Counts != nil {
			tip = counted(d.Counts[i], "row") + ": " + tip
		}
		if in := ends(d.Low, d.High, i); known(in) && len(at) <= fewBins {
			low, high := lo-1, hi+1
			if in.Low > 0 {
				low = log10(in.Low)
			}
			if finite(in.High) && in.High > 0 {
				high = log10(in.High)
			}
			m = p.whisker(c.X, low, high, scene.Stroke(scene.Muted, 1.1))
			tip += fmt.Sprintf(" [%.4g, %.4g]", in.Low, in.High)
		}
		switch {
		case few:
			paint = hollow
		case far:
			paint = scene.Fill(side(over))
			m = append(m, vline(c.X, c.Y, p.py(log10(d.RMV[i])), scene.Stroke(side(over), 2)))
		}
		p.Add(scene.Group{Title: tip, Marks: append(m, scene.Circle{X: c.X, Y: c.Y, R: 3.4, Paint: paint})})
	}
	if len(at) == 0 {
		p.note("no rows")
	}
	p.base()
	p.right("stated: root mean variance of the bin (log scale)", 28)
	s.Height = p.y + p.h + 32
	return s
}

// Finding says what the picture shows.
func (d *Spread) Finding() string {
	at := d.points()
	if len(at) == 0 {
		return "There are no rows."
	}
	var over, under int
	worst := metrics.Interval{Low: 1, High: 1}
	for j, i := range at {
		if far, too := d.off(i); far && too {
			over++
		} else if far {
			under++
		}
		r := d.RMSE[i] / d.RMV[i]
		if j == 0 {
			worst = metrics.Interval{Low: r, High: r}
		}
		worst = metrics.Interval{Low: math.Min(worst.Low, r), High: math.Max(worst.High, r)}
	}
	s := fmt.Sprintf("Errors are %.2g to %.2g times the stated spread.", worst.Low, worst.High)
	if anyKnown(d.Low, d.High) {
		s += fmt.Sprintf(" Of %s, %d are clearly too narrow and %d too wide.", counted(int64(len(at)), "bin"), over, under)
	}
	return s
}
