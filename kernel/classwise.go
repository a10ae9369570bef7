package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

const (
	errClasses = "kernel: class sums are fewer than classes"
	errList    = "kernel: the list has no room for a row"
)

// ClassSums holds, by class, sums over a matrix's entries p in the lowest bin, as integers. P and PP are in units of 2**-51,
// as in BinSum.
type ClassSums struct {
	N  []int64 // entries
	P  []int64 // sum p
	PP []int64 // sum p*p
}

// Clear sets all sums to 0.
func (s *ClassSums) Clear() {
	clear(s.N)
	clear(s.P)
	clear(s.PP)
}

// A Lowest selects the entries in the lowest bin; see NewLowest.
type Lowest struct {
	f32, f64 bitRange
}

// bitRange is the range of floats whose bits are from least to below beyond. The bits of non-negative floats, as integers,
// are in the order of the floats; all others, including NaN, are above them.
type bitRange struct{ least, beyond uint64 }

// NewLowest returns the lowest of bins of [0,1]: the entries p >= 0 that are below its upper edge (LeftClosed) or not above
// it (RightClosed), but none above 1, and only those with p > threshold; a threshold below 0 keeps all. The upper edge is
// the first inner edge of BinEqual or BinEdges, e[1], or +Inf if there is none.
func NewLowest(edge float64, side Side, threshold float64) Lowest {
	one32, one64 := uint64(math.Float32bits(1)), math.Float64bits(1)
	l := Lowest{bitRange{beyond: one32 + 1}, bitRange{beyond: one64 + 1}}
	switch {
	case edge < 0:
		l.f32.beyond, l.f64.beyond = 0, 0
	case edge <= 1:
		edge += 0 // turns -0 into 0
		l.f32.beyond, l.f64.beyond = next32(edge, side), math.Float64bits(edge)
		if side == RightClosed {
			l.f64.beyond++
		}
	}
	switch {
	case threshold < 0:
	case threshold < 1:
		threshold += 0
		l.f32.least, l.f64.least = next32(threshold, RightClosed), math.Float64bits(threshold)+1
	default:
		l.f32.least, l.f64.least = one32+1, one64+1
	}
	l.f32.beyond, l.f64.beyond = max(l.f32.least, l.f32.beyond), max(l.f64.least, l.f64.beyond)
	return l
}

// next32 returns the bits of the smallest float32 that is at least v in [0,1], or above v for the other side.
func next32(v float64, side Side) uint64 {
	f := float32(v)
	b := uint64(math.Float32bits(f))
	if float64(f) < v || side == RightClosed && float64(f) == v {
		b++
	}
	return b
}

// ListSlack is the number of elements that may be written behind the used part of a list.
const ListSlack = 16

// ClassSumsF32 adds the entries of rows x k probabilities that are in the lowest bin to the sums of their classes. It lists
// the positions in x of the entries in another bin or in none, i*stride+j for row i and class j, in any order. Entries at or
// below the threshold are left out. Entries outside [0,1], including NaN and -0, are listed too; ClassEntriesF32 sorts them
// out. Each p and p*p is rounded once, to a multiple of 2**-51, by adding 3.
//
// It processes the first done rows, as many as the list is sure to have room for with ListSlack elements to spare: for 10
// rows it needs 10*k+ListSlack elements. It panics if there is no room for one row, or if sums has fewer than k classes. The
// caller must clear the sums at least every MaxSum rows. Columns are read in groups of some rows, so a matrix of many
// classes may be passed in parts by columns, whose sums then stay in a cache.
//
// ahead is a distance in bytes: where the level has such an instruction, memory that far beyond each entry is prefetched to
// the second-level cache, so that data which the caller needs next arrive while sums are computed. 0 prefetches nothing.
func ClassSumsF32(sums *ClassSums, list []uint32, x []float32, rows, k, stride int, lowest *Lowest, ahead int) (listed, done int) {
	c := classes{sums: sums, list: list, f32: x, limits: lowest.f32, ahead: ahead}
	return c.run(len(x), rows, k, stride)
}

// ClassSumsF64 is ClassSumsF32 for float64.
func ClassSumsF64(sums *ClassSums, list []uint32, x []float64, rows, k, stride int, lowest *Lowest, ahead int) (listed, done int) {
	c := classes{sums: sums, list: list, f64: x, limits: lowest.f64, ahead: ahead}
	return c.run(len(x), rows, k, stride)
}

// ClassEntriesF32 gathers the entries that ClassSumsF32 has listed and that are above the threshold. It writes the entries
// in [0,1] as float64 to p and their columns to class, which both must have room for the whole list. n is their number. out
// counts the entries outside [0,1], including NaN, whatever the threshold.
func ClassEntriesF32(p []float64, class []int32, list []uint32, x []float32, stride int, threshold float64) (n, out int) {
	return classEntries(p, class, list, x, stride, threshold)
}

// ClassEntriesF64 is ClassEntriesF32 for float64.
func ClassEntriesF64(p []float64, class []int32, list []uint32, x []float64, stride int, threshold float64) (n, out int) {
	return classEntries(p, class, list, x, stride, threshold)
}

func classEntries[T float32 | float64](p []float64, class []int32, list []uint32, x []T, stride int, threshold float64) (n, out int) {
	p, class = p[:len(list)], class[:len(list)]
	width := uint32(min(uint64(stride), math.MaxUint32)) // a single row may have a larger stride
	for _, at := range list {
		v := float64(x[at])
		p[n], class[n] = v+0, int32(at%width)
		switch {
		case !(v >= 0 && v <= 1):
			out++
		case v > threshold:
			n++
		}
	}
	return n, out
}

