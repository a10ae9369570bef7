package sliced

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/clustered"
	"github.com/candor-go/candor/metrics/internal/shares"
)

// MinClusters is the smallest number of clusters of a slice that is tested, and of a slice in a bin of scores that is compared. The
// errors of fewer are too uncertain for the small p-values that count among many tests.
const MinClusters = 10

// coarsest is the coarsest grid of scores by which the cells of clusters are in bins of scores: 2^-7 of a score.
const coarsest = 46

// pairs accumulates the cells of pairs of a group and a cluster: rows of a slice that depend on each other. It is a metrics.Accumulator as table is.
type pairs struct {
	table
	index  map[[2]int32]int32
	of     [][2]int32       // the group and cluster of each pair
	names  map[int32]string // of clusters
	number []int32          // of the pair of each row of a block
}

func newPairs() *pairs { return &pairs{index: map[[2]int32]int32{}, names: map[int32]string{}} }

func (p *pairs) Empty() metrics.Accumulator { return newPairs() }

// AddBlock adds the rows of a block.
func (p *pairs) AddBlock(b *metrics.Block) {
	if b.Clusters == nil {
		panic("sliced: rows have no clusters")
	}
	p.number = slices.Grow(p.number[:0], b.Rows)[:b.Rows]
	last, at := [2]int32{-1, -1}, int32(0)
	for i, k := range b.Clusters[:b.Rows] {
		if pair := [2]int32{b.Groups[i], k}; pair != last {
			last, at = pair, p.at(pair)
			if _, ok := p.names[k]; !ok {
				p.names[k] = strconv.Itoa(int(k))
				if b.ClusterName != nil {
					p.names[k] = b.ClusterName(k)
				}
			}
		}
		p.number[i] = at
	}
	p.add(b, p.number)
}

// at returns the number of a pair, which may be new.
func (p *pairs) at(pair [2]int32) int32 {
	at, ok := p.index[pair]
	if !ok {
		at = int32(len(p.of))
		p.index[pair], p.of = at, append(p.of, pair)
	}
	return at
}

// Merge adds other pairs of the same groups and clusters.
func (p *pairs) Merge(other metrics.Accumulator) error {
	o, ok := other.(*pairs)
	if !ok {
		return fmt.Errorf("%w: sliced.pairs and %T", metrics.ErrMismatch, other)
	}
	to := make([]int32, len(o.of))
	for i, pair := range o.of {
		to[i] = p.at(pair)
	}
	for k, name := range o.names {
		p.names[k] = name
	}
	o.renumber(to, len(p.of))
	return p.table.Merge(&o.table)
}

// named returns the values of a pair: those of its group, and the name of its cluster.
func (p *pairs) named(values func(group int32) []string) func(pair int32) []string {
	return func(pair int32) []string {
		return append(slices.Clone(values(p.of[pair][0])), p.names[p.of[pair][1]])
	}
}

// clusterCells are the cells of clusters, prepared for answers.
type clusterCells struct {
	*groupCells
	group   []int32 // of each pair
	cluster []int32 // of each pair: clusters have numbers in the order of their names
	order   []int32 // pairs in the order of clusters, then of groups
	number  int     // of clusters
}

// byClusters prepares the cells of clusters; nil if rows are independent.
func (e *Evaluation) byClusters() *clusterCells {
	if e.clusters == nil {
		return nil
	}
	c := &clusterCells{groupCells: e.clusters, group: make([]int32, len(e.clusters.values)), cluster: make([]int32, len(e.clusters.values))}
	width := len(e.given())
	var names []string
	for _, v := range c.values {
		names = append(names, v[width])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	c.number = len(names)
	for i, v := range c.values {
		g, _ := slices.BinarySearchFunc(e.values, v[:width], slices.Compare[[]string])
		k, _ := slices.BinarySearch(names, v[width])
		c.group[i], c.cluster[i] = int32(g), int32(k)
		c.order = append(c.order, int32(i))
	}
	slices.SortFunc(c.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.cluster[a], c.cluster[b]), cmp.Compare(c.group[a], c.group[b]))
	})
	return c
}

