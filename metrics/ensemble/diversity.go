package ensemble

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// DiversityOptions define diversity. The zero value measures everything, over the pairs m < m'.
type DiversityOptions struct {
	// Measures are the measures to compute; 0 means all of Diversity's. AverageKL, CosineSimilarity, LpDistance and LogitKL
	// read all classes for each pair of members.
	Measures Measure

	// AllPairs takes the mean over all M^2 pairs, including those of a member with itself, instead of m < m'. The text of
	// robustness_metrics says so, but its code does not.
	AllPairs bool
	// Generalized adds sum_k (p'_k - p_k) to a KL divergence, as in edward2, and in uncertainty_metrics before August 2020.
	Generalized bool
	// Clip, if above 0, limits the probabilities of AverageKL to [Clip, 1] first: 1e-7 in uncertainty_metrics.
	Clip float64
	// P is the p of LpDistance, at least 1, possibly +Inf; 0 means 1.
	P float64
	// Conditional makes DoubleFault the mean over pairs of P(m' is wrong | m is wrong), as in uncertainty_metrics, instead
	// of Kuncheva's P(both are wrong). It keeps the sums of each pair.
	Conditional bool
}

// Diversity accumulates how much the members of an ensemble differ: the measures from Disagreement to VarianceBound. It is
// an Accumulator. Its state takes 1 KB or, with Conditional, some 60 bytes per pair.
//
// With scores of float32 or narrower, a row's AverageKL has an error of about 1e-6 times the logarithms in it, so it may be
// slightly negative if members nearly agree. Other measures have an error of 2e-6; LogitKL is computed in float64.
//
// With one member there are no pairs, and means over pairs are NaN. With AllPairs, they are the value of the member with
// itself.
type Diversity struct {
	opt DiversityOptions
	kin
	rows tally.Weight
	mean [8]mean // in the order of the constants
	errs mean    // share of the members that are wrong

	// For DiversityOptions.Conditional: for each m and m', the weight of the rows where both are wrong, or where m is wrong
	// if m = m'.
	wrong []exact.Sum

	row    diverse
	counts []int64 // for a block without weights, in the order of wrong
}

var _ Accumulator = (*Diversity)(nil)

// NewDiversity returns an empty accumulator; o may be nil. It returns an error for options out of range.
func NewDiversity(o *DiversityOptions) (*Diversity, error) {
	d := &Diversity{}
	if o != nil {
		d.opt = *o
	}
	if d.opt.Measures == 0 {
		d.opt.Measures = ofDiversity
	}
	if d.opt.P == 0 {
		d.opt.P = 1
	}
	switch {
	case d.opt.Measures&^ofDiversity != 0:
		return nil, errors.New("ensemble: a measure is not one of pairs of members")
	case !(d.opt.P >= 1):
		return nil, fmt.Errorf("ensemble: the p of a distance is %v; it is at least 1", d.opt.P)
	case !(d.opt.Clip >= 0 && d.opt.Clip < 1):
		return nil, fmt.Errorf("ensemble: Clip is %v; probabilities are clipped at 0 <= Clip < 1", d.opt.Clip)
	}
	d.row.opt = &d.opt
	return d, nil
}

// DiversityOf returns the diversity of an ensemble. o and d may be nil. Errors are those of Fold and NewDiversity.
func DiversityOf(src metrics.MemberSource, o *Options, d *DiversityOptions) (*Diversity, error) {
	a, err := NewDiversity(d)
	if err != nil {
		return nil, err
	}
	if _, err := Run(src, o, a); err != nil {
		return nil, err
	}
	return a, nil
}

// Empty returns an accumulator without rows, with the same options.
func (d *Diversity) Empty() Accumulator { return metrics.Must(NewDiversity(&d.opt)) }

// Len returns the number of rows seen.
func (d *Diversity) Len() int64 { return d.rows.N }

// Measures returns the measures that are computed.
func (d *Diversity) Measures() Measure { return d.opt.Measures }

// Members returns the number of members, or 0 before the first row.
func (d *Diversity) Members() int { return d.members }

// AddBlock adds a block's rows.
func (d *Diversity) AddBlock(b *Block) {
	d.kin = kinOf(b)
	d.row.of(b)
	d.rows.Add(b.Rows, b.Weights)
	for i := range d.mean {
		if d.opt.Measures&(Disagreement<<i) != 0 {
			d.mean[i].add(d.row.v[i][:b.Rows], &kernel.WindowNLL, &kernel.WindowNLL2, b.Weights)
		}
	}
	d.errs.add(d.row.errs[:b.Rows], &kernel.WindowNLL, &kernel.WindowNLL2, b.Weights)
	if d.conditional() {
		d.addWrong(b)
	}
}

func (d *Diversity) conditional() bool { return d.opt.Conditional && d.opt.Measures&DoubleFault != 0 }

// addWrong adds to the sums of pairs; only those with m <= m' are used.
func (d *Diversity) addWrong(b *Block) {
	n := len(b.Members)
	if d.wrong == nil {
		d.wrong = make([]exact.Sum, n*n)
	}
	d.counts = room(d.counts, n*n)
	clear(d.counts)
	for i := range b.Rows {
		for m, o := range b.Members {
			if o.Hit[i] != 0 {
				continue
			}
			for m2 := m; m2 < n; m2++ {
				switch {
				case b.Members[m2].Hit[i] != 0:
				case b.Weights != nil:
					d.wrong[m*n+m2].AddFloat(b.Weights[i])
				default:
					d.counts[m*n+m2]++
				}
			}
		}
	}
	for p, c := range d.counts[:n*n] {
		if c > 0 {
			d.wrong[p].AddShifted(c, 88)
		}
	}
}

