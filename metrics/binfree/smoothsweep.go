package binfree

import (
	"math"
	"slices"
)

// smoothSweep integrates |r| over [0,1] for bins in rising order.
//
// The axis has nodes at a spacing of a power of 2, with 8 to 16 nodes per bandwidth; 0 and 1 are nodes. A residual is
// distributed to the ten nodes around it such that its moments 0 to 9 are preserved: these are Lagrange's weights, which
// interpolate the kernel. r and its first two derivatives at a node are then sums over nearby nodes, and between nodes r is
// the polynomial of degree 5 with these values. Each step has a relative error of at most 1e-9 at 8 nodes per bandwidth.
// Only nodes within reach of a row are evaluated.
type smoothSweep struct {
	last       int64   // node at 1; the first is 0
	perNode    float64 // nodes per unit
	reach      int64   // reach of the kernel in nodes
	g0, g1, g2 []float64
	whole      bool // so few nodes that reflections are reflected again

	cell     int64                // cell of the moments, between node cell and the next; noKey without any
	moments  [smoothNodes]float64 // moments of its residuals about its middle, in units of nodes
	weights  []float64            // weights of nodes, from first on
	first    int64
	next     int64 // next node to evaluate
	begun    bool  // the node before next was evaluated
	at       [3]float64
	mass     float64 // integral of r over the current run of one sign
	positive bool
	negative bool
	integral float64
}

const (
	smoothNodes = 10  // nodes that a residual is distributed to
	smoothLeft  = 4   // how many of them are before the node on its left
	smoothReach = 7.5 // in bandwidths; beyond it is 6e-14 of the kernel
	smoothBlock = 512 // nodes that are evaluated together
)

func newSmoothSweep(sigma float64) *smoothSweep {
	h := math.Min(power(sigma/8), 1.0/16)
	s := &smoothSweep{last: int64(1 / h), perNode: 1 / h, reach: int64(math.Ceil(smoothReach * sigma / h)), cell: noKey}
	s.whole = s.last <= 4*s.reach+4*smoothNodes
	n := s.reach + 1
	s.g0, s.g1, s.g2 = make([]float64, n), make([]float64, n), make([]float64, n)
	step := h / sigma
	for k := range s.g0 {
		x := float64(k) * step
		g := normal(x) * step
		s.g0[k], s.g1[k], s.g2[k] = g, -float64(x*g*step), float64((float64(x*x)-1)*g*step*step)
	}
	return s
}

// sharing holds coefficients of the node weights: for a residual at distance d from the middle between nodes 0 and 1, node i
// - smoothLeft has the weight sum over k of sharing[i][k] d^k.
var sharing = func() (l [smoothNodes][smoothNodes]float64) {
	for i := range l {
		l[i][0] = 1
		for j, degree := 0, 0; j < smoothNodes; j++ {
			if j == i {
				continue
			}
			// Multiply by (d + 1/2 - node j) / (node i - node j).
			c, q := 0.5-float64(j-smoothLeft), float64(i-j)
			degree++
			for k := degree; k >= 0; k-- {
				v := float64(l[i][k] * c)
				if k > 0 {
					v += l[i][k-1]
				}
				l[i][k] = v / q
			}
		}
	}
	return l
}()

// binomial holds binomial coefficients (n over k) for k up to 3.
var binomial = func() (b [smoothNodes][4]float64) {
	for k := range b {
		b[k][0] = 1
		for i := 1; i < 4 && k > 0; i++ {
			b[k][i] = b[k-1][i-1] + b[k-1][i]
		}
	}
	return b
}()

// add adds a bin.
func (s *smoothSweep) add(b *bin) {
	x := float64(b.q * s.perNode)
	cell := int64(x)
	d := x - float64(cell) - 0.5
	if b.upper {
		cell, d = s.last-1-cell, -d
	}
	if cell != s.cell {
		s.move(cell)
	}
	s.mass += b.m0
	s.positive, s.negative = s.positive || b.positive, s.negative || b.negative
	m0, m1 := b.m0, float64(b.m1*s.perNode)
	m2 := float64(b.m2 * s.perNode * s.perNode)
	m3 := b.m3 * s.perNode * s.perNode * s.perNode
	m := &s.moments
	m[0] += m0
	m[1] += m1 + float64(d*m0)
	m[2] += m2 + float64(d*(float64(2*m1)+float64(d*m0)))
	// d^(k-3) times what follows from the four moments of the bin.
	e := 1.0
	for k := 3; k < smoothNodes; k++ {
		c := &binomial[k]
		v := float64(c[3]*m3) + float64(d*(float64(c[2]*m2)+float64(d*(float64(c[1]*m1)+float64(d*m0)))))
		m[k] += float64(e * v)
		e *= d
	}
}

// move starts the next cell.
func (s *smoothSweep) move(cell int64) {
	s.share()
	if s.cell != noKey && !s.whole {
		top := s.cell - smoothLeft + smoothNodes - 1
		switch ready := cell - smoothLeft - 1 - s.reach; {
		case cell-smoothLeft-s.reach > top+s.reach:
			s.finish()
		case ready-s.next >= smoothBlock:
			s.look(ready)
		}
	}
	if s.cell == noKey {
		s.next = max(0, cell-smoothLeft-s.reach)
		if s.whole {
			s.next = 0
		}
		s.first = s.next - s.reach
	}
	s.cell = cell
}

