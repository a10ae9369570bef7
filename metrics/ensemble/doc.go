// Package ensemble measures what several models, or several draws of one, say of the same rows: how uncertain they are
// together, how much of that is their disagreement, and how diverse they are.
//
// The members are read once. Fold takes the rows of all of them, gives each block to the accumulators of this package while
// it is in cache, and is itself a metrics.Source of the mean of their probabilities, so that a metrics.Pass evaluates the
// ensemble as one model in the same read. Options.Member evaluates each member beside it.
//
// The mean is taken of probabilities, never of logits: in the members' order, in float32 where the scores are float32 or
// narrower, in float64 otherwise (and for a binary task, and where rows are renormalised). What is computed of a row does
// not depend on the rows around it, and all sums over rows are exact, so an answer has the same bits for any number of
// threads and any order of rows. The order of the members matters to the last bits alone.
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
// They are those of uncertainty_metrics and robustness_metrics; where these differ from each other or from the textbook,
// DiversityOptions has the choice.
//
// Two kinds of predictions are an ensemble in one array, and have accumulators for a metrics.Pass: Information is of the
// log-likelihoods that draws of a model's parameters give each row, Knowledge of Dirichlet distributions.
package ensemble
