package binfree_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// exactly presents sorted scores of rows with a cell for each score, whatever their number.
type exactly struct {
	cells.Rising
	scores []float32
	hits   []uint8
}

func (e *exactly) Exact() bool { return true }
func (e *exactly) Count() int {
	n := 0
	e.Each(func(*cells.Cell) { n++ })
	return n
}

func (e *exactly) Each(f func(*cells.Cell)) {
	var c cells.Cell
	for i := 0; i < len(e.scores); {
		v, from, hits := e.scores[i], i, 0
		for ; i < len(e.scores) && e.scores[i] == v; i++ {
			hits += int(e.hits[i])
		}
		c.P, c.Q = float64(v), 1-float64(v)
		c.Low, c.High = c.P, c.P
		c.N, c.Weight, c.Events = int64(i-from), float64(i-from), float64(hits)
		f(&c)
	}
}

// bothRisings returns many rows in both forms: a cell for each score, and the cells of a grid.
func bothRisings(t testing.TB, n int, draw func(r *rand.Rand) (score, chance float64)) (sorted, grid cells.Rising) {
	t.Helper()
	type row struct {
		score float32
		hit   uint8
	}
	r := rand.New(rand.NewPCG(uint64(n), 1))
	rows := make([]row, n)
	d := &metrics.Predictions{Labels: make([]int32, n), Scores: metrics.Scores{F32: make([]float32, n), Rows: n, Classes: 1}}
	for i := range rows {
		s, c := draw(r)
		rows[i] = row{float32(s), uint8(b2i(r.Float64() < c))}
		d.F32[i], d.Labels[i] = rows[i].score, int32(rows[i].hit)
	}
	slices.SortFunc(rows, func(a, b row) int {
		switch {
		case a.score < b.score:
			return -1
		case a.score > b.score:
			return 1
		}
		return 0
	})
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(d); err != nil {
		t.Fatal(err)
	}
	e := &exactly{Rising: c, scores: make([]float32, n), hits: make([]uint8, n)}
	for i, v := range rows {
		e.scores[i], e.hits[i] = v.score, v.hit
	}
	return e, c
}

// BenchmarkSmooth measures the smooth calibration error once rows are read, from sorted rows and from a grid.
func BenchmarkSmooth(b *testing.B) {
	for _, law := range []int{0, 1, 2} {
		const n = 1e7
		sorted, grid := bothRisings(b, n, smoothLaws[law].draw)
		for _, c := range []struct {
			name string
			r    cells.Rising
		}{{"sorted", sorted}, {"grid", grid}} {
			b.Run(fmt.Sprintf("%s/%s/1e7", smoothLaws[law].name, c.name), func(b *testing.B) {
				b.ReportAllocs()
				var s *binfree.Smooth
				for b.Loop() {
					s = binfree.SmoothOf(c.r)
				}
				v, bound := s.ECE()
				b.ReportMetric(v, "smooth_ece")
				b.ReportMetric(bound, "bound")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
				if math.IsNaN(v) {
					b.Fatal("NaN")
				}
			})
		}
	}
}
