package recal

import (
	"encoding/json"
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// Platt is sigmoid(a z + b) of the logit z = ln(p/(1-p)), with the a and b of the least negative log-likelihood
// -sum w (t ln f + (1-t) ln(1-f)). The targets t are the labels, 0 and 1; smoothed ones are (N+ + 1)/(N+ + 2) of the N+ rows with the
// event and 1/(N- + 2) of the N- others (Platt 1999, "Probabilistic outputs for support vector machines"), numbers of rows being sums of
// weights. Platt's A and B, and scikit-learn's, are -a and -b. See CurveMap for what becomes of several classes.
//
// a < 0 turns scores around that are in reverse order. There is no fit, and the error wraps ErrUnreachable, where all scores are the
// same, and without smoothing where all labels are, or where the scores separate the labels: one score is not below any without
// the event and not above any with it, or the other way around.
//
// The scores 0 and 1 have no finite logit. Where they agree with the label they say nothing of the curve, for with a > 0 it makes 0 and
// 1 of them; should the curve of the others fall there is none. Rows where they do not agree are Fit.LeftOut: of several classes those
// whose true class has no probability, from all curves, and of the top label those where it is certain and wrong. N+ and N- are of rows
// with finite logits.
//
// Of a curve in a file a and b are the coefficients, a_se and b_se their standard errors: see PlattCurve.
type Platt struct {
	Smoothed bool // targets (N+ + 1)/(N+ + 2) and 1/(N- + 2) in place of 1 and 0
	TopLabel bool
}

// String returns "platt" and the options that are on: smoothed, top_label.
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

// Fit returns a *CurveMap. It takes 6 to 15 reads of most data, which all classes share, and no memory for rows.
func (m Platt) Fit(d Data, o *Options) (Map, error) {
	fits, s, err := logisticModel{smoothed: m.Smoothed}.fit(d, o, m.TopLabel)
	if err != nil {
		return nil, err
	}
	curves := make([]curve, len(fits))
	for k := range fits {
		f := &fits[k]
		if f.survey.agree > 0 && f.a[0] < 0 {
			return nil, f.named(unreachable("scores of 0 and 1 agree with their labels, while the others are in reverse order"))
		}
		se, at := f.errors()
		curves[k] = &PlattCurve{A: f.a[0], B: f.c, ASE: se, BSE: at}
	}
	return newCurveMap(m, s.fit, m.TopLabel, curves)
}

func (m Platt) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return decodeCurves(m, f, m.TopLabel, parameters, func() curve { return new(PlattCurve) })
}

// PlattCurve is a curve of Platt: sigmoid(A z + B) of the logit z. Standard errors are those of the likelihood's curvature; weights
// count as so many rows.
type PlattCurve struct {
	A   float64 `json:"a"`
	B   float64 `json:"b"`
	ASE float64 `json:"a_se"`
	BSE float64 `json:"b_se"`
}

// Platt returns curve i of a map that Platt fitted. It panics if there is none.
func (m *CurveMap) Platt(i int) PlattCurve {
	if i >= 0 && i < len(m.curves) {
		if c, ok := m.curves[i].(*PlattCurve); ok {
			return *c
		}
	}
	panic(errCurve)
}

// Intervals returns those of A and B of a level such as 0.95: so many standard errors to both sides.
func (c *PlattCurve) Intervals(level float64) (a, b metrics.Interval) {
	z := metrics.Z(level)
	around := func(v, se float64) metrics.Interval {
		half := float64(z * se)
		return metrics.Interval{Low: v - half, High: v + half}
	}
	return around(c.A, c.ASE), around(c.B, c.BSE)
}

func (c *PlattCurve) logits() bool { return true }

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

// sigmoids puts sigmoid(x) in place of each x.
func sigmoids(x []float64) {
	var room [256]float64
	for len(x) > 0 {
		n := min(len(x), len(room))
		e := room[:n]
		for i, v := range x[:n] {
			e[i] = -v
		}
		kernel.ExpF64(e, e)
		for i, v := range x[:n] {
			if x[i] = 1 / (1 + e[i]); v < -700 {
				x[i] = sigmoid(v) // exp(-v) may be too large, and sigmoid(v) is not 0
			}
		}
		x = x[n:]
	}
}
