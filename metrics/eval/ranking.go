package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/rank"
)

// Options of metrics over ranks.
var (
	gridOwn   = choice{name: "thresholds", whole: true, least: 0, most: 1000000, unsaid: 0}
	summation = choice{name: "summation", words: []string{"interpolation", "minoring", "majoring"}}
	averages  = []string{"none", "macro", "weighted", "micro", "ovo", "ovo_weighted"}
	average   = choice{name: "average", words: averages}
	maxFPR    = choice{name: "max_fpr", least: 0, most: 1, unsaid: 0}
	repeats   = choice{name: "replicates", whole: true, least: 20, most: 100000, unsaid: 200}
	aurocOwn  = choices{average, maxFPR, gridOwn, summation}
	auprcOwn  = choices{{name: "area", words: []string{"average_precision", "trapezoid", "davis_goadrich"}}, {name: "average", words: averages[:micro+1]}, gridOwn, summation}
	riskOwn   = choices{repeats}
	aurcOwn   = choices{{name: "replicates", whole: true, least: 0, most: 100000, unsaid: 0}}
	budgetOwn = choices{{name: "fraction", least: 0, most: 1, unsaid: 0.01}, {name: "most", whole: true, least: 0, most: 1e15, unsaid: 0},
		{name: "bins", whole: true, least: 0, most: 1000000, unsaid: 0}}
	oracleOwn = append(append(choices{}, budgetOwn...), gridOwn, summation,
		choice{name: "curve", words: []string{"roc", "pr"}}, choice{name: "within", least: -1, most: 1, unsaid: -1})
	retainOwn = choices{{name: "oracle"}, {name: "trapezoid"}}
	oodOwn    = choices{{name: "score", words: []string{"max_softmax", "max_logit", "entropy", "energy", "dempster_shafer"}}}
	oodPROwn  = choices{oodOwn[0], auprcOwn[0]}
	oodFPROwn = choices{oodOwn[0], {name: "found", least: 1e-9, most: 1, unsaid: 0.95}}
)

// Averages over classes, as indices of the option's words.
const (
	noAverage = iota
	macro
	weighted
	micro
	oneVsOne
	oneVsOneWeighted
)

const (
	bootstrap   = "seeded multinomial bootstrap of the cells of equal scores"
	oneOutcome  = "all rows are of class 1, or none is"
	noEvents    = "no row is of class 1"
	oneClass    = "all rows are of one class"
	needsTwo    = "it is of two classes; of more it takes average=, such as average=macro"
	noPairs     = "rows with weights have no area of one class against one other, here as in scikit-learn"
	withDoubt   = "least confident first, ties in random order"
	outMeaning  = "out-of-distribution rows, found by a high score"
	needsTwoOut = "the out-of-distribution rows or the others are missing"
)

var needsOut = need{"it is for predictions with out-of-distribution rows (%v)", []any{setting.Out}}

func withOut(s Shape) bool { return s.HasClasses() && s.Out }

// positives returns the ranking of the rows by the probability of class 1.
func (e *Evaluation) positives() *rank.Ranking {
	type positives struct{}
	return remember(e, positives{}, func() *rank.Ranking { return rank.RankingOf(e.rising(calib.Positive)) })
}

// grid returns the options of Keras's area, or nil if it is not requested.
func (l choices) grid(m Metric, c rank.Curve) *rank.GridOptions {
	t := int(l.of(m, "thresholds"))
	if t == 0 {
		return nil
	}
	return &rank.GridOptions{Thresholds: t, Curve: c, Summation: rank.Summation(l.of(m, "summation"))}
}

