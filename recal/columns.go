package recal

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/parallel"
)

// A reading selects what a method reads of each row for its curves.
type reading struct {
	top    bool // only the top score, with a right top label as the outcome, instead of each class's score
	logits bool // logits of probabilities instead of probabilities; they may be infinite
	likely bool // skip rows whose true class has probability 0
}

// curves returns the number of curves for rows of this many scores.
func (r reading) curves(classes int) int {
	if r.top {
		return 1
	}
	return classes
}

// A tile is a batch of rows on their way to the curves.
type tile struct {
	reading
	classes int
	width   int       // curves per row
	rows    int       // capacity in rows
	n       int       // current number of rows
	x       []float64 // their scores, width per row, with room for those of all classes
	top     []int32   // for a reading of the top score, the classes
	spare   []float64 // buffer for a column
	labels  []int32   // per row: the class, or whether the event happened
	w       []float64 // nil without weights
	room    []int32   // buffer for labels
	same    []int32   // buffer for one class repeated
	weights []float64
}

// tileScores is the approximate number of scores in a tile.
const tileScores = 1 << 16

func newTile(r reading, classes, rows int) *tile {
	n := max(1, min(rows, kernel.MaxSum, tileScores/classes))
	t := &tile{reading: r, classes: classes, width: r.curves(classes), rows: n}
	t.x, t.spare = make([]float64, n*classes), make([]float64, n)
	if r.top {
		t.top = make([]int32, n)
	}
	return t
}

// read loads the scores of rows [lo, hi).
func (t *tile) read(s *metrics.Scores, k metrics.Kind, lo, hi int) {
	t.n = hi - lo
	s.Widen(t.x, lo, hi)
	t.convert(k)
}

// convert turns the scores into what the curves read.
func (t *tile) convert(k metrics.Kind) {
	switch {
	case t.top != nil:
		t.topOnly(k)
	case t.logits:
		toLogits(t.x, t.n, t.classes, k)
	default:
		toProbs(t.x, t.n, t.classes, k)
	}
}

func (t *tile) topOnly(k metrics.Kind) {
	if t.classes == 1 {
		if t.logits {
			toLogits(t.x, t.n, 1, k)
		} else {
			toProbs(t.x, t.n, 1, k)
		}
		for i, v := range t.x[:t.n] {
			switch {
			case t.logits && v <= 0:
				t.top[i], t.x[i] = 0, 0-v
			case !t.logits && v <= 0.5:
				t.top[i], t.x[i] = 0, 1-v
			default:
				t.top[i] = 1
			}
		}
		return
	}
	for i := range t.n {
		row := t.x[i*t.classes:][:t.classes]
		top := argMax(row)
		if t.top[i] = int32(top); t.logits {
			t.spare[i] = topLogit(row, top, k)
		}
	}
	if t.logits {
		copy(t.x, t.spare[:t.n])
		return
	}
	toProbs(t.x, t.n, t.classes, k)
	for i, top := range t.top[:t.n] {
		t.x[i] = t.x[i*t.classes+int(top)]
	}
}

// load reads rows [lo, hi) of a chunk that count, with labels and weights.
func (t *tile) load(c *metrics.Chunk, lo, hi int) {
	if t.room == nil {
		t.room, t.same, t.weights = make([]int32, t.rows), make([]int32, t.rows), make([]float64, t.rows)
	}
	c.Scores.Widen(t.x, lo, hi)
	t.labels, t.w = t.room, nil
	if c.Weights == nil && !t.likely {
		t.n = copy(t.labels, c.Labels[lo:hi])
	} else {
		t.pick(c, lo, hi)
	}
	t.labels = t.labels[:t.n]
	t.convert(c.Kind)
	for i, top := range t.top[:min(len(t.top), t.n)] {
		right := int32(0)
		if t.labels[i] == top {
			right = 1
		}
		t.labels[i] = right
	}
}

