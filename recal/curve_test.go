package recal_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// curveMethods are those whose maps are curves and that sort or count rows: they have no likelihood.
var curveMethods = []recal.Method{
	recal.Histogram{}, recal.Histogram{Bins: 7, EqualMass: true}, recal.Histogram{Empty: recal.Identity, TopLabel: true},
	recal.Histogram{Bins: 4, EqualMass: true, TopLabel: true, RightClosed: true}, recal.Histogram{AsCoded: true},
	recal.Isotonic{}, recal.Isotonic{Interpolate: true}, recal.Isotonic{TopLabel: true},
}

// curveRows returns rows of k scores of a kind, labels that they are not quite right about, and weights. Some scores are equal.
func curveRows(seed uint64, n, k int, kind metrics.Kind, narrow, weighted bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &metrics.Predictions{Kind: kind, Labels: make([]int32, n)}
	p.Rows, p.Classes, p.F64 = n, k, make([]float64, n*k)
	for i := range n {
		row := p.F64[i*k:][:k]
		sum, at := 0.0, r.Float64()
		for j := range row {
			row[j] = math.Exp(2 * r.NormFloat64())
			sum += row[j]
		}
		label := k - 1
		for j := range row {
			row[j] /= sum
			if at -= row[j]; at < 0 {
				label = min(label, j)
			}
		}
		if k == 1 {
			row[0] = math.Round(r.Float64()*200) / 200
			label = 0
			if r.Float64() < row[0]*row[0] {
				label = 1
			}
		} else if r.IntN(4) == 0 {
			label = r.IntN(k)
		}
		p.Labels[i] = int32(label)
		for j, v := range row {
			switch {
			case kind == metrics.LogProbs:
				row[j] = math.Log(v)
			case kind == metrics.Logits && k == 1:
				row[j] = math.Log(max(v, 1e-9) / (1 - min(v, 1-1e-9)))
			case kind == metrics.Logits:
				row[j] = math.Log(v) + 1
			}
		}
	}
	if narrow {
		p.F32 = make([]float32, len(p.F64))
		for i, v := range p.F64 {
			p.F32[i] = float32(v)
		}
		p.F64 = nil
	}
	if weighted {
		p.Weights = make([]float64, n)
		for i := range p.Weights {
			p.Weights[i] = float64(r.IntN(4)) * (1 + r.Float64())
		}
	}
	return p
}

// curvePick returns some rows of predictions, in the order given.
func curvePick(p *metrics.Predictions, rows []int) *metrics.Predictions {
	q := &metrics.Predictions{Kind: p.Kind}
	q.Rows, q.Classes = len(rows), p.Classes
	for _, r := range rows {
		at, end := r*p.Classes, (r+1)*p.Classes
		if p.F64 != nil {
			q.F64 = append(q.F64, p.F64[at:end]...)
		} else {
			q.F32 = append(q.F32, p.F32[at:end]...)
		}
		q.Labels = append(q.Labels, p.Labels[r])
		if p.Weights != nil {
			q.Weights = append(q.Weights, p.Weights[r])
		}
	}
	return q
}

// curveChunks yields predictions in chunks of this many rows.
type curveChunks struct {
	p        *metrics.Predictions
	at, size int
}

func (c *curveChunks) Close() error { return nil }

func (c *curveChunks) Next() (*metrics.Chunk, error) {
	if c.at >= c.p.Rows {
		return nil, io.EOF
	}
	var rows []int
	for i := c.at; i < min(c.at+c.size, c.p.Rows); i++ {
		rows = append(rows, i)
	}
	k := &metrics.Chunk{Predictions: *curvePick(c.p, rows), First: int64(c.at)}
	c.at += c.size
	return k, nil
}

func curveFit(t *testing.T, m recal.Method, d recal.Data, o *recal.Options) recal.Map {
	t.Helper()
	f, err := m.Fit(d, o)
	if err != nil {
		t.Fatalf("%s: %v", m, err)
	}
	return f
}

// curveText returns the parameters of a map's file.
func curveText(t *testing.T, m recal.Map) string {
	t.Helper()
	b, err := recal.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	s := string(b)
	return s[strings.Index(s, `"parameters"`):strings.Index(s, `"sha256"`)]
}

// curveApply returns what a map makes of rows, as float64.
func curveApply(m recal.Map, p *metrics.Predictions) []float64 {
	dst := metrics.Scores{F64: make([]float64, p.Rows*p.Classes), Rows: p.Rows, Classes: p.Classes}
	m.Apply(&dst, &p.Scores, p.Kind)
	return dst.F64
}

