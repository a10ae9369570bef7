package metrics

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/candor-go/candor/kernel"
)

// blockRows is the largest number of rows in a block: as many as the kernels sum in one call. Each call ends in additions to
// 128-bit sums, whose cost is spread over the rows. Columns of this length take 200 KB and stay in the second-level cache.
const blockRows = kernel.MaxSum

// blockBytes bounds the size of a block's scores. It is the most that the kernel contract allows; a longer row forms a block
// of its own. A kernel reads a row only once, so a block need not fit into a cache, and larger blocks spread the cost of the
// sums over more rows.
const blockBytes = 1 << 20

// tileBytes bounds the size of a block's tile of probabilities, which accumulators read again from the second-level cache.
const tileBytes = 256 << 10

// longRows is the number of rows in a block where rows are too long for a tile of several. Accumulators with data per class
// then read and write these once for all rows. The kernels process such rows in parts.
const longRows = 8

// skippedBytes is the size of rows from which on blocks end where a row is ignored, so that it is not read. Shorter rows cost less than a block.
const skippedBytes = 16 << 10

// worker is the state of one goroutine of a Pass.
type worker struct {
	opt    Options
	need   Need
	accs   []Accumulator
	audit  Audit
	bad    faults
	failed *atomic.Bool
	seen   int64
	whole  bool // rows that are ignored stay in the blocks that are read, since a Walker's caller counts on these

	adders []EventAdder // the accumulators, if all can be fed by events
	plain  Events

	stats   kernel.Stats
	pair    *Pair // of the block's rows
	block   Block
	hit     []uint8
	labels  []int32
	masked  []int32 // labels for kernels
	weights []float64
	keep    []int32
	scores  []float64 // scores of a binary block, gathered or exponentiated
	narrow  []float32 // the same for float32 kernels
	row     []float64 // rows divided by their sums
	decided *decided  // nil before the first decision
	by      []float64
	bytes   []float64
	numbers []int64 // of sequences
	cluster []int32 // compacted clusters
	groups  []int32 // compacted groups
	tile    []float64
	tile32  []float32
	terms   bool // tiles may hold terms, with the scales of rows in scale
	scale   []float32
	peak    []float64
	places  []Place
	truths  []float64 // compacted observations

	normal     kernel.NormalColumns
	covariance []float64 // of MultivariateNormals, while a row is examined

	norms []float64 // columns that do not change when rows are divided by their sums
	tops  []int32
	marks []uint8

	abs, apart []float64 // distance sums of Samples
	scratch32  []float32 // for their kernels
	scratch64  []float64
}

func newWorker(p *Pass, accs []Accumulator, failed *atomic.Bool) *worker {
	w := &worker{opt: p.opt, need: p.need, accs: accs, failed: failed}
	w.adders, w.plain.edges = addsEvents(accs)
	w.audit.Renormalized, w.audit.Unchecked = p.opt.Renormalize, p.opt.Unchecked
	return w
}

// grow makes room for n rows in the columns.
func (w *worker) grow(n int) {
	if len(w.hit) >= n {
		return
	}
	f := func() []float64 { return make([]float64, n) }
	w.stats = kernel.Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(), Positive: f(),
		ArgMax: make([]int32, n), Flags: make([]uint8, n)}
	if w.need&NeedRank != 0 {
		w.stats.Rank = make([]int32, n)
	}
	w.hit = make([]uint8, n)
	w.labels = make([]int32, n)
	w.weights = make([]float64, n)
	w.keep = make([]int32, 0, n)
	w.scores = make([]float64, n)
}

// add processes a chunk, whose shape has been checked, block by block.
func (w *worker) add(c *Chunk) {
	if c.Rows == 0 {
		return
	}
	if w.audit.Classes == 0 {
		w.audit = c.shape()
		w.audit.Renormalized, w.audit.Unchecked = w.opt.Renormalize, w.opt.Unchecked
	}
	st := c.RowStride()
	n := max(1, blockBytes/(st*c.DType().Size()))
	if w.need&NeedRows != 0 {
		if fit := tileBytes / (w.entry(c) * max(2, c.Classes)); fit < 2 && !c.Kind.logs() {
			n = longRows
		} else {
			n = min(n, max(1, fit))
		}
	}
	n = wholeBatches(min(n, blockRows))
	w.grow(min(n, c.Rows))
	for at := 0; at < c.Rows; {
		m := min(n, c.Rows-at)
		if st*c.DType().Size() >= skippedBytes && c.Kind.classes() && !w.whole {
			if skip := run(c.Labels[at:], true); skip > 0 {
				w.seen += int64(skip)
				w.audit.Ignored += int64(skip)
				at += skip
				continue
			}
			m = run(c.Labels[at:at+m], false)
		}
		w.addBlock(c, at, m, st)
		at += m
	}
}