// gridOK returns a check for the options of a metric that may have a grid.
func gridOK(l choices) func(m Metric) error {
	return func(m Metric) error {
		if err := l.check(m); err != nil {
			return err
		}
		switch t := l.of(m, "thresholds"); {
		case t == 1 || t == 2:
			return errors.New("thresholds must be at least 3, including both ends, or 0 for no grid")
		case t == 0 && l.of(m, "summation") != 0:
			return errors.New("summation is for thresholds=N; give that too")
		case t == 0 && l.index("bins") >= 0 && l.of(m, "bins") != 0:
			return errors.New("bins is for thresholds=N; give that too")
		case t > 0 && l.index("average") >= 0 && l.of(m, "average") != 0:
			return errors.New("thresholds is for two classes, and average for more; leave one of them out")
		case l.index("max_fpr") >= 0 && l.of(m, "max_fpr") != 0 && (t > 0 || l.of(m, "average") != 0):
			return errors.New("max_fpr does not go with average or thresholds; leave one of them out")
		case t > 0 && l.index("area") >= 0 && l.of(m, "area") != 0:
			return errors.New("with thresholds, summation takes the place of area; leave area out")
		}
		return nil
	}
}

// areaOf returns the answer for an area over the ranking by class 1.
func areaOf(l choices, curve rank.Curve, exact func(r *rank.Ranking, m Metric) (area, bound float64), reason string,
	interval func(r *rank.Ranking, m Metric, level float64) metrics.Interval) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		v := Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: needsTwo}
		if e.Spec.Classes > 2 {
			return v
		}
		r := e.positives()
		v.Reason = "no interval is computed"
		if g := l.grid(m, curve); g != nil {
			v.Value, v.Bound = r.GridAUC(g)
			return v
		}
		if v.Value, v.Bound = exact(r, m); math.IsNaN(v.Value) {
			v.Reason = reason
			return v
		}
		if interval == nil {
			return v
		}
		if v.Interval = interval(r, m, e.Spec.Level); !math.IsNaN(v.Interval.Low) {
			v.Method = aurocMethod(r.Newcombe())
		} else if most := aurocOwn.of(m, "max_fpr"); most == 0 || most == 1 {
			if v.Reason = "no interval without rows of both classes"; e.Audit.Weighted {
				v.Reason = noWeighted
			}
		}
		return v
	}
}

func auroc(r *rank.Ranking, m Metric) (area, bound float64) {
	if most := aurocOwn.of(m, "max_fpr"); most != 0 {
		return r.PartialAUROC(most)
	}
	return r.AUROC()
}

// aurocInterval returns the interval of the whole area.
func aurocInterval(r *rank.Ranking, m Metric, level float64) metrics.Interval {
	if most := aurocOwn.of(m, "max_fpr"); most != 0 && most != 1 {
		return metrics.NoInterval()
	}
	return r.AUROCInterval(level)
}

func auprc(r *rank.Ranking, m Metric) (area, bound float64) {
	return r.AUPRC(rank.PRArea(auprcOwn.of(m, "area")))
}

// budget returns the budget that a metric specifies.
func (l choices) budget(m Metric) rank.Budget {
	return rank.Budget{Fraction: l.of(m, "fraction"), Most: int64(l.of(m, "most")), Bins: int(l.of(m, "bins"))}
}

type risksOf int // number of replicates

// risk returns the answer for an area of selective classification. Its interval uses the given number of replicates, or if
// that is 0 the metric's own.
func risk(area func(r *rank.Ranking) (a, bound float64), of func(i *rank.Intervals) metrics.Interval, replicates int) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		r := e.ranking()
		v := Value{Method: bootstrap}
		v.Value, v.Bound = area(r)
		n := replicates
		if n == 0 {
			n = int(riskOwn.of(m, "replicates"))
		}
		i := remember(e, risksOf(n), func() rank.Intervals {
			return r.Intervals(e.Spec.Level, &metrics.Resampling{Seed: e.Spec.Seed, Replicates: n, Threads: e.Threads})
		})
		if v.Interval = of(&i); math.IsNaN(v.Interval.Low) {
			v.Reason = r.IntervalReason()
		}
		return v
	}
}

