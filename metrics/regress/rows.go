package regress

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// rowsFunc writes the values of a block's rows to dst.
type rowsFunc = func(dst []float64, b *metrics.Block)

// rowsMetric is an entry of the table of metrics with a value for each row.
type rowsMetric struct {
	kind  metrics.Kind
	name  string
	need  metrics.Need
	usual bool // in the default set
	// of returns the metric. level is the option level, or 0 if none is given; levels are those of the quantiles.
	of    func(level float64, levels []float64) (func() rowsFunc, error)
	level bool
}

// rowsPlain is a metric without options that keeps no memory between blocks.
func rowsPlain(f rowsFunc) func(float64, []float64) (func() rowsFunc, error) {
	return func(float64, []float64) (func() rowsFunc, error) { return func() rowsFunc { return f }, nil }
}

// rowsColumn is a metric that equals a column of normal forecasts.
func rowsColumn(column func(*kernel.NormalColumns) []float64) func(float64, []float64) (func() rowsFunc, error) {
	return rowsPlain(func(dst []float64, b *metrics.Block) { copy(dst, column(b.Normal)) })
}

// rowsSquare returns e^2.
func rowsSquare(e float64) float64 { return float64(e * e) }

// rowsSame returns e.
func rowsSame(e float64) float64 { return e }

// rowsTable has the metrics in the order of listings.
var rowsTable = []rowsMetric{
	{kind: metrics.Normals, name: "error", usual: true, of: rowsColumn(func(c *kernel.NormalColumns) []float64 { return c.Error })},
	{kind: metrics.Normals, name: "abs_error", of: rowsPlain(func(dst []float64, b *metrics.Block) {
		for i := range dst {
			dst[i] = math.Abs(b.Normal.Error[i])
		}
	})},
	{kind: metrics.Normals, name: "squared_error", of: rowsPlain(func(dst []float64, b *metrics.Block) {
		for i := range dst {
			dst[i] = rowsSquare(b.Normal.Error[i])
		}
	})},
	{kind: metrics.Normals, name: "nll", usual: true, of: rowsColumn(func(c *kernel.NormalColumns) []float64 { return c.NLL })},
	{kind: metrics.Normals, name: "crps", usual: true, of: rowsColumn(func(c *kernel.NormalColumns) []float64 { return c.CRPS })},
	{kind: metrics.Normals, name: "twcrps", need: metrics.NeedRows, of: rowsWeighted("twcrps", metrics.Normals)},
	{kind: metrics.Normals, name: "qwcrps", need: metrics.NeedRows, of: rowsWeighted("qwcrps", metrics.Normals)},
	{kind: metrics.Normals, name: "z", usual: true, of: rowsColumn(func(c *kernel.NormalColumns) []float64 { return c.Z })},
	{kind: metrics.Normals, name: "pit", usual: true, of: rowsPlain(func(dst []float64, b *metrics.Block) {
		for i := range dst {
			dst[i] = kernel.NormCDF64(b.Normal.Z[i])
		}
	})},
	{kind: metrics.Normals, name: "interval_score", level: true, of: rowsNormalInterval(rowsScore)},
	{kind: metrics.Normals, name: "interval_score_underprediction", level: true, of: rowsNormalInterval(rowsUnder)},
	{kind: metrics.Normals, name: "interval_score_overprediction", level: true, of: rowsNormalInterval(rowsOver)},

	{kind: metrics.Quantiles, name: "wis", need: metrics.NeedRows, usual: true, of: rowsWIS},
	{kind: metrics.Quantiles, name: "twcrps", need: metrics.NeedRows, of: rowsWeighted("twcrps", metrics.Quantiles)},
	{kind: metrics.Quantiles, name: "qwcrps", need: metrics.NeedRows, of: rowsWeighted("qwcrps", metrics.Quantiles)},
	{kind: metrics.Quantiles, name: "pinball", need: metrics.NeedRows, level: true, of: rowsPinball},
	{kind: metrics.Quantiles, name: "interval_score", need: metrics.NeedRows, level: true, of: rowsInterval(rowsScore)},
	{kind: metrics.Quantiles, name: "interval_score_underprediction", need: metrics.NeedRows, level: true, of: rowsInterval(rowsUnder)},
	{kind: metrics.Quantiles, name: "interval_score_overprediction", need: metrics.NeedRows, level: true, of: rowsInterval(rowsOver)},
	{kind: metrics.Quantiles, name: "ae_median", need: metrics.NeedRows, usual: true, of: rowsMedian},

	{kind: metrics.Samples, name: "error", need: metrics.NeedRows, usual: true, of: rowsSampleMean(rowsSame)},
	{kind: metrics.Samples, name: "abs_error", need: metrics.NeedRows, of: rowsSampleMean(math.Abs)},
	{kind: metrics.Samples, name: "squared_error", need: metrics.NeedRows, of: rowsSampleMean(rowsSquare)},
	{kind: metrics.Samples, name: "ae_median", need: metrics.NeedRows, usual: true, of: rowsSampleMedian},
	{kind: metrics.Samples, name: "twcrps", need: metrics.NeedRows, of: rowsWeighted("twcrps", metrics.Samples)},
	{kind: metrics.Samples, name: "qwcrps", need: metrics.NeedRows, of: rowsWeighted("qwcrps", metrics.Samples)},
	{kind: metrics.Samples, name: "pit", need: metrics.NeedRows, usual: true, of: rowsPlain(rowsSamplePIT)},
	{kind: metrics.Multivariate, name: vectorNames[Energy], need: metrics.NeedRows, usual: true, of: rowsVector(Energy)},
	{kind: metrics.Multivariate, name: vectorNames[EnergyFair], need: metrics.NeedRows, of: rowsVector(EnergyFair)},
	{kind: metrics.Multivariate, name: vectorNames[Variogram], need: metrics.NeedRows, usual: true, of: rowsVector(Variogram)},
	{kind: metrics.Multivariate, name: vectorNames[DawidSebastiani], need: metrics.NeedRows, of: rowsVector(DawidSebastiani)},
	{kind: metrics.MultivariateNormals, name: "multivariate_nll", need: metrics.NeedRows, usual: true, of: rowsStated(true)},
	{kind: metrics.MultivariateNormals, name: vectorNames[DawidSebastiani], need: metrics.NeedRows, of: rowsStated(false)},
}

