package main

import "math"

// What rows of 33 to 1,024 elements share: their lanes are stored as they are, and those of eight rows folded together.

// together is how many registers of elements go through a row's arithmetic side by side: a chain of dependent
// instructions would fill the scheduler of the CPU.
func (k kernel) together() int {
	if k.Level() == "avx512" {
		return 4
	}
	return 1
}

// abreast is the same for the terms of logits, which need fewer registers.
func (k kernel) abreast() int {
	if k.Level() == "avx2" {
		return 2
	}
	return k.together()
}

// tailMasks returns the masks of the elements after the last 64 bytes of n, to be used again for every row.
func (k kernel) tailMasks(w, n R) []M {
	if k.units > 1 {
		return nil // they would take too many registers
	}
	rest := k.CopyR(n)
	k.AndR(rest, k.step-1)
	return k.FirstLanes(k.t, rest)
}

// ends calls f for every register of the first n elements at p, the other lanes of which are -Inf, with its mask.
func (k kernel) ends(s Source, p, n, w R, in []M, f func(u int, x V, in M)) {
	low := k.Const(k.t, k.inf|(k.absMask+1))
	if k.units == 1 {
		x := k.LoadWhere(s, p, in[0])
		f(0, k.Blend(in[0], x, k.Copy(low)), in[0])
		return
	}
	k.tail(s, p, n, w, func(u int, x V) { f(u, x, k.FirstLanes(k.t, n)[u]) })
}

// largest emits the maximum of n > 0 elements; in all lanes.
func (k kernel) largest(name string, s Source, x, n, w R, in []M) V {
	p, left := k.CopyR(x), k.CopyR(n)
	const chains = 4
	best := make([]V, max(chains, k.units))
	low := k.Const(k.t, k.inf|(k.absMask+1))
	for i := range best {
		best[i] = k.Copy(low)
	}
	per := len(best) / k.units * k.step
	k.If(left, LT, per, name+"_rest")
	k.Label(name)
	for i := range best {
		k.Move(best[i], k.Max(k.t, best[i], k.LoadSource(s, p, i*vectorBytes(k.Machine, s))))
	}
	k.AddR(p, per*s.Bytes())
	k.SubR(left, per)
	k.If(left, GE, per, name)
	k.Label(name + "_rest")
	k.loop(name+"_one", s, p, left, func() {
		for u := range k.units {
			k.Move(best[u], k.Max(k.t, best[u], k.LoadSource(s, p, u*vectorBytes(k.Machine, s))))
		}
	})
	k.If(left, EQ, 0, name+"_done")
	k.ends(s, p, left, w, in, func(u int, x V, _ M) { k.Move(best[len(best)-1-u], k.Max(k.t, best[len(best)-1-u], x)) })
	k.Label(name + "_done")
	return k.butterfly(k.t, best, func(a, b V) V { return k.Max(k.t, a, b) })
}

// A holder tells which elements of a block are left out of its sums: others returns, for registers of elements, which are not,
// or nil for all. first is the number of the first register in its 64 bytes; in, if not nil, has the lanes that are
// elements. next moves on by n elements.
type holder interface {
	others(first int, xs []V, in []M) []M
	next(n int)
}

// nothing is held out.
type nothing struct{}

func (nothing) others(_ int, _ []V, in []M) []M { return in }
func (nothing) next(int)                        {}

// An indexed holds out the element with an index.
type indexed struct {
	k   kernel
	cur V     // the numbers of the elements of the first register
	out []any // for each register, the number less its place
}

// indexed returns the holder of the element whose index is in all lanes of index.
func (k kernel) indexed(w R, index V) *indexed {
	i := k.t.Int()
	x := &indexed{k: k}
	x.cur, _ = k.counter(0)
	for u := range max(k.units, k.abreast()) {
		x.out = append(x.out, k.keepAt(w, 2+u, k.Sub(i, index, k.Const(i, uint64(u*lanes(k.Machine, k.t))))))
	}
	return x
}

func (x *indexed) others(first int, xs []V, in []M) (keep []M) {
	for j := range xs {
		q := x.k.NotM(x.k.Cmp(x.k.t.Int(), EQ, x.cur, x.out[first+j]))
		if in != nil {
			q = x.k.AndM(q, in[j])
		}
		keep = append(keep, q)
	}
	return keep
}

