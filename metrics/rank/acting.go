package rank

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// Outcomes gives what a row is worth, or costs, by its outcome and by what is decided: FalsePositive, for example, is that of a row without
// the event that is decided to be positive.
type Outcomes struct{ TruePositive, FalsePositive, FalseNegative, TrueNegative float64 }

// Threshold returns the probability from which on a decision for positive has the lower expected cost if the outcomes are costs:
//
//	t = (FP - TN) / (FP - TN + FN - TP)
//
// It is that of a calibrated probability: others have another, see Ranking.LeastCost. It panics unless all are finite, FP > TN and FN > TP: a
// right decision must cost less than a wrong one.
//
// Source: Elkan 2001.
func (o Outcomes) Threshold() float64 {
	no, yes := o.FalsePositive-o.TrueNegative, o.FalseNegative-o.TruePositive
	if !(no > 0 && yes > 0 && no+yes-(no+yes) == 0) {
		panic("rank: a right decision costs less than a wrong one")
	}
	return no / (no + yes)
}

// decided has the weights of rows by outcome and decision, and the weight of the rows of the cell that contains the threshold.
type decided struct{ tp, fp, fn, tn, torn float64 }

// at decides for positive where the score reaches t. It reports false without rows.
func (r *Ranking) at(t float64) (d decided, ok bool) {
	var tp, fp sum
	r.rows.Each(func(x *cells.Cell) {
		if x.Low < t && t <= x.High {
			d.torn = x.Weight
		}
		if x.P >= t {
			tp.add(x.Events)
			fp.add(x.Weight - x.Events)
		}
	})
	d.tp, d.fp = tp.value(), fp.value()
	d.fn, d.tn = math.Max(0, r.pairs.Events-d.tp), math.Max(0, r.pairs.Rest-d.fp)
	return d, r.total() > 0
}

// mean returns the mean over the rows.
func (d *decided) mean(o *Outcomes) float64 {
	n := d.tp + d.fp + d.fn + d.tn
	return (float64(d.tp*o.TruePositive) + float64(d.fp*o.FalsePositive) + float64(d.fn*o.FalseNegative) + float64(d.tn*o.TrueNegative)) / n
}

// MeanOutcome returns the mean over all rows of what they are worth, or cost, if the decision is positive where the score is t or more:
//
//	(TP a + FP b + FN c + TN d)/N
//
// TP to TN are numbers of rows, a to d the outcomes. It returns NaN without rows. bound is the most by which the mean can differ from that of
// the rows themselves: 0 if cells are exact. It takes one walk through the cells.
func (r *Ranking) MeanOutcome(t float64, o Outcomes) (mean, bound float64) {
	d, ok := r.at(t)
	if !ok {
		return math.NaN(), math.NaN()
	}
	// A row on the other side of the threshold changes by one of these.
	most := math.Max(math.Abs(o.TruePositive-o.FalseNegative), math.Abs(o.FalsePositive-o.TrueNegative))
	return d.mean(&o), r.bound(float64(d.torn*most) / r.total())
}

// OutcomeInterval returns a confidence interval of MeanOutcome, for independent rows: that of the normal approximation, after z^2/4 rows are
// added to each of the four outcomes. For two outcomes of equal value it is Agresti and Coull's. The rows that are added show what a sample
// without any costly error cannot: that there may be some. On a grid it is extended by the bound on either side. docs/coverage.md reports
// how often it contains the true value. There is none with weights or without rows.
//
// Source: Agresti and Coull 1998, for more than two values.
func (r *Ranking) OutcomeInterval(t float64, o Outcomes, level float64) metrics.Interval {
	d, ok := r.at(t)
	if !ok || r.rows.Weighted() {
		return metrics.NoInterval()
	}
	value, bound := r.MeanOutcome(t, o)
	z := metrics.Z(level)
	add := float64(float64(z*z) / 4)
	m := decided{tp: d.tp + add, fp: d.fp + add, fn: d.fn + add, tn: d.tn + add}
	mean := m.mean(&o)
	square := func(v float64) float64 { return float64((v - mean) * (v - mean)) }
	of := Outcomes{square(o.TruePositive), square(o.FalsePositive), square(o.FalseNegative), square(o.TrueNegative)}
	i := metrics.Normal(mean, math.Sqrt(m.mean(&of)/(m.tp+m.fp+m.fn+m.tn)), level)
	low := math.Min(math.Min(o.TruePositive, o.FalsePositive), math.Min(o.FalseNegative, o.TrueNegative))
	high := math.Max(math.Max(o.TruePositive, o.FalsePositive), math.Max(o.FalseNegative, o.TrueNegative))
	return metrics.Interval{Low: math.Max(low, math.Min(value, i.Low)-bound), High: math.Min(high, math.Max(value, i.High)+bound)}
}

