package eval

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/score"
)

// Options of metrics of what is done with a model.
const (
	nearlyOne = 1 - 1e-9
	mostCost  = 1e12
)

var (
	benefitOwn = choices{{name: "threshold", least: 1e-9, most: nearlyOne, unsaid: 0.5}, {name: "over", words: []string{"none", "all"}}}
	costOwn    = choices{{name: "fp", least: 0, most: mostCost, unsaid: 1}, {name: "fn", least: 0, most: mostCost, unsaid: 1},
		{name: "tp", least: 0, most: mostCost}, {name: "tn", least: 0, most: mostCost}}
	costAtOwn  = append(append(choices{}, costOwn...), choice{name: "threshold", least: -1, most: 1, unsaid: -1})
	promiseOwn = choices{{name: "risk", least: 1e-9, most: nearlyOne, unsaid: 0.05}, {name: "confidence", least: 0.5, most: nearlyOne, unsaid: 0.95},
		{name: "steps", whole: true, least: 1, most: 10000, unsaid: 50}}
)

const (
	actingMethod = "normal, after z^2/4 rows are added to each of the four outcomes (Agresti and Coull 1998)"
	costMethod   = "normal, after z^2 rows are added, half at the lowest cost of their class and half at its highest (Agresti and Coull 1998)"
	savingMethod = "from the best threshold's savings, below by those of maximally selected statistics (Miller and Siegmund 1982)"
	noPromise    = "no share of the rows is safe: there are too many errors at the top, or too few rows to rule them out"
	everyRow     = "every row may be answered: there is no threshold"
	nonePositive = "the least cost is that of no positive decision: the threshold is above every score"
	alikeRows    = "the guarantee is for independent rows, and those of a cluster are not"
	plainRows    = "the guarantee is for rows without weights: there is no binomial bound with them"
)

// costs returns the costs that a metric names.
func costs(m Metric) rank.Outcomes {
	o := costAtOwn
	return rank.Outcomes{TruePositive: o.of(m, "tp"), FalsePositive: o.of(m, "fp"), FalseNegative: o.of(m, "fn"), TrueNegative: o.of(m, "tn")}
}

// costThreshold returns the threshold of expected_cost, which the costs imply if it is not given, and the costs.
func costThreshold(m Metric) (float64, rank.Outcomes) {
	o := costs(m)
	if t := costAtOwn.of(m, "threshold"); t >= 0 {
		return t, o
	}
	return o.Threshold(), o
}

// costsOK returns a check of costs.
func costsOK(l choices) func(m Metric) error {
	return func(m Metric) error {
		if err := l.check(m); err != nil {
			return err
		}
		if c := costs(m); !(c.FalsePositive > c.TrueNegative && c.FalseNegative > c.TruePositive) {
			return errors.New("a wrong decision must cost more than a right one: fp more than tn, and fn more than tp")
		}
		if t := costAtOwn.of(m, "threshold"); t < 0 && t != -1 {
			return errors.New("threshold is a number from 0 to 1; leave it out for the one that the costs imply")
		}
		return nil
	}
}

// outcomes returns the answer for a mean over decisions at a threshold.
func outcomes(of func(m Metric) (threshold float64, o rank.Outcomes)) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		t, o := of(m)
		r := e.positives()
		v := Value{Interval: r.OutcomeInterval(t, o, e.Spec.Level), Method: actingMethod}
		if v.Value, v.Bound = r.MeanOutcome(t, o); math.IsNaN(v.Value) {
			v.Reason = noRows
		} else if math.IsNaN(v.Interval.Low) {
			v.Reason = noWeighted
		}
		return v
	}
}

// promised returns the answer of a promise, of which it takes a number.
func promised(of func(a *rank.Answered) (value float64, reason string)) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		v := Value{Value: math.NaN(), Interval: metrics.NoInterval()}
		switch {
		case e.Audit.Weighted:
			v.Reason = plainRows
		case e.Spec.Cluster != "":
			v.Reason = alikeRows
		case e.Audit.Rows == 0:
			v.Reason = noRows
		default:
			a := e.ranking().Promised(rank.Promise{Risk: promiseOwn.of(m, "risk"), Confidence: promiseOwn.of(m, "confidence"), Steps: int(promiseOwn.of(m, "steps"))})
			v.Value, v.Reason = of(&a)
		}
		return v
	}
}

