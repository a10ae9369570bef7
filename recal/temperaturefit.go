package recal

import (
	"math"
	"math/big"
	"sync"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
)

// temperature finds the best temperature.
func (l *likelihood) temperature() (*TemperatureMap, error) {
	beta, m, err := l.newton()
	if err != nil {
		return nil, err
	}
	t := 1 / beta
	if !goodTemperature(t) {
		return nil, errTooFar
	}
	l.fit.Reads = l.reads
	return &TemperatureMap{fit: l.fit, t: t, logSE: math.Sqrt(m.squares) / float64(beta*m.curvature)}, nil
}

// uniform is a beta at which all classes have equal probability.
const uniform = 0x1p-996

// newton finds the beta at which the slope g is 0. g rises with beta, from g0 < 0 at 0 to gap, the sum of the distances of the labels'
// logits from the largest logits of their rows. Near 0, g - g0 is proportional to beta. Far away, gap - g is usually proportional to
// 1/beta^2, or falls exponentially. So
//
//	L(ln beta) = ln((g - g0) / -g0) - ln((gap - g) / gap)
//
// is nearly linear in ln beta, or in beta where it is steep, and Newton's steps on it are good from anywhere. From two points on, the
// next point is where the cubic through the values and slopes of both, with ln beta as a function of L, has L = 0. A bracket of the root
// is kept.
func (l *likelihood) newton() (float64, moments, error) {
	zero, err := l.at(uniform)
	if err != nil {
		return 0, zero, err
	}
	switch {
	case zero.gap == 0 && zero.squares == 0 && zero.curvature == 0:
		return 0, zero, unreachable("in each row all logits are equal, so a temperature changes nothing")
	case zero.gap == 0:
		return 0, zero, unreachable("every row's label has the largest logit, so the NLL falls as the temperature falls to 0; " +
			"fit to rows that the model has not seen, or to more of them")
	case zero.curvature == 0 || zero.squares == 0 && zero.slope != 0:
		return 0, zero, errTooFar
	}
	g0 := zero.slope
	// The sum of a row has as many rounding errors as one lane has additions.
	if rounding := 0x1p-52 * float64(16+l.fit.Classes); math.Abs(g0) <= rounding*zero.size(l.fit.Rows) {
		if g0, err = l.level(); err != nil {
			return 0, zero, err
		}
	}
	if g0 >= 0 {
		return 0, zero, unreachable("the logits say nothing about the labels, so the NLL falls as the temperature grows; " +
			"check that labels and classes are in the same order")
	}
	return l.root(g0, &zero)
}

// size bounds the sum of the absolute values of the terms of the slope.
func (m *moments) size(rows int64) float64 { return math.Sqrt(float64(rows)*m.squares) + m.gap }

// firstGap is about beta times the mean gap of the misclassified rows of a well-calibrated model.
const firstGap = 1.5

// nearRoot bounds the product of the distances from the last two points to the next. Below it the next point is taken as the
// root, since its error is of the order of the square.
const nearRoot = 1e-8

func (l *likelihood) root(g0 float64, zero *moments) (float64, moments, error) {
	var best, other *point // those with the smallest |L|
	var left, right *point // nearest to the root on either side
	poor := 0              // consecutive points that hardly improved on the last one on their side
	for beta := firstGap * zero.missed / zero.gap; ; {
		if !goodTemperature(1 / beta) {
			return 0, *zero, errTooFar
		}
		m, err := l.at(beta)
		if err != nil {
			return 0, m, err
		}
		if math.Abs(m.slope) <= 0x1p-51*m.size(l.fit.Rows) {
			return beta, m, nil
		}
		p := newPoint(beta, m, g0, zero.gap)
		end := &left
		if m.slope > 0 {
			end = &right
		}
		if poor++; *end == nil || math.Abs(p.value) < math.Abs((*end).value)/2 {
			poor = 0
		}
		*end = p
		if best == nil || math.Abs(p.value) < math.Abs(best.value) {
			best, other = p, best
		} else {
			other = p
		}
		step, far := best.step(other)
		if math.Abs(step)*far <= nearRoot && poor == 0 {
			return best.beta * kernel.Exp64(step), best.m, nil
		}
		low, high := 0.0, math.Inf(1)
		if left != nil {
			low = left.beta
		}
		if right != nil {
			high = right.beta
		}
		beta = best.beta * kernel.Exp64(step)
		if best.rising < flat && math.Abs(step) > 1 {
			beta = 0
			if left != nil {
				step, _ = left.step(nil)
				beta = left.beta * kernel.Exp64(step)
			}
		}
		if !(beta > low && beta < high) || poor >= mostPoor {
			if beta = inBracket(low, high, -g0/zero.curvature); beta == low || beta == high {
				return best.beta, best.m, nil
			}
		}
	}
}

