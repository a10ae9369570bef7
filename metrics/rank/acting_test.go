package rank_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// TestActingIsThePeers compares with dcurves, scipy and scikit-learn.
func TestActingIsThePeers(t *testing.T) {
	var golden struct {
		Cases []struct {
			P        []float64
			Y        []int32
			Benefits []struct{ Threshold, Model, All float64 }
			Costs    []struct {
				FP, FN, TP, TN, Threshold, Cost, Least float64
				Best                                   *float64
			}
			Promises []struct {
				Risk, Confidence float64
				Steps            int
				Rows             float64
				Above            *float64
			}
		}
	}
	b, err := os.ReadFile("../../testdata/oracle/acting.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	promised := 0
	for i, c := range golden.Cases {
		p := &metrics.Predictions{Labels: c.Y}
		p.Rows, p.Classes, p.F64 = len(c.Y), 1, c.P
		r := rank.RankingOf(of(t, p))
		for _, w := range c.Benefits {
			got, bound := r.MeanOutcome(w.Threshold, rank.Benefit(w.Threshold, false))
			above, _ := r.MeanOutcome(w.Threshold, rank.Benefit(w.Threshold, true))
			if !near(got, w.Model, 1e-14) || bound != 0 || !near(got-above, w.All, 1e-14) {
				t.Errorf("case %d: benefit at %v is %v, of all %v; dcurves has %v and %v", i, w.Threshold, got, got-above, w.Model, w.All)
			}
		}
		for _, w := range c.Costs {
			o := rank.Outcomes{TruePositive: w.TP, FalsePositive: w.FP, FalseNegative: w.FN, TrueNegative: w.TN}
			cost, _ := r.MeanOutcome(o.Threshold(), o)
			least, best, bound := r.LeastCost(o)
			want := math.Inf(1)
			if w.Best != nil {
				want = *w.Best
			}
			if !near(o.Threshold(), w.Threshold, 1e-15) || !near(cost, w.Cost, 1e-14) || !near(least, w.Least, 1e-14) || best != want || bound != 0 {
				t.Errorf("case %d: cost %v, least %v at %v; want %+v", i, cost, least, best, w)
			}
		}
		for _, w := range c.Promises {
			got := r.Promised(rank.Promise{Risk: w.Risk, Confidence: w.Confidence, Steps: w.Steps})
			want := math.NaN()
			switch {
			case w.Above != nil:
				want = *w.Above
				promised++
			case w.Rows > 0:
				want = math.Inf(-1)
			}
			if got.Rows != w.Rows || got.Above != want && !(want != want && got.Above != got.Above) || got.Share != w.Rows/float64(len(c.Y)) {
				t.Errorf("case %d: %+v; want %v rows above %v of %+v", i, got, w.Rows, want, w)
			}
		}
	}
	if promised < 2 {
		t.Errorf("%d promises have a threshold between the scores", promised)
	}
}

// TestPromiseIsKept: over many samples, the true risk of the rows above the threshold exceeds the promised one in at most the share of them
// that is allowed, also with ties, and with risks that are in no order.
func TestPromiseIsKept(t *testing.T) {
	runs := check.Size(200, 2000, 4000)
	for name, right := range map[string]func(s float64) float64{
		"in order":    func(s float64) float64 { return 0.5 + s/2 },
		"constant":    func(float64) float64 { return 0.8 }, // the risk itself at every threshold: each answer but none breaks no promise of 0.2
		"wrong order": func(s float64) float64 { return 0.99 - 0.5*s*s },
		"at the edge": func(float64) float64 { return 0.7999 }, // every threshold is unsafe
	} {
		for _, values := range []int{7, 1 << 20} {
			p := rank.Promise{Risk: 0.2, Confidence: 0.9, Steps: 10}
			r := rand.New(rand.NewPCG(uint64(values), 3))
			const n = 300
			broken, answered := 0, 0
			for range runs {
				q := &metrics.Predictions{Labels: make([]int32, n)}
				q.Rows, q.Classes, q.F64 = n, 1, make([]float64, n)
				for i := range q.F64 {
					q.F64[i] = float64(r.IntN(values)+1) / float64(values)
					if r.Float64() < right(q.F64[i]) {
						q.Labels[i] = 1
					}
				}
				a := rank.RankingOf(of(t, q)).Promised(p)
				if a.Rows == 0 {
					continue
				}
				answered++
				// The true risk of the rows above.
				wrong, all := 0.0, 0.0
				for v := 1; v <= values; v += max(1, values/4096) {
					if s := float64(v) / float64(values); s > a.Above {
						wrong, all = wrong+1-right(s), all+1
					}
				}
				if wrong/all > p.Risk+1e-12 {
					broken++
				}
			}
			share := float64(broken) / float64(runs)
			t.Logf("%s, %d values: broken %.4f, answered %.3f", name, values, share, float64(answered)/float64(runs))
			if share > 0.1+3*math.Sqrt(0.09/float64(runs)) {
				t.Errorf("%s, %d values: the promise is broken in %.3f of the samples", name, values, share)
			}
			if name == "in order" && answered*10 < runs*9 {
				t.Errorf("%d of %d samples are answered at all", answered, runs)
			}
		}
	}
}

// TestOutcomesCover: the interval holds the true mean, also of rare and costly errors.
func TestOutcomesCover(t *testing.T) {
	runs := check.Size(200, 2000, 4000)
	for _, c := range []struct {
		name      string
		n         int
		threshold float64
		o         rank.Outcomes
		p         func(u float64) float64
	}{
		{"error rate", 100, 0.5, rank.Outcomes{FalsePositive: 1, FalseNegative: 1}, func(u float64) float64 { return u }},
		{"benefit at 0.2", 100, 0.2, rank.Benefit(0.2, false), func(u float64) float64 { return u * u }},
		{"benefit at 0.2 of many", 2000, 0.2, rank.Benefit(0.2, false), func(u float64) float64 { return u * u }},
		{"rare benefit", 500, 0.05, rank.Benefit(0.05, false), func(u float64) float64 { return 0.15 * u * u * u }},
		{"rare benefit over all", 500, 0.05, rank.Benefit(0.05, true), func(u float64) float64 { return 0.15 * u * u * u }},
		{"rare cost", 500, 0.02, rank.Outcomes{FalsePositive: 1, FalseNegative: 49}, func(u float64) float64 { return 0.1 * u * u }},
		{"rare cost of many", 10000, 0.02, rank.Outcomes{FalsePositive: 1, FalseNegative: 49}, func(u float64) float64 { return 0.1 * u * u }},
		{"full matrix", 200, 0.6, rank.Outcomes{TruePositive: 1, FalsePositive: 4, FalseNegative: 3, TrueNegative: 1}, func(u float64) float64 { return u }},
	} {
		const grid = 200000
		truth := 0.0
		for i := range grid {
			p := c.p((float64(i) + 0.5) / grid)
			if p >= c.threshold {
				truth += p*c.o.TruePositive + (1-p)*c.o.FalsePositive
			} else {
				truth += p*c.o.FalseNegative + (1-p)*c.o.TrueNegative
			}
		}
		truth /= grid
		runs := runs
		if c.n > 1000 {
			runs /= 4
		}
		r := rand.New(rand.NewPCG(uint64(c.n), 5))
		held := 0
		for range runs {
			q := &metrics.Predictions{Labels: make([]int32, c.n)}
			q.Rows, q.Classes, q.F64 = c.n, 1, make([]float64, c.n)
			for i := range q.F64 {
				if q.F64[i] = c.p(r.Float64()); r.Float64() < q.F64[i] {
					q.Labels[i] = 1
				}
			}
			k := rank.RankingOf(of(t, q))
			i := k.OutcomeInterval(c.threshold, c.o, 0.95)
			if v, _ := k.MeanOutcome(c.threshold, c.o); !(i.Low <= v && v <= i.High) {
				t.Fatalf("%s: %v is outside %v", c.name, v, i)
			}
			if i.Low <= truth && truth <= i.High {
				held++
			}
		}
		share := float64(held) / float64(runs)
		t.Logf("%s, %d rows: %.4f", c.name, c.n, share)
		if share < 0.94-3*math.Sqrt(0.05/float64(runs)) {
			t.Errorf("%s: the interval holds the truth in %.3f of %d samples", c.name, share, runs)
		}
	}
}

// TestActingOnGrid: on a grid of cells, values lie within their bounds of those of the rows.
func TestActingOnGrid(t *testing.T) {
	p := drawn(7, 3*cells.MaxExact/2, 0)
	r := rank.RankingOf(of(t, p))
	if r.Exact() {
		t.Fatal("the cells are exact")
	}
	o := rank.Outcomes{FalsePositive: 2, FalseNegative: 3}
	got, bound := r.MeanOutcome(o.Threshold(), o)
	want := 0.0
	for i, s := range p.F64 {
		switch {
		case s >= o.Threshold() && p.Labels[i] == 0:
			want += 2
		case s < o.Threshold() && p.Labels[i] == 1:
			want += 3
		}
	}
	want /= float64(p.Rows)
	if math.Abs(got-want) > bound+1e-12 || !(bound < 1e-3) {
		t.Errorf("cost %v, of the rows %v, bound %v", got, want, bound)
	}
	sorted, err := cells.Sort(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	exact, _, none := rank.RankingOf(sorted).LeastCost(o)
	least, _, loose := r.LeastCost(o)
	if none != 0 || exact > least+1e-12 || exact < least-loose-1e-12 || !(loose > 0 && loose < 2e-3) {
		t.Errorf("least cost %v, of the rows %v, bound %v", least, exact, loose)
	}
	a := r.Promised(rank.Promise{Risk: 0.4, Confidence: 0.95, Steps: 50})
	b := rank.RankingOf(sorted).Promised(rank.Promise{Risk: 0.4, Confidence: 0.95, Steps: 50})
	above := 0.0
	for _, s := range p.F64 {
		if s > a.Above {
			above++
		}
	}
	if above != a.Rows {
		t.Errorf("%v rows are above the threshold, and %+v", above, a)
	}
	if math.Abs(a.Share-b.Share) > 0.001 || a.Share == 0 || a.Share == 1 {
		t.Errorf("%+v, of the rows %+v", a, b)
	}
}

func TestActingEdges(t *testing.T) {
	empty := rank.RankingOf(metrics.Must(cells.New(&cells.Options{Event: metrics.Positive})))
	o := rank.Outcomes{FalsePositive: 1, FalseNegative: 1}
	if v, _ := empty.MeanOutcome(0.5, o); v == v {
		t.Errorf("no rows cost %v", v)
	}
	if v, at, _ := empty.LeastCost(o); v == v || at == at {
		t.Errorf("no rows cost %v at %v", v, at)
	}
	if i := empty.OutcomeInterval(0.5, o, 0.95); i.Low == i.Low {
		t.Errorf("no rows have %v", i)
	}
	if a := empty.Promised(rank.Promise{0.1, 0.9, 5}); a.Share != 0 || a.Above == a.Above {
		t.Errorf("no rows: %+v", a)
	}
	p := &metrics.Predictions{Labels: []int32{0, 1, 1}}
	p.Rows, p.Classes, p.F64, p.Weights = 3, 1, []float64{0.2, 0.5, 0.9}, []float64{2, 1, 1}
	w := rank.RankingOf(of(t, p))
	if v, _ := w.MeanOutcome(0.6, o); v != 0.25 {
		t.Errorf("weights: %v", v)
	}
	if i := w.OutcomeInterval(0.6, o, 0.95); i.Low == i.Low {
		t.Errorf("weights have %v", i)
	}
	if v, at, _ := w.LeastCost(o); v != 0 || at != 0.5 {
		t.Errorf("weights: %v at %v", v, at)
	}
	for what, f := range map[string]func(){
		"a promise with weights": func() { w.Promised(rank.Promise{0.1, 0.9, 5}) },
		"risk 0":                 func() { empty.Promised(rank.Promise{0, 0.9, 5}) },
		"confidence 1":           func() { empty.Promised(rank.Promise{0.1, 1, 5}) },
		"no steps":               func() { empty.Promised(rank.Promise{0.1, 0.9, 0}) },
		"equal costs":            func() { rank.Outcomes{}.Threshold() },
		"a costly right":         func() { rank.Outcomes{TruePositive: 2, FalseNegative: 1, FalsePositive: 1}.Threshold() },
		"an infinite cost":       func() { rank.Outcomes{FalseNegative: math.Inf(1), FalsePositive: 1}.Threshold() },
		"benefit at 0":           func() { rank.Benefit(0, false) },
		"benefit at 1":           func() { rank.Benefit(1, true) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", what)
				}
			}()
			f()
		}()
	}
}

