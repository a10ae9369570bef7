package score_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// ensemble returns n rows of m draws from normal distributions. Observations are from the same distributions or, if off > 0,
// from others.
func ensemble(r *rand.Rand, n, m int, off float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: make([]float64, n)}
	p.F64, p.Rows, p.Classes = make([]float64, n*m), n, m
	for i := range n {
		mean, sd := 3*r.NormFloat64(), 0.5+r.ExpFloat64()
		for j := range m {
			p.F64[i*m+j] = mean + sd*r.NormFloat64()
		}
		p.Observed[i] = mean + off + sd*r.NormFloat64()
	}
	return p
}

// crpsOf returns an accumulator that has seen the predictions, with the rolled form.
func crpsOf(t *testing.T, p *metrics.Predictions, o *metrics.Options) *score.SampleCRPS {
	t.Helper()
	s := metrics.Must(score.NewSampleCRPS(&score.CRPSOptions{Rolled: true}))
	if err := metrics.NewPass(o, s).Add(p); err != nil {
		t.Fatal(err)
	}
	return s
}

func state(t *testing.T, a metrics.Accumulator) []byte {
	t.Helper()
	b, err := a.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var crpsForms = []score.CRPSForm{score.CRPSV, score.CRPSFair, score.CRPSRolled}

// TestCRPSGolden compares with the results of other systems; see testdata/golden/README.md.
func TestCRPSGolden(t *testing.T) {
	f, err := os.Open("../../testdata/golden/crps.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Normal struct {
			Labels, Means, Stddevs, CRPS []float64
		} `json:"crps_normal"`
		Samples []struct {
			Tag     string
			Labels  []float64
			Samples [][]float64
			Rolled  []float64 `json:"um_roll"`
			Sorted  []float64 `json:"sorted_input_um_roll"`
			V       []float64 `json:"rm_sorted_v_statistic"`
			Naive   []float64 `json:"naive_v_statistic"`
			Fair    []float64 `json:"fair_u_statistic"`
		} `json:"crps_samples"`
	}
	if err := json.NewDecoder(z).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	compared := 0
	compare := func(name string, got, want []float64) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %d rows, want %d", name, len(got), len(want))
		}
		for i := range got {
			compared++
			if !near(got[i], want[i], 1e-12) {
				t.Errorf("%s: row %d has %.17g, want %.17g", name, i, got[i], want[i])
			}
		}
	}
	g := golden.Normal
	dst := make([]float64, len(g.Labels))
	score.Normals(dst, g.Labels, g.Means, g.Stddevs, nil)
	compare("normal", dst, g.CRPS)
	for _, c := range golden.Samples {
		p := &metrics.Predictions{Kind: metrics.Samples, Observed: c.Labels}
		p.F64, p.Rows, p.Classes = slices.Concat(c.Samples...), len(c.Labels), len(c.Samples[0])
		dst := make([]float64, p.Rows)
		run := func(form score.CRPSForm, want []float64) {
			t.Helper()
			mean, err := score.CRPSRows(dst, p, form, nil)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, v := range want {
				sum += v / float64(len(want))
			}
			compare(c.Tag, dst, want)
			compare(c.Tag+", mean", []float64{mean}, []float64{sum})
		}
		run(score.CRPSRolled, c.Rolled)
		for _, sorted := range []bool{false, true} {
			if sorted {
				for _, row := range c.Samples {
					slices.Sort(row)
				}
				p.F64 = slices.Concat(c.Samples...)
				run(score.CRPSRolled, c.Sorted)
			}
			run(score.CRPSV, c.V)
			run(score.CRPSV, c.Naive)
			if p.Classes > 1 {
				run(score.CRPSFair, c.Fair)
			} else if mean, err := score.CRPSRows(dst, p, score.CRPSFair, nil); err != nil || mean == mean || dst[0] == dst[0] {
				t.Errorf("the fair form of one sample is %v, %v", mean, err)
			}
		}
	}
	if compared < 200 {
		t.Error("no more than", compared, "numbers")
	}
}

