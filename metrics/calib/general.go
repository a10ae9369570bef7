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

// Binning says what is equal of the bins, and who chooses their number.
type Binning uint8

const (
	Even     Binning = iota // width: Bins equal-width bins of [0,1], or those between the given Edges
	Adaptive                // mass: Bins bins of equally many scores, or those of PointsPerBin
	// CubeRoot is mass too: ceil(n^(1/3)) bins of the n scores that count, of each class if they are binned by class. That is the
	// order of growth with the least mean squared error of a histogram (Freedman and Diaconis 1981).
	CubeRoot
	SweepMass // mass: as many as can be while the frequency does not fall from bin to bin (ECE-sweep)
	SweepEven // width: the same with equal widths
)

// EdgeRule says where one of n sorted scores ends a bin of equal mass and the next begins. The default never divides equal
// scores; the others are those of other systems. Those from Rank on, and a sweep by any of them, take no weights; those by rank
// divide equal scores.
type EdgeRule uint8

const (
	// OrderStatistic puts edge j of B at the score of rank round(j*n/B), halves to even (uncertainty_metrics): bins are
	// left-closed, so the scores that equal an edge are above it.
	OrderStatistic EdgeRule = iota
	// OrderStatisticClosed has an edge at 1 besides, so scores of 1 get a bin of their own (robustness_metrics). Of a sweep it
	// is that system's whole way: bins by Rank are turned into edges in the middle between them and a last one at the largest
	// score, which then has a bin of its own.
	OrderStatisticClosed
	// Rank gives the score of rank r the bin floor(r/n*B). Equal scores are in the order of their rows.
	Rank
	// RankOutcome makes min(n, B) groups, of which the first n mod B have one score more (Naeini et al.'s getECE.m). Of equal
	// scores those whose event did not happen come first.
	RankOutcome
	// QuantileLinear has the distinct linear quantiles j/B as edges of right-closed bins, and one more bin for the lowest score
	// alone (the blog post "Metrics for uncertainty estimation").
	QuantileLinear
	// QuantileNearest has the scores nearest to the quantiles j/B as edges of left-closed bins, the last closed (tfp).
	QuantileNearest
	// Strides is uncertainty_metrics before August 2020: right-closed bins that begin at every ceil(n/B)-th sorted score up to
	// rank n mod B, from there on at every floor(n/B)-th. The lowest score is in no bin, nor is what is beyond B bins, but both
	// count as scores.
	Strides
)

// Norm says how the gaps between confidence and frequency become one error.
type Norm uint8

const (
	L1  Norm = iota // mean of |gap|, weighted by the bins' scores
	L2              // root of the mean of gap^2
	Max             // largest |gap|
)

// GeneralOptions say which general calibration error is meant. The zero value is candor's ECE: 15 equal-width bins of the top
// label's score, for a binary task of the positive class's, every score counted, L1.
type GeneralOptions struct {
	// Options has the number of bins, 0 meaning 15 where nothing else gives it; the Event, ByShape meaning AllClasses where ClassConditional
	// is set; and the rules of edges. Side is of Even, and of Adaptive and CubeRoot with OrderStatistic; One of Even; Zero of Even, but
	// DropZero of all; Index of Even and SweepEven.
	Options

	Binning      Binning
	PointsPerBin int       // instead of Bins, for Adaptive: rows / PointsPerBin bins, at least one, before any threshold
	Edges        []float64 // instead of Bins, for Even: rising edges; the outer bins take what is beyond
	EdgeRule     EdgeRule  // of all but Even

	ClassConditional bool // bins for each class: of its entries, or with TopLabel of the rows that it is predicted for
	Norm             Norm
	Above            *float64 // only scores p > *Above count, so 0 drops p = 0; nil counts all

	// EqualWeight lets every bin with scores weigh the same, as Nixon et al. write the adaptive error, not by its scores.
	EqualWeight bool
	// TotalDenominator counts what is not above the threshold too, in no bin: the error is divided by the number of all scores.
	TotalDenominator bool
	// ConfidenceWeighted weighs each row by its score within the gap, sum (p*p - y*p), over the number of rows
	// (robustness_metrics' weighted ECE, after Kumar and Sarawagi).
	ConfidenceWeighted bool

	// Over the classes of a class-conditional error: its mean is over all of them, of squares and then the root for L2.
	MeanOfRoots    bool // L2: mean of the classes' roots
	PresentClasses bool // mean over the classes that have scores that count; others add 0 otherwise
	ByFrequency    bool // classes weigh by their scores that count
}

// General is a general calibration error with the bins that it is made of.
type General struct {
	// Value is the error. With the gap g_b = sum (p - y) / n_b of a bin, of M scores that count:
	//
	//	L1   sum (n_b/M) |g_b|
	//	L2   sqrt(sum (n_b/M) g_b^2)
	//	Max  max |g_b|
	//
	// A class-conditional one is the mean over the K classes of this, for L2 the root of the mean of squares, for Max the
	// largest; a class without scores that count adds 0. NaN where no score counts at all: no rows, or none above the
	// threshold, of which uncertainty_metrics says 0. Kept tells.
	Value float64
	// Partitions has the bins of each class if the error is class-conditional, otherwise those of all scores.
	Partitions []*Partition
	Kept       int64         // scores that count: rows, or entries of them, above the threshold
	Audit      metrics.Audit // of the rows read, those dropped among them
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

// Validate tells what is wrong with the options, nil if nothing is.
func (o GeneralOptions) Validate() error {
	given := o
	o = o.normal()
	sweeps := o.Binning >= SweepMass
	switch {
	case o.Binning > SweepEven || o.EdgeRule > Strides || o.Norm > Max:
		return errors.New("calib: an option has no such value")
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

// GCE returns the general calibration error of predictions in memory: the Value of GeneralOf, NaN with an error.
func GCE(p *metrics.Predictions, o *GeneralOptions) (float64, error) {
	g, err := GeneralOf(p, o)
	if err != nil {
		return math.NaN(), err
	}
	return g.Value, nil
}

// GeneralOf returns the general calibration error of predictions in memory with its bins. ECE, ACE, TACE and the other named errors are
// points of it. o may be nil. The error is that of the options, a *metrics.DataError, a *metrics.LengthError, or says that a rule of
// edges knows no weights, or that the event is not one of these classes.
//
// Bins of equal width take time and memory like Bins or ClassBins. Others sort or select: of probabilities of float32 and
// float64 without weights, by the default rule of edges, no entry is copied but a tile of columns at a time.
//
// With weights equal mass is equal weight: edge j of B is the score at which the cumulative weight passes that of
// round(j*n/B) rows of the mean weight, so equal weights give the edges that there are without. Rows of weight 0 are absent.
//
// Source: Nixon, Dusenberry, Zhang, Jerfel and Tran 2019, whose uncertainty_metrics has the name.
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

// streams tells whether the bins can be those of an accumulator.
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

// value returns the error over partitions.
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

// power returns the error of one partition, for L2 its square.
func (o *GeneralOptions) power(b *Partition) float64 {
	var gaps exact.Sum
	each := o.EqualWeight || o.Norm == Max // of the bins' means
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
