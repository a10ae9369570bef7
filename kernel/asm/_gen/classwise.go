package main

import "math"

// Class-wise sums: the Go definitions are in kernel/classwise.go.

func classwise(m Machine) {
	for _, s := range []Source{FromF32, FromF64} {
		classSums(m, s, rare, false)
		classSums(m, s, rare, true)
		classSums(m, s, frequent, true)
	}
}

// How often elements are listed. Of rare ones the CPU foresees that a register has none; frequent ones are listed without
// a jump, which it would not foresee.
const (
	rare = iota
	frequent
)

// The words of the limits that ClassSums is given; kernel/classwise.go declares the same.
const (
	limitMagics = 0
	limitBeyond = 8
	limitLeast  = 16
	limitWidth  = 24
	limitStride = 32
	limitJump   = 40
)

// columnsOf is what sums the columns of a matrix.
type columnsOf struct {
	kernel
	s                    Source
	above, rare          bool
	wide                 int // registers of columns that are summed together
	beyond, least, width V
	step                 V // from a row to the next
	three, one           any
	n, p, pp, x, stride  R
	jump                 R
	to                   R
}

func classSums(m Machine, s Source, often int, above bool) {
	c := columnsOf{kernel: kernelOf(m, s.T()), s: s, above: above, rare: often == rare, wide: 1}
	name, doc := "ClassSums"+s.String(), "below the limit beyond"
	if above {
		name, doc = "ClassSumsAbove"+s.String(), "from the limit least on, and below beyond,"
	}
	if often == frequent {
		name = "ClassSumsFrequent" + s.String()
	}
	m.Func(name, name+` adds, for each of k >= 16 columns of a matrix of rows > 0 that starts at element from of x, to n the number of elements whose bits are `+doc+`
		and to p and pp the sums of them and of their squares in units of 2**-51. It lists the places in x of those whose bits
		are not below beyond, and returns their number. The words at limits are the bits of 3 as often as there are rows,
		beyond, least, beyond-least, stride, and how many bytes further on memory is fetched; 64 bytes beyond what is listed may be written.`,
		[]Arg{{"n", "*int64"}, {"p", "*int64"}, {"pp", "*int64"}, {"list", "*uint32"}, {"x", s.elementType()}, {"from", "int"},
			{"rows", "int"}, {"k", "int"}, {"stride", "int"}, {"limits", "*uint64"}}, []Arg{{"listed", "int"}})
	i := c.t.Int()
	limits := m.Arg("limits")
	c.beyond = m.Unsigned(i, m.Broadcast(c.t, limits, limitBeyond))
	if above {
		c.least = m.Broadcast(c.t, limits, limitLeast)
		c.width = m.Unsigned(i, m.Broadcast(c.t, limits, limitWidth))
	}
	if !c.rare {
		c.step = m.Broadcast(I32, limits, limitStride)
	}
	c.three, c.one = m.Pin(m.Const(F64, math.Float64bits(3))), m.Pin(m.Const(i, 1))
	c.n, c.p, c.pp, c.to = m.Arg("n"), m.Arg("p"), m.Arg("pp"), m.Arg("list")
	c.x, c.stride = m.Arg("from"), m.Arg("stride")
	m.ShlR(c.x, log2(s.Bytes()))
	m.AddR(c.x, m.Arg("x"))
	m.ShlR(c.stride, log2(s.Bytes()))
	c.jump = m.LoadR(limits, limitJump, 8)
	left := m.Arg("k")
	next := func(name, otherwise string) {
		columns := c.wide * lanes(m, c.t)
		m.If(left, LT, columns, otherwise)
		m.Label(name)
		c.columns(name+"_rows", nil)
		m.AddR(c.x, c.wide*m.Width())
		for _, r := range []R{c.n, c.p, c.pp} {
			m.AddR(r, 8*columns)
		}
		m.SubR(left, columns)
		m.If(left, GE, columns, name)
		m.Label(otherwise)
	}
	if m.Level() == "avx512" {
		c.wide = 2
		next("pairs", "few")
		c.wide = 1
	}
	next("columns", "rest")
	m.If(left, EQ, 0, "done")
	// The last ones, with some that have been.
	m.SubR(left, lanes(m, c.t))
	for _, r := range []R{c.n, c.p, c.pp, c.x} {
		back := m.CopyR(left)
		if r == c.x {
			m.ShlR(back, log2(s.Bytes()))
		} else {
			m.ShlR(back, 3)
		}
		m.AddR(r, back)
	}
	been := m.GP(0)
	m.SubR(been, left)
	c.columns("last", m.FirstLanes(c.t, been)[:c.wide])
	m.Label("done")
	listed := m.CopyR(c.to)
	m.SubR(listed, m.Arg("list"))
	m.ShrR(listed, 2)
	m.Result("listed", listed)
	m.Return()
}

