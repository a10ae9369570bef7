package recal

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"gonum.org/v1/gonum/floats"
)

type linearCase struct {
	Seed   int
	Logits [][]float64
	Labels []int32
	Vector linearGolden `json:"vector_scaling"`
	Matrix linearGolden `json:"matrix_scaling"`
}

type linearGolden struct {
	NLL    float64     `json:"nll"`
	Factor []float64   `json:"w"`
	Matrix [][]float64 `json:"W_columns_centered"`
	Biases []float64   `json:"b_centered"`
	Probs  [][]float64 `json:"probs_first5"`
}

func linearCases(t testing.TB) []linearCase {
	b, err := os.ReadFile("testdata/recalibration.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Multiclass []linearCase }
	if err := json.NewDecoder(z).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc.Multiclass
}

func (c *linearCase) data() *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: c.Labels}
	p.Rows, p.Classes = len(c.Logits), len(c.Logits[0])
	for _, r := range c.Logits {
		p.F64 = append(p.F64, r...)
	}
	return p
}

// linearProbs returns what a map makes of rows of logits, as probabilities.
func linearProbs(m Map, p *metrics.Predictions) []float64 {
	d := metrics.Scores{F64: make([]float64, p.Rows*p.Classes), Rows: p.Rows, Classes: p.Classes}
	m.Apply(&d, &p.Scores, p.Kind)
	return d.F64
}

func TestLinearGolden(t *testing.T) {
	for _, c := range linearCases(t) {
		if c.Vector.Probs == nil {
			continue
		}
		p := c.data()
		for _, g := range []struct {
			method Method
			want   *linearGolden
		}{{Vector{}, &c.Vector}, {Matrix{}, &c.Matrix}} {
			if g.want.Probs == nil {
				continue
			}
			m, err := g.method.Fit(InMemory(p), nil)
			if err != nil {
				t.Fatal(c.Seed, g.method, err)
			}
			got := linearProbs(m, p)
			var nll float64
			for i, y := range p.Labels {
				nll -= math.Log(got[i*p.Classes+int(y)])
			}
			nll /= float64(p.Rows)
			if d := math.Abs(nll/g.want.NLL - 1); d > 1e-12 {
				t.Errorf("%d %v: NLL %v, want %v, %.2g apart", c.Seed, g.method, nll, g.want.NLL, d)
			}
			for i, row := range g.want.Probs {
				for j, want := range row {
					if d := math.Abs(got[i*p.Classes+j] - want); d > 1e-6 {
						t.Errorf("%d %v: row %d class %d: %.2g from the golden one", c.Seed, g.method, i, j, d)
					}
				}
			}
			n, grad := m.(interface{ Passes() (int, float64) }).Passes()
			t.Log(c.Seed, g.method, p.Rows, p.Classes, "passes", n, "gradient", grad)
		}
	}
}

// linearSpoiled returns drawn rows as probabilities, some of them 0, with weights: class 3 has none anywhere.
func linearSpoiled(rows, k int) *metrics.Predictions {
	p := linearDrawn(rows, k, 5)
	q := &metrics.Predictions{Kind: metrics.Probs, Labels: p.Labels}
	q.Rows, q.Classes = rows, k
	q.F32 = make([]float32, rows*k)
	kernel.SoftmaxF32(q.F32, k, p.F32, rows, k, k)
	for i := range rows {
		row := q.F32[i*k : (i+1)*k]
		if q.Labels[i] == 3 {
			q.Labels[i] = 4
		}
		row[3] = 0
		if i%5 == 0 {
			row[(i/5)%k] = 0
		}
		s := float32(0)
		for _, v := range row {
			s += v
		}
		for j := range row {
			row[j] /= s
		}
		q.Weights = append(q.Weights, float64(i%4)/2)
	}
	return q
}

