package main

import "math"

// Blocks of sorted keys: the Go definition is in kernel/hitblocks.go.

const (
	blockKeys  = 64
	blockWords = 4
	hitUnit    = 3
	squareUnit = 6
)

func hitBlocks(m Machine) {
	c := columnKernel{kernelOf(m, F64)}
	c.Func("HitBlocksF32", `HitBlocksF32 writes to to, for each 64 of n keys of scores in [0,1], a multiple of 64 that is not 0, four words:
		a bit for each outcome, one for each key that the next one has another score than, and the sums of p - hit and of its square in
		units. The key after the last one is read as well.`, []Arg{{"to", "*uint64"}, {"keys", "*uint32"}, {"n", "int"}}, nil)
	to, p, n := c.Arg("to"), c.Arg("keys"), c.Arg("n")
	outcome, less := c.Pin(c.Const(I32, 1)), c.pinned64(-1)
	unit, square := c.pinned64(hitUnit), c.pinned64(squareUnit)
	// A sum of bits starts below 0 by what the unit adds to them.
	start := func(name string, unit float64) V {
		return c.Copy(c.Table(name, I64, func(lane int) uint64 {
			if lane > 0 {
				return 0
			}
			return -(blockKeys * math.Float64bits(unit))
		}))
	}
	scores := c.HitScores()
	c.Label("blocks")
	sum, squares := start("gap", hitUnit), start("square", squareUnit)
	bit, alike := c.Bits(), c.Bits()

	for off := 0; off < 4*blockKeys; off += 64 {
		c.Prefetch(p, 4096+off)
	}
	var hits, ends R
	for off := 0; off < 4*blockKeys; off += c.Width() {
		key, next := c.Load(p, off), c.Load(p, off+4)
		x, hit, all := scores(key)
		hits, ends = bit(all), alike(c.Cmp(I32, EQ, c.Or(key, outcome), c.Or(next, outcome)))
		for h, x := range x {
			c.AddTo(I64, sum, c.Add(F64, x, unit))
			c.AddWhere(F64, x, hit[h], less)
			c.AddTo(I64, squares, c.Add(F64, c.Mul(F64, x, x), square))
		}
	}
	c.StoreSums(to, 16, sum, squares)
	c.StoreR(to, 0, 8, hits)
	c.NegR(ends)
	c.SubR(ends, 1)
	c.StoreR(to, 8, 8, ends)
	count, gap := c.OnesR(hits), c.LoadR(to, 16, 8)
	c.ShlR(count, 51)
	c.SubR(gap, count)
	c.StoreR(to, 16, 8, gap)
	c.AddR(to, 8*blockWords)
	c.AddR(p, 4*blockKeys)
	c.SubR(n, blockKeys)
	c.If(n, GT, 0, "blocks")
	c.Return()
}
