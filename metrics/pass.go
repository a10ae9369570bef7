package metrics

import (
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/candor-go/candor/kernel"
)

// Options say how a Pass treats its rows. The zero value checks everything and refuses bad rows.
type Options struct {
	// Threads is the number of goroutines that run kernels; 0 means GOMAXPROCS. It changes no bit of any result.
	Threads int
	// Drop leaves bad rows out, and counts them, where otherwise they are an error.
	Drop bool
	// Renormalize divides each row of probabilities by its sum, whatever positive number that is.
	Renormalize bool
	// Unchecked admits probabilities outside [0,1], up to 1e140 in size, and any row sum: reference cases of other
	// systems have such.
	Unchecked bool
}

// Pass reads predictions once for many accumulators: each block of rows is checked, goes through one kernel, and is
// handed to all of them. The zero value is of no use; see NewPass.
type Pass struct {
	opt   Options
	accs  []Accumulator
	need  Need
	audit Audit
}

// NewPass returns a Pass that feeds the accumulators. opt may be nil.
func NewPass(opt *Options, accs ...Accumulator) *Pass {
	p := &Pass{accs: accs}
	if opt != nil {
		p.opt = *opt
	}
	for _, a := range accs {
		p.need |= a.Needs()
	}
	p.audit.Renormalized, p.audit.Unchecked = p.opt.Renormalize, p.opt.Unchecked
	return p
}

// Audit returns what the Pass has seen so far.
func (p *Pass) Audit() Audit { return p.audit }

// Shape faults of Predictions are bugs of the caller and panic with one of these texts.
const (
	errOneSlice  = "metrics: exactly one slice of scores has to be set"
	errShape     = "metrics: rows, classes and stride do not fit the scores"
	errLabels    = "metrics: labels and rows differ in number"
	errObserved  = "metrics: observations and rows differ in number"
	errWeights   = "metrics: weights and rows differ in number"
	errDecided   = "metrics: decisions and rows differ in number"
	errScored    = "metrics: confidence scores and rows differ in number"
	errDirichlet = "metrics: a Dirichlet distribution has parameters of two classes or more"
	errNormals   = "metrics: a normal forecast is two or three numbers a row"
	errNoClasses = "metrics: decisions and confidence scores are of classes, which these scores are not"
	errPair      = "metrics: a pair of scores is of a binary task, one for each row"
	errNumbers   = "metrics: numbers of rows and rows differ in number"
	errChunks    = "metrics: the chunks of a source differ in shape or kind"
	errFilled    = "metrics: accumulators that are to be filled have seen rows"
)

// Add feeds all the rows of predictions in memory. If some cannot be used (and Options.Drop is off) the error is a
// *DataError that covers all of them, and no accumulator has changed. Wrong shapes panic.
func (p *Pass) Add(preds *Predictions) error {
	return p.AddSource(&inMemory{preds: preds})
}

// inMemory hands out predictions that are in memory already as views of about 1 MiB, or of some long rows.
type inMemory struct {
	preds *Predictions
	at    int
}

func (m *inMemory) Next() (*Chunk, error) {
	p := m.preds
	if m.at == 0 {
		p.check()
	}
	if m.at >= p.Rows {
		return nil, io.EOF
	}
	n := min(p.Rows-m.at, wholeBatches(max(longRows, (1<<20)/(p.stride()*p.DType().Size()))))
	c := &Chunk{Predictions: *p, First: int64(m.at)}
	lo := m.at * p.stride()
	hi := lo + (n-1)*p.stride() + p.Classes
	switch p.DType() {
	case Float64:
		c.F64 = p.F64[lo:hi]
	case Float32:
		c.F32 = p.F32[lo:hi]
	case Float16:
		c.F16 = p.F16[lo:hi]
	case BFloat16:
		c.BF16 = p.BF16[lo:hi]
	}
	c.Rows, c.Pair = n, p.Pair.Slice(m.at, m.at+n)
	if p.Labels != nil {
		c.Labels = p.Labels[m.at : m.at+n]
	}
	if p.Observed != nil {
		c.Observed = p.Observed[m.at : m.at+n]
	}
	if p.Weights != nil {
		c.Weights = p.Weights[m.at : m.at+n]
	}
	if p.Decisions != nil {
		c.Decisions = p.Decisions[m.at : m.at+n]
	}
	if p.ConfidenceScores != nil {
		c.ConfidenceScores = p.ConfidenceScores[m.at : m.at+n]
	}
	m.at += n
	return c, nil
}

