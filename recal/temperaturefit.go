package recal

import (
	"fmt"
	"math"
	"math/big"
	"sync"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// misses is what the first read of a fit tells about the rows whose label is not the arg max: how far the label's logit is below the
// largest, about. It is no state.
type misses struct {
	rows   int64
	gap    exact.Sum
	weight exact.Sum
	widest float64
}

func (m *misses) Needs() metrics.Need        { return 0 }
func (m *misses) Empty() metrics.Accumulator { return &misses{} }
func (m *misses) Len() int64                 { return m.rows }

func (m *misses) AddBlock(b *metrics.Block) {
	m.rows += int64(b.Rows)
	if b.Labels == nil {
		return
	}
	for i, hit := range b.Hit[:b.Rows] {
		if hit == 1 || math.IsInf(b.Stats.NLL[i], 1) {
			continue
		}
		w := 1.0
		if b.Weights != nil {
			w = b.Weights[i]
		}
		gap := max(0, b.Stats.NLL[i]+kernel.Log64(b.Stats.Top[i]))
		m.widest = max(m.widest, gap)
		m.gap.AddExact(w * gap)
		m.weight.AddExact(w)
	}
}

func (m *misses) Merge(a metrics.Accumulator) error {
	o := a.(*misses)
	m.rows += o.rows
	m.widest = max(m.widest, o.widest)
	m.gap.Merge(&o.gap)
	m.weight.Merge(&o.weight)
	return nil
}

func (m *misses) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (m *misses) UnmarshalBinary([]byte) error          { return nil }

// newLikelihood reads the data for the first time and checks them.
func newLikelihood(d Data, o *Options) (*likelihood, error) {
	l := &likelihood{d: d, o: o, reads: 1}
	s, err := look(d, o, &l.misses)
	if err != nil {
		return nil, err
	}
	if err := hasLogits("a temperature", s.kind); err != nil {
		return nil, err
	}
	l.fit = s.fit
	if l.fit.LeftOut == l.fit.Rows {
		return nil, unreachable("no row counts: the model gave the label of each of the %d rows the probability 0", l.fit.Rows)
	}
	return l, nil
}

// temperature finds the best one.
func (l *likelihood) temperature() (*TemperatureMap, error) {
	beta, at, err := l.newton()
	if err != nil {
		return nil, err
	}
	t := 1 / beta
	if !goodTemperature(t) {
		return nil, errTooFar
	}
	l.fit.Reads = l.reads
	return &TemperatureMap{fit: l.fit, t: t, logSE: math.Sqrt(at.squares) / float64(beta*at.curvature)}, nil
}

var errTooFar = fmt.Errorf("recal: the logits differ by less than 1e-150 or by more than 1e150: multiply them by a power of ten")

// uniform is a beta at which all classes are as likely as each other.
const uniform = 0x1p-1000

// closeMiss is below the gap of a miss that is no tie in which the first read saw the rounding.
const closeMiss = 1e-3

// newton finds the beta at which the slope g is 0. g rises with beta, from g0 < 0 at 0 to the sum of the gaps between the largest
// logit of a row and its label's. Near 0 g - g0 is in proportion to beta, and far away gap - g mostly to 1/beta^2: so
//
//	L(ln beta) = ln((g - g0) / (gap - g)) - ln(-g0 / gap)
//
// is nearly a line, and Newton's steps on it are good from anywhere. From two points on the root is that of the cubic through both
// values and slopes, with ln beta as the function of L.
func (l *likelihood) newton() (float64, moments, error) {
	gap, start := l.misses.gap.Float64(), 1.0
	var e ends
	if l.misses.widest < closeMiss {
		var err error
		if e, err = l.ends(); err != nil {
			return 0, moments{}, err
		}
		gap = e.gap
	}
	zero, err := l.at(uniform)
	if err != nil {
		return 0, moments{}, err
	}
	switch {
	case zero.squares == 0 && zero.curvature == 0 && !(gap > 0):
		return 0, moments{}, unreachable("the logits of each row are all equal, so that a temperature changes nothing")
	case !(gap > 0):
		return 0, moments{}, unreachable("every row's label has the largest logit, so that the NLL falls as long as the temperature " +
			"does: fit to rows of which some are wrong")
	case !(zero.curvature > 0):
		return 0, moments{}, errTooFar
	}
	g0 := zero.slope
	if math.Abs(g0) <= zero.noise(l.fit.Rows) {
		if !e.known {
			if e, err = l.ends(); err != nil {
				return 0, moments{}, err
			}
		}
		g0 = e.slope
	}
	if g0 >= 0 {
		return 0, moments{}, unreachable("the logits do not tell the labels, so that the NLL falls as long as the temperature grows: " +
			"look whether labels and classes are in the same order")
	}
	if w := l.misses.weight.Float64(); w > 0 {
		start = 1.5 * w / gap
	}
	return l.root(g0, gap, zero.curvature, start)
}

// point is a beta where the moments are known.
type point struct {
	beta   float64
	value  float64 // L
	rising float64 // its derivative by ln beta
	m      moments
}

func (l *likelihood) root(g0, gap, c0, start float64) (float64, moments, error) {
	low, high := 0.0, math.Inf(1) // of the root
	var best, other *point
	beta := start
	for {
		m, err := l.at(beta)
		if err != nil {
			return 0, m, err
		}
		p := newPoint(beta, m, g0, gap)
		if m.slope < 0 {
			low = beta
		} else {
			high = beta
		}
		slow := best != nil && math.Abs(p.value) > math.Abs(best.value)/2
		if best == nil || math.Abs(p.value) <= math.Abs(best.value) {
			best, other = p, best
		} else {
			other = p
		}
		if math.Abs(m.slope) <= m.noise(l.fit.Rows) {
			return beta, m, nil
		}
		step, far := best.step(other)
		next := best.beta * kernel.Exp64(step)
		if !(next > low && next < high) || slow && low > 0 && high < math.Inf(1) {
			switch {
			case step != 0 && math.Abs(step) < 0x1p-50:
				return best.beta, best.m, nil
			case low == 0:
				next = min(high/16, -g0/c0)
			case high > math.MaxFloat64:
				next = 16 * low
			default:
				next = math.Sqrt(low) * math.Sqrt(high)
			}
			if next == low || next == high {
				return best.beta, best.m, nil
			}
		} else if math.Abs(step)*far <= nearRoot {
			return next, best.m, nil
		}
		if !goodTemperature(next) {
			return 0, m, errTooFar
		}
		beta = next
	}
}

// nearRoot is the product of the distances from the last points to the next one, below which that is the root: what is left is of the
// order of its square.
const nearRoot = 1e-8

func newPoint(beta float64, m moments, g0, gap float64) *point {
	p := &point{beta: beta, m: m}
	rise := float64(beta * m.curvature)
	// Where little is left of a difference, what it is in proportion to is better known.
	up, down := m.slope-g0, gap-m.slope
	if up < -g0/1024 {
		up = rise
	}
	if down < gap/1024 {
		down = rise / 2
	}
	p.value = kernel.Log64(up/-g0) - kernel.Log64(down/gap)
	p.rising = rise/up + rise/down
	return p
}

// step returns how far it is from ln beta to the root, and how far that is from the other point, or as far as from this one.
func (p *point) step(o *point) (step, far float64) {
	newton := -p.value / p.rising
	if o == nil || !(math.Abs(p.value) < math.Abs(o.value)/2) || p.rising-p.rising != 0 || o.rising-o.rising != 0 {
		return newton, math.Abs(newton)
	}
	// The cubic of Hermite, of ln beta, from p (t = 0) to o (t = 1).
	h := o.value - p.value
	t := -p.value / h
	apart := kernel.Log64(o.beta / p.beta)
	tt := float64(t * t)
	step = float64(float64(apart*tt)*(3-float64(2*t))) + float64(float64(h/p.rising*t)*float64((1-t)*(1-t))) +
		float64(float64(h/o.rising*tt)*(t-1))
	if r := step / newton; !(r > 0.5 && r < 2) {
		return newton, math.Abs(newton)
	}
	return step, math.Abs(step - apart)
}

// ends are what the slope tends to.
type ends struct {
	known      bool
	gap, slope float64 // as beta tends to infinity, and to 0
}

// ends reads the data for what the slope tends to, without any rounding but one at the end: so their signs are right.
func (l *likelihood) ends() (ends, error) {
	var mu sync.Mutex
	var all []*endSums
	err := l.visit(func(t *temperedRows) func() {
		own := &endSums{byClasses: map[int]*exact.Sum{}}
		mu.Lock()
		all = append(all, own)
		mu.Unlock()
		return func() { own.add(t) }
	})
	if err != nil {
		return ends{}, err
	}
	var gap exact.Sum
	slope := new(big.Rat)
	for _, own := range all {
		gap.Merge(&own.gap)
		for k, s := range own.byClasses {
			r := exact.Rat(s)
			slope.Add(slope, r.Quo(r, new(big.Rat).SetInt64(int64(k))))
		}
	}
	g0, _ := slope.Float64()
	if g0 == 0 {
		g0 = float64(slope.Sign()) * math.SmallestNonzeroFloat64
	}
	return ends{true, gap.Float64(), g0}, nil
}

// endSums are those of a goroutine.
type endSums struct {
	gap       exact.Sum
	byClasses map[int]*exact.Sum // of the sum of a row's logits - K times its label's, by the number K of those that are not -Inf
}

func (e *endSums) add(t *temperedRows) {
	width := t.chunk.Classes
	var pair [2]float64
	for i := range t.n {
		w := t.weight(i)
		if w == 0 {
			continue
		}
		row, y := t.tile[i*width:][:width], int(t.labels[i])
		if width == 1 {
			if math.IsInf(row[0], 0) {
				continue // the other class is not there
			}
			pair[1] = row[0]
			row = pair[:]
		}
		most, n := math.Inf(-1), 0
		for _, v := range row {
			most = max(most, v)
			if !math.IsInf(v, -1) {
				n++
			}
		}
		e.gap.AddExact(w * (most - row[y]))
		s := e.byClasses[n]
		if s == nil {
			s = new(exact.Sum)
			e.byClasses[n] = s
		}
		for _, v := range row {
			if !math.IsInf(v, -1) {
				addProduct(s, w, v)
			}
		}
		h := float64(float64(n) * row[y])
		addProduct(s, -w, h)
		addProduct(s, -w, math.FMA(float64(n), row[y], -h))
	}
}

// addProduct adds a times b without rounding.
func addProduct(s *exact.Sum, a, b float64) {
	h := float64(a * b)
	s.AddExact(h)
	s.AddExact(math.FMA(a, b, -h))
}

// profile returns the mean NLL at temperatures.
func (l *likelihood) profile(temperatures []float64) ([]float64, error) {
	n := len(temperatures)
	var s sums
	beyond := make([]sums, n)
	err := l.visit(func(t *temperedRows) func() {
		own := s.some(n + 1)
		infinite := make([]*bool, n)
		for j := range infinite {
			infinite[j] = beyond[j].flag()
		}
		return func() {
			for i := range t.n {
				own[n].AddExact(t.weight(i))
			}
			for j, temperature := range temperatures {
				t.columns(1 / temperature)
				for i := range t.n {
					if w := t.weight(i); w == 0 {
						continue
					} else if v := float64(w * t.nll[i]); v <= math.MaxFloat64 {
						own[j].AddExact(v)
					} else {
						*infinite[j] = true
					}
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	total := s.total()
	nll := make([]float64, n)
	for j := range nll {
		nll[j] = exact.Ratio(&total[j], &total[n])
		if beyond[j].flagged() {
			nll[j] = math.Inf(1)
		}
	}
	return nll, nil
}
