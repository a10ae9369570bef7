package main

import "math"

// What is summed over columns: the Go definitions are in kernel/moments.go and kernel/bins.go. Every function takes a
// multiple of columnStep rows, so none has to look after an end.

// columnStep is how many rows a step of a loop takes: some registers, whatever the level.
const columnStep = 32

// columnKernel is a Machine in a loop over rows.
type columnKernel struct{ kernel }

func columnKernels(m Machine) {
	c := columnKernel{kernelOf(m, F64)}
	c.windowSums("FixedSums", false, false)
	c.windowSums("FixedSumsFine", false, true)
	c.windowSums("Moments", true, false)
	c.windowSums("MomentsFine", true, true)
	c.cellSum()
	c.hits()
	c.counts()
	c.squaredErrors()
	c.eventErrors()
	c.binEqual("BinEqualLeft", "<=", LE)
	c.binEqual("BinEqualRight", "<", LT)
	c.binEdges("BinEdgesLeft", "<=", LE)
	c.binEdges("BinEdgesRight", "<", LT)
	c.binSums()
}

// rows emits body for each register of float64 of n > 0 rows; u counts those of a step. The pointers move on by so many
// bytes a row.
func (c columnKernel) rows(n R, body func(u int), pointers ...walker) {
	c.Label("rows")
	for u := range columnStep / c.wide() {
		body(u)
	}
	for _, p := range pointers {
		c.AddR(p.p, p.bytes*columnStep)
	}
	c.SubR(n, columnStep)
	c.If(n, GT, 0, "rows")
}

// walker is a pointer to a column whose elements have so many bytes.
type walker struct {
	p     R
	bytes int
}

// wide is how many rows a register of float64 has.
func (c columnKernel) wide() int { return lanes(c.Machine, F64) }

// at loads register u of float64.
func (c columnKernel) at(p R, u int) V { return c.Load(p, u*c.Width()) }

// pinnedInt and pinned64 return constants for loops.
func (c columnKernel) pinnedInt(x int64) any  { return c.Pin(c.Const(I64, uint64(x))) }
func (c columnKernel) pinned64(x float64) any { return c.Pin(c.Const(F64, math.Float64bits(x))) }

// total stores the sum of integer lanes as word i.
func (c columnKernel) total(to R, i int, v V) {
	c.StoreLane(I64, to, 8*i, c.butterfly(I64, []V{v}, func(a, b V) V { return c.Add(I64, a, b) }))
}

// each returns what f makes of each register.
func each(x []V, f func(x V) V) []V {
	out := make([]V, len(x))
	for i := range x {
		out[i] = f(x[i])
	}
	return out
}

