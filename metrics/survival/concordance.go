package survival

import (
	"errors"
	"math"
	"slices"
)

var (
	errNoPairs  = errors.New("survival: no two rows can be compared: no event comes before the time of another row")
	errNoEvent  = errors.New("survival: no event by the horizon, so there is nothing to tell from the rest; take a later horizon")
	errNoneLeft = errors.New("survival: no row is known to be without the event at the horizon; take an earlier horizon")
)

// Concordance returns Harrell's concordance index: of the pairs of rows of which the earlier time is that of an event, the share in which that row
// has the larger risk; equal risks count one half. 1 is best, 0.5 says nothing. Two events at one time are no pair, an event and a censored row
// at one time are.
//
// It depends on how rows are censored; ConcordanceIPCW does not, if that is independent of the risks. Time is proportional to N log N.
//
// Source: Harrell et al. 1982; the standard error is that of the infinitesimal jackknife.
func Concordance(r *Rows) (Estimate, error) {
	if err := r.Validate(false); err != nil {
		return Estimate{}, err
	}
	return r.concordance(func(i int32) float64 { return r.weight(int(i)) }, math.Inf(1))
}

// ConcordanceIPCW returns Uno's concordance index at a horizon: Harrell's, with the pairs whose earlier time T is below the horizon, each with the
// weight 1/G(T-)^2, where G is the curve of censoring. It estimates the share that would be found without censoring, if that is
// independent of everything else. The standard error takes G as known.
//
// Source: Uno et al. 2011.
func ConcordanceIPCW(r *Rows, horizon float64) (Estimate, error) {
	if err := r.Validate(false); err != nil {
		return Estimate{}, err
	}
	if !(horizon > 0) {
		return Estimate{}, errHorizon
	}
	g := r.curve(r.byTime(), false)
	return r.concordance(func(i int32) float64 {
		v := 1 / g.Before(r.Times[i])
		return float64(float64(v*v) * r.weight(int(i)))
	}, horizon)
}

// concordance weighs a pair by the weight of its earlier row and, if rows have weights, that of the other.
func (r *Rows) concordance(weight func(int32) float64, horizon float64) (Estimate, error) {
	n := len(r.Times)
	rank, distinct := ranks(r.Risks)
	order := r.byTime()
	good, pairs := make([]float64, n), make([]float64, n) // sums over the pairs of a row
	// Latest first: the tree has the rows whose times are later.
	later := newTree(distinct)
	for end := n; end > 0; {
		start := end - 1
		for start > 0 && r.Times[order[start-1]] == r.Times[order[end-1]] {
			start--
		}
		middle := start // events come first
		for middle < end && r.Events[order[middle]] {
			middle++
		}
		for _, i := range order[middle:end] {
			later.add(rank[i], r.weight(int(i)))
		}
		for _, i := range order[start:middle] {
			if r.Times[i] < horizon {
				w := weight(i)
				good[i] += float64(w * later.below(rank[i]))
				pairs[i] += float64(w * later.total)
			}
		}
		for _, i := range order[start:middle] {
			later.add(rank[i], r.weight(int(i)))
		}
		end = start
	}
	var above, all float64
	for i := range good {
		above += good[i]
		all += pairs[i]
	}
	if all == 0 {
		return Estimate{}, errNoPairs
	}
	// The pairs in which a row is the later one: earliest first, the tree has the events before, by how much they exceed.
	earlier := newTree(distinct)
	for start := 0; start < n; {
		end := start
		for end < n && r.Times[order[end]] == r.Times[order[start]] {
			end++
		}
		middle := start
		for middle < end && r.Events[order[middle]] {
			middle++
		}
		later := func(i int32) {
			w := r.weight(int(i))
			good[i] += float64(w * (earlier.total - earlier.below(rank[i])))
			pairs[i] += float64(w * earlier.total)
		}
		for _, i := range order[start:middle] {
			later(i)
		}
		for _, i := range order[start:middle] {
			if r.Times[i] < horizon {
				earlier.add(rank[i], weight(i))
			}
		}
		for _, i := range order[middle:end] {
			later(i)
		}
		start = end
	}
	value := above / all
	for i := range good {
		good[i] -= float64(value * pairs[i])
	}
	return r.estimate(value, good, all, horizon), nil
}

// AUROC returns the area under the cumulative/dynamic ROC curve at a horizon: of pairs of a row with the event by then and of one without, the
// share in which the first has the larger risk; equal risks count one half. Rows with the event have the weight 1/G(T-), G the curve of
// censoring; rows censored before the horizon are left out. The standard error takes G as known.
//
// Source: Uno et al. 2007; Hung and Chiang 2010.
func AUROC(r *Rows, horizon float64) (Estimate, error) {
	if err := r.Validate(false); err != nil {
		return Estimate{}, err
	}
	if !(horizon > 0 && horizon <= math.MaxFloat64) {
		return Estimate{}, errHorizon
	}
	known := r.inverse(r.curve(r.byTime(), false), horizon)
	rank, distinct := ranks(r.Risks)
	without, with := newTree(distinct), newTree(distinct)
	for i, w := range known.weights {
		switch {
		case w == 0:
		case known.happens[i]:
			with.add(rank[i], w)
		default:
			without.add(rank[i], w)
		}
	}
	switch {
	case with.total == 0:
		return Estimate{}, errNoEvent
	case without.total == 0:
		return Estimate{}, errNoneLeft
	}
	// The placement of a row is the share of the other kind that it beats, or that beats it.
	area, parts := 0.0, make([]float64, len(r.Times))
	for i, w := range known.weights {
		if w != 0 && known.happens[i] {
			area += float64(w * (without.below(rank[i]) / without.total))
		}
	}
	area /= with.total
	for i, w := range known.weights {
		switch {
		case w == 0:
		case known.happens[i]:
			parts[i] = float64(w*(without.below(rank[i])/without.total-area)) / with.total
		default:
			parts[i] = float64(w*(1-with.below(rank[i])/with.total-area)) / without.total
		}
	}
	return r.estimate(area, parts, 1, horizon), nil
}

// ranks numbers the distinct values from 0, by rising value.
func ranks(v []float64) (rank []int32, distinct int) {
	s := slices.Clone(v)
	slices.Sort(s)
	s = slices.Compact(s)
	rank = make([]int32, len(v))
	for i, x := range v {
		k, _ := slices.BinarySearch(s, x)
		rank[i] = int32(k)
	}
	return rank, len(s)
}

// tree holds sums of weights by rank.
type tree struct {
	sums  []float64 // of a Fenwick tree
	own   []float64 // of a rank
	total float64
}

func newTree(n int) *tree { return &tree{sums: make([]float64, n+1), own: make([]float64, n)} }

func (t *tree) add(rank int32, w float64) {
	t.total += w
	t.own[rank] += w
	for i := int(rank) + 1; i < len(t.sums); i += i & -i {
		t.sums[i] += w
	}
}

// below returns the weight of lower ranks, and half of that of this one.
func (t *tree) below(rank int32) float64 {
	s := t.own[rank] / 2
	for i := int(rank); i > 0; i -= i & -i {
		s += t.sums[i]
	}
	return s
}
