package cells_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// TestRelease: memory that is given back is that of no accumulator that is still used, into whatever its cells were merged.
func TestRelease(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 7))
	var states [][]byte
	for range 6 {
		p := &metrics.Predictions{Labels: make([]int32, 900)}
		p.Rows, p.Classes, p.F64 = 900, 1, make([]float64, 900)
		for i := range p.F64 {
			if p.F64[i] = r.Float64(); i%2 == 0 {
				p.F64[i] = float64(r.IntN(50)) / 50
			}
			p.Labels[i] = r.Int32N(2)
		}
		b, err := of(t, p, nil).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, b)
	}
	read := func(i int) *cells.Cells {
		c := new(cells.Cells)
		if err := c.UnmarshalBinary(states[i]); err != nil {
			t.Fatal(err)
		}
		return c
	}
	merge := func(a, b *cells.Cells) {
		if err := a.Merge(b); err != nil {
			t.Fatal(err)
		}
	}
	bytesOf := func(c *cells.Cells) []byte {
		b, err := c.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	plain, kept := read(0), [][]byte{states[0]}
	for i := 1; i < len(states); i++ {
		merge(plain, read(i))
		kept = append(kept, bytesOf(plain))
	}
	for round := range 20 {
		sum, first := new(cells.Cells), read(0)
		if round%2 == 0 { // which shares its cells
			merge(sum, first)
		} else if err := sum.Adopt(first); err != nil {
			t.Fatal(err)
		}
		if round%2 == 0 {
			first.Release()
		}
		for i := 1; i < len(states); i++ {
			before := read(i) // its memory may be what another gave back
			merge(sum, before)
			before.Release()
			read(r.IntN(len(states)))
			if !bytes.Equal(bytesOf(sum), kept[i]) {
				t.Fatalf("round %d: %d states are not merged to the same bytes", round, i+1)
			}
		}
	}
}
