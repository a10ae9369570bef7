package main

func (m *neonMachine) LoadInts(p R, off int) V {
	v := m.f.Vector()
	m.load(8, v, p, off)
	return m.LowInt(v)
}
