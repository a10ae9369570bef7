package eval

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

// taken is a task for Subtract: rows from its numbers on, and as many.
type taken struct {
	name string
	spec Spec
	rows func(seed uint64, n int) *metrics.Predictions
}

func takings(t testing.TB) (l []taken) {
	of := func(s Shape, set string) []Metric {
		m, err := ParseMetrics(set, s)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const more = ",balanced_accuracy,sce,ece(bins=7),ece(bins=9,closed=right),mce,brier(form=per_class),nll(clip=1e-3),spherical,topk_accuracy(k=2,ties=all),e_calibration,auroc(average=micro)"
	for _, weighted := range []bool{false, true} {
		for _, classes := range []int{1, 2, 3, 10} {
			s := Shape{Classes: classes}
			for _, set := range []string{"default", "default" + more} {
				l = append(l, taken{fmt.Sprintf("%d classes, %s, weights %v", classes, set, weighted), Spec{Classes: classes, Metrics: of(s, set)},
					func(seed uint64, n int) *metrics.Predictions { return testrows.Random(seed, n, classes, weighted) }})
			}
			l = append(l, taken{fmt.Sprintf("costs of %d classes, weights %v", classes, weighted), Spec{Classes: classes, Costs: costsOf(classes), Metrics: of(s, "decision_cost,constant_cost")},
				func(seed uint64, n int) *metrics.Predictions { return testrows.Random(seed, n, classes, weighted) }})
		}
		l = append(l, taken{fmt.Sprintf("regression, weights %v", weighted), Spec{Classes: 3, Kind: metrics.Normals, Metrics: of(Shape{Kind: metrics.Normals, Classes: 3}, "default,pit_p")},
			func(seed uint64, n int) *metrics.Predictions { return testrows.Normals(seed, n, weighted) }},
			taken{fmt.Sprintf("quantiles, weights %v", weighted), Spec{Classes: 5, Kind: metrics.Quantiles, Levels: five, Metrics: of(Shape{Kind: metrics.Quantiles, Classes: 5}, "default,pit_p")},
				func(seed uint64, n int) *metrics.Predictions { return quantilesOf(seed, n, 5, weighted) }},
			taken{fmt.Sprintf("samples, weights %v", weighted), Spec{Classes: 5, Kind: metrics.Samples, Metrics: of(Shape{Kind: metrics.Samples, Classes: 5}, "all")},
				func(seed uint64, n int) *metrics.Predictions {
					p := quantilesOf(seed, n, 5, weighted)
					p.Kind = metrics.Samples
					return p
				}},
			taken{fmt.Sprintf("stated vectors, weights %v", weighted), Spec{Classes: 8, Kind: metrics.MultivariateNormals, Dimensions: 2, Metrics: of(Shape{Kind: metrics.MultivariateNormals, Classes: 8}, "all")},
				func(seed uint64, n int) *metrics.Predictions {
					p := vectorsOf(seed, n, 3, 2, weighted)
					p.Kind = metrics.MultivariateNormals
					for at := 0; at < len(p.F64); at += 8 {
						copy(p.F64[at+2:at+6], []float64{2, 0.5, 0.5, 1})
						p.F64[at+6] *= float64(1 + 30*(seed%10-1)) // sums of others' squares are larger, by which alone rows are told apart
					}
					return p
				}},
			taken{fmt.Sprintf("vectors, weights %v", weighted), vectorSpec(t, 7, 2, everyVector), func(seed uint64, n int) *metrics.Predictions { return vectorsOf(seed, n, 7, 2, weighted) }})
	}
	return l
}

// TestSubtract: what is left has the bytes of the other rows alone, for every task, and for parts without rows.
func TestSubtract(t *testing.T) {
	kinds := map[string]bool{}
	for _, c := range takings(t) {
		for _, a := range fill(t, c.spec, nil).states() {
			kinds[fmt.Sprintf("%T", a.stored)] = true
		}
		for seed, n := range [][2]int{{60, 40}, {1, 1}, {200, 1}, {1, 200}, {0, 30}, {30, 0}, {0, 0}} {
			part := func(which uint64, n int) *Evaluation {
				if n == 0 {
					return fill(t, c.spec, nil)
				}
				return fill(t, c.spec, c.rows(uint64(10*seed)+which, n))
			}
			a, b := part(1, n[0]), part(2, n[1])
			all := part(1, n[0])
			if err := all.Merge(b); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			gone := state(t, b)
			if err := all.Subtract(b); err != nil {
				t.Errorf("%s, %v rows: %v", c.name, n, err)
				continue
			}
			if !bytes.Equal(state(t, all), state(t, a)) {
				t.Errorf("%s, %v rows: what is left is not the rest", c.name, n)
			}
			if !bytes.Equal(state(t, b), gone) {
				t.Errorf("%s, %v rows: what is taken out has changed", c.name, n)
			}
			if n[0] > 0 && n[1] > 1 {
				was := state(t, a)
				if err := a.Subtract(b); !errors.Is(err, metrics.ErrMissing) {
					t.Errorf("%s, %v rows: rows of others are taken out: %v", c.name, n, err)
				}
				if !bytes.Equal(state(t, a), was) {
					t.Errorf("%s, %v rows: an error changes the state", c.name, n)
				}
			}
		}
	}
	if got := strings.Join(slices.Sorted(maps.Keys(kinds)), " "); got != subtracted {
		t.Errorf("rows were taken out of %s,\nwant %s", got, subtracted)
	}
}

// subtracted are the accumulators that give up rows, beside those of ensembles.
const subtracted = "*binfree.EProcess *calib.Bins *calib.Chosen *calib.ClassBins *cells.Cells *rank.Entries *regress.Calibration *regress.Errors " +
	"*regress.Intervals *regress.Normal *regress.NormalVectors *regress.PIT *regress.Penalties *regress.Quantiles *regress.Ranks *regress.VectorRanks *regress.Vectors *regress.WeightedCRPS *score.Balanced *score.BaseRates *score.Clipped *score.DecisionCosts *score.Loss *score.Mean " +
	"*score.SampleCRPS *score.TopHits"

// TestSubtractMembers: the same for ensembles.
func TestSubtractMembers(t *testing.T) {
	const few = "accuracy,ece(bins=4),mutual_information,total_uncertainty,gibbs_nll,ensemble_nll,disagreement(normalised),double_fault(conditional),average_kl," +
		"average_kl(all_pairs,clip,generalized),logit_kl,cosine_similarity,lp_distance(p=2),bregman_kl_variance,variance_bound,spherical,brier_skill"
	for _, c := range []struct{ classes, members int }{{1, 2}, {2, 3}, {3, 5}} {
		for _, weighted := range []bool{false, true} {
			s := Spec{Classes: c.classes, Members: c.members}
			s.Metrics = listOf(t, few, s.Shape())
			part := func(seed uint64) *Evaluation {
				e := fill(t, s, nil)
				if err := e.AddMembers(ensemble.InMemory(team(seed, 40, c.classes, c.members, weighted)), nil); err != nil {
					t.Fatal(err)
				}
				return e
			}
			a, b := part(1), part(2)
			want := state(t, a)
			if err := errors.Join(a.Merge(b), a.Subtract(b)); err != nil || !bytes.Equal(state(t, a), want) {
				t.Errorf("%+v, weights %v: what is left is not the rest: %v", c, weighted, err)
			}
		}
	}
}

// TestSubtractGrid: scores that have been moved to a grid stay on it, and what was merged can be restored.
func TestSubtractGrid(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		n := 300_000
		if weighted {
			n = 40_000
		}
		s := Spec{Classes: 1}
		a, b := fill(t, s, testrows.Random(1, n, 1, weighted)), fill(t, s, testrows.Random(2, 1000, 1, weighted))
		if !a.OnGrid() || b.OnGrid() {
			t.Fatal("on a grid: ", a.OnGrid(), b.OnGrid())
		}
		big, small := state(t, a), state(t, b)
		if err := a.Merge(b); err != nil {
			t.Fatal(err)
		}
		merged := state(t, a)
		if err := a.Subtract(b); err != nil || !bytes.Equal(state(t, a), big) {
			t.Errorf("weights %v: the part that is on a grid is not left: %v", weighted, err)
		}
		if err := a.Merge(b); err != nil {
			t.Fatal(err)
		}
		if err := a.Subtract(fill(t, s, testrows.Random(1, n, 1, weighted))); err != nil {
			t.Fatalf("weights %v: %v", weighted, err)
		}
		if !a.OnGrid() || a.Audit.Rows != 1000 || bytes.Equal(state(t, a), small) {
			t.Errorf("weights %v: the small part is not left on a grid", weighted)
		}
		again := new(Evaluation)
		if err := again.UnmarshalBinary(state(t, a)); err != nil {
			t.Errorf("weights %v: %v", weighted, err)
		}
		if err := a.Merge(fill(t, s, testrows.Random(1, n, 1, weighted))); err != nil || !bytes.Equal(state(t, a), merged) {
			t.Errorf("weights %v: all is not restored: %v", weighted, err)
		}
		if err := b.Subtract(a); !errors.Is(err, metrics.ErrMissing) {
			t.Errorf("weights %v: a grid out of cells: %v", weighted, err)
		}
	}
}

