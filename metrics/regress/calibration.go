package regress

import (
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// DefaultCalibrationBins is the default number of steps between levels: levels 0, 0.05, ..., 1.
const DefaultCalibrationBins = 20

const maxCalibrationBins = 10_000

func errCalibrationBins(bins int) error {
	return fmt.Errorf("regress: %d bins of a calibration curve; there are 1 to %d", bins, maxCalibrationBins)
}

// CalibrationOptions are options of a Calibration.
type CalibrationOptions struct {
	// Bins is the number B of steps for the levels j/B of Normals and Samples, 1 to 10,000; 0 means DefaultCalibrationBins.
	Bins int
	// Levels are the levels of Quantiles, one per quantile: rising, each between 0 and 1. Other kinds ignore them.
	Levels []float64
	// CurveOnly leaves out what Central needs. Normal forecasts then take half the time.
	CurveOnly bool
	// Law is the distribution of Normals; the zero value is the normal one.
	Law Law
}

// Calibration accumulates average calibration: how often the observed value y is at or below the forecast's quantile of each
// level, and how often it is within the central interval of each level. It is a metrics.Accumulator for these kinds, and
// panics for others:
//   - metrics.Normals: y <= the quantile at j/B, tested as (y - mean)/sd <= the quantile of CalibrationOptions.Law. At level
//     0 no row counts, and at level 1 all rows do.
//   - metrics.Quantiles: y <= the quantile, at the levels of the options.
//   - metrics.Samples: with r of the row's m samples below y, the row counts as p*(m+1) - r at level p, limited to [0,1]. If
//     p*(m+1) is a whole number, the row counts if y <= the sample of that rank. Between such levels, frequencies are
//     interpolated. If y is drawn from the same distribution as the samples, the expected frequency at any p is p, for any
//     m.
//
// Frequencies are the share of the rows; with weights, of the total weight, from exact sums. A value equal to a quantile
// counts as at or below it. Forecasts of small whole numbers have such ties, so their frequencies exceed the levels. A state
// takes 16 bytes per bin, or per quantile or sample of a row; with weights about 50.
//
// Source: Kuleshov, Fenner and Ermon 2018; LaplaceRedux's empirical_frequency_regression.
type Calibration struct {
	opt      CalibrationOptions // Bins is never 0
	kind     metrics.Kind
	width    int // numbers per row; 0 before the first row
	weighted bool
	count    tally.Weight

	// For Quantiles and Samples, upTo groups rows by how many of them are below y, and within by how many are at or below y.
	// For Normals, upTo groups rows by how many of the quantiles between 0 and 1 are below z = (y - mean)/sd, and within by
	// how many of the central intervals' ends are below |z|.
	upTo, within calibrationSteps

	edges, central []float64 // for Normals
	counts         []int64   // scratch
	sizes          []float64
}

var _ metrics.Accumulator = (*Calibration)(nil)

// NewCalibration returns an empty accumulator; o may be nil. It returns an error for options out of range.
func NewCalibration(o *CalibrationOptions) (*Calibration, error) {
	c := &Calibration{}
	if o != nil {
		c.opt = CalibrationOptions{o.Bins, slices.Clone(o.Levels), o.CurveOnly, o.Law}
	}
	if c.opt.Bins == 0 {
		c.opt.Bins = DefaultCalibrationBins
	}
	if c.opt.Bins < 1 || c.opt.Bins > maxCalibrationBins {
		return nil, errCalibrationBins(c.opt.Bins)
	}
	if !ValidLevels(c.opt.Levels) {
		return nil, errLevels
	}
	return c, nil
}

// Needs returns NeedRows.
func (c *Calibration) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows, with the same options.
func (c *Calibration) Empty() metrics.Accumulator { return metrics.Must(NewCalibration(&c.opt)) }

// Len returns the number of rows seen.
func (c *Calibration) Len() int64 { return c.count.N }

// begin takes the shape of the rows.
func (c *Calibration) begin(kind metrics.Kind, width int, weighted bool) {
	c.kind, c.width, c.weighted = kind, width, weighted
	upTo, within := c.sizesOf()
	c.upTo, c.within = newCalibrationSteps(upTo, weighted), newCalibrationSteps(within, weighted)
}

// sizesOf returns the numbers of groups of rows.
func (c *Calibration) sizesOf() (upTo, within int) {
	if c.kind == metrics.Normals {
		if c.opt.CurveOnly {
			return c.opt.Bins, 0
		}
		return c.opt.Bins, c.opt.Bins + 1
	}
	return c.width + 1, c.width + 1
}

// AddBlock adds a block's rows.
func (c *Calibration) AddBlock(b *metrics.Block) {
	if c.width == 0 {
		switch b.Kind {
		case metrics.Normals, metrics.Samples:
		case metrics.Quantiles:
			if len(c.opt.Levels) != b.Classes {
				panic("regress: calibration of quantiles takes one level a quantile")
			}
		default:
			panic("regress: calibration takes normal forecasts, quantiles or samples")
		}
		c.begin(b.Kind, b.Classes, b.Weights != nil)
	}
	c.count.Add(b.Rows, b.Weights)
	switch t := &b.Probs; {
	case b.Kind == metrics.Normals:
		c.addNormals(b)
	case t.F32 != nil:
		addCalibrationRows(c, b, t.F32)
	default:
		addCalibrationRows(c, b, t.F64)
	}
}

// addNormals adds the rows of a block of Normals.
func (c *Calibration) addNormals(b *metrics.Block) {
	if c.edges == nil {
		c.edges, c.central = calibrationEdges(c.opt.Bins, c.opt.Law)
	}
	z := b.Normal.Z[:b.Rows]
	if c.opt.CurveOnly {
		for i, w := range b.Weights {
			c.upTo.w[calibrationBelow(c.edges, z[i])].AddFloat(w)
		}
		if b.Weights == nil {
			c.upTo.countUpTo(z, c.edges, &c.counts)
		}
		return
	}
	if cap(c.sizes) < b.Rows {
		c.sizes = make([]float64, b.Rows)
	}
	sizes := c.sizes[:b.Rows]
	for i, v := range z {
		sizes[i] = math.Abs(v)
	}
	if b.Weights != nil {
		for i, w := range b.Weights {
			c.upTo.w[calibrationBelow(c.edges, z[i])].AddFloat(w)
			c.within.w[calibrationBelow(c.central, sizes[i])].AddFloat(w)
		}
		return
	}
	c.upTo.countUpTo(z, c.edges, &c.counts)
	c.within.countUpTo(sizes, c.central, &c.counts)
}

// calibrationEdges returns the law's quantiles at the levels j/bins between 0 and 1, symmetric to the bit, and the half
// widths of its central intervals at the levels j/bins below 1.
func calibrationEdges(bins int, law Law) (edges, central []float64) {
	edges, central = make([]float64, bins-1), make([]float64, bins)
	for j := range bins / 2 {
		z := law.Quantile(float64(j+1) / float64(bins))
		edges[bins-2-j], edges[j] = -z, z
	}
	for j := range central {
		central[j] = -law.Quantile(float64(bins-j) / float64(2*bins))
	}
	return edges, central
}

// addCalibrationRows adds the rows of a block of Quantiles or Samples.
func addCalibrationRows[T float32 | float64](c *Calibration, b *metrics.Block, x []T) {
	for i, y := range b.Observed {
		row := x[i*b.Probs.Stride:][:b.Classes]
		var below, upTo int
		if c.kind == metrics.Quantiles {
			below = calibrationBelow(row, y)
			for upTo = below; upTo < len(row) && float64(row[upTo]) == y; upTo++ {
			}
		} else {
			below, upTo = calibrationRank(row, y)
		}
		if b.Weights != nil {
			c.upTo.w[below].AddFloat(b.Weights[i])
			c.within.w[upTo].AddFloat(b.Weights[i])
		} else {
			c.upTo.n[below]++
			c.within.n[upTo]++
		}
	}
}

// calibrationRank returns how many numbers are below v, and how many are at or below it. It has no branches, because they
// would be unpredictable here.
func calibrationRank[T float32 | float64](row []T, v float64) (below, upTo int) {
	for _, x := range row {
		var a, b int
		if float64(x) < v {
			a = 1
		}
		if float64(x) <= v {
			b = 1
		}
		below += a
		upTo += b
	}
	return below, upTo
}

// calibrationBelow returns how many of the sorted numbers are below v, by a binary search without branches.
func calibrationBelow[T float32 | float64](rising []T, v float64) int {
	base := 0
	for n := len(rising); n > 0; {
		half := (n + 1) >> 1
		below := 0
		if float64(rising[base+half-1]) < v {
			below = 1
		}
		base += half & -below
		n -= half
	}
	return base
}

// Merge adds what another *Calibration has seen.
func (c *Calibration) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Calibration](calibrationFormat, a)
	switch {
	case err != nil:
		return err
	case c.opt.Bins != o.opt.Bins:
		return state.Mismatch(calibrationFormat, "of %d bins and of %d", c.opt.Bins, o.opt.Bins)
	case c.opt.CurveOnly != o.opt.CurveOnly:
		return state.Mismatch(calibrationFormat, "with central intervals and of the curve only")
	case !slices.Equal(c.opt.Levels, o.opt.Levels):
		return state.Mismatch(calibrationFormat, "of the levels %v and of %v", c.opt.Levels, o.opt.Levels)
	case c.opt.Law != o.opt.Law:
		return alikeLaws(c.opt.Law, o.opt.Law, calibrationFormat)
	case o.width == 0:
		return nil
	case c.width == 0:
		c.begin(o.kind, o.width, o.weighted)
	case c.kind != o.kind:
		return state.Mismatch(calibrationFormat, "of %v and of %v", c.kind, o.kind)
	case c.width != o.width:
		return state.Mismatch(calibrationFormat, "of %d numbers a row and of %d", c.width, o.width)
	case c.weighted != o.weighted:
		return state.Mismatch(calibrationFormat, "with and without weights")
	}
	c.count.Merge(&o.count)
	c.upTo.merge(&o.upTo)
	c.within.merge(&o.within)
	return nil
}

