package regress_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/metrics/score"
)

var normalStats = []regress.NormalStat{regress.NLL, regress.CRPS, regress.Sharpness, regress.SharpnessRoot, regress.ZMS, regress.RCE,
	regress.SigmaScale, regress.SigmaScaleAsCoded}

var normalAll = &regress.NormalOptions{Stats: normalStats}

func normalOf(t *testing.T, p *metrics.Predictions, o *metrics.Options) *regress.Normal {
	t.Helper()
	n := metrics.Must(regress.NewNormal(normalAll))
	if err := metrics.NewPass(o, n).Add(p); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNormalGolden compares with LaplaceRedux and uncertainty-toolbox; see testdata/golden/README.md.
func TestNormalGolden(t *testing.T) {
	f, err := os.Open("../../testdata/golden/regression_laplace.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Regression []struct {
			Y, Mean, Std []float64
			Documented   float64 `json:"sigma_scaling_documented"`
			AsCoded      float64 `json:"sigma_scaling_as_coded"`
			Variance     float64 `json:"sharpness_mean_variance"`
			Root         float64 `json:"sharpness_uncertainty_toolbox_root"`
			NLL          float64 `json:"gaussian_nll_mean"`
		}
	}
	if err := json.NewDecoder(z).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	for i, c := range golden.Regression {
		n := normalOf(t, metrics.Must(regress.NormalPredictions(c.Y, c.Mean, c.Std)), nil)
		sum := 0.0
		for j, y := range c.Y {
			sum += regress.NormalNLL(y, c.Mean[j], c.Std[j])
		}
		variance, root := regress.SharpnessOf(c.Std)
		for name, v := range map[string][2]float64{
			"sharpness":      {n.Value(regress.Sharpness), c.Variance},
			"sharpness_root": {n.Value(regress.SharpnessRoot), c.Root},
			"nll":            {n.Value(regress.NLL), c.NLL},
			"sigma":          {n.Value(regress.SigmaScale), c.Documented},
			"as coded":       {n.Value(regress.SigmaScaleAsCoded), c.AsCoded},
			"NormalNLL":      {sum / float64(len(c.Y)), c.NLL},
			"variance":       {variance, n.Value(regress.Sharpness)},
			"root":           {root, n.Value(regress.SharpnessRoot)},
		} {
			if !errorsNear(v[0], v[1], 1e-12) {
				t.Errorf("case %d: %s is %.17g, want %.17g", i, name, v[0], v[1])
			}
		}
	}
	if len(golden.Regression) != 3 {
		t.Errorf("%d cases", len(golden.Regression))
	}
}

// TestNormal compares values and intervals with sums over the rows.
func TestNormal(t *testing.T) {
	p := errorsForecasts(rand.New(rand.NewPCG(11, 1)), metrics.Normals, 3000, 2, 0)
	n := normalOf(t, p, nil)
	row := func(f func(e, sd float64) float64) (mean, se float64) {
		s, ss := 0.0, 0.0
		for i := range p.Rows {
			s += f(p.F64[2*i], p.F64[2*i+1])
		}
		mean = s / float64(p.Rows)
		for i := range p.Rows {
			d := f(p.F64[2*i], p.F64[2*i+1]) - mean
			ss += d * d
		}
		return mean, math.Sqrt(ss / float64(p.Rows-1) / float64(p.Rows))
	}
	const z = 1.959963984540
	check := func(s regress.NormalStat, v, low, high float64) {
		t.Helper()
		if i := n.Interval(s, 0.95); !errorsNear(n.Value(s), v, 1e-11) || !errorsNear(i.Low, low, 1e-9) || !errorsNear(i.High, high, 1e-9) {
			t.Errorf("%v is %v %v, want %v %v %v", s, n.Value(s), i, v, low, high)
		}
		if n.Reason(s) != "" {
			t.Error(n.Reason(s))
		}
	}
	m, se := row(func(e, sd float64) float64 { return math.Log(sd) + e*e/sd/sd/2 + math.Log(2*math.Pi)/2 })
	check(regress.NLL, m, m-z*se, m+z*se)
	m, se = row(func(e, sd float64) float64 { return score.NormalCRPS(e, 0, sd) })
	check(regress.CRPS, m, m-z*se, m+z*se)
	m, se = row(func(e, sd float64) float64 { return e * e / sd / sd })
	check(regress.ZMS, m, m-z*se, m+z*se)
	check(regress.SigmaScale, math.Sqrt(m), math.Sqrt(m-z*se), math.Sqrt(m+z*se))
	m, se = row(func(e, sd float64) float64 { return math.Abs(e) / sd / sd })
	check(regress.SigmaScaleAsCoded, math.Sqrt(m), math.Sqrt(m-z*se), math.Sqrt(m+z*se))
	mse, _ := row(func(e, sd float64) float64 { return e * e })
	mv, se := row(func(e, sd float64) float64 { return sd * sd })
	check(regress.Sharpness, mv, mv-z*se, mv+z*se)
	check(regress.SharpnessRoot, math.Sqrt(mv), math.Sqrt(mv-z*se), math.Sqrt(mv+z*se))
	_, se = row(func(e, sd float64) float64 { return sd*sd/mv - e*e/mse })
	stated, _ := row(func(_, sd float64) float64 { return 2 * sd * sd * sd * sd / mse / mse })
	se = max(se, math.Sqrt(stated/float64(p.Rows)))
	h := math.Sqrt(mv / mse)
	check(regress.RCE, 1-1/h, 1-1/(h-z*h*se/2), 1-1/(h+z*h*se/2))
}

