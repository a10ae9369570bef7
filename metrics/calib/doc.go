// Package calib measures calibration, by bins of the score and without: how far what was claimed is from what happened.
//
// One name means many things in this field: Options spells out every choice for bins of equal width, its zero value is candor's
// default, and Like gives the choices of other systems. GeneralOptions names the whole space: bins of equal width or mass, of given
// edges, a number of points or the number's cube root, of the top label, the positive class or every class, pooled or one by one, in
// three norms; ACE, TACE, EqualMassECE and others are its points. NNCalibration and UQBenchmark reproduce two more systems.
//
// Bins, ClassBins and ClassScores are accumulators, of one score a row, of every class by equal width, and of every class by equal
// mass. EvenOf, EqualMassOf and SweepOf answer from a state that has forgotten the rows. All of them make Partitions, whose methods
// are the answers: ECE, RMSCE, MCE, their intervals, what a calibrated model would show by chance and how often, the bars of a
// reliability diagram. Window draws reliability without bins.
//
// Without bins at all, cells.Rising, scores and outcomes in order, answers: SmoothOf (smooth ECE), PartialSumsOf (KS, Kuiper),
// SpiegelhalterOf, CoxOf (slope and intercept), CORPOf (the rising fit and its decomposition of a score), ICIOf (how far scores are from
// that fit or from a loess), SemiparametricOf. HosmerLemeshowOf tests groups by risk. BayesianOf draws from the posterior of ECE over a
// Partition.
package calib
