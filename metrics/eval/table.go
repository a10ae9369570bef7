package eval

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

// Direction says which values of a metric are good.
type Direction string

const (
	Lower   Direction = "lower"
	Higher  Direction = "higher"
	Zero    Direction = "zero"
	Neither Direction = "none"
)

// Descriptor says all there is to know of a metric.
type Descriptor struct {
	Name        string
	Short       string // in a few words, for a table
	Meaning     string // in a line, for people
	Formula     string
	Options     string // "" if there are none
	Range       string
	Better      Direction
	Source      string
	Default     bool   // it is in the default set
	NeedsOption bool   // it says nothing that another does not, without an option
	Whole       bool   // its values are numbers of rows
	Applies     string // to which predictions, where not to all

	applies func(classes int) bool
	check   func(m Metric) error
	binned  bool
	event   func(base calib.Options, classes int) calib.Event
	value   func(e *Evaluation, m Metric) Value
	text    func(e *Evaluation, m Metric) string // nil if the formula says all
}

// Value is a metric's answer.
type Value struct {
	Value    float64
	Interval metrics.Interval
	Method   string // how the interval was made
	Reason   string // why there is no value, or no interval
	Count    int64  // rows behind it, where they are few of all; 0 otherwise
}

func always(int) bool       { return true }
func two(classes int) bool  { return classes <= 2 }
func many(classes int) bool { return classes > 5 }

const (
	onlyTwo    = "it is for binary tasks and two classes"
	binOptions = "bins=N, closed=left|right, one=last|overflow|last_only, zero=first|dropped|nobin|own, index=edges|divided|floor|edges32, blog_edges, half_is_zero"
)

func noOptions(m Metric) error {
	if len(m.args) > 0 {
		return fmt.Errorf("it takes no options")
	}
	return nil
}

func binOptionsOK(m Metric) error {
	_, err := m.binned(calib.Options{}, 2, calib.TopLabel)
	return err
}

// byShape is the event of plain ece: the base's, or else by the shape of the predictions.
func byShape(base calib.Options, classes int) calib.Event {
	if base.Event == calib.ByShape && classes == 1 {
		return calib.Positive
	}
	return calib.TopLabel
}

func positive(calib.Options, int) calib.Event { return calib.Positive }
func topLabel(calib.Options, int) calib.Event { return calib.TopLabel }

const (
	wilson    = "Wilson score interval; rows taken as independent"
	normal    = "mean +- z*s/sqrt(n); rows taken as independent"
	eceMethod = "bias-corrected normal interval over fixed bins; rows taken as independent"
)

// table is the one list of metrics, in the order of documents.
var table []Descriptor

func init() { table = descriptors() } // the answers look their metric up in the table

