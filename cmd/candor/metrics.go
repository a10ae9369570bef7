package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/report"
)

func metricsCommand() *cobra.Command {
	var form sheetForm
	c := &cobra.Command{
		Use:   "metrics [NAME or WORD]",
		Short: "List the metrics, search them, or explain one",
		Long: `List the metrics by family, list those that mention a word, or explain one by its name: its formula, options, range, good
values and source.`,
		Example: `  candor metrics
  candor metrics ece
  candor metrics calib
  candor metrics --format csv`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var l []string
			for _, d := range eval.Descriptors() {
				l = append(l, d.Name+"\t"+d.Meaning)
			}
			return l, cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%d metrics are named; 'candor metrics NAME' explains one at a time", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := form.checkForm(c); err != nil {
				return err
			}
			l, one := eval.Descriptors(), false
			if len(args) == 1 {
				m, err := eval.ParseMetric(args[0])
				switch found := mentioning(l, args[0]); {
				case err == nil:
					l, one = []eval.Descriptor{*eval.Describe(m.Name)}, true
				case len(found) > 0:
					l = found
				default:
					return usage("%v", err)
				}
			}
			var b bytes.Buffer
			if width := screenOf(c.OutOrStdout()).width; one {
				explain(&b, &l[0], width)
			} else {
				list(&b, l, width)
			}
			return form.write(c, b.Bytes(), metricsSheet(l), func(w io.Writer) error { return writeDescriptors(w, l) })
		},
	}
	form.form(c)
	c.Flags().Lookup("json").Usage = "print a JSON array; the same as --format json"
	return c
}

// mentioning returns the metrics whose name, meaning, family or source has a word in it.
func mentioning(l []eval.Descriptor, word string) (found []eval.Descriptor) {
	word = strings.ToLower(strings.TrimSpace(word))
	if len(word) < 2 {
		return nil
	}
	for _, d := range l {
		for _, s := range []string{d.Name, d.Short, d.Meaning, d.Family(), d.Source} {
			if strings.Contains(strings.ToLower(s), word) {
				found = append(found, d)
				break
			}
		}
	}
	return found
}

// metricsSheet returns a row for each metric.
func metricsSheet(l []eval.Descriptor) *sheet {
	s := &sheet{head: []string{"name", "family", "default", "meaning", "formula", "options", "range", "better", "source", "applies"}}
	for _, d := range l {
		s.add(d.Name, d.Family(), yes(d.Default), d.Meaning, d.Formula, d.Options, d.Range, string(d.Better), d.Source, d.Applies())
	}
	return s
}

// list writes a line for each metric by family, or two on a narrow terminal.
func list(w io.Writer, l []eval.Descriptor, width int) {
	for _, f := range eval.Families() {
		first := true
		for _, d := range l {
			if d.Family() != f {
				continue
			}
			if first {
				fmt.Fprintf(w, "%s\n", f)
				first = false
			}
			mark := " "
			if d.Default {
				mark = "*"
			}
			hang(w, fmt.Sprintf("%s %-21s ", mark, d.Name), d.Meaning, width)
		}
		if !first {
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "%s\n", report.Wrap("* in the default set. 'candor metrics NAME' gives formula, options and source, 'candor metrics WORD' searches; --metrics takes names with options, as 'ece(bins=30,closed=right)'.", width))
}

// explain writes the full description of a metric.
func explain(w io.Writer, d *eval.Descriptor, width int) {
	var unsaid []string
	if strings.Contains(d.Options, "bins=N") {
		unsaid = append(unsaid, fmt.Sprintf("%d bins, or those of --bins", calib.DefaultBins))
	}
	if strings.Contains(d.Options, "event=shape") {
		unsaid = append(unsaid, "class 1 of two classes, the top label of more")
	}
	if strings.Contains(d.Options, "|") {
		unsaid = append(unsaid, "the first of several values")
	}
	for _, f := range [][2]string{{d.Name, d.Meaning}, {"formula", d.Formula}, {"options", d.Options}, {"where unsaid", strings.Join(unsaid, "; ")}, {"range", d.Range},
		{"better", string(d.Better)}, {"source", d.Source}, {"default set", yes(d.Default)}, {"applies", d.Applies()}} {
		if f[1] != "" {
			hang(w, fmt.Sprintf("%-17s ", f[0]), f[1], width)
		}
	}
	for i := range d.Also {
		fmt.Fprintln(w)
		explain(w, &d.Also[i], width)
	}
}

// hang writes text next to a head, with its lines aligned.
func hang(w io.Writer, head, text string, width int) {
	width = max(20, width-len(head))
	for _, w := range strings.Fields(text) {
		if len(w) > width { // an option with many values, which may end a line
			text = strings.ReplaceAll(text, w, strings.ReplaceAll(w, "|", "|\x00 "))
		}
	}
	text = strings.NewReplacer("\x00 ", "", "\x00", "").Replace(report.Wrap(text, width))
	fmt.Fprintln(w, head+strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(head))))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func writeDescriptors(w io.Writer, l []eval.Descriptor) error {
	type row struct {
		Name    string   `json:"name"`
		Family  string   `json:"family"`
		Meaning string   `json:"meaning"`
		Formula string   `json:"formula"`
		Options []string `json:"options"`
		Range   string   `json:"range"`
		Better  string   `json:"better"`
		Source  string   `json:"source"`
		Default bool     `json:"default"`
		Applies string   `json:"applies,omitempty"`
		Also    []row    `json:"also,omitempty"`
	}
	var rowsOf func(l []eval.Descriptor) []row
	rowsOf = func(l []eval.Descriptor) []row {
		rows := make([]row, 0, len(l))
		for _, d := range l {
			opts := []string{}
			if d.Options != "" {
				opts = strings.Split(d.Options, ", ")
			}
			rows = append(rows, row{d.Name, d.Family(), d.Meaning, d.Formula, opts, d.Range, string(d.Better), d.Source, d.Default, d.Applies(), rowsOf(d.Also)})
		}
		return rows
	}
	rows := rowsOf(l)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(rows)
}
