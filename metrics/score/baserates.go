package score

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Skill returns 1 - score/reference. 1 is best, 0 is as good as the reference, and below 0 is worse. The best possible score
// must be 0, so Skill is not for BrierMinusOne. It returns NaN if the reference is 0, because all rows have one class.
func Skill(score, reference float64) float64 {
	if reference == 0 {
		return math.NaN()
	}
	return 1 - score/reference
}

// BaseRates accumulates the weight of each class. Its values are the scores of the forecast that gives every row the shares
// of the classes in the evaluated set. This is the best forecast that knows nothing about a row, and the reference of Skill.
// Values are NaN without rows.
//
// It is a metrics.Accumulator. It takes 8 bytes per class up to the largest label seen, or 32 with weights.
type BaseRates struct {
	seen    state.Rows
	weight  tally.Weight
	counts  []int64     // rows of each class, without weights
	weights []exact.Sum // weight of each class
}

var _ metrics.Accumulator = (*BaseRates)(nil)

// NewBaseRates returns an empty accumulator.
func NewBaseRates() *BaseRates { return &BaseRates{} }

// Needs returns 0: the labels suffice.
func (r *BaseRates) Needs() metrics.Need { return 0 }

// Empty returns an accumulator without rows.
func (r *BaseRates) Empty() metrics.Accumulator { return NewBaseRates() }

// Size estimates the memory in bytes.
func (r *BaseRates) Size(x metrics.Extent) int64 {
	if x.Weighted {
		return int64(x.Classes) * int64(unsafe.Sizeof(exact.Sum{}))
	}
	return int64(x.Classes) * 8
}

// Len returns the number of rows seen.
func (r *BaseRates) Len() int64 { return r.weight.N }

// AddBlock adds a block's rows.
func (r *BaseRates) AddBlock(b *metrics.Block) {
	r.seen.Begin(b)
	r.weight.Add(b.Rows, b.Weights)
	if !r.seen.Weighted {
		r.counts = tally.Labels(r.counts, b.Labels)
		return
	}
	r.grow(int(slices.Max(b.Labels)) + 1)
	tally.AddFloatsTo(r.weights, b.Labels, b.Weights)
}

// grow makes room for n classes.
func (r *BaseRates) grow(n int) {
	if r.seen.Weighted {
		r.weights = append(r.weights, make([]exact.Sum, max(0, n-len(r.weights)))...)
	} else {
		r.counts = append(r.counts, make([]int64, max(0, n-len(r.counts)))...)
	}
}

// each calls f for the classes with rows, with their weight.
func (r *BaseRates) each(f func(class int, w *exact.Sum)) {
	for j, n := range r.counts {
		if n > 0 {
			w := tally.Count(n)
			f(j, &w)
		}
	}
	for j := range r.weights {
		if w := &r.weights[j]; !w.IsZero() {
			f(j, w)
		}
	}
}

// shares calls f for the classes with rows, with their share and 1 - share.
func (r *BaseRates) shares(f func(class int, share, rest float64)) {
	t := r.weight.Total(r.seen.Weighted)
	total := t.Float64()
	r.each(func(class int, w *exact.Sum) {
		rest := t.Clone()
		rest.Sub(w)
		f(class, w.Float64()/total, rest.Float64()/total)
	})
}

// mean returns the mean over the classes of f, weighted by their shares. It returns NaN without rows.
func (r *BaseRates) mean(f func(share, rest float64) float64) float64 {
	if r.weight.N == 0 {
		return math.NaN()
	}
	var s exact.Sum
	r.shares(func(_ int, share, rest float64) { s.AddFloat(float64(share * f(share, rest))) })
	return s.Float64()
}

// Rate returns the share of a class among the rows. For a binary task, class 1 is the event. It panics if the predictions
// have no such class.
func (r *BaseRates) Rate(class int) float64 {
	if r.weight.N == 0 {
		return math.NaN()
	}
	if class < 0 || class >= max(2, r.seen.Classes) {
		panic("score: there is no such class")
	}
	rate := 0.0
	r.shares(func(j int, share, _ float64) {
		if j == class {
			rate = share
		}
	})
	return rate
}

// Present returns the number of classes with rows.
func (r *BaseRates) Present() (n int) {
	r.each(func(int, *exact.Sum) { n++ })
	return n
}

// Rarest returns the class of the least share above 0, the first of equals, and the share. It is -1 and NaN without rows.
func (r *BaseRates) Rarest() (class int, share float64) {
	class, share = -1, math.NaN()
	if r.weight.N > 0 {
		r.shares(func(j int, s, _ float64) {
			if class < 0 || s < share {
				class, share = j, s
			}
		})
	}
	return class, share
}

// Brier returns the reference's mean Brier score in the given form. With shares q_k, BrierDefault is 1 - sum_k q_k^2 for
// rows of classes, and q_1 (1 - q_1) for a binary task. It is the uncertainty of the decomposition.
func (r *BaseRates) Brier(f BrierForm) float64 {
	v := r.mean(func(_, rest float64) float64 { return rest })
	if r.seen.Classes == 1 {
		v /= 2
	}
	scale, shift := f.of(r.seen.Classes)
	return float64(scale*v) + shift
}

