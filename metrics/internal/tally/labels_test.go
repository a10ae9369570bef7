package tally

import (
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestLabels: counts are those of a loop over the rows, and as long as the largest label asks for.
func TestLabels(t *testing.T) {
	r := check.Rand(5)
	for _, classes := range []int{1, 2, 4, 5, 6, 300} {
		var got, want []int64
		for _, n := range []int{0, 1, 63, 64, 5000, 1, 10_000} {
			labels := make([]int32, n)
			for i := range labels {
				labels[i] = int32(r.IntN(1 + r.IntN(classes)))
			}
			for _, y := range labels {
				for len(want) <= int(y) {
					want = append(want, 0)
				}
				want[y]++
			}
			if got = Labels(got, labels); !slices.Equal(got, want) {
				t.Fatalf("%d classes, %d rows: %v, not %v", classes, n, got, want)
			}
		}
	}
}
