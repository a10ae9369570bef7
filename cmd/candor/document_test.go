package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics/eval"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain is the command itself where a test starts it as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("CANDOR_TEST_COMMAND") != "" {
		main()
	}
	defer func() { removeBuilt() }()
	check.Main(m)
}

// process runs a command line in a process of its own, with more environment and a file as standard input.
func process(t *testing.T, env []string, stdin string, args ...string) []byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Env = append(append(os.Environ(), "CANDOR_TEST_COMMAND=1"), env...)
	if stdin != "" {
		f, err := os.Open(stdin)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c.Stdin = f
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("candor %v: %v: %s", args, err, errs.String())
	}
	return out
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			line := func(l []string) string {
				if i < len(l) {
					return l[i]
				}
				return "(end)"
			}
			t.Fatalf("line %d is\n%s\n%s has\n%s", i+1, line(g), path, line(w))
		}
	}
}

// sampleArgs evaluates a set of testdata/sample.
func sampleArgs(set string, args ...string) []string {
	dir := filepath.Join("..", "..", "testdata", "sample")
	if set == "digits" {
		return append([]string{"eval", filepath.Join(dir, "digits_logits.npy"), "--labels", filepath.Join(dir, "digits_labels.npy"), "--input", "logits"}, args...)
	}
	return append([]string{"eval", filepath.Join(dir, "breast_cancer_probs.npy"), "--labels", filepath.Join(dir, "breast_cancer_labels.npy")}, args...)
}

func TestGoldenDocuments(t *testing.T) {
	for _, set := range []string{"digits", "breast_cancer"} {
		code, out, errs := candor(t, sampleArgs(set, "--json")...)
		if code != 0 || errs != "" {
			t.Fatalf("%s: exit code %d: %s", set, code, errs)
		}
		golden(t, set+".json", out)
		if code, all, _ := candor(t, sampleArgs(set, "--json", "--metrics", "all,ece(bins=10,closed=right)", "--threads", "3")...); code == 0 {
			golden(t, set+"_all.json", all)
		}
		if generic := process(t, []string{"CANDOR_ISA=generic", "GOMAXPROCS=1"}, "", sampleArgs(set, "--json")...); string(generic) != out {
			t.Errorf("%s: CANDOR_ISA=generic gives another document", set)
		}
	}
	// The sample in the binary is that of testdata.
	const said = "No file given: this is candor's sample, out-of-fold logits of a small neural network on 1,797 handwritten digits."
	if code, _, errs := candor(t, "eval", "--format", "csv"); code != 0 || errs != said+"\n" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	code, out, errs := candor(t, "eval", "--json")
	if code != 0 || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	golden(t, "digits.json", strings.Replace(out, "[\n    \""+said+"\"\n  ]", "[]", 1))
}

// TestFigures holds the documents to figures of another implementation.
func TestFigures(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "sample", "figures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var figures map[string]json.RawMessage
	if err := json.Unmarshal(b, &figures); err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"digits", "breast_cancer"} {
		var want map[string]float64
		if err := json.Unmarshal(figures[set], &want); err != nil {
			t.Fatal(err)
		}
		d := evaluate(t, sampleArgs(set, "--metrics", "all,topk_accuracy(k=5)")[1:]...)
		n := 0
		for key, v := range want {
			mine := map[string]string{"top5_accuracy": "topk_accuracy(k=5)", "ece15_top_label": "ece_top_label", "ece15_positive": "ece_positive"}[key]
			switch {
			case key == "rows":
				if d.Input.Rows != int64(v) {
					t.Errorf("%s: %d rows", set, d.Input.Rows)
				}
				continue
			case key == "classes":
				if d.Input.Classes != int(v) {
					t.Errorf("%s: %d classes", set, d.Input.Classes)
				}
				continue
			case key == "mean_probability":
				continue
			case set == "digits" && key == "ece15_top_label":
				mine = "ece"
			case mine == "":
				mine = key
			}
			n++
			// Logits of float32 go through float32; probabilities of them do not.
			tol := 1e-12
			if set == "digits" {
				tol = 2e-7
			}
			if g := d.value(t, mine); !(math.Abs(g-v) <= tol) {
				t.Errorf("%s: %s is %v, figures.json has %v", set, mine, g, v)
			}
		}
		if n < 7 {
			t.Errorf("%s: only %d figures", set, n)
		}
	}
}

