package main

import "github.com/candor-go/candor/kernel/asm/_gen/neon"

// Sixteenths loads each lane from a table.
func (m *neonMachine) Sixteenths() func(t V) V {
	table := m.rows("sixteenths", 8, func(i int) constant { return constant{sixteenths(2 * i), sixteenths(2*i + 1)} })
	return func(t V) V {
		offset := m.Shl(I64, m.And(t, m.Const(I64, 15)), 3)
		var lanes [2]V
		for l, v := range [2]V{offset, m.Swap(F64, offset, 1)} {
			p := m.f.General()
			m.f.Asm("FMOVD %v, %v", neon.Use(register(v)), neon.Def(p))
			m.AddR(p, table)
			lanes[l] = m.f.Vector()
			m.load(8, lanes[l], p, 0)
		}
		return m.Add(I64, m.ZipLow(F64, lanes[0], lanes[1]), m.Shl(I64, t, 48))
	}
}

func (m *neonMachine) MinWhere(t T, k M, v V, b any) V { return m.Blend(k, m.Min(t, v, b), v) }
