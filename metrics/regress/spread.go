package regress

import (
	"math"
	"math/big"
	"math/bits"
	"unsafe"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/state"
)

// SpreadBins is the number of bins where none is asked for.
const SpreadBins = 15

// MaxExactSpreads is the number of distinct standard deviations up to which a Spread keeps each for itself.
const MaxExactSpreads = cells.MaxExact

// Spread accumulates the errors of normal forecasts by their standard deviations: predictions of the kind metrics.Normals.
// From one state it answers, for any number of bins, whether the errors are as large as the standard deviations say: Bins,
// ENCE and UCE. It is a metrics.Accumulator, and panics if it is fed another kind.
//
// Each distinct standard deviation has sums of its own while there are at most MaxExactSpreads of them. Beyond that as many
// of the last bits of their binary forms are left out as it takes to have no more, which depends on the set of rows alone:
// not on their order, on threads or on shards. Then bins end where such cells do, which are GridStep wide at most, and all
// else stays as it was. Squares are summed without a rounding but their own: to float64, and that of an error, times its
// weight, to 2^-88 of the square of the power of two below its standard deviation. They may be of numbers of any size.
//
// It takes 80 bytes for each cell, 144 with weights, thus at most 20 MiB or 36 MiB, and some 6 MiB besides where rows are
// many; its state takes some 50 bytes for each, with weights 80.
type Spread struct {
	kept     int64 // rows in the table
	seen     bool
	weighted bool
	table    spreadTable
	log      spreadLog
}

var _ metrics.Accumulator = (*Spread)(nil)

// NewSpread returns an empty accumulator.
func NewSpread() *Spread { return &Spread{} }

// Needs says that the columns of every block are enough.
func (s *Spread) Needs() metrics.Need { return 0 }

// Size returns about how many bytes it takes.
func (s *Spread) Size(x metrics.Extent) int64 {
	log, cell := int64(spreadShortLog), int64(8+unsafe.Sizeof(spreadCell{}))
	for log < x.Distinct(1<<spreadLogBits) {
		log = min(4*log, 1<<spreadLogBits)
	}
	row := int64(unsafe.Sizeof(spreadRow{})) + 24
	if x.Weighted {
		cell += int64(unsafe.Sizeof(spreadHeavy{}))
		row += 8
	}
	return log*row + (x.Distinct(MaxExactSpreads)*5/4+x.Distinct(spreadOthers))*cell
}

// Empty returns an accumulator without rows.
func (s *Spread) Empty() metrics.Accumulator { return NewSpread() }

// Len returns the number of rows seen.
func (s *Spread) Len() int64 { return s.kept + int64(len(s.log.rows)) }

// Exact tells whether each distinct standard deviation has sums of its own.
func (s *Spread) Exact() bool {
	s.settle()
	return s.table.coarse == 0
}

// GridStep returns how wide a cell is, as a share of the standard deviations in it, at most: 0 where Exact.
func (s *Spread) GridStep() float64 {
	if s.Exact() {
		return 0
	}
	return math.Ldexp(1, int(s.table.coarse)-52)
}

// Cells returns the number of cells that have rows: where Exact, of distinct standard deviations.
func (s *Spread) Cells() int {
	s.settle()
	return len(s.table.keys)
}

const errSpreadKind = "regress: Spread takes predictions of the kind normals"

// AddBlock adds a block's rows.
func (s *Spread) AddBlock(b *metrics.Block) {
	if b.Kind != metrics.Normals {
		panic(errSpreadKind)
	}
	s.seen, s.weighted = s.seen || b.Rows > 0, b.Weights != nil
	e, sd, weights := b.Normal.Error[:b.Rows], b.Normal.SD[:b.Rows], b.Weights
	for len(e) > 0 {
		n := min(s.log.room(len(e)), len(e))
		if n == 0 {
			s.settle()
			continue
		}
		if weights == nil {
			s.log.add(e[:n], sd[:n], nil)
		} else {
			s.log.add(e[:n], sd[:n], weights[:n])
			weights = weights[n:]
		}
		e, sd = e[n:], sd[n:]
	}
}

