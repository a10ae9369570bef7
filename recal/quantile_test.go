package recal_test

import (
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/recal"
)

type quantileSource struct {
	p        *metrics.Predictions
	at, size int
}

func (s *quantileSource) Close() error { return nil }

func (s *quantileSource) Next() (*metrics.Chunk, error) {
	p := s.p
	if s.at >= p.Rows {
		return nil, io.EOF
	}
	n := min(s.size, p.Rows-s.at)
	c := &metrics.Chunk{Predictions: *p, First: int64(s.at)}
	c.Rows = n
	if p.F64 != nil {
		c.F64 = p.F64[s.at*p.Classes : (s.at+n)*p.Classes]
	}
	if p.F32 != nil {
		c.F32 = p.F32[s.at*p.Classes : (s.at+n)*p.Classes]
	}
	if p.Weights != nil {
		c.Weights = p.Weights[s.at : s.at+n]
	}
	if p.Observed != nil {
		c.Observed = p.Observed[s.at : s.at+n]
	}
	s.at += n
	return c, nil
}

// quantileChunks returns predictions as data in chunks of this many rows.
func quantileChunks(p *metrics.Predictions, size int) recal.Data {
	return recal.OpenFunc(func() (recal.Source, error) { return &quantileSource{p: p, size: size}, nil })
}

// quantileShuffled returns predictions of float64 in another order.
func quantileShuffled(p *metrics.Predictions) *metrics.Predictions {
	q := *p
	q.F64, q.Weights, q.Observed = nil, nil, nil
	for _, i := range rand.New(rand.NewPCG(5, 5)).Perm(p.Rows) {
		q.F64 = append(q.F64, p.F64[i*p.Classes:(i+1)*p.Classes]...)
		if p.Weights != nil {
			q.Weights = append(q.Weights, p.Weights[i])
		}
		if p.Observed != nil {
			q.Observed = append(q.Observed, p.Observed[i])
		}
	}
	return &q
}

