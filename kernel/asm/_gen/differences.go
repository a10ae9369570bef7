package main

import (
	"fmt"
	"math"
)

// What two models' columns are compared by: the Go definitions are in kernel/differences.go and kernel/coarsegrid.go.
func differences(m Machine) {
	c := columnKernel{kernelOf(m, F64)}
	c.differences()
	c.powerSums()
	c.differenceSums("DifferenceSums", false)
	c.differenceSums("DifferenceSumsEvents", true)
	c.coarsePlaces()
	c.jointPlaces()
}

func (c columnKernel) differences() {
	c.Func("Differences", `Differences writes to dst b - a of n elements, a multiple of 32 that is not 0, and to to the largest magnitude of
		these, NaN if one is not finite.`,
		[]Arg{{"to", "*float64"}, {"dst", "*float64"}, {"a", "*float64"}, {"b", "*float64"}, {"n", "int"}}, nil)
	to, dst, a, b, n := c.Arg("to"), c.Arg("dst"), c.Arg("a"), c.Arg("b"), c.Arg("n")
	abs, most := c.Pin(c.konst(c.absMask)), []V{c.Zero(), c.Zero()}
	zero, probes := c.Zero(), []V{c.Zero(), c.Zero()}
	c.rows(n, func(u int) {
		x := c.Sub(F64, c.at(b, u), c.at(a, u))
		c.Store(dst, u*c.Width(), x)
		c.FMATo(F64, probes[u%2], x, zero)
		c.Move(most[u%2], c.Max(F64, c.And(x, abs), most[u%2]))
	}, walker{dst, 8}, walker{a, 8}, walker{b, 8})
	probe := c.butterfly(F64, probes, func(a, b V) V { return c.Add(F64, a, b) })
	top := c.butterfly(F64, most, func(a, b V) V { return c.Max(F64, a, b) })
	c.StoreLane(F64, to, 0, c.Add(F64, top, probe))
	c.Return()
}

// powerMagic are kernel.powerMagic, by power.
var powerMagic = [3][]float64{{0x1.8p2, 0x1.8p-49}, {0x1.8p3, 0x1.8p-48}, {0x1.8p5, 0x1.8p-46, 0x1.8p-97}}

func (c columnKernel) powerSums() {
	c.Func("PowerSums", `PowerSums writes to to, for n values, a multiple of 32 that is not 0, the number of those that are at least
		2^-24 when scaled, and the sums of the bits that adding the magics to the scaled values, their squares and the squares of these
		gives. A value below is as 0.`,
		[]Arg{{"to", "*uint64"}, {"v", "*float64"}, {"n", "int"}, {"scale", "*float64"}}, nil)
	to, v, n := c.Arg("to"), c.Arg("v"), c.Arg("n")
	scale := c.Broadcast(F64, c.Arg("scale"), 0)
	abs, least, one, in := c.Pin(c.konst(c.absMask)), c.pinned64(0x1p-24), c.pinnedInt(1), c.Zero()
	p := c.powers()
	c.rows(n, func(u int) {
		if u%p.together != 0 {
			return
		}
		x := make([]V, p.together)
		for i := range x {
			x[i] = c.Mul(F64, c.at(v, u+i), scale)
		}
		x = each(x, func(x V) V {
			k := c.Cmp(F64, GE, c.And(x, abs), least)
			c.CountTo(I64, in, k, one)
			return c.Keep(k, x)
		})
		p.addAll(x, nil)
	}, walker{v, 8})
	c.total(to, 0, in)
	p.total(to, 1)
	c.Return()
}

// powerSums are the sums of powers.
type powerSums struct {
	c        columnKernel
	magic    [3][]any
	sums     [3][]V
	together int // registers that go side by side
}

func (c columnKernel) powers() *powerSums {
	p := &powerSums{c: c, together: 2}
	if c.Level() == "avx512" {
		p.together = 4
	}
	for i, l := range powerMagic {
		for _, m := range l {
			p.magic[i], p.sums[i] = append(p.magic[i], c.pinned64(m)), append(p.sums[i], c.Zero())
		}
	}
	return p
}

