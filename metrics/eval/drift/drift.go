// Package drift compares two independent sets of rows that were evaluated in the same way, such as last month's and this month's: whether
// the scores changed, the outcomes, or what the scores say about the outcomes, and how sure that is.
//
// Start with Of, which takes two evaluations, in general from states. It sees no rows, and takes all of them as independent. Sets of the
// same rows are not for it: their differences vary less than it assumes.
package drift

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/score"
)

// Options are the options of Of.
type Options struct {
	Level  float64 // of intervals, and 1 minus that of the tests; 0 means 0.95
	Adjust Adjust
}

// Result says what differs between an old and a new set. Differences are new minus old. Without classes Scores, Outcomes and Calibration have no P.
type Result struct {
	Level    float64
	Adjust   Adjust
	Old, New *eval.Evaluation // as given

	// The four questions. The p-value of one is the smallest adjusted p-value of its tests; where there are two kinds of tests, of all
	// scores and of the bins, it is twice that.
	Scores      Part // KS, and the share of rows of each bin
	Outcomes    Part // Outcome
	Calibration Part // Gap and Slope, and the frequency in each bin
	Values      Part // Metrics

	Metrics []Difference // of the metrics of both, in their order

	Classes bool        // whether rows have classes; if not, what follows is zero
	Event   calib.Event // whose scores and outcomes the rest is about
	Outcome Difference  // of the share of rows with the event
	Gap     Difference  // of mean score minus that share
	Slope   Difference  // of the calibration slope: of the logistic regression of outcomes on the logits of scores
	KS      KS
	PSI     PSI
	Bins    []Bin
	Text    string // the full definition of the bins

	before, after *eval.Evaluation // with intervals of Level
}

// Part is the answer to a question: whether any of its tests finds a difference.
type Part struct {
	P        float64 // NaN if there is no test
	Adjusted float64 // P, adjusted for the number of questions
	Drift    bool    // Adjusted is below 1 - level
	Reason   string  // why there is no test
}

// Difference compares a number of two sets.
type Difference struct {
	Key      string // of a metric
	Better   eval.Direction
	Old, New eval.Value
	Value    float64          // new minus old; NaN if either is undefined, or both are infinite
	Interval metrics.Interval // of Value
	// P is the two-sided p-value of no difference, 1 minus the largest level at which Interval excludes 0. Adjusted is P, adjusted for
	// the other numbers of its family. Both are NaN without an interval.
	P, Adjusted float64
	Reason      string // why there is no interval, or no value
}

// Method describes the intervals of differences.
const Method = "v +- the root of the sum of squares of both sets' distances of value and end, on the side in question (MOVER; for means Welch's z); two independent samples of independent rows"

// Of compares two evaluations. It returns an error, a metrics.ErrMismatch that names the difference, if they differ in task, classes,
// their names, metrics or bins, and another if either has no rows. Level, seed and limits of memory may differ.
func Of(before, after *eval.Evaluation, o *Options) (*Result, error) {
	opt := Options{}
	if o != nil {
		opt = *o
	}
	if opt.Level == 0 {
		opt.Level = metrics.DefaultLevel
	}
	if !(opt.Level > 0 && opt.Level < 1) {
		return nil, fmt.Errorf("drift: the confidence level is %v; it lies between 0 and 1", opt.Level)
	}
	a, b := before.Spec, after.Spec
	b.Level, b.Seed, b.Memory = a.Level, a.Seed, a.Memory
	if err := a.Match(&b); err != nil {
		return nil, err
	}
	for name, e := range map[string]*eval.Evaluation{"old": before, "new": after} {
		if e.Audit.Rows == 0 {
			return nil, errors.New("drift: the " + name + " set has no rows")
		}
	}
	r := &Result{Level: opt.Level, Adjust: opt.Adjust, Old: before, New: after, before: before.AtLevel(opt.Level), after: after.AtLevel(opt.Level)}
	for _, m := range before.Spec.Metrics {
		r.Metrics = append(r.Metrics, r.metric(m))
	}
	var family []*float64
	for i := range r.Metrics {
		r.Metrics[i].Adjusted = r.Metrics[i].P
		family = append(family, &r.Metrics[i].Adjusted)
	}
	r.Values = r.part(family, "no metric has a test")
	if r.Classes = a.Shape().HasClasses(); r.Classes {
		r.event()
	} else {
		none := Part{math.NaN(), math.NaN(), false, "its rows have no classes"}
		r.Scores, r.Outcomes, r.Calibration = none, none, none
	}
	parts := []*Part{&r.Scores, &r.Outcomes, &r.Calibration, &r.Values}
	var all []*float64
	for _, p := range parts {
		p.Adjusted = p.P
		all = append(all, &p.Adjusted)
	}
	adjust(all, r.Adjust)
	for _, p := range parts {
		p.Drift = p.Adjusted < 1-r.Level
	}
	return r, nil
}

