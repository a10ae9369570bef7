package metrics_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// seen is what a walk handed on, row by row.
type seen struct {
	number            []int64
	observed, weights []float64
	rows              [][]float64
	norm, peak, label []float64
	entropy           []float64
}

func walk(t *testing.T, o *metrics.Options, p *metrics.Predictions) (*seen, *metrics.Walker) {
	t.Helper()
	var s seen
	w := metrics.NewWalker(o, metrics.NeedRows|metrics.NeedSpread|metrics.NeedPeak, func(b *metrics.Block) {
		for i := range b.Rows {
			s.number = append(s.number, b.Number(i))
			if b.Observed != nil {
				s.observed = append(s.observed, b.Observed[i])
			}
			if b.Weights != nil {
				s.weights = append(s.weights, b.Weights[i])
			}
			row := make([]float64, b.Probs.Width)
			for j := range row {
				if b.Probs.F64 != nil {
					row[j] = b.Probs.F64[i*b.Probs.Stride+j]
				} else {
					row[j] = float64(b.Probs.F32[i*b.Probs.Stride+j])
				}
			}
			s.rows = append(s.rows, row)
			if b.Stats != nil {
				s.norm, s.peak = append(s.norm, b.Stats.Norm[i]), append(s.peak, b.Peak[i])
				s.label, s.entropy = append(s.label, b.Stats.Label[i]), append(s.entropy, b.Stats.Entropy[i])
			}
		}
	})
	w.Add(&metrics.Chunk{Predictions: *p, First: 100})
	return &s, w
}

func TestSamplesAreHandedOnAsTheyAre(t *testing.T) {
	inf := math.Inf(1)
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{1, 2, inf, 4, 5, 6}, Weights: []float64{1, 2, 3, 0, 5, 6},
		Scores: metrics.Scores{F32: []float32{1, -2, 0, 3, 4, 0, 5, 6, 0, float32(inf), 8, 0, float32(math.NaN()), 10, 0, 11, 12}, Rows: 6, Classes: 2, Stride: 3}}
	s, w := walk(t, &metrics.Options{Drop: true}, p)
	if !slices.Equal(s.number, []int64{100, 101, 105}) || !slices.Equal(s.observed, []float64{1, 2, 6}) || !slices.Equal(s.weights, []float64{1, 2, 6}) {
		t.Errorf("rows %v with observations %v and weights %v", s.number, s.observed, s.weights)
	}
	if !slices.EqualFunc(s.rows, [][]float64{{1, -2}, {3, 4}, {11, 12}}, slices.Equal) {
		t.Errorf("rows are %v", s.rows)
	}
	if a := w.Audit(); a.Rows != 3 || a.Dropped != 2 || a.Absent != 1 || a.Kind != metrics.Samples {
		t.Errorf("audit %+v", a)
	}
	_, w = walk(t, nil, p)
	want := "row 102: observed value is +Inf: it must be finite; Options.Drop leaves such rows out; " +
		"row 104, column 0: sample is NaN: look for a division by 0 or an overflow in the code that computed the scores; Options.Drop leaves such rows out"
	if err := w.Err(); err == nil || err.Error() != want {
		t.Errorf("error\n%v, want\n%v", err, want)
	}
	p.Observed = p.Observed[1:]
	mustPanic(t, "metrics: 5 observations for 6 rows: there has to be one for each row", func() { walk(t, nil, p) })
}

func TestLogLikelihoodsHaveNoLabels(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.LogLiks, Scores: metrics.Scores{F64: []float64{-1, -2, -3, math.Inf(-1)}, Rows: 2, Classes: 2}}
	s, w := walk(t, nil, p)
	var d *metrics.DataError
	if !errors.As(w.Err(), &d) || d.Faults[0].Row != 101 || d.Faults[0].Column != 1 {
		t.Errorf("error %v after rows %v", w.Err(), s.rows)
	}
	p.Rows = 1
	if s, w = walk(t, nil, p); w.Err() != nil || !slices.Equal(s.rows[0], []float64{-1, -2}) {
		t.Errorf("rows %v, error %v", s.rows, w.Err())
	}
	p.Decisions = []int32{0}
	mustPanic(t, "metrics: decisions, confidence scores, bytes and sequences are of classes, which these scores are not", func() { walk(t, nil, p) })
}

