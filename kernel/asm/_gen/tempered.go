package main

import "math"

// The sums of a temperature fit: the Go definitions are in kernel/tempered.go.

func tempered(m Machine) {
	for _, s := range sources {
		temperedRows(m, s)
	}
	temperedShort(m, FromF32)
	temperedShort(m, FromF64)
	temperedEnds(m)
}

// The parameters, from t on.
const (
	temperedBeta = 0
	temperedC    = 8
	temperedLow  = 16
)

// temperedPoly are the coefficients of the polynomial of what is left of an exponent.
var temperedPoly = [...]float64{0x1.5d862bed83185p-30, 0x1.3b2c78bd33fb2p-23, 0x1.c6b08d771e067p-17, 0x1.ebfbdff5ffc01p-11,
	0x1.62e42fefa3981p-5, 1}

// temperedSums adds up the terms of registers of float64.
type temperedSums struct {
	vector64
	c, low any
	look   func(V) V
	sums   [3][]V // of terms, terms times d, terms times d^2
}

// temperedOf returns them with the parameters at t.
func (k kernel) temperedOf(w R) *temperedSums {
	t := k.Arg("t")
	return &temperedSums{vector64: vector64{k.Machine}, look: k.Sixteenths(), c: k.keepAt(w, 0, k.Broadcast(F64, t, temperedC)),
		low: k.keepAt(w, 1, k.Broadcast(F64, t, temperedLow))}
}

// clear starts with n registers of sums.
func (q *temperedSums) clear(n int) {
	for i := range q.sums {
		q.sums[i] = make([]V, n)
		for j := range q.sums[i] {
			q.sums[i][j] = q.Zero()
		}
	}
}

// add adds the terms of elements to the sums from the register first on, where the rows' largest elements are known. all says that no
// term is to be left out.
func (q *temperedSums) add(xs []V, largest []any, first int, all bool) {
	n := len(xs)
	d, t, f, s, p := make([]V, n), make([]V, n), make([]V, n), make([]V, n), make([]V, n)
	out := make([]M, n)
	for i, x := range xs {
		d[i] = q.sub(x, largest[i%len(largest)])
	}
	for i := range xs {
		if !all {
			out[i] = q.Cmp(F64, LT, d[i], q.low)
			d[i] = q.Max(F64, q.low, d[i]) // NaN stays
		}
	}
	for i := range xs {
		t[i] = q.fma(d[i], q.c, q.c64(magic64))
	}
	for i := range xs {
		f[i] = q.sub(q.Copy(q.c64(magic64)), t[i])
		q.FMATo(F64, f[i], d[i], q.c)
	}
	for i := range xs {
		s[i] = q.look(t[i])
		p[i] = q.fma(f[i], q.c64(temperedPoly[0]), q.c64(temperedPoly[1]))
	}
	for _, c := range temperedPoly[2:] {
		for i := range xs {
			q.HornerTo(F64, p[i], f[i], q.c64(c))
		}
	}
	for i := range xs {
		e := q.mul(s[i], p[i])
		if !all {
			e = q.Drop(out[i], e)
		}
		to := (first + i) % len(q.sums[0])
		q.AddTo(F64, q.sums[0][to], e)
		g := q.mul(e, d[i])
		q.AddTo(F64, q.sums[1][to], g)
		q.FMATo(F64, q.sums[2][to], g, d[i])
	}
}

func (q *temperedSums) c64(x float64) C { return q.vector64.c(x) }

// An extreme is the largest element of a row, and the least of those that fill whole 64 bytes, which lanes have found.
type extreme struct{ most, least []V }

// in returns both in all lanes.
func (e extreme) in(k kernel) (most, least V) {
	return k.butterfly(k.t, e.most, func(a, b V) V { return k.Max(k.t, a, b) }),
		k.butterfly(k.t, e.least, func(a, b V) V { return k.Min(k.t, a, b) })
}

