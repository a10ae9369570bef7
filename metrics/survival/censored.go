package survival

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/draw"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// Censored is an estimate, without bins, of the mean squared calibration error E w(p) (p - P(T <= horizon | p))^2 of rows that may be censored.
//
// P(T <= horizon | p) is c(p) = 1 - S(horizon | p), S the Kaplan-Meier estimate from rows of the other folds, each with a weight that falls with
// the distance of its prediction from p. Rows whose state at the horizon is known have weights 1/G(t- | p), at most 20, to stand for those that
// are not; G is the estimate for censoring in the same way. The estimate is the mean of w (p-y)(p-c) over these rows; with Orthogonal it is that
// of the influence w (p-c)(p+c-2Y), where Y is c plus the row's influence on c, which no weight can make large. Where the error is 0, both are
// negative about as often as positive.
//
// Source: Yadlowsky, Basu and Tian 2019, "A calibration metric for risk scores with survival data"; Dabrowska 1987 for the local curves.
type Censored struct {
	Squared float64 // the estimate, the median over repeats; it may be negative
	SE      float64 // its standard error, likewise
	Rows    int
	// Chosen is the bandwidth that predicts held-out folds best, and Used the one for the curves, Chosen times Rows^0.08.
	Chosen, Used float64
	// Weighted is how many rows have the largest weight, 20, in the last repeat: if they are many, few rows decide the estimate.
	Weighted int

	biased bool
}

// RMS returns the root of the mean squared error, sqrt(max(Squared, 0)); 0 is best.
func (s *Censored) RMS() float64 { return math.Sqrt(math.Max(s.Squared, 0)) }

// Interval returns the confidence interval of RMS for independent rows. Low is the root of Squared - z*SE, or 0 where this is negative. High is the
// root of Squared + z*SE, or if it is larger RMS + z*SE/(2 max(RMS, sqrt(SE))): the standard error grows about as the error itself, so that it is
// small where the estimate happens to be, and the interval of the root takes this into account. If the error is 0, the estimate converges faster than
// its standard error indicates. docs/coverage.md reports how often it holds the true error. There is none for Orthogonal, unless AsCoded: the
// estimate is too low by the variance of c, so an interval would hold the true error in only 72% to 88% of sets.
func (s *Censored) Interval(level float64) metrics.Interval {
	if s.biased {
		return metrics.NoInterval()
	}
	i := metrics.Normal(s.Squared, s.SE, level)
	r, half := s.RMS(), float64(metrics.Z(level)*s.SE)
	high := r + half/float64(2*math.Max(r, math.Sqrt(s.SE)))
	if !(s.SE > 0) {
		high = r
	}
	return metrics.Interval{Low: math.Sqrt(math.Max(i.Low, 0)), High: math.Max(math.Sqrt(math.Max(i.High, 0)), high)}
}

// Nearby selects how the weight of a row falls with its distance d from a prediction.
type Nearby uint8

const (
	Gaussian Nearby = iota // exp(-(d/h)^2)
	Cubic                  // (1-(d/h)^2)^3 for d <= h
	Nearest                // 1 for the h nearest rows
)

// ErrorWeights selects the weight w of a squared error at p.
type ErrorWeights uint8

const (
	ConstantWeights ErrorWeights = iota // 1
	RelativeWeights                     // 1/max(min(p, 1-p)^2, Truncation)
	ChiWeights                          // 1/max(p(1-p), Truncation)
)

// Product selects how hazards become a survival function.
type Product uint8

const (
	ProductLimit  Product = iota // the product of 1 - h: Kaplan-Meier
	ExponentOfSum                // exp(-sum of h): Nelson-Aalen
)

