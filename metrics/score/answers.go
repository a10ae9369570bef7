package score

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Values are NaN without rows, and so are both ends of an interval that does not exist.

// Accuracy returns the share of rows whose arg max, or the caller's decision, is the label; higher is better.
func (l *Loss) Accuracy() float64 { return l.best().Frequency(l.seen.Weighted) }

// best returns what is kept of the top label.
func (l *Loss) best() *tally.Cell {
	if l.keeps(OfTop) {
		return &l.top
	}
	return &tally.Cell{}
}

// AccuracyInterval returns Wilson's interval. With weights its number of rows is that by which a share has the standard error of a weighted mean whose
// terms may depend on the weights, at most the number of rows.
func (l *Loss) AccuracyInterval(level float64) metrics.Interval {
	return l.wilson(l.Accuracy(), &l.best().Y, &l.squared.top.Y, level)
}

func (l *Loss) effective() float64 { return l.top.Effective(l.seen.Weighted) }

// TopK returns the share of rows whose label is among the k largest scores: #{s_j > s_y} + #{j < y: s_j = s_y} < k. It
// panics unless 1 <= k <= Options.TopK.
func (l *Loss) TopK(k int) float64 {
	if k < 1 || k > len(l.ranks) {
		panic("score: k lies between 1 and the TopK of the options")
	}
	if !l.keeps(OfTop) {
		return math.NaN()
	}
	var s exact.Sum
	for i := range k {
		s.Merge(&l.ranks[i])
	}
	return l.over(&s)
}

// TopKInterval returns Wilson's interval, as AccuracyInterval.
func (l *Loss) TopKInterval(k int, level float64) metrics.Interval {
	var s, q exact.Sum
	for i := range k {
		s.Merge(&l.ranks[i])
		if l.squared.ranks != nil {
			q.Merge(&l.squared.ranks[i])
		}
	}
	return l.wilson(l.TopK(k), &s, &q, level)
}

func (l *Loss) over(s *exact.Sum) float64 {
	t := l.top.Total(l.seen.Weighted)
	return exact.Ratio(s, &t)
}

// BaseRate returns the share of rows of class 1.
func (l *Loss) BaseRate() float64 { return l.event.Frequency(l.seen.Weighted) }

// BaseRateInterval returns Wilson's interval, as AccuracyInterval.
func (l *Loss) BaseRateInterval(level float64) metrics.Interval {
	return l.wilson(l.BaseRate(), &l.event.Y, &l.squared.event.Y, level)
}

// Confidence returns the mean of the largest probability, or of the probability of the caller's decision.
func (l *Loss) Confidence() float64 { return l.best().Score(l.seen.Weighted) }

// ConfidenceInterval returns mean +- z*s/sqrt(n), with weights as NLLInterval.
func (l *Loss) ConfidenceInterval(level float64) metrics.Interval {
	return metrics.Normal(l.Confidence(), l.scoreError(l.best(), &l.squared.top, level), level)
}

// Overconfidence returns mean confidence minus accuracy. 0 is best; above 0, the model is more confident than accurate.
func (l *Loss) Overconfidence() float64 {
	m, _ := l.best().MeanGap(l.seen.Weighted)
	return m
}

// OverconfidenceInterval returns the normal interval of the mean of confidence minus hit. Its variance is at least the mean
// of c(1-c), the variance if the confidences are right, because few or no errors in the sample say little about the rate of
// errors.
func (l *Loss) OverconfidenceInterval(level float64) metrics.Interval {
	m, _ := l.best().MeanGap(l.seen.Weighted)
	return metrics.Normal(m, l.atLeast(l.gapError(l.best(), &l.squared.top, level), l.impliedBy(l.best())), level)
}

// impliedBy returns the mean of p(1-p), the variance of a row's p - y if the scores are right.
func (l *Loss) impliedBy(c *tally.Cell) float64 {
	s := c.Spread()
	return l.over(&s)
}

// atLeast returns the standard error of a mean, but at least that of rows with the variance v.
func (l *Loss) atLeast(se, v float64) float64 { return atLeast(se, v, l.effective()) }

func atLeast(se, v, n float64) float64 {
	if v > 0 && se-se == 0 {
		return math.Max(se, math.Sqrt(v/n))
	}
	return se
}

// MeanP returns the mean probability of class 1. It is NaN for more than two classes.
func (l *Loss) MeanP() float64 {
	if l.seen.Classes > 2 {
		return math.NaN()
	}
	return l.event.Score(l.seen.Weighted)
}

// MeanPInterval returns mean +- z*s/sqrt(n), with weights as NLLInterval.
func (l *Loss) MeanPInterval(level float64) metrics.Interval {
	return metrics.Normal(l.MeanP(), l.scoreError(&l.event, &l.squared.event, level), level)
}

