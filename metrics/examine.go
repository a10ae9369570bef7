package metrics

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// examine checks the rows of a block. It returns the indices of the rows that are good and have a nonzero weight, and
// whether these are all rows; keep may then be nil.
func (w *worker) examine(c *Chunk, at, n, st int, flags uint8, ignored bool) (keep []int32, whole bool) {
	s := &w.stats
	reject := ignored || flags != 0 || c.Pair != nil || c.doubtful(at, n)
	off := false
	w.pair = c.Pair.Slice(at, at+n)
	// Only these rows must sum to a given value.
	sums := c.Kind != Logits && c.Classes > 1 || c.Pair != nil && c.Pair.Kind != Logits
	if sums {
		bad := false
		off, bad = w.sums(c, n)
		reject = reject || bad
	}
	if !reject && c.Weights == nil {
		if off {
			for i := range n {
				w.note(c, i)
			}
		}
		return nil, true
	}
	keep = w.keep[:0]
	for i := range n {
		if c.Labels[at+i] == Ignored {
			w.audit.Ignored++
			continue
		}
		if c.Weights != nil && c.Weights[at+i] == 0 {
			w.audit.Absent++ // regardless of other faults: padding has neither valid scores nor a label
			continue
		}
		if r, col, v := w.fault(c, at+i, i, st, s.Flags[i], sums); r != reasons {
			w.bad.add(r, c.Number(at+i), col, v)
			w.audit.Dropped++
			w.failed.Store(true)
			continue
		}
		keep = append(keep, int32(i))
		if off {
			w.note(c, i)
		}
	}
	return keep, len(keep) == n
}

// doubtful reports whether rows [at, at+n) contain a bad decision, confidence score or Dirichlet parameter.
func (c *Chunk) doubtful(at, n int) bool {
	if c.Kind == Dirichlet {
		st := c.RowStride()
		for i := at; i < at+n; i++ {
			for j := range c.Classes {
				if !(c.element(i*st+j) > 0) {
					return true
				}
			}
		}
	}
	if c.Decisions != nil {
		for _, d := range c.Decisions[at : at+n] {
			if c.badDecision(d) {
				return true
			}
		}
	}
	if c.ConfidenceScores != nil {
		for _, v := range c.ConfidenceScores[at : at+n] {
			if v-v != 0 {
				return true
			}
		}
	}
	if c.Bytes != nil {
		for _, v := range c.Bytes[at : at+n] {
			if !goodBytes(v) {
				return true
			}
		}
	}
	return false
}

// goodBytes reports whether v can be a number of bytes.
func goodBytes(v float64) bool { return v >= 0 && v <= 0x1p32 }

func (c *Chunk) badDecision(d int32) bool { return d < 0 || int(d) >= max(2, c.Classes) }

// rowSum returns the sum of the probabilities of row i.
func (w *worker) rowSum(c *Chunk, i int) float64 {
	if w.pair != nil {
		return w.pair.sum(i)
	}
	if c.Kind == LogProbs {
		return kernel.Exp64(w.stats.Norm[i])
	}
	return w.stats.Norm[i]
}

// near returns how far rounding alone can move a row's sum from 1. It is capped at sumTolerance, which coarse types would
// exceed.
func near(d DType, classes int) float64 {
	if d == Float64 {
		return 1e-6 // float64 scores were often float32 once, or decimals of six digits
	}
	return math.Min(4*d.Epsilon()*float64(max(2, classes)), sumTolerance)
}

// sums reports whether the sum of some row differs from 1 by more than rounding explains (off), and whether it is a fault
// for some row (bad).
func (w *worker) sums(c *Chunk, n int) (off, bad bool) {
	if c.Kind == Dirichlet {
		for _, t := range w.stats.Norm[:n] {
			bad = bad || w.badSum(c, t)
		}
		return false, bad
	}
	d := near(c.DType(), c.Classes)
	if w.pair != nil {
		for i := range n {
			t := w.pair.sum(i)
			off = off || math.Abs(t-1) > d
			bad = bad || w.badSum(c, t)
		}
		return off, bad
	}
	// Fast path: usually no row is off. |exp(x) - 1| < 2|x| for small x, hence d/2 for log-probabilities.
	if c.Kind == LogProbs && within(w.stats.Norm[:n], 0, d/2) || c.Kind != LogProbs && within(w.stats.Norm[:n], 1, d) {
		return false, false
	}
	for i := range n {
		t := w.rowSum(c, i)
		if math.Abs(t-1) <= d || w.stats.Flags[i]&(kernel.FlagNotFinite|kernel.FlagBadLabel) != 0 {
			continue
		}
		off = true
		bad = bad || w.badSum(c, t)
	}
	return off, bad
}

