package export_test

import (
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
	"github.com/candor-go/candor/recal/export"
)

func Example() {
	m := recal.NewTemperature(1.75, 1)
	code, err := export.Python(m, metrics.Probs)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(code))
	// Output:
	// # Recalibration by temperature, which was not fitted.
	// # Written by candor; it needs numpy alone.
	// import numpy as np
	//
	//
	// def recalibrate(x):
	//     """Returns recalibrated probabilities, (N,). x is (N,): the probability of the event."""
	//     x = np.asarray(x, dtype=np.float64)
	//     with np.errstate(divide="ignore"):
	//         z = np.log(x) - np.log1p(-x)
	//     with np.errstate(over="ignore"):
	//         return 1 / (1 + np.exp(-z / 1.75))
}
