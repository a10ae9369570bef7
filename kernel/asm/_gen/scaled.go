package main

// Softmax of scaled logits: the Go definition is in kernel/scaled.go.

func scaledSoftmax(m Machine) {
	for _, s := range sources {
		scaledTerms(m, s)
	}
	for _, t := range []T{F32, F64} {
		scaledEnds(m, t)
		multiplyRows(m, t)
		scaledShort(m, sourceOf(t))
		scaledRows(m, sourceOf(t))
	}
}

// scaledOperands are what the terms of a row have in common.
type scaledOperands struct {
	c, low, most any
	magic        C   // with the exponent's bias
	below        any // below 1
	poly         []any
}

// scaledOf returns them but for the largest.
func (k kernel) scaledOf(w R) *scaledOperands {
	t := k.Arg("t")
	p := &scaledOperands{c: k.keepAt(w, 0, k.Broadcast(k.t, t, 0)), low: k.keepAt(w, 1, k.Broadcast(k.t, t, k.t.Bytes()))}
	if k.t == F32 {
		p.magic, p.below = k.konst(bits32(0x1.8p23+127)), k.konst(bits32(1-0x1p-23))
	} else {
		p.magic, p.below = k.konst(bits64(0x1.8p52+1023)), k.konst(bits64(1-0x1p-52))
	}
	for _, c := range k.poly {
		p.poly = append(p.poly, k.konst(c))
	}
	return p
}

// scaledTerm returns the terms of elements. all says that none is below the lowest that has one.
func (k kernel) scaledTerm(p *scaledOperands, xs []V, all bool) []V {
	n := len(xs)
	d, t, f, y := make([]V, n), make([]V, n), make([]V, n), make([]V, n)
	out, less := make([]M, n), make([]M, n)
	for i, x := range xs {
		d[i] = k.Sub(k.t, x, p.most)
	}
	for i := range xs {
		less[i] = k.Cmp(k.t, LT, d[i], k.konst(0))
		if !all {
			out[i] = k.Cmp(k.t, LT, d[i], p.low)
			d[i] = k.Max(k.t, p.low, d[i]) // NaN stays
		}
		t[i] = k.FMA(k.t, d[i], p.c, p.magic)
	}
	for i := range xs {
		f[i] = k.Sub(k.t, k.Copy(p.magic), t[i])
		k.FMATo(k.t, f[i], d[i], p.c)
	}
	for i := range xs {
		y[i] = k.FMA(k.t, f[i], p.poly[0], p.poly[1])
	}
	for _, c := range p.poly[2:] {
		for i := range xs {
			k.HornerTo(k.t, y[i], f[i], c)
		}
	}
	for i := range xs {
		y[i] = k.MinWhere(k.t, less[i], k.Mul(k.t, y[i], k.Shl(k.t.Int(), t[i], k.shift)), p.below)
		if !all {
			y[i] = k.Drop(out[i], y[i])
		}
	}
	return y
}

