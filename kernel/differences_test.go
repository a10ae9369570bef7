package kernel

import (
	"math"
	"math/big"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// powerValues returns values of which the largest magnitude is top, by kind.
func powerValues(v []float64, kind int) (top float64) {
	r := check.Rand(uint64(139 + 7*len(v) + kind))
	scale := math.Ldexp(1+r.Float64(), r.IntN(200)-100)
	for i := range v {
		x := (r.Float64()*2 - 1) * scale
		switch kind {
		case 0:
			v[i] = float64(float32(x))
		case 1:
			v[i] = x
		case 2:
			v[i] = math.Ldexp(x, -r.IntN(60))
		case 3:
			v[i] = math.Copysign(math.Nextafter(2*math.Ldexp(1, -r.IntN(26)), 0), x)
		case 4:
			if v[i] = 0; r.IntN(3) == 0 {
				v[i] = math.Copysign(math.Ldexp(1, -r.IntN(26)), x)
			}
		case 5:
			if v[i] = x; r.IntN(20) == 0 {
				v[i] = []float64{nan64, 0, math.Copysign(0, -1), 5e-324, -0x1p-1022}[r.IntN(5)]
			}
		}
		if a := math.Abs(v[i]); a > top {
			top = a
		}
	}
	if !(top >= 0x1p-100) {
		top = 0x1p-100
	}
	return top
}

const powerKinds = 6

// TestPowerSums: the sums are those of math/big.
func TestPowerSums(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 2, 31, 32, 33, 64, 100, 500, MaxSum} {
			for kind := range powerKinds {
				v := make([]float64, n)
				top := powerValues(v, kind)
				s := PowerSums(v, top)
				least := math.Ldexp(1, int(math.Floor(math.Log2(top)))-24)
				if least > top*0x1p-24 {
					least /= 2
				} else if least*2 <= top*0x1p-24 {
					least *= 2
				}
				var want [3]*big.Float
				for i := range want {
					want[i] = new(big.Float).SetPrec(4000)
				}
				in := int64(0)
				for _, x := range v {
					if !(math.Abs(x) >= least) {
						continue
					}
					in++
					q := float64(x * x)
					for i, x := range []float64{x, q, float64(q * q)} {
						want[i].Add(want[i], big.NewFloat(x))
					}
				}
				if s.N != in {
					t.Fatalf("%d values of kind %d up to %v: %d are in the sums, not %d", n, kind, top, s.N, in)
				}
				for i, windows := range [][]int{{0, 1}, {2, 3}, {4, 5, 6}} {
					got := new(big.Float).SetPrec(4000)
					for _, w := range windows {
						x := new(big.Float).SetPrec(4000).SetInt64(s.Sums[w])
						got.Add(got, x.Mul(x, big.NewFloat(s.Unit[w])))
					}
					if got.Cmp(want[i]) != 0 {
						t.Fatalf("%d values of kind %d: sum %d is %v, not %v", n, kind, i, got, want[i])
					}
				}
			}
		}
	})
}

// roughValues writes losses whose differences are of a kind of powerValues, and returns a bound of these that need not be theirs.
func roughValues(a, b []float64, y []uint8, kind int) (top float64) {
	r := check.Rand(uint64(167 + 5*len(a) + kind))
	top = max(1, powerValues(b, kind))
	for i, x := range b {
		y[i] = uint8(r.IntN(2))
		if a[i] = 0; x < 1 {
			a[i] = math.Float64frombits(math.Float64bits(x) &^ (1<<30 - 1) * uint64(r.IntN(2)))
		}
	}
	if r.IntN(8) == 0 && len(a) > 0 {
		i := r.IntN(len(a))
		a[i], b[i] = []float64{0, nan64, inf64, -inf64}[r.IntN(4)], []float64{2 * top, nan64, inf64, math.Ldexp(top, 900)}[r.IntN(4)]
	}
	return math.Ldexp(top, r.IntN(3)-124*r.IntN(2))
}

