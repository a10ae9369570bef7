package recal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// Quantile is isotonic quantile recalibration. The quantile of level u of a forecast F becomes its quantile of level R(u), where
//
//	R(u) = share of the fitted rows with F(observed) <= u
//
// R rises, so it is its own isotonic regression. The recalibrated quantile of level p is F's quantile of level R^-1(p). With n rows in order
// of F(observed), row i has the level (i - 1/2)/n; with weights, the level is the share of the weight below it plus half its own. Between
// rows R is linear. Below the first row it goes to R(0) = 0, and above the last to R(1) = 1.
//
// It accepts three kinds of forecasts and converts them to metrics.Quantiles:
//
//	metrics.Normals    R is a function of the deviate z = (observed - mean)/sd, with u = Phi(z), so R^-1(p) is the p-quantile of z
//	                   (Hazen's, type 5 of Hyndman and Fan 1996), however far off forecasts are.
//	metrics.Quantiles  F is linear between the quantiles. Where the observed value equals one or more of them, u is the middle of their
//	                   levels. Below the lowest quantile, where F is unknown, u is half its level; above the highest it is the middle
//	                   of its level and 1.
//	metrics.Samples    The sorted samples are quantiles of the levels 1/(m+1), ..., m/(m+1).
//
// Fit reads the data once, in memory that does not grow with the rows. It keeps count, weight, minimum and maximum for each of many cells,
// 2^-14 of 1 + u or of 1 + |z| wide or narrower. R^-1 is exact where its cell has fewer than three rows. Otherwise it is off by less than
// 2^-14 in u, or 2^-15 for normal forecasts, for any number of rows.
//
// Source: Kuleshov, Fenner and Ermon 2018.
type Quantile struct {
	// Levels of the quantiles that the map returns, rising between 0 and 1 as required by regress.ValidLevels. For
	// metrics.Quantiles they are also the levels of the given quantiles. nil means 0.05, 0.1, ..., 0.95. Invalid levels
	// are an error of Fit.
	Levels []float64
}

// String returns "quantile", followed by the levels, if set, separated by spaces: "quantile(levels=0.1 0.5 0.9)".
func (m Quantile) String() string {
	var l []string
	for _, p := range m.Levels {
		l = append(l, strconv.FormatFloat(p, 'g', -1, 64))
	}
	if l == nil {
		return "quantile"
	}
	return spelled("quantile", "levels="+strings.Join(l, " "))
}

func (m Quantile) with(option, value string) (Method, error) {
	if option != "levels" {
		return m, noOption(option, "levels")
	}
	m.Levels = nil
	for _, s := range strings.Fields(value) {
		p, err := readNumber(option, s, 0, 1)
		if err != nil {
			return m, err
		}
		m.Levels = append(m.Levels, p)
	}
	if len(m.Levels) == 0 || !regress.ValidLevels(m.Levels) {
		return m, fmt.Errorf("%s is %q; they rise between 0 and 1, with spaces between them: 0.1 0.5 0.9", option, value)
	}
	return m, nil
}

// levels returns the levels of the results.
func (m Quantile) levels() []float64 {
	if m.Levels != nil {
		return m.Levels
	}
	l := make([]float64, 19)
	for i := range l {
		l[i] = float64(i+1) / 20
	}
	return l
}

