package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// junit is what a JUnit report says.
type junit struct {
	Name     string `xml:"name,attr"`
	Failures int    `xml:"failures,attr"`
	Cases    []struct {
		Name    string `xml:"name,attr"`
		Failure *struct {
			Message string `xml:"message,attr"`
		} `xml:"failure"`
	} `xml:"testsuite>testcase"`
}

// reported runs a command with a report of each form, and returns the reports by form.
func reported(t *testing.T, d *dir, code int, args ...string) (l map[string]string, out, errs string) {
	t.Helper()
	l = map[string]string{}
	for _, f := range []string{"junit", "github", "mlflow", "openmetrics"} {
		l[f] = d.at("report." + f)
		os.Remove(l[f])
	}
	got, out, errs := candor(t, append(slices.Clone(args), "--report", "junit="+l["junit"]+",github="+l["github"], "--report", "mlflow="+l["mlflow"], "--report", "openmetrics="+l["openmetrics"])...)
	if got != code || out == "" {
		t.Fatalf("candor %v: exit code %d, want %d: %s", args, got, code, errs)
	}
	for f, path := range l {
		l[f] = string(d.read(path))
	}
	return l, out, errs
}

func metricsOf(t *testing.T, text string) map[string]float64 {
	t.Helper()
	var l map[string]float64
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func junitOf(t *testing.T, text string) (j junit) {
	t.Helper()
	if err := xml.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestReports: reports of all commands have what the document has, whether a gate fails or not.
func TestReports(t *testing.T) {
	d := newDir(t)
	s := newSet(3, 400, 1)
	site := make([]string, s.rows)
	for i := range site {
		site[i] = []string{"north", "süd|<b>"}[i%2]
	}
	args := []string{d.put("x.npy", s.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "--group", d.put("site.npy", textArray(site)), "--metrics", "default,ece(bins=30)"}
	gates := []string{"--fail-if", "ece>0", "--fail-if", "ece>2", "--require", "ece(bins=30)<2", "--require", "worst_group.bias.low>2", "--fail-if", "worst_group.ece.low>2"}
	st := d.at("s.state")
	l, out, errs := reported(t, d, exitGate, slices.Concat([]string{"eval", "--json", "--state", st}, args, gates)...)
	doc := new(document)
	if err := json.Unmarshal([]byte(out), doc); err != nil {
		t.Fatal(err)
	}
	of := metricsOf(t, l["mlflow"])
	for _, key := range []string{"ece", "bias", "nll"} {
		if got, want := of[key], doc.value(t, key); got != want {
			t.Errorf("mlflow: %s is %v, want %v", key, got, want)
		}
		if line := fmt.Sprintf("\ncandor_%s %v\n", key, doc.value(t, key)); !strings.Contains(l["openmetrics"], line) {
			t.Errorf("openmetrics lacks %s", line)
		}
		if want := fmt.Sprintf(`name=%q value="%v"`, key, doc.value(t, key)); !strings.Contains(l["junit"], want) {
			t.Errorf("junit lacks %s", want)
		}
	}
	if of["rows"] != 400 || of["ece.bins.30"] != doc.value(t, "ece(bins=30)") || of["site-north/ece"] == 0 || len(of) < 3*12 {
		t.Errorf("mlflow has %v", of)
	}
	for _, want := range []string{`candor_rows{group_site="süd|<b>"} 200`, `candor_gate_failed{kind="require",gate="worst_group.bias.low>2"} 1`, `candor_ece{options="bins=30"} `} {
		if !strings.Contains(l["openmetrics"], want) {
			t.Errorf("openmetrics lacks %s", want)
		}
	}
	j := junitOf(t, l["junit"])
	if j.Name != "candor eval" || j.Failures != 2 || len(j.Cases) != 5 {
		t.Errorf("junit says %+v", j)
	}
	for _, c := range j.Cases {
		fails := c.Name == "--fail-if ece>0" || c.Name == "--require worst_group.bias.low>2"
		if (c.Failure != nil) != fails {
			t.Errorf("%s failed: %v", c.Name, c.Failure != nil)
		}
		if fails && !strings.Contains(jsonError(t, errs)["message"].(string), c.Failure.Message) {
			t.Errorf("%q is not what the command says: %s", c.Failure.Message, errs)
		}
	}
	for _, want := range []string{"### candor eval: 2 of 5 gates failed\n", "| `--require worst_group.bias.low>2` | **failed** | worst\\_group.bias.low&gt;2 is required, and it is ",
		"for 2 groups together", "| <code>süd&#124;&#60;b&#62;</code> | 200 | "} {
		if !strings.Contains(l["github"], want) {
			t.Errorf("github lacks %s:\n%s", want, l["github"])
		}
	}
	// A merge writes the same, under its own name.
	merged, _, _ := reported(t, d, exitGate, slices.Concat([]string{"merge", st}, gates)...)
	for f := range l {
		want := strings.NewReplacer("candor eval", "candor merge", "candor.eval", "candor.merge").Replace(l[f])
		if merged[f] != want {
			t.Errorf("%s of merge:\n%s\nwant\n%s", f, merged[f], want)
		}
	}
	// Without gates.
	l, _, _ = reported(t, d, 0, append([]string{"eval"}, args...)...)
	if j := junitOf(t, l["junit"]); j.Failures != 0 || len(j.Cases) != 1 || j.Cases[0].Name != "verdict" || !strings.Contains(l["junit"], "400 rows, binary") {
		t.Errorf("junit says %+v", j)
	}
	// Several labels.
	tags := newTagged(8, 60, 4).args(t, d, "few")
	l, _, _ = reported(t, d, exitGate, append([]string{"eval", "--fail-if", "brier>0"}, tags...)...)
	if of := metricsOf(t, l["mlflow"]); of["label-3/brier"] == 0 || of["brier"] == 0 || !strings.Contains(l["openmetrics"], `candor_brier{label="3"} `) || !strings.Contains(l["github"], "| `3` | 60 | ") {
		t.Errorf("reports of labels: %v\n%s\n%s", of, l["openmetrics"], l["github"])
	}
	// A comparison.
	a, b, y := pair(t, d, 4)
	l, _, _ = reported(t, d, 0, "compare", a, b, "--labels", y)
	names := []string{strings.TrimSuffix(filepath.Base(a), ".npy"), strings.TrimSuffix(filepath.Base(b), ".npy")}
	of = metricsOf(t, l["mlflow"])
	for _, n := range names {
		if of[n+"/nll"] == 0 || !strings.Contains(l["openmetrics"], `candor_nll{set="`+n+`"} `) || !strings.Contains(l["junit"], `name="`+n+`: nll"`) || !strings.Contains(l["github"], "- `"+n+"`: ") {
			t.Errorf("reports of %s: %v\n%s\n%s", n, of, l["openmetrics"], l["github"])
		}
	}
	for _, want := range []string{"delta.nll", "delta.nll.low", "delta.nll.high", "delta.accuracy.low"} {
		if _, there := of[want]; !there {
			t.Errorf("mlflow lacks %s: %v", want, of)
		}
	}
	if !strings.Contains(l["openmetrics"], "\ncandor_delta_nll{a=\""+names[0]+"\",b=\""+names[1]+"\"} ") || !strings.Contains(l["openmetrics"], "\ncandor_delta_nll_high{") {
		t.Errorf("openmetrics lacks differences:\n%s", l["openmetrics"])
	}
	// Members of an ensemble.
	l, _, _ = reported(t, d, 0, "eval", a, b, "--labels", y, "--task", "ensemble")
	if of := metricsOf(t, l["mlflow"]); of["member-1/nll"] == 0 || !strings.Contains(l["openmetrics"], `candor_nll{member="1"} `) {
		t.Errorf("reports of members: %v", of)
	}
}

// TestReportRefused: what an evaluation refuses has no report, and a report that cannot be written leaves what was there.
func TestReportRefused(t *testing.T) {
	d := newDir(t)
	s := newSet(3, 40, 4)
	x, y, bad := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.put("bad.npy", s.with(7, 1, -1).scores(t))
	old := d.put("report.xml", []byte("old"))
	for _, args := range [][]string{
		{"eval", bad, "--labels", y, "--report", "junit=" + old},
		{"eval", x, "--labels", y, "--report", "junit=" + old, "--fail-if", "base_rate>0"},
		{"eval", x, "--labels", y, "--report", "junit=" + old + ",mlflow=" + d.at("none/m.json")},
		{"merge", x, "--report", "junit=" + old},
	} {
		if code, out, _ := candor(t, args...); code == 0 || code == exitGate || out != "" || string(d.read(old)) != "old" {
			t.Errorf("candor %v: exit code %d, the report is %q", args, code, d.read(old))
		}
	}
	if l := d.list(); !slices.Equal(l, []string{"bad.npy", "report.xml", "x.npy", "y.npy"}) {
		t.Errorf("the folder has %v", l)
	}
}

// TestReportToStandardOutput: a report does not go where the result goes, by whatever name.
func TestReportToStandardOutput(t *testing.T) {
	d := newDir(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(d.at("out.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := exec.Command(self, "eval", "--report", "junit="+d.at("out.txt"))
	c.Env = append(os.Environ(), "CANDOR_TEST_COMMAND=1")
	c.Stdout = out
	var errs strings.Builder
	c.Stderr = &errs
	if err := c.Run(); c.ProcessState.ExitCode() != exitUsage || !strings.Contains(errs.String(), "the result or the messages of candor go there; name a file") {
		t.Errorf("%v: %s", err, errs.String())
	}
	if b := d.read(d.at("out.txt")); len(b) > 0 {
		t.Errorf("standard output has %q", b)
	}
}

// TestGatesOfGroups: the worst group decides, groups with few rows do not count, a merge does the same, and a raw worst value is warned of.
func TestGatesOfGroups(t *testing.T) {
	d := newDir(t)
	s := newSet(5, 600, 1)
	site := make([]int32, s.rows)
	for i := range site {
		site[i] = int32(min(i/200, 2))
		if i >= 590 {
			site[i] = 3 // ten rows
		}
		if site[i] == 1 {
			s.labels[i] = 0 // far too high
		}
		if site[i] == 3 {
			s.labels[i] = 1 - s.labels[i]
		}
	}
	st := d.at("s.state")
	args := []string{"eval", d.put("x.npy", s.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "--group", d.put("site.npy", npy(t, []int64{int64(s.rows)}, site)), "--metrics", "bias,ece,auroc"}
	if code, _, errs := candor(t, with(args, "--state", st)...); code != 0 {
		t.Fatal(errs)
	}
	for _, c := range []struct {
		flags []string
		code  int
		want  []string
	}{
		{[]string{"--fail-if", "worst_group.bias.low>0.05"}, exitGate, []string{"gate failed: worst_group.bias.low>0.05: it is 0.", "in site=1 (200 rows, 98.3333% interval for 3 groups together); 1 group of fewer than 30 rows left out"}},
		{[]string{"--fail-if", "worst_group.bias.low>0.05", "--min-rows", "5"}, exitGate, []string{"98.75% interval for 4 groups together)\n"}},
		{[]string{"--fail-if", "worst_group.bias.low>0.9"}, 0, nil},
		{[]string{"--require", "worst_group.bias.high<0.05"}, exitGate, []string{"gate failed: worst_group.bias.high<0.05 is required, and it is 0.", "site=1"}},
		{[]string{"--require", "worst_group.bias.high<0.99"}, 0, nil},
		{[]string{"--fail-if", "worst_group.bias>0.9"}, 0, []string{"warning: worst_group.bias>0.9 looks at the worst value alone", "worst_group.bias.low and .high"}},
		{[]string{"--require", "worst_group.auroc>0"}, exitGate, []string{"auroc.value is not defined in site=1 (200 rows): "}},
		{[]string{"--fail-if", "worst_group.bias.low>0", "--min-rows", "1000"}, exitGate, []string{"no group has 1,000 rows"}},
		{[]string{"--require", "bias.low>-1", "--fail-if", "bias.high>1"}, 0, nil},
		{[]string{"--require", "bias.low>1", "--require", "bias<0.9"}, exitGate, []string{"gate failed: bias.low>1 is required, and it is "}},
	} {
		for _, command := range [][]string{args, {"merge", st}} {
			code, _, errs := candor(t, with(command, c.flags...)...)
			if code != c.code || strings.Count(errs, "gate failed") != min(code, 1) {
				t.Errorf("%s %v: exit code %d: %s", command[0], c.flags, code, errs)
			}
			for _, w := range c.want {
				if !strings.Contains(errs, w) {
					t.Errorf("%s %v: %q does not say %q", command[0], c.flags, errs, w)
				}
			}
		}
	}
	// States without groups, or without the metric.
	plain := d.at("plain.state")
	evaluate(t, args[1], "--labels", d.at("y.npy"), "--metrics", "bias", "--state", plain)
	for gate, want := range map[string]string{
		"worst_group.bias.low>0": `--fail-if "worst_group.bias.low>0": there are no groups of rows; evaluate with --group`,
		"worst_group.ece.low>0":  `worst_group.ece.low>0: the document has no metric "ece": add it to --metrics of candor eval`,
	} {
		// At once: the second state is not looked at.
		if code, out, errs := candor(t, "merge", plain, d.at("none.state"), "--fail-if", gate); code != exitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d: %s", gate, code, errs)
		}
	}
	// A warning is a note of the document.
	if _, out, _ := candor(t, with(args, "--json", "--fail-if", "worst_group.bias>0.9")...); !strings.Contains(out, "looks at the worst value alone") {
		t.Errorf("the document does not warn: %s", out)
	}
}
