package score

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Balanced accumulates the share of each class's rows that are right, whose mean over the classes that have rows is the
// balanced accuracy: every class counts the same, however rare it is. A row is right if its arg max, or the caller's decision, is
// its label. It is a metrics.Accumulator; it takes about 110 bytes a class up to the largest label seen.
//
// Source: Brodersen et al. 2010; scikit-learn's balanced_accuracy_score with adjusted=False.
type Balanced struct {
	classes  int // 0 before the first row
	weighted bool
	decided  bool
	rows     int64
	of       []recall // by class
}

// recall is what is known of a class's rows.
type recall struct {
	tally.Weight
	right exact.Sum // the weight of those that are right
}

var _ metrics.Accumulator = (*Balanced)(nil)

// NewBalanced returns an empty accumulator.
func NewBalanced() *Balanced { return &Balanced{} }

// Needs says that the columns that every block has are enough.
func (a *Balanced) Needs() metrics.Need { return 0 }

// Empty returns an accumulator without rows.
func (a *Balanced) Empty() metrics.Accumulator { return NewBalanced() }

// Size returns about how many bytes it takes.
func (a *Balanced) Size(x metrics.Extent) int64 {
	return int64(x.Classes) * int64(unsafe.Sizeof(recall{}))
}

// Len returns the number of rows seen.
func (a *Balanced) Len() int64 { return a.rows }

// AddBlock adds a block's rows.
func (a *Balanced) AddBlock(b *metrics.Block) {
	a.classes, a.weighted, a.decided = b.Classes, b.Weights != nil, b.Decisions != nil
	a.rows += int64(b.Rows)
	for i, y := range b.Labels {
		a.grow(int(y) + 1)
		c := &a.of[y]
		if !a.weighted {
			c.Add(1, nil)
			c.right.AddShifted(int64(b.Right[i]), 88) // in units of 2^-88
			continue
		}
		c.Add(1, b.Weights[i:i+1])
		if b.Right[i] != 0 {
			c.right.AddFloat(b.Weights[i])
		}
	}
}

// grow makes room for n classes.
func (a *Balanced) grow(n int) {
	if n > len(a.of) {
		a.of = append(a.of, make([]recall, n-len(a.of))...)
	}
}

// Value returns the balanced accuracy, the mean over the classes that have rows of the share of their rows that are right; higher
// is better. NaN without rows.
func (a *Balanced) Value() float64 {
	var s exact.Sum
	n := a.each(func(share, _ float64) { s.AddFloat(share) })
	return exact.Mean(&s, n)
}

// Interval is mean +- z*s by the delta method, s^2 = (1/C^2) sum_c r_c (1 - r_c) / n_c over the C classes with rows, r_c being the
// share of right ones and n_c the number, or for weights the effective number, of their rows; cut to [0,1]. It is too narrow where
// classes have few rows: one whose rows are all right or all wrong, as a single row is, adds nothing to s. There is none where
// all classes are so.
func (a *Balanced) Interval(level float64) metrics.Interval {
	var s exact.Sum
	n := a.each(func(share, rows float64) { s.AddFloat(share * (1 - share) / rows) })
	if s.IsZero() {
		return metrics.NoInterval()
	}
	i := metrics.Normal(a.Value(), math.Sqrt(s.Float64())/float64(n), level)
	return metrics.Interval{Low: math.Max(0, i.Low), High: math.Min(1, i.High)}
}

// each calls f for the classes that have rows and returns how many they are.
func (a *Balanced) each(f func(share, rows float64)) (classes int64) {
	for j := range a.of {
		if c := &a.of[j]; c.N > 0 {
			t := c.Total(a.weighted)
			f(exact.Ratio(&c.right, &t), c.Effective(a.weighted))
			classes++
		}
	}
	return classes
}

// Merge adds what another *Balanced has seen.
func (a *Balanced) Merge(other metrics.Accumulator) error {
	o, ok := other.(*Balanced)
	switch {
	case !ok:
		return fmt.Errorf("%w: score.Balanced and %T", metrics.ErrMismatch, other)
	case o.classes == 0:
		return nil
	case a.classes != 0 && a.decided != o.decided:
		return fmt.Errorf("%w: score.Balanced of decisions and of arg maxes", metrics.ErrMismatch)
	}
	if err := alike("score.Balanced", a.classes, o.classes, a.weighted, o.weighted); err != nil {
		return err
	}
	a.classes, a.weighted, a.decided = o.classes, o.weighted, o.decided
	a.rows += o.rows
	a.grow(len(o.of))
	for j := range o.of {
		a.of[j].Merge(&o.of[j].Weight)
		a.of[j].right.Merge(&o.of[j].right)
	}
	return nil
}

const (
	balancedMagic   = "cBAL"
	balancedVersion = 1
)

// AppendBinary appends the state: the classes that have rows. It is an error if there is a label of 2^20 or more.
func (a *Balanced) AppendBinary(dst []byte) ([]byte, error) {
	if n := len(a.of); n > mostRates {
		return nil, fmt.Errorf("score.Balanced: there is no state of a label of %d: the largest is %d", n-1, mostRates-1)
	}
	from := len(dst)
	e := exact.Enc{B: exact.BeginSeal(dst, balancedMagic, balancedVersion)}
	encodeShape(&e, a.classes, a.weighted)
	decided := uint8(0)
	if a.decided {
		decided = 1
	}
	e.U8(decided)
	e.U64(uint64(a.each(func(_, _ float64) {})))
	for j := range a.of {
		if c := &a.of[j]; c.N > 0 {
			e.U32(uint32(j))
			c.Encode(&e)
			e.Sum(&c.right)
		}
	}
	return exact.EndSeal(e.B, from), nil
}

// UnmarshalBinary replaces a by what AppendBinary wrote.
func (a *Balanced) UnmarshalBinary(data []byte) error {
	d, err := exact.OpenFields(balancedMagic, balancedVersion, data)
	if err != nil {
		return fmt.Errorf("score.Balanced: %w", err)
	}
	var n Balanced
	ok := false
	n.classes, n.weighted, ok = decodeShape(d)
	decided := d.U8()
	n.decided = decided == 1
	ok = ok && decided <= 1
	for range d.Count(12) {
		var c recall
		class := int(d.U32())
		c.Decode(d)
		c.right = d.Sum()
		wrong := c.Total(n.weighted)
		wrong.Sub(&c.right)
		ok = ok && class >= len(n.of) && class < min(max(2, n.classes), mostRates) && c.N > 0 && n.rows+c.N > n.rows &&
			c.right.Sign() >= 0 && wrong.Sign() >= 0 && bounded(&wrong) && bounded(&c.W2) && c.W2.Sign() == c.W.Sign() &&
			(c.W.Sign() > 0) == n.weighted
		if !ok || d.Err() != nil {
			break
		}
		n.grow(class + 1)
		n.of[class] = c
		n.rows += c.N
	}
	if err := d.Err(); err != nil {
		return fmt.Errorf("score.Balanced: %w", err)
	}
	if !ok || (n.rows == 0) != (n.classes == 0) {
		return fmt.Errorf("score.Balanced: %w: its classes are not those of its rows", exact.ErrDamaged)
	}
	if err := d.Done(); err != nil {
		return fmt.Errorf("score.Balanced: %w", err)
	}
	*a = n
	return nil
}
