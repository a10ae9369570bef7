package recal_test

import (
	"bytes"
	"compress/gzip"
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
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/recal"
)

// logisticCase is a case of the oracle, see testdata/golden/README.md.
type logisticCase struct {
	Name                  string
	P, Weights            []float64
	Y                     []int32
	Beta, Platt, Smoothed struct{ A, B, C float64 }
}

func logisticCases(t *testing.T) (l []logisticCase) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "golden", "logistic.json"))
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func logisticRows(p []float64, y []int32, w []float64) *metrics.Predictions {
	return &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y, Weights: w}
}

func logisticMap(t *testing.T, m recal.Method, p *metrics.Predictions) *recal.CurveMap {
	t.Helper()
	f, err := m.Fit(recal.InMemory(p), nil)
	if err != nil {
		t.Fatalf("%s: %v", m, err)
	}
	return f.(*recal.CurveMap)
}

func logisticClose(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s is %v; want %v", what, got, want)
	}
}

func TestLogisticOracle(t *testing.T) {
	for _, c := range logisticCases(t) {
		p := logisticRows(c.P, c.Y, c.Weights)
		m := logisticMap(t, recal.Platt{}, p)
		f := m.Platt(0)
		logisticClose(t, c.Name+": platt a", f.A, c.Platt.A, 1e-12)
		logisticClose(t, c.Name+": platt b", f.B, c.Platt.B, 1e-12)
		m = logisticMap(t, recal.Platt{Smoothed: true}, p)
		f = m.Platt(0)
		logisticClose(t, c.Name+": smoothed a", f.A, c.Smoothed.A, 1e-12)
		logisticClose(t, c.Name+": smoothed b", f.B, c.Smoothed.B, 1e-12)
		m = logisticMap(t, recal.Beta{}, p)
		g := m.Beta(0)
		logisticClose(t, c.Name+": beta a", g.A, c.Beta.A, 1e-10)
		logisticClose(t, c.Name+": beta b", g.B, c.Beta.B, 1e-10)
		logisticClose(t, c.Name+": beta c", g.C, c.Beta.C, 1e-10)
		if (g.A == 0) != (c.Beta.A == 0) || (g.B == 0) != (c.Beta.B == 0) {
			t.Errorf("%s: beta's coefficients are %v; want %v", c.Name, g, c.Beta)
		}
	}
}

// The golden fits are of scipy's Newton method and of scikit-learn's _sigmoid_calibration, whose A and B are -a and -b. The latter stops
// where no derivative of the sum is above 1e-5; over the curvature, which is about 5 of 40 rows, that is a few 1e-6.
func TestPlattGolden(t *testing.T) {
	b, err := os.ReadFile("testdata/recalibration.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Binary []struct {
			P, Y  []float64
			Plain *struct {
				A, B    float64
				Predict []float64 `json:"predict_at_p"`
			} `json:"platt_plain"`
			Smoothed *struct{ A, B float64 } `json:"platt_smoothed_sklearn"`
		}
	}
	if err := json.NewDecoder(z).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, c := range doc.Binary {
		if c.Plain == nil {
			continue
		}
		cases++
		y := make([]int32, len(c.Y))
		for i, v := range c.Y {
			y[i] = int32(v)
		}
		p := logisticRows(c.P, y, nil)
		m := logisticMap(t, recal.Platt{}, p)
		f := m.Platt(0)
		logisticClose(t, "a", f.A, c.Plain.A, 1e-9)
		logisticClose(t, "b", f.B, c.Plain.B, 1e-9)
		out := logisticApplied(m, p)
		for i, v := range c.Plain.Predict {
			logisticClose(t, "a prediction", out[i], v, 1e-9)
		}
		f = logisticMap(t, recal.Platt{Smoothed: true}, p).Platt(0)
		logisticClose(t, "smoothed a", f.A, -c.Smoothed.A, 1e-5)
		logisticClose(t, "smoothed b", f.B, -c.Smoothed.B, 1e-5)
	}
	if cases == 0 {
		t.Fatal("there are no golden fits")
	}
}

func logisticApplied(m recal.Map, p *metrics.Predictions) []float64 {
	dst := metrics.Scores{F64: make([]float64, p.Rows*p.Classes), Rows: p.Rows, Classes: p.Classes}
	m.Apply(&dst, &p.Scores, p.Kind)
	return dst.F64
}

