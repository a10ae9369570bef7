package predictions

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"sync"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/internal/temporary"
	"github.com/candor-go/candor/metrics"
)

// AlignOptions says which rows of several sets belong together.
type AlignOptions struct {
	// Keys are the names of the columns with the keys of rows. Without any, the first row of a set belongs to the first of each other one,
	// and so on.
	Keys []string
	// Drop leaves out rows whose key is not in every set, or missing, and counts them. They are an *Error otherwise.
	Drop bool
	// Memory limits the bytes of all keys; 0 means 64 MiB. More are an *Error.
	Memory int64
	// ChunkBytes is about how many bytes of scores chunks have; 0 means 2 MiB.
	ChunkBytes int
}

// Located is a reader that knows where its rows are.
type Located interface {
	Locate(row int64) (file string, rowInFile int64)
}

// Alignment puts the rows of several sets that stand in other orders, or of which each has some, into one order: that of the first set. Rows
// are added first, set by set or mixed; then Join finds those that all sets have, and Source yields them as often as wanted.
//
// Rows wait in a temporary file for each set, in the folder TMPDIR. In memory are the keys, once each, and 4 bytes of each row.
type Alignment struct {
	o      AlignOptions
	keys   keyTable
	sets   []*alignedSet
	order  []int32 // keys of the first set, in its order; after Join those that all sets have
	rows   int64   // after Join
	left   int64   // rows that were left out
	blank  int64   // of these, rows without a key
	key    []byte
	record []byte
}

// alignedSet is one of the sets.
type alignedSet struct {
	name  string
	from  Located
	pairs bool // rows may have the two scores that were combined

	file *os.File
	to   *bufio.Writer
	rows int64
	at   []int32 // the row of a key, below 0 none
	last int     // the key of the last row

	like  *metrics.Chunk // the first chunk, without its rows
	size  int            // of a record
	width int            // of its scores
}

// NewAlignment returns an Alignment without sets.
func NewAlignment(o *AlignOptions) *Alignment {
	a := &Alignment{o: *o, keys: newKeyTable()}
	if a.o.Memory <= 0 {
		a.o.Memory = defaultJoinMemory
	}
	if a.o.ChunkBytes <= 0 {
		a.o.ChunkBytes = defaultBufferBytes
	}
	return a
}

// AddSet adds a set without rows, and returns its number. Messages call it by its name, and its rows by where from has them. pairs says that
// rows had two scores, as Info.Pairs does.
func (a *Alignment) AddSet(name string, from Located, pairs bool) (int, error) {
	f, err := temporary.Create(os.TempDir(), 0o600)
	if err != nil {
		return 0, noRoom(err)
	}
	temporary.Hide(f)
	a.sets = append(a.sets, &alignedSet{name: name, from: from, pairs: pairs, file: f, to: bufio.NewWriterSize(f, 64<<10)})
	return len(a.sets) - 1, nil
}

func noRoom(err error) *Error {
	return fault("give TMPDIR a folder with room for all rows", "rows cannot be copied to a temporary file: %v", err).because(err)
}

// Close removes the temporary files.
func (a *Alignment) Close() {
	for _, s := range a.sets {
		temporary.Remove(s.file)
	}
}

// Names returns the names of the sets.
func (a *Alignment) Names() (l []string) {
	for _, s := range a.sets {
		l = append(l, s.name)
	}
	return l
}

// lay finds out what the rows of a set have.
func (s *alignedSet) lay(c *metrics.Chunk) {
	s.like = &metrics.Chunk{Predictions: c.Predictions.Slice(0, 0), Clusters: c.Clusters[:0:0], ClusterName: c.ClusterName, Groups: c.Groups[:0:0]}
	s.like.Pair = nil
	s.width = c.Classes * c.DType().Size()
	s.size = 8
	for _, there := range []bool{c.Weights != nil, c.Observed != nil, c.ConfidenceScores != nil, c.Bytes != nil} {
		if there {
			s.size += 8
		}
	}
	for _, there := range []bool{c.Labels != nil, c.Decisions != nil, c.Clusters != nil, c.Groups != nil} {
		if there {
			s.size += 4
		}
	}
	if s.pairs {
		s.size += 17
	}
	s.size += s.width
}

// pairOf is what a Pair says besides the scores.
func pairOf(p *metrics.Pair) byte { return 1 + byte(p.Kind)<<1 + byte(p.Event)<<7 }

