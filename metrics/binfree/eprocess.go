package binfree

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/state"
)

// bets is the number of stakes on either side: 2^-1 to 2^-bets of the fortune. The bets on betRows rows are evaluated at once, in the first cache.
const (
	bets    = 8
	betRows = 128
)

// EProcess accumulates the evidence against calibration as a bet pays it: the fortune, from 1 on, of somebody who stakes against the
// scores p of the outcomes y,
//
//	E = (1/16) sum over lambda = +-2^-1, ..., +-2^-8 of prod (1 + lambda (y - p))
//
// If the scores are calibrated, no bet gains on average: E has mean 1 after any number of rows, and by Ville's inequality the
// probability that it ever reaches 20 is at most 1/20. So E may be looked at after every row, and the rows may end when it is high. This
// holds for independent or dependent rows, as long as each comes once, in an order that outcomes did not choose, and y has the mean p
// given the rows before. E detects gaps of one sign on average; gaps that cancel over the rows leave it small.
//
// A row adds ln(1 + lambda (y - p)) to each of 16 sums. Each is rounded to 2^-51 and added in integers, so E does not depend on the
// order of rows or on how they were divided; its relative error is below N 2^-50. EProcess is a metrics.Accumulator. Its state takes
// about 450 bytes. With weights there is no E: a row that counts w times is no bet.
//
// Sources: Ville 1939; Shafer 2021; Waudby-Smith and Ramdas 2024 (bets on means); Henzi and Ziegel 2022 (e-values of forecasts).
type EProcess struct {
	event   metrics.Event
	seen    state.Rows
	rows    int64
	outside int64 // rows of scores outside [0,1], which are in no sum
	logs    [2 * bets]exact.Sum

	d, v []float64
}

var _ metrics.Accumulator = (*EProcess)(nil)

// NewEProcess returns an empty accumulator for an event. It panics if the event is AllClasses.
func NewEProcess(e metrics.Event) *EProcess {
	if e > metrics.Positive {
		panic("binfree: bets are on an event of each row")
	}
	return &EProcess{event: e}
}

// stake returns lambda of the k-th sum.
func stake(k int) float64 {
	s := math.Ldexp(1, -1-k/2)
	if k%2 == 1 {
		return -s
	}
	return s
}

var stakes, ones = func() (s [2 * bets]float64, o [betRows]float64) {
	for k := range s {
		s[k] = stake(k)
	}
	for i := range o {
		o[i] = 1
	}
	return s, o
}()

// Needs returns 0: the columns that every block has suffice.
func (a *EProcess) Needs() metrics.Need { return 0 }

// Empty returns an accumulator without rows, for the same event.
func (a *EProcess) Empty() metrics.Accumulator { return NewEProcess(a.event) }

// Len returns the number of rows seen.
func (a *EProcess) Len() int64 { return a.rows }

// AddBlock adds a block's rows. It panics for the event Positive with more than two classes.
func (a *EProcess) AddBlock(b *metrics.Block) {
	e := a.event.Resolve(b.Classes)
	a.seen.Begin(b)
	a.seen.Decided = b.Decisions != nil && e == metrics.TopLabel
	a.rows += int64(b.Rows)
	if b.Weights != nil {
		return
	}
	if len(a.d) < b.Rows {
		a.d, a.v = make([]float64, b.Rows), make([]float64, 2*bets*min(b.Rows, betRows))
	}
	d := a.d[:b.Rows]
	if e == metrics.Positive {
		if b.Classes > 2 {
			panic("binfree: there is no positive class among more than two")
		}
		for i, p := range b.Stats.Positive[:b.Rows] {
			d[i] = a.gain(p, b.Labels[i] == 1)
		}
	} else {
		for i, p := range b.Score[:b.Rows] {
			d[i] = a.gain(p, b.Right[i] != 0)
		}
	}
	for len(d) > 0 {
		n := min(len(d), betRows)
		v := a.v[:2*bets*n]
		kernel.AffineF64(v, stakes[:], d[:n], ones[:n], 2*bets, 1, n) // exact but for the rounding of 1 + lambda d
		kernel.LogSliceF64(v, v)
		for k := range a.logs {
			sum, _, _ := kernel.FixedSums(v[k*n:][:n], &kernel.WindowUnit)
			a.logs[k].AddShifted(sum, 88-51)
		}
		d = d[n:]
	}
}