// TestDifferenceSums: the sums are those of PowerSums, of which the events' are one part of the rows.
func TestDifferenceSums(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		some, none, small := 0, 0, 0
		for _, n := range []int{0, 1, 31, 32, 33, 64, 100, 500, MaxSum} {
			for kind := range 4 * powerKinds {
				a, b, d, y := make([]float64, n), make([]float64, n), make([]float64, n), make([]uint8, n)
				top := roughValues(a, b, y, kind%powerKinds)
				top = math.Ldexp(top, -8*(kind/powerKinds))
				for top = math.Min(top, 0x1p23); top < 0x1p-100; top *= 2 {
				}
				low := math.Float64frombits(math.Float64bits(top) &^ (1<<52 - 1))
				events := y
				if kind%2 == 1 {
					events = nil
				}
				s, ok := DifferenceSums(d, a, b, events, top)
				fits, left := true, false
				var all, came []float64
				for i := range d {
					if x := b[i] - a[i]; x != d[i] && (x == x || d[i] == d[i]) {
						t.Fatalf("difference %d is %v, not %v", i, d[i], x)
					}
					switch x := math.Abs(d[i]); {
					case !(x < 2*low):
						fits = false
					case x < low*0x1p-24:
						left = left || x != 0
					default:
						if all = append(all, d[i]); y[i] == 1 {
							came = append(came, d[i])
						}
					}
				}
				if ok != fits {
					t.Fatalf("%d values of kind %d below %v: %v", n, kind, top, ok)
				}
				if !ok {
					none++
					if s != (DifferenceSum{}) {
						t.Fatalf("sums without sums: %v", s)
					}
					continue
				}
				some++
				if left {
					small++
				}
				want := DifferenceSum{Small: left}
				p := PowerSums(all, math.Nextafter(2*low, 0))
				want.Sums, want.Unit = p.Sums, p.Unit
				if events != nil {
					p = PowerSums(came, math.Nextafter(2*low, 0))
					want.Events = [2]int64(p.Sums[:])
				}
				if s != want {
					t.Fatalf("%d values of kind %d below %v: %v, not %v", n, kind, top, s, want)
				}
			}
		}
		if some < 40 || none < 10 || small < 10 {
			t.Fatalf("%d sums, %d of them without small differences, and %d without sums", some, small, none)
		}
	})
}

func TestDifferences(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(149)
		for _, n := range []int{0, 1, 31, 32, 33, 100, 1000} {
			a, b, dst := make([]float64, n), make([]float64, n), make([]float64, n)
			for _, odd := range []float64{0, 1e300, nan64, math.Inf(1), math.Inf(-1)} {
				most := 0.0
				for i := range n {
					a[i], b[i] = r.NormFloat64(), r.NormFloat64()
				}
				if n > 0 {
					a[r.IntN(n)] = odd
				}
				for i := range n {
					most = max(most, math.Abs(b[i]-a[i]))
				}
				if most > math.MaxFloat64 {
					most = nan64
				}
				if got := Differences(dst, a, b); got != most && !(got != got && most != most) {
					t.Fatalf("n=%d with %v: %v, not %v", n, odd, got, most)
				}
				for i, d := range dst {
					if want := b[i] - a[i]; d != want && !(d != d && want != want) {
						t.Fatalf("n=%d: difference %d is %v", n, i, d)
					}
				}
			}
		}
	})
}

// coarsePlace is the place of q as whole numbers find it.
func coarsePlace(q float64, n uint32) uint32 {
	const leastBits, smallBits, largeBits = (1023 - 64) << 52, (1023 - 20) << 52, (1023 - 7) << 52
	tiny, small := n*27/256, n*86/256
	large := n - tiny - small
	b := math.Float64bits(q)
	switch {
	case q >= 0x1p-7:
		return tiny + small + min(large-1, uint32(float64(q-0x1p-7)*(float64(large)*(1/(0.5-0x1p-7)))))
	case b >= smallBits:
		return tiny + uint32((b-smallBits)>>20*uint64(small)/((largeBits-smallBits)>>20))
	case b < leastBits:
		return 0
	}
	return uint32((b - leastBits) >> 20 * uint64(tiny) / ((smallBits - leastBits) >> 20))
}