func descriptors() []Descriptor {
	return []Descriptor{
		{
			Name: "accuracy", Default: true, applies: always, check: noOptions,
			Short:   "share of rows whose top class is the true one",
			Meaning: "share of rows whose most probable class is the true one",
			Formula: "mean [argmax_k p_k = y]", Range: "[0, 1]", Better: Higher, Source: "standard",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.Loss.Accuracy(), Interval: e.Loss.AccuracyInterval(e.Spec.Level), Method: wilson}
			},
		},
		{
			Name: "top5_accuracy", Default: true, applies: many, Applies: "it is for more than five classes", check: noOptions,
			Short:   "share with the true class among the top five",
			Meaning: "share of rows whose true class is among the five most probable",
			Formula: "mean [#{s_j > s_y} + #{j < y: s_j = s_y} < 5]", Range: "[0, 1]", Better: Higher, Source: "standard",
			value: func(e *Evaluation, m Metric) Value { return topK(e, 5) },
		},
		{
			Name: "topk_accuracy", NeedsOption: true, applies: always, Options: "k=5",
			check:   func(m Metric) error { _, err := m.k(); return err },
			Short:   "share with the true class among the top k",
			Meaning: "share of rows whose true class is among the k most probable",
			Formula: "mean [#{s_j > s_y} + #{j < y: s_j = s_y} < k]", Range: "[0, 1]", Better: Higher, Source: "standard",
			value: func(e *Evaluation, m Metric) Value { k, _ := m.k(); return topK(e, k) },
			text: func(e *Evaluation, m Metric) string {
				k, _ := m.k()
				return fmt.Sprintf("mean [#{s_j > s_y} + #{j < y: s_j = s_y} < %d]", k)
			},
		},
		{
			Name: "confidence", Default: true, applies: always, check: noOptions,
			Short:   "mean probability of the top class",
			Meaning: "mean probability that the model gives to its most probable class",
			Formula: "mean max_k p_k", Range: "[1/K, 1]", Better: Neither, Source: "standard",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.Loss.Confidence(), Interval: e.Loss.ConfidenceInterval(e.Spec.Level), Method: normal}
			},
		},
		{
			Name: "overconfidence", Default: true, applies: always, check: noOptions,
			Short:   "confidence - accuracy: claimed and not kept",
			Meaning: "confidence minus accuracy: above 0 the model claims more than it keeps",
			Formula: "mean (max_k p_k - [argmax_k p_k = y])", Range: "[-1, 1]", Better: Zero, Source: "standard",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.Loss.Overconfidence(), Interval: e.Loss.OverconfidenceInterval(e.Spec.Level), Method: normal}
			},
		},
		{
			Name: "base_rate", Default: true, applies: two, Applies: onlyTwo, check: noOptions,
			Short:   "share of rows whose true class is 1",
			Meaning: "share of rows whose true class is 1",
			Formula: "mean y", Range: "[0, 1]", Better: Neither, Source: "standard",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.Loss.BaseRate(), Interval: e.Loss.BaseRateInterval(e.Spec.Level), Method: wilson}
			},
		},
		{
			Name: "nll", Default: true, applies: always, check: noOptions,
			Short:   "mean surprise at the true class, in nats",
			Meaning: "negative log-likelihood: surprise at the true class, in nats",
			Formula: "mean -ln p_y, unclipped", Range: "[0, +Inf]", Better: Lower, Source: "Good 1952",
			value: func(e *Evaluation, m Metric) Value {
				v := Value{Value: e.Loss.NLL(), Interval: e.Loss.NLLInterval(e.Spec.Level), Method: normal}
				if n := e.Loss.InfiniteRows(); n > 0 {
					v.Count = n
					v.Reason = e.infiniteText()
				}
				return v
			},
		},
		{
			Name: "nll_infinite_rows", Default: true, Whole: true, applies: always, check: noOptions,
			Short:   "rows whose true class got probability 0",
			Meaning: "rows whose true class was given probability 0",
			Formula: "#{p_y = 0}", Range: "[0, N]", Better: Lower, Source: "candor",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: float64(e.Loss.InfiniteRows()), Interval: metrics.NoInterval(), Reason: "a count"}
			},
		},
		{
			Name: "perplexity", Default: true, applies: always, check: noOptions,
			Short:   "exp(nll): as if among that many equal classes",
			Meaning: "exp(nll): as undecided as among this many equal classes",
			Formula: "exp(mean -ln p_y)", Range: "[1, +Inf]", Better: Lower, Source: "Jelinek et al. 1977",
			value: func(e *Evaluation, m Metric) Value {
				v := Value{Value: e.Loss.Perplexity(), Interval: e.Loss.PerplexityInterval(e.Spec.Level), Method: "exp of nll's interval"}
				if e.Loss.InfiniteRows() > 0 {
					v.Reason = "nll is infinite"
				}
				return v
			},
		},
		{
			Name: "brier", Default: true, applies: always, Options: "form=default|sum|minus_one|binary|per_class",
			check:   func(m Metric) error { _, err := m.form(0); return err },
			Short:   "squared distance of probabilities from truth",
			Meaning: "squared distance of the probabilities from the truth",
			Formula: "mean sum_k (p_k - [y = k])^2; binary: mean (p - y)^2", Range: "[0, 2]; binary [0, 1]", Better: Lower, Source: "Brier 1950",
			value: func(e *Evaluation, m Metric) Value {
				f, _ := m.form(e.Spec.Brier)
				v := Value{Value: e.Loss.Brier(f), Interval: e.Loss.BrierInterval(f, e.Spec.Level), Method: normal}
				if f == score.BrierBinary && math.IsNaN(v.Value) {
					v.Reason = "the binary form is for two classes"
				}
				return v
			},
			text: brierText,
		},
		{
			Name: "entropy", Default: true, applies: always, check: noOptions,
			Short:   "how undecided the model says it is, in nats",
			Meaning: "how undecided the model says it is, in nats",
			Formula: "mean -sum_k p_k ln p_k", Range: "[0, ln K]", Better: Neither, Source: "Shannon 1948",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.Loss.Entropy(), Interval: e.Loss.EntropyInterval(e.Spec.Level), Method: normal}
			},
		},
		{
			Name: "ece", Default: true, applies: always, check: binOptionsOK, Options: binOptions, binned: true, event: byShape,
			Short:   "mean gap of confidence and accuracy, by bins",
			Meaning: "expected calibration error: mean gap between confidence and accuracy, by bins",
			Formula: "(1/N) sum_bins |sum (p - y)|", Range: "[0, 1]", Better: Lower,
			Source: "Naeini et al. 2015; Guo et al. 2017", value: ece,
		},
		{
			Name: "ece_positive", Default: true, applies: two, Applies: onlyTwo, check: binOptionsOK, Options: binOptions, binned: true, event: positive,
			Short:   "ece of the probability of class 1",
			Meaning: "ece of the probability of class 1",
			Formula: "(1/N) sum_bins |sum (p_1 - [y = 1])|", Range: "[0, 1]", Better: Lower, Source: "Naeini et al. 2015", value: ece,
		},
		{
			Name: "ece_top_label", Default: true, applies: two, Applies: onlyTwo, check: binOptionsOK, Options: binOptions, binned: true, event: topLabel,
			Short:   "ece of the top class's probability",
			Meaning: "ece of the probability of the most probable class",
			Formula: "(1/N) sum_bins |sum (max_k p_k - hit)|", Range: "[0, 1]", Better: Lower, Source: "Guo et al. 2017", value: ece,
		},
		{
			Name: "ece_floor", Default: true, applies: always, check: binOptionsOK, Options: binOptions, binned: true, event: byShape,
			Short:   "mean ece of perfect calibration at this N",
			Meaning: "the ece that perfect calibration would show on average at this N",
			Formula: "sqrt(2/pi) sum_bins sqrt(sum p(1-p)) / N", Range: "[0, 1]", Better: Neither, Source: "candor",
			value: func(e *Evaluation, m Metric) Value {
				v := Value{Value: e.bins(m).Floor(), Interval: metrics.NoInterval(), Reason: "a mean under calibration, not an estimate"}
				if math.IsNaN(v.Value) {
					v.Reason = "not known for weighted rows"
				}
				return v
			},
		},
		{
			Name: "mce", applies: always, check: binOptionsOK, Options: binOptions, binned: true, event: byShape,
			Short:   "largest gap of any bin, however few its rows",
			Meaning: "maximum calibration error: the largest gap of any bin, however few rows it has",
			Formula: "max_bins |mean p - mean y|", Range: "[0, 1]", Better: Lower, Source: "Naeini et al. 2015; Guo et al. 2017",
			value: func(e *Evaluation, m Metric) Value {
				v, n := e.bins(m).MCE()
				return Value{Value: v, Count: n, Interval: metrics.NoInterval(), Reason: "no simultaneous interval is computed"}
			},
		},
		{
			Name: "rmsce", applies: always, check: binOptionsOK, Options: binOptions, binned: true, event: byShape,
			Short:   "root-mean-square gap over ece's bins",
			Meaning: "root-mean-square calibration error over ece's bins",
			Formula: "sqrt(sum_bins (n_b/N) (mean p - mean y)^2)", Range: "[0, 1]", Better: Lower, Source: "Hendrycks et al. 2019",
			value: func(e *Evaluation, m Metric) Value {
				return Value{Value: e.bins(m).RMSCE(), Interval: metrics.NoInterval(), Reason: "no sound interval is known"}
			},
		},
	}
}

