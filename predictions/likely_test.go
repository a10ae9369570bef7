package predictions

import (
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestProbable: probabilities that are called logits are refused; logits that lie in [0,1] are not.
func TestProbable(t *testing.T) {
	labels := save(t, "l.npy", npy(1, "<i4", false, []int{6}, label(3)))
	for _, c := range []struct {
		name string
		at   func(i int) float64 // of (6, 3)
		want bool
	}{
		{"probabilities", func(i int) float64 { return []float64{0.5, 0.25, 0.25}[i%3] }, true},
		{"rounded", func(i int) float64 { return []float64{0.33, 0.33, 0.333}[i%3] }, true},
		{"logits in [0,1]", func(i int) float64 { return float64(i) / 18 }, false},
		{"one row below 0", func(i int) float64 {
			if i > 14 {
				return -1
			}
			return []float64{0.5, 0.25, 0.25}[i%3]
		}, false},
	} {
		x := save(t, "p.npy", npy(1, "<f4", false, []int{6, 3}, c.at))
		_, _, err := readAll([]string{x}, &Options{Labels: []string{labels}, Kind: metrics.Logits})
		if !c.want {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		wantError(t, err, "p.npy: these are probabilities, not logits", "drop --input logits")
	}
}
