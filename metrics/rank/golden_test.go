package rank_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

type input struct {
	Probs  json.RawMessage
	Labels []int32
}

// load returns the rows of an input. One-dimensional inputs are widened to [1-p, p], as in the references.
func (in input) load(t *testing.T) *metrics.Predictions {
	t.Helper()
	var rows [][]float64
	if json.Unmarshal(in.Probs, &rows) != nil {
		var one []float64
		if err := json.Unmarshal(in.Probs, &one); err != nil {
			t.Fatal(err)
		}
		rows = nil
		for _, p := range one {
			rows = append(rows, []float64{1 - p, p})
		}
	}
	return classes(rows, in.Labels)
}

func classes(rows [][]float64, labels []int32) *metrics.Predictions {
	p := &metrics.Predictions{Labels: labels}
	p.Rows, p.Classes = len(rows), len(rows[0])
	for _, r := range rows {
		if len(r) == 1 {
			r, p.Classes = []float64{1 - r[0], r[0]}, 2
		}
		p.F64 = append(p.F64, r...)
	}
	return p
}

func inputs(t *testing.T) map[string]input {
	var g struct{ Inputs map[string]input }
	check.Golden(t, "../../testdata/golden", "gce_small.json.gz", &g)
	// Two of the references' own tests, with only these numbers.
	g.Inputs["keras_test_binary8"] = input{json.RawMessage(`[0.51,0.45,0.39,0.66,0.68,0.29,0.81,0.85]`), []int32{0, 0, 0, 1, 0, 1, 1, 1}}
	g.Inputs["um_test_6x3"] = input{json.RawMessage(`[[0.31,0.32,0.27],[0.37,0.33,0.3],[0.3,0.31,0.39],[0.61,0.38,0.01],[0.1,0.65,0.25],[0.91,0.05,0.04]]`),
		[]int32{1, 0, 0, 1, 0, 0}}
	return g.Inputs
}

func binary(scores []float64, labels []int32) *metrics.Predictions {
	p := &metrics.Predictions{Labels: labels}
	p.Rows, p.Classes, p.F64 = len(scores), 1, scores
	return p
}

func unchecked(t *testing.T, p *metrics.Predictions, accs ...metrics.Accumulator) {
	t.Helper()
	if err := metrics.NewPass(&metrics.Options{Unchecked: true}, accs...).Add(p); err != nil {
		t.Fatal(err)
	}
}

const tolerance = 1e-12

type ranking struct {
	OCA struct {
		Cases [][]any
	} `json:"oracle_collaborative_accuracy"`
	AUC         []map[string]any
	Calibration []struct {
		True         []int32 `json:"y_true"`
		Pred         []int32 `json:"y_pred"`
		Confidence   []float64
		ROC          float64 `json:"cal_auc_ROC_correct_pos_True"`
		ROCErrors    float64 `json:"cal_auc_ROC_correct_pos_False"`
		PR           float64 `json:"cal_auc_PR_correct_pos_True"`
		PRErrors     float64 `json:"cal_auc_PR_correct_pos_False"`
		Exact        float64 `json:"exact_roc_auc_correct_pos"`
		Abstain      [][]any
		ExactAbstain [][3]float64 `json:"exact_abstain"`
	} `json:"calibration_auc_abstain"`
	OracleAUC struct {
		Labels, Probabilities []float64
		Cases                 [][]any
	} `json:"oracle_collaborative_auc"`
	Retention []struct {
		Losses, Uncertainty, Accuracies []float64
		LossCurve                       []float64 `json:"loss_curve_oracle_False"`
		LossCurveOracle                 []float64 `json:"loss_curve_oracle_True"`
		AccCurve                        []float64 `json:"acc_curve_oracle_False"`
		AccCurveOracle                  []float64 `json:"acc_curve_oracle_True"`
		Loss                            float64   `json:"loss_auc_oracle_False"`
		LossOracle                      float64   `json:"loss_auc_oracle_True"`
		Acc                             float64   `json:"acc_auc_oracle_False"`
		AccOracle                       float64   `json:"acc_auc_oracle_True"`
		Argsort                         []int
	}
}

