package eval

import (
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/score"
)

// KeepsScores reports whether a metric is computed from the distinct scores of the rows, or from sums for each of them, so
// that its state grows with their number. Other metrics need only bins and sums.
func (s *Spec) KeepsScores(m Metric) bool {
	n, limited := s.kept(m)
	return n+limited > 0
}

// kept returns how many accumulators of the metrics grow with the distinct scores, and how many grow with the rows as far as
// Memory allows.
func (s *Spec) kept(list ...Metric) (n, limited int) {
	one := *s
	one.Metrics, one.binned = list, true
	p, err := one.plan()
	if err != nil {
		return 0, 0 // New reports the error
	}
	n = len(p.cells)
	for _, k := range p.statistics {
		switch k.make().(type) {
		case *rank.Retention, *rank.Scores, *score.Decomposition:
			n++
		}
	}
	return n, len(p.scores)
}

// labelScores is the memory of one label's scores where they are kept by distinct values: a log of about 280,000, or a grid.
const labelScores = 3 << 20

// LabelBytes returns how much memory the distinct scores of one label can take, over all metrics of the spec, and how much of it is for
// metrics that Memory limits.
func (s *Spec) LabelBytes() (all, limited int64) {
	n, l := s.kept(s.Metrics...)
	return int64(n+l) * labelScores, int64(l) * labelScores
}
