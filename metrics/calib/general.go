package calib

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Binning selects what bins have in common, and how their number is chosen.
type Binning uint8

const (
	Even     Binning = iota // equal width: Options.Bins bins of [0,1], or the bins between the given Edges
	Adaptive                // equal mass: Options.Bins bins, or the number given by PointsPerBin
	// CubeRoot has equal mass: ceil(n^(1/3)) bins for the n scores that count, per class if bins are per class. A histogram
	// whose number of bins grows at this rate has the least mean squared error (Freedman and Diaconis 1981).
	CubeRoot
	SweepMass // equal mass: the largest number of bins before the frequency falls from one bin to the next (ECE sweep)
	SweepEven // equal width: the same rule
)

// EdgeRule selects where one of n sorted scores ends an equal-mass bin. The default never splits equal scores; the other rules
// are those of other systems. Rank and the rules after it do not support weights, nor does a sweep with any rule but the
// default. Rank and RankOutcome split equal scores.
type EdgeRule uint8

const (
	// OrderStatistic puts edge j of B at the score of rank round(j*n/B), halves to even (uncertainty_metrics). Bins are
	// left-closed, so scores equal to an edge are in the bin above it.
	OrderStatistic EdgeRule = iota
	// OrderStatisticClosed adds an edge at 1, so scores of 1 are in a bin of their own (robustness_metrics). In a sweep it
	// follows that system further: the sweep uses bins by Rank; the final edges are the midpoints between these bins, and the
	// largest score, which has a bin of its own.
	OrderStatisticClosed
	// Rank puts the score of rank r in bin floor(r/n*B). Equal scores stay in row order.
	Rank
	// RankOutcome makes min(n, B) groups; the first n mod B of them have one more score (Naeini et al.'s getECE.m). Equal
	// scores are ordered by outcome, those without the event first.
	RankOutcome
	// QuantileLinear uses the distinct linear quantiles j/B as edges of right-closed bins, with a separate bin for the lowest
	// score (the blog post "Metrics for uncertainty estimation").
	QuantileLinear
	// QuantileNearest uses the scores nearest to the quantiles j/B as edges of left-closed bins, with the last one closed
	// (tfp).
	QuantileNearest
	// Strides is the rule of uncertainty_metrics before August 2020. Right-closed bins begin at every ceil(n/B)-th sorted score
	// up to rank n mod B, and then at every floor(n/B)-th. The lowest score and scores beyond B bins are in no bin, but count
	// as scores.
	Strides
)

// Norm selects how the gaps between confidence and frequency are combined.
type Norm uint8

const (
	L1  Norm = iota // mean of |gap|, weighted by the number of scores in each bin
	L2              // square root of the mean of gap^2
	Max             // largest |gap|
)

// GeneralOptions select a general calibration error. The zero value is candor's ECE: the L1 norm over 15 equal-width bins of
// the top label's score, or of the positive class's score in a binary task, with every score counted.
type GeneralOptions struct {
	// Options holds the number of bins, the event and the rules of edges. Bins = 0 means 15 unless something else determines
	// the number. ByShape means AllClasses if ClassConditional is set. Side applies to Even, and to Adaptive and CubeRoot with
	// OrderStatistic. One applies to Even. Zero applies to Even, except that DropZero applies to every binning. Index applies
	// to Even and SweepEven.
	Options

	Binning      Binning
	PointsPerBin int       // for Adaptive, in place of Bins: rows / PointsPerBin bins, at least one, counted before any threshold
	Edges        []float64 // for Even, in place of Bins: ascending edges; scores beyond them count in the outer bins
	EdgeRule     EdgeRule  // for every binning but Even

	ClassConditional bool // bins per class: of the class's entries, or with TopLabel of the rows predicted as the class
	Norm             Norm
	Above            *float64 // only scores p > *Above count, so 0 excludes p = 0; nil counts all

	// EqualWeight gives every nonempty bin the same weight, as in the adaptive error of Nixon et al.'s paper. By default bins
	// are weighted by their scores.
	EqualWeight bool
	// TotalDenominator divides by the number of all scores, including those that are not above the threshold.
	TotalDenominator bool
	// ConfidenceWeighted weights each row by its score: a bin's gap is sum (p*p - y*p), divided by the number of rows (weighted
	// ECE of robustness_metrics, after Kumar and Sarawagi).
	ConfidenceWeighted bool

	// A class-conditional error is the mean over all classes; for L2, the square root of the mean of squares. These options
	// change the mean.
	MeanOfRoots    bool // L2: mean of the classes' square roots
	PresentClasses bool // mean over the classes that have scores that count; by default other classes add 0
	ByFrequency    bool // classes are weighted by their scores that count
}

