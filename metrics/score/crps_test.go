package score_test

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/candor-go/candor/metrics/score"
)

// scored is a row of the oracle's lists; the last element is the score.
type scored []json.RawMessage

func (s scored) number(t *testing.T, i int) (v float64) {
	t.Helper()
	if json.Unmarshal(s[i], &v) != nil {
		var text string
		if err := json.Unmarshal(s[i], &text); err != nil {
			t.Fatal(err)
		}
		v, _ = strconv.ParseFloat(text, 64)
	}
	return v
}

func (s scored) numbers(t *testing.T, i int) (v []float64) {
	t.Helper()
	if err := json.Unmarshal(s[i], &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func near(got, want, tolerance float64) bool {
	return got == want || math.Abs(got-want) <= tolerance*math.Abs(want)
}

// TestClosedForms compares with integrals of (F(x) - 1[x >= y])^2 from an independent implementation; see
// testdata/oracle/make_crps.py.
func TestClosedForms(t *testing.T) {
	text, err := os.ReadFile("../../testdata/oracle/crps.json")
	if err != nil {
		t.Fatal(err)
	}
	var oracle struct{ Normal, Logistic, Laplace, Student, Mixture []scored }
	if err := json.Unmarshal(text, &oracle); err != nil {
		t.Fatal(err)
	}
	worst := map[string]float64{}
	compare := func(name string, got, want float64, args ...any) {
		t.Helper()
		worst[name] = math.Max(worst[name], math.Abs(got/want-1))
		if !near(got, want, 1e-13) {
			t.Errorf("%s of %v: %.17g, want %.17g", name, args, got, want)
		}
	}
	for name, c := range map[string]struct {
		rows []scored
		f    func(y, location, scale float64) float64
	}{
		"NormalCRPS": {oracle.Normal, score.NormalCRPS}, "LogisticCRPS": {oracle.Logistic, score.LogisticCRPS},
		"LaplaceCRPS": {oracle.Laplace, score.LaplaceCRPS},
	} {
		for _, r := range c.rows {
			z, want := r.number(t, 0), r.number(t, 1)
			compare(name, c.f(z, 0, 1), want, z)
			compare(name, c.f(-z, 0, 1), want, -z)
			if z < 1e100 {
				compare(name, c.f(1-4*z, 1, 4), 4*want, 1-4*z, 1, 4)
				compare(name, c.f(z*0x1p-900, 0, 0x1p-900), want*0x1p-900, z, "tiny")
			}
		}
	}
	for _, r := range oracle.Student {
		df, z, want := r.number(t, 0), r.number(t, 1), r.number(t, 2)
		compare("StudentTCRPS", score.StudentTCRPS(z, df, 0, 1), want, df, z)
		compare("StudentTCRPS", score.StudentTCRPS(-z*8, df, 0, 8), 8*want, df, -z, 8)
	}
	for _, r := range oracle.Mixture {
		y, w, m, s := r.number(t, 0), r.numbers(t, 1), r.numbers(t, 2), r.numbers(t, 3)
		compare("NormalMixtureCRPS", score.NormalMixtureCRPS(y, w, m, s), r.number(t, 4), y, w, m, s)
	}
	if len(oracle.Student) < 400 || len(oracle.Mixture) < 30 || len(oracle.Normal) < 20 {
		t.Error("too few cases")
	}
	t.Log("relative errors at most:", worst)
}

// TestFormsLimits checks relations between the forms: many degrees of freedom give the normal form, a mixture of one
// component is that component, a scale of 0 is a point, and invalid distributions give NaN.
func TestFormsLimits(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		y, m, s := 10*r.NormFloat64(), r.NormFloat64(), r.ExpFloat64()
		normal := score.NormalCRPS(y, m, s)
		for df, tolerance := range map[float64]float64{1e13: 1e-12, 1e17: 1e-13, 1e300: 1e-13, math.MaxFloat64: 1e-13, inf: 0} {
			if got := score.StudentTCRPS(y, df, m, s); !near(got, normal, tolerance) {
				t.Fatalf("%v degrees of freedom at %v: %v, normal %v", df, (y-m)/s, got, normal)
			}
		}
		for _, got := range []float64{
			score.NormalMixtureCRPS(y, nil, []float64{m}, []float64{s}),
			score.NormalMixtureCRPS(y, []float64{1, 3, 0}, []float64{m, m, 1e9}, []float64{s, s, 0}),
		} {
			if !near(got, normal, 1e-14*(1+math.Abs(y-m)/normal)) {
				t.Fatalf("one component: %v, normal %v", got, normal)
			}
		}
	}
	for name, f := range map[string]func(y, location, scale float64) float64{
		"normal": score.NormalCRPS, "logistic": score.LogisticCRPS, "laplace": score.LaplaceCRPS,
		"t1":      func(y, l, s float64) float64 { return score.StudentTCRPS(y, 1, l, s) },
		"t0.3":    func(y, l, s float64) float64 { return score.StudentTCRPS(y, 0.3, l, s) },
		"t9":      func(y, l, s float64) float64 { return score.StudentTCRPS(y, 9, l, s) },
		"mixture": func(y, l, s float64) float64 { return score.NormalMixtureCRPS(y, nil, []float64{l}, []float64{s}) },
	} {
		for _, d := range []float64{0, 3, -3, 1e300, 5e-324} {
			if got := f(d, 0, 0); got != math.Abs(d) {
				t.Errorf("%s at a point %v away: %v", name, d, got)
			}
		}
		if got := f(1, 0, 5e-324); name != "t0.3" && got != 1 {
			t.Errorf("%s of the smallest scale: %v", name, got)
		}
		if got := f(math.MaxFloat64, -math.MaxFloat64, 1); got != inf {
			t.Errorf("%s of what is beyond float64: %v", name, got)
		}
		for _, a := range [][3]float64{
			{nan, 0, 1}, {0, nan, 1}, {0, 0, nan}, {0, 0, -1}, {0, 0, inf}, {inf, 0, 1}, {0, -inf, 1}, {nan, 0, 0},
		} {
			if got := f(a[0], a[1], a[2]); got == got {
				t.Errorf("%s of %v: %v", name, a, got)
			}
		}
	}
	for _, df := range []float64{0, -1, nan, -inf} {
		if got := score.StudentTCRPS(0, df, 0, 1); got == got {
			t.Errorf("%v degrees of freedom: %v", df, got)
		}
	}
	if got := score.StudentTCRPS(0, 0.5, 0, 1); got != inf {
		t.Error("half a degree of freedom:", got)
	}
	for _, w := range [][]float64{{1, -1}, {0, 0}, {nan, 1}, {inf, 1}} {
		if got := score.NormalMixtureCRPS(0, w, []float64{0, 1}, []float64{1, 1}); got == got {
			t.Errorf("weights %v: %v", w, got)
		}
	}
	if got := score.NormalMixtureCRPS(0, nil, nil, nil); got == got {
		t.Error("no components:", got)
	}
	for _, f := range []func(){
		func() { score.NormalMixtureCRPS(0, nil, []float64{1}, nil) },
		func() { score.NormalMixtureCRPS(0, []float64{1, 2}, []float64{1}, []float64{1}) },
	} {
		if got := caught(f); got != "score: the components' weights, means and sds differ in number" {
			t.Error(got)
		}
	}
}

// TestMeans checks that the functions of many forecasts equal those of one, row by row, and that their mean is exact.
func TestMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	const n, k = 1000, 3
	column := func(n int, f func() float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f()
		}
		return v
	}
	y, m, s := column(n, r.NormFloat64), column(n, r.NormFloat64), column(n, r.ExpFloat64)
	df := column(n, func() float64 { return 0.6 + r.ExpFloat64() })
	shares, ms, ss := column(n*k, r.Float64), column(n*k, r.NormFloat64), column(n*k, r.ExpFloat64)
	w := column(n, func() float64 { return float64(r.IntN(3)) / 4 })
	for name, c := range map[string]struct {
		all func(dst, weights []float64) float64
		one func(i int) float64
	}{
		"normal": {func(dst, w []float64) float64 { return score.Normals(dst, y, m, s, w) },
			func(i int) float64 { return score.NormalCRPS(y[i], m[i], s[i]) }},
		"logistic": {func(dst, w []float64) float64 { return score.Logistics(dst, y, m, s, w) },
			func(i int) float64 { return score.LogisticCRPS(y[i], m[i], s[i]) }},
		"laplace": {func(dst, w []float64) float64 { return score.Laplaces(dst, y, m, s, w) },
			func(i int) float64 { return score.LaplaceCRPS(y[i], m[i], s[i]) }},
		"t": {func(dst, w []float64) float64 { return score.StudentTs(dst, y, df, m, s, w) },
			func(i int) float64 { return score.StudentTCRPS(y[i], df[i], m[i], s[i]) }},
		"mixture": {func(dst, w []float64) float64 { return score.NormalMixtures(dst, y, k, shares, ms, ss, w) },
			func(i int) float64 {
				return score.NormalMixtureCRPS(y[i], shares[i*k:i*k+k], ms[i*k:i*k+k], ss[i*k:i*k+k])
			}},
		"even mixture": {func(dst, w []float64) float64 { return score.NormalMixtures(dst, y, k, nil, ms, ss, w) },
			func(i int) float64 { return score.NormalMixtureCRPS(y[i], nil, ms[i*k:i*k+k], ss[i*k:i*k+k]) }},
	} {
		for _, w := range [][]float64{nil, w} {
			dst := make([]float64, n)
			got := c.all(dst, w)
			sum, total := new(big.Rat), new(big.Rat)
			for i, v := range dst {
				if v != c.one(i) || v < 0 {
					t.Fatalf("%s: row %d has %v, want %v", name, i, v, c.one(i))
				}
				q := 1.0
				if w != nil {
					q = w[i]
				}
				sum.Add(sum, new(big.Rat).SetFloat64(q*v))
				total.Add(total, new(big.Rat).SetFloat64(q))
			}
			if want, _ := sum.Quo(sum, total).Float64(); got != want || c.all(nil, w) != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		sd, weights []float64
		want        float64
	}{
		{[]float64{0, 0, 0}, nil, 2},
		{[]float64{0, -1, 0}, nil, nan},
		{[]float64{0, -1, 0}, []float64{1, 0, 1}, 2},
		{[]float64{0, 0, 0}, []float64{1, -1, 1}, nan},
		{[]float64{0, 0, 0}, []float64{1, nan, 1}, nan},
		{[]float64{0, 0, 0}, []float64{1, inf, 1}, nan},
		{[]float64{0, 0, 0}, []float64{0, 0, 0}, nan},
	} {
		dst := make([]float64, 3)
		got := score.Normals(dst, []float64{1, 2, 3}, []float64{0, 0, 0}, c.sd, c.weights)
		if got != c.want && (got == got || c.want == c.want) {
			t.Errorf("%v: %v", c, got)
		}
		if dst[0] != 1 || dst[2] != 3 {
			t.Errorf("%v: %v", c, dst)
		}
	}
	if got := score.StudentTs(nil, []float64{1, 2}, []float64{0.5, 3}, []float64{0, 0}, []float64{1, 1}, nil); got != inf {
		t.Error(got)
	}
	if got := score.Normals(nil, nil, nil, nil, nil); got == got {
		t.Error(got)
	}
	// The order has no effect, in any units.
	y = []float64{1e300, 1, -1e-300, -1e300, 3e8, 1e-17}
	zero := make([]float64, 6)
	want := score.Normals(nil, y, zero, zero, nil)
	for range 20 {
		r.Shuffle(6, func(a, b int) { y[a], y[b] = y[b], y[a] })
		if got := score.Normals(nil, y, zero, zero, nil); got != want {
			t.Error(got, want)
		}
	}
}

var sink float64

func BenchmarkForms(b *testing.B) {
	for name, f := range map[string]func(y float64) float64{
		"normal":       func(y float64) float64 { return score.NormalCRPS(y, 0, 1) },
		"student, 3":   func(y float64) float64 { return score.StudentTCRPS(y, 3, 0, 1) },
		"student, 100": func(y float64) float64 { return score.StudentTCRPS(y, 100, 0, 1) },
	} {
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				sink += f(float64(i&255) / 64)
			}
		})
	}
}