// rowsDefaultLevel is the default level of an interval.
const rowsDefaultLevel = 0.9

// rowsTolerance is the largest difference between levels that count as equal: 0.95 and (1+0.9)/2 differ in the last digit.
const rowsTolerance = 1e-9

const errRowsLevels = "regress: rows of quantiles have as many numbers as there are levels"

// rowsFind returns the index of a level among those of the quantiles.
func rowsFind(levels []float64, level float64) (int, error) {
	at := slices.IndexFunc(levels, func(p float64) bool { return math.Abs(p-level) <= rowsTolerance })
	if at < 0 {
		return 0, fmt.Errorf("it takes the quantile of level %.12g, and there is none", level)
	}
	return at, nil
}

// rowsOfQuantiles is a metric whose value is f of a tile, the row's index in it, and the observed value.
func rowsOfQuantiles(levels []float64, f func(t *metrics.Tile, i int, y float64) float64) (func() rowsFunc, error) {
	return func() rowsFunc {
		return func(dst []float64, b *metrics.Block) {
			if b.Classes != len(levels) {
				panic(errRowsLevels)
			}
			for i := range dst {
				dst[i] = f(&b.Probs, i, b.Observed[i])
			}
		}
	}, nil
}

// rowsScore returns the interval score: the width plus 2/(1-level) times the distance of the observed value from the
// interval.
func rowsScore(low, high, y, level float64) float64 {
	return high - low + float64(2/(1-level)*(max(0, low-y)+max(0, y-high)))
}

// rowsUnder returns the part of the interval score for an observed value above the interval.
func rowsUnder(_, high, y, level float64) float64 { return float64(2 / (1 - level) * max(0, y-high)) }

// rowsOver returns the part of the interval score for an observed value below the interval.
func rowsOver(low, _, y, level float64) float64 { return float64(2 / (1 - level) * max(0, low-y)) }

// intervalRule returns a score of the interval [low, high] of a level.
type intervalRule = func(low, high, y, level float64) float64

