package recal

import (
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// columnRows is the largest number of rows in the columns of a tile. tileBytes is about the size of the scores of a tile,
// which are read several times.
const (
	columnRows = 1024
	tileBytes  = 256 << 10
)

// temperedRows computes the columns of kernel.Tempered, tile by tile, for the rows of a chunk. It belongs to one goroutine.
type temperedRows struct {
	kernel.Tempered

	chunk *metrics.Chunk
	at, n int
	tile  []float64 // logits, unless the kernels read the scores as they are stored
}

func newTemperedRows() *temperedRows {
	f := func() []float64 { return make([]float64, columnRows) }
	return &temperedRows{Tempered: kernel.Tempered{NLL: f(), Slope: f(), Curvature: f(), Label: f()}}
}

// load selects rows of the chunk from at on, and returns their number.
func (t *temperedRows) load(c *metrics.Chunk, at int) int {
	t.chunk, t.at, t.n = c, at, min(c.Rows-at, rowsATile(c.Classes))
	if c.Classes == 1 || c.Kind == metrics.Probs {
		t.fill()
	}
	return t.n
}

// rowsATile returns the number of rows in a tile.
func rowsATile(classes int) int { return min(columnRows, max(1, tileBytes/(8*classes))) }

// fill writes the logits of the rows to the tile.
func (t *temperedRows) fill() {
	c := t.chunk
	if n := t.n * c.Classes; len(t.tile) < n {
		t.tile = make([]float64, n)
	}
	logits(t.tile, &c.Scores, c.Kind, t.at, t.at+t.n)
}

// columns computes the columns of the rows at beta > 0.
func (t *temperedRows) columns(beta float64) {
	c := t.chunk
	k, labels := c.Classes, c.Labels[t.at:t.at+t.n]
	stride := max(k, c.Stride)
	from, to := t.at*stride, (t.at+t.n-1)*stride+k
	switch {
	case k == 1:
		for i, y := range labels {
			m := margin(t.tile[i], y)
			t.NLL[i], t.Slope[i], t.Curvature[i] = binaryTempered(m, beta)
			t.Label[i] = min(m, 0)
		}
	case c.Kind == metrics.Probs:
		kernel.TemperedF64(&t.Tempered, t.tile, t.n, k, k, labels, beta)
	case c.F32 != nil:
		kernel.TemperedF32(&t.Tempered, c.F32[from:to], t.n, k, stride, labels, beta)
	case c.F64 != nil:
		kernel.TemperedF64(&t.Tempered, c.F64[from:to], t.n, k, stride, labels, beta)
	case c.F16 != nil:
		kernel.TemperedF16(&t.Tempered, c.F16[from:to], t.n, k, stride, labels, beta)
	default:
		kernel.TemperedBF16(&t.Tempered, c.BF16[from:to], t.n, k, stride, labels, beta)
	}
}

// weight returns the weight of row i of the tile. It is 0 if the row does not count: it is absent, or its label has
// probability 0. The columns must have been computed.
func (t *temperedRows) weight(i int) float64 {
	w := 1.0
	if t.chunk.Weights != nil {
		w = t.chunk.Weights[t.at+i]
	}
	if w > 0 && math.IsInf(t.Label[i], -1) && !t.apart(i) {
		return 0
	}
	return w
}

// apart reports whether the label's logit of row i is -Inf relative to the largest only because of overflow.
func (t *temperedRows) apart(i int) bool {
	c := t.chunk
	if c.F64 == nil || c.Classes == 1 || c.Kind == metrics.Probs {
		return false
	}
	i += t.at
	return !math.IsInf(c.F64[i*max(c.Classes, c.Stride)+int(c.Labels[i])], -1)
}

// margin returns the logit of a binary task with the sign that is positive on the label's side.
func margin(z float64, label int32) float64 {
	if label == 1 {
		return z
	}
	return -z
}

// binaryTempered returns the columns of a row with margin m.
func binaryTempered(m, beta float64) (nll, slope, curvature float64) {
	if math.IsInf(m, 1) {
		return 0, 0, 0
	}
	a := math.Abs(m)
	s := float64(beta * a)
	e := kernel.Exp64(-s)
	nll, slope = kernel.Log1p64(e), 0-float64(a*(e/(1+e)))
	if m < 0 {
		nll, slope = s+nll, a/(1+e)
	}
	return nll, slope, float64(a/(1+e)*a) * (e / (1 + e))
}

// likelihood is the likelihood of the labels as a function of beta, the inverse temperature, evaluated by reading the data.
type likelihood struct {
	d     Data
	o     *Options
	fit   Fit
	reads int
}

// newLikelihood reads the data for the first time and checks them.
func newLikelihood(d Data, o *Options) (*likelihood, error) {
	s, err := look(d, o)
	if err != nil {
		return nil, err
	}
	if err := hasLogits("a temperature", s.kind); err != nil {
		return nil, err
	}
	l := &likelihood{d: d, o: o, fit: s.fit, reads: 1}
	if l.fit.LeftOut == l.fit.Rows {
		return nil, noneCounts(&l.fit)
	}
	return l, nil
}

// visit reads the data once. Each goroutine has its own rows, and calls the result of newTile for each tile.
func (l *likelihood) visit(newTile func(t *temperedRows) func()) error {
	l.reads++
	return each(l.d, l.o, func() func(*metrics.Chunk) {
		t := newTemperedRows()
		tile := newTile(t)
		return func(c *metrics.Chunk) {
			for at := 0; at < c.Rows; {
				at += t.load(c, at)
				tile()
			}
		}
	})
}

// sums holds exact sums and a flag for each goroutine, which are combined at the end.
type sums struct {
	mu    sync.Mutex
	all   [][]exact.Sum
	flags []*bool
}

// own returns n sums and a flag for one goroutine.
func (s *sums) own(n int) ([]exact.Sum, *bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, flag := make([]exact.Sum, n), new(bool)
	s.all, s.flags = append(s.all, own), append(s.flags, flag)
	return own, flag
}

// flagged reports whether a goroutine has set its flag.
func (s *sums) flagged() bool { return slices.ContainsFunc(s.flags, func(b *bool) bool { return *b }) }

// total returns the sums over all goroutines.
func (s *sums) total() []exact.Sum {
	for _, own := range s.all[1:] {
		for i := range own {
			// The result is false only far beyond the range of float64.
			s.all[0][i].Merge(&own[i])
		}
	}
	return s.all[0]
}

// moments holds exact sums over the rows that count, of terms that are weighted and rounded row by row.
type moments struct {
	slope, curvature float64 // of the NLL
	squares          float64 // of (weight * slope)^2
	below            float64 // distance of the mean logit below the largest
	gap, missed      float64 // distance of the label's logit below the largest, and weights of the rows where it is below
}

var errTooFar = errors.New("the logits differ by less than 1e-150 or by more than 1e150: multiply them by a power of ten")

// at returns the moments at beta.
func (l *likelihood) at(beta float64) (moments, error) {
	var s sums
	err := l.visit(func(t *temperedRows) func() {
		own, beyond := s.own(6)
		var m momentColumns
		return func() {
			t.columns(beta)
			n := m.weigh(t)
			for i := range m {
				column := &m[i]
				if !finite(column[:n]) {
					*beyond = true
					return
				}
				own[i].AddExactAll(column[:n])
			}
		}
	})
	if err != nil {
		return moments{}, err
	}
	if s.flagged() {
		return moments{}, errTooFar
	}
	m := s.total()
	return moments{m[0].Float64(), m[1].Float64(), m[2].Float64(), m[3].Float64(), m[4].Float64(), m[5].Float64()}, nil
}

// finite reports whether all numbers are finite.
func finite(v []float64) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// momentColumns holds the terms of the moments for the rows of a tile, in order.
type momentColumns [6][columnRows]float64

// weigh computes the terms of the rows that count, and returns the number of these rows.
func (m *momentColumns) weigh(t *temperedRows) int {
	n := 0
	for i := range t.n {
		w := t.weight(i)
		if w == 0 {
			continue
		}
		s, d := t.Slope[i], t.Label[i]
		g, missed := float64(w*s), 0.0
		if d < 0 {
			missed = w
		}
		m[0][n], m[1][n], m[2][n] = g, float64(w*t.Curvature[i]), float64(g*g)
		m[3][n], m[4][n], m[5][n] = float64(w*(0-d-s)), float64(w*(0-d)), missed
		n++
	}
	return n
}

// profile returns the mean NLL at each temperature.
func (l *likelihood) profile(temperatures []float64) ([]float64, error) {
	each := make([]sums, len(temperatures)) // of NLL and of weights
	err := l.visit(func(t *temperedRows) func() {
		own, beyond := make([][]exact.Sum, len(each)), make([]*bool, len(each))
		for j := range each {
			own[j], beyond[j] = each[j].own(2)
		}
		weights := make([]float64, columnRows)
		return func() {
			for j, temperature := range temperatures {
				t.columns(1 / temperature)
				n := 0
				for i := range t.n {
					if w := t.weight(i); w > 0 {
						t.NLL[n], weights[n] = float64(w*t.NLL[i]), w
						n++
					}
				}
				if !finite(t.NLL[:n]) {
					*beyond[j] = true
					continue
				}
				own[j][0].AddExactAll(t.NLL[:n])
				own[j][1].AddExactAll(weights[:n])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	nll := make([]float64, len(each))
	for j := range each {
		total := each[j].total()
		nll[j] = exact.Ratio(&total[0], &total[1])
		if each[j].flagged() {
			nll[j] = math.Inf(1)
		}
	}
	return nll, nil
}
