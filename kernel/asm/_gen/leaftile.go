package main

import "fmt"

// leafTile emits the sort of as many keys as 16 or 32 registers hold, at a level that has 16: as sortLeaf does, but the columns stand in memory, and
// a few at a time in registers.
type leafTile struct {
	Machine
	e exchanger
	t T
	w R // columns, and behind the most of them the sorted keys
}

// mostTile is the most columns of a leafTile. The scratch has room for them twice, in lines of 64 bytes.
const (
	mostTile    = 32
	tileScratch = 2*32*mostTile + 64
)

// tiled reports whether a level has a leafTile.
func tiled(m Machine) bool { return m.Level() == "avx2" }

func (s leafTile) sort(dst, x, n R) {
	s.AddR(s.w, 63)
	s.AndR(s.w, -64)
	s.If(n, GT, 16*s.lanes(), "tile32")
	s.of(16, dst, x, n)
	s.Jump("done")
	s.Label("tile32")
	s.of(32, dst, x, n)
}

func (s leafTile) lanes() int { return lanes(s, s.t) }

// of sorts keys in c columns.
func (s leafTile) of(c int, dst, x, n R) {
	name := func(what string) string { return fmt.Sprintf("tile%d_%s", c, what) }
	s.load(name("load"), c, x, n)
	s.eights(name("columns"), c, func(v []V) { s.exchange(v, networks[8]) })
	halves := [][2]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}}
	for run := 8; run < c; run *= 2 {
		s.fold(name(fmt.Sprintf("fold%d", run)), c, run)
		s.eights(name(fmt.Sprintf("halve%d", run)), c, func(v []V) { s.exchange(v, halves) })
	}
	for lanes := 1; lanes < s.lanes(); lanes *= 2 {
		s.turn(name(fmt.Sprintf("turn%d", lanes)), c, lanes)
		if 2*lanes < s.lanes() {
			s.eights(name(fmt.Sprintf("rest%d", lanes)), c, func(v []V) { s.exchange(v, halves) })
		}
	}
	s.order(name("order"), c, func(v []V) { s.exchange(v, halves) })
	s.store(name("store"), dst, n)
}

func (s leafTile) exchange(v []V, pairs [][2]int) {
	for _, c := range pairs {
		v[c[0]], v[c[1]] = s.e.pair(v[c[0]], v[c[1]])
	}
}

// load copies the keys to columns, behind them ones.
func (s leafTile) load(label string, c int, x, n R) {
	w := s.Width()
	ones := s.e.raise(s.Copy(s.Const(I32, 1<<32-1)))
	for r := c / 2; r < c; r++ {
		s.Store(s.w, r*w, ones)
	}
	p, to, left := s.CopyR(x), s.CopyR(s.w), s.CopyR(n)
	s.Label(label)
	s.Store(to, 0, s.e.raise(s.Load(p, 0)))
	s.AddR(p, w)
	s.AddR(to, w)
	s.SubR(left, s.lanes())
	s.If(left, GE, s.lanes(), label)
	s.If(left, EQ, 0, label+"ed")
	s.Store(to, 0, s.e.raise(s.LoadKeys(s.t, p, s.KeyCount(s.t, left), 0)))
	s.Label(label + "ed")
}

// times emits a loop of n steps.
func (s leafTile) times(label string, n int, step func()) {
	count := s.GP(int64(n))
	s.Label(label)
	step()
	s.SubR(count, 1)
	s.If(count, GT, 0, label)
}

// eights does something with each eight columns.
func (s leafTile) eights(label string, c int, f func(v []V)) {
	p, w := s.CopyR(s.w), s.Width()
	s.times(label, c/8, func() {
		v := make([]V, 8)
		for r := range v {
			v[r] = s.Load(p, r*w)
		}
		f(v)
		for r := range v {
			s.Store(p, r*w, v[r])
		}
		s.AddR(p, 8*w)
	})
}

