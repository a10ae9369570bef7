package regress_test

import (
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// Three members forecast the temperature in two places, of which the second is always the colder one.
func ExampleNewVectors() {
	p := &metrics.Predictions{Kind: metrics.Multivariate, Dimensions: 2, Scores: metrics.Scores{Rows: 2, Classes: 8}}
	p.F64 = []float64{
		20, 15, 22, 17, 24, 18, 21, 15, // three members, and what was observed
		10, 7, 13, 9, 12, 6, 9, 5,
	}
	energy := metrics.Must(regress.NewVectors(nil))
	pairs := metrics.Must(regress.NewVectors(&regress.VectorOptions{Score: regress.Variogram, Order: 1, Near: true}))
	moments := metrics.Must(regress.NewVectors(&regress.VectorOptions{Score: regress.DawidSebastiani}))
	ranks := metrics.Must(regress.NewVectorRanks(&regress.VectorRankOptions{Ranking: regress.AverageRank}))
	if err := metrics.NewPass(nil, energy, pairs, moments, ranks).Add(p); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("energy %.3f, fair %.3f\n", energy.Value(regress.Energy), energy.Value(regress.EnergyFair))
	fmt.Printf("variogram %.3f, Dawid-Sebastiani %.3f\n", pairs.Value(regress.Variogram), moments.Value(regress.DawidSebastiani))
	fmt.Println(energy.Members(), "members of", energy.Dimensions(), "numbers;", moments.Singular(), "singular; ranks:", ranks.Reason())
	// Output:
	// energy 2.030, fair 1.500
	// variogram 0.556, Dawid-Sebastiani 7.130
	// 3 members of 2 numbers; 0 singular; ranks: fewer than 5 rows a bin: take fewer bins, or more rows
}