// bare returns an answer without an interval.
func bare(f func(e *Evaluation, m Metric) (value, bound float64), reason string) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		v := Value{Interval: metrics.NoInterval(), Reason: "no interval is computed"}
		if v.Value, v.Bound = f(e, m); math.IsNaN(v.Value) {
			v.Reason = reason
		}
		return v
	}
}

// ofRetention returns the accumulator of a loss.
func ofRetention(l rank.Loss) func(s *Spec, m Metric) []statistic {
	return func(s *Spec, _ Metric) []statistic {
		return []statistic{retentionOf(l, s.Scored)}
	}
}

// retentionOf returns the accumulator of a loss by confidence, or by the caller's confidence scores if there are any.
func retentionOf(l rank.Loss, byScore bool) statistic {
	return statistic{fmt.Sprintf("retention %d", l), rows, func() any { return metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: l, ByScore: byScore})) }}
}

// retention returns the answer for the area under a retention curve.
func retention(l rank.Loss) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		r := statisticOf[*rank.Retention](e, rows, fmt.Sprintf("retention %d", l))
		v := Value{Interval: metrics.NoInterval(), Reason: "no interval is computed"}
		v.Value, v.Bound = r.Area(&rank.AreaOptions{Oracle: retainOwn.of(m, "oracle") != 0, Trapezoid: retainOwn.of(m, "trapezoid") != 0})
		if math.IsInf(v.Value, 1) {
			v.Count, v.Reason = r.Infinite(), gaveNothing(r.Infinite())
		}
		return v
	}
}

// ofScores returns the accumulators of the scores of both sets.
func ofScores(_ *Spec, m Metric) []statistic {
	l := Describe(m.Name).own
	d := rank.Detector(l.of(m, "score"))
	key := fmt.Sprintf("scores %d", d)
	f := func() any { return rank.NewScores(d) }
	return []statistic{{key, rows, f}, {key, out, f}}
}

type oodOf rank.Detector

// ood returns the answer for a metric of two sets.
func ood(f func(o *rank.OOD, m Metric, v *Value, level float64)) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		d := rank.Detector(Describe(m.Name).own.of(m, "score"))
		v := Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: needsTwoOut}
		key := fmt.Sprintf("scores %d", d)
		a, b := statisticOf[*rank.Scores](e, rows, key), statisticOf[*rank.Scores](e, out, key)
		if e.Out.Rows == 0 || e.Audit.Rows == 0 {
			return v
		}
		for _, s := range []*rank.Scores{a, b} {
			if why := s.Reason(); why != "" {
				v.Reason = why
				return v
			}
		}
		o := remember(e, oodOf(d), func() *rank.OOD {
			o, err := rank.NewOOD(a, b)
			if err != nil {
				return nil
			}
			return o
		})
		if o == nil {
			v.Reason = "the two sets are of different kinds of scores"
			return v
		}
		v.Reason = "no interval is computed"
		f(o, m, &v, e.Spec.Level)
		return v
	}
}

