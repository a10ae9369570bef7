package binfree

import (
	"math"
	"slices"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/draw"
	"github.com/candor-go/candor/metrics/internal/pool"
	"github.com/candor-go/candor/metrics/internal/reason"
)

// The first random stream of each kind of replicates.
const (
	bootstrapStream = iota << 32
	floorStream
	bandStream
)

// replicate runs the replicates; number i uses stream first + i. newWorker is called once per thread.
func replicate(o *metrics.Resampling, first uint64, newWorker func() func(i int, s *draw.Source)) {
	opt := o.OrDefault()
	pool.Each(opt.Threads, opt.Replicates, func() func(int) {
		do := newWorker()
		return func(i int) { do(i, draw.New(opt.Seed, first+uint64(i))) }
	})
}

// kind is a group of equal rows. In a cell, those with the event come first, so that the fit pools them with the others.
type kind struct {
	loss float64
	hit  float32 // 1 for rows with the event
	run  int32   // number of its run: kinds with the event, then kinds without it, which the fit pools however often each is drawn
}

// kinds returns the groups of equal rows, with an urn to draw from, and the sum of their losses.
func (c *CORP) kinds() (kinds []kind, u *draw.Urn, whole float64) {
	n := 0
	c.rows.Each(func(x *cells.Cell) {
		if x.Events > 0 {
			n++
		}
		if x.Weight-x.Events > 0 {
			n++
		}
	})
	kinds = make([]kind, 0, n)
	sizes := make([]int64, 0, n)
	c.rows.Each(func(x *cells.Cell) {
		sides, n := sidesOf(x, c.rows)
		for _, s := range sides[:n] {
			k := kind{loss: c.proper.loss(s.v, s.rest)}
			if s.hit {
				k.hit = 1
			}
			if len(kinds) > 0 {
				last := &kinds[len(kinds)-1]
				if k.run = last.run; k.hit > last.hit {
					k.run++
				}
			}
			rows := int64(s.weight)
			kinds, sizes = append(kinds, k), append(sizes, rows)
			whole += float64(float64(rows) * k.loss)
		}
	})
	return kinds, draw.NewUrn(sizes), whole
}

// Replicates gather what they draw in runs before they fit it: runs of so many kinds or cells at a time, which stay in the first-level cache.
const resampleBlock = 1024

// replicates holds the terms of the bootstrap samples.
type replicates struct{ mcb, dsc, unc []float64 }

// bootstrap returns the terms of bootstrap samples.
func (c *CORP) bootstrap(o *metrics.Resampling) replicates {
	kinds, u, whole := c.kinds()
	spread := c.score - whole/c.total // what the scores within grid cells add; 0 for exact cells
	n := o.OrDefault().Replicates
	r := replicates{make([]float64, n), make([]float64, n), make([]float64, n)}
	replicate(o, bootstrapStream, func() func(int, *draw.Source) {
		h := u.Sample()
		var fit cells.Pool
		// Runs from the one in which a block begins.
		var runs [resampleBlock + 1]cells.Block
		return func(i int, s *draw.Source) {
			h.Draw(s)
			fit.Reset()
			score, events := 0.0, 0.0
			times := h.Times()
			runs[0] = cells.Block{}
			for from := 0; from < len(kinds); from += resampleBlock {
				to := min(from+resampleBlock, len(kinds))
				first, last := kinds[from].run, kinds[to-1].run
				if from > 0 && first > kinds[from-1].run { // the run before has ended
					if runs[0].N > 0 {
						fit.Add(runs[0])
					}
					runs[0] = cells.Block{}
				}
				clear(runs[1 : last-first+1])
				for i, n := range times[from:to] {
					k := &kinds[from+i]
					y := float64(n * float64(k.hit))
					events += y
					score += float64(n * k.loss)
					r := &runs[k.run-first]
					r.N += n
					r.Y += y
				}
				for i := range last - first {
					if runs[i].N > 0 {
						fit.Add(runs[i])
					}
				}
				runs[0] = runs[last-first]
			}
			if runs[0].N > 0 {
				fit.Add(runs[0])
			}
			left := c.proper.left(&fit) / c.total
			base := c.proper.entropy(c.total, events) / c.total
			r.mcb[i], r.dsc[i], r.unc[i] = score/c.total+spread-left, base-left, base
		}
	})
	return r
}

// coin describes the rows of a cell, for drawing new outcomes.
type coin struct {
	n         int64
	p         float64 // probability of the event
	hit, rest float64 // scores of a row with the event and of one without it; 0 where the outcome is impossible
}

// run is neighbouring cells that are pooled whatever follows: their rows and events.
type run struct{ low, high, n, y int64 }

// thrower draws new outcomes for coins.
type thrower struct {
	coins []coin
	runs  [resampleBlock + 1]run
	fit   cells.Pool
}

