package eval

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
)

// leanLists are metrics that need no scores, of one or two classes and of more.
func leanLists(classes int) []string {
	l := []string{"ece", "accuracy", "brier", "nll", "entropy", "accuracy,nll,brier,ece", "ece(bins=7,closed=right),mce", "nll_infinite_rows,perplexity", "topk_accuracy(k=2)",
		"balanced_accuracy", "sce", "nll(clip=1e-3)", "brier_skill", "spherical"}
	if classes <= 2 {
		l = append(l, "bias,base_rate,mean_p,oe_ratio", "ece_positive,ece_top_label")
	}
	return l
}

// TestLean: what is not kept changes no answer, and what the judgement says of all rows.
func TestLean(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		for _, classes := range []int{1, 2, 3, 10} {
			rows := testrows.Random(uint64(classes), 500, classes, weighted)
			for _, names := range leanLists(classes) {
				t.Run(fmt.Sprintf("%d classes, weights %v, %s", classes, weighted, names), func(t *testing.T) {
					s := Spec{Classes: classes, Metrics: list(t, names, classes)}
					all := fill(t, s, rows)
					s.Lean = true
					e := fill(t, s, rows)
					if !e.Spec.Lean {
						t.Fatal("it is not lean")
					}
					for _, m := range s.Metrics {
						// Cells keep squares of scores exactly, bins to 51 binary digits.
						a, b := all.Value(m), e.Value(m)
						near := func(a, b float64) bool {
							return a == b || a != a && b != b || math.Abs(a-b) < 1e-13*(math.Abs(a)+1e-100)
						}
						if !near(a.Value, b.Value) || !near(a.Interval.Low, b.Interval.Low) || !near(a.Interval.High, b.Interval.High) || !near(a.Chance.Floor, b.Chance.Floor) ||
							math.Abs(a.Chance.P-b.Chance.P) > 1e-10*a.Chance.P || a.Reason != b.Reason || a.Method != b.Method || a.Bound != b.Bound || a.Count != b.Count || a.Note != b.Note {
							t.Errorf("%v is %v, and with all kept %v", m, b, a)
						}
						if a, b := all.Text(m), e.Text(m); a != b {
							t.Errorf("%v is described as %q, and with all kept as %q", m, b, a)
						}
					}
					a, b := all.Judge(), e.Judge()
					if fmt.Sprint(a.Says, a.Happens, a.Gap) != fmt.Sprint(b.Says, b.Happens, b.Gap) || math.Abs(a.Z-b.Z) > .02*(1+math.Abs(a.Z)) {
						t.Errorf("the judgement is %+v, and with all kept %+v", b, a)
					}
					lost := e.Spec.LeftOut()
					if len(lost) == 0 || lost[0] != "scores" || all.Spec.LeftOut() != nil {
						t.Errorf("left out are %q, and with all kept %q", lost, all.Spec.LeftOut())
					}
					for part, v := range map[string]float64{"accuracy": e.Loss.Accuracy(), "nll": e.Loss.NLL(), "brier": e.Loss.Brier(0), "entropy": e.Loss.Entropy()} {
						if slices.Contains(lost, part) != math.IsNaN(v) {
							t.Errorf("left out are %q, and %s is %v", lost, part, v)
						}
					}
					read := new(Evaluation)
					if err := read.UnmarshalBinary(state(t, e)); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(state(t, read), state(t, e)) || !slices.Equal(read.Spec.LeftOut(), lost) {
						t.Error("its state is read as another one")
					}
					var lean *LeanError
					if err := read.Merge(all); !errors.As(err, &lean) || !errors.Is(err, metrics.ErrMismatch) || !slices.Equal(lean.LeftOut, lost) {
						t.Errorf("merged with one that keeps all: %v", err)
					}
				})
			}
		}
	}
}

