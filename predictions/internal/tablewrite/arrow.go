package tablewrite

import (
	"encoding/binary"
	"io"
	"math"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// Sizes of a record batch, which is held until it is complete.
const (
	batchRows  = 1 << 16
	batchBytes = 32 << 20
)

const arrowMagic = "ARROW1"

// Numbers of the Arrow format.
const (
	arrowV5     = 4 // of MetadataVersion
	arrowSchema = 1 // of MessageHeader
	arrowBatch  = 3

	arrowInt   = 2 // of Type
	arrowFloat = 3
	arrowUTF8  = 5
	arrowBool  = 6
)

// arrowWriter writes the streaming format or the file format, which is the same between magic numbers and before a footer.
type arrowWriter struct {
	w       io.Writer
	at      int64
	columns []columns.Column
	stream  bool
	data    []arrowColumn
	rows    int
	size    int
	blocks  []arrowBlock
}

// arrowColumn is a column of a record batch.
type arrowColumn struct {
	values []byte // booleans have a byte each
	ends   []byte // of texts: offsets as int32
	valid  []bool // nil until a cell is missing
	nulls  int
}

// arrowBlock says where a record batch is.
type arrowBlock struct {
	at       int64
	metadata int32
	body     int64
}

// Arrow returns a writer of an Arrow IPC file or, if stream is true, of an IPC stream.
func Arrow(w io.Writer, l []columns.Column, stream bool) (Writer, error) {
	a := &arrowWriter{w: w, columns: l, stream: stream, data: make([]arrowColumn, len(l))}
	if !stream {
		if err := a.put(append([]byte(arrowMagic), 0, 0)); err != nil {
			return nil, err
		}
	}
	b := flatbuffers.NewBuilder(1 << 10)
	_, err := a.message(b, arrowSchema, a.schema(b), 0)
	return a, err
}

func (a *arrowWriter) put(b []byte) error {
	_, err := a.w.Write(b)
	a.at += int64(len(b))
	return err
}

// table writes a flatbuffers table, whose fields set writes.
func table(b *flatbuffers.Builder, fields int, set func()) flatbuffers.UOffsetT {
	b.StartObject(fields)
	set()
	return b.EndObject()
}

// vector writes a vector of offsets.
func vector(b *flatbuffers.Builder, l []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(l), 4)
	for _, o := range slices.Backward(l) {
		b.PrependUOffsetT(o)
	}
	return b.EndVector(len(l))
}

// schema writes a Schema.
func (a *arrowWriter) schema(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	var fields []flatbuffers.UOffsetT
	for i := range a.columns {
		c := &a.columns[i]
		name := b.CreateString(c.Name)
		children := vector(b, nil)
		kind, of := byte(arrowUTF8), flatbuffers.UOffsetT(0)
		switch c.Kind {
		case columns.Float64, columns.Float32:
			precision := int16(1)
			if c.Kind == columns.Float64 {
				precision = 2
			}
			kind, of = arrowFloat, table(b, 1, func() { b.PrependInt16Slot(0, precision, 0) })
		case columns.Int64:
			kind, of = arrowInt, table(b, 2, func() { b.PrependInt32Slot(0, 64, 0); b.PrependBoolSlot(1, true, false) })
		case columns.Bool:
			kind, of = arrowBool, table(b, 0, func() {})
		default:
			of = table(b, 0, func() {})
		}
		fields = append(fields, table(b, 7, func() {
			b.PrependUOffsetTSlot(0, name, 0)
			b.PrependBoolSlot(1, true, false) // nullable
			b.PrependByteSlot(2, kind, 0)
			b.PrependUOffsetTSlot(3, of, 0)
			b.PrependUOffsetTSlot(5, children, 0)
		}))
	}
	l := vector(b, fields)
	return table(b, 4, func() { b.PrependUOffsetTSlot(1, l, 0) })
}

// message writes a Message with a header before a body of this many bytes. It returns the size of the metadata.
func (a *arrowWriter) message(b *flatbuffers.Builder, kind byte, header flatbuffers.UOffsetT, body int64) (int32, error) {
	b.Finish(table(b, 5, func() {
		b.PrependInt16Slot(0, arrowV5, 0)
		b.PrependByteSlot(1, kind, 0)
		b.PrependUOffsetTSlot(2, header, 0)
		b.PrependInt64Slot(3, body, 0)
	}))
	m := b.FinishedBytes()
	n := (len(m) + 7) &^ 7
	out := binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, uint32(n))
	out = append(append(out, m...), make([]byte, n-len(m))...)
	return int32(len(out)), a.put(out)
}

func (a *arrowWriter) Write(rows int, cells []columns.Vector) error {
	for i := range rows {
		for j := range cells {
			a.size += a.data[j].add(a.columns[j].Kind, &cells[j], i, a.rows)
		}
		a.rows++
		if a.rows >= batchRows || a.size >= batchBytes {
			if err := a.batch(); err != nil {
				return err
			}
		}
	}
	return nil
}