// coarseEnds returns distances around where the places of a grid begin.
func coarseEnds(g *CoarseGrid) (l []float64) {
	for c := range uint32(g.places / 2) {
		from, to := uint64(0), math.Float64bits(0.5)
		for from < to {
			if at := from + (to-from)/2; g.Place(math.Float64frombits(at)) < c {
				from = at + 1
			} else {
				to = at
			}
		}
		for d := range 5 {
			l = append(l, math.Float64frombits(max(from+uint64(d), 2)-2))
			l = append(l, math.Float64frombits(max(from+uint64(d)<<20, 2<<20)-2<<20))
		}
	}
	return l
}

// TestCoarseGrid: places are those of whole numbers, at every place's ends, and they rise.
func TestCoarseGrid(t *testing.T) {
	r := check.Rand(151)
	for _, n := range []int{2, 4, 6, 64, 100, 128, 256, 512, 1000, 4094, 1 << 15} {
		g := NewCoarseGrid(n)
		all := append(coarseEnds(g), 0, 5e-324, 0x1p-1022, 0x1p-64, 0x1p-20, 0x1p-7, 0.5, math.Nextafter(0x1p-64, 0), math.Nextafter(0x1p-20, 0), math.Nextafter(0x1p-7, 0))
		for range sized(10_000, 100_000, 1_000_000) {
			all = append(all, r.Float64()/2, math.Ldexp(r.Float64(), -1-r.IntN(70)))
		}
		for _, q := range all {
			if q > 0.5 {
				continue
			}
			if got, want := g.Place(q), coarsePlace(q, uint32(n/2)); got != want {
				t.Fatalf("%d places: %v is in %d, not %d", n, q, got, want)
			}
		}
	}
}

func TestCoarsePlaces(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		g := NewCoarseGrid(512)
		for _, c := range []struct {
			p, tail float64
			y       uint8
			want    uint32
		}{
			{0, 1, 0, 0}, {math.Copysign(0, -1), 1, 1, 1}, {1, 0, 1, 1023}, {1, math.Copysign(0, -1), 0, 1022}, {0.5, 0.5, 0, 2 * 256},
			{math.Nextafter(0.5, 0), 0.5, 1, 2*255 + 1}, {0.5, 0.5 + 4*0x1p-53, 0, NoPlace}, {0.5, 0.5 + 4*0x1p-52, 0, NoPlace},
			{-5e-324, 1, 0, NoPlace}, {1.5, -0.5, 0, NoPlace}, {nan64, 0.25, 0, NoPlace}, {0.75, nan64, 0, NoPlace}, {nan64, nan64, 1, NoPlace},
			{math.Inf(1), 0, 0, 1022}, {math.Inf(-1), 0, 0, NoPlace}, {0.75, 0.25, 1, 2*(511-g.Place(0.25)) + 1},
		} {
			if c.tail == 0.5+4*0x1p-53 {
				c.want = 2 * 256 // as 1/2: within GridSlack
			}
			for _, n := range []int{1, 31, 32, 40} {
				dst, p, tail, y := make([]uint32, n), make([]float64, n), make([]float64, n), make([]uint8, n)
				for i := range n {
					p[i], tail[i], y[i] = c.p, c.tail, c.y
				}
				g.Places(dst, p, tail, y)
				for i, got := range dst {
					if got != c.want {
						t.Fatalf("%v with tail %v and outcome %d, row %d of %d: %d, not %d", c.p, c.tail, c.y, i, n, got, c.want)
					}
				}
			}
		}
	})
}