// settle adds the rows of the log to the table.
func (s *Spread) settle() {
	if n := len(s.log.rows); n > 0 {
		s.table.addLog(&s.log)
		s.kept += int64(n)
	}
}

// Merge adds what another *Spread has seen.
func (s *Spread) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Spread](spreadFormat, a)
	switch {
	case err != nil:
		return err
	case !o.seen:
		return nil
	case s.seen && s.weighted != o.weighted:
		return state.Mismatch(spreadFormat, "with and without weights")
	}
	s.seen, s.weighted = true, o.weighted
	s.settle()
	o.settle()
	s.log, o.log = spreadLog{}, spreadLog{} // they are empty, and their memory is better used for the merge
	s.kept += o.kept
	s.table.merge(&o.table)
	return nil
}

// SpreadBin is a bin of rows with standard deviations that are next to each other: a point of the picture of RMSE against
// RMV, which lies on the diagonal where the spread that is stated is the one that errors have.
type SpreadBin struct {
	Lower, Upper float64 // the least standard deviation and the largest; where not Exact the ends of their cells
	Count        int64   // rows
	Weight       float64 // the sum of their weights, without weights Count
	RMV          float64 // root of the mean variance, sqrt(mean sd^2)
	RMSE         float64 // root of the mean squared error, sqrt(mean e^2)
	noise        float64 // standard error of mean e^2, as a share of it; NaN if not known
}

// Interval returns that of RMSE: with s the standard deviation of e^2 in the bin, the roots of mean e^2 +- z*s/sqrt(Count),
// of 0 if that is below it. There is none for fewer than two rows, for rows with weights, and where the sum of fourth powers
// is not known, which takes errors of some 10,000 times the standard deviation, or all of them below its 10,000th.
func (b SpreadBin) Interval(level float64) metrics.Interval {
	i := metrics.Normal(1, b.noise, level)
	return metrics.Interval{Low: float64(b.RMSE * math.Sqrt(math.Max(0, i.Low))), High: float64(b.RMSE * math.Sqrt(i.High))}
}

// Bins returns the bins of as equal numbers of rows as can be, in rising order of the standard deviation: of N rows, sorted,
// the first N mod n bins have one row more than the others, as numpy's array_split has it, and equal standard deviations are
// never divided: a bin begins with the first row of the standard deviation that the row it would begin with has (ties go
// right). Bins that have no rows thereby are left out. With weights the ranks are those of the sum of weights, in units of
// their mean. n is 15 if it is 0; it panics if n is below 0. nil without rows.
func (s *Spread) Bins(n int) []SpreadBin {
	s.settle()
	var bins []SpreadBin
	all := s.cut(n)
	for i := range all {
		bins = append(bins, all[i].bin(s))
	}
	return bins
}

// ENCE returns the expected normalised calibration error over Bins(n), 0 is best: the mean over the bins that have rows of
//
//	|RMV - RMSE| / RMV
//
// Each bin counts as much as any other. NaN without rows. It has no interval: an absolute value is above 0 by chance alone,
// by an amount that depends on the tails of the errors, and resampling the rows adds to that what it should measure.
//
// Source: Levi, Gispan, Giladi and Fetaya 2022.
func (s *Spread) ENCE(n int) float64 {
	bins := s.Bins(n)
	sum := 0.0
	for _, b := range bins {
		sum += math.Abs(b.RMV-b.RMSE) / b.RMV
	}
	return sum / float64(len(bins))
}

// UCE returns the uncertainty calibration error over Bins(n), 0 is best, in the unit of the variance: with W_b the number of
// a bin's rows, or the sum of their weights,
//
//	sum (W_b/W) |mean sd^2 - mean e^2|
//
// NaN without rows; +Inf where it is beyond float64. It has no interval, for the reason that ENCE has none.
//
// Source: Laves, Ihler, Fast, Kahrs and Ortmaier 2020.
func (s *Spread) UCE(n int) float64 {
	s.settle()
	if s.kept == 0 {
		return math.NaN()
	}
	total := s.total()
	sum := new(big.Rat)
	all := s.cut(n)
	for i := range all {
		sum.Add(sum, all[i].gap())
	}
	v, _ := sum.Quo(sum, exact.Rat(&total)).Float64()
	return v
}

