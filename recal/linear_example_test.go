package recal_test

import (
	"errors"
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// linearLogits returns logits of three classes from a model that is too sure.
func linearLogits() *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Logits}
	for i := range 60 {
		y := i % 3
		z := [3]float64{1, 0, 0}
		z[(y+i/20*(i%2))%3] += 3 + float64(i%5)
		p.F64 = append(p.F64, z[:]...)
		p.Labels = append(p.Labels, int32(y))
	}
	p.Rows, p.Classes = 60, 3
	return p
}

func ExampleVector() {
	p := linearLogits()
	m, err := recal.Vector{}.Fit(recal.InMemory(p), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	v := m.(*recal.VectorMap)
	fmt.Printf("factors %.2f, biases %.2f\n", v.Factors(), v.Biases())

	probs := metrics.Scores{F64: make([]float64, 3), Rows: 1, Classes: 3}
	m.Apply(&probs, &metrics.Scores{F64: []float64{5, 0, 0}, Rows: 1, Classes: 3}, metrics.Logits)
	fmt.Printf("%.3f\n", probs.F64)

	_, gradient := v.Passes()
	fmt.Println("gradient below 1e-8:", gradient < 1e-8)
	// Output:
	// factors [0.24 0.19 0.39], biases [-0.09 0.16 -0.07]
	// [0.588 0.230 0.183]
	// gradient below 1e-8: true
}

func ExampleMatrix() {
	p := linearLogits()
	m, err := recal.Matrix{OffDiagonal: 0.1, Bias: 0.1}.Fit(recal.InMemory(p), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	v := m.(*recal.MatrixMap)
	fmt.Println(v.Method())
	fmt.Printf("matrix %.2f, biases %.2f\n", v.Matrix(), v.Biases())

	// More parameters than rows can tell: the likelihood has no maximum.
	few := metrics.Predictions{Kind: metrics.Logits, Labels: []int32{0, 1, 2}}
	few.Rows, few.Classes, few.F64 = 3, 3, []float64{2, 0, 0, 0, 2, 0, 0, 0, 2}
	_, err = recal.Matrix{}.Fit(recal.InMemory(&few), nil)
	fmt.Println(errors.Is(err, recal.ErrUnreachable), errors.Is(err, recal.ErrNoMinimum))
	// Output:
	// matrix(off_diagonal=0.1,bias=0.1)
	// matrix [[0.20 -0.04 -0.02] [-0.01 0.21 0.02] [0.01 0.04 0.41]], biases [0.06 0.09 -0.15]
	// true false
}
