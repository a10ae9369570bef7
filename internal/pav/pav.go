// Package pav fits frequencies that rise with the score, by pooling adjacent violators.
package pav

import "math"

// Block is neighbouring cells with one fitted frequency, Y/N.
type Block struct {
	Low, High float64 // scores of its first cell and of its last one
	N, Y      float64 // weight of its rows, and of those with the event
}

// Pool is the fit of the cells added so far. The zero value is empty.
type Pool struct {
	blocks []Block // with room behind them
	n      int
}

// Add adds a cell whose scores are above all that came before. Cells without weight are no cells: n is above 0.
func (p *Pool) Add(b Block) {
	s, i := p.blocks, p.n
	for i--; uint(i) < uint(len(s)); i-- {
		last := &s[i]
		if below(last.N, last.Y, b.N, b.Y) {
			break
		}
		b.Low = last.Low
		b.N += last.N
		b.Y += last.Y
	}
	i++
	if i == len(s) {
		s = append(s, b)
		s = s[:cap(s)]
		p.blocks = s
	}
	s[i] = b
	p.n = i + 1
}

// below tells whether the frequency y/n is below v/m: of products that round to the same, the errors decide.
func below(n, y, m, v float64) bool {
	a, b := float64(y*m), float64(v*n)
	return a < b || a == b && a != 0 && math.FMA(y, m, -a) < math.FMA(v, n, -b)
}

// Blocks returns the fit: blocks in rising order of scores, whose frequencies rise strictly. It is the pool's own, until the next
// Add or Reset.
func (p *Pool) Blocks() []Block { return p.blocks[:p.n] }

// Reset empties the pool and keeps its memory.
func (p *Pool) Reset() { p.n = 0 }
