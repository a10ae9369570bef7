package main

// Counts of values up to edges: the Go definition is in kernel/countupto.go.

// countEdges is how many edges a call takes: an accumulator each.
const countEdges = 7

func countUpTo(m Machine) {
	narrowExactly(m)
	columnKernel{kernelOf(m, F32)}.countUpTo("CountUpToF32", "*float32")
	columnKernel{kernelOf(m, F64)}.countUpTo("CountUpToF64", "*float64")
}

// narrowExactly emits the conversion to float32 and back, to see what it lost.
func narrowExactly(m Machine) {
	m.Func("NarrowExactly", `NarrowExactly writes n values, a multiple of 32 that is not 0, as float32 to dst, and returns something other
		than 0 if one of them is no float32 number; of NaN, anything.`,
		[]Arg{{"dst", "*float32"}, {"v", "*float64"}, {"n", "int"}}, []Arg{{"ret", "int"}})
	dst, v, n := m.Arg("dst"), m.Arg("v"), m.Arg("n")
	c := columnKernel{kernelOf(m, F64)}
	lost := m.Zero()
	c.rows(n, func(u int) {
		if u%2 != 0 {
			return
		}
		a, b := c.at(v, u), c.at(v, u+1)
		x := m.Narrow(a, b)
		m.Store(dst, u*m.Width()/2, x)
		m.DifferTo(lost, a, m.Low(x))
		m.DifferTo(lost, b, m.High(x))
	}, walker{dst, 4}, walker{v, 8})
	ret := m.GP(0)
	m.None(m.NotM(m.Cmp(I64, EQ, lost, m.Zero())), "exact")
	m.MoveR(ret, m.GP(1))
	m.Label("exact")
	m.Result("ret", ret)
	m.Return()
}

func (c columnKernel) countUpTo(name, pointer string) {
	c.Func(name, name+` writes to the seven words at counts how many of n values, a multiple of 32 that is not 0 and below 2**31, are at
		most each of the seven edges.`, []Arg{{"counts", "*uint64"}, {"x", pointer}, {"n", "int"}, {"edges", pointer}}, nil)
	counts, x, n, edges := c.Arg("counts"), c.Arg("x"), c.Arg("n"), c.Arg("edges")
	t := c.t
	one := c.Pin(c.Const(t.Int(), 1))
	var sums, edge [countEdges]V
	for i := range sums {
		sums[i], edge[i] = c.Zero(), c.Broadcast(t, edges, i*t.Bytes())
	}
	c.Label("rows")
	for u := range columnStep / lanes(c.Machine, t) {
		v := c.at(x, u)
		for i, s := range sums {
			c.CountTo(t.Int(), s, c.Cmp(t, LE, v, edge[i]), one)
		}
	}
	c.AddR(x, t.Bytes()*columnStep)
	c.SubR(n, columnStep)
	c.If(n, GT, 0, "rows")
	for i, s := range sums {
		if t == F32 {
			s = c.Add(I64, c.LowInt(s), c.HighInt(s))
		}
		c.total(counts, i, s)
	}
	c.Return()
}
