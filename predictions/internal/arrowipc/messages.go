package arrowipc

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/predictions/internal/columns"
)

const (
	magic        = "ARROW1"
	mostMetadata = 64 << 20 // of a message; it grows with the number of columns
	mostFields   = 1 << 20  // of a schema, nested ones included
	deepest      = 32       // how far types may be nested
	mostRows     = 1 << 31  // of a batch
	step         = 1 << 20  // by which memory grows while a body is read
	continuation = 0xffffffff
)

// messages reads the messages of a stream, and checks everything in messages that says how much memory to take: the library believes it.
type messages struct {
	r    io.Reader
	most int64 // bytes of a body, as it is stored and decompressed

	body  []byte // of the last message
	spare spare

	views map[int64]int // columns of views in the batches, under inBatches, and in each dictionary, by its id
}

// inBatches is no dictionary's id.
const inBatches = math.MinInt64

func (m *messages) Retain()  {}
func (m *messages) Release() {}

// Message implements ipc.MessageReader. It returns io.EOF at the end.
func (m *messages) Message() (_ *ipc.Message, err error) {
	defer recovered(&err)
	var head [4]byte
	n, err := io.ReadFull(m.r, head[:])
	switch {
	case err == io.EOF:
		return nil, io.EOF
	case err != nil:
		return nil, short(err, n)
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size == continuation {
		if n, err = io.ReadFull(m.r, head[:]); err != nil {
			return nil, short(err, n)
		}
		size = binary.LittleEndian.Uint32(head[:])
	}
	if size == 0 {
		return nil, io.EOF
	}
	if size < 8 || size > mostMetadata {
		return nil, damaged("a message of %d bytes", size)
	}
	meta, err := m.bytes(int64(size))
	if err != nil {
		return nil, err
	}
	length, check, err := m.check(meta)
	if err != nil {
		return nil, err
	}
	if length > m.most {
		return nil, m.tooMuch(length)
	}
	body, err := m.bytes(length)
	if err != nil {
		return nil, err
	}
	if err := check(length, func(at int64) (int64, error) { return int64(binary.LittleEndian.Uint64(body[at:])), nil }); err != nil {
		return nil, err
	}
	m.body = body
	return ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body)), nil
}

// bytes reads n bytes, with no more memory than there are bytes.
func (m *messages) bytes(n int64) ([]byte, error) {
	if n <= step {
		b := make([]byte, n)
		k, err := io.ReadFull(m.r, b)
		if err != nil {
			return nil, short(err, k)
		}
		return b, nil
	}
	b := m.spare.take(int(n))[:0]
	if b == nil {
		b = make([]byte, 0, step)
	}
	for int64(len(b)) < n {
		if len(b) == cap(b) {
			grown := make([]byte, len(b), min(n, 4*int64(cap(b))))
			copy(grown, b)
			b = grown
		}
		k, err := io.ReadFull(m.r, b[len(b):min(int64(cap(b)), n)])
		b = b[:len(b)+k]
		if err != nil {
			return nil, short(err, k)
		}
	}
	return b, nil
}

func (m *messages) tooMuch(n int64) error {
	return columns.Wrong("raise "+setting.PartMemory.String()+", or write smaller batches", "a batch takes %d MiB of memory, and %d MiB are allowed", n>>20+1, m.most>>20)
}

func short(err error, read int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return columns.Wrong("was the program that wrote it interrupted?", "truncated: it ends within a message, or without an end")
	}
	return err
}

func damaged(format string, args ...any) *columns.Fault {
	return columns.Wrong("write it again", "damaged, or no Arrow file: "+format, args...)
}

// table is a table of flatbuffers: fields are numbered from 0.
type table struct{ flatbuffers.Table }

