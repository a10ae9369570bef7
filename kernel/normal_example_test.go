package kernel_test

import (
	"fmt"

	"github.com/candor-go/candor/kernel"
)

func normalColumns(n int) *kernel.NormalColumns {
	f := func() []float64 { return make([]float64, n) }
	return &kernel.NormalColumns{Error: f(), SD: f(), Z: f(), NLL: f(), CRPS: f(), Flags: make([]uint8, n)}
}

// Forecasts of a temperature, as mean and standard deviation, and what it was.
func ExampleNormalF32() {
	x := []float32{
		20, 2, 21,
		15, 0.5, 18,
	}
	c := normalColumns(2)
	kernel.NormalF32(c, x, 2, 3, 3)
	for i := range 2 {
		fmt.Printf("error %.1f, z %.1f, NLL %.3f, CRPS %.3f\n", c.Error[i], c.Z[i], c.NLL[i], c.CRPS[i])
	}
	// Output:
	// error 1.0, z 0.5, NLL 1.737, CRPS 0.663
	// error 3.0, z 6.0, NLL 18.226, CRPS 2.718
}

// Errors and standard deviations alone. One that is 0 is no forecast.
func ExampleNormalF64() {
	c := normalColumns(2)
	flags := kernel.NormalF64(c, []float64{1, 2, 1, 0}, 2, 2, 2)
	fmt.Printf("%.3f %v\n", c.NLL, flags == kernel.FlagOutside)
	// Output: [1.737 NaN] true
}

// The mean of values in some unit and their variance, of sums without rounding.
func ExampleUnitMoments() {
	v := []float64{1e-9, 2e-9, 4e-9}
	m, ok := kernel.UnitMoments(v)
	mean := (float64(m.Hi)*m.Unit + float64(m.Lo)*m.Fine) / 3
	square := (float64(m.Hi2)*m.Unit2 + float64(m.Lo2)*m.Fine2) / 3
	fmt.Printf("%.4g %.4g %v\n", mean, square-mean*mean, ok)
	_, ok = kernel.UnitMoments([]float64{1e-300, 1})
	fmt.Println(ok)
	// Output:
	// 2.333e-09 1.556e-18 true
	// false
}

// How much more one model loses than another in each row, and the mean of that without rounding of the sum.
func ExamplePowerSums() {
	a, b := []float64{0.5, 0.25, 1}, []float64{0.75, 0.5, 0.5}
	d := make([]float64, 3)
	top := kernel.Differences(d, a, b)
	s := kernel.PowerSums(d, top)
	fmt.Println(d, top, s.N, float64(s.Sums[0])*s.Unit[0]+float64(s.Sums[1])*s.Unit[1])
	// Output: [0.25 0.25 -0.5] 0.5 3 0
}

// Places of scores, each with its outcome as the last bit.
func ExampleCoarseGrid() {
	g := kernel.NewCoarseGrid(512)
	p, tail := []float64{0, 0.5, 1, 2}, []float64{1, 0.5, 0, -1}
	to := make([]uint32, 4)
	g.Places(to, p, tail, []uint8{0, 1, 1, 0})
	fmt.Println(to[:3], to[3] == kernel.NoPlace)
	// Output: [0 513 1023] true
}
