package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (m *amd64) LowWords(a, b V) V  { return m.wordsOf(a, b, 0) }
func (m *amd64) HighWords(a, b V) V { return m.wordsOf(a, b, 1) }

func (m *amd64) wordsOf(a, b V, upper int) V {
	if m.wide() {
		d := m.Copy(a)
		index := m.Table(fmt.Sprintf("words%d_", upper), I32, func(i int) uint64 { return uint64(2*i + upper) })
		m.VPERMT2D(op(b), m.reg(index), op(d))
		return d
	}
	d := m.v()
	m.VSHUFPS(operand.U8(0x88+0x55*upper), op(b), op(a), d)
	return m.ordered(d)
}

// ordered swaps the middle ones of four times 8 bytes.
func (m *amd64) ordered(v reg.Register) V {
	d := m.v()
	m.VPERMQ(operand.U8(0xd8), v, d)
	return d
}

func (m *amd64) PackM(a, b M) M {
	d := m.newMask(I32)
	if m.wide() {
		m.KUNPCKBW(a.(mask).r, b.(mask).r, d.r)
		return d
	}
	return mask{I32, m.wordsOf(a.(mask).r, b.(mask).r, 0).(reg.Register)}
}

func (m *amd64) UnpackM(k M) [2]M {
	q := k.(mask).r
	if m.wide() {
		upper := m.newMask(I64)
		m.KSHIFTRW(operand.U8(8), q, upper.r)
		return [2]M{mask{I64, q}, upper}
	}
	return [2]M{mask{I64, m.LowInt(q).(reg.Register)}, mask{I64, m.HighInt(q).(reg.Register)}}
}

func (m *amd64) MinInt(a, b any) V { return m.either(m.VPMINSD, a, b) }

func (m *amd64) LoadBits(p R, off, bit int) V {
	return m.And(m.Shl(I32, m.LoadBytes(I32, p, off), bit), m.Pin(m.Const(I32, 1<<bit)))
}

func (m *amd64) Records(room, base R) func(to V, v [2][4]V) {
	each := m.cells()
	return func(to V, v [2][4]V) {
		m.storeHalves(room, to)
		for h := range v {
			each(v[h], func(l int, cell reg.Register) {
				place := at(base, 0)
				place.Index, place.Scale = m.LoadR(room, 4*(l+h*m.width/8), 4).(reg.Register), 1
				m.addCell(place, cell)
			})
		}
	}
}

func (m *amd64) Pairs(room, base R) func(to V, v [2][2]V, seen V) {
	return func(to V, v [2][2]V, seen V) {
		m.storeHalves(room, to)
		for h := range v {
			for odd, zip := range []func(T, V, V) V{m.ZipLow, m.ZipHigh} {
				pairs := zip(F64, v[h][0], v[h][1])
				for q := range m.width / 16 {
					place := at(base, 0)
					place.Index, place.Scale = m.LoadR(room, 4*(2*q+odd+h*m.width/8), 4).(reg.Register), 1
					sum := m.XMM()
					m.VPADDQ(place, m.sixteen(pairs, q), sum)
					m.VMOVUPS(sum, place)
					if seen == nil {
						continue
					}
					all := seen.(reg.Vec).AsX()
					if m.wide() {
						m.VPORQ(sum, all, all)
					} else {
						m.VPOR(sum, all, all)
					}
				}
			}
		}
	}
}

// sixteen returns the q-th 16 bytes of a register.
func (m *amd64) sixteen(v V, q int) reg.Register {
	switch d := m.XMM(); {
	case q == 0:
		return v.(reg.Vec).AsX()
	case m.wide():
		m.VEXTRACTF64X2(operand.U8(q), op(v), d)
		return d
	default:
		m.VEXTRACTF128(operand.U8(q), op(v), d)
		return d
	}
}
