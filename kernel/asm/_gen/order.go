package main

import "fmt"

// What sorting is made of: the Go definitions are in kernel/sift.go and kernel/sort.go.

// keyTypes are the types of keys, by the name that functions carry.
var keyTypes = []struct {
	t          T
	name, elem string
}{{I32, "U32", "uint32"}, {I64, "U64", "uint64"}}

func order(m Machine) {
	for _, k := range keyTypes {
		siftKeys(m, k.t, k.name, k.elem)
		sortLeaf(m, k.t, k.name, k.elem)
	}
}

// siftKeys emits a pass over keys: what a register has goes to the ends of two runs, which grow no faster than the keys are
// read. So whole registers may be stored, but at the end.
func siftKeys(m Machine, t T, name, elem string) {
	ptr := "*" + elem
	m.Func("Sift"+name, "Sift"+name+` moves those of n keys, 16 or more, that are at most last to dst and the others to high, each in
		their order, and returns the number of the first. dst or high may be x, or lie before it. Up to n keys of dst and of high are written
		to, beyond those that were moved there as well. What stands so many bytes ahead of the keys is fetched into the cache.`,
		[]Arg{{"dst", ptr}, {"x", ptr}, {"n", "int"}, {"last", "uint64"}, {"high", ptr}, {"ahead", "int"}}, []Arg{{"ret", "int"}})
	size, w := t.Bytes(), m.Width()
	dst, x, n, high := m.Arg("dst"), m.Arg("x"), m.Arg("n"), m.Arg("high")
	sift := m.Sifter(t, m.Arg("last"))
	start := m.CopyR(dst)
	later := m.Arg("ahead")
	m.AddR(later, x)
	together := 4
	step := together * w / size
	one := func(v V, i int) {
		low, other, k := sift(v)
		m.Store(dst, 0, low)
		m.Store(high, i*w, other)
		m.ShlR(k, log2(size))
		m.AddR(dst, k)
		m.SubR(high, k)
	}
	m.If(n, LT, step, "few")
	m.Label("loop")
	v := make([]V, together)
	for i := range v {
		v[i] = m.Load(x, i*w)
	}
	for off := 0; off < together*w; off += 64 {
		m.Prefetch(later, off)
	}
	for i, v := range v {
		one(v, i)
	}
	m.AddR(high, together*w)
	m.AddR(x, together*w)
	m.AddR(later, together*w)
	m.SubR(n, step)
	m.If(n, GE, step, "loop")
	m.Label("few")
	m.If(n, LT, w/size, "rest")
	one(m.Load(x, 0), 0)
	m.AddR(high, w)
	m.AddR(x, w)
	m.SubR(n, w/size)
	m.Jump("few")
	m.Label("rest")
	m.If(n, EQ, 0, "done")
	low, other, k := sift(m.LoadKeys(t, x, m.KeyCount(t, n), 0))
	m.MinR(k, n) // beyond the last key there are ones, which last may be
	m.StoreKeys(t, dst, m.KeyCount(t, k), 0, low)
	m.SubR(n, k)
	m.ShlR(k, log2(size))
	m.AddR(dst, k)
	m.StoreKeys(t, high, m.KeyCount(t, n), 0, other)
	m.Label("done")
	m.SubR(dst, start)
	m.ShrR(dst, log2(size))
	m.Result("ret", dst)
	m.Return()
}

// leafRegisters are the numbers of registers that a leaf may fill.
func leafRegisters(m Machine) []int {
	switch m.Level() {
	case "avx512":
		return []int{1, 4, 8, 12, 16}
	case "neon":
		return []int{1, 2, 4, 8, 16}
	}
	return []int{1, 2, 4, 8}
}

// sortLeaf emits the sort of a few keys in registers. Key lane*R + register of R registers is what is compared: first each
// lane by a network of its own, then the merging of two, four and more lanes, in which the first step compares the one half
// with the other turned round, the others at half of the distance each.
func sortLeaf(m Machine, t T, name, elem string) {
	size := t.Bytes()
	l := m.Width() / size
	counts := leafRegisters(m)
	most := counts[len(counts)-1]
	doc := fmt.Sprintf("SortLeaf%s writes n keys to dst, sorted: %d or more, and no more than %d. dst may be x.", name, 16/size, most*l)
	if tiled(m) {
		doc = fmt.Sprintf("SortLeaf%s writes n keys to dst, sorted: %d or more, and no more than %d. dst may be x. For more than %d, w is scratch of %d bytes; else it is not used.",
			name, 16/size, mostTile*l, most*l, tileScratch)
	}
	m.Func("SortLeaf"+name, doc, []Arg{{"dst", "*" + elem}, {"x", "*" + elem}, {"n", "int"}, {"w", "*uint64"}}, nil)
	dst, x, n := m.Arg("dst"), m.Arg("x"), m.Arg("n")
	count := m.KeyCount(t, n)
	e := m.Exchanger(t)
	full := 0
	for _, c := range counts {
		next := fmt.Sprintf("beyond%d", c)
		further := c != most || tiled(m)
		if further {
			m.If(n, GT, c*l, next)
		}
		v := make([]V, c)
		for r := range v {
			if r < full {
				v[r] = m.Load(x, r*m.Width())
			} else {
				v[r] = m.LoadKeys(t, x, count, r)
			}
			v[r] = e.raise(v[r])
		}
		e.columns(v)
		for lanes := 1; lanes < l; lanes *= 2 {
			e.merge(v, lanes)
		}
		v = inOrder(m, t, v)
		for r := range v {
			v[r] = e.raise(v[r])
			if r < full {
				m.Store(dst, r*m.Width(), v[r])
			} else {
				m.StoreKeys(t, dst, count, r, v[r])
			}
		}
		full = c
		if further {
			m.Jump("done")
			m.Label(next)
		}
	}
	if tiled(m) {
		leafTile{m, e, t, m.Arg("w")}.sort(dst, x, n)
	}
	m.Label("done")
	m.Return()
}

