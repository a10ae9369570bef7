package main

// samplesMachine is what only the kernel of rows of samples needs.
type samplesMachine interface {
	// SortMemoryTo makes b the larger of the lanes, of which the smaller go to where the others stand in memory. Lanes of NaN are
	// of no meaning.
	SortMemoryTo(t T, p R, b V)
}
