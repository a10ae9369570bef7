package binfree_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// direct computes the smooth calibration error by definition, for scores that are no closer to 1 than float64 can represent.
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

// residual returns r(t), by the method of images.
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

// primitive returns the integral of r from 0 to t.
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

// error integrates |r| from the primitive at the changes of sign, which a scan and bisection find.
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
		if i < len(d.p) && d.p[i] > to+9*sigma { // no scores here
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

// root returns the bandwidth that equals its error, by bisection.
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

func smoothOf(t testing.TB, p, weights []float64, y []int32) *binfree.Smooth {
	t.Helper()
	c := metrics.Must(cells.New(nil))
	d := &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y, Weights: weights}
	if len(p) > 0 {
		if err := metrics.NewPass(nil, c).Add(d); err != nil {
			t.Fatal(err)
		}
	}
	return binfree.SmoothOf(c)
}

// smoothLaws return a score and the probability of the event.
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
	{"ends", func(r *rand.Rand) (float64, float64) { p := float64(r.IntN(2)); return p, 0.5 + 0.1*(p-0.5) }},
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

// TestSmoothDefinition compares the error with its definition, at its own bandwidth and at others.
func TestSmoothDefinition(t *testing.T) {
	worst, at := 0.0, 0.0
	for law := range smoothLaws {
		for _, n := range []int{1, 7, 60, 300} {
			if n > 7 && testing.Short() && law%3 != 2 {
				continue
			}
			if n > 60 && (testing.Short() || !check.Full() && law%6 != 2) { // the definition is quadratic in the rows, twice
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

// TestSmoothTiny checks tiny bandwidths: rows at one end, where few rows of small weight have the event.
func TestSmoothTiny(t *testing.T) {
	for _, scale := range []float64{1e-3, 1e-5, 1e-7, 1e-9, 1e-11} {
		r := rand.New(rand.NewPCG(5, 6))
		var p, w []float64
		var y []int32
		for i := range 300 {
			u := r.Float64()
			p, w, y = append(p, scale*u*u*u), append(w, 1<<20), append(y, 0)
			if i%3 == 0 {
				w[i], y[i] = scale*(0.1+r.Float64())*(1<<20), 1
			}
		}
		d, s := directly(p, w, y), smoothOf(t, p, w, y)
		got, _ := s.ECE()
		for _, sigma := range []float64{scale / 50, scale / 3, 2 * scale} {
			got, want := s.At(sigma), d.error(sigma)
			if e := math.Abs(got-want) / want; !(e < 1e-9) {
				t.Errorf("scale %v, sigma %v: %v, want %v: %.1e", scale, sigma, got, want, e)
			}
		}
		if e := math.Abs(d.error(got)-got) / got; !(e < 1e-9) {
			t.Errorf("scale %v: %v where the error is %v: %.1e", scale, got, d.error(got), e)
		}
		// 1 - p with the opposite outcomes has the same error, with the digits of p.
		var both [2]float64
		for k := range both {
			d := &metrics.Predictions{Scores: metrics.Scores{Rows: len(p), Classes: 2}, Kind: metrics.Logits, Weights: w}
			for i, v := range p {
				row := [2]float64{0, math.Log(v) - math.Log1p(-v)}
				d.F64 = append(d.F64, row[k], row[1-k])
				d.Labels = append(d.Labels, y[i]^int32(k))
			}
			c := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
			if err := metrics.NewPass(nil, c).Add(d); err != nil {
				t.Fatal(err)
			}
			both[k], _ = binfree.SmoothOf(c).ECE()
		}
		a, b := both[0], both[1]
		if e := math.Abs(a-got) / got; !(e < 1e-9) {
			t.Errorf("scale %v: of two classes %v, want %v", scale, a, got)
		}
		if e := math.Abs(a-b) / got; !(e < 1e-9) {
			t.Errorf("scale %v: mirrored %v, want %v", scale, b, a)
		}
	}
}

// TestSmoothLaws checks that the error does not rise with the bandwidth, and depends neither on which end is which nor on the
// order of rows.
func TestSmoothLaws(t *testing.T) {
	for law := range smoothLaws {
		if testing.Short() && law%3 != 0 {
			continue
		}
		p, y := drawSmooth(law, 1000, 1)
		s := smoothOf(t, p, nil, y)
		got, _ := s.ECE()
		if s.Bandwidth() != got {
			t.Errorf("%s: bandwidth %v, error %v", smoothLaws[law].name, s.Bandwidth(), got)
		}
		if e := math.Abs(s.At(got)-got) / got; !(e < 1e-11) {
			t.Errorf("%s: %v at its own bandwidth %v", smoothLaws[law].name, s.At(got), got)
		}
		last := math.Inf(1)
		for sigma := 1e-6; sigma < 4; sigma *= 4 {
			v := s.At(sigma)
			if !(v <= last*(1+1e-9)) {
				t.Errorf("%s: %v at %v, above %v", smoothLaws[law].name, v, sigma, last)
			}
			last = v
		}
		d, none, mean := directly(p, nil, y), 0.0, 0.0
		for _, r := range d.r {
			none += math.Abs(r)
			mean += r
		}
		if v := s.At(1e-300); !(math.Abs(v-none) < 1e-12) {
			t.Errorf("%s: %v without a bandwidth, want %v", smoothLaws[law].name, v, none)
		}
		if v := s.At(math.Inf(1)); !(math.Abs(v-math.Abs(mean)) < 1e-14) {
			t.Errorf("%s: %v at the largest bandwidth, want %v", smoothLaws[law].name, v, mean)
		}
		turned, other := make([]float64, len(p)), make([]int32, len(p))
		for i := range p {
			turned[i], other[len(p)-1-i] = 1-p[i], y[i]
		}
		slices.Reverse(p)
		if v, _ := smoothOf(t, p, nil, other).ECE(); v != got {
			t.Errorf("%s: %v in another order, want %v", smoothLaws[law].name, v, got)
		}
		for i := range y {
			y[i] = 1 - y[i]
		}
		if v, _ := smoothOf(t, turned, nil, y).ECE(); !(math.Abs(v-got)/got < 1e-9) {
			t.Errorf("%s: %v with the ends exchanged, want %v", smoothLaws[law].name, v, got)
		}
	}
}

// TestSmoothKnown checks sets whose error is known.
func TestSmoothKnown(t *testing.T) {
	for _, c := range []struct {
		name  string
		p, w  []float64
		y     []int32
		want  float64
		exact bool
	}{
		{"none", nil, nil, nil, math.NaN(), false},
		{"no weight", []float64{0.5}, []float64{0}, []int32{1}, math.NaN(), false},
		{"one row", []float64{0.75}, nil, []int32{1}, 0.25, true},
		{"one row without the event", []float64{0.75}, nil, []int32{0}, 0.75, true},
		{"right and sure", []float64{0, 1, 1, 0}, nil, []int32{0, 1, 1, 0}, 0, true},
		{"wrong and sure", []float64{0, 1}, nil, []int32{1, 1}, 0.5, true},
		{"half wrong and sure", []float64{1, 1}, nil, []int32{1, 0}, 0.5, true},
		{"one score", []float64{0.5, 0.5, 0.5, 0.5}, nil, []int32{1, 0, 0, 0}, 0.25, true},
		{"one score, calibrated", []float64{0.25, 0.25, 0.25, 0.25}, nil, []int32{1, 0, 0, 0}, 0, true},
		{"weights", []float64{0.25, 0.25}, []float64{1, 3}, []int32{1, 0}, 0, true},
		{"halves", []float64{0.5, 0.5}, []float64{1, 3}, []int32{1, 0}, 0.25, true},
		{"tiny", []float64{1e-300, 1e-300}, nil, []int32{0, 0}, 1e-300, true},
		// The bandwidth is below the smallest allowed one: the error is in [2^-60 - 2^-64, 2^-60 + 2^-64].
		{"tiny, of two signs", []float64{0, 0x1p-60}, []float64{0x1p-32, 0x1p32}, []int32{1, 0}, 0x1p-60, false},
	} {
		s := smoothOf(t, c.p, c.w, c.y)
		got, bound := s.ECE()
		switch {
		case c.want != c.want:
			if got == got || bound == bound || s.At(0.1) == s.At(0.1) || s.Curve(3) != nil {
				t.Errorf("%s: %v +- %v, want NaN", c.name, got, bound)
			}
		case !(math.Abs(got-c.want) <= bound+1e-15*c.want) || c.exact && bound != 0 || bound > 1e-15:
			t.Errorf("%s: %v +- %v, want %v", c.name, got, bound, c.want)
		}
	}
	// Scores outside [0,1] are in no cell.
	c := metrics.Must(cells.New(nil))
	d := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.25, 1.5, -1}, Rows: 3, Classes: 1}, Labels: []int32{1, 0, 0}}
	if err := metrics.NewPass(&metrics.Options{Unchecked: true}, c).Add(d); err != nil {
		t.Fatal(err)
	}
	if got, bound := binfree.SmoothOf(c).ECE(); got != 0.75 || bound == bound {
		t.Errorf("of one row in [0,1]: %v +- %v", got, bound)
	}
	for name, f := range map[string]func(){
		"At(0)":    func() { smoothOf(t, []float64{0.5}, nil, []int32{1}).At(0) },
		"At(NaN)":  func() { smoothOf(t, []float64{0.5}, nil, []int32{1}).At(math.NaN()) },
		"Curve(1)": func() { smoothOf(t, []float64{0.5}, nil, []int32{1}).Curve(1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestSmoothGrid checks that the error from a grid is within the bound for any outcomes inside its cells, and much closer for
// random outcomes.
func TestSmoothGrid(t *testing.T) {
	steps := func(of, ahead float64) func(r *rand.Rand) (float64, float64) {
		return func(r *rand.Rand) (float64, float64) {
			p := r.Float64()
			k, f := math.Modf(p * of)
			d := ahead * math.Min(p, 1-p)
			if (math.Abs(f-0.5) < 0.25) != (math.Mod(k*k*0.123, 1) < 0.5) {
				d = -d
			}
			return p, p + d
		}
	}
	laws := append(slices.Clone(smoothLaws[:3]), smoothLaws[8])
	type law = struct {
		name string
		draw func(r *rand.Rand) (score, chance float64)
	}
	laws = append(laws,
		law{"steps in cells", steps(1200, 1)}, law{"beside cells", steps(600, 1)}, law{"fine steps", steps(12000, 0.5)},
		law{"tiny", func(r *rand.Rand) (float64, float64) { u := r.Float64(); return 1e-4 * u * u, 1e-4 * u }},
		law{"clumps", func(r *rand.Rand) (float64, float64) { u := r.Float64(); return 0.3 + 0.05*u, math.Round(u) }},
	)
	if testing.Short() {
		t.Skip("-short: it takes 350,000 rows")
	}
	for i, l := range laws {
		if i%2 == 1 && !check.Full() {
			continue
		}
		sorted, grid := bothRisings(t, 350000, l.draw)
		if grid.Exact() {
			t.Fatal(l.name, "has exact cells")
		}
		want, zero := binfree.SmoothOf(sorted).ECE()
		got, bound := binfree.SmoothOf(grid).ECE()
		if d := math.Abs(got - want); zero != 0 || !(d <= bound) || i < 4 && !(d < 0.01*want) {
			t.Errorf("%s: %v +- %v, want %v", l.name, got, bound, want)
		}
	}
}

// TestSmoothGridWorst checks that the bound can be reached. The events of a cell are at both ends and the other rows in
// between, so the sum of residuals and their first moment are 0, and the whole error is missed.
func TestSmoothGridWorst(t *testing.T) {
	p, y := []float64{0.40001, 0.400415, 0.40082}, []int32{1, 0, 1}
	const heavy = 1 << 20
	w := []float64{heavy * 0.400415 / (1 - 0.40001), heavy * 2, heavy * 0.400415 / (1 - 0.40082)}
	want, zero := smoothOf(t, p, w, y).ECE()
	// Rows of negligible weight force a grid.
	for i := range cells.MaxExactWeighted {
		p, y, w = append(p, float64(i)/cells.MaxExactWeighted), append(y, int32(i&1)), append(w, 0x1p-32)
	}
	got, bound := smoothOf(t, p, w, y).ECE()
	if zero != 0 || got > want/10 || !(math.Abs(got-want) <= bound && bound < 1.1*want) {
		t.Errorf("%v +- %v, want %v", got, bound, want)
	}
	// The same between other rows.
	for i := range 200 {
		p, y, w = append(p, float64(i)/199), append(y, int32(i&1)), append(w, heavy/100)
	}
	want, _ = smoothOf(t, append(slices.Clone(p[:3]), p[len(p)-200:]...), append(slices.Clone(w[:3]), w[len(w)-200:]...),
		append(slices.Clone(y[:3]), y[len(y)-200:]...)).ECE()
	if got, bound := smoothOf(t, p, w, y).ECE(); !(math.Abs(got-want) <= bound && math.Abs(got-want) > bound/10) {
		t.Errorf("with others: %v +- %v, want %v", got, bound, want)
	}
}

// TestSmoothGridMirrored checks that the halves of a grid behave alike.
func TestSmoothGridMirrored(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var p, w, turned []float64
	var y, other []int32
	for i := range cells.MaxExactWeighted + 1 {
		p, y, w = append(p, float64(i)/0x1p16), append(y, int32(i&1)), append(w, 0x1p-32)
	}
	for range 60 {
		p, y, w = append(p, 0.4+0.005*r.Float64()), append(y, int32(r.IntN(2))), append(w, 1<<20)
	}
	for i := range p {
		turned, other = append(turned, 1-p[i]), append(other, 1-y[i])
	}
	a, b := smoothOf(t, p, w, y), smoothOf(t, turned, w, other)
	if _, bound := a.ECE(); bound == 0 {
		t.Fatal("no grid")
	}
	for _, sigma := range []float64{2e-4, 1e-3, 0.1} {
		if x, y := a.At(sigma), b.At(sigma); !(math.Abs(x-y) < 1e-6*x) {
			t.Errorf("at %v: %v and %v", sigma, x, y)
		}
	}
}

// TestSmoothCurve checks that the area between curve and diagonal, weighted by density, is the error.
func TestSmoothCurve(t *testing.T) {
	for law := range smoothLaws {
		p, y := drawSmooth(law, 500, 3)
		s := smoothOf(t, p, nil, y)
		want, _ := s.ECE()
		const points = 2001
		area, mass := 0.0, 0.0
		for _, c := range s.Curve(points) {
			h := 1. / (points - 1)
			if c.Score == 0 || c.Score == 1 {
				h /= 2
			}
			area += h * c.Density * math.Abs(c.Residual)
			mass += h * c.Density
		}
		if math.Abs(mass-1) > 1e-6 || math.Abs(area-want) > 1e-4*want+1e-5 {
			t.Errorf("%s: area %v, want %v; density of integral %v", smoothLaws[law].name, area, want, mass)
		}
	}
}
