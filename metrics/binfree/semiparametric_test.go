package binfree_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// semiparametricCase holds the results of uncertainty_metrics for rows in given folds.
type semiparametricCase struct {
	Seed, N int
	Params  struct {
		Smoothing, Weights    string
		Orthogonal, Normalize bool
		Folds                 int
		Attempts              int `json:"hyperparam_attempts"`
	}
	Probs, Labels  []float64
	FoldOf         []int     `json:"fold_of"`
	Range          []float64 `json:"hyperparam_range_first_last"`
	Best           float64   `json:"best_hyperparam_before_undersmoothing"`
	Used           float64   `json:"hyperparam_used"`
	Accs           []float64
	Squared        float64 `json:"est_squared"`
	SE             float64 `json:"se_seed7"`
	RMS            float64
	IntervalOfBoot []float64 `json:"conf_int_seed7"`
}

func (c *semiparametricCase) options() *binfree.SemiparametricOptions {
	o := &binfree.SemiparametricOptions{Folds: c.Params.Folds, Attempts: c.Params.Attempts, Orthogonal: c.Params.Orthogonal,
		Normalize: c.Params.Normalize}
	if c.Params.Smoothing == "spline" {
		o.Smoother = binfree.SplineSmoother
	}
	switch c.Params.Weights {
	case "relative":
		o.Weights = binfree.RelativeWeights
	case "chi":
		o.Weights = binfree.ChiWeights
	}
	return o
}

// TestSemiparametricGolden compares with the numbers of uncertainty_metrics, as coded. Without its defects, only splines with
// weights differ.
func TestSemiparametricGolden(t *testing.T) {
	var g struct{ Cases []semiparametricCase }
	check.Golden(t, "../../testdata/golden", "semiparametric.json.gz", &g)
	if len(g.Cases) != 17 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	rel := func(got, want float64) float64 { return math.Abs(got-want) / math.Max(math.Abs(want), 1e-300) }
	worst, differ := 0.0, 0
	for i, c := range g.Cases {
		if !check.Full() && i%4 != 1 && (testing.Short() || i%2 != 0) {
			continue
		}
		o := c.options()
		plain, err := binfree.SemiparametricOfRows(c.Probs, c.Labels, c.FoldOf, o)
		if err != nil {
			t.Fatal(err)
		}
		o.AsCoded = true
		s, err := binfree.SemiparametricOfRows(c.Probs, c.Labels, c.FoldOf, o)
		if err != nil {
			t.Fatal(err)
		}
		accs := map[[2]float64]float64{}
		s.Each(func(r binfree.FoldRows) { accs[[2]float64{r.Score, float64(r.Fold)}] = r.Frequency })
		off := 0.0
		for j, p := range c.Probs {
			off = math.Max(off, math.Abs(accs[[2]float64{p, float64(c.FoldOf[j])}]-c.Accs[j]))
		}
		e := math.Max(rel(s.Squared, c.Squared), rel(s.RMS(), c.RMS))
		e = math.Max(e, math.Max(rel(s.Chosen, c.Best), rel(s.Used, c.Used)))
		if worst = math.Max(worst, math.Max(e, off)); !(e < 1e-12) || !(off < 1e-12) {
			t.Errorf("case %d, %+v: off by %v, frequencies by %v: %v, want %v; h %v, want %v",
				i, c.Params, e, off, s.Squared, c.Squared, s.Chosen, c.Best)
		}
		// The standard error from a bootstrap with 500 samples has itself an error of 1/sqrt(1000).
		if z := (c.SE/s.SE - 1) * math.Sqrt(1000); math.Abs(z) > 4 {
			t.Errorf("case %d: se %v, bootstrapped %v: off by %.1f standard deviations", i, s.SE, c.SE, z)
		}
		v := s.Interval(0.95)
		for j, got := range []float64{v.Low, v.High} {
			if want := c.IntervalOfBoot[2*j]; math.Abs(got-want) > 0.1*want && want > 0.02 {
				t.Errorf("case %d: interval %v, bootstrapped %v", i, v, c.IntervalOfBoot)
			}
		}
		same := plain.Squared == s.Squared && plain.Chosen == s.Chosen
		if c.Params.Smoothing != "spline" { // which is compared at other widths
			if d := math.Abs(plain.Squared - s.Squared); d > s.SE/5 {
				t.Errorf("case %d: %v, as coded %v", i, plain.Squared, s.Squared)
			}
		} else if expected := c.Params.Weights == ""; expected && rel(plain.Squared, s.Squared) > 1e-12 {
			t.Errorf("case %d: %v, as coded %v", i, plain.Squared, s.Squared)
		} else if !expected {
			if differ++; same {
				t.Errorf("case %d: the fault makes no difference", i)
			}
			t.Logf("case %d: %.4g, as coded %.4g", i, plain.Squared, s.Squared)
		}
	}
	t.Logf("worst %v", worst)
	if differ != 3 && check.Full() {
		t.Errorf("%d cases differ", differ)
	}
}