// within reports whether all values are at most d away from the centre.
func within(v []float64, centre, d float64) bool {
	for _, x := range v {
		if !(math.Abs(x-centre) <= d) {
			return false
		}
	}
	return true
}

// note records the row's sum in the audit if it is off 1 but no fault.
func (w *worker) note(c *Chunk, i int) {
	if t := w.rowSum(c, i); math.Abs(t-1) > near(c.DType(), c.Classes) {
		w.audit.merges(1, t, t)
	}
}

// badSum reports whether t is a fault as the sum of a row.
func (w *worker) badSum(c *Chunk, t float64) bool {
	switch {
	case w.scales(c):
		return !(t > 0 && t <= math.MaxFloat64)
	case w.opt.Unchecked:
		return false
	}
	return math.Abs(t-1) > sumTolerance
}

// scales reports whether rows are divided by their sums, in which case entries above 1 are no fault.
func (w *worker) scales(c *Chunk) bool {
	return c.Kind == Dirichlet || w.opt.Renormalize && c.Kind == Probs && (c.Classes > 1 || c.Pair != nil)
}

// mostUnchecked bounds the size of unchecked scores, so that squares times weights stay finite.
const mostUnchecked = 1e140

// outside reports whether the entry v cannot be a probability; t is the sum of its row.
func (w *worker) outside(c *Chunk, v, t float64) bool {
	switch {
	case w.opt.Unchecked && w.scales(c) && t > 0:
		return math.Abs(v) > mostUnchecked*math.Min(1, t)
	case w.opt.Unchecked:
		return math.Abs(v) > mostUnchecked
	}
	return v < 0 || v > 1 && !w.scales(c)
}

// fault returns the first fault of a row with its column and value; r == reasons means that there is none. row is the index
// in the chunk, i that in the block.
func (w *worker) fault(c *Chunk, row, i, st int, flags uint8, sums bool) (r Reason, column int, value float64) {
	if flags&kernel.FlagBadLabel != 0 {
		return BadLabel, -1, float64(c.Labels[row])
	}
	if c.Decisions != nil && c.badDecision(c.Decisions[row]) {
		return BadDecision, -1, float64(c.Decisions[row])
	}
	if c.ConfidenceScores != nil {
		if v := c.ConfidenceScores[row]; v-v != 0 {
			return BadConfidence, -1, v
		}
	}
	if c.Weights != nil {
		if v := c.Weights[row]; v != 0 && !(v >= 0x1p-32 && v <= 0x1p32) {
			return BadWeight, -1, v
		}
	}
	if c.Bytes != nil && !goodBytes(c.Bytes[row]) {
		return BadBytes, -1, c.Bytes[row]
	}
	if c.Kind == Dirichlet {
		for j := range c.Classes {
			if v := c.element(row*st + j); v <= 0 {
				return NotPositive, j, v
			}
		}
	}
	if c.Pair != nil {
		return w.faultOfPair(c, i)
	}
	if flags == 0 && !(sums && w.badSum(c, w.rowSum(c, i))) {
		return reasons, 0, 0
	}
	if flags&kernel.FlagNotFinite != 0 {
		for j := range c.Classes {
			v := c.element(row*st + j)
			if v != v || v > math.MaxFloat64 || v < -math.MaxFloat64 && !c.Kind.logs() {
				return NotFinite, j, v
			}
		}
		if c.Classes == 1 {
			return OutsideUnit, 0, math.Inf(1) // a log-probability whose exponential overflows
		}
		return NotFinite, -1, math.Inf(-1)
	}
	if flags&kernel.FlagOutside != 0 {
		for j := range c.Classes {
			v := c.element(row*st + j)
			if c.Kind == LogProbs {
				v = kernel.Exp64(v)
			}
			if w.outside(c, v, w.stats.Norm[i]) {
				return OutsideUnit, j, v
			}
		}
	}
	if sums {
		if t := w.rowSum(c, i); w.badSum(c, t) {
			return BadSum, -1, t
		}
	}
	return reasons, 0, 0
}

