package cells

import (
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// The largest numbers of distinct scores that have a cell each, without and with weights.
const (
	MaxExact         = 1 << 18
	MaxExactWeighted = 1 << 15
)

// Options select the scores.
type Options struct {
	Event metrics.Event // event whose probability is the score; AllClasses is not allowed
}

// Cells accumulates scores and outcomes. It has a cell for each distinct score up to MaxExact distinct scores (MaxExactWeighted
// with weights). Beyond that, it has a cell for each cell of kernel's grid in use. The choice depends only on the set of rows.
// It is a metrics.Accumulator. If the predictions have the caller's decisions, the top label is the decision. Confidence scores
// are ignored.
//
// The state takes 8 bytes per row, up to 2 MiB. With many rows it takes a further 24 bytes per distinct score, up to 6 MiB. A
// grid takes 1 MiB. Sorting takes another 3 MiB. With weights a cell takes about 250 bytes.
type Cells struct {
	opt     Options
	seen    state.Rows
	digits  uint8 // binary digits of 1 - p in the scores' type, for p near 1, see fold; 0 unless scores are plain binary probabilities
	origin  origin
	outside int64 // number of scores outside [0,1]

	log     []uint64    // rows that are not counted yet: key<<1 | outcome
	sorted  bool        // log is sorted
	shared  bool        // log is shared with another accumulator: it may be sorted, but not appended to or overwritten
	exact   []exactCell // in ascending order of keys
	lent    bool        // exact is shared likewise
	byScore []exactCell // exact in order of scores; computed on demand if keys are of raw scores
	grid    *grid       // nil while cells are exact

	heavy        map[uint64]*tally.Cell // weighted cells, by key or by grid place; both rise with the score
	weightedGrid bool                   // heavy is indexed by grid place
	placed       []*tally.Cell          // by grid place, what of heavy has been found there

	cols columns
}

// exactCell holds the outcomes of one score.
type exactCell struct {
	key  uint64
	n, y int64
}

// grid holds the sums of the cells of kernel's grid, indexed by 4*cell + 2*half + outcome.
type grid struct {
	fresh   []kernel.GridCell // sums of pending scores; nil before the first
	pending int
	sums    []gridSum
}

// gridSum holds the number of scores of a cell, and the sums of their q and q*q, each minus the value that the cell's place
// would have for all of them.
type gridSum struct {
	n     uint64
	q, qq tally.Wide
}

var _ metrics.Accumulator = (*Cells)(nil)

// New returns an empty accumulator. o may be nil. The event AllClasses is an error.
func New(o *Options) (*Cells, error) {
	c := &Cells{}
	if o != nil {
		c.opt = *o
	}
	if c.opt.Event > metrics.Positive {
		return nil, errors.New(errEvent)
	}
	return c, nil
}

// Options returns the accumulator's options.
func (c *Cells) Options() Options { return c.opt }

// Needs returns NeedLogit: columns only, with the logits of a binary task.
func (c *Cells) Needs() metrics.Need { return metrics.NeedLogit }

// Empty returns an accumulator without rows with the same options.
func (c *Cells) Empty() metrics.Accumulator { return metrics.Must(New(&c.opt)) }

// Len returns the number of rows seen.
func (c *Cells) Len() int64 {
	n := c.outside + int64(len(c.log))
	for i := range c.exact {
		n += c.exact[i].n
	}
	if c.grid != nil {
		n += int64(c.grid.pending)
		for i := range c.grid.sums {
			n += int64(c.grid.sums[i].n)
		}
	}
	for _, h := range c.heavy {
		n += h.N
	}
	return n
}

// Size estimates the memory in bytes.
func (c *Cells) Size(x metrics.Extent) int64 {
	if x.Weighted {
		// A map entry includes unused capacity.
		return x.Distinct(2*MaxExactWeighted) * (int64(unsafe.Sizeof(tally.Cell{})) + 64)
	}
	log := int64(shortLog)
	for log < x.Distinct(logLen) {
		log = int64(longer(int(log)))
	}
	return 8*log + 24*x.Distinct(MaxExact)
}

// Held estimates the memory in bytes after this many more rows.
func (c *Cells) Held(more int64, x metrics.Extent) int64 {
	if x.Weighted {
		n := min(int64(len(c.heavy))+more, 2*MaxExactWeighted) * (int64(unsafe.Sizeof(tally.Cell{})) + 64)
		if c.weightedGrid || int64(len(c.heavy))+more > MaxExactWeighted {
			n += 8 * int64(tally.Places())
		}
		return n
	}
	const cell = int64(unsafe.Sizeof(exactCell{}))
	if c.grid != nil {
		return gridBytes()
	}
	held := 8*int64(cap(c.log)) + cell*int64(cap(c.exact))
	if more == 0 {
		return held
	}
	rows, log := int64(len(c.log))+more, int64(max(shortLog, cap(c.log)))
	for log < min(rows, logLen) {
		log = int64(longer(int(log)))
	}
	n := 8*log + cell*int64(cap(c.exact))
	if rows > logLen || len(c.exact) > 0 { // it becomes cells, or a grid
		if most := int64(len(c.exact)) + rows; most > MaxExact {
			n += cell*max(0, MaxExact-int64(cap(c.exact))) + gridBytes()
		} else {
			n += cell * max(0, most-int64(cap(c.exact)))
		}
	}
	return max(n, held)
}

// gridBytes is the memory of a grid.
func gridBytes() int64 {
	return int64(kernel.GridSize()) * int64(unsafe.Sizeof(gridSum{})+unsafe.Sizeof(kernel.GridCell{}))
}

// Outside returns the number of scores outside [0,1], which are in no cell. Only unchecked predictions have such scores.
func (c *Cells) Outside() int64 { return c.outside }

// Exact reports whether each distinct score has its own cell.
func (c *Cells) Exact() bool {
	c.settle()
	return c.grid == nil && !c.weightedGrid
}

// Weighted reports whether the rows have weights.
func (c *Cells) Weighted() bool { return c.seen.Weighted }

// Event returns the event of the scores. Once there are rows, it is never ByShape.
func (c *Cells) Event() metrics.Event {
	if c.seen.Classes == 0 {
		return c.opt.Event
	}
	return c.opt.Event.Resolve(c.seen.Classes)
}

// Classes returns the number of classes of the rows: 1 for a binary task, 0 before the first block.
func (c *Cells) Classes() int { return c.seen.Classes }

const (
	errEvent    = "cells: the event is not one of a row"
	errPositive = "cells: there is no positive class among more than two"
)

// logLen is the number of scores that are counted at once. It exceeds MaxExact, so that a full log with almost only distinct
// scores is recognized without sorting.
const logLen = MaxExact + MaxExact/16

// shortLog is the capacity of the first log.
const shortLog = 512

// half is the key of 1/2.
const half = tally.HalfKey

// AddBlock adds a block's rows.
func (c *Cells) AddBlock(b *metrics.Block) {
	c.seen.Begin(b)
	c.seen.Decided = b.Decisions != nil && c.opt.Event.Resolve(b.Classes) != metrics.Positive
	c.digits, c.origin, c.byScore = digitsOf(b), originOf(b, c.opt.Event), nil
	p, tail, hit := c.cols.of(b, c.opt.Event)
	if b.Weights != nil {
		c.addWeighted(p, tail, hit, b)
		return
	}
	if c.grid != nil {
		c.outside += int64(c.grid.add(p, tail, hit))
		return
	}
	c.sorted = false
	log := c.log
	for i, v := range p {
		k := tally.Key(v, tail[i])
		if k > 2*half {
			c.outside++
			continue
		}
		if c.origin != ofScores {
			k = rawEventKey(b.Peak[i], c.Event())
		}
		if len(log) == cap(log) {
			c.log = log
			if !c.makeRoom() {
				c.outside += int64(c.grid.add(p[i:], tail[i:], hit[i:]))
				return
			}
			log = c.log
		}
		log = append(log, k<<1|uint64(hit[i]&1))
	}
	c.log = log
}

// makeRoom makes room in the log. It returns false if the scores have moved to a grid.
func (c *Cells) makeRoom() bool {
	if n := cap(c.log); n < logLen {
		log := make([]uint64, len(c.log), longer(n))
		copy(log, c.log)
		c.log, c.shared = log, false
		return true
	}
	if c.exact == nil && manyDistinct(c.log) {
		c.collapse()
		return false
	}
	c.count()
	return c.grid == nil
}

// longer returns the next capacity of a log.
func longer(n int) int {
	if n *= 2; n > logLen/2 {
		return logLen
	}
	return max(shortLog, n)
}

// manyDistinct returns true only if the log has more than MaxExact distinct scores, judged by the places that they take in a
// hash table. It may return false in this case too.
func manyDistinct(log []uint64) bool {
	const bits = 22
	var taken [1 << bits / 64]uint64
	n := 0
	for _, v := range log {
		h := (v >> 1) * 0x9e3779b97f4a7c15 >> (64 - bits)
		word := &taken[h/64]
		n += int(^*word >> (h % 64) & 1)
		*word |= 1 << (h % 64)
	}
	return n > MaxExact
}

// columns holds memory for columns that a block lacks.
type columns struct {
	tail []float64
	hit  []uint8
	ones []int32
}

// of returns the scores of a block's rows, their differences from 1, and the outcomes.
func (c *columns) of(b *metrics.Block, e metrics.Event) (p, tail []float64, hit []uint8) {
	n := b.Rows
	p, tail, hit = b.Score[:n], b.Stats.Tail[:n], b.Right[:n]
	switch {
	case e.Resolve(b.Classes) == metrics.Positive:
		return c.positive(b)
	case b.Decisions != nil:
		c.room(n)
		tail = c.tail[:n]
		for i, v := range p {
			tail[i] = 1 - v
		}
	case b.Classes == 1 && digitsOf(b) > 0:
		c.room(n)
		copy(c.tail, tail)
		tail = c.tail[:n]
		for i, class := range b.Stats.ArgMax[:n] {
			if class == 0 {
				tail[i] = fold(tail[i], digitsOf(b))
			}
		}
	}
	return p, tail, hit
}

// digitsOf returns the digits for a block of plain binary probabilities, otherwise 0.
func digitsOf(b *metrics.Block) uint8 {
	if b.Classes != 1 || b.Kind != metrics.Probs {
		return 0
	}
	switch b.DType {
	case metrics.Float64:
		return 53
	case metrics.Float32:
		return 24
	}
	return 0 // 1 - p of the other types is never rounded
}

// fold returns the complement of the more probable class's probability 1 - q, for q < 1/2, as if that probability had been
// given in the type itself: rounded to the given number of binary digits. A score of 0.3 then says the same about class 0 as
// 0.7 says about class 1, although 1 - 0.7 is not 0.3 in float64. Below 2^10 units of the last digit q is unchanged, so a
// probability of 1e-20 does not become 0 and scores near 0 keep their order.
func fold(q float64, digits uint8) float64 {
	units := math.Ldexp(q, int(digits))
	if digits == 0 || units < 1<<10 {
		return q
	}
	return math.Ldexp(math.RoundToEven(units), -int(digits))
}

// positive returns the columns for the positive class.
func (c *columns) positive(b *metrics.Block) (p, tail []float64, hit []uint8) {
	if b.Classes > 2 {
		panic(errPositive)
	}
	n := b.Rows
	c.room(n)
	p, tail, hit = b.Stats.Positive[:n], b.Stats.Tail[:n], c.hit[:n]
	kernel.Hits(hit, b.Labels[:n], c.ones[:n])
	if b.Classes == 2 {
		// The tail is that of class 1 if class 1 is the arg max.
		tail = c.tail[:n]
		for i, v := range p {
			if tail[i] = 1 - v; b.Stats.ArgMax[i] == 1 {
				tail[i] = b.Stats.Tail[i]
			}
		}
	}
	return p, tail, hit
}

func (c *columns) room(n int) {
	if len(c.hit) < n {
		c.hit, c.tail, c.ones = make([]uint8, n), make([]float64, n), slices.Repeat([]int32{1}, n)
	}
}

// sortRoom holds scratch for sorting logs, up to 3 MiB for each goroutine that sorts one.
var sortRoom sync.Pool

// sortLog sorts the log.
func (c *Cells) sortLog() {
	if c.sorted || len(c.log) == 0 {
		return
	}
	need := kernel.SortScratch(len(c.log))
	scratch, _ := sortRoom.Get().(*[]uint64)
	if scratch == nil || len(*scratch) < need {
		scratch = new(make([]uint64, need))
	}
	kernel.Sort(c.log, (*scratch)[:need])
	sortRoom.Put(scratch)
	c.sorted = true
}

// count counts the scores in the log, or moves all scores to a grid.
func (c *Cells) count() {
	c.sortLog()
	log := c.log
	if c.log = c.log[:0]; c.shared {
		c.log, c.shared = nil, false
	}
	c.merge(cellsOf(log), false)
	c.sorted = false
}

// distinct returns the number of distinct scores in a sorted log.
func distinct(log []uint64) (n int) {
	last := uint64(math.MaxUint64)
	for _, v := range log {
		if v>>1 != last {
			n, last = n+1, v>>1
		}
	}
	return n
}

// runs calls f for each distinct score in a sorted log.
func runs(log []uint64, f func(exactCell)) {
	for len(log) > 0 {
		e := exactCell{key: log[0] >> 1}
		for len(log) > 0 && log[0]>>1 == e.key {
			e.n++
			e.y += int64(log[0] & 1)
			log = log[1:]
		}
		f(e)
	}
}

// cellsOf returns the cells of a sorted log.
func cellsOf(log []uint64) []exactCell {
	cells := make([]exactCell, 0, distinct(log))
	runs(log, func(e exactCell) { cells = append(cells, e) })
	return cells
}

// merge adds exact cells in ascending order. If they are lent, another accumulator has them too, and they are not written to.
func (c *Cells) merge(o []exactCell, lent bool) {
	if c.grid != nil {
		c.toGrid(o)
		return
	}
	if len(o) == 0 {
		return
	}
	if len(c.exact) == 0 {
		if c.exact, c.lent = o, lent; len(o) > MaxExact {
			c.collapse()
		}
		return
	}
	if c.lent {
		c.exact, c.lent = slices.Clone(c.exact), false
	}
	// Cells that exist are added in place. Where many states are merged, soon there are no others.
	had, i, others := c.exact, 0, 0
	for j := range o {
		e := &o[j]
		for i < len(had) && had[i].key < e.key {
			i++
		}
		if i < len(had) && had[i].key == e.key {
			had[i].n, had[i].y = had[i].n+e.n, had[i].y+e.y
		} else {
			others++
		}
	}
	if others == 0 {
		return
	}
	if len(had)+others > MaxExact {
		fresh := c.without(o, others)
		c.collapse()
		c.toGrid(fresh)
		return
	}
	// From the end, so that existing cells move up in place.
	i, j := len(had)-1, len(o)-1
	c.exact = slices.Grow(had, others)[:len(had)+others]
	for to := len(c.exact) - 1; to > i; to-- {
		if i >= 0 && c.exact[i].key >= o[j].key {
			if c.exact[i].key == o[j].key {
				j--
			}
			c.exact[to] = c.exact[i]
			i--
			continue
		}
		c.exact[to] = o[j]
		j--
	}
}

// without returns those of these cells, n of them, that do not exist.
func (c *Cells) without(o []exactCell, n int) []exactCell {
	l, i := make([]exactCell, 0, n), 0
	for _, e := range o {
		for i < len(c.exact) && c.exact[i].key < e.key {
			i++
		}
		if i == len(c.exact) || c.exact[i].key != e.key {
			l = append(l, e)
		}
	}
	return l
}

// collapse moves the exact cells and the log to a grid.
func (c *Cells) collapse() {
	c.grid = newGrid()
	c.toGrid(c.exact)
	c.logToGrid(c.log)
	c.exact, c.log, c.byScore = nil, nil, nil
}

// toGrid adds exact cells in ascending order to the grid.
func (c *Cells) toGrid(cells []exactCell) {
	if c.origin != ofScores {
		cells = c.scored(cells)
	}
	c.grid.addCells(cells)
}

// logToGrid adds a log to the grid.
func (c *Cells) logToGrid(log []uint64) {
	if c.origin == ofScores {
		c.grid.addLog(log)
		return
	}
	d := c.decoder()
	var y [decodeRows]uint8
	for len(log) > 0 {
		n := min(len(log), decodeRows)
		for i, v := range log[:n] {
			y[i] = uint8(v & 1)
		}
		p, tail := d.columns(n, func(i int) uint64 { return log[i] >> 1 })
		c.grid.add(p, tail, y[:n])
		log = log[n:]
	}
}

func newGrid() *grid { return &grid{sums: make([]gridSum, kernel.GridSize())} }

// add adds scores, and returns the number of those outside [0,1].
func (g *grid) add(p, tail []float64, y []uint8) (outside int) {
	if g.fresh == nil {
		g.fresh = make([]kernel.GridCell, len(g.sums))
	}
	for len(p) > 0 {
		if g.pending == kernel.MaxGrid {
			g.drain()
		}
		n := min(len(p), kernel.MaxGrid-g.pending)
		out := kernel.GridSums(g.fresh, p[:n], tail[:n], y[:n])
		outside += out
		g.pending += n - out
		p, tail, y = p[n:], tail[n:], y[n:]
	}
	return outside
}

// addLog adds a log.
func (g *grid) addLog(log []uint64) {
	var p, tail [2048]float64
	var y [2048]uint8
	for len(log) > 0 {
		n := min(len(log), len(p))
		for i, v := range log[:n] {
			q, upper := tally.Distance(v >> 1)
			b := math.Float64bits(q)
			if upper {
				b = 0x3ff0000000000000 // 1, or any value in the upper half; as bits it needs no jump
			}
			p[i], tail[i], y[i] = math.Float64frombits(b), q, uint8(v&1)
		}
		g.add(p[:n], tail[:n], y[:n])
		log = log[n:]
	}
}

// rungs are the places of the grid in rising order.
var rungs = sync.OnceValue(func() []float64 {
	places, rising := kernel.GridPlaces()
	l := make([]float64, len(rising))
	for i, at := range rising {
		l[i] = places[at]
	}
	return l
})

// addCells adds exact cells in ascending order.
func (g *grid) addCells(cells []exactCell) {
	_, rising := kernel.GridPlaces()
	places := rungs()
	at := 0 // it follows q, which rises in the lower half and falls in the upper half
	for i := range cells {
		e := &cells[i]
		q, upper := tally.Distance(e.key)
		for at+1 < len(places) && places[at+1] <= q {
			at++
		}
		for places[at] > q {
			at--
		}
		k := int(rising[at]) << 2
		if upper {
			k |= 2
		}
		x := places[at]
		dq, dqq := tally.Units(q)-tally.Units(x), tally.Units(float64(q*q))-tally.Units(float64(x*x))
		if e.n == 1 {
			s := &g.sums[k|int(e.y)]
			s.n++
			s.q.Add(dq)
			s.qq.Add(dqq)
			continue
		}
		for y, n := range [...]int64{e.n - e.y, e.y} {
			g.sums[k|y].addRows(uint64(n), dq, dqq)
		}
	}
}

// drain moves the kernel's sums to sums that are wide enough for any number of scores.
func (g *grid) drain() {
	if g.pending == 0 {
		return
	}
	for i := range g.fresh {
		if f := &g.fresh[i]; f.N > 0 {
			n, q, qq := kernel.GridTotals(f, i)
			s := &g.sums[i]
			s.n += n
			s.q.Add(q)
			s.qq.Add(qq)
			*f = kernel.GridCell{}
		}
	}
	g.pending = 0
}

// settle brings all scores into one form: a sorted log, exact cells or the grid.
func (c *Cells) settle() {
	switch {
	case c.grid != nil:
		c.grid.drain()
	case c.exact == nil:
		if c.sortLog(); len(c.log) > MaxExact && distinct(c.log) > MaxExact {
			c.collapse()
			c.grid.drain()
		}
	case len(c.log) > 0:
		if c.count(); c.grid != nil {
			c.grid.drain()
		}
	}
}

// eachExact calls f for the exact cells in ascending order. The cells must be settled.
func (c *Cells) eachExact(f func(exactCell)) {
	runs(c.log, f)
	for _, e := range c.exact {
		f(e)
	}
}

// cells returns the number of exact cells. They must be settled.
func (c *Cells) cells() int { return distinct(c.log) + len(c.exact) }

// addWeighted adds rows with weights.
func (c *Cells) addWeighted(p, tail []float64, hit []uint8, b *metrics.Block) {
	if c.heavy == nil {
		c.heavy = map[uint64]*tally.Cell{}
	}
	if c.weightedGrid && c.placed == nil {
		c.placed = make([]*tally.Cell, tally.Places())
	}
	for i, w := range b.Weights {
		k := tally.Key(p[i], tail[i])
		if k > 2*half {
			c.outside++
			continue
		}
		v := tally.Score(k)
		switch {
		case c.weightedGrid:
			k = tally.Place(k)
			if c.placed[k] == nil {
				c.placed[k] = c.numbered(k)
			}
			c.placed[k].AddWeighted(v, hit[i]&1, w)
			continue
		case c.origin != ofScores:
			k = rawEventKey(b.Peak[i], c.Event())
		}
		c.numbered(k).AddWeighted(v, hit[i]&1, w)
		if len(c.heavy) > MaxExactWeighted {
			c.toWeightedGrid()
			c.placed = make([]*tally.Cell, tally.Places())
		}
	}
}

// numbered returns the cell of a key or grid place.
func (c *Cells) numbered(k uint64) *tally.Cell {
	h := c.heavy[k]
	if h == nil {
		h = new(tally.Cell)
		c.heavy[k] = h
	}
	return h
}

// toWeightedGrid moves exact weighted cells to the grid.
func (c *Cells) toWeightedGrid() {
	_, fine := c.weightedScores()
	c.heavy, c.weightedGrid, c.placed = map[uint64]*tally.Cell{}, true, nil
	for k, h := range fine {
		c.numbered(tally.Place(k)).Merge(h)
	}
}

// Merge adds what another *Cells has seen. The two may share memory afterwards, but their answers are independent.
func (c *Cells) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Cells](cellsFormat, a)
	if err != nil {
		return err
	}
	if c.opt != o.opt {
		return state.Mismatch(cellsFormat, "of different events")
	}
	seen := c.seen
	if err := seen.Merge(o.seen, cellsFormat, "classes"); err != nil || o.seen.Classes == 0 {
		return err
	}
	if c.seen.Classes != 0 && (c.digits != o.digits || c.origin != o.origin) {
		return state.Mismatch(cellsFormat, "of scores of different types")
	}
	c.seen, c.digits, c.origin, c.byScore = seen, o.digits, o.origin, nil
	c.outside += o.outside
	if c.seen.Weighted {
		c.mergeWeighted(o)
		return nil
	}
	if o.grid != nil {
		o.grid.drain()
		if c.grid == nil {
			c.collapse()
		}
		for i := range o.grid.sums {
			c.grid.sums[i].merge(&o.grid.sums[i])
		}
		return nil
	}
	if c.grid == nil && c.exact == nil && len(c.log) == 0 {
		// Most merges are into an empty accumulator, and the other one is not used again. Neither may append to shared memory,
		// because the other one may sort it.
		o.log = o.log[:len(o.log):len(o.log)]
		c.log, c.sorted = o.log, o.sorted
		c.shared, o.shared = true, true
		o.lent = true
		c.merge(o.exact, true)
		return nil
	}
	if c.grid == nil && len(c.exact) == 0 || o == c {
		o.lent = true
	}
	c.merge(o.exact, true)
	c.sorted = false
	log := o.log
	if o == c {
		log = slices.Clone(log) // the receiver's log may be sorted in the loop
	}
	for len(log) > 0 {
		if c.grid != nil {
			c.logToGrid(log)
			break
		}
		n := min(len(log), cap(c.log)-len(c.log))
		c.log = append(c.log, log[:n]...)
		if log = log[n:]; len(log) > 0 {
			c.makeRoom()
		}
	}
	return nil
}

func (c *Cells) mergeWeighted(o *Cells) {
	if c.heavy == nil {
		c.heavy = map[uint64]*tally.Cell{}
	}
	if o.weightedGrid && !c.weightedGrid {
		c.toWeightedGrid()
	}
	other := o.heavy
	if c.weightedGrid && !o.weightedGrid {
		_, other = o.weightedScores()
	}
	for k, h := range other {
		if c.weightedGrid && !o.weightedGrid {
			k = tally.Place(k)
		}
		c.numbered(k).Merge(h)
	}
	if !c.weightedGrid && len(c.heavy) > MaxExactWeighted {
		c.toWeightedGrid()
	}
}

// keys returns the numbers of the weighted cells, in ascending order.
func (c *Cells) keys() []uint64 { return slices.Sorted(maps.Keys(c.heavy)) }
