package score

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"unsafe"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// MaxDecomposed is the largest number of classes that a Decomposition has answers for.
const MaxDecomposed = 4096

// Decomposition accumulates what takes the Brier score apart by the predicted class, the first arg max: how often each class
// was the label among the rows of each predicted class, and the sum of the probabilities that it got there. It is a
// metrics.Accumulator. It takes 24 bytes for each class and each class that was predicted, with weights 64: up to 24 MB, or
// 64, for 1,000 classes.
//
// Probabilities are rounded once, to 2^-51.
type Decomposition struct {
	classes  int // 0 before the first row
	width    int // of a row of the tile: classes, or 2
	weighted bool
	weight   tally.Weight
	brier    tally.Mean // as Loss has it
	label    exact.Sum  // of the labels' probabilities
	groups   []*group   // by predicted class; nil before its first row
	outside  map[int]*exact.Sum
	v        []float64
}

// group is the rows of one predicted class, one element for each class. Rows are of one kind: with weights or without.
type group struct {
	// Without weights: labels, and sums of probabilities, whole + units * 2^-51. Of the units up to mostPending rows are added
	// before what is whole is taken out of them.
	labels  []int64
	units   []uint64
	whole   []uint64
	pending int

	heavy []heavyCell
}

type heavyCell struct{ y, p exact.Sum }

const (
	one         = 1 << 51 // a probability of 1 in units
	mostPending = 4096
)

// carry takes what is whole out of the units.
func (g *group) carry() {
	for j, u := range g.units {
		g.whole[j] += u / one
		g.units[j] = u % one
	}
	g.pending = 0
}

// sum returns the sum of the probabilities of class j.
func (g *group) sum(j int) (s exact.Sum) {
	s.AddShifted(int64(g.whole[j]+g.units[j]/one), 88)
	s.AddShifted(int64(g.units[j]%one), 88-51)
	return s
}

var _ metrics.Accumulator = (*Decomposition)(nil)

// NewDecomposition returns an empty accumulator.
func NewDecomposition() *Decomposition { return &Decomposition{} }

// Needs says that all probabilities are wanted, and squares.
func (d *Decomposition) Needs() metrics.Need { return metrics.NeedRows | metrics.NeedSpread }

// Empty returns an accumulator without rows.
func (d *Decomposition) Empty() metrics.Accumulator { return NewDecomposition() }

// Size returns about how many bytes it takes: nothing where there are too many classes.
func (d *Decomposition) Size(x metrics.Extent) int64 {
	if x.Classes > MaxDecomposed {
		return 0
	}
	width, each := int64(max(2, x.Classes)), int64(24)
	if x.Weighted {
		each = int64(unsafe.Sizeof(heavyCell{}))
	}
	return x.Distinct(width)*(width*each+int64(unsafe.Sizeof(group{}))) + 8*width
}

// Len returns the number of rows seen.
func (d *Decomposition) Len() int64 { return d.weight.N }

// Err returns nil, or why the terms are NaN: there are more than MaxDecomposed classes.
func (d *Decomposition) Err() error {
	if !d.over() {
		return nil
	}
	return fmt.Errorf("score.Decomposition: the Brier score of %d classes is not taken apart by predicted class, for memory "+
		"grows with their square and the limit is %d: take the bins of the top label's score", d.classes, MaxDecomposed)
}

func (d *Decomposition) over() bool { return d.classes > MaxDecomposed }

// start makes d one of rows of these.
func (d *Decomposition) start(classes int, weighted bool) {
	d.classes, d.width, d.weighted = classes, max(2, classes), weighted
	if d.groups == nil && !d.over() {
		d.groups = make([]*group, d.width)
	}
}

// group returns the rows of a predicted class.
func (d *Decomposition) group(k int) *group {
	g := d.groups[k]
	if g == nil {
		g = &group{}
		if d.weighted {
			g.heavy = make([]heavyCell, d.width)
		} else {
			g.labels, g.units, g.whole = make([]int64, d.width), make([]uint64, d.width), make([]uint64, d.width)
		}
		d.groups[k] = g
	}
	return g
}

