package main

import (
	"fmt"
	"math"
)

// Sums by the cells of the grid: the Go definition, and what the constants are for, is in kernel/grid.go.
const (
	gridSteps = 1200
	gridFrom  = 12
	gridShift = 52 - 5
	gridLeast = 0x1p-64
	gridMost  = 0.0099
	gridPoint = 21
	gridFixed = 0x1.8p31
	gridDoubt = 0x1p-20
	gridClose = 4
)

func grid(m Machine) {
	c := columnKernel{kernelOf(m, F64)}
	c.Func("GridSums", `GridSums adds n scores, a multiple of 32 that is not 0, to cells of four words: 1, the bits of q+3 and those of q*q+3
		to that of q, half and outcome. It lists the rows whose cell has to be looked up, of which it adds nothing, and returns their
		number; 64 bytes beyond what is listed may be written. room is 16 words.`,
		[]Arg{{"cells", "*uint64"}, {"room", "*uint64"}, {"list", "*uint32"}, {"p", "*float64"}, {"tail", "*float64"}, {"y", "*uint8"},
			{"n", "int"}}, []Arg{{"listed", "int"}})
	room := c.Arg("room")
	c.AddR(room, cellsAlign-1)
	c.AndR(room, -cellsAlign)
	// The upper halves of floats tell the part. What the numbers of the part and of the whole steps are beyond the cell's, and the
	// upper half, come off here.
	const shift, half, outcome = 7, 2 * cellBytes, cellBytes
	upper := func(v float64) C { return c.Pin(c.Const(I32, math.Float64bits(v)>>32)) }
	const parts = (1023-64)<<(52-gridShift) + gridFrom - 1
	cells := c.Arg("cells")
	c.SubR(cells, parts<<shift-half)

	list, p, tail, y, n := c.Arg("list"), c.Arg("p"), c.Arg("tail"), c.Arg("y"), c.Arg("n")
	middle, three := c.pinned64(0.5), c.pinned64(3)
	steps, fixed := c.pinned64(gridSteps), c.pinned64(gridFixed+gridDoubt)
	last := c.Unsigned(I32, c.Copy(c.Const(I32, math.Float64bits(0.5)>>32-1)))
	least, most := upper(gridLeast), upper(gridMost)
	smooth := c.Pin(c.Const(I32, (2*gridFrom-1)<<(gridPoint-1)))
	behind := c.Pin(c.Const(I32, 1<<gridPoint-gridClose))
	lower := c.Pin(c.Const(I32, 1<<32-half))
	// Where nothing is added it is to the first cells, each lane's own.
	first := c.Table("first", I32, func(lane int) uint64 { return uint64(parts<<shift - half + lane*cellBytes) })
	zero, one, add := c.Zero(), c.Copy(c.Const(I64, 1)), c.Records(room, cells)
	c.rows(n, func(u int) {
		if u%2 != 0 {
			return
		}
		var q, whole [2]V
		var low [2]M
		var records [2][4]V
		for h := range q {
			x := c.at(p, u+h)
			low[h], q[h] = c.Cmp(F64, LT, x, middle), c.at(tail, u+h)
			c.BlendTo(low[h], q[h], x)
			whole[h] = c.FMA(F64, q[h], steps, fixed)
			records[h] = [4]V{one, c.Add(F64, q[h], three), c.Add(F64, c.Mul(F64, q[h], q[h]), three), zero}
		}
		part, point := c.HighWords(q[0], q[1]), c.MaxInt(c.LowWords(whole[0], whole[1]), smooth)
		// All but 0 to below 1/2 is beyond that as bits, -0 too.
		look := c.OrM(c.Below(I32, last, c.Unsigned(I32, part)), c.Cmp(I32, EQ, c.And(point, behind), zero))
		part = c.Shr(I32, c.MinInt(c.MaxInt(part, least), most), gridShift-32)
		to := c.Shl(I32, c.Add(I32, part, c.Shr(I32, point, gridPoint)), shift)
		c.AddWhere(I32, to, c.PackM(low[0], low[1]), lower)
		c.AddTo(I32, to, c.LoadBits(y, u*c.wide(), log2(outcome)))
		usual, next := fmt.Sprint("usual", u), fmt.Sprint("next", u)
		c.None(look, usual)
		row := c.CopyR(p)
		c.SubR(row, c.Arg("p"))
		c.ShrR(row, 3)
		if u > 0 {
			c.AddR(row, u*c.wide())
		}
		c.List(F32, list, c.Numbered(row), look)
		rest := records
		for h, k := range c.UnpackM(look) {
			for i, v := range rest[h][:3] {
				rest[h][i] = c.Drop(k, v)
			}
		}
		add(c.Blend(look, first, to), rest)
		c.Jump(next)
		c.Label(usual)
		add(to, records)
		c.Label(next)
	}, walker{p, 8}, walker{tail, 8}, walker{y, 1})
	c.SubR(list, c.Arg("list"))
	c.ShrR(list, 2)
	c.Result("listed", list)
	c.Return()
}