// run returns how many labels at the front are, or are not, Ignored.
func run(labels []int32, ignored bool) (n int) {
	for n < len(labels) && (labels[n] == Ignored) == ignored {
		n++
	}
	return n
}

// entry returns the size in bytes of an entry of the chunk's tiles.
func (w *worker) entry(c *Chunk) int {
	if c.Classes == 1 || c.DType() == Float64 || w.scales(c) {
		return 8
	}
	return 4
}

// addBlock checks rows [at, at+n) of a chunk and passes them on.
func (w *worker) addBlock(c *Chunk, at, n, st int) {
	w.seen += int64(n)
	if w.events(c, at, n, st) {
		return
	}
	if !c.Kind.classes() {
		w.addRows(c, at, n, st)
		return
	}
	labels, ignored := w.unignored(c.Labels[at : at+n])
	b := &w.block
	*b = Block{Rows: n, Classes: c.Classes, DType: c.DType(), Kind: c.Kind, Stats: &w.stats, Labels: labels, Hit: w.hit}
	c.place(b, at)
	if c.Weights != nil {
		b.Weights = c.Weights[at : at+n]
	}
	flags := w.columns(b, c, at, n, st, labels)
	if c.Decisions != nil {
		w.decide(b, c, at, n, st)
	}
	if c.ConfidenceScores != nil {
		b.By = c.ConfidenceScores[at : at+n]
	}
	if c.Bytes != nil {
		b.Bytes = c.Bytes[at : at+n]
	}
	if c.Sequences != nil {
		b.Sequences, b.Cut = c.Sequences[at:at+n], [2]int64{c.Sequences[0], c.Sequences[c.Rows-1]}
	}
	if c.Kind == Dirichlet {
		w.sumParameters(c, at, n, st)
	}
	keep, whole := w.examine(c, at, n, st, flags, ignored)
	if w.failed.Load() && !w.opt.Drop {
		return
	}
	if w.scales(c) && c.Classes > 1 {
		w.renormalize(&w.stats, c, at, n, st, c.Labels)
		if b.Decisions != nil {
			w.renormalize(&w.decided.stats, c, at, n, st, c.Decisions)
		}
	}
	if w.need&NeedRows != 0 && (!c.Kind.logs() || c.Classes == 1) {
		w.probabilities(b, c, at, n, st)
	}
	if b.Probs.Stride == st {
		b.Probs.Ahead = ahead(&b.Probs, &c.Scores, (at+n)*st)
	}
	if !whole {
		w.compact(b, keep)
	}
	if b.Rows == 0 {
		return
	}
	kernel.Hits(w.hit[:b.Rows], w.stats.ArgMax[:b.Rows], b.Labels[:b.Rows])
	b.Score, b.Right = w.stats.Top, w.hit
	if w.need&NeedPeak != 0 || w.need&NeedLogit != 0 && c.Classes == 1 && c.Kind.logs() {
		w.peaks(b, c, at, st)
	}
	if w.need&NeedTies != 0 {
		w.placed(b, c, at, st)
	}
	if b.Decisions != nil {
		w.decided.judge(b)
	}
	w.audit.Rows += int64(b.Rows)
	for _, a := range w.accs {
		a.AddBlock(b)
	}
}

// unignored returns labels that a kernel takes, and whether there are ignored rows, for which they are 0: a kernel is slow where a label is no
// class.
func (w *worker) unignored(labels []int32) ([]int32, bool) {
	if !HasNegative(labels) || !slices.Contains(labels, Ignored) {
		return labels, false
	}
	w.masked = room(w.masked, len(labels))
	for i, y := range labels {
		if y == Ignored {
			y = 0
		}
		w.masked[i] = y
	}
	return w.masked[:len(labels)], true
}