// scaledTerms emits the terms of rows of any length and their sums.
func scaledTerms(m Machine, s Source) {
	k := kernelOf(m, s.T())
	to := sourceOf(k.t).elementType()
	name := "ScaledTerms" + s.String()
	m.Func(name, name+` stores the terms of at most 64 rows of logits at dst, which may be x itself, and their sums in the work area w. The
		factor of distances to the largest logit, and the lowest distance that has a term, stand at t.`,
		walkArgs(s, Arg{"dst", to}, Arg{"dstStride", "int"}, Arg{"t", to}), nil)
	r := k.walk(s, "dst")
	stride := m.Arg("dstStride")
	m.ShlR(stride, log2(k.t.Bytes()))
	m.StoreR(r.w, workStride, 8, stride)
	p := k.scaledOf(r.w)
	in := k.tailMasks(r.w, r.n)

	m.Label("row")
	most, least := k.extremes("extremes", s, r.x, r.n, r.w, in).in(k)
	p.most = k.keepAt(r.w, 2, most)
	m.StoreR(r.w, workHeld, 8, m.GP(1))
	m.Any(k.Cmp(k.t, GE, k.Sub(k.t, least, p.most), p.low), "near_row")
	m.StoreR(r.w, workHeld, 8, m.GP(0))
	m.Label("near_row")
	wide := 8 * k.step / m.Width() // registers of float64 sums
	for i := range wide {
		m.Store(r.w, workRaw+i*m.Width(), m.Zero())
	}
	from, dst, left := m.CopyR(r.x), m.CopyR(r.y), m.CopyR(r.n)

	m.Label("block")
	n := m.GP(blockLength)
	m.MinR(n, left)
	m.SubR(left, n)
	sums := k.each(func(int) V { return m.Zero() })
	steps := func(g int, all bool) {
		side := min(g*k.units, k.abreast()*k.units)
		for first := 0; first < g*k.units; first += side {
			var xs []V
			for i := range side {
				xs = append(xs, k.LoadSource(s, from, (first+i)*vectorBytes(m, s)))
			}
			for i, e := range k.scaledTerm(p, xs, all) {
				m.AddTo(k.t, sums[(first+i)%k.units], e)
				m.Store(dst, (first+i)*m.Width(), e)
			}
		}
		m.AddR(dst, g*k.units*m.Width())
	}
	m.If(m.LoadR(r.w, workHeld, 8), NE, 0, "near")
	k.loop("far", s, from, n, func() { steps(1, false) })
	m.Jump("last")
	m.Label("near")
	if g := k.abreast(); k.units == 1 && g > 1 {
		m.If(n, LT, g*k.step, "near_rest")
		m.Label("near_many")
		for i := 0; i < g*k.stepBytes(s); i += 64 {
			m.Prefetch(from, aheadOfTempered+i)
		}
		steps(g, true)
		m.AddR(from, g*k.stepBytes(s))
		m.SubR(n, g*k.step)
		m.If(n, GE, g*k.step, "near_many")
		m.Label("near_rest")
	}
	k.loop("near_one", s, from, n, func() {
		m.Prefetch(from, aheadOfTempered)
		steps(1, true)
	})
	m.Label("last")
	m.If(n, EQ, 0, "folded")
	es := make([]V, k.units)
	k.ends(s, from, n, r.w, in, func(u int, x V, _ M) {
		es[u] = k.scaledTerm(p, []V{x}, false)[0]
		m.AddTo(k.t, sums[u], es[u])
	})
	m.StoreFirst(k.t, dst, n, es)
	m.Label("folded")
	for i, v := range k.widened(sums) {
		off := workRaw + i*m.Width()
		m.Store(r.w, off, m.Add(F64, v, m.Load(r.w, off)))
	}
	m.If(left, GT, 0, "block")
	var acc []V
	for i := range wide {
		acc = append(acc, m.Load(r.w, workRaw+i*m.Width()))
	}
	m.StoreLane(F64, r.wide, workS, k.butterfly(F64, acc, func(a, b V) V { return m.Add(F64, a, b) }))
	r.down("row", m.LoadR(r.w, workStride, 8))
	m.Return()
}

// scaledEnds emits what makes the factors of terms.
func scaledEnds(m Machine, t T) {
	v := vector64{m}
	name := "ScaledEnds" + sourceOf(t).String()
	m.Func(name, name+` makes what the terms of rows are multiplied by, and what is taken from their logits, of the sums and the largest
		logits in the work area w: n rows, a multiple of 8 that is at most 64.`,
		endArgs, nil)
	w, n := m.Arg("w"), m.Arg("n")
	m.Label("rows")
	store := func(off int, x V) {
		if t == F32 {
			x = m.LowInt(m.Narrow(x, x))
		}
		m.Store(w, off, x)
	}
	store(workScale, m.Div(F64, m.Copy(v.c(1)), m.Load(w, workS)))
	store(workSub, m.Load(w, workMax))
	m.AddR(w, m.Width())
	m.SubR(n, m.Width()/8)
	m.If(n, GT, 0, "rows")
	m.Return()
}

