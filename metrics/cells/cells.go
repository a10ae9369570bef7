package cells

import (
	"errors"
	"maps"
	"math"
	"slices"
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// The numbers of distinct scores up to which each has its own cell.
const (
	MaxExact         = 1 << 18
	MaxExactWeighted = 1 << 15
)

// Options say which scores are kept.
type Options struct {
	Event metrics.Event // whose probability the score is; AllClasses is not one of these
}

// Cells accumulates scores and outcomes: a cell for each distinct score while those are at most MaxExact (MaxExactWeighted with
// weights), and beyond that one for each cell of kernel's grid in use. Which of the two it is depends on the set of rows alone. It
// is a metrics.Accumulator. Where the predictions have the caller's decisions, the top label is the decision; confidence scores have
// no say.
//
// Its state takes 8 bytes a row, at most 2 MiB, besides 24 for each distinct score of many rows, at most 6 MiB; as a grid 1 MiB. To
// sort takes 3 MiB besides. With weights a cell takes some 250 bytes.
type Cells struct {
	opt     Options
	seen    state.Rows
	digits  uint8 // binary digits of 1 - p that a probability near 1 has in its type, see fold; 0 if scores are no plain probabilities
	origin  origin
	outside int64 // scores outside [0,1]

	log     []uint64 // of rows that have not been counted: key<<1 | outcome
	sorted  bool     // it is
	shared  bool     // another accumulator has it too: it may be sorted, not appended to or written anew
	scratch []uint64
	exact   []exactCell // by rising key
	byScore []exactCell // the same by score, where keys are of raw ones and somebody asked
	grid    *grid       // nil as long as cells are exact

	heavy        map[uint64]*tally.Cell // with weights: by key, or by place in the grid, in rising order of scores
	weightedGrid bool                   // heavy is by place in the grid

	cols columns
}

// exactCell is a score and its outcomes.
type exactCell struct {
	key  uint64
	n, y int64
}

// grid is the sums of the cells of kernel's grid, by 4*cell + 2*half + outcome.
type grid struct {
	fresh   []kernel.GridCell // of pending scores; nil until there are some
	pending int
	sums    []gridSum
}

// gridSum is how many scores there are, and how much more than their number times the cell's place, or its square, the sums of
// their q, or of its square, are.
type gridSum struct {
	n     uint64
	q, qq tally.Wide
}

var _ metrics.Accumulator = (*Cells)(nil)

// New returns an empty accumulator; o may be nil. The event AllClasses is an error.
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

// Options returns what the accumulator was made with.
func (c *Cells) Options() Options { return c.opt }

// Needs says that columns are enough, and of a binary task's logits these.
func (c *Cells) Needs() metrics.Need { return metrics.NeedLogit }

// Empty returns an accumulator of the same options without rows.
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

// Size returns about how many bytes it takes.
func (c *Cells) Size(x metrics.Extent) int64 {
	if x.Weighted {
		// A cell of the map, of which a part is empty.
		return x.Distinct(2*MaxExactWeighted) * (int64(unsafe.Sizeof(tally.Cell{})) + 64)
	}
	log := int64(shortLog)
	for log < x.Distinct(logLen) {
		log = min(8*log, logLen)
	}
	return 8*log + 24*x.Distinct(MaxExact)
}

// Outside returns the number of scores outside [0,1], which only unchecked predictions have: they are in no cell.
func (c *Cells) Outside() int64 { return c.outside }

// Exact tells whether each distinct score has its own cell.
func (c *Cells) Exact() bool {
	c.settle()
	return c.grid == nil && !c.weightedGrid
}

// Weighted tells whether the rows have weights.
func (c *Cells) Weighted() bool { return c.seen.Weighted }

// Event returns whose probability the scores are: never ByShape, once rows were seen.
func (c *Cells) Event() metrics.Event {
	if c.seen.Classes == 0 {
		return c.opt.Event
	}
	return c.opt.Event.Resolve(c.seen.Classes)
}

// Classes returns the number of classes of the rows, 1 of a binary task; 0 as long as there are none.
func (c *Cells) Classes() int { return c.seen.Classes }

const (
	errEvent    = "cells: the event is none of a row"
	errPositive = "cells: there is no positive class among more than two"
)

// logLen is how many scores are counted together: some more than MaxExact, so that a full log shows without a sort whether they
// are nearly all different.
const logLen = MaxExact + MaxExact/16

// shortLog is how many scores the first log holds.
const shortLog = 512

// half is the bits of 1/2.
const half = 0x3fe0000000000000

// key returns a number that rises with the score and from which it can be had back: below 1/2 its bits, above it is the tail,
// whose digits count there; rounded, it may be some units above 1/2. It is above 2*half if the score is outside [0,1].
func key(p, tail float64) uint64 {
	if p < 0.5 {
		return math.Float64bits(p + 0) // -0 is 0
	}
	if b := math.Float64bits(tail + 0); b <= half+kernel.GridSlack {
		return 2*half - min(b, half)
	}
	return math.MaxUint64
}

// distance returns a score's distance q from the end near to it, and whether that is the upper one.
func distance(key uint64) (q float64, upper bool) {
	if key < half {
		return math.Float64frombits(key), false
	}
	return math.Float64frombits(2*half - key), true
}

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
	for i, v := range p {
		k := key(v, tail[i])
		if k > 2*half {
			c.outside++
			continue
		}
		if c.origin != ofScores {
			k = rawEventKey(b.Peak[i], c.Event())
		}
		if len(c.log) == cap(c.log) && !c.makeRoom() {
			c.outside += int64(c.grid.add(p[i:], tail[i:], hit[i:]))
			return
		}
		c.log = append(c.log, k<<1|uint64(hit[i]&1))
	}
}

