package main

import "math"

// Keys are made of scores and summed: the Go definitions are in kernel/keys.go. Every function takes a multiple of
// columnStep elements.

func keys(m Machine) {
	for _, k := range keyTypes {
		float, from := F32, "F32"
		elem := "float32"
		if k.t == I64 {
			float, from, elem = F64, "F64", "float64"
		}
		turnKeys(m, k.t, "Keys"+from, "*"+k.elem, "*"+elem, true)
		turnKeys(m, k.t, "Values"+from, "*"+elem, "*"+k.elem, false)
		hitKeys(m, float, "HitKeys"+from, "*"+k.elem, "*"+elem)
		hitSum(m, float, "HitSum"+k.name, "*"+k.elem)
	}
}

// turnKeys emits the change of a float's bits to a key or back: a number without a sign has its sign bit flipped, another
// one all bits.
func turnKeys(m Machine, t T, name, dst, x string, to bool) {
	what := " writes to dst the values that n keys stand for, a multiple of 32 that is not 0."
	if to {
		what = " writes to dst the keys of n values, a multiple of 32 that is not 0."
	}
	m.Func(name, name+what+" dst may be x.", []Arg{{"dst", dst}, {"x", x}, {"n", "int"}}, nil)
	p, q, n := m.Arg("dst"), m.Arg("x"), m.Arg("n")
	sign := m.Pin(m.Const(t, 1<<(8*t.Bytes()-1)))
	ones := m.Pin(m.Const(t, 1<<(8*t.Bytes()-1)<<1-1))
	zero := m.Zero()
	m.Label("steps")
	for u := range columnStep / lanes(m, t) {
		v := m.Load(q, u*m.Width())
		if to {
			v = m.Drop(m.Cmp(t, EQ, v, sign), v)
			v = m.Xor(v, m.Blend(m.Cmp(t, GT, zero, v), ones, sign))
		} else {
			v = m.Xor(v, m.Blend(m.Cmp(t, GT, zero, v), sign, ones))
		}
		m.Store(p, u*m.Width(), v)
	}
	m.AddR(p, columnStep*t.Bytes())
	m.AddR(q, columnStep*t.Bytes())
	m.SubR(n, columnStep)
	m.If(n, GT, 0, "steps")
	m.Return()
}

// hitKeys emits keys of scores and outcomes. A score x is in [0,1] where x - x*x is not below 0.
func hitKeys(m Machine, f T, name, dst, x string) {
	t := f.Int()
	m.Func(name, name+` writes to dst the keys of n scores and outcomes, a multiple of 32 that is not 0, and returns how many
		scores are in [0,1].`, []Arg{{"dst", dst}, {"p", x}, {"hit", "*uint8"}, {"n", "int"}, {"room", "*uint64"}}, []Arg{{"ret", "int"}})
	to, p, hit, n := m.Arg("dst"), m.Arg("p"), m.Arg("hit"), m.Arg("n")
	ones := m.Pin(m.Const(t, 1<<(8*t.Bytes()-1)<<1-1))
	one := m.Pin(m.Const(t, 1))
	count, zero := m.Zero(), m.Zero()
	m.Label("steps")
	for off := 0; off < columnStep*t.Bytes(); off += 64 {
		m.Prefetch(p, 4096+off)
	}
	m.Prefetch(hit, 1024)
	for u := range columnStep / lanes(m, t) {
		v := m.Load(p, u*m.Width())
		in := m.Cmp(f, GE, m.Sub(f, v, m.Mul(f, v, v)), zero)
		m.CountTo(t, count, in, one)
		key := m.Or(m.Shl(t, v, 1), m.LoadBytes(t, hit, u*lanes(m, t)))
		m.Store(to, u*m.Width(), m.Blend(in, key, ones))
	}
	m.AddR(to, columnStep*t.Bytes())
	m.AddR(p, columnStep*t.Bytes())
	m.AddR(hit, columnStep)
	m.SubR(n, columnStep)
	m.If(n, GT, 0, "steps")
	room := m.Arg("room")
	k := kernelOf(m, f)
	m.StoreLane(t, room, 0, k.butterfly(t, []V{count}, func(a, b V) V { return m.Add(t, a, b) }))
	m.Result("ret", m.LoadR(room, 0, t.Bytes()))
	m.Return()
}

// hitSum emits the sums over keys. Whether all of them stand for scores in [0,1] is seen by the largest one.
func hitSum(m Machine, f T, name, x string) {
	t := f.Int()
	m.Func(name, name+` writes to to, for n keys, a multiple of 32 that is not 0, the number of outcomes that are 1, and the sums
		of the bits of p+3, of p*p+3, and of p+3 where the outcome is 1. If a key stands for a score outside [0,1] the sums have
		no meaning, and what is returned is not 0.`, []Arg{{"to", "*uint64"}, {"keys", x}, {"n", "int"}}, []Arg{{"ret", "int"}})
	to, p, n := m.Arg("to"), m.Arg("keys"), m.Arg("n")
	three, one := m.Pin(m.Const(F64, math.Float64bits(3))), m.Pin(m.Const(I64, 1))
	low, zero := m.Pin(m.Const(t, 1)), m.Zero()
	var sums [4]V
	for i := range sums {
		sums[i] = m.Zero()
	}
	above := m.Zero()
	add := func(v V, h V) {
		hit := m.Cmp(I64, GT, h, zero)
		m.CountTo(I64, sums[0], hit, one)
		fixed := m.Add(F64, v, three)
		m.AddTo(I64, sums[1], fixed)
		if f == F32 { // the product has 48 bits: nothing is rounded but the sum
			m.AddTo(I64, sums[2], m.FMA(F64, v, v, three))
		} else {
			m.AddTo(I64, sums[2], m.Add(F64, m.Mul(F64, v, v), three))
		}
		m.AddWhere(I64, sums[3], hit, fixed)
	}
	m.Label("steps")
	for u := range columnStep / lanes(m, t) {
		key := m.Load(p, u*m.Width())
		h, v := m.And(key, low), m.Shr(t, key, 1)
		// A key of a score is not negative as a signed number; all ones, the only other key, is.
		m.Move(above, m.Or(above, key))
		if f == F32 {
			add(m.Low(v), m.LowInt(h))
			add(m.High(v), m.HighInt(h))
		} else {
			add(v, h)
		}
	}
	m.AddR(p, columnStep*t.Bytes())
	m.SubR(n, columnStep)
	m.If(n, GT, 0, "steps")
	c := columnKernel{kernelOf(m, F64)}
	for i, s := range sums {
		c.total(to, i, s)
	}
	ret := m.GP(0)
	m.None(m.Cmp(t, GT, zero, above), "inside")
	m.MoveR(ret, m.GP(1))
	m.Label("inside")
	m.Result("ret", ret)
	m.Return()
}
