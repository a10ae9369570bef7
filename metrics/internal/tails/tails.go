// Package tails has tail probabilities of the chi-square, Student, binomial, hypergeometric and Kolmogorov distributions, with the same bits on every CPU: their
// exponentials and logarithms are those of package kernel, and no product is fused with a sum.
//
// The relative error of a probability p is below 5e-15 (1 - ln p), down to 1e-300.
package tails

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// ChiSquare returns the probability that a chi-square variable with k >= 1 degrees of freedom is at least x.
func ChiSquare(x float64, k int) float64 {
	switch {
	case x <= 0:
		return 1
	case x > math.MaxFloat64:
		return 0
	case x != x:
		return x
	}
	// Q(a, y), the regularized incomplete gamma function.
	a, y := float64(float64(k)/2), float64(x/2)
	term := kernel.Exp64(-stirling(a)-deviance(a, y, a-y)) / math.Sqrt(2*math.Pi*a) // y^a e^-y / Gamma(a+1)
	if y <= a {
		sum, t := 0.0, term
		for j := a; t > tiny*sum; {
			sum += t
			j++
			t = float64(t * (y / j))
		}
		return math.Max(0, 1-sum)
	}
	// Q(a, y) = y^(a-1) e^-y / Gamma(a) + Q(a-1, y), from the largest down to Q(1, y) or Q(1/2, y).
	sum := 0.0
	if k%2 == 1 {
		sum = 2 * kernel.NormCDF64(-math.Sqrt(x))
	}
	for j := a; j >= 1 && term > tiny*sum; j-- {
		term = float64(term * (j / y))
		sum += term
	}
	return sum
}

// Student returns the probability that |T| is at least |t| for Student's distribution with nu degrees of freedom.
func Student(t, nu float64) float64 {
	p, _ := student(t, nu)
	return p
}

// Freedom returns the degrees of freedom of the variance of n rows with these mean squares and mean fourth powers: 2n/(k-1) with the kurtosis k, at
// least 1 and at most n - 1. It is NaN for fewer than two rows.
func Freedom(n, second, fourth float64) float64 {
	if !(n > 1) {
		return math.NaN()
	}
	k := fourth / float64(second*second)
	if !(k > 1) {
		return n - 1
	}
	return math.Max(1, math.Min(n-1, 2*n/(k-1)))
}

// StudentQuantile returns the t > 0 with Student(t, nu) = p, for 0 < p < 1.
func StudentQuantile(p, nu float64) float64 {
	// The normal quantile is a lower bound. From there Newton's steps only go up, since the tail is convex.
	t := -kernel.NormQuantile64(p / 2)
	for {
		tail, slope := student(t, nu)
		next := t - (tail-p)/slope
		if !(next > t*(1+0x1p-50)) {
			return t
		}
		t = next
	}
}

// student returns the tail beyond t and its derivative.
func student(t, nu float64) (tail, slope float64) {
	t = math.Abs(t)
	square := float64(t * t)
	x, y := nu/(nu+square), square/(nu+square)
	switch {
	case x != x:
		return x, x
	case y == 0:
		return 1, 0
	case x == 0:
		return 0, 0
	}
	a, b := float64(nu/2), 0.5
	var w float64
	if x < (a+1)/(a+b+2) {
		tail, w = beta(a, b, x, y)
	} else {
		tail, w = beta(b, a, y, x)
		tail = 1 - tail
	}
	return tail, -2 * w / t
}

// Radius returns the probability that the sum of k squares of variables that have Student's distribution together, with nu degrees of
// freedom and without correlation, is at least square: that k times an F variable is.
func Radius(square float64, k int, nu float64) float64 {
	x, y := nu/(nu+square), square/(nu+square)
	switch {
	case y == 0:
		return 1
	case x == 0:
		return 0
	}
	a, b := float64(nu/2), float64(float64(k)/2)
	if x < (a+1)/(a+b+2) {
		p, _ := beta(a, b, x, y)
		return p
	}
	p, _ := beta(b, a, y, x)
	return 1 - p
}

// Binomial returns the probability of at least k successes in n trials with probability f, for 0 < k <= n and 0 < f <= k/n.
func Binomial(k, n, f float64) float64 {
	if f == 1 {
		return 1
	}
	p, _ := beta(k, n-k+1, f, 1-f)
	return p
}

// tiny is the relative size below which a term does not change a sum.
const tiny = 0x1p-56

// beta returns I_x(a, b), the regularized incomplete beta function, and x^a y^b / B(a, b), for y = 1 - x. It is fast for
// x < (a+1)/(a+b+2).
func beta(a, b, x, y float64) (lower, weight float64) {
	n := a + b
	d := math.FMA(-n, x, a) // a - n x = n y - b, from the smaller of x and y
	if y < x {
		d = math.FMA(n, y, -b)
	}
	// The weight in Loader's form of the binomial distribution.
	log := stirling(n) - stirling(a) - stirling(b) - deviance(a, float64(n*x), d) - deviance(b, float64(n*y), -d)
	weight = math.Sqrt(float64(a*b)/(2*math.Pi*n)) * kernel.Exp64(log)

	// I a / weight is the continued fraction DLMF 8.17.22. This is its even part, by the method of Lentz.
	const none = 0x1p-900
	f, c, e := none, none, 0.0
	up, even := 1.0, 0.0
	last := 1.0
	for m := 0.0; ; {
		s := a + (m + m)
		down := (float64(a*(m+m+1))+float64(m*(m+m+m+2))+float64((a+m)*(d+float64(m*y))))/float64(s*(s+1)) + even
		c, e = down+up/c, 1/(down+float64(up*e))
		step := float64(c * e)
		f *= step
		// The steps approach 1 until only rounding is left.
		off := math.Abs(step - 1)
		if !(off >= 0x1p-48 || off > 0 && off < last) {
			return f * weight / a, weight
		}
		last = off
		odd := float64((a+m)*(n+m)) * x / float64(s*(s+1))
		m++
		even = float64(m*(b-m)) * x / float64((s+1)*(s+2))
		up = odd * even
	}
}