// TestDocumentForm checks what every document has to be, whatever is in it.
func TestDocumentForm(t *testing.T) {
	for n, l := range laws() {
		if testing.Short() && n%2 == 0 {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			d := newDir(t)
			paths, flags := shards(t, d, l, []int{0, l.set.rows}, 1)
			code, out, errs := candor(t, append(append(append([]string{"eval"}, paths...), flags...), "--json")...)
			if code != 0 {
				t.Fatal(errs)
			}
			checkDocument(t, l, out)
			for _, w := range []string{d.path, "x1-1", "y1-1", ".npy", "thread", "avx", "neon", "generic", runtime.GOARCH} {
				if strings.Contains(strings.ToLower(out), strings.ToLower(w)) {
					t.Errorf("the document has %q", w)
				}
			}
		})
	}
}

func checkDocument(t *testing.T, l law, out string) {
	t.Helper()
	var doc struct {
		Schema  string
		Input   map[string]any
		Verdict string
		Metrics map[string]map[string]any
		Bins    []map[string]any
		Texts   string `json:"bins_text"`
		Members []map[string]map[string]any
		Curves  map[string]struct {
			Text  string
			Steps []struct{ Lower, Upper, Weight, Frequency float64 }
		}
		State     map[string]string
		Warn      []string `json:"warnings"`
		Judgement map[string]any
		EqualMass *struct {
			Text string
			Bins []map[string]any
		} `json:"equal_mass"`
		RiskCoverage *struct {
			Exact  bool
			Points []struct{ Coverage, Risk, Threshold float64 }
			Kept   []map[string]any
		} `json:"risk_coverage"`
		Classes map[string]any
		Audit   map[string]any
	}
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "candor/1" || doc.Warn == nil || !regexp.MustCompile("^[0-9a-f]{64}$").MatchString(doc.State["sha256"]) || doc.Texts == "" || doc.Verdict == "" {
		t.Errorf("%q, warnings %v, state %v", doc.Schema, doc.Warn, doc.State)
	}
	if !strings.HasSuffix(out, "}\n") || strings.Contains(out, "\\u00") || strings.Contains(out, "-0,") {
		t.Error("the document does not end well, or has escapes or a -0")
	}
	for _, k := range []string{"rows", "classes", "dtype", "kind", "dropped"} {
		if doc.Input[k] == nil {
			t.Errorf("input has no %s", k)
		}
	}
	if c := doc.Input["classes"].(float64); int(c) != max(2, l.set.classes) {
		t.Errorf("%v classes", c)
	}
	checkMetrics(t, doc.Metrics, l.set.classes == 1, slices.Contains(l.flags, "--decisions"))
	for name, c := range doc.Curves {
		above := -1.0
		for _, p := range c.Steps {
			if !(p.Lower <= p.Upper && p.Frequency > above && p.Weight > 0) {
				t.Errorf("the curve %s has a step %+v after a frequency of %v", name, p, above)
			}
			above = p.Frequency
		}
		if name != "corp" || len(c.Steps) == 0 || c.Text == "" {
			t.Errorf("the curve %s has %d steps: %q", name, len(c.Steps), c.Text)
		}
	}
	if doc.Judgement["side"] == nil || doc.Audit["weight_0"] == nil {
		t.Errorf("judgement %v, audit %v", doc.Judgement, doc.Audit)
	}
	if m := doc.EqualMass; m != nil {
		rows := 0.0
		for _, b := range m.Bins {
			rows += b["count"].(float64)
		}
		if rows != doc.Input["rows"].(float64) || m.Text == "" {
			t.Errorf("%v rows in groups of equal mass: %q", rows, m.Text)
		}
	}
	if r := doc.RiskCoverage; r != nil {
		for i, p := range r.Points {
			if !(p.Coverage > 0 && p.Coverage <= 1 && p.Risk >= 0 && p.Risk <= 1) || i > 0 && (p.Coverage <= r.Points[i-1].Coverage || p.Threshold > r.Points[i-1].Threshold) {
				t.Errorf("risk and coverage: %+v at %d", p, i)
			}
		}
		if n := len(r.Points); n == 0 || n > 200 || len(r.Kept) != len(eval.KeptShares) {
			t.Errorf("%d points, %d thresholds", n, len(r.Kept))
		}
	}
	n, last := 0.0, 0.0
	for _, b := range doc.Bins {
		count := b["count"].(float64)
		n += count
		if (count == 0) != (b["confidence"] == nil) || (count == 0) != (b["frequency"] == nil) || (count == 0) != (b["low"] == nil) {
			t.Errorf("bin %v", b)
		}
		if b["lower"].(float64) != last {
			t.Errorf("a bin begins at %v, the one before ended at %v", b["lower"], last)
		}
		last = b["upper"].(float64)
		own := slices.Contains(l.flags, "--confidence-scores") // by which rows are binned, whatever their probabilities
		if c, ok := b["confidence"].(float64); ok && !own && !(c >= b["lower"].(float64)-1e-9 && c <= last+1e-9) {
			t.Errorf("the mean score of bin %v is not in it", b)
		}
	}
	if last != 1 {
		t.Errorf("the last bin ends at %v", last)
	}
	if rows := doc.Input["rows"].(float64); n > rows || n < rows && !slices.Contains(l.flags, "--like") {
		t.Errorf("%v rows in bins, of %v", n, rows)
	}
}