// General is a general calibration error with its bins.
type General struct {
	// Value is the error. For M scores that count, with the gap g_b = sum (p - y) / n_b of bin b, it is
	//
	//	L1   sum (n_b/M) |g_b|
	//	L2   sqrt(sum (n_b/M) g_b^2)
	//	Max  max |g_b|
	//
	// A class-conditional error is the mean of this over the K classes, for L2 the square root of the mean of squares, and for
	// Max the largest. A class without scores that count adds 0. Value is NaN if Kept is 0: no rows, or no scores above the
	// threshold. uncertainty_metrics returns 0 in this case.
	Value float64
	// Partitions holds the bins of each class for a class-conditional error, otherwise one Partition of all scores.
	Partitions []*Partition
	Kept       int64         // number of scores that count: rows or entries above the threshold
	Audit      metrics.Audit // audit of the rows read, including dropped ones
}

// normal returns the options with defaults filled in.
func (o GeneralOptions) normal() GeneralOptions {
	if o.Bins == 0 && o.Edges == nil && o.PointsPerBin == 0 && o.Binning <= Adaptive {
		o.Bins = DefaultBins
	}
	if o.Event == ByShape && o.ClassConditional {
		o.Event = AllClasses
	}
	if o.Zero == DropZero && o.Above == nil {
		o.Above = new(0.0)
	}
	if o.Above != nil {
		o.Above = new(*o.Above + 0) // -0 is 0
		if o.Zero == DropZero {
			o.Zero = FirstBin
		}
	}
	return o
}

// even returns the rules of equal-width bins.
func (o *GeneralOptions) even() Options {
	e := o.Options
	e.Bins, e.Data = max(o.Bins, 1), metrics.Options{}
	return e
}

// Validate returns an error that describes invalid options, or nil.
func (o GeneralOptions) Validate() error {
	given := o
	o = o.normal()
	sweeps := o.Binning >= SweepMass
	switch {
	case o.Binning > SweepEven || o.EdgeRule > Strides || o.Norm > Max:
		return errors.New("calib: Binning, EdgeRule or Norm has an unknown value")
	case o.Bins < 0 || o.PointsPerBin < 0:
		return errors.New("calib: a number of bins, or of points in one, is below 0")
	case given.Bins != 0 && (o.Edges != nil || o.PointsPerBin != 0 || o.Binning > Adaptive):
		return errors.New("calib: the number of bins is given, and edges, points per bin or a binning that choose it")
	case o.Edges != nil && (o.Binning != Even || o.Index != EdgeMul || o.BlogEdges):
		return errors.New("calib: edges of bins are given, and another binning or index")
	case o.PointsPerBin != 0 && o.Binning != Adaptive:
		return errors.New("calib: points per bin are for adaptive bins")
	case o.Binning == Even && o.EdgeRule != OrderStatistic,
		o.Binning == SweepMass && o.EdgeRule > Rank, o.Binning == SweepEven && o.EdgeRule > OrderStatisticClosed:
		return errors.New("calib: the binning has no such rule of edges")
	case o.Side != kernel.LeftClosed && (sweeps || o.EdgeRule != OrderStatistic):
		return errors.New("calib: these bins cannot be closed on the right")
	case o.Binning == SweepEven && o.Index >= EdgeMul32:
		return errors.New("calib: a sweep has no edges of torch.linspace")
	case o.Event == Positive && o.ClassConditional:
		return errors.New("calib: a class-conditional error is of all classes or of the top label, not of the positive class")
	case !o.ClassConditional && (o.MeanOfRoots || o.PresentClasses || o.ByFrequency):
		return errors.New("calib: a mean over classes is chosen for an error that is not class-conditional")
	case o.Above != nil && !(*o.Above >= 0 && *o.Above < 1):
		return fmt.Errorf("calib: a threshold of %v; it is from 0 to below 1", *o.Above)
	}
	if o.Edges != nil {
		if err := (ClassOptions{Edges: o.Edges}).Validate(); err != nil {
			return err
		}
	}
	return o.even().Validate()
}

// GCE returns the general calibration error of predictions in memory: the Value of GeneralOf, or NaN with an error.
func GCE(p *metrics.Predictions, o *GeneralOptions) (float64, error) {
	g, err := GeneralOf(p, o)
	if err != nil {
		return math.NaN(), err
	}
	return g.Value, nil
}

