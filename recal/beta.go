package recal

import (
	"encoding/json"
	"math"
)

// Beta is beta calibration: sigmoid(a ln p - b ln(1-p) + c), with a, b >= 0 and c chosen to minimise the negative
// log-likelihood -sum w (y ln f + (1-y) ln(1-f)) (Kull, Silva Filho and Flach 2017, Beta calibration). The curve never
// falls. A coefficient that would be negative is 0. If the scores are in reverse order both are 0, and the curve is the mean
// of the labels. CurveMap describes the treatment of several classes.
//
// The error wraps ErrUnreachable if there is no fit: all labels are equal; there are fewer than three distinct scores; or
// the scores separate the labels, so that no score without the event is above one with it.
//
// The scores 0 and 1 stay as they are, even if a or b is 0: that is the limit of curves whose coefficients fall to 0. Where
// they agree with the label they carry no information about the curve. Rows where they disagree are counted in Fit.LeftOut;
// see Platt.
//
// In a file each curve has the coefficients a, b and c.
type Beta struct {
	TopLabel bool
}

// String returns "beta", with the option top_label if it is on.
func (m Beta) String() string { return spelled("beta", word("top_label", m.TopLabel)) }

func (m Beta) with(option, value string) (Method, error) {
	if option != "top_label" {
		return m, noOption(option, "top_label")
	}
	var err error
	m.TopLabel, err = readWord(option, value)
	return m, err
}

// Fit returns a *CurveMap. Most data take 6 to 15 reads, shared by all classes. No rows are kept in memory.
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

// Beta returns curve i of a map fitted by Beta. It panics if there is no such curve.
func (m *CurveMap) Beta(i int) BetaCurve {
	if i >= 0 && i < len(m.curves) {
		if c, ok := m.curves[i].(*BetaCurve); ok {
			return *c
		}
	}
	panic(errCurve)
}

func (c *BetaCurve) logits() bool { return true }
func (c *BetaCurve) free() int    { return 3 }

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
