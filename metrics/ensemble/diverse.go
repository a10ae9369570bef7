package ensemble

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// diverse makes the columns of a block.
type diverse struct {
	opt  *DiversityOptions
	v    [8][]float64 // in the order of the constants
	errs []float64

	p, l []float64 // of one row: all members' probabilities, or scores, and their logarithms
	a    []float64 // a value of each member
	b    []float64
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
	d.errs = room(d.errs, n)
	members, width := len(b.Members), max(2, b.Classes)
	d.p, d.l = room(d.p, members*width), room(d.l, members*width)
	d.a, d.b = room(d.a, members), room(d.b, members)
	for i := range n {
		d.decisions(b, i)
		if d.wants(VarianceBound) {
			d.column(VarianceBound)[i] = bound(b, i)
		}
		if d.wants(AverageKL | CosineSimilarity | LpDistance | BregmanKLVariance) {
			d.probabilities(b, i, width)
		}
		if d.wants(LogitKL) {
			d.scores(b, i, width)
			d.column(LogitKL)[i] = d.logitKL(members, width)
		}
	}
}

// pairs returns the mean over pairs of f, which is symmetric or not; same is its value of a member with itself.
func (d *diverse) pairs(members int, symmetric bool, same float64, f func(m, m2 int) float64) float64 {
	s := 0.0
	if !d.opt.AllPairs {
		for m := range members {
			for m2 := m + 1; m2 < members; m2++ {
				s += f(m, m2)
			}
		}
		return s / float64(members*(members-1)/2)
	}
	for m := range members {
		for m2 := m + 1; m2 < members; m2++ {
			if v := f(m, m2); symmetric {
				s += float64(2 * v)
			} else {
				s += v + f(m2, m)
			}
		}
	}
	return (s + float64(float64(members)*same)) / float64(members*members)
}