// logisticMethods are all there are, in the order of the tests.
var logisticMethods = []recal.Method{recal.Platt{}, recal.Platt{Smoothed: true}, recal.Platt{TopLabel: true}, recal.Beta{},
	recal.Beta{TopLabel: true}}

// logisticDraw returns rows of k classes, of a model that is too certain.
func logisticDraw(seed uint64, n, k int, kind metrics.Kind, weighted bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 3))
	p := &metrics.Predictions{Scores: metrics.Scores{F64: make([]float64, n*k), Rows: n, Classes: k}, Labels: make([]int32, n), Kind: kind}
	if weighted {
		p.Weights = make([]float64, n)
	}
	for i := range n {
		row := p.F64[i*k:][:k]
		sum := 0.0
		for j := range row {
			row[j] = 2 * r.NormFloat64()
			sum += math.Exp(row[j] / 2)
		}
		if k == 1 {
			if r.Float64() < 1/(1+math.Exp(-row[0]/2-0.4)) {
				p.Labels[i] = 1
			}
			if kind == metrics.Probs {
				row[0] = 1 / (1 + math.Exp(-row[0]))
			}
		} else {
			u := sum * r.Float64()
			for j := range row {
				if u -= math.Exp(row[j] / 2); u < 0 {
					p.Labels[i] = int32(j)
					break
				}
			}
			if kind == metrics.Probs {
				sum = 0
				for _, v := range row {
					sum += math.Exp(v)
				}
				for j, v := range row {
					row[j] = math.Exp(v) / sum
				}
			}
		}
		if weighted {
			p.Weights[i] = float64(r.IntN(4)) + r.Float64()
		}
	}
	return p
}

// logisticPick returns rows of predictions, in an order.
func logisticPick(p *metrics.Predictions, rows []int) *metrics.Predictions {
	q := &metrics.Predictions{Scores: metrics.Scores{Rows: len(rows), Classes: p.Classes}, Kind: p.Kind}
	for _, i := range rows {
		q.F64 = append(q.F64, p.F64[i*p.Classes:][:p.Classes]...)
		q.Labels = append(q.Labels, p.Labels[i])
		if p.Weights != nil {
			q.Weights = append(q.Weights, p.Weights[i])
		}
	}
	return q
}

// logisticSame fails unless two maps have the same curves to the bit.
func logisticSame(t *testing.T, what string, a, b *recal.CurveMap) {
	t.Helper()
	for i := range a.Curves() {
		same := false
		if strings.HasPrefix(a.Method(), "beta") {
			same = a.Beta(i) == b.Beta(i)
		} else {
			same = a.Platt(i) == b.Platt(i)
		}
		if !same {
			t.Errorf("%s, %s: curve %d differs", what, a.Method(), i)
		}
	}
}

// logisticShards yields predictions in chunks of some rows.
func logisticShards(p *metrics.Predictions, size int) recal.Data {
	return recal.OpenFunc(func() (recal.Source, error) { return &logisticShard{p: p, size: size}, nil })
}

type logisticShard struct {
	p        *metrics.Predictions
	size, at int
}

func (s *logisticShard) Close() error { return nil }

func (s *logisticShard) Next() (*metrics.Chunk, error) {
	if s.at == s.p.Rows {
		return nil, io.EOF
	}
	n := min(s.size, s.p.Rows-s.at)
	rows := make([]int, n)
	for i := range rows {
		rows[i] = s.at + i
	}
	c := &metrics.Chunk{Predictions: *logisticPick(s.p, rows), First: int64(s.at)}
	s.at += n
	return c, nil
}

func TestLogisticSameBits(t *testing.T) {
	counts := []int{1, 3}
	if testing.Short() {
		counts = counts[1:]
	}
	for _, p := range []*metrics.Predictions{logisticDraw(1, 3000, 1, metrics.Probs, false), logisticDraw(2, 3000, 1, metrics.Logits, true),
		logisticDraw(3, 2000, 4, metrics.Probs, true), logisticDraw(4, 2000, 3, metrics.Logits, false)} {
		for _, m := range logisticMethods {
			want := logisticMap(t, m, p)
			for _, threads := range counts {
				for _, size := range []int{7, 1000} {
					if !check.Full() && (size == 7) != (threads == 3) {
						continue
					}
					f, err := m.Fit(logisticShards(p, size), &recal.Options{Threads: threads})
					if err != nil {
						t.Fatal(err)
					}
					if f.Fit() != want.Fit() {
						t.Errorf("%s: of chunks the fit is %+v; want %+v", m, f.Fit(), want.Fit())
					}
					logisticSame(t, "chunks", f.(*recal.CurveMap), want)
				}
			}
			logisticSame(t, "order", logisticMap(t, m, logisticPick(p, rand.New(rand.NewPCG(4, 4)).Perm(p.Rows))), want)
		}
	}
}

