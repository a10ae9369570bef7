// Package calib measures calibration over bins of the score: how far predicted probabilities are from observed frequencies. Package
// binfree measures it without bins.
//
// Start with ECE(p, nil), or with BinsOf, which also has the bins, intervals and other errors. A metrics.Pass feeds Bins and other
// accumulators in one read.
//
// Options has every choice for bins of equal width. The zero value is candor's default, and Like returns the choices of other systems.
// GeneralOptions covers the whole family: bins of equal width or equal mass, given edges, a fixed number of points, or the cube root of
// their number; the top label, the positive class or every class; pooled or class by class; three norms. ACE, TACE, EqualMassECE and the
// other named errors are members of it. NNCalibration and UQBenchmark reproduce two more systems.
//
// Three accumulators keep bins: Bins for one score per row, ClassBins for every class with equal widths, and ClassScores for every class
// with equal mass. EvenOf, EqualMassOf and SweepOf compute bins from the state of package cells. All of them return a Partition. Its
// methods are the answers: ECE, RMSCE, MCE, their intervals, the error that a calibrated model shows by chance, and the bars of a
// reliability diagram. Window computes a reliability curve without bins.
//
// HosmerLemeshowOf tests groups of risk. BayesianOf draws from the posterior of ECE over a Partition.
package calib