// Curve returns the frequencies with which y was at or below the quantile of each level. Levels are Levels(Bins), or for
// Quantiles the levels of the options. Frequencies are NaN without rows.
func (c *Calibration) Curve() Curve {
	l := c.levels()
	k := Curve{Levels: l, Frequencies: make([]float64, len(l)), N: c.count.Effective(c.weighted)}
	if c.count.N == 0 {
		for j := range l {
			k.Frequencies[j] = math.NaN()
		}
		return k
	}
	f := c.upTo.frequencies(&c.count)
	for j := range l {
		switch c.kind {
		case metrics.Normals:
			k.Frequencies[j] = f[j]
		case metrics.Quantiles:
			k.Frequencies[j] = f[j+1]
		default:
			k.Frequencies[j] = calibrationBetween(f, j, c.opt.Bins)
		}
	}
	return k
}

func (c *Calibration) levels() []float64 {
	if c.kind == metrics.Quantiles && c.width > 0 {
		return slices.Clone(c.opt.Levels)
	}
	return Levels(c.opt.Bins)
}

// Central returns coverages: the frequencies with which y was within the central interval of each level p, from the quantile
// at (1-p)/2 to that at (1+p)/2, ends included. Levels are Levels(Bins); for Quantiles they are the differences of two
// levels that sum to 1, or none if there are no such pairs. Its area equals the default of uncertainty-toolbox's
// miscalibration_area, and its RootMeanSquare that library's root mean squared calibration error. Central panics for normal
// forecasts if CalibrationOptions.CurveOnly is set.
func (c *Calibration) Central() Curve {
	if c.opt.CurveOnly && c.kind == metrics.Normals {
		panic("regress: a Calibration with CurveOnly has no central intervals of normal forecasts")
	}
	k := Curve{N: c.count.Effective(c.weighted)}
	if c.kind == metrics.Quantiles && c.width > 0 {
		upTo, below := c.upTo.frequencies(&c.count), c.within.frequencies(&c.count)
		for _, p := range calibrationPairs(c.opt.Levels) {
			k.Levels = append(k.Levels, p.level)
			k.Frequencies = append(k.Frequencies, upTo[p.high+1]-below[p.low+1])
		}
		return k
	}
	k.Levels = Levels(c.opt.Bins)
	k.Frequencies = make([]float64, len(k.Levels))
	if c.count.N == 0 {
		for j := range k.Frequencies {
			k.Frequencies[j] = math.NaN()
		}
		return k
	}
	within := c.within.frequencies(&c.count)
	if c.kind == metrics.Normals {
		copy(k.Frequencies, within[1:])
		return k
	}
	upTo, b := c.upTo.frequencies(&c.count), c.opt.Bins
	for j := range k.Frequencies {
		k.Frequencies[j] = max(0, calibrationBetween(upTo, b+j, 2*b)-calibrationBetween(within, b-j, 2*b)) // rounding may give less
	}
	return k
}

