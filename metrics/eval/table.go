package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/score"
)

// Direction says which values of a metric are better.
type Direction string

const (
	Lower   Direction = "lower"
	Higher  Direction = "higher"
	Zero    Direction = "zero"
	Neither Direction = "none"
)

// Descriptor describes a metric.
type Descriptor struct {
	Name    string
	Short   string // a few words, for a table
	Meaning string // one line, for people
	Formula string
	Options string // "" if there are none
	Range   string
	Better  Direction
	Source  string
	Default bool         // in the default set
	Named   bool         // only if named: "all" skips it, as it requires an option or costs more
	Whole   bool         // values are numbers of rows
	Also    []Descriptor // meanings of the name for other predictions

	needs    need               // predictions it applies to, if not all with classes
	defaults func(s Shape) bool // whether it is in the default set for this shape; nil: Default decides
	applies  func(s Shape) bool
	check    func(m Metric) error
	event    func(base calib.Options, classes int) calib.Event // event of a metric over bins or cells of scores; nil for others
	ofTwo    bool                                              // over cells of class 1, or with more than two classes of each
	uncut    bool                                              // over cells, not bins
	ranked   bool                                              // over rows ranked by confidence of the decisions, or by confidence scores
	retained bool                                              // over the cells of its statistic, which are by the confidence of the decisions
	own      choices                                           // its own options, besides those of bins if it is over bins
	random   bool                                              // draws random numbers
	norm     norm                                              // for a metric over bins
	keeps    func(s *Spec, m Metric) []statistic               // its own accumulators; nil if it has none
	classes  *byClass                                          // options of a metric over bins of each class, except the number of bins; nil for others
	rules    []Field                                           // further rules that documents state, since systems differ in them
	value    func(e *Evaluation, m Metric) Value
	text     func(e *Evaluation, m Metric) string // nil if the formula is the full definition
	tex      string
	ends     [2][]end // of Range, one for each of its alternatives
}

// Value is the value of a metric, with its interval.
type Value struct {
	Value    float64
	Interval metrics.Interval
	Method   string // how the interval was computed
	Reason   string // why there is no value, or no interval
	Count    int64  // number of rows behind the value, if only part of all rows; else 0
	Note     string // a remark, which documents list among their warnings
	// Bound is the most by which the value can differ from that of the rows themselves if the state keeps their scores on a
	// grid: 0 if it is exact, NaN if unknown. It is 0 if there is no value.
	Bound  float64
	Chance Chance // of an ECE; zero for other metrics
	// Expected is the value for a calibrated forecast if it differs from what the metric's name suggests, as for the
	// coverage of samples; else 0.
	Expected float64
	Clusters int     // number of clusters that the interval is found from; else 0
	DF       float64 // degrees of freedom of Student's distribution, of an interval by clusters; else 0

	uncut metrics.Interval // Interval before it was cut to the metric's range, if it was
	isCut bool
}

// Chance describes the value that an ECE would have by chance alone.
type Chance struct {
	Known bool    // false with weights, and for entries of all classes
	Floor float64 // its mean under calibration, as ece_floor
	P     float64 // probability of an ECE at least this large, as ece_p
}

func always(s Shape) bool { return s.HasClasses() }
func two(s Shape) bool    { return s.HasClasses() && s.Classes <= 2 }
func many(s Shape) bool   { return s.HasClasses() && s.Classes > 5 }

const (
	binOptions = "bins=N, adaptive, norm=l1|l2|max, closed=left|right, " + ruleOptions
)

func noOptions(m Metric) error {
	if len(m.args) > 0 {
		return fmt.Errorf("it takes no options")
	}
	return nil
}

func binOptionsOK(m Metric) error {
	_, err := m.binned(calib.Options{}, 2, calib.TopLabel, l1)
	return err
}

// byShape is the event of plain ece: that of the base, or by the shape of the predictions.
func byShape(base calib.Options, classes int) calib.Event {
	if base.Event == calib.ByShape && classes == 1 {
		return calib.Positive
	}
	return calib.TopLabel
}

func positive(calib.Options, int) calib.Event { return calib.Positive }
func topLabel(calib.Options, int) calib.Event { return calib.TopLabel }

// noNorm rejects a norm for metrics whose name implies one.
func noNorm(m Metric) error {
	for _, a := range m.args {
		if a.name == "norm" {
			return errors.New("its name says the norm; ece takes one")
		}
	}
	return binOptionsOK(m)
}

// debiasedOwn selects what is subtracted from squared gaps.
var debiasedOwn = choices{{name: "variance", words: []string{"gap", "kumar"}}}