// columns runs the kernel for the chunk's type and kind over rows [at, at+n). For logits it also makes the block's tile.
func (w *worker) columns(b *Block, c *Chunk, at, n, st int, labels []int32) uint8 {
	s, k := &w.stats, c.Classes
	if k == 1 || !c.Kind.logs() || w.need&NeedRows == 0 {
		if k > 1 && !c.Kind.logs() && w.need&NeedSpread == 0 {
			s.Rest, s.Entropy = nil, nil
		}
		return w.rowStats(s, c, at, n, st, labels)
	}
	lo := at * st
	hi := lo + (n-1)*st + k
	switch c.DType() {
	case Float64:
		return kernel.LogitSoftmaxF64(s, w.wide(b, n, k), k, c.F64[lo:hi], n, k, st, labels)
	case Float32:
		if w.terms && st == k && kernel.HasTerms(k) {
			w.scale = room(w.scale, n)
			t := w.narrowTile(b, n, k)
			b.Probs.Scale = w.scale[:n]
			return kernel.LogitTermsF32(s, t, k, w.scale, c.F32[lo:hi], n, k, st, labels)
		}
		return kernel.LogitSoftmaxF32(s, w.narrowTile(b, n, k), k, c.F32[lo:hi], n, k, st, labels)
	case Float16:
		return kernel.LogitSoftmaxF16(s, w.narrowTile(b, n, k), k, c.F16[lo:hi], n, k, st, labels)
	}
	return kernel.LogitSoftmaxBF16(s, w.narrowTile(b, n, k), k, c.BF16[lo:hi], n, k, st, labels)
}

// rowStats is columns without a tile.
func (w *worker) rowStats(s *kernel.Stats, c *Chunk, at, n, st int, labels []int32) uint8 {
	k := c.Classes
	lo := at * st
	hi := lo + (n-1)*st + k
	if k == 1 {
		return w.binaryColumns(s, c, lo, n, st, labels)
	}
	logits := c.Kind.logs()
	switch c.DType() {
	case Float64:
		if logits {
			return kernel.LogitStatsF64(s, c.F64[lo:hi], n, k, st, labels)
		}
		return kernel.ProbStatsF64(s, c.F64[lo:hi], n, k, st, labels)
	case Float32:
		if logits {
			return kernel.LogitStatsF32(s, c.F32[lo:hi], n, k, st, labels)
		}
		return kernel.ProbStatsF32(s, c.F32[lo:hi], n, k, st, labels)
	case Float16:
		if logits {
			return kernel.LogitStatsF16(s, c.F16[lo:hi], n, k, st, labels)
		}
		return kernel.ProbStatsF16(s, c.F16[lo:hi], n, k, st, labels)
	}
	if logits {
		return kernel.LogitStatsBF16(s, c.BF16[lo:hi], n, k, st, labels)
	}
	return kernel.ProbStatsBF16(s, c.BF16[lo:hi], n, k, st, labels)
}

// binaryColumns fills the columns of a block with one score per row.
func (w *worker) binaryColumns(s *kernel.Stats, c *Chunk, lo, n, st int, labels []int32) uint8 {
	if c.Pair != nil && w.opt.Renormalize && c.Kind == Probs {
		at, off := lo/st, near(c.DType(), 2)
		for i := range n {
			w.scores[i] = c.Pair.Raw[2*(at+i)+c.Pair.Event]
			// A chunk without doubtful rows has no Pair, and nothing in it is divided. So a row is divided only if its own
			// sum is off; the result does not depend on the other rows of the chunk.
			if t := c.Pair.sum(at + i); math.Abs(t-1) > off {
				w.scores[i] /= t
			}
		}
		return kernel.BinaryProbStatsF64(s, w.scores[:n], labels)
	}
	flags := w.scoreColumns(s, c, lo, n, st, labels)
	if flags&kernel.FlagNotFinite != 0 && c.Pair != nil && c.Kind == Logits {
		flags = certain(s, c, lo, n, st, labels)
	}
	return flags
}

// certain fills the columns of pairs with an impossible other class. Their logit is +Inf, which the kernel flags; the event
// is certain, just as a logit of -Inf makes its opposite certain. It returns the union of the flags of all rows.
func certain(s *kernel.Stats, c *Chunk, lo, n, st int, labels []int32) (all uint8) {
	for i := range n {
		if y := labels[i]; s.Flags[i] == kernel.FlagNotFinite && math.IsInf(c.element(lo+i*st), 1) {
			s.Top[i], s.Tail[i], s.ArgMax[i], s.Norm[i], s.Flags[i] = 1, 0, 1, math.Inf(1), 0
			s.Label[i], s.NLL[i] = float64(y), 0
			if y == 0 {
				s.NLL[i] = math.Inf(1)
			}
			if s.Rest != nil {
				s.Rest[i], s.Entropy[i] = 0, 0
			}
			if s.Positive != nil {
				s.Positive[i] = 1
			}
			if s.Rank != nil {
				s.Rank[i] = 1 - y
			}
		}
		all |= s.Flags[i]
	}
	return all
}

