package paired_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics/internal/tails"
	"github.com/candor-go/candor/metrics/paired"
)

// tukey has tails of the studentized range over the root of 2, of scipy.stats.studentized_range.
var tukey = []struct {
	models   int
	df, t, p float64
}{
	{3, 5, 2, 0.20722404},
	{3, 5, 3, 0.065884014},
	{3, 5, 4, 0.023353952},
	{3, 5, 6, 0.0042892984},
	{3, 20, 2, 0.13810306},
	{3, 20, 3, 0.018557908},
	{3, 20, 4, 0.0019452023},
	{3, 20, 6, 2.0828051e-05},
	{3, 200, 2, 0.11483764},
	{3, 200, 3, 0.0085150415},
	{3, 200, 4, 0.00026195009},
	{3, 200, 6, 2.731098e-08},
	{3, 9999, 2, 0.11223634},
	{3, 9999, 3, 0.0076257293},
	{3, 9999, 4, 0.00018843476},
	{3, 9999, 6, 6.118382e-09},
	{5, 5, 2, 0.38000493},
	{5, 5, 3, 0.13544171},
	{5, 5, 4, 0.05054006},
	{5, 5, 6, 0.0096766657},
	{5, 20, 2, 0.30161719},
	{5, 20, 3, 0.049225554},
	{5, 20, 4, 0.0056346491},
	{5, 20, 6, 6.4450377e-05},
	{5, 200, 2, 0.26977668},
	{5, 200, 3, 0.025061939},
	{5, 200, 4, 0.00084050974},
	{5, 200, 6, 9.0812866e-08},
	{5, 9999, 2, 0.26596712},
	{5, 9999, 3, 0.022706697},
	{5, 9999, 4, 0.00061002633},
	{5, 9999, 6, 2.0388175e-08},
	{10, 5, 2, 0.6305395},
	{10, 5, 3, 0.27093715},
	{10, 5, 4, 0.11027916},
	{10, 5, 6, 0.022666929},
	{10, 20, 2, 0.60841366},
	{10, 20, 3, 0.14194516},
	{10, 20, 4, 0.019217794},
	{10, 20, 6, 0.00024964677},
	{10, 200, 2, 0.60005891},
	{10, 200, 3, 0.0869089},
	{10, 200, 4, 0.0034799338},
	{10, 200, 6, 4.0626946e-07},
	{10, 9999, 2, 0.59904534},
	{10, 9999, 3, 0.080510052},
	{10, 9999, 4, 0.0025725759},
	{10, 9999, 6, 9.158124e-08},
	{20, 5, 2, 0.82237834},
	{20, 5, 3, 0.43271318},
	{20, 5, 4, 0.195106},
	{20, 5, 6, 0.043681549},
	{20, 20, 2, 0.86871486},
	{20, 20, 3, 0.31620014},
	{20, 20, 4, 0.0541237},
	{20, 20, 6, 0.00084293337},
	{20, 200, 2, 0.89885304},
	{20, 200, 3, 0.24234665},
	{20, 200, 4, 0.012808977},
	{20, 200, 6, 1.6969639e-06},
	{20, 9999, 2, 0.90311655},
	{20, 9999, 3, 0.23154556},
	{20, 9999, 4, 0.0097413547},
	{20, 9999, 6, 3.8523724e-07},
}

// dunnett has tails of the largest |t| of comparisons with one, equal variances, by quadrature in scipy.
var dunnett = []struct {
	models   int
	df, t, p float64
}{
	{3, 10, 2, 0.12718953},
	{3, 10, 3, 0.02422668},
	{3, 10, 4, 0.0046719965},
	{3, 100, 2, 0.087358448},
	{3, 100, 3, 0.0065639701},
	{3, 100, 4, 0.00023990859},
	{5, 10, 2, 0.20557531},
	{5, 10, 3, 0.041804594},
	{5, 10, 4, 0.0083160222},
	{5, 100, 2, 0.14969988},
	{5, 100, 3, 0.01231539},
	{5, 100, 4, 0.00046870442},
	{10, 10, 2, 0.32663832},
	{10, 10, 3, 0.073414553},
	{10, 10, 4, 0.015328153},
	{10, 100, 2, 0.25813507},
	{10, 100, 3, 0.024531166},
	{10, 100, 4, 0.0010044243},
	{20, 10, 2, 0.45574668},
	{20, 10, 3, 0.11454473},
	{20, 10, 4, 0.025258556},
	{20, 100, 2, 0.39124766},
	{20, 100, 3, 0.043773317},
	{20, 100, 4, 0.0019686104},
}

// equal returns the variances of the differences of models that have the same variance, and all their pairs, or those with the first.
func equal(models int, first bool) (variance [][]float64, pairs [][2]int) {
	for i := range models {
		row := make([]float64, models)
		for j := range row {
			if row[j] = 2; i == j {
				row[j] = 0
			}
			if i < j && (i == 0 || !first) {
				pairs = append(pairs, [2]int{i, j})
			}
		}
		variance = append(variance, row)
	}
	return variance, pairs
}

