package recal

import "github.com/candor-go/candor/internal/exact"

// A weight is an exact sum of weights, which are whole multiples of 2^-88. Adding a 1 is as fast as counting.
type weight struct {
	n    int64     // number of terms
	ones int64     // number of terms that are 1
	rest exact.Sum // sum of the others
}

func (w *weight) add(v float64) {
	w.n++
	if v == 1 {
		w.ones++
		return
	}
	w.rest.AddFloat(v)
}

func (w *weight) merge(o *weight) {
	w.n += o.n
	w.ones += o.ones
	w.rest.Merge(&o.rest)
}

func (w *weight) exact() exact.Sum {
	s := w.rest.Clone()
	s.AddShifted(w.ones, 88)
	return s
}

// value returns the sum, rounded once.
func (w *weight) value() float64 {
	if w.n == w.ones {
		return float64(w.ones)
	}
	s := w.exact()
	return s.Float64()
}

// over returns w/v, rounded once.
func (w *weight) over(v *weight) float64 {
	a, b := w.exact(), v.exact()
	return exact.Ratio(&a, &b)
}
