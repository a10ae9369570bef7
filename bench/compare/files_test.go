package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles goes the whole way with small files: all tools find what candor finds. Python packages that write and read them are no part of
// what is needed to build or to test the rest; CI names a Python that has them.
func TestFiles(t *testing.T) {
	python := os.Getenv("CANDOR_TABLES_PYTHON")
	path, _ := pythonWith(python, "numpy, pyarrow, polars, duckdb, safetensors")
	dir := t.TempDir()
	var out bytes.Buffer
	err := run([]string{"-files", "-o", dir, "-rows", "5000", "-reps", "1", "-python", path}, &out)
	if path == "" && python == "" {
		// The fallbacks may have pyarrow alone.
		if err != nil && !errors.Is(err, errNoPyArrow) {
			t.Error(err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"polars     ", "duckdb     ", "  reader  ", " two threads"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "files.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	tools := map[string]string{}
	for _, s := range all {
		tools[s.Workload] += s.Tool + " "
		if !(s.Seconds > 0 && s.Wall > 0 && s.NLL > s.ECE && s.ECE > 0.01 && s.Brier > s.ECE) {
			t.Errorf("%+v", s)
		}
	}
	for i := range dataFiles {
		name := dataFiles[i].name
		want := "candor polars duckdb "
		switch {
		case name == "columns.arrows":
			want = "candor polars "
		case strings.HasSuffix(name, ".npy") || strings.HasSuffix(name, ".safetensors"):
			want = "candor numpy "
		}
		if tools[name] != want {
			t.Errorf("%s: %q, not %q", name, tools[name], want)
		}
	}
}

// TestFilesNeedPython: what is absent is named.
func TestFilesNeedPython(t *testing.T) {
	err := run([]string{"-files", "-o", t.TempDir(), "-python", "no-such-python"}, new(bytes.Buffer))
	if !errors.Is(err, errNoPyArrow) || !strings.Contains(err.Error(), "no-such-python") {
		t.Error(err)
	}
}

// TestKeepBest: processor time and wall time may be least in different repetitions.
func TestKeepBest(t *testing.T) {
	var best sample
	for i, s := range []sample{{Seconds: 2, Wall: 3}, {Seconds: 1, Wall: 9}, {Seconds: 4, Wall: 2}} {
		s.NLL = float64(i)
		keepBest(&best, s, i == 0)
	}
	if best.Seconds != 1 || best.Wall != 2 || best.NLL != 1 {
		t.Errorf("%+v", best)
	}
}