// TestLeanWhere: metrics that need scores, and evaluations of several parts, keep all.
func TestLeanWhere(t *testing.T) {
	of := func(names string, change func(s *Spec)) Spec {
		s := Spec{Classes: 1, Lean: true, Metrics: list(t, names, 1)}
		change(&s)
		return s
	}
	none := func(*Spec) {}
	for _, s := range []Spec{of("auroc", none), of("ece,ks", none), of("ece(adaptive)", none), of("smooth_ece", none), of("ece", func(s *Spec) { s.Out = true }),
		of("ece", func(s *Spec) { s.Members = 2 }), of("ece", func(s *Spec) { s.Labels = 2 }), of("ece", func(s *Spec) { s.Cluster = "ward" }),
		of("default", none)} {
		e, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		if e.Spec.Lean || e.Spec.LeftOut() != nil {
			t.Errorf("%v leaves out %q", s.Metrics, e.Spec.LeftOut())
		}
	}
}

// TestLeanLogits: probabilities that are taken for logits are noticed by their bins.
func TestLeanLogits(t *testing.T) {
	for _, classes := range []int{1, 10} {
		for _, most := range []float64{1, 8} {
			p := testrows.Random(3, 200, classes, false)
			p.Kind = metrics.Logits
			for i := range p.Scores.F32 {
				p.Scores.F32[i] *= float32(most)
			}
			for i := range p.Scores.F64 {
				p.Scores.F64[i] *= most
			}
			s := Spec{Classes: classes, Kind: metrics.Logits, Metrics: list(t, "ece", classes)}
			_, want := fill(t, s, p).ProbableLogits()
			s.Lean = true
			end, got := fill(t, s, p).ProbableLogits()
			if got != want || want != (most == 1) {
				t.Errorf("%d classes, largest %v: %v, and with all kept %v", classes, most, got, want)
			}
			if got && !(end >= math.E/(math.E+float64(max(2, classes)-1)) && end < .8) {
				t.Errorf("%d classes: the bins end at %v", classes, end)
			}
		}
	}
}

// TestNarrow: some of the metrics have the state of an evaluation of these alone.
func TestNarrow(t *testing.T) {
	for _, classes := range []int{1, 3, 10} {
		rows := testrows.Random(uint64(classes), 300, classes, false)
		for _, lean := range []bool{false, true} {
			many := "accuracy,nll,brier,entropy,ece,ece(bins=7,closed=right),sce,balanced_accuracy,topk_accuracy(k=7)"
			if !lean {
				many += ",ks,calibration_auc"
			}
			all := list(t, many, classes)
			for _, few := range append(leanLists(3), "ks", "calibration_auc,ece") {
				some := Common(all, list(t, few, classes))
				if len(some) == 0 {
					continue
				}
				e, err := fill(t, Spec{Classes: classes, Metrics: all, Lean: lean}, rows).Narrow(some)
				if err != nil {
					t.Fatalf("%d classes, lean %v, %s: %v", classes, lean, few, err)
				}
				if want := fill(t, Spec{Classes: classes, Metrics: some, Lean: lean}, rows); !bytes.Equal(state(t, e), state(t, want)) {
					t.Errorf("%d classes, lean %v, %s: another state", classes, lean, few)
				}
				if v := e.Value(some[0]); math.IsNaN(v.Value) {
					t.Errorf("%v: %+v", some[0], v)
				}
			}
		}
		e := fill(t, Spec{Classes: classes, Metrics: list(t, "ece", classes)}, rows)
		if _, err := e.Narrow(list(t, "spherical", classes)); err == nil || !strings.Contains(err.Error(), "lacks") {
			t.Errorf("a metric that is not there: %v", err)
		}
	}
	a, b := list(t, "nll,ece,accuracy,ece(bins=7)", 3), list(t, "ece(bins=7),accuracy,brier,ece", 3)
	if x, y := fmt.Sprint(Common(a, b)), fmt.Sprint(Common(b, a)); x != y || x != "[accuracy ece ece(bins=7)]" {
		t.Errorf("in common are %s and %s", x, y)
	}
}
