package regress_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"gonum.org/v1/gonum/stat/distuv"
)

// pitNormals returns n normal forecasts whose standardized errors have mean off and standard deviation stretch; with k = 2,
// rows hold errors.
func pitNormals(r *rand.Rand, n, k int, off, stretch float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.F64, p.Rows, p.Classes = make([]float64, 0, n*k), n, k
	for range n {
		mean, sd := 5*r.NormFloat64(), 0.1+r.ExpFloat64()
		e := sd * (off + stretch*r.NormFloat64())
		if k == 2 {
			p.F64 = append(p.F64, e, sd)
		} else {
			p.F64 = append(p.F64, mean, sd, mean+e)
		}
	}
	return p
}

// pitSamples returns n rows of m draws, with observations from the same distribution or another. With coarse, all are whole
// numbers with many ties.
func pitSamples(r *rand.Rand, n, m int, off, stretch float64, coarse bool) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: make([]float64, n)}
	p.F64, p.Rows, p.Classes = make([]float64, n*m), n, m
	round := func(x float64) float64 { return x }
	if coarse {
		round = math.Round
	}
	for i := range n {
		mean, sd := 3*r.NormFloat64(), 0.5+r.ExpFloat64()
		for j := range m {
			p.F64[i*m+j] = round(mean + sd*r.NormFloat64())
		}
		p.Observed[i] = round(mean + sd*(off+stretch*r.NormFloat64()))
	}
	return p
}

var pitLevels = []float64{0.05, 0.25, 0.5, 0.75, 0.9}

// pitQuantiles returns n rows of a calibrated normal forecast's quantiles at pitLevels.
func pitQuantiles(r *rand.Rand, n int, coarse bool) *metrics.Predictions {
	m := len(pitLevels)
	p := &metrics.Predictions{Kind: metrics.Quantiles, Observed: make([]float64, n)}
	p.F64, p.Rows, p.Classes = make([]float64, n*m), n, m
	for i := range n {
		mean, sd := 3*r.NormFloat64(), 0.5+r.ExpFloat64()
		for j, l := range pitLevels {
			p.F64[i*m+j] = mean + sd*kernel.NormQuantile64(l)
		}
		p.Observed[i] = mean + sd*r.NormFloat64()
		if coarse {
			p.Observed[i] = math.Round(p.Observed[i])
			for j := range m {
				p.F64[i*m+j] = math.Round(p.F64[i*m+j])
			}
		}
	}
	return p
}

func pitPass(t testing.TB, p *metrics.Predictions, o *metrics.Options, a ...metrics.Accumulator) {
	t.Helper()
	if err := metrics.NewPass(o, a...).Add(p); err != nil {
		t.Fatal(err)
	}
}

func pitState(t testing.TB, a metrics.Accumulator) []byte {
	t.Helper()
	b, err := a.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pitCaught returns the value that f panics with.
func pitCaught(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

func pitNear(a, b, tol float64) bool {
	return a == b || math.Abs(a-b) <= tol*math.Max(math.Abs(a), math.Abs(b)) || a != a && b != b
}

// pitParts returns the rows [from, to) of predictions in chunks, with their row numbers in the whole.
type pitParts struct {
	p               *metrics.Predictions
	from, to, chunk int
}

func (s *pitParts) Next() (*metrics.Chunk, error) {
	n := min(s.chunk, s.to-s.from)
	if n <= 0 {
		return nil, io.EOF
	}
	c := &metrics.Chunk{Predictions: *s.p, First: int64(s.from)}
	c.Rows, c.F64 = n, s.p.F64[s.from*s.p.Classes:(s.from+n)*s.p.Classes]
	if c.Observed != nil {
		c.Observed = c.Observed[s.from : s.from+n]
	}
	if c.Weights != nil {
		c.Weights = c.Weights[s.from : s.from+n]
	}
	s.from += n
	return c, nil
}

// pitLaws checks that states do not depend on threads, chunks, or splits and their order, and can be saved and read.
func pitLaws(t *testing.T, p *metrics.Predictions, a metrics.Accumulator) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(p.Rows)))
	for _, weighted := range []bool{false, true} {
		p.Weights = nil
		if weighted {
			p.Weights = make([]float64, p.Rows)
			for i := range p.Weights {
				p.Weights[i] = []float64{0, 0.3, 1, 0x1p32, 0x1p-32}[r.IntN(5)]
			}
		}
		whole := a.Empty()
		pitPass(t, p, &metrics.Options{Threads: 1}, whole)
		want := pitState(t, whole)
		if whole.Len() == 0 || !weighted && whole.Len() != int64(p.Rows) {
			t.Errorf("%d rows of %d", whole.Len(), p.Rows)
		}
		for range 5 {
			cuts := []int{0, r.IntN(p.Rows), r.IntN(p.Rows), r.IntN(p.Rows), p.Rows}
			slices.Sort(cuts)
			merged := a.Empty()
			for _, i := range r.Perm(len(cuts) - 1) {
				part := a.Empty()
				pass := metrics.NewPass(&metrics.Options{Threads: 1 + r.IntN(3)}, part)
				if err := pass.AddSource(&pitParts{p, cuts[i], cuts[i+1], 1 + r.IntN(p.Rows/3)}); err != nil {
					t.Fatal(err)
				}
				read := a.Empty()
				if err := read.UnmarshalBinary(pitState(t, part)); err != nil || read.Len() != part.Len() {
					t.Fatal(err)
				}
				if err := merged.Merge(read); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(pitState(t, merged), want) {
				t.Fatalf("%T, weights %v: the merged state is another", a, weighted)
			}
		}
		for i := range want {
			b := slices.Clone(want)
			b[i] ^= 1
			if a.Empty().UnmarshalBinary(b) == nil {
				t.Fatalf("byte %d can be damaged", i)
			}
		}
	}
	p.Weights = nil
}

func TestPITLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, o := range []*regress.PITOptions{nil, {Bins: 7, Seed: 3}, {Bins: 150}} {
		for _, k := range []int{2, 3} {
			pitLaws(t, pitNormals(r, 3000, k, 0.1, 1.3), metrics.Must(regress.NewPIT(o)))
		}
		pitLaws(t, pitSamples(r, 1000, 9, 0.1, 1.3, true), metrics.Must(regress.NewPIT(o)))
	}
	pitLaws(t, pitQuantiles(r, 1000, true), metrics.Must(regress.NewPIT(&regress.PITOptions{Levels: pitLevels, Seed: 1})))
}

// pitOracle is the content of testdata/oracle/pit_ranks.json.gz.
type pitOracle struct {
	Normals struct {
		Mean, SD, Observed []float64
		Histograms         []struct {
			Counts []int64
			P      *float64
		}
	}
	Samples []struct {
		Samples, Observed, Mean, Variance, Shape []float64
		P                                        *float64
	}
}

func pitReadOracle(t *testing.T) (o pitOracle) {
	t.Helper()
	f, err := os.Open("../../testdata/oracle/pit_ranks.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestPITOracle(t *testing.T) {
	g := pitReadOracle(t).Normals
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.Rows, p.Classes = len(g.Mean), 3
	u := make([]float64, len(g.Mean))
	for i, m := range g.Mean {
		p.F64 = append(p.F64, m, g.SD[i], g.Observed[i])
		u[i] = kernel.NormCDF64((g.Observed[i] - m) / g.SD[i])
	}
	for _, h := range g.Histograms {
		o := &regress.PITOptions{Bins: len(h.Counts)}
		normal, values := metrics.Must(regress.NewPIT(o)), metrics.Must(regress.NewPIT(o))
		pitPass(t, p, nil, normal)
		if err := values.AddValues(u, nil); err != nil {
			t.Fatal(err)
		}
		for _, pit := range []*regress.PIT{normal, values} {
			mean, variance := 0.0, 0.0
			for i, b := range pit.Histogram(0.95) {
				n, rows := float64(len(h.Counts)), float64(p.Rows)
				if b.Count != h.Counts[i] || b.Weight != float64(b.Count) || !pitNear(b.Density, float64(b.Count)*n/rows, 1e-15) {
					t.Errorf("%d bins: bin %d has %+v, want %d rows", len(h.Counts), i, b, h.Counts[i])
				}
				if ci := metrics.Wilson(float64(b.Count)/rows, rows, 0.95); !pitNear(b.Low, ci.Low*n, 1e-14) ||
					!pitNear(b.High, ci.High*n, 1e-14) || b.Lower != float64(i)/n || b.Upper != float64(i+1)/n {
					t.Errorf("%+v, want %v", b, ci)
				}
				mean += float64(b.Count) / rows * (b.Lower + b.Upper) / 2
			}
			for _, b := range pit.Histogram(0.95) {
				w := b.Upper - b.Lower
				variance += b.Density * w * (math.Pow((b.Lower+b.Upper)/2-mean, 2) + w*w/12)
			}
			if !pitNear(pit.Mean(), mean, 1e-13) || !pitNear(pit.Variance(), variance, 1e-13) {
				t.Error(pit.Mean(), mean, pit.Variance(), variance)
			}
			if p := pit.P(); h.P == nil != (p != p) || h.P != nil && !pitNear(p, *h.P, 1e-10) || (p == p) != (pit.Reason() == "") {
				t.Errorf("%d bins: p = %v, %s, want %v", len(h.Counts), p, pit.Reason(), h.P)
			}
		}
	}
}

// TestPITDraws checks that each draw is between the ends that the samples or quantiles around the observed value give.
func TestPITDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range check.Size(40, 100, 300) {
		var p *metrics.Predictions
		o := &regress.PITOptions{Bins: 1000, Seed: r.Uint64()}
		if r.IntN(2) == 0 {
			p = pitSamples(r, 1, 1+r.IntN(12), 0.3, 1.5, r.IntN(2) == 0)
		} else {
			p = pitQuantiles(r, 1, r.IntN(2) == 0)
			o.Levels = pitLevels
		}
		var c, d *metrics.Predictions
		if r.IntN(2) == 0 { // in a narrower type as well; observed values stay float64
			c = &metrics.Predictions{Kind: p.Kind, Observed: p.Observed}
			c.Rows, c.Classes = 1, p.Classes
			d = &metrics.Predictions{Kind: p.Kind, Observed: p.Observed}
			d.Rows, d.Classes = 1, p.Classes
			for _, v := range p.F64 {
				c.F32 = append(c.F32, float32(v))
				d.F64 = append(d.F64, float64(float32(v)))
			}
		}
		pit := metrics.Must(regress.NewPIT(o))
		pitPass(t, p, nil, pit)
		y, lo, hi := p.Observed[0], 0.0, 1.0
		for j, x := range p.F64 {
			level := float64(j+1) / float64(p.Classes+1)
			if p.Kind == metrics.Quantiles {
				level = pitLevels[j]
			} else {
				slices.Sort(p.F64)
				x = p.F64[j]
			}
			if x < y {
				lo = level
			}
			if x > y {
				hi = math.Min(hi, level)
			}
		}
		want := regress.RandomizedPIT(lo, hi, o.Seed, 0)
		if want <= lo || want >= hi {
			t.Fatal(want, lo, hi)
		}
		at := slices.IndexFunc(pit.Histogram(0.95), func(b regress.PITBin) bool { return b.Count == 1 })
		if at != int(math.Ceil(want*1000))-1 {
			t.Fatalf("%v: %v among %v is in bin %d, not at %v", p.Kind, y, p.F64, at, want)
		}
		if c != nil {
			narrow, wide := metrics.Must(regress.NewPIT(o)), metrics.Must(regress.NewPIT(o))
			pitPass(t, c, nil, narrow)
			pitPass(t, d, nil, wide)
			if !bytes.Equal(pitState(t, narrow), pitState(t, wide)) {
				t.Fatal("float32 counts otherwise")
			}
		}
	}
}

