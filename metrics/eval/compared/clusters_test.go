package compared

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// clusterRows is a source of rows with names of their clusters, which it numbers in order of their first rows.
type clusterRows struct {
	metrics.Source
	of     []string
	number map[string]int32
	names  []string
}

func inClusters(p *metrics.Predictions, of []string) *clusterRows {
	s := &clusterRows{Source: metrics.InMemory(p), of: of, number: map[string]int32{}}
	for _, n := range of { // before goroutines ask
		if _, ok := s.number[n]; !ok {
			s.number[n] = int32(len(s.names))
			s.names = append(s.names, n)
		}
	}
	return s
}

func (s *clusterRows) Next() (*metrics.Chunk, error) {
	c, err := s.Source.Next()
	if err == nil {
		for i := range c.Rows {
			c.Clusters = append(c.Clusters, s.number[s.of[c.Number(i)]])
		}
		c.ClusterName = func(i int32) string { return s.names[i] }
	}
	return c, err
}

// clustered compares models whose rows are of clusters.
func clustered(t *testing.T, s eval.Spec, names []string, l []*metrics.Predictions, of []string, o *metrics.Options) *Comparison {
	t.Helper()
	s.Cluster = "video"
	c, err := New(s, names, "")
	if err != nil {
		t.Fatal(err)
	}
	var srcs []metrics.Source
	for _, p := range l {
		srcs = append(srcs, inClusters(p, of))
	}
	if err := c.AddSources(srcs, o); err != nil {
		t.Fatal(err)
	}
	return c
}

const clusterList = "accuracy,nll,perplexity,nll_skill,brier,brier_skill,auroc,calibration_auc,aurc,eaurc,augrc,calibration_slope,calibration_intercept,calibration_error_squared,mean_p"

// rarer returns the number of clusters that have the outcome which fewer of them have.
func rarer(clusters []string, is func(i int) bool) float64 {
	has := [2]map[string]bool{{}, {}}
	for i, c := range clusters {
		if is(i) {
			has[1][c] = true
		} else {
			has[0][c] = true
		}
	}
	return float64(min(len(has[0]), len(has[1])))
}

// TestClusterOracle compares with statsmodels and independent formulas; see testdata/oracle/make_clusters.py.
func TestClusterOracle(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/oracle/clusters.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Cases []struct {
			Cluster     []string
			Label       []int32
			Weight      []float64
			A, B        []float64
			Differences map[string]struct{ Value, SE, P, Half, DF float64 }
		}
	}
	if err := json.Unmarshal(data, &all); err != nil || len(all.Cases) < 3 {
		t.Fatal(len(all.Cases), err)
	}
	for k, o := range all.Cases {
		n := len(o.Label)
		scores := func(v []float64) *metrics.Predictions {
			p := &metrics.Predictions{Labels: o.Label, Weights: o.Weight}
			p.Rows, p.Classes = n, 1
			for _, x := range v {
				p.F64 = append(p.F64, x/64)
			}
			return p
		}
		c := clustered(t, specOf(t, 1, clusterList), []string{"a", "b"}, []*metrics.Predictions{scores(o.A), scores(o.B)}, o.Cluster, nil)
		if c.Clusters() != 30 {
			t.Fatalf("%d clusters", c.Clusters())
		}
		found := c.Differences(nil)
		if len(found) != len(o.Differences) {
			t.Fatalf("%d differences, and %d to compare with", len(found), len(o.Differences))
		}
		for _, d := range found {
			name := d.Metric.String()
			want := o.Differences[name]
			tolerance := 1e-9
			switch name {
			case "aurc", "eaurc", "augrc", "calibration_auc": // by a numerical derivative
				tolerance = 1e-7
			case "calibration_slope", "calibration_intercept": // fits end at their own tolerances
				tolerance = 1e-6
			}
			near := func(what string, got, want float64) {
				if !(math.Abs(got-want) <= tolerance*math.Max(1e-3, math.Abs(want))) {
					t.Errorf("case %d: %s of %s is %v, want %v", k, what, name, got, want)
				}
			}
			// The rule that few clusters with an outcome limit the degrees of freedom is not statsmodels'.
			least := 1e9
			switch name {
			case "auroc", "calibration_slope", "calibration_intercept", "calibration_error_squared", "nll_skill", "brier_skill":
				least = rarer(o.Cluster, func(i int) bool { return o.Label[i] == 1 })
			case "calibration_auc", "aurc", "eaurc", "augrc":
				for _, v := range [][]float64{o.A, o.B} {
					least = math.Min(least, rarer(o.Cluster, func(i int) bool { return (v[i] > 32) == (o.Label[i] == 1) }))
				}
			}
			if name == "calibration_error_squared" || name == "calibration_auc" { // nor is that they widen an error, which the oracle has for other areas and fits
				f := math.Sqrt(1 + 3/least)
				want.SE, want.Half, want.P = want.SE*f, want.Half*f, tails.Student(math.Abs(want.Value/(want.SE*f)), want.DF)
			}
			if df := least - 1; df < want.DF {
				want.Half *= tails.StudentQuantile(0.05, df) / tails.StudentQuantile(0.05, want.DF)
				want.DF, want.P = df, tails.Student(math.Abs(want.Value/want.SE), df)
			}
			near("error", d.Error.SE, want.SE)
			near("half", (d.Interval.High-d.Interval.Low)/2, want.Half)
			switch name {
			case "aurc", "eaurc": // whose values have equal scores in any order, and whose errors take them together
			case "calibration_error_squared": // the variance of bins, which the values subtract, is of scores on a grid
				tolerance = 1e-3
				near("value", d.Value, want.Value)
				near("p", d.P, want.P)
			default:
				near("value", d.Value, want.Value)
				near("p", d.P, want.P)
			}
			near("degrees of freedom", d.Error.DF, want.DF)
			if !strings.Contains(d.Method, "cluster") || d.Clusters != 30 {
				t.Errorf("case %d: %s: %+v", k, name, d)
			}
		}
	}
}

