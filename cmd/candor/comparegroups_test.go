package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// groupedModels are rows of two models' probabilities with an outcome, a site and a video: of the sites only "c" is better with the new
// model, "d" with the old one.
func groupedModels(n int) (rows [][]string, old, now []float64, y []int32, site []string) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		z := 2 * r.NormFloat64()
		s := "abcdef"[r.IntN(6)]
		p := func(worse byte) float64 {
			noise := 0.3
			if s == worse {
				noise = 1.8
			}
			return math.Round(1e4/(1+math.Exp(-z-noise*r.NormFloat64()))) / 1e4
		}
		a, b := min(0.9999, max(0.0001, p('c'))), min(0.9999, max(0.0001, p('d')))
		label := int32(0)
		if r.Float64() < 1/(1+math.Exp(-z)) {
			label = 1
		}
		old, now, y, site = append(old, a), append(now, b), append(y, label), append(site, string(s))
		rows = append(rows, []string{fmt.Sprint("r", i), fmt.Sprintf("%.4f", a), fmt.Sprintf("%.4f", b), fmt.Sprint(label), string(s), fmt.Sprint("v", i/5)})
	}
	return rows, old, now, y, site
}

// groupDifferences is what a document says of groups, in the schema's words.
type groupDifferences struct {
	Says    []string
	Few     int `json:"too_few_rows"`
	Metrics []struct {
		Metric string
		Family int
	}
	Groups []struct {
		Group       map[string]string
		Rows        int
		Clusters    int
		Differences []struct {
			A, B, Metric, Outcome string
			Value, Low, High      float64
			P                     *float64
			Adjusted              *float64 `json:"p_adjusted"`
		}
	}
}

func differencesByGroup(t *testing.T, doc string) (g *groupDifferences, raw string) {
	t.Helper()
	checkSchema(t, doc)
	var d struct {
		Groups json.RawMessage `json:"group_differences"`
	}
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(d.Groups, &g); err != nil {
		t.Fatal(err)
	}
	return g, string(d.Groups)
}