// scoreColumns runs the kernel for one score per row.
func (w *worker) scoreColumns(s *kernel.Stats, c *Chunk, lo, n, st int, labels []int32) uint8 {
	if c.Kind == Logits && st != 1 && c.DType() != Float64 {
		// Strided scores are gathered, so that they use the same kernel as contiguous ones.
		if len(w.narrow) < n {
			w.narrow = make([]float32, n)
		}
		for i := range n {
			w.narrow[i] = float32(c.element(lo + i*st))
		}
		return kernel.BinaryLogitStatsF32(s, w.narrow[:n], labels)
	}
	if c.Kind == LogProbs || st != 1 {
		// Log-probabilities of one event have no kernel of their own. Probabilities of any type use the float64 kernel.
		for i := range n {
			w.scores[i] = c.element(lo + i*st)
		}
		if c.Kind == LogProbs {
			kernel.ExpSliceF64(w.scores[:n], w.scores[:n])
		}
		if c.Kind == Logits {
			return kernel.BinaryLogitStatsF64(s, w.scores[:n], labels)
		}
		return kernel.BinaryProbStatsF64(s, w.scores[:n], labels)
	}
	logits := c.Kind == Logits
	switch c.DType() {
	case Float64:
		if logits {
			return kernel.BinaryLogitStatsF64(s, c.F64[lo:lo+n], labels)
		}
		return kernel.BinaryProbStatsF64(s, c.F64[lo:lo+n], labels)
	case Float32:
		if logits {
			return kernel.BinaryLogitStatsF32(s, c.F32[lo:lo+n], labels)
		}
		return kernel.BinaryProbStatsF32(s, c.F32[lo:lo+n], labels)
	case Float16:
		if logits {
			return kernel.BinaryLogitStatsF16(s, c.F16[lo:lo+n], labels)
		}
		return kernel.BinaryProbStatsF16(s, c.F16[lo:lo+n], labels)
	}
	if logits {
		return kernel.BinaryLogitStatsBF16(s, c.BF16[lo:lo+n], labels)
	}
	return kernel.BinaryProbStatsBF16(s, c.BF16[lo:lo+n], labels)
}

// renormalize turns the columns of probabilities into those of the same rows divided by their sums. Norm stays. labels are
// the labels of the chunk, or decisions in their place.
func (w *worker) renormalize(s *kernel.Stats, c *Chunk, at, n, st int, labels []int32) {
	if c.Kind == Dirichlet {
		w.divideAll(s, c, at, n, st, labels)
		return
	}
	for i := range n {
		t := s.Norm[i]
		if !(t > 0) || t == 1 {
			continue
		}
		if !(t >= 0x1p-16 && t <= 0x1p16) {
			w.divide(s, c, at+i, i, st, labels)
			continue
		}
		l := kernel.Log64(t)
		s.Top[i] /= t
		s.Tail[i] = 1 - s.Top[i]
		s.Label[i] /= t
		s.NLL[i] += l
		s.Positive[i] /= t
		if !w.opt.Unchecked {
			s.NLL[i] = max(0, s.NLL[i]) // rounding could leave it below 0
		}
		if s.Rest == nil {
			continue
		}
		s.Rest[i] /= t * t
		if s.Entropy[i] = s.Entropy[i]/t + l; !w.opt.Unchecked {
			s.Entropy[i] = max(0, s.Entropy[i])
		}
	}
}

// divide renormalises a row whose squares may leave the range of its type.
func (w *worker) divide(s *kernel.Stats, c *Chunk, row, i, st int, labels []int32) {
	one := kernel.Stats{Top: s.Top[i : i+1], Tail: s.Tail[i : i+1], Label: s.Label[i : i+1], NLL: s.NLL[i : i+1],
		Norm: s.Norm[i : i+1], Positive: s.Positive[i : i+1], ArgMax: s.ArgMax[i : i+1], Flags: s.Flags[i : i+1]}
	if s.Rest != nil {
		one.Rest, one.Entropy = s.Rest[i:i+1], s.Entropy[i:i+1]
	}
	w.divideAll(&one, c, row, 1, st, labels)
}

