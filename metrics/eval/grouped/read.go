package grouped

import (
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/internal/compact"
	"github.com/candor-go/candor/metrics/score"
)

// reader is the state of one goroutine of AddSource: a Walker whose blocks go to the accumulators of the current group, until there are
// more than MostWhole groups, and then to those of all rows. The sums of groups are kept in either case.
type reader struct {
	spec   eval.Spec
	walker *metrics.Walker
	pass   func(*metrics.Chunk) // rows that have waited
	loss   *score.Loss          // of the accumulators that rows go to
	table  *compact.Table
	met    []bool             // by group number
	groups int                // how many have been met
	whole  *eval.Evaluation   // of all rows; nil while groups have evaluations
	alone  []int32            // the number of the current group, for each row of a block
	each   []*eval.Evaluation // by group number; nil for groups without rows
	accs   [][]metrics.Accumulator
	now    []metrics.Accumulator
	seen   int64
	room   *room
	sizes  []size
	grown  int64 // memory of the rows of a chunk
	held   int64 // memory of each
	took   []part

	at, count []int32 // for each group, its range among the rows sorted by group
	order     []int32
	part      metrics.Chunk // the rows of a chunk in this order, or of one of its groups
	slice     metrics.Chunk
}

func newReader(g *Evaluation, o *metrics.Options) *reader {
	w := &reader{spec: g.Spec, table: g.kept.New()}
	need := g.kept.Need()
	for _, a := range g.whole.Accumulators() {
		need |= a.Needs()
	}
	w.walker = metrics.NewWalker(o, need, func(b *metrics.Block) {
		for _, a := range w.now {
			a.AddBlock(b)
		}
		var squares []float64
		if w.loss != nil {
			squares = w.loss.LastBrier()
		}
		if b.Groups == nil { // the rows of one group
			w.table.AddAlone(b, w.alone[:b.Rows], squares)
			return
		}
		w.table.Add(b, b.Groups, squares)
	})
	w.pass = func(c *metrics.Chunk) {
		w.walker.Add(c)
	}
	return w
}

// add processes the rows of a chunk group by group.
func (w *reader) add(c *metrics.Chunk) error {
	if len(c.Groups) != c.Rows {
		panic("grouped: the rows of a chunk have no groups")
	}
	if c.Rows == 0 {
		return nil
	}
	w.seen += int64(c.Rows)
	most := largest(c.Groups)
	w.meet(c.Groups, most)
	w.grown, w.took = 0, w.took[:0]
	if w.whole != nil || w.groups > MostWhole {
		if err := w.brief(); err != nil {
			return err
		}
		if !w.table.Waits(c) {
			w.walker.Add(c)
		} else {
			for from := 0; from < c.Rows; from += compact.WaitRows {
				if part := c.Slice(from, min(from+compact.WaitRows, c.Rows)); !w.table.Wait(&part, w.pass) {
					w.walker.Add(&part)
				}
			}
		}
		if err := w.audit(); err != nil {
			return err
		}
	} else {
		for len(w.each) <= int(most) {
			w.each, w.accs, w.sizes = append(w.each, nil), append(w.accs, nil), append(w.sizes, size{})
		}
		if err := w.parts(c, most); err != nil {
			return err
		}
	}
	w.held += w.grown
	fits, hand := w.room.take(int64(c.Rows), w.took, w.grown, w.held, int(most)+1, c.Weights != nil)
	if hand {
		var err error
		if fits, err = w.hand(); err != nil {
			return err
		}
	}
	if !fits {
		return errNoRoom
	}
	return nil
}

// hand hands the evaluations of groups over to all goroutines. It reports whether there is room afterwards.
func (w *reader) hand() (fits bool, err error) {
	fits, err = w.room.hand(w.each, w.held)
	clear(w.each)
	clear(w.accs)
	clear(w.sizes)
	w.held, w.now, w.loss = 0, nil, nil
	return fits, err
}

// audit moves the audit of the rows that have been passed on to the evaluation of all rows.
func (w *reader) audit() error {
	a := w.walker.Take()
	return w.whole.Audit.Merge(&a)
}

// end passes on the rows that wait.
func (w *reader) end() error {
	if w.table.Settle(w.pass); w.whole == nil {
		return nil
	}
	return w.audit()
}

