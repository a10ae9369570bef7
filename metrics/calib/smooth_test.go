package calib_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// direct is the smooth calibration error by its definition, of scores that are no nearer to 1 than float64 shows.
type direct struct{ p, r []float64 }

// directly sums residuals by score; weights may be nil.
func directly(p, weights []float64, y []int32) *direct {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, p[a]-p[b])) * b2i(p[a] != p[b]) })
	d, n := &direct{}, 0.0
	for _, i := range order {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		n += w
		r := -w * p[i]
		if y[i] == 1 {
			r = w * (1 - p[i])
		}
		if m := len(d.p); m > 0 && d.p[m-1] == p[i] {
			d.r[m-1] += r
		} else {
			d.p, d.r = append(d.p, p[i]), append(d.r, r)
		}
	}
	for i := range d.r {
		d.r[i] /= n
	}
	return d
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// residual is r(t), by images.
func (d *direct) residual(t, sigma float64) float64 {
	s, images := 0.0, int(math.Ceil(5*sigma))+1
	for i, p := range d.p {
		k := 0.0
		for m := -images; m <= images; m++ {
			a, b := (t-p+2*float64(m))/sigma, (t+p+2*float64(m))/sigma
			if math.Abs(a) < 9 {
				k += math.Exp(-a * a / 2)
			}
			if math.Abs(b) < 9 {
				k += math.Exp(-b * b / 2)
			}
		}
		s += d.r[i] * k
	}
	return s / (sigma * math.Sqrt(2*math.Pi))
}

// primitive is the integral of r from 0 to t.
func (d *direct) primitive(t, sigma float64) float64 {
	s, images := 0.0, int(math.Ceil(5*sigma))+1
	phi := func(x float64) float64 { return math.Erf(x/sigma/math.Sqrt2) / 2 }
	for i, p := range d.p {
		k := 0.0
		for m := -images; m <= images; m++ {
			c := 2 * float64(m)
			k += phi(t-p+c) - phi(c-p) + phi(t+p+c) - phi(p+c)
		}
		s += d.r[i] * k
	}
	return s
}

// error integrates |r|, by its primitive at changes of sign, which a scan and halvings find.
func (d *direct) error(sigma float64) float64 {
	const step = 1. / 12
	total, last := 0.0, 0.0
	cut := func(t float64) {
		at := d.primitive(t, sigma)
		total += math.Abs(at - last)
		last = at
	}
	from, v, i := 0.0, d.residual(0, sigma), 0
	for from < 1 {
		to := math.Min(1, from+step*sigma)
		for ; i < len(d.p) && d.p[i] < from-9*sigma; i++ {
		}
		if i < len(d.p) && d.p[i] > to+9*sigma { // nothing here
			to = math.Min(1, d.p[i]-9*sigma)
			cut(to)
		} else if i == len(d.p) {
			cut(from)
			to = 1
		}
		w := d.residual(to, sigma)
		if w == 0 {
			cut(to)
		} else if v*w < 0 {
			a, b := from, to
			for range 60 {
				if m := (a + b) / 2; d.residual(m, sigma)*v > 0 {
					a = m
				} else {
					b = m
				}
			}
			cut((a + b) / 2)
		}
		from, v = to, w
	}
	cut(1)
	return total
}

// root halves for the bandwidth at which the error is itself.
func (d *direct) root() float64 {
	low, high := 0.0, 1.0
	for range 44 {
		if m := (low + high) / 2; d.error(m) > m {
			low = m
		} else {
			high = m
		}
	}
	return (low + high) / 2
}

func smoothOf(t testing.TB, p, weights []float64, y []int32) *calib.Smooth {
	t.Helper()
	c := cells.New(nil)
	d := &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y, Weights: weights}
	if len(p) > 0 {
		if err := metrics.NewPass(nil, c).Add(d); err != nil {
			t.Fatal(err)
		}
	}
	return calib.SmoothOf(c)
}

// smoothLaws make a score and the probability of the event.
var smoothLaws = []struct {
	name string
	draw func(r *rand.Rand) (score, chance float64)
}{
	{"calibrated", func(r *rand.Rand) (float64, float64) { p := r.Float64(); return p, p }},
	{"overconfident", func(r *rand.Rand) (float64, float64) {
		x := 3 * r.NormFloat64()
		return 1 / (1 + math.Exp(-x)), 1 / (1 + math.Exp(-x/3))
	}},
	{"near 1", func(r *rand.Rand) (float64, float64) { u := r.Float64(); return 1 - u*u*u*u/2, 1 - u*u*u*u/2 }},
	{"cents", func(r *rand.Rand) (float64, float64) { p := float64(r.IntN(101)) / 100; return p, p * p }},
	{"halves", func(r *rand.Rand) (float64, float64) { p := float64(r.IntN(3)) / 2; return p, 0.1 + 0.8*p }},
	{"mixed", func(r *rand.Rand) (float64, float64) {
		if r.IntN(2) == 0 {
			return 0.25, 0.3
		}
		p := r.Float64()
		return p, 0.5
	}},
	{"middle", func(r *rand.Rand) (float64, float64) { p := 0.5 + 0.01*r.NormFloat64(); return p, p }},
	{"waves", func(r *rand.Rand) (float64, float64) { p := r.Float64(); return p, p + p*(1-p)*math.Sin(20*p) }},
}

func drawSmooth(law int, n int, seed uint64) (p []float64, y []int32) {
	r := rand.New(rand.NewPCG(uint64(law), seed))
	for range n {
		s, c := smoothLaws[law].draw(r)
		p, y = append(p, s), append(y, int32(b2i(r.Float64() < c)))
	}
	return p, y
}

// The error is that of its definition, at its own bandwidth and at others.
func TestSmoothDefinition(t *testing.T) {
	worst, at := 0.0, 0.0
	for law := range smoothLaws {
		for _, n := range []int{1, 7, 60, 300} {
			if testing.Short() && n > 60 {
				continue
			}
			p, y := drawSmooth(law, n, uint64(n))
			var w []float64
			if law%3 == 2 {
				for i := range p {
					w = append(w, 0.5+float64(i%5))
				}
			}
			d, s := directly(p, w, y), smoothOf(t, p, w, y)
			got, bound := s.ECE()
			want := d.root()
			if e := math.Abs(got-want) / math.Max(want, 1e-4); bound != 0 || !(e < 1e-9) {
				t.Errorf("%s, %d rows: %v +- %v, want %v: %.1e", smoothLaws[law].name, n, got, bound, want, e)
			} else {
				worst = math.Max(worst, e)
			}
			for _, sigma := range []float64{3e-3, 0.02, 0.11, 0.3, 1, 2, 2.99, 3.01} {
				got, want := s.At(sigma), d.error(sigma)
				if e := math.Abs(got-want) / math.Max(want, 1e-4); !(e < 1e-9) {
					t.Errorf("%s, %d rows, sigma %v: %v, want %v: %.1e", smoothLaws[law].name, n, sigma, got, want, e)
				} else {
					at = math.Max(at, e)
				}
			}
		}
	}
	t.Logf("largest relative errors: %.1e, and of At %.1e", worst, at)
}
