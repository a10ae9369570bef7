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

// A curve is a fitted function from the score of an event to its probability.
type curve interface {
	logits() bool      // reports whether it takes logits, ln(p/(1-p)), instead of probabilities
	apply(x []float64) // replaces scores with probabilities; only NaN becomes NaN
	// ready prepares a curve that was fitted or read from a file. It returns an error if the curve is invalid.
	ready() error
	free() int // number of free numbers, see Parameters
}

// CurveMap is the map of the methods that recalibrate one probability: Histogram, Isotonic, Spline, VennAbers, BBQ, Platt and Beta. It has
//
//	one curve   for a binary task: the event's probability becomes f(p)
//	K curves    for K >= 2 classes, each fitted to its class against the rest: p_j becomes f_j(p_j) / sum_k f_k(p_k),
//	            or 1/K for all classes if that sum is 0
//	one curve   with the method's TopLabel: the largest probability p_t becomes f(p_t), and the others are multiplied by
//	            (1 - f(p_t)) / (1 - p_t); if they are all 0, each becomes (1 - f(p_t)) / (K - 1)
//
// 1 - p_t is computed as the sum of the others. The arg max can change in each case. For a binary task the top label is 1 if
// p > 1/2.
//
// Rows may be probabilities, logits or log-probabilities, whatever the map was fitted to, and become probabilities. The map is
// immutable. Its parameters in a file are {"curves": [...]}; the documentation of a method describes its curves.
type CurveMap struct {
	method string
	fit    Fit
	top    bool
	curves []curve
}

// Method returns the method and its options.
func (m *CurveMap) Method() string { return m.method }

// Fit describes the rows that the map was fitted to.
func (m *CurveMap) Fit() Fit { return m.fit }

// Curves returns the number of curves: 1 for a binary task or with TopLabel, else the number of classes.
func (m *CurveMap) Curves() int { return len(m.curves) }

// Curve returns curve i as a function of a probability p in [0,1], before a row's results are divided by their sum. It
// panics if there is no such curve.
func (m *CurveMap) Curve(i int) func(p float64) float64 {
	if i < 0 || i >= len(m.curves) {
		panic(errCurve)
	}
	c := m.curves[i]
	return func(p float64) float64 {
		x := [1]float64{p}
		if c.logits() {
			x[0] = logit(p)
		}
		c.apply(x[:])
		return x[0]
	}
}

// Steps is a curve of Histogram, VennAbers or BBQ: Values[i] between Cuts[i-1] and Cuts[i], where the outer cuts are 0 and 1. A score on a cut has the
// value above it; with RightClosed, the value below it.
type Steps struct {
	Cuts, Values []float64
	RightClosed  bool
	// On has the values of scores on the cuts, of VennAbers and of BBQ with AsCoded, where neither neighbour's is theirs; nil otherwise.
	On []float64
}

// Steps returns curve i of a map that Histogram, VennAbers or BBQ fitted. A value that leaves scores as they are, by Identity, is NaN. It panics if there
// is no such curve.
func (m *CurveMap) Steps(i int) Steps {
	if i >= 0 && i < len(m.curves) {
		switch c := m.curves[i].(type) {
		case *bins:
			return Steps{Cuts: slices.Clone(c.Cuts), Values: slices.Clone(c.values), RightClosed: c.side == kernel.RightClosed}
		case *vennCurve:
			return Steps{Cuts: slices.Clone(c.Cuts), Values: slices.Clone(c.Values), On: slices.Clone(c.On)}
		case *bbqSteps:
			return Steps{Cuts: slices.Clone(c.Cuts), Values: slices.Clone(c.Values), On: slices.Clone(c.On)}
		}
	}
	panic(errCurve)
}

// Points returns curve i of a map that Isotonic or Spline fitted: x rises, and of Isotonic y too. Between points the curve has the y of the point below, or
// with Interpolate and of Spline is a straight line; beyond the outer points it is constant. It panics if there is no such curve.
func (m *CurveMap) Points(i int) (x, y []float64) {
	if i >= 0 && i < len(m.curves) {
		switch c := m.curves[i].(type) {
		case *isotone:
			return slices.Clone(c.X), slices.Clone(c.Y)
		case *polyline:
			return slices.Clone(c.X), slices.Clone(c.Y)
		}
	}
	panic(errCurve)
}

