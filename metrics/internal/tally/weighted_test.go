package tally

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
)

// weightedRows returns scores, outcomes, cells and weights: the usual ones, and those that are at and beyond the ends of windows.
func weightedRows(r *rand.Rand, n, cells int, usual bool) (p []float64, y []uint8, at []int32, w []float64) {
	odd := []float64{0, math.Copysign(0, -1), 5e-324, 0x1p-41, 0x1.8p-40, 0x1p-89, 0x1.8p-88, -0x1.8p-88, 1e-30, 32, 33, 2046.9999, 2047, 2048, 1e9, 0x1p62, 1e30}
	for range n {
		v, x := r.Float64(), r.ExpFloat64()
		if !usual {
			switch r.IntN(4) {
			case 0:
				v = odd[r.IntN(len(odd))]
			case 1:
				x = odd[r.IntN(len(odd))]
			case 2:
				v = math.Ldexp(r.Float64(), -r.IntN(100))
			}
		}
		p, w = append(p, v), append(w, x)
		y, at = append(y, uint8(r.IntN(2))), append(at, int32(r.IntN(cells+1)-1))
	}
	return p, y, at, w
}

func fieldsOf(list func(*exact.Fields)) []byte {
	b, err := exact.Format{Name: "tally", Magic: "test", Version: 1}.Append(nil, list)
	if err != nil {
		panic(err)
	}
	return b
}

// TestWeightedBlocks: rows that are added together have the sums, to the bit, of rows that are added one by one.
func TestWeightedBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, cells := range []int{1, 3, few, few + 1} {
		for _, n := range []int{0, 1, 7, chunk - 1, chunk, chunk + 9, kernel.MaxSum, kernel.MaxSum + 77} {
			for _, usual := range []bool{true, false} {
				p, y, at, w := weightedRows(r, n, cells, usual)

				var got, want exact.Sum
				AddFloats(&got, p)
				for _, v := range p {
					want.AddFloat(v)
				}
				if !got.Equal(&want) {
					t.Fatalf("AddFloats of %d rows: %v, not %v", n, got.Float64(), want.Float64())
				}

				gots, wants := make([]exact.Sum, cells), make([]exact.Sum, cells)
				AddFloatsTo(gots, at, w)
				for i, j := range at {
					if j >= 0 {
						wants[j].AddFloat(w[i])
					}
				}
				if !slices.EqualFunc(gots, wants, func(a, b exact.Sum) bool { return a.Equal(&b) }) {
					t.Fatalf("AddFloatsTo of %d rows to %d sums differs", n, cells)
				}

				one, rows := Cell{}, Cell{}
				one.AddAll(p, y, w)
				for i, v := range p {
					rows.AddWeighted(v, y[i], w[i])
				}
				if !bytes.Equal(fieldsOf(one.Fields), fieldsOf(rows.Fields)) {
					t.Fatalf("AddAll of %d rows differs", n)
				}

				some, each := make([]Cell, cells), make([]Cell, cells)
				AddWeightedTo(some, at, p, y, w)
				for i, j := range at {
					if j >= 0 {
						each[j].AddWeighted(p[i], y[i], w[i])
					}
				}
				for j := range some {
					if !bytes.Equal(fieldsOf(some[j].Fields), fieldsOf(each[j].Fields)) {
						t.Fatalf("AddWeightedTo of %d rows to %d cells: cell %d differs", n, cells, j)
					}
				}

				if !usual && n > 1 {
					p[r.IntN(n)], p[r.IntN(n)] = math.Inf(1), 1e300
				}
				for i := range w {
					w[i] = min(w[i], 0x1p32) // the largest weight
				}
				all, single := Mean{}, Mean{}
				all.Add(p, &kernel.WindowNLL, &kernel.WindowNLL2, w)
				single.addWeightedRows(p, w)
				if !bytes.Equal(fieldsOf(all.Fields), fieldsOf(single.Fields)) {
					t.Fatalf("Mean.Add of %d rows differs", n)
				}
			}
		}
	}
}
