// Package remedy finds what recalibration would change, from what an evaluation keeps: no row is read again, so the states of shards are
// enough.
//
// Start with Of.
package remedy

import (
	"errors"
	"math"
	"strings"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/recal"
	"github.com/candor-go/candor/report"
)

// Of fits Platt scaling and beta calibration to the scores of an evaluation: of class 1 in a binary task, else of the top label, where the
// other probabilities keep their proportions. Each row is judged by the curve of the other rows, see recal.CellFit. Of is nil for predictions
// that no such map applies to, as forecasts, ensembles, and rows with the caller's decisions or confidence scores, and if scores are not kept.
func Of(e *eval.Evaluation) *report.Remedies {
	s := &e.Spec
	if !s.Shape().HasClasses() || s.Members > 0 || s.Choices != eval.NoChoices || s.Decided || s.Scored || s.Correct || s.Kind == metrics.Dirichlet || e.Audit.Rows == 0 {
		return nil
	}
	event, c := e.Scores()
	if c == nil {
		return nil
	}
	x := &finder{e: e, event: event, of: c}
	return x.find()
}

type finder struct {
	e     *eval.Evaluation
	event calib.Event
	of    *cells.Cells
}

// rows are scores of the event that stand for the rows of cells: as many as their weight says.
type rows struct {
	p, w []float64
	y    []int32
}

func (x *finder) find() *report.Remedies {
	r := &report.Remedies{Event: x.event}
	var plain rows
	x.of.Each(func(c *cells.Cell) {
		if c.P == 0 || c.Q == 0 {
			r.Certain += c.N
		}
		for y, w := range [2]float64{c.Weight - c.Events, c.Events} {
			if w > 0 {
				plain.add(c.P, y, w)
			}
		}
	})
	before := x.judge(&plain)
	r.Before = before
	// Of the evaluation itself, so that they are the same as in its table.
	if r.Before.NLL = x.e.Loss.NLL(); x.event == calib.Positive {
		r.Before.Brier = x.e.Loss.Brier(x.e.Spec.Brier)
	}
	for _, m := range x.e.Spec.Metrics {
		if m.String() == "ece" {
			r.Before.ECE = x.e.Value(m).Value
		}
	}
	top := x.event == calib.TopLabel
	for _, m := range []recal.CellMethod{recal.Platt{TopLabel: top}, recal.Beta{TopLabel: top}} {
		r.List = append(r.List, x.remedy(m, &before, &r.Before))
	}
	return r
}

func (r *rows) add(p float64, y int, w float64) {
	r.p, r.y, r.w = append(r.p, p), append(r.y, int32(y)), append(r.w, w)
}

// remedy fits a method. before are the scores of the event's own probability, and shown those of the evaluation.
func (x *finder) remedy(m recal.CellMethod, before, shown *report.RemedyScores) report.Remedy {
	r := report.Remedy{Method: m.String()}
	f, err := m.FitCells(x.of)
	if err != nil {
		r.Reason = err.Error()
		if errors.Is(err, recal.ErrUnreachable) {
			r.Reason = strings.TrimPrefix(r.Reason, recal.ErrUnreachable.Error()+": ")
		}
		return r
	}
	if _, beta := m.(recal.Beta); beta {
		c := f.Beta()
		r.Parameters = []eval.Field{{Name: "a", Value: c.A}, {Name: "b", Value: c.B}, {Name: "c", Value: c.C}}
	} else {
		c := f.Platt()
		r.Parameters = []eval.Field{{Name: "a", Value: c.A}, {Name: "b", Value: c.B}}
	}
	var fitted, held rows
	known := true
	f.Each(func(c recal.Mapped) {
		y := 0
		if c.Event {
			y = 1
		}
		fitted.add(c.Fitted, y, c.Weight)
		if known = known && c.Held == c.Held; known {
			held.add(c.Held, y, c.Weight)
		}
	})
	none := report.RemedyScores{NLL: math.NaN(), Brier: math.NaN(), ECE: math.NaN()}
	as := func(s report.RemedyScores) report.RemedyScores {
		// The other classes keep their proportions, so the loss of a row changes as that of the event does.
		s.NLL = shown.NLL + (s.NLL - before.NLL)
		if math.IsInf(shown.NLL, 1) {
			s.NLL = shown.NLL // a class of probability 0 keeps it
		}
		return s
	}
	r.Fitted, r.After = as(x.judge(&fitted)), none
	r.NLL = eval.Value{Value: r.Fitted.NLL - shown.NLL, Interval: metrics.NoInterval()}
	if known {
		r.After = as(x.judge(&held))
		r.NLL = x.change(f)
	}
	if math.IsInf(shown.NLL, 1) {
		r.NLL = eval.Value{Value: math.NaN(), Interval: metrics.NoInterval()}
	}
	return r
}

// judge evaluates rows by the definitions of the evaluation.
func (x *finder) judge(r *rows) report.RemedyScores {
	s := eval.Spec{Classes: 1, Base: x.e.Spec.Base, Level: x.e.Spec.Level}
	if s.Base.Event = calib.ByShape; x.event == calib.Positive {
		s.Base.Event, s.Brier = x.e.Spec.Base.Event, x.e.Spec.Brier
	}
	s.Metrics = metrics.Must(eval.ParseMetrics("nll,brier,ece", s.Shape()))
	e := metrics.Must(eval.New(s))
	p := &metrics.Predictions{Scores: metrics.Scores{F64: r.p, Rows: len(r.p), Classes: 1}, Labels: r.y, Weights: r.w}
	if err := e.Add(p, nil); err != nil {
		panic("remedy: " + err.Error())
	}
	of := func(i int) float64 { return e.Value(s.Metrics[i]).Value }
	out := report.RemedyScores{}
	for i, m := range s.Metrics {
		switch m.Name {
		case "nll":
			out.NLL = of(i)
		case "brier":
			out.Brier = of(i)
		default:
			out.ECE = of(i)
		}
	}
	return out
}

// change returns the mean change of the rows' losses, with its interval for independent rows without weights.
func (x *finder) change(f *recal.CellFit) eval.Value {
	n, sum, squares := 0.0, 0.0, 0.0
	each := func(visit func(d, w float64)) {
		f.Each(func(c recal.Mapped) {
			p, q := c.P, c.Held
			if !c.Event {
				p, q = 1-p, 1-q
			}
			d := 0.0
			if p != q {
				d = kernel.Log64(p) - kernel.Log64(q)
			}
			visit(d, c.Weight)
		})
	}
	each(func(d, w float64) { n, sum = n+w, sum+float64(w*d) })
	v := eval.Value{Value: sum / n, Interval: metrics.NoInterval()}
	if x.e.Spec.Cluster != "" || n < 2 {
		return v
	}
	each(func(d, w float64) { squares += float64(w * float64((d-v.Value)*(d-v.Value))) })
	v.Interval = metrics.Normal(v.Value, math.Sqrt(squares/float64(n*(n-1))), x.e.Spec.Level)
	return v
}
