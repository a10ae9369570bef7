package check

import (
	"math"
	"math/big"
	"testing"
)

func TestULP64(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	const far = math.MaxUint64
	for _, c := range []struct {
		a, b float64
		want uint64
	}{
		{1, 1, 0}, {0, math.Copysign(0, -1), 0}, {nan, nan, 0}, {nan, math.Float64frombits(0xFFF0000000000001), 0},
		{inf, inf, 0}, {-inf, -inf, 0},
		{1, 1 + 0x1p-52, 1}, {1, 1 - 0x1p-53, 1}, {-1, -1 - 0x1p-52, 1}, {1, 2, 1 << 52}, {2, 1, 1 << 52},
		{0, 0x1p-1074, 1}, {0, -0x1p-1074, 1}, {0x1p-1074, -0x1p-1074, 2}, {math.Copysign(0, -1), 0x1p-1074, 1},
		{0x1p-1022, 0x1p-1022 - 0x1p-1074, 1},
		{math.MaxFloat64, -math.MaxFloat64, 2 * 0x7FEFFFFFFFFFFFFF},
		{inf, math.MaxFloat64, far}, {-inf, -math.MaxFloat64, far}, {inf, -inf, far}, {inf, 0, far},
		{nan, 0, far}, {nan, inf, far}, {nan, 1, far},
	} {
		if got := ULP64(c.a, c.b); got != c.want {
			t.Errorf("ULP64(%v, %v) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := ULP64(c.b, c.a); got != c.want {
			t.Errorf("ULP64(%v, %v) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

func TestULP32(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	negZero := float32(math.Copysign(0, -1))
	const far = math.MaxUint64
	for _, c := range []struct {
		a, b float32
		want uint64
	}{
		{1, 1, 0}, {0, negZero, 0}, {nan, nan, 0}, {nan, math.Float32frombits(0xFF800001), 0}, {inf, inf, 0},
		{1, 1 + 0x1p-23, 1}, {1, 1 - 0x1p-24, 1}, {1, 2, 1 << 23}, {0, 0x1p-149, 1}, {0x1p-149, -0x1p-149, 2},
		{math.MaxFloat32, -math.MaxFloat32, 2 * 0x7F7FFFFF},
		{inf, math.MaxFloat32, far}, {inf, -inf, far}, {nan, 0, far}, {nan, -inf, far},
	} {
		if got := ULP32(c.a, c.b); got != c.want {
			t.Errorf("ULP32(%v, %v) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := ULP32(c.b, c.a); got != c.want {
			t.Errorf("ULP32(%v, %v) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

// A walk of n steps by Nextafter is n away, across zero and across binades.
func TestULPCountsSteps(t *testing.T) {
	for _, from := range []float64{0, -0x1p-1073, 0x1p-1022, 1, -1, -2, 0.5, 1e300, math.MaxFloat64} {
		x := from
		for n := range uint64(50) {
			if got := ULP64(from, x); got != n {
				t.Fatalf("%d steps down from %v: %d", n, from, got)
			}
			x = math.Nextafter(x, math.Inf(-1))
			if math.IsInf(x, 0) {
				break
			}
		}
	}
	for _, from := range []float32{0, 0x1p-148, 0x1p-126, 1, -1, 2, 0.5, -1e30} {
		x := from
		for n := range uint64(50) {
			if got := ULP32(from, x); got != n {
				t.Fatalf("%d steps up from %v: %d", n, from, got)
			}
			x = math.Nextafter32(x, float32(math.Inf(1)))
		}
	}
}

func TestULPBig(t *testing.T) {
	inf := math.Inf(1)
	p := func(s string) *big.Float {
		f, _, err := big.ParseFloat(s, 0, 300, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	pow := func(m float64, e int) *big.Float { return new(big.Float).SetMantExp(big.NewFloat(m), e) }
	add := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(3000).Add(a, b) }
	for _, c := range []struct {
		name string
		got  float64
		want *big.Float
		err  float64
	}{
		{"exact", 1, p("1"), 0},
		{"exact zero", 0, p("0"), 0},
		{"minus zero", math.Copysign(0, -1), p("0"), 0},
		{"half above 1", 1, add(p("1"), pow(1, -53)), 0.5},
		{"half below 1 is a whole unit there", 1, add(p("1"), pow(-1, -53)), 1},
		{"a quarter", 1, add(p("1"), pow(1, -54)), 0.25},
		{"neighbour", 1 + 0x1p-52, p("1"), 1},
		{"neighbour below, in the wanted value's unit", 1 - 0x1p-53, p("1"), 0.5},
		{"sign", -1, p("1"), 0x1p53},
		{"negative", -3, add(p("-3"), pow(1, -52)), 0.5},
		{"far below the unit", 1, add(p("1"), pow(1, -2000)), 0},
		{"subnormal", 0x1p-1074, pow(1.5, -1074), 0.5},
		{"below all", 0, pow(1, -1075), 0.5},
		{"far below all", 0, pow(1, -1174), 0x1p-100},
		{"zero wanted", 0x1p-1073, p("0"), 2},
		{"subnormal range has one unit", 0x1p-1023, pow(1, -1022), 0x1p51},
		{"largest", math.MaxFloat64, pow(1, 1024), 1},
		{"just not overflowed", math.MaxFloat64, add(pow(1, 1024), pow(-1, 970)), 0.5},
		{"overflow rightly", inf, pow(1, 1024), 0},
		{"overflow at the midpoint", inf, add(pow(1, 1024), pow(-1, 970)), 0},
		{"overflow far", inf, pow(1, 5000), 0},
		{"overflow wrongly", inf, add(pow(1, 1024), pow(-1, 971)), inf},
		{"overflow to the wrong side", -inf, pow(1, 1024), inf},
		{"negative overflow", -inf, pow(-1, 1024), 0},
		{"infinite wanted and given", inf, new(big.Float).SetInf(false), 0},
		{"infinite wanted, finite given", math.MaxFloat64, new(big.Float).SetInf(false), inf},
		{"infinite wanted, the other given", inf, new(big.Float).SetInf(true), inf},
		{"NaN", math.NaN(), p("1"), inf},
		{"NaN for infinity", math.NaN(), new(big.Float).SetInf(false), inf},
	} {
		before := c.want.Text('p', 0)
		if e := ULPBig(c.got, c.want); e < c.err || e > c.err+0x1p-99 {
			t.Errorf("%s: ULPBig(%v, %.40g) = %v, want %v", c.name, c.got, c.want, e, c.err)
		}
		if c.want.Text('p', 0) != before {
			t.Errorf("%s: the wanted value was changed", c.name)
		}
	}
}

func TestULPBig32(t *testing.T) {
	inf := float32(math.Inf(1))
	pow := func(m float64, e int) *big.Float { return new(big.Float).SetMantExp(big.NewFloat(m), e) }
	for _, c := range []struct {
		got  float32
		want *big.Float
		err  float64
	}{
		{1, big.NewFloat(1), 0},
		{1, big.NewFloat(1 + 0x1p-24), 0.5},
		{1, big.NewFloat(1 - 0x1p-25), 0.5},
		{1 + 0x1p-23, big.NewFloat(1), 1},
		{0, pow(1, -150), 0.5},
		{0x1p-149, big.NewFloat(0), 1},
		{math.MaxFloat32, pow(1, 128), 1},
		{inf, pow(1, 128), 0},
		{inf, big.NewFloat(math.MaxFloat32), math.Inf(1)},
		{float32(math.NaN()), big.NewFloat(1), math.Inf(1)},
	} {
		if e := ULPBig32(c.got, c.want); e != c.err {
			t.Errorf("ULPBig32(%v, %v) = %v, want %v", c.got, c.want, e, c.err)
		}
	}
}

// A float64 rounded to nearest is never further than half a unit, and the two measures agree on neighbours.
func TestULPBigOfRounding(t *testing.T) {
	r := Rand(1)
	for range 20000 {
		x := math.Float64frombits(r.Uint64())
		if x != x || math.IsInf(x, 0) {
			continue
		}
		third := new(big.Float).SetPrec(200).Quo(big.NewFloat(x), big.NewFloat(3))
		got, _ := third.Float64()
		if e := ULPBig(got, third); e > 0.5 {
			t.Fatalf("%v / 3 rounded: %v", x, e)
		}
		next := math.Nextafter(got, math.Inf(1))
		if e := ULPBig(next, big.NewFloat(got)); !math.IsInf(next, 0) && e != 1 && e != 0.5 {
			t.Fatalf("neighbours %v, %v: %v", got, next, e)
		}
	}
}
