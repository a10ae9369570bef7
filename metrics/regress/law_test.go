package regress_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// TestLaws compares distribution functions, quantiles, densities and scores with those of scipy and scoringrules.
func TestLaws(t *testing.T) {
	data, err := os.ReadFile("../../testdata/oracle/laws.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Laws []struct {
			Law                      string
			CDF, Quantile, NLL, CRPS [][2]float64
		}
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Laws) != 7 {
		t.Fatalf("%d laws", len(g.Laws))
	}
	for _, c := range g.Laws {
		l, err := regress.ParseLaw(c.Law)
		if err != nil || l.String() != c.Law {
			t.Fatalf("%v: %v", l, err)
		}
		near := func(what string, x, got, want float64) {
			t.Helper()
			tol := 2e-13
			if what == "CRPS" {
				tol = 2e-12 // scoringrules is less accurate here
			}
			if !(math.Abs(got-want) <= tol*max(math.Abs(want), 0x1p-1000)) {
				t.Errorf("%s: %s of %v is %.17g, want %.17g", c.Law, what, x, got, want)
			}
		}
		for i, v := range c.CDF {
			near("distribution function", v[0], l.CDF(v[0]), v[1])
			near("density", v[0], l.NLL(v[0], 1), c.NLL[i][1])
			near("density", v[0], l.NLL(-v[0]*8, 8)-math.Log(8), c.NLL[i][1])
			near("CRPS", v[0], l.CRPS(v[0], 1), c.CRPS[i][1])
			near("CRPS", v[0], l.CRPS(v[0]/4, 0.25)*4, c.CRPS[i][1])
		}
		for _, v := range c.Quantile {
			near("quantile", v[0], l.Quantile(v[0]), v[1])
		}
	}
}

// TestLawsHold checks that quantiles are the inverse of the CDF and symmetric to the bit, the values at the ends, and that
// the standard deviation is 1.
func TestLawsHold(t *testing.T) {
	for _, l := range []regress.Law{{}, regress.LaplaceLaw, regress.LogisticLaw, regress.StudentLaw(2.1), regress.StudentLaw(5), regress.StudentLaw(1000)} {
		last := math.Inf(-1)
		for j := 1; j < 1000; j++ {
			p := float64(j) / 1000
			z := l.Quantile(p)
			if !(z > last) || math.Abs(l.CDF(z)-p) > 1e-14 {
				t.Errorf("%v: quantile of %v is %v after %v, and has %v", l, p, z, last, l.CDF(z))
			}
			if w := l.Quantile(1 - p); l.Quantile(1-(1-p)) != -w {
				t.Errorf("%v: quantiles of %v and %v are %v and %v", l, 1-p, 1-(1-p), w, l.Quantile(1-(1-p)))
			}
			last = z
		}
		if !math.IsInf(l.Quantile(0), -1) || !math.IsInf(l.Quantile(1), 1) || l.Quantile(0.5) != 0 || l.CDF(math.Inf(1)) != 1 || l.CDF(math.Inf(-1)) != 0 || l.CDF(0) != 0.5 {
			t.Errorf("%v: ends %v, %v, %v, %v", l, l.Quantile(0), l.Quantile(1), l.CDF(math.Inf(1)), l.CDF(0))
		}
		if v, w, x := l.Quantile(-0.1), l.Quantile(1.1), l.CDF(math.NaN()); v == v || w == w || x == x {
			t.Errorf("%v: %v, %v, %v of nothing", l, v, w, x)
		}
		if v, w := l.NLL(1e300, 1e-300), l.CRPS(1e300, 1e-300); !math.IsInf(v, 1) || w != 1e300 {
			t.Errorf("%v: a row that is far off has %v and %v", l, v, w)
		}
	}
	for s, want := range map[string]string{"normal": "", " laplace ": "", "t(df=5)": "", "t( df=2.5 )": "", "cauchy": "there are normal, laplace, logistic and t(df=N)",
		"t": "as t(df=5)", "t(5)": "as t(df=5)", "t(df=x)": `df is "x"`, "t(df=2)": "Student's t has no standard deviation; df is above 2", "t(df=1e7)": "beyond which t is nearly normal",
		"laplace(b=2)": "the distribution laplace has no options", "t(df=NaN)": `df is "NaN"`, "t(df=5": "as t(df=5)"} {
		if _, err := regress.ParseLaw(s); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", s, err, want)
		}
	}
}

