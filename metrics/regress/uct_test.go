package regress_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// TestRootMeanSquareIsUncertaintyToolboxes compares calibration errors with those of uncertainty-toolbox for the same rows.
func TestRootMeanSquareIsUncertaintyToolboxes(t *testing.T) {
	data, err := os.ReadFile("../../testdata/oracle/uct.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Cases []struct {
			Y, Mean, SD []float64
			Values      []struct {
				Bins      int    `json:"num_bins"` // number of levels, one more than steps
				Type      string `json:"prop_type"`
				RMS, Area float64
			}
		}
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, c := range g.Cases {
		p := metrics.Must(regress.NormalPredictions(c.Y, c.Mean, c.SD))
		// The library's errors are mean - y. For quantiles, a y equal to one, as for some at the median, counts on the other
		// side.
		turned := metrics.Must(regress.NormalPredictions(c.Mean, c.Y, c.SD))
		for _, v := range c.Values {
			o := &regress.CalibrationOptions{Bins: v.Bins - 1}
			curve := calibrationOf(t, turned, o).Curve()
			if v.Type == "interval" {
				curve = calibrationOf(t, p, o).Central()
			}
			for what, x := range map[string][2]float64{"root mean square": {curve.RootMeanSquare(), v.RMS}, "area": {curve.Area(regress.AreaCrossing), v.Area}} {
				if compared++; !(math.Abs(x[0]-x[1]) <= 1e-12) {
					t.Errorf("case %d, %d levels, %s: %s %.17g, uncertainty-toolbox has %.17g", i, v.Bins, v.Type, what, x[0], x[1])
				}
			}
		}
	}
	if compared != 60 {
		t.Errorf("%d values are compared", compared)
	}
}

// TestRootMeanSquare checks edge cases, and that calibrated forecasts agree with RootMeanSquareFloor.
func TestRootMeanSquare(t *testing.T) {
	c := regress.Curve{Levels: []float64{0.25, 0.5, 1}, Frequencies: []float64{0.5, 0.5, 1}, N: 4}
	if v := c.RootMeanSquare(); math.Abs(v-math.Sqrt(0.0625/3)) > 1e-16 {
		t.Errorf("%v", v)
	}
	if v := c.RootMeanSquareFloor(); math.Abs(v-math.Sqrt((0.1875+0.25)/12)) > 1e-16 {
		t.Errorf("%v by chance", v)
	}
	for _, c := range []regress.Curve{{}, {Levels: []float64{0.5}, Frequencies: []float64{math.NaN()}}} {
		if v, f := c.RootMeanSquare(), c.RootMeanSquareFloor(); v == v || f == f {
			t.Errorf("%v and %v of %v", v, f, c)
		}
	}
	r := check.Rand(3)
	const rows, sets = 50, 400
	sum, want := 0.0, 0.0
	for range sets {
		y, one := make([]float64, rows), make([]float64, rows)
		for i := range y {
			y[i], one[i] = r.NormFloat64(), 1
		}
		k := calibrationOf(t, metrics.Must(regress.NormalPredictions(y, make([]float64, rows), one)), nil).Central()
		sum += k.RootMeanSquare() * k.RootMeanSquare()
		want = k.RootMeanSquareFloor()
	}
	if got := math.Sqrt(sum / sets); math.Abs(got/want-1) > 0.1 {
		t.Errorf("calibrated forecasts show %v, want about %v", got, want)
	}
}
