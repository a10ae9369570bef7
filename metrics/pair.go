package metrics

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// Pair holds the two original scores of each row where OfEvent combined them into one. It is kept only if some row needs
// further checks: its probabilities do not sum to 1, one of them is invalid, or a logit is infinite. A Pass then checks and
// renormalises these rows as it does rows of classes.
type Pair struct {
	Raw   []float64 // consecutive rows: class 0, class 1
	Kind  Kind      // of the raw scores: Probs, Logits or LogProbs
	Event int       // class whose probability the combined score states
}

// OfEvent turns rows of two classes into those of a binary task, in place. It updates scores, kind and labels. The event y =
// 1 of the new task is that the class is event, 0 or 1.
//
// For Probs, the new score is the probability of the event, unchanged. For Logits and LogProbs it is the event's score minus
// the other one, computed in the type of the scores. This is the logit of the event, so the kind becomes Logits. If event is
// 0, labels and decisions 0 and 1 are swapped; other values, which are faults, stay.
//
// It panics unless there are two classes and the kind is Probs, Logits or LogProbs.
func (p *Predictions) OfEvent(event int) {
	if p.Classes != 2 || event != 0 && event != 1 || !p.Kind.logs() && p.Kind != Probs {
		panic("metrics: an event is one of two classes with probabilities or logits as scores")
	}
	p.Scores.OfEvent(p.Kind, event)
	if p.Kind.logs() {
		p.Kind = Logits
	}
	if event == 0 {
		TurnLabels(p.Labels)
		TurnLabels(p.Decisions)
	}
}

// TurnLabels swaps the labels 0 and 1 in place and leaves other values as they are.
func TurnLabels(labels []int32) {
	for i, y := range labels {
		if y == 0 || y == 1 {
			labels[i] = 1 - y
		}
	}
}

// OfEvent is Predictions.OfEvent for the scores alone; k is their kind.
func (s *Scores) OfEvent(k Kind, event int) {
	st := s.RowStride()
	raw := func() []float64 {
		r := make([]float64, 2*s.Rows)
		for i := range s.Rows {
			r[2*i], r[2*i+1] = s.element(i*st), s.element(i*st+1)
		}
		return r
	}
	doubt, off := false, near(s.DType(), 2)
	switch {
	case s.F64 != nil:
		doubt = doubtfulPairs(s.F64, s.Rows, st, k, off)
	case s.F32 != nil:
		doubt = doubtfulPairs(s.F32, s.Rows, st, k, off)
	default:
		for i := range s.Rows {
			doubt = doubt || doubtfulPair(s.element(i*st), s.element(i*st+1), k, off)
		}
	}
	if doubt {
		s.Pair = &Pair{raw(), k, event}
	}
	out := 1
	if st > 2 {
		out = st
	}
	last := (s.Rows-1)*out + 1
	if s.Rows == 0 {
		last = 0
	}
	switch {
	case s.F64 != nil:
		s.F64 = ofEvent(s.F64, s.Rows, st, out, k, event)[:last]
	case s.F32 != nil:
		s.F32 = ofEvent(s.F32, s.Rows, st, out, k, event)[:last]
	case s.F16 != nil:
		s.F16 = ofHalves(s.F16, s.Rows, st, out, k, event, kernel.WidenF16, narrowF16)[:last]
	case s.BF16 != nil:
		s.BF16 = ofHalves(s.BF16, s.Rows, st, out, k, event, kernel.WidenBF16, narrowBF16)[:last]
	}
	s.Classes, s.Stride = 1, out
}

// doubtfulPairs reports whether some row needs further checks: a score is no valid probability or logit, or the
// probabilities sum to a value further than off from 1.
func doubtfulPairs[T float32 | float64](x []T, rows, st int, k Kind, off float64) bool {
	for i := range rows {
		if doubtfulPair(float64(x[i*st]), float64(x[i*st+1]), k, off) {
			return true
		}
	}
	return false
}

func doubtfulPair(a, b float64, k Kind, off float64) bool {
	switch k {
	case Probs:
		return !(math.Abs(a+b-1) <= off && a >= 0 && b >= 0)
	case Logits:
		return a-a != 0 || b-b != 0
	}
	return a-a != 0 || b-b != 0 || !(math.Abs(kernel.Exp64(a)+kernel.Exp64(b)-1) <= off)
}

// ofEvent writes the combined score of each row, out elements apart. It reads both scores of a row before it writes, so it
// can work in place.
func ofEvent[T float32 | float64](x []T, rows, st, out int, k Kind, event int) []T {
	if k == Probs {
		for i := range rows {
			x[i*out] = x[i*st+event]
		}
		return x
	}
	for i := range rows {
		x[i*out] = x[i*st+event] - x[i*st+1-event]
	}
	return x
}

func ofHalves(x []uint16, rows, st, out int, k Kind, event int, widen func([]float32, []uint16), narrow func(float32) uint16) []uint16 {
	if k == Probs {
		for i := range rows {
			x[i*out] = x[i*st+event]
		}
		return x
	}
	var w [2]float32
	for i := range rows {
		widen(w[:], x[i*st:i*st+2])
		x[i*out] = narrow(w[event] - w[1-event])
	}
	return x
}

// narrowBF16 returns the bits of the bfloat16 nearest to v, with ties to even.
func narrowBF16(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// narrowF16 returns the bits of the binary16 nearest to v, with ties to even.
func narrowF16(v float32) uint16 {
	b := math.Float32bits(v)
	sign, b := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00
	case b >= 0x477ff000: // overflow: half a unit or more above the largest
		return sign | 0x7c00
	case b < 0x38800000: // subnormal: in units of the smallest
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(b))*0x1p24))
	}
	b -= 0x38000000
	return sign | uint16((b+0xfff+b>>13&1)>>13)
}

// Rows returns the pairs of the given rows, or nil for a nil Pair.
func (p *Pair) Rows(rows []int32) *Pair {
	if p == nil {
		return nil
	}
	q := &Pair{make([]float64, 0, 2*len(rows)), p.Kind, p.Event}
	for _, i := range rows {
		q.Raw = append(q.Raw, p.Raw[2*i], p.Raw[2*i+1])
	}
	return q
}

// Slice returns the pairs of rows [lo, hi), or nil for a nil Pair.
func (p *Pair) Slice(lo, hi int) *Pair {
	if p == nil {
		return nil
	}
	return &Pair{p.Raw[2*lo : 2*hi], p.Kind, p.Event}
}

// sum returns the sum of the probabilities of row i.
func (p *Pair) sum(i int) float64 {
	a, b := p.Raw[2*i], p.Raw[2*i+1]
	if p.Kind == LogProbs {
		return kernel.Exp64(a) + kernel.Exp64(b)
	}
	return a + b
}
