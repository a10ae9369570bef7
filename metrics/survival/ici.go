package survival

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// ICI is a smooth calibration curve of predictions P(T <= horizon), and how far predictions lie from it. All are 0 if predictions are right, though
// chance alone makes them positive, so that they have no interval.
type ICI struct {
	Mean          float64 // integrated calibration index: mean |observed - predicted| over the rows
	E50, E90, Max float64 // median, 90% quantile and largest of |observed - predicted|
	Curve         []CurvePoint

	gaps, weights []float64 // by rising gap
}

// CurvePoint is a point of a smooth calibration curve.
type CurvePoint struct {
	Predicted, Observed float64
	SE                  float64 // of log(-log(1 - Observed)); NaN if it is not known
	DF                  float64 // as in Estimate
}

// Interval returns the confidence interval of Observed, of each point by itself.
func (p CurvePoint) Interval(level float64) metrics.Interval {
	if !(p.Observed > 0 && p.Observed < 1) {
		return metrics.NoInterval()
	}
	i := Estimate{Value: kernel.Log64(-kernel.Log1p64(-p.Observed)), SE: p.SE, DF: p.DF}.Interval(level)
	if math.IsNaN(i.Low) {
		return i
	}
	return metrics.Interval{Low: 1 - kernel.Exp64(-kernel.Exp64(i.Low)), High: 1 - kernel.Exp64(-kernel.Exp64(i.High))}
}

// Knots is the default number of knots of ICIOf, and MostKnots the largest.
const (
	Knots     = 3
	MostKnots = 5
)

// places are the quantiles of the knots, by their number.
var places = [MostKnots + 1][]float64{2: {}, 3: {0.1, 0.5, 0.9}, 4: {0.05, 0.35, 0.65, 0.95}, 5: {0.05, 0.275, 0.5, 0.725, 0.95}}

const (
	// predictions are kept this far from 0 and 1, where log(-log(1-p)) is infinite.
	nearest     = 1e-10
	newtonSteps = 50
	curvePoints = 100
)

var errNoFit = errors.New("survival: the hazard regression has no finite fit: nearly all events are at one end of the predictions")

// ICIOf returns the smooth calibration curve of predictions P(T <= horizon) by hazard regression, and the distances from it. The hazard of a row is
//
//	h(t | p) = h0(t) exp(f(x)),   x = log(-log(1-p)),
//
// with f a restricted cubic spline, whose coefficients are those of Cox's partial likelihood with Efron's form for events at one time; observed is
// 1 - exp(-H0(horizon) exp(f(x))), H0 Breslow's cumulative hazard. It uses events before and after the horizon, needs no bins, and takes N log N time.
// It assumes that hazards are proportional: where they are not, the curve is an average over time, and CensoredOf or ReliabilityOf is right.
//
// knots, 2 to 5, are at fixed quantiles of x: 10, 50 and 90% for 3; 2 is a straight line, and 0 is 3. Knots that coincide are taken away. Where
// all predictions are equal, f is 0. Points of the curve are 100 even ones from the least to the largest prediction. Their standard error is that of
// the rows' influence on the coefficients and on H0, the sandwich estimate, by clusters where there are any. Predictions nearer than 1e-10 to 0 or 1
// are taken as that.
//
// Source: Austin, Harrell and van Klaveren 2020; Cox 1972; Efron 1977; Breslow 1972; Lin and Wei 1989 for the standard errors.
func ICIOf(r *Rows, horizon float64, knots int) (*ICI, error) {
	if knots == 0 {
		knots = Knots
	}
	if err := r.Validate(true); err != nil {
		return nil, err
	}
	switch {
	case !(horizon > 0 && horizon <= math.MaxFloat64):
		return nil, errHorizon
	case knots < 2 || knots > MostKnots:
		return nil, fmt.Errorf("survival: %d knots; there have to be 2 to %d", knots, MostKnots)
	}
	order := r.byTime()
	c := newCox(r, order, knots)
	if c.events == 0 {
		return nil, errNoEvent
	}
	if err := c.fit(); err != nil {
		return nil, err
	}
	c.baseline(horizon)
	if !(c.hazard > 0) {
		return nil, errNoEvent
	}
	out := &ICI{gaps: make([]float64, len(order)), weights: make([]float64, len(order))}
	at := make([]int32, len(order))
	sum, all := 0.0, 0.0
	for _, i := range order {
		at[i] = i
		p := r.Risks[i]
		out.gaps[i] = math.Abs(c.observed(p) - p)
		out.weights[i] = r.weight(int(i))
		sum += float64(out.weights[i] * out.gaps[i])
		all += out.weights[i]
	}
	out.Mean = sum / all
	slices.SortStableFunc(at, func(a, b int32) int {
		switch {
		case out.gaps[a] < out.gaps[b]:
			return -1
		case out.gaps[a] > out.gaps[b]:
			return 1
		}
		return 0
	})
	gaps, weights := make([]float64, len(at)), make([]float64, len(at))
	for k, i := range at {
		gaps[k], weights[k] = out.gaps[i], out.weights[i]
	}
	out.gaps, out.weights = gaps, weights
	out.E50, out.E90, out.Max = out.quantile(0.5), out.quantile(0.9), gaps[len(gaps)-1]
	c.influences(horizon)
	low, high := slices.Min(r.Risks), slices.Max(r.Risks)
	for k := range curvePoints {
		p := low + float64((high-low)*(float64(k)/(curvePoints-1)))
		if k == curvePoints-1 {
			p = high
		}
		e := c.point(p, horizon)
		out.Curve = append(out.Curve, CurvePoint{Predicted: p, Observed: c.observed(p), SE: e.SE, DF: e.DF})
		if low == high {
			break
		}
	}
	return out, nil
}