func root(b []byte) table {
	return table{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

func (t *table) at(field int) flatbuffers.UOffsetT {
	return flatbuffers.UOffsetT(t.Offset(flatbuffers.VOffsetT(4 + 2*field)))
}

func (t *table) byte(field int) byte {
	if o := t.at(field); o != 0 {
		return t.GetByte(o + t.Pos)
	}
	return 0
}

func (t *table) int64(field int) int64 {
	if o := t.at(field); o != 0 {
		return t.GetInt64(o + t.Pos)
	}
	return 0
}

// child returns a table that a field refers to.
func (t *table) child(field int) (c table, ok bool) {
	o := t.at(field)
	if o == 0 {
		return c, false
	}
	return table{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(o + t.Pos)}}, true
}

// vector returns where the elements of a field are, and how many of a size there are.
func (t *table) vector(field int, size int64) (at flatbuffers.UOffsetT, n int, err error) {
	o := t.at(field)
	if o == 0 {
		return 0, 0, nil
	}
	n, at = t.VectorLen(o), t.Vector(o)
	if n < 0 || int64(at)+int64(n)*size > int64(len(t.Bytes)) {
		return 0, 0, damaged("a list of %d elements in a message of %d bytes", n, len(t.Bytes))
	}
	return at, n, nil
}

// The kinds of messages.
const (
	schemaMessage     = 1
	dictionaryMessage = 2
	batchMessage      = 3
)

// Types of fields: of values of several types, and of views.
const (
	unionType      = 14
	binaryViewType = 23
	textViewType   = 24
)

// bodyCheck checks a body of a length, whose numbers at some places it asks for.
type bodyCheck func(length int64, number func(at int64) (int64, error)) error

// check returns the length of the body of a message, and what checks that.
func (m *messages) check(meta []byte) (length int64, check bodyCheck, err error) {
	t := root(meta)
	kind := t.byte(1)
	header, ok := t.child(2)
	if length = t.int64(3); length < 0 || length > math.MaxInt64/2 || !ok {
		return 0, nil, damaged("a body of %d bytes", length)
	}
	check = func(int64, func(int64) (int64, error)) error { return nil }
	if _, _, err := t.vector(4, 4); err != nil { // metadata of the caller
		return 0, nil, err
	}
	views := m.views[inBatches]
	switch kind {
	case schemaMessage:
		return length, check, m.checkSchema(&header)
	case dictionaryMessage:
		views = m.views[header.int64(0)]
		if header, ok = header.child(1); !ok {
			return 0, nil, damaged("a dictionary without values")
		}
	case batchMessage:
	default:
		return 0, nil, damaged("a message of kind %d", kind)
	}
	return length, func(length int64, number func(at int64) (int64, error)) error {
		return m.checkBatch(&header, length, number, views)
	}, nil
}

func (m *messages) checkSchema(t *table) error {
	if _, _, err := t.vector(2, 4); err != nil { // metadata of the caller
		return err
	}
	if _, _, err := t.vector(3, 8); err != nil { // features
		return err
	}
	n := 0
	m.views = map[int64]int{}
	return m.checkFields(t, 1, 0, &n, inBatches)
}

// checkFields checks that a schema has as many fields as fit into it, and counts those of views; in says where their cells are.
func (m *messages) checkFields(t *table, field, depth int, n *int, in int64) error {
	at, count, err := t.vector(field, 4)
	if err != nil {
		return err
	}
	if *n += count; *n > mostFields {
		return damaged("more than %d columns", mostFields)
	}
	if depth > deepest && count > 0 {
		return columns.Wrong("", "its columns are nested more than %d deep", deepest)
	}
	for i := range count {
		c := table{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at + flatbuffers.UOffsetT(4*i))}}
		if _, _, err := c.vector(6, 4); err != nil {
			return err
		}
		if kind, ok := c.child(3); ok && c.byte(2) == unionType {
			if _, _, err := kind.vector(1, 4); err != nil {
				return err
			}
		}
		in := in
		if d, ok := c.child(4); ok {
			in = d.int64(0)
		}
		if k := c.byte(2); k == binaryViewType || k == textViewType {
			m.views[in]++
		}
		if err := m.checkFields(&c, 5, depth+1, n, in); err != nil {
			return err
		}
	}
	return nil
}

// checkBatch checks that the buffers of a batch lie in its body, and how long they are when they are decompressed.
func (m *messages) checkBatch(t *table, body int64, number func(at int64) (int64, error), views int) error {
	if rows := t.int64(0); rows < 0 || rows > mostRows {
		return damaged("a batch of %d rows", rows)
	}
	nodes, n, err := t.vector(1, 16)
	if err != nil {
		return err
	}
	for i := range n {
		if rows := t.GetInt64(nodes + flatbuffers.UOffsetT(16*i)); rows < 0 || rows > math.MaxInt32*16 {
			return damaged("a column of %d cells", rows)
		}
	}
	buffers, n, err := t.vector(2, 16)
	if err != nil {
		return err
	}
	_, compressed := t.child(3)
	total := int64(0)
	for i := range n {
		at := buffers + flatbuffers.UOffsetT(16*i)
		offset, length := t.GetInt64(at), t.GetInt64(at+8)
		if offset < 0 || length < 0 || offset > body || length > body-offset {
			return damaged("a buffer that is not in its batch")
		}
		if !compressed || length == 0 {
			continue
		}
		if length < 8 {
			return damaged("a compressed buffer of %d bytes", length)
		}
		size, err := number(offset)
		if err != nil {
			return err
		}
		if size < -1 {
			return damaged("a compressed buffer of %d bytes", size)
		}
		if size > m.most {
			return m.tooMuch(size)
		}
		if total += max(0, size); total > m.most {
			return m.tooMuch(total)
		}
	}
	counts, k, err := t.vector(4, 8)
	if err != nil {
		return err
	}
	if k < views {
		return damaged("the buffers of %d columns of views, of which there are %d", k, views)
	}
	for i := range k {
		if c := t.GetInt64(counts + flatbuffers.UOffsetT(8*i)); c < 0 || c > int64(n) {
			return damaged("a column of %d buffers in a batch of %d", c, n)
		}
	}
	return nil
}