// faultOfPair is fault for the two scores that OfEvent combined in row i of the block.
func (w *worker) faultOfPair(c *Chunk, i int) (r Reason, column int, value float64) {
	logs, row := w.pair.Kind.logs(), w.pair.Raw[2*i:2*i+2]
	for j, v := range row {
		if v != v || v > math.MaxFloat64 || v < -math.MaxFloat64 && !logs {
			return NotFinite, j, v
		}
	}
	if logs && math.IsInf(row[0], -1) && math.IsInf(row[1], -1) {
		return NotFinite, -1, row[0]
	}
	for j, v := range row {
		if w.pair.Kind == Probs && w.outside(c, v, w.pair.sum(i)) {
			return OutsideUnit, j, v
		}
	}
	if t := w.pair.sum(i); w.pair.Kind != Logits && w.badSum(c, t) {
		return BadSum, -1, t
	}
	return reasons, 0, 0
}

// addRows checks and passes on rows [at, at+n) of a chunk whose kind has no classes.
func (w *worker) addRows(c *Chunk, at, n, st int) {
	b := &w.block
	*b = Block{Rows: n, Classes: c.Classes, DType: c.DType(), Kind: c.Kind, Dimensions: c.Dimensions}
	c.place(b, at)
	if c.Weights != nil {
		b.Weights = c.Weights[at : at+n]
	}
	if c.Observed != nil {
		b.Observed = c.Observed[at : at+n]
	}
	w.view(b, c, at, n, st)
	sums := c.Kind == Samples && w.need&NeedSpread != 0
	good := true
	switch {
	case c.Kind == Normals:
		good = w.normals(b) == 0
	case c.Kind == Quantiles:
		good = w.finite(b, false) && w.rising(b)
	case c.Kind == Survival:
		good = w.survives(b)
	case c.Kind == MultivariateNormals:
		good = w.stated(c, at, n, st)
	case sums:
		w.spread(b)
		fallthrough
	default:
		good = w.finite(b, sums)
	}
	if c.Weights != nil || !good {
		if keep := w.keepRows(c, at, n, st); len(keep) < n {
			w.compactNumbers(b, keep)
		}
	}
	if w.failed.Load() && !w.opt.Drop || b.Rows == 0 {
		return
	}
	w.audit.Rows += int64(b.Rows)
	for _, a := range w.accs {
		a.AddBlock(b)
	}
}

// normals computes the columns of Normals and returns the union of their flags.
func (w *worker) normals(b *Block) uint8 {
	s, t := &w.normal, &b.Probs
	for _, c := range []*[]float64{&s.Error, &s.SD, &s.Z, &s.NLL, &s.CRPS} {
		*c = room(*c, b.Rows)
	}
	s.Flags = room(s.Flags, b.Rows)
	b.Normal = s
	if t.F32 != nil {
		return kernel.NormalF32(s, t.F32, b.Rows, t.Width, t.Stride)
	}
	return kernel.NormalF64(s, t.F64, b.Rows, t.Width, t.Stride)
}

// rising reports whether every row of the block is non-decreasing.
func (w *worker) rising(b *Block) bool {
	t := &b.Probs
	for i := range b.Rows {
		if at := i * t.Stride; t.F32 != nil && falls(t.F32[at:at+t.Width]) >= 0 || t.F64 != nil && falls(t.F64[at:at+t.Width]) >= 0 {
			return false
		}
	}
	return true
}

// survives reports whether every row of a block of Survival is good.
func (w *worker) survives(b *Block) bool {
	t := &b.Probs
	for i := range b.Rows {
		at := i * t.Stride
		var r Reason
		if t.F32 != nil {
			r, _ = faultOfSurvival(t.F32[at : at+t.Width])
		} else {
			r, _ = faultOfSurvival(t.F64[at : at+t.Width])
		}
		if r != reasons {
			return false
		}
	}
	return true
}

// SurvivalRow reports whether a row is one that a Pass accepts as Survival.
func SurvivalRow(row []float64) bool {
	if len(row) < 3 {
		return false
	}
	r, _ := faultOfSurvival(row)
	return r == reasons
}

// faultOfSurvival returns the first fault of a row and its column; reasons if there is none.
func faultOfSurvival[T float32 | float64](row []T) (r Reason, column int) {
	for j, v := range row {
		if v-v != 0 {
			return NotFinite, j
		}
	}
	k := len(row) - 2
	if !(row[k] > 0) {
		return BadTime, k
	}
	if e := row[k+1]; e != 0 && e != 1 {
		return BadEvent, k + 1
	}
	for j, p := range row[:k] {
		if p < 0 || p > 1 {
			return OutsideUnit, j
		}
		if j > 0 && p < row[j-1] {
			return Crossing, j
		}
	}
	return reasons, 0
}