// TestGoldenOracleAccuracy compares with um's accuracy with an oracle, which uses histograms and has a defect at a fraction of
// 1.
func TestGoldenOracleAccuracy(t *testing.T) {
	var g ranking
	check.Golden(t, "../../testdata/golden", "ranking_rejection.json.gz", &g)
	in := inputs(t)
	faults := 0
	for _, x := range g.OCA.Cases {
		name, fraction, bins, want := x[0].(string), x[1].(float64), int(x[2].(float64)), x[3].(float64)
		c := metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel}))
		unchecked(t, in[name].load(t), c)
		got, bound := rank.RankingOf(c).OracleAccuracy(rank.Budget{Fraction: fraction, Bins: bins})
		if !near(got, want, tolerance) || bound != 0 {
			t.Errorf("%v: %v, bound %v", x, got, bound)
		}
		if want > 1 {
			faults++
		}
	}
	if len(g.OCA.Cases) != 144 || faults == 0 {
		t.Errorf("%d cases, %d of which are above 1", len(g.OCA.Cases), faults)
	}
}

// TestGoldenAUC compares with the areas of Keras and of scikit-learn.
func TestGoldenAUC(t *testing.T) {
	var g ranking
	check.Golden(t, "../../testdata/golden", "ranking_rejection.json.gz", &g)
	n := 0
	for _, x := range g.AUC {
		var scores []float64
		var labels []int32
		for i, s := range x["scores"].([]any) {
			scores = append(scores, s.(float64))
			labels = append(labels, int32(x["labels"].([]any)[i].(float64)))
		}
		r := rank.RankingOf(of(t, binary(scores, labels)))
		check := func(name string, got, bound float64) {
			t.Helper()
			want, ok := x[name].(float64)
			if !ok {
				if !math.IsNaN(got) {
					t.Errorf("%v, %s: %v where there is none", x["name"], name, got)
				}
			} else if !near(got, want, tolerance) || bound != 0 {
				t.Errorf("%v, %s: %v, bound %v, want %v", x["name"], name, got, bound, want)
			}
			n++
		}
		for ci, curve := range []string{"ROC", "PR"} {
			for si, summation := range []string{"interpolation", "minoring", "majoring"} {
				for _, th := range []int{3, 11, 200} {
					got, bound := r.GridAUC(&rank.GridOptions{Thresholds: th, Curve: rank.Curve(ci), Summation: rank.Summation(si)})
					check(fmt.Sprintf("keras_%s_%s_%d", curve, summation, th), got, bound)
				}
			}
		}
		a, bound := r.AUROC()
		check("sklearn_roc_auc", a, bound)
		a, bound = r.AUPRC(rank.AveragePrecision)
		check("sklearn_average_precision", a, bound)
		a, bound = r.AUPRC(rank.Trapezoid)
		check("sklearn_auc_of_pr_curve", a, bound)
		a, bound = r.FPRAt(0.95)
		check("fpr95_rm", a, bound)

		// The same with two sets of scores.
		in, out := rank.NewScores(rank.MaxSoftmax), rank.NewScores(rank.MaxSoftmax)
		for i, s := range scores {
			to := in
			if labels[i] == 1 {
				to = out
			}
			to.AddBlock(&metrics.Block{Rows: 1, Classes: 2, Stats: &kernel.Stats{Top: []float64{1 - s}, Tail: []float64{s}}})
		}
		o, err := rank.NewOOD(in, out)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := x["ub_ood"].(map[string]any)
		for name, f := range map[string]func() (float64, float64){
			"auroc": o.AUROC, "fprn": func() (float64, float64) { return o.FPRAt(0.95) },
			"auprc": func() (float64, float64) { return o.AUPRCOut(rank.AveragePrecision) },
		} {
			if w, ok := want[name].(float64); ok {
				if got, bound := f(); !near(got, w, tolerance) || bound != 0 {
					t.Errorf("%v, out of distribution, %s: %v, bound %v, want %v", x["name"], name, got, bound, w)
				}
				n++
			}
		}
	}
	if n != 5*22+4*3 {
		t.Errorf("%d areas", n)
	}
}

