package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// affineRooms are memory for the matrices of a call.
type affineRooms struct {
	r    *rand.Rand
	x    [3]*levelRoom[float64]
	out  [2]*levelRoom[float64]
	odds int // one element in this many is special; 0 means none
	// How many are is dealt to the matrices of a round in turn.
	round, turn int
}

// next says how many elements of the next matrices are special: none, some, or many.
func (a *affineRooms) next() {
	a.odds = [...]int{0, 50, 3}[(a.round+dealt(a.turn, 3, 0))%3]
	a.turn++
}

// affineMost is how many elements a matrix has at the most.
const affineMost = 20000

func newAffineRooms(t testing.TB, seed uint64) *affineRooms {
	a := &affineRooms{r: check.Rand(seed)}
	for i := range a.x {
		a.x[i] = newRoom[float64](t, affineMost)
	}
	for i := range a.out {
		a.out[i] = newRoom[float64](t, affineMost)
	}
	return a
}

func (a *affineRooms) anywhere() place { return place{off: a.r.IntN(16)} }

func (a *affineRooms) fill(s []float64) {
	specials := append(check.Specials64(), math.MaxFloat64, 0x1p-1074, -0x1p-1022, 1e300, 1e-300, math.Copysign(0, -1))
	for i := range s {
		if s[i] = a.r.NormFloat64(); a.odds > 0 && a.r.IntN(a.odds) == 0 {
			s[i] = specials[a.r.IntN(len(specials))]
		}
	}
}

func (a *affineRooms) input(i int, p place, n int) *sheet[float64] {
	s := a.x[i].lay(fmt.Sprint("input ", i), p, n, true)
	a.fill(s.s)
	return s
}

// output returns a matrix that is written, which holds what is added to.
func (a *affineRooms) output(i int, p place, n int) *sheet[float64] {
	s := a.out[i].lay(fmt.Sprint("output ", i), p, n, false).column(n)
	s.class, s.src = true, make([]float64, n)
	a.fill(s.src)
	return s
}

// products runs the two products of matrices.
func (a *affineRooms) products(t *testing.T, p, q place, rows, in, out int) {
	t.Helper()
	a.next()
	x, w, b, dst := a.input(0, p, rows*in), a.input(1, q, in*out), a.input(2, p, out), a.output(0, q, rows*out)
	affine := func() uint64 { AffineF64(dst.s, x.s, w.s, b.s, rows, in, out); return 0 }
	if err := sameAtLevels(affine, x, w, b, dst); err != nil {
		t.Fatalf("AffineF64, %d rows of %d to %d at %v and %v: %v", rows, in, out, p, q, err)
	}
	d, x, g := a.input(0, p, rows*out), a.input(1, q, rows*in), a.output(0, p, out*in)
	if err := sameAtLevels(func() uint64 { AddOuterF64(g.s, d.s, x.s, rows, out, in); return 0 }, d, x, g); err != nil {
		t.Fatalf("AddOuterF64, %d rows of %d and %d at %v and %v: %v", rows, out, in, p, q, err)
	}
}

// columns runs what takes each column by itself.
func (a *affineRooms) columns(t *testing.T, p, q place, rows, k int) {
	t.Helper()
	a.next()
	what := func(err error) string { return fmt.Sprintf("%d rows of %d at %v and %v: %v", rows, k, p, q, err) }
	x, scale, shift, dst := a.input(0, p, rows*k), a.input(1, q, k), a.input(2, p, k), a.output(0, q, rows*k)
	for name, from := range map[string][]float64{"ScaleShiftF64,": x.s, "ScaleShiftF64 in place,": dst.s} {
		call := func() uint64 { ScaleShiftF64(dst.s, from, scale.s, shift.s, rows, k); return 0 }
		if err := sameAtLevels(call, x, scale, shift, dst); err != nil {
			t.Fatal(name, what(err))
		}
	}
	d, x, ga, gb := a.input(0, p, rows*k), a.input(1, q, rows*k), a.output(0, q, k), a.output(1, p, k)
	if err := sameAtLevels(func() uint64 { AddProductsF64(ga.s, gb.s, d.s, x.s, rows, k); return 0 }, d, x, ga, gb); err != nil {
		t.Fatal("AddProductsF64,", what(err))
	}
	if err := sameAtLevels(func() uint64 { AddRowsF64(gb.s, d.s, rows, k); return 0 }, d, gb); err != nil {
		t.Fatal("AddRowsF64,", what(err))
	}
}

