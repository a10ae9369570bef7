package calib

import (
	"fmt"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// with returns a copy of the options for changes; o may be nil.
func with(o *GeneralOptions) GeneralOptions {
	if o == nil {
		return GeneralOptions{}
	}
	return *o
}

// ACE returns the adaptive calibration error, in [0,1], 0 is best: the mean over classes of the ECE of the class's
// probabilities in equal-mass bins, by default 15. It is GCE with Adaptive and ClassConditional. o may be nil.
//
// Source: Nixon, Dusenberry, Zhang, Jerfel and Tran 2019. Their formula gives every bin the same weight; EqualWeight selects
// this. Their uncertainty_metrics weights bins by their scores, as does this function by default.
func ACE(p *metrics.Predictions, o *GeneralOptions) (float64, error) {
	opt := aceOptions(o)
	return GCE(p, &opt)
}

func aceOptions(o *GeneralOptions) GeneralOptions {
	opt := with(o)
	opt.Binning, opt.ClassConditional = Adaptive, true
	return opt
}

// DefaultThreshold is the default threshold of TACE; probabilities count if they are above it.
const DefaultThreshold = 0.01

// TACE returns the thresholded adaptive calibration error: ACE of the probabilities above a threshold, by default
// DefaultThreshold. A class without such probabilities adds 0. It returns NaN if no class has any. o may be nil.
//
// Source: Nixon, Dusenberry, Zhang, Jerfel and Tran 2019.
func TACE(p *metrics.Predictions, o *GeneralOptions) (float64, error) {
	opt := taceOptions(o)
	return GCE(p, &opt)
}

func taceOptions(o *GeneralOptions) GeneralOptions {
	opt := with(o)
	if opt.Above == nil {
		opt.Above = new(DefaultThreshold)
	}
	return aceOptions(&opt)
}

// EqualMassECE returns the ECE over equal-mass bins, by default 15, of the top label's score, or of the positive class's score
// in a binary task. It is GCE with Adaptive. o may be nil.
//
// Source: Nguyen and O'Connor 2015.
func EqualMassECE(p *metrics.Predictions, o *GeneralOptions) (float64, error) {
	opt := equalMassOptions(o)
	return GCE(p, &opt)
}

func equalMassOptions(o *GeneralOptions) GeneralOptions {
	opt := with(o)
	opt.Binning = Adaptive
	return opt
}

// SweepECE returns the ECE with the largest number of bins before the frequency falls from one bin to the next, at most 2^20.
// Bins have equal mass, or equal width if o.Binning is SweepEven. Equal scores are never split; see EdgeRule for rules that
// split them. It is GCE with SweepMass. o may be nil.
//
// Source: Roelofs, Cain, Shlens and Mozer 2022.
func SweepECE(p *metrics.Predictions, o *GeneralOptions) (float64, error) {
	opt := sweepOptions(o)
	return GCE(p, &opt)
}

func sweepOptions(o *GeneralOptions) GeneralOptions {
	opt := with(o)
	if opt.Binning != SweepEven {
		opt.Binning = SweepMass
	}
	return opt
}

// TopLabelConditional returns the top-label conditional calibration error: the ECE of the top label's score with separate bins
// for each predicted class,
//
//	sum over classes and bins of (n_kb/N) |gap_kb|
//
// It is GCE with TopLabel, ClassConditional and ByFrequency. o may be nil. A class that is never predicted has no effect.
//
// Source: Gupta and Ramdas 2022.
func TopLabelConditional(p *metrics.Predictions, o *GeneralOptions) (float64, error) {
	opt := topLabelOptions(o)
	return GCE(p, &opt)
}

func topLabelOptions(o *GeneralOptions) GeneralOptions {
	opt := with(o)
	opt.Event, opt.ClassConditional, opt.ByFrequency = TopLabel, true, true
	return opt
}

// EqualCount returns the ECE of a binary task's positive class as Naeini et al.'s code computes it. Rows are sorted by score
// and outcome and divided into groups of equal size, by default at most 10, so equal scores may be split. The corresponding
// maximum calibration error is the MCE of Partitions[0] from GeneralOf with Adaptive, RankOutcome, Positive and 10 bins.
// Weights are an error. o may be nil.
//
// Source: Naeini, Cooper and Hauskrecht 2015, getECE.m and getMCE.m.
func EqualCount(p *metrics.Predictions, o *GeneralOptions) (float64, error) {
	opt := equalCountOptions(o)
	return GCE(p, &opt)
}

func equalCountOptions(o *GeneralOptions) GeneralOptions {
	opt := with(o)
	if opt.Bins == 0 {
		opt.Bins = 10
	}
	opt.Binning, opt.EdgeRule, opt.Event = Adaptive, RankOutcome, Positive
	return opt
}

// QuantileECE returns tfp.stats.expected_calibration_error_quantiles: the ECE of the top label over bins between the scores
// nearest to quantiles, by default 15 bins. Weights are an error. o may be nil.
func QuantileECE(p *metrics.Predictions, o *GeneralOptions) (float64, error) {
	opt := quantileOptions(o)
	return GCE(p, &opt)
}

func quantileOptions(o *GeneralOptions) GeneralOptions {
	opt := with(o)
	opt.Binning, opt.EdgeRule, opt.Event = Adaptive, QuantileNearest, TopLabel
	return opt
}

// GeneralLike returns the options of another system's metric, with its defaults:
//
//	um    uncertainty_metrics: ece, rmsce, sce, ace, tace, with 30 bins
//	rm    robustness_metrics: rmsce, sce, ace, tace, with 30 bins, and msce, a sweep; its tace has no threshold
//	blog  "Metrics for uncertainty estimation": ace, of the top label, and sce, with 15 edges
//
// The options reproduce bins, thresholds and means, but not the treatment of bad input. If nothing is above a threshold, the
// other systems return 0 and GCE returns NaN. um accepts labels that wrap around, omits NaN scores and accepts negative scores;
// these are data errors here.
func GeneralLike(system, metric string) (GeneralOptions, error) {
	even := GeneralOptions{Options: Options{Bins: 30, Event: AllClasses}, ClassConditional: true, Above: new(0.0)}
	adaptive := even
	even.One, adaptive.Binning = OverflowBin, Adaptive
	if system == "rm" {
		adaptive.EdgeRule = OrderStatisticClosed
	}
	top := func(o GeneralOptions) GeneralOptions {
		o.Event, o.ClassConditional = TopLabel, false
		return o
	}
	switch system + " " + metric {
	case "um ece":
		return top(even), nil
	case "um rmsce", "rm rmsce":
		o := top(adaptive)
		o.Norm = L2
		return o, nil
	case "um sce", "rm sce":
		return even, nil
	case "um ace", "rm ace", "rm tace":
		return adaptive, nil
	case "um tace":
		adaptive.Above = new(DefaultThreshold)
		return adaptive, nil
	case "rm msce":
		o := top(adaptive)
		o.Binning, o.Bins = SweepMass, 0
		return o, nil
	case "blog ace":
		return GeneralOptions{Options: Options{Bins: 15, BlogEdges: true, Event: TopLabel}, Binning: Adaptive, EdgeRule: QuantileLinear}, nil
	case "blog sce":
		return GeneralOptions{Options: Options{Bins: 15, BlogEdges: true, Side: kernel.RightClosed, Zero: OwnBin, One: LastBinOnly}, ClassConditional: true}, nil
	}
	return GeneralOptions{}, fmt.Errorf("calib: %q is no metric of %q that is here; there are um's ece, rmsce, sce, ace, tace, "+
		"rm's rmsce, sce, ace, tace, msce, and blog's ace, sce", metric, system)
}

// UMAll returns the 32 values of uncertainty_metrics' compute_all_metrics, with 30 bins and in its order. From the outermost to
// the innermost choice: even then adaptive bins; top label then all entries; by class then pooled; threshold 0 then 0.01; L1
// then L2. As in that code, a value without scores is 0. data may be nil.
func UMAll(p *metrics.Predictions, data *metrics.Options) ([]float64, error) {
	var values []float64
	for i := range 32 {
		o, err := GeneralLike("um", []string{"sce", "ace"}[i>>4])
		if err != nil {
			return nil, err
		}
		o.Event = []Event{TopLabel, AllClasses}[i>>3&1]
		o.ClassConditional = i>>2&1 == 0
		o.Above = new([]float64{0, DefaultThreshold}[i>>1&1])
		o.Norm = []Norm{L1, L2}[i&1]
		if data != nil {
			o.Data = *data
		}
		g, err := GeneralOf(p, &o)
		if err != nil {
			return nil, err
		}
		if g.Kept == 0 {
			g.Value = 0
		}
		values = append(values, g.Value)
	}
	return values, nil
}
