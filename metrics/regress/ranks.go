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
	Bins int    // the most that there are, 1 to 1000; 0 means 1000
	Seed uint64 // of the random numbers
}

const rankMostBins = 1000

// Ranks accumulates the rank histogram of samples (Talagrand diagram): the rank of the observed number among the M samples
// of its row, from 0, below all, to M, above all. If the observed number is a draw from the same distribution as the
// samples, all M+1 ranks are equally likely and every density 1. Ranks high at both ends (U) say that samples are too close
// together, high in the middle that they are too far apart, high at the upper end that they are too low, at the lower end
// too high. Among samples equal to it, the observed number's place is drawn, each equally likely; the draw is keyed by the
// seed and the row's number in the whole set, so neither threads nor shards change it.
//
// Each rank has a bin if M+1 is not above RankOptions.Bins. Otherwise there are as many bins as the largest divisor of M+1
// between half of RankOptions.Bins and it, or, if there is none, RankOptions.Bins: bin g has the ranks r with
// floor(r*bins/(M+1)) = g, of which some have one more than others.
//
// It is a metrics.Accumulator of the kind metrics.Samples, and panics if it is fed another. The time for a row grows as M.
// Counts are exact; a state takes 8 bytes a bin, with weights about 60.
//
// Sources: Talagrand, Vautard and Strauss 1997; Hamill 2001.
type Ranks struct {
	opt     RankOptions
	samples int // of a row; 0 before the first
	h       pitHistogram
}

var _ metrics.Accumulator = (*Ranks)(nil)

const errRankKind = "regress: ranks are those of samples"

// NewRanks returns an empty accumulator; o may be nil. A number of bins that RankOptions does not allow is an error.
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

// Needs says that the samples themselves are wanted.
func (r *Ranks) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator of the same options without rows.
func (r *Ranks) Empty() metrics.Accumulator { return metrics.Must(NewRanks(&r.opt)) }

// Len returns the number of rows seen.
func (r *Ranks) Len() int64 { return r.h.total.N }

// Samples returns how many samples a row has, 0 before the first.
func (r *Ranks) Samples() int { return r.samples }

// rankBins returns how many bins there are of ranks, of which there are so many.
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

// first returns the lowest rank of a bin: of the one after the last, M+1.
func (r *Ranks) first(bin int) int {
	n := len(r.h.n)
	return int((int64(bin)*int64(r.samples+1) + int64(n) - 1) / int64(n))
}

// share returns the part of all ranks that is in a bin.
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
	First, Last int     // ranks, both of them in it
	Count       int64   // of rows
	Weight      float64 // of rows: Count without weights
	Density     float64 // the share of the weight, divided by the bin's share of the ranks: 1 where forecasts are calibrated

	Low, High         float64 // Wilson's interval of the density
	BandLow, BandHigh float64 // what holds the density of one bin of a calibrated forecast, so many rows given
}

// Histogram returns the bins, none without rows, with intervals and bands of a level between 0 and 1; of weighted rows these
// take the effective number (sum w)^2/sum w^2. The bands are 1 +- z sqrt((1-q)/(n q)), q being the bin's share of the ranks,
// for each bin on its own.
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
// where f_g is a bin's share of the weight, q_g of the ranks, and n the number of rows; for weighted rows the effective
// number (sum w)^2/sum w^2, which makes the law an approximation. A small value says that samples are not calibrated; a
// large one that these rows do not show it. NaN where Reason says why. Rows that depend on each other, such as of a time
// series, make it too small.
func (r *Ranks) P() float64 {
	if r.Reason() != "" {
		return math.NaN()
	}
	return tails.ChiSquare(r.h.chiSquare(r.share), len(r.h.n)-1)
}

// Reason says why P is NaN: no rows, one bin, or fewer than 5 rows a bin. It is "" where there is a P.
func (r *Ranks) Reason() string {
	least := 1.0
	for i := range r.h.n {
		least = math.Min(least, r.share(i))
	}
	return r.h.reason(least)
}

// RankShape is what of a rank histogram's distance from a flat one is a slope, and what a bend: two parts of P's X^2, each
// the square of a number that is standard normal if forecasts are calibrated. They find either fault in far fewer rows than
// P.
type RankShape struct {
	Slope, SlopeP float64 // above 0: samples are too low, below 0: too high; and the two-sided p-value
	Bend, BendP   float64 // above 0 (U-shaped): samples are too close together, below 0: too far apart; and the two-sided p-value
}

// Shape returns the parts: with s_g the mean rank of bin g, that in the direction of s, and that in the direction of |s -
// M/2| less its projection on s. NaN without rows; of one bin both, of two the bend.
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

// UnmarshalBinary replaces r, options and all, by what AppendBinary wrote.
func (r *Ranks) UnmarshalBinary(data []byte) error {
	return exact.Replace(ranksFormat, data, r, (*Ranks).fields)
}