// windowSums emits FixedSums or Moments. A value outside the window counts as 0, which leaves the magic itself: the Go
// side takes one off for every row.
func (c columnKernel) windowSums(name string, squares, fine bool) {
	args := []Arg{{"to", "*uint64"}, {"v", "*float64"}, {"n", "int"}, {"first", "*float64"}}
	doc := name + ` writes to to, for n values, a multiple of 32 that is not 0, the number of those inside the first window
		and the sums of the bits that adding the magics gives, of the remainders too if they are asked for`
	if squares {
		args = append(args, Arg{"second", "*float64"})
		doc += ", and the same of their squares"
	}
	c.Func(name, doc+". A value outside is as 0.", args, nil)
	to, v, n := c.Arg("to"), c.Arg("v"), c.Arg("n")
	type window struct {
		magic, fine V
		hi, lo      V
	}
	open := func(p R) *window {
		w := &window{magic: c.Broadcast(F64, p, 0), hi: c.Zero()}
		if fine {
			w.fine, w.lo = c.Broadcast(F64, p, 8), c.Zero()
		}
		return w
	}
	add := func(w *window, x []V) {
		t := each(x, func(x V) V { return c.Add(F64, x, w.magic) })
		each(t, func(t V) V { c.AddTo(I64, w.hi, t); return t })
		if fine {
			t = each(t, func(t V) V { return c.Sub(F64, t, w.magic) })
			for i := range t {
				t[i] = c.Sub(F64, x[i], t[i])
			}
			t = each(t, func(rest V) V { return c.Add(F64, rest, w.fine) })
			each(t, func(t V) V { c.AddTo(I64, w.lo, t); return t })
		}
	}
	p := c.Arg("first")
	most := c.Broadcast(F64, p, 16)
	windows := []*window{open(p)}
	if squares {
		windows = append(windows, open(c.Arg("second")))
	}
	abs, one, in := c.Pin(c.konst(c.absMask)), c.pinnedInt(1), c.Zero()
	// Some registers go side by side: a chain of dependent instructions would fill the scheduler of the CPU.
	together := 2
	if c.Level() == "avx512" {
		together = 4
	}
	c.rows(n, func(u int) {
		if u%together != 0 {
			return
		}
		x := make([]V, together)
		for i := range x {
			x[i] = c.at(v, u+i)
		}
		x = each(x, func(x V) V {
			k := c.Cmp(F64, LE, c.And(x, abs), most)
			c.CountTo(I64, in, k, one)
			return c.Keep(k, x)
		})
		add(windows[0], x)
		if squares {
			add(windows[1], each(x, func(x V) V { return c.Mul(F64, x, x) }))
		}
	}, walker{v, 8})
	c.total(to, 0, in)
	for i, w := range windows {
		c.total(to, 1+2*i, w.hi)
		if fine {
			c.total(to, 2+2*i, w.lo)
		}
	}
	c.Return()
}

// scored returns x*x and whether x is in [0,1]: what has no square above it, and is no infinity.
func (c columnKernel) scored(x V) (square V, in M) {
	square = c.Mul(F64, x, x)
	return square, c.Cmp(F64, GE, c.Sub(F64, x, square), c.Zero())
}

func (c columnKernel) cellSum() {
	c.Func("CellSum", `CellSum writes to to, for n scores, a multiple of 32 that is not 0, how many are in [0,1], the sum of
		these one's outcomes, and the sums of the bits of p+3, of p*p+3, where a score outside is as 0, and of p+3 where the
		score is in [0,1] and the outcome is 1.`,
		[]Arg{{"to", "*uint64"}, {"p", "*float64"}, {"y", "*uint8"}, {"n", "int"}}, nil)
	to, p, y, n := c.Arg("to"), c.Arg("p"), c.Arg("y"), c.Arg("n")
	three, one := c.pinned64(3), c.pinnedInt(1)
	var sums [5]V
	for i := range sums {
		sums[i] = c.Zero()
	}
	c.rows(n, func(u int) {
		x := c.at(p, u)
		square, in := c.scored(x)
		hit := c.AndM(c.LoadTruths(y, u*c.wide()), in)
		c.CountTo(I64, sums[0], in, one)
		c.CountTo(I64, sums[1], hit, one)
		v := c.Add(F64, c.Keep(in, x), three)
		c.AddTo(I64, sums[2], v)
		c.AddTo(I64, sums[3], c.Add(F64, c.Keep(in, square), three))
		c.AddWhere(I64, sums[4], hit, v)
	}, walker{p, 8}, walker{y, 1})
	for i, s := range sums {
		c.total(to, i, s)
	}
	c.Return()
}

// byteStep is how many rows of int32 a step takes that makes bytes: four registers or more.
const byteStep = 64

