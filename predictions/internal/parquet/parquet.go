// Package parquet reads Parquet files as columns. Metadata and codecs are those of Apache's arrow-go; pages are found, checked and decoded
// here, into the slices of a block, because the library verifies no checksums, and decodes plain floats at a third of the speed.
//
// A row group is a part. It is read page by page, so its memory does not depend on its size: a page and a dictionary of each wanted column
// are kept, or are read anew for each block if they are too many to keep.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/candor-go/candor/predictions/internal/columns"
)

const (
	magic          = "PAR1"
	magicEncrypted = "PARE"

	mostFooter = 256 << 20
	leastBytes = 1 << 20
)

// File is an open Parquet file.
type File struct {
	src    columns.Source
	meta   *metadata.FileMetaData
	cols   []columns.Column
	nodes  []*node
	want   columns.Want
	wanted bool
	group  int // the next row group
}

var _ columns.File = (*File)(nil)

// recovered makes a Fault of a panic: arrow-go has panics that damaged files reach.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = columns.Wrong("", "the file is damaged, or has what is not read: %v", r)
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
		return nil, columns.Wrong("", "the file has %d bytes, too few for a Parquet file", size)
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
		return nil, columns.Wrong("", "the file is cut off or is no Parquet file: it does not end with %s", magic)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-8-int64(len(magic)) {
		return nil, columns.Wrong("", "the file is cut off or damaged: its metadata should have %d bytes, and the file has %d", length, size)
	}
	if length > mostFooter {
		return nil, columns.Wrong("write it with fewer columns or larger row groups", "the metadata of the Parquet file has %d bytes, more than %d",
			length, mostFooter)
	}
	footer := make([]byte, length)
	if err := readAt(src, footer, size-8-length); err != nil {
		return nil, err
	}
	if err := checkFooter(footer); err != nil {
		return nil, columns.Wrong("", "the metadata of the Parquet file is damaged: %v", err)
	}
	meta, err := metadata.NewFileMetaData(footer, nil)
	if err != nil {
		return nil, columns.Wrong("", "the metadata of the Parquet file is damaged: %v", err)
	}
	meta.SetSourceFileSize(size)
	f = &File{src: src, meta: meta}
	t := &tree{}
	root := meta.Schema.Root()
	for i := range root.NumFields() {
		n := t.field(root.Field(i), place{})
		f.nodes = append(f.nodes, n)
		f.cols = append(f.cols, n.Column)
	}
	rows := int64(0)
	for i, g := range meta.RowGroups {
		if len(g.Columns) != len(t.leaves) {
			return nil, columns.Wrong("", "the metadata of the Parquet file is damaged: row group %d has %d columns, and the schema has %d", i, len(g.Columns),
				len(t.leaves))
		}
		if g.NumRows < 0 || rows+g.NumRows < rows {
			return nil, columns.Wrong("", "the metadata of the Parquet file is damaged: row group %d has %d rows", i, g.NumRows)
		}
		rows += g.NumRows
	}
	if rows != meta.NumRows {
		return nil, columns.Wrong("", "the metadata of the Parquet file is damaged: its row groups have %d rows, and it says %d", rows, meta.NumRows)
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
		return columns.Wrong("", "the file ends at byte %d, in the middle of what it should have there", at+int64(n))
	}
	return &columns.Fault{Row: -1, Line: -1, Reason: fmt.Sprintf("it cannot be read: %v", err), Err: err}
}

// Columns returns the columns of the schema.
func (f *File) Columns() []columns.Column { return f.cols }

// Rows returns the number of rows that the metadata has.
func (f *File) Rows() int64 { return f.meta.NumRows }

// Want sets what Next reads. It must be called before. A column of kind Other may be wanted: only its missing cells are told.
func (f *File) Want(w columns.Want) error {
	for _, i := range w.Columns {
		if i < 0 || i >= len(f.nodes) {
			return columns.Wrong("", "there is no column %d", i)
		}
	}
	w.Bytes = max(w.Bytes, leastBytes)
	f.want, f.wanted = w, true
	return nil
}