// TestCurvesDoNotDepend: threads, chunks, the order of rows and groups of classes change no bit; all weights 2 are as none, and a weight
// of 2 is a row that is there twice.
func TestCurvesDoNotDepend(t *testing.T) {
	for _, in := range []struct {
		k                int
		kind             metrics.Kind
		narrow, weighted bool
	}{
		{1, metrics.Probs, true, false}, {1, metrics.Probs, false, true}, {1, metrics.Logits, false, false}, {1, metrics.LogProbs, true, true},
		{2, metrics.Probs, true, false}, {3, metrics.Logits, true, true}, {5, metrics.LogProbs, false, false}, {70, metrics.Probs, false, true},
	} {
		n := check.Size(200, 600, 600)
		p := curveRows(uint64(in.k), n, in.k, in.kind, in.narrow, in.weighted)
		for _, m := range curveMethods {
			name := fmt.Sprintf("%s of %+v", m, in)
			want := curveText(t, curveFit(t, m, recal.InMemory(p), &recal.Options{Threads: 1}))
			same := func(what string, d recal.Data, o *recal.Options) {
				if got := curveText(t, curveFit(t, m, d, o)); got != want {
					t.Errorf("%s: %s changes the curves", name, what)
				}
			}
			same("a number of threads", recal.InMemory(p), &recal.Options{Threads: 5})
			same("chunks", recal.OpenFunc(func() (recal.Source, error) { return &curveChunks{p: p, size: 37}, nil }), &recal.Options{Threads: 2})
			// Some columns at a time: the scratch of one worker, and not all columns.
			small := int64(n*(8+8+4+16) + n/63*16 + 2*n*8)
			if in.k > 50 {
				small = 1 << 17 // which the bins take
			}
			same("groups of classes", recal.InMemory(p), &recal.Options{Threads: 3, Memory: small})
			order := rand.New(rand.NewPCG(5, 5)).Perm(n)
			same("the order of rows", recal.InMemory(curvePick(p, order)), nil)
			if in.weighted {
				continue
			}
			twice := *p
			twice.Weights = make([]float64, n)
			for i := range twice.Weights {
				twice.Weights[i] = 2
			}
			same("the weight 2", recal.InMemory(&twice), nil)
			if h, ok := m.(recal.Histogram); ok && h.EqualMass {
				continue // its ranks are those of rows
			}
			var rows []int
			for i := range twice.Weights {
				rows = append(rows, i)
				if i%3 == 0 {
					rows = append(rows, i)
					twice.Weights[i] = 2
				} else {
					twice.Weights[i] = 1
				}
			}
			want = curveText(t, curveFit(t, m, recal.InMemory(curvePick(p, rows)), nil))
			same("a weight of 2 for a row that is there twice", recal.InMemory(&twice), nil)
		}
	}
}

// TestCurvesAreDistributions: rows sum to 1 whatever the number of classes, in place and from each kind; NaN fills its row.
func TestCurvesAreDistributions(t *testing.T) {
	for _, k := range []int{1, 2, 3, 10, 1000} {
		n := max(20, 2000/k)
		for i, kind := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
			if testing.Short() && (i+k)%2 > 0 {
				continue
			}
			p := curveRows(uint64(k), n, k, kind, false, false)
			for _, m := range curveMethods {
				f := curveFit(t, m, recal.InMemory(p), nil)
				if out, width, err := f.Out(kind, k); out != metrics.Probs || width != k || err != nil {
					t.Fatalf("%s: Out is %v, %d, %v", m, out, width, err)
				}
				got := curveApply(f, p)
				for i := range n {
					sum := 0.0
					for _, v := range got[i*k:][:k] {
						if !(v >= 0 && v <= 1) {
							t.Fatalf("%s, %d classes of %s: %v", m, k, kind, v)
						}
						sum += v
					}
					if k > 1 && !(math.Abs(sum-1) < 1e-12) {
						t.Fatalf("%s, %d classes of %s: row %d sums to %v", m, k, kind, i, sum)
					}
				}
				// In place, with room between the rows, as float32.
				wide := metrics.Scores{F32: make([]float32, n*(k+1)), Rows: n, Classes: k, Stride: k + 1}
				for i := range n {
					for j := range k {
						wide.F32[i*(k+1)+j] = float32(p.F64[i*k+j])
					}
				}
				wide.F32[k] = 7
				narrow := metrics.Scores{F32: make([]float32, n*k), Rows: n, Classes: k}
				f.Apply(&narrow, &wide, kind)
				f.Apply(&wide, &wide, kind)
				for i := range n {
					for j := range k {
						if wide.F32[i*(k+1)+j] != narrow.F32[i*k+j] {
							t.Fatalf("%s: in place is another result", m)
						}
					}
				}
				if wide.F32[k] != 7 {
					t.Fatalf("%s: what is between the rows was written", m)
				}
				bad := curvePick(p, []int{0, 1, 2})
				bad.F64[k] = math.NaN()
				got = curveApply(f, bad)
				for i, v := range got {
					if (i/k == 1) != (v != v) {
						t.Fatalf("%s, %d classes of %s: %v with NaN in row 1", m, k, kind, got)
					}
				}
				if kind == metrics.Probs {
					continue
				}
				bad.F64[k] = math.Inf(1)
				got = curveApply(f, bad)
				if kind == metrics.Logits && k > 1 && got[k] == got[k] {
					t.Fatalf("%s, %d classes of %s: %v of a logit +Inf", m, k, kind, got)
				}
				if kind == metrics.Logits && k == 1 { // a certain event
					bad.F64[1] = 1e300
					if want := curveApply(f, bad); got[1] != want[1] {
						t.Fatalf("%s of logits: %v of +Inf, %v of 1e300", m, got[1], want[1])
					}
				}
			}
		}
	}
}

