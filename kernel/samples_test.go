package kernel

import (
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// sampleValues are the ways in which rows of samples are filled, of any sizes or of some that are not finite.
var sampleValues = map[string]func(r *rand.Rand) float64{
	"any bits": func(r *rand.Rand) float64 { return math.Float64frombits(r.Uint64()) },
	"any finite": func(r *rand.Rand) float64 {
		return math.Ldexp(r.Float64()-0.5, r.IntN(2100)-1075)
	},
	"normal":        func(r *rand.Rand) float64 { return r.NormFloat64() },
	"far":           func(r *rand.Rand) float64 { return 1e6 + r.NormFloat64() },
	"few":           func(r *rand.Rand) float64 { return float64(r.IntN(5) - 2) },
	"zeros":         func(r *rand.Rand) float64 { return math.Copysign(0, r.Float64()-0.5) },
	"next to zero":  func(r *rand.Rand) float64 { return float64(r.IntN(9)-4) * 5e-324 },
	"special":       func(r *rand.Rand) float64 { return specials64[r.IntN(len(specials64))] },
	"seldom a NaN":  func(r *rand.Rand) float64 { return seldom(r, math.NaN()) },
	"seldom an Inf": func(r *rand.Rand) float64 { return seldom(r, math.Inf(r.IntN(2)*2-1)) },
}

var specials64 = check.Specials64()

func seldom(r *rand.Rand, v float64) float64 {
	if r.IntN(100) == 0 {
		return v
	}
	return r.NormFloat64()
}

// sampleValue is such a value as a T: of float32 the numbers next to zero and beyond all have their counterparts.
func sampleValue[T float32 | float64](r *rand.Rand, name string) T {
	var v T
	if _, ok := any(v).(float32); ok {
		switch name {
		case "any bits":
			return T(math.Float32frombits(r.Uint32()))
		case "any finite":
			return T(math.Ldexp(r.Float64()-0.5, r.IntN(276)-148))
		case "next to zero":
			return T(r.IntN(9)-4) * 0x1p-149
		}
	}
	return T(sampleValues[name](r))
}

// exactSpread is what the sums are with numbers of any precision, without an order of the samples.
func exactSpread[T float32 | float64](row []T, y float64) (abs, spread float64) {
	const prec = 2400
	number := func(v float64) *big.Float { return big.NewFloat(v).SetPrec(prec) }
	sum := func(of *big.Float) float64 { v, _ := of.Float64(); return v }
	a, s, d := number(0), number(0), number(0)
	for j, v := range row {
		x := number(float64(v))
		a.Add(a, d.Abs(d.Sub(x, number(y))))
		for _, w := range row[:j] {
			s.Add(s, d.Abs(d.Sub(x, number(float64(w)))))
		}
	}
	return sum(a), sum(s)
}

func spreadsOf[T float32 | float64](x []T, rows, m int, y []float64) (abs, spread []float64) {
	abs, spread = make([]float64, rows), make([]float64, rows)
	sampleSpread(abs, spread, x, rows, m, m, y, make([]T, SampleSpreadScratch(m)))
	return abs, spread
}

// sampleSpread is SampleSpreadF32 or SampleSpreadF64.
func sampleSpread[T float32 | float64](abs, spread []float64, x []T, rows, m, stride int, y []float64, scratch []T) {
	switch x := any(x).(type) {
	case []float32:
		SampleSpreadF32(abs, spread, x, rows, m, stride, y, any(scratch).([]float32))
	case []float64:
		SampleSpreadF64(abs, spread, x, rows, m, stride, y, any(scratch).([]float64))
	}
}

func TestSampleSpreadExact(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		testSampleSpreadExact[float32](t)
		testSampleSpreadExact[float64](t)
	})
}

func testSampleSpreadExact[T float32 | float64](t *testing.T) {
	r := check.Rand(71)
	for name := range sampleValues {
		for _, m := range thin(append(upTo(1, 40), 64, 100), 9, 2) {
			const rows = 3
			x, y := make([]T, rows*m), make([]float64, rows)
			for j := range x {
				x[j] = sampleValue[T](r, name)
			}
			for i := range y {
				y[i] = float64(sampleValue[T](r, name))
			}
			abs, spread := spreadsOf(x, rows, m, y)
			for i := range rows {
				row := x[i*m : (i+1)*m]
				if slices.ContainsFunc(append([]T{T(y[i])}, row...), func(v T) bool { return v-v != 0 }) {
					if math.Float64bits(abs[i]) != 0x7FF8<<48 || math.Float64bits(spread[i]) != 0x7FF8<<48 {
						t.Fatalf("%s: samples %v, y %v: %v, %v", name, row, y[i], abs[i], spread[i])
					}
					continue
				}
				a, s := exactSpread(row, y[i])
				bound := float64(m/2+4) * 0x1p-53
				for what, v := range map[string][2]float64{"abs": {abs[i], a}, "spread": {spread[i], s}} {
					got, want := v[0], v[1]
					// Where the exact sum is at float64's end, the rounded one may be beyond it.
					if !(math.Abs(got-want) <= bound*want) && got != want && !(math.IsInf(got, 1) && want >= math.MaxFloat64*(1-bound)) {
						t.Fatalf("%s: samples %v, y %v: %s is %v, want %v", name, row, y[i], what, got, want)
					}
				}
			}
		}
	}
}

