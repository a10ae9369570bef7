package rank

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// TestSampledAreas checks that a sample with each row once has the areas of the rows.
func TestSampledAreas(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for _, values := range []int{1, 6, 200, 1 << 30} {
		const n = 700
		p := &metrics.Predictions{Labels: make([]int32, n)}
		p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
		for i := range n {
			p.F64[i] = float64(r.IntN(values)) / float64(values)
			if r.Float64() < 0.3+p.F64[i]/2 {
				p.Labels[i] = 1
			}
		}
		c := metrics.Must(cells.New(nil))
		if err := metrics.NewPass(nil, c).Add(p); err != nil {
			t.Fatal(err)
		}
		x := RankingOf(c)
		kinds, sizes := x.kinds()
		rows, times := int64(0), make([]float64, len(sizes))
		for i, n := range sizes {
			rows += n
			times[i] = float64(n)
		}
		var got, want [3]float64
		got[0], got[1], got[2] = areasOf(times, kinds, make([]int32, len(kinds)), float64(rows))
		want[0], _ = x.AURC()
		want[1], _ = x.EAURC()
		want[2], _ = x.AUGRC()
		for i := range got {
			if !(math.Abs(got[i]-want[i]) < 1e-13) {
				t.Errorf("%d values, area %d: %v, want %v", values, i, got[i], want[i])
			}
		}
		if rows != n {
			t.Errorf("%d values: the kinds have %d rows of %d", values, rows, n)
		}
	}
}

// TestKeys checks that keys rise with scores and determine them.
func TestKeys(t *testing.T) {
	last := uint64(0)
	for i, p := range []float64{0, 5e-324, 1e-300, 0.25, math.Nextafter(0.5, 0), 0.5, 0.75, math.Nextafter(1, 0), 1} {
		k, ok := unitKey(p, 1-p)
		if got, tail := unitScore(k); !ok || got != p || tail != 1-p || i > 0 && k <= last {
			t.Errorf("%v: key %x, score %v, tail %v", p, k, got, tail)
		}
		last = k
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		if k, ok := unitKey(p, 1-p); ok {
			t.Errorf("%v has the key %x", p, k)
		}
	}
	if k, ok := unitKey(math.Copysign(0, -1), 1); !ok || k != 0 {
		t.Errorf("-0 has the key %x", k)
	}
	last = 0
	for _, v := range []float64{math.Inf(-1), -1e300, -1, -5e-324, 0, 5e-324, 2, math.Inf(1)} {
		k := realKey(v)
		if realScore(k) != v || k <= last {
			t.Errorf("%v: key %x, number %v", v, k, realScore(k))
		}
		last = k
	}
	if realKey(math.Copysign(0, -1)) != realKey(0) {
		t.Error("-0 and 0 differ")
	}
}
