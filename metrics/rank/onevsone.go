package rank

import (
	"math"
	"sync"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/cells"
)

// Labelled gives, for each pair of classes, the order of their rows by the probability of one of them. EachPair calls use
// for each ordered pair of classes that have rows, on any number of goroutines. calib.LabelScores implements it.
type Labelled interface {
	EachPair(use func(class, other int, o cells.Ordered))
}

// OneVsOne holds the areas under the ROC of each class against each other class.
type OneVsOne struct {
	macro, weighted, rows exact.Sum
	pairs                 int64 // number of ordered pairs
}

// PairedAUROC returns the areas of each class against each other class. A(a|b) is the AUROC among the rows with labels a and
// b, ranked by the probability of a, with label a as the event; equal probabilities count half. It differs from A(b|a),
// which ranks by the probability of b.
func PairedAUROC(c Labelled) *OneVsOne {
	v := &OneVsOne{}
	var m sync.Mutex
	c.EachPair(func(_, _ int, o cells.Ordered) {
		r := RankingOf(o)
		a, _ := r.AUROC()
		if a != a {
			return // all entries of one label are outside [0,1]
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

// Macro returns the unweighted mean of (A(a|b) + A(b|a))/2 over the pairs of classes that have rows. It returns NaN unless
// at least two classes have rows.
//
// Source: Hand and Till 2001; scikit-learn's roc_auc_score with multi_class="ovo" and average="macro".
func (v *OneVsOne) Macro() float64 {
	if v.pairs == 0 {
		return math.NaN()
	}
	return v.macro.Float64() / float64(v.pairs)
}

// Weighted returns the mean over pairs weighted by the rows of their two labels, as in scikit-learn's average="weighted". It
// returns NaN unless at least two classes have rows.
func (v *OneVsOne) Weighted() float64 {
	if v.pairs == 0 {
		return math.NaN()
	}
	return exact.Ratio(&v.weighted, &v.rows)
}