// pitFlat reports whether p-values look uniform, by the distance of their distribution function from the diagonal, at a
// level of 1e-4.
func pitFlat(t *testing.T, name string, p []float64) {
	t.Helper()
	slices.Sort(p)
	d, n := 0.0, float64(len(p))
	for i, v := range p {
		if v != v {
			t.Fatalf("%s: p is NaN", name)
		}
		d = math.Max(d, math.Max(v-float64(i)/n, float64(i+1)/n-v))
	}
	if d > 2.23/math.Sqrt(n) {
		t.Errorf("%s: p-values are not uniform: %v, %v", name, d, p)
	}
}

// TestPITCalibrated checks that p-values of calibrated forecasts are uniform, and the shapes for other forecasts.
func TestPITCalibrated(t *testing.T) {
	sets := check.Size(60, 150, 400)
	count := distuv.Binomial{N: 1000, P: 0.05} // rows in one of 20 bins
	for name, draw := range map[string]func(r *rand.Rand) *metrics.Predictions{
		"normals":           func(r *rand.Rand) *metrics.Predictions { return pitNormals(r, 1000, 3, 0, 1) },
		"samples":           func(r *rand.Rand) *metrics.Predictions { return pitSamples(r, 1000, 7, 0, 1, false) },
		"samples with ties": func(r *rand.Rand) *metrics.Predictions { return pitSamples(r, 1000, 7, 0, 1, true) },
		"quantiles":         func(r *rand.Rand) *metrics.Predictions { return pitQuantiles(r, 1000, false) },
	} {
		r := rand.New(rand.NewPCG(6, 6)) // separate for each, since the order of maps is random
		p, mean, variance, outside, chance := make([]float64, sets), 0.0, 0.0, 0.0, 0.0
		for i := range p {
			pit := metrics.Must(regress.NewPIT(&regress.PITOptions{Seed: uint64(i), Levels: pitLevels}))
			pitPass(t, draw(r), nil, pit)
			p[i] = pit.P()
			mean += pit.Mean() / float64(sets)
			variance += pit.Variance() / float64(sets)
			bins := pit.Histogram(0.9)
			for _, b := range bins {
				if b.Density < b.BandLow || b.Density > b.BandHigh {
					outside += 1 / float64(sets*20)
				}
			}
			// Counts are whole numbers, so the band of 90% does not contain exactly 90%.
			chance = count.CDF(math.Ceil(50*bins[0].BandLow)-1) + 1 - count.CDF(math.Floor(50*bins[0].BandHigh))
		}
		if sd := math.Sqrt(chance * (1 - chance) / float64(sets*20)); math.Abs(outside-chance) > 4*sd || math.Abs(chance-0.1) > 0.02 {
			t.Errorf("%s: %v of the bins are outside the band of 90%%, by chance %v", name, outside, chance)
		}
		pitFlat(t, name, p)
		if math.Abs(mean-0.5) > 0.003 || math.Abs(variance-1.0/12) > 0.001 {
			t.Errorf("%s: mean %v, variance %v", name, mean, variance)
		}
	}
	r := rand.New(rand.NewPCG(6, 7))
	for _, c := range []struct {
		name         string
		off, stretch float64
		low, mid, up bool // whether the density there is above 1
	}{
		{"too narrow", 0, 2, true, false, true},
		{"too wide", 0, 0.5, false, true, false},
		{"too low", 1, 1, false, false, true},
		{"too high", -1, 1, true, false, false},
	} {
		normals, samples := pitNormals(r, 2000, 2, c.off, c.stretch), pitSamples(r, 2000, 20, c.off, c.stretch, false)
		for _, p := range []*metrics.Predictions{normals, samples} {
			pit := metrics.Must(regress.NewPIT(nil))
			pitPass(t, p, nil, pit)
			h := pit.Histogram(0.95)
			mid := (h[9].Density + h[10].Density) / 2
			if h[0].Density > 1 != c.low || mid > 1 != c.mid || h[19].Density > 1 != c.up || pit.P() > 1e-6 {
				t.Errorf("%s: %v, %v, %v, p = %v", c.name, h[0], mid, h[19], pit.P())
			}
			if v := pit.Variance(); c.off == 0 && v > 1.0/12 != (c.stretch > 1) {
				t.Errorf("%s: variance %v", c.name, v)
			}
			if m := pit.Mean(); c.off != 0 && m > 0.5 != (c.off > 0) {
				t.Errorf("%s: mean %v", c.name, m)
			}
		}
	}
}

