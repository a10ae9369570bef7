package regress

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics"
)

// wisRule computes the scores of a row from its quantiles.
type wisRule struct {
	levels  []float64
	weights []float64 // of each level in the estimate of the CRPS
	twice   bool      // QuantileOptions.CountMedianTwice
	reason  string    // why there is no weighted interval score
}

// newWISRule pairs rising levels.
func newWISRule(levels []float64, twice bool) wisRule {
	r := wisRule{levels: levels, weights: levelWeights(levels), twice: twice}
	for _, p := range levels {
		if q := 1 - p; findLevel(levels, q) < 0 {
			r.reason = fmt.Sprintf("the weighted interval score takes pairs of quantiles, and there is one of level %.6g but none of %.6g", p, q)
			return r
		}
	}
	return r
}

// levelWeights returns the share of the levels from 0 to 1 that are closer to each level than to any other.
func levelWeights(levels []float64) []float64 {
	w := make([]float64, len(levels))
	from := 0.0
	for i, p := range levels {
		to := 1.0
		if i+1 < len(levels) {
			to = (p + levels[i+1]) / 2
		}
		w[i], from = to-from, to
	}
	return w
}

// scores fills the columns of a batch, if there is a weighted interval score. The pinball loss of a pair is p*(u - l) + (l -
// y)+ + (y - u)+, where p is the lower level.
func (r *wisRule) scores(columns *[quantileScores][]float64, x []float64, stride int, y []float64) {
	k := len(r.levels)
	half, median := k/2, k%2 == 1
	lower, weights := r.levels[:half], r.weights[:half]
	share, middle := float64(float64(k)/2), 0.0 // one for each pair, and a half for the median
	if median {
		middle = r.weights[half]
	}
	twice := columns[scoreTwice]
	pinball, crps := columns[scorePinball][:len(y)], columns[scoreCRPS][:len(y)]
	wides, unders, overs := columns[scoreDispersion][:len(y)], columns[scoreUnder][:len(y)], columns[scoreOver][:len(y)]
	for i, at := range y {
		row := x[i*stride:][:k]
		wide, under, over := 0.0, 0.0, 0.0
		if median {
			m := row[half]
			under, over = float64(max(0, at-m)/2), float64(max(0, m-at)/2)
		}
		low, high := over, under // half the median's error
		sum := float64(middle * (under + over))
		for j, p := range lower {
			l, u := row[j], row[k-1-j]
			w, below, above := float64(p*(u-l)), max(0, l-at), max(0, at-u)
			wide += w
			over += below
			under += above
			sum += float64(weights[j] * (w + (below + above)))
		}
		crps[i] = 2 * sum
		pinball[i] = (wide/share + (under/share + over/share)) / 2
		of := share
		if r.twice && median {
			of, under, over = share+0.5, under+high, over+low
		}
		wide, under, over = wide/of, under/of, over/of
		wides[i], unders[i], overs[i] = wide, under, over
		if r.twice {
			twice[i] = wide + (under + over)
		}
	}
}

// WIS returns the mean weighted interval score. With the median m and K pairs of quantiles l and u of the levels a/2 and 1 -
// a/2, the score of a row is
//
//	(|y - m|/2 + sum over the pairs (a/2)*IS_a) / (K + 1/2)
//
// where IS_a = (u - l) + (2/a)*(l - y) if y < l, + (2/a)*(y - u) if y > u, is the interval score of Intervals. It is twice
// the mean pinball loss, and with many levels close to the CRPS. It equals Dispersion + Underprediction + Overprediction.
// Without a median it is
//
//	sum over the pairs (a/2)*IS_a / K
//
// With QuantileOptions.CountMedianTwice, the median counts as a pair, as in scoringutils with count_median_twice: the score
// is (|y - m| + sum over the pairs (a/2)*IS_a) / (K + 1). This changes nothing without a median. For the median alone it is
// |y - m|.
//
// It is NaN without rows, and if the levels are not symmetric about 1/2 (to 1e-9). WISReason says so.
//
// Source: Bracher, Ray, Gneiting and Reich 2021; Bosse et al. 2022 (scoringutils).
func (s *Quantiles) WIS() float64 {
	if s.opt.CountMedianTwice {
		return s.part(scoreTwice)
	}
	return 2 * s.part(scorePinball)
}

// WISInterval returns the interval of WIS.
func (s *Quantiles) WISInterval(confidence float64) metrics.Interval {
	if s.opt.CountMedianTwice {
		return s.partInterval(scoreTwice, confidence)
	}
	i := s.partInterval(scorePinball, confidence)
	return metrics.Interval{Low: 2 * i.Low, High: 2 * i.High}
}

// WISReason returns the reason why WIS and its parts are NaN, or "" if they are not.
func (s *Quantiles) WISReason() string {
	if s.rule.reason != "" {
		return s.rule.reason
	}
	return s.Reason()
}

// Dispersion returns the part of WIS from the widths of the intervals: the mean of sum (a/2)*(u - l) / (K + 1/2), with the
// divisor of WIS.
func (s *Quantiles) Dispersion() float64 { return s.part(scoreDispersion) }

// DispersionInterval returns the interval of Dispersion.
func (s *Quantiles) DispersionInterval(confidence float64) metrics.Interval {
	return s.partInterval(scoreDispersion, confidence)
}

// Underprediction returns the part of WIS from forecasts that were too low: the mean of ((y - m)+/2 + sum (y - u)+) / (K +
// 1/2).
func (s *Quantiles) Underprediction() float64 { return s.part(scoreUnder) }

// UnderpredictionInterval returns the interval of Underprediction.
func (s *Quantiles) UnderpredictionInterval(confidence float64) metrics.Interval {
	return s.partInterval(scoreUnder, confidence)
}

// Overprediction returns the part of WIS from forecasts that were too high: the mean of ((m - y)+/2 + sum (l - y)+) / (K +
// 1/2).
func (s *Quantiles) Overprediction() float64 { return s.part(scoreOver) }

// OverpredictionInterval returns the interval of Overprediction.
func (s *Quantiles) OverpredictionInterval(confidence float64) metrics.Interval {
	return s.partInterval(scoreOver, confidence)
}

func (s *Quantiles) part(score int) float64 {
	if s.rule.reason != "" {
		return math.NaN()
	}
	return s.means[score].value(&s.shape)
}

func (s *Quantiles) partInterval(score int, confidence float64) metrics.Interval {
	if s.rule.reason != "" {
		return metrics.NoInterval()
	}
	return s.means[score].interval(&s.shape, confidence)
}