// wholeBatches returns a number of rows that is not above n and that kernels, which take 64 together, like better.
func wholeBatches(n int) int {
	if n > 64 {
		n &^= 63
	}
	return n
}

func (s *Scores) stride() int {
	if s.Stride == 0 {
		return s.Classes
	}
	return s.Stride
}

// check panics unless the shapes fit each other.
func (p *Predictions) check() {
	set, n := 0, 0
	for _, l := range []struct {
		set bool
		n   int
	}{{p.F64 != nil, len(p.F64)}, {p.F32 != nil, len(p.F32)}, {p.F16 != nil, len(p.F16)}, {p.BF16 != nil, len(p.BF16)}} {
		if l.set {
			set, n = set+1, l.n
		}
	}
	if set != 1 && !(set == 0 && p.Rows == 0) {
		panic(errOneSlice)
	}
	st := p.stride()
	if p.Rows < 0 || p.Classes < 1 || st < p.Classes || p.Rows > 0 && (n < p.Classes || (n-p.Classes)/st < p.Rows-1) {
		panic(errShape)
	}
	if p.Pair != nil && (p.Classes != 1 || len(p.Pair.Raw) != 2*p.Rows) {
		panic(errPair)
	}
	switch p.Kind {
	case Normals:
		if p.Classes != 2 && p.Classes != 3 {
			panic(errNormals)
		}
	case Samples, Quantiles:
		if len(p.Observed) != p.Rows {
			panic(errObserved)
		}
	case LogLiks:
	case Dirichlet:
		if p.Classes < 2 {
			panic(errDirichlet)
		}
		fallthrough
	default:
		if len(p.Labels) != p.Rows {
			panic(errLabels)
		}
	}
	if !p.Kind.classes() && (p.Decisions != nil || p.ConfidenceScores != nil) {
		panic(errNoClasses)
	}
	if p.Weights != nil && len(p.Weights) != p.Rows {
		panic(errWeights)
	}
	if p.Decisions != nil && len(p.Decisions) != p.Rows {
		panic(errDecided)
	}
	if p.ConfidenceScores != nil && len(p.ConfidenceScores) != p.Rows {
		panic(errScored)
	}
}

// checkChunk does so for a chunk.
func (c *Chunk) checkChunk() {
	c.check()
	if c.Numbers != nil && len(c.Numbers) != c.Rows {
		panic(errNumbers)
	}
}

// number returns that of row i in the whole set.
func (c *Chunk) number(i int) int64 {
	if c.Numbers != nil {
		return c.First + int64(c.Numbers[i])
	}
	return c.First + int64(i)
}

// place tells a block, which begins at row at, the numbers of its rows.
func (c *Chunk) place(b *Block, at int) {
	if b.first = c.First + int64(at); c.Numbers != nil {
		b.first, b.numbers = c.First, c.Numbers[at:]
	}
}

// AddSource feeds all the rows that src yields. One goroutine reads ahead while others run the kernels. The error is
// the source's, or as for Add; in either case no accumulator has changed.
func (p *Pass) AddSource(src Source) error { return p.read(src, false) }

// Fill is AddSource for accumulators that have seen no rows, and takes no copy of what they keep: after an error they are of no use.
// It panics if one has seen rows.
func (p *Pass) Fill(src Source) error {
	for _, a := range p.accs {
		if a.Len() > 0 {
			panic(errFilled)
		}
	}
	return p.read(src, true)
}

func (p *Pass) read(src Source, fill bool) error {
	threads := p.opt.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	m, small := src.(*inMemory)
	if small {
		m.preds.check()
		if m.preds.Rows*m.preds.stride()*m.preds.DType().Size() <= 1<<18 {
			threads = 1
		}
	}
	src = &checked{src: src}
	var failed atomic.Bool // a bad row was found: from there on rows are only examined
	workers := make([]*worker, threads)
	for i := range workers {
		workers[i] = newWorker(p, &failed)
	}
	if fill {
		copy(workers[0].accs, p.accs)
	}
	if small && threads == 1 {
		for {
			c, err := src.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			workers[0].add(c)
		}
	} else {
		visits := make([]func(*Chunk), len(workers))
		for i, w := range workers {
			visits[i] = w.add
		}
		if err := Feed(src, visits...); err != nil {
			return err
		}
	}
	return p.merge(workers, fill)
}

