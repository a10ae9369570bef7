package main

// normalMachine is what only the kernels of normal forecasts need.
type normalMachine interface {
	// Thirds returns, of three registers of F32 that hold triples, the first numbers of these, the second ones and the third ones.
	Thirds(v [3]V) [3]V
	// DifferTo ors the bits in which a and b differ to acc.
	DifferTo(acc V, a, b any)
}

// third returns which register of triples has column c of row i, and in which lane, where registers have so many lanes.
func third(lanes, c, i int) (register, lane int) { return (3*i + c) / lanes, (3*i + c) % lanes }

// rowAt returns the row whose column c stands in a lane: one of one register only, as 3 has no factor in common with lanes.
func rowAt(lanes, c, lane int) int {
	for i := range lanes {
		if _, l := third(lanes, c, i); l == lane {
			return i
		}
	}
	panic("rowAt: no such lane")
}

// thirdFrom returns which register has the lane that belongs to column c.
func thirdFrom(lanes, c, lane int) int {
	r, _ := third(lanes, c, rowAt(lanes, c, lane))
	return r
}
