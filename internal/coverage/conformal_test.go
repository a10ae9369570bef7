package main

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics/conformal"
)

// TestConformal: over calibration sets each method covers k/(n+1) of later rows, and at most a twentieth of the maps, by more than chance, is found
// fault with.
func TestConformal(t *testing.T) {
	const runs, n = 400, 50
	for i := range conformalLaws {
		l := &conformalLaws[i]
		for _, name := range l.methods {
			m, err := conformal.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			if m.ByClass {
				continue
			}
			covered, found := 0.0, 0.0
			for run := range runs {
				c, f, err := conformalRun(l, m, n, run)
				if err != nil {
					t.Fatal(err)
				}
				p, _ := f.Promise()
				covered += float64(c) / (runs * later)
				if p.P(c, later) < 0.05 {
					found++
				}
			}
			// The standard deviation of one map's share is at most 0.05, so that of the mean is 0.0025.
			if want := 46.0 / 51; math.Abs(covered-want) > 0.01 {
				t.Errorf("%s: %v of the rows are covered, want %v", name, covered, want)
			}
			if found > 0.09*runs {
				t.Errorf("%s: %v of %d maps are found fault with", name, found, runs)
			}
		}
	}
}
