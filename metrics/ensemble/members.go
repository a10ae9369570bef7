package ensemble

import (
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// InMemory returns a source of members that are in memory.
func InMemory(m *metrics.Members) metrics.MemberSource { return &inMemory{m: m} }

// inMemory returns views of some rows at a time.
type inMemory struct {
	m  *metrics.Members
	at int
}

func (s *inMemory) Next() (*metrics.MemberChunk, error) {
	if s.at == 0 {
		if _, err := shapeOf(s.m); err != nil {
			return nil, err
		}
	}
	one := &s.m.Each[0]
	if s.at >= one.Rows {
		return nil, io.EOF
	}
	n := min(one.Rows-s.at, max(64, (4<<20)/(one.Classes*one.DType().Size())))
	c := &metrics.MemberChunk{Members: *s.m, First: int64(s.at)}
	c.Each = make([]metrics.Scores, len(s.m.Each))
	for i := range c.Each {
		c.Each[i] = s.m.Each[i].Slice(s.at, s.at+n)
	}
	c.Labels = s.m.Labels[s.at : s.at+n]
	if s.m.Weights != nil {
		c.Weights = s.m.Weights[s.at : s.at+n]
	}
	s.at += n
	return c, nil
}

// shape is what all chunks of an ensemble share.
type shape struct {
	members, classes int
	dtype            metrics.DType
	kind             metrics.Kind
	weighted         bool
}

// shapeOf returns the shape of members, or an error if they do not match. It panics if scores do not match their shape.
func shapeOf(m *metrics.Members) (shape, error) {
	if len(m.Each) == 0 {
		return shape{}, errNone
	}
	if m.Kind > metrics.LogProbs {
		return shape{}, errKind
	}
	one := &m.Each[0]
	for i := range m.Each {
		s := &m.Each[i]
		n := len(s.F64) + len(s.F32) + len(s.F16) + len(s.BF16)
		if s.Rows < 0 || s.Classes < 1 || s.RowStride() < s.Classes || s.Rows > 0 && (n < s.Classes || (n-s.Classes)/s.RowStride() < s.Rows-1) {
			panic(errShape)
		}
		if s.Rows != one.Rows || s.Classes != one.Classes || s.DType() != one.DType() && s.Rows > 0 {
			return shape{}, fmt.Errorf("%w: member %d is %d x %d %v, and member 0 is %d x %d %v", metrics.ErrMismatch,
				i, s.Rows, s.Classes, s.DType(), one.Rows, one.Classes, one.DType())
		}
	}
	if len(m.Labels) != one.Rows {
		return shape{}, &metrics.LengthError{Column: "labels", Len: len(m.Labels), Rows: one.Rows}
	}
	if m.Weights != nil && len(m.Weights) != one.Rows {
		return shape{}, &metrics.LengthError{Column: "weights", Len: len(m.Weights), Rows: one.Rows}
	}
	return shape{members: len(m.Each), classes: one.Classes, dtype: one.DType(), kind: m.Kind, weighted: m.Weights != nil}, nil
}

// The rows of a block, with all members' probabilities and columns, fit in a second-level cache.
const (
	workBytes = 1 << 19
	colBytes  = 128 // a row's columns
)

// No block of a Walker is shorter than these.
const (
	tileBytes  = 256 << 10
	blockBytes = 1 << 20
)

// blockRows returns the number of rows to process together. They are one block of each Walker.
func blockRows(m *metrics.Members) int {
	one := &m.Each[0]
	entry, apart := 8, 0
	if one.Classes > 1 && one.DType() != metrics.Float64 {
		entry = 4
	}
	for i := range m.Each {
		apart = max(apart, m.Each[i].RowStride())
	}
	width := max(2, one.Classes)
	n := min(workBytes/(len(m.Each)*(width*entry+colBytes)), tileBytes/(width*8), blockBytes/(apart*one.DType().Size()), kernel.MaxSum)
	if n > 64 {
		n &^= 63
	}
	return max(1, n)
}

// means holds the memory of a chunk of means.
type means struct {
	f32     []float32
	f64     []float64
	labels  []int32
	weights []float64
	groups  []int32
	numbers []int32
}

// chunk returns a chunk for the means of c's rows. It has no scores if nobody reads them.
func (f *Folded) chunk(c *metrics.MemberChunk) *metrics.Chunk {
	rows, k := c.Each[0].Rows, f.shape.classes
	m := &metrics.Chunk{First: c.First}
	m.Rows, m.Classes, m.Kind = rows, k, metrics.Probs
	if f.alone {
		return m
	}
	b, _ := f.pool.Get().(*means)
	if b == nil {
		b = &means{}
	}
	m.Recycle = func() { f.pool.Put(b) }
	if f.narrow() {
		b.f32 = room(b.f32, rows*k)
		m.F32 = b.f32[:rows*k]
	} else {
		b.f64 = room(b.f64, rows*k)
		m.F64 = b.f64[:rows*k]
	}
	b.labels = room(b.labels, rows)
	m.Labels = b.labels[:copy(b.labels, c.Labels)]
	if c.Weights != nil {
		b.weights = room(b.weights, rows)
		m.Weights = b.weights[:copy(b.weights, c.Weights)]
	}
	if c.Groups != nil {
		b.groups = room(b.groups, rows)
		m.Groups = b.groups[:copy(b.groups, c.Groups)]
	}
	if c.Numbers != nil {
		b.numbers = room(b.numbers, rows)
		m.Numbers = b.numbers[:copy(b.numbers, c.Numbers)]
	}
	return m
}

// narrow reports whether tiles are of float32.
func (f *Folded) narrow() bool {
	s := f.shape
	return s.classes > 1 && s.dtype != metrics.Float64 && !(f.opt.Renormalize && s.kind == metrics.Probs)
}

// meansAlone reports whether only the means are read, not the probabilities of single members.
func (f *Folded) meansAlone() bool {
	for _, a := range f.accs {
		if r, ok := a.(*rows); ok {
			a = r.keep
		}
		if _, ok := a.(*Uncertainty); !ok {
			return false
		}
	}
	for _, l := range f.each {
		for _, a := range l {
			if a.Needs()&metrics.NeedRows != 0 {
				return false
			}
		}
	}
	return true
}

// room returns a slice of at least n elements, s itself if it is long enough.
func room[T any](s []T, n int) []T {
	if len(s) < n {
		return make([]T, n)
	}
	return s
}

// meanRows writes the means of a block's rows to dst, with a kernel function for members that are in one array.
func meanRows[T float32 | float64](dst []T, members [][]T, b *Block, mean func(dst, x []T, members, n, stride int)) {
	width, packed := b.Mean.Width, true
	for _, o := range b.Members {
		packed = packed && o.Probs.Stride == b.Members[0].Probs.Stride
	}
	all, apart, same := oneArray(members, len(dst))
	switch st := b.Members[0].Probs.Stride; {
	case packed && same && st == width:
		mean(dst, all, len(members), len(dst), apart)
	case packed && same:
		for i := range b.Rows {
			mean(dst[i*width:], all[i*st:], len(members), width, apart)
		}
	default:
		for i := range b.Rows {
			row := dst[i*width:][:width]
			copy(row, members[0][i*st:])
			for m, o := range b.Members[1:] {
				for j, v := range members[m+1][i*o.Probs.Stride:][:width] {
					row[j] += v
				}
			}
			for j := range row {
				row[j] /= T(len(members))
			}
		}
	}
}

// oneArray reports whether members are in one array at equal distances. It returns the array from the first member on, and
// the distance.
func oneArray[T float32 | float64](members [][]T, n int) (all []T, apart int, ok bool) {
	one := members[0]
	if len(members) == 1 {
		return one, max(n, len(one)), true
	}
	var v T
	address := func(p []T) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(p)))) }
	size := int(unsafe.Sizeof(v))
	apart = (address(members[1]) - address(one)) / size
	last := members[len(members)-1]
	if apart < len(one) || apart > (cap(one)-len(last))/(len(members)-1) {
		return nil, 0, false
	}
	all = one[:(len(members)-1)*apart+len(last)]
	for m, p := range members {
		if &all[m*apart] != &p[0] {
			return nil, 0, false
		}
	}
	return all, apart, true
}

// fillNaN marks rows [lo, hi) of a chunk of means as dropped.
func fillNaN(c *metrics.Chunk, lo, hi int) {
	for i := lo * c.Classes; i < hi*c.Classes; i++ {
		if c.F32 != nil {
			c.F32[i] = float32(math.NaN())
		} else {
			c.F64[i] = math.NaN()
		}
	}
}