// CensoredOptions select the variant of the censored calibration error. The zero value is the default, which is that of uncertainty_metrics but
// for what AsCoded says.
type CensoredOptions struct {
	Folds      int          // 0 means 5; at most 100
	Weights    ErrorWeights // w of an error's square
	Truncation float64      // lower limit of a weight's denominator; 0 means 0.05
	Product    Product
	Nearby     Nearby
	Orthogonal bool // estimate by the mean of the influence
	Repeats    int  // of dealing rows to folds; 0 means 4; at most 100
	Normalize  bool // divide means by the mean weight

	// Attempts is the number of bandwidths to try; 0 means 20. 1/h is even between Range[0]*N+1 and Range[1]*N, over the range of the
	// predictions; the numbers of nearest rows are even between 5 + Range[0]*N and 5 + Range[1]*N. A zero Range means 0 to 0.1. Bandwidths, which
	// are above 0, replace them.
	Attempts   int
	Range      [2]float64
	Bandwidths []float64

	// AsCoded reproduces uncertainty_metrics: Squared is what it returns under the name of a root. The parts of the influence that stem from
	// censoring have the wrong sign and leave out the row's own time; the jump at the event is 1, not 1/P(T >= t | p); a row censored at the
	// horizon counts as unknown; weights are 1/G(t), not 1/G(t-). With censoring, Orthogonal is then biased and intervals miss.
	AsCoded bool

	Seed    uint64 // of the folds
	Threads int    // 0 means all; results do not depend on it
}

const (
	maxFolds   = 100
	maxRepeats = 100
	mostWeight = 20.0
	leastShare = 0.001 // of rows under observation, where the influence divides by it
)

func (o CensoredOptions) normal() CensoredOptions {
	if o.Folds == 0 {
		o.Folds = 5
	}
	if o.Truncation == 0 {
		o.Truncation = 0.05
	}
	if o.Repeats == 0 {
		o.Repeats = 4
	}
	if o.Attempts == 0 {
		o.Attempts = 20
	}
	if o.Range == [2]float64{} {
		o.Range = [2]float64{0, 0.1}
	}
	return o
}

// Validate returns an error that names the first invalid option, or nil.
func (o CensoredOptions) Validate() error {
	o = o.normal()
	switch {
	case o.Folds < 2 || o.Folds > maxFolds:
		return fmt.Errorf("survival: %d folds; there have to be 2 to %d", o.Folds, maxFolds)
	case o.Repeats < 1 || o.Repeats > maxRepeats:
		return fmt.Errorf("survival: %d repeats; there have to be 1 to %d", o.Repeats, maxRepeats)
	case !(o.Truncation > 0 && o.Truncation <= 1):
		return fmt.Errorf("survival: weights are truncated at %v; it is above 0 and at most 1", o.Truncation)
	case o.Weights > ChiWeights || o.Product > ExponentOfSum || o.Nearby > Nearest:
		return errors.New("survival: Weights, Product or Nearby has an unknown value")
	case o.Attempts < 1 || o.Attempts > 1000:
		return fmt.Errorf("survival: %d bandwidths; there have to be 1 to 1000", o.Attempts)
	case !(o.Range[0] >= 0 && o.Range[1] > o.Range[0] && o.Range[1] <= 1):
		return fmt.Errorf("survival: bandwidths from %v to %v; the ends rise from 0 to 1", o.Range[0], o.Range[1])
	}
	for _, h := range o.Bandwidths {
		if !(h > 0 && h <= 1e100) {
			return fmt.Errorf("survival: a bandwidth of %v; it is above 0 and at most 1e100", h)
		}
	}
	return nil
}

// weight returns w(p).
func (o *CensoredOptions) weight(p float64) float64 {
	switch o.Weights {
	case RelativeWeights:
		return 1 / math.Max(math.Min(float64(p*p), float64((1-p)*(1-p))), o.Truncation)
	case ChiWeights:
		return 1 / math.Max(float64(p*(1-p)), o.Truncation)
	}
	return 1
}

