package draw

import (
	"fmt"
	"hash/fnv"
	"math"
	"testing"
)

// The numbers of a seed are the same on every CPU, and remain what they were: answers that were drawn can be drawn again.
// Of each law there are the first two numbers of a stream, and a hash of the first 5,000.
func TestPinned(t *testing.T) {
	dst := make([]float64, 3)
	dirichlet := func(alpha ...float64) func(s *Source) float64 {
		return func(s *Source) float64 {
			s.Dirichlet(dst, alpha)
			return dst[0] - dst[2]
		}
	}
	normal := func(mean, sd, low, high float64) func(s *Source) float64 {
		return func(s *Source) float64 { return s.TruncatedNormal(mean, sd, low, high) }
	}
	for _, c := range []struct {
		name string
		draw func(s *Source) float64
		want string
	}{
		{"bits", func(s *Source) float64 { return float64(s.Uint64() >> 11) },
			"0x1.6629047510a4p+52 0x1.9f886eac425ecp+51 e02ae7a557fd3a3a"},
		{"below 7", func(s *Source) float64 { return float64(s.Below(7)) },
			"0x1p+02 0x1p+01 c6e0d5decd54da5b"},
		{"uniform", (*Source).Uniform,
			"0x1.6629047510a41p-01 0x1.9f886eac425eep-02 dedcb13ecd2513d9"},
		{"normal", (*Source).Normal,
			"0x1.a2bfaebd2c755p+00 0x1.0c6dfe6089d72p+00 349d3015df0fe90e"},
		{"gamma 1/30", func(s *Source) float64 { return s.Gamma(1.0 / 30) },
			"0x1.6443d8bb1d383p-17 0x1.d5e87c1452a37p-66 696633c80cfdbf7e"},
		{"ln gamma 1/1000", func(s *Source) float64 { return s.LogGamma(0.001) },
			"-0x1.66223dce16055p+08 -0x1.6930d517d617ap+10 55f4343cdd640582"},
		{"gamma 12.1", func(s *Source) float64 { return s.Gamma(12.1) },
			"0x1.25119e1471fbbp+04 0x1.be33e260ca6b5p+03 eb9457068ccc2a38"},
		{"gamma 2e6", func(s *Source) float64 { return s.Gamma(2e6) },
			"0x1.e8d89d724b2a9p+20 0x1.e87cf179e85a6p+20 a16552ce7be62791"},
		{"dirichlet", dirichlet(0.1, 3.1, 0.1),
			"-0x1.23ca2aca94a41p-05 -0x1.12cb620baedf3p-04 cab3aa588bec8154"},
		{"dirichlet of little", dirichlet(1e-3, 1e-3, 1e-3),
			"0x1p+00 -0x1.ff6f521414b62p-262 e2ce7a4c9245df8d"},
		{"normal in a bin", normal(0.31, 0.03, 0.2, 0.4),
			"0x1.6fb09a16b36a4p-02 0x1.5da6cc9af1d22p-02 db46c93d0f30ab95"},
		{"normal beside a bin", normal(0.41, 0.03, 0.2, 0.4),
			"0x1.904cf1eaaad04p-02 0x1.955b9fd98a867p-02 717b8bf55347d403"},
		{"normal in a narrow bin", normal(0.31, 0.3, 0.2, 0.4),
			"0x1.5c10682ed374ep-02 0x1.7acb777fda2fap-02 cedbfda0d1940ef2"},
		{"normal in a narrow bin beside", normal(0.71, 0.3, 0.2, 0.4),
			"0x1.0a55fe3792f1ap-02 0x1.6936a74c06a99p-02 4a9c62376bc4ed16"},
		{"binomial 1 .3", func(s *Source) float64 { return float64(s.Binomial(1, .3)) },
			"0x0p+00 0x0p+00 19abf57337c58270"},
		{"binomial 30 .1", func(s *Source) float64 { return float64(s.Binomial(30, .1)) },
			"0x1p+02 0x1p+01 26ad709f566db8cc"},
		{"binomial 1e6 .7", func(s *Source) float64 { return float64(s.Binomial(1e6, .7)) },
			"0x1.55aa4p+19 0x1.5588ap+19 fcdf1e71bb2e706"},
	} {
		s, h := New(20, 26), fnv.New64a()
		got := ""
		for i := range 5000 {
			v := c.draw(s)
			if i < 2 {
				got += fmt.Sprintf("%x ", v)
			}
			fmt.Fprintln(h, math.Float64bits(v))
		}
		if got += fmt.Sprintf("%x", h.Sum64()); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
