package main

// ahead is how far rows are prefetched, in bytes.
const ahead = 12288

// aheadOfLogits is the same for logits, of which the next row or block is looked at 4 KB ahead: what is fetched much earlier
// than that is in the first cache for too long. LogitStats of rows of 1,000 float32 takes 4.6 ns for 64 bytes so, with ahead
// 5.4, with 4,096 4.9, and reading them takes 4.4 (Sapphire Rapids).
const aheadOfLogits = 6144

var sources = []Source{FromF32, FromF64, FromF16, FromBF16}

// elementType is what a pointer to elements of a source is in Go.
func (s Source) elementType() string {
	return [...]string{"*float32", "*float64", "*uint16", "*uint16"}[s]
}

func logits(m Machine) {
	for _, s := range sources {
		logitRows(m, s, false)
		logitBlock(m, s)
		maximum(m, s)
	}
}

// exponents is what the terms of a row have in common: operands that hold it in all lanes.
type exponents struct {
	log2e, c, lo any
	magic        any
	poly         []any
}

// exponentsOf returns them for a reference.
func (k kernel) exponentsOf(w R, ref V) *exponents {
	e := &exponents{log2e: k.Pin(k.konst(k.log2e)), magic: k.Pin(k.konst(k.magic))}
	e.pin(k)
	k.setReference(e, w, ref)
	return e
}

// setReference makes the operands that depend on the reference.
func (k kernel) setReference(e *exponents, w R, ref V) {
	e.c = k.keepAt(w, 0, k.Sub(k.t, e.magic, ref))
	e.lo = k.Mul(k.t, k.Sub(k.t, ref, k.konst(k.lowest)), k.konst(k.ln2))
}

// pin makes operands of the polynomial's coefficients.
func (e *exponents) pin(k kernel) {
	for i, c := range k.poly {
		e.poly = append(e.poly, k.konst(c))
		if i < k.coefficients() {
			e.poly[i] = k.Pin(e.poly[i])
		}
	}
}

// term returns 2**z and z = x*log2e - reference.
func (k kernel) term(p *exponents, x V) (e, z V) {
	e, t, f := k.power(p, k.Max(k.t, p.lo, x))
	return e, k.Sub(k.t, f, k.Sub(k.t, p.magic, t))
}

// pow2 returns 2**(x*log2e - reference) of clamped x.
func (k kernel) pow2(p *exponents, x V) V {
	e, _, _ := k.power(p, x)
	return e
}

// power returns the same, the magic number plus the integer part of the exponent, and the rest of it.
func (k kernel) power(p *exponents, x V) (e, t, f V) {
	t = k.FMA(k.t, x, p.log2e, p.c)
	f = k.FMA(k.t, x, p.log2e, k.Sub(k.t, p.c, t))
	y := k.FMA(k.t, f, p.poly[0], p.poly[1])
	for _, c := range p.poly[2:] {
		k.HornerTo(k.t, y, f, c)
	}
	return k.Add(k.t.Int(), y, k.Shl(k.t.Int(), t, k.shift)), t, f
}

// lanesOf are the sums of a block.
type lanesOf struct {
	s, q, h []V
	index   []V // the sum of the indices of held out elements, each with 2**16
	out     *termsOut
}

// termsOut is where the terms of a row go, if they are wanted.
type termsOut struct {
	w R // has the bytes from an element to its term
}

func (o *termsOut) jump(k kernel) R { return k.LoadR(o.w, workTerms, 8) }

func (k kernel) newLanes(q, h uint64) *lanesOf {
	start := func(bits uint64) []V {
		return k.each(func(int) V {
			if bits == 0 {
				return k.Zero()
			}
			return k.Copy(k.konst(bits))
		})
	}
	return &lanesOf{s: start(0), q: start(q), h: start(h), index: start(0)}
}

// bytes of 64 bytes' lanes in memory.
func (k kernel) stepBytes(s Source) int { return k.step * s.Bytes() }

// vectorBytes is what one register's lanes are in memory.
func vectorBytes(m Machine, s Source) int { return lanes(m, s.T()) * s.Bytes() }

// loop emits body for n/step steps, with p moving on, and leaves n mod step in n. The label is the loop's name.
func (k kernel) loop(name string, s Source, p, n R, body func()) {
	k.If(n, LT, k.step, name+"_end")
	k.Label(name)
	body()
	k.AddR(p, k.stepBytes(s))
	k.SubR(n, k.step)
	k.If(n, GE, k.step, name)
	k.Label(name + "_end")
}

