package eval

import "strings"

// families are the groups in which metrics are listed, in this order, each with the names of its metrics.
var families = []struct{ name, metrics string }{
	{"Rates and means", "accuracy balanced_accuracy top5_accuracy topk_accuracy confidence overconfidence base_rate mean_p bias oe_ratio"},
	{"Proper scores", "nll nll_infinite_rows nll_skill perplexity bits_per_byte sequence_nll brier brier_skill brier_uncertainty brier_resolution brier_reliability brier_within_bin spherical rps"},
	{"Calibration over bins", "ece ece_positive ece_top_label ece_floor ece_floor_q95 ece_p detectable_gap mce rmsce rmsce_debiased calibration_error_squared ece_unweighted ece_equal_mass ece_sweep ace sce tace ece_bayes_mean ece_bayes_q10 ece_bayes_q50 ece_bayes_q90"},
	{"Calibration without bins", "smooth_ece ks ks_p kuiper kuiper_p skce skce_p mmce canonical_skce canonical_skce_p tcal tcal_bins tcal_p spiegelhalter_z spiegelhalter_p hosmer_lemeshow hosmer_lemeshow_p giviti giviti_degree giviti_p ici e50 e90 calibration_slope calibration_intercept corp_mcb corp_mcb_floor corp_dsc corp_unc spce e_calibration"},
	{"Telling classes apart", "auroc auprc entropy sharpness_class0 sharpness_class1"},
	{"Telling right from wrong", "calibration_auc aurc eaurc augrc oracle_accuracy oracle_auc abstain_precision abstain_recall retention_accuracy retention_nll"},
	{"Acting on a model", "net_benefit expected_cost avoidable_cost least_cost_threshold decision_cost constant_cost coverage_at_risk threshold_at_risk"},
	{"Out-of-distribution rows", "ood_auroc ood_auprc_in ood_auprc_out ood_fpr95"},
	{"Ensembles and distributions", "mutual_information knowledge_uncertainty total_uncertainty data_uncertainty ensemble_nll gibbs_nll disagreement double_fault average_kl logit_kl cosine_similarity lp_distance bregman_kl_variance variance_bound"},
	{"Scores of forecasts", "crps crps_fair crps_pwm crps_rolled wis wis_dispersion wis_underprediction wis_overprediction interval_score interval_score_underprediction interval_score_overprediction interval_score_mcb interval_score_dsc interval_score_unc twcrps qwcrps pinball rmse mae ae_median"},
	{"Calibration of forecasts", "coverage coverage_50 coverage_90 width width_50 width_90 sharpness sharpness_root zms rce sigma_scale ence uce miscalibration_area quantile_mse rms_calibration pit_p rank_p"},
	{"Multivariate forecasts", "energy_score energy_score_fair variogram_score dawid_sebastiani multivariate_nll multivariate_rank_p"},
	{"Survival", "mean_risk event_share_km bias_km cce ece_km ici_cox e50_cox e90_cox emax_cox brier_ipcw brier_integrated auroc_ipcw concordance_ipcw concordance d_calibration_p"},
	{"Draws of a posterior", "lppd nwaic1 nwaic2 iscv psis_loo p_waic p_loo high_variance_rows pareto_k_max"},
	{"After temperature scaling", "temperature nll_temperature_scaled brier_temperature_scaled ece_temperature_scaled"},
	{"Slices", "multicalibration_error multicalibration_error_relative multicalibration_error_sigma multicalibration_error_p multicalibration_gap multicalibration_gap_p grouping_loss grouping_loss_explained grouping_loss_induced"},
}

// familyOf maps the names of metrics to their families.
var familyOf = func() map[string]string {
	of := map[string]string{}
	for _, f := range families {
		for _, name := range strings.Fields(f.metrics) {
			of[name] = f.name
		}
	}
	return of
}()

// Families returns the groups in which metrics are listed, in order.
func Families() []string {
	l := make([]string, len(families))
	for i, f := range families {
		l[i] = f.name
	}
	return l
}

// Family returns the group in which the metric is listed.
func (d *Descriptor) Family() string { return familyOf[d.Name] }
