package kernel

import (
	"math"
	"unsafe"

	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/kernel/asm"
)

// simdSpread sorts and sums rows by assembly, and reports whether it did: it does where that is faster.
func simdSpread[T float32 | float64](abs, spread []float64, x []T, rows, m, stride int, y []float64, scratch []T) bool {
	if !simd() || m < sortMin || m > sortMax || rows < 1 || rows*m < simdSorts {
		return false
	}
	size := int(unsafe.Sizeof(T(0)))
	tile := vectorBytes() / size // rows
	if rows == 1 {
		stride = m // any number may be given for one row; missing rows of a tile are looked for at a stride
	}
	var p sortPlan
	p.make(m, vectorBytes())
	batch := 1 << 20 / size / m / tile * tile
	i := 0
	for ; rows-i >= tile; i += batch {
		n := min(batch, (rows-i)/tile*tile)
		asmSpread(&scratch[0], &x[i*stride], n, m, stride, &p, &y[i], &abs[i], &spread[i])
	}
	if i = rows / tile * tile; i < rows {
		var of, a, s [16]float64
		copy(of[:], y[i:rows])
		asmSpread(&scratch[0], &x[i*stride], rows-i, m, stride, &p, &of[0], &a[0], &s[0])
		copy(abs[i:rows], a[:])
		copy(spread[i:rows], s[:])
	}
	return true
}

// asmSpread calls the assembly. y, abs and spread have room for whole registers of rows.
func asmSpread[T float32 | float64](w, x *T, rows, m, stride int, p *sortPlan, y, abs, spread *float64) {
	v, u, steps, top := unsafe.Pointer(w), unsafe.Pointer(x), &p.steps[0].op, math.Float64bits(float64(m-1))
	if unsafe.Sizeof(T(0)) == 4 {
		asm.SampleSpreadF32((*float32)(v), (*float32)(u), rows, m, stride, steps, y, abs, spread, top)
	} else {
		asm.SampleSpreadF64((*float64)(v), (*float64)(u), rows, m, stride, steps, y, abs, spread, top)
	}
}

// vectorBytes is the size of a register of the current level.
func vectorBytes() int {
	switch {
	case isa.AVX512:
		return 64
	case isa.AVX2:
		return 32
	}
	return 16
}
