package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// lowests are the ranges that class-wise sums are tried with.
func lowests() map[string]Lowest {
	inf := math.Inf(1)
	return map[string]Lowest{
		"15 bins":                NewLowest(Edges(15)[1], LeftClosed, -1),
		"15 bins, right":         NewLowest(Edges(15)[1], RightClosed, -1),
		"15 bins, above 0":       NewLowest(Edges(15)[1], LeftClosed, 0),
		"10 bins, above 0.01":    NewLowest(Edges(10)[1], RightClosed, 0.01),
		"2 bins, above a half":   NewLowest(0.5, LeftClosed, 0.5),
		"1 bin":                  NewLowest(inf, LeftClosed, -1),
		"1 bin, above 0":         NewLowest(inf, RightClosed, 0),
		"an edge of 0":           NewLowest(0, LeftClosed, -1),
		"an edge of 0, right":    NewLowest(0, RightClosed, -1),
		"an edge of 1":           NewLowest(1, LeftClosed, -1),
		"an edge below 0":        NewLowest(-1, LeftClosed, -1),
		"above 1":                NewLowest(0.5, LeftClosed, 1),
		"above NaN":              NewLowest(0.5, LeftClosed, math.NaN()),
		"the smallest, above it": NewLowest(0x1p-149, RightClosed, 0x1p-1074),
		"next to an edge":        NewLowest(math.Nextafter(0.25, 0), RightClosed, math.Nextafter(0.125, 1)),
		"next to an edge, left":  NewLowest(math.Nextafter(0.25, 1), LeftClosed, math.Nextafter(0.125, 0)),
	}
}

// classValue returns an entry: usually small, sometimes any, rarely one on which code tends to break.
func classValue(r *rand.Rand, awkward []float64, odds int) float64 {
	switch r.IntN(odds) {
	case 0:
		return awkward[r.IntN(len(awkward))]
	case 1:
		return r.Float64()
	}
	return r.Float64() * r.Float64() / 16
}

func classAwkward[T float32 | float64](specials []T) (out []float64) {
	for _, v := range specials {
		out = append(out, float64(v))
	}
	for _, e := range []float64{0.01, 0.1, 0.125, 0.25, 0.5, 1. / 15, 1} {
		f := float32(e)
		out = append(out, e, math.Nextafter(e, 0), math.Nextafter(e, 2), float64(f), float64(math.Nextafter32(f, 0)), float64(math.Nextafter32(f, 2)))
	}
	return out
}

func TestLevelsClassSums(t *testing.T) {
	logCompared(t)
	levelsClassSums(t, "f32", ClassSumsF32, classAwkward(check.Specials32()))
	levelsClassSums(t, "f64", ClassSumsF64, classAwkward(check.Specials64()))
}

func levelsClassSums[T float32 | float64](t *testing.T, name string,
	run func(*ClassSums, []uint32, []T, int, int, int, *Lowest, int) (int, int), awkward []float64) {
	const most = 9 << 10
	xs, lists := newRoom[T](t, most), newRoom[uint32](t, most+ListSlack)
	var sums [3]*levelRoom[int64]
	for i := range sums {
		sums[i] = newRoom[int64](t, 4200)
	}
	ranges := lowests()
	var names []string
	for n := range ranges {
		names = append(names, n)
	}
	slices.Sort(names)
	r := check.Rand(53)
	try := func(rows, k, gap, spare int, what string, at place) {
		low, stride := ranges[what], k+gap
		n := 0
		if rows > 0 {
			n = (rows-1)*stride + k
		}
		x := xs.lay("x", at, n, true)
		odds := []int{3, 20, 200, 100000}[r.IntN(4)]
		for i := range x.s {
			if i%stride < k {
				x.s[i] = T(classValue(r, awkward, odds))
			}
		}
		list := lists.lay("list", at, rows*k+ListSlack+spare, false).column(rows*k + ListSlack + spare)
		var s [3]*sheet[int64]
		for i := range s {
			s[i] = sums[i].lay([]string{"N", "P", "PP"}[i], at, k, false).column(k)
			s[i].src = make([]int64, k)
			for j := range s[i].src {
				s[i].src[j] = int64(r.Uint64() >> 2)
			}
		}
		if err := sameAtLevels(func() uint64 {
			listed, done := run(&ClassSums{s[0].s, s[1].s, s[2].s}, list.s, x.s, rows, k, stride, &low, 4*rows*stride)
			slices.Sort(list.s[:listed])
			fillBytes(list.s[listed:min(len(list.s), listed+ListSlack)], bytesUnwritten)
			return uint64(listed)<<32 | uint64(done)
		}, x, list, s[0], s[1], s[2]); err != nil {
			t.Fatalf("%s, %s: rows=%d k=%d stride=%d odds=%d at %v: %v", name, what, rows, k, stride, odds, at, err)
		}
	}
	any := func() string { return names[r.IntN(len(names))] }
	t.Run(name+"/classes", func(t *testing.T) {
		for k := 1; k <= 140; k++ {
			for i, at := range places(k, 17) {
				for d := range deal(3*k+i, sized(1, 2, all), 2) {
					if d[0] == 0 {
						try(r.IntN(64), k, 0, r.IntN(3)*r.IntN(70), any(), at)
					} else {
						try(r.IntN(20), k, 1+r.IntN(5), 0, any(), at)
					}
				}
			}
		}
		for i, k := range []int{150, 200, 255, 256, 257, 400, 509, 512, 513, 1000, 1024, 4095, 4096, 4111, 4112, 4113, 4150} {
			for d := range deal(i, sized(1, 2, all), 3) {
				at := places(i, 17)[d[0]]
				try(1+r.IntN(most/(k+1)-1), k, r.IntN(2), 0, any(), at)
			}
		}
	})
	t.Run(name+"/rows", func(t *testing.T) {
		for rows := range 70 {
			ks := []int{2, 10, 16, 17, 100}
			for d := range deal(rows, sized(2, all, all), len(ks)) {
				try(rows, ks[d[0]], 0, 0, any(), place{off: rows % 17})
			}
		}
	})
	t.Run(name+"/ranges", func(t *testing.T) {
		for _, what := range names {
			for range sized(4, 12, 12) {
				try(1+r.IntN(20), 1+r.IntN(100), r.IntN(2), 0, what, place{side: guardedTail})
			}
		}
	})
}