// checkMetrics checks what every answer has to be.
func checkMetrics(t *testing.T, l map[string]map[string]any, one, decided bool) {
	t.Helper()
	for key, m := range l {
		p, err := eval.ParseMetric(key)
		if err != nil || p.String() != key {
			t.Errorf("key %q is not canonical: %v", key, err)
			continue
		}
		for _, f := range []string{"value", "low", "high", "exact", "better", "text"} {
			if _, ok := m[f]; !ok {
				t.Errorf("%s has no %s", key, f)
			}
		}
		switch v := m["value"].(type) {
		case nil:
			if m["reason"] == nil {
				t.Errorf("%s is null without a reason", key)
			}
		case string:
			// Infinity is on the bad side, and has a reason that is its own.
			if v != map[any]string{"higher": "-Inf", "lower": "+Inf", "none": "+Inf", "zero": "+Inf"}[m["better"]] || m["reason"] == nil || m["reason"] == "no interval is computed" || m["low"] != nil {
				t.Errorf("%s is %v", key, m)
			}
		case float64:
			lo, hi := m["low"], m["high"]
			if (lo == nil) != (hi == nil) || lo == nil && m["reason"] == nil || lo != nil && (m["level"] == nil || m["method"] == nil) {
				t.Errorf("%s: low %v, high %v, level %v, method %v, reason %v", key, lo, hi, m["level"], m["method"], m["reason"])
			}
			if lo == "-Inf" { // rce is vague for few rows
				lo = math.Inf(-1)
			}
			if lo != nil && !(lo.(float64) <= v && v <= hi.(float64)) {
				t.Errorf("%s: %v is not within [%v, %v]", key, v, lo, hi)
			}
		}
		if bound, ok := m["grid_bound"]; ok == (m["exact"] == true) || bound == 0.0 || ok && m["value"] == nil {
			t.Errorf("%s: exact %v, grid_bound %v", key, m["exact"], bound)
		}
		checkSpec(t, key, m, one, decided)
	}
}

