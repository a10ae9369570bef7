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

func ExampleICIOf() {
	rows := &survival.Rows{
		Risks:  []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}, // P(T <= 3)
		Times:  []float64{6, 5, 2.5, 4, 3.5, 1.5, 2, 1},
		Events: []bool{false, true, true, false, true, true, false, true},
	}
	c, err := survival.ICIOf(rows, 3, 2)
	if err != nil {
		log.Fatal(err)
	}
	p := c.Curve[50]
	fmt.Printf("ICI %.3f; of rows with %.3f the event happens in %.3f\n", c.Mean, p.Predicted, p.Observed)
	// Output: ICI 0.150; of rows with 0.454 the event happens in 0.421
}

func ExampleEstimate_Minus() {
	one := &survival.Rows{
		Risks:  []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8},
		Times:  []float64{6, 5, 2.5, 4, 3.5, 1.5, 2, 1},
		Events: []bool{false, true, true, false, true, true, false, true},
	}
	other := *one // the same rows, by another model
	other.Risks = []float64{0.3, 0.4, 0.4, 0.4, 0.5, 0.5, 0.5, 0.6}
	a, err := survival.Brier(one, 3)
	if err != nil {
		log.Fatal(err)
	}
	b, err := survival.Brier(&other, 3)
	if err != nil {
		log.Fatal(err)
	}
	d := b.Minus(a, one)
	i := d.Interval(0.95)
	fmt.Printf("%.3f [%.3f, %.3f]\n", d.Value, i.Low, i.High)
	// Output: 0.037 [-0.039, 0.113]
}
