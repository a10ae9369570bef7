package recal_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// applyAsMethods are all of classes.
func applyAsMethods(classes int) []recal.Method {
	l := append(slices.Clone(curveMethods), recal.Temperature{}, recal.ETS{}, recal.Platt{}, recal.Platt{TopLabel: true}, recal.Beta{}, recal.Beta{TopLabel: true},
		recal.BBQ{}, recal.BBQ{TopLabel: true})
	if classes > 1 {
		l = append(l, recal.Vector{}, recal.Matrix{OffDiagonal: 0.1, Bias: 0.1})
	}
	return l
}

// TestApplyAs: logits, logarithms and both columns say what the probabilities do.
func TestApplyAs(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*(math.Abs(a)+math.Abs(b))+1e-300 }
	for _, k := range []int{1, 3} {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
			p := curveRows(3, 300, k, kind, true, false)
			for _, m := range applyAsMethods(k) {
				f, err := m.Fit(recal.InMemory(p), nil)
				if err != nil {
					t.Fatal(m, err)
				}
				as := func(as metrics.Kind, classes int, narrow bool) []float64 {
					dst := metrics.Scores{Rows: p.Rows, Classes: classes}
					if !narrow {
						dst.F64 = make([]float64, p.Rows*classes)
						recal.ApplyAs(f, as, &dst, &p.Scores, kind)
						return dst.F64
					}
					dst.F32 = make([]float32, p.Rows*classes)
					recal.ApplyAs(f, as, &dst, &p.Scores, kind)
					var w []float64
					for _, v := range dst.F32 {
						w = append(w, float64(v))
					}
					return w
				}
				probs := as(metrics.Probs, k, false)
				if want := curveApply(f, p); !slices.Equal(probs, want) {
					t.Fatalf("%s: probabilities are not those of Apply", m)
				}
				logits, logs := as(metrics.Logits, k, false), as(metrics.LogProbs, k, false)
				for i := range p.Rows {
					z, sum := logits[i*k:][:k], 0.0
					for _, v := range z {
						sum += math.Exp(v - slices.Max(z))
					}
					for j, v := range probs[i*k:][:k] {
						l := math.Exp(z[j]-slices.Max(z)) / sum
						if k == 1 {
							l = 1 / (1 + math.Exp(-z[0]))
						}
						if !near(v, l) || !near(v, math.Exp(logs[i*k+j])) {
							t.Fatalf("%s of %d %s, row %d: probability %v, by logits %v, by logarithms %v", m, k, kind, i, v, l, math.Exp(logs[i*k+j]))
						}
					}
				}
				if k > 1 {
					continue
				}
				for _, narrow := range []bool{false, true} {
					one := [3][]float64{as(metrics.Probs, 1, narrow), as(metrics.Logits, 1, narrow), as(metrics.LogProbs, 1, narrow)}
					for kind, l := range one {
						two := as(metrics.Kind(kind), 2, narrow)
						for i, v := range l {
							zero, event := two[2*i], two[2*i+1]
							switch kind {
							case 0:
								if event != v || math.Abs(zero+event-1) > 1e-7 {
									t.Fatalf("%s: %v and %v of %v", m, zero, event, v)
								}
							case 1:
								if event-zero != v && !(math.IsInf(zero, -1) && event == 0 && v > 1e300) {
									t.Fatalf("%s: logits %v and %v of %v", m, zero, event, v)
								}
							case 2:
								if event != v || math.Abs(math.Exp(zero)+math.Exp(event)-1) > 1e-7 {
									t.Fatalf("%s: logarithms %v and %v of %v", m, zero, event, v)
								}
							}
						}
					}
				}
			}
		}
	}
}

// TestApplyAsFarOut: what is next to 0 or 1 keeps its digits.
func TestApplyAsFarOut(t *testing.T) {
	m := recal.NewTemperature(0.125, 1)
	src := metrics.Scores{F32: []float32{12, -12, 6, 0.5, float32(math.Inf(-1))}, Rows: 5, Classes: 1}
	for _, c := range []struct {
		as   metrics.Kind
		want []float64 // by rows
	}{
		{metrics.Probs, []float64{math.Exp(-96), 1, 1, math.Exp(-96), math.Exp(-48), 1, 1 / (1 + math.Exp(4)), 1 / (1 + math.Exp(-4)), 1, 0}},
		{metrics.Logits, []float64{0, 96, 0, -96, 0, 48, 0, 4, 0, math.Inf(-1)}},
		{metrics.LogProbs, []float64{-96, -math.Exp(-96), -math.Exp(-96), -96, -48, -math.Exp(-48), -4 - math.Log1p(math.Exp(-4)), -math.Log1p(math.Exp(-4)), 0, math.Inf(-1)}},
	} {
		dst := metrics.Scores{F64: make([]float64, 10), Rows: 5, Classes: 2}
		recal.ApplyAs(m, c.as, &dst, &src, metrics.Logits)
		for i, v := range dst.F64 {
			if !(math.Abs(v-c.want[i]) <= 1e-14*math.Abs(c.want[i])) && v != c.want[i] {
				t.Errorf("%s %d: %v, want %v", c.as, i, v, c.want[i])
			}
		}
	}
	// What one column of probabilities would say of the first row, two do not.
	dst := metrics.Scores{F32: make([]float32, 10), Rows: 5, Classes: 2}
	recal.ApplyAs(m, metrics.Probs, &dst, &src, metrics.Logits)
	if !slices.Equal(dst.F32[:2], []float32{float32(math.Exp(-96)), 1}) {
		t.Error(dst.F32)
	}
	// The side of 1/2, and the arg max, stay.
	for _, v := range []float64{1e-320, -1e-320, 5e-9, -5e-9, 0, math.SmallestNonzeroFloat64} {
		src := metrics.Scores{F64: []float64{v}, Rows: 1, Classes: 1}
		for _, as := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
			dst := metrics.Scores{F32: make([]float32, 1), Rows: 1, Classes: 1}
			recal.ApplyAs(recal.NewTemperature(3, 1), as, &dst, &src, metrics.Logits)
			x := float64(dst.F32[0])
			if over := as == metrics.Probs && x > 0.5 || as == metrics.Logits && x > 0 || as == metrics.LogProbs && math.Exp(x) > 0.5; over != (v > 0) {
				t.Errorf("%v becomes %s %v", v, as, x)
			}
		}
	}
	three := metrics.Scores{F64: []float64{1, 1 + 1e-12, 1}, Rows: 1, Classes: 3}
	for _, as := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
		dst := metrics.Scores{F32: make([]float32, 3), Rows: 1, Classes: 3}
		recal.ApplyAs(recal.NewTemperature(3, 3), as, &dst, &three, metrics.Logits)
		if !(dst.F32[1] > dst.F32[0] && dst.F32[1] > dst.F32[2]) {
			t.Errorf("%s: %v", as, dst.F32)
		}
	}
	// Logits beyond the numbers.
	huge := metrics.Scores{F64: []float64{1e308, -1e308, 5e307}, Rows: 1, Classes: 3}
	wide := metrics.Scores{F64: make([]float64, 3), Rows: 1, Classes: 3}
	recal.ApplyAs(recal.NewTemperature(0.25, 3), metrics.Logits, &wide, &huge, metrics.Logits)
	if !slices.Equal(wide.F64, []float64{0, math.Inf(-1), math.Inf(-1)}) {
		t.Error(wide.F64)
	}
}

