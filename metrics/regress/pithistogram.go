package regress

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// pitHistogram counts rows in bins, and compares each bin's share with its share under calibration.
type pitHistogram struct {
	total    tally.Weight
	weighted bool
	n        []int64
	w        []exact.Sum // sums of weights; nil without weights
}

// begin prepares the histogram for rows with or without weights.
func (h *pitHistogram) begin(weighted bool) {
	if h.weighted = weighted; weighted && h.w == nil {
		h.w = make([]exact.Sum, len(h.n))
	}
}

// put counts row i of a block in a bin.
func (h *pitHistogram) put(bin, i int, weights []float64) {
	h.n[bin]++
	if weights != nil {
		h.w[bin].AddFloat(weights[i])
	}
}

// merge adds a histogram that has rows, as many bins, and weights if h has rows with weights.
func (h *pitHistogram) merge(o *pitHistogram) {
	h.begin(o.weighted)
	h.total.Merge(&o.total)
	for i, n := range o.n {
		h.n[i] += n
	}
	for i := range o.w {
		h.w[i].Merge(&o.w[i])
	}
}

// fields lists the fields of a histogram with this number of bins.
func (h *pitHistogram) fields(f *exact.Fields, bins int, weighted bool) {
	h.total.Fields(f)
	if f.Reading() {
		h.n = make([]int64, bins)
		h.begin(weighted)
	}
	left := h.total.N
	for i := range h.n {
		f.N(&h.n[i])
		left -= h.n[i]
		f.Must(left >= 0, exact.OutOfRange)
	}
	rest := h.total.W.Clone()
	for i := range h.w {
		f.Sum(&h.w[i])
		rest.Sub(&h.w[i])
		f.Must(h.w[i].Sign() == min(1, int(h.n[i])), exact.OutOfRange)
	}
	// Without weights, the sums of weights and their remainder are zero.
	f.Must(left == 0 && rest.IsZero() && h.total.W2.Sign() == h.total.W.Sign() && (weighted || h.total.W.IsZero()), exact.OutOfRange)
}

// rows returns the effective number of rows.
func (h *pitHistogram) rows() float64 { return h.total.Effective(h.weighted) }

// weight returns the weight of a bin's rows, and their share of the total, which is NaN without rows.
func (h *pitHistogram) weight(bin int) (weight, share float64) {
	s := tally.Count(h.n[bin])
	if h.weighted {
		s = h.w[bin].Clone()
	}
	t := h.total.Total(h.weighted)
	return s.Float64(), exact.Ratio(&s, &t)
}

// density returns the values of PITBin for a bin's share; expected is its share under calibration.
func (h *pitHistogram) density(share, expected, level float64) (density float64, interval, band metrics.Interval) {
	n := h.rows()
	if !(n > 0) {
		return math.NaN(), metrics.NoInterval(), metrics.NoInterval()
	}
	interval = metrics.Wilson(share, n, level)
	interval.Low, interval.High = interval.Low/expected, interval.High/expected
	half := float64(metrics.Z(level) * math.Sqrt((1-expected)/float64(n*expected)))
	return share / expected, interval, metrics.Interval{Low: math.Max(0, 1-half), High: math.Min(1/expected, 1+half)}
}

// pitLeast is the least mean number of rows per bin for which the chi-square approximation is good.
const pitLeast = 5

const (
	pitNoRows  = "there are no rows"
	pitOneBin  = "there is one bin, which has all the rows whatever the forecast is"
	pitTooFew  = "fewer than 5 rows a bin: take fewer bins, or more rows"
	errPITKind = "regress: a PIT takes normal forecasts, samples or quantiles"
)

// reason returns the reason why there is no test; expected is the smallest expected share of a bin.
func (h *pitHistogram) reason(expected float64) string {
	switch {
	case h.total.N == 0:
		return pitNoRows
	case len(h.n) == 1:
		return pitOneBin
	case float64(h.rows()*expected) < pitLeast*(1-1e-12):
		return pitTooFew
	}
	return ""
}

// chiSquare returns Pearson's statistic, n sum (share - expected)^2/expected, with the effective number n.
func (h *pitHistogram) chiSquare(expected func(bin int) float64) float64 {
	sum := 0.0
	for i := range h.n {
		_, share := h.weight(i)
		e := expected(i)
		d := share - e
		sum += float64(d*d) / e
	}
	return h.rows() * sum
}

// pitCounts returns how many of a row's numbers are below y, and how many are above it. No branch depends on the data.
func pitCounts(t *metrics.Tile, i int, y float64) (below, above int) {
	// The sign bit of a difference decides; a difference is 0 only for equal numbers. For zeros, the sign of the difference
	// depends on the signs of the zeros; with these values it is always +0.
	up, down := y, y
	if y == 0 {
		up, down = 0, math.Copysign(0, -1)
	}
	var lo, hi uint64
	if t.F64 != nil {
		for _, x := range t.F64[i*t.Stride : i*t.Stride+t.Width] {
			lo += math.Float64bits(x-down) >> 63
			hi += math.Float64bits(up-x) >> 63
		}
		return int(lo), int(hi)
	}
	for _, v := range t.F32[i*t.Stride : i*t.Stride+t.Width] {
		x := float64(v)
		lo += math.Float64bits(x-down) >> 63
		hi += math.Float64bits(up-x) >> 63
	}
	return int(lo), int(hi)
}