// TestCurvesRest: K curves are the binary fits of each class against the rest, a top label's curve that of arg max and its being right.
func TestCurvesRest(t *testing.T) {
	const n, k = 400, 4
	p := curveRows(8, n, k, metrics.Probs, false, true)
	for _, m := range curveMethods {
		f := curveFit(t, m, recal.InMemory(p), nil).(*recal.CurveMap)
		top := f.Curves() == 1
		for class := range f.Curves() {
			one := &metrics.Predictions{Labels: make([]int32, n), Weights: p.Weights}
			one.Rows, one.Classes, one.F64 = n, 1, make([]float64, n)
			for i := range n {
				c := class
				if top {
					c = 0
					for j, v := range p.F64[i*k:][:k] {
						if v > p.F64[i*k+c] {
							c = j
						}
					}
				}
				if one.F64[i] = p.F64[i*k+c]; int(p.Labels[i]) == c {
					one.Labels[i] = 1
				}
			}
			alone := m
			switch a := m.(type) {
			case recal.Histogram:
				a.TopLabel = false
				alone = a
			case recal.Isotonic:
				a.TopLabel = false
				alone = a
			}
			b := curveFit(t, alone, recal.InMemory(one), nil).(*recal.CurveMap)
			for i := range 501 {
				if x := float64(i) / 500; f.Curve(class)(x) != b.Curve(0)(x) {
					t.Fatalf("%s: curve %d of %v is %v, its own fit's %v", m, class, x, f.Curve(class)(x), b.Curve(0)(x))
				}
			}
		}
		got := curveApply(f, p)
		for i := range n {
			row, out := p.F64[i*k:][:k], got[i*k:][:k]
			at, sum := 0, 0.0
			for j, v := range row {
				if v > row[at] {
					at = j
				}
				if !top {
					sum += f.Curve(j)(v)
				}
			}
			for j, v := range row {
				want := f.Curve(0)(row[at])
				switch {
				case !top && sum == 0:
					want = 1.0 / k
				case !top:
					want = f.Curve(j)(v) / sum
				case j != at:
					want = v * (1 - want) / (1 - row[at])
				}
				if math.Abs(out[j]-want) > 1e-14 {
					t.Fatalf("%s: row %v becomes %v, want %v at %d", m, row, out, want, j)
				}
			}
		}
	}
}

