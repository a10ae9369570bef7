package predictions

import (
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// MembersReader streams the rows of an ensemble, all members side by side. It is a metrics.MemberSource.
type MembersReader struct {
	pool
	info   Info // Classes is of the files
	kind   metrics.Kind
	event  Event
	beside beside
	twins  []twin // labels and weights that other files have too

	parts     []part // the one array, or one for each member
	chunkRows int
	gap       int // bytes from a member to the next in a buffer; 0 where the rows of all members follow each other
	row       int64
	open      bool
	same      buffer // what twins are read into
}

var _ metrics.MemberSource = (*MembersReader)(nil)

// part is an array of an ensemble and how it is read.
type part struct {
	*array
	members int64 // in a row of the array
	swapped bool  // the array is (rows, members, classes), not (members, rows, classes)
	src     *source
	tile    *tiles
	sums    []uint32 // of each member's data, to be verified
}

// twin is a column that says again what another says.
type twin struct {
	of, again *column
}

// OpenMembers returns a MembersReader of an ensemble. It reads every header and compares shapes, types and lengths, but no data.
//
// One path is an array of all members: (M, N, K), or (N, M, K) if Options.MemberAxis is 1; of a binary task (M, N, 1) or, with
// Options.BinaryMembers, (M, N), and (N, M, 1) or (N, M). Several paths are a member each, (N, K) or (N,), in natural order, and
// agree in rows, classes and type. Paths, the names of arrays, types, orders and endianness are those of Open; so are labels and
// weights, of which there is one file for all members. Where several .npz have labels or weights, these have to be the same.
//
// Members, of which there are at most 2,048, are read side by side, never one whole. What cannot be read so (an array of members first, or in Fortran order, that is
// deflated or comes from a pipe) goes through a temporary file.
//
// Options.Kind is Probs, Logits or LogProbs; an ensemble has no decisions and confidence scores. Options.BufferBytes is the size of
// the rows of a chunk of all members.
//
// Errors are *Error.
func OpenMembers(paths []string, o *Options) (*MembersReader, error) {
	if o == nil {
		o = &Options{}
	}
	b := newOpening(paths, o)
	r, e := b.openMembers()
	if e != nil {
		closePipes(b.opened)
		return nil, e
	}
	return r, nil
}

func (b *opening) openMembers() (*MembersReader, *Error) {
	o := b.options
	switch {
	case len(b.paths) == 0:
		return nil, fault("name an .npy or .npz file for each member, or one of all", "no predictions")
	case o.Kind != metrics.Probs && o.Kind != metrics.Logits && o.Kind != metrics.LogProbs:
		return nil, fault("pass "+setting.ClassKinds.String(), "the scores of an ensemble's members cannot be %s", o.Kind)
	case len(o.Decisions)+len(o.ConfidenceScores) > 0:
		return nil, fault("leave "+setting.Decisions.String()+" and "+setting.ConfidenceScores.String()+" out", "an ensemble has no decisions and confidence scores")
	case len(o.Groups) > 0:
		return nil, fault("leave "+setting.Groups.String()+" out", "the rows of an ensemble are not grouped")
	case o.MemberAxis != 0 && o.MemberAxis != 1:
		return nil, fault("it is 0 or 1", "%v is %d", setting.MemberAxis, o.MemberAxis)
	}
	e := b.prepare()
	if e != nil {
		return nil, e
	}
	b.scoring = membersRole
	for _, p := range b.paths {
		if e := b.shard(p); e != nil {
			return nil, e
		}
	}
	r := &MembersReader{kind: o.Kind, event: o.Event, pool: pool{done: make(chan struct{})}}
	r.info.Files = len(b.scores)
	if len(b.scores) == 1 {
		e = r.takeArray(b)
	} else {
		e = r.takeFiles(b)
	}
	if e != nil {
		return nil, e
	}
	find := func(ro role, paths []string, own []*array) ([]*array, *Error) {
		return r.column(b, ro, paths, own)
	}
	if e := b.truthColumn(&r.beside, find); e != nil {
		return nil, e
	}
	w, e := find(weightsRole, o.Weights, b.weights)
	if e != nil {
		return nil, e
	}
	if w != nil {
		r.beside.weight, r.info.Weighted = &column{arrays: w, what: "weight"}, true
	}
	// Several files may have them: the first one's are used and the others' compared.
	for _, c := range []*column{r.beside.labels, r.beside.weight} {
		if c == nil {
			continue
		}
		for _, a := range c.arrays[1:] {
			r.twins = append(r.twins, twin{c, &column{arrays: []*array{a}, what: c.what}})
		}
		c.arrays = c.arrays[:1]
	}
	r.allocate(o)
	return r, nil
}

// takeArray looks at the one array of all members.
func (r *MembersReader) takeArray(b *opening) *Error {
	a, o := b.scores[0], b.options
	d, e := b.scoresType(a)
	if e != nil {
		return e.in(a.file)
	}
	forms := "(M, N, K)"
	if o.MemberAxis == 1 {
		forms = "(N, M, K)"
	}
	shape := slices.Clone(a.shape)
	switch remedy := "give a file for each member, or one array " + forms + " of all"; {
	case len(shape) == 2 && o.BinaryMembers:
		shape = append(shape, 1)
	case len(shape) == 1, len(shape) == 2:
		if len(shape) == 2 {
			remedy += "; P(y = 1) of several members is saved with an axis for it, as a[:, :, None]"
		}
		return fault(remedy, "one array of shape %s is one model's scores, no ensemble", shapeText(shape)).in(a.file)
	case len(shape) != 3:
		return fault(remedy, "the members have %d axes, shape %s", len(shape), shapeText(shape)).in(a.file)
	}
	a.stated = a.shape
	if e := a.checkLength(); e != nil {
		return e
	}
	m, n, k := shape[0], shape[1], shape[2]
	if o.MemberAxis == 1 {
		m, n = n, m
	}
	said := shapeText(a.shape)
	switch {
	case n == 0:
		return fault("was the program that wrote it given any data?", "no rows: its shape is %s", said).in(a.file)
	case m == 0:
		return fault("was the program that wrote it given any models?", "no members: its shape is %s", said).in(a.file)
	case k == 0:
		return fault("the last axis has a score for each class", "no classes: its shape is %s", said).in(a.file)
	}
	if e := r.checkRow(m, k, a); e != nil {
		return e
	}
	r.info.Rows, r.info.Classes, r.info.Members, r.info.DType, r.info.Shape = n, int(k), int(m), d, said
	r.info.Bytes, _ = a.bytes()

	p := part{array: a, members: 1}
	first := o.MemberAxis == 0
	switch {
	case a.fortran && (first || n == 1):
		// The members of a row stand beside each other, and so the rows of a class: a matrix of a row for each member of each row.
		a.shape, p.members = []int64{n * m, k}, m
	case a.fortran:
		a.shape, p.swapped = []int64{n, m * k}, m > 1 && k > 1
	case !first || m == 1 || n == 1:
		a.shape = []int64{n, m * k}
	default:
		a.shape, a.planes = []int64{m, n * k}, true
		r.gap = 1 // its size is known when the chunk's is
	}
	r.parts = []part{p}
	return nil
}

const membersAgree = "members must agree in rows, classes and type"

// takeFiles looks at the arrays of a member each.
func (r *MembersReader) takeFiles(b *opening) *Error {
	for _, a := range b.scores {
		if len(a.shape) > 2 {
			return fault("name one file of all members, or save each member's scores (N, K) by themselves",
				"several files are a member each, and this one has %d axes, shape %s", len(a.shape), shapeText(a.shape)).in(a.file)
		}
	}
	b.members = true
	d, e := b.check()
	if e != nil {
		return e
	}
	first, m := b.scores[0], int64(len(b.scores))
	for _, a := range b.scores {
		if a.rows() != first.rows() {
			return fault(membersAgree, "%d rows (shape %s), but %s has %d (shape %s)", a.rows(),
				shapeText(a.shape), first.file, first.rows(), shapeText(first.shape)).in(a.file)
		}
		n, _ := a.bytes()
		r.info.Bytes += n
		r.parts = append(r.parts, part{array: a, members: 1})
	}
	if first.rows() == 0 {
		return fault("was the program that wrote it given any data?", "no rows: its shape is %s", shapeText(first.shape)).in(first.file)
	}
	if e := r.checkRow(m, first.columns(), first); e != nil {
		return e
	}
	r.info.Rows, r.info.Classes, r.info.Members, r.info.DType = first.rows(), int(first.columns()), int(m), d
	r.info.Shape = shapeText(append([]int64{m}, first.shape...))
	r.gap = 1
	return nil
}

// maxMembers is the most members of an ensemble: each has sums of its own, and pairs of members are compared. More are rows that were
// taken for members.
const maxMembers = 2048

// checkRow tells whether there are few enough members, and a row of all of them is short enough.
func (r *MembersReader) checkRow(members, classes int64, a *array) *Error {
	if members > maxMembers {
		return fault("are the axes in another order? "+setting.MemberAxis.String()+" says which one the members are on", "%d members (shape %s): at most %d are read",
			members, shapeText(a.headerShape()), maxMembers).in(a.file)
	}
	if most := maxRowBytes / int64(a.dtype.size); classes > most || members > most/classes {
		return fault("are the axes in another order? save them as numpy.moveaxis does", "a row of %d members x %d classes (shape %s): at most %d scores are read",
			members, classes, shapeText(a.headerShape()), most).in(a.file)
	}
	return nil
}

// column returns the arrays that hold a label or weight for every row: that of the named path, or all those in the members' files.
func (r *MembersReader) column(b *opening, ro role, paths []string, own []*array) (out []*array, e *Error) {
	if len(paths) > 1 {
		return nil, fault("give one file: all members are of the same rows", "%d files of %s for one ensemble", len(paths), ro.what)
	}
	if out, e = b.take(ro, paths); e != nil {
		return nil, e
	}
	for _, a := range own {
		again := func(o *array) bool { return o.path == a.path && o.entry == a.entry } // members may be arrays of one .npz
		if len(paths) == 0 && a != nil && !slices.ContainsFunc(out, again) {
			out = append(out, a)
		}
	}
	for _, a := range out {
		if e := checkColumn(a, ro); e != nil {
			return nil, e.in(a.file)
		}
		if a.rows() != r.info.Rows {
			first := b.scores[0]
			remedy := "each row needs one: are they of the same data, and all of it?"
			shape := first.headerShape()
			if other := 1 - b.options.MemberAxis; len(b.scores) == 1 && a.rows() == shape[b.options.MemberAxis] {
				remedy = fmt.Sprintf("do members stand on the other axis? pass %v %d", setting.MemberAxis, other)
			}
			return nil, fault(remedy, "%d %s for the %d rows of %s, shape %s", a.rows(), ro.what, r.info.Rows, first.file, shapeText(shape)).in(a.file)
		}
	}
	return out, nil
}

// allocate sizes chunks and makes their buffers.
func (r *MembersReader) allocate(o *Options) {
	size := r.info.DType.Size()
	row := r.info.Members * r.info.Classes * size
	r.chunkRows = chunkRows(o, row, r.info.Rows)
	bytes := r.chunkRows * row
	if r.gap > 0 {
		// An odd number of cache lines between members, so that a row's do not all fall into one set of the cache.
		r.gap = ((r.chunkRows*r.info.Classes*size+63)/64 | 1) * 64
		bytes = r.info.Members * r.gap
	}
	chunks := (r.info.Rows + int64(r.chunkRows) - 1) / int64(r.chunkRows)
	r.stock(o.buffers(), bytes, r.chunkRows, chunks, &r.beside)
	if len(r.twins) > 0 {
		r.beside.room(&r.same, r.chunkRows)
	}
}

// Info returns what is read. It is known before any data are.
func (r *MembersReader) Info() Info { return r.info.of(r.event, r.kind) }

// BytesRead returns how many bytes of scores were read so far, out of Info().Bytes. It may be called at any time.
func (r *MembersReader) BytesRead() int64 { return r.read.Load() }

// Locate returns the file that has a row, as it was named in OpenMembers, and the row's number within it: the first member's file,
// if each has one. It returns "", -1 for rows that are in no file.
func (r *MembersReader) Locate(row int64) (file string, rowInFile int64) {
	if row < 0 || row >= r.info.Rows {
		return "", -1
	}
	return r.parts[0].file, row
}

// File returns the file that has a member's scores, as it was named in OpenMembers. It panics if there is no such member.
func (r *MembersReader) File(member int) string {
	if member < 0 || member >= r.info.Members {
		panic("predictions: there is no such member")
	}
	return r.parts[min(member, len(r.parts)-1)].file
}

// Next returns the next rows of all members, io.EOF after the last, or an *Error; after an error it returns that error again.
//
// It waits until one of Options.Buffers chunks is recycled if all are out.
func (r *MembersReader) Next() (*metrics.MemberChunk, error) {
	return next(&r.pool, r.ended, r.fill, r.release)
}

func (r *MembersReader) ended() error {
	if r.err == nil && r.row == r.info.Rows {
		r.err = io.EOF
	}
	return r.err
}

// start opens what scores are read from.
func (r *MembersReader) start() *Error {
	r.open = true
	for i := range r.parts {
		p := &r.parts[i]
		var e *Error
		if p.src, e = p.array.open(); e != nil {
			return e
		}
		switch {
		case p.columnMajor():
			p.tile = newTiles(p.src, tileBytes/len(r.parts), nil)
			if p.swapped {
				p.tile.members = int64(r.info.Members)
			}
		case p.src.sum:
			p.sums = make([]uint32, r.info.Members)
		}
	}
	return nil
}

// fill reads the next rows into b.
func (r *MembersReader) fill(b *buffer) (*metrics.MemberChunk, *Error) {
	if !r.open {
		if e := r.start(); e != nil {
			return nil, e
		}
	}
	n := int(min(int64(r.chunkRows), r.info.Rows-r.row))
	k, size := r.info.Classes, r.info.DType.Size()
	length := n * k * size // of one member
	var e *Error
	switch p := &r.parts[0]; {
	case r.gap == 0:
		e = r.fillPart(p, b.words, n, length*r.info.Members)
	case len(r.parts) == 1:
		e = r.fillPlanes(p, b.words, length)
	default:
		for m := range r.parts {
			if e = r.fillPart(&r.parts[m], b.words[m*r.gap/8:], n, length); e != nil {
				break
			}
		}
	}
	if e != nil {
		return nil, e
	}
	if e := r.beside.fill(b, n); e != nil {
		return nil, e
	}
	if e := r.compare(b, n); e != nil {
		return nil, e
	}
	c := &metrics.MemberChunk{First: r.row, Recycle: b.recycle(r.free)}
	c.Kind, c.Labels, c.Weights = r.kind, head(b.labels, n), head(b.weights, n)
	r.view(b, n)
	c.Each = b.each
	if class, ok := r.event.of(r.info.Classes, r.kind); ok {
		for m := range c.Each {
			c.Each[m].OfEvent(r.kind, class)
		}
		if c.Kind = r.event.kindOf(r.kind); class == 0 {
			metrics.TurnLabels(c.Labels)
		}
	}
	r.row += int64(n)
	// The ends of the files are checked before their last rows are handed out.
	if r.row == r.info.Rows {
		if e := r.finish(); e != nil {
			return nil, e
		}
	}
	r.read.Add(int64(length) * int64(r.info.Members))
	return c, nil
}

// fillPart reads the next n rows of an array, of length bytes.
func (r *MembersReader) fillPart(p *part, words []uint64, n, length int) *Error {
	words = words[:(length+7)/8]
	var e *Error
	if p.tile != nil {
		e = p.tile.read(words, r.row*p.members, n*int(p.members))
	} else {
		e = p.src.read(raw(words)[:length])
	}
	if e == nil && p.dtype.swapped() {
		swapBytes(words, r.info.DType.Size())
	}
	return e
}

// fillPlanes reads the next rows of each member, of length bytes, from an array that has one after the other.
func (r *MembersReader) fillPlanes(p *part, words []uint64, length int) *Error {
	row := int64(r.info.Classes * r.info.DType.Size())
	for m := range r.info.Members {
		w := words[m*r.gap/8:][:(length+7)/8]
		to := raw(w)[:length]
		if e := p.src.readAt(to, (int64(m)*r.info.Rows+r.row)*row); e != nil {
			return e
		}
		if p.sums != nil {
			p.sums[m] = crc32.Update(p.sums[m], crc32.IEEETable, to)
		}
		if p.dtype.swapped() {
			swapBytes(w, r.info.DType.Size())
		}
	}
	return nil
}

// view sees n rows of each member in a buffer.
func (r *MembersReader) view(b *buffer, n int) {
	if b.each == nil {
		b.each = make([]metrics.Scores, r.info.Members)
	}
	words, k := b.words, r.info.Classes
	for m := range b.each {
		s := &b.each[m]
		if r.gap > 0 {
			*s = scores(words[m*r.gap/8:], n*k, r.info.DType)
		} else {
			stride := k * r.info.Members
			*s = scores(words, n*stride, r.info.DType)
			lo, hi := m*k, (n-1)*stride+(m+1)*k
			switch r.info.DType {
			case metrics.Float64:
				s.F64 = s.F64[lo:hi:hi]
			case metrics.Float32:
				s.F32 = s.F32[lo:hi:hi]
			case metrics.Float16:
				s.F16 = s.F16[lo:hi:hi]
			case metrics.BFloat16:
				s.BF16 = s.BF16[lo:hi:hi]
			}
			s.Stride = stride
		}
		s.Rows, s.Classes = n, k
	}
}

// compare tells whether other files have the same labels and weights for the n rows of b.
func (r *MembersReader) compare(b *buffer, n int) *Error {
	for _, t := range r.twins {
		differs := func(i int) *Error {
			return &Error{File: t.again.arrays[0].file, Row: r.row + int64(i), Column: -1,
				Reason: fmt.Sprintf("its %s is not that of %s", t.of.what, t.of.arrays[0].file),
				Remedy: "members are of the same rows in the same order; if they are, name one file of " + t.of.what + "s"}
		}
		if t.of == r.beside.labels {
			got := r.same.labels[:n]
			if e := t.again.labels(got); e != nil {
				return e
			}
			for i, v := range got {
				if v != b.labels[i] {
					return differs(i)
				}
			}
			continue
		}
		got := r.same.weights[:n]
		if e := t.again.weights(got); e != nil {
			return e
		}
		for i, v := range got {
			if w := b.weights[i]; v != w && (v == v || w == w) {
				return differs(i)
			}
		}
	}
	return nil
}

// finish checks the ends of the files and closes them.
func (r *MembersReader) finish() *Error {
	for i := range r.parts {
		p := &r.parts[i]
		if p.sums != nil {
			if e := p.src.verify(p.sums, r.info.Rows*int64(r.info.Classes*r.info.DType.Size())); e != nil {
				return e
			}
		}
		if e := p.src.finish(); e != nil {
			return e
		}
		if err := p.src.close(); err != nil {
			return cannotRead(err).in(p.file)
		}
		p.src, p.tile = nil, nil
	}
	return nil
}

// Close closes the files. Chunks that are out stay valid. It waits for a Next that is reading, and wakes one that waits for
// a chunk; Next then returns os.ErrClosed. Closing again does nothing.
func (r *MembersReader) Close() error { return r.close(r.release) }

// release closes what is open, including pipes that were not come to.
func (r *MembersReader) release() error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	for i := range r.parts {
		p := &r.parts[i]
		if p.src != nil {
			note(p.src.close())
		}
		p.src, p.tile = nil, nil
		closePipes([]*array{p.array})
	}
	note(r.beside.release())
	for _, t := range r.twins {
		note(t.again.close())
	}
	return first
}