// checkSpec checks that a metric over bins names its options, that others name none, and that the text says what they say.
func checkSpec(t *testing.T, key string, m map[string]any, one, decided bool) {
	t.Helper()
	name, _, _ := strings.Cut(key, "(")
	d, text := eval.Describe(name), m["text"].(string)
	s, ok := m["spec"].(map[string]any)
	if !ok {
		if strings.Contains(d.Options, "bins=N") || m["spec"] != nil {
			t.Errorf("%s has no spec: %v", key, m["spec"])
		}
		return
	}
	defer spelledOut(t, key, s)
	if s["event"] == nil && !strings.Contains(d.Options, "bins=N") { // it has its own options, and the text names those that are set
		of := regexp.MustCompile("^(aurc|eaurc|augrc|oracle_accuracy|abstain_.*|retention_.*|.*_at_risk)$").MatchString(name)
		if strings.Contains(text, "; of the caller's decisions in place of the arg max") != (decided && of) || strings.Contains(text, "top label; ") {
			t.Errorf("%s: decisions %v: %s", key, decided, text)
		}
		switch s["by"] {
		case nil:
			options := strings.Count(d.Options, ",") + 1
			if strings.Contains(d.Options, "exact") {
				options-- // it stands in the key
			}
			if len(s) < options {
				t.Errorf("%s: spec is %v", key, s)
			}
		case "class":
			if s["bins"] != nil || !strings.Contains(text, "; groups are rows of one predicted class; ") {
				t.Errorf("%s: spec is %v: %s", key, s, text)
			}
		default:
			if s["by"] != "bins" || !strings.Contains(text, fmt.Sprintf("; groups are %v equal-width bins of p(y = 1); ", s["bins"])) {
				t.Errorf("%s: spec is %v: %s", key, s, text)
			}
		}
		return
	}
	if !strings.Contains(d.Options, "bins=N") { // it is over scores in their order
		whose := map[any]string{"top": "top label; ", "positive": "positive class; "}[s["event"]]
		if strings.Contains(text, "; the caller's decisions; ") != (decided && s["event"] == "top") || whose == "" || !strings.HasPrefix(text, whose) {
			t.Errorf("%s: event %v, decisions %v: %s", key, s["event"], decided, text)
		}
		return
	}
	bins, _ := s["bins"].(float64)
	if s["blog_edges"] == true {
		bins-- // the number is of edges
	}
	formula := d.Formula
	if own := map[string]string{"mce": "max", "rmsce": "l2", "rmsce_debiased": "l2", "calibration_error_squared": "l2"}[name]; s["norm"] != own && !(own == "" && s["norm"] == "l1") {
		formula = map[any]string{"l2": "sqrt(", "max": "max_bins |mean p - mean y|"}[s["norm"]]
	} else if s["variance"] == "kumar" {
		formula = "sqrt(max(0, sum_bins (n_b/N) (gap_b^2 - ybar_b (1 - ybar_b)/(n_b - 1)))), ybar_b = mean y, n_b >= 2"
	} else if s["as_coded"] == true {
		formula = "sum_bins q_1b/sum q_1 |"
	} else if _, classes := s["threshold"]; classes {
		formula = "(1/K) sum_k (1/N) sum_bins |sum (p_k - [y = k])|"
		if s["threshold"] != nil {
			formula = "(1/K) sum_k (1/N_k) sum_bins |sum (p_k - [y = k])|, over the N_k entries above the threshold"
		}
	}
	want := []string{"; " + formula}
	fields := []string{"bins", "binning", "norm"}
	switch s["binning"] {
	case "even":
		want = append(want, fmt.Sprintf("; %v equal-width bins; ", bins))
		fields = append(fields, "closed")
		// Where an index is a floor there are no edges.
		if s["closed"] != "left" && s["closed"] != "right" || !strings.Contains(text, "; "+s["closed"].(string)+"-closed; ") && (s["index"] == nil || s["index"] == "edges") {
			t.Errorf("%s: closed is %v: %s", key, s["closed"], text)
		}
	case "adaptive":
		want = append(want, fmt.Sprintf("; %[1]v bins of equal mass: bin j begins with all rows of the score of rank round(j*N/%[1]v), from 0, halves to even; ", bins))
		if s["ties"] != "together, in the higher bin" {
			t.Errorf("%s: ties are %v", key, s["ties"])
		}
	default:
		t.Errorf("%s: binning is %v", key, s["binning"])
	}
	norms := []any{"l1", "l2", "max"}
	threshold, classes := s["threshold"]
	switch event := s["event"]; {
	case classes: // of each, against the rest
		norms = norms[:2]
		fields = append(fields, "threshold")
		whose := "every class against the rest; "
		if one {
			whose = "class 1 against the rest; "
		}
		if event != nil || !strings.HasPrefix(text, whose) {
			t.Errorf("%s: event %v: %s", key, event, text)
		}
		if threshold != nil {
			want = append(want, fmt.Sprintf("; only p > %v; ", threshold))
		} else if strings.Contains(text, "only") {
			t.Errorf("%s: threshold %v: %s", key, threshold, text)
		}
	case event == "top":
		want = append(want, "top label; ")
		if strings.Contains(text, "; the caller's decisions; ") != decided {
			t.Errorf("%s: decisions: %v: %s", key, decided, text)
		}
	case event == "positive":
		want = append(want, "positive class; ")
	default:
		t.Errorf("%s: event is %v", key, event)
	}
	if !slices.Contains(norms, s["norm"]) || bins < 1 || bins != math.Trunc(bins) {
		t.Errorf("%s: norm %v, %v bins", key, s["norm"], s["bins"])
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: the text does not say %q: %s", key, w, text)
		}
	}
	for _, f := range fields {
		if _, ok := s[f]; !ok {
			t.Errorf("%s: spec has no %s: %v", key, f, s)
		}
	}
}

