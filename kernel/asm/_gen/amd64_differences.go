package main

import "github.com/mmcloughlin/avo/operand"

// OrAndTo is one instruction of AVX-512, by the table of a | (b & c).
func (m *amd64) OrAndTo(acc, a V, b any) {
	if m.wide() {
		m.VPTERNLOGQ(operand.U8(0xf8), op(b), op(a), op(acc))
		return
	}
	m.VPOR(op(m.And(a, b)), op(acc), op(acc))
}

func (m *amd64) MulInt(a, b any) V { return m.either(m.VPMULLD, a, b) }