const costKey = "decision costs"

// keepCosts returns the accumulator of decisions by a cost matrix, if there is one.
func keepCosts(s *Spec, _ Metric) []statistic {
	if s.Costs == nil {
		return nil
	}
	return []statistic{{costKey, rows, func() any { return metrics.Must(score.NewDecisionCosts(s.Costs)) }}}
}

// noCosts is the answer without a cost matrix.
func noCosts() Value {
	return Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: fmt.Sprintf("it needs a cost matrix, by %v", setting.Costs)}
}

func inActing() []Descriptor {
	needs := onlyTwo
	return []Descriptor{
		{
			Name: "net_benefit", Named: true, applies: two, needs: needs, Options: benefitOwn.String(), own: benefitOwn, check: benefitOwn.check, ofTwo: true,
			Short:   "benefit of acting on p",
			Meaning: "net benefit of treating the rows whose probability reaches the threshold, over treating none, or with over=all over treating every row",
			Formula: "TP/N - FP/N t/(1-t), rows with p >= t positive, t the threshold", Range: "(-Inf, Inf)", Better: Higher,
			Source: "Vickers and Elkin 2006",
			value: outcomes(func(m Metric) (float64, rank.Outcomes) {
				t := benefitOwn.of(m, "threshold")
				return t, rank.Benefit(t, benefitOwn.of(m, "over") != 0)
			}),
		},
		{
			Name: "expected_cost", Named: true, applies: two, needs: needs, Options: costAtOwn.String(), own: costAtOwn, check: costsOK(costAtOwn), ofTwo: true,
			Short:   "cost of a decision",
			Meaning: "mean cost of deciding by the probability, at the threshold that the costs imply or at one that is given",
			Formula: "(TP tp + FP fp + FN fn + TN tn)/N, rows with p >= t positive, t = (fp - tn)/(fp - tn + fn - tp)", Range: "[0, Inf)", Better: Lower,
			Source: "Elkan 2001",
			value:  outcomes(costThreshold),
		},
		{
			Name: "avoidable_cost", Named: true, applies: two, needs: needs, Options: costOwn.String(), own: costOwn, check: costsOK(costOwn), ofTwo: true,
			Short:   "cost recalibration saves",
			Meaning: "part of expected_cost that calibration would save: the excess over the least cost of any threshold on these rows",
			Formula: "expected_cost - min over thresholds t of (TP tp + FP fp + FN fn + TN tn)/N", Range: "[0, Inf)", Better: Lower,
			Source: "Elkan 2001; Ehm et al. 2016",
			value: func(e *Evaluation, m Metric) Value {
				o, r := costs(m), e.positives()
				v := Value{Interval: r.SavingInterval(o, e.Spec.Level), Method: savingMethod}
				if v.Value, v.Bound = r.Saving(o); math.IsNaN(v.Value) {
					v.Reason = noRows
				} else if e.Audit.Weighted {
					v.Reason = noWeighted
				} else if math.IsNaN(v.Interval.Low) {
					v.Reason = "scores lie outside the grid that keeps them"
				}
				return v
			},
		},
		{
			Name: "least_cost_threshold", Named: true, applies: two, needs: needs, Options: costOwn.String(), own: costOwn, check: costsOK(costOwn), ofTwo: true,
			Short:   "threshold of least cost",
			Meaning: "the highest threshold whose decisions have the least mean cost on these rows; if probabilities are calibrated it is near the one that the costs imply",
			Formula: "argmin over thresholds t of (TP tp + FP fp + FN fn + TN tn)/N, rows with p >= t positive", Range: "[0, 1]", Better: Neither,
			Source: "Elkan 2001",
			value: func(e *Evaluation, m Metric) Value {
				_, t, _ := e.positives().LeastCost(costs(m))
				v := Value{Value: t, Interval: metrics.NoInterval(), Reason: "no interval is computed"}
				switch {
				case math.IsNaN(t):
					v.Reason = noRows
				case math.IsInf(t, 1):
					v.Value, v.Reason = math.NaN(), nonePositive
				}
				return v
			},
		},
		{
			Name: "decision_cost", Named: true, applies: always, check: noOptions, keeps: keepCosts,
			Short:   "cost by a cost matrix",
			Meaning: "mean cost of the decision with the least expected cost, by a matrix of what each decision costs for each true class",
			Formula: "mean C[y, d], d = argmin_d sum_k p_k C[k, d]", Range: "[0, Inf)", Better: Lower, Source: "Elkan 2001",
			value: func(e *Evaluation, _ Metric) Value {
				if e.Spec.Costs == nil {
					return noCosts()
				}
				a := statisticOf[*score.DecisionCosts](e, rows, costKey)
				v := Value{Value: a.Value(), Interval: a.Interval(e.Spec.Level), Method: costMethod}
				if math.IsNaN(v.Value) {
					v.Reason = noRows
				} else if math.IsNaN(v.Interval.Low) {
					v.Reason = noWeighted
				}
				return v
			},
		},
		{
			Name: "constant_cost", Named: true, applies: always, check: noOptions, keeps: keepCosts,
			Short:   "cost without the model",
			Meaning: "mean cost of the best decision that is the same for all rows, without the model; decision_cost is to be below it",
			Formula: "min over d of mean C[y, d]", Range: "[0, Inf)", Better: Neither, Source: "Elkan 2001",
			value: func(e *Evaluation, _ Metric) Value {
				if e.Spec.Costs == nil {
					return noCosts()
				}
				v := Value{Interval: metrics.NoInterval(), Reason: "no interval is computed"}
				if v.Value, _ = statisticOf[*score.DecisionCosts](e, rows, costKey).Constant(); math.IsNaN(v.Value) {
					v.Reason = noRows
				}
				return v
			},
		},
		{
			Name: "coverage_at_risk", Named: true, applies: always, Options: promiseOwn.String(), own: promiseOwn, check: promiseOwn.check, event: decision, uncut: true, ranked: true,
			Short:   "share safe to answer",
			Meaning: "share of rows that can be answered, most confident first, with a guarantee that at most the share `risk` of such rows is wrong",
			Formula: "max over j of m_j/N with P(X <= e_j) <= (1 - confidence)/steps, X ~ Binomial(m_j, risk), e_j errors among the m_j rows above place floor(j N/steps) + 1", Range: "[0, 1]", Better: Higher,
			Source: "Geifman and El-Yaniv 2017; Angelopoulos et al. 2021",
			value: promised(func(a *rank.Answered) (float64, string) {
				if a.Share == 0 {
					return 0, noPromise
				}
				return a.Share, "the guarantee holds with the given confidence"
			}),
		},
		{
			Name: "threshold_at_risk", Named: true, applies: always, Options: promiseOwn.String(), own: promiseOwn, check: promiseOwn.check, event: decision, uncut: true, ranked: true,
			Short:   "confidence to answer at",
			Meaning: "confidence above which rows can be answered with a guarantee that at most the share `risk` of them is wrong; see coverage_at_risk",
			Formula: "the score at place floor(j N/steps) + 1 for the j of coverage_at_risk, most confident first", Range: "(-Inf, Inf)", Better: Neither,
			Source: "Geifman and El-Yaniv 2017; Angelopoulos et al. 2021",
			value: promised(func(a *rank.Answered) (float64, string) {
				switch {
				case math.IsNaN(a.Above):
					return a.Above, noPromise
				case math.IsInf(a.Above, -1):
					return math.NaN(), everyRow
				}
				return a.Above, "the guarantee holds with the given confidence"
			}),
		},
	}
}
