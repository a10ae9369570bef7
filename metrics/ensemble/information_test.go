package ensemble_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

func informationData(t *testing.T, name string, v any) {
	t.Helper()
	f, err := os.Open(filepath.Join("../../testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.NewDecoder(r).Decode(v); err != nil {
		t.Fatal(err)
	}
}

func logLiks(rows [][]float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.LogLiks}
	p.Rows, p.Classes = len(rows), len(rows[0])
	for _, r := range rows {
		p.F64 = append(p.F64, r...)
	}
	return p
}

func information(t *testing.T, p *metrics.Predictions, o *ensemble.InformationOptions) *ensemble.Information {
	t.Helper()
	a := metrics.Must(ensemble.NewInformation(o))
	if err := metrics.NewPass(nil, a).Add(p); err != nil {
		t.Fatal(err)
	}
	return a
}

// closeTo reports whether two numbers differ by less than tol, relatively if they are above 1, or are both NaN.
func closeTo(got, want, tol float64) bool {
	return math.Abs(got-want) <= tol*math.Max(1, math.Abs(want)) || got != got && want != want
}

// TestGoldenInformation compares with uncertainty_metrics as coded, and with the textbook's formulas for the same tables.
func TestGoldenInformation(t *testing.T) {
	type result struct{ got, want float64 }
	cases := 0
	check := func(name string, r ...result) {
		t.Helper()
		for i, r := range r {
			cases++
			if !closeTo(r.got, r.want, 1e-13) {
				t.Errorf("%s, %d: %v, want %v", name, i, r.got, r.want)
			}
		}
	}
	var g struct {
		Tables []struct {
			LogP     [][]float64
			WAIC1    float64
			WAIC1SEM float64 `json:"waic1_sem"`
			WAIC2    float64
			WAIC2SEM float64 `json:"waic2_sem"`
			ISCV     float64
			ISCVSEM  float64  `json:"iscv_sem"`
			Textbook *float64 `json:"waic1_textbook"`
			SEM      float64  `json:"waic1_textbook_sem"`
			SEM2     float64  `json:"waic2_sem_over_n"`
			SEMISCV  float64  `json:"iscv_sem_over_n"`
		} `json:"waic_iscv"`
		Trailing struct {
			LogP     [][][]float64
			WAIC1    []float64
			WAIC1SEM []float64 `json:"waic1_sem"`
			ISCV     []float64
			ISCVSEM  []float64 `json:"iscv_sem"`
		} `json:"waic_trailing_dims"`
	}
	informationData(t, "golden/waic_iscv.json.gz", &g)
	for _, c := range g.Tables {
		p := logLiks(c.LogP)
		a := information(t, p, &ensemble.InformationOptions{AsCoded: true})
		check("as coded", result{a.Value(ensemble.WAIC1), c.WAIC1}, result{a.StdErr(ensemble.WAIC1), c.WAIC1SEM},
			result{a.Value(ensemble.WAIC2), c.WAIC2}, result{a.StdErr(ensemble.WAIC2), c.WAIC2SEM},
			result{a.Value(ensemble.ISCV), c.ISCV}, result{a.StdErr(ensemble.ISCV), c.ISCVSEM})
		b := information(t, p, nil)
		if c.Textbook == nil {
			// One draw.
			nan := math.NaN()
			for _, e := range []ensemble.Criterion{ensemble.WAIC1, ensemble.WAIC2, ensemble.ISCV} {
				check("one draw", result{b.Value(e), nan}, result{b.StdErr(e), nan}, result{b.Interval(e, 0.95).Low, nan})
			}
			check("one draw", result{b.Value(ensemble.LPPD), c.ISCV})
			continue
		}
		// The golden's errors over n use the variance with 1/n, except for the textbook's waic1.
		n := float64(p.Rows)
		f := math.Sqrt(n / (n - 1))
		check("textbook", result{b.Value(ensemble.WAIC1), *c.Textbook}, result{b.StdErr(ensemble.WAIC1), c.SEM},
			result{b.Value(ensemble.WAIC2), c.WAIC2}, result{b.StdErr(ensemble.WAIC2), f * c.SEM2},
			result{b.Value(ensemble.ISCV), c.ISCV}, result{b.StdErr(ensemble.ISCV), f * c.SEMISCV})
	}
	for k := range g.Trailing.WAIC1 {
		p := &metrics.Predictions{Kind: metrics.LogLiks}
		for _, r := range g.Trailing.LogP {
			for _, m := range r {
				p.F64 = append(p.F64, m[k])
			}
		}
		p.Rows, p.Classes = len(g.Trailing.LogP), len(g.Trailing.LogP[0])
		a := information(t, p, &ensemble.InformationOptions{AsCoded: true})
		check("trailing", result{a.Value(ensemble.WAIC1), g.Trailing.WAIC1[k]}, result{a.StdErr(ensemble.WAIC1), g.Trailing.WAIC1SEM[k]},
			result{a.Value(ensemble.ISCV), g.Trailing.ISCV[k]}, result{a.StdErr(ensemble.ISCV), g.Trailing.ISCVSEM[k]})
	}
	if cases != 52 {
		t.Errorf("%d figures", cases)
	}
}

