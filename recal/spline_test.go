package recal_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// TestSplineGolden: the points of the curve are those of least squares by numpy over scipy's natural splines, of ties, weights, other knots, more scores
// than points, and fewer than knots. testdata/make_spline.py made them.
func TestSplineGolden(t *testing.T) {
	b, err := os.ReadFile("testdata/spline.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Cases []struct {
			Knots                 int
			Scores, Weights, X, Y []float64
			Labels                []int32
		}
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) < 7 {
		t.Fatal("cases are missing")
	}
	for i, c := range g.Cases {
		p := &metrics.Predictions{Scores: *scoresOf(c.Scores...), Labels: c.Labels, Weights: c.Weights}
		f, err := recal.Spline{Knots: c.Knots}.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		x, y := f.(*recal.CurveMap).Points(0)
		if len(c.X) <= 257 && len(x) != len(c.X) || len(x) > 257 || x[0] != c.X[0] || x[len(x)-1] != c.X[len(c.X)-1] || len(c.X) > 257 && len(x) < 200 {
			t.Errorf("case %d: %d points of %d scores", i, len(x), len(c.X))
		}
		// As many heights as scores determine no spline, and rounding decides among those that fit.
		slack := 1e-9
		if len(c.X) < c.Knots {
			slack = 1e-4
		}
		for k, v := range x {
			at, on := slices.BinarySearch(c.X, v)
			if !on || math.Abs(y[k]-c.Y[at]) > slack {
				t.Fatalf("case %d: %v becomes %v, want %v", i, v, y[k], c.Y[at])
			}
		}
	}
}

// TestSplineCorrects: a curve that no line of logits gives is found; the mean of the fitted rows is the frequency; a calibrated model keeps
// its scores, nearly; a map gives the same bits after reading; too many knots are refused.
func TestSplineCorrects(t *testing.T) {
	truth := func(z float64) float64 { return 0.5 + 0.35*math.Sin(z) }
	all := drawn(7, 40000, truth)
	for i, z := range all.F64 {
		all.F64[i] = sigma(z)
	}
	all.Kind = metrics.Probs
	f, err := recal.Spline{Knots: 15}.Fit(recal.InMemory(all), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, events, worst := 0.0, 0.0, 0.0
	for i, q := range applied(f, &all.Scores) {
		p := all.F64[i]
		sum, events, worst = sum+q, events+float64(all.Labels[i]), max(worst, math.Abs(q-truth(math.Log(p/(1-p)))))
	}
	if math.Abs(sum-events) > 1e-3*float64(all.Rows) || worst > 0.1 {
		t.Errorf("the mean is %v and the frequency %v; the largest error %v", sum/float64(all.Rows), events/float64(all.Rows), worst)
	}
	right := drawn(8, 40000, sigma)
	for i, z := range right.F64 {
		right.F64[i] = sigma(z)
	}
	right.Kind = metrics.Probs
	same, err := recal.Spline{}.Fit(recal.InMemory(right), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range applied(same, &right.Scores) {
		if math.Abs(q-right.F64[i]) > 0.04 {
			t.Fatalf("%v becomes %v", right.F64[i], q)
		}
	}
	b, err := recal.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	again, err := recal.Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := recal.Marshal(again); err != nil || !bytes.Equal(b, c) {
		t.Error("another file after reading", err)
	}
	if recal.Parameters(f) != 15 {
		t.Error(recal.Parameters(f))
	}
	for _, k := range []int{1, 2, 65, -1} {
		if _, err := (recal.Spline{Knots: k}).Fit(recal.InMemory(right), nil); err == nil {
			t.Errorf("%d knots are taken", k)
		}
	}
}

// TestTopVersusAll: with top_label a method is fitted to one binary task, the top probability and whether its class is right, and the other
// classes share the rest as before (Le Coz et al. 2024).
func TestTopVersusAll(t *testing.T) {
	const n, k = 600, 4
	p := drawn(9, n*k, sigma) // numbers
	rows := &metrics.Predictions{Labels: make([]int32, n)}
	rows.Rows, rows.Classes, rows.F64 = n, k, make([]float64, n*k)
	one := &metrics.Predictions{Labels: make([]int32, n)}
	one.Rows, one.Classes, one.F64 = n, 1, make([]float64, n)
	for i := range n {
		row, sum := rows.F64[i*k:][:k], 0.0
		for j := range row {
			row[j] = math.Exp(p.F64[i*k+j] + 0.01*float64(j))
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
		rows.Labels[i] = int32(p.F64[(i*7)%n]*2+8) % k
		if p.Labels[i] == 1 {
			rows.Labels[i] = int32(slices.Index(row, slices.Max(row)))
		}
		one.F64[i] = slices.Max(row)
		if row[rows.Labels[i]] == one.F64[i] {
			one.Labels[i] = 1
		}
	}
	for _, name := range []string{"isotonic", "platt", "beta", "histogram", "bbq", "spline", "venn_abers"} {
		fit := func(s string, p *metrics.Predictions) recal.Map {
			m, err := recal.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			f, err := m.Fit(recal.InMemory(p), nil)
			if err != nil {
				t.Fatal(s, err)
			}
			return f
		}
		top, binary := fit(name+"(top_label)", rows), fit(name, one)
		got, want := applied(top, &rows.Scores), applied(binary, &one.Scores)
		for i := range n {
			row := rows.F64[i*k:][:k]
			at := slices.Index(row, slices.Max(row))
			for j, v := range row {
				w := want[i]
				if j != at {
					w = (1 - want[i]) * v / (1 - row[at])
				}
				if math.Abs(got[i*k+j]-w) > 1e-7 {
					t.Fatalf("%s: row %d, class %d: %v, want %v", name, i, j, got[i*k+j], w)
				}
			}
		}
	}
}