// extremes emits those of n elements.
func (k kernel) extremes(name string, s Source, x, n, w R, in []M) extreme {
	p, left := k.CopyR(x), k.CopyR(n)
	chains := max(2, k.units)
	hi, lo := make([]V, chains), make([]V, chains)
	for i := range hi {
		hi[i], lo[i] = k.Copy(k.minusInf()), k.Copy(k.konst(k.inf))
	}
	see := func(n int) {
		for i := range n {
			v := k.LoadSource(s, p, i*vectorBytes(k.Machine, s))
			k.Move(hi[i], k.Max(k.t, hi[i], v))
			k.Move(lo[i], k.Min(k.t, lo[i], v))
		}
	}
	if per := chains / k.units * k.step; per > k.step {
		k.If(left, LT, per, name+"_rest")
		k.Label(name + "_many")
		see(chains)
		k.AddR(p, per*s.Bytes())
		k.SubR(left, per)
		k.If(left, GE, per, name+"_many")
		k.Label(name + "_rest")
	}
	k.loop(name, s, p, left, func() { see(k.units) })
	k.If(left, EQ, 0, name+"_done")
	k.ends(s, p, left, w, in, func(u int, x V, _ M) { k.Move(hi[chains-1-u], k.Max(k.t, hi[chains-1-u], x)) })
	k.Label(name + "_done")
	return extreme{hi, lo}
}

const temperedDoc = ` stores the sums of at most 64 rows of logits in the columns of the work area w: of their terms, of these times the
	distance to the largest element and times its square. The largest and the label's element, NaN if there is no such class, have columns
	too. A row with a fault has NaN for the sum of its terms, or for the label's distance. beta, its factor and the lowest distance stand
	at t.`

// temperedRows emits the sums of rows of any length.
func temperedRows(m Machine, s Source) {
	k := kernelOf(m, s.T())
	name := "TemperedRows" + s.String()
	m.Func(name, name+temperedDoc, append(rowArgs(s), Arg{"t", "*float64"}), nil)
	r := k.rowsOf(s)
	q := k.temperedOf(r.w)
	in := k.tailMasks(r.w, r.n)
	regs := k.step * 8 / m.Width() // of F64 in a step

	var l *extremesAhead
	if k.Level() == "avx512" {
		l = k.extremesAhead(s, r, in)
	}
	m.Label("row")
	var most, least V
	if l != nil {
		most, least = l.start(r)
	} else {
		most, least = k.extremes("extremes", s, r.x, r.n, r.w, in).in(k)
	}
	r.column(workMax, most)
	if k.t == F32 {
		most, least = k.Low(most), k.Low(least)
	}
	near := k.Cmp(F64, GE, k.Sub(F64, least, most), q.low)
	largest := []any{k.keepAt(r.w, 2, most)}
	q.clear(64 / m.Width())
	p, left := k.CopyR(r.x), k.CopyR(r.n)
	// steps emits the terms of so many steps, some registers at a time.
	steps := func(g, side int, all bool) {
		for i := 0; i < g*regs; i += side {
			q.add(k.loadFrom(s, p, i, side), largest, i, all)
		}
	}
	m.Any(near, "near")
	side := k.temperedAbreast()
	k.loop("far", s, p, left, func() { steps(1, min(side, regs), false) })
	if l != nil {
		l.all(r, in)
	}
	m.Jump("last")
	m.Label("near")
	if l != nil {
		k.flow(q, s, p, left, largest[0], func(off int) {
			m.PrefetchBeyond(p, aheadOfExtremes+off, r.stride)
		}, l)
	}
	if l == nil || abreastInFlow*m.Width()/8 > k.step {
		k.loop("near_one", s, p, left, func() {
			if l == nil {
				m.Prefetch(p, aheadOfTempered)
				m.PrefetchBeyond(p, 0, r.stride)
			}
			l.see(p, 0)
			steps(1, min(side, regs), true)
		})
	}
	if l != nil {
		m.If(left, EQ, 0, "done")
		l.seeTail(p, in)
	}
	m.Label("last")
	m.If(left, EQ, 0, "done")
	k.ends(s, p, left, r.w, in, func(u int, x V, _ M) {
		xs := k.widened([]V{x})
		for i, x := range xs {
			q.add([]V{x}, largest, u*len(xs)+i, false)
		}
	})
	m.Label("done")
	for i, off := range []int{workS, workQ, workH} {
		m.StoreLane(F64, r.wide, off, k.butterfly(F64, q.sums[i], func(a, b V) V { return m.Add(F64, a, b) }))
	}
	r.labelled()
	r.step()
	m.If(r.left, GT, 0, "row")
	m.Return()
}

