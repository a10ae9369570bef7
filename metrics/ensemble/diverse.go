package ensemble

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// diverse computes the columns of a block.
type diverse struct {
	opt  *DiversityOptions
	v    [8][]float64 // in the order of the constants
	errs []float64

	votes []int // for one row: how many members have each class on top; 0 between rows
	f32   vectors[float32]
	f64   vectors[float64]

	z, p []float64 // for one row: all members' scores, and their softmax
	lse  []float64 // for each member
}

func (d *diverse) wants(m Measure) bool { return d.opt.Measures&m != 0 }

// column returns a measure's column.
func (d *diverse) column(m Measure) []float64 {
	return d.v[slot(m, ofDiversity)-slot(Disagreement, ofDiversity)]
}

func (d *diverse) of(b *Block) {
	n := b.Rows
	for i := range d.v {
		if d.wants(Disagreement << i) {
			d.v[i] = room(d.v[i], n)
		}
	}
	d.errs, d.votes = room(d.errs, n), room(d.votes, max(2, b.Classes))
	for i := range n {
		d.decisions(b, i)
	}
	if d.wants(VarianceBound) {
		for i := range n {
			d.column(VarianceBound)[i] = bound(b, i)
		}
	}
	if d.wants(AverageKL | CosineSimilarity | LpDistance | BregmanKLVariance) {
		if b.Mean.F32 != nil {
			d.f32.take(b, func(t *metrics.Tile) []float32 { return t.F32 })
			probabilities(d, &d.f32, kernel.LogSliceF32, kernel.PairSumsF32, kernel.PairKLF32)
		} else {
			d.f64.take(b, func(t *metrics.Tile) []float64 { return t.F64 })
			probabilities(d, &d.f64, kernel.LogSliceF64, kernel.PairSumsF64, kernel.PairKLF64)
		}
	}
	if d.wants(LogitKL) {
		for i := range n {
			d.scores(b, i)
			d.column(LogitKL)[i] = d.logitKL(len(b.Members), max(2, b.Classes))
		}
	}
}

// decisions computes the measures that depend only on the members' arg maxes.
func (d *diverse) decisions(b *Block, i int) {
	n := len(b.Members)
	wrong, unlike := 0, 0
	for m, o := range b.Members {
		wrong += 1 - int(o.Hit[i])
		top := o.Stats.ArgMax[i]
		unlike += m - d.votes[top]
		d.votes[top]++
	}
	for _, o := range b.Members {
		d.votes[o.Stats.ArgMax[i]] = 0
	}
	d.errs[i] = float64(wrong) / float64(n)
	pairs, both := n*(n-1)/2, wrong*(wrong-1)/2
	if d.opt.AllPairs {
		pairs, both, unlike = n*n, wrong*wrong, 2*unlike
	}
	if d.wants(Disagreement) {
		d.column(Disagreement)[i] = float64(unlike) / float64(pairs)
	}
	if d.wants(DoubleFault) {
		d.column(DoubleFault)[i] = float64(both) / float64(pairs)
	}
}

// bound returns a row's variance bound. It is 0 if all members give the label probability 0.
func bound(b *Block, i int) float64 {
	mean, most := 0.0, 0.0
	for _, m := range b.Members {
		p := m.Stats.Label[i]
		mean += p
		most = max(most, p)
	}
	if most == 0 {
		return 0
	}
	n := float64(len(b.Members))
	mean /= n
	s := 0.0
	for _, m := range b.Members {
		v := (m.Stats.Label[i] - mean) / most
		s += float64(v * v)
	}
	return 0.5 * s / n
}

// vectors are the probabilities of a block's rows, all of one width and without gaps.
type vectors[T float32 | float64] struct {
	rows, width int
	p, l        [][]T // each member's probabilities, and their logarithms
	own, logs   []T

	squares, totals []float64 // for each row of each member: sum of squares, and of the probabilities
	a, b, c         []float64 // one number per row
	g               []float64 // one number per class
}

// take takes the tiles of a block, without a copy if their rows are contiguous.
func (v *vectors[T]) take(b *Block, entries func(*metrics.Tile) []T) {
	n, width, members := b.Rows, b.Mean.Width, len(b.Members)
	v.rows, v.width = n, width
	v.p, v.l = room(v.p, members)[:members], room(v.l, members)[:members]
	for m, o := range b.Members {
		if o.Probs.Stride == width {
			v.p[m] = entries(&o.Probs)[:n*width]
			continue
		}
		p := v.copyOf(m, members)
		for i := range n {
			copy(p[i*width:][:width], entries(&o.Probs)[i*o.Probs.Stride:])
		}
		v.p[m] = p
	}
	v.a, v.b, v.c, v.g = room(v.a, n), room(v.b, n), room(v.c, n), room(v.g, width)
}

