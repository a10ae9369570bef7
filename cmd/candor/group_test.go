package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// textArray returns an .npy of text, in characters of four bytes.
func textArray(values []string) []byte {
	width := 1
	for _, v := range values {
		width = max(width, len([]rune(v)))
	}
	var data []byte
	for _, v := range values {
		cell := make([]byte, 4*width)
		for i, r := range []rune(v) {
			cell[4*i], cell[4*i+1], cell[4*i+2] = byte(r), byte(r>>8), byte(r>>16)
		}
		data = append(data, cell...)
	}
	return raw(fmt.Sprintf("{'descr': '<U%d', 'fortran_order': False, 'shape': (%d,), }", width, len(values)), data)
}

// splitGroups splits a document of groups into what it says without them, and of each group.
func splitGroups(t *testing.T, doc string) (whole string, groups map[string]string) {
	t.Helper()
	var all map[string]json.RawMessage
	var each []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(doc), &all); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(all["groups"], &each); err != nil {
		t.Fatalf("no groups: %v\n%s", err, doc)
	}
	delete(all, "groups")
	if len(all["group_tests"]) == 0 {
		t.Errorf("no tests of groups:\n%s", doc)
	}
	delete(all, "group_tests")
	plain := func(m map[string]json.RawMessage) string {
		delete(m, "schema")
		delete(m, "verdict") // which is of many groups, as the judgement is
		delete(m, "judgement")
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	groups = map[string]string{}
	for _, g := range each {
		var by map[string]string
		if err := json.Unmarshal(g["group"], &by); err != nil {
			t.Fatal(err)
		}
		delete(g, "group")
		groups[fmt.Sprint(by)] = plain(g)
	}
	return plain(all), groups
}