// columns emits the sums of some columns, but for the lanes of been.
func (c columnsOf) columns(name string, been []M) {
	i := c.t.Int()
	halves := 8 / c.t.Bytes() // registers of F64 for one of t
	var sums, squares []V
	count := make([]V, c.wide)
	var others []M
	for u := range c.wide {
		count[u] = c.Zero()
		if been != nil {
			others = append(others, c.NotM(been[u]))
		}
		for h := range halves {
			off := (u*halves + h) * c.Width()
			sums = append(sums, c.Load(c.p, off))
			squares = append(squares, c.Load(c.pp, off))
		}
	}
	at, left := c.CopyR(c.x), c.Arg("rows")
	place := func(u int) V { // of the elements at at
		first := c.CopyR(at)
		c.SubR(first, c.Arg("x"))
		c.ShrR(first, log2(c.s.Bytes()))
		c.AddR(first, u*lanes(c.Machine, c.t))
		return c.Numbered(first)
	}
	var places []V
	for u := range c.wide {
		if !c.rare {
			places = append(places, place(u))
		}
	}
	c.Label(name)
	for u := range c.wide {
		off := u * c.Width()
		x := c.Load(at, off)
		if been == nil {
			c.PrefetchBeyond(at, off, c.jump)
		}
		bits := c.Unsigned(i, x)
		inside := c.Below(i, bits, c.beyond)
		keep := inside
		if c.above {
			keep = c.Below(i, c.Sub(i, bits, c.least), c.width)
		}
		if been != nil {
			keep = c.AndM(keep, others[u])
			inside = c.OrM(inside, been[u])
		}
		c.CountTo(i, count[u], keep, c.one)
		for h, v := range c.LoadKept(c.t, at, off, x, keep) {
			c.AddTo(I64, sums[u*halves+h], c.Add(F64, v, c.three))
			if c.t == F32 { // the product is exact
				c.HornerTo(F64, v, v, c.three)
			} else {
				v = c.Add(F64, c.Mul(F64, v, v), c.three)
			}
			c.AddTo(I64, squares[u*halves+h], v)
		}
		if c.rare {
			next := name + string(rune('a'+u))
			c.All(inside, next)
			c.List(c.t, c.to, place(u), c.NotM(inside))
			c.Label(next)
		} else {
			c.List(c.t, c.to, places[u], c.NotM(inside))
			c.AddTo(I32, places[u], c.step)
		}
	}
	c.AddR(at, c.stride)
	c.SubR(left, 1)
	c.If(left, GT, 0, name)

	magics := c.Broadcast(I64, c.Arg("limits"), limitMagics)
	for u := range c.wide {
		counts := []V{count[u]}
		if c.t == F32 {
			counts = []V{c.LowInt(count[u]), c.HighInt(count[u])}
		}
		for h := range halves {
			j := u*halves + h
			off := j * c.Width()
			c.Store(c.p, off, c.Sub(I64, sums[j], magics))
			c.Store(c.pp, off, c.Sub(I64, squares[j], magics))
			c.Store(c.n, off, c.Add(I64, counts[h], c.Load(c.n, off)))
		}
	}
}
