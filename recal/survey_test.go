package recal

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// surveyOf looks at data by several threads and divisions into chunks, which all have to say the same.
func surveyOf(t *testing.T, p *metrics.Predictions) *survey {
	t.Helper()
	var first *survey
	for _, threads := range []int{1, 2, 8} {
		for _, rows := range [][]int{{p.Rows}, {1}, {3, 50}} {
			src := func() (Source, error) { return &dataParts{p: p, rows: rows, first: 100, numbered: true}, nil }
			if p.Weights == nil || p.Labels == nil {
				src = func() (Source, error) { return &bbqChunks{p: p, rows: rows[0]}, nil }
			}
			s, err := look(OpenFunc(src), &Options{Threads: threads})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = s
			}
			if s.fit != first.fit || s.kind != first.kind || s.right != first.right || !slices.Equal(s.counts, first.counts) ||
				(s.counts == nil) != (p.Labels == nil) {
				t.Fatalf("%d threads, chunks of %v: %+v, want %+v", threads, rows, s, first)
			}
		}
	}
	return first
}

// TestLookLeftOut: a row counts as left out where its class has no probability at all, and not where it has a very small one.
func TestLookLeftOut(t *testing.T) {
	ninf, huge := math.Inf(-1), math.MaxFloat64
	huge32 := float64(math.MaxFloat32)
	for _, c := range []struct {
		what  string
		k     metrics.Kind
		width int
		row   []float64
		label int32
		out   bool
		types string // of the scores, without any other
	}{
		{"a probability of 0", metrics.Probs, 3, []float64{0.5, 0, 0.5}, 1, true, "64 32"},
		{"a tiny probability", metrics.Probs, 3, []float64{0.5, 0x1p-149, 0.5}, 1, false, "64 32"},
		{"the tiniest probability", metrics.Probs, 3, []float64{0.5, 0x1p-1074, 0.5}, 1, false, "64"},
		{"another class's 0", metrics.Probs, 3, []float64{0.5, 0, 0.5}, 0, false, "64 32"},
		{"a logit of -Inf", metrics.Logits, 3, []float64{1, ninf, 2}, 1, true, "64 32"},
		{"another's logit of -Inf", metrics.Logits, 3, []float64{1, ninf, 2}, 0, false, "64 32"},
		{"a low logit", metrics.Logits, 3, []float64{1, -1e30, 2}, 1, false, "64 32"},
		{"logits far apart", metrics.Logits, 3, []float64{huge32, -huge32, 2}, 1, false, "64 32"},
		{"logits as far apart as can be", metrics.Logits, 3, []float64{huge, -huge, 2}, 1, false, "64"},
		{"two logits as far apart as can be", metrics.Logits, 2, []float64{huge, -huge}, 1, false, "64"},
		{"huge logits of all", metrics.Logits, 3, []float64{huge, huge, huge}, 1, false, "64"},
		{"the logarithm of 0", metrics.LogProbs, 2, []float64{0, ninf}, 1, true, "64 32"},
		{"the logarithm of next to nothing", metrics.LogProbs, 2, []float64{0, -5000}, 1, false, "64 32"},
		{"an event of probability 0", metrics.Probs, 1, []float64{0}, 1, true, "64 32"},
		{"no event of probability 1", metrics.Probs, 1, []float64{1}, 0, true, "64 32"},
		{"an event of small probability", metrics.Probs, 1, []float64{0x1p-140}, 1, false, "64 32"},
		{"no event of probability nearly 1", metrics.Probs, 1, []float64{1 - 0x1p-24}, 0, false, "64 32"},
		{"an event of logit -Inf", metrics.Logits, 1, []float64{ninf}, 1, true, "64 32"},
		{"no event of logit -Inf", metrics.Logits, 1, []float64{ninf}, 0, false, "64 32"},
		{"an event of low logit", metrics.Logits, 1, []float64{-huge32}, 1, false, "64 32"},
		{"an event of the lowest logit", metrics.Logits, 1, []float64{-huge}, 1, false, "64"},
		{"no event of high logit", metrics.Logits, 1, []float64{huge32}, 0, false, "64 32"},
		{"an event of the logarithm -Inf", metrics.LogProbs, 1, []float64{ninf}, 1, true, "64 32"},
		{"an event of the logarithm -900", metrics.LogProbs, 1, []float64{-900}, 1, false, "64 32"},
		{"no event of the logarithm 0", metrics.LogProbs, 1, []float64{0}, 0, true, "64 32"},
		{"no event of nearly 0", metrics.LogProbs, 1, []float64{-0x1p-80}, 0, false, "64 32"},
	} {
		for _, dtype := range strings.Fields(c.types) {
			// 40 rows, of which 7, 11 and 30 are this one; 7 is absent.
			p := &metrics.Predictions{Scores: metrics.Scores{Rows: 40, Classes: c.width}, Kind: c.k}
			for i := range 40 {
				row, label := slices.Clone(c.row), c.label
				if i != 7 && i != 11 && i != 30 {
					label = 0
					for j := range row {
						row[j] = 1 / float64(max(2, c.width))
						if c.k == metrics.LogProbs {
							row[j] = math.Log(row[j])
						}
					}
				}
				for _, v := range row {
					if dtype == "64" {
						p.F64 = append(p.F64, v)
					} else {
						p.F32 = append(p.F32, float32(v))
					}
				}
				p.Labels, p.Weights = append(p.Labels, label), append(p.Weights, 0.5)
			}
			p.Weights[7] = 0
			s := surveyOf(t, p)
			n, first := int64(0), int64(-1)
			if c.out {
				n, first = 2, 100+3*11
			}
			if s.fit.LeftOut != n || s.fit.FirstLeftOut != first || s.fit.Rows != 39 {
				t.Errorf("%s, float%s: %d left out, the first is %d, of %d rows; want %d and %d", c.what, dtype, s.fit.LeftOut, s.fit.FirstLeftOut,
					s.fit.Rows, n, first)
			}
		}
	}
}

