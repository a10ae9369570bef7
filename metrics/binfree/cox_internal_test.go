package binfree

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// TestLogitMoments checks that the points that represent a grid cell are at the means of its rows, to the accuracy of
// logitMoments.
func TestLogitMoments(t *testing.T) {
	places, rising := kernel.GridPlaces()
	for at := 1; at+1 < len(rising); at += 7 {
		low, high := places[rising[at]], math.Nextafter(places[rising[at+1]], 0)
		c := gridCell{low: low, high: high}
		for _, share := range []float64{0, 0.1, 0.5, 0.9} {
			// The worst case: rows at both ends.
			m := low + share*(high-low)
			first, second, most := c.logitMoments(m)
			x := func(q float64) float64 { return odds{q, 1 - q}.from(odds{m, 1 - m}) }
			mean := (1-share)*x(low) + share*x(high)
			square := (1-share)*x(low)*x(low) + share*x(high)*x(high)
			far := math.Max(math.Abs(x(low)), math.Abs(x(high)))
			if math.Abs(mean) > first+1e-14 || square > second+1e-14 || far > most+1e-14 {
				t.Errorf("cell %v to %v, mean %v: %v %v %v beyond %v %v %v", low, high, m, mean, square, far, first, second, most)
			}
			if low > 1e-12 && first > 0.005 || most > 0.1 {
				t.Errorf("cell %v to %v: %v %v say nothing", low, high, first, most)
			}
		}
	}
}

// TestCoxPointsNotKept checks that points that are too many to keep are recomputed identically.
func TestCoxPointsNotKept(t *testing.T) {
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
	p := &metrics.Predictions{Labels: make([]int32, 3000)}
	p.Rows, p.Classes = len(p.Labels), 1
	for i := range p.Rows {
		p.F64 = append(p.F64, (float64(i)+0.5)/3000)
		p.Labels[i] = int32(i * 7 % 3000 / (3000 - i) & 1)
	}
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	var fits [2]coxFit
	for i := range fits {
		f := &fits[i]
		*f = coxFit{of: c, keep: i * keptPoints}
		if f.survey(); f.reason() != "" || !f.solve() || (f.points != nil) != (i == 1) {
			t.Fatal(i, f.reason())
		}
	}
	if fits[0].a != fits[1].a || fits[0].b != fits[1].b || fits[0].sums != fits[1].sums {
		t.Errorf("%v %v, want %v %v", fits[0].a, fits[0].b, fits[1].a, fits[1].b)
	}
}

// listed is a list of cells.
type listed struct {
	*cells.Cells
	cells []cells.Cell
}

func (l listed) Count() int { return len(l.cells) }
func (l listed) Each(f func(*cells.Cell)) {
	for i := range l.cells {
		f(&l.cells[i])
	}
}

// TestCoxWild checks that the fit is found and the gradient vanishes for few scores from 1e-300 to 1 - 1e-300, for close
// scores, and for one to billions of rows.
func TestCoxWild(t *testing.T) {
	sets := 4000
	if testing.Short() {
		sets = 1000
	}
	r := rand.New(rand.NewPCG(3, 4))
	fits, most := 0, 0
	for set := range sets {
		l := listed{Cells: metrics.Must(cells.New(nil))}
		for range 2 + r.IntN(12) {
			q := 0.0
			switch set % 5 {
			case 0:
				q = r.Float64() / 2
			case 1:
				q = kernel.Exp64(-700*r.Float64()) / 2
			case 2:
				q = 0.25 + 1e-9*r.Float64()
			case 3:
				q = []float64{1e-300, 1e-17, 0.5, 0.25, 0.25 + 1e-14, 1e-5}[r.IntN(6)]
			case 4:
				q = float64(1+r.IntN(10)) / 20
			}
			c := cells.Cell{P: q, Q: 1 - q, N: 1, Weight: float64(1 + r.IntN(3))}
			if r.IntN(2) == 0 {
				c.P, c.Q = c.Q, c.P
			}
			c.Events = float64(r.IntN(int(c.Weight) + 1))
			if many := math.Round(kernel.Exp64(20 * r.Float64())); r.IntN(3) == 0 {
				c.Weight, c.Events = c.Weight*many, c.Events*many
			}
			l.cells = append(l.cells, c)
		}
		slices.SortFunc(l.cells, func(a, b cells.Cell) int { return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(b.Q, a.Q)) })
		l.cells = slices.CompactFunc(l.cells, func(a, b cells.Cell) bool { return a.P == b.P && a.Q == b.Q })
		for _, unit := range []bool{false, true} {
			f := &coxFit{of: l, unit: unit, keep: keptPoints}
			if f.survey(); f.reason() != "" {
				continue
			}
			fits++
			if !f.solve() {
				t.Fatalf("set %d, slope held %v: not found, at %v %v: %+v", set, unit, f.a, f.b, l.cells)
			}
			most = max(most, f.searched)
			s := &f.sums
			off := math.Abs(s.g0) / math.Sqrt(s.w) // in standard errors
			if !unit {
				off = max(off, math.Abs(s.about(s.mean))/math.Sqrt(s.variance))
			}
			if !(off < 1e-8) {
				t.Errorf("set %d, slope held %v: off by %v standard errors: %+v", set, unit, off, l.cells)
			}
		}
	}
	t.Logf("%d fits, at most %d walks", fits, most)
	if fits < sets || most > 300 {
		t.Errorf("%d fits of %d sets, %d walks", fits, sets, most)
	}
}
