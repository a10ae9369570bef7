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

// Criterion is an estimate of how well a Bayesian model predicts new rows. It is computed from the log-likelihoods of the
// rows used to fit the model, under M draws of its parameters. Criteria up to PSISLOO are mean log predictive densities of a
// row, in nats: higher is better. The others are the differences to LPPD, whose totals are called effective numbers of
// parameters.
//
// Below, l_1 ... l_M are a row's log-likelihoods, and V is their variance.
type Criterion uint8

const (
	// LPPD is ln((1/M) sum exp l_m), the log predictive density. It is too high for rows that the model was fitted to.
	LPPD Criterion = iota
	// WAIC1 is LPPD - V: Watanabe's criterion, as a log density (Watanabe 2010; Gelman, Hwang and Vehtari 2014).
	WAIC1
	// WAIC2 is 2 mean l_m - LPPD, that is LPPD - 2 (LPPD - mean l_m), with the other penalty of Gelman, Hwang and Vehtari.
	WAIC2
	// ISCV is -ln((1/M) sum exp -l_m): leave-one-out with raw importance weights 1/exp l_m (Gelfand, Dey and Chang 1992).
	ISCV
	// PSISLOO is leave-one-out with the same weights, after smoothing the largest ones by a generalized Pareto distribution
	// (Vehtari, Simpson, Gelman, Yao and Gabry 2024). It requires InformationOptions.PSIS.
	PSISLOO
	// PWAIC is V, that is LPPD - WAIC1.
	PWAIC
	// PLOO is LPPD - PSISLOO. It requires InformationOptions.PSIS.
	PLOO
	criteria
)

// String returns the criterion's name in documents: "lppd", "nwaic1", "nwaic2", "iscv", "psis_loo", "p_waic", "p_loo".
func (c Criterion) String() string {
	if c < criteria {
		return [...]string{"lppd", "nwaic1", "nwaic2", "iscv", "psis_loo", "p_waic", "p_loo"}[c]
	}
	return fmt.Sprintf("Criterion(%d)", uint8(c))
}

// InformationOptions are options of Information. The zero value follows the textbook, without PSISLOO.
type InformationOptions struct {
	// AsCoded computes what google/uncertainty-metrics computes. V has 1/M instead of the textbook's 1/(M-1). The standard
	// error is sqrt(v/M), with v the variance over rows with 1/n; it divides a variance over rows by the number of draws. A
	// single draw then has every criterion.
	AsCoded bool
	// PSIS adds PSISLOO, PLOO and the diagnostics. Rows of 1,000 draws then take about four times as long.
	PSIS bool
	// REff is the relative efficiency of the draws: their effective number divided by M, as in loo and ArviZ. The tail of
	// PSIS has ceil(min(M/5, 3 sqrt(M/REff))) weights. 0 means 1, for independent draws; Markov chains mostly have less.
	REff float64
}

// Information accumulates the criteria for rows of log-likelihoods (metrics.LogLiks). It is a metrics.Accumulator. Its state
// takes some 500 bytes. Sums are exact. A row's values have the same bits on every CPU.
//
// One draw cannot separate what the model knew from what it learned from the row itself. All criteria but LPPD are then NaN,
// unless AsCoded is set.
type Information struct {
	opt    InformationOptions
	seen   state.Rows // Classes is the number of draws per row
	rows   tally.Weight
	means  [criteria]tally.Mean
	lowest [criteria]int64 // rows where the criterion is -Inf

	highVariance int64
	highPareto   int64
	unsmoothed   int64
	paretoMax    float64 // NaN before the first row

	of informationRow
}

var _ metrics.Accumulator = (*Information)(nil)

const (
	errLogLiks     = "ensemble: Information takes log-likelihoods (metrics.LogLiks)"
	errCriterion   = "ensemble: no such criterion"
	errWithoutPSIS = "ensemble: PSISLOO and PLOO take InformationOptions.PSIS"
)

// NewInformation returns an empty accumulator; o may be nil. It returns an error for an invalid relative efficiency.
func NewInformation(o *InformationOptions) (*Information, error) {
	a := &Information{paretoMax: math.NaN()}
	if o != nil {
		a.opt = *o
	}
	if a.opt.REff == 0 {
		a.opt.REff = 1
	}
	if !soundREff(a.opt.REff) {
		return nil, fmt.Errorf("ensemble: REff is %v; the relative efficiency of draws is finite and above 0", a.opt.REff)
	}
	return a, nil
}

func soundREff(r float64) bool { return r > 0 && r <= math.MaxFloat64 }

// psis reports whether the criterion uses smoothed weights.
func (c Criterion) psis() bool { return c == PSISLOO || c == PLOO }