// TestGroups: the document of a group is that of its rows alone, and that of the whole that without groups, whatever says the groups.
func TestGroups(t *testing.T) {
	d := newDir(t)
	sites := []string{"north", "süd", "", "ost 1"}
	for _, k := range []int{3, 1}[:check.Size(1, 2, 2)] {
		s := newSet(uint64(k), 400, k)
		site, number := make([]string, s.rows), make([]int32, s.rows)
		for i := range s.rows {
			site[i], number[i] = sites[i*7%11%4], int32(i%3-1)
		}
		x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
		text, numbers := d.put("site.npy", textArray(site)), npy(t, []int64{int64(s.rows)}, number)
		var shards []string
		for i, cut := range [][2]int{{0, 130}, {130, 400}} {
			p := s.part(cut[0], cut[1])
			shards = append(shards, d.put(fmt.Sprintf("%d.npz", i), npz(t, "probs.npy", p.scores(t), "labels.npy", p.labelFile(t),
				"site.npy", textArray(site[cut[0]:cut[1]]), "no.npy", npy(t, []int64{int64(p.rows)}, number[cut[0]:cut[1]]))))
		}
		task := map[int]string{1: "binary", 3: "classification"}[k]
		const metrics = "default,nll,ece(bins=5),brier,mce"
		_, want, _ := candor(t, "eval", "--json", x, "--labels", y, "--metrics", metrics)
		alone := map[string]string{} // the document of a group's rows
		for _, a := range sites {
			for b := range 3 {
				o := s.only(func(i int) bool { return site[i] == a && number[i] == int32(b-1) })
				_, doc, _ := candor(t, "eval", "--json", d.put("alone.npy", o.scores(t)), "--labels", d.put("aloney.npy", o.labelFile(t)), "--metrics", metrics)
				var m map[string]json.RawMessage
				if err := json.Unmarshal([]byte(doc), &m); err != nil {
					t.Fatal(err)
				}
				delete(m, "schema")
				delete(m, "verdict")
				delete(m, "judgement")
				withoutDetail(m)
				text, _ := json.Marshal(m)
				alone[fmt.Sprint(map[string]string{"site": a, "no": fmt.Sprint(b - 1)})] = string(text)
			}
		}
		for _, args := range [][]string{
			{x, "--labels", y, "--group", text + "," + d.put("no.npy", numbers), "--task", task},
			{x, "--labels", y, "--group", text, "--group", d.put("other.npz", npz(t, "no.npy", numbers, "probs.npy", s.scores(t))) + ":no"},
			{shards[1], shards[0], "--group", "site,no"},
			{shards[0], shards[1], "--group", "site", "--group", d.at("no.npy"), "--threads", "1"},
		} {
			state := d.at("g.state")
			code, doc, errs := candor(t, append([]string{"eval", "--json", "--metrics", metrics, "--state", state}, args...)...)
			if code != 0 {
				t.Fatalf("candor eval %v: exit code %d: %s", args, code, errs)
			}
			whole, groups := splitGroups(t, doc)
			var all map[string]json.RawMessage
			if err := json.Unmarshal([]byte(want), &all); err != nil {
				t.Fatal(err)
			}
			var verdicts [2]struct{ Verdict string }
			if json.Unmarshal([]byte(want), &verdicts[0]) != nil || json.Unmarshal([]byte(doc), &verdicts[1]) != nil || !strings.HasPrefix(verdicts[1].Verdict, verdicts[0].Verdict+" ") || !strings.Contains(verdicts[1].Verdict, "of 9 groups are off (Holm's method over 18 tests): ") {
				t.Errorf("%v: the verdict is %q, want %q and which groups are off", args, verdicts[1].Verdict, verdicts[0].Verdict)
			}
			delete(all, "schema")
			delete(all, "verdict")
			delete(all, "judgement")
			if b, _ := json.Marshal(all); string(b) != whole {
				t.Errorf("%v: the whole is\n%s\nwant\n%s", args, whole, b)
			}
			if len(groups) != 3*len(sites) {
				t.Errorf("%v: %d groups", args, len(groups))
			}
			for group, want := range alone {
				if got := groups[group]; got != want {
					t.Errorf("%v: group %s is\n%s\nwant\n%s", args, group, got, want)
				}
			}
			if code, again, errs := candor(t, "merge", "--json", state); code != 0 || again != doc {
				t.Errorf("exit code %d: %s: the state is of another document", code, errs)
			}
		}
		// A picture is of the whole.
		plain, grouped := drawnBy(t, d, "eval", x, "--labels", y), drawnBy(t, d, "eval", x, "--labels", y, "--group", text)
		if plain != grouped {
			t.Error("a picture with groups is another one")
		}
		// Gates look at the whole.
		if code, _, errs := candor(t, "eval", x, "--labels", y, "--group", text, "--fail-if", "ece>0.9"); code != 0 {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
}

// TestManyGroups: of more than 1,000 groups the table has the worst 20, CSV and JSON have all, states merge, and gates look at all.
func TestManyGroups(t *testing.T) {
	d := newDir(t)
	const rows, groups = 48_000, 1200
	r := rand.New(rand.NewPCG(31, 1))
	user, label, p := make([]int32, rows), make([]int32, rows), make([]float64, rows)
	for i := range user {
		p[i] = r.Float64()
		if user[i] = int32(i % groups); user[i] == 77 || r.Float64() < p[i] {
			label[i] = 1
		}
	}
	x, y, g := d.put("x.npy", npy(t, []int64{rows}, p)), d.put("y.npy", npy(t, []int64{rows}, label)), d.put("user.npy", npy(t, []int64{rows}, user))
	args := []string{x, "--labels", y, "--group", g, "--max-memory", "1GiB", "--state", d.at("all.state")}
	eval := func(more ...string) string {
		code, out, errs := candor(t, append(append([]string{"eval"}, args...), more...)...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", more, code, errs)
		}
		return out
	}
	table := eval()
	for _, w := range []string{"1 of 1,200 groups is off (Holm's method over 2,400 tests): user=77 (mean prediction ", "\n 77      40 ", "(1,180 more groups, no room for shrunk gap: --format csv or json has all)"} {
		if !strings.Contains(table, w) {
			t.Errorf("the table has no %q:\n%s", w, table)
		}
	}
	if csv := eval("--format", "csv"); strings.Count(csv, "nll,") != groups+1 || !strings.Contains(csv, "\n77,40,group_total_p_adjusted,") {
		t.Errorf("the CSV has %d rows of nll", strings.Count(csv, "nll,"))
	}
	doc := eval("--json")
	var of struct {
		Groups     []any
		GroupTests struct {
			Off, Family int
			NotKept     []string `json:"not_kept"`
			Groups      []struct {
				Group   map[string]string
				Off     bool
				Metrics map[string]any
			}
		} `json:"group_tests"`
	}
	if err := json.Unmarshal([]byte(doc), &of); err != nil {
		t.Fatal(err)
	}
	tests := of.GroupTests
	if len(of.Groups) != 0 || tests.Off != 1 || tests.Family != 2*groups || len(tests.Groups) != groups || !slices.Contains(tests.NotKept, "auroc") ||
		!tests.Groups[0].Off || tests.Groups[0].Group["user"] != "77" || tests.Groups[0].Metrics["nll"] == nil {
		t.Errorf("%d groups, %+v", len(tests.Groups), tests.Groups[0])
	}
	if code, again, errs := candor(t, "merge", "--json", d.at("all.state"), "--max-memory", "1GiB"); code != 0 || again != doc {
		t.Errorf("exit code %d: %s: the state is of another document", code, errs)
	}
	for gate, want := range map[string]string{"worst_group.bias.high<-0.05": "in user=77 (40 rows, 99.9958% interval for 1,200 groups together)",
		"worst_group.auroc.low<0.1": "with more than 1,000 groups only sums are kept"} {
		if code, _, errs := candor(t, append(append([]string{"eval"}, args...), "--fail-if", gate)...); code != exitGate || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d: %s", gate, code, errs)
		}
	}
}

func TestGroupsRefuse(t *testing.T) {
	d := newDir(t)
	s := newSet(12, 1200, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	ids := make([]int32, s.rows)
	for i := range ids {
		ids[i] = int32(i)
	}
	many := d.put("id.npy", npy(t, []int64{100_001}, slices.Collect(func(yield func(int32) bool) {
		for i := range int32(100_001) {
			if !yield(i) {
				return
			}
		}
	})))
	long := newSet(12, 100_001, 1)
	longX, longY := d.put("longx.npy", long.scores(t)), d.put("longy.npy", long.labelFile(t))
	short := d.put("short.npy", npy(t, []int64{1199}, ids[1:]))
	box := d.put("box.npz", npz(t, "probs.npy", s.scores(t), "labels.npy", s.labelFile(t)))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{x, "--labels", y, "--group", y, "--task", "ensemble"}, exitData, "is one model's scores, not an ensemble"},
		{[]string{x, "--labels", y, "--group", y, "--task", "multilabel"}, exitUsage, "--group is for"},
		{[]string{x, "--group", y, "--task", "loglik"}, exitUsage, "--group is for"},
		{[]string{x, "--labels", y, "--group", y, "--ood", x}, exitUsage, "--group and --ood are both given"},
		{[]string{"--group", y}, exitUsage, "no predictions are named"},
		{[]string{x, "--labels", y, "--group", short}, exitData, "short.npy: 1199 groups for the 1200 rows of "},
		{[]string{x, "--labels", y, "--group", x}, exitData, "x.npy: groups are float32; save whole numbers or text"},
		{[]string{x, "--labels", y, "--group", "site"}, exitData, "site: no such file"},
		{[]string{box, "--group", "site"}, exitData, "site: no such file, and no array of that name in "},
		{[]string{x, "--labels", y, "--group", y + "," + y}, exitData, `two columns to group by have the name "y"`},
		{[]string{longX, "--labels", longY, "--group", many, "--max-memory", "4GiB"}, exitData, `longx.npy: row 100000: more than 100,000 groups: column "id" has 100,001 values so far; group by a column of fewer values`},
		{[]string{x, "--labels", y, "--group", y, "--state", y}, exitUsage, "that file is read"},
		{[]string{x, "--labels", y, "--first-row", "-1"}, exitUsage, "--first-row is -1"},
		{[]string{d.put("bad.npy", s.with(7, 1, -1).scores(t)), "--labels", y, "--first-row", "5000"}, exitData, "bad.npy: row 7, column 1: probability is -1"},
	} {
		code, out, errs := candor(t, append([]string{"eval"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("candor eval %v: exit code %d, want %d: %s, want %q", c.args, code, c.code, errs, c.want)
		}
	}
	_, _, plain := candor(t, "eval", d.at("bad.npy"), "--labels", y)
	if _, _, far := candor(t, "eval", d.at("bad.npy"), "--labels", y, "--first-row", "5000"); far != plain || !strings.Contains(plain, "row 7") {
		t.Errorf("rows are named\n%s\nwant\n%s", far, plain)
	}
}

// TestFirstRow: shards evaluated apart draw the random numbers of their rows in the whole set, and merge to its bytes.
func TestFirstRow(t *testing.T) {
	d := newDir(t)
	const n, m = 400, 6
	x, y := draws(9, n, m)
	for i := range x { // many ties, which random numbers break
		x[i] = float64(int(x[i]))
	}
	for i := range y {
		y[i] = float64(int(y[i]))
	}
	cuts := []int{0, 90, 91, n}
	quantiles := func(from, to int) []byte {
		var b strings.Builder
		b.WriteString("q0.1,q0.25,q0.5,q0.75,q0.9,observed\n")
		for i := from; i < to; i++ {
			c := x[i*m]
			fmt.Fprintf(&b, "%v,%v,%v,%v,%v,%v\n", c-2, c-1, c, c+1, c+2, y[i])
		}
		return []byte(b.String())
	}
	for _, c := range []struct {
		name  string
		files func(from, to int) []string
	}{
		{"samples", func(from, to int) []string {
			return []string{d.put("x.npy", npy(t, []int64{int64(to - from), m}, x[from*m:to*m])), "--task", "samples",
				"--labels", d.put("y.npy", npy(t, []int64{int64(to - from)}, y[from:to]))}
		}},
		{"quantiles", func(from, to int) []string {
			return []string{d.put("q.csv", quantiles(from, to)), "--task", "quantiles", "--quantile-prefix", "q"}
		}},
	} {
		flags := []string{"eval", "--metrics", "all", "--seed", "5", "--json", "--state"}
		code, want, errs := candor(t, append(append(flags, d.at("all.state")), c.files(0, n)...)...)
		if code != 0 {
			t.Fatalf("%s: exit code %d: %s", c.name, code, errs)
		}
		merged := func(numbered bool) (string, []byte) {
			var states []string
			for i := range cuts[1:] {
				states = append(states, d.at(fmt.Sprintf("%d.state", i)))
				args := append(append(flags, states[i]), c.files(cuts[i], cuts[i+1])...)
				if numbered {
					args = append(args, "--first-row", fmt.Sprint(cuts[i]))
				}
				if code, _, errs := candor(t, args...); code != 0 {
					t.Fatalf("%s: exit code %d: %s", c.name, code, errs)
				}
			}
			code, got, errs := candor(t, "merge", "--json", "-o", d.at("sum.state"), states[2], states[0], states[1])
			if code != 0 {
				t.Fatalf("%s: exit code %d: %s", c.name, code, errs)
			}
			return got, d.read(filepath.Join(d.path, "sum.state"))
		}
		got, state := merged(true)
		if got != want || string(state) != string(d.read(d.at("all.state"))) {
			t.Errorf("%s: shards merge to\n%s\nwant\n%s", c.name, got, want)
		}
		if got, _ := merged(false); got == want {
			t.Errorf("%s: --first-row changes nothing", c.name)
		}
	}
}