// copyOf returns room for member m's rows.
func (v *vectors[T]) copyOf(m, members int) []T {
	n := v.rows * v.width
	v.own = room(v.own, members*n)
	return v.own[m*n:][:n]
}

// logarithms fills l.
func (v *vectors[T]) logarithms(log func(dst, x []T)) {
	n := v.rows * v.width
	v.logs = room(v.logs, len(v.p)*n)
	for m, p := range v.p {
		v.l[m] = v.logs[m*n:][:n]
		log(v.l[m], p)
	}
}

// clip copies the rows, with entries limited to [least, 1].
func (v *vectors[T]) clip(least T) {
	for m, p := range v.p {
		q := v.copyOf(m, len(v.p))
		for j, x := range p {
			q[j] = min(1, max(least, x))
		}
		v.p[m] = q
	}
}

// sum writes the sum of each of member m's rows to dst.
func (v *vectors[T]) sum(dst []float64, m int) {
	for i := range dst {
		dst[i] = total(v.p[m][i*v.width:][:v.width])
	}
}

// probabilities computes the measures that need all probabilities.
func probabilities[T float32 | float64](d *diverse, v *vectors[T], log func(dst, x []T),
	sums func(dot, abs, squares []float64, p, q []T, rows, k, stride int), kl func(kl []float64, p, lp, lq []T, rows, k, stride int)) {
	members, n, width := len(v.p), v.rows, v.width
	if d.wants(CosineSimilarity | LpDistance) {
		v.squares = room(v.squares, members*n)
		for m, p := range v.p {
			sums(v.squares[m*n:], v.b, v.c, p, p, n, width, width)
		}
		cosines, distances := d.start(CosineSimilarity, n), d.start(LpDistance, n)
		for m := range members {
			for m2 := m + 1; m2 < members; m2++ {
				sums(v.a, v.b, v.c, v.p[m], v.p[m2], n, width, width)
				for i := range cosines {
					cosines[i] += cosine(v.a[i], v.squares[m*n+i], v.squares[m2*n+i])
				}
				for i := range distances {
					switch d.opt.P {
					case 1:
						distances[i] += v.b[i]
					case 2:
						distances[i] += math.Sqrt(v.c[i])
					default:
						distances[i] += distance(v.p[m][i*width:][:width], v.p[m2][i*width:][:width], d.opt.P)
					}
				}
			}
		}
		d.finish(cosines, members, true, 1)
		d.finish(distances, members, true, 0)
	}
	if !d.wants(BregmanKLVariance | AverageKL) {
		return
	}
	if d.wants(BregmanKLVariance) {
		v.logarithms(log)
		dst := d.start(BregmanKLVariance, n)
		if members > 1 { // with one member it is 0
			bregman(dst, v)
		}
	}
	if !d.wants(AverageKL) {
		return
	}
	if d.opt.Clip > 0 {
		v.clip(T(d.opt.Clip))
	}
	if d.opt.Clip > 0 || !d.wants(BregmanKLVariance) {
		v.logarithms(log)
	}
	if d.opt.Generalized {
		v.totals = room(v.totals, members*n)
		for m := range members {
			v.sum(v.totals[m*n:][:n], m)
		}
	}
	dst := d.start(AverageKL, n)
	for m := range members {
		for m2 := range members {
			if m2 == m || m2 < m && !d.opt.AllPairs {
				continue
			}
			kl(v.a, v.p[m], v.l[m], v.l[m2], n, width, width)
			for i := range dst {
				x := v.a[i]
				if d.opt.Generalized {
					x += v.totals[m2*n+i] - v.totals[m*n+i]
				}
				dst[i] += x
			}
		}
	}
	d.finish(dst, members, false, 0)
}

// start returns a measure's column filled with zeros, or nil if the measure is not wanted.
func (d *diverse) start(m Measure, n int) []float64 {
	if !d.wants(m) {
		return nil
	}
	v := d.column(m)[:n]
	clear(v)
	return v
}

// finish turns sums over pairs into means. The sum of a symmetric measure has only the pairs m < m'; same is the measure of
// a member with itself.
func (d *diverse) finish(v []float64, members int, symmetric bool, same float64) {
	for i, s := range v {
		switch {
		case !d.opt.AllPairs:
			v[i] = s / float64(members*(members-1)/2)
		case symmetric:
			v[i] = (float64(2*s) + float64(float64(members)*same)) / float64(members*members)
		default:
			v[i] = s / float64(members*members)
		}
	}
}

