package recal

import (
	"math"
	"unsafe"

	"github.com/candor-go/candor/metrics"
)

// Size holds what determines the memory and the reads of a fit.
type Size struct {
	Rows     int64
	Classes  int // scores per row; 1 for a binary task
	Kind     metrics.Kind
	DType    metrics.DType
	Weighted bool
}

// Need estimates the memory of a fit beside its data, in bytes, and how often it reads the data.
type Need struct {
	Fit   int64 // minimum during the fit; methods that sort use more, up to Options.Memory, to read less often
	Map   int64 // of the resulting map
	File  int64 // while Marshal writes the map
	Reads int   // with all of Options.Memory
}

// NeedOf estimates the need of a fit in advance. It is meant to exceed the actual need, but not by far. The size of maps
// from isotonic regression and BBQ is known only after the fit; the estimate is several times the usual size.
func NeedOf(m Method, s Size, o *Options) Need {
	k, threads := int64(s.Classes), int64(o.workers())
	n := Need{Fit: threads * 4 * max(1<<18, 8*k), Map: 512, Reads: 6}
	switch m := m.(type) {
	case ETS:
		n.Reads = 14
	case Vector:
		n.linear(2*k, s, threads, 25)
	case Matrix, Dirichlet:
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
		cuts := min(s.Rows, 16*int64(most)) // for histograms with a notable weight; all together could have a cut at each row
		n.curves(curves, 200, cuts, 40, 2)
		n.sort(m.TopLabel, s, o)
		n.Fit += 80*s.Rows + 16*int64(most)*int64(most)
		if m.AsCoded {
			n.Fit += 48 * s.Rows * curves
			n.Reads = 2
		}
	case Spline:
		curves := curvesOf(m.TopLabel, s)
		n.curves(curves, 320, min(s.Rows, splinePieces+1), 40, 2)
		n.sort(m.TopLabel, s, o)
	case VennAbers:
		if k > 1 && m.OneVsOne { // each row is in K-1 pairs
			n.curves(k*(k-1)/2, 320, 2*s.Rows/k+1, 48, 5)
			part := s
			part.Classes, part.DType, part.Kind = 1, metrics.Float64, metrics.Probs
			n.sort(false, part, o)
			n.Fit += (130 + 24 + 2*(8+8+4)*k) * s.Rows // slices grow to twice their length
			n.Reads = int(k)
			break
		}
		curves, folds := curvesOf(m.TopLabel, s), int64(max(1, m.Folds))
		part := s
		part.Rows = s.Rows/folds + 1
		points := folds * curves * part.Rows // where events are rare, p1 rises with each row
		n.curves(curves, 320, points/curves, 48, 5)
		n.sort(m.TopLabel, part, o)
		n.Fit += 130*part.Rows + 24*points
		if folds > 1 {
			n.Reads = 1 + int(folds)*n.Reads
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

// blocks bounds the total number of blocks of isotonic curves. Each block but the first has a row with the event. For n rows
// with labels that follow the scores there are about 2 n^(1/3) blocks; five times as many is a safe limit.
func (s Size) blocks(curves int64) int64 {
	return min(s.Rows+curves, curves*(2+int64(10*math.Cbrt(float64(s.Rows)))))
}

// curves adds the memory of curves with this many points. Their numbers take about 25 bytes each in a file, in four copies.
func (n *Need) curves(curves, bytes, points, pointBytes, numbers int64) {
	n.Map += curves * (bytes + points*pointBytes)
	n.File += 4 * curves * (64 + points*numbers*25)
}

// sort adds the memory of one column, and counts the reads for all.
func (n *Need) sort(top bool, s Size, o *Options) {
	r, curves := reading{top: top}, curvesOf(top, s)
	size, scratch, shared := sortBytes(s.Rows, r.narrow(s.Kind, s.DType, s.Classes, s.Weighted), s.Weighted)
	n.Fit += shared + scratch + size*s.Rows
	group := max(1, min(curves, (o.memory()-shared-scratch)/max(1, size*s.Rows)))
	n.Reads = 1 + int((curves+group-1)/group)
}

// logistic adds concurrent fits, each with a goroutine of its own.
func (n *Need) logistic(curves, threads int64) {
	const goroutine = 3 << 10
	each := int64(unsafe.Sizeof(logisticFit{})) + goroutine + threads*int64(unsafe.Sizeof(logisticSurvey{})+unsafe.Sizeof(logisticTotals{}))
	n.Fit += curves * each
	n.curves(curves, 64, 1, 0, 4)
	n.Reads = 10
}

// linear adds the parameters of a fit, the kept steps, and tiles of rows.
func (n *Need) linear(parameters int64, s Size, threads int64, reads int) {
	const vectors = 24
	n.Fit += 8 * parameters * (vectors + 2*threads + 2*int64(pairs(int(parameters))))
	n.Fit += (2*threads + 2) * min(s.Rows, linearRows) * int64(s.Classes) * 8
	n.Map += 8 * parameters
	n.File += 4 * 25 * parameters
	n.Reads = reads
}
