package neon

import (
	"fmt"
	"math/bits"
	"slices"
)

// The physical registers that are given out. The others: R16 and R17 are the linker's, R18 is the platform's, R27 is the
// assembler's, R28 is g, R29 and R30 are the frame and the return address.
var (
	generals = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 21, 22, 23, 24, 25, 26}
	vectors  = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
		30, 31}
)

// allocate gives every operand its physical register, and leaves out instructions whose results are not read and moves
// from a register to itself.
//
// What is given a register is not the virtual register but a web: writes of it that some read may see together. So a
// register that is written anew is a new web, and a move to it can be to the register where the value already is.
func (f *Func) allocate() {
	var webs []web
	var live *liveness
	for short := 0; short >= 0; {
		flow := f.flow()
		webs = f.webs(flow)
		live = f.live(flow, webs)
		for w := range webs {
			if live.entry.has(w) {
				f.fail("reads a register on a way on which nothing has written it: %s", webs[w].printed)
			}
		}
		f.interfere(webs, live)
		if short = colour(webs); short >= 0 && !f.repeat(webs, short) {
			f.fail("has too few registers: %s", f.pressure(webs, live))
		}
	}
	for _, i := range f.insts {
		for _, o := range i.ops {
			o.physical = webs[o.web].number
		}
	}

	var kept []*inst
	for n, i := range f.insts {
		if live.dead(n) || i.move && i.ops[0].physical == i.ops[1].physical {
			continue
		}
		kept = append(kept, i)
	}
	f.insts = kept
}

// flow is which instructions may come after, and before, which.
type flow struct{ after, before [][]int }

func (f *Func) flow() flow {
	if len(f.insts) == 0 {
		f.fail("does not end with RET")
	}
	at := map[string]int{}
	for n, i := range f.insts {
		if i.label != "" {
			at[i.label] = n
		}
	}
	r := flow{make([][]int, len(f.insts)), make([][]int, len(f.insts))}
	link := func(n, to int) {
		if to == len(f.insts) {
			f.fail("does not end with RET")
		}
		r.after[n] = append(r.after[n], to)
		r.before[to] = append(r.before[to], n)
	}
	for n, i := range f.insts {
		if i.target != "" {
			to, ok := at[i.target]
			if !ok {
				f.fail("has no label %s", i.target)
			}
			link(n, to)
		}
		if !i.ends {
			link(n, n+1)
		}
	}
	return r
}

// web is a set of writes of one virtual register.
type web struct {
	vector  bool
	printed string
	moves   []int // webs that are copied to it or from it
	apart   set   // webs that may not have its register
	number  int   // the physical register, or -1
}

// webs sets the web of every operand and returns the webs in the order of their first writes.
func (f *Func) webs(flow flow) []web {
	// Each write has a number; which writes reach an instruction follows from which reach those before it.
	var writes []*operand
	of := map[*Reg][]int{}
	first := make([]int, len(f.insts)+1) // the number of the first write at or after an instruction
	for n, i := range f.insts {
		first[n] = len(writes)
		for _, o := range i.ops {
			if o.def {
				of[o.reg] = append(of[o.reg], len(writes))
				writes = append(writes, o)
			}
		}
	}
	first[len(f.insts)] = len(writes)

	in, out := newSets(len(f.insts), len(writes)), newSets(len(f.insts), len(writes))
	for changed := true; changed; {
		changed = false
		for n := range f.insts {
			for _, p := range flow.before[n] {
				in[n].add(out[p])
			}
			next := in[n].clone()
			for w := first[n]; w < first[n+1]; w++ {
				for _, other := range of[writes[w].reg] {
					next.remove(other)
				}
				next.insert(w)
			}
			changed = out[n].add(next) || changed
		}
	}

	// Writes that reach one read are one web, and so is a write with those that reach the read it is part of.
	parent := make([]int, len(writes))
	for w := range parent {
		parent[w] = w
	}
	root := func(w int) int {
		for parent[w] != w {
			w = parent[w]
		}
		return w
	}
	join := func(a, b int) {
		a, b = root(a), root(b)
		parent[max(a, b)] = min(a, b)
	}
	for n, i := range f.insts {
		w := first[n]
		for _, o := range i.ops {
			o.web = -1
			if o.use {
				for _, d := range of[o.reg] {
					if !in[n].has(d) {
						continue
					}
					if o.web >= 0 {
						join(o.web, d)
					}
					o.web = d
				}
				if o.web < 0 {
					f.fail("reads a register that nothing has written: instruction %d, %s", n, i.describe())
				}
			}
			if o.def {
				if o.web >= 0 {
					join(o.web, w)
				}
				o.web = w
				w++
			}
		}
	}

	var r []web
	number := map[int]int{}
	for w, o := range writes {
		if root(w) == w {
			number[w] = len(r)
			r = append(r, web{vector: o.reg.vector, number: -1})
		}
	}
	for _, i := range f.insts {
		for _, o := range i.ops {
			o.web = number[root(o.web)]
			r[o.web].printed = i.describe()
		}
	}
	for w := range r {
		r[w].apart = newSet(len(r))
	}
	return r
}

// liveness is which webs are read later, after each instruction and at the function's start.
type liveness struct {
	insts []*inst
	after []set
	entry set
}

// dead says whether an instruction only writes what nothing reads.
func (l *liveness) dead(n int) bool {
	writes := false
	for _, o := range l.insts[n].ops {
		if o.def {
			writes = true
			if l.after[n].has(o.web) {
				return false
			}
		}
	}
	return writes
}

