package score

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/student"
)

// The functions of this file return the continuous ranked probability score of one forecast, a distribution F, when y was
// observed:
//
//	CRPS(F, y) = integral of (F(x) - 1[x >= y])^2 dx = E|X - y| - E|X - X'|/2
//
// It is at least 0 and has the unit of y; lower is better. For a point forecast it is the absolute error (Matheson and
// Winkler 1976; Gneiting and Raftery 2007). The closed forms are those of Jordan, Krueger and Lerch 2019, written without
// cancellation: the relative error is below 1e-13 for any y. A scale of 0 is a point mass, whose score is |y - location|. A
// negative scale, and any argument that is NaN or infinite, gives NaN.

// NormalCRPS returns the CRPS of a normal distribution. With z = (y - mean)/sd it is
//
//	sd * (2*phi(z) + z*(2*Phi(z) - 1) - 1/sqrt(pi))
func NormalCRPS(y, mean, sd float64) float64 {
	d, t := deviation(y, mean, sd)
	return d - float64(sd*(invRootPi-float64(2*normalExcess(t))))
}

// LogisticCRPS returns the CRPS of a logistic distribution, 1/(1 + exp(-z)) with z = (y - location)/scale:
//
//	scale * (|z| + 2*ln(1 + exp(-|z|)) - 1)
func LogisticCRPS(y, location, scale float64) float64 {
	d, t := deviation(y, location, scale)
	return d - float64(scale*(1-float64(2*kernel.Log1p64(kernel.Exp64(-t)))))
}

// LaplaceCRPS returns the CRPS of a Laplace distribution, whose density is exp(-|z|)/(2*scale) with z = (y - location)/scale:
//
//	scale * (|z| + exp(-|z|) - 3/4)
func LaplaceCRPS(y, location, scale float64) float64 {
	d, t := deviation(y, location, scale)
	return d - float64(scale*(0.75-kernel.Exp64(-t)))
}

// StudentTCRPS returns the CRPS of Student's t distribution with df degrees of freedom, with location and scale. With f and
// F of the standard distribution and z = (y - location)/scale it is
//
//	scale * (z*(2*F(z) - 1) + 2*f(z)*(df + z^2)/(df - 1) - 2*sqrt(df)/(df - 1) * B(1/2, df - 1/2)/B(1/2, df/2)^2)
//
// for df > 1. The integral is finite down to df = 1/2, although the mean does not exist for df <= 1, and the function
// returns it. For df <= 1/2 it is +Inf. An infinite df is the normal distribution. It is NaN for df <= 0.
func StudentTCRPS(y, df, location, scale float64) float64 {
	d, t := deviation(y, location, scale)
	switch {
	case !(df > 0) || d != d:
		return math.NaN()
	case scale == 0:
		return d
	case df > math.MaxFloat64:
		return NormalCRPS(y, location, scale)
	case df <= 0.5:
		return math.Inf(1)
	case t > 1e150: // the rest is less than the last digit of d, and t^2 might overflow
		return d
	}
	return d + float64(scale*student.Deficit(t, df))
}

// NormalMixtureCRPS returns the CRPS of a mixture of normal distributions (Grimit, Gneiting, Berrocal and Johnson 2006).
// With A(m, s) = E|X| for a normal X with mean m and standard deviation s, and weights w divided by their sum, it is
//
//	sum_i w_i A(y - m_i, s_i) - 1/2 sum_ij w_i w_j A(m_i - m_j, sqrt(s_i^2 + s_j^2))
//
// A component with sd 0 is a point mass, so equal weights and sds of 0 give SampleCRPS's CRPSV. weights may be nil for equal
// ones. The error is below 1e-13 of the first sum. It is NaN for a negative weight, for weights whose sum is 0 or not
// finite, and without components. It panics if the slices differ in length. The time grows with the square of the number of
// components.
func NormalMixtureCRPS(y float64, weights, means, sds []float64) float64 {
	if len(sds) != len(means) || weights != nil && len(weights) != len(means) {
		panic("score: the components' weights, means and sds differ in number")
	}
	weight := func(i int) float64 {
		if weights == nil {
			return 1
		}
		return weights[i]
	}
	total := 0.0
	for i := range means {
		w := weight(i)
		if !(w >= 0) {
			return math.NaN()
		}
		total += w
	}
	if !(total > 0 && total <= math.MaxFloat64) {
		return math.NaN()
	}
	first, second := 0.0, 0.0
	for i, m := range means {
		d, t := deviation(y, m, sds[i])
		w := weight(i) / total
		first += float64(w * (d + float64(2*sds[i]*normalExcess(t))))
		others := float64(w * sds[i] * invRootPi)
		for j := range i {
			s := hypot(sds[i], sds[j])
			d, t := deviation(m, means[j], s)
			others += float64(weight(j) / total * (d + float64(2*s*normalExcess(t))))
		}
		second += float64(w * others)
	}
	// Only rounding makes it negative; a NaN stays.
	return max(0, first-second)
}

const (
	invRootPi    = 0.56418958354775628694807945156077258584 // 1/sqrt(pi)
	invRootTwoPi = 0.39894228040143267793994605993438186848 // 1/sqrt(2*pi)
)

// deviation returns |y - location|, and the same in units of the scale, or 0 if the scale is 0; every form then multiplies
// it by the scale. Both are NaN for invalid arguments.
func deviation(y, location, scale float64) (d, t float64) {
	if !(scale >= 0) || float64(y*0)+float64(location*0)+float64(scale*0) != 0 {
		return math.NaN(), math.NaN()
	}
	if d = math.Abs(y - location); scale > 0 {
		t = d / scale
	}
	return d, t
}

// hypot returns sqrt(a^2 + b^2) without overflow of the squares, for a and b not below 0.
func hypot(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if !(a > 0) {
		return a + b
	}
	b /= a
	return a * math.Sqrt(1+float64(b*b))
}

// normalExcess returns E max(0, Z - t) = phi(t) - t*(1 - Phi(t)) for a standard normal Z and t >= 0, with an error of 1e-16.
// Twice that is E|Z - t| - t.
func normalExcess(t float64) float64 {
	// The quotient by phi(t) is a Chebyshev series in (t-4)/(t+4).
	u := float64(2 * (1 - 8/(t+4)))
	b, c := 0.0, 0.0
	for i := len(excess) - 1; i > 0; i-- {
		b, c = float64(u*b)-c+excess[i], b
	}
	m := float64(u/2*b) - c + excess[0]
	return float64(invRootTwoPi * kernel.Exp64(-float64(t*t/2)) * m)
}

// excess has the coefficients of the series of 1 - t*(1 - Phi(t))/phi(t). The omitted terms sum to less than 1e-17.
var excess = [...]float64{
	0.25478342938735058117, -0.41339208924187396685, 0.22298931213273118268, -0.082771353237925069152,
	0.021924544264369748689, -0.0038753577018656012221, 0.00031507683776756377063, 0.000038683726781918538138,
	-0.000012727122639946881311, 1.391749480034589299e-7, 3.763758798101191471e-7, -2.3737249614766431081e-8,
	-1.233477587688139126e-8, 1.0512614158781289626e-9, 4.7973076515779261989e-10, -3.4710983399964118956e-11,
	-2.1379614857143629375e-11, 5.9995911841863089393e-13, 1.0102314536485007935e-12, 3.9527498503557682394e-14,
	-4.6195556499442184336e-14, -6.0723301092627279417e-15, 1.7904223922220660347e-15, 5.1502060340470066136e-16,
	-3.7312883806769408696e-17, -3.3365585074356019995e-17,
}