// tail calls f for every register of the first n elements at p, the other lanes of which are -Inf.
func (k kernel) tail(s Source, p, n, w R, f func(u int, x V)) {
	low := k.Const(k.t, k.inf|(k.absMask+1))
	x := k.LoadFirst(s, p, n)
	for u, q := range k.FirstLanes(k.t, n) {
		x[u] = k.Blend(q, x[u], k.Copy(low))
	}
	if k.units > 1 { // a level with small registers has no room for all of them at once
		for u := range x {
			k.Store(w, workTail+u*k.Width(), x[u])
		}
	}
	for u, v := range x {
		if k.units > 1 {
			v = k.Load(w, workTail+u*k.Width())
		}
		f(u, v)
	}
}

// maximum emits the functions that find the largest of n elements and its index.
func maximum(m Machine, s Source) {
	k := kernelOf(m, s.T())
	args := []Arg{{"w", "*float64"}, {"x", s.elementType()}, {"n", "int"}}
	name := "Max" + s.String()
	m.Func(name, name+` stores the largest of n elements, n > 0, in the work area w, as an element of the widened type. With a
		NaN among them it is any of them.`, args, nil)
	w, x, n := m.Arg("w"), m.Arg("x"), m.Arg("n")
	m.StoreLane(k.t, w, workLargest, k.largest("max", s, x, n, w, k.tailMasks(w, n)))
	m.Return()

	name = "Index" + s.String()
	m.Func(name, name+` returns the index of the first of n elements, n > 0, that equals what the Max function has stored in the
		work area w; 1<<30 if there is none.`, args, []Arg{{"i", "int"}})
	w, x, n = m.Arg("w"), m.Arg("x"), m.Arg("n")
	first := k.firstEqual("first", s, x, n, w, m.Broadcast(k.t, w, workLargest))
	m.StoreLane(k.t, w, workRoom, first)
	m.Result("i", m.LoadR(w, workRoom, k.t.Bytes()))
	m.Return()
}

// counter returns a register that counts elements in its lanes, from the number first on.
func (k kernel) counter(first uint64) (cur V, next func()) {
	i := k.t.Int()
	cur = k.Add(i, k.Copy(k.Iota(i)), k.Const(i, first))
	return cur, func() { k.AddTo(i, cur, k.Const(i, uint64(k.step))) }
}

// firstEqual returns the index of the first element that equals v, in all lanes.
func (k kernel) firstEqual(name string, s Source, x, n, w R, v V) V {
	i := k.t.Int()
	const none = 1 << 30
	cur, next := k.counter(0)
	first := k.Copy(k.Const(i, none))
	look := func(u int, x V) {
		j := k.Add(i, cur, k.Const(i, uint64(u*lanes(k.Machine, k.t))))
		j = k.Blend(k.Cmp(k.t, EQ, x, v), j, k.Copy(k.Const(i, none)))
		k.BlendTo(k.Cmp(i, GT, first, j), first, j)
	}
	at, left := k.CopyR(x), k.CopyR(n)
	load := func(u int) V { return k.LoadSource(s, at, u*vectorBytes(k.Machine, s)) }
	k.loop(name, s, at, left, func() {
		some := k.Cmp(k.t, EQ, load(0), v)
		for u := 1; u < k.units; u++ {
			some = k.OrM(some, k.Cmp(k.t, EQ, load(u), v))
		}
		k.Any(some, name+"_found")
		next()
	})
	k.If(left, EQ, 0, name+"_done")
	k.tail(s, at, left, w, look)
	k.Jump(name + "_done")
	k.Label(name + "_found")
	for u := range k.units {
		look(u, load(u))
	}
	k.Label(name + "_done")
	return k.butterfly(i, []V{first}, func(a, b V) V { return k.Blend(k.Cmp(i, GT, a, b), b, a) })
}

// under64 is under as float64.
func (k kernel) under64() C {
	if k.t == F32 {
		return k.Const(F64, bits64(0x1p-120))
	}
	return k.Const(F64, k.under)
}

// unlifted returns the lanes as float64, those of squares and exponents without what they started from.
func (k kernel) unlifted(v []V, start C) []V {
	out := k.widened(v)
	if start != nil {
		for i := range out {
			out[i] = k.Sub(F64, out[i], start)
		}
	}
	return out
}