// TestNormalState checks that a state depends only on the rows, not on their order, threads or shards.
func TestNormalState(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		const n = 6000
		p := errorsForecasts(rand.New(rand.NewPCG(12, 1)), metrics.Normals, n, 3, 0)
		if weighted {
			for i := range n {
				p.Weights = append(p.Weights, float64(i%4)*0.3)
			}
		}
		want := errorsStateOf(t, normalOf(t, p, nil))
		if !bytes.Equal(want, errorsStateOf(t, normalOf(t, p, &metrics.Options{Threads: 5}))) {
			t.Error("five threads make another state")
		}
		back := *p
		back.F64, back.Weights = nil, nil
		for i := n - 1; i >= 0; i-- {
			back.F64 = append(back.F64, p.F64[3*i:3*i+3]...)
			if weighted {
				back.Weights = append(back.Weights, p.Weights[i])
			}
		}
		total := metrics.Must(regress.NewNormal(normalAll))
		for _, cut := range [][2]int{{5000, n}, {0, 1}, {1, 1}, {1, 5000}} {
			s := back
			s.Rows, s.F64 = cut[1]-cut[0], back.F64[cut[0]*3:cut[1]*3]
			if weighted {
				s.Weights = s.Weights[cut[0]:cut[1]]
			}
			part := metrics.Must(regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{regress.NLL}}))
			if err := part.UnmarshalBinary(errorsStateOf(t, normalOf(t, &s, nil))); err != nil {
				t.Fatal(err)
			}
			if err := total.Merge(part); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(want, errorsStateOf(t, total)) {
			t.Error("merged shards are another state")
		}
		if len(want) > 1500 {
			t.Errorf("a state takes %d bytes", len(want))
		}
	}
}

