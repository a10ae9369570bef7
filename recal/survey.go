package recal

import (
	"math"
	"sync"

	"github.com/candor-go/candor/metrics"
)

// survey is the result of the first read of a fit, after a metrics.Pass has checked the rows. It is not part of a state.
type survey struct {
	fit    Fit
	kind   metrics.Kind
	dtype  metrics.DType
	counts []int64 // number of rows by label; nil for kinds without labels
	right  int64   // rows whose first largest score is that of the label
}

// look reads the data once, checks all rows, and returns what a fit must know about them.
func look(d Data, o *Options, accs ...metrics.Accumulator) (*survey, error) {
	src, err := d.Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	s := &surveyor{}
	pass := metrics.NewPass(&metrics.Options{Threads: o.threads()}, append([]metrics.Accumulator{s}, accs...)...)
	if err := pass.AddSource(src); err != nil {
		return nil, err
	}
	a := pass.Audit()
	if a.Rows == 0 {
		return nil, ErrNoRows
	}
	s.kind, s.dtype = a.Kind, a.DType
	s.fit.Kind, s.fit.Classes, s.fit.Weighted, s.fit.Reads = a.Kind.String(), a.Classes, a.Weighted, 1
	if s.fit.LeftOut > 0 && s.kind != metrics.Probs {
		if err := s.lookAgain(d, o); err != nil {
			return nil, err
		}
	}
	if s.fit.LeftOut == 0 {
		s.fit.FirstLeftOut = -1
	}
	return &s.survey, nil
}

// lookAgain recounts, from the scores, the rows whose true class has probability 0. The NLL can be infinite although the
// score is finite: for logits that are far apart, and for the logarithm of a tiny probability.
func (s *survey) lookAgain(d Data, o *Options) error {
	var mu sync.Mutex
	s.fit.LeftOut, s.fit.Reads = 0, s.fit.Reads+1
	return each(d, o, func() func(*metrics.Chunk) {
		row := make([]float64, s.fit.Classes)
		return func(c *metrics.Chunk) {
			var own survey
			for i, y := range c.Labels {
				c.Scores.Widen(row, i, i+1)
				if (c.Weights == nil || c.Weights[i] > 0) && impossible(row, y, c.Kind) {
					own.leave(1, c.Number(i))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			s.leave(own.fit.LeftOut, own.fit.FirstLeftOut)
		}
	})
}

type surveyor struct{ survey }

func (s *surveyor) Needs() metrics.Need        { return 0 }
func (s *surveyor) Empty() metrics.Accumulator { return &surveyor{} }
func (s *surveyor) Len() int64                 { return s.fit.Rows }

func (s *surveyor) AddBlock(b *metrics.Block) {
	s.fit.Rows += int64(b.Rows)
	if b.Labels == nil {
		return
	}
	if s.counts == nil {
		s.counts = make([]int64, max(2, b.Classes))
	}
	for i, y := range b.Labels[:b.Rows] {
		s.counts[y]++
		s.right += int64(b.Hit[i])
		if b.Stats.Label[i] == 0 && b.Stats.NLL[i] > math.MaxFloat64 {
			s.leave(1, b.Number(i))
		}
	}
}

// leave counts n more rows as left out; first is the number of the first of them.
func (s *survey) leave(n, first int64) {
	if n > 0 && (s.fit.LeftOut == 0 || first < s.fit.FirstLeftOut) {
		s.fit.FirstLeftOut = first
	}
	s.fit.LeftOut += n
}

func (s *surveyor) Merge(a metrics.Accumulator) error {
	o := a.(*surveyor)
	s.leave(o.fit.LeftOut, o.fit.FirstLeftOut)
	s.fit.Rows += o.fit.Rows
	s.right += o.right
	if s.counts == nil && o.counts != nil {
		s.counts = make([]int64, len(o.counts))
	}
	for i, n := range o.counts {
		s.counts[i] += n
	}
	return nil
}

func (s *surveyor) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (s *surveyor) UnmarshalBinary([]byte) error          { return nil }