const errCurve = "recal: there is no curve of this number"

// Out accepts rows with the number of classes that the map was fitted to, and returns Probs with the same number.
func (m *CurveMap) Out(k metrics.Kind, classes int) (metrics.Kind, int, error) {
	return softmaxOut(m.method, m.fit.Classes, k, classes)
}

// Apply writes the recalibrated rows of src, whose kind is k, to dst; see Map. It computes in float64, a tile of rows at a
// time on one goroutine, with about 0.5 MiB of memory, or that of 16 rows.
func (m *CurveMap) Apply(dst, src *metrics.Scores, k metrics.Kind) {
	checkApply(m.Out, dst, src, k)
	t := newTile(reading{top: m.top, logits: m.curves[0].logits()}, src.Classes, src.Rows)
	for lo := 0; lo < src.Rows; lo += t.rows {
		hi := min(lo+t.rows, src.Rows)
		t.read(src, k, lo, hi)
		switch {
		case m.top:
			m.applyTop(t, src, k, lo, hi)
		case src.Classes == 1:
			m.curves[0].apply(t.x[:t.n])
		default:
			m.applyEach(t)
		}
		store(dst, t.x, lo, hi)
	}
}

// applyEach replaces the scores of a tile with the results of the curves of all classes.
func (m *CurveMap) applyEach(t *tile) {
	column := t.spare[:t.n]
	for j, c := range m.curves {
		t.column(column, j)
		c.apply(column)
		for i, v := range column {
			t.x[i*t.width+j] = v
		}
	}
	for i := range t.n {
		row := t.x[i*t.width:][:t.width]
		sum := 0.0
		for _, v := range row {
			sum += v
		}
		if sum == 0 {
			fill(row, 1/float64(t.width))
			continue
		}
		for j, v := range row {
			row[j] = v / sum // NaN if there was one
		}
	}
}

// applyTop replaces the top scores of a tile with the recalibrated rows.
func (m *CurveMap) applyTop(t *tile, src *metrics.Scores, k metrics.Kind, lo, hi int) {
	f := t.spare[:t.n]
	copy(f, t.x)
	m.curves[0].apply(f)
	src.Widen(t.x, lo, hi)
	toProbs(t.x, t.n, t.classes, k)
	for i, top := range t.top[:t.n] {
		row := t.x[i*t.classes:][:t.classes]
		if t.classes == 1 {
			if row[0] = f[i]; top == 0 {
				row[0] = 1 - f[i]
			}
			continue
		}
		rest := 0.0
		for j, v := range row {
			if j != int(top) {
				rest += v
			}
		}
		switch {
		case !(row[top]+rest >= 0):
			fill(row, nan)
		case rest == 0:
			fill(row, (1-f[i])/float64(t.classes-1))
		default:
			scale := (1 - f[i]) / rest
			for j, v := range row {
				if row[j] = v * scale; scale > math.MaxFloat64 { // the other probabilities are almost 0
					row[j] = v / rest * (1 - f[i])
				}
			}
		}
		if row[top] == row[top] {
			row[top] = f[i]
		}
	}
}

func fill(x []float64, v float64) {
	for i := range x {
		x[i] = v
	}
}

// newCurveMap returns the map of curves that were fitted or read from a file.
func newCurveMap(m Method, f Fit, top bool, curves []curve) (Map, error) {
	for _, c := range curves {
		if err := c.ready(); err != nil {
			return nil, err
		}
	}
	return &CurveMap{method: m.String(), fit: f, top: top, curves: curves}, nil
}

type curvesFile struct {
	Curves []json.RawMessage `json:"curves"`
}

func (m *CurveMap) parameters() any {
	return struct {
		Curves []curve `json:"curves"`
	}{m.curves}
}

