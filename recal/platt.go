package recal

import (
	"encoding/json"
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// Platt is sigmoid(a z + b) of the logit z = ln(p/(1-p)), with a and b chosen to minimise the negative log-likelihood -sum w
// (t ln f + (1-t) ln(1-f)). The targets t are the labels, 0 and 1. Smoothed targets are (N+ + 1)/(N+ + 2) for the N+ rows
// with the event and 1/(N- + 2) for the N- others (Platt 1999, Probabilistic outputs for support vector machines); with
// weights N+ and N- are sums of weights. A and B of Platt and of scikit-learn are -a and -b. CurveMap describes the
// treatment of several classes.
//
// a < 0 reverses scores that are in reverse order. The error wraps ErrUnreachable if there is no fit: all scores are equal;
// or, without smoothing, all labels are equal or the scores separate the labels, so that no score without the event is above
// one with it, or the other way around.
//
// The scores 0 and 1 have no finite logit. Where they agree with the label they carry no information about the curve, since
// with a > 0 it maps them to 0 and 1. If the curve of the other rows falls, there is no fit. Rows where they disagree are
// counted in Fit.LeftOut: for several classes the rows whose true class has probability 0, left out of all curves; for the
// top label the rows where it is certain and wrong. N+ and N- count rows with finite logits.
//
// In a file each curve has the coefficients a and b and their standard errors a_se and b_se; see PlattCurve.
type Platt struct {
	Smoothed bool // targets (N+ + 1)/(N+ + 2) and 1/(N- + 2) in place of 1 and 0
	TopLabel bool
}

// String returns "platt" with the options that are on: smoothed, top_label.
func (m Platt) String() string {
	return spelled("platt", word("smoothed", m.Smoothed), word("top_label", m.TopLabel))
}

func (m Platt) with(option, value string) (Method, error) {
	var err error
	switch option {
	case "smoothed":
		m.Smoothed, err = readWord(option, value)
	case "top_label":
		m.TopLabel, err = readWord(option, value)
	default:
		err = noOption(option, "smoothed", "top_label")
	}
	return m, err
}

// Fit returns a *CurveMap. Most data take 6 to 15 reads, shared by all classes. No rows are kept in memory.
func (m Platt) Fit(d Data, o *Options) (Map, error) {
	fits, s, err := logisticModel{smoothed: m.Smoothed}.fit(d, o, m.TopLabel)
	if err != nil {
		return nil, err
	}
	curves := make([]curve, len(fits))
	for k := range fits {
		f := &fits[k]
		if f.survey.agree > 0 && f.a[0] < 0 {
			return nil, f.named(unreachable(reversed))
		}
		se, at := f.errors()
		curves[k] = &PlattCurve{A: f.a[0], B: f.c, ASE: se, BSE: at}
	}
	return newCurveMap(m, s.fit, m.TopLabel, curves)
}

const reversed = "scores of 0 and 1 agree with their labels, while the others are in reverse order"

func (m Platt) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return decodeCurves(m, f, m.TopLabel, parameters, func() curve { return new(PlattCurve) })
}

// PlattCurve is a curve of Platt: sigmoid(A z + B) of the logit z. The standard errors come from the curvature of the
// likelihood, where a row of weight w counts as w rows.
type PlattCurve struct {
	A   float64 `json:"a"`
	B   float64 `json:"b"`
	ASE float64 `json:"a_se"`
	BSE float64 `json:"b_se"`
}

// Platt returns curve i of a map fitted by Platt. It panics if there is no such curve.
func (m *CurveMap) Platt(i int) PlattCurve {
	if i >= 0 && i < len(m.curves) {
		if c, ok := m.curves[i].(*PlattCurve); ok {
			return *c
		}
	}
	panic(errCurve)
}

// Intervals returns the confidence intervals of A and B at a level such as 0.95, from the normal distribution.
func (c *PlattCurve) Intervals(level float64) (a, b metrics.Interval) {
	z := metrics.Z(level)
	around := func(v, se float64) metrics.Interval {
		half := float64(z * se)
		return metrics.Interval{Low: v - half, High: v + half}
	}
	return around(c.A, c.ASE), around(c.B, c.BSE)
}

func (c *PlattCurve) logits() bool { return true }
func (c *PlattCurve) free() int    { return 2 }

func (c *PlattCurve) line(x []float64) {
	if c.A == 0 {
		for i, z := range x {
			if z == z {
				x[i] = c.B
			}
		}
	} else {
		for i, z := range x {
			x[i] = float64(c.A*z) + c.B
		}
	}
}

func (c *PlattCurve) apply(x []float64) {
	c.line(x)
	sigmoids(x)
}

func (c *PlattCurve) ready() error {
	v := math.Abs(c.A) + math.Abs(c.B)
	if !(v <= math.MaxFloat64 && c.ASE >= 0 && c.ASE <= math.MaxFloat64 && c.BSE >= 0 && c.BSE <= math.MaxFloat64) {
		return errCurveFile
	}
	return nil
}

// sigmoids replaces each x with sigmoid(x).
func sigmoids(x []float64) {
	var room [256]float64
	for len(x) > 0 {
		n := min(len(x), len(room))
		e := room[:n]
		for i, v := range x[:n] {
			e[i] = -v
		}
		kernel.ExpSliceF64(e, e)
		for i, v := range x[:n] {
			if x[i] = 1 / (1 + e[i]); v < -700 {
				x[i] = sigmoid(v) // exp(-v) may overflow although sigmoid(v) is above 0
			}
		}
		x = x[n:]
	}
}
