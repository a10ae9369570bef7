package main

// Rows of two matrices side by side: the Go definitions are in kernel/pairs.go.

// blockLength is the number of elements after which lanes are added to float64 ones.
const blockLength = 1024

func pairs(m Machine) {
	for _, s := range []Source{FromF32, FromF64} {
		k := kernelOf(m, s.T())
		k.pairRows("PairKL"+s.String(), "the sum of p*(lp-lq) where p is not 0", s, []string{"p", "lp", "lq"}, []pairSum{{"kl", 0}},
			func() func([]V, func(i int) V) {
				zero := k.Pin(k.konst(0))
				return func(lanes []V, load func(i int) V) {
					p := load(0)
					d := k.Keep(k.Cmp(k.t, NE, p, zero), k.Sub(k.t, load(1), load(2)))
					k.FMATo(k.t, lanes[0], p, d)
				}
			})
		k.pairRows("PairSums"+s.String(), "the sums of p*q, |p-q| and (p-q)**2", s, []string{"p", "q"},
			[]pairSum{{"dot", k.under}, {"abs", 0}, {"squares", k.under}},
			func() func([]V, func(i int) V) {
				size := k.Pin(k.konst(k.absMask))
				return func(lanes []V, load func(i int) V) {
					p, q := load(0), load(1)
					d := k.Sub(k.t, p, q)
					k.FMATo(k.t, lanes[0], p, q)
					k.AddTo(k.t, lanes[1], k.And(d, size))
					k.FMATo(k.t, lanes[2], d, d)
				}
			})
	}
}

// A pairSum is a column of sums, and what its lanes start from.
type pairSum struct {
	column string
	start  uint64
}

// pairRows emits the function that sums over the rows of matrices of one shape. What prepare returns adds a register of elements of
// each to the lanes of the sums; a lane beyond a row's end has 0 of each, which adds nothing.
func (k kernel) pairRows(name, what string, s Source, matrices []string, sums []pairSum, prepare func() func(lanes []V, load func(i int) V)) {
	var args []Arg
	for _, c := range sums {
		args = append(args, Arg{c.column, "*float64"})
	}
	for _, x := range matrices {
		args = append(args, Arg{x, s.elementType()})
	}
	args = append(args, Arg{"rows", "int"}, Arg{"k", "int"}, Arg{"stride", "int"}, Arg{"room", "*float64"})
	k.Func(name, name+" writes "+what+" of each of rows > 0 rows. room is for 16 float64 lanes of each sum.", args, nil)
	var columns, x []R
	for _, c := range sums {
		columns = append(columns, k.Arg(c.column))
	}
	for _, name := range matrices {
		x = append(x, k.Arg(name))
	}
	rows, gap, room := k.Arg("rows"), k.Arg("stride"), k.Arg("room")
	k.SubR(gap, k.Arg("k"))
	k.ShlR(gap, log2(s.Bytes()))
	advance := func(by any) {
		for _, p := range x {
			k.AddR(p, by)
		}
	}
	const room16 = 16 * 8
	wide := k.units * k.Width() * 8 / k.t.Bytes() // bytes of the float64 lanes

	add := prepare()
	k.Label("row")
	zero := k.Zero()
	for c := range sums {
		for off := 0; off < wide; off += k.Width() {
			k.Store(room, room16*c+off, zero)
		}
	}
	left := k.Arg("k")
	k.Label("block")
	n := k.GP(blockLength)
	k.MinR(n, left)
	k.SubR(left, n)
	lanes := make([][]V, len(sums)) // by register of 64 bytes
	for c, sum := range sums {
		lanes[c] = k.each(func(int) V {
			if sum.start == 0 {
				return k.Zero()
			}
			return k.Copy(k.konst(sum.start))
		})
	}
	of := func(u int) (v []V) {
		for c := range sums {
			v = append(v, lanes[c][u])
		}
		return v
	}
	k.If(n, LT, k.step, "rest")
	k.Label("step")
	for u := range k.units {
		add(of(u), func(i int) V { return k.Load(x[i], u*k.Width()) })
	}
	advance(k.stepBytes(s))
	k.SubR(n, k.step)
	k.If(n, GE, k.step, "step")
	k.Label("rest")
	k.If(n, EQ, 0, "summed")
	var last [][]V
	for _, p := range x {
		last = append(last, k.LoadFirst(s, p, n))
	}
	for u := range k.units {
		add(of(u), func(i int) V { return last[i][u] })
	}
	k.ShlR(n, log2(s.Bytes()))
	advance(n)
	k.Label("summed")
	for c, sum := range sums {
		var start C
		if sum.start != 0 {
			start = k.under64()
		}
		for i, v := range k.unlifted(lanes[c], start) {
			off := room16*c + i*k.Width()
			k.Store(room, off, k.Add(F64, k.Load(room, off), v))
		}
	}
	k.If(left, GT, 0, "block")

	for c, to := range columns {
		var v []V
		for off := 0; off < wide; off += k.Width() {
			v = append(v, k.Load(room, room16*c+off))
		}
		s := k.Add(F64, k.butterfly(F64, v, func(a, b V) V { return k.Add(F64, a, b) }), k.Zero())
		k.BlendTo(k.Cmp(F64, UN, s, s), s, k.Copy(k.Const(F64, 0x7ff8<<48)))
		k.StoreLane(F64, to, 0, s)
		k.AddR(to, 8)
	}
	advance(gap)
	k.SubR(rows, 1)
	k.If(rows, GT, 0, "row")
	k.Return()
}
