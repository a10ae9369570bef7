package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/candor-go/candor/internal/check"
)

// A mapper is a kernel that writes a value for each value of a slice.
type mapper[S, D check.Element] struct {
	name     string
	run      func(dst []D, src []S)
	class    bool // the bits of a NaN are not promised
	bits     func(uint64) S
	usual    func(r *rand.Rand) S
	specials []S
	edges    []S // about which the function's code takes another way
}

type mapTest interface{ test(t *testing.T) }

func TestLevelsElementwise(t *testing.T) {
	logCompared(t)
	bits32 := func(u uint64) float32 { return math.Float32frombits(uint32(u)) }
	bits16 := func(u uint64) uint16 { return uint16(u) }
	any16 := func(r *rand.Rand) uint16 { return uint16(r.Uint32()) }
	edges32 := []float32{-104, 89, 0x1p-126, math.Sqrt2, math.Sqrt2 / 2, math.Ln2 / 2, -87.33655}
	edges64 := []float64{-746, 710, 0x1p-1022, math.Sqrt2, math.Sqrt2 / 2, math.Ln2 / 2, -708.3964185322641}
	for _, m := range []mapTest{
		&mapper[float32, float32]{"ExpSliceF32", ExpSliceF32, true, bits32, func(r *rand.Rand) float32 { return float32(r.Float64()*220 - 115) },
			check.Specials32(), edges32},
		&mapper[float32, float32]{"LogSliceF32", LogSliceF32, true, bits32, func(r *rand.Rand) float32 { return float32(r.ExpFloat64()) },
			check.Specials32(), edges32},
		&mapper[float64, float64]{"ExpSliceF64", ExpSliceF64, true, math.Float64frombits, func(r *rand.Rand) float64 { return r.Float64()*1500 - 760 },
			check.Specials64(), edges64},
		&mapper[float64, float64]{"LogSliceF64", LogSliceF64, true, math.Float64frombits, (*rand.Rand).ExpFloat64,
			check.Specials64(), edges64},
		&mapper[float32, float64]{"WidenLogF32", WidenLogF32, true, bits32, func(r *rand.Rand) float32 { return r.Float32() },
			check.Specials32(), edges32},
		&mapper[uint16, float64]{"WidenLogF16", WidenLogF16, true, bits16, any16, check.SpecialHalf(), nil},
		&mapper[uint16, float64]{"WidenLogBF16", WidenLogBF16, true, bits16, any16, check.SpecialBF16(), nil},
		&mapper[uint16, float32]{"WidenF16", WidenF16, false, bits16, any16, check.SpecialHalf(), nil},
		&mapper[uint16, float32]{"WidenBF16", WidenBF16, false, bits16, any16, check.SpecialBF16(), nil},
	} {
		m.test(t)
	}
}