// TestCRPSPairs compares with the definitions, pair by pair.
func TestCRPSPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, m := range []int{1, 2, 3, 4, 7, 31, 64, 101} {
		p := ensemble(r, 50, m, 0.5)
		for i := range 10 { // ties, among the samples and with the observed value
			for j := range m {
				p.F64[i*m+j] = math.Round(p.F64[i*m+j])
			}
			p.Observed[i] = p.F64[i*m]
		}
		got := map[score.CRPSForm][]float64{}
		for _, f := range crpsForms {
			got[f] = make([]float64, p.Rows)
			if _, err := score.CRPSRows(got[f], p, f, nil); err != nil {
				t.Fatal(err)
			}
		}
		for i, y := range p.Observed {
			x := p.F64[i*m : (i+1)*m]
			a, b, rolled, b0, b1 := 0.0, 0.0, 0.0, 0.0, 0.0
			for j := range x {
				a += math.Abs(x[j] - y)
				b0 += x[j]
				rolled += math.Abs(x[j] - x[(j+m-1)%m])
				for k := range j {
					b += math.Abs(x[j] - x[k])
				}
			}
			n := float64(m)
			v := a/n - b/n/n
			if !(math.Abs(got[score.CRPSV][i]-v) < 1e-12) || !(math.Abs(got[score.CRPSRolled][i]-(a/n-rolled/n/2)) < 1e-12) {
				t.Fatalf("row %d of %d samples: %v and %v", i, m, got[score.CRPSV][i], got[score.CRPSRolled][i])
			}
			if m == 1 {
				if got[score.CRPSV][i] != math.Abs(x[0]-y) || got[score.CRPSRolled][i] != math.Abs(x[0]-y) {
					t.Fatal("one sample is not its absolute error")
				}
				continue
			}
			for j, v := range slices.Sorted(slices.Values(x)) {
				b1 += float64(j) * v / (n * (n - 1))
			}
			fair, pwm := a/n-b/n/(n-1), a/n+b0/n-2*b1
			g := got[score.CRPSFair][i]
			if !(math.Abs(g-fair) < 1e-12) || !(math.Abs(g-pwm) < 1e-12) || g < 0 || g > got[score.CRPSV][i] {
				t.Fatalf("row %d of %d samples: fair %v, want %v, pwm %v", i, m, g, fair, pwm)
			}
			// The distribution function of samples is a mixture of points.
			if mix := score.NormalMixtureCRPS(y, nil, x, make([]float64, m)); !(math.Abs(mix-v) < 1e-12) {
				t.Fatalf("a mixture of points has %v, want %v", mix, v)
			}
		}
	}
}

