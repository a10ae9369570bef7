package recal

import (
	"math"
	"slices"
	"sync"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// columnRows is how many rows the columns of a tile hold at most, and tileBytes about how large a tile of logits is that the scores
// themselves are not.
const (
	columnRows = 1024
	tileBytes  = 128 << 10
)

// temperedRows has, of some rows of a chunk after the others, what their likelihood is at an inverse temperature beta: with p the
// softmax of beta z of a row and y its label,
//
//	nll        -ln p_y
//	slope      sum p_j z_j - z_y, its derivative by beta
//	curvature  the variance of z under p, its second derivative
//
// A logit of -Inf is a class that is not there. It belongs to one goroutine.
type temperedRows struct {
	nll, slope, curvature [columnRows]float64

	chunk  *metrics.Chunk
	at, n  int
	labels []int32
	tile   []float64 // logits, unless the kernels take them as they are stored
	filled []int32
}

// load takes up rows of the chunk from at on, and returns how many.
func (t *temperedRows) load(c *metrics.Chunk, at int) int {
	n := min(c.Rows-at, columnRows, max(1, tileBytes/(8*c.Classes)))
	t.chunk, t.at, t.n = c, at, n
	t.labels = c.Labels[at : at+n]
	if c.Weights != nil {
		t.present()
	}
	if len(t.tile) < n*c.Classes {
		t.tile = make([]float64, n*c.Classes)
	}
	logits(t.tile, &c.Scores, c.Kind, at, at+n)
	return n
}

// present gives absent rows, which may have anything for a label, label 0.
func (t *temperedRows) present() {
	t.filled = append(t.filled[:0], t.labels...)
	for i, w := range t.chunk.Weights[t.at : t.at+t.n] {
		if w == 0 {
			t.filled[i] = 0
		}
	}
	t.labels = t.filled
}

// weight returns that of row i of those taken up: 0 if the row does not count.
func (t *temperedRows) weight(i int) float64 {
	w := 1.0
	if t.chunk.Weights != nil {
		w = t.chunk.Weights[t.at+i]
	}
	if w > 0 && t.excluded(i) {
		return 0
	}
	return w
}

// excluded tells whether the model gave the label of row i no probability.
func (t *temperedRows) excluded(i int) bool {
	if k := t.chunk.Classes; k > 1 {
		return math.IsInf(t.tile[i*k+int(t.labels[i])], -1)
	}
	return math.IsInf(margin(t.tile[i], t.labels[i]), -1)
}

// margin returns how far the logit of a binary task is on the label's side.
func margin(z float64, label int32) float64 {
	if label == 1 {
		return z
	}
	return -z
}

// columns fills the columns of the rows at beta > 0.
func (t *temperedRows) columns(beta float64) {
	k := t.chunk.Classes
	for i := range t.n {
		if k == 1 {
			t.nll[i], t.slope[i], t.curvature[i] = binaryTempered(margin(t.tile[i], t.labels[i]), beta)
			continue
		}
		t.nll[i], t.slope[i], t.curvature[i] = rowTempered(t.tile[i*k:][:k], int(t.labels[i]), beta)
	}
}

// binaryTempered returns the values of a row whose margin is m.
func binaryTempered(m, beta float64) (nll, slope, curvature float64) {
	if math.IsInf(m, 1) {
		return 0, 0, 0
	}
	a := math.Abs(m)
	s := float64(beta * a)
	e := kernel.Exp64(-s)
	nll, slope = kernel.Log1p64(e), 0-a*(e/(1+e))
	if m < 0 {
		nll, slope = s+nll, a/(1+e)
	}
	return nll, slope, float64(a/(1+e)*a) * (e / (1 + e))
}

// rowTempered returns the values of a row of logits.
func rowTempered(z []float64, y int, beta float64) (nll, slope, curvature float64) {
	most := math.Inf(-1)
	for _, v := range z {
		most = max(most, v)
	}
	var s, first float64
	for _, v := range z {
		if d := v - most; d >= -math.MaxFloat64 {
			e := kernel.Exp64(beta * d)
			s += e
			first += float64(e * d)
		}
	}
	mean := first / s
	var second float64
	for _, v := range z {
		if d := v - most; d >= -math.MaxFloat64 {
			second += float64(kernel.Exp64(beta*d) * float64((d-mean)*(d-mean)))
		}
	}
	d := z[y] - most
	return kernel.Log64(s) - float64(beta*d), mean - d, second / s
}

// moments are sums over the rows that count, each of them weighted: exact ones, rounded once.
type moments struct {
	nll, slope, curvature float64
	squares               float64 // of weight times slope
}

// noise is about how much of the slope is rounding.
func (m *moments) noise(rows int64) float64 {
	return 0x1p-51 * (math.Sqrt(float64(rows)*m.squares) + math.Sqrt(float64(rows)*m.curvature))
}

// likelihood is that of labels as a function of beta, which has to be read from data.
type likelihood struct {
	d     Data
	o     *Options
	reads int

	fit    Fit
	misses misses
}

// visit reads the data once. Each goroutine has its own rows, and hands every tile of them, loaded, to what newTile returned.
func (l *likelihood) visit(newTile func(t *temperedRows) func()) error {
	l.reads++
	return each(l.d, l.o, func() func(*metrics.Chunk) {
		t := &temperedRows{}
		tile := newTile(t)
		return func(c *metrics.Chunk) {
			for at := 0; at < c.Rows; {
				at += t.load(c, at)
				tile()
			}
		}
	})
}

// sums are exact sums that goroutines have each for themselves, until they are added up.
type sums struct {
	mu  sync.Mutex
	all [][]exact.Sum

	marks []*bool
}

// some returns n sums of a goroutine's own.
func (s *sums) some(n int) []exact.Sum {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := make([]exact.Sum, n)
	s.all = append(s.all, own)
	return own
}

// flag returns a flag of a goroutine's own.
func (s *sums) flag() *bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := new(bool)
	s.marks = append(s.marks, own)
	return own
}