// TestLevelsDifferences: every length and offset, with odd values in places.
func TestLevelsDifferences(t *testing.T) {
	logCompared(t)
	as, bs, ds := newRoom[float64](t, MaxSum), newRoom[float64](t, MaxSum), newRoom[float64](t, MaxSum)
	r := check.Rand(157)
	odd := append(check.Specials64(), -5e-324, math.MaxFloat64, -math.MaxFloat64)
	for i, n := range lengths(16, MaxSum) {
		for j, at := range places(i, 8) {
			for d := range deal(3*i+j, sized(1, 2, all), 3) {
				odds := [...]int{2, 50, n + 1}[d[0]]
				a, b := as.lay("a", at, n, true), bs.lay("b", place{at.side, at.off * 3 % 8}, n, true)
				dst := ds.lay("dst", place{at.side, at.off * 5 % 8}, n, false).column(n)
				dst.class = true
				for i := range n {
					a.s[i], b.s[i] = r.NormFloat64(), math.Ldexp(r.NormFloat64(), -r.IntN(60))
					if r.IntN(odds) == 0 {
						a.s[i] = odd[r.IntN(len(odd))]
					}
				}
				if err := sameAtLevels(func() uint64 {
					top := Differences(dst.s, a.s, b.s)
					if top != top {
						return 1
					}
					return math.Float64bits(top)
				}, a, b, dst); err != nil {
					t.Fatalf("n=%d at %v: %v", n, at, err)
				}
			}
		}
	}
}

func TestLevelsPowerSums(t *testing.T) {
	logCompared(t)
	vs, out := newRoom[float64](t, MaxSum), newRoom[int64](t, 8)
	for i, n := range lengths(16, MaxSum) {
		for j, at := range places(i, 8) {
			for d := range deal(3*i+j, sized(1, 3, all), powerKinds) {
				v, dst := vs.lay("v", at, n, true), out.lay("sums", place{}, 8, false).column(8)
				top := powerValues(v.s, d[0])
				if err := sameAtLevels(func() uint64 {
					s := PowerSums(v.s, top)
					dst.s[0] = s.N
					copy(dst.s[1:], s.Sums[:])
					return math.Float64bits(s.Unit[0])
				}, v, dst); err != nil {
					t.Fatalf("n=%d of kind %d at %v: %v", n, d[0], at, err)
				}
			}
		}
	}
}

func TestLevelsDifferenceSums(t *testing.T) {
	logCompared(t)
	as, bs, ds, ys, out := newRoom[float64](t, MaxSum), newRoom[float64](t, MaxSum), newRoom[float64](t, MaxSum), newRoom[uint8](t, MaxSum), newRoom[int64](t, 10)
	for i, n := range lengths(16, MaxSum) {
		for j, at := range places(i, 8) {
			for d := range deal(3*i+j, sized(1, 3, all), powerKinds) {
				a, b := as.lay("a", at, n, true), bs.lay("b", place{at.side, at.off * 3 % 8}, n, true)
				dst := ds.lay("dst", place{at.side, at.off * 5 % 8}, n, false).column(n)
				dst.class = true
				y, sums := ys.lay("y", at, n, true), out.lay("sums", place{}, 10, false).column(10)
				top := math.Max(0x1p-100, math.Min(0x1p23, roughValues(a.s, b.s, y.s, d[0])))
				for k, events := range [][]uint8{y.s, nil} {
					if err := sameAtLevels(func() uint64 {
						s, ok := DifferenceSums(dst.s, a.s, b.s, events, top)
						copy(sums.s, s.Sums[:])
						copy(sums.s[7:], s.Events[:])
						sums.s[9] = 0
						if ok {
							sums.s[9] = 1
						}
						if s.Small {
							sums.s[9] = 2
						}
						return math.Float64bits(s.Unit[0])
					}, a, b, y, dst, sums); err != nil {
						t.Fatalf("n=%d of kind %d at %v, %d: %v", n, d[0], at, k, err)
					}
				}
			}
		}
	}
}

