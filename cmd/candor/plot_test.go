package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// drawnBy returns the SVG that a command line with --plot writes.
func drawnBy(t *testing.T, d *dir, args ...string) string {
	t.Helper()
	to := d.at("drawn.svg")
	if code, _, errs := candor(t, append(args, "--plot", to)...); code != 0 {
		t.Fatalf("candor %v: exit code %d: %s", args, code, errs)
	}
	return string(d.read(to))
}

// saidBy returns the texts of a picture, in their order, with a space between them; what is on two lines reads as on one.
func saidBy(svg string) string {
	var b strings.Builder
	for _, m := range regexp.MustCompile(`<text [^>]*>([^<]*)</text>`).FindAllStringSubmatch(svg, -1) {
		b.WriteString(m[1] + " ")
	}
	return b.String()
}

// TestPlot: the picture is of the bins that --plot-y asks for, and the result is printed beside it.
func TestPlot(t *testing.T) {
	d := newDir(t)
	s, two, b := newSet(1, 400, 4), newSet(2, 400, 2), newSet(3, 400, 1)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	tx, ty := d.put("tx.npy", two.scores(t)), d.put("ty.npy", two.labelFile(t))
	bx, by := d.put("bx.npy", b.scores(t)), d.put("by.npy", b.labelFile(t))
	const positive, score, right = "probability of y = 1", "confidence: the probability of the chosen class", "↑ share that is right "
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{x, "--labels", y}, []string{score, right, "400 rows × 4 classes: ", "Top label; 15 equal-width bins"}},
		{[]string{x, "--labels", y, "--plot-y", "frequency"}, []string{score, right}},
		{[]string{x, "--labels", y, "--plot-y", "gap"}, []string{score, "↑ share that is right − confidence, points "}},
		{[]string{x, "--labels", y, "--bins", "7", "--confidence", "0.9"}, []string{"Top label; 7 equal-width bins", " 90% interval ", "where 90% of calibrated"}},
		{[]string{tx, "--task", "classification", "--labels", ty}, []string{score, right}},
		{[]string{tx, "--task", "classification", "--labels", ty, "--plot-y", "frequency"}, []string{positive, "↑ share of y = 1 "}},
		{[]string{tx, "--task", "classification", "--labels", ty, "--plot-y", "gap"}, []string{score, "↑ share that is right − confidence, points "}},
		{[]string{bx, "--labels", by}, []string{positive, "↑ share of y = 1 "}},
		{[]string{bx, "--labels", by, "--plot-y", "frequency", "--metrics", "nll"}, []string{positive}},
		{[]string{bx, "--labels", by, "--plot-y", "accuracy"}, []string{score, right}},
		{[]string{bx, "--labels", by, "--plot-y", "accuracy", "--metrics", "ece"}, []string{score, right}},
		{[]string{bx, "--labels", by, "--plot-y", "gap"}, []string{positive, "↑ share of y = 1 − probability, points "}},
		{[]string{bx, "--labels", by, "--like", "um"}, []string{score, right}},
		{[]string{bx, "--labels", by, "--like", "um", "--plot-y", "frequency"}, []string{positive}},
	} {
		svg := drawnBy(t, d, append([]string{"eval"}, c.args...)...)
		for _, w := range c.want {
			if !strings.Contains(saidBy(svg), w) {
				t.Errorf("%v: the picture does not say %q: %s", c.args, w, saidBy(svg))
			}
		}
	}

	// With every output the result is what it is without a picture, and each format is one: each with one of them, if not all with all.
	for n, form := range []string{"table", "markdown", "csv", "json"} {
		_, want, _ := candor(t, "eval", x, "--labels", y, "--format", form)
		for i, magic := range []string{"<svg ", "%PDF-", "\x89PNG"} {
			if !check.Full() && i != n%3 {
				continue
			}
			ext := []string{"svg", "PDF", "png"}[i]
			to := d.at("p." + ext)
			if code, got, errs := candor(t, "eval", x, "--labels", y, "--format", form, "--plot", to); code != 0 || errs != "" || got != want {
				t.Errorf("%s with a picture: exit code %d, %s", form, code, errs)
			}
			if !bytes.HasPrefix(d.read(to), []byte(magic)) {
				t.Errorf("%s is no such file", to)
			}
		}
	}

	// A merge draws what an evaluation of all rows draws, to the byte.
	for i, n := range []string{"first-", "second-"} {
		p := s.part(i*150, 150+i*250)
		candor(t, "eval", d.put(n+"x.npy", p.scores(t)), "--labels", d.put(n+"y.npy", p.labelFile(t)), "--state", d.at(n+".state"))
	}
	for _, up := range []string{"accuracy", "gap"} {
		want := drawnBy(t, d, "eval", x, "--labels", y, "--plot-y", up)
		if got := drawnBy(t, d, "merge", d.at("second-.state"), d.at("first-.state"), "--plot-y", up); got != want {
			t.Errorf("%s: the picture of a merge differs", up)
		}
	}
	// The same holds for pictures without bins, whose metrics are evaluated without being asked for.
	for _, n := range []string{"first-", "second-"} {
		candor(t, "eval", d.at(n+"x.npy"), "--labels", d.at(n+"y.npy"), "--metrics", "corp_mcb", "--state", d.at(n+".state"))
	}
	corp := drawnBy(t, d, "eval", x, "--labels", y, "--plot-kind", "corp")
	if got := drawnBy(t, d, "merge", d.at("second-.state"), d.at("first-.state"), "--plot-kind", "corp"); got != corp {
		t.Error("the picture without bins of a merge differs")
	}
	for _, w := range []string{">Recalibrated frequency by score<", ">400 rows; event: the chosen class is right<", ">MCB 0."} {
		if !strings.Contains(corp, w) {
			t.Errorf("the picture without bins does not say %q", w)
		}
	}
	candor(t, "eval", tx, "--task", "classification", "--labels", ty, "--metrics", "ece", "--state", d.at("ece.state"))
	if code, _, errs := candor(t, "merge", d.at("ece.state"), "--plot", d.at("none.png"), "--plot-kind", "corp"); code != exitUsage || !strings.Contains(errs, "corp_mcb") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	code, out, errs := candor(t, "merge", d.at("ece.state"), "--plot", d.at("none.png"), "--plot-y", "frequency")
	if code != exitUsage || out != "" || !strings.Contains(errs, "ece_positive") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestPlotFiles: the picture is written whole or not at all, over nothing that is read.
