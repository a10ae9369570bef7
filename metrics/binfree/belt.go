package binfree

import (
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
)

// BeltOptions select what the calibration belt assumes.
type BeltOptions struct {
	// Fitted says that the model is a logistic regression that was fitted to these rows: calibrated on average and in slope by
	// construction.
	Fitted bool
	// Degree is the largest degree that the polynomial may have, 1 to 4, with Fitted 2 to 4; 0 means 4.
	Degree int
}

// Belt is the calibration belt of the GiViTI group, with its test. The frequency of the event is a polynomial of the score's logit x,
//
//	logit P(y = 1) = b_0 + b_1 x + ... + b_m x^m,
//
// fitted by maximum likelihood. The degree m is 1 at first (with Fitted 2), and rises up to 4 as long as one more coefficient is
// significant at 5%. The statistic is twice the log-likelihood of the fit less that of the scores themselves. Its p-value allows for the
// choice of the degree; see P.
//
// Where the polynomial parts the outcomes, the likelihood has no maximum, and the statistic is its supremum.
//
// Scores of exactly 0 and 1 have no logit and are left out; LeftOut counts them.
//
// If cells are not exact, the rows with one outcome in a grid cell are all placed at their mean score.
//
// Sources: Finazzi, Poole, Luciani, Cogo and Bertolini 2011; Nattino, Finazzi and Bertolini 2014 (external), 2016 (fitted).
type Belt struct {
	fit       polynomial
	joined    bool // the points of fit are fewer than those it was fitted to
	fitted    bool
	statistic float64
	leftOut   int64
	exact     bool
	reason    string
}

// BeltOf fits the rows in r; o may be nil. While it does it takes 40 bytes for each cell, on a grid twice that. It panics if the degree is out of
// range.
func BeltOf(r cells.Rising, o *BeltOptions) *Belt {
	b := &Belt{statistic: math.NaN(), exact: r.Exact()}
	least, most := 1, mostDegree
	if o != nil {
		if b.fitted = o.Fitted; b.fitted {
			least = 2
		}
		if o.Degree != 0 {
			most = o.Degree
		}
	}
	if most < least || most > mostDegree {
		panic("binfree: the degree of a calibration belt is from 1, or of a fitted model 2, to 4")
	}
	switch {
	case r.Outside() > 0:
		b.reason = reason.Outside
		return b
	case r.Weighted():
		b.reason = "with weights the distribution of the likelihood ratio is not known"
		return b
	}
	f := &coxFit{of: r}
	each := r.Count()
	if !b.exact {
		each *= 2
	}
	points := make([]beltPoint, 0, each)
	var rest, hits float64
	f.eachPoint(func(o odds, r, h float64) {
		points = append(points, beltPoint{x: o.logit(), odds: o, rest: r, hits: h})
		rest += r
		hits += h
	})
	b.leftOut = f.leftOut
	distinct := distinctLogits(points)
	switch {
	case len(points) == 0 && b.leftOut > 0:
		b.reason = reasonNoLogits
	case len(points) == 0:
		b.reason = reason.NoRows
	case rest == 0 || hits == 0:
		b.reason = reasonSame01
	case distinct <= least:
		b.reason = fmt.Sprintf("a polynomial of degree %d needs %d distinct scores", least, least+1)
	}
	if b.reason != "" {
		return b
	}
	p := newPolynomial(points, min(most, distinct-1))
	last := math.NaN()
	for m := least; m < len(p.basis); m++ {
		next := p
		next.degree = m
		next.at = slices.Clone(p.at)
		if !next.solve() {
			if m == least {
				b.reason = "the fit does not converge"
				return b
			}
			break
		}
		if t := next.gain(next.at); m == least || t-last >= float64(beltRoot*beltRoot) {
			p, last = next, t
		} else {
			break
		}
	}
	p.points, b.joined = joined(p.points, beltPoints)
	b.fit, b.statistic = p, math.Max(0, last)
	return b
}

// mostDegree is the largest degree of the polynomial.
const mostDegree = 4

// Statistic returns twice the log-likelihood ratio of the fit against the scores: 0 or more. It is NaN if Reason gives a reason. bound is 0
// if cells are exact, otherwise NaN: unknown.
func (b *Belt) Statistic() (value, bound float64) { return b.statistic, b.bound() }

func (b *Belt) bound() float64 {
	if b.exact && b.reason == "" {
		return 0
	}
	return math.NaN()
}

// Degree returns the degree of the polynomial, 1 to 4; 0 if Reason gives a reason.
func (b *Belt) Degree() int { return b.fit.degree }

