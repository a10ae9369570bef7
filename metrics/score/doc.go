// Package score measures predictions row by row and keeps exact sums of the scores: accuracy and top-k accuracy, mean
// confidence, negative log-likelihood, Brier score and entropy, each with its interval.
package score
