package rank

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// Loss is what a retention curve is of.
type Loss uint8

// The losses of a row.
const (
	ZeroOne Loss = iota // 1 where the decision is not the label, else 0
	NLL                 // -ln of the label's probability
	Brier               // sum of the squares of what probabilities are off outcomes; of a binary task that of class 1 alone
)

// RetentionOptions say which loss is kept.
type RetentionOptions struct {
	Loss Loss
	// ByScore puts rows in the order of the caller's confidence scores (metrics.Predictions.ConfidenceScores), which may be any finite
	// numbers, in place of the confidence of the decision. Rows without such a score are left out.
	ByScore bool
}

// Retention accumulates a loss by the confidence of the decision: the sum over the rows of each distinct confidence while
// those are at most MaxExact, and beyond that over those whose keys are alike without their last bits. It is a
// metrics.Accumulator, and answers what a Ranking does not have, the loss of the rows that are most confident.
//
// It takes some 100 bytes for each distinct confidence, and 2 MiB besides where rows are many; its state some 30 for each,
// with weights 60.
type Retention struct {
	opt      RetentionOptions
	classes  int // of the predictions seen; 0 before the first
	weighted bool
	decided  bool
	logits   logits
	outside  int64 // rows whose confidence is outside [0,1]
	table    table[losses, *losses]
	v        []float64
}

// losses is the sums of the rows of a confidence.
type losses struct {
	n        int64
	infinite int64     // rows whose loss is
	weight   exact.Sum // with weights
	loss     exact.Sum
}

func (c *losses) merge(o *losses) {
	c.n += o.n
	c.infinite += o.infinite
	c.weight.Merge(&o.weight)
	c.loss.Merge(&o.loss)
}

// add adds a row; its weight is 0 without weights.
func (c *losses) add(loss, weight float64) {
	c.n++
	if weight > 0 {
		c.weight.AddFloat(weight)
		loss *= weight
	}
	if loss-loss != 0 {
		c.infinite++
	} else {
		c.loss.AddFloat(loss)
	}
}

var _ metrics.Accumulator = (*Retention)(nil)

// NewRetention returns an empty accumulator; o may be nil. A loss that is none is an error.
func NewRetention(o *RetentionOptions) (*Retention, error) {
	t := &Retention{}
	if o != nil {
		t.opt = *o
	}
	if t.opt.Loss > Brier {
		return nil, errors.New("rank: there is no such loss")
	}
	return t, nil
}

// Options returns what the accumulator was made with.
func (t *Retention) Options() RetentionOptions { return t.opt }

// Needs says what the loss takes.
func (t *Retention) Needs() metrics.Need {
	if t.opt.Loss == Brier {
		return metrics.NeedSpread | metrics.NeedLogit
	}
	return metrics.NeedLogit
}

// Empty returns an accumulator of the same options without rows.
func (t *Retention) Empty() metrics.Accumulator { return metrics.Must(NewRetention(&t.opt)) }

// Len returns the number of rows seen.
func (t *Retention) Len() int64 {
	n := t.outside + int64(len(t.table.log))
	for i := range t.table.sums {
		n += t.table.sums[i].n
	}
	return n
}

// Size returns about how many bytes it takes.
func (t *Retention) Size(x metrics.Extent) int64 { return t.table.size(x) }

// Outside returns the number of rows whose confidence is outside [0,1], which only unchecked predictions have, or with ByScore of rows
// without a score: they are left out.
func (t *Retention) Outside() int64 { return t.outside }

// Exact tells whether the rows of each distinct confidence have sums of their own.
func (t *Retention) Exact() bool { return t.table.exact() }

// Infinite returns the number of rows whose loss is infinite, or beyond float64 by its weight: labels of probability 0. With
// any of them, areas are +Inf.
func (t *Retention) Infinite() (n int64) {
	t.table.settle()
	for i := range t.table.sums {
		n += t.table.sums[i].infinite
	}
	return n
}

// AddBlock adds a block's rows.
func (t *Retention) AddBlock(b *metrics.Block) {
	t.classes, t.weighted, t.decided = b.Classes, b.Weights != nil, b.Decisions != nil
	if len(t.v) < b.Rows {
		t.v = make([]float64, b.Rows)
	}
	v := t.v[:b.Rows]
	switch t.opt.Loss {
	case NLL:
		copy(v, b.Stats.NLL)
	case Brier:
		kernel.SquaredErrors(v, b.Stats, b.Hit[:b.Rows], b.Classes)
	default:
		for i := range v {
			v[i] = float64(1 - b.Right[i]&1)
		}
	}
	if t.logits = noLogits; b.Decisions == nil && !t.opt.ByScore {
		t.logits = logitsOf(b)
	}
	for i, loss := range v {
		key, ok := t.key(b, i)
		if !ok {
			t.outside++
			continue
		}
		w := 0.0
		if b.Weights != nil {
			w = b.Weights[i]
		}
		t.table.push(entry{key, loss, w})
	}
}

