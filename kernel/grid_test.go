package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
)

// gridScores returns scores of [0,1] with their tails: those around every place of the grid and every edge of the bins that it
// has, from either end, and random ones.
func gridScores(near, drawn int) (p, tail []float64) {
	add := func(v float64) {
		if v >= 0 && v <= 1 {
			p, tail = append(p, v), append(tail, 1-v)
		}
	}
	around := func(v float64) {
		lo, hi := v, v
		add(v)
		for range near {
			lo, hi = math.Nextafter(lo, -1), math.Nextafter(hi, 2)
			add(lo)
			add(hi)
		}
	}
	places, _ := GridPlaces()
	for _, q := range places {
		around(q)
		around(1 - q)
		p, tail = append(p, 1-q, 1-q), append(tail, q, math.Nextafter(q, 0))
	}
	for _, n := range gridBins {
		for _, e := range Edges(n) {
			around(e)
			around(1 - e)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range drawn {
		add(r.Float64())
		add(Exp64(-80 * r.Float64()))
		add(1 - Exp64(-40*r.Float64()))
		add(float64(r.IntN(1001)) / 1000)
	}
	return p, tail
}

// someGridScores are as many as a test takes.
func someGridScores() (p, tail []float64) {
	return gridScores(sized(1, 3, 3), sized(1<<12, 1<<14, 1<<16))
}

// find returns the cell of q.
func find(q float64) int {
	_, rising := GridPlaces()
	return int(rising[GridRank(q)])
}

func TestGridPlaces(t *testing.T) {
	places, rising := GridPlaces()
	for i := 1; i < len(rising); i++ {
		if a, b := places[rising[i-1]], places[rising[i]]; !(a < b) {
			t.Fatalf("place %d is %v, after %v", i, b, a)
		} else if w := b - a; w > 1.0/gridSteps+1e-9 || b > 0x1p-63 && b < 0.01 && w > b/32 {
			t.Errorf("a cell from %v to %v", a, b)
		}
	}
	if first, last := places[rising[0]], places[rising[len(rising)-1]]; first != 0 || last != 0.5 {
		t.Errorf("from %v to %v", first, last)
	}
	for i, q := range places {
		if g, below := gridBeside(q), math.Nextafter(q, 0); (i == 0 || i >= gridLogs) && (g != i || gridBeside(below) != find(below)) {
			t.Errorf("beside %v cell %d", q, g)
		}
		if find(q) != i || q > 0 && find(math.Nextafter(q, 0)) == i {
			t.Errorf("%v is not the first of cell %d", q, i)
		}
	}
}

// Each cell is found as its places say, and has the sums of its scores.
func TestGridSums(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p, tail := someGridScores()
		y := make([]uint8, len(p))
		for i := range y {
			y[i] = uint8(i % 3 & 1)
		}
		units := func(v float64) uint64 { return math.Float64bits(v+3) - math.Float64bits(3) }
		type sums struct {
			n     uint64
			q, qq big.Int
		}
		want := make([]sums, GridSize())
		add := func(s *big.Int, v uint64) { s.Add(s, new(big.Int).SetUint64(v)) }
		for i, v := range p {
			q, half := v, 0
			if v >= 0.5 {
				q, half = tail[i], 2
			}
			s := &want[4*find(q)+half+int(y[i])]
			s.n++
			add(&s.q, units(q))
			add(&s.qq, units(float64(q*q)))
		}
		cells := make([]GridCell, GridSize())
		for at := 0; at < len(p); at += 1000 {
			end := min(at+1000, len(p))
			if out := GridSums(cells, p[at:end], tail[at:end], y[at:end]); out != 0 {
				t.Fatalf("%d scores are out", out)
			}
		}
		places, _ := GridPlaces()
		for i := range cells {
			n, q, qq := GridTotals(&cells[i], i)
			x := places[i/4]
			total := func(rest, place uint64) *big.Int {
				s := new(big.Int).Mul(new(big.Int).SetUint64(n), new(big.Int).SetUint64(place))
				return s.Add(s, new(big.Int).SetUint64(rest))
			}
			w := &want[i]
			if n != w.n || total(q, units(x)).Cmp(&w.q) != 0 || total(qq, units(float64(x*x))).Cmp(&w.qq) != 0 {
				t.Fatalf("cell %d: %d %v %v, want %d %v %v", i, n, total(q, units(x)), total(qq, units(float64(x*x))), w.n, &w.q, &w.qq)
			}
		}
	})
}

