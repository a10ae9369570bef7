package main

func binaryColumns(m Machine) {
	for _, s := range []Source{FromF32, FromF64} {
		binaryScores(m, s, "Probs", "the probabilities", "an entry outside of 0 to 1", (*scores).prob)
		binaryScores(m, s, "Logits", "the logits", "NaN or +Inf", (*scores).logit)
	}
}

// scores are the registers that walk over one score a row and its columns.
type scores struct {
	vector64
	k              kernel
	s              Source
	x, y, n        R
	out            [8]R // the columns; the last may be nil
	argMax, rank   R    // the last may be nil
	good           M    // of the rows that have been
	labels         V    // their bits
	term           *exponents
	arg            [2]V // of the rows at hand
	raw, terms, zs V    // elements as float32, and of logits what is made of them
}

// binaryScores emits the function that fills the columns of one score a row. Each step takes as many as a register has
// lanes of 4 bytes: two registers of float64.
func binaryScores(m Machine, s Source, kind, what, fault string, half func(b *scores, h int, v, y V)) {
	k := kernelOf(bundler{m}, s.T())
	b := &scores{vector64: vector64{bundler{m}}, k: k, s: s}
	name := "Binary" + kind + s.String()
	args := append([]Arg{{"x", s.elementType()}, {"labels", "*int32"}, {"n", "int"}}, columns...)
	m.Func(name, name+` fills the columns of the event y = 1 from n scores, `+what+` of it; n is a multiple of 16 and not 0. positive
		and rank may be nil. odd is not 0 if some row has `+fault+`, or a bad label; the columns of such a row mean nothing.`,
		append(args, Arg{"positive", "*float64"}, Arg{"argMax", "*int32"}, Arg{"rank", "*int32"}), []Arg{{"odd", "int"}})
	b.x, b.y, b.n = m.Arg("x"), m.Arg("labels"), m.Arg("n")
	for i, c := range columns {
		b.out[i] = m.Arg(c.Name)
	}
	b.out[7], b.argMax, b.rank = m.Arg("positive"), m.Arg("argMax"), m.Arg("rank")
	if kind == "Logits" {
		b.term = &exponents{log2e: k.Pin(k.konst(k.log2e)), c: k.Pin(k.konst(k.magic)), lo: k.konst(k.floor)}
		b.term.pin(k)
	}
	b.labels = m.Zero()
	b.good = m.Cmp(F64, EQ, b.labels, b.labels)

	m.Label("rows")
	y := m.Load(b.y, 0)
	m.Move(b.labels, m.Or(b.labels, y))
	v := b.load()
	if m.Level() == "avx2" { // which has no room for both halves
		half(b, 0, v(0), m.LowInt(y))
		half(b, 1, v(1), m.HighInt(y))
	} else {
		half(b, 0, bundle{v(0), v(1)}, bundle{m.LowInt(y), m.HighInt(y)})
	}
	arg := m.NarrowInt(b.arg[0], b.arg[1])
	m.Store(b.argMax, 0, arg)
	m.AddR(b.argMax, m.Width())
	b.ifWanted(b.rank, "no_rank", func() {
		m.Store(b.rank, 0, m.Xor(arg, y))
		m.AddR(b.rank, m.Width())
	})
	m.AddR(b.x, m.Width()/4*s.Bytes())
	m.AddR(b.y, m.Width())
	for _, p := range b.out[:7] {
		m.AddR(p, 2*m.Width())
	}
	b.ifWanted(b.out[7], "no_positive", func() { m.AddR(b.out[7], 2*m.Width()) })
	m.SubR(b.n, m.Width()/4)
	m.If(b.n, GT, 0, "rows")

	odd := m.GP(1)
	m.Any(m.NotM(b.good), "odd")
	m.Any(m.NotM(m.Cmp(I32, EQ, m.And(b.labels, m.Const(I32, 0xfffffffe)), m.Zero())), "odd")
	m.MoveR(odd, m.GP(0))
	m.Label("odd")
	m.Result("odd", odd)
	m.Return()
}

// load returns what gives the two halves of a step's scores as float64.
func (b *scores) load() func(h int) V {
	m := b.Machine
	if b.s == FromF64 {
		return func(h int) V { return m.Load(b.x, h*m.Width()) }
	}
	b.raw = m.LoadSource(b.s, b.x, 0)
	if b.term != nil {
		b.zs = b.k.Max(F32, b.distance(F32, b.raw), b.term.lo)
		b.terms = b.k.pow2(b.term, b.zs)
	}
	return func(h int) V { return b.wide(h, b.raw) }
}

// wide returns a half of float32 lanes as float64.
func (b *scores) wide(h int, v V) V {
	if h == 0 {
		return b.Low(v)
	}
	return b.High(v)
}

// wideLike returns the halves of v that x has.
func (b *scores) wideLike(x any, h int, v V) V {
	if _, ok := x.(bundle); ok {
		return bundle{b.wide(0, v), b.wide(1, v)}
	}
	return b.wide(h, v)
}

// distance returns -|v|.
func (b *scores) distance(t T, v V) V { return b.Or(v, b.Const(t, formats[t].absMask+1)) }

func (b *scores) ifWanted(p R, label string, f func()) {
	b.If(p, EQ, 0, label)
	f()
	b.Label(label)
}

// halves calls f for a half, or for both if v is a bundle.
func halves(h int, v any, f func(h int, v any)) {
	if both, ok := v.(bundle); ok {
		f(0, both[0])
		f(1, both[1])
	} else {
		f(h, v)
	}
}