// addAll adds values and their powers. first, if there is one, is told what is added for the values in each of the windows.
func (p *powerSums) addAll(x []V, first func(window int, t []V)) {
	c := p.c
	for power := range p.magic {
		if power > 0 {
			x = each(x, func(x V) V { return c.Mul(F64, x, x) })
		}
		left := x
		for w, m := range p.magic[power] {
			t := each(left, func(x V) V { return c.Add(F64, x, m) })
			for _, t := range t {
				c.AddTo(I64, p.sums[power][w], t)
			}
			if power == 0 && first != nil {
				first(w, t)
			}
			if w+1 < len(p.magic[power]) {
				t = each(t, func(t V) V { return c.Sub(F64, t, m) })
				rest := make([]V, len(left))
				for i := range left {
					rest[i] = c.Sub(F64, left[i], t[i])
				}
				left = rest
			}
		}
	}
}

// total stores the sums from a word on.
func (p *powerSums) total(to R, at int) {
	for _, l := range p.sums {
		for _, s := range l {
			p.c.total(to, at, s)
			at++
		}
	}
}

func (c columnKernel) differenceSums(name string, events bool) {
	doc := name + ` writes to dst b - a of n elements, a multiple of 32 that is not 0, and to to: the bits that any of them below the second
		number at scale has, which are as 0, and bit 62 of the others when scaled by the first number; and the sums of PowerSums`
	args := []Arg{{"to", "*uint64"}, {"dst", "*float64"}, {"a", "*float64"}, {"b", "*float64"}}
	if events {
		doc += ", the first two of them also of the rows where y is 1"
		args = append(args, Arg{"y", "*uint8"})
	}
	c.Func(name, doc+".", append(args, Arg{"n", "int"}, Arg{"scale", "*float64"}), nil)
	to, dst, a, b, n := c.Arg("to"), c.Arg("dst"), c.Arg("a"), c.Arg("b"), c.Arg("n")
	walkers := []walker{{dst, 8}, {a, 8}, {b, 8}}
	var y R
	var came []V
	if events {
		y = c.Arg("y")
		walkers = append(walkers, walker{y, 1})
		came = []V{c.Zero(), c.Zero()}
	}
	p := c.powers()
	numbers := c.Arg("scale")
	number := func(i int) V { return c.Broadcast(F64, numbers, 8*i) }
	if c.Level() == "avx2" { // which has not enough registers
		p.together = 1
	} else {
		kept := []V{number(0), number(1)}
		number = func(i int) V { return kept[i] }
	}
	abs, high, odd := c.Pin(c.konst(c.absMask)), c.pinnedInt(1<<62), c.Zero()
	c.rows(n, func(u int) {
		if u%p.together != 0 {
			return
		}
		x := make([]V, p.together)
		for i := range x {
			x[i] = c.Sub(F64, c.at(b, u+i), c.at(a, u+i))
			c.Store(dst, (u+i)*c.Width(), x[i])
		}
		x = each(x, func(d V) V {
			large := c.Keep(c.Cmp(F64, GE, c.And(d, abs), number(1)), d)
			c.DifferTo(odd, d, large)
			x := c.Mul(F64, large, number(0))
			c.OrAndTo(odd, x, high)
			return x
		})
		var of func(window int, t []V)
		if events {
			k := make([]M, p.together)
			for i := range k {
				k[i] = c.LoadTruths(y, (u+i)*c.wide())
			}
			of = func(window int, t []V) {
				for i, t := range t {
					c.AddWhere(I64, came[window], k[i], t)
				}
			}
		}
		p.addAll(x, of)
	}, walkers...)
	c.StoreLane(I64, to, 0, c.butterfly(I64, []V{odd}, func(a, b V) V { return c.Or(a, b) }))
	p.total(to, 1)
	for i, s := range came {
		c.total(to, 8+i, s)
	}
	c.Return()
}

