package export

import (
	"encoding/binary"
	"math"
)

// A message is a protocol buffer in the making. Fields are written in the order of the calls.
type message []byte

func (m *message) key(field, wire int) {
	*m = binary.AppendUvarint(*m, uint64(field<<3|wire))
}

func (m *message) number(field int, v int64) {
	m.key(field, 0)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) bytes(field int, b []byte) {
	m.key(field, 2)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

func (m *message) text(field int, s string) { m.bytes(field, []byte(s)) }

// The fields and numbers of ONNX's schema that a model here has.
const (
	onnxFloat  = 1
	onnxInt64  = 7
	onnxBool   = 9
	onnxDouble = 11

	onnxAttributeInt  = 2
	onnxAttributeInts = 7
)

// doubles and integers return the TensorProto of an initializer.
func doubles(name string, v []float64, dims ...int) message {
	raw := make([]byte, 0, 8*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
	}
	return tensor(name, onnxDouble, raw, dims)
}

func wholes(name string, v []int64, dims ...int) message {
	raw := make([]byte, 0, 8*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	return tensor(name, onnxInt64, raw, dims)
}

func tensor(name string, kind int64, raw []byte, dims []int) (t message) {
	for _, d := range dims {
		t.number(1, int64(d))
	}
	t.number(2, kind)
	t.text(8, name)
	t.bytes(9, raw)
	return t
}

// port returns the ValueInfoProto of an input or output of float32: N rows, of width numbers where width is above 0.
func port(name string, width int) (v message) {
	var rows, shape, kind, value message
	rows.text(2, "N")
	shape.bytes(1, rows)
	if width > 0 {
		var columns message
		columns.number(1, int64(width))
		shape.bytes(1, columns)
	}
	kind.number(1, onnxFloat)
	kind.bytes(2, shape)
	value.bytes(1, kind)
	v.text(1, name)
	v.bytes(2, value)
	return v
}

// An attribute of a node: one integer, or several.
type attribute struct {
	name string
	one  int64
	many []int64
}

func (a attribute) encode() (m message) {
	m.text(1, a.name)
	if a.many != nil {
		for _, v := range a.many {
			m.number(8, v)
		}
		m.number(20, onnxAttributeInts)
		return m
	}
	m.number(3, a.one)
	m.number(20, onnxAttributeInt)
	return m
}
