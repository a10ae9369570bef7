// Package score scores predictions row by row and keeps exact sums: accuracy, balanced and top-k accuracy, mean confidence, negative
// log-likelihood, Brier score, entropy, spherical loss and ranked probability score, each with its interval. It also has the scores of the
// base rates, with the skill relative to them, and the terms of the Brier score. For samples of a number, and for distributions in
// closed form, it has the continuous ranked probability score.
//
// Start with NLL(p, nil) and its like, or with LossOf, which has most scores at once. A metrics.Pass feeds Loss and other accumulators in
// one read. ParseRowMetric has the value of each row.
package score
