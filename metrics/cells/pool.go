package cells

import "math"

// Block is a run of neighbouring cells with one fitted frequency, Y/N.
type Block struct {
	Low, High float64 // scores of its first and of its last cell
	N, Y      float64 // weight of its rows, and of its rows with the event
}

// Pool is the isotonic fit of the cells added so far: frequencies that rise with the score, by pooling adjacent violators. The zero value
// is empty.
type Pool struct {
	blocks []Block // with spare room behind them
	n      int
}

// Add adds a cell with scores above all earlier ones; its n must be above 0.
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

// Joins reports whether a cell of n rows with y events that comes next is pooled with b whatever follows: its frequency is not above. Cells with whole
// numbers of rows may be added to b, in any order, before b is added to a Pool; n = 0 always may.
func (b *Block) Joins(n, y float64) bool { return !below(b.N, b.Y, n, y) }

// below reports whether the frequency y/n is below v/m. If the rounded products are equal, their rounding errors decide.
func below(n, y, m, v float64) bool {
	a, b := float64(y*m), float64(v*n)
	return a < b || a == b && a != 0 && math.FMA(y, m, -a) < math.FMA(v, n, -b)
}

// Blocks returns the fit: blocks in rising order of scores, with strictly rising frequencies. The slice is valid until the
// next Add or Reset.
func (p *Pool) Blocks() []Block { return p.blocks[:p.n] }

// Reset empties the pool and keeps its memory.
func (p *Pool) Reset() { p.n = 0 }