// calibrationBetween returns the frequency at the level j/bins for rows of samples; f[k] is the share of the rows with fewer
// than k samples below y.
func calibrationBetween(f []float64, j, bins int) float64 {
	at := j * (len(f) - 1)
	k, rest := at/bins, at%bins
	if rest == 0 {
		return f[k]
	}
	return f[k] + float64(float64(rest)/float64(bins)*(f[k+1]-f[k]))
}

// calibrationPair is the positions of two levels that sum to 1, and the distance between these levels.
type calibrationPair struct {
	low, high int
	level     float64
}

// calibrationPairs returns the pairs of levels that sum to 1 within 1e-9, the narrowest first.
func calibrationPairs(levels []float64) (pairs []calibrationPair) {
	for i, j := 0, len(levels)-1; i <= j; {
		switch s := levels[i] + levels[j]; {
		case s < 1-1e-9:
			i++
		case s > 1+1e-9:
			j--
		default:
			pairs = append(pairs, calibrationPair{i, j, levels[j] - levels[i]})
			i, j = i+1, j-1
		}
	}
	slices.Reverse(pairs)
	return pairs
}

var calibrationFormat = exact.Format{Name: "regress.Calibration", Magic: "rCAL", Version: 2}

func (c *Calibration) fields(f *exact.Fields) {
	width := uint64(c.width)
	f.Flags(&c.weighted, &c.opt.CurveOnly)
	f.Int(&c.opt.Bins)
	levelFields(f, &c.opt.Levels)
	c.opt.Law.fields(f)
	exact.Byte(f, &c.kind)
	f.U64(&width)
	c.count.Fields(f)
	c.upTo.fields(f, c.weighted)
	c.within.fields(f, c.weighted)
	f.Must(width <= math.MaxInt32, exact.OutOfRange)
	if f.Reading() && f.OK() {
		c.width = int(width)
		f.Must(c.sound(), exact.OutOfRange)
	}
}