// each calls f for the predicted classes, in rising order.
func (d *Decomposition) each(f func(k int, g *group)) {
	for k, g := range d.groups {
		if g != nil {
			f(k, g)
		}
	}
}

// size returns the weight of a group's rows.
func (d *Decomposition) size(g *group) (s exact.Sum) {
	n := int64(0)
	for _, y := range g.labels {
		n += y
	}
	for j := range g.heavy {
		s.Merge(&g.heavy[j].y)
	}
	if !d.weighted {
		return tally.Count(n)
	}
	return s
}

// cell returns the weight of the labels j in the group of predicted class k, and the sum of the probabilities of j.
func (d *Decomposition) cell(k int, g *group, j int) (labels, p float64) {
	if d.weighted {
		return g.heavy[j].y.Float64(), g.heavy[j].p.Float64()
	}
	s := g.sum(j)
	if out := d.outside[k*d.width+j]; out != nil {
		s.Merge(out)
	}
	return float64(g.labels[j]), s.Float64()
}

// AddBlock adds a block's rows.
func (d *Decomposition) AddBlock(b *metrics.Block) {
	d.start(b.Classes, b.Weights != nil)
	if len(d.v) < b.Rows {
		d.v = make([]float64, b.Rows)
	}
	v := d.v[:b.Rows]
	squared(v, b)
	d.weight.Add(b.Rows, b.Weights)
	d.brier.Add(v, &kernel.WindowBrier, &kernel.WindowBrier2, b.Weights)
	switch t := &b.Probs; {
	case d.over():
	case t.F32 != nil:
		decompose(d, b, t.F32)
	default:
		decompose(d, b, t.F64)
	}
}

func decompose[T float32 | float64](d *Decomposition, b *metrics.Block, x []T) {
	for i, y := range b.Labels {
		row := x[i*b.Probs.Stride:][:d.width]
		k, label := int(b.Stats.ArgMax[i]), float64(row[y])
		g := d.group(k)
		if d.weighted {
			w := b.Weights[i]
			g.heavy[y].y.AddFloat(w)
			d.label.AddFloat(w * label)
			for j, v := range row {
				g.heavy[j].p.AddFloat(w * float64(v))
			}
			continue
		}
		if g.pending++; g.pending == mostPending {
			g.carry()
		}
		g.labels[y]++
		if tally.InUnit(label) {
			d.label.AddShifted(int64(tally.Units(label)), 88-51)
		} else {
			d.label.AddExact(label)
		}
		for j, v := range row {
			if v := float64(v); tally.InUnit(v) {
				g.units[j] += tally.Units(v)
			} else {
				d.beyond(k*d.width + j).AddExact(v)
			}
		}
	}
}

// beyond returns the sum of the probabilities outside [0,1] of a cell, which only a Pass that does not check admits.
func (d *Decomposition) beyond(cell int) *exact.Sum {
	s := d.outside[cell]
	if s == nil {
		if d.outside == nil {
			d.outside = map[int]*exact.Sum{}
		}
		s = new(exact.Sum)
		d.outside[cell] = s
	}
	return s
}

// Merge adds what another *Decomposition has seen.
func (d *Decomposition) Merge(a metrics.Accumulator) error {
	o, ok := a.(*Decomposition)
	switch {
	case !ok:
		return fmt.Errorf("%w: score.Decomposition and %T", metrics.ErrMismatch, a)
	case o.classes == 0:
		return nil
	}
	if err := alike("score.Decomposition", d.classes, o.classes, d.weighted, o.weighted); err != nil {
		return err
	}
	d.start(o.classes, o.weighted)
	d.weight.Merge(&o.weight)
	d.brier.Merge(&o.brier)
	d.label.Merge(&o.label)
	o.each(func(k int, from *group) {
		g := d.group(k)
		g.carry()
		for j, y := range from.labels {
			g.labels[j] += y
			g.whole[j] += from.whole[j] + from.units[j]/one
			g.units[j] += from.units[j] % one
		}
		g.carry()
		for j := range from.heavy {
			g.heavy[j].y.Merge(&from.heavy[j].y)
			g.heavy[j].p.Merge(&from.heavy[j].p)
		}
	})
	for cell, s := range o.outside {
		d.beyond(cell).Merge(s)
	}
	return nil
}

