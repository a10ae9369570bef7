package tails_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/candor-go/candor/metrics/internal/tails"
)

// convolved returns the distribution of a sum of trials, as rationals.
func convolved(n []int, p []*big.Rat) []*big.Rat {
	law := []*big.Rat{big.NewRat(1, 1)}
	for i := range n {
		q := new(big.Rat).Sub(big.NewRat(1, 1), p[i])
		for range n[i] {
			next := make([]*big.Rat, len(law)+1)
			for j := range next {
				next[j] = new(big.Rat)
				if j < len(law) {
					next[j].Mul(law[j], q)
				}
				if j > 0 {
					next[j].Add(next[j], new(big.Rat).Mul(law[j-1], p[i]))
				}
			}
			law = next
		}
	}
	return law
}

// TestBinomials: exact tails are those of the distribution in rationals, the saddlepoint is close, far in the tail too.
func TestBinomials(t *testing.T) {
	for _, c := range []struct {
		n   []int
		p   []int64 // of 256
		off float64 // of the saddlepoint, relative
	}{
		{[]int{40}, []int64{5}, 0.03},
		{[]int{30, 20, 5}, []int64{2, 60, 250}, 0.08},
		{[]int{60, 40}, []int64{128, 90}, 0.002},
		{[]int{1, 1, 1}, []int64{128, 30, 200}, 0.12},
		{[]int{70}, []int64{252}, 0.03},
		{[]int{10, 3, 4}, []int64{25, 0, 256}, 0.05},
	} {
		var b tails.Binomials
		var p []*big.Rat
		for i, n := range c.n {
			p = append(p, big.NewRat(c.p[i], 256))
			f := float64(c.p[i]) / 256
			b.N, b.P, b.Q = append(b.N, float64(n)), append(b.P, f), append(b.Q, 1-f)
		}
		law := convolved(c.n, p)
		below := new(big.Rat)
		for k, x := range law {
			above := new(big.Rat).Sub(big.NewRat(1, 1), below)
			below.Add(below, x)
			for _, side := range []struct {
				name string
				want *big.Rat
				tail func(float64, bool) float64
			}{{"at least", above, b.AtLeast}, {"at most", below, b.AtMost}} {
				want, _ := side.want.Float64()
				got := side.tail(float64(k), true)
				if !(math.Abs(got-want) <= 1e-10*want) {
					t.Errorf("%v, %v: %s %d: %v, want %v", c.n, c.p, side.name, k, got, want)
				}
				if got := side.tail(float64(k), false); want > 1e-12 && !(math.Abs(got-want) <= c.off*want) {
					t.Errorf("%v, %v: saddlepoint of %s %d: %v, want %v", c.n, c.p, side.name, k, got, want)
				}
			}
		}
	}
	for _, certain := range []struct{ k, want float64 }{{3, 1}, {4, 0}} {
		b := tails.Binomials{N: []float64{3, 5}, P: []float64{1, 0}, Q: []float64{0, 1}}
		if got := b.AtLeast(certain.k, true); got != certain.want {
			t.Errorf("of certain outcomes at least %v: %v", certain.k, got)
		}
	}
}

// TestAlike: trials in blocks of ten with one outcome are a tenth as many trials.
func TestAlike(t *testing.T) {
	one := tails.Binomials{[]float64{30, 20}, []float64{0.1, 0.7}, []float64{0.9, 0.3}}
	ten := tails.Binomials{[]float64{300, 200}, one.P, one.Q}
	for k := 1.0; k < 50; k++ {
		for _, c := range []struct{ got, want float64 }{{ten.AtLeastAlike(10*k, 10), one.AtLeast(k, false)}, {ten.AtMostAlike(10*k, 10), one.AtMost(k, false)},
			{one.AtLeastAlike(k, 1), one.AtLeast(k, false)}} {
			if !(math.Abs(c.got-c.want) <= 1e-9*c.want) {
				t.Errorf("of %v: %v, want %v", k, c.got, c.want)
			}
		}
		// Between blocks the probability falls.
		if a, b, c := ten.AtLeastAlike(10*k, 10), ten.AtLeastAlike(10*k+3, 10), ten.AtLeastAlike(10*k+10, 10); k < 49 && !(a > b && b > c) {
			t.Errorf("from %v: %v, %v and %v", k, a, b, c)
		}
	}
	for _, p := range []float64{ten.AtLeastAlike(0, 10), ten.AtLeastAlike(5, 10), ten.AtMostAlike(500, 10), ten.AtMostAlike(495, 10)} {
		if p != 1 {
			t.Errorf("within half a block of the end p is %v", p)
		}
	}
}