func TestFamilyTukeyAndDunnett(t *testing.T) {
	worst := 0.0
	for _, first := range []bool{false, true} {
		cases := tukey
		if first {
			cases = dunnett
		}
		for _, c := range cases {
			variance, pairs := equal(c.models, first)
			got := paired.NewFamily(variance, pairs, c.df).P(tails.Student(c.t, c.df))
			off := math.Abs(got/c.p - 1)
			if off > 0.012 {
				t.Errorf("%d models, %v degrees of freedom, t %v, first %v: %v, want %v", c.models, c.df, c.t, first, got, c.p)
			}
			worst = math.Max(worst, off)
		}
	}
	t.Logf("largest relative error %.2g", worst)
}

// distances returns the variances of the differences of points.
func distances(points [][]float64) (v [][]float64) {
	for _, a := range points {
		row := make([]float64, len(points))
		for j, b := range points {
			for k := range a {
				row[j] += (a[k] - b[k]) * (a[k] - b[k])
			}
		}
		v = append(v, row)
	}
	return v
}

func TestFamilySingular(t *testing.T) {
	all := [][2]int{{0, 1}, {0, 2}, {1, 2}}
	near := func(got, want, most float64) bool { return math.Abs(got/want-1) <= most }
	// Models on a line: all differences are one.
	if got := paired.NewFamily(distances([][]float64{{0}, {1}, {3}}), all, 50).P(0.02); !near(got, 0.02, 1e-12) {
		t.Error("on a line:", got)
	}
	// The second is the first: two differences are one, the third is none.
	if got := paired.NewFamily(distances([][]float64{{1, 2}, {1, 2}, {0, 5}}), all, 50).P(0.02); !near(got, 0.02, 1e-12) {
		t.Error("twice:", got)
	}
	// Two independent ones of a normal distribution: 1 - (1-p)^2.
	right := distances([][]float64{{0, 0}, {1, 0}, {0, 7}})
	if got := paired.NewFamily(right, all[:2], 1e9).P(0.02); !near(got, 1-0.98*0.98, 0.002) {
		t.Error("independent:", got)
	}
	// A variance that no points have is taken as independent of the others.
	right[1][2], right[2][1] = 1e6, 1e6
	f := paired.NewFamily(right, all, 1e9)
	if got := f.P(0.02); !near(got, 1-0.98*0.98*0.98, 0.002) {
		t.Error("no points:", got)
	}
	for _, level := range []float64{0.5, 0.9, 0.95, 0.999} {
		if got := f.P(1 - f.Level(level)); !near(got, 1-level, 1e-9) {
			t.Error("level", level, got)
		}
	}
	if one := paired.NewFamily(right, all[:1], 9); one.P(0.3) != 0.3 || one.Level(0.9) != 0.9 || one.P(0) != 0 || one.P(1) != 1 {
		t.Error("a family of one is adjusted")
	}
}

// TestFamilyRises checks that adjusted p-values rise with the own, and lie between these and Sidak's.
func TestFamilyRises(t *testing.T) {
	variance, pairs := equal(7, false)
	f := paired.NewFamily(variance, pairs, 30)
	last := 0.0
	for _, p := range []float64{1e-300, 1e-30, 1e-12, 1e-6, 1e-4, 0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 0.999} {
		got := f.P(p)
		if !(got > last) || got < p || got > paired.Sidak(p, len(pairs)) {
			t.Errorf("P(%v) = %v after %v, Sidak %v", p, got, last, paired.Sidak(p, len(pairs)))
		}
		last = got
	}
}

func TestSidak(t *testing.T) {
	for _, c := range []struct {
		p    float64
		n    int
		want float64
	}{{0, 5, 0}, {1, 5, 1}, {0.05, 1, 0.05}, {0.05, 2, 0.0975}, {1e-12, 10, 9.999999999955e-12}, {1e-6, 50, 4.9998775019599e-05}, {0.5, 3, 0.875}} {
		if got := paired.Sidak(c.p, c.n); math.Abs(got-c.want) > 1e-12*c.want {
			t.Errorf("Sidak(%v, %d) = %v, want %v", c.p, c.n, got, c.want)
		}
	}
	if got, want := paired.SidakLevel(0.95, 10), math.Pow(0.95, 0.1); math.Abs(got-want) > 1e-14 {
		t.Error(got, want)
	}
}

// TestFamilyOrder: answers are the same to the bit for models and pairs in any order.
func TestFamilyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for n := 2; n < 8; n++ {
		at := make([][3]float64, n) // points, whose squared distances are the variances
		for i := range at {
			for k := range at[i] {
				at[i][k] = r.NormFloat64()
			}
		}
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		var want, level float64
		for turn := range 20 {
			variance := make([][]float64, n)
			var pairs [][2]int
			for i, a := range order {
				variance[i] = make([]float64, n)
				for j, b := range order {
					for k := range at[a] {
						variance[i][j] += (at[a][k] - at[b][k]) * (at[a][k] - at[b][k])
					}
					if i < j {
						pairs = append(pairs, [2]int{i, j})
					}
				}
			}
			r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
			f := paired.NewFamily(variance, pairs, 50)
			if p, l := f.P(0.01), f.Level(0.95); turn == 0 {
				want, level = p, l
			} else if p != want || l != level {
				t.Errorf("%d models in the order %v: %v and %v, want %v and %v", n, order, p, l, want, level)
			}
			r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
	}
}
