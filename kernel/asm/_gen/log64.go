package main

import "math"

// The float64 functions of the row ends, in vectors: the Go definitions are in kernel/explog.go.

// vector64 has the operations on float64 registers that the functions are written with.
type vector64 struct{ Machine }

func (v vector64) c(x float64) C     { return v.Const(F64, math.Float64bits(x)) }
func (v vector64) bits(x uint64) C   { return v.Const(F64, x) }
func (v vector64) add(a, b any) V    { return v.Add(F64, a, b) }
func (v vector64) sub(a, b any) V    { return v.Sub(F64, a, b) }
func (v vector64) mul(a, b any) V    { return v.Mul(F64, a, b) }
func (v vector64) fma(a, b, c any) V { return v.FMA(F64, a, b, c) }

// horner returns the polynomial with the given coefficients, the highest power's first.
func (v vector64) horner(x V, coeffs ...float64) V {
	p := v.fma(x, v.c(coeffs[0]), v.c(coeffs[1]))
	for _, c := range coeffs[2:] {
		v.HornerTo(F64, p, x, v.c(c))
	}
	return p
}

const (
	log2e   = math.Log2E
	ln2hi   = 0x1.62e42fefa39efp-1
	ln2lo   = 0x1.abc9e3b39803fp-56
	magic64 = 0x1.8p52
)

// exp returns Exp64(x). Max and Min keep a NaN that is their second operand.
func (v vector64) exp(x V) V { return v.expBelow(v.Min(F64, v.c(710), x)) }

// expBelow returns Exp64(x) for x of at most 710.
func (v vector64) expBelow(x V) V {
	n, p := v.expParts(x)
	return v.expWhole(n, p)
}

// expParts returns n and e**r - 1 with e**x = 2**n * e**r.
func (v vector64) expParts(x V) (n, p V) {
	x = v.Max(F64, v.c(-746), x)
	n = v.sub(v.fma(x, v.c(log2e), v.c(magic64)), v.c(magic64))
	r := v.Copy(x)
	v.FMATo(F64, r, n, v.c(-ln2hi))
	v.FMATo(F64, r, n, v.c(-ln2lo))
	return n, v.expm1(r)
}

// expm1 returns e**r - 1 for |r| <= ln(2)/2.
func (v vector64) expm1(r V) V {
	q := v.horner(r, 0x1.1e3d33c408befp-29, 0x1.af6bda85bfb07p-26, 0x1.27e5b43506fa6p-22, 0x1.71ddf02854ed4p-19,
		0x1.a01a01369ed3cp-16, 0x1.a01a01b37b44ap-13, 0x1.6c16c16c3043cp-10, 0x1.111111110ec65p-7, 0x1.5555555555503p-5,
		0x1.555555555555bp-3, 0.5)
	return v.fma(v.mul(r, r), q, r)
}

// expWhole returns 2**n * (1 + p).
func (v vector64) expWhole(n, p V) V {
	y := v.add(p, v.c(1))
	if v.wide() != nil {
		return v.scaled(y, n) // two factors round no more than once either: the first product is normal
	}
	t := v.fma(n, v.c(0.5), v.c(magic64))
	a := v.sub(t, v.c(magic64))
	b := v.add(v.sub(n, a), v.c(magic64))
	return v.mul(v.mul(y, v.pow2(t)), v.pow2(b))
}

// pow2 returns 2**n where t = magic64 + n.
func (v vector64) pow2(t V) V {
	return v.Shl(I64, v.Add(I64, t, v.Const(I64, 1023)), 52)
}

// root is the bits of the square root of 1/2, with which fractions start.
const root = 0x3fe6a09e00000000

// shifted returns the bits of x moved so that the field of the exponent has that of split.
func (v vector64) shifted(x V) V { return v.Add(I64, x, v.Const(I64, 0x3ff0000000000000-root)) }

// split returns k and f with x = 2**k * (1+f), for a normal positive x.
func (v vector64) split(x V) (k, f V) {
	u := v.shifted(x)
	k = v.Or(v.Shr(I64, u, 52), v.Const(I64, 0x4330000000000000))
	k = v.sub(k, v.c(0x1p52+1023))
	m := v.Add(I64, v.And(u, v.Const(I64, 0x000fffffffffffff)), v.Const(I64, root))
	return k, v.sub(m, v.c(1))
}

