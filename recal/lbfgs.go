package recal

import (
	"math"
	"slices"
)

// lbfgs is the limited-memory method of Broyden, Fletcher, Goldfarb and Shanno for a smooth convex function.
type lbfgs struct {
	eval  func(x []float64) bool // computes value and grad, and tells whether to go on
	value float64
	grad  []float64

	store int // steps kept
	steps []lbfgsStep
	scale float64 // of the last step: its way times the change of the gradient, over the square of that
}

// lbfgsStep is a step that was taken.
type lbfgsStep struct {
	way, change []float64 // of the point, and of the gradient
	rho         float64   // 1/(way * change)
}

// run descends from x, where eval has been, until eval says stop, and leaves x where it last was. It tells whether it gave up before
// because no step leads lower.
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

// direction writes minus the gradient times what the steps tell of the inverse of the second derivatives.
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

// keep adds the step to x from a point with that gradient, and forgets the oldest of too many.
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
	if product := dot(s.way, s.change); product > 0 { // but for rounding it is
		s.rho, m.scale = 1/product, product/dot(s.change, s.change)
		m.steps = append(m.steps, s)
	}
}

// search moves x along dir from a point, at first by step, to where the slope is at most 0.9 of what it was and the value is no higher.
// Values that only rounding tells apart are equal: then slopes decide. It is stuck if it finds no such place, and leaves x at the lowest
// one. It also returns what eval said last.
func (m *lbfgs) search(x, from, dir []float64, step float64) (stuck, more bool) {
	highest := m.value + float64(0x1p-50*math.Abs(m.value))
	slope := dot(m.grad, dir)
	if !(slope < 0) {
		return true, true
	}
	// The lowest place is between lo and hi, as slopes rise.
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
			// On to where the slope is 0 if it rises evenly, but no further than four times as far.
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

// linePlace is what is known of a line at a place.
type linePlace struct{ at, value, slope float64 }

// lowest returns where the cubic of two places is lowest.
func (p *linePlace) lowest(q *linePlace) float64 {
	d := q.at - p.at
	a := p.slope + q.slope - 3*(q.value-p.value)/d
	b := math.Sqrt(float64(a*a) - float64(p.slope*q.slope))
	return q.at - float64(d*((q.slope+b-a)/(q.slope-p.slope+float64(2*b))))
}

// move makes x the point that is step times dir from another, and tells whether that is another one.
func move(x, from []float64, step float64, dir []float64) bool {
	other := false
	for i, v := range from {
		x[i] = v + float64(step*dir[i])
		other = other || x[i] != v
	}
	return other
}