// checked passes on a source's chunks. Their shapes are compared here, where they come in order, so that what is found
// does not depend on the threads.
type checked struct {
	src  Source
	seen Audit
}

func (s *checked) Next() (*Chunk, error) {
	c, err := s.src.Next()
	if err != nil {
		return nil, err
	}
	c.checkChunk()
	if c.Rows > 0 {
		a := c.shape()
		if s.seen.Merge(&a) != nil {
			panic(errChunks)
		}
	}
	return c, nil
}

// shape returns the audit of predictions of which no row has been seen.
func (p *Predictions) shape() Audit {
	return Audit{Classes: p.Classes, DType: p.DType(), Kind: p.Kind, Weighted: p.Weights != nil,
		Decided: p.Decisions != nil, Scored: p.ConfidenceScores != nil}
}

// Feed hands a source's chunks to the functions, each of which runs on a goroutine of its own and gets the next chunk when it is done
// with one, and recycles them. What a chunk holds is gone when the function returns. It returns the error that the source ended with,
// nil after its last chunk; a panic of a function is carried over to the caller.
func Feed(src Source, visits ...func(*Chunk)) error {
	chunks := make(chan *Chunk)
	var wg sync.WaitGroup
	var fault atomic.Value
	for _, visit := range visits {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for c := range chunks {
				func() {
					// A panic on a goroutine of ours could not be recovered by the caller: it is carried over.
					defer func() {
						if r := recover(); r != nil {
							fault.CompareAndSwap(nil, panicked{r})
						}
					}()
					if c.Recycle != nil {
						defer c.Recycle()
					}
					if fault.Load() == nil {
						visit(c)
					}
				}()
			}
		}()
	}
	err := func() error {
		// Deferred, so that a source that panics leaves no goroutines behind.
		defer wg.Wait()
		defer close(chunks)
		for {
			c, err := src.Next()
			if err != nil {
				return err
			}
			chunks <- c
			if fault.Load() != nil {
				return nil
			}
		}
	}()
	if f := fault.Load(); f != nil {
		panic(f.(panicked).value)
	}
	// Only io.EOF itself is the end: an error that wraps it says that something ended too early.
	if err != io.EOF {
		return err
	}
	return nil
}

type panicked struct{ value any }

// merge takes over what the workers have, all or nothing unless the first one's accumulators are the caller's.
func (p *Pass) merge(workers []*worker, filled bool) error {
	var bad faults
	audit := p.audit
	for _, w := range workers {
		bad.merge(&w.bad)
		if err := audit.Merge(&w.audit); err != nil {
			return err
		}
	}
	if l := bad.list(); len(l) > 0 && !p.opt.Drop {
		rows := int64(0)
		for _, w := range workers {
			rows += w.seen
		}
		return &DataError{Rows: rows, Kind: audit.Kind, Classes: audit.Classes, Faults: l}
	}
	first := workers[0].accs
	for i, a := range first {
		for _, w := range workers[1:] {
			if err := a.Merge(w.accs[i]); err != nil {
				return err
			}
			w.accs[i] = nil // which may be large
		}
	}
	if filled {
		p.audit = audit
		return nil
	}
	// An accumulator refuses a merge if it has seen unlike predictions elsewhere. All but the first are tried on a copy
	// before anything changes; the first one's own merge comes before the others. One without rows refuses nothing.
	for i := 1; i < len(p.accs); i++ {
		if p.accs[i].Len() == 0 {
			continue
		}
		t := p.accs[i].Empty()
		if err := t.Merge(p.accs[i]); err != nil {
			return err
		}
		if err := t.Merge(first[i]); err != nil {
			return err
		}
	}
	for i, a := range p.accs {
		if err := a.Merge(first[i]); err != nil {
			return err
		}
		first[i] = nil
	}
	p.audit = audit
	return nil
}

// blockRows bounds the rows of a block: as many as the kernels sum in one call, over which the additions of the sums to
// 128 bits are spread. Their columns take 200 KB and stay in the second-level cache.
const blockRows = kernel.MaxSum

// blockBytes is the size of the scores of a block, the most that a kernel's contract allows; a longer row is a block of
// its own. A kernel reads a row once, so a block need not fit a cache, and the sums' costs a block are spread over more rows.
const blockBytes = 1 << 20

