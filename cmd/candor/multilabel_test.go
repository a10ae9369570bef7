package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// tagged is rows of several labels, in memory.
type tagged struct {
	rows, labels int
	probs        []float64
	truth        []int32
	weights      []float64
}

func newTagged(seed uint64, rows, labels int) *tagged {
	r := rand.New(rand.NewPCG(seed, 3))
	s := &tagged{rows: rows, labels: labels}
	for range rows {
		for j := range labels {
			p, y := float64(r.IntN(129))/128, int32(0)
			if r.Float64() < math.Pow(p, 1+float64(j%3)/2) {
				y = 1
			}
			s.probs, s.truth = append(s.probs, p), append(s.truth, y)
		}
		s.weights = append(s.weights, 0.5+r.Float64())
	}
	return s
}

func (s *tagged) part(from, to int) *tagged {
	return &tagged{to - from, s.labels, s.probs[from*s.labels : to*s.labels], s.truth[from*s.labels : to*s.labels], s.weights[from:to]}
}

func (s *tagged) shape() []int64 { return []int64{int64(s.rows), int64(s.labels)} }

// columns returns values column by column.
func columnMajor[T any](v []T, k int) (o []T) {
	for j := range k {
		for i := j; i < len(v); i += k {
			o = append(o, v[i])
		}
	}
	return o
}

// args writes the files and returns the flags that evaluate them.
func (s *tagged) args(t *testing.T, d *dir, name string) []string {
	return []string{d.put(name+"-x.npy", npy(t, s.shape(), f32(s.probs))), "--task", "multilabel", "--labels", d.put(name+"-y.npy", npy(t, s.shape(), s.truth))}
}

// TestLabelLayoutsAreOneDocument: whatever holds the rows and however they are read, the document is one.
func TestLabelLayoutsAreOneDocument(t *testing.T) {
	d := newDir(t)
	s := newTagged(1, 403, 5)
	args := s.args(t, d, "all")
	flat := raw(fmt.Sprintf("{'descr': '|b1', 'fortran_order': True, 'shape': (%d, 5), }", s.rows), func() (b []byte) {
		for _, y := range columnMajor(s.truth, 5) {
			b = append(b, byte(y))
		}
		return b
	}())
	x := npy(t, s.shape(), f32(s.probs))
	long := make([]int64, len(s.truth))
	for i, y := range s.truth {
		long[i] = int64(y)
	}
	a, b := s.part(0, 100), s.part(100, 403)
	pa, pb := a.args(t, d, "part-1"), b.args(t, d, "part-2")
	want := ""
	for i, l := range [][]string{
		args,
		append(slices.Clone(args), "--threads", "1"),
		append(slices.Clone(args), "--threads", "3", "--task", "multilabel"),
		{args[0], "--task", "multilabel", "--labels", d.put("flat.npy", flat)},
		{d.put("all.npz", npz(t, "probs.npy", x, "labels.npy", npy(t, s.shape(), long))), "--task", "multilabel"},
		{pb[0], pa[0], "--task", "multilabel", "--labels", pb[4] + "," + pa[4]},
		{pa[0], pb[0], "--task", "multilabel", "--labels", args[4]},
	} {
		code, out, errs := candor(t, append([]string{"eval", "--json"}, l...)...)
		if code != 0 || errs != "" {
			t.Fatalf("%d: exit code %d: %s", i, code, errs)
		}
		if want == "" {
			want = out
		} else if out != want {
			t.Errorf("layout %d: another document\n%s\nthan\n%s", i, out, want)
		}
	}
	// Shards' states.
	for i, p := range [][]string{pa, pb} {
		if code, _, errs := candor(t, append([]string{"eval", "--state", d.at(fmt.Sprintf("%d.state", i))}, p...)...); code != 0 {
			t.Fatal(errs)
		}
	}
	for _, order := range [][]string{{d.at("0.state"), d.at("1.state")}, {d.at("1.state"), d.at("0.state")}} {
		code, out, errs := candor(t, append([]string{"merge", "--json", "-o", d.at("sum.state")}, order...)...)
		if code != 0 || out != want {
			t.Errorf("exit code %d: merged states are another document: %s", code, errs)
		}
	}
	if _, again, errs := candor(t, "merge", "--json", d.at("sum.state")); again != want {
		t.Errorf("what merge has written is another document: %s", errs)
	}
	if _, _, errs := candor(t, "merge", d.at("0.state"), d.at("0.state")); !strings.Contains(errs, "counted twice") {
		t.Error(errs)
	}
	code, out, _ := candor(t, "inspect", d.at("sum.state"))
	if code != 0 || !strings.Contains(out, "403 rows, 5 labels, float32 probs") || !strings.Contains(out, "auroc") {
		t.Errorf("%s", out)
	}
	var in []struct{ State stateInfo }
	if _, out, _ := candor(t, "inspect", "--json", d.at("sum.state")); json.Unmarshal([]byte(out), &in) != nil || in[0].State.Labels != 5 || in[0].State.SHA256 == "" {
		t.Errorf("%s", out)
	}
	if generic := process(t, []string{"CANDOR_ISA=generic", "GOMAXPROCS=1"}, "", append([]string{"eval", "--json"}, args...)...); string(generic) != want {
		t.Error("CANDOR_ISA=generic gives another document")
	}
}

