package score

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// An answer without rows is NaN, and so is every end of an interval that does not exist.

// Accuracy returns the share of rows whose arg max, or the caller's decision, is the label; higher is better.
func (l *Loss) Accuracy() float64 { return l.top.Frequency(l.weighted) }

// AccuracyInterval is Wilson's.
func (l *Loss) AccuracyInterval(level float64) metrics.Interval {
	return metrics.Wilson(l.Accuracy(), l.effective(), level)
}

func (l *Loss) effective() float64 { return l.top.Effective(l.weighted) }

// TopK returns the share of rows whose label is among the k largest scores, hit iff
// #{s_j > s_y} + #{j < y: s_j = s_y} < k. It panics unless 1 <= k <= Options.TopK.
func (l *Loss) TopK(k int) float64 {
	if k < 1 || k > len(l.ranks) {
		panic("score: k lies between 1 and the TopK of the options")
	}
	var s exact.Sum
	for i := range k {
		s.Merge(&l.ranks[i])
	}
	return l.over(&s)
}

// TopKInterval is Wilson's.
func (l *Loss) TopKInterval(k int, level float64) metrics.Interval {
	return metrics.Wilson(l.TopK(k), l.effective(), level)
}

func (l *Loss) over(s *exact.Sum) float64 {
	t := l.top.Total(l.weighted)
	return exact.Ratio(s, &t)
}

// BaseRate returns the share of rows of class 1.
func (l *Loss) BaseRate() float64 { return l.over(&l.base) }

// BaseRateInterval is Wilson's.
func (l *Loss) BaseRateInterval(level float64) metrics.Interval {
	return metrics.Wilson(l.BaseRate(), l.effective(), level)
}

// Confidence returns the mean of the largest probability, or of the probability of the caller's decision.
func (l *Loss) Confidence() float64 { return l.top.Score(l.weighted) }

// ConfidenceInterval is mean +- z*s/sqrt(n).
func (l *Loss) ConfidenceInterval(level float64) metrics.Interval {
	m := tally.Mean{S1: l.top.P, S2: l.top.PP}
	return metrics.Normal(l.Confidence(), m.StdErr(&l.top.Weight, l.weighted), level)
}

// Overconfidence returns mean confidence minus accuracy: 0 is best, above 0 the model claims more than it keeps.
func (l *Loss) Overconfidence() float64 {
	m, _ := l.top.MeanGap(l.weighted)
	return m
}

// OverconfidenceInterval is that of a mean: of the rows' confidence minus hit.
func (l *Loss) OverconfidenceInterval(level float64) metrics.Interval {
	m, se := l.top.MeanGap(l.weighted)
	return metrics.Normal(m, se, level)
}

// NLL returns the mean negative log-likelihood in nats, -ln p_y without clipping: +Inf if a label got probability 0,
// see InfiniteRows. Lower is better.
func (l *Loss) NLL() float64 {
	if l.infinite.N > 0 {
		return math.Inf(1)
	}
	return l.nll.Value(&l.top.Weight, l.weighted)
}

// NLLInterval is mean +- z*s/sqrt(n); there is none of an infinite mean.
func (l *Loss) NLLInterval(level float64) metrics.Interval {
	if l.infinite.N > 0 {
		return metrics.NoInterval()
	}
	return metrics.Normal(l.NLL(), l.nll.StdErr(&l.top.Weight, l.weighted), level)
}

// FiniteNLL returns the mean over the rows whose label got a probability above 0.
func (l *Loss) FiniteNLL() float64 {
	t, i := l.top.Total(l.weighted), l.infinite.Total(l.weighted)
	t.Sub(&i)
	return exact.Ratio(&l.nll.S1, &t)
}

// InfiniteRows returns how many labels got probability 0.
func (l *Loss) InfiniteRows() int64 { return l.infinite.N }

// Perplexity returns exp(NLL).
func (l *Loss) Perplexity() float64 { return kernel.Exp64(l.NLL()) }

// PerplexityInterval has the exponentials of NLLInterval's ends.
func (l *Loss) PerplexityInterval(level float64) metrics.Interval {
	i := l.NLLInterval(level)
	return metrics.Interval{Low: kernel.Exp64(i.Low), High: kernel.Exp64(i.High)}
}

// BrierForm says which of the scores that go by the name of Brier is meant.
type BrierForm uint8

const (
	// BrierDefault is mean sum_k (p_k - y_k)^2, in [0,2], for rows of classes, and mean (p - y)^2, in [0,1], for a
	// binary task.
	BrierDefault BrierForm = iota
	// BrierSum is the sum over both classes for a binary task too, in [0,2].
	BrierSum
	// BrierMinusOne is BrierSum - 1, in [-1,1]: uncertainty_metrics and tfp.
	BrierMinusOne
	// BrierBinary is mean (p1 - y)^2 of two classes, in [0,1]: half of BrierSum, exactly so where rows sum to 1. NaN for
	// more than two classes.
	BrierBinary
	// BrierPerClass is BrierSum / K.
	BrierPerClass
)

// Brier returns the mean Brier score in the given form; lower is better.
func (l *Loss) Brier(f BrierForm) float64 {
	scale, shift := f.of(l.classes)
	return float64(scale*l.brier.Value(&l.top.Weight, l.weighted)) + shift
}

// BrierInterval is mean +- z*s/sqrt(n) of the same form.
func (l *Loss) BrierInterval(f BrierForm, level float64) metrics.Interval {
	scale, _ := f.of(l.classes)
	return metrics.Normal(l.Brier(f), float64(scale*l.brier.StdErr(&l.top.Weight, l.weighted)), level)
}

// of returns what the score that is kept of rows of so many classes, BrierDefault, is multiplied by and what is added.
func (f BrierForm) of(classes int) (scale, shift float64) {
	k := float64(classes)
	scale = 1
	if classes == 1 {
		k = 2
		if f != BrierDefault && f != BrierBinary {
			scale = 2
		}
	}
	switch f {
	case BrierMinusOne:
		shift = -1
	case BrierBinary:
		if classes > 2 {
			return math.NaN(), 0
		}
		if classes == 2 {
			scale = 0.5
		}
	case BrierPerClass:
		scale /= k
	}
	return scale, shift
}

// Entropy returns the mean entropy of the rows' probabilities, in nats: how undecided the model is.
func (l *Loss) Entropy() float64 { return l.entropy.Value(&l.top.Weight, l.weighted) }

// EntropyInterval is mean +- z*s/sqrt(n).
func (l *Loss) EntropyInterval(level float64) metrics.Interval {
	return metrics.Normal(l.Entropy(), l.entropy.StdErr(&l.top.Weight, l.weighted), level)
}
