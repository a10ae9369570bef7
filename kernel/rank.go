package kernel

import "github.com/candor-go/candor/kernel/asm"

// This file runs arg max and ranks by assembly. Short rows are processed one row per lane, in whole groups; the remaining
// rows are processed one by one, as long rows are.

// simdArgMaxes is the total number of elements from which on assembly finds the largest faster. For 32 elements it takes 12
// ns in one row and 25 in four, the definition 23 and 24; for 16 elements in four rows it is slower.
const simdArgMaxes = 32

// shortRows is the number of elements in short rows from which on groups are worth their work area, which costs 100 ns.
const shortRows = 256

// inGroups reports whether rows are processed one row per lane.
func inGroups(rows, k, size int) bool {
	return k <= shortMax && rows >= groupRows(size) && rows*k >= shortRows
}

func simdArgMax32(dst []int32, x *rows32, rows, k, stride int) {
	if inGroups(rows, k, 4) {
		var w work
		g := groupRows(4)
		for i, n := 0, 0; i < rows; i += n {
			n = w.shortBatch(x, rows-i, k)
			f, at, s := w.short32(x, i*stride, n, k, stride)
			full := n - n%g
			if full > 0 {
				asm.ShortArgMaxF32(&w.max[0], &f[at], full, k, s, &dst[i])
			}
			if full < n {
				asm.ArgMaxRowsF32(&w.room[0], &f[at+full*s], n-full, k, s, &dst[i+full])
			}
		}
		return
	}
	var room [16]float64
	switch {
	case rows == 0:
	case x.f32 != nil:
		asm.ArgMaxRowsF32(&room[0], &x.f32[0], rows, k, stride, &dst[0])
	case x.f16 != nil:
		asm.ArgMaxRowsF16(&room[0], &x.f16[0], rows, k, stride, &dst[0])
	default:
		asm.ArgMaxRowsBF16(&room[0], &x.bf16[0], rows, k, stride, &dst[0])
	}
}

func simdArgMax64(dst []int32, x []float64, rows, k, stride int) {
	full := 0
	if inGroups(rows, k, 8) {
		var w work
		full = rows - rows%groupRows(8)
		asm.ShortArgMaxF64(&w.max[0], &x[0], full, k, stride, &dst[0])
	}
	if full < rows {
		var room [16]float64
		asm.ArgMaxRowsF64(&room[0], &x[full*stride], rows-full, k, stride, &dst[full])
	}
}

// shortBatch returns how many of the next short rows are processed together: as many as fit as float32.
func (w *work) shortBatch(x *rows32, rows, k int) int {
	if x.f32 != nil {
		return rows
	}
	return min(rows, len(w.short)/k)
}

// short32 returns n short rows as float32: in place, or as a copy.
func (w *work) short32(x *rows32, at, n, k, stride int) (f []float32, from, s int) {
	if x.f32 != nil {
		return x.f32, at, stride
	}
	w.copyShort(x, at, n, k, stride)
	return w.short[:], 0, k
}

// copyShort copies n short rows as float32, without gaps.
func (w *work) copyShort(x *rows32, at, n, k, stride int) {
	if stride == k {
		n, k = 1, n*k
	}
	for j := range n {
		switch dst, at := w.short[j*k:][:k], at+j*stride; {
		case x.f32 != nil:
			copy(dst, x.f32[at:])
		case x.f16 != nil:
			WidenF16(dst, x.f16[at:at+k])
		default:
			WidenBF16(dst, x.bf16[at:at+k])
		}
	}
}

// ranks32 fills the ranks of rows [i, i+n), which start at element at of x. Rows without columns get -1.
func (c *Stats) ranks32(x *rows32, i, n, at, k, stride int, labels []int32) {
	if c.Rank == nil || n == 0 {
		return
	}
	dst := c.Rank[i : i+n]
	if inGroups(n, k, 4) {
		var w work
		g := groupRows(4)
		for j, m := 0, 0; j < n; j += m {
			m = w.shortBatch(x, n-j, k)
			f, at, s := w.short32(x, at+j*stride, m, k, stride)
			full := m - m%g
			if full > 0 {
				asm.ShortRankF32(&w.max[0], &f[at], full, k, s, &labels[j], &dst[j])
			}
			if full < m {
				asm.RankRowsF32(&w.room[0], &f[at+full*s], m-full, k, s, &labels[j+full], &dst[j+full])
			}
		}
	} else {
		var room [16]float64
		switch {
		case x.f32 != nil:
			asm.RankRowsF32(&room[0], &x.f32[at], n, k, stride, &labels[0], &dst[0])
		case x.f16 != nil:
			asm.RankRowsF16(&room[0], &x.f16[at], n, k, stride, &labels[0], &dst[0])
		default:
			asm.RankRowsBF16(&room[0], &x.bf16[at], n, k, stride, &labels[0], &dst[0])
		}
	}
	c.unranked(i, n)
}

// ranks64 is ranks32 for float64 rows.
func (c *Stats) ranks64(x []float64, i, n, at, k, stride int, labels []int32) {
	if c.Rank == nil || n == 0 {
		return
	}
	dst, full := c.Rank[i:i+n], 0
	if inGroups(n, k, 8) {
		var w work
		full = n - n%groupRows(8)
		for j := 0; j < full; j += workRows {
			copy(w.odd[:], labels[j:full]) // the assembly reads more than it uses
			asm.ShortRankF64(&w.max[0], &x[at+j*stride], min(workRows, full-j), k, stride, &w.odd[0], &dst[j])
		}
	}
	if full < n {
		var room [16]float64
		asm.RankRowsF64(&room[0], &x[at+full*stride], n-full, k, stride, &labels[full], &dst[full])
	}
	c.unranked(i, n)
}

// unranked removes the ranks of rows without columns.
func (c *Stats) unranked(i, n int) {
	for j, f := range c.Flags[i : i+n] {
		if f&flagsNoColumns != 0 {
			c.Rank[i+j] = -1
		}
	}
}