func quantileFit(t *testing.T, m recal.Quantile, p *metrics.Predictions) *recal.QuantileMap {
	t.Helper()
	f, err := m.Fit(recal.InMemory(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.(*recal.QuantileMap)
}

// quantileApplied returns what a map makes of predictions, with what was observed.
func quantileApplied(t *testing.T, m recal.Map, p *metrics.Predictions) *metrics.Predictions {
	t.Helper()
	c, err := recal.Applied(m, &quantileSource{p: p, size: p.Rows}).Next()
	if err != nil {
		t.Fatal(err)
	}
	return &c.Predictions
}

// TestQuantileNarrow: quantiles of float32 equal those of float64, and are NaN for an invalid row.
func TestQuantileNarrow(t *testing.T) {
	levels := []float64{0.1, 0.5, 0.9}
	wide := quantileOf(sigmaForecasts(300, 3, 1), levels)
	narrow := *wide
	narrow.F64 = nil
	for i, v := range wide.F64 {
		narrow.F32 = append(narrow.F32, float32(v))
		wide.F64[i] = float64(float32(v))
	}
	for i, kind := range []metrics.Kind{metrics.Quantiles, metrics.Samples} {
		wide.Kind, narrow.Kind = kind, kind
		m := recal.Quantile{Levels: levels}
		f, g := quantileFit(t, m, wide), quantileFit(t, m, &narrow)
		if !slices.Equal(f.Predicted(), g.Predicted()) {
			t.Errorf("%v: %v of float32, %v of float64", kind, g.Predicted(), f.Predicted())
		}
		want, got := quantileApplied(t, f, wide), quantileApplied(t, f, &narrow)
		for j, v := range want.F64 {
			if v != got.F64[j] {
				t.Fatalf("%v: %v became %v", kind, v, got.F64[j])
			}
		}
		small := metrics.Scores{F32: make([]float32, len(want.F64)), Rows: narrow.Rows, Classes: 3}
		f.Apply(&small, &narrow.Scores, kind)
		for j, v := range want.F64 {
			if float32(v) != small.F32[j] {
				t.Fatalf("%v: %v became %v", kind, v, small.F32[j])
			}
		}
		// In place, with strided rows, and with an invalid row.
		odd := metrics.Scores{Rows: 3, Classes: 3, Stride: 4}
		odd.F64 = append(append(append(odd.F64, wide.F64[:3]...), -7, 1, math.NaN(), 2, -7), wide.F64[6:9]...)
		f.Apply(&odd, &odd, kind)
		for j := range 3 {
			if odd.F64[j] != want.F64[j] || odd.F64[4+j] == odd.F64[4+j] || odd.F64[8+j] != want.F64[6+j] || odd.F64[3] != -7 {
				t.Fatalf("%d: in place %v", i, odd.F64)
			}
		}
	}
}

// quantileBelow returns, for each level, the share of rows that were observed at their quantile or below.
func quantileBelow(p *metrics.Predictions) []float64 {
	share := make([]float64, p.Classes)
	for i, y := range p.Observed {
		for j := range share {
			if y <= p.F64[i*p.Classes+j] {
				share[j] += 1 / float64(p.Rows)
			}
		}
	}
	return share
}

// quantileHazen returns the quantile of sorted numbers that Quantile is to have.
func quantileHazen(x []float64, p float64) float64 {
	n := float64(len(x))
	h := p*n - 0.5
	switch {
	case h < 0:
		return kernel.NormQuantile64(kernel.NormCDF64(x[0]) * p * n * 2)
	case h > n-1:
		return -kernel.NormQuantile64(kernel.NormCDF64(-x[len(x)-1]) * (1 - p) * n * 2)
	}
	i := min(int(h), len(x)-2)
	return x[i] + (h-float64(i))*(x[i+1]-x[i])
}

// TestQuantileNormals compares with quantiles of the sorted deviates, of few rows and of many.
func TestQuantileNormals(t *testing.T) {
	for _, c := range []struct {
		n                 int
		factor, tolerance float64
	}{{2, 1, 1e-12}, {3, 5, 1e-12}, {7, 0.1, 1e-12}, {50, 20, 1e-12}, {500, 1, 1e-12}, {60000, 2, 0x1p-15}} {
		p := sigmaForecasts(c.n, c.factor, 1)
		f := quantileFit(t, recal.Quantile{}, p)
		z := make([]float64, c.n)
		for i := range z {
			r := p.F64[3*i:]
			z[i] = (r[2] - r[0]) / r[1]
		}
		slices.Sort(z)
		q := quantileApplied(t, f, metrics.Must(regress.NormalPredictions([]float64{7}, []float64{0}, []float64{1})))
		if q.Kind != metrics.Quantiles || q.Classes != 19 || q.Observed[0] != 7 {
			t.Fatal(q)
		}
		for j, level := range f.Levels() {
			want := quantileHazen(z, level)
			got, d := q.F64[j], kernel.NormCDF64(q.F64[j])-kernel.NormCDF64(want)
			if math.Abs(d) > c.tolerance || c.n < 1000 && !sigmaNear(got, want, 1e-9) || f.Predicted()[j] != kernel.NormCDF64(got) {
				t.Errorf("%d rows, level %v: %v, want %v", c.n, level, got, want)
			}
		}
	}
}

// TestQuantileHeldOut: forecasts that are wrong in every way have right quantiles after it, in rows that it has not seen.
func TestQuantileHeldOut(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 1))
	n := 20000
	if testing.Short() {
		n = 6000
	}
	skewed := func() float64 { return 8*r.ExpFloat64() - 3 } // of a forecast that says N(0, 1)
	normals := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: n, Classes: 3}}
	quantiles := &metrics.Predictions{Kind: metrics.Quantiles, Scores: metrics.Scores{Rows: n, Classes: 9}}
	samples := &metrics.Predictions{Kind: metrics.Samples, Scores: metrics.Scores{Rows: n, Classes: 40}}
	levels := []float64{0.01, 0.05, 0.2, 0.4, 0.5, 0.6, 0.8, 0.95, 0.99}
	for range n {
		mean, sd := 100*r.NormFloat64(), 0.1+r.Float64()
		normals.F64 = append(normals.F64, mean, sd, mean+sd*skewed())
		for _, l := range levels {
			quantiles.F64 = append(quantiles.F64, mean+sd*kernel.NormQuantile64(l))
		}
		quantiles.Observed = append(quantiles.Observed, mean+sd*(0.6*r.NormFloat64()+0.3))
		for range 40 {
			samples.F64 = append(samples.F64, mean+sd*r.NormFloat64())
		}
		samples.Observed = append(samples.Observed, mean+sd*(0.6*r.NormFloat64()-0.3))
	}
	for _, c := range []struct {
		p *metrics.Predictions
		m recal.Quantile
	}{{normals, recal.Quantile{}}, {quantiles, recal.Quantile{Levels: levels}}, {samples, recal.Quantile{}}} {
		rest, fold := recal.Folds{K: 2, Seed: 3}.Split(recal.InMemory(c.p), 0)
		f, err := c.m.Fit(rest, nil)
		if err != nil {
			t.Fatal(err)
		}
		src, err := fold.Open()
		if err != nil {
			t.Fatal(err)
		}
		held := &metrics.Predictions{Kind: metrics.Quantiles}
		for applied := recal.Applied(f, src); ; {
			chunk, err := applied.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			held.Classes, held.Rows = chunk.Classes, held.Rows+chunk.Rows
			held.F64, held.Observed = append(held.F64, chunk.F64...), append(held.Observed, chunk.Observed...)
		}
		l := f.(*recal.QuantileMap).Levels()
		if err := metrics.NewPass(nil, metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{Levels: l}))).Add(held); err != nil {
			t.Fatal(err) // a row falls
		}
		for j, s := range quantileBelow(held) {
			// The fit and the rows held out are as uncertain as each other.
			if sd := math.Sqrt(2 * l[j] * (1 - l[j]) / float64(held.Rows)); math.Abs(s-l[j]) > 4*sd {
				t.Errorf("%v: level %v has %v", c.p.Kind, l[j], s)
			}
		}
	}
}

