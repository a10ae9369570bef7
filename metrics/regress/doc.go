// Package regress has the metrics of regression forecasts: normal ones (metrics.Normals), quantiles (metrics.Quantiles) and samples
// (metrics.Samples). Which type answers what:
//
//	Errors       how far they are off: RMSE, MAE, bias, the error of the median                     all; of quantiles the last
//	Normal       NLL and CRPS; sharpness, and whether the stated spread is right: ZMS, RCE          Normals
//	Spread       whether it is right where it is small and where it is large: ENCE, UCE             Normals
//	Intervals    coverage, width and score of central intervals                                     all
//	Quantiles    pinball loss, weighted interval score with its parts, CRPS by quantiles            all
//	Calibration  how often what was observed is below the quantile of each level, a Curve           all
//	PIT          the histogram of the probability of what was observed or less, and its p-value     all
//	Ranks        the histogram of its rank among the samples, and its p-value                       Samples
//
// All of them are metrics.Accumulators: one metrics.Pass feeds many, and NormalPredictions makes what it reads of columns. A Curve has
// areas between it and the diagonal, what chance would show of them, and intervals. The CRPS of samples is in metrics/score, and so are
// closed forms of other distributions; Frequency and PIT.AddValues take any distribution.
//
// ParseRowMetric has the value of each row, and DieboldMariano tells by such losses which of two forecasts is the better one.
//
// Sums carry the unit of what was observed, so they are exact whatever that is: states merge to the byte, in any order. What draws
// random numbers (PIT, Ranks where there are ties) keys them by a seed and the number of the row.
package regress
