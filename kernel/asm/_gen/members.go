package main

import "math"

// Rows of the members of an ensemble: the Go definitions are in kernel/members.go and kernel/pairs.go.

func members(m Machine) {
	for _, s := range []Source{FromF32, FromF64} {
		mean(m, s)
	}
	meanScaled(m)
	logMeanExp(m)
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

// meanScaled emits the mean of the members' rows times their scales.
func meanScaled(m Machine) {
	k := kernelOf(m, F32)
	m.Func("MeanScaledF32", `MeanScaledF32 writes the sums of the members, which are stride elements apart, of rows x k elements times
		their row's scale, divided by their number, which is at by too, to dst. The scales of a member's rows follow those of the one
		before. It returns whether an element is below 2**-124, or may be because one is NaN.`, []Arg{{"dst", "*float32"}, {"x", "*float32"},
		{"scale", "*float32"}, {"by", "*float32"}, {"members", "int"}, {"rows", "int"}, {"k", "int"}, {"stride", "int"}}, []Arg{{"low", "int"}})
	dst, x, scale, stride := m.Arg("dst"), m.Arg("x"), m.Arg("scale"), m.Arg("stride")
	by := m.Broadcast(F32, m.Arg("by"), 0)
	apart, rows := m.Arg("rows"), m.Arg("rows")
	m.ShlR(stride, 2)
	m.ShlR(apart, 2)
	least := []V{m.Copy(k.konst(k.inf)), m.Copy(k.konst(k.inf))}
	// sum returns the sums of what load returns of each member and notes the least by note.
	sum := func(name string, load func(p R) []V, note func(i int, v V)) []V {
		p, q, left := m.CopyR(x), m.CopyR(scale), m.Arg("members")
		s := m.Broadcast(F32, q, 0)
		var sums []V
		for i, v := range load(p) {
			note(i, v)
			sums = append(sums, m.Mul(F32, v, s))
		}
		m.Jump(name + "_next")
		m.Label(name)
		m.AddR(p, stride)
		m.AddR(q, apart)
		s = m.Broadcast(F32, q, 0)
		for i, v := range load(p) {
			note(i, v)
			m.AddTo(F32, sums[i], m.Mul(F32, v, s))
		}
		m.Label(name + "_next")
		m.SubR(left, 1)
		m.If(left, GT, 0, name)
		for i := range sums {
			sums[i] = m.Div(F32, sums[i], by)
		}
		return sums
	}
	all := func(i int, v V) { m.Move(least[i%2], m.Min(F32, v, least[i%2])) }
	m.Label("row")
	n := m.Arg("k")
	some := func(name string, regs int) {
		per := regs * lanes(m, F32)
		m.If(n, LT, per, name+"_end")
		m.Label(name + "_loop")
		for i, v := range sum(name, func(p R) (v []V) {
			for i := range regs {
				v = append(v, m.Load(p, i*m.Width()))
			}
			return v
		}, all) {
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
	m.If(n, EQ, 0, "next")
	in := m.FirstLanes(F32, n)
	rest := sum("rest", func(p R) []V { return m.LoadFirst(FromF32, p, n) }, func(i int, v V) {
		m.BlendTo(in[i], least[i%2], m.Min(F32, v, least[i%2]))
	})
	m.StoreFirst(F32, dst, n, rest)
	m.ShlR(n, 2)
	m.AddR(x, n)
	m.AddR(dst, n)
	m.Label("next")
	m.AddR(scale, 4)
	m.SubR(rows, 1)
	m.If(rows, GT, 0, "row")
	low := m.GP(1)
	m.Any(m.NotM(m.Cmp(F32, GE, m.Min(F32, least[0], least[1]), k.konst(bits32(0x1p-124)))), "some")
	m.MoveR(low, m.GP(0))
	m.Label("some")
	m.Result("low", low)
	m.Return()
}

// logMeanExp emits the logarithm of the mean of exponentials, a register of elements after another.
func logMeanExp(m Machine) {
	v := vector64{m}
	m.Func("LogMeanExp", `LogMeanExp writes ln of the mean of e**x over the members, which are stride elements apart and whose number is
		at by too, of n elements, a positive multiple of 8, to dst.`, []Arg{{"dst", "*float64"}, {"x", "*float64"}, {"by", "*float64"},
		{"members", "int"}, {"n", "int"}, {"stride", "int"}}, nil)
	dst, x, n, stride := m.Arg("dst"), m.Arg("x"), m.Arg("n"), m.Arg("stride")
	m.ShlR(stride, 3)
	by := m.Broadcast(F64, m.Arg("by"), 0)
	m.Label("elements")
	top := m.Load(x, 0)
	bad := m.CopyM(m.Cmp(F64, UN, top, top))
	each := func(name string, from R, left R, body func(x V)) {
		m.Label(name)
		body(m.Load(from, 0))
		m.AddR(from, stride)
		m.SubR(left, 1)
		m.If(left, GT, 0, name)
	}
	each("top", m.CopyR(x), m.Arg("members"), func(x V) {
		m.MoveM(bad, m.OrM(bad, m.Cmp(F64, UN, x, x)))
		m.Move(top, m.Max(F64, x, top))
	})
	sum, below := m.Zero(), m.Zero()
	each("sum", m.CopyR(x), m.Arg("members"), func(x V) {
		n, p := v.expParts(v.sub(x, top))
		e := v.expWhole(n, p)
		m.AddTo(F64, sum, e)
		m.AddTo(F64, below, m.Blend(m.Cmp(F64, EQ, n, v.c(0)), p, v.sub(e, v.c(1))))
	})
	below = m.Div(F64, below, by)
	ln := v.logNormal(m.Div(F64, sum, by))
	m.BlendTo(m.Cmp(F64, GT, below, v.c(-0.5)), ln, v.log1p(below))
	out := v.add(top, ln)
	finite := m.Cmp(F64, LE, m.And(top, v.bits(formats[F64].absMask)), v.c(math.MaxFloat64))
	out = m.Blend(finite, out, top)
	out = m.Blend(bad, v.bits(formats[F64].absMask), out)
	m.Store(dst, 0, out)
	m.AddR(x, m.Width())
	m.AddR(dst, m.Width())
	m.SubR(n, m.Width()/8)
	m.If(n, GT, 0, "elements")
	m.Return()
}
