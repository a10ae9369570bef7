package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/candor-go/candor/internal/check"
)

// gridCase is what compares the levels on n scores at one place; the cells, which hold something before, stand there as well.
func gridCase(t *testing.T) func(at place, n int, score func(i int) (p, tail float64)) {
	t.Helper()
	const most = 4 * gridChunk
	words := 4 * GridSize()
	ps, ts, ys, cs := newRoom[float64](t, most), newRoom[float64](t, most), newRoom[uint8](t, most), newRoom[uint64](t, words)
	src := make([]uint64, words)
	for i := range src {
		src[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	r := check.Rand(47)
	return func(at place, n int, score func(i int) (p, tail float64)) {
		t.Helper()
		p, tail, y := ps.lay("p", at, n, true), ts.lay("tail", place{at.side, at.off * 5 % 32}, n, true), ys.lay("y", at, n, true)
		cells := cs.lay("cells", place{at.side, at.off * 3 % 32}, words, false).column(words)
		cells.src = src
		for i := range n {
			p.s[i], tail.s[i] = score(i)
			y.s[i] = uint8(r.IntN(2))
		}
		if err := sameAtLevels(func() uint64 {
			g := unsafe.Slice((*GridCell)(unsafe.Pointer(unsafe.SliceData(cells.s))), GridSize())
			return uint64(GridSums(g, p.s, tail.s, y.s))
		}, p, tail, y, cells); err != nil {
			t.Fatalf("n=%d at %v: %v; scores %v, tails %v", n, at, err, p.s[:min(n, 67)], tail.s[:min(n, 67)])
		}
	}
}

// gridLaws are ways of drawing scores, in [0,1] but for the last ones.
func gridLaws(r *rand.Rand) []func(i int) (p, tail float64) {
	edges := append(check.Specials64(), -5e-324, 0.5, math.Nextafter(0.5, 0), math.Nextafter(0.5, 1), 1, math.Nextafter(1, 2), 0x1p-64, 0.0099)
	places, _ := GridPlaces()
	of := func(p float64) (float64, float64) { return p, 1 - p }
	return []func(i int) (p, tail float64){
		func(int) (float64, float64) { return of(r.Float64()) },
		func(int) (float64, float64) { return of(0.3001) },
		func(int) (float64, float64) { return of(float64(r.IntN(101)) / 100) },
		func(int) (float64, float64) { return of(float64(float32(r.IntN(1001)) / 1000)) },
		func(int) (float64, float64) { tail := Exp64(-50 * r.Float64()); return 1 - tail, tail },
		func(int) (float64, float64) { return of(Exp64(-50 * r.Float64())) },
		func(int) (float64, float64) {
			return of(math.Nextafter(places[r.IntN(len(places))], float64(r.IntN(2))))
		},
		func(int) (float64, float64) { return 0.75, 0.5 + float64(r.IntN(3)-1)*Exp64(-40*r.Float64()) },
		func(i int) (float64, float64) {
			if i%2 == 0 {
				return edges[r.IntN(len(edges))], edges[r.IntN(len(edges))]
			}
			return math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64())
		},
	}
}

func TestLevelsGrid(t *testing.T) {
	logCompared(t)
	run, r := gridCase(t), check.Rand(53)
	laws := gridLaws(r)
	for i, n := range lengths(16, 4*columnStep+3, gridChunk-1, gridChunk, gridChunk+1, gridChunk+columnStep-1, 4*gridChunk) {
		for j, at := range places(i, 32) {
			run(at, n, laws[(i+j)%len(laws)])
		}
	}
	for off := range 32 {
		run(place{off: off}, 67, laws[off%len(laws)])
	}
	for _, law := range laws {
		for range sized(1, 3, 3) {
			run(place{off: r.IntN(32)}, 4*gridChunk, law)
		}
	}
	// One odd score among others, wherever it is.
	odd := []float64{nan64, math.Inf(1), math.Inf(-1), -5e-324, math.Copysign(0, -1), -0.25, 0.5, 1.5}
	for at := range columnStep + 3 {
		for d := range deal(at, sized(2, all, all), len(odd)) {
			v := odd[d[0]]
			run(place{off: at % 32}, columnStep+3, func(i int) (float64, float64) {
				if i == at {
					return v, 1 - v
				}
				return laws[0](i)
			})
		}
	}
}

// TestLevelsGridPlaces: each place, and the scores beside it, from either end.
func TestLevelsGridPlaces(t *testing.T) {
	logCompared(t)
	run := gridCase(t)
	p, tail := someGridScores()
	const most = 4 * gridChunk
	for i := 0; i < len(p); i += most {
		run(place{}, min(most, len(p)-i), func(j int) (float64, float64) { return p[i+j], tail[i+j] })
	}
}