func (c columnKernel) coarsePlaces() {
	c.Func("CoarsePlaces", `CoarsePlaces writes to dst the places of n scores, a multiple of 32 that is not 0, times two plus their
		outcomes, and 1<<32-1 where a score is outside [0,1]. The numbers at k are those of kernel.CoarseGrid.`,
		[]Arg{{"dst", "*uint32"}, {"p", "*float64"}, {"tail", "*float64"}, {"y", "*uint8"}, {"n", "int"}, {"k", "*float64"}}, nil)
	dst, p, tail, y, n, k := c.Arg("dst"), c.Arg("p"), c.Arg("tail"), c.Arg("y"), c.Arg("n"), c.Arg("k")
	// Where there are registers the numbers stay there; else they are loaded where they are used.
	types := [8]T{F64, F64, F64, F64, F64, F64, I64, I32}
	var kept [8]V
	if c.Level() != "avx2" {
		for i, t := range types {
			kept[i] = c.Broadcast(t, k, 8*i)
		}
	}
	number := func(i int) V {
		if kept[i] == nil {
			return c.Broadcast(types[i], k, 8*i)
		}
		return kept[i]
	}
	half, most := c.pinned64(0.5), c.pinned64(0.5+4*0x1p-53)
	large, tiny := c.pinned64(0x1p-7), c.pinned64(0x1p-64)
	// The bits of q without the last 20 are the last ones of a float64, less its value for the tiniest q.
	pointBits, from := c.pinnedInt(int64(math.Float64bits(0x1p52))), c.pinned64(0x1p52+float64(math.Float64bits(0x1p-64)>>20))
	magic, none, zero := c.pinned64(0x1.8p52), c.pinnedInt(-1), c.Zero()
	below := c.Unsigned(I32, c.Copy(c.Const(I32, math.Float64bits(0.5)>>32-1)))
	c.rows(n, func(u int) {
		if u%2 != 0 {
			return
		}
		var q, place [2]V
		var high [2]M
		for h := range q {
			x := c.at(p, u+h)
			high[h] = c.Cmp(F64, GE, x, half)
			c.BlendTo(high[h], x, c.at(tail, u+h))
			q[h] = x
			inLarge := c.Cmp(F64, GE, x, large)
			d := c.Sub(F64, c.Or(c.Shr(I64, c.Max(F64, x, tiny), 20), pointBits), from)
			f := c.Min(F64, c.FMA(F64, d, number(0), number(1)), c.FMA(F64, d, number(2), number(3)))
			c.BlendTo(inLarge, f, c.Max(F64, c.Mul(F64, c.Sub(F64, large, x), number(4)), number(5)))
			place[h] = c.Sub(F64, magic, c.Ceil(F64, f))
			c.AddWhere(I64, place[h], inLarge, number(6))
		}
		to := c.LowWords(place[0], place[1])
		c.BlendTo(c.PackM(high[0], high[1]), to, c.Sub(I32, number(7), to))
		to = c.Add(I32, c.Add(I32, to, to), c.LoadBytes(I32, y, u*c.wide()))
		usual := fmt.Sprint("usual", u)
		c.None(c.Below(I32, below, c.Unsigned(I32, c.HighWords(q[0], q[1]))), usual) // all but 0 to below 1/2 is beyond that as bits, -0 too
		var out [2]M
		for h, q := range q {
			out[h] = c.NotM(c.AndM(c.Cmp(F64, GE, q, zero), c.Cmp(F64, LE, q, most)))
		}
		c.BlendTo(c.PackM(out[0], out[1]), to, none)
		c.Label(usual)
		c.Store(dst, u*c.Width()/2, to)
	}, walker{dst, 4}, walker{p, 8}, walker{tail, 8}, walker{y, 1})
	c.Return()
}

func (c columnKernel) jointPlaces() {
	c.Func("JointPlaces", `JointPlaces writes to dst where a matrix of so many columns has n rows, a multiple of 32 that is not 0, of
		which CoarsePlaces found a and b: of row 2*a + b&1 column b>>1, and 1<<32-1 where one of the two has this.`,
		[]Arg{{"dst", "*uint32"}, {"a", "*uint32"}, {"b", "*uint32"}, {"n", "int"}, {"columns", "*uint32"}}, nil)
	dst, a, b, n := c.Arg("dst"), c.Arg("a"), c.Arg("b"), c.Arg("n")
	columns, one := c.Broadcast(I32, c.Arg("columns"), 0), c.Pin(c.Const(I32, 1))
	c.rows(n, func(u int) {
		if u%2 != 0 {
			return
		}
		x, z := c.Load(a, u*c.Width()/2), c.Load(b, u*c.Width()/2)
		to := c.MulInt(c.Add(I32, c.Add(I32, x, x), c.And(z, one)), columns)
		to = c.Add(I32, to, c.Shr(I32, z, 1))
		c.Store(dst, u*c.Width()/2, c.Or(to, c.Sar(I32, c.Or(x, z), 31)))
	}, walker{dst, 4}, walker{a, 4}, walker{b, 4})
	c.Return()
}
