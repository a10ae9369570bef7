package kernel

import (
	"math"
	"unsafe"

	"github.com/candor-go/candor/kernel/asm"
)

const errRising = "kernel: edges to count up to are not rising"

// CountUpTo adds to counts[j] the number of values that are at most edges[j]. The edges must not decrease and not be NaN;
// infinities are allowed. NaN values are not counted. There are as many counts as edges.
func CountUpTo(counts []int64, v []float64, edges []float64) {
	checkEqual(len(counts), len(edges))
	for j, e := range edges {
		if e != e || j > 0 && e < edges[j-1] {
			panic(errRising)
		}
	}
	const most = countRows
	for simd() && len(v) >= columnStep {
		n := min(len(v), most) &^ (columnStep - 1)
		simdCountUpTo(counts, v[:n], edges)
		v = v[n:]
	}
	countUpTo(counts, v, edges)
}

// countUpTo is the definition.
func countUpTo(counts []int64, v []float64, edges []float64) {
	for j, e := range edges {
		n := int64(0)
		for _, x := range v {
			if x <= e {
				n++
			}
		}
		counts[j] += n
	}
}

// countEdges is the number of edges that the assembly takes, enough for the default levels of calibration in three calls.
const countEdges = 7

// countRows is the number of values processed together.
const countRows = 2048

// simdCountUpTo processes values that are all representable as float32 in float32. Such a value is at most an edge iff it is
// at most the largest float32 not above the edge.
func simdCountUpTo(counts []int64, v []float64, edges []float64) {
	const line = 64 / 4 // elements; a register that spans two cache lines takes twice the time
	var room [countRows + line - 1]float32
	narrow := &room[-(uintptr(unsafe.Pointer(&room))/4)%line]
	short := asm.NarrowExactly(narrow, &v[0], len(v)) == 0
	for j := 0; j < len(edges); j += countEdges {
		var c [countEdges]uint64
		n := min(countEdges, len(edges)-j)
		if short {
			var e [countEdges]float32
			for i, x := range edges[j : j+n] {
				e[i] = below32(x)
			}
			asm.CountUpToF32(&c[0], narrow, len(v), &e[0])
		} else {
			var e [countEdges]float64
			copy(e[:], edges[j:j+n])
			asm.CountUpToF64(&c[0], &v[0], len(v), &e[0])
		}
		for i := range n {
			counts[j+i] += int64(c[i])
		}
	}
}

// below32 returns the largest float32 that is at most x.
func below32(x float64) float32 {
	f := float32(x)
	u := math.Float32bits(f)
	switch {
	case float64(f) <= x:
	case f > 0:
		u--
	default: // -0 is the result of rounding a number below 0
		u++
	}
	return math.Float32frombits(u)
}
