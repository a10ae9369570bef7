package kernel

import "math"

// This file maps rows of float64 and adds up what a gradient by the map's parameters needs. All matrices are packed: a row starts
// where the one before it ends.

// AffineF64 writes x w + b: dst[i*out+c] = b[c] + sum over j of x[i*in+j] * w[j*out+c], for rows of in numbers that become out each,
// as one chain of fused multiply-adds from b[c] on, j rising. So a row's bits do not depend on the other rows. w has a row for each
// number that comes in, which is the transpose of how W z is mostly written.
func AffineF64(dst, x, w, b []float64, rows, in, out int) {
	checkRows(len(x), rows, in, in)
	checkRows(len(dst), rows, out, out)
	checkRows(len(w), in, out, out)
	checkRows(len(b), 1, out, out)
	for i := range rows {
		row := dst[i*out:][:out]
		copy(row, b)
		for j, v := range x[i*in:][:in] {
			for c, wc := range w[j*out:][:out] {
				row[c] = math.FMA(v, wc, row[c])
			}
		}
	}
}

// AddOuterF64 adds the outer products of the rows of d and x to g, d^T x: g[c*in+j] += sum over i of d[i*out+c] * x[i*in+j], for
// rows of out and of in numbers, as one chain of fused multiply-adds from what g[c*in+j] was, i rising. So rows may come in any
// number of calls, in their order, without a change of a bit.
func AddOuterF64(g, d, x []float64, rows, out, in int) {
	checkRows(len(d), rows, out, out)
	checkRows(len(x), rows, in, in)
	checkRows(len(g), out, in, in)
	for i := range rows {
		for c, v := range d[i*out:][:out] {
			row := g[c*in:][:in]
			for j, xj := range x[i*in:][:in] {
				row[j] = math.FMA(v, xj, row[j])
			}
		}
	}
}

// AddRowsF64 adds rows of k numbers to g: g[c] += sum over i of x[i*k+c], as one chain from what g[c] was, i rising.
func AddRowsF64(g, x []float64, rows, k int) {
	checkRows(len(x), rows, k, k)
	checkRows(len(g), 1, k, k)
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
	for i := range rows {
		to := dst[i*k:][:k]
		for c, v := range x[i*k:][:k] {
			to[c] = math.FMA(v, a[c], b[c])
		}
	}
}

// AddProductsF64 adds what a gradient by the parameters of ScaleShiftF64 is: ga[c] += sum over i of d[i*k+c] * x[i*k+c], as one chain
// of fused multiply-adds, and gb[c] += sum over i of d[i*k+c], as AddRowsF64 does.
func AddProductsF64(ga, gb, d, x []float64, rows, k int) {
	checkRows(len(d), rows, k, k)
	checkRows(len(x), rows, k, k)
	checkRows(len(ga), 1, k, k)
	checkRows(len(gb), 1, k, k)
	for i := range rows {
		row := x[i*k:][:k]
		for c, v := range d[i*k:][:k] {
			ga[c] = math.FMA(v, row[c], ga[c])
			gb[c] += v
		}
	}
}
