package draw

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// The moments of each law are those that a million numbers show.
func TestMoments(t *testing.T) {
	const full = 1 << 20
	n := float64(check.Size(full/16, full/4, full))
	for _, c := range []struct {
		name           string
		draw           func(s *Source) float64
		mean, variance float64
	}{
		{"uniform", (*Source).Uniform, 0.5, 1.0 / 12},
		{"normal", (*Source).Normal, 0, 1},
		{"below 7", func(s *Source) float64 { return float64(s.Below(7)) }, 3, 4},
		{"gamma 0.03", func(s *Source) float64 { return s.Gamma(0.03) }, 0.03, 0.03},
		{"gamma 1", func(s *Source) float64 { return s.Gamma(1) }, 1, 1},
		{"gamma 40", func(s *Source) float64 { return s.Gamma(40) }, 40, 40},
		{"binomial 1 .3", func(s *Source) float64 { return float64(s.Binomial(1, .3)) }, .3, .21},
		{"binomial 7 .9", func(s *Source) float64 { return float64(s.Binomial(7, .9)) }, 6.3, .63},
		{"binomial 30 .4", func(s *Source) float64 { return float64(s.Binomial(30, .4)) }, 12, 7.2},
		{"binomial 1e9 .75", func(s *Source) float64 { return float64(s.Binomial(1e9, .75)) }, .75e9, .1875e9},
		{"binomial 1e12 1e-12", func(s *Source) float64 { return float64(s.Binomial(1e12, 1e-12)) }, 1, 1},
	} {
		s, sum, sq := New(1, 2), 0.0, 0.0
		fourth := 0.0
		for range int(n) {
			d := c.draw(s) - c.mean
			sum += d
			sq += d * d
			fourth += d * d * d * d
		}
		if z := sum / n / math.Sqrt(c.variance/n); math.Abs(z) > 4.5 {
			t.Errorf("%s: mean off by %.1f standard errors", c.name, z)
		}
		if z := (sq/n - c.variance) / math.Sqrt(fourth/n/n); math.Abs(z) > 4.5 {
			t.Errorf("%s: variance %v, want %v: %.1f standard errors", c.name, sq/n, c.variance, z)
		}
	}
}

// TestToss: a coin shows what Binomial draws from the same numbers, at both ends too.
func TestToss(t *testing.T) {
	for _, p := range []float64{5e-324, 0x1p-54, 0x1p-53, 0x1.8p-53, 0x1p-52, 0x1.7p-51, 0.1, 1.0 / 3, math.Nextafter(0.5, 0), 0.5, math.Nextafter(0.5, 1), 0.7, 1 - 0x1p-52, 1 - 0x1p-53} {
		a, b, c := New(7, 1), New(7, 1), NewCoin(p)
		for i := range 2000 {
			if got, want := a.Toss(c), b.Binomial(1, p); got != want {
				t.Fatalf("%v, toss %d: %d, want %d", p, i, got, want)
			}
		}
		// The number at which the outcome changes.
		least := min(p, 1-p)
		for k := max(2, c.below) - 2; k < c.below+2; k++ {
			if got, want := k < c.below, (float64(k)+0.5)*0x1p-52 < least; got != want {
				t.Errorf("%v: number %d is rare: %v, want %v", p, k, got, want)
			}
		}
	}
}