func TestGoldenCalibrationAUCAndAbstention(t *testing.T) {
	var g ranking
	check.Golden(t, "../../testdata/golden", "ranking_rejection.json.gz", &g)
	n := 0
	for k, x := range g.Calibration {
		hit := make([]int32, len(x.True))
		for i := range hit {
			if x.True[i] == x.Pred[i] {
				hit[i] = 1
			}
		}
		r := rank.RankingOf(of(t, binary(x.Confidence, hit)))
		check := func(name any, got, want float64) {
			t.Helper()
			if !near(got, want, tolerance) {
				t.Errorf("case %d, %v: %v, want %v", k, name, got, want)
			}
			n++
		}
		pr := &rank.GridOptions{Curve: rank.CurvePR}
		a, _ := r.GridAUC(nil)
		check("ROC", a, x.ROC)
		a, _ = r.Turned().GridAUC(nil)
		check("ROC of errors", a, x.ROCErrors)
		a, _ = r.GridAUC(pr)
		check("PR", a, x.PR)
		a, _ = r.Turned().GridAUC(pr)
		check("PR of errors", a, x.PRErrors)
		a, _ = r.AUROC()
		check("exact", a, x.Exact)
		for _, c := range x.Abstain {
			b := rank.Budget{Fraction: c[1].(float64), Bins: int(c[2].(float64))}
			if most, ok := c[3].(float64); ok {
				b.Most = int64(most)
			}
			a, _ := r.AbstainPrecision(b)
			if c[0] == "abstain_recall" {
				a, _ = r.AbstainRecall(b)
			}
			check(c, a, c[4].(float64))
		}
		for _, c := range x.ExactAbstain {
			b := rank.Budget{Fraction: c[0]}
			a, bound := r.AbstainPrecision(b)
			if math.Floor(c[0]*float64(len(hit))) == 0 {
				if c[1] != 0 || !math.IsNaN(a) {
					t.Errorf("of no rows: %v", a)
				}
			} else if check(c, a, c[1]); bound != 0 {
				t.Error(bound)
			}
			a, _ = r.AbstainRecall(b)
			check(c, a, c[2])
		}
	}
	if n != 2*45+2*8-1 {
		t.Errorf("%d numbers", n)
	}
}

func TestGoldenOracleAUC(t *testing.T) {
	var g ranking
	check.Golden(t, "../../testdata/golden", "ranking_rejection.json.gz", &g)
	labels := make([]int32, len(g.OracleAUC.Labels))
	for i, y := range g.OracleAUC.Labels {
		labels[i] = int32(y)
	}
	r := rank.RankingOf(of(t, binary(g.OracleAUC.Probabilities, labels)))
	for _, c := range g.OracleAUC.Cases {
		o := rank.OracleOptions{Budget: rank.Budget{Fraction: c[0].(float64), Bins: int(c[3].(float64))}, Thresholds: int(c[2].(float64))}
		if c[1] == "PR" {
			o.Curve = rank.CurvePR
		}
		if c[4] != nil {
			o.Doubt = func(p float64) float64 { return math.Abs(p-0.5) * 2 }
		}
		if got, bound := r.OracleAUC(&o); !near(got, c[5].(float64), tolerance) || bound != 0 {
			t.Errorf("%v: %v, bound %v", c, got, bound)
		}
	}
	if len(g.OracleAUC.Cases) != 40 {
		t.Error(len(g.OracleAUC.Cases))
	}
}

