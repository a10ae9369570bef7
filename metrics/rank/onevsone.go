package rank

import (
	"math"
	"sync"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/cells"
)

// Labelled is the rows' order by the probability of one class among the rows of two. EachPair calls use for each two classes that have
// rows, in both orders, on any number of goroutines; calib.LabelScores is one.
type Labelled interface {
	EachPair(use func(class, other int, o cells.Ordered))
}

// OneVsOne is the areas under the ROC of each class against each other one.
type OneVsOne struct {
	macro, weighted, rows exact.Sum
	pairs                 int64 // in both orders
}

// PairedAUROC returns the areas of each class against each other one: A(a|b) is AUROC among the rows of the labels a and b, in the order
// of the probability of a, those of a being the event, and equal probabilities count half. It is not A(b|a), which is in the order of the
// probability of b.
func PairedAUROC(c Labelled) *OneVsOne {
	v := &OneVsOne{}
	var m sync.Mutex
	c.EachPair(func(_, _ int, o cells.Ordered) {
		r := RankingOf(o)
		a, _ := r.AUROC()
		if a != a {
			return // of one of the two labels all entries are outside [0,1]
		}
		n := r.pairs.Events + r.pairs.Rest
		m.Lock()
		defer m.Unlock()
		v.macro.AddFloat(a)
		v.weighted.AddFloat(float64(n * a))
		v.rows.AddFloat(n)
		v.pairs++
	})
	return v
}

// Macro returns the mean over the pairs of classes that have rows, in which each counts alike, of (A(a|b) + A(b|a))/2; NaN without rows
// of two classes.
//
// Source: Hand and Till 2001; scikit-learn's roc_auc_score with multi_class="ovo" and average="macro".
func (v *OneVsOne) Macro() float64 {
	if v.pairs == 0 {
		return math.NaN()
	}
	return v.macro.Float64() / float64(v.pairs)
}

// Weighted returns the mean in which each pair counts by the rows of its two labels, as in scikit-learn's average="weighted"; NaN without
// rows of two classes.
func (v *OneVsOne) Weighted() float64 {
	if v.pairs == 0 {
		return math.NaN()
	}
	return exact.Ratio(&v.weighted, &v.rows)
}
