package binfree

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// TestSKCEMoments compares the moments under calibration with those over all outcomes of ten rows.
func TestSKCEMoments(t *testing.T) {
	p := []float64{0.05, 0.1, 0.1, 0.3, 0.3, 0.3, 0.62, 0.8, 0.93, 0.93}
	y := make([]int32, len(p))
	var first *SKCE
	mean, variance, third := 0.0, 0.0, 0.0
	for outcomes := range 1 << len(p) {
		chance := 1.0
		for i := range p {
			if y[i] = int32(outcomes >> i & 1); y[i] == 1 {
				chance *= p[i]
			} else {
				chance *= 1 - p[i]
			}
		}
		d := &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y}
		s := SKCEOf(metrics.Must(cells.Sort(d, nil)), &SKCEOptions{Bandwidth: 0.3})
		v := s.pairs.value()
		mean += chance * v
		variance += chance * v * v
		third += chance * v * v * v
		if first == nil {
			first = s
		}
		if s.variance.value() != first.variance.value() || s.third.value() != first.third.value() {
			t.Fatal("the moments depend on the outcomes")
		}
	}
	if math.Abs(mean) > 1e-14 || math.Abs(variance/first.variance.value()-1) > 1e-13 || math.Abs(third/first.third.value()-1) > 1e-12 {
		t.Errorf("over all outcomes %v, %v, %v; of the scores 0, %v, %v", mean, variance, third, first.variance.value(), first.third.value())
	}
}
