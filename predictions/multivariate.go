package predictions

import (
	"fmt"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// Roles of the arrays of multivariate forecasts.
var (
	vectorsRole  = role{"members", "", []string{"members", "ensemble", "samples", "draws", "forecasts", "preds", "predictions", "arr_0"}, false}
	outcomesRole = role{"observations", setting.Observations, []string{"obs", "observed", "observations", "outcome", "outcomes", "y", "y_true", "targets", "target", "arr_1"}, false}
)

// multivariate opens forecasts of several numbers at a time: members (N, M, D) and observed values (N, D), in files or in each .npz.
func (b *opening) multivariate() (*vectorReader, *Error) {
	o := b.forecast
	b.scoring = vectorsRole
	var observed, weights []*array
	for _, path := range b.paths {
		c, e := b.container(path)
		if e != nil {
			return nil, e
		}
		defer c.close()
		a, e := c.take(vectorsRole)
		if e != nil {
			return nil, e
		}
		b.scores, b.opened = append(b.scores, a), append(b.opened, a)
		if !c.npz {
			continue
		}
		if c, e = c.whole(); e != nil {
			return nil, e
		}
		y, e := c.find(outcomesRole)
		if e != nil {
			return nil, e
		}
		w, e := c.find(weightsRole)
		if e != nil {
			return nil, e
		}
		observed, weights = append(observed, y), append(weights, w)
		if e := b.findGroups(c); e != nil {
			return nil, e
		}
	}
	if len(o.Weights) > 0 {
		weights = nil
	}
	members, dimensions := int64(0), int64(0)
	for i, a := range b.scores {
		if e := checkVectors(a); e != nil {
			return nil, e.in(a.file)
		}
		if m, d := a.shape[1], a.shape[2]; i == 0 {
			members, dimensions = m, d
		} else if m != members || d != dimensions {
			return nil, fault("shards are of one set: do they belong together?", "%d members of %d numbers, and %s has %d of %d", m, d, b.scores[0].file, members, dimensions).in(a.file)
		}
		if a.fortran && a.rows() > 1 && members*dimensions > 1 {
			return nil, fault("save np.ascontiguousarray(members)", "members of shape %s are in Fortran order", shapeText(a.shape)).in(a.file)
		}
		a.stated, a.shape, a.fortran = a.shape, []int64{a.shape[0], members * dimensions}, false
	}
	y := observed
	if len(o.Observations) > 0 {
		var e *Error
		if y, e = b.take(outcomesRole, b.sorted(o.Observations)); e != nil {
			return nil, e
		}
		if len(y) != 1 && len(y) != len(b.scores) {
			return nil, fault("give one file for all rows, or one for each file of members", "%d files of observations for %d of members", len(y), len(b.scores))
		}
	}
	for i := range b.scores {
		if len(y) == 0 || len(y) == len(b.scores) && y[i] == nil {
			return nil, fault("save them as an array (N, D) beside the members, or name their file as "+setting.Observations.String(), "no observed values").in(b.scores[i].file)
		}
	}
	rows := int64(0)
	for _, a := range y {
		if e := checkOutcomes(a, dimensions); e != nil {
			return nil, e.in(a.file)
		}
		rows += a.rows()
	}
	all := int64(0)
	for i, a := range b.scores {
		if all += a.rows(); len(y) == len(b.scores) && y[i].rows() != a.rows() {
			return nil, b.otherLength(outcomesRole, y[i], y[i].rows(), a.rows(), a.file)
		}
	}
	if rows != all {
		return nil, b.otherLength(outcomesRole, y[0], rows, all, fmt.Sprintf("%d files of members", len(b.scores)))
	}
	r := &vectorReader{kind: metrics.Multivariate, dimensions: int(dimensions), wide: int(members * dimensions), pool: pool{done: make(chan struct{})}}
	r.parts = []*column{{arrays: b.scores, what: "number"}, {arrays: y, what: "observed value"}}
	w, e := b.column(weightsRole, o.Weights, weights)
	if e != nil {
		return nil, e
	}
	if w != nil {
		r.beside.weight = &column{arrays: w, what: "weight"}
	}
	return r, r.describe(b)
}

// checkNumbers returns an Error if an array is not of floating-point numbers, or integers.
func checkNumbers(a *array, what string) *Error {
	if a.dtype.kind != 'f' && !a.dtype.integer() || a.dtype.size > 8 {
		return badType(a, what, `"float64"`)
	}
	return a.checkLength()
}

// checkVectors returns an Error if an array cannot be members.
func checkVectors(a *array) *Error {
	const remedy = "members of forecasts of several numbers are an array (N, M, D) of N rows, M members and D numbers"
	switch {
	case len(a.shape) == 2:
		return fault(remedy+"; for one number a row, D is 1, or pass "+setting.OfSamples.String(), "members have 2 axes, shape %s", shapeText(a.shape))
	case len(a.shape) != 3:
		return fault(remedy, "members have %d axes, shape %s", len(a.shape), shapeText(a.shape))
	case a.shape[1] == 0 || a.shape[2] == 0:
		return fault(remedy, "members have no numbers, shape %s", shapeText(a.shape))
	case a.dtype.size > 0 && a.shape[1] > maxRowBytes/int64(a.dtype.size)/a.shape[2]:
		return fault(remedy+": are the axes in another order?", "a row of members has more than %d numbers, shape %s", maxRowBytes/a.dtype.size, shapeText(a.shape))
	}
	return checkNumbers(a, "members")
}

// checkOutcomes returns an Error if an array cannot be observed values of so many numbers a row.
func checkOutcomes(a *array, dimensions int64) *Error {
	if len(a.shape) != 2 && !(len(a.shape) == 1 && dimensions == 1) || a.columns() != dimensions {
		return fault(fmt.Sprintf("they are an array (N, %d), since members have %[1]d numbers", dimensions), "observed values have shape %s", shapeText(a.shape))
	}
	return checkNumbers(a, "observed values")
}