func (x *indexed) next(n int) {
	i := x.k.t.Int()
	x.k.AddTo(i, x.cur, x.k.Const(i, uint64(n)))
}

// A search holds out the elements of a row that equal its largest, and finds their index.
//
// Where masks become bits they are stored, one for each element, and the one that is not set is looked for. Elsewhere the
// indices of all elements that are held out are summed, each with 2**16, above which they are counted.
type search struct {
	k     kernel
	w     R
	value any
	to    R   // masks: the place of the next
	cur   V   // sums: the numbers of the elements of the first register
	index []V // sums
}

// prepare emits what search needs once in a function.
func (k kernel) prepare(w R) {
	if k.amd64() != nil {
		ones := k.Copy(k.Const(I32, 1<<32-1))
		for o := 0; o < 128; o += k.Width() {
			k.Store(w, workMasks+o, ones)
		}
	}
}

// amd64 returns the machine if it is one of amd64.
func (k kernel) amd64() *amd64 {
	m, _ := k.Machine.(*amd64)
	return m
}

func (k kernel) search(w R, best V, index []V) *search {
	s := &search{k: k, w: w, value: k.keepAt(w, 2, best), index: index}
	if k.amd64() != nil {
		s.to = k.CopyR(w)
	} else {
		s.cur = k.Copy(k.floatIota(1 << 16))
	}
	return s
}

// others returns, for registers of elements, which of them are not held out. first is the number of the first register
// in its 64 bytes; in, if not nil, has the lanes that are elements.
func (s *search) others(first int, xs []V, in []M) (out []M) {
	k := s.k
	for i, x := range xs {
		if m := k.amd64(); m != nil {
			q := k.Cmp(k.t, NE, x, s.value)
			stored := q
			if in != nil {
				stored = k.OrM(q, k.NotM(in[i]))
				q = k.AndM(q, in[i])
			}
			m.storeBits(s.to, workMasks, first+i, stored)
			out = append(out, q)
			continue
		}
		q := k.Cmp(k.t, EQ, x, s.value)
		c := any(s.cur)
		if o := (first + i) * lanes(k.Machine, k.t); o != 0 {
			c = k.Add(k.t, s.cur, k.konst(k.number(float64(o))))
		}
		k.AddTo(k.t, s.index[(first+i)%k.units], k.Keep(q, c))
		q = k.NotM(q)
		if in != nil {
			q = k.AndM(q, in[i])
		}
		out = append(out, q)
	}
	return out
}

// next moves on by n elements.
func (s *search) next(n int) {
	if s.to != nil {
		s.k.AddR(s.to, n/8)
		return
	}
	s.k.AddTo(s.k.t, s.cur, s.k.konst(s.k.number(float64(n))))
}

// store keeps what the fold makes the row's index of.
func (s *search) store(r *rows) {
	k := s.k
	if m := k.amd64(); m != nil {
		at := m.unsetBit(s.w, workMasks)
		k.AddR(at, k.GP(0x4330000000000000+1<<16)) // as the float64 2**52 + 2**16 + index
		p := k.CopyR(r.wide)
		k.SubR(p, r.group)
		k.AddR(p, s.w)
		k.StoreR(p, workIndex, 8, at)
		return
	}
	raw := r.raw()
	for u := range s.index {
		k.Store(raw, workRaw+64*3+u*k.Width(), s.index[u])
	}
}

// indices returns the indices of as many rows as a register has lanes of float64, whose lanes stand at raw and whose sums at cols:
// with 2**16, and more than 2**17 if several elements are the largest.
func (k kernel) indices(r *rows, raw, cols R) V {
	if k.amd64() != nil {
		at := k.CopyR(cols)
		k.SubR(at, r.group)
		k.AddR(at, r.w)
		return k.Sub(F64, k.Load(at, workIndex), k.Const(F64, bits64(0x1p52)))
	}
	var regs []V
	for row := range lanes(k.Machine, F64) {
		regs = append(regs, k.rawLanes(raw, workRaw+256*row+64*3, nil))
	}
	return k.foldRows(regs)
}

