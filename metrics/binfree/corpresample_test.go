package binfree_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// truths are distributions of scores with known frequencies.
var truths = []struct {
	name  string
	score func(u float64) float64 // score of a uniform u
	truth func(p float64) float64 // frequency of the event at score p
}{
	{"calibrated", func(u float64) float64 { return u }, func(p float64) float64 { return p }},
	{"calibrated, confident", func(u float64) float64 { return 1 - 0.5*u*u*u }, func(p float64) float64 { return p }},
	{"calibrated, 21 scores", func(u float64) float64 { return math.Round(u*20) / 20 }, func(p float64) float64 { return p }},
	{"overconfident", func(u float64) float64 { return 1 - 0.5*u*u }, func(p float64) float64 { return 0.5 + 0.8*(p-0.5) }},
	{"crossing", func(u float64) float64 { return 0.1 + 0.8*u }, func(p float64) float64 { return p + 0.08*math.Sin(2*math.Pi*p) }},
	{"without discrimination", func(u float64) float64 { return 0.3 + 0.4*u }, func(float64) float64 { return 0.5 }},
}

func followed(t testing.TB, r *rand.Rand, n int, score, truth func(float64) float64) *cells.Cells {
	t.Helper()
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
	for i := range p.F64 {
		p.F64[i] = score(r.Float64())
		if r.Float64() < truth(p.F64[i]) {
			p.Labels[i] = 1
		}
	}
	return cellsOf(t, p)
}

// TestCORPIntervalsCoverage checks that intervals contain the true terms about as often as their level says, for calibrated and
// miscalibrated scores.
func TestCORPIntervalsCoverage(t *testing.T) {
	t.Run("squared", func(t *testing.T) { testCORPCoverage(t, binfree.Squared, func(p float64) float64 { return p * p }) })
	t.Run("spherical", func(t *testing.T) {
		if testing.Short() {
			t.Skip("-short: the other score is counted")
		}
		testCORPCoverage(t, binfree.Spherical, func(p float64) float64 { return math.Hypot(p, 1-p) })
	})
}

// testCORPCoverage counts coverage for the proper score of a convex function. If the frequency is c, the mean score of a
// forecast p is the chord of that function at c minus its tangent in p at c.
func testCORPCoverage(t *testing.T, proper binfree.ProperScore, convex func(float64) float64) {
	runs := check.Size(30, 60, 60) // with 20 runs, up to three misses would be chance
	slope := func(p float64) float64 { return (convex(p+1e-6) - convex(p-1e-6)) / 2e-6 }
	for li, law := range truths {
		if testing.Short() && li%2 > 0 {
			continue
		}
		t.Run(law.name, func(t *testing.T) {
			t.Parallel()
			const grid = 100000
			mcb, rate, sharp := 0.0, 0.0, 0.0
			for i := range grid {
				p := law.score((float64(i) + 0.5) / grid)
				c := law.truth(p)
				if p != c {
					mcb += (convex(c) - convex(p) - slope(p)*(c-p)) / grid
				}
				rate += c / grid
				sharp += convex(c) / grid
			}
			chord := rate*convex(1) + (1-rate)*convex(0)
			want := [3]float64{mcb, sharp - convex(rate), chord - convex(rate)}
			in, floor, value := [3]int{}, 0.0, 0.0
			for run := range runs {
				c := metrics.Must(binfree.CORPOf(followed(t, rand.New(rand.NewPCG(uint64(li), uint64(run))), 300, law.score, law.truth), &binfree.CORPOptions{Score: proper}))
				i := c.Intervals(0.95, &metrics.Resampling{Seed: uint64(run), Threads: 1})
				for k, x := range []metrics.Interval{i.MCB, i.DSC, i.UNC} {
					if x.Low <= want[k]+1e-12 && x.High >= want[k]-1e-12 {
						in[k]++
					}
				}
				floor += i.Floor / float64(runs)
				v, _ := c.MCB()
				value += v / float64(runs)
			}
			for k, name := range []string{"MCB", "DSC", "UNC"} {
				if share := float64(in[k]) / float64(runs); share < 0.88 {
					t.Errorf("%s: in %v of intervals", name, share)
				}
			}
			if mcb < 1e-9 && math.Abs(floor/value-1) > 0.2 {
				t.Errorf("the floor is %v where MCB is %v by chance", floor, value)
			}
		})
	}
}