// TestPSIS compares rows with an independent implementation; see testdata/oracle/make_information.py.
func TestPSIS(t *testing.T) {
	var g struct {
		PSIS []struct {
			Name string
			LogP []float64
			ELPD float64
			K    *float64
		}
	}
	informationData(t, "oracle/information.json", &g)
	if len(g.PSIS) != 27 {
		t.Errorf("%d rows", len(g.PSIS))
	}
	for i, c := range g.PSIS {
		p := logLiks([][]float64{c.LogP})
		elpd, iscv, k := valuesOf(t, p, ensemble.PSISLOO, nil), valuesOf(t, p, ensemble.ISCV, nil), shapesOf(t, p)
		want, high, none := math.NaN(), int64(0), int64(0)
		if c.K == nil {
			none = 1
			if math.Float64bits(elpd[0]) != math.Float64bits(iscv[0]) {
				t.Errorf("%s, row %d: %v, not its iscv %v", c.Name, i, elpd[0], iscv[0])
			}
		} else if want = *c.K; want > 0.7 {
			high = 1
		}
		if !closeTo(k[0], want, 1e-13) || !closeTo(elpd[0], c.ELPD, 1e-13) {
			t.Errorf("%s, row %d: %v with k %v, want %v with %v", c.Name, i, elpd[0], k[0], c.ELPD, want)
		}
		a := information(t, p, &ensemble.InformationOptions{PSIS: true})
		if a.HighParetoRows() != high || a.UnsmoothedRows() != none || math.Float64bits(a.ParetoKMax()) != math.Float64bits(k[0]) ||
			math.Float64bits(a.Value(ensemble.PSISLOO)) != math.Float64bits(elpd[0]) || a.Draws() != p.Classes {
			t.Errorf("%s, row %d: %d high, %d unsmoothed, k %v, %v", c.Name, i, a.HighParetoRows(), a.UnsmoothedRows(), a.ParetoKMax(), elpd[0])
		}
	}
}

// exponentials returns rows whose importance weights have a Pareto tail of shape k: w = u^-k.
func exponentials(rows, draws int, k float64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(7, uint64(1000*k)))
	p := &metrics.Predictions{Kind: metrics.LogLiks}
	p.Rows, p.Classes, p.F64 = rows, draws, make([]float64, rows*draws)
	for i := range p.F64 {
		p.F64[i] = -k * r.ExpFloat64()
	}
	return p
}

// TestParetoShape estimates the shapes of known tails. 3,000 draws have a tail of 165, whose k has the standard error
// (1+k)/sqrt(165) and is shrunk towards 1/2 with weight 10/175.
func TestParetoShape(t *testing.T) {
	for _, k := range []float64{0.1, 0.3, 0.5, 0.8, 1.2} {
		p := exponentials(200, 3000, k)
		ks := shapesOf(t, p)
		mean := 0.0
		for _, v := range ks {
			mean += v / float64(len(ks))
		}
		if want := (165*k + 5) / 175; math.Abs(mean-want) > 0.03 {
			t.Errorf("shape %v: %v on average, want %v", k, mean, want)
		}
	}
}

