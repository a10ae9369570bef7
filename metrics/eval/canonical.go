package eval

import (
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
)

var (
	canonicalOwn = choices{{name: "bandwidth", least: 0.001, most: 100, unsaid: binfree.DefaultBandwidth},
		{name: "frequencies", whole: true, least: 1, most: binfree.MaxFrequencies, unsaid: binfree.DefaultFrequencies}}
	canonicalTestOwn = append(canonicalOwn[:2:2], choice{name: "replicates", whole: true, least: 19, most: binfree.MaxReplicates, unsaid: 99})
)

// ofCanonical returns the accumulator of a canonical calibration error.
func ofCanonical(_ *Spec, m Metric) []statistic {
	o := binfree.CanonicalOptions{Bandwidth: canonicalTestOwn.of(m, "bandwidth"), Frequencies: int(canonicalTestOwn.of(m, "frequencies"))}
	if m.Name == "canonical_skce_p" {
		o.Replicates = int(canonicalTestOwn.of(m, "replicates"))
	}
	return []statistic{{fmt.Sprintf("canonical %v", o), rows, func() any { return metrics.Must(binfree.NewCanonical(&o)) }}}
}

// inVectorsOfClasses returns the metrics of whole rows of probabilities.
func inVectorsOfClasses() []Descriptor {
	answer := func(reason string, of func(c *binfree.Canonical) float64) func(e *Evaluation, m Metric) Value {
		return func(e *Evaluation, m Metric) Value {
			c := statisticOf[*binfree.Canonical](e, rows, ofCanonical(&e.Spec, m)[0].key)
			return none(of(c), 0, reason, c.Reason())
		}
	}
	text := func(e *Evaluation, m Metric) string {
		of := fmt.Sprintf("; h = %s, D = %d", plainly(canonicalTestOwn.of(m, "bandwidth")), int(canonicalTestOwn.of(m, "frequencies")))
		if m.Name == "canonical_skce_p" {
			of += fmt.Sprintf(", R = %d", int(canonicalTestOwn.of(m, "replicates")))
		}
		return e.Spec.describe(m).Formula + of
	}
	return []Descriptor{
		{
			Name: "canonical_skce", Named: true, applies: always, own: canonicalOwn, check: canonicalOwn.check, Options: canonicalOwn.String(), keeps: ofCanonical, text: text,
			Short:   "kernel gap of whole rows",
			Meaning: "squared kernel calibration error of whole rows of probabilities, unbiased: mean over pairs of rows of the product of their gaps, weighted by how near their probabilities are",
			Formula: "sum_{i != j} k(p_i, p_j) (e_i . e_j) / (N(N-1)), e = onehot(y) - p, k(p, p') = (1/D) sum_d cos(w_d . (p - p')), w_d fixed draws of N(0, I/h^2)",
			Range:   "[-2, 2]", Better: Zero, Source: "Widmann et al. 2019; Rahimi and Recht 2007",
			value: answer("canonical_skce_p is its test", (*binfree.Canonical).Value),
		},
		{
			Name: "canonical_skce_p", Named: true, applies: always, own: canonicalTestOwn, check: canonicalTestOwn.check, Options: canonicalTestOwn.String(), keeps: ofCanonical, text: text,
			Short:   "p-value of that gap",
			Meaning: "p-value of calibration by canonical_skce, from outcomes drawn by the probabilities: with enough rows it falls to its least value for every real model",
			Formula: "(1 + #{canonical_skce of drawn outcomes >= canonical_skce}) / (1 + R), R draws of all outcomes", Range: "[0, 1]", Better: Neither,
			Source: "Widmann et al. 2019; Broecker and Smith 2007",
			value:  answer("a p-value, not an estimate", (*binfree.Canonical).P),
		},
	}
}