const (
	decompositionMagic   = "cDEC"
	decompositionVersion = 1
)

// AppendBinary appends the state.
func (d *Decomposition) AppendBinary(dst []byte) ([]byte, error) {
	from := len(dst)
	e := exact.Enc{B: exact.BeginSeal(dst, decompositionMagic, decompositionVersion)}
	encodeShape(&e, d.classes, d.weighted)
	d.weight.Encode(&e)
	d.brier.Encode(&e)
	e.Sum(&d.label)
	count := uint64(0)
	d.each(func(int, *group) { count++ })
	e.U64(count)
	d.each(func(k int, g *group) {
		e.U32(uint32(k))
		for j, y := range g.labels {
			e.Uvarint(uint64(y))
			e.Uvarint(g.whole[j] + g.units[j]/one)
			e.Uvarint(g.units[j] % one)
		}
		for j := range g.heavy {
			e.Sum(&g.heavy[j].y)
			e.Sum(&g.heavy[j].p)
		}
	})
	e.U64(uint64(len(d.outside)))
	for _, cell := range slices.Sorted(maps.Keys(d.outside)) {
		e.U32(uint32(cell))
		e.Sum(d.outside[cell])
	}
	return exact.EndSeal(e.B, from), nil
}

// UnmarshalBinary replaces d by what AppendBinary wrote.
func (d *Decomposition) UnmarshalBinary(data []byte) error {
	in, err := exact.OpenFields(decompositionMagic, decompositionVersion, data)
	if err != nil {
		return fmt.Errorf("score.Decomposition: %w", err)
	}
	var n Decomposition
	classes, weighted, ok := decodeShape(in)
	if classes > 0 {
		n.start(classes, weighted)
	}
	n.weight.Decode(in)
	n.brier.Decode(in)
	n.label = in.Sum()
	// A group has three bytes or more for each class: what is made here is bounded by what is there.
	var all exact.Sum
	last := -1
	for range in.Count(4 + 3*min(max(2, n.width), MaxDecomposed)) {
		k := int(in.U32())
		if k <= last || k >= len(n.groups) || !ok {
			ok = false
			break
		}
		last = k
		g := n.group(k)
		ok = n.decode(g, in)
		size := n.size(g)
		ok = ok && size.Sign() > 0
		all.Merge(&size)
		if in.Err() != nil {
			break
		}
	}
	last = -1
	for range in.Count(4 + 25) {
		cell := int(in.U32())
		if cell <= last || n.weighted || n.width == 0 || cell/n.width >= len(n.groups) || n.groups[cell/n.width] == nil {
			ok = false
			break
		}
		last = cell
		*n.beyond(cell) = in.Sum()
		ok = ok && bounded(n.outside[cell])
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("score.Decomposition: %w", err)
	}
	t := n.weight.Total(n.weighted)
	if !ok || min(n.weight.N, n.brier.Over) < 0 || (n.weight.N == 0) != (n.classes == 0) || !n.over() && !all.Equal(&t) {
		return fmt.Errorf("score.Decomposition: %w: its counts are not those of its rows", exact.ErrDamaged)
	}
	if err := in.Done(); err != nil {
		return fmt.Errorf("score.Decomposition: %w", err)
	}
	*d = n
	return nil
}

// decode reads a group, and tells whether it can be one.
func (d *Decomposition) decode(g *group, in *exact.Dec) bool {
	n := int64(0)
	for j := range g.labels {
		y := in.Uvarint()
		g.labels[j], g.whole[j], g.units[j] = int64(y), in.Uvarint(), in.Uvarint()
		if y > uint64(math.MaxInt64-n) || g.whole[j] > math.MaxInt64 || g.units[j] >= one {
			return false
		}
		n += int64(y)
	}
	for j := range g.heavy {
		g.heavy[j] = heavyCell{in.Sum(), in.Sum()}
		if g.heavy[j].y.Sign() < 0 || !bounded(&g.heavy[j].y) || !bounded(&g.heavy[j].p) {
			return false
		}
	}
	return true
}