// networks are the comparisons that sort so many values: the shortest that are known.
var networks = map[int][][2]int{
	1: nil,
	2: {{0, 1}},
	4: {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {1, 2}},
	8: {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5},
		{1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}},
	12: {{0, 8}, {1, 7}, {2, 6}, {3, 11}, {4, 10}, {5, 9},
		{0, 1}, {2, 5}, {3, 4}, {6, 9}, {7, 8}, {10, 11},
		{0, 2}, {1, 6}, {5, 10}, {9, 11},
		{0, 3}, {1, 2}, {4, 6}, {5, 7}, {8, 11}, {9, 10},
		{1, 4}, {3, 5}, {6, 8}, {7, 10},
		{1, 3}, {2, 5}, {6, 9}, {8, 10},
		{2, 3}, {4, 5}, {6, 7}, {8, 9},
		{4, 6}, {5, 7},
		{3, 4}, {5, 6}, {7, 8}},
	16: {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15},
		{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15},
		{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15},
		{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15},
		{5, 10}, {6, 9}, {3, 12}, {13, 14}, {4, 8}, {7, 11}, {1, 2},
		{1, 4}, {7, 13}, {2, 8}, {11, 14},
		{2, 4}, {5, 6}, {9, 10}, {11, 13}, {3, 8}, {7, 12},
		{6, 8}, {10, 12}, {3, 5}, {7, 9},
		{3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12},
		{6, 7}, {8, 9}},
}

// columns sorts each lane.
func (e exchanger) columns(v []V) {
	for _, c := range networks[len(v)] {
		v[c[0]], v[c[1]] = e.pair(v[c[0]], v[c[1]])
	}
}

// merge merges neighbouring runs of so many lanes each.
func (e exchanger) merge(v []V, lanes int) {
	for r := range (len(v) + 1) / 2 {
		if s := len(v) - 1 - r; s != r {
			v[r], v[s] = e.turned(v[r], v[s], lanes)
		} else {
			v[r] = e.side(v[r], e.flip(v[r], 2*lanes-1), lanes)
		}
	}
	for d := lanes / 2; d > 0; d /= 2 {
		for r := range v {
			v[r] = e.side(v[r], e.flip(v[r], d), d)
		}
	}
	e.halve(v)
}

// turned compares the lanes of a with those of b, which are turned round among twice as many lanes as are given.
func (e exchanger) turned(a, b V, lanes int) (V, V) {
	turn := 2*lanes - 1
	if e.apart == nil {
		return e.side(a, e.flip(b, turn), lanes), e.side(b, e.flip(a, turn), lanes)
	}
	v, other := e.apart(a, e.flip(b, turn), lanes)
	return v, e.flip(other, turn)
}

// halve sorts lanes that rise and then fall, or the other way round: one half takes the smaller ones of each two that are
// half of the length apart, the other one the larger. Three are sorted as they come.
func (e exchanger) halve(v []V) {
	n := len(v)
	switch {
	case n == 1:
		return
	case n == 3:
		for _, c := range [][2]int{{0, 2}, {0, 1}, {1, 2}} {
			v[c[0]], v[c[1]] = e.pair(v[c[0]], v[c[1]])
		}
		return
	}
	for r := range n / 2 {
		v[r], v[r+n/2] = e.pair(v[r], v[r+n/2])
	}
	e.halve(v[:n/2])
	e.halve(v[n/2:])
}

// inOrder returns the elements of lane 0 of all registers, those of lane 1, and so on.
func inOrder(m Machine, t T, v []V) []V {
	n := len(v)
	if n == 1 {
		return v
	}
	// Within each 16 bytes first.
	units := make([]V, n)
	if t.Bytes() == 8 {
		for q := range n / 2 {
			units[q] = m.ZipLow(F64, v[2*q], v[2*q+1])
			units[n/2+q] = m.ZipHigh(F64, v[2*q], v[2*q+1])
		}
	} else if n == 2 {
		units[0], units[1] = m.ZipLow(F32, v[0], v[1]), m.ZipHigh(F32, v[0], v[1])
	} else {
		for q := range n / 4 {
			w := v[4*q : 4*q+4]
			a, b := m.ZipLow(F32, w[0], w[1]), m.ZipHigh(F32, w[0], w[1])
			c, d := m.ZipLow(F32, w[2], w[3]), m.ZipHigh(F32, w[2], w[3])
			for j, u := range []V{m.ZipLow(F64, a, c), m.ZipHigh(F64, a, c), m.ZipLow(F64, b, d), m.ZipHigh(F64, b, d)} {
				units[j*n/4+q] = u
			}
		}
	}
	blocks := m.Width() / 16
	out := make([]V, n)
	for k := range n / blocks {
		u := units[blocks*k : blocks*k+blocks]
		switch blocks {
		case 2:
			u[0], u[1] = m.Split(u[0], u[1], 2)
		case 4:
			a, b := m.Split(u[0], u[1], 4)
			c, d := m.Split(u[2], u[3], 4)
			u[0], u[1] = m.Split(a, c, 2)
			u[2], u[3] = m.Split(b, d, 2)
		}
		for g := range u {
			out[g*n/blocks+k] = u[g]
		}
	}
	return out
}
