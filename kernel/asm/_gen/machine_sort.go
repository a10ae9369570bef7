package main

// sorter is what only the sort of rows needs. Its lanes are I32.
type sorter interface {
	// SortTo makes b the larger of the lanes and returns the smaller. a is used up.
	SortTo(a, b V) V
	// SortMemory is SortTo where a stands in memory, to which the smaller go.
	SortMemory(p R, b V)
	// TurnNegative returns what emits v, but 1<<31 - v where it is negative: so float32 become integers in the same order, of
	// which -0 is 0, and these become float32 again. v is used up.
	TurnNegative() func(v V) V

	LoadAt(p, i R, scale int) V // from p + i*scale, where scale is 1, 2, 4 or 8
	StoreAt(p, i R, scale int, v V)
	LoadGroupAt(v V, g int, p, i R, scale int) V // LoadGroup from p + i*scale
	StoreGroup(p R, off int, v V, g int)         // the g-th 16 bytes of v
}
