package kernel

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
)

func TestFMA32(t *testing.T) {
	// The exact a*b+c has at most 48 + 300 bits; math/big rounds it once, to 24 bits or to the subnormal grid.
	want := func(a, b, c float32) float32 {
		p := new(big.Float).SetPrec(2000).SetFloat64(float64(a) * float64(b))
		p.Add(p, big.NewFloat(float64(c)))
		f, _ := p.Float32()
		return f
	}
	r := rand.New(rand.NewPCG(1, 2))
	n, wrong := sized(50_000, 300_000, 300_000), 0
	for i := 0; i < n; i++ {
		var a, b, c float32
		switch i % 4 {
		case 0:
			a, b, c = float32(r.NormFloat64()), float32(r.NormFloat64()), float32(r.NormFloat64())
		case 1: // the sum lies a hair from the middle of two float32
			a = float32(1 + float64(r.IntN(1<<12))*0x1p-12)
			b = float32(1 + float64(r.IntN(1<<12))*0x1p-12)
			c = math.Float32frombits(uint32(r.IntN(60)+60)<<23 | uint32(r.IntN(4)))
			if r.IntN(2) == 0 {
				a, c = a*0x1p24, -c
			}
		case 2: // c in front, a product of about half its last place
			c = math.Float32frombits(uint32(127)<<23 | uint32(r.IntN(1<<23)))
			a = float32(1+float64(r.IntN(3)-1)*0x1p-23) * 0x1p-12
			b = float32(1+float64(r.IntN(3)-1)*0x1p-23) * 0x1p-12
		default: // subnormal results
			a = float32(r.NormFloat64()) * 0x1p-70
			b = float32(r.NormFloat64()) * 0x1p-60
			c = math.Float32frombits(uint32(r.IntN(1 << 24)))
		}
		if g, w := fma32(a, b, c), want(a, b, c); g != w {
			wrong++
			if wrong < 5 {
				t.Errorf("fma32(%x, %x, %x) = %x, want %x", a, b, c, g, w)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d wrong", wrong, n)
	}
	naive := 0
	for i := 0; i < 10000; i++ { // the shortcut fails here, so the test would see it
		c := math.Float32frombits(uint32(127)<<23 | uint32(r.IntN(1<<23)))
		a := float32(1+float64(r.IntN(3)-1)*0x1p-23) * 0x1p-12
		b := float32(1+float64(r.IntN(3)-1)*0x1p-23) * 0x1p-12
		if float32(math.FMA(float64(a), float64(b), float64(c))) != want(a, b, c) {
			naive++
		}
	}
	if naive == 0 {
		t.Error("the adversarial triples do not catch float32(math.FMA)")
	}
}

type scalarOracle struct {
	Exp, Log, Log1p [][2]uint64
	ExpSpecial      [][2]uint64 `json:"exp_special"`
	LogSpecial      [][2]uint64 `json:"log_special"`
	Log1pSpecial    [][2]uint64 `json:"log1p_special"`
}

func TestScalarFunctions(t *testing.T) {
	b, err := os.ReadFile("../testdata/oracle/scalar.json")
	if err != nil {
		t.Fatal(err)
	}
	var o scalarOracle
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		f       func(float64) float64
		cases   [][2]uint64
		special [][2]uint64
		ulp     uint64 // distance from the correctly rounded result
	}{
		{"Exp64", Exp64, o.Exp, o.ExpSpecial, 1},
		{"Log64", Log64, o.Log, o.LogSpecial, 1},
		{"Log1p64", Log1p64, o.Log1p, o.Log1pSpecial, 1},
	} {
		if len(c.cases) < 400 || len(c.special) < 5 {
			t.Fatalf("%s: only %d cases", c.name, len(c.cases))
		}
		off := 0
		for _, p := range c.cases {
			x, w := math.Float64frombits(p[0]), math.Float64frombits(p[1])
			g := c.f(x)
			d := ulps(g, w)
			if d > 0 {
				off++
			}
			if d > c.ulp {
				t.Errorf("%s(%v) = %v, want %v: %d ulp", c.name, x, g, w, d)
			}
		}
		t.Logf("%s: %d of %d not correctly rounded", c.name, off, len(c.cases))
		for _, p := range c.special {
			x, w := math.Float64frombits(p[0]), math.Float64frombits(p[1])
			if g := c.f(x); math.Float64bits(g) != math.Float64bits(w) && !(g != g && w != w) {
				t.Errorf("%s(%v) = %v, want %v", c.name, x, g, w)
			}
		}
	}
}

// ulps returns how many float64 lie between a and b.
func ulps(a, b float64) uint64 {
	if a != a && b != b {
		return 0
	}
	k := func(f float64) int64 {
		u := int64(math.Float64bits(f))
		if u < 0 {
			return math.MinInt64 - u
		}
		return u
	}
	d := k(a) - k(b)
	if d < 0 {
		d = -d
	}
	return uint64(d)
}

// TestScalarAgainstLibm holds the three functions, at many arguments, to the standard library's, which is within 1 ulp.
func TestScalarAgainstLibm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range sized(50_000, 500_000, 500_000) {
		x := r.Float64()*1417 - 708 // the amd64 math.Exp overflows from 709.1 on already
		if d := ulps(Exp64(x), math.Exp(x)); d > 2 {
			t.Fatalf("Exp64(%v): %d ulp from libm", x, d)
		}
		x = math.Ldexp(1+r.Float64(), r.IntN(2040)-1020) // the amd64 math.Log is wrong for subnormal numbers
		if d := ulps(Log64(x), math.Log(x)); d > 2 {
			t.Fatalf("Log64(%v): %d ulp from libm", x, d)
		}
		x = math.Ldexp(1+r.Float64(), r.IntN(200)-100)
		if d := ulps(Log1p64(x), math.Log1p(x)); d > 2 {
			t.Fatalf("Log1p64(%v): %d ulp from libm", x, d)
		}
		x = -r.Float64()
		if d := ulps(Log1p64(x), math.Log1p(x)); d > 2 {
			t.Fatalf("Log1p64(%v): %d ulp from libm", x, d)
		}
	}
}

