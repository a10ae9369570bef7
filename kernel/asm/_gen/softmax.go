package main

// The columns of the work area that softmax is made with, where sums stand that it does not need: of each row the term's
// reference, what is taken from its logits, and what its terms are multiplied by. They are float32 in the low half of 8
// bytes for float32 lanes.
const (
	workRef   = workH
	workSub   = workZTop
	workScale = workQ
	workNorm  = workQ // of log-softmax

	workStride = workReference + 24 // the stride of dst in bytes
	workTerms  = workReference + 32 // the bytes from an element to its term
)

func softmax(m Machine) {
	for _, t := range []T{F32, F64} {
		for _, short := range []bool{false, true} {
			softmaxEnds(m, t, short)
		}
	}
	logitNorms(m, "LogitNorms", "long", false)
	logitNorms(m, "LogitNormsShort", "short", true)
	logitRows(m, FromF32, true)
	scaleRows(m)
	for _, s := range sources {
		softmaxRows(m, s)
		logSoftmaxRows(m, s)
	}
}

var endArgs = []Arg{{"w", "*float64"}, {"n", "int"}}

// tail returns the sum of a row without its top.
func (v vector64) tail(w R) V {
	s := v.Load(w, workS)
	return v.Keep(v.Cmp(F64, GE, s, v.c(0x1p-90)), s)
}

// softmaxEnds emits what makes the operands of rows from their sums.
func softmaxEnds(m Machine, t T, short bool) {
	k, v := kernelOf(m, t), vector64{m}
	name, what := "SoftmaxEnds"+sourceOf(t).String(), "long"
	if short {
		name, what = "SoftmaxEndsShort"+sourceOf(t).String(), "short"
	}
	m.Func(name, name+" makes the operands of SoftmaxRows of the sums of "+what+` rows in the work area w: n rows, a multiple
		of 8 that is at most 64.`, endArgs, nil)
	w, n := m.Arg("w"), m.Arg("n")
	narrow := func(x V) V {
		if t == F32 {
			return m.Narrow(x, x)
		}
		return x
	}
	store := func(off int, x V) {
		if t == F32 {
			x = m.LowInt(x)
		}
		m.Store(w, off, x)
	}
	m.Label("rows")
	s := v.tail(w)
	most := narrow(m.Load(w, workMax))
	one := m.Copy(v.c(1))
	if short {
		store(workScale, narrow(m.Div(F64, one, v.add(s, one))))
		store(workRef, m.Zero())
		store(workSub, most)
	} else {
		store(workScale, narrow(m.Div(F64, one, v.add(m.Load(w, workETop), s))))
		store(workRef, m.Ceil(t, m.Mul(t, most, k.konst(k.log2e))))
		store(workSub, m.Zero())
	}
	m.AddR(w, m.Width())
	m.SubR(n, m.Width()/8)
	m.If(n, GT, 0, "rows")
	m.Return()
}

// logitNorms emits the log-sum-exp of rows from their sums.
func logitNorms(m Machine, name, what string, short bool) {
	v := vector64{m}
	m.Func(name, name+" makes the log-sum-exp of "+what+` rows of their sums in the work area w: n rows, a multiple of 8 that
		is at most 64.`, append(append([]Arg(nil), endArgs...), Arg{"norm", "*float64"}), nil)
	w, n, norm := m.Arg("w"), m.Arg("n"), m.Arg("norm")
	m.Label("rows")
	s := v.tail(w)
	if !short {
		s = m.Div(F64, s, m.Load(w, workETop))
	}
	m.Store(norm, 0, v.add(m.Load(w, workMax), v.log1p(s)))
	m.AddR(w, m.Width())
	m.AddR(norm, m.Width())
	m.SubR(n, m.Width()/8)
	m.If(n, GT, 0, "rows")
	m.Return()
}

// eachRow emits a function that writes rows. prepare is called before the loop over rows; what it returns is called for
// each, where the row's operands stand, and returns what makes results of elements.
func (k kernel) eachRow(name, doc string, s Source, prepare func(r *rows) func() func(x V) V) {
	out := sourceOf(k.t)
	k.Func(name, name+doc, walkArgs(s, Arg{"dst", out.elementType()}, Arg{"dstStride", "int"}), nil)
	r := k.walk(s, "dst")
	stride := k.Arg("dstStride")
	k.ShlR(stride, log2(out.Bytes()))
	k.StoreR(r.w, workStride, 8, stride)
	operands := prepare(r)
	k.Label("row")
	odd := k.CopyR(r.wide)
	k.SubR(odd, r.w)
	k.ShrR(odd, 1)
	k.AddR(odd, r.w)
	k.If(k.LoadR(odd, workOdd, 4), NE, 0, "next")
	k.mapTo("elements", s, k.together(), k.CopyR(r.y), k.CopyR(r.x), k.CopyR(r.n), operands())
	k.Label("next")
	r.down("row", k.LoadR(r.w, workStride, 8))
	k.Return()
}

