package ensemble_test

import (
	"fmt"
	"log"
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

// posterior returns the log-likelihood of six observations under 500 draws of a normal mean. The draws are quantiles of its
// posterior, which is normal with the observations' mean and variance 1/6.
func posterior() *metrics.Predictions {
	y := []float64{-1, -0.5, 0, 0.5, 1, 3}
	p := &metrics.Predictions{Kind: metrics.LogLiks}
	p.Rows, p.Classes = len(y), 500
	for _, v := range y {
		for j := range 500 {
			mu := 0.5 + math.Sqrt2*math.Erfinv(float64(2*j-499)/500)/math.Sqrt(6)
			p.F64 = append(p.F64, -0.5*(v-mu)*(v-mu)-0.5*math.Log(2*math.Pi))
		}
	}
	return p
}

func ExampleInformation() {
	a := metrics.Must(ensemble.NewInformation(&ensemble.InformationOptions{PSIS: true}))
	if err := metrics.NewPass(nil, a).Add(posterior()); err != nil {
		log.Fatal(err)
	}
	for _, c := range []ensemble.Criterion{ensemble.LPPD, ensemble.WAIC1, ensemble.WAIC2, ensemble.ISCV, ensemble.PSISLOO} {
		i := a.Interval(c, 0.95)
		fmt.Printf("%-8s %.3f, se %.2f [%.2f, %.2f]\n", c, a.Value(c), a.StdErr(c), i.Low, i.High)
	}
	fmt.Printf("of %d rows of %d draws %d have a high variance\n", a.Len(), a.Draws(), a.HighVarianceRows())
	fmt.Printf("k up to %.2f: %d rows above 0.7, %d without\n", a.ParetoKMax(), a.HighParetoRows(), a.UnsmoothedRows())
	// Output:
	// lppd     -1.710, se 0.42 [-2.53, -0.89]
	// nwaic1   -2.001, se 0.58 [-3.14, -0.86]
	// nwaic2   -1.960, se 0.56 [-3.05, -0.87]
	// iscv     -2.006, se 0.58 [-3.15, -0.86]
	// psis_loo -2.007, se 0.58 [-3.15, -0.86]
	// of 6 rows of 500 draws 1 have a high variance
	// k up to 0.48: 0 rows above 0.7, 0 without
}

func ExampleInformationRows() {
	p := posterior()
	rows, err := ensemble.InformationRows(p, ensemble.PSISLOO, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	ks, err := ensemble.ParetoKs(p, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\nk %.2f\n", rows, ks)
	// Output:
	// [-2.36 -1.61 -1.16 -1.01 -1.16 -4.74]
	// k [0.34 0.29 0.25 0.21 0.25 0.48]
}
