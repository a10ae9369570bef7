package drift

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// PSI is the population stability index over the bins of the reliability diagram,
//
//	sum_bins (new - old) ln(new/old)
//
// of the shares of rows in a bin. A bin that has rows in one set only counts with half a row in the other. It is a distance, not a test:
// what is usual, to call less than 0.1 stable and more than 0.25 a large shift, is a convention that knows no number of rows.
type PSI struct {
	Value float64
	// Chance is about what it would be without drift, for so many rows and bins: (bins with rows - 1) (1/old rows + 1/new rows). It is
	// NaN with weights.
	Chance float64
}

// Side has the rows of a bin in one set.
type Side struct {
	Count      int64
	Share      float64 // of all rows, by weight
	Confidence float64 // mean score; NaN if there are no rows
	Frequency  float64 // share with the event; NaN if there are no rows
}

// Bin compares the rows of a bin.
type Bin struct {
	Lower, Upper float64
	Old, New     Side
	PSI          float64 // its part of the index
	// ShareP is the mid-p of Fisher's exact test that both sets have the same share of rows here. ShareAdjusted is adjusted for the
	// number of bins.
	ShareP, ShareAdjusted float64
	// Expected is the difference of the mean scores: what the frequencies would differ by if outcomes followed the scores alike.
	// FrequencyP is the p-value that they differ by this, by the score test with a correction for continuity. FrequencyAdjusted is
	// adjusted for the number of bins. All are NaN if a set has no rows here.
	Expected, FrequencyP, FrequencyAdjusted float64
}

// bins compares the bins of the reliability diagrams.
func (r *Result) bins() {
	before, after := r.before.Diagram(), r.after.Diagram()
	r.Text = before.Text
	a, b := before.Bins(r.Level), after.Bins(r.Level)
	weighted := r.before.Audit.Weighted || r.after.Audit.Weighted
	var rows, weights [2]float64
	for i := range a {
		rows[0] += float64(a[i].Count)
		rows[1] += float64(b[i].Count)
		weights[0] += a[i].Weight
		weights[1] += b[i].Weight
	}
	used := 0.0
	for i := range a {
		o := Bin{Lower: a[i].Lower, Upper: a[i].Upper,
			Old:    Side{a[i].Count, a[i].Weight / weights[0], a[i].Confidence, a[i].Frequency},
			New:    Side{b[i].Count, b[i].Weight / weights[1], b[i].Confidence, b[i].Frequency},
			ShareP: math.NaN(), ShareAdjusted: math.NaN(), FrequencyP: math.NaN(), FrequencyAdjusted: math.NaN()}
		o.Expected = o.New.Confidence - o.Old.Confidence
		m, n := float64(o.Old.Count), float64(o.New.Count)
		if m+n > 0 {
			used++
			p, q := o.Old.Share, o.New.Share
			if m == 0 {
				p = 0.5 / rows[0]
			}
			if n == 0 {
				q = 0.5 / rows[1]
			}
			o.PSI = float64((q - p) * (kernel.Log64(q) - kernel.Log64(p)))
			r.PSI.Value += o.PSI
			if !weighted {
				o.ShareP = tails.Fisher(m, rows[0], n, rows[1])
			}
		}
		if m > 0 && n > 0 && !weighted {
			o.FrequencyP = sameGap(math.Round(m*o.Old.Frequency), m, math.Round(n*o.New.Frequency), n, o.Expected)
		}
		r.Bins = append(r.Bins, o)
	}
	if r.PSI.Chance = math.Max(0, used-1) * (1/rows[0] + 1/rows[1]); weighted {
		r.PSI.Chance = math.NaN()
	}
}

// sameGap returns the two-sided p-value that y/n exceeds x/m by a given difference in probability: the score test of Mee and of
// Miettinen and Nurminen, with a correction for continuity, without which few events reject too often.
func sameGap(x, m, y, n, by float64) float64 {
	off := math.Abs(y/n-x/m-by) - float64((1/m+1/n)/2)
	if off <= 0 {
		return 1
	}
	f := restricted(x, m, y, n, by)
	g := f + by
	v := (float64(f*(1-f))/m + float64(g*(1-g))/n) * ((m + n) / (m + n - 1))
	if !(v > 0) {
		return 0
	}
	return 2 * kernel.NormCDF64(-off/math.Sqrt(v))
}

// restricted returns the most likely f such that x of m rows have probability f, and y of n have f + by.
func restricted(x, m, y, n, by float64) float64 {
	low, high := math.Max(0, -by), math.Min(1, 1-by)
	// The derivative of the log-likelihood falls; terms without rows are 0, also at an end.
	over := func(a, b float64) float64 {
		if a == 0 {
			return 0
		}
		return a / b
	}
	for range 60 {
		f := float64((low + high) / 2)
		g := f + by
		if over(x, f)-over(m-x, 1-f)+over(y, g)-over(n-y, 1-g) > 0 {
			low = f
		} else {
			high = f
		}
	}
	return float64((low + high) / 2)
}