// makeRoom makes room in the log; false if the scores are a grid's now.
func (c *Cells) makeRoom() bool {
	if n := cap(c.log); n < logLen {
		log := make([]uint64, len(c.log), min(max(shortLog, 8*n), logLen))
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

// manyDistinct tells that a log certainly has more than MaxExact different scores: so many places of a table they take. It is no
// more than a guess that there are not.
func manyDistinct(log []uint64) bool {
	const bits = 22
	var taken [1 << bits / 64]uint64
	n := 0
	for _, v := range log {
		h := (v >> 1) * 0x9e3779b97f4a7c15 >> (64 - bits)
		word, bit := &taken[h/64], uint64(1)<<(h%64)
		if *word&bit == 0 {
			n++
			*word |= bit
		}
	}
	return n > MaxExact
}

// columns is room for what a block's columns do not have.
type columns struct {
	tail []float64
	hit  []uint8
	ones []int32
}

// of returns the scores of a block's rows, what they are less than 1, and the outcomes.
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

// digitsOf returns the digits of a block of plain probabilities of a binary task.
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
	return 0 // 1 - p of the others is rounded nowhere
}

// fold returns what the probability q < 1/2 leaves to the more probable class, as that class's own probability in the type would have
// it: to so many binary digits, for 0.3 says of class 0 what 0.7 says of class 1, and 1 - 0.7 is not 0.3 in float64. Below 2^10 units of
// the last digit it stays as it is: a probability of 1e-20 is not one of 0, and those next to 0 keep their order.
func fold(q float64, digits uint8) float64 {
	units := math.Ldexp(q, int(digits))
	if digits == 0 || units < 1<<10 {
		return q
	}
	return math.Ldexp(math.RoundToEven(units), -int(digits))
}

// positive returns the columns of the event that the class is 1.
func (c *columns) positive(b *metrics.Block) (p, tail []float64, hit []uint8) {
	if b.Classes > 2 {
		panic(errPositive)
	}
	n := b.Rows
	c.room(n)
	p, tail, hit = b.Stats.Positive[:n], b.Stats.Tail[:n], c.hit[:n]
	kernel.Hits(hit, b.Labels[:n], c.ones[:n])
	if b.Classes == 2 {
		// The tail is that of class 1 where it is the arg max.
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

// sortLog sorts the log.
func (c *Cells) sortLog() {
	if c.sorted || len(c.log) == 0 {
		return
	}
	if need := kernel.SortScratch(len(c.log)); len(c.scratch) < need {
		c.scratch = make([]uint64, need)
	}
	kernel.Sort(c.log, c.scratch[:kernel.SortScratch(len(c.log))])
	c.sorted = true
}

// count counts what is in the log, or makes a grid of all there is.
func (c *Cells) count() {
	c.sortLog()
	log := c.log
	if c.log = c.log[:0]; c.shared {
		c.log, c.shared = nil, false
	}
	c.merge(cellsOf(log))
	c.sorted = false
}

// distinct returns the number of different scores in a sorted log.
func distinct(log []uint64) (n int) {
	last := uint64(math.MaxUint64)
	for _, v := range log {
		if v>>1 != last {
			n, last = n+1, v>>1
		}
	}
	return n
}

// runs calls f for the different scores of a sorted log.
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

// cellsOf makes cells of a sorted log.
func cellsOf(log []uint64) []exactCell {
	cells := make([]exactCell, 0, distinct(log))
	runs(log, func(e exactCell) { cells = append(cells, e) })
	return cells
}

// merge adds exact cells, in rising order; they may become the receiver's.
func (c *Cells) merge(o []exactCell) {
	if c.grid != nil {
		c.toGrid(o)
		return
	}
	if len(o) == 0 {
		return
	}
	union := len(c.exact)
	for i, j := 0, 0; j < len(o); j++ {
		for i < len(c.exact) && c.exact[i].key < o[j].key {
			i++
		}
		if i == len(c.exact) || c.exact[i].key != o[j].key {
			union++
		}
	}
	if union > MaxExact {
		c.collapse()
		c.toGrid(o)
		return
	}
	if len(c.exact) == 0 {
		c.exact = o
		return
	}
	// From the end, so that what is there can move up in place.
	i, j := len(c.exact)-1, len(o)-1
	c.exact = slices.Grow(c.exact, union-len(c.exact))[:union]
	for to := union - 1; j >= 0; to-- {
		switch {
		case i >= 0 && c.exact[i].key > o[j].key:
			c.exact[to] = c.exact[i]
			i--
		case i >= 0 && c.exact[i].key == o[j].key:
			e := c.exact[i]
			e.n, e.y = e.n+o[j].n, e.y+o[j].y
			c.exact[to] = e
			i, j = i-1, j-1
		default:
			c.exact[to] = o[j]
			j--
		}
	}
}

// collapse makes a grid of the exact cells and of the log.
func (c *Cells) collapse() {
	c.grid = newGrid()
	c.toGrid(c.exact)
	c.logToGrid(c.log)
	c.exact, c.log, c.scratch, c.byScore = nil, nil, nil, nil
}

// toGrid adds exact cells in rising order to the grid.
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

// add adds scores, and returns how many are outside [0,1].
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
			q, upper := distance(v >> 1)
			p[i], tail[i], y[i] = q, q, uint8(v&1)
			if upper {
				p[i] = 1 // any that is in the upper half
			}
		}
		g.add(p[:n], tail[:n], y[:n])
		log = log[n:]
	}
}

