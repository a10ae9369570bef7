package eval

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// judge returns the judgement of the rows of one evaluation.
func judge(t testing.TB, p *metrics.Predictions, list string) *Judgement {
	t.Helper()
	m, err := ParseMetrics(list, Shape{Classes: p.Classes})
	if err != nil {
		t.Fatal(err)
	}
	return fill(t, Spec{Classes: p.Classes, Metrics: m}, p).Judge()
}

// sureRows draws rows of a calibrated model whose mean confidence is about c, as classes or as the event of a binary task.
func sureRows(r *rand.Rand, n int, c float64, binary bool) *metrics.Predictions {
	p := &metrics.Predictions{}
	p.Rows, p.Classes = n, 3
	if binary {
		p.Classes = 1
	}
	for range n {
		// Doubts of very different size, as a network's.
		q := min(0.5, (1-c)*math.Exp(1.2*r.NormFloat64()-0.72))
		y := int32(0)
		if r.Float64() < q {
			y = 1
		}
		if binary {
			s := q
			if r.IntN(3) == 0 {
				s, y = 1-q, 1-y
			}
			p.F64 = append(p.F64, s)
		} else {
			p.F64 = append(p.F64, 1-q, q*0.75, q-q*0.75)
		}
		p.Labels = append(p.Labels, y)
	}
	return p
}

// TestJudgeFalsely: of calibrated models at most 6% are found fault with, by their mean or by some bin, however few errors they make.
func TestJudgeFalsely(t *testing.T) {
	runs := check.Size(50, 300, 6000)
	for _, binary := range []bool{false, true} {
		for _, c := range []float64{0.90, 0.97, 0.99, 0.999} {
			for _, n := range []int{50, 300, 3000} {
				k := runs
				if n == 3000 {
					k = max(10, runs/4)
				}
				r := rand.New(rand.NewPCG(uint64(n), math.Float64bits(c)))
				adverse := 0
				for range k {
					if j := judge(t, sureRows(r, n, c, binary), "nll"); j.Side != 0 || len(j.Off) > 0 {
						adverse++
					}
				}
				// Four standard deviations of a share of 6% among twice as many sets: since the sets are the same in every run,
				// chance alone cannot fail it, and half of them do for the limit of all.
				if most := 0.06 + 4*math.Sqrt(0.06*0.94/float64(2*k)); float64(adverse)/float64(k) > most {
					t.Errorf("binary %v, confidence %v, %d rows: %d of %d sets are found fault with", binary, c, n, adverse, k)
				}
			}
		}
	}
}

// TestJudge: what has to be seen is seen, and on the right side.
func TestJudge(t *testing.T) {
	rep := func(n int, p float64, hits int) (s []float64, y []int32) {
		for i := range n {
			s = append(s, p)
			y = append(y, int32(min(1, max(0, hits-i))))
		}
		return s, y
	}
	join := func(parts ...[2]any) *metrics.Predictions {
		p := &metrics.Predictions{}
		p.Classes = 1
		for _, x := range parts {
			p.F64 = append(p.F64, x[0].([]float64)...)
			p.Labels = append(p.Labels, x[1].([]int32)...)
		}
		p.Rows = len(p.F64)
		return p
	}
	part := func(n int, p float64, hits int) [2]any { s, y := rep(n, p, hits); return [2]any{s, y} }
	for _, c := range []struct {
		name string
		p    *metrics.Predictions
		side int
		off  []int // signs of the runs
	}{
		// Said .2 and .8, happened .3 and .9: the top label's confidence is right on average.
		{"low everywhere", join(part(5000, 0.2, 1500), part(5000, 0.8, 4500)), -1, []int{-1, -1}},
		{"opposite", join(part(1000, 0.2, 300), part(1000, 0.8, 700)), 0, []int{-1, 1}},
		{"hidden", join(part(2000, 0.3, 900), part(106, 0.95, 82)), -1, []int{-1, 1}},
		{"all right", join(part(50, 0.007, 0)), 0, nil},
		{"sure and wrong", join(part(50, 0.0, 0), part(50, 1.0, 40)), 1, []int{1}},
		{"few rows", join(part(29, 0.9, 0)), 1, nil},
	} {
		j := judge(t, c.p, "nll")
		var off []int
		for _, r := range j.Off {
			off = append(off, map[bool]int{true: 1, false: -1}[r.Gap > 0])
		}
		if j.Side != c.side || !slices.Equal(off, c.off) || j.Event != calib.Positive {
			t.Errorf("%s: %+v, want side %d and runs %v", c.name, j, c.side, c.off)
		}
	}
}