func TestLinearGradient(t *testing.T) {
	const k, h = 6, 1e-5
	r := rand.New(rand.NewPCG(3, 4))
	for _, l := range []*linear{
		{full: true}, {}, {full: true, off: 2, bias: 3},
	} {
		l.d = InMemory(linearSpoiled(300, k))
		if err := l.prepare(); err != nil {
			t.Fatal(err)
		}
		theta := make([]float64, l.size())
		for i := range theta {
			theta[i] = r.NormFloat64() / 10
		}
		n := len(theta)
		grad, other := make([]float64, n), make([]float64, n)
		if _, err := l.gradient(grad, theta); err != nil {
			t.Fatal(err)
		}
		at := func(x []float64) float64 {
			v, err := l.gradient(other, x)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		for i := range theta {
			x := slices.Clone(theta)
			x[i] += h
			up := at(x)
			x[i] -= 2 * h
			if d := (up - at(x)) / (2 * h); math.Abs(d-grad[i]) > 1e-7*(1+math.Abs(d)) {
				t.Errorf("full %v: element %d is %v, and differences say %v", l.full, i, grad[i], d)
			}
		}

		// Coordinates: the same slope along a way.
		c, err := l.coordinates(theta)
		if err != nil {
			t.Fatal(err)
		}
		x, moved := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		c.parameters(moved, x)
		floats.Sub(moved, theta)
		want := floats.Dot(moved, grad)
		c.gradient(grad)
		if got := floats.Dot(x, grad); math.Abs(got-want) > 1e-10*(1+math.Abs(want)) {
			t.Errorf("full %v: slope %v by coordinates, %v by parameters", l.full, got, want)
		}
	}
}

// linearParts yields rows in chunks of other sizes.
type linearParts struct {
	p    *metrics.Predictions
	size int
	at   int
}

func (s *linearParts) Close() error { return nil }

func (s *linearParts) Next() (*metrics.Chunk, error) {
	if s.at >= s.p.Rows {
		return nil, io.EOF
	}
	whole := metrics.Chunk{Predictions: *s.p}
	c := whole.Slice(s.at, min(s.p.Rows, s.at+s.size))
	s.at += c.Rows
	return &c, nil
}

func linearFile(t *testing.T, m Method, d Data, o *Options) string {
	t.Helper()
	f, err := m.Fit(d, o)
	if err != nil {
		t.Fatal(m, err)
	}
	b, err := Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Marshal(g)
	if err != nil || string(again) != string(b) {
		t.Errorf("%v: what was read is not what was written: %v", m, err)
	}
	return string(b)
}

func TestLinearSameBits(t *testing.T) {
	p := linearSpoiled(2000, 7)
	for _, m := range []Method{Vector{}, Matrix{}, Matrix{OffDiagonal: 1, Bias: 0.5}} {
		want := linearFile(t, m, InMemory(p), &Options{Threads: 1})
		for _, size := range []int{64, 100, 256, 999} {
			d := OpenFunc(func() (Source, error) { return &linearParts{p: p, size: size}, nil })
			if got := linearFile(t, m, d, &Options{Threads: 1 + size%5}); got != want {
				t.Errorf("%v: another file of chunks of %d rows", m, size)
			}
		}
	}
	// Picked rows keep their numbers.
	rest, _ := Folds{K: 3}.Split(InMemory(p), 1)
	want := linearFile(t, Matrix{}, rest, &Options{Threads: 1})
	parts := OpenFunc(func() (Source, error) { return &linearParts{p: p, size: 300}, nil })
	rest, _ = Folds{K: 3}.Split(parts, 1)
	if got := linearFile(t, Matrix{}, rest, &Options{Threads: 4}); got != want {
		t.Error("another file of a fold in other chunks")
	}
}

// linearSlice returns some rows, one as often as it is named.
func linearSlice(p *metrics.Predictions, rows []int) *metrics.Predictions {
	q := &metrics.Predictions{Kind: p.Kind}
	q.Rows, q.Classes = len(rows), p.Classes
	for _, i := range rows {
		q.F32 = append(q.F32, p.F32[i*p.Classes:(i+1)*p.Classes]...)
		q.Labels = append(q.Labels, p.Labels[i])
		if p.Weights != nil {
			q.Weights = append(q.Weights, p.Weights[i])
		}
	}
	return q
}

func TestLinearWeights(t *testing.T) {
	p := linearDrawn(400, 4, 9)
	var rows []int
	for i := range p.Rows {
		p.Weights = append(p.Weights, float64(i%3))
		for range i % 3 {
			rows = append(rows, i)
		}
	}
	q := linearSlice(p, rows)
	q.Weights = nil
	for _, m := range []Method{Vector{}, Matrix{}} {
		a, err := m.Fit(InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Fit(InMemory(q), nil)
		if err != nil {
			t.Fatal(err)
		}
		x, y := linearProbs(a, p), linearProbs(b, p)
		for i := range x {
			if math.Abs(x[i]-y[i]) > 1e-7 {
				t.Fatalf("%v: %v with weights, %v with as many rows", m, x[i], y[i])
			}
		}
	}
}

func TestLinearUnreachable(t *testing.T) {
	logits := func(labels []int32, k int, z ...float64) *metrics.Predictions {
		p := &metrics.Predictions{Kind: metrics.Logits, Labels: labels}
		p.Rows, p.Classes, p.F64 = len(labels), k, z
		return p
	}
	drawn := func(f func(p *metrics.Predictions, i int)) *metrics.Predictions {
		p := linearDrawn(300, 4, 2)
		for i := range p.Rows {
			f(p, i)
		}
		return p
	}
	alike := drawn(func(p *metrics.Predictions, i int) { p.Labels[i] = 2 })
	unseen := drawn(func(p *metrics.Predictions, i int) { p.Labels[i] %= 3 })
	// Class 3 can be told from all others, which can not be told from each other.
	apart := drawn(func(p *metrics.Predictions, i int) {
		p.F32[i*4+3] = -5
		if p.Labels[i] == 3 {
			p.F32[i*4+3] = 5
		}
	})
	for _, c := range []struct {
		name string
		p    *metrics.Predictions
		m    Method
		want string
	}{
		{"one class", alike, Vector{}, "all labels are class 2"},
		{"one class", alike, Matrix{}, "all labels are class 2"},
		{"one row", linearSlice(alike, []int{0}), Matrix{OffDiagonal: 1}, "all labels are class 2"},
		{"no label", unseen, Vector{}, "no label is class 3"},
		{"no label", unseen, Matrix{}, "no label is class 3"},
		{"separable", logits([]int32{0, 1, 2}, 3, 1, 0, 0, 0, 1, 0, 0, 0, 1), Vector{}, "classes are perfectly separable: vector predicts the labels of all 3 rows"},
		{"separable by W", linearSlice(linearDrawn(40, 8, 1), rand.New(rand.NewPCG(1, 2)).Perm(40)), Matrix{Bias: 0}, "fit to more rows"},
		{"one class apart", apart, Vector{}, "most of all those of class 3"},
		{"one class apart", apart, Matrix{}, "most of all those of class 3"},
		{"the diagonal is free", apart, Matrix{OffDiagonal: 1, Bias: 1}, "class 3"},
	} {
		f, err := c.m.Fit(InMemory(c.p), nil)
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %v: %v, %v, want %q", c.name, c.m, f, err, c.want)
		} else {
			t.Log(err)
		}
	}
}

func TestLinearReachable(t *testing.T) {
	p := linearDrawn(40, 8, 1)
	for i := range p.Labels {
		p.Labels[i] %= 7
	}
	still := linearDrawn(90, 3, 1)
	clear(still.F32)
	alike := linearDrawn(50, 3, 1) // of 0.2, 0.2 and 0.6, whose logarithms' squares have no exact sum
	alike.Kind, alike.F32, alike.F64 = metrics.Probs, nil, slices.Repeat([]float64{0.2, 0.2, 0.6}, 50)
	unsure := linearDrawn(500, 5, 1)
	for i := range unsure.F32 {
		unsure.F32[i] *= 1e4
	}
	logs := linearSpoiled(800, 6)
	logs.Kind = metrics.LogProbs
	for i, v := range logs.F32 {
		logs.F32[i] = max(float32(kernel.Log64(float64(v))), float32(math.Inf(-1)))
		if v > 0 && v < 1e-4 && int32(i%6) != logs.Labels[i/6] {
			logs.F32[i] = -300
		}
	}
	for _, c := range []struct {
		name string
		p    *metrics.Predictions
		m    Method
	}{
		{"separable, with penalties", p, Matrix{OffDiagonal: 1, Bias: 1}},
		{"constant scores", still, Vector{}},
		{"constant scores", still, Matrix{}},
		{"constant probabilities", alike, Matrix{}},
		{"zeros", linearSpoiled(800, 6), Matrix{}},
		{"zeros", linearSpoiled(800, 6), Vector{}},
		{"logarithms", logs, Matrix{}},
		{"far logits", unsure, Vector{}},
		{"far logits", unsure, Matrix{}},
		{"two classes", linearDrawn(200, 2, 3), Vector{}},
		{"two classes", linearDrawn(200, 2, 3), Matrix{OffDiagonal: 1, Bias: 1}},
	} {
		m, err := c.m.Fit(InMemory(c.p), nil)
		if err != nil {
			t.Errorf("%s, %v: %v", c.name, c.m, err)
			continue
		}
		for i, v := range linearProbs(m, c.p) {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%s, %v: row %d has %v", c.name, c.m, i/c.p.Classes, v)
			}
		}
		n, g := m.(interface{ Passes() (int, float64) }).Passes()
		t.Log(c.name, c.m, n, g, m.Fit())
	}
	m, err := Vector{}.Fit(InMemory(still), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := [3]float64{}
	for _, y := range still.Labels {
		n[y]++
	}
	for j, v := range linearProbs(m, still)[:3] {
		if want := n[j] / 90; math.Abs(v-want) > 1e-8 {
			t.Errorf("constant scores: class %d has %v, and its labels are %v of all", j, v, want)
		}
	}
}

func TestLinearErrors(t *testing.T) {
	p := linearDrawn(50, 3, 1)
	for _, m := range []Matrix{{OffDiagonal: -1}, {Bias: math.NaN()}, {Bias: math.Inf(1)}} {
		if _, err := m.Fit(InMemory(p), nil); err == nil {
			t.Errorf("%v is no error", m)
		}
	}
	one := &metrics.Predictions{Kind: metrics.Logits, Labels: []int32{0, 1}}
	one.Rows, one.Classes, one.F64 = 2, 1, []float64{1, 2}
	if _, err := (Vector{}).Fit(InMemory(one), nil); err == nil || !strings.Contains(err.Error(), "platt") {
		t.Error(err)
	}
	none := &metrics.Predictions{Kind: metrics.Probs, Labels: []int32{0, 1}}
	none.Rows, none.Classes, none.F64 = 2, 2, []float64{0, 1, 1, 0}
	if _, err := (Matrix{}).Fit(InMemory(none), nil); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "true class probability 0 in all 2 rows") {
		t.Error(err)
	}
	far := linearDrawn(50, 3, 1)
	far.F64, far.F32 = make([]float64, 150), nil
	far.F64[7] = 1e200
	if _, err := (Matrix{}).Fit(InMemory(far), nil); err == nil || !strings.Contains(err.Error(), "cannot be scaled") {
		t.Error(err)
	}
	// Hardly any passes.
	l := &linear{d: InMemory(p), name: "vector", passes: linearPasses - 1}
	if _, err := l.fit(); !errors.Is(err, ErrNoMinimum) {
		t.Error(err)
	}
	// Other rows at every reading.
	n := 50
	changing := OpenFunc(func() (Source, error) {
		n--
		return InMemory(linearSlice(p, make([]int, n))).Open()
	})
	if _, err := (Vector{}).Fit(changing, nil); err == nil || !strings.Contains(err.Error(), "rows changed") {
		t.Error(err)
	}
	for s, want := range map[string]Method{
		"vector": Vector{}, "matrix": Matrix{}, "matrix(bias=2)": Matrix{Bias: 2},
		"matrix(off_diagonal=0.5,bias=1)": Matrix{OffDiagonal: 0.5, Bias: 1},
	} {
		m, err := Parse(s)
		if err != nil || m != want || m.String() != s {
			t.Errorf("%q: %v, %v", s, m, err)
		}
	}
	for _, s := range []string{"vector(bias=1)", "matrix(bias=-1)", "matrix(off=1)"} {
		if _, err := Parse(s); err == nil {
			t.Errorf("%q is no error", s)
		}
	}
	f := Fit{Classes: 2, Kind: "probs"}
	for _, s := range []string{
		`{}`, `{"factors":[1],"biases":[1]}`, `{"factors":[1,2],"biases":[1]}`, `{"matrix":[[1,2],[3]],"biases":[1,2]}`,
		`{"matrix":[[1,2],[3,4],[5,6]],"biases":[1,2]}`, `{"matrix":[[1,2],[3,4]],"biases":[1,2],"scale":3}`,
	} {
		if _, err := (Vector{}).decode(f, []byte(s)); err == nil {
			t.Errorf("vector of %s is no error", s)
		}
		if _, err := (Matrix{}).decode(f, []byte(s)); err == nil {
			t.Errorf("matrix of %s is no error", s)
		}
	}
	if _, err := (Vector{}).decode(Fit{Classes: 2, Kind: "normal"}, []byte(`{"factors":[1,2],"biases":[1,2]}`)); err == nil {
		t.Error("a map of forecasts is no error")
	}
}

