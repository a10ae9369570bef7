package recal

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics"
)

// survey is what the first read of a fit finds out, after a metrics.Pass has checked the rows. It is no state.
type survey struct {
	fit    Fit
	kind   metrics.Kind
	dtype  metrics.DType
	counts []int64 // of rows, by label; nil of what has no labels
	right  int64   // rows whose first largest score is their label's
}

// look reads the data once, checks all rows, and says what they are.
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
		return nil, fmt.Errorf("recal: there are no rows to fit to")
	}
	s.kind, s.dtype = a.Kind, a.DType
	s.fit.Kind, s.fit.Classes, s.fit.Weighted, s.fit.Reads = a.Kind.String(), a.Classes, a.Weighted, 1
	if s.fit.LeftOut == 0 {
		s.fit.FirstLeftOut = -1
	}
	return &s.survey, nil
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
		if b.Stats.Label[i] > 0 || b.Stats.NLL[i] < maxNLL {
			continue
		}
		s.leave(1, b.Number(i))
	}
}

// maxNLL is above the NLL of any label whose logit is finite.
var maxNLL = math.Inf(1)

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
	if s.counts == nil {
		s.counts = make([]int64, len(o.counts))
	}
	for i, n := range o.counts {
		s.counts[i] += n
	}
	return nil
}

func (s *surveyor) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (s *surveyor) UnmarshalBinary([]byte) error          { return nil }