// falls returns the index of the first element below its predecessor, -1 if there is none.
func falls[T float32 | float64](row []T) int {
	for j := 1; j < len(row); j++ {
		if row[j] < row[j-1] {
			return j
		}
	}
	return -1
}

// spread computes the distance sums of Samples.
func (w *worker) spread(b *Block) {
	t := &b.Probs
	w.abs, w.apart = room(w.abs, b.Rows), room(w.apart, b.Rows)
	b.Abs, b.Spread = w.abs[:b.Rows], w.apart[:b.Rows]
	if scratch := kernel.SampleSpreadScratch(t.Width); t.F32 != nil {
		w.scratch32 = room(w.scratch32, scratch)
		kernel.SampleSpreadF32(b.Abs, b.Spread, t.F32, b.Rows, t.Width, t.Stride, b.Observed, w.scratch32)
	} else {
		w.scratch64 = room(w.scratch64, scratch)
		kernel.SampleSpreadF64(b.Abs, b.Spread, t.F64, b.Rows, t.Width, t.Stride, b.Observed, w.scratch64)
	}
}

// finite reports whether all numbers of a block are finite. If sums is set it tests the distance sums instead, which are NaN
// for a row with a number that is not finite.
func (w *worker) finite(b *Block, sums bool) bool {
	if sums {
		for _, v := range b.Abs {
			if v != v {
				return false
			}
		}
		return true
	}
	for _, v := range b.Observed {
		if v-v != 0 {
			return false
		}
	}
	t, n := &b.Probs, b.Rows
	if t.Stride == t.Width {
		return t.F32 != nil && finite32(t.F32) || t.F64 != nil && finite64(t.F64)
	}
	for i := range n {
		at := i * t.Stride
		if t.F32 != nil && !finite32(t.F32[at:at+t.Width]) || t.F64 != nil && !finite64(t.F64[at:at+t.Width]) {
			return false
		}
	}
	return true
}

// finite32 reports whether all values are finite. Adding one to the exponent bits of a value that is not finite carries into
// the sign bit.
func finite32(x []float32) bool {
	const exponent, one, carry = 0x7f800000, 1 << 23, 1 << 31
	bits := math.Float32bits
	all := uint32(0)
	for ; len(x) >= 8; x = x[8:] {
		a := (bits(x[0])&exponent + one) | (bits(x[1])&exponent + one) | (bits(x[2])&exponent + one) | (bits(x[3])&exponent + one)
		b := (bits(x[4])&exponent + one) | (bits(x[5])&exponent + one) | (bits(x[6])&exponent + one) | (bits(x[7])&exponent + one)
		all |= a | b
	}
	for _, v := range x {
		all |= bits(v)&exponent + one
	}
	return all < carry
}

// finite64 is finite32 for float64.
func finite64(x []float64) bool {
	const exponent, one, carry = 0x7ff << 52, 1 << 52, 1 << 63
	bits := math.Float64bits
	all := uint64(0)
	for ; len(x) >= 4; x = x[4:] {
		all |= (bits(x[0])&exponent + one) | (bits(x[1])&exponent + one) | (bits(x[2])&exponent + one) | (bits(x[3])&exponent + one)
	}
	for _, v := range x {
		all |= bits(v)&exponent + one
	}
	return all < carry
}

// keepRows returns the usable rows among rows of a kind without classes, and records the faults of the others.
func (w *worker) keepRows(c *Chunk, at, n, st int) []int32 {
	keep := w.keep[:0]
	for i := range n {
		if c.Weights != nil && c.Weights[at+i] == 0 {
			w.audit.Absent++
			continue
		}
		if r, col, v := c.faultOfNumbers(at+i, st); r != reasons {
			w.bad.add(r, c.Number(at+i), col, v)
			w.audit.Dropped++
			w.failed.Store(true)
			continue
		}
		keep = append(keep, int32(i))
	}
	return keep
}

// compactNumbers keeps only the given rows of a block of a kind without classes.
func (w *worker) compactNumbers(b *Block, keep []int32) {
	n := len(keep)
	w.compactGroups(b, keep)
	w.compactRows(b, keep)
	w.truths = room(w.truths, n)
	for to, from := range keep {
		if b.Weights != nil {
			w.weights[to] = b.Weights[from]
		}
		if b.Observed != nil {
			w.truths[to] = b.Observed[from]
		}
		if b.Abs != nil {
			b.Abs[to], b.Spread[to] = b.Abs[from], b.Spread[from]
		}
	}
	if b.Clusters != nil {
		w.cluster = room(w.cluster, n)
		b.Clusters = kept(w.cluster, b.Clusters, keep)
	}
	if s := b.Normal; s != nil {
		for _, col := range [][]float64{s.Error, s.SD, s.Z, s.NLL, s.CRPS} {
			for to, from := range keep {
				col[to] = col[from]
			}
		}
	}
	if b.Weights != nil {
		b.Weights = w.weights[:n]
	}
	if b.Observed != nil {
		b.Observed = w.truths[:n]
	}
	if b.Abs != nil {
		b.Abs, b.Spread = b.Abs[:n], b.Spread[:n]
	}
	b.Rows, b.index = n, keep
}