// Fit returns the map of the rows' levels, a *QuantileMap.
func (m Quantile) Fit(d Data, o *Options) (Map, error) {
	if m.Levels != nil && (len(m.Levels) == 0 || !regress.ValidLevels(m.Levels)) {
		return nil, errors.New("recal: the levels of quantiles have to rise between 0 and 1")
	}
	m.Levels = slices.Clone(m.Levels)
	t := &transforms{levels: m.levels()}
	s, err := look(d, o, t)
	if err != nil {
		return nil, err
	}
	switch s.kind {
	case metrics.Normals, metrics.Samples:
	case metrics.Quantiles:
		if s.fit.Classes != len(t.levels) {
			return nil, fmt.Errorf("quantile: a row has %d quantiles, and there are %d levels; say those of the quantiles",
				s.fit.Classes, len(t.levels))
		}
	default:
		return nil, fmt.Errorf("quantile is for regression forecasts (kinds %v, %v and %v), and these are %v",
			metrics.Normals, metrics.Quantiles, metrics.Samples, s.kind)
	}
	at := t.inverse(t.levels, s.kind == metrics.Normals)
	return &QuantileMap{m: m, fit: s.fit, kind: s.kind, levels: t.levels, at: at}, nil
}

// transforms counts rows by their probability integral transform; for normal forecasts by the deviate. It is not part of a
// state.
type transforms struct {
	levels []float64
	rows   int64
	cells  gridCells
	buf    []float64
}

func (t *transforms) Needs() metrics.Need        { return metrics.NeedRows }
func (t *transforms) Empty() metrics.Accumulator { return &transforms{levels: t.levels} }
func (t *transforms) Len() int64                 { return t.rows }

func (t *transforms) AddBlock(b *metrics.Block) {
	levels := t.levels
	switch {
	case b.Kind == metrics.Samples:
		levels = sampleLevels(b.Classes)
	case b.Kind != metrics.Normals && (b.Kind != metrics.Quantiles || b.Classes != len(levels)):
		return // Fit returns an error for these
	}
	t.rows += int64(b.Rows)
	for i := range b.Rows {
		var x float64
		if b.Kind == metrics.Normals {
			x = bounded(b.Normal.Z[i], -math.MaxFloat64, math.MaxFloat64)
		} else {
			x = levelOf(t.row(b, i), levels, b.Observed[i])
		}
		if b.Weights != nil {
			t.cells.addWeighted(x, b.Weights[i])
		} else {
			t.cells.add(x)
		}
	}
}

// row returns row i of a block, in rising order.
func (t *transforms) row(b *metrics.Block, i int) []float64 {
	p := &b.Probs
	if p.F64 != nil && b.Kind == metrics.Quantiles {
		return p.F64[i*p.Stride:][:p.Width]
	}
	t.buf = p.Row(slices.Grow(t.buf[:0], p.Width), i)
	if b.Kind == metrics.Samples {
		slices.Sort(t.buf)
	}
	return t.buf
}

func (t *transforms) Merge(a metrics.Accumulator) error {
	o := a.(*transforms)
	t.rows += o.rows
	t.cells.merge(&o.cells)
	return nil
}

func (t *transforms) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (t *transforms) UnmarshalBinary([]byte) error          { return nil }

// sampleLevels returns the levels of m sorted samples.
func sampleLevels(m int) []float64 {
	l := make([]float64, m)
	for i := range l {
		l[i] = float64(i+1) / float64(m+1)
	}
	return l
}

// levelOf returns F(y) for the F with these quantiles.
func levelOf(q, levels []float64, y float64) float64 {
	below, _ := slices.BinarySearch(q, y)
	to := below
	for to < len(q) && q[to] == y {
		to++
	}
	switch {
	case to > below:
		return (levels[below] + levels[to-1]) / 2
	case to == 0:
		return levels[0] / 2
	case to == len(q):
		return (1 + levels[to-1]) / 2
	}
	lo, hi := q[to-1], q[to]
	if hi-lo > math.MaxFloat64 {
		lo, hi, y = math.Ldexp(lo, -1), math.Ldexp(hi, -1), math.Ldexp(y, -1)
	}
	return partBetween(levels[to-1], levels[to], (y-lo)/(hi-lo))
}

// partBetween returns the number at this fraction of the way from a to b, for a <= b.
func partBetween(a, b, fraction float64) float64 {
	return bounded(float64(a*(1-fraction))+float64(b*fraction), a, b)
}

