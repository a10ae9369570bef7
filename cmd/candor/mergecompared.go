package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/report"
)

// mergeComparisons merges the states of comparisons, of which b is the first.
func mergeComparisons(c *cobra.Command, o *output, to string, args []string, b []byte, r *stateFiles, margin []string, how compared.Adjust) error {
	sizes, err := margins(margin)
	if err != nil {
		return err
	}
	m := merging[*compared.Comparison]{magic: compared.Magic, empty: func() *compared.Comparison { return new(compared.Comparison) }, rows: (*compared.Comparison).Rows,
		begin: func(n *compared.Comparison) error {
			for _, g := range o.gates {
				if g.Scope() != report.Delta {
					return usage("%s %q: gates of a comparison are on differences, such as delta.nll.low>0", flagOf(g), g)
				}
				if why := g.Missing(n.Spec.Metrics, n.Spec.Shape()); why != "" {
					return usage("%s: %s", flagOf(g), why)
				}
			}
			for m := range sizes {
				if !slices.ContainsFunc(n.Spec.Metrics, func(o eval.Metric) bool { return o.String() == m }) {
					return usage("--margin: the states have no metric %s; compare with --metrics default,%s", m, m)
				}
			}
			if err := marginsFit(margin, &n.Spec); err != nil {
				return err
			}
			if n.Grouped() == nil && c.Flags().Changed("min-rows") {
				return usage("--min-rows is for groups of rows, and the states have none; leave it out")
			}
			o.plot.sets, o.plot.grouped = true, n.Grouped() != nil
			return o.plot.ready(n.Models()[0].Evaluation)
		}}
	sum, err := m.all(c, r, args, b)
	if err != nil {
		return err
	}
	if err := r.shards.write(c, to, sum); err != nil {
		return err
	}
	if done, err := r.shards.empty(c, r.calls(args), sum.Rows()); done || err != nil || o.silent() {
		return err
	}
	var names []string
	var sets []*eval.Evaluation
	docs := report.Comparison{Warnings: notedBy(c)}
	for _, m := range sum.Models() {
		names, sets = append(names, m.Name), append(sets, m.Evaluation)
		docs.Sets = append(docs.Sets, report.Named{Name: m.Name, Document: report.Brief(m.Evaluation)})
	}
	found := &report.Differences{Names: names, Level: sum.Spec.Level, Rows: sum.Rows(), Baseline: sum.Baseline >= 0, Adjust: how, Clusters: sum.Models()[0].Clusters(), Forecasts: consecutive(&sum.Spec),
		Flips: sum.Flips(), List: sum.Differences(&compared.Answers{Margins: sizes, Adjust: how}), Groups: sum.GroupDifferences(compared.GroupAnswers{MinRows: o.minRows, Adjust: how})}
	if err := o.plot.overlay(names, sets, found, sum); err != nil {
		return err
	}
	docs.Differences = found
	return o.comparison(c, sum.Models()[0].Evaluation, &docs)
}
