package recal

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/paired"
)

// Parameters returns the number of free numbers of a map of classes, by which Best orders maps from simple to complex. With K classes
//
//	temperature                  1
//	ets                          3: T and two of the three weights, which add up to 1
//	vector                       2K - 1, since a number added to all biases changes nothing
//	matrix, dirichlet            K^2 - 1, since a row added to all rows of W changes nothing either
//	platt, beta                  2 and 3 for each curve
//	spline                       the knots of each curve
//	histogram, isotonic, venn_abers, bbq: the different values of each curve
//
// Penalties do not lower it. It is 0 for a temperature of 1 that was not fitted, which leaves predictions as they are, and for maps of
// forecasts.
func Parameters(m Map) int {
	switch m := m.(type) {
	case *TemperatureMap:
		if m.T() == 1 && m.Fit().Rows == 0 {
			return 0
		}
		return 1
	case *ETSMap:
		return 3
	case *VectorMap:
		return 2*m.Fit().Classes - 1
	case *MatrixMap:
		return m.Fit().Classes*m.Fit().Classes - 1
	case *CurveMap:
		n := 0
		for _, c := range m.curves {
			n += c.free()
		}
		return n
	case *PairMap:
		n := 0
		for _, c := range m.curves {
			n += c.free()
		}
		return n
	}
	return 0
}

// free returns the number of different values of steps or points, which lie next to each other.
func free(values []float64) (n int) {
	for i, v := range values {
		if i == 0 || v != values[i-1] && v == v {
			n++
		}
	}
	return n
}

// BestOptions are options of Best. The zero value is the documented default.
type BestOptions struct {
	Options
	Loss  metrics.RowMetric // of a row of recalibrated predictions, lower is better; the default is the NLL
	Level float64           // of intervals; 0 means 0.95
}

// Change is a mean loss minus another one, of the same rows.
type Change struct {
	Value    float64          // -Inf, +Inf or NaN if one of the two or both are infinite
	Interval metrics.Interval // there is none if Value is not finite
	P        float64          // two-sided p-value of no change; NaN without an interval
}

// Candidate is a method that Best has tried.
type Candidate struct {
	Name       string
	Method     Method // nil for the predictions as they are
	Map        Map    // fitted to all rows; nil for the predictions as they are, or without a fit
	Parameters int    // of Map
	Reason     string // why there is no fit; "" if there is one
	Loss       float64
	Infinite   int64  // rows of infinite loss, whose true class gets probability 0; then Loss is +Inf
	FromLowest Change // minus the loss of the candidate with the lowest one
	FromNone   Change // minus the loss of the predictions as they are
	Within     bool   // the interval of FromLowest has 0 in it, or this is the candidate with the lowest loss
}

// None is the name of the predictions as they are, among candidates.
const None = "none"

// Choice is the answer of Best.
type Choice struct {
	Rows       int64
	Clusters   int // 0 without clusters
	Level      float64
	Candidates []Candidate // the predictions as they are, and the methods in their order
	// Lowest and Chosen are indices of Candidates: of the lowest loss, and of the fewest parameters among those within noise of it. They
	// are -1 if all losses are infinite.
	Lowest, Chosen int
}

