package main

import (
	"math/bits"

	"github.com/candor-go/candor/kernel/asm/_gen/neon"
)

// rows puts rows of 16 bytes one after another into the constants and returns the address of the first.
func (m *neonMachine) rows(name string, n int, row func(i int) constant) R {
	key := constant{^uint64(0), uint64(len(name))<<32 | uint64(n)}
	first, ok := m.consts[key]
	if !ok {
		first = len(m.data)
		m.consts[key] = first
		for i := range n {
			m.data = append(m.data, row(i))
		}
	}
	p := m.f.General()
	m.f.Asm("ADD %v, %v, %v", immediate(16*first), neon.Use(m.base), neon.Def(p))
	return p
}

// lookUp returns a register whose lane i is lane from(i) of another by VTBL, and 0, or with VTBX what was there before,
// where from is negative.
func lookUp(t T, from func(i int) int) (c constant) {
	for b := range 16 {
		lane, at := from(b/t.Bytes()), 0xff
		if lane >= 0 {
			at = lane*t.Bytes() + b%t.Bytes()
		}
		c[b/8] |= uint64(at) << (8 * (b % 8))
	}
	return c
}

// Sifter adds up a bit for each lane, which is the place of an order in a table, and 256 for their number.
func (m *neonMachine) Sifter(t T, last R) func(v V) (low, high V, n R) {
	lanes := 16 / t.Bytes()
	sets := 1 << lanes
	orders := m.rows("orders"+goLanes(t), sets, func(set int) constant {
		return lookUp(t, func(i int) int {
			if i >= bits.OnesCount(uint(set)) {
				return -1
			}
			s := set
			for range i {
				s &= s - 1
			}
			return bits.TrailingZeros(uint(s))
		})
	})
	most := m.f.Vector()
	m.f.Asm("VDUP %v, %v", neon.Use(register(last)), neon.Def(most, goLanes(t)))
	weights := m.Pin(m.Table("", t, func(lane int) uint64 { return 0x100 + 1<<lane }))
	signed := m.Pin(m.Const(I64, signs))
	if t == I64 {
		most = register(m.Xor(most, signed))
	}
	return func(v V) (V, V, R) {
		sum, r, at := m.f.Vector(), m.f.General(), m.f.General()
		var b *neon.Reg
		if t == I32 {
			b = m.do("uaddlp", "2d", m.And(m.Cmp(I32, EQ, m.least(v, most), v), weights))
		} else {
			b = register(m.And(m.NotM(m.Cmp(I64, GT, m.Xor(v, signed), most)), weights))
		}
		m.f.Asm("VADDP %v, %v, %v", neon.Use(b, "D2"), neon.Use(b, "D2"), neon.Def(sum, "D2"))
		m.f.Asm("FMOVD %v, %v", neon.Use(sum), neon.Def(r))
		m.f.Asm("AND %v, %v, %v", immediate(sets-1), neon.Use(r), neon.Def(at))
		m.ShrR(r, 8)
		m.ShlR(at, 4)
		other := m.CopyR(orders)
		m.AddR(other, 16*(sets-1))
		m.SubR(other, at)
		m.AddR(at, orders)
		order := func(p R) V {
			d := m.f.Vector()
			m.f.Asm("VTBL %v, [%v], %v", neon.Use(register(m.Load(p, 0)), "B16"), neon.Use(register(v), "B16"), neon.Def(d, "B16"))
			return d
		}
		return order(at), order(other), r
	}
}

// least and largest compare unsigned numbers of 32 bits.
func (m *neonMachine) least(a, b V) V   { return m.unsigned("VUMIN", a, b) }
func (m *neonMachine) largest(a, b V) V { return m.unsigned("VUMAX", a, b) }

func (m *neonMachine) unsigned(name string, a, b V) V {
	d := m.f.Vector()
	m.f.Asm(name+" %v, %v, %v", neon.Use(register(b), "S4"), neon.Use(register(a), "S4"), neon.Def(d, "S4"))
	return d
}