// P returns the p-value of calibration: the probability of at least this statistic if the scores are calibrated, given the degree. With
// degree m the statistic is in the limit of many rows distributed as a chi-squared variable of 2 degrees of freedom (with Fitted: of 1) plus
// m - 1 (m - 2) squares of normal numbers, each given that it is above the 95% quantile, because the degree was raised. P is accurate to
// about 1e-10. It is NaN if Reason gives a reason.
func (b *Belt) P() (value, bound float64) {
	if b.reason != "" {
		return math.NaN(), math.NaN()
	}
	return beltTail(b.statistic, b.fit.degree, b.fitted), b.bound()
}

// LeftOut returns the number of rows with a score of exactly 0 or 1.
func (b *Belt) LeftOut() int64 { return b.leftOut }

// Reason says why there is no fit: no rows, weights, scores outside [0,1], a single outcome, or too few distinct scores. It is "" if there is one.
func (b *Belt) Reason() string { return b.reason }

// beltPoint holds the rows of one score, or those of one outcome in a grid cell.
type beltPoint struct {
	x          float64 // logit
	odds       odds
	rest, hits float64
}

// distinctLogits returns the number of distinct logits, at most as many as a polynomial of the largest degree needs.
func distinctLogits(points []beltPoint) int {
	var seen []float64
	for i := range points {
		if !slices.Contains(seen, points[i].x) {
			if seen = append(seen, points[i].x); len(seen) > mostDegree+1 {
				break
			}
		}
	}
	return min(len(seen), mostDegree+1)
}

// polynomial is a polynomial of the logit x in a basis that is orthonormal under the weights n p(1-p). Its value is added to x, so the zero
// vector stands for the scores themselves.
type polynomial struct {
	points []beltPoint
	basis  []recurrence // by degree
	degree int
	at     []float64 // coefficients
}

// recurrence gives a basis polynomial from those before: scale ((x - shift) q_{k-1} - back q_{k-2}).
type recurrence struct{ shift, back, scale float64 }

// newPolynomial computes the basis up to a degree, by Stieltjes' procedure.
func newPolynomial(points []beltPoint, degree int) polynomial {
	p := polynomial{points: points, basis: make([]recurrence, degree+1), at: make([]float64, degree+1)}
	weight := func(q *beltPoint) float64 {
		return float64((q.rest + q.hits) * math.Max(float64(q.odds.p*q.odds.q), 0x1p-900))
	}
	var total compensated
	for i := range points {
		total.add(weight(&points[i]))
	}
	p.basis[0].scale = 1 / math.Sqrt(total.value())
	norm := 0.0
	var v [mostDegree + 1]float64
	for k := 1; k <= degree; k++ {
		r := &p.basis[k]
		r.back, r.scale = norm, 1
		var shift, square compensated
		for i := range points {
			q := &points[i]
			p.values(&v, q.x, k-1)
			shift.add(float64(weight(q) * float64(float64(v[k-1]*v[k-1])*q.x)))
		}
		r.shift = shift.value()
		for i := range points {
			q := &points[i]
			p.values(&v, q.x, k)
			square.add(float64(weight(q) * float64(v[k]*v[k])))
		}
		norm = math.Sqrt(square.value())
		r.scale = 1 / norm
	}
	return p
}

// values writes the values of the basis at x up to a degree. They cost less than the memory that would keep them for each point.
func (p *polynomial) values(v *[mostDegree + 1]float64, x float64, degree int) {
	b := p.basis[:degree+1]
	last, value := 0.0, b[0].scale
	v[0] = value
	for k := 1; k < len(b) && k < len(v); k++ {
		r := &b[k]
		last, value = value, float64((float64((x-r.shift)*value)-float64(r.back*last))*r.scale)
		v[k] = value
	}
}

// along returns the value of a vector at a point.
func (p *polynomial) along(c []float64, basis *[mostDegree + 1]float64) float64 {
	v := 0.0
	for k := 0; k <= p.degree; k++ {
		v += float64(c[k] * basis[k])
	}
	return v
}

// gain returns twice the log-likelihood at c less that of the scores.
func (p *polynomial) gain(c []float64) float64 {
	var sum compensated
	var basis [mostDegree + 1]float64
	for i := range p.points {
		q := &p.points[i]
		p.values(&basis, q.x, p.degree)
		d := p.along(c, &basis)
		// Rows with the event gain -ln(1 + q (exp(-d) - 1)), the others -ln(1 + p (exp(d) - 1)).
		if q.hits > 0 {
			sum.add(-float64(2 * q.hits * grown(q.odds.q, -d)))
		}
		if q.rest > 0 {
			sum.add(-float64(2 * q.rest * grown(q.odds.p, d)))
		}
	}
	return sum.value()
}

