// Package rank measures how well scores put rows in order, and what that order is good for: areas under curves, answers that
// are withheld where confidence is low, and the detection of rows from elsewhere.
//
// A Ranking is made of cells of scores and outcomes, from memory or from a state, and answers all that they determine: areas
// under the receiver operating characteristic, the precision-recall and the risk-coverage curve, abstention and work shared
// with an oracle. Retention and Scores are accumulators for what cells do not have: losses by confidence, and scores that
// are no probabilities, of which OOD compares two sets.
package rank
