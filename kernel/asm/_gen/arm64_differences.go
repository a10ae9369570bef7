package main

func (m *neonMachine) OrAndTo(acc, a V, b any) { m.Move(acc, m.Or(acc, m.And(a, b))) }

func (m *neonMachine) MulInt(a, b any) V { return m.do("mul", "4s", a, b) }
