// Package export writes a map of recalibration, or a conformal map, as code that needs no candor: a function in Python, JavaScript or Go,
// a query in SQL, or an ONNX model.
//
// The results are those of the map's Apply in float64, to 1e-12 for a probability and to 1e-12 of the largest number for a
// forecast. An ONNX model takes and returns float32, and its results are within 1e-6. Rows that Apply refuses, such as those
// with NaN, are not checked.
//
// Sets of probabilities are those of the conformal map. Of logits and log-probabilities they may differ where a score equals the threshold to
// the last digits, as the sum of all classes of aps does where the threshold is 1.
//
// The code says at its top what it takes, what it returns, and which map it is of. It is a function of the map alone: the same
// map gives the same bytes.
package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// A program is a map in the form that all targets write.
type program struct {
	method  string
	rows    int64        // that the map was fitted to
	fitted  metrics.Kind // what it was fitted to
	input   metrics.Kind // what the code takes
	classes int          // 1 of a binary task

	// One of these is set.
	soft   *soft
	curves []curve
	sigma  float64
	levels *levels

	top bool // of curves: one curve, for the largest probability
}

// soft is softmax(W z + b) or a mixture of it, or for a binary task sigmoid(beta z). W is beta, or a diagonal, or a matrix.
type soft struct {
	temperature float64 // 0 where there are other parameters
	mixture     []float64
	factors     []float64
	matrix      [][]float64
	biases      []float64
	floor       float64
	normal      bool // logits become log-probabilities first
}

// A curve is a function from an event's probability to its recalibrated one: sigmoid(a ln p - b ln(1-p) + c), or steps, or straight
// lines between points.
type curve struct {
	logistic bool
	beta     bool // 0 and 1 stay, whatever a and b are
	a, b, c  float64

	// Steps: values[i] between cuts[i-1] and cuts[i]; NaN leaves the score as it is. A score on a cut has the value above it, or
	// with closed the one below it, or that of on.
	cuts, values, on []float64
	closed           bool

	line bool // cuts and values are points on straight lines
}

// levels makes quantiles of a forecast.
type levels struct {
	levels, at []float64
}

// ErrNotThere is the error for a map that a target cannot express. Errors wrap it and say what to do.
var ErrNotThere = errors.New("the map cannot be written in this form")

// parameters has the members of all methods' parameters, as docs/recalibration.md lists them.
type parameters struct {
	Temperature float64        `json:"temperature"`
	Weights     []float64      `json:"weights"`
	Factors     []float64      `json:"factors"`
	Matrix      [][]float64    `json:"matrix"`
	Biases      []float64      `json:"biases"`
	Floor       float64        `json:"floor"`
	Scale       float64        `json:"scale"`
	Levels      []float64      `json:"levels"`
	At          []float64      `json:"at"`
	Curves      []curveNumbers `json:"curves"`
}

type curveNumbers struct {
	A, B, C      float64
	X, Y         []float64
	Cuts, Values []float64
	Identity     []int
	On           []float64
}

// newProgram reads the map's file, whose members are documented, so that maps need no second door.
func newProgram(m recal.Map, input metrics.Kind) (*program, error) {
	file, err := recal.Marshal(m)
	if err != nil {
		return nil, err
	}
	var f struct{ Parameters parameters }
	if err := json.Unmarshal(file, &f); err != nil {
		return nil, err
	}
	method, err := recal.Parse(m.Method())
	if err != nil {
		return nil, err
	}
	fit := m.Fit()
	p := &program{method: m.Method(), rows: fit.Rows, input: input, classes: fit.Classes}
	for k := metrics.Kind(0); k.Valid(); k++ {
		if k.String() == fit.Kind {
			p.fitted = k
		}
	}
	width := fit.Classes
	if p.fitted == metrics.Samples || p.fitted == metrics.Normals {
		width = 2
	}
	if _, _, err := m.Out(input, width); err != nil {
		return nil, err
	}
	n := &f.Parameters
	switch method := method.(type) {
	case recal.Temperature, recal.ETS:
		p.soft = &soft{temperature: n.Temperature, mixture: n.Weights}
	case recal.Vector, recal.Matrix, recal.Dirichlet:
		_, normal := method.(recal.Dirichlet)
		p.soft = &soft{normal: normal && input == metrics.Logits, factors: n.Factors, matrix: n.Matrix, biases: n.Biases, floor: n.Floor}
	case recal.Sigma:
		p.sigma = n.Scale
	case recal.Quantile:
		p.levels = &levels{n.Levels, n.At}
	case recal.Platt:
		p.top = method.TopLabel
		for _, c := range n.Curves {
			p.curves = append(p.curves, curve{logistic: true, a: c.A, b: c.A, c: c.B})
		}
	case recal.Beta:
		p.top = method.TopLabel
		for _, c := range n.Curves {
			p.curves = append(p.curves, curve{logistic: true, beta: true, a: c.A, b: c.B, c: c.C})
		}
	case recal.Isotonic:
		p.top = method.TopLabel
		for _, c := range n.Curves {
			if method.Interpolate {
				p.curves = append(p.curves, curve{line: true, cuts: c.X, values: c.Y})
			} else {
				p.curves = append(p.curves, curve{cuts: c.X[1:], values: c.Y})
			}
		}
	case recal.Spline:
		p.top = method.TopLabel
		for _, c := range n.Curves {
			p.curves = append(p.curves, curve{line: true, cuts: c.X, values: c.Y})
		}
	case recal.Histogram:
		p.top = method.TopLabel
		for _, c := range n.Curves {
			for _, i := range c.Identity {
				c.Values[i] = math.NaN()
			}
			p.curves = append(p.curves, curve{cuts: c.Cuts, values: c.Values, closed: method.RightClosed || method.AsCoded})
		}
	case recal.BBQ, recal.VennAbers:
		switch m := method.(type) {
		case recal.BBQ:
			p.top = m.TopLabel
		case recal.VennAbers:
			if m.OneVsOne && p.classes > 1 {
				return nil, fmt.Errorf("%w: curves of pairs of classes; leave one_vs_one out", ErrNotThere)
			}
			p.top = m.TopLabel
		}
		for _, c := range n.Curves {
			p.curves = append(p.curves, curve{cuts: c.Cuts, values: c.Values, on: c.On})
		}
	default:
		return nil, fmt.Errorf("%w: %s", ErrNotThere, m.Method())
	}
	return p, nil
}