// AppendBinary appends the state.
func (c *Calibration) AppendBinary(dst []byte) ([]byte, error) {
	return calibrationFormat.Append(dst, c.fields)
}

// UnmarshalBinary replaces c, including its options, with a state that AppendBinary wrote.
func (c *Calibration) UnmarshalBinary(data []byte) error {
	return exact.Replace(calibrationFormat, data, c, (*Calibration).fields)
}

// sound reports whether the fields of a state are consistent.
func (c *Calibration) sound() bool {
	if c.opt.Bins < 1 || c.opt.Bins > maxCalibrationBins || !ValidLevels(c.opt.Levels) {
		return false
	}
	if c.width == 0 {
		return c.kind == 0 && !c.weighted && c.count.N == 0 && c.count.W.IsZero() && c.count.W2.IsZero() &&
			c.upTo.len() == 0 && c.within.len() == 0
	}
	if w, w2 := c.count.W.Sign(), c.count.W2.Sign(); c.weighted && (w <= 0 || w2 <= 0) || !c.weighted && (w != 0 || w2 != 0) {
		return false
	}
	switch c.kind {
	case metrics.Normals:
		if c.width != 2 && c.width != 3 {
			return false
		}
	case metrics.Quantiles:
		if c.width != len(c.opt.Levels) {
			return false
		}
	case metrics.Samples:
	default:
		return false
	}
	upTo, within := c.sizesOf()
	total := c.count.Total(c.weighted)
	return c.count.N > 0 && c.upTo.len() == upTo && c.within.len() == within && c.upTo.sums(&total) && (within == 0 || c.within.sums(&total)) &&
		(c.kind == metrics.Normals || c.upTo.leads(&c.within)) // at least as many samples are at or below y as below it
}
