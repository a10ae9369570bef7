package recal

import (
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"sync"
	"testing"
	"unsafe"

	"github.com/candor-go/candor/metrics"
)

func TestFinder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 5, 100, 5000} {
		for _, near := range []func() float64{
			r.Float64,
			func() float64 { return math.Ldexp(r.Float64(), -r.IntN(1070)) },
			func() float64 { return 1 - math.Ldexp(r.Float64(), -r.IntN(54)) },
			func() float64 { return float64(r.IntN(5)) / 4 },
		} {
			seen := map[float64]bool{}
			var x []float64
			for range n {
				if v := near(); !seen[v] {
					seen[v] = true
					x = append(x, v)
				}
			}
			sort.Float64s(x)
			f := newFinder(x)
			check := func(p float64) {
				want := sort.Search(len(x), func(i int) bool { return x[i] > p })
				if got := f.notAbove(p); got != want {
					t.Fatalf("%d of %d numbers are not above %v, want %d", got, len(x), p, want)
				}
			}
			for range 2000 {
				check(near())
			}
			for _, v := range x {
				check(v)
				check(math.Nextafter(v, 2))
				check(math.Nextafter(v, -1))
			}
			for _, v := range []float64{0, 1, 0.5, math.Nextafter(0.5, 0), math.Copysign(0, -1), -1, 2, math.Inf(1), math.Inf(-1)} {
				check(v)
			}
			f.notAbove(math.NaN())
		}
	}
}

// TestCurveLogits: logits have all their digits, from each kind and near both ends.
func TestCurveLogits(t *testing.T) {
	ln := func(x float64) float64 { // of what math/big has rounded to a float64
		return math.Log(x)
	}
	for _, row := range [][]float64{
		{0.2, 0.3, 0.5}, {1e-9, 1 - 1e-9}, {1 - 0x1p-53, 0x1p-60, 0x1p-54}, {0, 1, 0}, {0.5, 0.5}, {1e-300, 1e-3, 0.999}, {0.25, 0.25, 0.5, 0},
	} {
		k := len(row)
		logs := make([]float64, k)
		for j, p := range row {
			logs[j] = math.Log(p)
		}
		probs := append([]float64(nil), row...)
		toLogits(probs, 1, k, metrics.Probs)
		toLogits(logs, 1, k, metrics.LogProbs)
		for j, p := range row {
			rest := new(big.Float).SetPrec(300)
			for i, q := range row {
				if i != j {
					rest.Add(rest, big.NewFloat(q))
				}
			}
			q, _ := rest.Float64()
			want := ln(p) - ln(q)
			for name, got := range map[string]float64{"probabilities": probs[j], "logarithms": logs[j]} {
				if got != want && !(math.Abs(got-want) <= 1e-13*math.Max(1, math.Abs(want))) {
					t.Errorf("logit %d of the %s %v is %v, want %v", j, name, row, got, want)
				}
			}
		}
	}
	// Differences beyond those whose exponentials there are.
	x := []float64{2000, 0, 500, negInf}
	toLogits(x, 1, 4, metrics.Logits)
	for j, want := range []float64{1500, -2000, -1500, negInf} {
		if x[j] != want {
			t.Errorf("logit %d is %v, want %v", j, x[j], want)
		}
	}
	for _, c := range []struct {
		v, want float64
		k       metrics.Kind
	}{
		{0.75, math.Log(3), metrics.Probs}, {0, negInf, metrics.Probs}, {1, -negInf, metrics.Probs}, {-3, -3, metrics.Logits},
		{negInf, negInf, metrics.Logits}, {-1000, -1000, metrics.LogProbs}, {-1e-20, 20 * math.Ln10, metrics.LogProbs},
		{math.Log(0.75), math.Log(3), metrics.LogProbs}, {0, -negInf, metrics.LogProbs},
	} {
		if got := eventLogit(c.v, c.k); got != c.want && !(math.Abs(got-c.want) < 1e-14*math.Abs(c.want)) {
			t.Errorf("logit of %v, %s, is %v, want %v", c.v, c.k, got, c.want)
		}
	}
	for _, row := range [][]float64{{math.NaN(), 0, 1}, {0, math.NaN(), 1}, {0, 1, math.Inf(1)}, {negInf, negInf, negInf}} {
		x := append([]float64(nil), row...)
		toLogits(x, 1, 3, metrics.Logits)
		for _, v := range x {
			if v == v {
				t.Errorf("%v becomes %v", row, x)
				break
			}
		}
	}
}

