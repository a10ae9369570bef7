package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// SortTo at 64 bytes makes the larger of a, b and the smaller: integers have min and max on one of the two ports there,
// exclusive or on both.
func (m *amd64) SortTo(a, b V) V {
	least := m.v()
	m.VPMINSD(op(a), op(b), least)
	if m.wide() {
		m.VPTERNLOGD(operand.U8(0x96), op(a), least, op(b))
	} else {
		m.VPMAXSD(op(a), op(b), op(b))
	}
	return least
}

func (m *amd64) SortMemory(p R, b V) {
	least := m.v()
	m.VPMINSD(at(p, 0), op(b), least)
	if m.wide() {
		m.VPTERNLOGD(operand.U8(0x96), at(p, 0), least, op(b))
	} else {
		m.VPMAXSD(at(p, 0), op(b), op(b))
	}
	m.Store(p, 0, least)
}

func (m *amd64) TurnNegative() func(v V) V {
	if !m.wide() {
		low := m.Const(I32, 1<<31-1)
		return func(v V) V {
			d := m.v()
			m.VPSIGND(op(v), op(m.And(v, low)), d)
			return d
		}
	}
	top := m.Copy(m.Const(I32, 1<<31))
	return func(v V) V {
		k := m.K()
		m.VPMOVD2M(op(v), k)
		m.VPSUBD(op(v), op(top), k, op(v))
		return v
	}
}

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
