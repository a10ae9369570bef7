package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// sortBytes is the size of a matrix whose rows are sorted again and again in the second cache.
const sortBytes = 512 << 10

// BenchmarkSortRows: rows are sorted in place, in the second cache and in memory. They are sorted already but the
// first time, on which the time of assembly does not depend, while that of level generic is shorter for it. By slices.Sort
// each row is sorted as it was before, which is copied first.
func BenchmarkSortRows(b *testing.B) {
	for _, k := range []int{4, 10, 51, 100, 1000} {
		scratch := make([]float32, kernel.SortRowsScratch(k))
		x := make([]float32, inputBytes/4/k*k)
		for j := range x {
			x[j] = logit(j)
		}
		unsorted := slices.Clone(x[:sortBytes/4/k*k])
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			for _, from := range []struct {
				name string
				size int
			}{{"L2", sortBytes}, {"memory", inputBytes}} {
				b.Run("from="+from.name, func(b *testing.B) {
					isatest.EachB(b, func(b *testing.B) {
						rows := from.size / 4 / k
						for b.Loop() {
							kernel.SortRowsF32(x, rows, k, k, scratch)
						}
						samples(b, rows*k)
					})
				})
			}
			b.Run("by=slices.Sort", func(b *testing.B) {
				row := make([]float32, k)
				for b.Loop() {
					for i := 0; i < len(unsorted); i += k {
						copy(row, unsorted[i:])
						slices.Sort(row)
					}
				}
				samples(b, len(unsorted))
			})
		})
	}
}

func samples(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msamples/s")
}