func TestPlotFiles(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 40, 4)
	x, y := d.put("x.png", s.scores(t)), d.put("y.npy", s.labelFile(t))
	code, out, errs := candor(t, "eval", x, "--labels", y, "--plot", x)
	if code != exitUsage || out != "" || !strings.Contains(errs, "that file is read") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// What fails leaves an old picture alone, and nothing new.
	old, labels := d.put("old.png", []byte("old")), d.put("bad.npy", s.label(9, 3).labelFile(t))
	before := d.list()
	if code, _, errs := candor(t, "eval", x, "--labels", labels, "--plot", old); code != exitData {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if l := d.list(); !slices.Equal(l, before) || string(d.read(old)) != "old" {
		t.Errorf("the folder has %v, it had %v", l, before)
	}
	// A picture is written before its gate fails, and replaces the old one.
	if code, _, _ := candor(t, "eval", x, "--labels", y, "--plot", old, "--fail-if", "ece>0"); code != exitGate || !bytes.HasPrefix(d.read(old), []byte("\x89PNG")) {
		t.Errorf("exit code %d", code)
	}
	if l := d.list(); !slices.Equal(l, before) {
		t.Errorf("the folder has %v, it had %v", l, before)
	}
	// A picture that cannot be written is no result.
	if os.Getuid() != 0 {
		if err := os.Chmod(d.path, 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(d.path, 0o700)
		if code, out, errs := candor(t, "eval", x, "--labels", y, "--plot", d.at("new.png")); code != exitUsage || out != "" || !strings.Contains(errs, "cannot write") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
}

// TestPlotCORP: the picture of recalibrated frequencies, which a merge draws to the byte; and what it cannot be drawn from.
func TestPlotCORP(t *testing.T) {
	d := newDir(t)
	s := newSet(4, 400, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	want := drawnBy(t, d, "eval", x, "--labels", y, "--plot-kind", "corp")
	for _, w := range []string{">400 rows; event: the chosen class is right<", ">MCB 0.", ">confidence: the probability of the chosen class<"} {
		if !strings.Contains(want, w) {
			t.Errorf("the picture does not say %q", w)
		}
	}
	for i, n := range []string{"first-", "second-"} {
		p := s.part(i*150, 150+i*250)
		candor(t, "eval", d.put(n+"x.npy", p.scores(t)), "--labels", d.put(n+"y.npy", p.labelFile(t)), "--metrics", "corp_mcb", "--state", d.at(n+".state"))
	}
	if got := drawnBy(t, d, "merge", d.at("second-.state"), d.at("first-.state"), "--plot-kind", "corp"); got != want {
		t.Error("the picture of a merge differs")
	}
	for metric, name := range map[string]string{"corp_mcb(score=log)": "log.state", "ece": "ece.state"} {
		candor(t, "eval", x, "--labels", y, "--metrics", metric, "--state", d.at(name))
		code, out, errs := candor(t, "merge", d.at(name), "--plot", d.at("none.png"), "--plot-kind", "corp")
		if code != exitUsage || out != "" || !strings.Contains(errs, "--metrics default,corp_mcb") {
			t.Errorf("%s: exit code %d: %s", metric, code, errs)
		}
	}
	code, out, errs := candor(t, "eval", x, "--labels", y, "--confidence-scores", d.put("s.npy", newSet(5, 400, 1).scores(t)), "--plot", d.at("none.png"), "--plot-kind", "corp")
	if code != exitUsage || out != "" || !strings.Contains(errs, "draw risk-coverage or roc") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestCurvePictures: of whatever rows, a picture over ranks is one, says what it is of, and draws no number that is none. Each set of
// rows has two of the pictures, by turns, one with -short, and all if nothing is left out.
func TestCurvePictures(t *testing.T) {
	says := [][2]string{{"risk-coverage", ">Errors among the rows that are kept<"}, {"rejection", ">Accuracy when the least confident rows are refused<"},
		{"confidence", ">Accuracy of the rows above a confidence<"}, {"roc", "told from"}, {"ood-roc", ">Out-of-distribution rows found by their doubt<"}}
	for n, l := range edges() {
		if testing.Short() && n%2 > 0 {
			continue
		}
		d := newDir(t)
		scored, weights := slices.Contains(l.flags, "--confidence-scores"), slices.Contains(l.flags, "--weights")
		paths, flags := shards(t, d, l, []int{0, l.set.rows}, 1)
		flags = append(flags, "--ood", d.put("o.npy", newSet(61, 30, l.set.classes).scores(t)))
		for i, say := range says {
			if (n+i)%5 >= check.Size(1, 2, 5) {
				continue
			}
			kind, title := say[0], say[1]
			args := append(append(append([]string{"eval"}, paths...), flags...), "--metrics", "accuracy", "--plot-kind", kind)
			if weights { // out-of-distribution rows have none
				if code, _, errs := candor(t, append(args, "--plot", d.at("p.svg"))...); code != exitUsage || !strings.Contains(errs, "leave --weights out") {
					t.Errorf("%s: %s: exit code %d: %s", l.name, kind, code, errs)
				}
				if args = append(args[:len(args)-6:len(args)-6], args[len(args)-4:]...); kind == "ood-roc" || kind == "rejection" {
					continue
				}
			}
			if scored && kind != "risk-coverage" && kind != "roc" {
				if code, _, errs := candor(t, append(args, "--plot", d.at("p.svg"))...); code != exitUsage || !strings.Contains(errs, "draw risk-coverage or roc") {
					t.Errorf("%s: %s: exit code %d: %s", l.name, kind, code, errs)
				}
				continue
			}
			svg := drawnBy(t, d, args...)
			if !strings.Contains(svg, title) || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("%s: %s does not say %q, or has NaN", l.name, kind, title)
			}
		}
	}
	// Without other rows there is no ROC of them, and rejection would be the mirror of risk-coverage.
	d := newDir(t)
	s := newSet(62, 80, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	for _, kind := range []string{"rejection", "ood-roc"} {
		if code, _, errs := candor(t, "eval", x, "--labels", y, "--plot", d.at("p.svg"), "--plot-kind", kind); code != exitUsage || !strings.Contains(errs, "give --ood FILE") {
			t.Errorf("%s: exit code %d: %s", kind, code, errs)
		}
	}
	if svg := drawnBy(t, d, "eval", x, "--labels", y, "--plot-kind", "rejection", "--ood", d.put("o.npy", newSet(64, 30, 3).scores(t))); !strings.Contains(saidBy(svg), "theoretical maximum: all out-of-distribution rows refused first") {
		t.Error("the best order is not that of out-of-distribution rows")
	}
	for _, c := range []struct{ x, y, want string }{{x, y, "Top label; 2 bins of equal mass"}, {d.put("b.npy", newSet(65, 900, 1).scores(t)), d.put("by.npy", newSet(65, 900, 1).labelFile(t)), "Positive class; 15 bins of equal mass"}} {
		svg := drawnBy(t, d, "eval", c.x, "--labels", c.y, "--plot-kind", "equal-mass")
		if said := saidBy(svg); !strings.Contains(said, c.want) || !strings.Contains(said, "Where the calibration error comes from") || !strings.Contains(said, "groups of equal size") {
			t.Errorf("the gaps say %s", said)
		}
	}
	if svg := drawnBy(t, d, "eval", x, "--labels", y, "--plot-kind", "roc"); !strings.Contains(svg, ">Right told from wrong by confidence<") {
		t.Error("of more than two classes the ROC is not of being right")
	}
	// A state draws what its metrics are over, and says what it would take else.
	state := d.at("s.state")
	evaluate(t, x, "--labels", y, "--state", state)
	if code, _, errs := candor(t, "merge", state, "--plot", d.at("p.svg"), "--plot-kind", "risk-coverage"); code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	two := newSet(63, 80, 2)
	evaluate(t, d.put("x2.npy", two.scores(t)), "--labels", d.put("y2.npy", two.labelFile(t)), "--state", state, "--metrics", "accuracy", "--task", "classification")
	if code, _, errs := candor(t, "merge", state, "--plot", d.at("p.svg"), "--plot-kind", "roc"); code != exitUsage || !strings.Contains(errs, "--metrics default,auroc") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestPlotWithoutTemporaryFolder: no format needs one.
func TestPlotWithoutTemporaryFolder(t *testing.T) {
	d := newDir(t)
	x, y := d.put("x.npy", newSet(1, 50, 3).scores(t)), d.put("y.npy", newSet(1, 50, 3).labelFile(t))
	for _, v := range []string{"TMPDIR", "TMP", "TEMP", "USERPROFILE"} {
		t.Setenv(v, d.at("none"))
	}
	for _, name := range []string{"p.pdf", "p.svg", "p.png"} {
		if code, _, errs := candor(t, "eval", x, "--labels", y, "--plot", d.at(name)); code != exitDone {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
	}
}

// TestPlotDifferences: pictures of intervals say what the result says, a merge draws the same, and each is refused where it has no data.
func TestPlotDifferences(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 400, 3)
	y := d.put("y.npy", s.labelFile(t))
	args := []string{"compare", d.put("first.npy", s.scores(t)), d.put("second.npy", newSet(2, 400, 3).scores(t)), "--labels", y, "--margin", "nll=0.1"}
	svg := drawnBy(t, d, append(args, "--plot-kind", "differences", "--state", d.at("pair.state"))...)
	for _, want := range []string{">Differences, second minus first<", ">first better<", ">differences that do not matter<", ">nll<", ">accuracy<", ">95% intervals<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if got := drawnBy(t, d, "merge", d.at("pair.state"), "--margin", "nll=0.1", "--plot-kind", "differences"); got != svg {
		t.Error("a merge draws another picture")
	}
	gaps := drawnBy(t, d, append(args, "--plot-kind", "gaps")...)
	for _, want := range []string{"Difference of the gaps, second minus first ", "95% interval for all bins together", "↑ difference of accuracy − confidence, points", "15 bins of equal width. 400 rows"} {
		if !strings.Contains(saidBy(gaps), want) {
			t.Errorf("the picture of gaps does not say %q", want)
		}
	}
	if got := drawnBy(t, d, "merge", d.at("pair.state"), "--plot-kind", "gaps"); got != gaps {
		t.Error("a merge draws other gaps")
	}
	flips := drawnBy(t, d, append(args, "--plot-kind", "flips")...)
	if got := drawnBy(t, d, "merge", d.at("pair.state"), "--plot-kind", "flips"); got != flips {
		t.Error("a merge draws other flips")
	}
	// The four counts are those of the rows.
	rows := 0
	for _, m := range regexp.MustCompile(`>(\d+), [0-9.]+%<`).FindAllStringSubmatch(flips, -1) {
		n, _ := strconv.Atoi(m[1])
		rows += n
	}
	if rows != 400 || !strings.Contains(flips, ">only second right<") {
		t.Errorf("%d rows in the picture of flips", rows)
	}
	var many []string
	for i := range 12 {
		many = append(many, d.put(fmt.Sprintf("a-model-with-a-long-name-%02d.npy", i), newSet(uint64(i+3), 400, 3).scores(t)))
	}
	svg = drawnBy(t, d, append([]string{"compare", "--labels", y, "--adjust", "max-t", "--plot-kind", "differences", "--metrics", "confidence,nll,accuracy"}, many...)...)
	for _, want := range []string{">Differences<", ">nll<", "simultaneous over 66 pairs", " − 0", ">The document has 158 more.<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture of many sets does not say %q", want)
		}
	}
	if strings.Contains(svg, ">confidence<") || strings.Contains(svg, ">accuracy<") || len(regexp.MustCompile(`>[01][0-9] − [01][0-9]<`).FindAllString(svg, -1)) != 40 {
		t.Errorf("%d pairs of sets", len(regexp.MustCompile(`>[01][0-9] − [01][0-9]<`).FindAllString(svg, -1)))
	}

	var table strings.Builder
	table.WriteString("p,y,place\n")
	for i := range 2500 {
		fmt.Fprintf(&table, "%v,%d,place %d\n", 0.3+0.4*float64(i%7)/7+0.2*float64(i%50)/50, i*i%3%2, i%50)
	}
	table.WriteString("0.5,1,lonely\n")
	groups := []string{"eval", d.put("t.csv", []byte(table.String())), "--prob", "p", "--labels", "y", "--group", "place"}
	svg = drawnBy(t, d, append(groups, "--plot-kind", "groups", "--state", d.at("g.state"))...)
	for _, want := range []string{">Groups by place<", ">bias: mean probability minus base rate, points<", ">10 more groups are less far off.<", "1 group of fewer than", "(50)<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture of groups does not say %q", want)
		}
	}
	if got := drawnBy(t, d, "merge", d.at("g.state"), "--plot-kind", "groups"); got != svg {
		t.Error("a merge draws other groups")
	}
	drifted := d.at("drift.svg")
	printed(t, "eval", d.at("first.npy"), "--labels", y, "--state", d.at("a.state"))
	printed(t, "eval", d.at("second.npy"), "--labels", y, "--state", d.at("b.state"))
	printed(t, "drift", d.at("a.state"), d.at("b.state"), "--plot", drifted)
	if svg := string(d.read(drifted)); !strings.Contains(svg, ">Change, "+d.at("b.state")+" minus "+d.at("a.state")+"<") && !strings.Contains(svg, "minus") || !strings.Contains(svg, ">nll<") {
		t.Error(svg)
	}
	// Where no difference has an interval, the picture says why.
	if svg := drawnBy(t, d, "compare", d.at("first.npy"), d.at("second.npy"), "--labels", y, "--metrics", "ks(exact)", "--plot-kind", "differences"); !strings.Contains(svg, ">no interval<") ||
		!strings.Contains(svg, "exact keeps every row") {
		t.Error(svg)
	}
	// Decisions are counted whatever is asked.
	pair := []string{"compare", d.at("first.npy"), d.at("second.npy"), "--labels", y, "--plot-kind", "flips", "--metrics"}
	if drawnBy(t, d, append(slices.Clone(pair), "nll")...) != drawnBy(t, d, append(slices.Clone(pair), "accuracy")...) {
		t.Error("other flips without accuracy")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"eval", d.at("first.npy"), "--labels", y, "--plot-kind", "groups"}, "--plot-kind groups draws groups of rows, and there are none"},
		{[]string{"merge", d.at("a.state"), "--plot-kind", "differences"}, "--plot-kind differences draws how sets differ"},
		{append(slices.Clone(args), "--plot-kind", "roc"), "--plot-kind roc is for one set; for several sets there are reliability, differences, groups, gaps and flips"},
		{append(append([]string{"compare"}, many[:3]...), "--labels", y, "--plot-kind", "flips"), "--plot-kind flips draws two sets, and there are 3; name two"},
		{append(append([]string{"compare"}, many[:3]...), "--labels", y, "--plot-kind", "gaps"), "--plot-kind gaps draws two sets, and there are 3; name two"},
		{[]string{"compare", d.at("first.npy"), d.at("second.npy"), "--labels", y, "--metrics", "nll", "--plot-kind", "gaps"}, "these metrics do not keep; evaluate with --metrics default,calibration_error_squared"},
		{[]string{"eval", d.at("first.npy"), "--labels", y, "--plot-kind", "gaps"}, "--plot-kind gaps draws how sets differ"},
		{append(slices.Clone(args), "--plot-kind", "groups"), "--plot-kind groups draws groups of rows, and there are none"},
	} {
		if code, _, errs := candor(t, append(c.args, "--plot", d.at("none.svg"))...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, errs)
		}
	}
	if code, _, errs := candor(t, "drift", d.at("a.state"), d.at("b.state"), "--plot", "x.gif"); code != exitUsage || !strings.Contains(errs, "the name of a picture ends in .png, .svg or .pdf") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// TestPlotDecisionBand: the decision curve of independent rows has a band, that of rows with weights or in clusters has none.
