package sliced

import (
	"cmp"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/adjusted"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// Adjustment is a correction of p-values for their number.
type Adjustment uint8

// Holm bounds the probability of a single false alarm, BenjaminiHochberg the share of false alarms among all.
const (
	Holm Adjustment = iota
	BenjaminiHochberg
)

// ListOptions select slices.
type ListOptions struct {
	Level   float64 // of intervals; 0 means 0.95
	MinRows int64   // slices with fewer rows are left out
	Adjust  Adjustment
}

// Slice is a slice of the rows.
type Slice struct {
	Columns, Values []string
	Rows, Events    int64
	Mean, Frequency float64          // of scores and of the event
	Gap             float64          // Mean - Frequency: above 0 scores are too high
	Interval        metrics.Interval // of Gap, by the larger of the rows' variance and that of calibrated scores
	P, Adjusted     float64          // NaN if the slice is not tested
	Clusters        int              // of the rows; 0 where these are of none
	Exact           bool             // the scores are those of the rows, and not of a grid
}

// The tests of gaps: by the distribution of the number of events where few are expected, by its saddlepoint approximation up to this
// variance, and by the normal law beyond.
const (
	fewExpected  = 30
	normalBeyond = 1000
	exactCells   = 4096
)

// List returns the slices of one, two and three columns, worst first: in rising order of adjusted p-values, then of p-values, then by size
// of the gap. P is the two-sided p-value of calibration in the large: twice the smaller tail of the number of events, which is a sum of
// independent Bernoulli numbers with the scores as probabilities. The tails are exact where fewer than 30 events or non-events are
// expected, otherwise the saddlepoint approximation of Lugannani and Rice, and normal where sum p(1-p) > 1000. The family of the
// adjustment is all slices with MinRows rows. left is the number of slices with fewer.
//
// Where rows are of clusters, P is the largest of three: this one; that of the gap over its standard error by clusters; and that of the number of
// events if every D rows have the same outcome, where D is the design effect of the slice, or of all slices of its columns if that is larger.
// The interval is by clusters. Slices of fewer than MinClusters clusters have neither.
func (e *Evaluation) List(o ListOptions) (list []Slice, left int, reason string) {
	if reason := e.reason(); reason != "" {
		return nil, 0, reason
	}
	if o.Level == 0 {
		o.Level = metrics.DefaultLevel
	}
	m := e.answers()
	subsets(len(m.views), depth, func(columns []int) {
		if len(columns) == 0 {
			return
		}
		s := sliced(m.views, columns, len(e.values))
		all := make([]sums, len(s.values))
		if s.edges == nil {
			for g := range e.table.groups {
				all[s.first[g]].add(&e.table.groups[g])
			}
		} else {
			e.each(s, func(slice int32, c *entry, p float64) { all[slice].addRows(p, c.n, c.y) })
		}
		few := make([]tails.Binomials, len(all))
		e.each(s, func(slice int32, c *entry, p float64) {
			if a := &all[slice]; a.n >= o.MinRows && !(a.v.float() > normalBeyond) {
				b := &few[slice]
				if k := len(b.P) - 1; k >= 0 && b.P[k] == p { // of another finest cell
					b.N[k] += float64(c.n)
					return
				}
				b.N, b.P, b.Q = append(b.N, float64(c.n)), append(b.P, p), append(b.Q, 1-p)
			}
		})
		var by []spread
		common := 1.0
		if c := m.clusters; c != nil && !(s.edges != nil && c.coarse()) {
			parts, rows := c.parts(e, s), make([]int64, len(all))
			by = make([]spread, len(all))
			for i := range all {
				if a := &all[i]; a.n > 0 {
					by[i], rows[i] = spreadOf(parts[i], a.n, a.p.minus(times(unit, a.y)).float()/float64(a.n), a.v.float()), a.n
				}
			}
			common = design(by, rows)
		}
		for i := range all {
			a := &all[i]
			if a.n == 0 {
				continue
			}
			if a.n < o.MinRows {
				left++
				continue
			}
			x := Slice{Values: s.names(m.views, i), Rows: a.n, Events: a.y, Exact: e.table.shift == 0 || s.edges == nil}
			for _, c := range columns {
				x.Columns = append(x.Columns, e.Columns[c].Name)
			}
			n := float64(a.n)
			x.Mean, x.Frequency = a.p.float()/n, float64(a.y)/n
			gap := a.p.minus(times(unit, a.y)).float()
			x.Gap = gap / n
			v := a.d.float()/n - float64(x.Gap*x.Gap)
			// As of bias, no narrower than calibrated scores imply: few rows with no event would have almost no width.
			x.Interval = metrics.Normal(x.Gap, math.Sqrt(max(v/max(1, n-1), a.v.float()/float64(n*n))), o.Level).Within(-1, 1)
			if a.n < 2 {
				x.Interval = metrics.NoInterval()
			}
			x.P = chance(a, &few[i])
			if m.clusters != nil {
				x.Interval, x.Adjusted = metrics.NoInterval(), math.NaN()
				if by == nil || !by[i].tested() {
					x.P = math.NaN()
				} else {
					b := &by[i]
					x.Interval = b.interval(x.Gap, o.Level).Within(-1, 1)
					x.P = max(x.P, b.p(x.Gap), alike(a, &few[i], max(common, b.v/b.own)))
				}
				if by != nil {
					x.Clusters = by[i].clusters
				}
			}
			list = append(list, x)
		}
	})
	adjust(list, o.Adjust)
	slices.SortStableFunc(list, func(a, b Slice) int {
		return cmp.Or(rising(a.Adjusted, b.Adjusted), rising(a.P, b.P), cmp.Compare(math.Abs(b.Gap), math.Abs(a.Gap)))
	})
	return list, left, ""
}

// rising compares p-values, of which NaN comes last.
func rising(a, b float64) int {
	if a != a || b != b {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

// chance returns the two-sided p-value of the number of events.
func chance(a *sums, few *tails.Binomials) float64 {
	variance, mean := a.v.float(), a.p.float()
	if variance > normalBeyond {
		return 2 * kernel.NormCDF64(-math.Abs(float64(a.y)-mean)/math.Sqrt(variance))
	}
	exact := min(mean, float64(a.n)-mean) < fewExpected && len(few.N) <= exactCells
	k := float64(a.y)
	return min(1, 2*few.AtLeast(k, exact), 2*few.AtMost(k, exact))
}

// alike returns the two-sided p-value of the number of events if every d rows have one outcome.
func alike(a *sums, few *tails.Binomials, d float64) float64 {
	variance, mean, k := a.v.float(), a.p.float(), float64(a.y)
	switch {
	case !(variance > 0) || !(d >= 1): // no score leaves anything to chance
		return 0
	case variance > normalBeyond:
		return 2 * kernel.NormCDF64(-math.Abs(k-mean)/math.Sqrt(float64(variance*d)))
	case k < mean:
		return min(1, 2*few.AtMostAlike(k, d))
	}
	return min(1, 2*few.AtLeastAlike(k, d))
}

// adjust sets the adjusted p-values of a family.
func adjust(list []Slice, how Adjustment) {
	var p []*float64
	for i := range list {
		if list[i].Adjusted = list[i].P; list[i].P == list[i].P {
			p = append(p, &list[i].Adjusted)
		}
	}
	if how == BenjaminiHochberg {
		adjusted.BenjaminiHochberg(p)
	} else {
		adjusted.Holm(p)
	}
}