// TestLawsInAccumulators checks that all accumulators of means and standard deviations follow the definition for their law,
// that their states merge, and that states of another law do not.
func TestLawsInAccumulators(t *testing.T) {
	r := check.Rand(6)
	const rows = 150
	y, mean, sd := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	for i := range y {
		mean[i], sd[i] = 3*r.NormFloat64(), 0.5+r.Float64()
		y[i] = mean[i] + 1.4*sd[i]*r.NormFloat64()
	}
	p := metrics.Must(regress.NormalPredictions(y, mean, sd))
	part := func(from, to int) *metrics.Predictions {
		return metrics.Must(regress.NormalPredictions(y[from:to], mean[from:to], sd[from:to]))
	}
	levels := []float64{0.05, 0.25, 0.5, 0.75, 0.95}
	for _, l := range []regress.Law{{}, regress.LaplaceLaw, regress.LogisticLaw, regress.StudentLaw(3)} {
		accs := func(l regress.Law) []metrics.Accumulator {
			return []metrics.Accumulator{metrics.Must(regress.NewNormal(&regress.NormalOptions{Law: l})), metrics.Must(regress.NewCalibration(&regress.CalibrationOptions{Bins: 10, Law: l})),
				metrics.Must(regress.NewIntervals(&regress.IntervalOptions{Levels: []float64{0.8}, Law: l})), metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{Levels: levels, Law: l})),
				metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 5, Law: l}))}
		}
		a, b, c := accs(l), accs(l), accs(l)
		for _, x := range []struct {
			p *metrics.Predictions
			a []metrics.Accumulator
		}{{p, a}, {part(0, 60), b}, {part(60, rows), c}} {
			if err := metrics.NewPass(nil, x.a...).Add(x.p); err != nil {
				t.Fatal(err)
			}
		}
		for i := range a {
			whole, _ := a[i].AppendBinary(nil)
			if err := b[i].Merge(c[i]); err != nil {
				t.Fatal(err)
			}
			merged, _ := b[i].AppendBinary(nil)
			again := accs(regress.StudentLaw(9))[i]
			if !errors.Is(again.Merge(a[i]), metrics.ErrMismatch) || !strings.Contains(again.Merge(a[i]).Error(), "t(df=9) distributions") && !strings.Contains(again.Merge(a[i]).Error(), l.String()) {
				t.Errorf("%v: %T merges with another law: %v", l, a[i], again.Merge(a[i]))
			}
			if err := again.UnmarshalBinary(whole); err != nil || string(merged) != string(whole) {
				t.Errorf("%v: %T: merged parts differ, or %v", l, a[i], err)
			}
			if s, err := again.AppendBinary(nil); err != nil || string(s) != string(whole) {
				t.Errorf("%v: %T is read as another", l, a[i])
			}
		}
		near := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
				t.Errorf("%v: %s is %v, by its definition %v", l, what, got, want)
			}
		}
		var nll, crps, held, width, loss float64
		var bins [5]int64
		var below [11]float64
		for i := range y {
			nll += l.NLL(y[i]-mean[i], sd[i]) / rows
			crps += l.CRPS(y[i]-mean[i], sd[i]) / rows
			u := l.CDF((y[i] - mean[i]) / sd[i])
			if u >= 0.1 && u <= 0.9 {
				held += 1. / rows
			}
			width += 2 * sd[i] * l.Quantile(0.9) / rows
			for _, q := range levels {
				x := mean[i] + sd[i]*l.Quantile(q)
				loss += max(q*(y[i]-x), (q-1)*(y[i]-x)) / rows / float64(len(levels))
			}
			bins[min(int(u*5), 4)]++
			for j := range below {
				if u <= float64(j)/10 {
					below[j] += 1. / rows
				}
			}
		}
		near("nll", a[0].(*regress.Normal).Value(regress.NLL), nll)
		near("crps", a[0].(*regress.Normal).Value(regress.CRPS), crps)
		for j, f := range a[1].(*regress.Calibration).Curve().Frequencies {
			near("a frequency", f, below[j])
		}
		near("coverage of all levels", a[1].(*regress.Calibration).Central().Frequencies[8], held)
		near("coverage", a[2].(*regress.Intervals).Coverage(0.8), held)
		near("width", a[2].(*regress.Intervals).Width(0.8), width)
		near("pinball", a[3].(*regress.Quantiles).Pinball(), loss)
		for j, h := range a[4].(*regress.PIT).Histogram(0.9) {
			if h.Count != bins[j] {
				t.Errorf("%v: bin %d has %d rows, want %d", l, j, h.Count, bins[j])
			}
		}
	}
}
