package rank

import (
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/draw"
	"github.com/candor-go/candor/metrics/parallel"
)

// Resampling controls the bootstrap. A nil *Resampling means the defaults.
type Resampling struct {
	Seed       uint64 // the same seed gives the same results on every CPU
	Replicates int    // number of bootstrap samples; 0 means 200
	Threads    int    // 0 means GOMAXPROCS; results do not depend on it
}

// fill returns the settings with defaults filled in.
func (o *Resampling) fill() (r Resampling) {
	if o != nil {
		r = *o
	}
	if r.Replicates <= 0 {
		r.Replicates = 200
	}
	return r
}

// kind is a group of equal rows: those of one cell with one outcome.
type kind struct {
	n     int64
	wrong bool
	first bool // first of its cell
}

// urn holds the rows to draw from, with replacement.
type urn struct {
	kinds []kind // highest score first
	rows  int64
	heavy []int // kinds with more than lightRows rows
	light int   // number of all other rows
}

// hand holds the rows drawn from an urn.
type hand struct {
	heavy []int64 // count for each heavy kind
	light []uint8 // count for each light row. No row is drawn 256 times: the chance is below 1/256!.
}

// lightRows is the number of rows up to which drawing the rows of a kind one by one is faster than drawing their count.
const lightRows = 16

func (r *Ranking) urn() *urn {
	u := &urn{}
	// Within a cell the right rows come last here, so they come first after the reversal.
	r.rows.Each(func(x *cells.Cell) {
		wrong, right := int64(x.Weight-x.Events), int64(x.Events)
		if wrong > 0 {
			u.kinds = append(u.kinds, kind{n: wrong, wrong: true, first: right == 0})
		}
		if right > 0 {
			u.kinds = append(u.kinds, kind{n: right, first: true})
		}
		u.rows += wrong + right
	})
	slices.Reverse(u.kinds)
	for i, k := range u.kinds {
		if k.n > lightRows {
			u.heavy = append(u.heavy, i)
		} else {
			u.light += int(k.n)
		}
	}
	return u
}

// draw draws as many rows as the urn holds.
func (h *hand) draw(u *urn, s *draw.Source) {
	left, of := u.rows, u.rows
	for j, i := range u.heavy {
		n := u.kinds[i].n
		h.heavy[j] = s.Binomial(left, float64(n)/float64(of))
		left -= h.heavy[j]
		of -= n
	}
	clear(h.light)
	for n := uint64(u.light); left > 0; left-- {
		h.light[s.Below(n)]++
	}
}

// areas returns the areas of the drawn sample.
func (h *hand) areas(u *urn) (aurc, eaurc, augrc float64) {
	n := float64(u.rows)
	var a, g sum
	before, errors, m, e := 0.0, 0.0, 0.0, 0.0
	cell := func() {
		if m == 0 {
			return
		}
		if e > 0 || errors > 0 {
			a.add(e + float64((errors-float64(e*before/m))*harmonic(before, m, false)))
			g.add(float64(m*errors) + float64(e*m/2))
		}
		before += m
		errors += e
		m, e = 0, 0
	}
	heavy, light := h.heavy, h.light
	for i := range u.kinds {
		k := &u.kinds[i]
		times := int64(0)
		if k.n > lightRows {
			times, heavy = heavy[0], heavy[1:]
		} else {
			for _, t := range light[:k.n] {
				times += int64(t)
			}
			light = light[k.n:]
		}
		if k.first {
			cell()
		}
		if m += float64(times); k.wrong {
			e += float64(times)
		}
	}
	cell()
	aurc = a.value() / n
	return aurc, math.Max(0, aurc-least(errors, n-errors, false)), g.value() / n / n
}

// Intervals holds confidence intervals of the areas of selective classification; see Ranking.Intervals.
type Intervals struct{ AURC, EAURC, AUGRC metrics.Interval }