func rowsNormalInterval(of intervalRule) func(float64, []float64) (func() rowsFunc, error) {
	return func(level float64, _ []float64) (func() rowsFunc, error) {
		if level == 0 {
			level = rowsDefaultLevel
		}
		z := kernel.NormQuantile64((1 + level) / 2)
		return func() rowsFunc {
			return func(dst []float64, b *metrics.Block) {
				for i, sd := range b.Normal.SD[:b.Rows] {
					half := float64(z * sd)
					dst[i] = of(-half, half, b.Normal.Error[i], level)
				}
			}
		}, nil
	}
}

func rowsInterval(of intervalRule) func(float64, []float64) (func() rowsFunc, error) {
	return func(level float64, levels []float64) (func() rowsFunc, error) {
		if level == 0 {
			level = rowsDefaultLevel
		}
		low, err := rowsFind(levels, (1-level)/2)
		if err != nil {
			return nil, err
		}
		high, err := rowsFind(levels, (1+level)/2)
		if err != nil {
			return nil, err
		}
		return rowsOfQuantiles(levels, func(t *metrics.Tile, i int, y float64) float64 {
			return of(t.At(i, low), t.At(i, high), y, level)
		})
	}
}

// rowsLoss returns the pinball loss of the quantile x of a level.
func rowsLoss(x, y, level float64) float64 {
	if y < x {
		return float64((1 - level) * (x - y))
	}
	return float64(level * (y - x))
}

func rowsPinball(level float64, levels []float64) (func() rowsFunc, error) {
	if level != 0 {
		at, err := rowsFind(levels, level)
		if err != nil {
			return nil, err
		}
		return rowsOfQuantiles(levels, func(t *metrics.Tile, i int, y float64) float64 {
			return rowsLoss(t.At(i, at), y, levels[at])
		})
	}
	return rowsOfQuantiles(levels, func(t *metrics.Tile, i int, y float64) float64 {
		sum := 0.0
		for j, p := range levels {
			sum += rowsLoss(t.At(i, j), y, p)
		}
		return sum / float64(len(levels))
	})
}

func rowsMedian(_ float64, levels []float64) (func() rowsFunc, error) {
	at, err := rowsFind(levels, 0.5)
	if err != nil {
		return nil, err
	}
	return rowsOfQuantiles(levels, func(t *metrics.Tile, i int, y float64) float64 { return math.Abs(y - t.At(i, at)) })
}

// rowsSymmetric returns an error unless levels are symmetric about 0.5.
func rowsSymmetric(levels []float64) error {
	for j, p := range levels {
		at, err := rowsFind(levels, 1-p)
		if err != nil {
			return err
		}
		if at != len(levels)-1-j {
			return fmt.Errorf("it takes levels that are symmetric about 0.5")
		}
	}
	return nil
}

func rowsWIS(_ float64, levels []float64) (func() rowsFunc, error) {
	k := len(levels)
	if err := rowsSymmetric(levels); err != nil {
		return nil, err
	}
	return rowsOfQuantiles(levels, func(t *metrics.Tile, i int, y float64) float64 {
		m, sum := k/2, 0.0
		if k%2 == 1 {
			sum = math.Abs(y-t.At(i, m)) / 2
		}
		for j, p := range levels[:m] {
			low, high := t.At(i, j), t.At(i, k-1-j)
			sum += float64(p*(high-low)) + max(0, low-y) + max(0, y-high)
		}
		return sum / (float64(k) / 2)
	})
}

// rowsSampleMean is a metric of the observed value minus the samples' mean.
func rowsSampleMean(f func(e float64) float64) func(float64, []float64) (func() rowsFunc, error) {
	return func(float64, []float64) (func() rowsFunc, error) {
		return func() rowsFunc {
			var x []float64
			return func(dst []float64, b *metrics.Block) {
				for i := range dst {
					x = b.Probs.Row(slices.Grow(x[:0], b.Probs.Width), i)
					var s exact.Sum
					s.AddExactAll(x)
					dst[i] = f(b.Observed[i] - exact.Mean(&s, int64(len(x))))
				}
			}
		}, nil
	}
}

func rowsSampleMedian(float64, []float64) (func() rowsFunc, error) {
	return func() rowsFunc {
		var x []float64
		return func(dst []float64, b *metrics.Block) {
			for i := range dst {
				x = b.Probs.Row(slices.Grow(x[:0], b.Probs.Width), i)
				slices.Sort(x)
				low, high := x[(len(x)-1)/2], x[len(x)/2]
				dst[i] = math.Abs(b.Observed[i] - (float64(low/2) + float64(high/2)))
			}
		}
	}, nil
}

