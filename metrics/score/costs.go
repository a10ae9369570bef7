package score

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// CostMatrix has what each decision costs for each true class: Cost[k*Decisions+d] for class k and decision d. There may be more or fewer
// decisions than classes, as one more that abstains. It must not change while it is used.
type CostMatrix struct {
	Classes, Decisions int
	Cost               []float64
}

const (
	mostCosts = 1 << 20
	mostCost  = 1e12
)

// Check returns an error unless there are at least two classes and two decisions, at most 2^20 costs, and each is from 0 to 1e12. The error names the
// row and the column, from 0.
func (m *CostMatrix) Check() error {
	switch {
	case m.Classes < 2 || m.Decisions < 2:
		return fmt.Errorf("the cost matrix has %d rows and %d columns; it takes at least two classes, one a row, and two decisions", m.Classes, m.Decisions)
	case m.Classes > mostCosts/m.Decisions:
		return fmt.Errorf("the cost matrix has %d rows and %d columns; it may have at most %d costs", m.Classes, m.Decisions, mostCosts)
	case len(m.Cost) != m.Classes*m.Decisions:
		return fmt.Errorf("the cost matrix has %d costs for %d rows and %d columns", len(m.Cost), m.Classes, m.Decisions)
	}
	for i, c := range m.Cost {
		if !(c >= 0 && c <= mostCost) {
			return fmt.Errorf("row %d, column %d of the cost matrix is %v; costs are from 0 to %v", i/m.Decisions, i%m.Decisions, c, mostCost)
		}
	}
	return nil
}

// Equal reports whether both are the same.
func (m *CostMatrix) Equal(o *CostMatrix) bool {
	return m == o || m != nil && o != nil && m.Classes == o.Classes && m.Decisions == o.Decisions && slices.Equal(m.Cost, o.Cost)
}

// Decide returns the decision with the least expected cost of a row with these probabilities, the first of equal ones:
//
//	argmin_d sum_k p_k C[k,d]
//
// expected is room for the expected costs of the decisions. Sums are in the order of the classes, each product rounded.
func (m *CostMatrix) Decide(expected, p []float64) int {
	expected = expected[:m.Decisions]
	clear(expected)
	for k, v := range p {
		if v == 0 {
			continue
		}
		for d, c := range m.Cost[k*m.Decisions:][:m.Decisions] {
			expected[d] += float64(v * c)
		}
	}
	best := 0
	for d, c := range expected {
		if c < expected[best] {
			best = d
		}
	}
	return best
}

// DecisionCosts accumulates what decisions cost that have the least expected cost under a CostMatrix, by the probabilities. It keeps the exact weight of
// the rows of each class and decision: 32 bytes for each cost of the matrix. It is a metrics.Accumulator.
//
// Source: Elkan 2001.
type DecisionCosts struct {
	seen  state.Rows
	rows  int64
	costs *CostMatrix
	cells []exact.Sum // by class and decision
	p, e  []float64   // scratch
}

var _ metrics.Accumulator = (*DecisionCosts)(nil)

// NewDecisionCosts returns an empty accumulator, or the error of CostMatrix.Check.
func NewDecisionCosts(m *CostMatrix) (*DecisionCosts, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	return &DecisionCosts{costs: m}, nil
}

// Needs returns NeedRows.
func (a *DecisionCosts) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator with the same costs and no rows.
func (a *DecisionCosts) Empty() metrics.Accumulator { return &DecisionCosts{costs: a.costs} }

// Size estimates the memory in bytes.
func (a *DecisionCosts) Size(metrics.Extent) int64 {
	return int64(len(a.costs.Cost)) * int64(unsafe.Sizeof(exact.Sum{}))
}

// Len returns the number of rows seen.
func (a *DecisionCosts) Len() int64 { return a.rows }

// AddBlock adds a block's rows. It panics unless the matrix has a row for each class.
func (a *DecisionCosts) AddBlock(b *metrics.Block) {
	if max(2, b.Classes) != a.costs.Classes {
		panic("score: the cost matrix has other classes than the predictions")
	}
	a.seen.Begin(b)
	a.rows += int64(b.Rows)
	a.grow()
	if a.p == nil {
		a.p, a.e = make([]float64, a.costs.Classes), make([]float64, a.costs.Decisions)
	}
	for i, y := range b.Labels {
		c := &a.cells[int(y)*a.costs.Decisions+a.costs.Decide(a.e, b.Probs.Row(a.p, i))]
		if a.seen.Weighted {
			c.AddFloat(b.Weights[i])
		} else {
			c.AddShifted(1, 88)
		}
	}
}

func (a *DecisionCosts) grow() {
	if a.cells == nil {
		a.cells = make([]exact.Sum, len(a.costs.Cost))
	}
}

// mean returns the weighted mean over the classes and decisions with rows, and the total weight.
func (a *DecisionCosts) mean(of func(class, decision int) float64) (mean, total float64) {
	var sum, all exact.Sum
	for i := range a.cells {
		if c := &a.cells[i]; !c.IsZero() {
			sum.AddExact(float64(c.Float64() * of(i/a.costs.Decisions, i%a.costs.Decisions)))
			all.Merge(c)
		}
	}
	return exact.Ratio(&sum, &all), all.Float64()
}

// Value returns the mean cost of a row. Lower is better. It returns NaN without rows.
func (a *DecisionCosts) Value() float64 {
	v, _ := a.mean(func(k, d int) float64 { return a.costs.Cost[k*a.costs.Decisions+d] })
	return v
}