// Bias returns MeanP minus BaseRate. 0 is best; above 0, class 1 is predicted more often than it occurs. It is NaN for more
// than two classes.
func (l *Loss) Bias() float64 {
	if l.seen.Classes > 2 {
		return math.NaN()
	}
	m, _ := l.event.MeanGap(l.seen.Weighted)
	return m
}

// BiasInterval returns the normal interval of the mean of p - y. Its variance is at least the mean of p(1-p), the variance
// if the probabilities are right. With weights, the variance of the mean is at least sum w^2 p(1-p) / (sum w)^2.
func (l *Loss) BiasInterval(level float64) metrics.Interval {
	if l.seen.Classes > 2 {
		return metrics.NoInterval()
	}
	m, _ := l.event.MeanGap(l.seen.Weighted)
	se := l.gapError(&l.event, &l.squared.event, level)
	if l.seen.Weighted {
		if w := l.event.W.Float64(); se-se == 0 {
			se = math.Max(se, math.Sqrt(math.Max(0, l.spread.Float64()))/w)
		}
		return metrics.Normal(m, se, level)
	}
	return metrics.Normal(m, l.atLeast(se, l.impliedBy(&l.event)), level)
}

// OERatio returns the observed over the expected number of rows of class 1, BaseRate / MeanP. 1 is best; below 1, class 1 is
// predicted more often than it occurs. It is NaN if none is expected.
func (l *Loss) OERatio() float64 {
	if l.event.P.IsZero() {
		return math.NaN()
	}
	return exact.Ratio(&l.event.Y, &l.event.P)
}

// OERatioInterval returns 1 - BiasInterval / MeanP, with a lower end of at least 0. It treats MeanP as fixed and the
// outcomes as random.
func (l *Loss) OERatioInterval(level float64) metrics.Interval {
	b, p := l.BiasInterval(level), l.MeanP()
	return metrics.Interval{Low: math.Max(0, 1-b.High/p), High: 1 - b.Low/p}
}

// BiasZ returns sum w (y-p) / sqrt(sum w^2 p(1-p)): by how many standard deviations outcomes exceed the forecast, if the
// forecast is right. If all probabilities are 0 or 1, it is 0 if all are right, and +-Inf otherwise. It is NaN without rows.
func (l *Loss) BiasZ() float64 {
	g, v := l.event.Gap(), l.event.Spread()
	if l.seen.Weighted {
		v = l.spread.Clone()
	}
	gap, s := -g.Float64(), v.Float64()
	switch {
	case l.event.N == 0:
		return math.NaN()
	case s > 0:
		return gap / math.Sqrt(s)
	case gap == 0:
		return 0
	}
	return math.Copysign(math.Inf(1), gap)
}

// OverconfidenceZ returns by how many standard deviations hits exceed the confidences, if these are right: minus
// Overconfidence, divided by the square root of its variance in that case. If all confidences are 0 or 1, it is 0 if all are
// right, and +-Inf otherwise. It is NaN without rows.
func (l *Loss) OverconfidenceZ() float64 {
	gap, v := l.Overconfidence(), l.impliedBy(l.best())
	switch {
	case v > 0:
		return (0 - gap) / math.Sqrt(v/l.effective())
	case gap == 0 || gap != gap:
		return gap
	}
	return math.Copysign(math.Inf(1), 0-gap)
}

// NLL returns the mean negative log-likelihood -ln p_y in nats, without clipping. Lower is better. It is +Inf if a label has
// probability 0; see InfiniteRows.
func (l *Loss) NLL() float64 {
	if l.infinite.N > 0 {
		return math.Inf(1)
	}
	return l.nll.Value(l.weight(OfNLL), l.seen.Weighted)
}

// NLLInterval returns mean +- z*s/sqrt(n). With weights it is mean +- z*q*se with
//
//	se^2 = b sum w^2 (nll - mean)^2 / (sum w)^2,   b = W_2 / (W_2 - 2 W_3/W_1 + W_2^2/W_1^2)
//
// for the sums W_k of the k-th powers of the weights: rows of large weight may have other losses (White 1980; Bell and McCaffrey 2002). q is Student's
// quantile for W_2^2/W_4 - 1 degrees of freedom over that for N - 1, so that equal weights have the interval of rows without. There is no interval if the mean is infinite.
func (l *Loss) NLLInterval(level float64) metrics.Interval { return l.NLLIntervalAtLeast(level, 0) }

// NLLIntervalAtLeast is NLLInterval with a variance s^2 of a row's NLL of at least v0, the variance that the model's own
// probabilities imply. Otherwise a few rows without an error would have a narrow interval that misses the mean.
func (l *Loss) NLLIntervalAtLeast(level, v0 float64) metrics.Interval {
	if l.infinite.N > 0 {
		return metrics.NoInterval()
	}
	return ofLosses(l.NLL(), l.meanError(OfNLL, &l.nll, &l.squared.nll, level), l.effective(), level, v0)
}