// Exchanger compares 64 bits as signed numbers, so these are raised.
func (m *neonMachine) Exchanger(t T) exchanger {
	e := exchanger{raise: func(v V) V { return v }}
	e.flip = func(v V, mask int) V {
		if mask == 3 {
			return m.Swap(t, m.Swap(t, v, 1), 2)
		}
		return m.Swap(t, v, mask)
	}
	upper := func(bit int) V {
		return m.Copy(m.Table("", t, func(lane int) uint64 {
			if lane&bit != 0 {
				return (1<<(8*t.Bytes()-1)-1)<<1 | 1
			}
			return 0
		}))
	}
	if t == I32 {
		e.pair = func(a, b V) (V, V) { return m.least(a, b), m.largest(a, b) }
		e.side = func(a, b V, bit int) V {
			d := m.least(a, b)
			m.BlendTo(upper(bit), d, m.largest(a, b))
			return d
		}
		return e
	}
	e.raise = func(v V) V { return m.Xor(v, m.Const(I64, signs)) }
	e.pair = func(a, b V) (V, V) {
		k := m.Cmp(I64, GT, a, b)
		return m.Blend(k, b, a), m.Blend(k, a, b)
	}
	e.side = func(a, b V, bit int) V { return m.Blend(m.Xor(m.Cmp(I64, GT, a, b), upper(bit)), b, a) }
	return e
}

func (m *neonMachine) KeyCount(t T, n R) any { return n }

// LoadKeys loads a register that is not full from the end of the keys backwards, and turns it.
func (m *neonMachine) LoadKeys(t T, p R, n any, r int) V {
	lanes := 16 / t.Bytes()
	v := m.Copy(m.Const(I32, 1<<32-1))
	part, done := m.f.NewLabel(), m.f.NewLabel()
	m.If(n, LE, r*lanes, done)
	m.If(n, LT, (r+1)*lanes, part)
	m.LoadTo(v, p, 16*r)
	m.Jump(done)
	m.Label(part)
	end := m.CopyR(n)
	m.ShlR(end, bits.TrailingZeros(uint(t.Bytes())))
	m.AddR(end, p)
	last := m.Load(end, -16)
	turn := m.rows("ends"+goLanes(t), lanes, func(k int) constant {
		return lookUp(t, func(i int) int {
			if i < k {
				return lanes - k + i
			}
			return -1
		})
	})
	at := m.CopyR(n)
	m.AndR(at, lanes-1)
	m.ShlR(at, 4)
	m.AddR(at, turn)
	m.f.Asm("VTBX %v, [%v], %v", neon.Use(register(m.Load(at, 0)), "B16"), neon.Use(register(last), "B16"), neon.Mod(register(v), "B16"))
	m.Label(done)
	return v
}

func (m *neonMachine) StoreKeys(t T, p R, n any, r int, v V) {
	lanes := 16 / t.Bytes()
	part, done := m.f.NewLabel(), m.f.NewLabel()
	m.If(n, LE, r*lanes, done)
	m.If(n, LT, (r+1)*lanes, part)
	m.Store(p, 16*r, v)
	m.Jump(done)
	m.Label(part)
	q, left := m.CopyR(p), m.CopyR(n)
	m.AddR(q, 16*r)
	m.SubR(left, r*lanes)
	m.StoreFirst(t, q, left, []V{v})
	m.Label(done)
}

func (m *neonMachine) AddScaled(dst, r R, scale int) {
	m.f.Asm("ADD %v<<%v, %v", neon.Use(register(r)), bits.TrailingZeros(uint(scale)), neon.Mod(register(dst)))
}

func (m *neonMachine) NegR(r R) {
	m.f.Asm("SUB %v, ZR, %v", neon.Use(register(r)), neon.Def(register(r)))
}

func (m *neonMachine) LoadBytes(t T, p R, off int) V {
	v := m.f.Vector()
	m.f.Asm("FMOVD %v, %v", neon.Use(register(m.LoadR(p, off, 16/t.Bytes()))), neon.Def(v))
	w := m.do("uxtl", "4s", m.do("uxtl", "8h", v))
	if t.Bytes() == 8 {
		return m.do("uxtl", "2d", w)
	}
	return w
}