func debiasedOK(m Metric) error {
	for _, a := range m.args {
		if i := debiasedOwn.index(a.name); i >= 0 {
			if _, err := debiasedOwn[i].read(a.value); err != nil {
				return err
			}
		}
	}
	return noNorm(debiasedOwn.without(m))
}

func evenOnly(m Metric) error {
	for _, a := range m.args {
		if a.name == "adaptive" {
			return errors.New("it is for fixed bins, not for adaptive ones")
		}
	}
	return noNorm(m)
}

func massOptionsOK(m Metric) error {
	for _, a := range m.args {
		if a.name != "bins" && a.name != "norm" {
			return fmt.Errorf("there is no option %q; there are bins, norm", a.name)
		}
	}
	return binOptionsOK(m)
}

// The class-wise errors, except for their number of bins.
var (
	static      = &byClass{}
	adaptive    = &byClass{adaptive: true}
	thresholded = &byClass{adaptive: true, threshold: new(0.01)}
)

func classesOK(def *byClass) func(m Metric) error {
	return func(m Metric) error {
		_, err := m.classwise(calib.DefaultBins, *def, false)
		return err
	}
}

const (
	wilson        = "Wilson score interval; rows taken as independent"
	normal        = "mean +- z*s/sqrt(n); rows taken as independent"
	squaredMethod = "normal interval by the influence of rows, at least as under calibration; rows taken as independent"
	eceMethod     = "bias-corrected normal interval over fixed bins; rows taken as independent"
)

// table lists all metrics, in the order of documents.
var table []Descriptor

func init() {
	d := descriptors()
	before := func(name string, more []Descriptor) {
		d = slices.Insert(d, slices.IndexFunc(d, func(d Descriptor) bool { return d.Name == name }), more...)
	}
	before("calibration_auc", inOrder())
	before("nll", inEvents())
	table = slices.Concat(d, inScores(), inTokens(), classSharpness(), inRanks(), inActing(), inMembers(), inNumbers(), inForecasts(), inSurvival(), inVectors(), inVectorsOfClasses(), inScaled(), inSlices())
	for i := range table {
		if d := &table[i]; slices.Contains(ofClasses, d.Name) || slices.Contains(ofEvents, d.Name) {
			d.Default, d.defaults = true, func(s Shape) bool {
				if s.Classes == 1 {
					return slices.Contains(ofEvents, d.Name)
				}
				return slices.Contains(ofClasses, d.Name)
			}
		}
	}
	for i := range table {
		table[i].withExact()
	}
	also(table, alsoForecasts()...)
	written(table)
	bounded(table)
} // in init, since the answers look up their metric in the table

