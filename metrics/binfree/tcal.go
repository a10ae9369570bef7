package binfree

import (
	"math"
	"math/bits"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// TCalOptions select the test.
type TCalOptions struct {
	Bins int // number of bins of equal width; 0 means the adaptive test, over several numbers
}

// TCal is the test of calibration by the debiased plug-in estimate of the squared calibration error. With gaps e = y - p and m bins
// of equal width, of which bin b holds n_b of the N rows, the estimate is
//
//	T_m = (1/N) sum_b ((sum_{i in b} e_i)^2 - sum_{i in b} e_i^2) / n_b.
//
// What is subtracted are the pairs of rows with themselves. So T_m is 0 on average if the scores are calibrated, and estimates
// sum_b (n_b - 1)/N g_b^2 otherwise, with g_b the mean gap of the bin. Bins are [a,b), and the last is closed.
//
// Few bins have the most power where E(y|p) - p is smooth, and many bins where it oscillates. The adaptive test takes m = 2, 4, 8, ... up to the
// first power of 2 that is at least N^2 / ln N, and multiplies the smallest p-value by the number of tests. Numbers of bins that part the
// rows as the number before them does are the same test, so they do not count, nor do numbers at which no two rows share a bin: this
// depends on the scores alone, so the size stays what it is. There are at most 2^52 bins.
//
// If cells are not exact, a cell is in the bin of its mean, and there are at most 256 bins, four or five cells each: those of up to
// 16 are unions of cells, and the others part the rows nearly as bins of equal width do. The size stays what it is here too.
//
// Source: Lee, Huang, Hassani and Dobriban 2023. The paper takes critical values from simulated outcomes; see P.
type TCal struct {
	rows   cells.Rising
	chosen int // the number of bins with the smallest p-value
	value  float64
	p      float64
	tests  int
	reason string
}

// tcalGrid is the logarithm of the largest power of 2 whose bins have several cells of the grid each.
const tcalGrid = 8

// TCalOf returns the test of the rows in r; o may be nil. It panics if the number of bins is negative.
func TCalOf(r cells.Rising, o *TCalOptions) *TCal {
	t := &TCal{rows: r, value: math.NaN(), p: math.NaN()}
	n := 0.0
	r.Each(func(x *cells.Cell) { n += float64(x.N) })
	switch {
	case r.Outside() > 0:
		t.reason = reason.Outside
	case n == 0:
		t.reason = reason.NoRows
	case r.Weighted():
		t.reason = "with weights the distribution of the statistic is not known"
	case n < 2:
		t.reason = "a single row is no pair"
	}
	if t.reason != "" {
		return t
	}
	if o != nil && o.Bins != 0 {
		if o.Bins < 0 {
			panic("binfree: a number of bins is above 0")
		}
		m := float64(o.Bins)
		var s tcalSum
		at := -1.0
		each(r, 1, func(c *kernelCell) {
			place := math.Min(math.Floor(float64(c.p*m)), m-1)
			if place != at {
				s.close()
				at = place
			}
			s.add(c)
		})
		s.close()
		if s.pairs == 0 {
			t.reason = noPairs
			return t
		}
		t.chosen, t.tests = o.Bins, 1
		t.value, t.p = s.value(n), s.tail()
		return t
	}
	levels := tcalLevels(n)
	if !r.Exact() {
		levels = min(levels, tcalGrid)
	}
	sums := make([]tcalSum, levels) // of 2, 4, 8, ... bins
	all := uint64(1) << levels
	at := all // no bin
	each(r, 1, func(c *kernelCell) {
		place := min(uint64(float64(c.p*float64(all))), all-1)
		// From how many bins on the row is in another one than the row before it.
		for b := levels - bits.Len64(place^at); b < levels; b++ {
			if b >= 0 {
				sums[b].close()
			}
		}
		at = place
		for b := range sums {
			sums[b].add(c)
		}
	})
	least := math.Inf(1)
	for b := range sums {
		s := &sums[b]
		s.close()
		if s.pairs == 0 || b > 0 && s.bins == sums[b-1].bins {
			continue
		}
		t.tests++
		if p := s.tail(); p < least {
			least, t.chosen, t.value = p, 2<<b, s.value(n)
		}
	}
	if t.tests == 0 {
		t.reason = noPairs
		return t
	}
	t.p = math.Min(1, float64(least*float64(t.tests)))
	return t
}

const noPairs = "no two rows share a bin"

// tcalLevels returns the logarithm to base 2 of the largest number of bins for n rows.
func tcalLevels(n float64) int {
	most := n * n / kernel.Log64(n)
	b := 1
	for b < 52 && float64(uint64(1)<<b) < most {
		b++
	}
	return b
}

// tcalSum is the sum over bins, with that of the current bin.
type tcalSum struct {
	bins, pairs int         // bins that have rows, and those that have two
	total       compensated // sum over bins of e e' over pairs of different rows, in both orders, over the number of rows
	variance    compensated // of total, if the scores are calibrated
	third       compensated // its third moment

	n, gap, products     float64 // of the current bin: rows, sum of e, sum of e e' over pairs in both orders
	spread, twos, threes float64 // sums of v = p(1-p), of v v' over pairs and of v v' v" over triples, each once
	skew, skews          float64 // sums of p(1-p)(1-2p), and of their products over pairs
}

// add adds the rows of a cell to the current bin. Each sum over pairs and triples grows by those that the new rows are part of.
func (s *tcalSum) add(c *kernelCell) {
	one := 1 - 1/c.n
	within := float64(float64(c.spread*c.spread) * one / 2)
	s.products += c.inside + float64(2*float64(c.gap*s.gap))
	s.threes += float64(c.spread*s.twos) + float64(within*s.spread) + float64(float64(within*c.spread)*(1-2/c.n)/3)
	s.twos += float64(c.spread*s.spread) + within
	s.skews += float64(c.skew*s.skew) + float64(float64(c.skew*c.skew)*one/2)
	s.n += c.n
	s.gap += c.gap
	s.spread += c.spread
	s.skew += c.skew
}

// close ends the current bin. The gaps of its rows are independent with variances v and third moments p(1-p)(1-2p). So the sum over pairs,
// each once, has mean 0, variance twos and third moment skews + 6 threes.
func (s *tcalSum) close() {
	if s.n > 0 {
		s.bins++
	}
	if s.n > 1 {
		s.pairs++
		s.total.add(s.products / s.n)
		s.variance.add(float64(4*s.twos) / (s.n * s.n))
		s.third.add(float64(8*(s.skews+float64(6*s.threes))) / (s.n * s.n * s.n))
	}
	s.n, s.gap, s.products, s.spread, s.twos, s.threes, s.skew, s.skews = 0, 0, 0, 0, 0, 0, 0, 0
}

func (s *tcalSum) value(n float64) float64 { return s.total.value() / n }

// tail returns the probability of at least this total if the scores are calibrated.
func (s *tcalSum) tail() float64 {
	return threeMoments(s.total.value(), s.variance.value(), s.third.value())
}

// mostSkew is the largest skewness of a gamma distribution that stands for a sum over pairs. A bin in which few events are expected has
// about this skewness at 0.3 of them. With fewer, the most likely outcome, no event, lies above the mean, where the gamma distribution has
// hardly any probability.
const mostSkew = 8

// threeMoments returns P(X >= x) for the gamma distribution with mean 0 and the given second and third moments. If its skewness
// is above mostSkew, it returns the most that the probability can be for any distribution with this variance, 1/(1 + x^2/variance) for
// x > 0 (Cantelli's inequality). Without variance it is 0 if x is above 0, and 1 otherwise.
func threeMoments(x, variance, third float64) float64 {
	sd := math.Sqrt(variance)
	cube := sd * sd * sd
	if !(cube > 0) {
		if x > 0 {
			return 0
		}
		return 1
	}
	z := x / sd
	skew := third / cube
	if skew < 1e-4 {
		return kernel.NormCDF64(-z)
	}
	if skew > mostSkew {
		if z <= 0 {
			return 1
		}
		return 1 / (1 + float64(z*z))
	}
	// A gamma variable of shape a, less its mean and over its deviation, has skewness 2/sqrt(a).
	a := 4 / (skew * skew)
	return tails.Gamma(a+float64(z*math.Sqrt(a)), a)
}

// Value returns T_m; m is Bins. bound is the most by which that of the rows themselves can differ: 0 if cells are exact, NaN (unknown) if bins
// end inside a cell. Both are NaN if Reason gives a reason.
func (t *TCal) Value() (value, bound float64) {
	switch {
	case t.reason != "":
		bound = math.NaN()
	case !t.rows.Exact():
		if bound = 0x1p-47; !kernel.GridBins(t.chosen) {
			bound = math.NaN()
		}
	}
	return t.value, bound
}

// P returns the p-value of calibration: the probability of at least T_m if each outcome is drawn by its score, times Tests and at most 1. The
// scores stay as they are. The first three moments of T_m are then known exactly, and P is the tail of the gamma distribution (Pearson's type
// III) that has these three. So no outcomes are drawn, and P takes one walk over the cells for any number of rows. If the skewness is above 8, as where less than about a
// third of an event is expected in bins of several rows, P_m is the largest probability that the variance allows. In 3,000 calibrated sets of
// each of eleven laws the adaptive P was at most 5% in 0.2% to 3.9% of the sets and at most 1% in 0.2% to 1.0%, and that of a fixed number of
// bins in at most 6.1% and 1.4%.
//
// bound is 0 if cells are exact, otherwise NaN: unknown. P is NaN if Reason gives a reason.
func (t *TCal) P() (value, bound float64) {
	if t.reason != "" || !t.rows.Exact() {
		bound = math.NaN()
	}
	return t.p, bound
}

// Bins returns the number of bins: that given or, of the adaptive test, that with the smallest p-value. It is 0 if Reason gives a reason.
func (t *TCal) Bins() int { return t.chosen }

// Tests returns how many numbers of bins were tested. It is 0 if Reason gives a reason.
func (t *TCal) Tests() int { return t.tests }

// Reason says why there is no test: no rows, no pair of rows in a bin, weights, or scores outside [0,1]. It is "" if there is one.
func (t *TCal) Reason() string { return t.reason }