func (c columnKernel) hits() {
	c.Func("Hits", `Hits writes to dst whether each of n elements of a and b, a multiple of 64 that is not 0, are equal: 1 or 0.`,
		[]Arg{{"dst", "*uint8"}, {"a", "*int32"}, {"b", "*int32"}, {"n", "int"}}, nil)
	dst, a, b, n := c.Arg("dst"), c.Arg("a"), c.Arg("b"), c.Arg("n")
	c.Label("rows")
	for o := 0; o < byteStep; o += c.Width() {
		var k [4]M
		for i := range k {
			at := 4*o + i*c.Width()
			k[i] = c.Cmp(I32, EQ, c.Load(a, at), c.Load(b, at))
		}
		c.Store(dst, o, c.Truths(k))
	}
	c.AddR(dst, byteStep)
	c.AddR(a, 4*byteStep)
	c.AddR(b, 4*byteStep)
	c.SubR(n, byteStep)
	c.If(n, GT, 0, "rows")
	c.Return()
}

// counted is how many values Counts counts: 0 and those above.
const counted = 5

func (c columnKernel) counts() {
	c.Func("Counts", `Counts writes to the five words at to how many of n values, a multiple of 64 from 64 to 4032, are 0, 1, 2, 3 and 4.`,
		[]Arg{{"to", "*uint64"}, {"v", "*int32"}, {"n", "int"}}, nil)
	to, v, n := c.Arg("to"), c.Arg("v"), c.Arg("n")
	// A byte has room for the 4032/16 rows that it gets in the smallest registers.
	var sums [counted]V
	var values [counted]any
	for i := range sums {
		sums[i], values[i] = c.Zero(), c.Pin(c.Const(I32, uint64(i*0x01010101)))
	}
	c.Label("rows")
	for o := 0; o < byteStep; o += c.Width() {
		var x [4]V
		for i := range x {
			x[i] = c.Load(v, 4*o+i*c.Width())
		}
		bytes := c.PackInts(x)
		for i := range sums {
			c.CountBytesTo(sums[i], bytes, values[i], values[1])
		}
	}
	c.AddR(v, 4*byteStep)
	c.SubR(n, byteStep)
	c.If(n, GT, 0, "rows")
	for i, s := range sums {
		c.total(to, i, c.SumBytes(s))
	}
	c.Return()
}

func (c columnKernel) squaredErrors() {
	c.Func("SquaredErrors", `SquaredErrors writes to dst the squared errors of n rows, a multiple of 32 that is not 0, of
		two or more classes.`,
		[]Arg{{"dst", "*float64"}, {"top", "*float64"}, {"tail", "*float64"}, {"label", "*float64"}, {"rest", "*float64"},
			{"hit", "*uint8"}, {"n", "int"}}, nil)
	dst, top, tail, label, rest := c.Arg("dst"), c.Arg("top"), c.Arg("tail"), c.Arg("label"), c.Arg("rest")
	hit, n := c.Arg("hit"), c.Arg("n")
	one := c.pinned64(1)
	square := func(x V) V { return c.Mul(F64, x, x) }
	c.rows(n, func(u int) {
		r, p := c.at(rest, u), c.at(label, u)
		right := c.Add(F64, square(c.at(tail, u)), r)
		wrong := c.Sub(F64, c.Add(F64, square(c.at(top, u)), r), square(p))
		wrong = c.Add(F64, square(c.Sub(F64, c.Copy(one), p)), wrong)
		c.Store(dst, u*c.Width(), c.Blend(c.LoadTruths(hit, u*c.wide()), right, wrong))
	}, walker{dst, 8}, walker{top, 8}, walker{tail, 8}, walker{label, 8}, walker{rest, 8}, walker{hit, 1})
	c.Return()
}

func (c columnKernel) eventErrors() {
	c.Func("EventErrors", `EventErrors writes to dst the square of tail where hit is 1 and of top where it is 0, for n rows, a
		multiple of 32 that is not 0.`,
		[]Arg{{"dst", "*float64"}, {"top", "*float64"}, {"tail", "*float64"}, {"hit", "*uint8"}, {"n", "int"}}, nil)
	dst, top, tail, hit, n := c.Arg("dst"), c.Arg("top"), c.Arg("tail"), c.Arg("hit"), c.Arg("n")
	c.rows(n, func(u int) {
		d := c.Blend(c.LoadTruths(hit, u*c.wide()), c.at(tail, u), c.at(top, u))
		c.Store(dst, u*c.Width(), c.Mul(F64, d, d))
	}, walker{dst, 8}, walker{top, 8}, walker{tail, 8}, walker{hit, 1})
	c.Return()
}

