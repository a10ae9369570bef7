package calib

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Surprise compares the outcomes of rows with the distribution that their scores state: independent outcomes, each with the
// probability of its score.
type Surprise struct {
	Rows    int64
	Weight  float64 // sum of weights; number of rows without weights
	Says    float64 // mean score
	Happens float64 // share of rows with the event

	// Z is sum w (y - p) / sqrt(sum w^2 p(1-p)), the excess of events over the stated number in standard deviations. If all
	// scores are 0 or 1, it is 0 if none is wrong and otherwise +-Inf.
	Z float64
	// P is the probability of outcomes at least this far from the stated ones, on either side: twice the smaller tail, at most
	// 1. If fewer than 20 outcomes of the less likely kind are expected, it is exact, from the distribution of a sum of unequal
	// Bernoulli trials. Otherwise it is the Edgeworth expansion of this distribution with its third and fourth cumulants. With
	// weights it is the normal tail of Z, or, if few such outcomes are expected, the Poisson tail for the same number of rows
	// of equal weight, which is not smaller.
	P float64
}

// Gap returns Says - Happens. It is positive if scores are too high.
func (s *Surprise) Gap() float64 { return s.Says - s.Happens }

// Below fewSurprises expected surprises, their distribution is computed exactly, up to mostSurprises of them. With fewer than
// 20 expected, more have a probability of 1e-24.
const (
	fewSurprises  = 20
	mostSurprises = 100
)

// SurprisesOf returns the Surprise of all rows in r and those of equal-width bins, left-closed with the last one closed. A grid
// cell is in the bin of its mean score. Scores outside [0,1] are ignored.
func SurprisesOf(r cells.Ordered, bins int) (all Surprise, in []Surprise) {
	weighted := r.Weighted()
	return surprises(bins, weighted, func(f func(o *alike)) {
		r.Each(func(x *cells.Cell) {
			o := alike{x.N, x.Weight, x.Weight, x.Events, x.P, x.Q}
			if weighted {
				t := tally.Of(x)
				o.square = t.W2.Float64()
			}
			f(&o)
		})
	})
}

// SurprisesOfBins is SurprisesOf for a Partition without bins set apart. Each row counts with the mean score of its bin. Its
// variance is then not smaller, so P is seldom too small. Each bin of the partition counts in the bin of its mean score.
func SurprisesOfBins(b *Partition, bins int) (all Surprise, in []Surprise) {
	return surprises(bins, b.weighted, func(f func(o *alike)) {
		b.each(func(i int, c *tally.Cell) {
			w := c.Total(b.weighted)
			rest := w.Clone()
			rest.Sub(&c.P)
			weight := w.Float64()
			o := alike{c.N, weight, weight, c.Y.Float64(), c.P.Float64() / weight, rest.Float64() / weight}
			if b.weighted {
				o.square = c.W2.Float64()
			}
			f(&o)
		})
	})
}

// alike holds rows with the same score p, or whose scores are taken as equal.
type alike struct {
	n              int64
	weight, square float64 // sums of weights and of their squares
	events         float64
	p, q           float64 // q is 1 - p
}

// surprises returns the answers. rows calls its argument for rows in ascending order of scores.
func surprises(bins int, weighted bool, rows func(f func(o *alike))) (all Surprise, in []Surprise) {
	edges := kernel.Edges(bins)
	sums := make([]trials, bins)
	each := func(f func(t *trials, o *alike)) {
		at := 0
		rows(func(o *alike) {
			for at < bins-1 && edges[at+1] <= o.p {
				at++
			}
			f(&sums[at], o)
		})
	}
	each((*trials).moments)
	var total trials
	for i := range sums {
		total.merge(&sums[i])
	}
	if !weighted {
		// The distribution for all rows is the convolution of those of the bins.
		each(func(t *trials, o *alike) {
			if t.expected < fewSurprises {
				t.count(o)
			}
		})
		if total.expected < fewSurprises {
			for i := range sums {
				if l := sums[i].law; l != nil {
					total.convolve(l)
				}
			}
		}
	}
	in = make([]Surprise, bins)
	for i := range sums {
		in[i] = sums[i].answer(weighted)
	}
	return total.answer(weighted), in
}

// trials holds sums over rows. The surprise of a row is its less likely outcome. It counts upward if it is the event, otherwise
// downward.
type trials struct {
	rows           int64
	weight, square float64 // sums of weights and of their squares
	p, y           float64
	gap            float64 // sum w (y - p), computed from the smaller of p and 1 - p
	variance       float64 // sum w^2 p(1-p)
	third, fourth  float64 // cumulants, without weights
	expected       float64 // expected surprises, weighted
	seen           float64 // surprises with the event minus surprises without it
	law            *trialLaw
}

// trialLaw holds the probabilities of up to mostSurprises surprises with the event (up) and without it (down).
type trialLaw struct{ up, down [mostSurprises + 1]float64 }

func (t *trials) moments(o *alike) {
	q, surprises, sign := o.p, o.events, 1.0
	if o.q < o.p {
		q, surprises, sign = o.q, o.weight-o.events, -1
	}
	n := o.weight
	v := float64(q * (1 - q))
	t.rows += o.n
	t.weight += n
	t.square += o.square
	t.p += float64(n * o.p)
	t.y += o.events
	t.gap += float64(sign * (surprises - float64(n*q)))
	t.variance += float64(o.square * v)
	t.third += float64(sign * float64(n*float64(v*(1-2*q))))
	t.fourth += float64(n * float64(v*(1-float64(6*v))))
	t.expected += float64(n * q)
	t.seen += float64(sign * surprises)
}