// A lookAhead takes the maximum of the next row while this row's terms are made: so memory is read at an even pace.
type lookAhead struct {
	m    *amd64
	k    kernel
	best V // of what has been seen of the next row
	jump R // to the next row; 0 on the last, which stands for it
}

// lookAhead returns nil where registers are too few.
func (k kernel) lookAhead(first V, jump R) *lookAhead {
	if m := k.amd64(); m != nil {
		return &lookAhead{m: m, k: k, best: k.Copy(first), jump: jump}
	}
	return nil
}

// start returns the row's largest element in all lanes, and begins with the next row.
func (l *lookAhead) start(r *rows) V {
	k := l.k
	best := l.found()
	k.Move(l.best, k.Copy(k.minusInf()))
	k.MoveR(l.jump, r.stride)
	k.If(r.left, GT, 1, "next_row")
	k.MoveR(l.jump, k.GP(0))
	k.Label("next_row")
	return best
}

// found returns the largest element seen, in all lanes.
func (l *lookAhead) found() V {
	k := l.k
	return k.butterfly(k.t, []V{k.Copy(l.best)}, func(a, b V) V { return k.Max(k.t, a, b) })
}

func (l *lookAhead) see(s Source, p R, off int) {
	if l != nil {
		l.k.Move(l.best, l.k.Max(l.k.t, l.best, l.m.loadBeyond(s, p, l.jump, off, nil)))
	}
}

// seeTail sees the first n elements, fewer than 64 bytes of lanes.
func (l *lookAhead) seeTail(s Source, p, n, w R, in []M) {
	if l == nil {
		return
	}
	k := l.k
	take := func(_ int, x V) { k.Move(l.best, k.Max(k.t, l.best, x)) }
	if k.units == 1 {
		take(0, k.Blend(in[0], l.m.loadBeyond(s, p, l.jump, 0, in[0]), k.Copy(k.minusInf())))
		return
	}
	beyond := k.CopyR(p)
	k.AddR(beyond, l.jump)
	k.tail(s, beyond, n, w, take)
}

// minusInf is -Inf.
func (k kernel) minusInf() C { return k.konst(k.inf | (k.absMask + 1)) }

// heldOut emits the sums of the terms of n elements but for those that f holds out.
func (k kernel) heldOut(name string, s Source, p *exponents, a *lanesOf, f holder, l *lookAhead, x, n, w R, in []M) {
	var at R
	// late says that elements are compared after their terms are made: masks would take too many registers until then.
	late := k.units > 1
	var ends []V // terms of the last elements
	step := func(first, off int, load func(i int) V, n int, in []M) {
		var xs []V
		for i := range n {
			xs = append(xs, load(i))
		}
		var keep []M
		if !late {
			keep = f.others(first, xs, in)
		}
		es, zs := k.termsOf(p, xs, keep)
		for i, e := range es {
			if a.out != nil && in != nil {
				ends = append(ends, e)
			} else if a.out != nil {
				k.StoreBeyond(at, a.out.jump(k), off+i*vectorBytes(k.Machine, s), e)
			}
			if late {
				var part []M
				if in != nil {
					part = in[i : i+1]
				}
				if keep := f.others(first+i, []V{load(i)}, part); keep != nil {
					e = k.Keep(keep[0], e)
				}
			}
			u := (first + i) % k.units
			k.AddTo(k.t, a.s[u], e)
			k.FMATo(k.t, a.q[u], e, e)
			k.FMATo(k.t, a.h[u], e, zs[i])
		}
	}
	at = k.CopyR(x)
	left := k.CopyR(n)
	load := func(i int) V { return k.LoadSource(s, at, i*vectorBytes(k.Machine, s)) }
	// many emits steps of g registers.
	many := func(name string, g int) {
		per := g * lanes(k.Machine, k.t)
		k.If(left, LT, per, name+"_end")
		k.Label(name)
		for i := range g {
			if i*vectorBytes(k.Machine, s)%64 == 0 {
				k.Prefetch(at, aheadOfLogits+i*vectorBytes(k.Machine, s))
			}
			l.see(s, at, i*vectorBytes(k.Machine, s))
		}
		for o := 0; o < g; o += k.abreast() {
			step(o, o*vectorBytes(k.Machine, s), func(i int) V { return load(o + i) }, min(k.abreast(), g-o), nil)
		}
		f.next(per)
		k.AddR(at, per*s.Bytes())
		k.SubR(left, per)
		k.If(left, GE, per, name)
		k.Label(name + "_end")
	}
	if g := k.abreast(); g > k.units {
		many(name+"_many", g)
	}
	many(name, k.units)
	k.If(left, EQ, 0, name+"_done")
	l.seeTail(s, at, left, w, in)
	k.ends(s, at, left, w, in, func(u int, x V, in M) {
		step(u, 0, func(int) V { return x }, 1, []M{in})
	})
	if a.out != nil {
		k.AddR(at, a.out.jump(k))
		k.StoreFirst(k.t, at, left, ends)
	}
	k.Label(name + "_done")
}

