package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/score"
)

// decision is an outcome of acting on a calibrated score, whose mean has an interval.
type decision struct {
	name      string
	rows      int
	threshold float64
	outcomes  rank.Outcomes
	score     func(u float64) float64 // of a uniform number
}

var decisions = []decision{
	{"error rate", 100, 0.5, rank.Outcomes{FalsePositive: 1, FalseNegative: 1}, func(u float64) float64 { return u }},
	{"net benefit at 20%, a third of the rows with the event", 100, 0.2, rank.Benefit(0.2, false), func(u float64) float64 { return u * u }},
	{"net benefit at 20%, a third of the rows with the event", 2000, 0.2, rank.Benefit(0.2, false), func(u float64) float64 { return u * u }},
	{"net benefit at 5%, 3.75% of the rows with the event", 500, 0.05, rank.Benefit(0.05, false), func(u float64) float64 { return 0.15 * u * u * u }},
	{"net benefit at 5% above acting on every row, 3.75% of the rows with the event", 500, 0.05, rank.Benefit(0.05, true), func(u float64) float64 { return 0.15 * u * u * u }},
	{"a missed event costs 49 false alarms, 3.3% of the rows with the event", 500, 0.02, rank.Outcomes{FalsePositive: 1, FalseNegative: 49}, func(u float64) float64 { return 0.1 * u * u }},
	{"a missed event costs 49 false alarms, 3.3% of the rows with the event", 10_000, 0.02, rank.Outcomes{FalsePositive: 1, FalseNegative: 49}, func(u float64) float64 { return 0.1 * u * u }},
	{"a full cost matrix", 200, 0.6, rank.Outcomes{TruePositive: 1, FalsePositive: 4, FalseNegative: 3, TrueNegative: 1}, func(u float64) float64 { return u }},
}

// mean is the mean outcome of all scores.
func (d *decision) mean() float64 {
	const grid = 200_000
	sum := 0.0
	for i := range grid {
		p := d.score((float64(i) + 0.5) / grid)
		if p >= d.threshold {
			sum += float64(p*d.outcomes.TruePositive) + float64((1-p)*d.outcomes.FalsePositive)
		} else {
			sum += float64(p*d.outcomes.FalseNegative) + float64((1-p)*d.outcomes.TrueNegative)
		}
	}
	return sum / grid
}

// cover returns the share of sets whose interval holds the mean.
func (d *decision) cover(runs, threads int) (float64, error) {
	want := d.mean()
	var held atomic.Int64
	err := each(runs, threads, func(run int) error {
		r := rand.New(rand.NewPCG(uint64(d.rows), uint64(run)))
		k, err := ranked(d.rows, func() (float64, float64) { p := d.score(r.Float64()); return p, p }, r)
		if err != nil {
			return err
		}
		if i := k.OutcomeInterval(d.threshold, d.outcomes, 0.95); i.Low <= want && want <= i.High {
			held.Add(1)
		}
		return nil
	})
	return float64(held.Load()) / float64(runs), err
}

// ranked draws rows by their score and the probability of their event.
func ranked(n int, row func() (score, chance float64), r *rand.Rand) (*rank.Ranking, error) {
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
	for i := range n {
		chance := 0.0
		if p.F64[i], chance = row(); r.Float64() < chance {
			p.Labels[i] = 1
		}
	}
	c, err := cells.New(nil)
	if err != nil {
		return nil, err
	}
	if err := metrics.NewPass(&metrics.Options{Threads: 1}, c).Add(p); err != nil {
		return nil, err
	}
	return rank.RankingOf(c), nil
}

// choices are cost matrices of several classes, with the number of rows. Probabilities are calibrated: those of a uniform point of the simplex, squared and divided by
// their sum.
var choices = []struct {
	name  string
	rows  int
	costs score.CostMatrix
}{
	{"three classes, equal costs and one decision that abstains", 100, score.CostMatrix{Classes: 3, Decisions: 4, Cost: []float64{0, 1, 1, 0.3, 1, 0, 1, 0.3, 1, 1, 0, 0.3}}},
	{"three classes in an order, costs by the distance", 100, score.CostMatrix{Classes: 3, Decisions: 3, Cost: []float64{0, 1, 2, 1, 0, 1, 2, 1, 0}}},
	{"three classes, one error costs 40 others", 500, score.CostMatrix{Classes: 3, Decisions: 3, Cost: []float64{0, 1, 1, 1, 0, 1, 40, 1, 0}}},
	{"three classes, one error costs 40 others", 10_000, score.CostMatrix{Classes: 3, Decisions: 3, Cost: []float64{0, 1, 1, 1, 0, 1, 40, 1, 0}}},
}

