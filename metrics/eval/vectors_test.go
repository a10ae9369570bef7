package eval

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// vectorsOf returns forecasts of d numbers by m members.
func vectorsOf(seed uint64, n, m, d int, weighted bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 2))
	p := &metrics.Predictions{Kind: metrics.Multivariate, Dimensions: d, Scores: metrics.Scores{Rows: n, Classes: (m + 1) * d}}
	for range n {
		a := r.NormFloat64()
		for range p.Classes {
			p.F64 = append(p.F64, a+r.NormFloat64())
		}
		if weighted {
			p.Weights = append(p.Weights, 0.5+float64(r.IntN(3)))
		}
	}
	return p
}

const everyVector = "all,variogram_score(order=1,weights=inverse_distance),multivariate_rank_p(bins=4,ranking=dominance),multivariate_rank_p(ranking=band_depth)"

// vectorSpec is the spec of vectorsOf.
func vectorSpec(t testing.TB, m, d int, list string) Spec {
	s := Spec{Classes: (m + 1) * d, Kind: metrics.Multivariate, Dimensions: d}
	s.Metrics = listOf(t, list, s.Shape())
	return s
}

// TestVectorValues holds each score to its definition, and ranks to the counts of package regress.
func TestVectorValues(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		const n, m, d = 60, 11, 3
		p := vectorsOf(3, n, m, d, weighted)
		e := fill(t, vectorSpec(t, m, d, everyVector), p)
		sums, total := map[string]float64{}, 0.0
		norm := func(a, b []float64) float64 {
			s := 0.0
			for i := range a {
				s += (a[i] - b[i]) * (a[i] - b[i])
			}
			return math.Sqrt(s)
		}
		for i := range n {
			w := 1.0
			if weighted {
				w = p.Weights[i]
			}
			total += w
			row := p.F64[i*p.Classes : (i+1)*p.Classes]
			at := func(k int) []float64 { return row[k*d : (k+1)*d] }
			y := at(m)
			for k := range m {
				for name, pairs := range map[string]float64{"energy_score": m * m, "energy_score_fair": m * (m - 1)} {
					sums[name] += w * norm(at(k), y) / m
					for l := range m {
						sums[name] -= w * norm(at(k), at(l)) / 2 / pairs
					}
				}
			}
			for a := range d {
				for b := range d {
					root, plain := math.Sqrt(math.Abs(y[a]-y[b])), math.Abs(y[a]-y[b])
					for k := range m {
						gap := math.Abs(at(k)[a] - at(k)[b])
						root -= math.Sqrt(gap) / m
						plain -= gap / m
					}
					sums["variogram_score"] += w * root * root
					if a != b {
						sums["variogram_score(order=1,weights=inverse_distance)"] += w * plain * plain / math.Abs(float64(a-b))
					}
				}
			}
		}
		for name, sum := range sums {
			v := e.Value(metricOf(t, name))
			if want := sum / total; !(math.Abs(v.Value-want) <= 1e-12*want) || !(v.Interval.Low < want && want < v.Interval.High) {
				t.Errorf("%s, weights %v: %v, want %v", name, weighted, v, want)
			}
		}
		if v := e.Value(metricOf(t, "dawid_sebastiani")); !(v.Interval.Low < v.Value && v.Value < v.Interval.High) {
			t.Error("dawid_sebastiani", v)
		}
		for name, o := range map[string]regress.VectorRankOptions{"multivariate_rank_p": {Ranking: regress.AverageRank},
			"multivariate_rank_p(bins=4,ranking=dominance)": {Bins: 4}, "multivariate_rank_p(ranking=band_depth)": {Ranking: regress.BandDepth}} {
			r := metrics.Must(regress.NewVectorRanks(&o))
			if err := metrics.NewPass(nil, r).Add(p); err != nil {
				t.Fatal(err)
			}
			if v := e.Value(metricOf(t, name)); v.Value != r.P() && !(math.IsNaN(v.Value) && v.Reason == r.Reason()) || v.Reason == "" {
				t.Errorf("%s: %v, want %v", name, v, r.P())
			}
		}
		if e.Ranks() == nil || e.Ranks().Len() != n || !e.NumbersRows() || e.Spec.VectorMembers() != m {
			t.Error("the histogram is not found")
		}
	}
}