// TestCRPSState checks that a state depends only on the rows, not on their order, the order of their samples, threads,
// shards, or number type.
func TestCRPSState(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		r := rand.New(rand.NewPCG(2, 2))
		const n, m = 7000, 13
		p := ensemble(r, n, m, 0)
		p.F32 = make([]float32, n*m)
		for i, v := range p.F64 {
			p.F32[i] = float32(v)
			p.F64[i] = float64(p.F32[i])
		}
		narrow := *p
		narrow.F64, p.F32 = nil, nil
		if weighted {
			p.Weights = make([]float64, n)
			for i := range p.Weights {
				p.Weights[i] = float64(i%4) * 0.3
			}
			narrow.Weights = p.Weights
		}
		want := state(t, crpsOf(t, p, nil))
		if !bytes.Equal(want, state(t, crpsOf(t, &narrow, &metrics.Options{Threads: 5}))) {
			t.Error("float32 or five threads make another state")
		}
		spaced := *p
		spaced.Stride = m + 3
		spaced.F64 = make([]float64, n*spaced.Stride)
		for i := range spaced.F64 {
			spaced.F64[i] = math.NaN()
		}
		for i := range n {
			copy(spaced.F64[i*spaced.Stride:], p.F64[i*m:(i+1)*m])
		}
		if !bytes.Equal(want, state(t, crpsOf(t, &spaced, nil))) {
			t.Error("rows that lie apart make another state")
		}
		// Shards in another order, rows in reverse.
		back := *p
		back.F64, back.Observed = make([]float64, n*m), make([]float64, n)
		if weighted {
			back.Weights = make([]float64, n)
		}
		for i := range n {
			copy(back.F64[i*m:], p.F64[(n-1-i)*m:(n-i)*m])
			back.Observed[i] = p.Observed[n-1-i]
			if weighted {
				back.Weights[i] = p.Weights[n-1-i]
			}
		}
		total := metrics.Must(score.NewSampleCRPS(&score.CRPSOptions{Rolled: true}))
		for _, cut := range [][2]int{{5000, n}, {0, 1}, {1, 1}, {1, 5000}} {
			s := back
			s.Rows = cut[1] - cut[0]
			s.F64, s.Observed = back.F64[cut[0]*m:cut[1]*m], back.Observed[cut[0]:cut[1]]
			if weighted {
				s.Weights = back.Weights[cut[0]:cut[1]]
			}
			part := metrics.Must(score.NewSampleCRPS(nil))
			if err := part.UnmarshalBinary(state(t, crpsOf(t, &s, nil))); err != nil {
				t.Fatal(err)
			}
			if err := total.Merge(part); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(want, state(t, total)) {
			t.Error("merged shards are another state")
		}
		if len(want) > 600 {
			t.Errorf("a state takes %d bytes", len(want))
		}
		// The order of samples affects only the rolled form.
		shuffled := *p
		shuffled.F64 = slices.Clone(p.F64)
		for i := range n {
			row := shuffled.F64[i*m : (i+1)*m]
			r.Shuffle(m, func(a, b int) { row[a], row[b] = row[b], row[a] })
		}
		a, b := crpsOf(t, p, nil), crpsOf(t, &shuffled, nil)
		for _, f := range crpsForms {
			same := a.Value(f) == b.Value(f) && a.Interval(f, 0.9) == b.Interval(f, 0.9)
			if same == (f == score.CRPSRolled) {
				t.Errorf("form %d: %v, shuffled %v", f, a.Value(f), b.Value(f))
			}
		}
	}
}

// TestCRPSWeights checks that a weight of 2 equals the row twice, a weight of 0 equals no row, and equal weights change
// nothing.
func TestCRPSWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	p := ensemble(r, 500, 6, 1)
	twice := &metrics.Predictions{Kind: metrics.Samples}
	p.Weights = make([]float64, p.Rows)
	for i := range p.Weights {
		p.Weights[i] = float64(r.IntN(3))
		for range int(p.Weights[i]) {
			twice.F64, twice.Observed = append(twice.F64, p.F64[6*i:6*i+6]...), append(twice.Observed, p.Observed[i])
		}
	}
	twice.Rows, twice.Classes = len(twice.Observed), 6
	a, b := crpsOf(t, p, nil), crpsOf(t, twice, nil)
	for i := range p.Weights {
		p.Weights[i] = 0.375
	}
	same := crpsOf(t, p, nil)
	p.Weights = nil
	none := crpsOf(t, p, nil)
	for _, f := range crpsForms {
		if !near(a.Value(f), b.Value(f), 1e-15) || a.Len() >= b.Len() {
			t.Errorf("form %d: %v by weights, %v by rows", f, a.Value(f), b.Value(f))
		}
		i, j := same.Interval(f, 0.95), none.Interval(f, 0.95)
		if !near(same.Value(f), none.Value(f), 1e-15) || !near(i.Low, j.Low, 1e-13) || !near(i.High, j.High, 1e-13) {
			t.Errorf("form %d: %v %v of equal weights, %v %v of none", f, same.Value(f), i, none.Value(f), j)
		}
	}
}

// TestCRPSInterval compares with the mean and the standard error of the rows.
func TestCRPSInterval(t *testing.T) {
	p := ensemble(rand.New(rand.NewPCG(4, 4)), 400, 9, 0)
	s := crpsOf(t, p, nil)
	dst := make([]float64, p.Rows)
	for _, f := range crpsForms {
		mean, err := score.CRPSRows(dst, p, f, nil)
		if err != nil || mean != s.Value(f) {
			t.Fatal(mean, s.Value(f), err)
		}
		ss := 0.0
		for _, v := range dst {
			ss += (v - mean) * (v - mean)
		}
		h := 1.959963984540 * math.Sqrt(ss/399/400)
		if i := s.Interval(f, 0.95); !near(i.Low, mean-h, 1e-12) || !near(i.High, mean+h, 1e-12) {
			t.Errorf("form %d: %v, want %v +- %v", f, i, mean, h)
		}
	}
}

