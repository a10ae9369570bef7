package kernel

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// A pairKernel sums over the rows of matrices of one shape.
type pairKernel[T check.Element] struct {
	name              string
	matrices, columns int
	run               func(c [][]float64, x [][]T, rows, k, stride int)
	from              func(float64) T
	specials          []T
}

func pairKernels32() []pairKernel[float32] {
	from, specials := func(v float64) float32 { return float32(v) }, append(check.Specials32(), 0, 0, 1, 0x1p-70, 0x1p-126)
	return []pairKernel[float32]{
		{"PairKLF32", 3, 1, func(c [][]float64, x [][]float32, rows, k, stride int) {
			PairKLF32(c[0], x[0], x[1], x[2], rows, k, stride)
		}, from, specials},
		{"PairSumsF32", 2, 3, func(c [][]float64, x [][]float32, rows, k, stride int) {
			PairSumsF32(c[0], c[1], c[2], x[0], x[1], rows, k, stride)
		}, from, specials},
	}
}

func pairKernels64() []pairKernel[float64] {
	from, specials := func(v float64) float64 { return v }, append(check.Specials64(), 0, 0, 1, 0x1p-500, 0x1p-1022)
	return []pairKernel[float64]{
		{"PairKLF64", 3, 1, func(c [][]float64, x [][]float64, rows, k, stride int) {
			PairKLF64(c[0], x[0], x[1], x[2], rows, k, stride)
		}, from, specials},
		{"PairSumsF64", 2, 3, func(c [][]float64, x [][]float64, rows, k, stride int) {
			PairSumsF64(c[0], c[1], c[2], x[0], x[1], rows, k, stride)
		}, from, specials},
	}
}

func TestLevelsPairs(t *testing.T) {
	logCompared(t)
	for _, f := range pairKernels32() {
		testPairs(t, f)
	}
	for _, f := range pairKernels64() {
		testPairs(t, f)
	}
}

func testPairs[T check.Element](t *testing.T, f pairKernel[T]) {
	const most, mostRows = 1 << 14, 20
	var xs []*levelRoom[T]
	var cs []*levelRoom[float64]
	for range f.matrices {
		xs = append(xs, newRoom[T](t, most))
	}
	for range f.columns {
		cs = append(cs, newRoom[float64](t, mostRows+3))
	}
	names := [][]string{{"a", "b", "c"}, {"p", "q", "r"}}
	t.Run(f.name, func(t *testing.T) {
		r := check.Rand(73)
		// run takes matrices of the value that is given for an element of one.
		run := func(at func() place, rows, k, stride int, value func(matrix, i int) T) {
			t.Helper()
			size := 0
			if rows > 0 {
				size = (rows-1)*stride + k
			}
			var sheets []laid
			var x [][]T
			var c [][]float64
			for m, room := range xs {
				s := room.lay(names[1][m], at(), size, true)
				for i := range rows {
					for j := range k {
						s.s[i*stride+j] = value(m, i*stride+j)
					}
				}
				sheets, x = append(sheets, s), append(x, s.s)
			}
			for m, room := range cs {
				s := room.lay(names[0][m], at(), rows+r.IntN(3), false).column(rows)
				sheets, c = append(sheets, s), append(c, s.s)
			}
			if err := sameAtLevels(func() uint64 { f.run(c, x, rows, k, stride); return 0 }, sheets...); err != nil {
				t.Fatalf("%d rows of %d, stride %d: %v", rows, k, stride, err)
			}
		}
		anywhere := func() place { return place{off: r.IntN(32)} }
		side := func(s side) func() place { return func() place { return place{side: s} } }
		// mixed returns numbers of several sizes; one in odds is special, none if odds is 0.
		mixed := func(odds int) func(int, int) T {
			scale := math.Ldexp(1, -r.IntN(40))
			return func(matrix, i int) T {
				if odds > 0 && r.IntN(odds) == 0 {
					return f.specials[r.IntN(len(f.specials))]
				}
				if matrix == 0 {
					return f.from(r.Float64() * scale)
				}
				return f.from(r.NormFloat64() * scale)
			}
		}
		for i, k := range append(upTo(1, 4*16+3), longKs...) {
			for j, at := range []func() place{side(guardedTail), side(guardedFront), anywhere} {
				rows := r.IntN(min(mostRows, most/(k+20)) + 1)
				for d := range deal(3*i+j, sized(1, 2, all), 3) {
					switch d[0] {
					case 0:
						run(at, rows, k, k+r.IntN(2)*r.IntN(20), mixed(0))
					case 1:
						run(at, rows, k, k, mixed(k*4))
					case 2:
						run(at, 1, k, k, mixed(3))
					}
				}
			}
		}
		for off := range 32 {
			ks := []int{1, 3, 8, 15, 16, 17, 33, 67}
			for d := range deal(off, sized(1, 3, all), len(ks)) {
				k := ks[d[0]]
				run(func() place { return place{off: off} }, 1+r.IntN(5), k, k+off%3, mixed(off*2))
				run(anywhere, 1+r.IntN(5), k, k+off%5, mixed(off*2))
			}
		}
		turn := 0
		for _, k := range thin(upTo(1, 35), 3, 1) { // each place
			for at := range k {
				for d := range deal(turn, sized(1, 3, all), len(f.specials)) {
					m, usual := r.IntN(f.matrices), mixed(0)
					run(anywhere, 1, k, k, func(matrix, i int) T {
						if i == at && matrix == m {
							return f.specials[d[0]]
						}
						return usual(matrix, i)
					})
				}
				turn++
			}
		}
		pool := make([]T, 64) // any bits
		for range sized(40, 100, 200) {
			for i := range pool {
				v := math.Ldexp(1+r.Float64(), r.IntN(300)-150)
				pool[i] = f.from(v * float64(1-2*r.IntN(2)))
			}
			run(anywhere, 1+r.IntN(3), 1+r.IntN(200), 203, func(int, int) T { return pool[r.IntN(len(pool))] })
		}
	})
}