// aheadOfTempered is how far rows are prefetched, in bytes. The next row is fetched into the second cache besides, where rows are longer
// than that: its largest element is looked for all at once.
const aheadOfTempered = 6144

// An extremesAhead takes the extremes of the next row while this row's terms are made: so memory is read at an even pace, and no loop
// waits for it.
type extremesAhead struct {
	k           kernel
	s           Source
	most, least V
	jump        R // to the next row; 0 on the last, which stands for it
}

// extremesAhead begins with those of the first row.
func (k kernel) extremesAhead(s Source, r *rows, in []M) *extremesAhead {
	e := k.extremes("extremes", s, r.x, r.n, r.w, in)
	return &extremesAhead{k: k, s: s, most: k.joined(e.most, k.Max), least: k.joined(e.least, k.Min), jump: k.GP(0)}
}

// joined returns the lanes of two registers together.
func (k kernel) joined(v []V, f func(T, any, any) V) V {
	j := v[0]
	for _, x := range v[1:] {
		j = f(k.t, j, x)
	}
	return j
}

// start returns the row's, and begins with the next row.
func (l *extremesAhead) start(r *rows) (most, least V) {
	k := l.k
	most, least = extreme{[]V{k.Copy(l.most)}, []V{k.Copy(l.least)}}.in(k)
	k.Move(l.most, k.Copy(k.minusInf()))
	k.Move(l.least, k.Copy(k.konst(k.inf)))
	k.MoveR(l.jump, r.stride)
	k.If(r.left, GT, 1, "next_row")
	k.MoveR(l.jump, k.GP(0))
	k.Label("next_row")
	return most, least
}

// see sees a register of elements.
func (l *extremesAhead) see(p R, off int) {
	if l == nil {
		return
	}
	k := l.k
	v := k.amd64().loadBeyond(l.s, p, l.jump, off, nil)
	k.Move(l.most, k.Max(k.t, l.most, v))
	k.Move(l.least, k.Min(k.t, l.least, v))
}

// seeTail sees the last elements.
func (l *extremesAhead) seeTail(p R, in []M) {
	k := l.k
	v := k.Blend(in[0], k.amd64().loadBeyond(l.s, p, l.jump, 0, in[0]), k.Copy(k.minusInf()))
	k.Move(l.most, k.Max(k.t, l.most, v))
}

// all sees all of the next row.
func (l *extremesAhead) all(r *rows, in []M) {
	k := l.k
	x := k.CopyR(r.x)
	k.AddR(x, l.jump)
	e := k.extremes("ahead", l.s, x, r.n, r.w, in)
	k.Move(l.most, k.joined(e.most, k.Max))
	k.Move(l.least, k.joined(e.least, k.Min))
}

// abreastInFlow is how many registers of float64 a stage of a flow has.
const abreastInFlow = 2

// A flow makes terms in three stages, two registers of elements in each at a time, so that what waits for results of one stage leaves the
// ports to the others: a chain of dependent instructions from a logit to the sums takes three times what the ports take for it.
type flow struct {
	d, f, s []V // distances, what is left of exponents, powers from the table
	e, de   []V // terms and their distances
}

