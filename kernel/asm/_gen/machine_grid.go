package main

// gridMachine is what only the kernel of the grid needs.
type gridMachine interface {
	LowWords(a, b V) V  // the low halves of the I64 lanes of a and then b, as I32
	HighWords(a, b V) V // the high ones
	PackM(a, b M) M     // the truths of 64-bit lanes of a and then b, as those of I32
	UnpackM(k M) [2]M   // those of I32 lanes as the truths of 64-bit lanes
	MinInt(a, b any) V  // I32
	// LoadBits returns the lowest bit of bytes in memory, which becomes the given bit of I32.
	LoadBits(p R, off, bit int) V

	// Records returns what emits: for each lane l of 64 bits of two times four registers, those lanes of the four are added, I64,
	// to the 32 bytes at base + lane l of to, I32, not negative. room is 64 bytes of scratch.
	Records(room, base R) func(to V, v [2][4]V)
	// Pairs is Records for two registers and 16 bytes at each place. If seen is not nil, its first 16 bytes become all bits that these or
	// what the places have afterwards have.
	Pairs(room, base R) func(to V, v [2][2]V, seen V)
}