// append appends row i of a chunk as a record.
func (s *alignedSet) append(b []byte, c *metrics.Chunk, i int) []byte {
	order := binary.NativeEndian
	b = order.AppendUint64(b, uint64(c.Number(i)))
	for _, v := range [][]float64{c.Weights, c.Observed, c.ConfidenceScores, c.Bytes} {
		if v != nil {
			b = order.AppendUint64(b, math.Float64bits(v[i]))
		}
	}
	for _, v := range [][]int32{c.Labels, c.Decisions, c.Clusters, c.Groups} {
		if v != nil {
			b = order.AppendUint32(b, uint32(v[i]))
		}
	}
	if s.pairs {
		if p := c.Pair; p != nil {
			b = append(b, pairOf(p))
			b = order.AppendUint64(order.AppendUint64(b, math.Float64bits(p.Raw[2*i])), math.Float64bits(p.Raw[2*i+1]))
		} else {
			b = append(b, make([]byte, 17)...)
		}
	}
	from := i * c.RowStride()
	switch {
	case c.F64 != nil:
		return append(b, raw(c.F64[from:from+c.Classes])...)
	case c.F32 != nil:
		return append(b, raw(c.F32[from:from+c.Classes])...)
	case c.F16 != nil:
		return append(b, raw(c.F16[from:from+c.Classes])...)
	}
	return append(b, raw(c.BF16[from:from+c.Classes])...)
}

// Add adds the rows of a chunk. set returns the number of the set that a row belongs to, and keys are the cells of the columns of keys, all
// texts. The chunks of a set agree as those of a metrics.Source do, and have no sequences. Errors are *Error.
func (a *Alignment) Add(c *metrics.Chunk, keys []Cells, set func(row int) int) error {
	for i := range c.Rows {
		n := set(i)
		s := a.sets[n]
		if s.like == nil {
			s.lay(c)
		}
		if a.o.Keys != nil {
			a.key = a.key[:0]
			for k := range keys {
				var cell []byte
				if keys[k].Missing == nil || !keys[k].Missing[i] {
					cell = keys[k].Text(i)
				}
				a.key = appendKey(a.key, cell)
			}
			if noKey(a.key) {
				if !a.o.Drop {
					return a.bad(s, c.Number(i), missingKey(), "the key is missing")
				}
				a.blank++
				continue
			}
			// In most files the key that follows is the one that follows in the first set.
			number := s.last + 1
			if number >= a.keys.len() || !bytes.Equal(a.keys.key(number), a.key) {
				var at int
				if at, number = a.keys.find(a.key); number < 0 {
					number = a.keys.add(a.key, at)
				}
			}
			s.last = number
			for len(s.at) <= number {
				s.at = append(s.at, -1)
			}
			if s.at[number] >= 0 {
				return a.bad(s, c.Number(i), ownKey(), "key %s is there twice", keyText(a.key))
			}
			s.at[number] = int32(s.rows)
			if n == 0 {
				a.order = append(a.order, int32(number))
			}
		}
		a.record = s.append(a.record[:0], c, i)
		if _, err := s.to.Write(a.record); err != nil {
			return noRoom(err)
		}
		s.rows++
	}
	if a.o.Keys != nil && (a.KeyBytes() > a.o.Memory || a.keys.len() > 1<<30) {
		return fault(fmt.Sprintf("raise %v, or sort all sets by the key and leave %v out: rows are then matched by position", setting.JoinMemory, setting.Keys),
			"the keys of rows take more than %d MiB of memory", a.o.Memory>>20)
	}
	return nil
}

// bad returns the Error of a row of a set.
func (a *Alignment) bad(s *alignedSet, row int64, remedy, format string, args ...any) *Error {
	e := fault(remedy, format, args...)
	if len(a.o.Keys) > 0 {
		e.Name = a.o.Keys[0]
	}
	e.File, e.Row = s.from.Locate(row)
	if l, ok := s.from.(interface{ Line(row int64) int64 }); ok {
		if line := l.Line(row); line > 0 {
			e.Line, e.Row = line, -1
		}
	}
	return e
}

// KeyBytes returns how much memory the keys take.
func (a *Alignment) KeyBytes() int64 {
	n := a.keys.bytes() + int64(4*cap(a.order))
	for _, s := range a.sets {
		n += int64(4 * cap(s.at))
	}
	return n
}