// TestLabelsAreBinaryTasks: a label's document is, but for its number, what candor eval says of its column.
func TestLabelsAreBinaryTasks(t *testing.T) {
	d := newDir(t)
	s := newTagged(2, 150, 3)
	args := s.args(t, d, "s")
	for _, list := range []string{"all,ece(bins=4)", "default,auroc,smooth_ece,retention_nll", "nll,ece,base_rate"} {
		flags := []string{"--metrics", list, "--weights", d.put("w.npy", npy(t, []int64{150}, s.weights)), "--bins", "10", "--confidence", "0.9", "--seed", "3"}
		var doc struct{ Labels []map[string]any }
		_, out, errs := candor(t, append(append([]string{"eval", "--json"}, args...), flags...)...)
		if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Labels) != 3 {
			t.Fatal(err, errs)
		}
		for j, got := range doc.Labels {
			x, y := columnMajor(s.probs, 3)[j*150:][:150], columnMajor(s.truth, 3)[j*150:][:150]
			_, out, errs := candor(t, append([]string{"eval", "--json", d.put("x.npy", npy(t, []int64{150}, f32(x))), "--labels", d.put("y.npy", npy(t, []int64{150}, y))}, flags...)...)
			var want map[string]any
			if err := json.Unmarshal([]byte(out), &want); err != nil {
				t.Fatal(err, errs)
			}
			withoutDetail(want)
			want["label"] = float64(j)
			if !strings.HasPrefix(list, "default") {
				// Of adaptive class-wise metrics a state says how much memory they may take; and bins that nothing needs cells for are kept alone.
				for _, key := range []string{"state", "judgement"} {
					delete(got, key)
					delete(want, key)
				}
			}
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			if !bytes.Equal(a, b) {
				t.Errorf("%s: label %d is\n%s\nby itself\n%s", list, j, a, b)
			}
		}
	}
}

