// Package safetensors reads the tensors of safetensors files as columns. A tensor of shape (N,) is a column of N numbers, one of shape
// (N, K) a column of N lists of K. F64, F32, F16, the integers and BOOL keep their values; BF16 becomes Float32, which is exact. Tensors
// of other types and shapes are columns of kind Other.
package safetensors

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strconv"
	"sync"
	"unsafe"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/predictions/internal/columns"
)

const (
	partBytes = 8 << 20  // of the file, that a part has about
	scratch   = 64 << 10 // through which values are converted; it stays in the caches
)

// File is an open safetensors file. It implements columns.File.
type File struct {
	src     columns.Source
	tensors []tensor
	columns []columns.Column
	want    []*tensor
	rows    int64
	at      int64 // the next row
	end     int64 // the row behind the last
	part    int64 // rows of a part
	block   int64 // rows of a block at most

	mu   sync.Mutex
	free []*part // closed ones, whose memory is used again
}

// Open reads and checks the header of a file: every tensor lies in the file, has as many bytes as its type and shape say, and shares none.
func Open(src columns.Source) (*File, error) {
	tensors, e := readHeader(src)
	if e != nil {
		return nil, e
	}
	f := &File{src: src, tensors: tensors, columns: make([]columns.Column, len(tensors)), rows: -1}
	differ := false
	for i := range tensors {
		t := &tensors[i]
		f.columns[i] = t.column()
		if t.kind != columns.Other {
			differ = differ || f.rows >= 0 && f.rows != t.rows
			f.rows = t.rows
		}
	}
	if differ {
		f.rows = -1
	}
	return f, nil
}

// Columns returns a column for each tensor, in the order of the header.
func (f *File) Columns() []columns.Column { return f.columns }

// Rows returns the first dimension of the wanted tensors. Before Want it is that of all tensors that can be read, or -1 if they differ.
func (f *File) Rows() int64 { return f.rows }

// Want says what Next reads, from the first row on. The wanted tensors must have the same first dimension; the others need not.
func (f *File) Want(w columns.Want) error {
	if len(w.Columns) == 0 {
		return columns.Wrong("", "no tensor is wanted")
	}
	want := make([]*tensor, len(w.Columns))
	var file, memory int64 // bytes of a row
	for i, c := range w.Columns {
		if c < 0 || c >= len(f.tensors) {
			return columns.Wrong("", "there is no column %d; the file has %d", c, len(f.tensors))
		}
		t := &f.tensors[c]
		if t.kind == columns.Other {
			e := columns.Wrong("save it as F32 of shape (N,) or (N, K)", "tensor %q, %s, cannot be read", t.name, f.columns[c].Type.Name)
			e.Column = t.name
			return e
		}
		if first := want[0]; i > 0 && t.rows != first.rows {
			e := columns.Wrong("", "tensor %q has %d rows, but %q has %d", t.name, t.rows, first.name, first.rows)
			e.Column = t.name
			return e
		}
		want[i] = t
		file += t.size * t.width // both at most the size of the file, as long as there is a row
		memory += 8 + t.width*[...]int64{columns.Float64: 8, columns.Float32: 4, columns.Float16: 2, columns.Int64: 8, columns.Bool: 1}[t.kind]
	}
	rows := want[0].rows
	if rows > 0 && memory > w.Bytes {
		return columns.Wrong("raise "+setting.PartMemory.String(), "one row of the wanted tensors takes %d bytes of memory, and a part may take %d", memory, w.Bytes)
	}
	f.want, f.rows, f.at, f.end = want, rows, 0, rows
	if rows > 0 {
		f.part, f.block = max(1, partBytes/file), max(1, w.Bytes/memory)
	}
	f.mu.Lock()
	f.free = nil // they have vectors of other columns
	f.mu.Unlock()
	return nil
}

// Next returns the next part. Want must have been called.
func (f *File) Next() (columns.Part, error) {
	if f.want == nil {
		return nil, columns.Wrong("", "no tensor is wanted")
	}
	if f.at == f.end {
		return nil, io.EOF
	}
	var p *part
	f.mu.Lock()
	if n := len(f.free); n > 0 {
		p, f.free = f.free[n-1], f.free[:n-1]
	}
	f.mu.Unlock()
	if p == nil {
		p = newPart(f)
	}
	p.begin, p.at = f.at, f.at
	p.end = min(f.end, f.at+f.part)
	f.at = p.end
	return p, nil
}

// Units returns the number of rows, each of which can be read by itself.
func (f *File) Units() int64 { return f.rows }

// RowsOf returns how many rows there are.
func (f *File) RowsOf(from, to int64) (int64, error) { return to - from, nil }

// Only limits Next to some rows.
func (f *File) Only(from, to int64) { f.at, f.end = from, to }

// Close forgets the memory of parts. It does not close the source.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.want, f.free = nil, nil
	return nil
}

// A part is a run of rows of the wanted tensors.
type part struct {
	f              *File
	want           []*tensor
	block          int64
	begin, at, end int64
	vectors        []columns.Vector
	raw            []byte
}

func newPart(f *File) *part {
	p := &part{f: f, want: f.want, block: f.block, vectors: make([]columns.Vector, len(f.want))}
	for i, t := range p.want {
		if len(t.shape) == 2 {
			p.vectors[i].Elem = new(columns.Vector)
		}
	}
	return p
}

func (p *part) Next(b *columns.Block) error {
	n := min(int64(b.Most), p.end-p.at, p.block)
	if n <= 0 {
		return io.EOF
	}
	for i, t := range p.want {
		v := &p.vectors[i]
		if v.Elem != nil {
			for len(v.Offsets) <= int(n) {
				v.Offsets = append(v.Offsets, len(v.Offsets)*int(t.width))
			}
			v.Offsets = v.Offsets[:n+1]
			v = v.Elem
		}
		if e := p.fill(t, v, int(n*t.width)); e != nil {
			return e
		}
	}
	b.Rows, b.Columns, b.Swap = int(n), p.vectors, true
	p.at += n
	return nil
}