// flow emits the terms of what fills two registers as long as there is more, none of which is to be left out. It starts and ends with
// the stages empty: terms of 0 go through them first.
func (k kernel) flow(q *temperedSums, s Source, p, left R, largest any, fetch func(off int), l *extremesAhead) {
	per := abreastInFlow * k.Width() / 8 // elements
	var w flow
	for range abreastInFlow {
		w.d, w.f, w.s = append(w.d, k.Zero()), append(w.f, k.Zero()), append(w.s, k.Zero())
		w.e, w.de = append(w.e, k.Zero()), append(w.de, k.Zero())
	}
	k.If(left, LT, per, "flow_end")
	k.Label("flow")
	for off := 0; off < per*s.Bytes(); off += 64 {
		fetch(off)
	}
	for off := 0; off < per*s.Bytes(); off += vectorBytes(k.Machine, s) {
		l.see(p, off)
	}
	next := flow{d: k.loadFrom(s, p, 0, abreastInFlow)}
	first, second, third := q.start(&next, largest), q.terms(&w, &next), q.sum(&w)
	for i := range max(len(first), len(second), len(third)) {
		for _, stage := range [][]func(){third, second, first} {
			if i < len(stage) {
				stage[i]()
			}
		}
	}
	for i := range abreastInFlow {
		k.Move(w.de[i], w.d[i])
		k.Move(w.e[i], next.e[i])
		k.Move(w.d[i], next.d[i])
		k.Move(w.f[i], next.f[i])
		k.Move(w.s[i], next.s[i])
	}
	k.AddR(p, per*s.Bytes())
	k.SubR(left, per)
	k.If(left, GE, per, "flow")
	k.Label("flow_end")
	last := flow{de: w.d}
	for _, stage := range [][]func(){q.sum(&w), q.terms(&w, &last), q.sum(&last)} {
		for _, f := range stage {
			f()
		}
	}
}

// start returns the instructions from elements to what is left of their exponents and the powers.
func (q *temperedSums) start(w *flow, largest any) (stage []func()) {
	n := len(w.d)
	t := make([]V, n)
	w.f, w.s = make([]V, n), make([]V, n)
	for _, f := range []func(i int){
		func(i int) { w.d[i] = q.sub(w.d[i], largest) },
		func(i int) { t[i] = q.fma(w.d[i], q.c, q.c64(magic64)) },
		func(i int) { w.f[i] = q.sub(q.Copy(q.c64(magic64)), t[i]) },
		func(i int) { q.FMATo(F64, w.f[i], w.d[i], q.c) },
		func(i int) { w.s[i] = q.look(t[i]) },
	} {
		stage = append(stage, abreast(n, f)...)
	}
	return stage
}

// terms returns the instructions from there to the terms, which are those of to.
func (q *temperedSums) terms(w, to *flow) (stage []func()) {
	n := len(w.d)
	p := make([]V, n)
	to.e = make([]V, n)
	stage = abreast(n, func(i int) { p[i] = q.fma(w.f[i], q.c64(temperedPoly[0]), q.c64(temperedPoly[1])) })
	for _, c := range temperedPoly[2:] {
		stage = append(stage, abreast(n, func(i int) { q.HornerTo(F64, p[i], w.f[i], q.c64(c)) })...)
	}
	return append(stage, abreast(n, func(i int) { to.e[i] = q.mul(w.s[i], p[i]) })...)
}

// sum returns the instructions that add the terms up, in their order.
func (q *temperedSums) sum(w *flow) (stage []func()) {
	n := len(w.de)
	g := make([]V, n)
	for _, f := range []func(i int){
		func(i int) { q.AddTo(F64, q.sums[0][i%len(q.sums[0])], w.e[i]) },
		func(i int) { g[i] = q.mul(w.e[i], w.de[i]) },
		func(i int) { q.AddTo(F64, q.sums[1][i%len(q.sums[1])], g[i]) },
		func(i int) { q.FMATo(F64, q.sums[2][i%len(q.sums[2])], g[i], w.de[i]) },
	} {
		stage = append(stage, abreast(n, f)...)
	}
	return stage
}

// abreast returns an instruction for each of n registers.
func abreast(n int, f func(i int)) (all []func()) {
	for i := range n {
		all = append(all, func() { f(i) })
	}
	return all
}

// aheadOfExtremes is how far ahead of the extremes the next row is fetched into the second cache, in bytes.
const aheadOfExtremes = 2048

// temperedAbreast is how many registers of float64 go through the arithmetic of terms side by side.
func (k kernel) temperedAbreast() int {
	if k.Level() == "avx512" {
		return 4
	}
	return 1
}