// pick moves the rows that count to the front.
func (t *tile) pick(c *metrics.Chunk, lo, hi int) {
	t.n = 0
	for i := range hi - lo {
		row, y := t.x[i*t.classes:][:t.classes], c.Labels[lo+i]
		if c.Weights != nil && c.Weights[lo+i] == 0 || t.likely && impossible(row, y, c.Kind) {
			continue
		}
		if i > t.n {
			copy(t.x[t.n*t.classes:][:t.classes], row)
		}
		if t.labels[t.n] = y; c.Weights != nil {
			t.weights[t.n] = c.Weights[lo+i]
		}
		t.n++
	}
	if c.Weights != nil {
		t.w = t.weights[:t.n]
	}
}

// impossible reports whether the true class of a row has probability 0.
func impossible(row []float64, y int32, k metrics.Kind) bool {
	if len(row) > 1 {
		v := row[y]
		return k == metrics.Probs && v == 0 || k != metrics.Probs && v == negInf
	}
	if k == metrics.Probs {
		return row[0] == float64(1-y)
	}
	z := eventLogit(row[0], k)
	return y == 1 && z == negInf || y == 0 && z == -negInf
}

// column writes the scores of a curve's class to dst.
func (t *tile) column(dst []float64, class int) {
	if t.width == 1 {
		copy(dst[:t.n], t.x)
		return
	}
	for i := range t.n {
		dst[i] = t.x[i*t.width+class]
	}
}

// hits writes the outcomes of a curve's class to dst: 1 where it is the true class.
func (t *tile) hits(dst []uint8, class int) {
	if t.width == 1 {
		for i, y := range t.labels {
			dst[i] = uint8(y)
		}
		return
	}
	same := t.same[:t.n]
	for i := range same {
		same[i] = int32(class)
	}
	kernel.Hits(dst, t.labels, same)
}

// tiles calls f for each tile of a chunk.
func (t *tile) tiles(c *metrics.Chunk, f func()) {
	for lo := 0; lo < c.Rows; lo += t.rows {
		if t.load(c, lo, min(lo+t.rows, c.Rows)); t.n > 0 {
			f()
		}
	}
}

// stream reads the data once. Each goroutine calls newVisit once, and calls the result for each curve and each tile of rows
// with the scores, the outcomes (1 where the event happened) and the weights (nil if there are none). The order of tiles and
// of their rows is undefined. Slices must not be kept, but x may be overwritten. Rows of weight 0 are skipped.
func (s *survey) stream(d Data, o *Options, r reading, newVisit func() func(class int, x []float64, hit []uint8, w []float64)) error {
	s.fit.Reads++
	return each(d, o, func() func(*metrics.Chunk) {
		visit := newVisit()
		t := newTile(r, s.fit.Classes, math.MaxInt)
		hit := make([]uint8, t.rows)
		return func(c *metrics.Chunk) {
			t.tiles(c, func() {
				for class := range t.width {
					x, hit := t.spare[:t.n], hit[:t.n]
					t.column(x, class)
					t.hits(hit, class)
					visit(class, x, hit, t.w)
				}
			})
		}
	})
}

// A sortedScores holds the probabilities of one curve's event in rising order, with outcomes and weights, in one of several forms.
type sortedScores struct {
	rows   int
	narrow []uint32  // keys of kernel.HitKeysF32, in rising order, or
	long   []uint64  // keys of HitKeysF64; or, with weights,
	coded  []float64 // numbers with the bits of such keys, in the original order,
	order  []int32   // and their order from kernel.OrderF64
	w      []float64
}

// each calls f for each distinct probability in rising order, with the weight of its rows and of those with the event.
// Without weights these are numbers of rows, else exact sums rounded once.
func (c *sortedScores) each(f func(p, n, y float64)) {
	switch {
	case c.narrow != nil:
		eachOf(c.narrow, func(k uint32) float64 { return float64(math.Float32frombits(k)) }, f)
	case c.coded != nil:
		c.eachWeighted(f)
	default:
		eachOf(c.long, math.Float64frombits, f)
	}
}

func eachOf[K kernel.Key](keys []K, score func(K) float64, f func(p, n, y float64)) {
	for i := 0; i < len(keys); {
		from, k, hits := i, keys[i]>>1, K(0)
		for ; i < len(keys) && keys[i]>>1 == k; i++ {
			hits += keys[i] & 1
		}
		f(score(k), float64(i-from), float64(hits))
	}
}

