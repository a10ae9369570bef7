package kernel

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// TestWiden holds all 65,536 values of both formats to their definition by sign, exponent and fraction.
func TestWiden(t *testing.T) {
	value := func(h uint16, exponent, fraction uint, bias int) float64 {
		e := int(h>>fraction) & (1<<exponent - 1)
		f := float64(h & (1<<fraction - 1))
		v := 0.0
		switch {
		case e == 1<<exponent-1 && f != 0:
			return math.NaN()
		case e == 1<<exponent-1:
			v = math.Inf(1)
		case e == 0:
			v = math.Ldexp(f, 1-bias-int(fraction))
		default:
			v = math.Ldexp(f+float64(int(1)<<fraction), e-bias-int(fraction))
		}
		if h&0x8000 != 0 {
			return math.Copysign(v, -1)
		}
		return v
	}
	isatest.Each(t, func(t *testing.T) {
		src, dst := make([]uint16, 1<<16), make([]float32, 1<<16)
		for i := range src {
			src[i] = uint16(i)
		}
		WidenF16(dst, src)
		for i, g := range dst {
			h := uint16(i)
			want := uint32(h&0x8000)<<16 | 0x7fc00000 | uint32(h&0x3ff)<<13 // a NaN: quiet, with its payload
			if w := value(h, 5, 10, 15); w == w {
				want = math.Float32bits(float32(w))
				if float64(float32(w)) != w {
					t.Fatalf("%#x is not a float32", h)
				}
			}
			if math.Float32bits(g) != want {
				t.Fatalf("WidenF16(%#04x) = %#x, want %#x", h, math.Float32bits(g), want)
			}
		}
		WidenBF16(dst, src)
		for i, g := range dst {
			w := value(uint16(i), 8, 7, 127)
			if math.Float32bits(g) != uint32(i)<<16 || !(float64(g) == w || w != w && g != g) {
				t.Fatalf("WidenBF16(%#04x) = %#x", i, math.Float32bits(g))
			}
		}
	})
}

// TestElementwise runs the functions of elements at every short length and alignment, against guard pages, in place too.
func TestElementwise(t *testing.T) {
	const most = 4*32 + 3
	sp, sp64 := check.Specials32(), check.Specials64()
	for _, tail := range []bool{true, false} {
		x32, d32 := check.Guarded[float32](t, most, tail), check.Guarded[float32](t, most, tail)
		x64, d64 := check.Guarded[float64](t, most, tail), check.Guarded[float64](t, most, tail)
		x16 := check.Guarded[uint16](t, most, tail)
		isatest.Each(t, func(t *testing.T) {
			r := check.Rand(21)
			for n := 0; n <= most; n++ {
				lo, hi := 0, n
				if tail {
					lo, hi = most-n, most
				}
				a, b, c, d, h := x32[lo:hi], d32[lo:hi], x64[lo:hi], d64[lo:hi], x16[lo:hi]
				off := check.Offset[float32](n, n%16)
				for i := range a {
					a[i], c[i], h[i] = float32(r.NormFloat64()*30), r.NormFloat64()*300, uint16(r.Uint32())
					if r.IntN(4) == 0 {
						a[i], c[i] = sp[r.IntN(len(sp))], sp64[r.IntN(len(sp64))]
					}
				}
				copy(off, a)
				for _, f := range []struct {
					name string
					run  func(dst, x []float32)
					one  func(float32) float32
				}{{"ExpSliceF32", ExpSliceF32, exp32}, {"LogSliceF32", LogSliceF32, log32}} {
					f.run(b, a)
					place := append([]float32(nil), a...)
					f.run(place, place)
					f.run(off, off)
					for i, v := range a {
						if w := f.one(v); !check.Same32(b[i], w) || !check.Same32(place[i], w) || !check.Same32(off[i], w) {
							t.Fatalf("%s(%v) = %v %v %v, want %v", f.name, v, b[i], place[i], off[i], w)
						}
					}
					copy(off, a)
				}
				for _, f := range []struct {
					name string
					run  func(dst, x []float64)
					one  func(float64) float64
				}{{"ExpSliceF64", ExpSliceF64, Exp64}, {"LogSliceF64", LogSliceF64, Log64}} {
					f.run(d, c)
					place := append([]float64(nil), c...)
					f.run(place, place)
					for i, v := range c {
						if w := f.one(v); !check.Same64(d[i], w) || !check.Same64(place[i], w) {
							t.Fatalf("%s(%v) = %v %v, want %v", f.name, v, d[i], place[i], w)
						}
					}
				}
				WidenF16(b, h)
				for i := range h {
					if math.Float32bits(b[i]) != math.Float32bits(widenF16(h[i])) {
						t.Fatalf("WidenF16(%#x) at %d of %d = %v", h[i], i, n, b[i])
					}
				}
				WidenBF16(b, h)
				for i := range h {
					if math.Float32bits(b[i]) != uint32(h[i])<<16 {
						t.Fatalf("WidenBF16(%#x) at %d of %d = %v", h[i], i, n, b[i])
					}
				}
			}
		})
	}
}

// TestMonotone: neighbouring arguments around branch points and the borders of the reductions never turn back by more
// than the error, and not at all where the functions are steep enough to show it.
func TestMonotone(t *testing.T) {
	walk := func(name string, f func(float64) float64, from float64) {
		x := from
		for range 400 {
			x = math.Nextafter(x, math.Inf(-1))
		}
		last := f(x)
		for range 800 {
			x = math.Nextafter(x, math.Inf(1))
			y := f(x)
			// One ulp back is what an error of 1 ulp allows where the argument's step is far below the result's.
			if y < last && ulps(y, last) > 1 {
				t.Fatalf("%s turns back at %v: %v after %v", name, x, y, last)
			}
			last = y
		}
	}
	for k := -1080; k <= 1030; k++ {
		walk("Exp64", Exp64, (float64(k)+0.5)*math.Ln2) // the reduction's borders
		if k%16 == 0 {
			walk("Exp64", Exp64, float64(k)*math.Ln2)
		}
	}
	for _, x := range []float64{0, -746, 710, -745.13, 709.78, -708.4, 0x1p-54, -0x1p-54} {
		walk("Exp64", Exp64, x)
	}
	for e := -1074; e < 1024; e++ {
		walk("Log64", Log64, math.Ldexp(1, e))
		if e%8 == 0 {
			walk("Log64", Log64, math.Ldexp(math.Sqrt2, e))
		}
	}
	for e := -60; e < 60; e++ {
		walk("Log1p64", Log1p64, math.Ldexp(1, e))
		walk("Log1p64", Log1p64, math.Ldexp(math.Sqrt2, e)-1)
		if e < 0 {
			walk("Log1p64", Log1p64, -math.Ldexp(1, e))
			walk("Log1p64", Log1p64, math.Ldexp(1, e)-1)
		}
	}
}
