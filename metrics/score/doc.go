// Package score measures predictions row by row and keeps exact sums of the scores: accuracy and top-k accuracy, mean
// confidence, negative log-likelihood, Brier score and entropy, each with its interval; of samples of a number, and of
// distributions in closed form, the continuous ranked probability score.
package score
