package regress_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// calibrationOf returns an accumulator that has seen the predictions.
func calibrationOf(t testing.TB, p *metrics.Predictions, o *regress.CalibrationOptions) *regress.Calibration {
	t.Helper()
	c := metrics.Must(regress.NewCalibration(o))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	return c
}

func calibrationState(t testing.TB, c *regress.Calibration) []byte {
	t.Helper()
	b, err := c.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// calibrationNormals returns normal forecasts. Means are off by bias standard deviations, and the stated standard deviations
// are the true ones times stated.
func calibrationNormals(r *rand.Rand, n int, bias, stated float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.Rows, p.Classes = n, 3
	for range n {
		mean, sd := 5*r.NormFloat64(), 0.5+r.ExpFloat64()
		p.F64 = append(p.F64, mean+bias*sd, sd*stated, mean+sd*r.NormFloat64())
	}
	return p
}

// calibrationNumbers returns rows of m samples or of m sorted quantiles, with observed values from the same distribution.
// Every ties-th row has whole numbers, with ties.
func calibrationNumbers(r *rand.Rand, kind metrics.Kind, n, m, ties int) *metrics.Predictions {
	p := &metrics.Predictions{Kind: kind}
	p.Rows, p.Classes = n, m
	for i := range n {
		x := make([]float64, m+1)
		for j := range x {
			if x[j] = 2 * r.NormFloat64(); ties > 0 && i%ties == 0 {
				x[j] = math.Round(x[j])
			}
		}
		p.Observed = append(p.Observed, x[m])
		if x = x[:m]; kind == metrics.Quantiles {
			slices.Sort(x)
		}
		p.F64 = append(p.F64, x...)
	}
	return p
}

func calibrationWeights(r *rand.Rand, n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = r.ExpFloat64()*0.999 + 1e-3
	}
	return w
}

// TestCalibrationGolden compares with counts and areas of LaplaceRedux and uncertainty-toolbox; see
// testdata/golden/README.md.
func TestCalibrationGolden(t *testing.T) {
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
			Frequency    []struct {
				Bins     int `json:"n_bins"`
				Counts   []float64
				Plain    float64 `json:"miscalibration_area_trapz"`
				Squares  float64 `json:"calibration_error_sum_sq_unweighted"`
				Crossing float64 `json:"ut_area_quantile"`
				Central  float64 `json:"ut_area_interval"`
			} `json:"empirical_frequency"`
		}
	}
	if err := json.NewDecoder(z).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	compared := 0
	compare := func(what string, got, want float64) {
		t.Helper()
		compared++
		if !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
			t.Errorf("%s is %.17g, want %.17g", what, got, want)
		}
	}
	for _, g := range golden.Regression {
		p := &metrics.Predictions{Kind: metrics.Normals}
		p.Rows, p.Classes = len(g.Y), 2
		for i, y := range g.Y {
			p.F64 = append(p.F64, y-g.Mean[i], g.Std[i])
		}
		for _, w := range g.Frequency {
			c := calibrationOf(t, p, &regress.CalibrationOptions{Bins: w.Bins})
			k := c.Curve()
			if len(k.Levels) != w.Bins+1 || len(w.Counts) != w.Bins+1 || k.N != float64(len(g.Y)) {
				t.Fatalf("%d levels of %v rows, want %d", len(k.Levels), k.N, w.Bins+1)
			}
			for j, f := range w.Counts {
				compare("a frequency", k.Frequencies[j], f)
				compare("a level", k.Levels[j], float64(j)/float64(w.Bins))
			}
			compare("the plain area", k.Area(regress.AreaPlain), w.Plain)
			compare("the area", k.Area(regress.AreaCrossing), w.Crossing)
			compare("the sum of squares", k.SquaredError(nil), w.Squares)
			compare("the mean square", k.MeanSquaredError(), w.Squares/float64(w.Bins-1))
			compare("the area of intervals", c.Central().Area(regress.AreaCrossing), w.Central)

			one, err := regress.EmpiricalFrequency(g.Y, g.Mean, g.Std, w.Bins)
			if err != nil || !slices.Equal(one.Frequencies, k.Frequencies) || !slices.Equal(one.Levels, k.Levels) || one.N != k.N {
				t.Errorf("in one call: %v, %v", one, err)
			}
		}
	}
	if compared < 800 {
		t.Error("no more than", compared, "numbers")
	}
}

