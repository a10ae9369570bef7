package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal/export"
	"github.com/spf13/cobra"
)

// exporter holds the flags of candor recal export and candor conformal export.
type exporter struct {
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

// targetHelp returns the targets for the help of a command.
func targetHelp() string {
	var b strings.Builder
	for _, t := range exportTargets {
		fmt.Fprintf(&b, "  %-7s %s\n", t.name, t.what)
	}
	return b.String()
}

// targetNames returns the names of the targets.
func targetNames() (l []string) {
	for _, t := range exportTargets {
		l = append(l, t.name)
	}
	return l
}

// code writes a map in each target.
type code struct {
	python, js, onnx func(metrics.Kind) ([]byte, error)
	sql              func(metrics.Kind, export.SQLOptions) ([]byte, error)
	golang           func(k metrics.Kind, pkg string) ([]byte, error)
}

func recalExportCommand() *cobra.Command {
	var f exporter
	c := &cobra.Command{
		Use:   "export MAP",
		Short: "Write a map as code that needs no candor",
		Long: `Write a map of 'candor recal fit' as code that recalibrates without candor: where predictions are served, or in a database.

--to is one of
` + targetHelp() + `
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
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c, args[0], func() (string, *code, error) {
				m, err := readMap(args[0])
				if err != nil {
					return "", nil, fault(f.files.call(args[0]), "", "%v", err)
				}
				return m.Fit().Kind, &code{
					python: func(k metrics.Kind) ([]byte, error) { return export.Python(m, k) },
					js:     func(k metrics.Kind) ([]byte, error) { return export.JavaScript(m, k) },
					onnx:   func(k metrics.Kind) ([]byte, error) { return export.ONNX(m, k) },
					sql:    func(k metrics.Kind, o export.SQLOptions) ([]byte, error) { return export.SQL(m, k, o) },
					golang: func(k metrics.Kind, pkg string) ([]byte, error) { return export.Go(m, k, pkg) },
				}, nil
			})
		},
	}
	f.flags(c, "recalibration")
	return c
}

// flags adds the flags; pkg is the name of the Go package where none is given.
func (f *exporter) flags(c *cobra.Command, pkg string) {
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.to, "to", "", "`TARGET`: "+anyOf(targetNames()))
	fl.StringVarP(&f.out, "output", "o", "-", "`FILE` to write; - is standard output")
	fl.StringVar(&f.input, "input", "", "`KIND` of scores that the code takes: probs, logits or logprobs (default what the map was fitted to)")
	fl.StringVar(&f.table, "table", "predictions", "`NAME` of the table, for sql")
	fl.StringSliceVar(&f.columns, "columns", nil, "`NAMES` of the table's columns of scores, in the order of the classes, for sql")
	fl.StringVar(&f.pkg, "package", pkg, "`NAME` of the package, for go")
}

// run writes the map of a file; read returns the kind of scores to which it was fitted, and what writes it.
func (f *exporter) run(c *cobra.Command, file string, read func() (string, *code, error)) error {
	names := targetNames()
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
	fitted, m, err := read()
	if err != nil {
		return err
	}
	kind, err := f.kind(fitted)
	if err != nil {
		return err
	}
	var b []byte
	switch f.to {
	case "python":
		b, err = m.python(kind)
	case "sql":
		b, err = m.sql(kind, export.SQLOptions{Table: f.table, Columns: f.columns})
	case "js":
		b, err = m.js(kind)
	case "onnx":
		b, err = m.onnx(kind)
	case "go":
		if !goName(f.pkg) {
			return usage("--package %s is not a name of a Go package: use lower-case letters and digits", f.pkg)
		}
		b, err = m.golang(kind, f.pkg)
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
func (f *exporter) kind(fitted string) (metrics.Kind, error) {
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
