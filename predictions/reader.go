// Package predictions reads files of predictions as a stream of chunks of rows, in bounded memory whatever their size.
//
// It reads NumPy's .npy and .npz: scores of float16, float32, float64 and bfloat16, labels of any integer type, weights.
// A Reader is a metrics.Source:
//
//	r, err := predictions.Open([]string{"probs.npy"}, &predictions.Options{Labels: []string{"labels.npy"}})
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	for {
//		c, err := r.Next()
//		if err == io.EOF {
//			break
//		}
//		if err != nil {
//			return err
//		}
//		use(c.F32, c.Labels)
//		c.Recycle()
//	}
//
// What is wrong with a file is an *Error that names the file, the row where there is one, and what to do.
package predictions

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/candor-go/candor/metrics"
)

const (
	maxRowBytes  = 32 << 20 // of one row; 8 million classes in float32
	maxChunkRows = 1 << 18  // so that labels and weights of narrow rows stay small beside the scores

	defaultBuffers     = 4
	defaultBufferBytes = 2 << 20
)

// Options says how Open reads files. The zero value reads probabilities, with the labels that an .npz has.
type Options struct {
	Labels  []string // files of true classes: one for all rows, or one for each scores file; none: in each .npz
	Weights []string // files of row weights, likewise; none: in each .npz that has them, else every row counts once
	// Files of the caller's decisions and of the scores by which rows are binned (see metrics.Predictions), likewise. They
	// change what is evaluated, so none is taken from an .npz that is not named here.
	Decisions, ConfidenceScores []string

	Kind metrics.Kind
	// BFloat16 reads 2-byte integers (and 2-byte void values, which is what numpy makes of ml_dtypes.bfloat16) as bfloat16.
	BFloat16 bool

	// FS, if set, is where the names of scores, labels and weights are opened, as .npy streams; "-" stays standard input.
	FS fs.FS

	Buffers     int // chunks that may be out at a time; 0 means 4
	BufferBytes int // scores of one chunk, at least one row; 0 means 2 MiB
}

// Info says what a Reader reads.
type Info struct {
	Rows     int64
	Classes  int // 1 of a binary task, for the shapes (N,) and (N, 1)
	DType    metrics.DType
	Bytes    int64  // of scores, after decompression
	Shape    string // of all files together: "(30000, 10)", or "(30000,)" of vectors
	Files    int    // shards
	Weighted bool   // rows have weights
	Decided  bool   // and decisions
	Scored   bool   // and confidence scores
}

// shard is one scores file.
type shard struct {
	*array
	start int64 // number of its first row
}

// Reader streams the rows of one or more files. It is a metrics.Source.
type Reader struct {
	info   Info
	kind   metrics.Kind
	shards []shard
	labels column
	weight *column // nil without weights
	// nil without decisions, and without confidence scores
	decision, confidence *column

	chunkRows int
	free      chan *buffer
	done      chan struct{} // closed by Close
	read      atomic.Int64

	mu    sync.Mutex // held by Next and Close while they touch what follows
	err   error      // what ended the stream
	shard int        // being read
	src   *source    // of it, nil if it is not open yet
	row   int64      // next row in it
	tile  *tiles     // of it, if it is column-major
}

var _ metrics.Source = (*Reader)(nil)

// Open returns a Reader of the rows of all paths. It reads every header and compares shapes, types and lengths, but no data.
//
// Several paths are shards of one set, read in natural order (see NaturalSort) whatever order they are given in. Labels,
// weights and the like in as many files belong to the paths in the order in which both are given. Shards agree in classes and type; empty ones are passed over. A path is an .npy, an .npz,
// one array of an .npz ("preds.npz:logits"), or "-" for an .npy on standard input; pipes are read too. In an .npz the arrays are
// known by their usual names (logits, probs, y_prob, ...; labels, y, ...; weights, sample_weight; in a file that is named for
// them decisions, y_pred, ... and confidence_scores, ...).
//
// Scores are (N,), (N, 1) or (N, K), labels, weights and the like (N,) or (N, 1), in either order and endianness.
// Column-major scores that cannot be read at random (deflated, or from a pipe) go through a temporary file.
//
// Errors are *Error.
func Open(paths []string, o *Options) (*Reader, error) {
	if o == nil {
		o = &Options{}
	}
	b := &opening{options: o, order: naturalOrder(paths)}
	b.paths = b.sorted(paths)
	r, e := b.open()
	if e != nil {
		for _, a := range b.opened {
			if a.closer != nil {
				a.closer.Close()
			}
		}
		return nil, e
	}
	return r, nil
}

