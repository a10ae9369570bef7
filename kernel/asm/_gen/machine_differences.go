package main

// differencesMachine is what only the kernels of differences need.
type differencesMachine interface {
	OrAndTo(acc, a V, b any) // acc |= a & b
	MulInt(a, b any) V       // I32, low halves
}
