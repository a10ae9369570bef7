package main

import "math"

// Sums by the cells of the grid: the Go definition, and what the constants are for, is in kernel/grid.go.
const (
	gridSteps = 1200
	gridFrom  = 12
	gridShift = 52 - 5
	gridLeast = 0x1p-64
	gridMost  = 0.0099
	gridPoint = 32
	gridFixed = 0x1.8p20
	gridDoubt = 0x1p-31
	gridClose = 4

	// gridParts is what the numbers of the part and of the whole steps, as they stand in bits, are beyond the cell's.
	gridParts = (1023-64)<<(52-gridShift) + 0x41380000 + gridFrom - 1
)

// The room has the addresses of a register's cells, and behind them cells for the rows that are left out.
const gridRoom = 64

func grid(m Machine) {
	c := columnKernel{kernelOf(m, F64)}
	c.Func("GridSums", `GridSums adds n scores, a multiple of 32 that is not 0, to cells of four words: 1, the bits of q+3 and those of q*q+3
		to that of q, half and outcome. It lists the rows whose cell has to be looked up, and returns their number; 64 bytes
		beyond what is listed may be written. room is 48 words.`,
		[]Arg{{"cells", "*uint64"}, {"room", "*uint64"}, {"list", "*uint32"}, {"p", "*float64"}, {"tail", "*float64"}, {"y", "*uint8"},
			{"n", "int"}}, []Arg{{"listed", "int"}})
	room := c.Arg("room")
	c.AddR(room, cellsAlign-1)
	c.AndR(room, -cellsAlign)
	spread := func(r R) V {
		c.StoreR(room, 0, 8, r)
		return c.Broadcast(I64, room, 0)
	}
	const half, outcome = 2 * cellBytes, cellBytes
	shift := log2(2 * half)
	first := c.Arg("cells")
	c.AddR(first, c.GP(half-gridParts<<shift))
	// Cells goes on by one from lane to lane, so each of the rows left out has a cell of its own, and here it is taken off.
	start := c.Sub(I64, spread(first), c.Table("lanes", I64, func(lane int) uint64 { return uint64(lane * cellBytes) }))
	beside := c.CopyR(room)
	c.AddR(beside, gridRoom)
	nowhere := spread(beside)

	list, p, tail, y, n := c.Arg("list"), c.Arg("p"), c.Arg("tail"), c.Arg("y"), c.Arg("n")
	middle, three := c.pinned64(0.5), c.pinned64(3)
	last := c.Unsigned(I64, c.Copy(c.Const(I64, math.Float64bits(0.5)-1)))
	steps, fixed, smooth := c.pinned64(gridSteps), c.pinned64(gridFixed+gridDoubt), c.pinned64(gridFixed+gridFrom-0.5)
	least, most := c.pinned64(gridLeast), c.pinned64(gridMost)
	behind := c.pinnedInt(1<<gridPoint - gridClose)
	upper, event := c.pinnedInt(-half), c.pinnedInt(outcome)
	zero, one, wide := c.Zero(), c.Copy(c.Const(I64, 1)), c.Pin(c.Const(I32, uint64(c.wide())))
	rows, add := c.Numbered(c.GP(0)), c.Cells(room)
	c.rows(n, func(u int) {
		x, q := c.at(p, u), c.at(tail, u)
		low := c.Cmp(F64, LT, x, middle)
		c.BlendTo(low, q, x)
		// All but 0 to 1/2 is beyond that as bits, -0 too, which is looked up.
		look := c.Below(I64, last, c.Unsigned(I64, q))
		whole := c.Max(F64, c.FMA(F64, q, steps, fixed), smooth)
		look = c.OrM(look, c.Cmp(I64, EQ, c.And(whole, behind), zero))
		part := c.Min(F64, c.Max(F64, q, least), most)
		to := c.Shl(I64, c.Add(I64, c.Shr(I64, part, gridShift), c.Shr(I64, whole, gridPoint)), shift)
		c.AddWhere(I64, to, low, upper)
		c.AddWhere(I64, to, c.LoadTruths(y, u*c.wide()), event)
		c.AddTo(I64, to, start)
		c.BlendTo(look, to, nowhere)
		c.List(F64, list, rows, look)
		c.AddTo(I32, rows, wide)
		add(to, 0, [4]V{one, c.Add(F64, q, three), c.Add(F64, c.Mul(F64, q, q), three), zero})
	}, walker{p, 8}, walker{tail, 8}, walker{y, 1})
	c.SubR(list, c.Arg("list"))
	c.ShrR(list, 2)
	c.Result("listed", list)
	c.Return()
}
