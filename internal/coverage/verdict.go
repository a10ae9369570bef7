package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// verdictCase is a set of rows in clusters. The rows of a cluster have equal scores, and outcomes that are alike.
type verdictCase struct {
	name   string
	common float64 // correlation of the normal numbers that decide the outcomes of a cluster's rows
	score  func(r *rand.Rand) float64
	size   func(r *rand.Rand) int // rows of a cluster
	odds   float64                // of the events, over those that the scores say: 1 if they are right
}

var verdictCases = []verdictCase{
	{"10 rows alike", 1, uniform(1), rowsOf(10), 1},
	{"10 rows, correlation 0.5", 0.5, uniform(1), rowsOf(10), 1},
	{"10 rows alike, 5% events", 1, uniform(0.1), rowsOf(10), 1},
	{"10 rows, correlation 0.5, 5% events", 0.5, uniform(0.1), rowsOf(10), 1},
	{"10 rows, correlation 0.5, 20% events", 0.5, uniform(0.4), rowsOf(10), 1},
	{"10 rows, correlation 0.1, 5% events", 0.1, uniform(0.1), rowsOf(10), 1},
	{"100 rows, correlation 0.1, 5% events", 0.1, uniform(0.1), rowsOf(100), 1},
	{"10 rows, correlation 0.5, 1% events", 0.5, uniform(0.02), rowsOf(10), 1},
	{"lognormal numbers of rows, correlation 0.5", 0.5, uniform(1), skewed, 1},
	{"lognormal numbers of rows, correlation 0.5, 5% events", 0.5, uniform(0.1), skewed, 1},
	{"independent rows, 5% events", 0, uniform(0.1), rowsOf(10), 1},
	{"10 rows, correlation 0.5, odds of twice as much", 0.5, uniform(1), rowsOf(10), 2},
	{"10 rows, correlation 0.5, 5% events, odds of twice as much", 0.5, uniform(0.1), rowsOf(10), 2},
	{"100 rows, correlation 0.1, 5% events, odds of twice as much", 0.1, uniform(0.1), rowsOf(100), 2},
}

// printVerdicts prints in how many sets of clusters the verdict finds the mean off, and in brackets in how many it finds any fault.
func printVerdicts(w io.Writer, runs, threads int, numbers []int) error {
	fmt.Fprintf(w, "Share of %d sets of clusters of rows whose verdict finds the scores off on average, by the number of clusters, and in brackets off on average or in a bin.\n\n| rows of a cluster |", runs)
	line := "\n| --- |"
	for _, n := range numbers {
		fmt.Fprintf(w, " %d |", n)
		line += " ---: |"
	}
	fmt.Fprintln(w, line)
	for i := range verdictCases {
		c := &verdictCases[i]
		if !strings.Contains(c.name, onlyLaw) {
			continue
		}
		row := "| " + c.name + " |"
		for _, n := range numbers {
			mean, any, err := c.shares(n, runs, threads)
			if err != nil {
				return err
			}
			row += fmt.Sprintf(" %.3f (%.3f) |", mean, any)
		}
		fmt.Fprintln(w, row)
	}
	return nil
}

// shares returns the shares of sets of n clusters that are found to be off on average, and to be off in any way.
func (c *verdictCase) shares(n, runs, threads int) (mean, any float64, err error) {
	var side, all atomic.Int64
	err = each(runs, threads, func(run int) error {
		j, err := c.judge(rand.New(rand.NewPCG(uint64(run), 31)), n)
		if err != nil {
			return err
		}
		if j.Side != 0 {
			side.Add(1)
		}
		if j.Side != 0 || len(j.Off) > 0 {
			all.Add(1)
		}
		return nil
	})
	return float64(side.Load()) / float64(runs), float64(all.Load()) / float64(runs), err
}

// judge draws one set of n clusters, and returns its judgement.
func (c *verdictCase) judge(r *rand.Rand, n int) (*eval.Judgement, error) {
	k := metrics.Chunk{}
	for cluster := range n {
		p, shared := c.score(r), r.NormFloat64()
		q := c.odds * p / (1 - p + float64(c.odds*p))
		for range c.size(r) {
			u := math.Erfc(-(float64(math.Sqrt(c.common)*shared)+float64(math.Sqrt(1-c.common)*r.NormFloat64()))/math.Sqrt2) / 2
			y := int32(0)
			if u < q {
				y = 1
			}
			k.F64, k.Labels, k.Clusters = append(k.F64, p), append(k.Labels, y), append(k.Clusters, int32(cluster))
		}
	}
	k.Rows, k.Classes = len(k.Labels), 1
	spec := eval.Spec{Classes: 1, Cluster: "cluster"}
	var err error
	if spec.Metrics, err = eval.ParseMetrics("nll", spec.Shape()); err != nil {
		return nil, err
	}
	e, err := eval.New(spec)
	if err != nil {
		return nil, err
	}
	e.Threads = 1
	if err := e.AddSource(&oneChunk{&k}, &metrics.Options{Threads: 1}); err != nil {
		return nil, err
	}
	return e.Judge(), nil
}
