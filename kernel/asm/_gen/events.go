package main

import "math"

// What is summed of the scores and labels of a binary task without columns in between: the Go definitions are in kernel/events.go.

// eventStep is how many rows a step of a loop takes.
const eventStep = 16

// cellsOfBin is how many cells a bin has, which rows take by turns: a register's rows, but four at least, so that a sum which is loaded
// was not stored just before. More would be slower: a load waits for the stores under way whose addresses have the same last 12 bits, and
// the cells of all bins should cover few of these.
func (c eventKernel) cellsOfBin() int { return max(4, c.wide()) }

// eventAhead is how far scores and labels are prefetched, in bytes: across pages, which the CPU does not do by itself.
const eventAhead = 2048

func events(m Machine) {
	for _, t := range []T{F32, F64} {
		c := eventKernel{columnKernel{kernelOf(m, F64)}, t, "F64", "*float64"}
		if t == F32 {
			c.name, c.scores = "F32", "*float32"
		}
		if c.eventSums(); t == F32 {
			c.eventBinsF32()
		} else {
			c.eventBins()
		}
	}
}

// eventKernel is a Machine in a loop over scores of type t.
type eventKernel struct {
	columnKernel
	t            T
	name, scores string
}

// eachScore emits body for each register of float64, with its scores and what loads its labels as I64, of n > 0 rows.
func (c eventKernel) eachScore(x, labels, n R, body func(u int, x V, label func() V)) {
	c.Label("rows")
	c.Prefetch(x, eventAhead)
	c.Prefetch(labels, eventAhead)
	for u := range eventStep / c.wide() {
		var v V
		if at := u * c.wide() * c.t.Bytes(); c.t == F32 {
			v = c.LoadWidened(x, at)
		} else {
			v = c.Load(x, at)
		}
		body(u, v, func() V { return c.LoadInts(labels, 4*u*c.wide()) })
	}
	c.AddR(x, eventStep*c.t.Bytes())
	c.AddR(labels, eventStep*4)
	c.SubR(n, eventStep)
	c.If(n, GT, 0, "rows")
}

// finish stores 1 as the result if a row had a fault: a lane of good that is not true, or a bit of labels, where they are given, but the
// lowest.
func (c eventKernel) finish(good M, labels V) {
	ret := c.GP(1)
	c.Any(c.NotM(good), "fault")
	if labels != nil {
		// A lane of 64 bits is two of 32, or one of them with its sign.
		c.Any(c.NotM(c.Cmp(I64, EQ, c.And(labels, c.Const(I64, uint64(math.MaxUint64&^(1|1<<32)))), c.Zero())), "fault")
	}
	c.MoveR(ret, c.GP(0))
	c.Label("fault")
	c.Result("ret", ret)
	c.Return()
}