// TestImpliedIntervals: intervals of means cover, in sets with few errors too.
func TestImpliedIntervals(t *testing.T) {
	runs := check.Size(50, 500, 4000)
	for _, binary := range []bool{false, true} {
		classes, names := 3, []string{"nll", "brier", "overconfidence", "accuracy"}
		if binary {
			classes, names = 1, append(names, "bias")
		}
		asked := make([]Metric, len(names))
		for i, name := range names {
			asked[i] = list(t, name, classes)[0]
		}
		spec := Spec{Classes: classes, Metrics: list(t, "nll,brier", classes)}
		for _, c := range []float64{0.9, 0.98} {
			// The law is the same however many rows a set has, and so is the truth.
			truth := fill(t, spec, sureRows(rand.New(rand.NewPCG(math.Float64bits(c), 77)), check.Size(50_000, 200_000, 1_000_000), c, binary))
			values := make([]float64, len(names))
			for i, m := range asked {
				values[i] = truth.Value(m).Value
			}
			for _, n := range []int{100, 1000} {
				r := rand.New(rand.NewPCG(uint64(n), 77))
				missed := map[string]int{}
				for range runs {
					e := fill(t, spec, sureRows(r, n, c, binary))
					for i, name := range names {
						if in, v := e.Value(asked[i]).Interval, values[i]; !(in.Low <= v && v <= in.High) {
							missed[name]++
						}
					}
				}
				for name, k := range missed {
					// .93 is asked for; four standard deviations of the runs, and what the truth of 200,000 rows is off.
					if most := 0.07 + 4*math.Sqrt(0.07*0.93/float64(runs)); float64(k)/float64(runs) > most {
						t.Errorf("binary %v, confidence %v, %d rows: %s is missed in %d of %d sets", binary, c, n, name, k, runs)
					}
				}
			}
		}
	}
}

// TestProbableLogits: logits of a binary task that all lie in [0,1] are told, and those that do not are not.
func TestProbableLogits(t *testing.T) {
	for _, c := range []struct {
		kind      metrics.Kind
		low, high float64
		want      bool
	}{{metrics.Logits, 0, 1, true}, {metrics.Logits, 0.2, 0.9, true}, {metrics.Logits, -0.1, 1, false}, {metrics.Logits, 0, 1.1, false}, {metrics.Probs, 0.5, 0.7, false}} {
		p := &metrics.Predictions{Kind: c.kind}
		for i := range 50 {
			p.F64, p.Labels = append(p.F64, c.low+(c.high-c.low)*float64(i)/49), append(p.Labels, int32(i%2))
		}
		p.Rows, p.Classes = 50, 1
		if _, got := fill(t, Spec{Classes: 1, Metrics: list(t, "nll", 1)}, p).ProbableLogits(); got != c.want {
			t.Errorf("%v from %v to %v: %v", c.kind, c.low, c.high, got)
		}
	}
}

// TestSigmoidsAsLogits: what a sigmoid gives of each class, passed as logits, is told by how little any class is given; logits are not.
func TestSigmoidsAsLogits(t *testing.T) {
	for _, k := range []int{2, 3, 10} {
		for _, sigmoid := range []bool{false, true} {
			r := rand.New(rand.NewPCG(7, uint64(k)))
			p := &metrics.Predictions{Kind: metrics.Logits, Labels: make([]int32, 50)}
			p.Rows, p.Classes = 50, k
			for range 50 * k {
				z := 2 * r.NormFloat64()
				if sigmoid {
					z = 1 / (1 + math.Exp(-z))
				}
				p.F64 = append(p.F64, z)
			}
			most, got := fill(t, Spec{Classes: k, Metrics: list(t, "nll", k)}, p).ProbableLogits()
			if want := math.E / (math.E + float64(k-1)); got != sigmoid || math.Abs(most-want) > 1e-15 {
				t.Errorf("%d classes, sigmoid %v: %v, at most %v", k, sigmoid, got, most)
			}
		}
	}
}

// TestJudgeAnyMetrics: the judgement does not depend on which metrics are asked for, or whose bins they have.
func TestJudgeAnyMetrics(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, binary := range []bool{false, true} {
		p := sureRows(r, 2000, 0.9, binary)
		for i := range p.Labels {
			if r.IntN(5) == 0 {
				p.Labels[i] = 1
			}
		}
		want := judge(t, p, "nll")
		if want.Side == 0 {
			t.Fatalf("%+v", want)
		}
		for _, like := range []string{"um", "tfp", "torchmetrics", "guo", "blog"} {
			base, err := calib.Like(like)
			if err != nil {
				t.Fatal(err)
			}
			got := fill(t, Spec{Classes: p.Classes, Base: base, Metrics: list(t, "ece", p.Classes)}, p).Judge()
			if got.Side != want.Side || got.P != want.P || !slices.Equal(got.Off, want.Off) {
				t.Errorf("%s, binary %v: %+v, want %+v", like, binary, got, want)
			}
		}
		// Nor on whether the rows' scores are kept.
		e := fill(t, Spec{Classes: p.Classes, Metrics: list(t, "ece", p.Classes), binned: true}, p)
		if j := e.Judge(); j.Side != want.Side || len(j.Off) != len(want.Off) {
			t.Errorf("binary %v, without scores: %+v", binary, j)
		}
	}
}