// TestNormalUnits checks that values have the unit of the numbers, or none, at any size.
func TestNormalUnits(t *testing.T) {
	in := func(exponent int) *regress.Normal {
		return normalOf(t, errorsForecasts(rand.New(rand.NewPCG(14, 1)), metrics.Normals, 300, 3, exponent), nil)
	}
	one := in(0)
	for _, e := range []int{-950, -600, -240, -30, 30, 241, 600, 1000} {
		u := in(e)
		for s, power := range map[regress.NormalStat]int{regress.CRPS: 1, regress.Sharpness: 2,
			regress.SharpnessRoot: 1, regress.ZMS: 0, regress.RCE: 0, regress.SigmaScale: 0} {
			if power == 2 && (e > 500 || e < -500) {
				if v := u.Value(s); v != 0 && !math.IsInf(v, 1) {
					t.Errorf("%v in units of 2^%d: %v", s, e, v)
				}
				continue
			}
			i, j := u.Interval(s, 0.95), one.Interval(s, 0.95)
			in := func(v float64) float64 { return math.Ldexp(v, -e*power) }
			if !errorsNear(in(u.Value(s)), one.Value(s), 1e-13) || !errorsNear(in(i.Low), j.Low, 1e-13) || !errorsNear(in(i.High), j.High, 1e-13) {
				t.Errorf("%v in units of 2^%d: %v %v", s, e, u.Value(s), i)
			}
		}
		root := math.Sqrt(math.Ldexp(1, -e))
		i, j := u.Interval(regress.SigmaScaleAsCoded, 0.95), one.Interval(regress.SigmaScaleAsCoded, 0.95)
		if v := u.Value(regress.SigmaScaleAsCoded); !errorsNear(v, root*one.Value(regress.SigmaScaleAsCoded), 1e-13) ||
			!errorsNear(i.Low, root*j.Low, 1e-13) || !errorsNear(i.High, root*j.High, 1e-13) {
			t.Errorf("sigma_scale_as_coded in units of 2^%d: %v %v", e, v, i)
		}
		if d := u.Value(regress.NLL) - one.Value(regress.NLL); !errorsNear(d, float64(e)*math.Ln2, 1e-12) {
			t.Errorf("nll in units of 2^%d: %v above", e, d)
		}
	}
}

// TestNormalFarApart checks numbers of 1e-300 and 1e300 in one set.
func TestNormalFarApart(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.F64, p.Rows, p.Classes = []float64{1e300, 2e300, 1e-300, 3e-300, 1e-300, 2e300, -1e300, 1e300}, 4, 2
	n := normalOf(t, p, nil)
	for s, want := range map[regress.NormalStat]float64{
		regress.Sharpness:     math.Inf(1),
		regress.SharpnessRoot: 1.5e300,
		regress.RCE:           1 - math.Sqrt2/3,
		regress.ZMS:           (0.25 + 1.0/9 + 1) / 4,
		regress.SigmaScale:    math.Sqrt((0.25 + 1.0/9 + 1) / 4),
		regress.CRPS:          (score.NormalCRPS(1e300, 0, 2e300) + score.NormalCRPS(0, 0, 2e300) + score.NormalCRPS(1e300, 0, 1e300)) / 4,
	} {
		if v := n.Value(s); !errorsNear(v, want, 1e-15) {
			t.Errorf("%v is %v, want %v", s, v, want)
		}
		if i := n.Interval(s, 0.95); (i.Low != i.Low) != math.IsInf(want, 1) {
			t.Errorf("%v: %v", s, i)
		}
	}
	// e/sd overflows float64: the CRPS is the error, and NLL and ZMS overflow too.
	p.F64[0], p.F64[1] = -1e300, 1e-300
	n = normalOf(t, p, nil)
	for s, want := range map[regress.NormalStat]float64{regress.NLL: math.Inf(1), regress.ZMS: math.Inf(1),
		regress.SigmaScale: math.Inf(1), regress.SigmaScaleAsCoded: math.Inf(1), regress.CRPS: (1e300 + score.NormalCRPS(0, 0, 2e300) + score.NormalCRPS(1e300, 0, 1e300)) / 4} {
		if v := n.Value(s); !errorsNear(v, want, 1e-15) {
			t.Errorf("%v is %v, want %v", s, v, want)
		}
	}
	for _, s := range []regress.NormalStat{regress.NLL, regress.SigmaScale, regress.SigmaScaleAsCoded} {
		if i := n.Interval(s, 0.95); i.Low == i.Low {
			t.Error(s, i)
		}
	}
	// Each e/sd is 1e200. Its square overflows float64, but the square root of the mean does not.
	far := &metrics.Predictions{Kind: metrics.Normals}
	far.F64, far.Rows, far.Classes = []float64{1e100, 1e-100, 1e100, 1e-100}, 2, 2
	if v := normalOf(t, far, nil); !errorsNear(v.Value(regress.SigmaScale), 1e200, 1e-15) || !math.IsInf(v.Value(regress.ZMS), 1) {
		t.Error(v.Value(regress.SigmaScale), v.Value(regress.ZMS))
	}
	p.Weights = []float64{2, 2, 2, 2}
	if v, w := n.Value(regress.CRPS), normalOf(t, p, nil).Value(regress.CRPS); v != w {
		t.Errorf("%v, and %v of weights of 2", v, w)
	}
}

