package cells

import (
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// OrderedOf returns the scores and outcomes of sorted keys, with a cell for each score. kernel.HitKeysF32 or HitKeysF64 makes
// such keys from scores in [0,1]. The result refers to keys, which must not change while it is in use. weights are those of the
// keys, or nil; their order within equal keys does not matter. outside is the number of other scores, which have no key.
func OrderedOf[K kernel.Key](keys []K, weights []float64, outside int64) Ordered {
	if weights != nil && len(weights) != len(keys) {
		panic("cells: keys and weights differ in number")
	}
	return &keyed[K]{keys, weights, outside}
}

type keyed[K kernel.Key] struct {
	keys    []K
	weights []float64
	outside int64
}

func (o *keyed[K]) Exact() bool    { return true }
func (o *keyed[K]) Weighted() bool { return o.weights != nil }
func (o *keyed[K]) Outside() int64 { return o.outside }

// runs calls f for each score: its keys are at from to end, and those with the event start at hits.
func (o *keyed[K]) runs(f func(from, hits, end int)) {
	for from, hits, end := 0, 0, 0; from < len(o.keys); from = end {
		last := o.keys[from] | 1
		for hits = from; hits < len(o.keys) && o.keys[hits] == last-1; hits++ {
		}
		for end = hits; end < len(o.keys) && o.keys[end] == last; end++ {
		}
		f(from, hits, end)
	}
}

// total returns the sum of the weights of keys at from to end.
func (o *keyed[K]) total(from, end int) float64 {
	switch end - from {
	case 0:
		return 0
	case 1:
		return o.weights[from]
	}
	var s exact.Sum
	for _, w := range o.weights[from:end] {
		s.AddFloat(w)
	}
	return s.Float64()
}

func (o *keyed[K]) Count() (n int) {
	o.runs(func(int, int, int) { n++ })
	return n
}

func (o *keyed[K]) Each(f func(*Cell)) {
	one := Cell{exact: true}
	var heavy tally.Cell
	o.runs(func(from, hits, end int) {
		score, _ := kernel.HitScore(o.keys[from])
		if one.q, one.upper = score, score >= 0.5; one.upper {
			one.q = 1 - score
		}
		one.count(int64(end-from), int64(end-hits))
		if o.weights != nil {
			heavy = tally.Cell{}
			for i, w := range o.weights[from:end] {
				heavy.AddWeighted(score, uint8(o.keys[from+i]&1), w)
			}
			one.heavy = &heavy
			one.Weight, one.Events = o.total(from, end), o.total(hits, end)
		}
		f(&one)
	})
}

func (o *keyed[K]) Pairs() Pairs {
	if o.weights != nil {
		var p Pairs
		o.runs(func(from, hits, end int) {
			weight, events := o.total(from, end), o.total(hits, end)
			p.add(weight-events, events)
		})
		return p
	}
	var d duels
	o.runs(func(from, hits, end int) { d.add(uint64(hits-from), uint64(end-hits)) })
	return d.pairs()
}
