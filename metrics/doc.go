// Package metrics reads predictions once and feeds accumulators, from whose whole-number states every answer is taken.
//
// A Pass checks each block of rows, runs one kernel over it, and hands the columns to its accumulators (packages calib,
// score and the like). What an accumulator remembers between rows is an integer, so its state and its answers have the same
// bits for any order of the rows, any division into blocks, any number of threads, any tree of merges, and on any CPU: an answer
// takes + - * / and square roots, exponentials, logarithms and the normal law from package kernel, and no fused products.
//
// # States
//
// A score of a row is rounded once, to the quantum of its window (kernel.Window: 2^-51 for a probability, 2^-88 for a
// negative log-likelihood), and from then on is a whole number of quanta of 2^-88 in 192 bits, which no number of rows
// overflows. What leaves its window (a log-likelihood of 2,047 and more, an unchecked score) goes exactly into a sum that
// holds any float64. Weights lie in [2^-32, 2^32] and are exact in that quantum; their products with scores are rounded
// to float64 and then to it. A weight of 0 makes its row absent. What carries the unit of what was observed (errors, CRPS) has no
// window: it is summed exactly, whatever its size.
//
// A few things depend on the order of rows by their nature, and say so: bins that divide equal scores by rank, what draws random
// numbers by the number of a row (the PIT where it jumps, ranks of ties, folds), and the test of Diebold and Mariano.
//
// Intervals take rows as independent. With weights w the number of rows behind them is (sum w)^2 / sum w^2.
package metrics
