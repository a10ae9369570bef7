package recal

import (
	"sync"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestLinearTilesAbsent: however rows come, and wherever among them rows are absent, each tile is whole and is seen once.
func TestLinearTilesAbsent(t *testing.T) {
	const rows, k = 8 * linearRows, 2
	p := &metrics.Predictions{Kind: metrics.Logits}
	p.Rows, p.Classes = rows, k
	p.F64, p.Labels, p.Weights = make([]float64, rows*k), make([]int32, rows), make([]float64, rows)
	want := 0
	for i := range rows {
		if p.F64[i*k] = float64(i); i%linearRows < 8 && i%3 == 0 {
			p.Weights[i] = 1
			want++
		}
	}
	d := OpenFunc(func() (Source, error) { return &dataParts{p: p, rows: []int{1, 2}}, nil })
	for range 20 {
		l := &linear{d: d, o: &Options{Threads: 8}, k: k, s: &survey{kind: metrics.Logits, fit: Fit{Rows: int64(want)}}}
		l.groups = map[int64]int32{}
		for i, w := range p.Weights {
			if w > 0 {
				l.groups[int64(i/linearRows)]++
			}
		}
		seen := map[float64]int{}
		var mu sync.Mutex
		err := l.tiles(func() func(*linearTile) {
			return func(tile *linearTile) {
				mu.Lock()
				defer mu.Unlock()
				for i := range tile.rows {
					seen[tile.z[i*k]]++
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range p.Weights {
			if seen[float64(i)] != int(w) {
				t.Fatalf("row %d was seen %d times, want %v", i, seen[float64(i)], w)
			}
		}
	}
}
