package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/report"
)

// driftDocument is what candor drift prints as JSON.
type driftDocument struct {
	Schema, Task, Verdict, Adjust string
	Old, New                      struct {
		Name  string
		Rows  int
		State struct{ SHA256 string }
	}
	Level  float64
	Scores struct {
		P   *float64
		PSI struct{ Value float64 }
		KS  struct{ Value, P *float64 }
	}
	Outcomes, Calibration struct{ P *float64 }
	Metrics               struct {
		P           *float64
		Differences map[string]struct {
			Old, New, Value any
			Low, High, P    *float64
			Adjusted        *float64 `json:"p_adjusted"`
			Reason          string
		}
	}
	Bins     []json.RawMessage
	Warnings []string
}

func drifted(t *testing.T, args ...string) *driftDocument {
	t.Helper()
	code, out, errs := candor(t, append([]string{"drift", "--json"}, args...)...)
	if code != exitDone || errs != "" {
		t.Fatalf("candor drift %v: exit code %d: %s", args, code, errs)
	}
	checkSchema(t, out)
	d := new(driftDocument)
	if err := json.Unmarshal([]byte(out), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// months writes the states of two sets of binary rows, of which the second has higher scores, and a third like the first.
func months(t *testing.T, d *dir) (june, july, august string) {
	t.Helper()
	for i, name := range []string{"june", "july", "august"} {
		r := rand.New(rand.NewPCG(uint64(i), 8))
		var b strings.Builder
		b.WriteString("p,y,site\n")
		for j := range 900 + 100*i {
			z := 1.5 * r.NormFloat64()
			if name == "july" {
				z += 0.5
			}
			p := 1 / (1 + math.Exp(-z))
			y := 0
			if r.Float64() < p {
				y = 1
			}
			fmt.Fprintf(&b, "%v,%d,%c\n", p, y, 'a'+j%2)
		}
		table := d.put(name+".csv", []byte(b.String()))
		if code, _, errs := candor(t, "eval", table, "--prob", "p", "--labels", "y", "--state", d.at(name+".state")); code != exitDone {
			t.Fatal(errs)
		}
	}
	return d.at("june.state"), d.at("july.state"), d.at("august.state")
}

func TestDrift(t *testing.T) {
	d := newDir(t)
	june, july, august := months(t, d)
	moved, same := drifted(t, june, july), drifted(t, june, august, "--adjust", "bh", "--confidence", "0.9")
	if !strings.HasPrefix(moved.Verdict, "Scores, outcomes and metrics drifted between 900 and 1,000 rows: PSI ") || !strings.HasSuffix(moved.Verdict, ". No drift of calibration seen.") {
		t.Error(moved.Verdict)
	}
	if same.Verdict != "No drift of scores, outcomes, calibration or metrics seen between 900 and 1,100 rows." {
		t.Error(same.Verdict)
	}
	if moved.Adjust != "holm" || moved.Level != 0.95 || same.Adjust != "bh" || same.Level != 0.9 || moved.Task != "binary" || len(moved.Bins) != 15 {
		t.Errorf("%+v", moved)
	}
	if moved.Old.Name != june || moved.Old.Rows != 900 || moved.New.Rows != 1000 {
		t.Errorf("%+v %+v", moved.Old, moved.New)
	}
	// Both documents name the states that were read.
	if doc := evaluate(t, d.at("june.csv"), "--prob", "p", "--labels", "y"); doc.State.SHA256 != moved.Old.State.SHA256 || moved.Old.State.SHA256 == moved.New.State.SHA256 {
		t.Errorf("%v and %v, want %v", moved.Old.State, moved.New.State, doc.State)
	}
	m := moved.Metrics.Differences
	if b := m["mean_p"]; b.Low == nil || *b.Low <= 0 || *b.P > 1e-6 || *b.Adjusted < *b.P || b.Value != b.New.(float64)-b.Old.(float64) {
		t.Errorf("%+v", b)
	}
	if e := m["ece"]; e.Low != nil || e.P != nil || e.Value == nil || !strings.Contains(e.Reason, "chance") {
		t.Errorf("%+v", e)
	}
	// Shards that are merged first drift in the same way; a grouped state is its whole.
	for i, rows := range [][]string{{"1", "450"}, {"451", "900"}} {
		lines := strings.SplitAfter(string(d.read(d.at("june.csv"))), "\n")
		part := lines[1:451]
		if i == 1 {
			part = lines[451:901]
		}
		table := d.put("part"+rows[0]+".csv", []byte(lines[0]+strings.Join(part, "")))
		if code, _, errs := candor(t, "eval", table, "--prob", "p", "--labels", "y", "--state", d.at("part"+rows[0]+".state")); code != exitDone {
			t.Fatal(errs)
		}
	}
	if code, _, errs := candor(t, "merge", d.at("part1.state"), d.at("part451.state"), "-o", d.at("merged.state")); code != exitDone {
		t.Fatal(errs)
	}
	if code, _, errs := candor(t, "eval", d.at("june.csv"), "--prob", "p", "--labels", "y", "--group", "site", "--state", d.at("sites.state")); code != exitDone {
		t.Fatal(errs)
	}
	want := printed(t, "drift", june, july)
	for _, s := range []string{"merged.state", "sites.state"} {
		code, out, errs := candor(t, "drift", d.at(s), july)
		if code != exitDone || out != want || (s == "sites.state") != strings.Contains(errs, "has groups of rows, and its whole is compared") {
			t.Errorf("%s: exit code %d: %s%s", s, code, errs, out)
		}
	}
	// Standard input, and names.
	var out, errs bytes.Buffer
	if code := run([]string{"drift", "-", july, "--json", "--name", "-=before", "--name", july + "=after"}, bytes.NewReader(d.read(june)), &out, &errs); code != exitDone ||
		!strings.Contains(out.String(), `"name": "before"`) || !strings.Contains(out.String(), `"name": "after"`) {
		t.Errorf("exit code %d: %s%s", code, errs.String(), out.String())
	}
	if _, _, errs := candor(t, "drift", june, june); !strings.Contains(errs, "are equal: is the same set named twice?") {
		t.Error(errs)
	}
}

// TestDriftFormats checks that all formats have the same numbers.
func TestDriftFormats(t *testing.T) {
	d := newDir(t)
	june, july, _ := months(t, d)
	doc := drifted(t, june, july)
	rows, err := csv.NewReader(strings.NewReader(printed(t, "drift", june, july, "--format", "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range rows[1:] {
		switch {
		case r[0] == "metrics":
			m := doc.Metrics.Differences[r[1]]
			for i, v := range []any{m.Old, m.New, m.Value} {
				if fmt.Sprint(v) != r[2+i] {
					t.Errorf("%s: %v, want %v", r[1], r[2:], m)
				}
			}
			if (m.P == nil) != (r[8] == "") || m.P != nil && fmt.Sprint(*m.P) != r[8] {
				t.Errorf("%s: p is %s, want %v", r[1], r[8], m.P)
			}
			found++
		case r[1] == "psi":
			if fmt.Sprint(doc.Scores.PSI.Value) != r[4] {
				t.Errorf("%v", r)
			}
			found++
		case r[1] == "ks":
			if fmt.Sprint(*doc.Scores.KS.Value) != r[4] || fmt.Sprint(*doc.Scores.KS.P) != r[8] {
				t.Errorf("%v", r)
			}
			found++
		}
	}
	if want := len(doc.Metrics.Differences) + 2; found != want || len(rows) != 1+want+3+2*15 {
		t.Errorf("%d of %d numbers in %d rows", found, want, len(rows))
	}
	for _, format := range []string{"table", "markdown"} {
		out := printed(t, "drift", june, july, "--format", format)
		first, _, _ := strings.Cut(out, "\n")
		if first != doc.Verdict {
			t.Errorf("%s begins with %q, want %q", format, first, doc.Verdict)
		}
		for _, s := range []string{"mean_p", "0.9333 - 1", "By convention", "Holm's method", "brier_skill"} {
			if !strings.Contains(out, s) {
				t.Errorf("%s does not have %q:\n%s", format, s, out)
			}
		}
		for _, l := range strings.Split(out, "\n") {
			if format == "table" && l != first && len([]rune(l)) > 100 || strings.HasSuffix(l, " ") {
				t.Errorf("%s has the line %q", format, l)
			}
		}
	}
}

func TestDriftGates(t *testing.T) {
	d := newDir(t)
	june, july, _ := months(t, d)
	for _, c := range []struct {
		flag, expr string
		fails      bool
	}{
		{"--fail-if", "psi>0.01", true}, {"--fail-if", "psi > 5", false}, {"--require", "psi<=5", false}, {"--require", "psi<0.001", true},
		{"--fail-if", "ks>=0", true}, {"--fail-if", "ks.p<0.01", true}, {"--fail-if", "scores.p<0.01", true}, {"--require", "calibration.p_adjusted>0.05", false},
		{"--fail-if", "outcomes.p>0.9", false}, {"--fail-if", "metrics.p_adjusted<0.01", true},
		{"--fail-if", "delta.mean_p>0.05", true}, {"--fail-if", "delta.mean_p.low>0", true}, {"--fail-if", "delta.mean_p.high<0", false},
		{"--fail-if", "delta.mean_p.value<0", false}, {"--require", "delta.bias.p>0.001", false}, {"--require", "delta.bias.p_adjusted>2", true},
		{"--fail-if", "delta.ece.low>5", true}, {"--require", "delta.ece.low<5", true}, // null fails both
	} {
		code, out, errs := candor(t, "drift", june, july, c.flag, c.expr)
		if want := map[bool]int{true: exitGate, false: exitDone}[c.fails]; code != want || out == "" {
			t.Errorf("%s %q: exit code %d, not %d: %s", c.flag, c.expr, code, want, errs)
		}
		if c.fails != strings.HasPrefix(errs, "candor: gate failed: "+c.expr) {
			t.Errorf("%s %q: %q", c.flag, c.expr, errs)
		}
		if strings.Contains(c.expr, "ece") && !strings.Contains(errs, "is not defined: chance alone adds to it") {
			t.Error(errs)
		}
	}
	for _, c := range []struct{ expr, says string }{
		{"psi", `"psi": it is NAME > NUMBER`}, {"psi>x", `"x" is not a number`}, {"psi>NaN", "is not a number"}, {"spi>1", `there is no "spi"; there are psi, ks, ks.p,`},
		{"psi==1", "it is NAME > NUMBER"}, {"delta.nlll>1", "there is no metric"}, {"delta.nll.lowest>1", "there is no .lowest of a difference"},
		{"delta.spherical>1", "the states do not have this metric; they have base_rate, mean_p"}, {"ks.p_adjusted<1", "there is no"},
	} {
		for _, flag := range []string{"--fail-if", "--require"} {
			refusedAs(t, d, exitUsage, []string{"drift", june, july, flag, c.expr}, flag, c.says)
		}
	}
}

// TestDriftReports: reports have both sets, what drifted and the gates.
func TestDriftReports(t *testing.T) {
	d := newDir(t)
	june, july, _ := months(t, d)
	verdict := drifted(t, june, july).Verdict
	code, _, errs := candor(t, "drift", june, july, "--name", june+"=june", "--name", july+"=july", "--fail-if", "psi>0.01", "--require", "delta.mean_p.p<0.5",
		"--report", "junit="+d.at("r.xml")+",openmetrics="+d.at("r.txt"))
	if code != exitGate || !strings.HasPrefix(errs, "candor: gate failed: psi>0.01: it is ") {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for file, says := range map[string][]string{
		"r.xml": {`tests="2" failures="1"`, `<testcase name="--fail-if psi&gt;0.01" classname="candor.drift"`, `<testcase name="--require delta.mean_p.p&lt;0.5"`,
			`<property name="june: rows" value="900">`, `<property name="july: rows" value="1000">`, `<property name="july: verdict" value="1,000 rows, binary: `, `<property name="verdict" value="` + verdict + `">`},
		"r.txt": {`candor_gate_failed{kind="fail_if",gate="psi>0.01"} 1`, `candor_gate_failed{kind="require",gate="delta.mean_p.p<0.5"} 0`, `candor_rows{set="june"} 900`},
	} {
		for _, s := range says {
			if b := string(d.read(d.at(file))); !strings.Contains(b, s) {
				t.Errorf("%s does not have %q:\n%s", file, s, b)
			}
		}
	}
	refusedAs(t, d, exitUsage, []string{"drift", june, july, "--report", "junit=" + july}, "--report", "july.state")
	refusedAs(t, d, exitUsage, []string{"drift", june, june, "--report", "junit=" + d.at("twice.xml")}, "both sets are named")
}

func TestDriftRefuses(t *testing.T) {
	d := newDir(t)
	june, july, _ := months(t, d)
	for _, args := range [][]string{{}, {june}, {june, july, june}} {
		refusedAs(t, d, exitUsage, append([]string{"drift"}, args...), "takes two states")
	}
	refusedAs(t, d, exitUsage, []string{"drift", "-", "-"}, "named 2 times")
	refusedAs(t, d, exitUsage, []string{"drift", june, july, "--adjust", "bonferroni"}, "--adjust is \"bonferroni\"; it is holm or bh")
	refusedAs(t, d, exitUsage, []string{"drift", june, july, "--confidence", "1"}, "is between 0 and 1")
	refusedAs(t, d, exitUsage, []string{"drift", june, july, "--format", "xml"}, "--format is \"xml\"")
	refusedAs(t, d, exitUsage, []string{"drift", june, july, "--json", "--format", "csv"}, "give one")
	refusedAs(t, d, exitUsage, []string{"drift", june, july, "--max-memory", "1MiB"}, "--max-memory")
	refused(t, d, []string{"drift", june, d.at("none.state")}, "none.state: no such file")
	refused(t, d, []string{"drift", d.at("june.csv"), july}, "june.csv", "not a state")
	whole := d.read(july)
	refused(t, d, []string{"drift", june, d.put("cut.state", whole[:len(whole)-9])}, "cut.state", "not a state that can be read")
	states := map[string][]string{
		"metrics": {d.at("july.csv"), "--prob", "p", "--labels", "y", "--metrics", "nll"},
		"bins":    {d.at("july.csv"), "--prob", "p", "--labels", "y", "--bins", "20"},
		"names":   {d.at("july.csv"), "--prob", "p", "--labels", "y", "--classes", "no,yes"},
	}
	k := newSet(3, 60, 3)
	states["classes"] = []string{d.put("k.npy", k.scores(t)), "--labels", d.put("k-y.npy", k.labelFile(t))}
	tags := newTagged(5, 60, 3)
	states["labels"] = tags.args(t, d, "tags")
	says := map[string]string{"metrics": "metrics base_rate,", "bins": "bins of", "names": "classes without names and classes named no, yes", "classes": "classes", "labels": "state of several labels"}
	for name, args := range states {
		path := d.at(name + ".state")
		if code, _, errs := candor(t, append([]string{"eval", "--state", path}, args...)...); code != exitDone {
			t.Fatal(errs)
		}
		refused(t, d, []string{"drift", june, path}, says[name], name+".state")
	}
	// Other levels of confidence and seeds do not matter.
	if code, _, errs := candor(t, "eval", d.at("july.csv"), "--prob", "p", "--labels", "y", "--confidence", "0.5", "--state", d.at("half.state")); code != exitDone {
		t.Fatal(errs)
	}
	if printed(t, "drift", june, d.at("half.state")) != printed(t, "drift", june, july) {
		t.Error("the level of a state changes a drift")
	}
}

// TestDriftOfForecasts compares forecasts, which have no classes.
func TestDriftOfForecasts(t *testing.T) {
	d := newDir(t)
	args := []string{"--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y"}
	f := normalRows(7, 400)
	for name, part := range map[string]*frame{"a": f.part(0, 200), "b": f.part(200, 400)} {
		if code, _, errs := candor(t, append([]string{"eval", d.put(name+".csv", part.csv()), "--state", d.at(name + ".state")}, args...)...); code != exitDone {
			t.Fatal(errs)
		}
	}
	doc := drifted(t, d.at("a.state"), d.at("b.state"))
	if doc.Verdict != "No drift of metrics seen between 200 and 200 rows." || doc.Scores.P != nil || len(doc.Bins) > 0 || doc.Metrics.Differences["crps"].P == nil {
		t.Errorf("%+v", doc)
	}
	refusedAs(t, d, exitUsage, []string{"drift", d.at("a.state"), d.at("b.state"), "--fail-if", "psi>1"}, "the rows have no classes")
	if out := printed(t, "drift", d.at("a.state"), d.at("b.state")); strings.Contains(out, "PSI") {
		t.Error(out)
	}
	if report.DriftSchema != doc.Schema {
		t.Error(doc.Schema)
	}
}

// TestDriftOtherStates: states of slices and of comparisons are refused, with what to do.
func TestDriftOtherStates(t *testing.T) {
	d := newDir(t)
	s := newSet(3, 60, 1)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	evaluate(t, x, "--labels", y, "--state", d.at("plain.state"))
	evaluate(t, x, "--labels", y, "--slice-by", "score", "--slice-edges", "score=0,0.5,1", "--state", d.at("slices.state"))
	printed(t, "compare", x, d.put("z.npy", s.scores(t)), "--labels", y, "--state", d.at("pair.state"))
	refused(t, d, []string{"drift", d.at("plain.state"), d.at("slices.state")}, "slices.state is a state with slices of the rows (--slice-by)", "without --slice-by")
	refused(t, d, []string{"drift", d.at("pair.state"), d.at("plain.state")}, "pair.state is the state of candor compare", "candor eval --state")
}
