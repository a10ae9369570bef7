package main

import "github.com/candor-go/candor/kernel/asm/_gen/neon"

// Operations that only some kernels need.

func (m *neonMachine) Table(_ string, t T, value func(lane int) uint64) C {
	if t.Bytes() == 8 {
		return constant{value(0), value(1)}
	}
	return constant{value(0) | value(1)<<32, value(2) | value(3)<<32}
}

func (m *neonMachine) Split(a, b V, dist int) (lo, hi V) {
	if dist != 1 {
		panic("Split: no such distance")
	}
	return m.ZipLow(F64, a, b), m.ZipHigh(F64, a, b)
}

func (m *neonMachine) LoadWidened(p R, off int) V {
	v := m.f.Vector()
	m.load(8, v, p, off)
	return m.Low(v)
}

func (m *neonMachine) StoreNarrow(p R, off int, v V) { m.store(8, p, off, m.NarrowInt(v, v)) }

func (m *neonMachine) LoadWhere(Source, R, M) V { panic("LoadWhere: registers are smaller") }

func (m *neonMachine) CountTo(t T, acc V, k M, one any) { m.SubTo(t, acc, k) }

func (m *neonMachine) AddWhere(t T, acc V, k M, b any) { m.AddTo(t, acc, m.Keep(k, b)) }

func (m *neonMachine) LoadTruths(p R, off int) M {
	v := m.f.Vector()
	m.f.Asm("FMOVD %v, %v", neon.Use(register(m.LoadR(p, off, 2))), neon.Def(v))
	return m.Sub(I64, m.Zero(), m.do("uxtl", "2d", m.do("uxtl", "4s", m.do("uxtl", "8h", v))))
}

func (m *neonMachine) Truths(k [4]M) V {
	bytes := m.do("uzp1", "16b", m.do("uzp1", "8h", k[0], k[1]), m.do("uzp1", "8h", k[2], k[3]))
	return m.And(bytes, m.Const(I32, 0x01010101))
}

func (m *neonMachine) PackInts(v [4]V) V {
	pair := func(a, b V) V {
		d := m.do("sqxtn", "4h", a)
		m.f.Do("sqxtn2", "8h", 0, d, register(b))
		return d
	}
	d := m.do("sqxtn", "8b", pair(v[0], v[1]))
	m.f.Do("sqxtn2", "16b", 0, d, register(pair(v[2], v[3])))
	return d
}

func (m *neonMachine) CountBytesTo(acc, v V, n, one any) {
	m.f.Do("sub", "16b", 0, register(acc), register(acc), m.do("cmeq", "16b", v, n))
}

func (m *neonMachine) SumBytes(v V) V {
	return m.do("uaddlp", "2d", m.do("uaddlp", "4s", m.do("uaddlp", "8h", v)))
}

func (m *neonMachine) MaxInt(a, b any) V { return m.do("smax", "4s", a, b) }

func (m *neonMachine) StoreCell(p R, off int, v []V) {
	m.Store(p, off, v[0])
	m.Store(p, off+16, v[1])
}

func (m *neonMachine) Cells(room R) func(to V, off int, v [4]V) {
	return func(to V, off int, v [4]V) {
		m.Store(room, 0, to)
		m.addRecords(v, func(l int) (R, int) { return m.LoadR(room, 8*l, 8), off + 32*l })
	}
}

// addRecords adds each lane of four registers to 32 bytes.
func (m *neonMachine) addRecords(v [4]V, place func(l int) (R, int)) {
	for l, zip := range []func(T, V, V) V{m.ZipLow, m.ZipHigh} {
		p, off := place(l)
		for h := range 2 {
			at := off + 16*h
			m.Store(p, at, m.Add(I64, m.Load(p, at), zip(F64, v[2*h], v[2*h+1])))
		}
	}
}
