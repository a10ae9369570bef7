package ensemble

import (
	"errors"
	"fmt"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// worker is the state of one goroutine of a Fold.
type worker struct {
	f     *Folded
	accs  []Accumulator
	each  [][]metrics.Accumulator
	walks []walk // for all rows, to find bad ones
	again []walk // for the rows that are good in all members; nil until a row is bad in some of them

	seen, rows, dropped, absent, ignored int64
	failed                               bool

	// The rows that are being processed.
	c     *metrics.MemberChunk
	mean  *metrics.Chunk
	at, n int
	now   []walk
	block Block
	good  []int // for each row, the number of members in which it is good
	low   bool  // terms were too small, and became probabilities
	split bool  // some rows are bad in some members
	tiles tiles
}

// walk is one member's Walker. Its block is valid until the walk ends. The walks of the later members run inside it, so the
// blocks of all members are there at once.
type walk struct {
	walker *metrics.Walker
	chunk  metrics.Chunk
	block  *metrics.Block // nil if no row is good
}

// tiles are the members' tiles, and a mean that has no other place.
type tiles struct {
	size   int // entries per member in all32 or all64
	all32  []float32
	all64  []float64
	f32    [][]float32
	f64    [][]float64
	scale  []float32 // for terms: the members' scales, one after another
	mean32 []float32
	mean64 []float64
}

func newWorker(f *Folded) *worker {
	w := &worker{f: f}
	for _, a := range f.accs {
		w.accs = append(w.accs, a.Empty())
	}
	for _, l := range f.each {
		var e []metrics.Accumulator
		for _, a := range l {
			e = append(e, a.Empty())
		}
		w.each = append(w.each, e)
	}
	w.walks = w.newWalks()
	w.block.Members = make([]*metrics.Block, len(f.each))
	w.block.Scores = make([]metrics.Scores, len(f.each))
	return w
}

func (w *worker) newWalks() []walk {
	l := make([]walk, len(w.f.each))
	terms := w.f.meansAlone()
	for m := range l {
		need := metrics.NeedRows | metrics.NeedSpread
		for _, a := range w.f.each[m] {
			need |= a.Needs()
		}
		l[m].walker = metrics.NewWalker(&w.f.opt.Options, need, func(b *metrics.Block) {
			if w.now[m].block != nil {
				panic("ensemble: a walk has more than one block")
			}
			w.now[m].block = b
			w.walk(m + 1)
		})
		l[m].walker.Terms(terms && !w.low)
	}
	return l
}

// add processes rows [at, at+n) of a chunk and writes their mean.
func (w *worker) add(c *metrics.MemberChunk, mean *metrics.Chunk, at, n int) {
	w.c, w.mean, w.at, w.n, w.now, w.split = c, mean, at, n, w.walks, false
	w.seen += int64(n)
	w.beside(n * max(2, w.f.shape.classes))
	w.walk(0)
	if !w.f.opt.Drop {
		for m := range w.walks {
			w.failed = w.failed || w.walks[m].walker.Err() != nil
		}
	}
	if w.split && !w.failed {
		w.runs(c, at, n)
	}
}

// beside makes room for the tiles of all members, each with this many entries, in one array, as the kernels require. The
// walks over good rows use the same memory, since they run after the others.
func (w *worker) beside(entries int) {
	t := &w.tiles
	if entries <= t.size {
		return
	}
	const apart = 80 // keeps members' rows from being a power of two apart, which is slow in caches
	t.size = entries + apart
	if n := t.size * len(w.walks); w.f.narrow() {
		t.all32 = make([]float32, n)
	} else {
		t.all64 = make([]float64, n)
	}
	w.place(w.walks)
	w.place(w.again)
}

func (w *worker) place(l []walk) {
	t := &w.tiles
	for m := range l {
		if lo, hi := m*t.size, (m+1)*t.size; w.f.narrow() {
			l[m].walker.TilesIn(t.all32[lo:hi], nil)
		} else {
			l[m].walker.TilesIn(nil, t.all64[lo:hi])
		}
	}
}

// walk walks the rows of member m and, inside it, those of the members after it. Then ready gets the blocks of all.
func (w *worker) walk(m int) {
	if m == len(w.now) {
		w.ready()
		return
	}
	o := &w.now[m]
	o.block = nil
	c := &o.chunk
	c.Scores, c.Kind, c.First = w.c.Each[m].Slice(w.at, w.at+w.n), w.c.Kind, w.c.First+int64(w.at)
	c.Labels = w.c.Labels[w.at : w.at+w.n]
	if w.c.Weights != nil {
		c.Weights = w.c.Weights[w.at : w.at+w.n]
	}
	w.block.Scores[m] = c.Scores
	if o.walker.Add(c); o.block == nil { // it has no good rows, but the other members must be checked
		w.walk(m + 1)
	}
}

// ready processes the blocks of all members.
func (w *worker) ready() {
	w.good = slices.Grow(w.good[:0], w.n)[:w.n]
	clear(w.good)
	same, whole := true, true
	one := w.now[0].block
	for m := range w.now {
		b := w.now[m].block
		if b == nil || one == nil || b.Rows != one.Rows {
			same = false
		}
		if b == nil || b.Rows < w.n {
			whole = false
		}
	}
	if whole {
		w.hand()
		return
	}
	first := w.c.First + int64(w.at)
	for m := range w.now {
		if b := w.now[m].block; b != nil {
			for i := range b.Rows {
				w.good[b.Number(i)-first]++
			}
		}
	}
	for _, g := range w.good {
		same = same && (g == 0 || g == len(w.now))
	}
	for i, g := range w.good {
		switch {
		case g == len(w.now):
			continue
		case w.c.Labels[w.at+i] == metrics.Ignored:
			w.ignored++
		case w.c.Weights != nil && w.c.Weights[w.at+i] == 0:
			w.absent++
		default:
			w.dropped++
		}
		if w.scored() {
			fillNaN(w.mean, w.at+i, w.at+i+1)
		}
	}
	if same && one != nil {
		w.hand()
		return
	}
	w.split = true
}

// scored reports whether the means are read.
func (w *worker) scored() bool { return w.mean.F32 != nil || w.mean.F64 != nil }

// runs processes the rows that are good in all members, in runs.
func (w *worker) runs(c *metrics.MemberChunk, at, n int) {
	if w.again == nil {
		w.again = w.newWalks()
		w.place(w.again)
	}
	w.now = w.again
	good := slices.Clone(w.good)
	for i := 0; i < n; {
		j := i
		for j < n && good[j] == len(w.now) {
			j++
		}
		if j > i {
			w.at, w.n = at+i, j-i
			w.walk(0)
		}
		i = j + 1
	}
}

// hand gives the blocks to the accumulators. All members have the same rows.
func (w *worker) hand() {
	one := w.now[0].block
	b := &w.block
	b.Rows, b.Classes, b.Labels, b.Weights, b.First = one.Rows, one.Classes, one.Labels, one.Weights, w.c.First+int64(w.at)
	for m := range w.now {
		b.Members[m] = w.now[m].block
	}
	w.rows += int64(b.Rows)
	w.average()
	for _, a := range w.accs {
		a.AddBlock(b)
	}
	for m, l := range w.each {
		for _, a := range l {
			a.AddBlock(b.Members[m])
		}
	}
}

// average computes the block's mean, in its destination if possible, otherwise in the worker's memory.
func (w *worker) average() {
	b, t, k := &w.block, &w.tiles, w.f.shape.classes
	width := b.Members[0].Probs.Width
	inPlace := w.scored() && k > 1 && b.Rows == w.n
	lo, n := w.at*k, b.Rows*width
	b.Mean = metrics.Tile{Width: width, Stride: width}
	if b.Members[0].Probs.F32 != nil {
		dst := w.mean.F32
		if !inPlace {
			t.mean32, lo = room(t.mean32, n), 0
			dst = t.mean32
		}
		b.Mean.F32 = dst[lo : lo+n]
		t.f32 = t.f32[:0]
		for _, o := range b.Members {
			t.f32 = append(t.f32, o.Probs.F32)
		}
		if !w.meanTerms() {
			w.softmax()
			meanRows(b.Mean.F32, t.f32, b, kernel.MeanF32)
		}
	} else {
		dst := w.mean.F64
		if !inPlace {
			t.mean64, lo = room(t.mean64, n), 0
			dst = t.mean64
		}
		b.Mean.F64 = dst[lo : lo+n]
		t.f64 = t.f64[:0]
		for _, o := range b.Members {
			t.f64 = append(t.f64, o.Probs.F64)
		}
		meanRows(b.Mean.F64, t.f64, b, kernel.MeanF64)
	}
	for _, o := range b.Members {
		if o.Probs.Scale != nil { // nobody reads them
			o.Probs = metrics.Tile{}
		}
	}
	if w.scored() && !inPlace {
		w.scatter()
	}
}

// meanTerms computes the mean if the members' tiles are terms at equal distances, and reports whether it has done so.
func (w *worker) meanTerms() bool {
	b, t := &w.block, &w.tiles
	t.scale = t.scale[:0]
	for _, o := range b.Members {
		if o.Probs.Scale == nil {
			return false
		}
		t.scale = append(t.scale, o.Probs.Scale...)
	}
	n := len(b.Mean.F32)
	all, apart, ok := oneArray(t.f32, n)
	return ok && kernel.MeanScaledF32(b.Mean.F32, all, t.scale, len(b.Members), b.Rows, b.Mean.Width, apart)
}

// softmax turns tiles of terms into probabilities: a term is too small, or the members' strides differ. This is likely to
// happen again, so it stops asking for terms.
func (w *worker) softmax() {
	b := &w.block
	for m, o := range b.Members {
		if o.Probs.Scale == nil {
			continue
		}
		w.low = true
		w.walks[m].walker.Terms(false)
		if w.again != nil {
			w.again[m].walker.Terms(false)
		}
		s, k := &b.Scores[m], o.Probs.Width
		if b.Rows == w.n {
			kernel.SoftmaxF32(o.Probs.F32, k, s.F32, b.Rows, k, k)
			continue
		}
		for i := range b.Rows {
			kernel.SoftmaxF32(o.Probs.F32[i*k:], k, s.F32[int(b.Number(i)-b.First)*k:], 1, k, k)
		}
	}
}

// scatter copies the means of the block's rows to their places.
func (w *worker) scatter() {
	b, k := &w.block, w.f.shape.classes
	for i := range b.Rows {
		to := (w.at + int(b.Number(i)-b.First)) * k
		end := (i + 1) * b.Mean.Width // a binary task takes the second of two columns
		if b.Mean.F32 != nil {
			copy(w.mean.F32[to:to+k], b.Mean.F32[end-k:end])
		} else {
			copy(w.mean.F64[to:to+k], b.Mean.F64[end-k:end])
		}
	}
}

// bad returns the error of bad rows: their labels and weights, and the scores of the member with the first bad row. It is
// nil if all rows are good or dropped.
func (f *Folded) bad() error {
	var labels, worst *metrics.DataError
	member, more := 0, -1
	for m := range f.each {
		var all *metrics.DataError
		for _, w := range f.workers {
			var e *metrics.DataError
			if errors.As(w.walks[m].walker.Err(), &e) {
				if all == nil {
					all = e
				} else {
					all.Merge(e)
				}
			}
		}
		if all == nil {
			continue
		}
		all.Rows = 0
		for _, w := range f.workers {
			all.Rows += w.seen
		}
		scores := *all
		scores.Faults = slices.DeleteFunc(slices.Clone(all.Faults), ofLabel)
		if labels == nil && len(scores.Faults) < len(all.Faults) { // labels are the same in all members
			labels = all
			labels.Faults = slices.DeleteFunc(all.Faults, func(f metrics.Fault) bool { return !ofLabel(f) })
		}
		if len(scores.Faults) > 0 {
			more++
			if worst == nil || scores.Faults[0].Row < worst.Faults[0].Row {
				worst, member = &scores, m
			}
		}
	}
	switch {
	case worst == nil && labels == nil:
		return nil
	case worst == nil:
		return labels
	case labels == nil:
		return &MemberError{Member: member, Others: more, Err: worst}
	}
	return fmt.Errorf("%w; %w", labels, &MemberError{Member: member, Others: more, Err: worst})
}

// MemberError describes the rows of a member whose scores are invalid.
type MemberError struct {
	Member int // the member with the first such row
	Others int // number of other members with such rows
	Err    *metrics.DataError
}

// Error names the member, its bad rows, and the number of other members with bad rows.
func (e *MemberError) Error() string {
	s := fmt.Sprintf("member %d: %v", e.Member, e.Err)
	switch {
	case e.Others == 1:
		s += "; one more member has bad rows"
	case e.Others > 1:
		s += fmt.Sprintf("; %d more members have bad rows", e.Others)
	}
	return s
}

// Unwrap returns the *metrics.DataError.
func (e *MemberError) Unwrap() error { return e.Err }

// ofLabel reports whether a fault is in the labels or weights, which all members share.
func ofLabel(f metrics.Fault) bool {
	return f.Reason == metrics.BadLabel || f.Reason == metrics.BadWeight
}