// Close gives the memory of the part back to the file.
func (p *part) Close() error {
	if p.end == 0 {
		return nil // it was closed
	}
	p.begin, p.at, p.end = 0, 0, 0
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	if len(p.f.want) > 0 && &p.f.want[0] == &p.want[0] {
		p.f.free = append(p.f.free, p)
	}
	return nil
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// fill reads n elements of a tensor, from row p.at on.
func (p *part) fill(t *tensor, v *columns.Vector, n int) *columns.Fault {
	from := t.begin + p.at*t.width*t.size
	var direct []byte // the memory of the values, where they are as in the file
	switch t.kind {
	case columns.Float64:
		v.Float64 = grow(v.Float64, n)
		direct = bytesOf(v.Float64)
	case columns.Float32:
		v.Float32 = grow(v.Float32, n)
		if t.dtype == "F32" {
			direct = bytesOf(v.Float32)
		}
	case columns.Float16:
		v.Float16 = grow(v.Float16, n)
		direct = bytesOf(v.Float16)
	case columns.Int64:
		v.Int64 = grow(v.Int64, n)
		if t.dtype == "I64" {
			direct = bytesOf(v.Int64)
		}
	case columns.Bool:
		v.Bool = grow(v.Bool, n)
	}
	if direct != nil && littleEndian {
		return readAt(p.f.src, direct, from)
	}
	p.raw = grow(p.raw, scratch)
	for at := 0; at < n; {
		m := min(n-at, scratch/int(t.size))
		raw := p.raw[:m*int(t.size)]
		if e := readAt(p.f.src, raw, from+int64(at)*t.size); e != nil {
			return e
		}
		if bad := convert(v, at, m, t.dtype, raw); bad >= 0 {
			f := &columns.Fault{Column: t.name, Row: p.at - p.begin + int64(at+bad)/t.width, Line: -1}
			if t.dtype == "BOOL" {
				f.Reason, f.Value = "a BOOL is neither 0 nor 1", strconv.Itoa(int(raw[bad]))
			} else {
				f.Reason, f.Value = "a U64 is larger than 2^63-1", strconv.FormatUint(binary.LittleEndian.Uint64(raw[8*bad:]), 10)
			}
			return f
		}
		at += m
	}
	return nil
}

// convert makes n values, from v's at on, of the bytes of a file. It returns the first that does not fit, or -1.
func convert(v *columns.Vector, at, n int, dtype string, raw []byte) int {
	le := binary.LittleEndian
	switch dtype {
	case "F64":
		for i := range v.Float64[at : at+n] {
			v.Float64[at+i] = math.Float64frombits(le.Uint64(raw[8*i:]))
		}
	case "F32":
		for i := range v.Float32[at : at+n] {
			v.Float32[at+i] = math.Float32frombits(le.Uint32(raw[4*i:]))
		}
	case "BF16":
		to := v.Float32[at : at+n]
		for len(to) >= 4 && len(raw) >= 8 { // fewer loads, and no test of bounds for each value
			four := le.Uint64(raw)
			to[0] = math.Float32frombits(uint32(four) << 16)
			to[1] = math.Float32frombits(uint32(four) &^ 0xffff)
			to[2] = math.Float32frombits(uint32(four>>16) &^ 0xffff)
			to[3] = math.Float32frombits(uint32(four>>32) &^ 0xffff)
			to, raw = to[4:], raw[8:]
		}
		for i := range to {
			to[i] = math.Float32frombits(uint32(le.Uint16(raw[2*i:])) << 16)
		}
	case "F16":
		for i := range v.Float16[at : at+n] {
			v.Float16[at+i] = le.Uint16(raw[2*i:])
		}
	case "BOOL":
		to := v.Bool[at : at+n]
		for i, c := range raw[:n] {
			if c > 1 {
				return i
			}
			to[i] = c == 1
		}
	default:
		to := v.Int64[at : at+n]
		switch dtype {
		case "I64", "U64":
			for i := range to {
				to[i] = int64(le.Uint64(raw[8*i:]))
				if to[i] < 0 && dtype == "U64" {
					return i
				}
			}
		case "I32":
			for len(to) >= 2 && len(raw) >= 8 {
				two := le.Uint64(raw)
				to[0], to[1] = int64(int32(two)), int64(two)>>32
				to, raw = to[2:], raw[8:]
			}
			for i := range to {
				to[i] = int64(int32(le.Uint32(raw[4*i:])))
			}
		case "U32":
			for i := range to {
				to[i] = int64(le.Uint32(raw[4*i:]))
			}
		case "I16":
			for i := range to {
				to[i] = int64(int16(le.Uint16(raw[2*i:])))
			}
		case "U16":
			for i := range to {
				to[i] = int64(le.Uint16(raw[2*i:]))
			}
		case "I8":
			for i := range to {
				to[i] = int64(int8(raw[i]))
			}
		case "U8":
			for i := range to {
				to[i] = int64(raw[i])
			}
		}
	}
	return -1
}

// readAt fills p. The file had these bytes when it was opened.
func readAt(src io.ReaderAt, p []byte, at int64) *columns.Fault {
	n, err := src.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	f := columns.Wrong("", "cannot read %d bytes at %d: %v", len(p), at, err)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		f = columns.Wrong("read it when nobody writes to it", "the file became shorter while it was read")
	}
	f.Err = err
	return f
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

func bytesOf[T any](s []T) []byte {
	var v T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(v)))
}

var _ columns.File = (*File)(nil)
