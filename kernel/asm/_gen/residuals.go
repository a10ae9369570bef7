package main

import "math"

// Softmax and its residuals: the Go definition is in kernel/residuals.go, which declares the same room for 64 rows.
const (
	residualMax    = 512 * iota
	residualLabel  // the label's logit, then its residual
	residualSum    // of the other terms
	residualWeight // then the scale
	residualNLL
)

const leastTerm = -708

func residuals(m Machine) {
	r := residualKernel{kernelOf(m, F64)}
	r.terms()
	r.ends()
	r.scaleTerms()
}

type residualKernel struct{ kernel }

// term returns what makes e**d of d, 0 below e**-708, for d that are not above 0. Where d is NaN the term is.
func (r residualKernel) term(d V) V {
	v := vector64{r.Machine}
	t := v.fma(d, v.c(log2e), v.c(magic64))
	n := v.sub(t, v.c(magic64))
	f := v.Copy(d)
	v.FMATo(F64, f, n, v.c(-ln2hi))
	v.FMATo(F64, f, n, v.c(-ln2lo))
	y := v.add(v.expm1(f), v.c(1))
	if v.wide() != nil {
		y = v.scaled(y, n)
	} else {
		y = v.mul(y, v.each(func(o []any) any { return vector64{r.base()}.pow2(o[0]) }, t))
	}
	return v.each(func(o []any) any { return r.base().Drop(o[0], o[1]) }, v.Cmp(F64, LT, d, v.c(leastTerm)), y)
}

// base returns the machine without bundles.
func (r residualKernel) base() Machine {
	if b, ok := r.Machine.(bundler); ok {
		return b.Machine
	}
	return r.Machine
}

func (r residualKernel) terms() {
	r.Func("ResidualTermsF64", `ResidualTermsF64 writes the terms of rows of k logits at x, at most 64 and at least one, to rows that
		are stride elements apart, and stores the largest logit of each and the sum of its terms in the room w, where the label's logit
		stands: in the row there is -Inf for it. If stride is not k, zeros make up a multiple of 8 terms; else they may be written to x.`,
		[]Arg{{"w", "*float64"}, {"to", "*float64"}, {"stride", "int"}, {"x", "*float64"}, {"rows", "int"}, {"k", "int"}}, nil)
	w, to, x, rows := r.Arg("w"), r.Arg("to"), r.Arg("x"), r.Arg("rows")
	low := r.Const(F64, math.Float64bits(math.Inf(-1)))
	r.Label("row")
	g := r.together()
	best := make([]V, g*r.units)
	for i := range best {
		best[i] = r.Copy(low)
	}
	p, n := r.CopyR(x), r.Arg("k")
	r.some("max", g, n, func(units int) {
		for i := range units * r.units {
			r.Move(best[i], r.Max(F64, best[i], r.Load(p, i*r.Width())))
		}
	}, p)
	r.If(n, EQ, 0, "max_done")
	in := r.FirstLanes(F64, n)
	for u, v := range r.LoadFirst(FromF64, p, n) {
		r.BlendTo(in[u], best[u], r.Max(F64, best[u], v))
	}
	r.Label("max_done")
	largerOf := func(a, b V) V { return r.Max(F64, a, b) }
	most := largerOf(r.butterfly(F64, best, largerOf), r.Broadcast(F64, w, residualLabel))
	r.StoreLane(F64, w, residualMax, most)

	sums := make([]V, r.units)
	for u := range sums {
		sums[u] = r.Zero()
	}
	b := residualKernel{r.bundled()}
	q := r.CopyR(to)
	n = r.Arg("k")
	r.some("exp", g, n, func(units int) {
		var v bundle
		for i := range units * r.units {
			v = append(v, r.Sub(F64, r.Load(x, i*r.Width()), most))
		}
		for i, e := range b.term(v).(bundle) {
			r.Store(q, i*r.Width(), e)
			r.AddTo(F64, sums[i%r.units], e)
		}
	}, x, q)
	r.If(n, EQ, 0, "done")
	var v bundle
	for _, d := range r.LoadFirst(FromF64, x, n) {
		v = append(v, r.Sub(F64, d, most))
	}
	in = r.FirstLanes(F64, n)
	var last []V
	for u, e := range b.term(v).(bundle) {
		e = r.Keep(in[u], e)
		r.AddTo(F64, sums[u], e)
		last = append(last, e)
	}
	r.If(r.Arg("stride"), EQ, r.Arg("k"), "in_place")
	for u, e := range last {
		r.Store(q, u*r.Width(), e)
	}
	r.Jump("stored")
	r.Label("in_place")
	r.StoreFirst(F64, q, n, last)
	r.Label("stored")
	r.ShlR(n, 3)
	r.AddR(x, n)
	r.Label("done")
	r.StoreLane(F64, w, residualSum, r.butterfly(F64, sums, func(a, b V) V { return r.Add(F64, a, b) }))
	next := r.Arg("stride")
	r.ShlR(next, 3)
	r.AddR(to, next)
	r.AddR(w, 8)
	r.SubR(rows, 1)
	r.If(rows, GT, 0, "row")
	r.Return()
}

