package ensemble_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

func near(a, b float64) bool {
	return a == b || a != a && b != b || math.Abs(a-b) <= 1e-12*max(1, math.Abs(b))
}

// TestAllPairs checks that the mean over all M^2 pairs consists of the means of two members and of a member with itself.
func TestAllPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{1, 2, 4} {
		e, _ := generate(r, settings{members: n, rows: 80, k: 4, kind: metrics.Probs})
		for _, c := range []struct {
			m ensemble.Measure
			o ensemble.DiversityOptions
		}{
			{ensemble.Disagreement, ensemble.DiversityOptions{}}, {ensemble.DoubleFault, ensemble.DiversityOptions{}},
			{ensemble.DoubleFault, ensemble.DiversityOptions{Conditional: true}}, {ensemble.AverageKL, ensemble.DiversityOptions{Clip: 1e-3}},
			{ensemble.AverageKL, ensemble.DiversityOptions{Clip: 1e-3, Generalized: true}},
			{ensemble.CosineSimilarity, ensemble.DiversityOptions{}},
			{ensemble.LpDistance, ensemble.DiversityOptions{P: 1.5}}, {ensemble.LpDistance, ensemble.DiversityOptions{P: math.Inf(1)}},
			{ensemble.LogitKL, ensemble.DiversityOptions{}},
		} {
			of := func(allPairs bool, each ...metrics.Scores) float64 {
				o := c.o
				o.AllPairs = allPairs
				return diversity(t, &metrics.Members{Each: each, Labels: e.Labels}, &o).Value(c.m)
			}
			whole, half := 0.0, 0.0
			for i, a := range e.Each {
				for j, b := range e.Each {
					v := of(false, a, b)
					whole += v / float64(n*n)
					if i < j {
						half += v / float64(n*(n-1)/2)
					}
				}
			}
			if n == 1 {
				half = math.NaN()
			}
			if got := of(true, e.Each...); !near(got, whole) {
				t.Errorf("%d members, %v %+v: %v over all pairs, want %v", n, c.m, c.o, got, whole)
			}
			if got := of(false, e.Each...); !near(got, half) {
				t.Errorf("%d members, %v %+v: %v over pairs, want %v", n, c.m, c.o, got, half)
			}
		}
	}
}

// TestOneMember checks that measures without pairs are those of the one member.
func TestOneMember(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits} {
		for _, dtype := range []metrics.DType{metrics.Float32, metrics.Float64} {
			e, _ := generate(r, settings{members: 1, rows: 30, k: 5, dtype: dtype, kind: kind})
			u, d := ensemble.NewUncertainty(), metrics.Must(ensemble.NewDiversity(nil))
			run(t, ensemble.InMemory(e), nil, u, d)
			if u.Members() != 1 || d.Members() != 1 || u.Value(ensemble.MutualInformation) != 0 ||
				u.Value(ensemble.TotalUncertainty) != u.Value(ensemble.DataUncertainty) ||
				u.Value(ensemble.EnsembleNLL) != u.Value(ensemble.GibbsNLL) {
				t.Errorf("%v %v: uncertainty of one member", kind, dtype)
			}
			if b, v := d.Value(ensemble.BregmanKLVariance), d.Value(ensemble.VarianceBound); b != 0 || v != 0 {
				t.Errorf("%v %v: %v and %v of one member", kind, dtype, b, v)
			}
			if v := d.Value(ensemble.Disagreement); v == v {
				t.Errorf("%v %v: %v of no pairs", kind, dtype, v)
			}
			if i := d.Interval(ensemble.Disagreement, 0.95); i.Low == i.Low {
				t.Errorf("%v %v: %v of no pairs", kind, dtype, i)
			}
		}
	}
	u, d := ensemble.NewUncertainty(), metrics.Must(ensemble.NewDiversity(&ensemble.DiversityOptions{Conditional: true}))
	for _, v := range []float64{u.Value(ensemble.MutualInformation), d.Value(ensemble.DoubleFault),
		d.Value(ensemble.AverageKL), d.Error()} {
		if v == v {
			t.Errorf("%v of no rows", v)
		}
	}
}

// TestIdentical checks that identical members have no diversity.
func TestIdentical(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	e, _ := generate(r, settings{members: 1, rows: 200, k: 7, kind: metrics.Probs})
	for len(e.Each) < 4 {
		e.Each = append(e.Each, e.Each[0])
	}
	u, d := ensemble.NewUncertainty(), metrics.Must(ensemble.NewDiversity(nil))
	run(t, ensemble.InMemory(e), nil, u, d)
	for _, m := range measures[5:] {
		want := 0.0
		switch m {
		case ensemble.CosineSimilarity:
			want = 1
		case ensemble.DoubleFault:
			want = d.Error()
		}
		if got := d.Value(m); math.Abs(got-want) > 1e-15 {
			t.Errorf("%v: %v, want %v", m, got, want)
		}
	}
	if v := u.Value(ensemble.MutualInformation); v > 1e-15 {
		t.Errorf("mutual information %v", v)
	}
}