// live counts the reads of instructions that are not dead themselves.
func (f *Func) live(flow flow, webs []web) *liveness {
	l := &liveness{f.insts, newSets(len(f.insts), len(webs)), newSet(len(webs))}
	in := newSets(len(f.insts), len(webs))
	for changed := true; changed; {
		changed = false
		for n := len(f.insts) - 1; n >= 0; n-- {
			for _, s := range flow.after[n] {
				l.after[n].add(in[s])
			}
			next := l.after[n].clone()
			if !l.dead(n) {
				for _, o := range f.insts[n].ops {
					if o.def {
						next.remove(o.web)
					}
				}
				for _, o := range f.insts[n].ops {
					if o.use {
						next.insert(o.web)
					}
				}
			}
			changed = in[n].add(next) || changed
		}
	}
	l.entry.add(in[0])
	return l
}

// interfere finds which webs may not share a register: those that live where one is written.
func (f *Func) interfere(webs []web, live *liveness) {
	for n, i := range f.insts {
		if live.dead(n) {
			continue
		}
		if i.move {
			a, b := i.ops[0].web, i.ops[1].web
			webs[a].moves = append(webs[a].moves, b)
			webs[b].moves = append(webs[b].moves, a)
		}
		for _, o := range i.ops {
			if !o.def {
				continue
			}
			for w := range live.after[n].all() {
				// A copy has the value of what it is copied from: they may share a register until one is written.
				if w == o.web || webs[w].vector != o.reg.vector || i.move && w == i.ops[0].web {
					continue
				}
				webs[w].apart.insert(o.web)
				webs[o.web].apart.insert(w)
			}
		}
	}
}

// colour gives each web, in order, the first register that it may have, but that of a web which it is copied to or from
// where it can. It returns the first web for which there is none, or -1.
func colour(webs []web) int {
	for w := range webs {
		c := &webs[w]
		free := slices.Clone(generals)
		if c.vector {
			free = slices.Clone(vectors)
		}
		for o := range c.apart.all() {
			free = slices.DeleteFunc(free, func(n int) bool { return n == webs[o].number })
		}
		if len(free) == 0 {
			return w
		}
		c.number = free[0]
		for _, o := range c.moves {
			if slices.Contains(free, webs[o].number) {
				c.number = webs[o].number
			}
		}
	}
	return -1
}

// repeat frees a register that the web short may not have: it repeats, before each use, the constant that the fewest
// instructions use. A move from one costs nothing then, so it does not count.
func (f *Func) repeat(webs []web, short int) bool {
	defs, uses := make([]int, len(webs)), make([]int, len(webs))
	constant := make([]*inst, len(webs))
	for _, i := range f.insts {
		for _, o := range i.ops {
			if o.def {
				defs[o.web]++
				if i.again {
					constant[o.web] = i
				}
			} else if !i.move {
				uses[o.web]++
			}
		}
	}
	best := -1
	for w, i := range constant {
		if i != nil && defs[w] == 1 && (w == short || webs[short].apart.has(w)) && (best < 0 || uses[w] < uses[best]) {
			best = w
		}
	}
	if best < 0 {
		return false
	}
	var insts []*inst
	for _, i := range f.insts {
		if i == constant[best] {
			continue
		}
		var fresh *Reg
		for _, o := range i.ops {
			if o.web == best {
				if fresh == nil {
					fresh = &Reg{vector: o.reg.vector}
					insts = append(insts, constant[best].to(fresh))
				}
				o.reg = fresh
			}
		}
		insts = append(insts, i)
	}
	f.insts = insts
	return true
}

// to returns the constant's instruction with another register to write; it is not repeated again.
func (i *inst) to(r *Reg) *inst {
	c := &inst{text: i.text}
	copied := func(o *operand) *operand {
		n := *o
		if n.def {
			n.reg = r
		}
		c.ops = append(c.ops, &n)
		return &n
	}
	for _, a := range i.args {
		switch x := a.(type) {
		case *operand:
			a = copied(x)
		case address:
			a = address{x.off, copied(x.base)}
		}
		c.args = append(c.args, a)
	}
	return c
}

// pressure says where most values live at a time.
func (f *Func) pressure(webs []web, live *liveness) string {
	var most, where [2]int
	for n := range f.insts {
		var alive [2]int
		for w := range live.after[n].all() {
			k := 0
			if webs[w].vector {
				k = 1
			}
			alive[k]++
			if alive[k] > most[k] {
				most[k], where[k] = alive[k], n
			}
		}
	}
	return fmt.Sprintf("up to %d values live in the %d general ones (at instruction %d), up to %d in the %d vector ones (at %d)",
		most[0], len(generals), where[0], most[1], len(vectors), where[1])
}

// describe is for messages, before registers have numbers.
func (i *inst) describe() string {
	if i.row != nil {
		return i.row.Name
	}
	return fmt.Sprintf("%q", i.text)
}

// set is a set of small numbers.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func newSets(count, n int) []set {
	s := make([]set, count)
	for i := range s {
		s[i] = newSet(n)
	}
	return s
}

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s set) insert(i int)   { s[i/64] |= 1 << (i % 64) }
func (s set) remove(i int)   { s[i/64] &^= 1 << (i % 64) }
func (s set) clone() set     { return slices.Clone(s) }

// add adds the elements of t and says whether s has more for it.
func (s set) add(t set) bool {
	more := false
	for i, w := range t {
		more = more || w&^s[i] != 0
		s[i] |= w
	}
	return more
}

// all yields the elements in order.
func (s set) all() func(func(int) bool) {
	return func(yield func(int) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(64*i + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}
