package main

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestGroupPairs: of equally good models hardly any is found to be better for some group, and one that is worse for a group is found.
func TestGroupPairs(t *testing.T) {
	runs := check.Size(20, 60, 1000)
	for i := range groupPairCases {
		c := &groupPairCases[i]
		if c.rows > 100 && c.equal && !check.Full() {
			continue
		}
		shares, err := c.shares(runs, 2)
		if err != nil {
			t.Fatal(err)
		}
		most := 0.05 + 3*0.22/math.Sqrt(float64(runs))
		for k, s := range shares {
			if c.equal && s > most || !c.equal && s < 0.5 {
				t.Errorf("%s: by %d a group differs in %v of %d sets", c.name, k, s, runs)
			}
		}
	}
}

// TestGroupLives: the same of survival.
func TestGroupLives(t *testing.T) {
	runs := check.Size(20, 60, 1000)
	for i := range groupLifeCases {
		c := &groupLifeCases[i]
		if c.rows > 100 && c.worse < 0 && !check.Full() {
			continue
		}
		var shares [5]float64
		if err := sharesOf(shares[:], runs, 2, 31, c.run); err != nil {
			t.Fatal(err)
		}
		most := 0.05 + 3*0.22/math.Sqrt(float64(runs))
		for k, s := range shares {
			if c.worse < 0 && s > most || c.worse >= 0 && k < 3 && s < 0.5 {
				t.Errorf("%s: by %d a group differs in %v of %d sets", c.said, k, s, runs)
			}
		}
	}
}
