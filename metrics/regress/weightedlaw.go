package regress

import "math"

// weightedLaw integrates the prices of thresholds for a law with mean 0 and standard deviation 1. With F its distribution
// function, below(z) is the integral of Emphasis.below(F(x)) up to z, and above(z) that of Emphasis.above(1 - F(x)) from z on.
type weightedLaw struct {
	law      Law
	emphasis Emphasis
	ends     []float64 // of cells, rising, symmetric about 0
	to, from []float64 // below and above at the ends
}

// The cells are steps wide up to flat, and then grow by an eighth up to far. What lies beyond is below 1e-15 of the
// smallest tail that has a standard deviation.
const (
	lawSteps = 8 // per unit
	lawFlat  = 8
	lawFar   = 0x1p20
)

// The nodes and weights of Gauss and Legendre's rule of 8 points on [-1, 1], of the nodes above 0.
var (
	gaussNodes   = [4]float64{0.18343464249564980494, 0.52553240991632898582, 0.79666647741362673959, 0.96028985649753623168}
	gaussWeights = [4]float64{0.36268378337836198297, 0.31370664587788728734, 0.22238103445337447054, 0.10122853629037625915}
)

func newWeightedLaw(l Law, e Emphasis) *weightedLaw {
	s := &weightedLaw{law: l, emphasis: e}
	var right []float64
	for i := 1; i <= lawFlat*lawSteps; i++ {
		right = append(right, float64(i)/lawSteps)
	}
	for z := float64(lawFlat) * 1.125; z < lawFar; z *= 1.125 {
		right = append(right, z)
	}
	for i := len(right) - 1; i >= 0; i-- {
		s.ends = append(s.ends, -right[i])
	}
	s.ends = append(append(s.ends, 0), right...)
	n := len(s.ends)
	s.to, s.from = make([]float64, n), make([]float64, n)
	for i := 1; i < n; i++ {
		s.to[i] = s.to[i-1] + s.gauss(s.ends[i-1], s.ends[i], false)
	}
	for i := n - 2; i >= 0; i-- {
		s.from[i] = s.from[i+1] + s.gauss(s.ends[i], s.ends[i+1], true)
	}
	return s
}

// gauss integrates a price from a to b, within a cell.
func (s *weightedLaw) gauss(a, b float64, above bool) float64 {
	half, middle := float64((b-a)/2), a+float64((b-a)/2)
	sum := 0.0
	for i, u := range gaussNodes {
		d := float64(half * u)
		sum += float64(gaussWeights[i] * (s.price(middle-d, above) + s.price(middle+d, above)))
	}
	return float64(half * sum)
}

func (s *weightedLaw) price(z float64, above bool) float64 {
	if above {
		return s.emphasis.above(s.law.CDF(-z))
	}
	return s.emphasis.below(s.law.CDF(z))
}

// cell returns the cell in which z lies: ends[i] <= z < ends[i+1].
func (s *weightedLaw) cell(z float64) int {
	zero := len(s.ends) / 2
	if math.Abs(z) < lawFlat {
		return zero + int(math.Floor(z*lawSteps))
	}
	low, high := 0, len(s.ends)-1
	for high-low > 1 {
		if m := (low + high) / 2; s.ends[m] <= z {
			low = m
		} else {
			high = m
		}
	}
	return low
}

// below returns the integral up to z. Beyond the last cell it grows by the price of certainty.
func (s *weightedLaw) below(z float64) float64 {
	n := len(s.ends)
	switch {
	case z <= s.ends[0]:
		return 0
	case z >= s.ends[n-1]:
		return s.to[n-1] + float64(s.emphasis.below(1)*(z-s.ends[n-1]))
	}
	i := s.cell(z)
	return s.to[i] + s.gauss(s.ends[i], z, false)
}

func (s *weightedLaw) above(z float64) float64 {
	n := len(s.ends)
	switch {
	case z >= s.ends[n-1]:
		return 0
	case z <= s.ends[0]:
		return s.from[0] + float64(s.emphasis.above(1)*(s.ends[0]-z))
	}
	i := s.cell(z)
	return s.from[i+1] + s.gauss(z, s.ends[i+1], true)
}

// score returns the score of an error e, within [low, high], for values that count from low to high, all as distances from
// the mean.
func (s *weightedLaw) score(e, sd, low, high float64) float64 {
	z := e / sd
	sum := 0.0
	if e > low {
		sum = s.below(z)
		if l := low / sd; l > s.ends[0] {
			sum -= s.below(l)
		}
	}
	if e < high {
		sum += s.above(z)
		if h := high / sd; h < s.ends[len(s.ends)-1] {
			sum -= s.above(h)
		}
	}
	return float64(sd * max(0, sum))
}