var (
	errRowWeights = errors.New("survival: the censored calibration error is not defined for rows with weights; repeat rows, or leave the weights out")
	errHorizon    = errors.New("survival: the horizon has to be a finite number above 0")
	errFit        = errors.New("survival: no bandwidth gives each row a curve: as coded, a kernel that is too narrow gives 0/0")
)

// CensoredOf returns the censored calibration error of predictions P(T <= horizon). o may be nil. The seed decides the folds: the rows with
// events, by time, are dealt to the folds in turn, in a random order for each round, and then the censored rows.
//
// It returns an error for rows that cannot be used, for rows with weights, and if there are fewer rows than folds. Time is proportional to the
// square of the number of rows, times Attempts + Repeats: one thread takes about 0.15 s for 1,000 and 2.5 s for 4,000.
func CensoredOf(r *Rows, horizon float64, o *CensoredOptions) (*Censored, error) {
	return censoredOf(r, horizon, o, func(folds, repeat int, seed uint64) []int32 { return r.deal(folds, seed, uint64(repeat)) })
}

// deal deals rows to folds.
func (r *Rows) deal(folds int, seed, stream uint64) []int32 {
	source := draw.New(seed, stream)
	out := make([]int32, len(r.Times))
	order := r.byTime()
	for _, events := range [2]bool{true, false} {
		var left []int32 // folds that the round has not dealt to
		for _, i := range order {
			if r.Events[i] != events {
				continue
			}
			if len(left) == 0 {
				for f := range folds {
					left = append(left, int32(f))
				}
			}
			at := source.Below(uint64(len(left)))
			out[i] = left[at]
			left = slices.Delete(left, int(at), int(at)+1)
		}
	}
	return out
}

func censoredOf(r *Rows, horizon float64, o *CensoredOptions, deal func(folds, repeat int, seed uint64) []int32) (*Censored, error) {
	if o == nil {
		o = &CensoredOptions{}
	}
	opt := o.normal()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	if err := r.Validate(true); err != nil {
		return nil, err
	}
	n := len(r.Times)
	switch {
	case r.Weights != nil:
		return nil, errRowWeights
	case !(horizon > 0 && horizon <= math.MaxFloat64):
		return nil, errHorizon
	case n < 2*opt.Folds:
		return nil, fmt.Errorf("survival: %d rows are too few for %d folds; take fewer folds", n, opt.Folds)
	}
	c := newCrossFit(r, horizon, &opt)
	s := &Censored{Rows: n, biased: opt.Orthogonal && !opt.AsCoded}
	c.use(deal(opt.Folds, 0, opt.Seed))
	least := math.Inf(1)
	for _, h := range opt.bandwidths(r) {
		if loss := c.loss(h); loss < least {
			least, s.Chosen = loss, h
		}
	}
	if math.IsInf(least, 1) {
		return nil, errFit
	}
	s.Used = float64(s.Chosen * kernel.Exp64(0.08*kernel.Log64(float64(n))))
	var estimates, errs []float64
	for repeat := range opt.Repeats {
		if repeat > 0 {
			c.use(deal(opt.Folds, repeat, opt.Seed))
		}
		est, se, capped := c.estimate(s.Used)
		s.Weighted = capped
		estimates, errs = append(estimates, est), append(errs, se)
	}
	s.Squared, s.SE = median(estimates), median(errs)
	if !(math.Abs(s.Squared) <= math.MaxFloat64) {
		return nil, errFit
	}
	return s, nil
}

