package calib

import (
	"math"
	"slices"
	"unsafe"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Bins accumulates scores and outcomes in equal-width bins. Its state gives ECE, MCE, RMSCE, the reliability diagram and their
// intervals. It is a metrics.Accumulator and takes about 250 bytes per bin.
//
// If the predictions have the caller's decisions, the top label is the decision and its score is the decision's probability. If
// they have confidence scores, these determine the bin by the rules of the options, and the probabilities are summed within it.
// The event Positive ignores decisions. AllClasses ignores both decisions and confidence scores.
type Bins struct {
	Partition // its bins set apart are the overflow bin and the bin of zeros

	opt     Options
	edges   []float64
	wide    []float64 // float64 edges of EdgeTorch; nil until float64 scores need them
	given   bool      // the edges were given and may have any distance
	classes int       // number of classes of the predictions; 0 before the first block
	decided bool      // scores belong to the caller's decisions
	scored  bool      // bins are chosen by the caller's confidence scores

	idx  []int32
	ones []int32
	hit  []uint8
	w    []float64
	p    []float64
	near []float64
	sums []kernel.BinSum
}

var _ metrics.Accumulator = (*Bins)(nil)

// NewBins returns an empty accumulator. o may be nil. Invalid options are an error.
func NewBins(o *Options) (*Bins, error) {
	var opt Options
	if o != nil {
		opt = *o
	}
	opt = opt.normal()
	opt.Data = metrics.Options{}
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	return newBins(opt, opt.edges()), nil
}

// newBins returns empty bins with the given edges, which may differ from those of the options.
func newBins(opt Options, edges []float64) *Bins {
	n := len(edges) - 1
	b := &Bins{opt: opt, edges: edges, sums: make([]kernel.BinSum, n+2)}
	b.Partition = Partition{cells: make([]tally.Cell, n+2), apart: 2, together: opt.Event == AllClasses,
		lower: append(slices.Clone(b.edges[:n]), 1, 0), upper: append(slices.Clone(b.edges[1:]), 1, 0)}
	return b
}

// Options returns the accumulator's options, with defaults filled in.
func (b *Bins) Options() Options { return b.opt }

// Size estimates the memory in bytes.
func (b *Bins) Size(metrics.Extent) int64 {
	const sums = int64(unsafe.Sizeof(tally.Cell{}) + unsafe.Sizeof(kernel.BinSum{}) + 3*8)
	return int64(len(b.cells)) * sums
}

// Needs returns NeedRows for AllClasses. Other events need no whole rows.
func (b *Bins) Needs() metrics.Need {
	if b.opt.Event == AllClasses {
		return metrics.NeedRows
	}
	return 0
}

// Text describes the full definition in words: the options, and whether decisions or confidence scores are the caller's.
func (b *Bins) Text() string {
	t := b.opt.Text()
	if b.decided {
		t += "; the caller's decisions"
	}
	if b.scored {
		t += "; binned by the caller's scores"
	}
	return t
}

// Empty returns an accumulator without rows with the same options.
func (b *Bins) Empty() metrics.Accumulator { return metrics.Must(NewBins(&b.opt)) }

const errPositive = "calib: there is no positive class among more than two"

// AddBlock adds a block's rows.
func (b *Bins) AddBlock(k *metrics.Block) {
	b.classes, b.weighted = k.Classes, k.Weights != nil
	n := k.Rows
	by := func(p []float64) []float64 {
		if b.scored = k.By != nil; b.scored {
			return k.By[:n]
		}
		return p
	}
	switch b.opt.Event.Resolve(k.Classes) {
	case TopLabel:
		hit, p := k.Right[:n], k.Score[:n]
		b.decided = k.Decisions != nil
		b.add(TopLabel, by(p), p, hit, k.Weights, k.DType)
	case Positive:
		if k.Classes > 2 {
			panic(errPositive)
		}
		hit := b.hits(n)
		if len(b.ones) < n {
			b.ones = slices.Repeat([]int32{1}, n)
		}
		kernel.Hits(hit, k.Labels[:n], b.ones[:n])
		p := k.Stats.Positive[:n]
		b.add(Positive, by(p), p, hit, k.Weights, k.DType)
	case AllClasses:
		width := k.Probs.Width
		hit := b.hits(n * width)
		clear(hit)
		for i, y := range k.Labels[:n] {
			hit[i*width+int(y)] = 1
		}
		var w []float64
		if k.Weights != nil {
			if len(b.w) < len(hit) {
				b.w = make([]float64, len(hit))
			}
			w = b.w[:len(hit)]
			for i := range w {
				w[i] = k.Weights[i/width]
			}
		}
		p := b.entries(&k.Probs, n)
		b.add(AllClasses, p, p, hit, w, k.DType)
	}
}

// AddsEvents reports whether rows of a binary task can be added by AddEvents: for the positive class, in left-closed bins by EdgeMul without
// a place of their own for scores of 0 or 1.
func (b *Bins) AddsEvents() (edges []float64, ok bool) {
	return b.edges, !b.given && b.opt == Options{Bins: b.opt.Bins, Event: b.opt.Event} && b.opt.Event.Resolve(1) == Positive
}

// AddEvents adds rows, see metrics.EventAdder.
func (b *Bins) AddEvents(e *metrics.Events) bool {
	sums, ok := e.Bins(b.edges)
	if !ok {
		return false
	}
	b.classes, b.weighted, b.scored = 1, false, false
	for i := range sums {
		if sums[i].N > 0 {
			b.cells[i].AddBins(&sums[i])
		}
	}
	return true
}

// entries returns the entries of n rows, in row-major order.
func (b *Bins) entries(t *metrics.Tile, n int) []float64 {
	if t.F64 != nil && t.Stride == t.Width {
		return t.F64[:n*t.Width]
	}
	if len(b.p) < n*t.Width {
		b.p = make([]float64, n*t.Width)
	}
	p := b.p[:n*t.Width]
	for i := range n {
		row := p[i*t.Width : (i+1)*t.Width]
		if t.F64 != nil {
			copy(row, t.F64[i*t.Stride:])
			continue
		}
		for j, v := range t.F32[i*t.Stride:][:len(row)] {
			row[j] = float64(v)
		}
	}
	return p
}

func (b *Bins) hits(n int) []uint8 {
	if len(b.hit) < n {
		b.hit = make([]uint8, n)
	}
	return b.hit[:n]
}

// add adds scores p of an event, with outcomes y and weights w, to the bins of by. by has the length of p or is p itself. t is
// the type of the rows.
func (b *Bins) add(event Event, by, p []float64, y []uint8, w []float64, t metrics.DType) {
	edges, round := b.edges, false
	if b.opt.Index == EdgeTorch && t == metrics.Float64 {
		if round = event != Positive; !round {
			edges = b.widen()
		}
	}
	for len(p) > 0 {
		n := min(len(p), kernel.MaxSum)
		if len(b.idx) < n {
			b.idx = make([]int32, n)
		}
		idx, at := b.idx[:n], by[:n]
		if round {
			at = b.rounded(at)
		}
		b.assign(idx, at, edges, t)
		b.place(idx, at, w)
		if w != nil {
			tally.AddWeightedTo(b.cells, idx, p[:n], y[:n], w[:n])
			w = w[n:]
		} else {
			b.sum(idx, p[:n], y[:n])
		}
		by, p, y = by[n:], p[n:], y[n:]
	}
}

// widen switches the bins to the float64 edges of EdgeTorch, and returns these edges.
func (b *Bins) widen() []float64 {
	if b.wide == nil {
		b.wide = b.opt.wideEdges()
		n := copy(b.lower, b.wide[:len(b.wide)-1])
		copy(b.upper, b.wide[1:n+1])
	}
	return b.wide
}

// rounded returns the scores rounded to float32.
func (b *Bins) rounded(p []float64) []float64 {
	if b.near == nil {
		b.near = make([]float64, kernel.MaxSum)
	}
	for i, v := range p {
		b.near[i] = float64(float32(v))
	}
	return b.near[:len(p)]
}

// assign writes the bin of each score to idx.
func (b *Bins) assign(idx []int32, p, edges []float64, t metrics.DType) {
	if b.given {
		kernel.BinEdges(idx, p, edges, b.opt.Side)
		return
	}
	switch b.opt.Index {
	case EdgeMul:
		kernel.BinEqual(idx, p, edges, b.opt.Side)
	case EdgeDiv, EdgeMul32, EdgeTorch:
		kernel.BinEdges(idx, p, edges, b.opt.Side)
	case FloorMul:
		n := b.opt.bins()
		for i, v := range p {
			f := v * float64(n)
			if t != metrics.Float64 {
				f = float64(float32(v) * float32(n))
			}
			idx[i] = int32(math.Floor(math.Min(math.Max(f, 0), float64(n-1))))
		}
	}
}

// place moves scores of 0 and 1 to the bins that the options give them, -1 for none.
func (b *Bins) place(idx []int32, p, w []float64) {
	n := int32(len(b.edges) - 1)
	switch b.opt.One {
	case OverflowBin:
		for i, v := range p {
			if v >= 1 {
				idx[i] = n
			}
		}
	case LastBinOnly:
		for i, v := range p {
			if v > 1 {
				idx[i] = -1
				b.lose(i, w)
			}
		}
	}
	if b.opt.Zero == FirstBin {
		return
	}
	for i, v := range p {
		if v > 0 {
			continue
		}
		idx[i] = -1
		switch b.opt.Zero {
		case OwnBin:
			idx[i] = n + 1
		case NoBin:
			b.lose(i, w)
		}
	}
}

// lose counts a row that is in no bin.
func (b *Bins) lose(i int, w []float64) {
	if w != nil {
		w = w[i : i+1]
	}
	b.lost.Add(1, w)
}

// sum adds scores without weights to their bins.
func (b *Bins) sum(idx []int32, p []float64, y []uint8) {
	clear(b.sums)
	out := kernel.BinSums(b.sums, idx, p, y)
	for i := range b.sums {
		if b.sums[i].N > 0 {
			b.cells[i].AddBins(&b.sums[i])
		}
	}
	if out == 0 {
		return
	}
	for i, v := range p {
		if idx[i] >= 0 && !tally.InUnit(v) {
			b.cells[idx[i]].AddScore(v, y[i])
		}
	}
}

// Merge adds what another *Bins has seen.
func (b *Bins) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Bins](binsFormat, a)
	switch {
	case err != nil:
		return err
	case b.opt != o.opt:
		return state.Mismatch(binsFormat, "with (%v) and with (%v)", b.opt, o.opt)
	case b.classes != 0 && o.classes != 0 && b.scored != o.scored:
		return state.Mismatch(binsFormat, "with and without confidence scores")
	case o.classes == 0:
		return nil
	}
	seen := state.Rows{Classes: b.classes, Weighted: b.weighted, Decided: b.decided}
	if err := seen.Merge(state.Rows{Classes: o.classes, Weighted: o.weighted, Decided: o.decided}, binsFormat, "classes"); err != nil {
		return err
	}
	b.classes, b.weighted, b.decided, b.scored = o.classes, o.weighted, o.decided, o.scored
	if o.wide != nil {
		b.widen()
	}
	for i := range b.cells {
		b.cells[i].Merge(&o.cells[i])
	}
	b.lost.Merge(&o.lost)
	return nil
}

