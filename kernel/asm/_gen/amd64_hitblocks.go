package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// HitScores moves the bits of the keys of even and of odd number to where those of a float64 stand. 896 is what its exponent is more
// than that of a float32; of a score in [0,1] that has seven bits, and 896 none of them. 0 becomes 2**-127 so.
func (m *amd64) HitScores() func(key V) (p [2]V, hit [2]M, hits M) {
	digits, more := m.Pin(m.Const(I64, 1<<59-1<<29)), m.Pin(m.Const(I64, 896<<52))
	if !m.wide() {
		return func(key V) (p [2]V, hit [2]M, hits M) {
			for h, v := range []V{m.Shl(I64, key, 28), m.Shr(I64, key, 4)} {
				p[h] = m.Or(m.And(v, digits), more)
			}
			k := m.Sar(I32, m.Shl(I32, key, 31), 31).(reg.Register)
			return p, [2]M{mask{F64, m.Shl(I64, k, 32).(reg.Register)}, mask{F64, k}}, mask{I32, k}
		}
	}
	bits := []any{m.Pin(m.Const(I64, 1)), m.Pin(m.Const(I64, 1<<32))}
	outcome := m.Pin(m.Const(I32, 1))
	return func(key V) (p [2]V, hit [2]M, hits M) {
		for h, v := range []V{m.Shl(I64, key, 28), m.Shr(I64, key, 4)} {
			m.VPTERNLOGQ(operand.U8(0xea), op(more), op(digits), op(v))
			k := m.newMask(F64)
			m.VPTESTMQ(op(bits[h]), op(key), k.r)
			p[h], hit[h] = v, k
		}
		k := m.newMask(I32)
		m.VPTESTMD(op(outcome), op(key), k.r)
		return p, hit, k
	}
}

// Bits joins two of a size to one of twice as many, or of half the bytes.
func (m *amd64) Bits() func(k M) R {
	var open [3]reg.Register // of which another one comes
	join := m.packed
	if m.wide() {
		join = m.joined
	}
	var low R
	return func(k M) R {
		r := k.(mask).r
		for size := range 2 {
			if open[size] == nil {
				open[size] = r
				return nil
			}
			r, open[size] = join(size, open[size], r), nil
		}
		word := m.GP64()
		if m.wide() {
			m.KMOVQ(r, word)
			return word
		}
		order := m.Table("packed", I32, func(i int) uint64 { return uint64(i%2*4 + i/2) })
		d := m.v()
		m.VPERMD(r, m.reg(order), d)
		m.VPMOVMSKB(d, word.As32())
		if low == nil {
			low = word
			return nil
		}
		m.ShlR(word, 32)
		m.OrR(word, low)
		return word
	}
}

func (m *amd64) joined(size int, a, b reg.Register) reg.Register {
	k := m.K()
	[]func(a, b, c operand.Op){m.KUNPCKWD, m.KUNPCKDQ}[size](a, b, k)
	return k
}

func (m *amd64) packed(size int, a, b reg.Register) reg.Register {
	d := m.v()
	[]func(...operand.Op){m.VPACKSSDW, m.VPACKSSWB}[size](b, a, d)
	return d
}

func (m *amd64) OnesR(r R) R {
	d := m.GP64()
	m.POPCNTQ(op(r), d)
	return d
}

func (m *amd64) StoreSums(p R, off int, a, b V) {
	sum := m.Add(I64, m.ZipLow(F64, a, b), m.ZipHigh(F64, a, b)).(reg.Vec)
	if m.wide() {
		y := m.YMM()
		m.VPADDQ(m.upper(sum), sum.AsY(), y)
		sum = y
	}
	x := m.XMM()
	m.VEXTRACTI128(operand.U8(1), sum.AsY(), x)
	m.VPADDQ(sum.AsX(), x, x)
	m.VMOVDQU(x, at(p, off))
}