// TestMacroAgainstScikitLearn: the figures are those of scikit-learn 1.2.1, roc_auc_score(average="macro"), average_precision_score
// likewise, and the means of brier_score_loss and log_loss of the columns.
func TestMacroAgainstScikitLearn(t *testing.T) {
	s := &tagged{rows: 500, labels: 6}
	for i := range 500 {
		for j := range 6 {
			m := (i*37+j*53+(i*j)%17)%97 + 1
			y := int32(0)
			if (i*i*29+j*71+i*7)%128 < m {
				y = 1
			}
			s.probs, s.truth = append(s.probs, float64(m)/128), append(s.truth, y)
		}
	}
	args := s.args(t, newDir(t), "s")
	doc := evaluate(t, append(args, "--metrics", "auroc,auprc,brier,nll")...)
	for key, want := range map[string]float64{"auroc": 0.7829040117724118, "brier": 0.1825103556315104, "nll": 0.542255886161517, "auprc": 0.6595648739917991} {
		if got := doc.value(t, key); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
}

func TestLabelKinds(t *testing.T) {
	d := newDir(t)
	s := newTagged(5, 90, 4)
	for i, p := range s.probs {
		s.probs[i] = 0.01 + 0.98*p
	}
	probs := evaluate(t, s.args(t, d, "p")...)
	logits, logs := *s, *s
	logits.probs, logs.probs = slices.Clone(s.probs), slices.Clone(s.probs)
	for i, p := range s.probs {
		logits.probs[i], logs.probs[i] = math.Log(p/(1-p)), math.Log(p)
	}
	for kind, o := range map[string]*tagged{"logits": &logits, "logprobs": &logs} {
		doc := evaluate(t, append(o.args(t, d, kind), "--input", kind)...)
		for _, key := range []string{"nll", "brier", "auroc"} {
			if a, b := doc.value(t, key), probs.value(t, key); math.Abs(a-b) > 1e-5 {
				t.Errorf("%s of %s is %v, of probabilities %v", key, kind, a, b)
			}
		}
	}
}

func TestLabelFormats(t *testing.T) {
	d := newDir(t)
	s := newTagged(7, 60, 23)
	for i := range s.rows {
		s.truth[i*23+4] = 1
	}
	args := append([]string{"eval"}, s.args(t, d, "s")...)
	for f, want := range map[string][]string{
		"table":    {"60 rows x 23 labels: off by ", "The 20 of 23 labels with the largest ece", "Note: auroc: 1 of 23 labels have none:", "Next: --json"},
		"markdown": {"| ece | ", "| Label | Positives |", "> auroc: 1 of 23 labels"},
		"csv":      {"label,metric,value,low", "macro,auroc,", "22,ece,", "\n4,auroc,,,"},
	} {
		code, out, errs := candor(t, append(slices.Clone(args), "--format", f)...)
		if code != 0 || errs != "" || strings.Contains(out, "NaN") {
			t.Errorf("%s: exit code %d: %s%s", f, code, errs, out)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s does not say %q:\n%s", f, w, out)
			}
		}
	}
	for _, name := range []string{"p.png", "p.svg", "p.pdf"} {
		if code, _, errs := candor(t, append(slices.Clone(args), "--plot", d.at(name))...); code != 0 || len(d.read(d.at(name))) < 1000 {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
	}
	// Only labels with rows enough are drawn.
	more := append([]string{"eval"}, newTagged(7, 200, 23).args(t, d, "more")...)
	if code, _, errs := candor(t, append(more, "--plot", d.at("p.svg"))...); code != 0 {
		t.Fatal(errs)
	}
	if svg := string(d.read(d.at("p.svg"))); !strings.Contains(svg, ">label ") || !strings.Contains(svg, "Reliability of each label") {
		t.Error("the picture does not name the labels")
	}
	few := append([]string{"eval"}, newTagged(8, 60, 4).args(t, d, "few")...)
	for gate, want := range map[string]string{
		"brier>0.01":      "candor: gate failed: brier>0.01: it is",
		"ece.low>0.5":     "ece.low is not defined: labels share rows",
		"mce>0":           "gate failed: mce>0",
		"retention_nll>0": "gate failed: retention_nll>0",
	} {
		if code, _, errs := candor(t, append(slices.Clone(few), "--fail-if", gate)...); code != exitGate || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d: %s", gate, code, errs)
		}
	}
	if code, _, errs := candor(t, append(slices.Clone(few), "--fail-if", "sharpness>0")...); code != exitUsage || !strings.Contains(errs, "--fail-if: metric sharpness: it is for") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := candor(t, append(slices.Clone(few), "--fail-if", "auroc<0.1", "--metrics", "nll")...); code != 0 {
		t.Error(errs)
	}
	for i, like := range []string{"um", "tfp", "torchmetrics", "guo", "blog"} {
		if testing.Short() && i%3 != 0 {
			continue
		}
		if code, _, errs := candor(t, append(slices.Clone(few), "--like", like, "--plot", d.at("l.svg"))...); code != 0 {
			t.Errorf("%s: %s", like, errs)
		}
	}
}