// classes holds the arguments of a call of ClassSums; one of the slices is set.
type classes struct {
	sums   *ClassSums
	list   []uint32
	n      int  // number of listed positions
	short  bool // there are few classes
	ahead  int
	f32    []float32
	f64    []float64
	limits bitRange
}

func (c *classes) run(n, rows, k, stride int) (listed, done int) {
	checkRows(n, rows, k, stride)
	s := c.sums
	if len(s.N) < k || len(s.P) < k || len(s.PP) < k {
		panic(errClasses)
	}
	if rows == 0 {
		return 0, 0
	}
	if len(c.list) < k+ListSlack {
		panic(errList)
	}
	// Positions must be below 2**32.
	most := max(1, (1<<32-uint64(k))/uint64(stride))
	done = int(min(uint64(rows), uint64(len(c.list)-ListSlack)/uint64(k), most))
	if c.short = k < shortClasses; simd() {
		c.simd(done, k, stride)
	} else {
		c.rows(0, done, k, stride)
	}
	return c.n, done
}

// rows is the definition, for rows that start at element from.
func (c *classes) rows(from, rows, k, stride int) {
	for i := range rows {
		at := from + i*stride
		if c.f32 != nil {
			for j, v := range c.f32[at : at+k] {
				c.entry(j, at+j, uint64(math.Float32bits(v)), float64(v))
			}
		} else {
			for j, v := range c.f64[at : at+k] {
				c.entry(j, at+j, math.Float64bits(v), v)
			}
		}
	}
}

func (c *classes) entry(class, at int, bits uint64, p float64) {
	switch {
	case bits >= c.limits.beyond:
		c.list[c.n] = uint32(at)
		c.n++
	case bits >= c.limits.least:
		s := c.sums
		s.N[class]++
		s.P[class] += fixed51(p)
		s.PP[class] += fixed51(float64(p * p))
	}
}

const (
	leastClasses = 16       // fewer do not fill a register
	mostJoined   = 512      // columns of joined rows
	classRows    = 8        // fewest rows of a group
	classBytes   = 64 << 10 // size of a group with more rows
	shortClasses = 256      // with fewer classes, entries outside the lowest bin are not rare
	classColumns = 4096     // columns of a group, so that its sums stay in the second-level cache
)

// simd processes rows by assembly. Contiguous short rows are joined into longer ones, so that all registers are full: with
// 10 classes, 8 rows become one of 80.
func (c *classes) simd(rows, k, stride int) {
	from := 0
	if join := leastClasses / min(leastClasses, k&-k); stride == k && join > 1 && join*k <= mostJoined && rows >= join {
		var sums [3][mostJoined]int64
		n := join * k
		c.group(&ClassSums{sums[0][:n], sums[1][:n], sums[2][:n]}, 0, rows/join, n, n)
		for i, to := range [...][]int64{c.sums.N, c.sums.P, c.sums.PP} {
			for j := 0; j < n; j += k {
				for class, v := range sums[i][j : j+k] {
					to[class] += v
				}
			}
		}
		from = rows / join * n
		rows %= join
	}
	if k < leastClasses {
		c.rows(from, rows, k, stride)
	} else {
		c.group(c.sums, from, rows, k, stride)
	}
}

// group divides a matrix into calls.
func (c *classes) group(s *ClassSums, from, rows, k, stride int) {
	size := 4
	if c.f64 != nil {
		size = 8
	}
	for j, n := 0, 0; j < k; j += n {
		if n = k - j; n >= classColumns+leastClasses {
			n = classColumns
		}
		together := max(classRows, classBytes/(n*size))
		for i := 0; i < rows; i += together {
			c.call(s, from+i*stride+j, j, min(together, rows-i), n, stride, false)
		}
	}
}

func (c *classes) call(s *ClassSums, from, class, rows, k, stride int, late bool) {
	ahead := c.ahead
	if late {
		ahead = 0
	}
	// kernel/asm/_gen/classwise.go defines the order.
	limits := [...]uint64{uint64(rows) * bits3, c.limits.beyond, c.limits.least, c.limits.beyond - c.limits.least, uint64(stride), uint64(ahead)}
	n, p, pp, list := &s.N[class], &s.P[class], &s.PP[class], &c.list[c.n]
	above, short := c.limits.least > 0, c.short
	switch {
	case c.f32 != nil && short:
		c.n += asm.ClassSumsFrequentF32(n, p, pp, list, &c.f32[0], from, rows, k, stride, &limits[0])
	case short:
		c.n += asm.ClassSumsFrequentF64(n, p, pp, list, &c.f64[0], from, rows, k, stride, &limits[0])
	case c.f32 != nil && above:
		c.n += asm.ClassSumsAboveF32(n, p, pp, list, &c.f32[0], from, rows, k, stride, &limits[0])
	case c.f32 != nil:
		c.n += asm.ClassSumsF32(n, p, pp, list, &c.f32[0], from, rows, k, stride, &limits[0])
	case above:
		c.n += asm.ClassSumsAboveF64(n, p, pp, list, &c.f64[0], from, rows, k, stride, &limits[0])
	default:
		c.n += asm.ClassSumsF64(n, p, pp, list, &c.f64[0], from, rows, k, stride, &limits[0])
	}
}