// TestCompareGroups: however models and groups are given, and over shards, groups have the same differences; all forms say for whom which
// model is better.
func TestCompareGroups(t *testing.T) {
	d := newDir(t)
	rows, old, now, y, site := groupedModels(4000)
	table := func(head string, columns ...int) string {
		var b strings.Builder
		b.WriteString(head + "\n")
		for i := range rows {
			r := rows[i]
			if len(columns) == 5 && columns[1] == 2 { // the second table is in another order
				r = rows[len(rows)-1-i]
			}
			var l []string
			for _, c := range columns {
				l = append(l, r[c])
			}
			b.WriteString(strings.Join(l, ",") + "\n")
		}
		return b.String()
	}
	all := d.put("all.csv", []byte(table("id,p_old,p_new,y,site,video", 0, 1, 2, 3, 4, 5)))
	wide := []string{"compare", all, "--prob", "old=p_old", "--prob", "new=p_new", "--label", "y", "--group", "site"}
	whole := printed(t, with(wide, "--json")...)
	g, raw := differencesByGroup(t, whole)
	if len(g.Groups) != 6 || g.Few != 0 || len(g.Metrics) != 4 || g.Metrics[0].Family != 6 || g.Groups[0].Group["site"] != "d" || g.Groups[1].Group["site"] != "c" ||
		g.Groups[0].Differences[1].Outcome != "worse" || g.Groups[1].Differences[1].Outcome != "better" || g.Groups[2].Differences[1].Outcome != "undecided" {
		t.Fatal(raw)
	}
	if want := "By NLL, new is better than old for 1 of 6 groups (Holm's method over 6 tests): site=c; old is better for 1: site=d."; g.Says[0] != want {
		t.Errorf("%q, not %q", g.Says[0], want)
	}
	var long strings.Builder
	long.WriteString("model,id,p,y,site\n")
	for _, r := range rows {
		fmt.Fprintf(&long, "old,%s,%s,%s,%s\nnew,%[1]s,%[5]s,%[3]s,%[4]s\n", r[0], r[1], r[3], r[4], r[2])
	}
	f := []string{"--json", "--group"}
	sites := d.put("site.npy", textArray(site))
	n := []int64{int64(len(rows))}
	arrays := with([]string{"compare", d.put("old.npy", npy(t, n, old)), d.put("new.npy", npy(t, n, now)), "--labels", d.put("y.npy", npy(t, n, y))}, f...)
	for name, args := range map[string][]string{
		"long": with([]string{"compare", d.put("long.csv", []byte(long.String())), "--model", "model", "--id", "id", "--prob", "p", "--label", "y"}, with(f, "site")...),
		"ids": with([]string{"compare", d.put("old.csv", []byte(table("id,p,y,site,video", 0, 1, 3, 4, 5))), d.put("new.csv", []byte(table("id,p,y,site,video", 0, 2, 3, 4, 5))),
			"--id", "id", "--prob", "p", "--label", "y"}, with(f, "site")...),
	} {
		if _, got := differencesByGroup(t, printed(t, args...)); got != raw {
			t.Errorf("%s: %s\nnot\n%s", name, got, raw)
		}
	}
	if _, got := differencesByGroup(t, printed(t, with(arrays, sites)...)); got != raw {
		t.Errorf("arrays: %s\nnot\n%s", got, raw)
	}
	// Losses by row have decisions and their probabilities.
	printed(t, "score", d.at("old.npy"), "--labels", d.at("y.npy"), "-o", d.at("base.npz"))
	known, _ := differencesByGroup(t, printed(t, "compare", d.at("base.npz"), d.at("new.npy"), "--labels", d.at("y.npy"), "--group", sites, "--json", "--metrics", "nll,brier"))
	for i := range known.Groups {
		for k, x := range known.Groups[i].Differences {
			w := g.Groups[i].Differences[k]
			for _, o := range g.Groups[i].Differences {
				if o.Metric == x.Metric {
					w = o
				}
			}
			if x.Metric != "bias" && (math.Abs(x.Value-w.Value) > 1e-12 || math.Abs(x.Low-w.Low) > 1e-12 || x.Outcome != w.Outcome) {
				t.Errorf("by losses of rows %+v, not %+v", x, w)
			}
		}
	}
	// Shards, with clusters.
	clustered := with(wide, "--cluster", "video", "--min-rows", "670", "--adjust", "bh", "--json")
	one := printed(t, clustered...)
	if g, raw := differencesByGroup(t, one); g.Few == 0 || g.Few == 6 || g.Groups[5].Differences[0].P != nil || g.Groups[5].Clusters < 400 || !strings.Contains(strings.Join(g.Says, " "), "of fewer than 670 rows") {
		t.Error(raw)
	}
	states := []string{"merge", "--min-rows", "670", "--adjust", "bh", "--json"}
	for i := range 2 {
		var part strings.Builder
		part.WriteString("id,p_old,p_new,y,site,video\n")
		for k, r := range rows {
			if k%2 == i {
				part.WriteString(strings.Join(r, ",") + "\n")
			}
		}
		state := d.at(fmt.Sprint(i, ".state"))
		shard := with(clustered, "--state", state)
		shard[1] = d.put(fmt.Sprint(i, ".csv"), []byte(part.String()))
		printed(t, shard...)
		states = append(states, state)
	}
	if got := printed(t, states...); got != one {
		t.Errorf("merged shards say\n%s\nnot\n%s", got, one)
	}
	text := strings.Join(strings.Fields(printed(t, wide...)), " ")
	for _, want := range []string{g.Says[0], "Differences by site, new minus old:", " not decided "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if md := printed(t, with(wide, "--format", "markdown")...); !strings.Contains(md, g.Says[0]) || !strings.Contains(md, "| site | rows | nll |") || strings.Count(md, " better |") < 2 {
		t.Error(md)
	}
	csv := strings.Split(strings.TrimSpace(printed(t, with(wide, "--metrics", "nll,brier", "--format", "csv")...)), "\n")
	if len(csv) != 1+4+6*4 || !strings.HasPrefix(csv[0], "site,rows,metric,level,better,old,") || !strings.HasPrefix(csv[1], ",4000,nll,0.95,lower,") ||
		!strings.HasPrefix(csv[5], "d,") || !strings.Contains(csv[5], ",nll,0.95,lower,,,,,,,") || !strings.HasSuffix(csv[5], ",worse") {
		t.Errorf("%s", strings.Join(csv, "\n"))
	}
	// A page has at most 100 groups in its document.
	printed(t, with(wide, "--html", d.at("page.html"), "--plot", d.at("groups.svg"), "--plot-kind", "groups", "--group", "video", "--min-rows", "1")...)
	page, err := os.ReadFile(d.at("page.html"))
	if err != nil || !strings.Contains(string(page), "For whom?") || strings.Count(string(page), `"rows_to_decide"`) == 0 || strings.Count(string(page), `{"group":{`) != 100 {
		t.Errorf("%v: %d groups", err, strings.Count(string(page), `{"group":{`))
	}
	if svg, err := os.ReadFile(d.at("groups.svg")); err != nil || !strings.Contains(string(svg), "Differences by site, video, new minus old") {
		t.Errorf("%v: %s", err, svg)
	}
	// Several pairs.
	three := with(wide, "--prob", "older=p_old", "--baseline", "old", "--json")
	if g, raw := differencesByGroup(t, printed(t, three...)); g.Metrics[0].Family != 12 || len(g.Says) < 3 || !strings.Contains(raw, `"b": "older"`) {
		t.Error(raw)
	}
	if text := printed(t, with(three[:len(three)-1], "--metrics", "nll")...); !strings.Contains(text, "Differences by site:") || !strings.Contains(text, "older - old") {
		t.Error(text)
	}
}

// TestCompareGroupFlags: what groups do not go with.
func TestCompareGroupFlags(t *testing.T) {
	d := newDir(t)
	rows, old, now, y, site := groupedModels(60)
	n := []int64{int64(len(rows))}
	a, b, labels := d.put("a.npy", npy(t, n, old)), d.put("b.npy", npy(t, n, now)), d.put("y.npy", npy(t, n, y))
	sites := d.put("site.npy", textArray(site))
	plain := []string{"compare", a, b, "--labels", labels}
	printed(t, with(plain, "--state", d.at("plain.state"))...)
	printed(t, with(plain, "--group", sites, "--state", d.at("sites.state"))...)
	var csv [2]strings.Builder
	for i := range csv {
		csv[i].WriteString("id,p,y,site\n")
		for k, r := range rows {
			s := r[4]
			if k == 7 && i == 1 {
				s = "moon"
			}
			csv[i].WriteString(strings.Join([]string{r[0], r[1+i], r[3], s}, ",") + "\n")
		}
	}
	tables := []string{"compare", d.put("a.csv", []byte(csv[0].String())), d.put("b.csv", []byte(csv[1].String())), "--prob", "p", "--label", "y", "--group", "site"}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{with(plain, "--min-rows", "50"), exitUsage, "--min-rows is for groups of rows, and there are none; pass --group COLUMN"},
		{with(plain, "--group", sites, "--min-rows", "0"), exitUsage, "--min-rows is 0; it is a positive number of rows"},
		{with(plain, "--group", sites, "--temperature-scaled"), exitUsage, "--temperature-scaled does not go with --group"},
		{with(plain, "--plot", d.at("x.svg"), "--plot-kind", "groups"), exitUsage, "--plot-kind groups draws groups of rows, and there are none; pass --group COLUMN"},
		{with(plain, "--group", d.at("none.npy")), exitData, "none.npy"},
		{with(plain, "--adjust", "tukey"), exitUsage, `--adjust is "tukey"; it is holm, bh or max-t`},
		{[]string{"merge", d.at("plain.state"), d.at("sites.state")}, exitData, "rows are grouped by no column and by site"},
		{[]string{"merge", d.at("plain.state"), "--min-rows", "50"}, exitUsage, "--min-rows is for groups of rows, and the states have none"},
		{tables, exitData, `row 7: the group is "moon", and "` + site[7] + `" in `},
		{with(tables, "--id", "id"), exitData, `id "r7": the group is "moon", and "` + site[7] + `" in `},
	} {
		if code, out, errs := candor(t, c.args...); code != c.code || out != "" || !strings.Contains(strings.Join(strings.Fields(errs), " "), c.want) {
			t.Errorf("candor %v: exit code %d: %s", c.args, code, errs)
		}
	}
}