// decisions measures what follows from the members' arg maxes.
func (d *diverse) decisions(b *Block, i int) {
	n := len(b.Members)
	wrong, unlike := 0, 0
	for m, o := range b.Members {
		wrong += 1 - int(o.Hit[i])
		for _, q := range b.Members[m+1:] {
			if o.Stats.ArgMax[i] != q.Stats.ArgMax[i] {
				unlike++
			}
		}
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

// bound returns a row's variance bound: 0 where no member gives the label a probability above 0.
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

// load writes the probabilities of a row to d.p.
func (d *diverse) load(b *Block, i, width int) {
	for m, o := range b.Members {
		t, dst := &o.Probs, d.p[m*width:(m+1)*width]
		if t.F64 != nil {
			copy(dst, t.F64[i*t.Stride:])
			continue
		}
		for j, v := range t.F32[i*t.Stride:][:width] {
			dst[j] = float64(v)
		}
	}
}

// probabilities measures what takes all of them.
func (d *diverse) probabilities(b *Block, i, width int) {
	members := len(b.Members)
	d.load(b, i, width)
	p, l := d.p[:members*width], d.l[:members*width]
	row := func(v []float64, m int) []float64 { return v[m*width:][:width] }
	if d.wants(CosineSimilarity) {
		for m := range members {
			d.a[m] = dot(row(p, m), row(p, m))
		}
		d.column(CosineSimilarity)[i] = d.pairs(members, true, 1, func(m, m2 int) float64 {
			return cosine(dot(row(p, m), row(p, m2)), d.a[m], d.a[m2])
		})
	}
	if d.wants(LpDistance) {
		d.column(LpDistance)[i] = d.pairs(members, true, 0, func(m, m2 int) float64 { return distance(row(p, m), row(p, m2), d.opt.P) })
	}
	if d.wants(BregmanKLVariance) {
		kernel.LogF64(l, p)
		d.column(BregmanKLVariance)[i] = bregman(p, l, members, width)
	}
	if !d.wants(AverageKL) {
		return
	}
	if c := d.opt.Clip; c > 0 {
		for j, v := range p {
			p[j] = min(1, max(c, v))
		}
	}
	kernel.LogF64(l, p)
	d.column(AverageKL)[i] = d.pairs(members, false, 0, func(m, m2 int) float64 {
		v := divergence(row(p, m), row(l, m), row(l, m2))
		if d.opt.Generalized {
			v += total(row(p, m2)) - total(row(p, m))
		}
		return v
	})
}

// divergence returns sum p (ln p - ln q), 0 where p is 0.
func divergence(p, lp, lq []float64) float64 {
	lp, lq = lp[:len(p)], lq[:len(p)]
	s := 0.0
	for j, v := range p {
		if v != 0 {
			s += float64(v * (lp[j] - lq[j]))
		}
	}
	return s
}

func total(p []float64) float64 {
	s := 0.0
	for _, v := range p {
		s += v
	}
	return s
}

func dot(a, b []float64) float64 {
	b = b[:len(a)]
	s := 0.0
	for j, v := range a {
		s += float64(v * b[j])
	}
	return s
}

// cosine returns the similarity of two vectors of a product and of squares; of a vector that is all 0 it is 0.
func cosine(product, a, b float64) float64 {
	if product == 0 {
		return 0
	}
	n := math.Sqrt(float64(a * b))
	if !(n > 0) || math.IsInf(n, 1) { // beyond float64, of scores that were not checked
		n = float64(math.Sqrt(a) * math.Sqrt(b))
	}
	return max(-1, min(1, product/n))
}

// distance returns (sum |a-b|^p)^(1/p), the largest |a-b| for p = +Inf.
func distance(a, b []float64, p float64) float64 {
	b = b[:len(a)]
	s, most := 0.0, 0.0
	switch {
	case p == 1:
		for j, v := range a {
			s += math.Abs(v - b[j])
		}
		return s
	case p == 2:
		for j, v := range a {
			d := v - b[j]
			s += float64(d * d)
		}
		return math.Sqrt(s)
	}
	for j, v := range a {
		most = max(most, math.Abs(v-b[j]))
	}
	if most == 0 || math.IsInf(p, 1) {
		return most
	}
	for j, v := range a {
		s += kernel.Exp64(float64(p * kernel.Log64(math.Abs(v-b[j])/most)))
	}
	return float64(most * kernel.Exp64(kernel.Log64(s)/p))
}

// bregman returns -ln sum_k prod_m p_m(k)^(1/M) of rows of probabilities divided by their sums. It overwrites l, the logarithms.
func bregman(p, l []float64, members, width int) float64 {
	if members == 1 {
		return 0
	}
	scale := 0.0 // the mean of the logarithms of the sums
	for m := range members {
		scale += kernel.Log64(total(p[m*width:][:width]))
	}
	g := l[:width]
	for m := 1; m < members; m++ {
		for j, v := range l[m*width:][:width] {
			g[j] += v
		}
	}
	n := float64(members)
	most := math.Inf(-1)
	for j := range g {
		g[j] /= n
		most = max(most, g[j])
	}
	if math.IsInf(most, -1) {
		return math.Inf(1)
	}
	s := 0.0
	for _, v := range g {
		s += kernel.Exp64(v - most)
	}
	return max(0, scale/n-(most+kernel.Log64(s)))
}

// scores writes a row's scores, as they were given, to d.p: of one score z, 0 and z.
func (d *diverse) scores(b *Block, i, width int) {
	at := int(b.Number(i) - b.First)
	for m := range b.Scores {
		dst := d.p[m*width : (m+1)*width]
		if b.Classes == 1 {
			dst[0], dst = 0, dst[1:]
		}
		raw(dst, &b.Scores[m], at)
	}
}

// logitKL returns the mean over pairs of KL(softmax(z) || softmax(z')).
func (d *diverse) logitKL(members, width int) float64 {
	z, p := d.p[:members*width], d.l[:members*width]
	kernel.SoftmaxF64(p, width, z, members, width, width)
	kernel.LogSumExpF64(d.b[:members], z, members, width, width)
	return d.pairs(members, false, 0, func(m, m2 int) float64 {
		a, b, q := z[m*width:][:width], z[m2*width:][:width], p[m*width:][:width]
		s := d.b[m2] - d.b[m]
		for j, v := range a {
			switch {
			case math.IsInf(v, -1):
			case math.IsInf(b[j], -1):
				return math.Inf(1)
			default:
				s += float64(q[j] * (v - b[j]))
			}
		}
		return s
	})
}
