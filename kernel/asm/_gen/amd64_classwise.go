package main

import (
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (m *amd64) Unsigned(t T, a V) V {
	if m.wide() {
		return a
	}
	return m.Xor(a, m.Const(t, 1<<(8*t.Bytes()-1)))
}

func (m *amd64) Below(t T, a, b V) M {
	if !m.wide() {
		return m.Cmp(t, GT, b, a)
	}
	d := m.newMask(t)
	byType(t, m.VPCMPUD, m.VPCMPUQ)(operand.U8(1), op(b), op(a), d.r)
	return d
}

func (m *amd64) All(k M, label string) {
	q, l := k.(mask), operand.LabelRef(label)
	switch {
	case !m.wide():
		m.CMPL(m.bitsOf(q), operand.U32(1<<(m.width/q.t.Bytes())-1))
		m.JEQ(l)
	case q.t.Bytes() == 4:
		m.KORTESTW(q.r, q.r)
		m.JCS(l)
	default:
		m.KORTESTB(q.r, q.r)
		m.JCS(l)
	}
}

// bitsOf returns a mask as bits of a general register.
func (m *amd64) bitsOf(q mask) reg.GPVirtual {
	b := m.GP32()
	switch {
	case m.wide() && q.t.Bytes() == 4:
		m.KMOVW(q.r, b)
	case m.wide():
		m.KMOVB(q.r, b)
	case q.t.Bytes() == 4:
		m.VMOVMSKPS(q.r, b)
	default:
		m.VMOVMSKPD(q.r, b)
	}
	return b
}

func (m *amd64) LoadKept(t T, p R, off int, x V, k M) []V {
	if !m.wide() {
		x = m.Keep(k, x)
		if t == F32 {
			return []V{m.Low(x), m.High(x)}
		}
		return []V{x}
	}
	q := k.(mask)
	if t == F64 {
		return []V{m.Keep(k, at(p, off))}
	}
	lo, hi, upper := m.v(), m.v(), m.K()
	m.VCVTPS2PD_Z(at(p, off), q.r, lo)
	m.KSHIFTRW(operand.U8(8), q.r, upper)
	m.VCVTPS2PD_Z(at(p, off+32), upper, hi)
	return []V{lo, hi}
}

func (m *amd64) PrefetchBeyond(p R, off int, jump R) {
	place := at(p, off)
	place.Index, place.Scale = jump.(reg.Register), 1
	m.PREFETCHT1(place)
}

func (m *amd64) StoreBeyond(p, jump R, off int, v V) {
	place := at(p, off)
	place.Index, place.Scale = jump.(reg.Register), 1
	m.VMOVUPS(op(v), place)
}

func (m *amd64) Numbered(first R) V {
	v := m.spread(I32, first)
	if m.wide() {
		m.VPADDD(op(m.IotaAt(I32, 0)), v.(reg.Register), v.(reg.Register))
	}
	return v
}

// List adds the numbers of the lanes, by the bits, where there is no instruction that moves lanes together.
func (m *amd64) List(t T, to R, numbers V, k M) {
	q, v := k.(mask), numbers.(reg.Vec)
	b := m.bitsOf(q)
	switch {
	case m.wide() && t == F32:
		z := m.v()
		m.VPCOMPRESSD_Z(op(numbers), q.r, z)
		m.Store(to, 0, z)
	case m.wide():
		y := m.YMM()
		m.VPCOMPRESSD_Z(v.AsY(), q.r, y)
		m.VMOVDQU32(y, at(to, 0))
	default:
		table := m.GP64()
		m.LEAQ(m.words("numbers", 256*8, I64, numbersOf), table)
		entry := at(table, 0)
		entry.Index, entry.Scale = b.As64(), 8
		y := m.YMM()
		m.VPMOVZXBD(entry, y)
		m.VPADDD(op(numbers), y, y)
		if t == F32 {
			m.VMOVUPS(y, at(to, 0))
		} else {
			m.VMOVUPS(y.AsX(), at(to, 0))
		}
	}
	m.POPCNTL(b, b)
	end := at(to, 0)
	end.Index, end.Scale = b.As64(), 4
	m.LEAQ(end, op(to))
}

// numbersOf returns the numbers of the bits that are set in 8, a byte each, the lowest first.
func numbersOf(set int) (numbers uint64) {
	for i := 0; set != 0; i++ {
		numbers |= uint64(bits.TrailingZeros(uint(set))) << (8 * i)
		set &= set - 1
	}
	return numbers
}
