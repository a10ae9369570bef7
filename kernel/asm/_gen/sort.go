package main

import "fmt"

// sort16 are the 60 comparisons that sort 16 numbers (Green). Those among the first n sort these.
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

// merge32 returns the comparisons that merge two runs of 16 (Batcher): 65, where halves of a bitonic sequence take 80.
func merge32() (pairs [][2]int) {
	for u := range 16 {
		pairs = append(pairs, [2]int{u, u + 16})
	}
	for d := 8; d > 0; d /= 2 {
		for u := range 32 - d {
			if u&d != 0 {
				pairs = append(pairs, [2]int{u, u + d})
			}
		}
	}
	return pairs
}

// sort32 returns the comparisons that sort two halves of 32, in turn, and merge them.
func sort32() (pairs [][2]int) {
	for _, p := range sort16 {
		pairs = append(pairs, p, [2]int{16 + p[0], 16 + p[1]})
	}
	return append(pairs, merge32()...)
}

// The operations of a step; kernel/sort_rows_simd.go has the same numbers.
const (
	opSort   = 0  // + n: sorts n columns side by side, 2 to 16
	opHalve  = 15 // + n: halves n of 4, 8 or 16 columns, or 2
	opFlip8  = 31 // + n: halve of 4 columns and n, with flip
	opFlip16 = 35 // + n: of 8 columns and n

	opMerge32 = opFlip16 + 9  // merges two runs of 16 side by side, with 32 registers
	opHalve32 = opMerge32 + 1 // halves 32 columns side by side, with 32 registers that memory can stand in for
	opSort32  = opHalve32 + 1 // sorts 32 columns side by side, with these
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
	t        T                            // the elements of rows
	room     int                          // the bytes of the head, behind which the columns start
	lines    int                          // of the next tile that an operation prefetches
	pair     func(a, b V) (least, most V) // a and b are used up
	inMemory func(p R, b V)               // the same where a stands in memory, to which least goes; most is b

	head                               R // of the scratch
	low, high, next, count, step, soon R
	by                                 [4]R // 1, 3, 5 and 7 times the stride
}

func sortRows(m Machine) {
	m.Func("SortRowsF32", `SortRowsF32 sorts rows of 4 elements or more in place. w is scratch: 64 bytes and a register for each element
		of a row, at the first address in it that is a multiple of 64. steps are the network, up to one whose operation is 0.`,
		[]Arg{{"w", "*float32"}, {"x", "*float32"}, {"rows", "int"}, {"k", "int"}, {"stride", "int"}, {"steps", "*int32"}}, nil)
	s := &sorting{Machine: m, t: F32, room: sortCols, lines: 2}
	s.pair = func(a, b V) (least, most V) { return m.SortTo(a, b), b }
	s.inMemory = m.SortMemory
	s.start(func() {})
	s.transposing("fetch", func(t *tile) {
		turned := t.TurnNegative()
		t.fetch(func(_ int, c V) V { return turned(c) })
	})
	s.prefetching()
	s.network()
	s.transposing("put", (*tile).put)
	s.end()
}

// start begins a loop over tiles, before which more is done, and end ends it and the function.
func (s *sorting) start(more func()) {
	s.head = s.Arg("w")
	s.AddR(s.head, 63)
	s.AndR(s.head, -64)
	s.StoreR(s.head, sortX, 8, s.Arg("x"))
	s.StoreR(s.head, sortRowsLeft, 8, s.Arg("rows"))
	more()
	s.Label("tile")
}

func (s *sorting) end() {
	x, left := s.LoadR(s.head, sortX, 8), s.LoadR(s.head, sortRowsLeft, 8)
	s.AddR(x, s.stride(log2(s.rows())))
	s.SubR(left, s.rows())
	s.StoreR(s.head, sortX, 8, x)
	s.StoreR(s.head, sortRowsLeft, 8, left)
	s.If(left, GT, 0, "tile")
	s.Return()
}

// prefetching starts to prefetch the tile behind the one at hand, of which prefetch takes the next n lines.
func (s *sorting) prefetching() {
	s.soon = s.LoadR(s.head, sortX, 8)
	s.AddR(s.soon, s.stride(log2(s.rows())))
}

func (s *sorting) prefetch(n int) {
	for i := range n {
		s.Prefetch(s.soon, 64*i)
	}
	s.AddR(s.soon, 64*n)
}

// rows returns the number of rows of a tile.
func (s *sorting) rows() int { return lanes(s, s.t) }

// stride returns the bytes of 1<<shift rows.
func (s *sorting) stride(shift int) R {
	r := s.Arg("stride")
	s.ShlR(r, log2(s.t.Bytes())+shift)
	return r
}

// tile is the registers that walk over the columns of a tile.
type tile struct {
	*sorting
	name   string
	x      R // the first row
	last   R // the last row, which stands for those that are missing, or nil if there are as many rows as lanes
	stride R
	cols   R
	left   R // columns
}