// TestStream: each row that counts is seen once by each curve, with its own outcome and weight.
func TestStream(t *testing.T) {
	const n, k = 1000, 3
	p := &metrics.Predictions{Labels: make([]int32, n), Weights: make([]float64, n)}
	p.Rows, p.Classes, p.F64 = n, k, make([]float64, n*k)
	r := rand.New(rand.NewPCG(1, 1))
	count, out := 0, int64(0)
	for i := range n {
		row := p.F64[i*k:][:k]
		row[0], row[1] = float64(i)/n, float64(r.IntN(2))*(1-float64(i)/n)
		row[2] = 1 - row[0] - row[1]
		p.Labels[i] = int32(r.IntN(k))
		p.Weights[i] = float64(i % 3)
		switch {
		case i%3 == 0:
		case row[p.Labels[i]] == 0:
			out++
		default:
			count++
		}
	}
	s, err := lookBinary(InMemory(p), nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if s.fit.LeftOut != out || out == 0 {
		t.Fatalf("%d rows are left out, want %d", s.fit.LeftOut, out)
	}
	for _, re := range []reading{{likely: true}, {likely: true, logits: true}, {likely: true, top: true}, {likely: true, top: true, logits: true}} {
		var mu sync.Mutex
		seen := make([]int, k)
		hits := make([]float64, k)
		err := s.stream(InMemory(p), &Options{Threads: 3}, re, func() func(int, []float64, []uint8, []float64) {
			return func(class int, x []float64, hit []uint8, w []float64) {
				mu.Lock()
				defer mu.Unlock()
				seen[class] += len(x)
				for i, v := range x {
					if w[i] != 1 && w[i] != 2 {
						t.Errorf("weight %v", w[i])
					}
					if v != v || hit[i] == 1 && (v == negInf || !re.logits && v == 0) {
						t.Errorf("%+v: score %v of a true class", re, v)
					}
					if hit[i] == 1 {
						hits[class] += w[i]
					}
					if re.logits {
						v = sigmoid(v)
					}
					if !re.top && class == 0 { // the score tells the row
						row := int(math.Round(v * n))
						if math.Abs(v*n-float64(row)) > 1e-9 || w[i] != p.Weights[row] || (hit[i] == 1) != (p.Labels[row] == 0) {
							t.Errorf("%+v: score %v, weight %v, outcome %d of row %d", re, v, w[i], hit[i], row)
						}
					}
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, k)
		for i, y := range p.Labels {
			row := p.F64[i*k:][:k]
			switch {
			case row[y] == 0:
			case !re.top:
				want[y] += p.Weights[i]
			case argMax(row) == int(y):
				want[0] += p.Weights[i]
			}
		}
		for class := range re.curves(k) {
			if seen[class] != count || hits[class] != want[class] {
				t.Errorf("%+v: curve %d has seen %d rows of %d, hits of weight %v of %v", re, class, seen[class], count, hits[class], want[class])
			}
		}
	}
}

// TestStreamBinary: of a binary task rows are left out at both ends, whatever the kind.
func TestStreamBinary(t *testing.T) {
	for _, in := range []struct {
		kind  metrics.Kind
		x     []float64
		y     []int32
		count int
	}{
		{metrics.Probs, []float64{0, 0, 1, 1, 0.3}, []int32{0, 1, 0, 1, 1}, 3},
		{metrics.Logits, []float64{negInf, negInf, 5, 5, 0.3}, []int32{0, 1, 0, 1, 1}, 4},
		{metrics.LogProbs, []float64{negInf, negInf, 0, 0, -1}, []int32{0, 1, 0, 1, 1}, 3},
	} {
		p := &metrics.Predictions{Kind: in.kind, Labels: in.y}
		p.Rows, p.Classes, p.F64 = len(in.x), 1, in.x
		s, err := lookBinary(InMemory(p), nil, true)
		if err != nil {
			t.Fatal(err)
		}
		if int(s.fit.LeftOut) != len(in.x)-in.count {
			t.Errorf("%s: %d rows left out, want %d", in.kind, s.fit.LeftOut, len(in.x)-in.count)
		}
		for _, top := range []bool{false, true} {
			n := 0
			err = s.stream(InMemory(p), &Options{Threads: 1}, reading{likely: true, logits: true, top: top}, func() func(int, []float64, []uint8, []float64) {
				return func(_ int, x []float64, hit []uint8, _ []float64) {
					n += len(x)
					for i, z := range x {
						if hit[i] == 1 && z == negInf || hit[i] == 0 && z == -negInf {
							t.Errorf("%s: logit %v of outcome %d", in.kind, z, hit[i])
						}
					}
				}
			})
			if err != nil || n != in.count {
				t.Errorf("%s: %d rows, want %d; %v", in.kind, n, in.count, err)
			}
		}
	}
}

// TestCurveFiles: invalid curves are rejected, whoever wrote them.
func TestCurveFiles(t *testing.T) {
	fit := Fit{Rows: 1, Classes: 1, Kind: "probs", FirstLeftOut: -1}
	for _, c := range []struct {
		m    Method
		text string
		ok   bool
	}{
		{Isotonic{}, `{"curves":[{"x":[0.2,0.5],"y":[0,1]}]}`, true},
		{Isotonic{}, `{"curves":[{"x":[0.5,0.2],"y":[0,1]}]}`, false},
		{Isotonic{}, `{"curves":[{"x":[0.2,0.5],"y":[1,0]}]}`, false},
		{Isotonic{}, `{"curves":[{"x":[0.2,0.5],"y":[0,1.5]}]}`, false},
		{Isotonic{}, `{"curves":[{"x":[-0.2,0.5],"y":[0,1]}]}`, false},
		{Isotonic{}, `{"curves":[{"x":[0.2],"y":[0,1]}]}`, false},
		{Isotonic{}, `{"curves":[{"x":[],"y":[]}]}`, false},
		{Isotonic{}, `{"curves":[null]}`, false},
		{Isotonic{}, `{"curves":[]}`, false},
		{Isotonic{}, `{}`, false},
		{Isotonic{}, `null`, false},
		{Isotonic{}, `{"curves":[{"x":[0.2,0.5],"y":[0,1],"z":1}]}`, false},
		{Isotonic{}, `{"curves":[{"x":[0.2,0.5],"y":[0,1]},{"x":[0.2,0.5],"y":[0,1]}]}`, false},
		{Histogram{}, `{"curves":[{"cuts":[0.5],"values":[0,1]}]}`, true},
		{Histogram{}, `{"curves":[{"cuts":[0.5],"values":[0,1],"identity":[1]}]}`, true},
		{Histogram{}, `{"curves":[{"cuts":[0.5],"values":[0,1],"identity":[2]}]}`, false},
		{Histogram{}, `{"curves":[{"cuts":[0.5],"values":[0,1],"identity":[-1]}]}`, false},
		{Histogram{}, `{"curves":[{"cuts":[0.5],"values":[0,-1]}]}`, false},
		{Histogram{}, `{"curves":[{"cuts":[0.5,0.5],"values":[0,1,1]}]}`, false},
		{Histogram{}, `{"curves":[{"cuts":[5],"values":[0,1]}]}`, false},
		{Histogram{}, `{"curves":[{"cuts":[],"values":[]}]}`, false},
		{Histogram{}, `{"curves":[{"values":[0.5]}]}`, true},
	} {
		m, err := c.m.decode(fit, []byte(c.text))
		if (err == nil) != c.ok {
			t.Errorf("%s, %s: %v", c.m, c.text, err)
		}
		if err == nil {
			if v := m.(*CurveMap).Curve(0)(0.7); !(v >= 0 && v <= 1) {
				t.Errorf("%s: %v", c.text, v)
			}
		}
	}
}

// TestBinBytes: what Histogram says of its memory is so.
func TestBinBytes(t *testing.T) {
	if n := unsafe.Sizeof(binCounts{}); n != binBytes {
		t.Errorf("%d bytes", n)
	}
}

// TestTopLabelTiny: the rest of 1 is shared by others that are the smallest numbers.
func TestTopLabelTiny(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.Probs, Labels: []int32{0, 1, 0}}
	p.Rows, p.Classes, p.F64 = 3, 3, []float64{1, 1e-310, 0, 1, 5e-324, 5e-324, 0.9, 0.1, 0}
	m, err := Histogram{TopLabel: true}.Fit(InMemory(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Apply(&p.Scores, &p.Scores, p.Kind)
	for i, want := range []float64{0.5, 0.5, 0, 0.5, 0.25, 0.25, 1, 0, 0} {
		if p.F64[i] != want {
			t.Errorf("row %d has %v", i/3, p.F64[i/3*3:i/3*3+3])
		}
	}
}
