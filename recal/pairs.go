package recal

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// PairMap is the map of VennAbers with OneVsOne for K classes: a curve for each pair i < j, fitted to the rows of the two classes and the score
// p_j/(p_i + p_j), or 1/2 where both are 0. With r_ij, the probability of i among the two, which is 1 - r_ji, a row becomes
//
//	p_i = 1 / (sum over j != i of 1/r_ij - (K - 2)),   divided by the sum over i
//
// A pair without rows has r = 1/2. The map is immutable. In a file it has the curves of the pairs in the order (0,1), (0,2) ... (K-2,K-1).
//
// Sources: Manokhin, Multi-class probabilistic classification using inductive and cross Venn-Abers predictors (2017); Price, Knerr, Personnaz and
// Dreyfus, Pairwise neural network classifiers with probabilistic outputs (1995).
type PairMap struct {
	method string
	fit    Fit
	curves []curve
}

const mostPaired = 200

// Method returns the method and its options.
func (m *PairMap) Method() string { return m.method }

// Fit describes the rows that the map was fitted to.
func (m *PairMap) Fit() Fit { return m.fit }

// Out is as that of CurveMap.
func (m *PairMap) Out(k metrics.Kind, classes int) (metrics.Kind, int, error) {
	return softmaxOut(m.method, m.fit.Classes, k, classes)
}

// Apply writes the recalibrated rows of src, whose kind is k, to dst; see Map. It takes K(K-1)/2 steps a row.
func (m *PairMap) Apply(dst, src *metrics.Scores, k metrics.Kind) {
	checkApply(m.Out, dst, src, k)
	t := newTile(reading{}, src.Classes, src.Rows)
	inverse := make([]float64, len(t.x))
	for lo := 0; lo < src.Rows; lo += t.rows {
		hi := min(lo+t.rows, src.Rows)
		t.read(src, k, lo, hi)
		m.apply(t, inverse)
		store(dst, t.x, lo, hi)
	}
}

// apply replaces the probabilities of a tile; inverse is scratch of its size.
func (m *PairMap) apply(t *tile, inverse []float64) {
	width, column := t.classes, t.spare[:t.n]
	fill(inverse[:t.n*width], float64(2-width))
	at := 0
	for i := range width {
		for j := i + 1; j < width; j++ {
			for r := range t.n {
				column[r] = among(t.x[r*width+i], t.x[r*width+j])
			}
			m.curves[at].apply(column)
			for r, v := range column {
				inverse[r*width+i] += 1 / (1 - v)
				inverse[r*width+j] += 1 / v
			}
			at++
		}
	}
	for r := range t.n {
		row, sum := t.x[r*width:][:width], 0.0
		for i := range row {
			row[i] = 1 / inverse[r*width+i]
			sum += row[i]
		}
		for i := range row {
			row[i] /= sum
		}
	}
}

// among returns the share of b in a + b.
func among(a, b float64) float64 {
	if a+b == 0 {
		return 0.5
	}
	return b / (a + b)
}

func (m *PairMap) exact() bool { return false }
func (m *PairMap) keeps() bool { return false }

// logitsOf writes the logarithms of the recalibrated probabilities.
func (m *PairMap) logitsOf(dst []float64, src *metrics.Scores, k metrics.Kind, lo, hi int) {
	t := newTile(reading{}, src.Classes, hi-lo)
	inverse := make([]float64, len(t.x))
	for at := lo; at < hi; at += t.rows {
		end := min(at+t.rows, hi)
		t.read(src, k, at, end)
		m.apply(t, inverse)
		kernel.LogSliceF64(dst[(at-lo)*t.classes:][:t.n*t.classes], t.x[:t.n*t.classes])
	}
}

func (m *PairMap) parameters() any {
	return struct {
		Curves []curve `json:"curves"`
	}{m.curves}
}

func decodePairs(m Method, f Fit, parameters json.RawMessage) (Map, error) {
	var file curvesFile
	if err := strict(parameters, &file); err != nil {
		return nil, err
	}
	if f.Classes < 2 || f.Classes > mostPaired || len(file.Curves) != f.Classes*(f.Classes-1)/2 {
		return nil, fmt.Errorf("there are %d curves of the pairs of %d classes", len(file.Curves), f.Classes)
	}
	p := &PairMap{method: m.String(), fit: f}
	for i, raw := range file.Curves {
		c := &vennCurve{}
		if err := strict(raw, c); err != nil {
			return nil, fmt.Errorf("curve %d: %w", i, err)
		}
		if err := c.ready(); err != nil {
			return nil, err
		}
		p.curves = append(p.curves, c)
	}
	return p, nil
}

// pair has the rows of two classes: the share of the second, and whether it is the label.
type pair struct {
	share, weights []float64
	second         []int32
}

// fitPairs fits a curve to each pair of classes. For each class it reads the data once, and keeps the rows of its pairs.
func (m VennAbers) fitPairs(d Data, o *Options, s *survey) (Map, error) {
	classes := s.fit.Classes
	if classes > mostPaired {
		return nil, fmt.Errorf("venn_abers(one_vs_one) has a curve for each pair of classes, and takes at most %d classes; there are %d", mostPaired, classes)
	}
	p := &PairMap{method: m.String()}
	one := VennAbers{Brier: m.Brier, AsCoded: m.AsCoded}
	for i := range classes - 1 {
		pairs, err := s.pairsOf(d, i)
		if err != nil {
			return nil, err
		}
		for _, q := range pairs {
			if len(q.share) == 0 {
				c := one.merged([]vennPart{{low: []float64{0}, high: []float64{1}}})
				if err := c.ready(); err != nil {
					return nil, err
				}
				p.curves = append(p.curves, c)
				continue
			}
			rows := &metrics.Predictions{Labels: q.second, Weights: q.weights}
			rows.Rows, rows.Classes, rows.F64 = len(q.share), 1, q.share
			f, err := one.Fit(InMemory(rows), o)
			if err != nil {
				return nil, err
			}
			p.curves = append(p.curves, f.(*CurveMap).curves[0])
		}
	}
	p.fit = s.fit
	return p, nil
}

// pairsOf reads the rows of the pairs of class i and those after it.
func (s *survey) pairsOf(d Data, i int) ([]pair, error) {
	s.fit.Reads++
	src, err := d.Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	pairs := make([]pair, s.fit.Classes-i-1)
	t := newTile(reading{}, s.fit.Classes, kernel.MaxSum)
	for {
		c, err := src.Next()
		if err == io.EOF {
			return pairs, nil
		}
		if err != nil {
			return nil, err
		}
		t.tiles(counted(c), func() {
			for r, y := range t.labels {
				from, to, second := int(y), int(y)+1, int32(1)
				if int(y) == i {
					from, to, second = i+1, t.classes, 0
				}
				for j := max(from, i+1); j < to; j++ {
					p := &pairs[j-i-1]
					p.share = append(p.share, among(t.x[r*t.classes+i], t.x[r*t.classes+j]))
					p.second = append(p.second, second)
					if t.w != nil {
						p.weights = append(p.weights, t.w[r])
					}
				}
			}
		})
		if c.Recycle != nil {
			c.Recycle()
		}
	}
}