// Needs returns NeedRows.
func (a *Information) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows, with the same options.
func (a *Information) Empty() metrics.Accumulator { return metrics.Must(NewInformation(&a.opt)) }

// Len returns the number of rows seen.
func (a *Information) Len() int64 { return a.rows.N }

// highVariance is the V above which WAIC is unreliable (Vehtari, Gelman and Gabry 2017), and highPareto the shape above
// which importance sampling is.
const (
	highVariance = 0.4
	highPareto   = 0.7
)

// AddBlock adds a block's rows. It panics unless they are log-likelihoods.
func (a *Information) AddBlock(b *metrics.Block) {
	if b.Kind != metrics.LogLiks {
		panic(errLogLiks)
	}
	a.seen.Begin(b)
	a.rows.Add(b.Rows, b.Weights)
	for i := range b.Rows {
		r := &a.of
		r.take(b, i, &a.opt)
		w := 1.0
		if a.seen.Weighted {
			w = b.Weights[i]
		}
		for c := range a.means {
			if !Criterion(c).psis() || a.opt.PSIS {
				if !addExact(&a.means[c], r.value[c], w) {
					a.lowest[c]++
				}
			}
		}
		if r.variance > highVariance {
			a.highVariance++
		}
		if !a.opt.PSIS {
			continue
		}
		a.paretoMax = greater(a.paretoMax, r.pareto)
		switch {
		case r.pareto != r.pareto:
			a.unsmoothed++
		case r.pareto > highPareto:
			a.highPareto++
		}
	}
}

// greater returns the larger of two numbers, ignoring NaN.
func greater(x, y float64) float64 {
	if y > x || x != x {
		return y
	}
	return x
}

// addExact adds x with its weight. It does not round to a fixed quantum, because log densities depend on the user's units.
// If x times w is not finite, it returns false and leaves the sums unchanged. If a square is not finite, the mean has no
// standard error.
func addExact(m *tally.Mean, x, w float64) bool {
	p := float64(w * x)
	if p-p != 0 {
		return false
	}
	m.S1.AddExact(p)
	if q := float64(p * x); q-q == 0 {
		m.S2.AddExact(q)
	} else {
		m.Over++
	}
	return true
}

// has reports whether the rows have the criterion.
func (a *Information) has(c Criterion) bool {
	if c >= criteria {
		panic(errCriterion)
	}
	if c.psis() && !a.opt.PSIS {
		panic(errWithoutPSIS)
	}
	return a.rows.N > 0 && (a.seen.Classes > 1 || c == LPPD || a.opt.AsCoded)
}

// Value returns the mean over the rows. It is NaN without rows, and for all but LPPD with one draw, unless AsCoded is set.
// If a row's value is -Inf, it is -Inf (PWAIC and PLOO: +Inf); this takes log-likelihoods of magnitude 1e154. It panics for
// PSISLOO and PLOO without InformationOptions.PSIS.
func (a *Information) Value(c Criterion) float64 {
	switch {
	case !a.has(c):
		return math.NaN()
	case a.lowest[c] > 0 && c > PSISLOO:
		return math.Inf(1)
	case a.lowest[c] > 0:
		return math.Inf(-1)
	}
	return a.means[c].Value(&a.rows, a.seen.Weighted)
}

// Total returns the sum over the rows, each times its weight. For PWAIC and PLOO it is the effective number of parameters.
// If Value is not finite, it equals Value.
func (a *Information) Total(c Criterion) float64 {
	if v := a.Value(c); v-v != 0 {
		return v
	}
	return a.means[c].S1.Float64()
}

// TotalInterval returns Total +- z W StdErr, where W is the number of rows or the sum of their weights.
func (a *Information) TotalInterval(c Criterion, level float64) metrics.Interval {
	w := a.rows.Total(a.seen.Weighted)
	return metrics.Normal(a.Total(c), float64(w.Float64()*a.StdErr(c)), level)
}

// StdErr returns the standard error of Value: s/sqrt(n), with s the standard deviation over rows with 1/(n-1), and n the
// effective number of rows if there are weights. With AsCoded it is sqrt(v/M), with v the variance with 1/n. It is NaN for
// fewer than two rows.
func (a *Information) StdErr(c Criterion) float64 {
	if !a.has(c) || a.lowest[c] > 0 || a.means[c].Over > 0 {
		return math.NaN()
	}
	se := a.means[c].StdErr(&a.rows, a.seen.Weighted)
	if !a.opt.AsCoded {
		return se
	}
	if a.rows.N == 1 {
		return 0
	}
	// s^2/n * (n-1) is the variance with 1/n.
	n := a.rows.Effective(a.seen.Weighted)
	return se * math.Sqrt((n-1)/float64(a.seen.Classes))
}

