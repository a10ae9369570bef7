package score

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// CRPSForm says how samples x_1 ... x_m stand for the distribution that they were drawn from. With
//
//	A = sum_j |x_j - y|,  B = sum_{j<k} |x_j - x_k|
type CRPSForm uint8

const (
	// CRPSV is A/m - B/m^2, the score of the samples' own distribution function: the integral of (F_m(x) - 1[x >= y])^2. As a
	// score of the distribution that they were drawn from it is too high by E|X - X'|/(2m). For m = 1 it is |x - y|.
	CRPSV CRPSForm = iota
	// CRPSFair is A/m - B/(m*(m-1)), unbiased for samples drawn independently: its mean does not depend on m (Ferro 2014). NaN
	// for m = 1, of which no spread can be told.
	CRPSFair
	// CRPSRolled is A/m - sum_j |x_j - x_{j-1}|/(2m), with x_m before x_1: unbiased as well, but it takes only m of the pairs,
	// depends on the order of the samples, and is badly off if they are sorted: uncertainty_metrics. For m = 1 it is |x - y|.
	CRPSRolled
	crpsForms
)

// CRPSPWM is the form by probability-weighted moments, A/m + b0 - 2*b1 with b0 the samples' mean and
// b1 = sum_j (j-1)*x_(j)/(m*(m-1)) of the sorted ones. It is equal to the fair one (Zamo and Naveau 2018).
const CRPSPWM = CRPSFair

// CRPSOptions are options of a SampleCRPS.
type CRPSOptions struct {
	Rolled bool // CRPSRolled is kept too
}

// SampleCRPS accumulates the continuous ranked probability score of samples, of which every row has equally many:
// predictions of the kind metrics.Samples. It is a metrics.Accumulator, and panics if it is fed another kind. The time
// for a row of m samples grows as m*ln(m).
//
// Sums of scores are exact whatever their unit; a state takes about 300 bytes. Values so large that a row's sums are beyond
// float64 make the mean +Inf.
type SampleCRPS struct {
	opt  CRPSOptions
	seen state.Rows // Classes are the samples of a row

	count    tally.Weight
	infinite int64 // rows whose score is
	forms    [crpsForms]tally.Mean

	rows sampleRows
}

var _ metrics.Accumulator = (*SampleCRPS)(nil)

// NewSampleCRPS returns an empty accumulator; o may be nil.
func NewSampleCRPS(o *CRPSOptions) (*SampleCRPS, error) {
	s := &SampleCRPS{}
	if o != nil {
		s.opt = *o
	}
	return s, nil
}

// Needs says that the samples' distances are wanted, and the samples themselves for the rolled form.
func (s *SampleCRPS) Needs() metrics.Need {
	if s.opt.Rolled {
		return metrics.NeedSpread | metrics.NeedRows
	}
	return metrics.NeedSpread
}

// Empty returns an accumulator of the same options without rows.
func (s *SampleCRPS) Empty() metrics.Accumulator { return metrics.Must(NewSampleCRPS(&s.opt)) }

// Len returns the number of rows seen.
func (s *SampleCRPS) Len() int64 { return s.count.N }

// Samples returns how many samples a row has, 0 before the first.
func (s *SampleCRPS) Samples() int { return s.seen.Classes }

// keeps tells whether a form is kept and has a value.
func (s *SampleCRPS) keeps(f CRPSForm) bool {
	return (f != CRPSFair || s.seen.Classes > 1) && (f != CRPSRolled || s.opt.Rolled)
}

// AddBlock adds a block's rows.
func (s *SampleCRPS) AddBlock(b *metrics.Block) {
	s.seen.Begin(b)
	s.rows.sums(b, s.opt.Rolled)
	s.count.Add(b.Rows, b.Weights)
	for _, a := range s.rows.far {
		if a > math.MaxFloat64 {
			s.infinite++
		}
	}
	for f := range crpsForms {
		if s.keeps(f) {
			s.forms[f].AddUnits(s.rows.scores(f, b.Classes), b.Weights)
		}
	}
}

// Merge adds what another *SampleCRPS has seen.
func (s *SampleCRPS) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*SampleCRPS](sampleFormat, a)
	if err != nil {
		return err
	}
	if s.opt != o.opt {
		return state.Mismatch(sampleFormat, "with and without the rolled form")
	}
	if err := s.seen.Merge(o.seen, sampleFormat, "samples a row"); err != nil {
		return err
	}
	s.count.Merge(&o.count)
	s.infinite += o.infinite
	for f := range s.forms {
		s.forms[f].Merge(&o.forms[f])
	}
	return nil
}

// Value returns the mean score in the given form; lower is better, and 0 is best. NaN without rows, and for CRPSFair of
// one sample a row. It panics if CRPSRolled is asked for and not in the options.
func (s *SampleCRPS) Value(f CRPSForm) float64 {
	s.check(f)
	switch {
	case !s.keeps(f):
		return math.NaN()
	case s.infinite > 0:
		return math.Inf(1)
	}
	return s.forms[f].Value(&s.count, s.seen.Weighted)
}