// clusterOf names clusters so that shards share them, and their names are not in the order of rows.
func clusterOf(n, clusters int) []string {
	of := make([]string, n)
	for i := range of {
		of[i] = fmt.Sprint("video ", (i*7919)%clusters*37%1009)
	}
	return of
}

// States do not depend on how rows, and the clusters that they share, were divided, and neither do answers.
func TestClusterMerge(t *testing.T) {
	for _, classes := range []int{1, 3} {
		for _, weighted := range []bool{false, true} {
			const n = 1600
			l, of := models(5, n, classes, 3, weighted), clusterOf(n, 80)
			s, names := specOf(t, classes, listed), []string{"a", "b", "c"}
			whole := clustered(t, s, names, l, of, &metrics.Options{Threads: 1})
			first := stateOf(t, whole)
			if b := stateOf(t, clustered(t, s, names, l, of, &metrics.Options{Threads: 3})); !bytes.Equal(b, first) {
				t.Error("threads change the state")
			}
			var parts *Comparison
			for to := n; to > 0; to -= 450 { // the last shard first
				from := max(0, to-450)
				var some []*metrics.Predictions
				for _, p := range l {
					v := p.Slice(from, to)
					some = append(some, &v)
				}
				c := clustered(t, s, names, some, of[from:to], nil)
				var back Comparison
				if err := back.UnmarshalBinary(stateOf(t, c)); err != nil {
					t.Fatal(err)
				}
				if parts == nil {
					parts = &back
				} else if err := parts.Merge(&back); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(stateOf(t, parts), first) {
				t.Errorf("classes %d, weighted %v: a merge of shards has another state", classes, weighted)
			}
			a, b := whole.Differences(nil), parts.Differences(nil)
			intervals := 0
			for i := range a {
				if fmt.Sprint(a[i]) != fmt.Sprint(b[i]) {
					t.Errorf("%v differs after a merge: %+v and %+v", a[i].Metric, a[i], b[i])
				}
				if x := a[i].Interval; x.Low == x.Low {
					intervals++
					if a[i].Clusters != 80 || !strings.Contains(a[i].Method, "cluster") {
						t.Errorf("%+v", a[i])
					}
				} else if a[i].Reason == "" {
					t.Errorf("%v has neither an interval nor a reason", a[i].Metric)
				}
			}
			if intervals < 3*8 {
				t.Errorf("%d intervals", intervals)
			}
			plain := compare(t, s, names, "", l, nil)
			if err := whole.Merge(plain); !errors.Is(err, metrics.ErrMismatch) {
				t.Errorf("a merge with rows that are independent: %v", err)
			}
		}
	}
}

// rarest returns the number of rows that have the outcome that fewest have: class 1 or the other, or of classes whether a model is right or wrong.
func rarest(l []*metrics.Predictions) float64 {
	least := math.Inf(1)
	for _, p := range l {
		n := 0
		for i, y := range p.Labels {
			if p.Classes == 1 {
				n += int(y)
			} else if row := p.F64[i*p.Classes:][:p.Classes]; row[y] == slices.Max(row) {
				n++
			}
		}
		least = math.Min(least, math.Min(float64(n), float64(p.Rows-n)))
	}
	return least
}

// With a cluster for each row the errors are those of rows, but for the degrees of freedom and what is known of rare outcomes.
func TestClusterOfRow(t *testing.T) {
	for _, classes := range []int{1, 3} {
		for _, weighted := range []bool{false, true} {
			const n = 2000
			l := models(6, n, classes, 2, weighted)
			of := make([]string, n)
			for i := range of {
				of[i] = fmt.Sprint(i)
			}
			s := specOf(t, classes, listed)
			plain, each := compare(t, s, []string{"a", "b"}, "", l, nil).Differences(nil), clustered(t, s, []string{"a", "b"}, l, of, nil).Differences(nil)
			for i, d := range each {
				p := plain[i]
				near := 1e-12
				if d.Metric.Name == "calibration_error_squared" { // the variance of bins is of scores on a grid, and some 15 p(1-p)/n
					near = 1e-3 * 15 * 0.25 / n
				}
				if d.Value != p.Value && !(math.Abs(d.Value-p.Value) < near) && !(d.Value != d.Value && p.Value != p.Value) && !(weighted && d.Metric.Name == "calibration_error_squared") {
					t.Errorf("%v: %v, of rows %v", d.Metric, d.Value, p.Value)
				}
				// Weights count as known by clusters, and as drawn by rows: factors of n/(n-1) differ.
				tolerance := 0.002
				if weighted {
					tolerance = 0.02
				}
				se := d.Error.SE
				if n := d.Metric.Name; n == "calibration_error_squared" || n == "calibration_auc" { // few clusters with an outcome widen it
					se /= math.Sqrt(1 + 3/rarest(l))
				}
				if !(math.Abs(se/p.Error.SE-1) < tolerance) && p.Error.SE == p.Error.SE {
					t.Errorf("classes %d, weighted %v: the error of %v is %v, of rows %v", classes, weighted, d.Metric, d.Error.SE, p.Error.SE)
				}
			}
		}
	}
}

// A model against itself differs by exactly 0, and one cluster says nothing.
func TestClusterSame(t *testing.T) {
	for _, classes := range []int{1, 4} {
		l := models(6, 500, classes, 1, false)
		same := []*metrics.Predictions{l[0], l[0]}
		for _, d := range clustered(t, specOf(t, classes, listed), []string{"a", "again"}, same, clusterOf(500, 25), nil).Differences(&Answers{Margins: map[string]float64{"nll": 0.01}}) {
			if i := d.Interval; d.Value != 0 || i.Low == i.Low && i != (metrics.Interval{}) || d.Outcome == Better || d.Outcome == Worse || d.P == d.P && d.P != 1 {
				t.Errorf("%v: %+v", d.Metric, d)
			}
			if d.Metric.Name == "nll" && (d.Margin.Outcome != Equivalent || d.Interval.Low != 0) {
				t.Errorf("margin: %+v", d.Margin)
			}
		}
		two := models(6, 500, classes, 2, false)
		for _, d := range clustered(t, specOf(t, classes, listed), []string{"a", "b"}, two, make([]string, 500), nil).Differences(nil) {
			if d.Interval.Low == d.Interval.Low || d.P == d.P || d.Reason == "" {
				t.Errorf("one cluster: %v: %+v", d.Metric, d)
			}
			if d.Metric.Name == "nll" && !strings.Contains(d.Reason, "one cluster") {
				t.Errorf("one cluster: %s", d.Reason)
			}
		}
	}
}

// What would decide a difference is said in rows and in clusters like these.
func TestClustersToDecide(t *testing.T) {
	l := models(11, 200, 3, 2, false)
	seen := 0
	for _, d := range clustered(t, specOf(t, 3, "default"), []string{"a", "b"}, l, clusterOf(200, 20), nil).Differences(nil) {
		if d.RowsToDecide == 0 {
			continue
		}
		seen++
		if per := float64(d.RowsToDecide) / float64(d.ClustersToDecide); math.Abs(per-10) > 0.5 {
			t.Errorf("%v: %d rows in %d clusters of 10", d.Metric, d.RowsToDecide, d.ClustersToDecide)
		}
	}
	if seen == 0 {
		t.Error("all differences are decided")
	}
}

// Clusters that differ between sets are an error that names the row, and so are those that are missing or too many.
func TestClusterRows(t *testing.T) {
	l := models(9, 100, 3, 2, false)
	of := clusterOf(100, 10)
	other := clusterOf(100, 10)
	other[42] = "else"
	s := specOf(t, 3, "default")
	s.Cluster = "video"
	c, err := New(s, []string{"a", "b"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var row *RowError
	err = c.AddSources([]metrics.Source{inClusters(l[0], of), inClusters(l[1], other)}, nil)
	if !errors.As(err, &row) || row.Row != 42 || row.What != "cluster" || row.Cluster != "else" || row.OtherCluster != of[42] || !strings.Contains(err.Error(), `"else"`) {
		t.Errorf("another cluster: %v", err)
	}
	if c.Rows() != 0 || c.Clusters() != 0 {
		t.Error("rows after an error")
	}
	// The same clusters under other numbers are the same.
	turned := inClusters(l[1], of)
	for i, j := 0, len(turned.names)-1; i < j; i, j = i+1, j-1 {
		turned.names[i], turned.names[j] = turned.names[j], turned.names[i]
	}
	for i, n := range turned.names {
		turned.number[n] = int32(i)
	}
	if err := c.AddSources([]metrics.Source{inClusters(l[0], of), turned}, nil); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(stateOf(t, c), stateOf(t, clustered(t, s, []string{"a", "b"}, l, of, nil))) {
		t.Error("numbers of clusters change the state")
	}
	if err := c.AddSources([]metrics.Source{inClusters(l[0], of), metrics.InMemory(l[1])}, nil); !errors.Is(err, metrics.ErrMismatch) {
		t.Errorf("a source without clusters: %v", err)
	}
	c, _ = New(s, []string{"a", "b"}, "")
	c.Room = Room{Bytes: 2000, Remedy: func(int64) string { return "buy more" }}
	var full *eval.RoomError
	if err := c.AddSources([]metrics.Source{inClusters(l[0], of), inClusters(l[1], of)}, nil); !errors.As(err, &full) || !strings.Contains(full.Reason, "buy more") || !strings.Contains(full.Reason, "10 clusters") || !strings.Contains(full.Reason, "augrc") {
		t.Errorf("no room: %v", err)
	}
}

// Rows that are left out are in no cluster.
func TestClusterDrop(t *testing.T) {
	l := models(7, 300, 3, 2, false)
	of := clusterOf(300, 15)
	of[4] = "alone"
	l[1].F64[4*3] = math.NaN()
	c := clustered(t, specOf(t, 3, "default"), []string{"a", "b"}, l, of, &metrics.Options{Drop: true})
	if c.Clusters() != 15 || c.Rows() != 299 {
		t.Errorf("%d clusters of %d rows", c.Clusters(), c.Rows())
	}
}

func TestClusterResealedStates(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		s := specOf(t, 1, "accuracy,nll,perplexity,brier_skill,auroc,aurc,calibration_slope,calibration_error_squared")
		state := stateOf(t, clustered(t, s, []string{"a", "b"}, models(3, 12, 1, 2, weighted), clusterOf(12, 4), nil))
		read := 0
		for at := bytes.LastIndex(state, []byte(partFormat.Magic)); at < len(state)-8; at++ {
			b := bytes.Clone(state)
			b[at] ^= 1
			c := new(Comparison)
			if c.UnmarshalBinary(check.Reseal(b)) != nil {
				continue
			}
			read++
			c.Differences(nil)
			if _, err := c.AppendBinary(nil); err != nil {
				t.Fatal(err)
			}
		}
		if read == 0 {
			t.Error("no sum of a state may be another number")
		}
	}
}

// TestClusterOfRowOnGrid: where scores are the middles of the grid's cells, calibration_error_squared with a cluster for each row is exactly that
// of rows.
func TestClusterOfRowOnGrid(t *testing.T) {
	const n = 2000
	least, rising := kernel.GridPlaces()
	middle := func(p float64) float64 { // of the cell of p, which is at most 1/2
		i := sort.Search(len(rising), func(i int) bool { return least[rising[i]] > p }) - 1
		high := 0.5
		if i+1 < len(rising) {
			high = least[rising[i+1]]
		}
		return least[rising[i]] + (high-least[rising[i]])/2
	}
	l, of := models(6, n, 1, 2, false), make([]string, n)
	for i := range of {
		of[i] = fmt.Sprint(i)
	}
	for _, p := range l {
		for i, v := range p.F64 {
			if v <= 0.5 {
				p.F64[i] = middle(v)
			} else {
				p.F64[i] = 1 - middle(1-v)
			}
		}
	}
	s := specOf(t, 1, "calibration_error_squared")
	plain, each := compare(t, s, []string{"a", "b"}, "", l, nil).Differences(nil)[0], clustered(t, s, []string{"a", "b"}, l, of, nil).Differences(nil)[0]
	if !(math.Abs(each.Value-plain.Value) < 1e-12) || plain.Value == 0 {
		t.Errorf("%v, of rows %v", each.Value, plain.Value)
	}
}