// inverse returns R^-1 at rising levels, as deviates or as levels of the forecasts.
func (t *transforms) inverse(levels []float64, deviates bool) []float64 {
	at := make([]float64, 0, len(levels))
	total := t.cells.total()
	var x, mass, half float64 // the previous knot: x, the rows below it plus half of its own, and this half
	put := func(to, upTo float64) {
		for len(at) < len(levels) {
			p := float64(levels[len(at)] * total)
			if p > upTo {
				break
			}
			if mass == 0 {
				at = append(at, tail(to, p/upTo, deviates))
			} else {
				at = append(at, partBetween(x, to, (p-mass)/(upTo-mass)))
			}
		}
		x, mass = to, upTo
	}
	t.cells.visit(func(c *cell, below, upTo float64) {
		half = (upTo - below) / float64(2*c.rows)
		put(c.least, below+half)
		if c.rows > 1 {
			put(c.most, upTo-half)
		}
	})
	for _, p := range levels[len(at):] {
		above := float64((1-p)*total) / half
		if deviates {
			at = append(at, -tail(-x, above, true))
		} else {
			at = append(at, 1-tail(1-x, above, false))
		}
	}
	for i := 1; i < len(at); i++ {
		at[i] = max(at[i], at[i-1]) // only rounding could make it smaller
	}
	return at
}

// tail returns the level, or its deviate, at this fraction of the way from level 0 to that of x.
func tail(x, fraction float64, deviates bool) float64 {
	fraction = min(fraction, 1)
	if !deviates {
		return float64(x * fraction)
	}
	z := kernel.NormQuantile64(float64(kernel.NormCDF64(x) * fraction))
	if z < -math.MaxFloat64 {
		return x // Phi is 0 there
	}
	return min(z, x)
}

// A cell holds the numbers x with the same leading bits of 1 + |x|: its octave and the next cellBits bits. The last octave
// also holds everything beyond it.
const (
	cellBits = 14
	octaves  = 32
	inOctave = 1 << cellBits
)

type cell struct {
	rows        int64
	least, most float64
}

// gridCells holds the cells of each octave in rising order of x, and their weights.
type gridCells struct {
	of      [2 * octaves][]cell
	weights [2 * octaves][]exact.Sum
}

// place returns the octave and the cell of x.
func place(x float64) (octave, i int) {
	const one = 0x3ff << 52
	key := int((math.Float64bits(1+min(math.Abs(x), 1<<(octaves-1))) - one) >> (52 - cellBits))
	octave, i = key>>cellBits, key&(inOctave-1)
	if x < 0 {
		return octaves - 1 - octave, inOctave - 1 - i
	}
	return octaves + octave, i
}

func (c *gridCells) add(x float64) (octave, i int) {
	octave, i = place(x)
	if c.of[octave] == nil {
		c.of[octave] = make([]cell, inOctave)
	}
	c.of[octave][i].merge(&cell{1, x, x})
	return octave, i
}

func (c *gridCells) addWeighted(x, w float64) {
	octave, i := c.add(x)
	if c.weights[octave] == nil {
		c.weights[octave] = make([]exact.Sum, inOctave)
	}
	c.weights[octave][i].AddFloat(w) // exact: weights are multiples of 2^-84
}

func (c *cell) merge(o *cell) {
	if o.rows == 0 {
		return
	}
	if c.rows == 0 {
		*c = *o
		return
	}
	c.rows, c.least, c.most = c.rows+o.rows, min(c.least, o.least), max(c.most, o.most)
}

func (c *gridCells) merge(o *gridCells) {
	for octave, from := range o.of {
		if from == nil {
			continue
		}
		if c.of[octave] == nil {
			c.of[octave], c.weights[octave] = from, o.weights[octave]
			continue
		}
		for i := range from {
			c.of[octave][i].merge(&from[i])
		}
		for i := range o.weights[octave] {
			c.weights[octave][i].Merge(&o.weights[octave][i])
		}
	}
}