// inRanks returns the metrics over ranks, except calibration_auc and aurc.
func inRanks() []Descriptor {
	return []Descriptor{
		{
			Name: "auroc", applies: always, Options: aurocOwn.String(), own: aurocOwn, check: gridOK(aurocOwn), ofTwo: true,
			Short:   "tells the classes apart",
			Meaning: "how well the probability of class 1 separates the two classes: area under the ROC curve; of more than two classes average= has the mean over those present, each against the rest (macro, weighted) or each against each other (ovo), or pools all entries (micro)",
			Formula: "sum_g w+_g (W-_<g + w-_g/2) / (W+ W-) over cells g of equal probability", Range: "[0, 1]", Better: Higher,
			Source: "Hanley and McNeil 1982; DeLong et al. 1988; ovo: Hand and Till 2001; max_fpr: McClish 1989; thresholds: tf.keras.metrics.AUC",
			value:  perClass(aurocOwn, auroc, areaOf(aurocOwn, rank.CurveROC, auroc, oneOutcome, aurocInterval)), keeps: ofEntries(aurocOwn),
		},
		{
			Name: "auprc", applies: always, Options: auprcOwn.String(), own: auprcOwn, check: gridOK(auprcOwn), ofTwo: true,
			Short:   "precision-recall area",
			Meaning: "area under the precision-recall curve of class 1: that of chance is its frequency; average= as of auroc",
			Formula: "average precision: sum_g (dTP_g/TP) TP_g/(TP_g + FP_g), at the ends of cells g of equal probability", Range: "[0, 1]", Better: Higher,
			Source: "Davis and Goadrich 2006; scikit-learn's average_precision_score; thresholds: tf.keras.metrics.AUC",
			value:  perClass(auprcOwn, auprc, areaOf(auprcOwn, rank.CurvePR, auprc, noEvents, nil)), keeps: ofEntries(auprcOwn),
		},
		{
			Name: "eaurc", applies: always, Options: riskOwn.String(), own: riskOwn, check: riskOwn.check, event: decision, uncut: true, ranked: true, random: true,
			Short:   "aurc above the best",
			Meaning: "excess area under the risk-coverage curve: aurc minus that of an order with all errors last",
			Formula: "aurc - [E - (N-E) (H(N) - H(N-E))]/N, E errors, H the harmonic numbers", Range: "[0, 1]", Better: Lower,
			Source: "Geifman, Uziel and El-Yaniv 2019",
			value:  risk((*rank.Ranking).EAURC, func(i *rank.Intervals) metrics.Interval { return i.EAURC }, 0),
		},
		{
			Name: "augrc", applies: always, Options: riskOwn.String(), own: riskOwn, check: riskOwn.check, event: decision, uncut: true, ranked: true, random: true,
			Short:   "mean silent failures",
			Meaning: "area under the generalized risk-coverage curve: mean share of rows that are answered and wrong",
			Formula: "sum_cells (m E + e m/2)/N^2, e errors among m rows, E before: (1-AUROC) a (1-a) + (1-a)^2/2, a the accuracy", Range: "[0, 1/2]", Better: Lower,
			Source: "Traub et al. 2024",
			value:  risk((*rank.Ranking).AUGRC, func(i *rank.Intervals) metrics.Interval { return i.AUGRC }, 0),
		},
		{
			Name: "oracle_accuracy", applies: always, Options: budgetOwn.String(), own: budgetOwn, check: budgetOwn.check, event: decision, uncut: true, ranked: true,
			Short:   "accuracy with an oracle",
			Meaning: "accuracy if an oracle answers the given fraction of rows, the least confident",
			Formula: "(floor(f N) + right rows among the others)/N, f the fraction, " + withDoubt, Range: "[0, 1]", Better: Higher,
			Source: "Kivlichan et al. 2021 (oracle-collaborative accuracy); bins: uncertainty_metrics",
			value: bare(func(e *Evaluation, m Metric) (float64, float64) {
				return e.ranking().OracleAccuracy(budgetOwn.budget(m))
			}, noRows),
		},
		{
			Name: "oracle_auc", applies: two, needs: onlyTwo, Options: oracleOwn.String(), own: oracleOwn, check: gridOK(oracleOwn), ofTwo: true,
			Short:   "auroc with an oracle",
			Meaning: "area under the ROC curve if an oracle answers the given fraction of rows, at each threshold those nearest to it",
			Formula: "area under (FPR, TPR), at each threshold without the errors of the floor(f N) rows next to it, f the fraction", Range: "[0, 1]", Better: Higher,
			Source: "Kivlichan et al. 2021 (oracle-collaborative AUC); thresholds: robustness_metrics",
			value: bare(func(e *Evaluation, m Metric) (float64, float64) {
				o := rank.OracleOptions{Budget: oracleOwn.budget(m), Curve: rank.Curve(oracleOwn.of(m, "curve")),
					Thresholds: int(oracleOwn.of(m, "thresholds")), Summation: rank.Summation(oracleOwn.of(m, "summation"))}
				if w := oracleOwn.of(m, "within"); w >= 0 {
					o.Within = &w
				}
				return e.positives().OracleAUC(&o)
			}, oneOutcome),
		},
		{
			Name: "abstain_precision", applies: always, Options: budgetOwn.String(), own: budgetOwn, check: budgetOwn.check, event: decision, uncut: true, ranked: true,
			Short:   "errors among withheld",
			Meaning: "share of errors among the given fraction of rows that are withheld, the least confident",
			Formula: "errors among the floor(f N) rows / floor(f N), f the fraction, " + withDoubt, Range: "[0, 1]", Better: Higher,
			Source: "Kivlichan et al. 2021; bins: uncertainty-baselines",
			value: bare(func(e *Evaluation, m Metric) (float64, float64) {
				return e.ranking().AbstainPrecision(budgetOwn.budget(m))
			},
				"no row is withheld: the fraction is less than a row"),
		},
		{
			Name: "abstain_recall", applies: always, Options: budgetOwn.String(), own: budgetOwn, check: budgetOwn.check, event: decision, uncut: true, ranked: true,
			Short:   "errors that are withheld",
			Meaning: "share of all errors that are among the given fraction of rows withheld, the least confident",
			Formula: "errors among the floor(f N) rows / errors, f the fraction, " + withDoubt, Range: "[0, 1]", Better: Higher,
			Source: "Kivlichan et al. 2021; bins: uncertainty-baselines",
			value: bare(func(e *Evaluation, m Metric) (float64, float64) {
				return e.ranking().AbstainRecall(budgetOwn.budget(m))
			},
				"no row is wrong"),
		},
		{
			Name: "retention_accuracy", applies: always, Options: retainOwn.String(), own: retainOwn, check: retainOwn.check, event: decision, uncut: true, ranked: true,
			Short:   "mean accuracy retained",
			Meaning: "mean accuracy over all numbers of rows retained, the most confident first; the others are left out, or with oracle count as right",
			Formula: "(1/(N+1)) (1 + sum_k right among the k most confident / k)", Range: "[0, 1]", Better: Higher,
			Source: "Filos et al. 2019; uncertainty-baselines",
			value: bare(func(e *Evaluation, m Metric) (float64, float64) {
				return e.ranking().RetentionAccuracy(&rank.AreaOptions{Oracle: retainOwn.of(m, "oracle") != 0, Trapezoid: retainOwn.of(m, "trapezoid") != 0})
			}, noRows),
		},
		{
			Name: "retention_nll", applies: always, Options: retainOwn.String(), own: retainOwn, check: retainOwn.check, keeps: ofRetention(rank.NLL), retained: true,
			Short:   "mean nll retained",
			Meaning: "mean NLL over all numbers of rows retained, the most confident first; the others are left out, or with oracle count as 0",
			Formula: "(1/(N+1)) sum_k sum of NLL of the k most confident / k", Range: "[0, Inf)", Better: Lower,
			Source: "uncertainty-baselines",
			value:  retention(rank.NLL),
		},
		{
			Name: "ood_auroc", Default: true, applies: withOut, needs: needsOut, Options: oodOwn.String(), own: oodOwn, check: oodOwn.check, keeps: ofScores,
			Short:   "tells OOD rows apart",
			Meaning: "how well an uncertainty score separates out-of-distribution rows from the others: area under the ROC curve",
			Formula: "share of pairs in which the out-of-distribution row has the higher score, equal scores counting half", Range: "[0, 1]", Better: Higher,
			Source: "Hendrycks and Gimpel 2017; Liu et al. 2020 (energy); Sensoy et al. 2018 (Dempster-Shafer)",
			value: ood(func(o *rank.OOD, _ Metric, v *Value, level float64) {
				v.Value, v.Bound = o.AUROC()
				if v.Interval = o.AUROCInterval(level); !math.IsNaN(v.Interval.Low) {
					v.Method, v.Reason = aurocMethod(o.Newcombe()), ""
				}
			}),
		},
		{
			Name: "ood_auprc_in", applies: withOut, needs: needsOut, Options: oodPROwn.String(), own: oodPROwn, check: oodPROwn.check, keeps: ofScores,
			Short:   "pr area of other rows",
			Meaning: "area under the precision-recall curve of the in-distribution rows, found by a low score",
			Formula: "average precision, lowest scores first, in-distribution rows positive", Range: "[0, 1]", Better: Higher,
			Source: "Hendrycks and Gimpel 2017",
			value: ood(func(o *rank.OOD, m Metric, v *Value, _ float64) {
				v.Value, v.Bound = o.AUPRCIn(rank.PRArea(oodPROwn.of(m, "area")))
			}),
		},
		{
			Name: "ood_auprc_out", applies: withOut, needs: needsOut, Options: oodPROwn.String(), own: oodPROwn, check: oodPROwn.check, keeps: ofScores,
			Short:   "pr area of OOD rows",
			Meaning: "area under the precision-recall curve of the " + outMeaning,
			Formula: "average precision, highest scores first, out-of-distribution rows positive", Range: "[0, 1]", Better: Higher,
			Source: "Hendrycks and Gimpel 2017",
			value: ood(func(o *rank.OOD, m Metric, v *Value, _ float64) {
				v.Value, v.Bound = o.AUPRCOut(rank.PRArea(oodPROwn.of(m, "area")))
			}),
		},
		{
			Name: "ood_fpr95", Default: true, applies: withOut, needs: needsOut, Options: oodFPROwn.String(), own: oodFPROwn, check: oodFPROwn.check, keeps: ofScores,
			Short:   "false alarms at 95%",
			Meaning: "share of in-distribution rows flagged at the threshold that finds 95% of the out-of-distribution rows",
			Formula: "FPR at the first threshold with TPR >= found, 0.95 where unsaid; out-of-distribution rows positive", Range: "[0, 1]", Better: Lower,
			Source: "Hendrycks and Gimpel 2017; Liang et al. 2018",
			value:  ood(func(o *rank.OOD, m Metric, v *Value, _ float64) { v.Value, v.Bound = o.FPRAt(oodFPROwn.of(m, "found")) }),
		},
	}
}