// naturalOrder returns the indices of paths in natural order.
func naturalOrder(paths []string) []int {
	order := make([]int, len(paths))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return natural(paths[i], paths[j]) })
	return order
}

// sorted returns paths in the order of the scores' files if there are as many: files that were given side by side stay so,
// whatever their names. Otherwise it returns paths.
func (b *opening) sorted(paths []string) []string {
	if len(paths) != len(b.order) {
		return paths
	}
	s := make([]string, len(paths))
	for i, j := range b.order {
		s[i] = paths[j]
	}
	return s
}

// opening is an Open under way.
type opening struct {
	options *Options
	order   []int    // the scores' files, as they were given, in natural order
	paths   []string // in that order
	scores  []*array
	opened  []*array // all, to be closed if Open fails
	stdin   bool     // standard input is taken

	// What the scores' own files have, nil where they have none.
	labels, weights []*array
	listing         string // of the first .npz without labels
}

// container opens a path, which may be standard input once.
func (b *opening) container(path string) (*container, *Error) {
	if path == "-" {
		if b.stdin {
			return nil, fault("give files for the others", "standard input can be read for one array only").in("standard input")
		}
		b.stdin = true
	} else if b.options.FS != nil {
		f, err := b.options.FS.Open(path)
		if err != nil {
			return nil, cannotOpen(err).in(path)
		}
		return streamContainer(path, f, f)
	}
	return openContainer(path)
}

func (b *opening) open() (*Reader, *Error) {
	if len(b.paths) == 0 {
		return nil, fault("name an .npy or .npz file, or - for standard input", "no predictions")
	}
	for _, p := range b.paths {
		if e := b.shard(p); e != nil {
			return nil, e
		}
	}
	r := &Reader{kind: b.options.Kind, done: make(chan struct{})}
	var e *Error
	if r.info.DType, e = b.check(); e != nil {
		return nil, e
	}
	first := b.scores[0]
	r.info.Classes, r.info.Files = int(first.columns()), len(b.scores)
	most := int64(0)
	for _, a := range b.scores {
		n, _ := a.bytes()
		r.shards = append(r.shards, shard{a, r.info.Rows})
		if r.info.Rows += a.rows(); r.info.Rows < 0 {
			return nil, fault("", "all files together have 2^63 rows or more").in(a.file)
		}
		r.info.Bytes += n
		most = max(most, a.rows())
	}
	if r.info.Rows == 0 {
		return nil, fault("was the program that wrote it given any data?", "no rows: its shape is %s", shapeText(first.shape)).in(first.file)
	}
	r.info.Shape = shapeText(append([]int64{r.info.Rows}, first.shape[1:]...))

	r.labels.what = "label"
	if r.labels.arrays, e = b.column(labelsRole, b.options.Labels, b.labels); e != nil {
		return nil, e
	}
	if r.labels.arrays == nil {
		if b.listing != "" {
			return nil, fault("", "no labels: pass --labels FILE, or an .npz with an array named labels; it has %s", b.listing).in(first.path)
		}
		return nil, fault("", "no labels: pass --labels FILE, or an .npz with an array named labels").in(first.file)
	}
	w, e := b.column(weightsRole, b.options.Weights, b.weights)
	if e != nil {
		return nil, e
	}
	if w != nil {
		r.weight = &column{arrays: w}
		r.info.Weighted = true
	}
	if r.decision, e = b.asked(decisionsRole, b.options.Decisions); e != nil {
		return nil, e
	}
	if r.confidence, e = b.asked(confidenceRole, b.options.ConfidenceScores); e != nil {
		return nil, e
	}
	r.info.Decided, r.info.Scored = r.decision != nil, r.confidence != nil
	r.allocate(b.options, most)
	return r, nil
}

// asked returns the column of paths, nil if there are none.
func (b *opening) asked(ro role, paths []string) (*column, *Error) {
	if len(paths) == 0 {
		return nil, nil
	}
	a, e := b.column(ro, paths, nil)
	if e != nil {
		return nil, e
	}
	return &column{arrays: a, what: strings.TrimSuffix(ro.what, "s")}, nil
}

