package tablewrite

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// Sizes of what is written, before compression: of a page of one column, and of a row group, which is held until it is complete.
const (
	pageBytes  = 1 << 20
	groupBytes = 64 << 20
	groupRows  = 1 << 20
	// Of a row group of many columns each has at least this, as the footer takes some 100 bytes of a column for every row group.
	columnBytes = 8 << 10
	sliceRows   = 1 << 10 // rows of a column that are taken before the next one's
)

const parquetMagic = "PAR1"

// Numbers of the Parquet format.
const (
	parquetBoolean = 0
	parquetInt64   = 2
	parquetFloat   = 4
	parquetDouble  = 5
	parquetBytes   = 6

	parquetOptional = 1
	parquetUTF8     = 0 // of ConvertedType
	parquetPlain    = 0
	parquetRLE      = 3
	parquetZstd     = 6
)

// parquetWriter writes row groups of column chunks of data pages of version 1: all columns are optional, as other software writes them,
// PLAIN and compressed by zstd, with a checksum for each page.
type parquetWriter struct {
	w       io.Writer
	at      int64
	columns []columns.Column
	chunks  []parquetChunk
	pack    *zstd.Encoder
	body    []byte // of a page

	size, most int64 // bytes of the row group so far, and at most
	inGroup    int64 // its rows
	rows       int64
	groups     thrift // of the footer
	count      int
}

// parquetChunk is a column of a row group.
type parquetChunk struct {
	values []byte // of the current page; booleans have a byte each
	held   []bool // whether its rows have values
	nulls  int    // rows of the page without one

	pages    []byte // that are complete
	rows     int64  // in these
	missed   int64
	unpacked int64 // size before compression
}

// Parquet returns a writer of a Parquet file.
func Parquet(w io.Writer, l []columns.Column) (Writer, error) {
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	p := &parquetWriter{w: w, columns: l, chunks: make([]parquetChunk, len(l)), pack: pack, most: max(groupBytes, int64(len(l))*columnBytes)}
	return p, p.put([]byte(parquetMagic))
}

func (p *parquetWriter) put(b []byte) error {
	_, err := p.w.Write(b)
	p.at += int64(len(b))
	return err
}

func (p *parquetWriter) Write(rows int, cells []columns.Vector) error {
	for from := 0; from < rows; from += sliceRows {
		to := min(from+sliceRows, rows)
		for j := range cells {
			p.add(j, &cells[j], from, to)
		}
		p.inGroup += int64(to - from)
		if p.size >= p.most || p.inGroup >= groupRows {
			if err := p.group(); err != nil {
				return err
			}
		}
	}
	return nil
}

