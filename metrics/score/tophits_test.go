package score_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

var tieRules = []score.TieRule{score.FirstOfTies, score.LastOfTies, score.AllOfTies}

func topHits(t *testing.T, p *metrics.Predictions, k int, r score.TieRule) float64 {
	t.Helper()
	a := metrics.Must(score.NewTopHits(k, r))
	if err := metrics.NewPass(nil, a).Add(p); err != nil {
		t.Fatal(err)
	}
	if i := a.Interval(0.95); !(i.Low <= a.Value() && a.Value() <= i.High) {
		t.Errorf("%v is not within %v", a.Value(), i)
	}
	return a.Value()
}

// TestTopHitsAreScikitLearns checks that LastOfTies gives top_k_accuracy_score; see testdata/oracle/make_ranks.py.
func TestTopHitsAreScikitLearns(t *testing.T) {
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
		Classes []struct {
			Classes              int
			Counts, Weights, Top []float64
			Labels               []int32
		}
	}
	if err := json.NewDecoder(z).Decode(&g); err != nil || len(g.Classes) != 10 {
		t.Fatal(len(g.Classes), err)
	}
	differ := 0
	for i, c := range g.Classes {
		p := &metrics.Predictions{Labels: c.Labels, Weights: c.Weights}
		p.Rows, p.Classes = len(c.Labels), c.Classes
		for _, n := range c.Counts {
			p.F32 = append(p.F32, float32(n/1024))
		}
		for k, want := range c.Top {
			if got := topHits(t, p, k+1, score.LastOfTies); !(math.Abs(got-want) < 1e-15) {
				t.Errorf("case %d: top %d is %v, want %v", i, k+1, got, want)
			}
			first, all := topHits(t, p, k+1, score.FirstOfTies), topHits(t, p, k+1, score.AllOfTies)
			l := metrics.Must(score.NewLoss(&score.Options{TopK: k + 1}))
			if err := metrics.NewPass(nil, l).Add(p); err != nil {
				t.Fatal(err)
			}
			if first != l.TopK(k+1) || all < max(first, want-1e-15) {
				t.Errorf("case %d: top %d: %v of the first, %v of all, %v of the loss", i, k+1, first, all, l.TopK(k+1))
			}
			if first != want {
				differ++
			}
		}
	}
	if differ < 20 {
		t.Errorf("the rules differ in %d places only", differ)
	}
}

// TestTopHitsByHand checks the in_top_k example of TensorFlow's documentation with all rules, different logits with equal
// probabilities, and 1/2 for two classes.
func TestTopHitsByHand(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 3}}
	p.Rows, p.Classes, p.Kind, p.F32 = 3, 4, metrics.Logits, []float32{1.2, -0.3, 2.8, 5.2, 0.1, 0, 0, 0, 0, 0.5, 0.3, 0.3}
	for i, want := range []float64{1.0 / 3, 1.0 / 3, 2.0 / 3} { // row 1 is a hit with FirstOfTies, row 2 with LastOfTies
		if got := topHits(t, p, 2, tieRules[i]); got != want {
			t.Errorf("rule %d: %v, want %v", i, got, want)
		}
	}
	far := &metrics.Predictions{Labels: []int32{2}} // its probability is 0, like that of class 1
	far.Rows, far.Classes, far.Kind, far.F64 = 1, 3, metrics.Logits, []float64{0, -2000, -1000}
	for _, r := range tieRules {
		if got := topHits(t, far, 2, r); got != 1 {
			t.Errorf("rule %d: logits that differ: %v", r, got)
		}
	}
	for _, c := range []struct {
		kind  metrics.Kind
		score float64
		label int32
		want  [3]float64
	}{{metrics.Probs, 0.5, 0, [3]float64{1, 0, 1}}, {metrics.Probs, 0.5, 1, [3]float64{0, 1, 1}}, {metrics.Logits, 0, 1, [3]float64{0, 1, 1}},
		{metrics.Logits, 1e-300, 1, [3]float64{1, 1, 1}}, {metrics.Logits, 1e-300, 0, [3]float64{0, 0, 0}}, {metrics.Probs, 0.6, 1, [3]float64{1, 1, 1}}, {metrics.Probs, 0.6, 0, [3]float64{}}} {
		one := &metrics.Predictions{Labels: []int32{c.label}}
		one.Rows, one.Classes, one.Kind, one.F64 = 1, 1, c.kind, []float64{c.score}
		for i, r := range tieRules {
			if got := topHits(t, one, 1, r); got != c.want[i] {
				t.Errorf("%v %v, label %d, rule %d: %v, want %v", c.kind, c.score, c.label, i, got, c.want[i])
			}
		}
	}
}

// TestTopHitsState checks that parts and states give the same bytes, and that states that no rows can produce are rejected.
func TestTopHitsState(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for _, weighted := range []bool{false, true} {
		p := &metrics.Predictions{}
		p.Rows, p.Classes = 90, 5
		for range p.Rows {
			row := []float64{0, 0, 0, 0, 0}
			for range 8 {
				row[r.IntN(5)] += 0.125
			}
			p.F64, p.Labels = append(p.F64, row...), append(p.Labels, r.Int32N(5))
			if weighted {
				p.Weights = append(p.Weights, 0.1+r.Float64())
			}
		}
		for _, rule := range tieRules {
			whole, sum := metrics.Must(score.NewTopHits(2, rule)), metrics.Must(score.NewTopHits(2, rule))
			if err := metrics.NewPass(nil, whole).Add(p); err != nil {
				t.Fatal(err)
			}
			for at := 60; at >= 0; at -= 30 {
				part := &metrics.Predictions{Labels: p.Labels[at : at+30]}
				if part.Rows, part.Classes, part.F64 = 30, 5, p.F64[5*at:5*(at+30)]; weighted {
					part.Weights = p.Weights[at : at+30]
				}
				a, b := metrics.Must(score.NewTopHits(2, rule)), new(score.TopHits)
				if err := metrics.NewPass(nil, a).Add(part); err != nil {
					t.Fatal(err)
				}
				bytes, _ := a.AppendBinary(nil)
				if err := b.UnmarshalBinary(bytes); err != nil {
					t.Fatal(err)
				}
				if err := sum.Merge(b); err != nil {
					t.Fatal(err)
				}
			}
			a, _ := whole.AppendBinary(nil)
			if b, _ := sum.AppendBinary(nil); !slices.Equal(a, b) || whole.Value() != sum.Value() || sum.Len() != 90 {
				t.Errorf("parts make %v, all rows %v", sum.Value(), whole.Value())
			}
			for i := range a {
				c := slices.Clone(a)
				if c[i] ^= 1; new(score.TopHits).UnmarshalBinary(c) == nil {
					t.Fatalf("byte %d has no say", i)
				}
			}
			for _, o := range []metrics.Accumulator{metrics.Must(score.NewTopHits(3, rule)), metrics.Must(score.NewTopHits(2, (rule+1)%3)), metrics.Must(score.NewLoss(nil))} {
				if whole.Merge(o) == nil {
					t.Errorf("it merges with %s", fmt.Sprint(o))
				}
			}
		}
	}
	if v := metrics.Must(score.NewTopHits(1, score.AllOfTies)).Value(); !math.IsNaN(v) {
		t.Errorf("without rows it is %v", v)
	}
}
