package recal

import "slices"

// Descriptor describes a method.
type Descriptor struct {
	Name    string
	Title   string // in prose: "temperature scaling"
	Short   string // what it does, in a few words
	Formula string
	Options string // "" if there are none
	Takes   string // predictions that it accepts
	Keeps   string // what it preserves: arg max, order
	Rows    string // recommended number of rows for a fit
	Source  string

	zero Method
}

// Descriptors returns the descriptors of all methods: for classes, for binary tasks, for regression forecasts.
func Descriptors() []Descriptor { return slices.Clone(methods) }

// Names returns the names of all methods.
func Names() []string {
	var l []string
	for _, m := range methods {
		l = append(l, m.Name)
	}
	return l
}

const (
	ofClasses  = "classes, or P(y = 1)"
	ofMany     = "classes"
	ofScores   = "P(y = 1); classes one against the rest, divided by the sum; with top_label the top class alone"
	ofNormals  = "normal forecasts"
	keepsAll   = "arg max, and the order of a row's classes"
	keepsRanks = "the order of scores; of classes neither, after the division"
	keepsMost  = "the order of scores, with ties; of classes neither"
	keepsNone  = "neither"
)

// methods is the one list of methods, with their zero values.
var methods = []Descriptor{
	{"temperature", "temperature scaling", "logits divided by one number T > 0", "softmax(z/T); binary: sigmoid(z/T)", "", ofClasses, keepsAll, "hundreds",
		"Guo et al. 2017", Temperature{}},
	{"ets", "ensemble temperature scaling", "a weighted mean of softmax(z/T), softmax(z) and equal probabilities", "w1 softmax(z/T) + w2 softmax(z) + w3/K", "", ofClasses, keepsAll, "hundreds",
		"Zhang, Kailkhura and Han 2020", ETS{}},
	{"vector", "vector scaling", "a factor and a bias for each class", "softmax(w*z + b)", "", ofMany, keepsNone, "tens for each class", "Guo et al. 2017", Vector{}},
	{"matrix", "matrix scaling", "a linear combination of all logits for each class", "softmax(W z + b)", "off_diagonal=WEIGHT, bias=WEIGHT", ofMany, keepsNone, "tens for each of K^2 numbers, or weights",
		"Guo et al. 2017; Kull et al. 2019", Matrix{}},
	{"dirichlet", "Dirichlet calibration", "a linear combination of all log-probabilities for each class", "softmax(W ln p + b)", "off_diagonal=WEIGHT, bias=WEIGHT, ref_row", ofMany, keepsNone,
		"tens for each of K^2 numbers, or weights", "Kull et al. 2019", Dirichlet{}},
	{"histogram", "histogram binning", "the frequency in the score's bin", "mean y in the bin of p", "bins=N, equal_mass, empty=centre|identity|zero, right_closed, as_coded, top_label", ofScores, keepsNone,
		"hundreds for each bin", "Zadrozny and Elkan 2001; Guo et al. 2017", Histogram{}},
	{"isotonic", "isotonic regression", "the closest step function that never falls", "argmin over rising f of sum (f(p) - y)^2", "interpolate, top_label", ofScores, keepsMost,
		"a thousand or more", "Zadrozny and Elkan 2002", Isotonic{}},
	{"spline", "spline calibration", "the slope of a spline of the cumulative gap", "p + D'(share of rows up to p)", "knots=N, top_label", ofScores, keepsNone, "hundreds",
		"Gupta et al. 2021", Spline{}},
	{"venn_abers", "Venn-Abers prediction", "two isotonic fits, with the new row as an event and as none, merged", "p1/(1 - p0 + p1)", "folds=N, brier, as_coded, top_label, one_vs_one", ofScores, keepsMost,
		"a thousand or more", "Vovk, Petej and Fedorova 2015", VennAbers{}},
	{"bbq", "Bayesian binning", "a mean of equal-mass histograms, weighted by their likelihood", "sum_s P(q|s, D) P(s|D)", "prune, as_coded, top_label", ofScores, keepsNone, "a thousand or more",
		"Naeini, Cooper and Hauskrecht 2015", BBQ{}},
	{"platt", "Platt scaling", "a logistic regression on the logit", "sigmoid(a z + b)", "smoothed, top_label", ofScores, keepsRanks, "hundreds", "Platt 1999", Platt{}},
	{"beta", "beta calibration", "a logistic regression on ln p and ln(1-p)", "sigmoid(a ln p - b ln(1-p) + c), a, b >= 0", "top_label", ofScores, keepsRanks, "hundreds",
		"Kull, Silva Filho and Flach 2017", Beta{}},
	{"sigma", "scaling of standard deviations", "standard deviations times one number", "sd sqrt(mean ((y-m)/sd)^2)", "as_coded", ofNormals, "means, and the order of spreads", "hundreds",
		"Levi et al. 2022; LaplaceRedux.jl", Sigma{}},
	{"quantile", "quantile recalibration", "levels replaced by their observed frequencies", "R(F(y)), R the frequency of F(y) <= p", "levels=P P ...", ofNormals + " or quantiles", "medians need not stay", "a thousand or more",
		"Kuleshov, Fenner and Ermon 2018", Quantile{}},
}