// Interval returns Value +- z StdErr.
func (a *Information) Interval(c Criterion, level float64) metrics.Interval {
	return metrics.Normal(a.Value(c), a.StdErr(c), level)
}

// Draws returns M, or 0 before the first row.
func (a *Information) Draws() int { return a.seen.Classes }

// HighVarianceRows returns the number of rows with V above 0.4. If there are any, WAIC1 and WAIC2 are unreliable (Vehtari,
// Gelman and Gabry 2017).
func (a *Information) HighVarianceRows() int64 { return a.highVariance }

// ParetoKMax returns the largest shape k of a row's importance weights. Up to 0.5 the weights have a finite variance; from
// 0.7 on, PSISLOO is unreliable. It is +Inf if the weights differ too much for a fit in float64; the row then has its ISCV.
// It is NaN if no row has a shape, as without InformationOptions.PSIS.
func (a *Information) ParetoKMax() float64 { return a.paretoMax }

// HighParetoRows returns the number of rows with a shape k above 0.7.
func (a *Information) HighParetoRows() int64 { return a.highPareto }

// UnsmoothedRows returns the number of rows without a shape k, whose PSISLOO is their ISCV. They have fewer than five
// weights above the ones that are not smoothed, as with 20 draws or fewer, or with draws that agree.
func (a *Information) UnsmoothedRows() int64 { return a.unsmoothed }

// Merge adds what another *Information has seen.
func (a *Information) Merge(m metrics.Accumulator) error {
	o, err := state.Same[*Information](informationFormat, m)
	switch {
	case err != nil:
		return err
	case a.opt.AsCoded != o.opt.AsCoded:
		return state.Mismatch(informationFormat, "as coded and not")
	case a.opt.PSIS != o.opt.PSIS:
		return state.Mismatch(informationFormat, "with and without PSIS")
	case a.opt.REff != o.opt.REff:
		return state.Mismatch(informationFormat, "of draws of the relative efficiency %v and %v", a.opt.REff, o.opt.REff)
	}
	if err := a.seen.Merge(o.seen, informationFormat, "draws"); err != nil {
		return err
	}
	a.rows.Merge(&o.rows)
	for c := range a.means {
		a.means[c].Merge(&o.means[c])
		a.lowest[c] += o.lowest[c]
	}
	a.highVariance += o.highVariance
	a.highPareto += o.highPareto
	a.unsmoothed += o.unsmoothed
	a.paretoMax = greater(a.paretoMax, o.paretoMax)
	return nil
}

var informationFormat = exact.Format{Name: "ensemble.Information", Magic: "cINF", Version: 2}

func (a *Information) fields(f *exact.Fields) {
	f.Flags(&a.opt.AsCoded, &a.opt.PSIS, &a.seen.Weighted)
	f.F64(&a.opt.REff)
	f.Int(&a.seen.Classes)
	a.rows.Fields(f)
	for c := range a.means {
		a.means[c].Fields(f)
		f.N(&a.lowest[c])
	}
	f.N(&a.highVariance)
	f.N(&a.highPareto)
	f.N(&a.unsmoothed)
	f.F64(&a.paretoMax)
	f.Must(soundREff(a.opt.REff) && (a.seen.Classes == 0) == (a.rows.N == 0), exact.OutOfRange)
}

// AppendBinary appends the state.
func (a *Information) AppendBinary(dst []byte) ([]byte, error) {
	return informationFormat.Append(dst, a.fields)
}

// UnmarshalBinary replaces a, including its options, with a state that AppendBinary wrote.
func (a *Information) UnmarshalBinary(data []byte) error {
	return exact.Replace(informationFormat, data, a, (*Information).fields)
}

// informationRow has the values of one row, and scratch.
type informationRow struct {
	value    [criteria]float64
	variance float64
	pareto   float64

	x, e []float64
	tail paretoTail
}

// take computes the block's row i.
func (r *informationRow) take(b *metrics.Block, i int, o *InformationOptions) {
	m := b.Probs.Width
	if len(r.x) != m {
		r.x, r.e = make([]float64, m), make([]float64, m)
	}
	b.Probs.Row(r.x, i)
	r.criteria(o.AsCoded)
	if o.PSIS {
		r.value[PSISLOO], r.pareto = r.tail.leaveOneOut(r.x, o.REff)
		if r.value[PSISLOO] != r.value[PSISLOO] {
			r.value[PSISLOO] = r.value[ISCV]
		}
		r.value[PLOO] = r.value[LPPD] - r.value[PSISLOO]
	}
}

