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

// Resampling says how random sets of rows are drawn. A nil one is the default.
type Resampling struct {
	Seed       uint64 // the same seed gives the same answers, on every CPU
	Replicates int    // sets to draw; 0 means 200
	Threads    int    // 0 means GOMAXPROCS; answers do not depend on it
}

// fill returns them with the defaults.
func (o *Resampling) fill() (r Resampling) {
	if o != nil {
		r = *o
	}
	if r.Replicates <= 0 {
		r.Replicates = 200
	}
	return r
}

// kind is the rows of a cell that are alike.
type kind struct {
	n     int64
	wrong bool
	first bool // of its cell
}

// urn is rows to draw from, with replacement.
type urn struct {
	kinds []kind // from the highest score on
	rows  int64
	heavy []int // kinds of more than lightRows rows
	light int   // all other rows
}

// hand is what was drawn from an urn.
type hand struct {
	heavy []int64 // of each such kind
	light []uint8 // of each such row. No row is drawn 256 times: the chance is below 1/256!.
}

// lightRows is up to how many rows of a kind it is faster to draw them one by one than to draw how many there are.
const lightRows = 16

func (r *Ranking) urn() *urn {
	u := &urn{}
	// Of a cell the right rows come last, and so first when all is turned round.
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

// draw draws as many rows as there are.
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

// areas returns the areas of what was drawn.
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

// Intervals are confidence intervals of the areas of selective classification; see Ranking.Intervals.
type Intervals struct{ AURC, EAURC, AUGRC metrics.Interval }

// Intervals returns confidence intervals for independent rows, by a multinomial bootstrap of the cells: as many rows as
// there are, drawn from them with replacement, have areas whose standard deviation is s, and an interval is from value
// exp(-z s/value) to value exp(z s/value), cut to what the areas can be, and on a grid wider by the bound on either side.
// With E errors s is widened by sqrt(1 + 3/E), and below 30 of them E-AURC has the upper end of AURC less the best order's.
// The seed decides the random numbers; threads do not. docs/coverage.md has how often they hold what they estimate, from one
// error on.
//
// There is none where IntervalReason says why, nor by fewer than two replicates. A replicate takes a walk through all distinct scores. It panics unless 0 < level < 1.
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
		// An area that may be 0 although there is an error is taken as the least that is not.
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
		// Few errors that happen to stand near the end say nothing of where others would.
		all.EAURC.High = math.Max(all.EAURC.High, all.AURC.High-(aurc-eaurc))
	}
	return all
}

// IntervalReason says why there are no intervals of the areas of selective classification, "" where there are.
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

// With E errors the replicates' deviation is widened by sqrt(1 + fewErrors/E): where there are few, how many and where they stand
// is known from these few alone. Below largeErrors of them E-AURC has the upper end of AURC too.
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

// replicates returns the areas of random sets of rows, one after another.
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
