package main

import "github.com/mmcloughlin/avo/operand"

// A bundle is registers, or masks, that go through the same arithmetic side by side: a chain of dependent instructions
// would fill the scheduler of the CPU, so it is given the next ones' in turn.
type bundle []any

// bundler is a Machine whose element-wise operations take bundles where they take registers.
type bundler struct{ Machine }

// on calls f for each place of the operands that are bundles, or once if none is. A constant is read once.
func (m bundler) on(f func(o []any) any, operands ...any) any {
	n := 0
	for _, o := range operands {
		if b, ok := o.(bundle); ok {
			n = len(b)
		}
	}
	if n == 0 {
		return f(operands)
	}
	for i, o := range operands {
		switch o.(type) {
		case operand.Mem, constant:
			operands[i] = m.Pin(o)
		}
	}
	out := make(bundle, n)
	for i := range out {
		o := append([]any(nil), operands...)
		for j := range o {
			if b, ok := o[j].(bundle); ok {
				o[j] = b[i]
			}
		}
		out[i] = f(o)
	}
	return out
}

func (m bundler) one(f func(a V) V, a any) V {
	return m.on(func(o []any) any { return f(o[0]) }, a)
}

func (m bundler) shift(f func(t T, a V, n int) V, t T, a V, n int) V {
	return m.on(func(o []any) any { return f(t, o[0], n) }, a)
}

func (m bundler) two(f func(t T, a, b any) V, t T, a, b any) V {
	return m.on(func(o []any) any { return f(t, o[0], o[1]) }, a, b)
}

func (m bundler) Add(t T, a, b any) V        { return m.two(m.Machine.Add, t, a, b) }
func (m bundler) Sub(t T, a, b any) V        { return m.two(m.Machine.Sub, t, a, b) }
func (m bundler) Mul(t T, a, b any) V        { return m.two(m.Machine.Mul, t, a, b) }
func (m bundler) Div(t T, a, b any) V        { return m.two(m.Machine.Div, t, a, b) }
func (m bundler) Max(t T, a, b any) V        { return m.two(m.Machine.Max, t, a, b) }
func (m bundler) Min(t T, a, b any) V        { return m.two(m.Machine.Min, t, a, b) }
func (m bundler) Shl(t T, a V, n int) V      { return m.shift(m.Machine.Shl, t, a, n) }
func (m bundler) Shr(t T, a V, n int) V      { return m.shift(m.Machine.Shr, t, a, n) }
func (m bundler) Sar(t T, a V, n int) V      { return m.shift(m.Machine.Sar, t, a, n) }
func (m bundler) FromInt(a V) V              { return m.one(m.Machine.FromInt, a) }
func (m bundler) Low(a V) V                  { return m.one(m.Machine.Low, a) }
func (m bundler) High(a V) V                 { return m.one(m.Machine.High, a) }
func (m bundler) Copy(a any) V               { return m.one(func(v V) V { return m.Machine.Copy(v) }, a) }
func (m bundler) FMATo(t T, acc V, a, b any) { m.three(m.Machine.FMATo, t, acc, a, b) }

func (m bundler) three(f func(t T, acc V, a, b any), t T, acc V, a, b any) {
	m.on(func(o []any) any { f(t, o[0], o[1], o[2]); return nil }, acc, a, b)
}

func (m bundler) HornerTo(t T, p V, f V, c any) {
	m.three(func(t T, p V, f, c any) { m.Machine.HornerTo(t, p, f, c) }, t, p, f, c)
}

func (m bundler) FMA(t T, a, b, c any) V {
	return m.on(func(o []any) any { return m.Machine.FMA(t, o[0], o[1], o[2]) }, a, b, c)
}

func (m bundler) And(a, b any) V {
	return m.on(func(o []any) any { return m.Machine.And(o[0], o[1]) }, a, b)
}

func (m bundler) Or(a, b any) V {
	return m.on(func(o []any) any { return m.Machine.Or(o[0], o[1]) }, a, b)
}

func (m bundler) Narrow(lo, hi V) V {
	return m.on(func(o []any) any { return m.Machine.Narrow(o[0], o[1]) }, lo, hi)
}

func (m bundler) Cmp(t T, c Cond, a, b any) M {
	return m.on(func(o []any) any { return m.Machine.Cmp(t, c, o[0], o[1]) }, a, b)
}

func (m bundler) Blend(k M, yes, no any) V {
	return m.on(func(o []any) any { return m.Machine.Blend(o[0], o[1], o[2]) }, k, yes, no)
}

func (m bundler) Keep(k M, v any) V {
	return m.on(func(o []any) any { return m.Machine.Keep(o[0], o[1]) }, k, v)
}