// TestCalibrationNormals compares with quantiles, row by row. It also checks that a file of means, standard deviations and
// observations gives the same as a file of errors, in either precision.
func TestCalibrationNormals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, bins := range []int{1, 2, 3, 10, 20, 127, 128, 130, 300} {
		p := calibrationNormals(r, 500, 0.3, 0.7)
		for i := range 20 { // the observed value equals the mean
			p.F64[3*i] = p.F64[3*i+2]
		}
		c := calibrationOf(t, p, &regress.CalibrationOptions{Bins: bins})
		upTo, within := c.Curve(), c.Central()
		for j := range bins + 1 {
			a, b := 0, 0
			z := math.Sqrt2 * math.Erfinv(2*float64(j)/float64(bins)-1)
			half := math.Sqrt2 * math.Erfinv(float64(j)/float64(bins))
			for i := range p.Rows {
				v := (p.F64[3*i+2] - p.F64[3*i]) / p.F64[3*i+1]
				if v <= z {
					a++
				}
				if v >= -half && v <= half {
					b++
				}
			}
			if upTo.Frequencies[j] != float64(a)/500 || within.Frequencies[j] != float64(b)/500 {
				t.Errorf("%d bins: frequencies at %d are %v and %v, want those of %d and %d rows", bins, j, upTo.Frequencies[j],
					within.Frequencies[j], a, b)
			}
		}
		n, e := &metrics.Predictions{Kind: metrics.Normals}, &metrics.Predictions{Kind: metrics.Normals}
		n.Rows, n.Classes, e.Rows, e.Classes = 500, 2, 500, 2
		for i := range 500 {
			n.F32 = append(n.F32, float32(p.F64[3*i+2]-p.F64[3*i]), float32(p.F64[3*i+1]))
			e.F64 = append(e.F64, float64(n.F32[2*i]), float64(n.F32[2*i+1]))
		}
		o := &regress.CalibrationOptions{Bins: bins}
		if !bytes.Equal(calibrationState(t, calibrationOf(t, n, o)), calibrationState(t, calibrationOf(t, e, o))) {
			t.Error("float32 differs")
		}
	}
}

// TestCalibrationMirror checks that rows mirrored about the mean give the mirrored curve and the same intervals.
func TestCalibrationMirror(t *testing.T) {
	p := calibrationNormals(rand.New(rand.NewPCG(2, 5)), 2000, 0.5, 0.8)
	a := calibrationOf(t, p, nil)
	for i := range p.Rows {
		p.F64[3*i], p.F64[3*i+2] = -p.F64[3*i], -p.F64[3*i+2]
	}
	b := calibrationOf(t, p, nil)
	x, y := a.Curve().Frequencies, b.Curve().Frequencies
	for j := range x {
		if !(math.Abs(x[j]-(1-y[20-j])) < 1e-15) {
			t.Errorf("at %d %v, turned %v", j, x[j], y[20-j])
		}
	}
	if !slices.Equal(a.Central().Frequencies, b.Central().Frequencies) {
		t.Error("intervals differ")
	}
	if u, v := a.Curve().Area(regress.AreaCrossing), b.Curve().Area(regress.AreaCrossing); !(math.Abs(u-v) < 1e-14) || u < 0.1 {
		t.Errorf("areas %v and %v", u, v)
	}
}

