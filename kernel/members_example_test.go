package kernel_test

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/kernel"
)

// The mutual information of an ensemble of two on one row: the entropy of the mean less the mean of the entropies.
func ExampleMeanF32() {
	x := []float32{ // the probabilities of both members
		0.75, 0.25,
		0.25, 0.75,
	}
	mean := make([]float32, 2)
	kernel.MeanF32(mean, x, 2, 2, 2)
	entropy := func(p []float32) (h float64) {
		for _, v := range p {
			h -= float64(v) * kernel.Log64(float64(v))
		}
		return h
	}
	fmt.Println(mean)
	fmt.Printf("%.4f\n", entropy(mean)-(entropy(x[:2])+entropy(x[2:]))/2)
	// Output:
	// [0.5 0.5]
	// 0.1308
}

// The mean probabilities of an ensemble from its logits, without those of a member.
func ExampleMeanScaledF32() {
	x := []float32{0, 0, 1, 1} // two members of one row
	const members, rows, k = 2, 1, 2
	f := func() []float64 { return make([]float64, rows) }
	cols := &kernel.Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(),
		ArgMax: make([]int32, rows), Flags: make([]uint8, rows)}
	terms, scale, mean := make([]float32, members*rows*k), make([]float32, members*rows), make([]float32, rows*k)
	for m := range members {
		at := m * rows * k
		kernel.LogitTermsF32(cols, terms[at:], k, scale[m*rows:], x[at:], rows, k, k, []int32{0})
	}
	if kernel.MeanScaledF32(mean, terms, scale, members, rows, k, rows*k) {
		fmt.Println(mean, kernel.HasTerms(k)) // rows as short as these cost the same with LogitSoftmaxF32 and MeanF32
	}
	// Output: [0.5 0.5] false
}

func ExampleMeanF64() {
	mean := make([]float64, 2)
	kernel.MeanF64(mean, []float64{0.75, 0.25, 0.5, 0.5}, 2, 2, 2)
	fmt.Println(mean)
	// Output: [0.625 0.375]
}

// The NLL of the mean probability, from those of two members on three rows.
func ExampleLogMeanExpF64() {
	minusNLL := []float64{
		math.Log(0.75), -800, math.Inf(-1),
		math.Log(0.25), -800, math.Log(0.5),
	}
	out := make([]float64, 3)
	kernel.LogMeanExpF64(out, minusNLL, 2, 3, 3)
	fmt.Printf("%.4f\n", out)
	// Output: [-0.6931 -800.0000 -1.3863]
}

// The divergence of two members' probabilities on two rows.
func ExamplePairKLF32() {
	p, q := []float32{0.5, 0.5, 1, 0}, []float32{0.25, 0.75, 0.5, 0.5}
	lp, lq := make([]float32, 4), make([]float32, 4)
	kernel.LogSliceF32(lp, p)
	kernel.LogSliceF32(lq, q)
	kl := make([]float64, 2)
	kernel.PairKLF32(kl, p, lp, lq, 2, 2, 2)
	fmt.Printf("%.4f\n", kl)
	kernel.PairKLF32(kl, q, lq, lp, 2, 2, 2)
	fmt.Printf("%.4f\n", kl)
	// Output:
	// [0.1438 0.6931]
	// [0.1308 +Inf]
}

func ExamplePairKLF64() {
	p, q := []float64{0.5, 0.5}, []float64{0.25, 0.75}
	lp, lq := make([]float64, 2), make([]float64, 2)
	kernel.LogSliceF64(lp, p)
	kernel.LogSliceF64(lq, q)
	kl := make([]float64, 1)
	kernel.PairKLF64(kl, p, lp, lq, 1, 2, 2)
	fmt.Printf("%.4f\n", kl)
	// Output: [0.1438]
}

// The cosine of two members' probabilities takes three dot products.
func ExamplePairSumsF32() {
	p, q := []float32{0.5, 0.5}, []float32{0.25, 0.75}
	var dot, abs, squares, pp, qq [1]float64
	kernel.PairSumsF32(pp[:], abs[:], squares[:], p, p, 1, 2, 2)
	kernel.PairSumsF32(qq[:], abs[:], squares[:], q, q, 1, 2, 2)
	kernel.PairSumsF32(dot[:], abs[:], squares[:], p, q, 1, 2, 2)
	fmt.Printf("%.4f\n", dot[0]/math.Sqrt(pp[0]*qq[0]))
	fmt.Println(abs[0], squares[0])
	// Output:
	// 0.8944
	// 0.5 0.125
}

func ExamplePairSumsF64() {
	var dot, abs, squares [1]float64
	kernel.PairSumsF64(dot[:], abs[:], squares[:], []float64{0.5, 0.5}, []float64{0.25, 0.75}, 1, 2, 2)
	fmt.Println(dot[0], abs[0], squares[0])
	// Output: 0.5 0.5 0.125
}
