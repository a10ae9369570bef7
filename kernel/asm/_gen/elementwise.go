package main

func elementwise(m Machine) {
	for _, t := range []T{F32, F64} {
		k := kernelOf(m, t)
		s := FromF32
		if t == F64 {
			s = FromF64
		}
		k.eachElement("Exp"+s.String(), "the exponential", s, k.together(), k.bundled().exp)
		k.eachElement("Log"+s.String(), "the natural logarithm", s, (k.together()+1)/2, k.bundled().log)
	}
	for _, s := range []Source{FromF16, FromBF16} {
		k := kernelOf(m, F32)
		k.eachElement("Widen"+s.String(), "the float32 value", s, 1, func() func(V) V { return func(x V) V { return x } })
	}
}

// eachElement emits the function that writes what f makes of each of n elements. f is called once, so that what it pins
// stands before the loop; g is how much goes side by side.
func (k kernel) eachElement(name, what string, s Source, g int, f func() func(x V) V) {
	k.Func(name, name+" writes "+what+` of each of n elements at x to dst, which may be x itself where the types are the same.`,
		[]Arg{{"dst", sourceOf(k.t).elementType()}, {"x", s.elementType()}, {"n", "int"}}, nil)
	dst, x, n := k.Arg("dst"), k.Arg("x"), k.Arg("n")
	k.mapTo("elements", s, g, dst, x, n, f())
	k.Return()
}

// sourceOf returns the elements that lanes of a type are stored as.
func sourceOf(t T) Source {
	if t == F64 {
		return FromF64
	}
	return FromF32
}

// bundled returns the kernel with which several registers go side by side.
func (k kernel) bundled() kernel {
	k.Machine = bundler{k.Machine}
	return k
}

// mapTo emits the loop that writes f of each of n elements at x to dst. f is given bundles, of g times 64 bytes of lanes as
// long as there are so many. It changes dst, x and n.
func (k kernel) mapTo(name string, s Source, g int, dst, x, n R, f func(x V) V) {
	load := func(regs int) (b bundle) {
		for u := range regs {
			b = append(b, k.LoadSource(s, x, u*vectorBytes(k.Machine, s)))
		}
		return b
	}
	store := func(b bundle) {
		for u := range b {
			k.Store(dst, u*k.Width(), b[u])
		}
		k.AddR(dst, len(b)*k.Width())
	}
	if g > 1 {
		k.If(n, LT, g*k.step, name+"_single")
		k.Label(name + "_many")
		store(f(load(g * k.units)).(bundle))
		k.AddR(x, g*k.stepBytes(s))
		k.SubR(n, g*k.step)
		k.If(n, GE, g*k.step, name+"_many")
		k.Label(name + "_single")
	}
	k.loop(name, s, x, n, func() { store(f(load(k.units)).(bundle)) })
	k.If(n, EQ, 0, name+"_done")
	var rest bundle
	for _, v := range k.LoadFirst(s, x, n) {
		rest = append(rest, v)
	}
	var out []V
	for _, v := range f(rest).(bundle) {
		out = append(out, v)
	}
	k.StoreFirst(k.t, dst, n, out)
	k.Label(name + "_done")
}

func (k kernel) exp() func(V) V {
	if k.t == F64 {
		return vector64{k}.exp
	}
	return k.exp32()
}

func (k kernel) log() func(V) V {
	if k.t == F64 {
		return vector64{k}.ln
	}
	return k.log32()
}

// pinned32 returns a float32 constant.
func (k kernel) pinned32(x float64) any { return k.Pin(k.Const(F32, bits32(x))) }

func (k kernel) pinned(coeffs ...float64) (out []any) {
	for _, c := range coeffs {
		out = append(out, k.pinned32(c))
	}
	return out
}

// horner32 returns the polynomial with the given coefficients, the highest power's first.
func (k kernel) horner32(x V, coeffs []any) V {
	p := k.FMA(F32, x, coeffs[0], coeffs[1])
	for _, c := range coeffs[2:] {
		k.HornerTo(F32, p, x, c)
	}
	return p
}

// exp32 returns exp32 of kernel/explog.go. Max and Min keep a NaN that is their second operand.
func (k kernel) exp32() func(x V) V {
	most, least, one := k.pinned32(89), k.pinned32(-104), k.pinned32(1)
	log2e, magic := k.pinned32(log2e), k.pinned32(0x1.8p23)
	hi, lo := k.pinned32(-0x1.62e430p-1), k.pinned32(0x1.05c610p-29)
	coeffs := k.pinned(0x1.6a244cp-10, 0x1.1239d4p-7, 0x1.5558f2p-5, 0x1.555492p-3, 0x1.fffffcp-2)
	bias, base := k.Pin(k.Const(I32, 127)), k.Pin(k.Const(I32, 0x4b400000))
	return func(x V) V {
		x = k.Min(F32, most, k.Max(F32, least, x))
		t := k.FMA(F32, x, log2e, magic)
		n := k.Sub(F32, t, magic)
		r := k.FMA(F32, n, hi, x)
		k.FMATo(F32, r, n, lo)
		y := k.Add(F32, k.FMA(F32, k.Mul(F32, r, r), k.horner32(r, coeffs), r), one)
		// Two factors, as in Exp64.
		i := k.Sub(I32, t, base)
		j := k.Sar(I32, i, 1)
		y = k.Mul(F32, y, k.Shl(I32, k.Add(I32, j, bias), 23))
		return k.Mul(F32, y, k.Shl(I32, k.Add(I32, k.Sub(I32, i, j), bias), 23))
	}
}

// log32 returns log32 of kernel/explog.go.
func (k kernel) log32() func(x V) V {
	c := func(x float64) C { return k.Const(F32, bits32(x)) }
	var coeffs []any
	for _, x := range []float64{-0x1.38b590p-4, 0x1.055b6cp-3, -0x1.0d8540p-3, 0x1.22da1cp-3, -0x1.547244p-3, 0x1.99a008p-3,
		-0x1.000226p-2, 0x1.555554p-2} {
		coeffs = append(coeffs, c(x))
	}
	return func(x V) V {
		tiny := k.Cmp(F32, LT, x, c(0x1p-126))
		u := k.Blend(tiny, k.Mul(F32, x, c(0x1p24)), x)
		e := k.Sar(I32, k.Sub(I32, u, k.Const(I32, 0x3f3504f3)), 23)
		f := k.Sub(F32, k.Sub(I32, u, k.Shl(I32, e, 23)), c(1))
		n := k.Add(F32, k.Keep(tiny, c(-24)), k.FromInt(e))
		z := k.Mul(F32, f, f)
		y := k.Mul(F32, k.Mul(F32, z, f), k.horner32(f, coeffs))
		k.FMATo(F32, y, n, c(-2.12194440e-4))
		k.FMATo(F32, y, z, c(-0.5))
		y = k.FMA(F32, n, c(0.693359375), k.Add(F32, f, y))
		return logSpecial(k, F32, x, y)
	}
}

// logSpecial returns y where x is a positive number, and else the logarithm that x has.
func logSpecial(m Machine, t T, x, y V) V {
	f := formats[t]
	inf, zero := m.Const(t, f.inf), m.Const(t, 0)
	special := m.Blend(m.Cmp(t, EQ, x, zero), m.Sub(t, m.Zero(), inf), m.Const(t, f.absMask))
	y = m.Blend(m.Cmp(t, GT, x, zero), y, special)
	return m.Blend(m.Cmp(t, EQ, x, inf), x, y)
}
