// Package ensemble measures several models, or several draws of one model, on the same rows: their joint uncertainty, how much of it is
// disagreement, and how diverse they are.
//
// Start with UncertaintyOf and DiversityOf. Fold reads the rows of all members once: it gives each block to the accumulators of this package
// while it is in cache, and is itself a metrics.Source of the mean probabilities, so a metrics.Pass evaluates the ensemble as one model
// in the same read. Options.Member evaluates each member too.
//
// The mean is that of probabilities, never of logits. It is taken in the order of the members: in float32 if the scores are float32 or narrower,
// otherwise, and for a binary task or renormalised rows, in float64. The result for a row does not depend on other rows, and all sums over rows
// are exact, so answers have the same bits for any number of threads and any order of rows. The order of the members affects only the last
// bits.
//
// Formulas, with p_m the probabilities of member m of M, H the entropy in nats, y the label:
//
//	total_uncertainty    H(mean_m p_m)
//	data_uncertainty     mean_m H(p_m)
//	mutual_information   total - data >= 0: what the members disagree about (Depeweg et al. 2018; Malinin and Gales 2018)
//	ensemble_nll         -ln mean_m p_m(y)
//	gibbs_nll            mean_m -ln p_m(y), at least ensemble_nll
//	disagreement         [arg max p_m != arg max p_m'], mean over pairs m < m'
//	double_fault         [m and m' are both wrong], mean over pairs
//	average_kl           sum_k p_m ln(p_m / p_m'), mean over pairs
//	cosine_similarity    p_m . p_m' / (|p_m| |p_m'|), mean over pairs
//	lp_distance          (sum_k |p_m - p_m'|^p)^(1/p), mean over pairs
//	logit_kl             the KL divergence of softmax(scores as given), mean over pairs
//	bregman_kl_variance  mean_m KL(q || p_m), q = softmax(mean_m ln p_m) = -ln sum_k prod_m p_m^(1/M), rows divided by their sums
//	variance_bound       mean_m ((p_m(y) - mean_m p_m(y)) / max_m p_m(y))^2 / 2 (Masegosa 2020)
//
// These are the formulas of uncertainty_metrics and robustness_metrics. Where the two differ from each other or from the textbook,
// DiversityOptions has the choice.
//
// Two kinds of predictions hold an ensemble in one array, and have accumulators for a metrics.Pass: Information takes the log-likelihood of
// each row under draws of a model's parameters, and Knowledge takes Dirichlet distributions.
package ensemble
