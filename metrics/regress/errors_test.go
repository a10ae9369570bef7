package regress_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

var errorStats = []regress.ErrorStat{regress.RMSE, regress.MAE, regress.Bias, regress.AEMedian}

// errorLevels are the levels of the quantiles of errorsForecasts.
var errorLevels = []float64{0.1, 0.3, 0.5, 0.9}

// errorsForecasts returns n forecasts of a kind with k columns, with numbers in units of 2^exponent.
func errorsForecasts(r *rand.Rand, kind metrics.Kind, n, k, exponent int) *metrics.Predictions {
	p := &metrics.Predictions{Kind: kind}
	p.F64, p.Rows, p.Classes = make([]float64, n*k), n, k
	for i := range n {
		row := p.F64[i*k : (i+1)*k]
		mean, sd := 3*r.NormFloat64(), 0.5+r.ExpFloat64()
		y := mean + sd*r.NormFloat64()
		for j := range row {
			row[j] = mean + sd*r.NormFloat64()
		}
		switch {
		case kind == metrics.Normals && k == 2:
			row[0], row[1] = y-mean, sd
		case kind == metrics.Normals:
			row[0], row[1], row[2] = mean, sd, y
		case kind == metrics.Quantiles:
			slices.Sort(row)
		}
		for j := range row {
			row[j] = math.Ldexp(row[j], exponent)
		}
		if kind != metrics.Normals {
			p.Observed = append(p.Observed, math.Ldexp(y, exponent))
		}
	}
	return p
}

func errorsOf(t *testing.T, p *metrics.Predictions, o *metrics.Options) *regress.Errors {
	t.Helper()
	var opt regress.ErrorOptions
	if p.Kind == metrics.Quantiles {
		opt.Levels = errorLevels
	}
	e := metrics.Must(regress.NewErrors(&opt))
	if err := metrics.NewPass(o, e).Add(p); err != nil {
		t.Fatal(err)
	}
	return e
}

func errorsStateOf(t *testing.T, a metrics.Accumulator) []byte {
	t.Helper()
	b, err := a.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// errorsNear reports whether got equals want to within off. NaN is near only to NaN.
func errorsNear(got, want, off float64) bool {
	return got == want || math.Abs(got-want) <= off*math.Abs(want) || got != got && want != want
}

// errorsPanic returns the value that f panics with.
func errorsPanic(f func()) (text any) {
	defer func() { text = recover() }()
	f()
	return nil
}

// rowErrors returns observed - mean and |observed - median| of each row by the definitions, or NaN if there is none.
func rowErrors(p *metrics.Predictions) (mean, median []float64) {
	for i := range p.Rows {
		row := slices.Clone(p.F64[i*p.Classes : (i+1)*p.Classes])
		e, a := math.NaN(), math.NaN()
		switch p.Kind {
		case metrics.Normals:
			if e = row[0]; p.Classes == 3 {
				e = row[2] - row[0]
			}
			a = math.Abs(e)
		case metrics.Samples:
			s := 0.0
			for _, v := range row {
				s += v
			}
			e = p.Observed[i] - s/float64(len(row))
			slices.Sort(row)
			h := float64(len(row)-1) / 2
			lo, hi := row[int(math.Floor(h))], row[int(math.Ceil(h))]
			a = math.Abs(p.Observed[i] - (lo + (h-math.Floor(h))*(hi-lo)))
		case metrics.Quantiles:
			a = math.Abs(p.Observed[i] - row[slices.Index(errorLevels, 0.5)])
		}
		mean, median = append(mean, e), append(median, a)
	}
	return mean, median
}

// TestErrors compares values and intervals with sums over the rows.
func TestErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		kind metrics.Kind
		k    int
	}{{metrics.Normals, 2}, {metrics.Normals, 3}, {metrics.Samples, 1}, {metrics.Samples, 2}, {metrics.Samples, 7}, {metrics.Samples, 50},
		{metrics.Quantiles, 4}} {
		p := errorsForecasts(r, c.kind, 3000, c.k, 0)
		e := errorsOf(t, p, nil)
		mean, median := rowErrors(p)
		n := float64(p.Rows)
		moments := func(f func(i int) float64) (m, se float64) {
			s, ss := 0.0, 0.0
			for i := range p.Rows {
				s += f(i)
			}
			m = s / n
			for i := range p.Rows {
				ss += (f(i) - m) * (f(i) - m)
			}
			return m, math.Sqrt(ss / (n - 1) / n)
		}
		const z = 1.959963984540
		for s, f := range map[regress.ErrorStat]func(i int) float64{
			regress.RMSE:     func(i int) float64 { return mean[i] * mean[i] },
			regress.MAE:      func(i int) float64 { return math.Abs(mean[i]) },
			regress.Bias:     func(i int) float64 { return -mean[i] },
			regress.AEMedian: func(i int) float64 { return median[i] },
		} {
			m, se := moments(f)
			if s == regress.RMSE && c.kind == metrics.Normals {
				// At least the variance that the forecasts state.
				f := 0.0
				for i := range p.Rows {
					f += 2 * math.Pow(p.F64[i*c.k+1], 4)
				}
				se = max(se, math.Sqrt(f)/n)
			}
			lo, hi := m-z*se, m+z*se
			if s == regress.RMSE {
				m, lo, hi = math.Sqrt(m), math.Sqrt(lo), math.Sqrt(hi)
			}
			i := e.Interval(s, 0.95)
			if v := e.Value(s); !errorsNear(v, m, 1e-11) || !errorsNear(i.Low, lo, 1e-9) || !errorsNear(i.High, hi, 1e-9) {
				t.Errorf("%v of %d: %v is %v %v, want %v %v %v", c.kind, c.k, s, v, i, m, lo, hi)
			}
			if (e.Reason(s) == "") != (m == m) {
				t.Errorf("%v: %v has the reason %q", c.kind, s, e.Reason(s))
			}
		}
	}
}

