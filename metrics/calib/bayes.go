package calib

import (
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/internal/draw"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// BayesianOptions say which posterior of ECE BayesianOf draws from. The zero value is candor's default.
type BayesianOptions struct {
	// AsCoded takes prior and weights from the code of uncertainty_metrics, where they are not those of its text.
	AsCoded bool
	Draws   int    // from the posterior; 0 means DefaultDraws
	Seed    uint64 // of the random numbers: the same seed gives the same draws, and fewer draws are the first of more
}

// DefaultDraws is the number of draws where none is given.
const DefaultDraws = 10000

// Bayesian is the posterior of ECE over bins, as draws from it.
type Bayesian struct {
	bins          []PosteriorBin
	draws, sorted []float64
	reason        string
}

// PosteriorBin is what the rows say of one bin. Its mean score has a normal distribution cut to [Low, High]; the
// probabilities that a score falls in it and the event then does not happen, or happens, are among those of one Dirichlet
// distribution over all bins.
type PosteriorBin struct {
	Low, High       float64
	Location, Scale float64    // mean and standard deviation of the normal distribution before it is cut
	Alpha           [2]float64 // parameters of the Dirichlet distribution: the event did not happen, it happened
}

// BayesianOf returns the posterior of the ECE that the model has over these bins: with mu_b the mean score in bin b of
// all rows that there could be, and q_0b and q_1b the probabilities that a score is in b and the event does not happen or
// does,
//
//	ECE = sum over bins of |q_1b - mu_b * (q_0b + q_1b)|
//
// A priori mu_b is normal with the mean and the variance w^2/12 of a uniform distribution on the bin, of width w, and cut
// to the bin; the scores in it are taken as normal about mu_b with the same variance; and q is Dirichlet with all
// parameters 1/(2B), for B bins as much as one row (Perks 1947). After n_b rows with k_b events, p their scores and c_b
// the middle of the bin,
//
//	mu_b ~ Normal((c_b + sum p) / (n_b + 1), w^2 / (12 (n_b + 1))) cut to the bin
//	q    ~ Dirichlet(1/(2B) + n_b - k_b, 1/(2B) + k_b; b = 1 .. B)
//
// With AsCoded the variances are w/12 and the parameters 1/B, and the bins are weighted by P(bin | the event happens):
//
//	sum over bins of q_1b / sum q_1 * |q_1b / (q_0b + q_1b) - mu_b|
//
// The posterior is of an error that has no sign, so for models near calibration it lies too high: it adds the noise of
// the posterior to the noise of the rows. For a calibrated model its mean is about sqrt(2) times Floor, not 0, and no
// interval between quantiles holds 0. In simulations with 15 bins the interval between the 0.05- and the 0.95-quantile,
// which should hold the truth nine times of ten, did so three to nine times where that was 1 to 3.5 times Floor, and
// eight to nine times where it was 5 or more. Interval, which is not Bayesian, takes off the bias.
//
// The bins may be of any width if their edges are fixed, and of one without width mu_b is its edge; the outer ones are
// taken to reach to 0 and 1. Where Reason is not "" there is no posterior. A draw takes about 0.2 microseconds a bin.
// A number of draws below 0 is an error. o may be nil.
//
// Source: google/uncertainty_metrics, bayesian_expected_calibration_error.
func BayesianOf(p *Partition, o *BayesianOptions) (*Bayesian, error) {
	var opt BayesianOptions
	if o != nil {
		opt = *o
	}
	if opt.Draws < 0 {
		return nil, fmt.Errorf("calib: %d draws; there are 1 or more, or with 0 as many as by default", opt.Draws)
	}
	if opt.Draws == 0 {
		opt.Draws = DefaultDraws
	}
	b := &Bayesian{reason: p.bayesianReason()}
	if b.reason != "" {
		return b, nil
	}
	b.bins = p.posterior(opt.AsCoded)
	b.draw(&opt)
	b.sorted = slices.Clone(b.draws)
	slices.Sort(b.sorted)
	return b, nil
}

// bayesianReason says why there is no posterior.
func (b *Partition) bayesianReason() string {
	switch {
	case b.Len() == 0:
		return reason.NoRows
	case b.together:
		return reasonTogether
	case b.weighted:
		return "the posterior is of counts of rows, which sums of weights are not"
	case b.chosen:
		return "the edges were chosen by the scores; the posterior is known for fixed edges only"
	}
	n := b.lost.N
	for i := len(b.cells) - b.apart; i < len(b.cells); i++ {
		n += b.cells[i].N
	}
	if n > 0 {
		return "rows are in no bin, or in one set apart, for which there is no prior"
	}
	return ""
}

// posterior returns its parameters.
func (b *Partition) posterior(asCoded bool) []PosteriorBin {
	bins := make([]PosteriorBin, len(b.cells)-b.apart)
	for i := range bins {
		low, high := b.lower[i], b.upper[i]
		if i == 0 {
			low = math.Min(low, 0)
		}
		if i == len(bins)-1 {
			high = math.Max(high, 1)
		}
		width := high - low
		variance, each := float64(width*width)/12, 1/float64(2*len(bins))
		if asCoded {
			variance, each = width/12, 1/float64(len(bins))
		}
		c := &b.cells[i]
		sum, n := c.P.Clone(), tally.Count(c.N+1)
		sum.AddExact(low + float64(width/2))
		k := c.Y.Float64()
		bins[i] = PosteriorBin{Low: low, High: high, Location: exact.Ratio(&sum, &n), Scale: math.Sqrt(variance / float64(c.N+1)),
			Alpha: [2]float64{each + (float64(c.N) - k), each + k}}
	}
	return bins
}

// draw draws.
func (b *Bayesian) draw(o *BayesianOptions) {
	n := len(b.bins)
	alpha, q, mu := make([]float64, 2*n), make([]float64, 2*n), make([]float64, n)
	for i, bin := range b.bins {
		alpha[i], alpha[n+i] = bin.Alpha[0], bin.Alpha[1]
	}
	b.draws = make([]float64, o.Draws)
	s := draw.New(o.Seed, 0)
	for d := range b.draws {
		s.Dirichlet(q, alpha)
		for i, bin := range b.bins {
			if mu[i] = bin.Location; bin.Low < bin.High && bin.Scale > 0 {
				mu[i] = s.TruncatedNormal(bin.Location, bin.Scale, bin.Low, bin.High)
			}
		}
		if o.AsCoded {
			b.draws[d] = givenTheEvent(q[:n], q[n:], mu)
		} else {
			b.draws[d] = eceOf(q[:n], q[n:], mu)
		}
	}
}

// eceOf returns the ECE where the event does not happen and happens in the bins with the probabilities q0 and q1, and mu
// are the mean scores.
func eceOf(q0, q1, mu []float64) float64 {
	s := 0.0
	for i, m := range mu {
		s += math.Abs(q1[i] - float64(m*(q0[i]+q1[i])))
	}
	return math.Min(1, s)
}

// givenTheEvent returns the same with the bins weighted by their probabilities where the event happens.
func givenTheEvent(q0, q1, mu []float64) float64 {
	s, total := 0.0, 0.0
	for i, m := range mu {
		total += q1[i]
		if q1[i] > 0 {
			s += float64(q1[i] * math.Abs(q1[i]/(q0[i]+q1[i])-m))
		}
	}
	return math.Min(1, s/total)
}

// Reason says why there is no posterior: no rows, weights, scores that hang together (AllClasses), edges that the scores
// chose, or rows in bins that the options set apart or in none. It is "" where there is one. Without a posterior all
// answers are NaN or nil.
func (b *Bayesian) Reason() string { return b.reason }

// Posterior returns the parameters of the posterior, bin by bin in rising order.
func (b *Bayesian) Posterior() []PosteriorBin { return slices.Clone(b.bins) }

// Draws returns the draws of the ECE, independent of each other, in the order in which they were made.
func (b *Bayesian) Draws() []float64 { return slices.Clone(b.draws) }

// Mean returns the mean of the draws. Its error, as an estimate of the posterior's mean, is their standard deviation over
// the root of their number.
func (b *Bayesian) Mean() float64 {
	s := 0.0
	for _, v := range b.draws {
		s += v
	}
	return s / float64(len(b.draws))
}

// Quantile returns the q-quantile of the draws, linear between them: the draw of rank q * (n-1), counted from 0. It
// panics unless 0 <= q <= 1.
//
// Source: Hyndman and Fan 1996, definition 7, as numpy.quantile has it.
func (b *Bayesian) Quantile(q float64) float64 {
	if !(q >= 0 && q <= 1) {
		panic("calib: a quantile lies between 0 and 1")
	}
	if b.sorted == nil {
		return math.NaN()
	}
	return draw.Quantile(b.sorted, q)
}
