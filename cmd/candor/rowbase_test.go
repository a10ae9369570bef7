package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions"
)

// baseline is what a comparison's document has of its differences and flips.
type baseline struct {
	Differences []map[string]any
	Flips       []map[string]any
	Sets        []map[string]any
}

func baselineOf(t *testing.T, args ...string) (b baseline) {
	t.Helper()
	if err := json.Unmarshal([]byte(printed(t, append([]string{"compare", "--json"}, args...)...)), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// noisy returns the set with other probabilities.
func noisy(s *set, seed uint64) *set {
	r := rand.New(rand.NewPCG(seed, 6))
	n := s.each(func(p float64) float64 { return p * math.Exp(0.5*r.NormFloat64()) })
	for i := range n.rows {
		row := n.probs[i*n.classes : (i+1)*n.classes]
		sum := 0.0
		for _, p := range row {
			sum += p
		}
		if n.classes == 1 {
			sum = 1 + row[0]
		}
		for k := range row {
			row[k] /= sum
		}
	}
	return n
}

// byRow are the metrics whose differences losses by row decide.
var byRow = []string{"nll", "brier", "accuracy", "perplexity", "nll(clip=0.01)"}

// TestRowBase: differences by the losses by row that candor score wrote are those by the predictions, to the last bit, as are flips.
func TestRowBase(t *testing.T) {
	d := newDir(t)
	own := d.folder("own") // so that sets have the same names
	weights := func(n int) []byte {
		w := make([]float64, n)
		for i := range w {
			w[i] = float64(i % 4)
		}
		return npy(t, []int64{int64(n)}, w)
	}
	for _, classes := range []int{1, 2, 5} {
		s := newSet(8, 700, classes)
		a, b, c := own.put("base.npy", s.scores(t)), d.put("new.npy", noisy(s, 1).scores(t)), d.put("other.npy", noisy(s, 2).scores(t))
		y, w, videos := d.put("y.npy", s.labelFile(t)), d.put("w.npy", weights(700)), d.put("video.npy", npy(t, []int64{700}, func() (v []int32) {
			for i := range 700 {
				v = append(v, int32(i/9))
			}
			return v
		}()))
		metrics := []string{"--metrics", strings.Join(byRow, ",") + ",ece,nll_skill"}
		score := []string{"score", a, "--labels", y, "--metrics", "default,nll(clip=0.01)", "-o", d.at("base.npz")}
		printed(t, score...)
		for _, more := range [][]string{nil, {"--weights", w}, {"--cluster", videos}, {"--adjust", "max-t"}, {"--baseline", "new"}, {"--margin", "nll=0.05"}} {
			base := d.at("base.npz")
			if len(more) > 0 && more[0] == "--weights" && classes == 2 { // written with the losses
				base = d.folder("weighted").at("base.npz")
				printed(t, append(slices.Clone(score[:6]), "-o", base, "--weights", w)...)
				metrics = []string{"--metrics", "nll,brier,accuracy,perplexity,ece"}
			}
			for _, order := range [][]string{{"base", b, c}, {b, "base"}} {
				sets := func(base string) (l []string) {
					for _, p := range order {
						if p == "base" {
							p = base
						}
						l = append(l, p)
					}
					return slices.Concat(l, []string{"--labels", y}, metrics, more)
				}
				want, got := baselineOf(t, sets(a)...), baselineOf(t, sets(base)...)
				at := slices.Index(order, "base")
				for i, x := range want.Differences {
					g, name := got.Differences[i], x["metric"].(string)
					switch ofBase := x["a"] == "base" || x["b"] == "base"; {
					case !ofBase && len(more) == 0, ofBase && slices.Contains(byRow, name):
						delete(x, "p_adjusted") // of the other pairs too
						delete(g, "p_adjusted")
						if !reflect.DeepEqual(g, x) {
							t.Errorf("%d classes, %v, %v:\n%v\n%v", classes, order, more, g, x)
						}
					case ofBase && name == "nll_skill":
						if v, w := g["value"].(float64), x["value"].(float64); !(math.Abs(v-w) < 1e-14) || g["method"] != x["method"] {
							t.Errorf("%d classes, %v, %v: nll_skill differs by %v, want %v", classes, order, more, v, w)
						}
					case ofBase && name == "ece":
						if g["value"] != nil || g["reason"] != "only losses by row are known of base, and it is not a mean of them" {
							t.Errorf("ece: %v", g)
						}
					}
				}
				if !reflect.DeepEqual(got.Flips, want.Flips) || len(got.Flips) == 0 {
					t.Errorf("%d classes, %v, %v: flips %v, want %v", classes, order, more, got.Flips, want.Flips)
				}
				set := got.Sets[at]
				values := func(s map[string]any, name string) any {
					return s["metrics"].(map[string]any)[name].(map[string]any)["value"]
				}
				for _, name := range []string{"nll", "brier", "accuracy", "perplexity"} {
					if v, w := values(set, name), values(want.Sets[at], name); v != w {
						t.Errorf("%d classes, %v: %s of the base is %v, want %v", classes, more, name, v, w)
					}
				}
				if v, ok := set["losses_by_row"].(map[string]any); !ok || v["name"] != "base" || set["bins"] != nil || set["state"] != nil || set["input"].(map[string]any)["rows"] != want.Sets[at]["input"].(map[string]any)["rows"] {
					t.Errorf("the document of losses by row: %v", set)
				}
			}
		}
		os.RemoveAll(d.at("weighted"))
	}
}

// TestRowBaseAligned: losses by row are matched by the ids that were written with them, with names of classes; flips are those of the predictions.
func TestRowBaseAligned(t *testing.T) {
	d := newDir(t)
	own := d.folder("own")
	rows := alignModels(3, 400)
	for _, ext := range []string{".csv", ".parquet"} {
		base := strings.TrimSuffix("base"+ext, ".csv") // is the name of the table
		named := func(b baseline) baseline {
			for _, d := range b.Differences {
				d["a"] = strings.Replace(d["a"].(string), base, "base", 1)
			}
			for _, d := range b.Flips {
				d["a"] = strings.Replace(d["a"].(string), base, "base", 1)
			}
			return b
		}
		a := tableAs(t, own.at("base"+ext), csvOf(alignHead, rows[0], inOrder(400)))
		b := tableAs(t, d.at("new"+ext), csvOf(alignHead, rows[1], shuffled(400)))
		flags := []string{"--prob-prefix", "p_", "--label", "y", "--id", "id"}
		printed(t, append([]string{"score", a, "-o", d.at("base.npz")}, flags...)...)
		args := append(slices.Clone(flags), "--metrics", "nll,accuracy", "--flips")
		want, got := named(baselineOf(t, append([]string{a, b}, append(args, d.at("want.csv"))...)...)), baselineOf(t, append([]string{d.at("base.npz"), b}, append(args, d.at("got.csv"))...)...)
		if !reflect.DeepEqual(got.Differences, want.Differences) || !reflect.DeepEqual(got.Flips, want.Flips) {
			t.Errorf("%s:\n%v\n%v", ext, got.Differences, want.Differences)
		}
		if g, w := string(d.read(d.at("got.csv"))), strings.ReplaceAll(string(d.read(d.at("want.csv"))), ","+base+",", ",base,"); g != w || len(w) < 1000 {
			t.Errorf("%s: other flips: %s", ext, differing(g, w))
		}
		// Rows that only one has are left out.
		some := tableAs(t, d.at("some"+ext), csvOf(alignHead, rows[1], shuffled(400)[50:]))
		drop := append(slices.Clone(flags), "--on-unmatched", "drop", "--metrics", "nll,accuracy")
		want, got = named(baselineOf(t, append([]string{a, some}, drop...)...)), baselineOf(t, append([]string{d.at("base.npz"), some}, drop...)...)
		if !reflect.DeepEqual(got.Differences, want.Differences) {
			t.Errorf("%s, rows left out:\n%v\n%v", ext, got.Differences, want.Differences)
		}
		// Another label, and no such column.
		wrong := alignModels(3, 400)[1]
		wrong[7][4] = map[string]string{"cat": "dog", "dog": "eel", "eel": "cat"}[wrong[7][4]]
		{
			code, _, errs := candor(t, append([]string{"compare", d.at("base.npz"), tableAs(t, d.at("wrong"+ext), csvOf(alignHead, wrong, shuffled(400)))}, flags...)...)
			if code != exitData || !strings.Contains(errs, "wrong"+ext) || !strings.Contains(errs, `id "r-0007": the label is`) {
				t.Errorf("%s: exit code %d: %s", ext, code, errs)
			}
		}
		printed(t, append([]string{"score", a, "-o", d.at("plain.npz")}, flags[:4]...)...)
		refused(t, d, append([]string{"compare", d.at("plain.npz"), b}, flags...), "plain.npz", "no column \"id\" of the rows was kept in it: there is none", "candor score -o FILE.npz, with --id id")
		refused(t, d, append([]string{"compare", d.at("plain.npz"), tableAs(t, d.at("names"+ext), csvOf("id,p_cat,p_cow,p_eel,y,w", rows[0], inOrder(400)))}, flags[:4]...), "plain.npz is of the classes cat, dog, eel and", "of cat, cow, eel")
	}
}

// TestRowBaseDrop: rows that were left out of the losses are left out of the predictions too, or are an error.
func TestRowBaseDrop(t *testing.T) {
	d := newDir(t)
	own := d.folder("own")
	s := newSet(8, 300, 3)
	bad := s.clone()
	bad.probs[3*17] = math.NaN()
	a, b, y := own.put("base.npy", bad.scores(t)), d.put("new.npy", noisy(s, 1).scores(t)), d.put("y.npy", s.labelFile(t))
	printed(t, "score", a, "--labels", y, "--on-invalid", "drop", "-o", d.at("base.npz"))
	refused(t, d, []string{"compare", d.at("base.npz"), b, "--labels", y}, "base.npz: row 17 has no values", "--on-invalid drop")
	flags := []string{"--labels", y, "--on-invalid", "drop", "--metrics", "nll,accuracy"}
	want, got := baselineOf(t, append([]string{a, b}, flags...)...), baselineOf(t, append([]string{d.at("base.npz"), b}, flags...)...)
	if !reflect.DeepEqual(got.Differences, want.Differences) || got.Sets[1]["input"].(map[string]any)["dropped"] != 1.0 {
		t.Errorf("%v\n%v", got.Differences, want.Differences)
	}
	// Labels that are to be ignored do not count in either.
	labels := slices.Clone(s.labels)
	labels[3] = -100
	y = d.put("ignored.npy", npy(t, []int64{300}, labels))
	a = own.put("base.npy", s.scores(t))
	flags = []string{"--labels", y, "--ignore-label", "-100"}
	printed(t, append([]string{"score", a, "-o", d.at("base.npz")}, flags...)...)
	flags = append(flags, "--metrics", "nll,accuracy")
	want, got = baselineOf(t, append([]string{a, b}, flags...)...), baselineOf(t, append([]string{d.at("base.npz"), b}, flags...)...)
	if !reflect.DeepEqual(got.Differences, want.Differences) {
		t.Errorf("%v\n%v", got.Differences, want.Differences)
	}
}

// TestRowBaseGates: gates look at the differences, and fail where there is none; reports have them.
func TestRowBaseGates(t *testing.T) {
	d := newDir(t)
	s := newSet(8, 700, 3)
	printed(t, "score", d.put("a.npy", s.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "-o", d.at("base.npz"))
	args := []string{"compare", d.at("base.npz"), d.put("new.npy", noisy(s, 1).scores(t)), "--labels", d.at("y.npy"), "--report", "junit=" + d.at("r.xml") + ",github=" + d.at("g.md") + ",mlflow=" + d.at("m.json") + ",openmetrics=" + d.at("o.txt")}
	for gate, want := range map[string]int{"delta.nll.low>10": 0, "delta.nll.high>-10": exitGate, "delta.accuracy>1": 0, "delta.ece.low>0": exitGate} {
		code, _, errs := candor(t, append(slices.Clone(args), "--fail-if", gate)...)
		if code != want || strings.Contains(gate, "ece") && !strings.Contains(errs, "only losses by row are known of base") {
			t.Errorf("%s: exit code %d: %s", gate, code, errs)
		}
	}
	for name, says := range map[string]string{"r.xml": "candor.compare", "g.md": "Only losses by row are known", "m.json": `"base/nll"`, "o.txt": `candor_delta_nll{a="base",b="new"}`} {
		if b := string(d.read(d.at(name))); !strings.Contains(b, says) {
			t.Errorf("%s does not say %q: %s", name, says, b)
		}
	}
	for _, kind := range []string{"differences", "flips"} {
		printed(t, append(slices.Clone(args[:5]), "--plot", d.at("p.svg"), "--plot-kind", kind)...)
	}
	for _, format := range []string{"table", "markdown", "csv"} {
		if out := printed(t, append(slices.Clone(args[:5]), "--format", format)...); !strings.Contains(out, "base") {
			t.Errorf("%s: %s", format, out)
		}
	}
}

// TestRowBaseRefused: files that cannot be compared, and flags that do not go with losses by row.
func TestRowBaseRefused(t *testing.T) {
	d := newDir(t)
	s := newSet(8, 300, 3)
	a, b, y := d.put("a.npy", s.scores(t)), d.put("new.npy", noisy(s, 1).scores(t)), d.put("y.npy", s.labelFile(t))
	base := d.at("base.npz")
	printed(t, "score", a, "--labels", y, "-o", base)
	whole := d.read(base)
	arrays := func() (l []any) {
		column := func(name string) []any {
			r, err := predictions.Inspect(base + ":" + name)
			if err != nil || len(r) != 1 {
				t.Fatal(err)
			}
			return []any{name + ".npy", npy(t, []int64{300}, vector(t, base+":"+name, name)[name])}
		}
		for _, n := range []string{"accuracy", "nll", "brier"} {
			l = append(l, column(n)...)
		}
		var labels []int64
		for _, y := range s.labels {
			labels = append(labels, int64(y))
		}
		return append(l, "labels.npy", npy(t, []int64{300}, labels))
	}()
	mark := func(change func(m *predictions.RowMark)) []byte {
		m := predictions.RowMark{Format: predictions.RowFormat, Name: "a", Task: "classification", Rows: 300, Classes: 3, Input: "probs", Metrics: []string{"accuracy", "nll", "brier"}}
		change(&m)
		b, err := m.NPY()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	marked := func(change func(m *predictions.RowMark)) string {
		return d.put("changed.npz", npz(t, append(slices.Clone(arrays), predictions.RowMarkArray+".npy", mark(change))...))
	}
	with := func(name string, array []byte) string {
		l := slices.Clone(arrays)
		if i := slices.Index(l, any(name+".npy")); array == nil {
			l = slices.Delete(l, i, i+2)
		} else {
			l[i+1] = array
		}
		return d.put("changed.npz", npz(t, append(l, predictions.RowMarkArray+".npy", mark(func(*predictions.RowMark) {}))...))
	}
	changed := func(name string, row int, v float64) string {
		column := slices.Clone(vector(t, base+":"+name, name)[name])
		column[row] = v
		return with(name, npy(t, []int64{300}, column))
	}
	few := newSet(8, 299, 3)
	labels := slices.Clone(s.labels)
	labels[12] = (labels[12] + 1) % 3
	printed(t, "compare", with("nll", arrays[3].([]byte)), b, "--labels", y) // as it was
	for _, bad := range []struct {
		file, with, labels string
		more               []string
		says               []string
	}{
		{base, d.put("few.npy", few.scores(t)), d.put("few-y.npy", few.labelFile(t)), nil, []string{"base.npz has losses of 300 rows and few.npy has 299", "score the same rows"}},
		{base, b, d.put("other-y.npy", npy(t, []int64{300}, labels)), nil, []string{"new.npy: row 12: the label is", "in base.npz"}},
		{base, d.put("four.npy", newSet(8, 300, 4).scores(t)), y, nil, []string{"base.npz is of 3 classes and", "four.npy of 4 classes"}},
		{base, d.put("one.npy", newSet(8, 300, 1).scores(t)), d.put("one-y.npy", newSet(8, 300, 1).labelFile(t)), nil, []string{"base.npz is of 3 classes and", "one.npy of a binary task"}},
		{base, b, y, []string{"--metrics", "nll(clip=0.01)"}, []string{"base.npz has losses by row of accuracy, confidence, nll, brier, entropy, and not of nll(clip=0.01)", "candor score --metrics 'nll(clip=0.01)'"}},
		{d.put("cut.npz", whole[:len(whole)/2]), b, y, nil, []string{"cut.npz: truncated or damaged .npz"}},
		{d.put("damaged.npz", func() []byte { c := slices.Clone(whole); c[2000] ^= 4; return c }()), b, y, nil, []string{"damaged.npz"}},
		{d.put("old.npz", npz(t, arrays[:6]...)), b, y, nil, []string{"old.npz has losses by row (accuracy, nll, brier), and nothing that says of what", "candor score -o FILE.npz"}},
		{d.put("unmarked.npz", npz(t, arrays...)), b, y, nil, []string{"unmarked.npz has losses by row (accuracy, nll, brier), and nothing that says of what"}},
		{d.put("text.npz", npz(t, append(slices.Clone(arrays), predictions.RowMarkArray+".npy", arrays[1])...)), b, y, nil, []string{"text.npz:candor_rows: it is float64 (300,), not a text"}},
		{marked(func(m *predictions.RowMark) { m.Format = "candor-rows/2" }), b, y, nil, []string{`changed.npz: its format is "candor-rows/2", and candor-rows/1 is read`}},
	} {
		refused(t, d, append([]string{"compare", bad.file, bad.with, "--labels", bad.labels}, bad.more...), bad.says...)
	}
	for _, bad := range []struct {
		file func() string
		says string
	}{
		{func() string { return marked(func(m *predictions.RowMark) { m.Rows = 299 }) }, "changed.npz:labels: its shape is (300,), and candor_rows says 299 rows"},
		{func() string { return marked(func(m *predictions.RowMark) { m.Classes = 1 }) }, "it says 300 rows and 1 classes"},
		{func() string { return with("labels", nil) }, "changed.npz: no array labels: it has accuracy"},
		{func() string { return with("labels", arrays[1].([]byte)) }, "changed.npz:labels: its labels are float64, not integers"},
		{func() string { return with("nll", npy(t, []int64{300, 1}, make([]float64, 300))) }, "changed.npz:nll: its shape is (300, 1)"},
		{func() string { return changed("accuracy", 5, 0.5) }, "changed.npz: row 5: accuracy is 0.5, which no row has"},
		{func() string { return changed("nll", 6, math.Inf(-1)) }, "changed.npz: row 6: nll is -Inf, which no row has"},
		{func() string { return changed("brier", 7, math.NaN()) }, "changed.npz: row 7 has no values"},
		{func() string {
			return d.put("changed.npz", npz(t, append(slices.Clone(arrays), predictions.RowMarkArray+".npy", arrays[1], predictions.RowMarkArray+".npy", arrays[1])...))
		}, "changed.npz:candor_rows: it is float64"},
	} {
		refused(t, d, []string{"compare", bad.file(), b, "--labels", y}, bad.says)
	}
	for _, bad := range [][]string{
		{"--state", d.at("s.state"), "--state does not go with base.npz"},
		{"--temperature-scaled", "losses by row have no temperature"},
		{"--plot", d.at("p.svg"), "--plot does not go with base.npz"},
		{"--plot", d.at("p.svg"), "--plot-kind", "gaps", "--plot does not go with base.npz"},
		{"--metrics", "ece", "no metric of --metrics is a mean of losses"},
		{"--metrics", "nll,ece(exact=true)", "exact keeps every row"},
		{"--task", "ensemble", "an ensemble's rows are the means of its members"},
		{"--task", "regression", "losses by row are compared of classes"},
		{"--task", "samples", "losses by row are compared of classes"},
	} {
		says := bad[len(bad)-1]
		refusedAs(t, d, exitUsage, append([]string{"compare", base, b, "--labels", y}, bad[:len(bad)-1]...), says)
	}
	d.put("other.npz", whole)
	refusedAs(t, d, exitUsage, []string{"compare", base, d.at("other.npz"), "--labels", y}, "each of these sets has losses by row alone")
	refused(t, d, []string{"eval", base}, "base.npz: it has losses by row, for a comparison, and no scores")
	// Forecasts have losses too, which are not compared.
	n := normalRows(1, 300)
	d.put("f.csv", n.csv())
	printed(t, "score", d.at("f.csv"), "--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y", "-o", d.at("crps.npz"))
	refused(t, d, []string{"compare", d.at("crps.npz"), b, "--labels", y}, "crps.npz has losses by row of --task regression, and those of classes are compared")
}

// TestScoreKeepsInNPZ: an .npz has copies of columns, as texts or numbers, and a mark.
func TestScoreKeepsInNPZ(t *testing.T) {
	d := newDir(t)
	var b strings.Builder
	b.WriteString("id,p,y,n,gap,half\n")
	for i := range 50 {
		gap := strconv.Itoa(i)
		if i == 7 {
			gap = ""
		}
		fmt.Fprintf(&b, "é-%d,0.%d5,%d,%d,%s,%d.5\n", i, i%9, i%2, i-3, gap, i)
	}
	d.put("t.csv", []byte(b.String()))
	printed(t, "score", d.at("t.csv"), "--prob", "p", "--label", "y", "--id", "id,n", "--keep", "gap,half", "--metrics", "nll", "-o", d.at("o.npz"))
	l, err := predictions.Inspect(d.at("o.npz"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range l[:len(l)-1] {
		got = append(got, fmt.Sprint(a.Name, " ", a.Descr, " ", a.Shape))
	}
	want := []string{"nll <f8 [50]", "labels <i8 [50]", "decisions <i8 [50]", "id <U4 [50]", "n <i8 [50]", "gap <U2 [50]", "half <f8 [50]"}
	if !slices.Equal(got, want) || l[len(l)-1].Name != "candor_rows" || len(l[len(l)-1].Shape) != 0 {
		t.Errorf("arrays %v, want %v", got, want)
	}
	r, err := predictions.OpenRows(d.at("o.npz"), &predictions.RowOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if m := r.Mark(); !reflect.DeepEqual(m, predictions.RowMark{Format: "candor-rows/1", Name: "t", Task: "binary", Rows: 50, Classes: 2, Input: "probs", Metrics: []string{"nll"}, Columns: []string{"id", "n", "gap", "half"}}) {
		t.Errorf("the mark is %+v", m)
	}
	for _, name := range []string{"candor_rows", "labels", "nll"} {
		table := d.put("u.csv", []byte(strings.Replace(b.String(), "id,", name+",", 1)))
		refusedAs(t, d, exitUsage, []string{"score", table, "--prob", "p", "--label", "y", "--id", name, "--metrics", "nll", "-o", d.at("u.npz")}, "column \""+name+"\" is copied")
	}
	refused(t, d, []string{"score", d.put("x.npy", newSet(1, 20, 3).scores(t)), "--labels", d.put("y.npy", newSet(1, 20, 3).labelFile(t)), "--id", "id", "-o", d.at("u.npz")}, `no array "id"`)
}
