package regress

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/draw"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// PITOptions are options of PIT.
type PITOptions struct {
	Bins   int       // number of equal bins, 1 to 1000; 0 means 20
	Seed   uint64    // for the random numbers
	Levels []float64 // of metrics.Quantiles, one per column: rising, each between 0 and 1; other kinds ignore them
	Law    Law       // of metrics.Normals; the zero value is the normal one
}

const (
	pitBins     = 20
	pitMostBins = 1000
)

// PIT accumulates the histogram of the probability integral transform u = F(y), the forecast probability of values at or
// below the observed one. For calibrated forecasts, u is uniform and every bin has density 1. High densities at both ends (a
// U shape) mean that forecasts are too narrow (overconfident); in the middle, that they are too wide; at the upper end, that
// they are too low; at the lower end, that they are too high. Bin j of B contains (j/B, (j+1)/B]; 0 is in the first.
//
// It is a metrics.Accumulator for these kinds, and panics for others:
//   - metrics.Normals: u = F(z), with z = (y - mean)/sd and F the CDF of PITOptions.Law.
//   - metrics.Samples: m samples cut the line into m+1 parts, and a calibrated forecast's y is equally likely in each. With
//     a samples below y and c above, u is drawn uniformly from (a/(m+1), (m+1-c)/(m+1)).
//   - metrics.Quantiles: u is drawn uniformly between the level of the highest quantile below y, or 0, and that of the
//     lowest above y, or 1. A row has as many quantiles as PITOptions.Levels.
//
// AddValues takes the u of any other forecasts. The random numbers are keyed by the seed and the row number in the whole
// set, so neither threads nor shards change them. Counts are exact. A state takes 8 bytes per bin, with weights about 60.
//
// Sources: Dawid 1984; Gneiting, Balabdaoui and Raftery 2007; randomization if F jumps: Czado, Gneiting and Held 2009.
type PIT struct {
	opt  PITOptions
	kind uint8     // what was added: pitNothing, pitValues, or pitKinds + the metrics.Kind
	ends []float64 // the law's quantiles at the inner edges of bins
	h    pitHistogram
}

const (
	pitNothing = iota
	pitValues
	pitKinds
)

var _ metrics.Accumulator = (*PIT)(nil)

// NewPIT returns an empty accumulator; o may be nil. It returns an error for invalid bins or levels.
func NewPIT(o *PITOptions) (*PIT, error) {
	p := &PIT{}
	if o != nil {
		p.opt = *o
		p.opt.Levels = slices.Clone(o.Levels)
	}
	if p.opt.Bins == 0 {
		p.opt.Bins = pitBins
	}
	if !p.opt.valid() {
		return nil, errors.New("regress: a PIT has 1 to 1,000 bins, and levels that rise between 0 and 1")
	}
	p.h.n = make([]int64, p.opt.Bins)
	return p, nil
}

func (o *PITOptions) valid() bool {
	last := 0.0
	for _, l := range o.Levels {
		if !(l > last && l < 1) {
			return false
		}
		last = l
	}
	return o.Bins >= 1 && o.Bins <= pitMostBins
}

// Needs returns NeedRows.
func (p *PIT) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows, with the same options.
func (p *PIT) Empty() metrics.Accumulator { return metrics.Must(NewPIT(&p.opt)) }

// Len returns the number of rows seen.
func (p *PIT) Len() int64 { return p.h.total.N }

// AddBlock adds a block's rows.
func (p *PIT) AddBlock(b *metrics.Block) {
	p.kind = pitKinds + uint8(b.Kind)
	p.h.begin(b.Weights != nil)
	switch b.Kind {
	case metrics.Normals:
		p.addNormal(b.Normal.Z[:b.Rows], b.Weights)
	case metrics.Samples:
		m := float64(b.Classes + 1)
		for i := range b.Rows {
			below, above := pitCounts(&b.Probs, i, b.Observed[i])
			p.h.put(p.bin(p.draw(float64(below)/m, (m-float64(above))/m, b.Number(i))), i, b.Weights)
		}
	case metrics.Quantiles:
		if len(p.opt.Levels) != b.Classes {
			panic("regress: a PIT of quantiles takes as many levels as a row has quantiles")
		}
		for i := range b.Rows {
			below, above := pitCounts(&b.Probs, i, b.Observed[i])
			lo, hi := 0.0, 1.0
			if below > 0 {
				lo = p.opt.Levels[below-1]
			}
			if above > 0 {
				hi = p.opt.Levels[b.Classes-above]
			}
			p.h.put(p.bin(p.draw(lo, hi, b.Number(i))), i, b.Weights)
		}
	default:
		panic(errPITKind)
	}
	p.h.total.Add(b.Rows, b.Weights)
}