// size returns the number of parameters.
func (p *program) size() int {
	n := 0
	if s := p.soft; s != nil {
		n += 1 + len(s.mixture) + len(s.factors) + len(s.biases)*(1+len(s.matrix))
	}
	for _, c := range p.curves {
		n += len(c.cuts) + len(c.values) + len(c.on)
		if c.logistic {
			n += 3
		}
	}
	if p.levels != nil {
		n += len(p.levels.at)
	}
	return n
}

// binary reports whether a row is one score.
func (p *program) binary() bool { return p.classes == 1 }

// onLogits reports whether curves take logits, instead of probabilities.
func (p *program) onLogits() bool { return p.curves[0].logistic }

// identity, on and line report whether any curve has such values.
func (p *program) any(f func(*curve) bool) bool {
	for i := range p.curves {
		if f(&p.curves[i]) {
			return true
		}
	}
	return false
}

func hasIdentity(c *curve) bool {
	for _, v := range c.values {
		if v != v {
			return true
		}
	}
	return false
}
func hasOn(c *curve) bool  { return c.on != nil }
func isLine(c *curve) bool { return c.line }

// what describes the map in a sentence.
func (p *program) what() string {
	rows := fmt.Sprintf("%d rows", p.rows)
	switch {
	case p.soft == nil && p.curves == nil:
		rows += " of forecasts (" + p.fitted.String() + ")"
	case p.binary():
		rows += " of a binary task (" + p.fitted.String() + ")"
	default:
		rows += fmt.Sprintf(" of %d classes (%v)", p.classes, p.fitted)
	}
	if p.rows == 0 {
		return "Recalibration by " + p.method + ", which was not fitted."
	}
	return "Recalibration by " + p.method + ", fitted to " + rows + "."
}

// takes names one row of the input, and gives one of the output.
func (p *program) takes() string {
	name := map[metrics.Kind]string{metrics.Probs: "probabilities", metrics.Logits: "logits", metrics.LogProbs: "log-probabilities"}[p.input]
	if p.binary() {
		name = map[metrics.Kind]string{metrics.Probs: "probability", metrics.Logits: "logit", metrics.LogProbs: "log-probability"}[p.input]
		return "the " + name + " of the event"
	}
	return fmt.Sprintf("the %s of %d classes", name, p.classes)
}

// spots returns the positions between which quantiles lie, and the fractions of the way from the first to the second.
func (l *levels) spots() (low, high []int, fraction []float64) {
	n := len(l.levels)
	for _, u := range l.at {
		above := 0
		for above < n && l.levels[above] < u {
			above++
		}
		switch above {
		case 0:
			low, high, fraction = append(low, 0), append(high, 0), append(fraction, 0)
		case n:
			low, high, fraction = append(low, n-1), append(high, n-1), append(fraction, 0)
		default:
			a, b := l.levels[above-1], l.levels[above]
			low, high, fraction = append(low, above-1), append(high, above), append(fraction, (u-a)/(b-a))
		}
	}
	return low, high, fraction
}

// number formats a number with all its digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// code gathers lines.
type code struct {
	strings.Builder
}

func (c *code) line(format string, args ...any) {
	fmt.Fprintf(&c.Builder, format, args...)
	c.WriteByte('\n')
}

// wrapped returns words that are separated by ", " in lines of at most 118 bytes, each behind indent.
func wrapped(indent string, words []string) string {
	var b strings.Builder
	at := 0
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		switch {
		case i == 0:
			b.WriteString(indent)
			at = len(indent)
		case at+1+len(w) > 118:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(w)
		at += len(w)
	}
	return b.String()
}

func numbers(v []float64, format func(float64) string) []string {
	l := make([]string, len(v))
	for i, x := range v {
		l[i] = format(x)
	}
	return l
}

// refused returns the error for a target that cannot express a map.
func refused(target, why, remedy string) error {
	return fmt.Errorf("%w: %s %s; %s", ErrNotThere, target, why, remedy)
}

// integers returns [1, 2, 3].
func integers(v []int) string {
	return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
}