// total returns the sum of the weights: the number of rows where there are none.
func (s *Spread) total() (t exact.Sum) {
	if !s.weighted {
		t.AddShifted(s.kept, 88)
		return t
	}
	for i := range s.table.heavy {
		t.Merge(&s.table.heavy[i].w)
	}
	return t
}

const errSpreadBins = "regress: a number of bins is below 0"

// cut returns the sums of the bins that have rows.
func (s *Spread) cut(n int) []spreadSums {
	if n < 0 {
		panic(errSpreadBins)
	}
	if n == 0 {
		n = SpreadBins
	}
	t := &s.table
	var all []spreadSums
	starts := s.starts(n)
	for i := range t.keys {
		if i == 0 || starts(i) {
			all = append(all, spreadSums{first: i})
		}
		all[len(all)-1].add(t, i)
	}
	return all
}

// starts returns a function that tells, of one cell after another, whether the first row of a bin is in it.
func (s *Spread) starts(n int) func(i int) bool {
	each, more := s.kept/int64(n), s.kept%int64(n)
	rank := func(j int64) int64 { return j*each + min(j, more) }
	j, seen := int64(1), int64(0)
	if !s.weighted {
		at := 0
		return func(i int) (starts bool) {
			for ; at <= i; at++ {
				seen += s.table.cells[at].n
			}
			for ; j < int64(n) && rank(j) < seen; j++ {
				starts = true
			}
			return starts
		}
	}
	var sum exact.Sum
	total := s.total()
	mean := total.Float64() / float64(s.kept)
	at := 0
	return func(i int) (starts bool) {
		for ; at <= i; at++ {
			sum.Merge(&s.table.heavy[at].w)
		}
		for ; j < int64(n) && spreadPasses(&sum, &total, rank(j), s.kept, mean); j++ {
			starts = true
		}
		return starts
	}
}

// spreadPasses tells whether sum > total*r/n, mean being total/n: exactly, so that equal weights cut as none do.
func spreadPasses(sum, total *exact.Sum, r, n int64, mean float64) bool {
	s, t := sum.Float64(), float64(mean*float64(r))
	if math.Abs(s-t) > 1e-9*t {
		return s > t
	}
	left, right := exact.Rat(sum), exact.Rat(total)
	return left.Mul(left, new(big.Rat).SetInt64(n)).Cmp(right.Mul(right, new(big.Rat).SetInt64(r))) > 0
}

// spreadSums is the sums of a bin's cells, by the powers of two that their squares are divided by.
type spreadSums struct {
	first, last int // cells
	n           int64
	w           exact.Sum // with weights
	sd2, e2, e4 []spreadScaled
	over        bool // e4 is not known
}

// spreadScaled is a sum in units of 2^scale.
type spreadScaled struct {
	scale int
	sum   exact.Sum
}

// spreadAt returns the sum of a scale.
func spreadAt(l *[]spreadScaled, scale int) *exact.Sum {
	for i := len(*l) - 1; i >= 0; i-- {
		if (*l)[i].scale == scale {
			return &(*l)[i].sum
		}
	}
	*l = append(*l, spreadScaled{scale: scale})
	return &(*l)[len(*l)-1].sum
}

// add adds cell i of a table.
func (b *spreadSums) add(t *spreadTable, i int) {
	b.last = i
	c := &t.cells[i]
	scale := 2 * spreadExponent(t.keys[i]<<t.coarse)
	b.n += c.n
	sd2 := spreadAt(&b.sd2, scale)
	if t.heavy != nil {
		b.w.Merge(&t.heavy[i].w)
		sd2.Merge(&t.heavy[i].sd2)
	} else {
		c.sd2.addTo(sd2)
		c.e4.addTo(spreadAt(&b.e4, 2*scale))
		b.over = b.over || c.e4.over()
	}
	spreadAt(&b.e2, scale).Merge(&c.e2)
	for class := range t.far {
		if far := t.far[class][t.keys[i]]; far != nil {
			spreadAt(&b.e2, scale+2*spreadFar*(class+1)).Merge(far)
			b.over = true
		}
	}
}