// addNormal counts standardized errors. It compares them with quantiles, so the CDF is not needed.
func (p *PIT) addNormal(z, weights []float64) {
	if p.ends == nil {
		p.ends = make([]float64, p.opt.Bins-1)
		for i := range p.ends {
			p.ends[i] = p.opt.Law.Quantile(float64(i+1) / float64(p.opt.Bins))
		}
	}
	// The kernel compares with every edge. With more edges than this, a binary search is faster.
	const many = 100
	if weights != nil || len(p.ends) > many {
		for i, v := range z {
			bin, _ := slices.BinarySearch(p.ends, v)
			p.h.put(bin, i, weights)
		}
		return
	}
	var upTo [many]int64
	kernel.CountUpTo(upTo[:len(p.ends)], z, p.ends)
	last := int64(0)
	for i, n := range upTo[:len(p.ends)] {
		p.h.n[i] += n - last
		last = n
	}
	p.h.n[len(p.ends)] += int64(len(z)) - last
}

// bin returns the bin of u, which is in [0,1].
func (p *PIT) bin(u float64) int {
	b := p.opt.Bins
	return min(max(int(math.Ceil(float64(u*float64(b))))-1, 0), b-1)
}

func (p *PIT) draw(lo, hi float64, row int64) float64 { return RandomizedPIT(lo, hi, p.opt.Seed, row) }

// RandomizedPIT returns the transform for a distribution function that jumps at the observed value: a number drawn uniformly
// between below, the probability of smaller values, and at, the probability of values at or below the observed one. It is
// uniform if the forecast is calibrated. It depends only on the arguments, including seed and row number.
//
// Source: Czado, Gneiting and Held 2009.
func RandomizedPIT(below, at float64, seed uint64, row int64) float64 {
	return below + float64((at-below)*draw.New(seed, uint64(row)).Uniform())
}

// AddValues adds rows of any forecasts by their u = F(y). weights may be nil; otherwise a weight is 0 for an absent row, or
// from 2^-32 to 2^32. It returns an error and adds nothing if a u is outside [0,1], if a weight is invalid, if rows of a
// metrics.Kind were added before, or if the earlier rows differ in having weights. It panics if weights and u differ in
// length.
func (p *PIT) AddValues(u, weights []float64) error {
	if weights != nil && len(weights) != len(u) {
		panic("regress: weights and values differ in number")
	}
	for i, v := range u {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("regress: value %d is %v: a probability integral transform lies in [0,1]", i, v)
		}
		if weights != nil {
			if w := weights[i]; w != 0 && !(w >= 0x1p-32 && w <= 0x1p32) {
				return fmt.Errorf("regress: weight %d is %v: weights are 0, or from 2^-32 to 2^32", i, w)
			}
		}
	}
	if p.kind > pitValues || p.kind == pitValues && p.h.weighted != (weights != nil) {
		return fmt.Errorf("%w: regress.PIT: values and weights do not match those added before: other forecasts, or weights on one side only", metrics.ErrMismatch)
	}
	p.addValues(u, weights)
	return nil
}

func (p *PIT) addValues(u, weights []float64) {
	for i, v := range u {
		var one []float64
		if weights != nil {
			if weights[i] == 0 {
				continue
			}
			one = weights[i : i+1]
		}
		p.kind = pitValues
		p.h.begin(one != nil)
		p.h.put(p.bin(v), 0, one)
		p.h.total.Add(1, one)
	}
}

// Merge adds what another *PIT has seen.
func (p *PIT) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*PIT](pitFormat, a)
	switch {
	case err != nil:
		return err
	case p.opt.Bins != o.opt.Bins:
		return state.Mismatch(pitFormat, "of %d bins and of %d", p.opt.Bins, o.opt.Bins)
	case p.opt.Seed != o.opt.Seed:
		return state.Mismatch(pitFormat, "of seed %d and of %d", p.opt.Seed, o.opt.Seed)
	case !slices.Equal(p.opt.Levels, o.opt.Levels):
		return state.Mismatch(pitFormat, "of different levels")
	case p.opt.Law != o.opt.Law:
		return alikeLaws(p.opt.Law, o.opt.Law, pitFormat)
	case o.Len() == 0:
		return nil
	case p.Len() > 0 && p.kind != o.kind:
		return state.Mismatch(pitFormat, "of %s and of %s", pitKindName(p.kind), pitKindName(o.kind))
	case p.Len() > 0 && p.h.weighted != o.h.weighted:
		return state.Mismatch(pitFormat, "with and without weights")
	}
	p.kind = o.kind
	p.h.merge(&o.h)
	return nil
}

func pitKindName(k uint8) string {
	if k < pitKinds {
		return "values"
	}
	return metrics.Kind(k - pitKinds).String()
}

