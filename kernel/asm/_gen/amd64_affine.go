package main

func (m *amd64) BroadcastAt(t T, p, i R, scale int) V {
	v := m.v()
	byType(t, m.VBROADCASTSS, m.VBROADCASTSD)(sumOf(p, i, scale), v)
	return v
}