// fold compares runs of columns, each with the next one turned round, and sorts each lane's runs of 8 to others of 8 that are above the first, which
// halves finish.
func (s leafTile) fold(label string, c, run int) {
	w := s.Width()
	for first := 0; first < c; first += 2 * run {
		// up and down walk towards each other.
		up, down := s.CopyR(s.w), s.CopyR(s.w)
		s.AddR(up, first*w)
		s.AddR(down, (first+2*run-1)*w)
		s.times(fmt.Sprintf("%s_%d", label, first), 8, func() {
			if run == 8 {
				a, b := s.e.pair(s.Load(up, 0), s.Load(down, 0))
				s.Store(up, 0, a)
				s.Store(down, 0, b)
			} else {
				v := []V{s.Load(up, 0), s.Load(up, 8*w), s.Load(down, -8*w), s.Load(down, 0)}
				s.exchange(v, [][2]int{{0, 3}, {1, 2}, {0, 1}, {2, 3}})
				s.Store(up, 0, v[0])
				s.Store(up, 8*w, v[1])
				s.Store(down, -8*w, v[2])
				s.Store(down, 0, v[3])
			}
			s.AddR(up, w)
			s.SubR(down, w)
		})
	}
}

// turn is the beginning of merging neighbouring runs of so many lanes, until runs of 8 columns are left.
func (s leafTile) turn(label string, c, lanes int) {
	w := s.Width()
	// Each step takes columns from the beginning and the end of each quarter, or of each eighth.
	up, down := s.CopyR(s.w), s.CopyR(s.w)
	s.AddR(down, 7*w)
	var at []place
	for r := 0; r < c; r += 8 {
		at = append(at, place{p: up, off: r * w}, place{p: down, off: r * w})
	}
	s.times(label, 4, func() {
		n := len(at)
		v := make([]V, n)
		// Columns r and c-1-r are i and n-1-i here, and r and r + c/2 are i and i + n/2.
		for i := range n / 2 {
			j := n - 1 - i
			v[i], v[j] = s.e.turned(s.Load(at[i].p, at[i].off), s.Load(at[j].p, at[j].off), lanes)
		}
		for d := lanes / 2; d > 0; d /= 2 {
			for i := range v {
				v[i] = s.e.side(v[i], s.e.flip(v[i], d), d)
			}
		}
		for d := n / 2; d > 1; d /= 2 {
			for i := range n {
				if i&d == 0 {
					v[i], v[i+d] = s.e.pair(v[i], v[i+d])
				}
			}
		}
		for i := range v {
			s.Store(at[i].p, at[i].off, v[i])
		}
		s.AddR(up, w)
		s.SubR(down, w)
	})
}

// order writes lane 0 of all columns behind them, then lane 1, and so on.
func (s leafTile) order(label string, c int, f func(v []V)) {
	w := s.Width()
	p, to := s.CopyR(s.w), s.CopyR(s.w)
	s.AddR(to, mostTile*w)
	s.times(label, c/8, func() {
		v := make([]V, 8)
		for r := range v {
			v[r] = s.Load(p, r*w)
		}
		f(v)
		for i, u := range inOrder(s, s.t, v) {
			// Of 8 columns alone this is register i. Each lane has a register for 8 keys of 4 bytes, or two.
			per := s.Width() / s.t.Bytes()
			lane, part := i*per/8, i*per%8/per
			s.Store(to, lane*c*s.t.Bytes()+part*w, s.e.raise(u))
		}
		s.AddR(p, 8*w)
		s.AddR(to, 8*s.t.Bytes())
	})
}

// store copies the sorted keys to dst: the last ones together with some before them.
func (s leafTile) store(label string, dst, n R) {
	w := s.Width()
	from, end := s.CopyR(s.w), s.CopyR(n)
	s.AddR(from, mostTile*w)
	s.SubR(end, s.lanes())
	last, lastTo := s.CopyR(from), s.CopyR(dst)
	s.AddScaled(last, end, s.t.Bytes())
	s.AddScaled(lastTo, end, s.t.Bytes())
	v := s.Load(last, 0)
	s.Label(label)
	s.Store(dst, 0, s.Load(from, 0))
	s.AddR(from, w)
	s.AddR(dst, w)
	s.SubR(end, s.lanes())
	s.If(end, GT, 0, label)
	s.Store(lastTo, 0, v)
}
