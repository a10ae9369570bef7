package compared

import (
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/paired"
	"github.com/candor-go/candor/metrics/survival"
)

// liveKey names an estimate of a model's rows of survival.
type liveKey struct {
	model  int
	metric string
}

// lives returns the error of a difference of rows of survival, and sets its method: that of what each row adds to both values, which are of the same
// rows, in one order.
func (f *finder) lives(d *Difference, method string) paired.Error {
	d.Method = method
	x := f.live(d.B, d.Metric).Minus(f.live(d.A, d.Metric), f.livesOf(d.A)[0])
	return paired.Error{SE: x.SE, DF: x.DF}
}

// live returns the estimate of a model.
func (f *finder) live(model int, m eval.Metric) survival.Estimate {
	k := liveKey{model, m.String()}
	if e, ok := f.alive[k]; ok {
		return e
	}
	e, err := f.c.models[model].SurvivalEstimate(m, f.livesOf(model))
	if err != nil {
		panic("compared: a value without an estimate: " + err.Error())
	}
	if f.alive == nil {
		f.alive = map[liveKey]survival.Estimate{}
	}
	f.alive[k] = e
	return e
}

// livesOf returns the rows with the probabilities of a model, at each of Spec.Times. Rows are in the same order for all models.
func (f *finder) livesOf(model int) []*survival.Rows {
	if l, ok := f.rows[model]; ok {
		return l
	}
	columns := make([]int, f.c.Spec.Classes-2)
	for i := range columns {
		columns[i] = model*len(columns) + i
	}
	if f.rows == nil {
		f.rows = map[int][]*survival.Rows{}
	}
	f.rows[model] = f.c.lives.Columns(columns...)
	return f.rows[model]
}