type areasOf string // the metric without its average

var allEntries = statistic{"entries", rows, func() any { return rank.NewEntries() }}

// ofEntries returns the accumulator of an area over all entries.
func ofEntries(l choices) func(s *Spec, m Metric) []statistic {
	return func(s *Spec, m Metric) []statistic {
		if s.Classes > 2 && l.of(m, "average") == micro {
			return []statistic{allEntries}
		}
		return nil
	}
}

// entries returns the ranking of all entries.
func (e *Evaluation) entries() *rank.Ranking {
	type entries struct{}
	return remember(e, entries{}, func() *rank.Ranking { return statisticOf[*rank.Entries](e, rows, allEntries.key).Ranking() })
}

// perClass returns the answer for an area with averages over classes. For two classes it is that of two. For more it is the
// mean over classes, each against the others or pairwise, or the area over all entries.
func perClass(l choices, area func(r *rank.Ranking, m Metric) (area, bound float64), two func(e *Evaluation, m Metric) Value,
) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		mean := int(l.of(m, "average"))
		if e.Spec.Classes <= 2 || mean == noAverage {
			return two(e, m)
		}
		v := Value{Interval: metrics.NoInterval(), Reason: "no interval is computed"}
		switch mean {
		case micro:
			v.Value, v.Bound = area(e.entries(), m)
			return v
		case oneVsOne, oneVsOneWeighted:
			s := e.pairs
			if s.Over() {
				return e.beyondMemory(s.Bytes(), s.MaxBytes(), "")
			}
			type pairs struct{}
			all := remember(e, pairs{}, func() *rank.OneVsOne { return rank.PairedAUROC(s) })
			if v.Value = all.Macro(); mean == oneVsOneWeighted {
				v.Value = all.Weighted()
			}
			if math.IsNaN(v.Value) && s.Weighted() {
				v.Reason = noPairs
			} else if math.IsNaN(v.Value) && s.Len() > 0 {
				v.Reason = oneClass
			}
			return v
		}
		s := e.classEntries[e.plan.scoresOf(&byClass{})]
		if s.Err() != nil {
			return e.beyondMemory(s.Bytes(), s.Options().MaxBytes, "")
		}
		all := remember(e, areasOf(choices{average}.without(m).String()), func() *rank.OneVsRest {
			return rank.PerClass(s, func(r *rank.Ranking) (float64, float64) { return area(r, m) })
		})
		if v.Value, v.Bound = all.Macro(); mean == weighted {
			v.Value, v.Bound = all.Weighted()
		}
		if math.IsNaN(v.Value) && s.Len() > 0 {
			v.Reason = oneClass
		}
		return v
	}
}

