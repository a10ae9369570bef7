package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
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
	testMembers(t, memberKernel[float64]{"LogMeanExpF64", LogMeanExpF64, func(r *rand.Rand) float64 {
		return -r.ExpFloat64() * math.Ldexp(1, r.IntN(20)-12)
	}, append(check.Specials64(), 700, 720, 1e300, -1e300, -740, -745.2, -0x1p-60)})
}

func testMembers[T check.Element](t *testing.T, f memberKernel[T]) {
	const most, mostMembers = 1100, 7
	xs, ds := newRoom[T](t, (most+20)*mostMembers), newRoom[T](t, most)
	t.Run(f.name, func(t *testing.T) {
		r := check.Rand(71)
		// odds: one element in this many is special; 0 means none.
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
		for i, n := range append(upTo(0, 67), append(thin(upTo(68, 4*16*4+3), 5, 2), 1000, 1024, most)...) {
			for j, p := range places(i, 32) {
				for d := range deal(3*i+j, sized(1, 2, all), 3, mostMembers) {
					run(p, p, 1+d[1], n, n+r.IntN(2)*r.IntN(20), [...]int{0, 3, 20}[d[0]])
				}
			}
			run(anywhere(), anywhere(), 1+r.IntN(mostMembers), n, n, 0)
		}
		for off := range 32 {
			ns := []int{1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 67}
			for d := range deal(off, sized(1, 4, all), len(ns)) {
				n := ns[d[0]]
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

// TestLevelsMeanScaled: the mean, and whether it counts, of terms on both sides of minTerm, at every level.
func TestLevelsMeanScaled(t *testing.T) {
	logCompared(t)
	const most, mostMembers, mostRows = 1100, 5, 5
	xs, ds := newRoom[float32](t, (most*mostRows+20)*mostMembers), newRoom[float32](t, most*mostRows)
	ss := newRoom[float32](t, mostMembers*mostRows)
	r := check.Rand(73)
	run := func(p place, members, rows, k, pad int) {
		t.Helper()
		n := rows * k
		stride := n + pad
		x, dst := xs.lay("x", p, (members-1)*stride+n, true), ds.lay("dst", p, n, false).column(n)
		scale := ss.lay("scale", p, members*rows, true)
		low, odds := false, 1+r.IntN(4*members*n)
		for m := range members {
			for i := range n {
				v := &x.s[m*stride+i]
				switch r.IntN(odds) {
				case 0:
					*v = []float32{minTerm, math.Nextafter32(minTerm, 1), math.MaxFloat32, 0x1p-100, 1}[r.IntN(5)]
				case 1:
					*v = []float32{minTerm, math.Nextafter32(minTerm, 0), 0x1p-126, 0x1p-149, 0}[r.IntN(5)]
				default:
					*v = r.Float32()*0.99 + 0x1p-20
				}
				low = low || *v < minTerm
			}
			for i := range rows {
				scale.s[m*rows+i] = float32(math.Ldexp(r.Float64(), -r.IntN(12)))
			}
		}
		err := sameAtLevels(func() uint64 {
			if MeanScaledF32(dst.s, x.s, scale.s, members, rows, k, stride) != !low {
				panic("it does not know what is low")
			}
			return 0
		}, x, dst, scale)
		if err != nil {
			t.Fatalf("%d members of %d x %d, stride %d at %v: %v", members, rows, k, stride, p, err)
		}
	}
	for i, k := range append(upTo(1, 67), append(thin(upTo(68, 4*16*4+3), 5, 2), 1000, 1024, most)...) {
		for _, p := range places(i, 32) {
			for range sized(1, 1, 2) {
				run(p, 1+r.IntN(mostMembers), 1+r.IntN(mostRows), k, r.IntN(2)*r.IntN(20))
			}
		}
	}
	for off := range 32 {
		run(place{off: off}, 1+off%mostMembers, 1+off%mostRows, 1+2*off, off%3)
	}
}

// TestLogitTerms: terms times their scales are the probabilities, and their mean that of them, bit for bit at every level. Rows
// have faults, several largest elements, and such that are far below.
func TestLogitTerms(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(77)
		for i, k := range []int{1, 2, 10, 32, 33, 47, 64, 100, 257, 1000, 1024, 1025, 1500} {
			heights := []int{1, 3, 8, 25, 67}
			for d := range deal(i, sized(3, 6, all), len(heights), 2) {
				if rows, odd := heights[d[0]], d[1] == 1; rows*k <= sized(20_000, math.MaxInt, math.MaxInt) {
					const members = 3
					pad := r.IntN(3)
					st := k + r.IntN(2)*pad
					size := rows*k + 5
					probs, terms, scale := make([]float32, members*size), make([]float32, members*size), make([]float32, members*rows)
					tops := r.IntN(3) == 0 // several largest, and nothing else
					low, bad := false, false
					for m := range members {
						x, y := check.Logits32(r, rows*st, 3), make([]int32, rows)
						for i := range y {
							y[i] = int32(r.IntN(k))
							if tops && k > 1 {
								x[i*st+r.IntN(k)], x[i*st+r.IntN(k)] = 20, 20
							}
							if row := x[i*st:][:k]; odd && r.IntN(3) == 0 {
								row[r.IntN(k)] = []float32{nan, inf, -inf, -100, -87, -86, -85, 100, 3e38, -3e38}[r.IntN(10)]
								row[r.IntN(k)] = row[r.IntN(k)]
								y[i] -= int32(r.IntN(2) * r.IntN(2) * k)
							}
						}
						a, b := newStats(rows), newStats(rows)
						fa := LogitSoftmaxF32(a, probs[m*size:], k, x, rows, k, st, y)
						fb := LogitTermsF32(b, terms[m*size:], k, scale[m*rows:], x, rows, k, st, y)
						if fa != fb {
							t.Fatalf("%d x %d: flags %d, want %d", rows, k, fb, fa)
						}
						for i := range rows {
							sameRow(t, fmt.Sprintf("%d x %d", rows, k), b, i, a, i)
							for j := range k {
								e, want := terms[m*size+i*k+j], probs[m*size+i*k+j]
								low, bad = low || e < minTerm, bad || e != e
								if got := e * scale[m*rows+i]; math.Float32bits(got) != math.Float32bits(want) && !(want == 0 && e < minTerm) &&
									(got == got || want == want) {
									t.Fatalf("%d x %d: %v * %v = %v at %d, %d, want %v", rows, k, e, scale[m*rows+i], got, i, j, want)
								}
							}
						}
					}
					want, got := make([]float32, rows*k), make([]float32, rows*k)
					MeanF32(want, probs, members, rows*k, size)
					good := MeanScaledF32(got, terms, scale, members, rows, k, size)
					if good == low && !bad || good && low {
						t.Fatalf("%d x %d: %v of %v", rows, k, good, low)
					}
					for i := range want {
						if good && math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
							t.Fatalf("%d x %d: mean %v at %d, want %v", rows, k, got[i], i, want[i])
						}
					}
				}
			}
		}
	})
}