// Rows of weight 2 are rows that are there twice, those of weight 0 are not there, and of weights 1 nothing is to be seen.
func TestLogisticWeights(t *testing.T) {
	for _, k := range []int{1, 3} {
		p := logisticDraw(8, 500, k, metrics.Probs, false)
		r := rand.New(rand.NewPCG(1, 1))
		p.Weights = make([]float64, p.Rows)
		var rows []int
		for i := range p.Rows {
			n := r.IntN(3)
			p.Weights[i] = float64(n)
			for range n {
				rows = append(rows, i)
			}
		}
		q := logisticPick(p, rows)
		q.Weights = nil
		ones := logisticPick(p, rows)
		for i := range ones.Weights {
			ones.Weights[i] = 1
		}
		large := logisticPick(p, rows)
		for i := range large.Weights {
			large.Weights[i] = 0x1p30
		}
		for _, m := range logisticMethods {
			want := logisticMap(t, m, q)
			logisticSame(t, "weights", logisticMap(t, m, p), want)
			logisticSame(t, "ones", logisticMap(t, m, ones), want)
			if strings.Contains(m.String(), "smoothed") {
				continue
			}
			f := logisticMap(t, m, large)
			for i := range f.Curves() {
				if strings.HasPrefix(m.String(), "beta") {
					if f.Beta(i) != want.Beta(i) {
						t.Errorf("%s: curve %d of large weights differs", m, i)
					}
				} else if a, b := f.Platt(i), want.Platt(i); a.A != b.A || a.B != b.B || a.ASE != b.ASE*0x1p-15 {
					t.Errorf("%s: curve %d of large weights is %v; want %v", m, i, a, b)
				}
			}
		}
	}
}

// A logit's scale goes into the slope alone, to the bit where it is a power of two.
func TestPlattScale(t *testing.T) {
	p := logisticDraw(5, 400, 1, metrics.Logits, false)
	want := logisticMap(t, recal.Platt{}, p).Platt(0)
	for _, e := range []int{-900, -30, 1, 40, 900} {
		q := logisticPick(p, rand.New(rand.NewPCG(1, 1)).Perm(p.Rows))
		for i := range q.F64 {
			q.F64[i] = math.Ldexp(q.F64[i], e)
		}
		got := logisticMap(t, recal.Platt{}, q).Platt(0)
		if e > -300 && e < 300 {
			if got.A != math.Ldexp(want.A, -e) || got.B != want.B {
				t.Errorf("of logits times 2^%d the fit is %v; of them as they are %v", e, got, want)
			}
		}
		logisticClose(t, "a", math.Ldexp(got.A, e), want.A, 1e-13)
		logisticClose(t, "b", got.B, want.B, 1e-13)
	}
	// Elsewhere the intercept changes.
	q := logisticPick(p, rand.New(rand.NewPCG(1, 1)).Perm(p.Rows))
	for i := range q.F64 {
		q.F64[i] += 4096
	}
	got := logisticMap(t, recal.Platt{}, q).Platt(0)
	logisticClose(t, "a", got.A, want.A, 1e-12)
	logisticClose(t, "b", got.B, want.B-4096*want.A, 1e-12)
}

