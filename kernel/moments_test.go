package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// windowPairs are the windows of a score and of its square.
var windowPairs = [][2]string{{"unit", "unit"}, {"brier", "brier2"}, {"entropy", "entropy2"}, {"nll", "nll2"}}

// momentOracle takes each value that is inside the first window by itself, in math/big.
func momentOracle(v []float64, first, second window) (m Moment) {
	for _, x := range v {
		hi, lo, out := fixedOracle([]float64{x}, first)
		if out > 0 {
			m.Out++
			continue
		}
		hi2, lo2, out := fixedOracle([]float64{x * x}, second)
		if out > 0 {
			panic("the second window does not hold the square")
		}
		m.Hi, m.Lo, m.Hi2, m.Lo2 = m.Hi+hi, m.Lo+lo, m.Hi2+hi2, m.Lo2+lo2
	}
	return m
}

func TestMoments(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(51)
		for _, pair := range windowPairs {
			a, b := windows[pair[0]], windows[pair[1]]
			most, q := a.w.Max, math.Ldexp(1, -a.q)
			v := []float64{most, -most, math.Nextafter(most, 0), -math.Nextafter(most, 0), math.Nextafter(most, math.Inf(1)),
				-math.Nextafter(most, math.Inf(1)), math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 5e-324, -5e-324,
				q, q / 2, math.Nextafter(q/2, 1), math.Nextafter(q/2, 0), -q / 2, 1.5 * q, 2.5 * q, math.Sqrt(q), most / 2, 1e-300,
				math.MaxFloat64, -math.MaxFloat64, 1.5 * most}
			for range 300 {
				x := (r.Float64()*2 - 1) * most
				v = append(v, x, math.Ldexp(x, -r.IntN(60)), math.Round(x/q)*q+q/2, x*1.2)
			}
			for i := range v { // one by one, so that errors cannot cancel
				if got, want := Moments(v[i:i+1], a.w, b.w), momentOracle(v[i:i+1], a, b); got != want {
					t.Fatalf("%s of %v: %+v, want %+v", pair[0], v[i], got, want)
				}
			}
			if got, want := Moments(v, a.w, b.w), momentOracle(v, a, b); got != want {
				t.Fatalf("%s: %+v, want %+v", pair[0], got, want)
			}
			for _, x := range []float64{most, -most, math.Nextafter(most, 0), q, 0} { // a full call does not overflow
				one := momentOracle([]float64{x}, a, b)
				want := Moment{MaxSum * one.Hi, MaxSum * one.Lo, MaxSum * one.Hi2, MaxSum * one.Lo2, 0}
				if got := Moments(slices.Repeat([]float64{x}, MaxSum), a.w, b.w); got != want {
					t.Fatalf("%s: %d times %v: %+v, want %+v", pair[0], MaxSum, x, got, want)
				}
			}
		}
	})
}

// cellOracle is what CellSum and, for one bin, BinSums are to give.
func cellOracle(p []float64, y []uint8) (s BinSum, out int) {
	for i, x := range p {
		if !(x >= 0 && x <= 1) {
			out++
			continue
		}
		s.N++
		s.P += units(x, 51)
		s.PP += units(x*x, 51)
		if y[i] == 1 {
			s.Y++
			s.PY += units(x, 51)
		}
	}
	return s, out
}

// awkward returns n scores, some of them at the ends of [0,1] and some outside.
func awkward(n int) []float64 {
	r := check.Rand(uint64(5000 + n))
	ends := []float64{0, 1, math.Copysign(0, -1), math.Nextafter(1, 2), -5e-324, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 0x1p-52, 3 * 0x1p-52, 5e-324}
	p := make([]float64, n)
	for i := range p {
		if p[i] = r.Float64(); r.IntN(8) == 0 {
			p[i] = ends[r.IntN(len(ends))]
		}
	}
	return p
}

func TestSumsLeaveOut(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 8, 9, 100, 1023, MaxSum} {
			r := check.Rand(uint64(n))
			p, y, bin := awkward(n), make([]uint8, n), make([]int32, n)
			for i := range y {
				y[i] = uint8(r.IntN(2))
			}
			want, wantOut := cellOracle(p, y)
			if got, out := CellSum(p, y); got != want || out != wantOut {
				t.Fatalf("CellSum of %d: %+v and %d outside, want %+v and %d", n, got, out, want, wantOut)
			}
			var one [1]BinSum
			if out := BinSums(one[:], bin, p, y); one[0] != want || out != wantOut {
				t.Fatalf("BinSums of %d: %+v and %d outside, want %+v and %d", n, one[0], out, want, wantOut)
			}
			// In three bins, with some scores in none: bin by bin the cells of their own scores.
			for i := range bin {
				bin[i] = int32(r.IntN(4) - 1)
			}
			var sums [3]BinSum
			out := BinSums(sums[:], bin, p, y)
			for b := range sums {
				var bp []float64
				var by []uint8
				for i := range p {
					if int(bin[i]) == b {
						bp, by = append(bp, p[i]), append(by, y[i])
					}
				}
				s, o := cellOracle(bp, by)
				if sums[b] != s {
					t.Fatalf("%d scores, bin %d: %+v, want %+v", n, b, sums[b], s)
				}
				out -= o
			}
			if out != 0 {
				t.Fatalf("%d scores in bins: %d too many outside", n, out)
			}
		}
		for _, p := range []float64{1, 0, math.Nextafter(1, 0), 0.5} { // a full call does not overflow
			full, y := slices.Repeat([]float64{p}, MaxSum), slices.Repeat([]uint8{1}, MaxSum)
			want := BinSum{MaxSum, MaxSum, MaxSum * units(p, 51), MaxSum * units(p*p, 51), MaxSum * units(p, 51)}
			if got, out := CellSum(full, y); got != want || out != 0 {
				t.Fatalf("%d times %v: %+v, %d, want %+v", MaxSum, p, got, out, want)
			}
		}
	})
}

