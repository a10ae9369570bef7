// Package binfree measures calibration without bins, from scores and outcomes in order.
//
// Start with SmoothOf or CORPOf. Its functions take cells.Rising: either cells.Cells, the state that merges, or rows that are in memory
// and sorted (cells.Sort).
//
//   - SmoothOf: smooth ECE, a kernel-smoothed calibration error whose bandwidth the data choose (Błasiok and Nakkiran 2023).
//   - PartialSumsOf: the statistics of Kolmogorov-Smirnov and of Kuiper over cumulative differences, with p-values.
//   - SpiegelhalterOf: Spiegelhalter's test of the Brier score.
//   - CoxOf: calibration slope and intercept, by logistic regression of the outcome on the logit.
//   - TCalOf: the test of calibration T-Cal, by debiased squared gaps of 2, 4, 8 and more bins (Lee et al. 2023).
//   - BeltOf: the calibration belt of the GiViTI group and its test, by a polynomial of the logit (Finazzi et al. 2011; Nattino et al. 2014).
//   - CORPOf: the rising fit (isotonic regression) and the decomposition of a proper score into miscalibration, discrimination and
//     uncertainty, with bootstrap intervals and consistency bands.
//   - ICIOf: the integrated calibration index, how far scores are from the rising fit or from a loess; with its quantiles E50 and E90.
//   - SKCEOf: the squared kernel calibration error, unbiased, with its test; and MMCE (Widmann et al. 2019; Kumar et al. 2018).
//   - NewCanonical: the squared kernel calibration error of whole rows of probabilities, by fixed random features, with its test (Widmann et al.
//     2019). It reads rows, not cells.
//   - SemiparametricOf: the semiparametric calibration error of uncertainty_metrics.
//   - NewEProcess: the e-value of calibration, evidence that may be looked at after every row. It reads rows, not cells.
//   - SharpnessOf: how sharp the scores of each outcome are.
//
// Scores are probabilities of one event. Intervals and p-values assume independent rows. docs/which-one.md says what each metric detects.
package binfree