// coins returns a coin for each cell, with the cell's score as the probability of the event.
func (c *CORP) coins() []coin {
	k := make([]coin, 0, c.rows.Count())
	c.rows.Each(func(x *cells.Cell) {
		one := coin{n: x.N, p: x.P}
		if x.P > 0 {
			one.hit = c.proper.loss(x.P, x.Q)
		}
		if x.Q > 0 {
			one.rest = c.proper.loss(x.Q, x.P)
		}
		k = append(k, one)
	})
	return k
}

// throw draws new outcomes, fits them, and returns the sum of their scores.
func (t *thrower) throw(s *draw.Source) (score float64) {
	// An outcome is chance, which no CPU predicts: so single rows are gathered into runs without a branch.
	t.fit.Reset()
	var r run
	for from := 0; from < len(t.coins); from += resampleBlock {
		at := 0
		t.runs[0] = r
		for j := range t.coins[from:min(from+resampleBlock, len(t.coins))] {
			i := from + j
			k := &t.coins[i]
			n, y, next := int64(1), int64(0), int64(0)
			if k.n == 1 && k.p > 0 && k.p < 1 {
				y = s.Toss(draw.NewCoin(k.p))
				next = y & int64(uint64(r.y-r.n)>>63) // an event after rows without it
			} else {
				n, y = k.n, s.Binomial(k.n, k.p)
				if below := (&cells.Block{N: float64(r.n), Y: float64(r.y)}); !below.Joins(float64(n), float64(y)) {
					next = 1
				}
			}
			score += float64(float64(y)*k.hit) + float64(float64(n-y)*k.rest)
			at += int(next)
			r.low += (int64(i) - r.low) & -next
			r.n = r.n&(next-1) + n
			r.y = r.y&(next-1) + y
			r.high = int64(i)
			t.runs[at] = r
		}
		for _, r := range t.runs[:at] {
			t.add(r)
		}
	}
	if len(t.coins) > 0 {
		t.add(r)
	}
	return score
}

func (t *thrower) add(r run) {
	t.fit.Add(cells.Block{Low: float64(r.low), High: float64(r.high), N: float64(r.n), Y: float64(r.y)})
}

// floor returns the mean MCB for outcomes drawn from the scores.
func (c *CORP) floor(o *metrics.Resampling) float64 {
	coins := c.coins()
	mcb := make([]float64, o.OrDefault().Replicates)
	replicate(o, floorStream, func() func(int, *draw.Source) {
		t := &thrower{coins: coins}
		return func(i int, s *draw.Source) {
			score := t.throw(s)
			mcb[i] = (score - c.proper.left(&t.fit)) / c.total
		}
	})
	mean, _ := moments(mcb)
	return mean
}

// moments returns the mean and the standard deviation.
func moments(x []float64) (mean, sd float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v
	}
	mean /= n
	for _, v := range x {
		sd += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(sd / (n - 1))
}

// CORPIntervals holds confidence intervals of a decomposition; see CORP.Intervals.
type CORPIntervals struct {
	MCB, DSC, UNC metrics.Interval
	// Floor is the mean MCB that calibrated predictions with these scores would show: the part of MCB that is due to chance.
	Floor float64
}

// Intervals returns confidence intervals for independent rows, from a multinomial bootstrap of the cells. Each replicate
// draws as many rows as there are, with replacement. Let s be the standard deviation of a term over the replicates, and b
// its mean minus the value. For UNC the interval is value - b +- z s.
//
// MCB and DSC are both biased upward, because the fit adapts to noise. b underestimates that bias, since the bootstrap takes
// the fitted steps as the truth. The other extreme is the Floor f, the mean MCB when outcomes are drawn from the scores
// themselves. The intervals of MCB and DSC reach from value - max(b, f) - z s to value - min(b, f) + z s; on a grid the
// upper end is raised by their bound. All intervals are cut to the possible values of their term, and extended to include
// the value itself.
//
// In simulations of nine distributions with 200 to 20,000 rows (100 to 300 cases each), the coverage at level 0.95 was 0.94
// to 1.00 for MCB, 0.92 to 1.00 for DSC and 0.91 to 1.00 for UNC. Plain quantiles of the same replicates never covered the
// MCB of calibrated scores, because they add the bias a second time. Quantiles reflected at the value covered it in as few
// as 0.04 of the cases with 20,000 rows.
//
// MCB has no interval if the logarithmic score is infinite. There are no intervals with fewer than two replicates, or where
// IntervalReason gives a reason. Intervals panics unless 0 < level < 1.
func (c *CORP) Intervals(level float64, o *metrics.Resampling) CORPIntervals {
	none := metrics.NoInterval()
	z := metrics.Z(level)
	if c.IntervalReason() != "" {
		return CORPIntervals{none, none, none, math.NaN()}
	}
	r, floor := c.bootstrap(o), c.floor(o)
	most, mostMCB := c.proper.entropy(1, 0.5), math.Inf(1)
	if c.proper != Logarithmic {
		mostMCB = 1
	}
	interval := func(values []float64, value, bound, top float64, fitted bool) metrics.Interval {
		mean, sd := moments(values)
		low := mean - value
		high := low
		if fitted {
			low, high = math.Max(low, floor), math.Min(high, floor)
		}
		i := metrics.Interval{Low: value - low - float64(z*sd), High: value - high + float64(z*sd)}
		if i.High != i.High {
			return none
		}
		if bound > 0 {
			i.High += bound
		}
		// The correction for chance may exceed the width of the interval. The interval is extended to include the value.
		return metrics.Interval{Low: math.Min(math.Max(0, i.Low), value), High: math.Min(math.Max(value, i.High), math.Max(value, top))}
	}
	all := CORPIntervals{MCB: none, Floor: floor}
	if c.infinite == 0 {
		all.MCB = interval(r.mcb, c.score-c.left, c.loose+c.finer, mostMCB, true)
	}
	all.DSC = interval(r.dsc, c.base-c.left, c.finer, most, true)
	all.UNC = interval(r.unc, c.base, 0, most, false)
	return all
}

