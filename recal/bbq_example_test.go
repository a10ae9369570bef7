package recal_test

import (
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// The event happens less often than the scores say: at the square of them.
func ExampleBBQ() {
	p := &metrics.Predictions{Scores: metrics.Scores{Classes: 1}}
	for i := range 10000 {
		score := float64(i%100)/100 + 0.005
		event := int32(0)
		if float64(i/100)/100+0.005 < score*score {
			event = 1
		}
		p.F64, p.Labels, p.Rows = append(p.F64, score), append(p.Labels, event), p.Rows+1
	}
	m, err := recal.BBQ{}.Fit(recal.InMemory(p), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	f := m.(*recal.CurveMap).Curve(0)
	fmt.Printf("%.2f becomes %.3f, %.2f becomes %.3f\n", 0.3, f(0.3), 0.8, f(0.8))
	fmt.Println(recal.BBQ{Prune: true, AsCoded: true}) // as Naeini's code has it
	// Output:
	// 0.30 becomes 0.093, 0.80 becomes 0.664
	// bbq(prune,as_coded)
}
