package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
	"github.com/candor-go/candor/recal/export"
	"github.com/spf13/cobra"
)

// recalExport holds the flags of candor recal export.
type recalExport struct {
	files sources

	to, out, input string
	table, pkg     string
	columns        []string
}

// exportTargets are what --to takes.
var exportTargets = []struct{ name, what string }{
	{"python", "a module with a function of numpy arrays"},
	{"sql", "a query that adds columns to a table; DuckDB and Spark run it"},
	{"js", "an ES module with a function of a row"},
	{"onnx", "a model of float32 for onnxruntime and others"},
	{"go", "a file with a function of a row"},
}

func recalExportCommand() *cobra.Command {
	var f recalExport
	var targets strings.Builder
	var names []string
	for _, t := range exportTargets {
		fmt.Fprintf(&targets, "  %-7s %s\n", t.name, t.what)
		names = append(names, t.name)
	}
	c := &cobra.Command{
		Use:   "export MAP",
		Short: "Write a map as code that needs no candor",
		Long: `Write a map of 'candor recal fit' as code that recalibrates without candor: where predictions are served, or in a database.

--to is one of
` + targets.String() + `
The code gives what 'candor recal apply' gives, to 1e-12, an ONNX model to 1e-6. It takes what the map was fitted to, or the
kind that --input names, and it returns probabilities; of forecasts it returns standard deviations or quantiles. Rows are not
checked: give it numbers that candor would accept.

SQL reads --table, in the columns that --columns names: one for each class, the event's of a binary task, or those of a forecast. It
adds columns with _recalibrated behind these names. A map of more than 1,000 parameters or steps is not written as SQL.`,
		Example: `  candor recal export map.json --to python -o recalibrate.py
  candor recal export map.json --to sql --table predictions --columns cat,cow,dog,owl
  candor recal export map.json --to onnx -o recalibrate.onnx
  candor recal export map.json --to js --input probs -o recalibrate.mjs
  candor recal export map.json --to go --package recalibration -o map.go`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("candor recal export takes one map's file")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.to, "to", "", "`TARGET`: "+anyOf(names))
	fl.StringVarP(&f.out, "output", "o", "-", "`FILE` to write; - is standard output")
	fl.StringVar(&f.input, "input", "", "`KIND` of scores that the code takes: probs, logits or logprobs (default what the map was fitted to)")
	fl.StringVar(&f.table, "table", "predictions", "`NAME` of the table, for sql")
	fl.StringSliceVar(&f.columns, "columns", nil, "`NAMES` of the table's columns of scores, in the order of the classes, for sql")
	fl.StringVar(&f.pkg, "package", "recalibration", "`NAME` of the package, for go")
	return c
}

func (f *recalExport) run(c *cobra.Command, file string) error {
	var names []string
	for _, t := range exportTargets {
		names = append(names, t.name)
	}
	switch {
	case f.to == "":
		return usage("--to is missing: %s", anyOf(names))
	case !slices.Contains(names, f.to):
		return noSuch("--to", f.to, names...)
	case f.to == "onnx" && f.out == "-" && screenOf(c.OutOrStdout()).terminal:
		return usage("-o FILE is missing: standard output is a terminal, which cannot show ONNX")
	case file == "-":
		return usage("the map is read from a file")
	}
	for _, of := range []struct{ flag, target string }{{"table", "sql"}, {"columns", "sql"}, {"package", "go"}} {
		if c.Flags().Changed(of.flag) && f.to != of.target {
			return usage("--%s is for --to %s; leave it out", of.flag, of.target)
		}
	}
	if f.out != "-" {
		if err := checkFile("-o", f.out, file); err != nil {
			return err
		}
	}
	m, err := readMap(file)
	if err != nil {
		return fault(f.files.call(file), "", "%v", err)
	}
	kind, err := f.kind(m)
	if err != nil {
		return err
	}
	var b []byte
	switch f.to {
	case "python":
		b, err = export.Python(m, kind)
	case "sql":
		b, err = export.SQL(m, kind, export.SQLOptions{Table: f.table, Columns: f.columns})
	case "js":
		b, err = export.JavaScript(m, kind)
	case "onnx":
		b, err = export.ONNX(m, kind)
	case "go":
		if !goName(f.pkg) {
			return usage("--package %s is not a name of a Go package: use lower-case letters and digits", f.pkg)
		}
		b, err = export.Go(m, kind, f.pkg)
	}
	switch {
	case errors.Is(err, export.ErrNotThere):
		return usage("%v", err)
	case err != nil:
		return usage("%v", plain(err))
	case f.out == "-":
		_, err := c.OutOrStdout().Write(b)
		return err
	}
	return writeFile(f.out, b)
}

// kind returns what the code takes.
func (f *recalExport) kind(m recal.Map) (metrics.Kind, error) {
	fitted := m.Fit().Kind
	want := f.input
	if want == "" {
		want = fitted
	}
	for k := metrics.Kind(0); k.Valid(); k++ {
		if k.String() == want {
			return k, nil
		}
	}
	return 0, noSuch("--input", f.input, "probs", "logits", "logprobs")
}

// goName reports whether a package can have this name.
func goName(s string) bool {
	for i, r := range s {
		if !(r >= 'a' && r <= 'z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != ""
}