// termsOf returns the terms of registers of elements, 0 where keep is not true, and their exponents. All go through it step
// by step. keep may be nil.
func (k kernel) termsOf(p *exponents, xs []V, keep []M) (es, zs []V) {
	n := len(xs)
	t, f, y := make([]V, n), make([]V, n), make([]V, n)
	es, zs = make([]V, n), make([]V, n)
	for i, x := range xs {
		f[i] = k.Max(k.t, p.lo, x)
	}
	for i, x := range f {
		t[i] = k.FMA(k.t, x, p.log2e, p.c)
	}
	for i, x := range f {
		f[i] = k.FMA(k.t, x, p.log2e, k.Sub(k.t, p.c, t[i]))
	}
	for i := range f {
		y[i] = k.FMA(k.t, f[i], p.poly[0], p.poly[1])
	}
	for _, c := range p.poly[2:] {
		for i := range f {
			k.HornerTo(k.t, y[i], f[i], c)
		}
	}
	for i := range y {
		zs[i] = k.Sub(k.t, f[i], k.Sub(k.t, p.magic, t[i]))
		e := k.Shl(k.t.Int(), t[i], k.shift)
		if keep == nil {
			es[i] = k.Add(k.t.Int(), y[i], e)
		} else {
			es[i] = k.addKept(keep[i], y[i], e)
		}
	}
	return es, zs
}

// number returns the bits of a number in the format.
func (k kernel) number(x float64) uint64 {
	if k.t == F32 {
		return bits32(x)
	}
	return bits64(x)
}

// floatIota returns first, first+1, ... as numbers, in the lanes of the first register.
func (k kernel) floatIota(first float64) C {
	return k.Table("from", k.t, func(i int) uint64 { return k.number(first + float64(i)) })
}

// addKept returns the sum of integer lanes where q is true, 0 elsewhere.
func (k kernel) addKept(q M, a, b V) V {
	if m, ok := k.Machine.(*amd64); ok && m.wide() {
		d := m.v()
		f := m.VPADDD_Z
		if k.t == F64 {
			f = m.VPADDQ_Z
		}
		f(op(b), op(a), q.(mask).r, d)
		return d
	}
	return k.Keep(q, k.Add(k.t.Int(), a, b))
}

// foldGroup emits the fold of the lanes of eight rows: the columns of their sums, less what they started from, and what
// tops emits. As many rows as a register has lanes of float64 go through it at a time, and one of their sums after the other.
func (k kernel) foldGroup(r *rows, starts [3]C, tops func()) {
	n := lanes(k.Machine, F64)
	tops()
	raw, cols := k.CopyR(r.w), k.CopyR(r.group)
	k.Label("fold_rows")
	var start [3]V
	for i, c := range starts {
		if start[i] = k.Zero(); c != nil {
			k.Move(start[i], c)
		}
	}
	k.Label("fold_sum")
	var regs []V
	for row := range n {
		regs = append(regs, k.rawLanes(raw, workRaw+256*row, start[0]))
	}
	sum := k.foldRows(regs)
	k.Store(cols, workS, sum)
	k.Move(start[0], start[1])
	k.Move(start[1], start[2])
	k.AddR(raw, 64)
	k.AddR(cols, workQ-workS)
	at := k.CopyR(raw)
	k.SubR(at, r.w)
	k.AndR(at, 255)
	k.If(at, LT, 3*64, "fold_sum")
	k.SubR(raw, 3*64)
	k.SubR(cols, 3*(workQ-workS))

	index := k.indices(r, raw, cols)
	narrow := r.narrowed(cols)
	magic := k.Const(F64, math.Float64bits(0x1p52-1<<16))
	k.StoreNarrow(narrow, workTop, k.Add(F64, index, magic))
	y, e := k.Load(cols, workY), k.Load(cols, workETop)
	bad := k.OrM(k.Cmp(F64, UN, sum, y), k.Cmp(F64, UN, e, e)) // sum is the last
	ties := k.Cmp(F64, GE, index, k.Const(F64, math.Float64bits(1<<17)))
	k.StoreNarrow(narrow, workOdd, k.Or(k.Keep(bad, k.Const(I64, 1)), k.Keep(ties, k.Const(I64, 2))))
	k.None(k.OrM(bad, ties), "fold_even")
	r.setOdd()
	k.Label("fold_even")
	if n < 8 {
		k.AddR(raw, 256*n)
		k.AddR(cols, 8*n)
		done := k.CopyR(cols)
		k.SubR(done, r.group)
		k.If(done, LT, 64, "fold_rows")
	}
}