func TestLinearApply(t *testing.T) {
	p := linearSpoiled(700, 6)
	for _, m := range []Method{Vector{}, Matrix{}} {
		f, err := m.Fit(InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Fit().LeftOut == 0 || f.Fit().FirstLeftOut < 0 {
			t.Error("no row was left out")
		}
		wide := linearProbs(f, p)
		for i, v := range p.F32 {
			if (v == 0) != (wide[i] == 0) {
				t.Fatalf("%v: %v became %v", m, v, wide[i])
			}
		}
		// Logarithms of the probabilities, in place, and rows with faults.
		logs := &metrics.Scores{F64: make([]float64, len(wide)), Rows: p.Rows, Classes: p.Classes}
		for i, v := range p.F32 {
			logs.F64[i] = kernel.Log64(float64(v))
		}
		logs.F64[2] = math.NaN()
		for j := range 6 {
			logs.F64[6+j] = math.Inf(-1)
		}
		logs.F64[12] = math.Inf(1)
		f.Apply(logs, logs, metrics.LogProbs)
		for i, v := range logs.F64 {
			if i < 18 && v == v || i >= 18 && v != wide[i] {
				t.Fatalf("%v: place %d has %v, and %v of probabilities", m, i, v, wide[i])
			}
		}
		narrow := p.Scores
		narrow.F32 = slices.Clone(p.F32)
		f.Apply(&narrow, &narrow, metrics.Probs)
		for i, v := range narrow.F32 {
			if v != float32(wide[i]) {
				t.Fatalf("%v: place %d has %v, and %v as float64", m, i, v, wide[i])
			}
		}
		if _, _, err := f.Out(metrics.Logits, 6); err == nil {
			t.Error("a map of probabilities takes logits")
		}
		if _, _, err := f.Out(metrics.Probs, 5); err == nil {
			t.Error("a map takes fewer classes")
		}
		if _, _, err := f.Out(metrics.Normals, 6); err == nil {
			t.Error("a map takes forecasts")
		}
	}
}

func BenchmarkLinear(b *testing.B) {
	p := linearDrawn(10000, 100, 1)
	for _, m := range []Method{Vector{}, Matrix{}} {
		b.Run(m.String(), func(b *testing.B) {
			passes := 0
			for range b.N {
				f, err := m.Fit(InMemory(p), nil)
				if err != nil {
					b.Fatal(err)
				}
				n, _ := f.(interface{ Passes() (int, float64) }).Passes()
				passes += n
			}
			b.ReportMetric(float64(passes)/float64(b.N), "passes")
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(passes), "ms/pass")
		})
	}
}
