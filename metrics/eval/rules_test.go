package eval

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
	"github.com/candor-go/candor/metrics/regress"
)

// TestRules: what systems differ in and is no option stands in a metric's text and fields, and is what the metric does.
func TestRules(t *testing.T) {
	holds := func(e *Evaluation, metric, text string, f Field) {
		t.Helper()
		m := listOf(t, metric, e.Spec.Shape())[0]
		if got := e.Text(m); !strings.Contains(got, text) {
			t.Errorf("%s: the text %q does not say %q", metric, got, text)
		}
		if got := e.Fields(m); !slices.Contains(got, f) {
			t.Errorf("%s: the fields %v have no %v", metric, got, f)
		}
	}
	near := func(e *Evaluation, metric string, want float64) {
		t.Helper()
		if v := e.Value(listOf(t, metric, e.Spec.Shape())[0]).Value; math.Abs(v-want) > 1e-14 {
			t.Errorf("%s is %v, by its rule %v", metric, v, want)
		}
	}

	// One row that sums to 1 and to 4/5: (0.5, 0.5) and (0.2, 0.6), which is (1/4, 3/4).
	s := Spec{Classes: 2, Members: 2}
	s.Metrics = listOf(t, "bregman_kl_variance", s.Shape())
	e := fill(t, s, nil)
	m := &metrics.Members{Labels: []int32{0}}
	for _, p := range [][]float64{{0.5, 0.5}, {0.2, 0.6}} {
		m.Each = append(m.Each, metrics.Scores{F64: p, Rows: 1, Classes: 2})
	}
	if err := e.AddMembers(ensemble.InMemory(m), &metrics.Options{Unchecked: true}); err != nil {
		t.Fatal(err)
	}
	a, b := math.Sqrt(0.5*0.25), math.Sqrt(0.5*0.75)
	near(e, "bregman_kl_variance", -math.Log(a+b))
	holds(e, "bregman_kl_variance", "p_m/sum_k p_m", Field{"rows", "divided by their sums"})

	// Of four rows in two bins the second would begin between the two of one standard deviation: it gets both of them.
	ties := metrics.Must(regress.NormalPredictions([]float64{1, 2, 3, 9}, make([]float64, 4), []float64{1, 2, 2, 4}))
	s = Spec{Classes: ties.Classes, Kind: metrics.Normals}
	s.Metrics = listOf(t, "ence(bins=2),uce(bins=2)", s.Shape())
	e = fill(t, s, ties)
	mv, mse := (4.0+4+16)/3, (4.0+9+81)/3
	near(e, "ence(bins=2)", math.Abs(math.Sqrt(mv)-math.Sqrt(mse))/math.Sqrt(mv)/2)
	near(e, "uce(bins=2)", 0.75*math.Abs(mv-mse))
	holds(e, "ence", "equal sds in one bin, the higher", tiesTogether)
	holds(e, "uce", "equal sds in one bin, the higher", tiesTogether)

	// The same of scores.
	p := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.125, 0.25, 0.25, 0.75}, Rows: 4, Classes: 1}, Labels: []int32{1, 0, 1, 1}}
	e = fill(t, Spec{Classes: 1, Metrics: list(t, "ece_equal_mass(bins=2),ece(adaptive),ace", 1)}, p)
	near(e, "ece_equal_mass(bins=2)", (0.875+math.Abs(1.25-2))/4)
	for _, name := range []string{"ece_equal_mass(bins=2)", "ece(adaptive)", "ace"} {
		holds(e, name, "begins with all rows of the score of rank", tiesTogether)
	}
}
