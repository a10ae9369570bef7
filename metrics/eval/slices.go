package eval

import (
	"math"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// Slices answers for slices of the rows of an Evaluation; package sliced implements it.
type Slices interface {
	// Multicalibration returns the multicalibration error over MCGrad's segments, or over every slice.
	Multicalibration(every bool) *Multicalibration
	// LargestGap returns the largest standardized gap of a slice in a bin of scores, in Gap and GapP.
	LargestGap() *Multicalibration
	// Grouping returns the grouping loss of the slices by all columns, with so many bins by score.
	Grouping(bins int) *Grouping
}

// Estimate is a value with its interval.
type Estimate struct {
	Value    float64
	Interval metrics.Interval
}

// Grouping says how much regions of the rows differ that have the same scores.
type Grouping struct {
	Loss      Estimate // Explained less Induced
	Explained Estimate // variance of the regions' frequencies within bins, without chance
	Induced   Estimate // variance of the frequency by score within bins: what bins add to Explained
	Rows      int64
	LeftOut   int64  // rows that are alone in a region and bin
	Exact     bool   // each distinct score has a cell of its own
	Reason    string // why there are no values
}

// Multicalibration says how far the slices of the rows are from calibrated.
type Multicalibration struct {
	Error    float64 // Sigma times the standard deviation of the ECCE of all rows
	Relative float64 // Error as a percentage of the rarer outcome's frequency
	Sigma    float64 // the largest ECCE of a segment, in its standard deviations
	P        float64 // of that segment alone
	// The most by which Error and Sigma of the rows can differ: 0 if cells are exact.
	Bound, SigmaBound float64
	Exact             bool // each distinct score has a cell of its own
	Segments          int
	Worst             [][2]string // columns and values of the segment with the largest sigma; none for all rows
	Rows              int64       // of that segment

	Gap, GapP float64 // the largest |sum (y-p)| / sqrt(sum p(1-p)) of a slice in a bin of scores, and its simulated p
	Draws     int
	Cells     int // slices in bins that were compared

	Reason         string // why there are no values
	RelativeReason string // why Relative has none
}

// groupingOwn are the options of the grouping loss.
var groupingOwn = choices{{name: "bins", whole: true, least: 1, most: 10000, unsaid: 15}}

// slicesOwn are the options of metrics over segments.
var slicesOwn = choices{{name: "every"}}

const needsSlices = "it needs slices of the rows: name columns by "

func noSlices() Value {
	return Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: needsSlices + setting.SliceBy.String()}
}

// ofSegments returns the answer of a metric over segments.
func ofSegments(of func(a *Multicalibration) (value, bound float64, reason string)) func(*Evaluation, Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		if e.Slices == nil {
			return noSlices()
		}
		a := e.Slices.Multicalibration(slicesOwn.of(m, "every") != 0)
		v := Value{Interval: metrics.NoInterval()}
		if v.Value, v.Bound, v.Reason = of(a); a.Exact {
			v.Bound = 0
		}
		if a.Reason != "" {
			v.Value, v.Reason = math.NaN(), a.Reason
		} else if v.Reason == "" {
			v.Reason = "no interval is known for the largest of many"
		}
		return v
	}
}

// ofGaps is ofSegments for the largest gap.
func ofGaps(of func(a *Multicalibration) float64) func(*Evaluation, Metric) Value {
	return func(e *Evaluation, _ Metric) Value {
		if e.Slices == nil {
			return noSlices()
		}
		a := e.Slices.LargestGap()
		v := Value{Value: of(a), Interval: metrics.NoInterval(), Reason: a.Reason}
		if !a.Exact {
			v.Bound = math.NaN()
		}
		if v.Reason == "" {
			v.Reason = "no interval is known for the largest of many"
		}
		return v
	}
}

// ofRegions returns the answer of a metric of the grouping loss.
func ofRegions(of func(g *Grouping) Estimate) func(*Evaluation, Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		if e.Slices == nil {
			return noSlices()
		}
		g := e.Slices.Grouping(int(groupingOwn.of(m, "bins")))
		if g.Reason != "" {
			return Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: g.Reason}
		}
		x := of(g)
		v := Value{Value: x.Value, Interval: x.Interval, Method: "variance of the rows' influences, as a line of the value, and of single pairs; rows taken as independent"}
		if !g.Exact {
			v.Bound = math.NaN()
		}
		if g.LeftOut > 0 {
			v.Note = rowsText(g.LeftOut) + " alone in a region and bin left out of the differences of regions"
		}
		return v
	}
}

