package score_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/score"
)

// costly returns costs of k classes and d decisions.
func costly(r *rand.Rand, k, d int) *score.CostMatrix {
	m := &score.CostMatrix{Classes: k, Decisions: d}
	for range k * d {
		m.Cost = append(m.Cost, float64(r.IntN(40))/4)
	}
	return m
}

// decided is the definition: the decision of the least expected cost of a row, the first of equal ones.
func decided(m *score.CostMatrix, p []float64) int {
	best, least := -1, math.Inf(1)
	for d := range m.Decisions {
		sum := 0.0
		for k, v := range p {
			sum += v * m.Cost[k*m.Decisions+d]
		}
		if sum < least {
			best, least = d, sum
		}
	}
	return best
}

// TestDecisionCosts compares with the definition, for several classes and for binary tasks, with and without weights, and for merged parts.
func TestDecisionCosts(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 5))
		classes := 1 + int(seed%4)
		k := max(2, classes)
		m := costly(r, k, 2+int(seed%3))
		p := &metrics.Predictions{}
		p.Rows, p.Classes = 300, classes
		var cost, all float64
		constant, taken := make([]float64, m.Decisions), make([]float64, m.Decisions)
		for range p.Rows {
			row := make([]float64, k)
			sum := 0.0
			for j := range row {
				row[j] = float64(1 + r.IntN(64))
				sum += row[j]
			}
			for j := range row {
				row[j] /= sum
			}
			if classes == 1 {
				row[1] = float64(r.IntN(65)) / 64
				row[0] = 1 - row[1]
				p.F64 = append(p.F64, row[1])
			} else {
				p.F64 = append(p.F64, row...)
			}
			y := r.IntN(k)
			w := 1.0
			if seed%2 == 1 {
				w = float64(1+r.IntN(8)) / 4
				p.Weights = append(p.Weights, w)
			}
			p.Labels = append(p.Labels, int32(y))
			d := decided(m, row)
			cost += w * m.Cost[y*m.Decisions+d]
			taken[d] += w
			all += w
			for d := range constant {
				constant[d] += w * m.Cost[y*m.Decisions+d]
			}
		}
		a := metrics.Must(score.NewDecisionCosts(m))
		if err := metrics.NewPass(nil, a).Add(p); err != nil {
			t.Fatal(err)
		}
		least, at := math.Inf(1), 0
		for d, c := range constant {
			if c < least {
				least, at = c, d
			}
		}
		got, decision := a.Constant()
		if math.Abs(a.Value()-cost/all) > 1e-13 || math.Abs(got-least/all) > 1e-13 || decision != at || a.Len() != 300 {
			t.Errorf("seed %d: %v, constant %v of %d; want %v, %v of %d", seed, a.Value(), got, decision, cost/all, least/all, at)
		}
		for d := range taken {
			if math.Abs(a.Share(d)-taken[d]/all) > 1e-14 {
				t.Errorf("seed %d: share %d is %v, want %v", seed, d, a.Share(d), taken[d]/all)
			}
		}
		if i := a.Interval(0.95); (i.Low == i.Low) != (p.Weights == nil) || p.Weights == nil && !(i.Low <= a.Value() && a.Value() <= i.High) {
			t.Errorf("seed %d: %v of %v", seed, i, a.Value())
		}
		b := &score.DecisionCosts{}
		s, err := a.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.UnmarshalBinary(s); err != nil {
			t.Fatal(err)
		}
		if b.Value() != a.Value() {
			t.Errorf("seed %d: read %v, written %v", seed, b.Value(), a.Value())
		}
		if err := b.Merge(metrics.Must(score.NewDecisionCosts(costly(r, k, m.Decisions)))); err == nil {
			t.Error("other costs merge")
		}
	}
}

// TestDecisionCostsOfTwo: of two classes and two decisions it is the mean cost at the threshold that the costs imply, with its interval, and with
// costs of 0 and 1 that of Agresti and Coull.
func TestDecisionCostsOfTwo(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	p := &metrics.Predictions{}
	p.Rows, p.Classes = 500, 1
	for range p.Rows {
		s := r.Float64()
		y := int32(0)
		if r.Float64() < s*s {
			y = 1
		}
		p.F64, p.Labels = append(p.F64, s), append(p.Labels, y)
	}
	for _, o := range []rank.Outcomes{{FalsePositive: 1, FalseNegative: 1}, {TruePositive: 2, FalsePositive: 7, FalseNegative: 30, TrueNegative: 0.5}} {
		a := metrics.Must(score.NewDecisionCosts(&score.CostMatrix{Classes: 2, Decisions: 2, Cost: []float64{o.TrueNegative, o.FalsePositive, o.FalseNegative, o.TruePositive}}))
		c := metrics.Must(cells.New(nil))
		if err := metrics.NewPass(nil, a, c).Add(p); err != nil {
			t.Fatal(err)
		}
		want, _ := rank.RankingOf(c).MeanOutcome(o.Threshold(), o)
		i, j := a.Interval(0.9), rank.RankingOf(c).OutcomeInterval(o.Threshold(), o, 0.9)
		if math.Abs(a.Value()-want) > 1e-13 || math.Abs(i.Low-j.Low) > 1e-13 || math.Abs(i.High-j.High) > 1e-13 {
			t.Errorf("%+v: %v %v, want %v %v", o, a.Value(), i, want, j)
		}
	}
}