func (t *trials) merge(o *trials) {
	t.rows += o.rows
	t.weight += o.weight
	t.square += o.square
	t.p += o.p
	t.y += o.y
	t.gap += o.gap
	t.variance += o.variance
	t.third += o.third
	t.fourth += o.fourth
	t.expected += o.expected
	t.seen += o.seen
}

// count adds rows to the distribution.
func (t *trials) count(o *alike) {
	if t.law == nil {
		t.law = new(trialLaw)
		t.law.up[0], t.law.down[0] = 1, 1
	}
	if o.q < o.p {
		addTrials(&t.law.down, o.n, o.q)
	} else {
		addTrials(&t.law.up, o.n, o.p)
	}
}

// addTrials adds n trials of probability q to the distribution of a sum.
func addTrials(a *[mostSurprises + 1]float64, n int64, q float64) {
	if q == 0 {
		return
	}
	if n <= 4 {
		for range n {
			for k := len(a) - 1; k > 0; k-- {
				a[k] = float64(a[k]*(1-q)) + float64(a[k-1]*q)
			}
			a[0] *= 1 - q
		}
		return
	}
	// The binomial distribution, except for negligible terms.
	var b [mostSurprises + 1]float64
	b[0] = kernel.Exp64(float64(float64(n) * kernel.Log1p64(-q)))
	last := 0
	for k := 1; k < len(b) && int64(k) <= n; k++ {
		b[k] = b[k-1] * float64(n-int64(k)+1) / float64(k) * q / (1 - q)
		if b[k] < 1e-40 && float64(k) > float64(n)*q {
			break
		}
		last = k
	}
	convolved(a, &b, last)
}

// convolved replaces a by the distribution of the sum of both. The second is at most last.
func convolved(a, b *[mostSurprises + 1]float64, last int) {
	for k := len(a) - 1; k >= 0; k-- {
		s := 0.0
		for j := 0; j <= min(k, last); j++ {
			s += float64(b[j] * a[k-j])
		}
		a[k] = s
	}
}

func (t *trials) convolve(o *trialLaw) {
	if t.law == nil {
		l := *o
		t.law = &l
		return
	}
	convolved(&t.law.up, &o.up, mostSurprises)
	convolved(&t.law.down, &o.down, mostSurprises)
}

func (t *trials) answer(weighted bool) Surprise {
	s := Surprise{Rows: t.rows, Weight: t.weight, Says: t.p / t.weight, Happens: t.y / t.weight, P: 1}
	switch {
	case t.variance > 0:
		s.Z = t.gap / math.Sqrt(t.variance)
	case t.gap != 0:
		s.Z = math.Inf(1)
		if t.gap < 0 {
			s.Z = math.Inf(-1)
		}
	}
	if t.rows == 0 {
		s.Z, s.P = math.NaN(), math.NaN()
		return s
	}
	var above, below float64 // P(as many or more), P(as few or fewer)
	switch {
	case t.variance == 0:
		if s.P = 0; t.gap == 0 {
			s.P = 1
		}
		return s
	case weighted:
		if scale := t.square / t.weight; t.expected/scale < fewSurprises {
			s.P = math.Min(1, 2*poissonTail(t.expected/scale, math.Abs(t.gap)/scale))
			return s
		}
		above, below = kernel.NormCDF64(-s.Z), kernel.NormCDF64(s.Z)
	case t.law != nil:
		above, below = t.law.tails(int(t.seen))
	default:
		above, below = t.expansion(t.gap-0.5), t.expansion(t.gap+0.5)
		below = 1 - below
	}
	s.P = math.Min(1, 2*math.Min(above, below))
	return s
}

// tails returns the probabilities of a difference of at least d and of at most d.
func (l *trialLaw) tails(d int) (above, below float64) {
	for i, a := range l.up {
		for j, b := range l.down {
			if i-j >= d {
				above += float64(a * b)
			}
			if i-j <= d {
				below += float64(a * b)
			}
		}
	}
	return above, below
}

// expansion returns the probability that the excess of events is above gap, by the second-order Edgeworth expansion.
func (t *trials) expansion(gap float64) float64 {
	sd := math.Sqrt(t.variance)
	x := gap / sd
	skew, excess := t.third/(t.variance*sd), t.fourth/(t.variance*t.variance)
	if math.Abs(x) > 8 {
		return kernel.NormCDF64(-x) // the expansion is not valid this far out
	}
	x2 := float64(x * x)
	p := float64(skew/6*(x2-1)) + float64(excess/24*float64(x*(x2-3))) + float64(float64(skew*skew)/72*float64(x*(float64(x2*(x2-10))+15)))
	density := kernel.Exp64(-x2/2) * 0.39894228040143267794
	return math.Max(0, math.Min(1, kernel.NormCDF64(-x)+float64(density*p)))
}

// poissonTail returns the larger of the probabilities that a Poisson number is at least d above or at least d below its mean.
func poissonTail(mean, d float64) float64 {
	if d <= 0 {
		return 1
	}
	high, low := math.Ceil(mean+d-1e-9), math.Floor(mean-d+1e-9)
	term, sum, below, above := kernel.Exp64(-mean), 0.0, 0.0, 1.0
	for k := 0.0; k < high && k < 400; k++ {
		sum += term
		above = 1 - sum
		if k <= low {
			below = sum
		}
		term *= mean / (k + 1)
	}
	return math.Max(math.Max(0, above), below)
}