// TestCalibrationQuantiles compares with the counts of each level, including ties.
func TestCalibrationQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, q := range []int{1, 2, 3, 4, 7, 23, 24, 101} {
		levels := regress.Levels(q + 1)[1 : q+1]
		p := calibrationNumbers(r, metrics.Quantiles, 300, q, 2)
		c := calibrationOf(t, p, &regress.CalibrationOptions{Levels: levels})
		k, m := c.Curve(), c.Central()
		if !slices.Equal(k.Levels, levels) || len(m.Levels) != (q+1)/2 || k.N != 300 || m.N != 300 {
			t.Fatalf("%d quantiles: levels %v and %v", q, k.Levels, m.Levels)
		}
		for l := range q {
			n := 0
			for i, y := range p.Observed {
				if y <= p.F64[i*q+l] {
					n++
				}
			}
			if k.Frequencies[l] != float64(n)/300 {
				t.Errorf("%d quantiles: the frequency at %v is %v, want that of %d rows", q, levels[l], k.Frequencies[l], n)
			}
		}
		for j := range m.Levels {
			low := (q-1)/2 - j
			n := 0
			for i, y := range p.Observed {
				if y >= p.F64[i*q+low] && y <= p.F64[i*q+q-1-low] {
					n++
				}
			}
			if !(math.Abs(m.Frequencies[j]-float64(n)/300) < 1e-15) || m.Levels[j] != levels[q-1-low]-levels[low] {
				t.Errorf("%d quantiles: %v of rows within %v, want %d", q, m.Frequencies[j], m.Levels[j], n)
			}
		}
		f := &metrics.Predictions{Kind: metrics.Quantiles, Observed: p.Observed}
		f.Rows, f.Classes, f.Stride = p.Rows, q, q+3
		w := *f
		for i := range p.Rows {
			for _, v := range append(slices.Clone(p.F64[i*q:(i+1)*q]), -1, 0, 1) {
				f.F32, w.F64 = append(f.F32, float32(v)), append(w.F64, float64(float32(v)))
			}
		}
		o := &regress.CalibrationOptions{Levels: levels}
		if !bytes.Equal(calibrationState(t, calibrationOf(t, f, o)), calibrationState(t, calibrationOf(t, &w, o))) {
			t.Error("float32 differs")
		}
	}
	// Only levels with a counterpart have an interval.
	p := calibrationNumbers(r, metrics.Quantiles, 30, 4, 0)
	c := calibrationOf(t, p, &regress.CalibrationOptions{Levels: []float64{0.1, 0.3, 0.6, 0.9}})
	if m := c.Central(); len(m.Levels) != 1 || m.Levels[0] != 0.9-0.1 {
		t.Error("intervals of", m.Levels)
	}
	for _, levels := range [][]float64{{0.1, 0.2, 0.3, 0.4}, {0.15, 0.2, 0.7, 0.9}, {0.6, 0.7, 0.8, 0.9}} {
		c = calibrationOf(t, p, &regress.CalibrationOptions{Levels: levels})
		if m := c.Central(); len(m.Levels) != 0 || !math.IsNaN(m.Area(regress.AreaCrossing)) {
			t.Error("intervals of", m.Levels)
		}
	}
}

