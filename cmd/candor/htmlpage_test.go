package main

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	pageCommand = regexp.MustCompile(`(?s)<pre tabindex="0">(.*?)</pre>`)
	fitCommand  = regexp.MustCompile(`(?s)<pre class="fix" tabindex="0">(.*?)</pre>`)
	pageData    = regexp.MustCompile(`<data value="([^"]*)">`)
	pageJSON    = regexp.MustCompile(`(?s)<script type="application/json" id="candor">(.*?)</script>`)
)

// checkPage holds what is true of every page of --html: one script, which is its document; each number shown is in it; and no name of a file.
func checkPage(t *testing.T, d *dir, name, p string, most int) {
	t.Helper()
	if len(p) > most {
		t.Errorf("%s: %d bytes; %d are enough", name, len(p), most)
	}
	m := pageJSON.FindStringSubmatch(p)
	if m == nil || strings.Count(strings.ToLower(p), "<script") != 1 || strings.Contains(p, " src=") || strings.Contains(p, "http:") {
		t.Fatalf("%s: there is not one document, or something else", name)
	}
	if strings.Contains(p, d.path) && name != "drift" { // whose document names its two sets
		t.Errorf("%s: the page names a file", name)
	}
	var doc any
	if err := json.Unmarshal([]byte(m[1]), &doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	in := map[float64]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case float64:
			in[v], in[-v] = true, true
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(doc)
	shown := pageData.FindAllStringSubmatch(p, -1)
	if len(shown) < 5 {
		t.Errorf("%s: %d numbers", name, len(shown))
	}
	for _, s := range shown {
		if v, err := strconv.ParseFloat(s[1], 64); err != nil || !in[v] {
			t.Errorf("%s: %s is shown and is not in the document", name, s[1])
		}
	}
}

// shellWords divides a command line as a shell does, which knows single quotes and line ends after a backslash.
func shellWords(s string) (l []string) {
	word, in, quote := "", false, false
	for _, r := range strings.NewReplacer(`'\''`, "\x01", "\\\n", " ").Replace(s) {
		switch {
		case r == '\'':
			quote, in = !quote, true
		case (r == ' ' || r == '\n') && !quote:
			if in {
				l = append(l, word)
			}
			word, in = "", false
		default:
			word, in = word+string(r), true
		}
	}
	if in {
		l = append(l, word)
	}
	for i := range l {
		l[i] = strings.ReplaceAll(l[i], "\x01", "'")
	}
	return l
}

// TestHTMLAgain runs the command that a page shows, with the names of files put in: it makes the same page to the byte.
func TestHTMLAgain(t *testing.T) {
	d := newDir(t)
	binary, classes := newSet(1, 300, 1), newSet(2, 300, 3)
	files := map[string]string{
		"LABELS": d.put("y.npy", classes.labelFile(t)), "WEIGHTS": d.put("w.npy", classes.weightFile(t)),
		"DECISIONS": d.put("d.npy", classes.decisionFile(t)), "OTHERS": d.put("o.npy", newSet(5, 40, 3).scores(t)),
	}
	x := d.put("x.npy", classes.scores(t))
	logits := newSet(2, 300, 3)
	for i, v := range logits.probs {
		logits.probs[i] = 2 * math.Log(v)
	}
	l := d.put("l.npy", logits.scores(t))
	b, by := d.put("b.npy", binary.scores(t)), d.put("by.npy", binary.labelFile(t))
	// put replaces a word that stands for a file.
	put := func(words []string, i int, predictions, labels string) {
		switch w := words[i]; {
		case w == "PREDICTIONS":
			words[i] = predictions
		case w == "LABELS":
			words[i] = labels
		case w == "map.json" || w == "recalibrated.npy":
			words[i] = d.at(w)
		case files[w] != "":
			words[i] = files[w]
		}
	}
	fitted := 0
	for _, c := range []struct {
		predictions string
		flags       []string
	}{
		{x, nil},
		{b, nil},
		{x, []string{"--confidence", "0.9"}},
		{x, []string{"--like", "um"}},
		{x, []string{"--like", "guo", "--bins", "20"}},
		{b, []string{"--like", "torchmetrics"}},
		{x, []string{"--bins", "7", "--metrics", "default,ece(bins=30,closed=right),eaurc(replicates=20)", "--seed", "3"}},
		{x, []string{"--weights", files["WEIGHTS"], "--decisions", files["DECISIONS"]}},
		{x, []string{"--ood", files["OTHERS"]}},
		{x, []string{"--ignore-label", "2", "--renormalize"}},
		{l, []string{"--input", "logits"}},
	} {
		t.Run(fmt.Sprint(c.predictions == b, c.flags), func(t *testing.T) {
			y := files["LABELS"]
			if c.predictions == b {
				y = by
			}
			first, again := d.at("first.html"), d.at("again.html")
			code, _, errs := candor(t, append([]string{"eval", c.predictions, "--labels", y, "--html", first}, c.flags...)...)
			if code != exitDone {
				t.Fatal(errs)
			}
			p := string(d.read(first))
			checkPage(t, d, "eval", p, 100e3)
			m := pageCommand.FindStringSubmatch(p)
			if m == nil {
				t.Fatal("the page has no command")
			}
			if m := fitCommand.FindStringSubmatch(p); m != nil {
				fitted++
				fit, apply, _ := strings.Cut(html.UnescapeString(m[1]), "\ncandor")
				for _, line := range []string{fit, "candor" + apply} {
					words := shellWords(line)
					for i, w := range words {
						if w == "OTHERS" { // of the same model, which in another command are scores of other rows
							words[i] = c.predictions
							continue
						}
						put(words, i, c.predictions, y)
					}
					if code, _, errs := candor(t, words[1:]...); code != exitDone {
						t.Errorf("%q: %s", words, errs)
					}
				}
			}
			words := shellWords(html.UnescapeString(m[1]))
			if words[0] != "candor" || words[len(words)-1] != "page.html" {
				t.Fatalf("%q", words)
			}
			for i, w := range words {
				if put(words, i, c.predictions, y); w == "page.html" {
					words[i] = again
				}
			}
			if code, _, errs := candor(t, words[1:]...); code != exitDone {
				t.Fatalf("%q: %s", words, errs)
			}
			if string(d.read(again)) != p {
				t.Errorf("%q makes another page", words)
			}
		})
	}
	if fitted < 5 {
		t.Errorf("%d pages say how to fit a map", fitted)
	}
}

// TestHTMLMerged: the page of the merged states of shards is that of all rows.
func TestHTMLMerged(t *testing.T) {
	d := newDir(t)
	all := newSet(4, 600, 5)
	whole := d.at("whole.html")
	if code, _, errs := candor(t, "eval", d.put("x.npy", all.scores(t)), "--labels", d.put("y.npy", all.labelFile(t)), "--html", whole); code != exitDone {
		t.Fatal(errs)
	}
	var states []string
	for i, part := range []*set{all.part(0, 150), all.part(150, 600)} {
		states = append(states, d.at(fmt.Sprint(i, ".state")))
		code, _, errs := candor(t, "eval", d.put(fmt.Sprint("x", i, ".npy"), part.scores(t)), "--labels", d.put(fmt.Sprint("y", i, ".npy"), part.labelFile(t)),
			"--metrics", "default,sce", "--state", states[i])
		if code != exitDone {
			t.Fatal(errs)
		}
	}
	slices.Reverse(states)
	merged := d.at("merged.html")
	if code, _, errs := candor(t, append([]string{"merge", "--html", merged}, states...)...); code != exitDone {
		t.Fatal(errs)
	}
	if string(d.read(whole)) != string(d.read(merged)) {
		t.Error("the page of merged states is another one")
	}
}

// TestHTMLSlices: merged states with slices give the page of all rows, which carries the worst slices, and says how many more there are.
func TestHTMLSlices(t *testing.T) {
	d := newDir(t)
	var head string
	var rows []string
	for i, l := range strings.Split(strings.TrimSpace(wards(1200)), "\n") {
		if i == 0 {
			head = l
			continue
		}
		rows = append(rows, l)
	}
	flags := []string{"--prob", "p", "--label", "y", "--slice-by", "site,age,score", "--slice-edges", "age=0,20,30,40,50,60,70,120", "--min-rows", "5"}
	table := func(name string, l []string) string { return d.put(name, []byte(head+"\n"+strings.Join(l, "\n")+"\n")) }
	read := func() string {
		b, err := os.ReadFile(d.at("page.html"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	printed(t, append([]string{"eval", table("all.csv", rows), "--html", d.at("page.html")}, flags...)...)
	whole := read()
	printed(t, append([]string{"eval", table("a.csv", rows[:500]), "--state", d.at("a.state")}, flags...)...)
	printed(t, append([]string{"eval", table("b.csv", rows[500:]), "--state", d.at("b.state")}, flags...)...)
	printed(t, "merge", d.at("b.state"), d.at("a.state"), "--min-rows", "5", "--html", d.at("page.html"))
	if read() != whole {
		t.Error("merged states give another page")
	}
	checkPage(t, d, "slices", whole, 100_000)
	var doc struct {
		Slices struct{ List []any }
	}
	if err := json.Unmarshal([]byte(pageJSON.FindStringSubmatch(whole)[1]), &doc); err != nil || len(doc.Slices.List) != 20 {
		t.Errorf("the page carries %d slices: %v", len(doc.Slices.List), err)
	}
	for _, want := range []string{"For whom is it off?", "Multicalibration error: ", "The slices as a table", "The JSON document of the command has ", "--slice-by site"} {
		if !strings.Contains(whole, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestHTMLPages writes a page with every command and for every task.
func TestHTMLPages(t *testing.T) {
	d := newDir(t)
	classes, other := newSet(2, 400, 4), newSet(3, 400, 4)
	x, y := d.put("x.npy", classes.scores(t)), d.put("y.npy", classes.labelFile(t))
	x2 := d.put("x2.npy", other.scores(t))
	b := newSet(6, 5000, 1)
	bx, by := d.put("bx.npy", b.scores(t)), d.put("by.npy", b.labelFile(t))
	sites := make([]string, b.rows)
	for i := range sites {
		sites[i] = fmt.Sprintf("<b>site %d</b>", i%1000)
	}
	many := d.put("sites.npy", textArray(sites))
	f := newFrame("mu", "sigma", "y")
	for i := range 200 {
		f.row(float64(i), 1+float64(i%3), float64(i)+2*classes.probs[i]-1)
	}
	table := d.put("f.csv", f.csv())
	for _, s := range []struct{ state, x string }{{"a.state", x}, {"b.state", x2}} {
		if code, _, errs := candor(t, "eval", s.x, "--labels", y, "--state", d.at(s.state)); code != exitDone {
			t.Fatal(errs)
		}
	}
	for _, c := range []struct {
		name string
		most int
		args []string
	}{
		{"a thousand groups", 250e3, []string{"eval", bx, "--labels", by, "--group", many, "--min-rows", "2"}},
		{"forecasts", 100e3, []string{"eval", table, "--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y"}},
		{"an ensemble", 100e3, []string{"eval", x, x2, "--labels", y, "--task", "ensemble"}},
		{"scaled rows", 100e3, []string{"eval", x, "--labels", y, "--temperature-scaled"}},
		{"a comparison", 100e3, []string{"compare", x, x2, "--labels", y}},
		{"drift", 100e3, []string{"drift", d.at("a.state"), d.at("b.state")}},
		{"recalibration", 100e3, []string{"recal", "fit", "temperature", x, "--labels", y, "--output", d.at("map.json")}},
	} {
		path := d.at("page.html")
		if code, _, errs := candor(t, append(c.args, "--html", path)...); code != exitDone {
			t.Fatalf("%s: %s", c.name, errs)
		}
		p := string(d.read(path))
		checkPage(t, d, c.name, p, c.most)
		if scaled := strings.Contains(p, `<th scope="col">temperature scaling</th>`); scaled != (c.name == "scaled rows") {
			t.Errorf("%s: temperature scaling stands there: %v", c.name, scaled)
		}
		if strings.Contains(p, "<b>site") {
			t.Errorf("%s: a name is markup", c.name)
		}
	}
}

// TestHTMLErrors: what cannot be written is said before anything is read, and a failed run leaves no page.
func TestHTMLErrors(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 20, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--html", ""}, exitUsage, "--html is empty"},
		{[]string{"--html", x}, exitUsage, "that file is read"},
		{[]string{"--html", d.path}, exitUsage, "is a directory"},
		{[]string{"--html", d.at("none/p.html")}, exitUsage, "cannot write"},
		{[]string{"--html", d.at("p.html"), "--state", d.at("p.html")}, exitUsage, "both name"},
		{[]string{"--html", d.at("q.html"), "--metrics", "nonsense"}, exitUsage, "nonsense"},
	} {
		code, _, errs := candor(t, append([]string{"eval", x, "--labels", y}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d: %s", c.args, code, errs)
		}
	}
	for _, name := range []string{"p.html", "q.html"} {
		if _, err := os.Stat(d.at(name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}