func descriptors() []Descriptor {
	return []Descriptor{
		{
			Name: "accuracy", applies: always, check: noOptions,
			Short:   "share of rows right",
			Meaning: "share of rows whose most probable class is the true one",
			Formula: "mean [argmax_k p_k = y], the first of equals: p_1 = 1/2 is class 0", Range: "[0, 1]", Better: Higher, Source: "standard",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.Loss.Accuracy(), Interval: e.Loss.AccuracyInterval(e.Spec.Level), Method: e.byWeights(wilson)}
			},
		},
		{
			Name: "top5_accuracy", applies: many, needs: need{text: "it is for more than five classes"}, check: noOptions,
			Short:   "true class in the top 5",
			Meaning: "share of rows whose true class is among the five most probable",
			Formula: "mean [#{s_j > s_y} + #{j < y: s_j = s_y} < 5]", Range: "[0, 1]", Better: Higher, Source: "standard",
			value: func(e *Evaluation, m Metric) Value { return topK(e, 5) },
		},
		{
			Name: "topk_accuracy", Named: true, applies: always, Options: topOwn.String(), own: topOwn, check: topOwn.check, keeps: ofPlaces,
			Short:   "true class in the top k",
			Meaning: "share of rows whose true class is among the k most probable",
			Formula: "mean [#{s_j > s_y} + #{j < y: s_j = s_y} < k]", Range: "[0, 1]", Better: Higher,
			Source: "standard; ties=last: scikit-learn; ties=all: Keras, TensorFlow's in_top_k",
			value: func(e *Evaluation, m Metric) Value {
				if p := ofPlaces(&e.Spec, m); p != nil {
					t := statisticOf[*score.TopHits](e, rows, p[0].key)
					return Value{Value: t.Value(), Interval: t.Interval(e.Spec.Level), Method: wilson}
				}
				return topK(e, m.k())
			},
			text: func(e *Evaluation, m Metric) string {
				ties := []string{" + #{j < y: s_j = s_y}", " + #{j > y: s_j = s_y}", ""}[int(topOwn.of(m, "ties"))]
				return fmt.Sprintf("mean [#{s_j > s_y}%s < %d]", ties, m.k())
			},
		},
		{
			Name: "confidence", applies: always, check: noOptions,
			Short:   "mean top probability",
			Meaning: "mean probability that the model gives to its most probable class",
			Formula: "mean max_k p_k", Range: "[1/K, 1]", Better: Neither, Source: "standard",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.Loss.Confidence(), Interval: e.Loss.ConfidenceInterval(e.Spec.Level), Method: e.byWeights(normal)}
			},
		},
		{
			Name: "overconfidence", applies: always, check: noOptions,
			Short:   "confidence - accuracy",
			Meaning: "confidence minus accuracy: above 0 the model is overconfident",
			Formula: "mean (max_k p_k - [argmax_k p_k = y])", Range: "[-1, 1]", Better: Zero, Source: "standard",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.Loss.Overconfidence(), Interval: e.Loss.OverconfidenceInterval(e.Spec.Level), Method: e.byWeights(meanMethod)}
			},
		},
		{
			Name: "base_rate", applies: two, needs: onlyTwo, check: noOptions,
			Short:   "share of class 1",
			Meaning: "share of rows whose true class is 1",
			Formula: "mean y", Range: "[0, 1]", Better: Neither, Source: "standard",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.Loss.BaseRate(), Interval: e.Loss.BaseRateInterval(e.Spec.Level), Method: e.byWeights(wilson)}
			},
		},
		{
			Name: "nll", applies: always, own: nllOwn, check: nllOK, Options: nllOwn.String(), keeps: ofClipped, text: nllText,
			Short:   "surprise at truth, nats",
			Meaning: "negative log-likelihood: surprise at the true class, in nats",
			Formula: unclipped + "; with clip, of p in [clip, 1 - clip]", Range: "[0, +Inf]", Better: Lower, Source: "Good 1952; clip: scikit-learn; rescale: Keras",
			value: func(e *Evaluation, m Metric) Value {
				v0, _ := e.implied()
				if k := ofClipped(&e.Spec, m); k != nil {
					c := statisticOf[*score.Clipped](e, rows, k[0].key)
					return Value{Value: c.Value(), Interval: c.IntervalAtLeast(e.Spec.Level, v0), Method: e.byWeights(lossMethod)}
				}
				v := Value{Value: e.Loss.NLL(), Interval: e.Loss.NLLIntervalAtLeast(e.Spec.Level, v0), Method: e.byWeights(lossMethod)}
				if n := e.Loss.InfiniteRows(); n > 0 {
					v.Count = n
					v.Reason = e.infiniteText()
				}
				return v
			},
		},
		{
			Name: "nll_infinite_rows", Whole: true, applies: always, check: noOptions,
			Short:   "true class had p = 0",
			Meaning: "rows whose true class was given probability 0",
			Formula: "#{p_y = 0}", Range: "[0, N]", Better: Lower, Source: "candor",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: float64(e.Loss.InfiniteRows()), Interval: metrics.NoInterval(), Reason: "a count"}
			},
		},
		{
			Name: "perplexity", applies: always, check: noOptions,
			Short:   "exp(nll)",
			Meaning: "exp(nll): as uncertain as a choice among this many equally likely classes",
			Formula: "exp(mean -ln p_y)", Range: "[1, +Inf]", Better: Lower, Source: "Jelinek et al. 1977",
			value: func(e *Evaluation, m Metric) Value {
				v0, _ := e.implied()
				v := Value{Value: e.Loss.Perplexity(), Interval: e.Loss.PerplexityIntervalAtLeast(e.Spec.Level, v0), Method: "exp of nll's interval"}
				if e.Loss.InfiniteRows() > 0 {
					v.Reason = "nll is infinite"
				}
				return v
			},
		},
		{
			Name: "brier", applies: always, Options: "form=default|sum|minus_one|binary|per_class",
			check:   func(m Metric) error { _, err := m.form(0); return err },
			Short:   "squared error of p",
			Meaning: "squared distance of the probabilities from the truth",
			Formula: "mean sum_k (p_k - [y = k])^2; binary: mean (p - y)^2", Range: "[0, 2]; binary [0, 1]", Better: Lower, Source: "Brier 1950",
			value: func(e *Evaluation, m Metric) Value {
				f, _ := m.form(e.Spec.Brier)
				_, v0 := e.implied()
				v := Value{Value: e.Loss.Brier(f), Interval: e.Loss.BrierIntervalAtLeast(f, e.Spec.Level, v0), Method: e.byWeights(lossMethod)}
				if f == score.BrierBinary && math.IsNaN(v.Value) {
					v.Reason = "the binary form is for two classes"
				}
				if f == score.BrierMinusOne && len(m.args) == 0 {
					v.Note = minusOne
				}
				return v
			},
			text: brierText,
		},
		{
			Name: "entropy", applies: always, check: noOptions,
			Short:   "stated doubt, in nats",
			Meaning: "mean entropy of the probabilities: how uncertain the model says it is, in nats",
			Formula: "mean -sum_k p_k ln p_k", Range: "[0, ln K]", Better: Neither, Source: "Shannon 1948",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.Loss.Entropy(), Interval: e.Loss.EntropyInterval(e.Spec.Level), Method: e.byWeights(normal)}
			},
		},
		{
			Name: "ece", applies: always, check: binOptionsOK, Options: binOptions, event: byShape,
			Short:   "mean gap over bins",
			Meaning: "expected calibration error: mean gap between confidence and accuracy, by bins",
			Formula: "(1/N) sum_bins |sum (p - y)|", Range: "[0, 1]", Better: Lower,
			Source: "Naeini et al. 2015; Guo et al. 2017", value: ece,
		},
		{
			Name: "ece_positive", applies: two, needs: onlyTwo, check: binOptionsOK, Options: binOptions, event: positive,
			Short:   "ece of P(y = 1)",
			Meaning: "ece of the probability of class 1",
			Formula: "(1/N) sum_bins |sum (p_1 - [y = 1])|", Range: "[0, 1]", Better: Lower, Source: "Naeini et al. 2015", value: ece,
		},
		{
			Name: "ece_top_label", applies: two, needs: onlyTwo, check: binOptionsOK, Options: binOptions, event: topLabel,
			Short:   "ece of top probability",
			Meaning: "ece of the probability of the most probable class",
			Formula: "(1/N) sum_bins |sum (max_k p_k - hit)|", Range: "[0, 1]", Better: Lower, Source: "Guo et al. 2017", value: ece,
		},
		{
			Name: "ece_floor", applies: always, check: evenOnly, Options: fixedOptions, event: byShape,
			Short:   "mean ece by chance",
			Meaning: "the ece that perfect calibration would show on average at this N",
			Formula: "sqrt(2/pi) sum_bins sqrt(sum p(1-p)) / N", Range: "[0, 1]", Better: Neither, Source: "candor",
			value: calibrated((*calib.Partition).Floor, "a mean under calibration, not an estimate"),
		},
		{
			Name: "ece_floor_q95", applies: always, check: evenOnly, Options: fixedOptions, event: byShape,
			Short:   "ece by chance, 95% below",
			Meaning: "the ece below which perfect calibration stays in 95% of sets of this N",
			Formula: "95% quantile of sum_bins |Z_b|, Z_b normal of variance sum p(1-p) / N^2", Range: "[0, 1]", Better: Neither, Source: "candor",
			value: calibrated((*calib.Partition).FloorQ95, "a quantile under calibration, not an estimate"),
		},
		{
			Name: "ece_p", applies: always, check: evenOnly, Options: fixedOptions, event: byShape,
			Short:   "p-value of ece",
			Meaning: "p-value of perfect calibration: with enough rows it falls to 0 for every real model",
			Formula: "P(sum_bins |Z_b| >= ece), Z_b normal of variance sum p(1-p) / N^2", Range: "[0, 1]", Better: Neither, Source: "candor",
			value: calibrated((*calib.Partition).P, "a p-value, not an estimate"),
		},
		{
			Name: "detectable_gap", applies: always, check: noOptions, event: byShape,
			Short:   "gap that N rows can show",
			Meaning: "smallest gap between confidence and accuracy that this many rows can detect (5% level, power 0.8)",
			Formula: "2.80 sqrt(sum p(1-p)) / N", Range: "[0, 1.4]", Better: Neither, Source: "candor",
			value: calibrated((*calib.Partition).DetectableGap, "a property of the set, not an estimate"),
		},
		{
			Name: "mce", applies: always, check: noNorm, Options: oneNorm, event: byShape, norm: largest,
			Short:   "largest gap of a bin",
			Meaning: "maximum calibration error: the largest gap of any bin, however few rows it has",
			Formula: "max_bins |mean p - mean y|", Range: "[0, 1]", Better: Lower, Source: "Naeini et al. 2015; Guo et al. 2017", value: ece,
		},
		{
			Name: "rmsce", applies: always, check: noNorm, Options: oneNorm, event: byShape, norm: l2,
			Short:   "rms gap over bins",
			Meaning: "root-mean-square calibration error: root mean square of the gaps, over the bins of ece",
			Formula: "sqrt(sum_bins (n_b/N) (mean p - mean y)^2)", Range: "[0, 1]", Better: Lower, Source: "Hendrycks et al. 2019", value: ece,
		},
		{
			Name: "rmsce_debiased", applies: always, own: debiasedOwn, check: debiasedOK, Options: oneNorm + ", " + debiasedOwn.String(), event: byShape, norm: l2,
			Short:   "rmsce less chance",
			Meaning: "root-mean-square calibration error less the part that is due to chance",
			Formula: "sqrt(max(0, sum_bins (n_b/N) (gap_b^2 - v_b/n_b))), v_b the sample variance of y - p, n_b >= 2", Range: "[0, 1]", Better: Lower,
			Source: "Kumar et al. 2019",
			value: func(e *Evaluation, m Metric) Value {
				p, bound := e.partition(m)
				v := Value{Value: p.Debiased(), Interval: metrics.NoInterval(), Reason: noSound, Bound: unknown(bound)}
				if debiasedOwn.of(m, "variance") != 0 {
					v.Value = p.DebiasedKumar()
				}
				if why := p.DebiasedReason(); why != "" {
					v.Reason = why
				}
				return v
			},
			text: func(e *Evaluation, m Metric) string {
				return e.text(e.binning(m)) + "; " + debiasedOwn.formula(Describe(m.Name).Formula, m)
			},
		},
		{
			Name: "calibration_error_squared", applies: always, check: noNorm, Options: oneNorm, event: byShape, norm: l2,
			Short:   "squared gap less chance",
			Meaning: "mean squared calibration error less the part that is due to chance: unbiased, so it can be below 0, and so are its differences",
			Formula: "sum_bins (n_b/N) (gap_b^2 - v_b/n_b), v_b the sample variance of y - p, n_b >= 2", Range: "[-1, 1]", Better: Lower,
			Source: "Kumar et al. 2019; Lee et al. 2022",
			value: func(e *Evaluation, m Metric) Value {
				p, bound := e.partition(m)
				v := Value{Method: squaredMethod, Bound: unknown(bound)}
				if v.Value, v.Interval = p.Squared(e.Spec.Level); p.DebiasedReason() != "" {
					v.Reason = p.DebiasedReason()
				} else if e.Spec.Cluster != "" {
					return e.squaredOfClusters(e.binning(m), p, v)
				}
				return v
			},
			text: func(e *Evaluation, m Metric) string {
				b, d := e.binning(m), Describe(m.Name)
				t := e.text(b) + "; " + b.formula(d.Formula, d.norm)
				if e.Spec.Cluster != "" {
					t += "; v_b/n_b by clusters, of which a bin has two or more"
				}
				return t
			},
		},
		{
			Name: "ece_unweighted", applies: always, check: noNorm, Options: oneNorm, event: byShape,
			Short:   "each bin counts once",
			Meaning: "mean gap over nonempty bins, each with equal weight: netcal's ACE, not ace",
			Formula: "(1/B') sum_bins |mean p - mean y|, B' bins that have rows", Range: "[0, 1]", Better: Lower,
			Source: "Neumann et al. 2018",
			value: func(e *Evaluation, m Metric) Value {
				p, bound := e.partition(m)
				return Value{Value: p.EqualWeight(), Interval: metrics.NoInterval(), Reason: noSound, Bound: unknown(bound)}
			},
		},
		{
			Name: "ace", applies: always, check: classesOK(adaptive), Options: classOptions, classes: adaptive,
			Short:   "equal-mass, each class",
			Meaning: "adaptive calibration error: mean gap over equal-mass bins, of all classes",
			Formula: "(1/K) sum_k (1/N) sum_bins |sum (p_k - [y = k])|", Range: "[0, 1]", Better: Lower, Source: "Nixon et al. 2019", value: classwise,
		},
		{
			Name: "sce", applies: always, check: classesOK(static), Options: evenClassOptions, classes: static, keeps: ofChosen,
			Short:   "equal-width, each class",
			Meaning: "static calibration error: mean gap over equal-width bins, of all classes",
			Formula: "(1/K) sum_k (1/N) sum_bins |sum (p_k - [y = k])|", Range: "[0, 1]", Better: Lower, Source: "Nixon et al. 2019", value: classwise,
		},
		{
			Name: "tace", applies: always, check: classesOK(thresholded), Options: classOptions, classes: thresholded,
			Short:   "ace above a threshold",
			Meaning: "thresholded ace: only probabilities above a threshold, by default 0.01",
			Formula: "(1/K) sum_k (1/N_k) sum_bins |sum (p_k - [y = k])|, over the N_k entries above the threshold", Range: "[0, 1]", Better: Lower,
			Source: "Nixon et al. 2019", value: classwise,
		},
		{
			Name: "ece_equal_mass", applies: always, check: massOptionsOK, Options: "bins=N, norm=l1|l2|max", event: byShape,
			Short:   "ece, bins of equal mass",
			Meaning: "ece over bins of equal mass: ece(adaptive); equal scores at an edge go to the bin above",
			Formula: "(1/N) sum_bins |sum (p - y)|", Range: "[0, 1]", Better: Lower, Source: "Nguyen and O'Connor 2015", value: ece,
		},
		{
			Name: "ece_sweep", applies: always, check: noOptions, event: byShape, uncut: true,
			Short:   "ece, most rising bins",
			Meaning: "ece over the largest number of equal-mass bins whose frequencies rise from bin to bin",
			Formula: "(1/N) sum_bins |sum (p - y)| over the largest number of bins whose frequencies rise", Range: "[0, 1]", Better: Lower,
			Source: "Roelofs et al. 2022",
			value: func(e *Evaluation, m Metric) Value {
				v := Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: "no interval: the scores chose the bins"}
				p, bound := calib.SweepOf(e.cells(e.binning(m).Event))
				v.Value, v.Bound = p.ECE(), bound
				return v
			},
			text: func(e *Evaluation, m Metric) string {
				return e.text(&binning{Options: e.binning(m).Options, adaptive: true}) + "; " + Describe(m.Name).Formula
			},
		},
		{
			Name: "calibration_auc", applies: always, check: noOptions, event: decision, uncut: true, ranked: true,
			Short:   "tells right from wrong",
			Meaning: "how well confidence tells right from wrong: area under the ROC curve for being right",
			Formula: "sum_g w+_g (W-_<g + w-_g/2) / (W+ W-) over cells g of equal confidence, + right and - wrong", Range: "[0, 1]", Better: Higher,
			Source: "Kivlichan et al. 2021; DeLong et al. 1988",
			value: func(e *Evaluation, m Metric) Value {
				r := e.ranking()
				v := Value{Interval: r.AUROCInterval(e.Spec.Level), Method: aurocMethod(r.Newcombe())}
				v.Value, v.Bound = r.AUROC()
				switch {
				case math.IsNaN(v.Value) && e.Audit.Rows > 0:
					v.Reason = "all rows are right, or all are wrong"
				case math.IsNaN(v.Interval.Low) && e.Audit.Weighted:
					v.Reason = noWeighted
				case math.IsNaN(v.Interval.Low):
					v.Reason = "no interval for fewer than two rows right or wrong"
				}
				return v
			},
		},
		{
			Name: "aurc", applies: always, Options: aurcOwn.String(), own: aurcOwn, check: aurcOwn.check, event: decision, uncut: true, ranked: true, random: true,
			Short:   "error, surest rows first",
			Meaning: "area under the risk-coverage curve: mean error rate, most confident rows first",
			Formula: "(1/N) sum_k (errors among the k most confident rows)/k, ties in random order", Range: "[0, 1]", Better: Lower,
			Source: "Geifman and El-Yaniv 2017",
			value: func(e *Evaluation, m Metric) Value {
				if n := int(aurcOwn.of(m, "replicates")); n > 0 {
					return risk((*rank.Ranking).AURC, func(i *rank.Intervals) metrics.Interval { return i.AURC }, n)(e, m)
				}
				v := Value{Interval: metrics.NoInterval(), Reason: "no interval is drawn unless it is asked for: aurc(replicates=200)"}
				v.Value, v.Bound = e.ranking().AURC()
				return v
			},
		},
	}
}

