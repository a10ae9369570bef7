// Package regress measures regression forecasts: normal ones (metrics.Normals), quantiles (metrics.Quantiles) and samples
// (metrics.Samples). Its accumulators:
//
//	Errors       RMSE, MAE, bias, absolute error of the median                                all; of quantiles only the last
//	Normal       NLL and CRPS; sharpness; ZMS and RCE, which check the stated spread          Normals
//	Spread       ENCE and UCE, which check it where it is small and where it is large         Normals
//	Intervals    coverage, width and score of central intervals                               all
//	Quantiles    pinball loss, weighted interval score with its parts, CRPS by quantiles      all
//	Calibration  share of observed values below the quantile of each level, as a Curve        all
//	PIT          histogram of the forecast probability below the observed value, with p-value all
//	Ranks        histogram of the observed value's rank among the samples, with p-value       Samples
//
// NormalPredictions makes predictions of columns, and one metrics.Pass feeds many accumulators. A Curve has areas between it and the
// diagonal, with intervals and with the areas that chance produces. The CRPS of samples, and closed forms for other distributions, are in
// metrics/score. Frequency and PIT.AddValues take any distribution.
//
// ParseRowMetric has the value of each row. DieboldMariano tests by such losses which of two forecasts is better.
//
// Sums keep the unit of the observed values and are exact at any size, so states merge to the byte in any order. Random numbers (PIT, and
// Ranks with ties) are keyed by a seed and the number of the row.
package regress
