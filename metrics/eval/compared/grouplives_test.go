package compared

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

var lifeTimes = []float64{1, 2, 4}

// lifeSpec is of curves at lifeTimes.
func lifeSpec(t testing.TB, names string) eval.Spec {
	t.Helper()
	s := eval.Spec{Classes: len(lifeTimes) + 2, Kind: metrics.Survival, Times: lifeTimes, Horizons: []float64{2, 4}}
	var err error
	if s.Metrics, err = eval.ParseMetrics(names, s.Shape()); err != nil {
		t.Fatal(err)
	}
	return s
}

// lives draws the curves of models for the same rows.
func lives(seed uint64, n, models int, weighted bool) (l []*metrics.Predictions) {
	r := rand.New(rand.NewPCG(seed, 5))
	for range models {
		p := &metrics.Predictions{Kind: metrics.Survival, Scores: metrics.Scores{Rows: n, Classes: len(lifeTimes) + 2}}
		l = append(l, p)
	}
	for range n {
		rate := math.Exp(r.NormFloat64() - 1.5)
		event, gone := r.ExpFloat64()/rate, 4*r.ExpFloat64()
		time, is := math.Ceil(8*min(event, gone, 5))/8, 0.0 // with ties
		if event <= gone && event <= 5 {
			is = 1
		}
		w := 0.5 + r.Float64()
		for _, p := range l {
			said := rate * math.Exp(0.6*r.NormFloat64())
			for _, t := range lifeTimes {
				p.F64 = append(p.F64, -math.Expm1(-said*t))
			}
			if p.F64 = append(p.F64, time, is); weighted {
				p.Weights = append(p.Weights, w)
			}
		}
	}
	return l
}

// livesWhere returns the rows that of says.
func livesWhere(l []*metrics.Predictions, cluster []string, of func(row int) bool) (part []*metrics.Predictions, clusters []string) {
	for m, p := range l {
		q := &metrics.Predictions{Kind: p.Kind, Scores: metrics.Scores{Classes: p.Classes}}
		for row := range p.Rows {
			if !of(row) {
				continue
			}
			q.Rows++
			q.F64 = append(q.F64, p.F64[row*p.Classes:][:p.Classes]...)
			if p.Weights != nil {
				q.Weights = append(q.Weights, p.Weights[row])
			}
			if m == 0 && cluster != nil {
				clusters = append(clusters, cluster[row])
			}
		}
		part = append(part, q)
	}
	return part, clusters
}

const lifeMetrics = "bias_km,brier_ipcw,auroc_ipcw,concordance,concordance_ipcw,brier_integrated,event_share_km"

// TestGroupLives: a group of rows of survival has the differences of a comparison of its rows alone: the values, and, but for what only groups have,
// the intervals. States do not depend on how rows were divided, and the whole is what it is without groups.
func TestGroupLives(t *testing.T) {
	for _, c := range []struct{ weighted, clusters bool }{{}, {weighted: true}, {clusters: true}, {true, true}} {
		const n = 1300
		l := lives(3, n, 3, c.weighted)
		var cluster []string
		if c.clusters {
			cluster = clusterOf(n, 200)
		}
		s := lifeSpec(t, lifeMetrics)
		all := groupedBy(t, s, l, siteOf, cluster, &metrics.Options{Threads: 1})
		state := stateOf(t, all)
		if !bytes.Equal(stateOf(t, groupedBy(t, s, l, siteOf, cluster, &metrics.Options{Threads: 3})), state) {
			t.Errorf("%+v: the state depends on threads", c)
		}
		var parts []*Comparison
		for _, cut := range [][2]int{{0, 500}, {500, n}} {
			part, of := livesWhere(l, cluster, func(row int) bool { return row >= cut[0] && row < cut[1] })
			read := new(Comparison)
			if err := read.UnmarshalBinary(stateOf(t, groupedBy(t, s, part, func(row int64) string { return siteOf(row + int64(cut[0])) }, of, nil))); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, read)
		}
		if err := parts[1].Merge(parts[0]); err != nil || !bytes.Equal(stateOf(t, parts[1]), state) {
			t.Errorf("%+v: shards are not the whole: %v", c, err)
		}
		for k := range state {
			if k%(len(state)/40) != 0 {
				continue
			}
			bad := bytes.Clone(state)
			bad[k] ^= 1
			if new(Comparison).UnmarshalBinary(bad) == nil {
				t.Fatalf("a damaged byte %d is not seen", k)
			}
		}
		plain := func(part []*metrics.Predictions, of []string) *Comparison {
			if of == nil {
				return compare(t, s, []string{"a", "b", "c"}, "", part, nil)
			}
			return groupedBy(t, s, part, func(int64) string { return "all" }, of, nil)
		}
		if got, want := fmt.Sprint(all.Differences(nil)), fmt.Sprint(plain(l, cluster).Differences(nil)); got != want {
			t.Errorf("%+v: the whole is other with groups", c)
		}
		d := parts[1].GroupDifferences(GroupAnswers{})
		if len(d.Groups) != 7 || len(d.Pairs) != 3 || len(d.Metrics) != 11 || d.Metrics[d.Main].Name != "brier_ipcw" {
			t.Fatalf("%d groups, %d metrics, first %v", len(d.Groups), len(d.Metrics), d.Metrics[d.Main])
		}
		equal, wider := 0, 0
		for i := range d.Groups {
			g := &d.Groups[i]
			part, of := livesWhere(l, cluster, func(row int) bool { return siteOf(int64(row)) == g.Values[0] })
			for _, w := range plain(part, of).Differences(nil) {
				k := slices.IndexFunc(d.Metrics, func(m GroupMetric) bool { return m.String() == w.Metric.String() })
				if k < 0 {
					if !strings.HasPrefix(w.Metric.Name, "event_share_km") {
						t.Fatalf("groups have no %v", w.Metric)
					}
					continue
				}
				x := d.At(g, k, slices.Index(d.Pairs, [2]int{w.A, w.B}))
				off := math.Abs(x.Value-w.Value) + math.Abs(x.Interval.Low-w.Interval.Low) + math.Abs(x.Interval.High-w.Interval.High)
				switch {
				case math.Abs(x.Value-w.Value) > 1e-14 || g.Rows != int64(part[0].Rows) || g.Clusters != w.Clusters:
					t.Errorf("%+v: %v of %v: %+v in %d rows and %d clusters, alone %+v", c, w.Metric, g.Values, x, g.Rows, g.Clusters, w)
				case off < 1e-13 && math.Abs(x.P-w.P) < 1e-12:
					equal++
				case x.Interval.Low <= w.Interval.Low && x.Interval.High >= w.Interval.High && x.P >= w.P && w.Metric.Name != "bias_km":
					wider++
				default:
					t.Errorf("%+v: %v of %v: %+v, alone %+v", c, w.Metric, g.Values, x, w)
				}
			}
		}
		if equal < 80 || (wider == 0) != c.clusters {
			t.Errorf("%+v: %d differences are those of the rows alone, and %d have wider intervals", c, equal, wider)
		}
	}
}

