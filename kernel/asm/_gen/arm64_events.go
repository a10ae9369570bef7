package main

func (m *neonMachine) LoadInts(p R, off int) V {
	v := m.f.Vector()
	m.load(8, v, p, off)
	return m.LowInt(v)
}

func (m *neonMachine) FloorTo(a, b, magic V) V { return floorTo(m, a, b, magic) }

func (m *neonMachine) CountedCells(one V) func(a, b V, place func(l int) (R, int)) {
	return func(a, b V, place func(l int) (R, int)) {
		for l, pair := range []V{m.ZipLow(F64, a, b), m.ZipHigh(F64, a, b)} {
			p, off := place(l)
			m.Store(p, off, m.Add(I64, m.Load(p, off), pair))
			m.Store(p, off+16, m.Add(I64, m.Load(p, off+16), one))
		}
	}
}

func (m *neonMachine) StoreWords(p R, off int, v V) { m.Store(p, off, v) }

func (m *neonMachine) XorM(a, b M) M { return m.Xor(a, b) }