// Best tries methods, and chooses the simplest one that is within noise of the best.
//
// Each method is fitted to all rows, and cross-fitted as by CrossFit: the loss of a row is that of the map that was fitted without the row's
// fold. The predictions as they are take part too. The candidate of the lowest mean loss is compared with each other one, row by row. A
// candidate is within noise of it if the interval of the difference of their losses has 0 in it. Of these the one with the fewest
// Parameters is chosen; of two with equally many, the one of the lower loss.
//
// The variance of a difference d is that of its rows, plus K times that of the rows of d minus what d is by the maps of all rows, of K folds:
// maps are estimates, and how they differ between folds tells, as in a jackknife, how uncertain they are. With Folds.Clusters both
// are variances of clusters. Without that term the intervals of maps that hardly differ would be too narrow by a factor of about the root of
// 2.
//
// A method whose likelihood has no maximum, in all rows or in those of a fold, has a Reason in place of a loss. Other errors end the
// search. A row whose true class gets probability 0 makes the NLL infinite, which is never the lowest. The data are read as often as the
// fits need them, and twice more.
func Best(methods []Method, d Data, f Folds, o *BestOptions) (*Choice, error) {
	if o == nil {
		o = &BestOptions{}
	}
	b := &search{d: d, folds: f, o: o, loss: o.Loss}
	if b.loss.New == nil {
		b.loss = metrics.RowMetric{Name: "nll", New: func() func([]float64, *metrics.Block) {
			return func(dst []float64, b *metrics.Block) { copy(dst, b.Stats.NLL) }
		}}
	}
	c := &Choice{Level: o.Level, Candidates: []Candidate{{Name: None}}, Lowest: -1, Chosen: -1}
	if c.Level == 0 {
		c.Level = metrics.DefaultLevel
	}
	b.tried = append(b.tried, trial{})
	for _, m := range methods {
		x, t := Candidate{Name: m.String(), Method: m, Loss: nan}, trial{}
		var err error
		if x.Map, err = m.Fit(d, &o.Options); err == nil {
			x.Parameters = Parameters(x.Map)
			t.whole = x.Map
			t.folds, err = CrossFit(m, d, f, &o.Options)
		}
		switch {
		case err == nil:
		case errors.Is(err, ErrUnreachable), errors.Is(err, ErrNoMinimum):
			x.Reason, x.FromLowest, x.FromNone = err.Error(), noChange, noChange
		default:
			return nil, fmt.Errorf("%s: %w", m, err)
		}
		c.Candidates = append(c.Candidates, x)
		b.tried = append(b.tried, t)
	}
	return c, b.judge(c)
}

var noChange = Change{nan, metrics.NoInterval(), nan}

// search is what Best works with.
type search struct {
	d     Data
	folds Folds
	o     *BestOptions
	loss  metrics.RowMetric
	tried []trial // by candidate
}

// trial has the maps of a candidate. The predictions as they are have none, nor has a method without a fit.
type trial struct {
	whole Map
	folds []Map
}

// fits reports whether candidate i has losses.
func (b *search) fits(i int) bool { return i == 0 || b.tried[i].folds != nil }

// judge reads the rows twice: for the losses, and for what they differ by.
func (b *search) judge(c *Choice) error {
	sums := make([]lossSums, len(b.tried))
	count, err := b.read(false, nil, func(add *lossAdder) func(*rowLosses) {
		mine := make([]lossSums, len(b.tried))
		add.merge = func() {
			for i := range sums {
				sums[i].mean.Merge(&mine[i].mean)
				sums[i].infinite += mine[i].infinite
			}
		}
		return func(r *rowLosses) {
			for i := range mine {
				if b.fits(i) {
					mine[i].add(r.cross[i], r.weights)
				}
			}
		}
	})
	if err != nil {
		return err
	}
	c.Rows = count.Rows()
	for i := range c.Candidates {
		x := &c.Candidates[i]
		if !b.fits(i) {
			continue
		}
		if x.Infinite = sums[i].infinite; x.Infinite > 0 {
			x.Loss = math.Inf(1)
			continue
		}
		x.Loss = sums[i].mean.Mean(count)
		if c.Lowest < 0 || x.Loss < c.Candidates[c.Lowest].Loss || x.Loss == c.Candidates[c.Lowest].Loss && x.Parameters < c.Candidates[c.Lowest].Parameters {
			c.Lowest = i
		}
	}
	return b.compare(c)
}

// lossSums are the losses of a candidate.
type lossSums struct {
	mean     paired.Losses
	infinite int64
}

func (s *lossSums) add(v, weights []float64) {
	for _, x := range v {
		if x > math.MaxFloat64 {
			s.infinite++
		}
	}
	s.mean.Add(v, weights)
}