func metricOf(t *testing.T, name string) Metric {
	t.Helper()
	m, err := ParseMetric(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestVectorReasons: what has no answer says why.
func TestVectorReasons(t *testing.T) {
	constant := vectorsOf(5, 30, 6, 2, false)
	for k := range 6 {
		constant.F64[4*constant.Classes+2*k] = 7
	}
	for _, c := range []struct {
		p          *metrics.Predictions
		name, want string
	}{
		{vectorsOf(1, 30, 1, 2, false), "energy_score_fair", "a single member"},
		{vectorsOf(1, 30, 1, 2, false), "dawid_sebastiani", "a single member has no covariance"},
		{vectorsOf(1, 30, 3, 3, false), "dawid_sebastiani", "3 members in 3 dimensions is singular"},
		{constant, "dawid_sebastiani", "singular in 1 of 30 rows"},
		{vectorsOf(1, 30, 9, 2, false), "multivariate_rank_p", "fewer than 5 rows a bin"},
		{vectorsOf(1, 0, 9, 2, false), "variogram_score", "no rows"},
	} {
		e := fill(t, vectorSpec(t, c.p.Classes/c.p.Dimensions-1, c.p.Dimensions, everyVector), c.p)
		if v := e.Value(metricOf(t, c.name)); !math.IsNaN(v.Value) || !strings.Contains(v.Reason, c.want) || !math.IsNaN(v.Interval.Low) {
			t.Errorf("%s: %+v, want %q", c.name, v, c.want)
		}
	}
}

// TestVectorStates: parts merge into the state of all, states read back, rows can be taken out, and others are refused.
func TestVectorStates(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		spec := vectorSpec(t, 7, 2, everyVector)
		p := vectorsOf(8, 90, 7, 2, weighted)
		all := fill(t, spec, p)
		part := func(from, to int) *Evaluation {
			e := fill(t, spec, nil)
			c := metrics.Chunk{Predictions: *p}
			c = c.Slice(from, to)
			if err := e.AddSource(&oneOf{&c}, nil); err != nil {
				t.Fatal(err)
			}
			return e
		}
		a, b := part(0, 30), part(30, 90)
		first := state(t, a)
		if err := a.Merge(b); err != nil || !bytes.Equal(state(t, a), state(t, all)) {
			t.Errorf("weights %v: merged parts are another state, %v", weighted, err)
		}
		if err := a.Subtract(b); err != nil || !bytes.Equal(state(t, a), first) {
			t.Errorf("weights %v: what is left is not the rest, %v", weighted, err)
		}
		var back Evaluation
		if err := back.UnmarshalBinary(state(t, all)); err != nil || !bytes.Equal(state(t, &back), state(t, all)) || back.Spec.Dimensions != 2 {
			t.Error(err, back.Spec.Dimensions)
		}
	}
	for text, o := range map[string]Spec{
		"of 3 numbers and of 2":  {Classes: 24, Kind: metrics.Multivariate, Dimensions: 3},
		"rows of 24 columns for": {Classes: 12, Kind: metrics.Multivariate, Dimensions: 3},
	} {
		o.Metrics = listOf(t, "energy_score", o.Shape())
		e := fill(t, o, nil)
		s := vectorSpec(t, 11, 2, "energy_score")
		err := e.Merge(fill(t, s, nil))
		if o.Classes != s.Classes {
			err = e.Add(vectorsOf(1, 5, 11, 2, false), nil)
		}
		if !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	e := fill(t, Spec{Classes: 24, Kind: metrics.Multivariate, Dimensions: 3, Metrics: listOf(t, "energy_score", Shape{Classes: 24, Kind: metrics.Multivariate})}, nil)
	if err := e.Add(vectorsOf(1, 5, 11, 2, false), nil); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), "forecasts of 2 numbers for an evaluation of 3") {
		t.Error(err)
	}
	for _, s := range []Spec{{Classes: 4, Kind: metrics.Samples, Dimensions: 2}, {Classes: 4, Kind: metrics.Multivariate}, {Classes: 4, Kind: metrics.Multivariate, Dimensions: 3}, {Classes: 2, Kind: metrics.Multivariate, Dimensions: 2}} {
		if _, err := New(s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}

// oneOf is a source of one chunk.
type oneOf struct{ c *metrics.Chunk }

func (s *oneOf) Next() (*metrics.Chunk, error) {
	if s.c == nil {
		return nil, io.EOF
	}
	c := s.c
	s.c = nil
	return c, nil
}