// spelledOut checks that all that the key spells out is in the spec.
func spelledOut(t *testing.T, key string, s map[string]any) {
	t.Helper()
	if _, args, ok := strings.Cut(strings.TrimSuffix(key, ")"), "("); ok {
		for _, a := range strings.Split(args, ",") {
			switch n, v, given := strings.Cut(a, "="); {
			case n == "adaptive":
				if (s["binning"] == "adaptive") == given {
					t.Errorf("%s: binning is %v", key, s["binning"])
				}
			case fmt.Sprint(s[n]) != v && !(s[n] == true && !given):
				t.Errorf("%s: %s is %v", key, n, s[n])
			}
		}
	}
}

// text evaluates without a terminal, in which case 100 columns are enough and no line has spaces at its end.
func text(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := candor(t, args...)
	if code != 0 {
		t.Fatalf("candor %v: exit code %d: %s", args, code, errs)
	}
	// The verdict is one line however long it is, for who reads the first line.
	verdict, rest, _ := strings.Cut(out, "\n")
	if strings.TrimRight(verdict, " ") != verdict {
		t.Errorf("%q", verdict)
	}
	tidy(t, rest)
	if strings.Contains(out, "\x1b") {
		t.Error("control sequences in a pipe")
	}
	return out
}

func TestGoldenText(t *testing.T) {
	golden(t, "digits.txt", text(t, sampleArgs("digits")...))
	golden(t, "digits.md", func() string { _, out, _ := candor(t, sampleArgs("digits", "--format", "markdown")...); return out }())
	golden(t, "digits.csv", func() string { _, out, _ := candor(t, sampleArgs("digits", "--format", "csv")...); return out }())
	d := newDir(t)
	b := newSet(20, 120, 1)
	b.probs[3], b.labels[3] = 0, 1
	b.probs[4], b.labels[4] = 1, 0
	x, y := d.put("x.npy", b.scores(t)), d.put("y.npy", b.labelFile(t))
	out := text(t, "eval", x, "--labels", y, "--metrics", "all")
	golden(t, "infinite.txt", out)
	for _, w := range []string{"+Inf", "2 rows gave their true class probability 0", "Calibration over bins", "Reliability by probability", "share of y = 1"} {
		if !strings.Contains(out, w) {
			t.Errorf("the text does not say %q", w)
		}
	}
	// The csv and the markdown have the same infinity.
	for _, f := range []string{"csv", "markdown"} {
		if _, out, _ := candor(t, "eval", x, "--labels", y, "--format", f); !strings.Contains(out, "+Inf") {
			t.Errorf("%s: %s", f, out)
		}
	}
}

