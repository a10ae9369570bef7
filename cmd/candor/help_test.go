package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics/eval"
)

// below returns a command and all below it, without those of cobra.
func below(c *cobra.Command) (l []*cobra.Command) {
	l = append(l, c)
	for _, sub := range c.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" {
			l = append(l, below(sub)...)
		}
	}
	return l
}

// TestHelpHasEveryFlag: the help of a command names each of its flags, and none that it refuses; long helps are short.
func TestHelpHasEveryFlag(t *testing.T) {
	for _, c := range below(rootCommand()) {
		for _, width := range []int{60, 80, 100, 200} {
			text := helpOf(c, width)
			examples := strings.Split(c.Example, "\n")
			for _, l := range strings.Split(text, "\n") {
				if n := utf8.RuneCountInString(l); n > min(width, 100) && !slices.Contains(examples, l) && !strings.Contains(c.Long, l) {
					t.Errorf("%s at %d columns: %q", c.CommandPath(), width, l)
				}
				if strings.TrimRight(l, " ") != l {
					t.Errorf("%s: a line ends in a space: %q", c.CommandPath(), l)
				}
			}
			if c.IsAdditionalHelpTopicCommand() {
				continue
			}
			for _, f := range visibleFlags(c) {
				if f.Name == "help" {
					continue // by which one got there
				}
				if !regexp.MustCompile(`--` + f.Name + `\b`).MatchString(text) {
					t.Errorf("%s --help does not name --%s", c.CommandPath(), f.Name)
				}
			}
		}
		if n := strings.Count(helpOf(c, 100), "\n"); n > 85 && !c.IsAdditionalHelpTopicCommand() || c.Name() == "eval" && n > 60 {
			t.Errorf("%s --help has %d lines", c.CommandPath(), n)
		}
	}
	if _, out, _ := candor(t, "compare", "--help"); strings.Contains(out, "--decisions") {
		t.Errorf("compare --help has flags that it refuses:\n%s", out)
	}
}

// TestTopics: each flag of candor eval is in a topic, a topic has flags that there are, and candor help shows it.
func TestTopics(t *testing.T) {
	known := map[string]bool{}
	for _, c := range below(rootCommand()) {
		for _, f := range visibleFlags(c) {
			known[f.Name] = true
		}
	}
	known["html"] = true // of commands that write a page
	in := map[string]string{}
	_, root, _ := candor(t, "help")
	for _, p := range topics {
		for _, n := range strings.Fields(p.flags) {
			if in[n] != "" || !known[n] {
				t.Errorf("--%s of %s is in %q too, or no command has it", n, p.name, in[n])
			}
			in[n] = p.name
		}
		code, out, errs := candor(t, "help", p.name)
		if code != 0 || errs != "" || !strings.Contains(root, "\n  "+p.name+" ") || len(out) < 100 {
			t.Errorf("help %s: exit code %d: %s", p.name, code, errs)
		}
	}
	for _, f := range visibleFlags(evalCommand()) {
		if f.Name == "help" {
			continue
		}
		if in[f.Name] == "" {
			t.Errorf("--%s is in no topic", f.Name)
		}
		if _, all, _ := candor(t, "help", allFlags); !strings.Contains(all, "--"+f.Name+" ") {
			t.Errorf("help flags does not have --%s", f.Name)
		}
	}
	for _, s := range inShort {
		if !known[s.name] || len(s.usage) > 58 {
			t.Errorf("--%s: %q is too long, or there is no such flag", s.name, s.usage)
		}
	}
}