// part adjusts a family of p-values, and returns the answer to its question.
func (r *Result) part(family []*float64, none string) Part {
	adjust(family, r.Adjust)
	p := Part{P: math.NaN()}
	for _, v := range family {
		if !(p.P <= *v) && *v == *v {
			p.P = *v
		}
	}
	if math.IsNaN(p.P) {
		p.Reason = none
	}
	return p
}

// metric compares a metric.
func (r *Result) metric(m eval.Metric) Difference {
	d := eval.Describe(m.Name).In(r.before.Spec.Shape())
	c := r.compare(func(e *eval.Evaluation) eval.Value { return e.Value(m) }, d.Untested())
	c.Key, c.Better = m.String(), d.Better
	return c
}

// event compares scores and outcomes.
func (r *Result) event() {
	r.Event = calib.ByShape.Resolve(r.before.Spec.Classes)
	loss := func(value func(l *score.Loss) float64, interval func(l *score.Loss, level float64) metrics.Interval) Difference {
		return r.compare(func(e *eval.Evaluation) eval.Value {
			return eval.Value{Value: value(e.Loss), Interval: interval(e.Loss, e.Spec.Level)}
		}, "")
	}
	if r.Event == calib.Positive {
		r.Outcome = loss((*score.Loss).BaseRate, (*score.Loss).BaseRateInterval)
		r.Gap = loss((*score.Loss).Bias, (*score.Loss).BiasInterval)
	} else {
		r.Outcome = loss((*score.Loss).Accuracy, (*score.Loss).AccuracyInterval)
		r.Gap = loss((*score.Loss).Overconfidence, (*score.Loss).OverconfidenceInterval)
	}
	r.Slope = r.slope()
	r.bins()
	r.KS = ksOf(r.before, r.after)

	var shares, outcomes []*float64
	for i := range r.Bins {
		b := &r.Bins[i]
		b.ShareAdjusted, b.FrequencyAdjusted = b.ShareP, b.FrequencyP
		shares, outcomes = append(shares, &b.ShareAdjusted), append(outcomes, &b.FrequencyAdjusted)
	}
	r.Outcome.Adjusted, r.Gap.Adjusted, r.Slope.Adjusted = r.Outcome.P, r.Gap.P, r.Slope.P
	ks := r.KS.P
	r.Scores = either(r.part([]*float64{&ks}, r.KS.Reason), r.part(shares, r.KS.Reason))
	r.Outcomes = r.part([]*float64{&r.Outcome.Adjusted}, r.Outcome.Reason)
	r.Calibration = either(r.part([]*float64{&r.Gap.Adjusted, &r.Slope.Adjusted}, r.Gap.Reason), r.part(outcomes, r.Gap.Reason))
}

// either returns the answer of two families, neither of which may find more than half of what both may.
func either(a, b Part) Part {
	switch {
	case math.IsNaN(a.P):
		return b
	case math.IsNaN(b.P):
		return a
	}
	return Part{P: math.Min(1, 2*math.Min(a.P, b.P))}
}