// logitBlock emits the function that adds the terms of a block to the float64 lanes.
func logitBlock(m Machine, s Source) {
	k := kernelOf(m, s.T())
	m.Func("LogitBlock"+s.String(), "LogitBlock"+s.String()+` adds the terms of n elements, but for the one with the
		index held, to the float64 lanes at acc: 16 of their sum, of the squares, of term times exponent. held, -1 for none, and the
		reference, as an element of the widened type, stand in the work area w. Where jump is not 0, and the level is one of amd64, the
		largest of the n elements that stand jump bytes beyond x is stored as the Max function does it.`,
		[]Arg{{"acc", "*float64"}, {"w", "*float64"}, {"x", s.elementType()}, {"n", "int"}, {"jump", "int"}}, nil)
	w, x, n := m.Arg("w"), m.Arg("x"), m.Arg("n")
	p := k.exponentsOf(w, m.Broadcast(k.t, w, workReference))
	a := k.newLanes(k.under, 0)
	var l *lookAhead
	if k.amd64() != nil {
		l = k.lookAhead(m.Copy(k.minusInf()), m.Arg("jump"))
	}
	in := k.tailMasks(w, n)
	m.If(m.LoadR(w, workHeld, 8), GE, 0, "hold")
	k.heldOut("all", s, p, a, nothing{}, l, x, n, w, in)
	m.Jump("sums")
	m.Label("hold")
	k.heldOut("others", s, p, a, k.indexed(w, m.Broadcast(k.t, w, workHeld)), l, x, n, w, in)
	m.Label("sums")
	if l != nil {
		m.If(l.jump, EQ, 0, "alone")
		m.StoreLane(k.t, w, workLargest, l.found())
		m.Label("alone")
	}
	acc := m.Arg("acc")
	for i, v := range [][]V{a.s, a.q, a.h} {
		var start C
		if i == 1 {
			start = k.under64()
		}
		for j, r := range k.unlifted(v, start) {
			off := i*128 + j*m.Width()
			m.Store(acc, off, k.Add(F64, m.Load(acc, off), r))
		}
	}
	m.Return()
}

// rows are the registers that walk over the rows of a matrix and their columns.
type rows struct {
	k      kernel
	s      Source
	w      R // the work area
	x, y   R // the row, its label
	wide   R // the row's place in columns of 8 bytes
	n      R // elements of a row
	left   R // rows that are left
	stride R // in bytes
	group  R // the place of the first of the eight rows that are folded together
}

var rowArgs = func(s Source) []Arg {
	return []Arg{{"w", "*float64"}, {"x", s.elementType()}, {"rows", "int"}, {"k", "int"}, {"stride", "int"}, {"labels", "*int32"}}
}

func (k kernel) rowsOf(s Source) *rows {
	r := &rows{k: k, s: s, w: k.Arg("w"), x: k.Arg("x"), left: k.Arg("rows"), n: k.Arg("k"), stride: k.Arg("stride"), y: k.Arg("labels")}
	r.wide = k.CopyR(r.w)
	k.StoreR(r.w, workAny, 8, k.GP(0))
	k.ShlR(r.stride, log2(s.Bytes()))
	return r
}

// step moves on by a row.
func (r *rows) step() {
	k := r.k
	k.AddR(r.x, r.stride)
	k.AddR(r.y, 4)
	k.AddR(r.wide, 8)
	k.SubR(r.left, 1)
}

// nextFolded does the same, with what fold emits where eight rows are done, or all.
func (r *rows) nextFolded(label string, fold func()) {
	k := r.k
	r.step()
	k.If(r.left, EQ, 0, "fold")
	at := k.CopyR(r.wide)
	k.SubR(at, r.group)
	k.If(at, LT, 64, label)
	k.Label("fold")
	fold()
	k.AddR(r.group, 64)
	k.If(r.left, GT, 0, label)
}

// raw returns where the row's lanes wait for the fold, as an address that workRaw is added to.
func (r *rows) raw() R {
	p := r.k.CopyR(r.wide)
	r.k.SubR(p, r.group)
	r.k.ShlR(p, 5)
	r.k.AddR(p, r.w)
	return p
}

// rawMax returns the same for the row's largest element.
func (r *rows) rawMax() R {
	p := r.k.CopyR(r.wide)
	r.k.SubR(p, r.group)
	if r.k.t == F32 {
		r.k.ShrR(p, 1)
	}
	r.k.AddR(p, r.w)
	return p
}

