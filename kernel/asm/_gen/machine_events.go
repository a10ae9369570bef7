package main

// eventsMachine is what only the kernels of binary scores and labels need.
type eventsMachine interface {
	LoadInts(p R, off int) V // I32 in memory, Width/8 of them, to I64, sign-extended
	FloorTo(a, b, magic V) V // of F32: 2^23, which is magic, and the largest whole number that is not above a*b, where that is in [0, 2^22)
	// CountedCells returns what adds lane l of two registers of 64 bits and the 16 bytes of one, which has the same ones throughout, to 32 bytes.
	CountedCells(one V) func(a, b V, place func(l int) (R, int))
	XorM(a, b M) M
	StoreWords(p R, off int, v V) // as Store, for words that are loaded soon
}
