package recal

import (
	"fmt"
	"iter"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// A logistic fit is a fit of P(event) = sigmoid(c + sum a_j x_j) to rows of one score each, with logit z. For Platt x is z;
// for Beta x is ln p and -ln(1-p), with a_j >= 0. Each evaluation of value, gradient and Hessian takes one read of the rows,
// which any number of fits share. Sums are exact, so a fit has the same bits in any order of rows.

// logisticRows are rows of a fit: logits (infinite for scores 0 and 1), whether the event happened, and weights (nil if all
// are 1).
type logisticRows struct {
	z   []float64
	hit []uint8
	w   []float64
}

// logisticTile is the number of rows processed at a time.
const logisticTile = 512

// logisticModel holds what concurrent fits have in common.
type logisticModel struct {
	beta     bool
	smoothed bool
}

// features returns the number of x.
func (m logisticModel) features() int {
	if m.beta {
		return 2
	}
	return 1
}

// at returns the x of a logit.
func (m logisticModel) at(z float64) (x [2]float64) {
	if !m.beta {
		return [2]float64{z}
	}
	var e, t [1]float64
	var u, v [1]float64
	betaFeatures(u[:], v[:], e[:], t[:], []float64{z})
	return [2]float64{u[0], v[0]}
}

// betaFeatures writes ln p and -ln(1-p) for finite logits; small values keep all their digits. e and t are scratch.
func betaFeatures(u, v, e, t, z []float64) {
	n := len(z)
	u, v, e, t = u[:n], v[:n], e[:n], t[:n]
	for i, x := range z {
		e[i] = -math.Abs(x)
	}
	kernel.ExpSliceF64(e, e)
	for i, x := range e {
		t[i] = 1 + x
	}
	kernel.LogSliceF64(v, t)
	for i, x := range z {
		// ln(1 + e), corrected for the rounding of 1 + e.
		s := v[i] + (e[i]-(t[i]-1))/t[i]
		u[i], v[i] = math.Min(x, 0)-s, math.Max(x, 0)+s
	}
}

// logisticEnds holds a smallest and a largest logit; the zero value stands for none.
type logisticEnds struct {
	lo, hi float64
	any    bool
}

func (e *logisticEnds) add(z float64) {
	if !e.any {
		*e = logisticEnds{z, z, true}
	}
	e.lo, e.hi = math.Min(e.lo, z), math.Max(e.hi, z)
}

// logisticSurvey collects, in the first read, statistics of a fit's rows without and with the event.
type logisticSurvey struct {
	rows   [2]int64 // with finite logits
	weight [2]exact.Sum
	first  [2]exact.Sum // of weight * z
	second exact.Sum    // of weight * z * z
	wild   bool         // some squared logits overflow
	ends   [2]logisticEnds
	scores [3]float64 // distinct scores
	differ int        // number of distinct scores
	agree  int64      // rows with score 0 and no event, or score 1 and the event
	leave  int64      // other rows with score 0 or 1
}

func (s *logisticSurvey) note(z float64) {
	for _, v := range s.scores[:s.differ] {
		if v == z {
			return
		}
	}
	if s.differ < len(s.scores) {
		s.scores[s.differ] = z
		s.differ++
	}
}

func (s *logisticSurvey) add(r *logisticRows, w *logisticScratch) {
	for i, z := range r.z {
		if z-z != 0 {
			if (z > 0) == (r.hit[i] != 0) {
				s.agree++
			} else {
				s.leave++
			}
		}
	}
	z, event, weights := w.finite(r)
	for i, x := range z {
		y := event[i]
		s.rows[y]++
		s.ends[y].add(x)
		if s.differ < len(s.scores) {
			s.note(x)
		}
		if math.Abs(x) > 1e100 {
			s.wild = true
		}
	}
	if s.wild {
		// Skip the squares; the fit starts elsewhere.
		z = nil
	}
	for y := range s.rows {
		n := 0
		for i, e := range event {
			if int(e) != y {
				continue
			}
			v := 1.0
			if weights != nil {
				v = weights[i]
			}
			w.r[n] = v
			if z != nil {
				w.rx[0][n] = float64(v * z[i])
				w.h[n] = float64(w.rx[0][n] * z[i])
			}
			n++
		}
		s.weight[y].AddExactAll(w.r[:n])
		if z != nil {
			s.first[y].AddExactAll(w.rx[0][:n])
			s.second.AddExactAll(w.h[:n])
		}
	}
}

func (s *logisticSurvey) merge(o *logisticSurvey) {
	for y := range s.rows {
		s.rows[y] += o.rows[y]
		s.weight[y].Merge(&o.weight[y])
		s.first[y].Merge(&o.first[y])
		if e := o.ends[y]; e.any {
			s.ends[y].add(e.lo)
			s.ends[y].add(e.hi)
		}
	}
	s.second.Merge(&o.second)
	s.wild = s.wild || o.wild
	for _, z := range o.scores[:o.differ] {
		s.note(z)
	}
	s.agree += o.agree
	s.leave += o.leave
}

// logisticScratch is the scratch memory of one goroutine.
type logisticScratch struct {
	z, w         [logisticTile]float64
	event        [logisticTile]uint8
	x            [2][logisticTile]float64
	eta, e, r, h [logisticTile]float64
	rx, hx       [2][logisticTile]float64
	products     [logisticTile]float64
}

// finite returns the rows with finite logits.
func (w *logisticScratch) finite(r *logisticRows) (z []float64, event []uint8, weights []float64) {
	all := true
	for _, z := range r.z {
		all = all && z-z == 0
	}
	if all {
		return r.z, r.hit, r.w
	}
	n := 0
	for i, z := range r.z {
		if z-z != 0 {
			continue
		}
		w.z[n], w.event[n] = z, r.hit[i]
		if r.w != nil {
			w.w[n] = r.w[i]
		}
		n++
	}
	if r.w != nil {
		weights = w.w[:n]
	}
	return w.z[:n], w.event[:n], weights
}

// logisticLine holds c and the a for centered and scaled x.
type logisticLine struct {
	c float64
	a [2]float64
}

// logisticFrame defines centered and scaled x: x*scale - center. Scales are powers of two.
type logisticFrame struct{ scale, center [2]float64 }

// logisticTotals holds sums over rows of residuals mu - t and of the information mu(1-mu).
type logisticTotals struct {
	g0, h0 exact.Sum
	g, h   [2]exact.Sum // times x
	hh     [3]exact.Sum // times x1 x1, x2 x2 and x1 x2
}

func (t *logisticTotals) merge(o *logisticTotals) {
	t.g0.Merge(&o.g0)
	t.h0.Merge(&o.h0)
	for j := range t.g {
		t.g[j].Merge(&o.g[j])
		t.h[j].Merge(&o.h[j])
	}
	for j := range t.hh {
		t.hh[j].Merge(&o.hh[j])
	}
}

// add adds rows at a line.
func (t *logisticTotals) add(r *logisticRows, f *logisticFit, w *logisticScratch) {
	z, event, weights := w.finite(r)
	n := len(z)
	if n == 0 {
		return
	}
	m := f.features()
	l, frame := &f.asked, &f.frame
	if f.beta {
		betaFeatures(w.x[0][:], w.x[1][:], w.e[:], w.eta[:], z)
	} else {
		copy(w.x[0][:], z)
	}
	eta, e := w.eta[:n], w.e[:n]
	for i := range eta {
		eta[i] = l.c
	}
	for j := range m {
		scale, center, a := frame.scale[j], frame.center[j], l.a[j]
		x := w.x[j][:n]
		for i, v := range x {
			v = float64(v*scale) - center
			x[i] = v
			eta[i] += float64(a * v)
		}
	}
	for i, v := range eta {
		e[i] = -math.Abs(v)
	}
	kernel.ExpSliceF64(e, e)
	res, inf := w.r[:n], w.h[:n]
	for i, v := range e {
		mu := 1 / (1 + v)
		rest := float64(v * mu)
		inf[i] = float64(mu * rest)
		// For a negative logit mu and rest change places. Signs are as unpredictable as labels, so this uses no branch.
		big, small := math.Float64bits(mu), math.Float64bits(rest)
		swap := (big ^ small) & uint64(int64(math.Float64bits(eta[i]))>>63)
		mu, rest = math.Float64frombits(big^swap), math.Float64frombits(small^swap)
		// mu - t, computed from the smaller of mu and 1 - mu.
		y := event[i]
		res[i] = float64(f.target[y][0]*mu) - float64(f.target[y][1]*rest)
	}
	for i, v := range weights {
		res[i] = float64(res[i] * v)
		inf[i] = float64(inf[i] * v)
	}
	t.g0.AddExactAll(res)
	t.h0.AddExactAll(inf)
	for j := range m {
		rx, hx, hxx := w.rx[j][:n], w.hx[j][:n], w.products[:n]
		for i, v := range w.x[j][:n] {
			rx[i] = float64(res[i] * v)
			hx[i] = float64(inf[i] * v)
			hxx[i] = float64(hx[i] * v)
		}
		t.g[j].AddExactAll(rx)
		t.h[j].AddExactAll(hx)
		t.hh[j].AddExactAll(hxx)
	}
	if m == 2 {
		p := w.products[:n]
		for i, v := range w.x[1][:n] {
			p[i] = float64(w.hx[0][i] * v)
		}
		t.hh[2].AddExactAll(p)
	}
}

// logisticSums holds the gradient and the information at a line: with weights weight * mu(1-mu), their sum, the mean of x,
// and sums of squares and products about it.
type logisticSums struct {
	g0     float64    // derivative by c
	g      [2]float64 // derivatives by a_j with c + sum a_j mean_j fixed
	w      float64
	mean   [2]float64
	cov    [3]float64 // for x1 x1, x2 x2 and x1 x2
	square [2]float64 // sums of squares about the center
}

func (t *logisticTotals) sums() (s logisticSums) {
	s.g0, s.w = t.g0.Float64(), t.h0.Float64()
	for j := range t.g {
		h := t.h[j].Float64()
		if s.w > 0 {
			s.mean[j] = h / s.w
		}
		s.g[j] = t.g[j].Float64() - float64(s.mean[j]*s.g0)
		s.square[j] = t.hh[j].Float64()
		s.cov[j] = s.square[j] - float64(h*s.mean[j])
	}
	s.cov[2] = t.hh[2].Float64() - float64(t.h[0].Float64()*s.mean[1])
	return s
}

// errors returns the length of a step in standard errors.
func (s *logisticSums) errors(d *logisticLine) float64 {
	m := d.c + float64(s.mean[0]*d.a[0]) + float64(s.mean[1]*d.a[1])
	v := float64(s.w*float64(m*m)) + float64(s.cov[0]*float64(d.a[0]*d.a[0])) + float64(s.cov[1]*float64(d.a[1]*d.a[1]))
	return math.Sqrt(math.Max(0, v+float64(2*s.cov[2]*float64(d.a[0]*d.a[1]))))
}

// logisticFit minimises the negative log-likelihood over the rows of one fit.
type logisticFit struct {
	logisticModel
	of     string // name in errors
	survey logisticSurvey
	target [2][2]float64 // by event, 1 - t and t
	lo, hi float64       // smallest and largest logit
	frame  logisticFrame
	line   logisticLine // the current line
	sums   logisticSums // at the current line
	done   bool
	err    error
	c      float64    // the resulting curve
	a      [2]float64 // for x as given

	asked    logisticLine
	answer   logisticSums
	searched int
}

const (
	logisticSearches = 200   // reads before a fit is given up
	logisticPrecise  = 1e-8  // after a step this small, measured by the largest change of a logit, stop: the next would be its square
	logisticNothing  = 1e-12 // standard errors
	logisticNear     = 1e-4  // a step this small is followed by far smaller ones
	logisticFarthest = 2000  // larger than the distance of any two logits of float64 probabilities
)

// fit fits a curve to each class, or to the top label, concurrently. The survey's Fit describes the rows.
func (m logisticModel) fit(d Data, o *Options, top bool) ([]logisticFit, *survey, error) {
	s, err := lookBinary(d, o, !top)
	if err != nil {
		return nil, nil, err
	}
	r := reading{top: top, logits: true, likely: !top}
	fits := make([]logisticFit, r.curves(s.fit.Classes))
	surveys, err := readLogistic(s, d, o, r, len(fits), func(own *logisticSurvey, _ int, rows *logisticRows, w *logisticScratch) {
		own.add(rows, w)
	})
	if err != nil {
		return nil, nil, err
	}
	run := make([]func() (struct{}, bool), len(fits))
	for k := range fits {
		f := &fits[k]
		if f.logisticModel = m; len(fits) > 1 {
			f.of = fmt.Sprintf("class %d against the rest: ", k)
		}
		for _, own := range surveys {
			f.survey.merge(&own[k])
		}
		if reason := f.reason(); reason != "" {
			return nil, nil, f.named(unreachable("%s", reason))
		}
		next, stop := iter.Pull(f.ask)
		defer stop()
		run[k] = next
	}
	for {
		open := false
		for k := range fits {
			f := &fits[k]
			if f.done {
				continue
			}
			if _, more := run[k](); more {
				open = true
				continue
			}
			if f.done = true; f.err == nil {
				f.finish()
			}
			if f.err != nil {
				return nil, nil, f.named(f.err)
			}
		}
		if !open {
			break
		}
		totals, err := readLogistic(s, d, o, r, len(fits), func(own *logisticTotals, k int, rows *logisticRows, w *logisticScratch) {
			if f := &fits[k]; !f.done {
				own.add(rows, f, w)
			}
		})
		if err != nil {
			return nil, nil, err
		}
		for k := range fits {
			if f := &fits[k]; !f.done {
				var sum logisticTotals
				for _, own := range totals {
					sum.merge(&own[k])
				}
				f.answer = sum.sums()
			}
		}
	}
	if top && fits[0].survey.leave > 0 {
		s.fit.LeftOut = fits[0].survey.leave
		s.fit.FirstLeftOut, err = firstCertain(s, d, o)
	}
	return fits, s, err
}

// readLogistic reads the data once, and returns the sums of each goroutine for each fit.
func readLogistic[T any](s *survey, d Data, o *Options, r reading, fits int, add func(own *T, fit int, rows *logisticRows,
	w *logisticScratch)) (all [][]T, err error) {
	err = s.stream(d, o, r, func() func(int, []float64, []uint8, []float64) {
		own, scratch := make([]T, fits), new(logisticScratch)
		all = append(all, own)
		return func(k int, z []float64, hit []uint8, w []float64) {
			for lo := 0; lo < len(z); lo += logisticTile {
				hi := min(lo+logisticTile, len(z))
				rows := logisticRows{z: z[lo:hi], hit: hit[lo:hi]}
				if w != nil {
					rows.w = w[lo:hi]
				}
				add(&own[k], k, &rows, scratch)
			}
		}
	})
	return all, err
}

// firstCertain returns the number of the first row whose top label has probability 1 and is wrong.
func firstCertain(s *survey, d Data, o *Options) (int64, error) {
	s.fit.Reads++
	var first []*int64
	err := each(d, o, func() func(*metrics.Chunk) {
		own, t := int64(math.MaxInt64), newTile(reading{top: true, logits: true}, s.fit.Classes, 1)
		first = append(first, &own)
		return func(c *metrics.Chunk) {
			for i := range c.Rows {
				if t.load(c, i, i+1); t.n == 1 && t.x[0] > math.MaxFloat64 && t.labels[0] == 0 {
					own = min(own, c.Number(i))
				}
			}
		}
	})
	least := int64(math.MaxInt64)
	for _, n := range first {
		least = min(least, *n)
	}
	return least, err
}

// reason says why there is no fit, or returns "" if there is one.
func (f *logisticFit) reason() string {
	s := &f.survey
	none, all := s.ends[0], s.ends[1]
	switch {
	case s.rows[0]+s.rows[1] == 0:
		return "all scores that count are 0 or 1, whose logits are infinite"
	case f.beta && s.differ < 3 && s.differ > 1:
		return "there are two distinct scores for three parameters; fit to rows of three distinct scores or more, or take platt, which needs two"
	case s.differ < 2:
		return "all scores are equal, so any slope fits"
	case f.smoothed:
		return ""
	case s.rows[0] == 0:
		return "all rows have the event, so the intercept would grow without end; fit to rows of both outcomes"
	case s.rows[1] == 0:
		return "no row has the event, so the intercept would fall without end; fit to rows of both outcomes"
	case all.lo >= none.hi:
		return "the scores separate the labels perfectly, so the slope would grow without end; fit to more rows"
	case !f.beta && all.hi <= none.lo:
		return "the scores separate the labels perfectly in reverse, so the slope would fall without end; fit to more rows, and check which class is the event"
	}
	return ""
}

// ask runs the fit as a coroutine: each yield asks for f.answer at f.asked.
func (f *logisticFit) ask(yield func(struct{}) bool) {
	f.begin()
	at := func(l logisticLine) (logisticSums, bool) {
		f.asked = l
		f.searched++
		ok := yield(struct{}{})
		return f.answer, ok
	}
	if f.survey.rows[0] > 0 && f.survey.rows[1] > 0 {
		f.solve(at)
		return
	}
	// All targets are equal, and f.line predicts them.
	f.sums, _ = at(f.line)
}

// begin sets the center, the targets and the starting line. The line has probability 1/2 where it would be for two normal
// distributions of equal variance, of the logits without and with the event, and the slope of Newton's first step from slope
// 0. It is usually less steep than the fit, and from such lines Newton's steps are rarely too long.
func (f *logisticFit) begin() {
	s := &f.survey
	var n, mean [2]float64
	for y := range n {
		n[y] = s.weight[y].Float64()
	}
	total := n[0] + n[1]
	f.target = [2][2]float64{{1, 0}, {0, 1}}
	if f.smoothed {
		f.target[1] = [2]float64{1 / (n[1] + 2), (n[1] + 1) / (n[1] + 2)}
		f.target[0] = [2]float64{(n[0] + 1) / (n[0] + 2), 1 / (n[0] + 2)}
	}
	f.lo, f.hi = math.Inf(1), math.Inf(-1)
	for _, e := range s.ends {
		if e.any {
			f.lo, f.hi = math.Min(f.lo, e.lo), math.Max(f.hi, e.hi)
		}
	}
	center := float64(f.lo/2) + float64(f.hi/2)
	if !s.wild {
		var z exact.Sum
		z.Merge(&s.first[0])
		z.Merge(&s.first[1])
		center = math.Min(f.hi, math.Max(f.lo, z.Float64()/total))
	}
	x, lo, hi := f.at(center), f.at(f.lo), f.at(f.hi)
	for j := range f.features() {
		_, e := math.Frexp(math.Max(float64(x[j]/2)-float64(lo[j]/2), float64(hi[j]/2)-float64(x[j]/2)))
		f.frame.scale[j] = math.Ldexp(1, min(max(-e-1, -1022), 1000))
		f.frame.center[j] = float64(x[j] * f.frame.scale[j])
	}
	if n[0] == 0 || n[1] == 0 {
		y := 0
		if n[0] == 0 {
			y = 1
		}
		f.line.c = kernel.Log64(f.target[y][1]) - kernel.Log64(f.target[y][0])
		return
	}
	f.line.c = kernel.Log64(n[1] / n[0])
	if s.wild {
		return
	}
	squares := s.second.Float64()
	for y := range n {
		mean[y] = s.first[y].Float64() / n[y]
		squares -= float64(float64(mean[y]*mean[y]) * n[y])
	}
	gap := mean[1] - mean[0]
	squares += float64(float64(gap*gap) * float64(n[0]*n[1]) / total)
	a := gap / (squares / total)
	if most := 16 / math.Abs(gap); !(math.Abs(a) <= most) {
		a = math.Copysign(most, gap)
	}
	if !(math.Abs(a) > 0 && math.Abs(a) <= math.MaxFloat64) || f.beta && a < 0 {
		return
	}
	f.line.c -= float64(a * (float64(mean[0]/2) + float64(mean[1]/2) - center))
	for j := range f.features() {
		f.line.a[j] = a / f.frame.scale[j]
	}
	// Far from all rows this would be a poor start.
	if !(f.change(&f.line) <= logisticFarthest) {
		f.line = logisticLine{c: kernel.Log64(n[1] / n[0])}
	}
}

// framed returns the centered and scaled x of a logit.
func (f *logisticFit) framed(z float64) [2]float64 {
	x := f.at(z)
	for j := range x {
		x[j] = float64(x[j]*f.frame.scale[j]) - f.frame.center[j]
	}
	return x
}

// change returns the largest |d.c + sum d.a_j x_j|.
func (f *logisticFit) change(d *logisticLine) float64 {
	most := 0.0
	add := func(z float64) {
		x := f.framed(z)
		v := math.Abs(d.c + float64(d.a[0]*x[0]) + float64(d.a[1]*x[1]))
		if !(v <= most) {
			most = v
		}
	}
	add(f.lo)
	add(f.hi)
	if a, b := float64(d.a[0]*f.frame.scale[0]), float64(d.a[1]*f.frame.scale[1]); f.beta && float64(a*b) < 0 {
		if z := kernel.Log64(-a / b); z > f.lo && z < f.hi { // zero of the derivative by p, a/p + b/(1-p)
			add(z)
		}
	}
	return most
}

// recenter moves the center to the mean of the rows that matter, and keeps the line unchanged. It reports whether the center
// moved.
func (f *logisticFit) recenter() bool {
	moved := false
	for j := range f.features() {
		if s := &f.sums; s.cov[j] < 1e-4*s.square[j] {
			was := f.frame.center[j]
			f.frame.center[j] += s.mean[j]
			f.line.c += float64(f.line.a[j] * (f.frame.center[j] - was))
			moved = moved || f.frame.center[j] != was
		}
	}
	return moved
}

// step returns Newton's step to the minimum of the local parabola; for Beta no a becomes negative. Where the parabola is
// flat, it gives a direction but no length; the step is then limited by the quadratic mean of the changes in logits.
func (f *logisticFit) step() (d logisticLine) {
	s := &f.sums
	const limit = 64
	c, w := s.cov, math.Max(s.w, math.Abs(s.g0)/limit)
	for j := range f.features() {
		if v := float64(s.g[j]/limit) * float64(s.g[j]/limit) / w; c[j] < v {
			c[j] = v
		}
		if c[j] > 0 {
			d.a[j] = -s.g[j] / c[j]
		}
	}
	if f.beta {
		most := float64(math.Sqrt(c[0])*math.Sqrt(c[1])) * (1 - 1e-13)
		c[2] = math.Max(-most, math.Min(most, c[2]))
		if det := float64(c[0]*c[1]) - float64(c[2]*c[2]); det > 0 {
			d.a[0] = (float64(c[2]*s.g[1]) - float64(c[1]*s.g[0])) / det
			d.a[1] = (float64(c[2]*s.g[0]) - float64(c[0]*s.g[1])) / det
		}
		if a := f.line.a; d.a[0] < -a[0] || d.a[1] < -a[1] {
			// The minimum is on a border; compare the best point of each.
			best := math.Inf(1)
			for j := range 2 {
				var t [2]float64
				k := 1 - j
				if t[j] = -a[j]; c[k] > 0 {
					t[k] = math.Max(-a[k], -(s.g[k]+float64(c[2]*t[j]))/c[k])
				}
				v := float64(s.g[0]*t[0]) + float64(s.g[1]*t[1]) + float64(c[2]*float64(t[0]*t[1])) +
					float64(float64(c[0]*float64(t[0]*t[0]))/2) + float64(float64(c[1]*float64(t[1]*t[1]))/2)
				if v < best {
					best, d.a = v, t
				}
			}
		}
	}
	if w > 0 {
		d.c = -s.g0 / w
	}
	d.c -= float64(s.mean[0]*d.a[0]) + float64(s.mean[1]*d.a[1])
	return d
}

var errLogistic = unreachable("the scores that count are too close together, or nearly separate the labels")

// solve finds the fit by Newton's method from f.line.
//
// A step that changes no logit by more than 1 always increases the likelihood, because the logistic function is
// self-concordant (Bach 2010). A longer step ends where the likelihood still rises along it: it is shortened while it does
// not, and lengthened while it rises so steeply that Newton's parabola is far off. Only the derivative along the step is
// used, since it keeps its digits where differences of likelihoods have none.
func (f *logisticFit) solve(at func(logisticLine) (logisticSums, bool)) {
	var ok bool
	if f.sums, ok = at(f.line); !ok {
		return
	}
	for last := math.Inf(1); f.searched < logisticSearches; {
		if f.recenter() {
			if f.sums, ok = at(f.line); !ok {
				return
			}
		}
		now := f.change(&f.line)
		d := f.step()
		far := f.change(&d)
		switch {
		case !(far <= math.MaxFloat64):
			f.err = errLogistic
			return
		case far <= logisticPrecise*math.Max(1, now):
			f.line = f.line.plus(&d, 1, f.beta)
			return
		case far > last/2 && (last < logisticNear || f.sums.errors(&d) < logisticNothing):
			return // only rounding is left
		}
		last = far
		if !f.search(&d, far, at) {
			return
		}
	}
	f.err = errLogistic
}

// plus returns the line moved by t d; for Beta no a becomes negative.
func (l logisticLine) plus(d *logisticLine, t float64, beta bool) logisticLine {
	l.c += float64(t * d.c)
	for j := range l.a {
		l.a[j] += float64(t * d.a[j])
		if beta && l.a[j] < 0 {
			l.a[j] = 0
		}
	}
	return l
}

// search moves the line in a direction in which the likelihood rises. far is the largest change of a logit by d.
func (f *logisticFit) search(d *logisticLine, far float64, at func(logisticLine) (logisticSums, bool)) bool {
	slope := func(s *logisticSums) float64 {
		v := float64(s.g0 * (d.c + float64(s.mean[0]*d.a[0]) + float64(s.mean[1]*d.a[1])))
		return v + float64(s.g[0]*d.a[0]) + float64(s.g[1]*d.a[1])
	}
	first, from := slope(&f.sums), f.line
	t := 1.0
	line := from.plus(d, t, f.beta)
	s, ok := at(line)
	v := slope(&s)
	for ok && v > -first/64 && t*far > 1 && f.searched < logisticSearches {
		t = float64(t * math.Min(0.9, math.Max(0.1, first/(first-v))))
		line = from.plus(d, t, f.beta)
		s, ok = at(line)
		v = slope(&s)
	}
	inside := func(t float64) bool {
		return !f.beta || from.a[0]+float64(t*d.a[0]) >= 0 && from.a[1]+float64(t*d.a[1]) >= 0
	}
	if t == 1 {
		for more := 2.0; ok && v < 0.25*first && inside(more*t) && f.searched < logisticSearches; more *= 2 {
			var next logisticSums
			next, ok = at(from.plus(d, more*t, f.beta))
			if v = slope(&next); ok && v <= 0 {
				t, s = more*t, next
				line = from.plus(d, t, f.beta)
			}
		}
	}
	f.line, f.sums = line, s
	return ok
}

// finish computes the curve for x as given.
func (f *logisticFit) finish() {
	f.c = f.line.c
	size := math.Abs(f.c)
	for j := range f.features() {
		size += math.Abs(float64(f.line.a[j] * f.frame.center[j]))
		f.a[j] = float64(f.line.a[j] * f.frame.scale[j])
		f.c = math.FMA(-f.line.a[j], f.frame.center[j], f.c)
	}
	// The terms cancel; some digits must be left.
	if v := math.Abs(f.a[0]) + math.Abs(f.a[1]) + math.Abs(f.c); !(v <= math.MaxFloat64 && size < 0x1p43) {
		f.err = errLogistic
	}
}

// named returns the error with the class it concerns.
func (f *logisticFit) named(err error) error {
	if f.of == "" {
		return err
	}
	return fmt.Errorf("%s%w", f.of, err)
}

// errors returns the standard errors of a and c, for fits with one a.
func (f *logisticFit) errors() (a, c float64) {
	s := &f.sums
	scale := f.frame.scale[0]
	a = float64(math.Sqrt(1/s.cov[0]) * scale)
	m := float64((s.mean[0] + f.frame.center[0]) / scale * a)
	return a, math.Sqrt(1/s.w + float64(m*m))
}