// TestGroupLivesNone: what cannot be judged in a group has the reason, the same model twice has differences of exactly 0, and few events decide no rank.
func TestGroupLivesNone(t *testing.T) {
	const n = 400
	l := lives(4, n, 2, false)
	l = append(l, l[0])
	for i := range 2 * n {
		row := i / 2
		switch r := l[i%2].F64[row*5:][:5]; {
		case row%4 == 0: // nobody of group 0 has the event
			r[4] = 0
		case row == 1: // and one of group 1, early
			r[3], r[4] = 0.125, 1
		case row%4 == 1:
			r[3], r[4] = 5, 0
		}
	}
	site := func(row int64) string { return fmt.Sprint(row % 4) }
	d := groupedBy(t, lifeSpec(t, lifeMetrics), l, site, nil, nil).GroupDifferences(GroupAnswers{})
	for i := range d.Groups {
		g := &d.Groups[i]
		for k := range d.Metrics {
			x, y, rank := d.At(g, k, 1), d.At(g, k, 0), d.Metrics[k].Better == eval.Higher
			switch {
			case g.Values[0] == "0":
				if x.Value == x.Value || x.P == x.P || !strings.Contains(x.Reason, "all rows are censored") {
					t.Errorf("%v of a group without events: %+v", d.Metrics[k], x)
				}
			case g.Values[0] == "1" && rank:
				if x, y = y, x; x.Value == 0 || x.P == x.P || x.Interval.Low == x.Interval.Low || !strings.Contains(x.Reason, "too few rows") {
					t.Errorf("%v of a group of one event: %+v", d.Metrics[k], x)
				}
				if y.Value != 0 || y.P != 1 {
					t.Errorf("%v of a model and itself, and one event: %+v", d.Metrics[k], y)
				}
			case x.Value != 0 || x.Interval != (metrics.Interval{}) || x.P != 1 || x.Outcome == Better || x.Outcome == Worse:
				t.Errorf("%v of a model and itself: %+v", d.Metrics[k], x)
			}
		}
	}
}

// TestEqualLives: the variance of the difference of Brier scores of a row is that over the three times when its event may come.
func TestEqualLives(t *testing.T) {
	l := lives(6, 1, 2, false)
	for _, metric := range []string{"brier_ipcw(horizon=2)", "brier_integrated"} {
		s := lifeSpec(t, metric)
		c := groupedBy(t, s, l, siteOf, nil, nil)
		f := newFinder(c)
		f.all = c.by.each[0].lives
		got := f.equalLives(&c.by.metrics[0], c.pairs[0])
		a, b := l[0].F64[:3], l[1].F64[:3]
		shares := []float64{0, 1, 0}
		if metric == "brier_integrated" {
			shares = []float64{1. / 6, 1. / 2, 1. / 3} // half of 1, of 1 + 2 and of 2, of 3
		}
		variance, expected, before := 0.0, 0.0, 0.0
		for come := range 4 { // the event comes by the time of this number
			to := 1.0
			if come < 3 {
				to = (a[come] + b[come]) / 2
			}
			d := 0.0
			for k := range 3 {
				y := 0.0
				if k >= come {
					y = 1
				}
				d += shares[k] * ((b[k]-y)*(b[k]-y) - (a[k]-y)*(a[k]-y))
			}
			expected += (to - before) * d
			variance += (to - before) * d * d
			before = to
		}
		if math.Abs(expected) > 1e-15 || math.Abs(got*got-variance) > 1e-15 || !(variance > 1e-6) {
			t.Errorf("%s: variance %v, not %v, around %v", metric, got*got, variance, expected)
		}
	}
}
