package main

func (m *neonMachine) BroadcastAt(t T, p, i R, scale int) V {
	return m.Broadcast(t, m.sum(p, i, scale), 0)
}
