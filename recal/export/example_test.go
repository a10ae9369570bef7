package export_test

import (
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
	"github.com/candor-go/candor/recal/export"
)

func Example() {
	m := recal.NewTemperature(1.75, 1)
	code, err := export.JavaScript(m, metrics.Probs)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(code))
	// Output:
	// // Recalibration by temperature, which was not fitted.
	// // Written by candor; it needs nothing else.
	//
	// // recalibrate returns the recalibrated probability; x is the probability of the event.
	// export function recalibrate(x) {
	//   const z = Math.log(x) - Math.log1p(-x);
	//   return sigmoid(z / 1.75);
	// }
	//
	// function sigmoid(z) {
	//   return 1 / (1 + Math.exp(-z));
	// }
}
