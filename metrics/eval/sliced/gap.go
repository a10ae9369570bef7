package sliced

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/internal/draw"
)

const (
	// gapVariance is the least sum of p(1-p) of a slice in a bin that is compared: with less the normal law is too far off.
	gapVariance = 10
	draws       = 999
	fewDraws    = 99
	drawWork    = 4e9 // additions, beyond which there are fewer draws
	drawSeed    = 1
)

// finest are the cells of groups and bins of scores.
type finest struct {
	bins int
	diff []float64 // sum y-p
	v    []float64 // sum p(1-p)
	skew []float64 // a sixth of the skewness
	sd   []float64 // sqrt(v), over what the correction for skewness adds to it
	used []int32   // cells with variance
}

// LargestGap returns the largest |sum (y-p)| / sqrt(sum p(1-p)) over all slices, the set of all rows among them, each in every bin
// of the score and over all scores, of those with sum p(1-p) >= 10. Its p is (1 + k) / (1 + B), where k of B draws are as large: each draw gives every finest cell, of a
// group and a bin, an independent normal number z with the cell's variance, bent to the cell's skewness by z + g (z^2 - 1) / 6, and adds
// them up as the rows are. The seed is fixed; B is
// 999, and less, down to 99, where there are so many slices that they would take 4e9 additions.
//
// Where rows are of clusters, the square root is that of the sum over clusters of (sum (y-p))^2, or of D sum p(1-p) if that is larger; D, the
// design effect, is by how much the former is larger in all finest cells together. A draw then gives each cluster a sign, by which all its sums are
// multiplied; those of a finest cell of m clusters are scaled so that the sum of their squares is its mean, weighted by m and 10, with D sum p(1-p).
// A slice in a bin is compared if sum p(1-p) >= 10 D and it has MinClusters clusters.
func (e *Evaluation) LargestGap() *eval.Multicalibration {
	m := e.answers()
	if m.gap != nil {
		return m.gap
	}
	a := &eval.Multicalibration{Gap: math.NaN(), GapP: math.NaN(), Exact: e.table.shift == 0}
	m.gap = a
	if a.Reason = e.reason(); a.Reason != "" {
		return a
	}
	views := slices.Clone(m.views)
	score := slices.IndexFunc(views, func(v view) bool { return v.of == nil })
	by := e.byScore(nil, EqualMass)
	if score >= 0 {
		by = views[score]
		views = slices.Delete(views, score, score+1)
	}
	f := e.finest(by)
	var signs *flips
	least := float64(gapVariance)
	if c := m.clusters; c != nil {
		if c.coarse() {
			a.Reason = coarseClusters
			return a
		}
		signs = c.flips(by, f)
		least *= signs.design
	}
	var all []*compared
	subsets(len(views), depth, func(columns []int) {
		s := sliced(views, columns, len(e.values))
		c := &compared{slicing: s, bins: f.bins, sd: make([]float64, len(s.values)*(f.bins+1))}
		c.sum(f.used, f.v, c.sd)
		var squares []float64
		var clusters []int32
		if signs != nil {
			squares, clusters = signs.variances(c)
		}
		for k, v := range c.sd {
			enough := v >= least
			if signs != nil {
				enough = enough && clusters[k] >= MinClusters
				v = math.Max(float64(v*signs.design), squares[k])
			}
			if enough {
				c.sd[k] = math.Sqrt(v)
				c.at = append(c.at, int32(k))
			} else {
				c.sd[k] = 0
			}
		}
		a.Cells += len(c.at)
		all = append(all, c)
	})
	if a.Cells == 0 && signs != nil {
		a.Reason = fmt.Sprintf("no slice has %d clusters, and sum p(1-p) >= 10 times the design effect, in a bin of scores", MinClusters)
		return a
	}
	if a.Cells == 0 {
		a.Reason = "no slice has sum p(1-p) >= 10 in a bin of scores"
		return a
	}
	room := make([]float64, e.widest(all))
	largest := func(x, room []float64) (z float64) {
		for _, c := range all {
			z = max(z, c.largest(f.used, x, room))
		}
		return z
	}
	a.Gap = largest(f.diff, room)
	a.Draws = draws
	work := float64(float64(len(f.used)+1) * float64(len(all)))
	if signs != nil {
		work += float64(len(signs.cell))
	}
	if work > drawWork/draws {
		a.Draws = max(fewDraws, int(drawWork/work))
	}
	threads := e.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var wait sync.WaitGroup
	above := make([]int, threads)
	for t := range threads {
		wait.Go(func() {
			x, room := make([]float64, len(f.v)), make([]float64, len(room))
			for b := t; b < a.Draws; b += threads {
				src := draw.New(drawSeed, uint64(b))
				if signs != nil {
					signs.draw(src, x)
				} else {
					f.draw(src, x)
				}
				if largest(x, room) >= a.Gap {
					above[t]++
				}
			}
		})
	}
	wait.Wait()
	k := 0
	for _, n := range above {
		k += n
	}
	a.GapP = float64(1+k) / float64(1+a.Draws)
	return a
}