// quantile returns a quantile of the gaps, interpolated between rows; a row with a weight of w counts as w rows.
func (o *ICI) quantile(q float64) float64 {
	n := 0.0
	for _, w := range o.weights {
		n += w
	}
	at := func(k float64) float64 {
		sum := 0.0
		for i, w := range o.weights {
			if sum += w; sum > k {
				return o.gaps[i]
			}
		}
		return o.gaps[len(o.gaps)-1]
	}
	h := math.Max(0, float64((n-1)*q))
	k := math.Floor(h)
	a := at(k)
	return a + float64((h-k)*(at(k+1)-a))
}

// cox is a hazard regression on the basis of a restricted cubic spline.
type cox struct {
	r        *Rows
	order    []int32
	knots    []float64
	columns  int
	x        []float64 // of each row its columns, less their means
	mean     []float64
	events   int
	beta     []float64
	inverse  []float64 // of the information
	relative []float64 // exp(f) of each row

	hazard  float64   // H0 at the horizon, of a row with the mean of each column
	pull    []float64 // derivative of log H0 by each coefficient
	onBeta  []float64 // of each row, its influence on the coefficients
	onLevel []float64 // and on log H0
}

// cloglog returns log(-log(1-p)), with p kept from 0 and 1.
func cloglog(p float64) float64 {
	return kernel.Log64(-kernel.Log1p64(-math.Min(math.Max(p, nearest), 1-nearest)))
}

func newCox(r *Rows, order []int32, knots int) *cox {
	n := len(order)
	c := &cox{r: r, order: order}
	x := make([]float64, n)
	for i, p := range r.Risks {
		x[i] = cloglog(p)
	}
	byX := make([]int32, n)
	for i := range byX {
		byX[i] = int32(i)
	}
	slices.SortStableFunc(byX, func(a, b int32) int {
		switch {
		case x[a] < x[b]:
			return -1
		case x[a] > x[b]:
			return 1
		}
		return 0
	})
	sorted := ICI{gaps: make([]float64, n), weights: make([]float64, n)}
	for k, i := range byX {
		sorted.gaps[k], sorted.weights[k] = x[i], r.weight(int(i))
	}
	for _, q := range places[knots] {
		c.knots = append(c.knots, sorted.quantile(q))
	}
	if c.knots = slices.Compact(c.knots); len(c.knots) < 3 {
		c.knots = nil
	}
	switch {
	case sorted.gaps[0] == sorted.gaps[n-1]:
	case c.knots == nil:
		c.columns = 1
	default:
		c.columns = len(c.knots) - 1
	}
	c.x, c.mean = make([]float64, n*c.columns), make([]float64, c.columns)
	all := 0.0
	for _, i := range order {
		row := c.x[int(i)*c.columns:][:c.columns]
		c.basis(row, x[i])
		w := r.weight(int(i))
		for k, v := range row {
			c.mean[k] += float64(w * v)
		}
		all += w
		if r.Events[i] {
			c.events++
		}
	}
	for k := range c.mean {
		c.mean[k] /= all
	}
	for i := range n {
		for k := range c.columns {
			c.x[i*c.columns+k] -= c.mean[k]
		}
	}
	return c
}

