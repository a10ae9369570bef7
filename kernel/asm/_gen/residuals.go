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
	r.Func("ResidualTermsF64", `ResidualTermsF64 replaces rows of k logits, at most 64 and at least one, by their terms, that of the label by 0, and stores
		the largest logit of each, the label's, and the sum of the terms in the room w. The labels are from 0 to k-1.`,
		[]Arg{{"w", "*float64"}, {"x", "*float64"}, {"rows", "int"}, {"k", "int"}, {"labels", "*int32"}}, nil)
	w, x, rows, labels := r.Arg("w"), r.Arg("x"), r.Arg("rows"), r.Arg("labels")
	low := r.Const(F64, math.Float64bits(math.Inf(-1)))
	r.Label("row")
	label := r.LoadR(labels, 0, 4)
	r.ShlR(label, 3)
	r.AddR(label, x)
	r.StoreR(w, residualLabel, 8, r.LoadR(label, 0, 8))

	g := r.together()
	best := make([]V, g*r.units)
	for i := range best {
		best[i] = r.Copy(low)
	}
	p, n := r.CopyR(x), r.Arg("k")
	largest := func(units int) {
		for i := range units * r.units {
			r.Move(best[i], r.Max(F64, best[i], r.Load(p, i*r.Width())))
		}
	}
	r.some("max", g, p, n, largest)
	r.If(n, EQ, 0, "max_done")
	in := r.FirstLanes(F64, n)
	for u, v := range r.LoadFirst(FromF64, p, n) {
		r.BlendTo(in[u], best[u], r.Max(F64, best[u], v))
	}
	r.Label("max_done")
	most := r.butterfly(F64, best, func(a, b V) V { return r.Max(F64, a, b) })
	r.StoreLane(F64, w, residualMax, most)
	r.StoreR(label, 0, 8, r.GP(math.MinInt64>>11)) // -Inf

	sums := make([]V, r.units)
	for u := range sums {
		sums[u] = r.Zero()
	}
	b := residualKernel{r.bundled()}
	p, n = r.CopyR(x), r.Arg("k")
	r.some("exp", g, p, n, func(units int) {
		var v bundle
		for i := range units * r.units {
			v = append(v, r.Sub(F64, r.Load(p, i*r.Width()), most))
		}
		for i, e := range b.term(v).(bundle) {
			r.Store(p, i*r.Width(), e)
			r.AddTo(F64, sums[i%r.units], e)
		}
	})
	r.If(n, EQ, 0, "done")
	var v bundle
	for _, d := range r.LoadFirst(FromF64, p, n) {
		v = append(v, r.Sub(F64, d, most))
	}
	in = r.FirstLanes(F64, n)
	var out []V
	for u, e := range b.term(v).(bundle) {
		e = r.Keep(in[u], e)
		r.AddTo(F64, sums[u], e)
		out = append(out, e)
	}
	r.StoreFirst(F64, p, n, out)
	r.Label("done")
	r.StoreLane(F64, w, residualSum, r.butterfly(F64, sums, func(a, b V) V { return r.Add(F64, a, b) }))
	next := r.Arg("k")
	r.ShlR(next, 3)
	r.AddR(x, next)
	r.AddR(w, 8)
	r.AddR(labels, 4)
	r.SubR(rows, 1)
	r.If(rows, GT, 0, "row")
	r.Return()
}

// some emits a loop over n elements at p by g times 64 bytes, and another by 64.
func (r residualKernel) some(name string, g int, p, n R, body func(units int)) {
	if g > 1 {
		r.If(n, LT, g*r.step, name+"_single")
		r.Label(name + "_many")
		body(g)
		r.AddR(p, 64*g)
		r.SubR(n, g*r.step)
		r.If(n, GE, g*r.step, name+"_many")
		r.Label(name + "_single")
	}
	r.loop(name, FromF64, p, n, func() { body(1) })
}

// ends emits the end of rows, a row a lane.
func (r residualKernel) ends() {
	r.Func("ResidualEndsF64", `ResidualEndsF64 makes the scales, the labels' residuals and the NLL of n rows, a multiple of 8 that is at most 64, of
		what stands in the room w. Of a row with a fault all three are NaN.`, []Arg{{"w", "*float64"}, {"n", "int"}}, nil)
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
	r.Func("ResidualRowsF64", `ResidualRowsF64 makes residuals of the terms of rows of k, at most 64 and at least one, by the scales in the room w, and
		stores the labels'.`,
		[]Arg{{"w", "*float64"}, {"x", "*float64"}, {"rows", "int"}, {"k", "int"}, {"labels", "*int32"}}, nil)
	w, x, rows, labels := r.Arg("w"), r.Arg("x"), r.Arg("rows"), r.Arg("labels")
	r.Label("row")
	label := r.LoadR(labels, 0, 4)
	r.ShlR(label, 3)
	r.AddR(label, x)
	scale, n := r.Broadcast(F64, w, residualWeight), r.Arg("k")
	r.loop("terms", FromF64, x, n, func() {
		for u := range r.units {
			r.Store(x, u*r.Width(), r.Mul(F64, r.Load(x, u*r.Width()), scale))
		}
	})
	r.If(n, EQ, 0, "done")
	var out []V
	for _, v := range r.LoadFirst(FromF64, x, n) {
		out = append(out, r.Mul(F64, v, scale))
	}
	r.StoreFirst(F64, x, n, out)
	r.ShlR(n, 3)
	r.AddR(x, n)
	r.Label("done")
	r.StoreR(label, 0, 8, r.LoadR(w, residualLabel, 8))
	r.AddR(w, 8)
	r.AddR(labels, 4)
	r.SubR(rows, 1)
	r.If(rows, GT, 0, "row")
	r.Return()
}