// TestInfinite checks that rows without a finite value are counted, and none is lost.
func TestInfinite(t *testing.T) {
	e := &metrics.Members{Labels: []int32{0, 1, 0, 1}, Weights: []float64{1, 2, 4, 8}, Each: []metrics.Scores{
		{Rows: 4, Classes: 2, F64: []float64{0.5, 0.5, 0.5, 0.5, 1, 0, 1, 0}},
		{Rows: 4, Classes: 2, F64: []float64{0.5, 0.5, 1, 0, 0.5, 0.5, 0, 1}},
		{Rows: 4, Classes: 2, F64: []float64{0.5, 0.5, 1, 0, 0.5, 0.5, 1, 0}},
	}}
	u, d := ensemble.NewUncertainty(), metrics.Must(ensemble.NewDiversity(nil))
	run(t, ensemble.InMemory(e), nil, u, d)
	for _, c := range []struct {
		m  ensemble.Measure
		of interface {
			Value(ensemble.Measure) float64
			InfiniteRows(ensemble.Measure) int64
			Finite(ensemble.Measure) float64
			Interval(ensemble.Measure, float64) metrics.Interval
		}
		rows   int64
		finite float64
	}{
		// In row 1 the first member gives 1/2 to a class to which the others give 0; in row 3 every class has 0 from some
		// member.
		{ensemble.AverageKL, d, 2, (0*1 + 2*math.Ln2/3*4) / 5},
		{ensemble.BregmanKLVariance, d, 1, (0*1 + (math.Ln2/3)*2 + (2*math.Ln2/3)*4) / 7},
		{ensemble.EnsembleNLL, u, 0, (math.Ln2*1 + math.Log(6)*2 + math.Log(1.5)*4 + math.Log(3)*8) / 15},
		{ensemble.GibbsNLL, u, 2, (math.Ln2*1 + 2*math.Ln2/3*4) / 5},
		{ensemble.MutualInformation, u, 0, u.Value(ensemble.MutualInformation)},
	} {
		if c.of.InfiniteRows(c.m) != c.rows || !near(c.of.Finite(c.m), c.finite) {
			t.Errorf("%v: %d infinite rows, want %d; the others' mean %v, want %v", c.m,
				c.of.InfiniteRows(c.m), c.rows, c.of.Finite(c.m), c.finite)
		}
		if v := c.of.Value(c.m); c.rows > 0 && !math.IsInf(v, 1) || c.rows == 0 && !near(v, c.finite) {
			t.Errorf("%v: %v", c.m, v)
		}
		if i := c.of.Interval(c.m, 0.95); (i.Low != i.Low) != (c.rows > 0) {
			t.Errorf("%v: %v", c.m, i)
		}
	}
	// A label to which all members give 0.
	e.Labels[2], e.Each[1].F64[4], e.Each[1].F64[5], e.Each[2].F64[4], e.Each[2].F64[5] = 1, 1, 0, 1, 0
	u, d = ensemble.NewUncertainty(), metrics.Must(ensemble.NewDiversity(nil))
	run(t, ensemble.InMemory(e), nil, u, d)
	if n := u.InfiniteRows(ensemble.EnsembleNLL); n != 1 || !math.IsInf(u.Value(ensemble.EnsembleNLL), 1) {
		t.Errorf("%d rows, %v", n, u.Value(ensemble.EnsembleNLL))
	}
	if v := d.Value(ensemble.VarianceBound); v-v != 0 {
		t.Errorf("variance bound %v", v)
	}
	// A class that only one member considers possible, with logits.
	e = &metrics.Members{Kind: metrics.Logits, Labels: []int32{0}, Each: []metrics.Scores{
		{Rows: 1, Classes: 3, F64: []float64{0, -800, math.Inf(-1)}}, {Rows: 1, Classes: 3, F64: []float64{0, math.Inf(-1), math.Inf(-1)}}}}
	if v := diversity(t, e, nil).Value(ensemble.LogitKL); !math.IsInf(v, 1) {
		t.Errorf("logit_kl %v", v)
	}
	e.Each[0], e.Each[1] = e.Each[1], e.Each[0]
	if v := diversity(t, e, nil).Value(ensemble.LogitKL); v != 0 {
		t.Errorf("logit_kl %v", v)
	}
	// Logits so far apart that probabilities underflow still have their divergence.
	e.Each = []metrics.Scores{{Rows: 1, Classes: 2, F64: []float64{1000, 0}}, {Rows: 1, Classes: 2, F64: []float64{0, 1000}}}
	if v := diversity(t, e, nil).Value(ensemble.LogitKL); v != 1000 {
		t.Errorf("logit_kl %v", v)
	}
	u = ensemble.NewUncertainty()
	run(t, ensemble.InMemory(e), nil, u)
	if v, g := u.Value(ensemble.EnsembleNLL), u.Value(ensemble.GibbsNLL); !near(v, math.Ln2) || g != 500 {
		t.Errorf("nll %v and %v", v, g)
	}
}