// multiplyRows emits what makes probabilities of terms.
func multiplyRows(m Machine, t T) {
	k := kernelOf(m, t)
	s := sourceOf(t)
	name := "MultiplyRows" + s.String()
	m.Func(name, name+" multiplies at most 64 rows by their scale in the work area w.", walkArgs(s), nil)
	w, x, rows, stride := m.Arg("w"), m.Arg("x"), m.Arg("rows"), m.Arg("stride")
	m.ShlR(stride, log2(s.Bytes()))
	m.Label("row")
	scale := m.Broadcast(t, w, workScale)
	at, left := m.CopyR(x), m.Arg("k")
	k.loop("elements", s, at, left, func() {
		for u := range k.units {
			m.Store(at, u*m.Width(), m.Mul(t, m.Load(at, u*m.Width()), scale))
		}
	})
	m.If(left, EQ, 0, "next")
	last := m.LoadFirst(s, at, left)
	for u := range last {
		last[u] = m.Mul(t, last[u], scale)
	}
	m.StoreFirst(t, at, left, last)
	m.Label("next")
	m.AddR(x, stride)
	m.AddR(w, 8)
	m.SubR(rows, 1)
	m.If(rows, GT, 0, "row")
	m.Return()
}

// scaledShort emits the sums of the terms of groups of rows of 1 to 32 logits, a row a lane.
func scaledShort(m Machine, s Source) {
	k := kernelOf(m, s.T())
	name := "ScaledShort" + s.String()
	m.Func(name, name+` stores the sums of the terms of at most 64 rows of 1 to 32 logits, and the largest, in the work area w. The number of
		rows is a multiple of the lanes of a register. The factor and the lowest distance stand at t.`,
		append(rowArgs(s), Arg{"t", s.elementType()}), nil)
	g := k.groupsOf(s)
	p := k.scaledOf(g.w)
	m.Label("group")
	most := k.Copy(k.minusInf())
	later := m.CopyR(g.x)
	k.transpose(g.rows, func(_, x V) {
		k.maxTo(most, x)
		m.Prefetch(later, shortAhead)
		m.AddR(later, m.Width())
	})
	g.column(workMax, most, nil)
	p.most = k.keepAt(g.w, 2, most)
	sum := m.Zero()
	k.columnLoop(g.rows, func(_, x V) { m.AddTo(k.t, sum, k.scaledTerm(p, []V{x}, false)[0]) })
	g.column(workS, sum, nil)
	g.next("group")
	m.Return()
}

// scaledRows emits the probabilities of rows, their largest and the factor of their terms being known.
func scaledRows(m Machine, s Source) {
	k := kernelOf(m, s.T())
	name := "ScaledRows" + s.String()
	to := sourceOf(k.t).elementType()
	m.Func(name, name+` writes the probabilities of at most 64 rows by their operands in the work area w. dst may be x itself.`,
		walkArgs(s, Arg{"dst", to}, Arg{"dstStride", "int"}, Arg{"t", to}), nil)
	r := k.walk(s, "dst")
	stride := m.Arg("dstStride")
	m.ShlR(stride, log2(k.t.Bytes()))
	m.StoreR(r.w, workStride, 8, stride)
	p := k.scaledOf(r.w)
	m.Label("row")
	p.most = m.Broadcast(k.t, r.wide, workSub)
	scale := m.Broadcast(k.t, r.wide, workScale)
	k.mapTo("elements", s, 1, m.CopyR(r.y), m.CopyR(r.x), m.CopyR(r.n), func(x V) V {
		var out bundle
		for _, x := range x.(bundle) {
			out = append(out, m.Mul(k.t, k.scaledTerm(p, []V{x}, false)[0], scale))
		}
		return out
	})
	r.down("row", m.LoadR(r.w, workStride, 8))
	m.Return()
}