// TestLevelsAffine: blocks of all heights and widths, steps that the room for columns divides or not, and more rows than are taken at
// a time.
func TestLevelsAffine(t *testing.T) {
	logCompared(t)
	a := newAffineRooms(t, 211)
	for a.round = range sized(1, 1, 3) {
		a.turn = 0
		for out := 1; out <= 51; out++ {
			for i, p := range places(out, 16) {
				a.products(t, p, p, 1+(out+5*i)%18, 1+a.r.IntN(40), out)
				a.products(t, p, a.anywhere(), 1+a.r.IntN(30), 1+(out+i)%7, out)
			}
		}
		for rows := 1; rows <= 40; rows++ {
			for _, p := range places(rows, 16) {
				a.products(t, a.anywhere(), p, rows, 1+a.r.IntN(20), 1+a.r.IntN(60))
				a.products(t, p, a.anywhere(), 1+a.r.IntN(20), rows, 1+a.r.IntN(30))
			}
		}
		for i, s := range [][3]int{{productRows, 3, 5}, {productRows + 1, 2, 25}, {2*productRows + 7, 9, 9}, {400, 5, 3}, {400, 30, 26},
			{3, productSteps - 1, 24}, {5, productSteps, 25}, {9, productSteps + 1, 49}, {4, 383, 8}, {3, 384, 7}, {2, 385, 33},
			{11, 260, 50}, {20, 10, 300}, {1, 1000, 12}, {7, 100, 100}, {0, 3, 4}} {
			for d := range deal(i, sized(1, 2, all), 3) {
				p := places(i, 16)[d[0]]
				a.products(t, p, p, s[0], s[1], s[2])
			}
		}
		for k := 1; k <= 83; k++ {
			for _, p := range places(k, 16) {
				a.columns(t, p, p, 1+a.r.IntN(12), k)
			}
			a.columns(t, a.anywhere(), a.anywhere(), a.r.IntN(100), k)
		}
		for off := range 16 {
			ks := []int{1, 7, 8, 9, 31, 32, 33, 100}
			for d := range deal(off, sized(1, 4, all), len(ks)) {
				k := ks[d[0]]
				a.columns(t, place{off: off}, a.anywhere(), 1+off, k)
				a.products(t, place{off: off}, a.anywhere(), 1+a.r.IntN(20), k, 1+a.r.IntN(60))
				a.products(t, a.anywhere(), place{off: off}, 1+a.r.IntN(20), 1+a.r.IntN(60), k)
			}
		}
	}
}

// TestLevelsResiduals: rows of all lengths, with faults, labels and weights of all kinds.
func TestLevelsResiduals(t *testing.T) {
	logCompared(t)
	a := newAffineRooms(t, 223)
	ys, ws, ns := newRoom[int32](t, 200), newRoom[float64](t, 200), newRoom[float64](t, 200)
	specials := []float64{math.Inf(-1), math.Inf(-1), -708, -708.0000001, -707.9999, -745, -1e300, 700, 1e300, 0x1p-1074,
		math.Copysign(0, -1)}
	faults := append(check.Specials64(), math.NaN(), math.Inf(1))
	run := func(p, q place, rows, k, kind int) {
		t.Helper()
		u := a.output(0, p, rows*k)
		scale := math.Ldexp(1, a.r.IntN(14)-4)
		for i := range u.src {
			u.src[i] *= scale
			if kind > 0 && a.r.IntN(4) == 0 {
				u.src[i] = specials[a.r.IntN(len(specials))]
			}
			if kind > 1 && a.r.IntN(1+2*k) == 0 {
				u.src[i] = faults[a.r.IntN(len(faults))]
			}
		}
		y, w, nll := ys.lay("labels", q, rows, true), ws.lay("weights", p, rows, true), ns.lay("nll", q, rows, false).column(rows)
		for i := range rows {
			y.s[i], w.s[i] = int32(a.r.IntN(k)), a.r.ExpFloat64()
			if kind > 1 && a.r.IntN(8) == 0 {
				y.s[i] = []int32{-1, int32(k), math.MinInt32, math.MaxInt32}[a.r.IntN(4)]
			}
			if kind > 1 && a.r.IntN(8) == 0 {
				w.s[i] = []float64{0, math.NaN(), math.Inf(1), 0x1p-1074, -1, 1e308}[a.r.IntN(6)]
			}
		}
		weights := w.s
		if a.r.IntN(3) == 0 {
			weights = nil
		}
		call := func() uint64 { SoftmaxResidualsF64(nll.s, u.s, rows, k, y.s, weights); return 0 }
		if err := sameAtLevels(call, u, y, w, nll); err != nil {
			t.Fatalf("%d rows of %d at %v and %v, kind %d, weights %v: %v", rows, k, p, q, kind, weights != nil, err)
		}
	}
	for k := 1; k <= 83; k++ {
		for i, p := range places(k, 16) {
			for d := range deal(3*k+i, sized(1, 2, all), 3) {
				run(p, p, 1+a.r.IntN(20), k, d[0])
				run(a.anywhere(), a.anywhere(), a.r.IntN(sized(40, 200, 200)), k, d[0])
			}
		}
	}
	for i, k := range []int{100, 127, 128, 129, 255, 400, 512, 513, 1000, 1024, 2500, 5000} {
		for d := range deal(i, sized(2, 3, all), 3, 3) {
			p := places(i, 16)[d[0]]
			run(p, p, min(sized(20, 150, 150), affineMost/k), k, d[1])
		}
	}
	ks := []int{1, 2, 7, 8, 9, 31, 33, 64}
	for off := range 16 {
		for d := range deal(off, sized(2, 6, all), len(ks), 3) {
			run(place{off: off}, a.anywhere(), 1+a.r.IntN(70), ks[d[0]], d[1])
			run(a.anywhere(), place{off: off}, 1+a.r.IntN(70), ks[d[0]], d[1])
		}
	}
}
