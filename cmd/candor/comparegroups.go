package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// checkGroups checks --group and --min-rows, and asks for the metrics that groups have.
func (f *compareRun) checkGroups(c *cobra.Command, j *job) error {
	by := f.columns.groups
	if len(by) == 0 {
		if c.Flags().Changed("min-rows") {
			return usage("--min-rows is for groups of rows, and there are none; pass --group COLUMN")
		}
		return nil
	}
	switch once := f.files.once(by...); {
	case once != "":
		return about(usage("--group %s: it is read once per set, and %s can be read only once; name a file", once, once), once)
	case f.scaled:
		return usage("--temperature-scaled does not go with --group; leave one of them out")
	case slices.Contains(by, f.model.column) && f.model.column != "":
		return usage("--group %s: the models of --model are what is compared; remove it from --group", f.model.column)
	case c.Flags().Changed("horizon"):
		return usage("--horizon and --group are both given: the Diebold-Mariano test is over all rows in time order; leave one of them out")
	}
	j.also = groupMetrics
	return nil
}

// groupMetrics lists the metrics that are compared within groups, separated by commas; "" for forecasts, whose requested metrics are all compared.
func groupMetrics(of eval.Shape) string {
	switch {
	case !of.HasClasses():
		return ""
	case of.Classes == 1:
		return "nll,brier,accuracy,bias"
	}
	return "nll,brier,accuracy"
}

// groupNames is a reader whose rows are in groups: the columns that group them, and the values of a group.
type groupNames interface {
	GroupColumns() []string
	Group(i int32) []string
}

// groupBy groups the rows of a comparison.
func (f *compareRun) groupBy(n *compared.Comparison, sets []*opened) error {
	var columns []string
	readers, skip := make([]groupNames, len(sets)), 0
	if f.model.column != "" {
		skip = 1 // the model's name
	}
	for i, s := range sets {
		if s.columns != nil { // of losses by row, which have no groups of their own
			continue
		}
		r, ok := s.r.(groupNames)
		if !ok {
			return usage("--group: %s has no groups of rows; leave it out", f.files.calls(s.paths))
		}
		if readers[i] = r; columns == nil {
			columns = r.GroupColumns()[skip:]
		}
	}
	n.GroupValues = func(model int, group int32) []string { return readers[model].Group(group)[skip:] }
	if err := n.GroupBy(columns); err != nil {
		return usage("--group: %v", err)
	}
	return nil
}