// visit calls f for each nonempty cell in rising order of x, with the weight below it and up to its end.
func (c *gridCells) visit(f func(c *cell, below, upTo float64)) {
	var sum exact.Sum
	below := 0.0
	for octave := range c.of {
		for i := range c.of[octave] {
			k := &c.of[octave][i]
			if k.rows == 0 {
				continue
			}
			if w := c.weights[octave]; w != nil {
				sum.Merge(&w[i])
			} else {
				sum.AddShifted(k.rows, 88) // as an integer
			}
			upTo := sum.Float64()
			f(k, below, upTo)
			below = upTo
		}
	}
}

func (c *gridCells) total() (w float64) {
	c.visit(func(_ *cell, _, upTo float64) { w = upTo })
	return w
}

// QuantileMap is a map fitted by Quantile: the quantile at level p becomes the forecast's quantile at R^-1(p). In a file its parameters are
//
//	levels  Levels
//	at      R^-1 of each level, non-decreasing: for metrics.Normals as a standard normal deviate, otherwise as a level
type QuantileMap struct {
	m          Quantile
	fit        Fit
	kind       metrics.Kind
	levels, at []float64
}

type quantileFile struct {
	Levels []float64 `json:"levels"`
	At     []float64 `json:"at"`
}

var _ Map = (*QuantileMap)(nil)

// Levels returns the levels of the quantiles that the map makes.
func (f *QuantileMap) Levels() []float64 { return slices.Clone(f.levels) }

// Predicted returns, for each of Levels, the level R^-1 that the forecasts themselves give to it. The two are equal for
// calibrated forecasts. For normal forecasts that are far off, a level close to 0 or 1 is rounded to 0 or 1; the map itself
// does not round.
func (f *QuantileMap) Predicted() []float64 {
	p := slices.Clone(f.at)
	if f.kind == metrics.Normals {
		for i, z := range p {
			p[i] = kernel.NormCDF64(z)
		}
	}
	return p
}

// Method returns "quantile", with the levels if they were set.
func (f *QuantileMap) Method() string { return f.m.String() }

// Fit describes the rows that the map was fitted to.
func (f *QuantileMap) Fit() Fit { return f.fit }

// Out returns metrics.Quantiles at Levels. The map accepts rows of the kind that it was fitted to: normal forecasts with two
// or three numbers, any number of samples, or quantiles at Levels.
func (f *QuantileMap) Out(k metrics.Kind, classes int) (metrics.Kind, int, error) {
	ok, want := k == f.kind, f.kind.String()
	switch f.kind {
	case metrics.Normals:
		ok, want = ok && (classes == 2 || classes == 3), want+", 2 or 3 numbers a row"
	case metrics.Samples:
		ok = ok && classes > 0
	default:
		ok, want = ok && classes == len(f.levels), fmt.Sprintf("%s, %d a row", want, len(f.levels))
	}
	if !ok {
		return 0, 0, fmt.Errorf("this quantile map takes forecasts of the kind that it was fitted to (%s), and these are %v of %d",
			want, k, classes)
	}
	return metrics.Quantiles, len(f.levels), nil
}

