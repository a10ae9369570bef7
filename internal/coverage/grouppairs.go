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

// groupPairCase is a set of rows in groups of equal size that two models judge.
type groupPairCase struct {
	name         string
	groups, rows int
	classes      int
	equal        bool // the models are equally good in every group
	// row draws what two models say of a row of a group, and its outcome. Of a binary task both models are equally good by the metric.
	row func(r *rand.Rand, group int, metric string, a, b []float64) int32
}

// aside draws two scores around a logit, one above the other on average, by turns of the groups, and an outcome with which both models
// expect the same.
func aside(logit, spread, shift, noise float64) func(*rand.Rand, int, string, []float64, []float64) int32 {
	return func(r *rand.Rand, group int, metric string, a, b []float64) int32 {
		z, by := logit+spread*r.NormFloat64(), shift
		if group%2 == 0 {
			by = -shift
		}
		p, q := 1/(1+math.Exp(-z-by-noise*r.NormFloat64())), 1/(1+math.Exp(-z+by-noise*r.NormFloat64()))
		a[0], b[0] = p, q
		at := (p + q) / 2
		if metric == "nll" {
			none, event := math.Log1p(-p)-math.Log1p(-q), math.Log(p)-math.Log(q)
			at = -none / (event - none)
		}
		if r.Float64() < at {
			return 1
		}
		return 0
	}
}

// around draws logits of five classes and the outcome by their softmax; both models have noise of their own.
func around(size, noise float64, worse int) func(*rand.Rand, int, string, []float64, []float64) int32 {
	return func(r *rand.Rand, group int, _ string, a, b []float64) int32 {
		var z, x [5]float64
		p := make([]float64, len(z))
		for i := range z {
			z[i] = size * r.NormFloat64()
		}
		for m, to := range [][]float64{a, b} {
			s := noise
			if m == 1 && group == worse {
				s *= 4
			}
			for i := range z {
				x[i] = z[i] + s*r.NormFloat64()
			}
			softmax(to, x[:], 1)
		}
		softmax(p, z[:], 1)
		return pick(r, p)
	}
}

var groupPairCases = []groupPairCase{
	{"50 groups of 100 rows, 50% events", 50, 100, 1, true, aside(0, 1, 0.3, 0.3)},
	{"50 groups of 300 rows, 40% events", 50, 300, 1, true, aside(-0.4, 1, 0.3, 0.3)},
	{"50 groups of 300 rows, 10% events", 50, 300, 1, true, aside(-2.4, 1, 0.3, 0.3)},
	{"50 groups of 60 rows, 4% events", 50, 60, 1, true, aside(-3.6, 1, 0.3, 0.3)},
	{"50 groups of 60 rows, 1% events", 50, 60, 1, true, aside(-5, 1, 0.3, 0)},
	{"50 groups of 100 rows, 5 classes, 70% right", 50, 100, 5, true, around(2, 0.4, -1)},
	{"50 groups of 100 rows, 5 classes, 95% right", 50, 100, 5, true, around(12, 1, -1)},
	{"50 groups of 400 rows, 5 classes, one group where B has four times the noise", 50, 400, 5, false, around(2, 0.3, 7)},
}

// printGroupPairs prints in how many sets some group is found to differ.
func printGroupPairs(w io.Writer, runs, threads int) error {
	fmt.Fprintf(w, "Share of %d sets in which one of two models is found to be better for some group.\n\n| groups | `nll`, Holm | `nll`, Benjamini and Hochberg | `brier`, Holm |\n| --- | ---: | ---: | ---: |\n", runs)
	for i := range groupPairCases {
		shares, err := groupPairCases[i].shares(runs, threads)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %.3f | %.3f | %.3f |\n", groupPairCases[i].name, shares[0], shares[1], shares[2])
	}
	return nil
}

// shares returns the shares of sets.
func (c *groupPairCase) shares(runs, threads int) (s [3]float64, err error) {
	err = sharesOf(s[:], runs, threads, 29, func(r *rand.Rand) ([]bool, error) {
		found, err := c.run(r)
		return found[:], err
	})
	return s, err
}

// run draws a set for each metric, and reports whether some group is found to differ.
func (c *groupPairCase) run(r *rand.Rand) (found [3]bool, err error) {
	for k, metric := range []string{"nll", "brier"} {
		n := c.groups * c.rows
		spec := eval.Spec{Classes: c.classes}
		if spec.Metrics, err = eval.ParseMetrics(metric, spec.Shape()); err != nil {
			return found, err
		}
		both, err := compared.New(spec, []string{"a", "b"}, "")
		if err == nil {
			err = both.GroupBy([]string{"group"})
		}
		if err != nil {
			return found, err
		}
		both.GroupValues = func(_ int, g int32) []string { return []string{strconv.Itoa(int(g))} }
		var l [2]metrics.Chunk
		for m := range l {
			l[m].Predictions = metrics.Predictions{Scores: metrics.Scores{F64: make([]float64, n*c.classes), Rows: n, Classes: c.classes}, Labels: make([]int32, n)}
			l[m].Groups = make([]int32, n)
		}
		for i := range n {
			g := i % c.groups
			y := c.row(r, g, metric, l[0].F64[i*c.classes:(i+1)*c.classes], l[1].F64[i*c.classes:(i+1)*c.classes])
			for m := range l {
				l[m].Labels[i], l[m].Groups[i] = y, int32(g)
			}
		}
		if err := both.AddSources([]metrics.Source{&oneChunk{&l[0]}, &oneChunk{&l[1]}}, &metrics.Options{Threads: 1}); err != nil {
			return found, err
		}
		for _, how := range []compared.Adjust{compared.Holm, compared.BH} {
			d := both.GroupDifferences(compared.GroupAnswers{Adjust: how})
			is := d.Count(0, 0, compared.Better)+d.Count(0, 0, compared.Worse) > 0
			switch {
			case how == compared.BH && k == 0:
				found[1] = is
			case how == compared.Holm:
				found[2*k] = is
			}
		}
	}
	return found, nil
}
