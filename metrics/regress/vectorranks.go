package regress

import (
	"errors"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
)

// Ranking is how vectors are put in order, so that what was observed has a rank among the members of its row. Below, the pool
// is these m+1 vectors, and each has a number by which they are ranked.
type Ranking uint8

const (
	// Dominance counts the vectors of the pool that are nowhere above this one (Gneiting et al. 2008). In many dimensions most
	// vectors tie, and ranks are then nearly those of chance.
	Dominance Ranking = iota
	// AverageRank is the mean over the dimensions of the number's rank there (Thorarinsdottir, Scheuerer and Heinz 2016). It
	// sees bias and spread as a rank histogram of one number does, and wrong dependence as wrong spread.
	AverageRank
	// BandDepth counts, over the dimensions, the pairs of the pool that enclose the number there, its own included
	// (Thorarinsdottir, Scheuerer and Heinz 2016). Low ranks are outer vectors: a slope down says too little spread or
	// a bias, a slope up too much spread.
	BandDepth
	rankings
)

// VectorRankOptions are options of VectorRanks.
type VectorRankOptions struct {
	Ranking Ranking
	Bins    int    // as in RankOptions
	Seed    uint64 // as in RankOptions
}

// VectorRanks accumulates the histogram of the rank of what was observed among the members of its row, by a Ranking
// (metrics.Multivariate). If both are draws of one distribution, all ranks are equally likely; ties are drawn as in Ranks. It
// is a metrics.Accumulator, and panics for another kind. The time for a row is proportional to m*ln(m)*d, for
// Dominance to m^2*d.
type VectorRanks struct {
	opt        VectorRankOptions
	dimensions int // 0 before the first row
	ranks      *Ranks

	row, orders, y []float64
	sorted         []float64 // the numbers of the row's pool, rising, those of each dimension together
}

var _ metrics.Accumulator = (*VectorRanks)(nil)

// NewVectorRanks returns an empty accumulator; o may be nil. It returns an error for an unknown ranking, or an invalid number
// of bins.
func NewVectorRanks(o *VectorRankOptions) (*VectorRanks, error) {
	s := &VectorRanks{}
	if o != nil {
		s.opt = *o
	}
	if s.opt.Ranking >= rankings {
		return nil, errors.New("regress: there is no such ranking of vectors")
	}
	var err error
	s.ranks, err = NewRanks(&RankOptions{Bins: s.opt.Bins, Seed: s.opt.Seed})
	if err != nil {
		return nil, err
	}
	s.opt.Bins = s.ranks.opt.Bins
	return s, nil
}

// Needs returns NeedRows.
func (s *VectorRanks) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows, with the same options.
func (s *VectorRanks) Empty() metrics.Accumulator { return metrics.Must(NewVectorRanks(&s.opt)) }

// Len returns the number of rows seen.
func (s *VectorRanks) Len() int64 { return s.ranks.Len() }

// Ranks returns the histogram, which must not be changed.
func (s *VectorRanks) Ranks() *Ranks { return s.ranks }

// AddBlock adds a block's rows.
func (s *VectorRanks) AddBlock(b *metrics.Block) {
	if b.Kind != metrics.Multivariate {
		panic(errVectorKind)
	}
	s.dimensions = b.Dimensions
	m := b.Classes/b.Dimensions - 1
	s.orders, s.y = room(s.orders, b.Rows*m), room(s.y, b.Rows)
	for i := range b.Rows {
		s.row = b.Probs.Row(room(s.row, b.Classes)[:0], i)
		if s.opt.Ranking != Dominance {
			s.sort()
		}
		for k := range m {
			s.orders[i*m+k] = s.order(k)
		}
		s.y[i] = s.order(m)
	}
	// The numbers by which vectors are ranked are samples with an observed value.
	n := *b
	n.Kind, n.Classes, n.Dimensions, n.Observed = metrics.Samples, m, 0, s.y
	n.Probs = metrics.Tile{F64: s.orders, Width: m, Stride: m}
	s.ranks.AddBlock(&n)
}

