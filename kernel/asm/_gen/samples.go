package main

import "math"

// The sort of rows and the sums of the distances in rows of samples: the Go definitions are in kernel/sort_rows.go and
// kernel/samples.go.

func sampleSpreads(m Machine) {
	sampleSpread(m, F32, "SortRowsF32", "*float32", `SortRowsF32 sorts rows of 4 elements or more in place where y is nil, up to the register of rows in
		which there is a NaN, and returns the number of rows that are left, those with it. -0 becomes 0. Where y is not nil it`)
	sampleSpread(m, F64, "SampleSpreadF64", "*float64", "SampleSpreadF64")
}

// spreading emits the sums over rows that are sorted a row a lane.
type spreading struct{ *sorting }

// sampleSpread emits both for float32, which share the network, and the sums alone for float64.
func sampleSpread(m Machine, t T, name, ptr, doc string) {
	sorts := t == F32
	var results []Arg
	if sorts {
		results = []Arg{{"left", "int"}}
	}
	m.Func(name, doc+` writes to abs, for each row of 4 samples or more, the sum of the distances of its samples from its
		y, and to spread that of the distances of any two of them: NaN where a number is not finite. y, abs and spread have room for whole
		registers of rows. top has the bits of k-1 as float64. w is scratch: 64 bytes and a register for each sample of a row, at the
		first address in it that is a multiple of 64. steps are the network, up to one whose operation is 0.`,
		[]Arg{{"w", ptr}, {"x", ptr}, {"rows", "int"}, {"k", "int"}, {"stride", "int"}, {"steps", "*int32"},
			{"y", "*float64"}, {"abs", "*float64"}, {"spread", "*float64"}, {"top", "uint64"}}, results)
	s := spreading{&sorting{Machine: m, t: t}}
	s.start(func() {
		s.StoreR(s.head, sortY, 8, s.Arg("y"))
		s.StoreR(s.head, sortAbs, 8, s.Arg("abs"))
		s.StoreR(s.head, sortSpread, 8, s.Arg("spread"))
	})
	s.prefetching()
	if sorts {
		s.If(s.Arg("y"), NE, 0, "samples")
		s.transposing("take", s.comparable)
		s.Jump("network")
		s.Label("samples")
	}
	s.transposing("fetch", s.probing)
	s.Label("network")
	s.network()
	if sorts {
		s.If(s.Arg("y"), NE, 0, "sums")
		s.transposing("put", (*tile).put)
		s.Jump("next")
		s.Label("sums")
	}
	s.sums()
	s.Label("next")
	s.end()
	if sorts {
		s.StoreR(s.head, sortRowsLeft, 8, s.GP(0))
		s.Label("faulty")
		s.Result("left", s.LoadR(s.head, sortRowsLeft, 8))
	}
	s.Return()
}

// comparable fetches columns that are to be sorted by themselves, with -0 made 0, and ends where there is a NaN.
func (s spreading) comparable(t *tile) {
	zero := s.Zero()
	fault := s.Cmp(s.t, UN, zero, zero)
	t.fetch(func(q int, c V) V {
		if q == 0 {
			s.prefetch(1)
		}
		c = s.Add(s.t, c, zero)
		s.MoveM(fault, s.OrM(fault, s.Cmp(s.t, UN, c, c)))
		return c
	})
	s.Any(fault, "faulty")
}

// probing fetches columns of samples and adds 0 times each number to a probe, which becomes NaN where one is not finite. It stands where
// the tile's first sums go.
func (s spreading) probing(t *tile) {
	zero, probes := s.Zero(), []V{s.Zero(), s.Zero()}
	t.fetch(func(q int, c V) V {
		s.FMATo(s.t, probes[q%2], c, zero)
		if q == 0 {
			s.prefetch(1)
		}
		return c
	})
	s.Store(s.LoadR(s.head, sortAbs, 8), 0, s.Add(s.t, probes[0], probes[1]))
}

// wide returns part h of a register of numbers in memory as float64.
func (s spreading) wide(p R, off, h int) V {
	if s.t == F64 {
		return s.Load(p, off)
	}
	return s.LoadWidened(p, off+h*s.Width()/2)
}

// A spread is the sums of as many rows as a register has lanes of float64.
type spread struct{ y, abs, spread V }

// sums takes the first column and the last, then those that stand next to them, and so on.
func (s spreading) sums() {
	low, high, pairs := s.CopyR(s.head), s.Arg("k"), s.Arg("k")
	s.AddR(low, sortCols)
	s.SubR(high, 1)
	s.ShlR(high, log2(s.Width()))
	s.AddR(high, low)
	s.ShrR(pairs, 1)
	magnitude, two := s.Pin(s.Const(F64, 1<<63-1)), s.Pin(s.Const(F64, math.Float64bits(2)))
	s.StoreR(s.head, sortBlocks, 8, s.Arg("top"))
	weight := s.Broadcast(F64, s.head, sortBlocks)
	y := s.LoadR(s.head, sortY, 8)
	of := make([]spread, 8/s.t.Bytes())
	for h := range of {
		of[h] = spread{s.Load(y, h*s.Width()), s.Zero(), s.Zero()}
	}
	s.Label("pairs")
	for h, r := range of {
		a, b := s.wide(low, 0, h), s.wide(high, 0, h)
		s.FMATo(F64, r.spread, weight, s.Sub(F64, b, a))
		d := s.And(s.Sub(F64, a, r.y), magnitude)
		s.AddTo(F64, d, s.And(s.Sub(F64, b, r.y), magnitude))
		s.AddTo(F64, r.abs, d)
	}
	s.prefetch(1)
	s.SubTo(F64, weight, two)
	s.AddR(low, s.Width())
	s.SubR(high, s.Width())
	s.SubR(pairs, 1)
	s.If(pairs, GT, 0, "pairs")

	odd := s.Arg("k")
	s.AndR(odd, 1)
	s.If(odd, EQ, 0, "even")
	for h, r := range of {
		s.AddTo(F64, r.abs, s.And(s.Sub(F64, s.wide(low, 0, h), r.y), magnitude))
	}
	s.Label("even")
	zero, nan, probes := s.Zero(), s.Pin(s.Const(F64, 0x7FF8<<48)), s.LoadR(s.head, sortAbs, 8)
	for h, r := range of {
		probe := s.FMA(F64, r.y, zero, s.wide(probes, 0, h))
		fault := s.Cmp(F64, UN, probe, probe)
		s.BlendTo(fault, r.abs, nan)
		s.BlendTo(fault, r.spread, nan)
	}
	s.put(sortY, of, nil)
	s.put(sortAbs, of, func(r spread) V { return r.abs })
	s.put(sortSpread, of, func(r spread) V { return r.spread })
}

// put stores a column of a tile, unless it is that of y, and moves on to the next tile.
func (s spreading) put(slot int, of []spread, v func(r spread) V) {
	to := s.LoadR(s.head, slot, 8)
	for h, r := range of {
		if v != nil {
			s.Store(to, h*s.Width(), v(r))
		}
	}
	s.AddR(to, 8*s.rows())
	s.StoreR(s.head, slot, 8, to)
}
