package calib_test

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// semiparametricCase is what uncertainty_metrics says of rows in given folds.
type semiparametricCase struct {
	Seed, N int
	Params  struct {
		Smoothing, Weights    string
		Orthogonal, Normalize bool
		Folds                 int
		Attempts              int `json:"hyperparam_attempts"`
	}
	Probs, Labels  []float64
	FoldOf         []int     `json:"fold_of"`
	Range          []float64 `json:"hyperparam_range_first_last"`
	Best           float64   `json:"best_hyperparam_before_undersmoothing"`
	Used           float64   `json:"hyperparam_used"`
	Accs           []float64
	Squared        float64 `json:"est_squared"`
	SE             float64 `json:"se_seed7"`
	RMS            float64
	IntervalOfBoot []float64 `json:"conf_int_seed7"`
}

func (c *semiparametricCase) options() *calib.SemiparametricOptions {
	o := &calib.SemiparametricOptions{Folds: c.Params.Folds, Attempts: c.Params.Attempts, Orthogonal: c.Params.Orthogonal,
		Normalize: c.Params.Normalize}
	if c.Params.Smoothing == "spline" {
		o.Smoother = calib.SplineSmoother
	}
	switch c.Params.Weights {
	case "relative":
		o.Weights = calib.RelativeWeights
	case "chi":
		o.Weights = calib.ChiWeights
	}
	return o
}

// TestSemiparametricGolden: the numbers of uncertainty_metrics, as coded. Without its faults only splines with weights differ.
func TestSemiparametricGolden(t *testing.T) {
	var g struct{ Cases []semiparametricCase }
	readGolden(t, "semiparametric.json.gz", &g)
	if len(g.Cases) != 17 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	rel := func(got, want float64) float64 { return math.Abs(got-want) / math.Max(math.Abs(want), 1e-300) }
	worst, differ := 0.0, 0
	for i, c := range g.Cases {
		o := c.options()
		plain, err := calib.SemiparametricOfRows(c.Probs, c.Labels, c.FoldOf, o)
		if err != nil {
			t.Fatal(err)
		}
		o.AsCoded = true
		s, err := calib.SemiparametricOfRows(c.Probs, c.Labels, c.FoldOf, o)
		if err != nil {
			t.Fatal(err)
		}
		accs := map[[2]float64]float64{}
		s.Each(func(r calib.FoldRows) { accs[[2]float64{r.Score, float64(r.Fold)}] = r.Frequency })
		off := 0.0
		for j, p := range c.Probs {
			off = math.Max(off, math.Abs(accs[[2]float64{p, float64(c.FoldOf[j])}]-c.Accs[j]))
		}
		e := math.Max(math.Max(rel(s.Squared, c.Squared), rel(s.Chosen, c.Best)), math.Max(rel(s.Used, c.Used), rel(s.RMS(), c.RMS)))
		if worst = math.Max(worst, math.Max(e, off)); !(e < 1e-12) || !(off < 1e-12) {
			t.Errorf("case %d, %+v: off by %v, frequencies by %v: %v, want %v; h %v, want %v", i, c.Params, e, off, s.Squared, c.Squared, s.Chosen, c.Best)
		}
		// The standard error of a bootstrap with 500 samples is itself off by 1/sqrt(1000).
		if z := (c.SE/s.SE - 1) * math.Sqrt(1000); math.Abs(z) > 4 {
			t.Errorf("case %d: se %v, bootstrapped %v: off by %.1f standard deviations", i, s.SE, c.SE, z)
		}
		v := s.Interval(0.95)
		for j, got := range []float64{v.Low, v.High} {
			if want := c.IntervalOfBoot[2*j]; math.Abs(got-want) > 0.1*want && want > 0.02 {
				t.Errorf("case %d: interval %v, bootstrapped %v", i, v, c.IntervalOfBoot)
			}
		}
		same := plain.Squared == s.Squared && plain.Chosen == s.Chosen
		if expected := c.Params.Smoothing == "kernel" || c.Params.Weights == ""; expected && rel(plain.Squared, s.Squared) > 1e-12 {
			t.Errorf("case %d: %v, as coded %v", i, plain.Squared, s.Squared)
		} else if !expected {
			if differ++; same {
				t.Errorf("case %d: the fault makes no difference", i)
			}
			t.Logf("case %d: %.4g, as coded %.4g", i, plain.Squared, s.Squared)
		}
	}
	t.Logf("worst %v", worst)
	if differ != 3 {
		t.Errorf("%d cases differ", differ)
	}
}

var _ = metrics.DefaultLevel