func (m *mapper[S, D]) test(t *testing.T) {
	const most = 4099
	xs, ds := newRoom[S](t, most), newRoom[D](t, most)
	t.Run(m.name, func(t *testing.T) {
		r := check.Rand(17)
		run := func(in, out place, inPlace bool, x []S) {
			src, dst := xs.lay("src", in, len(x), true), ds.lay("dst", out, len(x), false).column(len(x))
			copy(src.s, x)
			dst.class = m.class
			from := src.s
			if same, ok := any(src.s).([]D); ok && inPlace {
				dst.src, from = same, any(dst.s).([]S)
			}
			if err := sameAtLevels(func() uint64 { m.run(dst.s, from); return 0 }, src, dst); err != nil {
				t.Fatalf("n=%d src=%v dst=%v in place=%v: %v; the source has %v", len(x), in, out, inPlace, err, x[:min(len(x), 67)])
			}
		}
		anywhere := func() place { return place{off: r.IntN(32)} }
		bits := 8 * int(unsafe.Sizeof(*new(S)))
		values := func(n int) []S {
			x := make([]S, n)
			for i := range x {
				x[i] = m.usual(r)
			}
			return x
		}
		for i, n := range lengths(max(16, 512/bits), most) {
			for j, p := range places(i, 32) {
				for d := range deal(3*i+j, sized(1, 2, all), 2) {
					run(p, p, d[0] == 0, values(n))
				}
			}
			run(place{off: dealt(i, 32, 1)}, place{off: dealt(i, 32, 2)}, false, values(n))
		}
		if full() {
			for off := range 32 {
				for _, n := range []int{1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 67} {
					run(place{off: off}, anywhere(), false, values(n))
					run(anywhere(), place{off: off}, false, values(n))
				}
			}
		}
		turn := 0
		for _, n := range thin(upTo(1, 67), 5, 2) {
			for at := range n {
				for d := range deal(turn, sized(1, 2, all), len(m.specials)) {
					x := values(n)
					x[at] = m.specials[d[0]]
					run(anywhere(), anywhere(), r.IntN(2) == 0, x)
				}
				turn++
			}
		}
		sweep := make([]S, 0, most)
		put := func(v S) {
			if sweep = append(sweep, v); len(sweep) == most {
				run(anywhere(), anywhere(), false, sweep)
				sweep = sweep[:0]
			}
		}
		for _, v := range slices.Concat(m.specials, m.edges) {
			near := sized[uint64](50, 300, 1000)
			for d := range 2 * near {
				put(m.bits(bitsOf(v) + d - near))
			}
		}
		n := sized[uint64](10_000, 100_000, 1_000_000)
		if bits == 16 {
			n = 1 << 16
		}
		step := uint64(1)<<(bits-1)/n*2 | 1 // through all exponents and signs
		for i := range n {
			put(m.bits(i * step))
			if step > 1 {
				put(m.usual(r))
			}
		}
		run(anywhere(), anywhere(), false, sweep)
	})
}

// binScores are scores on, beside and between edges, and what is no score.
func binScores(r *rand.Rand, edges []float64, n int) []float64 {
	p := make([]float64, n)
	specials := append(check.Specials64(), -1e300, 1e300, math.Nextafter(1, 0), 0x1p-60)
	for i := range p {
		e := edges[r.IntN(len(edges))]
		p[i] = [...]float64{r.Float64(), r.Float64(), float64(r.Float32()), e, math.Nextafter(e, 2), math.Nextafter(e, -2),
			specials[r.IntN(len(specials))], float64(r.IntN(len(edges))) / float64(len(edges)-1)}[r.IntN(8)]
	}
	return p
}

// risingEdges draws edges of any kind: equal ones, zeros of both signs, infinities.
func risingEdges(r *rand.Rand, n int) []float64 {
	e := make([]float64, n)
	for i := range e {
		e[i] = [...]float64{r.Float64(), math.Floor(r.Float64()*20) / 20, 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), r.NormFloat64(),
			5e-324}[min(r.IntN(12), r.IntN(12))%8]
	}
	slices.Sort(e)
	return e
}

func TestLevelsBins(t *testing.T) {
	logCompared(t)
	const most, mostEdges = 4099, 5001
	ps, es, ds := newRoom[float64](t, most), newRoom[float64](t, mostEdges), newRoom[int32](t, most)
	for _, f := range []struct {
		name  string
		run   func(dst []int32, p, edges []float64, side Side)
		edges func(r *rand.Rand, n int) []float64
	}{
		{"BinEqual", BinEqual, func(_ *rand.Rand, n int) []float64 { return Edges(n - 1) }},
		{"BinEdges", BinEdges, risingEdges},
		{"BinEdges of BinEqual", BinEdges, func(_ *rand.Rand, n int) []float64 { return Edges(n - 1) }},
	} {
		t.Run(f.name, func(t *testing.T) {
			r := check.Rand(19)
			run := func(at place, n int, edges []float64, side Side) {
				p, e, dst := ps.lay("p", at, n, true), es.lay("edges", at, len(edges), true), ds.lay("dst", place{at.side, (at.off + 5) % 16}, n, false).column(n)
				copy(p.s, binScores(r, edges, n))
				copy(e.s, edges)
				if err := sameAtLevels(func() uint64 { f.run(dst.s, p.s, e.s, side); return 0 }, p, e, dst); err != nil {
					t.Fatalf("n=%d edges=%d side=%d at %v: %v; edges %v, scores %v", n, len(edges), side, at, err, edges[:min(len(edges), 20)], p.s[:min(n, 67)])
				}
			}
			sides := []Side{LeftClosed, RightClosed}
			for i, n := range lengths(16, most) {
				for j, at := range places(i, 8) {
					for d := range deal(3*i+j, sized(1, 2, all), 2, len(sides)) {
						run(at, n, f.edges(r, [...]int{16, 2 + r.IntN(70)}[d[0]]), sides[d[1]])
					}
				}
			}
			for i, bins := range append(upTo(1, 140), 255, 256, 257, 1000, 1023, 1024, mostEdges-1) {
				for d := range deal(i, sized(1, 2, all), 8, len(sides)) {
					run(place{off: d[0]}, 67+d[0], f.edges(r, bins+1), sides[d[1]])
				}
				for d := range deal(i, sized(1, 1, all), 2, len(sides)) {
					run([]place{{side: guardedTail}, {side: guardedFront}}[d[0]], 300, f.edges(r, bins+1), sides[d[1]])
				}
			}
		})
	}
}