// part is the rows of a cluster in a slice: their number, and the sum of scores less outcomes.
type part struct {
	n, gap float64
}

// parts returns the rows of each slice by clusters, in the order of these.
func (c *clusterCells) parts(e *Evaluation, s *slicing) [][]part {
	all := make([][]part, len(s.values))
	now, met := make([]part, len(s.values)), []int32(nil)
	cluster := int32(0)
	end := func() {
		for _, k := range met {
			all[k] = append(all[k], now[k])
			now[k] = part{}
		}
		met = met[:0]
	}
	add := func(of, slice int32, n int64, gap float64) {
		if of != cluster {
			end()
			cluster = of
		}
		if now[slice].n == 0 {
			met = append(met, slice)
		}
		now[slice].n += float64(n)
		now[slice].gap += gap
	}
	if s.edges == nil {
		for _, i := range c.order {
			g := &c.table.groups[i]
			add(c.cluster[i], s.first[c.group[i]], g.n, g.p.minus(times(unit, g.y)).float())
		}
	} else {
		for _, i := range c.inOrder() {
			x := &c.table.list[i]
			p := c.table.score(x.key)
			add(c.cluster[x.group], s.first[c.group[x.group]]+int32(bin(s.edges, p)), x.n, float64(p*float64(x.n))-float64(x.y))
		}
	}
	end()
	return all
}

// inOrder returns the cells in the order of clusters, then of their keys.
func (c *clusterCells) inOrder() []int32 {
	l := make([]int32, len(c.table.list))
	for i := range l {
		l[i] = int32(i)
	}
	slices.SortStableFunc(l, func(a, b int32) int {
		return cmp.Compare(c.cluster[c.table.list[a].group], c.cluster[c.table.list[b].group])
	})
	return l
}

// coarse reports whether scores of the cells are on so coarse a grid that bins of them mean little.
func (c *clusterCells) coarse() bool { return c.table.shift > coarsest }

const coarseClusters = "there are too many clusters with other scores in them"

// spread is the error of the gap of a slice by its clusters.
type spread struct {
	clusters int
	v, own   float64 // variance by clusters, and that of independent rows whose scores are right
	df       float64
}

// spreadOf returns the error of a gap over the clusters of a slice.
func spreadOf(l []part, rows int64, gap, own float64) spread {
	n := float64(rows)
	x := spread{clusters: len(l), own: own / float64(n*n), df: math.NaN(), v: math.NaN()}
	if len(l) < 2 {
		return x
	}
	sizes, moves := make([]float64, len(l)), make([]float64, len(l))
	for i, p := range l {
		sizes[i], moves[i] = p.n, p.gap-float64(p.n*gap)
	}
	of := shares.New(sizes)
	of.Even(moves)
	sum := 0.0
	for _, d := range moves {
		sum += float64(d * d)
	}
	g := float64(len(l))
	x.v, x.df = float64(g/(g-1)*sum)/float64(n*n), of.DF
	return x
}

// tested reports whether there are clusters enough.
func (x *spread) tested() bool { return x.clusters >= MinClusters && x.df > 0 && x.v == x.v }

// interval returns the interval of a gap.
func (x *spread) interval(gap, level float64) metrics.Interval {
	h := float64(clustered.Quantile(level, x.df) * math.Sqrt(math.Max(x.v, x.own)))
	return metrics.Interval{Low: gap - h, High: gap + h}
}

// p returns the two-sided p-value of a gap by Student's distribution.
func (x *spread) p(gap float64) float64 {
	if gap == 0 {
		return 1
	}
	return clustered.P(gap/math.Sqrt(math.Max(x.v, x.own)), x.df)
}

// design returns by how much the variance by clusters is larger, at least 1, of slices of these numbers of rows taken together.
func design(l []spread, rows []int64) float64 {
	v, own := 0.0, 0.0
	for i := range l {
		if x := &l[i]; x.v == x.v {
			square := float64(rows[i]) * float64(rows[i])
			v += float64(x.v * square)
			own += float64(x.own * square)
		}
	}
	if !(v > own) {
		return 1
	}
	return v / own
}
