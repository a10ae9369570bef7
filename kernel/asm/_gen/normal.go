package main

// The columns of normal forecasts: the Go definition is in kernel/normal.go.

// normalStep is how many rows a step of the loop takes.
const normalStep = 64

// normalAhead is how many bytes ahead of itself a step fetches: the sums that are taken between two blocks leave the memory idle.
const normalAhead = 16384

func normal(m Machine) {
	n := normals{m, bundler{m}}
	m.Func("NormalF32", `NormalF32 writes the columns of n rows of mean, standard deviation and observed, n a multiple of 64 that is not
		0, and returns how many it has written before the first 64 of which one row is not in the range for float32. What is in the
		columns for those 64 has no meaning.`,
		[]Arg{{"error", "*float64"}, {"sd", "*float64"}, {"z", "*float64"}, {"nll", "*float64"}, {"crps", "*float64"},
			{"x", "*float32"}, {"n", "int"}}, []Arg{{"done", "int"}})
	e, sd, z, nll, crps := m.Arg("error"), m.Arg("sd"), m.Arg("z"), m.Arg("nll"), m.Arg("crps")
	x, left := m.Arg("x"), m.Arg("n")
	m.Label("rows")
	n.ratios(x, e, sd, z, nll, crps)
	n.scores(nll, crps)
	for _, p := range []R{e, sd, z, nll, crps} {
		m.AddR(p, 8*normalStep)
	}
	m.AddR(x, 12*normalStep)
	m.SubR(left, normalStep)
	m.If(left, GT, 0, "rows")
	m.Label("odd")
	done := m.Arg("n")
	m.SubR(done, left)
	m.Result("done", done)
	m.Return()
}

// normals emits a step. The registers of the second part wait in the columns that it writes: the standard deviations in that of
// NLL, the ratios in that of CRPS, each in the second half of their place.
type normals struct {
	Machine
	b bundler
}

func (n normals) c(v float64) C { return n.Const(F32, bits32(v)) }

// per is how many rows a register of F32 has, and place where register u stands in a column, or in a half of its place.
func (n normals) per() int        { return lanes(n.Machine, F32) }
func (n normals) place(u int) int { return 2 * n.Width() * u }
func (n normals) half(u int) int  { return n.place(u) + n.Width() }

// ratios emits errors, standard deviations and their ratios, and jumps if a row is out of range: where all are in it, the sum of the
// ratios of some rows is not far above.
func (n normals) ratios(x, e, sd, z, nll, crps R) {
	absMask := n.Const(I32, 1<<31-1)
	var sum, least, most V
	for u := range normalStep / n.per() {
		var v [3]V
		for r := range v {
			off := 12*u*n.per() + r*n.Width()
			if off%64 == 0 {
				n.Prefetch(x, off+normalAhead)
			}
			v[r] = n.Load(x, off)
		}
		t := n.Thirds(v)
		d := n.Sub(F32, t[2], t[0])
		q := n.Div(F32, d, t[1])
		n.Store(nll, n.half(u), t[1])
		n.Store(crps, n.half(u), q)
		n.storeWidened(e, u, d)
		n.storeWidened(sd, u, t[1])
		n.storeWidened(z, u, q)
		if a := n.And(q, absMask); u == 0 {
			sum, least, most = a, n.Copy(t[1]), n.Copy(t[1])
		} else {
			n.AddTo(F32, sum, a)
			n.Move(least, n.Min(F32, t[1], least))
			n.Move(most, n.Max(F32, t[1], most))
		}
	}
	good := n.AndM(n.Cmp(F32, LE, sum, n.c(0x1p20)), n.AndM(n.Cmp(F32, GE, least, n.c(0x1p-100)), n.Cmp(F32, LE, most, n.c(0x1p100))))
	n.Any(n.NotM(good), "odd")
}

// scores emits NLL and CRPS, whose polynomials go side by side.
func (n normals) scores(nll, crps R) {
	together := 4
	if n.Level() == "avx2" {
		together = 2
	}
	b := n.b
	for first := 0; first < normalStep/n.per(); first += together {
		load := func(p R) (v bundle) {
			for u := range together {
				v = append(v, n.Load(p, n.half(first+u)))
			}
			return v
		}
		sd := load(nll)
		exponent := b.Sar(I32, b.Sub(I32, sd, n.Const(I32, 0x3f3504f3)), 23)
		f := b.Sub(F32, b.Sub(I32, sd, b.Shl(I32, exponent, 23)), n.c(1))
		for u, v := range b.FromInt(exponent).(bundle) {
			n.Store(nll, n.place(first+u), v)
		}
		z := load(crps)
		square := b.Mul(F32, z, z)
		near := b.Min(F32, square, n.c(normalFar))
		v := b.FMA(F32, near, n.c(2/normalFar), n.c(-1))
		p := b.FMA(F32, f, n.c(-0x1.9dd1b2p-4), n.c(0x1.504640p-3))
		q := b.FMA(F32, v, n.c(0x1.36807ep-13), n.c(-0x1.c155e6p-12))
		logs := []float64{-0x1.62fac8p-3, 0x1.970042p-3, -0x1.ff2b2cp-3, 0x1.555cccp-2, -0x1.0000e0p-1, 0x1.fffffap-1, halfLog2Pi}
		for i, c := range []float64{0x1.699d44p-11, -0x1.7c72dap-10, 0x1.b50b10p-9, -0x1.b5a1c6p-8, 0x1.98656cp-7, -0x1.71a744p-6,
			0x1.4ccdb4p-5, -0x1.41930cp-4, 0x1.db3e20p-3} {
			b.HornerTo(F32, q, v, n.c(c))
			if i < len(logs) {
				b.HornerTo(F32, p, f, n.c(logs[i]))
			}
		}
		b.HornerTo(F32, q, near, n.c(0.23369497725510906913))
		for u := range together {
			v := n.Load(nll, n.place(first+u))
			n.FMATo(F32, p.(bundle)[u], v, n.c(ln2hi))
		}
		b.FMATo(F32, p, square, n.c(0.5))
		far := b.Sub(F32, b.And(load(crps), n.Const(I32, 1<<31-1)), n.c(invSqrtPi))
		q = b.Mul(F32, b.Max(F32, q, far), load(nll))
		for u := range together {
			n.storeWidened(nll, first+u, p.(bundle)[u])
			n.storeWidened(crps, first+u, q.(bundle)[u])
		}
	}
}