// TestUndefined checks that unchecked scores without a logarithm give NaN, and are not left out.
func TestUndefined(t *testing.T) {
	e := &metrics.Members{Labels: []int32{0, 1}, Each: []metrics.Scores{
		{Rows: 2, Classes: 2, F64: []float64{0.5, 0.5, -0.5, 1.5}}, {Rows: 2, Classes: 2, F64: []float64{0, 0, 1e140, 1}}}}
	d := metrics.Must(ensemble.NewDiversity(nil))
	o := &ensemble.Options{Options: metrics.Options{Unchecked: true}}
	run(t, ensemble.InMemory(e), o, d)
	if v := d.Value(ensemble.AverageKL); v == v {
		t.Errorf("average_kl %v", v)
	}
	if v := d.Value(ensemble.CosineSimilarity); !near(v, -0.5/math.Sqrt(2.5)/2) {
		t.Errorf("cosine_similarity %v", v)
	}
	if v := d.Value(ensemble.LpDistance); !near(v, 0.5e140) {
		t.Errorf("lp_distance %v", v)
	}
}

// TestIntervals checks that intervals are those of a mean over the rows.
func TestIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	e, _ := generate(r, settings{members: 3, rows: 400, k: 6, kind: metrics.Logits})
	for i := range e.Each {
		for j, v := range e.Each[i].F64 {
			e.Each[i].F64[j] = max(v, -20) // no logit is -Inf
		}
	}
	u, d := ensemble.NewUncertainty(), metrics.Must(ensemble.NewDiversity(nil))
	run(t, ensemble.InMemory(e), nil, u, d)
	for i, m := range measures {
		mean, rows := each(t, m, e, nil, nil)
		s := 0.0
		for _, v := range rows {
			s += (v - mean) * (v - mean)
		}
		h := 1.959963984540 * math.Sqrt(s/float64(len(rows)-1)/float64(len(rows)))
		var got metrics.Interval
		if i < 5 {
			got = u.Interval(m, 0.95)
		} else {
			got = d.Interval(m, 0.95)
		}
		if math.Abs(got.Low-(mean-h)) > 1e-9 || math.Abs(got.High-(mean+h)) > 1e-9 {
			t.Errorf("%v: %v, want %v +- %v", m, got, mean, h)
		}
	}
	c := metrics.Must(ensemble.NewDiversity(&ensemble.DiversityOptions{Conditional: true}))
	run(t, ensemble.InMemory(e), nil, c)
	if i := c.Interval(ensemble.DoubleFault, 0.95); i.Low == i.Low {
		t.Errorf("a ratio has the interval %v", i)
	}
	if got, want := c.Value(ensemble.DoubleFault), d.Value(ensemble.DoubleFault); !(got >= want) {
		t.Errorf("double fault %v, given that one is wrong %v", want, got)
	}
	if got, want := d.DisagreementOver(0.5), d.Value(ensemble.Disagreement)/0.5000001; !near(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestWide checks that long rows of many members, side by side, are still one block of each member.
func TestWide(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits} {
		for _, s := range []settings{{members: 30, rows: check.Size(5, 20, 20), k: 3000}, {members: 2, rows: check.Size(3, 9, 9), k: 40000},
			{members: 100, rows: 700, k: 2}, {members: 200, rows: 3, k: 1}} {
			s.kind, s.dtype, s.interleaved = kind, metrics.Float32, true
			e, _ := generate(r, s)
			u, o := ensemble.NewUncertainty(), ensemble.NewUncertainty()
			run(t, ensemble.InMemory(e), threads(1, false), u)
			run(t, &pieces{e: e, r: r}, threads(2, false), o)
			sameState(t, "wide rows", state(t, u), state(t, o))
			if u.Len() != int64(s.rows) || !(u.Value(ensemble.MutualInformation) > 0) {
				t.Errorf("%+v: %v", s, u.Value(ensemble.MutualInformation))
			}
		}
	}
}