func TestDirichletParametersHaveMeans(t *testing.T) {
	p := &metrics.Predictions{Kind: metrics.Dirichlet, Labels: []int32{0, 2, 1},
		Scores: metrics.Scores{F32: []float32{1, 2, 5, 1e6, 1e6, 2e6, 0.25, 0.5, 0.25}, Rows: 3, Classes: 3}}
	s, w := walk(t, nil, p)
	a := w.Audit()
	if w.Err() != nil || len(a.Warnings()) > 0 {
		t.Fatalf("error %v, warnings %v", w.Err(), a.Warnings())
	}
	if !slices.Equal(s.norm, []float64{8, 4e6, 1}) || !slices.Equal(s.label, []float64{0.125, 0.5, 0.5}) || !slices.Equal(s.peak, []float64{5, 2e6, 0.5}) {
		t.Errorf("sums %v, labels' means %v, peaks %v", s.norm, s.label, s.peak)
	}
	if !slices.EqualFunc(s.rows, [][]float64{{0.125, 0.25, 0.625}, {0.25, 0.25, 0.5}, {0.25, 0.5, 0.25}}, slices.Equal) {
		t.Errorf("means %v", s.rows)
	}
	for i, row := range s.rows {
		h := 0.0
		for _, v := range row {
			h -= float64(v * kernel.Log64(v))
		}
		if math.Abs(h-s.entropy[i]) > 1e-14 {
			t.Errorf("entropy of row %d is %v, want %v", i, s.entropy[i], h)
		}
	}
	for _, v := range []float32{0, -1} {
		p.F32[4] = v
		_, w = walk(t, nil, p)
		var d *metrics.DataError
		if !errors.As(w.Err(), &d) || d.Faults[0].Reason != metrics.NotPositive || d.Faults[0].Row != 101 || d.Faults[0].Column != 1 {
			t.Errorf("parameter %v: error %v", v, w.Err())
		}
	}
	p.Classes, p.Rows = 1, 3
	mustPanic(t, "metrics: a Dirichlet distribution has parameters of two classes or more", func() { walk(t, nil, p) })
}

func TestPeaksAreTheScoresAsGiven(t *testing.T) {
	s, _ := walk(t, nil, &metrics.Predictions{Kind: metrics.Logits, Labels: []int32{0, 1, 0},
		Scores: metrics.Scores{F64: []float64{3, 1e3, 7, -5, -6, 0, 2, 2}, Rows: 3, Classes: 2, Stride: 3}})
	if !slices.Equal(s.peak, []float64{1e3, -5, 2}) {
		t.Errorf("peaks %v", s.peak)
	}
	s, _ = walk(t, nil, &metrics.Predictions{Labels: []int32{0, 1}, Scores: metrics.Scores{F64: []float64{0.25, 0.75}, Rows: 2, Classes: 1}})
	if !slices.Equal(s.peak, []float64{0.25, 0.75}) {
		t.Errorf("peaks %v of binary scores", s.peak)
	}
}

func TestWalkersRefuseUnlikeChunks(t *testing.T) {
	p := metrics.Predictions{Labels: []int32{0}, Scores: metrics.Scores{F64: []float64{0.5}, Rows: 1, Classes: 1}}
	w := metrics.NewWalker(nil, 0, func(*metrics.Block) {})
	w.Add(&metrics.Chunk{Predictions: p})
	w.Add(&metrics.Chunk{Predictions: p, First: 1})
	if w.Audit().Rows != 2 {
		t.Errorf("%d rows", w.Audit().Rows)
	}
	p.Kind = metrics.Logits
	mustPanic(t, "metrics: the chunks of a source differ in shape or kind", func() { w.Add(&metrics.Chunk{Predictions: p, First: 2}) })
}

func mustPanic(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if r := recover(); r != text {
			t.Errorf("panic %v, want %q", r, text)
		}
	}()
	f()
}

// TestDirichletTotals: the sum of the parameters is right to the last place, however they stand.
func TestDirichletTotals(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	const k = 300
	p := &metrics.Predictions{Kind: metrics.Dirichlet, Labels: make([]int32, 50)}
	p.Rows, p.Classes, p.F64 = 50, k, make([]float64, 50*k)
	for i := range p.F64 {
		p.F64[i] = math.Ldexp(1+r.Float64(), r.IntN(60)-30)
	}
	s, _ := walk(t, nil, p)
	if len(s.norm) != p.Rows {
		t.Fatalf("%d rows", len(s.norm))
	}
	for i, got := range s.norm {
		var sum big.Float
		sum.SetPrec(400)
		for _, v := range p.F64[i*k : (i+1)*k] {
			sum.Add(&sum, big.NewFloat(v))
		}
		if want, _ := sum.Float64(); math.Abs(got-want) > math.Nextafter(want, math.Inf(1))-want {
			t.Errorf("row %d: %v, want %v", i, got, want)
		}
	}
}