// some emits a loop over n elements by g times 64 bytes, and another by 64. The pointers move on.
func (r residualKernel) some(name string, g int, n R, body func(units int), pointers ...R) {
	by := func(name string, units int) {
		r.If(n, LT, 8*units, name+"_end")
		r.Label(name)
		body(units)
		for _, p := range pointers {
			r.AddR(p, 64*units)
		}
		r.SubR(n, 8*units)
		r.If(n, GE, 8*units, name)
		r.Label(name + "_end")
	}
	if g > 1 {
		by(name+"_many", g)
	}
	by(name, 1)
}

// ends emits the end of rows, a row a lane.
func (r residualKernel) ends() {
	r.Func("ResidualEndsF64", `ResidualEndsF64 makes the scales, the labels' residuals and the NLL of n rows, a multiple of 8 that is at
		most 64, of what stands in the room w. Of a row with a fault all three are NaN.`, []Arg{{"w", "*float64"}, {"n", "int"}}, nil)
	w, n := r.Arg("w"), r.Arg("n")
	v := vector64{r.Machine}
	r.Label("rows")
	most, label, s := r.Load(w, residualMax), r.Load(w, residualLabel), r.Load(w, residualSum)
	e := r.term(v.sub(label, most))
	scale := r.Div(F64, r.Load(w, residualWeight), v.add(s, e))
	r.Store(w, residualWeight, scale)
	r.Store(w, residualLabel, v.sub(r.Zero(), v.mul(s, scale)))
	nll := v.add(v.sub(most, label), v.log1p(v.add(s, v.sub(e, v.c(1)))))
	r.BlendTo(r.Cmp(F64, UN, scale, scale), nll, r.Copy(v.bits(0x7ff8000000000000)))
	r.Store(w, residualNLL, nll)
	r.AddR(w, r.Width())
	r.SubR(n, r.Width()/8)
	r.If(n, GT, 0, "rows")
	r.Return()
}

func (r residualKernel) scaleTerms() {
	r.Func("ResidualRowsF64", `ResidualRowsF64 makes residuals of the terms of rows of k, at most 64 and at least one, which are stride
		elements apart, by the scales in the room w, and stores those of the labels.`,
		[]Arg{{"w", "*float64"}, {"to", "*float64"}, {"terms", "*float64"}, {"stride", "int"}, {"rows", "int"}, {"k", "int"},
			{"labels", "*int32"}}, nil)
	w, to, terms, rows, labels := r.Arg("w"), r.Arg("to"), r.Arg("terms"), r.Arg("rows"), r.Arg("labels")
	stride := r.Arg("stride")
	r.ShlR(stride, 3)
	r.Label("row")
	label := r.LoadR(labels, 0, 4)
	r.ShlR(label, 3)
	r.AddR(label, to)
	scale, n, p := r.Broadcast(F64, w, residualWeight), r.Arg("k"), r.CopyR(terms)
	r.some("terms", 1, n, func(int) {
		for u := range r.units {
			r.Store(to, u*r.Width(), r.Mul(F64, r.Load(p, u*r.Width()), scale))
		}
	}, p, to)
	r.If(n, EQ, 0, "done")
	var out []V
	for _, v := range r.LoadFirst(FromF64, p, n) {
		out = append(out, r.Mul(F64, v, scale))
	}
	r.StoreFirst(F64, to, n, out)
	r.ShlR(n, 3)
	r.AddR(to, n)
	r.Label("done")
	r.StoreR(label, 0, 8, r.LoadR(w, residualLabel, 8))
	r.AddR(terms, stride)
	r.AddR(w, 8)
	r.AddR(labels, 4)
	r.SubR(rows, 1)
	r.If(rows, GT, 0, "row")
	r.Return()
}