// GeneralOf returns the general calibration error of predictions in memory, with its bins. ECE, ACE, TACE and the other named
// errors are special cases. o may be nil. The error describes invalid options, is a *metrics.DataError or a
// *metrics.LengthError, or says that a rule of edges does not support weights or that there are too many classes for the event.
//
// Equal-width bins take the time and memory of Bins or ClassBins. Other bins sort or select the scores. For float32 and float64
// probabilities without weights, the default rule of edges copies only a tile of columns at a time.
//
// With weights, equal mass means equal weight: edge j of B is the score at which the cumulative weight passes round(j*n/B)
// times the mean weight. Equal weights therefore give the same edges as no weights. Rows of weight 0 are ignored.
//
// Source: Nixon, Dusenberry, Zhang, Jerfel and Tran 2019; the name is that of their uncertainty_metrics.
func GeneralOf(p *metrics.Predictions, o *GeneralOptions) (*General, error) {
	var opt GeneralOptions
	if o != nil {
		opt = *o
	}
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt = opt.normal()
	if opt.Event == Positive && p.Classes > 2 {
		return nil, errBinaryOnly(p.Classes)
	}
	if opt.Event == ByShape {
		if opt.Event = TopLabel; p.Classes == 1 {
			opt.Event = Positive
		}
	}
	g := new(General)
	var err error
	switch {
	case opt.streams():
		err = g.stream(p, &opt)
	case opt.Event == AllClasses:
		err = g.entries(p, &opt)
	default:
		err = g.columns(p, &opt)
	}
	if err != nil {
		return nil, err
	}
	for _, b := range g.Partitions {
		g.Kept += b.Len()
	}
	g.Value = opt.value(g.Partitions)
	return g, nil
}

func errBinaryOnly(classes int) error {
	return fmt.Errorf("%w: the positive class is that of a binary task, and there are %d classes", metrics.ErrMismatch, classes)
}

// streams reports whether an accumulator can compute the bins.
func (o *GeneralOptions) streams() bool {
	switch {
	case o.Binning != Even:
		return false
	case o.ClassConditional:
		plain := o.One == LastBin && o.Zero == FirstBin && o.Index == EdgeMul && !o.BlogEdges
		return plain && o.Event == AllClasses && !o.TotalDenominator
	}
	return o.Above == nil && o.Edges == nil
}

func (g *General) stream(p *metrics.Predictions, o *GeneralOptions) error {
	if !o.ClassConditional {
		opt := o.even()
		b, err := NewBins(&opt)
		if err != nil {
			return err
		}
		err = g.read(p, o, b)
		g.Partitions = []*Partition{&b.Partition}
		return err
	}
	b, err := NewClassBins(&ClassOptions{Bins: o.Bins, Edges: o.Edges, Side: o.Side, Above: o.Above})
	if err != nil {
		return err
	}
	err = g.read(p, o, b)
	for j := range b.Classes() {
		g.Partitions = append(g.Partitions, b.Class(j))
	}
	return err
}

// read reads the rows once.
func (g *General) read(p *metrics.Predictions, o *GeneralOptions, accs ...metrics.Accumulator) error {
	pass := metrics.NewPass(&o.Data, accs...)
	err := pass.Add(p)
	g.Audit = pass.Audit()
	return err
}

// value returns the error over all partitions.
func (o *GeneralOptions) value(parts []*Partition) float64 {
	var sum, weight exact.Sum
	largest, present := 0.0, int64(0)
	for _, b := range parts {
		count := b.total()
		if count.IsZero() {
			continue
		}
		present++
		e := o.power(b)
		switch {
		case o.Norm == Max:
			largest = math.Max(largest, e)
		case o.Norm == L2 && o.MeanOfRoots:
			e = math.Sqrt(e)
		}
		if o.ByFrequency {
			e *= count.Float64()
			weight.Merge(&count)
		}
		sum.AddFloat(e)
	}
	var v float64
	switch {
	case present == 0:
		return math.NaN()
	case o.Norm == Max:
		return largest
	case o.ByFrequency:
		v = sum.Float64() / weight.Float64()
	case o.PresentClasses:
		v = exact.Mean(&sum, present)
	default:
		v = exact.Mean(&sum, int64(len(parts)))
	}
	if o.Norm == L2 && !o.MeanOfRoots {
		return math.Sqrt(v)
	}
	return v
}

// power returns the error of one partition, squared for L2.
func (o *GeneralOptions) power(b *Partition) float64 {
	var gaps exact.Sum
	each := o.EqualWeight || o.Norm == Max // the norm is over the means of bins
	squares, means, most, bins := 0.0, 0.0, 0.0, 0
	b.each(func(_ int, c *tally.Cell) {
		g := c.Gap()
		if o.ConfidenceWeighted {
			g = c.PP.Clone()
			g.Sub(&c.PY)
		}
		if g.Sign() < 0 {
			gaps.Sub(&g)
		} else {
			gaps.Merge(&g)
		}
		bins++
		if !each && o.Norm == L1 {
			return
		}
		w := c.Total(b.weighted)
		if !each {
			d := g.Float64()
			squares += float64(d*d) / w.Float64()
			return
		}
		mean := math.Abs(exact.Ratio(&g, &w))
		most = math.Max(most, mean)
		if o.Norm == L2 {
			mean *= mean
		}
		means += mean
	})
	n := b.total()
	switch {
	case o.Norm == Max:
		return most
	case o.EqualWeight:
		return means / float64(max(1, bins))
	case o.Norm == L2:
		return squares / n.Float64()
	}
	return exact.Ratio(&gaps, &n)
}
