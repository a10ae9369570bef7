package recal

import (
	"testing"

	"github.com/candor-go/candor/metrics"
)

func TestHistogramSmall(t *testing.T) {
	p := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.1, 0.12, 0.9, 0.95, 0.3}, Rows: 5, Classes: 1},
		Labels: []int32{0, 1, 1, 1, 0}}
	for _, h := range []Histogram{{Bins: 5}, {Bins: 2, EqualMass: true}, {TopLabel: true}} {
		m, err := h.Fit(InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		m2, err := Unmarshal(b)
		if err != nil {
			t.Fatal(err)
		}
		dst := metrics.Scores{F64: make([]float64, 5), Rows: 5, Classes: 1}
		m2.Apply(&dst, &p.Scores, metrics.Probs)
		t.Logf("%s %v\n%s", h, dst.F64, b)
	}
}