// median is that of the numbers that are not NaN.
func median(v []float64) float64 {
	v = slices.DeleteFunc(slices.Clone(v), math.IsNaN)
	slices.Sort(v)
	if len(v) == 0 {
		return math.NaN()
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// bandwidths returns those to try.
func (o *CensoredOptions) bandwidths(r *Rows) []float64 {
	if len(o.Bandwidths) > 0 {
		return o.Bandwidths
	}
	n := float64(len(r.Times))
	low, high := float64(o.Range[0]*n)+1, float64(o.Range[1]*n)
	if o.Nearby == Nearest {
		low, high = float64(o.Range[0]*n)+5, float64(o.Range[1]*n)+5
	}
	span := slices.Max(r.Risks) - slices.Min(r.Risks)
	if span == 0 {
		span = 1 // all predictions are equal, so the bandwidth has no effect
	}
	out := make([]float64, o.Attempts)
	for i := range out {
		v := low
		if i > 0 {
			v = low + float64(float64(i)*((high-low)/float64(len(out)-1)))
		}
		if i > 0 && i == len(out)-1 {
			v = high
		}
		if o.Nearby != Nearest {
			v = span / v
		}
		out[i] = v
	}
	return out
}

// crossFit computes the local curves of rows from rows of other folds.
type crossFit struct {
	*Rows
	o       *CensoredOptions
	horizon float64
	grid    []float64 // distinct times up to the horizon
	column  []int32   // of each row's time on the grid; len(grid) after the horizon
	order   []int32   // rows by prediction, then time
	omega   []float64 // w of the rows
	mean    float64   // of omega
	train   [][]int32 // rows outside of each fold, by prediction
	fold    []int32
}

func newCrossFit(r *Rows, horizon float64, o *CensoredOptions) *crossFit {
	c := &crossFit{Rows: r, o: o, horizon: horizon, order: r.byTime(), column: make([]int32, len(r.Times))}
	for _, i := range c.order {
		t := r.Times[i]
		if t > horizon {
			break
		}
		if k := len(c.grid); k == 0 || c.grid[k-1] != t {
			c.grid = append(c.grid, t)
		}
	}
	if k := len(c.grid); k == 0 || c.grid[k-1] != horizon {
		c.grid = append(c.grid, horizon)
	}
	slices.SortStableFunc(c.order, func(a, b int32) int { return cmp.Compare(r.Risks[a], r.Risks[b]) })
	for i, t := range r.Times {
		k, _ := slices.BinarySearch(c.grid, t)
		c.column[i] = int32(k)
	}
	for _, p := range r.Risks {
		w := o.weight(p)
		c.omega = append(c.omega, w)
		c.mean += w
	}
	c.mean /= float64(len(r.Times))
	return c
}

// use takes other folds.
func (c *crossFit) use(fold []int32) {
	c.fold, c.train = fold, make([][]int32, c.o.Folds)
	for f := range c.train {
		for _, i := range c.order {
			if fold[i] != int32(f) {
				c.train[f] = append(c.train[f], i)
			}
		}
	}
}

// local is what the rows of other folds say near one row.
type local struct {
	*crossFit
	h   float64
	arg []float64 // of the exponential, then the weights of the training rows

	outcome, under, gone []float64    // by column of the grid, after its time: shares with events to come, under observation, censored later
	drops                [2][]float64 // of gone and outcome, at the time
	start                [2]float64   // outcome and gone before the first time
}

func (c *crossFit) local(h float64) *local {
	l := &local{crossFit: c, h: h, outcome: make([]float64, len(c.grid)), under: make([]float64, len(c.grid)), gone: make([]float64, len(c.grid))}
	l.drops = [2][]float64{make([]float64, len(c.grid)), make([]float64, len(c.grid))}
	return l
}

// fit sets the shares near row i. ok is false if no training row has any weight.
func (l *local) fit(i int) (ok bool) {
	rows := l.weigh(l.Risks[i], l.train[l.fold[i]])
	w, total := l.arg, 0.0
	for _, v := range w {
		total += v
	}
	if !(total > 0) {
		return false
	}
	for y := range l.drops {
		clear(l.drops[y])
	}
	// The shares after the horizon, and how they fall before.
	var late [2]float64
	for at, j := range rows {
		y := 0
		if l.Events[j] {
			y = 1
		}
		if k := int(l.column[j]); k < len(l.grid) {
			l.drops[y][k] += w[at]
		} else {
			late[y] += w[at]
		}
	}
	scale := 1 / total
	for k := len(l.grid) - 1; k >= 0; k-- {
		l.outcome[k], l.gone[k], l.under[k] = float64(late[1]*scale), float64(late[0]*scale), float64((late[0]+late[1])*scale)
		late[0] += l.drops[0][k]
		late[1] += l.drops[1][k]
		l.drops[0][k] *= scale
		l.drops[1][k] *= scale
	}
	l.start = [2]float64{float64(late[1] * scale), float64(late[0] * scale)}
	return true
}

// farther is how far the exponent of a weight may be below the largest: by e^-40 it adds nothing to a sum.
const farther = 40.0

// weigh returns those of the training rows, which are in the order of their predictions, that have a weight at p, and sets arg to the weights.
func (l *local) weigh(p float64, rows []int32) []int32 {
	away := func(at int) float64 { return math.Abs(p - l.Risks[rows[at]]) }
	// The nearest rows are on both sides of where p would stand.
	from, _ := slices.BinarySearchFunc(rows, p, func(j int32, p float64) int { return cmp.Compare(l.Risks[j], p) })
	to := from
	nearest := func() float64 { // of those outside of [from, to)
		d := math.Inf(1)
		if from > 0 {
			d = away(from - 1)
		}
		if to < len(rows) {
			d = min(d, away(to))
		}
		return d
	}
	within := func(reach float64) {
		for from > 0 && away(from-1) <= reach {
			from--
		}
		for to < len(rows) && away(to) <= reach {
			to++
		}
	}
	switch near := nearest(); l.o.Nearby {
	case Nearest:
		// Rows at the distance of the last of the nearest share what is left.
		many := min(max(1, int(l.h)), len(rows))
		closer, far := 0, near
		for within(far); to-from < many; within(far) {
			closer, far = to-from, nearest()
		}
		share := float64(many-closer) / float64(to-from-closer)
		l.arg = resize(l.arg, to-from)
		for k := range l.arg {
			if l.arg[k] = 1; away(from+k) == far {
				l.arg[k] = share
			}
		}
	case Cubic:
		if within(l.h); from == to && !l.o.AsCoded {
			within(near) // their limit, as h falls to it
		}
		l.arg = resize(l.arg, to-from)
		for k := range l.arg {
			u := away(from+k) / l.h
			v := 1 - float64(u*u)
			l.arg[k] = float64(float64(v*v)*v) * (15.0 / 16)
		}
		if near >= l.h && !l.o.AsCoded {
			for k := range l.arg {
				l.arg[k] = 1
			}
		}
	default:
		u := near / l.h
		least := float64(u * u)
		within(float64(l.h * math.Sqrt(least+farther)))
		l.arg = resize(l.arg, to-from)
		shift := 0.0
		if least > 600 && !l.o.AsCoded {
			shift = least // weights in units of the largest, which would be 0
		}
		for k := range l.arg {
			u := away(from+k) / l.h
			l.arg[k] = shift - float64(u*u)
		}
		kernel.ExpSliceF64(l.arg, l.arg)
	}
	rows = rows[from:to]
	for k, j := range rows {
		l.arg[k] *= l.omega[j]
	}
	return rows
}

func resize(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n, n+n/4)
	}
	return s[:n]
}

