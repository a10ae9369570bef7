package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// Thirds takes two of the registers at once where that is one instruction; else it first gathers a column, out of order.
func (m *amd64) Thirds(v [3]V) (out [3]V) {
	n := m.width / 4
	for c := range out {
		if m.wide() {
			first := m.Pin(m.Table(fmt.Sprintf("thirds%d_", c), I32, func(i int) uint64 {
				r, l := third(n, c, i)
				return uint64(min(r, 1)*n + l)
			}))
			second := m.Pin(m.Table(fmt.Sprintf("last%d_", c), I32, func(i int) uint64 {
				if r, l := third(n, c, i); r == 2 {
					return uint64(n + l)
				}
				return uint64(i)
			}))
			d := m.Copy(v[0])
			m.VPERMT2PS(op(v[1]), op(first), op(d))
			m.VPERMT2PS(op(v[2]), op(second), op(d))
			out[c] = d
			continue
		}
		imm := [3]uint8{}
		for l := range n {
			imm[thirdFrom(n, c, l)] |= 1 << l
		}
		a, b, d := m.v(), m.v(), m.v()
		m.VBLENDPS(operand.U8(imm[1]), op(v[1]), op(v[0]), a)
		m.VBLENDPS(operand.U8(imm[2]), op(v[2]), a, b)
		order := m.Table(fmt.Sprintf("thirds%d_", c), I32, func(i int) uint64 {
			_, l := third(n, c, i)
			return uint64(l)
		})
		m.VPERMPS(b, m.reg(order), d)
		out[c] = d
	}
	return out
}

// DifferTo is one instruction of AVX-512, by the table of a | (b ^ c).
func (m *amd64) DifferTo(acc V, a, b any) {
	if m.wide() {
		m.VPTERNLOGQ(operand.U8(0xf6), op(b), op(a), op(acc))
		return
	}
	m.VPOR(op(m.Xor(a, b)), op(acc), op(acc))
}