// TestBadLabelRows: messages name the file that is wrong, the row and the label.
func TestBadLabelRows(t *testing.T) {
	d := newDir(t)
	s := newTagged(8, 50, 4)
	good := evaluate(t, s.part(20, 50).args(t, d, "good")...)
	s.probs[10*4+2], s.truth[19*4+3] = 1.25, 3
	a, b := s.part(0, 15).args(t, d, "a"), s.part(15, 50).args(t, d, "b")
	args := []string{a[0], b[0], "--task", "multilabel", "--labels", a[4] + "," + b[4]}
	code, out, errs := candor(t, append([]string{"eval"}, args...)...)
	if code != exitData || out != "" || !strings.Contains(errs, "a-x.npy: row 10, column 2: probability is 1.25, outside [0, 1]") ||
		!strings.Contains(errs, "b-y.npy: row 4, column 3: label is 3, not one of the 2 classes 0 to 1") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	doc := evaluate(t, append(args, "--on-invalid", "drop")...)
	if doc.Input.Dropped != 2 || doc.Input.Rows != 48 {
		t.Errorf("%+v", doc.Input)
	}
	for i := range 20 {
		s.probs[i*4] = math.NaN()
	}
	doc = evaluate(t, append(s.args(t, d, "nan"), "--on-invalid", "drop")...)
	if doc.Input.Dropped != 20 || doc.value(t, "nll") != good.value(t, "nll") {
		t.Errorf("%+v: %v, without the bad rows %v", doc.Input, doc.value(t, "nll"), good.value(t, "nll"))
	}
	for i := range 50 {
		s.probs[i*4+1] = math.NaN()
	}
	if code, _, errs := candor(t, append([]string{"eval", "--on-invalid", "drop"}, s.args(t, d, "nan")...)...); code != exitData || !strings.Contains(errs, "no row is left") {
		t.Error(code, errs)
	}
}