// gain returns y - p. A score outside [0,1] is counted and bet on by nothing.
func (a *EProcess) gain(p float64, event bool) float64 {
	switch {
	case !(p >= 0 && p <= 1):
		a.outside++
		return 0
	case event:
		return 1 - p
	}
	return 0 - p
}

// Log returns ln E, which is finite for any number of rows. It is NaN if Reason gives a reason.
func (a *EProcess) Log() float64 {
	if a.Reason() != "" {
		return math.NaN()
	}
	var logs [2 * bets]float64
	most := math.Inf(-1)
	for k := range a.logs {
		logs[k] = a.logs[k].Float64()
		most = math.Max(most, logs[k])
	}
	sum := 0.0
	for _, l := range logs {
		sum += kernel.Exp64(l - most)
	}
	return most + kernel.Log64(sum/(2*bets))
}

// Value returns E, or +Inf where it is beyond the range of float64; see Log. It is NaN if Reason gives a reason.
func (a *EProcess) Value() float64 { return kernel.Exp64(a.Log()) }

// Reason says why there is no E: no rows, weights, or scores outside [0,1]. It is "" if there is one.
func (a *EProcess) Reason() string {
	switch {
	case a.rows == 0:
		return reason.NoRows
	case a.seen.Weighted:
		return "with weights there is no e-value: a row that counts several times, or in part, is no bet"
	case a.outside > 0:
		return reason.Outside
	}
	return ""
}

// Merge adds what another *EProcess has seen.
func (a *EProcess) Merge(other metrics.Accumulator) error {
	o, err := state.Same[*EProcess](eprocessFormat, other)
	if err != nil {
		return err
	}
	if a.event != o.event {
		return state.Mismatch(eprocessFormat, "of the event %d and of %d", a.event, o.event)
	}
	if err := a.seen.Merge(o.seen, eprocessFormat, "classes"); err != nil {
		return err
	}
	a.rows += o.rows
	a.outside += o.outside
	for k := range a.logs {
		a.logs[k].Merge(&o.logs[k])
	}
	return nil
}

var eprocessFormat = exact.Format{Name: "binfree.EProcess", Magic: "cEPR", Version: 1}

func (a *EProcess) fields(f *exact.Fields) {
	exact.Byte(f, &a.event)
	a.seen.Fields(f)
	f.Flags(&a.seen.Decided)
	f.N(&a.rows)
	f.N(&a.outside)
	e := a.event.Resolve(a.seen.Classes)
	const damaged = "its bets are not those of its rows"
	f.Must(a.event <= metrics.Positive && (a.rows > 0) == (a.seen.Classes > 0) && a.outside <= a.rows &&
		(a.outside == 0 || !a.seen.Weighted) && (!a.seen.Decided || e == metrics.TopLabel && a.rows > 0) &&
		(e != metrics.Positive || a.seen.Classes <= 2), damaged)
	for k := range a.logs {
		f.Sum(&a.logs[k])
		// No row multiplies a fortune by more than 1 + lambda, or by less than 1 - lambda.
		s, n := a.logs[k].Float64(), float64(a.rows-a.outside)*(1+1e-9)
		l := math.Abs(stake(k))
		f.Must(s <= n*kernel.Log1p64(l) && s >= n*kernel.Log1p64(-l) && (s == 0 || !a.seen.Weighted), damaged)
	}
}

// AppendBinary appends the state.
func (a *EProcess) AppendBinary(dst []byte) ([]byte, error) {
	return eprocessFormat.Append(dst, a.fields)
}

// UnmarshalBinary replaces a, including its event, with a state that AppendBinary wrote.
func (a *EProcess) UnmarshalBinary(data []byte) error {
	return exact.Replace(eprocessFormat, data, a, (*EProcess).fields)
}