// shard opens one scores file, and finds labels and weights in it if it is an .npz.
func (b *opening) shard(path string) *Error {
	c, e := b.container(path)
	if e != nil {
		return e
	}
	defer c.close()
	a, e := c.take(scoresRole)
	if e != nil {
		return e
	}
	b.scores, b.opened = append(b.scores, a), append(b.opened, a)
	var labels, weights *array
	if c.npz {
		if c, e = c.whole(); e != nil {
			return e
		}
		if len(b.options.Labels) == 0 {
			if labels, e = c.find(labelsRole); e != nil {
				return e
			}
			if labels == nil && b.listing == "" {
				b.listing = c.list()
			}
		}
		if len(b.options.Weights) == 0 {
			if weights, e = c.find(weightsRole); e != nil {
				return e
			}
		}
	}
	b.labels, b.weights = append(b.labels, labels), append(b.weights, weights)
	return nil
}

// check compares the scores with what is readable and with each other, and returns their type.
func (b *opening) check() (metrics.DType, *Error) {
	var d metrics.DType
	for i, a := range b.scores {
		this, e := scoresType(a, b.options.BFloat16)
		if e == nil {
			e = checkScoresShape(a)
		}
		if e == nil {
			e = a.checkLength()
		}
		if e != nil {
			return 0, e.in(a.file)
		}
		if i == 0 {
			d = this
			continue
		}
		const remedy = "shards must agree in classes and type"
		if first := b.scores[0]; a.columns() != first.columns() {
			return 0, fault(remedy, "%d classes (shape %s), but %s has %d (shape %s)",
				a.columns(), shapeText(a.shape), first.file, first.columns(), shapeText(first.shape)).in(a.file)
		} else if this != d {
			return 0, fault(remedy, "%s, but %s is %s", this, first.file, d).in(a.file)
		}
	}
	return d, nil
}

// scoresType returns how scores are stored, or why they are no scores.
func scoresType(a *array, bfloat16 bool) (metrics.DType, *Error) {
	d := a.dtype
	switch {
	case d.kind == 'f' && d.size == 2:
		return metrics.Float16, nil
	case d.kind == 'f' && d.size == 4:
		return metrics.Float32, nil
	case d.kind == 'f' && d.size == 8:
		return metrics.Float64, nil
	case d.size == 2 && (d.kind == 'u' || d.kind == 'V'):
		if bfloat16 {
			return metrics.BFloat16, nil
		}
		return 0, fault("pass --bfloat16 if they are the bits of bfloat16", "scores are %s", d)
	case d.integer():
		return 0, fault(`labels are named by --labels; for scores save the model's probabilities or logits, as in probs.astype("float32")`,
			"scores are %s: these look like labels or decisions, not scores", d)
	}
	return 0, badType(a, "scores", `"float32"`)
}

// badType explains a type that is no number, or too large a one.
func badType(a *array, what, want string) *Error {
	switch a.dtype.kind {
	case 'O':
		return fault(`save plain numbers, as in numpy.stack(list(a)).astype(`+want+`)`, "%s are Python objects (a pickle, which can run any code, so it is not read)", what)
	case '[':
		return fault(`save one field of it, as in a["field"].astype(`+want+`)`, "%s are a structured array: %s", what, clip(a.descr))
	case 'c':
		return fault(`save real numbers, as in a.real.astype(`+want+`)`, "%s are complex numbers (%s)", what, a.dtype)
	case 'f':
		return fault(`save a.astype("float64")`, "%s are %s, which differs between machines", what, a.dtype)
	case 'S', 'U':
		return fault("number the classes with numpy.unique(a, return_inverse=True)[1]", "%s are text (%s)", what, a.dtype)
	case 0:
		return fault(`save a.astype(`+want+`)`, "%s have a type that is not known: %q", what, clip(a.descr))
	}
	return fault(`save a.astype(`+want+`)`, "%s are %s", what, a.dtype)
}

// clip shortens text that a file determines.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

func checkScoresShape(a *array) *Error {
	switch len(a.shape) {
	case 0:
		return fault("scores are a vector (N,) or a matrix (N, K)", "scores are a single value, shape ()")
	case 1:
		return nil
	case 2:
	default:
		return fault("scores are a vector (N,) or a matrix (N, K): give the members of an ensemble in a file each", "scores have %d axes, shape %s", len(a.shape), shapeText(a.shape))
	}
	switch k := a.columns(); {
	case k == 0:
		return fault("scores are a vector (N,) or a matrix (N, K)", "no classes: its shape is %s", shapeText(a.shape))
	case k > maxRowBytes/int64(a.dtype.size):
		return fault("is it transposed? save scores.T, or a vector as scores.reshape(-1)", "%d classes (shape %s): at most %d are read", k, shapeText(a.shape), maxRowBytes/a.dtype.size)
	}
	return nil
}

