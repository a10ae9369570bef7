package drift

import (
	"math"
	"sort"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// KS is the statistic of Kolmogorov and Smirnov for two samples: the largest difference of the shares of rows up to a score.
type KS struct {
	Value float64
	// Bound is the most by which the value of the rows themselves can exceed Value: 0 if cells are exact in both sets.
	Bound float64
	// P is the p-value of equal distributions, from the limit for many rows, with n = old new/(old + new) rows. It is a little too
	// large for few rows, for ties and for cells that are not exact. It is NaN with weights.
	P      float64
	Reason string // why there is no value, or no p-value
}

// place is where rows stand in the order of scores: the distance from 0 below 1/2, minus that from 1 above, or the number of a cell of
// kernel's grid in that order.
type place struct {
	upper bool
	at    float64
}

func (p place) before(o place) bool {
	return !p.upper && o.upper || p.upper == o.upper && p.at < o.at
}

// step has the rows of a place.
type step struct {
	place
	weight float64
}

const notKept = "scores are not kept, or some are outside [0,1]"

func ksOf(before, after *eval.Evaluation) KS {
	k := KS{Value: math.NaN(), P: math.NaN()}
	a, kept := before.Judged()
	b, both := after.Judged()
	if !kept || !both {
		k.Reason = notKept
		return k
	}
	exact := a.Exact() && b.Exact()
	k.Value, k.Bound = distance(stepsOf(a, exact), stepsOf(b, exact), exact)
	if a.Weighted() || b.Weighted() {
		k.Reason = "with weights the distribution of the distance is not known"
		return k
	}
	m, n := float64(before.Audit.Rows), float64(after.Audit.Rows)
	k.P = tails.Kolmogorov(float64(k.Value * math.Sqrt(m/(m+n)*n)))
	return k
}

// stepsOf returns the rows by place; unless exact, the places are those of the grid.
func stepsOf(r cells.Ordered, exact bool) (l []step) {
	places, rising := kernel.GridPlaces()
	r.Each(func(c *cells.Cell) {
		s := step{place{at: c.P}, c.Weight}
		if c.P >= 0.5 {
			s.place = place{true, c.Q}
		}
		if !exact {
			s.at = float64(sort.Search(len(rising), func(i int) bool { return places[rising[i]] > s.at }))
		}
		if s.upper {
			s.at = -s.at
		}
		if n := len(l) - 1; n >= 0 && l[n].place == s.place {
			l[n].weight += s.weight
		} else {
			l = append(l, s)
		}
	})
	return l
}

// distance returns the largest difference of shares at the ends of places, and how much larger one within a place can be.
func distance(a, b []step, exact bool) (most, bound float64) {
	total := func(l []step) (t float64) {
		for _, s := range l {
			t += s.weight
		}
		return t
	}
	m, n := total(a), total(b)
	inside, f, g := 0.0, 0.0, 0.0
	for len(a) > 0 || len(b) > 0 {
		was, had := f, g
		first := len(b) == 0 || len(a) > 0 && !b[0].before(a[0].place)
		second := len(a) == 0 || len(b) > 0 && !a[0].before(b[0].place)
		if first {
			f += a[0].weight
			a = a[1:]
		}
		if second {
			g += b[0].weight
			b = b[1:]
		}
		most = math.Max(most, math.Abs(f/m-g/n))
		inside = math.Max(inside, math.Max(f/m-had/n, g/n-was/m))
	}
	if !exact {
		bound = math.Max(0, inside-most)
	}
	return most, bound
}