// transposing emits f for a tile of as many rows as there are lanes, and for one of fewer.
func (s *sorting) transposing(name string, f func(t *tile)) {
	of := func(name string) *tile {
		return &tile{sorting: s, name: name, x: s.LoadR(s.head, sortX, 8), stride: s.stride(0), cols: s.CopyR(s.head), left: s.Arg("k")}
	}
	s.If(s.LoadR(s.head, sortRowsLeft, 8), LT, s.rows(), name+"_fewer")
	f(of(name))
	s.Jump(name + "_done")
	s.Label(name + "_fewer")
	t := of(name + "_fewer")
	t.last = s.LoadR(s.head, sortRowsLeft, 8)
	s.SubR(t.last, 1)
	s.MulR(t.last, t.stride)
	s.AddR(t.last, t.x)
	f(t)
	s.Label(name + "_done")
}

// each calls f with the address of each row.
func (t *tile) each(f func(l int, row R)) {
	row := t.CopyR(t.x)
	for l := range t.rows() {
		f(l, row)
		if l == t.rows()-1 {
			break
		}
		t.AddR(row, t.stride)
		if t.last != nil {
			t.MinR(row, t.last)
		}
	}
}

// forth moves on by n columns, and jumps to the label while as many are left.
func (t *tile) forth(n int, label string) {
	t.AddR(t.x, t.t.Bytes()*n)
	if t.last != nil {
		t.AddR(t.last, t.t.Bytes()*n)
	}
	t.AddR(t.cols, n*t.Width())
	t.SubR(t.left, n)
	t.If(t.left, GE, n, label)
}

// back moves back to where n columns are left, and jumps to the label.
func (t *tile) back(n int, label string) {
	t.SubR(t.left, n)
	by := t.CopyR(t.left)
	t.ShlR(by, log2(t.t.Bytes()))
	t.AddR(t.x, by)
	if t.last != nil {
		t.AddR(t.last, by)
	}
	t.ShlR(by, log2(t.rows()))
	t.AddR(t.cols, by)
	t.MoveR(t.left, t.GP(int64(n)))
	t.Jump(label)
}

// transposed returns what stands in each 16 bytes of as many registers as these have elements the other way round.
func (s *sorting) transposed(v []V) []V {
	if s.t == F64 {
		return []V{s.ZipLow(F64, v[0], v[1]), s.ZipHigh(F64, v[0], v[1])}
	}
	a, b, c, d := s.ZipLow(F32, v[0], v[1]), s.ZipHigh(F32, v[0], v[1]), s.ZipLow(F32, v[2], v[3]), s.ZipHigh(F32, v[2], v[3])
	return []V{s.ZipLow(F64, a, c), s.ZipHigh(F64, a, c), s.ZipLow(F64, b, d), s.ZipHigh(F64, b, d)}
}

// pieces returns what loads 16 bytes of each row into registers, as many as these have elements, of rows one after the other in turn.
func (t *tile) pieces() func() []V {
	per := 16 / t.t.Bytes()
	if t.last != nil {
		return func() []V {
			v := make([]V, per)
			t.each(func(l int, row R) { v[l%per] = t.LoadGroup(v[l%per], l/per, row, 0) })
			return v
		}
	}
	all := t.CopyR(t.stride) // per rows
	var three R
	if per == 4 {
		three = t.CopyR(t.stride)
		t.AddR(three, three)
		t.AddR(three, t.stride)
	}
	t.ShlR(all, log2(per))
	return func() []V {
		v, row := make([]V, per), t.CopyR(t.x)
		for g := range t.rows() / per {
			if g > 0 {
				t.AddR(row, all)
			}
			v[0] = t.LoadGroup(v[0], g, row, 0)
			v[1] = t.LoadGroupAt(v[1], g, row, t.stride, 1)
			if per == 4 {
				v[2] = t.LoadGroupAt(v[2], g, row, t.stride, 2)
				v[3] = t.LoadGroupAt(v[3], g, row, three, 1)
			}
		}
		return v
	}
}

// fetch makes rows columns, of 16 bytes of each row at a time, q the number of a column among these, and stores what f returns.
// The last ones may come again.
func (t *tile) fetch(f func(q int, c V) V) {
	per := 16 / t.t.Bytes()
	many, end := t.name+"_many", t.name+"_end"
	pieces := t.pieces()
	t.Label(many)
	v := pieces()
	for q, c := range t.transposed(v) {
		t.Store(t.cols, t.room+q*t.Width(), f(q, c))
	}
	t.forth(per, many)
	t.If(t.left, EQ, 0, end)
	t.back(per, many)
	t.Label(end)
}

