package rank_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

func drawn(seed uint64, n, values int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
	for i := range p.F64 {
		p.F64[i] = r.Float64()
		if values > 0 {
			p.F64[i] = float64(r.IntN(values)) / float64(values)
		}
		if r.Float64() < 0.2+p.F64[i]/2 {
			p.Labels[i] = 1
		}
	}
	return p
}

func of(t *testing.T, p *metrics.Predictions) *cells.Cells {
	t.Helper()
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	return c
}

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*math.Max(1, math.Abs(b)) }

func TestAUROCAgainstPairs(t *testing.T) {
	for _, values := range []int{0, 5, 40} {
		p := drawn(1, 400, values)
		won, pairs := 0.0, 0.0
		for i, a := range p.F64 {
			for j, b := range p.F64 {
				if p.Labels[i] == 1 && p.Labels[j] == 0 {
					pairs++
					if a > b {
						won++
					} else if a == b {
						won += 0.5
					}
				}
			}
		}
		if got, bound := rank.RankingOf(of(t, p)).AUROC(); !near(got, won/pairs, 1e-14) || bound != 0 {
			t.Errorf("%d values: %v, bound %v, want %v", values, got, bound, won/pairs)
		}
	}
}

// TestAURCAgainstOrders checks that the area is the mean over many random orders of tied rows.
func TestAURCAgainstOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, values := range []int{0, 3, 30} {
		p := drawn(2, 300, values)
		rounds := 1
		if values > 0 {
			rounds = check.Size(1500, 4000, 4000)
		}
		want, idx := 0.0, make([]int, p.Rows)
		for range rounds {
			for i := range idx {
				idx[i] = i
			}
			r.Shuffle(len(idx), func(i, j int) { idx[i], idx[j] = idx[j], idx[i] })
			slices.SortStableFunc(idx, func(a, b int) int {
				switch {
				case p.F64[a] > p.F64[b]:
					return -1
				case p.F64[a] < p.F64[b]:
					return 1
				}
				return 0
			})
			errors := 0.0
			for k, i := range idx {
				errors += float64(1 - p.Labels[i])
				want += errors / float64(k+1) / float64(p.Rows) / float64(rounds)
			}
		}
		tol := 1e-12
		if values > 0 {
			tol = 0.002
		}
		if got, bound := rank.RankingOf(of(t, p)).AURC(); !near(got, want, tol) || bound != 0 {
			t.Errorf("%d values: %v, bound %v, want %v", values, got, bound, want)
		}
	}
}

// TestGridBounds checks that on a grid both areas are within their bounds, and that the bounds are small.
func TestGridBounds(t *testing.T) {
	p := drawn(3, 400000, 0)
	c := of(t, p)
	if c.Exact() {
		t.Fatal("the cells are exact")
	}
	idx := make([]int, p.Rows)
	for i := range idx {
		idx[i] = i
	}
	slices.SortFunc(idx, func(a, b int) int {
		if p.F64[a] > p.F64[b] {
			return -1
		}
		return 1
	})
	errors, aurc, won, pairs := 0.0, 0.0, 0.0, 0.0
	for k, i := range idx {
		if p.Labels[i] == 0 {
			errors++
			won += float64(k+1) - errors
		}
		aurc += errors / float64(k+1)
	}
	pairs = errors * (float64(p.Rows) - errors)
	for name, x := range map[string]struct{ got, bound, want float64 }{
		"auroc": two(rank.RankingOf(c).AUROC()).want(won / pairs), "aurc": two(rank.RankingOf(c).AURC()).want(aurc / float64(p.Rows)),
	} {
		if d := math.Abs(x.got - x.want); !(d <= x.bound) || x.bound > 0.001 {
			t.Errorf("%s %v, bound %v, want %v", name, x.got, x.bound, x.want)
		}
	}
}

type pair struct{ got, bound float64 }

func two(a, b float64) pair { return pair{a, b} }

func (p pair) want(w float64) struct{ got, bound, want float64 } {
	return struct{ got, bound, want float64 }{p.got, p.bound, w}
}

func TestCoverageOfAUROC(t *testing.T) {
	// For these scores and outcomes the expected area is known by integration: P(y=1|s) = 0.2 + s/2.
	const runs, n = 400, 500
	// The densities of W+ and W- are (0.2+s/2)/0.45 and (0.8-s/2)/0.55.
	truth, steps := 0.0, 20000
	below := 0.0
	for i := range steps {
		s := (float64(i) + 0.5) / float64(steps)
		neg := (0.8 - s/2) / 0.55 / float64(steps)
		truth += (0.2 + s/2) / 0.45 / float64(steps) * (below + neg/2)
		below += neg
	}
	in := 0
	for i := range runs {
		iv := rank.RankingOf(of(t, drawn(uint64(100+i), n, 0))).AUROCInterval(0.95)
		if iv.Low <= truth && truth <= iv.High {
			in++
		}
	}
	if f := float64(in) / runs; f < 0.92 || f > 0.985 {
		t.Errorf("covers %v of %v", truth, f)
	}
}

