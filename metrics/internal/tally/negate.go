package tally

import (
	"math/bits"

	"github.com/candor-go/candor/internal/exact"
)

// The methods here turn sums into their negatives, so that a merge takes rows out. Numbers of rows are then below 0.

// Negate negates the number of rows and the sums of their weights.
func (w *Weight) Negate() {
	w.N = -w.N
	w.W.Negate()
	w.W2.Negate()
}

// Negate negates the sums.
func (m *Mean) Negate() {
	m.S1.Negate()
	m.S2.Negate()
	m.Over = -m.Over
}

// Negate negates the sums.
func (c *Cell) Negate() {
	c.N = -c.N
	for _, s := range c.Sums(c) {
		s[0].Negate()
	}
}

// Sums returns each sum of c, with that of o.
func (c *Cell) Sums(o *Cell) [6][2]*exact.Sum {
	return [...][2]*exact.Sum{{&c.W, &o.W}, {&c.W2, &o.W2}, {&c.Y, &o.Y}, {&c.P, &o.P}, {&c.PP, &o.PP}, {&c.PY, &o.PY}}
}

// Negate negates the sums.
func (s *Squares) Negate() {
	for i := range s.sums {
		s.sums[i].Negate()
	}
}

// Negate negates the sums.
func (m *UnitMean) Negate() {
	m.Sum.Negate()
	m.Squares.Negate()
	m.Infinite = -m.Infinite
}

// Negate negates the sums.
func (m *MeanSquare) Negate() {
	m.Squares.Negate()
	m.Fourth.Negate()
	m.Infinite = -m.Infinite
}

// Negate makes w the number that, added to what w was, gives 0 in 128 bits.
func (w *Wide) Negate() {
	was := *w
	*w = Wide{}
	w.Sub(was)
}

// Sub subtracts v, in 128 bits. It reports whether v was at most w.
func (w *Wide) Sub(v Wide) bool {
	var borrow uint64
	w.Lo, borrow = bits.Sub64(w.Lo, v.Lo, 0)
	w.Hi, borrow = bits.Sub64(w.Hi, v.Hi, borrow)
	return borrow == 0
}
