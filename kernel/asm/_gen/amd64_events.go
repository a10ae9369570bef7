package main

import "github.com/mmcloughlin/avo/reg"

func (m *amd64) LoadInts(p R, off int) V {
	v := m.v()
	m.VPMOVSXDQ(at(p, off), v)
	return v
}

func (m *amd64) FloorTo(a, b, magic V) V {
	if !m.wide() {
		return floorTo(m, a, b, magic)
	}
	d := m.Copy(magic)
	m.VFMADD231PS_RZ_SAE(op(b), op(a), op(d))
	return d
}

func (m *amd64) CountedCells(one V) func(a, b V, place func(l int) (R, int)) {
	each := m.cells()
	return func(a, b V, place func(l int) (R, int)) {
		each([4]V{a, b, one, nil}, func(l int, cell reg.Register) {
			p, off := place(l)
			m.addCell(at(p, off), cell)
		})
	}
}

func (m *amd64) StoreWords(p R, off int, v V) {
	if !m.wide() {
		m.Store(p, off, v)
		return
	}
	m.VMOVUPS(m.half(v), at(p, off))
	m.VMOVUPS(m.upper(v), at(p, off+32))
}

func (m *amd64) XorM(a, b M) M {
	x, y := a.(mask), b.(mask)
	d := m.newMask(x.t)
	if m.wide() {
		m.KXORW(x.r, y.r, d.r)
	} else {
		m.VPXOR(x.r, y.r, d.r)
	}
	return d
}