func TestLook(t *testing.T) {
	p := dataRows(100, 4, 4, metrics.Float64)
	p.Decisions, p.ConfidenceScores = nil, nil
	p.Weights[0], p.Weights[3] = 0, 0
	right := int64(0)
	counts := make([]int64, 4)
	for i := range 100 {
		if p.Weights[i] > 0 {
			counts[p.Labels[i]]++
			if argMax(p.F64[4*i:][:4]) == int(p.Labels[i]) {
				right++
			}
		}
	}
	s := surveyOf(t, p)
	want := Fit{Rows: 98, Classes: 4, Kind: "logits", Weighted: true, FirstLeftOut: -1, Reads: 1}
	if s.fit != want || s.kind != metrics.Logits || s.right != right || !slices.Equal(s.counts, counts) {
		t.Errorf("%+v, want %+v, %d right, counts %v", s, want, right, counts)
	}
	// A class without rows has a count.
	for i := range p.Labels {
		p.Labels[i] = 2
	}
	if s := surveyOf(t, p); !slices.Equal(s.counts, []int64{0, 0, 98, 0}) {
		t.Errorf("%v", s.counts)
	}
}

// TestLookKinds: what has no labels has no counts, at any number of threads.
func TestLookKinds(t *testing.T) {
	observed := make([]float64, 30)
	x := make([]float64, 90)
	for i := range x {
		x[i] = float64(1 + i)
	}
	for _, c := range []struct {
		k        metrics.Kind
		observed bool
	}{{metrics.Normals, false}, {metrics.Samples, true}, {metrics.Quantiles, true}, {metrics.LogLiks, false}} {
		p := &metrics.Predictions{Scores: metrics.Scores{F64: x, Rows: 30, Classes: 3}, Kind: c.k}
		if c.observed {
			p.Observed = observed
		}
		s := surveyOf(t, p)
		if want := (Fit{Rows: 30, Classes: 3, Kind: c.k.String(), FirstLeftOut: -1, Reads: 1}); s.fit != want {
			t.Errorf("%+v, want %+v", s.fit, want)
		}
	}
}

func TestLookErrors(t *testing.T) {
	p := dataRows(10, 3, 3, metrics.Float64)
	for i := range p.Weights {
		p.Weights[i] = 0
	}
	for _, none := range []*metrics.Predictions{p, {Scores: metrics.Scores{F64: []float64{}, Classes: 3}}} {
		if _, err := look(InMemory(none), nil); err == nil || !strings.Contains(err.Error(), "no rows") {
			t.Errorf("%v", err)
		}
	}
	p = dataRows(10, 3, 3, metrics.Float64)
	p.F64[7] = math.NaN()
	if _, err := look(InMemory(p), nil); err == nil || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("%v", err)
	}
	// What the second reading finds is as good as the first.
	p = dataRows(10, 3, 3, metrics.Float64)
	p.F64[int(p.Labels[4])+12] = math.Inf(-1)
	opens := 0
	d := OpenFunc(func() (Source, error) {
		if opens++; opens == 2 {
			return nil, fmt.Errorf("gone")
		}
		return InMemory(p).Open()
	})
	if _, err := look(d, nil); err == nil || err.Error() != "gone" {
		t.Errorf("%v", err)
	}
	if s, err := look(InMemory(p), nil); err != nil || s.fit.LeftOut != 1 || s.fit.FirstLeftOut != 4 || s.fit.Reads != 2 {
		t.Errorf("%v %+v", err, s)
	}
}