// key returns the key of a row's confidence; false if it has none.
func (t *Retention) key(b *metrics.Block, i int) (uint64, bool) {
	if t.opt.ByScore {
		if b.By == nil {
			return 0, false
		}
		return realKey(b.By[i]), b.By[i]-b.By[i] == 0
	}
	p := b.Score[i]
	tail := 1 - p
	if b.Decisions == nil {
		tail = b.Stats.Tail[i]
	}
	key, ok := unitKey(p, tail)
	if t.logits != noLogits {
		key = realKey(math.Abs(b.Peak[i]))
	}
	return key, ok
}

// Ranking returns the order of the rows by their confidence, with those whose loss is 0 as the event. It panics if the loss is not
// ZeroOne. It takes 24 bytes for each confidence.
func (t *Retention) Ranking() *Ranking {
	if t.opt.Loss != ZeroOne {
		panic("rank: an order of right rows is of the loss ZeroOne")
	}
	m := &mixture{exact: t.Exact(), weighted: t.weighted, outside: t.outside}
	t.falling(func(score, weight, wrong float64, _, _ int64) {
		m.rows = append(m.rows, mixed{score, wrong, weight - wrong})
	})
	slices.Reverse(m.rows)
	return m.ranking()
}

// Merge adds what another *Retention has seen.
func (t *Retention) Merge(a metrics.Accumulator) error {
	o, ok := a.(*Retention)
	switch {
	case !ok:
		return fmt.Errorf("%w: rank.Retention and %T", metrics.ErrMismatch, a)
	case t.opt != o.opt:
		return fmt.Errorf("%w: rank.Retention of different losses or orders", metrics.ErrMismatch)
	case o.classes == 0:
		return nil
	case t.classes != 0 && t.classes != o.classes:
		return fmt.Errorf("%w: rank.Retention of %d classes and of %d", metrics.ErrMismatch, t.classes, o.classes)
	case t.classes != 0 && t.weighted != o.weighted:
		return fmt.Errorf("%w: rank.Retention with and without weights", metrics.ErrMismatch)
	case t.classes != 0 && t.decided != o.decided:
		return fmt.Errorf("%w: rank.Retention of decisions and of arg maxes", metrics.ErrMismatch)
	case t.classes != 0 && t.logits != o.logits:
		return fmt.Errorf("%w: rank.Retention of logits of another type, or of probabilities", metrics.ErrMismatch)
	}
	t.classes, t.weighted, t.decided, t.logits = o.classes, o.weighted, o.decided, o.logits
	t.outside += o.outside
	t.table.merge(&o.table)
	return nil
}

const (
	retentionMagic   = "cRET"
	retentionVersion = 2
)

// Flags of states.
const (
	flagWeighted = 1 << iota
	flagDecided
	flagByScore
)

// AppendBinary appends the state.
func (t *Retention) AppendBinary(dst []byte) ([]byte, error) {
	t.table.settle()
	from := len(dst)
	e := exact.Enc{B: exact.BeginSeal(dst, retentionMagic, retentionVersion)}
	e.U8(uint8(t.opt.Loss))
	flags := uint8(0)
	if t.weighted {
		flags |= flagWeighted
	}
	if t.decided {
		flags |= flagDecided
	}
	if t.opt.ByScore {
		flags |= flagByScore
	}
	e.U8(flags)
	e.U8(uint8(t.logits))
	e.U8(uint8(t.table.coarse))
	e.U32(uint32(t.classes))
	e.I64(t.outside)
	e.U64(uint64(len(t.table.keys)))
	last := uint64(0)
	for i, k := range t.table.keys {
		c := &t.table.sums[i]
		e.Uvarint(k - last)
		e.Uvarint(uint64(c.n))
		e.Uvarint(uint64(c.infinite))
		if t.weighted {
			e.Sum(&c.weight)
		}
		e.Sum(&c.loss)
		last = k
	}
	return exact.EndSeal(e.B, from), nil
}

// UnmarshalBinary replaces t, options and all, by what AppendBinary wrote.
func (t *Retention) UnmarshalBinary(data []byte) error {
	n, err := decodeRetention(data)
	if err != nil {
		return fmt.Errorf("rank.Retention: %w", err)
	}
	*t = *n
	return nil
}