// binEqual emits the bins of n >= 2. With b/n <= p < (b+1)/n but for the rounding of 1/n and of an edge, and t = p*n
// rounded, t is from b to b+1 but for three roundings, which below 2**31 bins are far less than a half: so the whole number
// r next to t is b or b+1, and edge r alone decides. That is as true of r clamped to 1 ... n-1, and then no bin is outside.
func (c columnKernel) binEqual(name, is string, cond Cond) {
	c.Func(name, name+` writes to dst the number of inner edges `+is+` p, -1 for NaN, for n scores, a multiple of 32 that is not
		0. The three numbers at scale are the number of bins, at least 2 and below 2**31, that less 1, and 1/bins.`,
		[]Arg{{"dst", "*int32"}, {"p", "*float64"}, {"n", "int"}, {"scale", "*float64"}}, nil)
	dst, p, n, scale := c.Arg("dst"), c.Arg("p"), c.Arg("n"), c.Arg("scale")
	bins, most, step := c.Broadcast(F64, scale, 0), c.Broadcast(F64, scale, 8), c.Broadcast(F64, scale, 16)
	// The low bits of a sum with this are r-1; where it is subtracted again, what remains is r.
	magic := c.pinned64(0x1.8p52 - 1)
	least, one := c.pinned64(1), c.pinnedInt(1)
	none := c.pinnedInt(-1)
	c.rows(n, func(u int) {
		x := c.at(p, u)
		t := c.Min(F64, most, c.Max(F64, least, c.Mul(F64, x, bins)))
		c.AddTo(F64, t, magic)
		edge := c.Mul(F64, c.Sub(F64, t, magic), step)
		c.CountTo(I64, t, c.Cmp(F64, cond, edge, x), one)
		c.BlendTo(c.Cmp(F64, UN, x, x), t, none)
		c.StoreNarrow(dst, u*c.Width()/2, t)
	}, walker{dst, 4}, walker{p, 8})
	c.Return()
}

// binEdges emits the comparison of each score with each edge.
func (c columnKernel) binEdges(name, is string, cond Cond) {
	c.Func(name, name+` writes to dst the number of inner edges `+is+` p, -1 for NaN, for n scores, a multiple of 32 that is not
		0. There is at least one edge.`,
		[]Arg{{"dst", "*int32"}, {"p", "*float64"}, {"n", "int"}, {"edges", "*float64"}, {"inner", "int"}}, nil)
	dst, p, n, edges, inner := c.Arg("dst"), c.Arg("p"), c.Arg("n"), c.Arg("edges"), c.Arg("inner")
	one := c.pinnedInt(1)
	group := min(columnStep/c.wide(), 4)
	c.Label("rows")
	x, found := make([]V, group), make([]V, group)
	for u := range x {
		x[u], found[u] = c.at(p, u), c.Zero()
	}
	e, left := c.CopyR(edges), c.CopyR(inner)
	c.Label("edges")
	edge := c.Broadcast(F64, e, 0)
	for u := range x {
		c.CountTo(I64, found[u], c.Cmp(F64, cond, edge, x[u]), one)
	}
	c.AddR(e, 8)
	c.SubR(left, 1)
	c.If(left, GT, 0, "edges")
	none := c.Copy(c.Const(I64, 1<<64-1))
	for u := range x {
		c.BlendTo(c.Cmp(F64, UN, x[u], x[u]), found[u], none)
		c.StoreNarrow(dst, u*c.Width()/2, found[u])
	}
	per := group * c.wide()
	c.AddR(dst, 4*per)
	c.AddR(p, 8*per)
	c.SubR(n, per)
	c.If(n, GT, 0, "rows")
	c.Return()
}