// share distributes the moments to the nodes.
func (s *smoothSweep) share() {
	if s.cell == noKey {
		return
	}
	for i := range sharing {
		v := 0.0
		for k, l := range &sharing[i] {
			v += float64(l * s.moments[k])
		}
		node := s.cell - smoothLeft + int64(i)
		if !s.whole && node > s.reach && node < s.last-s.reach {
			s.extend(node)
			s.weights[node-s.first] += v
			continue
		}
		s.reflect(node, v)
		s.reflect(-node, v)
	}
	s.moments = [smoothNodes]float64{}
}

// reflect adds a weight to a node and to its reflections that are within reach of [0,1].
func (s *smoothSweep) reflect(node int64, v float64) {
	period := 2 * s.last
	for node >= -s.reach+period {
		node -= period
	}
	for node < -s.reach {
		node += period
	}
	for ; node <= s.last+s.reach; node += period {
		s.extend(node)
		s.weights[node-s.first] += v
	}
}

// extend makes room for a node.
func (s *smoothSweep) extend(node int64) {
	if n, have := int(node-s.first)+1, len(s.weights); n > have {
		s.weights = slices.Grow(s.weights, n-have)[:n]
		clear(s.weights[have:])
	}
}

// finish completes the current run; no node behind it is within reach.
func (s *smoothSweep) finish() {
	if s.cell == noKey {
		return
	}
	if !s.begun && s.positive != s.negative {
		s.integral += math.Abs(s.mass) // r has that sign too
	} else {
		s.look(min(s.last, s.cell-smoothLeft+smoothNodes-1+s.reach))
	}
	s.weights = s.weights[:0]
	s.cell, s.begun, s.mass, s.positive, s.negative = noKey, false, 0, false, false
}

// sum returns the integral.
func (s *smoothSweep) sum() float64 {
	s.share()
	s.finish()
	return s.integral
}

// look integrates up to a node, for which all weights within reach must be known.
func (s *smoothSweep) look(to int64) {
	s.extend(to + s.reach)
	r := int(s.reach)
	g0 := s.g0
	g1, g2 := s.g1[:len(g0)], s.g2[:len(g0)]
	for ; s.next <= to; s.next++ {
		c := int(s.next - s.first)
		left, right := s.weights[c-r:c+1], s.weights[c:c+r+1]
		left, right = left[:len(g0)], right[:len(g0)]
		v := [3]float64{float64(g0[0] * right[0]), 0, float64(g2[0] * right[0])}
		v0, v1, v2 := v[0], v[1], v[2]
		for k := 1; k < len(g0); k++ {
			a, b := left[len(g0)-1-k], right[k]
			sum, difference := a+b, a-b
			v0 += float64(g0[k] * sum)
			v1 += float64(g1[k] * difference)
			v2 += float64(g2[k] * sum)
		}
		v = [3]float64{v0, v1, v2}
		if s.begun {
			s.integral += modulus(&s.at, &v)
		}
		s.at, s.begun = v, true
	}
	// Drop weights that are out of reach of the nodes ahead.
	if drop := int(s.next - s.reach - s.first); drop > 2*smoothBlock {
		s.weights = s.weights[:copy(s.weights, s.weights[drop:])]
		s.first += int64(drop)
	}
}

// modulus returns the integral from 0 to 1 of the absolute value of the polynomial of degree 5 with values and first and
// second derivatives a at 0 and b at 1.
func modulus(a, b *[3]float64) float64 {
	// In Bernstein form the polynomial lies between its smallest and largest coefficient, and its integral is their mean.
	return bernstein([6]float64{
		a[0], a[0] + float64(0.2*a[1]), a[0] + float64(0.4*a[1]) + float64(0.05*a[2]),
		b[0] - float64(0.4*b[1]) + float64(0.05*b[2]), b[0] - float64(0.2*b[1]), b[0],
	}, 24)
}

// bernstein returns the integral of the absolute value of a polynomial on [0,1]. If the sign may change, it halves the
// interval by de Casteljau's algorithm, at most this many times.
func bernstein(c [6]float64, halvings int) float64 {
	low, high, sum := c[0], c[0], 0.0
	for _, v := range c {
		low, high = math.Min(low, v), math.Max(high, v)
		sum += v
	}
	if low >= 0 || high <= 0 || halvings == 0 {
		return math.Abs(sum) / 6
	}
	left := c
	for i := 1; i < len(c); i++ {
		for j := len(c) - 1; j >= i; j-- {
			left[j] = (left[j-1] + left[j]) / 2
		}
	}
	// left[i] is the first coefficient of step i; the right half keeps the last coefficient of each step.
	right := c
	for i := len(c) - 1; i > 0; i-- {
		for j := 0; j < i; j++ {
			right[j] = (right[j] + right[j+1]) / 2
		}
	}
	return (bernstein(left, halvings-1) + bernstein(right, halvings-1)) / 2
}