func rowsSamplePIT(dst []float64, b *metrics.Block) {
	m := b.Classes
	for i, y := range b.Observed[:b.Rows] {
		below, upTo := 0, 0
		for j := range m {
			x := b.Probs.At(i, j)
			if x < y {
				below++
			}
			if x <= y {
				upTo++
			}
		}
		dst[i] = float64(below+upTo+1) / float64(2*(m+1))
	}
}

// RowNames returns the names of this package's metrics with a value for each row of predictions of a kind, in the order of
// listings. It returns nil if there are none.
func RowNames(k metrics.Kind) []string {
	var l []string
	for i := range rowsTable {
		if m := &rowsTable[i]; m.kind == k {
			l = append(l, m.name)
		}
	}
	return l
}

// RowMetrics returns this package's metrics with a value for each row of predictions of a kind, without options: all of them
// or, if usual is set, a default set. levels are those of the quantiles, and nil for other kinds. Metrics that need missing
// levels are left out.
func RowMetrics(k metrics.Kind, levels []float64, usual bool) []metrics.RowMetric {
	var l []metrics.RowMetric
	for _, m := range rowsTable {
		if m.kind != k || usual && !m.usual || k == metrics.Quantiles && rowsCheck(levels) != nil {
			continue
		}
		if fresh, err := m.of(0, slices.Clone(levels)); err == nil {
			l = append(l, metrics.RowMetric{Name: m.name, Need: m.need, New: fresh})
		}
	}
	return l
}

// ParseRowMetric returns the metric with a given name, for example "crps" or "interval_score(level=0.5)", for predictions of
// a kind. Its values are the terms of a mean, row by row. levels are those of the quantiles, and nil for other kinds.
//
//	Normals    error           e = observed - mean
//	           abs_error       |e|
//	           squared_error   e^2
//	           nll             ln sd + z^2/2 + ln(2 pi)/2
//	           crps            sd (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi))
//	           z               e / sd
//	           pit             Phi(z): 0 if the observed value is far below the mean, 1 if it is far above
//	           twcrps          the threshold-weighted CRPS of WeightedCRPS; options from and to
//	           qwcrps          the quantile-weighted CRPS of WeightedCRPS; option emphasis, by default tails
//	           interval_score  of the central interval (l, u) of an option level, by default 0.9:
//	                           u - l + (2/(1-level)) (max(0, l-y) + max(0, y-u))
//	           interval_score_underprediction, interval_score_overprediction
//	                           its parts (2/(1-level)) max(0, y-u) and (2/(1-level)) max(0, l-y)
//	Quantiles  wis             (|y - median|/2 + sum over the pairs (a/2) interval_score(level=1-a)) / (pairs + 1/2);
//	                           without a median the sum over the pairs / pairs
//	           pinball         (1[y < x] - q)(x - y), for the level q of an option level; by default the mean over all levels
//	           twcrps, qwcrps, interval_score and its parts
//	                           as above
//	           ae_median       |y - median|
//	Samples    error, abs_error, squared_error
//	                           as for Normals, with the samples' mean
//	           twcrps, qwcrps  as above; twcrps also has the option fair
//	           ae_median       |observed - median|; for an even number of samples, the median is the mean of the middle two
//	           pit             (a + b + 1) / (2 (m + 1)), with a of m samples below the observed value and b at or below it: the
//	                           middle of the interval from which a randomized one is drawn
//
//	Multivariate
//	           energy_score, energy_score_fair, dawid_sebastiani
//	                           of Vectors; the last is NaN in a row whose covariance is singular
//	           variogram_score options order, by default 0.5, and weights: equal or inverse_distance
//
//	MultivariateNormals
//	           multivariate_nll, dawid_sebastiani
//	                           of NormalVectors
//
// The error wraps metrics.ErrNoRows if the kind has no metric of that name. Otherwise it says what is wrong with the option,
// or which quantile is missing. Levels are equal if they differ by at most 1e-9. The CRPS of samples is in package score. A
// metric of quantiles panics unless rows have one quantile per level. A value that overflows float64 is +Inf.
func ParseRowMetric(name string, k metrics.Kind, levels []float64) (metrics.RowMetric, error) {
	spelling := name
	name, inner, open := strings.Cut(strings.TrimSpace(name), "(")
	name = strings.TrimSpace(name)
	fail := func(err error) (metrics.RowMetric, error) {
		return metrics.RowMetric{}, fmt.Errorf("metric %s: %w", name, err)
	}
	at := slices.IndexFunc(rowsTable, func(m rowsMetric) bool { return m.kind == k && m.name == name })
	if at < 0 {
		return fail(metrics.ErrNoRows)
	}
	m := &rowsTable[at]
	switch {
	case weightedName(name):
		return parseWeighted(spelling, k, levels, NormalLaw)
	case k == metrics.Multivariate:
		return parseVector(spelling)
	}
	level := 0.0
	if open {
		var ok bool
		if inner, ok = strings.CutSuffix(inner, ")"); !ok || strings.ContainsAny(inner, "()") {
			return metrics.RowMetric{}, fmt.Errorf("%q: it is NAME or NAME(level=VALUE)", spelling)
		}
		option, v, _ := strings.Cut(inner, "=")
		option, v = strings.TrimSpace(option), strings.TrimSpace(v)
		switch {
		case option == "":
		case !m.level:
			return fail(fmt.Errorf("it takes no options"))
		case option != "level":
			return fail(fmt.Errorf("there is no option %q; there is level", option))
		default:
			p, err := strconv.ParseFloat(v, 64)
			if err != nil || !(p > 0 && p < 1) {
				return fail(fmt.Errorf("level is %q; it is a number between 0 and 1", v))
			}
			level, name = p, name+"(level="+strconv.FormatFloat(p, 'g', -1, 64)+")"
		}
	}
	if k == metrics.Quantiles {
		if err := rowsCheck(levels); err != nil {
			return fail(err)
		}
	}
	fresh, err := m.of(level, slices.Clone(levels))
	if err != nil {
		return fail(err)
	}
	return metrics.RowMetric{Name: name, Need: m.need, New: fresh}, nil
}

