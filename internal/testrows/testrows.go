// Package testrows makes predictions for the tests of several packages.
package testrows

import (
	"math/rand/v2"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// Binary returns predictions of class 1.
func Binary(p []float64, y []int32) *metrics.Predictions {
	return &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y}
}

// Laws are distributions of the scores of binary predictions, by name.
var Laws = map[string]func(r *rand.Rand) float64{
	"uniform":   func(r *rand.Rand) float64 { return r.Float64() },
	"confident": func(r *rand.Rand) float64 { u := r.Float64(); return 1 - u*u*u*u*u/2 },
	"rare":      func(r *rand.Rand) float64 { return kernel.Exp64(-30 * r.Float64()) },
	"cents":     func(r *rand.Rand) float64 { return float64(r.IntN(101)) / 100 },
	"float32":   func(r *rand.Rand) float64 { return float64(r.Float32()) },
}

// Lawful returns n binary predictions with scores from one of Laws. Their events are slightly rarer than the scores say.
func Lawful(law string, n int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(law))))
	p := Binary(make([]float64, n), make([]int32, n))
	for i := range p.F64 {
		p.F64[i] = Laws[law](r)
		if r.Float64()*1.1 < p.F64[i] {
			p.Labels[i] = 1
		}
	}
	return p
}

// Ten returns ten scores of an event, with outcomes.
func Ten() *metrics.Predictions {
	return Binary([]float64{0.1, 0.1, 0.3, 0.35, 0.6, 0.6, 0.65, 0.9, 0.95, 1}, []int32{0, 0, 1, 0, 1, 0, 1, 1, 1, 1})
}