// decodeCurves reads a method's map from a file. empty returns a curve to decode into.
func decodeCurves(m Method, f Fit, top bool, parameters json.RawMessage, empty func() curve) (Map, error) {
	var file curvesFile
	if err := strict(parameters, &file); err != nil {
		return nil, err
	}
	if f.Classes < 1 || len(file.Curves) != (reading{top: top}).curves(f.Classes) {
		return nil, fmt.Errorf("there are %d curves of %d classes", len(file.Curves), f.Classes)
	}
	curves := make([]curve, len(file.Curves))
	for i, raw := range file.Curves {
		curves[i] = empty()
		if err := strict(raw, curves[i]); err != nil {
			return nil, fmt.Errorf("curve %d: %w", i, err)
		}
	}
	return newCurveMap(m, f, top, curves)
}

// errCurveFile is the error for a curve in a file that ready rejects.
var errCurveFile = errors.New("its numbers do not make a curve")

// toProbs converts rows of scores to probabilities.
func toProbs(x []float64, rows, classes int, k metrics.Kind) {
	switch {
	case k == metrics.Probs:
	case classes > 1:
		kernel.SoftmaxF64(x[:rows*classes], classes, x[:rows*classes], rows, classes, classes)
	case k == metrics.Logits:
		for i, z := range x[:rows] {
			x[i] = sigmoid(z)
		}
	default:
		for i, l := range x[:rows] {
			x[i] = min(kernel.Exp64(l), 1)
		}
	}
}

// toLogits converts rows of scores to the logits ln(p/(1-p)) of each class.
func toLogits(x []float64, rows, classes int, k metrics.Kind) {
	if classes == 1 {
		if k == metrics.Probs {
			logitAll(x[:rows])
			return
		}
		for i, v := range x[:rows] {
			x[i] = eventLogit(v, k)
		}
		return
	}
	rest := make([]float64, classes)
	for i := range rows {
		row := x[i*classes:][:classes]
		top := argMax(row)
		last := topLogit(row, top, k)
		if last != last {
			fill(row, nan)
			continue
		}
		if k == metrics.Probs {
			for j, p := range row {
				rest[j] = 1 - p
			}
			kernel.LogSliceF64(row, row)
		} else {
			// With e_j = exp(x_j - x_top) the logit is x_j - x_top - ln(sum of the others' e).
			m, sum := row[top], 0.0
			for j, v := range row {
				row[j] = v - m
			}
			kernel.ExpSliceF64(rest, row)
			for _, e := range rest {
				sum += e
			}
			for j, e := range rest {
				rest[j] = sum - e
			}
		}
		kernel.LogSliceF64(rest, rest)
		for j, l := range rest {
			row[j] -= l
		}
		row[top] = last
	}
}

// eventLogit returns the logit of a binary task's score.
func eventLogit(v float64, k metrics.Kind) float64 {
	switch {
	case k == metrics.Probs:
		return logit(v)
	case k == metrics.Logits:
		return v
	}
	return logProbLogit(v)
}

// maxLogit is the largest finite float64.
const maxLogit = 0x1.fffffffffffffp1023

// topLogit returns the logit of a row's largest score. Near probability 1 its digits come from the sum of the others.
func topLogit(row []float64, top int, k metrics.Kind) float64 {
	if m := row[top]; !(m >= -maxLogit && m <= maxLogit) {
		return nan
	}
	if k == metrics.Probs {
		rest := 0.0
		for j, p := range row {
			if j != top {
				rest += p
			}
		}
		return kernel.Log64(row[top]) - kernel.Log64(rest)
	}
	second := negInf
	for j, v := range row {
		if j != top && !(v <= second) {
			second = v
		}
	}
	if second == negInf {
		return -negInf
	}
	sum := 0.0
	for j, v := range row {
		if j != top {
			sum += kernel.Exp64(v - second)
		}
	}
	return row[top] - second - kernel.Log64(sum)
}

var negInf = math.Inf(-1)

// argMax returns the index of the first largest score.
func argMax(row []float64) (top int) {
	for j, v := range row {
		if v > row[top] {
			top = j
		}
	}
	return top
}
