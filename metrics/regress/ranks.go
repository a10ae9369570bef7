package regress

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/draw"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// RankOptions are options of Ranks.
type RankOptions struct {
	Bins int    // the most bins, 1 to 1000; 0 means 1000
	Seed uint64 // for the random numbers
}

const rankMostBins = 1000

// Ranks accumulates the rank histogram of samples (Talagrand diagram). The rank of the observed value among the M samples of
// its row goes from 0, below all of them, to M, above all of them. If the observed value is a draw from the same
// distribution as the samples, all M+1 ranks are equally likely and every density is 1. High densities at both ends (a U
// shape) mean that samples are too close together; in the middle, that they are too far apart; at the upper end, that they
// are too low; at the lower end, that they are too high. If samples equal the observed value, its rank is drawn uniformly
// from the possible ones. The draw is keyed by the seed and the row number in the whole set, so neither threads nor shards
// change it.
//
// If M+1 is at most RankOptions.Bins, each rank has its own bin. Otherwise the number of bins is the largest divisor of M+1
// that is above half of RankOptions.Bins and at most RankOptions.Bins, or RankOptions.Bins itself if there is no such
// divisor. Bin g has the ranks r with floor(r*bins/(M+1)) = g, so some bins may have one rank more than others.
//
// It is a metrics.Accumulator of metrics.Samples, and panics for another kind. The time for a row is proportional to M.
// Counts are exact. A state takes 8 bytes per bin, with weights about 60.
//
// Sources: Talagrand, Vautard and Strauss 1997; Hamill 2001.
type Ranks struct {
	opt     RankOptions
	samples int // per row; 0 before the first row
	h       pitHistogram
}

var _ metrics.Accumulator = (*Ranks)(nil)

const errRankKind = "regress: ranks are those of samples"

// NewRanks returns an empty accumulator; o may be nil. It returns an error for an invalid number of bins.
func NewRanks(o *RankOptions) (*Ranks, error) {
	r := &Ranks{}
	if o != nil {
		r.opt = *o
	}
	if r.opt.Bins == 0 {
		r.opt.Bins = rankMostBins
	}
	if r.opt.Bins < 1 || r.opt.Bins > rankMostBins {
		return nil, fmt.Errorf("regress: %d bins of ranks; there are 1 to %d", r.opt.Bins, rankMostBins)
	}
	return r, nil
}

// Needs returns NeedRows.
func (r *Ranks) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows, with the same options.
func (r *Ranks) Empty() metrics.Accumulator { return metrics.Must(NewRanks(&r.opt)) }

// Len returns the number of rows seen.
func (r *Ranks) Len() int64 { return r.h.total.N }

// Samples returns the number of samples per row, or 0 before the first row.
func (r *Ranks) Samples() int { return r.samples }

// rankBins returns the number of bins for a number of ranks.
func rankBins(ranks, most int) int {
	if ranks <= most {
		return ranks
	}
	for n := most; 2*n > most; n-- {
		if ranks%n == 0 {
			return n
		}
	}
	return most
}

// first returns the lowest rank of a bin, or M+1 for the bin after the last.
func (r *Ranks) first(bin int) int {
	n := len(r.h.n)
	return int((int64(bin)*int64(r.samples+1) + int64(n) - 1) / int64(n))
}

// share returns the bin's share of all ranks.
func (r *Ranks) share(bin int) float64 {
	return float64(r.first(bin+1)-r.first(bin)) / float64(r.samples+1)
}

// AddBlock adds a block's rows.
func (r *Ranks) AddBlock(b *metrics.Block) {
	if b.Kind != metrics.Samples {
		panic(errRankKind)
	}
	if r.samples == 0 {
		r.samples = b.Classes
		r.h.n = make([]int64, rankBins(b.Classes+1, r.opt.Bins))
	}
	r.h.begin(b.Weights != nil)
	bins, ranks := int64(len(r.h.n)), int64(b.Classes+1)
	for i := range b.Rows {
		below, above := pitCounts(&b.Probs, i, b.Observed[i])
		if ties := b.Classes - below - above; ties > 0 {
			below += int(draw.New(r.opt.Seed, uint64(b.Number(i))).Below(uint64(ties + 1)))
		}
		r.h.put(int(int64(below)*bins/ranks), i, b.Weights)
	}
	r.h.total.Add(b.Rows, b.Weights)
}

// Merge adds what another *Ranks has seen.
func (r *Ranks) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Ranks](ranksFormat, a)
	switch {
	case err != nil:
		return err
	case r.opt.Bins != o.opt.Bins:
		return state.Mismatch(ranksFormat, "of at most %d bins and of %d", r.opt.Bins, o.opt.Bins)
	case r.opt.Seed != o.opt.Seed:
		return state.Mismatch(ranksFormat, "of seed %d and of %d", r.opt.Seed, o.opt.Seed)
	case o.samples == 0:
		return nil
	case r.samples != 0 && r.samples != o.samples:
		return state.Mismatch(ranksFormat, "of %d samples a row and of %d", r.samples, o.samples)
	case r.samples != 0 && r.h.weighted != o.h.weighted:
		return state.Mismatch(ranksFormat, "with and without weights")
	}
	if r.samples == 0 {
		r.samples = o.samples
		r.h.n = make([]int64, len(o.h.n))
	}
	r.h.merge(&o.h)
	return nil
}

// RankBin is a bin of the histogram of Ranks.
type RankBin struct {
	First, Last int     // ranks, both included
	Count       int64   // of rows
	Weight      float64 // of rows; Count without weights
	Density     float64 // share of the weight, divided by the bin's share of the ranks; 1 if forecasts are calibrated

	Low, High         float64 // Wilson's interval of the density
	BandLow, BandHigh float64 // contains the density of one bin if forecasts are calibrated, for this number of rows
}

