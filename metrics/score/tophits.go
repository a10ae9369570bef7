package score

import (
	"fmt"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// TieRule says which of equal scores are among the k largest of a row.
type TieRule uint8

// The rules.
const (
	FirstOfTies TieRule = iota // those of the classes of lower number: #{s_j > s_y} + #{j < y: s_j = s_y} < k, as in Loss.TopK
	LastOfTies                 // those of the classes of higher number, scikit-learn's: #{s_j > s_y} + #{j > y: s_j = s_y} < k
	AllOfTies                  // all that are equal to the k-th, Keras's and TensorFlow's in_top_k: #{s_j > s_y} < k
)

// TopHits accumulates the share of rows whose label is among the k largest scores, by a rule for equal ones. Scores are compared as they
// were given: logits that differ are not tied where their probabilities are. It is a metrics.Accumulator.
//
// Source: scikit-learn's top_k_accuracy_score of more than two classes; tf.math.in_top_k.
type TopHits struct {
	k        int
	rule     TieRule
	classes  int // 0 before the first row
	weighted bool
	all      tally.Weight
	hits     exact.Sum // weight of those that are
}

var _ metrics.Accumulator = (*TopHits)(nil)

// NewTopHits returns an empty accumulator. It panics if k is not from 1 to 1,000, or there is no such rule.
func NewTopHits(k int, rule TieRule) *TopHits {
	if k < 1 || k > maxTopK || rule > AllOfTies {
		panic("score: k lies between 1 and 1,000, and the rule is one of three")
	}
	return &TopHits{k: k, rule: rule}
}

// Needs says that places are wanted.
func (t *TopHits) Needs() metrics.Need { return metrics.NeedTies }

// Empty returns an accumulator of the same k and rule without rows.
func (t *TopHits) Empty() metrics.Accumulator { return NewTopHits(t.k, t.rule) }

// Len returns the number of rows seen.
func (t *TopHits) Len() int64 { return t.all.N }

// AddBlock adds a block's rows.
func (t *TopHits) AddBlock(b *metrics.Block) {
	t.classes, t.weighted = b.Classes, b.Weights != nil
	t.all.Add(b.Rows, b.Weights)
	n := int64(0)
	for i, p := range b.Places {
		before := int(p.Above)
		switch t.rule {
		case FirstOfTies:
			before += int(p.Before)
		case LastOfTies:
			before += int(p.After)
		}
		switch {
		case before >= t.k:
		case t.weighted:
			t.hits.AddFloat(b.Weights[i])
		default:
			n++
		}
	}
	t.hits.AddShifted(n, 88) // in units of 2^-88
}

// Value returns the share, in [0,1], 1 is best; NaN without rows.
func (t *TopHits) Value() float64 {
	all := t.all.Total(t.weighted)
	return exact.Ratio(&t.hits, &all)
}

// Interval is Wilson's.
func (t *TopHits) Interval(level float64) metrics.Interval {
	return metrics.Wilson(t.Value(), t.all.Effective(t.weighted), level)
}

// Merge adds what another *TopHits has seen.
func (t *TopHits) Merge(a metrics.Accumulator) error {
	o, ok := a.(*TopHits)
	switch {
	case !ok:
		return fmt.Errorf("%w: score.TopHits and %T", metrics.ErrMismatch, a)
	case t.k != o.k || t.rule != o.rule:
		return fmt.Errorf("%w: score.TopHits of top-%d and of top-%d, or by other rules for ties", metrics.ErrMismatch, t.k, o.k)
	case o.classes == 0:
		return nil
	}
	if err := alike("score.TopHits", t.classes, o.classes, t.weighted, o.weighted); err != nil {
		return err
	}
	t.classes, t.weighted = o.classes, o.weighted
	t.all.Merge(&o.all)
	t.hits.Merge(&o.hits)
	return nil
}

const (
	topHitsMagic   = "cTOP"
	topHitsVersion = 1
)

// AppendBinary appends the state.
func (t *TopHits) AppendBinary(dst []byte) ([]byte, error) {
	var e exact.Enc
	e.U32(uint32(t.k))
	e.U8(uint8(t.rule))
	encodeShape(&e, t.classes, t.weighted)
	t.all.Encode(&e)
	e.Sum(&t.hits)
	return append(dst, exact.Seal(topHitsMagic, topHitsVersion, e.B)...), nil
}

// UnmarshalBinary replaces t, k and rule and all, by what AppendBinary wrote.
func (t *TopHits) UnmarshalBinary(data []byte) error {
	d, err := exact.OpenFields(topHitsMagic, topHitsVersion, data)
	if err != nil {
		return fmt.Errorf("score.TopHits: %w", err)
	}
	var n TopHits
	k, rule := d.U32(), d.U8()
	n.k, n.rule = int(k), TieRule(rule)
	ok := k >= 1 && k <= maxTopK && n.rule <= AllOfTies
	shaped := false
	n.classes, n.weighted, shaped = decodeShape(d)
	n.all.Decode(d)
	n.hits = d.Sum()
	if err := d.Done(); err != nil {
		return fmt.Errorf("score.TopHits: %w", err)
	}
	missed := n.all.Total(n.weighted)
	missed.Sub(&n.hits)
	if !ok || !shaped || n.all.N < 0 || (n.classes == 0) != (n.all.N == 0) || (n.all.W.Sign() > 0) != n.weighted || n.all.W2.Sign() != n.all.W.Sign() ||
		n.all.W.Sign() < 0 || !bounded(&n.all.W2) || n.hits.Sign() < 0 || missed.Sign() < 0 || !bounded(&missed) || !n.weighted && !whole(&n.hits) {
		return fmt.Errorf("score.TopHits: %w: its hits are not those of rows", exact.ErrDamaged)
	}
	*t = n
	return nil
}

// whole tells whether a sum is a number of rows.
func whole(s *exact.Sum) bool {
	n := tally.Count(int64(s.Float64()))
	n.Sub(s)
	return n.IsZero()
}