func TestSuggestions(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"eval", "--metrix", "ece"}, "unknown flag: --metrix (did you mean --metrics?)"},
		{[]string{"eval", "--lables", "y.npy"}, "(did you mean --labels?)"},
		{[]string{"merge", "--repot", "x"}, "(did you mean --report?)"},
		{[]string{"compare", "--decisins", "x"}, "unknown flag: --decisins\n"}, // --decisions is one that it refuses
		{[]string{"eval", "--qqqqqq"}, "unknown flag: --qqqqqq\n"},
		{[]string{"eval", "-q"}, "unknown shorthand flag: 'q' in -q\n"},
		{[]string{"eval", "--format", "tabel"}, `--format is "tabel" (did you mean table?); it is table, markdown, csv or json`},
		{[]string{"eval", "--input", "logit"}, `--input is "logit" (did you mean logits?)`},
		{[]string{"eval", "--plot", "p.svg", "--plot-kind", "rocc"}, `--plot-kind is "rocc" (did you mean roc?)`},
		{[]string{"eval", "--task", "binnary"}, `--task is "binnary" (did you mean binary?)`},
		{[]string{"compare", "a.npy", "b.npy", "--baseline", "bb"}, "(did you mean b?)"},
		{[]string{"drift", "a", "b", "--adjust", "bhh"}, `--adjust is "bhh" (did you mean bh?); it is holm or bh`},
		{[]string{"recal", "fitt"}, "'candor recal fitt' (did you mean fit?)"},
		{[]string{"recal", "fit", "isotonc", "x.npy"}, "(did you mean isotonic?)"},
		{[]string{"inspct"}, "(did you mean inspect?)"},
		{[]string{"metrics", "brierr"}, "(did you mean brier?)"},
	} {
		if code, _, errs := candor(t, c.args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d: %s", c.args, code, errs)
		}
	}
}

// TestSheets: commands whose results are no metrics have every format, with the same rows.
func TestSheets(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 30, 3)
	x, st := d.put("x|y.npy", s.scores(t)), d.at("s.state")
	table := d.put("t.csv", []byte("p,y\n0.5,1\n0.25,0\n"))
	evaluate(t, x, "--labels", d.put("l.npy", s.labelFile(t)), "--state", st)
	for _, args := range [][]string{{"metrics"}, {"metrics", "ece"}, {"metrics", "calib"}, {"version"}, {"version", "--cpu"}, {"inspect", x, table, st}} {
		var rows [2]int
		for i, f := range []string{"csv", "markdown"} {
			code, out, errs := candor(t, append(slices.Clone(args), "--format", f)...)
			if code != 0 || errs != "" {
				t.Fatalf("%v: exit code %d: %s", args, code, errs)
			}
			if f == "csv" {
				l, err := csv.NewReader(strings.NewReader(out)).ReadAll()
				if err != nil {
					t.Fatal(err)
				}
				rows[i] = len(l)
			} else {
				l := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
				rows[i] = len(l) - 1 // the rule
				bars := strings.Count(l[0], "|")
				for _, r := range l {
					if strings.Count(strings.ReplaceAll(r, `\|`, ""), "|") != bars {
						t.Errorf("%v: %q", args, r)
					}
				}
			}
		}
		if rows[0] != rows[1] || rows[0] < 2 {
			t.Errorf("%v: %d rows of CSV, %d of Markdown", args, rows[0], rows[1])
		}
		_, plain, _ := candor(t, args...)
		_, same, _ := candor(t, append(slices.Clone(args), "--format", "table")...)
		_, short, _ := candor(t, append(slices.Clone(args), "--json")...)
		_, long, _ := candor(t, append(slices.Clone(args), "--format", "json")...)
		if plain != same || plain == short || short != long || !json.Valid([]byte(short)) {
			t.Errorf("%v: the formats are\n%s\n%s\n%s", args, same, short, long)
		}
		if code, _, errs := candor(t, append(slices.Clone(args), "--format", "xml")...); code != exitUsage || !strings.Contains(errs, `--format is "xml"`) {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}

// TestMetricsSearch: a word finds the metrics that mention it, by family.
func TestMetricsSearch(t *testing.T) {
	_, out, _ := candor(t, "metrics", "Kolmogorov")
	if !strings.HasPrefix(out, "Calibration without bins\n  ks ") || strings.Contains(out, "brier ") {
		t.Errorf("%s", out)
	}
	_, all, _ := candor(t, "metrics")
	at := -1
	for _, f := range eval.Families() {
		i := strings.Index("\n"+all, "\n"+f+"\n")
		if i <= at {
			t.Errorf("%s is not there, or not in its place", f)
		}
		at = i
	}
}

// TestCSVIsDocumented: docs/json.md has the columns of each command's CSV.
func TestCSVIsDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, doc, ok := strings.Cut(string(b), "\n## CSV\n")
	if !ok {
		t.Fatal("there is no such part")
	}
	d := newDir(t)
	s := newSet(1, 60, 1)
	x, y, st := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.at("s.state")
	evaluate(t, x, "--labels", y, "--state", st)
	table := d.put("t.csv", []byte("p,y,site\n0.5,1,a\n0.25,0,b\n0.5,0,a\n"))
	for _, args := range [][]string{{"eval", x, "--labels", y}, {"merge", st}, {"eval", table, "--prob", "p", "--label", "y", "--group", "site"}, {"eval", table, "--prob", "p", "--label", "y", "--slice-by", "site"},
		append([]string{"eval"}, newTagged(1, 60, 4).args(t, d, "tags")...), {"drift", st, st}, {"inspect", x}, {"metrics"}, {"version"}} {
		code, out, errs := candor(t, append(slices.Clone(args), "--format", "csv")...)
		head, _, _ := strings.Cut(out, "\n")
		if code != 0 || !strings.Contains(doc, "`"+strings.ReplaceAll(head, "site,", "COLUMN,")+"`") {
			t.Errorf("%v: %s has no %q %s", args, "docs/json.md", head, errs)
		}
	}
}

