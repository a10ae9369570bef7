package main

import "math"

// columnKeys emits keys of the columns of a matrix: the Go definition is in kernel/columnkeys.go.
func columnKeys(m Machine) {
	columnKeysOf(m, F32, "F32", "*uint32", "*float32")
	columnKeysOf(m, F64, "F64", "*uint64", "*float64")
}

// groupsAhead is how far the rows are prefetched, in groups of as many as a register has lanes. They may lie anywhere from
// another, so the CPU does not find the next one by itself.
const groupsAhead = 2

// columnKeysOf emits the transposition, as many rows at a time as a register has lanes, in 16 bytes of each.
func columnKeysOf(m Machine, f T, name, dst, x string) {
	t, size := f.Int(), f.Bytes()
	per, w := 16/size, lanes(m, f)
	m.Func("ColumnKeys"+name, "ColumnKeys"+name+` writes to dst the keys of rows x cols scores without outcomes, a column after
		another, whose starts are pitch bytes apart; those of rows are stride bytes apart. rows is a multiple of 16 and cols one
		of those that 16 bytes have, and neither is 0. It writes the smallest score to least, and returns something other than 0
		if one is outside [0,1]; then least has no meaning.`,
		[]Arg{{"dst", dst}, {"pitch", "int"}, {"x", x}, {"stride", "int"}, {"rows", "int"}, {"cols", "int"}, {"least", x}},
		[]Arg{{"ret", "int"}})
	to, pitch, from, stride := m.Arg("dst"), m.Arg("pitch"), m.Arg("x"), m.Arg("stride")
	rows, cols := m.Arg("rows"), m.Arg("cols")
	ones := m.Pin(m.Const(t, 1<<(8*size-1)<<1-1))
	zero, all := m.Zero(), m.Zero()
	least := m.Copy(m.Const(f, oneBits(f)))
	group := m.CopyR(stride)
	m.ShlR(group, log2(w*groupsAhead))
	m.Label("rows")
	at, column, left := m.CopyR(from), m.CopyR(to), m.CopyR(cols)
	m.Label("columns")
	row, later := m.CopyR(at), m.CopyR(at)
	m.AddR(later, group)
	v := make([]V, per)
	for l := range w {
		v[l%per] = m.LoadGroup(v[l%per], l/per, row, 0)
		m.Prefetch(later, 0)
		m.AddR(row, stride)
		m.AddR(later, stride)
	}
	for _, x := range transposed(m, v) {
		in := m.Cmp(f, GE, m.Sub(f, x, m.Mul(f, x, x)), zero) // as for HitKeys
		key := m.Blend(in, m.Shl(t, x, 1), ones)
		m.Move(all, m.Or(all, key))
		m.Move(least, m.Min(f, least, x))
		m.Store(column, 0, key)
		m.AddR(column, pitch)
	}
	m.AddR(at, 16)
	m.SubR(left, per)
	m.If(left, GT, 0, "columns")
	step := m.CopyR(stride)
	m.ShlR(step, log2(w))
	m.AddR(from, step)
	m.AddR(to, m.Width())
	m.SubR(rows, w)
	m.If(rows, GT, 0, "rows")
	k := kernelOf(m, f)
	m.StoreLane(f, m.Arg("least"), 0, k.butterfly(f, []V{least}, func(a, b V) V { return m.Min(f, a, b) }))
	// The key of a score in [0,1] is not negative as a signed number; all ones are.
	ret := m.GP(0)
	m.None(m.Cmp(t, GT, zero, all), "inside")
	m.MoveR(ret, m.GP(1))
	m.Label("inside")
	m.Result("ret", ret)
	m.Return()
}

// transposed returns columns of registers that have the same 16 bytes of rows: register r of four has those of rows r,
// 4+r, 8+r and so on, of two those of r, 2+r.
func transposed(m Machine, v []V) []V {
	if len(v) == 2 {
		return []V{m.ZipLow(F64, v[0], v[1]), m.ZipHigh(F64, v[0], v[1])}
	}
	a, b := m.ZipLow(F32, v[0], v[1]), m.ZipHigh(F32, v[0], v[1])
	c, d := m.ZipLow(F32, v[2], v[3]), m.ZipHigh(F32, v[2], v[3])
	return []V{m.ZipLow(F64, a, c), m.ZipHigh(F64, a, c), m.ZipLow(F64, b, d), m.ZipHigh(F64, b, d)}
}

// oneBits are those of the number 1.
func oneBits(f T) uint64 {
	if f == F32 {
		return uint64(math.Float32bits(1))
	}
	return math.Float64bits(1)
}
