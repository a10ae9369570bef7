// Package calib measures calibration over bins of the score: how far what was claimed is from what happened. Package binfree measures it
// without bins.
//
// Options spell out every choice for bins of equal width. Their zero value is candor's default, and Like gives the choices of other
// systems. GeneralOptions cover the whole family: bins of equal width or equal mass, given edges, a fixed number of points or the cube
// root of their number; the top label, the positive class or every class; pooled or class by class; three norms. ACE, TACE,
// EqualMassECE and others are members of it. NNCalibration and UQBenchmark reproduce two more systems.
//
// Bins, ClassBins and ClassScores are accumulators: of one score a row, of every class by equal width, and of every class by equal
// mass. EvenOf, EqualMassOf and SweepOf answer from a state that has forgotten the rows. All of them make Partitions, whose methods
// are the answers: ECE, RMSCE, MCE, their intervals, what a calibrated model shows by chance and how often, and the bars of a
// reliability diagram. Window makes reliability curves without bins.
//
// HosmerLemeshowOf tests groups by risk. BayesianOf draws from the posterior of ECE over a Partition.
package calib
