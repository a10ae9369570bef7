package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func sumOf(p, i R, scale int) operand.Mem {
	return operand.Mem{Base: p.(reg.Register), Index: i.(reg.Register), Scale: uint8(scale)}
}

func (m *amd64) LoadAt(p, i R, scale int) V {
	v := m.v()
	m.VMOVUPS(sumOf(p, i, scale), v)
	return v
}

func (m *amd64) StoreAt(p, i R, scale int, v V) { m.VMOVUPS(op(v), sumOf(p, i, scale)) }

func (m *amd64) LoadGroupAt(v V, g int, p, i R, scale int) V {
	d, from := m.v(), sumOf(p, i, scale)
	switch {
	case g == 0 && m.wide():
		m.VBROADCASTF32X4(from, d)
	case g == 0:
		m.VBROADCASTF128(from, d)
	case m.wide():
		m.VINSERTF32X4(operand.U8(g), from, op(v), d)
	default:
		m.VINSERTF128(operand.U8(g), from, op(v), d)
	}
	return d
}

func (m *amd64) StoreGroup(p R, off int, v V, g int) {
	switch {
	case g == 0:
		m.VMOVUPS(v.(reg.Vec).AsX(), at(p, off))
	case m.wide():
		m.VEXTRACTF32X4(operand.U8(g), op(v), at(p, off))
	default:
		m.VEXTRACTF128(operand.U8(g), op(v), at(p, off))
	}
}
