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

// SpreadBins is the default number of bins.
const SpreadBins = 15

// MaxExactSpreads is the number of distinct standard deviations up to which Spread keeps separate sums for each.
const MaxExactSpreads = cells.MaxExact

// Spread accumulates the errors of normal forecasts (metrics.Normals) by their standard deviations. Bins, ENCE and UCE then
// tell, for any number of bins, whether errors are as large as the standard deviations state. It is a metrics.Accumulator,
// and panics for another kind.
//
// Each distinct standard deviation has its own sums up to MaxExactSpreads of them. Beyond that, standard deviations that
// differ only in the last bits of their binary forms share a cell; the number of these bits depends only on the set of rows,
// not on their order, threads or shards. Bins then end at the ends of cells, whose relative width is at most GridStep. Sums
// of squares have no rounding error of their own: only the square is rounded to float64, and that of an error, times its
// weight, to 2^-88 of the square of the power of two below its standard deviation. Squares of numbers of any size are in
// range.
//
// It takes 80 bytes per cell, 144 with weights: at most 20 MiB or 36 MiB, and some 6 MiB more for many rows. Its state takes
// some 50 bytes per cell, 80 with weights.
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

// Needs returns 0: the columns of Normals suffice.
func (s *Spread) Needs() metrics.Need { return 0 }

// Size estimates the memory in bytes.
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

// Exact reports whether each distinct standard deviation has its own sums.
func (s *Spread) Exact() bool {
	s.settle()
	return s.table.coarse == 0
}

// GridStep returns the largest relative width of a cell, or 0 if s is Exact.
func (s *Spread) GridStep() float64 {
	if s.Exact() {
		return 0
	}
	return math.Ldexp(1, int(s.table.coarse)-52)
}

// Cells returns the number of cells with rows. If s is Exact, it is the number of distinct standard deviations.
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
	s.log, o.log = spreadLog{}, spreadLog{} // both are empty, and the merge needs the memory
	s.kept += o.kept
	s.table.merge(&o.table)
	return nil
}

// SpreadBin is a bin of rows with neighboring standard deviations. It is a point in the plot of RMSE against RMV, which is
// on the diagonal if errors have the stated spread.
type SpreadBin struct {
	Lower, Upper float64 // smallest and largest standard deviation; unless Exact, the ends of their cells
	Count        int64   // rows
	Weight       float64 // sum of their weights; Count without weights
	RMV          float64 // square root of the mean variance, sqrt(mean sd^2)
	RMSE         float64 // square root of the mean squared error, sqrt(mean e^2)
	noise        float64 // relative standard error of mean e^2; NaN if unknown
}

// Interval returns the interval of RMSE: the square roots of mean e^2 +- z*s/sqrt(Count), or 0 for a negative lower end,
// where s is the standard deviation of e^2 in the bin. There is no interval for fewer than two rows, for rows with weights,
// and if the sum of fourth powers is unknown. It is unknown if an error is some 10,000 times the standard deviation, or if
// all errors are below a 10,000th of it.
func (b SpreadBin) Interval(level float64) metrics.Interval {
	i := metrics.Normal(1, b.noise, level)
	return metrics.Interval{Low: float64(b.RMSE * math.Sqrt(math.Max(0, i.Low))), High: float64(b.RMSE * math.Sqrt(i.High))}
}

// Bins returns n bins of nearly equal numbers of rows, in rising order of the standard deviation; n = 0 means 15. As in
// numpy's array_split, the first N mod n bins of N sorted rows have one row more than the others. Equal standard deviations
// stay together: a bin begins with the first row that has the standard deviation at its nominal start. Bins that are left
// without rows are dropped. With weights, ranks are partial sums of the weights, in units of the mean weight. It panics for
// n < 0, and returns nil without rows.
func (s *Spread) Bins(n int) []SpreadBin {
	s.settle()
	var bins []SpreadBin
	all := s.cut(n)
	for i := range all {
		bins = append(bins, all[i].bin(s))
	}
	return bins
}