// sort sets sorted.
func (s *VectorRanks) sort() {
	d, pool := s.dimensions, len(s.row)/s.dimensions
	s.sorted = room(s.sorted, len(s.row))
	for i := range d {
		column := s.sorted[i*pool : (i+1)*pool]
		for l := range column {
			column[l] = s.row[l*d+i]
		}
		slices.Sort(column)
	}
}

// places returns how many of rising numbers are below one of them, and how many above.
func places(sorted []float64, v float64) (below, above int) {
	for n := len(sorted); n > 1; {
		half := n / 2
		if sorted[below+half-1] < v {
			below += half
		}
		n -= half
	}
	last := below // of those equal to v
	for n := len(sorted) - below; n > 1; {
		half := n / 2
		if sorted[last+half] <= v {
			last += half
		}
		n -= half
	}
	return below, len(sorted) - 1 - last
}

// order returns the number by which vector k of the row is ranked.
func (s *VectorRanks) order(k int) float64 {
	d, pool := s.dimensions, len(s.row)/s.dimensions
	x, n := s.row[k*d:(k+1)*d], 0
	switch s.opt.Ranking {
	case Dominance:
		for l := range pool {
			z, under := s.row[l*d:(l+1)*d], 1
			for i, v := range z {
				if v > x[i] {
					under = 0
					break
				}
			}
			n += under
		}
	default:
		for i, v := range x {
			below, above := places(s.sorted[i*pool:(i+1)*pool], v)
			if s.opt.Ranking == AverageRank {
				n += pool - above + below // twice the middle of its ranks, plus one
			} else {
				n += pairs(pool) - pairs(below) - pairs(above)
			}
		}
	}
	return float64(n)
}

func pairs(n int) int { return n * (n - 1) / 2 }

// Merge adds what another *VectorRanks has seen.
func (s *VectorRanks) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*VectorRanks](vectorRanksFormat, a)
	switch {
	case err != nil:
		return err
	case s.opt.Ranking != o.opt.Ranking:
		return state.Mismatch(vectorRanksFormat, "of unlike rankings")
	case s.dimensions != 0 && o.dimensions != 0 && s.dimensions != o.dimensions:
		return state.Mismatch(vectorRanksFormat, "of %d dimensions and of %d", s.dimensions, o.dimensions)
	}
	if err := s.ranks.Merge(o.ranks); err != nil {
		return err
	}
	s.dimensions = max(s.dimensions, o.dimensions)
	return nil
}

// P returns the p-value of Ranks.P, and Reason why it is NaN.
func (s *VectorRanks) P() float64 { return s.ranks.P() }

// Reason returns the reason why P is NaN, or "" if it is not.
func (s *VectorRanks) Reason() string { return s.ranks.Reason() }

// Negate is as that of Normal.
func (s *VectorRanks) Negate() { s.ranks.Negate() }

var vectorRanksFormat = exact.Format{Name: "regress.VectorRanks", Magic: "rVRK", Version: 1}

func (s *VectorRanks) fields(f *exact.Fields) {
	opt, dimensions := s.opt, s.dimensions
	exact.Byte(f, &opt.Ranking)
	f.Int(&dimensions)
	if f.Reading() {
		if f.Must(opt.Ranking < rankings, exact.OutOfRange); !f.OK() {
			return
		}
		*s = VectorRanks{opt: opt, dimensions: dimensions, ranks: metrics.Must(NewRanks(nil))}
	}
	s.ranks.fields(f)
	s.opt.Bins, s.opt.Seed = s.ranks.opt.Bins, s.ranks.opt.Seed
	f.Must((s.dimensions == 0) == (s.Len() == 0), exact.OutOfRange)
}

// AppendBinary appends the state.
func (s *VectorRanks) AppendBinary(dst []byte) ([]byte, error) {
	return vectorRanksFormat.Append(dst, s.fields)
}

// UnmarshalBinary replaces s, including its options, with a state that AppendBinary wrote.
func (s *VectorRanks) UnmarshalBinary(data []byte) error {
	return exact.Replace(vectorRanksFormat, data, s, (*VectorRanks).fields)
}
