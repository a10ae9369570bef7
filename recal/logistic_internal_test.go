package recal

import (
	"encoding/json"
	"math"
	"testing"
)

// What is no curve is not read from a file.
func TestLogisticDecode(t *testing.T) {
	for _, c := range []struct {
		m    Method
		file string
		good bool
	}{
		{Platt{}, `{"curves":[{"a":-1,"b":2,"a_se":0.1,"b_se":0.2}]}`, true},
		{Platt{}, `{"curves":[{"a":-1,"b":2,"a_se":-0.1,"b_se":0.2}]}`, false},
		{Platt{}, `{"curves":[{"a":-1,"b":2,"c":0,"a_se":0.1,"b_se":0.2}]}`, false},
		{Platt{}, `{"curves":[{"a":1e999,"b":2,"a_se":0.1,"b_se":0.2}]}`, false},
		{Platt{}, `{"curves":[]}`, false},
		{Beta{}, `{"curves":[{"a":1,"b":0,"c":-1}]}`, true},
		{Beta{}, `{"curves":[{"a":-1,"b":0,"c":-1}]}`, false},
		{Beta{}, `{"curves":[{"a":1,"b":-1e-300,"c":-1}]}`, false},
		{Beta{}, `{"curves":[{"a":1,"b":0,"c":-1},{"a":1,"b":0,"c":-1}]}`, false},
	} {
		m, err := c.m.decode(Fit{Classes: 1}, json.RawMessage(c.file))
		if (err == nil) != c.good {
			t.Errorf("%s of %s: %v, %v", c.m, c.file, m, err)
		}
	}
}

// The logarithms of p and 1-p are right where these are near 0 and near 1, and of -z those of z.
func TestBetaFeatures(t *testing.T) {
	z := []float64{-1e5, -800, -40, -1, 0, 1, 40, 800, 1e5}
	want := []float64{0, 0, 4.248354255291589e-18, 0.31326168751822286, math.Ln2, 1.3132616875182228, 40, 800, 1e5} // -ln(1-p)
	var u, v, e, scratch [9]float64
	betaFeatures(u[:], v[:], e[:], scratch[:], z)
	for i, x := range z {
		if math.Abs(v[i]-want[i]) > 4e-16*want[i] {
			t.Errorf("of the logit %v -ln(1-p) is %v; want %v", x, v[i], want[i])
		}
		if j := len(z) - 1 - i; u[i] != -v[j] {
			t.Errorf("of the logits %v and %v ln p is %v and -ln(1-p) %v", x, z[j], u[i], v[j])
		}
	}
}
