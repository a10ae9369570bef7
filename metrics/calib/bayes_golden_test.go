package calib_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// TestGoldenBayesian compares the posterior with the reference: its parameters up to rounding, and its mean and quantiles
// within four standard errors of both sets of draws.
func TestGoldenBayesian(t *testing.T) {
	inputs := smallInputs(t)
	var g struct {
		Cases []struct {
			Input     string
			Bins      int        `json:"num_bins"`
			Counts    [2][]int64 `json:"event_bin_counts"`
			Score     []float64  `json:"pmean_observed"`
			Location  []float64  `json:"posterior_loc"`
			Scale     []float64  `json:"posterior_scale"`
			Low       []float64  `json:"trunc_low"`
			High      []float64  `json:"trunc_high"`
			Alpha     []float64  `json:"dirichlet_alpha_flat"`
			Mean      float64    `json:"mc_mean"`
			Quantiles [5]float64 `json:"mc_quantiles_1_10_50_90_99"`
		}
	}
	check.Golden(t, "../../testdata/golden", "bayesian_ece.json", &g)
	if len(g.Cases) != 6 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	const theirs = 20000
	draws := float64(check.Size(8000, 20000, 40000))
	for _, c := range g.Cases {
		name := fmt.Sprintf("%s, %d bins", c.Input, c.Bins)
		check := func(what string, got, want, tol float64) {
			t.Helper()
			if !near(got, want, tol) {
				t.Errorf("%s: %s = %v, want %v", name, what, got, want)
			}
		}
		p := bins(t, inputs[c.Input].load(t), like(t, "tfp", c.Bins))
		for i, bar := range p.Bins(0.95) {
			if bar.Count != c.Counts[0][i]+c.Counts[1][i] {
				t.Errorf("%s: bin %d has %d rows", name, i, bar.Count)
			}
			if bar.Count > 0 {
				check("mean score", bar.Confidence, c.Score[i], 1e-12)
			}
		}
		b := metrics.Must(calib.BayesianOf(&p.Partition, &calib.BayesianOptions{AsCoded: true, Draws: int(draws), Seed: 5}))
		for i, bin := range b.Posterior() {
			check("location", bin.Location, c.Location[i], 1e-12)
			check("scale", bin.Scale, c.Scale[i], 1e-12)
			check("low", bin.Low, c.Low[i], 1e-12)
			check("high", bin.High, c.High[i], 1e-12)
			check("alpha of misses", bin.Alpha[0], c.Alpha[i], 1e-12)
			check("alpha of hits", bin.Alpha[1], c.Alpha[c.Bins+i], 1e-12)
		}
		mean, variance := b.Mean(), 0.0
		for _, v := range b.Draws() {
			variance += (v - mean) * (v - mean) / draws
		}
		worst := math.Abs(mean-c.Mean) / math.Sqrt(variance*(1.0/draws+1.0/theirs))
		for i, q := range []float64{0.01, 0.1, 0.5, 0.9, 0.99} {
			density := 0.01 / (b.Quantile(q+0.005) - b.Quantile(q-0.005))
			se := math.Sqrt(q*(1-q)*(1.0/draws+1.0/theirs)) / density
			worst = math.Max(worst, math.Abs(b.Quantile(q)-c.Quantiles[i])/se)
		}
		t.Logf("%s: mean %.4f, reference %.4f; at most %.1f standard errors (%.5f of the mean) off", name, mean, c.Mean, worst,
			math.Sqrt(variance*(1.0/draws+1.0/theirs)))
		if worst > 4 {
			t.Errorf("%s: the mean or a quantile is off by %v standard errors", name, worst)
		}
	}
}

// logits returns the probabilities of n rows of k classes, with normal logits of standard deviation 2. Labels are drawn from
// these probabilities if calibrated, otherwise independently of them.
func logits(seed uint64, n, k int, calibrated bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: k}}
	row, other := make([]float64, k), make([]float64, k)
	softmax := func(row []float64) {
		sum := 0.0
		for j := range row {
			row[j] = kernel.Exp64(2 * r.NormFloat64())
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
	}
	for range n {
		softmax(row)
		from := row
		if !calibrated {
			softmax(other)
			from = other
		}
		u, y := r.Float64(), 0
		for y < k-1 && u >= from[y] {
			u -= from[y]
			y++
		}
		p.F64 = append(p.F64, row...)
		p.Labels = append(p.Labels, int32(y))
	}
	return p
}

