package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/eval"
)

// law is a set with the flags of its evaluation.
type law struct {
	name  string
	set   *set
	flags []string
}

func laws() []law {
	s := newSet(11, 1500, 6)
	small := newSet(12, 37, 3)
	b := newSet(13, 2000, 1)
	b.probs[5], b.labels[5] = 0, 1
	b.probs[6], b.labels[6] = 1, 1
	b.probs[7], b.labels[7] = 0.5, 0
	logs := s.each(math.Log)
	bad := s.with(3, 1, math.NaN()).with(700, 2, 1.5).label(-1, 40, 1400)
	huge := s.each(func(p float64) float64 { return 300 * math.Log(p) })
	wild := s.clone()
	r := rand.New(rand.NewPCG(1, 1))
	for i := range wild.weights {
		wild.weights[i] = math.Exp2(40*r.Float64() - 20)
		if i%50 == 0 {
			wild.weights[i] = 0
		}
	}
	all := []string{"--metrics", quickAll}
	return []law{
		{"default", s, nil},
		{"all metrics", s, all},
		{"few rows", small, all},
		{"options", s, []string{"--metrics", "ece(bins=7,closed=right),default,topk_accuracy(k=3),brier(form=per_class),ece(index=floor),ece(zero=own,one=overflow),mce(bins=100)", "--confidence", "0.8"}},
		{"weights", wild, append(all, "--weights")},
		{"dropped rows", bad, append(all, "--on-invalid", "drop")},
		{"weights and dropped rows", bad, append(all, "--on-invalid", "drop", "--weights")},
		{"binary", b, all},
		{"binary um", b, append(all, "--like", "um")},
		{"um", s, append(all, "--like", "um")},
		{"guo", s, append(all, "--like", "guo", "--bins", "9")},
		{"decisions", s, append(all, "--decisions")},
		{"confidence scores", s, append(all, "--confidence-scores")},
		{"binary with all beside it", b, append(all, "--decisions", "--confidence-scores", "--weights")},
		{"logits", logs, append(all, "--input", "logits")},
		{"logprobs", logs, append(all, "--input", "logprobs")},
		{"far logits", huge, append(all, "--input", "logits")},
		{"renormalize", s.each(func(p float64) float64 { return 3 * p }), append(all, "--renormalize")},
		{"all with options", s.part(0, 300), []string{"--metrics", spelled(6)}},
		{"binary with weights and options", b.part(0, 300), []string{"--metrics", spelled(1), "--weights"}},
		{"decisions and scores and options", s.part(0, 300), []string{"--metrics", spelled(6), "--decisions", "--confidence-scores"}},
		{"little memory", newSet(14, 60, 3).part(0, 60), append(all, "--max-memory", "57MiB")},
	}
}

// quickAll stands for all metrics, with fewer random numbers for those that draw some: see quick.
const quickAll = "quick-all"

