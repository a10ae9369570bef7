// Package parquet reads Parquet files as columns. Metadata and pages are read here, and not by Apache's arrow-go: the library's metadata adds
// 18 MB to a program and even its codecs link code generated for that, its page reader verifies no checksums, and it decodes floats at a quarter of
// the speed. Tests compare every value with what the library reads.
//
// A row group is a part. It is read page by page, so its memory does not depend on its size: a page and a dictionary of each wanted column
// are kept, or are read anew for each block if they are too many to keep.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/candor-go/candor/predictions/internal/columns"
)

const (
	magic          = "PAR1"
	magicEncrypted = "PARE"

	mostFooter = 256 << 20
	mostRows   = math.MaxInt32 // of a row group; those of writers have 10 million at most
	leastBytes = 1 << 20
)

// File is an open Parquet file.
type File struct {
	src columns.Source
	footer
	cols    []columns.Column
	nodes   []*node
	want    columns.Want
	wanted  bool
	group   int // the next row group
	end     int // the one behind the last, if limited is set
	limited bool

	mu     sync.Mutex
	spares []*part // closed ones, whose memory is used again
}

var _ columns.Divided = (*File)(nil)

// again is what helps with a damaged file.
const again = "copy it again, or write it again"

// recovered makes a Fault of a panic, which a codec may have on damaged data.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = columns.Wrong(again, "the file is damaged, or has something that is not supported: %v", r)
	}
}

// Open reads the footer of a Parquet file.
func Open(src columns.Source) (f *File, err error) {
	defer recovered(&err)
	size := src.Size()
	if size == 0 {
		return nil, columns.Wrong("", "the file is empty")
	}
	if size < int64(len(magic)+8) {
		return nil, columns.Wrong(again, "the file has %d bytes, too few for a Parquet file", size)
	}
	var tail [8]byte
	if err := readAt(src, tail[:], size-8); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case magic:
	case magicEncrypted:
		return nil, columns.Wrong("write it without encryption", "the Parquet file is encrypted")
	default:
		var head [len(magic)]byte
		if err := readAt(src, head[:], 0); err != nil {
			return nil, err
		}
		if string(head[:]) != magic {
			return nil, columns.Wrong("give it a name that ends as those of its format do", "it is not a Parquet file: it does not begin with %s", magic)
		}
		return nil, columns.Wrong(again, "the Parquet file is cut off or damaged: it does not end with %s", magic)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-8-int64(len(magic)) {
		return nil, columns.Wrong(again, "the file is cut off or damaged: its metadata should have %d bytes, and the file has %d", length, size)
	}
	if length > mostFooter {
		return nil, columns.Wrong("write it with fewer columns or larger row groups", "the metadata of the Parquet file has %d bytes, more than %d",
			length, mostFooter)
	}
	b := make([]byte, length)
	if err := readAt(src, b, size-8-length); err != nil {
		return nil, err
	}
	f = &File{src: src}
	if err := f.footer.read(b); err != nil {
		return nil, columns.Wrong(again, "the metadata of the Parquet file is damaged: %v", err)
	}
	t := &tree{}
	for _, e := range f.root.children {
		n := t.field(e, place{})
		f.nodes = append(f.nodes, n)
		f.cols = append(f.cols, n.Column)
	}
	rows := int64(0)
	for i, g := range f.groups {
		if g.columns != len(t.leaves) {
			return nil, columns.Wrong(again, "the metadata of the Parquet file is damaged: row group %d has %d columns, and the schema has %d", i, g.columns,
				len(t.leaves))
		}
		if g.rows > mostRows || rows > math.MaxInt64-mostRows {
			return nil, columns.Wrong(again, "row group %d of the Parquet file says that it has %d rows", i, g.rows)
		}
		rows += g.rows
	}
	if rows != f.rows {
		return nil, columns.Wrong(again, "the metadata of the Parquet file is damaged: its row groups have %d rows, and it says %d", rows, f.rows)
	}
	return f, nil
}

// readAt fills b.
func readAt(src columns.Source, b []byte, at int64) error {
	n, err := src.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return columns.Wrong(again, "the file ends at byte %d, in the middle of what it should have there", at+int64(n))
	}
	return &columns.Fault{Row: -1, Line: -1, Reason: fmt.Sprintf("it cannot be read: %v", err), Err: err}
}

// Columns returns the columns of the schema.
func (f *File) Columns() []columns.Column { return f.cols }

// Rows returns the number of rows that the metadata has.
func (f *File) Rows() int64 { return f.rows }

