package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/report"
	"github.com/spf13/cobra"
)

// tokenFlags are what predictions of a language model need: labels that do not count, the bytes and the sequences of tokens, percentages.
type tokenFlags struct {
	ignored   []string
	ignore    []int32 // what ignored says, rising
	bytes     []string
	sequences []string
	percent   bool
}

func (t *tokenFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	fl.StringSliceVar(&t.ignored, "ignore-label", nil, "`LABELS` of rows that do not count, whole numbers, such as -100: they are left out and counted")
	fl.BoolVar(&t.percent, "percent", false, "probabilities, and --confidence-scores, are percentages, from 0 to 100")
	fl.StringSliceVar(&t.bytes, "bytes", nil, "`FILE` of the number of bytes of text that each row stands for, or a column of a table: for bits_per_byte")
	fl.StringSliceVar(&t.sequences, "sequence", nil, "`FILE` of the sequence of each row, whole numbers or text, or a column of a table: for sequence_nll; the rows of a sequence must be adjacent")
}

// checkTokens reads the flags and returns an error for those that do not go together.
func (f *evalFlags) checkTokens(kind metrics.Kind) error {
	t := &f.tokens
	t.ignore = nil
	for _, s := range t.ignored {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err != nil || n == math.MinInt32 {
			return usage("--ignore-label is %q; it is a whole number above -2^31, such as -100", s)
		}
		t.ignore = append(t.ignore, int32(n))
	}
	slices.Sort(t.ignore)
	t.ignore = slices.Compact(t.ignore)
	_, ofNumbers := numbers[f.task]
	other := ofNumbers || f.task == "ensemble"
	for _, l := range []struct {
		flag         string
		given, never bool
	}{{"--ignore-label", len(t.ignore) > 0, ofNumbers || f.task == "multilabel"}, {"--percent", t.percent, ofNumbers},
		{"--bytes", len(t.bytes) > 0, other || f.task == "multilabel"}, {"--sequence", len(t.sequences) > 0, other || f.task == "multilabel"}} {
		switch {
		case !l.given:
		case l.never:
			return usage("%s does not go with --task %s; leave it out", l.flag, f.task)
		case f.choices.given():
			return usage("%s does not go with --from lm-eval, whose rows are log-likelihoods of choices; leave it out", l.flag)
		}
	}
	switch {
	case t.percent && kind != metrics.Probs:
		return usage("--percent is for --input probs, and %s are not percentages; leave it out", kind)
	case len(t.ignore) > 0 && f.table.correct != "":
		return usage("--ignore-label names labels, and --correct takes their place; leave one of them out")
	case len(t.sequences) > 0 && len(f.columns.groups) > 0:
		return usage("--sequence does not go with --group, which may divide a sequence; leave one of them out")
	}
	return nil
}

// metrics returns the metrics that the flags are for, as an end of a list.
func (t *tokenFlags) metrics() (list string) {
	if len(t.bytes) > 0 {
		list += ",bits_per_byte"
	}
	if len(t.sequences) > 0 {
		list += ",sequence_nll"
	}
	return list
}

// said says how many rows do not count; "" without --ignore-label.
func (t *tokenFlags) said(ignored int64) string {
	if len(t.ignore) == 0 {
		return ""
	}
	labels := make([]string, len(t.ignore))
	for i, l := range t.ignore {
		labels[i] = strconv.Itoa(int(l))
	}
	rows := "rows"
	if ignored == 1 {
		rows = "row"
	}
	return fmt.Sprintf("%s %s with label %s left out", report.Count(ignored), rows, strings.Join(labels, ", "))
}

// reasons says why no row may be left.
func (t *tokenFlags) reasons(a *metrics.Audit) string {
	l := a.Warnings()
	if a.Ignored > 0 {
		l = append([]string{t.said(a.Ignored)}, l...)
	}
	return strings.Join(l, "; ")
}
