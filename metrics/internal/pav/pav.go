// Package pav fits frequencies that rise with the score, by pooling adjacent violators.
package pav

import "math"

// Block is neighbouring cells with one fitted frequency, Y/N.
type Block struct {
	Low, High float64 // scores of its first cell and of its last one
	N, Y      float64 // weight of its rows, and of those with the event
}

// Pool is the fit of the cells added so far. The zero value is empty.
type Pool struct{ blocks []Block }

// Add adds a cell whose scores are above all that came before. Cells without weight are no cells: n is above 0.
func (p *Pool) Add(b Block) {
	s := p.blocks
	for len(s) > 0 && !below(&s[len(s)-1], &b) {
		last := &s[len(s)-1]
		b.Low, b.N, b.Y = last.Low, b.N+last.N, b.Y+last.Y
		s = s[:len(s)-1]
	}
	p.blocks = append(s, b)
}

// below tells whether the frequency of a is below that of b: of products that round to the same, the errors decide.
func below(a, b *Block) bool {
	x, y := float64(a.Y*b.N), float64(b.Y*a.N)
	if x != y {
		return x < y
	}
	return math.FMA(a.Y, b.N, -x) < math.FMA(b.Y, a.N, -y)
}

// Blocks returns the fit: blocks in rising order of scores, whose frequencies rise strictly. It is the pool's own, until the next
// Add or Reset.
func (p *Pool) Blocks() []Block { return p.blocks }

// Reset empties the pool and keeps its memory.
func (p *Pool) Reset() { p.blocks = p.blocks[:0] }

// Entropy returns sum N g(Y/N) over the blocks, g(c) = c(1-c): what is left of the squared error by the fit.
func (p *Pool) Entropy() float64 {
	s := 0.0
	for _, b := range p.blocks {
		s += float64(b.Y * ((b.N - b.Y) / b.N))
	}
	return s
}