// rawLanes returns the lanes of a row as float64, less start if that is not nil, added down to one register.
func (k kernel) rawLanes(w R, off int, start V) V {
	var v []V
	for o := 0; o < 64; o += k.Width() {
		if k.t == F64 {
			v = append(v, k.Load(w, off+o))
		} else {
			v = append(v, k.LoadWidened(w, off+o), k.LoadWidened(w, off+o+k.Width()/2))
		}
	}
	if start != nil {
		for i := range v {
			v[i] = k.Sub(F64, v[i], start)
		}
	}
	for len(v) > 1 {
		n := len(v) / 2
		for i := range n {
			v[i] = k.Add(F64, v[i], v[i+n])
		}
		v = v[:n]
	}
	return v[0]
}

// foldRows adds the lanes of each register, as the definition's tree does, and returns the sums in the registers' order.
func (k kernel) foldRows(v []V) V {
	add := func(dist int, a, b V) V {
		lo, hi := k.Split(a, b, dist)
		return k.Add(F64, lo, hi)
	}
	switch len(v) {
	case 8:
		even := add(2, add(4, v[0], v[2]), add(4, v[4], v[6]))
		odd := add(2, add(4, v[1], v[3]), add(4, v[5], v[7]))
		return add(1, even, odd)
	case 4:
		return add(1, add(2, v[0], v[2]), add(2, v[1], v[3]))
	}
	return add(1, v[0], v[1])
}

// logitTops emits the columns of the eight largest elements, their terms and exponents: a NaN where the reference is out
// of range.
func (k kernel) logitTops(r *rows, p *exponents) {
	e := *p
	size := k.t.Bytes() * 8
	for o := 0; o < size; o += k.Width() {
		best := k.Add(k.t, k.Load(r.w, workRawMax+o), k.Zero())
		ref := k.Ceil(k.t, k.Mul(k.t, best, k.konst(k.log2e)))
		k.setReference(&e, r.w, ref)
		t, z := k.term(&e, best)
		near := k.Cmp(k.t, LT, k.And(ref, k.konst(k.absMask)), k.konst(k.limit))
		t = k.Blend(near, t, k.Copy(k.konst(k.number(math.NaN()))))
		k.storeTops(r, workMax, o, best)
		k.storeTops(r, workETop, o, t)
		k.storeTops(r, workZTop, o, z)
	}
}

// storeTops stores values of the eight rows in a column; o is the place of the first among them, in bytes.
func (k kernel) storeTops(r *rows, off, o int, v V) {
	if k.t == F64 {
		k.Store(r.group, off+o, v)
		return
	}
	k.Store(r.group, off+2*o, k.Low(v))
	if k.Width() < 64 { // a register of 64 bytes has more than eight rows
		k.Store(r.group, off+2*o+k.Width(), k.High(v))
	}
}

// coefficients is how many of the polynomial's coefficients have a register. A load is free beside the arithmetic, and registers
// are wanted for several vectors at a time.
func (k kernel) coefficients() int {
	if k.together() > 1 {
		return 2
	}
	return 8
}
