package main

import (
	"math/bits"

	"github.com/candor-go/candor/kernel/asm/_gen/neon"
)

func (m *neonMachine) SortTo(a, b V) V {
	least := m.do("smin", "4s", a, b)
	m.f.Do("smax", "4s", 0, register(b), register(b), register(a))
	return least
}

func (m *neonMachine) SortMemory(R, V) { panic("SortMemory: there are enough registers") }

func (m *neonMachine) TurnNegative() func(v V) V {
	top := m.Pin(m.Const(I32, 1<<31))
	return func(v V) V {
		turned := m.Sub(I32, top, v)
		m.BlendTo(m.Sar(I32, v, 31), v, turned)
		return v
	}
}

// sum returns p + i*scale.
func (m *neonMachine) sum(p, i R, scale int) R {
	r := m.f.General()
	m.f.Asm("ADD %v<<%v, %v, %v", neon.Use(register(i)), bits.TrailingZeros(uint(scale)), neon.Use(register(p)), neon.Def(r))
	return r
}

func (m *neonMachine) LoadAt(p, i R, scale int) V     { return m.Load(m.sum(p, i, scale), 0) }
func (m *neonMachine) StoreAt(p, i R, scale int, v V) { m.Store(m.sum(p, i, scale), 0, v) }
func (m *neonMachine) LoadGroupAt(v V, g int, p, i R, scale int) V {
	return m.LoadGroup(v, g, m.sum(p, i, scale), 0)
}

func (m *neonMachine) StoreGroup(p R, off int, v V, _ int) { m.Store(p, off, v) }