// compare finds the changes from the lowest loss and from that of the predictions as they are, and chooses.
func (b *search) compare(c *Choice) error {
	bases := []int{0}
	if c.Lowest > 0 {
		bases = append(bases, c.Lowest)
	}
	n := len(b.tried)
	of := func(base, i int) int { return 2 * (base*n + i) } // the column of the change of a candidate, and behind it that of the maps
	var clusters *paired.Clusters
	if b.folds.Clusters {
		clusters = paired.NewClusters(of(len(bases), 0), 0, false)
	}
	fresh := func() []*paired.Means {
		l := make([]*paired.Means, of(len(bases), 0))
		for i := range l {
			l[i] = paired.NewMeans(false)
		}
		return l
	}
	means := fresh()
	count, err := b.read(true, clusters, func(add *lossAdder) func(*rowLosses) {
		mine := fresh()
		var room paired.Room
		var a, z []float64
		add.merge = func() {
			for i := range means {
				means[i].Merge(mine[i])
			}
		}
		return func(r *rowLosses) {
			rows := &paired.Rows{Weights: r.weights}
			for k, base := range bases {
				a = r.byMaps(a, base)
				for i := range n {
					if i == base || !b.fits(i) {
						continue
					}
					z = r.byMaps(z, i)
					at := of(k, i)
					mine[at].AddIn(&room, r.cross[base], r.cross[i], rows)
					mine[at+1].AddIn(&room, a, z, rows)
					if add.clusters != nil {
						r.difference(add.clusters, at, r.cross[base], r.cross[i])
						r.difference(add.clusters, at+1, a, z)
					}
				}
			}
		}
	})
	if err != nil {
		return err
	}
	if clusters != nil {
		c.Clusters = clusters.Len()
	}
	change := func(base, i int) Change {
		at := of(base, i)
		x := Change{means[at].Value(count), metrics.NoInterval(), nan}
		e, more := means[at].Error(count), means[at+1].Error(count)
		if math.IsNaN(e.SE) {
			return x
		}
		if clusters != nil {
			e, more = clusters.OfMean(at), clusters.OfMean(at+1)
			fits := b.folds.Count()
			if base > 0 { // is fitted too
				fits *= 2
			}
			e = e.Fitted(fits)
		}
		e = e.Plus(math.Sqrt(float64(b.folds.Count())) * more.SE)
		x.Interval, x.P = e.Interval(x.Value, 0, c.Level), e.P(x.Value, 0)
		return x
	}
	for i := range c.Candidates {
		x := &c.Candidates[i]
		if !b.fits(i) {
			continue
		}
		x.FromNone, x.FromLowest = Change{Interval: metrics.Interval{}, P: 1}, Change{P: 1}
		if i > 0 {
			x.FromNone = change(0, i)
		}
		switch {
		case c.Lowest < 0:
			x.FromLowest = noChange
		case c.Lowest == 0:
			x.FromLowest = x.FromNone
		case i != c.Lowest:
			x.FromLowest = change(1, i)
		}
		x.Within = i == c.Lowest || x.FromLowest.Interval.Low <= 0 && x.FromLowest.Interval.High >= 0
		if !x.Within {
			continue
		}
		if at := c.Chosen; at < 0 || x.Parameters < c.Candidates[at].Parameters || x.Parameters == c.Candidates[at].Parameters && x.Loss < c.Candidates[at].Loss {
			c.Chosen = i
		}
	}
	return nil
}

// rowLosses are the losses of some rows by candidate: by the maps that did not see them, and by the maps of all rows.
type rowLosses struct {
	cross, whole [][]float64
	weights      []float64
	clusters     []int32 // by the numbers of the sums of clusters
	d            []float64
}

// byMaps writes what the losses of a candidate change by the map of all rows. It is 0 where one of the two is infinite.
func (r *rowLosses) byMaps(dst []float64, i int) []float64 {
	dst = grown(dst, len(r.cross[i]))
	for k, v := range r.cross[i] {
		if dst[k] = v - r.whole[i][k]; !(math.Abs(dst[k]) <= math.MaxFloat64) {
			dst[k] = 0
		}
	}
	return dst
}

// difference adds b - a to a column of sums of clusters.
func (r *rowLosses) difference(to *paired.Clusters, column int, a, b []float64) {
	r.d = grown(r.d, len(a))
	for i, v := range b {
		r.d[i] = v - a[i]
	}
	to.Add(column, r.clusters, r.d, r.weights)
}

// lossAdder is the part of one goroutine.
type lossAdder struct {
	count    paired.Count
	clusters *paired.Clusters // nil without clusters
	merge    func()           // adds what the goroutine has to the whole
}