// Want sets what Next reads. It must be called before; without columns there are no parts. A column of kind Other may be wanted: only its missing cells are told.
func (f *File) Want(w columns.Want) error {
	for _, i := range w.Columns {
		if i < 0 || i >= len(f.nodes) {
			return columns.Wrong("", "there is no column %d", i)
		}
	}
	w.Bytes = max(w.Bytes, leastBytes)
	f.want, f.wanted = w, true
	f.mu.Lock()
	f.spares = nil // they have other columns
	f.mu.Unlock()
	return nil
}

// Next returns the next row group that has rows.
func (f *File) Next() (p columns.Part, err error) {
	defer recovered(&err)
	if !f.wanted {
		return nil, columns.Wrong("", "Want was not called")
	}
	end := len(f.groups)
	if f.limited {
		end = f.end
	}
	for f.group < end && len(f.want.Columns) > 0 {
		g := &f.groups[f.group]
		f.group++
		if g.rows > 0 {
			return f.part(g)
		}
	}
	return nil, io.EOF
}

// Units returns the number of row groups.
func (f *File) Units() int64 { return int64(len(f.groups)) }

// RowsOf returns the number of rows of row groups.
func (f *File) RowsOf(from, to int64) (n int64, err error) {
	for _, g := range f.groups[from:to] {
		n += g.rows
	}
	return n, nil
}

// Only limits Next to some row groups.
func (f *File) Only(from, to int64) { f.group, f.end, f.limited = int(from), int(to), true }

// Close does nothing: whoever opened the source closes it.
func (f *File) Close() error { return nil }

// part returns the part of a row group.
func (f *File) part(g *group) (*part, error) {
	p := &part{file: f, src: f.src, rows: g.rows, bytes: f.want.Bytes}
	chunks := map[*leaf]*chunk{}
	wanted := map[int]*chunk{} // by the leaf's number
	for _, i := range f.want.Columns {
		for _, l := range f.nodes[i].leaves {
			if chunks[l] == nil {
				c := &chunk{leaf: l, p: p, loaded: -1, dictAt: -1}
				chunks[l], wanted[l.number] = c, c
				p.chunks = append(p.chunks, c)
			}
		}
		p.cols = append(p.cols, newBuilder(f.nodes[i], chunks))
	}
	err := f.footer.chunks(g, func(number int, m *chunkMeta) error {
		if c := wanted[number]; c != nil {
			return f.locate(c, m)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.inherit(p)
	perRow := 1.0
	for _, c := range p.chunks {
		perRow += c.perRow()
	}
	p.most = int(max(1, min(float64(p.bytes)/2/perRow, 1<<30)))
	return p, nil
}

// locate sets where the pages of a chunk are.
func (f *File) locate(c *chunk, m *chunkMeta) error {
	if m.encrypted {
		f := c.fault("it is encrypted")
		f.Remedy = "write it without encryption"
		return f
	}
	if m.path != "" {
		return c.fault("its values are in another file, %s", m.path)
	}
	if m.physical != c.physical {
		return c.fault("it is %s by the schema and %s by the row group", physicalName(c.physical), physicalName(m.physical))
	}
	c.from = m.data
	if m.dict > 0 && m.dict < c.from {
		c.from = m.dict
	}
	size := f.src.Size()
	if c.from < 0 || m.size < 0 || c.from > size || m.size > size-c.from {
		return c.fault("the file is cut off or damaged: its pages should be the %d bytes from byte %d on, and the file has %d", m.size, c.from, size)
	}
	c.to = c.from + m.size
	if f.oldSizes() {
		c.to = min(size, c.to+100)
	}
	if c.values = m.values; c.values < 0 {
		return c.fault("its metadata is damaged: it has %d values", c.values)
	}
	c.codec = codec(m.codec)
	c.plain = c.codec == uncompressed
	if !c.codec.read() {
		f := c.fault("its compression, %s, is not supported", c.codec)
		f.Remedy = "write it with zstd or snappy"
		return f
	}
	c.next = c.from
	return nil
}

// perRow guesses how many bytes of a block a row takes.
func (c *chunk) perRow() float64 {
	bytes := map[columns.Kind]float64{columns.Float64: 8, columns.Float32: 4, columns.Float16: 2, columns.Int64: 8, columns.Bool: 1,
		columns.Text: 16}[c.kind]
	if c.maxDef > 0 {
		bytes++
	}
	if c.maxRep > 0 {
		bytes = float64((bytes + 2) * max(1, float64(c.values)/float64(c.p.rows)))
		bytes += 16
	}
	return bytes
}
