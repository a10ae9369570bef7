package main

import "github.com/candor-go/candor/kernel/asm/_gen/neon"

func (m *neonMachine) HitScores() func(key V) (p [2]V, hit [2]M, hits M) {
	return func(key V) (p [2]V, hit [2]M, hits M) {
		x, k := m.Shr(I32, key, 1), m.Sar(I32, m.Shl(I32, key, 31), 31)
		return [2]V{m.Low(x), m.High(x)}, [2]M{m.LowInt(k), m.HighInt(k)}, k
	}
}

// Bits joins two registers to one of halves of the lanes, then of pairs of bytes, in which there is a bit for each lane.
func (m *neonMachine) Bits() func(k M) R {
	var open [4]V // of which another one comes
	weights := m.Pin(constant{0x8040201008040201, 0x8040201008040201})
	return func(k M) R {
		v := V(k)
		for size, join := range []func(a, b V) V{
			func(a, b V) V { return m.do("uzp1", "8h", a, b) },
			func(a, b V) V { return m.And(m.do("uzp1", "16b", a, b), weights) },
			func(a, b V) V { return m.do("addp", "16b", a, b) },
			func(a, b V) V { return m.do("addp", "16b", a, b) },
		} {
			if open[size] == nil {
				open[size] = v
				return nil
			}
			v, open[size] = join(open[size], v), nil
		}
		r := m.f.General()
		m.f.Asm("FMOVD %v, %v", neon.Use(m.do("addp", "16b", v, v)), neon.Def(r))
		return r
	}
}

func (m *neonMachine) OnesR(r R) R {
	v, d := m.f.Vector(), m.f.General()
	m.f.Asm("FMOVD %v, %v", neon.Use(register(r)), neon.Def(v))
	m.f.Asm("FMOVD %v, %v", neon.Use(register(m.SumBytes(m.do("cnt", "16b", v)))), neon.Def(d))
	return d
}

func (m *neonMachine) StoreSums(p R, off int, a, b V) { m.Store(p, off, m.do("addp", "2d", a, b)) }
