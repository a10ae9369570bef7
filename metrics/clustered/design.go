package clustered

import "math"

// EventLosses are the names of the losses by which Design knows what scores say of an event, whether it happens, the former minus the latter,
// and its variance p(1-p) if the scores are right.
type EventLosses struct{ Says, Happens, Gap, Own string }

// Design returns by how much the variance of the mean gap between scores and outcomes is larger than that of independent rows whose scores
// are right, as far as few events tell; at least 1. It is NaN if a loss is not kept, and if no row can vary.
//
// The variance by clusters goes with the number of events: few events by chance are few clusters that have any, and hardly any spread. So
// the result is the mean of m + 1 numbers, where m clusters have the event; the rarer outcome is called so. The last number is that of
// clusters whose rows are all alike, sum n_g^2 / n. The others are the variance by clusters over the model's own, or are nearer to
//
//	D = 1 + E sum_g (y_g^2 - y_g - (y/E)^2 sum_{i != j} p_i p_j) / (y sum p(1-p))
//
// by the share 1 - 2E/n, if D is larger. E events are expected, y are seen, y_g of them in cluster g. D says how many of its rows the cluster
// of an event has in common with it, and does not go with the number of clusters that have events. Both the rule and its constants are from
// simulations.
func (s *Sums) Design(of EventLosses) float64 {
	says, happens, own := s.loss(of.Says), s.loss(of.Happens), s.loss(of.Own)
	_, se, ok := s.Mean(of.Gap)
	if says < 0 || happens < 0 || own < 0 || !ok {
		return math.NaN()
	}
	type sums struct{ n, p, y, own, weight float64 }
	all := make([]sums, 0, len(s.all))
	var n, p, y, v, squares float64
	s.eachByName(func(c *cluster) {
		x := sums{n: s.size(c), p: c.sums[says].Float64(), y: c.sums[happens].Float64(), own: c.sums[own].Float64()}
		x.weight = x.n / float64(c.n) // of each row, as if those of a cluster were equal
		all = append(all, x)
		n, p, y, v = n+x.n, p+x.p, y+x.y, v+x.own
		squares += float64(x.n * x.n)
	})
	if !(v > 0) {
		return math.NaN()
	}
	scale := n / s.Effective()
	v *= scale
	alike := math.Max(1, squares/float64(n*scale))
	rest := p > n/2
	if rest {
		p, y = n-p, n-y
	}
	m, together, said := 0.0, 0.0, 0.0
	for i := range all {
		x := &all[i]
		if rest {
			x.p, x.y = x.n-x.p, x.n-x.y
		}
		if x.y > 0 {
			m++
		}
		together += float64(x.y*x.y) - float64(x.weight*x.y)
		said += float64(x.p*x.p) - float64(x.weight*(x.p-x.own))
	}
	d := math.Max(1, float64(float64(se*n)*float64(se*n))/v)
	if y > 0 && p > 0 {
		by := 1 + float64(p*(together/y-float64(said*y)/float64(p*p)))/v
		if by = math.Min(by, alike); by > d {
			d += float64((1 - float64(2*p)/n) * (by - d))
		}
	}
	return (float64(m*d) + alike) / (m + 1)
}
