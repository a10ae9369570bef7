package grouped

import (
	"slices"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// reader is the state of one goroutine of AddSource: a Walker whose blocks go to the accumulators of the current group.
type reader struct {
	spec   eval.Spec
	walker *metrics.Walker
	each   []*eval.Evaluation // by group number; nil for groups without rows
	accs   [][]metrics.Accumulator
	now    []metrics.Accumulator
	seen   int64
	room   *room
	sizes  []size
	grown  int64 // memory of the rows of a chunk

	at, count []int32 // for each group, its range among the rows sorted by group
	order     []int32
	part      metrics.Chunk
}

func newReader(g *Evaluation, o *metrics.Options) *reader {
	w := &reader{spec: g.Spec}
	need := metrics.Need(0)
	for _, a := range g.whole.Accumulators() {
		need |= a.Needs()
	}
	w.walker = metrics.NewWalker(o, need, func(b *metrics.Block) {
		for _, a := range w.now {
			a.AddBlock(b)
		}
	})
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
	most := slices.Max(c.Groups)
	for len(w.each) <= int(most) {
		w.each, w.accs, w.sizes = append(w.each, nil), append(w.accs, nil), append(w.sizes, size{})
	}
	w.grown = 0
	if err := w.parts(c, most); err != nil {
		return err
	}
	if !w.room.take(int64(c.Rows), w.grown, int(most)+1) {
		return errNoRoom
	}
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
	for i, g := range c.Groups {
		w.order[w.at[g]] = int32(i)
		w.at[g]++
	}
	from := int32(0)
	for g := range most + 1 {
		if to := w.at[g]; to > from {
			w.part.Pick(c, w.order[from:to])
			if err := w.group(g, &w.part); err != nil {
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
	w.now = w.accs[g]
	w.grown += w.sizes[g].add(int64(c.Rows), w.each[g], w.room.Extent)
	w.walker.Add(c)
	a := w.walker.Take()
	return w.each[g].Audit.Merge(&a)
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