// TestBayesianOfLogits checks, in both modes, what the reference's former tests checked: the ECE of calibrated predictions is
// within the range of the draws, and draws are small for calibrated predictions only.
func TestBayesianOfLogits(t *testing.T) {
	for _, asCoded := range []bool{false, true} {
		of := func(p *metrics.Predictions, bins int) (*calib.Bins, *calib.Bayesian) {
			t.Helper()
			b, err := calib.BinsOf(p, &calib.Options{Bins: bins, Event: calib.TopLabel})
			if err != nil {
				t.Fatal(err)
			}
			return b, metrics.Must(calib.BayesianOf(&b.Partition, &calib.BayesianOptions{AsCoded: asCoded, Draws: 500}))
		}
		for _, c := range [][3]int{{10, 2, 5}, {10, 5, 50}, {10, 50, 500}} {
			in, runs := 0, check.Size(9, 20, 40)
			for seed := range uint64(runs) {
				b, post := of(logits(seed, c[2], c[1], true), c[0])
				if e := b.ECE(); post.Quantile(0.01) <= e && e <= post.Quantile(0.99) {
					in++
				}
			}
			t.Logf("as coded %v, %v: %d of %d are inside", asCoded, c, in, runs)
			if in < runs*2/3 {
				t.Errorf("as coded %v, %v: %d of %d are inside", asCoded, c, in, runs)
			}
		}
		for _, c := range [][3]int{{10, 2, 5000}, {10, 50, 50000}} {
			if !check.Full() {
				c[2] = min(c[2], 10000)
			}
			_, calibrated := of(logits(1, c[2], c[1], true), c[0])
			_, unrelated := of(logits(1, c[2], c[1], false), c[0])
			t.Logf("as coded %v, %v: calibrated %.3f, unrelated %.3f", asCoded, c, calibrated.Quantile(0.99), unrelated.Quantile(0.01))
			if calibrated.Quantile(0.99) > 0.05 || unrelated.Quantile(0.01) < 0.1 {
				t.Errorf("as coded %v, %v: calibrated %v, unrelated %v", asCoded, c, calibrated.Quantile(0.99), unrelated.Quantile(0.01))
			}
		}
	}
}

// TestBayesianSeed checks that draws depend only on the seed, not on the CPU, and that fewer draws are a prefix of more.
func TestBayesianSeed(t *testing.T) {
	p := bins(t, logits(3, 200, 4, true), calib.Options{Bins: 7})
	of := func(seed uint64, n int) []float64 {
		return metrics.Must(calib.BayesianOf(&p.Partition, &calib.BayesianOptions{Seed: seed, Draws: n})).Draws()
	}
	long := of(9, 500)
	if !slices.Equal(of(9, 500), long) || !slices.Equal(of(9, 100), long[:100]) || slices.Equal(of(8, 500), long) {
		t.Error("the draws are not those of their seed")
	}
	h := fnv.New64a()
	for _, v := range append(long, metrics.Must(calib.BayesianOf(&p.Partition, &calib.BayesianOptions{AsCoded: true, Draws: 500})).Draws()...) {
		if !(v >= 0 && v <= 1) {
			t.Error(v)
		}
		fmt.Fprintln(h, math.Float64bits(v))
	}
	if got := fmt.Sprintf("%v %x", long[0], h.Sum64()); got != "0.1487425281333741 470cbc2d37620839" {
		t.Errorf("the draws are %q: others than they were", got)
	}
	if n := len(metrics.Must(calib.BayesianOf(&p.Partition, nil)).Draws()); n != calib.DefaultDraws {
		t.Errorf("%d draws", n)
	}
}

// TestBayesianOfCells checks that equal-width bins from a state of cells have the same posterior as those of the rows.
func TestBayesianOfCells(t *testing.T) {
	c, all := both(t, testrows.Lawful("cents", 2000), 10)
	p, bound := calib.EvenOf(c, 10)
	if bound != 0 {
		t.Fatal(bound)
	}
	o := &calib.BayesianOptions{Draws: 50}
	got, want := metrics.Must(calib.BayesianOf(p, o)), metrics.Must(calib.BayesianOf(&all[0].Partition, o))
	if !slices.Equal(got.Posterior(), want.Posterior()) || !slices.Equal(got.Draws(), want.Draws()) {
		t.Error("cells have another posterior than rows")
	}
	if p, _ := calib.EqualMassOf(c, 10); metrics.Must(calib.BayesianOf(p, o)).Reason() == "" {
		t.Error("edges that the scores chose have a posterior")
	}
}

// TestBayesianOfEdges checks the posterior of bins between given edges of unequal widths.
func TestBayesianOfEdges(t *testing.T) {
	g, err := calib.GeneralOf(testrows.Lawful("uniform", 2000), &calib.GeneralOptions{Edges: []float64{0.1, 0.5, 0.6, 1}})
	if err != nil {
		t.Fatal(err)
	}
	b := metrics.Must(calib.BayesianOf(g.Partitions[0], nil))
	post := b.Posterior()
	if b.Reason() != "" || len(post) != 3 || post[0].Low != 0 || post[0].High != 0.5 || post[2].High != 1 {
		t.Error(b.Reason(), post)
	}
	if math.Abs(b.Mean()-g.Value) > 0.05 {
		t.Errorf("mean %v, ece %v", b.Mean(), g.Value)
	}
}

// TestBayesianNarrow checks bins of zero width, and bins so narrow that the square of their width is 0. Their mean scores are
// fixed.
func TestBayesianNarrow(t *testing.T) {
	for _, edges := range [][]float64{{0, 0.5, 0.5, 1}, {0, 1e-200, 1}, {0, 5e-324, 1}} {
		for _, asCoded := range []bool{false, true} {
			c := metrics.Must(calib.NewClassBins(&calib.ClassOptions{Edges: edges}))
			rows := testrows.Binary([]float64{0, 1e-300, 0.2, 0.5, 0.7, 1}, []int32{0, 0, 1, 0, 1, 1})
			if err := metrics.NewPass(nil, c).Add(rows); err != nil {
				t.Fatal(err)
			}
			b := metrics.Must(calib.BayesianOf(c.Class(1), &calib.BayesianOptions{AsCoded: asCoded, Draws: 100}))
			if m := b.Mean(); b.Reason() != "" || !(m > 0 && m < 0.5) {
				t.Errorf("edges %v: mean %v %s", edges, m, b.Reason())
			}
		}
	}
}
