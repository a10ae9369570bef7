package main

func (m *neonMachine) SortMemoryTo(T, R, V) { panic("SortMemoryTo: there are enough registers") }
