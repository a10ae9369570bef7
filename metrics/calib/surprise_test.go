package calib_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// surprised returns SurprisesOf for rows of a binary task.
func surprised(t testing.TB, p []float64, y []int32, w []float64, bins int) (calib.Surprise, []calib.Surprise) {
	t.Helper()
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
	preds := &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y, Weights: w}
	if err := metrics.NewPass(nil, c).Add(preds); err != nil {
		t.Fatal(err)
	}
	return calib.SurprisesOf(c, bins)
}

// trialsP returns the two-sided p-value of a number of events, from the distribution of independent trials.
func trialsP(p []float64, events int) float64 {
	law := make([]float64, len(p)+1)
	law[0] = 1
	for n, q := range p {
		for k := n + 1; k > 0; k-- {
			law[k] = law[k]*(1-q) + law[k-1]*q
		}
		law[0] *= 1 - q
	}
	above, below := 0.0, 0.0
	for k, v := range law {
		if k >= events {
			above += v
		}
		if k <= events {
			below += v
		}
	}
	return math.Min(1, 2*math.Min(above, below))
}

// TestSurprisesOf compares p-values with the full distribution: exactly if few surprises are expected, otherwise approximately.
func TestSurprisesOf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for run := range 300 {
		n := 1 + r.IntN(400)
		p, y := make([]float64, n), make([]int32, n)
		few := run%2 == 0
		shift := math.Exp(r.NormFloat64() / 2)
		for i := range p {
			switch q := r.Float64(); {
			case few && run%4 == 0:
				p[i] = q * q * q * 0.05
			case few:
				p[i] = math.Round(q*3) / 3 * 0.04 // equal scores
			default:
				p[i] = q
			}
			if few && r.IntN(2) == 0 && run%3 == 0 {
				p[i] = 1 - p[i]
			}
			if q := min(1, min(p[i], 1-p[i])*shift); r.Float64() < q != (p[i] > 0.5) {
				y[i] = 1
			}
		}
		all, in := surprised(t, p, y, nil, 15)
		events, expected, variance := 0, 0.0, 0.0
		for i, v := range p {
			events += int(y[i])
			expected += min(v, 1-v)
			variance += v * (1 - v)
		}
		want := trialsP(p, events)
		off := 1e-9 * want
		if expected >= 20 {
			off = 0.08*want + 1e-6
		}
		if math.Abs(all.P-want) > off+1e-18 && variance > 0 {
			t.Errorf("run %d, %d rows, %v expected: p %v, exactly %v", run, n, expected, all.P, want)
		}
		sum, rows := 0.0, int64(0)
		for _, s := range in {
			if s.Rows > 0 {
				sum += s.Gap() * s.Weight
			}
			rows += s.Rows
		}
		if math.Abs(sum-all.Gap()*all.Weight) > 1e-9 || rows != int64(n) {
			t.Errorf("the bins' gaps sum to %v, those of all rows to %v", sum, all.Gap()*all.Weight)
		}
		if z := -all.Gap() * float64(n) / math.Sqrt(variance); variance > 0 && math.Abs(all.Z-z) > 1e-9*(1+math.Abs(z)) {
			t.Errorf("z %v, want %v", all.Z, z)
		}
	}
}

// TestSurprisesOfSure checks that wrong scores of 0 and 1 are infinitely surprising, and right ones not at all.
func TestSurprisesOfSure(t *testing.T) {
	for _, c := range []struct {
		p    []float64
		y    []int32
		z, q float64
	}{
		{[]float64{0, 1, 1}, []int32{0, 1, 1}, 0, 1},
		{[]float64{0, 1, 1}, []int32{0, 1, 0}, math.Inf(-1), 0},
		{[]float64{0, 1, 0}, []int32{0, 1, 1}, math.Inf(1), 0},
		{[]float64{0, 0.5}, []int32{0, 1}, 1, 1},
	} {
		all, _ := surprised(t, c.p, c.y, nil, 15)
		if all.Z != c.z || all.P != c.q {
			t.Errorf("%v %v: z %v, p %v", c.p, c.y, all.Z, all.P)
		}
	}
}

// TestSurprisesOfWeights checks that equal weights act like no weights, except that the distribution is not exact with them.
func TestSurprisesOfWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	for range 200 {
		n := 50 + r.IntN(300)
		p, y, w := make([]float64, n), make([]int32, n), make([]float64, n)
		for i := range p {
			p[i], w[i] = math.Pow(r.Float64(), 8), 0.25
			if r.Float64() < 2*p[i] {
				y[i] = 1
			}
		}
		plain, _ := surprised(t, p, y, nil, 15)
		heavy, _ := surprised(t, p, y, w, 15)
		if math.Abs(plain.Z-heavy.Z) > 1e-9*(1+math.Abs(plain.Z)) || math.Abs(plain.Gap()-heavy.Gap()) > 1e-12 || heavy.P < 0.3*plain.P && plain.P > 1e-3 {
			t.Errorf("%+v, with weights %+v", plain, heavy)
		}
	}
}
