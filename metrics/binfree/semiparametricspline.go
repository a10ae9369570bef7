package binfree

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics/internal/pool"
	"github.com/candor-go/candor/metrics/internal/spline"
)

// splines fits splines to y - p on all folds but one, for each s, and returns the sums of squared errors on the held-out
// folds. If c is not nil, s has one element, and c is set to the frequencies.
func (d *folded) splines(o *SemiparametricOptions, s []float64, c []float64) ([]float64, error) {
	errs := make([][]float64, d.folds)
	failed := make([]error, d.folds)
	pool.Each(o.Threads, d.folds, func() func(int) {
		var at, value []float64
		var test []int32
		return func(fold int) {
			errs[fold] = make([]float64, len(s))
			at, test = at[:0], test[:0]
			for i, p := range d.parts {
				if int(p.fold) == fold {
					test, at = append(test, int32(i)), append(at, d.x[p.at])
				}
			}
			if len(test) == 0 {
				return
			}
			p := d.others(int32(fold), o.AsCoded && d.row != nil)
			if len(p.X) < spline.MinPoints {
				failed[fold] = fmt.Errorf("binfree: there are %d different scores outside fold %d; a spline needs %d, a kernel one",
					len(p.X), fold, spline.MinPoints)
				return
			}
			value = resize(value, len(at))
			failed[fold] = spline.Smooth(p, s, func(indices []int, curve *spline.Curve) {
				curve.At(value, at)
				sum := 0.0
				for j, i := range test {
					value[j] += at[j]
					sum += d.lossOf(int(i), value[j])
					if c != nil {
						c[i] = value[j]
					}
				}
				for _, i := range indices {
					errs[fold][i] = sum
				}
			})
		}
	})
	total := make([]float64, len(s))
	for f := range errs {
		if failed[f] != nil {
			return nil, failed[f]
		}
		for i, v := range errs[f] {
			total[i] += v
		}
	}
	return total, nil
}

// others returns the rows of all folds but one, as points for a spline. Weights are divided by their mean. With asCoded
// parts are single rows, and weights in the order of rows are paired with sorted scores.
func (d *folded) others(fold int32, asCoded bool) *spline.Points {
	mean, rows := 0.0, 0.0
	var byRow []float64
	if asCoded {
		byRow = make([]float64, len(d.parts))
	}
	for i := range d.parts {
		p := &d.parts[i]
		if p.fold == fold {
			continue
		}
		mean += float64(p.n * d.omega[p.at])
		rows += p.n
		if asCoded {
			byRow[d.row[i]] = d.omega[p.at]
		}
	}
	mean /= rows
	next := 0
	weight := func(at int) float64 {
		if !asCoded {
			return d.omega[at] / mean
		}
		for byRow[next] == 0 { // skip rows of the fold
			next++
		}
		next++
		return byRow[next-1] / mean
	}
	p := &spline.Points{}
	within := false
	for i, x := range d.x {
		// Sums of squared weights, of these times labels, and times squared labels.
		var w, wy, wyy float64
		for _, q := range d.parts[d.start[i]:d.start[i+1]] {
			if q.fold == fold {
				continue
			}
			v := weight(i)
			v = float64(v * v)
			w += float64(v * q.n)
			wy += float64(v * q.y)
			wyy += float64(v * q.yy)
		}
		if w == 0 {
			continue
		}
		y := wy / w
		rest := math.Max(0, wyy-float64(y*wy))
		within = within || rest > 0
		p.X = append(p.X, x)
		p.W = append(p.W, math.Sqrt(w))
		p.Y = append(p.Y, y-x)
		p.Within = append(p.Within, rest)
	}
	if !within {
		p.Within = nil
	}
	return p
}