// Interval is mean +- z*s/sqrt(n) of the same form; there is none of an infinite mean, or where a square is beyond float64.
func (s *SampleCRPS) Interval(f CRPSForm, level float64) metrics.Interval {
	v := s.Value(f)
	return metrics.Normal(v, s.forms[f].StdErr(&s.count, s.seen.Weighted), level)
}

func (s *SampleCRPS) check(f CRPSForm) {
	if f >= crpsForms {
		panic("score: no such form of the CRPS")
	}
	if f == CRPSRolled && !s.opt.Rolled {
		panic("score: the rolled CRPS has to be in the options")
	}
}

var sampleFormat = exact.Format{Name: "score.SampleCRPS", Magic: "cCRP", Version: 1}

func (s *SampleCRPS) fields(f *exact.Fields) {
	f.Flags(&s.seen.Weighted, &s.opt.Rolled)
	f.Int(&s.seen.Classes)
	s.count.Fields(f)
	f.N(&s.infinite)
	for i := range s.forms {
		s.forms[i].Fields(f)
	}
	f.Must((s.seen.Classes == 0) == (s.count.N == 0), exact.OutOfRange)
}

// AppendBinary appends the state.
func (s *SampleCRPS) AppendBinary(dst []byte) ([]byte, error) {
	return sampleFormat.Append(dst, s.fields)
}

// UnmarshalBinary replaces s, options and all, by what AppendBinary wrote.
func (s *SampleCRPS) UnmarshalBinary(data []byte) error {
	return exact.Replace(sampleFormat, data, s, (*SampleCRPS).fields)
}

// CRPS returns the mean score of samples in memory (p.Kind is metrics.Samples, or it panics). The mean is SampleCRPS's, to the bit; see
// CRPSForm for what each form is. o may be nil. Errors are as of NLL.
func CRPS(p *metrics.Predictions, form CRPSForm, o *metrics.Options) (float64, error) {
	s, err := NewSampleCRPS(&CRPSOptions{Rolled: form == CRPSRolled})
	if err != nil {
		return math.NaN(), err
	}
	s.check(form)
	if p.Kind != metrics.Samples {
		panic(errNoSamples)
	}
	return meanOf(s, nil, p, o, func(s *SampleCRPS) float64 { return s.Value(form) })
}

const errNoSamples = "score: the CRPS of samples takes predictions of the kind samples"

// sampleRows holds the sums of a block's rows of m samples, one an element: far is A/m of CRPSForm, spread is B/m and rolled the
// sum of CRPSRolled.
type sampleRows struct {
	far, spread, rolled []float64
	v, row              []float64
}

// sums sets the sums of a block; rolled only where it is wanted. far is +Inf where any of them is beyond float64.
func (r *sampleRows) sums(b *metrics.Block, rolled bool) {
	if b.Kind != metrics.Samples {
		panic(errNoSamples)
	}
	r.far, r.spread = room(r.far, b.Rows), room(r.spread, b.Rows)
	r.rolled = r.rolled[:0]
	if rolled {
		r.rolled = room(r.rolled, b.Rows)
		for i := range r.rolled {
			x := r.widen(&b.Probs, i)
			last, sum := x[len(x)-1], 0.0
			for _, v := range x {
				sum += math.Abs(last - v)
				last = v
			}
			r.rolled[i] = sum
		}
	}
	m := float64(b.Classes)
	abs, spread := b.Abs[:b.Rows], b.Spread[:b.Rows]
	for i := range r.far {
		far, apart := abs[i], spread[i]
		if s := far + apart; s-s != 0 || rolled && r.rolled[i] > math.MaxFloat64 {
			far, apart = math.Inf(1), 0
			if rolled {
				r.rolled[i] = 0
			}
		}
		r.far[i], r.spread[i] = far/m, apart/m
	}
}

// widen returns a copy of a row.
func (r *sampleRows) widen(t *metrics.Tile, i int) []float64 {
	r.row = room(r.row, t.Width)
	if t.F64 != nil {
		copy(r.row, t.F64[i*t.Stride:])
		return r.row
	}
	for j, v := range t.F32[i*t.Stride : i*t.Stride+t.Width] {
		r.row[j] = float64(v)
	}
	return r.row
}

// scores returns the rows' scores of m samples in a form, which the next call overwrites.
func (r *sampleRows) scores(f CRPSForm, samples int) []float64 {
	r.v = room(r.v, len(r.far))
	m := float64(samples)
	switch {
	case f == CRPSRolled:
		for i, a := range r.far {
			r.v[i] = a - float64(r.rolled[i]/m/2)
		}
	case f == CRPSFair && samples == 1:
		for i := range r.v {
			r.v[i] = math.NaN()
		}
	default:
		if f == CRPSFair {
			m--
		}
		for i, a := range r.far { // neither of these is below 0 but by rounding
			r.v[i] = max(0, a-r.spread[i]/m)
		}
	}
	return r.v
}

func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
