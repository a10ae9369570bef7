package eval

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// exactNames returns all metrics that take the option, with it, as far as they apply.
func exactNames(classes int) string {
	var l []string
	for i := range table {
		if d := table[i].In(Shape{Classes: classes}); d.own.index(exactly.name) >= 0 && d.applies(Shape{Classes: classes}) && d.Name != "spce" {
			l = append(l, d.Name+"(exact)")
		}
	}
	return strings.Join(l, ",")
}

// TestExactIsTheSame: while distinct scores are few, what is answered from every row is what is answered from cells, to the bit, with its
// interval, and the rows are those of all parts.
func TestExactIsTheSame(t *testing.T) {
	for classes := 1; classes <= 3; classes++ {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits} {
			p := predictions(uint64(20+classes), 400, classes, false)
			if p.Kind = kind; kind == metrics.Logits {
				for i, v := range p.Scores.F64 {
					p.Scores.F64[i] = 30 * (v - 0.5)
				}
			}
			l := list(t, exactNames(classes), classes)
			if len(l) < 20 {
				t.Fatalf("%v", l)
			}
			var plain []Metric
			for _, m := range l {
				plain = append(plain, choices{exactly}.without(m))
			}
			a, b := fill(t, Spec{Classes: classes, Metrics: l, Seed: 3}, p), fill(t, Spec{Classes: classes, Metrics: plain, Seed: 3}, p)
			for i, m := range l {
				x, y := a.Value(m), b.Value(plain[i])
				if !same(x, y) {
					t.Errorf("%d classes, %v: %v is %+v, and %+v of cells", classes, kind, m, x, y)
				}
				if got := a.Text(m); got != b.Text(plain[i])+"; every row kept" {
					t.Errorf("%v: %s", m, got)
				}
			}
			// Parts are merged, and rows that are added later change the answers.
			if err := a.Merge(fill(t, Spec{Classes: classes, Metrics: l, Seed: 3}, p)); err != nil {
				t.Fatal(err)
			}
			if err := b.Merge(fill(t, Spec{Classes: classes, Metrics: plain, Seed: 3}, p)); err != nil {
				t.Fatal(err)
			}
			for i, m := range l {
				if x, y := a.Value(m), b.Value(plain[i]); !same(x, y) {
					t.Errorf("twice, %d classes: %v is %+v, and %+v of cells", classes, m, x, y)
				}
			}
		}
	}
}

// TestExactMany: beyond the distinct scores that cells keep, it is exact, and cells are not.
func TestExactMany(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it sorts hundreds of thousands of scores")
	}
	r := rand.New(rand.NewPCG(5, 5))
	p := &metrics.Predictions{}
	p.Rows, p.Classes = cells.MaxExact+cells.MaxExact/4, 1
	for range p.Rows {
		v := r.Float64()
		y := int32(0)
		if r.Float64() < v {
			y = 1
		}
		p.Scores.F64, p.Labels = append(p.Scores.F64, v), append(p.Labels, y)
	}
	sorted, err := cells.Sort(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	area, _ := rank.RankingOf(sorted).AUROC()
	ks, _ := binfree.PartialSumsOf(sorted).KS()
	mcb, _ := metrics.Must(binfree.CORPOf(sorted, nil)).MCB()
	l := list(t, "auroc(exact),ks(exact),corp_mcb(exact,replicates=20),auroc,ks", 1)
	e := fill(t, Spec{Classes: 1, Metrics: l}, p)
	for i, want := range []float64{area, ks, mcb} {
		if v := e.Value(l[i]); v.Value != want || v.Bound != 0 {
			t.Errorf("%v is %+v, want %v", l[i], v, want)
		}
	}
	for i, m := range l[3:] {
		if v := e.Value(m); !(v.Bound > 0) || !(math.Abs(v.Value-e.Value(l[i]).Value) <= v.Bound) {
			t.Errorf("%v is %+v", m, v)
		}
	}
}

// TestExactRefusals: rows have no state, and too many of them are an error that says so.
func TestExactRefusals(t *testing.T) {
	p := predictions(2, 100, 3, false)
	l := list(t, "calibration_auc(exact),ks,aurc(exact)", 3)
	e := fill(t, Spec{Classes: 3, Metrics: l}, p)
	if names := e.Spec.KeepsRows(); names != "calibration_auc(exact), aurc(exact)" {
		t.Error(names)
	}
	if _, err := e.AppendBinary(nil); err == nil || !strings.Contains(err.Error(), "are in no state: leave exact out") || e.SHA256() != "" {
		t.Errorf("%v, %q", err, e.SHA256())
	}
	few, err := New(Spec{Classes: 3, Metrics: l, Memory: 9*100 - 1})
	if err != nil {
		t.Fatal(err)
	}
	few.Remedy = func(n int64) string { return "give " + strings.Repeat("x", int(n/900)) }
	var room *RoomError
	if err := few.AddSource(&source{p: p}, nil); !errors.As(err, &room) || !strings.Contains(err.Error(), "100 rows take 900 bytes and there is room for 899: give x, or leave exact out") || few.Audit.Rows != 0 {
		t.Errorf("%v, %d rows", err, few.Audit.Rows)
	}
	if err := few.CheckRows(99); err != nil {
		t.Error(err)
	}
	for _, s := range []string{"auroc(exact,average=macro)", "ece(exact)", "ece_sweep(exact)", "ks(exact=2)", "calibration_auc(bins=3)"} {
		if _, err := ParseMetric(s); err == nil {
			t.Errorf("%s is no error", s)
		}
	}
	// Weights and the caller's scores: it says why not.
	w := predictions(2, 100, 3, true)
	if v := fill(t, Spec{Classes: 3, Metrics: l}, w).Value(l[0]); !math.IsNaN(v.Value) || v.Reason != "exact keeps rows without weights: leave exact out" {
		t.Errorf("%+v", v)
	}
	p.ConfidenceScores = slices.Repeat([]float64{1}, p.Rows)
	if v := fill(t, Spec{Classes: 3, Metrics: l, Scored: true}, p).Value(l[0]); !math.IsNaN(v.Value) || !strings.Contains(v.Reason, "leave exact out") {
		t.Errorf("%+v", v)
	}
}