// TestCRPSUnits checks that scores have the unit of the numbers, at any size, until a sum overflows float64.
func TestCRPSUnits(t *testing.T) {
	p := ensemble(rand.New(rand.NewPCG(5, 5)), 300, 8, 0)
	in := func(exponent int) *score.SampleCRPS {
		q := *p
		q.F64, q.Observed = slices.Clone(p.F64), slices.Clone(p.Observed)
		for _, v := range [][]float64{q.F64, q.Observed} {
			for i := range v {
				v[i] = math.Ldexp(v[i], exponent)
			}
		}
		return crpsOf(t, &q, nil)
	}
	one := in(0)
	for _, e := range []int{-400, -100, -40, 40, 400} {
		s := in(e)
		for _, f := range crpsForms {
			i, j := s.Interval(f, 0.95), one.Interval(f, 0.95)
			if math.Ldexp(s.Value(f), -e) != one.Value(f) || math.Ldexp(i.Low, -e) != j.Low || math.Ldexp(i.High, -e) != j.High {
				t.Errorf("form %d in units of 2^%d: %v %v", f, e, s.Value(f), i)
			}
		}
	}
	for _, e := range []int{600, 1020} {
		s := in(e)
		for _, f := range crpsForms {
			v, i := s.Value(f), s.Interval(f, 0.95)
			if i.Low == i.Low || i.High == i.High || math.IsInf(v, 1) != (e > 1000) || v < 0 {
				t.Errorf("form %d in units of 2^%d: %v %v", f, e, v, i)
			}
		}
	}
}

// TestCRPSConverges checks that samples of a normal distribution approach its closed form: the fair form without bias, the V
// form from above by E|X - X'|/(2m).
func TestCRPSConverges(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, m := range []int{2, 5, 20} {
		const n = 20000
		p := &metrics.Predictions{Kind: metrics.Samples, Observed: make([]float64, n)}
		p.F64, p.Rows, p.Classes = make([]float64, n*m), n, m
		for i := range p.F64 {
			p.F64[i] = 2 * r.NormFloat64()
		}
		for i := range p.Observed {
			p.Observed[i] = 1.5
		}
		s := crpsOf(t, p, nil)
		want := score.NormalCRPS(1.5, 0, 2)
		for f, bias := range []float64{score.CRPSV: 2 / math.SqrtPi / float64(m), score.CRPSFair: 0, score.CRPSRolled: 0} {
			f := score.CRPSForm(f)
			if i := s.Interval(f, 0.9999); !(i.Low < want+bias && want+bias < i.High) || i.High-i.Low > 0.15 {
				t.Errorf("form %d of %d samples: %v, want %v", f, m, i, want+bias)
			}
		}
	}
	// One row of many.
	const m = 200000
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{-0.7}}
	p.F64, p.Rows, p.Classes = make([]float64, m), 1, m
	for i := range p.F64 {
		p.F64[i] = r.NormFloat64()
	}
	s, want := crpsOf(t, p, nil), score.NormalCRPS(-0.7, 0, 1)
	for _, f := range crpsForms {
		if math.Abs(s.Value(f)-want) > 5/math.Sqrt(m) {
			t.Errorf("form %d of %d samples: %v, want %v", f, m, s.Value(f), want)
		}
	}
}