// Interval returns a confidence interval of Value for independent rows: that of the normal approximation, after z^2 rows are added, as many of each class,
// half of them at the lowest cost of the class and half at its highest. For costs of 0 and 1 it is Agresti and Coull's, and for two decisions
// on two classes that of rank.Ranking.OutcomeInterval. There is none with weights or without rows.
//
// Source: Agresti and Coull 1998, for more than two values.
func (a *DecisionCosts) Interval(level float64) metrics.Interval {
	if a.rows == 0 || a.seen.Weighted {
		return metrics.NoInterval()
	}
	m := a.costs
	value, n := a.mean(func(k, d int) float64 { return m.Cost[k*m.Decisions+d] })
	z := metrics.Z(level)
	square := float64(z * z)
	half := square / float64(2*m.Classes)
	sum := float64(value * n)
	for k := range m.Classes {
		row := m.Cost[k*m.Decisions:][:m.Decisions]
		sum += float64(half * (slices.Min(row) + slices.Max(row)))
	}
	n += square
	mean := sum / n
	off := func(c float64) float64 { return float64((c - mean) * (c - mean)) }
	v, rows := a.mean(func(k, d int) float64 { return off(m.Cost[k*m.Decisions+d]) })
	sum = float64(v * rows)
	for k := range m.Classes {
		row := m.Cost[k*m.Decisions:][:m.Decisions]
		sum += float64(half * (off(slices.Min(row)) + off(slices.Max(row))))
	}
	i := metrics.Normal(mean, math.Sqrt(sum/n/n), level)
	return metrics.Interval{Low: math.Max(slices.Min(m.Cost), math.Min(value, i.Low)), High: math.Min(slices.Max(m.Cost), math.Max(value, i.High))}
}

// Constant returns the mean cost of a row if the same decision is taken for all, the one with the least cost on these rows, and that decision,
// the first of equal ones. It returns NaN and -1 without rows.
func (a *DecisionCosts) Constant() (cost float64, decision int) {
	cost, decision = math.NaN(), -1
	if a.rows == 0 {
		return cost, decision
	}
	for d := range a.costs.Decisions {
		c, _ := a.mean(func(k, _ int) float64 { return a.costs.Cost[k*a.costs.Decisions+d] })
		if decision < 0 || c < cost {
			cost, decision = c, d
		}
	}
	return cost, decision
}

// Share returns the share of the rows for which a decision is taken; NaN without rows. It panics if there is no such decision.
func (a *DecisionCosts) Share(decision int) float64 {
	if decision < 0 || decision >= a.costs.Decisions {
		panic("score: there is no such decision")
	}
	v, _ := a.mean(func(_, d int) float64 {
		if d == decision {
			return 1
		}
		return 0
	})
	return v
}

// Merge adds what another *DecisionCosts with the same costs has seen.
func (a *DecisionCosts) Merge(other metrics.Accumulator) error {
	o, err := state.Same[*DecisionCosts](costsFormat, other)
	if err != nil {
		return err
	}
	if !a.costs.Equal(o.costs) {
		return state.Mismatch(costsFormat, "with other costs")
	}
	if err := a.seen.Merge(o.seen, costsFormat, "classes"); err != nil {
		return err
	}
	a.rows += o.rows
	if o.cells != nil {
		a.grow()
		for i := range o.cells {
			a.cells[i].Merge(&o.cells[i])
		}
	}
	return nil
}

// Negate is as that of Loss.
func (a *DecisionCosts) Negate() {
	a.rows = -a.rows
	for i := range a.cells {
		a.cells[i].Negate()
	}
}

var costsFormat = exact.Format{Name: "score.DecisionCosts", Magic: "cDCO", Version: 1}

func (a *DecisionCosts) fields(f *exact.Fields) {
	a.seen.Fields(f)
	f.N(&a.rows)
	m := &CostMatrix{}
	if !f.Reading() {
		m = a.costs
	}
	f.Int(&m.Decisions)
	n := len(m.Cost)
	f.Count(&n, 8)
	if f.Reading() {
		f.Must(m.Decisions > 0 && n <= mostCosts && n%max(1, m.Decisions) == 0, exact.OutOfRange)
		if !f.OK() {
			return
		}
		m.Classes, m.Cost = n/m.Decisions, make([]float64, n)
	}
	for i := range m.Cost {
		f.F64(&m.Cost[i])
	}
	if f.Reading() {
		f.Must(m.Check() == nil, exact.OutOfRange)
		a.costs = m
	}
	const damaged = "its decisions are not those of its rows"
	filled := 0
	for i := range a.cells {
		if !a.cells[i].IsZero() {
			filled++
		}
	}
	f.Count(&filled, 29)
	if !f.Reading() {
		for i := range a.cells {
			if !a.cells[i].IsZero() {
				f.Int(&i)
				f.Sum(&a.cells[i])
			}
		}
		return
	}
	var all exact.Sum
	for last := -1; filled > 0 && f.OK(); filled-- {
		at, c := 0, exact.Sum{}
		f.Int(&at)
		f.Sum(&c)
		f.Must(at > last && at < n && c.Sign() > 0 && bounded(&c), damaged)
		if f.OK() {
			a.grow()
			a.cells[at] = c
			all.Merge(&c)
		}
		last = at
	}
	rows := tally.Count(a.rows)
	f.Must((a.rows == 0) == (a.seen.Classes == 0) && (a.rows == 0) == (a.cells == nil) && (a.rows == 0 || max(2, a.seen.Classes) == m.Classes) &&
		(a.seen.Weighted || all.Equal(&rows)), damaged)
}

// AppendBinary appends the state: the costs, and the classes and decisions with rows.
func (a *DecisionCosts) AppendBinary(dst []byte) ([]byte, error) {
	return costsFormat.Append(dst, a.fields)
}

// UnmarshalBinary replaces a with a state that AppendBinary wrote.
func (a *DecisionCosts) UnmarshalBinary(data []byte) error {
	return exact.Replace(costsFormat, data, a, (*DecisionCosts).fields)
}
