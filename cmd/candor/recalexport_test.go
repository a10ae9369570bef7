package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
	"github.com/candor-go/candor/recal/export"
)

// TestRecalExport: every target writes what the library makes of the map, and what cannot be written says why.
func TestRecalExport(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 60, 3)
	x, y, m, v, steps := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.at("m.json"), d.at("v.json"), d.at("steps.json")
	printed(t, "recal", "fit", "temperature", x, "--labels", y, "-o", m)
	printed(t, "recal", "fit", "vector", d.put("l.npy", recalSet(1, 60, 3).scores(t)), "--labels", y, "--input", "logits", "-o", v)
	printed(t, "recal", "fit", "histogram(bins=400)", x, "--labels", y, "-o", steps)
	fit, err := recal.Unmarshal(d.read(m))
	if err != nil {
		t.Fatal(err)
	}
	for target, made := range map[string]func() ([]byte, error){
		"python": func() ([]byte, error) { return export.Python(fit, metrics.Probs) },
		"js":     func() ([]byte, error) { return export.JavaScript(fit, metrics.Probs) },
		"onnx":   func() ([]byte, error) { return export.ONNX(fit, metrics.Probs) },
		"go":     func() ([]byte, error) { return export.Go(fit, metrics.Probs, "recalibration") },
		"sql":    func() ([]byte, error) { return export.SQL(fit, metrics.Probs, export.SQLOptions{}) },
	} {
		want, err := made()
		if err != nil {
			t.Fatal(err)
		}
		if got := printed(t, "recal", "export", m, "--to", target); got != string(want) {
			t.Errorf("--to %s prints\n%s\nand the library makes\n%s", target, got, want)
		}
		out := d.at("out")
		printed(t, "recal", "export", m, "--to", target, "-o", out)
		if !bytes.Equal(d.read(out), want) {
			t.Errorf("--to %s -o FILE writes something else", target)
		}
	}
	sql := printed(t, "recal", "export", m, "--to", "sql", "--table", "lake.scores", "--columns", "cat,dog,owl", "--input", "logits")
	for _, w := range []string{"FROM lake.scores AS t", "CAST(t.dog AS DOUBLE)", "AS owl_recalibrated"} {
		if !strings.Contains(sql, w) {
			t.Errorf("%s\nhas no %q", sql, w)
		}
	}
	if code := printed(t, "recal", "export", m, "--to", "go", "--package", "served"); !strings.Contains(code, "\npackage served\n") {
		t.Errorf("%s\nis not of the package served", code)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, nil, "takes one map's file"},
		{exitUsage, []string{m}, "--to is missing: python, sql, js, onnx or go"},
		{exitUsage, []string{m, "--to", "pyton"}, `--to is "pyton" (did you mean python?)`},
		{exitUsage, []string{"-", "--to", "go"}, "the map is read from a file"},
		{exitUsage, []string{m, "--to", "go", "-o", m}, "that file is read"},
		{exitUsage, []string{m, "--to", "go", "-o", d.at("none/map.go")}, "cannot write none/map.go"},
		{exitUsage, []string{m, "--to", "go", "--columns", "p"}, "--columns is for --to sql"},
		{exitUsage, []string{m, "--to", "sql", "--package", "p"}, "--package is for --to go"},
		{exitUsage, []string{m, "--to", "go", "--package", "my-maps"}, "--package my-maps is not a name of a Go package"},
		{exitUsage, []string{m, "--to", "sql", "--columns", "p"}, "the map takes 3 columns, and 1 is named"},
		{exitUsage, []string{m, "--to", "sql", "--columns", "a,b,c d"}, `"c d" is no name that all dialects of SQL write in the same way`},
		{exitUsage, []string{m, "--to", "sql", "--table", "a;b"}, `"a;b" is no name`},
		{exitUsage, []string{steps, "--to", "sql"}, "SQL is for at most 1000 parameters, and histogram(bins=400) has 2397"},
		{exitUsage, []string{m, "--to", "js", "--input", "odds"}, `--input is "odds"; it is probs, logits or logprobs`},
		{exitUsage, []string{v, "--to", "js", "--input", "probs"}, "the map vector was fitted to logits, and these are probs"},
		{exitData, []string{x, "--to", "js"}, "x.npy: this is not the file of a map"},
		{exitData, []string{d.at("none.json"), "--to", "js"}, "none.json: no such file"},
	} {
		refusedAs(t, d, c.code, append([]string{"recal", "export"}, c.args...), c.want)
	}
}