// Histogram returns the bins, with intervals and bands of a level between 0 and 1. Bands are 1 +- z sqrt((1-q)/(n q)), where
// q is the bin's share of the ranks, for each bin on its own. With weights, intervals and bands use the effective number of
// rows (sum w)^2/sum w^2. It returns no bins without rows.
func (r *Ranks) Histogram(level float64) []RankBin {
	bins := make([]RankBin, len(r.h.n))
	for i := range bins {
		b := &bins[i]
		b.First, b.Last, b.Count = r.first(i), r.first(i+1)-1, r.h.n[i]
		var share float64
		b.Weight, share = r.h.weight(i)
		d, ci, band := r.h.density(share, r.share(i), level)
		b.Density, b.Low, b.High, b.BandLow, b.BandHigh = d, ci.Low, ci.High, band.Low, band.High
	}
	return bins
}

// P returns the p-value of Pearson's chi-square test that all ranks are equally likely,
//
//	X^2 = n sum_g (f_g - q_g)^2/q_g, with one degree of freedom less than there are bins
//
// where f_g is a bin's share of the weight, q_g its share of the ranks, and n the number of rows. With weights, n is the
// effective number (sum w)^2/sum w^2, and the distribution is approximate. A small value is evidence that samples are not
// calibrated. A large value only means that these rows do not show it. Dependent rows, as in a time series, make it too
// small. It is NaN if there is a Reason.
func (r *Ranks) P() float64 {
	if r.Reason() != "" {
		return math.NaN()
	}
	return tails.ChiSquare(r.h.chiSquare(r.share), len(r.h.n)-1)
}

// Reason returns the reason why P is NaN, or "" if it is not: no rows, one bin, or fewer than 5 rows per bin.
func (r *Ranks) Reason() string {
	least := 1.0
	for i := range r.h.n {
		least = math.Min(least, r.share(i))
	}
	return r.h.reason(least)
}

// RankShape measures the slope and the bend of a rank histogram. They are two components of P's X^2, each the square of a
// number that is standard normal if forecasts are calibrated. They detect either fault with far fewer rows than P.
type RankShape struct {
	Slope, SlopeP float64 // above 0: samples are too low; below 0: too high; with a two-sided p-value
	Bend, BendP   float64 // above 0 (U-shaped): samples are too close together; below 0: too far apart; with a two-sided p-value
}

// Shape returns slope and bend. With s_g the mean rank of bin g, the slope is the component in the direction of s, and the
// bend that in the direction of |s - M/2| minus its projection on s. Both are NaN without rows and with one bin; with two
// bins, the bend is NaN.
//
// Source: Jolliffe and Primo 2008.
func (r *Ranks) Shape() RankShape {
	n := len(r.h.n)
	line, bend := make([]float64, n), make([]float64, n)
	for i := range line {
		line[i] = float64(float64(r.first(i)+r.first(i+1)-1)/2) - float64(float64(r.samples)/2)
		bend[i] = math.Abs(line[i])
	}
	dot := func(a, b []float64) float64 {
		s := 0.0
		for i := range a {
			s += float64(r.share(i) * float64(a[i]*b[i]))
		}
		return s
	}
	one := make([]float64, n)
	for i := range one {
		one[i] = 1
	}
	without := func(a, b []float64) {
		if bb := dot(b, b); bb > 0 {
			f := dot(a, b) / bb
			for i := range a {
				a[i] -= float64(f * b[i])
			}
		}
	}
	without(line, one)
	without(bend, one)
	without(bend, line)
	along := func(a []float64) (z, p float64) {
		s := 0.0
		for i := range a {
			_, share := r.h.weight(i)
			s += float64((share - r.share(i)) * a[i])
		}
		size := dot(a, a)
		if !(size > 1e-18*float64(r.samples)*float64(r.samples)) {
			return math.NaN(), math.NaN()
		}
		z = s * math.Sqrt(r.h.rows()/size)
		return z, 2 * kernel.NormCDF64(-math.Abs(z))
	}
	var s RankShape
	s.Slope, s.SlopeP = along(line)
	s.Bend, s.BendP = along(bend)
	return s
}

var ranksFormat = exact.Format{Name: "regress.Ranks", Magic: "cRKH", Version: 1}

func (r *Ranks) fields(f *exact.Fields) {
	most, weighted, bins := uint16(r.opt.Bins), r.h.weighted, 0
	f.U16(&most)
	f.U64(&r.opt.Seed)
	f.Int(&r.samples)
	f.Flags(&weighted)
	r.opt.Bins = int(most)
	f.Must(r.opt.Bins >= 1 && r.opt.Bins <= rankMostBins && r.samples < math.MaxInt32 && (r.samples > 0 || !weighted), exact.OutOfRange)
	if !f.OK() {
		return
	}
	if r.samples > 0 {
		bins = rankBins(r.samples+1, r.opt.Bins)
	}
	r.h.fields(f, bins, weighted)
	f.Must((r.samples == 0) == (r.h.total.N == 0), exact.OutOfRange)
}

// AppendBinary appends the state.
func (r *Ranks) AppendBinary(dst []byte) ([]byte, error) {
	return ranksFormat.Append(dst, r.fields)
}

// UnmarshalBinary replaces r, including its options, with a state that AppendBinary wrote.
func (r *Ranks) UnmarshalBinary(data []byte) error {
	return exact.Replace(ranksFormat, data, r, (*Ranks).fields)
}
