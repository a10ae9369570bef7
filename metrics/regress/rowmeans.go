package regress

import (
	"fmt"
	"math"
	"strings"

	"github.com/candor-go/candor/metrics"
)

// MeanRowMetric returns the terms of a metric that is a mean over rows, but that ParseRowMetric does not list. The law is that of Normals; levels are
// those of the quantiles.
//
//	bias                    mean - observed, of Normals and Samples
//	coverage_50, coverage_90
//	                        1 if the central interval of this level holds the observed value, and else 0, as Intervals has it
//	width_50, width_90      the width of that interval
//	wis_dispersion, wis_underprediction, wis_overprediction
//	                        the parts of wis, of Quantiles
//
// The error wraps metrics.ErrNoRows for all else. Otherwise it says which quantile is missing.
func MeanRowMetric(name string, k metrics.Kind, levels []float64, law Law) (m metrics.RowMetric, err error) {
	fail := func(err error) (metrics.RowMetric, error) {
		return metrics.RowMetric{}, fmt.Errorf("metric %s: %w", name, err)
	}
	var of func(float64, []float64) (func() rowsFunc, error)
	part, percent, _ := strings.Cut(name, "_")
	level, central := map[string]float64{"50": 0.5, "90": 0.9}[percent]
	central = central && (part == "coverage" || part == "width") && (k == metrics.Normals || k == metrics.Quantiles || k == metrics.Samples)
	switch {
	case central:
		of = rowsCentral(k, law, part == "coverage", level)
	case name == "bias" && (k == metrics.Normals || k == metrics.Samples):
		e, err := ParseRowMetric("error", k, levels)
		if err != nil {
			return m, err
		}
		m = e
		m.Name, m.New = name, func() rowsFunc {
			f := e.New()
			return func(dst []float64, b *metrics.Block) {
				f(dst, b)
				for i, v := range dst {
					dst[i] = -v
				}
			}
		}
		return m, nil
	case k != metrics.Quantiles:
		return fail(metrics.ErrNoRows)
	case name == "wis_dispersion":
		of = rowsWISPart(func(low, high, _ float64) float64 { return high - low }, nil)
	case name == "wis_underprediction":
		of = rowsWISPart(nil, func(_, high, y float64) float64 { return max(0, y-high) })
	case name == "wis_overprediction":
		of = rowsWISPart(nil, func(low, _, y float64) float64 { return max(0, low-y) })
	default:
		return fail(metrics.ErrNoRows)
	}
	if k == metrics.Quantiles {
		if err := rowsCheck(levels); err != nil {
			return fail(err)
		}
	}
	fresh, err := of(0, levels)
	if err != nil {
		return fail(err)
	}
	m = metrics.RowMetric{Name: name, New: fresh}
	if k != metrics.Normals {
		m.Need = metrics.NeedRows
	}
	return m, nil
}

// rowsWISPart is a part of wis: the sum of the widths of the intervals, each times p, or of how far the observed value is outside of them, half as much for the
// median.
func rowsWISPart(width, miss func(low, high, y float64) float64) func(float64, []float64) (func() rowsFunc, error) {
	return func(_ float64, levels []float64) (func() rowsFunc, error) {
		k := len(levels)
		if err := rowsSymmetric(levels); err != nil {
			return nil, err
		}
		return rowsOfQuantiles(levels, func(t *metrics.Tile, i int, y float64) float64 {
			m, sum := k/2, 0.0
			if k%2 == 1 && miss != nil {
				x := t.At(i, m)
				sum = miss(x, x, y) / 2
			}
			for j, p := range levels[:m] {
				low, high := t.At(i, j), t.At(i, k-1-j)
				if width != nil {
					sum += float64(p * width(low, high, y))
				} else {
					sum += miss(low, high, y)
				}
			}
			return sum / (float64(k) / 2)
		})
	}
}

// rowsCentral is the width of the central interval of a level, or whether it holds the observed value, ends included, as Intervals has them.
func rowsCentral(kind metrics.Kind, law Law, holds bool, level float64) func(float64, []float64) (func() rowsFunc, error) {
	return func(_ float64, levels []float64) (func() rowsFunc, error) {
		if kind == metrics.Normals {
			return func() rowsFunc { return rowsLawCentral(holds, law.Quantile((1+level)/2)) }, nil
		}
		ends := []float64{(1 - level) / 2, (1 + level) / 2}
		var columns []int
		if kind == metrics.Quantiles {
			for _, p := range ends {
				at, err := rowsFind(levels, p)
				if err != nil {
					return nil, err
				}
				columns = append(columns, at)
			}
		}
		return func() rowsFunc {
			q := &quantileRows{levels: ends, columns: columns}
			return func(dst []float64, b *metrics.Block) {
				if kind == metrics.Quantiles && b.Classes != len(levels) {
					panic(errRowsLevels)
				}
				to := dst
				q.batches(b, func(x []float64, stride int, y, _ []float64) {
					for i, at := range y {
						low, high := x[i*stride], x[i*stride+1]
						switch {
						case !holds:
							to[i] = high - low
						case at < low || at > high:
							to[i] = 0
						default:
							to[i] = 1
						}
					}
					to = to[len(y):]
				})
			}
		}, nil
	}
}

// rowsLawCentral is rowsCentral of normal forecasts, or those of another law, of which z is the quantile of the upper end.
func rowsLawCentral(holds bool, z float64) rowsFunc {
	return func(dst []float64, b *metrics.Block) {
		for i := range dst {
			half := float64(z * b.Normal.SD[i])
			switch {
			case !holds:
				dst[i] = half + half
			case math.Abs(b.Normal.Z[i]) > z:
				dst[i] = 0
			default:
				dst[i] = 1
			}
		}
	}
}