// draw sets the sums of the finest cells to those of a draw.
func (f *finest) draw(src *draw.Source, x []float64) {
	for _, i := range f.used {
		z := src.Normal()
		x[i] = f.sd[i] * (z + float64(f.skew[i]*(float64(z*z)-1)))
	}
}

// compared are the slices of a set of columns in the bins of the score.
type compared struct {
	*slicing
	bins int
	sd   []float64 // by slice and bin, of which the last is that of all scores; 0 where it is not compared
	at   []int32   // those that are
}

// sum adds up numbers of the finest cells, by slice and bin.
func (c *compared) sum(used []int32, x, sum []float64) {
	wide := c.bins + 1
	for _, i := range used {
		at := int(c.first[int(i)/c.bins]) * wide
		sum[at+int(i)%c.bins] += x[i]
		sum[at+c.bins] += x[i]
	}
}

// largest returns the largest |sum x| / sd. room is for the sums.
func (c *compared) largest(used []int32, x, room []float64) (z float64) {
	sum := room[:len(c.sd)]
	clear(sum)
	c.sum(used, x, sum)
	for _, k := range c.at {
		z = max(z, math.Abs(sum[k])/c.sd[k])
	}
	return z
}

func (e *Evaluation) widest(all []*compared) (n int) {
	for _, c := range all {
		n = max(n, len(c.sd))
	}
	return n
}

// finest returns the cells of groups and bins.
func (e *Evaluation) finest(by view) *finest {
	f := &finest{bins: len(by.names)}
	n := len(e.values) * f.bins
	d, v, third := make([]wide, n), make([]wide, n), make([]wide, n)
	t := e.table
	key, p, b := uint64(math.MaxUint64), 0.0, 0
	for i := range t.list {
		c := &t.list[i]
		if c.key != key {
			key, p = c.key, t.score(c.key)
			b = bin(by.edges, p)
		}
		k := int(c.group)*f.bins + b
		d[k].add(times(units(1-p), c.y))
		d[k].add(times(-units(p), c.n-c.y))
		v[k].add(times(units(float64(p*(1-p))), c.n))
		third[k].add(times(units(float64(float64(p*(1-p))*(float64(1-p)-p))), c.n))
	}
	f.diff, f.v, f.skew, f.sd = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range d {
		if f.diff[i], f.v[i] = d[i].float(), v[i].float(); v[i] == (wide{}) && d[i] == (wide{}) {
			continue
		}
		f.used = append(f.used, int32(i))
		if f.v[i] > 0 {
			f.sd[i] = math.Sqrt(f.v[i])
			s := max(-1, min(1, third[i].float()/f.v[i]/f.sd[i]/6)) // cells of less than one event have no such law at all
			f.skew[i] = s
			f.sd[i] /= math.Sqrt(1 + float64(2*s*s))
		}
	}
	return f
}
