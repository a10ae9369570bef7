package calib_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// forecast returns rows whose event has a probability closer to 1/2 than their score, or equal to it if share is 1.
func forecast(seed uint64, rows int, share float64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, seed))
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: rows, Classes: 1}}
	for range rows {
		s, y := r.Float64(), int32(0)
		if r.Float64() < 0.5+share*(s-0.5) {
			y = 1
		}
		p.F64, p.Labels = append(p.F64, s), append(p.Labels, y)
	}
	return p
}

// The posterior ECE of two models.
func ExampleBayesianOf() {
	for i, share := range []float64{0.7, 0.5} {
		b, err := calib.BinsOf(forecast(uint64(i), 500, share), nil)
		if err != nil {
			log.Fatal(err)
		}
		post := metrics.Must(calib.BayesianOf(&b.Partition, &calib.BayesianOptions{Seed: 1}))
		fmt.Printf("ece %.3f; posterior mean %.2f, 10%% below %.2f, 90%% below %.2f\n",
			b.ECE(), post.Mean(), post.Quantile(0.1), post.Quantile(0.9))
	}
	// Output:
	// ece 0.116; posterior mean 0.13, 10% below 0.10, 90% below 0.15
	// ece 0.149; posterior mean 0.16, 10% below 0.13, 90% below 0.18
}

// The parameters of the posterior, here that of uncertainty_metrics. They allow draws by other means.
func ExampleBayesian_Posterior() {
	b, err := calib.BinsOf(testrows.Ten(), &calib.Options{Bins: 4})
	if err != nil {
		log.Fatal(err)
	}
	post := metrics.Must(calib.BayesianOf(&b.Partition, &calib.BayesianOptions{AsCoded: true, Draws: 500}))
	for _, bin := range post.Posterior() {
		fmt.Printf("scores about %.3f +- %.3f in [%.2f, %.2f], outcomes %.2f\n",
			bin.Location, bin.Scale, bin.Low, bin.High, bin.Alpha)
	}
	fmt.Println(len(post.Draws()), "draws, by default", calib.DefaultDraws)
	// Output:
	// scores about 0.108 +- 0.083 in [0.00, 0.25], outcomes [2.25 0.25]
	// scores about 0.342 +- 0.083 in [0.25, 0.50], outcomes [1.25 1.25]
	// scores about 0.619 +- 0.072 in [0.50, 0.75], outcomes [1.25 2.25]
	// scores about 0.931 +- 0.072 in [0.75, 1.00], outcomes [0.25 3.25]
	// 500 draws, by default 10000
}

// If there is no posterior, Reason tells why.
func ExampleBayesian_Reason() {
	p := testrows.Ten()
	p.Weights = []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 2}
	b, err := calib.BinsOf(p, nil)
	if err != nil {
		log.Fatal(err)
	}
	post := metrics.Must(calib.BayesianOf(&b.Partition, nil))
	fmt.Println(post.Mean(), post.Reason())
	// Output: NaN the posterior is of counts of rows, which sums of weights are not
}
