package picture

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// mostBars is the maximum number of bins drawn one by one. If there are more, neighbours are pooled.
const mostBars = 200

// bars returns the bars to draw, and the number of bins in each. Bars of several bins have no intervals.
func bars(bins []calib.Bin) (out []calib.Bin, group int) {
	group = (len(bins) + mostBars - 1) / mostBars
	if group <= 1 {
		return bins, 1
	}
	for i := 0; i < len(bins); {
		j := i + 1
		// Bins of 0 and of 1 that were set apart are not pooled.
		for bins[i].Lower < bins[i].Upper && j < min(i+group, len(bins)) && bins[j].Lower < bins[j].Upper {
			j++
		}
		out = append(out, pool(bins[i:j]))
		i = j
	}
	return out, group
}

// pool returns one bar for neighbouring bins.
func pool(bins []calib.Bin) calib.Bin {
	if len(bins) == 1 {
		return bins[0]
	}
	p := calib.Bin{Lower: bins[0].Lower, Upper: bins[len(bins)-1].Upper}
	p.Interval, p.Band = metrics.NoInterval(), metrics.NoInterval()
	conf, freq := 0.0, 0.0
	for _, b := range bins {
		if b.Count > 0 {
			p.Count += b.Count
			p.Weight += b.Weight
			conf += float64(b.Weight * b.Confidence)
			freq += float64(b.Weight * b.Frequency)
		}
	}
	p.Confidence, p.Frequency = conf/p.Weight, freq/p.Weight
	return p
}

// drawn reports whether a bin is drawn: it has rows, and its score and frequency are numbers.
func drawn(b *calib.Bin) bool {
	return b.Count > 0 && !math.IsNaN(b.Confidence) && !math.IsNaN(b.Frequency)
}

// known reports whether there is an interval.
func known(i metrics.Interval) bool { return !math.IsNaN(i.Low) && !math.IsNaN(i.High) }

// anyDrawn reports whether any bin is drawn.
func anyDrawn(bins []calib.Bin) bool {
	for i := range bins {
		if drawn(&bins[i]) {
			return true
		}
	}
	return false
}

// shares returns the percentage of the total weight in each bin.
func shares(bins []calib.Bin) []float64 {
	total := 0.0
	for i := range bins {
		total += bins[i].Weight
	}
	s := make([]float64, len(bins))
	if total > 0 {
		for i := range bins {
			s[i] = 100 * bins[i].Weight / total
		}
	}
	return s
}

// weighted reports whether weights of bins differ from their numbers of rows.
func weighted(bins []calib.Bin) bool {
	for i := range bins {
		if bins[i].Weight != float64(bins[i].Count) {
			return true
		}
	}
	return false
}
