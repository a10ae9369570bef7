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

// TestAverage: of more than two classes the areas are the mean over the classes, where one is asked for.
func TestAverage(t *testing.T) {
	const names = "auroc,auroc(average=none),auroc(average=macro),auroc(average=weighted),auprc,auprc(average=macro),auprc(average=weighted)," +
		"auprc(area=trapezoid,average=macro),ace"
	for _, weighted := range []bool{false, true} {
		p := predictions(3, 500, 4, weighted)
		s := calib.NewClassScores(nil)
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

		metrics := list(t, names, 4)
		e := fill(t, Spec{Classes: 4, Metrics: metrics}, p)
		for _, m := range metrics {
			v := e.Value(m)
			w, there := want[m.String()]
			switch {
			case !there && (!math.IsNaN(v.Value) || v.Reason != needsTwo):
				t.Errorf("%v: %v, %q", m, v.Value, v.Reason)
			case there && (v.Value != w || v.Bound != 0 || v.Reason == ""):
				t.Errorf("%v: %+v, want %v", m, v, w)
			}
		}
		few := fill(t, Spec{Classes: 4, Metrics: metrics, Memory: 100}, p)
		for _, m := range metrics {
			v := few.Value(m)
			if _, there := want[m.String()]; there && (!math.IsNaN(v.Value) || !strings.Contains(v.Reason, "--max-memory")) {
				t.Errorf("%v: %+v", m, v)
			}
		}

		p.Labels = slices.Repeat([]int32{2}, p.Rows)
		same := fill(t, Spec{Classes: 4, Metrics: metrics}, p)
		for _, m := range metrics {
			v := same.Value(m)
			switch _, there := want[m.String()]; {
			case there && m.Name == "auroc" && (!math.IsNaN(v.Value) || v.Reason != oneClass):
				t.Errorf("one class: %v: %+v", m, v)
			case there && m.Name == "auprc" && v.Value != 1:
				t.Errorf("one class: %v: %+v", m, v)
			}
		}
	}

	// Of two classes it is the area of class 1 alone.
	for classes := range 2 {
		metrics := list(t, "auroc,auroc(average=macro)", 1+classes)
		e := fill(t, Spec{Classes: 1 + classes, Metrics: metrics}, predictions(4, 300, 1+classes, false))
		if a, b := e.Value(metrics[0]), e.Value(metrics[1]); a != b || a.Value != a.Value {
			t.Errorf("%+v, want %+v", b, a)
		}
	}
}
