package multilabel

import (
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// A wrong shape of a LabelChunk is a bug of its source and panics with one of these texts.
const (
	errLabelShape  = "multilabel: rows, labels and stride do not fit the scores"
	errLabelMatrix = "multilabel: labels do not fit the rows"
	errLabelWeight = "multilabel: weights and rows differ in number"
	errLabelChunks = "multilabel: the chunks of a source differ in type, kind or weights"
)

const (
	labelLine = 16 // labels whose columns are made together: a cache line of float32
	// The accumulators of a label need a few dozen bytes per row for a block, one label at a time. blockLabels bounds rows
	// times labels in a block.
	blockLabels = 2 << 20
)

// feed passes the rows of a source to the evaluations of the labels. A chunk is first examined by rows. Then each label
// receives its column, a block of rows at a time, always on a single goroutine.
type feed struct {
	m       *Evaluation
	opt     metrics.Options
	threads int
	block   int // rows of a block
	accs    [][]metrics.Accumulator
	columns []*columnFeed // one per thread
	seen    int64
	failed  bool
	bad     []metrics.Fault
	parts   []faulty
	keep    []int32
}

// faulty holds the faults found in some rows of a chunk.
type faulty struct {
	bad    []metrics.Fault
	out    []int32 // rows that are not used
	absent int64   // how many of these have weight 0
}

// columnFeed makes columns for one thread.
type columnFeed struct {
	walker  *metrics.Walker
	accs    []metrics.Accumulator // of the label whose column is being read
	pitch   int
	columns metrics.Scores // a row for each label
	labels  []int32
	weights []float64
}

func newFeed(m *Evaluation, o *metrics.Options) *feed {
	f := &feed{m: m}
	if o != nil {
		f.opt = *o
	}
	f.threads = pool.Threads(f.opt.Threads, math.MaxInt)
	f.block = max(64, min(kernel.MaxSum, blockLabels/m.Labels)&^63)
	return f
}

// start makes the evaluations and what feeds them.
func (f *feed) start() {
	f.m.make()
	need := metrics.Need(0)
	for _, e := range f.m.each {
		f.accs = append(f.accs, e.Accumulators())
	}
	for _, a := range f.accs[0] {
		need |= a.Needs()
	}
	for range f.threads {
		// The distance between columns is an odd number of cache lines, so that the values of a row do not all map to the
		// same cache set.
		c := &columnFeed{pitch: f.block + 16}
		c.walker = metrics.NewWalker(&metrics.Options{Unchecked: f.opt.Unchecked}, need, func(b *metrics.Block) {
			for _, a := range c.accs {
				a.AddBlock(b)
			}
		})
		f.columns = append(f.columns, c)
	}
}

// read feeds all rows of src, reading ahead.
func (f *feed) read(src metrics.LabelSource) error {
	type item struct {
		c   *metrics.LabelChunk
		err error
	}
	items, quit := make(chan item), make(chan struct{})
	var wg sync.WaitGroup
	var fault any
	wg.Go(func() {
		defer close(items)
		// The caller cannot recover a panic on another goroutine, so the panic is passed on.
		defer func() { fault = recover() }()
		for {
			c, err := src.Next()
			select {
			case items <- item{c, err}:
			case <-quit:
				if c != nil && c.Recycle != nil {
					c.Recycle()
				}
				return
			}
			if err != nil {
				return
			}
		}
	})
	err := func() error {
		defer wg.Wait()
		defer close(quit)
		for i := range items {
			if i.err != nil {
				return i.err
			}
			err := f.add(i.c)
			if i.c.Recycle != nil {
				i.c.Recycle()
			}
			if err != nil {
				return err
			}
		}
		return nil
	}()
	if fault != nil {
		panic(fault)
	}
	// Only io.EOF itself marks the end.
	if err != io.EOF {
		return err
	}
	if len(f.bad) > 0 && !f.opt.Drop {
		return &metrics.DataError{Rows: f.seen, Kind: f.m.Audit.Kind, Classes: 1, Faults: f.bad}
	}
	for _, c := range f.columns {
		if err := c.walker.Err(); err != nil {
			return err // rows were examined already
		}
	}
	return nil
}

// add takes a chunk.
func (f *feed) add(c *metrics.LabelChunk) error {
	if c.Rows == 0 {
		return nil
	}
	switch {
	case c.Kind > metrics.LogProbs:
		return fmt.Errorf("%w: rows of %v for an evaluation of several labels", metrics.ErrMismatch, c.Kind)
	case c.Classes != f.m.Labels:
		return fmt.Errorf("%w: rows of %d labels for an evaluation of %d", metrics.ErrMismatch, c.Classes, f.m.Labels)
	}
	checkChunk(c)
	a := metrics.Audit{Classes: 1, DType: c.DType(), Kind: c.Kind, Weighted: c.Weights != nil, Unchecked: f.opt.Unchecked}
	if audit := f.m.Audit; audit.Merge(&a) != nil {
		panic(errLabelChunks)
	}
	if f.columns == nil {
		f.m.Audit = a
		f.start()
	}
	f.seen += int64(c.Rows)
	out := f.examine(c)
	if f.failed && !f.opt.Drop {
		return nil
	}
	keep := f.without(out, c.Rows)
	n := c.Rows - len(out)
	f.m.Audit.Rows += int64(n)
	if n == 0 {
		return nil
	}
	// As many groups as threads can share evenly, with at most one cache line of labels each.
	groups := min(f.threads, c.Classes)
	groups *= (c.Classes + groups*labelLine - 1) / (groups * labelLine)
	pool.Do(f.threads, groups, func(t, g int) {
		f.columns[t].add(f, c, keep, n, g*c.Classes/groups, (g+1)*c.Classes/groups)
	})
	return nil
}

// without returns the indices of the rows not in out, or nil if all are kept.
func (f *feed) without(out []int32, rows int) []int32 {
	if len(out) == 0 {
		return nil
	}
	f.keep = f.keep[:0]
	for i := range int32(rows) {
		if len(out) > 0 && out[0] == i {
			out = out[1:]
			continue
		}
		f.keep = append(f.keep, i)
	}
	return f.keep
}

// add passes columns of n rows of a chunk to labels [from, to); keep, if not nil, selects the rows.
func (w *columnFeed) add(f *feed, c *metrics.LabelChunk, keep []int32, n, from, to int) {
	st, lst := strides(c)
	for at := 0; at < n; at += f.block {
		m := min(f.block, n-at)
		rows := head32(keep, at, m)
		column := metrics.Chunk{First: c.First + int64(at)}
		if keep != nil {
			column.First, column.Numbers = c.First, rows
		}
		column.Kind = c.Kind
		if c.Weights != nil {
			column.Weights = c.Weights[at : at+m]
			if keep != nil {
				w.weights = gather(w.weights, c.Weights, 1, 1, rows, at, m, m)
				column.Weights = w.weights[:m]
			}
		}
		k := to - from
		w.labels = gather(w.labels, c.Labels[from:], k, lst, rows, at, m, w.pitch)
		w.columns.F64 = gather(w.columns.F64, behind(c.F64, from), k, st, rows, at, m, w.pitch)
		w.columns.F32 = gather(w.columns.F32, behind(c.F32, from), k, st, rows, at, m, w.pitch)
		w.columns.F16 = gather(w.columns.F16, behind(c.F16, from), k, st, rows, at, m, w.pitch)
		w.columns.BF16 = gather(w.columns.BF16, behind(c.BF16, from), k, st, rows, at, m, w.pitch)
		w.columns.Classes = w.pitch
		for j := range k {
			column.Scores = w.columns.Slice(j, j+1)
			column.Rows, column.Classes = m, 1
			column.Labels = w.labels[j*w.pitch:][:m]
			w.accs = f.accs[from+j]
			w.walker.Add(&column)
		}
	}
}

// behind returns the elements of a row-major matrix from a column on; nil stays nil.
func behind[T any](x []T, column int) []T {
	if x == nil {
		return nil
	}
	return x[column:]
}

func head32(keep []int32, at, n int) []int32 {
	if keep == nil {
		return nil
	}
	return keep[at : at+n]
}

// gather writes k columns of n rows to dst, pitch apart, and returns it. The rows are those of keep, or if that is nil those from at on. It
// returns nil if src is nil.
func gather[T float64 | float32 | uint16 | int32](dst, src []T, k, stride int, keep []int32, at, n, pitch int) []T {
	if src == nil {
		return nil
	}
	if len(dst) < k*pitch {
		dst = make([]T, max(k, labelLine)*pitch)
	}
	for i := range n {
		r := at + i
		if keep != nil {
			r = int(keep[i])
		}
		d := dst[i:]
		for j, v := range src[r*stride:][:k] {
			d[j*pitch] = v
		}
	}
	return dst
}

func strides(c *metrics.LabelChunk) (scores, labels int) {
	scores = c.RowStride()
	if labels = c.LabelStride; labels == 0 {
		labels = c.Classes
	}
	return scores, labels
}

func checkChunk(c *metrics.LabelChunk) {
	set, n := 0, 0
	for _, l := range []int{len(c.F64), len(c.F32), len(c.F16), len(c.BF16)} {
		if l > 0 {
			set, n = set+1, l
		}
	}
	st, lst := strides(c)
	last := c.Rows - 1
	switch {
	case set != 1 || c.Rows < 0 || c.Classes < 1 || st < c.Classes || n < last*st+c.Classes:
		panic(errLabelShape)
	case lst < c.Classes || len(c.Labels) < last*lst+c.Classes:
		panic(errLabelMatrix)
	case c.Weights != nil && len(c.Weights) != c.Rows:
		panic(errLabelWeight)
	}
}