// slope compares the calibration slopes.
func (r *Result) slope() Difference {
	var fits [2]*binfree.Cox
	for i, e := range []*eval.Evaluation{r.before, r.after} {
		if c, ok := e.Judged(); ok {
			fits[i] = binfree.CoxOf(c, nil)
		}
	}
	return r.compare(func(e *eval.Evaluation) eval.Value {
		f := fits[1]
		if e.Loss == r.before.Loss {
			f = fits[0]
		}
		if f == nil {
			return eval.Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: notKept}
		}
		v := eval.Value{Interval: f.SlopeInterval(e.Spec.Level), Reason: f.IntervalReason()}
		if v.Value, _ = f.Slope(); math.IsNaN(v.Value) {
			v.Reason = f.Reason()
		}
		return v
	}, "")
}

// compare compares what of returns for the two sets. untested says why there is no interval although each set has one.
func (r *Result) compare(of func(*eval.Evaluation) eval.Value, untested string) Difference {
	d := Difference{Old: of(r.before), New: of(r.after), P: math.NaN(), Adjusted: math.NaN()}
	d.Value, d.Interval = d.New.Value-d.Old.Value, mover(&d.Old, &d.New)
	sides := []struct {
		name string
		v    *eval.Value
	}{{"old", &d.Old}, {"new", &d.New}}
	if math.IsNaN(d.Interval.Low) {
		for _, s := range sides {
			if v := s.v; math.IsNaN(v.Interval.Low) || math.IsNaN(v.Value) {
				if d.Reason = v.Reason; d.Reason == "" {
					d.Reason = "there is no interval of the " + s.name + " value"
				}
				return d
			}
		}
		d.Reason = "an interval does not contain its value, whose estimate is biased"
		return d
	}
	if untested != "" {
		d.Interval, d.Reason = metrics.NoInterval(), untested
		return d
	}
	d.P = r.pOf(&d, of)
	return d
}

// pOf returns the p-value: 1 minus the level whose interval ends at 0. Where the ends are not in proportion to z, the level is found by
// going there.
func (r *Result) pOf(d *Difference, of func(*eval.Evaluation) eval.Value) float64 {
	const (
		most  = 6.0 // a level nearer to 1 than that of z = 6 would lose its digits
		steps = 12
	)
	toward := func(i metrics.Interval) float64 { // distance of the value from the end on the side of 0
		if d.Value > 0 {
			return d.Value - i.Low
		}
		return i.High - d.Value
	}
	size := math.Abs(d.Value)
	z, far := metrics.Z(r.Level), toward(d.Interval)
	switch {
	case size == 0:
		return 1
	case far == 0:
		return 0
	}
	for range steps {
		next := float64(z * (size / far))
		if at := math.Max(math.Min(next, most), 1e-3); math.Abs(at-z) > 1e-6*z {
			level := 1 - float64(2*kernel.NormCDF64(-at))
			before, after := of(r.before.AtLevel(level)), of(r.after.AtLevel(level))
			i := mover(&before, &after)
			if w := toward(i); w == w && w > 0 {
				z, far = at, w
				continue
			}
		}
		z, far = next, size
		break
	}
	return 2 * kernel.NormCDF64(-float64(z*(size/far)))
}

// mover returns the interval of the difference of two independent values from the intervals of each: the method of variance estimates
// recovery (Zou and Donner 2008), which is Newcombe's for proportions. A value outside its own interval has none.
func mover(before, after *eval.Value) metrics.Interval {
	a, b := before.Uncut(), after.Uncut()
	if !(a.Low <= before.Value && before.Value <= a.High && b.Low <= after.Value && after.Value <= b.High) {
		return metrics.NoInterval()
	}
	d := after.Value - before.Value
	i := metrics.Interval{Low: d - root(after.Value-b.Low, a.High-before.Value), High: d + root(b.High-after.Value, before.Value-a.Low)}
	if i.Low-i.Low != 0 || i.High-i.High != 0 {
		return metrics.NoInterval()
	}
	return i
}

// root returns sqrt(x^2 + y^2) of numbers from 0 on, of any size.
func root(x, y float64) float64 {
	m := math.Max(x, y)
	if m == 0 || m > math.MaxFloat64 {
		return m
	}
	x, y = x/m, y/m
	return float64(m * math.Sqrt(float64(x*x)+float64(y*y)))
}