// addCells adds exact cells in rising order.
func (g *grid) addCells(cells []exactCell) {
	places, rising := kernel.GridPlaces()
	at := 0 // in rising; it moves with q, which rises in the lower half and falls in the upper
	for _, e := range cells {
		q, upper := distance(e.key)
		for at+1 < len(rising) && places[rising[at+1]] <= q {
			at++
		}
		for places[rising[at]] > q {
			at--
		}
		k := int(rising[at]) << 2
		if upper {
			k |= 2
		}
		x := places[rising[at]]
		dq, dqq := tally.Units(q)-tally.Units(x), tally.Units(float64(q*q))-tally.Units(float64(x*x))
		for y, n := range [...]int64{e.n - e.y, e.y} {
			g.sums[k|y].addRows(uint64(n), dq, dqq)
		}
	}
}

// drain moves the kernel's sums to those that are wide enough for any number of scores.
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

// settle brings all that was seen into one form: a sorted log, exact cells or the grid.
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

// eachExact calls f for the exact cells, in rising order, once they are settled.
func (c *Cells) eachExact(f func(exactCell)) {
	runs(c.log, f)
	for _, e := range c.exact {
		f(e)
	}
}

// cells returns the number of exact cells, once they are settled.
func (c *Cells) cells() int { return distinct(c.log) + len(c.exact) }

// addWeighted adds rows with weights.
func (c *Cells) addWeighted(p, tail []float64, hit []uint8, b *metrics.Block) {
	if c.heavy == nil {
		c.heavy = map[uint64]*tally.Cell{}
	}
	for i, w := range b.Weights {
		k := key(p[i], tail[i])
		if k > 2*half {
			c.outside++
			continue
		}
		v := score(k)
		switch {
		case c.weightedGrid:
			k = place(k)
		case c.origin != ofScores:
			k = rawEventKey(b.Peak[i], c.Event())
		}
		c.numbered(k).AddWeighted(v, hit[i]&1, w)
		if !c.weightedGrid && len(c.heavy) > MaxExactWeighted {
			c.toWeightedGrid()
		}
	}
}

// score returns the score of a key.
func score(key uint64) float64 {
	q, upper := distance(key)
	if upper {
		return 1 - q
	}
	return q
}

// numbered returns the cell of a number: a key, or a place in the grid.
func (c *Cells) numbered(k uint64) *tally.Cell {
	h := c.heavy[k]
	if h == nil {
		h = new(tally.Cell)
		c.heavy[k] = h
	}
	return h
}

// place returns the number that the grid cell of a key has, with weights: they rise with the score.
func place(k uint64) uint64 {
	q, upper := distance(k)
	_, rising := kernel.GridPlaces()
	at := uint64(kernel.GridRank(q))
	if upper {
		return 2*uint64(len(rising)) - 1 - at
	}
	return at
}

// toWeightedGrid puts exact cells with weights into those of the grid.
func (c *Cells) toWeightedGrid() {
	_, fine := c.weightedScores()
	c.heavy, c.weightedGrid = map[uint64]*tally.Cell{}, true
	for k, h := range fine {
		c.numbered(place(k)).Merge(h)
	}
}

// Merge adds what another *Cells has seen. The two may share memory afterwards, as what they say does not show.
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
		// Parts are mostly merged into nothing, and then seen no more.
		// Neither appends to what both have, for it would be sorted in among it.
		o.log = o.log[:len(o.log):len(o.log)]
		c.log, c.sorted = o.log, o.sorted
		c.shared, o.shared = true, true
		c.merge(slices.Clone(o.exact))
		return nil
	}
	c.merge(slices.Clone(o.exact))
	c.sorted = false
	log := o.log
	if o == c {
		log = slices.Clone(log) // the receiver's may be sorted meanwhile
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
			k = place(k)
		}
		c.numbered(k).Merge(h)
	}
	if !c.weightedGrid && len(c.heavy) > MaxExactWeighted {
		c.toWeightedGrid()
	}
}

// keys returns the numbers of the cells with weights, rising.
func (c *Cells) keys() []uint64 { return slices.Sorted(maps.Keys(c.heavy)) }
