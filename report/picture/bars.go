package picture

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// Enough is the minimum number of rows for the gap of a bin to be marked as the largest, and for its point to be filled.
const Enough = 30

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

// largest returns the index of the bin with the largest gap between frequency and mean score, among those with at least Enough rows;
// -1 if there is none.
func largest(bins []calib.Bin) int {
	at, gap := -1, -1.0
	for i := range bins {
		b := &bins[i]
		if g := math.Abs(b.Frequency - b.Confidence); drawn(b) && b.Count >= Enough && g > gap {
			at, gap = i, g
		}
	}
	return at
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

// gapRange returns the range of an axis of gaps. It contains 0 and every gap, and the intervals and bands of bins with Enough rows, if
// these are drawn. Wider intervals are cut off.
func gapRange(intervals, bands bool, sets ...[]calib.Bin) (lo, hi float64) {
	for _, bins := range sets {
		for i := range bins {
			b := &bins[i]
			if !drawn(b) {
				continue
			}
			g := []float64{b.Frequency - b.Confidence}
			if intervals && b.Count >= Enough && known(b.Interval) {
				g = append(g, b.Interval.Low-b.Confidence, b.Interval.High-b.Confidence)
			}
			if bands && b.Count >= Enough && known(b.Band) {
				g = append(g, b.Band.Low-b.Confidence, b.Band.High-b.Confidence)
			}
			for _, v := range g {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
		}
	}
	room := math.Max(0.05*(hi-lo), 0.005)
	return math.Max(lo-room, -1), math.Min(hi+room, 1)
}