func TestPlattIsCox(t *testing.T) {
	for seed := range uint64(12) {
		p := logisticDraw(100+seed, 20+50*int(seed), 1, metrics.Probs, seed%2 == 1)
		if seed == 6 { // scores that differ little from 1/2
			for i, v := range p.F64 {
				p.F64[i] = 0.5 + (v-0.5)*1e-6
			}
		}
		c := metrics.Must(cells.New(nil))
		if err := metrics.NewPass(nil, c).Add(p); err != nil {
			t.Fatal(err)
		}
		cox := binfree.CoxOf(c, nil)
		m := logisticMap(t, recal.Platt{}, p)
		f := m.Platt(0)
		slope, _ := cox.Slope()
		intercept, _ := cox.Intercept()
		logisticClose(t, "the slope", f.A, slope, 1e-9)
		logisticClose(t, "the intercept", f.B, intercept, 1e-9)
		a, b := f.Intervals(0.9)
		if p.Weights == nil {
			s, i := cox.SlopeInterval(0.9), cox.InterceptInterval(0.9)
			logisticClose(t, "the slope's lower end", a.Low, s.Low, 1e-7)
			logisticClose(t, "the slope's upper end", a.High, s.High, 1e-7)
			logisticClose(t, "the intercept's lower end", b.Low, i.Low, 1e-7)
			logisticClose(t, "the intercept's upper end", b.High, i.High, 1e-7)
		}
	}
}

func TestLogisticUnreachable(t *testing.T) {
	inf := math.Inf(1)
	const same, apart, reverse = "all scores are equal", "separate the labels perfectly, so", "separate the labels perfectly in reverse"
	tests := []struct {
		name                   string
		z                      []float64
		y                      []int32
		platt, smoothed, betas string // parts of the errors; "" if there is a fit
	}{
		{"events", []float64{1, 2, 3}, []int32{1, 1, 1}, "all rows have the event", "", "all rows have the event"},
		{"no events", []float64{1, 2, 3}, []int32{0, 0, 0}, "no row has the event", "", "no row has the event"},
		{"apart", []float64{1, 2, 3, 4}, []int32{0, 0, 1, 1}, apart, "", apart},
		{"touching", []float64{1, 2, 2, 4}, []int32{0, 0, 1, 1}, apart, "", apart},
		{"touching with ties", []float64{1, 2, 2, 2, 2, 4}, []int32{0, 0, 1, 1, 0, 1}, apart, "", apart},
		{"inside one score", []float64{2, 2, 2, 3}, []int32{0, 0, 1, 1}, apart, "", "two distinct scores"},
		{"reverse", []float64{4, 3, 2, 1}, []int32{0, 0, 1, 1}, reverse, "", ""},
		{"reverse touching", []float64{4, 3, 3, 1}, []int32{0, 0, 1, 1}, reverse, "", ""},
		{"overlap at a pair of ties", []float64{1, 1, 2, 2}, []int32{0, 1, 0, 1}, "", "", "two distinct scores"},
		{"one score", []float64{2, 2, 2}, []int32{0, 1, 0}, same, same, same},
		{"one row", []float64{2}, []int32{1}, same, same, same},
		{"two rows", []float64{1, 2}, []int32{0, 1}, apart, "", "two distinct scores"},
		{"one score beside 0 and 1", []float64{2, 2, -inf, inf}, []int32{0, 1, 0, 1}, same, same, same},
		{"0 and 1", []float64{-inf, inf}, []int32{0, 1}, "logits are infinite", "logits are infinite", "logits are infinite"},
		{"0 and 1 in reverse", []float64{-inf, inf}, []int32{1, 0}, "logits are infinite", "logits are infinite", "logits are infinite"},
		{"falls beside 0", []float64{-inf, 3, 2, 1.5, 1, 2.5}, []int32{0, 0, 1, 0, 1, 1}, "are in reverse order", "are in reverse order", ""},
		{"falls beside a wrong 0", []float64{-inf, 3, 2, 1.5, 1, 2.5}, []int32{1, 0, 1, 0, 1, 1}, "", "", ""},
		{"far apart", []float64{-1e5, 1e-5, 2e-5, 1e5, 1, 2}, []int32{0, 1, 0, 1, 1, 0}, "", "", ""},
	}
	for _, c := range tests {
		p := logisticRows(c.z, c.y, nil)
		p.Kind = metrics.LogProbs
		p.F64 = make([]float64, len(c.z))
		for i, z := range c.z {
			p.F64[i] = -math.Log1p(math.Exp(-z))
			if z < -30 {
				p.F64[i] = z
			}
		}
		for m, want := range map[recal.Method]string{recal.Platt{}: c.platt, recal.Platt{Smoothed: true}: c.smoothed, recal.Beta{}: c.betas} {
			f, err := m.Fit(recal.InMemory(p), nil)
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %s: %v", c.name, m, err)
			case want == "":
				logisticValid(t, c.name, f.(*recal.CurveMap))
			case err == nil:
				t.Errorf("%s: %s: there is a fit, %v", c.name, m, f.(*recal.CurveMap))
			case !errors.Is(err, recal.ErrUnreachable) || !strings.Contains(err.Error(), want):
				t.Errorf("%s: %s: the error is %q; want %q", c.name, m, err, want)
			}
		}
	}
}

