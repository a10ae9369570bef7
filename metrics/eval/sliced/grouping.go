package sliced

import (
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// cell counts the rows of a set of rows, and those with the event.
type cell struct{ n, y int64 }

// pairs returns an unbiased estimate of n times the square of the probability: the pairs of different rows that both have the event,
// over n - 1.
func (c cell) pairs() float64 {
	if c.n < 2 {
		return 0
	}
	return float64(float64(c.y)*float64(c.y-1)) / float64(c.n-1)
}

// mean returns the frequency of the event.
func (c cell) mean() float64 { return float64(c.y) / float64(c.n) }

// chance returns what pairs of rows of the cell vary by where nothing else does: twice the square of the variance of an outcome. taken is what
// squares of estimated influences have of it, for the noise of the mean.
func (c cell) chance() (v, taken float64) {
	if c.n < 2 {
		return 0, 0
	}
	k := float64(c.n) / float64(c.n-1)
	plain := float64(c.mean() * (1 - c.mean()))
	return float64(2 * float64(plain*plain) * float64(k*k*k)), float64(4 * float64(plain*plain))
}

// influence returns what a row with the outcome o adds to n times the square of a mean.
func influence(o, mean float64) float64 { return float64(2*float64(o*mean)) - float64(mean*mean) }

// Grouping returns the lower bound of the grouping loss, with this many bins of equal width by score. Regions are the combinations of the
// columns' values; the score itself is no region. The frequency by score is a line within each bin.
func (e *Evaluation) Grouping(bins int) *eval.Grouping {
	g := &eval.Grouping{Exact: e.table.shift == 0}
	if g.Reason = e.reason(); g.Reason != "" {
		return g
	}
	regions := e.regions()
	edges := kernel.Edges(bins)
	list := e.table.list

	bin := make([]int32, len(list)) // of each cell
	lines := make([]line, bins)
	at := int32(0)
	for i := range list {
		p := e.table.score(list[i].key)
		for int(at) < bins-1 && edges[at+1] <= p {
			at++
		}
		bin[i] = at
		lines[at].add(p, list[i].n, list[i].y)
	}
	for i := range lines {
		lines[i].fit()
	}

	// Regions within bins. Those of one row have no pairs, and are left out with their rows.
	index := map[[2]int32]int32{}
	of := make([]int32, len(list))
	var cells []cell
	for i := range list {
		k := [2]int32{bin[i], regions[list[i].group]}
		j, met := index[k]
		if !met {
			j = int32(len(cells))
			index[k] = j
			cells = append(cells, cell{})
		}
		of[i] = j
		cells[j].n += list[i].n
		cells[j].y += list[i].y
	}
	valid := make([]cell, bins)
	rows := int64(0)
	for i := range list {
		if cells[of[i]].n > 1 {
			valid[bin[i]].n += list[i].n
			valid[bin[i]].y += list[i].y
			rows += list[i].n
		}
	}
	if rows == 0 {
		g.Reason = "no two rows share a region and a bin"
		return g
	}
	n := float64(e.table.rows)
	scale := n / float64(rows)
	var explained, induced exact.Sum
	var single, taken [2]exact.Sum // of what is explained and what is induced
	pairs := func(l []cell, sign float64) {
		for _, c := range l {
			explained.AddFloat(float64(sign * c.pairs()))
			v, noise := c.chance()
			single[0].AddFloat(float64(sign * float64(v*float64(scale*scale))))
			taken[0].AddFloat(float64(sign * float64(noise*float64(scale*scale))))
		}
	}
	pairs(cells, 1)
	pairs(valid, -1)
	for i := range lines {
		l := &lines[i]
		induced.AddFloat(l.value)
		single[1].AddFloat(float64(2 * float64(l.rest*l.rest)))
		taken[1].AddFloat(float64(4 * float64(l.rest*l.rest)))
	}
	g.Rows, g.LeftOut = e.table.rows, e.table.rows-rows
	g.Explained.Value = explained.Float64() / float64(rows)
	g.Induced.Value = induced.Float64() / n
	g.Loss.Value = g.Explained.Value - g.Induced.Value

	// The variance of each: that of the rows' influences, less the noise in them, and that of single pairs.
	var mean, square [2]exact.Sum
	for i := range list {
		c := &list[i]
		l, p := &lines[bin[i]], e.table.score(c.key)
		for o, k := range [2]int64{c.n - c.y, c.y} {
			x := float64(o)
			var v [2]float64
			if r := cells[of[i]]; r.n > 1 {
				v[0] = float64(scale * (influence(x, r.mean()) - influence(x, valid[bin[i]].mean())))
			}
			v[1] = influence(x-l.y, float64(l.slope*(p-l.p)))
			for j, v := range v {
				mean[j].AddFloat(float64(float64(k) * v))
				square[j].AddFloat(float64(float64(k) * float64(v*v)))
			}
		}
	}
	for j, to := range []*eval.Estimate{&g.Explained, &g.Induced} {
		m := mean[j].Float64() / n
		parts := square[j].Float64() - float64(n*float64(m*m)) - taken[j].Float64()
		to.Interval = between(to.Value, math.Max(0, parts)/(n*n), math.Max(0, single[j].Float64())/(n*n), metrics.Z(e.whole.Spec.Level))
	}
	// Of a difference of two estimates each end is off by both of theirs.
	up, down := g.Explained, g.Induced
	off := func(x, y float64) float64 { return math.Sqrt(float64(x*x) + float64(y*y)) }
	g.Loss.Interval.Low = g.Loss.Value - off(up.Value-up.Interval.Low, down.Interval.High-down.Value)
	g.Loss.Interval.High = g.Loss.Value + off(up.Interval.High-up.Value, down.Value-down.Interval.Low)
	return g
}

// between returns the values t with |value - t| <= z sqrt(t parts / max(value, sqrt(single)) + single). The variance of rows' influences grows with the
// value itself, and is 0 where it is 0, so it is taken as proportional to t.
func between(value, parts, single, z float64) metrics.Interval {
	slope := 0.0
	if most := math.Max(value, math.Sqrt(single)); most > 0 {
		slope = parts / most
	}
	shift := float64(float64(z*z) * slope / 2)
	half := math.Sqrt(float64(float64(z*z)*math.Max(0, float64(slope*value)+single)) + float64(shift*shift))
	return metrics.Interval{Low: math.Min(value, value+shift-half), High: math.Max(value, value+shift+half)}
}

// line is the least-squares line of outcomes on the scores of a bin.
type line struct {
	rows, events float64
	sp, spp, spy exact.Sum // sums of p, p*p and p*y

	p, y  float64 // means
	slope float64
	rest  float64 // variance of outcomes about the line
	value float64 // the rows times the variance of the line, without chance
}

func (l *line) add(p float64, n, y int64) {
	l.rows += float64(n)
	l.events += float64(y)
	l.sp.AddFloat(float64(p * float64(n)))
	l.spp.AddFloat(float64(float64(p*p) * float64(n)))
	l.spy.AddFloat(float64(p * float64(y)))
}

// fit leaves the line level with fewer than three rows, and where all scores are nearly equal.
func (l *line) fit() {
	if l.rows == 0 {
		return
	}
	l.p, l.y = l.sp.Float64()/l.rows, l.events/l.rows
	x := l.spp.Float64() - float64(l.rows*float64(l.p*l.p))
	if l.rows < 3 || !(x > float64(l.rows*1e-12)) {
		return
	}
	xy := l.spy.Float64() - float64(l.events*l.p)
	l.slope = xy / x
	line := float64(l.slope * xy)
	l.rest = math.Max(0, float64(l.events*(1-l.y))-line) / (l.rows - 2)
	l.value = line - l.rest
}

// regions numbers the combinations of values of all columns but the score, by group.
func (e *Evaluation) regions() []int32 {
	views := e.answers().views
	of := make([]int32, len(e.values))
	index := map[string]int32{}
	var key []byte
	for g := range of {
		key = key[:0]
		for _, v := range views {
			if v.of != nil {
				for x := uint32(v.of[g]); ; x >>= 7 {
					if key = append(key, byte(x&0x7f)); x < 0x80 {
						break
					}
					key[len(key)-1] |= 0x80
				}
			}
		}
		i, met := index[string(key)]
		if !met {
			i = int32(len(index))
			index[string(key)] = i
		}
		of[g] = i
	}
	return slices.Clip(of)
}
