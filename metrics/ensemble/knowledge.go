package ensemble

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Knowledge accumulates the mean uncertainties of Dirichlet distributions over the classes (metrics.Dirichlet), in nats
// (Malinin and Gales 2018). With a row's parameters a_1 ... a_K, their sum a_0, and the digamma function psi:
//
//	total uncertainty     T = H(a/a_0) = -sum_k a_k/a_0 ln(a_k/a_0)
//	data uncertainty      D = E H(p) = sum_k a_k/a_0 (psi(a_0 + 1) - psi(a_k + 1)),  p drawn from the distribution
//	knowledge uncertainty T - D >= 0, the mutual information of the class and p
//
// T - D falls as the distribution gets narrower, as (K-1)/(2 a_0) if every a_k is large. It is high if the model states that
// it has seen nothing similar.
//
// Given the row's means and sum from the Pass, T, D and T - D have errors below 1e-15 (1 + T). T - D is also accurate if it
// is small. For a_0 >= 1 it is sum_k a_k/a_0 (g(a_k) - g(a_0)) with g(x) = psi(x+1) - ln x, which is positive and falls as
// 1/(2x); its error is below 1e-14 (T - D + 1/(2 a_0)), and D is T minus it. For smaller a_0, T - D is the larger part, and
// D is summed.
//
// It is a metrics.Accumulator. Its state takes some 300 bytes. A row's values have the same bits on every CPU.
type Knowledge struct {
	seen  state.Rows
	rows  tally.Weight
	total tally.Mean
	data  tally.Mean
	know  tally.Mean

	v [3][]float64
	k knowledgeRow
}

var _ metrics.Accumulator = (*Knowledge)(nil)

const errDirichlet = "ensemble: Knowledge takes the parameters of Dirichlet distributions (metrics.Dirichlet)"

// NewKnowledge returns an empty accumulator.
func NewKnowledge() *Knowledge { return &Knowledge{} }

// Needs returns NeedRows, for the means of the distributions.
func (a *Knowledge) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows.
func (a *Knowledge) Empty() metrics.Accumulator { return NewKnowledge() }

// Len returns the number of rows seen.
func (a *Knowledge) Len() int64 { return a.rows.N }

// AddBlock adds a block's rows. It panics unless they are Dirichlet distributions.
func (a *Knowledge) AddBlock(b *metrics.Block) {
	a.seen.Begin(b)
	a.rows.Add(b.Rows, b.Weights)
	if len(a.v[0]) < b.Rows {
		for i := range a.v {
			a.v[i] = make([]float64, b.Rows)
		}
	}
	total, data, know := a.v[0][:b.Rows], a.v[1][:b.Rows], a.v[2][:b.Rows]
	for i := range b.Rows {
		total[i], data[i], know[i] = a.k.take(b, i)
	}
	a.total.Add(total, &kernel.WindowNLL, &kernel.WindowNLL2, b.Weights)
	a.data.Add(data, &kernel.WindowNLL, &kernel.WindowNLL2, b.Weights)
	// Knowledge uncertainty has no least size, so the quantum of a window could be large compared with it.
	for i, v := range know {
		w := 1.0
		if a.seen.Weighted {
			w = b.Weights[i]
		}
		addExact(&a.know, v, w)
	}
}

// Total returns the mean total uncertainty: the entropy of the mean probabilities. Like the others, it is NaN without rows.
func (a *Knowledge) Total() float64 { return a.total.Value(&a.rows, a.seen.Weighted) }

// TotalInterval returns mean +- z*s/sqrt(n).
func (a *Knowledge) TotalInterval(level float64) metrics.Interval {
	return metrics.Normal(a.Total(), a.total.StdErr(&a.rows, a.seen.Weighted), level)
}

// Data returns the mean data uncertainty: the expected entropy if the probabilities were known.
func (a *Knowledge) Data() float64 { return a.data.Value(&a.rows, a.seen.Weighted) }

// DataInterval returns mean +- z*s/sqrt(n).
func (a *Knowledge) DataInterval(level float64) metrics.Interval {
	return metrics.Normal(a.Data(), a.data.StdErr(&a.rows, a.seen.Weighted), level)
}

// Knowledge returns the mean knowledge uncertainty, Total - Data: the uncertainty about the probabilities themselves.
func (a *Knowledge) Knowledge() float64 { return a.know.Value(&a.rows, a.seen.Weighted) }

// KnowledgeInterval returns mean +- z*s/sqrt(n).
func (a *Knowledge) KnowledgeInterval(level float64) metrics.Interval {
	return metrics.Normal(a.Knowledge(), a.know.StdErr(&a.rows, a.seen.Weighted), level)
}

// Merge adds what another *Knowledge has seen.
func (a *Knowledge) Merge(m metrics.Accumulator) error {
	o, err := state.Same[*Knowledge](knowledgeFormat, m)
	if err != nil {
		return err
	}
	if err := a.seen.Merge(o.seen, knowledgeFormat, "classes"); err != nil {
		return err
	}
	a.rows.Merge(&o.rows)
	a.total.Merge(&o.total)
	a.data.Merge(&o.data)
	a.know.Merge(&o.know)
	return nil
}

var knowledgeFormat = exact.Format{Name: "ensemble.Knowledge", Magic: "cKNO", Version: 1}

func (a *Knowledge) fields(f *exact.Fields) {
	f.Flags(&a.seen.Weighted)
	f.Int(&a.seen.Classes)
	a.rows.Fields(f)
	a.total.Fields(f)
	a.data.Fields(f)
	a.know.Fields(f)
	f.Must((a.seen.Classes == 0) == (a.rows.N == 0), exact.OutOfRange)
}

