package predictions

import (
	"fmt"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// covariancesRole is the role of the covariances of multivariate normal forecasts.
var covariancesRole = role{"covariances", "", []string{"cov", "covs", "covariance", "covariances", "sigma", "S"}, false}

const statedRemedy = "save an .npz with mean (N, D), cov (N, D, D) and obs (N, D)"

// stated opens multivariate normal forecasts: means (N, D), covariances (N, D, D) and observed values (N, D), in each .npz; observed values may be
// files.
func (b *opening) stated() (*vectorReader, *Error) {
	o := b.forecast
	b.scoring = meansRole
	var covariances, observed, weights []*array
	for _, path := range b.paths {
		c, e := b.container(path)
		if e != nil {
			return nil, e
		}
		defer c.close()
		if !c.npz {
			return nil, fault(statedRemedy, "multivariate normal forecasts are several arrays, and this is one").in(c.names.of(c.shown))
		}
		a, e := c.take(meansRole)
		if e != nil {
			return nil, e
		}
		s, e := c.take(covariancesRole)
		if e != nil {
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
		b.scores, b.opened = append(b.scores, a), append(b.opened, a)
		covariances, observed, weights = append(covariances, s), append(observed, y), append(weights, w)
		if e := b.findGroups(c); e != nil {
			return nil, e
		}
	}
	if len(o.Weights) > 0 {
		weights = nil
	}
	y := observed
	if len(o.Observations) > 0 {
		var e *Error
		if y, e = b.take(outcomesRole, b.sorted(o.Observations)); e != nil {
			return nil, e
		}
		if len(y) != len(b.scores) {
			return nil, fault("give one file for each .npz", "%d files of observations for %d of forecasts", len(y), len(b.scores))
		}
	}
	d := int64(0)
	for i, a := range b.scores {
		const most = 1 << 12
		switch {
		case len(a.shape) != 2 || a.columns() < 1 || a.columns() > most:
			return nil, fault(fmt.Sprintf("they are an array (N, D), with D at most %d", most), "means have shape %s", shapeText(a.shape)).in(a.file)
		case i > 0 && a.columns() != d:
			return nil, fault("shards are of one set: do they belong together?", "%d numbers a row, and %s has %d", a.columns(), b.scores[0].file, d).in(a.file)
		}
		d = a.columns()
		s := covariances[i]
		if len(s.shape) != 3 || s.shape[1] != d || s.shape[2] != d {
			return nil, fault(fmt.Sprintf("they are an array (N, %d, %[1]d), a matrix for each row of means", d), "covariances have shape %s", shapeText(s.shape)).in(s.file)
		}
		if y[i] == nil {
			return nil, fault("save them as an array (N, D) beside the means, or name their file as "+setting.Observations.String(), "no observed values").in(a.file)
		}
		if e := checkOutcomes(y[i], d); e != nil {
			return nil, e.in(y[i].file)
		}
		if e := checkNumbers(a, "means"); e != nil {
			return nil, e.in(a.file)
		}
		if e := checkNumbers(s, "covariances"); e != nil {
			return nil, e.in(s.file)
		}
		if s.rows() != a.rows() {
			return nil, b.otherLength(covariancesRole, s, s.rows(), a.rows(), a.file)
		}
		if y[i].rows() != a.rows() {
			return nil, b.otherLength(outcomesRole, y[i], y[i].rows(), a.rows(), a.file)
		}
		if s.fortran && s.rows() > 1 && d > 1 {
			return nil, fault("save np.ascontiguousarray(cov)", "covariances of shape %s are in Fortran order", shapeText(s.shape)).in(s.file)
		}
		s.stated, s.shape, s.fortran = s.shape, []int64{s.shape[0], d * d}, false
	}
	r := &vectorReader{kind: metrics.MultivariateNormals, dimensions: int(d), wide: int(d), pool: pool{done: make(chan struct{})}}
	r.parts = []*column{{arrays: b.scores, what: "mean"}, {arrays: covariances, what: "covariance"}, {arrays: y, what: "observed value"}}
	w, e := b.column(weightsRole, o.Weights, weights)
	if e != nil {
		return nil, e
	}
	if w != nil {
		r.beside.weight = &column{arrays: w, what: "weight"}
	}
	return r, r.describe(b)
}
