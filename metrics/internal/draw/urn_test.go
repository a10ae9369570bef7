package draw

import (
	"math"
	"testing"
)

// TestUrn: as many rows are drawn as there are, and each kind as often as a multinomial law says.
func TestUrn(t *testing.T) {
	for _, sizes := range [][]int64{{1, 1, 2, 30, lightRows, lightRows + 1, 1, 200, 3, 0}, {1e12, 1e12}} {
		u := NewUrn(sizes)
		all := int64(0)
		for _, n := range sizes {
			all += n
		}
		if u.Rows() != all {
			t.Fatalf("%d rows of %d", u.Rows(), all)
		}
		const runs = 20_000
		sum, squares := make([]float64, len(sizes)), make([]float64, len(sizes))
		h := u.Sample()
		for i := range runs {
			h.Draw(New(1, uint64(i)))
			rows, times := int64(0), h.Times()
			for kind, n := range times {
				rows += int64(n)
				d := n - float64(sizes[kind])
				sum[kind] += d
				squares[kind] += d * d
			}
			if rows != all || len(times) != len(sizes) {
				t.Fatalf("sample %d has %d rows of %d kinds", i, rows, len(times))
			}
		}
		for k, n := range sizes {
			want := float64(n) * (1 - float64(n)/float64(all))
			if z := sum[k] / runs / math.Sqrt(want/runs); math.Abs(z) > 4.5 {
				t.Errorf("kind %d: its mean is off by %.1f standard errors", k, z)
			}
			if v := squares[k] / runs; math.Abs(v-want) > 0.07*want {
				t.Errorf("kind %d of %d rows: variance %v, want %v", k, n, v, want)
			}
		}
	}
}