func (c *sortedScores) eachWeighted(f func(p, n, y float64)) {
	for i := 0; i < len(c.order); {
		first := math.Float64bits(c.coded[c.order[i]])
		k := first >> 1
		if i+1 == len(c.order) || math.Float64bits(c.coded[c.order[i+1]])>>1 != k { // the only row of its key
			w := c.w[c.order[i]]
			f(math.Float64frombits(k), w, w*float64(first&1))
			i++
			continue
		}
		var n, y weight
		for ; i < len(c.order); i++ {
			at := c.order[i]
			b := math.Float64bits(c.coded[at])
			if b>>1 != k {
				break
			}
			n.add(c.w[at])
			if b&1 == 1 {
				y.add(c.w[at])
			}
		}
		f(math.Float64frombits(k), n.value(), y.value())
	}
}

// gather calls fit with the column of each curve and returns the curves. The column must not be kept. The data are read
// repeatedly, with as many columns at a time as Options.Memory allows. Several goroutines call fit at the same time.
func (s *survey) gather(d Data, o *Options, r reading, fit func(class int, c *sortedScores) (curve, error)) ([]curve, error) {
	g := gatherer{survey: s, reading: r, rows: int(s.fit.Rows), curves: make([]curve, r.curves(s.fit.Classes))}
	if err := g.plan(o); err != nil {
		return nil, err
	}
	for from := 0; from < len(g.curves); from += g.group {
		if err := g.fitGroup(d, o, from, min(from+g.group, len(g.curves)), fit); err != nil {
			return nil, err
		}
	}
	return g.curves, nil
}

type gatherer struct {
	*survey
	reading
	rows    int
	curves  []curve
	narrow  bool // keys have 32 bits
	group   int  // columns at a time
	threads int  // per sort
	workers int  // sorts at a time
	keys32  []uint32
	keys64  []uint64
	coded   []float64
	w       []float64
}

// fewRows is the number of rows below which columns are sorted in parallel, each by one thread.
const fewRows = 1 << 18

// plan computes how many columns fit into memory.
func (g *gatherer) plan(o *Options) error {
	rows := int64(g.rows)
	if g.rows > math.MaxInt32 {
		return fmt.Errorf("%d rows are more than can be sorted, 2^31-1; fit to a part of them", rows)
	}
	g.narrow = g.reading.narrow(g.kind, g.dtype, g.fit.Classes, g.fit.Weighted)
	size, scratch, shared := sortBytes(rows, g.narrow, g.fit.Weighted)
	g.threads = o.workers()
	g.workers = 1
	if g.rows < fewRows {
		g.workers = min(g.threads, len(g.curves))
	}
	room := func() int64 { return (o.memory() - shared - int64(g.workers)*scratch) / (size * rows) }
	for g.workers > 1 && room() < int64(g.workers) {
		g.workers--
	}
	if room() < 1 {
		return fmt.Errorf("to sort the scores of %d rows takes %d bytes, and %v is %d; raise it, or fit to fewer rows",
			rows, shared+scratch+size*rows, setting.FitMemory, o.memory())
	}
	g.group = int(min(room(), int64(len(g.curves))))
	switch n := g.group * g.rows; {
	case g.fit.Weighted:
		g.coded, g.w = make([]float64, n), make([]float64, g.rows)
	case g.narrow:
		g.keys32 = make([]uint32, n)
	default:
		g.keys64 = make([]uint64, n)
	}
	return nil
}

// narrow reports whether keys of 32 bits can hold the scores.
func (r reading) narrow(k metrics.Kind, t metrics.DType, classes int, weighted bool) bool {
	return k == metrics.Probs && t != metrics.Float64 && !weighted && !(r.top && classes == 1)
}