// ENCE returns the expected normalized calibration error over Bins(n): the mean over the bins of
//
//	|RMV - RMSE| / RMV
//
// with equal weight for each bin. 0 is best. It returns NaN without rows. It has no interval: chance alone makes an absolute
// value positive, by an amount that depends on the tails of the errors, and resampling the rows would add to this bias.
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

// UCE returns the uncertainty calibration error over Bins(n), in the unit of the variance. 0 is best. With W_b the number of
// a bin's rows, or the sum of their weights, it is
//
//	sum (W_b/W) |mean sd^2 - mean e^2|
//
// It returns NaN without rows, and +Inf if it overflows float64. It has no interval, for the same reason as ENCE.
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

// total returns the sum of the weights, or the number of rows without weights.
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

// cut returns the sums of the bins with rows.
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

// starts returns a function that reports, for cells in rising order, whether a cell contains the first row of a bin.
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

// spreadPasses reports whether sum > total*r/n, where mean is total/n. It is exact, so equal weights cut as no weights do.
func spreadPasses(sum, total *exact.Sum, r, n int64, mean float64) bool {
	s, t := sum.Float64(), float64(mean*float64(r))
	if math.Abs(s-t) > 1e-9*t {
		return s > t
	}
	left, right := exact.Rat(sum), exact.Rat(total)
	return left.Mul(left, new(big.Rat).SetInt64(n)).Cmp(right.Mul(right, new(big.Rat).SetInt64(r))) > 0
}

// spreadSums is the sums of a bin's cells, grouped by the powers of two that divide their squares.
type spreadSums struct {
	first, last int // indexes of cells
	n           int64
	w           exact.Sum // with weights
	sd2, e2, e4 []spreadScaled
	over        bool // e4 is unknown
}

// spreadScaled is a sum in units of 2^scale.
type spreadScaled struct {
	scale int
	sum   exact.Sum
}

// spreadAt returns the sum for a scale.
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

// gap returns |sum sd^2 - sum e^2|, where weights multiply the squares.
func (b *spreadSums) gap() *big.Rat {
	g := spreadTotal(b.sd2)
	g.Sub(g, spreadTotal(b.e2))
	return g.Abs(g)
}

// bin returns the SpreadBin of the sums.
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

// noise returns the relative standard error of the mean of e^2: sqrt((n sum e^4 - (sum e^2)^2) / (n-1)) / sum e^2.
func (b *spreadSums) noise() float64 {
	square := spreadTotal(b.e2)
	if b.e4 == nil || b.over || b.n < 2 || square.Sign() == 0 {
		return math.NaN()
	}
	square.Mul(square, square)
	v := spreadTotal(b.e4)
	v.Mul(v, new(big.Rat).SetInt64(b.n))
	if v.Sub(v, square).Sign() < 0 {
		// By the Cauchy-Schwarz inequality, only rounding makes this negative: the errors are equal, or so small that only
		// rounding is left.
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

// UnmarshalBinary replaces s with a state that AppendBinary wrote.
func (s *Spread) UnmarshalBinary(data []byte) error {
	return exact.Replace(spreadFormat, data, s, (*Spread).fields)
}

// spreadKey returns a number that rises with the standard deviation: its binary form, with exponents for subnormal numbers
// too. The bits above the last 52 give the power of two at or below the standard deviation.
func spreadKey(sd float64) uint64 {
	b := math.Float64bits(sd)
	if b>>52 != 0 {
		return b + 52<<52
	}
	n := bits.Len64(b)
	return uint64(n)<<52 | b<<(53-n)&(1<<52-1)
}

// spreadExponent returns the exponent of the largest power of two that is not above a key's standard deviation.
func spreadExponent(key uint64) int { return int(key>>52) - 52 - 1023 }

// spreadValue returns the standard deviation of a key, or the next one below.
func spreadValue(key uint64) float64 {
	if n := key >> 52; n <= 52 {
		return math.Float64frombits((key&(1<<52-1) | 1<<52) >> (53 - n))
	}
	return math.Float64frombits(key - 52<<52)
}