// Every bin of the numbers of bins that the grid has is a union of cells, seen from either end.
func TestGridBins(t *testing.T) {
	p, tail := someGridScores()
	cell := make([]int, len(p)) // -1 where the tail is not that of p
	for i, v := range p {
		q, half := v, 0
		if v >= 0.5 {
			q, half = tail[i], 1
		}
		if cell[i] = 2*find(q) + half; half == 1 && 1-q != v {
			cell[i] = -1
		}
	}
	bins, of := make([]int32, len(p)), make([]int32, 2*GridSize())
	for n := 1; n <= 100; n++ {
		BinEqual(bins, p, Edges(n), LeftClosed)
		clear(of)
		torn := 0
		for i, k := range cell {
			if k < 0 {
				continue
			}
			if of[k] != 0 && of[k] != bins[i]+1 {
				torn++
			}
			of[k] = bins[i] + 1
		}
		if (torn == 0) != GridBins(n) {
			t.Errorf("%d bins: %d cells are torn", n, torn)
		}
	}
}

// A tail that is some units above 1/2 counts as 1/2, and not one that is more.
func TestGridSumsSlack(t *testing.T) {
	const n = 67
	p, tail := make([]float64, n), make([]float64, n)
	for i := range p {
		p[i], tail[i] = 0.5, 0.5+float64(i%6)*0x1p-53
	}
	isatest.Each(t, func(t *testing.T) {
		cells := make([]GridCell, GridSize())
		out := GridSums(cells, p, tail, make([]uint8, n))
		at := 4*gridBeside(0.5) + 2
		if c, q, _ := GridTotals(&cells[at], at); out != n/6 || c != n-n/6 || q != 0 {
			t.Errorf("%d out, %d in, %d above the place", out, c, q)
		}
	})
}

func TestGridSumsOutside(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	p := []float64{nan, inf, -inf, -1, 2, 0.5, 0.7, 1, 0.2, math.Copysign(0, -1)}
	tail := []float64{nan, -inf, inf, 2, -1, 0.5, nan, -0.1, nan, 1}
	isatest.Each(t, func(t *testing.T) {
		cells := make([]GridCell, GridSize())
		out := GridSums(cells, p, tail, make([]uint8, len(p)))
		n := uint64(0)
		for i := range cells {
			n += cells[i].N
		}
		if out != 7 || n != 3 {
			t.Errorf("%d out, %d in", out, n)
		}
	})
}

// TestGridRank: the rank is the number of places below, less one.
func TestGridRank(t *testing.T) {
	places, rising := GridPlaces()
	sorted := make([]float64, len(places))
	for i, g := range rising {
		sorted[i] = places[g]
	}
	check := func(q float64) {
		t.Helper()
		at, found := slices.BinarySearch(sorted, q)
		if !found {
			at--
		}
		if got := GridRank(q); got != at {
			t.Fatalf("%v has rank %d, not %d", q, got, at)
		}
	}
	for _, q := range places {
		check(q)
		check(math.Max(0, math.Nextafter(q, 0)))
		check(math.Min(0.5, math.Nextafter(q, 1)))
	}
	check(math.Copysign(0, -1))
	check(math.SmallestNonzeroFloat64)
	p, tail := someGridScores()
	for i := range p {
		if q := math.Min(p[i], tail[i]); q >= 0 && q <= 0.5 {
			check(q)
		}
	}
}