// quick returns a list of all metrics for predictions of this many classes.
func quick(classes int) string {
	l, err := eval.ParseMetrics("all", eval.Shape{Classes: classes})
	if err != nil {
		panic(err)
	}
	var names []string
	for _, m := range l {
		switch {
		case strings.Contains(eval.Describe(m.Name).Options, "replicates=200"):
			names = append(names, m.Name+"(replicates=20)")
		case strings.HasPrefix(m.Name, "ece_bayes_"):
			names = append(names, m.Name+"(draws=100)")
		default:
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ",")
}

// shards writes parts of a set and returns the arguments that name them. Their form is C or Fortran order, .npy or .npz,
// by turns from form on.
func shards(t *testing.T, d *dir, l law, cuts []int, form int) (paths, flags []string) {
	var labels, weights, decisions, by []string
	mixed := true // all shards are .npz, or none is: labels come from one place
	for i := 1; i < len(cuts); i++ {
		p := l.set.part(cuts[i-1], cuts[i])
		x, y := p.scores(t), p.labelFile(t)
		if (form+i)%2 == 1 && p.classes > 1 {
			x = p.fortran(t)
		}
		name := func(s string) string { return fmt.Sprintf("%s%d-%d", s, form, i) }
		if form%2 == 0 {
			members := []any{"probs.npy", x, "labels.npy", y, "y_pred.npy", p.decisionFile(t), "confidence_scores.npy", p.byFile(t)}
			if slices.Contains(l.flags, "--weights") {
				members = append(members, "weights.npy", p.weightFile(t))
			}
			paths, mixed = append(paths, d.put(name("x")+".npz", npz(t, members...))), false
			decisions, by = paths, paths // in the same files, but not taken unasked
			continue
		}
		paths = append(paths, d.put(name("x")+".npy", x))
		labels = append(labels, d.put(name("y")+".npy", y))
		weights = append(weights, d.put(name("w")+".npy", p.weightFile(t)))
		decisions = append(decisions, d.put(name("d")+".npy", p.decisionFile(t)))
		by = append(by, d.put(name("s")+".npy", p.byFile(t)))
	}
	for _, f := range l.flags {
		switch {
		case f == "--decisions":
			flags = append(flags, f, strings.Join(decisions, ","))
		case f == "--confidence-scores":
			flags = append(flags, f, strings.Join(by, ","))
		case f == quickAll:
			flags = append(flags, quick(l.set.classes))
		case f != "--weights":
			flags = append(flags, f)
		case mixed:
			flags = append(flags, f, strings.Join(weights, ","))
		}
	}
	if mixed {
		flags = append(flags, "--labels", strings.Join(labels, ","))
	}
	return paths, flags
}

// TestMergeLaw: shards, orders, trees, threads, orders of memory and containers change no byte of a document or a state. Each law is
// tried with one number of shards from 2 to 7, whose states are merged all at once or as a tree, and shown in one other form, by turns:
// with every number from 1 on, in three orders, and in every way and form if nothing is left out.
func TestMergeLaw(t *testing.T) {
	for n, l := range laws() {
		counts, tries, formats := []int{2 + n%6}, 1, []string{"table", "markdown", "csv"}
		switch {
		case check.Full():
			counts, tries = []int{1, 2, 3, 4, 5, 6, 7}, 3
		case testing.Short():
			if n%11 != 4 {
				continue
			}
			counts = []int{3}
			fallthrough
		default:
			formats = formats[n%3:][:1]
		}
		// Some laws of each number of shards take one way, some the other.
		atOnce, asTree := check.Full() || n/2%2 == 0, check.Full() || n/2%2 == 1
		t.Run(l.name, func(t *testing.T) {
			d := newDir(t)
			r := rand.New(rand.NewPCG(uint64(n), 3))
			command := func(args ...string) string {
				t.Helper()
				code, out, errs := candor(t, args...)
				if code != 0 {
					t.Fatalf("candor %v: exit code %d: %s", args, code, errs)
				}
				return out
			}
			rows := l.set.rows
			paths, flags := shards(t, d, l, []int{0, rows}, 1)
			state := d.at("whole.state")
			want := command(append(append(append([]string{"eval"}, paths...), flags...), "--json", "--threads", "1", "--state", state)...)
			wantState := d.read(state)
			same := func(what, doc, path string) {
				t.Helper()
				if doc != want {
					t.Errorf("%s: the document differs", what)
				}
				if !bytes.Equal(d.read(path), wantState) {
					t.Errorf("%s: the state differs", what)
				}
			}
			same("merge of one", command("merge", state, "--json", "-o", d.at("one.state")), d.at("one.state"))
			for _, k := range counts {
				cuts := []int{0, rows}
				for len(cuts) <= k {
					if c := 1 + r.IntN(rows-1); !slices.Contains(cuts, c) {
						cuts = append(cuts, c)
					}
				}
				slices.Sort(cuts)
				paths, flags := shards(t, d, l, cuts, 2+k)
				threads := fmt.Sprint(1 + k%4)
				// All shards in one evaluation.
				all := append(append(append([]string{"eval"}, paths...), flags...), "--json", "--threads", threads, "--state", d.at("all.state"))
				same(fmt.Sprintf("%d shards at once", k), command(all...), d.at("all.state"))
				// Each by itself.
				var states []string
				for i := 1; i < len(cuts); i++ {
					p, f := shards(t, d, l, cuts[i-1:i+1], 2+k)
					s := d.at(fmt.Sprintf("%d-%d.state", k, i))
					command(append(append(append([]string{"eval"}, p...), f...), "--json", "--threads", threads, "--state", s, "--first-row", fmt.Sprint(cuts[i-1]))...)
					states = append(states, s)
				}
				for try := range tries {
					r.Shuffle(len(states), func(i, j int) { states[i], states[j] = states[j], states[i] })
					out := d.at("merged.state")
					if atOnce {
						same(fmt.Sprintf("%d states in some order", k), command(append([]string{"merge", "--json", "-o", out}, states...)...), out)
					}
					if !asTree {
						continue
					}
					// A tree: two of them become one, until one is left.
					left := slices.Clone(states)
					for len(left) > 1 {
						i := r.IntN(len(left) - 1)
						to := d.at(fmt.Sprintf("tree-%d-%d-%d.state", k, try, len(left)))
						command("merge", left[i], left[i+1], "-o", to)
						left = slices.Replace(left, i, i+2, to)
					}
					same(fmt.Sprintf("a tree of %d states", k), command("merge", left[0], "--json", "-o", out), out)
				}
			}
			// The other forms of output come from the same document.
			for _, format := range formats {
				a := command("merge", state, "--format", format)
				b := command("merge", d.at("all.state"), "--format", format)
				if a != b || a == "" {
					t.Errorf("the %s differs", format)
				}
			}
		})
	}
}

// TestMergeGrid: more distinct scores than are kept one by one are kept by a grid, which changes no law: states that are exact merge
// to one that is not, and its document says how far it may be off.
func TestMergeGrid(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes more rows than scores that are kept one by one")
	}
	const rows = 300_000
	d := newDir(t)
	s := newSet(51, rows, 1)
	wide := func(s *set) []byte { return npy(t, s.shape(), s.probs) }
	args := func(name string, s *set, threads string) []string {
		x, y := d.put("x"+name+".npy", wide(s)), d.put("y"+name+".npy", s.labelFile(t))
		return []string{"eval", x, "--labels", y, "--metrics", quick(1) + ",ece(bins=30,adaptive,norm=l2),ece(closed=right)",
			"--json", "--threads", threads, "--state", d.at(name + ".state")}
	}
	read := func(args ...string) (string, *document) {
		t.Helper()
		code, out, errs := candor(t, args...)
		if code != 0 {
			t.Fatalf("candor %v: exit code %d: %s", args, code, errs)
		}
		doc := new(document)
		if err := json.Unmarshal([]byte(out), doc); err != nil {
			t.Fatal(err)
		}
		return out, doc
	}
	want, whole := read(args("whole", s, "3")...)
	checkDocument(t, law{set: s}, want)
	if check.Full() { // else the threads of the parts alone are another number
		if again, _ := read(args("whole", s, "1")...); again != want {
			t.Error("another number of threads gives another document")
		}
	}
	var states []string
	for i, cut := range [][2]int{{0, 1000}, {1000, 140_000}, {140_000, rows}} {
		name := fmt.Sprint(i)
		_, part := read(args(name, s.part(cut[0], cut[1]), "2")...)
		for key, m := range part.Metrics {
			if !m.Exact || m.Bound != nil {
				t.Errorf("%s of %d rows is not exact", key, cut[1]-cut[0])
			}
		}
		states = append(states, d.at(name+".state"))
	}
	orders := [][]int{{2, 0, 1}, {0, 1, 2}}
	if !check.Full() {
		orders = orders[:1]
	}
	for _, order := range orders {
		to := d.at("merged.state")
		got, _ := read("merge", "--json", "-o", to, states[order[0]], states[order[1]], states[order[2]])
		if got != want {
			t.Errorf("merged in the order %v the document differs", order)
		}
		if !bytes.Equal(d.read(to), d.read(d.at("whole.state"))) {
			t.Errorf("merged in the order %v the state differs", order)
		}
	}
	// Metrics over ordered scores have a bound. Bins of equal width are exact for any number of rows.
	byOrder := []string{"ece_equal_mass", "ece_sweep", "calibration_auc", "aurc", "ece(adaptive,bins=30,norm=l2)", "auroc", "auprc", "eaurc(replicates=20)",
		"augrc(replicates=20)", "oracle_accuracy", "oracle_auc", "abstain_precision", "abstain_recall", "retention_accuracy", "retention_nll"}
	for key, m := range whole.Metrics {
		name, _, _ := strings.Cut(key, "(")
		uncut := strings.HasPrefix(eval.Describe(name).Options, "event=") && name != "corp_unc"
		if sure := strings.HasSuffix(name, "_p"); !(sure && m.Value == 0.0) && m.Exact == (uncut || slices.Contains(byOrder, key)) {
			t.Errorf("%s: exact %v, bound %v", key, m.Exact, m.Bound)
		}
	}
	// So do those of the measures without bins, whose bounds hold too: all rows in order are exact.
	rows64 := &metrics.Predictions{Scores: metrics.Scores{F64: s.probs, Rows: rows, Classes: 1}, Labels: s.labels}
	sorted, err := cells.Sort(rows64, nil)
	if err != nil {
		t.Fatal(err)
	}
	sums, fit, smooth, cox := binfree.PartialSumsOf(sorted), metrics.Must(binfree.CORPOf(sorted, nil)), binfree.SmoothOf(sorted), binfree.CoxOf(sorted, nil)
	for key, answer := range map[string]func() (float64, float64){"ks": sums.KS, "kuiper": sums.Kuiper, "smooth_ece": smooth.ECE,
		"corp_mcb(replicates=20)": fit.MCB, "corp_dsc(replicates=20)": fit.DSC, "corp_unc(replicates=20)": fit.UNC, "calibration_slope": cox.Slope, "calibration_intercept": cox.Intercept} {
		v, bound := answer()
		got := whole.value(t, key)
		if most := whole.bound(key); bound != 0 || !(math.Abs(got-v) <= most+1e-12) || most > 0.02 {
			t.Errorf("%s is %v, of the rows %v, with a bound of %v", key, got, v, most)
		}
	}
	// The bounds hold: the values of the rows themselves, by their definitions, are as near as they say.
	right := func(i int) bool { return (s.probs[i] > 0.5) == (s.labels[i] == 1) }
	by := make([]int, rows)
	for i := range by {
		by[i] = i
	}
	sure := func(i int) float64 { return max(s.probs[i], 1-s.probs[i]) }
	slices.SortFunc(by, func(i, j int) int { return cmp.Compare(sure(j), sure(i)) })
	const withheld = rows / 100
	rights, wrong, area, silent, pairs, nll, lost, retained := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for n, i := range by {
		if right(i) {
			rights++
		} else {
			wrong++
			pairs += rights // of this one with those that are right and surer
			if n >= rows-withheld {
				lost++
			}
		}
		if s.labels[i] == 1 {
			nll -= math.Log(s.probs[i])
		} else {
			nll -= math.Log1p(-s.probs[i])
		}
		area += wrong / float64(n+1) / rows
		silent += wrong / rows / rows
		if !right(i) {
			silent -= 0.5 / rows / rows
		}
		retained += nll / float64(n+1) / (rows + 1)
	}
	best := 0.0 // with all errors last
	for n := range int(wrong) {
		best += float64(n+1) / (rights + float64(n+1)) / rows
	}
	want64 := map[string]float64{"aurc": area, "eaurc(replicates=20)": area - best, "augrc(replicates=20)": silent, "calibration_auc": pairs / (rights * wrong),
		"oracle_accuracy": (rights + lost) / rows, "abstain_precision": lost / withheld, "abstain_recall": lost / wrong,
		"retention_accuracy": 1 - area*rows/(rows+1), "retention_nll": retained}
	// And those of class 1 by its probability.
	slices.SortFunc(by, func(i, j int) int { return cmp.Compare(s.probs[j], s.probs[i]) })
	ones, noughts, above, precision := 0.0, 0.0, 0.0, 0.0
	for n, i := range by {
		if s.labels[i] == 1 {
			ones++
			precision += ones / float64(n+1)
		} else {
			noughts++
			above += ones
		}
	}
	want64["auroc"], want64["auprc"] = above/(ones*noughts), precision/ones
	for key, want := range want64 {
		got, bound := whole.value(t, key), whole.bound(key)
		if !(bound > 0 && bound < 5e-3) || !(math.Abs(got-want) <= bound) {
			t.Errorf("%s is %v, of the rows %v, which is not within %v", key, got, want, bound)
		}
	}
}