// IntervalReason says why there are no intervals and no band: fewer than two rows, or weights. It is "" if there are.
func (c *CORP) IntervalReason() string {
	switch {
	case !(c.total > 0):
		return reason.NoRows
	case c.rows.Weighted():
		return reasonOneByOne
	case c.total < 2:
		return reason.OneRow
	}
	return ""
}

const reasonOneByOne = "rows are drawn anew, and with weights it is not known which a cell has"

// BandPoint is the band at one score.
type BandPoint struct{ Score, Low, High float64 }

// bandPoints is the largest number of scores at which a band is computed.
const bandPoints = 256

// Band returns the consistency band: at each score by itself, the range that contains the fitted frequency with probability
// level if the scores are calibrated. A curve outside it indicates that scores are not calibrated there; of many points a
// share of 1 - level is outside by chance.
//
// Scores stay fixed. In each cell the number of events is drawn from a binomial distribution with the cell's score as its
// probability, and the outcomes are fitted; the band is between quantiles of these fits. It has a point at each distinct
// score, up to 256. Of more scores it takes at most 256, spread by mass and by value, including both ends. It returns nil
// where IntervalReason gives a reason. It panics unless 0 < level < 1.
//
// It is not a confidence band of the curve. Bootstraps of an isotonic fit are not consistent: bands of level 0.9 around the
// fitted curve, drawn in the same way, contained the truth at only 0.6 of the points where scores crowd at 1.
//
// Source: Dimitriadis, Gneiting and Jordan 2021, who also redraw the scores.
func (c *CORP) Band(level float64, o *metrics.Resampling) []BandPoint {
	if !(level > 0 && level < 1) {
		panic("binfree: the level of a band lies between 0 and 1")
	}
	if c.IntervalReason() != "" {
		return nil
	}
	coins := c.coins()
	at := spaced(coins, bandPoints)
	points := make([]BandPoint, len(at))
	for i, cell := range at {
		points[i].Score = coins[cell].p
	}
	n := o.OrDefault().Replicates
	fits := make([]float64, n*len(at)) // for each point, its values in all replicates
	replicate(o, bandStream, func() func(int, *draw.Source) {
		t := &thrower{coins: coins}
		return func(i int, s *draw.Source) {
			t.throw(s)
			blocks := t.fit.Blocks()
			for j, cell := range at {
				for blocks[0].High < float64(cell) {
					blocks = blocks[1:]
				}
				fits[j*n+i] = blocks[0].Y / blocks[0].N
			}
		}
	})
	for j := range points {
		f := fits[j*n : (j+1)*n]
		slices.Sort(f)
		points[j].Low, points[j].High = draw.Quantile(f, (1-level)/2), draw.Quantile(f, (1+level)/2)
	}
	return points
}

// spaced returns the indices of at most most cells: half of them spaced evenly by rank of rows, the others by score,
// including the first and the last cell. It returns all cells if there are no more than that.
func spaced(coins []coin, most int) []int {
	at := make([]int, 0, most)
	if len(coins) <= most {
		for i := range coins {
			at = append(at, i)
		}
		return at
	}
	total := int64(0)
	for i := range coins {
		total += coins[i].n
	}
	last := len(coins) - 1
	least, parts := coins[0].p, float64(most/2-1)
	rank, value := float64(total-1)/parts, (coins[last].p-least)/parts
	seen, ranks, values := int64(0), 0.0, 0.0 // totals over the cells so far
	for i := range coins {
		seen += coins[i].n
		taken := i == 0 || i == last
		for ; ranks <= parts && float64(rank*ranks) < float64(seen); ranks++ {
			taken = true
		}
		for ; values <= parts && least+float64(value*values) <= coins[i].p; values++ {
			taken = true
		}
		if taken {
			at = append(at, i)
		}
	}
	return at
}