// TestCalibrationSamples compares with the definition. It also checks that samples from the distribution of the observed
// values have frequencies equal to the levels, for any number of samples.
func TestCalibrationSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	for _, m := range []int{1, 2, 3, 19, 20, 50} {
		p := calibrationNumbers(r, metrics.Samples, 400, m, 3)
		for _, bins := range []int{1, 7, 20, 51} {
			c := calibrationOf(t, p, &regress.CalibrationOptions{Bins: bins})
			upTo, within := c.Curve().Frequencies, c.Central().Frequencies
			share := func(level float64, ties bool) float64 {
				sum := 0.0
				for i, y := range p.Observed {
					k := 0.0
					for _, x := range p.F64[i*m : (i+1)*m] {
						if x < y || ties && x == y {
							k++
						}
					}
					sum += min(1, max(0, level*float64(m+1)-k))
				}
				return sum / 400
			}
			for j := range bins + 1 {
				l := float64(j) / float64(bins)
				if got, want := upTo[j], share(l, false); !(math.Abs(got-want) < 1e-12) {
					t.Errorf("%d samples: frequency %v at %v, want %v", m, got, l, want)
				}
				if got, want := within[j], share((1+l)/2, false)-share((1-l)/2, true); !(math.Abs(got-want) < 1e-12) {
					t.Errorf("%d samples: %v within %v, want %v", m, got, l, want)
				}
			}
		}
		f := &metrics.Predictions{Kind: metrics.Samples, Observed: p.Observed}
		f.Rows, f.Classes = p.Rows, m
		w := *f
		for _, v := range p.F64 {
			f.F32, w.F64 = append(f.F32, float32(v)), append(w.F64, float64(float32(v)))
		}
		if !bytes.Equal(calibrationState(t, calibrationOf(t, f, nil)), calibrationState(t, calibrationOf(t, &w, nil))) {
			t.Error("float32 differs")
		}
	}
	for _, m := range []int{1, 2, 6, 33} {
		const n = 20000
		c := calibrationOf(t, calibrationNumbers(r, metrics.Samples, n, m, 0), nil)
		for _, k := range []regress.Curve{c.Curve(), c.Central()} {
			for j, l := range k.Levels {
				if d := k.Frequencies[j] - l; !(math.Abs(d) <= 5*math.Sqrt(l*(1-l)/n)+1e-12) {
					t.Errorf("%d samples: frequency %v at %v", m, k.Frequencies[j], l)
				}
			}
		}
	}
}

// calibrationKinds returns predictions of each kind, with their options.
func calibrationKinds(r *rand.Rand, n int) map[string]struct {
	p *metrics.Predictions
	o *regress.CalibrationOptions
} {
	normals := calibrationNormals(r, n, 0.2, 0.9)
	for i := range n { // in very different units
		u := [...]float64{1, 1e-300, 1e300}[i%3]
		for j := range 3 {
			normals.F64[3*i+j] *= u
		}
	}
	quantiles, samples := calibrationNumbers(r, metrics.Quantiles, n, 5, 4), calibrationNumbers(r, metrics.Samples, n, 9, 4)
	for i := range n {
		if u := [...]float64{1, 1e-300, 1e300}[i%3]; u != 1 {
			quantiles.Observed[i] *= u
			samples.Observed[i] *= u
			for j := range 5 {
				quantiles.F64[5*i+j] *= u
			}
			for j := range 9 {
				samples.F64[9*i+j] *= u
			}
		}
	}
	return map[string]struct {
		p *metrics.Predictions
		o *regress.CalibrationOptions
	}{
		"normals":   {normals, &regress.CalibrationOptions{Bins: 30}},
		"quantiles": {quantiles, &regress.CalibrationOptions{Levels: []float64{0.05, 0.25, 0.5, 0.75, 0.95}}},
		"samples":   {samples, nil},
	}
}

// calibrationPick returns some rows of predictions.
func calibrationPick(p *metrics.Predictions, rows []int) *metrics.Predictions {
	s := &metrics.Predictions{Kind: p.Kind}
	s.Rows, s.Classes = len(rows), p.Classes
	for _, i := range rows {
		s.F64 = append(s.F64, p.F64[i*p.Classes:(i+1)*p.Classes]...)
		if p.Observed != nil {
			s.Observed = append(s.Observed, p.Observed[i])
		}
		if p.Weights != nil {
			s.Weights = append(s.Weights, p.Weights[i])
		}
	}
	return s
}

