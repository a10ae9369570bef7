// Package score measures predictions row by row and keeps exact sums of the scores: accuracy, balanced and top-k accuracy, mean
// confidence, negative log-likelihood, Brier score and entropy, spherical loss and ranked probability score, each with its
// interval; the scores of the base rates, against which others show skill; and the terms of the Brier score. Of samples of a
// number, and of distributions in closed form, it has the continuous ranked probability score.
package score
