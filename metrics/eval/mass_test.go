package eval_test

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
)

// TestEqualMass: bins have the same number of rows, whose mean gap is that of the metric over such bins, and there are none of the caller's scores.
func TestEqualMass(t *testing.T) {
	for _, c := range []struct {
		rows, classes, bins int
		metrics, same       string
		event               calib.Event
	}{
		{900, 1, 15, "ece_equal_mass,auroc", "ece_equal_mass", calib.Positive},
		{900, 3, 15, "ece_equal_mass,calibration_auc", "ece_equal_mass", calib.TopLabel},
		{100, 3, 3, "calibration_auc", "", calib.TopLabel},
		{10, 3, 1, "calibration_auc", "", calib.TopLabel},
	} {
		spec := eval.Spec{Classes: c.classes}
		var err error
		if spec.Metrics, err = eval.ParseMetrics(c.metrics, spec.Shape()); err != nil {
			t.Fatal(err)
		}
		e, err := eval.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		p := &metrics.Predictions{}
		p.Rows, p.Classes = c.rows, c.classes
		for i := range c.rows {
			top := 0.4 + 0.6*math.Mod(float64(i)*0.618034, 1)
			switch c.classes {
			case 1:
				p.F64 = append(p.F64, top)
			default:
				p.F64 = append(p.F64, top, (1-top)/2, (1-top)/2)
			}
			p.Labels = append(p.Labels, int32(i%7/5))
		}
		if err := e.Add(p, nil); err != nil {
			t.Fatal(err)
		}
		d, ok := e.EqualMass()
		if !ok {
			t.Errorf("%+v: there are no bins", c)
			continue
		}
		bins := d.Bins(0.95)
		if len(bins) != c.bins || d.Event != c.event {
			t.Errorf("%+v: %d bins of event %v", c, len(bins), d.Event)
		}
		gaps := 0.0
		for _, b := range bins {
			if math.Abs(float64(b.Count)-float64(c.rows)/float64(c.bins)) > 1 {
				t.Errorf("%+v: a bin has %d rows", c, b.Count)
			}
			gaps += b.Weight / float64(c.rows) * math.Abs(b.Frequency-b.Confidence)
		}
		if c.same != "" {
			m, err := eval.ParseMetric(c.same)
			if err != nil {
				t.Fatal(err)
			}
			if v := e.Value(m).Value; math.Abs(v-gaps) > 1e-12 {
				t.Errorf("%+v: the mean gap is %v, %s is %v", c, gaps, c.same, v)
			}
		}
	}
	e, err := eval.New(eval.Spec{Classes: 3, Scored: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := e.EqualMass(); ok {
		t.Error("bins of scores that are the caller's")
	}
}