// TestLogisticClose: where terms of the curve cancel so that no digit is left there is no map.
func TestLogisticClose(t *testing.T) {
	far := []float64{-0x1p70, -0x1.0000000001p70, -0x1.0000000002p70, -0x1.0000000003p70, -0x1.0000000004p70}
	for _, c := range []struct {
		m  recal.Method
		z  []float64
		ok bool
	}{
		{recal.Platt{}, []float64{1e-20, 2e-20, 3e-20, 4e-20, 5e-20}, true},
		{recal.Beta{}, []float64{1e-7, 2e-7, 3e-7, 4e-7, 5e-7}, true},
		{recal.Beta{}, []float64{1e-20, 2e-20, 3e-20, 4e-20, 5e-20}, false},
		{recal.Platt{}, far, true},
		{recal.Platt{}, []float64{0x1p70, 0x1.0000000000001p70, 0x1.0000000000002p70, 0x1.0000000000003p70, 0x1.0000000000004p70}, false},
	} {
		p := logisticRows(c.z, []int32{0, 1, 0, 1, 1}, nil)
		p.Kind = metrics.Logits
		switch _, err := c.m.Fit(recal.InMemory(p), nil); {
		case c.ok && err != nil, !c.ok && (!errors.Is(err, recal.ErrUnreachable) || !strings.Contains(err.Error(), "too close together")):
			t.Errorf("%s of %v: %v", c.m, c.z, err)
		}
	}
}

// logisticValid fails unless a map's curves are of probabilities, and those of Beta do not fall.
func logisticValid(t *testing.T, what string, m *recal.CurveMap) {
	t.Helper()
	for i := range m.Curves() {
		f, last := m.Curve(i), 0.0
		for _, p := range []float64{0, 0x1p-1074, 1e-300, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9, 1 - 0x1p-53, 1} {
			v := f(p)
			if !(v >= 0 && v <= 1) || strings.HasPrefix(m.Method(), "beta") && v < last {
				t.Errorf("%s: %s: curve %d makes %v of %v", what, m.Method(), i, v, p)
			}
			last = v
		}
		if !math.IsNaN(f(math.NaN())) {
			t.Errorf("%s: %s: curve %d makes a number of NaN", what, m.Method(), i)
		}
	}
	b, err := recal.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	n, err := recal.Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	logisticSame(t, what, n.(*recal.CurveMap), m)
}

func TestLogisticClassesUnreachable(t *testing.T) {
	p := logisticDraw(1, 200, 4, metrics.Probs, false)
	for i, y := range p.Labels {
		if y == 2 {
			p.Labels[i] = 1
		}
	}
	for _, m := range []recal.Method{recal.Platt{}, recal.Beta{}} {
		_, err := m.Fit(recal.InMemory(p), nil)
		if !errors.Is(err, recal.ErrUnreachable) || !strings.Contains(err.Error(), "class 2 against the rest: ") {
			t.Errorf("%s: the error is %v", m, err)
		}
	}
	logisticValid(t, "without a class", logisticMap(t, recal.Platt{Smoothed: true}, p))
}