// criteria computes all of the row's values but PSISLOO. It keeps the largest term out of each sum of exponentials, so that
// the sum of the others keeps its digits.
func (r *informationRow) criteria(asCoded bool) {
	x, n := r.x, float64(len(r.x))
	low, high := 0, 0
	for j, v := range x {
		if v < x[low] {
			low = j
		}
		if v > x[high] {
			high = j
		}
	}
	lo, hi, logN := x[low], x[high], kernel.Log64(n)
	mean := 0.0
	for j, v := range x {
		r.e[j] = v - hi
		mean += r.e[j]
	}
	mean = hi + mean/n
	lppd := hi + (kernel.Log1p64(r.others(high)) - logN)
	v := 0.0
	for j, y := range x {
		d := y - mean
		v += float64(d * d)
		r.e[j] = lo - y
	}
	switch {
	case asCoded:
		v /= n
	case len(x) > 1:
		v /= n - 1
	}
	r.variance = v
	r.value[PWAIC] = v
	r.value[LPPD] = lppd
	r.value[WAIC1] = lppd - v
	r.value[WAIC2] = mean + (mean - lppd)
	r.value[ISCV] = lo - (kernel.Log1p64(r.others(low)) - logN)
}

// others returns the sum of the exponentials of r.e except the element at held.
func (r *informationRow) others(held int) float64 {
	r.e[held] = math.Inf(-1)
	kernel.ExpSliceF64(r.e, r.e)
	s := 0.0
	for _, e := range r.e {
		s += e
	}
	return s
}

// InformationRows returns a criterion's value of each row of log-likelihoods in memory: NaN for a row that was dropped, and for all rows
// if Information.Value is NaN. o and opt may be nil; PSISLOO and PLOO need no option here. The error is a *metrics.DataError.
func InformationRows(p *metrics.Predictions, c Criterion, o *InformationOptions, opt *metrics.Options) ([]float64, error) {
	var own InformationOptions
	if o != nil {
		own = *o
	}
	own.PSIS = c.psis()
	a, err := NewInformation(&own)
	if err != nil {
		return nil, err
	}
	own = a.opt
	a.has(c)
	return eachRow(p, opt, func() func(b *metrics.Block, i int) float64 {
		var r informationRow
		return func(b *metrics.Block, i int) float64 {
			r.take(b, i, &own)
			if b.Classes == 1 && c != LPPD && !own.AsCoded {
				return math.NaN()
			}
			return r.value[c]
		}
	})
}

// ParetoKs returns the shape k of each row's importance weights, for a relative efficiency of 1: NaN for a row without a shape (see
// Information.UnsmoothedRows) and for a row that was dropped. opt may be nil. The error is a *metrics.DataError.
func ParetoKs(p *metrics.Predictions, opt *metrics.Options) ([]float64, error) {
	return eachRow(p, opt, func() func(b *metrics.Block, i int) float64 {
		var r informationRow
		return func(b *metrics.Block, i int) float64 {
			if b.Kind != metrics.LogLiks {
				panic(errLogLiks)
			}
			r.take(b, i, &InformationOptions{PSIS: true, REff: 1})
			return r.pareto
		}
	})
}

// eachRow returns the value of each row, NaN for one that was dropped. fresh is called once for each goroutine.
func eachRow(p *metrics.Predictions, o *metrics.Options, fresh func() func(b *metrics.Block, i int) float64) ([]float64, error) {
	values := make([]float64, p.Rows)
	for i := range values {
		values[i] = math.NaN()
	}
	w := newRowWriter(func() func(*metrics.Block) {
		of := fresh()
		return func(b *metrics.Block) {
			for i := range b.Rows {
				values[b.Number(i)] = of(b, i)
			}
		}
	})
	if err := metrics.NewPass(o, w).Add(p); err != nil {
		return nil, err
	}
	return values, nil
}

// rowWriter is an accumulator that keeps nothing: it hands each block to a function.
type rowWriter struct {
	fresh func() func(b *metrics.Block) // called once for each goroutine
	add   func(b *metrics.Block)
}

func newRowWriter(fresh func() func(b *metrics.Block)) *rowWriter { return &rowWriter{fresh, fresh()} }

var errRowState = errors.New("ensemble: rows have no state")

func (r *rowWriter) Needs() metrics.Need                 { return metrics.NeedRows }
func (r *rowWriter) Len() int64                          { return 0 }
func (r *rowWriter) Merge(metrics.Accumulator) error     { return nil }
func (r *rowWriter) AppendBinary([]byte) ([]byte, error) { return nil, errRowState }
func (r *rowWriter) UnmarshalBinary([]byte) error        { return errRowState }
func (r *rowWriter) Empty() metrics.Accumulator          { return newRowWriter(r.fresh) }
func (r *rowWriter) AddBlock(b *metrics.Block)           { r.add(b) }
