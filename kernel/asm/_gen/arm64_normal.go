package main

import "github.com/candor-go/candor/kernel/asm/_gen/neon"

func (m *neonMachine) Thirds(v [3]V) (out [3]V) {
	for c := range out {
		all := m.Copy(v[0])
		for r := 1; r < 3; r++ {
			m.BlendTo(m.v(m.Table("", I32, func(lane int) uint64 {
				if thirdFrom(4, c, lane) == r {
					return 1<<32 - 1
				}
				return 0
			})), all, v[r])
		}
		order := lookUp(I32, func(i int) int {
			_, l := third(4, c, i)
			return l
		})
		d := m.f.Vector()
		m.f.Asm("VTBL %v, [%v], %v", neon.Use(m.v(order), "B16"), neon.Use(register(all), "B16"), neon.Def(d, "B16"))
		out[c] = d
	}
	return out
}

func (m *neonMachine) DifferTo(acc V, a, b any) { m.Move(acc, m.Or(acc, m.Xor(a, b))) }
