package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
	"github.com/candor-go/candor/report"
	"github.com/spf13/cobra"
)

// gates holds what failed gates say.
type gates []string

func (g gates) Error() string { return "gate failed: " + strings.Join(g, "; gate failed: ") }

// failed returns an error if any gate failed.
func failed(l []report.Outcome) error {
	var g gates
	for _, o := range l {
		if o.Failed {
			g = append(g, o.Text)
		}
	}
	if len(g) == 0 {
		return nil
	}
	return &failure{exitGate, "gate", place{}, g}
}

// parseGates reads the conditions of --fail-if and --require.
func (o *output) parseGates(c *cobra.Command) error {
	o.gates = nil
	for _, l := range []struct {
		conditions []string
		parse      func(string) (report.Gate, error)
	}{{o.failIf, report.ParseGate}, {o.require, report.ParseRequirement}} {
		for _, s := range l.conditions {
			g, err := l.parse(s)
			if err != nil {
				return usage("%v", err)
			}
			o.gates = append(o.gates, g)
			if why := g.Warning(); why != "" {
				warn(c, "%s", why)
			}
		}
	}
	if c.Flags().Changed("min-rows") && o.minRows < 1 {
		return usage("--min-rows is %d; it is a positive number of rows", o.minRows)
	}
	return nil
}

// flagOf returns the flag that a gate came with.
func flagOf(g report.Gate) string {
	if g.Required() {
		return "--require"
	}
	return "--fail-if"
}

// gatesOfGroups returns an error if gates or tests are of groups and there are none.
func (o *output) gatesOfGroups(c *cobra.Command, groups bool) error {
	for _, f := range []string{"min-rows", "adjust"} {
		if !groups && !o.sliced && c.Flags().Changed(f) {
			return usage("--%s is for groups or slices of rows, and there are none; evaluate with --group or --slice-by, or leave it out", f)
		}
	}
	var err error
	if o.adjustment, err = grouped.ParseAdjustment(o.adjust); err != nil {
		return noSuch("--adjust", o.adjust, "holm", "bh")
	}
	for _, g := range o.gates {
		if g.Scope() == report.Delta {
			return usage("%s %q: delta. is for differences, which candor compare computes; leave it out", flagOf(g), g)
		}
		if g.Scope() == report.WorstGroup && !groups {
			return usage("%s %q: there are no groups of rows; evaluate with --group, or leave worst_group. out", flagOf(g), g)
		}
	}
	return nil
}

// gatesFit returns an error if a state lacks what gates look at.
func (o *output) gatesFit(c *cobra.Command, has []eval.Metric, of eval.Shape, grouped bool) error {
	for _, g := range o.gates {
		if why := g.Missing(has, of); why != "" {
			return usage("%s: %v", flagOf(g), errors.New(why))
		}
	}
	return o.gatesOfGroups(c, grouped)
}

// withGated adds the metrics that gates refer to. One that does not apply to these predictions is an error.
func withGated(l []eval.Metric, gates []report.Gate, of eval.Shape) ([]eval.Metric, error) {
	for _, g := range gates {
		m, err := g.Metric(of)
		if err != nil {
			return nil, usage("%s: %v", flagOf(g), err)
		}
		if !slices.ContainsFunc(l, func(o eval.Metric) bool { return o.String() == m.String() }) {
			l = append(l, m)
		}
	}
	return l, nil
}

// outcomes checks the gates.
func (o *output) outcomes(check func(report.Gate) report.Outcome) []report.Outcome {
	l := make([]report.Outcome, len(o.gates))
	for i, g := range o.gates {
		l[i] = check(g)
	}
	return l
}