// logSplit returns k*ln(2) + ln(1+f).
func (v vector64) logSplit(k, f V) V {
	return v.fma(k, v.c(ln2hi), v.logFraction(f, func() V { return v.mul(k, v.c(ln2lo)) }))
}

// logFraction returns ln(1+f), to which the low part of k*ln(2) is added on the way.
func (v vector64) logFraction(f V, lo func() V) V {
	s := v.Div(F64, f, v.add(f, v.c(2)))
	z := v.mul(s, s)
	h := v.mul(v.mul(f, v.c(0.5)), f)
	r := v.horner(z, 0x1.2f05659483424p-3, 0x1.39a1ba82a83b4p-3, 0x1.74663eea824cdp-3, 0x1.c71c52095296dp-3,
		0x1.24924941f132bp-2, 0x1.999999997fdb6p-2, 0x1.5555555555592p-1)
	v.HornerTo(F64, r, z, h)
	v.HornerTo(F64, r, s, lo())
	return v.sub(f, v.sub(h, r))
}

// logNormal returns Log64(x) for a normal positive x.
func (v vector64) logNormal(x V) V { return v.logSplit(v.split(x)) }

// ln returns Log64(x).
func (v vector64) ln(x V) V {
	tiny := v.Cmp(F64, LT, x, v.c(0x1p-1022))
	k, f := v.split(v.Blend(tiny, v.mul(x, v.c(0x1p54)), x))
	y := v.logSplit(v.add(k, v.Keep(tiny, v.c(-54))), f)
	return logSpecial(v.Machine, F64, x, y)
}

// log1p returns Log1p64(x) for x from -1 + 2**-53 to 2**60; -0 becomes 0 or stays.
func (v vector64) log1p(x V) V {
	u := v.add(x, v.c(1))
	b := v.sub(u, v.c(1))
	one := v.Copy(v.c(1))
	y := v.logSum(u, v.add(v.sub(one, v.sub(u, b)), v.sub(x, b)))
	size := v.And(x, v.bits(0x7fffffffffffffff))
	return v.Blend(v.Cmp(F64, LT, size, v.c(0x1p-54)), x, y)
}

// log1pTail returns Log1p64(x) for x that is 0 or from 2**-90 to 2**60, and 1 + x. A small x becomes its own logarithm: what
// the series takes off below 2**-54 is less than half of the last place.
func (v vector64) log1pTail(x V) (ln, u V) {
	one := v.Copy(v.c(1))
	u = v.add(x, one)
	c := v.sub(v.Min(F64, x, one), v.sub(u, v.Max(F64, x, one)))
	return v.logSum(u, c), u
}

// logSum returns ln(u + c) for u from 2**-53 to 2**60 and c below its last place.
func (v vector64) logSum(u, c V) V {
	m := v.wide()
	if m == nil {
		k, f := v.split(u)
		scale := v.pow2(v.sub(v.Copy(v.c(magic64)), k))
		return v.logSplit(k, v.add(f, v.mul(c, scale)))
	}
	k := v.each(func(o []any) any {
		d := m.v()
		m.VGETEXPPD(op(o[0]), d)
		return d
	}, v.shifted(u))
	down := v.sub(v.Zero(), k)
	return v.logSplit(k, v.add(v.sub(v.scaled(u, down), v.c(1)), v.scaled(c, down)))
}

// wide returns the machine if it has AVX-512, else nil.
func (v vector64) wide() *amd64 {
	m := v.Machine
	if b, ok := m.(bundler); ok {
		m = b.Machine
	}
	if a, ok := m.(*amd64); ok && a.wide() {
		return a
	}
	return nil
}

// each calls f for the operands, or where they are bundles for each place of them.
func (v vector64) each(f func(o []any) any, operands ...any) V {
	if b, ok := v.Machine.(bundler); ok {
		return b.on(f, operands...)
	}
	return f(operands)
}

// scaled returns x * 2**n, rounded once, where the machine is wide.
func (v vector64) scaled(x, n V) V {
	m := v.wide()
	return v.each(func(o []any) any {
		d := m.v()
		m.VSCALEFPD(op(o[1]), op(o[0]), d)
		return d
	}, x, n)
}
