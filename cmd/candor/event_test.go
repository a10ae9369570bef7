package main

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// twoColumns returns the scores of both classes, column 1 the set's own.
func (s *set) twoColumns() []float64 {
	x := make([]float64, 0, 2*s.rows)
	for _, p := range s.probs {
		x = append(x, 1-p, p)
	}
	return x
}

// logits returns z1 - z0 and the two by themselves, in float32.
func (s *set) twoLogits() (one, two []float32) {
	for i, p := range s.probs {
		a := float32(i%7) - 3
		b := a + float32(math.Log(p/(1-p)))
		one, two = append(one, b-a), append(two, a, b)
	}
	return one, two
}

// TestTwoColumns: (N, 2) is the binary task of its column 1, or of --event's, and the document and the state are those of (N,), to the
// byte.
func TestTwoColumns(t *testing.T) {
	d, s := newDir(t), newSet(5, 400, 1).each(func(p float64) float64 { return math.Round(p*64) / 64 })
	s = s.each(func(p float64) float64 { return min(max(p, 1.0/64), 63.0/64) })
	n := int64(s.rows)
	turned := slices.Clone(s.labels)
	for i, y := range turned {
		turned[i] = 1 - y
	}
	other := s.each(func(p float64) float64 { return 1 - p })
	y, y0 := d.put("y.npy", s.labelFile(t)), d.put("y0.npy", npy(t, []int64{n}, turned))
	w := d.put("w.npy", s.weightFile(t))
	dec := d.put("dec.npy", s.decisionFile(t))
	l1, l2 := s.twoLogits()
	one, two := d.put("one.npy", npy(t, []int64{n}, s.probs)), d.put("two.npy", npy(t, []int64{n, 2}, s.twoColumns()))
	zero := d.put("zero.npy", npy(t, []int64{n}, other.probs))
	z1, z2 := d.put("z1.npy", npy(t, []int64{n}, l1)), d.put("z2.npy", npy(t, []int64{n, 2}, l2))
	m1 := d.put("m1.npy", npy(t, []int64{2, n, 1}, slices.Concat(s.probs, other.probs)))
	m2 := d.put("m2.npy", npy(t, []int64{2, n, 2}, slices.Concat(s.twoColumns(), other.twoColumns())))
	m3 := d.put("m3.npy", npy(t, []int64{n, 2, 1}, func() (x []float64) {
		for i := range s.rows {
			x = append(x, s.probs[i], other.probs[i])
		}
		return x
	}()))
	m4 := d.put("m4.npy", npy(t, []int64{n, 2, 2}, func() (x []float64) {
		for i := range s.rows {
			x = append(x, 1-s.probs[i], s.probs[i], 1-other.probs[i], other.probs[i])
		}
		return x
	}()))
	for _, c := range []struct{ want, got []string }{
		{[]string{one, "--labels", y}, []string{two, "--labels", y}},
		{[]string{one, "--labels", y}, []string{two, "--labels", y, "--task", "binary", "--event", "1"}},
		{[]string{one, "--labels", y, "--weights", w}, []string{two, "--labels", y, "--weights", w}},
		{[]string{one, "--labels", y, "--like", "um"}, []string{two, "--labels", y, "--like", "um"}},
		{[]string{one, "--labels", y, "--decisions", dec}, []string{two, "--labels", y, "--decisions", dec}},
		{[]string{one, "--labels", y, "--group", y}, []string{two, "--labels", y, "--group", y}},
		{[]string{one, "--labels", y, "--ood", zero}, []string{two, "--labels", y, "--ood", two + "x"}},
		{[]string{zero, "--labels", y0}, []string{two, "--labels", y, "--event", "0"}},
		{[]string{z1, "--labels", y, "--input", "logits"}, []string{z2, "--labels", y, "--input", "logits"}},
		{[]string{z1, "--labels", y, "--input", "logits", "--temperature-scaled"}, []string{z2, "--labels", y, "--input", "logits", "--temperature-scaled"}},
		{[]string{m1, "--labels", y, "--task", "ensemble"}, []string{m2, "--labels", y, "--task", "ensemble"}},
		{[]string{m3, "--labels", y, "--task", "ensemble", "--member-axis", "1"}, []string{m4, "--labels", y, "--task", "ensemble", "--member-axis", "1"}},
	} {
		if strings.HasSuffix(c.got[len(c.got)-1], "x") { // columns of the out-of-distribution rows
			c.got[len(c.got)-1] = d.put("ood.npy", npy(t, []int64{n, 2}, other.twoColumns()))
		}
		eval := func(args []string, name string) (string, string) {
			list := "all"
			if !slices.Contains(args, "ensemble") { // the two documents are one, whatever they draw
				list = quick(1)
			}
			if testing.Short() {
				list = "default,ece_top_label,aurc"
			}
			code, out, errs := candor(t, append([]string{"eval", "--json", "--metrics", list, "--state", d.at(name)}, args...)...)
			if code != 0 {
				t.Fatalf("%v: exit code %d: %s", args, code, errs)
			}
			return out, string(d.read(d.at(name)))
		}
		want, wantState := eval(c.want, "want.state")
		got, gotState := eval(c.got, "got.state")
		if got != want || gotState != wantState {
			t.Errorf("%v is not %v: %s", c.got, c.want, differing(want, got))
		}
	}
	// Scores of rows, and comparisons.
	for _, args := range [][]string{{"score", one, "--labels", y, "--metrics", "nll,brier"}, {"score", two, "--labels", y, "--metrics", "nll,brier"}} {
		if code, _, errs := candor(t, append(args, "-o", d.at(args[1][len(args[1])-7:len(args[1])-4]+".rows.npy"))...); code != 0 {
			t.Fatal(errs)
		}
	}
	if string(d.read(d.at("one.rows.npy"))) != string(d.read(d.at("two.rows.npy"))) {
		t.Error("candor score: the rows of two columns are not those of one")
	}
	// Two classes where they are asked for.
	e := evaluate(t, two, "--labels", y, "--task", "classification", "--metrics", "brier")
	if one := evaluate(t, one, "--labels", y, "--metrics", "brier"); math.Abs(e.value(t, "brier")-2*one.value(t, "brier")) > 1e-12 {
		t.Error("--task classification: two columns are a binary task")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{one, "--labels", y, "--event", "0"}, "--event names one of two columns of scores, (N, 2), and these are (400,)"},
		{[]string{two, "--labels", y, "--event", "2"}, "--event is 2; it is 0 or 1"},
		{[]string{two, "--labels", y, "--event", "0", "--task", "classification"}, "--event is for binary tasks"},
		{[]string{d.put("three.npy", npy(t, []int64{1, 3}, []float64{0.2, 0.3, 0.5})), "--labels", d.put("y3.npy", npy(t, []int64{1}, []int32{1})), "--task", "binary"}, "(N,) or (N, 1), or two, (N, 2), and these are (1, 3)"},
	} {
		code, _, errs := candor(t, append([]string{"eval"}, c.args...)...)
		if code != exitUsage && code != exitData || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d: %s", c.args, code, errs)
		}
	}
	// A bad number is named by its column.
	bad := slices.Clone(s.twoColumns())
	bad[7*2] = -0.25
	_, _, errs := candor(t, "eval", d.put("bad.npy", npy(t, []int64{n, 2}, bad)), "--labels", y)
	if !strings.Contains(errs, "row 7, column 0: probability is -0.25, outside [0, 1]") {
		t.Error(errs)
	}
}

