package ensemble

import (
	"math"
	"math/bits"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Uncertainty accumulates how uncertain an ensemble is: MutualInformation, TotalUncertainty, DataUncertainty, EnsembleNLL
// and GibbsNLL. It is an Accumulator. Its state takes about 1 KB.
//
// Mutual information is never below 0, and the ensemble's NLL never above the members' mean: rounding errors beyond that are
// cut off. With scores of float32 or narrower, entropies and their difference have errors of about 2e-6.
type Uncertainty struct {
	kin
	rows tally.Weight
	mean [5]mean // in the order of the constants
	row  uncertain
}

var _ Accumulator = (*Uncertainty)(nil)

// NewUncertainty returns an empty accumulator.
func NewUncertainty() *Uncertainty { return &Uncertainty{} }

// UncertaintyOf returns the uncertainty of an ensemble. o may be nil; the error is that of Fold.
func UncertaintyOf(src metrics.MemberSource, o *Options) (*Uncertainty, error) {
	u := NewUncertainty()
	if _, err := Run(src, o, u); err != nil {
		return nil, err
	}
	return u, nil
}

// Empty returns an accumulator without rows.
func (u *Uncertainty) Empty() Accumulator { return NewUncertainty() }

// Len returns the number of rows seen.
func (u *Uncertainty) Len() int64 { return u.rows.N }

// Members returns the number of members, or 0 before the first row.
func (u *Uncertainty) Members() int { return u.members }

// AddBlock adds a block's rows.
func (u *Uncertainty) AddBlock(b *Block) {
	u.kin = kinOf(b)
	u.row.of(b)
	u.rows.Add(b.Rows, b.Weights)
	for i := range u.mean {
		first, second := &kernel.WindowEntropy, &kernel.WindowEntropy2
		if (EnsembleNLL|GibbsNLL)&(1<<i) != 0 {
			first, second = &kernel.WindowNLL, &kernel.WindowNLL2
		}
		u.mean[i].add(u.row.v[i][:b.Rows], first, second, b.Weights)
	}
}

// uncertain computes the columns of a block.
type uncertain struct {
	v     [5][]float64 // in the order of the constants
	stats kernel.Stats

	logs, sums []float64
}

func (u *uncertain) of(b *Block) {
	n := b.Rows
	for i := range u.v {
		u.v[i] = room(u.v[i], n)
	}
	mutual, total, data, nll, gibbs := u.v[0][:n], u.v[1][:n], u.v[2][:n], u.v[3][:n], u.v[4][:n]
	if len(b.Members) == 1 {
		copy(total, b.Members[0].Stats.Entropy)
	} else {
		u.entropies(total, b)
	}
	average(data, b.Members, func(s *kernel.Stats) []float64 { return s.Entropy })
	average(gibbs, b.Members, func(s *kernel.Stats) []float64 { return s.NLL })
	for i, t := range total {
		mutual[i] = max(0, t-data[i])
	}
	u.ensembleNLL(nll, gibbs, b.Members)
}

// small is the NLL below which -ln of a sum near 1 loses too many digits.
const small = 0x1p-10

// ensembleNLL writes -ln mean p = least - ln mean exp(least - NLL), which cannot underflow.
func (u *uncertain) ensembleNLL(nll, gibbs []float64, members []*metrics.Block) {
	n := len(nll)
	u.logs, u.sums = room(u.logs, n*len(members)), room(u.sums, n)
	sums := u.sums[:n]
	copy(nll, members[0].Stats.NLL)
	for _, m := range members[1:] {
		for i, v := range m.Stats.NLL[:n] {
			nll[i] = min(nll[i], v)
		}
	}
	clear(sums)
	for m, o := range members {
		logs := u.logs[m*n:][:n]
		for i, v := range o.Stats.NLL[:n] {
			logs[i] = nll[i] - v
		}
		kernel.ExpSliceF64(logs, logs)
		for i, v := range logs {
			sums[i] += v
		}
	}
	for i, v := range sums {
		sums[i] = v / float64(len(members))
	}
	kernel.LogSliceF64(sums, sums)
	for i, v := range nll {
		switch {
		case v < small:
			for m, o := range members {
				u.logs[m] = -o.Stats.NLL[i]
			}
			kernel.LogMeanExpF64(sums[i:i+1], u.logs, len(members), 1, 1)
			nll[i] = min(gibbs[i], 0-sums[i])
		case v <= math.MaxFloat64:
			nll[i] = min(gibbs[i], v-sums[i])
		}
	}
}

// average writes the mean of a column over the members.
func average(dst []float64, members []*metrics.Block, column func(*kernel.Stats) []float64) {
	copy(dst, column(members[0].Stats)[:len(dst)])
	for _, m := range members[1:] {
		for i, v := range column(m.Stats)[:len(dst)] {
			dst[i] += v
		}
	}
	if n := float64(len(members)); n > 1 {
		for i := range dst {
			dst[i] /= n
		}
	}
}

// entropies writes the entropies of the mean.
func (u *uncertain) entropies(dst []float64, b *Block) {
	n, s, t := b.Rows, &u.stats, &b.Mean
	if len(s.Flags) < n {
		f := func() []float64 { return make([]float64, n) }
		*s = kernel.Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(),
			ArgMax: make([]int32, n), Flags: make([]uint8, n)}
	}
	if t.F32 != nil {
		kernel.ProbStatsF32(s, t.F32, n, t.Width, t.Stride, b.Labels)
	} else {
		kernel.ProbStatsF64(s, t.F64, n, t.Width, t.Stride, b.Labels)
	}
	copy(dst, s.Entropy)
}