// TestGoldenRetention compares with a reference whose sort is not stable for equal uncertainties. Rows receive confidences by
// their positions.
func TestGoldenRetention(t *testing.T) {
	var g ranking
	check.Golden(t, "../../testdata/golden", "ranking_rejection.json.gz", &g)
	for k, x := range g.Retention {
		n := len(x.Losses)
		score, right := make([]float64, n), make([]uint8, n)
		labels := make([]int32, n)
		for place, i := range x.Argsort {
			score[i] = 1 - float64(place+1)/float64(n+2)
		}
		tail := make([]float64, n)
		for i, a := range x.Accuracies {
			tail[i], right[i], labels[i] = 1-score[i], uint8(a), int32(a)
		}
		block := &metrics.Block{Rows: n, Classes: 2, Score: score, Right: right, Hit: right,
			Stats: &kernel.Stats{NLL: x.Losses, Top: score, Tail: tail}}
		loss, zero := metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.NLL})), metrics.Must(rank.NewRetention(nil))
		loss.AddBlock(block)
		zero.AddBlock(block)
		r := rank.RankingOf(of(t, binary(score, labels)))
		oracle := &rank.AreaOptions{Oracle: true}
		for name, v := range map[string]pairWant{
			"loss":                 {two(loss.Area(nil)), x.Loss},
			"loss, oracle":         {two(loss.Area(oracle)), x.LossOracle},
			"accuracy":             {two(r.RetentionAccuracy(nil)), x.Acc},
			"accuracy, oracle":     {two(r.RetentionAccuracy(oracle)), x.AccOracle},
			"accuracy by loss":     {two(zero.Area(nil)), 1 - x.Acc},
			"accuracy by loss too": {two(zero.Area(oracle)), 1 - x.AccOracle},
		} {
			if !near(v.got, v.want, tolerance) || v.bound != 0 {
				t.Errorf("case %d, %s: %v, bound %v, want %v", k, name, v.got, v.bound, v.want)
			}
		}
		for name, c := range map[string]struct {
			points []rank.Point
			want   []float64
		}{
			"loss": {loss.Curve(0, nil), x.LossCurve}, "loss, oracle": {loss.Curve(0, oracle), x.LossCurveOracle},
			"accuracy": {zero.Curve(0, nil), x.AccCurve}, "accuracy, oracle": {zero.Curve(0, oracle), x.AccCurveOracle},
		} {
			for i, p := range c.points {
				y := p.Y
				if strings.HasPrefix(name, "accuracy") {
					y = 1 - y
				}
				if w := c.want[len(c.want)-1-i]; !near(y, w, tolerance) {
					t.Errorf("case %d, %s, point %d: %v, want %v", k, name, i, y, w)
				}
			}
			if len(c.points) != n+1 {
				t.Errorf("%d points of %d rows", len(c.points), n)
			}
		}
	}
}

type pairWant struct {
	pair
	want float64
}

// TestGoldenMixedCurves compares with um's curves of in-distribution and out-of-distribution rows.
func TestGoldenMixedCurves(t *testing.T) {
	type curve struct {
		Input      string
		N          int `json:"num_thresholds"`
		Thresholds []float64
		Accuracies []float64
		Rejected   []float64 `json:"percents_rejected"`
		Best       []float64 `json:"theoretical_max"`
		Error      string
	}
	var g struct {
		Out        map[string][][]float64 `json:"out_probs"`
		Confidence []curve                `json:"confidence_vs_accuracy"`
		Rejection  []curve
	}
	check.Golden(t, "../../testdata/golden", "ood_curves.json.gz", &g)
	all := inputs(t)
	sets := func(name string) (*cells.Cells, *rank.Scores) {
		in, out := metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel})), rank.NewScores(rank.MaxSoftmax)
		unchecked(t, all[name].load(t), in)
		rows := g.Out[name]
		unchecked(t, classes(rows, make([]int32, len(rows))), out)
		return in, out
	}
	for _, c := range g.Confidence {
		in, out := sets(c.Input)
		even := make([]float64, c.N)
		for i := range even {
			even[i] = float64(i) * (0.99 / float64(c.N-1))
		}
		even[c.N-1] = 0.99
		points := rank.ConfidenceAccuracy(in, out, even)
		if len(points) != len(c.Thresholds) {
			t.Errorf("%s: %d points, want %d", c.Input, len(points), len(c.Thresholds))
			continue
		}
		for i, p := range points {
			if p.X != c.Thresholds[i] || !near(p.Y, c.Accuracies[i], tolerance) {
				t.Errorf("%s, %d: %v, want %v at %v", c.Input, c.N, p, c.Accuracies[i], c.Thresholds[i])
			}
		}
	}
	for _, c := range g.Rejection {
		in, out := sets(c.Input)
		points := rank.RejectionClassificationUM(in, out, c.N)
		if c.Error != "" {
			if len(points) != 1 {
				t.Errorf("%s: %d points where there is %q", c.Input, len(points), c.Error)
			}
			continue
		}
		if len(points) != len(c.Rejected) {
			t.Errorf("%s: %d points, want %d", c.Input, len(points), len(c.Rejected))
			continue
		}
		for i, p := range points {
			if p.Rejected != c.Rejected[i] || !near(p.Accuracy, c.Accuracies[i], tolerance) || !near(p.Best, c.Best[i], tolerance) {
				t.Errorf("%s, %d: %v, want %v, %v, %v", c.Input, c.N, p, c.Rejected[i], c.Accuracies[i], c.Best[i])
			}
		}
	}
	if len(g.Confidence) != 8 || len(g.Rejection) != 8 {
		t.Error("cases are missing")
	}
}
