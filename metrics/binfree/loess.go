package binfree

import (
	"math"

	"github.com/candor-go/candor/metrics/cells"
)

// line is rows in rising order of their scores x, with the frequency y of the event at that score.
type line struct{ x, y []float64 }

// loess returns the curve of cells that are asked for in their order, of n rows without weights. It is the lowess of Cleveland 1979 as
// statsmodels has it, without robustness iterations. Rows of one score have the same weights, so that each may have their frequency in
// place of its outcome; where the nearest rows do not hold all rows of a score, those are the farthest, whose weight is 0.
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

// smooth returns the fits at all rows of lines to the k nearest ones. What is nearer than delta to the last row fitted is interpolated.
func (l line) smooth(k int, delta float64) []float64 {
	n := len(l.x)
	fit, weights := make([]float64, n), make([]float64, n)
	left := 0
	last := -1 // the last row that is fitted, after those of the same score
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
		// The next fit is at the last row within delta. At the end of the rows the last but one is fitted too, as statsmodels does.
		i = max(min(next, n-1)-1, last+1)
	}
	return fit
}

// between interpolates the fits of the rows after one and before another.
func (l line) between(fit []float64, from, to int) {
	width := l.x[to] - l.x[from]
	for j := from + 1; j < to; j++ {
		a := (l.x[j] - l.x[from]) / width
		fit[j] = float64(a*fit[to]) + float64((1-a)*fit[from])
	}
}

// at returns the fit at a row to those from left up to right: a straight line with the weights (1 - d^3)^3, d the distance in units of
// the largest; the frequency at the score, where fewer than two rows have weight.
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