func TestMergeIntoItself(t *testing.T) {
	d := newDir(t)
	a, b := states(t, d)
	_, want, _ := candor(t, "merge", a, b, "--json")
	// A state that is merged is not written over: done twice, its rows would count twice.
	link := d.at("link.state")
	if err := os.Symlink(a, link); err != nil {
		link = a
	}
	before := d.read(a)
	for _, to := range []string{a, b, link} {
		code, out, errs := candor(t, "merge", a, b, "-o", to)
		if code != exitUsage || out != "" || !strings.Contains(errs, "-o "+to+": that file is read; name another one") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
	if !bytes.Equal(d.read(a), before) {
		t.Error("a state was written over")
	}
	if code, got, errs := candor(t, "merge", a, b, "-o", d.at("sum.state"), "--json"); code != 0 || got != want || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	code, _, errs := candor(t, "merge", b, b)
	if code != 0 || !strings.Contains(errs, "are the same rows counted twice?") {
		t.Errorf("exit code %d: %q", code, errs)
	}
	x, y := d.at("x0.npy"), d.at("y0.npy")
	code, _, errs = candor(t, "eval", x, x, "--labels", y+","+y)
	if code != 0 || !strings.Contains(errs, "x0.npy is named twice") {
		t.Errorf("exit code %d: %q", code, errs)
	}
}

func TestStateFiles(t *testing.T) {
	d := newDir(t)
	s := newSet(5, 200, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	eval := func(to string) (int, string) {
		code, _, errs := candor(t, "eval", x, "--labels", y, "--state", to)
		return code, errs
	}
	to := d.at("s.state")
	if code, errs := eval(to); code != 0 {
		t.Fatal(errs)
	}
	want := d.read(to)
	fi, err := os.Stat(to)
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode().Perm()&0o600 != 0o600 || fi.Mode().Perm()&0o022 != 0 && os.Getuid() == 0 {
		t.Errorf("the state's permissions are %v", fi.Mode())
	}
	// A link stays one, and what it points at is replaced.
	target, link := d.put("target", []byte("old")), d.at("link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if code, errs := eval(link); code != 0 {
		t.Fatal(errs)
	}
	if fi, err := os.Lstat(link); err != nil || fi.Mode()&os.ModeSymlink == 0 || !bytes.Equal(d.read(target), want) {
		t.Error("the link was replaced, or what it points at was not")
	}
	if l := d.list(); !slices.Equal(l, []string{"link", "s.state", "target", "x.npy", "y.npy"}) {
		t.Errorf("the folder has %v", l)
	}
	// User 0 may write into any folder.
	if os.Getuid() != 0 {
		if err := os.Chmod(d.path, 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(d.path, 0o700)
		if code, errs := eval(d.at("new.state")); code != exitUsage || !strings.Contains(errs, "cannot write") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
}

// TestWriteFileFails: what cannot be renamed leaves nothing.
func TestWriteFileFails(t *testing.T) {
	d := newDir(t)
	if err := os.Mkdir(d.at("folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.put("folder/file", nil)
	for _, p := range []string{d.at("folder"), d.at("none/state"), d.at("folder/file/state")} {
		if err := writeFile(p, []byte("state")); err == nil || !strings.Contains(err.Error(), "cannot write "+p) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if l := d.list(); !slices.Equal(l, []string{"folder/file"}) {
		t.Errorf("the folder has %v", l)
	}
}

// TestMergeUnlikeMemory: states that were made with unlike memory merge where nothing depends on it, and elsewhere the error names both.
func TestMergeUnlikeMemory(t *testing.T) {
	d := newDir(t)
	s := newSet(71, 300, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	for _, c := range []struct {
		metrics string
		code    int
		says    string
	}{
		{"default,sce", 0, ""},
		{"default,ace", exitData, "one was made with --max-memory 57MiB and one with 500MB, which bounds the scores that adaptive metrics and average= keep; evaluate the shards with the same --max-memory"},
	} {
		var states []string
		for _, memory := range []string{"57MiB", "500MB"} {
			states = append(states, d.at(memory))
			evaluate(t, x, "--labels", y, "--metrics", c.metrics, "--max-memory", memory, "--state", d.at(memory))
		}
		if code, _, errs := candor(t, "merge", states[0], states[1]); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d: %s", c.metrics, code, errs)
		}
	}
}
