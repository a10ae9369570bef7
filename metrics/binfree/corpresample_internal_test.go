package binfree

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/draw"
)

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
	// Nearly all rows in one cell: the other cells are spread by value. Nearly equal values are spread by rank.
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

// TestThrow: runs make the fit and the score of cells that are added one by one.
func TestThrow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, most := range []int{1, 2, 40} {
		var coins []coin
		for i := range 500 {
			k := coin{n: int64(1 + r.IntN(most)), p: float64(r.IntN(20)+i) / 520, hit: r.Float64(), rest: r.Float64()}
			if k.one = k.n == 1 && k.p > 0 && k.p < 1; k.one {
				k.toss = draw.NewCoin(k.p)
			}
			coins = append(coins, k)
		}
		c := newThrower(coins)
		for i := range 50 {
			score := c.throw(draw.New(1, uint64(i)))
			s, want := draw.New(1, uint64(i)), 0.0
			var fit cells.Pool
			for i := range coins {
				k := &coins[i]
				n, y := float64(k.n), float64(s.Binomial(k.n, k.p))
				want += float64(y*k.hit) + float64((n-y)*k.rest)
				fit.Add(cells.Block{Low: float64(i), High: float64(i), N: n, Y: y})
			}
			if score != want || !slices.Equal(c.fit.Blocks(), fit.Blocks()) {
				t.Fatalf("up to %d rows, sample %d: score %v, want %v; blocks\n%v\nwant\n%v", most, i, score, want, c.fit.Blocks(), fit.Blocks())
			}
		}
	}
}