func (c eventKernel) eventBins() {
	c.Func("EventBins"+c.name, "EventBins"+c.name+` sums n rows, a multiple of 16 that is not 0, by equal-width bins of their scores: it writes to
		the four words of each bin at to N + Y<<32 and the sums of the bits of p+3, of p*p+3, and of p+3 where the label is 1. cells are
		zeros: 32 words for each bin, and 16 words more. The three numbers at scale are those of BinEqualLeft. It returns 1, and the sums mean nothing,
		if a score is outside [0,1] or a label is not 0 or 1.`,
		[]Arg{{"to", "*uint64"}, {"cells", "*uint64"}, {"bins", "int"}, {"x", c.scores}, {"labels", "*int32"}, {"n", "int"}, {"scale", "*float64"}},
		[]Arg{{"ret", "int"}})
	binBytes := c.cellsOfBin() * cellBytes
	cells := c.Arg("cells")
	c.AddR(cells, cellsAlign-1)
	c.AndR(cells, -cellsAlign)
	first := c.CopyR(cells)
	c.AddR(first, cellsAlign)
	// The bits of a score's bin as it is found are those of magic more, of which the shift leaves some.
	magic := 0x1.8p52
	base := c.CopyR(first)
	c.SubR(base, c.GP(int64(math.Float64bits(magic)<<log2(binBytes))))
	c.StoreR(cells, 0, 8, base)
	start := c.Broadcast(I64, cells, 0)

	x, labels, n, scale := c.Arg("x"), c.Arg("labels"), c.Arg("n"), c.Arg("scale")
	bins, most, step := c.Broadcast(F64, scale, 0), c.Broadcast(F64, scale, 8), c.Broadcast(F64, scale, 16)
	// In registers at every level: a constant in memory waits for stores too, see cellsOfBin.
	less, three, one := c.Copy(c.c64(magic-1)), c.Copy(c.c64(3)), c.Copy(c.Const(I64, 1))
	zero := c.Zero()
	good := c.Cmp(F64, EQ, zero, zero)
	all, add := c.Zero(), c.Cells(cells)
	c.eachScore(x, labels, n, func(u int, x V, label func() V) {
		square, in := c.scored(x)
		c.MoveM(good, c.AndM(good, in))
		x = c.Keep(in, x)
		// As in binEqual, but that edge 0 decides too: no score is below it.
		t := c.Min(F64, most, c.Mul(F64, x, bins))
		c.AddTo(F64, t, less)
		edge := c.Mul(F64, c.Sub(F64, t, less), step)
		c.CountTo(I64, t, c.Cmp(F64, LE, edge, x), one)
		to := c.Add(I64, c.Shl(I64, t, log2(binBytes)), start)
		v := c.Add(F64, x, three)
		y := label()
		c.Move(all, c.Or(all, y))
		hits := c.And(c.Sub(I64, c.Zero(), y), v)
		add(to, u*c.wide()*cellBytes%binBytes, [4]V{c.Add(I64, c.Shl(I64, y, 32), one), v, c.Add(F64, square, three), hits})
	})

	to, left := c.Arg("to"), c.Arg("bins")
	c.Label("bins")
	v := make([]V, max(cellBytes, c.Width())/c.Width())
	for i := range v {
		v[i] = c.Load(first, i*c.Width())
	}
	for o := len(v) * c.Width(); o < binBytes; o += c.Width() {
		c.AddTo(I64, v[o/c.Width()%len(v)], c.Load(first, o))
	}
	c.StoreCell(to, 0, v)
	c.AddR(first, binBytes)
	c.AddR(to, cellBytes)
	c.SubR(left, 1)
	c.If(left, GT, 0, "bins")
	c.finish(good, all)
}

// eventBinsF32 finds bins in lanes of float32, and adds a row's sums to the cell of its bin and label: p and p*p are next to each other, and the
// number of rows is behind them. So fewer lanes are turned into rows of words, which costs more than anything else in eventBins.
func (c eventKernel) eventBinsF32() {
	c.Func("EventBinsF32", `EventBinsF32 sums n rows, a multiple of 16 that is not 0, by equal-width bins of their scores and by their labels: it
		writes to to, for label 0 and then for label 1 of each bin, the sums of the bits of p+3 and of p*p+3, the number of rows, and 0. cells are zeros:
		32 words for each bin, and 24 words more. The two numbers at scale are how many bins there are, at most 128, and 2^23 more than one less. It
		returns 1, and the sums mean nothing, if a score is outside [0,1] or a label is not 0 or 1.`,
		[]Arg{{"to", "*uint64"}, {"cells", "*uint64"}, {"bins", "int"}, {"x", c.scores}, {"labels", "*int32"}, {"n", "int"}, {"scale", "*float32"}},
		[]Arg{{"ret", "int"}})
	const (
		turns     = 4 // of a bin, which rows take one after another, see cellsOfBin
		turnBytes = 2 * cellBytes
		binBytes  = turns * turnBytes
	)
	cells := c.Arg("cells")
	c.AddR(cells, cellsAlign-1)
	c.AndR(cells, -cellsAlign)
	first := c.CopyR(cells)
	c.AddR(first, 2*cellsAlign)

	x, labels, n, scale := c.Arg("x"), c.Arg("labels"), c.Arg("n"), c.Arg("scale")
	bins, most := c.Broadcast(F32, scale, 0), c.Broadcast(F32, scale, 4)
	three, one, magic := c.Copy(c.c64(3)), c.Copy(c.Const(I32, 1)), c.Copy(c.Const(F32, uint64(math.Float32bits(1<<23))))
	zero, all := c.Zero(), c.Zero()
	good := c.Cmp(F32, EQ, zero, zero)
	add := c.CountedCells(c.Copy(c.Table("counted", I64, func(lane int) uint64 { return uint64(1 - lane%2) })))
	c.Label("rows")
	c.Prefetch(x, eventAhead)
	c.Prefetch(labels, eventAhead)
	narrow := c.Width() / 4
	for u := range eventStep / narrow {
		v, y := c.Load(x, u*c.Width()), c.Load(labels, u*c.Width())
		in := c.Cmp(F32, GE, c.Sub(F32, v, c.Mul(F32, v, v)), zero) // as in scored
		c.MoveM(good, c.AndM(good, in))
		// Of a float32 the product is at least an edge where the score is: tests try all edges of up to 128 bins. The bits of 2^23 and a
		// whole number end with that number.
		t := c.Min(F32, c.FloorTo(c.Keep(in, v), bins, magic), most)
		c.Move(all, c.Or(all, y))
		t = c.Add(I32, c.Shl(I32, t, log2(binBytes)), c.Shl(I32, c.And(y, one), log2(cellBytes)))
		c.StoreWords(cells, u*c.Width(), t)
	}
	for u := range eventStep / c.wide() {
		v := c.LoadWidened(x, u*c.wide()*4)
		p, square := c.Add(F64, v, three), c.FMA(F64, v, v, three) // the product is exact
		add(p, square, func(l int) (R, int) {
			row := u*c.wide() + l
			place := c.LoadR(cells, 4*row, 4)
			c.AddR(place, first)
			return place, row % turns * turnBytes
		})
	}
	c.AddR(x, eventStep*4)
	c.AddR(labels, eventStep*4)
	c.SubR(n, eventStep)
	c.If(n, GT, 0, "rows")

	to, left := c.Arg("to"), c.Arg("bins")
	c.Label("bins")
	for o := 0; o < turnBytes; o += c.Width() {
		v := c.Load(first, o)
		for turn := 1; turn < turns; turn++ {
			c.AddTo(I64, v, c.Load(first, turn*turnBytes+o))
		}
		c.Store(to, o, v)
	}
	c.AddR(first, binBytes)
	c.AddR(to, turnBytes)
	c.SubR(left, 1)
	c.If(left, GT, 0, "bins")
	c.finish(good, all)
}