// TestCalibrationMerge checks that a state depends only on the rows, not on their order, threads or shards, with or without
// weights.
func TestCalibrationMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 5))
	const n = 6000
	for name, k := range calibrationKinds(r, n) {
		for _, weights := range [][]float64{nil, calibrationWeights(r, n)} {
			k.p.Weights = weights
			want := calibrationState(t, calibrationOf(t, k.p, k.o))
			for range 3 {
				order := r.Perm(n)
				whole := metrics.Must(regress.NewCalibration(k.o))
				for len(order) > 0 {
					m := min(len(order), 1+r.IntN(3000))
					part := metrics.Must(regress.NewCalibration(k.o))
					pass := metrics.NewPass(&metrics.Options{Threads: 1 + r.IntN(3)}, part)
					if err := pass.Add(calibrationPick(k.p, order[:m])); err != nil {
						t.Fatal(err)
					}
					read := metrics.Must(regress.NewCalibration(nil))
					if err := read.UnmarshalBinary(calibrationState(t, part)); err != nil {
						t.Fatal(err)
					}
					if err := whole.Merge(read); err != nil {
						t.Fatal(err)
					}
					order = order[m:]
				}
				if err := whole.Merge(whole.Empty()); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(calibrationState(t, whole), want) || whole.Len() != n {
					t.Errorf("%s, weights %v: parts differ from the whole", name, weights != nil)
				}
			}
		}
	}
}

func TestCalibrationMismatch(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 5))
	levels := []float64{0.25, 0.5, 0.75}
	o := &regress.CalibrationOptions{Levels: levels}
	base := calibrationOf(t, calibrationNormals(r, 10, 0, 1), o)
	before := calibrationState(t, base)
	errors2 := &metrics.Predictions{Kind: metrics.Normals}
	errors2.F64, errors2.Rows, errors2.Classes = []float64{1, 2}, 1, 2
	weighted := calibrationNormals(r, 2, 0, 1)
	weighted.Weights = []float64{1, 1}
	for want, a := range map[string]metrics.Accumulator{
		"20 bins and of 10": metrics.Must(regress.NewCalibration(&regress.CalibrationOptions{Bins: 10, Levels: levels})),
		"[0.25 0.5 0.75]":   metrics.Must(regress.NewCalibration(nil)),
		"normal and of quantiles": calibrationOf(t, calibrationNumbers(r, metrics.Quantiles, 5, 3, 0),
			o),
		"normal and of samples": calibrationOf(t, calibrationNumbers(r, metrics.Samples, 5, 3, 0), o),
		"3 numbers a row":       calibrationOf(t, errors2, o),
		"weights":               calibrationOf(t, weighted, o),
	} {
		err := base.Merge(a)
		if !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one about %q", err, want)
		}
	}
	if !bytes.Equal(calibrationState(t, base), before) {
		t.Error("a merge that failed changed the state")
	}
}