func TestPlotDecisionBand(t *testing.T) {
	d := newDir(t)
	var rows strings.Builder
	rows.WriteString("p,y,w,c\n")
	for i := range 300 {
		fmt.Fprintf(&rows, "%v,%d,%d,%d\n", float64(i)/300, (i*i/11+i/100)%2, 1+i%3, i/10)
	}
	table, out := d.put("t.csv", []byte(rows.String())), d.at("d.svg")
	for _, c := range []struct {
		flags []string
		band  bool
	}{{nil, true}, {[]string{"--weights", "w"}, false}, {[]string{"--cluster", "c"}, false}} {
		printed(t, with([]string{"eval", table, "--prob", "p", "--labels", "y", "--plot", out, "--plot-kind", "decision"}, c.flags...)...)
		if got := strings.Contains(string(d.read(out)), "95% interval at each threshold by itself"); got != c.band {
			t.Errorf("%v: a band: %v", c.flags, got)
		}
	}
}

// TestNegativeCosts: costs below 0 are an error that names the cost, and so is a wrong decision that costs no more than a right one.
func TestNegativeCosts(t *testing.T) {
	d := newDir(t)
	table := d.put("t.csv", []byte("p,y\n0.2,0\n0.7,1\n"))
	for _, c := range []struct{ metric, want string }{
		{"expected_cost(fp=-1)", `metric expected_cost: fp is "-1"; it is a number from 0 to`},
		{"expected_cost(fn=-2.5)", `fn is "-2.5"`},
		{"avoidable_cost(tp=-1)", `metric avoidable_cost: tp is "-1"`},
		{"least_cost_threshold(tn=-1)", `tn is "-1"`},
		{"expected_cost(fp=nan)", `fp is "NaN"`},
		{"expected_cost(fp=1,tn=1)", "a wrong decision must cost more than a right one"},
	} {
		refusedAs(t, d, exitUsage, []string{"eval", table, "--prob", "p", "--labels", "y", "--metrics", c.metric}, c.want)
	}
}