func (c eventKernel) eventSums() {
	c.Func("EventSums"+c.name, "EventSums"+c.name+` writes six sums of n rows, a multiple of 16 that is not 0, to to: of hits; of the bits of t+3, of
		t*t+3, and of t+3 where there is a hit, for the larger t of p and 1-p; of the bits of e+6 and of e*e+12 for the squared error e.`,
		[]Arg{{"to", "*uint64"}, {"x", c.scores}, {"labels", "*int32"}, {"n", "int"}}, nil)
	to, x, labels, n := c.Arg("to"), c.Arg("x"), c.Arg("labels"), c.Arg("n")
	var sums [6]V
	for i := range sums {
		sums[i] = c.Zero()
	}
	three, one, half := c.pinned64(3), c.pinned64(1), c.pinned64(0.5)
	unit := c.pinnedInt(1)
	c.eachScore(x, labels, n, func(_ int, x V, label func() V) {
		event := c.Cmp(I64, EQ, label(), unit)
		q := c.Sub(F64, c.Copy(one), x)
		wrong := c.Blend(event, q, x) // distance of the score from the label
		square := c.Mul(F64, wrong, wrong)
		c.AddTo(I64, sums[4], c.Add(F64, square, c.c64(6)))
		c.AddTo(I64, sums[5], c.Add(F64, c.Mul(F64, square, square), c.c64(12)))
		top := c.Max(F64, x, q)
		c.AddTo(I64, sums[2], c.Add(F64, c.Mul(F64, top, top), three))
		v := c.Add(F64, top, three)
		c.AddTo(I64, sums[1], v)
		hit := c.XorM(event, c.Cmp(F64, LE, x, half)) // a score of 1/2 says 0
		c.CountTo(I64, sums[0], hit, unit)
		c.AddWhere(I64, sums[3], hit, v)
	})
	for i, s := range sums {
		c.total(to, i, s)
	}
	c.Return()
}

// floorTo is FloorTo where there is no rounding down: the remainder of the product is below 0 where it was rounded up.
func floorTo(m Machine, a, b, magic V) V {
	t := m.FMA(F32, a, b, magic)
	rest := m.FMA(F32, a, b, m.Sub(F32, magic, t))
	return m.Add(I32, t, m.Sar(I32, rest, 31))
}

// c64 is a constant that is read from memory where the level has operands there.
func (c columnKernel) c64(x float64) C { return c.Const(F64, math.Float64bits(x)) }