// grown returns ln(1 + p (exp(d) - 1)) for a probability p.
func grown(p, d float64) float64 {
	if d > 30 {
		return d + kernel.Log64(p+float64((1-p)*kernel.Exp64(-d)))
	}
	return kernel.Log1p64(float64(p * (kernel.Exp64(d) - 1)))
}

// slopes returns the gradient of the log-likelihood at c, and its negative second derivatives.
func (p *polynomial) slopes(c []float64) (g [mostDegree + 1]float64, h [mostDegree + 1][mostDegree + 1]float64) {
	var gs [mostDegree + 1]compensated
	var hs [mostDegree + 1][mostDegree + 1]compensated
	var basis [mostDegree + 1]float64
	for i := range p.points {
		q := &p.points[i]
		p.values(&basis, q.x, p.degree)
		eta := q.x + p.along(c, &basis)
		small, w := logistic(eta)
		n := q.rest + q.hits
		whole, part := q.hits, -float64(n*small)
		if eta > 0 {
			whole, part = -q.rest, -part
		}
		e := whole + part
		w = float64(n * w)
		for k := 0; k <= p.degree; k++ {
			gs[k].add(float64(e * basis[k]))
			u := float64(w * basis[k])
			for l := 0; l <= k; l++ {
				hs[k][l].add(float64(u * basis[l]))
			}
		}
	}
	for k := 0; k <= p.degree; k++ {
		g[k] = gs[k].value()
		for l := 0; l <= k; l++ {
			h[k][l] = hs[k][l].value()
			h[l][k] = h[k][l]
		}
	}
	return g, h
}

// solve moves p.at to the maximum of the likelihood by Newton's method, with steps that are halved until the likelihood rises. It reports
// whether it converged.
func (p *polynomial) solve() bool {
	now := p.gain(p.at)
	for range 200 {
		g, h := p.slopes(p.at)
		step, ok := solved(&h, g[:p.degree+1])
		if !ok {
			return false
		}
		rise := 0.0
		for k, s := range step {
			rise += float64(s * g[k])
		}
		if rise < 1e-11 {
			return true
		}
		t := 1.0
		for ; ; t /= 2 {
			next := make([]float64, len(p.at))
			copy(next, p.at)
			for k, s := range step {
				next[k] += float64(t * s)
			}
			if v := p.gain(next); v >= now || t < 1e-9 {
				if !(v > now) {
					return rise < 1e-7 // only rounding is left
				}
				p.at, now = next, v
				break
			}
		}
	}
	return false
}

// solved returns the solution x of h x = g for a positive definite h, by Cholesky's method; ok is false if h is not.
func solved(h *[mostDegree + 1][mostDegree + 1]float64, g []float64) (x []float64, ok bool) {
	n := len(g)
	var l [mostDegree + 1][mostDegree + 1]float64
	x = slices.Clone(g)
	for i := range n {
		for j := 0; j <= i; j++ {
			s := h[i][j]
			for k := range j {
				s -= float64(l[i][k] * l[j][k])
			}
			if i == j {
				if !(s > 1e-14*h[i][i]) {
					return nil, false
				}
				l[i][i] = math.Sqrt(s)
			} else {
				l[i][j] = s / l[j][j]
			}
		}
		for k := range i {
			x[i] -= float64(l[i][k] * x[k])
		}
		x[i] /= l[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= float64(l[k][i] * x[k])
		}
		x[i] /= l[i][i]
	}
	return x, true
}

// BeltLimits are the limits of the belt at one score.
type BeltLimits struct {
	Score     float64
	Frequency float64 // of the event, by the fit
	Low, High float64
}

// beltPoints is the largest number of points from which limits are computed. Neighbours are joined where there are more.
const beltPoints = 4096