// basis sets the columns of a row: x, and the cubic terms of the spline, which is straight beyond its outer knots.
func (c *cox) basis(row []float64, x float64) {
	if c.columns == 0 {
		return
	}
	row[0] = x
	if len(row) == 1 {
		return
	}
	k := c.knots
	last := len(k) - 1
	cube := func(v float64) float64 {
		if v <= 0 {
			return 0
		}
		return float64(float64(v*v) * v)
	}
	span := k[last] - k[0]
	for j := range len(row) - 1 {
		v := cube(x-k[j]) - float64(cube(x-k[last-1])*(k[last]-k[j]))/(k[last]-k[last-1]) + float64(cube(x-k[last])*(k[last-1]-k[j]))/(k[last]-k[last-1])
		row[j+1] = v / float64(span*span)
	}
}

func (c *cox) row(i int32) []float64 { return c.x[int(i)*c.columns:][:c.columns] }

// eachTime calls f for the distinct times with events, latest first: the rows at the time, those with events before the others, and the sums of
// exp(f), of exp(f) x and of exp(f) x x' over the rows that were under observation.
func (c *cox) eachTime(squares bool, f func(rows []int32, events int, s0 float64, s1, s2 []float64)) {
	d := c.columns
	s0, s1, s2 := 0.0, make([]float64, d), make([]float64, d*d)
	for to := len(c.order); to > 0; {
		from, t := to, c.r.Times[c.order[to-1]]
		for from > 0 && c.r.Times[c.order[from-1]] == t {
			from--
		}
		events := 0
		for _, i := range c.order[from:to] {
			e := float64(c.r.weight(int(i)) * c.relative[i])
			s0 += e
			x := c.row(i)
			for a, v := range x {
				v = float64(e * v)
				s1[a] += v
				for b := 0; squares && b <= a; b++ {
					s2[a*d+b] += float64(v * x[b])
				}
			}
			if c.r.Events[i] {
				events++
			}
		}
		if events > 0 {
			f(c.order[from:to], events, s0, s1, s2)
		}
		to = from
	}
}

// predict sets relative to exp(f) by the coefficients, and reports whether all are finite and none is 0.
func (c *cox) predict(beta []float64) bool {
	for i := range c.relative {
		f := 0.0
		for k, v := range c.row(int32(i)) {
			f += float64(beta[k] * v)
		}
		c.relative[i] = kernel.Exp64(f)
		if !(c.relative[i] > 0 && c.relative[i] <= 1e200) {
			return false
		}
	}
	return true
}

