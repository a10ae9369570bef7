package main

import (
	"strings"
	"testing"

	"github.com/candor-go/candor/recal"
)

// TestScaledFewRows: where rows are too few for folds, the evaluation stays, and says why nothing is scaled.
func TestScaledFewRows(t *testing.T) {
	for _, rows := range []int{1, 2} {
		d := newDir(t)
		s := newSet(1, rows, 3)
		out := printed(t, "eval", d.put("p.npy", s.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "--temperature-scaled")
		if !strings.Contains(out, "accuracy") || !strings.Contains(out, "there is no nll_temperature_scaled") {
			t.Errorf("%d rows:\n%s", rows, out)
		}
	}
}

// TestRecalFitApply: what the command writes of a map is what package recal makes of the rows, however many threads there are.
func TestRecalFitApply(t *testing.T) {
	for _, method := range []string{"temperature", "isotonic", "vector"} {
		d := newDir(t)
		s := newSet(2, 400, 3)
		p, y, file := d.put("p.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.at("map.json")
		printed(t, "recal", "fit", method, p, "--labels", y, "-o", file, "--threads", "1")
		m, err := recal.Unmarshal(d.read(file))
		if err != nil || m.Method() != method || m.Fit().Rows != 400 {
			t.Fatalf("%v, %v", m, err)
		}
		again := d.at("again.json")
		printed(t, "recal", "fit", method, p, "--labels", y, "-o", again, "--threads", "3")
		if string(d.read(again)) != string(d.read(file)) {
			t.Errorf("%s: three threads fit another map", method)
		}
		printed(t, "recal", "apply", file, p, "-o", d.at("one.npy"), "--threads", "1")
		printed(t, "recal", "apply", again, p, "-o", d.at("three.npy"), "--threads", "3")
		if one := d.read(d.at("one.npy")); len(one) < 400*3*4 || string(one) != string(d.read(d.at("three.npy"))) {
			t.Errorf("%s: three threads write another file", method)
		}
	}
}
