package conformal

import (
	"errors"
	"math"
	"strconv"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// ErrWeights is the error of a fit to rows with weights.
var ErrWeights = errors.New("the rows have weights, and the guarantee of coverage is for rows that count once: leave the weights out")

// ErrNoRows is the error of a fit to no rows.
var ErrNoRows = errors.New("there are no rows to fit to")

// Fit reads labelled rows that the model was not trained on, and returns the map that promises this coverage, with the audit of the rows. Bad
// rows are an error, as for a metrics.Pass. CQR takes the lowest and the highest column of the quantiles. The scores are kept, eight bytes
// a row, and four more with ByClass. o may be nil. The map does not depend on threads or chunks, nor on the order of rows unless random
// numbers are drawn, which go by the rows' numbers.
func Fit(src metrics.Source, m Method, coverage float64, o *metrics.Options) (*Map, metrics.Audit, error) {
	if err := m.check(); err != nil {
		return nil, metrics.Audit{}, err
	}
	if !(coverage > 0 && coverage < 1) {
		return nil, metrics.Audit{}, errCoverage
	}
	k := &keeper{m: &m}
	p := metrics.NewPass(o, k)
	if err := p.AddSource(src); err != nil {
		return nil, p.Audit(), err
	}
	a := p.Audit()
	switch {
	case k.err != nil:
		return nil, a, k.err
	case len(k.scores) == 0:
		return nil, a, ErrNoRows
	}
	f := &Map{method: m, coverage: coverage, kind: a.Kind, classes: a.Classes, rows: int64(len(k.scores))}
	if m.Score.Classes() && a.Classes == 1 {
		f.classes = 2
	}
	groups := [][]float64{k.scores}
	if m.ByClass {
		groups = make([][]float64, f.classes)
		for i, y := range k.labels {
			groups[y] = append(groups[y], k.scores[i])
		}
	}
	for i, l := range groups {
		part := Part{Rows: int64(len(l)), Threshold: threshold(l, coverage)}
		if m.ByClass {
			part.Name = strconv.Itoa(i)
		}
		f.parts = append(f.parts, part)
	}
	return f, a, nil
}

// threshold returns the score at the Rank of the coverage, and reorders the scores.
func threshold(l []float64, coverage float64) float64 {
	k := Rank(int64(len(l)), coverage)
	if k > int64(len(l)) {
		return math.Inf(1)
	}
	kernel.SortF64(l, make([]uint64, kernel.SortScratch(len(l))))
	return l[k-1]
}

// keeper keeps the score of each row.
type keeper struct {
	m      *Method
	scores []float64
	labels []int32 // with ByClass
	s      rowScorer
	err    error
}

var errNoState = errors.New("scores have no state")

func (k *keeper) Needs() metrics.Need                 { return metrics.NeedRows }
func (k *keeper) Empty() metrics.Accumulator          { return &keeper{m: k.m} }
func (k *keeper) Len() int64                          { return int64(len(k.scores)) }
func (k *keeper) AppendBinary([]byte) ([]byte, error) { return nil, errNoState }
func (k *keeper) UnmarshalBinary([]byte) error        { return errNoState }

func (k *keeper) Merge(a metrics.Accumulator) error {
	o := a.(*keeper)
	k.scores, k.labels = append(k.scores, o.scores...), append(k.labels, o.labels...)
	if k.err == nil {
		k.err = o.err
	}
	return nil
}

func (k *keeper) AddBlock(b *metrics.Block) {
	switch {
	case k.err != nil:
		return
	case b.Weights != nil:
		k.err = ErrWeights
		return
	}
	if k.err = k.m.accepts(b.Kind); k.err != nil {
		return
	}
	if k.m.Score == Split && b.Kind == metrics.Quantiles && b.Probs.Width != 1 {
		k.err = errManyMeans
		return
	}
	k.s.m = k.m
	for i := range b.Rows {
		if !k.m.Score.Classes() {
			k.scores = append(k.scores, k.s.number(b, i))
			continue
		}
		u, y := 0.0, int(b.Labels[i])
		if k.m.Randomized || k.m.KeepLast {
			u = uniform(k.m.Seed, calibrating, b.Number(i))
		}
		k.scores = append(k.scores, k.s.class(k.s.row(b, i), y, u))
		if k.m.ByClass {
			k.labels = append(k.labels, int32(y))
		}
	}
}
