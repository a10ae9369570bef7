package compared

import (
	"math"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/paired"
)

const (
	byT                = "t with degrees of freedom by the sizes of clusters"
	byClusters         = "mean difference of rows +- t*s, clustered: s by the sums of clusters, " + byT
	byClusteredDelta   = "delta method on the means of rows, clustered: error by the sums of clusters, " + byT
	byObuchowski       = "Obuchowski's clustered form of DeLong's paired covariance, " + byT
	byClusterInfluence = "influence of each row on both models' values, clustered: summed over each cluster, " + byT
	byClusterSandwich  = "influence of each row on both fits (sandwich), clustered: summed over each cluster, " + byT
	byManyMaps         = "; wider by the number of maps"
	byManyMapsSkewed   = " and by skewness"
	byClusterSquares   = "clustered variances of bins subtracted; influence of clusters, and products of their residuals in the bins of both models, " + byT
)

// view returns the scores of a model with the clusters of its rows.
func (f *finder) view(e paired.Event, model int) *paired.View {
	if f.views[e] == nil {
		f.views[e] = make([]*paired.View, len(f.c.models))
	}
	if f.views[e][model] == nil {
		f.views[e][model] = f.c.groups.View(model, f.c.Spec.Classes, e)
	}
	return f.views[e][model]
}

// clustered returns the error of a difference where rows are of clusters, and sets its method.
func (f *finder) clustered(d *Difference, by method, pair, loss int, va, vb eval.Value) (e paired.Error, unseen [2]float64) {
	c, g := f.c, f.c.groups
	e = paired.Error{SE: math.NaN(), DF: math.NaN()}
	switch by {
	case ofHits:
		d.Method, e = byClusters, g.OfMean(c.hitsColumn(pair))
	case ofMean:
		d.Method, e = byClusters, g.OfMean(c.lossColumn(pair, loss))
	case ofRoot:
		d.Method = byClusteredDelta
		if va.Value > 0 && vb.Value > 0 {
			e = g.OfFunction(c.lossColumn(pair, loss), c.ownColumn(d.A, loss), 1/(2*va.Value), 1/(2*vb.Value))
		}
	case ofExp:
		d.Method, e = byClusteredDelta, g.OfFunction(c.lossColumn(pair, loss), c.ownColumn(d.A, loss), va.Value, vb.Value)
	case ofSkill:
		d.Method = byClusteredDelta
		if reference, influence, _ := c.reference(c.kept.losses[loss].Name); reference > 0 {
			e = g.OfSkill(c.lossColumn(pair, loss), c.labelList(), reference, influence)
		}
	case ofAUROC:
		d.Method, e = byObuchowski, f.view(paired.Kept, d.A).AUROC(f.view(paired.Kept, d.B), true)
	case ofTopAUROC:
		d.Method, e = byClusterInfluence, f.view(paired.TopLabel, d.A).AUROC(f.view(paired.TopLabel, d.B), false)
	case ofAURC, ofEAURC, ofAUGRC:
		s := f.view(paired.TopLabel, d.A).Selective(f.view(paired.TopLabel, d.B))
		d.Method, e = byClusterInfluence, map[method]paired.Error{ofAURC: s.AURC, ofEAURC: s.EAURC, ofAUGRC: s.AUGRC}[by]
	case ofSlope, ofIntercept:
		i, s := f.view(paired.Kept, d.A).Cox(f.view(paired.Kept, d.B), lineOf(c.models[d.A].Evaluation), lineOf(c.models[d.B].Evaluation))
		if d.Method, e = byClusterSandwich, s; by == ofIntercept {
			e = i
		}
	case ofLives:
		e = f.lives(d, byClusterInfluence)
	case ofSquares:
		d.Method = byClusterSquares
		e, unseen = f.view(paired.Kept, d.A).ErrorSquared(f.view(paired.Kept, d.B), c.Spec.Base.Bins)
	}
	return e, unseen
}