// column returns the arrays that hold a label, weight or the like for every row: those of paths, or own, those in the scores' files.
// It returns nil if there are none.
func (b *opening) column(ro role, paths []string, own []*array) ([]*array, *Error) {
	out := own
	if len(paths) > 0 {
		out = nil
		for _, p := range b.sorted(paths) {
			c, e := b.container(p)
			if e != nil {
				return nil, e
			}
			a, e := c.take(ro)
			c.close()
			if e != nil {
				return nil, e
			}
			out, b.opened = append(out, a), append(b.opened, a)
		}
		if len(out) != 1 && len(out) != len(b.scores) {
			return nil, fault("give one file for all rows, or one for each file of scores", "%d files of %s for %d of scores", len(out), ro.what, len(b.scores))
		}
	} else {
		have := slices.IndexFunc(own, func(a *array) bool { return a != nil })
		if have < 0 {
			return nil, nil
		}
		if miss := slices.Index(own, nil); miss >= 0 {
			return nil, fault("put them into every file, or give them apart with "+ro.flag(), "no %s, but %s has some", ro.what, own[have].path).in(b.scores[miss].path)
		}
	}
	for _, a := range out {
		if e := checkColumn(a, ro); e != nil {
			return nil, e.in(a.file)
		}
	}
	rows := func(as []*array) (n int64) {
		for _, a := range as {
			n += a.rows()
		}
		return n
	}
	if len(out) == len(b.scores) {
		for i, a := range out {
			if a.rows() != b.scores[i].rows() {
				return nil, b.otherLength(ro, a, a.rows(), b.scores[i].rows(), b.scores[i].file)
			}
		}
	} else if n := rows(b.scores); out[0].rows() != n {
		return nil, b.otherLength(ro, out[0], out[0].rows(), n, fmt.Sprintf("%d files of scores", len(b.scores)))
	}
	return out, nil
}

func (b *opening) otherLength(ro role, a *array, have, want int64, of string) *Error {
	remedy := "each row needs one: are they of the same data, and all of it?"
	if len(b.scores) == 1 && b.scores[0].columns() == have && want > 1 {
		remedy = "are the scores transposed? rows are examples, columns classes: save scores.T"
	}
	return fault(remedy, "%d %s for the %d rows of %s", have, ro.what, want, of).in(a.file)
}

// checkColumn says why an array cannot be labels, weights and so on.
func checkColumn(a *array, ro role) *Error {
	d := a.dtype
	switch {
	case d.integer():
	case !ro.classes:
		if d.kind != 'f' || d.size > 8 {
			return badType(a, ro.what, `"float64"`)
		}
	case d.kind == 'f':
		return fault(`save `+ro.what+`.astype("int32") if they are class numbers`, "%s are %s: %s are class numbers, which are whole", ro.what, d, ro.what)
	default:
		return badType(a, ro.what, `"int32"`)
	}
	switch {
	case len(a.shape) == 1 || len(a.shape) == 2 && a.shape[1] == 1:
	case ro.classes && len(a.shape) == 2 && a.shape[0] != 1:
		return fault("if they are one-hot, save "+ro.what+".argmax(axis=1)", "%s have shape %s: a vector (N,) of class numbers is read", ro.what, shapeText(a.shape))
	default:
		return fault("save "+ro.variable()+".reshape(-1)", "%s have shape %s: a vector (N,) is read", ro.what, shapeText(a.shape))
	}
	return a.checkLength()
}

// allocate sizes chunks and makes their buffers. most is the rows of the longest shard.
func (r *Reader) allocate(o *Options, most int64) {
	n, size := o.Buffers, o.BufferBytes
	if n <= 0 {
		n = defaultBuffers
	}
	if size <= 0 {
		size = defaultBufferBytes
	}
	row := r.info.Classes * r.info.DType.Size()
	rows := max(1, size/row)
	// Round numbers of rows leave kernels no remainders.
	if rows >= 1024 {
		rows &^= 1023
	} else if rows >= 16 {
		rows &^= 15
	}
	rows = int(min(int64(rows), maxChunkRows, most))
	r.chunkRows = rows
	chunks := int64(0)
	for _, s := range r.shards {
		chunks += (s.rows() + int64(rows) - 1) / int64(rows)
	}
	n = int(min(int64(n), chunks))
	r.free = make(chan *buffer, n)
	for _, b := range newBuffers(n, rows*row, rows, r.weight != nil, r.decision != nil, r.confidence != nil) {
		r.free <- b
	}
}

// Info returns what is read. It is known before any data are.
func (r *Reader) Info() Info { return r.info }