func decision(calib.Options, int) calib.Event { return calib.TopLabel }

const (
	fixedOptions = "bins=N, closed=left|right, " + ruleOptions
	oneNorm      = "bins=N, adaptive, closed=left|right, " + ruleOptions
	ruleOptions  = "one=last|overflow|last_only, zero=first|dropped|nobin|own, index=edges|divided|floor|edges32|torch, blog_edges"

	deLong     = "DeLong's, of the ranks; rows taken as independent"
	newcombe   = "Newcombe's score interval with Hanley and McNeil's variance, as there are fewer than 100 rows of one outcome; rows taken as independent"
	mceMethod  = "simultaneous over the bins; rows taken as independent"
	noSound    = "no sound interval is known"
	noWeighted = "no sound interval is known for weighted rows"
	noneAbove  = "no probability is above the threshold"
	minusOne   = "the sum of squares minus 1, from -1 to 1, as uncertainty_metrics and tfp have it"
)

// aurocMethod names the method of the interval of an area under the ROC.
func aurocMethod(few bool) string {
	if few {
		return newcombe
	}
	return deLong
}

// unknown converts a bound of ECE to one of another answer: a positive bound becomes NaN.
func unknown(bound float64) float64 {
	if bound > 0 {
		return math.NaN()
	}
	return bound
}

