package eval

import (
	"github.com/candor-go/candor/metrics"
)

// Shape holds what must be known about predictions to select metrics.
type Shape struct {
	Classes int // of the scores; 1 for a binary task; for samples and log-likelihoods, the number of draws
	// Kind is Dirichlet, Samples, LogLiks, Normals or Quantiles; Probs stands for everything that becomes probabilities,
	// including logits.
	Kind    metrics.Kind
	Members int  // members of an ensemble; 0 for one model
	Out     bool // out-of-distribution rows are also given
}

// Shape returns the shape of the predictions.
func (s *Spec) Shape() Shape {
	return Shape{Classes: s.Classes, Kind: simple(s.Kind), Members: s.Members, Out: s.Out}
}

// simple returns k, or Probs for the kinds that become probabilities.
func simple(k metrics.Kind) metrics.Kind {
	if k == metrics.Logits || k == metrics.LogProbs {
		return metrics.Probs
	}
	return k
}

// HasClasses reports whether scores belong to classes, and labels are class numbers.
func (s Shape) HasClasses() bool { return s.Kind < metrics.Samples }

// statistic is an accumulator of a metric, besides those of bins and cells.
type statistic struct {
	key  string // statistics with equal keys share one
	fed  fed
	make func() any // returns a metrics.Accumulator, or for joint an ensemble.Accumulator
}

// fed selects the rows that an accumulator receives.
type fed uint8

const (
	rows  fed = iota // those that are evaluated; for an ensemble the means
	out              // out-of-distribution rows
	joint            // rows of all members of an ensemble together
)
