// Package ensemble measures several models, or several draws of one model, on the same rows: how uncertain they are
// together, how much of that is disagreement, and how diverse they are.
//
// Start with UncertaintyOf and DiversityOf. For rows that are not in memory use Fold, which reads all members once and
// passes each block to the accumulators of this package. It is also a metrics.Source of the mean probabilities, so a
// metrics.Pass evaluates the ensemble as one model in the same read. Options.Member evaluates each member too.
//
// The mean is the mean of probabilities, never of logits. It is summed in the order of the members: in float32 if the scores
// are float32 or narrower, in float64 otherwise, and in float64 for binary tasks and renormalized rows. The order of the
// members affects only the last bits. The order of rows and the number of threads have no effect. Entropies and likelihoods
// are in nats.
//
// Two kinds of predictions hold an ensemble in one array, and have accumulators for a metrics.Pass. Information takes the
// log-likelihood of each row under draws of a model's parameters, and Knowledge takes Dirichlet distributions.
//
// The formulas are those of uncertainty_metrics and robustness_metrics; docs/ensembles.md lists them. Where the two differ
// from each other or from the textbook, DiversityOptions selects one.
package ensemble
