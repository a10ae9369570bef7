package tails

import (
	"math"
	"testing"
)

// TestStraight compares with the form of the definition, and its inverse with it.
func TestStraight(t *testing.T) {
	for _, skew := range []float64{-0.9, -0.3, -1e-3, 1e-9, 0.02, 0.5, 1} {
		for x := -6.0; x <= 6; x += 0.25 {
			u := 1 + skew*x/3
			if got, want := Straight(x, skew), (u*u*u-1)/skew+skew/6; math.Abs(got-want) > 1e-12*(1+1/math.Abs(skew)) {
				t.Errorf("Straight(%v, %v) = %v, want %v", x, skew, got, want)
			}
			if u < 0.05 && u > -0.05 { // flat there, and so its inverse is steep
				continue
			}
			if got := bent(Straight(x, skew), skew); math.Abs(got-x) > 1e-12*(1+1/math.Abs(skew))/(u*u) {
				t.Errorf("bent(Straight(%v, %v)) = %v", x, skew, got)
			}
		}
	}
	if got := Straight(1.5, 0); got != 1.5 {
		t.Error("Straight of 1.5 without skewness is", got)
	}
	// (1 + skew (x - skew/6)) is 0 here.
	if got := bent(-23.0/12, 0.5); math.Abs(got+6) > 1e-4 {
		t.Error("bent of -23/12 at 0.5 is", got)
	}
}

// TestSkewEnds: the end is further out on the side of the longer tail alone, and never nearer than that of Student's t.
func TestSkewEnds(t *testing.T) {
	for _, q := range []float64{0.5, 1.96, 4.3} {
		for _, skew := range []float64{0.001, 0.1, 0.4, 1} {
			below, above := SkewEnds(q, skew)
			if below != q || above <= q {
				t.Errorf("q %v, skewness %v: %v below, %v above", q, skew, below, above)
			}
			if b, a := SkewEnds(q, -skew); b != above || a != below {
				t.Errorf("q %v, skewness %v: %v and %v, and %v and %v turned", q, skew, below, above, b, a)
			}
		}
		if b, a := SkewEnds(q, 0); b != q || a != q {
			t.Errorf("q %v without skewness: %v and %v", q, b, a)
		}
	}
}
