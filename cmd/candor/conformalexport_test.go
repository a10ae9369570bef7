package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
	"github.com/candor-go/candor/recal/export"
)

// TestConformalExport: every target writes what the library makes of the map, and what cannot be written says why.
func TestConformalExport(t *testing.T) {
	d := newDir(t)
	x, y := conformalRows(t, d, 1)
	m, aps, split := d.at("m.json"), d.at("aps.json"), d.at("split.json")
	printed(t, "conformal", "fit", "lac(by_class)", x, "--labels", y, "-o", m)
	printed(t, "conformal", "fit", "aps", x, "--labels", y, "-o", aps)
	printed(t, "conformal", "fit", "split", d.put("n.csv", normalRows(1, 200).csv()), "--mean", "mu", "--std", "sigma", "--observed", "y", "-o", split)
	fit, err := conformal.Unmarshal(d.read(m))
	if err != nil {
		t.Fatal(err)
	}
	for target, made := range map[string]func() ([]byte, error){
		"python": func() ([]byte, error) { return export.ConformalPython(fit, metrics.Probs) },
		"js":     func() ([]byte, error) { return export.ConformalJavaScript(fit, metrics.Probs) },
		"onnx":   func() ([]byte, error) { return export.ConformalONNX(fit, metrics.Probs) },
		"go":     func() ([]byte, error) { return export.ConformalGo(fit, metrics.Probs, "conformal") },
		"sql":    func() ([]byte, error) { return export.ConformalSQL(fit, metrics.Probs, export.SQLOptions{}) },
	} {
		want, err := made()
		if err != nil {
			t.Fatal(err)
		}
		if got := printed(t, "conformal", "export", m, "--to", target); got != string(want) {
			t.Errorf("--to %s prints\n%s\nand the library makes\n%s", target, got, want)
		}
		out := d.at("out")
		printed(t, "conformal", "export", m, "--to", target, "-o", out)
		if !bytes.Equal(d.read(out), want) {
			t.Errorf("--to %s -o FILE writes something else", target)
		}
	}
	sql := printed(t, "conformal", "export", m, "--to", "sql", "--table", "lake.scores", "--columns", "cat,dog,owl", "--input", "logits")
	for _, w := range []string{"FROM lake.scores AS t", "CAST(t.dog AS DOUBLE)", "AS in_owl", "AS set_size"} {
		if !strings.Contains(sql, w) {
			t.Errorf("%s\nhas no %q", sql, w)
		}
	}
	if sql := printed(t, "conformal", "export", split, "--to", "sql", "--columns", "mu"); !strings.Contains(sql, "AS interval_high") {
		t.Error(sql)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, nil, "takes one map's file"},
		{exitUsage, []string{m}, "--to is missing: python, sql, js, onnx or go"},
		{exitUsage, []string{aps, "--to", "sql"}, "SQL cannot sort the classes of a row, which aps does; take another target, or fit lac"},
		{exitUsage, []string{m, "--to", "sql", "--columns", "a,b"}, "the map takes 3 columns, and 2 are named"},
		{exitUsage, []string{split, "--to", "sql", "--columns", "a,b"}, "the map takes 1 columns, and 2 are named"},
		{exitUsage, []string{split, "--to", "js", "--input", "logits"}, "split takes means, and these rows are of the kind logits"},
		{exitData, []string{x, "--to", "js"}, "not the file of a conformal map"},
		{exitData, []string{d.at("none.json"), "--to", "js"}, "none.json: no such file"},
	} {
		refusedAs(t, d, c.code, append([]string{"conformal", "export"}, c.args...), c.want)
	}
}
