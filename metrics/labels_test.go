package metrics_test

import (
	"testing"

	"github.com/candor-go/candor/metrics"
)

func TestHasNegative(t *testing.T) {
	for n := range 35 {
		labels := make([]int32, n)
		for i := range labels {
			labels[i] = int32(i)
		}
		if metrics.HasNegative(labels) {
			t.Errorf("%d labels: a negative one", n)
		}
		for i := range labels {
			labels[i] = metrics.Ignored
			if !metrics.HasNegative(labels) {
				t.Errorf("%d labels: label %d is not seen", n, i)
			}
			labels[i] = int32(i)
		}
	}
}
