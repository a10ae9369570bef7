package main

// orderer has the operations that a Machine needs to sort keys. Lanes are unsigned integers: t is I32 or I64.
type orderer interface {
	// Sifter returns what tells the lanes of a register that are at most last from the others: low has the first in their
	// order from lane 0 on, high the others, and behind them either has lanes of no meaning; n is the number of the first.
	Sifter(t T, last R) func(v V) (low, high V, n R)

	// Exchanger returns what compares: pair gives the smaller and the larger of two registers lane by lane, which it uses up; side gives the
	// larger in those lanes whose number has the given bit, the smaller in the others, and apart the others as well; flip gives lane l what lane l^mask
	// has, for a mask of up to all bits of l. Lanes go through raise before and after, which some levels need.
	Exchanger(t T) exchanger

	// KeyCount returns n as LoadKeys and StoreKeys take it.
	KeyCount(t T, n R) any
	// LoadKeys loads register r of n keys; lanes beyond n are all ones. n is at least 16 bytes' worth, or there is as much
	// before p.
	LoadKeys(t T, p R, n any, r int) V
	// StoreKeys stores register r of n keys and nothing beyond them. n may be 0.
	StoreKeys(t T, p R, n any, r int, v V)

	LoadBytes(t T, p R, off int) V // as integers, zero-extended

	AddScaled(dst, r R, scale int) // dst += r*scale, scale 4 or 8
	NegR(r R)
}

type exchanger struct {
	raise func(v V) V
	pair  func(a, b V) (lo, hi V)
	side  func(a, b V, bit int) V
	apart func(a, b V, bit int) (V, V) // side, and what it leaves; nil where that saves nothing
	flip  func(v V, mask int) V
}
