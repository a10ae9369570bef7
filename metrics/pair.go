package metrics

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// Pair is the two scores that rows of a binary task had, where one number was made of them (see OfEvent) and some row needs a look:
// its probabilities do not sum to 1, one of them is none, or a logit is infinite. A Pass then checks rows, and divides them by their sums if that is asked
// for, as it does those of classes.
type Pair struct {
	Raw   []float64 // of rows one after the other: class 0, class 1
	Kind  Kind      // of the raw scores: Probs, Logits or LogProbs
	Event int       // the class whose probability the number is
}

// OfEvent turns rows of two classes' scores into those of a binary task, in place, and returns what Scores, Kind and labels become: the
// event is that the class is event, 0 or 1.
//
// The number of a row is the event's probability as it stands. Of logits and log-probabilities it is the event's less the other's, in
// the scores' own type, which is the event's logit: the kind is then Logits. Labels and decisions 0 and 1 change places if the event is
// class 0; others, which are faults, stay.
//
// It panics unless there are two classes and the kind is one of the three.
func (p *Predictions) OfEvent(event int) {
	if p.Classes != 2 || event != 0 && event != 1 || !p.Kind.logs() && p.Kind != Probs {
		panic("metrics: an event is one of two classes, of which the scores are probabilities or logits")
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

// TurnLabels makes 0 of 1 and 1 of 0, and leaves what is neither as it is.
func TurnLabels(labels []int32) {
	for i, y := range labels {
		if y == 0 || y == 1 {
			labels[i] = 1 - y
		}
	}
}

// OfEvent is that of Predictions for the scores alone.
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

// doubtfulPairs tells whether some row has to be looked at: what it has is no probability or no logit, or its sum is off 1 by more.
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

// ofEvent writes the rows' numbers, out elements apart: none is written before both of its scores are read.
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

// narrowBF16 returns the bits of the bfloat16 nearest to v, of two the even one.
func narrowBF16(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// narrowF16 returns the bits of the binary16 nearest to v, of two the even one.
func narrowF16(v float32) uint16 {
	b := math.Float32bits(v)
	sign, b := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00
	case b >= 0x477ff000: // beyond the largest by half a place or more
		return sign | 0x7c00
	case b < 0x38800000: // below the normal ones: in units of the least
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(b))*0x1p24))
	}
	b -= 0x38000000
	return sign | uint16((b+0xfff+b>>13&1)>>13)
}

// Rows returns the pairs of some rows; nil of nil.
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

// Slice returns the pairs of rows [lo, hi); nil of nil.
func (p *Pair) Slice(lo, hi int) *Pair {
	if p == nil {
		return nil
	}
	return &Pair{p.Raw[2*lo : 2*hi], p.Kind, p.Event}
}

// sum returns that of a row's probabilities.
func (p *Pair) sum(i int) float64 {
	a, b := p.Raw[2*i], p.Raw[2*i+1]
	if p.Kind == LogProbs {
		return kernel.Exp64(a) + kernel.Exp64(b)
	}
	return a + b
}
