package rank_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics/rank"
)

// TestGoldenRetainedAreas compares with uncertainty-baselines' areas among retained rows.
func TestGoldenRetainedAreas(t *testing.T) {
	var g struct {
		Retention []struct {
			Uncertainty []float64
			Labels      []float64 `json:"y_true"`
			Scores      []float64 `json:"y_pred"`
			ROC         []float64 `json:"auc_curve_roc"`
			PR          []float64 `json:"auc_curve_prc"`
		}
	}
	check.Golden(t, "../../testdata/golden", "ranking_rejection.json.gz", &g)
	compared := 0
	for _, x := range g.Retention {
		if x.ROC == nil {
			continue
		}
		labels := make([]int32, len(x.Labels))
		for i, l := range x.Labels {
			labels[i] = int32(l)
		}
		for c, want := range map[rank.Curve][]float64{rank.CurveROC: x.ROC, rank.CurvePR: x.PR} {
			for i, v := range rank.RetainedAreas(x.Scores, labels, x.Uncertainty, c, 100) {
				if !near(v, want[i], tolerance) {
					t.Errorf("curve %d, %d parts left out: %v, want %v", c, i, v, want[i])
				}
				compared++
			}
		}
	}
	if compared != 202 {
		t.Errorf("%d values were compared", compared)
	}
}

// TestRetainedAreasOfAll checks that with all rows retained the areas are those of the ranking, including ties, and that rows
// of a single class have none.
func TestRetainedAreasOfAll(t *testing.T) {
	p := []float64{0.1, 0.4, 0.4, 0.4, 0.7, 0.7, 0.9, 0.9}
	y := []int32{0, 1, 0, 0, 1, 0, 1, 1}
	u := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	r := rank.RankingOf(of(t, binary(p, y)))
	auroc, _ := r.AUROC()
	pr, _ := r.AUPRC(rank.Trapezoid)
	if v := rank.RetainedAreas(p, y, u, rank.CurveROC, 4); v[0] != auroc || v[4] != 1 {
		t.Errorf("%v, want %v first", v, auroc)
	} else if !math.IsNaN(rank.RetainedAreas(p, y, []float64{0, 9, 0, 0, 9, 0, 9, 9}, rank.CurveROC, 2)[1]) {
		t.Error("an area of one class")
	}
	if v := rank.RetainedAreas(p, y, u, rank.CurvePR, 4); math.Abs(v[0]-pr) > 1e-15 {
		t.Errorf("%v, want %v first", v, pr)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	rank.RetainedAreas(p, y, u, rank.CurvePR, 0)
}

// How well the scores of the most confident rows separate the classes.
func ExampleRetainedAreas() {
	scores := []float64{0.9, 0.8, 0.6, 0.4, 0.3, 0.1}
	labels := []int32{1, 1, 0, 1, 0, 0}
	doubt := []float64{0.1, 0.2, 0.4, 0.4, 0.3, 0.1}
	for i, v := range rank.RetainedAreas(scores, labels, doubt, rank.CurveROC, 3) {
		fmt.Printf("%d of 3 parts left out: %.3f\n", i, v)
	}
	// Output:
	// 0 of 3 parts left out: 0.889
	// 1 of 3 parts left out: 1.000
	// 2 of 3 parts left out: 1.000
	// 3 of 3 parts left out: 1.000
}