// read reads the rows once, and passes the losses of some of them at a time to what each goroutine's newVisit returned. It returns the count of
// rows. Sums of clusters are added to clusters, if it is not nil.
func (b *search) read(wholes bool, clusters *paired.Clusters, newVisit func(*lossAdder) func(*rowLosses)) (*paired.Count, error) {
	src, err := b.d.Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	workers := b.o.workers()
	adders := make([]*lossAdder, workers)
	visits := make([]func(*metrics.Chunk) error, workers)
	var mu sync.Mutex
	names := map[string]bool{} // of clusters, of all goroutines
	for w := range visits {
		a := &lossAdder{}
		if clusters != nil {
			a.clusters = clusters.Empty()
		}
		adders[w] = a
		visit := newVisit(a)
		l := newLosser(b, wholes)
		visits[w] = func(c *metrics.Chunk) error {
			c = counted(c)
			r, err := l.losses(c)
			if err != nil || len(r.cross[0]) == 0 {
				return err
			}
			a.count.Add(len(r.cross[0]), max(2, c.Classes), r.weights)
			if a.clusters != nil {
				mu.Lock()
				for i, k := range r.clusters {
					name := clusterName(l.named, k)
					names[name] = true
					r.clusters[i] = a.clusters.Number(name)
				}
				full := int64(len(names))*int64(workers)*a.clusters.Bytes()/int64(max(1, a.clusters.Len())) > b.o.memory()
				mu.Unlock()
				if full {
					return fmt.Errorf("the sums of %d clusters and more do not fit into %v; raise it, or compare fewer methods", len(names), setting.FitMemory)
				}
				a.clusters.AddRows(r.clusters, r.weights)
			}
			visit(r)
			return nil
		}
	}
	if err := metrics.Feed(src, visits...); err != nil {
		return nil, err
	}
	count := &paired.Count{}
	for _, a := range adders {
		if err := count.Merge(&a.count); err != nil {
			return nil, err
		}
		if a.merge(); clusters != nil {
			clusters.Merge(a.clusters)
		}
	}
	return count, nil
}

// losser finds the losses of rows, for one goroutine.
type losser struct {
	*search
	rowLosses
	walkers [2][]*metrics.Walker // by candidate: of maps of folds and of all rows
	named   func(int32) string   // the names of the chunk's clusters, or nil
}

func newLosser(b *search, wholes bool) *losser {
	l := &losser{search: b}
	n := len(b.tried)
	l.cross, l.whole = make([][]float64, n), make([][]float64, n)
	for side, to := range [][][]float64{l.cross, l.whole} {
		l.walkers[side] = make([]*metrics.Walker, n)
		if side == 1 && !wholes {
			break
		}
		for i := range n {
			if !b.fits(i) || side == 1 && i == 0 {
				continue
			}
			value := b.loss.New()
			l.walkers[side][i] = metrics.NewWalker(nil, b.loss.Need, func(k *metrics.Block) {
				at := len(to[i])
				to[i] = append(to[i], make([]float64, k.Rows)...)
				value(to[i][at:], k)
				if i == 0 && side == 0 {
					l.weights = append(l.weights, k.Weights...)
					l.rowLosses.clusters = append(l.rowLosses.clusters, k.Clusters...)
					l.named = k.ClusterName
				}
			})
		}
	}
	return l
}

// losses returns the losses of the rows of a chunk, which hold until the next call.
func (l *losser) losses(c *metrics.Chunk) (*rowLosses, error) {
	l.weights, l.rowLosses.clusters = l.weights[:0], l.rowLosses.clusters[:0]
	for side, walkers := range l.walkers {
		to := [][][]float64{l.cross, l.whole}[side]
		for i, w := range walkers {
			if w == nil {
				continue
			}
			to[i] = to[i][:0]
			d := c
			switch t := l.tried[i]; {
			case i == 0:
			case side == 0:
				var err error
				if d, err = crossed(t.folds, l.folds, c); err != nil {
					return nil, err
				}
			default:
				o, err := newOutcome(c, t.whole)
				if err != nil {
					return nil, err
				}
				o.apply(t.whole, &c.Scores, c.Kind)
				d = o.chunk(c)
			}
			w.Add(d)
			if err := w.Err(); err != nil {
				return nil, err
			}
		}
	}
	l.whole[0] = l.cross[0]
	if len(l.weights) == 0 {
		l.weights = nil
	}
	return &l.rowLosses, nil
}
