package survival

import "sort"

// Curve is the estimate of a survival function: the probability that the event has not happened by a time. It is a step function, 1 before
// the first step.
type Curve struct {
	Times    []float64 // of its steps, rising
	Survival []float64 // from each of them on
	// Variance is Greenwood's estimate of the variance of Survival: S^2 sum d/(Y (Y-d)). With weights Y and d are their sums, which is right for
	// rows that stand for several.
	Variance []float64
}

// At returns the probability of no event by time t, t included.
func (c *Curve) At(t float64) float64 {
	return at(c.Survival, sort.Search(len(c.Times), func(i int) bool { return c.Times[i] > t }))
}

// Before returns the probability of no event before time t.
func (c *Curve) Before(t float64) float64 { return at(c.Survival, sort.SearchFloat64s(c.Times, t)) }

// VarianceAt returns the variance of At.
func (c *Curve) VarianceAt(t float64) float64 {
	if i := sort.Search(len(c.Times), func(i int) bool { return c.Times[i] > t }); i > 0 {
		return c.Variance[i-1]
	}
	return 0
}

func at(s []float64, steps int) float64 {
	if steps == 0 {
		return 1
	}
	return s[steps-1]
}

// KaplanMeier returns the product-limit estimate for the event: the product over times of 1 - d/Y, of the d events among the Y rows that
// were under observation just before.
//
// Source: Kaplan and Meier 1958; Greenwood 1926.
func KaplanMeier(r *Rows) (*Curve, error) {
	if err := r.Validate(false); err != nil {
		return nil, err
	}
	return r.curve(r.byTime(), true), nil
}

// CensoringCurve returns the estimate of the probability that a row is not censored by a time. Where an event and a censoring share a time,
// the event counts as the earlier, so the row with the event was not under observation any more.
func CensoringCurve(r *Rows) (*Curve, error) {
	if err := r.Validate(false); err != nil {
		return nil, err
	}
	return r.curve(r.byTime(), false), nil
}

// curve is that of events, or of censorings.
func (r *Rows) curve(order []int32, events bool) *Curve {
	c := new(Curve)
	under := 0.0
	for _, i := range order {
		under += r.weight(int(i))
	}
	s, v := 1.0, 0.0
	for from := 0; from < len(order); {
		t := r.Times[order[from]]
		var happened, gone float64
		to := from
		for ; to < len(order) && r.Times[order[to]] == t; to++ {
			if w := r.weight(int(order[to])); r.Events[order[to]] {
				happened += w
			} else {
				gone += w
			}
		}
		from = to
		d, y := happened, under
		if !events {
			d, y = gone, under-happened
		}
		under -= happened + gone
		if to == len(order) {
			under = 0 // whatever rounding has left of the weights
		}
		if d == 0 {
			continue
		}
		if to == len(order) {
			y = d
			if events {
				y += gone
			}
		}
		s *= 1 - d/y
		if d < y {
			v += d / float64(y*(y-d))
		}
		c.Times, c.Survival, c.Variance = append(c.Times, t), append(c.Survival, s), append(c.Variance, float64(float64(s*s)*v))
	}
	return c
}

// inverse are the weights by which rows whose state at the horizon is known stand for those that were censored before it: 1/G of the time until
// which the row had to be seen, G the curve of censoring.
type inverse struct {
	weights []float64 // 0 for rows that were censored before the horizon
	happens []bool    // the event by the horizon
}

// inverse returns the weights. A row that is censored at the horizon was seen until then without the event, so it is known: that is how
// studies end.
func (r *Rows) inverse(g *Curve, horizon float64) inverse {
	v := inverse{make([]float64, len(r.Times)), make([]bool, len(r.Times))}
	for i, t := range r.Times {
		switch {
		case t > horizon, t == horizon && !r.Events[i]:
			v.weights[i] = r.weight(i) / g.Before(horizon)
		case r.Events[i]:
			v.weights[i], v.happens[i] = r.weight(i)/g.Before(t), true
		}
	}
	return v
}
