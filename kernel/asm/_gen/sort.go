package main

import "fmt"

// sort16 sorts 16 numbers in 60 comparisons (Green), and the first n of them with those that compare no other.
var sort16 = [][2]int{
	{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15},
	{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15},
	{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15},
	{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15},
	{5, 10}, {6, 9}, {3, 12}, {13, 14}, {4, 8}, {7, 11}, {1, 2},
	{1, 4}, {7, 13}, {2, 8}, {11, 14},
	{2, 4}, {5, 6}, {9, 10}, {11, 13}, {3, 8}, {7, 12},
	{6, 8}, {10, 12}, {3, 5}, {7, 9},
	{3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12},
	{6, 7}, {8, 9},
}

// halve returns the comparisons that sort a bitonic sequence of 2*half numbers of which there are the first n; those that
// are not there are the largest. With flip both halves are sorted instead, and the second stands the other way round: it
// is the end of what is there, so numbers are missing behind the first of it.
func halve(half, n int, flip bool) (pairs [][2]int) {
	for u := range half {
		v := half + u
		if flip {
			v = 2*half - 1 - u
		}
		if v < n {
			pairs = append(pairs, [2]int{u, v})
		}
	}
	for d := half / 2; d > 0; d /= 2 {
		for u := range n - d {
			if u&d == 0 {
				pairs = append(pairs, [2]int{u, u + d})
			}
		}
	}
	return pairs
}

// The operations of a step; kernel/sort_rows_simd.go has the same numbers.
const (
	opSort   = 0  // + n: sorts n columns side by side, 2 to 16
	opHalve  = 15 // + n: halves n of 4, 8 or 16 columns, or 2
	opFlip8  = 31 // + n: merges runs of 4 and n
	opFlip16 = 35 // + n: merges runs of 8 and n
	opLast   = opFlip16 + 8
)

// The fields of a step, 4 bytes each.
const (
	stepOp = 4 * iota
	stepCount
	stepLow
	stepHigh
	stepStride
	stepNext
	stepBlocks
	stepNextLow
	stepNextHigh
	stepBytes
)

// The head of the scratch.
const (
	sortX = 8 * iota
	sortRowsLeft
	sortBlocks
	sortCols = 64 // where the columns start
)

// sorting emits the network that sorts a row a lane.
type sorting struct {
	Machine
	head                               R // of the scratch
	low, high, next, count, step, soon R
	by                                 [4]R // 1, 3, 5 and 7 times the stride
}

func sortRows(m Machine) {
	m.Func("SortRowsF32", `SortRowsF32 sorts rows of 4 elements or more in place. w is scratch: 64 bytes and a register for each element
		of a row, at the first address in it that is a multiple of 64. steps are the network, up to one whose operation is 0.`,
		[]Arg{{"w", "*float32"}, {"x", "*float32"}, {"rows", "int"}, {"k", "int"}, {"stride", "int"}, {"steps", "*int32"}}, nil)
	s := &sorting{Machine: m, head: m.Arg("w")}
	m.AddR(s.head, 63)
	m.AndR(s.head, -64)
	m.StoreR(s.head, sortX, 8, m.Arg("x"))
	m.StoreR(s.head, sortRowsLeft, 8, m.Arg("rows"))

	m.Label("tile")
	s.fetch()
	s.network()
	s.put()

	x, left := m.LoadR(s.head, sortX, 8), m.LoadR(s.head, sortRowsLeft, 8)
	m.AddR(x, s.stride(log2(lanes(m, F32))))
	m.SubR(left, lanes(m, F32))
	m.StoreR(s.head, sortX, 8, x)
	m.StoreR(s.head, sortRowsLeft, 8, left)
	m.If(left, GT, 0, "tile")
	m.Return()
}

// stride returns the bytes of 1<<shift rows.
func (s *sorting) stride(shift int) R {
	r := s.Arg("stride")
	s.ShlR(r, 2+shift)
	return r
}

// lastRow returns the address of the tile's last row: where there are fewer rows than lanes it stands for the missing ones.
func (s *sorting) lastRow(x, stride R) R {
	last := s.LoadR(s.head, sortRowsLeft, 8)
	s.MinR(last, s.GP(int64(lanes(s, F32))))
	s.SubR(last, 1)
	s.MulR(last, stride)
	s.AddR(last, x)
	return last
}

