package eval

import (
	"slices"

	"github.com/candor-go/candor/metrics/score"
)

// canBeLean reports whether Lean has an effect: something can be left out.
func (s *Spec) canBeLean() bool {
	if !s.Shape().HasClasses() || s.Members > 0 || s.Labels > 0 || s.Out || s.Cluster != "" || s.Scored || slices.ContainsFunc(s.Metrics, s.KeepsScores) {
		return false
	}
	one := *s
	one.Lean, one.binned = false, true
	p, err := one.plan()
	return err == nil && len(p.rows) == 0 && !p.pairs
}

// losses returns the losses that a metric is of, or whose means its interval needs.
func (s *Spec) losses(m Metric) (p score.Parts) {
	d := s.describe(m)
	switch m.Name {
	case "accuracy", "balanced_accuracy", "top5_accuracy", "topk_accuracy", "confidence", "overconfidence":
		return score.OfTop
	case "base_rate", "mean_p", "bias", "oe_ratio":
		return 0
	case "entropy":
		return score.OfEntropy
	case "nll", "nll_infinite_rows", "perplexity":
		p = score.OfNLL
	case "brier":
		p = score.OfBrier
	default:
		if d.event != nil && !d.uncut || d.classes != nil && !d.classes.adaptive {
			return 0
		}
		return score.OfNLL | score.OfBrier | score.OfEntropy | score.OfTop
	}
	if s.Classes > 1 {
		p |= score.OfEntropy // from which the spread of losses that the model implies is found
	}
	return p
}

// LeftOut names what a lean evaluation does not keep, for people: what a state of the same rows would have if the spec were not Lean. It is nil
// if nothing is left out.
func (s *Spec) LeftOut() (l []string) {
	one := *s
	if one.Lean = s.Lean && s.canBeLean(); !one.Lean {
		return nil
	}
	p, err := one.plan()
	if err != nil {
		return nil // New reports the error
	}
	l = []string{"scores"}
	for _, part := range []struct {
		score.Parts
		name string
	}{{score.OfTop, "accuracy"}, {score.OfNLL, "nll"}, {score.OfBrier, "brier"}, {score.OfEntropy, "entropy"}} {
		if p.parts&part.Parts == 0 {
			l = append(l, part.name)
		}
	}
	return l
}