const (
	halfLog2Pi = 0.91893853320467274178
	invSqrtPi  = 0.56418958354775628695
	normalFar  = 21.16
)

// storeWidened stores a register of F32 as F64. Loading it again from memory for that, which would leave the port of shuffles alone,
// takes a third longer.
func (n normals) storeWidened(p R, u int, v V) {
	n.Store(p, n.place(u), n.Low(v))
	n.Store(p, n.half(u), n.High(v))
}

// unitMoments emits what sums values of which the windows are chosen by the largest: the Go definition is in kernel/unitmoments.go.
func unitMoments(m Machine) {
	c := columnKernel{kernelOf(m, F64)}
	c.largest()
	c.unitSums("UnitMoments", false)
	c.unitSums("UnitMomentsFine", true)
}

func (c columnKernel) largest() {
	c.Func("Largest", "Largest writes to to the largest magnitude of n values, a multiple of 32 that is not 0, and NaN if one is not finite.",
		[]Arg{{"to", "*float64"}, {"v", "*float64"}, {"n", "int"}}, nil)
	to, v, n := c.Arg("to"), c.Arg("v"), c.Arg("n")
	abs, most := c.Pin(c.konst(c.absMask)), []V{c.Zero(), c.Zero()}
	zero, probes := c.Zero(), []V{c.Zero(), c.Zero()}
	c.rows(n, func(u int) {
		x := c.at(v, u)
		c.FMATo(F64, probes[u%2], x, zero)
		c.Move(most[u%2], c.Max(F64, c.And(x, abs), most[u%2]))
	}, walker{v, 8})
	probe := c.butterfly(F64, probes, func(a, b V) V { return c.Add(F64, a, b) })
	top := c.butterfly(F64, most, func(a, b V) V { return c.Max(F64, a, b) })
	c.StoreLane(F64, to, 0, c.Add(F64, top, probe))
	c.Return()
}

// unitSums emits the sums and, in the first word, the bits in which what is left of a value and what the last window takes differ.
func (c columnKernel) unitSums(name string, fine bool) {
	doc := name + ` writes to to, for n values, a multiple of 32 that is not 0, a word that is 0 but for its sign where no value and no
		square has bits below the windows, and the sums of the bits that adding the magics gives`
	if !fine {
		doc += "; of the values the first one only, and nothing to the third word"
	}
	c.Func(name, doc+".", []Arg{{"to", "*uint64"}, {"v", "*float64"}, {"n", "int"}, {"first", "*float64"}, {"second", "*float64"}}, nil)
	to, v, n, first, second := c.Arg("to"), c.Arg("v"), c.Arg("n"), c.Arg("first"), c.Arg("second")
	var magic, sums [4]V
	for i := range sums {
		magic[i], sums[i] = c.Broadcast(F64, [2]R{first, second}[i/2], 8*(i%2)), c.Zero()
	}
	left := c.Zero()
	together := 2
	if c.Level() == "avx512" {
		together = 4
	}
	// window adds up what a window takes of each register and returns that as numbers.
	window := func(i int, x []V) []V {
		t := each(x, func(x V) V { return c.Add(F64, x, magic[i]) })
		for _, t := range t {
			c.AddTo(I64, sums[i], t)
		}
		return each(t, func(t V) V { return c.Sub(F64, t, magic[i]) })
	}
	rest := func(x, taken []V) (r []V) {
		for i := range x {
			r = append(r, c.Sub(F64, x[i], taken[i]))
		}
		return r
	}
	note := func(x, taken []V) {
		for i := range x {
			c.DifferTo(left, x[i], taken[i])
		}
	}
	c.rows(n, func(u int) {
		if u%together != 0 {
			return
		}
		x := make([]V, together)
		for i := range x {
			x[i] = c.at(v, u+i)
		}
		taken := window(0, x)
		if r := x; fine {
			r = rest(r, taken)
			note(r, window(1, r))
		} else {
			note(r, taken)
		}
		q := each(x, func(x V) V { return c.Mul(F64, x, x) })
		r := rest(q, window(2, q))
		note(r, window(3, r))
	}, walker{v, 8})
	c.StoreLane(I64, to, 0, c.butterfly(I64, []V{left}, func(a, b V) V { return c.Or(a, b) }))
	for i, s := range sums {
		if i != 1 || fine {
			c.total(to, 1+i, s)
		}
	}
	c.Return()
}
