package exact

import (
	"math"
	"math/big"
)

// parts returns the integer n and the exponent exp with s = n / 2^exp.
func parts(s *Sum) (n *big.Int, exp int) {
	if s.x == nil {
		return s.i.BigInt(), -quantum
	}
	t := s.total()
	m, neg := t.mag()
	low, high := 0, superWords
	for high > 0 && m[high-1] == 0 {
		high--
	}
	for low < high && m[low] == 0 {
		low++
	}
	return bigInt(m[low:high], neg), -tiny - 64*low
}

// Rat returns the exact value of s.
func Rat(s *Sum) *big.Rat {
	n, exp := parts(s)
	if exp <= 0 {
		return new(big.Rat).SetInt(n.Lsh(n, uint(-exp)))
	}
	return new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), uint(exp)))
}

// quotient returns the float64 nearest to num / den * 2^exp, ties to even, for a nonzero den. It does not search for common
// divisors, on which big.Rat spends its time. It overwrites its arguments.
func quotient(num, den *big.Int, exp int) float64 {
	if num.Sign() == 0 {
		return 0
	}
	const enough = 64 // bits of a quotient: those of a float64, and more for rounding
	if up := enough + den.BitLen() - num.BitLen(); up >= 0 {
		num.Lsh(num, uint(up))
		exp -= up
	} else {
		den.Lsh(den, uint(-up))
		exp -= up
	}
	q, rest := num.QuoRem(num, den, new(big.Int))
	negative := q.Sign() < 0
	q.Abs(q)
	if rest.Sign() != 0 {
		q.SetBit(q, 0, 1) // mark an inexact quotient, so that it is not taken for a tie
	}
	if q.BitLen()+exp < -1021 { // a subnormal number has fewer bits
		n := new(big.Rat).SetFrac(q, new(big.Int).Lsh(big.NewInt(1), uint(-exp)))
		if negative {
			n.Neg(n)
		}
		return float(n)
	}
	v, _ := q.Float64()
	if negative {
		v = -v
	}
	return math.Ldexp(v, exp)
}

// float returns the float64 nearest to r, ties to even; ±Inf on overflow.
func float(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

// Ratio returns the float64 nearest to num / den, rounded once, ties to even. As in IEEE 754 it is NaN for 0 / 0 and an
// infinity with num's sign for anything else over 0; a zero quotient is +0. It allocates, so use it once per answer.
func Ratio(num, den *Sum) float64 {
	if den.IsZero() {
		if num.IsZero() {
			return math.NaN()
		}
		return math.Inf(num.Sign())
	}
	n, up := parts(num)
	d, down := parts(den)
	return quotient(n, d, down-up)
}

// Mean returns the float64 nearest to s / n, rounded once; NaN for n < 1.
func Mean(s *Sum, n int64) float64 {
	if n < 1 {
		return math.NaN()
	}
	i, exp := parts(s)
	return quotient(i, big.NewInt(n), -exp)
}

// Variance returns the unbiased variance of n terms with the sum s1 and the sum of squares s2, rounded once:
//
//	(n·s2 - s1²) / (n·(n-1))
//
// It is NaN for n < 2. Nothing cancels in the computation, but the squares in s2 were rounded on entry; if this rounding
// would make the variance negative, it is 0.
func Variance(n int64, s1, s2 *Sum) float64 {
	if n < 2 {
		return math.NaN()
	}
	num, exp := excessOf(n, s1, s2)
	if num.Sign() <= 0 {
		return 0
	}
	den := big.NewInt(n)
	return quotient(num, den.Mul(den, big.NewInt(n-1)), -exp)
}

// excessOf returns n·s2 - s1² as a whole number of 2^-exp.
func excessOf(n int64, s1, s2 *Sum) (_ *big.Int, exp int) {
	a, e1 := parts(s1)
	b, e2 := parts(s2)
	exp = max(e2, 2*e1)
	b.Lsh(b.Mul(b, big.NewInt(n)), uint(exp-e2))
	return b.Sub(b, a.Lsh(a.Mul(a, a), uint(exp-2*e1))), exp
}

// StdErr returns the standard error of the mean of n terms with the sum s1 and the sum of squares s2, the root of Variance/n:
//
//	sqrt((n·s2 - s1²) / (n²·(n-1)))
//
// The radicand is rounded once. It is NaN for n < 2, and 0 if the rounding of s2 would make the radicand negative.
func StdErr(n int64, s1, s2 *Sum) float64 {
	if n < 2 {
		return math.NaN()
	}
	b, exp := excessOf(n, s1, s2)
	if b.Sign() <= 0 {
		return 0
	}
	rows := big.NewInt(n)
	den := new(big.Int).Mul(rows, rows)
	den.Mul(den, new(big.Int).SetInt64(n-1))
	// An even power of two is taken out, so that the root is of a number that float64 has.
	k := (b.BitLen() - den.BitLen() - exp) / 2
	return math.Ldexp(math.Sqrt(quotient(b, den, -exp-2*k)), k)
}

// WeightedVariance returns the variance of weighted terms and their effective number, each rounded once. With w the sum of
// the weights, w2 the sum of their squares, s1 the sum of weight times term and s2 the sum of weight times square:
//
//	m = s1/w,  v = s2/w - m²,  neff = w²/w2,  variance = v·neff/(neff-1) = (w·s2 - s1²) / (w² - w2)
//
// Equal weights give [Variance]. Both are NaN for w <= 0 or w2 <= 0, and the variance is NaN for neff <= 1. If the rounding
// of s2 would make the variance negative, it is 0.
//
// For a single row neff is 1 only as far as w2 is exact, so a caller that knows the number of rows should require two. To
// keep w2 exact, add h = c·c and math.FMA(c, c, -h) for each weight c by AddExact.
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