// store stores a half of a column, or both.
func (b *scores) store(i, h int, v V) {
	f := func() { halves(h, v, func(h int, v any) { b.Store(b.out[i], h*b.Width(), v) }) }
	if i == 7 {
		b.ifWanted(b.out[i], [...]string{"one_class", "one_class_too"}[h], f)
	} else {
		f()
	}
}

// mustBe makes rows odd that are not in q.
func (b *scores) mustBe(q M) {
	halves(0, q, func(_ int, q any) { b.MoveM(b.good, b.AndM(b.good, q)) })
}

// predict sets the arg max of a half: 1 where q is true.
func (b *scores) predict(h int, q M) V {
	arg := b.Keep(q, b.Copy(b.Const(I64, 1)))
	halves(h, arg, func(h int, v any) { b.arg[h] = v })
	return arg
}

// prob emits a half of a step of probabilities, or both. Where p or 1-p is 0, its logarithm is a number, which times 0 is 0.
func (b *scores) prob(h int, v, y V) {
	p := b.add(v, b.Zero()) // -0 becomes 0
	one := b.Copy(b.c(1))
	q := b.sub(one, p)
	tail := b.Min(F64, p, q)
	b.mustBe(b.Cmp(F64, GE, tail, b.Zero()))
	b.predict(h, b.Cmp(F64, GT, p, b.c(0.5)))
	b.store(7, h, p)
	b.store(0, h, b.Max(F64, p, q))
	b.store(1, h, tail)
	b.store(4, h, b.mul(tail, tail))
	halves(h, v, func(h int, _ any) { b.store(6, h, one) })
	isOne := b.Cmp(I64, EQ, y, b.Const(I64, 1))
	label := b.Blend(isOne, p, q)
	b.store(2, h, label)

	lp := b.logOf(p)
	entropy := b.sub(b.Zero(), b.mul(p, lp))
	lq := b.logBelowOne(q, b.sub(b.sub(b.Copy(b.c(1)), q), p))
	b.store(5, h, b.sub(entropy, b.mul(q, lq)))
	nll := b.sub(b.Zero(), b.Blend(isOne, lp, lq))
	b.store(3, h, b.Blend(b.Cmp(F64, EQ, label, b.Zero()), b.bits(formats[F64].inf), nll))
}

// logOf returns Log64(p), for 0 a number; p may be subnormal only if the scores are float64.
func (b *scores) logOf(p V) V {
	if b.s == FromF64 {
		return b.logPositive(p)
	}
	return b.logNormal(p)
}

// logBelowOne returns the logarithm of u + c for u in [0, 1] and the error c of its rounding: Log1p64(u + c - 1). For 0 it
// is a number.
func (v vector64) logBelowOne(u, c V) V {
	const root = 0x3fe6a09e00000000
	n := v.Add(I64, u, v.Const(I64, 0x3ff0000000000000-root))
	scale := v.Sub(I64, v.Copy(v.Const(I64, 2046<<52)), v.And(n, v.Const(I64, 0x7ff<<52))) // 2**-k
	f := v.fma(u, scale, v.c(-1))
	v.FMATo(F64, f, c, scale)
	k := v.sub(v.Or(v.Shr(I64, n, 52), v.Const(I64, 0x4330000000000000)), v.c(0x1p52+1023))
	return v.logSplit(k, f)
}

// logit emits a half of a step of logits, or both.
func (b *scores) logit(h int, x, y V) {
	var z, e V
	if b.s == FromF64 {
		z = b.k.Max(F64, b.distance(F64, x), b.term.lo)
		e = b.k.pow2(b.term, z)
	} else {
		z, e = b.wideLike(x, h, b.zs), b.wideLike(x, h, b.terms)
	}
	b.mustBe(b.Cmp(F64, LT, x, b.bits(formats[F64].inf)))
	e = b.Keep(b.Cmp(F64, GE, e, b.c(0x1p-90)), e)
	one := b.Copy(b.c(1))
	u := b.add(one, e)
	c := b.sub(e, b.sub(u, one))
	inv := b.Div(F64, one, u)
	spread := b.mul(b.mul(e, z), inv)
	tail := b.mul(e, inv)
	positive := b.Cmp(F64, GT, x, b.Zero())
	right := b.Cmp(I64, EQ, b.predict(h, positive), y)
	b.store(0, h, inv)
	b.store(1, h, tail)
	b.store(2, h, b.Blend(right, inv, tail))
	b.store(4, h, b.mul(tail, tail))
	b.store(7, h, b.Blend(positive, inv, tail))

	above, missed := b.Keep(positive, x), b.Blend(right, b.Zero(), b.distance(F64, x))
	lq := b.logAboveOne(u, c)
	b.store(5, h, b.sub(lq, spread))
	b.store(6, h, b.add(above, lq))
	b.store(3, h, b.sub(lq, missed))
}

// logAboveOne returns the logarithm of u + c for u in [1, 2] and the error c of its rounding: Log1p64(u + c - 1).
func (v vector64) logAboveOne(u, c V) V {
	above := v.Cmp(F64, GE, u, v.bits(0x3ff6a09e00000000)) // where the exponent of splitLog is 1
	scale := v.Blend(above, v.c(0.5), v.c(1))
	f := v.fma(u, scale, v.c(-1))
	v.FMATo(F64, f, c, scale)
	y := v.logFraction(f, func() V { return v.Keep(above, v.c(ln2lo)) })
	return v.add(y, v.Keep(above, v.c(ln2hi)))
}

// logPositive returns Log64(x) for a finite positive x, and a number for 0.
func (v vector64) logPositive(x V) V {
	small := v.Cmp(F64, LT, x, v.c(0x1p-1022))
	k, f := v.split(v.Blend(small, v.mul(x, v.c(0x1p54)), x))
	return v.logSplit(v.add(k, v.Keep(small, v.c(-54))), f)
}
