package eval

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

const ranked = "calibration_auc,aurc(replicates=20),eaurc(replicates=20),augrc(replicates=20),oracle_accuracy(fraction=0.3),abstain_precision(fraction=0.3)," +
	"abstain_recall(fraction=0.3),retention_accuracy,retention_accuracy(oracle),retention_nll,retention_nll(trapezoid)"

// TestRanksByScore: the caller's scores put rows in order. Where they rise with the confidence nothing else changes, and turned round
// the most confident rows are the last.
func TestRanksByScore(t *testing.T) {
	for classes := 1; classes <= 3; classes++ {
		for _, weighted := range []bool{false, true} {
			p := predictions(uint64(classes), 300, classes, weighted)
			l := list(t, ranked+",auroc", classes)
			plain := fill(t, Spec{Classes: classes, Metrics: l, Seed: 1}, p)
			top := make([]float64, p.Rows)
			for i := range top {
				if classes == 1 {
					v := p.Scores.F64[i]
					top[i] = max(v, 1-v)
					continue
				}
				top[i] = slices.Max(p.Scores.F64[i*classes : (i+1)*classes])
			}
			scored := *p
			for i := range top {
				scored.ConfidenceScores = append(scored.ConfidenceScores, 1e6*(top[i]-0.75))
			}
			e := fill(t, Spec{Classes: classes, Metrics: l, Seed: 1, Scored: true}, &scored)
			for _, m := range l {
				a, b := plain.Value(m), e.Value(m)
				if m.Name == "auroc" {
					if !same(a, b) {
						t.Errorf("%d classes: %v: %+v, by scores %+v", classes, m, a, b)
					}
					continue
				}
				if !(math.Abs(a.Value-b.Value) < 1e-12) || !(math.Abs(a.Interval.Low-b.Interval.Low) < 1e-9) && !math.IsNaN(a.Interval.Low) {
					t.Errorf("%d classes: %v: %+v, by scores %+v", classes, m, a, b)
				}
				if !strings.HasSuffix(e.Text(m), "; in the order of the caller's confidence scores") {
					t.Errorf("%v: %s", m, e.Text(m))
				}
			}
			for i := range scored.ConfidenceScores {
				scored.ConfidenceScores[i] *= -1
			}
			turned := fill(t, Spec{Classes: classes, Metrics: l, Seed: 1, Scored: true}, &scored)
			if a, b := e.Value(l[0]).Value, turned.Value(l[0]).Value; !(math.Abs(a+b-1) < 1e-12) {
				t.Errorf("calibration_auc is %v, and turned round %v", a, b)
			}
			// By way of a state, in parts.
			if err := e.Merge(turned); err != nil {
				t.Fatal(err)
			}
			read := new(Evaluation)
			if err := read.UnmarshalBinary(state(t, e)); err != nil {
				t.Fatal(err)
			}
			for _, m := range l {
				if a, b := e.Value(m), read.Value(m); !same(a, b) {
					t.Errorf("%v: %+v, read %+v", m, a, b)
				}
			}
			if r, ok := e.Ranking(calib.TopLabel); !ok || r.RiskCoverage(0) == nil {
				t.Error("there is no order of the rows")
			}
		}
	}
}

// TestRanksByScoreAreScikitLearns: roc_auc_score of rightness and score; see testdata/oracle/make_ranks.py.
func TestRanksByScoreAreScikitLearns(t *testing.T) {
	f, err := os.Open("../../testdata/oracle/ranks.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Binary []struct {
			Counts, Weights []float64
			Labels          []int32
			Partial         [][2]float64
		}
	}
	if err := json.NewDecoder(z).Decode(&g); err != nil || len(g.Binary) != 10 {
		t.Fatal(len(g.Binary), err)
	}
	l := list(t, "calibration_auc", 1)
	for i, c := range g.Binary {
		p := &metrics.Predictions{Labels: c.Labels, Weights: c.Weights}
		p.Rows, p.Classes = len(c.Labels), 1
		for _, n := range c.Counts { // a row is right where its label is 1
			p.Scores.F64, p.ConfidenceScores = append(p.Scores.F64, 0.9), append(p.ConfidenceScores, n-700)
		}
		want := c.Partial[len(c.Partial)-1]
		if v := fill(t, Spec{Classes: 1, Metrics: l, Scored: true}, p).Value(l[0]); want[0] != 1 || !(math.Abs(v.Value-want[1]) < 4e-15) {
			t.Errorf("case %d: %+v, want %v", i, v, want[1])
		}
	}
}

// TestManyScores: beyond 262,144 distinct scores an area is within its bound of that of the rows.
func TestManyScores(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it sorts hundreds of thousands of scores")
	}
	r := rand.New(rand.NewPCG(3, 14))
	p := &metrics.Predictions{}
	p.Rows, p.Classes = 300_000, 1
	right, order := 0.0, make([]int, p.Rows)
	for i := range order {
		y := r.Int32N(2)
		p.Scores.F64, p.Labels, p.ConfidenceScores = append(p.Scores.F64, 0.9), append(p.Labels, y), append(p.ConfidenceScores, 100*r.NormFloat64()+float64(50*y))
		right += float64(y)
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if p.ConfidenceScores[i] < p.ConfidenceScores[j] {
			return -1
		}
		return 1
	})
	above, wrong := 0.0, 0.0
	for _, i := range order {
		if p.Labels[i] == 1 {
			above += wrong
		} else {
			wrong++
		}
	}
	want := above / right / wrong
	l := list(t, "calibration_auc", 1)
	v := fill(t, Spec{Classes: 1, Metrics: l, Scored: true}, p).Value(l[0])
	if !(v.Bound > 0 && v.Bound < 1e-3 && math.Abs(v.Value-want) <= v.Bound) {
		t.Errorf("%+v, want %v", v, want)
	}
}