// stirling returns ln Gamma(x+1) - ln(sqrt(2 pi x) (x/e)^x) for x > 0, to 1e-15.
func stirling(x float64) float64 {
	s := 0.0
	for ; x < 16; x++ {
		s += float64((x+0.5)*kernel.Log1p64(1/x)) - 1
	}
	i := 1 / x
	u := float64(i * i)
	q := 1.0/1188 - float64(u*(691.0/360360))
	q = 1.0/1680 - float64(u*q)
	q = 1.0/1260 - float64(u*q)
	q = 1.0/360 - float64(u*q)
	q = 1.0/12 - float64(u*q)
	return s + float64(i*q)
}

// deviance returns x ln(x/m) - d for d = x - m and x, m above 0, without cancellation for x near m.
func deviance(x, m, d float64) float64 {
	if math.Abs(d) > 0.1*(x+m) {
		return float64(x*kernel.Log64(x/m)) - d
	}
	v := d / (x + m)
	u := float64(v * v)
	sum, t := float64(d*v), 2*x*v
	for j := 3.0; ; j += 2 {
		t *= u
		next := sum + t/j
		if next == sum {
			return sum
		}
		sum = next
	}
}

// Kolmogorov returns the probability that the largest |B| of a Brownian bridge B is at least x: 2 sum over k >= 1 of
// (-1)^(k-1) exp(-2 k^2 x^2), or for small x its Poisson transform.
func Kolmogorov(x float64) float64 {
	switch {
	case !(x > 0.1): // below, 1 - 1e-50 or less
		if x != x {
			return x
		}
		return 1
	case x < 1:
		sum, u := 0.0, float64(math.Pi*math.Pi/8)/float64(x*x)
		for k := 1.0; ; k += 2 {
			t := kernel.Exp64(-float64(float64(k*k) * u))
			if sum += t; t <= tiny*sum {
				return math.Max(0, 1-float64(math.Sqrt(2*math.Pi)/x*sum))
			}
		}
	}
	sum, sign := 0.0, 1.0
	for k := 1.0; ; k++ {
		t := kernel.Exp64(-2 * float64(float64(k*k)*float64(x*x)))
		if sum += float64(sign * t); t <= tiny*sum {
			return 2 * sum
		}
		sign = -sign
	}
}

// Fisher returns the two-sided mid-p of Fisher's exact test that two shares a/m and b/n are of equal probabilities: given a + b, twice
// the smaller of the probabilities of an a that is smaller, or larger, with half that of a itself in each; at most 1. It is 1 where
// a + b is 0 or m + n. The numbers are whole, 0 <= a <= m and 0 <= b <= n.
func Fisher(a, m, b, n float64) float64 {
	marked, all := a+b, m+n
	if marked == 0 || marked == all || m == 0 || n == 0 {
		return 1
	}
	if marked > all/2 { // the rarer outcome keeps its digits
		a, b, marked = m-a, n-b, all-marked
	}
	if float64(a*n) > float64(b*m) { // the smaller share is the first, so that a is in the lower tail
		a, m, b, n = b, n, a, m
	}
	f := marked / all
	at := binomial(a, m, f) * binomial(b, n, f) / binomial(marked, all, f)
	tail, t := 0.0, at
	for k := a; k > 0 && marked-k < n; k-- {
		t = float64(t * (k * (n - marked + k) / ((m - k + 1) * (marked - k + 1))))
		if tail += t; t <= tiny*tail {
			break
		}
	}
	twice := float64(2*tail) + at
	return math.Min(twice, 2-twice)
}

// binomial returns the probability of k successes in n trials of probability f, 0 < f < 1, in Loader's form.
func binomial(k, n, f float64) float64 {
	switch k {
	case 0:
		return kernel.Exp64(float64(n * kernel.Log1p64(-f)))
	case n:
		return kernel.Exp64(float64(n * kernel.Log64(f)))
	}
	mean := float64(n * f)
	d := math.FMA(-n, f, k)
	log := stirling(n) - stirling(k) - stirling(n-k) - deviance(k, mean, d) - deviance(n-k, n-mean, -d)
	return kernel.Exp64(log) * math.Sqrt(n/(2*math.Pi*k*(n-k)))
}

// Gamma returns the probability that a gamma variable of shape a > 0 and scale 1 is at least x.
func Gamma(x, a float64) float64 {
	switch {
	case x <= 0:
		return 1
	case x > math.MaxFloat64:
		return 0
	case x != x || a != a:
		return math.NaN()
	}
	term := kernel.Exp64(-stirling(a)-deviance(a, x, a-x)) / math.Sqrt(2*math.Pi*a) // x^a e^-x / Gamma(a+1)
	if x <= a+1 {
		sum, t := 0.0, term
		for j := a; t > tiny*sum; {
			sum += t
			j++
			t = float64(t * (x / j))
		}
		return math.Max(0, 1-sum)
	}
	// The continued fraction DLMF 8.9.2 in its even form, by the method of Lentz.
	b := x + 1 - a
	c, d := math.Inf(1), 1/b
	f := d
	for i := 1.0; ; i++ {
		up := -float64(i * (i - a))
		b += 2
		d = 1 / (float64(up*d) + b)
		c = b + up/c
		step := float64(c * d)
		f = float64(f * step)
		if math.Abs(step-1) < 0x1p-50 {
			return float64(float64(term*a) * f)
		}
	}
}
