package regress

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// errorRows is scratch for the errors of a block's rows.
type errorRows struct {
	mean, median, size []float64
	row                []float64
	keys               []uint64
	narrow, scratch    []float32
}

// sizes returns the absolute values.
func (r *errorRows) sizes(v []float64) []float64 {
	r.size = room(r.size, len(v))
	for i, x := range v {
		r.size[i] = math.Abs(x)
	}
	return r.size
}

// column returns the distances between the observed values and column j.
func (r *errorRows) column(b *metrics.Block, j int) []float64 {
	r.median = room(r.median, b.Rows)
	t := &b.Probs
	for i := range r.median {
		r.median[i] = math.Abs(b.Observed[i] - t.At(i, j))
	}
	return r.median
}

// samples returns observed - mean and |observed - median| for rows of samples.
func (r *errorRows) samples(b *metrics.Block) (mean, median []float64) {
	r.mean, r.median = room(r.mean, b.Rows), room(r.median, b.Rows)
	t, m := &b.Probs, b.Classes
	r.row = room(r.row, m)
	if t.F32 != nil {
		r.narrow, r.scratch = room(r.narrow, b.Rows*m), room(r.scratch, kernel.SortRowsScratch(m))
		for i := range b.Rows {
			copy(r.narrow[i*m:(i+1)*m], t.F32[i*t.Stride:])
		}
		kernel.SortRowsF32(r.narrow, b.Rows, m, m, r.scratch)
	} else {
		r.keys = room(r.keys, kernel.SortScratch(m))
	}
	for i, y := range b.Observed[:b.Rows] {
		if t.F32 != nil {
			for j, v := range r.narrow[i*m : (i+1)*m] {
				r.row[j] = float64(v)
			}
		} else {
			copy(r.row, t.F64[i*t.Stride:])
			kernel.SortF64(r.row, r.keys)
		}
		r.mean[i], r.median[i] = sampleErrors(r.row, y)
	}
	return r.mean, r.median
}

// sampleErrors returns y - mean and |y - median| for sorted samples. The first is computed as the mean of y - x, which loses
// fewer digits if the samples are close to y.
func sampleErrors(row []float64, y float64) (mean, median float64) {
	last := len(row) - 1
	mid := row[len(row)/2]
	m := float64(len(row))
	if mean = sumOff(row, y, 1) / m; mean-mean != 0 { // a sum, or a difference, overflows float64
		const down = 0x1p-40
		mean = sumOff(row, y, down) / m / down
	}
	if below := row[last/2]; below != mid {
		mid = float64(below/2) + float64(mid/2)
	}
	return mean, math.Abs(y - mid)
}

// sumOff returns the sum of y - x, all times scale. It pairs the samples that are equally far from the two ends.
func sumOff(row []float64, y, scale float64) (sum float64) {
	y = float64(y * scale)
	last := len(row) - 1
	for i := range len(row) / 2 {
		sum += (y - float64(scale*row[i])) + (y - float64(scale*row[last-i]))
	}
	if last%2 == 0 {
		sum += y - float64(scale*row[last/2])
	}
	return sum
}
