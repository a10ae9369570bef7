package main

func (m *amd64) SortMemoryTo(t T, p R, b V) {
	least := m.v()
	byType(t, m.VMINPS, m.VMINPD)(at(p, 0), op(b), least)
	byType(t, m.VMAXPS, m.VMAXPD)(at(p, 0), op(b), op(b))
	m.Store(p, 0, least)
}