// TestCORPBandCoverage checks that at each score the band contains the curves of calibrated scores about as often as its level
// says.
func TestCORPBandCoverage(t *testing.T) {
	runs := check.Size(8, 12, 60)
	for li, law := range truths[:3] {
		t.Run(law.name, func(t *testing.T) {
			t.Parallel()
			in, points := 0.0, 0.0
			for run := range runs {
				c := metrics.Must(binfree.CORPOf(followed(t, rand.New(rand.NewPCG(uint64(li), uint64(run))), 300, law.score, law.truth), nil))
				o := &metrics.Resampling{Seed: uint64(run), Threads: 1}
				steps, at := c.Steps(), 0
				for _, b := range c.Band(0.9, o) {
					for steps[at].High < b.Score {
						at++
					}
					points++
					if f := steps[at].Frequency; b.Low <= f && f <= b.High {
						in++
					}
				}
			}
			if share := in / points; share < 0.88 || share > 0.97 {
				t.Errorf("%v of curves are in bands of 0.9", share)
			}
		})
	}
}

// TestCORPThreads checks that the answer depends on the seed, not on the number of threads.
func TestCORPThreads(t *testing.T) {
	for _, n := range []int{700, 300000} {
		c := metrics.Must(binfree.CORPOf(followed(t, rand.New(rand.NewPCG(1, 1)), n, truths[0].score, truths[0].truth), nil))
		answers := func(o *metrics.Resampling) string {
			return fmt.Sprint(c.Intervals(0.9, o), c.Band(0.9, o))
		}
		want := answers(&metrics.Resampling{Seed: 3, Replicates: 20, Threads: 1})
		for _, threads := range []int{0, 2, 7} {
			if got := answers(&metrics.Resampling{Seed: 3, Replicates: 20, Threads: threads}); got != want {
				t.Errorf("%d rows: %d threads give\n%s, one\n%s", n, threads, got, want)
			}
		}
		if other := answers(&metrics.Resampling{Seed: 4, Replicates: 20}); other == want {
			t.Error("the seed is of no effect")
		}
	}
	c := metrics.Must(binfree.CORPOf(followed(t, rand.New(rand.NewPCG(1, 1)), 100, truths[0].score, truths[0].truth), nil))
	if i := c.Intervals(0.95, nil); !reflect.DeepEqual(i, c.Intervals(0.95, &metrics.Resampling{Replicates: 200})) {
		t.Error("the default is not 200 replicates of seed 0")
	}
	if i := c.Intervals(0.95, &metrics.Resampling{Replicates: 1}); !math.IsNaN(i.MCB.Low) || !math.IsNaN(i.UNC.High) {
		t.Errorf("intervals of one replicate: %+v", i)
	}
	if b := c.Band(0.9, nil); len(b) != 100 {
		t.Errorf("a band at %d of 100 scores", len(b))
	}
	for _, level := range []float64{0, 1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a band of level %v", level)
				}
			}()
			c.Band(level, nil)
		}()
	}
}

// BenchmarkCORPReplicate measures one replicate of Intervals, with resampled rows and redrawn outcomes.
func BenchmarkCORPReplicate(b *testing.B) {
	for _, n := range []int{1 << 18, 1e7} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := metrics.Must(binfree.CORPOf(followed(b, rand.New(rand.NewPCG(1, 1)), n, truths[0].score, truths[0].truth), nil))
			b.ResetTimer()
			c.Intervals(0.95, &metrics.Resampling{Replicates: b.N, Threads: 1})
		})
	}
}
