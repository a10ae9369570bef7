package bench

import (
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// sortedRows returns ten million calibrated probabilities, "any" or of three digits, and their keys.
func sortedRows(scores string) (p *metrics.Predictions, keys []uint32) {
	r := check.Rand(9)
	p = &metrics.Predictions{Labels: make([]int32, manyScores)}
	p.Rows, p.Classes, p.F32 = manyScores, 1, make([]float32, manyScores)
	hit := make([]uint8, manyScores)
	for i := range p.F32 {
		v := r.Float32()
		if scores != "any" {
			v = float32(math.Round(float64(v)*1000) / 1000)
		}
		if p.F32[i] = v; r.Float32() < v {
			p.Labels[i], hit[i] = 1, 1
		}
	}
	keys = make([]uint32, manyScores)
	kernel.HitKeysF32(keys, p.F32, hit)
	return p, keys
}

// BenchmarkSorted: ten million calibrated probabilities of float32, as they are and of three digits. do=kernel is the sort of their
// keys alone, do=memory the Sort that allocates its memory. The others with Sort in their name use memory again.
func BenchmarkSorted(b *testing.B) {
	for _, scores := range []string{"any", "3_digits"} {
		p, keys := sortedRows(scores)
		work, scratch := slices.Clone(keys), make([]uint32, kernel.SortScratch(manyScores))
		blocks := make([]kernel.HitBlock, (manyScores+63)/64)
		o := &cells.SortOptions{Into: new(cells.Sorted)}
		o.Data.Threads = 1
		sort := func(b *testing.B, o *cells.SortOptions) *cells.Sorted {
			s, err := cells.Sort(p, o)
			if err != nil {
				b.Fatal(err)
			}
			return s
		}
		auroc := func(s *cells.Sorted) { rank.RankingOf(s).AUROC() }
		gaps := func(s *cells.Sorted) { s.Gaps() }
		fit := func(s *cells.Sorted) { into(s.Fit) }
		run := func(name string, f func(b *testing.B)) {
			b.Run("scores="+scores+"/do="+name, func(b *testing.B) {
				isatest.EachB(b, func(b *testing.B) {
					for b.Loop() {
						f(b)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/manyScores, "ns/row")
				})
			})
		}
		run("kernel", func(b *testing.B) {
			b.StopTimer()
			copy(work, keys)
			b.StartTimer()
			kernel.Sort(work, scratch)
		})
		run("blocks", func(b *testing.B) { kernel.HitBlocksF32(blocks, work) })
		run("memory", func(b *testing.B) { sort(b, &cells.SortOptions{Data: o.Data}) })
		run("Sort", func(b *testing.B) { sort(b, o) })
		run("Sort+AUROC", func(b *testing.B) { auroc(sort(b, o)) })
		run("Sort+Gaps", func(b *testing.B) { gaps(sort(b, o)) })
		run("Sort+Fit", func(b *testing.B) { fit(sort(b, o)) })
		s := sort(b, o)
		run("AUROC", func(b *testing.B) { auroc(s) })
		run("Gaps", func(b *testing.B) { gaps(s) })
		run("Fit", func(b *testing.B) { fit(s) })
		run("Squares", func(b *testing.B) { s.Squares() })
		run("Each", func(b *testing.B) { s.Each(func(*cells.Cell) {}) })
	}
}

// into calls f with an empty one.
func into[T any](f func(*T)) { f(new(T)) }
