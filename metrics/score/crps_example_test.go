package score_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// Distributions around 0 with similar spread, and the observed value 1.5.
func ExampleNormalCRPS() {
	fmt.Printf("normal    %.4f\n", score.NormalCRPS(1.5, 0, 1))
	fmt.Printf("logistic  %.4f\n", score.LogisticCRPS(1.5, 0, 0.55))
	fmt.Printf("laplace   %.4f\n", score.LaplaceCRPS(1.5, 0, 0.71))
	fmt.Printf("student t %.4f\n", score.StudentTCRPS(1.5, 4, 0, 0.71))
	fmt.Printf("mixture   %.4f\n", score.NormalMixtureCRPS(1.5, []float64{0.5, 0.5}, []float64{-0.9, 0.9}, []float64{0.44, 0.44}))
	fmt.Printf("a point   %.4f\n", score.NormalCRPS(1.5, 0, 0))
	// Output:
	// normal    0.9944
	// logistic  1.0197
	// laplace   1.0533
	// student t 1.0546
	// mixture   0.9432
	// a point   1.5000
}

// The mean of many forecasts, and the score of each.
func ExampleNormals() {
	y := []float64{0.3, -1, 5}
	location, scale := []float64{0, -1, 2}, []float64{1, 0.5, 1}
	rows := make([]float64, len(y))
	fmt.Printf("normal    %.4f", score.Normals(rows, y, location, scale, nil))
	fmt.Printf(" %.4f\n", rows)
	fmt.Printf("weighted  %.4f\n", score.Normals(nil, y, location, scale, []float64{1, 1, 0.25}))
	fmt.Printf("logistic  %.4f\n", score.Logistics(nil, y, location, scale, nil))
	fmt.Printf("laplace   %.4f\n", score.Laplaces(nil, y, location, scale, nil))
	fmt.Printf("student t %.4f\n", score.StudentTs(nil, y, []float64{2, 5, 30}, location, scale, nil))
	means, sds := []float64{0, 1, -1, -1, 2, 4}, []float64{1, 1, 0.5, 0.25, 1, 1}
	fmt.Printf("mixtures  %.4f\n", score.NormalMixtures(nil, y, 2, nil, means, sds, nil))
	// Output:
	// normal    0.9409 [0.2693 0.1168 2.4366]
	// weighted  0.4424
	// logistic  0.8997
	// laplace   0.9052
	// student t 0.9614
	// mixtures  0.5454
}

// samples returns four forecasts with three samples each.
func samples() *metrics.Predictions {
	return &metrics.Predictions{
		Kind: metrics.Samples,
		Scores: metrics.Scores{
			F64: []float64{
				11, 9, 10,
				3, 7, 5,
				0, 0, 0,
				2, 1, 6,
			},
			Rows: 4, Classes: 3,
		},
		Observed: []float64{10, 8, 0, 1.5},
	}
}

func ExampleSampleCRPS() {
	s := metrics.Must(score.NewSampleCRPS(&score.CRPSOptions{Rolled: true}))
	if err := metrics.NewPass(nil, s).Add(samples()); err != nil {
		log.Fatal(err)
	}
	i := s.Interval(score.CRPSV, metrics.DefaultLevel)
	fmt.Printf("%d rows of %d samples\n", s.Len(), s.Samples())
	fmt.Printf("of the samples themselves %.4f [%.2f, %.2f]\n", s.Value(score.CRPSV), i.Low, i.High)
	fmt.Printf("of what they were drawn from %.4f, by moments %.4f\n", s.Value(score.CRPSFair), s.Value(score.CRPSPWM))
	fmt.Printf("as uncertainty_metrics has it %.4f\n", s.Value(score.CRPSRolled))
	// Output:
	// 4 rows of 3 samples
	// of the samples themselves 0.7639 [-0.16, 1.69]
	// of what they were drawn from 0.4583, by moments 0.4583
	// as uncertainty_metrics has it 0.4583
}

func ExampleCRPS() {
	crps, err := score.CRPS(samples(), score.CRPSFair, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", crps)
	// Output:
	// 0.4583
}