// The curves of classes are those of binary tasks, and that of the top label is that of whether it is right.
func TestLogisticClasses(t *testing.T) {
	for _, k := range []int{2, 3, 50} {
		p := logisticDraw(uint64(k), 30*k+300, k, metrics.Probs, k == 3)
		for _, m := range []recal.Method{recal.Platt{Smoothed: true}, recal.Beta{}} {
			got := logisticMap(t, m, p)
			logisticValid(t, "classes", got)
			for class := range min(k, 5) {
				q := &metrics.Predictions{Scores: metrics.Scores{Rows: p.Rows, Classes: 1}, Weights: p.Weights}
				for i, y := range p.Labels {
					hit := int32(0)
					if int(y) == class {
						hit = 1
					}
					q.F64, q.Labels = append(q.F64, p.F64[i*k+class]), append(q.Labels, hit)
				}
				one := logisticMap(t, m, q)
				for _, x := range []float64{1e-6, 0.2, 0.7, 0.99} {
					logisticClose(t, m.String(), got.Curve(class)(x), one.Curve(0)(x), 1e-10)
				}
			}
		}
		q := &metrics.Predictions{Scores: metrics.Scores{Rows: p.Rows, Classes: 1}, Weights: p.Weights}
		for i, y := range p.Labels {
			row, top := p.F64[i*k:][:k], 0
			for j, v := range row {
				if v > row[top] {
					top = j
				}
			}
			hit := int32(0)
			if int(y) == top {
				hit = 1
			}
			q.F64, q.Labels = append(q.F64, row[top]), append(q.Labels, hit)
		}
		got, want := logisticMap(t, recal.Platt{TopLabel: true}, p).Platt(0), logisticMap(t, recal.Platt{}, q).Platt(0)
		logisticClose(t, "the top label's a", got.A, want.A, 1e-10)
		logisticClose(t, "the top label's b", got.B, want.B, 1e-10)
	}
}

// Rows whose label has no probability do not count, and are named; those of score 0 and 1 that agree say nothing.
func TestLogisticLeftOut(t *testing.T) {
	p := logisticDraw(9, 300, 1, metrics.Probs, false)
	want := map[string]*recal.CurveMap{}
	for _, m := range logisticMethods {
		want[m.String()] = logisticMap(t, m, p)
	}
	q := logisticPick(p, rand.New(rand.NewPCG(1, 1)).Perm(p.Rows))
	q.F64[20], q.Labels[20] = 1, 0
	q.F64[30], q.Labels[30] = 0, 1
	q.F64[40], q.Labels[40] = 0, 0
	q.F64[50], q.Labels[50] = 1, 1
	var rest []int
	for i := range q.Rows {
		if i != 20 && i != 30 && i != 40 && i != 50 {
			rest = append(rest, i)
		}
	}
	for _, m := range logisticMethods {
		got := logisticMap(t, m, q)
		if f := got.Fit(); f.LeftOut != 2 || f.FirstLeftOut != 20 || f.Rows != 300 {
			t.Errorf("%s: the fit is %+v", m, f)
		}
		logisticSame(t, "with 0 and 1", got, logisticMap(t, m, logisticPick(q, rest)))
		if m == (recal.Beta{}) {
			if f := got.Curve(0); f(0) != 0 || f(1) != 1 {
				t.Error("0 and 1 do not stay")
			}
		}
	}
	// A label without probability says something of whether the top label is right.
	r := &metrics.Predictions{Scores: metrics.Scores{Rows: 7, Classes: 3, F64: []float64{.6, .4, 0, .7, .2, .1, .5, .3, .2, .9, .1, 0, 1, 0, 0,
		.8, .2, 0, 0, .55, .45}}, Labels: []int32{2, 0, 1, 0, 1, 1, 1}}
	f := logisticMap(t, recal.Platt{TopLabel: true}, r)
	if got := f.Fit(); got.LeftOut != 1 || got.FirstLeftOut != 4 {
		t.Errorf("the fit is %+v", got)
	}
	b := logisticMap(t, recal.Platt{}, logisticRows([]float64{.6, .7, .5, .9, .8, .55}, []int32{0, 1, 0, 1, 0, 1}, nil)).Platt(0)
	logisticClose(t, "a", f.Platt(0).A, b.A, 1e-10)
}

