package compared

import (
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/paired"
)

// KeepsScores reports whether a comparison by a spec keeps the rows by the scores of both models, which Gaps needs.
func KeepsScores(s *eval.Spec) bool {
	k := keptFor(s)
	return k.joint
}

// Gaps returns the gaps of the models of a pair, in the order of Differences, by equal-width bins of the score, as many as the spec has: of
// class 1 of a binary task, else of the top label. Their errors take rows as independent. It is nil unless scores are kept.
func (c *Comparison) Gaps(pair int) []paired.Gap {
	if p := c.pairs[pair]; p.joint != nil {
		return p.joint.Sides(paired.Kept).Gaps(c.Spec.Base.Bins)
	}
	return nil
}