// TestQuantileLevels: what level of a forecast's quantiles a number is.
func TestQuantileLevels(t *testing.T) {
	levels := []float64{0.1, 0.3, 0.5, 0.9}
	for _, c := range []struct {
		q    [4]float64
		y, u float64
	}{
		{[4]float64{1, 2, 3, 5}, 0, 0.05},
		{[4]float64{1, 2, 3, 5}, 1, 0.1},
		{[4]float64{1, 2, 3, 5}, 1.5, 0.2},
		{[4]float64{1, 2, 3, 5}, 3.5, 0.6},
		{[4]float64{1, 2, 3, 5}, 5, 0.9},
		{[4]float64{1, 2, 3, 5}, 6, 0.95},
		{[4]float64{0, 0, 0, 5}, 0, 0.3},
		{[4]float64{0, 0, 0, 5}, 1, 0.58},
		{[4]float64{-1.7e308, -1e308, 1e308, 1.7e308}, 0, 0.4},
		{[4]float64{1e-300, 2e-300, 3e-300, 5e-300}, 1.5e-300, 0.2},
	} {
		p := &metrics.Predictions{Kind: metrics.Quantiles, Observed: []float64{c.y}}
		p.F64, p.Rows, p.Classes = c.q[:], 1, 4
		// Of one row R(u) is 1/2 at its level, with straight lines to 0 and 1.
		f := quantileFit(t, recal.Quantile{Levels: levels}, p)
		for j, l := range levels {
			want := 2 * l * c.u
			if l > 0.5 {
				want = 1 - 2*(1-l)*(1-c.u)
			}
			if got := f.Predicted()[j]; !sigmaNear(got, want, 1e-14) {
				t.Errorf("%v of %v at %v: %v, want %v", c.y, c.q, l, got, want)
			}
		}
		q := quantileApplied(t, f, p)
		if !slices.IsSorted(q.F64) || q.F64[0] < c.q[0] || q.F64[3] > c.q[3] {
			t.Errorf("%v became %v", c.q, q.F64)
		}
	}
}

