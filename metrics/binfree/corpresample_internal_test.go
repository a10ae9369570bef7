package binfree

import (
	"math"
	"testing"

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