// Join ends the adding of rows, and finds those that all sets have. A key that some set does not have is an *Error unless they are left out;
// without keys it is one if sets have other numbers of rows. So is it if no row is left.
func (a *Alignment) Join() error {
	for _, s := range a.sets {
		if err := s.to.Flush(); err != nil {
			return noRoom(err)
		}
	}
	if a.o.Keys == nil {
		first := a.sets[0]
		for _, s := range a.sets[1:] {
			if s.rows != first.rows {
				file, _ := s.from.Locate(0)
				return fault("sets are compared row by row, so they have equally many rows; to match rows by a key, name its columns by "+setting.Keys.String(),
					"%q has %s, and %q has %s", cut(s.name), count(int(s.rows), "row"), cut(first.name), count(int(first.rows), "row")).in(file)
			}
		}
		a.rows = first.rows
		return nil
	}
	keys := a.keys.len()
	for _, s := range a.sets {
		for len(s.at) < keys {
			s.at = append(s.at, -1)
		}
	}
	without := func(key int) *alignedSet {
		for _, s := range a.sets {
			if s.at[key] < 0 {
				return s
			}
		}
		return nil
	}
	n := 0
	var first *Error
	lone := func(s, without *alignedSet, key int) *Error {
		row, e := s.row(int64(s.at[key]))
		if e != nil {
			return e
		}
		return a.bad(s, row, fmt.Sprintf("%v leaves such rows out", setting.Unmatched), "key %s is in no row of %s", keyText(a.keys.key(key)), without.name)
	}
	for _, key := range a.order {
		if s := without(int(key)); s == nil {
			a.order[n] = key
			n++
		} else if first == nil {
			if first = lone(a.sets[0], s, int(key)); !a.o.Drop {
				return first
			}
		}
	}
	if keys > len(a.order) && !a.o.Drop {
		for _, s := range a.sets[1:] {
			for key, at := range s.at {
				if at >= 0 && a.sets[0].at[key] < 0 {
					return lone(s, a.sets[0], key)
				}
			}
		}
	}
	a.order = a.order[:n]
	a.rows, a.left = int64(n), int64(keys-n)+a.blank
	if n == 0 {
		return fault("are they of the same data, and is the key the same?", "no key is in every set: %s", first.Reason).in(first.File)
	}
	return nil
}

// row returns the number that a row has in its own files.
func (s *alignedSet) row(record int64) (int64, *Error) {
	var b [8]byte
	if _, err := s.file.ReadAt(b[:], record*int64(s.size)); err != nil {
		return 0, noRoom(err)
	}
	return int64(binary.NativeEndian.Uint64(b[:])), nil
}

// record returns where a row of all sets is in the file of one.
func (a *Alignment) recordOf(s *alignedSet, row int64) int64 {
	if a.o.Keys == nil {
		return row
	}
	return int64(s.at[a.order[row]])
}

// Rows returns how many rows all sets have.
func (a *Alignment) Rows() int64 { return a.rows }

// Dropped returns how many rows were left out: keys that not every set has, and rows without a key.
func (a *Alignment) Dropped() int64 { return a.left }

// RowIn returns the number that a row has in the files of a set.
func (a *Alignment) RowIn(set int, row int64) (int64, error) {
	s := a.sets[set]
	n, e := s.row(a.recordOf(s, row))
	if e != nil {
		return -1, e
	}
	return n, nil
}

// Key appends the texts of a row's key to dst. They are valid as long as the Alignment is.
func (a *Alignment) Key(dst [][]byte, row int64) [][]byte {
	if a.o.Keys == nil {
		return dst
	}
	for key := a.keys.key(int(a.order[row])); len(key) > 0; {
		var cell []byte
		cell, key = firstCell(key)
		dst = append(dst, cell)
	}
	return dst
}

// KeyText returns a row's key for messages; "" if rows have none.
func (a *Alignment) KeyText(row int64) string {
	if a.o.Keys == nil {
		return ""
	}
	return keyText(a.keys.key(int(a.order[row])))
}

// Source returns a source of the rows of one set, in the order that all sets have, numbered from 0. Its errors are *Error.
func (a *Alignment) Source(set int) metrics.Source {
	s := a.sets[set]
	each := max(1, min(a.o.ChunkBytes/max(1, s.width), maxChunkRows/4))
	return &alignedSource{a: a, s: s, each: each}
}

// alignedSource yields the rows of a set.
type alignedSource struct {
	a    *Alignment
	s    *alignedSet
	each int
	at   int64
	raw  []byte

	mu   sync.Mutex
	free []*alignedBuffer
}

