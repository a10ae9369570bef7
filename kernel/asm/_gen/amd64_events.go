package main

func (m *amd64) LoadInts(p R, off int) V {
	v := m.v()
	m.VPMOVSXDQ(at(p, off), v)
	return v
}