// TestNormalOptions checks that statistics that are not requested are not kept, and have no value.
func TestNormalOptions(t *testing.T) {
	p := errorsForecasts(rand.New(rand.NewPCG(15, 1)), metrics.Normals, 400, 3, 0)
	all := normalOf(t, p, nil)
	for _, s := range normalStats {
		n := metrics.Must(regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{s}}))
		if err := metrics.NewPass(nil, n).Add(p); err != nil {
			t.Fatal(err)
		}
		if n.Value(s) != all.Value(s) || n.Interval(s, 0.8) != all.Interval(s, 0.8) || n.Len() != 400 {
			t.Errorf("%v: %v alone, %v with others", s, n.Value(s), all.Value(s))
		}
		for _, o := range normalStats {
			with := map[regress.NormalStat][]regress.NormalStat{regress.RCE: {regress.Sharpness, regress.SharpnessRoot},
				regress.Sharpness: {regress.SharpnessRoot}, regress.SharpnessRoot: {regress.Sharpness},
				regress.ZMS: {regress.SigmaScale}, regress.SigmaScale: {regress.ZMS}}
			kept := o == s || slices.Contains(with[s], o)
			got := errorsPanic(func() { n.Value(o) })
			if (got == nil) != kept || got != nil && got != "regress: the statistic has to be in the options" {
				t.Errorf("%v of %v: %v", o, s, got)
			}
		}
		if err := all.Merge(n); !errors.Is(err, metrics.ErrMismatch) {
			t.Error(err)
		}
	}
}

