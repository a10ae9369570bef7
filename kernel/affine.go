package kernel

import (
	"unsafe"

	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/kernel/asm"
)

// This file implements affine maps of float64 rows and the sums that gradients by their parameters need. All matrices are
// packed: a row starts where the previous one ends.

// AffineF64 writes x w + b: dst[i*out+c] = b[c] + sum over j of x[i*in+j] * w[j*out+c]. It maps rows of in numbers to rows
// of out numbers, as one chain of fused multiply-adds from b[c] on with j rising. So a row's bits do not depend on the other
// rows. w has a row for each input number, which is the transpose of W in the usual W z.
func AffineF64(dst, x, w, b []float64, rows, in, out int) {
	checkRows(len(x), rows, in, in)
	checkRows(len(dst), rows, out, out)
	checkRows(len(w), in, out, out)
	checkRows(len(b), 1, out, out)
	if simd() && rows > 0 {
		product(&dst[0], &b[0], 0, &x[0], in, 1, &w[0], rows, in, out)
		return
	}
	for i := range rows {
		row := dst[i*out:][:out]
		copy(row, b)
		for j, v := range x[i*in:][:in] {
			for c, wc := range w[j*out:][:out] {
				row[c] = fma64(v, wc, row[c])
			}
		}
	}
}

// AddOuterF64 adds the outer products d^T x of rows to g: g[c*in+j] += sum over i of d[i*out+c] * x[i*in+j]. Rows of d have
// out numbers, rows of x have in numbers. The sum is one chain of fused multiply-adds from the previous g[c*in+j] on with i
// rising. So rows may be divided among any number of calls, in order, without changing a bit.
func AddOuterF64(g, d, x []float64, rows, out, in int) {
	checkRows(len(d), rows, out, out)
	checkRows(len(x), rows, in, in)
	checkRows(len(g), out, in, in)
	if simd() && rows > 0 {
		product(&g[0], &g[0], in, &d[0], 1, out, &x[0], out, rows, in)
		return
	}
	for i := range rows {
		for c, v := range d[i*out:][:out] {
			row := g[c*in:][:in]
			for j, xj := range x[i*in:][:in] {
				row[j] = fma64(v, xj, row[j])
			}
		}
	}
}

// AddRowsF64 adds rows of k numbers to g: g[c] += sum over i of x[i*k+c], as one chain from the previous g[c] on with i
// rising.
func AddRowsF64(g, x []float64, rows, k int) {
	checkRows(len(x), rows, k, k)
	checkRows(len(g), 1, k, k)
	if simd() && rows > 0 {
		asm.AddRowsF64(&g[0], &x[0], rows, k)
		return
	}
	for i := range rows {
		for c, v := range x[i*k:][:k] {
			g[c] += v
		}
	}
}

// ScaleShiftF64 writes x[i*k+c] * a[c] + b[c], rounded once, to dst[i*k+c]. dst may be x itself.
func ScaleShiftF64(dst, x, a, b []float64, rows, k int) {
	checkRows(len(x), rows, k, k)
	checkRows(len(dst), rows, k, k)
	checkRows(len(a), 1, k, k)
	checkRows(len(b), 1, k, k)
	if simd() && rows > 0 {
		asm.ScaleShiftF64(&dst[0], &x[0], &a[0], &b[0], rows, k)
		return
	}
	for i := range rows {
		to := dst[i*k:][:k]
		for c, v := range x[i*k:][:k] {
			to[c] = fma64(v, a[c], b[c])
		}
	}
}

// AddProductsF64 adds the gradient by the parameters of ScaleShiftF64: ga[c] += sum over i of d[i*k+c] * x[i*k+c], as one
// chain of fused multiply-adds, and gb[c] += sum over i of d[i*k+c], as in AddRowsF64.
func AddProductsF64(ga, gb, d, x []float64, rows, k int) {
	checkRows(len(d), rows, k, k)
	checkRows(len(x), rows, k, k)
	checkRows(len(ga), 1, k, k)
	checkRows(len(gb), 1, k, k)
	if simd() && rows > 0 {
		asm.AddScaledRowsF64(&gb[0], &d[0], rows, k, &ga[0], &x[0])
		return
	}
	for i := range rows {
		row := x[i*k:][:k]
		for c, v := range d[i*k:][:k] {
			ga[c] = fma64(v, row[c], ga[c])
			gb[c] += v
		}
	}
}

// A product takes some rows and some steps at a time. Their elements of x, 256 KiB, stay in the second-level cache while the
// columns of y stream past. Some of these columns are packed and stay in the first-level cache.
const (
	productRows  = 256
	productSteps = 128
	productMost  = 24 // columns at a time
)

// productColumns returns how many columns of the result are kept in registers at a time.
func productColumns() int {
	if isa.AVX512 {
		return productMost
	}
	return 8
}

// product writes c + x y to to, a matrix of rows x cols elements, as chains of n > 0 steps. Element (i, s) of x is
// x[i*row+s*step]. The rows of y and of to are packed; the rows of c are cStride apart.
func product(to, c *float64, cStride int, x *float64, row, step int, y *float64, rows, n, cols int) {
	var room [productMost*productSteps + 7]float64
	packed, width := aligned(&room[0]), productColumns()
	at := func(p *float64, i int) *float64 { return (*float64)(unsafe.Add(unsafe.Pointer(p), 8*i)) }
	for s := 0; s < n; s += productSteps {
		steps := min(productSteps, n-s)
		for i := 0; i < rows; i += productRows {
			some := min(productRows, rows-i)
			for j := 0; j < cols; {
				w := min(width, cols-j)
				if w > 8 {
					w &^= 7
				}
				asm.PackColumnsF64(packed, at(y, s*cols+j), steps, cols, w)
				asm.AddProductsF64(at(to, i*cols+j), cols, at(c, i*cStride+j), cStride,
					at(x, i*row+s*step), row, step, packed, steps, some, w)
				j += w
			}
		}
		c, cStride = to, cols
	}
}

// aligned returns the first address from p on that is a multiple of 64, at most 7 elements later.
func aligned(p *float64) *float64 {
	return (*float64)(unsafe.Add(unsafe.Pointer(p), -uintptr(unsafe.Pointer(p))&63))
}
