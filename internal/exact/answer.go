package exact

import (
	"math"
	"math/big"
)

// Rat returns the exact value of s.
func Rat(s *Sum) *big.Rat {
	var n *big.Int
	exp := uint(-quantum)
	if s.x == nil {
		n = s.i.BigInt()
	} else {
		t := s.total()
		n, exp = t.BigInt(), -tiny
	}
	return new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), exp))
}

// float returns the float64 nearest to r, ties to even; ±Inf where that is the rounding.
func float(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

// Ratio returns the float64 nearest to num / den, rounded once, ties to even. As in IEEE 754 it is NaN for 0 / 0 and an
// infinity of num's sign for anything else over 0; a quotient of 0 is +0. It allocates: use it once an answer.
func Ratio(num, den *Sum) float64 {
	if den.IsZero() {
		if num.IsZero() {
			return math.NaN()
		}
		return math.Inf(num.Sign())
	}
	n := Rat(num)
	return float(n.Quo(n, Rat(den)))
}

// Mean returns the float64 nearest to s / n, rounded once; NaN for n < 1.
func Mean(s *Sum, n int64) float64 {
	if n < 1 {
		return math.NaN()
	}
	r := Rat(s)
	return float(r.Quo(r, new(big.Rat).SetInt64(n)))
}

// Variance returns the unbiased variance of n terms with the sum s1 and the sum of squares s2, rounded once:
//
//	(n·s2 - s1²) / (n·(n-1))
//
// It is NaN for n < 2. Nothing cancels in it, but s2 holds squares that were rounded on entry: where those roundings
// would make it negative, it is 0.
func Variance(n int64, s1, s2 *Sum) float64 {
	if n < 2 {
		return math.NaN()
	}
	rn := new(big.Rat).SetInt64(n)
	num := excess(rn, Rat(s1), Rat(s2))
	if num.Sign() <= 0 {
		return 0
	}
	den := new(big.Rat).SetInt64(n - 1)
	return float(num.Quo(num, den.Mul(den, rn)))
}

// WeightedVariance returns the variance of weighted terms and the effective number of them, each rounded once. With w
// the sum of the weights, w2 that of their squares, s1 that of weight times term and s2 that of weight times square:
//
//	m = s1/w,  v = s2/w - m²,  neff = w²/w2,  variance = v·neff/(neff-1) = (w·s2 - s1²) / (w² - w2)
//
// Equal weights give [Variance]. Both are NaN for w <= 0 or w2 <= 0, and the variance is NaN for neff <= 1; where the
// roundings of s2 would make it negative, it is 0.
//
// With a single row neff is 1 only as far as w2 is exact, so a caller who knows the number of rows asks for two. To have
// w2 exact, add h = c·c and math.FMA(c, c, -h) for each weight c by AddExact.
func WeightedVariance(w, w2, s1, s2 *Sum) (variance, neff float64) {
	if w.Sign() <= 0 || w2.Sign() <= 0 {
		return math.NaN(), math.NaN()
	}
	rw, rw2 := Rat(w), Rat(w2)
	ww := new(big.Rat).Mul(rw, rw)
	neff = float(new(big.Rat).Quo(ww, rw2))
	den := ww.Sub(ww, rw2)
	if den.Sign() <= 0 {
		return math.NaN(), neff
	}
	num := excess(rw, Rat(s1), Rat(s2))
	if num.Sign() <= 0 {
		return 0, neff
	}
	return float(num.Quo(num, den)), neff
}

// excess returns w·s2 - s1². It overwrites s1 and s2.
func excess(w, s1, s2 *big.Rat) *big.Rat {
	s2.Mul(s2, w)
	return s2.Sub(s2, s1.Mul(s1, s1))
}
