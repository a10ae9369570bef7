package eval

import (
	"math"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// tokens holds what is said of a language model's tokens.
var tokens = statistic{"tokens", rows, func() any { return score.NewTokens() }}

const (
	ratioMethod    = "N/B +- z*s of the sums N of NLL and B of bytes by the delta method, over sequences if there are any, else over rows; these taken as independent"
	sequenceMethod = "mean +- z*s/sqrt(n) over the sequences, taken as independent"
)

// inTokens returns the metrics of language models.
func inTokens() []Descriptor {
	keeps := func(*Spec, Metric) []statistic { return []statistic{tokens} }
	return []Descriptor{
		{
			Name: "bits_per_byte", Named: true, applies: always, check: noOptions, keeps: keeps,
			Short:   "bits per byte of text",
			Meaning: "NLL of a language model's tokens in bits per byte of text: it does not depend on the tokenizer",
			Formula: "sum -ln p_y / (ln 2 sum b), b the bytes of a row; weights are in both sums", Range: "[0, +Inf]", Better: Lower,
			Source: "Gao et al. 2020; interval: Cochran 1977",
			value: func(e *Evaluation, _ Metric) Value {
				t := statisticOf[*score.Tokens](e, rows, tokens.key)
				v := Value{Value: t.BitsPerByte(), Interval: t.BitsPerByteInterval(e.Spec.Level), Method: ratioMethod}
				switch {
				case !t.Sized():
					v.Reason = "the bytes of the rows are not known: pass " + setting.Bytes.String()
				case math.IsNaN(v.Value):
					v.Reason = "the rows have no bytes: their sum is 0"
				default:
					e.ofTokens(&v)
				}
				return v
			},
		},
		{
			Name: "sequence_nll", Named: true, applies: always, check: noOptions, keeps: keeps,
			Short:   "nll of a sequence, nats",
			Meaning: "NLL of a sequence, in nats: the sum over its rows, averaged over the sequences",
			Formula: "(1/S) sum_s sum_{i in s} -ln p_{y_i} over S sequences; weights are in the inner sum", Range: "[0, +Inf]", Better: Lower,
			Source: "standard",
			value: func(e *Evaluation, _ Metric) Value {
				t := statisticOf[*score.Tokens](e, rows, tokens.key)
				v := Value{Value: t.SequenceNLL(), Interval: t.SequenceInterval(e.Spec.Level), Method: sequenceMethod}
				if !t.Sequenced() {
					v.Reason = "the sequences of the rows are not known: pass " + setting.Sequences.String()
					return v
				}
				e.ofTokens(&v)
				return v
			},
		},
	}
}

// ofTokens says why a metric of tokens has no finite value, or no interval.
func (e *Evaluation) ofTokens(v *Value) {
	if n := e.Loss.InfiniteRows(); n > 0 {
		v.Count, v.Reason = n, e.infiniteText()
	} else if v.Interval == metrics.NoInterval() || math.IsNaN(v.Interval.Low) {
		v.Reason = "no interval: it takes two sequences, or rows where there are none"
	}
}