// TestPITValuesWeights checks that weights of 0 and 1 give the same as only the rows with weight 1, for both kinds of input.
func TestPITValuesWeights(t *testing.T) {
	p := pitNormals(rand.New(rand.NewPCG(7, 7)), 500, 2, 0.2, 1.1)
	var all, some []float64
	for i := range p.Rows {
		u := kernel.NormCDF64(p.F64[2*i] / p.F64[2*i+1])
		p.Weights, all = append(p.Weights, float64(i%2)), append(all, u)
		if i%2 == 1 {
			some = append(some, u)
		}
	}
	rows, values, kept := metrics.Must(regress.NewPIT(nil)), metrics.Must(regress.NewPIT(nil)), metrics.Must(regress.NewPIT(nil))
	pitPass(t, p, nil, rows)
	if err := errors.Join(values.AddValues(all, p.Weights), kept.AddValues(some, nil)); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*regress.PIT{rows, values} {
		if a.P() != kept.P() || a.Len() != 250 {
			t.Error(a.P(), kept.P(), a.Len())
		}
	}
}

func TestPITExtremes(t *testing.T) {
	const big, small = 1e300, 1e-300
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.F64, p.Rows, p.Classes = []float64{big, small, -big, small, small, big, small, small, 0, 1}, 5, 2
	pit := metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 4}))
	pitPass(t, p, nil, pit)
	for i, want := range []int64{1, 2, 0, 2} { // 1e-600 is 0, at the end of the second bin
		if h := pit.Histogram(0.95)[i]; h.Count != want {
			t.Errorf("bin %d has %d rows, want %d", i, h.Count, want)
		}
	}
	zero := math.Copysign(0, -1)
	s := &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{big, -big, small, zero, 0, 5e-324, -math.MaxFloat64}}
	s.F64, s.Rows, s.Classes = slices.Repeat([]float64{-big, big, zero, 0, 5e-324, math.MaxFloat64}, 7), 7, 6
	s.F64 = s.F64[:42]
	ranks := metrics.Must(regress.NewRanks(nil))
	pitPass(t, s, nil, ranks)
	counts := make([]int64, 7)
	low := [][2]int{{4, 5}, {0, 1}, {4, 4}, {1, 3}, {1, 3}, {3, 4}, {0, 0}}
	got := make([]int64, 0, 7)
	for _, b := range ranks.Histogram(0.95) {
		got = append(got, b.Count)
	}
	for row := range low { // each row alone, since its draw depends on its number
		one := metrics.Must(regress.NewRanks(nil))
		if err := metrics.NewPass(nil, one).AddSource(&pitParts{s, row, row + 1, 1}); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(one.Histogram(0.95), func(b regress.RankBin) bool { return b.Count == 1 })
		if at < low[row][0] || at > low[row][1] {
			t.Errorf("row %d has rank %d, want %v", row, at, low[row])
		}
		counts[at]++
	}
	if !slices.Equal(got, counts) {
		t.Error(got, counts)
	}
}

func TestPITFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, c := range []struct {
		want string
		f    func()
	}{
		{"regress: a PIT of quantiles takes as many levels as a row has quantiles", func() {
			pitPass(t, pitQuantiles(r, 3, false), nil, metrics.Must(regress.NewPIT(nil)))
		}},
		{"regress: a PIT takes normal forecasts, samples or quantiles", func() {
			p := &metrics.Predictions{Labels: []int32{0}}
			p.F64, p.Rows, p.Classes = []float64{0.5, 0.5}, 1, 2
			pitPass(t, p, nil, metrics.Must(regress.NewPIT(nil)))
		}},
		{"regress: weights and values differ in number", func() { _ = metrics.Must(regress.NewPIT(nil)).AddValues([]float64{1}, []float64{}) }},
		{"regress: ranks are those of samples", func() { pitPass(t, pitNormals(r, 3, 2, 0, 1), nil, metrics.Must(regress.NewRanks(nil))) }},
	} {
		if got := pitCaught(c.f); got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	for _, o := range []regress.PITOptions{{Bins: -1}, {Bins: 1001}, {Levels: []float64{0.5, 0.5}}, {Levels: []float64{0.5, 1}}} {
		if p, err := regress.NewPIT(&o); p != nil || err == nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, bins := range []int{-1, 1001} {
		if r, err := regress.NewRanks(&regress.RankOptions{Bins: bins}); r != nil || err == nil {
			t.Errorf("%d bins: %v", bins, err)
		}
	}
	pit := metrics.Must(regress.NewPIT(nil))
	for _, c := range []struct {
		u, w []float64
		want string
	}{
		{[]float64{0.5, 1.5}, nil, "value 1 is 1.5"},
		{[]float64{-0.1}, nil, "value 0 is -0.1"},
		{[]float64{math.NaN()}, nil, "value 0 is NaN"},
		{[]float64{0.5}, []float64{-1}, "weight 0 is -1"},
		{[]float64{0.5}, []float64{math.NaN()}, "weight 0 is NaN"},
		{[]float64{0.5}, []float64{0x1p33}, "weight 0 is"},
	} {
		if err := pit.AddValues(c.u, c.w); err == nil || !strings.Contains(err.Error(), c.want) || pit.Len() != 0 {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if h := pit.Histogram(0.95); len(h) != 20 || h[0].Density == h[0].Density || pit.P() == pit.P() || pit.Mean() == pit.Mean() ||
		pit.Reason() != "there are no rows" || pit.Variance() == pit.Variance() {
		t.Error("an empty histogram has answers")
	}
	if err := pit.AddValues([]float64{0, 1, 0.05, 0.951}, nil); err != nil {
		t.Fatal(err)
	}
	if h := pit.Histogram(0.95); h[0].Count != 2 || h[19].Count != 2 {
		t.Errorf("the ends are in %+v and %+v", h[0], h[19])
	}
	weighted, normal := metrics.Must(regress.NewPIT(nil)), metrics.Must(regress.NewPIT(nil))
	if err := weighted.AddValues([]float64{0.5}, []float64{3}); err != nil {
		t.Fatal(err)
	}
	pitPass(t, pitNormals(r, 3, 2, 0, 1), nil, normal)
	one := []float64{1}
	if normal.AddValues(one, nil) == nil || weighted.AddValues(one, nil) == nil || pit.AddValues(one, one) == nil {
		t.Error("values are added to what they do not fit")
	}
	before := pitState(t, pit)
	for _, o := range []metrics.Accumulator{weighted, normal, metrics.Must(regress.NewRanks(nil)), metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 3})),
		metrics.Must(regress.NewPIT(&regress.PITOptions{Seed: 1})), metrics.Must(regress.NewPIT(&regress.PITOptions{Levels: pitLevels})), metrics.Must(regress.NewPIT(&regress.PITOptions{Law: regress.LaplaceLaw}))} {
		if err := pit.Merge(o); !errors.Is(err, metrics.ErrMismatch) || !bytes.Equal(before, pitState(t, pit)) {
			t.Errorf("merged with %T: %v", o, err)
		}
	}
	if err := pit.Merge(pit.Empty()); err != nil || !bytes.Equal(before, pitState(t, pit)) {
		t.Error(err)
	}
	if empty := pit.Empty(); empty.Merge(pit) != nil || !bytes.Equal(before, pitState(t, empty)) {
		t.Error("an empty state takes no rows")
	}
}

