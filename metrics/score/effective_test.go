package score_test

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// TestEffectiveRows: the square of the sum of the weights over the sum of their squares, and without weights the number of rows.
func TestEffectiveRows(t *testing.T) {
	for _, c := range []struct {
		weights []float64
		want    float64
	}{{nil, 4}, {[]float64{2, 2, 2, 2}, 4}, {[]float64{1, 2, 3, 4}, 100. / 30}, {[]float64{1000, 1, 1, 0}, 1002. * 1002 / 1000002}} {
		p := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.1, 0.2, 0.3, 0.4}, Rows: 4, Classes: 1}, Labels: []int32{0, 1, 0, 1}, Weights: c.weights}
		l := metrics.Must(score.NewLoss(nil))
		if err := metrics.NewPass(nil, l).Add(p); err != nil {
			t.Fatal(err)
		}
		if got := l.EffectiveRows(); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.weights, got, c.want)
		}
	}
}
