package main

import (
	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal/export"
)

func conformalExportCommand() *cobra.Command {
	var f exporter
	c := &cobra.Command{
		Use:   "export MAP",
		Short: "Write a map as code that needs no candor",
		Long: `Write a map of 'candor conformal fit' as code that makes sets or intervals without candor: where predictions are served, or in a
database.

--to is one of
` + targetHelp() + `
Of probabilities the code makes the sets of 'candor conformal apply', of logits and log-probabilities too, unless a score equals the
threshold to the last digits. It takes what the map was fitted to, or the kind that --input names; of a binary task the probabilities of
both classes, or in Python, JavaScript, Go and SQL that of class 1. Of forecasts it takes the mean (split), the mean and the standard deviation (normalized), or the two
quantiles (cqr). The code of a method with random numbers takes one for each row. Rows are not checked: give it numbers that candor would
accept.

SQL reads --table, in the columns that --columns names. For each it adds a column with in_ before the name, 1 or 0, and then set_size; of
forecasts, interval_low and interval_high. It cannot sort the classes of a row, so that aps and raps are not written as SQL. An ONNX model returns
float32.`,
		Example: `  candor conformal export sets.json --to python -o sets.py
  candor conformal export sets.json --to sql --table predictions --columns cat,cow,dog,owl
  candor conformal export intervals.json --to js -o interval.mjs`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("candor conformal export takes one map's file")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c, args[0], func() (string, *code, error) {
				m, err := (&conformalFlags{}).readConformal(args[0])
				if err != nil {
					return "", nil, err
				}
				return m.Kind().String(), &code{
					python: func(k metrics.Kind) ([]byte, error) { return export.ConformalPython(m, k) },
					js:     func(k metrics.Kind) ([]byte, error) { return export.ConformalJavaScript(m, k) },
					onnx:   func(k metrics.Kind) ([]byte, error) { return export.ConformalONNX(m, k) },
					sql:    func(k metrics.Kind, o export.SQLOptions) ([]byte, error) { return export.ConformalSQL(m, k, o) },
					golang: func(k metrics.Kind, pkg string) ([]byte, error) { return export.ConformalGo(m, k, pkg) },
				}, nil
			})
		},
	}
	f.flags(c, "conformal")
	return c
}