func TestNormalFaults(t *testing.T) {
	p := errorsForecasts(rand.New(rand.NewPCG(16, 1)), metrics.Normals, 5, 3, 0)
	probs := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.5}, Rows: 1, Classes: 1}, Labels: []int32{1}}
	for _, c := range []struct {
		want string
		f    func()
	}{
		{"regress: predictions of the kind normals are wanted", func() { _ = metrics.NewPass(nil, metrics.Must(regress.NewNormal(nil))).Add(probs) }},
		{"regress: no such statistic of normal forecasts", func() { metrics.Must(regress.NewNormal(nil)).Value(8) }},
	} {
		if got := errorsPanic(c.f); got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	var length *metrics.LengthError
	if _, err := regress.NormalPredictions([]float64{1}, nil, []float64{1}); !errors.As(err, &length) || length.Column != "means" {
		t.Error(err)
	}
	if _, _, err := regress.NormalsOf([]float64{1}, []float64{1}, nil, nil); !errors.As(err, &length) || length.Column != "standard deviations" {
		t.Error(err)
	}
	if n, err := regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{99}}); n != nil || err == nil {
		t.Error(err)
	}
	if s := regress.NormalStat(8).String(); s != "NormalStat(8)" {
		t.Error(s)
	}
	empty, n := metrics.Must(regress.NewNormal(normalAll)), normalOf(t, p, nil)
	for _, s := range normalStats {
		if v, i := empty.Value(s), empty.Interval(s, 0.9); v == v || i.Low == i.Low || empty.Reason(s) != "there are no rows" {
			t.Error(s, v, i, empty.Reason(s))
		}
	}
	// With one row there are values, but no intervals. With errors of 0, RCE is 1 and has no interval.
	one := *p
	one.Rows, one.F64 = 1, p.F64[:3]
	lonely := normalOf(t, &one, nil)
	for _, s := range normalStats {
		if v, i := lonely.Value(s), lonely.Interval(s, 0.9); v-v != 0 || i.Low == i.Low || i.High == i.High {
			t.Error(s, v, i)
		}
	}
	right := normalOf(t, metrics.Must(regress.NormalPredictions([]float64{1, 2, 3}, []float64{1, 2, 3}, []float64{1, 1, 2})), nil)
	if v, i := right.Value(regress.RCE), right.Interval(regress.RCE, 0.9); v != 1 || i.Low == i.Low {
		t.Error(v, i)
	}
	// One error among many makes up all of RMSE, so RCE has no lower bound.
	y := make([]float64, 50)
	y[7] = 100
	lone := normalOf(t, metrics.Must(regress.NormalPredictions(y, make([]float64, 50), slices.Repeat([]float64{1}, 50))), nil)
	if i := lone.Interval(regress.RCE, 0.99); !math.IsInf(i.Low, -1) || !(i.High > lone.Value(regress.RCE)) || !(i.High < 1) {
		t.Error(i)
	}
	for _, bad := range [][3]float64{{math.NaN(), 0, 1}, {0, math.Inf(1), 1}, {0, 0, 0}, {0, 0, -1}} {
		if v := regress.NormalNLL(bad[0], bad[1], bad[2]); v == v {
			t.Error(bad, v)
		}
	}
	for _, sd := range [][]float64{nil, {1, -1}, {math.NaN()}, {math.Inf(1)}} {
		if v, root := regress.SharpnessOf(sd); v == v || root == root {
			t.Error(sd, v, root)
		}
	}
	if v, root := regress.SharpnessOf([]float64{1e300, 0, 1e300, 1e-300}); !math.IsInf(v, 1) || !errorsNear(root, 1e300/math.Sqrt2, 1e-15) {
		t.Error(v, root)
	}

	p.Weights = []float64{1, 1, 1, 1, 1}
	before := errorsStateOf(t, n)
	for _, o := range []metrics.Accumulator{normalOf(t, p, nil), metrics.Must(regress.NewErrors(nil))} {
		if err := n.Merge(o); !errors.Is(err, metrics.ErrMismatch) || !bytes.Equal(before, errorsStateOf(t, n)) {
			t.Errorf("merged with %T: %v", o, err)
		}
	}
	if err := n.Merge(n.Empty()); err != nil || !bytes.Equal(before, errorsStateOf(t, n)) {
		t.Error(err)
	}
	for i := range before {
		b := slices.Clone(before)
		b[i] ^= 1
		if empty.UnmarshalBinary(b) == nil {
			t.Fatalf("byte %d can be damaged", i)
		}
	}
}

// TestRCECoverage checks that the interval of RCE covers the true value 0 about as often as its level, and misses it on both
// sides.
func TestRCECoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	runs := 1500
	if testing.Short() {
		runs = 300
	}
	const n = 400
	below, above := 0, 0
	y, sd := make([]float64, n), make([]float64, n)
	for range runs {
		for i := range y {
			sd[i] = math.Exp(0.3 * r.NormFloat64())
			y[i] = sd[i] * r.NormFloat64()
		}
		a := metrics.Must(regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{regress.RCE}}))
		if err := metrics.NewPass(&metrics.Options{Threads: 1}, a).Add(metrics.Must(regress.NormalPredictions(y, make([]float64, n), sd))); err != nil {
			t.Fatal(err)
		}
		i := a.Interval(regress.RCE, 0.95)
		if i.High < 0 {
			below++
		}
		if i.Low > 0 {
			above++
		}
	}
	if f := float64(below+above) / float64(runs); f > 0.08 || f < 0.02 || min(below, above) < runs/200 {
		t.Errorf("%d runs: %d intervals below, %d above", runs, below, above)
	}
}