// calibrated returns the answer for a value under calibration.
func calibrated(answer func(*calib.Partition) float64, why string) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		p, bound := e.partition(m)
		v := Value{Value: answer(p), Interval: metrics.NoInterval(), Reason: why, Bound: unknown(bound)}
		if math.IsNaN(v.Value) {
			v.Reason = p.FloorReason()
		}
		return v
	}
}

// ece returns a calibration error over bins in its norm.
func ece(e *Evaluation, m Metric) Value {
	p, bound := e.partition(m)
	v := Value{Interval: metrics.NoInterval(), Reason: noSound, Bound: bound}
	switch e.binning(m).norm {
	case l1:
		v.Value, v.Interval, v.Method, v.Reason = p.ECE(), p.Interval(e.Spec.Level), eceMethod, p.IntervalReason()
		if p.FloorReason() == "" {
			v.Chance = Chance{true, p.Floor(), p.P()}
		}
	case l2:
		v.Value, v.Bound = p.RMSCE(), unknown(bound)
	case largest:
		v.Value, v.Count = p.MCE()
		v.Interval, v.Method, v.Reason, v.Bound = p.MCEInterval(e.Spec.Level), mceMethod, p.IntervalReason(), unknown(bound)
	}
	return v
}

// classwise returns a calibration error over bins of each class in its norm.
func classwise(e *Evaluation, m Metric) Value {
	c := e.byClass(m)
	v := Value{Interval: metrics.NoInterval(), Reason: noSound}
	if !c.adaptive {
		b := e.classBins(m)
		if v.Value = b.SCE(); c.norm == l2 {
			v.Value = b.RMS()
		}
		if math.IsNaN(v.Value) && b.Len() > 0 {
			v.Reason = noneAbove
		}
		return v
	}
	s := e.classScores(m)
	if s.Err() != nil {
		return e.beyondMemory(s.Bytes(), s.Options().MaxBytes, ", or give a threshold or take sce, whose memory does not grow with the rows")
	}
	if v.Value = s.ACE(c.bins); c.norm == l2 {
		v.Value = s.RMS(c.bins)
	}
	if math.IsNaN(v.Value) && s.Len() > 0 {
		v.Reason = noneAbove
	}
	return v
}