// NLL returns the reference's mean negative log-likelihood -sum_k q_k ln q_k in nats, the entropy of the labels.
func (r *BaseRates) NLL() float64 {
	return r.mean(func(share, rest float64) float64 {
		if share < 0.5 {
			return -kernel.Log64(share)
		}
		return 0 - kernel.Log1p64(-rest)
	})
}

// Score returns the reference's mean score of a rule. With shares q_k and cumulative shares Q_k, it is 1 - ||q|| for
// SphericalRule, and sum_{k<K} Q_k (1 - Q_k) for RankedRule. It panics for an unknown rule.
func (r *BaseRates) Score(rule Rule) float64 {
	switch rule {
	case SphericalRule:
		// 1 - ||q|| = (1 - ||q||^2) / (1 + ||q||)
		v := r.mean(func(_, rest float64) float64 { return rest })
		return v / (1 + math.Sqrt(1-v))
	case RankedRule:
		return r.ranked()
	}
	panic("score: there is no such rule")
}

func (r *BaseRates) ranked() float64 {
	if r.weight.N == 0 {
		return math.NaN()
	}
	t := r.weight.Total(r.seen.Weighted)
	total := t.Float64()
	var sum, below exact.Sum
	last, each := -1, 0.0
	r.each(func(class int, w *exact.Sum) {
		// Later classes have no rows, and hence the cumulative share of the last class with rows.
		if last >= 0 {
			sum.AddFloat(float64(float64(class-last) * each))
		}
		below.Merge(w)
		rest := t.Clone()
		rest.Sub(&below)
		last, each = class, float64(below.Float64()/total*(rest.Float64()/total))
	})
	return sum.Float64()
}

// Merge adds what another *BaseRates has seen.
func (r *BaseRates) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*BaseRates](ratesFormat, a)
	if err != nil {
		return err
	}
	if err := r.seen.Merge(o.seen, ratesFormat, "classes"); err != nil {
		return err
	}
	r.weight.Merge(&o.weight)
	r.grow(max(len(o.counts), len(o.weights)))
	for j, n := range o.counts {
		r.counts[j] += n
	}
	for j := range o.weights {
		r.weights[j].Merge(&o.weights[j])
	}
	return nil
}

var ratesFormat = exact.Format{Name: "score.BaseRates", Magic: "cRAT", Version: 1}

// mostRates limits how much memory a damaged state makes its reader allocate.
const mostRates = 1 << 20

// beyondRates returns the error for a state with too many classes, n.
func beyondRates(n int) error {
	if n > mostRates {
		return fmt.Errorf("there is no state of a label of %d: the largest is %d", n-1, mostRates-1)
	}
	return nil
}

func (r *BaseRates) fields(f *exact.Fields) {
	f.Fail(beyondRates(max(len(r.counts), len(r.weights))))
	r.seen.Fields(f)
	r.weight.Fields(f)
	n := r.Present()
	f.Count(&n, 12)
	const damaged = "its classes are not those of its rows"
	class, last, all := 0, -1, exact.Sum{}
	next := func(w *exact.Sum, rows int64) {
		f.Int(&class)
		if r.seen.Weighted {
			f.Sum(w)
		} else {
			f.I64(&rows)
		}
		if !f.Reading() {
			return
		}
		if !r.seen.Weighted {
			*w = tally.Count(rows)
		}
		f.Must(class > last && class < min(max(2, r.seen.Classes), mostRates) && rows >= 1 && w.Sign() > 0 && bounded(w), damaged)
		if !f.OK() {
			return
		}
		if r.grow(class + 1); r.seen.Weighted {
			r.weights[class] = *w
		} else {
			r.counts[class] = rows
		}
		last = class
		all.Merge(w)
	}
	if !f.Reading() {
		r.each(func(j int, w *exact.Sum) {
			rows := int64(0)
			if class = j; !r.seen.Weighted {
				rows = r.counts[j]
			}
			next(w, rows)
		})
		return
	}
	for i := 0; i < n && f.OK(); i++ {
		next(new(exact.Sum), 1)
	}
	t := r.weight.Total(r.seen.Weighted)
	f.Must((r.weight.N == 0) == (r.seen.Classes == 0) && all.Equal(&t), damaged)
}

// AppendBinary appends the state: the classes with rows. It is an error if there is a label of 2^20 or more.
func (r *BaseRates) AppendBinary(dst []byte) ([]byte, error) {
	return ratesFormat.Append(dst, r.fields)
}

// UnmarshalBinary replaces r with a state that AppendBinary wrote.
func (r *BaseRates) UnmarshalBinary(data []byte) error {
	return exact.Replace(ratesFormat, data, r, (*BaseRates).fields)
}

// bounded reports whether a sum can come from rows: it is far below the range where products of two overflow.
func bounded(s *exact.Sum) bool { return math.Abs(s.Float64()) < 0x1p600 }
