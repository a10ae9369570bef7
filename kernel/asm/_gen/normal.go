package main

// The columns of normal forecasts: the Go definition is in kernel/normal.go.

// normalStep is how many rows a step of the loop takes.
const normalStep = 32

func normal(m Machine) {
	b := bundler{m}
	m.Func("NormalF32", `NormalF32 writes the columns of n rows of mean, standard deviation and observed, n a multiple of 32 that is not
		0, and returns how many it has written before the first 32 of which one row is not in the range for float32. What is in the
		columns for those 32 has no meaning.`,
		[]Arg{{"error", "*float64"}, {"sd", "*float64"}, {"z", "*float64"}, {"nll", "*float64"}, {"crps", "*float64"},
			{"x", "*float32"}, {"n", "int"}}, []Arg{{"done", "int"}})
	columns := []R{m.Arg("error"), m.Arg("sd"), m.Arg("z"), m.Arg("nll"), m.Arg("crps")}
	x, n := m.Arg("x"), m.Arg("n")
	c := func(v float64) C { return m.Const(F32, bits32(v)) }
	absMask := m.Const(I32, 1<<31-1)
	const together = 2
	per := lanes(m, F32)
	m.Label("rows")
	var good M
	for row := 0; row < normalStep; row += together * per {
		var rows [3]bundle
		for u := range together {
			var v [3]V
			for r := range v {
				v[r] = m.Load(x, 12*(row+u*per)+r*m.Width())
			}
			for r, v := range m.Thirds(v) {
				rows[r] = append(rows[r], v)
			}
		}
		sd := rows[1]
		store := func(column int, v V) {
			for u, v := range v.(bundle) {
				storeWidened(m, columns[column], 8*(row+u*per), v)
			}
		}
		e := b.Sub(F32, rows[2], rows[0])
		z := b.Div(F32, e, sd)
		store(0, e)
		store(1, sd)
		store(2, z)
		a := b.And(z, absMask)
		u := b.Mul(F32, z, z)
		for i, a := range a.(bundle) {
			in := m.AndM(m.Cmp(F32, LE, a, c(0x1p20)), m.AndM(m.Cmp(F32, GE, sd[i], c(0x1p-100)), m.Cmp(F32, LE, sd[i], c(0x1p100))))
			if good == nil {
				good = in
			} else {
				good = m.AndM(good, in)
			}
		}
		horner := func(x V, p V, coeffs ...float64) V {
			for _, q := range coeffs {
				b.HornerTo(F32, p, x, c(q))
			}
			return p
		}
		exponent := b.Sar(I32, b.Sub(I32, sd, m.Const(I32, 0x3f3504f3)), 23)
		f := b.Sub(F32, b.Sub(I32, sd, b.Shl(I32, exponent, 23)), c(1))
		p := horner(f, b.FMA(F32, f, c(-0x1.9dd1b2p-4), c(0x1.504640p-3)), -0x1.62fac8p-3, 0x1.970042p-3, -0x1.ff2b2cp-3,
			0x1.555cccp-2, -0x1.0000e0p-1, 0x1.fffffap-1, halfLog2Pi)
		b.FMATo(F32, p, b.FromInt(exponent), c(ln2hi))
		b.FMATo(F32, p, u, c(0.5))
		store(3, p)

		u = b.Min(F32, u, c(normalFar))
		v := b.FMA(F32, u, c(2/normalFar), c(-1))
		q := horner(v, b.FMA(F32, v, c(0x1.36807ep-13), c(-0x1.c155e6p-12)), 0x1.699d44p-11, -0x1.7c72dap-10, 0x1.b50b10p-9,
			-0x1.b5a1c6p-8, 0x1.98656cp-7, -0x1.71a744p-6, 0x1.4ccdb4p-5, -0x1.41930cp-4, 0x1.db3e20p-3)
		q = horner(u, q, 0.23369497725510906913)
		q = b.Max(F32, q, b.Sub(F32, a, c(invSqrtPi)))
		store(4, b.Mul(F32, q, sd))
	}
	done := m.Arg("n")
	m.Any(m.NotM(good), "odd")
	for _, p := range columns {
		m.AddR(p, 8*normalStep)
	}
	m.AddR(x, 12*normalStep)
	m.SubR(n, normalStep)
	m.If(n, GT, 0, "rows")
	m.Label("odd")
	m.SubR(done, n)
	m.Result("done", done)
	m.Return()
}

const (
	halfLog2Pi = 0.91893853320467274178
	invSqrtPi  = 0.56418958354775628695
	normalFar  = 21.16
)

// storeWidened stores a register of F32 as F64. On amd64 it goes to the second half of its place, from where the conversion
// loads it: between registers that takes the port of shuffles.
func storeWidened(m Machine, p R, off int, v V) {
	if m.Level() == "neon" {
		m.Store(p, off, m.Low(v))
		m.Store(p, off+m.Width(), m.High(v))
		return
	}
	m.Store(p, off+m.Width(), v)
	low, high := m.LoadWidened(p, off+m.Width()), m.LoadWidened(p, off+m.Width()*3/2)
	m.Store(p, off, low)
	m.Store(p, off+m.Width(), high)
}
