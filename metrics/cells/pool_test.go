package cells

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestPoolIsMaxMin compares the fit at each cell with the max-min formula: the maximum over starts at or before the cell of the
// minimum over ends at or after it of the mean.
func TestPoolIsMaxMin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range check.Size(80, 300, 300) {
		n, y := make([]int64, 1+r.IntN(30)), make([]int64, 30)
		var p Pool
		for i := range n {
			n[i] = 1 + r.Int64N(6)
			if r.IntN(8) == 0 {
				n[i] = 1<<48 + r.Int64N(1<<40)
			}
			y[i] = r.Int64N(n[i] + 1)
			p.Add(Block{Low: float64(i), High: float64(i), N: float64(n[i]), Y: float64(y[i])})
		}
		at, blocks := 0, p.Blocks()
		for i := range n {
			if float64(i) > blocks[at].High {
				at++
			}
			var fit *big.Rat
			for from := 0; from <= i; from++ {
				var least *big.Rat
				sn, sy := int64(0), int64(0)
				for k := from; k < len(n); k++ {
					sn, sy = sn+n[k], sy+y[k]
					if m := big.NewRat(sy, sn); k >= i && (least == nil || m.Cmp(least) < 0) {
						least = m
					}
				}
				if fit == nil || least.Cmp(fit) > 0 {
					fit = least
				}
			}
			if b := blocks[at]; float64(i) < b.Low || big.NewRat(int64(b.Y), int64(b.N)).Cmp(fit) != 0 {
				t.Fatalf("cell %d of %v, %v: block %+v, want %v", i, n, y, b, fit)
			}
		}
		if at != len(blocks)-1 {
			t.Fatalf("%d blocks, %d seen", len(blocks), at+1)
		}
	}
}

// Cells of one row, or of up to a hundred rows, whose frequency rises.
func BenchmarkPool(b *testing.B) {
	const n = 10_000_000
	for _, most := range []int{1, 100} {
		r := rand.New(rand.NewPCG(2, 2))
		cells := make([]struct{ n, y float64 }, n)
		for i := range cells {
			c := &cells[i]
			c.n = float64(1 + r.IntN(most))
			for range int(c.n) {
				if r.IntN(n) < i {
					c.y++
				}
			}
		}
		b.Run(fmt.Sprintf("rows=%d", most), func(b *testing.B) {
			var p Pool
			for b.Loop() {
				p.Reset()
				for i, c := range cells {
					p.Add(Block{Low: float64(i), High: float64(i), N: c.n, Y: c.y})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/cell")
		})
	}
}
