package recal

import (
	"iter"
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
)

// CellFit is the curve of Platt or Beta for the rows that cells have kept: no row is read again, so a state is enough. Its parameters are
// those of a fit to the rows, to about 1e-7. Where cells are not exact, the rows of a grid cell are placed at their mean score.
type CellFit struct {
	fit   *logisticFit
	curve curve
	of    cells.Rising
}

// CellMethod is a method that can be fitted to cells: Platt or Beta.
type CellMethod interface {
	Method
	// FitCells fits the curve of the event of the cells. The error wraps ErrUnreachable if there is no fit; see Fit.
	FitCells(r cells.Rising) (*CellFit, error)
}

// FitCells fits the curve of the event of the cells: with TopLabel, or for a binary task, that of Fit.
func (m Platt) FitCells(r cells.Rising) (*CellFit, error) {
	f, err := logisticModel{smoothed: m.Smoothed}.fitCells(r)
	if err != nil {
		return nil, err
	}
	if f.survey.agree > 0 && f.a[0] < 0 {
		return nil, unreachable(reversed)
	}
	se, at := f.errors()
	return &CellFit{f, &PlattCurve{A: f.a[0], B: f.c, ASE: se, BSE: at}, r}, nil
}

// FitCells fits the curve of the event of the cells: with TopLabel, or for a binary task, that of Fit.
func (m Beta) FitCells(r cells.Rising) (*CellFit, error) {
	f, err := logisticModel{beta: true}.fitCells(r)
	if err != nil {
		return nil, err
	}
	return &CellFit{f, &BetaCurve{A: f.a[0], B: f.a[1], C: f.c}, r}, nil
}

func (m logisticModel) fitCells(r cells.Rising) (*logisticFit, error) {
	f, scratch := &logisticFit{logisticModel: m}, new(logisticScratch)
	tiles(r, func(rows *logisticRows) { f.survey.add(rows, scratch) })
	if reason := f.reason(); reason != "" {
		return nil, unreachable("%s", reason)
	}
	next, stop := iter.Pull(f.ask)
	defer stop()
	for {
		if _, more := next(); !more {
			break
		}
		var t logisticTotals
		tiles(r, func(rows *logisticRows) { t.add(rows, f, scratch) })
		f.answer = t.sums()
	}
	if f.err == nil {
		f.finish()
	}
	return f, f.err
}

// tiles calls f for the cells as rows: one for each outcome of a cell, with the weight of its rows.
func tiles(r cells.Rising, f func(*logisticRows)) {
	var z, w [logisticTile]float64
	var hit [logisticTile]uint8
	n := 0
	flush := func() {
		if n > 0 {
			f(&logisticRows{z: z[:n], hit: hit[:n], w: w[:n]})
		}
		n = 0
	}
	r.Each(func(x *cells.Cell) {
		if n+2 > logisticTile {
			flush()
		}
		l := cellLogit(x)
		for event, weight := range [2]float64{x.Weight - x.Events, x.Events} {
			if weight > 0 {
				z[n], hit[n], w[n] = l, uint8(event), weight
				n++
			}
		}
	})
	flush()
}

// cellLogit returns the logit of a cell's score.
func cellLogit(x *cells.Cell) float64 { return kernel.Log64(x.P) - kernel.Log64(x.Q) }

// Platt returns the curve of a fit by Platt. It panics for another method.
func (f *CellFit) Platt() PlattCurve {
	if c, ok := f.curve.(*PlattCurve); ok {
		return *c
	}
	panic(errCurve)
}

// Beta returns the curve of a fit by Beta. It panics for another method.
func (f *CellFit) Beta() BetaCurve {
	if c, ok := f.curve.(*BetaCurve); ok {
		return *c
	}
	panic(errCurve)
}

// Mapped has the rows of a cell with one outcome, and their score before and after the map.
type Mapped struct {
	Event  bool
	Weight float64 // of the rows: their number without weights
	P      float64 // the score
	Fitted float64 // what the curve makes of it
	// Held is what a curve that was fitted to all rows but one of these makes of it: one step of Newton's method away from the curve of all
	// rows. The error of the step falls with the square of the number of rows. It is NaN with weights, which cells do not keep row by row,
	// and where one row decides the curve.
	Held float64
}

// Each calls f for the rows of all cells, in ascending order of scores.
//
// A curve that is judged by the rows that it was fitted to looks better than it is. With Held each row is judged by a curve that did not see it
// (leave-one-out). For a row with the features x, the probability m and the outcome y, leaving it out changes the logit by
//
//	-(y - m) q / (1 - q m(1-m)), q = x' H^-1 x
//
// where H is the information of all rows. Sources: Pregibon 1981; Rad and Maleki 2020.
func (f *CellFit) Each(visit func(Mapped)) {
	weighted := f.of.Weighted()
	f.of.Each(func(x *cells.Cell) {
		z := cellLogit(x)
		v := [1]float64{z}
		f.curve.apply(v[:])
		for event, weight := range [2]float64{x.Weight - x.Events, x.Events} {
			if weight > 0 {
				m := Mapped{Event: event == 1, Weight: weight, P: x.P, Fitted: v[0], Held: nan}
				if !weighted {
					m.Held = f.held(z, v[0], event)
				}
				visit(m)
			}
		}
	})
}

// held returns what the curve of the other rows makes of a logit; fitted is what the curve of all rows makes of it.
func (f *CellFit) held(z, fitted float64, event int) float64 {
	if z-z != 0 {
		return fitted // the rows of these scores are in no fit
	}
	line := [1]float64{z}
	switch c := f.curve.(type) {
	case *PlattCurve:
		c.line(line[:])
	case *BetaCurve:
		c.line(line[:])
	}
	rest := sigmoid(-line[0])
	q, p := f.fit.leverage(z), float64(fitted*rest)
	left := 1 - float64(q*p)
	if !(left > 1e-9) {
		return nan
	}
	t := f.fit.target[event]
	miss := float64(t[1]*rest) - float64(t[0]*fitted) // t - m
	return sigmoid(line[0] - float64(miss*q)/left)
}

// leverage returns x' H^-1 x of a logit, over the coefficients that are not held at 0.
func (f *logisticFit) leverage(z float64) float64 {
	s, x := &f.sums, f.framed(z)
	q := 1 / s.w
	var d [2]float64
	for j := range f.features() {
		d[j] = x[j] - s.mean[j]
	}
	free := func(j int) bool { return j < f.features() && (!f.beta || f.line.a[j] > 0) && s.cov[j] > 0 }
	switch {
	case free(0) && free(1):
		det := float64(s.cov[0]*s.cov[1]) - float64(s.cov[2]*s.cov[2])
		if !(det > 0) {
			return nan
		}
		v := float64(float64(d[0]*d[0])*s.cov[1]) - float64(2*float64(d[0]*d[1])*s.cov[2]) + float64(float64(d[1]*d[1])*s.cov[0])
		q += v / det
	case free(0):
		q += float64(d[0]*d[0]) / s.cov[0]
	case free(1):
		q += float64(d[1]*d[1]) / s.cov[1]
	}
	return math.Max(q, 0)
}
