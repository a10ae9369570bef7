//go:build unix

package bench

import (
	"math"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/parallel"
	"github.com/candor-go/candor/metrics/rank"
)

// BenchmarkSortedRatio: what a Sort and each of its answers cost for one of the sort of the keys alone, by as many threads. All take
// turns, and of each the least processor time of twelve rounds counts: so others on the machine hardly change what it says.
func BenchmarkSortedRatio(b *testing.B) {
	rounds := 12
	if testing.Short() {
		rounds = 1 // it runs
	}
	for _, scores := range []string{"any", "3_digits"} {
		p, keys := sortedRows(scores)
		work, scratch := slices.Clone(keys), make([]uint32, kernel.SortScratch(manyScores))
		for _, threads := range []int{1, 2} {
			o := &cells.SortOptions{Into: new(cells.Sorted)}
			o.Data.Threads = threads
			sort := func(o *cells.SortOptions) *cells.Sorted {
				s, err := cells.Sort(p, o)
				if err != nil {
					b.Fatal(err)
				}
				return s
			}
			tasks := []struct {
				name string
				do   func()
			}{
				{"kernel", func() { parallel.Sort(work, scratch, threads) }},
				{"Sort", func() { sort(o) }},
				{"Sort+AUROC", func() { rank.RankingOf(sort(o)).AUROC() }},
				{"Sort+Gaps", func() { sort(o).Gaps() }},
				{"Sort+Fit", func() { into(sort(o).Fit) }},
				{"memory", func() { sort(&cells.SortOptions{Data: o.Data}) }},
			}
			b.Run("scores="+scores+"/threads="+strconv.Itoa(threads), func(b *testing.B) {
				isatest.EachB(b, func(b *testing.B) {
					least := slices.Repeat([]float64{math.Inf(1)}, len(tasks))
					for b.Loop() {
						for range rounds {
							for i, task := range tasks {
								copy(work, keys)
								start := processorTime()
								task.do()
								least[i] = min(least[i], processorTime()-start)
							}
						}
					}
					b.ReportMetric(0, "ns/op") // of all together
					b.ReportMetric(least[0]/manyScores, "kernel-ns/row")
					for i, task := range tasks[1:] {
						b.ReportMetric(least[i+1]/least[0], task.name+"/kernel")
					}
				})
			})
		}
	}
}

// processorTime returns what all threads have used, in nanoseconds.
func processorTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}