// flagged tells whether a goroutine has set its flag.
func (s *sums) flagged() bool {
	return slices.ContainsFunc(s.marks, func(b *bool) bool { return *b })
}

// total returns the sums over all goroutines.
func (s *sums) total() []exact.Sum {
	for _, own := range s.all[1:] {
		for i := range own {
			if !s.all[0][i].Merge(&own[i]) {
				panic("recal: a sum is beyond all bounds")
			}
		}
	}
	return s.all[0]
}

// at returns the moments at beta.
func (l *likelihood) at(beta float64) (moments, error) {
	var s sums
	err := l.visit(func(t *temperedRows) func() {
		own := s.some(4)
		squares := make([]float64, columnRows)
		return func() {
			t.columns(beta)
			n := t.weigh(squares)
			own[0].AddExactAll(t.nll[:n])
			own[1].AddExactAll(t.slope[:n])
			own[2].AddExactAll(t.curvature[:n])
			own[3].AddExactAll(squares[:n])
		}
	})
	if err != nil {
		return moments{}, err
	}
	m := s.total()
	return moments{m[0].Float64(), m[1].Float64(), m[2].Float64(), m[3].Float64()}, nil
}

// weigh multiplies the columns by the rows' weights, squares the slopes, and brings the rows that count, whose number it returns,
// together at the front.
func (t *temperedRows) weigh(squares []float64) int {
	n := 0
	for i := range t.n {
		w := t.weight(i)
		if w == 0 {
			continue
		}
		s := float64(w * t.slope[i])
		t.nll[n], t.slope[n], t.curvature[n], squares[n] = float64(w*t.nll[i]), s, float64(w*t.curvature[i]), float64(s*s)
		n++
	}
	return n
}
