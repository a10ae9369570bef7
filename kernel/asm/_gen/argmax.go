package main

func argMax(m Machine) {
	for _, s := range sources {
		argMaxRows(m, s)
	}
	shortArgMax(m, FromF32)
	shortArgMax(m, FromF64)
}

// walk returns the registers that walk over the rows, y with the argument of that name.
func (k kernel) walk(s Source, y string) *rows {
	r := &rows{k: k, s: s, w: k.Arg("w"), x: k.Arg("x"), left: k.Arg("rows"), n: k.Arg("k"), stride: k.Arg("stride"), y: k.Arg(y)}
	r.wide = k.CopyR(r.w)
	k.ShlR(r.stride, log2(s.Bytes()))
	return r
}

// down moves on by a row, y by a number of bytes, and jumps to the label if there is one.
func (r *rows) down(label string, y any) {
	k := r.k
	k.AddR(r.x, r.stride)
	k.AddR(r.y, y)
	k.AddR(r.wide, 8)
	k.SubR(r.left, 1)
	k.If(r.left, GT, 0, label)
}

// walkArgs are what walk takes, and more.
func walkArgs(s Source, more ...Arg) []Arg {
	return append([]Arg{{"w", "*float64"}, {"x", s.elementType()}, {"rows", "int"}, {"k", "int"}, {"stride", "int"}}, more...)
}

const roomDoc = "w is 128 bytes of scratch, as they stand in the room of a work area."

// integer returns lane 0 of integers.
func (k kernel) integer(w R, v V) R {
	k.StoreLane(k.t, w, workRoom, v)
	return k.LoadR(w, workRoom, k.t.Bytes())
}

// argMaxRows emits the arg max of rows of any length. Each lane has the largest of its elements and its first index.
func argMaxRows(m Machine, s Source) {
	k := kernelOf(m, s.T())
	i := k.t.Int()
	name := "ArgMaxRows" + s.String()
	m.Func(name, name+` writes the first index of each row's largest element to dst, -1 for a row with a NaN. `+roomDoc,
		walkArgs(s, Arg{"dst", "*int32"}), nil)
	r := k.walk(s, "dst")
	m.SubR(r.w, workRoom)
	chains := max(4, k.units)
	per := chains / k.units * k.step

	m.Label("row")
	low := k.konst(k.inf | (k.absMask + 1))
	best, index := make([]V, chains), make([]V, chains)
	for c := range best {
		best[c], index[c] = m.Copy(low), m.Copy(m.Iota(i))
	}
	cur := m.Copy(m.Iota(i))
	bad := m.CopyM(m.Cmp(k.t, NE, best[0], best[0]))
	look := func(c int, x V) {
		m.BlendTo(m.Cmp(k.t, GT, x, best[c]), index[c], cur)
		m.Move(best[c], m.Max(k.t, best[c], x))
	}
	unordered := func(a, b V) { m.MoveM(bad, m.OrM(bad, m.Cmp(k.t, UN, a, b))) }

	at, left := m.CopyR(r.x), m.CopyR(r.n)
	m.If(left, LT, per, "rest")
	m.Label("chains")
	m.Prefetch(at, ahead)
	for c := 0; c < chains; c += 2 {
		a := m.LoadSource(s, at, c*vectorBytes(m, s))
		b := m.LoadSource(s, at, (c+1)*vectorBytes(m, s))
		unordered(a, b)
		look(c, a)
		look(c+1, b)
	}
	m.AddR(at, per*s.Bytes())
	m.AddTo(i, cur, m.Const(i, uint64(per)))
	m.SubR(left, per)
	m.If(left, GE, per, "chains")
	m.Label("rest")
	one := func(c int, x V) {
		unordered(x, x)
		look(c, x)
	}
	k.loop("one", s, at, left, func() {
		for u := range k.units {
			one(u, m.LoadSource(s, at, u*vectorBytes(m, s)))
		}
		m.AddTo(i, cur, m.Const(i, uint64(k.step)))
	})
	m.If(left, EQ, 0, "fold")
	k.tail(s, at, left, r.w, one)

	m.Label("fold")
	largest := k.butterfly(k.t, append([]V(nil), best...), func(a, b V) V { return m.Max(k.t, a, b) })
	none := m.Copy(m.Const(i, 1<<30))
	for c := range index {
		m.AddTo(i, index[c], m.Const(i, uint64(c*lanes(m, k.t))))
		index[c] = m.Blend(m.Cmp(k.t, EQ, best[c], largest), index[c], none)
	}
	// As floats these are positive numbers in the same order.
	first := k.butterfly(k.t, index, func(a, b V) V { return m.Min(k.t, a, b) })
	found := k.integer(r.w, first)
	m.None(bad, "store")
	m.MoveR(found, m.GP(-1))
	m.Label("store")
	m.StoreR(r.y, 0, 4, found)
	r.down("row", 4)
	m.Return()
}