// The cells of BinSums are 32 bytes with N + Y<<32 and three sums, of each bin eight, which rows take by turns: a sum that is
// loaded soon after it was stored would have to wait for it. kernel/bins.go declares the same.
const (
	cellBytes  = 32
	binBytes   = 8 * cellBytes
	cellsAlign = 64
	cellsStart = cellsAlign + binBytes // behind room for addresses and the cells of rows that are left out
)

func (c columnKernel) binSums() {
	c.Func("BinSums", `BinSums sums n rows, a multiple of 32 that is not 0, by their bins: it writes to the four words of each bin
		at to N + Y<<32 and the sums of the bits of p+3, of p*p+3, and of p+3 where y is 1, and returns how many rows have
		a bin below 0, or -1 if one has a bin that is not below bins. cells are zeros: 32 words for each bin, and 48 words
		more.`,
		[]Arg{{"to", "*uint64"}, {"cells", "*uint64"}, {"bins", "int"}, {"bin", "*int32"}, {"p", "*float64"}, {"y", "*uint8"}, {"n", "int"}},
		[]Arg{{"ret", "int"}})
	cells, bins := c.Arg("cells"), c.Arg("bins")
	c.AddR(cells, cellsAlign-1)
	c.AndR(cells, -cellsAlign)
	spread := func(t T, r R) V {
		c.StoreR(cells, 0, 8, r)
		return c.Broadcast(t, cells, 0)
	}
	last := c.CopyR(bins)
	c.SubR(last, 1)
	most := spread(I32, last)
	first := c.CopyR(cells)
	c.AddR(first, cellsStart)
	start := spread(I64, first)

	bin, p, y, n := c.Arg("bin"), c.Arg("p"), c.Arg("y"), c.Arg("n")
	three, none32, none := c.pinned64(3), c.Pin(c.Const(I32, 1<<32-1)), c.pinnedInt(-1)
	wrong, right := c.pinnedInt(1), c.pinnedInt(1<<32|1)
	one32 := c.Pin(c.Const(I32, 1))
	without, zero, add := c.Zero(), c.Zero(), c.Cells(cells)
	c.Label("rows")
	for u := 0; u < columnStep/c.wide(); u += 2 {
		b := c.Load(bin, u/2*c.Width())
		c.Any(c.Cmp(I32, GT, b, most), "beyond")
		c.CountTo(I32, without, c.Cmp(I32, GT, zero, b), one32)
		b = c.MaxInt(b, none32)
		for h, i := range []V{c.LowInt(b), c.HighInt(b)} {
			u := u + h
			x := c.at(p, u)
			square, in := c.scored(x)
			i = c.Blend(in, i, none)
			hit := c.LoadTruths(y, u*c.wide())
			v := c.Add(F64, x, three)
			add(c.Add(I64, c.Shl(I64, i, log2(binBytes)), start), u*c.wide()*cellBytes%binBytes,
				[4]V{c.Blend(hit, right, wrong), v, c.Add(F64, square, three), c.Keep(hit, v)})
		}
	}
	c.AddR(bin, 4*columnStep)
	c.AddR(p, 8*columnStep)
	c.AddR(y, columnStep)
	c.SubR(n, columnStep)
	c.If(n, GT, 0, "rows")

	c.StoreLane(I32, cells, 0, c.butterfly(I32, []V{without}, func(a, b V) V { return c.Add(I32, a, b) }))
	ret := c.LoadR(cells, 0, 4)
	to := c.Arg("to")
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
	c.SubR(bins, 1)
	c.If(bins, GT, 0, "bins")
	c.Jump("return")
	c.Label("beyond")
	c.MoveR(ret, c.GP(-1))
	c.Label("return")
	c.Result("ret", ret)
	c.Return()
}