// TestCurvesOfLittle: whatever the labels and scores, there is a valid map.
func TestCurvesOfLittle(t *testing.T) {
	for name, in := range map[string]struct {
		p []float64
		y []int32
		k int
	}{
		"one row":            {[]float64{0.3}, []int32{1}, 1},
		"one row of three":   {[]float64{0.3, 0.5, 0.2}, []int32{2}, 3},
		"all 0":              {[]float64{0.3, 0.6, 0.9}, []int32{0, 0, 0}, 1},
		"all 1":              {[]float64{0.3, 0.6, 0.9}, []int32{1, 1, 1}, 1},
		"one class of three": {[]float64{1, 0, 0, 0.2, 0.8, 0}, []int32{1, 1}, 3},
		"separable":          {[]float64{0.1, 0.2, 0.8, 0.9}, []int32{0, 0, 1, 1}, 1},
		"constant":           {[]float64{0.5, 0.5, 0.5, 0.5}, []int32{0, 1, 0, 0}, 1},
		"impossible":         {[]float64{0, 1, 0, 1}, []int32{1, 0, 1, 0}, 1},
		"ends":               {[]float64{0, 1, 5e-324, 1 - 0x1p-53}, []int32{0, 1, 1, 0}, 1},
	} {
		p := &metrics.Predictions{Labels: in.y}
		p.Rows, p.Classes, p.F64 = len(in.y), in.k, in.p
		for _, m := range curveMethods {
			f := curveFit(t, m, recal.InMemory(p), nil)
			b, err := recal.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			g, err := recal.Unmarshal(b)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, m, err)
			}
			q := curveRows(3, 50, in.k, metrics.Probs, false, false)
			got, again := curveApply(f, q), curveApply(g, q)
			for i, v := range got {
				if !(v >= 0 && v <= 1) || v != again[i] {
					t.Fatalf("%s, %s: %v and from the file %v", name, m, v, again[i])
				}
			}
			if fit := f.Fit(); fit.LeftOut != 0 || fit.FirstLeftOut != -1 || fit.Rows != int64(p.Rows) || fit.Classes != in.k {
				t.Errorf("%s, %s: %+v", name, m, fit)
			}
			if c := f.(*recal.CurveMap); strings.HasPrefix(name, "all") && m.String() == "isotonic" {
				if want := float64(in.y[0]); c.Curve(0)(0.5) != want || c.Curve(0)(0) != want {
					t.Errorf("%s: isotonic is not constant", name)
				}
			}
		}
	}
}

// TestCurveErrors: what cannot be fitted or read says so.
func TestCurveErrors(t *testing.T) {
	p := curveRows(1, 1000, 3, metrics.Probs, false, false)
	for _, m := range curveMethods {
		if _, err := m.Fit(recal.InMemory(&metrics.Predictions{Scores: metrics.Scores{Classes: 3}}), nil); err == nil {
			t.Errorf("%s: no rows are no error", m)
		}
		samples := &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{1}}
		samples.Rows, samples.Classes, samples.F64 = 1, 2, []float64{1, 2}
		if _, err := m.Fit(recal.InMemory(samples), nil); err == nil || !strings.Contains(err.Error(), "samples") {
			t.Errorf("%s: %v", m, err)
		}
		nan := curvePick(p, []int{0, 1})
		nan.F64[2] = math.NaN()
		if _, err := m.Fit(recal.InMemory(nan), nil); err == nil {
			t.Errorf("%s: NaN is no error", m)
		}
		f := curveFit(t, m, recal.InMemory(p), nil)
		if _, _, err := f.Out(metrics.Probs, 4); err == nil {
			t.Errorf("%s: takes 4 classes", m)
		}
		if _, _, err := f.Out(metrics.Dirichlet, 3); err == nil {
			t.Errorf("%s: takes Dirichlet parameters", m)
		}
		b, _ := recal.Marshal(f)
		for i := range b {
			if c := bytes.Clone(b); i%7 == 0 && c[i] != ' ' && c[i] != '\n' {
				c[i] ^= 1
				if _, err := recal.Unmarshal(c); err == nil {
					t.Fatalf("%s: a file that was changed at %d is read: %s", m, i, c[max(0, i-20):min(len(c), i+20)])
				}
			}
		}
		back, err := recal.Parse(m.String())
		if err != nil || back != m && back.String() != m.String() {
			t.Errorf("%s is read as %v, %v", m, back, err)
		}
		if _, err := recal.Parse(strings.TrimSuffix(strings.Replace(m.String(), ")", "", 1), ")") + "(nothing=1)"); err == nil {
			t.Errorf("%s: takes any option", m)
		}
	}
	for _, m := range []recal.Method{recal.Isotonic{}, recal.Histogram{EqualMass: true}, recal.Histogram{Bins: 50}} {
		_, err := m.Fit(recal.InMemory(p), &recal.Options{Memory: 10000})
		if err == nil || !strings.Contains(err.Error(), "Options.Memory is 10000") {
			t.Errorf("%s in too little memory: %v", m, err)
		}
	}
}