// BytesRead returns how many bytes of scores were read so far, out of Info().Bytes. It may be called at any time.
func (r *Reader) BytesRead() int64 { return r.read.Load() }

// Locate returns the file that has a row of the whole set, as it was named in Open, and the row's number within it.
// It returns "", -1 for rows that are in no file.
func (r *Reader) Locate(row int64) (file string, rowInFile int64) {
	if row < 0 || row >= r.info.Rows {
		return "", -1
	}
	// The last shard that starts at or before the row; empty ones start where the next does.
	i := sort.Search(len(r.shards), func(i int) bool { return r.shards[i].start > row }) - 1
	return r.shards[i].file, row - r.shards[i].start
}

// Next returns the next rows, io.EOF after the last, or an *Error; after an error it returns that error again.
//
// It waits until one of Options.Buffers chunks is recycled if all are out. A chunk's rows come from one file.
func (r *Reader) Next() (*metrics.Chunk, error) {
	if err := r.ended(); err != nil {
		return nil, err
	}
	var b *buffer
	select {
	case b = <-r.free:
	case <-r.done:
		return nil, os.ErrClosed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil { // closed meanwhile
		r.free <- b
		return nil, r.err
	}
	c, e := r.fill(b)
	if e != nil {
		r.free <- b
		r.err = e
		r.release()
		return nil, e
	}
	return c, nil
}

// ended steps over empty shards and returns what ended the stream, nil if there are rows to read.
func (r *Reader) ended() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.err == nil && r.src == nil {
		if r.shard == len(r.shards) {
			r.err = io.EOF
		} else if r.shards[r.shard].rows() > 0 {
			break
		} else {
			r.shard++
		}
	}
	return r.err
}

// fill reads the next rows into b.
func (r *Reader) fill(b *buffer) (*metrics.Chunk, *Error) {
	s := r.shards[r.shard]
	if r.src == nil {
		src, e := s.open()
		if e != nil {
			return nil, e
		}
		r.src, r.row = src, 0
		if s.columnMajor() {
			var buf []uint64
			if r.tile != nil {
				buf = r.tile.buf
			}
			r.tile = newTiles(src, buf)
		}
	}
	n := int(min(int64(r.chunkRows), s.rows()-r.row))
	size := r.info.DType.Size()
	length := n * r.info.Classes * size
	words := b.words[:(length+7)/8]
	var e *Error
	if s.columnMajor() {
		e = r.tile.read(words, r.row, n)
	} else {
		e = r.src.read(raw(words)[:length])
	}
	if e != nil {
		return nil, e
	}
	if s.dtype.swapped() {
		swapBytes(words, size)
	}
	if e := r.labels.labels(b.labels[:n]); e != nil {
		return nil, e
	}
	if r.weight != nil {
		if e := r.weight.weights(b.weights[:n]); e != nil {
			return nil, e
		}
	}
	if r.decision != nil {
		if e := r.decision.labels(b.decisions[:n]); e != nil {
			return nil, e
		}
	}
	if r.confidence != nil {
		if e := r.confidence.weights(b.confidence[:n]); e != nil {
			return nil, e
		}
	}
	first := s.start + r.row
	r.row += int64(n)
	// The end of a file is checked before its last rows are handed out.
	if r.row == s.rows() {
		if e := r.src.finish(); e != nil {
			return nil, e
		}
		if err := r.src.close(); err != nil {
			return nil, cannotRead(err).in(s.file)
		}
		r.src = nil
		r.shard++
	}
	r.read.Add(int64(length))
	return b.chunk(first, n, r.info.Classes, r.info.DType, r.kind, r.free), nil
}

// Close closes the files. Chunks that are out stay valid. It waits for a Next that is reading, and wakes one that waits for
// a chunk; Next then returns os.ErrClosed. Closing again does nothing.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.done:
		return nil
	default:
	}
	close(r.done)
	r.err = os.ErrClosed
	return r.release()
}

// release closes what is open, including pipes that were not come to.
func (r *Reader) release() error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	if r.src != nil {
		note(r.src.close())
		r.src = nil
		r.shard++
	}
	pipes := func(as []*array) {
		for _, a := range as {
			if a.closer != nil {
				a.closer.Close() // of one that was read to its end, again, to no effect
			}
		}
	}
	for _, s := range r.shards {
		pipes([]*array{s.array})
	}
	for _, c := range []*column{&r.labels, r.weight, r.decision, r.confidence} {
		if c != nil {
			note(c.close())
			pipes(c.arrays)
		}
	}
	r.tile = nil
	return first
}
