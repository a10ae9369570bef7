package main

import (
	"math"
	"sync/atomic"

	"github.com/candor-go/candor/kernel"
)

// temperatureBeta is the inverse temperature of a read: it leaves out no term.
const temperatureBeta = 0.7

// temperatureRows is how many rows have columns at a time.
const temperatureRows = 64

// temperatureRead is one read of a fit of a temperature: it makes the columns of all rows, and adds the derivatives of the NLL.
func temperatureRead(x []float32, y []int32, k, threads int) {
	var next atomic.Int64
	together(threads, func() {
		f := func() []float64 { return make([]float64, temperatureRows) }
		c := &kernel.Tempered{NLL: f(), Slope: f(), Curvature: f(), Label: f()}
		sum := 0.0
		for {
			end := int(next.Add(temperatureRows))
			first := end - temperatureRows
			if end = min(end, len(x)/k); first >= end {
				break
			}
			kernel.TemperedF32(c, x[first*k:end*k], end-first, k, k, y[first:end], temperatureBeta)
			for i := range end - first {
				sum += c.Slope[i] + c.Curvature[i]
			}
		}
		if math.IsNaN(sum) {
			panic("roofline: its own logits are bad")
		}
		sink.Add(math.Float64bits(sum))
	})
}
