package paired

import (
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tails"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Event says by which event and scores the rows of a Joint are seen.
type Event uint8

const (
	Kept     Event = iota // the scores and the event as they are kept
	TopLabel              // of a binary task: the probability of the more probable class, and that it is the true one; else Kept
)

// Sides are the rows of a Joint as both models see them, from which differences of metrics over scores are found.
type Sides struct {
	a, b     side
	w, w2    []float64 // of each cell: the weight of its rows, and the sum of their squared weights
	total    float64
	squares  float64
	weighted bool
	same     bool // the models are one: both have the same scores and outcomes in all rows
}

// side is what one model makes of the cells: its distinct scores in rising order, with the weights of the rows without and
// with the event, and for each cell the place of its score and the outcome.
type side struct {
	p, q         []float64 // the score, and 1 - p
	rest, events []float64
	at           []int32
	hit          []uint8
}

// Sides returns the rows as the models see them. Its parts do not change when rows are added.
func (j *Joint) Sides(e Event) *Sides {
	j.sort()
	s := &Sides{weighted: j.seen.Weighted, same: true, w: make([]float64, len(j.cells))}
	if s.w2 = s.w; s.weighted {
		s.w2 = make([]float64, len(j.cells))
	}
	for i, c := range j.cells {
		s.same = s.same && c.a == c.b
		if s.w[i] = float64(c.n); s.weighted {
			s.w[i], s.w2[i] = j.heavy[i].W.Float64(), j.heavy[i].W2.Float64()
		}
		s.total += s.w[i]
		s.squares += s.w2[i]
	}
	turn := e == TopLabel && j.seen.Classes == 1
	keys := make([]uint64, len(j.cells))
	s.a = j.side(s.w, turn, keys, func(c *jointCell) uint64 { return c.a })
	s.b = j.side(s.w, turn, keys, func(c *jointCell) uint64 { return c.b })
	return s
}

// side returns the side of the model whose keys a function has. It writes them to keys.
func (j *Joint) side(w []float64, turn bool, keys []uint64, of func(*jointCell) uint64) side {
	s := side{at: make([]int32, len(j.cells)), hit: make([]uint8, len(j.cells))}
	for i := range j.cells {
		k := of(&j.cells[i])
		if turn {
			k = j.top(k)
		}
		keys[i], s.hit[i] = k>>1, uint8(k&1)
	}
	each := j.distinct(keys, s.at)
	middle := j.middles()
	s.p, s.q = make([]float64, len(each)), make([]float64, len(each))
	for i, k := range each {
		q, upper := 0.0, false
		if !j.gridded {
			q, upper = tally.Distance(k)
		} else if upper = k >= uint64(j.places)/2; upper {
			q = middle[uint64(j.places)-1-k]
		} else {
			q = middle[k]
		}
		if s.p[i], s.q[i] = q, 1-q; upper {
			s.p[i], s.q[i] = 1-q, q
		}
	}
	s.rest, s.events = make([]float64, len(each)), make([]float64, len(each))
	for i, at := range s.at {
		if s.hit[i] == 1 {
			s.events[at] += w[i]
		} else {
			s.rest[at] += w[i]
		}
	}
	return s
}

// distinct returns the distinct keys in rising order, and writes where they are for each.
func (j *Joint) distinct(keys []uint64, at []int32) (each []uint64) {
	if j.gridded {
		number := make([]int32, j.places)
		for _, k := range keys {
			number[k] = 1
		}
		for k, there := range number {
			if number[k] = int32(len(each)); there == 1 {
				each = append(each, uint64(k))
			}
		}
		for i, k := range keys {
			at[i] = number[k]
		}
		return each
	}
	order, last := rising(keys, nil), int32(-1)
	for n, i := range order {
		if n == 0 || keys[i] != keys[order[n-1]] {
			last++
		}
		at[i] = last
	}
	each = make([]uint64, last+1)
	for i, k := range keys {
		each[at[i]] = k
	}
	return each
}

// top returns the key of the top label of a binary task for that of class 1. At 1/2 class 0 is the top label.
func (j *Joint) top(k uint64) uint64 {
	score, y := k>>1, k&1
	switch {
	case j.gridded && score < uint64(j.places)/2:
		return (uint64(j.places)-1-score)<<1 | 1 - y
	case j.gridded:
		return k
	}
	return topKey(k)
}

// middles returns, for each place of the grid below 1/2, the middle of its scores.
func (j *Joint) middles() []float64 {
	if !j.gridded {
		return nil
	}
	n := j.places / 2
	middle := make([]float64, n)
	low := 0.0
	for c := range middle {
		// The largest q of this place: its bits are searched, since places rise with them.
		from, to := math.Float64bits(low), uint64(tally.HalfKey)
		for from < to {
			if at := from + (to-from+1)/2; j.grid.Place(math.Float64frombits(at)) > uint32(c) {
				to = at - 1
			} else {
				from = at
			}
		}
		high := math.Float64frombits(from)
		middle[c] = (low + high) / 2
		low = math.Float64frombits(from + 1)
	}
	return middle
}

// Same reports whether both models have the same scores and outcomes in all rows; on a grid, the same places.
func (s *Sides) Same() bool { return s.same }

// effective returns the effective number of rows.
func (s *Sides) effective() float64 { return float64(s.total*s.total) / s.squares }

// influence holds by how much a row of each score changes a metric, in units of 1/N: of rows without and with the event.
type influence [2][]float64

// errorOf returns the error of the difference of a metric that rows influence so, times factors for rows without and with the
// event.
func (s *Sides) errorOf(a, b influence, factor [2]float64) Error {
	if s.same {
		return Error{SE: 0, DF: s.effective() - 1}
	}
	v, fourth := 0.0, 0.0
	for i, w2 := range s.w2 {
		d := b[s.b.hit[i]][s.b.at[i]] - a[s.a.hit[i]][s.a.at[i]]
		q := float64(factor[s.b.hit[i]] * float64(d*d))
		v += float64(w2 * q)
		fourth += float64(w2 * float64(q*q))
	}
	return Error{SE: math.Sqrt(v) / s.total, DF: tails.Freedom(s.effective(), v/s.squares, fourth/s.squares)}
}

// plain returns the factor n/(n-1) of the effective number of rows, for both outcomes.
func (s *Sides) plain() [2]float64 {
	n := s.effective()
	return [2]float64{n / (n - 1), n / (n - 1)}
}

// shared reports whether both models have the same event, as those of a binary task have for class 1.
func (s *Sides) shared() bool { return slices.Equal(s.a.hit, s.b.hit) }

// sums returns the weights of the rows without and with the event.
func (s *side) sums() (rest, events float64) {
	for i, w := range s.rest {
		rest += w
		events += s.events[i]
	}
	return rest, events
}

// AUROC returns the error of the difference of the areas under the ROC. It is DeLong's where both models have the same
// event and there are no weights; else rows count by their influence. It is unknown if a model has
// rows of one outcome only.
//
// Source: DeLong, DeLong and Clarke-Pearson 1988.
func (s *Sides) AUROC() Error {
	factor := s.plain()
	if rest, events := s.b.sums(); s.shared() && !s.weighted {
		if rest < 2 || events < 2 {
			return unknown
		}
		factor = [2]float64{rest / (rest - 1), events / (events - 1)}
	}
	return s.errorOf(s.a.auroc(), s.b.auroc(), factor)
}

func (s *side) auroc() influence {
	rest, events := s.sums()
	f := influence{make([]float64, len(s.p)), make([]float64, len(s.p))}
	below, above, area := 0.0, events, 0.0
	for i := range s.p {
		above -= s.events[i]
		f[1][i] = (below + float64(s.rest[i]/2)) / rest
		f[0][i] = (above + float64(s.events[i]/2)) / events
		area += float64(s.events[i] * f[1][i])
		below += s.rest[i]
	}
	area /= events
	total := rest + events
	for i := range s.p {
		f[1][i] = (f[1][i] - area) * (total / events)
		f[0][i] = (f[0][i] - area) * (total / rest)
	}
	return f
}

// Selective holds the errors of the differences of the areas of selective classification.
type Selective struct{ AURC, EAURC, AUGRC Error }

// Selective returns the errors of the differences of AURC, E-AURC and AUGRC, by the influence of rows. The event is that
// a row is right.
func (s *Sides) Selective() Selective {
	f := s.plain()
	all := selective(&s.a, &s.b, s.total, s.total, func(a, b influence) Error { return s.errorOf(a, b, f) })
	for _, e := range []*Error{&all.AURC, &all.EAURC, &all.AUGRC} {
		e.SE *= s.few()
	}
	return all
}

// selective returns the errors of the areas of two models by their influences, which take the same memory one after the other.
func selective(a, b *side, totalA, totalB float64, of func(a, b influence) Error) (s Selective) {
	fa, bestA := a.aurc(totalA)
	fb, bestB := b.aurc(totalB)
	s.AURC = of(fa, fb)
	fa.less(bestA)
	fb.less(bestB)
	s.EAURC = of(fa, fb)
	a.augrc(totalA, fa)
	b.augrc(totalB, fb)
	s.AUGRC = of(fa, fb)
	return s
}

// less subtracts a number from the influence of rows without and with the event.
func (f influence) less(by [2]float64) {
	for outcome, v := range f {
		for i := range v {
			v[i] -= by[outcome]
		}
	}
}

// few returns by how much a standard error is widened where outcomes are few: sqrt(1 + 3/E) for E rows of the rarer outcome, of the
// model with fewer. A few rows are all that is known of the scores of such rows.
func (s *Sides) few() float64 {
	least := math.Inf(1)
	for _, m := range []*side{&s.a, &s.b} {
		rest, events := m.sums()
		least = math.Min(least, math.Min(rest, events)*s.effective()/s.total)
	}
	if !(least > 0) {
		return math.NaN()
	}
	return math.Sqrt(1 + 3/least)
}

// aurc returns the influence on AURC, and that of a row without and with the event on the area of the best order, which E-AURC leaves out. With
// c(t) the share of rows that score at least t and r(t) the error rate among them, AURC is the mean of r over rows; a row moves it by its own r, and
// by the risks of all rows below it.
func (s *side) aurc(total float64) (f influence, best [2]float64) {
	n := len(s.p)
	f = influence{make([]float64, n), make([]float64, n)}
	share, risk := f[0], f[1] // each is replaced where it was read
	rows, errors, area := 0.0, 0.0, 0.0
	for i := n - 1; i >= 0; i-- {
		w := s.rest[i] + s.events[i]
		rows += w
		errors += s.rest[i]
		share[i], risk[i] = rows/total, errors/rows
		area += float64(w / total * risk[i])
	}
	first, second := 0.0, 0.0
	for i := range n {
		w := (s.rest[i] + s.events[i]) / total
		first += w / share[i]
		second += float64(w * risk[i] / share[i])
		f[1][i] = risk[i] - area - second
		f[0][i] = f[1][i] + first
	}
	rate := errors / total
	slope := kernel.Log64(1 - rate)
	if rate >= 1 {
		slope = 0
	}
	return f, [2]float64{-float64(slope * (1 - rate)), float64(slope * rate)}
}

// augrc writes the influence on AUGRC to f.
func (s *side) augrc(total float64, f influence) {
	errors, area := 0.0, 0.0
	for i := len(s.p) - 1; i >= 0; i-- {
		silent := (errors + float64(s.rest[i]/2)) / total
		errors += s.rest[i]
		area += float64((s.rest[i] + s.events[i]) / total * silent)
		f[0][i], f[1][i] = silent, silent
	}
	below := 0.0
	for i := range s.p {
		w := (s.rest[i] + s.events[i]) / total
		f[0][i] += below + float64(w/2) - float64(2*area)
		f[1][i] -= float64(2 * area)
		below += w
	}
}

// Line is a fitted logistic calibration line: P(y = 1) = 1/(1 + exp(-(Intercept + Slope logit p))).
type Line struct{ Intercept, Slope float64 }

// Cox returns the errors of the differences of the intercepts and slopes of two fits, which the caller has found, by the
// influence of rows: the sandwich estimate, which holds for models that are off. Rows with scores of 0 and 1 are left out, as in
// the fits. They are unknown if the scores of a model do not determine a line.
func (s *Sides) Cox(a, b Line) (intercept, slope Error) {
	ai, as := s.a.cox(a, s.total)
	bi, bs := s.b.cox(b, s.total)
	if ai[0] == nil || bi[0] == nil {
		return unknown, unknown
	}
	f := s.plain()
	intercept, slope = s.errorOf(ai, bi, f), s.errorOf(as, bs, f)
	intercept.SE *= s.few()
	slope.SE *= s.few()
	return intercept, slope
}

func (s *side) cox(l Line, total float64) (intercept, slope influence) {
	n := len(s.p)
	x, f := make([]float64, n), make([]float64, n)
	i00, i01, i11 := 0.0, 0.0, 0.0
	for i, p := range s.p {
		if p == 0 || s.q[i] == 0 {
			continue
		}
		x[i] = kernel.Log64(p) - kernel.Log64(s.q[i])
		f[i] = 1 / (1 + kernel.Exp64(-(l.Intercept + float64(l.Slope*x[i]))))
		v := float64((s.rest[i] + s.events[i]) / total * float64(f[i]*(1-f[i])))
		i00 += v
		i01 += float64(v * x[i])
		i11 += float64(v * float64(x[i]*x[i]))
	}
	det := float64(i00*i11) - float64(i01*i01)
	if !(det > 1e-12*float64(i00*i11)) {
		return intercept, slope
	}
	intercept, slope = influence{make([]float64, n), make([]float64, n)}, influence{make([]float64, n), make([]float64, n)}
	for i, p := range s.p {
		if p == 0 || s.q[i] == 0 {
			continue
		}
		for y := range 2 {
			r := float64(y) - f[i]
			intercept[y][i] = float64(r*(i11-float64(i01*x[i]))) / det
			slope[y][i] = float64(r*(float64(i00*x[i])-i01)) / det
		}
	}
	return intercept, slope
}

// ErrorSquared returns the error of the difference of calibration_error_squared over equal-width bins.
//
// With g the mean residual y - p of a bin, and r residuals around it, a row moves the metric by 2 g r + g^2. Where both models are
// calibrated g vanishes, and what is left is the variance of the products of the residuals of two rows of a bin. Estimates of g
// bring the latter into the former twice, so the variance is the first minus the second, and at least the second. Both allow for
// bins of few rows.
//
// A bin with one row has no variance and adds nothing to the value. unseen is the most that those of A and of B might have added.
func (s *Sides) ErrorSquared(bins int) (e Error, unseen [2]float64) {
	if s.same {
		return Error{SE: 0, DF: s.effective() - 1}, unseen
	}
	a, b := s.residuals(&s.a, bins), s.residuals(&s.b, bins)
	first := s.errorOf(a.influence, b.influence, s.plain())
	own := [2][]float64{make([]float64, bins), make([]float64, bins)} // sums of squared residuals
	cross := make([]float64, bins*bins)
	for i, w2 := range s.w2 {
		ka, kb := a.bin[s.a.at[i]], b.bin[s.b.at[i]]
		ra, rb := a.residual(&s.a, i), b.residual(&s.b, i)
		own[0][ka] += float64(w2 * float64(ra*ra))
		own[1][kb] += float64(w2 * float64(rb*rb))
		cross[ka*bins+kb] += float64(w2 * float64(ra*rb))
	}
	least, taken := 0.0, 0.0
	for m, r := range []*residuals{a, b} {
		for k, q := range own[m] {
			n := r.rows[k]
			if n > 1 {
				x := float64(q / r.weight[k] * (q / r.weight[k]))
				least += float64(x * (2 * n / (n + 1)))
				taken += float64(x * ((2*n - 4) / (n + 1)))
			} else if n > 0 {
				unseen[m] += float64(r.weight[k] / s.total * float64(r.gap[k]*r.gap[k]))
			}
		}
	}
	for ka := range bins {
		for kb := range bins {
			if c := cross[ka*bins+kb]; c != 0 {
				x := 2 * float64(c*c) / float64(a.weight[ka]*b.weight[kb])
				na, nb := a.rows[ka], b.rows[kb] // at least 2, or scaled residuals are 0
				below := math.Sqrt(float64((na + 1) * (nb + 1)))
				least -= float64(x * (2 * math.Sqrt(float64(na*nb)) / below))
				taken -= float64(x * (math.Sqrt(math.Max(0, float64((2*na-4)*(2*nb-4)))) / below))
			}
		}
	}
	square := float64(s.total * s.total)
	v := math.Max(float64(first.SE*first.SE)-taken/square, math.Max(0, least)/square)
	return Error{SE: math.Sqrt(v), DF: first.DF}, unseen
}

// residuals are those of a model's scores by bin.
type residuals struct {
	bin       []int     // of each score
	weight    []float64 // of each bin
	rows      []float64 // effective rows of each bin
	gap       []float64 // mean residual of each bin
	scale     []float64 // sqrt(n/(n-1)); 0 for one row
	influence influence
}

// residual returns the residual of a cell's rows around the gap, scaled so that its square is unbiased.
func (r *residuals) residual(s *side, cell int) float64 {
	at := s.at[cell]
	k := r.bin[at]
	return float64(r.scale[k] * (float64(s.hit[cell]) - s.p[at] - r.gap[k]))
}

func (s *Sides) residuals(of *side, bins int) *residuals {
	zeros := func() []float64 { return make([]float64, bins) }
	r := &residuals{make([]int, len(of.p)), zeros(), zeros(), zeros(), zeros(), influence{make([]float64, len(of.p)), make([]float64, len(of.p))}}
	for i, p := range of.p {
		k := min(int(p*float64(bins)), bins-1)
		r.bin[i] = k
		r.weight[k] += of.rest[i] + of.events[i]
		r.gap[k] += of.events[i] - float64(p*(of.rest[i]+of.events[i]))
	}
	for i, w2 := range s.w2 { // first the sums of squared weights
		r.rows[r.bin[of.at[i]]] += w2
	}
	mean := 0.0
	for k, w := range r.weight {
		if w == 0 {
			continue
		}
		r.gap[k] /= w
		n := float64(w*w) / r.rows[k]
		if r.rows[k] = n; n > 1 {
			r.scale[k] = math.Sqrt(n / (n - 1))
		}
		mean += float64(w / s.total * float64(r.gap[k]*r.gap[k]))
	}
	for i, p := range of.p {
		k := r.bin[i]
		for y := range 2 {
			d := float64(r.scale[k] * (float64(y) - p - r.gap[k]))
			r.influence[y][i] = 2*float64(r.gap[k]*d) + float64(r.gap[k]*r.gap[k]) - mean
		}
	}
	return r
}