// TestQuantileInvariance: neither threads, chunks nor the order of rows change a bit, nor the unit of numbers.
func TestQuantileInvariance(t *testing.T) {
	normals := sigmaForecasts(check.Size(9000, 30000, 30000), 1.7, 1)
	quantiles := quantileOf(normals, []float64{0.1, 0.5, 0.9})
	samples := &metrics.Predictions{Kind: metrics.Samples, Scores: quantiles.Scores, Observed: quantiles.Observed}
	for _, p := range []*metrics.Predictions{normals, quantiles, samples} {
		for _, weighted := range []bool{false, true} {
			if p.Weights = nil; weighted {
				for i := range p.Rows {
					p.Weights = append(p.Weights, float64(i%5)*0.37)
				}
			}
			m := recal.Quantile{Levels: []float64{0.1, 0.5, 0.9}}
			want := sigmaFile(t, m, recal.InMemory(p), 1)
			for _, threads := range []int{2, 5} {
				if sigmaFile(t, m, quantileChunks(p, 1000*threads+1), threads) != want {
					t.Errorf("%v: %d threads make another map", p.Kind, threads)
				}
			}
			if sigmaFile(t, m, recal.InMemory(quantileShuffled(p)), 3) != want {
				t.Errorf("%v: another order makes another map", p.Kind)
			}
			for _, unit := range []float64{0x1p-990, 0x1p990} {
				q := *p
				q.F64, q.Observed = quantileTimes(p.F64, unit), quantileTimes(p.Observed, unit)
				if sigmaFile(t, m, recal.InMemory(&q), 2) != want {
					t.Errorf("%v: units of %g make another map", p.Kind, unit)
				}
			}
		}
	}
}

func quantileTimes(x []float64, unit float64) []float64 {
	if x == nil {
		return nil
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * unit
	}
	return y
}

// quantileOf returns the quantiles of normal forecasts.
func quantileOf(p *metrics.Predictions, levels []float64) *metrics.Predictions {
	q := &metrics.Predictions{Kind: metrics.Quantiles}
	q.Rows, q.Classes = p.Rows, len(levels)
	for i := range p.Rows {
		r := p.F64[3*i:]
		for _, l := range levels {
			q.F64 = append(q.F64, r[0]+float64(r[1]*kernel.NormQuantile64(l)))
		}
		q.Observed = append(q.Observed, r[2])
	}
	return q
}

// TestQuantileFile: the file of a map does to the bit what the map does, and files that are none are refused.
func TestQuantileFile(t *testing.T) {
	p := sigmaForecasts(300, 9, 1)
	quantiles := quantileOf(p, []float64{0.25, 0.5, 0.75})
	samples := &metrics.Predictions{Kind: metrics.Samples, Scores: quantiles.Scores, Observed: quantiles.Observed}
	for _, c := range []struct {
		m recal.Quantile
		p *metrics.Predictions
	}{
		{recal.Quantile{}, p},
		{recal.Quantile{Levels: []float64{0.25, 0.5, 0.75}}, quantiles},
		{recal.Quantile{Levels: []float64{0.1, 1 / 3.}}, samples},
	} {
		f := quantileFit(t, c.m, c.p)
		b, err := recal.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		g, err := recal.Unmarshal(b)
		if err != nil {
			t.Fatal(err)
		}
		same := slices.Equal(quantileApplied(t, f, c.p).F64, quantileApplied(t, g, c.p).F64)
		if g.Method() != c.m.String() || g.Fit() != f.Fit() || !same {
			t.Errorf("%s came back as %s", f.Method(), g.Method())
		}
		m, err := recal.Parse(f.Method())
		if err != nil || m.String() != f.Method() {
			t.Error(m, err)
		}
	}
	for _, s := range []string{"quantile(levels)", "quantile(levels=0.5 0.1)", "quantile(levels=0 1)", "quantile(levels=a)",
		"quantile(bins=3)"} {
		if _, err := recal.Parse(s); err == nil {
			t.Error(s)
		}
	}
}

