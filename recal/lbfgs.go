package recal

import (
	"math"
	"slices"
)

// lbfgs is the limited-memory method of Broyden, Fletcher, Goldfarb and Shanno for a smooth convex function.
type lbfgs struct {
	eval  func(x []float64) bool // computes value and grad; false to stop
	value float64
	grad  []float64

	store int // number of steps to keep
	steps []lbfgsStep
	scale float64 // from the last step: way * change / change^2
}

// lbfgsStep is an accepted step.
type lbfgsStep struct {
	way, change []float64 // change of the point, and of the gradient
	rho         float64   // 1/(way * change)
}

// run descends from x, where eval has been called, until eval returns false, and leaves x at the last point. It returns true
// if it gave up earlier because no step leads lower.
func (m *lbfgs) run(x []float64) (stuck bool) {
	n := len(x)
	dir, before, grad := make([]float64, n), make([]float64, n), make([]float64, n)
	for step := 1 / math.Sqrt(dot(m.grad, m.grad)); ; step = 1 {
		copy(before, x)
		copy(grad, m.grad)
		m.direction(dir)
		stuck, more := m.search(x, before, dir, step)
		if stuck || !more {
			return stuck
		}
		m.keep(x, before, grad)
	}
}

// direction writes minus the gradient, multiplied by the approximation of the inverse Hessian from the kept steps.
func (m *lbfgs) direction(dir []float64) {
	copy(dir, m.grad)
	part := make([]float64, len(m.steps))
	for i, s := range slices.Backward(m.steps) {
		part[i] = s.rho * dot(s.way, dir)
		addScaled(dir, -part[i], s.change)
	}
	if len(m.steps) > 0 {
		scale(m.scale, dir)
	}
	for i, s := range m.steps {
		addScaled(dir, part[i]-float64(s.rho*dot(s.change, dir)), s.way)
	}
	scale(-1, dir)
}

// keep stores the step from before to x, where grad is the gradient at before, and drops the oldest one if there are too
// many.
func (m *lbfgs) keep(x, before, grad []float64) {
	var s lbfgsStep
	if len(m.steps) == m.store {
		s = m.steps[0]
		m.steps = append(m.steps[:0], m.steps[1:]...)
	} else {
		s = lbfgsStep{way: make([]float64, len(x)), change: make([]float64, len(x))}
	}
	for i := range x {
		s.way[i], s.change[i] = x[i]-before[i], m.grad[i]-grad[i]
	}
	if product := dot(s.way, s.change); product > 0 { // false only through rounding
		s.rho, m.scale = 1/product, product/dot(s.change, s.change)
		m.steps = append(m.steps, s)
	}
}

// search moves x from a point along dir, at first by step, until the slope is at most 0.9 of the initial slope in size and
// the value is not higher. Values that differ only by rounding count as equal; then slopes decide. If there is no such point
// it leaves x at the lowest one, and stuck is true. more is the last result of eval.
func (m *lbfgs) search(x, from, dir []float64, step float64) (stuck, more bool) {
	highest := m.value + float64(0x1p-50*math.Abs(m.value))
	slope := dot(m.grad, dir)
	if !(slope < 0) {
		return true, true
	}
	// Slopes rise along the line, so the minimum is between lo and hi.
	lo, hi := linePlace{0, m.value, slope}, linePlace{at: math.Inf(1)}
	for width := math.Inf(1); move(x, from, step, dir); {
		if more = m.eval(x); !more {
			return false, false
		}
		p := linePlace{step, m.value, dot(m.grad, dir)}
		higher := p.value > highest
		if !higher && math.Abs(p.slope) <= -0.9*slope {
			return false, true
		}
		if higher || p.slope > 0 {
			hi = p
		} else {
			// Continue to where the slope would be 0 if it rose linearly, but at most four times as far.
			on := 4.0
			if p.slope > lo.slope {
				on = min(on, max(1.1, p.slope/(lo.slope-p.slope)))
			}
			step += float64(on * (p.at - lo.at))
			lo = p
		}
		if hi.at <= math.MaxFloat64 {
			if hi.at-lo.at <= 1e-10*hi.at {
				break
			}
			step = lo.lowest(&hi)
			if !(step > lo.at && step < hi.at) || hi.at-lo.at > width/2 {
				step = lo.at + float64((hi.at-lo.at)/2)
			}
			width = hi.at - lo.at
		}
	}
	move(x, from, lo.at, dir)
	return true, m.eval(x)
}

// linePlace holds value and slope at a point of the search line.
type linePlace struct{ at, value, slope float64 }

// lowest returns where the cubic through two points is lowest.
func (p *linePlace) lowest(q *linePlace) float64 {
	d := q.at - p.at
	a := p.slope + q.slope - 3*(q.value-p.value)/d
	b := math.Sqrt(float64(a*a) - float64(p.slope*q.slope))
	return q.at - float64(d*((q.slope+b-a)/(q.slope-p.slope+float64(2*b))))
}

// move sets x to from + step * dir, and reports whether that differs from from.
func move(x, from []float64, step float64, dir []float64) bool {
	other := false
	for i, v := range from {
		x[i] = v + float64(step*dir[i])
		other = other || x[i] != v
	}
	return other
}
