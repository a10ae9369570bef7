package main

import (
	"bytes"
	csvreader "encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// wards is a table with columns to slice by; rows of site s are wrong from age 60 on.
func wards(rows int) string {
	var b strings.Builder
	b.WriteString("p,y,site,age,sex\n")
	x := uint64(11)
	next := func() float64 {
		x = x*6364136223846793005 + 1442695040888963407
		return float64(x>>11) / (1 << 53)
	}
	for range rows {
		p, site, age, sex := next(), "nsew"[int(4*next())], 18+int(70*next()), "fm"[int(2*next())]
		q := p
		if site == 's' && age >= 60 {
			q = p / 2
		}
		y := 0
		if next() < q {
			y = 1
		}
		fmt.Fprintf(&b, "%.3f,%d,%c,%d,%c\n", p, y, site, age, sex)
	}
	return b.String()
}

// TestSliceShards: shards merge to the bytes and to the document of all rows, whatever their formats.
func TestSliceShards(t *testing.T) {
	d := newDir(t)
	text := wards(900)
	lines := strings.SplitAfter(text, "\n")
	whole := d.put("whole.csv", []byte(text))
	flags := []string{"--prob", "p", "--labels", "y", "--slice-by", "site,age,score,sex", "--slice-edges", "age=0,30,60,inf"}
	want := printed(t, append([]string{"eval", whole, "--json", "--state", d.at("whole.state")}, flags...)...)
	var states []string
	for i, from := range []int{1, 101, 500} {
		to := []int{101, 500, len(lines)}[i]
		part := d.put(fmt.Sprintf("part-%d.csv", i), []byte(lines[0]+strings.Join(lines[from:to], "")))
		states = append([]string{d.at(fmt.Sprint(i, ".state"))}, states...)
		printed(t, append([]string{"eval", part, "--json", "--state", states[0]}, flags...)...)
	}
	if got := printed(t, append([]string{"merge", "--json", "-o", d.at("all.state")}, states...)...); got != want {
		t.Error("merged shards give another document:", differing(got, want))
	}
	a, err := os.ReadFile(d.at("all.state"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(d.at("whole.state")); err != nil || !bytes.Equal(a, b) {
		t.Error("merged shards give another state", err)
	}
	table := printed(t, append([]string{"eval", whole}, flags...)...)
	for _, part := range []string{"slices are off in the large (p adjusted by Holm)", "site = s, age = (60, inf]", "The segment with the largest ECCE: site", "more slices", "multicalibration_gap_p"} {
		if !strings.Contains(strings.ReplaceAll(table, "\n", " "), part) {
			t.Errorf("%q is not in\n%s", part, table)
		}
	}
	if code, _, errs := candor(t, append([]string{"eval", whole, "--fail-if", "multicalibration_gap_p<0.01"}, flags...)...); code != exitGate {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestSliceClusters: slices are tested by clusters, whose shards merge to the document of all rows.
func TestSliceClusters(t *testing.T) {
	d := newDir(t)
	lines := strings.SplitAfter(wards(900), "\n")
	var all, a, b strings.Builder
	for i, l := range lines[:901] {
		l = strings.TrimSuffix(l, "\n") + map[bool]string{true: ",patient\n", false: fmt.Sprintf(",P%d\n", i*i%61)}[i == 0]
		all.WriteString(l)
		if i%3 == 0 {
			a.WriteString(l)
		}
		if i%3 != 0 || i == 0 {
			b.WriteString(l)
		}
	}
	whole := d.put("whole.csv", []byte(all.String()))
	flags := []string{"--prob", "p", "--labels", "y", "--slice-by", "site,age,score", "--slice-edges", "age=0,30,60,inf", "--cluster", "patient", "--min-rows", "5"}
	want := printed(t, append([]string{"eval", whole, "--json"}, flags...)...)
	for i, text := range []string{a.String(), b.String()} {
		printed(t, append([]string{"eval", d.put(fmt.Sprint(i, ".csv"), []byte(text)), "--json", "--state", d.at(fmt.Sprint(i, ".state"))}, flags...)...)
	}
	if got := printed(t, "merge", "--json", "--min-rows", "5", d.at("1.state"), d.at("0.state")); got != want {
		t.Error("merged shards give another document:", differing(got, want))
	}
	var doc struct {
		Metrics map[string]struct{ Value *float64 }
		Slices  struct {
			List []struct {
				Slice    map[string]string
				Low, P   *float64
				Clusters int
			}
		}
	}
	if err := json.Unmarshal([]byte(want), &doc); err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, s := range doc.Slices.List {
		if (s.P != nil) != (s.Clusters >= 10) || (s.Low != nil) != (s.P != nil) {
			t.Errorf("%+v", s)
		}
		if s.P != nil {
			tested++
		}
	}
	if m := doc.Metrics; tested < 10 || tested == len(doc.Slices.List) || m["multicalibration_gap_p"].Value == nil {
		t.Errorf("%d of %d slices are tested; %+v", tested, len(doc.Slices.List), m)
	}
	out := printed(t, append([]string{"eval", whole}, flags...)...)
	text := strings.Join(strings.Fields(out), " ")
	if !strings.Contains(text, "of fewer than 10 clusters are not tested.") || doc.Metrics["multicalibration_error_p"].Value != nil || !strings.Contains(text, "multicalibration_error_p: it is a p-value of independent rows") ||
		strings.Contains(text, "multicalibration_gap_p: computed as if") {
		t.Error(out)
	}
}

// TestSliceArrays: the rows of a table and of arrays have the same slices, and numbers the same bins of equal mass.
func TestSliceArrays(t *testing.T) {
	d := newDir(t)
	var p, age []float64
	var y []int32
	var site []string
	for _, l := range strings.Split(strings.TrimSpace(wards(700)), "\n")[1:] {
		var v, a float64
		var label int32
		f := strings.Split(l, ",")
		fmt.Sscan(f[0], &v)
		fmt.Sscan(f[1], &label)
		fmt.Sscan(f[3], &a)
		p, y, site, age = append(p, v), append(y, label), append(site, f[2]), append(age, a)
	}
	n := []int64{int64(len(p))}
	csv := d.put("rows.csv", []byte(wards(700)))
	slicesOf := func(args ...string) string {
		var doc struct{ Slices json.RawMessage }
		if err := json.Unmarshal([]byte(printed(t, append([]string{"eval", "--json"}, args...)...)), &doc); err != nil {
			t.Fatal(err)
		}
		return string(doc.Slices)
	}
	want := slicesOf(csv, "--prob", "p", "--labels", "y", "--slice-by", "site,age,score")
	got := slicesOf(d.put("p.npy", npy(t, n, p)), "--labels", d.put("y.npy", npy(t, n, y)), "--slice-by", d.put("site.npy", textArray(site))+","+d.put("age.npy", npy(t, n, age))+",score")
	if got != want || !strings.Contains(want, `"age": "(`) {
		t.Error(differing(got, want))
	}
	// Edges found in the first read, given back, have the same slices.
	var doc struct {
		Columns []struct {
			Name  string
			Edges []float64
		}
		List json.RawMessage
	}
	if err := json.Unmarshal([]byte(want), &doc); err != nil {
		t.Fatal(err)
	}
	edges := "age="
	for i, x := range doc.Columns[1].Edges {
		if i > 0 {
			edges += ","
		}
		edges += fmt.Sprint(x)
	}
	again := slicesOf(csv, "--prob", "p", "--labels", "y", "--slice-by", "site,age,score", "--slice-edges", edges)
	if !strings.Contains(again, string(doc.List)) {
		t.Error("the edges of the first read give other slices")
	}
}

// TestSliceUsage: what does not go together, and what to do.
func TestSliceUsage(t *testing.T) {
	d := newDir(t)
	csv := d.put("rows.csv", []byte(wards(300)))
	eval := func(args ...string) []string {
		return append([]string{"eval", csv, "--prob", "p", "--labels", "y"}, args...)
	}
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{eval("--slice-edges", "age=0,1"), exitUsage, "--slice-edges is for the columns of --slice-by"},
		{eval("--slice-by", "site", "--group", "sex"), exitUsage, "--slice-by does not go with --group"},
		{eval("--slice-by", "site", "--temperature-scaled"), exitUsage, "--slice-by does not go with --temperature-scaled"},
		{eval("--slice-by", "site,site"), exitUsage, "name each column once"},
		{eval("--slice-by", "a,b,c,d,e,f,g,h,i,j,k"), exitUsage, "at most 10 are crossed"},
		{eval("--slice-by", "site", "--slice-edges", "age=0,1"), exitUsage, "where --slice-by names the column"},
		{eval("--slice-by", "age", "--slice-edges", "age=0"), exitUsage, "two rising numbers or more"},
		{eval("--slice-by", "age", "--slice-edges", "age=0,2,1"), exitUsage, "two rising numbers or more"},
		{eval("--slice-by", "age", "--slice-edges", "age=0,nan"), exitUsage, "two rising numbers or more"},
		{eval("--slice-by", "age", "--slice-edges", "age=0,x"), exitUsage, "two rising numbers or more"},
		{eval("--slice-by", "age", "--slice-edges", "age=0,1", "--slice-edges", "age=0,1"), exitUsage, "edges twice"},
		{eval("--slice-by", "site", "--slice-edges", "site=0,1"), exitUsage, "no value of that column is a number"},
		{eval("--slice-by", "site,age", "--state", d.at("x.state")), exitUsage, "--slice-edges age=EDGES"},
		{eval("--slice-by", "colour"), exitData, `no column "colour" for the slices: the columns are "p", "y", "site", "age", "sex"; name the column by --slice-by`},
		{eval("--slice-by", "site,sex"), 0, "slices by site; slices by sex."},
		{eval("--slice-by", "site", "--adjust", "max"), exitUsage, "holm or bh"},
		{[]string{"eval", csv, "--task", "regression", "--mean", "p", "--std", "age", "--observed", "y", "--slice-by", "site"}, exitUsage, "--slice-by does not go with --task regression"},
	} {
		code, _, errs := candor(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.said) {
			t.Errorf("%v: exit code %d: %s", c.args[2:], code, errs)
		}
	}
	if _, err := os.Stat(d.at("x.state")); err == nil {
		t.Error("a state was written after an error")
	}
	for _, f := range []string{"age=0,50,100", "age=0,60,100"} {
		printed(t, eval("--slice-by", "site,age", "--slice-edges", f, "--state", d.at(f[6:7]+".state"))...)
	}
	if code, _, errs := candor(t, "merge", d.at("5.state"), d.at("6.state")); code != exitData || !strings.Contains(errs, `bins of column "age" have edges`) || !strings.Contains(errs, "--slice-edges") {
		t.Error(code, errs)
	}
	// Rows with weights have no slices, and say so.
	if out := printed(t, eval("--slice-by", "site", "--weights", "age", "--metrics", "ece")...); !strings.Contains(out, "Slices: none, since rows with weights are not sliced.") {
		t.Error(out)
	}
	// All slices are in CSV, and bins beyond the edges read as conditions.
	out := printed(t, eval("--slice-by", "site,age", "--slice-edges", "age=30,60", "--metrics", "bias", "--format", "csv")...)
	rows, err := csvreader.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if head := strings.Join(rows[0], ","); head != "slice,rows,metric,value,low,high,level,better,meaning" || rows[1][0] != "" || rows[1][2] != "bias" {
		t.Error(rows[:2])
	}
	whole := 0
	for _, r := range rows {
		if r[2] == "slice_gap" && strings.HasPrefix(r[0], "age ") {
			n, err := strconv.Atoi(r[1])
			if err != nil {
				t.Error(err)
			}
			whole += n
		}
	}
	if whole != 300 || !strings.Contains(out, "\nage < 30,") || !strings.Contains(out, "\nage > 60,") || !strings.Contains(out, ",slice_p_adjusted,") {
		t.Errorf("%d rows: %s", whole, out)
	}
	// A missing value is one, and numbers with texts among them are texts.
	few := d.put("few.csv", []byte(strings.Replace(strings.Replace(wards(300), ",18,", ",,", 1), ",19,", ",unknown,", 1)))
	if out := printed(t, "eval", few, "--prob", "p", "--labels", "y", "--slice-by", "age", "--min-rows", "1", "--format", "markdown", "--slice-edges", "age=0,50,100", "--metrics", "ece"); !strings.Contains(out, `age = ""`) || !strings.Contains(out, "age = unknown") || !strings.Contains(out, "age = (50, 100]") {
		t.Error(out)
	}
}

// TestGroupsPictureOfNone: a picture of groups that are all too small says so.
func TestGroupsPictureOfNone(t *testing.T) {
	d := newDir(t)
	printed(t, "eval", d.put("rows.csv", []byte(wards(100))), "--prob", "p", "--labels", "y", "--group", "site", "--min-rows", "1000", "--plot", d.at("groups.svg"), "--plot-kind", "groups")
	text, err := os.ReadFile(d.at("groups.svg"))
	if err != nil || !strings.Contains(string(text), "no group has 1,000 rows") || strings.Contains(string(text), "The worst first") {
		t.Errorf("%v: %s", err, text)
	}
}