// mostRows is more than there ever are.
const mostRows = 1 << 62

func decodeRetention(data []byte) (*Retention, error) {
	d, err := exact.OpenFields(retentionMagic, retentionVersion, data)
	if err != nil {
		return nil, err
	}
	loss, flags := Loss(d.U8()), d.U8()
	of := logits(d.U8())
	coarse := d.U8()
	classes, outside := int(d.U32()), d.I64()
	count := d.Count(4)
	if err := d.Err(); err != nil {
		return nil, err
	}
	if loss > Brier || flags > flagWeighted|flagDecided|flagByScore || outside < 0 || outside > mostRows || count > MaxExact ||
		classes == 0 && (count > 0 || outside > 0 || flags&^flagByScore != 0) || of > logits64 ||
		of != noLogits && (classes != 1 || flags&(flagDecided|flagByScore) != 0) {
		return nil, fmt.Errorf("%w: its options are not valid", exact.ErrDamaged)
	}
	t := metrics.Must(NewRetention(&RetentionOptions{Loss: loss, ByScore: flags&flagByScore != 0}))
	t.logits = of
	t.classes, t.outside, t.weighted, t.decided = classes, outside, flags&flagWeighted != 0, flags&flagDecided != 0
	rows, last := outside, uint64(0)
	bad := fmt.Errorf("%w: %w", exact.ErrDamaged, errTable)
	t.table.prepare(uint(coarse), count)
	for i := range count {
		step, n, infinite := d.Uvarint(), d.Uvarint(), d.Uvarint()
		c := losses{n: int64(n), infinite: int64(infinite)}
		if t.weighted {
			c.weight = d.Sum()
		}
		c.loss = d.Sum()
		if d.Err() != nil {
			return nil, d.Err()
		}
		if n == 0 || n > mostRows || rows > mostRows-int64(n) || infinite > n || last+step < last || i > 0 && step == 0 ||
			t.weighted && c.weight.Sign() <= 0 {
			return nil, bad
		}
		rows += int64(n)
		last += step
		t.table.put(last, c)
	}
	if t.table.check() != nil {
		return nil, bad
	}
	if count > 0 {
		least, most := uint64(0), uint64(2*half)
		switch {
		case t.opt.ByScore:
			least, most = realKey(-math.MaxFloat64), realKey(math.MaxFloat64)
		case of != noLogits:
			least, most = realKey(0), realKey(math.Inf(1))
		}
		_, first := t.table.span(0)
		if last, _ := t.table.span(count - 1); first < least || last > most {
			return nil, bad
		}
	}
	return t, d.Done()
}

// AreaOptions say how a retention curve is drawn and summed. A nil one is the default.
type AreaOptions struct {
	Oracle bool // the rows that are not retained count too, without loss: an oracle has them
	// Trapezoid is the area by trapezoids, in place of the plain mean of the curve's points.
	Trapezoid bool
}

// area makes it that of the curve's points: mean is that over 1 to n retained rows, and all the value at n. At 0 it is 0 by
// decree.
func (o *AreaOptions) area(mean, all, n float64, weighted bool) float64 {
	switch {
	case weighted:
		return mean
	case o != nil && o.Trapezoid:
		return mean - all/(2*n)
	}
	return float64(mean*n) / (n + 1)
}

func (o *AreaOptions) oracle() bool { return o != nil && o.Oracle }

// RetentionAccuracy returns the area under the retention curve of the accuracy, in [0,1], 1 is best: the mean, over the n+1
// numbers of rows that a model retains from the highest score down, of the share with the event among them, which is 1 by
// decree where it retains none. Rows of equal scores stand in random order, of which it is the expectation, so it is
//
//	1 - n/(n+1) AURC
//
// and by an oracle's help 1 - n/(n+1) (AUGRC + e/2n), e the share without the event. With trapezoids it is 1 - AURC + e/2n, or
// 1 - AUGRC, and with weights the integral in either case. NaN without rows. bound is as for AURC.
//
// Source: uncertainty-baselines' retention curves; Filos et al. 2019.
func (r *Ranking) RetentionAccuracy(o *AreaOptions) (area, bound float64) {
	a, bound := r.AURC()
	n := r.total()
	w := r.rows.Weighted()
	if o.oracle() {
		if a, bound = r.AUGRC(); !w && n > 0 {
			a = r.silent(r.pairs.Rest + 1)
		}
	}
	return 1 - o.area(a, r.pairs.Rest/n, n, w), o.area(bound, 0, n, w)
}

