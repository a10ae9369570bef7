// Package regress has the metrics of forecasts of a number: normal ones (metrics.Normals), quantiles (metrics.Quantiles) and samples
// (metrics.Samples). How far they are off (Errors), whether the spread that they state is the one that they have (Normal, Spread),
// whether what was observed falls below their quantiles as often as these say (Calibration, PIT, Ranks), and the scores that reward
// saying what one believes (Normal, Intervals, Quantiles).
//
// Sums carry the unit of what was observed, so they are exact whatever that is: states merge to the byte, in any order.
package regress
