package kernel

import (
	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/kernel/asm"
)

// This file makes the network by which assembly sorts rows. The rows of a tile, one a lane, stand as columns: element j of
// all of them is a register. Sixteen columns at a time are sorted in registers, and runs of sorted columns are merged two and
// two. The first comparison of a merge is between those that stand as far from the middle, so that all comparisons of the
// network put the smaller number first: what lies behind the last column would be the largest of all, and stays there, so
// that its comparisons are left out.

// simdSorts is the number of elements, of all rows, from which on assembly sorts faster.
const simdSorts = 16

// The operations of a step; kernel/asm/_gen/sort.go has the same numbers.
const (
	opSort   = 0  // + n: sorts n columns side by side, 2 to 16
	opHalve  = 15 // + n: sorts n columns that rise and then fall, or the other way round: 2 to 16
	opFlip8  = 31 // + n: the first comparisons of a merge of runs, on 4 columns of the first run and n of the second
	opFlip16 = 35 // + n: on 8 columns of the first and n
)

// A sortStep is an operation on columns that stand stride bytes apart, from low on and in a second half from high on. It is
// repeated count times, next bytes on (the high ones of a flip: back), and all of that blocks times.
type sortStep struct {
	op, count, low, high, stride, next, blocks, nextLow, nextHigh int32
}

// A sortPlan is the steps for rows of one length, with an operation of 0 behind the last.
type sortPlan struct {
	steps [48]sortStep // 44 are the most that a length takes
	n     int
	bytes int // of a column
}

// add adds a step, of which the offsets are in columns, unless it does nothing.
func (p *sortPlan) add(op, low, high, stride, next, count, block, blocks int) {
	if count == 0 || blocks == 0 {
		return
	}
	w := p.bytes
	run, back := count*next, count*next
	if op > opFlip8 {
		back = -run
	}
	p.steps[p.n] = sortStep{int32(op), int32(count), int32(low * w), int32(high * w), int32(stride * w), int32(next * w), int32(blocks),
		int32((block - run) * w), int32((block - back) * w)}
	p.n++
}

// halve adds the operation that halves t columns, if that is something to do.
func (p *sortPlan) halve(t, low, stride, next, count, block, blocks int) {
	if t < 2 {
		return
	}
	half := 1
	for 2*half < t {
		half *= 2
	}
	p.add(opHalve+t, low, low+half*stride, stride, next, count, block, blocks)
}

// mergeStages are how many comparisons of a merge, one after the other for each column, an operation does: those of runs of
// 16, 32 and so on.
var mergeStages = [...][]int{{3, 2}, {3, 3}, {3, 4}, {4, 4}, {3, 3, 3}, {4, 3, 3}}

// make plans rows of k elements with columns of so many bytes.
func (p *sortPlan) make(k, bytes int) {
	p.n, p.bytes = 0, bytes
	p.add(opSort+16, 0, 0, 1, 16, k/16, 0, 1)
	if k%16 > 1 {
		p.add(opSort+k%16, k/16*16, 0, 1, 16, 1, 0, 1)
	}
	for i, run := 0, 16; run < k; i, run = i+1, 2*run {
		p.merge(k, run, mergeStages[i])
	}
	p.steps[p.n].op = 0
}

// merge adds the steps that merge runs two and two. The last pair may lack columns at its end.
func (p *sortPlan) merge(k, run int, stages []int) {
	pairs := k / (2 * run)
	end, rest := pairs*2*run, k-pairs*2*run-run // rest is what the second run of the last pair has
	flip, half := opFlip8, 4
	if stages[0] == 4 {
		flip, half = opFlip16, 8
	}
	s := run / half
	p.add(flip+half, 0, run+s-1, s, 1, s, 2*run, pairs)
	if rest > 0 {
		// Of the columns that are a stride apart from each other, the last are missing.
		q, more := rest/s, rest%s
		if q > 0 {
			p.add(flip+q, end, end+run+s-1, s, 1, s-more, 0, 1)
		}
		p.add(flip+q+1, end+s-more, end+run+more-1, s, 1, more, 0, 1)
		end = k
	}
	for _, n := range stages[1:] {
		// Blocks of s columns, and one that may lack some, become blocks of a 2**n-th.
		blocks, rest := end/s, end%s
		s >>= n
		if s == 1 {
			p.halve(1<<n, 0, 1, 1<<n, blocks, 0, 1)
		} else {
			p.halve(1<<n, 0, s, 1, s, s<<n, blocks)
		}
		low := blocks * s << n
		p.halve(rest/s+1, low, s, 1, rest%s, 0, 1)
		p.halve(rest/s, low+rest%s, s, 1, s-rest%s, 0, 1)
	}
}

// simdSortRows32 sorts rows of 4 to 1,024 elements.
func simdSortRows32(x []float32, rows, k, stride int, scratch []float32) {
	lanes := 4
	switch {
	case isa.AVX512:
		lanes = 16
	case isa.AVX2:
		lanes = 8
	}
	var p sortPlan
	p.make(k, 4*lanes)
	batch := max(lanes, 1<<18/k/lanes*lanes)
	for i := 0; i < rows; i += batch {
		asm.SortRowsF32(&scratch[0], &x[i*stride], min(batch, rows-i), k, stride, &p.steps[0].op)
	}
}