// TestQuantileOdd: rows and sets that are hardly any.
func TestQuantileOdd(t *testing.T) {
	normal := func(y, mean, sd []float64) *metrics.Predictions {
		return metrics.Must(regress.NormalPredictions(y, mean, sd))
	}
	// Errors of 0, however many: what was observed is the mean.
	f := quantileFit(t, recal.Quantile{}, normal(make([]float64, 100), make([]float64, 100), slices.Repeat([]float64{2}, 100)))
	for _, u := range f.Predicted() {
		if u != 0.5 {
			t.Error(f.Predicted())
		}
	}
	// One row that is calibrated changes nothing.
	f = quantileFit(t, recal.Quantile{}, normal([]float64{5}, []float64{5}, []float64{3}))
	for j, u := range f.Predicted() {
		if !sigmaNear(u, f.Levels()[j], 1e-14) {
			t.Error(u)
		}
	}
	// So far off that the normal distribution, and float64, have no such levels.
	y, mean, sd := []float64{1e300, -1e300, 1e3, -1e3}, make([]float64, 4), []float64{1e-300, 1e-300, 1, 1}
	f = quantileFit(t, recal.Quantile{Levels: []float64{0.01, 0.375, 0.5, 0.625, 0.99}}, normal(y, mean, sd))
	q := quantileApplied(t, f, normal([]float64{0}, []float64{3}, []float64{2}))
	if want := []float64{-math.MaxFloat64, -1997, 3, 2003, math.MaxFloat64}; !slices.Equal(q.F64, want) {
		t.Errorf("%v, want %v", q.F64, want)
	}
	narrow := metrics.Scores{F32: make([]float32, 5), Rows: 1, Classes: 5}
	f.Apply(&narrow, &metrics.Scores{F64: []float64{3, 2}, Rows: 1, Classes: 2}, metrics.Normals)
	if want := []float32{-math.MaxFloat32, -2000, 0, 2000, math.MaxFloat32}; !slices.Equal(narrow.F32, want) {
		t.Errorf("%v, want %v", narrow.F32, want)
	}
	for _, bad := range [][]float64{{0, 0, 1}, {0, -1, 1}, {math.NaN(), 1, 1}, {0, math.Inf(1), 0}} {
		for _, v := range quantileApplied(t, f, normal(bad[2:], bad[:1], bad[1:2])).F64 {
			if v == v {
				t.Error(bad, v)
			}
		}
	}
	// Weights: equal ones change nothing, and rows of 0 are absent whatever they hold.
	p := sigmaForecasts(200, 2, 1)
	want := quantileFit(t, recal.Quantile{}, p).Predicted()
	p.F64 = append(p.F64, 0, -1, math.NaN())
	p.Rows, p.Weights = 201, append(slices.Repeat([]float64{0.25}, 200), 0)
	if g := quantileFit(t, recal.Quantile{}, p); !slices.Equal(g.Predicted(), want) || g.Fit().Rows != 200 {
		t.Errorf("%v, want %v", g.Predicted(), want)
	}
	// One row of a great weight is nearly all.
	p = normal([]float64{1, 2, 3}, make([]float64, 3), []float64{1, 1, 1})
	p.Weights = []float64{0x1p-32, 0x1p32, 0x1p-32}
	f = quantileFit(t, recal.Quantile{Levels: []float64{0.5}}, p)
	if z := quantileApplied(t, f, normal([]float64{0}, []float64{0}, []float64{1})).F64[0]; z != 2 {
		t.Error(z)
	}

	two := func(a, b float64) *metrics.Predictions {
		s := metrics.Scores{F64: []float64{a, b}, Rows: 1, Classes: 2}
		return &metrics.Predictions{Kind: metrics.Quantiles, Observed: []float64{1}, Scores: s}
	}
	crossing, rising := two(2, 1), two(1, 2)
	probs := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.5}, Rows: 1, Classes: 1}, Labels: []int32{1}}
	for want, p := range map[string]*metrics.Predictions{
		"below the one before it": crossing, "a row has 2 quantiles, and there are 19": rising,
		"and these are probs": probs, "no rows": normal(nil, nil, nil),
	} {
		m := recal.Quantile{}
		if p == crossing {
			m.Levels = []float64{0.2, 0.8}
		}
		if _, err := m.Fit(recal.InMemory(p), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, c := range []struct {
		k metrics.Kind
		n int
	}{{metrics.Normals, 4}, {metrics.Quantiles, 5}, {metrics.Probs, 2}} {
		if _, _, err := f.Out(c.k, c.n); err == nil {
			t.Error(c)
		}
	}
	for _, levels := range [][]float64{{}, {0.5, 0.5}, {0, 0.5}} {
		if m, err := (recal.Quantile{Levels: levels}).Fit(recal.InMemory(rising), nil); m != nil || err == nil {
			t.Error(levels)
		}
	}
}
