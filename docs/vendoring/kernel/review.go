package surprise

import "github.com/candor-go/candor/kernel"

// Prediction is what a model says of one row.
type Prediction struct {
	Row    int
	Class  int32
	Prob   float32 // of the class
	Energy float64 // -ln(sum of e^logit): high where no class has a large logit
}

// LeastSure returns the n rows whose top class has the lowest probability, the lowest first: those that a person should look at.
// The logits have shape (rows, classes), row-major.
func LeastSure(logits []float32, rows, classes, n int) []Prediction {
	class, logSum := make([]int32, rows), make([]float64, rows)
	kernel.ArgMaxF32(class, logits, rows, classes, classes)
	kernel.LogSumExpF32(logSum, logits, rows, classes, classes)
	probs := make([]float32, rows*classes)
	kernel.SoftmaxF32(probs, classes, logits, rows, classes, classes)
	top := make([]float32, rows)
	for i, c := range class {
		top[i] = probs[i*classes+int(c)]
	}
	index := make([]int32, rows)
	kernel.OrderF32(index, top, make([]uint64, kernel.OrderScratch(rows)))
	least := make([]Prediction, min(n, rows))
	for i := range least {
		row := index[i]
		least[i] = Prediction{int(row), class[row], top[row], -logSum[row]}
	}
	return least
}
