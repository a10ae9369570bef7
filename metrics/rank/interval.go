package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/draw"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// kind is a group of equal rows: those of one cell with one outcome.
type kind struct {
	wrong float32 // 1 for rows without the event, else 0
	cell  int32
}

// kinds returns the groups of equal rows, highest score first, and their sizes.
func (r *Ranking) kinds() (kinds []kind, sizes []int64) {
	n := 0
	r.rows.Each(func(x *cells.Cell) {
		if int64(x.Weight-x.Events) > 0 {
			n++
		}
		if int64(x.Events) > 0 {
			n++
		}
	})
	kinds, sizes = make([]kind, n), make([]int64, n)
	// They are written from the end. Of a cell the wrong rows come first here, so the right ones stand before them.
	cell := int32(0)
	r.rows.Each(func(x *cells.Cell) {
		if wrong := int64(x.Weight - x.Events); wrong > 0 {
			n--
			kinds[n], sizes[n] = kind{wrong: 1, cell: cell}, wrong
		}
		if right := int64(x.Events); right > 0 {
			n--
			kinds[n], sizes[n] = kind{cell: cell}, right
		}
		cell++
	})
	return kinds, sizes
}

// areasOf returns the areas of a sample of n rows; times says how often each kind was drawn. It needs room for the indices of all kinds.
func areasOf(times []float64, kinds []kind, room []int32, n float64) (aurc, eaurc, augrc float64) {
	// Whether a kind was drawn at all is chance, which no CPU predicts: so the drawn ones are listed without a branch.
	room = room[:len(times)]
	drawn := 0
	for i, t := range times {
		room[drawn] = int32(i)
		if t > 0 {
			drawn++
		}
	}
	var a, g sum
	before, errors := 0.0, 0.0
	for i := 0; i < drawn; {
		k := &kinds[room[i]]
		m := times[room[i]]
		e := float64(m * float64(k.wrong))
		for i++; i < drawn && kinds[room[i]].cell == k.cell; i++ {
			t := times[room[i]]
			m += t
			e += float64(t * float64(kinds[room[i]].wrong))
		}
		if e > 0 || errors > 0 {
			a.add(e + float64((errors-float64(e*before/m))*harmonic(before, m, false)))
			g.add(float64(m*errors) + float64(e*m/2))
		}
		before += m
		errors += e
	}
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
func (r *Ranking) Intervals(level float64, o *metrics.Resampling) Intervals {
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
func (r *Ranking) replicates(o *metrics.Resampling) (v [3][]float64) {
	opt := o.OrDefault()
	kinds, sizes := r.kinds()
	u := draw.NewUrn(sizes)
	n := float64(u.Rows())
	for k := range v {
		v[k] = make([]float64, opt.Replicates)
	}
	pool.Each(opt.Threads, opt.Replicates, func() func(int) {
		h, room := u.Sample(), make([]int32, len(kinds))
		return func(i int) {
			h.Draw(draw.New(opt.Seed, uint64(i)))
			v[0][i], v[1][i], v[2][i] = areasOf(h.Times(), kinds, room, n)
		}
	})
	return v
}