func softmaxRows(m Machine, s Source) {
	k := kernelOf(m, s.T())
	k.eachRow("SoftmaxRows"+s.String(), ` writes the probabilities of at most 64 rows, but of the odd ones, by their operands in
		the work area w. dst may be x itself.`, s, func(r *rows) func() func(V) V {
		p := &exponents{log2e: k.Pin(k.konst(k.log2e))}
		p.pin(k)
		return func() func(V) V {
			ref := m.Broadcast(k.t, r.wide, workRef)
			p.c = k.Sub(k.t, k.Copy(k.konst(k.magic)), ref)
			lo := k.Mul(k.t, k.Sub(k.t, ref, k.konst(k.lowest)), k.konst(k.ln2))
			sub, scale := m.Broadcast(k.t, r.wide, workSub), m.Broadcast(k.t, r.wide, workScale)
			k, p := k.bundled(), *p
			// What is not below lo needs no clamp, and what is below is 0 whatever its term is.
			return func(x V) V {
				x = k.Sub(k.t, x, sub)
				within := k.Cmp(k.t, GE, x, lo)
				return k.Keep(within, k.Mul(k.t, k.pow2(&p, x), scale))
			}
		}
	})
}

func logSoftmaxRows(m Machine, s Source) {
	k := kernelOf(m, s.T())
	k.eachRow("LogSoftmaxRows"+s.String(), ` writes the logarithms of the probabilities of at most 64 rows, but of the odd ones:
		what the logits are above the row's norm in the work area w. dst may be x itself.`, s, func(r *rows) func() func(V) V {
		return func() func(V) V {
			norm := m.Broadcast(F64, r.wide, workNorm)
			m := bundler{m}
			return func(x V) V {
				if k.t == F64 {
					return m.Sub(F64, x, norm)
				}
				return m.Narrow(m.Sub(F64, m.Low(x), norm), m.Sub(F64, m.High(x), norm))
			}
		}
	})
}

// scaleRows emits what makes probabilities of terms.
func scaleRows(m Machine) {
	k := kernelOf(m, F32)
	m.Func("ScaleRowsF32", `ScaleRowsF32 multiplies the terms of at most 64 rows by their scale in the work area w, and returns whether
		one is below 2**-124 of its reference, as clamped ones and 0 are, or may be because one is NaN.`,
		[]Arg{{"w", "*float64"}, {"x", "*float32"}, {"rows", "int"}, {"k", "int"}, {"stride", "int"}}, []Arg{{"low", "int"}})
	w, x, rows, stride := m.Arg("w"), m.Arg("x"), m.Arg("rows"), m.Arg("stride")
	m.ShlR(stride, 2)
	least := make([]V, k.units)
	for u := range least {
		least[u] = m.Copy(k.konst(k.inf))
	}
	m.Label("row")
	scale := m.Broadcast(F32, w, workScale)
	at, left := m.CopyR(x), m.Arg("k")
	k.loop("terms", FromF32, at, left, func() {
		for u := range k.units {
			v := m.Load(at, u*m.Width())
			m.Move(least[u], m.Min(F32, v, least[u]))
			m.Store(at, u*m.Width(), m.Mul(F32, v, scale))
		}
	})
	m.If(left, EQ, 0, "next")
	last := m.LoadFirst(FromF32, at, left)
	var out []V
	for u, in := range m.FirstLanes(F32, left) {
		m.BlendTo(in, least[u], m.Min(F32, last[u], least[u]))
		out = append(out, m.Mul(F32, last[u], scale))
	}
	m.StoreFirst(F32, at, left, out)
	m.Label("next")
	m.AddR(x, stride)
	m.AddR(w, 8)
	m.SubR(rows, 1)
	m.If(rows, GT, 0, "row")
	low := m.GP(1)
	for u := range least {
		m.Any(m.NotM(m.Cmp(F32, GE, least[u], k.konst(bits32(0x1p-124)))), "some")
	}
	m.MoveR(low, m.GP(0))
	m.Label("some")
	m.Result("low", low)
	m.Return()
}
