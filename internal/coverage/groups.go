package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// groupCase is a set of rows in groups of equal size.
type groupCase struct {
	name         string
	groups, rows int
	score        func(r *rand.Rand) float64
	off          func(group int, p float64) float64 // the true probability
}

func right(_ int, p float64) float64 { return p }

func uniform(most float64) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return most * r.Float64() }
}

var groupCases = []groupCase{
	{"50 groups of 100 rows, 50% events", 50, 100, uniform(1), right},
	{"50 groups of 100 rows, 2% events", 50, 100, uniform(0.04), right},
	{"50 groups of 100 rows, 2% events, a few scores of 50%", 50, 100, func(r *rand.Rand) float64 {
		if r.Float64() < 0.02 {
			return 0.5
		}
		return 0.02 * r.Float64()
	}, right},
	{"50 groups of 2,000 rows, 2% events", 50, 2000, uniform(0.04), right},
	{"50 groups of 100 rows, 98% events", 50, 100, func(r *rand.Rand) float64 { return 1 - 0.04*r.Float64() }, right},
	{"2,000 groups of 40 rows, 5% events", 2000, 40, uniform(0.1), right},
	{"50 groups of 2,000 rows, 2% events, one group with half as many", 50, 2000, uniform(0.04), func(g int, p float64) float64 {
		if g == 7 {
			return p / 2
		}
		return p
	}},
	{"50 groups of 400 rows, 50% events, one group with odds of 1.6 times", 50, 400, uniform(1), func(g int, p float64) float64 {
		if g == 7 {
			return 1.6 * p / (1 - p + 1.6*p)
		}
		return p
	}},
	{"50 groups of 400 rows, 50% events, one group whose logits are twice too large", 50, 400, uniform(1), func(g int, p float64) float64 {
		if g == 7 {
			return math.Sqrt(p) / (math.Sqrt(p) + math.Sqrt(1-p))
		}
		return p
	}},
}

// printGroups prints in how many sets some group is found to be off.
func printGroups(w io.Writer, runs, threads int) error {
	fmt.Fprintf(w, "Share of %d sets in which some group is found to be off.\n\n| groups | Holm | Benjamini and Hochberg |\n| --- | ---: | ---: |\n", runs)
	for i := range groupCases {
		shares, err := groupCases[i].shares(runs, threads)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %.3f | %.3f |\n", groupCases[i].name, shares[0], shares[1])
	}
	return nil
}

// shares returns the shares of sets by the two adjustments.
func (c *groupCase) shares(runs, threads int) (s [2]float64, err error) {
	err = sharesOf(s[:], runs, threads, 23, func(r *rand.Rand) ([]bool, error) {
		off, err := c.run(r)
		return off[:], err
	})
	return s, err
}

// sharesOf writes the shares of runs in which each of len(s) answers is true. A run's random numbers depend on its number and on the seed alone.
func sharesOf(s []float64, runs, threads int, seed uint64, run func(*rand.Rand) ([]bool, error)) error {
	counts := make([][]int, threads)
	errs := make([]error, threads)
	var all sync.WaitGroup
	for t := range threads {
		counts[t] = make([]int, len(s))
		all.Go(func() {
			for i := t; i < runs && errs[t] == nil; i += threads {
				var found []bool
				found, errs[t] = run(rand.New(rand.NewPCG(uint64(first+i), seed)))
				for k, yes := range found {
					if yes {
						counts[t][k]++
					}
				}
			}
		})
	}
	all.Wait()
	for t := range threads {
		if errs[t] != nil {
			return errs[t]
		}
		for k := range s {
			s[k] += float64(counts[t][k]) / float64(runs)
		}
	}
	return nil
}

// run draws one set, and reports whether some group is off.
func (c *groupCase) run(r *rand.Rand) (off [2]bool, err error) {
	n := c.groups * c.rows
	k := metrics.Chunk{Predictions: metrics.Predictions{Scores: metrics.Scores{F64: make([]float64, n), Rows: n, Classes: 1}, Labels: make([]int32, n)}, Groups: make([]int32, n)}
	for i := range n {
		g := i % c.groups
		p := c.score(r)
		k.F64[i], k.Groups[i] = p, int32(g)
		if r.Float64() < c.off(g, p) {
			k.Labels[i] = 1
		}
	}
	spec := eval.Spec{Classes: 1}
	if spec.Metrics, err = eval.ParseMetrics("nll", spec.Shape()); err != nil {
		return off, err
	}
	e, err := grouped.New(spec, []string{"group"})
	if err != nil {
		return off, err
	}
	if err := e.AddSource(&oneChunk{&k}, func(g int32) []string { return []string{strconv.Itoa(int(g))} }, &metrics.Options{Threads: 1}); err != nil {
		return off, err
	}
	for i, a := range []grouped.Adjustment{grouped.Holm, grouped.BH} {
		off[i] = e.Tests(grouped.TestOptions{Adjust: a}).Off > 0
	}
	return off, nil
}

// oneChunk is a source of one chunk.
type oneChunk struct{ c *metrics.Chunk }

func (s *oneChunk) Next() (c *metrics.Chunk, err error) {
	if c, s.c = s.c, nil; c == nil {
		err = io.EOF
	}
	return c, err
}