// add appends a cell, after this many rows of the batch, and returns by how much the column grew.
func (c *arrowColumn) add(k columns.Kind, v *columns.Vector, i, rows int) int {
	before := len(c.values)
	none := missing(v, i)
	if none && c.valid == nil {
		c.valid = slices.Repeat([]bool{true}, rows)
	}
	if c.valid != nil {
		c.valid = append(c.valid, !none)
	}
	if none {
		c.nulls++
	}
	switch k {
	case columns.Float64:
		x := 0.0
		if !none {
			x = v.Float64[i]
		}
		c.values = binary.LittleEndian.AppendUint64(c.values, math.Float64bits(x))
	case columns.Float32:
		x := float32(0)
		if !none {
			x = v.Float32[i]
		}
		c.values = binary.LittleEndian.AppendUint32(c.values, math.Float32bits(x))
	case columns.Int64:
		x := int64(0)
		if !none {
			x = v.Int64[i]
		}
		c.values = binary.LittleEndian.AppendUint64(c.values, uint64(x))
	case columns.Bool:
		c.values = append(c.values, bit(!none && v.Bool[i]))
	default:
		if rows == 0 {
			c.ends = append(c.ends, 0, 0, 0, 0)
		}
		if !none {
			c.values = append(c.values, v.Text(i)...)
		}
		c.ends = binary.LittleEndian.AppendUint32(c.ends, uint32(len(c.values)))
		return len(c.values) - before + 4
	}
	return len(c.values) - before
}

// batch writes a record batch.
func (a *arrowWriter) batch() error {
	if a.rows == 0 {
		return nil
	}
	type buffer struct{ at, size int64 }
	var buffers []buffer
	var parts [][]byte
	body := int64(0)
	part := func(b []byte) {
		buffers, parts = append(buffers, buffer{body, int64(len(b))}), append(parts, b)
		body += int64(len(b)+7) &^ 7
	}
	for j := range a.data {
		c := &a.data[j]
		var valid []byte
		if c.nulls > 0 {
			valid = appendBits(nil, a.rows, func(i int) bool { return c.valid[i] })
		}
		part(valid)
		switch a.columns[j].Kind {
		case columns.Text:
			part(c.ends)
			part(c.values)
		case columns.Bool:
			part(appendBits(nil, a.rows, func(i int) bool { return c.values[i] != 0 }))
		default:
			part(c.values)
		}
	}
	b := flatbuffers.NewBuilder(1 << 10)
	b.StartVector(16, len(buffers), 8)
	for _, u := range slices.Backward(buffers) {
		b.Prep(8, 16)
		b.PrependInt64(u.size)
		b.PrependInt64(u.at)
	}
	bufferList := b.EndVector(len(buffers))
	b.StartVector(16, len(a.data), 8)
	for j := range slices.Backward(a.data) {
		b.Prep(8, 16)
		b.PrependInt64(int64(a.data[j].nulls))
		b.PrependInt64(int64(a.rows))
	}
	nodes := b.EndVector(len(a.data))
	header := table(b, 4, func() {
		b.PrependInt64Slot(0, int64(a.rows), 0)
		b.PrependUOffsetTSlot(1, nodes, 0)
		b.PrependUOffsetTSlot(2, bufferList, 0)
	})
	at := a.at
	metadata, err := a.message(b, arrowBatch, header, body)
	if err != nil {
		return err
	}
	a.blocks = append(a.blocks, arrowBlock{at, metadata, body})
	var zeros [8]byte
	for _, p := range parts {
		if err := a.put(p); err != nil {
			return err
		}
		if n := -len(p) & 7; n > 0 {
			if err := a.put(zeros[:n]); err != nil {
				return err
			}
		}
	}
	for j := range a.data {
		c := &a.data[j]
		c.values, c.ends, c.valid, c.nulls = c.values[:0], c.ends[:0], nil, 0
	}
	a.rows, a.size = 0, 0
	return nil
}

func (a *arrowWriter) Close() error {
	if err := a.batch(); err != nil {
		return err
	}
	end := []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0} // of the stream
	if a.stream {
		return a.put(end)
	}
	b := flatbuffers.NewBuilder(1 << 10)
	schema := a.schema(b)
	b.StartVector(24, len(a.blocks), 8)
	for _, k := range slices.Backward(a.blocks) {
		b.Prep(8, 24)
		b.PrependInt64(k.body)
		b.Pad(4)
		b.PrependInt32(k.metadata)
		b.PrependInt64(k.at)
	}
	batches := b.EndVector(len(a.blocks))
	b.StartVector(24, 0, 8)
	dictionaries := b.EndVector(0)
	b.Finish(table(b, 5, func() {
		b.PrependInt16Slot(0, arrowV5, 0)
		b.PrependUOffsetTSlot(1, schema, 0)
		b.PrependUOffsetTSlot(2, dictionaries, 0)
		b.PrependUOffsetTSlot(3, batches, 0)
	}))
	f := b.FinishedBytes()
	end = binary.LittleEndian.AppendUint32(append(end, f...), uint32(len(f)))
	return a.put(append(end, arrowMagic...))
}