// slot returns the index of a measure in the state. It panics unless m is one of them.
func slot(m, of Measure) int {
	if m&of == 0 || bits.OnesCount16(uint16(m)) != 1 {
		panic(errMeasure)
	}
	return bits.TrailingZeros16(uint16(m))
}

// Value returns the mean over the rows of one of the accumulator's measures. It is NaN without rows. An NLL is +Inf if a
// label has probability 0 from all members (EnsembleNLL) or from one (GibbsNLL). It panics if m is not one of the five.
func (u *Uncertainty) Value(m Measure) float64 {
	return u.mean[slot(m, ofUncertainty)].value(&u.rows, u.weighted)
}

// Interval returns mean +- z*s/sqrt(n). There is no interval for a mean that is not finite.
func (u *Uncertainty) Interval(m Measure, level float64) metrics.Interval {
	return u.mean[slot(m, ofUncertainty)].interval(&u.rows, u.weighted, level)
}

// InfiniteRows returns the number of rows where a measure is +Inf.
func (u *Uncertainty) InfiniteRows(m Measure) int64 {
	return u.mean[slot(m, ofUncertainty)].infinite.N
}

// Finite returns the mean over the rows where a measure is finite.
func (u *Uncertainty) Finite(m Measure) float64 {
	return u.mean[slot(m, ofUncertainty)].finite(&u.rows, u.weighted)
}

// Merge adds what another *Uncertainty has seen.
func (u *Uncertainty) Merge(a Accumulator) error {
	o, err := state.Same[*Uncertainty](uncertaintyFormat, a)
	if err != nil {
		return err
	}
	if err := u.kin.merge(o.kin, uncertaintyFormat); err != nil {
		return err
	}
	u.rows.Merge(&o.rows)
	for i := range u.mean {
		u.mean[i].merge(&o.mean[i])
	}
	return nil
}

var uncertaintyFormat = exact.Format{Name: "ensemble.Uncertainty", Magic: "cUNC", Version: 1}

func (u *Uncertainty) fields(f *exact.Fields) {
	u.kin.fields(f)
	u.rows.Fields(f)
	f.Must((u.members == 0) == (u.rows.N == 0), exact.OutOfRange)
	for i := range u.mean {
		u.mean[i].fields(f)
	}
}

// AppendBinary appends the state.
func (u *Uncertainty) AppendBinary(dst []byte) ([]byte, error) {
	return uncertaintyFormat.Append(dst, u.fields)
}

// UnmarshalBinary replaces u with a state that AppendBinary wrote.
func (u *Uncertainty) UnmarshalBinary(data []byte) error {
	return exact.Replace(uncertaintyFormat, data, u, (*Uncertainty).fields)
}
