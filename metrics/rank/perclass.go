package rank

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/cells"
)

// Classes is the rows' order by the probability of each class, with those that have its label as the event. EachClass calls use for
// each class, on any number of goroutines and in any order; calib.ClassScores is one.
type Classes interface {
	Classes() int
	EachClass(use func(class int, o cells.Ordered))
}

// OneVsRest is an area of each class against all others, by class.
type OneVsRest struct {
	Areas   []float64
	Bounds  []float64 // how far those of the rows may be from them
	Weights []float64 // of the rows with the label, their number without any; a class of 0 is not present
}

// PerClass returns an area, as (*Ranking).AUROC, of each class against all others: NaN of classes that are not present, and where the
// area is NaN, as AUROC of a class that all rows have.
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

// Macro returns the mean over the classes that are present, in which each counts alike, however rare. NaN if none is, and if the area
// of one of them is NaN: of AUROC, where all rows have one label. bound is the mean of theirs.
//
// Where all classes are present it is scikit-learn's average="macro", for roc_auc_score with multi_class="ovr". Of absent classes
// that one's AUROC is refused, and its average precision is a 0 that counts.
func (v *OneVsRest) Macro() (mean, bound float64) {
	return v.mean(func(float64) float64 { return 1 })
}

// Weighted returns the mean in which each class counts by its rows' weight, or their number without weights. NaN where Macro is. It is
// scikit-learn's average="weighted".
func (v *OneVsRest) Weighted() (mean, bound float64) {
	return v.mean(func(weight float64) float64 { return weight })
}

// mean returns a mean over the classes that are present. Its sums do not depend on the order of the classes.
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
