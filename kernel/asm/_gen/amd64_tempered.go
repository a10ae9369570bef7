package main

import "github.com/mmcloughlin/avo/operand"

// Sixteenths looks all up at once where two registers can be a table, else the halves of the bits in tables of eight.
func (m *amd64) Sixteenths() func(t V) V {
	if m.wide() {
		low := m.Pin(m.Table("sixteenths0_", I64, sixteenths))
		high := m.Pin(m.Table("sixteenths8_", I64, func(i int) uint64 { return sixteenths(8 + i) }))
		return func(t V) V {
			exponent := m.Shl(I64, t, 48)
			m.VPERMI2PD(op(high), op(low), op(t))
			return m.Add(I64, t, exponent)
		}
	}
	part := func(name string, first, shift int) operand.Op {
		return op(m.Table(name, I32, func(i int) uint64 { return sixteenths(first+i) >> shift & 0xffffffff }))
	}
	tables := [2][2]operand.Op{{part("sixteenths0l_", 0, 0), part("sixteenths0h_", 0, 32)},
		{part("sixteenths8l_", 8, 0), part("sixteenths8h_", 8, 32)}}
	return func(t V) V {
		index, second := m.v(), m.v()
		m.VPSHUFD(operand.U8(0xa0), op(t), index)
		m.VPSLLD(operand.U8(28), index, second) // bit 3 is the sign then
		var half [2]V
		for i, table := range tables {
			low, high, both := m.v(), m.v(), m.v()
			m.VPERMD(table[0], index, low)
			m.VPERMD(table[1], index, high)
			m.VPBLENDD(operand.U8(0xaa), high, low, both)
			half[i] = both
		}
		d := m.v()
		m.VBLENDVPS(second, op(half[1]), op(half[0]), d)
		return m.Add(I64, d, m.Shl(I64, t, 48))
	}
}

func (m *amd64) MinWhere(t T, k M, v V, b any) V {
	if m.wide() {
		byType(t, m.VMINPS, m.VMINPD)(op(b), op(v), k.(mask).r, op(v))
		return v
	}
	return m.Blend(k, m.Min(t, v, b), v)
}