// transposed returns the four rows of each 16 bytes of four registers as columns.
func (s *sorting) transposed(v []V) []V {
	a, b, c, d := s.ZipLow(F32, v[0], v[1]), s.ZipHigh(F32, v[0], v[1]), s.ZipLow(F32, v[2], v[3]), s.ZipHigh(F32, v[2], v[3])
	return []V{s.ZipLow(F64, a, c), s.ZipHigh(F64, a, c), s.ZipLow(F64, b, d), s.ZipHigh(F64, b, d)}
}

// fetch makes the rows of a tile columns of integers, four at a time; the last four may come again.
func (s *sorting) fetch() {
	x, stride := s.LoadR(s.head, sortX, 8), s.stride(0)
	last, left, to := s.lastRow(x, stride), s.Arg("k"), s.CopyR(s.head)
	s.Label("fetch")
	row, v := s.CopyR(x), make([]V, 4)
	for l := range lanes(s, F32) {
		v[l%4] = s.LoadGroup(v[l%4], l/4, row, 0)
		s.AddR(row, stride)
		s.MinR(row, last)
	}
	for q, c := range s.transposed(v) {
		s.Store(to, sortCols+q*s.Width(), s.TurnNegative(c))
	}
	for _, r := range []R{x, last} {
		s.AddR(r, 16)
	}
	s.AddR(to, 4*s.Width())
	s.SubR(left, 4)
	s.If(left, GE, 4, "fetch")
	s.If(left, EQ, 0, "fetched")
	s.SubR(left, 4)
	back := s.CopyR(left)
	s.ShlR(back, 2)
	s.AddR(x, back)
	s.AddR(last, back)
	s.ShlR(back, log2(s.Width())-2)
	s.AddR(to, back)
	s.MoveR(left, s.GP(4))
	s.Jump("fetch")
	s.Label("fetched")
}

// put is the way back: as many columns at a time as fill a register of a row, or four; the last may come again.
func (s *sorting) put() {
	w := lanes(s, F32)
	x, stride := s.LoadR(s.head, sortX, 8), s.stride(0)
	last, left, from := s.lastRow(x, stride), s.Arg("k"), s.CopyR(s.head)
	// back moves on by n columns, if so many are left, or to the last n.
	advance := func(n int, label string) {
		s.AddR(x, 4*n)
		s.AddR(last, 4*n)
		s.AddR(from, n*s.Width())
		s.SubR(left, n)
		s.If(left, LE, 0, "done")
		s.If(left, GE, n, label)
	}
	back := func(n int, label string) {
		s.SubR(left, n)
		b := s.CopyR(left)
		s.ShlR(b, 2)
		s.AddR(x, b)
		s.AddR(last, b)
		s.ShlR(b, log2(s.Width())-2)
		s.AddR(from, b)
		s.MoveR(left, s.GP(int64(n)))
		s.Jump(label)
	}
	each := func(row R, f func()) {
		f()
		s.AddR(row, stride)
		s.MinR(row, last)
	}
	if w > 4 {
		s.If(left, LT, w, "few")
	}
	s.Label("put")
	row := s.CopyR(x)
	for g := range w / 4 {
		v := make([]V, 4)
		for l := range w {
			v[l%4] = s.LoadGroup(v[l%4], l/4, from, sortCols+l*s.Width()+16*g)
		}
		for _, r := range s.transposed(v) {
			each(row, func() { s.Store(row, 0, s.TurnNegative(r)) })
		}
	}
	advance(w, "put")
	if w > 4 {
		s.If(left, LE, 4, "few")
	}
	back(w, "put")
	if w > 4 {
		s.Label("few")
		s.If(left, GE, 4, "four")
		s.Label("less")
		back(4, "four")
		s.Label("four")
		v := make([]V, 4)
		for q := range v {
			v[q] = s.Load(from, sortCols+q*s.Width())
		}
		v = s.transposed(v)
		for q := range v {
			v[q] = s.TurnNegative(v[q])
		}
		row := s.CopyR(x)
		for l := range w {
			each(row, func() { s.StoreGroup(row, 0, v[l%4], l/4) })
		}
		advance(4, "four")
		s.Jump("less")
	}
	s.Label("done")
}