// The maps go where their formula does, also in place and for float32.
func TestLogisticApply(t *testing.T) {
	p := logisticDraw(11, 1000, 1, metrics.Logits, false)
	m := logisticMap(t, recal.Platt{}, p)
	c := m.Platt(0)
	g := logisticMap(t, recal.Beta{}, p)
	d := g.Beta(0)
	p.F64[0], p.F64[1], p.F64[2], p.F64[3] = math.Inf(-1), 800/c.A, -700/c.A, -742/c.A
	one, two := logisticApplied(m, p), logisticApplied(g, p)
	for i, z := range p.F64 {
		logisticClose(t, "platt", one[i], 1/(1+math.Exp(-c.A*z-c.B)), 1e-14)
		if x := math.Exp(-math.Abs(z)); i > 0 {
			u, v := math.Min(z, 0)-math.Log1p(x), math.Max(z, 0)+math.Log1p(x)
			logisticClose(t, "beta", two[i], 1/(1+math.Exp(-d.A*u-d.B*v-d.C)), 1e-14)
		}
	}
	if one[0] != 0 || two[0] != 0 || one[2] == 0 || one[3] == 0 {
		t.Errorf("the ends are %v and %v", one[:4], two[:4])
	}
	m.Apply(&p.Scores, &p.Scores, p.Kind)
	for i, v := range p.F64 {
		if v != one[i] {
			t.Fatalf("in place %v becomes %v", one[i], v)
		}
	}
	// A slope of 0 makes one probability of all, and a falling curve turns 0 and 1 around.
	flat := logisticMap(t, recal.Platt{Smoothed: true}, logisticRows([]float64{0.2, 0.4, 0.7}, []int32{1, 1, 1}, nil))
	for _, v := range []float64{0, 0.3, 1} {
		logisticClose(t, "flat", flat.Curve(0)(v), 0.8, 1e-15)
	}
	falls := logisticMap(t, recal.Platt{}, logisticRows([]float64{0.2, 0.3, 0.4, 0.7}, []int32{1, 0, 1, 0}, nil))
	if f := falls.Curve(0); f(0) != 1 || f(1) != 0 {
		t.Errorf("a falling curve makes %v of 0", f(0))
	}
}

// The derivatives are 0 in standard errors, or they are those of a coefficient of Beta that is 0 and would be negative.
func TestLogisticOptimum(t *testing.T) {
	borders := [3]int{}
	for seed := range uint64(60) {
		p := logisticDraw(200+seed, 30+int(seed)*3, 1, metrics.Logits, seed%3 == 0)
		for i := range p.Labels {
			if seed%4 == 1 && p.F64[i] > 0 { // one side says nothing, or the wrong
				p.Labels[i] = int32(i % 2)
			}
			if seed%4 == 2 && p.F64[i] < 0 {
				p.Labels[i] = int32(i % 2)
			}
			if seed%12 == 3 {
				p.Labels[i] = 1 - p.Labels[i]
			}
		}
		derivatives := func(x func(z float64) (u, v float64), a, b, c float64) (gu, gv, gc float64) {
			var hu, hv, hc float64
			for i, z := range p.F64 {
				w := 1.0
				if p.Weights != nil {
					w = p.Weights[i]
				}
				u, v := x(z)
				mu := 1 / (1 + math.Exp(-a*u-b*v-c))
				r, h := w*(mu-float64(p.Labels[i])), w*mu*(1-mu)
				gu, gv, gc = gu+r*u, gv+r*v, gc+r
				hu, hv, hc = hu+h*u*u, hv+h*v*v, hc+h
			}
			return gu / math.Sqrt(hu), gv / math.Sqrt(hv), gc / math.Sqrt(hc)
		}
		f := logisticMap(t, recal.Platt{}, p).Platt(0)
		g, _, h := derivatives(func(z float64) (float64, float64) { return z, 1 }, f.A, 0, f.B)
		logisticClose(t, "platt's derivative by a", g, 0, 1e-12)
		logisticClose(t, "platt's derivative by b", h, 0, 1e-12)
		e := logisticMap(t, recal.Beta{}, p).Beta(0)
		ga, gb, gc := derivatives(func(z float64) (float64, float64) {
			s := math.Log1p(math.Exp(-math.Abs(z)))
			return math.Min(z, 0) - s, math.Max(z, 0) + s
		}, e.A, e.B, e.C)
		logisticClose(t, "beta's derivative by c", gc, 0, 1e-12)
		zeros := 0
		for _, c := range [][2]float64{{e.A, ga}, {e.B, gb}} {
			switch {
			case c[0] == 0 && c[1] < -1e-12:
				t.Errorf("a coefficient is 0, and the derivative %v", c[1])
			case c[0] == 0:
				zeros++
			default:
				logisticClose(t, "beta's derivative", c[1], 0, 1e-12)
			}
		}
		borders[zeros]++
	}
	if slices.Min(borders[:]) == 0 {
		t.Errorf("the fits have 0, 1 and 2 coefficients that are 0 %v times", borders)
	}
}

