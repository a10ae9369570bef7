package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// A memberKernel makes a value of those of all members.
type memberKernel[T check.Element] struct {
	name     string
	run      func(dst, x []T, members, n, stride int)
	usual    func(r *rand.Rand) T
	specials []T
}

func TestLevelsMembers(t *testing.T) {
	logCompared(t)
	testMembers(t, memberKernel[float32]{"MeanF32", MeanF32, func(r *rand.Rand) float32 { return r.Float32() },
		append(check.Specials32(), math.MaxFloat32, 0x1p-149, 3*0x1p-149)})
	testMembers(t, memberKernel[float64]{"MeanF64", MeanF64, func(r *rand.Rand) float64 { return r.Float64() },
		append(check.Specials64(), math.MaxFloat64, 0x1p-1074, 3*0x1p-1074)})
	testMembers(t, memberKernel[float64]{"LogMeanExp", LogMeanExp, func(r *rand.Rand) float64 {
		return -r.ExpFloat64() * math.Ldexp(1, r.IntN(20)-12)
	}, append(check.Specials64(), 700, 720, 1e300, -1e300, -740, -745.2, -0x1p-60)})
}

func testMembers[T check.Element](t *testing.T, f memberKernel[T]) {
	const most, mostMembers = 1100, 7
	xs, ds := newRoom[T](t, (most+20)*mostMembers), newRoom[T](t, most)
	t.Run(f.name, func(t *testing.T) {
		r := check.Rand(71)
		// odds: one in so many elements is special, none if 0.
		run := func(in, out place, members, n, stride, odds int) {
			t.Helper()
			size := 0
			if n > 0 {
				size = (members-1)*stride + n
			}
			x, dst := xs.lay("x", in, size, true), ds.lay("dst", out, n, false).column(n)
			dst.class = true
			for m := range members {
				for i := range n {
					v := &x.s[m*stride+i]
					if *v = f.usual(r); odds > 0 && r.IntN(odds) == 0 {
						*v = f.specials[r.IntN(len(f.specials))]
					}
				}
			}
			if err := sameAtLevels(func() uint64 { f.run(dst.s, x.s, members, n, stride); return 0 }, x, dst); err != nil {
				t.Fatalf("%d members of %d, stride %d at %v, dst at %v: %v", members, n, stride, in, out, err)
			}
		}
		anywhere := func() place { return place{off: r.IntN(32)} }
		for _, n := range append(thin(upTo(0, 4*16*4+3), 3), 1000, 1024, most) {
			for _, p := range []place{{side: guardedTail}, {side: guardedFront}, anywhere()} {
				for _, odds := range []int{0, 3, 20} {
					run(p, p, 1+r.IntN(mostMembers), n, n+r.IntN(2)*r.IntN(20), odds)
				}
			}
			run(anywhere(), anywhere(), 1+r.IntN(mostMembers), n, n, 0)
		}
		for off := range 32 {
			for _, n := range []int{1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 67} {
				run(place{off: off}, anywhere(), 1+r.IntN(mostMembers), n, n+off%3, 5)
				run(anywhere(), place{off: off}, 1+r.IntN(mostMembers), n, n+off%5, 5)
			}
		}
		for members := 1; members <= mostMembers; members++ {
			for _, n := range []int{1, 5, 16, 19, 64, 83} {
				run(anywhere(), anywhere(), members, n, n, 2)
			}
		}
	})
}