// network emits the loop over steps. Each is an operation on columns, or on columns a stride apart, that is repeated.
func (s *sorting) network() {
	s.step = s.Arg("steps")
	s.soon = s.LoadR(s.head, sortX, 8)
	s.AddR(s.soon, s.stride(log2(lanes(s, F32))))
	s.Label("step")
	op := s.LoadR(s.step, stepOp, 4)
	s.If(op, EQ, 0, "sorted")
	cols := s.CopyR(s.head)
	s.AddR(cols, sortCols)
	s.low, s.high = s.LoadR(s.step, stepLow, 4), s.LoadR(s.step, stepHigh, 4)
	s.AddR(s.low, cols)
	s.AddR(s.high, cols)
	s.StoreR(s.head, sortBlocks, 8, s.LoadR(s.step, stepBlocks, 4))
	s.next = s.LoadR(s.step, stepNext, 4)
	s.by[0] = s.LoadR(s.step, stepStride, 4)
	twice := s.CopyR(s.by[0])
	s.AddR(twice, twice)
	for i := range s.by[1:] {
		s.by[i+1] = s.CopyR(s.by[i])
		s.AddR(s.by[i+1], twice)
	}
	s.Label("block")
	s.count = s.LoadR(s.step, stepCount, 4)
	s.choose(s.LoadR(s.step, stepOp, 4), 2, opLast)

	s.Label("block_done")
	blocks := s.LoadR(s.head, sortBlocks, 8)
	s.AddR(s.low, s.LoadR(s.step, stepNextLow, 4))
	s.AddR(s.high, s.LoadR(s.step, stepNextHigh, 4))
	s.SubR(blocks, 1)
	s.StoreR(s.head, sortBlocks, 8, blocks)
	s.If(blocks, GT, 0, "block")
	s.AddR(s.step, stepBytes)
	s.Jump("step")
	s.Label("sorted")
}

// choose emits a tree of jumps to the operations from first to last.
func (s *sorting) choose(op R, first, last int) {
	if first == last {
		s.operation(first)
		return
	}
	middle := (first + last + 1) / 2
	above := fmt.Sprintf("from%d", middle)
	s.If(op, GE, middle, above)
	s.choose(op, first, middle-1)
	s.Label(above)
	s.choose(op, middle, last)
}

// place is where a column is: at a number of bytes from a register, or at a multiple of the stride.
type place struct {
	p   R
	off int // bytes, or -n for n strides
}

func (s *sorting) load(p place) V {
	if p.off >= 0 {
		return s.Load(p.p, p.off)
	}
	i, scale := s.times(-p.off)
	return s.LoadAt(p.p, i, scale)
}

func (s *sorting) store(p place, v V) {
	if p.off >= 0 {
		s.Store(p.p, p.off, v)
		return
	}
	i, scale := s.times(-p.off)
	s.StoreAt(p.p, i, scale, v)
}

// times returns the register and the scale that are n strides, 1 to 7.
func (s *sorting) times(n int) (R, int) {
	scale := n & -n
	return s.by[n/scale/2], scale
}

// operation emits one operation in a loop.
func (s *sorting) operation(op int) {
	var pairs [][2]int
	var at []place
	strided := func(p R, n int) {
		for u := range n {
			at = append(at, place{p, -u})
		}
	}
	halves := func(half, n int, flip bool) {
		pairs = halve(half, half+n, flip)
		strided(s.low, half)
		strided(s.high, n)
	}
	flip := op > opFlip8
	switch {
	case op > opFlip16:
		halves(8, op-opFlip16, true)
	case op > opFlip8:
		halves(4, op-opFlip8, true)
	case op > opHalve+1:
		n, half := op-opHalve, 1
		for 2*half < n {
			half *= 2
		}
		halves(half, n-half, false)
	default:
		for u := range op - opSort {
			at = append(at, place{s.low, u * s.Width()})
		}
		for _, p := range sort16 {
			if p[1] < len(at) {
				pairs = append(pairs, p)
			}
		}
	}
	label := fmt.Sprintf("op%d", op)
	s.Label(label)
	v := make([]V, len(at))
	// Of 16 registers one is needed besides the columns: the first of 16 columns, which is compared least, stays in memory.
	stays := s.Level() == "avx2" && len(at) == 16
	for u, p := range at {
		if u > 0 || !stays {
			v[u] = s.load(p)
		}
	}
	for _, p := range pairs {
		if p[0] == 0 && stays {
			s.SortMemory(s.low, v[p[1]])
		} else {
			v[p[0]] = s.SortTo(v[p[0]], v[p[1]])
		}
	}
	for u, p := range at {
		if u > 0 || !stays {
			s.store(p, v[u])
		}
	}
	s.Prefetch(s.soon, 0)
	s.Prefetch(s.soon, 64)
	s.AddR(s.soon, 128)
	s.AddR(s.low, s.next)
	if flip {
		s.SubR(s.high, s.next)
	} else {
		s.AddR(s.high, s.next)
	}
	s.SubR(s.count, 1)
	s.If(s.count, GT, 0, label)
	s.Jump("block_done")
}