// loss returns by how much the local shares of rows with events to come, and of those censored later, miss what the rows show: the sum of
// squares over rows and times. It is NaN if a row has no curve.
func (c *crossFit) loss(h float64) float64 {
	n := len(c.Times)
	parts := make([]float64, n)
	pool.Each(c.o.Threads, n, func() func(int) {
		l := c.local(h)
		return func(i int) { parts[i] = l.miss(i) }
	})
	sum := 0.0
	for i, v := range parts {
		sum += float64(v * c.omega[i])
	}
	return sum
}

func (l *local) miss(i int) float64 {
	if !l.fit(i) {
		return math.NaN()
	}
	own := int(l.column[i]) // the row is under observation at earlier columns
	sum := 0.0
	add := func(seen bool, outcome, gone float64) {
		if seen && l.Events[i] {
			outcome -= 1
		} else if seen {
			gone -= 1
		}
		sum += float64(outcome*outcome) + float64(gone*gone)
	}
	add(true, l.start[0], l.start[1])
	for k := range l.grid {
		add(k < own, l.outcome[k], l.gone[k])
	}
	// The time just after the horizon, at which nothing happens.
	last := len(l.grid) - 1
	add(last < own, l.outcome[last], l.gone[last])
	return sum
}

// estimate returns the estimate and its standard error for one deal, and how many rows have the largest weight.
func (c *crossFit) estimate(h float64) (est, se float64, capped int) {
	n := len(c.Times)
	stat, influence, weight := make([]float64, n), make([]float64, n), make([]float64, n)
	pool.Each(c.o.Threads, n, func() func(int) {
		l := c.local(h)
		return func(i int) {
			if !l.fit(i) {
				stat[i], influence[i] = math.NaN(), math.NaN()
			} else if c.o.AsCoded {
				stat[i], influence[i], weight[i] = l.asCoded(i)
			} else {
				stat[i], influence[i], weight[i] = l.row(i)
			}
		}
	})
	var mean, middle float64
	for i, w := range c.omega {
		mean += float64(w * stat[i])
		middle += float64(w * influence[i])
		if weight[i] >= mostWeight {
			capped++
		}
	}
	over := 1.0
	if c.o.Normalize {
		over = c.mean
	}
	mean, middle = mean/float64(n)/over, middle/float64(n)/over
	spread := 0.0
	for i, w := range c.omega {
		shift := middle
		if c.o.Normalize {
			shift = float64(middle * w)
		}
		d := float64(w*influence[i]) - shift
		spread += float64(d * d)
	}
	if c.o.Orthogonal {
		mean = middle
	}
	return mean, math.Sqrt(spread) / float64(n) / over, capped
}