// TestSubtractAudit: counts are exact, and extremes are known as long as they can be.
func TestSubtractAudit(t *testing.T) {
	off := func(sum float64, n int) *metrics.Predictions {
		p := &metrics.Predictions{}
		p.Rows, p.Classes = n, 3
		for range n {
			p.F32 = append(p.F32, 0.5, 0.25, float32(sum-0.75))
			p.Labels = append(p.Labels, 0)
		}
		return p
	}
	s := Spec{Classes: 3}
	for _, c := range []struct {
		a, b    float64
		unknown bool
	}{{1, 1, false}, {1, 1.0001, false}, {1.0001, 1, false}, {1.0001, 1.0002, true}} {
		a, b := fill(t, s, off(c.a, 3)), fill(t, s, off(c.b, 2))
		want := a.Audit
		if err := errors.Join(a.Merge(b), a.Subtract(b)); err != nil {
			t.Fatal(err)
		}
		if c.unknown != math.IsNaN(a.Audit.SumMin) || c.unknown != math.IsNaN(a.Audit.SumMax) || !c.unknown && a.Audit != want {
			t.Errorf("%v and %v: %+v, want %+v", c.a, c.b, a.Audit, want)
		}
		said := slices.ContainsFunc(a.Audit.Warnings(), func(w string) bool { return strings.Contains(w, "not known how far off") })
		if said != c.unknown {
			t.Errorf("%v and %v: %q", c.a, c.b, a.Audit.Warnings())
		}
		if again := new(Evaluation); again.UnmarshalBinary(state(t, a)) != nil {
			t.Errorf("%v and %v: the state cannot be read", c.a, c.b)
		}
	}
}

// TestSubtractRefuses: metrics that keep more than sums are named, and unlike states are as for a merge.
func TestSubtractRefuses(t *testing.T) {
	p := predictions(1, 50, 3, false)
	s := Spec{Classes: 3, Metrics: list(t, "accuracy,ace,ece,retention_nll", 3)}
	e := fill(t, s, p)
	if err := e.Subtract(fill(t, s, p)); !errors.Is(err, ErrKept) || !strings.HasSuffix(err.Error(), ": ace, retention_nll") {
		t.Error(err)
	}
	if err := fill(t, Spec{Classes: 3}, p).Subtract(fill(t, s, p)); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
	if err := fill(t, Spec{Classes: 3}, p).Subtract(fill(t, Spec{Classes: 3}, predictions(1, 50, 3, true))); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
	if err := fill(t, Spec{Classes: 3}, nil).Subtract(fill(t, Spec{Classes: 3}, p)); !errors.Is(err, metrics.ErrMissing) {
		t.Error(err)
	}
}
