package recal

import (
	"encoding/json"
	"math"
)

// Beta is beta calibration: sigmoid(a ln p - b ln(1-p) + c) with the a, b >= 0 and c of the least negative log-likelihood
// -sum w (y ln f + (1-y) ln(1-f)) (Kull, Silva Filho and Flach 2017, "Beta calibration"). The curve never falls; a coefficient that would
// be negative is 0, and both are where the scores are in reverse order: the curve is then the labels' mean. See CurveMap for what becomes
// of several classes.
//
// There is no fit, and the error wraps ErrUnreachable, where all labels are alike, where there are fewer than three different scores,
// and where the scores separate the labels: one score is not below any without the event and not above any with it.
//
// The scores 0 and 1 stay what they are, also where a or b is 0: that is where curves go whose coefficients fall to 0. Where they agree
// with the label they say nothing of the curve; rows where they do not are Fit.LeftOut, see Platt.
//
// Of a curve in a file a, b and c are the coefficients.
type Beta struct {
	TopLabel bool
}

// String returns "beta", and the option top_label if it is on.
func (m Beta) String() string { return spelled("beta", word("top_label", m.TopLabel)) }

func (m Beta) with(option, value string) (Method, error) {
	if option != "top_label" {
		return m, noOption(option, "top_label")
	}
	var err error
	m.TopLabel, err = readWord(option, value)
	return m, err
}

// Fit returns a *CurveMap. It takes 6 to 15 reads of most data, which all classes share, and no memory for rows.
func (m Beta) Fit(d Data, o *Options) (Map, error) {
	fits, s, err := logisticModel{beta: true}.fit(d, o, m.TopLabel)
	if err != nil {
		return nil, err
	}
	curves := make([]curve, len(fits))
	for k := range fits {
		f := &fits[k]
		curves[k] = &BetaCurve{A: f.a[0], B: f.a[1], C: f.c}
	}
	return newCurveMap(m, s.fit, m.TopLabel, curves)
}

func (m Beta) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return decodeCurves(m, f, m.TopLabel, parameters, func() curve { return new(BetaCurve) })
}

// BetaCurve is a curve of Beta: sigmoid(A ln p - B ln(1-p) + C).
type BetaCurve struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
	C float64 `json:"c"`
}

// Beta returns curve i of a map that Beta fitted. It panics if there is none.
func (m *CurveMap) Beta(i int) BetaCurve {
	if i >= 0 && i < len(m.curves) {
		if c, ok := m.curves[i].(*BetaCurve); ok {
			return *c
		}
	}
	panic(errCurve)
}

func (c *BetaCurve) logits() bool { return true }

func (c *BetaCurve) line(x []float64) {
	var u, v, e, t [256]float64
	for len(x) > 0 {
		n := min(len(x), len(u))
		betaFeatures(u[:], v[:], e[:], t[:], x[:n])
		for i, z := range x[:n] {
			if math.Abs(z) <= math.MaxFloat64 {
				x[i] = float64(c.A*u[i]) + float64(c.B*v[i]) + c.C
			}
		}
		x = x[n:]
	}
}

func (c *BetaCurve) apply(x []float64) {
	c.line(x)
	sigmoids(x)
}

func (c *BetaCurve) ready() error {
	if v := c.A + c.B + math.Abs(c.C); !(c.A >= 0 && c.B >= 0 && v <= math.MaxFloat64) {
		return errCurveFile
	}
	return nil
}
