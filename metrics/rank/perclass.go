package rank

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/cells"
)

// Classes gives, for each class, the order of the rows by its probability, with its label as the event. EachClass calls use
// for each class, on any number of goroutines and in any order. calib.ClassScores implements it.
type Classes interface {
	Classes() int
	EachClass(use func(class int, o cells.Ordered))
}

// OneVsRest holds an area of each class against all others.
type OneVsRest struct {
	Areas   []float64
	Bounds  []float64 // the most by which each area can differ from that of the rows themselves
	Weights []float64 // weight, or number, of the rows with the label; 0 marks an absent class
}

// PerClass returns an area, such as (*Ranking).AUROC, for each class against all others. It is NaN for absent classes, and
// where area returns NaN, as AUROC does for a class that is the label of every row.
func PerClass(c Classes, area func(r *Ranking) (area, bound float64)) *OneVsRest {
	n := c.Classes()
	v := &OneVsRest{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i := range n {
		v.Areas[i], v.Bounds[i] = math.NaN(), math.NaN()
	}
	c.EachClass(func(class int, o cells.Ordered) {
		r := RankingOf(o)
		if v.Weights[class] = r.pairs.Events; r.pairs.Events > 0 {
			v.Areas[class], v.Bounds[class] = area(r)
		}
	})
	return v
}

// Macro returns the unweighted mean over the classes that are present. It returns NaN if none is present or the area of one
// of them is NaN, as for AUROC if all rows have the same label. bound is the mean of the bounds.
//
// If all classes are present it equals scikit-learn's average="macro", for roc_auc_score with multi_class="ovr". For absent
// classes scikit-learn refuses AUROC, and counts an average precision of 0.
func (v *OneVsRest) Macro() (mean, bound float64) {
	return v.mean(func(float64) float64 { return 1 })
}

// Weighted returns the mean over classes weighted by the weight or number of their rows. It is NaN where Macro is. It is
// scikit-learn's average="weighted".
func (v *OneVsRest) Weighted() (mean, bound float64) {
	return v.mean(func(weight float64) float64 { return weight })
}

// mean returns a weighted mean over the classes that are present. The order of the classes does not affect it.
func (v *OneVsRest) mean(counts func(weight float64) float64) (mean, bound float64) {
	var areas, bounds, all exact.Sum
	for i, w := range v.Weights {
		if w == 0 {
			continue
		}
		c := counts(w)
		a, b := c*v.Areas[i], c*v.Bounds[i]
		if a != a {
			return math.NaN(), math.NaN()
		}
		if b != b {
			bound, b = b, 0
		}
		areas.AddFloat(a)
		bounds.AddFloat(b)
		all.AddFloat(c)
	}
	n := all.Float64()
	return areas.Float64() / n, bound + bounds.Float64()/n
}
