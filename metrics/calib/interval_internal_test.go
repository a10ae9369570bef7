package calib

import (
	"math"
	"testing"
	"time"

	"github.com/candor-go/candor/metrics/internal/tails"
)

// TestClopperPearson checks the ends of the interval with the binomial distribution and, for k = 0 and k = n, with closed
// forms.
func TestClopperPearson(t *testing.T) {
	cases, start := 0, time.Now()
	for _, n := range []float64{1, 2, 3, 10, 37, 1e3, 1e4, 1e5, 1e6, 1e7, 1e9, 1e12} {
		for _, f := range []float64{0, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 0.999999, 1} {
			for _, miss := range []float64{0.5, 0.05, 0.003, 1e-4, 1e-6, 5e-8} {
				k := math.Round(n * f)
				i := clopperPearson(k, n, miss)
				cases++
				low, high := miss/2, miss/2
				if k > 0 {
					low = tails.Binomial(k, n, i.Low)
				}
				if k < n {
					high = tails.Binomial(n-k, n, 1-i.High)
				}
				// A unit in the last place of a frequency near 1 is not negligible relative to 1/n or to the distance from 1.
				tol := 1e-9 + n*1e-15
				if i.High < 1 {
					tol += 0x1p-50 / (1 - i.High)
				}
				if math.Abs(low/(miss/2)-1) > tol || math.Abs(high/(miss/2)-1) > tol || !(i.Low <= k/n && k/n <= i.High) {
					t.Errorf("%v of %v, %v: %v, with tails %v and %v", k, n, miss, i, low, high)
				}
				if want := -math.Expm1(math.Log(miss/2) / n); k == 0 && (i.Low != 0 || math.Abs(i.High/want-1) > 1e-9+n*2e-15) {
					t.Errorf("none of %v, %v: %v, want up to %v", n, miss, i, want)
				}
			}
		}
	}
	t.Logf("%d intervals in %v", cases, time.Since(start))
}
