package rank

import "github.com/candor-go/candor/metrics"

// Loss is what a retention curve is of.
type Loss uint8

// The losses.
const (
	ZeroOne Loss = iota // 1 where the decision is wrong
	NLL                 // -ln of the label's probability
	Brier               // sum of the squares of probabilities less outcomes; binary: that of class 1 alone
)

// RetentionOptions say which loss is kept.
type RetentionOptions struct{ Loss Loss }

// AreaOptions say how a retention curve is drawn and summed.
type AreaOptions struct {
	Oracle    bool
	Trapezoid bool
}

// Retention is an accumulator.
type Retention struct{ metrics.Accumulator }

// NewRetention is not made yet.
func NewRetention(o *RetentionOptions) *Retention { panic("not yet") }

// Area is not made yet.
func (t *Retention) Area(o *AreaOptions) (area, bound float64) { panic("not yet") }

// Curve is not made yet.
func (t *Retention) Curve(most int, o *AreaOptions) []Point { panic("not yet") }

// Infinite is not made yet.
func (t *Retention) Infinite() int64 { panic("not yet") }

// RetentionAccuracy is not made yet.
func (r *Ranking) RetentionAccuracy(o *AreaOptions) (area, bound float64) { panic("not yet") }