// TestErrorsState checks that a state depends only on the rows, not on their order, the order of their samples, threads,
// shards, or their number type.
func TestErrorsState(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct {
		kind metrics.Kind
		k    int
	}{{metrics.Normals, 3}, {metrics.Samples, 9}, {metrics.Quantiles, 4}} {
		for _, weighted := range []bool{false, true} {
			n, k := 6000, c.k
			p := errorsForecasts(r, c.kind, n, k, 0)
			narrow := *p
			narrow.F64, narrow.F32 = nil, make([]float32, n*k)
			for i, v := range p.F64 {
				narrow.F32[i] = float32(v)
				p.F64[i] = float64(narrow.F32[i])
			}
			if weighted {
				for i := range n {
					p.Weights = append(p.Weights, float64(i%4)*0.3)
				}
				narrow.Weights = p.Weights
			}
			want := errorsStateOf(t, errorsOf(t, p, nil))
			other := &narrow
			if c.kind == metrics.Normals { // float32 has its own arithmetic for these
				other = p
			}
			if !bytes.Equal(want, errorsStateOf(t, errorsOf(t, other, &metrics.Options{Threads: 5}))) {
				t.Errorf("%v: float32 or five threads make another state", c.kind)
			}
			back := *p
			back.F64, back.Observed, back.Weights = nil, nil, nil
			for i := n - 1; i >= 0; i-- {
				row := slices.Clone(p.F64[i*k : (i+1)*k])
				if c.kind == metrics.Samples {
					r.Shuffle(k, func(a, b int) { row[a], row[b] = row[b], row[a] })
				}
				back.F64 = append(back.F64, row...)
				if p.Observed != nil {
					back.Observed = append(back.Observed, p.Observed[i])
				}
				if weighted {
					back.Weights = append(back.Weights, p.Weights[i])
				}
			}
			total := errorsOf(t, &metrics.Predictions{Kind: c.kind, Scores: metrics.Scores{Classes: k}}, nil)
			for _, cut := range [][2]int{{5000, n}, {0, 1}, {1, 1}, {1, 5000}} {
				s := back
				s.Rows, s.F64 = cut[1]-cut[0], back.F64[cut[0]*k:cut[1]*k]
				if s.Observed != nil {
					s.Observed = s.Observed[cut[0]:cut[1]]
				}
				if weighted {
					s.Weights = s.Weights[cut[0]:cut[1]]
				}
				part := metrics.Must(regress.NewErrors(nil))
				if err := part.UnmarshalBinary(errorsStateOf(t, errorsOf(t, &s, nil))); err != nil {
					t.Fatal(err)
				}
				if err := total.Merge(part); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(want, errorsStateOf(t, total)) {
				t.Errorf("%v: merged shards are another state", c.kind)
			}
		}
	}
}

// TestErrorsUnits checks that values have the unit of the numbers, at any size.
func TestErrorsUnits(t *testing.T) {
	for kind, k := range map[metrics.Kind]int{metrics.Normals: 3, metrics.Samples: 4, metrics.Quantiles: 4} {
		in := func(exponent int) *regress.Errors {
			return errorsOf(t, errorsForecasts(rand.New(rand.NewPCG(4, 4)), kind, 300, k, exponent), nil)
		}
		one := in(0)
		for _, e := range []int{-950, -600, -240, -30, 30, 241, 600, 1000} {
			u := in(e)
			for _, s := range errorStats {
				i, j := u.Interval(s, 0.95), one.Interval(s, 0.95)
				back := func(v float64) float64 { return math.Ldexp(v, -e) }
				if !errorsNear(back(u.Value(s)), one.Value(s), 1e-13) || !errorsNear(back(i.Low), j.Low, 1e-13) ||
					!errorsNear(back(i.High), j.High, 1e-13) {
					t.Errorf("%v: %v in units of 2^%d: %v %v", kind, s, e, u.Value(s), i)
				}
			}
		}
	}
	// Both in one set.
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.F64, p.Rows, p.Classes = []float64{1e300, 1, -1e300, 1, 1e-300, 1, 1e-300, 1}, 4, 2
	e := errorsOf(t, p, nil)
	if v := e.Value(regress.RMSE); !errorsNear(v, 1e300/math.Sqrt2, 1e-15) {
		t.Error("rmse:", v)
	}
	if v := e.Value(regress.MAE); v != 5e299 {
		t.Error("mae:", v)
	}
	if v := e.Value(regress.Bias); v != -5e-301 {
		t.Error("bias:", v)
	}
	se := math.Sqrt(4.0/3) / 2 * 0.5e300 // for 1, 1, 0 and 0 in units of 1e300
	if i := e.Interval(regress.MAE, 0.95); !errorsNear(i.High, 5e299+1.959963984540*se, 1e-14) {
		t.Error("mae:", i)
	}
	if i := e.Interval(regress.RMSE, 0.95); i.Low != 0 || !errorsNear(i.High, 1e300*math.Sqrt(0.5+1.959963984540*se/1e300), 1e-14) {
		t.Error("rmse:", i)
	}
}

// TestErrorsBeyond checks that means of samples are accurate even if their sum overflows float64, and that an error that
// overflows is +Inf.
func TestErrorsBeyond(t *testing.T) {
	const most = 0x1p1023
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{0, most / 2, 0}}
	p.F64, p.Rows, p.Classes = []float64{most, most, -most, -most, most, -most, most, most, 1, 1, 1, 1}, 3, 4
	e := errorsOf(t, p, nil)
	if v := e.Value(regress.MAE); !errorsNear(v, 1.0/3, 1e-14) { // the errors are 0, 0 and -1
		t.Error(v)
	}
	if v := e.Value(regress.AEMedian); !errorsNear(v, most/2/3, 1e-14) {
		t.Error(v)
	}
	p.Observed[1] = -most
	p.F64 = slices.Concat(p.F64[:4], []float64{most, most, most, most}, p.F64[8:])
	e = errorsOf(t, p, nil)
	for _, s := range errorStats {
		v, i, reason := e.Value(s), e.Interval(s, 0.9), e.Reason(s)
		if i.Low == i.Low || (s == regress.Bias) != (v != v) || s != regress.Bias && !math.IsInf(v, 1) || (reason != "") != (v != v) {
			t.Errorf("%v: %v %v %q", s, v, i, reason)
		}
	}
}

func TestErrorsFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	normals, samples := errorsForecasts(r, metrics.Normals, 5, 3, 0), errorsForecasts(r, metrics.Samples, 5, 3, 0)
	quantiles := errorsForecasts(r, metrics.Quantiles, 5, 4, 0)
	probs := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.5}, Rows: 1, Classes: 1}, Labels: []int32{1}}
	feed := func(p *metrics.Predictions, levels ...float64) func() {
		return func() {
			e := metrics.Must(regress.NewErrors(&regress.ErrorOptions{Levels: levels}))
			if err := metrics.NewPass(&metrics.Options{Threads: 1}, e).Add(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		want string
		f    func()
	}{
		{"regress: levels and quantiles differ in number", feed(quantiles)},
		{"regress: errors are of predictions of the kinds normals, samples and quantiles", feed(probs)},
		{"regress: no such statistic of errors", func() { metrics.Must(regress.NewErrors(nil)).Value(4) }},
		{"regress: no such statistic of errors", func() { metrics.Must(regress.NewErrors(nil)).Interval(9, 0.95) }},
	} {
		if got := errorsPanic(c.f); got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	for _, l := range [][]float64{{0.1, 0.1}, {0.1, math.NaN()}, {-0.1}} {
		if e, err := regress.NewErrors(&regress.ErrorOptions{Levels: l}); e != nil || err == nil {
			t.Errorf("levels %v: %v", l, err)
		}
	}
	e := metrics.Must(regress.NewErrors(&regress.ErrorOptions{Levels: []float64{0.1, 0.3, 0.4, 0.9}}))
	if err := metrics.NewPass(nil, e).Add(quantiles); err != nil {
		t.Fatal(err)
	}
	for s, want := range map[regress.ErrorStat]string{regress.AEMedian: "0.5 is not among the levels of the quantiles",
		regress.MAE: "quantiles do not tell the mean of the forecast"} {
		if v := e.Value(s); e.Reason(s) != want || v == v {
			t.Error(s, v, e.Reason(s))
		}
	}
	empty := metrics.Must(regress.NewErrors(nil))
	for _, s := range errorStats {
		if v := empty.Value(s); v == v || empty.Reason(s) != "there are no rows" {
			t.Error(s, v, empty.Reason(s))
		}
	}
	if s := regress.ErrorStat(7).String(); s != "ErrorStat(7)" {
		t.Error(s)
	}

	n := errorsOf(t, normals, nil)
	normals.Weights = []float64{1, 1, 1, 1, 1}
	before := errorsStateOf(t, n)
	for _, o := range []metrics.Accumulator{e, errorsOf(t, normals, nil), errorsOf(t, samples, nil), errorsOf(t, quantiles, nil),
		metrics.Must(regress.NewNormal(nil))} {
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

// FuzzErrorsUnmarshal checks that a state that is read is written as the same bytes, and gives values.
func FuzzErrorsUnmarshal(f *testing.F) {
	r := rand.New(rand.NewPCG(6, 6))
	for kind, k := range map[metrics.Kind]int{metrics.Normals: 3, metrics.Samples: 4, metrics.Quantiles: 4} {
		for _, w := range [][]float64{nil, {1, 2, 0x1p32, 0x1p-32, 1, 0, 1}} {
			p := errorsForecasts(r, kind, 7, k, 0)
			p.Weights = w
			var o regress.ErrorOptions
			if kind == metrics.Quantiles {
				o.Levels = errorLevels
			}
			e := metrics.Must(regress.NewErrors(&o))
			if err := metrics.NewPass(nil, e).Add(p); err != nil {
				f.Fatal(err)
			}
			b, err := e.AppendBinary(nil)
			if err != nil {
				f.Fatal(err)
			}
			_, payload, _, err := exact.Open("cERR", b)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(payload)
			f.Add(append([]byte{payload[0], 0}, payload[2:]...)) // rows without a kind
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		sealed := exact.Seal("cERR", 1, payload)
		var e regress.Errors
		if e.UnmarshalBinary(sealed) != nil {
			return
		}
		if again, err := e.AppendBinary(nil); err != nil || !bytes.Equal(again, sealed) {
			t.Errorf("written in another way: %v", err)
		}
		for _, s := range errorStats {
			e.Interval(s, 0.95)
		}
		n := e.Empty()
		if err := n.Merge(&e); err != nil || n.Len() != e.Len() {
			t.Errorf("%d rows merged are %d: %v", e.Len(), n.Len(), err)
		}
	})
}
