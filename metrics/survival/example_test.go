package survival_test

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/candor-go/candor/metrics/survival"
)

// Predictions of the risk within a year that are too high for low risks and too low for high ones.
func Example() {
	r := rand.New(rand.NewPCG(1, 2))
	rows := &survival.Rows{}
	for range 800 {
		p := r.Float64()
		happens := 0.2 + 0.5*p // within the year
		event, lost := r.ExpFloat64()/-math.Log1p(-happens), 2*r.ExpFloat64()
		rows.Risks = append(rows.Risks, p)
		rows.Times = append(rows.Times, min(event, lost))
		rows.Events = append(rows.Events, event <= lost)
	}
	c, err := survival.CensoredOf(rows, 1, nil)
	if err != nil {
		log.Fatal(err)
	}
	i := c.Interval(0.95)
	fmt.Printf("calibration error %.2f [%.2f, %.2f]\n", c.RMS(), i.Low, i.High)

	brier, err := survival.Brier(rows, 1)
	if err != nil {
		log.Fatal(err)
	}
	order, err := survival.ConcordanceIPCW(rows, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Brier score %.2f, concordance %.2f\n", brier.Value, order.Value)
	// Output:
	// calibration error 0.17 [0.12, 0.21]
	// Brier score 0.25, concordance 0.64
}
