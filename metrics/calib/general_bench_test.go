package calib_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// softmaxes returns rows of probabilities with labels drawn from them.
func softmaxes(rows, classes int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, rows*classes)
	for i := range x {
		x[i] = float32(3 * r.NormFloat64())
	}
	kernel.SoftmaxF32(x, classes, x, rows, classes, classes)
	p := &metrics.Predictions{Scores: metrics.Scores{F32: x, Rows: rows, Classes: classes}}
	for i := range rows {
		u, y := r.Float32(), 0
		for y < classes-1 && u > x[i*classes+y] {
			u -= x[i*classes+y]
			y++
		}
		p.Labels = append(p.Labels, int32(y))
	}
	return p
}

// chances returns scores of an event with outcomes drawn from powers of the scores.
func chances(rows int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(3, 4))
	p := &metrics.Predictions{Scores: metrics.Scores{F64: make([]float64, rows), Rows: rows, Classes: 1}, Labels: make([]int32, rows)}
	for i := range p.F64 {
		v := r.Float64()
		p.F64[i] = v
		if r.Float64() < v*v {
			p.Labels[i] = 1
		}
	}
	return p
}

func BenchmarkGCE(b *testing.B) {
	one := metrics.Options{Threads: 1}
	matrix := softmaxes(50000, 1000)
	vector := chances(1e6)
	rising := chances(1e6)
	for i, v := range rising.F64 {
		rising.Labels[i] = 0
		if v > 0.4 {
			rising.Labels[i] = 1
		}
	}
	weighted := *vector
	weighted.Weights = make([]float64, len(vector.F64))
	for i := range weighted.Weights {
		weighted.Weights[i] = 1 + float64(i%7)
	}
	for _, c := range []struct {
		name string
		p    *metrics.Predictions
		o    calib.GeneralOptions
	}{
		{"ace/50000x1000", matrix, calib.GeneralOptions{Binning: calib.Adaptive, ClassConditional: true}},
		{"tace/50000x1000", matrix, calib.GeneralOptions{Binning: calib.Adaptive, ClassConditional: true, Above: new(0.01)}},
		{"sce/50000x1000", matrix, calib.GeneralOptions{ClassConditional: true}},
		{"um sce/50000x1000", matrix, calib.GeneralOptions{Options: calib.Options{One: calib.OverflowBin}, ClassConditional: true}},
		{"equal mass/1e6", vector, calib.GeneralOptions{Binning: calib.Adaptive}},
		{"equal mass, weights/1e6", &weighted, calib.GeneralOptions{Binning: calib.Adaptive}},
		{"sweep/1e6", vector, calib.GeneralOptions{Binning: calib.SweepMass}},
		{"sweep even/1e6", vector, calib.GeneralOptions{Binning: calib.SweepEven}},
		{"sweep of rising outcomes/1e6", rising, calib.GeneralOptions{Binning: calib.SweepMass}},
	} {
		b.Run(fmt.Sprint(c.name), func(b *testing.B) {
			c.o.Data = one
			for b.Loop() {
				if _, err := calib.GeneralOf(c.p, &c.o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
