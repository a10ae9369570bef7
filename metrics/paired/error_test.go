package paired_test

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics/paired"
)

// TestErrorSkewed: an interval leaves 0 out where the p-value is below 1 - level, and a one-sided test at half of it finds the same; each end is
// at least as far out as without skewness.
func TestErrorSkewed(t *testing.T) {
	const level = 0.95
	out := 0
	for _, skew := range []float64{-0.8, -0.2, 0, 0.05, 0.3, 1} {
		for _, df := range []float64{3, 29, 1000} {
			e := paired.Error{SE: 2, DF: df, Skew: skew}
			plain := paired.Error{SE: 2, DF: df}
			for v := -20.0; v <= 20; v += 0.125 {
				i, p := e.Interval(v, 0, level), e.P(v, 0)
				left := i.Low > 0 || i.High < 0
				if left {
					out++
				}
				if left != (p < 1-level) {
					t.Errorf("%+v: %v has the interval %v, and p = %v", e, v, i, p)
				}
				if j := plain.Interval(v, 0, level); i.Low > j.Low || i.High < j.High || p < plain.P(v, 0) {
					t.Errorf("%+v: %v has the interval %v within %v, or p = %v below %v", e, v, i, j, p, plain.P(v, 0))
				}
				if up := e.Beyond(v); (i.Low > 0) != (up < (1-level)/2) {
					t.Errorf("%+v: %v has the interval %v, and is above 0 with p = %v", e, v, i, up)
				}
				if down := e.Negated().Beyond(-v); (i.High < 0) != (down < (1-level)/2) {
					t.Errorf("%+v: %v has the interval %v, and is below 0 with p = %v", e, v, i, down)
				}
			}
		}
	}
	if out == 0 {
		t.Error("no interval leaves 0 out")
	}
}

// TestErrorPlus: variances add, and third moments stay.
func TestErrorPlus(t *testing.T) {
	e := paired.Error{SE: 3, DF: 20, Skew: 0.5}
	if got := e.Plus(4); got.SE != 5 || math.Abs(got.Skew*125-0.5*27) > 1e-12 || got.DF != 20 {
		t.Errorf("%+v", got)
	}
	if e.Plus(0) != e {
		t.Errorf("%+v", e.Plus(0))
	}
}

// TestErrorFitted: maps widen the error of rows in clusters by their number over that of clusters, and let its skewness count; without maps or
// clusters nothing changes.
func TestErrorFitted(t *testing.T) {
	c := paired.NewClusters(1, 0, false)
	sums := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, -9} // of rows by themselves, with the mean 0
	for i, v := range sums {
		at := []int32{c.Number(string(rune('a' + i)))}
		c.AddRows(at, nil)
		c.Add(0, at, []float64{v}, nil)
	}
	e := c.OfMean(0)
	if e.Skew != 0 || e.Fitted(0) != e {
		t.Errorf("%+v, and by no maps %+v", e, e.Fitted(0))
	}
	got := e.Fitted(5)
	if want := (9.0 - 729) / (90 * math.Sqrt(90)); math.Abs(got.Skew-want) > 1e-12 || math.Abs(got.SE-e.SE*math.Sqrt(1.5)) > 1e-15 || got.DF != e.DF {
		t.Errorf("%+v by 5 maps is %+v, with the skewness %v", e, got, want)
	}
	if e = (paired.Error{SE: 1, DF: 9}); e.Fitted(5) != e {
		t.Error("rows without clusters are widened")
	}
}