// Limits returns the belt at scores between 0 and 1, in their order, for a confidence level such as 0.8 or 0.95. It is the range of
// frequencies of all polynomials of the degree whose likelihood ratio against the fit is at most the statistic's quantile at the level, as in
// the test. So it holds for all scores together, given the degree: if it leaves out the diagonal somewhere, the p-value is below 1 - level.
//
// Limits are accurate to about 1e-8; they are 0 and 1 where the polynomial parts the outcomes. With more than 4,096 distinct scores, neighbours within 1/128 of a
// logit are joined first, within more if that leaves more than 4,096. It returns nil if
// Reason gives a reason. It panics unless 0 < level < 1.
func (b *Belt) Limits(level float64, scores ...float64) []BeltLimits {
	if !(level > 0 && level < 1) {
		panic("binfree: the level of a belt lies between 0 and 1")
	}
	if b.reason != "" {
		return nil
	}
	p := b.fit
	if b.joined {
		p = p.refitted()
	}
	top := p.gain(p.at)
	room := float64(beltQuantile(1-level, p.degree, b.fitted) / 2)
	limits := make([]BeltLimits, len(scores))
	for i, s := range scores {
		x := odds{s, 1 - s}.logit()
		var basis [mostDegree + 1]float64
		p.values(&basis, x, p.degree)
		at := func(c []float64) float64 { return share(x + p.along(c, &basis)) }
		limits[i] = BeltLimits{s, at(p.at), 0, 1}
		if c, ok := p.farthest(&basis, -1, top, room); ok {
			limits[i].Low = at(c)
		}
		if c, ok := p.farthest(&basis, 1, top, room); ok {
			limits[i].High = at(c)
		}
	}
	return limits
}

// share returns the probability with this logit.
func share(eta float64) float64 {
	small, _ := logistic(eta)
	if eta > 0 {
		return 1 - small
	}
	return small
}

// joined returns at most so many points: neighbours within a width of logits are joined at their mean. It reports false if there are no more.
func joined(points []beltPoint, most int) ([]beltPoint, bool) {
	if len(points) <= most {
		return points, false
	}
	var few []beltPoint
	for width := 1.0 / 128; few == nil || len(few) > most; width *= 2 {
		few = few[:0]
		start := math.Inf(-1)
		for i := range points {
			of := &points[i]
			if of.x-start > width {
				few, start = append(few, beltPoint{}), of.x
			}
			q := &few[len(few)-1]
			q.x += float64((of.rest + of.hits) * of.x)
			q.rest += of.rest
			q.hits += of.hits
		}
	}
	for i := range few {
		q := &few[i]
		q.x /= q.rest + q.hits
		q.odds = odds{share(q.x), share(-q.x)}
	}
	return few, true
}

// refitted returns the polynomial fitted to its points, which were joined.
func (p *polynomial) refitted() polynomial {
	r := newPolynomial(p.points, min(p.degree, distinctLogits(p.points)-1))
	r.degree = min(p.degree, len(r.basis)-1)
	r.solve()
	return r
}

// farthest returns the coefficients with the largest value of sign times the polynomial at a point with this basis, among those whose
// log-likelihood is at most room below that of the fit, which gains top. With f the loss of log-likelihood, r its gradient and H its second
// derivatives, the maximum has r = v g and f = room for the vector g of the point; these equations are solved by Newton's method from the
// ellipse of H at the fit. ok is false if there is no solution: where the polynomial parts the outcomes.
func (p *polynomial) farthest(basis *[mostDegree + 1]float64, sign, top, room float64) (c []float64, ok bool) {
	n := p.degree + 1
	g := make([]float64, n)
	for k := range g {
		g[k] = float64(sign * basis[k])
	}
	dot := func(a, b []float64) float64 {
		s := 0.0
		for k := range a {
			s += float64(a[k] * b[k])
		}
		return s
	}
	c = slices.Clone(p.at)
	loss := 0.0
	for range 100 {
		slope, h := p.slopes(c)
		r := make([]float64, n)
		for k := range r {
			r[k] = -slope[k]
		}
		u, ok := solved(&h, g)
		if !ok {
			return nil, false
		}
		w, _ := solved(&h, r)
		along := dot(r, u)
		v := 0.0
		if rest := room - loss; loss < room/1e6 {
			v = math.Sqrt(2 * room / dot(g, u)) // at the fit
		} else {
			v = (rest + dot(r, w)) / along
		}
		size := 0.0
		step := make([]float64, n)
		for k := range step {
			step[k] = float64(v*u[k]) - w[k]
			for l := 0; l < k; l++ {
				size += float64(2 * step[k] * step[l] * h[k][l])
			}
			size += float64(step[k] * step[k] * h[k][k])
		}
		for t := 1.0; ; t /= 2 {
			next := slices.Clone(c)
			for k, s := range step {
				next[k] += float64(t * s)
			}
			if l := float64((top - p.gain(next)) / 2); l <= 3*room || t < 1e-6 {
				c, loss = next, l
				break
			}
		}
		if size < 1e-16*room {
			return c, math.Abs(loss-room) < 1e-6*room
		}
	}
	return nil, false
}