func TestNothing(t *testing.T) {
	c := metrics.Must(cells.New(nil))
	a, _ := rank.RankingOf(c).AUROC()
	b, _ := rank.RankingOf(c).AURC()
	if !math.IsNaN(a) || !math.IsNaN(b) {
		t.Error(a, b)
	}
	p := drawn(5, 50, 0)
	clear(p.Labels)
	if a, _ := rank.RankingOf(of(t, p)).AUROC(); !math.IsNaN(a) {
		t.Error(a)
	}
	if b, _ := rank.RankingOf(of(t, p)).AURC(); b != 1 {
		t.Error(b)
	}
}

func ExampleRankingOf() {
	c := metrics.Must(cells.New(nil))
	p := &metrics.Predictions{Labels: []int32{0, 0, 1, 1}}
	p.Rows, p.Classes, p.F64 = 4, 1, []float64{0.1, 0.4, 0.35, 0.8}
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		fmt.Println(err)
		return
	}
	auc, _ := rank.RankingOf(c).AUROC()
	i := rank.RankingOf(c).AUROCInterval(metrics.DefaultLevel)
	aurc, _ := rank.RankingOf(c).AURC()
	fmt.Printf("%.2f [%.2f, %.2f], %.4f\n", auc, i.Low, i.High, aurc)
	// Output: 0.75 [0.23, 0.97], 0.3333
}

// TestSorted checks that sorted rows have bit-identical ranks to exact cells, and that many distinct scores are within the
// bounds of the grid.
func TestSorted(t *testing.T) {
	for _, tc := range []struct{ n, values int }{{30000, 0}, {30000, 40}, {400000, 0}} {
		p := drawn(7, tc.n, tc.values)
		s, err := cells.Sort(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := of(t, p)
		a, b := rank.RankingOf(s), rank.RankingOf(c)
		for name, f := range map[string]func(*rank.Ranking) (float64, float64){"AUROC": (*rank.Ranking).AUROC, "AURC": (*rank.Ranking).AURC} {
			got, exact := f(a)
			want, bound := f(b)
			if exact != 0 || !(math.Abs(got-want) <= bound) && got != want || c.Exact() != (bound == 0) {
				t.Errorf("%v: %s %v, want %v within %v", tc, name, got, want, bound)
			}
		}
		if i, j := a.AUROCInterval(0.95), b.AUROCInterval(0.95); c.Exact() && i != j {
			t.Errorf("%v: %v, want %v", tc, i, j)
		}
	}
}

// TestBoundOfFirstCell checks the contribution to the bound of the first cell of a grid with weights, where the share of errors
// is not known at all.
func TestBoundOfFirstCell(t *testing.T) {
	const n = 40000 // too many for exact cells, all in one grid cell
	for _, errorsFirst := range []bool{true, false} {
		p := &metrics.Predictions{Labels: make([]int32, n), Weights: slices.Repeat([]float64{1}, n)}
		p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
		for i := range n {
			p.F64[i] = 0.30001 + float64(i)*1e-9
			if (i < n/4) == errorsFirst {
				p.Labels[i] = 1
			}
		}
		// The integral of the share of errors among the highest scores.
		e := 0.25
		want := e + (1-e)*math.Log(1-e)
		if errorsFirst {
			e = 0.75
			want = e - e*math.Log(e)
		}
		got, bound := rank.RankingOf(of(t, p)).AURC()
		if !near(got, e, 1e-12) || !(math.Abs(got-want) <= bound+1e-12) || bound > 0.5 {
			t.Errorf("errors first %v: %v, bound %v, want %v", errorsFirst, got, bound, want)
		}
	}
}

// TestAUGRC checks the identity with AUROC and accuracy, the published range, and the value for a single row.
func TestAUGRC(t *testing.T) {
	for _, c := range []struct {
		labels []int32
		want   float64
	}{{[]int32{0}, 0.5}, {[]int32{1}, 0}, {[]int32{0, 0, 0}, 0.5}, {[]int32{0, 1}, 0.125}, {[]int32{1, 0}, 0.375}, {[]int32{0, 1, 1, 1}, 1.0 / 32}} {
		p := binary(make([]float64, len(c.labels)), c.labels)
		for i := range p.F64 {
			p.F64[i] = float64(i+1) / 16
		}
		if got, _ := rank.RankingOf(of(t, p)).AUGRC(); got != c.want {
			t.Errorf("%v: %v, want %v", c.labels, got, c.want)
		}
	}
	for seed, values := range []int{0, 3, 40, 1000} {
		for _, weighted := range []bool{false, true} {
			p := drawn(uint64(seed)+90, 700, values)
			right, rows := 0.0, 0.0
			for i, y := range p.Labels {
				w := 1.0
				if weighted {
					w = float64(i%5) + 0.25
					p.Weights = append(p.Weights, w)
				}
				right += w * float64(y)
				rows += w
			}
			x := rank.RankingOf(of(t, p))
			got, _ := x.AUGRC()
			area, _ := x.AUROC()
			a := right / rows
			if want := (1-area)*a*(1-a) + (1-a)*(1-a)/2; !near(got, want, 1e-15) {
				t.Errorf("%d values, weighted %v: %v, want %v", values, weighted, got, want)
			}
		}
	}
}
