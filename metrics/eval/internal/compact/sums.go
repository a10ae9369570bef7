package compact

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Sums are those of the rows of a group.
type Sums struct {
	N     int64 // rows
	Cell  tally.Cell
	Own   exact.Sum // with weights: sum w^2 p(1-p)
	Bins  []Bin     // nil without classes
	Means []tally.Mean
	Big   []int64 // for each mean the rows whose value is infinite
}

// Bin holds the rows whose scores are in a bin.
type Bin struct {
	N    int64
	W    exact.Sum // sum of weights; zero without
	Y, P exact.Sum // of outcomes and of scores, times weights
}

func (k *Kept) sums() *Sums {
	s := &Sums{Means: make([]tally.Mean, len(k.Means)), Big: make([]int64, len(k.Means))}
	if k.Classes {
		s.Bins = make([]Bin, Bins)
	}
	return s
}

// Merge adds the rows of another Sums by the same Kept.
func (s *Sums) Merge(o *Sums) {
	s.N += o.N
	s.Cell.Merge(&o.Cell)
	s.Own.Merge(&o.Own)
	for i := range o.Bins {
		a, b := &s.Bins[i], &o.Bins[i]
		a.N += b.N
		a.W.Merge(&b.W)
		a.Y.Merge(&b.Y)
		a.P.Merge(&b.P)
	}
	for i := range s.Means {
		s.Means[i].Merge(&o.Means[i])
		s.Big[i] += o.Big[i]
	}
}

// Weight returns the number of rows of a bin, or their weight.
func (b *Bin) Weight(weighted bool) exact.Sum {
	if weighted {
		return b.W.Clone()
	}
	return tally.Count(b.N)
}

// Gap returns the sum of scores less outcomes.
func (b *Bin) Gap() float64 {
	g := b.P.Clone()
	g.Sub(&b.Y)
	return g.Float64()
}

// add adds one row of class scores.
func (s *Sums) add(bin int32, p float64, y uint8, w float64, weighted bool) {
	s.N++
	b := &s.Bins[bin]
	b.N++
	if !weighted {
		s.Cell.AddScore(p, y)
		b.P.AddExact(p)
		if y != 0 {
			b.Y.AddShifted(1, 88)
		}
		return
	}
	s.Cell.AddWeighted(p, y, w)
	s.Own.AddFloat(float64(w*w) * float64(p*(1-p)))
	b.W.AddFloat(w)
	b.P.AddFloat(float64(w * p))
	if y != 0 {
		b.Y.AddFloat(w)
	}
}

// addValue adds the value of a row to a mean.
func (s *Sums) addValue(i int, v, w float64, weighted, classes bool) {
	m := &s.Means[i]
	switch {
	case v-v != 0:
		s.Big[i]++
	case weighted:
		if p := float64(w * v); p-p == 0 {
			m.S1.AddFloat(p)
		} else {
			tally.AddLarge(&m.S1, w, v)
		}
		if q := float64(float64(w*v) * v); q-q == 0 {
			m.S2.AddFloat(q)
		} else {
			m.Over++
		}
	case classes:
		m.S1.AddFloat(v)
		m.S2.AddFloat(float64(v * v))
	default:
		m.S1.AddExact(v)
		if q := float64(v * v); q-q == 0 {
			m.S2.AddExact(q)
		} else {
			m.Over++
		}
	}
}

// fields lists the fields of the state.
func (s *Sums) fields(f *exact.Fields, weighted bool) {
	count := func(n *int64) {
		u := uint64(*n)
		if f.Uvarint(&u); f.Reading() {
			f.Must(u <= math.MaxInt64, exact.OutOfRange)
			*n = int64(u)
		}
	}
	count(&s.N)
	if s.Bins != nil {
		s.Cell.N = s.N
		if weighted {
			f.Sum(&s.Cell.W)
			f.Sum(&s.Cell.W2)
			f.Sum(&s.Own)
		}
		f.Sum(&s.Cell.PP)
		f.Sum(&s.Cell.PY)
		all := int64(0)
		for i := range s.Bins {
			b := &s.Bins[i]
			count(&b.N)
			f.Must(b.N <= s.N-all, "bins have more rows than the group")
			if !f.OK() {
				return
			}
			all += b.N
			if b.N == 0 {
				continue
			}
			if weighted {
				f.Sum(&b.W)
				f.Sum(&b.Y)
			} else {
				y := uint64(b.Y.Float64())
				f.Uvarint(&y)
				f.Must(y <= uint64(b.N), "a bin has more events than rows")
				if f.Reading() && f.OK() {
					b.Y.AddShifted(int64(y), 88)
				}
			}
			f.Sum(&b.P)
			if f.Reading() && f.OK() {
				s.Cell.Y.Merge(&b.Y)
				s.Cell.P.Merge(&b.P)
			}
		}
		f.Must(all == s.N, "bins have fewer rows than the group")
	} else if weighted {
		f.Sum(&s.Cell.W)
		f.Sum(&s.Cell.W2)
	}
	for i := range s.Means {
		m := &s.Means[i]
		f.Sum(&m.S1)
		f.Sum(&m.S2)
		count(&m.Over)
		count(&s.Big[i])
		f.Must(m.Over <= s.N && s.Big[i] <= s.N, exact.OutOfRange)
	}
}

// Negate negates the sums.
func (s *Sums) Negate() {
	s.N = -s.N
	s.Cell.Negate()
	s.Own.Negate()
	for i := range s.Bins {
		b := &s.Bins[i]
		b.N = -b.N
		b.W.Negate()
		b.Y.Negate()
		b.P.Negate()
	}
	for i := range s.Means {
		s.Means[i].Negate()
		s.Big[i] = -s.Big[i]
	}
}
