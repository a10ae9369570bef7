package main

// eventsMachine is what only the kernels of binary scores and labels need.
type eventsMachine interface {
	LoadInts(p R, off int) V // I32 in memory, Width/8 of them, to I64, sign-extended
}
