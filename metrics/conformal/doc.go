// Package conformal makes sets of classes, and intervals of numbers, that hold the truth as often as promised (Vovk, Gammerman and Shafer
// 2005), and measures sets and intervals of any origin.
//
// A Method gives each row and each possible outcome a score, large where the model did not expect the outcome. Fit finds the threshold: the
// score at rank ceil((n+1) coverage) of n calibration rows. The Map that it returns puts into a row's set every outcome whose score is not
// above the threshold. If calibration rows and later rows are exchangeable, such as independent draws of one population, the set of a later
// row holds its outcome with at least this probability, whatever the model. The probability is over calibration sets and rows together: it
// does not hold for each class, group or size of set. Promise says how much the coverage differs from one calibration set to another.
//
// SetTally and IntervalTally count how often sets and intervals hold the truth, and how large they are.
package conformal