// Intervals returns confidence intervals of the areas of selective classification, for independent rows. It uses a
// multinomial bootstrap of the cells: each replicate draws as many rows as there are, with replacement. With s the standard
// deviation of the replicates, an interval reaches from value exp(-z s/value) to value exp(z s/value), is cut to the
// possible values of the area, and on a grid is extended by the bound on either side. With E errors, s is widened by sqrt(1
// + 3/E); below 30 errors the upper end of E-AURC is that of AURC minus the area of the best order. docs/coverage.md reports
// the measured coverage, from one error on.
//
// The random numbers depend on the seed, not on threads. There are no intervals where IntervalReason gives a reason, or with
// fewer than two replicates. Each replicate walks through all distinct scores. It panics unless 0 < level < 1.
func (r *Ranking) Intervals(level float64, o *Resampling) Intervals {
	z := metrics.Z(level)
	none := metrics.NoInterval()
	if r.IntervalReason() != "" {
		return Intervals{none, none, none}
	}
	v := r.replicates(o)
	n := r.total()
	least := 1 / float64(n*n)
	widen := math.Sqrt(1 + fewErrors/r.pairs.Rest)
	interval := func(values []float64, value, bound, most float64) metrics.Interval {
		if bound != bound || len(values) < 2 {
			return none
		}
		// An area of 0 has no relative scale. If there is an error, use the smallest possible area above 0 instead.
		size := math.Max(value, least)
		f := kernel.Exp64(float64(z*float64(deviation(values)*widen)) / size)
		return metrics.Interval{Low: math.Max(0, value/f-bound), High: math.Min(most, float64(size*f)+bound)}
	}
	aurc, loose := r.AURC()
	eaurc, _ := r.EAURC()
	augrc, bound := r.AUGRC()
	all := Intervals{
		AURC:  interval(v[0], aurc, loose, 1),
		EAURC: interval(v[1], eaurc, loose, 1),
		AUGRC: interval(v[2], augrc, bound, 0.5),
	}
	if r.pairs.Rest < largeErrors && all.EAURC.High < all.AURC.High {
		// A few errors that happen to have the lowest scores do not show where further errors would be.
		all.EAURC.High = math.Max(all.EAURC.High, all.AURC.High-(aurc-eaurc))
	}
	return all
}

// IntervalReason returns the reason why there are no intervals of the areas of selective classification, or "" if there are.
func (r *Ranking) IntervalReason() string {
	switch {
	case r.rows.Weighted():
		return "rows are drawn anew, and with weights it is not known which a cell has"
	case r.total() < 2:
		return "fewer than two rows"
	case r.pairs.Rest == 0:
		return "no row is without the event: the areas are 0, and so are those of rows that are drawn from these"
	}
	return ""
}

// With E errors the deviation of the replicates is widened by sqrt(1 + fewErrors/E): a few errors are all that is known
// about the number and the scores of errors. Below largeErrors the upper end of E-AURC also uses AURC.
const (
	fewErrors   = 3
	largeErrors = 30
)

// deviation returns the standard deviation.
func deviation(x []float64) float64 {
	mean, sd, n := 0.0, 0.0, float64(len(x))
	for _, v := range x {
		mean += v
	}
	mean /= n
	for _, v := range x {
		sd += float64((v - mean) * (v - mean))
	}
	return math.Sqrt(sd / (n - 1))
}

// replicates returns the areas of the bootstrap samples.
func (r *Ranking) replicates(o *Resampling) (v [3][]float64) {
	opt := o.fill()
	u := r.urn()
	for k := range v {
		v[k] = make([]float64, opt.Replicates)
	}
	parallel.Each(opt.Threads, opt.Replicates, func() func(int) {
		h := &hand{make([]int64, len(u.heavy)), make([]uint8, u.light)}
		return func(i int) {
			h.draw(u, draw.New(opt.Seed, uint64(i)))
			v[0][i], v[1][i], v[2][i] = h.areas(u)
		}
	})
	return v
}