// largest returns the largest of the groups of rows.
func largest(groups []int32) int32 {
	var m0, m1, m2, m3 int32 // which do not wait for each other
	for ; len(groups) >= 4; groups = groups[4:] {
		m0, m1, m2, m3 = max(m0, groups[0]), max(m1, groups[1]), max(m2, groups[2]), max(m3, groups[3])
	}
	for _, g := range groups {
		m0 = max(m0, g)
	}
	return max(m0, m1, m2, m3)
}

// meet records groups, the largest of which is most.
func (w *reader) meet(groups []int32, most int32) {
	if n := int(most) + 1; n > len(w.met) {
		w.met = append(w.met, make([]bool, n-len(w.met))...)
	}
	if w.groups == len(w.met) { // all of them, from here on
		return
	}
	for _, g := range groups {
		if !w.met[g] {
			w.met[g] = true
			w.groups++
		}
	}
	w.table.Grow(len(w.met))
}

// brief merges the evaluations of groups to that of all rows, which the rows to come are added to.
func (w *reader) brief() error {
	if w.whole != nil {
		return nil
	}
	whole, err := eval.New(w.spec)
	if err != nil {
		return err
	}
	for i, e := range w.each {
		if e == nil {
			continue
		}
		if err := whole.Merge(e); err != nil {
			return err
		}
		w.grown -= w.sizes[i].bytes
	}
	w.whole, w.now, w.loss = whole, whole.Accumulators(), whole.Loss
	w.each, w.accs, w.sizes, w.alone = nil, nil, nil, nil
	return nil
}

// parts processes the rows of each group of a chunk, whose largest group is most.
func (w *reader) parts(c *metrics.Chunk, most int32) error {
	if slices.Min(c.Groups) == most {
		return w.group(most, c)
	}
	w.count = resized(w.count, int(most)+2)
	clear(w.count)
	for _, g := range c.Groups {
		w.count[g+1]++
	}
	for i := range most {
		w.count[i+1] += w.count[i]
	}
	w.at = append(w.at[:0], w.count[:most+1]...)
	w.order = resized(w.order, c.Rows)
	if c.RowStride()*c.DType().Size() <= shortRow {
		for i, g := range c.Groups {
			w.order[i] = w.at[g]
			w.at[g]++
		}
		w.part.Order(c, w.order)
		return w.groupsOf(most, func(from, to int32) *metrics.Chunk {
			w.slice = w.part.Slice(int(from), int(to))
			return &w.slice
		})
	}
	for i, g := range c.Groups {
		w.order[w.at[g]] = int32(i)
		w.at[g]++
	}
	return w.groupsOf(most, func(from, to int32) *metrics.Chunk {
		w.part.Pick(c, w.order[from:to])
		return &w.part
	})
}

// shortRow is the number of bytes of a row up to which the rows of a chunk are put in order at once.
const shortRow = 64

// groupsOf passes on the rows of each group of a chunk, which lie side by side and of which rows returns those in a range.
func (w *reader) groupsOf(most int32, rows func(from, to int32) *metrics.Chunk) error {
	from := int32(0)
	for g, to := range w.at[:most+1] {
		if to > from {
			if err := w.group(int32(g), rows(from, to)); err != nil {
				return err
			}
			from = to
		}
	}
	return nil
}

// group passes on the rows of one group.
func (w *reader) group(g int32, c *metrics.Chunk) error {
	if w.each[g] == nil {
		e, err := eval.New(w.spec)
		if err != nil {
			return err
		}
		w.each[g], w.accs[g] = e, e.Accumulators()
	}
	w.now, w.loss = w.accs[g], w.each[g].Loss
	if w.alone = resized(w.alone, min(c.Rows, kernel.MaxSum)); w.alone[0] != g || w.alone[len(w.alone)-1] != g {
		for i := range w.alone {
			w.alone[i] = g
		}
	}
	s := &w.sizes[g]
	s.e = w.each[g]
	if s.rows += int64(c.Rows); s.rows > s.counted && w.room.Bytes > 0 {
		w.room.flies(s.e.Held(int64(c.Rows), w.room.Extent) - s.bytes)
	}
	w.walker.Add(c)
	a := w.walker.Take()
	if err := w.each[g].Audit.Merge(&a); err != nil {
		return err
	}
	took := part{group: g, rows: int64(c.Rows)}
	if s.rows > s.counted && w.room.Bytes > 0 {
		w.grown += s.measure(w.room.Extent)
		took.of = s
	}
	w.took = append(w.took, took)
	return nil
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
