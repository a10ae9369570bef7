package main

import (
	"errors"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/eval/grouped"
	"github.com/candor-go/candor/metrics/eval/multilabel"
	"github.com/candor-go/candor/metrics/eval/sliced"
	"github.com/spf13/cobra"
)

func subtractCommand() *cobra.Command {
	var o output
	var to, maxMemory string
	var files sources
	c := &cobra.Command{
		Use:   "subtract STATE SHARD...",
		Short: "Take the rows of shards out of a merged state",
		Long: `Take the rows of shards out of the state of all rows: a shard that was wrong, or counted twice. The document, and the state
that -o writes, equal those of the other rows alone, to the byte. Groups, slices, several labels and comparisons are no exception.

If the scores of the first state are on a grid, as more than 262,144 distinct scores are, what is left stays on it, and the
command says so. A warning about probabilities whose sums are not 1 loses the smallest and the largest sum, which are no longer
known. Rows that the first state does not have are an error, but not every such row can be noticed.

Rows cannot be taken out of metrics that keep more than counts and sums, such as ace, tace and retention_nll, out of clusters, out
of the groups of a comparison, or out of more than 1,000 groups if fewer are left: merge the states of the other shards instead.
"-" is standard input. The other flags are those of candor merge.`,
		Example: `  candor subtract all.state shard-7.state -o rest.state
  candor subtract week.state monday.state tuesday.state --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("name two or more states: that of all rows, and those to take out of it")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(c); err != nil {
				return err
			}
			r, err := o.openStates(c, &files, to, maxMemory, args)
			if err != nil {
				return err
			}
			defer stayWithin(r.memory)()
			b, mark, err := r.next(args[0])
			if err != nil {
				return err
			}
			r.shards.sum, r.shards.taken = mark, true
			var rest *eval.Evaluation
			var groups *grouped.Evaluation
			switch {
			case strings.HasPrefix(string(b), compared.Magic):
				how, err := adjustment(o.adjust)
				if err != nil {
					return err
				}
				return mergeComparisons(c, &o, to, args, b, r, nil, how)
			case strings.HasPrefix(string(b), multilabel.Magic):
				return mergeLabels(c, &o, to, args, b, r)
			case strings.HasPrefix(string(b), sliced.Magic):
				return mergeSlices(c, &o, to, args, b, r)
			case strings.HasPrefix(string(b), groupsMagic):
				if groups, err = o.mergeGroups(c, r, args, b); err == nil {
					rest = groups.Whole()
				}
			default:
				rest, err = o.mergePlain(c, r, args, b)
			}
			if err != nil {
				return err
			}
			if err := r.shards.write(c, to, stateOf(rest, groups)); err != nil {
				return err
			}
			if done, err := r.shards.empty(c, files.calls(args), rest.Audit.Rows); done || err != nil {
				return err
			}
			return o.write(c, rest, groups, "")
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringVarP(&to, "output", "o", "", "write the state of the rows that are left to `FILE`")
	files.flags(c)
	o.flags(c)
	memoryFlag(c, &maxMemory)
	return c
}

// notTaken returns the error for a state whose rows cannot be taken out of the first one.
func notTaken(first, other string, err error) error {
	switch {
	case errors.Is(err, metrics.ErrMissing):
		return badAt(place{File: other, Remedy: "name the state of all rows first, and then what has been merged into it"}, "%s out of %s: %w", other, first, metrics.ErrMissing)
	case errors.Is(err, eval.ErrKept):
		return badAt(place{File: other, Remedy: "merge the states of the other shards"}, "%s out of %s: %w", other, first, err)
	}
	return unlike(first, other, err)
}