// TestPages runs every command whose output README.md or a page of docs shows, and compares. With -update it writes the pages anew.
func TestPages(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	families, err := filepath.Glob("docs/metrics/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(append(pages, families...), "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		states := t.TempDir() // that commands of the page write and read
		fresh := regexp.MustCompile("(?ms)^```\n\\$ (candor [^\n]*)\n(.*?)^```$").ReplaceAllStringFunc(string(text), func(block string) string {
			if strings.Contains(block, "echo $?") { // docs/json.md shows an error, which its own test checks
				return block
			}
			command, shown, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(block, "```\n$ "), "```"), "\n")
			blocks++
			// A last line in parentheses says what is left out.
			shown, rest, cut := strings.Cut(shown, "\n(")
			out := shownBy(t, command, states)
			if !cut {
				out, _, _ = strings.Cut(out, "\nNext:")
				out, _, _ = strings.Cut(out, "\nReliability by")
			} else if n := strings.Count(shown, "\n"); strings.Count(out, "\n") > n {
				out = strings.Join(strings.Split(out, "\n")[:n+1], "\n")
			}
			if out != shown && !*update {
				t.Errorf("%s does not show\n$ %s\n%s", page, command, out)
			}
			if cut {
				out += "\n(" + rest
			}
			return "```\n$ " + command + "\n" + out + "```"
		})
		if *update && fresh != string(text) {
			if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if blocks < 10 {
		t.Errorf("only %d commands with their output", blocks)
	}
}

// shownBy returns what a command prints, or the first lines of the file that it writes if "&& head -N FILE" follows it.
// States and maps are in a folder of their own.
func shownBy(t *testing.T, command, states string) string {
	t.Helper()
	line, head, ok := strings.Cut(command, " && head -")
	n, file, _ := strings.Cut(head, " ")
	written := filepath.Join(t.TempDir(), file)
	if ok {
		line = strings.Replace(line, "-o "+file, "-o "+written, 1)
		line = strings.Replace(line, "="+file, "="+written, 1)
	}
	args := strings.Fields(line)[1:]
	for i := range args {
		if args[i] = strings.Trim(args[i], "'"); strings.HasSuffix(args[i], ".state") || args[i] == "sets.json" {
			args[i] = filepath.Join(states, args[i])
		}
	}
	code, out, errs := candor(t, args...)
	if code != 0 {
		t.Errorf("%s: exit code %d: %s", command, code, errs)
	}
	if !ok {
		return out
	}
	b, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := strconv.Atoi(n)
	if err != nil {
		t.Fatal(err)
	}
	l := strings.SplitAfter(string(b), "\n")
	return strings.Join(l[:min(lines, len(l))], "")
}

func TestDiagrams(t *testing.T) {
	d := newDir(t)
	s, b := newSet(21, 900, 5), newSet(22, 900, 1)
	// All rows right and sure, and all rows wrong and sure.
	right, wrong := s.clone(), s.clone()
	for i := range s.rows {
		for j := range 5 {
			right.probs[i*5+j] = 0
			if int(s.labels[i]) == j {
				right.probs[i*5+j] = 1
			}
		}
		wrong.labels[i] = (s.labels[i] + 1) % 5
	}
	wrong.probs = right.probs
	for name, set := range map[string]*set{"classes": s, "binary": b, "right": right, "wrong": wrong, "one row": s.part(0, 1), "two rows": b.part(0, 2)} {
		x, y := d.put("x.npy", set.scores(t)), d.put("y.npy", set.labelFile(t))
		for _, bins := range []int{1, 2, 3, 5, 7, 10, 15, 20, 30, 59, 60, 61, 100, 1000} {
			for i, like := range []string{"", "um", "blog"} { // by turns, if something is left out
				if like == "blog" && bins == 1 || !check.Full() && i != (bins+len(name))%3 {
					continue
				}
				args := []string{"eval", x, "--labels", y, "--bins", fmt.Sprint(bins)}
				if like != "" {
					args = append(args, "--like", like)
				}
				out := text(t, args...)
				checkDiagram(t, fmt.Sprintf("%s, %d bins, %q", name, bins, like), out)
			}
		}
	}
}

