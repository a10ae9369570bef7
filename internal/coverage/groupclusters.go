package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// clusteredGroups is a set of rows in clusters, each of which is in one of 50 groups. The rows of a cluster have equal scores, and
// outcomes that are alike: of the normal numbers that decide them a share is common.
type clusteredGroups struct {
	name   string
	common float64 // that share: correlation of the normal numbers
	score  func(r *rand.Rand) float64
	size   func(r *rand.Rand) int // rows of a cluster
	off    func(group int, p float64) float64
}

func rowsOf(n int) func(*rand.Rand) int { return func(*rand.Rand) int { return n } }

func skewed(r *rand.Rand) int { return int(math.Ceil(5 * math.Exp(r.NormFloat64()))) }

var clusteredCases = []clusteredGroups{
	{"10 rows alike", 1, uniform(1), rowsOf(10), right},
	{"10 rows, correlation 0.5", 0.5, uniform(1), rowsOf(10), right},
	{"10 rows, correlation 0.5, 5% events", 0.5, uniform(0.1), rowsOf(10), right},
	{"lognormal numbers of rows, correlation 0.5", 0.5, uniform(1), skewed, right},
	{"lognormal numbers of rows, correlation 0.5, 5% events", 0.5, uniform(0.1), skewed, right},
	{"independent rows", 0, uniform(1), rowsOf(10), right},
	{"10 rows, correlation 0.5, one group with odds of 4 times", 0.5, uniform(1), rowsOf(10), func(g int, p float64) float64 {
		if g == 7 {
			return 4 * p / (1 - p + 4*p)
		}
		return p
	}},
}

// printClusteredGroups prints in how many sets some of 50 groups is found to be off, by the number of clusters in each, and in brackets if rows
// are taken as independent.
func printClusteredGroups(w io.Writer, runs, threads int, numbers []int) error {
	fmt.Fprintf(w, "Share of %d sets of 50 groups in which some group is found to be off, by Holm's method, by clusters in each group; in brackets if rows are taken as independent.\n\n| rows of a cluster |", runs)
	line := "\n| --- |"
	for _, n := range numbers {
		fmt.Fprintf(w, " %d |", n)
		line += " ---: |"
	}
	fmt.Fprintln(w, line)
	for i := range clusteredCases {
		c := &clusteredCases[i]
		row := "| " + c.name + " |"
		for _, n := range numbers {
			var s [2]float64
			counts := make(chan [2]bool, runs)
			if err := each(runs, threads, func(run int) error {
				off, err := c.run(rand.New(rand.NewPCG(uint64(run), 29)), n)
				counts <- off
				return err
			}); err != nil {
				return err
			}
			close(counts)
			for off := range counts {
				for k := range s {
					if off[k] {
						s[k] += 1 / float64(runs)
					}
				}
			}
			row += fmt.Sprintf(" %.3f (%.2f) |", s[0], s[1])
		}
		fmt.Fprintln(w, row)
	}
	return nil
}

// run draws one set of groups of n clusters, and reports whether some group is off: by clusters, and with rows taken as independent.
func (c *clusteredGroups) run(r *rand.Rand, n int) (off [2]bool, err error) {
	const groups = 50
	k := metrics.Chunk{}
	for cluster := range groups * n {
		g := cluster % groups
		p, shared := c.score(r), r.NormFloat64()
		for range c.size(r) {
			u := math.Erfc(-(float64(math.Sqrt(c.common)*shared)+float64(math.Sqrt(1-c.common)*r.NormFloat64()))/math.Sqrt2) / 2
			y := int32(0)
			if u < c.off(g, p) {
				y = 1
			}
			k.F64, k.Labels = append(k.F64, p), append(k.Labels, y)
			k.Groups, k.Clusters = append(k.Groups, int32(g)), append(k.Clusters, int32(cluster))
		}
	}
	k.Rows, k.Classes = len(k.Labels), 1
	for i, cluster := range []string{"cluster", ""} {
		spec := eval.Spec{Classes: 1, Cluster: cluster}
		if spec.Metrics, err = eval.ParseMetrics("nll", spec.Shape()); err != nil {
			return off, err
		}
		e, err := grouped.New(spec, []string{"group"})
		if err != nil {
			return off, err
		}
		one := k
		if err := e.AddSource(&oneChunk{&one}, func(g int32) []string { return []string{strconv.Itoa(int(g))} }, &metrics.Options{Threads: 1}); err != nil {
			return off, err
		}
		off[i] = e.Tests(grouped.TestOptions{}).Off > 0
	}
	return off, nil
}