// TestCRPSProper checks that the fair form of samples and the closed forms are lowest on average for the true distribution.
func TestCRPSProper(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const n, m = 20000, 3
	type forecast struct{ mean, sd float64 }
	run := func(f forecast, y []float64) (fair []float64, normal []float64) {
		p := &metrics.Predictions{Kind: metrics.Samples, Observed: y}
		p.F64, p.Rows, p.Classes = make([]float64, n*m), n, m
		for i := range p.F64 {
			p.F64[i] = f.mean + f.sd*r.NormFloat64()
		}
		fair, normal = make([]float64, n), make([]float64, n)
		if _, err := score.CRPSRows(fair, p, score.CRPSFair, nil); err != nil {
			t.Fatal(err)
		}
		for i := range normal {
			normal[i] = score.NormalCRPS(y[i], f.mean, f.sd)
		}
		return fair, normal
	}
	y := make([]float64, n)
	for i := range y {
		y[i] = r.NormFloat64()
	}
	trueFair, trueNormal := run(forecast{0, 1}, y)
	for range 12 {
		f := forecast{r.NormFloat64(), math.Exp(r.NormFloat64())}
		if math.Hypot(f.mean, math.Log(f.sd)) < 0.5 {
			continue
		}
		fair, normal := run(f, y)
		for name, d := range map[string][2][]float64{"fair": {fair, trueFair}, "normal": {normal, trueNormal}} {
			sum, squares := 0.0, 0.0
			for i := range y {
				e := d[0][i] - d[1][i]
				sum += e
				squares += e * e
			}
			if sum < 3*math.Sqrt(squares) {
				t.Errorf("%s: %v is better than the truth by %v", name, f, -sum/n)
			}
		}
	}
}

// loadF64 returns the numbers of a .npy file of version 1 with float64 values.
func loadF64(t *testing.T, name string) []float64 {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	if !bytes.Contains(b[:head], []byte("'<f8'")) {
		t.Fatalf("%s: %q", name, b[:head])
	}
	v := make([]float64, (len(b)-head)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[head+8*i:]))
	}
	return v
}

// TestCRPSReal compares with figures from NumPy for 5,170 forecasts of rain with 51 members each.
func TestCRPSReal(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	p := &metrics.Predictions{Kind: metrics.Samples}
	p.Observed = loadF64(t, filepath.Join(dir, "monsoon_precip_ens51", "obs.npy"))
	p.Rows, p.Classes = len(p.Observed), 51
	columns := loadF64(t, filepath.Join(dir, "monsoon_precip_ens51", "members.npy"))
	p.F64 = make([]float64, len(columns))
	for i, v := range columns { // the file is in Fortran order
		p.F64[i%p.Rows*51+i/p.Rows] = v
	}
	s := crpsOf(t, p, nil)
	for f, want := range map[score.CRPSForm]float64{score.CRPSV: 1.6394617674469794, score.CRPSFair: 1.619015649449691,
		score.CRPSRolled: 1.609522212803884} {
		if !near(s.Value(f), want, 1e-12) {
			t.Errorf("form %d: %.17g, want %.17g", f, s.Value(f), want)
		}
	}
}

func TestCRPSBadRows(t *testing.T) {
	p := ensemble(rand.New(rand.NewPCG(8, 8)), 3000, 4, 0)
	p.F64[0], p.F64[4*1500+3], p.Observed[2999] = math.NaN(), math.Inf(-1), math.Inf(1)
	p.Weights = slices.Repeat([]float64{1}, p.Rows)
	p.Weights[7] = 0
	dst := make([]float64, p.Rows)
	var d *metrics.DataError
	if m, err := score.CRPSRows(dst, p, score.CRPSV, nil); !errors.As(err, &d) || m == m {
		t.Error(m, err)
	}
	m, err := score.CRPSRows(dst, p, score.CRPSFair, &metrics.Options{Drop: true, Threads: 3})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, v := range dst {
		if out := i == 0 || i == 7 || i == 1500 || i == 2999; out != (v != v) {
			t.Fatalf("row %d has %v", i, v)
		} else if !out {
			sum += v
		}
	}
	if !near(m, sum/2996, 1e-13) {
		t.Error(m, sum/2996)
	}
}