// beyondMemory returns the Value for entries of all classes that were not kept: it gives the bytes they need, the room there
// is, and what to do: allow more memory, or what besides suggests.
func (e *Evaluation) beyondMemory(need, room int64, besides string) Value {
	n, remedy, l := e.plan.keep(), "raise "+setting.Memory.String(), int64(e.Spec.Labels)
	switch {
	case need > math.MaxInt64/n:
	case e.Remedy != nil:
		remedy = e.Remedy(need * n)
	case l > 0: // they share the memory
		remedy += fmt.Sprintf(" by %d MiB", (need*n-e.Spec.Memory)>>20*l+l)
	}
	return Value{Value: math.NaN(), Interval: metrics.NoInterval(),
		Reason: fmt.Sprintf("its entries take %d bytes and there is room for %d: %s%s", need, room, remedy, besides)}
}

// brierText describes which score of that name is meant.
func brierText(e *Evaluation, m Metric) string {
	f, _ := m.form(e.Spec.Brier)
	const sum = "mean sum_k (p_k - [y = k])^2"
	switch f {
	case score.BrierMinusOne:
		return sum + " - 1"
	case score.BrierPerClass:
		return "(1/K) " + sum
	case score.BrierBinary:
		return "mean (p_1 - y)^2"
	case score.BrierDefault:
		if e.Spec.Classes == 1 {
			return "mean (p - y)^2"
		}
	}
	return sum
}