// tileBytes is the size of a block's tile of probabilities, which accumulators read again from the second-level cache.
const tileBytes = 256 << 10

// longRows is how many rows of probabilities that are too long for a tile are a block: what accumulators keep by class is then
// read and written once for all of them. The kernels that read them take them by parts.
const longRows = 8

// worker is what one goroutine of a Pass owns.
type worker struct {
	opt    Options
	need   Need
	accs   []Accumulator
	audit  Audit
	bad    faults
	failed *atomic.Bool
	seen   int64

	stats   kernel.Stats
	pair    *Pair // of the block's rows
	block   Block
	hit     []uint8
	labels  []int32
	weights []float64
	keep    []int32
	scores  []float64 // a binary block's scores, gathered or exponentiated
	narrow  []float32 // the same for those whose kernel is that of float32
	row     []float64 // rows divided by their sums
	decided *decided  // nil before the first decision
	by      []float64
	tile    []float64
	tile32  []float32
	terms   bool // tiles may be of terms, whose rows' scales are in scale
	scale   []float32
	peak    []float64
	places  []Place
	truths  []float64 // observations, compacted

	normal kernel.NormalColumns

	norms []float64 // columns that stay as rows are divided
	tops  []int32
	marks []uint8

	abs, apart []float64 // of samples
	scratch32  []float32 // of their kernels
	scratch64  []float64
}

func newWorker(p *Pass, failed *atomic.Bool) *worker {
	w := &worker{opt: p.opt, need: p.need, failed: failed}
	w.accs = make([]Accumulator, len(p.accs))
	for i, a := range p.accs {
		w.accs[i] = a.Empty()
	}
	w.audit.Renormalized, w.audit.Unchecked = p.opt.Renormalize, p.opt.Unchecked
	return w
}

// grow makes room for the columns of n rows.
func (w *worker) grow(n int) {
	if len(w.hit) >= n {
		return
	}
	f := func() []float64 { return make([]float64, n) }
	w.stats = kernel.Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(), Positive: f(),
		ArgMax: make([]int32, n), Flags: make([]uint8, n)}
	if w.need&Rank != 0 {
		w.stats.Rank = make([]int32, n)
	}
	w.hit = make([]uint8, n)
	w.labels = make([]int32, n)
	w.weights = make([]float64, n)
	w.keep = make([]int32, 0, n)
	w.scores = make([]float64, n)
}

// add takes a chunk, whose shape has been checked, block by block.
func (w *worker) add(c *Chunk) {
	if c.Rows == 0 {
		return
	}
	if w.audit.Classes == 0 {
		w.audit = c.shape()
		w.audit.Renormalized, w.audit.Unchecked = w.opt.Renormalize, w.opt.Unchecked
	}
	st := c.stride()
	n := max(1, blockBytes/(st*c.DType().Size()))
	if w.need&Rows != 0 {
		if fit := tileBytes / (w.entry(c) * max(2, c.Classes)); fit < 2 && !c.Kind.logs() {
			n = longRows
		} else {
			n = min(n, max(1, fit))
		}
	}
	n = wholeBatches(min(n, blockRows))
	w.grow(min(n, c.Rows))
	for at := 0; at < c.Rows; at += n {
		w.addBlock(c, at, min(n, c.Rows-at), st)
	}
}

// entry returns the size of an entry of a chunk's tile.
func (w *worker) entry(c *Chunk) int {
	if c.Classes == 1 || c.DType() == Float64 || w.scales(c) {
		return 8
	}
	return 4
}