// shortArgMax emits the arg max of groups of rows of 1 to 32 elements, a row a lane.
func shortArgMax(m Machine, s Source) {
	k := kernelOf(m, s.T())
	i := k.t.Int()
	name := "ShortArgMax" + s.String()
	m.Func(name, name+` is ArgMaxRows`+s.String()+` for rows of 1 to 32 elements, whose number is a multiple of the lanes of a
		register. w is a work area.`, walkArgs(s, Arg{"dst", "*int32"}), nil)
	g := &groups{rows: k.walk(s, "dst"), parts: 1}

	m.Label("group")
	best := m.Copy(k.konst(k.inf | (k.absMask + 1)))
	top := m.Zero()
	bad := m.CopyM(m.Cmp(k.t, NE, best, best))
	k.transpose(g.rows, func(j, x V) {
		m.MoveM(bad, m.OrM(bad, m.Cmp(k.t, UN, x, x)))
		above := m.Cmp(k.t, GT, x, best)
		m.BlendTo(above, best, x)
		m.BlendTo(above, top, j)
	})
	g.storeInts(g.y, m.Blend(bad, m.Const(i, 1<<64-1), top))
	g.next("group")
	m.Return()
}

// storeInts stores integers of a group as int32.
func (g *groups) storeInts(p R, v V) {
	if g.k.t == F64 {
		g.k.StoreNarrow(p, 0, v)
	} else {
		g.k.Store(p, 0, v)
	}
}

func rank(m Machine) {
	for _, s := range sources {
		rankRows(m, s)
	}
	shortRank(m, FromF32)
	shortRank(m, FromF64)
}

// rankRows emits the ranks of the labels' elements of rows of any length: the elements before the label's are counted
// where they are not below it, the others where they are above it.
func rankRows(m Machine, s Source) {
	k := kernelOf(m, s.T())
	i := k.t.Int()
	name := "RankRows" + s.String()
	m.Func(name, name+` writes the number of elements above the label's and of equal ones before it for each row to dst, -1
		where there is no such class. A row with a NaN gets any number. `+roomDoc,
		walkArgs(s, Arg{"labels", "*int32"}, Arg{"dst", "*int32"}), nil)
	r := k.walk(s, "labels")
	m.SubR(r.w, workRoom)
	dst := m.Arg("dst")

	m.Label("row")
	rank := m.GP(-1)
	y := m.LoadR(r.y, 0, 4)
	m.If(y, UHS, r.n, "store")
	at := m.CopyR(y)
	m.ShlR(at, log2(s.Bytes()))
	m.AddR(at, r.x)
	own := m.BroadcastSource(s, at, 0)
	n := k.each(func(int) V { return m.Zero() })
	one := m.Copy(m.Const(i, 1))
	count := func(u int, q M) { m.AddTo(i, n[u], m.Keep(q, one)) }

	m.MoveR(at, r.x)
	left := m.CopyR(y)
	k.loop("before", s, at, left, func() {
		for u := range k.units {
			count(u, m.Cmp(k.t, GE, m.LoadSource(s, at, u*vectorBytes(m, s)), own))
		}
	})
	m.If(left, EQ, 0, "label")
	k.tail(s, at, left, r.w, func(u int, x V) {
		count(u, m.AndM(m.Cmp(k.t, GE, x, own), m.FirstLanes(k.t, left)[u]))
	})
	m.Label("label")

	m.MoveR(left, r.n)
	m.SubR(left, y)
	m.MoveR(at, y)
	m.ShlR(at, log2(s.Bytes()))
	m.AddR(at, r.x)
	k.loop("after", s, at, left, func() {
		m.Prefetch(at, ahead)
		for u := range k.units {
			count(u, m.Cmp(k.t, GT, m.LoadSource(s, at, u*vectorBytes(m, s)), own))
		}
	})
	m.If(left, EQ, 0, "sum")
	k.tail(s, at, left, r.w, func(u int, x V) { count(u, m.Cmp(k.t, GT, x, own)) })
	m.Label("sum")
	m.MoveR(rank, k.integer(r.w, k.butterfly(i, n, func(a, b V) V { return m.Add(i, a, b) })))

	m.Label("store")
	m.StoreR(dst, 0, 4, rank)
	m.AddR(dst, 4)
	r.down("row", 4)
	m.Return()
}

// shortRank emits the ranks of groups of rows of 1 to 32 elements, a row a lane.
func shortRank(m Machine, s Source) {
	k := kernelOf(m, s.T())
	i := k.t.Int()
	name := "ShortRank" + s.String()
	m.Func(name, name+` is RankRows`+s.String()+` for rows of 1 to 32 elements, whose number is a multiple of the lanes of a
		register. A row without such a class gets any number. w is a work area. Of float64 rows there are at most 64, and as many
		labels may be read beyond theirs as there are lanes.`,
		walkArgs(s, Arg{"labels", "*int32"}, Arg{"dst", "*int32"}), nil)
	g := &groups{rows: k.walk(s, "labels"), parts: 1}
	dst := m.Arg("dst")

	m.Label("group")
	label := m.Load(g.y, 0)
	if k.t == F64 {
		label = m.LowInt(label)
	}
	own := m.Zero()
	k.transpose(g.rows, func(j, x V) { m.BlendTo(m.Cmp(i, EQ, j, label), own, x) })
	n := m.Zero()
	one := m.Copy(m.Const(i, 1))
	k.columnLoop(g.rows, func(j, x V) {
		before := m.AndM(m.Cmp(k.t, EQ, x, own), m.Cmp(i, GT, label, j))
		m.AddTo(i, n, m.Keep(m.OrM(before, m.Cmp(k.t, GT, x, own)), one))
	})
	g.storeInts(dst, n)
	m.AddR(dst, 4*lanes(m, k.t))
	g.next("group")
	m.Return()
}