// topOwn are the options of top-k accuracy. The words for ties are in the order of score.TieRule.
var topOwn = choices{{name: "k", whole: true, least: 1, most: 1000, unsaid: 5}, {name: "ties", words: []string{"first", "last", "all"}}}

// k returns the k of a top-k accuracy.
func (m Metric) k() int { return int(topOwn.of(m, "k")) }

// ofPlaces returns the accumulator of a top-k accuracy whose rule for ties differs from that of the loss; nil for others.
func ofPlaces(_ *Spec, m Metric) []statistic {
	rule, k := score.TieRule(topOwn.of(m, "ties")), m.k()
	if rule == score.FirstOfTies {
		return nil
	}
	return []statistic{{fmt.Sprintf("top %d by rule %d", k, rule), rows, func() any { return metrics.Must(score.NewTopHits(k, rule)) }}}
}

func topK(e *Evaluation, k int) Value {
	return Value{Value: e.Loss.TopK(k), Interval: e.Loss.TopKInterval(k, e.Spec.Level), Method: e.byWeights(wilson)}
}

// infiniteText says how many rows make nll infinite, and gives its value without them.
func (e *Evaluation) infiniteText() string {
	n := e.Loss.InfiniteRows()
	return gaveNothing(n) + others(n, e.Audit.Rows, e.Loss.FiniteNLL())
}