// AppendBinary appends the state.
func (a *Knowledge) AppendBinary(dst []byte) ([]byte, error) {
	return knowledgeFormat.Append(dst, a.fields)
}

// UnmarshalBinary replaces a with a state that AppendBinary wrote.
func (a *Knowledge) UnmarshalBinary(data []byte) error {
	return exact.Replace(knowledgeFormat, data, a, (*Knowledge).fields)
}

// KnowledgeOf returns the uncertainties of Dirichlet parameters in memory. o may be nil. The error is a *metrics.DataError.
func KnowledgeOf(p *metrics.Predictions, o *metrics.Options) (*Knowledge, error) {
	a := NewKnowledge()
	if err := metrics.NewPass(o, a).Add(p); err != nil {
		return nil, err
	}
	return a, nil
}

// KnowledgeRows returns the three uncertainties of each row of Dirichlet parameters in memory, whose means are those of KnowledgeOf: NaN for
// a row that was dropped. o may be nil. The error is a *metrics.DataError.
func KnowledgeRows(p *metrics.Predictions, o *metrics.Options) (total, data, knowledge []float64, err error) {
	data, knowledge = make([]float64, p.Rows), make([]float64, p.Rows)
	for i := range data {
		data[i], knowledge[i] = math.NaN(), math.NaN()
	}
	total, err = eachRow(p, o, func() func(b *metrics.Block, i int) float64 {
		var k knowledgeRow
		return func(b *metrics.Block, i int) (t float64) {
			at := b.Number(i)
			t, data[at], knowledge[at] = k.take(b, i)
			return t
		}
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return total, data, knowledge, nil
}

// knowledgeRow is scratch for one row: the logarithms of its means.
type knowledgeRow struct{ log []float64 }

// take returns the three uncertainties of the block's row i.
func (k *knowledgeRow) take(b *metrics.Block, i int) (total, data, know float64) {
	if b.Kind != metrics.Dirichlet {
		panic(errDirichlet)
	}
	at := i * b.Probs.Stride
	return k.of(b.Probs.F64[at:at+b.Probs.Width], b.Stats.Norm[i])
}

// of returns the uncertainties for means p, whose sum is 1 except for rounding, and the parameters' sum.
func (k *knowledgeRow) of(p []float64, sum float64) (total, data, know float64) {
	if len(k.log) != len(p) {
		k.log = make([]float64, len(p))
	}
	kernel.LogSliceF64(k.log, p)
	var s longSum
	for j, v := range p {
		if v > 0 {
			s.add(float64(-v * k.log[j]))
		}
	}
	total = max(0, s.value())
	s = longSum{}
	if sum < 1 {
		whole := digamma1(sum)
		for _, v := range p {
			s.add(float64(v * (whole - digamma1(float64(v*sum)))))
		}
		data = min(max(0, s.value()), total)
		return total, data, total - data
	}
	whole := digammaLog(sum)
	for _, v := range p {
		if v > 0 {
			s.add(float64(v * (digammaLog(float64(v*sum)) - whole)))
		}
	}
	know = min(max(0, s.value()), total)
	return total, total - know, know
}

// longSum is a sum that keeps the rounding errors of its additions (Knuth's two-sum), since rows may have 100,000 entries.
type longSum struct{ high, low float64 }

func (s *longSum) add(x float64) {
	t := s.high + x
	z := t - s.high
	s.low += (s.high - (t - z)) + (x - z)
	s.high = t
}

func (s *longSum) value() float64 { return s.high + s.low }

// fromTen is the least argument for the asymptotic series of the digamma function. The first omitted term is then below
// 2^-57.
const fromTen = 10

// digamma1 returns psi(x+1) for x >= 0, with an absolute or relative error of 1e-15, whichever is larger.
func digamma1(x float64) float64 {
	y, sum := risen(x)
	return kernel.Log64(y) + (asymptotic(y) - sum)
}

// digammaLog returns psi(x+1) - ln x for x > 0, with a relative error of 1e-14.
func digammaLog(x float64) float64 {
	if x >= fromTen {
		return asymptotic(x)
	}
	y, sum := risen(x)
	if x < 0x1p-1000 {
		return kernel.Log64(y) - kernel.Log64(x) + (asymptotic(y) - sum)
	}
	return kernel.Log64(y/x) + (asymptotic(y) - sum)
}

// risen returns y = x + n >= fromTen for the least n >= 0, and sum_{j=1}^{n} 1/(x+j), so that psi(x+1) = psi(y+1) - sum. The
// sum is one fraction, with one division.
func risen(x float64) (y, sum float64) {
	num, den := 0.0, 1.0
	for x < fromTen {
		x++
		num = float64(num*x) + den
		den *= x
	}
	return x, num / den
}

// asymptotic returns psi(x+1) - ln x = 1/(2x) - sum_n B_2n/(2n x^2n) for x >= fromTen, where B are the Bernoulli numbers.
func asymptotic(x float64) float64 {
	r := 1 / x
	z := float64(r * r)
	s := float64(z*(3617.0/8160)) - 1.0/12
	s = float64(z*s) + 691.0/32760
	s = float64(z*s) - 1.0/132
	s = float64(z*s) + 1.0/240
	s = float64(z*s) - 1.0/252
	s = float64(z*s) + 1.0/120
	s = float64(z*s) - 1.0/12
	return float64(z*s) + float64(0.5*r)
}
