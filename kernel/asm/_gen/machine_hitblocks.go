package main

// hitBlocksMachine is what only the kernel of blocks of sorted keys needs.
type hitBlocksMachine interface {
	// HitScores returns what gives the scores of a register of keys of float32, as F64, in an order of the level's own, where one
	// below 2**-125 may be another such number; which of those have the outcome 1, for AddWhere of numbers whose lower halves are 0;
	// and which of the keys have it, in their order. A key is that of a score in [0,1].
	HitScores() func(key V) (p [2]V, hit [2]M, hits M)

	// Bits returns what takes truths of I32 lanes, one register after another, and with the last of 64 lanes returns all as bits,
	// before that nil.
	Bits() func(k M) R
	OnesR(r R) R // the number of bits that are 1

	StoreSums(p R, off int, a, b V) // the sum of the I64 lanes of a, and that of b
}
