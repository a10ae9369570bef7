package conformal

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// Promise is what a threshold at a rank among the scores of calibration rows says about later rows (Vovk 2012). For one calibration set the
// coverage of all later rows is a number from the beta distribution with the parameters Rank and Rows + 1 - Rank, if scores have no ties;
// ties make it larger. The number of covered rows among m later ones is beta-binomial.
type Promise struct{ Rank, Rows int64 }

// Mean returns the mean coverage, over calibration sets: Rank / (Rows + 1).
func (p Promise) Mean() float64 { return float64(p.Rank) / float64(p.Rows+1) }

// Coverage returns the interval in which the coverage for one calibration set is with the probability level. It is [1, 1] if the threshold is
// infinite.
func (p Promise) Coverage(level float64) metrics.Interval {
	if p.Rank > p.Rows {
		return metrics.Interval{Low: 1, High: 1}
	}
	k, n, tail := float64(p.Rank), float64(p.Rows), (1-level)/2
	return metrics.Interval{Low: tails.LowerLimit(k, n, tail), High: 1 - tails.LowerLimit(n+1-k, n, tail)}
}

// law returns the probabilities of first, first+1, ... covered rows among m. Where they are negligible they are left out.
func (p Promise) law(m int64) (law []float64, first int64) {
	if p.Rank > p.Rows {
		return []float64{1}, m
	}
	a, b := float64(p.Rank), float64(p.Rows+1-p.Rank)
	mode := int64(math.Max(0, math.Min(float64(m), math.Floor(float64(float64(m)*p.Mean())))))
	const none = 1e-20
	var below []float64
	for x, w := mode, 1.0; x > 0; x-- { // P(x-1) / P(x) = x (b+m-x) / ((m-x+1) (a+x-1))
		w *= float64(x) * (b + float64(m-x)) / (float64(m-x+1) * (a + float64(x-1)))
		if w < none {
			break
		}
		below = append(below, w)
	}
	first = mode - int64(len(below))
	for i := len(below) - 1; i >= 0; i-- {
		law = append(law, below[i])
	}
	law = append(law, 1)
	for x, w := mode, 1.0; x < m; x++ { // P(x+1) / P(x) = (m-x) (a+x) / ((x+1) (b+m-x-1))
		w *= float64(m-x) * (a + float64(x)) / (float64(x+1) * (b + float64(m-x-1)))
		if w < none {
			break
		}
		law = append(law, w)
	}
	sum := 0.0
	for _, w := range law {
		sum += w
	}
	for i := range law {
		law[i] /= sum
	}
	return law, first
}

// Share returns the interval in which the covered share of m later rows is with a probability of at least level. Either end is as narrow as
// the law of whole rows allows.
func (p Promise) Share(m int64, level float64) metrics.Interval {
	if m <= 0 {
		return metrics.NoInterval()
	}
	law, first := p.law(m)
	tail := (1 - level) / 2
	low, high := 0, len(law)-1
	for sum := 0.0; low < high; low++ {
		if sum += law[low]; sum > tail {
			break
		}
	}
	for sum := 0.0; high > low; high-- {
		if sum += law[high]; sum > tail {
			break
		}
	}
	return metrics.Interval{Low: float64(first+int64(low)) / float64(m), High: float64(first+int64(high)) / float64(m)}
}

// P returns the two-sided p-value of covered rows among m: twice the smaller of the probabilities of as few or fewer, and of as many or more;
// 1 at most.
func (p Promise) P(covered, m int64) float64 {
	if m <= 0 {
		return math.NaN()
	}
	law, first := p.law(m)
	few, many := 0.0, 0.0
	for i, w := range law {
		if first+int64(i) <= covered {
			few += w
		}
		if first+int64(i) >= covered {
			many += w
		}
	}
	return math.Min(1, 2*math.Min(few, many))
}

// Exact returns the interval of Clopper and Pearson for a share of covered rows, NoInterval if there are none.
func Exact(covered, rows int64, level float64) metrics.Interval {
	if rows <= 0 {
		return metrics.NoInterval()
	}
	k, n, tail := float64(covered), float64(rows), (1-level)/2
	return metrics.Interval{Low: tails.LowerLimit(k, n, tail), High: 1 - tails.LowerLimit(n-k, n, tail)}
}
