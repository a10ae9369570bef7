package recal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// Vector is vector scaling: softmax(w*z + b), with a factor and a bias for each class that minimise the mean NLL. The arg
// max may change.
//
// The logits z of probabilities are their logarithms. Logits are used as they are given: adding a number to all logits of a
// row changes the result, unless all factors are equal. A class of probability 0, or of logit -Inf, keeps probability 0.
// Rows whose label is such a class are left out (see Fit).
//
// The fit uses L-BFGS and starts from the best temperature. It ends when no element of the gradient is above 1e-9 in
// absolute value, with logits in units of their standard deviations, or when rounding prevents further progress and none is
// above 1e-6. After 2000 passes the error wraps ErrNoMinimum.
//
// The error wraps ErrUnreachable if there is no best map: no row counts; all labels are one class; a class with positive
// probabilities is no row's label; or scores separate some labels from the others so well that factors or biases grow
// without bound. One score per row is an error; Platt fits a factor and a bias to one score.
//
// A file has the parameters factors, biases, passes and gradient (see VectorMap.Passes).
//
// Source: Guo, Pleiss, Sun, Weinberger, On calibration of modern neural networks (2017).
type Vector struct{}

func (m Vector) String() string { return "vector" }

// Fit returns a *VectorMap.
func (m Vector) Fit(d Data, o *Options) (Map, error) {
	l := &linear{d: d, o: o, name: m.String()}
	f, err := l.fit()
	if err != nil {
		return nil, err
	}
	return &VectorMap{linearMap{fit: l.s.fit, kind: l.s.kind, method: m.String(), w: f.w, b: f.b,
		passes: f.passes, gradient: f.gradient}}, nil
}

func (m Vector) with(option, value string) (Method, error) { return m, noOption(option) }

// VectorMap is a map fitted by Vector.
type VectorMap struct{ linearMap }

// Factors returns the factor of each class.
func (m *VectorMap) Factors() []float64 { return slices.Clone(m.w) }

type vectorFile struct {
	Factors  []float64 `json:"factors"`
	Biases   []float64 `json:"biases"`
	Passes   int       `json:"passes"`
	Gradient float64   `json:"gradient"`
}

func (m *VectorMap) parameters() any { return vectorFile{m.w, m.b, m.passes, m.gradient} }

func (m Vector) decode(f Fit, parameters json.RawMessage) (Map, error) {
	var p vectorFile
	if err := strict(parameters, &p); err != nil {
		return nil, err
	}
	l := linearMap{fit: f, method: m.String(), w: p.Factors, b: p.Biases, passes: p.Passes, gradient: p.Gradient}
	if err := l.check(len(p.Factors)); err != nil {
		return nil, err
	}
	return &VectorMap{l}, nil
}

// linearMap is softmax(W z + b), where W is a full or a diagonal matrix.
type linearMap struct {
	fit      Fit
	kind     metrics.Kind
	method   string
	w        []float64 // the diagonal, or the transposed matrix
	b        []float64
	floor    float64 // for a full matrix: what a class without probability counts as in the scores of others
	normal   bool    // logits become log-probabilities first
	passes   int
	gradient float64
}

// check returns an error unless the decoded parameters are valid for this number of classes.
func (m *linearMap) check(classes int) error {
	k := m.fit.Classes
	if k < 2 || classes != k || len(m.b) != k {
		return fmt.Errorf("parameters are of %d and %d classes, and the fit is of %d", classes, len(m.b), k)
	}
	for _, v := range [][]float64{m.w, m.b, {m.floor, m.gradient}} {
		if slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
			return errors.New("a parameter is no number")
		}
	}
	for _, k := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
		if k.String() == m.fit.Kind {
			m.kind = k
			return nil
		}
	}
	return fmt.Errorf("kind is %q; it is probs, logits or logprobs", m.fit.Kind)
}

// Method returns the method that fitted the map.
func (m *linearMap) Method() string { return m.method }

// Fit describes the rows that the map was fitted to.
func (m *linearMap) Fit() Fit { return m.fit }

// Biases returns the bias of each class. Their sum is 0, since a common constant has no effect.
func (m *linearMap) Biases() []float64 { return slices.Clone(m.b) }

// Passes returns the number of gradients that the fit computed, each a read of the data, and the largest absolute element of
// the last one, with logits in units of their standard deviations.
func (m *linearMap) Passes() (n int, gradient float64) { return m.passes, m.gradient }

// Out accepts rows with the number of classes that the map was fitted to, and returns Probs. A map fitted to logits accepts
// Logits; one fitted to Probs or LogProbs accepts both of these. A map of Dirichlet accepts all three.
func (m *linearMap) Out(k metrics.Kind, classes int) (metrics.Kind, int, error) {
	kind, width, err := softmaxOut(m.method, m.fit.Classes, k, classes)
	if err != nil {
		return 0, 0, err
	}
	if (k == metrics.Logits) != (m.kind == metrics.Logits) && !m.normal {
		return 0, 0, fmt.Errorf("the map %s was fitted to %s, and these are %s", m.method, m.fit.Kind, k)
	}
	return kind, width, nil
}

// logKind returns what logits of a kind are, once they are normal.
func logKind(k metrics.Kind, normal bool) metrics.Kind {
	if normal && k == metrics.Logits {
		return metrics.LogProbs
	}
	return k
}

// applyBytes is about the size of the rows that Apply processes at a time.
const applyBytes = 1 << 19

// Apply writes softmax(W z + b). A class with probability 0 keeps it.
func (m *linearMap) Apply(dst, src *metrics.Scores, k metrics.Kind) {
	checkApply(m.Out, dst, src, k)
	c := src.Classes
	m.scores(src, k, 0, src.Rows, func(y []float64, lo, hi int) {
		kernel.SoftmaxF64(y, c, y, hi-lo, c, c)
		store(dst, y, lo, hi)
	})
}

// logitsOf writes W z + b.
func (m *linearMap) logitsOf(dst []float64, src *metrics.Scores, k metrics.Kind, from, to int) {
	m.scores(src, k, from, to, func(y []float64, lo, hi int) { copy(dst[(lo-from)*src.Classes:], y) })
}

// scores passes W z + b to f, some rows at a time, with -Inf for a class without probability.
func (m *linearMap) scores(src *metrics.Scores, k metrics.Kind, from, to int, f func(y []float64, lo, hi int)) {
	c := src.Classes
	step := max(1, min(linearRows, applyBytes/(8*c)))
	z, y := make([]float64, step*c), make([]float64, step*c)
	var zeros []int32
	for lo := from; lo < to; lo += step {
		hi := min(lo+step, to)
		n := hi - lo
		logits(z, src, k, lo, hi)
		if m.normal && k == metrics.Logits {
			kernel.LogSoftmaxF64(z, c, z[:n*c], n, c, c)
		}
		zeros = zeros[:0]
		for i := range n {
			row := z[i*c : (i+1)*c]
			top := math.Inf(-1)
			for _, v := range row {
				top = max(top, v) // NaN if v is NaN
			}
			if !(math.Abs(top) <= math.MaxFloat64) {
				for j := range row {
					row[j] = nan
				}
				continue
			}
			zeros = lift(row, zeros, i*c, logKind(k, m.normal), m.floor)
		}
		if len(m.w) > c {
			kernel.AffineF64(y, z, m.w, m.b, n, c, c)
		} else {
			kernel.ScaleShiftF64(y, z, m.w, m.b, n, c)
		}
		for _, i := range zeros {
			y[i] = math.Inf(-1)
		}
		f(y[:n*c], lo, hi)
	}
}