// brierText says which of the scores of that name is meant.
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

func topK(e *Evaluation, k int) Value {
	return Value{Value: e.Loss.TopK(k), Interval: e.Loss.TopKInterval(k, e.Spec.Level), Method: wilson}
}

func ece(e *Evaluation, m Metric) Value {
	b := e.bins(m)
	v := Value{Value: b.ECE(), Interval: b.Interval(e.Spec.Level), Method: eceMethod}
	if math.IsNaN(v.Interval.Low) {
		v.Reason = "no interval for fewer than two rows"
		if e.Audit.Weighted {
			v.Reason = "no sound interval is known for weighted rows"
		}
	}
	return v
}

// infiniteText says how many rows make nll infinite and what it is without them.
func (e *Evaluation) infiniteText() string {
	n, s := e.Loss.InfiniteRows(), "1 row gave its true class probability 0"
	if n != 1 {
		s = fmt.Sprintf("%d rows gave their true class probability 0", n)
	}
	if n == e.Loss.Len() {
		return s + "; there are no others"
	}
	return fmt.Sprintf("%s; the mean of the others is %.7g", s, e.Loss.FiniteNLL())
}

// Descriptors returns the table, in the order of documents.
func Descriptors() []Descriptor { return append([]Descriptor(nil), table...) }

// Describe returns the descriptor of a metric, nil if there is none of that name.
func Describe(name string) *Descriptor {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}