// loadFrom returns n registers of F64 from the first on.
func (k kernel) loadFrom(s Source, p R, first, n int) (out []V) {
	for i := first; i < first+n; i++ {
		switch {
		case s == FromF32:
			out = append(out, k.LoadWidened(p, i*k.Width()/2))
		case s == FromF64:
			out = append(out, k.Load(p, i*k.Width()))
		case i%2 == 0:
			out = append(out, k.Low(k.LoadSource(s, p, i/2*vectorBytes(k.Machine, s))))
		default:
			out = append(out, k.High(k.LoadSource(s, p, i/2*vectorBytes(k.Machine, s))))
		}
	}
	return out
}

// temperedShort emits the sums of groups of rows of 1 to 32 logits, a row a lane.
func temperedShort(m Machine, s Source) {
	k := kernelOf(m, s.T())
	i := k.t.Int()
	name := "TemperedShort" + s.String()
	m.Func(name, name+temperedDoc+` The rows have 1 to 32 elements, and their number is a multiple of the lanes of a register. Of float64
		rows the labels stand as int64 in the column of the tops' terms.`, append(rowArgs(s), Arg{"t", "*float64"}), nil)
	g := k.groupsOf(s)
	q := k.temperedOf(g.w)
	m.Label("group")
	most, own := k.Copy(k.minusInf()), k.Copy(k.konst(k.absMask))
	later := m.CopyR(g.x)
	k.transpose(g.rows, func(j, x V) {
		m.Prefetch(later, shortAhead)
		m.AddR(later, m.Width())
		k.maxTo(most, x)
		m.BlendTo(k.Cmp(i, EQ, j, g.labels()), own, x)
	})
	g.column(workY, own, nil)
	g.column(workMax, most, nil)
	halves := k.widened([]V{most})
	largest := make([]any, len(halves))
	for h, v := range halves {
		largest[h] = k.keepAt(g.w, 2+h, v)
	}
	q.clear(len(halves))
	k.columnLoop(g.rows, func(_, x V) {
		if k.Level() == "avx512" {
			q.add(k.widened([]V{x}), largest, 0, false)
			return
		}
		for h, x := range k.widened([]V{x}) {
			q.add([]V{x}, largest[h:h+1], h, false)
		}
	})
	for n, off := range []int{workS, workQ, workH} {
		for h, v := range q.sums[n] {
			m.Store(g.wide, off+h*m.Width(), v)
		}
	}
	g.next("group")
	m.Return()
}

// temperedEnds emits what makes columns of sums.
func temperedEnds(m Machine) {
	v := vector64{m}
	args := append([]Arg{{"w", "*float64"}, {"n", "int"}, {"t", "*float64"}}, Arg{"nll", "*float64"}, Arg{"slope", "*float64"},
		Arg{"curvature", "*float64"}, Arg{"label", "*float64"})
	m.Func("TemperedEnds", `TemperedEnds makes columns of the sums in the work area w: n rows, a multiple of 8 that is at most 64.`, args, nil)
	w, n := m.Arg("w"), m.Arg("n")
	beta := m.Broadcast(F64, m.Arg("t"), temperedBeta)
	var to []R
	for _, a := range args[3:] {
		to = append(to, m.Arg(a.Name))
	}
	m.Label("rows")
	d := v.add(v.sub(m.Load(w, workY), m.Load(w, workMax)), m.Zero())
	s := m.Load(w, workS)
	none := m.Cmp(F64, UN, s, d)
	put := func(i int, x V) { m.Store(to[i], 0, m.Blend(none, v.bits(0x7ff8<<48), x)) }
	put(3, d)
	mean := v.Max(F64, m.Div(F64, m.Load(w, workQ), s), v.c(-math.MaxFloat64))
	put(1, v.sub(mean, d))
	square := m.Div(F64, m.Load(w, workH), s)
	spread := v.sub(square, v.mul(mean, mean))
	spread = m.Keep(m.Cmp(F64, GT, spread, v.c(0)), spread)
	m.BlendTo(m.Cmp(F64, GT, square, v.c(math.MaxFloat64)), spread, square)
	put(2, spread)
	put(0, v.sub(v.logNormal(s), v.mul(d, beta)))
	m.AddR(w, m.Width())
	for _, p := range to {
		m.AddR(p, m.Width())
	}
	m.SubR(n, m.Width()/8)
	m.If(n, GT, 0, "rows")
	m.Return()
}