// Fits from any scores end, with a curve or a reason.
func TestLogisticWild(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 13))
	var reads []int
	for range check.Size(40, 120, 120) {
		n := 4 + r.IntN(40)
		p := logisticRows(make([]float64, n), make([]int32, n), nil)
		p.Kind = metrics.Logits
		spread, at := math.Exp(30*r.Float64()-20), math.Round(40*r.NormFloat64())
		for i := range p.F64 {
			switch p.F64[i] = at + spread*r.NormFloat64(); r.IntN(12) {
			case 0:
				p.F64[i] *= math.Exp(20 * r.Float64())
			case 1:
				p.F64[i] = at
			}
			p.Labels[i] = int32(r.IntN(2))
		}
		for _, m := range []recal.Method{recal.Platt{}, recal.Platt{Smoothed: true}, recal.Beta{}} {
			f, err := m.Fit(recal.InMemory(p), &recal.Options{Threads: 1})
			if err != nil {
				if !errors.Is(err, recal.ErrUnreachable) {
					t.Errorf("%s of %v, %v: %v", m, p.F64, p.Labels, err)
				}
				continue
			}
			reads = append(reads, f.Fit().Reads)
			logisticValid(t, "wild", f.(*recal.CurveMap))
		}
	}
	slices.Sort(reads)
	t.Logf("%d fits take %d reads in the median, 9 of 10 at most %d, and all %d", len(reads), reads[len(reads)/2],
		reads[len(reads)*9/10], reads[len(reads)-1])
	if reads[len(reads)/2] > 12 {
		t.Errorf("half of the fits take more than %d reads", reads[len(reads)/2])
	}
}

func TestLogisticFiles(t *testing.T) {
	p := logisticDraw(9, 50, 1, metrics.Probs, false)
	for _, m := range []recal.Method{recal.Platt{}, recal.Beta{}} {
		f := logisticMap(t, m, p)
		for _, wrong := range []string{"a", "b"} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s has curve %s of another method", m, wrong)
					}
				}()
				if m == (recal.Beta{}) {
					f.Platt(0)
				} else {
					f.Beta(0)
				}
			}()
		}
		for _, s := range []string{m.String(), strings.Replace(m.String(), "platt", "platt(smoothed,top_label)", 1)} {
			n, err := recal.Parse(s)
			if err != nil || n.String() != s {
				t.Errorf("%s is read as %v, %v", s, n, err)
			}
		}
		if _, err := recal.Parse(m.String() + "(slope)"); err == nil {
			t.Errorf("%s has an option slope", m)
		}
	}
}

// logisticMany returns n binary rows of float32 probabilities.
func logisticMany(n int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(5, 6))
	p := &metrics.Predictions{Scores: metrics.Scores{F32: make([]float32, n), Rows: n, Classes: 1}, Labels: make([]int32, n)}
	for i := range n {
		z := 2 * r.NormFloat64()
		p.F32[i] = float32(1 / (1 + math.Exp(-z)))
		if r.Float64() < 1/(1+math.Exp(0.3-0.7*z)) {
			p.Labels[i] = 1
		}
	}
	return p
}

func BenchmarkLogisticFit(b *testing.B) {
	p := logisticMany(10_000_000)
	for _, m := range []recal.Method{recal.Platt{}, recal.Beta{}} {
		b.Run(m.String(), func(b *testing.B) {
			reads := 0
			for b.Loop() {
				f, err := m.Fit(recal.InMemory(p), &recal.Options{Threads: 1})
				if err != nil {
					b.Fatal(err)
				}
				reads += f.Fit().Reads
			}
			b.ReportMetric(float64(reads)/float64(b.N), "reads")
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(reads), "ms/read")
		})
	}
}

func BenchmarkLogisticApply(b *testing.B) {
	p := logisticMany(1 << 20)
	for _, m := range []recal.Method{recal.Platt{}, recal.Beta{}} {
		b.Run(m.String(), func(b *testing.B) {
			f, err := m.Fit(recal.InMemory(p), nil)
			if err != nil {
				b.Fatal(err)
			}
			dst := metrics.Scores{F32: make([]float32, p.Rows), Rows: p.Rows, Classes: 1}
			for b.Loop() {
				f.Apply(&dst, &p.Scores, p.Kind)
			}
			b.ReportMetric(float64(p.Rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