// step returns what survival becomes by a hazard.
func (l *local) step(s, hazard float64) float64 {
	if l.o.Product == ExponentOfSum {
		return float64(s * kernel.Exp64(-hazard))
	}
	return float64(s * (1 - hazard))
}

// row returns (p-y)(p-c) with its weight, and the influence.
func (l *local) row(i int) (stat, influence, weight float64) {
	p, t, event := l.Risks[i], l.Times[i], l.Events[i]
	horizon := len(l.grid) - 1 // its column
	own := int(l.column[i])
	before := 1.0 // share under observation before a time
	alive, uncensored := 1.0, 1.0
	var pull float64 // sum of (dN - hazard)/(Y (1 - hazard)) over times at which the row is under observation
	for k := 0; k <= horizon; k++ {
		if k == own && event {
			weight = 1 / uncensored
		}
		if d := l.drops[1][k]; d > 0 {
			hazard := d / before
			if k <= own {
				jump := -hazard
				if k == own && event {
					jump++
				}
				pull += jump / math.Max(float64(before*(1-hazard)), leastShare)
			}
			alive = l.step(alive, math.Min(hazard, 1))
		} else if k == own && event {
			pull += 1 / math.Max(before, leastShare)
		}
		if k < horizon && l.drops[0][k] > 0 {
			uncensored = l.step(uncensored, math.Min(l.drops[0][k]/math.Max(before-l.drops[1][k], l.drops[0][k]), 1))
		}
		before = l.under[k]
	}
	y := 1.0
	if t > l.horizon || t == l.horizon && !event {
		y, weight = 0, 1/uncensored
	}
	weight = math.Min(weight, mostWeight)
	c := 1 - alive
	stat = float64(float64(weight*(p-y)) * (p - c))
	return stat, float64((p - c) * (p - c - float64(2*float64(alive*pull)))), weight
}
