package recal

import (
	"math"
	"unsafe"

	"github.com/candor-go/candor/metrics"
)

// Size is what the memory and the reads of a fit depend on.
type Size struct {
	Rows     int64
	Classes  int // scores of a row: 1 of a binary task
	Kind     metrics.Kind
	DType    metrics.DType
	Weighted bool
}

// Need is about how much memory a fit takes beside its data, in bytes, and about how often it reads them.
type Need struct {
	Fit   int64 // while it goes on, at least: what sorts rows takes more where Options.Memory lets it, to read less often
	Map   int64 // of the map that it returns
	File  int64 // while Marshal makes the map's file
	Reads int   // with all the memory that Options.Memory says
}

// NeedOf estimates the need of a fit before it is made. It is meant to be above what the fit takes and not far above. How
// many numbers the maps of isotonic regression and of bbq have is only known when they are fitted: they are taken for several times as
// many as they mostly have.
func NeedOf(m Method, s Size, o *Options) Need {
	k, threads := int64(s.Classes), int64(o.workers())
	n := Need{Fit: threads * 4 * max(1<<18, 8*k), Map: 512, Reads: 6}
	switch m := m.(type) {
	case ETS:
		n.Reads = 14
	case Vector:
		n.linear(2*k, s, threads, 25)
	case Matrix:
		n.linear(k*k+k, s, threads, 60)
	case Histogram:
		curves := curvesOf(m.TopLabel, s)
		bins := int64(m.bins())
		n.curves(curves, 256, bins, 24, 2)
		if n.Reads = 2; m.EqualMass {
			n.sort(m.TopLabel, s, o)
		} else {
			n.Fit += curves * bins * binBytes
		}
	case Isotonic:
		curves := curvesOf(m.TopLabel, s)
		points := s.blocks(curves)
		if m.Interpolate {
			points *= 2
		}
		n.curves(curves, 320, points/curves, 168, 2)
		n.sort(m.TopLabel, s, o)
	case BBQ:
		curves := curvesOf(m.TopLabel, s)
		_, most := bbqNumbers(s.Rows)
		cuts := min(s.Rows, 16*int64(most)) // of the histograms that have a weight; all of them together could have a cut at each row
		n.curves(curves, 200, cuts, 40, 2)
		n.sort(m.TopLabel, s, o)
		n.Fit += 80*s.Rows + 16*int64(most)*int64(most)
		if m.AsCoded {
			n.Fit += 48 * s.Rows * curves
			n.Reads = 2
		}
	case Platt:
		n.logistic(curvesOf(m.TopLabel, s), threads)
	case Beta:
		n.logistic(curvesOf(m.TopLabel, s), threads)
	case Sigma, Quantile:
		n.Reads = 1
	}
	return n
}

func curvesOf(top bool, s Size) int64 { return int64(reading{top: top}.curves(s.Classes)) }

// blocks returns how many blocks isotonic curves may have together: each but the first has a row with the event, and of n rows whose
// labels follow their scores there are about 2 n^(1/3), of which five times as many are far from any.
func (s Size) blocks(curves int64) int64 {
	return min(s.Rows+curves, curves*(2+int64(10*math.Cbrt(float64(s.Rows)))))
}

// curves adds those of so many points, which have numbers in a file: about 25 bytes each, of which there are four copies.
func (n *Need) curves(curves, bytes, points, pointBytes, numbers int64) {
	n.Map += curves * (bytes + points*pointBytes)
	n.File += 4 * curves * (64 + points*numbers*25)
}

// sort adds what one column takes, and counts the reads that all take.
func (n *Need) sort(top bool, s Size, o *Options) {
	r, curves := reading{top: top}, curvesOf(top, s)
	size, scratch, shared := sortBytes(s.Rows, r.narrow(s.Kind, s.DType, s.Classes, s.Weighted), s.Weighted)
	n.Fit += shared + scratch + size*s.Rows
	group := max(1, min(curves, (o.memory()-shared-scratch)/max(1, size*s.Rows)))
	n.Reads = 1 + int((curves+group-1)/group)
}

// logistic adds fits side by side, each of which waits in a goroutine of its own for what it has asked for.
func (n *Need) logistic(curves, threads int64) {
	const goroutine = 3 << 10
	each := int64(unsafe.Sizeof(logisticFit{})) + goroutine + threads*int64(unsafe.Sizeof(logisticSurvey{})+unsafe.Sizeof(logisticTotals{}))
	n.Fit += curves * each
	n.curves(curves, 64, 1, 0, 4)
	n.Reads = 10
}

// linear adds the parameters of a fit and their last steps, and tiles of rows.
func (n *Need) linear(parameters int64, s Size, threads int64, reads int) {
	const vectors = 24
	n.Fit += 8 * parameters * (vectors + 2*threads + 2*int64(pairs(int(parameters))))
	n.Fit += (2*threads + 2) * min(s.Rows, linearRows) * int64(s.Classes) * 8
	n.Map += 8 * parameters
	n.File += 4 * 25 * parameters
	n.Reads = reads
}