func TestCounts(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(53)
		for _, ranks := range []int{0, 1, 2, 4, 5, 6, 8, 17, 1000} {
			for _, n := range []int{0, 1, 5, 16, 33, 1024, 4095, 4096, 10000} {
				v, got, want := make([]int32, n), make([]int64, ranks), make([]int64, ranks)
				for i := range v {
					switch v[i] = int32(r.IntN(ranks + 3)); r.IntN(9) {
					case 0:
						v[i] = []int32{-1, math.MinInt32, math.MaxInt32, 64, -13, 1 << 30}[r.IntN(6)]
					case 1, 2, 3:
						v[i] = 0
					}
				}
				for i := range got {
					got[i], want[i] = int64(i), int64(i)
				}
				Counts(got, v)
				for _, x := range v {
					if x >= 0 && int(x) < ranks {
						want[x]++
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%d of %d ranks: %v, want %v", n, ranks, got, want)
				}
				if ranks > 0 {
					clear(got)
					Counts(got, slices.Repeat([]int32{int32(ranks - 1)}, n))
					if got[ranks-1] != int64(n) {
						t.Fatalf("%d times rank %d: %v", n, ranks-1, got)
					}
				}
			}
		}
	})
}

// squaredOracle is the sum over the classes of a row: the arg max, the label, and the others together.
func squaredOracle(c *Stats, i int, hit bool, k int) float64 {
	square := func(v float64) float64 { return float64(v * v) } // never fused
	right, top := square(c.Tail[i]), square(c.Top[i])
	switch {
	case k == 1 && hit:
		return right
	case k == 1:
		return top
	case hit:
		return right + c.Rest[i]
	}
	others := top + c.Rest[i] - square(c.Label[i])
	return square(1-c.Label[i]) + others
}

// TestColumnsOfHits: Hits, and SquaredErrors of a kernel's columns, which are a row's own sum over its classes.
func TestColumnsOfHits(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, k := range []int{1, 2, 10, 40} {
			for _, n := range []int{0, 1, 7, 8, 9, 31, 200} {
				r := check.Rand(uint64(k*1000 + n))
				var x []float32
				y := make([]int32, n)
				for i := range n {
					row := check.SimplexRow(r, k)
					if k == 1 {
						row[0] = r.Float32()
					}
					x = append(x, row...)
					y[i] = int32(r.IntN(max(2, k)))
				}
				c := newStats(n)
				if k == 1 {
					BinaryProbStatsF32(c, x, y)
				} else {
					ProbStatsF32(c, x, n, k, k, y)
				}
				hit, dst := make([]uint8, n), make([]float64, n)
				Hits(hit, c.ArgMax, y)
				SquaredErrors(dst, c, hit, k)
				for i := range n {
					if (hit[i] == 1) != (c.ArgMax[i] == y[i]) || hit[i] > 1 {
						t.Fatalf("k=%d: hit %d of %d and %d", k, hit[i], c.ArgMax[i], y[i])
					}
					want := squaredOracle(c, i, hit[i] == 1, k)
					if math.Float64bits(dst[i]) != math.Float64bits(want) {
						t.Fatalf("k=%d row %d: %v, want %v", k, i, dst[i], want)
					}
					s := 0.0
					for j, p := range x[i*k : (i+1)*k] {
						d := float64(p)
						if j == int(y[i]) && k > 1 || k == 1 && y[i] == 1 {
							d = 1 - d
						}
						s += d * d
					}
					if math.Abs(dst[i]-s) > 1e-6 {
						t.Fatalf("k=%d row %d: %v, the classes give %v", k, i, dst[i], s)
					}
				}
			}
		}
	})
}