// add appends rows of a column to its page.
func (p *parquetWriter) add(j int, v *columns.Vector, from, to int) {
	c, kind := &p.chunks[j], p.columns[j].Kind
	for i := from; i < to; i++ {
		none := missing(v, i)
		c.held = append(c.held, !none)
		before := len(c.values)
		if none {
			c.nulls++
		} else {
			switch kind {
			case columns.Float64:
				c.values = binary.LittleEndian.AppendUint64(c.values, math.Float64bits(v.Float64[i]))
			case columns.Float32:
				c.values = binary.LittleEndian.AppendUint32(c.values, math.Float32bits(v.Float32[i]))
			case columns.Int64:
				c.values = binary.LittleEndian.AppendUint64(c.values, uint64(v.Int64[i]))
			case columns.Bool:
				c.values = append(c.values, bit(v.Bool[i]))
			default:
				t := v.Text(i)
				c.values = append(binary.LittleEndian.AppendUint32(c.values, uint32(len(t))), t...)
			}
		}
		p.size += int64(len(c.values)-before) + 1
		if len(c.values)+len(c.held) >= pageBytes {
			p.page(j)
		}
	}
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// page completes the page of a column.
func (p *parquetWriter) page(j int) {
	c := &p.chunks[j]
	n := len(c.held)
	if n == 0 {
		return
	}
	// Definition levels, after their length: one run where all rows have values, otherwise groups of 8 bits.
	b := append(p.body[:0], 0, 0, 0, 0)
	if c.nulls == 0 {
		b = append(binary.AppendUvarint(b, uint64(n)<<1), 1)
	} else {
		b = binary.AppendUvarint(b, uint64((n+7)/8)<<1|1)
		b = appendBits(b, n, func(i int) bool { return c.held[i] })
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	if p.columns[j].Kind == columns.Bool {
		b = appendBits(b, len(c.values), func(i int) bool { return c.values[i] != 0 })
	} else {
		b = append(b, c.values...)
	}
	p.body = b
	packed := p.pack.EncodeAll(b, nil)
	var h thrift
	h.integer(1, 0) // a data page
	h.integer(2, int64(len(b)))
	h.integer(3, int64(len(packed)))
	h.integer(4, int64(int32(crc32.ChecksumIEEE(packed))))
	h.open(5)
	h.integer(1, int64(n))
	h.integer(2, parquetPlain)
	h.integer(3, parquetRLE)
	h.integer(4, parquetRLE)
	h.close()
	h.stop()
	c.pages = append(append(c.pages, h.b...), packed...)
	c.unpacked += int64(len(h.b) + len(b))
	c.rows += int64(n)
	c.missed += int64(c.nulls)
	c.values, c.held, c.nulls = c.values[:0], c.held[:0], 0
}

// group writes the row group and notes where its columns are.
func (p *parquetWriter) group() error {
	if p.inGroup == 0 {
		return nil
	}
	g := &p.groups
	g.begin()
	g.list(1, thriftStruct, len(p.chunks))
	size, packed := int64(0), int64(0)
	for j := range p.chunks {
		p.page(j)
		c := &p.chunks[j]
		g.begin()
		g.long(2, p.at)
		g.open(3)
		g.integer(1, int64(physical(p.columns[j].Kind)))
		g.list(2, thriftI32, 2)
		g.zigzag(parquetPlain)
		g.zigzag(parquetRLE)
		g.list(3, thriftBinary, 1)
		g.bytes(p.columns[j].Name)
		g.integer(4, parquetZstd)
		g.long(5, c.rows)
		g.long(6, c.unpacked)
		g.long(7, int64(len(c.pages)))
		g.long(9, p.at)
		g.open(12)
		g.long(3, c.missed)
		g.close()
		g.close()
		g.stop()
		size, packed = size+c.unpacked, packed+int64(len(c.pages))
		if err := p.put(c.pages); err != nil {
			return err
		}
		*c = parquetChunk{values: c.values, held: c.held, pages: c.pages[:0]}
	}
	g.long(2, size)
	g.long(3, p.inGroup)
	g.long(6, packed)
	g.stop()
	p.count++
	p.rows += p.inGroup
	p.inGroup, p.size = 0, 0
	return nil
}

// physical returns the stored type of a kind.
func physical(k columns.Kind) int {
	switch k {
	case columns.Float64:
		return parquetDouble
	case columns.Float32:
		return parquetFloat
	case columns.Int64:
		return parquetInt64
	case columns.Bool:
		return parquetBoolean
	}
	return parquetBytes
}

func (p *parquetWriter) Close() error {
	if err := p.group(); err != nil {
		return err
	}
	var f thrift
	f.integer(1, 2)
	f.list(2, thriftStruct, len(p.columns)+1)
	f.begin()
	f.text(4, "schema")
	f.integer(5, int64(len(p.columns)))
	f.stop()
	for i := range p.columns {
		c := &p.columns[i]
		f.begin()
		f.integer(1, int64(physical(c.Kind)))
		f.integer(3, parquetOptional)
		f.text(4, c.Name)
		if c.Kind == columns.Text {
			f.integer(6, parquetUTF8)
			f.open(10) // LogicalType
			f.open(1)  // STRING
			f.close()
			f.close()
		}
		f.stop()
	}
	f.long(3, p.rows)
	f.list(4, thriftStruct, p.count)
	f.b = append(f.b, p.groups.b...)
	f.text(6, "candor")
	f.stop()
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(f.b)))
	return p.put(append(f.b, parquetMagic...))
}

// Types of thrift's compact protocol.
const (
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thrift writes structures in thrift's compact protocol.
type thrift struct {
	b    []byte
	last int   // number of the last field
	of   []int // of the structures around
}

// begin begins a structure that is an element of a list; stop ends it.
func (t *thrift) begin() { t.of, t.last = append(t.of, t.last), 0 }

// stop ends a structure.
func (t *thrift) stop() {
	t.b = append(t.b, 0)
	if n := len(t.of); n > 0 {
		t.last, t.of = t.of[n-1], t.of[:n-1]
	}
}

// open begins a structure that is a field; close ends it.
func (t *thrift) open(id int) { t.field(id, thriftStruct); t.begin() }
func (t *thrift) close()      { t.stop() }

// field writes the header of a field. Numbers of fields rise by less than 16.
func (t *thrift) field(id, kind int) {
	t.b = append(t.b, byte((id-t.last)<<4|kind))
	t.last = id
}

func (t *thrift) zigzag(v int64)          { t.b = binary.AppendUvarint(t.b, uint64(v<<1^v>>63)) }
func (t *thrift) integer(id int, v int64) { t.field(id, thriftI32); t.zigzag(v) }
func (t *thrift) long(id int, v int64)    { t.field(id, thriftI64); t.zigzag(v) }
func (t *thrift) bytes(s string)          { t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...) }
func (t *thrift) text(id int, s string)   { t.field(id, thriftBinary); t.bytes(s) }

// list writes the header of a list of n elements.
func (t *thrift) list(id, kind, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n<<4|kind))
		return
	}
	t.b = binary.AppendUvarint(append(t.b, byte(15<<4|kind)), uint64(n))
}