// put makes columns rows: as many at a time as fill a register of a row, and the last four or fewer by themselves. The last
// may come again.
func (t *tile) put() {
	w := t.rows()
	turned := t.TurnNegative()
	many, few, four, end := t.name+"_many", t.name+"_few", t.name+"_four", t.name+"_end"
	if w > 4 {
		t.If(t.left, LT, w, few)
	}
	t.Label(many)
	var out []V
	t.each(func(l int, row R) {
		if l%4 == 0 {
			v := make([]V, 4)
			for j := range w {
				v[j%4] = t.LoadGroup(v[j%4], j/4, t.cols, t.room+j*t.Width()+4*l)
			}
			out = t.transposed(v)
		}
		t.Store(row, 0, turned(out[l%4]))
	})
	t.forth(w, many)
	t.If(t.left, EQ, 0, end)
	if w > 4 {
		t.If(t.left, LE, 4, few)
	}
	t.back(w, many)
	if w > 4 {
		t.Label(few)
		t.If(t.left, GE, 4, four)
		t.back(4, four)
		t.Label(four)
		v := make([]V, 4)
		for j := range v {
			v[j] = t.Load(t.cols, t.room+j*t.Width())
		}
		v = t.transposed(v)
		for j := range v {
			v[j] = turned(v[j])
		}
		t.each(func(l int, row R) { t.StoreGroup(row, 0, v[l%4], l/4) })
		t.forth(4, four)
		t.If(t.left, GT, 0, few)
	}
	t.Label(end)
}

// network emits the loop over steps. Each is an operation on columns, or on columns a stride apart, that is repeated.
func (s *sorting) network() {
	s.step = s.Arg("steps")
	s.Label("step")
	op := s.LoadR(s.step, stepOp, 4)
	s.If(op, EQ, 0, "sorted")
	cols := s.CopyR(s.head)
	s.AddR(cols, s.room)
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
	var ops []int
	for op := 2; op <= opFlip16+8; op++ {
		ops = append(ops, op)
	}
	switch s.Level() {
	case "avx512":
		ops = append(ops, opHalve32, opSort32)
	case "neon":
		ops = append(ops, opMerge32)
	}
	s.choose(s.LoadR(s.step, stepOp, 4), ops)

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

// choose emits a tree of jumps to the operations.
func (s *sorting) choose(op R, ops []int) {
	if len(ops) == 1 {
		s.operation(ops[0])
		return
	}
	middle := len(ops) / 2
	above := fmt.Sprintf("from%d", ops[middle])
	s.If(op, GE, ops[middle], above)
	s.choose(op, ops[:middle])
	s.Label(above)
	s.choose(op, ops[middle:])
}

// place is where a column is: a number of bytes, or of strides, from a register.
type place struct {
	p            R
	off, strides int
}

func (s *sorting) load(p place) V {
	if p.strides == 0 {
		return s.Load(p.p, p.off)
	}
	i, scale := s.times(p.strides)
	return s.LoadAt(p.p, i, scale)
}

func (s *sorting) store(p place, v V) {
	if p.strides == 0 {
		s.Store(p.p, p.off, v)
		return
	}
	i, scale := s.times(p.strides)
	s.StoreAt(p.p, i, scale, v)
}

// times returns the register and the scale that are n strides, 1 to 7.
func (s *sorting) times(n int) (R, int) {
	scale := n & -n
	return s.by[n/scale/2], scale
}

// operation emits one operation in a loop. On the way the next tile is prefetched.
func (s *sorting) operation(op int) {
	var pairs [][2]int
	var at []place
	strided := func(p R, n int) {
		for u := range n {
			at = append(at, place{p: p, strides: u})
		}
	}
	halves := func(half, n int, flip bool) {
		pairs = halve(half, half+n, flip)
		strided(s.low, half)
		strided(s.high, n)
	}
	beside := func(n int) {
		for u := range n {
			at = append(at, place{p: s.low, off: u * s.Width()})
		}
	}
	flip := op > opFlip8 && op < opMerge32
	switch {
	case op == opSort32:
		pairs = sort32()
		beside(32)
	case op == opHalve32:
		pairs = halve(16, 32, false)
		beside(32)
	case op == opMerge32:
		pairs = merge32()
		beside(32)
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
		beside(op - opSort)
		for _, p := range sort16 {
			if p[1] < len(at) {
				pairs = append(pairs, p)
			}
		}
	}
	label := fmt.Sprintf("op%d", op)
	s.Label(label)
	// A column is loaded before its first comparison and stored after its last. One register is needed besides the columns:
	// where they would take all, the first one stays in memory.
	v, left := make([]V, len(at)), make([]int, len(at))
	stays := len(at) == 16 && s.Level() == "avx2" || op == opHalve32 || op == opSort32
	for _, p := range pairs {
		left[p[0]]++
		left[p[1]]++
	}
	for _, p := range pairs {
		for _, u := range p {
			if v[u] == nil && !(u == 0 && stays) {
				v[u] = s.load(at[u])
			}
		}
		if p[0] == 0 && stays {
			s.inMemory(s.low, v[p[1]])
		} else {
			v[p[0]], v[p[1]] = s.pair(v[p[0]], v[p[1]])
		}
		for _, u := range p {
			if left[u]--; left[u] == 0 && v[u] != nil {
				s.store(at[u], v[u])
			}
		}
	}
	s.prefetch(s.lines)
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
