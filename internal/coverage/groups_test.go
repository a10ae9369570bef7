package main

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestGroups: of calibrated groups hardly any is found to be off, and those that are off are found.
func TestGroups(t *testing.T) {
	runs := check.Size(30, 100, 1000)
	for i := range groupCases {
		c := &groupCases[i]
		if c.groups > 100 && !check.Full() {
			continue
		}
		shares, err := c.shares(runs, 2)
		if err != nil {
			t.Fatal(err)
		}
		off := false
		for g := range c.groups {
			off = off || c.off(g, 0.25) != 0.25
		}
		// 0.05 and three standard deviations of a count of so few sets.
		most := 0.05 + 3*0.22/math.Sqrt(float64(runs))
		if !off && (shares[0] > most || shares[1] > most) || off && shares[0] < 0.05 {
			t.Errorf("%s: off in %v of %d sets", c.name, shares, runs)
		}
	}
}
