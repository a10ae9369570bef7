package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// groupLifeCase is a set of rows of survival in groups of equal size. Two models
// are equally good in each row, by the Brier score at the times 1 and 2.
type groupLifeCase struct {
	groups, rows int
	logit        float64 // of the event by time 2
	censored     float64 // mean time of censoring
	said         string
	worse        int // a group where B has noise; -1 for none
}

var groupLifeCases = []groupLifeCase{
	{50, 100, 0, math.Inf(1), "50% events by then, none censored", -1},
	{50, 100, 0, 2.5, "50% events by then, half of the rest censored", -1},
	{50, 300, -2.4, 2.5, "10% events by then, half of the rest censored", -1},
	{50, 60, -3.4, math.Inf(1), "4% events by then, none censored", -1},
	{50, 60, -3.4, 2.5, "4% events by then, half of the rest censored", -1},
	{50, 60, -3.4, 1, "4% events by then, most of the rest censored", -1},
	{50, 400, 0, 2.5, "50% events by then, half of the rest censored, one group where B has more noise", 7},
}

var groupLifeMetrics = "brier_ipcw(horizon=1),brier_ipcw(horizon=2),brier_integrated,auroc_ipcw(horizon=2),concordance(horizon=2)"

// printGroupLives prints in how many sets of survival some group is found to differ.
func printGroupLives(w io.Writer, runs, threads int) error {
	fmt.Fprintf(w, "Share of %d sets of survival in which one of two models is found to be better for some group, by Holm's method.\n\n", runs)
	fmt.Fprintln(w, "| groups | `brier_ipcw` by 1 | `brier_ipcw` by 2 | `brier_integrated` | `auroc_ipcw` | `concordance` |\n| --- | ---: | ---: | ---: | ---: | ---: |")
	for i := range groupLifeCases {
		c := &groupLifeCases[i]
		var s [5]float64
		if err := sharesOf(s[:], runs, threads, 31, c.run); err != nil {
			return err
		}
		fmt.Fprintf(w, "| %d groups of %d rows, %s |", c.groups, c.rows, c.said)
		for _, v := range s {
			fmt.Fprintf(w, " %.3f |", v)
		}
		fmt.Fprintln(w)
	}
	return nil
}

// row draws what two models say of a row by both times, when it was last seen, and the event.
func (c *groupLifeCase) row(r *rand.Rand, group int, a, b []float64) {
	by := 0.3
	if group%2 == 0 {
		by = -by
	}
	z := c.logit + r.NormFloat64()
	x, y := z+by+0.3*r.NormFloat64(), z-by+0.3*r.NormFloat64()
	if group == c.worse {
		x = z
		y = z + 1.5*r.NormFloat64()
	}
	var mean [2]float64
	for t := range mean {
		a[t], b[t] = 1/(1+math.Exp(-x+float64(1-t))), 1/(1+math.Exp(-y+float64(1-t)))
		if mean[t] = (a[t] + b[t]) / 2; group == c.worse {
			mean[t] = a[t]
		}
	}
	u, time := r.Float64(), 3.0
	switch {
	case u < mean[0]:
		time = 1 - u/mean[0] // above 0
	case u < mean[1]:
		time = 2 - (u-mean[0])/(mean[1]-mean[0])
	}
	gone, event := r.ExpFloat64()*c.censored, 1.0
	if gone < time {
		time, event = gone, 0
	}
	for _, v := range [][]float64{a, b} {
		v[2], v[3] = math.Max(time, 1e-9), event
	}
}

// run draws a set, and reports by which metrics some group is found to differ.
func (c *groupLifeCase) run(r *rand.Rand) ([]bool, error) {
	const columns = 4
	n := c.groups * c.rows
	spec := eval.Spec{Classes: columns, Kind: metrics.Survival, Times: []float64{1, 2}}
	var err error
	if spec.Metrics, err = eval.ParseMetrics(groupLifeMetrics, spec.Shape()); err != nil {
		return nil, err
	}
	both, err := compared.New(spec, []string{"a", "b"}, "")
	if err == nil {
		err = both.GroupBy([]string{"group"})
	}
	if err != nil {
		return nil, err
	}
	both.GroupValues = func(_ int, g int32) []string { return []string{strconv.Itoa(int(g))} }
	var l [2]metrics.Chunk
	for m := range l {
		l[m].Predictions = metrics.Predictions{Kind: metrics.Survival, Scores: metrics.Scores{F64: make([]float64, n*columns), Rows: n, Classes: columns}}
		l[m].Groups = make([]int32, n)
	}
	for i := range n {
		g := i % c.groups
		c.row(r, g, l[0].F64[i*columns:(i+1)*columns], l[1].F64[i*columns:(i+1)*columns])
		l[0].Groups[i], l[1].Groups[i] = int32(g), int32(g)
	}
	if err := both.AddSources([]metrics.Source{&oneChunk{&l[0]}, &oneChunk{&l[1]}}, &metrics.Options{Threads: 1}); err != nil {
		return nil, err
	}
	d := both.GroupDifferences(compared.GroupAnswers{})
	found := make([]bool, len(d.Metrics))
	for k := range found {
		found[k] = d.Count(k, 0, compared.Better)+d.Count(k, 0, compared.Worse) > 0
	}
	return found, nil
}
