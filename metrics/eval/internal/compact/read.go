package compact

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
)

// Floats are the sums of a group, rounded to float64.
type Floats struct {
	N       int64
	Weight  float64 // sum of weights; number of rows without
	Y, P    float64 // of outcomes and of scores, times weights
	Spread  float64 // sum p(1-p), or with weights sum w^2 p(1-p)
	Squares float64 // sum (p-y)^2, times weights
	Bins    [Bins]FloatBin
}

// FloatBin holds those of a bin.
type FloatBin struct {
	N    int64
	W    float64
	Y, P float64
}

// Floats returns the sums of scores and outcomes of a group.
func (t *Table) Floats(g int32, f *Floats) {
	t.settle()
	*f = Floats{}
	if t.wide[g] != nil || len(t.hot) == 0 {
		t.Sums(g).floats(f, t.Weighted)
		return
	}
	rec := t.hot[int(g)*t.words:][:t.words]
	var y, p int64
	for i := range f.Bins {
		w, q := rec[i*binWords], rec[i*binWords+1]
		if w == 0 {
			continue
		}
		n := w >> 32
		f.Bins[i] = FloatBin{N: n, W: float64(n), Y: float64(w & math.MaxUint32), P: float64(q) * 0x1p-51}
		f.N, y, p = f.N+n, y+w&math.MaxUint32, p+q
	}
	f.Weight, f.Y, f.P = float64(f.N), float64(y), float64(p)*0x1p-51
	f.Spread = float64(p-rec[atSquares]) * 0x1p-51
	f.Squares = float64(rec[atSquares]-2*rec[atHits]+y<<51) * 0x1p-51
}

func (s *Sums) floats(f *Floats, weighted bool) {
	f.N = s.N
	total := s.Cell.Total(weighted)
	f.Weight, f.Y, f.P = total.Float64(), s.Cell.Y.Float64(), s.Cell.P.Float64()
	spread := s.Own
	if !weighted {
		spread = s.Cell.Spread()
	}
	squares := s.Cell.Squares()
	f.Spread, f.Squares = spread.Float64(), squares.Float64()
	for i := range s.Bins {
		b := &s.Bins[i]
		w := b.Weight(weighted)
		f.Bins[i] = FloatBin{N: b.N, W: w.Float64(), Y: b.Y.Float64(), P: b.P.Float64()}
	}
}

// ECE returns the expected calibration error over the bins.
func (s *Sums) ECE(weighted bool) float64 {
	var sum exact.Sum
	for i := range s.Bins {
		g := s.Bins[i].P.Clone()
		g.Sub(&s.Bins[i].Y)
		if g.Sign() < 0 {
			sum.Sub(&g)
		} else {
			sum.Merge(&g)
		}
	}
	n := s.Cell.Total(weighted)
	return exact.Ratio(&sum, &n)
}