// differing returns the first line in which two texts differ.
func differing(a, b string) string {
	l, m := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(l), len(m)) {
		if l[i] != m[i] {
			return strings.TrimSpace(l[i]) + " / " + strings.TrimSpace(m[i])
		}
	}
	return "one goes on"
}

// TestTaskIsTold: which task was read is told: in documents, of states, and of two columns on a terminal too.
func TestTaskIsTold(t *testing.T) {
	d := newDir(t)
	s, three := newSet(1, 60, 2), newSet(2, 60, 3)
	two, y := d.put("two.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	one := d.put("one.npy", newSet(3, 60, 1).scores(t))
	x3, y3 := d.put("x3.npy", three.scores(t)), d.put("y3.npy", three.labelFile(t))
	const columns = "Two columns are a binary task: P(y = 1) is column 1."
	for _, c := range []struct {
		args  []string
		task  string
		told  bool
		state string
	}{
		{[]string{two, "--labels", y}, "binary", true, "60 rows, binary"},
		{[]string{two, "--labels", y, "--event", "0"}, "binary", false, "60 rows, binary"},
		{[]string{two, "--labels", y, "--task", "classification"}, "classification", false, "60 rows, 2 classes"},
		{[]string{one, "--labels", y}, "binary", false, "60 rows, binary"},
		{[]string{x3, "--labels", y3}, "classification", false, "60 rows, 3 classes"},
		{[]string{x3, "--task", "loglik"}, "loglik", false, "60 rows, forecasts of numbers"},
	} {
		_, out, errs := candor(t, append([]string{"eval", "--state", d.at("s.state")}, c.args...)...)
		if strings.Contains(strings.Join(strings.Fields(out), " "), columns) != c.told {
			t.Errorf("%v: %s%s", c.args, out, errs)
		}
		var doc struct{ Input struct{ Task string } }
		if _, out, errs = candor(t, append([]string{"eval", "--json"}, c.args...)...); json.Unmarshal([]byte(out), &doc) != nil || doc.Input.Task != c.task {
			t.Errorf("%v: task %q, not %q: %s", c.args, doc.Input.Task, c.task, errs)
		}
		if _, out, errs = candor(t, "inspect", d.at("s.state")); !strings.Contains(out, c.state) {
			t.Errorf("%v: %s%s does not say %q", c.args, out, errs, c.state)
		}
		var states []struct{ State struct{ Task string } }
		if _, out, errs = candor(t, "inspect", "--json", d.at("s.state")); json.Unmarshal([]byte(out), &states) != nil || states[0].State.Task != c.task {
			t.Errorf("%v: %s%s", c.args, out, errs)
		}
	}
	const arrays = "as scores two columns are a binary task: P(y = 1) is column 1"
	for path, want := range map[string]bool{two: true, one: false, x3: false, y: false} {
		if _, out, errs := candor(t, "inspect", path); strings.Contains(out, arrays) != want {
			t.Errorf("%s: %s%s", path, out, errs)
		}
	}
}