// TestEachAlone checks a Fold without accumulators.
func TestEachAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	e, _ := generate(r, settings{members: 2, rows: 300, k: 3, kind: metrics.Probs})
	a, b := &metrics.Predictions{Scores: e.Each[0], Labels: e.Labels}, &metrics.Predictions{Scores: e.Each[1], Labels: e.Labels}
	for _, m := range measures {
		want, _ := each(t, m, e, threads(2, false), nil)
		got, err := ensemble.Each(nil, m, ensemble.InMemory(e), nil, nil)
		if err != nil || got != want {
			t.Errorf("%v: %v, want %v, %v", m, got, want, err)
		}
		if got, err = ensemble.Pair(nil, m, a, b, nil); err != nil || got != want {
			t.Errorf("%v of a pair: %v, want %v, %v", m, got, want, err)
		}
	}
	e.Labels[7] = 9
	if v, err := ensemble.Pair(nil, ensemble.AverageKL, a, b, nil); err == nil || v == v {
		t.Errorf("%v, %v of bad rows", v, err)
	}
	if err := ensemble.NewRows(nil, ensemble.AverageKL, nil).Merge(ensemble.NewUncertainty()); err == nil {
		t.Error("rows take another accumulator's")
	}
}

// TestPairsOfNobody checks that a state with pairs but without members is rejected.
func TestPairsOfNobody(t *testing.T) {
	b := state(t, metrics.Must(ensemble.NewDiversity(&ensemble.DiversityOptions{Conditional: true})))
	e := exact.Enc{B: slices.Clone(b[14 : len(b)-16])}
	e.U64(1)
	e.Sum(new(exact.Sum))
	if err := new(ensemble.Diversity).UnmarshalBinary(exact.Seal(string(b[:4]), 1, e.B)); !errors.Is(err, exact.ErrDamaged) {
		t.Error(err)
	}
}

func TestMeasureString(t *testing.T) {
	for m, want := range map[ensemble.Measure]string{ensemble.MutualInformation: "mutual_information",
		ensemble.VarianceBound:                "variance_bound",
		ensemble.AverageKL | ensemble.LogitKL: "average_kl+logit_kl", 0: "Measure(0)", 1 << 13: "Measure(8192)"} {
		if got := m.String(); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestWeights checks that a whole weight equals as many rows, and that a weight of 0 equals none.
func TestWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	e, v := generate(r, settings{members: 4, rows: 120, k: 3, kind: metrics.Probs})
	var order []int
	for i := range e.Labels {
		w := r.IntN(4)
		e.Weights = append(e.Weights, float64(w))
		for range w {
			order = append(order, i)
		}
	}
	weighted, repeated := all(), all()
	run(t, ensemble.InMemory(e), nil, weighted...)
	e.Weights = nil
	run(t, ensemble.InMemory(permuted(e, v, order)), nil, repeated...)
	for i, a := range weighted {
		for _, m := range measures {
			of := func(a ensemble.Accumulator) (v float64) {
				defer func() { recover() }() // the measure may not be kept
				return a.(interface {
					Value(ensemble.Measure) float64
				}).Value(m)
			}
			if got, want := of(a), of(repeated[i]); !near(got, want) {
				t.Errorf("%d: %v: %v, want %v", i, m, got, want)
			}
		}
	}
}

// TestRenormalize checks that rows are divided by their sums, whatever these are.
func TestRenormalize(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, dtype := range []metrics.DType{metrics.Float64, metrics.Float32} {
		s := settings{members: 3, rows: 50, k: 4, dtype: metrics.Float64, kind: metrics.Probs}
		e, v := generate(r, s)
		times := &metrics.Members{Kind: e.Kind, Labels: e.Labels}
		for _, m := range v {
			for _, row := range m {
				for j := range row {
					row[j] *= 4
				}
			}
		}
		s.dtype = dtype
		store(times, v, s)
		o := &ensemble.Options{Options: metrics.Options{Renormalize: true}}
		a, b := ensemble.NewUncertainty(), ensemble.NewUncertainty()
		da, db := metrics.Must(ensemble.NewDiversity(nil)), metrics.Must(ensemble.NewDiversity(nil))
		run(t, ensemble.InMemory(e), nil, a, da)
		if audit := run(t, ensemble.InMemory(times), o, b, db); !audit.Renormalized || audit.SumsOff != 150 {
			t.Errorf("%+v", audit)
		}
		for i, m := range measures {
			got, want := 0.0, 0.0
			switch {
			case m == ensemble.LogitKL:
				continue // it uses the original scores
			case i < 5:
				got, want = b.Value(m), a.Value(m)
			default:
				got, want = db.Value(m), da.Value(m)
			}
			if !near(got, want) && (dtype == metrics.Float64 || math.Abs(got-want) > 1e-6) {
				t.Errorf("%v, %v: %v, want %v", dtype, m, got, want)
			}
		}
	}
}
