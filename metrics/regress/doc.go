// Package regress measures regression forecasts: normal distributions (metrics.Normals), quantiles (metrics.Quantiles) and
// samples (metrics.Samples). Its accumulators:
//
//	Errors       RMSE, MAE, bias, absolute error of the median                                all; quantiles only the last
//	Normal       NLL and CRPS; sharpness; ZMS and RCE, which check the stated spread          Normals
//	Spread       ENCE and UCE, which check small and large stated spreads separately          Normals
//	Intervals    coverage, width and score of central intervals                               all
//	Quantiles    pinball loss, weighted interval score with its parts, CRPS from quantiles    all
//	Calibration  share of observed values below the quantile of each level, as a Curve        all
//	PIT          histogram of the forecast probability below the observed value, with p-value all
//	Ranks        histogram of the observed value's rank among the samples, with p-value       Samples
//
// NormalPredictions makes predictions from columns, and one metrics.Pass feeds many accumulators. A Curve gives the area
// between it and the diagonal, and the area that chance alone produces. Package metrics/score has the CRPS of samples, and
// closed forms for other distributions. Frequency and PIT.AddValues take any distribution.
//
// ParseRowMetric returns a metric with one value per row. DieboldMariano uses such losses to test which of two forecasts is
// better.
//
// Sums keep the unit of the observed values and are exact at any size, so states merge to the byte in any order. Random
// numbers (PIT, and Ranks with ties) are keyed by a seed and the row number.
package regress