// Value returns the mean over the rows of one of the accumulator's measures. It is NaN without rows, for means over pairs
// with one member, for a conditional DoubleFault if some member is never wrong, and if unchecked scores have no value (the
// logarithm of a negative number). AverageKL and LogitKL are +Inf if a class has probability 0 from one member and not from
// another; BregmanKLVariance is +Inf if every class has probability 0 from some member. See InfiniteRows. It panics if m is
// not computed.
func (d *Diversity) Value(m Measure) float64 {
	s := slot(m, d.opt.Measures) - slot(Disagreement, ofDiversity)
	if m == DoubleFault && d.opt.Conditional {
		return d.givenWrong()
	}
	return d.mean[s].value(&d.rows, d.weighted)
}

// givenWrong returns the mean over pairs of P(m' is wrong | m is wrong).
func (d *Diversity) givenWrong() float64 {
	n := d.members
	if d.wrong == nil || n == 1 && !d.opt.AllPairs {
		return math.NaN()
	}
	s, pairs := 0.0, 0
	for m := range n {
		for m2 := range n {
			if m2 > m || d.opt.AllPairs {
				s += exact.Ratio(&d.wrong[min(m, m2)*n+max(m, m2)], &d.wrong[m*n+m])
				pairs++
			}
		}
	}
	return s / float64(pairs)
}

// DisagreementOver returns Disagreement divided by an error rate, for example Error. Like uncertainty_metrics, it divides by
// rate + 1e-7.
func (d *Diversity) DisagreementOver(rate float64) float64 {
	return d.Value(Disagreement) / (rate + 1e-7)
}

// Error returns the mean of the members' error rates.
func (d *Diversity) Error() float64 { return d.errs.value(&d.rows, d.weighted) }

// Interval returns mean +- z*s/sqrt(n) over the rows. There is no interval for a mean that is not finite, or for a
// conditional DoubleFault.
func (d *Diversity) Interval(m Measure, level float64) metrics.Interval {
	s := slot(m, d.opt.Measures) - slot(Disagreement, ofDiversity)
	if m == DoubleFault && d.opt.Conditional {
		return metrics.NoInterval()
	}
	return d.mean[s].interval(&d.rows, d.weighted, level)
}

// InfiniteRows returns the number of rows where a measure is +Inf.
func (d *Diversity) InfiniteRows(m Measure) int64 {
	return d.mean[slot(m, d.opt.Measures)-slot(Disagreement, ofDiversity)].infinite.N
}

// Finite returns the mean over the rows where a measure is finite.
func (d *Diversity) Finite(m Measure) float64 {
	return d.mean[slot(m, d.opt.Measures)-slot(Disagreement, ofDiversity)].finite(&d.rows, d.weighted)
}

// Merge adds what another *Diversity has seen.
func (d *Diversity) Merge(a Accumulator) error {
	o, err := state.Same[*Diversity](diversityFormat, a)
	switch {
	case err != nil:
		return err
	case d.opt.Measures != o.opt.Measures:
		return state.Mismatch(diversityFormat, "of %v and of %v", d.opt.Measures, o.opt.Measures)
	case d.opt != o.opt:
		return state.Mismatch(diversityFormat, "with options %+v and %+v", d.opt, o.opt)
	}
	if err := d.kin.merge(o.kin, diversityFormat); err != nil {
		return err
	}
	d.rows.Merge(&o.rows)
	for i := range d.mean {
		d.mean[i].merge(&o.mean[i])
	}
	d.errs.merge(&o.errs)
	if d.wrong == nil && o.wrong != nil {
		d.wrong = make([]exact.Sum, len(o.wrong))
	}
	for i := range o.wrong {
		d.wrong[i].Merge(&o.wrong[i])
	}
	return nil
}

var diversityFormat = exact.Format{Name: "ensemble.Diversity", Magic: "cDVY", Version: 1}

func (d *Diversity) fields(f *exact.Fields) {
	measures := int(d.opt.Measures)
	f.Int(&measures)
	f.Flags(&d.opt.AllPairs, &d.opt.Generalized, &d.opt.Conditional)
	f.F64(&d.opt.Clip)
	f.F64(&d.opt.P)
	f.Must(measures != 0 && measures&^int(ofDiversity) == 0 && d.opt.P >= 1 && d.opt.Clip >= 0 && d.opt.Clip < 1, exact.OutOfRange)
	d.opt.Measures = Measure(measures)
	d.kin.fields(f)
	d.rows.Fields(f)
	for i := range d.mean {
		d.mean[i].fields(f)
	}
	d.errs.fields(f)
	f.Must((d.members == 0) == (d.rows.N == 0), exact.OutOfRange)
	exact.Slice(f, &d.wrong, 25, f.Sum)
	if !f.Reading() {
		return
	}
	if len(d.wrong) == 0 {
		d.wrong = nil
	}
	f.Must((d.wrong != nil) == (d.conditional() && d.members > 0) &&
		(d.wrong == nil || len(d.wrong)/d.members == d.members && len(d.wrong)%d.members == 0), exact.OutOfRange)
}

// AppendBinary appends the state.
func (d *Diversity) AppendBinary(dst []byte) ([]byte, error) {
	return diversityFormat.Append(dst, d.fields)
}

// UnmarshalBinary replaces d, including its options, with a state that AppendBinary wrote.
func (d *Diversity) UnmarshalBinary(data []byte) error {
	err := exact.Replace(diversityFormat, data, d, (*Diversity).fields)
	d.row.opt = &d.opt
	return err
}
