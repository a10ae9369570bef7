package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/recal"
)

// bestDocument is what candor recal best prints with --json.
type bestDocument struct {
	Says, Chosen, Lowest, Loss string
	Level                      float64
	Folds                      int
	Rows, Clusters             int64
	Methods                    []struct {
		Method, Reason string
		Parameters     int
		Loss           any
		Infinite       int64 `json:"infinite_rows"`
		Lowest         any   `json:"from_lowest"`
		Within         bool  `json:"within_noise"`
	}
	Map      json.RawMessage
	Warnings []string
}

func bestOf(t *testing.T, args ...string) *bestDocument {
	t.Helper()
	text := printed(t, with([]string{"recal", "best", "--json"}, args...)...)
	checkSchema(t, text)
	var d bestDocument
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// TestRecalBest: the choice is that of the library, the map is the file of recal fit, and threads change nothing.
func TestRecalBest(t *testing.T) {
	d := newDir(t)
	for _, c := range []struct {
		classes int
		methods string
	}{{1, ""}, {3, ""}, {3, "platt(top_label), temperature,histogram(bins=5,equal_mass)"}} {
		s := recalSet(7, 600, c.classes)
		x, y := d.put("x.npy", npy(t, s.shape(), s.probs)), d.put("y.npy", s.labelFile(t))
		args := []string{x, "--labels", y, "--input", "logits", "--folds", "3", "--seed", "4", "-o", d.at("map.json")}
		if c.methods != "" {
			args = append(args, "--methods", c.methods)
		}
		doc := bestOf(t, args...)
		var methods []recal.Method
		for _, m := range doc.Methods[1:] {
			p, err := recal.Parse(m.Method)
			if err != nil {
				t.Fatal(err)
			}
			methods = append(methods, p)
		}
		want, err := recal.Best(methods, recal.InMemory(s.logitsOf()), recal.Folds{K: 3, Seed: 4}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if doc.Chosen != want.Candidates[want.Chosen].Name || doc.Lowest != want.Candidates[want.Lowest].Name || doc.Rows != 600 || doc.Folds != 3 || doc.Level != 0.95 || doc.Loss != "nll" {
			t.Errorf("%+v", doc)
		}
		for i, m := range want.Candidates {
			got := doc.Methods[i]
			if got.Method != m.Name || (got.Reason != "") != (m.Reason != "") || got.Parameters != m.Parameters || got.Within != m.Within {
				t.Errorf("%+v, and in the library %+v", got, m)
			}
			if loss, ok := got.Loss.(float64); ok && loss != m.Loss || got.Loss == "+Inf" && !math.IsInf(m.Loss, 1) {
				t.Errorf("%s: %v, want %v", m.Name, got.Loss, m.Loss)
			}
		}
		if doc.Chosen == "none" || !sameJSON(t, d.read(d.at("map.json")), doc.Map) {
			t.Errorf("%s is chosen, with the map %s", doc.Chosen, doc.Map)
		}
		printed(t, "recal", "fit", doc.Chosen, x, "--labels", y, "--input", "logits", "-o", d.at("fit.json"))
		if string(d.read(d.at("fit.json"))) != string(d.read(d.at("map.json"))) {
			t.Errorf("%s: recal fit writes another map", doc.Chosen)
		}
		one := printed(t, with([]string{"recal", "best", "--json", "--threads", "1"}, args...)...)
		if many := printed(t, with([]string{"recal", "best", "--json", "--threads", "7"}, args...)...); one != many {
			t.Errorf("threads change the choice:\n%s\n%s", one, many)
		}
	}
}

// TestRecalBestLeavesAsIs: of a calibrated model nothing is changed; its map returns what it gets.
func TestRecalBestLeavesAsIs(t *testing.T) {
	d := newDir(t)
	s := newSet(8, 900, 1)
	r := rand.New(rand.NewPCG(8, 9))
	for i, p := range s.probs {
		if s.labels[i] = 0; r.Float64() < p {
			s.labels[i] = 1
		}
	}
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	if doc := bestOf(t, x, "--labels", y, "--methods", "temperature,platt", "-o", d.at("m.json")); doc.Chosen != "none" || !strings.HasPrefix(doc.Says, "no recalibration: NLL is ") {
		t.Fatalf("%s: %s", doc.Chosen, doc.Says)
	}
	printed(t, "recal", "apply", d.at("m.json"), x, "-o", d.at("o.npy"))
	got, _, _ := written(t, d.at("o.npy"))
	for i, p := range s.probs {
		if math.Abs(got[i]-float64(float32(p))) > 2e-7 {
			t.Fatalf("row %d: %v becomes %v", i, p, got[i])
		}
	}
}

// TestRecalBestSays: the sentence, the tables and the list of every way to choose.
func TestRecalBestSays(t *testing.T) {
	d := newDir(t)
	s := recalSet(7, 600, 3)
	x, y := d.put("x.npy", npy(t, s.shape(), s.probs)), d.put("y.npy", s.labelFile(t))
	args := []string{"recal", "best", x, "--labels", y, "--input", "logits", "--methods", "isotonic,temperature,ets"}
	text := printed(t, args...)
	for _, want := range []string{"temperature scaling: NLL falls by ", "Method ", "Parameters", "isotonic", "inf", "probability 0 for the true class of ", "Next: -o MAP.json"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if csv := printed(t, with(args, "--format", "csv")...); !strings.HasPrefix(csv, "method,parameters,loss,infinite_rows,") || strings.Count(csv, "\n") != 5 {
		t.Error(csv)
	}
	if md := printed(t, with(args, "--format", "markdown")...); !strings.Contains(md, "| temperature | 1 |") {
		t.Error(md)
	}
	if b := bestOf(t, with(args[2:], "--loss", "brier")...); b.Loss != "brier" || b.Methods[1].Loss == "+Inf" || !strings.Contains(b.Says, "Brier score") {
		t.Errorf("%+v", b)
	}
	// Nothing can be fitted to rows that are all right.
	sure := s.only(func(i int) bool { return s.probs[3*i+int(s.labels[i])] == slices.Max(s.probs[3*i:3*i+3]) })
	ax, ay := d.put("ax.npy", npy(t, sure.shape(), sure.probs)), d.put("ay.npy", sure.labelFile(t))
	if b := bestOf(t, ax, "--labels", ay, "--input", "logits", "--methods", "temperature,vector"); b.Chosen != "none" || !strings.HasSuffix(b.Says, "and no method could be fitted.") || b.Methods[1].Reason == "" {
		t.Errorf("%+v", b)
	}
}

func TestRecalBestRefuses(t *testing.T) {
	d := newDir(t)
	s, one := newSet(1, 60, 3), newSet(2, 60, 1)
	x, y, w := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.put("w.npy", s.weightFile(t))
	b, by := d.put("b.npy", one.scores(t)), d.put("by.npy", one.labelFile(t))
	zero := newSet(3, 60, 1)
	zero.probs[5], zero.labels[5] = 0, 1
	z, zy := d.put("z.npy", zero.scores(t)), d.put("zy.npy", zero.labelFile(t))
	for _, c := range []struct {
		code int
		args []string
		want []string
	}{
		{exitUsage, nil, []string{"no predictions are named"}},
		{exitUsage, []string{x, "--labels", y, "--methods", "temprature"}, []string{`--methods: there is no method "temprature"`, "(did you mean temperature?)"}},
		{exitUsage, []string{x, "--labels", y, "--methods", "ets,sigma"}, []string{"--methods: sigma is for forecasts"}},
		{exitUsage, []string{x, "--labels", y, "--methods", "ets,platt,ets"}, []string{"--methods: ets is given twice"}},
		{exitUsage, []string{x, "--labels", y, "--methods", " , "}, []string{"--methods names no method"}},
		{exitUsage, []string{x, "--labels", y, "--methods", "histogram(bins=3"}, []string{"it is NAME or NAME(OPTION=VALUE,...)"}},
		{exitUsage, []string{x, "--labels", y, "--loss", "ece"}, []string{`--loss is "ece"; it is nll or brier`}},
		{exitUsage, []string{x, "--labels", y, "--task", "regression"}, []string{`recal best is for classes, and --task is "regression"`}},
		{exitUsage, []string{x, "--labels", y, "--folds", "1"}, []string{"--folds is 1"}},
		{exitUsage, []string{"-", "--labels", y}, []string{"standard input only once; name a file"}},
		{exitUsage, []string{x, "--labels", y, "-o", x}, []string{"that file is read"}},
		{exitUsage, []string{x, "--labels", y, "--methods", "temperature,histogram(bins=65536)", "--max-memory", "56MiB", "--threads", "1"}, []string{"2 methods of 60 rows take about ",
			"together; pass --max-memory "}},
		{exitData, []string{x}, []string{"x.npy: no labels; pass --labels FILE"}},
		{exitData, []string{b, "--labels", by, "--methods", "vector"}, []string{"vector is for two classes or more"}},
		{exitData, []string{x, "--labels", y, "--weights", w, "--methods", "bbq"}, []string{"bbq weighs its histograms by counts of rows"}},
		{exitData, []string{z, "--labels", zy, "--methods", "temperature,platt"}, []string{"the NLL of every method is infinite: as they are, the predictions give probability 0 to the true class of 1 row", "--loss brier"}},
	} {
		args := append([]string{"recal", "best"}, c.args...)
		if !slices.Contains(args, "-o") {
			args = append(args, "-o", d.at("m.json"))
		}
		refusedAs(t, d, c.code, args, c.want...)
	}
}
