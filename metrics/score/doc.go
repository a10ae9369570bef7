// Package score scores predictions row by row and keeps exact sums. It has accuracy, balanced and top-k accuracy, mean
// confidence, negative log-likelihood, Brier score, entropy, spherical loss and ranked probability score, each with its
// interval. It also has the scores of the base rates, with the skill relative to them, and the terms of the Brier score. For
// samples, and for distributions in closed form, it has the continuous ranked probability score.
//
// Start with the functions for predictions in memory, for example NLL(p, nil), or with LossOf, which has most scores at
// once. A metrics.Pass feeds Loss and other accumulators in one read. ParseRowMetric returns a metric with one value per
// row.
package score