func TestLabelsRefuse(t *testing.T) {
	d := newDir(t)
	s := newTagged(9, 40, 3)
	args := s.args(t, d, "s")
	x, y := args[0], args[4]
	one, three := newSet(1, 40, 1), newSet(1, 40, 3)
	vector := d.put("v.npy", one.labelFile(t))
	if code, _, errs := candor(t, append([]string{"eval", "--state", d.at("m.state")}, args...)...); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := candor(t, "eval", "--state", d.at("c.state"), d.put("c.npy", three.scores(t)), "--labels", d.put("cy.npy", three.labelFile(t))); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := candor(t, append([]string{"eval", "--metrics", "nll", "--state", d.at("n.state")}, args...)...); code != 0 {
		t.Fatal(errs)
	}
	wide := newTagged(3, 2, 1500)
	with := func(more ...string) []string { return append(append([]string{"eval"}, args...), more...) }
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"eval", "--task", "multilabel"}, exitUsage, "no predictions are named"},
		{[]string{"eval", x, "--task", "multilabel"}, exitData, "no labels"},
		{[]string{"eval", x, "--task", "multilabel", "--labels", vector}, exitData, "a 0 or 1 for each label, (N, K)"},
		{with("--input", "dirichlet"), exitUsage, "not for --task multilabel"},
		{with("--decisions", y), exitUsage, "--decisions does not go with --task multilabel"},
		{with("--confidence-scores", y), exitUsage, "--confidence-scores does not go with --task multilabel"},
		{with("--ood", x), exitUsage, "--ood does not go with --task multilabel"},
		{with("--renormalize"), exitUsage, "--renormalize does not go with --task multilabel"},
		{with("--member-axis", "1"), exitUsage, "--member-axis is for --task ensemble"},
		{with("--metrics", "mutual_information"), exitUsage, "it is for ensembles"},
		{with("--plot", d.at("p.png"), "--plot-kind", "reliability"), exitUsage, "--plot-kind classes"},
		{with("--plot", d.at("p.png"), "--plot-kind", "corp"), exitUsage, "--plot-kind corp is for one label"},
		{with("--plot", x), exitUsage, "--plot"},
		{with("--state", y), exitUsage, "that file is read"},
		{with("--metrics", "ece(event=top)", "--like", "um", "--plot", d.at("p.png")), exitUsage, "ece"},
		{with("--max-memory", "1MiB"), exitUsage, "--max-memory"},
		{append([]string{"eval", "--metrics", "auroc"}, wide.args(t, d, "wide")...), exitUsage, "metrics auroc keep the distinct scores of each of 1500 labels"},
		{[]string{"score", x, "--labels", y, "--task", "multilabel", "--metrics", "nll", "-o", d.at("o.npy")}, exitUsage, "--task"},
		{[]string{"compare", x, x, "--labels", y, "--task", "multilabel"}, exitUsage, "--task multilabel"},
		{[]string{"merge", d.at("m.state"), d.at("c.state")}, exitData, "are not merged"},
		{[]string{"merge", d.at("c.state"), d.at("m.state")}, exitData, "are not merged"},
		{[]string{"merge", d.at("m.state"), d.at("n.state")}, exitData, "metrics"},
		{[]string{"merge", d.at("m.state"), "--plot", d.at("p.png"), "--plot-kind", "roc"}, exitUsage, "--plot-kind roc is for one label"},
		{[]string{"merge", d.put("bad.state", append([]byte(nil), d.read(d.at("m.state"))[:999]...))}, exitData, "not a state that can be read"},
		{[]string{"inspect", d.at("bad.state")}, exitData, "not a state that can be read"},
	} {
		code, out, errs := candor(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("candor %v: exit code %d, want %d: %s%s, want %q", c.args, code, c.code, out, errs, c.want)
		}
	}
	// By default what does not fit is left out, and that is said; what is asked for is kept.
	code, out, errs := candor(t, append([]string{"eval"}, wide.args(t, d, "wide")...)...)
	if code != 0 || !strings.Contains(errs, "without calibration_slope, calibration_intercept, auroc, which keep the distinct scores of 1,500 labels; with --max-memory ") || strings.Contains(out, "auroc") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := candor(t, append([]string{"eval", "--fail-if", "auroc<0.5"}, wide.args(t, d, "wide")...)...); code != exitUsage || !strings.Contains(errs, "metrics auroc keep") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestLabelVerdictsFromBins: a label whose scores no metric keeps has the verdict of a binary task too, with the bins that it hides.
func TestLabelVerdictsFromBins(t *testing.T) {
	d := newDir(t)
	const rows, labels = 2106, 2
	s := &tagged{rows: rows, labels: labels}
	for i := range rows {
		p, y := 0.3, int32(0)
		if i >= 2000 {
			p = 0.95
		}
		if i < 900 || i >= 2000 && i < 2082 {
			y = 1
		}
		rare := int32(0)
		if i < 8 {
			rare = 1
		}
		s.probs, s.truth = append(s.probs, p, 0.0005), append(s.truth, y, rare)
	}
	for _, list := range []string{"default", "nll,ece", "nll,ece(bins=7)"} {
		_, out, errs := candor(t, append([]string{"eval", "--json", "--metrics", list}, s.args(t, d, "s")...)...)
		var doc struct{ Labels []struct{ Verdict string } }
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err, errs)
		}
		for j, want := range []string{"But between 0.93 and 1.00 it is too high by 17.6 points (106 rows).", "too low by 0.3 points."} {
			if got := doc.Labels[j].Verdict; !strings.Contains(got, want) {
				t.Errorf("--metrics %s, label %d: %q, not %q", list, j, got, want)
			}
		}
	}
}