// addBlock checks rows [at, at+n) of a chunk and hands them on.
func (w *worker) addBlock(c *Chunk, at, n, st int) {
	w.seen += int64(n)
	if !c.Kind.classes() {
		w.addRows(c, at, n, st)
		return
	}
	labels := c.Labels[at : at+n]
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
	if c.Kind == Dirichlet {
		w.sumParameters(c, at, n, st)
	}
	keep, whole := w.examine(c, at, n, st, flags)
	if w.failed.Load() && !w.opt.Drop {
		return
	}
	if w.scales(c) && c.Classes > 1 {
		w.renormalize(&w.stats, c, at, n, st, c.Labels)
		if b.Decisions != nil {
			w.renormalize(&w.decided.stats, c, at, n, st, c.Decisions)
		}
	}
	if w.need&Rows != 0 && (!c.Kind.logs() || c.Classes == 1) {
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
	if w.need&Peak != 0 || w.need&Logit != 0 && c.Classes == 1 && c.Kind.logs() {
		w.peaks(b, c, at, st)
	}
	if w.need&Ties != 0 {
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

// columns runs the kernel of the chunk's type and kind over the rows [at, at+n). Of logits it makes the block's tile too.
func (w *worker) columns(b *Block, c *Chunk, at, n, st int, labels []int32) uint8 {
	s, k := &w.stats, c.Classes
	if k == 1 || !c.Kind.logs() || w.need&Rows == 0 {
		if k > 1 && !c.Kind.logs() && w.need&Spread == 0 {
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

// rowStats does the same for any columns, without the tile.
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

// binaryColumns does the same for one score a row.
func (w *worker) binaryColumns(s *kernel.Stats, c *Chunk, lo, n, st int, labels []int32) uint8 {
	if c.Pair != nil && w.opt.Renormalize && c.Kind == Probs {
		at, off := lo/st, near(c.DType(), 2)
		for i := range n {
			w.scores[i] = c.Pair.Raw[2*(at+i)+c.Pair.Event]
			// Rows that need no look have no pair elsewhere: one rule for all.
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

// certain writes the columns of pairs whose other class is impossible, the logit +Inf, which the kernel leaves out: the event is certain,
// as with -Inf its opposite is. It returns the flags of all rows.
func certain(s *kernel.Stats, c *Chunk, lo, n, st int, labels []int32) (all uint8) {
	for i := range n {
		if y := labels[i]; s.Flags[i] == kernel.FlagNotFinite && math.IsInf(c.score(lo+i*st), 1) {
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

// scoreColumns runs the kernel of one score a row.
func (w *worker) scoreColumns(s *kernel.Stats, c *Chunk, lo, n, st int, labels []int32) uint8 {
	if c.Kind == Logits && st != 1 && c.DType() != Float64 {
		// Scores that lie apart are gathered, for the kernel that they would have if they did not.
		if len(w.narrow) < n {
			w.narrow = make([]float32, n)
		}
		for i := range n {
			w.narrow[i] = float32(c.score(lo + i*st))
		}
		return kernel.BinaryLogitStatsF32(s, w.narrow[:n], labels)
	}
	if c.Kind == LogProbs || st != 1 {
		// Log-probabilities of one event have no kernel of their own; probabilities of any type have that of float64.
		for i := range n {
			w.scores[i] = c.score(lo + i*st)
		}
		if c.Kind == LogProbs {
			kernel.ExpF64(w.scores[:n], w.scores[:n])
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

// Row writes row i to dst, widened: of Classes elements.
func (s *Scores) Row(dst []float64, i int) {
	at := i * s.stride()
	for j := range s.Classes {
		dst[j] = s.score(at + j)
	}
}

// score returns the element i of the slice that is set, widened.
func (s *Scores) score(i int) float64 {
	var one [1]float32
	switch s.DType() {
	case Float64:
		return s.F64[i]
	case Float32:
		return float64(s.F32[i])
	case Float16:
		kernel.WidenF16(one[:], s.F16[i:i+1])
	default:
		kernel.WidenBF16(one[:], s.BF16[i:i+1])
	}
	return float64(one[0])
}

// renormalize turns the columns of probabilities into those of the same rows divided by their sums. Norm stays. labels are
// the chunk's, or what stands for them.
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
			s.NLL[i] = max(0, s.NLL[i]) // below it by rounding alone
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

// divide does the same for a row whose squares may have left the range of its type.
func (w *worker) divide(s *kernel.Stats, c *Chunk, row, i, st int, labels []int32) {
	one := kernel.Stats{Top: s.Top[i : i+1], Tail: s.Tail[i : i+1], Label: s.Label[i : i+1], NLL: s.NLL[i : i+1],
		Norm: s.Norm[i : i+1], Positive: s.Positive[i : i+1], ArgMax: s.ArgMax[i : i+1], Flags: s.Flags[i : i+1]}
	if s.Rest != nil {
		one.Rest, one.Entropy = s.Rest[i:i+1], s.Entropy[i:i+1]
	}
	w.divideAll(&one, c, row, 1, st, labels)
}

// divideAll divides the entries of rows one by one, as many rows at a time as the kernel takes. Those without a sum above 0, which
// nobody is shown, have columns of no use.
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
				x[j] = c.score((at+i)*st+j) / s.Norm[i]
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

// probabilities sets the block's tile of what are no logits of several classes: a view of the scores where they are what
// accumulators get.
func (w *worker) probabilities(b *Block, c *Chunk, at, n, st int) {
	k := c.Classes
	lo := at * st
	switch {
	case k == 1:
		t := w.wide(b, n, 2)
		for i := range n {
			p := w.stats.Positive[i]
			t[2*i], t[2*i+1] = 1-p, p
		}
	case w.scales(c):
		t := w.wide(b, n, k)
		for i := range n {
			row := t[i*k : (i+1)*k]
			for j := range row {
				row[j] = c.score(lo + i*st + j)
			}
			if t := w.stats.Norm[i]; t > 0 {
				for j := range row {
					row[j] /= t
				}
			}
		}
	default:
		w.view(b, c, at, n, st)
	}
}

// view sets the block's tile to the scores as they are, widened where they are of half precision.
func (w *worker) view(b *Block, c *Chunk, at, n, st int) {
	k := c.Classes
	lo := at * st
	hi := lo + (n-1)*st + k
	switch {
	case c.DType() == Float64:
		b.Probs = Tile{F64: c.F64[lo:hi], Width: k, Stride: st}
	case c.DType() == Float32:
		b.Probs = Tile{F32: c.F32[lo:hi], Width: k, Stride: st}
	default:
		t := w.narrowTile(b, n, k)
		for i := range n {
			if row, from := t[i*k:(i+1)*k], lo+i*st; c.DType() == Float16 {
				kernel.WidenF16(row, c.F16[from:from+k])
			} else {
				kernel.WidenBF16(row, c.BF16[from:from+k])
			}
		}
	}
}

// ahead returns how many bytes element i of the scores, or where it would be, stands beyond a tile's first entry.
func ahead(t *Tile, s *Scores, i int) int {
	address := func(p unsafe.Pointer) int { return int(uintptr(p)) }
	tile := address(unsafe.Pointer(unsafe.SliceData(t.F32)))
	if t.F64 != nil {
		tile = address(unsafe.Pointer(unsafe.SliceData(t.F64)))
	}
	var first unsafe.Pointer
	switch s.DType() {
	case Float64:
		first = unsafe.Pointer(unsafe.SliceData(s.F64))
	case Float32:
		first = unsafe.Pointer(unsafe.SliceData(s.F32))
	case Float16:
		first = unsafe.Pointer(unsafe.SliceData(s.F16))
	default:
		first = unsafe.Pointer(unsafe.SliceData(s.BF16))
	}
	return address(first) + i*s.DType().Size() - tile
}

// wide makes the block's tile one of float64 in the worker's memory, and narrowTile one of float32.
func (w *worker) wide(b *Block, n, width int) []float64 {
	w.tile = room(w.tile, n*width)
	b.Probs = Tile{F64: w.tile[:n*width], Width: width, Stride: width}
	return b.Probs.F64
}

func (w *worker) narrowTile(b *Block, n, width int) []float32 {
	w.tile32 = room(w.tile32, n*width)
	b.Probs = Tile{F32: w.tile32[:n*width], Width: width, Stride: width}
	return b.Probs.F32
}

// room returns a slice of at least n elements, s if that is one.
func room[T any](s []T, n int) []T {
	if len(s) < n {
		return make([]T, n)
	}
	return s
}

// compact moves the rows of keep to the front of the block.
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
	if b.By != nil {
		w.by = room(w.by, len(w.hit))
		for to, from := range keep {
			w.by[to] = b.By[from]
		}
		b.By = w.by[:len(keep)]
	}
	w.compactRows(b, keep)
	b.Rows, b.Labels, b.index = len(keep), w.labels[:len(keep)], keep
	if b.Weights != nil {
		b.Weights = w.weights[:len(keep)]
	}
}

// compactRows does the same to the tile.
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

// compactTile copies the rows of keep to dst, whose rows follow each other; it may be src if those of src do.
func compactTile[T float32 | float64](dst, src []T, t *Tile, keep []int32) {
	for to, from := range keep {
		copy(dst[to*t.Width:(to+1)*t.Width], src[int(from)*t.Stride:int(from)*t.Stride+t.Width])
	}
}