func TestCRPSFaults(t *testing.T) {
	p := ensemble(rand.New(rand.NewPCG(9, 9)), 5, 4, 0)
	probs := sample(4, 3, metrics.Probs)
	one, two := []float64{1}, []float64{1, 2}
	for _, c := range []struct {
		want string
		f    func()
	}{
		{"metrics: dst and rows differ in number", func() { _, _ = score.CRPSRows(two, p, 0, nil) }},
		{"score: dst and rows differ in number", func() { score.Normals(two, one, one, one, nil) }},
		{"score: the CRPS of samples takes predictions of the kind samples", func() { _, _ = score.CRPSRows(nil, probs, 0, nil) }},
		{"score: the CRPS of samples takes predictions of the kind samples", func() {
			_ = metrics.NewPass(nil, metrics.Must(score.NewSampleCRPS(nil))).Add(probs)
		}},
		{"score: no such form of the CRPS", func() { metrics.Must(score.NewSampleCRPS(nil)).Value(3) }},
		{"score: the rolled CRPS has to be in the options", func() { metrics.Must(score.NewSampleCRPS(nil)).Interval(score.CRPSRolled, 0.95) }},
		{"score: the columns of a forecast differ in length", func() { score.Laplaces(nil, one, one, two, nil) }},
		{"score: weights and rows differ in number", func() { score.Normals(nil, one, one, one, two) }},
		{"score: components and rows do not fit each other", func() { score.NormalMixtures(nil, one, 2, nil, one, one, nil) }},
	} {
		if got := caught(c.f); got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	plain, rolled := metrics.Must(score.NewSampleCRPS(nil)), crpsOf(t, p, nil)
	p.Weights = []float64{1, 1, 1, 1, 1}
	weighted, other := crpsOf(t, p, nil), crpsOf(t, ensemble(rand.New(rand.NewPCG(1, 9)), 5, 3, 0), nil)
	before := state(t, rolled)
	for _, o := range []metrics.Accumulator{plain, weighted, other, metrics.Must(score.NewLoss(nil))} {
		if err := rolled.Merge(o); !errors.Is(err, metrics.ErrMismatch) || !bytes.Equal(before, state(t, rolled)) {
			t.Errorf("merged with %T: %v", o, err)
		}
	}
	if err := rolled.Merge(rolled.Empty()); err != nil || !bytes.Equal(before, state(t, rolled)) || rolled.Samples() != 4 {
		t.Error(err)
	}
	for i := range before {
		b := slices.Clone(before)
		b[i] ^= 1
		if plain.UnmarshalBinary(b) == nil {
			t.Fatalf("byte %d can be damaged", i)
		}
	}
	if v := plain.Value(score.CRPSV); v == v || plain.Samples() != 0 || plain.Len() != 0 {
		t.Error("an empty state has a value:", v)
	}
}

// FuzzSampleCRPSUnmarshal checks that a state that is read is written as the same bytes, and gives values.
func FuzzSampleCRPSUnmarshal(f *testing.F) {
	for _, m := range []int{1, 5} {
		for _, w := range [][]float64{nil, {1, 2, 0x1p32, 0x1p-32, 1, 0, 1}} {
			p := ensemble(rand.New(rand.NewPCG(3, uint64(m))), 7, m, 0)
			p.Weights = w
			for _, rolled := range []bool{false, true} {
				s := metrics.Must(score.NewSampleCRPS(&score.CRPSOptions{Rolled: rolled}))
				if err := metrics.NewPass(nil, s).Add(p); err != nil {
					f.Fatal(err)
				}
				b, err := s.AppendBinary(nil)
				if err != nil {
					f.Fatal(err)
				}
				_, payload, _, err := exact.Open("cCRP", b)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(payload)
				f.Add(append([]byte{payload[0], 0, 0, 0, 0}, payload[5:]...)) // rows without samples
			}
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var s score.SampleCRPS
		_ = s.UnmarshalBinary(payload)
		sealed := exact.Seal("cCRP", 1, payload)
		if s.UnmarshalBinary(sealed) != nil {
			return
		}
		if again, err := s.AppendBinary(nil); err != nil || string(again) != string(sealed) {
			t.Errorf("written in another way: %v", err)
		}
		s.Interval(score.CRPSV, 0.95)
		s.Interval(score.CRPSFair, 0.95)
		caught(func() { s.Interval(score.CRPSRolled, 0.95) })
		n := s.Empty()
		if err := n.Merge(&s); err != nil || n.Len() != s.Len() {
			t.Errorf("%d rows merged are %d: %v", s.Len(), n.Len(), err)
		}
	})
}