// bent returns rows of a distribution whose event has frequency 0.7 p^2 + 0.3 p, with folds.
func bent(law string, n int, seed uint64) (p, y []float64, folds []int) {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	for i := range n {
		q := testrows.Laws[law](r)
		p, y, folds = append(p, q), append(y, 0), append(folds, r.IntN(5))
		if r.Float64() < 0.7*q*q+0.3*q {
			y[i] = 1
		}
	}
	return p, y, folds
}

func rowsCells(t testing.TB, p, y []float64) *cells.Cells {
	t.Helper()
	q := &metrics.Predictions{Labels: make([]int32, len(p))}
	q.Rows, q.Classes, q.F64 = len(p), 1, p
	for i, v := range y {
		q.Labels[i] = int32(v)
	}
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(q); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSemiparametricKernel compares boxes and moments with sums over all rows, to 1e-8.
func TestSemiparametricKernel(t *testing.T) {
	n := check.Size(800, 1500, 3000) // the definition is quadratic in n
	for law := range testrows.Laws {
		for i, h := range []float64{0.3, 40, 3e3, 1e6, 1e10, 1e16} {
			if testing.Short() && i%2 == 1 {
				continue
			}
			p, y, folds := bent(law, n, 1)
			o := &binfree.SemiparametricOptions{Hyperparameters: []float64{h / math.Pow(float64(n), 0.08)}}
			s, err := binfree.SemiparametricOfRows(p, y, folds, o)
			if err != nil {
				t.Fatal(err)
			}
			count, worst := 0, 0.0
			s.Each(func(r binfree.FoldRows) {
				if count++; count%29 != 0 {
					return
				}
				// The kernel in units of its value at the nearest row.
				near := math.Inf(1)
				for j := range p {
					if folds[j] != r.Fold {
						near = math.Min(near, s.Used*(p[j]-r.Score)*(p[j]-r.Score))
					}
				}
				above, below := 0.0, 0.0
				for j := range p {
					if folds[j] != r.Fold {
						k := kernel.Exp64(near - s.Used*(p[j]-r.Score)*(p[j]-r.Score))
						above += k * (y[j] - p[j])
						below += k
					}
				}
				worst = math.Max(worst, math.Abs(r.Frequency-(r.Score+above/below)))
			})
			if !(worst < 1e-8) {
				t.Errorf("%s, h = %v: off by %v", law, h, worst)
			}
		}
	}
}

// TestSemiparametricOf checks that cells give the numbers of the rows in the same folds, that neither the order of rows nor the
// number of threads matters, and that folds are even.
func TestSemiparametricOf(t *testing.T) {
	for law := range testrows.Laws {
		for i, smoother := range []binfree.Smoother{binfree.KernelSmoother, binfree.SplineSmoother} {
			if testing.Short() && i != len(law)%2 {
				continue
			}
			p, y, _ := bent(law, 1203, 2)
			o := &binfree.SemiparametricOptions{Smoother: smoother, Attempts: 6, Seed: 3, Threads: 1, Weights: binfree.ChiWeights}
			s, err := binfree.SemiparametricOf(rowsCells(t, p, y), o)
			if err != nil {
				t.Fatal(law, err)
			}
			if s.Bound != 0 || s.Rows != 1203 {
				t.Errorf("%s: bound %v, %d rows", law, s.Bound, s.Rows)
			}
			var ps, ys []float64
			var folds []int
			size, ones := make([]int, 5), make([]int, 5)
			s.Each(func(r binfree.FoldRows) {
				for i := range r.Rows {
					ps, ys, folds = append(ps, r.Score), append(ys, 0), append(folds, r.Fold)
					size[r.Fold]++
					if float64(i) < r.Events {
						ys[len(ys)-1] = 1
						ones[r.Fold]++
					}
				}
			})
			for f := range 5 {
				if d := size[f] - 1203/5; d < 0 || d > 1 {
					t.Errorf("%s: folds of %v rows", law, size)
				}
				if d := ones[f] - ones[0]; d < -1 || d > 1 {
					t.Errorf("%s: folds with %v events", law, ones)
				}
			}
			shuffled := rand.New(rand.NewPCG(5, 5)).Perm(len(ps))
			for i, j := range shuffled {
				ps[i], ps[j], ys[i], ys[j], folds[i], folds[j] = ps[j], ps[i], ys[j], ys[i], folds[j], folds[i]
			}
			o.Threads = 3
			again, err := binfree.SemiparametricOfRows(ps, ys, folds, o)
			if err != nil {
				t.Fatal(err)
			}
			other, err := binfree.SemiparametricOf(rowsCells(t, ps, ys), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range []*binfree.Semiparametric{again, other} {
				if x.Squared != s.Squared || x.SE != s.SE || x.Used != s.Used {
					t.Errorf("%s: %v +- %v (%v), want %v +- %v (%v)", law, x.Squared, x.SE, x.Used, s.Squared, s.SE, s.Used)
				}
			}
		}
	}
}

// TestSemiparametricOfGrid checks that grid cells, and scores with very many rows, give nearly the numbers of the rows.
func TestSemiparametricOfGrid(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes 400,000 rows")
	}
	p, y, _ := bent("float32", 400000, 3)
	o := &binfree.SemiparametricOptions{Hyperparameters: []float64{300}}
	grid, err := binfree.SemiparametricOf(rowsCells(t, p, y), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p {
		p[i] = math.Round(p[i]*500) / 500
	}
	few, err := binfree.SemiparametricOf(rowsCells(t, p, y), o)
	if err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(grid.Bound) || few.Bound != 0 {
		t.Errorf("bounds %v and %v", grid.Bound, few.Bound)
	}
	// E (p - c)^2 = 0.49 E (p - p^2)^2 = 0.49/30.
	for _, s := range []*binfree.Semiparametric{grid, few} {
		if d := s.RMS() - math.Sqrt(0.49/30); math.Abs(d) > 0.003 {
			t.Errorf("%v: off by %v", s.RMS(), d)
		}
	}
}

// TestSemiparametricCoverage checks that the estimate is centered at the true error, and that its interval has its nominal
// coverage. Without an error the estimate is around 0.
func TestSemiparametricCoverage(t *testing.T) {
	repeats := check.Size(8, 14, 40)
	for _, smoother := range []binfree.Smoother{binfree.KernelSmoother, binfree.SplineSmoother} {
		for _, n := range []int{600, 2000} {
			held, sum, squares, ses := 0, 0.0, 0.0, 0.0
			for i := range repeats {
				p, y, folds := bent("uniform", n, uint64(100+i))
				s, err := binfree.SemiparametricOfRows(p, y, folds, &binfree.SemiparametricOptions{Smoother: smoother, Attempts: 8})
				if err != nil {
					t.Fatal(err)
				}
				if v := s.Interval(0.95); v.Low <= math.Sqrt(0.49/30) && math.Sqrt(0.49/30) <= v.High {
					held++
				}
				if !(s.RMS() >= 0 && s.RMS() <= 1) {
					t.Errorf("an error of %v", s.RMS())
				}
				sum += s.Squared
				squares += s.Squared * s.Squared
				ses += s.SE
			}
			k := float64(repeats)
			mean := sum / k
			sd := math.Sqrt(squares/k - mean*mean)
			t.Logf("smoother %d, N = %d: held %d of %d; squared %.5f +- %.5f, want %.5f; mean se %.5f", smoother, n, held, repeats,
				mean, sd, 0.49/30, ses/k)
			// With few rows the coverage is somewhat lower.
			if c := 0.91; float64(held) < k*c-4*math.Sqrt(k*c*(1-c)) {
				t.Errorf("smoother %d, N = %d: the interval held the error in %d of %d", smoother, n, held, repeats)
			}
			if z := (mean - 0.49/30) / (sd / math.Sqrt(k)); math.Abs(z) > 4.5 {
				t.Errorf("smoother %d, N = %d: biased by %.1f standard errors", smoother, n, z)
			}
		}
	}
	r := rand.New(rand.NewPCG(4, 4))
	below := 0
	for range repeats {
		p, y := make([]float64, 500), make([]float64, 500)
		for i := range p {
			if p[i] = r.Float64(); r.Float64() < p[i] {
				y[i] = 1
			}
		}
		s, err := binfree.SemiparametricOf(rowsCells(t, p, y), &binfree.SemiparametricOptions{Attempts: 8})
		if err != nil {
			t.Fatal(err)
		}
		if s.Squared < 0 {
			below++
		}
		if s.RMS() > 0.1 {
			t.Errorf("calibrated, yet %v", s.RMS())
		}
	}
	if t.Logf("calibrated: below 0 in %d of %d", below, repeats); below < repeats/5 || below > repeats*4/5+1 {
		t.Errorf("calibrated: below 0 in %d of %d", below, repeats)
	}
}

// TestSemiparametricEdges checks that a score far from all others has the frequency of the nearest one, or none as coded; that
// equal scores need no kernel; and that labels may be any number in [0,1].
func TestSemiparametricEdges(t *testing.T) {
	p := []float64{0.1, 0.1, 0.2, 0.2, 0.9}
	y := []float64{0, 1, 0, 1, 1}
	folds := []int{0, 1, 0, 1, 0}
	o := &binfree.SemiparametricOptions{Hyperparameters: []float64{1e5}}
	s, err := binfree.SemiparametricOfRows(p, y, folds, o)
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	s.Each(func(r binfree.FoldRows) { last = r.Frequency })
	if math.Abs(last-1.7) > 1e-12 {
		t.Errorf("the last score's frequency is %v", last)
	}
	o.AsCoded = true
	if s, err := binfree.SemiparametricOfRows(p, y, folds, o); err == nil || !strings.Contains(err.Error(), "0/0") {
		t.Error(s, err)
	}
	equal := []float64{0.3, 0.3, 0.3, 0.3, 0.3}
	if s, err = binfree.SemiparametricOfRows(equal, y, folds, nil); err != nil || !math.IsNaN(s.Used) || s.Squared != s.Squared {
		t.Error(s, err)
	}
	// Outside fold 0 both labels are 1; outside fold 1 their mean is 1/3.
	want := (3*0.3*(0.3-1) - 1*(0.3-1) + 2*0.3*(0.3-1.0/3) - 2*(0.3-1.0/3)) / 5
	if math.Abs(s.Squared-want) > 1e-15 {
		t.Errorf("equal scores: %v, want %v", s.Squared, want)
	}
	soft := []float64{0.25, 0.5, 0.75, 1, 0.3}
	o = &binfree.SemiparametricOptions{Normalize: true, Weights: binfree.RelativeWeights}
	if s, err = binfree.SemiparametricOfRows(p, soft, folds, o); err != nil || s.Squared != s.Squared {
		t.Error(s, err)
	}
	one := []float64{1, 1, 1, 1, 1}
	if s, err = binfree.SemiparametricOf(rowsCells(t, p, one), nil); err != nil || s.Squared != s.Squared || !(s.SE >= 0) {
		t.Error(s, err)
	}
}

func TestSemiparametricErrors(t *testing.T) {
	p, y, f := []float64{0.1, 0.2, 0.3, 0.4}, []float64{0, 1, 0, 1}, []int{0, 1, 0, 1}
	heavy := &metrics.Predictions{Labels: []int32{0, 1}, Weights: []float64{1, 2}}
	heavy.Rows, heavy.Classes, heavy.F64 = 2, 1, []float64{0.3, 0.4}
	weighted := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, weighted).Add(heavy); err != nil {
		t.Fatal(err)
	}
	wild := &metrics.Predictions{Labels: []int32{0, 1}}
	wild.Rows, wild.Classes, wild.F64 = 2, 1, []float64{0.3, 1.4}
	outside := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(&metrics.Options{Unchecked: true}, outside).Add(wild); err != nil {
		t.Fatal(err)
	}
	spline := &binfree.SemiparametricOptions{Smoother: binfree.SplineSmoother, Folds: 2}
	coded := &binfree.SemiparametricOptions{Smoother: binfree.SplineSmoother, Weights: binfree.ChiWeights, AsCoded: true}
	of := func(c *cells.Cells, o *binfree.SemiparametricOptions) func() error {
		return func() error { _, err := binfree.SemiparametricOf(c, o); return err }
	}
	rows := func(p, y []float64, f []int, o *binfree.SemiparametricOptions) func() error {
		return func() error { _, err := binfree.SemiparametricOfRows(p, y, f, o); return err }
	}
	valid := func(o binfree.SemiparametricOptions) func() error { return o.Validate }
	for want, f := range map[string]func() error{
		"with weights":      of(weighted, nil),
		"outside [0,1]":     of(outside, nil),
		"be dealt to 5":     of(rowsCells(t, p, y), nil),
		"order of the rows": of(rowsCells(t, p, y), coded),
		"a spline needs 4":  of(rowsCells(t, p, y), spline),
		"range of float64": rows([]float64{1e-310, 1e-300, 0.6, 0.9, 0.99}, []float64{0, 1, 1, 0, 0}, []int{0, 1, 2, 3, 4},
			&binfree.SemiparametricOptions{Smoother: binfree.SplineSmoother}),
		"score is 1.5":        rows([]float64{0.1, 1.5}, y[:2], f[:2], nil),
		"score is NaN":        rows([]float64{0.1, math.NaN()}, y[:2], f[:2], nil),
		"label is -1":         rows(p[:1], []float64{-1}, f[:1], nil),
		"fold is 100":         rows(p[:1], y[:1], []int{100}, nil),
		"in one fold":         rows(p, y, []int{3, 3, 3, 3}, nil),
		"0 rows are":          rows(nil, nil, nil, nil),
		"1 folds":             valid(binfree.SemiparametricOptions{Folds: 1}),
		"truncated at 2":      valid(binfree.SemiparametricOptions{Truncation: 2}),
		"unknown value":       valid(binfree.SemiparametricOptions{Weights: 3}),
		"-1 attempts":         valid(binfree.SemiparametricOptions{Attempts: -1}),
		"from 2 to 1":         valid(binfree.SemiparametricOptions{Range: [2]float64{2, 1}}),
		"from 0 to 1":         valid(binfree.SemiparametricOptions{Range: [2]float64{0, 1}, Smoother: binfree.SplineSmoother}),
		"hyperparameter of 0": rows(p, y, f, &binfree.SemiparametricOptions{Hyperparameters: []float64{0}}),
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := binfree.SemiparametricOfRows(p, y[:1], f, nil); !errors.Is(err, metrics.ErrMismatch) {
		t.Errorf("columns of different lengths: %v", err)
	}
}

// TestSemiparametricOptions checks that each option can be read from String.
func TestSemiparametricOptions(t *testing.T) {
	o := binfree.SemiparametricOptions{Folds: 3, Truncation: 0.1, Weights: binfree.ChiWeights, Smoother: binfree.SplineSmoother,
		Orthogonal: true, Normalize: true, Attempts: 10, AsCoded: true, Seed: 7}
	want := "as_coded,attempts=10,folds=3,normalize,orthogonal,seed=7,smoothing=spline,truncation=0.1,weights=chi"
	if o.String() != want {
		t.Errorf("%q, want %q", o.String(), want)
	}
	var got binfree.SemiparametricOptions
	if got.String() != "" {
		t.Errorf("the default is %q", got.String())
	}
	for _, part := range strings.Split(want, ",") {
		name, value, _ := strings.Cut(part, "=")
		if err := got.Set(name, value); err != nil {
			t.Error(err)
		}
	}
	if got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
	}
	for _, bad := range [][2]string{{"folds", "0"}, {"folds", "x"}, {"attempts", "-1"}, {"seed", "-1"}, {"truncation", "0"},
		{"weights", "no"}, {"smoothing", ""}, {"orthogonal", "yes"}, {"bins", "3"}} {
		if err := got.Set(bad[0], bad[1]); err == nil || got.String() != want {
			t.Errorf("%v: %v, %q", bad, err, got.String())
		}
	}
	if err := got.Set("normalize", "false"); err != nil || got.Normalize {
		t.Error(err)
	}
	if s := o.Text(); s != "root of mean w (p-c)(p+c-2y); w = 1/max(p(1-p),0.1); over mean w; "+
		"c the frequency by a smoothing spline over the other of 3 folds; as coded in uncertainty_metrics" {
		t.Error(s)
	}
}