// TestLevelsClassSumsPlaces holds single elements to the definition at each place of a row.
func TestLevelsClassSumsPlaces(t *testing.T) {
	logCompared(t)
	low := NewLowest(Edges(15)[1], LeftClosed, -1)
	xs, lists := newRoom[float32](t, 4*41), newRoom[uint32](t, 4*41+ListSlack)
	for _, k := range []int{16, 31, 33, 41} {
		for at := range 4 * k {
			x := xs.lay("x", place{side: guardedTail}, 4*k, true)
			for i := range x.s {
				x.s[i] = 0x1p-10
			}
			x.s[at] = []float32{1, 2, -1, float32(math.NaN())}[at%4]
			list := lists.lay("list", place{side: guardedTail}, 4*k+ListSlack, false).column(4*k + ListSlack)
			if err := sameAtLevels(func() uint64 {
				s := ClassSums{make([]int64, k), make([]int64, k), make([]int64, k)}
				listed, _ := ClassSumsF32(&s, list.s, x.s, 4, k, k, &low, 0)
				if listed != 1 || list.s[0] != uint32(at) {
					panic(fmt.Sprint(listed, list.s[0]))
				}
				for j := range k {
					if want := int64(4); j == at%k && s.N[j] != want-1 || j != at%k && s.N[j] != want {
						panic(fmt.Sprint(j, s.N[j]))
					}
				}
				fillBytes(list.s[1:], bytesUnwritten)
				return 0
			}, x, list); err != nil {
				t.Fatalf("k=%d at %d: %v", k, at, err)
			}
		}
	}
}

// TestLevelsLogitSoftmax tries what LogitSoftmaxF32 does by itself, rows of 33 to 1,024 logits with equal strides: guard pages,
// values that are low or far, and ties.
func TestLevelsLogitSoftmax(t *testing.T) {
	logCompared(t)
	const most = 9 * 1100
	xs, ds, ys := newRoom[float32](t, most), newRoom[float32](t, most), newRoom[int32](t, 70)
	norms, args := newRoom[float64](t, 70), newRoom[int32](t, 70)
	r := check.Rand(73)
	specials := check.Specials32()
	for i, k := range append(upTo(33, 100), 128, 500, 511, 512, 1000, 1008, 1023, 1024) {
		for _, at := range places(i, 17) {
			stride := k + r.IntN(2)*r.IntN(40)
			rows := 1 + r.IntN(min(sized(20, 70, 70), (most-k)/stride))
			n := (rows-1)*stride + k
			x, y := xs.lay("x", at, n, true), ys.lay("y", at, rows, true)
			dst := ds.lay("dst", at, n, false).matrix(rows, k, stride)
			dst.class = true
			norm, arg := norms.lay("Norm", at, rows, false).column(rows), args.lay("ArgMax", at, rows, false).column(rows)
			kind := r.IntN(6)
			for i := range rows {
				y.s[i] = int32(r.IntN(k))
				row := x.s[i*stride : i*stride+k]
				copy(row, check.Logits32(r, k, 3))
				switch kind {
				case 1:
					row[r.IntN(k)] = specials[r.IntN(len(specials))]
				case 2: // low
					row[r.IntN(k)] = float32(row[0] - 84 - 3*r.Float32())
					row[r.IntN(k)] = float32(math.Inf(-1))
				case 3:
					row[r.IntN(k)], row[r.IntN(k)] = 20, 20
				case 4:
					row[r.IntN(k)] = 1e7 * r.Float32()
				}
			}
			c := newStats(rows)
			if err := sameAtLevels(func() uint64 {
				f := LogitSoftmaxF32(c, dst.s, stride, x.s, rows, k, stride, y.s)
				copy(norm.s, c.Norm)
				copy(arg.s, c.ArgMax)
				return uint64(f)
			}, x, y, dst, norm, arg); err != nil {
				t.Fatalf("rows=%d k=%d stride=%d kind %d at %v: %v", rows, k, stride, kind, at, err)
			}
		}
	}
}
