package eval

import "github.com/candor-go/candor/metrics"

// Shape is what has to be known of predictions to say which metrics they have.
type Shape struct {
	Classes int // of the scores; 1 for a binary task. Of samples and log-likelihoods the number of draws
	// Kind is Dirichlet, Samples, LogLiks, Normals or Quantiles; Probs stands for all that become probabilities, as logits do.
	Kind    metrics.Kind
	Members int  // of an ensemble; 0 if there is one model
	Out     bool // there are out-of-distribution rows besides
}

// Shape returns that of the predictions.
func (s *Spec) Shape() Shape {
	return Shape{Classes: s.Classes, Kind: simple(s.Kind), Members: s.Members, Out: s.Out}
}

// simple returns Probs for the kinds that become probabilities.
func simple(k metrics.Kind) metrics.Kind {
	if k == metrics.Logits || k == metrics.LogProbs {
		return metrics.Probs
	}
	return k
}

// HasClasses tells whether the scores are those of classes, of which rows have one as a label.
func (s Shape) HasClasses() bool { return s.Kind < metrics.Samples }

// statistic is an accumulator that a metric is answered from, beside those over bins and cells.
type statistic struct {
	key  string // of equal ones there is one
	fed  fed
	make func() any // a metrics.Accumulator, or for joint an ensemble.Accumulator
}

// fed says which rows an accumulator gets.
type fed uint8

const (
	rows  fed = iota // those that are evaluated; of an ensemble the means
	out              // out-of-distribution ones
	joint            // those of all members of an ensemble together
)