func TestLevelsCoarsePlaces(t *testing.T) {
	logCompared(t)
	const most = 2048
	ps, ts, ys, ds := newRoom[float64](t, most), newRoom[float64](t, most), newRoom[uint8](t, most), newRoom[uint32](t, most)
	r := check.Rand(163)
	run := func(g *CoarseGrid, at place, n int, score func(i int) (p, tail float64)) {
		t.Helper()
		p, tail, y := ps.lay("p", at, n, true), ts.lay("tail", place{at.side, at.off * 5 % 32}, n, true), ys.lay("y", at, n, true)
		dst := ds.lay("dst", place{at.side, at.off * 3 % 32}, n, false).column(n)
		for i := range n {
			p.s[i], tail.s[i] = score(i)
			y.s[i] = uint8(r.IntN(2))
		}
		if err := sameAtLevels(func() uint64 { g.Places(dst.s, p.s, tail.s, y.s); return 0 }, p, tail, y, dst); err != nil {
			t.Fatalf("%d places, n=%d at %v: %v; scores %v, tails %v", g.places, n, at, err, p.s[:min(n, 67)], tail.s[:min(n, 67)])
		}
	}
	laws := gridLaws(r)
	grids := []*CoarseGrid{NewCoarseGrid(512), NewCoarseGrid(64), NewCoarseGrid(2), NewCoarseGrid(1000), NewCoarseGrid(1 << 15)}
	for i, n := range lengths(16, most) {
		for j, at := range places(i, 32) {
			run(grids[(i+j)%len(grids)], at, n, laws[(i+2*j)%len(laws)])
		}
	}
	for _, g := range grids[:4] {
		ends := coarseEnds(g)
		for i := 0; i < len(ends); i += most {
			n := min(most, len(ends)-i)
			run(g, place{}, n, func(j int) (float64, float64) { return ends[i+j], 1 - ends[i+j] })
			run(g, place{}, n, func(j int) (float64, float64) { return 1 - ends[i+j], ends[i+j] })
		}
	}
}

// TestJointPlaces: elements are those of whole numbers, and none is that of a row without a place.
func TestJointPlaces(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(173)
		for _, places := range []uint32{2, 10, 64, 512, 1000, 1 << 15} {
			g := NewCoarseGrid(int(places))
			for _, n := range []int{0, 1, 31, 32, 33, 100} {
				dst, a, b := make([]uint32, n), make([]uint32, n), make([]uint32, n)
				for i := range n {
					for _, v := range [][]uint32{a, b} {
						if v[i] = r.Uint32N(2 * places); r.IntN(8) == 0 {
							v[i] = []uint32{NoPlace, 2*places - 1}[r.IntN(2)]
						}
					}
				}
				g.JointPlaces(dst, a, b)
				for i, got := range dst {
					want := uint32(NoPlace)
					if a[i] != NoPlace && b[i] != NoPlace {
						place, y, other, hit := a[i]/2, a[i]%2, b[i]/2, b[i]%2
						want = ((place*2+y)*2+hit)*places + other
					}
					if got != want {
						t.Fatalf("%d places: %d and %d are element %d, not %d", places, a[i], b[i], got, want)
					}
				}
			}
		}
	})
}

func TestLevelsJointPlaces(t *testing.T) {
	logCompared(t)
	const most = 2048
	as, bs, ds := newRoom[uint32](t, most), newRoom[uint32](t, most), newRoom[uint32](t, most)
	r := check.Rand(179)
	grids := []*CoarseGrid{NewCoarseGrid(512), NewCoarseGrid(64), NewCoarseGrid(2), NewCoarseGrid(1000), NewCoarseGrid(1 << 15)}
	for i, n := range lengths(16, most) {
		for j, at := range places(i, 32) {
			g := grids[(i+j)%len(grids)]
			a, b := as.lay("a", at, n, true), bs.lay("b", place{at.side, at.off * 5 % 32}, n, true)
			dst := ds.lay("dst", place{at.side, at.off * 3 % 32}, n, false).column(n)
			for i := range n {
				for _, v := range [][]uint32{a.s, b.s} {
					if v[i] = r.Uint32N(2 * uint32(g.places)); r.IntN(8) == 0 {
						v[i] = []uint32{NoPlace, 2*uint32(g.places) - 1}[r.IntN(2)]
					}
				}
			}
			if err := sameAtLevels(func() uint64 { g.JointPlaces(dst.s, a.s, b.s); return 0 }, a, b, dst); err != nil {
				t.Fatalf("%d places, n=%d at %v: %v", g.places, n, at, err)
			}
		}
	}
}
