package main

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestVerdicts: of calibrated scores the verdict finds 4% off on average at most, however few clusters and events there are, and it finds those
// that are off.
func TestVerdicts(t *testing.T) {
	runs := check.Size(40, 200, 2000)
	for i := range verdictCases {
		c := &verdictCases[i]
		for _, n := range []int{20, 60} {
			mean, any, err := c.shares(n, runs, 2)
			if err != nil {
				t.Fatal(err)
			}
			// Four standard deviations of a count of so few sets: these are the same in every run.
			within := func(share, level float64) bool { return share <= level+4*math.Sqrt(level/float64(runs)) }
			if c.odds == 1 && !(within(mean, 0.04) && within(any, 0.06)) {
				t.Errorf("%s, %d clusters: off in %v and %v of sets", c.name, n, mean, any)
			}
			if c.odds != 1 && n == 60 && mean < 0.15 {
				t.Errorf("%s, %d clusters: found in %v of sets", c.name, n, mean)
			}
		}
	}
}
