// Package rank measures how well scores order rows, and what the order is good for: areas under curves, abstention where confidence is
// low, detection of out-of-distribution rows, and what decisions by the scores are worth and cost.
//
// Start with RankingOf, which takes cells of scores and outcomes, from memory or from a state. A Ranking has the areas under the receiver
// operating characteristic, precision-recall and risk-coverage curves, abstention, collaboration with an oracle, the cost and net benefit of decisions at a
// threshold, and the rows that can be answered at a promised risk. Two
// accumulators keep what cells lack: Retention has losses by confidence, and Scores has scores that are not probabilities, which OOD
// compares between two sets.
package rank