// total returns the sum of a row.
func total[T float32 | float64](p []T) float64 {
	s := 0.0
	for _, v := range p {
		s += float64(v)
	}
	return s
}

// cosine returns the cosine similarity of two vectors from their product and their squares. It is 0 if one vector is all 0.
func cosine(product, a, b float64) float64 {
	if product == 0 {
		return 0
	}
	n := math.Sqrt(float64(a * b))
	if !(n > 0) || math.IsInf(n, 1) { // overflow, from unchecked scores
		n = float64(math.Sqrt(a) * math.Sqrt(b))
	}
	return max(-1, min(1, product/n))
}

// distance returns (sum |a-b|^p)^(1/p), or the largest |a-b| for p = +Inf.
func distance[T float32 | float64](a, b []T, p float64) float64 {
	b = b[:len(a)]
	s, most := 0.0, 0.0
	for j, v := range a {
		most = max(most, math.Abs(float64(v)-float64(b[j])))
	}
	if most == 0 || math.IsInf(p, 1) {
		return most
	}
	for j, v := range a {
		s += kernel.Exp64(float64(p * kernel.Log64(math.Abs(float64(v)-float64(b[j]))/most)))
	}
	return float64(most * kernel.Exp64(kernel.Log64(s)/p))
}

// bregman writes -ln sum_k prod_m p_m(k)^(1/M) for each row, after dividing its probabilities by their sums.
func bregman[T float32 | float64](dst []float64, v *vectors[T]) {
	n, scale := float64(len(v.p)), v.a[:len(dst)] // scale is the mean of the logarithms of the sums
	clear(scale)
	for m := range v.p {
		v.sum(v.b[:len(dst)], m)
		for i, t := range v.b[:len(dst)] {
			scale[i] += kernel.Log64(t)
		}
	}
	g := v.g[:v.width]
	for i := range dst {
		clear(g)
		for _, l := range v.l {
			for j, x := range l[i*v.width:][:v.width] {
				g[j] += float64(x)
			}
		}
		most := math.Inf(-1)
		for j := range g {
			g[j] /= n
			most = max(most, g[j])
		}
		if math.IsInf(most, -1) {
			dst[i] = math.Inf(1)
			continue
		}
		for j := range g {
			g[j] -= most
		}
		kernel.ExpSliceF64(g, g)
		dst[i] = max(0, scale[i]/n-(most+kernel.Log64(total(g))))
	}
}

// scores writes a row's original scores to d.z. One score z becomes the two scores 0 and z.
func (d *diverse) scores(b *Block, i int) {
	at, width, members := int(b.Number(i)-b.First), max(2, b.Classes), len(b.Members)
	d.z, d.p, d.lse = room(d.z, members*width), room(d.p, members*width), room(d.lse, members)
	for m := range b.Scores {
		dst := d.z[m*width : (m+1)*width]
		if b.Classes == 1 {
			dst[0], dst = 0, dst[1:]
		}
		b.Scores[m].Widen(dst, at, at+1)
		if b.Classes == 1 && math.IsInf(dst[0], 1) {
			d.z[m*width], dst[0] = math.Inf(-1), 0 // equivalent, with finite differences
		}
	}
}

// logitKL returns the mean over pairs of KL(softmax(z) || softmax(z')).
func (d *diverse) logitKL(members, width int) float64 {
	z, p := d.z[:members*width], d.p[:members*width]
	kernel.SoftmaxF64(p, width, z, members, width, width)
	kernel.LogSumExpF64(d.lse, z, members, width, width)
	mean := []float64{0}
	for m := range members {
		for m2 := range members {
			if m2 > m || m2 < m && d.opt.AllPairs {
				mean[0] += logitDivergence(z[m*width:][:width], z[m2*width:][:width], p[m*width:][:width], d.lse[m2]-d.lse[m])
			}
		}
	}
	d.finish(mean, members, false, 0)
	return mean[0]
}

// logitDivergence returns sum p (a - b) plus norms, where p is the softmax of a, and norms is the difference of the log
// normalizers of b and a.
func logitDivergence(a, b, p []float64, norms float64) float64 {
	b, p = b[:len(a)], p[:len(a)]
	s := norms
	for j, v := range a {
		switch {
		case math.IsInf(v, -1):
		case math.IsInf(b[j], -1):
			return math.Inf(1)
		default:
			s += float64(p[j] * (v - b[j]))
		}
	}
	return s
}