// Apply writes the recalibrated quantiles at Levels. They never decrease within a row:
//   - metrics.Normals: mean + sd*z, where z is the deviate of R^-1(level). For rows of two numbers the mean is 0, and the quantiles are
//     those of observed - mean. An overflow of dst's type becomes its largest number.
//   - metrics.Quantiles and metrics.Samples: linear interpolation between the forecast's own quantiles, and constant beyond the lowest
//     and the highest, since nothing is known there.
//
// For a row with NaN or an infinite number, or a standard deviation that is not above 0, all results are NaN.
func (f *QuantileMap) Apply(dst, src *metrics.Scores, k metrics.Kind) {
	checkApply(f.Out, dst, src, k)
	width := dst.Classes
	most := math.MaxFloat64
	if dst.F64 == nil {
		most = math.MaxFloat32
	}
	spots := f.spots(src.Classes)
	step := max(1, 1024/max(width, src.Classes))
	from, to := make([]float64, step*src.Classes), make([]float64, step*width)
	for lo := 0; lo < src.Rows; lo += step {
		hi := min(lo+step, src.Rows)
		src.Widen(from, lo, hi)
		for i := range hi - lo {
			x, q := from[i*src.Classes:][:src.Classes], to[i*width:][:width]
			odd := 0.0
			for _, v := range x {
				odd += v - v
			}
			if odd != 0 || k == metrics.Normals && x[1] <= 0 {
				for j := range q {
					q[j] = nan
				}
				continue
			}
			if k == metrics.Normals {
				f.normal(q, x, most)
				continue
			}
			if k == metrics.Samples {
				slices.Sort(x)
			}
			for j, s := range spots {
				v := bounded(partBetween(x[s.lo], x[s.hi], s.fraction), -most, most)
				if j > 0 && v < q[j-1] {
					v = q[j-1] // only rounding could make it smaller
				}
				q[j] = v
			}
		}
		store(dst, to, lo, hi)
	}
}

// normal writes the quantiles of a normal forecast.
func (f *QuantileMap) normal(q, x []float64, most float64) {
	mean := 0.0
	if len(x) == 3 {
		mean = x[0]
	}
	for j, z := range f.at {
		q[j] = bounded(mean+float64(x[1]*z), -most, most)
	}
}

// spot locates a quantile among the numbers of a forecast: at a fraction of the way from one to the next.
type spot struct {
	lo, hi   int
	fraction float64
}

// spots locates the results among n numbers.
func (f *QuantileMap) spots(n int) []spot {
	levels := f.levels
	switch f.kind {
	case metrics.Normals:
		return nil
	case metrics.Samples:
		levels = sampleLevels(n)
	}
	l := make([]spot, len(f.at))
	for j, u := range f.at {
		above, _ := slices.BinarySearch(levels, u)
		switch above {
		case 0:
		case n:
			l[j] = spot{n - 1, n - 1, 0}
		default:
			a, b := levels[above-1], levels[above]
			l[j] = spot{above - 1, above, (u - a) / (b - a)}
		}
	}
	return l
}

// observedOf returns the observed numbers of a chunk of normal forecasts, which accompany the quantiles that a map makes of
// them.
func observedOf(c *metrics.Chunk) []float64 {
	x, y := make([]float64, c.Rows*c.Classes), make([]float64, c.Rows)
	c.Scores.Widen(x, 0, c.Rows)
	for i := range y {
		if y[i] = x[i*c.Classes]; c.Classes == 3 {
			y[i] = x[i*3+2]
		}
	}
	return y
}

func (f *QuantileMap) parameters() any { return quantileFile{f.levels, f.at} }

func (m Quantile) decode(f Fit, parameters json.RawMessage) (Map, error) {
	var p quantileFile
	if err := strict(parameters, &p); err != nil {
		return nil, err
	}
	q := &QuantileMap{m: m, fit: f, levels: p.Levels, at: p.At}
	known := false
	for _, k := range []metrics.Kind{metrics.Normals, metrics.Quantiles, metrics.Samples} {
		if f.Kind == k.String() {
			q.kind, known = k, true
		}
	}
	switch {
	case !known:
		return nil, errors.New("kind is not one of regression forecasts")
	case !slices.Equal(p.Levels, m.levels()):
		return nil, errors.New("levels differ from those of the method")
	case len(p.At) != len(p.Levels) || !slices.IsSorted(p.At):
		return nil, errors.New("at needs a number for each of the levels, in rising order")
	case q.kind != metrics.Normals && (p.At[0] < 0 || p.At[len(p.At)-1] > 1):
		return nil, errors.New("at is outside [0, 1], and the map is not of normal forecasts")
	}
	return q, nil
}