// point returns calibrated probabilities of three classes.
func point(p []float64, r *rand.Rand) {
	sum := 0.0
	for j := range p {
		v := -math.Log(1 - r.Float64())
		p[j] = v * v
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
}

// chosen returns the share of sets whose interval of decision_cost holds the true value of case i.
func chosen(i, runs, threads int) (float64, error) {
	c := &choices[i]
	m := &c.costs
	r, p, room := rand.New(rand.NewPCG(9, 9)), make([]float64, m.Classes), make([]float64, m.Decisions)
	want := 0.0
	const draws = 1_000_000
	for range draws {
		point(p, r)
		d := m.Decide(room, p)
		want += room[d] / draws
	}
	var held atomic.Int64
	err := each(runs, threads, func(run int) error {
		r := rand.New(rand.NewPCG(uint64(c.rows), uint64(run)))
		s := &metrics.Predictions{Labels: make([]int32, c.rows)}
		s.Rows, s.Classes, s.F64 = c.rows, m.Classes, make([]float64, c.rows*m.Classes)
		for i := range c.rows {
			row := s.F64[i*m.Classes:][:m.Classes]
			point(row, r)
			for u := r.Float64() - row[0]; u >= 0 && int(s.Labels[i]) < m.Classes-1; u -= row[s.Labels[i]] {
				s.Labels[i]++
			}
		}
		a, err := score.NewDecisionCosts(m)
		if err != nil {
			return err
		}
		if err := metrics.NewPass(&metrics.Options{Threads: 1}, a).Add(s); err != nil {
			return err
		}
		if i := a.Interval(0.95); i.Low <= want && want <= i.High {
			held.Add(1)
		}
		return nil
	})
	return float64(held.Load()) / float64(runs), err
}

// savings are scores, costs and sizes of what calibration would save.
var savings = []struct {
	name     string
	rows     []int
	outcomes rank.Outcomes
	score    func(u float64) float64 // of a uniform number
	chance   func(s float64) float64 // of the event at a score
}{
	{"calibrated, equal costs", []int{100, 2000, 20_000}, rank.Outcomes{FalsePositive: 1, FalseNegative: 1}, itself, itself},
	{"calibrated, a missed event costs 49 false alarms, 3.3% of the rows with the event", []int{500, 10_000}, rank.Outcomes{FalsePositive: 1, FalseNegative: 49}, func(u float64) float64 { return 0.1 * u * u }, itself},
	{"the event at 50% whatever the score: no threshold saves anything", []int{100, 2000, 20_000}, rank.Outcomes{FalsePositive: 1, FalseNegative: 1}, itself, func(float64) float64 { return 0.5 }},
	{"too low by 5 points, equal costs", []int{100, 2000, 20_000}, rank.Outcomes{FalsePositive: 1, FalseNegative: 1}, itself, func(s float64) float64 { return min(1, s+0.05) }},
	{"too high by 20 points, equal costs", []int{100, 2000, 20_000}, rank.Outcomes{FalsePositive: 1, FalseNegative: 1}, itself, func(s float64) float64 { return max(0, s-0.2) }},
	{"overconfident, a missed event costs 4 false alarms", []int{100, 2000, 20_000}, rank.Outcomes{FalsePositive: 1, FalseNegative: 4}, itself, func(s float64) float64 { return 0.3 + 0.4*s }},
	{"twice too high, a missed event costs 49 false alarms, 3.3% of the rows with the event", []int{500, 10_000}, rank.Outcomes{FalsePositive: 1, FalseNegative: 49}, func(u float64) float64 { return 0.2 * u * u }, func(s float64) float64 { return s / 2 }},
}

// saved returns the share of sets whose interval holds what calibration would save of case i, with that value, its mean estimate and the mean length.
func saved(i, rows, runs, threads int) (share, want, mean, length float64, err error) {
	c := &savings[i]
	const grid = 200_000
	t, sum, at, least := c.outcomes.Threshold(), 0.0, 0.0, 0.0
	for k := range grid { // thresholds rise, and the rows below turn negative
		s := c.score((float64(k) + 0.5) / grid)
		p := c.chance(s)
		sum += float64(p*(c.outcomes.FalseNegative-c.outcomes.TruePositive)) - float64((1-p)*(c.outcomes.FalsePositive-c.outcomes.TrueNegative))
		least = min(least, sum)
		if s < t {
			at = sum
		}
	}
	want = max(0, at-least) / grid
	if want < 1e-9 {
		want = 0 // what is left is rounding
	}
	estimates, lengths, held := make([]float64, runs), make([]float64, runs), make([]float64, runs)
	err = each(runs, threads, func(run int) error {
		r := rand.New(rand.NewPCG(uint64(rows), uint64(run)))
		k, err := ranked(rows, func() (float64, float64) { s := c.score(r.Float64()); return s, c.chance(s) }, r)
		if err != nil {
			return err
		}
		v := k.SavingInterval(c.outcomes, 0.95)
		if v.Low <= want && want <= v.High {
			held[run-first] = 1
		}
		estimates[run-first], _ = k.Saving(c.outcomes)
		lengths[run-first] = v.High - v.Low
		return nil
	})
	for run := range runs {
		share, mean, length = share+held[run], mean+estimates[run], length+lengths[run]
	}
	n := float64(runs)
	return share / n, want, mean / n, length / n, err
}

// promises are how often answers are right, by the score.
var promises = []struct {
	name  string
	right func(s float64) float64
}{
	{"confident rows are right more often", func(s float64) float64 { return 0.5 + s/2 }},
	{"confident rows are right less often", func(s float64) float64 { return 0.99 - 0.5*s*s }},
	{"the risk is just above the promise everywhere", func(float64) float64 { return 0.7999 }},
}

// promised returns the shares of sets in which the promise is broken, and in which there is an answer.
func promised(right func(s float64) float64, values, runs, threads int) (broken, answered float64, err error) {
	p := rank.Promise{Risk: 0.2, Confidence: 0.9, Steps: 10}
	var wrong, some atomic.Int64
	err = each(runs, threads, func(run int) error {
		r := rand.New(rand.NewPCG(uint64(values), uint64(run)))
		k, err := ranked(300, func() (float64, float64) {
			s := float64(r.IntN(values)+1) / float64(values)
			return s, right(s)
		}, r)
		if err != nil {
			return err
		}
		a := k.Promised(p)
		if a.Rows == 0 {
			return nil
		}
		some.Add(1)
		risk, all := 0.0, 0.0
		for v := 1; v <= values; v += max(1, values/4096) {
			if s := float64(v) / float64(values); s > a.Above {
				risk, all = risk+1-right(s), all+1
			}
		}
		if risk/all > p.Risk+1e-12 {
			wrong.Add(1)
		}
		return nil
	})
	return float64(wrong.Load()) / float64(runs), float64(some.Load()) / float64(runs), err
}

// printDecisions prints how often intervals of outcomes hold, and how often promised risks are kept.
func printDecisions(w io.Writer, runs, threads int) error {
	fmt.Fprintf(w, "Share of %d sets of calibrated scores whose 95%% interval of `net_benefit` or `expected_cost` holds the true value.\n\n| what | rows | share |\n| --- | ---: | ---: |\n", runs)
	for i := range decisions {
		d := &decisions[i]
		share, err := d.cover(runs, threads)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %d | %.3f |\n", d.name, d.rows, share)
	}
	fmt.Fprintf(w, "\nThe same for `decision_cost`, by a matrix of costs.\n\n| what | rows | share |\n| --- | ---: | ---: |\n")
	for i, c := range choices {
		share, err := chosen(i, runs, threads)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %d | %.3f |\n", c.name, c.rows, share)
	}
	fmt.Fprintf(w, "\nShare of %d sets whose 95%% interval of `avoidable_cost` holds what calibration would save, with that, the mean of the estimates and the mean\nlength of the intervals.\n\n", runs)
	fmt.Fprintln(w, "| what | rows | saved | estimate | length | share |\n| --- | ---: | ---: | ---: | ---: | ---: |")
	for i, c := range savings {
		for _, rows := range c.rows {
			share, want, mean, length, err := saved(i, rows, runs, threads)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "| %s | %d | %.5f | %.5f | %.5f | %.3f |\n", c.name, rows, want, mean, length, share)
		}
	}
	fmt.Fprintf(w, "\nShare of %d sets of 300 rows in which `threshold_at_risk(risk=0.2,confidence=0.9,steps=10)` breaks its promise, at most 0.1 being allowed, and in\nwhich there is an answer at all.\n\n", runs)
	fmt.Fprintln(w, "| scores | 7 distinct ones: broken | answered | continuous: broken | answered |\n| --- | ---: | ---: | ---: | ---: |")
	for _, p := range promises {
		row := "| " + p.name + " |"
		for _, values := range []int{7, 1 << 20} {
			broken, answered, err := promised(p.right, values, runs, threads)
			if err != nil {
				return err
			}
			row += fmt.Sprintf(" %.3f | %.3f |", broken, answered)
		}
		fmt.Fprintln(w, row)
	}
	return nil
}