// narrow returns the row's place in columns of 4 bytes.
func (r *rows) narrow() R { return r.narrowed(r.wide) }

// narrowed returns the place in columns of 4 bytes that belongs to one in columns of 8.
func (r *rows) narrowed(wide R) R {
	p := r.k.CopyR(wide)
	r.k.SubR(p, r.w)
	r.k.ShrR(p, 1)
	r.k.AddR(p, r.w)
	return p
}

// setOdd notes that a row is odd.
func (r *rows) setOdd() { r.k.StoreR(r.w, workAny, 8, r.k.GP(1)) }

// result returns whether a row is odd.
func (r *rows) result() { r.k.Result("odd", r.k.LoadR(r.w, workAny, 8)) }

// column stores lane 0 of the row's value, as float64.
func (r *rows) column(off int, v V) {
	if r.k.t == F32 {
		v = r.k.Low(v)
	}
	r.k.StoreLane(F64, r.wide, off, v)
}

// labelled stores the label's element, a NaN if there is no such class.
func (r *rows) labelled() {
	k := r.k
	r.label("no_class")
	k.Jump("has_class")
	k.Label("no_class")
	k.StoreR(r.wide, workY, 8, k.GP(0x7ff8<<48))
	k.Label("has_class")
}

// label stores the label's element, and jumps to bad if there is no such class.
func (r *rows) label(bad string) {
	k := r.k
	y := k.LoadR(r.y, 0, 4)
	k.If(y, UHS, r.n, bad)
	k.ShlR(y, log2(r.s.Bytes()))
	k.AddR(y, r.x)
	r.column(workY, k.BroadcastSource(r.s, y, 0))
}

// logitRows emits the sums of rows of 33 to 1,024 logits, and stores their terms if they are wanted.
func logitRows(m Machine, s Source, terms bool) {
	k := kernelOf(m, s.T())
	name, doc := "LogitRows"+s.String(), ""
	if terms {
		name = "LogitTermRows" + s.String()
		doc = ` The terms of elements are stored at dst, as far apart as they are, those of the largest as they are or as 0. What is
			clamped has the term that it is clamped to.`
	}
	args := rowArgs(s)
	if terms {
		args = append(args, Arg{"dst", "*float32"})
	}
	m.Func(name, name+` stores the sums of at most 64 rows of 33 to 1,024 logits in the
		columns of the work area w. odd is not 0 if a row is odd, by its place in that column, and the rest of its columns means
		nothing: 1 for a fault, a bad label or a reference out of range, 2 for several elements that are the largest.`+doc,
		args, []Arg{{"odd", "int"}})
	r := k.rowsOf(s)
	r.group = k.CopyR(r.w)
	if terms {
		jump := k.Arg("dst")
		k.SubR(jump, r.x)
		k.StoreR(r.w, workTerms, 8, jump)
	}
	p := &exponents{log2e: k.Pin(k.konst(k.log2e)), magic: k.Pin(k.konst(k.magic))}
	p.pin(k)
	in := k.tailMasks(r.w, r.n)
	k.prepare(r.w)

	first := func() V { return k.largest("max", s, r.x, r.n, r.w, in) }
	var l *lookAhead
	if k.amd64() != nil {
		l = k.lookAhead(first(), k.GP(0))
	}
	m.Label("row")
	var best V
	if l != nil {
		best = l.start(r)
	} else {
		best = first()
	}
	k.StoreLane(k.t, r.rawMax(), workRawMax, best)
	k.setReference(p, r.w, k.Ceil(k.t, k.Mul(k.t, best, k.konst(k.log2e))))

	a := k.newLanes(k.under, 0)
	if terms {
		a.out = &termsOut{r.w}
	}
	f := k.search(r.w, best, a.index)
	k.heldOut("terms", s, p, a, f, l, r.x, r.n, r.w, in)
	raw := r.raw()
	for i, v := range [][]V{a.s, a.q, a.h} {
		for u := range v {
			k.Store(raw, workRaw+64*i+u*k.Width(), v[u])
		}
	}
	f.store(r)
	r.labelled()
	r.nextFolded("row", func() { k.foldGroup(r, [3]C{1: k.under64()}, func() { k.logitTops(r, p) }) })
	r.result()
	m.Return()
}