// FuzzNormalUnmarshal checks that a state that is read is written as the same bytes, and gives values.
func FuzzNormalUnmarshal(f *testing.F) {
	r := rand.New(rand.NewPCG(18, 1))
	for _, stats := range [][]regress.NormalStat{nil, {regress.NLL}, {regress.RCE, regress.ZMS}, {regress.SigmaScaleAsCoded}} {
		for _, w := range [][]float64{nil, {1, 2, 0x1p32, 0x1p-32, 1, 0, 1}} {
			p := errorsForecasts(r, metrics.Normals, 7, 3, 0)
			p.Weights = w
			n := metrics.Must(regress.NewNormal(&regress.NormalOptions{Stats: stats}))
			if err := metrics.NewPass(nil, n).Add(p); err != nil {
				f.Fatal(err)
			}
			b, err := n.AppendBinary(nil)
			if err != nil {
				f.Fatal(err)
			}
			_, payload, _, err := exact.Open("cNRM", b)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(payload)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		sealed := exact.Seal("cNRM", 2, payload)
		var n regress.Normal
		if n.UnmarshalBinary(sealed) != nil {
			return
		}
		if again, err := n.AppendBinary(nil); err != nil || !bytes.Equal(again, sealed) {
			t.Errorf("written in another way: %v", err)
		}
		for _, s := range normalStats {
			errorsPanic(func() { n.Value(s) })
			if errorsPanic(func() { n.Reason(s) }) == nil {
				n.Interval(s, 0.95)
			}
		}
		o := n.Empty()
		if err := o.Merge(&n); err != nil || o.Len() != n.Len() {
			t.Errorf("%d rows merged are %d: %v", n.Len(), o.Len(), err)
		}
	})
}

// normalSet returns a real set of errors and standard deviations, and the figures that come with it.
func normalSet(t *testing.T, name string) (*metrics.Predictions, map[string]float64) {
	t.Helper()
	dir := realSets(t)
	f, err := os.Open(filepath.Join(dir, name, "table.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.Rows, p.Classes = len(rows)-1, 2
	for _, r := range rows[1:] {
		for _, s := range r {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			p.F64 = append(p.F64, v)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, name, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var meta struct {
		Computed map[string]float64 `json:"computed_float64"`
	}
	if err := json.Unmarshal(b, &meta); err != nil {
		t.Fatal(err)
	}
	return p, meta.Computed
}

// TestNormalReal compares errors of two models of molecules with figures that Pernot 2024 published, and with figures from
// NumPy. The intervals are close to his bootstrap intervals.
func TestNormalReal(t *testing.T) {
	for _, c := range []struct {
		name     string
		rce, zms float64
		within   [4]float64
	}{
		{"pernot_qm9_e_test_cal", -0.2644578, 0.97200556, [4]float64{-0.688, -0.00281, 0.936, 1.01}},
		{"pernot_logp_10k_a_ls_gcn_test_cal", 0.04590263, 0.92569631, [4]float64{0.00847, 0.0771, 0.869, 0.99}},
	} {
		p, want := normalSet(t, c.name)
		e, n := metrics.Must(regress.NewErrors(nil)), metrics.Must(regress.NewNormal(nil))
		if err := metrics.NewPass(nil, e, n).Add(p); err != nil {
			t.Fatal(err)
		}
		for s, w := range map[regress.NormalStat]float64{regress.NLL: want["nll"], regress.CRPS: want["crps"], regress.ZMS: want["zms"],
			regress.RCE: want["rce"], regress.SharpnessRoot: want["rmv"]} {
			if v := n.Value(s); !(math.Abs(v-w) < 1e-12*math.Abs(w)) {
				t.Errorf("%s: %v is %v, want %v", c.name, s, v, w)
			}
		}
		for s, w := range map[regress.ErrorStat]float64{regress.RMSE: want["rmse"], regress.MAE: want["mae"], regress.AEMedian: want["mae"]} {
			if v := e.Value(s); !(math.Abs(v-w) < 1e-12*math.Abs(w)) {
				t.Errorf("%s: %v is %v, want %v", c.name, s, v, w)
			}
		}
		if r, z := n.Value(regress.RCE), n.Value(regress.ZMS); math.Abs(r-c.rce) > 1e-7 || math.Abs(z-c.zms) > 1e-7 {
			t.Errorf("%s: RCE %v, ZMS %v", c.name, r, z)
		}
		r, z := n.Interval(regress.RCE, 0.95), n.Interval(regress.ZMS, 0.95)
		for i, v := range []float64{r.Low, r.High, z.Low, z.High} {
			if math.Abs(v-c.within[i]) > 0.016 {
				t.Errorf("%s: end %d of the intervals is %v, published %v", c.name, i, v, c.within[i])
			}
		}
	}
}
