package kernel

import (
	"math"
	"unsafe"

	"github.com/candor-go/candor/kernel/asm"
)

const errRising = "kernel: edges to count up to are not rising"

// CountUpTo adds to counts[j], for each j, how many of the values are at most edges[j]. The edges rise, or stay, and are no NaN;
// infinities are allowed. A value that is NaN is at most no edge. There are as many counts as edges.
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

// countEdges is how many edges the assembly takes: three of them are the default levels of calibration.
const countEdges = 7

// countRows is how many values go together.
const countRows = 2048

// simdCountUpTo takes values that all are float32 numbers as such: they are at most an edge where they are at most the largest
// float32 that is.
func simdCountUpTo(counts []int64, v []float64, edges []float64) {
	const line = 64 / 4 // elements: a register that lies across two lines of the cache takes twice the time
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
	default: // -0 is what a number below 0 was rounded to
		u++
	}
	return math.Float32frombits(u)
}
