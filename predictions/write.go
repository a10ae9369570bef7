package predictions

import (
	"fmt"
	"io"
	"math/bits"
	"unsafe"

	"github.com/candor-go/candor/metrics"
)

// Half holds the bits of IEEE 754 binary16 values. WriteNPY writes them as float16.
type Half []uint16

// WriteNPY writes an array to w as .npy version 1.0: little-endian, C order, data aligned to 64 bytes, as numpy.save does. Errors are
// those of w.
//
// data is []float32, []float64, []int32, []int64, Half or []uint16 (which may be the bits of bfloat16). It panics on another type, and
// if the length of data is not the product of shape.
func WriteNPY(w io.Writer, shape []int64, data any) error {
	switch d := data.(type) {
	case []float32:
		return writeNPY(w, shape, "<f4", d)
	case []float64:
		return writeNPY(w, shape, "<f8", d)
	case []int32:
		return writeNPY(w, shape, "<i4", d)
	case []int64:
		return writeNPY(w, shape, "<i8", d)
	case Half:
		return writeNPY(w, shape, "<f2", []uint16(d))
	case []uint16:
		return writeNPY(w, shape, "<u2", d)
	}
	panic("predictions: WriteNPY of a type that it does not know")
}

// NPYHeader returns the header that WriteNPY writes, for data that is written separately: little-endian values in C order, with
// bfloat16 as uint16. It panics on a negative dimension and on more than 64 dimensions.
func NPYHeader(shape []int64, d metrics.DType) []byte {
	for _, n := range shape {
		if n < 0 {
			panic("predictions: NPYHeader of an impossible shape")
		}
	}
	if len(shape) > maxDims {
		panic("predictions: NPYHeader of an impossible shape")
	}
	return npyHeader(shape, map[metrics.DType]string{metrics.Float64: "<f8", metrics.Float32: "<f4", metrics.Float16: "<f2", metrics.BFloat16: "<u2"}[d])
}

// NPYColumnHeader returns the header of a vector with the cells of a column, for data that is written separately: little-endian values, a
// byte for each of bool, and texts as NumPy has them in U, of width characters of 4 bytes each (UTF-32, zeros behind the text). A width below
// 1 is 1. It panics on a negative number of rows.
func NPYColumnHeader(rows int64, t ColumnType, width int) []byte {
	if rows < 0 {
		panic("predictions: NPYColumnHeader of an impossible shape")
	}
	descr, ok := map[ColumnType]string{Float64Column: "<f8", Float32Column: "<f4", Int64Column: "<i8", BoolColumn: "|b1"}[t]
	if !ok {
		descr = fmt.Sprintf("<U%d", max(1, width))
	}
	return npyHeader([]int64{rows}, descr)
}

// NPYData returns v as the data of an .npy file, for a header by NPYHeader. On a little-endian machine it shares memory with v.
func NPYData[T float32 | float64](v []T) []byte {
	if !hostBig {
		return raw(v)
	}
	var size T
	words := make([]uint64, (len(raw(v))+7)/8)
	n := copy(raw(words), raw(v))
	swapBytes(words, int(unsafe.Sizeof(size)))
	return raw(words)[:n]
}

func npyHeader(shape []int64, descr string) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shapeText(shape))
	const before = len(npyMagic) + 4
	length := (before+len(text)+1+63)&^63 - before
	head := fmt.Appendf(nil, "%s\x01\x00%c%c%-*s\n", npyMagic, 0, 0, length-1, text)
	head[before-2], head[before-1] = byte(length), byte(length>>8)
	return head
}

func writeNPY[T fixed](w io.Writer, shape []int64, descr string, data []T) error {
	n := uint64(1)
	for _, d := range shape {
		hi, lo := bits.Mul64(n, uint64(max(d, 0)))
		if hi != 0 || d < 0 {
			panic("predictions: WriteNPY of an impossible shape")
		}
		n = lo
	}
	if n != uint64(len(data)) || len(shape) > maxDims {
		panic("predictions: WriteNPY of a shape that is not the data's")
	}
	if _, err := w.Write(npyHeader(shape, descr)); err != nil {
		return err
	}
	if !hostBig {
		_, err := w.Write(raw(data))
		return err
	}
	// Swap in a buffer, since data belongs to the caller.
	size := parseDType(descr).size
	buf := make([]uint64, 8<<10)
	for mem := raw(data); len(mem) > 0; {
		m := copy(raw(buf), mem)
		swapBytes(buf[:(m+7)/8], size)
		if _, err := w.Write(raw(buf)[:m]); err != nil {
			return err
		}
		mem = mem[m:]
	}
	return nil
}