// TestPSISOfConjugateNormal compares with an exact leave-one-out density: the model is a mean with a flat prior and
// observations of variance 1. Without y_i, the other n-1 observations give y_i a normal density with their mean and variance
// 1 + 1/(n-1).
func TestPSISOfConjugateNormal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, m = 20, 4000
	y, sum := make([]float64, n), 0.0
	for i := range y {
		y[i] = r.NormFloat64()
		sum += y[i]
	}
	p := &metrics.Predictions{Kind: metrics.LogLiks}
	p.Rows, p.Classes, p.F64 = n, m, make([]float64, n*m)
	for j := range m {
		mu := sum/n + r.NormFloat64()/math.Sqrt(n)
		for i := range y {
			p.F64[i*m+j] = -0.5*(y[i]-mu)*(y[i]-mu) - 0.5*math.Log(2*math.Pi)
		}
	}
	want := 0.0
	for _, v := range y {
		d, s := v-(sum-v)/(n-1), 1+1/float64(n-1)
		want += (-0.5*d*d/s - 0.5*math.Log(2*math.Pi*s)) / n
	}
	a := information(t, p, &ensemble.InformationOptions{PSIS: true})
	for c, tol := range map[ensemble.Criterion]float64{ensemble.WAIC1: 2e-3, ensemble.WAIC2: 6e-3, ensemble.ISCV: 2e-3, ensemble.PSISLOO: 2e-3} {
		if d := math.Abs(a.Value(c) - want); d > tol {
			t.Errorf("%v: %v, want %v", c, a.Value(c), want)
		}
	}
	if !(a.Value(ensemble.LPPD) > want+0.02) || a.HighParetoRows() != 0 || !(a.ParetoKMax() < 0.5) {
		t.Errorf("lppd %v, k %v", a.Value(ensemble.LPPD), a.ParetoKMax())
	}
}

// TestPSISOrder checks that the order of the draws has no effect, and that smoothing changes smooth weights little.
func TestPSISOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := exponentials(10, 500, 0.3)
	one, raw := valuesOf(t, p, ensemble.PSISLOO, nil), valuesOf(t, p, ensemble.ISCV, nil)
	for i := range p.Rows {
		row := p.F64[i*500 : (i+1)*500]
		r.Shuffle(500, func(a, b int) { row[a], row[b] = row[b], row[a] })
	}
	other := valuesOf(t, p, ensemble.PSISLOO, nil)
	for i := range one {
		if math.Float64bits(one[i]) != math.Float64bits(other[i]) {
			t.Errorf("row %d: %v and, shuffled, %v", i, one[i], other[i])
		}
		if math.Abs(one[i]-raw[i]) > 0.01 {
			t.Errorf("row %d: smoothed %v, raw %v", i, one[i], raw[i])
		}
	}
}