func TestLevelsBinSums(t *testing.T) {
	logCompared(t)
	const fields = 5
	sums, bins, ps, ys := newRoom[int64](t, 300*fields), newRoom[int32](t, MaxSum), newRoom[float64](t, MaxSum), newRoom[uint8](t, MaxSum)
	r := check.Rand(23)
	table := func(words []int64) []BinSum {
		return unsafe.Slice((*BinSum)(unsafe.Pointer(unsafe.SliceData(words))), len(words)/fields)
	}
	scores := []float64{0, math.Copysign(0, -1), 1, 0.5, 5e-324, 0x1p-51, 0x1p-52, 0x1p-53, 0x1.8p-52, 1 - 0x1p-53, 0x1p-26, 0x1.6a09e667f3bcdp-26}
	outside := []float64{-5e-324, math.Nextafter(1, 2), -1, 2, 0.5, math.NaN(), math.Inf(1), math.Inf(-1)}
	run := func(at place, n, nb, mode int) {
		t.Helper()
		bin, p, y := bins.lay("bin", at, n, true), ps.lay("p", at, n, true), ys.lay("y", at, n, true)
		// The sums are told by their words, which lie as the struct's.
		dst := sums.lay("sums", place{at.side, at.off % 8}, nb*fields, false).matrix(nb, fields, fields)
		dst.src = make([]int64, nb*fields)
		for i := range dst.src {
			dst.src[i] = r.Int64N(1 << 40)
		}
		for i := range n {
			p.s[i], y.s[i] = r.Float64(), uint8(r.IntN(2))
			if r.IntN(4) == 0 {
				p.s[i] = scores[r.IntN(len(scores))]
			}
			switch bin.s[i] = int32(r.IntN(nb)); mode {
			case 0: // some left out
				if r.IntN(5) == 0 {
					bin.s[i], p.s[i] = -1, math.NaN()
				}
			case 1: // one bin after the other, or all in one
				bin.s[i] = int32(min(i, nb-1))
			case 2: // whatever is negative
				if r.IntN(3) == 0 {
					bin.s[i], p.s[i] = [...]int32{-1, -2, math.MinInt32}[r.IntN(3)], outside[r.IntN(len(outside))]
				}
			case 3: // scores that are none
				if r.IntN(3) == 0 {
					p.s[i] = outside[r.IntN(len(outside))]
				}
			}
		}
		if err := sameAtLevels(func() uint64 { return uint64(BinSums(table(dst.s), bin.s, p.s, y.s)) }, bin, p, y, dst); err != nil {
			t.Fatalf("n=%d bins=%d at %v: %v; sums %v; bins %v, scores %v", n, nb, at, err, table(dst.s)[:min(nb, 5)], bin.s[:min(n, 67)], p.s[:min(n, 67)])
		}
	}
	for i, n := range lengths(16, MaxSum) {
		for j, at := range places(i, 32) {
			for d := range deal(3*i+j, sized(1, 3, all), 5, 2) {
				run(at, n, [...]int{1 + r.IntN(20), 15}[d[1]], d[0])
			}
		}
		run(place{}, n, 300, 0)
	}
	if full() {
		for off := range 32 {
			run(place{off: off}, 67, 10, 0)
		}
	}

	// An index beyond the sums is a panic at every level, wherever it stands, and nothing beyond them is touched.
	beyond := []int32{15, 16, 1 << 20, math.MaxInt32}
	for i, n := range []int{1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 67} {
		for at := range n {
			for d := range deal(i+at, sized(1, 2, all), len(beyond), 2) {
				b, p := beyond[d[0]], []place{{side: guardedTail}, {side: unguarded}}[d[1]]
				bin, ps, ys := bins.lay("bin", p, n, true), ps.lay("p", p, n, true), ys.lay("y", p, n, true)
				clear(bin.s)
				clear(ps.s)
				clear(ys.s)
				bin.s[at] = b
				dst := sums.lay("sums", p, 15*fields, false).matrix(15, fields, fields)
				dst.src = make([]int64, 15*fields)
				if err := sameAtLevels(func() (panicked uint64) {
					defer func() {
						if recover() != nil {
							panicked = 1
						}
						clear(dst.s) // what the sums are then is not promised
					}()
					BinSums(table(dst.s), bin.s, ps.s, ys.s)
					return 0
				}, bin, ps, ys, dst); err != nil {
					t.Fatalf("n=%d bin %d at %d: %v", n, b, at, err)
				}
			}
		}
	}
}

