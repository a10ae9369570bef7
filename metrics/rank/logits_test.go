package rank_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// TestFarLogits checks that logits with the same float64 probability are ranked by the logits, in every accumulator that ranks
// rows.
func TestFarLogits(t *testing.T) {
	rows := func(labels []int32, z ...float64) *metrics.Predictions {
		p := &metrics.Predictions{Labels: labels}
		p.Rows, p.Classes, p.Kind, p.F64 = len(z), 1, metrics.Logits, z
		return p
	}
	p := rows([]int32{0, 1}, 62.5, 63.5)
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
	add(t, p, c)
	if auc, bound := rank.RankingOf(c).AUROC(); auc != 1 || bound != 0 {
		t.Errorf("AUROC is %v, bound %v, want 1", auc, bound)
	}
	top := metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel}))
	add(t, p, top)
	// The more confident row is right: risks of 0 and 1/2.
	if aurc, _ := rank.RankingOf(top).AURC(); aurc != 0.25 {
		t.Errorf("AURC is %v, want 0.25", aurc)
	}
	ret := metrics.Must(rank.NewRetention(nil))
	add(t, p, ret)
	if got, _ := ret.Area(nil); math.Abs(got-0.5/3) > 1e-15 {
		t.Errorf("the area of retention is %v, want a sixth", got)
	}
	for _, d := range []rank.Detector{rank.MaxSoftmax, rank.Entropy} {
		in, out := rank.NewScores(d), rank.NewScores(d)
		add(t, rows([]int32{0, 0}, 800, -900), in)
		add(t, rows([]int32{0, 0}, 790, -700), out)
		o, err := rank.NewOOD(in, out)
		if err != nil {
			t.Fatal(err)
		}
		if auc, _ := o.AUROC(); auc != 1 {
			t.Errorf("%v: AUROC is %v, want 1", d, auc)
		}
		probs := rows([]int32{0}, 0.5)
		probs.Kind = metrics.Probs
		other := rank.NewScores(d)
		add(t, probs, other)
		if _, err := rank.NewOOD(in, other); err == nil {
			t.Errorf("%v: a logit and a probability are compared", d)
		}
		if err := in.Merge(other); err == nil {
			t.Errorf("%v: a logit and a probability are merged", d)
		}
	}
}

// TestScaledLogits checks that scaling by a power of two changes no rank.
func TestScaledLogits(t *testing.T) {
	r := rand.New(rand.NewPCG(62, 4))
	p := &metrics.Predictions{Labels: make([]int32, 500)}
	p.Rows, p.Classes, p.Kind = 500, 1, metrics.Logits
	for i := range p.Labels {
		p.F32 = append(p.F32, float32(r.NormFloat64()*math.Exp2(float64(r.IntN(40)-30))))
		p.Labels[i] = int32(r.IntN(2))
	}
	answers := func(by float32) (l []float64) {
		q := *p
		q.F32 = slices.Clone(p.F32)
		for i := range q.F32 {
			q.F32[i] *= by
		}
		positive, top, ret := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive})), metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel})), metrics.Must(rank.NewRetention(nil))
		add(t, &q, positive)
		add(t, &q, top)
		add(t, &q, ret)
		a, _ := rank.RankingOf(positive).AUROC()
		pr, _ := rank.RankingOf(positive).AUPRC(0)
		b, _ := rank.RankingOf(top).AURC()
		c, _ := rank.RankingOf(top).AUGRC()
		d, _ := rank.RankingOf(positive.TopLabel()).AURC()
		e, _ := ret.Area(nil)
		if b != d {
			t.Errorf("AURC is %v, and %v of the positive class turned", b, d)
		}
		return []float64{a, pr, b, c, e}
	}
	want := answers(1)
	for _, by := range []float32{0x1p-40, 0x1p-10, 0x1p10, 0x1p60} {
		if got := answers(by); !slices.Equal(got, want) {
			t.Errorf("times %v: %v, want %v", by, got, want)
		}
	}
}
