package compared

import (
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/paired"
)

// TestMaxT: intervals that hold together agree with their p-values, lie between those that hold alone and Sidak's, and do not depend on
// how the models are ordered.
func TestMaxT(t *testing.T) {
	const list = "nll,accuracy,brier,auroc,calibration_error_squared"
	l := models(3, 1500, 1, 4, false)
	names := []string{"a", "b", "c", "d"}
	c := compare(t, specOf(t, 1, list), names, "", l, nil)
	alone, all := c.Differences(nil), c.Differences(&Answers{Adjust: MaxT})
	for i, d := range all {
		one := alone[i]
		if d.Value != one.Value || d.P != one.P || !(d.Interval.Low < one.Interval.Low && d.Interval.High > one.Interval.High) {
			t.Errorf("%s %d %d: %v is not wider than %v", d.Metric, d.A, d.B, d.Interval, one.Interval)
		}
		if sidak := d.at(paired.SidakLevel(0.95, 6)); d.Interval.Low < sidak.Low || d.Interval.High > sidak.High {
			t.Errorf("%s: %v is wider than %v", d.Metric, d.Interval, sidak)
		}
		if d.Adjusted < d.P || d.Adjusted > paired.Sidak(d.P, 6) {
			t.Errorf("%s: p %v is adjusted to %v", d.Metric, d.P, d.Adjusted)
		}
		// McNemar's mid-p and Tango's interval are two tests.
		if out := d.Interval.Low > 0 || d.Interval.High < 0; d.Metric.Name != "accuracy" && out != (d.Adjusted < 0.05) {
			t.Errorf("%s: p %v and interval %v", d.Metric, d.Adjusted, d.Interval)
		}
		if d.Together != "simultaneous over 6 pairs, by the largest |t|" {
			t.Error(d.Together)
		}
	}
	turned := compare(t, specOf(t, 1, list), []string{"d", "b", "a", "c"}, "", []*metrics.Predictions{l[3], l[1], l[0], l[2]}, nil)
	for _, d := range turned.Differences(&Answers{Adjust: MaxT}) {
		a, b := turned.models[d.A].Name, turned.models[d.B].Name
		for _, o := range all {
			if o.Metric.Name != d.Metric.Name || !(names[o.A] == a && names[o.B] == b || names[o.A] == b && names[o.B] == a) {
				continue
			}
			low, high := d.Interval.Low, d.Interval.High
			if names[o.A] == b {
				low, high = -high, -low
			}
			// Errors of means do not depend on which model is first, to the bit; those of others do so in their last places.
			slack := 0.0
			if d.Metric.Name != "nll" && d.Metric.Name != "brier" {
				slack = 1e-12
			}
			if math.Abs(d.Adjusted-o.Adjusted) > slack*o.Adjusted || math.Abs(low-o.Interval.Low) > slack || math.Abs(high-o.Interval.High) > slack {
				t.Errorf("%s of %s and %s: p %v in [%v, %v], and in another order %v in [%v, %v]", d.Metric, a, b, o.Adjusted, o.Interval.Low, o.Interval.High, d.Adjusted, low, high)
			}
		}
	}
	for _, d := range compare(t, specOf(t, 1, "nll"), names, "b", l, nil).Differences(&Answers{Adjust: MaxT}) {
		if d.Adjusted != paired.Sidak(d.P, 3) || d.Interval != d.at(paired.SidakLevel(0.95, 3)) || !strings.HasSuffix(d.Together, "over 3 pairs, by Sidak's inequality") {
			t.Errorf("with a baseline: %+v", d)
		}
	}
}

// TestMaxTMissing: models without an error leave the others' family; one missing pair makes it Sidak's.
func TestMaxTMissing(t *testing.T) {
	of := func(a, b int, p, se float64) Difference {
		return Difference{A: a, B: b, Value: 1, P: p, Error: paired.Error{SE: se, DF: 100}}
	}
	nan := math.NaN()
	l := []Difference{of(0, 1, 0.01, 1), of(0, 2, 0.02, 1), of(0, 3, nan, nan), of(1, 2, 0.03, 1), of(1, 3, nan, nan), of(2, 3, nan, nan)}
	together(l, 0.95)
	if l[0].Together != "simultaneous over 3 pairs, by the largest |t|" || !math.IsNaN(l[2].Adjusted) || l[2].Together != "" || !(l[0].Adjusted < paired.Sidak(0.01, 3)) {
		t.Errorf("%+v", l)
	}
	l[3].P, l[3].Error.SE = nan, nan
	together(l, 0.95)
	if l[0].Together != "simultaneous over 2 pairs, by Sidak's inequality" || l[1].Adjusted != paired.Sidak(0.02, 2) {
		t.Errorf("%+v", l)
	}
	together(l[:1], 0.95)
	if l[0].Adjusted != 0.01 || l[0].Together != "" {
		t.Errorf("%+v", l[0])
	}
	if _, err := ParseAdjust("maxt"); err == nil || !strings.Contains(err.Error(), "holm, max-t") {
		t.Error(err)
	}
}
