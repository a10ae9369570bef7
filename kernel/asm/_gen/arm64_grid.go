package main

func (m *neonMachine) LowWords(a, b V) V  { return m.do("uzp1", "4s", a, b) }
func (m *neonMachine) HighWords(a, b V) V { return m.do("uzp2", "4s", a, b) }
func (m *neonMachine) PackM(a, b M) M     { return m.do("uzp1", "4s", a, b) }
func (m *neonMachine) UnpackM(k M) [2]M   { return [2]M{m.LowInt(k), m.HighInt(k)} }
func (m *neonMachine) MinInt(a, b any) V  { return m.do("smin", "4s", a, b) }

func (m *neonMachine) LoadBits(p R, off, bit int) V {
	return m.And(m.Shl(I32, m.LoadBytes(I32, p, off), bit), m.Const(I32, 1<<bit))
}

func (m *neonMachine) Records(room, base R) func(to V, v [2][4]V) {
	return func(to V, v [2][4]V) {
		m.Store(room, 0, to)
		for h := range v {
			m.addRecords(v[h], func(l int) (R, int) {
				p := m.LoadR(room, 4*(l+2*h), 4)
				m.AddR(p, base)
				return p, 0
			})
		}
	}
}

func (m *neonMachine) Pairs(room, base R) func(to V, v [2][2]V, seen V) {
	return func(to V, v [2][2]V, seen V) {
		m.Store(room, 0, to)
		for h := range v {
			for l, zip := range []func(T, V, V) V{m.ZipLow, m.ZipHigh} {
				p := m.LoadR(room, 4*(l+2*h), 4)
				m.AddR(p, base)
				sum := m.Add(I64, m.Load(p, 0), zip(F64, v[h][0], v[h][1]))
				m.Store(p, 0, sum)
				if seen != nil {
					m.Move(seen, m.Or(seen, sum))
				}
			}
		}
	}
}
