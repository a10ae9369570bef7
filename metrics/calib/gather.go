package calib

import (
	"errors"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/order"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// scores holds the scores of one group of bins, with outcomes and weights. w may be nil.
type scores struct {
	p []float64
	y []uint8
	w []float64
}

// above returns the scores above the threshold, and the weight of the others if they count as well.
func (o *GeneralOptions) above(s scores) (kept scores, lost tally.Weight) {
	if o.Above == nil {
		return s, lost
	}
	for i, v := range s.p {
		switch {
		case v > *o.Above:
			kept.p, kept.y = append(kept.p, v), append(kept.y, s.y[i])
			if s.w != nil {
				kept.w = append(kept.w, s.w[i])
			}
		case o.TotalDenominator && s.w != nil:
			lost.Add(1, s.w[i:i+1])
		case o.TotalDenominator:
			lost.Add(1, nil)
		}
	}
	return kept, lost
}

// columns computes an error of one score per row: that of the top label or of the positive class.
func (g *General) columns(p *metrics.Predictions, o *GeneralOptions) error {
	if p.ConfidenceScores != nil {
		return errors.New("calib: the caller's confidence scores are for bins of equal width; leave them out, or give them as the scores")
	}
	// The Pass reports wrong shapes.
	c := &rowOrder{event: o.Event, rows: make([]orderedRow, max(0, p.Rows))}
	if p.Weights != nil {
		c.w = make([]float64, len(c.rows))
	}
	if err := g.read(p, o, c); err != nil {
		return err
	}
	// The rows of each class become contiguous.
	classes := 1
	if o.ClassConditional {
		classes = max(2, p.Classes)
	}
	starts := make([]int, classes+1)
	group := func(r *orderedRow) int {
		if o.ClassConditional {
			return int(r.class)
		}
		return 0
	}
	for i := range c.rows {
		if r := &c.rows[i]; r.kept {
			starts[group(r)+1]++
		}
	}
	for j := range classes {
		starts[j+1] += starts[j]
	}
	n := starts[classes]
	all := scores{p: make([]float64, n), y: make([]uint8, n)}
	if c.w != nil {
		all.w = make([]float64, n)
	}
	at := slices.Clone(starts)
	for i := range c.rows {
		r := &c.rows[i]
		if !r.kept {
			continue
		}
		j := group(r)
		to := at[j]
		at[j]++
		all.p[to], all.y[to] = r.score, r.hit
		if c.w != nil {
			all.w[to] = c.w[i]
		}
	}
	c.rows = nil
	for j := range classes {
		from, to := starts[j], starts[j+1]
		s := scores{p: all.p[from:to], y: all.y[from:to]}
		if all.w != nil {
			s.w = all.w[from:to]
		}
		b, err := o.partition(s, n, p.DType())
		if err != nil {
			return err
		}
		g.Partitions = append(g.Partitions, b)
	}
	return nil
}

type orderedRow struct {
	score float64
	class int32
	hit   uint8
	kept  bool
}

// rowOrder collects one score per row, at the index given by the row's number, so the order does not depend on threads. It
// cannot be saved as a state.
type rowOrder struct {
	event Event
	rows  []orderedRow
	w     []float64
}

func (c *rowOrder) Needs() metrics.Need        { return 0 }
func (c *rowOrder) Empty() metrics.Accumulator { return c }

func (c *rowOrder) AddBlock(k *metrics.Block) {
	for i := range k.Rows {
		r := orderedRow{score: k.Score[i], class: k.Stats.ArgMax[i], hit: k.Right[i], kept: true}
		switch {
		case c.event == Positive:
			r.score, r.hit = k.Stats.Positive[i], uint8(k.Labels[i])
		case k.Decisions != nil:
			r.class = k.Decisions[i]
		}
		at := k.Number(i)
		c.rows[at] = r
		if k.Weights != nil {
			c.w[at] = k.Weights[i]
		}
	}
}

func (c *rowOrder) Merge(metrics.Accumulator) error         { return nil }
func (c *rowOrder) Len() int64                              { return int64(len(c.rows)) }
func (c *rowOrder) AppendBinary(dst []byte) ([]byte, error) { return dst, errNoState }
func (c *rowOrder) UnmarshalBinary([]byte) error            { return errNoState }

var errNoState = errors.New("calib: rows on their way to an answer are no state")

// matrix holds the probabilities of rows and classes, either the caller's memory if it is usable as it is, or a copy. While it
// collects a copy, it is an accumulator like rowOrder.
type matrix struct {
	f32                 []float32
	f64                 []float64
	rows, width, stride int
	labels              []int32
	w                   []float64
	kept                []bool // rows that were collected
}

func (m *matrix) Needs() metrics.Need                     { return metrics.NeedRows }
func (m *matrix) Empty() metrics.Accumulator              { return m }
func (m *matrix) Merge(metrics.Accumulator) error         { return nil }
func (m *matrix) Len() int64                              { return int64(m.rows) }
func (m *matrix) AppendBinary(dst []byte) ([]byte, error) { return dst, errNoState }
func (m *matrix) UnmarshalBinary([]byte) error            { return errNoState }

func (m *matrix) AddBlock(k *metrics.Block) {
	t := &k.Probs
	for i := range k.Rows {
		at := int(k.Number(i))
		if t.F32 != nil {
			copy(m.f32[at*m.width:(at+1)*m.width], t.F32[i*t.Stride:])
		} else {
			copy(m.f64[at*m.width:(at+1)*m.width], t.F64[i*t.Stride:])
		}
		m.labels[at], m.kept[at] = k.Labels[i], true
		if m.w != nil {
			m.w[at] = k.Weights[i]
		}
	}
}

// compact moves the kept rows to the front.
func (m *matrix) compact() {
	to := 0
	for i, kept := range m.kept {
		if !kept {
			continue
		}
		if to < i {
			if m.f32 != nil {
				copy(m.f32[to*m.width:(to+1)*m.width], m.f32[i*m.width:])
			} else {
				copy(m.f64[to*m.width:(to+1)*m.width], m.f64[i*m.width:])
			}
			m.labels[to] = m.labels[i]
			if m.w != nil {
				m.w[to] = m.w[i]
			}
		}
		to++
	}
	m.rows, m.labels = to, m.labels[:to]
}

// load checks the predictions, and copies them if they are not usable as they are.
func (g *General) load(p *metrics.Predictions, o *GeneralOptions) (*matrix, error) {
	wide := p.F64 != nil
	if (wide || p.F32 != nil) && p.Kind == metrics.Probs && p.Classes > 1 && !o.Data.Renormalize {
		if err := g.read(p, o); err != nil {
			return nil, err
		}
		if g.Audit.Rows == int64(p.Rows) {
			m := &matrix{f32: p.F32, f64: p.F64, rows: p.Rows, width: p.Classes, stride: p.Stride, labels: p.Labels, w: p.Weights}
			if m.stride == 0 {
				m.stride = m.width
			}
			return m, nil
		}
	}
	rows := max(0, p.Rows)
	m := &matrix{rows: rows, width: max(2, p.Classes), labels: make([]int32, rows), kept: make([]bool, rows)}
	m.stride = m.width
	if n := rows * m.width; wide || p.Classes == 1 || o.Data.Renormalize && p.Kind == metrics.Probs {
		m.f64 = make([]float64, n)
	} else {
		m.f32 = make([]float32, n)
	}
	if p.Weights != nil {
		m.w = make([]float64, rows)
	}
	if err := g.read(p, o, m); err != nil {
		return nil, err
	}
	m.compact()
	return m, nil
}

// columns writes the entries of len(to) classes from first on, reusing the memory of to. It reads several classes at once
// because the entries of a row are adjacent.
func (m *matrix) columns(first int, to []scores) {
	for j := range to {
		to[j].p, to[j].y = room(to[j].p, m.rows), room(to[j].y, m.rows)
		if m.w != nil {
			to[j].w = m.w[:m.rows]
		}
		clear(to[j].y)
	}
	for i, y := range m.labels[:m.rows] {
		at := i*m.stride + first
		for j := range to {
			if m.f32 != nil {
				to[j].p[i] = float64(m.f32[at+j])
			} else {
				to[j].p[i] = m.f64[at+j]
			}
		}
		if j := int(y) - first; uint(j) < uint(len(to)) {
			to[j].y[i] = 1
		}
	}
}

// flat returns all entries of rows [from, to).
func (m *matrix) flat(from, to int) scores {
	n := (to - from) * m.width
	s := scores{p: make([]float64, 0, n), y: m.hits(from, to)}
	if m.w != nil {
		s.w = make([]float64, 0, n)
	}
	for i := from; i < to; i++ {
		for j := range m.width {
			if m.f32 != nil {
				s.p = append(s.p, float64(m.f32[i*m.stride+j]))
			} else {
				s.p = append(s.p, m.f64[i*m.stride+j])
			}
			if m.w != nil {
				s.w = append(s.w, m.w[i])
			}
		}
	}
	return s
}

// hits returns the outcomes of all entries of rows [from, to).
func (m *matrix) hits(from, to int) []uint8 {
	y := make([]uint8, (to-from)*m.width)
	for i, label := range m.labels[from:to] {
		y[i*m.width+int(label)] = 1
	}
	return y
}

func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// entries computes an error of every entry of every row.
func (g *General) entries(p *metrics.Predictions, o *GeneralOptions) error {
	m, err := g.load(p, o)
	if err != nil {
		return err
	}
	switch {
	case g.selected(m, o):
		return nil
	case o.ClassConditional:
		some := make([]scores, min(16, m.width))
		for j := 0; j < m.width; j += len(some) {
			some = some[:min(len(some), m.width-j)]
			m.columns(j, some)
			for _, s := range some {
				b, err := o.partition(s, m.rows, p.DType())
				if err != nil {
					return err
				}
				g.Partitions = append(g.Partitions, b)
			}
		}
		return nil
	case o.Binning == Even:
		b := o.newBins()
		const part = 1 << 16
		for from, n := 0, max(1, part/m.width); from < m.rows; from += n {
			o.fill(b, m.flat(from, min(m.rows, from+n)), p.DType())
		}
		g.Partitions = []*Partition{&b.Partition}
		return nil
	}
	b, err := o.partition(m.flat(0, m.rows), m.rows, p.DType())
	g.Partitions = []*Partition{b}
	return err
}

// selected computes equal-mass bins without copying the entries, and reports whether it could.
func (g *General) selected(m *matrix, o *GeneralOptions) bool {
	// With a threshold, the cube root differs from class to class.
	mass := o.Binning == Adaptive || o.Binning == CubeRoot && o.Above == nil
	if !mass || m.w != nil || o.EdgeRule != OrderStatistic || o.Side != kernel.LeftClosed {
		return false
	}
	above := -1.0
	if o.Above != nil {
		above = *o.Above
	}
	var bins []order.Bins
	n := m.rows
	if !o.ClassConditional {
		n *= m.width
	}
	count := o.count(n, m.rows)
	switch {
	case o.ClassConditional && m.f32 != nil:
		bins = make([]order.Bins, m.width)
		order.ClassEqualMassF32(bins, m.f32, m.rows, m.width, m.stride, m.labels, count, above, o.Data.Threads)
	case o.ClassConditional:
		bins = make([]order.Bins, m.width)
		order.ClassEqualMassF64(bins, m.f64, m.rows, m.width, m.stride, m.labels, count, above, o.Data.Threads)
	case m.stride != m.width:
		return false
	case m.f32 != nil:
		bins = []order.Bins{*order.EqualMassF32(m.f32[:n], m.hits(0, m.rows), count, above, o.Data.Threads)}
	default:
		bins = []order.Bins{*order.EqualMassF64(m.f64[:n], m.hits(0, m.rows), count, above, o.Data.Threads)}
	}
	for i := range bins {
		if bins[i].Out > 0 {
			return false // unchecked scores outside [0,1], which these bins exclude
		}
	}
	for i := range bins {
		g.Partitions = append(g.Partitions, o.adopt(&bins[i]))
	}
	return true
}

// adopt returns equal-mass bins as a Partition.
func (o *GeneralOptions) adopt(b *order.Bins) *Partition {
	p := &Partition{cells: b.Cells, chosen: true, together: o.Event == AllClasses && !o.ClassConditional}
	if o.TotalDenominator {
		p.lost.N = b.Below
	}
	if b.N == 0 {
		e := kernel.Edges(len(b.Cells))
		p.lower, p.upper = e[:len(b.Cells)], e[1:]
		return p
	}
	p.lower, p.upper = append([]float64{0}, b.Edges...), append(slices.Clone(b.Edges), 1)
	return p
}
