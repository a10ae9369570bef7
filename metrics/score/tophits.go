package score

import (
	"errors"
	"fmt"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// TieRule selects which of equal scores are among the k largest of a row.
type TieRule uint8

// The rules.
const (
	FirstOfTies TieRule = iota // the classes with lower numbers: #{s_j > s_y} + #{j < y: s_j = s_y} < k, as in Loss.TopK
	LastOfTies                 // the classes with higher numbers, as in scikit-learn: #{s_j > s_y} + #{j > y: s_j = s_y} < k
	AllOfTies                  // all that equal the k-th, as in Keras and TensorFlow's in_top_k: #{s_j > s_y} < k
)

// TopHits accumulates the share of rows whose label is among the k largest scores, with a rule for equal scores. It compares
// the scores as given: different logits are not ties, even if their probabilities are equal. It is a metrics.Accumulator.
//
// Source: scikit-learn's top_k_accuracy_score for more than two classes; tf.math.in_top_k.
type TopHits struct {
	k    int
	rule TieRule
	seen state.Rows
	all  tally.Weight
	hits exact.Sum // weight of the rows with a hit
}

var _ metrics.Accumulator = (*TopHits)(nil)

// NewTopHits returns an empty accumulator. It returns an error unless 1 <= k <= 1,000, and for an unknown rule.
func NewTopHits(k int, rule TieRule) (*TopHits, error) {
	switch {
	case k < 1 || k > maxTopK:
		return nil, fmt.Errorf("score: k is %d; it is from 1 to 1,000", k)
	case rule > AllOfTies:
		return nil, errors.New("score: there is no such rule for ties")
	}
	return &TopHits{k: k, rule: rule}, nil
}

// Needs returns NeedTies.
func (t *TopHits) Needs() metrics.Need { return metrics.NeedTies }

// Empty returns an accumulator without rows, with the same k and rule.
func (t *TopHits) Empty() metrics.Accumulator { return metrics.Must(NewTopHits(t.k, t.rule)) }

// Len returns the number of rows seen.
func (t *TopHits) Len() int64 { return t.all.N }

// AddBlock adds a block's rows.
func (t *TopHits) AddBlock(b *metrics.Block) {
	t.seen.Begin(b)
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
		case t.seen.Weighted:
			t.hits.AddFloat(b.Weights[i])
		default:
			n++
		}
	}
	t.hits.AddShifted(n, 88) // in units of 2^-88
}

// Value returns the share, in [0,1]. 1 is best. It returns NaN without rows.
func (t *TopHits) Value() float64 {
	all := t.all.Total(t.seen.Weighted)
	return exact.Ratio(&t.hits, &all)
}

// Interval is Wilson's.
func (t *TopHits) Interval(level float64) metrics.Interval {
	return metrics.Wilson(t.Value(), t.all.Effective(t.seen.Weighted), level)
}

// Merge adds what another *TopHits has seen.
func (t *TopHits) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*TopHits](topHitsFormat, a)
	if err != nil {
		return err
	}
	if t.k != o.k || t.rule != o.rule {
		return state.Mismatch(topHitsFormat, "of top-%d and of top-%d, or by other rules for ties", t.k, o.k)
	}
	if err := t.seen.Merge(o.seen, topHitsFormat, "classes"); err != nil {
		return err
	}
	t.all.Merge(&o.all)
	t.hits.Merge(&o.hits)
	return nil
}

var topHitsFormat = exact.Format{Name: "score.TopHits", Magic: "cTOP", Version: 1}

func (t *TopHits) fields(f *exact.Fields) {
	f.Int(&t.k)
	exact.Byte(f, &t.rule)
	f.Must(t.k >= 1 && t.k <= maxTopK && t.rule <= AllOfTies, exact.OutOfRange)
	t.seen.Fields(f)
	t.all.Fields(f)
	f.Sum(&t.hits)
	if !f.Reading() {
		return
	}
	missed := t.all.Total(t.seen.Weighted)
	missed.Sub(&t.hits)
	f.Must((t.seen.Classes == 0) == (t.all.N == 0) && (t.all.W.Sign() > 0) == t.seen.Weighted && t.all.W2.Sign() == t.all.W.Sign() &&
		t.all.W.Sign() >= 0 && bounded(&t.all.W2) && t.hits.Sign() >= 0 && missed.Sign() >= 0 && bounded(&missed) &&
		(t.seen.Weighted || whole(&t.hits)), "its hits are not those of rows")
}

// AppendBinary appends the state.
func (t *TopHits) AppendBinary(dst []byte) ([]byte, error) {
	return topHitsFormat.Append(dst, t.fields)
}

// UnmarshalBinary replaces t, including its k and rule, with a state that AppendBinary wrote.
func (t *TopHits) UnmarshalBinary(data []byte) error {
	return exact.Replace(topHitsFormat, data, t, (*TopHits).fields)
}

// whole reports whether a sum is a whole number of rows.
func whole(s *exact.Sum) bool {
	n := tally.Count(int64(s.Float64()))
	n.Sub(s)
	return n.IsZero()
}