// Next returns the next row group that has rows.
func (f *File) Next() (p columns.Part, err error) {
	defer recovered(&err)
	if !f.wanted {
		return nil, columns.Wrong("", "Want was not called")
	}
	for f.group < len(f.meta.RowGroups) {
		g := f.meta.RowGroup(f.group)
		f.group++
		if g.NumRows() > 0 {
			return f.part(g)
		}
	}
	return nil, io.EOF
}

// Close does nothing: whoever opened the source closes it.
func (f *File) Close() error { return nil }

// part returns the part of a row group.
func (f *File) part(g *metadata.RowGroupMetaData) (*part, error) {
	p := &part{src: f.src, rows: g.NumRows(), bytes: f.want.Bytes}
	perRow := 1.0
	chunks := map[*leaf]*chunk{}
	for _, i := range f.want.Columns {
		for _, l := range f.nodes[i].leaves {
			if chunks[l] != nil {
				continue
			}
			c, err := f.chunk(p, g, l)
			if err != nil {
				return nil, err
			}
			chunks[l] = c
			p.chunks = append(p.chunks, c)
			perRow += c.perRow()
		}
		p.cols = append(p.cols, newBuilder(f.nodes[i], chunks))
	}
	p.most = int(max(1, min(float64(p.bytes)/2/perRow, 1<<30)))
	return p, nil
}

// chunk returns a leaf's chunk of a row group.
func (f *File) chunk(p *part, g *metadata.RowGroupMetaData, l *leaf) (*chunk, error) {
	c := &chunk{leaf: l, p: p, loaded: -1, dictAt: -1}
	m, err := g.ColumnChunk(l.number)
	if err != nil {
		return nil, c.fault("its metadata cannot be read: %v", err)
	}
	if m.CryptoMetadata() != nil {
		f := c.fault("it is encrypted")
		f.Remedy = "write it without encryption"
		return nil, f
	}
	if m.FilePath() != "" {
		return nil, c.fault("its values are in another file, %s", m.FilePath())
	}
	if m.Type() != l.physical {
		return nil, c.fault("it is %v by the schema and %v by the row group", l.physical, m.Type())
	}
	c.from = m.DataPageOffset()
	if d := m.DictionaryPageOffset(); m.HasDictionaryPage() && d > 0 && d < c.from {
		c.from = d
	}
	size, length := f.src.Size(), m.TotalCompressedSize()
	if c.from < 0 || length < 0 || c.from > size || length > size-c.from {
		return nil, c.fault("the file is cut off or damaged: its pages should be the %d bytes from byte %d on, and the file has %d", length, c.from, size)
	}
	c.to = c.from + length
	if f.meta.WriterVersion().LessThan(metadata.Parquet816FixedVersion) {
		c.to = min(size, c.to+100) // those left out the dictionary page's header
	}
	if c.values = m.NumValues(); c.values < 0 {
		return nil, c.fault("its metadata is damaged: it has %d values", c.values)
	}
	c.plain = m.Compression() == compress.Codecs.Uncompressed
	c.codecName = m.Compression()
	if c.codec, err = compress.GetCodec(c.codecName); err != nil {
		f := c.fault("it is compressed with %v, which is not read", c.codecName)
		f.Remedy = "write it with zstd or snappy"
		return nil, f
	}
	c.next = c.from
	return c, nil
}

// perRow guesses how many bytes of a block a row takes.
func (c *chunk) perRow() float64 {
	bytes := map[columns.Kind]float64{columns.Float64: 8, columns.Float32: 4, columns.Float16: 2, columns.Int64: 8, columns.Bool: 1,
		columns.Text: 16}[c.kind]
	if c.maxDef > 0 {
		bytes++
	}
	if c.maxRep > 0 {
		bytes = (bytes + 2) * max(1, float64(c.values)/float64(c.p.rows))
		bytes += 16
	}
	return bytes
}