// Some rows by hand, among others, at every number of rows.
func TestSampleSpread(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	isatest.Each(t, func(t *testing.T) {
		for _, c := range []struct {
			x              []float64
			y, abs, spread float64
		}{
			{[]float64{3}, 1, 2, 0},
			{[]float64{3, 1}, 2, 2, 2},
			{[]float64{3, 1, 2}, 2, 2, 4},
			{[]float64{4, 1, 3, 2}, 0, 10, 10},
			{[]float64{5, 1, 4, 2, 3}, 3.5, 6.5, 20},
			{[]float64{7, 7, 7, 7, 7}, 7, 0, 0},
			{[]float64{0, math.Copysign(0, -1), 0, math.Copysign(0, -1)}, math.Copysign(0, -1), 0, 0},
			{[]float64{0, 0, 0, 0, 0x1p-149}, 0, 0x1p-149, 4 * 0x1p-149},
			{[]float64{0x1p127, -0x1p127, 0x1p127, -0x1p127}, 0, 0x1p129, 0x1p130},
			{[]float64{1, 2, 3, 4}, -1e308, inf, 10},
			{[]float64{1, 2, 3, nan}, 0, nan, nan},
			{[]float64{nan, 2, 3, 4, 5}, 0, nan, nan},
			{[]float64{1, 2, inf, 4, 5}, 0, nan, nan},
			{[]float64{1, -inf, 3}, 0, nan, nan},
			{[]float64{inf}, 0, nan, nan},
			{[]float64{1, 2, 3, 4}, nan, nan, nan},
			{[]float64{1}, inf, nan, nan},
			{[]float64{1, 2, 3, 4, 5, 6, 7, 8}, -inf, nan, nan},
		} {
			m := len(c.x)
			for rows := 1; rows < 40; rows++ {
				x32, x64, y := make([]float32, rows*m), make([]float64, rows*m), make([]float64, rows)
				at := rows / 2
				for j, v := range c.x {
					x32[at*m+j], x64[at*m+j] = float32(v), v
				}
				y[at] = c.y
				a32, s32 := spreadsOf(x32, rows, m, y)
				a64, s64 := spreadsOf(x64, rows, m, y)
				for i := range rows {
					abs, spread := 0.0, 0.0
					if i == at {
						abs, spread = c.abs, c.spread
					}
					if !same64(a32[i], abs) || !same64(s32[i], spread) || !same64(a64[i], abs) || !same64(s64[i], spread) {
						t.Fatalf("%v, %v at row %d of %d: row %d has %v %v of float32, %v %v of float64, want %v %v",
							c.x, c.y, at, rows, i, a32[i], s32[i], a64[i], s64[i], abs, spread)
					}
				}
			}
		}
	})
}

// The sums do not depend on the order of the samples, and float64 of the same numbers have the same.
func TestSampleSpreadOrder(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(73)
		for _, m := range thin(append(upTo(1, 70), 100, 500, 1024, 1025, 3000), 5, 1) {
			const rows = 19
			x, y := check.Logits32(r, rows*m, 3), make([]float64, rows)
			wide := widen64(x)
			abs, spread := spreadsOf(x, rows, m, y)
			a, s := spreadsOf(wide, rows, m, y)
			if !slices.Equal(a, abs) || !slices.Equal(s, spread) {
				t.Fatalf("m=%d: float64 have other sums", m)
			}
			for i := range rows {
				row := x[i*m : (i+1)*m]
				r.Shuffle(m, func(j, k int) { row[j], row[k] = row[k], row[j] })
			}
			if a, s := spreadsOf(x, rows, m, y); !slices.Equal(a, abs) || !slices.Equal(s, spread) {
				t.Fatalf("m=%d: other sums in another order", m)
			}
		}
	})
}

// hashSpreads hashes sums of all lengths.
func hashSpreads() uint64 {
	h, r := fnv.New64a(), check.Rand(3003)
	for _, m := range append(upTo(1, 70), 100, 128, 513, 1000, 1024, 1025) {
		const rows = 21
		x, y := check.Logits32(r, rows*m, 3), make([]float64, rows)
		for i := range y {
			y[i] = r.NormFloat64()
		}
		wide := widen64(x)
		for j := range wide {
			wide[j] += r.NormFloat64()
		}
		x[r.IntN(len(x))], wide[r.IntN(len(wide))] = float32(math.Inf(1)), math.NaN()
		a32, s32 := spreadsOf(x, rows, m, y)
		a64, s64 := spreadsOf(wide, rows, m, y)
		for _, v := range slices.Concat(a32, s32, a64, s64) {
			hash64(h, math.Float64bits(v))
		}
	}
	return h.Sum64()
}

func TestSampleSpreadNoAllocations(t *testing.T) {
	for _, m := range []int{3, 10, 100, 2000} {
		const rows = 19
		x, y, abs, spread := make([]float32, rows*m), make([]float64, rows), make([]float64, rows), make([]float64, rows)
		wide, scratch, scratch64 := widen64(x), make([]float32, SampleSpreadScratch(m)), make([]float64, SampleSpreadScratch(m))
		isatest.Each(t, func(t *testing.T) {
			if a := testing.AllocsPerRun(2, func() {
				SampleSpreadF32(abs, spread, x, rows, m, m, y, scratch)
				SampleSpreadF64(abs, spread, wide, rows, m, m, y, scratch64)
			}); a != 0 {
				t.Errorf("m=%d: %v allocations", m, a)
			}
		})
	}
}