// TestCompareGroupsApart: sets that are read apart have the groups of what is compared of them: of ensembles, as arrays and tables, those of
// the means of their members, and of models of --from those of the rows of each group by themselves.
func TestCompareGroupsApart(t *testing.T) {
	d, e := newDir(t), newDir(t)
	rows, old, now, y, site := groupedModels(1200)
	n := int64(len(rows))
	mean := func(p, q []float64) []float64 {
		l := make([]float64, len(p))
		for i := range p {
			l[i] = (p[i] + q[i]) / 2
		}
		return l
	}
	grid := func(p []float64) []float64 { // means of these are exact
		l := make([]float64, len(p))
		for i, v := range p {
			l[i] = math.Round(v*1022+1) / 1024
		}
		return l
	}
	old, now = grid(old), grid(now)
	back := slices.Clone(old)
	slices.Reverse(back)
	labels, sites := d.put("y.npy", npy(t, []int64{n}, y)), d.put("site.npy", textArray(site))
	more := []string{"--labels", labels, "--group", sites, "--metrics", "nll,brier", "--json"}
	table := func(p, q []float64) []byte {
		var b strings.Builder
		b.WriteString("m0,m1,y,site\n")
		for i := range p {
			fmt.Fprintf(&b, "%v,%v,%d,%s\n", p[i], q[i], y[i], site[i])
		}
		return []byte(b.String())
	}
	want, raw := differencesByGroup(t, printed(t, with([]string{"compare", d.put("a.npy", npy(t, []int64{n}, mean(old, back))), d.put("b.npy", npy(t, []int64{n}, mean(now, back)))}, more...)...))
	for _, args := range [][]string{
		with([]string{"compare", e.put("a.npy", npy(t, []int64{2, n, 1}, slices.Concat(old, back))), e.put("b.npy", npy(t, []int64{2, n, 1}, slices.Concat(now, back))), "--task", "ensemble"}, more...),
		{"compare", e.put("a.csv", table(old, back)), e.put("b.csv", table(now, back)), "--task", "ensemble", "--prob", "m0", "--prob", "m1", "--label", "y", "--group", "site", "--metrics", "nll,brier", "--json"},
	} {
		if got, doc := differencesByGroup(t, printed(t, args...)); doc != raw || len(want.Groups) < 6 {
			t.Errorf("%v: %d groups: %s\nwant %s", args, len(got.Groups), doc, raw)
		}
	}
	// One ensemble by groups: as a table, as the merge of a state, and with the scores of its mean.
	type byGroup struct {
		Groups []struct {
			Group   map[string]string
			Metrics map[string]any
			Members []any
		}
	}
	doc := printed(t, with([]string{"eval", e.at("a.npy"), "--task", "ensemble", "--state", e.at("a.state")}, more...)...)
	var members, one byGroup
	if err := errors.Join(json.Unmarshal([]byte(doc), &members), json.Unmarshal([]byte(printed(t, with([]string{"eval", d.at("a.npy")}, more...)...)), &one)); err != nil {
		t.Fatal(err)
	}
	if len(members.Groups) < 3 || len(members.Groups) != len(one.Groups) {
		t.Fatalf("%d groups of the members, %d of the mean", len(members.Groups), len(one.Groups))
	}
	for i, g := range members.Groups {
		if o := one.Groups[i]; !reflect.DeepEqual(g.Group, o.Group) || !reflect.DeepEqual(g.Metrics, o.Metrics) || len(g.Members) != 2 {
			t.Errorf("group %v: %v and %d members; the mean has %v", g.Group, g.Metrics, len(g.Members), o.Metrics)
		}
	}
	if got := printed(t, "eval", e.at("a.csv"), "--task", "ensemble", "--prob", "m0", "--prob", "m1", "--label", "y", "--group", "site", "--metrics", "nll,brier", "--json"); got != doc {
		t.Errorf("a table: %s\nwant %s", got, doc)
	}
	if got := printed(t, "merge", e.at("a.state"), "--json"); got != doc {
		t.Errorf("a state: %s\nwant %s", got, doc)
	}
	// Models of one file, of which one lacks some rows.
	r := rand.New(rand.NewPCG(7, 8))
	var lines []string
	head := "unique_id,ds,y,One,One-lo-80,One-hi-80,Two,Two-lo-80,Two-hi-80\n"
	for i := range 240 {
		at, off := r.NormFloat64(), 0.3*r.NormFloat64()
		line := fmt.Sprintf("%c,%d,%.4f,%.4f,%.4f,%.4f", 'A'+i%3, i/3, at+0.4*r.NormFloat64(), at, at-0.5, at+0.5)
		if two := at + off; i%5 == 0 {
			line += ",,,"
		} else {
			line += fmt.Sprintf(",%.4f,%.4f,%.4f", two, two-0.7, two+0.4)
		}
		lines = append(lines, line+"\n")
	}
	file := d.put("models.csv", []byte(head+strings.Join(lines, "")))
	models := []string{"--from", "nixtla", "--on-invalid", "drop", "--metrics", "wis", "--json"}
	got, doc := differencesByGroup(t, printed(t, with([]string{"compare", file, "--group", "unique_id"}, models...)...))
	if len(got.Groups) != 3 || got.Metrics[0].Family != 3 {
		t.Fatal(doc)
	}
	for _, g := range got.Groups {
		id := g.Group["unique_id"]
		alone := d.put(id+".csv", []byte(head+strings.Join(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return l[:1] != id }), "")))
		var whole struct {
			Differences []struct{ Value, Low, High, P float64 }
		}
		if err := json.Unmarshal([]byte(printed(t, with([]string{"compare", alone}, models...)...)), &whole); err != nil {
			t.Fatal(err)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 } // a whole difference is that of two rounded means
		for i, x := range g.Differences {
			if w := whole.Differences[i]; !near(x.Value, w.Value) || !near(x.Low, w.Low) || !near(x.High, w.High) || !near(*x.P, w.P) || g.Rows != 64 {
				t.Errorf("group %s has %+v of %d rows, and its rows alone %+v", id, x, g.Rows, w)
			}
		}
	}
	clustered, _ := differencesByGroup(t, printed(t, with([]string{"compare", file, "--group", "unique_id", "--cluster", "ds"}, models...)...))
	if clustered.Groups[0].Clusters != 64 {
		t.Errorf("%+v", clustered.Groups[0])
	}
}