// TestCalibrationDamage checks that damaged states are rejected.
func TestCalibrationDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 5))
	for name, k := range calibrationKinds(r, 50) {
		for _, weights := range [][]float64{nil, calibrationWeights(r, 50)} {
			k.p.Weights = weights
			good := calibrationState(t, calibrationOf(t, k.p, k.o))
			var c regress.Calibration
			if err := c.UnmarshalBinary(good); err != nil || !bytes.Equal(calibrationState(t, &c), good) {
				t.Fatal(name, err)
			}
			for i := range good {
				bad := slices.Clone(good)
				bad[i] ^= 1 << r.IntN(8)
				if c.UnmarshalBinary(bad) == nil {
					t.Errorf("%s: a change at %d went unseen", name, i)
				}
				if c.UnmarshalBinary(good[:i]) == nil {
					t.Errorf("%s: %d bytes of %d were enough", name, i, len(good))
				}
			}
			// The same with a correct checksum: what is accepted must be a valid state.
			_, payload, _, err := exact.Open("rCAL", good)
			if err != nil {
				t.Fatal(err)
			}
			accepted := 0
			for i := range payload {
				for bit := range 8 {
					if (i+bit)%check.Size(8, 4, 1) != 0 {
						continue
					}
					bad := slices.Clone(payload)
					bad[i] ^= 1 << bit
					sealed := exact.Seal("rCAL", 2, bad)
					if err := c.UnmarshalBinary(sealed); err == nil {
						accepted++
						c.Curve()
						c.Central()
						if !bytes.Equal(calibrationState(t, &c), sealed) {
							t.Errorf("%s: a state with bit %d of byte %d changed is written otherwise", name, bit, i)
						}
					} else if !errors.Is(err, exact.ErrDamaged) && !errors.Is(err, exact.ErrShort) {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
			if accepted > len(payload)*4 {
				t.Errorf("%s: %d changes of %d bits were accepted", name, accepted, 8*len(payload))
			}
			// One group more than the rows fill.
			if weights == nil {
				bad := slices.Clone(payload)
				last := bad[len(bad)-8:]
				binary.LittleEndian.PutUint64(last, binary.LittleEndian.Uint64(last)+1)
				if err := c.UnmarshalBinary(exact.Seal("rCAL", 2, bad)); !errors.Is(err, exact.ErrDamaged) {
					t.Errorf("%s: a row too many: %v", name, err)
				}
			}
			if c.UnmarshalBinary(exact.Seal("rCAL", 3, payload)) == nil {
				t.Error("a newer version was accepted")
			}
		}
	}
}

// TestCalibrationRefuses checks that states that no rows can produce are rejected, each with one wrong field.
func TestCalibrationRefuses(t *testing.T) {
	type fields struct {
		flags, kind uint8
		bins        uint32
		levels      []float64
		width       uint64
		rows        int64
		w, w2       float64
		family      uint8
		df          float64
		upTo        []int64
		within      []int64
	}
	seal := func(change func(*fields)) []byte {
		f := fields{kind: uint8(metrics.Quantiles), bins: 20, levels: []float64{0.25, 0.75}, width: 2, rows: 3, upTo: []int64{1, 0, 2},
			within: []int64{0, 1, 2}}
		change(&f)
		var e exact.Enc
		e.U8(f.flags)
		e.U32(f.bins)
		e.U64(uint64(len(f.levels)))
		for _, p := range f.levels {
			e.F64(p)
		}
		e.U8(f.family)
		e.F64(f.df)
		e.U8(f.kind)
		e.U64(f.width)
		e.I64(f.rows)
		for _, v := range []float64{f.w, f.w2} {
			var s exact.Sum
			s.AddFloat(v)
			e.Sum(&s)
		}
		for _, groups := range [][]int64{f.upTo, f.within} {
			e.U64(uint64(len(groups)))
			for _, n := range groups {
				if f.flags == 0 {
					e.I64(n)
					continue
				}
				var s exact.Sum
				s.AddFloat(float64(n))
				e.Sum(&s)
			}
		}
		return exact.Seal("rCAL", 2, e.B)
	}
	normals := func(f *fields) {
		f.kind, f.bins, f.width, f.upTo, f.within = uint8(metrics.Normals), 2, 3, []int64{1, 2}, []int64{1, 2, 0}
	}
	empty := func(f *fields) { *f = fields{bins: 20} }
	weighted := func(f *fields) { f.flags, f.w, f.w2 = 1, 3, 5 }
	var c regress.Calibration
	for name, change := range map[string]func(*fields){"quantiles": func(*fields) {}, "normals": normals, "empty": empty, "weighted": weighted,
		"samples": func(f *fields) { f.kind = uint8(metrics.Samples) }} {
		if err := c.UnmarshalBinary(seal(change)); err != nil {
			t.Error(name, err)
		}
	}
	before := calibrationState(t, &c)
	for name, change := range map[string]func(*fields){
		"flag":                      func(f *fields) { f.flags = 2 },
		"no bins":                   func(f *fields) { f.bins = 0 },
		"too many bins":             func(f *fields) { f.bins = 10001 },
		"levels fall":               func(f *fields) { f.levels = []float64{0.75, 0.25} },
		"level beyond 1":            func(f *fields) { f.levels[1] = 1 },
		"level NaN":                 func(f *fields) { f.levels[1] = math.NaN() },
		"levels and width":          func(f *fields) { f.levels = f.levels[:1] },
		"width":                     func(f *fields) { f.width = 1 << 40 },
		"kind":                      func(f *fields) { f.kind = uint8(metrics.Probs) },
		"no such kind":              func(f *fields) { f.kind = 99 },
		"no rows":                   func(f *fields) { f.rows, f.upTo, f.within = 0, []int64{0, 0, 0}, []int64{0, 0, 0} },
		"a row too many":            func(f *fields) { f.upTo[0]++ },
		"a row too few":             func(f *fields) { f.within[2]-- },
		"fewer than none":           func(f *fields) { f.upTo = []int64{-1, 2, 2} },
		"more below than not above": func(f *fields) { f.upTo, f.within = []int64{0, 1, 2}, []int64{1, 0, 2} },
		"the same of weights":       func(f *fields) { weighted(f); f.upTo, f.within = []int64{0, 1, 2}, []int64{1, 0, 2} },
		"a wrap":                    func(f *fields) { f.upTo = []int64{math.MaxInt64, math.MaxInt64, 5} },
		"a group too few":           func(f *fields) { f.upTo = []int64{1, 2} },
		"a group too many":          func(f *fields) { f.within = []int64{1, 2, 0, 0} },
		"no groups":                 func(f *fields) { f.within = nil },
		"weights without":           func(f *fields) { f.w, f.w2 = 3, 3 },
		"weights without sum":       func(f *fields) { weighted(f); f.w = 4 },
		"squares without sum":       func(f *fields) { weighted(f); f.w2 = 0 },
		"squares below 0":           func(f *fields) { weighted(f); f.w2 = -1 },
		"normals of 4":              func(f *fields) { normals(f); f.width = 4 },
		"normals, other bins":       func(f *fields) { normals(f); f.bins = 3 },
		"no such law":               func(f *fields) { f.family = 4 },
		"a law without parameter":   func(f *fields) { f.family = 3 },
		"df of 2":                   func(f *fields) { f.family, f.df = 3, 2 },
		"df of a law that has none": func(f *fields) { f.family, f.df = 1, 5 },
		"empty with a kind":         func(f *fields) { empty(f); f.kind = 5 },
		"empty with rows":           func(f *fields) { empty(f); f.rows = 1 },
		"empty with groups":         func(f *fields) { empty(f); f.upTo = []int64{0} },
		"empty with weights":        func(f *fields) { empty(f); f.flags = 1 },
		"empty with their total":    func(f *fields) { empty(f); f.w = 1 },
	} {
		if err := c.UnmarshalBinary(seal(change)); !errors.Is(err, exact.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !bytes.Equal(calibrationState(t, &c), before) {
		t.Error("what was refused changed the receiver")
	}
}

// FuzzCalibrationUnmarshal checks that a state that is read is written as the same bytes, merges, and gives values.
func FuzzCalibrationUnmarshal(f *testing.F) {
	r := rand.New(rand.NewPCG(10, 5))
	for _, k := range calibrationKinds(r, 20) {
		for _, w := range [][]float64{nil, calibrationWeights(r, 20)} {
			k.p.Weights = w
			_, payload, _, err := exact.Open("rCAL", calibrationState(f, calibrationOf(f, k.p, k.o)))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(payload)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		state := exact.Seal("rCAL", 2, payload)
		var c regress.Calibration
		if c.UnmarshalBinary(state) != nil {
			return
		}
		if !bytes.Equal(calibrationState(t, &c), state) {
			t.Error("written otherwise")
		}
		for _, k := range []regress.Curve{c.Curve(), c.Central()} {
			k.Area(regress.AreaCrossing)
			k.Floor(regress.AreaCrossing)
			k.MeanSquaredError()
			for j, v := range k.Frequencies {
				k.Interval(j, metrics.DefaultLevel)
				if v < 0 || v > 1 {
					t.Errorf("a frequency of %v", v)
				}
			}
		}
		if err := c.Empty().Merge(&c); err != nil {
			t.Error(err)
		}
	})
}

func TestCalibrationEmpty(t *testing.T) {
	levels := []float64{0.5}
	c := metrics.Must(regress.NewCalibration(&regress.CalibrationOptions{Bins: 4, Levels: levels}))
	levels[0] = 7 // the caller's slice, not the accumulator's
	k := c.Curve()
	if c.Len() != 0 || len(k.Levels) != 5 || k.N != 0 {
		t.Error(k)
	}
	for _, k := range []regress.Curve{k, c.Central(), {}} {
		for _, v := range append(slices.Clone(k.Frequencies), k.Area(regress.AreaCrossing), k.Area(regress.AreaPlain),
			k.Floor(regress.AreaCrossing), k.Floor(regress.AreaPlain), k.SquaredError(nil), k.MeanSquaredError()) {
			if v == v {
				t.Errorf("no rows have %v", v)
			}
		}
	}
	if i := k.Interval(2, 0.95); i.Low == i.Low {
		t.Error(i)
	}
	var read regress.Calibration
	if err := read.UnmarshalBinary(calibrationState(t, c)); err != nil || !bytes.Equal(calibrationState(t, &read), calibrationState(t, c)) {
		t.Error(err)
	}
	if e, err := regress.EmpiricalFrequency(nil, nil, nil, 10); err != nil || len(e.Levels) != 11 || e.Frequencies[3] == e.Frequencies[3] {
		t.Error(e, err)
	}
}

func TestCalibrationPanics(t *testing.T) {
	quantiles := calibrationNumbers(rand.New(rand.NewPCG(1, 1)), metrics.Quantiles, 3, 3, 0)
	probs := &metrics.Predictions{Labels: []int32{0}}
	probs.F64, probs.Rows, probs.Classes = []float64{0.5, 0.5}, 1, 2
	for name, f := range map[string]func(){
		"no levels":       func() { calibrationOf(t, quantiles, nil) },
		"a level too few": func() { calibrationOf(t, quantiles, &regress.CalibrationOptions{Levels: []float64{0.2, 0.5}}) },
		"a level too many": func() {
			calibrationOf(t, quantiles, &regress.CalibrationOptions{Levels: []float64{0.2, 0.5, 0.6, 0.7}})
		},
		"probabilities": func() { calibrationOf(t, probs, nil) },
	} {
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "regress: ") {
					t.Errorf("%s: %q", name, s)
				}
			}()
			f()
		}()
	}
	for _, o := range []regress.CalibrationOptions{{Bins: -1}, {Bins: 10001}, {Levels: []float64{0.5, 0.4}}, {Levels: []float64{0.5, 0.5}},
		{Levels: []float64{0, 0.5}}, {Levels: []float64{0.5, 1}}, {Levels: []float64{math.NaN()}}} {
		if c, err := regress.NewCalibration(&o); c != nil || err == nil || !strings.HasPrefix(err.Error(), "regress: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, bins := range []int{0, -1, 10_001} {
		if _, err := regress.EmpiricalFrequency(nil, nil, nil, bins); err == nil {
			t.Errorf("%d bins: no error", bins)
		}
	}
	if _, err := regress.EmpiricalFrequency([]float64{1}, nil, nil, 3); !errors.As(err, new(*metrics.LengthError)) {
		t.Error("no means:", err)
	}
	if _, err := regress.EmpiricalFrequency([]float64{1, 2}, []float64{1, 2}, []float64{1, 0}, 10); !errors.As(err, new(*metrics.DataError)) {
		t.Error("a standard deviation of 0:", err)
	}
}
