package main

func (m *neonMachine) OrAndTo(acc, a V, b any) { m.Move(acc, m.Or(acc, m.And(a, b))) }