// TestVectorExpLog holds ExpSliceF32 and LogSliceF32 to 1 ulp of the float64 functions over a stride through all float32.
func TestVectorExpLog(t *testing.T) {
	worst := func(name string, f func(dst, x []float32), ref func(float64) float64) {
		const batch = 4096
		stride := sized[uint64](4001, 1009, 251)
		x, y := make([]float32, batch), make([]float32, batch)
		most := 0.0
		for base := uint64(0); base < 1<<32; base += batch * stride {
			for i := range x {
				x[i] = math.Float32frombits(uint32(base + uint64(i)*stride))
			}
			f(y, x)
			for i, v := range x {
				w := ref(float64(v))
				switch {
				case w != w:
					if y[i] == y[i] {
						t.Fatalf("%s(%v) = %v, want NaN", name, v, y[i])
					}
				case math.IsInf(w, 0) || math.Abs(w) > math.MaxFloat32:
					if float64(y[i]) != float64(float32(w)) {
						t.Fatalf("%s(%v) = %v, want %v", name, v, y[i], float32(w))
					}
				default:
					ulp := math.Abs(float64(math.Nextafter32(float32(w), float32(math.Inf(1)))) - float64(float32(w)))
					if math.IsInf(ulp, 0) {
						ulp = 0x1p104
					}
					if e := math.Abs(float64(y[i])-w) / ulp; e > most {
						if most = e; e > 1.01 {
							t.Fatalf("%s(%v) = %v, want %v: %.3f ulp", name, v, y[i], w, e)
						}
					}
				}
			}
		}
		t.Logf("%s: largest error %.3f ulp", name, most)
	}
	worst("exp", ExpSliceF32, math.Exp)
	worst("log", LogSliceF32, math.Log)
}

func TestVectorF64(t *testing.T) {
	x := []float64{0, 1, -1, 700, -740, math.Inf(-1)}
	y := make([]float64, len(x))
	ExpSliceF64(y, x)
	for i := range x {
		if y[i] != Exp64(x[i]) {
			t.Errorf("ExpSliceF64 differs from Exp64 at %v", x[i])
		}
	}
	LogSliceF64(y, y)
	for i, w := range []float64{0, 1, -1, 700, -740} {
		if math.Abs(y[i]-w) > 1e-12*math.Max(1, math.Abs(w)) && w > -700 {
			t.Errorf("log(exp(%v)) = %v", w, y[i])
		}
	}
}