var binsFormat = exact.Format{Name: "calib.Bins", Magic: "cBIN", Version: 2}

func (b *Bins) fields(f *exact.Fields) {
	o, wide := b.opt, b.wide != nil
	f.Int(&o.Bins)
	exact.Byte(f, &o.Event)
	exact.Byte(f, &o.Side)
	exact.Byte(f, &o.One)
	exact.Byte(f, &o.Zero)
	exact.Byte(f, &o.Index)
	weighted, decided, scored := b.weighted, b.decided, b.scored
	f.Flags(&o.BlogEdges, &weighted, &decided, &scored, &wide)
	classes, lost, cells := b.classes, b.lost, len(b.cells)
	f.Int(&classes)
	lost.Fields(f)
	f.Count(&cells, 8)
	if f.Reading() {
		n, err := NewBins(&o)
		if f.Must(err == nil && o.Bins != 0 && cells == o.bins()+2 && (!wide || o.Index == EdgeTorch), "its options are not valid"); !f.OK() {
			return
		}
		*b = *n
		b.classes, b.weighted, b.decided, b.scored, b.lost = classes, weighted, decided, scored, lost
		if wide {
			b.widen()
		}
	}
	for i := range b.cells {
		c := &b.cells[i]
		c.Fields(f)
		if f.Reading() {
			y := c.Y.Float64()
			f.Must(y >= 0 && (y <= float64(c.N) || weighted), "a bin has more events than rows, or less than none")
		}
	}
}

// AppendBinary appends the state.
func (b *Bins) AppendBinary(dst []byte) ([]byte, error) { return binsFormat.Append(dst, b.fields) }

// UnmarshalBinary replaces b, including its options, with a state that AppendBinary wrote.
func (b *Bins) UnmarshalBinary(data []byte) error {
	return exact.Replace(binsFormat, data, b, (*Bins).fields)
}