// divideAll divides rows entry by entry, in batches that fit the kernel. A row without a positive sum gets meaningless
// columns, but such a row is dropped before anyone reads them.
func (w *worker) divideAll(s *kernel.Stats, c *Chunk, at, n, st int, labels []int32) {
	k := c.Classes
	most := max(1, blockBytes/(8*k))
	w.row = room(w.row, min(n, most)*k)
	w.norms, w.tops, w.marks = room(w.norms, n), room(w.tops, n), room(w.marks, n)
	copy(w.norms, s.Norm[:n])
	copy(w.tops, s.ArgMax[:n])
	copy(w.marks, s.Flags[:n])
	for from := 0; from < n; from += most {
		to := min(from+most, n)
		for i := from; i < to; i++ {
			x := w.row[(i-from)*k : (i-from+1)*k]
			for j := range x {
				x[j] = c.element((at+i)*st+j) / s.Norm[i]
			}
		}
		part := kernel.Stats{Top: s.Top[from:to], Tail: s.Tail[from:to], Label: s.Label[from:to], NLL: s.NLL[from:to],
			Norm: s.Norm[from:to], Positive: s.Positive[from:to], ArgMax: s.ArgMax[from:to], Flags: s.Flags[from:to]}
		if s.Rest != nil {
			part.Rest, part.Entropy = s.Rest[from:to], s.Entropy[from:to]
		}
		kernel.ProbStatsF64(&part, w.row, to-from, k, k, labels[at+from:at+to])
	}
	copy(s.Norm, w.norms[:n])
	copy(s.ArgMax, w.tops[:n])
	copy(s.Flags, w.marks[:n])
}

// room returns a slice of at least n elements, reusing s if it is long enough.
func room[T any](s []T, n int) []T {
	if len(s) < n {
		return make([]T, n)
	}
	return s
}

// compact moves the rows in keep to the front of the block.
func (w *worker) compact(b *Block, keep []int32) {
	s := &w.stats
	for _, col := range [][]float64{s.Top, s.Tail, s.Label, s.NLL, s.Rest, s.Entropy, s.Norm, s.Positive} {
		for to, from := range keep {
			if col != nil {
				col[to] = col[from]
			}
		}
	}
	for to, from := range keep {
		s.ArgMax[to] = s.ArgMax[from]
		s.Flags[to] = s.Flags[from]
		w.labels[to] = b.Labels[from]
		if s.Rank != nil {
			s.Rank[to] = s.Rank[from]
		}
		if b.Weights != nil {
			w.weights[to] = b.Weights[from]
		}
	}
	if b.Decisions != nil {
		b.Decisions = w.decided.compact(b.Decisions, keep)
	}
	w.compactGroups(b, keep)
	if b.By != nil {
		w.by = room(w.by, len(w.hit))
		for to, from := range keep {
			w.by[to] = b.By[from]
		}
		b.By = w.by[:len(keep)]
	}
	if b.Bytes != nil {
		w.bytes = room(w.bytes, len(w.hit))
		b.Bytes = kept(w.bytes, b.Bytes, keep)
	}
	if b.Sequences != nil {
		w.numbers = room(w.numbers, len(w.hit))
		b.Sequences = kept(w.numbers, b.Sequences, keep)
	}
	if b.Clusters != nil {
		w.cluster = room(w.cluster, len(w.hit))
		b.Clusters = kept(w.cluster, b.Clusters, keep)
	}
	w.compactRows(b, keep)
	b.Rows, b.Labels, b.index = len(keep), w.labels[:len(keep)], keep
	if b.Weights != nil {
		b.Weights = w.weights[:len(keep)]
	}
}

// compactGroups keeps only the groups of the given rows.
func (w *worker) compactGroups(b *Block, keep []int32) {
	if b.Groups != nil {
		w.groups = room(w.groups, len(b.Groups))
		b.Groups = kept(w.groups, b.Groups, keep)
	}
}

// kept copies the rows in keep to dst.
func kept[T any](dst, src []T, keep []int32) []T {
	for to, from := range keep {
		dst[to] = src[from]
	}
	return dst[:len(keep)]
}

// compactRows keeps only the given rows of the tile.
func (w *worker) compactRows(b *Block, keep []int32) {
	switch t := b.Probs; {
	case t.F32 != nil:
		compactTile(w.narrowTile(b, len(keep), t.Width), t.F32, &t, keep)
		if t.Scale != nil {
			compactTile(t.Scale, t.Scale, &Tile{Width: 1, Stride: 1}, keep)
			b.Probs.Scale = t.Scale[:len(keep)]
		}
	case t.F64 != nil:
		compactTile(w.wide(b, len(keep), t.Width), t.F64, &t, keep)
	}
}

// compactTile copies the rows in keep to dst, without gaps. dst may be src if the rows of src have no gaps.
func compactTile[T float32 | float64](dst, src []T, t *Tile, keep []int32) {
	for to, from := range keep {
		copy(dst[to*t.Width:(to+1)*t.Width], src[int(from)*t.Stride:int(from)*t.Stride+t.Width])
	}
}
