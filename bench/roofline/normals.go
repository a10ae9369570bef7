package main

import (
	"errors"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// normalLevels is the number of levels at which forecasts are counted.
const normalLevels = 21

// normalScores is behind the NLL and the CRPS of normal forecasts, each with its interval, and their calibration at 21 levels.
type normalScores struct {
	rows   int64
	sums   [4]exact.Sum // of the NLL, its square, the CRPS and its square
	counts [normalLevels]int64
	edges  [normalLevels]float64
}

func normalForecasts() []metrics.Accumulator {
	s := &normalScores{}
	for j := range s.edges {
		s.edges[j] = kernel.NormQuantile64(float64(j) / (normalLevels - 1))
	}
	return []metrics.Accumulator{s}
}

// Needs says that the columns of normal rows are enough, which a block of them has anyway.
func (s *normalScores) Needs() metrics.Need { return 0 }

// Empty returns one without rows.
func (s *normalScores) Empty() metrics.Accumulator { return &normalScores{edges: s.edges} }

// AddBlock adds a block's rows.
func (s *normalScores) AddBlock(b *metrics.Block) {
	n := b.Rows
	s.rows += int64(n)
	s.add(0, b.Normal.NLL[:n])
	s.add(2, b.Normal.CRPS[:n])
	kernel.CountUpTo(s.counts[:], b.Normal.Z[:n], s.edges[:])
}

func (s *normalScores) add(at int, v []float64) {
	const most = 1024
	for ; len(v) > 0; v = v[min(most, len(v)):] {
		m, ok := kernel.UnitMoments(v[:min(most, len(v))])
		if !ok {
			for _, x := range v[:min(most, len(v))] {
				s.sums[at].AddExact(x)
				s.sums[at+1].AddExact(x * x)
			}
			continue
		}
		addUnits(&s.sums[at], m.Hi, m.Unit)
		addUnits(&s.sums[at], m.Lo, m.Fine)
		addUnits(&s.sums[at+1], m.Hi2, m.Unit2)
		addUnits(&s.sums[at+1], m.Lo2, m.Fine2)
	}
}

func addUnits(s *exact.Sum, n int64, unit float64) {
	s.AddExact(float64(n>>32) * (0x1p32 * unit))
	s.AddExact(float64(n&(1<<32-1)) * unit)
}

// Merge adds what another one has seen.
func (s *normalScores) Merge(a metrics.Accumulator) error {
	o, ok := a.(*normalScores)
	if !ok {
		return metrics.ErrMismatch
	}
	s.rows += o.rows
	for i := range s.sums {
		s.sums[i].Merge(&o.sums[i])
	}
	for j, n := range o.counts {
		s.counts[j] += n
	}
	return nil
}

// Len returns the number of rows seen.
func (s *normalScores) Len() int64 { return s.rows }

// AppendBinary and UnmarshalBinary are of no use here: nothing is kept.
func (s *normalScores) AppendBinary([]byte) ([]byte, error) { return nil, errNormalState }
func (s *normalScores) UnmarshalBinary([]byte) error        { return errNormalState }

var errNormalState = errors.New("roofline: this has no state")