// checkDiagram checks that what stands below each other belongs together.
func checkDiagram(t *testing.T, name, out string) {
	t.Helper()
	_, plot, ok := strings.Cut(out, "\nReliability by ")
	if !ok {
		t.Fatalf("%s: no diagram", name)
	}
	lines := strings.Split(plot, "\n")[2:]
	for i := range 10 {
		want := "     ┤"
		if i%2 == 0 {
			want = fmt.Sprintf(" %.1f ┤", 1-float64(i)/10)
		}
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("%s: line %d is %q", name, i, lines[i])
		}
	}
	rule, labels := []rune(lines[10]), []rune(lines[11])
	if !strings.HasPrefix(string(rule), " 0.0 └") || len(rule) > 96 {
		t.Errorf("%s: the rule is %q", name, string(rule))
	}
	for l := range lines[:10] {
		if n := len([]rune(lines[l])); n > len(rule) {
			t.Errorf("%s: line %d is longer than the rule", name, l)
		}
	}
	// Every label's point stands at its tick, and ticks are evenly spaced.
	var at []int
	for v := range 6 {
		i := strings.Index(string(labels), fmt.Sprintf("%.1f", float64(v)/5))
		if i < 0 {
			t.Errorf("%s: no label %.1f in %q", name, float64(v)/5, string(labels))
			return
		}
		at = append(at, i+1)
	}
	for v, i := range at {
		if i >= len(rule) || v > 0 && rule[i] != '┴' || rule[i] != '┴' && rule[i] != '└' {
			t.Errorf("%s: no tick above label %d:\n%s\n%s", name, v, string(rule), string(labels))
		}
		if d := float64(at[0]) + float64(v*(at[5]-at[0]))/5 - float64(i); math.Abs(d) > 1 {
			t.Errorf("%s: label %d is off by %v:\n%s\n%s", name, v, d, string(rule), string(labels))
		}
	}
	numbers := strings.HasPrefix(lines[12], " gap  ") && strings.HasPrefix(lines[13], "rows  ") && strings.HasPrefix(lines[14], "      gap: ") && len([]rune(lines[13])) <= len(rule)
	bars := strings.HasPrefix(lines[12], "rows ┤") && strings.Contains(lines[13], " in a b") && len([]rune(lines[12])) <= len(rule)
	if numbers == bars {
		t.Errorf("%s: below are\n%s", name, strings.Join(lines[12:15], "\n"))
	}
}

// TestWorkflows runs the commands of the workflows in docs/ci, in order, and of docs/ci.md those without output.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "ci", "*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v: %v", files, err)
	}
	commands := map[string][]string{}
	for _, f := range append(files, filepath.Join("..", "..", "docs", "ci.md")) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^(?: *- | *)(candor (?:eval|merge|compare|drift|score) .*)$`).FindAllStringSubmatch(string(text), -1) {
			commands[f] = append(commands[f], m[1])
		}
	}
	d := newDir(t)
	t.Chdir(d.path)
	s := newSet(4, 300, 1)
	sites := make([]int32, s.rows)
	for i := range sites {
		sites[i] = int32(i % 5)
	}
	for _, name := range []string{"probs.npy", "main.npy", "branch.npy"} {
		d.put(name, s.scores(t))
	}
	d.put("labels.npy", s.labelFile(t))
	d.put("sites.npy", npy(t, []int64{int64(s.rows)}, sites))
	d.put("kept.npy", s.each(math.Sqrt).scores(t))
	for f, l := range commands {
		if len(l) < 2 {
			t.Errorf("%s has the commands %q", f, l)
		}
		evaluate(t, "probs.npy", "--labels", "labels.npy", "--state", "base.state")
		printed(t, "score", "kept.npy", "--labels", "labels.npy", "-o", "base.npz")
		for _, line := range l {
			line = strings.ReplaceAll(line, "'", "")
			if code, _, errs := candor(t, strings.Fields(line)[1:]...); code != 0 && code != exitGate {
				t.Errorf("%s: %s: exit code %d: %s", f, line, code, errs)
			}
		}
	}
}

// withoutDetail removes from a document what it has only by itself, and not as one of several.
func withoutDetail[V any](doc map[string]V) {
	for _, key := range []string{"equal_mass", "risk_coverage", "classes", "audit"} {
		delete(doc, key)
	}
}
