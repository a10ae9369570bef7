package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/report/ci"
)

// completing reports whether the command line is a shell's request for completions.
func completing(c *cobra.Command) bool { return strings.HasPrefix(c.Name(), cobra.ShellCompRequestCmd) }

// completeFlags registers the completions of all flags below c. It runs only for completion requests, since cobra keeps
// them, with all commands, as long as the process runs.
func completeFlags(c *cobra.Command) {
	fixed := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	flags := map[string]cobra.CompletionFunc{
		"metrics": completeMetrics, "input": fixed("probs", "logits", "logprobs", "dirichlet"), "task": fixed(tasks...),
		"like": fixed("um", "tfp", "torchmetrics", "guo", "blog"), "on-invalid": fixed("error", "drop"),
		"format": fixed("table", "markdown", "csv", "json"), "adjust": fixed("holm", "bh"), "plot-y": fixed("accuracy", "frequency", "gap"), "plot-kind": fixed(kindNames()...), "report": completeReport,
	}
	if c.Name() == "score" {
		flags["metrics"] = fixed(append([]string{"default", "all"}, rowNames(metrics.Probs)...)...)
		flags["output"] = cobra.FixedCompletions([]string{"npy", "npz", "csv"}, cobra.ShellCompDirectiveFilterFileExt)
	}
	for name, complete := range flags {
		if c.Flags().Lookup(name) == nil {
			continue
		}
		if err := c.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err)
		}
	}
	for _, sub := range c.Commands() {
		completeFlags(sub)
	}
}

// kindNames are the kinds of pictures.
func kindNames() []string {
	kinds := make([]string, len(plotKinds))
	for i, k := range plotKinds {
		kinds[i] = k.name
	}
	return kinds
}

// completeMetrics completes the last name of a list; the shell replaces the whole list.
func completeMetrics(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	if strings.Count(before, "(") > strings.Count(before, ")") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	l := []string{before + "default", before + "all"}
	for _, d := range eval.Descriptors() {
		l = append(l, before+d.Name+"\t"+d.Meaning)
	}
	return l, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeReport completes the form of a report; the shell completes the file.
func completeReport(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	if strings.Contains(typed[len(before):], "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var l []string
	for _, f := range ci.Forms() {
		l = append(l, before+string(f)+"=")
	}
	return l, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