// LawRowMetric is ParseRowMetric for metrics.Normals that state means and standard deviations of a law: nll, crps, twcrps,
// qwcrps, pit, interval_score and its parts use that law.
func LawRowMetric(name string, l Law) (metrics.RowMetric, error) {
	if weightedName(name) {
		return parseWeighted(name, metrics.Normals, nil, l)
	}
	m, err := ParseRowMetric(name, metrics.Normals, nil)
	if err != nil || l == NormalLaw {
		return m, err
	}
	var of func(e, sd, z float64) float64
	switch base, option, _ := strings.Cut(m.Name, "("); base {
	case "nll":
		of = func(e, sd, _ float64) float64 { return l.NLL(e, sd) }
	case "crps":
		of = func(e, sd, _ float64) float64 { return l.CRPS(e, sd) }
	case "pit":
		of = func(_, _, z float64) float64 { return l.CDF(z) }
	case "interval_score", "interval_score_underprediction", "interval_score_overprediction":
		level := rowsDefaultLevel
		if _, v, ok := strings.Cut(strings.TrimSuffix(option, ")"), "="); ok {
			level, _ = strconv.ParseFloat(v, 64) // ParseRowMetric has formatted it
		}
		q, rule := l.Quantile((1+level)/2), map[string]intervalRule{"interval_score": rowsScore, "interval_score_underprediction": rowsUnder,
			"interval_score_overprediction": rowsOver}[base]
		of = func(e, sd, _ float64) float64 { half := float64(q * sd); return rule(-half, half, e, level) }
	default:
		return m, nil
	}
	m.New = func() rowsFunc {
		return func(dst []float64, b *metrics.Block) {
			for i := range dst {
				dst[i] = of(b.Normal.Error[i], b.Normal.SD[i], b.Normal.Z[i])
			}
		}
	}
	return m, nil
}

// rowsCheck returns an error unless levels are valid for quantiles.
func rowsCheck(levels []float64) error {
	last := 0.0
	for _, p := range levels {
		if !(p > last && p < 1) {
			return fmt.Errorf("levels of quantiles rise, and lie between 0 and 1; there is %g after %g", p, last)
		}
		last = p
	}
	if len(levels) == 0 {
		return fmt.Errorf("it needs the levels of the quantiles")
	}
	return nil
}