func TestLevelsFixedSums(t *testing.T) {
	logCompared(t)
	vs, out := newRoom[float64](t, MaxSum), newRoom[int64](t, 3)
	for name, w := range windows {
		t.Run(name, func(t *testing.T) {
			r := check.Rand(29)
			most, q := w.w.Max, math.Ldexp(1, -w.q)
			awkward := append(check.Specials64(), most, -most, math.Nextafter(most, 0), math.Nextafter(most, math.Inf(1)), -math.Nextafter(most, math.Inf(1)),
				q, q/2, 1.5*q, 2.5*q, -1.5*q, most-q/2, math.Nextafter(q/2, 1), math.Ldexp(1, -w.fine), math.Ldexp(1, -w.fine-1), math.Ldexp(1.5, -w.fine))
			run := func(at place, n int, value func(i int) float64) {
				t.Helper()
				v, dst := vs.lay("v", at, n, true), out.lay("hi, lo, out", place{}, 3, false).column(3)
				for i := range v.s {
					v.s[i] = value(i)
				}
				if err := sameAtLevels(func() uint64 {
					hi, lo, n := FixedSums(v.s, w.w)
					dst.s[0], dst.s[1], dst.s[2] = hi, lo, int64(n)
					return 0
				}, v, dst); err != nil {
					t.Fatalf("n=%d at %v: %v; values %v", n, at, err, v.s[:min(n, 67)])
				}
			}
			// mixed are values of all sizes, one in odds of which is awkward.
			mixed := func(odds int) func(int) float64 {
				return func(int) float64 {
					switch v := (r.Float64()*2 - 1) * most; {
					case odds > 0 && r.IntN(odds) == 0:
						return awkward[r.IntN(len(awkward))]
					case r.IntN(2) == 0:
						return math.Ldexp(v, -r.IntN(100))
					default:
						return v
					}
				}
			}
			for i, n := range lengths(16, MaxSum) {
				for j, at := range places(i, 8) {
					for d := range deal(3*i+j, sized(1, 2, all), 4) {
						run(at, n, mixed([...]int{0, 2, 5, n + 1}[d[0]]))
					}
				}
			}
			if full() {
				for off := range 8 {
					for n := range 35 {
						run(place{off: off}, n, mixed(4))
					}
				}
			}
			turn := 0
			for n := 1; n <= 19; n++ {
				for at := range n {
					for d := range deal(turn, sized(2, 8, all), len(awkward)) {
						run(place{off: at % 8}, n, func(i int) float64 {
							if i == at {
								return awkward[d[0]]
							}
							return most / 3
						})
					}
					turn++
				}
			}
			for _, a := range awkward {
				run(place{side: guardedTail}, MaxSum, func(int) float64 { return a })
			}
		})
	}
}
