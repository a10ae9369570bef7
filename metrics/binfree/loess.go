package binfree

import (
	"math"

	"github.com/candor-go/candor/metrics/cells"
)

// line holds rows in rising order of their scores x, with the frequency y of the event at each score.
type line struct{ x, y []float64 }

// loess returns the loess curve of n rows without weights, as a function of cells, which must be passed in order. It is the
// lowess of Cleveland 1979 as implemented in statsmodels, without robustness iterations. Rows of equal score have equal
// weights, so the frequency at a score can replace each outcome. Where the neighbourhood contains only some rows of a score,
// these are the farthest, with weight 0.
func loess(r cells.Rising, n int, o *ICIOptions) func(*cells.Cell) float64 {
	span, delta := o.Span, o.Delta
	if span == 0 {
		span = DefaultSpan
	}
	if delta < 0 {
		delta = DefaultDelta
	}
	var l line
	r.Each(func(x *cells.Cell) {
		for range x.N {
			l.x, l.y = append(l.x, x.P), append(l.y, x.Events/x.Weight)
		}
	})
	fit := l.smooth(min(max(int(float64(span*float64(n))+1e-10), 2), n), delta)
	row := 0
	return func(x *cells.Cell) float64 {
		at := row
		row += int(x.N)
		return fit[at]
	}
}

// smooth returns, for each row, the fit of a line to its k nearest rows. Rows within delta of the last fitted row are
// interpolated.
func (l line) smooth(k int, delta float64) []float64 {
	n := len(l.x)
	fit, weights := make([]float64, n), make([]float64, n)
	left := 0
	last := -1 // the last fitted row, counting rows of the same score
	for i := 0; last < n-1; {
		x := l.x[i]
		for left+k < n && x > (l.x[left]+l.x[left+k])/2 {
			left++
		}
		fit[i] = l.at(i, left, left+k, weights)
		if last < i-1 {
			l.between(fit, last, i)
		}
		last = i
		next := last + 1
		for ; next < n && l.x[next] <= x+delta; next++ {
			if l.x[next] == x {
				fit[next] = fit[i]
				last = next
			}
		}
		// Fit the last row within delta next. At the end of the rows, statsmodels also fits the last but one; so does this.
		i = max(min(next, n-1)-1, last+1)
	}
	return fit
}

// between interpolates the fits for the rows strictly between from and to.
func (l line) between(fit []float64, from, to int) {
	width := l.x[to] - l.x[from]
	for j := from + 1; j < to; j++ {
		a := (l.x[j] - l.x[from]) / width
		fit[j] = float64(a*fit[to]) + float64((1-a)*fit[from])
	}
}

// at returns the fit at row i of a straight line to rows [left, right), with weights (1 - d^3)^3, where d is the distance
// divided by the largest one. If fewer than two rows have positive weight it returns the frequency at the score.
func (l line) at(i, left, right int, weights []float64) float64 {
	x := l.x[i]
	radius := math.Max(x-l.x[left], l.x[right-1]-x)
	if radius == 0 {
		return l.y[i]
	}
	sum, have := 0.0, 0
	for j := left; j < right; j++ {
		d := math.Abs(l.x[j]-x) / radius
		t := 1 - float64(d*d*d)
		w := float64(t * t * t)
		if weights[j] = w; w > 1e-12 {
			have++
		}
		sum += w
	}
	if have < 2 {
		return l.y[i]
	}
	mean := 0.0
	for j := left; j < right; j++ {
		weights[j] /= sum
		mean += float64(weights[j] * l.x[j])
	}
	square := 0.0
	for j := left; j < right; j++ {
		d := l.x[j] - mean
		square += float64(weights[j] * float64(d*d))
	}
	slope := (x - mean) / math.Max(square, 1e-12)
	fit := 0.0
	for j := left; j < right; j++ {
		fit += float64(weights[j] * (1 + float64(slope*(l.x[j]-mean))) * l.y[j])
	}
	return fit
}