// ofLosses returns the interval of a mean of nonnegative losses. Its standard error is at least that of n rows with the
// variance v0. If v0 is above 0, the upper end assumes a variance in proportion to the mean, because few rows hold nearly
// all of it: it is the m with (m - mean)^2 = z^2 se^2 m/mean.
func ofLosses(mean, se, n, level, v0 float64) metrics.Interval {
	se = atLeast(se, v0, n)
	i := metrics.Normal(mean, se, level)
	if v0 > 0 && mean > 0 && i.High == i.High {
		z := metrics.Z(level)
		k := float64(float64(z*z)*float64(se*se)) / mean
		i.High = math.Max(i.High, mean+float64(k/2)+math.Sqrt(float64(k*mean)+float64(float64(k*k)/4)))
	}
	return i
}

// FiniteNLL returns the mean NLL over the rows whose label has a probability above 0.
func (l *Loss) FiniteNLL() float64 {
	t, i := l.weight(OfNLL).Total(l.seen.Weighted), l.infinite.Total(l.seen.Weighted)
	t.Sub(&i)
	return exact.Ratio(&l.nll.S1, &t)
}

// InfiniteRows returns the number of rows whose label has probability 0.
func (l *Loss) InfiniteRows() int64 { return l.infinite.N }

// Perplexity returns exp(NLL).
func (l *Loss) Perplexity() float64 { return kernel.Exp64(l.NLL()) }

// PerplexityInterval returns the exponentials of the ends of NLLInterval.
func (l *Loss) PerplexityInterval(level float64) metrics.Interval {
	return l.PerplexityIntervalAtLeast(level, 0)
}

// PerplexityIntervalAtLeast returns the exponentials of the ends of NLLIntervalAtLeast.
func (l *Loss) PerplexityIntervalAtLeast(level, v0 float64) metrics.Interval {
	i := l.NLLIntervalAtLeast(level, v0)
	return metrics.Interval{Low: kernel.Exp64(i.Low), High: kernel.Exp64(i.High)}
}

// BrierForm selects one of the scores that are called Brier score.
type BrierForm uint8

const (
	// BrierDefault is mean sum_k (p_k - y_k)^2, in [0,2], for rows of classes, and mean (p - y)^2, in [0,1], for a
	// binary task.
	BrierDefault BrierForm = iota
	// BrierSum is the sum over both classes for a binary task too, in [0,2].
	BrierSum
	// BrierMinusOne is BrierSum - 1, in [-1,1], as in uncertainty_metrics and tfp.
	BrierMinusOne
	// BrierBinary is mean (p1 - y)^2 for two classes, in [0,1]. It is half of BrierSum, exactly so if rows sum to 1. It is
	// NaN for more than two classes.
	BrierBinary
	// BrierPerClass is BrierSum / K.
	BrierPerClass
)

// Brier returns the mean Brier score in the given form; lower is better.
func (l *Loss) Brier(f BrierForm) float64 {
	scale, shift := f.of(l.seen.Classes)
	return float64(scale*l.brier.Value(l.weight(OfBrier), l.seen.Weighted)) + shift
}

// BrierInterval returns mean +- z*s/sqrt(n), or with weights as NLLInterval, in the same form.
func (l *Loss) BrierInterval(f BrierForm, level float64) metrics.Interval {
	return l.BrierIntervalAtLeast(f, level, 0)
}

// BrierIntervalAtLeast is BrierInterval with a variance of a row's score, in the form BrierDefault, of at least v0, as in
// NLLIntervalAtLeast.
func (l *Loss) BrierIntervalAtLeast(f BrierForm, level, v0 float64) metrics.Interval {
	scale, shift := f.of(l.seen.Classes)
	i := ofLosses(l.brier.Value(l.weight(OfBrier), l.seen.Weighted), l.meanError(OfBrier, &l.brier, &l.squared.brier, level), l.effective(), level, v0)
	return metrics.Interval{Low: float64(scale*i.Low) + shift, High: float64(scale*i.High) + shift}
}

// Linear returns the factor and the summand that turn BrierDefault into f for rows of so many classes.
func (f BrierForm) Linear(classes int) (scale, shift float64) { return f.of(classes) }

// of returns the factor and the summand that turn BrierDefault, the form that is kept, into f.
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

// Entropy returns the mean entropy of the rows' probabilities, in nats. It is high if the model is undecided.
func (l *Loss) Entropy() float64 { return l.entropy.Value(l.weight(OfEntropy), l.seen.Weighted) }

// EntropyInterval returns mean +- z*s/sqrt(n), with weights as NLLInterval.
func (l *Loss) EntropyInterval(level float64) metrics.Interval {
	return metrics.Normal(l.Entropy(), l.meanError(OfEntropy, &l.entropy, &l.squared.entropy, level), level)
}