// TestCriteriaOfBig compares rows with their formulas in 200 bits, also for log-likelihoods far from 0 or far apart.
func TestCriteriaOfBig(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range []struct{ at, scale float64 }{{0, 1}, {-700, 1}, {5000, 0.01}, {-1e6, 1e3}, {0, 1e-6}, {-40, 30}} {
		for _, m := range []int{2, 3, 50} {
			x := make([]float64, m)
			for j := range x {
				x[j] = s.at + s.scale*r.NormFloat64()
			}
			lo, hi := x[0], x[0]
			for _, v := range x {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
			up, down, mean, v := 0.0, 0.0, new(big.Float).SetPrec(200), new(big.Float).SetPrec(200)
			for _, v := range x {
				up += math.Exp(v - hi)
				down += math.Exp(lo - v)
				mean.Add(mean, big.NewFloat(v))
			}
			mean.Quo(mean, big.NewFloat(float64(m)))
			for _, y := range x {
				d := new(big.Float).SetPrec(200).Sub(big.NewFloat(y), mean)
				v.Add(v, d.Mul(d, d))
			}
			variance, _ := v.Quo(v, big.NewFloat(float64(m-1))).Float64()
			mu, _ := mean.Float64()
			lppd, iscv := hi+math.Log(up/float64(m)), lo-math.Log(down/float64(m))
			a := information(t, logLiks([][]float64{x}), nil)
			for c, want := range map[ensemble.Criterion]float64{ensemble.LPPD: lppd, ensemble.WAIC1: lppd - variance,
				ensemble.WAIC2: 2*mu - lppd, ensemble.ISCV: iscv} {
				if got := a.Value(c); !closeTo(got, want, 1e-14) {
					t.Errorf("%v of %d draws at %v: %v, want %v", c, m, s, got, want)
				}
			}
			if (variance > 0.4) != (a.HighVarianceRows() == 1) || a.StdErr(ensemble.LPPD) == a.StdErr(ensemble.LPPD) {
				t.Errorf("variance %v: %d high", variance, a.HighVarianceRows())
			}
		}
	}
}

// TestExtremeRows checks that log-likelihoods whose squares overflow float64 give infinite values, and nothing fails.
func TestExtremeRows(t *testing.T) {
	const h = math.MaxFloat64
	for name, x := range map[string][]float64{"ends": {h, -h, h, -h, 0, 1}, "low": {-h, -h, -h, -h}, "one low": {0, 0, -1e200, 0}} {
		for _, weights := range [][]float64{nil, {0x1p32}} {
			p := logLiks([][]float64{x})
			p.Weights = weights
			a := information(t, p, &ensemble.InformationOptions{PSIS: true})
			for c := ensemble.LPPD; c <= ensemble.PSISLOO; c++ {
				if v := a.Value(c); v != v || a.Interval(c, 0.95).Low == a.Interval(c, 0.95).Low {
					t.Errorf("%s: %v is %v", name, c, v)
				}
			}
			if name != "low" && !math.IsInf(a.Value(ensemble.WAIC1), -1) {
				t.Errorf("%s: %v", name, a.Value(ensemble.WAIC1))
			}
			saved, err := a.AppendBinary(nil)
			if err != nil || new(ensemble.Information).UnmarshalBinary(saved) != nil {
				t.Error(name, err)
			}
		}
	}
	// One weight is e^705 times the others, which are nearly equal: the shape is too large for a fit, and the value is that
	// of the raw weights.
	x := make([]float64, 100)
	for j := range 19 {
		x[j] = -2.3e-13 * float64(j+1)
	}
	x[99] = -705
	a := information(t, logLiks([][]float64{x}), &ensemble.InformationOptions{PSIS: true})
	if !math.IsInf(a.ParetoKMax(), 1) || a.HighParetoRows() != 1 || a.UnsmoothedRows() != 0 || a.Value(ensemble.PSISLOO) != a.Value(ensemble.ISCV) {
		t.Errorf("k %v, %d rows, %v", a.ParetoKMax(), a.HighParetoRows(), a.Value(ensemble.PSISLOO))
	}
	// Draws that agree except for rounding have no tail.
	for j := range x {
		x[j] = 1e-320 * float64(j)
	}
	a = information(t, logLiks([][]float64{x, make([]float64, 100)}), &ensemble.InformationOptions{PSIS: true})
	if k := a.ParetoKMax(); k == k || a.HighParetoRows() != 0 || a.UnsmoothedRows() != 2 || a.Value(ensemble.PSISLOO) > 1e-15 {
		t.Errorf("k %v, %d rows, %v", k, a.UnsmoothedRows(), a.Value(ensemble.PSISLOO))
	}
}

// TestOneRow has a single row and a single draw, also for importance sampling.
func TestOneRow(t *testing.T) {
	p := logLiks([][]float64{{-3}})
	a := information(t, p, &ensemble.InformationOptions{AsCoded: true, PSIS: true})
	for c := ensemble.LPPD; c <= ensemble.PSISLOO; c++ {
		if a.Value(c) != -3 || a.StdErr(c) != 0 {
			t.Errorf("%v: %v, %v", c, a.Value(c), a.StdErr(c))
		}
	}
	if b := information(t, p, nil); b.Value(ensemble.LPPD) != -3 || b.StdErr(ensemble.LPPD) == b.StdErr(ensemble.LPPD) {
		t.Error("one row has an error")
	}
}

// TestInformationRows checks that the mean of the rows is the accumulator's, that rows do not depend on others, and that dropped rows
// are NaN.
func TestInformationRows(t *testing.T) {
	p := exponentials(1000, 30, 0.5)
	bad := map[int]bool{0: true, 500: true, 999: true}
	for i := range bad {
		p.F64[i*30+3] = math.Inf(-1)
	}
	o := &metrics.Options{Drop: true, Threads: 3}
	for c := ensemble.LPPD; c <= ensemble.PSISLOO; c++ {
		a := metrics.Must(ensemble.NewInformation(&ensemble.InformationOptions{PSIS: true}))
		if err := metrics.NewPass(o, a).Add(p); err != nil {
			t.Fatal(err)
		}
		dst, err := ensemble.InformationRows(p, c, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		got := a.Value(c)
		sum := 0.0
		for i, v := range dst {
			if bad[i] != (v != v) {
				t.Errorf("%v: row %d is %v", c, i, v)
			}
			if v == v {
				sum += v
			}
		}
		if !closeTo(sum/997, got, 1e-13) {
			t.Errorf("%v: the rows' mean is %v, not %v", c, sum/997, got)
		}
		var e *metrics.DataError
		if _, err := ensemble.InformationRows(p, c, nil, nil); !errors.As(err, &e) {
			t.Errorf("%v: %v of bad rows", c, err)
		}
	}
	one := logLiks([][]float64{{-1}, {-2}})
	if v := valuesOf(t, one, ensemble.ISCV, nil); v[0] == v[0] || v[1] == v[1] {
		t.Errorf("one draw: %v", v)
	}
	if v := valuesOf(t, one, ensemble.ISCV, &ensemble.InformationOptions{AsCoded: true}); v[0] != -1 || v[1] != -2 {
		t.Errorf("one draw as coded: %v", v)
	}
}

func valuesOf(t testing.TB, p *metrics.Predictions, c ensemble.Criterion, o *ensemble.InformationOptions) []float64 {
	t.Helper()
	v, err := ensemble.InformationRows(p, c, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func shapesOf(t testing.TB, p *metrics.Predictions) []float64 {
	t.Helper()
	v, err := ensemble.ParetoKs(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func informationPanic(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestInformationFaults(t *testing.T) {
	p := exponentials(4, 10, 0.5)
	probs := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.5, 0.5}, Rows: 1, Classes: 2}, Labels: []int32{0}}
	for _, c := range []struct {
		want string
		f    func()
	}{
		{"ensemble: no such criterion", func() { metrics.Must(ensemble.NewInformation(nil)).Value(9) }},
		{"ensemble: no such criterion", func() { _, _ = ensemble.InformationRows(p, 9, nil, nil) }},
		{"ensemble: PSISLOO and PLOO take InformationOptions.PSIS", func() { metrics.Must(ensemble.NewInformation(nil)).StdErr(ensemble.PSISLOO) }},
		{"ensemble: PSISLOO and PLOO take InformationOptions.PSIS", func() { metrics.Must(ensemble.NewInformation(nil)).Total(ensemble.PLOO) }},
		{"ensemble: Information takes log-likelihoods (metrics.LogLiks)", func() { _ = metrics.NewPass(nil, metrics.Must(ensemble.NewInformation(nil))).Add(probs) }},
		{"ensemble: Information takes log-likelihoods (metrics.LogLiks)", func() { _, _ = ensemble.ParetoKs(probs, nil) }},
	} {
		if got := informationPanic(c.f); got != c.want {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
	for _, r := range []float64{-1, math.Inf(1), math.NaN()} {
		if a, err := ensemble.NewInformation(&ensemble.InformationOptions{REff: r}); a != nil || err == nil || !strings.Contains(err.Error(), "REff is ") {
			t.Errorf("%v: %v", r, err)
		}
	}
	a := metrics.Must(ensemble.NewInformation(nil))
	if v := a.Value(ensemble.LPPD); v == v || a.StdErr(ensemble.LPPD) == a.StdErr(ensemble.LPPD) || a.ParetoKMax() == a.ParetoKMax() {
		t.Error("no rows have a value")
	}
	names := ""
	for c := ensemble.LPPD; c <= ensemble.PLOO+1; c++ {
		names += c.String() + " "
	}
	if names != "lppd nwaic1 nwaic2 iscv psis_loo p_waic p_loo Criterion(7) " {
		t.Error(names)
	}
}

// FuzzInformationUnmarshal checks that a state that is read is written as the same bytes, and gives values.
func FuzzInformationUnmarshal(f *testing.F) {
	p := exponentials(7, 30, 0.5)
	for _, o := range []ensemble.InformationOptions{{}, {AsCoded: true}, {PSIS: true}, {PSIS: true, REff: 0.3}} {
		for _, w := range [][]float64{nil, {1, 2, 0x1p32, 0x1p-32, 1, 0, 1}} {
			p.Weights = w
			a := metrics.Must(ensemble.NewInformation(&o))
			if err := metrics.NewPass(nil, a).Add(p); err != nil {
				f.Fatal(err)
			}
			s, _ := a.AppendBinary(nil)
			_, payload, _, err := exact.Open("cINF", s)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(payload)
			f.Add(append([]byte{payload[0], 0, 0, 0, 0}, payload[5:]...)) // rows without draws
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var a ensemble.Information
		s := exact.Seal("cINF", 1, payload)
		if a.UnmarshalBinary(s) != nil {
			return
		}
		if again, err := a.AppendBinary(nil); err != nil || string(again) != string(s) {
			t.Errorf("written in another way: %v", err)
		}
		for c := ensemble.LPPD; c <= ensemble.ISCV; c++ {
			a.Interval(c, 0.95)
		}
		b := a.Empty()
		if err := b.Merge(&a); err != nil || b.Len() != a.Len() {
			t.Errorf("%d rows merged are %d: %v", a.Len(), b.Len(), err)
		}
	})
}

func BenchmarkInformation(b *testing.B) {
	for _, c := range []struct {
		name string
		o    ensemble.InformationOptions
	}{{"criteria", ensemble.InformationOptions{}}, {"psis", ensemble.InformationOptions{PSIS: true}}} {
		b.Run(c.name, func(b *testing.B) {
			p := exponentials(100, 1000, 0.4)
			b.SetBytes(int64(8 * len(p.F64)))
			for b.Loop() {
				a := metrics.Must(ensemble.NewInformation(&c.o))
				if err := metrics.NewPass(&metrics.Options{Threads: 1}, a).Add(p); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*p.Rows), "ns/row")
		})
	}
}

// TestInformationIsArviz compares criteria, effective numbers of parameters and shapes with ArviZ, by relative efficiency.
func TestInformationIsArviz(t *testing.T) {
	var g struct {
		Cases []struct {
			Rows  [][]float64
			WAIC  float64
			PWAIC float64 `json:"p_waic"`
			LOO   []struct {
				REff, ELPD, SE, P float64
				ELPDs, K          []float64
			}
		}
	}
	informationData(t, "oracle/arviz.json", &g)
	compared := 0
	compare := func(what string, got, want, tol float64) {
		t.Helper()
		if compared++; !(math.Abs(got-want) <= tol*max(1, math.Abs(want))) {
			t.Errorf("%s: %.17g, ArviZ has %.17g", what, got, want)
		}
	}
	for _, c := range g.Cases {
		p := logLiks(c.Rows)
		n := float64(p.Rows)
		a := information(t, p, &ensemble.InformationOptions{AsCoded: true}) // variances with 1/M
		compare("waic", a.Total(ensemble.WAIC1), c.WAIC, 1e-13)
		compare("p_waic", a.Total(ensemble.PWAIC), c.PWAIC, 1e-13)
		for _, l := range c.LOO {
			o := ensemble.InformationOptions{PSIS: true, REff: l.REff}
			a := information(t, p, &o)
			compare("elpd_loo", a.Total(ensemble.PSISLOO), l.ELPD, 1e-10)
			compare("p_loo", a.Total(ensemble.PLOO), l.P, 1e-9)
			// ArviZ's standard error is that of the sum, from the variance with 1/n.
			compare("se", a.StdErr(ensemble.PSISLOO)*math.Sqrt(n*(n-1)), l.SE, 1e-10)
			i := a.TotalInterval(ensemble.PSISLOO, 0.95)
			compare("interval", (i.High-i.Low)/2, metrics.Z(0.95)*l.SE*math.Sqrt(n/(n-1)), 1e-10)
			rows, most := valuesOf(t, p, ensemble.PSISLOO, &o), math.Inf(-1)
			for j, v := range rows {
				compare("a row's elpd", v, l.ELPDs[j], 1e-10)
				most = max(most, l.K[j])
			}
			compare("k", a.ParetoKMax(), most, 1e-9)
		}
	}
	if compared != 3*2+12*5+4*(8+4+5) {
		t.Errorf("%d numbers are compared", compared)
	}
}
