package compared

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// losses returns the values of a row metric.
func losses(l metrics.RowMetric, p *metrics.Predictions) []float64 {
	of, v := l.New(), make([]float64, p.Rows)
	at := 0
	w := metrics.NewWalker(nil, l.Need, func(b *metrics.Block) {
		of(v[at:at+b.Rows], b)
		at += b.Rows
	})
	w.Add(&metrics.Chunk{Predictions: *p})
	return v
}

// TestOfLosses: differences by losses are those of a comparison of the same rows.
func TestOfLosses(t *testing.T) {
	const n = 900
	for _, classes := range []int{1, 3} {
		for _, by := range [][]string{nil, clusterOf(n, 40), make([]string, n)} {
			l := models(4, n, classes, 2, false)
			s := specOf(t, classes, "nll,brier,accuracy,perplexity,entropy,auroc,brier_skill")
			if classes > 1 {
				s = specOf(t, classes, "nll,brier,accuracy,perplexity,entropy,calibration_auc,brier_skill")
			}
			var c *Comparison
			if by != nil {
				c = clustered(t, s, []string{"a", "b"}, l, by, nil)
			} else {
				c = compare(t, s, []string{"a", "b"}, "", l, nil)
			}
			found := 0
			for _, want := range c.Differences(nil) {
				loss, is := RowLoss(&c.Spec, want.Metric)
				if is == (want.Metric.Name == "auroc" || want.Metric.Name == "calibration_auc" || want.Metric.Name == "brier_skill") {
					t.Errorf("%v: %v", want.Metric, is)
				}
				if !is {
					continue
				}
				found++
				got := OfLosses(&c.Spec, want.Metric, 0, 1, &Losses{Names: [2]string{"a", "b"}, A: losses(loss, l[0]), B: losses(loss, l[1]), Clusters: by})
				Judge([]Difference{got}, c.Spec.Level, n, Holm)
				same := func(a, b float64) bool {
					return a == b || a != a && b != b || math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b))
				}
				if !same(got.Value, want.Value) || !same(got.Interval.Low, want.Interval.Low) || !same(got.Interval.High, want.Interval.High) || !same(got.P, want.P) ||
					!same(got.PExact, want.PExact) || got.Method != want.Method || got.Reason != want.Reason || got.Rows != n {
					t.Errorf("%d classes: %v is\n%+v, not\n%+v", classes, want.Metric, got, want)
				}
			}
			if found != 5 {
				t.Errorf("%d differences", found)
			}
		}
	}
}

// TestOfLossesOdd: rows that no interval can be found from.
func TestOfLossesOdd(t *testing.T) {
	s := specOf(t, 3, "nll")
	s.Level = 0.95
	m := s.Metrics[0]
	inf := math.Inf(1)
	for _, c := range []struct {
		a, b   []float64
		value  float64
		reason string
	}{
		{nil, nil, math.NaN(), "no row in common"},
		{[]float64{1}, []float64{2}, 1, "too few rows"},
		{[]float64{1, 2}, []float64{2, 3}, 1, "every row differs by the same"},
		{[]float64{1, 2}, []float64{1, 2}, 0, ""},
		{[]float64{1, inf}, []float64{1, 2}, math.Inf(-1), "old gives probability 0 to the true class of 1 row; "},
		{[]float64{1, 2, 3}, []float64{inf, inf, 2}, inf, "new gives probability 0 to the true class of 2 rows; "},
		{[]float64{inf, 2}, []float64{inf, 1}, math.NaN(), "old gives probability 0 to the true class of 1 row, new"},
	} {
		d := OfLosses(&s, m, 0, 1, &Losses{Names: [2]string{"old", "new"}, A: c.a, B: c.b})
		if fmt.Sprint(d.Value) != fmt.Sprint(c.value) || !strings.Contains(d.Reason, c.reason) || (d.Reason == "") != (c.reason == "") || (d.Interval.Low == d.Interval.Low) != (c.reason == "") {
			t.Errorf("%v and %v: %+v", c.a, c.b, d)
		}
	}
	// The number of rows that would decide is of the rows of the pair.
	d := OfLosses(&s, m, 0, 1, &Losses{A: []float64{1, 2, 3, 4}, B: []float64{2, 2, 4, 3.5}})
	l := []Difference{d}
	Judge(l, s.Level, 1000, Holm)
	d.Rows = 0
	all := []Difference{d}
	Judge(all, s.Level, 1000, Holm)
	if l[0].RowsToDecide == 0 || math.Abs(float64(all[0].RowsToDecide)/float64(l[0].RowsToDecide)/250-1) > 0.1 {
		t.Errorf("%d of 4 rows, %d of 1000", l[0].RowsToDecide, all[0].RowsToDecide)
	}
}