// alignedBuffer is the memory of a chunk.
type alignedBuffer struct {
	words   []uint64
	numbers [4][]float64
	classes [4][]int32
	pairs   []float64
}

func (r *alignedSource) take() *alignedBuffer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.free); n > 0 {
		b := r.free[n-1]
		r.free = r.free[:n-1]
		return b
	}
	return &alignedBuffer{}
}

// Next returns the next chunk of rows, or io.EOF after the last.
func (r *alignedSource) Next() (*metrics.Chunk, error) {
	n := int(min(int64(r.each), r.a.rows-r.at))
	if n == 0 {
		return nil, io.EOF
	}
	s := r.s
	r.raw = sized(r.raw, n*s.size)
	for i := 0; i < n; {
		// Rows that follow one another in the file are read at once.
		from := r.a.recordOf(s, r.at+int64(i))
		to := i + 1
		for to < n && r.a.recordOf(s, r.at+int64(to)) == from+int64(to-i) {
			to++
		}
		if _, err := s.file.ReadAt(r.raw[i*s.size:to*s.size], from*int64(s.size)); err != nil {
			return nil, noRoom(err)
		}
		i = to
	}
	b := r.take()
	c := &metrics.Chunk{First: r.at, Recycle: recycler(b, func(b *alignedBuffer) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.free = append(r.free, b)
	})}
	r.fill(c, b, n)
	r.at += int64(n)
	return c, nil
}

// fill takes the columns out of the records.
func (r *alignedSource) fill(c *metrics.Chunk, b *alignedBuffer, n int) {
	s, like := r.s, r.s.like
	order := binary.NativeEndian
	c.Kind = like.Kind
	b.words = sized(b.words, (n*s.width+7)/8)
	c.Scores = scores(b.words, n*like.Classes, like.DType())
	c.Rows, c.Classes, c.ClusterName = n, like.Classes, like.ClusterName
	at := 8
	for k, of := range []struct {
		like []float64
		to   *[]float64
	}{{like.Weights, &c.Weights}, {like.Observed, &c.Observed}, {like.ConfidenceScores, &c.ConfidenceScores}, {like.Bytes, &c.Bytes}} {
		if of.like == nil {
			continue
		}
		b.numbers[k] = sized(b.numbers[k], n)
		for i := range n {
			b.numbers[k][i] = math.Float64frombits(order.Uint64(r.raw[i*s.size+at:]))
		}
		*of.to, at = b.numbers[k], at+8
	}
	for k, of := range []struct {
		like []int32
		to   *[]int32
	}{{like.Labels, &c.Labels}, {like.Decisions, &c.Decisions}, {like.Clusters, &c.Clusters}, {like.Groups, &c.Groups}} {
		if of.like == nil {
			continue
		}
		b.classes[k] = sized(b.classes[k], n)
		for i := range n {
			b.classes[k][i] = int32(order.Uint32(r.raw[i*s.size+at:]))
		}
		*of.to, at = b.classes[k], at+4
	}
	pairs := at
	if s.pairs {
		at += 17
	}
	to := raw(b.words)
	for i := range n {
		copy(to[i*s.width:(i+1)*s.width], r.raw[i*s.size+at:][:s.width])
	}
	if s.pairs {
		r.pair(c, b, pairs)
	}
}

// pair sets the two scores that rows had where some row needs them. Others needed no check; theirs are such as give the same one.
func (r *alignedSource) pair(c *metrics.Chunk, b *alignedBuffer, at int) {
	var of byte
	for i := range c.Rows {
		of = max(of, r.raw[i*r.s.size+at])
	}
	if of == 0 {
		return
	}
	p := &metrics.Pair{Kind: metrics.Kind(of >> 1 & 0x3f), Event: int(of >> 7)}
	b.pairs = sized(b.pairs, 2*c.Rows)
	for i := range c.Rows {
		row := r.raw[i*r.s.size+at:]
		two := b.pairs[2*i : 2*i+2]
		if row[0] != 0 {
			two[0], two[1] = math.Float64frombits(binary.NativeEndian.Uint64(row[1:])), math.Float64frombits(binary.NativeEndian.Uint64(row[9:]))
			continue
		}
		two[p.Event], two[1-p.Event] = c.At(i, 0), 0
		if p.Kind == metrics.Probs {
			two[1-p.Event] = 1 - c.At(i, 0)
		}
	}
	p.Raw = b.pairs
	c.Pair = p
}