// spreadTotal returns the sum over all scales.
func spreadTotal(l []spreadScaled) *big.Rat {
	sum := new(big.Rat)
	for i := range l {
		r := exact.Rat(&l[i].sum)
		p := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(max(l[i].scale, -l[i].scale))))
		if l[i].scale < 0 {
			p.Inv(p)
		}
		sum.Add(sum, r.Mul(r, p))
	}
	return sum
}

// gap returns |sum sd^2 - sum e^2|, with weights of the products.
func (b *spreadSums) gap() *big.Rat {
	g := spreadTotal(b.sd2)
	g.Sub(g, spreadTotal(b.e2))
	return g.Abs(g)
}

// bin returns what is known of the bin.
func (b *spreadSums) bin(s *Spread) SpreadBin {
	low, _ := s.table.span(b.first)
	_, high := s.table.span(b.last)
	r := SpreadBin{Lower: spreadValue(low), Upper: spreadValue(high), Count: b.n, Weight: float64(b.n)}
	w := new(big.Rat).SetInt64(b.n)
	if s.weighted {
		r.Weight, w = b.w.Float64(), exact.Rat(&b.w)
	}
	r.RMV, r.RMSE = spreadRoot(spreadTotal(b.sd2), w), spreadRoot(spreadTotal(b.e2), w)
	r.noise = b.noise()
	return r
}

// noise returns the standard error of the mean of e^2, as a share of it: sqrt((n sum e^4 - (sum e^2)^2) / (n-1)) / sum e^2.
func (b *spreadSums) noise() float64 {
	square := spreadTotal(b.e2)
	if b.e4 == nil || b.over || b.n < 2 || square.Sign() == 0 {
		return math.NaN()
	}
	square.Mul(square, square)
	v := spreadTotal(b.e4)
	v.Mul(v, new(big.Rat).SetInt64(b.n))
	if v.Sub(v, square).Sign() < 0 {
		// By Cauchy and Schwarz it is by rounding alone: that of equal errors, or of such small ones that it is all there
		// is.
		if r, _ := new(big.Rat).Quo(v, square).Float64(); r < -1e-6 {
			return math.NaN()
		}
		return 0
	}
	v.Quo(v, new(big.Rat).SetInt64(b.n-1))
	return spreadRoot(v, square)
}

// spreadRoot returns sqrt(sum/w).
func spreadRoot(sum, w *big.Rat) float64 {
	q := new(big.Float).SetPrec(128).SetRat(sum.Quo(sum, w))
	v, _ := q.Sqrt(q).Float64()
	return v
}

var spreadFormat = exact.Format{Name: "regress.Spread", Magic: "cSPR", Version: 1}

func (s *Spread) fields(f *exact.Fields) {
	f.Flags(&s.seen, &s.weighted)
	s.kept = s.table.fields(f, s.weighted)
	f.Must(s.seen == (s.kept > 0) && (s.seen || !s.weighted), exact.OutOfRange)
}

// AppendBinary appends the state.
func (s *Spread) AppendBinary(dst []byte) ([]byte, error) {
	s.settle()
	return spreadFormat.Append(dst, s.fields)
}

// UnmarshalBinary replaces s by what AppendBinary wrote.
func (s *Spread) UnmarshalBinary(data []byte) error {
	return exact.Replace(spreadFormat, data, s, (*Spread).fields)
}

// spreadKey returns a number that rises with a standard deviation: its binary form, in which those below the normal numbers
// have an exponent too. What it has without its last 52 bits tells the power of two below it.
func spreadKey(sd float64) uint64 {
	b := math.Float64bits(sd)
	if b>>52 != 0 {
		return b + 52<<52
	}
	n := bits.Len64(b)
	return uint64(n)<<52 | b<<(53-n)&(1<<52-1)
}

// spreadExponent returns the exponent of the power of two that is not above a key's standard deviation.
func spreadExponent(key uint64) int { return int(key>>52) - 52 - 1023 }

// spreadValue returns the standard deviation of a key, or the next one below.
func spreadValue(key uint64) float64 {
	if n := key >> 52; n <= 52 {
		return math.Float64frombits((key&(1<<52-1) | 1<<52) >> (53 - n))
	}
	return math.Float64frombits(key - 52<<52)
}
