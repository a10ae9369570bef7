package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/recal"
)

// scaledAnswers are the metrics of --temperature-scaled with all that the document has of them.
func scaledAnswers(d *document) map[string]answer {
	l := map[string]answer{}
	for _, n := range strings.Split(eval.ScaledMetrics, ",") {
		l[n] = d.Metrics[n]
	}
	return l
}

// TestTemperatureScaled holds the metrics to maps that are fitted and rows that are scaled by hand.
func TestTemperatureScaled(t *testing.T) {
	d := newDir(t)
	for _, classes := range []int{1, 2, 4} {
		s := newSet(21, 500, classes)
		x, y := d.put("x.npy", npy(t, s.shape(), s.probs)), d.put("y.npy", s.labelFile(t))
		for _, weighted := range []bool{false, true} {
			task := map[int]string{1: "binary", 2: "classification", 4: "classification"}[classes]
			args := []string{x, "--labels", y, "--task", task, "--seed", "3", "--metrics", "accuracy", "--confidence", "0.9"}
			p := &metrics.Predictions{Scores: metrics.Scores{F64: s.probs, Rows: s.rows, Classes: classes}, Labels: s.labels}
			if weighted {
				args = append(args, "--weights", d.put("w.npy", s.weightFile(t)))
				p.Weights = s.weights
			}
			doc := evaluate(t, append(args, "--temperature-scaled", "--state", d.at("b.state"))...)
			data, folds := recal.InMemory(p), recal.Folds{Seed: 3}
			m, err := recal.Temperature{}.Fit(data, nil)
			if err != nil {
				t.Fatal(err)
			}
			of := m.(*recal.TemperatureMap)
			in := of.Interval(0.9)
			got := doc.Metrics["temperature"]
			if doc.value(t, "temperature") != of.T() || got.Low != any(in.Low) || got.High != any(in.High) || len(doc.Metrics) != 5 {
				t.Errorf("%d classes: %+v, and T is %v %v", classes, got, of.T(), in)
			}
			maps, err := recal.CrossFit(recal.Temperature{}, data, folds, nil)
			if err != nil {
				t.Fatal(err)
			}
			e := valuesOf(t, recal.CrossApplied(maps, data, folds), "nll,brier,ece", classes)
			for _, l := range e.Spec.Metrics {
				if g, w := doc.value(t, l.Name+"_temperature_scaled"), e.Value(l).Value; g != w {
					t.Errorf("%d classes, weights %v: %s is %v, not %v", classes, weighted, l.Name, g, w)
				}
			}
			// The rest of the document is that without the flag, and the state has the same bytes.
			plain := evaluate(t, append(args, "--state", d.at("a.state"))...)
			if string(d.read(d.at("a.state"))) != string(d.read(d.at("b.state"))) {
				t.Errorf("%d classes: the flag changes the state", classes)
			}
			if plain.value(t, "accuracy") != doc.value(t, "accuracy") || plain.Verdict != doc.Verdict || len(plain.Metrics) != 1 {
				t.Errorf("%d classes: the flag changes what is without it", classes)
			}
		}
	}
}