// Costs: a missed event costs five times a false alarm, so a calibrated probability is acted on from 1/6 on.
func ExampleRanking_LeastCost() {
	r := ranked()
	o := rank.Outcomes{FalsePositive: 1, FalseNegative: 5}
	t := o.Threshold()
	cost, _ := r.MeanOutcome(t, o)
	i := r.OutcomeInterval(t, o, 0.95)
	least, at, _ := r.LeastCost(o)
	fmt.Printf("from %.3f on: %.2f [%.2f, %.2f]; least %.2f from %.2f on\n", t, cost, i.Low, i.High, least, at)
	benefit, bound := r.MeanOutcome(0.2, rank.Benefit(0.2, false))
	fmt.Printf("net benefit at 0.2: %.4f within %v\n", benefit, bound)
	// Output:
	// from 0.167 on: 0.25 [0.00, 1.98]; least 0.25 from 0.35 on
	// net benefit at 0.2: 0.4375 within 0
}

func ExampleRanking_Promised() {
	p := &metrics.Predictions{}
	for i := range 2000 { // right where confident
		s := float64(i) / 2000
		p.F64, p.Labels = append(p.F64, s), append(p.Labels, 1)
		if s < 0.3 && i%2 == 0 {
			p.Labels[i] = 0
		}
	}
	p.Rows, p.Classes = 2000, 1
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		panic(err)
	}
	a := rank.RankingOf(c).Promised(rank.Promise{Risk: 0.05, Confidence: 0.95, Steps: 50})
	fmt.Printf("answer %v of the rows, those above %v: %v errors among %v\n", a.Share, a.Above, a.Errors, a.Rows)
	// Output:
	// answer 0.74 of the rows, those above 0.2595: 40 errors among 1480
}

func BenchmarkActing(b *testing.B) {
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(drawn(1, 1<<20, 0)); err != nil {
		b.Fatal(err)
	}
	r := rank.RankingOf(c)
	o := rank.Outcomes{FalsePositive: 1, FalseNegative: 5}
	for name, f := range map[string]func(){
		"cost":    func() { r.OutcomeInterval(o.Threshold(), o, 0.95) },
		"least":   func() { r.LeastCost(o) },
		"saving":  func() { r.SavingInterval(o, 0.95) },
		"promise": func() { r.Promised(rank.Promise{Risk: 0.3, Confidence: 0.95, Steps: 50}) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
}