// PITBin is a bin of the histogram of PIT.
type PITBin struct {
	Lower, Upper float64 // Lower < u <= Upper
	Count        int64   // of rows
	Weight       float64 // of rows; Count without weights
	Density      float64 // share of the weight, divided by Upper - Lower; 1 if forecasts are calibrated

	Low, High         float64 // Wilson's interval of the density
	BandLow, BandHigh float64 // contains the density of one bin if forecasts are calibrated, for this number of rows
}

// Histogram returns the bins, with intervals and bands of a level between 0 and 1. Bands are 1 +- z sqrt((B-1)/n), for each
// bin on its own. With weights, intervals and bands use the effective number of rows (sum w)^2/sum w^2. Densities, intervals
// and bands are NaN without rows.
func (p *PIT) Histogram(level float64) []PITBin {
	n := float64(p.opt.Bins)
	bins := make([]PITBin, p.opt.Bins)
	for i := range bins {
		b := &bins[i]
		b.Lower, b.Upper, b.Count = float64(i)/n, float64(i+1)/n, p.h.n[i]
		var share float64
		b.Weight, share = p.h.weight(i)
		d, ci, band := p.h.density(share, 1/n, level)
		b.Density, b.Low, b.High, b.BandLow, b.BandHigh = d, ci.Low, ci.High, band.Low, band.High
	}
	return bins
}

// P returns the p-value of Pearson's chi-square test that u is uniform,
//
//	X^2 = n B sum_j (f_j - 1/B)^2, with B-1 degrees of freedom
//
// where f_j is a bin's share of the weight and n the number of rows. With weights, n is the effective number (sum w)^2/sum
// w^2, and the distribution is approximate. A small value is evidence that forecasts are not calibrated. A large value only
// means that these rows do not show it. Dependent rows, as in a time series, make it too small. It is NaN if there is a
// Reason.
func (p *PIT) P() float64 {
	if p.Reason() != "" {
		return math.NaN()
	}
	e := 1 / float64(p.opt.Bins)
	return tails.ChiSquare(p.h.chiSquare(func(int) float64 { return e }), p.opt.Bins-1)
}

// Reason returns the reason why P is NaN, or "" if it is not: no rows, one bin, or fewer than 5 rows per bin.
func (p *PIT) Reason() string { return p.h.reason(1 / float64(p.opt.Bins)) }

// Mean returns the mean of u from the histogram, with each row at the middle of its bin. It is 1/2 if forecasts are
// calibrated, and above 1/2 if they are too low. It returns NaN without rows.
func (p *PIT) Mean() float64 {
	m, n := 0.0, float64(p.opt.Bins)
	for i := range p.h.n {
		_, share := p.h.weight(i)
		m += float64(share * ((float64(i) + 0.5) / n))
	}
	return m
}

// Variance returns the variance of u from the histogram, with rows spread evenly over their bins. It is 1/12 if forecasts
// are calibrated, below that if they are too wide, and above it if they are too narrow. It returns NaN without rows.
func (p *PIT) Variance() float64 {
	m, n := p.Mean(), float64(p.opt.Bins)
	v := 1 / float64(12*n*n)
	for i := range p.h.n {
		_, share := p.h.weight(i)
		d := (float64(i)+0.5)/n - m
		v += float64(share * float64(d*d))
	}
	return v
}

var pitFormat = exact.Format{Name: "regress.PIT", Magic: "cPIT", Version: 2}

func (p *PIT) fields(f *exact.Fields) {
	bins, weighted := uint16(p.opt.Bins), p.h.weighted
	f.U16(&bins)
	f.U64(&p.opt.Seed)
	levelFields(f, &p.opt.Levels)
	p.opt.Law.fields(f)
	exact.Byte(f, &p.kind)
	f.Flags(&weighted)
	p.opt.Bins = int(bins)
	known := p.kind == pitNothing || p.kind == pitValues
	for _, k := range []metrics.Kind{metrics.Normals, metrics.Samples, metrics.Quantiles} {
		known = known || p.kind == pitKinds+uint8(k)
	}
	if f.Must(p.opt.valid() && known && !(p.kind == pitNothing && weighted), exact.OutOfRange); !f.OK() {
		return
	}
	p.h.fields(f, p.opt.Bins, weighted)
	f.Must((p.kind == pitNothing) == (p.h.total.N == 0), exact.OutOfRange)
}

// AppendBinary appends the state.
func (p *PIT) AppendBinary(dst []byte) ([]byte, error) {
	return pitFormat.Append(dst, p.fields)
}

// UnmarshalBinary replaces p, including its options, with a state that AppendBinary wrote.
func (p *PIT) UnmarshalBinary(data []byte) error {
	return exact.Replace(pitFormat, data, p, (*PIT).fields)
}