// TestMomentsStandAlone: every short length on both sides of guard pages, of inputs and of outputs.
func TestMomentsStandAlone(t *testing.T) {
	const most = 70
	for _, tail := range []bool{true, false} {
		gv, gd, gc := check.Guarded[float64](t, most, tail), check.Guarded[float64](t, most, tail), guardedStats(t, most, tail)
		ga, gb, gh := check.Guarded[int32](t, most, tail), check.Guarded[int32](t, most, tail), check.Guarded[uint8](t, most, tail)
		gn := check.Guarded[int64](t, 5, tail)
		isatest.Each(t, func(t *testing.T) {
			for n := 0; n <= most; n++ {
				r := check.Rand(uint64(n))
				v, dst, a, b, hit, c := part(gv, n, tail), part(gd, n, tail), part(ga, n, tail), part(gb, n, tail), part(gh, n, tail), partStats(gc, n, tail)
				copy(v, awkward(n))
				want := make([]uint8, n)
				for i := range n {
					a[i], b[i] = int32(r.IntN(3)), int32(r.IntN(3))
					c.Top[i], c.Tail[i], c.Label[i], c.Rest[i] = r.Float64(), r.Float64(), r.Float64(), r.Float64()
					if a[i] == b[i] {
						want[i] = 1
					}
				}
				Hits(hit, a, b)
				if !slices.Equal(hit, want) {
					t.Fatalf("n=%d: hits %v, want %v", n, hit, want)
				}
				for _, k := range []int{1, 3} {
					SquaredErrors(dst, c, hit, k)
					for i := range dst {
						if w := squaredOracle(c, i, hit[i] == 1, k); math.Float64bits(dst[i]) != math.Float64bits(w) {
							t.Fatalf("n=%d k=%d row %d: %v, want %v", n, k, i, dst[i], w)
						}
					}
				}
				for _, pair := range windowPairs {
					p, q := windows[pair[0]], windows[pair[1]]
					if got, want := Moments(v, p.w, q.w), momentOracle(v, p, q); got != want {
						t.Fatalf("n=%d %s: %+v, want %+v", n, pair[0], got, want)
					}
				}
				s, out := CellSum(v, hit)
				if w, o := cellOracle(v, hit); s != w || out != o {
					t.Fatalf("n=%d: %+v %d, want %+v %d", n, s, out, w, o)
				}
				clear(gn)
				Counts(gn, a)
				total := int64(0)
				for i := range gn {
					total += gn[i]
				}
				if total != int64(n) || gn[3] != 0 || gn[4] != 0 {
					t.Fatalf("n=%d: counts %v", n, gn)
				}
			}
		})
	}
}

// TestMomentsContract: wrong shapes panic, and nothing allocates.
func TestMomentsContract(t *testing.T) {
	v, y, i32, many := make([]float64, 20), make([]uint8, 20), make([]int32, 20), make([]float64, MaxSum+1)
	c := newStats(20)
	isatest.Each(t, func(t *testing.T) {
		for _, p := range []struct {
			want string
			f    func()
		}{
			{errCount, func() { Moments(many, &WindowBrier, &WindowBrier2) }},
			{errCount, func() { CellSum(many, make([]uint8, MaxSum+1)) }},
			{errWindows, func() { Moments(v, &WindowBrier, &WindowNLL2) }},
			{errWindows, func() { Moments(nil, &WindowNLL, &WindowBrier2) }},
			{errLength, func() { CellSum(v, y[1:]) }},
			{errLength, func() { Hits(y, i32[1:], i32) }},
			{errLength, func() { Hits(y, i32, i32[1:]) }},
			{errLength, func() { SquaredErrors(v, c, y[1:], 2) }},
			{errColumns, func() { SquaredErrors(v, &Stats{Top: v, Tail: v, Label: v, Rest: v[1:]}, y, 2) }},
			{errColumns, func() { SquaredErrors(v, &Stats{Top: v, Tail: v, Label: v[1:], Rest: v}, y, 1) }},
			{errColumns, func() { SquaredErrors(v, &Stats{Top: v, Tail: v[1:], Label: v, Rest: v}, y, 1) }},
			{errColumns, func() { SquaredErrors(v, &Stats{Top: v[1:], Tail: v, Label: v, Rest: v}, y, 1) }},
			{"<nil>", func() { SquaredErrors(v[:3], c, y[:3], 2) }},
			{"<nil>", func() { Moments(many[1:], &WindowNLL, &WindowNLL2) }},
		} {
			func() {
				defer func() {
					if got := fmt.Sprint(recover()); got != p.want {
						t.Errorf("%s, want %s", got, p.want)
					}
				}()
				p.f()
			}()
		}
		counts := make([]int64, 9)
		if a := testing.AllocsPerRun(5, func() {
			Moments(v, &WindowNLL, &WindowNLL2)
			Moments(v, &WindowBrier, &WindowBrier2)
			CellSum(v, y)
			Hits(y, i32, i32)
			SquaredErrors(v, c, y, 2)
			Counts(counts, i32)
			Counts(counts[:5], i32)
		}); a != 0 {
			t.Errorf("%v allocations", a)
		}
	})
}