// TestTemperatureScaledIsOneDocument: neither threads nor files change a digit, and the seed changes folds alone.
func TestTemperatureScaledIsOneDocument(t *testing.T) {
	d := newDir(t)
	s := newSet(22, 900, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	a, b := d.put("part2.npy", s.part(0, 307).scores(t)), d.put("part10.npy", s.part(307, 900).scores(t))
	flags := []string{"--labels", y, "--temperature-scaled", "--json"}
	metricsOf := func(args ...string) string {
		var v struct{ Metrics json.RawMessage }
		if err := json.Unmarshal([]byte(printed(t, append(append([]string{"eval"}, args...), flags...)...)), &v); err != nil {
			t.Fatal(err)
		}
		return string(v.Metrics)
	}
	want := metricsOf(x)
	for _, args := range [][]string{{x, "--threads", "1"}, {x, "--threads", "4"}, {a, b}, {b, a, "--threads", "4"}} {
		if got := metricsOf(args...); got != want {
			t.Errorf("%v: %s, not %s", args, got, want)
		}
	}
	zero, one := evaluate(t, append([]string{x}, flags...)...), evaluate(t, append([]string{x, "--seed", "1"}, flags...)...)
	if zero.value(t, "temperature") != one.value(t, "temperature") || zero.value(t, "nll_temperature_scaled") == one.value(t, "nll_temperature_scaled") ||
		zero.value(t, "nll") != one.value(t, "nll") {
		t.Error("--seed changes more than the folds, or not these")
	}
	// The sample too, which is in no folder.
	if code, out, errs := candor(t, "eval", "--temperature-scaled"); code != 0 || !strings.Contains(out, "ece_temperature_scaled") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// Metrics that are asked for stand once, at their place.
	_, csv, _ := candor(t, "eval", x, "--labels", y, "--temperature-scaled", "--metrics", "ece_temperature_scaled,accuracy", "--format", "csv")
	var names []string
	for _, l := range strings.Split(strings.TrimSpace(csv), "\n")[1:] {
		name, _, _ := strings.Cut(l, ",")
		names = append(names, name)
	}
	if g := strings.Join(names, " "); g != "ece_temperature_scaled accuracy temperature nll_temperature_scaled brier_temperature_scaled" {
		t.Errorf("the metrics are %s", g)
	}
}

// TestCompareTemperatureScaled: each set has what candor eval says of it.
func TestCompareTemperatureScaled(t *testing.T) {
	d := newDir(t)
	a, b, y := pair(t, d, 3)
	out := printed(t, "compare", a, b, "--labels", y, "--temperature-scaled", "--json")
	var v struct{ Sets []document }
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	for i, x := range []string{a, b} {
		want := evaluate(t, x, "--labels", y, "--temperature-scaled")
		for n, w := range scaledAnswers(want) {
			if g := v.Sets[i].Metrics[n]; g.Value != w.Value || g.Low != w.Low || g.High != w.High || g.Value == nil {
				t.Errorf("%s: %s is %+v, and by candor eval %+v", x, n, g, w)
			}
		}
	}
	text := printed(t, "compare", a, b, "--labels", y, "--temperature-scaled")
	for n := range scaledAnswers(&v.Sets[0]) {
		if !strings.Contains(text, "\n "+n+" ") {
			t.Errorf("%s\nhas no %s", text, n)
		}
	}
	// A column of dashes has room for its name.
	if text := printed(t, "compare", a, b, "--labels", y, "--metrics", "temperature"); strings.Count(text, "\n Metric") != 1 || !strings.Contains(text, "\n temperature ") ||
		strings.Count(strings.SplitN(text, "temperature", 2)[0], "\n") > 4 {
		t.Errorf("%s", text)
	}
}

// TestTemperatureScaledGates: a gate has the value where the flag makes one, and fails without it.
func TestTemperatureScaledGates(t *testing.T) {
	d := newDir(t)
	s := newSet(23, 400, 3)
	x, y, st := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.at("s.state")
	args := []string{"eval", x, "--labels", y}
	for _, c := range []struct {
		more []string
		want int
		says string
	}{
		{[]string{"--temperature-scaled", "--fail-if", "ece_temperature_scaled>0.5"}, exitDone, ""},
		{[]string{"--temperature-scaled", "--fail-if", "ece_temperature_scaled>0"}, exitGate, "gate failed: ece_temperature_scaled>0: it is 0."},
		{[]string{"--temperature-scaled", "--fail-if", "temperature.low>0.001"}, exitGate, "gate failed: temperature.low>0.001: it is "},
		{[]string{"--fail-if", "ece_temperature_scaled>0.5", "--state", st}, exitGate, "ece_temperature_scaled.value is not defined: the rows were not scaled: " +
			"candor eval --temperature-scaled does it, which reads them several times, and no state has it"},
	} {
		if code, _, errs := candor(t, append(args, c.more...)...); code != c.want || !strings.Contains(errs, c.says) || c.says == "" && errs != "" {
			t.Errorf("%v: exit code %d: %s", c.more, code, errs)
		}
	}
	merged := printed(t, "merge", st, "--json")
	var v document
	if err := json.Unmarshal([]byte(merged), &v); err != nil {
		t.Fatal(err)
	}
	if g := v.Metrics["ece_temperature_scaled"]; g.Value != nil || !strings.Contains(g.Reason, "no state has it") {
		t.Errorf("a merge says %+v", g)
	}
}

// TestTemperatureScaledUndefined: rows without a best temperature are still evaluated, and the reason is given.
func TestTemperatureScaledUndefined(t *testing.T) {
	d := newDir(t)
	s := newSet(24, 60, 3)
	right := s.clone()
	for i := range s.rows {
		best := 0
		for j := range 3 {
			if s.probs[i*3+j] > s.probs[i*3+best] {
				best = j
			}
		}
		right.labels[i] = int32(best)
	}
	none := s.clone()
	for i, y := range s.labels {
		for j := range 3 {
			none.probs[i*3+j] = 0
		}
		none.probs[i*3+int(y+1)%3] = 1
	}
	const falls, counts = "the likelihood has no maximum: every row's label has the largest logit", "the likelihood has no maximum: the model gave the true class probability 0 in all "
	for _, c := range []struct {
		name         string
		of           *set
		whole, folds string // what is said, "" where there is a value
	}{
		{"all rows right", right, falls, falls},
		{"one row wrong", right.label((right.labels[9]+1)%3, 9), "", falls},
		{"one row", s.label(s.labels[0], 0).part(0, 1), "", "there are no rows to fit to"},
		{"p_y = 0 in all rows", none, counts, counts},
	} {
		if c.name == "one row" {
			c.whole = "the likelihood has no maximum: "
		}
		doc := evaluate(t, d.put("x.npy", c.of.scores(t)), "--labels", d.put("y.npy", c.of.labelFile(t)), "--temperature-scaled")
		temperature := doc.Metrics["temperature"]
		if (temperature.Value == nil) != (c.whole != "") || !strings.HasPrefix(temperature.Reason, c.whole) {
			t.Errorf("%s: the temperature is %+v", c.name, temperature)
		}
		for _, n := range []string{"nll", "brier", "ece"} {
			g := doc.Metrics[n+"_temperature_scaled"]
			if g.Value != nil || !strings.HasPrefix(g.Reason, "fold ") || !strings.Contains(g.Reason, c.folds) || strings.Contains(g.Reason, "recal: ") {
				t.Errorf("%s: %s is %+v", c.name, n, g)
			}
		}
		if v := doc.value(t, "accuracy"); v != v {
			t.Errorf("%s: no accuracy", c.name)
		}
	}
	// Rows with p_y = 0 among others are left out of the fit and stay in the NLL.
	zero := s.clone()
	for j := range 3 {
		zero.probs[7*3+j] = 0
	}
	zero.probs[7*3+int(s.labels[7]+1)%3] = 1
	x, y := d.put("x.npy", zero.scores(t)), d.put("y.npy", s.labelFile(t))
	doc := evaluate(t, x, "--labels", y, "--temperature-scaled")
	if v := doc.value(t, "temperature"); !(v > 0) || !math.IsInf(doc.value(t, "nll_temperature_scaled"), 1) || !(doc.value(t, "brier_temperature_scaled") > 0) {
		t.Errorf("T %v, NLL %v", v, doc.value(t, "nll_temperature_scaled"))
	}
	text := strings.Join(strings.Fields(printed(t, "eval", x, "--labels", y, "--temperature-scaled")), " ")
	if !strings.Contains(text, "temperature: 1 row was left out of the fit: its true class got probability 0, which no temperature changes; it is row 7.") {
		t.Errorf("%s", text)
	}
}

func TestTemperatureScaledRefuses(t *testing.T) {
	d := newDir(t)
	s := newSet(25, 40, 3)
	x, y, by := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.put("by.npy", s.byFile(t))
	tags := newTagged(1, 40, 3)
	tx := d.put("t.npy", npy(t, tags.shape(), tags.truth))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--input", "dirichlet"}, "does not go with --input dirichlet"}, {[]string{"--on-invalid", "drop"}, "does not go with --on-invalid drop"},
		{[]string{"--renormalize"}, "does not go with --renormalize"}, {[]string{"--decisions", y}, "does not go with --decisions"},
		{[]string{"--confidence-scores", by}, "does not go with --confidence-scores"}, {[]string{"--group", y}, "does not go with --group"},
		{[]string{"--task", "ensemble"}, "does not go with --task ensemble: it is for the classes of one model"},
		{[]string{"--task", "regression"}, "does not go with --task regression"}, {[]string{"--task", "samples"}, "does not go with --task samples"},
		{[]string{"--task", "multilabel", "--labels", tx}, "does not go with --task multilabel"},
		{[]string{"--weights", "-"}, "standard input only once; name a file"},
	} {
		labels := []string{"--labels", y}
		if len(c.args) > 2 {
			labels = nil
		}
		args := append(append([]string{"eval", x, "--temperature-scaled"}, labels...), c.args...)
		refusedAs(t, d, exitUsage, args, "--temperature-scaled ", c.want)
		if c.args[0] == "--group" || c.args[0] == "--decisions" || c.args[0] == "--confidence-scores" || c.args[0] == "--task" {
			continue // candor compare has words of its own
		}
		refusedAs(t, d, exitUsage, append(append([]string{"compare", x, x, "--temperature-scaled"}, labels...), c.args...), c.want[:10])
	}
	refusedAs(t, d, exitUsage, []string{"eval", "-", "--labels", y, "--temperature-scaled"}, "standard input only once")
	refusedAs(t, d, exitUsage, []string{"compare", x, "-", "--labels", y, "--temperature-scaled"}, "standard input only once")
	for _, command := range []string{"merge", "score", "inspect"} {
		refusedAs(t, d, exitUsage, []string{command, x, "--temperature-scaled"}, "unknown flag: --temperature-scaled")
	}
	for _, m := range strings.Split(eval.ScaledMetrics, ",") {
		refusedAs(t, d, exitUsage, []string{"eval", x, x, "--labels", y, "--task", "ensemble", "--metrics", m}, "metric "+m+": it is for the classes of one model")
	}
	// A metric without the flag has no value, and says how it gets one.
	doc := evaluate(t, x, "--labels", y, "--metrics", "all,temperature")
	if g := doc.Metrics["temperature"]; g.Value != nil || !strings.Contains(g.Reason, "candor eval --temperature-scaled does it") {
		t.Errorf("%+v", g)
	}
	if _, there := doc.Metrics["ece_temperature_scaled"]; there {
		t.Error("--metrics all has what only the flag gives")
	}
}