// LeastCost returns the least mean cost that any threshold reaches on these rows, and the highest threshold that reaches it: +Inf if none is
// decided to be positive. A decision is positive where the score is the threshold or more.
//
// The rest of the cost at Outcomes.Threshold is what calibration would save: the isotonic fit of the rows, decided at that threshold, has the
// least cost of all thresholds. Both are of the rows that chose them, so on new rows a threshold costs more, by less the more rows there are.
//
// It panics as Threshold does, and returns NaN without rows. bound is the most by which the least cost of the rows themselves can be lower: 0
// if cells are exact.
//
// Source: Elkan 2001; Ehm et al. 2016 for the saving.
func (r *Ranking) LeastCost(o Outcomes) (cost, threshold, bound float64) {
	o.Threshold()
	n := r.total()
	if !(n > 0) {
		return math.NaN(), math.NaN(), math.NaN()
	}
	gain, loss := o.FalseNegative-o.TruePositive, o.FalsePositive-o.TrueNegative
	// All rows negative; each threshold then changes the rows from it on.
	least, threshold, inside := 0.0, math.Inf(1), 0.0
	r.steps(func(s *step) {
		c := float64((s.fp+s.rest)*loss) - float64((s.tp+s.events)*gain)
		if c < least || c == least && threshold < math.Inf(1) { // thresholds rise, so of equal ones the last counts
			least, threshold = c, s.score
		}
		inside = math.Max(inside, math.Min(float64(s.rest*loss), float64(s.events*gain)))
	})
	base := float64(r.pairs.Events*o.FalseNegative) + float64(r.pairs.Rest*o.TrueNegative)
	return (base + least) / n, threshold, r.bound(inside / n)
}

// Benefit returns the outcomes whose mean is the net benefit at the threshold t, 0 < t < 1: 1 for a row with the event that is treated, and
// -t/(1-t) for one without it, so
//
//	TP/N - FP/N t/(1-t)
//
// With overAll it is the net benefit above that of treating every row: -1 for a row with the event that is not treated, and t/(1-t) for one
// without it. It panics for other t.
//
// Source: Vickers and Elkin 2006.
func Benefit(t float64, overAll bool) Outcomes {
	if !(t > 0 && t < 1) {
		panic("rank: the threshold of a net benefit is between 0 and 1")
	}
	odds := t / (1 - t)
	if overAll {
		return Outcomes{FalseNegative: -1, TrueNegative: odds}
	}
	return Outcomes{TruePositive: 1, FalsePositive: -odds}
}

// Promise is what selective prediction has to keep: at most the share Risk of the rows that are answered is without the event, with
// probability Confidence over the rows that set the threshold. Steps is the number of thresholds that are tried.
type Promise struct {
	Risk, Confidence float64
	Steps            int
}

// Answered is what a promise allows.
type Answered struct {
	Share float64 // share of the rows that are answered; 0 if no threshold keeps the promise
	// Above is the score that a row must exceed to be answered: -Inf if every row is, NaN if none.
	Above        float64
	Rows, Errors float64 // rows that are answered, and those of them without the event
}

// Promised returns the largest share of rows that can be answered, highest scores first, so that the promise holds for new rows of the same
// kind, answered where the score exceeds Above. For each j from 1 to Steps it takes the rows that score above the row at place
// floor(j N/Steps) + 1, or all rows for j = Steps. Given that row's score they are a sample of the rows that would be answered, so with
// m rows, e of them without the event, the threshold is safe if
//
//	P(X <= e) <= (1 - Confidence)/Steps,   X binomial with m trials of probability Risk
//
// The probability that any unsafe threshold passes is at most 1 - Confidence, by Bonferroni, whatever the scores: no ties, no order of the
// risks and no large sample is assumed. It needs independent rows without weights, and panics with weights and for a Promise whose numbers are
// not between 0 and 1 or whose Steps are not from 1 to 10,000. On a grid the cells are the scores.
//
// Source: Geifman and El-Yaniv 2017, with fixed places instead of their bisection; Angelopoulos et al. 2021 (Learn then Test).
func (r *Ranking) Promised(p Promise) Answered {
	if !(p.Risk > 0 && p.Risk < 1 && p.Confidence > 0 && p.Confidence < 1 && p.Steps >= 1 && p.Steps <= 10000) {
		panic("rank: a promise has a risk and a confidence between 0 and 1, and 1 to 10,000 steps")
	}
	if r.rows.Weighted() {
		panic("rank: rows with weights have no binomial bound")
	}
	n := r.total()
	best := Answered{Above: math.NaN()}
	consider := func(a Answered) {
		if a.Rows > best.Rows && p.keeps(a.Rows, a.Errors) {
			a.Share = a.Rows / n
			best = a
		}
	}
	consider(Answered{Above: math.Inf(-1), Rows: n, Errors: r.pairs.Rest})
	j := p.Steps - 1                // the next place, from the lowest score on
	rows, errors := n, r.pairs.Rest // above the cell
	r.rows.Each(func(x *cells.Cell) {
		rows -= x.Weight
		errors -= x.Weight - x.Events
		found := false
		for ; j >= 1 && math.Floor(float64(float64(j)*n)/float64(p.Steps))+1 > rows; j-- {
			found = true
		}
		if found && rows > 0 {
			consider(Answered{Above: math.Max(x.P, x.High), Rows: rows, Errors: errors}) // no row of a grid cell is answered
		}
	})
	return best
}

// keeps reports whether e errors among m rows show that the risk is low enough.
func (p *Promise) keeps(m, e float64) bool {
	if !(m > 0 && e < float64(m*p.Risk)) {
		return false
	}
	return tails.Binomial(m-e, m, 1-p.Risk) <= (1-p.Confidence)/float64(p.Steps)
}
