package paired

import (
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/internal/shares"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// shares returns what the sizes of the clusters say.
func (c *Clusters) shares() shares.Of {
	each, _ := c.sizes()
	return shares.New(each)
}

// spread returns the error of a value that clusters move by these amounts, in units of 1/total, whose sum is 0: the square root of
// sum T_g^2/(1-s_g) / total^2, where s_g is a cluster's share of the rows. Degrees of freedom are G-1 for G clusters of one size, fewer where
// sizes differ. It is unknown for one cluster.
func (c *Clusters) spread(moves []float64, total float64) Error {
	g := float64(len(moves))
	of := c.shares()
	if !(of.DF > 0) {
		return unknown
	}
	of.Even(moves)
	most := 0.0
	for _, t := range moves {
		if t-t != 0 {
			return unknown
		}
		most = math.Max(most, math.Abs(t))
	}
	if most == 0 {
		return Error{SE: 0, DF: of.DF, clusters: of.Number}
	}
	v := 0.0
	for _, t := range moves { // in units of the largest one, whose square may be outside the range
		v += float64(t / most * (t / most))
	}
	return Error{SE: most * math.Sqrt(float64(v*(g/(g-1)))) / total, DF: of.DF, clusters: of.Number}
}

// slack is how many units in the last place of its terms a difference may be off by rounding. Below it is 0.
const slack = 8 * 0x1p-53

// spreadOf is spread of amounts that f returns times a unit of 1, or a smaller one if they exceed the range of float64, with their skewness.
func (c *Clusters) spreadOf(total float64, f func(unit float64) []float64) Error {
	moves := f(1)
	if slices.ContainsFunc(moves, func(t float64) bool { return t-t != 0 }) {
		moves, total = f(0x1p-64), float64(total*0x1p-64)
	}
	e := c.spread(moves, total)
	e.skew = shares.Skew(moves)
	return e
}

// around returns by how much each cluster's sum of a column is above what its rows have on average, times unit, a power of two.
func (c *Clusters) around(column int, each []float64, total *exact.Sum, unit float64) []float64 {
	var all exact.Sum
	for i := range c.names {
		all.Merge(&c.sums[i*c.columns+column])
	}
	mean := exact.Ratio(&all, total)
	rest := make([]float64, len(each))
	var per exact.Sum
	per.AddExact(1 / unit)
	for i, n := range each {
		s := &c.sums[i*c.columns+column]
		sum, part := s.Float64(), float64(float64(n*unit)*mean)
		if unit != 1 {
			sum = exact.Ratio(s, &per)
		}
		if d := sum - part; d-d != 0 || math.Abs(d) > float64(slack*math.Max(math.Abs(sum), math.Abs(part))) {
			rest[i] = d
		}
	}
	return rest
}

// OfMean returns the error of the mean of a column over the rows. It is that of a regression on a constant with errors clustered by
// the names. It is unknown for one cluster.
//
// Source: Liang and Zeger 1986.
func (c *Clusters) OfMean(column int) Error {
	c.settle()
	each, total := c.sizes()
	return c.spreadOf(total.Float64(), func(unit float64) []float64 { return c.around(column, each, &total, unit) })
}

// OfFunction returns the error of the difference f(mean of B) - f(mean of A), of columns of the differences and of A's losses, where
// slopeA and slopeB are the derivatives of f at the two means. It is unknown for one cluster.
func (c *Clusters) OfFunction(difference, a int, slopeA, slopeB float64) Error {
	c.settle()
	each, total := c.sizes()
	return c.spreadOf(total.Float64(), func(unit float64) []float64 {
		moves := c.around(difference, each, &total, unit)
		for i, x := range c.around(a, each, &total, unit) {
			moves[i] = float64(slopeB*moves[i]) + float64((slopeB-slopeA)*x)
		}
		return moves
	})
}

// OfSkill returns the error of the difference of skills 1 - loss/reference by a column of the losses' differences and a list of marks
// whose keys are the rows' labels. reference and influence are as for Means.OfSkill. It is unknown for one cluster. Of two labels it has at most
// m - 1 degrees of freedom, where m clusters have the rarer one.
func (c *Clusters) OfSkill(difference, labels int, reference float64, influence []float64) Error {
	c.settle()
	each, total := c.sizes()
	var all exact.Sum
	for i := range c.names {
		all.Merge(&c.sums[i*c.columns+difference])
	}
	ratio := exact.Ratio(&all, &total) / reference
	e := c.spreadOf(float64(total.Float64()*reference), func(unit float64) []float64 {
		moves := c.around(difference, each, &total, unit)
		for _, m := range c.lists[labels].items {
			if m.key < uint64(len(influence)) {
				moves[m.cluster] -= float64(ratio * float64(float64(float64(m.n)*m.weight)*float64(influence[m.key]*unit)))
			}
		}
		return moves
	})
	if len(influence) > 2 {
		return e
	}
	with, last := [2]float64{}, [2]int32{-1, -1}
	for _, m := range c.lists[labels].items {
		if k := m.key & 1; last[k] != m.cluster {
			last[k] = m.cluster
			with[k]++
		}
	}
	return limited(math.Min(with[0], with[1]), e)
}

// View is what one model makes of its scores: those of a list of marks, whose keys Scores wrote.
type View struct {
	side
	c     *Clusters
	list  int
	w     []float64 // of each mark
	total float64
	with  [2]float64 // clusters that have rows without and with the event
}

// View returns a list's rows as a model of a task of so many classes sees them, 1 for a binary one.
func (c *Clusters) View(list, classes int, e Event) *View {
	c.settle()
	items := c.lists[list].items
	v := &View{c: c, list: list, w: make([]float64, len(items))}
	v.at, v.hit = make([]int32, len(items)), make([]uint8, len(items))
	keys := make([]uint64, len(items))
	last := [2]int32{-1, -1}
	for i := range items {
		m := &items[i]
		k := m.key
		if e == TopLabel && classes == 1 {
			k = topKey(k)
		}
		v.w[i] = float64(float64(m.n) * m.weight)
		v.total += v.w[i]
		keys[i], v.hit[i] = k>>1, uint8(k&1)
		if h := k & 1; last[h] != m.cluster {
			last[h] = m.cluster
			v.with[h]++
		}
	}
	each := slices.Clone(keys)
	slices.Sort(each)
	each = slices.Compact(each)
	for _, k := range each {
		q, upper := tally.Distance(k)
		if upper {
			v.p, v.q = append(v.p, 1-q), append(v.q, q)
		} else {
			v.p, v.q = append(v.p, q), append(v.q, 1-q)
		}
	}
	v.rest, v.events = make([]float64, len(each)), make([]float64, len(each))
	for i, k := range keys {
		at, _ := slices.BinarySearch(each, k)
		if v.at[i] = int32(at); v.hit[i] == 1 {
			v.events[at] += v.w[i]
		} else {
			v.rest[at] += v.w[i]
		}
	}
	return v
}

// moves adds what the rows of each cluster add to a value by their influence, times sign; of rows with one outcome if only is 0 or 1.
func (v *View) moves(dst []float64, f influence, sign float64, only int) {
	for i, m := range v.c.lists[v.list].items {
		if h := v.hit[i]; only < 0 || int(h) == only {
			dst[m.cluster] += float64(sign * float64(v.w[i]*f[h][v.at[i]]))
		}
	}
}

// alike reports whether two models have the same marks.
func (v *View) alike(o *View) bool {
	return v.c == o.c && slices.Equal(v.c.lists[v.list].items, o.c.lists[o.list].items)
}

// between returns the error of the difference of a metric that rows move by these influences.
func (v *View) between(o *View, a, b influence) Error {
	if v.alike(o) {
		return v.c.spread(make([]float64, v.c.Len()), 1)
	}
	moves := make([]float64, v.c.Len())
	v.moves(moves, a, -1, -1)
	o.moves(moves, b, 1, -1)
	return v.limited(o, v.c.spread(moves, v.total))
}

// AUROC returns the error of the difference of the areas under the ROC of o and v. If both models have the same event, as those of a
// binary task for class 1, it is Obuchowski's: DeLong's structural components are summed over the rows of a cluster, apart for rows with
// and without the event. Else rows count by their influence, and the variance is larger by 3/m for m clusters that have the rarer outcome. It is unknown if a model has rows of one outcome only, if those of an
// outcome are of one cluster, or for one cluster.
//
// Source: Obuchowski 1997.
func (v *View) AUROC(o *View, shared bool) Error {
	for _, m := range []*View{v, o} {
		if m.with[0] == 0 || m.with[1] == 0 {
			return unknown
		}
	}
	if !shared || v.alike(o) {
		e := v.between(o, v.auroc(), o.auroc())
		if !shared {
			e.SE *= v.few(o)
		}
		return e
	}
	fv, fo := v.auroc(), o.auroc()
	g := float64(v.c.Len())
	if v.with[0] < 2 || v.with[1] < 2 {
		return unknown
	}
	var sums [2][]float64
	for h := range sums {
		sums[h] = make([]float64, v.c.Len())
		v.moves(sums[h], fv, -1, h)
		o.moves(sums[h], fo, 1, h)
	}
	of := v.c.shares()
	if !(of.DF > 0) {
		return unknown
	}
	of.Even(sums[0])
	of.Even(sums[1])
	rest, events, both := 0.0, 0.0, 0.0
	for i, x := range sums[0] {
		y := sums[1][i]
		rest += float64(x * x)
		events += float64(y * y)
		both += float64(x * y)
	}
	square := float64(rest*(v.with[0]/(v.with[0]-1))) + float64(events*(v.with[1]/(v.with[1]-1))) + float64(2*both*(g/(g-1)))
	return v.limited(o, Error{SE: math.Sqrt(math.Max(0, square)) / v.total, DF: of.DF, clusters: of.Number})
}

// rarer is the number of clusters that have the outcome, of either model, which fewest of them have.
func (v *View) rarer(o *View) float64 {
	return math.Min(math.Min(v.with[0], v.with[1]), math.Min(o.with[0], o.with[1]))
}

// few is Sides.few, by clusters that have rows of the rarer outcome.
func (v *View) few(o *View) float64 {
	if least := v.rarer(o); least > 0 {
		return math.Sqrt(1 + 3/least)
	}
	return math.NaN()
}

// limited returns an error with at most m - 1 degrees of freedom, of m clusters that have the rarer outcome: they make up most of the variance
// of what depends on scores. It is unknown for m = 1, unless no cluster moves the difference.
func (v *View) limited(o *View, e Error) Error { return limited(v.rarer(o), e) }

func limited(clusters float64, e Error) Error {
	if e.SE == 0 {
		return e
	}
	if clusters < 2 {
		return unknown
	}
	e.DF = math.Min(e.DF, clusters-1)
	return e
}

// Selective is Sides.Selective of the difference of o and v, by the influence of the rows of each cluster.
func (v *View) Selective(o *View) Selective {
	all := selective(&v.side, &o.side, v.total, o.total, func(a, b influence) Error { return v.between(o, a, b) })
	for _, e := range []*Error{&all.AURC, &all.EAURC, &all.AUGRC} {
		e.SE *= v.few(o)
	}
	return all
}

// Cox is Sides.Cox of the difference of o and v, by the influence of the rows of each cluster.
func (v *View) Cox(o *View, a, b Line) (intercept, slope Error) {
	ai, as := v.cox(a, v.total)
	bi, bs := o.cox(b, o.total)
	if ai[0] == nil || bi[0] == nil {
		return unknown, unknown
	}
	intercept, slope = v.between(o, ai, bi), v.between(o, as, bs)
	intercept.SE *= v.few(o)
	slope.SE *= v.few(o)
	return intercept, slope
}

// binned holds the residuals y - p of a model's rows in a bin.
type binned struct {
	weight   float64
	gap      float64 // their mean
	clusters float64
}

// bins returns the bins of equal width, and of each mark the number of its bin.
func (v *View) bins(n int) (l []binned, in []int32) {
	l, in = make([]binned, n), make([]int32, len(v.at))
	for i, w := range v.w {
		at := v.at[i]
		k := min(int(v.p[at]*float64(n)), n-1)
		in[i] = int32(k)
		l[k].weight += w
		l[k].gap += float64(w * (float64(v.hit[i]) - v.p[at]))
	}
	for k := range l {
		if l[k].weight > 0 {
			l[k].gap /= l[k].weight
		}
	}
	return l, in
}

// ErrorSquared returns the error of the difference of calibration_error_squared of o and v over equal-width bins. What chance adds to the
// square of a bin's mean residual is the variance of that mean by clusters. R_gk is the sum of the residuals of cluster g in bin k around
// their mean g_k, times sqrt(G_k/(G_k-1)) for the G_k clusters of the bin. A cluster moves the difference by 2 g_k R_gk and by g_k^2 of its rows. Where both models are calibrated, what is left is the variance of the
// products of two clusters' residuals, 2 sum C_kl^2 / (n_k n_l N^2) over pairs of bins of both models, with C_kl = sum_g R_gk R_gl. As
// for rows, the variance is the first minus the second, and at least the second. It is larger by 3/m for m clusters that have the rarer outcome, as
// that of areas and fits.
//
// A bin with one cluster has no variance and adds nothing to a value. unseen is the most that those of v and of o might have added.
func (v *View) ErrorSquared(o *View, n int) (e Error, unseen [2]float64) {
	g := v.c.Len()
	if v.alike(o) {
		return v.c.spread(make([]float64, g), 1), unseen
	}
	models := [2]*View{v, o}
	var bins [2][]binned
	moves := make([]float64, g)
	sums := make([][]float64, g) // of each cluster, the residuals in the bins of both models, scaled so that their squares are unbiased
	touched := make([][]int32, g)
	for m, one := range models {
		l, in := one.bins(n)
		bins[m] = l
		items := one.c.lists[one.list].items
		last := make([]int32, n)
		for i := range items {
			k := in[i]
			if last[k] != items[i].cluster+1 {
				last[k] = items[i].cluster + 1
				l[k].clusters++
			}
		}
		mean, sign := 0.0, float64(2*m-1)
		for _, b := range l {
			if b.clusters > 1 {
				mean += float64(b.weight / one.total * float64(b.gap*b.gap))
			}
		}
		for i := range items {
			k, at := int(in[i]), items[i].cluster
			b := &l[k]
			if b.clusters < 2 {
				moves[at] -= float64(sign * float64(one.w[i]*mean))
				continue
			}
			if sums[at] == nil {
				sums[at] = make([]float64, 0, 8)
			}
			place := slices.Index(touched[at], int32(m*n+k))
			if place < 0 {
				place = len(touched[at])
				touched[at], sums[at] = append(touched[at], int32(m*n+k)), append(sums[at], 0)
			}
			r := float64(math.Sqrt(b.clusters/(b.clusters-1)) * float64(one.w[i]*(float64(one.hit[i])-one.p[one.at[i]]-b.gap)))
			sums[at][place] += r
			moves[at] += float64(sign * (2*float64(b.gap*r) + float64(one.w[i]*(float64(b.gap*b.gap)-mean))))
		}
	}
	cross := make([]float64, 4*n*n)
	for i, l := range touched {
		for x, k := range l {
			for y, j := range l {
				cross[int(k)*2*n+int(j)] += float64(sums[i][x] * sums[i][y])
			}
		}
	}
	least, taken := 0.0, 0.0
	for m, one := range models {
		for k := range bins[m] {
			b := &bins[m][k]
			if b.weight == 0 {
				continue
			}
			if b.clusters < 2 {
				unseen[m] += float64(b.weight / one.total * float64(b.gap*b.gap))
			}
		}
	}
	of := func(k int) *binned { return &bins[k/n][k%n] }
	for k := range 2 * n {
		for j := range 2 * n {
			c := cross[k*2*n+j]
			if c == 0 {
				continue
			}
			a, b := of(k), of(j)
			x := 2 * float64(c*c) / float64(a.weight*b.weight)
			if k/n != j/n {
				x = -x
			}
			below := math.Sqrt(float64((a.clusters + 1) * (b.clusters + 1)))
			least += float64(x * (math.Sqrt(float64(a.clusters*b.clusters)) / below))
			taken += float64(x * (math.Sqrt(math.Max(0, float64((a.clusters-2)*(b.clusters-2)))) / below))
		}
	}
	e = v.c.spread(moves, v.total)
	square := float64(v.total * v.total)
	e.SE = math.Sqrt(math.Max(float64(e.SE*e.SE)-taken/square, math.Max(0, least)/square)) * v.few(o)
	return v.limited(o, e), unseen
}

// topKey returns the key of the top label of a binary task for that of class 1. At 1/2 class 0 is the top label.
func topKey(k uint64) uint64 {
	if score := k >> 1; score <= tally.HalfKey {
		return (2*tally.HalfKey-score)<<1 | 1 - k&1
	}
	return k
}
