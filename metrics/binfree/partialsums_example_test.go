package binfree_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// cellsOfEvents returns the cells of events.
func cellsOfEvents() *cells.Cells {
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(testrows.Ten()); err != nil {
		log.Fatal(err)
	}
	return c
}

// How far outcomes run ahead of scores, without bins, and how often calibrated scores would deviate as much.
func ExamplePartialSumsOf() {
	s := binfree.PartialSumsOf(cellsOfEvents())
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

// Whether the Brier score is that of calibrated scores.
func ExampleSpiegelhalterOf() {
	z := binfree.SpiegelhalterOf(cellsOfEvents())
	fmt.Printf("Z %.2f (bound %v), p = %.2f (bound %v) %q\n", z.Z, z.Bound, z.P, z.PBound, z.Reason)
	// Output:
	// Z -0.32 (bound 0), p = 0.75 (bound 0) ""
}

// The straight line that maps the logits of the scores to those of the outcomes.
func ExampleCoxOf() {
	c := cellsOfEvents()
	f := binfree.CoxOf(c, nil)
	if f.Reason() != "" {
		log.Fatal(f.Reason())
	}
	slope, _ := f.Slope()
	intercept, _ := f.Intercept()
	s, i := f.SlopeInterval(metrics.DefaultLevel), f.InterceptInterval(metrics.DefaultLevel)
	fmt.Printf("slope %.2f [%.2f, %.2f], intercept %.2f [%.2f, %.2f]\n", slope, s.Low, s.High, intercept, i.Low, i.High)
	fmt.Println(f.LeftOut(), "row has a score of 0 or 1")

	large := binfree.CoxOf(c, &binfree.CoxOptions{UnitSlope: true})
	intercept, _ = large.Intercept()
	i = large.InterceptInterval(metrics.DefaultLevel)
	fmt.Printf("in the large: %.2f [%.2f, %.2f] %q\n", intercept, i.Low, i.High, large.IntervalReason())
	// Output:
	// slope 1.39 [-0.43, 3.21], intercept 0.38 [-1.44, 2.21]
	// 1 row has a score of 0 or 1
	// in the large: 0.31 [-1.32, 1.93] ""
}

// Whether ten groups of rows, ordered by score, have as many events as the scores predict. Here there are two groups, of six
// and of four rows, because equal scores stay together.
func ExampleHosmerLemeshowOf() {
	h := calib.HosmerLemeshowOf(cellsOfEvents(), &calib.HosmerLemeshowOptions{Groups: 2})
	fmt.Printf("%.3f, p = %.2f of %d degrees of freedom (bound %v); rough in %d of %d groups\n", h.Statistic, h.P, h.Degrees, h.Bound, h.Few, h.Groups)
	// Output: 0.573, p = 0.75 of 2 degrees of freedom (bound 0); rough in 2 of 2 groups
}

// The distance of scores from the frequencies of an increasing fit, and from those of a loess fit.
func ExampleICIOf() {
	for _, o := range []*binfree.ICIOptions{nil, {Curve: binfree.LoessCurve, Span: 0.8}} {
		i := binfree.ICIOf(cellsOfEvents(), o)
		if i.Reason() != "" {
			log.Fatal(i.Reason())
		}
		mean, bound := i.Mean()
		e90, _ := i.Quantile(90)
		fmt.Printf("ICI %.4f, E90 %.4f, of exact cells (%v)\n", mean, e90, bound)
	}
	// Output:
	// ICI 0.1250, E90 0.2150, of exact cells (0)
	// ICI 0.0394, E90 0.0571, of exact cells (0)
}

// What bets against the scores pay for 1. They do not pay against ten rows that are as good as calibrated.
func ExampleNewEProcess() {
	e := binfree.NewEProcess(metrics.Positive)
	if err := metrics.NewPass(nil, e).Add(testrows.Ten()); err != nil {
		log.Fatal(err)
	}
	if e.Reason() != "" {
		log.Fatal(e.Reason())
	}
	fmt.Printf("E %.3f (its logarithm %.3f) of %d rows\n", e.Value(), e.Log(), e.Len())
	// Output: E 0.978 (its logarithm -0.022) of 10 rows
}
