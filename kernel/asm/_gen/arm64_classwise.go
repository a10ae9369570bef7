package main

import "github.com/candor-go/candor/kernel/asm/_gen/neon"

func (m *neonMachine) Unsigned(_ T, a V) V { return a }

func (m *neonMachine) Below(t T, a, b V) M { return m.do("cmhi", arrangement(t), b, a) }

func (m *neonMachine) All(k M, label string) { m.None(m.NotM(k), label) }

func (m *neonMachine) LoadKept(t T, _ R, _ int, x V, k M) []V {
	x = m.Keep(k, x)
	if t == F32 {
		return []V{m.Low(x), m.High(x)}
	}
	return []V{x}
}

func (m *neonMachine) PrefetchBeyond(p R, off int, jump R) {
	place := m.CopyR(p)
	m.AddR(place, jump)
	m.f.Asm("PRFM %v, PLDL2KEEP", mem(place, off))
}

func (m *neonMachine) StoreBeyond(p, jump R, off int, v V) {
	place := m.CopyR(p)
	m.AddR(place, jump)
	m.Store(place, off, v)
}

func (m *neonMachine) Numbered(first R) V {
	v := m.f.Vector()
	m.f.Asm("VDUP %v, %v", neon.Use(register(first)), neon.Def(v, "S4"))
	return v
}

func (m *neonMachine) List(t T, to R, numbers V, k M) {
	n := 16 / t.Bytes()
	// The lanes of the mask become fields of a word, which a product adds up in the highest: with a power of two each they
	// are the number of the row of a table, with 1 each the number of lanes.
	narrow, field := "8h", 16
	if n == 2 {
		narrow, field = "4s", 32
	}
	fields := m.f.General()
	m.f.Asm("FMOVD %v, %v", neon.Use(m.do("uzp1", narrow, k, k)), neon.Def(fields))
	var ones, powers int64
	for l := range n {
		ones |= 1 << (l * field)
		powers |= 1 << (l*field + l)
	}
	factor := m.GP(ones)
	sum := func(of R, each int64) {
		m.AndR(of, m.GP(each))
		m.MulR(of, factor)
		m.ShrR(of, 64-field)
	}
	row, count := m.CopyR(fields), m.CopyR(fields)
	sum(row, powers)
	sum(count, ones)
	m.ShlR(row, 4)
	m.AddR(row, m.listRows(n))
	m.store(4*n, to, 0, m.Add(I32, m.Load(row, 0), numbers))
	m.ShlR(count, 2)
	m.AddR(to, count)
}

// listRows returns the address of a table of 16 bytes for each set of n lanes: the numbers of those in it, as I32.
func (m *neonMachine) listRows(n int) R {
	first, ok := m.listed[n]
	if !ok {
		first = len(m.data)
		m.listed[n] = first
		for set := range 1 << n {
			b := numbersOf(set)
			m.data = append(m.data, constant{b&0xff | b>>8&0xff<<32, b>>16&0xff | b>>24&0xff<<32})
		}
	}
	r := m.f.General()
	m.f.Move(r, m.base)
	m.AddR(r, 16*first)
	return r
}