// inBracket returns a number between the ends of the bracket. If there is no point below the root, it is near the root of
// the tangent to the slope at 0, or much lower than the end of the bracket.
func inBracket(low, high, guess float64) float64 {
	switch {
	case low == 0:
		return min(high/16, guess)
	case high > math.MaxFloat64:
		return 16 * low
	}
	return math.Sqrt(low) * math.Sqrt(high)
}

// L is treated as linear in beta rather than in ln beta where its slope is above steep, or far from the root above steepFar,
// where too short a step does less harm than one too long. A slope below flat says nothing about a distant root.
const (
	steep    = 2.5
	steepFar = 1.75
	flat     = 0.5
	mostPoor = 2 // consecutive poor points before the bracket is halved
)

// point is a beta with known moments.
type point struct {
	beta   float64
	value  float64 // L
	rising float64 // its derivative by ln beta
	m      moments
}

func newPoint(beta float64, m moments, g0, gap float64) *point {
	rise, up, down := float64(beta*m.curvature), m.slope-g0, m.below
	// Where the difference has lost its digits, use the quantity to which it is proportional.
	if up < -g0/1024 {
		up = rise
	}
	return &point{beta, kernel.Log64(up/-g0) - kernel.Log64(down/gap), rise/up + rise/down, m}
}

// step returns the distance in ln beta to the root, and the root's distance from the other point if that was used. It is NaN
// if nothing is known.
func (p *point) step(o *point) (step, far float64) {
	newton := -p.value / p.rising
	if newton > 1 && p.rising > steepFar || p.rising > steep && newton > -1 {
		newton = kernel.Log1p64(newton)
	}
	if o == nil || !(math.Abs(p.value) < math.Abs(o.value)/2 && math.Abs(o.value) <= math.MaxFloat64) {
		return newton, math.Abs(newton)
	}
	// The cubic from p (t = 0) to o (t = 1).
	h, apart := o.value-p.value, kernel.Log64(o.beta/p.beta)
	t := -p.value / h
	u := 1 - t
	step = float64(float64(apart*float64(t*t))*(3-float64(2*t))) + float64(float64(h/p.rising*t)*float64(u*u)) -
		float64(float64(h/o.rising*float64(t*t))*u)
	if r := step / newton; !(r > 0.5 && r < 2) {
		return newton, math.Abs(newton)
	}
	return step, math.Abs(step - apart)
}

// level returns the slope at beta = 0 with the right sign, since nothing is rounded before the end. There the slope of a row
// is the mean of its logits minus that of its label.
func (l *likelihood) level() (float64, error) {
	var mu sync.Mutex
	var all []map[int]*exact.Sum
	err := l.visit(func(t *temperedRows) func() {
		own := map[int]*exact.Sum{}
		mu.Lock()
		all = append(all, own)
		mu.Unlock()
		return func() {
			t.columns(uniform)
			t.fill()
			t.addLevels(own)
		}
	})
	if err != nil {
		return 0, err
	}
	slope := new(big.Rat)
	for _, own := range all {
		for n, s := range own {
			r := exact.Rat(s)
			slope.Add(slope, r.Quo(r, big.NewRat(int64(n), 1)))
		}
	}
	g, _ := slope.Float64()
	return g, nil
}

// addLevels adds, by the number n of logits of a row that are not -Inf, n times the slope of the row.
func (t *temperedRows) addLevels(by map[int]*exact.Sum) {
	k := t.chunk.Classes
	for i, y := range t.chunk.Labels[t.at : t.at+t.n] {
		w := t.weight(i)
		if w == 0 {
			continue
		}
		row := t.tile[i*k:][:k]
		if k == 1 {
			row = []float64{0, row[0]}
		}
		if math.IsInf(row[y], 1) || k == 1 && math.IsInf(row[1], -1) {
			continue // the only possible class
		}
		n := 0
		for _, v := range row {
			if !math.IsInf(v, -1) {
				n++
			}
		}
		s := by[n]
		if s == nil {
			s = new(exact.Sum)
			by[n] = s
		}
		for _, v := range row {
			if !math.IsInf(v, -1) {
				addProduct(s, w, v)
			}
		}
		h := float64(float64(n) * row[y])
		addProduct(s, -w, h)
		addProduct(s, -w, math.FMA(float64(n), row[y], -h))
	}
}

// addProduct adds a*b without rounding.
func addProduct(s *exact.Sum, a, b float64) {
	h := float64(a * b)
	s.AddExact(h)
	s.AddExact(math.FMA(a, b, -h))
}
