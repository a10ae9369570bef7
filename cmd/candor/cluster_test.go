package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// visits are rows of 30 patients whose outcomes go together; take says which rows are written.
func visits(take func(i int) bool) []byte {
	var b bytes.Buffer
	b.WriteString("patient,site,p,y\n")
	for i := range 600 {
		patient := i * 7 % 30
		if take(i) {
			fmt.Fprintf(&b, "P%d,%d,0.%02d,%d\n", patient, i%2, 20+(patient*13+i)%60, (patient*5+7*(i%11/10))%7%2)
		}
	}
	return b.Bytes()
}

// TestClusters: intervals are by clusters, of groups too, and shards that divide clusters merge to the document of a single run.
func TestClusters(t *testing.T) {
	d := newDir(t)
	all := func(int) bool { return true }
	whole := d.put("visits.csv", visits(all))
	a, b := d.put("a.csv", visits(func(i int) bool { return i%3 == 0 })), d.put("b.csv", visits(func(i int) bool { return i%3 != 0 }))
	with := []string{"--prob", "p", "--labels", "y", "--cluster", "patient", "--metrics", "default,auroc,e_calibration"}
	type document struct {
		Clusters *struct {
			Column          string
			Number, Largest int
			DesignEffect    float64 `json:"design_effect"`
		}
		Metrics map[string]struct{ Low, High *float64 }
		Groups  []document
		Tests   struct {
			Tested, Family int
			TooFew         int `json:"too_few_clusters"`
			Groups         []struct {
				Clusters int
				Low      *float64
				Total    *struct{ P float64 }
				Bins     *struct{ Method string }
			}
		} `json:"group_tests"`
	}
	read := func(args ...string) (doc document, out string) {
		t.Helper()
		code, out, _ := candor(t, args...)
		if code != 0 {
			t.Fatal(out)
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err)
		}
		return doc, out
	}
	clustered, want := read(append([]string{"eval", whole, "--json"}, with...)...)
	plain, _ := read("eval", whole, "--json", "--prob", "p", "--labels", "y", "--metrics", "default,auroc")
	if c := clustered.Clusters; c == nil || c.Column != "patient" || c.Number != 30 || c.Largest != 20 || !(c.DesignEffect > 2) || plain.Clusters != nil {
		t.Errorf("clusters %+v, and without %+v", c, plain.Clusters)
	}
	for _, m := range []string{"base_rate", "mean_p", "nll", "brier", "auroc"} {
		x, y := clustered.Metrics[m], plain.Metrics[m]
		if x.Low == nil || !(*x.High-*x.Low > 1.3*(*y.High-*y.Low)) {
			t.Errorf("%s: %v by clusters, %v of independent rows", m, x, y)
		}
	}
	for _, c := range [][2]string{{a, "a.state"}, {b, "b.state"}} {
		read(append([]string{"eval", c[0], "--json", "--state", filepath.Join(d.path, c[1])}, with...)...)
	}
	if _, merged := read("merge", filepath.Join(d.path, "b.state"), filepath.Join(d.path, "a.state"), "--json"); merged != want {
		t.Errorf("merged:\n%s\nwant\n%s", merged, want)
	}
	if code, said, _ := candor(t, "drift", filepath.Join(d.path, "a.state"), filepath.Join(d.path, "b.state"), "--json"); code != 0 || !strings.Contains(said, "rows are in clusters of patient: tests of metrics allow for that") {
		t.Error(said)
	}
	if g, _ := read(append([]string{"eval", whole, "--json", "--group", "site"}, with...)...); len(g.Groups) != 2 || g.Groups[0].Clusters == nil || g.Groups[0].Metrics["nll"].Low == nil {
		t.Errorf("groups %+v", g.Groups)
	} else if x := g.Tests; x.Tested != 2 || x.TooFew != 0 || x.Groups[0].Clusters != 15 || x.Groups[0].Low == nil || x.Groups[0].Total == nil {
		t.Errorf("tests of groups %+v", x)
	}
	few := d.put("few groups.csv", visits(func(i int) bool { return i%2 == 0 || i*7%30 < 9 }))
	if g, _ := read(append([]string{"eval", few, "--json", "--group", "site"}, with...)...); g.Tests.Tested != 1 || g.Tests.TooFew != 1 || g.Tests.Groups[1].Low != nil || g.Tests.Groups[1].Total != nil {
		t.Errorf("tests of groups of few clusters %+v", g.Tests)
	}
	if code, out, _ := candor(t, append([]string{"eval", few, "--group", "site"}, with...)...); code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "1 group of fewer than 10 clusters is not tested.") {
		t.Error(out)
	}
	if code, out, _ := candor(t, append([]string{"eval", whole}, with...)...); code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "Intervals allow for dependent rows within 30 clusters of patient, of up to 20 rows each. Design effect") {
		t.Error(out)
	}
	if code, said, _ := candor(t, "eval", d.put("few.csv", visits(func(i int) bool { return i*7%30 < 5 })), "--prob", "p", "--labels", "y", "--cluster", "patient"); code != 0 ||
		!strings.Contains(strings.Join(strings.Fields(said), " "), "5 clusters of patient: with fewer than 20, intervals are rough, and miss the true value") {
		t.Error(said)
	}
	code, folds, _ := candor(t, "recal", "fit", "temperature", whole, "--prob", "p", "--labels", "y", "--cluster", "patient", "--json")
	_, rows, _ := candor(t, "recal", "fit", "temperature", whole, "--prob", "p", "--labels", "y", "--json")
	if code != 0 || !strings.Contains(folds, `"clusters"`) || folds == rows {
		t.Error(folds)
	}
}

// TestClustersUsage: what --cluster does not go with is an error.
func TestClustersUsage(t *testing.T) {
	d := newDir(t)
	whole := d.put("visits.csv", visits(func(int) bool { return true }))
	state, other := filepath.Join(d.path, "a.state"), filepath.Join(d.path, "b.state")
	candor(t, "eval", whole, "--prob", "p", "--labels", "y", "--cluster", "patient", "--state", state)
	candor(t, "eval", whole, "--prob", "p", "--labels", "y", "--state", other)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"eval", whole, "--prob", "p", "--labels", "y", "--cluster", "nobody"}, exitData, `no column "nobody" for the cluster`},
		{[]string{"eval", whole, "--prob", "p", "--labels", "y", "--cluster", "site", "--group", "site"}, exitData, "both groups the rows and is their cluster"},
		{[]string{"eval", whole, "--task", "multilabel", "--cluster", "patient"}, exitUsage, "--cluster is for --task classification"},
		{[]string{"eval", whole, "--prob", "p", "--labels", "y", "--cluster", "patient", "--metrics", "auroc(exact)"}, exitUsage, "which clusters do not support"},
		{[]string{"merge", state, other}, exitData, `rows in clusters by "patient" and rows without clusters`},
	} {
		if code, _, said := candor(t, c.args...); code != c.code || !strings.Contains(strings.Join(strings.Fields(said), " "), c.want) {
			t.Errorf("%q: exit code %d, %s", c.args, code, said)
		}
	}
}