// TestMan: every command and topic has a page with its flags, of macros that man knows, and shells have their completions.
func TestMan(t *testing.T) {
	d := newDir(t)
	if code, out, errs := candor(t, "man", d.at("share")); code != 0 || out != "" || errs != "" {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	macro := regexp.MustCompile(`^\.(TH|SH|PP|TP|B|nf|fi)\b`)
	pages := 0
	for _, c := range below(rootCommand()) {
		name, section := manName(c)
		b, err := os.ReadFile(d.at(filepath.Join("share", "man", "man"+string(rune('0'+section)), name+"."+string(rune('0'+section)))))
		if err != nil {
			t.Error(err)
			continue
		}
		pages++
		open := 0
		for i, l := range bytes.Split(b, []byte("\n")) {
			if bytes.HasPrefix(l, []byte(".")) && !macro.Match(l) || bytes.HasPrefix(l, []byte("'")) || bytes.Contains(l, []byte("\t")) {
				t.Errorf("%s, line %d: %q", name, i+1, l)
			}
			switch string(l) {
			case ".nf":
				open++
			case ".fi":
				open--
			}
		}
		if open != 0 {
			t.Errorf("%s: .nf without .fi", name)
		}
		for _, w := range []string{".TH CANDOR", "\n.SH NAME\n" + strings.ReplaceAll(name, "-", `\-`) + ` \- `, "\n.SH DESCRIPTION\n", "\n.SH SEE ALSO\n"} {
			if !bytes.Contains(b, []byte(w)) {
				t.Errorf("%s has no %q", name, w)
			}
		}
		if section == 1 {
			for _, f := range visibleFlags(c) {
				if !bytes.Contains(b, []byte(roff("--"+f.Name))) {
					t.Errorf("%s has no --%s", name, f.Name)
				}
			}
		}
	}
	if pages < 20 {
		t.Errorf("%d pages", pages)
	}
	for _, f := range []string{"candor.bash", "_candor", "candor.fish", "candor.ps1"} {
		if b := d.read(d.at("share/completions/" + f)); !bytes.Contains(b, []byte("candor")) || len(b) < 500 {
			t.Errorf("%s has %d bytes", f, len(b))
		}
	}
	for _, args := range [][]string{{"man"}, {"man", "a", "b"}, {"man", d.put("file", nil)}} {
		if code, _, errs := candor(t, args...); code != exitUsage {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}

// TestScreenVerdict: the verdict is bold where there are colours, and stands again at the end of what is longer than the screen.
func TestScreenVerdict(t *testing.T) {
	s := screen{terminal: true, color: true, width: 40, height: 4}
	var b bytes.Buffer
	s.verdict(&b, "one two three four five six seven eight nine")
	if got, want := b.String(), "\x1b[1mone two three four five six seven eight\x1b[0m\n\x1b[1mnine\x1b[0m\n\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	s.again(&b, "nine")
	if strings.Contains(b.String(), "\n\n\x1b[1mnine") {
		t.Errorf("it is there again: %q", b.String())
	}
	b.WriteString("a\nb\n")
	s.again(&b, "nine")
	if !strings.HasSuffix(b.String(), "b\n\n\x1b[1mnine\x1b[0m\n") {
		t.Errorf("it is not there again: %q", b.String())
	}
	var plain bytes.Buffer
	pipe := screen{width: 40}
	pipe.verdict(&plain, "one two three four five six seven eight nine")
	pipe.again(&plain, "nine")
	if plain.String() != "one two three four five six seven eight nine\n\n" {
		t.Errorf("in a pipe: %q", plain.String())
	}
}
