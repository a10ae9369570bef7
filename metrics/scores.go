package metrics

import (
	"strconv"

	"github.com/candor-go/candor/kernel"
)

// DType is the storage type of a matrix of scores.
type DType uint8

// The storage types. Half-precision values are stored as their bits in a uint16.
const (
	Float64 DType = iota
	Float32
	Float16
	BFloat16
)

// String returns the name of the type as used in documents: "float64", "float32", "float16", "bfloat16".
func (d DType) String() string {
	switch d {
	case Float64:
		return "float64"
	case Float32:
		return "float32"
	case Float16:
		return "float16"
	case BFloat16:
		return "bfloat16"
	}
	return "DType(" + strconv.Itoa(int(d)) + ")"
}

// Size returns the size of one value in bytes.
func (d DType) Size() int {
	switch d {
	case Float64:
		return 8
	case Float32:
		return 4
	}
	return 2
}

// Epsilon returns the distance from 1 to the next larger value of the type.
func (d DType) Epsilon() float64 {
	switch d {
	case Float64:
		return 0x1p-52
	case Float32:
		return 0x1p-23
	case Float16:
		return 0x1p-10
	}
	return 0x1p-7
}

// Scores is a row-major view of a model's outputs: row i is Data[i*Stride : i*Stride+Classes]. Exactly one of the data
// slices is set. Its data are neither kept nor changed.
//
// Classes == 1 means a binary task: the only score of a row belongs to the event y = 1. Classes == 2 means two classes, and
// rows are judged by the more probable class. OfEvent turns two classes into a binary task.
type Scores struct {
	F64  []float64
	F32  []float32
	F16  []uint16 // IEEE 754 binary16 bits
	BF16 []uint16 // upper halves of float32 bits

	Rows    int
	Classes int
	Stride  int // 0 means Classes

	// Pair, if set, holds the scores that OfEvent combined, for further checks.
	Pair *Pair
}

// DType returns the storage type of the data slice that is set, or Float64 if none is.
func (s *Scores) DType() DType {
	switch {
	case s.F32 != nil:
		return Float32
	case s.F16 != nil:
		return Float16
	case s.BF16 != nil:
		return BFloat16
	}
	return Float64
}

// RowStride returns the distance between the starts of rows in elements: Stride, or Classes if Stride is 0.
func (s *Scores) RowStride() int {
	if s.Stride == 0 {
		return s.Classes
	}
	return s.Stride
}

// At returns the score of row i and class j as a float64.
func (s *Scores) At(i, j int) float64 { return s.element(i*s.RowStride() + j) }

// element returns element at of the data slice as a float64.
func (s *Scores) element(at int) float64 {
	var one [1]float32
	switch s.DType() {
	case Float64:
		return s.F64[at]
	case Float32:
		return float64(s.F32[at])
	case Float16:
		kernel.WidenF16(one[:], s.F16[at:at+1])
	default:
		kernel.WidenBF16(one[:], s.BF16[at:at+1])
	}
	return float64(one[0])
}

// Widen writes rows [from, to) to dst as float64, without gaps whatever the stride. dst must have room for them.
func (s *Scores) Widen(dst []float64, from, to int) {
	n, width, stride := to-from, s.Classes, s.RowStride()
	if stride == width { // without gaps: treat them as one row
		n, width = min(n, 1), n*width
	}
	for i := range n {
		row, at := dst[i*width:][:width], (from+i)*stride
		switch {
		case s.F64 != nil:
			copy(row, s.F64[at:])
		case s.F32 != nil:
			widen(row, s.F32[at:])
		default:
			s.widenHalf(row, at)
		}
	}
}

// widenHalf fills row with half-precision scores from element at on, widened.
func (s *Scores) widenHalf(row []float64, at int) {
	var buf [256]float32
	for len(row) > 0 {
		n := min(len(row), len(buf))
		if s.F16 != nil {
			kernel.WidenF16(buf[:n], s.F16[at:at+n])
		} else {
			kernel.WidenBF16(buf[:n], s.BF16[at:at+n])
		}
		widen(row[:n], buf[:])
		row, at = row[n:], at+n
	}
}

func widen(dst []float64, src []float32) {
	for i, v := range src[:len(dst)] {
		dst[i] = float64(v)
	}
}

// Slice returns a view of rows [from, to).
func (s *Scores) Slice(from, to int) Scores {
	part := *s
	part.Rows, part.Pair = to-from, s.Pair.Slice(from, to)
	lo := from * s.RowStride()
	hi := lo
	if to > from {
		hi += (to-from-1)*s.RowStride() + s.Classes
	}
	switch s.DType() {
	case Float64:
		part.F64 = s.F64[lo:hi:hi]
	case Float32:
		part.F32 = s.F32[lo:hi:hi]
	case Float16:
		part.F16 = s.F16[lo:hi:hi]
	case BFloat16:
		part.BF16 = s.BF16[lo:hi:hi]
	}
	return part
}