// falling calls f for the confidences, from the highest: with their weights, losses, and rows of infinite loss.
func (t *Retention) falling(f func(score, weight, loss float64, infinite int64, rows int64)) {
	t.table.settle()
	for i := len(t.table.keys) - 1; i >= 0; i-- {
		c := &t.table.sums[i]
		w := float64(c.n)
		if t.weighted {
			w = c.weight.Float64()
		}
		low, _ := t.table.span(i)
		p := 0.0
		switch {
		case t.opt.ByScore:
			p = realScore(low)
		case t.logits != noLogits:
			p, _, _ = t.logits.sure(realScore(low))
		default:
			p, _ = unitScore(low)
		}
		f(p, w, c.loss.Float64(), c.infinite, c.n)
	}
}

// totals returns the weight and the loss of all rows.
func (t *Retention) totals() (weight, loss float64) {
	t.table.settle()
	var w, l exact.Sum
	n := int64(0)
	for i := range t.table.sums {
		c := &t.table.sums[i]
		n += c.n
		w.Merge(&c.weight)
		l.Merge(&c.loss)
	}
	if weight = float64(n); t.weighted {
		weight = w.Float64()
	}
	return weight, l.Float64()
}

// Area returns the area under the retention curve of the loss, 0 is best: the mean, over the n+1 numbers of rows that are
// retained from the highest confidence down, of the mean loss of these, which is 0 by decree where there are none. Rows of
// equal confidence stand in random order, of which it is the expectation: with n0 rows before a confidence, L their loss, m
// rows of it and S theirs,
//
//	(1/(n+1)) sum [S + (L - S n0/m) (H(n0+m) - H(n0))], H the harmonic numbers
//
// where AreaOptions.Oracle divides by n, the number of all rows, in place of those retained:
//
//	(1/(n+1)) (1/n) sum [m L + S (m+1)/2]
//
// With weights it is the integral. NaN without rows; +Inf if a row's loss is.
//
// bound is how far the area of the rows may be from it: 0 where confidences are exact, NaN, not known, where they are not
// and rows of weight stand first. Of ZeroOne it is 1 less RetentionAccuracy.
func (t *Retention) Area(o *AreaOptions) (area, bound float64) {
	n, all := t.totals()
	if !(n > 0) {
		return math.NaN(), math.NaN()
	}
	if t.Infinite() > 0 {
		return math.Inf(1), 0
	}
	var s, torn sum
	before, lost := 0.0, 0.0
	t.falling(func(_, m, l float64, _, rows int64) {
		first, last := 0.0, 0.0 // what a row of the confidence counts at least and at most, less the mean
		switch {
		case o.oracle():
			step := 1.0
			if t.weighted {
				step = 0
			}
			s.add((float64(m*lost) + float64(l*(m+step)/2)) / n)
			first, last = (m-step)/2/n, (m-step)/2/n
		case before == 0 && t.weighted:
			s.add(l)
			if rows > 1 {
				first = math.NaN()
			}
		default:
			h := harmonic(before, m, t.weighted)
			s.add(l + float64((lost-float64(l*before/m))*h))
			mean := 1 - float64(before/m*h) // of H(n0+m) - H(n0+i-1) over the rows
			end := 1 / (before + m)
			if t.weighted {
				end = 0
			}
			first, last = h-mean, mean-end
		}
		if rows > 1 {
			torn.add(float64(l * math.Max(first, last)))
		}
		before += m
		lost += l
	})
	bound = torn.value() / n
	switch {
	case t.outside > 0:
		bound = math.NaN()
	case t.Exact():
		bound = 0
	}
	return o.area(s.value()/n, all/n, n, t.weighted), o.area(bound, 0, n, t.weighted)
}

// Curve returns the retention curve: the share of rows retained (X) and their mean loss (Y), or with an oracle their loss
// over all rows, at each distinct confidence, after the point (0,0) of threshold +Inf. Y is +Inf from the first infinite
// loss on. If there are more than most points, one is kept in each of most-1 parts of equal length in X, and both ends; 0
// keeps all. nil without rows.
func (t *Retention) Curve(most int, o *AreaOptions) []Point {
	n, _ := t.totals()
	if !(n > 0) {
		return nil
	}
	all := make([]Point, 0, len(t.table.keys)+1)
	all = append(all, Point{0, 0, math.Inf(1)})
	before, lost := 0.0, 0.0
	t.falling(func(p, m, l float64, infinite, _ int64) {
		before += m
		if lost += l; infinite > 0 {
			lost = math.Inf(1)
		}
		d := before
		if o.oracle() {
			d = n
		}
		all = append(all, Point{math.Min(1, before/n), lost / d, p})
	})
	k := newThin(most, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		k.add(all[i], all[i].X)
	}
	return k.falling()
}