// faultOfNumbers is fault for kinds without classes.
func (c *Chunk) faultOfNumbers(row, st int) (r Reason, column int, value float64) {
	if c.Kind.observes() {
		if v := c.Observed[row]; v-v != 0 {
			return BadObserved, -1, v
		}
	}
	if c.Weights != nil {
		if v := c.Weights[row]; !(v >= 0x1p-32 && v <= 0x1p32) {
			return BadWeight, -1, v
		}
	}
	at := row * st
	if !(c.F32 != nil && finite32(c.F32[at:at+c.Classes]) || c.F64 != nil && finite64(c.F64[at:at+c.Classes])) {
		for j := range c.Classes {
			if v := c.element(at + j); v-v != 0 {
				return NotFinite, j, v
			}
		}
	}
	switch c.Kind {
	case Normals:
		if c.Classes == 3 {
			if e := c.element(at+2) - c.element(at); e-e != 0 {
				return NotFinite, -1, e
			}
		}
		if sd := c.element(at + 1); sd <= 0 {
			return NotPositive, 1, sd
		}
	case Survival:
		r, j := reasons, 0
		if c.F32 != nil {
			r, j = faultOfSurvival(c.F32[at : at+c.Classes])
		} else {
			r, j = faultOfSurvival(c.F64[at : at+c.Classes])
		}
		if r != reasons {
			return r, j, c.element(at + j)
		}
	case MultivariateNormals:
		return c.faultOfStated(row, st, new([]float64))
	case Quantiles:
		for j := 1; j < c.Classes; j++ {
			if v := c.element(at + j); v < c.element(at+j-1) {
				return Crossing, j, v
			}
		}
	}
	return reasons, 0, 0
}

// sumParameters sets Norm to the sums of Dirichlet parameters, in float64 for every type, with compensated summation.
func (w *worker) sumParameters(c *Chunk, at, n, st int) {
	for i := range n {
		sum, lost := 0.0, 0.0
		for j := range c.Classes {
			v := c.element((at+i)*st + j)
			t := sum + v
			z := t - sum
			lost += (sum - (t - z)) + (v - z)
			sum = t
		}
		if t := sum + lost; t == t { // false if the sum is infinite
			sum = t
		}
		if w.stats.Norm[i] == w.stats.Norm[i] { // keep NaN for a row without columns
			w.stats.Norm[i] = sum
		}
	}
}

// peaks sets the scores of the arg max as given.
func (w *worker) peaks(b *Block, c *Chunk, at, st int) {
	w.peak = room(w.peak, b.Rows)
	b.Peak = w.peak[:b.Rows]
	if c.Classes == 1 && b.index == nil {
		c.Widen(b.Peak, at, at+b.Rows)
		return
	}
	for i := range b.Peak {
		row := at + i
		if b.index != nil {
			row = at + int(b.index[i])
		}
		j := 0
		if c.Classes > 1 {
			j = int(b.Stats.ArgMax[i])
		}
		b.Peak[i] = c.element(row*st + j)
	}
}

// placed sets the places of the labels' scores as given.
func (w *worker) placed(b *Block, c *Chunk, at, st int) {
	w.places = room(w.places, b.Rows)
	b.Places = w.places[:b.Rows]
	for i := range b.Places {
		row := at + i
		if b.index != nil {
			row = at + int(b.index[i])
		}
		p, y := Place{}, int(b.Labels[i])
		switch {
		case c.Classes > 1:
			own := c.element(row*st + y)
			for j := range c.Classes {
				switch v := c.element(row*st + j); {
				case v > own:
					p.Above++
				case v != own || j == y:
				case j < y:
					p.Before++
				default:
					p.After++
				}
			}
		case b.Stats.Positive[i] == 0.5 && (c.Kind != Logits || c.element(row*st) == 0):
			p.Before, p.After = int32(y), int32(1-y)
		default:
			p.Above = 1 - int32(w.hit[i])
		}
		b.Places[i] = p
	}
}
