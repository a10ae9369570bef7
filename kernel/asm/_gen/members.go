package main

// Rows of the members of an ensemble: the Go definitions are in kernel/members.go and kernel/pairs.go.

func members(m Machine) {
	for _, s := range []Source{FromF32, FromF64} {
		mean(m, s)
	}
}

// mean emits the mean of members: some registers of the first one, to which those of the others are added.
func mean(m Machine, s Source) {
	k := kernelOf(m, s.T())
	name := "Mean" + s.String()
	m.Func(name, name+` writes the sums of n elements of the members, which are stride elements apart, divided by their number, which
		is at by too, to dst.`, []Arg{{"dst", s.elementType()}, {"x", s.elementType()}, {"by", s.elementType()}, {"members", "int"}, {"n", "int"},
		{"stride", "int"}}, nil)
	dst, x, n, stride := m.Arg("dst"), m.Arg("x"), m.Arg("n"), m.Arg("stride")
	by := m.Broadcast(k.t, m.Arg("by"), 0)
	m.ShlR(stride, log2(s.Bytes()))
	// sum returns the sums of what load returns of each member.
	sum := func(name string, load func(p R) []V) []V {
		p, left := m.CopyR(x), m.Arg("members")
		sums := load(p)
		m.Jump(name + "_next")
		m.Label(name)
		m.AddR(p, stride)
		for i, v := range load(p) {
			m.AddTo(k.t, sums[i], v)
		}
		m.Label(name + "_next")
		m.SubR(left, 1)
		m.If(left, GT, 0, name)
		for i := range sums {
			sums[i] = m.Div(k.t, sums[i], by)
		}
		return sums
	}
	some := func(name string, regs int) {
		per := regs * lanes(m, k.t)
		m.If(n, LT, per, name+"_end")
		m.Label(name + "_loop")
		for i, v := range sum(name, func(p R) (v []V) {
			for i := range regs {
				v = append(v, m.Load(p, i*m.Width()))
			}
			return v
		}) {
			m.Store(dst, i*m.Width(), v)
		}
		m.AddR(x, regs*m.Width())
		m.AddR(dst, regs*m.Width())
		m.SubR(n, per)
		m.If(n, GE, per, name+"_loop")
		m.Label(name + "_end")
	}
	if k.units < 4 {
		some("many", 4)
	}
	some("one", k.units)
	m.If(n, EQ, 0, "done")
	m.StoreFirst(k.t, dst, n, sum("rest", func(p R) []V { return m.LoadFirst(s, p, n) }))
	m.Label("done")
	m.Return()
}
