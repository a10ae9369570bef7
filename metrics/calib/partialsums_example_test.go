package calib_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// cellsOfEvents returns the cells of events.
func cellsOfEvents() *cells.Cells {
	c := cells.New(nil)
	if err := metrics.NewPass(nil, c).Add(events()); err != nil {
		log.Fatal(err)
	}
	return c
}

// How far outcomes run ahead of scores, without bins, and how often calibrated scores would show as much.
func ExamplePartialSumsOf() {
	s := calib.PartialSumsOf(cellsOfEvents())
	if s.Reason() != "" {
		log.Fatal(s.Reason())
	}
	ks, bound := s.KS()
	fmt.Printf("KS %.3f, p = %.2f, of exact cells (%v, %v)\n", ks, s.KSP(), bound, s.KSPBound())
	kuiper, bound := s.Kuiper()
	fmt.Printf("Kuiper %.3f, p = %.2f, of exact cells (%v, %v)\n", kuiper, s.KuiperP(), bound, s.KuiperPBound())
	// Output:
	// KS 0.050, p = 1.00, of exact cells (0, 0)
	// Kuiper 0.070, p = 1.00, of exact cells (0, 0)
}

// Whether the Brier score is what calibrated scores would have.
func ExampleSpiegelhalterOf() {
	z := calib.SpiegelhalterOf(cellsOfEvents())
	fmt.Printf("Z %.2f (bound %v), p = %.2f (bound %v) %q\n", z.Z, z.Bound, z.P, z.PBound, z.Reason)
	// Output:
	// Z -0.32 (bound 0), p = 0.75 (bound 0) ""
}

// By which straight line the logits of the scores become those of the outcomes.
func ExampleCoxOf() {
	c := cellsOfEvents()
	f := calib.CoxOf(c, nil)
	if f.Reason() != "" {
		log.Fatal(f.Reason())
	}
	slope, _ := f.Slope()
	intercept, _ := f.Intercept()
	s, i := f.SlopeInterval(metrics.DefaultLevel), f.InterceptInterval(metrics.DefaultLevel)
	fmt.Printf("slope %.2f [%.2f, %.2f], intercept %.2f [%.2f, %.2f]\n", slope, s.Low, s.High, intercept, i.Low, i.High)
	fmt.Println(f.LeftOut(), "row has a score of 0 or 1")

	large := calib.CoxOf(c, &calib.CoxOptions{UnitSlope: true})
	intercept, _ = large.Intercept()
	i = large.InterceptInterval(metrics.DefaultLevel)
	fmt.Printf("in the large: %.2f [%.2f, %.2f] %q\n", intercept, i.Low, i.High, large.IntervalReason())
	// Output:
	// slope 1.39 [-0.43, 3.21], intercept 0.38 [-1.44, 2.21]
	// 1 row has a score of 0 or 1
	// in the large: 0.31 [-1.32, 1.93] ""
}