// TestCertainPairs: a pair of logits with -Inf for class 0 is fitted as the probability 1 is, that for class 1 as 0.
func TestCertainPairs(t *testing.T) {
	p := curveRows(5, 400, 1, metrics.Probs, false, false)
	q := &metrics.Predictions{Kind: metrics.Logits, Labels: slices.Clone(p.Labels)}
	q.Rows, q.Classes = p.Rows, 2
	for i := range p.F64 {
		v := p.F64[i]
		if v == 0 && p.Labels[i] == 0 || i%40 == 0 { // some are certain, and a few of these wrong
			v = float64(p.Labels[i])
			if i == 120 {
				v = 1 - v
			}
		}
		p.F64[i] = v
		switch v {
		case 1:
			q.F64 = append(q.F64, math.Inf(-1), 3)
		case 0:
			q.F64 = append(q.F64, 3, math.Inf(-1))
		default:
			q.F64 = append(q.F64, 1, 1+math.Log(v/(1-v)))
		}
	}
	q.OfEvent(1)
	if q.Pair == nil {
		t.Fatal("no pairs")
	}
	for _, m := range applyAsMethods(1) {
		f, err := m.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(m, err)
		}
		g, err := m.Fit(recal.InMemory(q), nil)
		if err != nil {
			t.Fatal(m, err)
		}
		a, b := f.Fit(), g.Fit()
		if a.LeftOut != b.LeftOut || a.FirstLeftOut != b.FirstLeftOut || a.Rows != b.Rows {
			t.Errorf("%s: %+v of probabilities, %+v of pairs", m, a, b)
		}
		if strings.Contains(m.String(), "top_label") {
			continue // p and 1-p are tied or not by rounding
		}
		want, got := curveApply(f, p), curveApply(g, q)
		off := 0
		for i, v := range want {
			if math.Abs(v-got[i]) > 1e-9 {
				off++
			}
		}
		if off > 8 { // of curves of steps some scores on an edge are
			t.Errorf("%s: %d of %d rows become another probability", m, off, len(want))
		}
		// And what cross-fitting makes of them can be evaluated.
		maps, err := recal.CrossFit(m, recal.InMemory(q), recal.Folds{}, nil, nothing{})
		if err != nil || len(maps) != 5 {
			t.Errorf("%s: %v", m, err)
		}
	}
}

// nothing is an accumulator of nothing.
type nothing struct{}

func (nothing) Needs() metrics.Need                   { return 0 }
func (nothing) Empty() metrics.Accumulator            { return nothing{} }
func (nothing) Len() int64                            { return 0 }
func (nothing) AddBlock(*metrics.Block)               {}
func (nothing) Merge(metrics.Accumulator) error       { return nil }
func (nothing) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (nothing) UnmarshalBinary([]byte) error          { return nil }

func TestApplyAsPanics(t *testing.T) {
	three, sigma := recal.NewTemperature(2, 3), sigmaForecasts(20, 3, 1)
	s, err := recal.Sigma{}.Fit(recal.InMemory(sigma), nil)
	if err != nil {
		t.Fatal(err)
	}
	one := metrics.Scores{F64: []float64{1}, Rows: 1, Classes: 1}
	row := metrics.Scores{F64: []float64{1, 2, 3}, Rows: 1, Classes: 3}
	for name, f := range map[string]func(){
		"forecasts":     func() { recal.ApplyAs(s, metrics.Logits, &sigma.Scores, &sigma.Scores, metrics.Normals) },
		"other classes": func() { recal.ApplyAs(three, metrics.Logits, &one, &one, metrics.Logits) },
		"dirichlet":     func() { recal.ApplyAs(three, metrics.Dirichlet, &row, &row, metrics.Logits) },
		"two of three": func() {
			recal.ApplyAs(three, metrics.Logits, &metrics.Scores{F64: make([]float64, 2), Rows: 1, Classes: 2}, &row, metrics.Logits)
		},
		"no destination": func() {
			recal.ApplyAs(three, metrics.Logits, &metrics.Scores{Rows: 1, Classes: 3}, &row, metrics.Logits)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