// gaveNothing says for how many rows the true class had probability 0.
func gaveNothing(n int64) string {
	if n == 1 {
		return "1 row gave its true class probability 0"
	}
	return fmt.Sprintf("%d rows gave their true class probability 0", n)
}

// others gives a mean without the n rows, among all rows, that make it infinite.
func others(n, rows int64, finite float64) string {
	if n == rows {
		return "; there are no others"
	}
	return fmt.Sprintf("; the mean of the others is %.7g", finite)
}

// Descriptors returns the table, in the order of documents.
func Descriptors() []Descriptor { return append([]Descriptor(nil), table...) }

// Describe returns the descriptor of a metric, or nil if there is none with this name.
func Describe(name string) *Descriptor {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}

// In returns the descriptor for predictions of this shape: d itself, unless the name means something else there.
func (d *Descriptor) In(of Shape) *Descriptor {
	if d.applies(of) {
		return d
	}
	for i := range d.Also {
		if d.Also[i].applies(of) {
			return &d.Also[i]
		}
	}
	return d
}

// The default sets for classes. Metrics for ensembles and other special predictions are added to them.
var (
	ofClasses = []string{"accuracy", "nll", "brier", "brier_skill", "ece", "calibration_auc", "augrc"}
	ofEvents  = []string{"base_rate", "mean_p", "bias", "calibration_slope", "calibration_intercept", "nll", "brier", "brier_skill", "ece", "auroc"}
)

// inDefault reports whether the metric is in the default set for predictions of this shape.
func (d *Descriptor) inDefault(of Shape) bool {
	if d.defaults != nil {
		return d.defaults(of)
	}
	return d.Default
}

// describe returns the descriptor of a metric of the spec, or nil if there is none.
func (s *Spec) describe(m Metric) *Descriptor {
	d := Describe(m.Name)
	if d == nil {
		return nil
	}
	return d.In(s.Shape())
}

// need describes the predictions that a metric applies to: a format and its settings.
type need struct {
	text string
	by   []any
}

func (n need) String() string { return fmt.Sprintf(n.text, n.by...) }

var onlyTwo = need{text: "it is for binary tasks and two classes"}

// Applies describes the predictions that the metric applies to; "" stands for all with classes.
func (d *Descriptor) Applies() string { return d.needs.String() }

// appliesTo describes the predictions for which the name is a metric.
func (d *Descriptor) appliesTo() string {
	t := d.Applies()
	if t == "" {
		t = fmt.Sprintf("it is for probabilities of classes (%v)", setting.OfClasses)
	}
	for i := range d.Also {
		t += ", " + strings.TrimPrefix(d.Also[i].Applies(), "it is ")
	}
	return t
}

// also adds meanings for other predictions to names in the list. Name, options and what follows from them stay those of the
// first meaning.
func also(l []Descriptor, more ...Descriptor) {
	for _, v := range more {
		d := &l[slices.IndexFunc(l, func(d Descriptor) bool { return d.Name == v.Name })]
		d.Also = append(d.Also, v)
	}
}
