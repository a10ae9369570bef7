package binfree

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
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

// TestThrow: runs, of several blocks of cells, make the fit and the score of cells that are added one by one.
func TestThrow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, most := range []int{1, 2, 40} {
		var coins []coin
		const several = 2*resampleBlock + 500
		for i := range several {
			coins = append(coins, coin{n: int64(1 + r.IntN(most)), p: float64(r.IntN(20)+i) / (several + 20), hit: r.Float64(), rest: r.Float64()})
		}
		c := &thrower{coins: coins}
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

// TestBootstrap: runs, of several blocks of kinds, make the fit and the score of kinds that are added one by one.
func TestBootstrap(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, values := range []int{1, resampleBlock / 2, resampleBlock, 3*resampleBlock + 7, 1 << 30} {
		const n = 4*resampleBlock + 3
		p := &metrics.Predictions{Labels: make([]int32, n)}
		p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
		for i := range n {
			p.F64[i] = float64(r.IntN(values)) / float64(values)
			if r.Float64() < p.F64[i] {
				p.Labels[i] = 1
			}
		}
		x := metrics.Must(cells.New(nil))
		if err := metrics.NewPass(nil, x).Add(p); err != nil {
			t.Fatal(err)
		}
		c := metrics.Must(CORPOf(x, nil))
		o := &metrics.Resampling{Seed: 3, Replicates: 5}
		got := c.bootstrap(o)
		kinds, u, whole := c.kinds()
		for i := range o.Replicates {
			h := u.Sample()
			h.Draw(draw.New(3, bootstrapStream+uint64(i)))
			score, events := 0.0, 0.0
			var fit cells.Pool
			for i, n := range h.Times() {
				k := &kinds[i]
				score += float64(n * k.loss)
				events += float64(n * float64(k.hit))
				if n > 0 {
					fit.Add(cells.Block{N: n, Y: float64(n * float64(k.hit))})
				}
			}
			left, base := c.proper.left(&fit)/c.total, c.proper.entropy(c.total, events)/c.total
			want := score/c.total + (c.score - whole/c.total) - left
			if got.mcb[i] != want || got.dsc[i] != base-left || got.unc[i] != base {
				t.Errorf("%d values, sample %d: %v %v %v, want %v %v %v", values, i, got.mcb[i], got.dsc[i], got.unc[i], want, base-left, base)
			}
		}
	}
}
