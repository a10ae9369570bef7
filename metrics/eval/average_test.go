package eval

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/rank"
)

// TestTopKTies: top-k accuracy by each rule for equal scores, here and after a merge by way of a state.
func TestTopKTies(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 3}}
	p.Rows, p.Classes, p.Kind, p.F32 = 3, 4, metrics.Logits, []float32{1.2, -0.3, 2.8, 5.2, 0.1, 0, 0, 0, 0, 0.5, 0.3, 0.3}
	all := list(t, "topk_accuracy(k=2),topk_accuracy(k=2,ties=first),topk_accuracy(k=2,ties=last),topk_accuracy(k=2,ties=all)", 4)
	e := fill(t, Spec{Classes: 4, Kind: metrics.Logits, Metrics: all}, p)
	read := new(Evaluation)
	if err := read.UnmarshalBinary(state(t, e)); err != nil {
		t.Fatal(err)
	}
	if err := read.Merge(e); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1.0 / 3, 1.0 / 3, 1.0 / 3, 2.0 / 3} {
		if v := e.Value(all[i]); v.Value != want || math.IsNaN(v.Interval.Low) || read.Value(all[i]).Value != want {
			t.Errorf("%v: %+v, merged %v, want %v", all[i], v, read.Value(all[i]).Value, want)
		}
	}
	for i, want := range []string{" + #{j < y: s_j = s_y} < 2]", " + #{j < y: s_j = s_y} < 2]", " + #{j > y: s_j = s_y} < 2]", "#{s_j > s_y} < 2]"} {
		if got := e.Text(all[i]); !strings.HasSuffix(got, want) {
			t.Errorf("%v: %s", all[i], got)
		}
	}
}

// TestAverage: of more than two classes the areas are the mean over the classes, where one is asked for.
func TestAverage(t *testing.T) {
	const names = "auroc,auroc(average=none),auroc(average=macro),auroc(average=weighted),auprc,auprc(average=macro),auprc(average=weighted)," +
		"auprc(area=trapezoid,average=macro),ace,auroc(average=micro),auprc(average=micro),auroc(average=ovo),auroc(average=ovo_weighted)"
	for _, weighted := range []bool{false, true} {
		p := predictions(3, 500, 4, weighted)
		s := metrics.Must(calib.NewClassScores(nil))
		if err := metrics.NewPass(nil, s).Add(p); err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{"ace": s.ACE(15)}
		areas := func(name, more string, area func(*rank.Ranking) (float64, float64)) {
			v := rank.PerClass(s, area)
			want[name+"("+more+"average=macro)"], _ = v.Macro()
			want[name+"("+more+"average=weighted)"], _ = v.Weighted()
		}
		areas("auroc", "", (*rank.Ranking).AUROC)
		areas("auprc", "", func(r *rank.Ranking) (float64, float64) { return r.AUPRC(rank.AveragePrecision) })
		areas("auprc", "area=trapezoid,", func(r *rank.Ranking) (float64, float64) { return r.AUPRC(rank.Trapezoid) })

		entries, pairs := rank.NewEntries(), metrics.Must(calib.NewLabelScores(0))
		if err := metrics.NewPass(nil, entries, pairs).Add(p); err != nil {
			t.Fatal(err)
		}
		want["auroc(average=micro)"], _ = entries.Ranking().AUROC()
		want["auprc(average=micro)"], _ = entries.Ranking().AUPRC(rank.AveragePrecision)
		ovo := rank.PairedAUROC(pairs)
		want["auroc(average=ovo)"], want["auroc(average=ovo_weighted)"] = ovo.Macro(), ovo.Weighted()

		metrics := list(t, names, 4)
		e := fill(t, Spec{Classes: 4, Metrics: metrics}, p)
		for _, m := range metrics {
			v := e.Value(m)
			w, there := want[m.String()]
			switch {
			case !there && (!math.IsNaN(v.Value) || v.Reason != needsTwo):
				t.Errorf("%v: %v, %q", m, v.Value, v.Reason)
			case there && weighted && strings.Contains(m.String(), "ovo"):
				if !math.IsNaN(v.Value) || v.Reason != noPairs {
					t.Errorf("%v: %+v", m, v)
				}
			case there && (v.Value != w || v.Bound != 0 || v.Reason == ""):
				t.Errorf("%v: %+v, want %v", m, v, w)
			}
		}
		few := fill(t, Spec{Classes: 4, Metrics: metrics, Memory: 100}, p)
		for _, m := range metrics {
			v := few.Value(m)
			if strings.Contains(m.String(), "micro") || weighted && strings.Contains(m.String(), "ovo") {
				continue // it keeps no entries
			}
			if _, there := want[m.String()]; there && (!math.IsNaN(v.Value) || !strings.Contains(v.Reason, "Spec.Memory")) {
				t.Errorf("%v: %+v", m, v)
			}
		}

		p.Labels = slices.Repeat([]int32{2}, p.Rows)
		same := fill(t, Spec{Classes: 4, Metrics: metrics}, p)
		for _, m := range metrics {
			v := same.Value(m)
			switch _, there := want[m.String()]; {
			case strings.Contains(m.String(), "micro"): // its entries have both outcomes
				if !(v.Value > 0 && v.Value < 1) {
					t.Errorf("one class: %v: %+v", m, v)
				}
			case weighted && strings.Contains(m.String(), "ovo"):
			case there && m.Name == "auroc" && (!math.IsNaN(v.Value) || v.Reason != oneClass):
				t.Errorf("one class: %v: %+v", m, v)
			case there && m.Name == "auprc" && v.Value != 1:
				t.Errorf("one class: %v: %+v", m, v)
			}
		}
	}

	// Of two classes it is the area of class 1 alone.
	for classes := range 2 {
		metrics := list(t, "auroc,auroc(average=macro),auroc(average=ovo),auroc(average=micro),auroc(max_fpr=1)", 1+classes)
		e := fill(t, Spec{Classes: 1 + classes, Metrics: metrics}, predictions(4, 300, 1+classes, false))
		for _, m := range metrics[1:] {
			if a, b := e.Value(metrics[0]), e.Value(m); a != b || a.Value != a.Value {
				t.Errorf("%v: %+v, want %+v", m, b, a)
			}
		}
	}

	// The options that do not go together are refused, and an area up to a rate has no interval.
	for _, s := range []string{"auroc(max_fpr=0.1,average=macro)", "auroc(max_fpr=0.1,thresholds=200)", "auroc(max_fpr=1.5)", "auprc(average=ovo)", "auprc(max_fpr=0.1)"} {
		if _, err := ParseMetric(s); err == nil {
			t.Errorf("%s is no error", s)
		}
	}
	part := list(t, "auroc(max_fpr=0.25)", 1)
	e := fill(t, Spec{Classes: 1, Metrics: part}, predictions(4, 300, 1, false))
	area, _ := e.positives().PartialAUROC(0.25)
	if v := e.Value(part[0]); v.Value != area || !math.IsNaN(v.Interval.Low) || v.Reason != "no interval is computed" || !strings.Contains(e.Text(part[0]), "max_fpr=0.25") {
		t.Errorf("%+v, want %v: %s", v, area, e.Text(part[0]))
	}
}