// inSlices returns the metrics of slices.
func inSlices() []Descriptor {
	const guy = "Guy, Haimovich, Linder, Okati, Perini, Tax and Tygert 2025"
	l := []Descriptor{
		{
			Name:    "multicalibration_error",
			Short:   "worst segment's ECCE",
			Meaning: "multicalibration error: the largest kuiper (ECCE) of any segment of the rows, in its standard deviations, times the standard deviation of all rows",
			Formula: "max_s (kuiper_s N_s / sqrt(sum_s p(1-p))) sqrt(sum p(1-p)) / N, over segments s of ten rows or more by up to three columns", Range: "[0, +Inf]", Better: Lower,
			Source: guy + "; MCGrad",
			value:  ofSegments(func(a *Multicalibration) (float64, float64, string) { return a.Error, a.Bound, "" }),
		},
		{
			Name:    "multicalibration_error_relative",
			Short:   "in % of rarer outcome",
			Meaning: "multicalibration_error as a percentage of the frequency of the rarer outcome",
			Formula: "100 multicalibration_error / min(mean y, 1 - mean y)", Range: "[0, +Inf]", Better: Lower,
			Source: guy + "; MCGrad",
			value: ofSegments(func(a *Multicalibration) (float64, float64, string) {
				return a.Relative, a.Relative / a.Error * a.Bound, a.RelativeReason
			}),
		},
		{
			Name:    "multicalibration_error_sigma",
			Short:   "in standard deviations",
			Meaning: "the largest kuiper (ECCE) of any segment of the rows, in its standard deviations",
			Formula: "max_s kuiper_s N_s / sqrt(sum_s p(1-p))", Range: "[0, +Inf]", Better: Lower,
			Source: guy + "; MCGrad",
			value:  ofSegments(func(a *Multicalibration) (float64, float64, string) { return a.Sigma, a.SigmaBound, "" }),
		},
		{
			Name:    "multicalibration_error_p",
			Short:   "p-value of that segment",
			Meaning: "p-value of calibration of the segment with the largest ECCE, as if it were the only one: among many segments of a calibrated model it is often small",
			Formula: "P(max B - min B >= multicalibration_error_sigma), B Brownian motion on [0,1]", Range: "[0, 1]", Better: Neither,
			Source: "Feller 1951; " + guy,
			value:  ofSegments(func(a *Multicalibration) (float64, float64, string) { return a.P, math.NaN(), "" }),
		},
	}
	for i := range l {
		l[i].own = slicesOwn
	}
	l = append(l, Descriptor{
		Name:    "multicalibration_gap",
		Short:   "largest slice gap, in sd",
		Meaning: "the largest gap of any slice by up to three columns, over all scores or in a bin of scores, in standard deviations",
		Formula: "max |sum (y-p)| / sqrt(sum p(1-p)) over slices, whole and in 10 bins of equal mass, with sum p(1-p) >= 10", Range: "[0, +Inf]", Better: Lower,
		Source: "Hebert-Johnson, Kim, Reingold and Rothblum 2018",
		value:  ofGaps(func(a *Multicalibration) float64 { return a.Gap }),
	}, Descriptor{
		Name:    "multicalibration_gap_p",
		Short:   "p-value of that gap",
		Meaning: "p-value of calibration by multicalibration_gap, simulated, which allows for the number of slices and bins",
		Formula: "(1 + k)/(1 + B), k of B draws as large; a draw gives each finest cell an independent normal number", Range: "[0, 1]", Better: Neither,
		Source: "candor",
		value:  ofGaps(func(a *Multicalibration) float64 { return a.GapP }),
	})
	const perez = "Perez-Lebel, Le Morvan and Varoquaux 2023"
	grouping := []Descriptor{
		{
			Name:    "grouping_loss",
			Short:   "spread at equal scores",
			Meaning: "lower bound of the grouping loss: how much the frequencies of regions differ within bins of scores, without chance and without what bins add",
			Formula: "grouping_loss_explained - grouping_loss_induced", Range: "[-1, 1]", Better: Lower,
			Source: perez,
			value:  ofRegions(func(g *Grouping) Estimate { return g.Loss }),
		},
		{
			Name:    "grouping_loss_explained",
			Short:   "regions within bins",
			Meaning: "variance of the frequencies of regions within bins of scores, without chance",
			Formula: "(1/N) (sum_br Y_br (Y_br - 1)/(n_br - 1) - sum_b Y_b (Y_b - 1)/(n_b - 1)), Y the events of n rows, of bin b and of its region r", Range: "[-1, 1]", Better: Lower,
			Source: perez,
			value:  ofRegions(func(g *Grouping) Estimate { return g.Explained }),
		},
		{
			Name:    "grouping_loss_induced",
			Short:   "scores within bins",
			Meaning: "what bins add to grouping_loss_explained: variance of the frequency by score within bins, without chance",
			Formula: "(1/N) sum_b (a_b^2 sum (p - p_b)^2 - s_b^2), a_b the slope of the least-squares line of y on p in bin b, p_b the mean score, s_b^2 the variance about the line", Range: "[-1, 1]", Better: Zero,
			Source: perez + "; the line is candor's",
			value:  ofRegions(func(g *Grouping) Estimate { return g.Induced }),
		},
	}
	for i := range grouping {
		grouping[i].own = groupingOwn
		grouping[i].text = func(_ *Evaluation, m Metric) string {
			return Describe(m.Name).Formula + "; " + plainly(groupingOwn.of(m, "bins")) + " bins of equal width, regions the values of all columns"
		}
	}
	l = append(l, grouping...)
	for i := range l {
		l[i].Named, l[i].applies, l[i].Options, l[i].check = true, always, l[i].own.String(), l[i].own.check
	}
	return l
}
