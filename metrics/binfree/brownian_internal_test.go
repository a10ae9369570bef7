package binfree

import (
	"math"
	"testing"
)

// TestBrownianTails compares with the values of both series to 60 digits, which agree there. The value of the range also agrees
// with the integral of Feller's density.
func TestBrownianTails(t *testing.T) {
	for _, c := range []struct{ x, sup, width float64 }{
		{0.3, 0.9999985819380111679660596, 0.999999999999999999999862},
		{0.5, 0.9908430097102392442458373, 0.9999999122222775189061387},
		{0.8, 0.8147580927333779194220894, 0.9940363348078943327034855},
		{1, 0.6292225702004760946040013, 0.9366354120795494296552549},
		{1.0000001, 0.6292224787274334177537341, 0.9366353610482093679201087},
		{1.3, 0.3870095531270109449131535, 0.7009759935516353665495751},
		{2, 0.09100052384636624865036847, 0.1814943393941873126934233},
		{2.2414027276, 0.04999999996533012540454373, 0.09994106574565033579505996},
		{3, 0.005399592126520377655171897, 0.01079916846763843831865644},
		{5, 0.000001146606287516775646695009, 0.00000229321257503355117147237},
		{10, 3.047941209664210426389337e-23, 6.095882419328420852778675e-23},
		{20, 1.101449647442493478030249e-88, 2.202899294884986956060498e-88},
		{37, 2.290228489009830729073277e-299, 4.580456978019661458146554e-299},
	} {
		for _, v := range []struct {
			name      string
			got, want float64
		}{{"sup", supTail(c.x), c.sup}, {"range", rangeTail(c.x), c.width}} {
			// Each value is accurate to 1e-13, and small ones to a relative 1e-12.
			if d := math.Abs(v.got - v.want); d > 1e-13 || d > 1e-12*v.want {
				t.Errorf("%s of %v: %v, want %v", v.name, c.x, v.got, v.want)
			}
		}
	}
	for _, f := range []func(float64) float64{supTail, rangeTail} {
		for x, want := range map[float64]float64{0: 1, 1e-300: 1, math.Inf(1): 0, 40: 0} {
			if v := f(x); v != want {
				t.Errorf("tail of %v: %v", x, v)
			}
		}
	}
}

// TestBrownianSeries checks that both series agree where both converge, and that the tails never rise.
func TestBrownianSeries(t *testing.T) {
	last := [2]float64{1, 1}
	for i := 5; i < 600; i++ {
		x := float64(i) / 50
		one := func(float64) float64 { return 1 }
		self := func(k float64) float64 { return k }
		if x >= 0.3 && x <= 4 {
			if a, b := 2*images(x, 2, one), 1-supBelow(x); math.Abs(a-b) > 4e-15 {
				t.Errorf("sup, %v: %v and %v", x, a, b)
			}
			if a, b := 4*images(x, 1, self), 1-rangeBelow(x); math.Abs(a-b) > 4e-14 {
				t.Errorf("range, %v: %v and %v", x, a, b)
			}
		}
		for j, f := range []func(float64) float64{supTail, rangeTail} {
			if v := f(x); v > last[j]+1e-15 || v < 0 {
				t.Errorf("tail %d rises at %v", j, x)
			} else {
				last[j] = v
			}
		}
	}
}

// TestBrownianMeans compares with the known means of the two distributions: sqrt(pi/2), and sqrt(8/pi) for Feller's.
func TestBrownianMeans(t *testing.T) {
	const step = 1e-3
	for _, c := range []struct {
		tail func(float64) float64
		want float64
	}{{supTail, math.Sqrt(math.Pi / 2)}, {rangeTail, math.Sqrt(8 / math.Pi)}} {
		sum := 0.5
		for i := 1; i < 12000; i++ {
			sum += c.tail(step * float64(i))
		}
		if v := sum * step; math.Abs(v-c.want) > 1e-11 {
			t.Errorf("mean %v, want %v", v, c.want)
		}
	}
}
