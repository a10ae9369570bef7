package main

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const signs = 1 << 63

// Sifter compresses with AVX-512. With AVX2 a permutation from a table puts the lanes of a mask in front.
func (m *amd64) Sifter(t T, last R) func(v V) (low, high V, n R) {
	most := m.spread(t, last)
	if m.wide() {
		compress := byThree(t, m.VPCOMPRESSD_Z, m.VPCOMPRESSQ_Z)
		return func(v V) (V, V, R) {
			k, other, n := m.K(), m.K(), m.GP64()
			low, high := m.v(), m.v()
			if t.Bytes() == 4 {
				m.VPCMPUD(operand.U8(2), op(most), op(v), k)
				m.KNOTW(k, other)
				m.KMOVW(k, n.As32())
			} else {
				m.VPCMPUQ(operand.U8(2), op(most), op(v), k)
				m.KNOTB(k, other)
				m.KMOVB(k, n.As32())
			}
			compress(op(v), k, low)
			compress(op(v), other, high)
			m.POPCNTL(n.As32(), n.As32())
			return low, high, n
		}
	}
	orders := m.GP64()
	m.LEAQ(m.orders(t), orders)
	if t.Bytes() == 8 {
		most = m.Xor(most, m.Const(I64, signs))
	}
	return func(v V) (V, V, R) {
		n, other := m.GP64(), m.GP64()
		low, high := m.v(), m.v()
		all := 1<<(32/t.Bytes()) - 1
		if t.Bytes() == 4 {
			s := m.v()
			m.VPMINUD(op(most), op(v), s)
			m.VPCMPEQD(op(v), s, s)
			m.VMOVMSKPS(s, n.As32())
		} else {
			s := m.Cmp(I64, GT, m.Xor(v, m.Const(I64, signs)), most)
			m.VMOVMSKPD(s.(mask).r, n.As32())
			m.XORL(operand.U8(all), n.As32())
		}
		at := m.GP64()
		m.MOVL(n.As32(), at.As32())
		m.SHLL(operand.U8(5), at.As32())
		m.MOVL(at.As32(), other.As32())
		m.XORL(operand.U32(all<<5), other.As32())
		for _, o := range []struct {
			to, index reg.Register
		}{{low.(reg.Register), at}, {high.(reg.Register), other}} {
			i := m.v()
			m.VMOVDQU(operand.Mem{Base: orders, Index: o.index, Scale: 1}, i)
			m.VPERMD(op(v), i, o.to)
		}
		m.POPCNTL(n.As32(), n.As32())
		return low, high, n
	}
}

// orders returns for each set of lanes a permutation of words that puts them in front.
func (m *amd64) orders(t T) operand.Mem {
	lanes, words := 32/t.Bytes(), t.Bytes()/4
	return m.words(fmt.Sprintf("orders%d", 8*t.Bytes()), 32<<lanes, I32, func(i int) uint64 {
		set, place := i/8, i%8
		lane := place / words
		if n := bits.OnesCount(uint(set)); lane < n {
			for range lane {
				set &= set - 1
			}
			return uint64(bits.TrailingZeros(uint(set))*words + place%words)
		}
		return 0
	})
}