// Ranking returns the ranking of the rows by an event's probability; for the top label, by the caller's confidence scores if
// there are any. ok reports whether a metric uses its cells.
func (e *Evaluation) Ranking(event calib.Event) (r *rank.Ranking, ok bool) {
	if e.Spec.Scored && event == calib.TopLabel {
		if !slices.ContainsFunc(e.plan.statistics, func(k statistic) bool { return k.key == retentionOf(rank.ZeroOne, true).key }) {
			return nil, false
		}
		return e.ranking(), true
	}
	if !slices.Contains(e.plan.cells, e.Spec.from(event)) {
		return nil, false
	}
	if event == calib.Positive {
		return e.positives(), true
	}
	return e.ranking(), true
}

// scores returns the scores of the out-of-distribution rows by the top probability, or nil if no metric uses them.
func (e *Evaluation) scores() *rank.Scores {
	key := fmt.Sprintf("scores %d", rank.MaxSoftmax)
	if !slices.ContainsFunc(e.plan.statistics, func(k statistic) bool { return k.key == key && k.fed == out }) {
		return nil
	}
	return statisticOf[*rank.Scores](e, out, key)
}

// away returns scores, or an empty accumulator.
func (e *Evaluation) away() *rank.Scores {
	if s := e.scores(); s != nil {
		return s
	}
	return rank.NewScores(rank.MaxSoftmax)
}

// Foreign compares the rows with the out-of-distribution ones by the top probability. It is nil if no metric does.
func (e *Evaluation) Foreign() *rank.OOD {
	s := e.scores()
	if s == nil {
		return nil
	}
	o, err := rank.NewOOD(statisticOf[*rank.Scores](e, rows, fmt.Sprintf("scores %d", rank.MaxSoftmax)), s)
	if err != nil {
		return nil
	}
	return o
}

// Rejection returns the rejection-classification curve, with the out-of-distribution rows if there are any, thinned to at
// most most points. A metric must use the cells of the top label.
func (e *Evaluation) Rejection(most int) []rank.RejectionPoint {
	return rank.RejectionClassification(e.cells(calib.TopLabel), e.away(), most)
}

// Confident returns the accuracy of the rows whose confidence reaches a threshold, at 100 thresholds from 0 to 1. It
// includes the out-of-distribution rows if there are any. A metric must use the cells of the top label.
func (e *Evaluation) Confident() []rank.Point {
	t := make([]float64, 101)
	for i := range t {
		t[i] = float64(i) / 100
	}
	return rank.ConfidenceAccuracy(e.cells(calib.TopLabel), e.away(), t)
}
