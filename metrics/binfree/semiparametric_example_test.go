package binfree_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// overstated returns 2000 rows whose event has frequency 0.7 p^2 + 0.3 p. The root-mean-square error is 0.128.
func overstated() (p []float64, y []int32) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s, label := r.Float64(), int32(0)
		if r.Float64() < float64(0.7*s*s)+float64(0.3*s) {
			label = 1
		}
		p, y = append(p, s), append(y, label)
	}
	return p, y
}

// An estimate without bins has neither their upward bias nor their blur.
func ExampleSemiparametricOf() {
	scores, labels := overstated()
	p := &metrics.Predictions{Scores: metrics.Scores{F64: scores, Rows: len(scores), Classes: 1}, Labels: labels}
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	s, err := binfree.SemiparametricOf(c, nil)
	if err != nil {
		log.Fatal(err)
	}
	i := s.Interval(metrics.DefaultLevel)
	fmt.Printf("%.2f [%.2f, %.2f] of %d rows, exact: %v\n", s.RMS(), i.Low, i.High, s.Rows, s.Bound == 0)
	fmt.Printf("squared %.3f +- %.3f; less smooth than chosen: %v\n", s.Squared, s.SE, s.Used > s.Chosen)
	// Output:
	// 0.12 [0.10, 0.14] of 2000 rows, exact: true
	// squared 0.015 +- 0.002; less smooth than chosen: true
}

// Rows can have given folds, and labels that are frequencies.
func ExampleSemiparametricOfRows() {
	scores := []float64{0.2, 0.2, 0.4, 0.4, 0.6, 0.6, 0.8, 0.8}
	labels := []float64{0, 0.5, 0.5, 0, 0.5, 1, 1, 1}
	folds := []int{0, 1, 0, 1, 0, 1, 0, 1}
	o := &binfree.SemiparametricOptions{Smoother: binfree.KernelSmoother, Hyperparameters: []float64{1, 10, 100}}
	s, err := binfree.SemiparametricOfRows(scores, labels, folds, o)
	if err != nil {
		log.Fatal(err)
	}
	s.Each(func(r binfree.FoldRows) {
		if r.Fold == 0 {
			fmt.Printf("%.1f: %d row with %.1f, by the other fold %.2f\n", r.Score, r.Rows, r.Events, r.Frequency)
		}
	})
	// Output:
	// 0.2: 1 row with 0.0, by the other fold 0.26
	// 0.4: 1 row with 0.5, by the other fold 0.43
	// 0.6: 1 row with 0.5, by the other fold 0.73
	// 0.8: 1 row with 1.0, by the other fold 1.02
}

func ExampleSemiparametricOptions() {
	o := binfree.SemiparametricOptions{Smoother: binfree.SplineSmoother, Weights: binfree.ChiWeights}
	if err := o.Set("folds", "10"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(o, o.Validate())
	fmt.Println(o.Text())
	o.Weights = binfree.RelativeWeights
	fmt.Println(o, o.Weights == binfree.ConstantWeights)
	// Output:
	// folds=10,smoothing=spline,weights=chi <nil>
	// root of mean w (p-y)(p-c); w = 1/max(p(1-p),0.05); c the frequency by a smoothing spline over the other of 10 folds
	// folds=10,smoothing=spline,weights=relative false
}