// pitFuzz checks that a state that is read is written as the same bytes, and gives values.
func pitFuzz(f *testing.F, magic string, fresh func() metrics.Accumulator, ask func(metrics.Accumulator),
	seeds ...metrics.Accumulator) {
	var version uint16
	for _, s := range seeds {
		v, payload, _, err := exact.Open(magic, pitState(f, s))
		if err != nil {
			f.Fatal(err)
		}
		version = v
		f.Add(payload)
		for i := range payload {
			b := slices.Clone(payload)
			b[i]++
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		s := fresh()
		_ = s.UnmarshalBinary(payload)
		sealed := exact.Seal(magic, version, payload)
		if err := s.UnmarshalBinary(sealed); err != nil {
			if !errors.Is(err, exact.ErrDamaged) && !errors.Is(err, exact.ErrShort) || s.Len() != 0 {
				t.Error(err)
			}
			return
		}
		if !bytes.Equal(pitState(t, s), sealed) {
			t.Error("written in another way")
		}
		ask(s)
		n := s.Empty()
		if err := n.Merge(s); err != nil || n.Len() != s.Len() {
			t.Errorf("%d rows merged are %d: %v", s.Len(), n.Len(), err)
		}
	})
}

func pitSeeds(f *testing.F, a metrics.Accumulator, p *metrics.Predictions) (s []metrics.Accumulator) {
	for _, w := range []float64{0, 3} {
		if w > 0 {
			p.Weights = slices.Repeat([]float64{w}, p.Rows)
		}
		e := a.Empty()
		s = append(s, a.Empty(), e)
		pitPass(f, p, nil, e)
	}
	return s
}

func FuzzPITUnmarshal(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 9))
	s := pitSeeds(f, metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 3})), pitNormals(r, 20, 2, 0, 1))
	s = append(s, pitSeeds(f, metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 2, Levels: pitLevels})), pitQuantiles(r, 5, true))...)
	values := metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 1}))
	if err := values.AddValues([]float64{0.3}, nil); err != nil {
		f.Fatal(err)
	}
	pitFuzz(f, "cPIT", func() metrics.Accumulator { return &regress.PIT{} }, func(a metrics.Accumulator) {
		p := a.(*regress.PIT)
		p.P()
		p.Mean()
		p.Variance()
		p.Histogram(0.95)
	}, append(s, values)...)
}

// pitReal returns the table of numbers of a real set, in the order of rows. It skips the test if there is none.
func pitReal(t *testing.T, name, file string) []float64 {
	t.Helper()
	dir := realSets(t)
	b, err := os.ReadFile(filepath.Join(dir, name, file))
	if err != nil {
		t.Fatal(err)
	}
	head := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	if !bytes.Contains(b[:head], []byte("'<f8'")) {
		t.Fatalf("%s: %q", file, b[:head])
	}
	v := make([]float64, (len(b)-head)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[head+8*i:]))
	}
	return v
}