// likelihood returns the log partial likelihood at the coefficients of predict, its gradient and the information, by Efron's form: of d events at a
// time, the l-th leaves l/d of each behind.
func (c *cox) likelihood(beta []float64) (value float64, gradient, information []float64) {
	d := c.columns
	gradient, information = make([]float64, d), make([]float64, d*d)
	e1, e2, mean := make([]float64, d), make([]float64, d*d), make([]float64, d)
	c.eachTime(true, func(rows []int32, events int, s0 float64, s1, s2 []float64) {
		e0, weight := 0.0, 0.0
		clear(e1)
		clear(e2)
		for _, i := range rows[:events] {
			w := c.r.weight(int(i))
			weight += w
			e := float64(w * c.relative[i])
			e0 += e
			x := c.row(i)
			for a, v := range x {
				gradient[a] += float64(w * v)
				value += float64(w * float64(beta[a]*v))
				v = float64(e * v)
				e1[a] += v
				for b := 0; b <= a; b++ {
					e2[a*d+b] += float64(v * x[b])
				}
			}
		}
		w := weight / float64(events)
		for l := range events {
			share := float64(l) / float64(events)
			under := s0 - float64(share*e0)
			value -= float64(w * kernel.Log64(under))
			for a := range d {
				mean[a] = (s1[a] - float64(share*e1[a])) / under
				gradient[a] -= float64(w * mean[a])
			}
			for a := range d {
				for b := 0; b <= a; b++ {
					second := (s2[a*d+b] - float64(share*e2[a*d+b])) / under
					information[a*d+b] += float64(w * (second - float64(mean[a]*mean[b])))
				}
			}
		}
	})
	for a := range d {
		for b := a + 1; b < d; b++ {
			information[a*d+b] = information[b*d+a]
		}
	}
	return value, gradient, information
}

// fit finds the coefficients by Newton's method, halving steps that do not raise the likelihood.
func (c *cox) fit() error {
	d := c.columns
	c.beta, c.relative = make([]float64, d), make([]float64, len(c.order))
	c.predict(c.beta)
	if d == 0 {
		return nil
	}
	value, gradient, information := c.likelihood(c.beta)
	first := slices.Clone(information)
	for range newtonSteps {
		var ok bool
		if c.inverse, ok = inverted(information, d); !ok {
			return errNoFit
		}
		step := times(c.inverse, gradient)
		gain := 0.0
		for a, v := range step {
			gain += float64(v * gradient[a])
		}
		for a := range d {
			if !(information[a*d+a] > 1e-6*first[a*d+a]) { // it falls to 0 as a coefficient rises for ever
				return errNoFit
			}
		}
		if gain <= 1e-14 { // the distance is that of this step, whose error is its square
			for a, v := range step {
				c.beta[a] += v
			}
			c.predict(c.beta)
			return nil
		}
		better := false
		for half := 1.0; half > 1e-10; half /= 2 {
			next := make([]float64, d)
			for a, v := range step {
				next[a] = c.beta[a] + float64(half*v)
			}
			if !c.predict(next) {
				continue
			}
			v, g, i := c.likelihood(next)
			if v > value || v >= value-float64(1e-12*math.Abs(value)) && half == 1 {
				c.beta, value, gradient, information, better = next, v, g, i, true
				break
			}
		}
		if !better {
			return errNoFit
		}
	}
	return errNoFit
}

// inverted returns the inverse of a symmetric matrix, by Cholesky's method. ok is false unless it is positive definite by a margin.
func inverted(m []float64, d int) (inverse []float64, ok bool) {
	l := make([]float64, d*d)
	for a := range d {
		for b := 0; b <= a; b++ {
			v := m[a*d+b]
			for k := range b {
				v -= float64(l[a*d+k] * l[b*d+k])
			}
			if a == b {
				if !(v > 1e-12*m[a*d+a]) {
					return nil, false
				}
				l[a*d+a] = math.Sqrt(v)
			} else {
				l[a*d+b] = v / l[b*d+b]
			}
		}
	}
	inverse = make([]float64, d*d)
	for k := range d {
		y := make([]float64, d)
		for a := range d {
			v := 0.0
			if a == k {
				v = 1
			}
			for b := range a {
				v -= float64(l[a*d+b] * y[b])
			}
			y[a] = v / l[a*d+a]
		}
		for a := d - 1; a >= 0; a-- {
			v := y[a]
			for b := a + 1; b < d; b++ {
				v -= float64(l[b*d+a] * y[b])
			}
			y[a] = v / l[a*d+a]
			inverse[a*d+k] = y[a]
		}
	}
	return inverse, true
}

// times returns the product of a square matrix and a vector.
func times(m, v []float64) []float64 {
	out := make([]float64, len(v))
	for a := range out {
		for b, x := range v {
			out[a] += float64(m[a*len(v)+b] * x)
		}
	}
	return out
}

