package binfree

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics/internal/draw"
)

// As many rows are drawn as there are, and of each kind as often as a multinomial law says.
func TestUrn(t *testing.T) {
	u := &urn{}
	for i, n := range []int64{1, 1, 2, 30, lightRows, lightRows + 1, 1, 200, 3} {
		u.kinds = append(u.kinds, kind{n: n})
		if u.rows += n; n > lightRows {
			u.heavy = append(u.heavy, i)
		} else {
			u.light += int(n)
		}
	}
	for _, u := range []*urn{u, {kinds: []kind{{n: 1e12}, {n: 1e12}}, heavy: []int{0, 1}, rows: 2e12}} {
		const runs = 20000
		sum, squares := make([]float64, len(u.kinds)), make([]float64, len(u.kinds))
		h := newHand(u)
		for i := range runs {
			h.draw(u, draw.New(1, uint64(i)))
			total := 0.0
			h.each(u, func(k *kind, times float64) {
				for j := range u.kinds {
					if k == &u.kinds[j] {
						d := times - float64(k.n)
						sum[j] += d
						squares[j] += d * d
					}
				}
				total += times
			})
			if total != float64(u.rows) {
				t.Fatalf("%v rows of %d", total, u.rows)
			}
		}
		for j, k := range u.kinds {
			// A kind that is not drawn is not seen: it is n below its mean.
			want := float64(k.n) * (1 - float64(k.n)/float64(u.rows))
			if k.n < 20 {
				want -= float64(k.n*k.n) * math.Pow(1-float64(k.n)/float64(u.rows), float64(u.rows))
			} else if z := sum[j] / runs / math.Sqrt(want/runs); math.Abs(z) > 4.5 {
				t.Errorf("kind %d: its mean is off by %.1f standard errors", j, z)
			}
			if v := squares[j] / runs; math.Abs(v/want-1) > 0.07 {
				t.Errorf("kind %d of %d rows: variance %v, want %v", j, k.n, v, want)
			}
		}
	}
}

func TestSpaced(t *testing.T) {
	var coins []coin
	for i := range 1000 {
		coins = append(coins, coin{n: 1, p: float64(i) / 1000})
	}
	at := spaced(coins, 256)
	if len(at) < 128 || len(at) > 256 || at[0] != 0 || at[len(at)-1] != 999 {
		t.Errorf("%d cells from %d to %d", len(at), at[0], at[len(at)-1])
	}
	for i := 1; i < len(at); i++ {
		if d := at[i] - at[i-1]; d < 1 || d > 8 {
			t.Errorf("cell %d comes after %d", at[i], at[i-1])
		}
	}
	// Nearly all rows in one cell leave those spread by value, and nearly equal values those by rank.
	coins[500].n = 1e9
	if at = spaced(coins, 256); len(at) < 128 || len(at) > 130 {
		t.Errorf("%d cells beside one with nearly all rows", len(at))
	}
	for i := range coins {
		coins[i] = coin{n: 1, p: 0.9 + float64(i)*1e-9}
	}
	coins[0].p = 0
	if at = spaced(coins, 256); len(at) < 128 || len(at) > 132 || at[1] > 8 {
		t.Errorf("%d cells of nearly equal scores", len(at))
	}
	if at = spaced(coins[:256], 256); len(at) != 256 {
		t.Errorf("%d of 256 cells", len(at))
	}
	if at = spaced(nil, 256); len(at) != 0 {
		t.Errorf("%v of no cells", at)
	}
}

func TestQuantile(t *testing.T) {
	for q, want := range map[float64]float64{0: 1, 0.25: 2, 0.5: 4, 0.75: 6.5, 0.875: 7.75, 1: 9} {
		if got := draw.Quantile([]float64{1, 2, 4, 6.5, 9}, q); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got := draw.Quantile([]float64{3}, 0.3); got != 3 {
		t.Errorf("%v", got)
	}
}
