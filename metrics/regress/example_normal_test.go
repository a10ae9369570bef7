package regress_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// Check whether the spread of forecasts is right, from columns in memory.
func ExampleNormalsOf() {
	observed := []float64{23, 17, 21, 24, 19}
	mean, sd := []float64{20, 18, 25, 22, 19}, []float64{2, 1, 3, 2, 1}
	e, n, err := regress.NormalsOf(observed, mean, sd, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("rmse %.3f, spread %.3f\n", e.Value(regress.RMSE), n.Value(regress.SharpnessRoot))
	stats := []regress.NormalStat{regress.NLL, regress.CRPS, regress.Sharpness, regress.ZMS, regress.RCE, regress.SigmaScale}
	for _, s := range stats {
		i := n.Interval(s, metrics.DefaultLevel)
		fmt.Printf("%-11v %.3f in [%.3f, %.3f]\n", s, n.Value(s), i.Low, i.High)
	}
	// Output:
	// rmse 2.449, spread 1.949
	// nll         2.019 in [1.275, 2.763]
	// crps        1.318 in [0.476, 2.161]
	// sharpness   3.800 in [0.933, 6.667]
	// zms         1.206 in [0.452, 1.959]
	// rce         -0.257 in [-1.490, 0.160]
	// sigma_scale 1.098 in [0.672, 1.400]
}

// Only the requested statistics are kept, which is faster.
func ExampleNormalOptions() {
	n := metrics.Must(regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{regress.NLL, regress.CRPS, regress.SigmaScaleAsCoded}}))
	if n.Reason(regress.NLL) != "" {
		fmt.Println(regress.NLL, n.Value(regress.NLL), "as", n.Reason(regress.NLL))
	}
	observed := []float64{23, 17, 21, 24, 19}
	mean, sd := []float64{20, 18, 25, 22, 19}, []float64{2, 1, 3, 2, 1}
	var p *metrics.Predictions = metrics.Must(regress.NormalPredictions(observed, mean, sd))
	if err := metrics.NewPass(nil, n).Add(p); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("nll %.3f, crps %.3f\n", n.Value(regress.NLL), n.Value(regress.CRPS))
	fmt.Printf("%v %.3f\n", regress.SigmaScaleAsCoded, n.Value(regress.SigmaScaleAsCoded))
	// Output:
	// nll NaN as there are no rows
	// nll 2.019, crps 1.318
	// sigma_scale_as_coded 0.734
}

func ExampleNormalNLL() {
	fmt.Printf("%.4f\n", regress.NormalNLL(23, 20, 2))
	// Output:
	// 2.7371
}

func ExampleSharpnessOf() {
	variance, root := regress.SharpnessOf([]float64{0.01, 2, 3})
	fmt.Printf("%.4f %.4f\n", variance, root)
	// Output:
	// 4.3334 2.0817
}
