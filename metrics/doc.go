// Package metrics reads predictions once and feeds accumulators, whose states are integers and exact sums.
//
// Start with Predictions and NewPass; package calib, score and the others have the accumulators. A Pass checks each block of rows, runs
// one kernel over it, and hands the columns to its accumulators. States and answers have the same bits for any order of the rows, any
// division into blocks, any number of threads, any tree of merges, and on any CPU. Answers use only + - * /, square roots, and the
// exponential, logarithm and normal distribution of package kernel, without fused products.
//
// # States
//
// The score of a row is rounded once, to the quantum of its window (kernel.Window: 2^-51 for a probability, 2^-88 for a negative
// log-likelihood). From then on it is a whole number of quanta of 2^-88 in 192 bits, which no number of rows overflows. A value outside
// its window (a log-likelihood of 2,047 and more, an unchecked score) goes exactly into a sum that holds any float64. Weights lie in
// [2^-32, 2^32] and are exact in that quantum; their products with scores are rounded to float64 and then to the quantum. A row of weight 0
// is absent. Values with the unit of the observed value (errors, CRPS) have no window: they are summed exactly at any size.
//
// A few answers depend on the order of rows by definition, and their documentation says so: bins that divide equal scores by rank; draws that
// are keyed by the number of a row (the PIT where it jumps, ranks of ties, folds); and the Diebold-Mariano test.
//
// Intervals assume independent rows. With weights w the effective number of rows is (sum w)^2 / sum w^2.
package metrics