func TestCostMatrixCheck(t *testing.T) {
	for want, m := range map[string]*score.CostMatrix{
		"row 1, column 0 of the cost matrix is -1":   {Classes: 2, Decisions: 2, Cost: []float64{0, 1, -1, 0}},
		"row 0, column 1 of the cost matrix is NaN":  {Classes: 2, Decisions: 2, Cost: []float64{0, math.NaN(), 1, 0}},
		"row 1, column 2 of the cost matrix is +Inf": {Classes: 2, Decisions: 3, Cost: []float64{0, 1, 1, 1, 0, math.Inf(1)}},
		"has 1 rows":                        {Classes: 1, Decisions: 2, Cost: []float64{0, 1}},
		"has 3 costs":                       {Classes: 2, Decisions: 2, Cost: []float64{0, 1, 1}},
		"it may have at most 1048576 costs": {Classes: 1 << 20, Decisions: 2},
	} {
		if _, err := score.NewDecisionCosts(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	a := metrics.Must(score.NewDecisionCosts(costly(rand.New(rand.NewPCG(1, 1)), 3, 3)))
	if c, d := a.Constant(); a.Value() == a.Value() || c == c || d != -1 || a.Share(0) == a.Share(0) || a.Interval(0.9).Low == a.Interval(0.9).Low {
		t.Error("no rows cost something")
	}
	for what, f := range map[string]func(){
		"no such decision": func() { a.Share(3) },
		"other classes": func() {
			p := &metrics.Predictions{Labels: []int32{0}}
			p.Rows, p.Classes, p.F64 = 1, 4, []float64{1, 0, 0, 0}
			metrics.NewPass(&metrics.Options{Threads: 1}, a).Add(p)
		},
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

// TestDecisionCostsReal: bets on the result of every second football match, where a wrong bet loses 1 and none loses 0.4, cost what the rows say, and less than
// the best constant decision.
func TestDecisionCostsReal(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, "fte_club_soccer_3way", name))
		if err != nil {
			t.Fatal(err)
		}
		return b[10+int(binary.LittleEndian.Uint16(b[8:])):]
	}
	probs, labels := read("probs.npy"), read("labels.npy")
	p := &metrics.Predictions{}
	p.Classes = 3
	for i := 1; (i+1)*24 <= len(probs); i += 2 {
		for j := range 3 {
			p.F64 = append(p.F64, math.Float64frombits(binary.LittleEndian.Uint64(probs[i*24+j*8:])))
		}
		p.Labels = append(p.Labels, int32(binary.LittleEndian.Uint64(labels[i*8:])))
		p.Rows++
	}
	m := &score.CostMatrix{Classes: 3, Decisions: 4, Cost: []float64{0, 1, 1, 0.4, 1, 0, 1, 0.4, 1, 1, 0, 0.4}}
	a := metrics.Must(score.NewDecisionCosts(m))
	if err := metrics.NewPass(nil, a).Add(p); err != nil {
		t.Fatal(err)
	}
	sum, none := 0.0, 0.0
	for i, y := range p.Labels {
		d := decided(m, p.F64[i*3:][:3])
		sum += m.Cost[int(y)*4+d]
		if d == 3 {
			none++
		}
	}
	n := float64(p.Rows)
	c, d := a.Constant()
	if math.Abs(a.Value()-sum/n) > 1e-13 || math.Abs(a.Share(3)-none/n) > 1e-14 || c != 0.4 || d != 3 || !(a.Interval(0.95).High < 0.4) {
		t.Errorf("%d rows cost %v %v, want %v; %v without a bet, want %v; constant %v of %d", p.Rows, a.Value(), a.Interval(0.95), sum/n, a.Share(3), none/n, c, d)
	}
}

func ExampleDecisionCosts() {
	m := &score.CostMatrix{Classes: 2, Decisions: 3, Cost: []float64{0, 1, 0.2, 5, 0, 0.2}} // the third one asks somebody
	a := metrics.Must(score.NewDecisionCosts(m))
	p := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.02, 0.1, 0.4, 0.9}, Rows: 4, Classes: 1}, Labels: []int32{0, 1, 0, 1}}
	if err := metrics.NewPass(nil, a).Add(p); err != nil {
		panic(err)
	}
	constant, d := a.Constant()
	fmt.Printf("%.3f a row, %.0f%% are asked about; always %d would cost %.2f\n", a.Value(), 100*a.Share(2), d, constant)
	// Output:
	// 0.100 a row, 50% are asked about; always 2 would cost 0.20
}

func BenchmarkDecisionCosts(b *testing.B) {
	for _, k := range []int{2, 10, 100} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			p := &metrics.Predictions{}
			p.Rows, p.Classes = 1<<20/k, k
			for range p.Rows {
				sum := 0.0
				for range k {
					p.F64 = append(p.F64, r.Float64())
					sum += p.F64[len(p.F64)-1]
				}
				for j := range k {
					p.F64[len(p.F64)-k+j] /= sum
				}
				p.Labels = append(p.Labels, int32(r.IntN(k)))
			}
			m := costly(r, k, k)
			b.SetBytes(int64(p.Rows))
			for b.Loop() {
				a := metrics.Must(score.NewDecisionCosts(m))
				if err := metrics.NewPass(&metrics.Options{Threads: 1}, a).Add(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