// Exchanger keeps the masks of lanes, and the orders that no shuffle has, in registers. The 64-bit comparison of AVX2 is
// of signed numbers, so lanes are raised.
func (m *amd64) Exchanger(t T) exchanger {
	n := m.width / t.Bytes()
	e := exchanger{raise: func(v V) V { return v }}
	orders := map[int]V{}
	for mask := 7; mask < n; mask = 2*mask + 1 {
		if mask == 7 || mask == 15 {
			words := t.Bytes() / 4
			orders[mask] = m.Copy(m.data(fmt.Sprintf("flip%d_%d", 8*t.Bytes(), mask), I32, func(i int) uint64 {
				if t.Bytes() == 8 { // VPERMQ reads the low bits of words of 64 bits
					if i%2 == 1 {
						return 0
					}
					return uint64(i/2 ^ mask)
				}
				return uint64((i/words ^ mask) * words)
			}))
		}
	}
	e.flip = func(v V, mask int) V {
		d := m.v()
		if i, ok := orders[mask]; ok {
			byType(t, three(m.vpermd), three(m.vpermq))(op(v), op(i), d)
			return d
		}
		if mask == 3 {
			if t.Bytes() == 4 {
				m.VPSHUFD(operand.U8(0x1b), op(v), d)
			} else {
				m.VPERMQ(operand.U8(0x1b), op(v), d)
			}
			return d
		}
		return m.Swap(t, v, mask)
	}
	if !m.wide() && t.Bytes() == 8 {
		e.raise = func(v V) V { return m.Xor(v, m.Const(I64, signs)) }
		e.pair = func(a, b V) (V, V) {
			k := m.Cmp(I64, GT, a, b)
			return m.Blend(k, b, a), m.Blend(k, a, b)
		}
		take := func(a, b V, bit int) mask {
			k := m.Cmp(I64, GT, a, b).(mask)
			upper := m.data(fmt.Sprintf("upper%d", bit), I64, func(i int) uint64 {
				if i&bit != 0 {
					return 1<<64 - 1
				}
				return 0
			})
			return mask{I64, m.Xor(k.r, upper).(reg.Register)}
		}
		e.side = func(a, b V, bit int) V { return m.Blend(take(a, b, bit), b, a) }
		e.apart = func(a, b V, bit int) (V, V) {
			k := take(a, b, bit)
			return m.Blend(k, b, a), m.Blend(k, a, b)
		}
		return e
	}
	least, largest := three(m.vpminud), three(m.vpmaxud)
	// The larger one is what is left of a, b and the smaller: of registers of 64 bytes Intel's CPUs compare one in a cycle
	// and do such logic with two (0.59 ns a key of 256 against 0.81).
	differ := func(o ...operand.Op) {
		byType(t, m.VPTERNLOGD, m.VPTERNLOGQ)(append([]operand.Op{operand.U8(0x96)}, o...)...)
	}
	if m.wide() {
		least = byType(t, m.VPMINUD, m.VPMINUQ)
	}
	e.pair = func(a, b V) (V, V) {
		lo, hi := m.v(), m.v()
		least(op(b), op(a), lo)
		if m.wide() {
			differ(op(lo), op(b), op(a))
			return lo, a
		}
		largest(op(b), op(a), hi)
		return lo, hi
	}
	upper := map[int]reg.Register{}
	pattern := func(bit int) (p uint64) {
		for l := range n {
			if l&bit != 0 {
				p |= 1 << l
			}
		}
		return p
	}
	if m.wide() {
		for bit := 1; bit < n; bit *= 2 {
			upper[bit] = m.toMask(t, m.GP(int64(pattern(bit)))).(mask).r
		}
	}
	e.side = func(a, b V, bit int) V {
		d := m.v()
		least(op(b), op(a), d)
		if m.wide() {
			differ(op(b), op(a), upper[bit], d)
			return d
		}
		hi, out := m.v(), m.v()
		largest(op(b), op(a), hi)
		m.VPBLENDD(operand.U8(pattern(bit)), hi, d, out)
		return out
	}
	if !m.wide() {
		e.apart = func(a, b V, bit int) (V, V) {
			lo, hi := e.pair(a, b)
			v, other := m.v(), m.v()
			m.VPBLENDD(operand.U8(pattern(bit)), op(hi), op(lo), v)
			m.VPBLENDD(operand.U8(pattern(bit)), op(lo), op(hi), other)
			return v, other
		}
	}
	return e
}

func (m *amd64) vpermd(a, b, c operand.Op)  { m.VPERMD(a, b, c) }
func (m *amd64) vpermq(a, b, c operand.Op)  { m.VPERMQ(a, b, c) }
func (m *amd64) vpminud(a, b, c operand.Op) { m.VPMINUD(a, b, c) }
func (m *amd64) vpmaxud(a, b, c operand.Op) { m.VPMAXUD(a, b, c) }

func (m *amd64) KeyCount(t T, n R) any { return m.spread(t, n) }

// below returns the mask of the lanes of register r whose key is one of n.
func (m *amd64) below(t T, n any, r int) mask { return m.Cmp(t, GT, n, m.IotaAt(t, r)).(mask) }

func (m *amd64) LoadKeys(t T, p R, n any, r int) V {
	k := m.below(t, n, r)
	if m.wide() {
		v := m.Copy(m.Const(I32, 1<<32-1))
		byType(t, m.VMOVDQU32, m.VMOVDQU64)(at(p, 64*r), k.r, op(v))
		return v
	}
	v := m.v()
	byThree(t, m.VMASKMOVPS, m.VMASKMOVPD)(at(p, 32*r), k.r, v)
	return m.Or(v, m.NotM(k).(mask).r)
}

func (m *amd64) StoreKeys(t T, p R, n any, r int, v V) {
	k := m.below(t, n, r).r
	if m.wide() {
		byType(t, m.VMOVDQU32, m.VMOVDQU64)(op(v), k, at(p, 64*r))
		return
	}
	byThree(t, m.VMASKMOVPS, m.VMASKMOVPD)(op(v), k, at(p, 32*r))
}

func (m *amd64) AddScaled(dst, r R, scale int) {
	m.LEAQ(operand.Mem{Base: dst.(reg.Register), Index: r.(reg.Register), Scale: uint8(scale)}, op(dst))
}

func (m *amd64) NegR(r R) { m.NEGQ(op(r)) }

func (m *amd64) LoadBytes(t T, p R, off int) V {
	v := m.v()
	if t.Bytes() == 4 {
		m.VPMOVZXBD(at(p, off), v)
	} else {
		m.VPMOVZXBQ(at(p, off), v)
	}
	return v
}
