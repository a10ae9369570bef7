package survival

import "math"

// asCoded returns what row does as uncertainty_metrics computes it.
func (l *local) asCoded(i int) (stat, influence, weight float64) {
	p, t, event := l.Risks[i], l.Times[i], l.Events[i]
	horizon := len(l.grid) - 1
	own := int(l.column[i])
	// Survival, and that of censoring, after each time.
	alive, uncensored := 1.0, 1.0
	for k := 0; k <= horizon; k++ {
		before := 1.0
		if k > 0 {
			before = l.under[k-1]
		}
		if l.drops[1][k] > 0 {
			alive = l.step(alive, l.drops[1][k]/before)
		}
	}
	c := 1 - alive
	end := alive
	alive = 1
	var martingale, sum float64
	for k := 0; k <= horizon; k++ {
		before := 1.0
		if k > 0 {
			before = l.under[k-1]
		}
		previous, hazard := uncensored, 0.0
		if l.drops[1][k] > 0 {
			alive = l.step(alive, l.drops[1][k]/before)
		}
		if l.drops[0][k] > 0 {
			hazard = l.drops[0][k] / before
			uncensored = l.step(uncensored, hazard)
		}
		mean, jump := 0.0, 0.0
		if k < own {
			mean = 1 - end/alive
			jump = -hazard
			if d := l.drops[1][k]; d > 0 || before == 0 {
				sum += d / float64(before*(before+d)) // 0/0 once no other row is under observation
			}
		}
		if k == own && !event {
			jump = 1
		}
		martingale += float64(jump * (float64((p-mean)*(p-c)) / math.Max(previous, leastShare)))
		if k == own && event {
			weight = 1 / uncensored
		}
	}
	y, happened := 0.0, 0.0
	if t <= l.horizon {
		y = 1
		if event {
			happened = 1
		}
	} else {
		weight = 1 / uncensored
	}
	weight = math.Min(weight, mostWeight)
	fit := float64(float64((c-p)*(1-c)) * (happened - sum))
	stat = float64(float64(weight*(p-y)) * (p - c))
	return stat, float64(weight*float64((c-p)*(y-p))) + fit - martingale, weight
}