// baseline sets the cumulative hazard at the horizon, and its derivative.
func (c *cox) baseline(horizon float64) {
	c.hazard, c.pull = 0, make([]float64, c.columns)
	c.eachTime(false, func(rows []int32, events int, s0 float64, s1, _ []float64) {
		if c.r.Times[rows[0]] > horizon {
			return
		}
		w := 0.0
		for _, i := range rows[:events] {
			w += c.r.weight(int(i))
		}
		c.hazard += w / s0
		for a := range c.pull {
			c.pull[a] -= float64(w / s0 * (s1[a] / s0))
		}
	})
	for a := range c.pull {
		c.pull[a] /= c.hazard
	}
}

// at returns the columns of a prediction.
func (c *cox) at(p float64) []float64 {
	row := make([]float64, c.columns)
	c.basis(row, cloglog(p))
	for k := range row {
		row[k] -= c.mean[k]
	}
	return row
}

// observed returns the probability of the event by the horizon of rows with a prediction.
func (c *cox) observed(p float64) float64 {
	f := 0.0
	for k, v := range c.at(p) {
		f += float64(c.beta[k] * v)
	}
	return 1 - kernel.Exp64(-float64(c.hazard*kernel.Exp64(f)))
}

// influences sets the influence of rows on the coefficients and, at these, on log H0. That on the coefficients takes Breslow's form, as one event at a
// time has it.
func (c *cox) influences(horizon float64) {
	d, n := c.columns, len(c.order)
	c.onBeta, c.onLevel = make([]float64, n*d), make([]float64, n)
	type moment struct { // of a time with events
		t, s0, hazard, square float64   // hazard is w/s0, and square w/s0^2
		mean                  []float64 // s1/s0
	}
	var l []moment
	c.eachTime(false, func(rows []int32, events int, s0 float64, s1, _ []float64) {
		w := 0.0
		for _, i := range rows[:events] {
			w += c.r.weight(int(i))
		}
		m := moment{c.r.Times[rows[0]], s0, w / s0, w / s0 / s0, make([]float64, d)}
		for a := range d {
			m.mean[a] = s1[a] / s0
		}
		l = append(l, m)
	})
	slices.Reverse(l)
	hazard, means := 0.0, make([]float64, d)
	score := make([]float64, d)
	next := 0
	for _, i := range c.order {
		t := c.r.Times[i]
		for next < len(l) && l[next].t <= t {
			hazard += l[next].hazard
			for a := range d {
				means[a] += float64(l[next].hazard * l[next].mean[a])
			}
			next++
		}
		x := c.row(i)
		for a := range d {
			score[a] = -float64(c.relative[i] * (float64(x[a]*hazard) - means[a]))
			if c.r.Events[i] {
				score[a] += x[a] - l[next-1].mean[a]
			}
		}
		v := times(c.inverse, score)
		for a := range d {
			c.onBeta[int(i)*d+a] = float64(c.r.weight(int(i)) * v[a])
		}
	}
	square, k := 0.0, 0
	for _, i := range c.order {
		t := c.r.Times[i]
		for k < len(l) && l[k].t <= t && l[k].t <= horizon {
			square += l[k].square
			k++
		}
		v := -float64(c.relative[i] * square)
		if c.r.Events[i] && t <= horizon {
			v += 1 / l[k-1].s0
		}
		c.onLevel[i] = float64(c.r.weight(int(i)) * (v / c.hazard))
	}
}

// point returns the logarithm of the cumulative hazard at a prediction, with its error.
func (c *cox) point(p, horizon float64) Estimate {
	x := c.at(p)
	parts := slices.Clone(c.onLevel)
	f := 0.0
	for a := range x {
		f += float64(c.beta[a] * x[a])
		x[a] += c.pull[a]
	}
	for i := range parts {
		for a, v := range x {
			parts[i] += float64(v * c.onBeta[i*c.columns+a])
		}
	}
	return c.r.estimate(kernel.Log64(c.hazard)+f, parts, 1, horizon)
}
