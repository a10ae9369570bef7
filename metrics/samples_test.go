package metrics_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// TestSampleSums: a block of samples has the kernel's sums of the rows that are left, where they are asked for, and the same rows are
// left where they are not.
func TestSampleSums(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(math.NaN(), -1)}
	for trial := range 400 {
		n, m := 1+r.IntN(150), 1+r.IntN(40)
		p := &metrics.Predictions{Kind: metrics.Samples, Observed: make([]float64, n)}
		p.Rows, p.Classes = n, m
		st := m
		if r.IntN(2) == 0 {
			st = m + r.IntN(5)
			p.Stride = st
		}
		x := make([]float64, n*st)
		for i := range x {
			x[i] = math.Ldexp(r.NormFloat64(), r.IntN(60)-30)
			if i%st >= m {
				x[i] = math.NaN() // between rows is nothing
			}
		}
		for i := range n {
			p.Observed[i] = r.NormFloat64()
		}
		left := slices.Repeat([]bool{true}, n)
		if trial%4 > 0 {
			for range r.IntN(4) {
				i := r.IntN(n)
				x[i*st+r.IntN(m)], left[i] = bad[r.IntN(len(bad))], false
			}
			if r.IntN(4) == 0 {
				i := r.IntN(n)
				p.Observed[i], left[i] = bad[r.IntN(len(bad))], false
			}
		}
		if r.IntN(3) == 0 {
			for i := range n {
				p.Weights = append(p.Weights, float64(r.IntN(4)))
				left[i] = left[i] && p.Weights[i] > 0
			}
		}
		switch trial % 3 {
		case 0:
			p.F64 = x
		case 1:
			for _, v := range x {
				p.F32 = append(p.F32, float32(v))
			}
		default:
			for i, v := range x {
				b := uint16(math.Float32bits(float32(v)) >> 16)
				if p.BF16 = append(p.BF16, b); v != v && b&0x7f == 0 {
					p.BF16[i] |= 1
				}
			}
		}
		for _, need := range []metrics.Need{metrics.NeedSpread, metrics.NeedRows, metrics.NeedSpread | metrics.NeedRows} {
			row, abs, spread := 0, []float64{0}, []float64{0}
			w := metrics.NewWalker(&metrics.Options{Drop: true}, need, func(b *metrics.Block) {
				if sums := need&metrics.NeedSpread != 0; sums != (len(b.Abs) == b.Rows) || sums != (len(b.Spread) == b.Rows) {
					t.Fatalf("need %v: %d sums", need, len(b.Abs))
				}
				for i := range b.Rows {
					for !left[row] {
						row++
					}
					if b.Number(i) != int64(row) || b.Observed[i] != p.Observed[row] || p.Weights != nil && b.Weights[i] != p.Weights[row] {
						t.Fatalf("row %d is not row %d", b.Number(i), row)
					}
					if b.Abs != nil {
						s := make([]float64, kernel.SampleSpreadScratch(m))
						wide := make([]float64, m)
						for j := range wide {
							switch at := row*st + j; {
							case p.F64 != nil:
								wide[j] = p.F64[at]
							case p.F32 != nil:
								wide[j] = float64(p.F32[at])
							default:
								wide[j] = float64(math.Float32frombits(uint32(p.BF16[at]) << 16))
							}
						}
						kernel.SampleSpreadF64(abs, spread, wide, 1, m, m, p.Observed[row:], s)
						if b.Abs[i] != abs[0] || b.Spread[i] != spread[0] {
							t.Fatalf("row %d: %v, %v, want %v, %v", row, b.Abs[i], b.Spread[i], abs[0], spread[0])
						}
					}
					row++
				}
			})
			w.Add(&metrics.Chunk{Predictions: *p})
			if row > 0 && slices.Contains(left[row:], true) || row == 0 && slices.Contains(left, true) {
				t.Fatalf("need %v: rows from %d on are missing", need, row)
			}
		}
	}
}