// sortBytes returns the memory of sorting columns: per column (size), per running sort (scratch) and once for all (shared).
func sortBytes(rows int64, narrow, weighted bool) (size, scratch, shared int64) {
	size, scratch = 8, 8*int64(kernel.SortScratch(int(rows)))
	switch {
	case weighted:
		scratch, shared = 4*rows+8*int64(kernel.OrderScratch(int(rows))), 8*rows
	case narrow:
		size, scratch = 4, scratch/2
	}
	return size, scratch, shared
}

// fitGroup reads columns [from, to) and fits their curves.
func (g *gatherer) fitGroup(d Data, o *Options, from, to int, fit func(class int, c *sortedScores) (curve, error)) error {
	if err := g.readGroup(d, o, from, to); err != nil {
		return err
	}
	errs := make([]error, to-from)
	parallel.Each(g.workers, to-from, func() func(int) {
		var s sorter
		return func(i int) {
			c := s.sort(g, i)
			g.curves[from+i], errs[i] = fit(from+i, c)
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *gatherer) readGroup(d Data, o *Options, from, to int) error {
	g.fit.Reads++
	var taken atomic.Int64
	err := each(d, o, func() func(*metrics.Chunk) {
		t := newTile(g.reading, g.fit.Classes, math.MaxInt)
		hit, p32, keys := make([]uint8, t.rows), make([]float32, t.rows), make([]uint64, t.rows)
		return func(c *metrics.Chunk) {
			t.tiles(c, func() {
				n := t.n
				at := int(taken.Add(int64(n))) - n
				if at+n > g.rows {
					return
				}
				copy(g.w[min(at, len(g.w)):], t.w)
				x, hit := t.spare[:n], hit[:n]
				for class := from; class < to; class++ {
					t.column(x, class)
					t.hits(hit, class)
					at := (class-from)*g.rows + at
					switch {
					case g.narrow:
						for i, v := range x {
							p32[i] = float32(v)
						}
						kernel.HitKeysF32(g.keys32[at:at+n], p32[:n], hit)
					case g.fit.Weighted:
						kernel.HitKeysF64(keys[:n], x, hit)
						for i, k := range keys[:n] {
							g.coded[at+i] = math.Float64frombits(k)
						}
					default:
						kernel.HitKeysF64(g.keys64[at:at+n], x, hit)
					}
				}
			})
		}
	})
	if err == nil && taken.Load() != int64(g.rows) {
		return fmt.Errorf("the data had %d rows when they were read first, and then %d", g.rows, taken.Load())
	}
	return err
}

// A sorter is the memory of one goroutine for sorting columns.
type sorter struct {
	sortedScores
	scratch32 []uint32
	scratch64 []uint64
}

// sort returns column i of the group.
func (s *sorter) sort(g *gatherer, i int) *sortedScores {
	from, to := i*g.rows, (i+1)*g.rows
	threads := max(1, g.threads/g.workers)
	s.rows = g.rows
	switch {
	case g.fit.Weighted:
		if s.order == nil {
			s.order, s.scratch64 = make([]int32, g.rows), make([]uint64, kernel.OrderScratch(g.rows))
		}
		s.coded, s.w = g.coded[from:to], g.w
		kernel.OrderF64(s.order, s.coded, s.scratch64)
	case g.narrow:
		if s.scratch32 == nil {
			s.scratch32 = make([]uint32, kernel.SortScratch(g.rows))
		}
		s.narrow = g.keys32[from:to]
		parallel.Sort(s.narrow, s.scratch32, threads)
	default:
		if s.scratch64 == nil {
			s.scratch64 = make([]uint64, kernel.SortScratch(g.rows))
		}
		s.long = g.keys64[from:to]
		parallel.Sort(s.long, s.scratch64, threads)
	}
	return &s.sortedScores
}

// lookBinary is look for methods with curves. Unless likely is set, no rows are left out of the fit.
func lookBinary(d Data, o *Options, likely bool) (*survey, error) {
	s, err := look(d, o)
	if err != nil {
		return nil, err
	}
	if err := hasLogits("a curve", s.kind); err != nil {
		return nil, err
	}
	if !likely {
		s.fit.LeftOut, s.fit.FirstLeftOut = 0, -1
	}
	return s, nil
}
