package main

import "math"

// Sums of the distances in rows of samples: the Go definition is in kernel/samples.go.

// The head of the scratch beyond that of sorting, of which the probe is a register.
const (
	samplesY      = sortBlocks + 8
	samplesAbs    = samplesY + 8
	samplesSpread = samplesAbs + 8
	samplesProbe  = sortCols
	samplesCols   = samplesProbe + 64 // where the columns start
)

func sampleSpreads(m Machine) {
	sampleSpread(m, F32, "F32", "*float32")
	sampleSpread(m, F64, "F64", "*float64")
}

// spreading emits the sums over rows that are sorted a row a lane.
type spreading struct{ *sorting }

func sampleSpread(m Machine, t T, name, ptr string) {
	name = "SampleSpread" + name
	m.Func(name, name+` writes to abs, for each row of 4 samples or more, the sum of the distances of its samples from its
		y, and to spread that of the distances of any two of them: NaN where a number is not finite. y, abs and spread have room for whole
		registers of rows. top has the bits of k-1 as float64. w is scratch: 192 bytes and a register for each sample of a row. steps are
		the network, up to one whose operation is 0.`,
		[]Arg{{"w", ptr}, {"x", ptr}, {"rows", "int"}, {"k", "int"}, {"stride", "int"}, {"steps", "*int32"},
			{"y", "*float64"}, {"abs", "*float64"}, {"spread", "*float64"}, {"top", "uint64"}}, nil)
	s := spreading{&sorting{Machine: m, t: t, room: samplesCols, lines: 1}}
	s.pair = func(a, b V) (least, most V) { return m.Min(t, a, b), m.Max(t, a, b) }
	s.inMemory = func(p R, b V) { m.SortMemoryTo(t, p, b) }
	s.start(func() {
		s.StoreR(s.head, samplesY, 8, s.Arg("y"))
		s.StoreR(s.head, samplesAbs, 8, s.Arg("abs"))
		s.StoreR(s.head, samplesSpread, 8, s.Arg("spread"))
	})
	s.prefetching()
	s.transposing("fetch", s.probing)
	s.network()
	s.sums()
	s.end()
}

// probing fetches columns and adds 0 times each number to the probe, which becomes NaN where one is not finite.
func (s spreading) probing(t *tile) {
	zero, probes := s.Zero(), []V{s.Zero(), s.Zero()}
	t.fetch(func(q int, c V) V {
		s.FMATo(s.t, probes[q%2], c, zero)
		if q == 0 {
			s.prefetch(1)
		}
		return c
	})
	s.Store(s.head, samplesProbe, s.Add(s.t, probes[0], probes[1]))
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
	s.AddR(low, s.room)
	s.SubR(high, 1)
	s.ShlR(high, log2(s.Width()))
	s.AddR(high, low)
	s.ShrR(pairs, 1)
	magnitude, two := s.Pin(s.Const(F64, 1<<63-1)), s.Pin(s.Const(F64, math.Float64bits(2)))
	s.StoreR(s.head, sortBlocks, 8, s.Arg("top"))
	weight := s.Broadcast(F64, s.head, sortBlocks)
	y := s.LoadR(s.head, samplesY, 8)
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
	zero, nan := s.Zero(), s.Pin(s.Const(F64, 0x7FF8<<48))
	for h, r := range of {
		probe := s.FMA(F64, r.y, zero, s.wide(s.head, samplesProbe, h))
		fault := s.Cmp(F64, UN, probe, probe)
		s.BlendTo(fault, r.abs, nan)
		s.BlendTo(fault, r.spread, nan)
	}
	s.put(samplesY, of, nil)
	s.put(samplesAbs, of, func(r spread) V { return r.abs })
	s.put(samplesSpread, of, func(r spread) V { return r.spread })
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
