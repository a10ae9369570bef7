package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/score"
)

func TestParseMetrics(t *testing.T) {
	for _, c := range []struct {
		list    string
		classes int
		want    string // keys, divided by spaces
	}{
		{"ece", 10, "ece"},
		{" ece , accuracy,", 10, "ece accuracy"},
		{"ece,ece,ece()", 10, "ece"},
		{"ece(closed=right,bins=30),ece( bins = 30 , closed = right )", 10, "ece(bins=30,closed=right)"},
		{"ece(bins=030),ece(bins=+30),ece(bins=30)", 10, "ece(bins=30)"},
		{"ece(blog_edges=true),ece(blog_edges)", 1, "ece(blog_edges)"},
		{"ece(blog_edges=false)", 1, "ece(blog_edges=false)"},
		{"ece(bins=15),ece", 10, "ece(bins=15) ece"},
		{"mce (bins=3) ,rmsce", 10, "mce(bins=3) rmsce"},
		{"topk_accuracy(k=03),topk_accuracy(k=3)", 10, "topk_accuracy(k=3)"},
		{"brier(form=sum),brier", 10, "brier(form=sum) brier"},
		{"ece_positive,ece_top_label", 2, "ece_positive ece_top_label"},
		{"default", 10, "accuracy nll brier ece calibration_auc brier_skill augrc"},
		{"default", 1, "base_rate mean_p bias nll brier ece calibration_slope calibration_intercept brier_skill auroc"},
		{"mce,default,all", 2, "mce accuracy nll brier ece calibration_auc brier_skill augrc confidence overconfidence " +
			"base_rate mean_p bias oe_ratio nll_infinite_rows perplexity entropy ece_positive ece_top_label ece_floor ece_floor_q95 ece_p detectable_gap rmsce rmsce_debiased calibration_error_squared ece_unweighted ace sce tace ece_equal_mass ece_sweep " +
			"smooth_ece ks ks_p kuiper kuiper_p skce skce_p mmce tcal tcal_bins tcal_p spiegelhalter_z spiegelhalter_p hosmer_lemeshow hosmer_lemeshow_p giviti giviti_degree giviti_p ici e50 e90 calibration_slope calibration_intercept " +
			"corp_mcb corp_mcb_floor corp_dsc corp_unc ece_bayes_mean ece_bayes_q10 ece_bayes_q50 ece_bayes_q90 e_calibration aurc balanced_accuracy spherical rps nll_skill " +
			"brier_uncertainty brier_resolution brier_reliability brier_within_bin sharpness_class0 sharpness_class1 auroc auprc eaurc oracle_accuracy oracle_auc " +
			"abstain_precision abstain_recall retention_accuracy retention_nll"},
		{"oracle_accuracy(fraction=.050),oracle_accuracy( fraction = 5e-2 ),abstain_recall(fraction=0.1,most=03)", 10,
			"oracle_accuracy(fraction=0.05) abstain_recall(fraction=0.1,most=3)"},
		{"retention_nll(oracle=true,trapezoid=false)", 10, "retention_nll(oracle,trapezoid=false)"},
		{"tace(threshold=1e-3),tace( threshold = .001 )", 10, "tace(threshold=0.001)"},
		{"ece(bins=30,adaptive,norm=l2)", 10, "ece(adaptive,bins=30,norm=l2)"},
	} {
		l, err := ParseMetrics(c.list, Shape{Classes: c.classes})
		if err != nil {
			t.Errorf("%q: %v", c.list, err)
			continue
		}
		var keys []string
		for _, m := range l {
			keys = append(keys, m.String())
			// A key reads back as itself.
			if again, err := ParseMetric(m.String()); err != nil || again.String() != m.String() {
				t.Errorf("%v reads back as %v: %v", m, again, err)
			}
		}
		if got := strings.Join(keys, " "); got != c.want {
			t.Errorf("%q of %d classes: %s\nwant %s", c.list, c.classes, got, c.want)
		}
	}
	for s, want := range map[Shape]string{
		{Classes: 3, Kind: metrics.Samples}:             "crps crps_fair rmse coverage_90 miscalibration_area bias crps_pwm crps_rolled mae ae_median wis wis_dispersion wis_underprediction wis_overprediction coverage_50 width_50 width_90 interval_score interval_score_underprediction interval_score_overprediction qwcrps pinball quantile_mse pit_p rank_p",
		{Classes: 3, Kind: metrics.Normals}:             "nll crps rmse sharpness_root zms rce coverage_90 miscalibration_area bias mae ae_median sharpness sigma_scale wis wis_dispersion wis_underprediction wis_overprediction coverage_50 width_50 width_90 interval_score interval_score_underprediction interval_score_overprediction qwcrps pinball quantile_mse ence uce pit_p",
		{Classes: 3, Kind: metrics.Quantiles}:           "ae_median wis coverage_50 coverage_90 width_90 miscalibration_area crps wis_dispersion wis_underprediction wis_overprediction width_50 interval_score interval_score_underprediction interval_score_overprediction qwcrps pinball quantile_mse pit_p",
		{Classes: 3, Kind: metrics.LogLiks}:             "nwaic1 nwaic2 iscv lppd psis_loo p_waic p_loo high_variance_rows pareto_k_max",
		{Classes: 8, Kind: metrics.MultivariateNormals}: "dawid_sebastiani multivariate_nll",
		{Classes: 6, Kind: metrics.Multivariate}:        "energy_score energy_score_fair variogram_score multivariate_rank_p dawid_sebastiani",
		{Classes: 3, Members: 2}:                        "accuracy nll brier ece calibration_auc brier_skill augrc mutual_information disagreement",
		{Classes: 3, Kind: metrics.Dirichlet}:           "accuracy nll brier ece calibration_auc brier_skill augrc knowledge_uncertainty",
		{Classes: 3, Out: true}:                         "accuracy nll brier ece calibration_auc brier_skill augrc ood_auroc ood_fpr95",
	} {
		words := "default"
		if !s.HasClasses() {
			words = "default,all"
		}
		l, err := ParseMetrics(words, s)
		if got := strings.Trim(strings.ReplaceAll(fmt.Sprint(l), "{", ""), "[]"); err != nil || strings.ReplaceAll(got, " []}", "") != want {
			t.Errorf("%s of %+v: %s, want %s, %v", words, s, got, want, err)
		}
	}
	for _, c := range []struct {
		list    string
		classes int
		want    string
	}{
		{"auroc(summation=minoring)", 2, "summation is for thresholds=N; give that too"},
		{"oracle_auc(bins=7)", 2, "bins is for thresholds=N; give that too"},
		{"auroc(thresholds=2)", 2, "thresholds must be at least 3, including both ends, or 0 for no grid"},
		{"auprc(area=trapezoid,thresholds=200)", 2, "with thresholds, summation takes the place of area; leave area out"},
		{"auprc(average=macro,thresholds=200)", 3, "thresholds is for two classes, and average for more; leave one of them out"},
		{"auroc(area=trapezoid)", 2, `there is no option "area"; there are average=none|macro|weighted|micro|ovo|ovo_weighted, max_fpr=0, thresholds=0`},
		{"brier_resolution(by=bins,as_coded=um)", 2, "as_coded is by the predicted class, not by bins"},
		{"brier_reliability(bins=0)", 2, `bins is "0"; it is a whole number from 1 to 1000000`},
		{"oracle_auc", 3, "metric oracle_auc: it is for binary tasks and two classes"},
		{"oracle_accuracy(fraction=1.5)", 3, `fraction is "1.5"; it is a number from 0 to 1`},
		{"eaurc(replicates=3)", 3, `replicates is "3"; it is a whole number from 20 to 100000`},
		{"brier_resolution", 1025, "it is for up to 1,024 classes"},
		{"ici(span=0.3)", 2, "span is for smoother=loess; give that too"},
		{"e50(smoother=loess,span=0)", 2, `span is "0"; it is a number from 0.001 to 1`},
		{"e90(smoother=spline)", 2, `smoother is "spline"; it is one of rising, loess`},
		{"hosmer_lemeshow(fitted)", 2, `there is no option "fitted"; there are event=shape|top|positive, groups=10, even`},
		{"hosmer_lemeshow_p(groups=0)", 2, `groups is "0"; it is a whole number from 1 to 1000`},
		{"ece_unweighted(norm=l2)", 2, "its name says the norm; ece takes one"},
		{"rmsce_debiased(variance=y)", 2, `variance is "y"; it is one of gap, kumar`},
		{"retention_nll(oracle=7)", 3, `oracle is "7"; it is a switch`},
		{"spherical(p=2)", 3, "metric spherical: it takes no options"},
		{"ood_auroc", 3, "it is for predictions with out-of-distribution rows (Spec.Out)"},
		{"disagreement", 3, "it is for ensembles (Spec.Members)"},
		{"total_uncertainty", 3, "it is for ensembles (Spec.Members) and for the parameters of Dirichlet distributions"},
		{"knowledge_uncertainty", 3, "it is for the parameters of Dirichlet distributions (metrics.Dirichlet)"},
		{"crps", 3, "it is for samples of a forecast number (metrics.Samples)"},
		{"iscv(as_coded)", 3, "it is for log-likelihoods under draws of parameters (metrics.LogLiks)"},
		{"", 10, "no metric is named"},
		{" , ", 10, "no metric is named"},
		{"nonsense", 10, `there is no metric "nonsense"; eval.Descriptors lists them`},
		{"acuracy", 10, "(did you mean accuracy?)"},
		{"eec", 10, "(did you mean ece?)"},
		{"ECE", 10, "(did you mean ece?)"},
		{"entr", 10, "(did you mean entropy?)"},
		{"Default", 10, "there is no metric"},
		{"base_rate", 3, "metric base_rate: it is for binary tasks and two classes"},
		{"ece_positive", 3, "metric ece_positive: it is for binary tasks and two classes"},
		{"top5_accuracy", 5, "it is for more than five classes"},
		{"ece(", 10, "a parenthesis is open"},
		{"ece)", 10, "the parentheses do not match"},
		{"ece((bins=3))", 10, "the parentheses do not match"},
		{"ece(bins=3)x", 10, "it is NAME or NAME(OPTION=VALUE,...)"},
		{"ece(bins)", 10, `bins is ""`},
		{"ece(bins=-3)", 10, `bins is "-3"`},
		{"ece(bins=1e3)", 10, `bins is "1e3"`},
		{"ece(bins=3,closed=left,bins=4)", 10, "option bins is given twice"},
		{"ece(blog_edges=7)", 10, "blog_edges is a switch"},
		{"ece(blog_edges,bins=1)", 10, "1 bins"},
		{"ece(event=all)", 10, "the event is in the name"},
		{"ece(index=floor,closed=right)", 10, "floor(B*p)"},
		{"accuracy(base=2)", 10, "metric accuracy: it takes no options"},
		{"nll(base=2)", 10, `there is no option "base"; there are clip=0, rescale=none|before|after`},
		{"nll(clip=0.5)", 10, `clip is "0.5"; it is a number from 0 to 0.1`},
		{"nll(rescale=after)", 10, "rescale says when clipped rows are divided by their sums; it needs clip, as clip=1e-7"},
		{"brier(scale=2)", 10, `there is no option "scale"; there is form=default|`},
		{"topk_accuracy(n=2)", 10, `there is no option "n"; there are k=5, ties=first|last|all`},
		{"topk_accuracy(k=1001)", 10, `k is "1001"`},
	} {
		if l, err := ParseMetrics(c.list, Shape{Classes: c.classes}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q of %d classes: %v, %v; want %q", c.list, c.classes, l, err, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"ece", "ece", 0}, {"eec", "ece", 1}, {"brir", "brier", 1}, {"kitten", "sitting", 3}, {"accuarcy", "accuracy", 1}} {
		if d := distance(c.a, c.b); d != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, d, c.want)
		}
	}
}

// names are those that are fixed; additions are what this package has besides.
var (
	names = strings.Fields(`accuracy top5_accuracy confidence overconfidence base_rate nll nll_infinite_rows perplexity brier entropy spherical rps
		brier_skill nll_skill ece ece_positive ece_top_label ece_floor ece_floor_q95 ece_p detectable_gap mce rmsce rmsce_debiased ace sce tace ece_equal_mass
		ece_sweep smooth_ece ks ks_p kuiper kuiper_p spiegelhalter_z spiegelhalter_p calibration_slope calibration_intercept corp_mcb corp_dsc corp_unc
		brier_uncertainty brier_resolution brier_reliability brier_within_bin ece_bayes_mean ece_bayes_q10 ece_bayes_q50 ece_bayes_q90 spce auroc auprc aurc
		eaurc augrc calibration_auc ood_auroc ood_auprc_in ood_auprc_out ood_fpr95 oracle_accuracy oracle_auc abstain_precision abstain_recall
		retention_accuracy retention_nll mutual_information total_uncertainty data_uncertainty knowledge_uncertainty disagreement double_fault
		average_kl logit_kl cosine_similarity lp_distance bregman_kl_variance variance_bound ensemble_nll gibbs_nll nwaic1 nwaic2 iscv crps
		crps_fair crps_pwm crps_rolled rmse mae ae_median sharpness sharpness_root sharpness_class0 sharpness_class1 miscalibration_area quantile_mse
		zms rce ence uce coverage_50 coverage_90 width_50 width_90 interval_score wis pinball pit_p rank_p temperature
		nll_temperature_scaled brier_temperature_scaled ece_temperature_scaled`)
	// base_rate against what is said, three ways; top5_accuracy for any k; accuracy where classes are rare; what of corp_mcb is chance; what nwaic1 is a correction of; iscv
	// with weights that can be trusted; evidence that may be looked at any time; bins that each count once; errors with their sign; coverage_50 and width_50 at any level; several
	// numbers at a time; the parts
	// of wis and of interval_score; crps of some values or quantiles; the root of zms; all levels' coverages in one number; the time until an event;
	// what acting on a model is worth and costs; gaps weighed by a kernel, and of 2, 4, 8 and so on bins; regions of equal scores; scores against a polynomial of their logits;
	// whole rows of probabilities
	additions = []string{"mean_p", "oe_ratio", "topk_accuracy", "balanced_accuracy", "corp_mcb_floor", "lppd", "psis_loo", "high_variance_rows", "pareto_k_max",
		"ece_unweighted", "bias", "coverage", "width", "wis_dispersion", "wis_underprediction", "wis_overprediction", "interval_score_underprediction", "interval_score_overprediction", "interval_score_mcb", "interval_score_dsc", "interval_score_unc", "twcrps", "qwcrps", "sigma_scale",
		"rms_calibration", "hosmer_lemeshow", "hosmer_lemeshow_p", "ici", "e50", "e90", "p_waic", "p_loo", "bits_per_byte", "sequence_nll", "calibration_error_squared", "e_calibration",
		"multicalibration_error", "multicalibration_error_relative", "multicalibration_error_sigma", "multicalibration_error_p", "multicalibration_gap", "multicalibration_gap_p", "grouping_loss", "grouping_loss_explained", "grouping_loss_induced",
		"energy_score", "energy_score_fair", "variogram_score", "dawid_sebastiani", "multivariate_nll", "multivariate_rank_p",
		"mean_risk", "event_share_km", "bias_km", "cce", "ece_km", "ici_cox", "e50_cox", "e90_cox", "emax_cox", "brier_ipcw", "brier_integrated", "auroc_ipcw", "concordance_ipcw", "concordance", "d_calibration_p",
		"net_benefit", "expected_cost", "avoidable_cost", "least_cost_threshold", "decision_cost", "constant_cost", "coverage_at_risk", "threshold_at_risk", "skce", "skce_p", "mmce",
		"tcal", "tcal_bins", "tcal_p", "giviti", "giviti_degree", "giviti_p", "canonical_skce", "canonical_skce_p"}
)

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Descriptors() {
		if seen[d.Name] {
			t.Errorf("%s stands twice", d.Name)
		}
		seen[d.Name] = true
		if !slices.Contains(names, d.Name) && !slices.Contains(additions, d.Name) {
			t.Errorf("%s is no name that is fixed, and no addition", d.Name)
		}
		for what, s := range map[string]string{"short meaning": d.Short, "meaning": d.Meaning, "formula": d.Formula, "range": d.Range, "source": d.Source} {
			if s == "" || strings.TrimSpace(s) != s || strings.Contains(s, "\n") {
				t.Errorf("%s: the %s is %q", d.Name, what, s)
			}
		}
		if len(d.Short) > 24 {
			t.Errorf("%s: the short meaning has %d columns", d.Name, len(d.Short))
		}
		if !slices.Contains([]Direction{Lower, Higher, Zero, Neither}, d.Better) {
			t.Errorf("%s: better is %q", d.Name, d.Better)
		}
		if d.applies == nil || d.check == nil || d.value == nil || d.event != nil && d.classes != nil {
			t.Errorf("%s: a function is missing", d.Name)
		}
		// What it applies to is all that has classes, or it says what else.
		all, none := true, true
		for _, classes := range []int{1, 2, 3, 1000, 5000} {
			for _, s := range []Shape{{}, {Kind: metrics.Dirichlet}, {Members: 2}, {Out: true}, {Kind: metrics.Samples}, {Kind: metrics.LogLiks}, {Kind: metrics.Normals}, {Kind: metrics.Quantiles}, {Kind: metrics.Survival}, {Kind: metrics.Multivariate}, {Kind: metrics.MultivariateNormals}} {
				s.Classes = classes
				applies := d.applies(s)
				all, none = all && applies == s.HasClasses(), none && !applies
				// Metrics over a loss or cells are for classes, since other kinds have none.
				if applies && !s.HasClasses() && (d.event != nil || d.classes != nil || d.ofTwo || d.keeps == nil) {
					t.Errorf("%s applies to %+v", d.Name, s)
				}
			}
		}
		if all != (d.Applies() == "") || none {
			t.Errorf("%s: applies to all: %v, to none: %v, and it says %q", d.Name, all, none, d.Applies())
		}
		if d.own != nil && !strings.Contains(d.Options, d.own.String()) {
			t.Errorf("%s has the options %v and says %q", d.Name, d.own, d.Options)
		}
		// What takes options says so, and the others refuse them.
		if _, err := ParseMetric(d.Name + "(nonsense=1)"); err == nil || (d.Options == "") != strings.Contains(err.Error(), "it takes no options") {
			t.Errorf("%s with an option: %v; its options are %q", d.Name, err, d.Options)
		}
		// Every option that is listed can be set, to every value that is listed.
		for _, o := range strings.Split(d.Options, ", ") {
			name, values, _ := strings.Cut(o, "=")
			if o == "" {
				continue
			}
			for _, v := range strings.Split(values, "|") {
				switch v {
				case "N":
					v = "7"
				case "P":
					v = "0.5"
				}
				// A summation takes a grid beside it, rescaling a clip, and a span a loess.
				also := map[string]string{"summation": ",thresholds=200", "rescale": ",clip=1e-7", "span": ",smoother=loess", "delta": ",smoother=loess"}[name]
				if m, err := ParseMetric(fmt.Sprintf("%s(%s=%s%s)", d.Name, name, v, also)); err != nil {
					t.Errorf("%v: %v", m, err)
				}
			}
		}
		if Describe(d.Name).Name != d.Name {
			t.Errorf("Describe(%s)", d.Name)
		}
	}
	if Describe("nonsense") != nil {
		t.Error("Describe of no name")
	}
	// The caller's copy is its own.
	Descriptors()[0].Name = "changed"
	if Descriptors()[0].Name == "changed" {
		t.Error("the table can be changed from outside")
	}
}

// predictions returns probabilities of n rows, as one score for classes 1.
func predictions(seed uint64, n, classes int, weighted bool) *metrics.Predictions {
	return testrows.Random(seed, n, classes, weighted)
}

func normals(seed uint64, n int, weighted bool) *metrics.Predictions {
	return testrows.Normals(seed, n, weighted)
}

// source hands out predictions in one chunk.
type source struct {
	p     *metrics.Predictions
	first int64 // number of its first row
}

func (s *source) Next() (*metrics.Chunk, error) {
	if s.p == nil {
		return nil, io.EOF
	}
	c := &metrics.Chunk{Predictions: *s.p, First: s.first}
	s.p = nil
	return c, nil
}

func fill(t testing.TB, s Spec, p *metrics.Predictions) *Evaluation {
	t.Helper()
	e, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if p != nil {
		if err := e.AddSource(&source{p: p}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func state(t testing.TB, e *Evaluation) []byte {
	t.Helper()
	b, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func list(t testing.TB, s string, classes int) []Metric {
	t.Helper()
	m, err := ParseMetrics(s, Shape{Classes: classes})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// specs are specs of every preset, and of every number of classes that makes a difference.
func specs(t testing.TB) []Spec {
	var l []Spec
	for _, k := range []int{1, 2, 3, 10} {
		l = append(l, Spec{Classes: k, Metrics: list(t, "all", k)}, Spec{Classes: k})
		for _, like := range []string{"um", "tfp", "torchmetrics", "guo", "blog"} {
			o, err := calib.Like(like)
			if err != nil {
				t.Fatal(err)
			}
			l = append(l, Spec{Classes: k, Metrics: list(t, "all", k), Base: o, Brier: score.BrierMinusOne, UM: like == "um", Level: 0.9})
		}
		if k > 1 {
			l = append(l, Spec{Classes: k, Choices: Choices(1 + k%3), Metrics: list(t, "all", k)})
		}
		l = append(l, Spec{Classes: k, Costs: costsOf(k), Metrics: list(t, "decision_cost,constant_cost", k)})
		l = append(l, Spec{Classes: k, Names: []string{"no", "yes", "", "\x00", "a", "b", "c", "d", "e", "f"}[:max(2, k)], Metrics: list(t, "topk_accuracy(k=7),ece(bins=4),brier(form=per_class),mce(zero=own,one=overflow,blog_edges)", k), Base: calib.Options{Bins: 6}})
	}
	return l
}

// costsOf returns what decisions cost, one more than there are classes.
func costsOf(classes int) *score.CostMatrix {
	m := &score.CostMatrix{Classes: max(2, classes), Decisions: max(2, classes) + 1}
	for k := range m.Classes {
		for d := range m.Decisions {
			m.Cost = append(m.Cost, float64((3*k+5*d)%7)/2)
		}
	}
	return m
}

func TestRoundTrip(t *testing.T) {
	for i, s := range specs(t) {
		for _, weighted := range []bool{false, true} {
			if testing.Short() && weighted != (i%2 == 0) {
				continue
			}
			for _, p := range []*metrics.Predictions{nil, predictions(uint64(i), 60, s.Classes, weighted)} {
				e := fill(t, s, p)
				b := state(t, e)
				r := new(Evaluation)
				if err := r.UnmarshalBinary(b); err != nil {
					t.Fatalf("%d: %v", i, err)
				}
				if !bytes.Equal(state(t, r), b) || r.SHA256() != e.SHA256() {
					t.Errorf("%d: the state differs after a round trip", i)
				}
				if err := e.Spec.Match(&r.Spec); err != nil {
					t.Errorf("%d: %v", i, err)
				}
				for _, m := range s.Metrics {
					if s.Level != 0 && Describe(m.Name).random {
						continue // these take long; once for each number of classes is enough
					}
					v, w := e.Value(m), r.Value(m)
					if math.Float64bits(v.Value) != math.Float64bits(w.Value) && !(math.IsNaN(v.Value) && math.IsNaN(w.Value)) || v.Reason != w.Reason || v.Method != w.Method {
						t.Errorf("%d: %v is %+v, then %+v", i, m, v, w)
					}
					if e.Text(m) != r.Text(m) || e.Text(m) == "" {
						t.Errorf("%d: the text of %v is %q, then %q", i, m, e.Text(m), r.Text(m))
					}
					if math.IsNaN(v.Value) && v.Reason == "" || math.IsNaN(v.Interval.Low) && v.Reason == "" {
						t.Errorf("%d: %v has neither value nor interval nor reason: %+v", i, m, v)
					}
				}
				// What was read goes on as what was written.
				if p != nil {
					if err := r.Merge(e); err != nil {
						t.Errorf("%d: %v", i, err)
					}
					if r.Audit.Rows != 2*e.Audit.Rows {
						t.Errorf("%d: %d rows", i, r.Audit.Rows)
					}
				}
			}
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	e := fill(t, Spec{Classes: 3, Metrics: list(t, "accuracy,nll,ece,brier(form=sum)", 3), Base: calib.Options{Bins: 3}}, predictions(1, 50, 3, false))
	good := state(t, e)
	into := fill(t, Spec{Classes: 2, Metrics: list(t, "accuracy", 2)}, predictions(2, 20, 2, false))
	before := state(t, into)
	refuse := func(what string, b []byte) {
		t.Helper()
		if err := into.UnmarshalBinary(b); err == nil {
			t.Errorf("%s was read", what)
		}
	}
	for n := range good {
		refuse(fmt.Sprintf("the first %d bytes", n), good[:n])
	}
	bad := slices.Clone(good)
	for i := range bad {
		for _, x := range []byte{1, 0x80, 0xFF} {
			bad[i] ^= x
			refuse(fmt.Sprintf("byte %d changed by %02x", i, x), bad)
			bad[i] ^= x
		}
	}
	refuse("one byte more", append(bad, 0))
	if !bytes.Equal(state(t, into), before) {
		t.Error("a refused state changed the receiver")
	}
}

// sealed is a state whose fields are those of e but for a change, with a checksum that is right.
func sealed(t testing.TB, e *Evaluation, change func(f *fields)) []byte {
	s := &e.Spec
	f := &fields{classes: uint32(s.Classes), kind: uint8(s.Kind), members: uint32(s.Members), given: uint8(e.Given), level: s.Level, brier: uint8(s.Brier), flags: s.flags(), seed: s.Seed, memory: s.Memory, levels: slices.Clone(s.Levels), bins: uint32(s.Base.Bins), base: s.Base.String()}
	for _, m := range s.Metrics {
		f.names = append(f.names, m.String())
	}
	for i, audit := range []*metrics.Audit{&e.Audit, &e.Out} {
		a, err := audit.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		f.audits[i] = a
	}
	for _, acc := range e.states() {
		b, err := acc.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		f.parts = append(f.parts, b)
	}
	change(f)
	var enc exact.Enc
	enc.U32(f.classes)
	enc.U8(f.kind)
	enc.U32(f.members)
	for _, l := range f.levels {
		enc.F64(l)
	}
	enc.F64(f.level)
	enc.U8(f.brier)
	enc.U8(f.flags)
	enc.U64(f.seed)
	enc.I64(f.memory)
	enc.U32(f.bins)
	enc.Str(f.base)
	enc.U64(uint64(len(f.names)))
	for _, n := range f.names {
		enc.Str(n)
	}
	for _, a := range f.audits {
		enc.Bytes(a)
	}
	enc.U8(f.given)
	for _, p := range f.parts {
		enc.Bytes(p)
	}
	enc.B = append(enc.B, f.more...)
	return exact.Seal(stateMagic, f.version+stateVersion, enc.B)
}

type fields struct {
	classes, bins, members    uint32
	level                     float64
	levels                    []float64
	kind, brier, flags, given uint8
	seed                      uint64
	memory                    int64
	base                      string
	names                     []string
	audits                    [2][]byte // of the rows, and of those out of distribution
	parts                     [][]byte
	more                      []byte
	version                   uint16
}

// TestUnmarshalRefusesLies: states that are whole, and whose fields contradict each other.
func TestUnmarshalRefusesLies(t *testing.T) {
	s := Spec{Classes: 3, Metrics: list(t, "accuracy,ece,topk_accuracy(k=9),ece(bins=7)", 3), Base: calib.Options{Bins: 3}}
	e := fill(t, s, predictions(1, 50, 3, false))
	if err := new(Evaluation).UnmarshalBinary(sealed(t, e, func(*fields) {})); err != nil {
		t.Fatal(err)
	}
	part := func(a interface{ AppendBinary([]byte) ([]byte, error) }) []byte {
		b, err := a.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	other := fill(t, s, predictions(2, 49, 3, false))
	for name, change := range map[string]func(f *fields){
		"no classes":          func(f *fields) { f.classes = 0 },
		"other classes":       func(f *fields) { f.classes = 4 },
		"level 0":             func(f *fields) { f.level = 0 },
		"level NaN":           func(f *fields) { f.level = math.NaN() },
		"level 2":             func(f *fields) { f.level = 2 },
		"brier form":          func(f *fields) { f.brier = 77 },
		"no bins":             func(f *fields) { f.bins = 0 },
		"many bins":           func(f *fields) { f.bins = 1 << 20 },
		"too many bins":       func(f *fields) { f.bins = 1 << 30 },
		"many bins by name":   func(f *fields) { f.names = append(f.names, "ece(bins=1000000)", "ece(bins=1000001)") },
		"base":                func(f *fields) { f.base = "zero=nonsense" },
		"base that is not":    func(f *fields) { f.base = "bins=3,closed=left" },
		"unknown metric":      func(f *fields) { f.names[0] = "nonsense" },
		"two metrics in one":  func(f *fields) { f.names[0] = "accuracy,nll" },
		"a word for metrics":  func(f *fields) { f.names[0] = "default" },
		"other spelling":      func(f *fields) { f.names[2] = "topk_accuracy( k=9 )" },
		"a metric twice":      func(f *fields) { f.names = append(f.names, "ece") },
		"smaller top-k":       func(f *fields) { f.parts[0] = part(metrics.Must(score.NewLoss(nil))) },
		"other bins":          func(f *fields) { f.parts[2] = part(metrics.Must(calib.NewBins(&calib.Options{Bins: 4}))) },
		"other cells":         func(f *fields) { f.parts[1] = part(metrics.Must(cells.New(&cells.Options{Event: calib.Positive}))) },
		"swapped parts":       func(f *fields) { f.parts[0], f.parts[1] = f.parts[1], f.parts[0] },
		"a part less":         func(f *fields) { f.parts = f.parts[:2] },
		"a flag":              func(f *fields) { f.flags = 16 },
		"rows from elsewhere": func(f *fields) { f.audits[1] = f.audits[0] },
		"a kind":              func(f *fields) { f.kind = 99 },
		"logits":              func(f *fields) { f.kind = uint8(metrics.Logits) },
		"samples":             func(f *fields) { f.kind = uint8(metrics.Samples) },
		"parameters":          func(f *fields) { f.kind = uint8(metrics.Dirichlet) },
		"members":             func(f *fields) { f.members = 3 },
		"many members":        func(f *fields) { f.members = 1 << 30 },
		"most members":        func(f *fields) { f.members = math.MaxUint32 },
		"members' logits":     func(f *fields) { f.given = uint8(metrics.Logits) },
		"less memory":         func(f *fields) { f.memory = -1 },
		"a part more":         func(f *fields) { f.parts = append(f.parts, f.parts[1]) },
		"an empty part":       func(f *fields) { f.parts[0] = nil },
		"bytes behind":        func(f *fields) { f.more = []byte{0} },
		"newer":               func(f *fields) { f.version = 1 },
		"other rows":          func(f *fields) { f.parts[0] = part(other.Loss) },
		"audit of none":       func(f *fields) { f.audits[0] = part(&metrics.Audit{}) },
		"audit of others":     func(f *fields) { f.audits[0] = part(&metrics.Audit{Rows: 50, Classes: 4}) },
	} {
		if err := new(Evaluation).UnmarshalBinary(sealed(t, e, change)); err == nil {
			t.Errorf("%s was read", name)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRanksWhereAsked: what needs ranks reads every score once more, so they are asked for by a top-k metric alone; of few
// classes they are always kept.
func TestRanksWhereAsked(t *testing.T) {
	for _, c := range []struct {
		classes int
		list    string
		top     int
	}{
		{10, "default", 1}, {10, "top5_accuracy", 5}, {10, "topk_accuracy(k=2)", 5}, {10, "topk_accuracy(k=7)", 7},
		{10, "accuracy,nll,ece", 1}, {10, "topk_accuracy(k=1)", 1}, {5, "nll", 5}, {1, "default", 5}, {3, "topk_accuracy(k=9)", 9},
	} {
		e := fill(t, Spec{Classes: c.classes, Metrics: list(t, c.list, c.classes)}, predictions(3, 300, c.classes, false))
		want := metrics.NeedRank
		if c.top == 1 {
			want = 0
		}
		if got := e.Loss.Needs() &^ metrics.NeedSpread; got != want {
			t.Errorf("%d classes, %s: needs %d, want %d", c.classes, c.list, got, want)
		}
		full := fill(t, Spec{Classes: c.classes, Metrics: list(t, "all,topk_accuracy(k=20)", c.classes)}, predictions(3, 300, c.classes, false))
		for k := 1; k <= c.top; k++ {
			if got, want := e.Loss.TopK(k), full.Loss.TopK(k); got != want {
				t.Errorf("%d classes, %s: top-%d is %v, want %v", c.classes, c.list, k, got, want)
			}
		}
		var back Evaluation
		if err := back.UnmarshalBinary(state(t, e)); err != nil || !bytes.Equal(state(t, &back), state(t, e)) {
			t.Errorf("%d classes, %s: it comes back otherwise, %v", c.classes, c.list, err)
		}
	}
}

func TestMergeMismatch(t *testing.T) {
	base := Spec{Classes: 3, Metrics: list(t, "accuracy,ece", 3)}
	p := predictions(1, 40, 3, false)
	with := func(f func(s *Spec)) Spec { s := base; f(&s); return s }
	f32 := &metrics.Predictions{Scores: metrics.Scores{F32: []float32{0.5, 0.25, 0.25}, Rows: 1, Classes: 3}, Labels: []int32{0}}
	logits := *p
	logits.Kind = metrics.Logits
	for _, c := range []struct {
		name string
		e    *Evaluation
		want string
	}{
		{"classes", fill(t, Spec{Classes: 4, Metrics: base.Metrics}, nil), "3 classes and 4 classes"},
		{"bins", fill(t, with(func(s *Spec) { s.Base.Bins = 7 }), p), "15 equal-width bins"},
		{"level", fill(t, with(func(s *Spec) { s.Level = 0.9 }), p), "confidence levels 0.95 and 0.9"},
		{"brier", fill(t, with(func(s *Spec) { s.Brier = score.BrierSum }), p), "brier in the form default and in the form sum"},
		{"metrics", fill(t, with(func(s *Spec) { s.Metrics = list(t, "accuracy", 3) }), p), "metrics accuracy,ece and accuracy"},
		{"order of metrics", fill(t, with(func(s *Spec) { s.Metrics = list(t, "ece,accuracy", 3) }), p), "metrics accuracy,ece and ece,accuracy"},
		{"weights", fill(t, base, predictions(1, 40, 3, true)), "one has weights, the other has none"},
		{"type", fill(t, base, f32), "scores of type float64 and of type float32"},
		{"kind", fill(t, base, &logits), "scores are probs and logits"},
		{"names", fill(t, with(func(s *Spec) { s.Names = []string{"a", "b", "c"} }), p), "classes without names and classes named a, b, c"},
		{"costs", fill(t, with(func(s *Spec) { s.Costs = costsOf(3) }), p), "decisions by other costs"},
		{"choices", fill(t, with(func(s *Spec) { s.Choices = ChoiceBytes }), p), "classes and choices with the norm byte"},
		{"decisions", fill(t, with(func(s *Spec) { s.Decided = true }), nil), "one has decisions, the other has none"},
		{"confidence scores", fill(t, with(func(s *Spec) { s.Scored = true }), nil), "one has confidence scores, the other has none"},
	} {
		e := fill(t, base, p)
		before := state(t, e)
		err := e.Merge(c.e)
		if !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if !bytes.Equal(state(t, e), before) {
			t.Errorf("%s: a refused merge changed the state", c.name)
		}
	}
	// Memory is compared where a metric takes it.
	few, many := with(func(s *Spec) { s.Memory = 100 }), with(func(s *Spec) { s.Memory = 200 })
	if a, b := fill(t, few, p), fill(t, many, p); a.SHA256() != b.SHA256() || a.Merge(b) != nil {
		t.Error("memory that no metric takes makes a difference")
	}
	few.Metrics = list(t, "ace", 3)
	many.Metrics = few.Metrics
	if err := fill(t, few, p).Merge(fill(t, many, p)); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), "100 and 200 bytes for the entries of adaptive metrics") {
		t.Errorf("%v", err)
	}
	// The same holds for rows that are added later.
	for name, q := range map[string]*metrics.Predictions{"type": f32, "kind": &logits, "weights": predictions(1, 40, 3, true), "classes": predictions(1, 9, 5, false), "binary": predictions(1, 9, 1, false)} {
		e := fill(t, base, p)
		before := state(t, e)
		if err := e.AddSource(&source{p: q}, nil); !errors.Is(err, metrics.ErrMismatch) {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(state(t, e), before) {
			t.Errorf("%s: refused rows changed the state", name)
		}
	}
	two := fill(t, Spec{Classes: 2, Metrics: list(t, "all", 2)}, nil)
	if err := two.AddSource(&source{p: p}, nil); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), "rows of 3 classes for an evaluation of 2") {
		t.Errorf("%v", err)
	}
	bad := predictions(3, 40, 3, false)
	bad.F64[70] = math.NaN()
	e := fill(t, base, p)
	before := state(t, e)
	var data *metrics.DataError
	if err := e.AddSource(&source{p: bad}, nil); !errors.As(err, &data) || !bytes.Equal(state(t, e), before) {
		t.Errorf("%v", err)
	}
}

func TestMergeEqualsAll(t *testing.T) {
	for i, s := range specs(t) {
		for _, weighted := range []bool{false, true} {
			if testing.Short() && weighted != (i%2 == 0) {
				continue
			}
			p := predictions(uint64(100+i), 97, s.Classes, weighted)
			whole := state(t, fill(t, s, p))
			cut := func(from, to int) *metrics.Predictions {
				q := *p
				q.Rows, q.F64, q.Labels = to-from, p.F64[from*s.Classes:to*s.Classes], p.Labels[from:to]
				if weighted {
					q.Weights = p.Weights[from:to]
				}
				return &q
			}
			a, b, c := fill(t, s, cut(0, 13)), fill(t, s, cut(13, 60)), fill(t, s, cut(60, 97))
			none := fill(t, s, nil)
			for _, o := range []*Evaluation{c, none, a, b} {
				if o == none {
					if err := none.Merge(c); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if o == c {
					continue
				}
				if err := none.Merge(o); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(state(t, none), whole) {
				t.Errorf("%d: merged parts differ from the whole", i)
			}
			// Added one after the other.
			d := fill(t, s, cut(60, 97))
			for _, q := range []*metrics.Predictions{cut(0, 13), cut(13, 60)} {
				if err := d.AddSource(&source{p: q}, &metrics.Options{Threads: 2}); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(state(t, d), whole) {
				t.Errorf("%d: parts that were added differ from the whole", i)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		s    Spec
		want string
	}{
		{Spec{}, "Classes is below 1"},
		{Spec{Classes: -1}, "Classes is below 1"},
		{Spec{Classes: 3, Level: 1}, "level is 1"},
		{Spec{Classes: 3, Level: -0.5}, "level is -0.5"},
		{Spec{Classes: 3, Base: calib.Options{Bins: -1}}, "-1 bins"},
		{Spec{Classes: 3, Members: -1}, "Members is below 0"},
		{Spec{Classes: 3, Members: 2, Kind: metrics.Samples}, "samples are of no ensemble"},
		{Spec{Classes: 3, Out: true, Kind: metrics.LogLiks}, "none of them is out of distribution"},
		{Spec{Classes: 3, Metrics: []Metric{{Name: "disagreement"}}}, "it is for ensembles"},
		{Spec{Classes: 4, Kind: metrics.Normals}, "two or three numbers a row, not of 4"},
		{Spec{Classes: 3, Kind: metrics.Normals, Members: 2}, "normal are of no ensemble"},
		{Spec{Classes: 3, Kind: metrics.Quantiles}, "0 levels for 3 quantiles a row"},
		{Spec{Classes: 2, Kind: metrics.Normals, Levels: []float64{0.1, 0.2}}, "levels are for quantiles, and the rows are normal"},
		{levelled(0.5, 0.1), "levels of quantiles rise between 0 and 1"},
		{levelled(0.5, 0.5), "levels of quantiles rise"},
		{levelled(0.5, 0.5+1.5e-9), "levels of quantiles rise"},
		{levelled(1.5e-9), "levels of quantiles rise"},
		{levelled(0, 0.5), "levels of quantiles rise"},
		{levelled(0.5, 1), "levels of quantiles rise"},
		{levelled(math.NaN()), "levels of quantiles rise"},
		{Spec{Classes: 3, Metrics: []Metric{{Name: "nonsense"}}}, `there is no metric "nonsense"`},
		{Spec{Classes: 3, Metrics: []Metric{{Name: "ece_positive"}}}, "it is for binary tasks and two classes"},
	} {
		if _, err := New(c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		classes int
		brier   score.BrierForm
		metric  string
		want    string
	}{
		{1, 0, "brier", "mean (p - y)^2"},
		{3, 0, "brier", "mean sum_k (p_k - [y = k])^2"},
		{1, score.BrierMinusOne, "brier", "mean sum_k (p_k - [y = k])^2 - 1"},
		{3, score.BrierMinusOne, "brier(form=default)", "mean sum_k (p_k - [y = k])^2"},
		{3, 0, "brier(form=per_class)", "(1/K) mean sum_k (p_k - [y = k])^2"},
		{2, 0, "brier(form=binary)", "mean (p_1 - y)^2"},
		{9, 0, "topk_accuracy(k=3)", "mean [#{s_j > s_y} + #{j < y: s_j = s_y} < 3]"},
		{9, 0, "ece(norm=l2)", "top label; 15 equal-width bins; left-closed; the last bin closed; p = 0 counted; edges i*(1/B); sqrt(sum_bins (n_b/N) (mean p - mean y)^2)"},
		{1, 0, "ece(adaptive,norm=max,bins=7)", "positive class; 7 bins of equal mass: bin j begins with all rows of the score of rank round(j*N/7), from 0, halves to even; max_bins |mean p - mean y|"},
		{2, 0, "ece_positive(adaptive)", "positive class; 15 bins of equal mass: bin j begins with all rows of the score of rank round(j*N/15), from 0, halves to even; (1/N) sum_bins |sum (p_1 - [y = 1])|"},
		{1, 0, "ece_sweep", "positive class; bins of equal mass: bin j begins with all rows of the score of rank round(j*N/B), from 0, halves to even; (1/N) sum_bins |sum (p - y)| over the largest number of bins whose frequencies rise"},
		{3, 0, "ace", "every class against the rest; 15 bins of equal mass: bin j begins with all rows of the score of rank round(j*N/15), from 0, halves to even; (1/K) sum_k (1/N) sum_bins |sum (p_k - [y = k])|"},
		{3, 0, "sce(norm=l2,closed=right)", "every class against the rest; 15 equal-width bins; right-closed; sqrt((1/K) sum_k sum_bins (n_b/N) (mean p_k - mean [y = k])^2)"},
		{3, 0, "sce(threshold=.5)", "every class against the rest; 15 equal-width bins; left-closed; only p > 0.5; (1/K) sum_k (1/N_k) sum_bins |sum (p_k - [y = k])|, over the N_k entries above the threshold"},
		{1, 0, "tace(bins=3,norm=l2)", "class 1 against the rest; 3 bins of equal mass: bin j begins with all rows of the score of rank round(j*N/3), from 0, halves to even; only p > 0.01; sqrt((1/K) sum_k sum_bins (n_b/N_k) (mean p_k - mean [y = k])^2), over the N_k entries above the threshold"},
		{3, 0, "nll", "mean -ln p_y, unclipped"},
		{3, 0, "nll(clip=0)", "mean -ln p_y, unclipped"},
		{1, 0, "nll(clip=1E-15)", "mean -ln p_y, p clipped to [1e-15, 1 - 1e-15]"},
		{3, 0, "nll(clip=1e-7,rescale=before)", "mean -ln p_y, p clipped to [1e-07, 1 - 1e-07], rows divided by their sums before"},
		{3, 0, "nll(rescale=after,clip=0.01)", "mean -ln p_y, p clipped to [0.01, 1 - 0.01], rows divided by their sums afterwards"},
		{1, 0, "rmsce_debiased(bins=4,variance=kumar)", "positive class; 4 equal-width bins; left-closed; the last bin closed; p = 0 counted; edges i*(1/B); " +
			"sqrt(max(0, sum_bins (n_b/N) (gap_b^2 - ybar_b (1 - ybar_b)/(n_b - 1)))), ybar_b = mean y, n_b >= 2"},
		{1, 0, "rmsce_debiased(adaptive,variance=gap)", "positive class; 15 bins of equal mass: bin j begins with all rows of the score of rank round(j*N/15), from 0, halves to even; " +
			"sqrt(max(0, sum_bins (n_b/N) (gap_b^2 - v_b/n_b))), v_b the sample variance of y - p, n_b >= 2"},
		{3, 0, "ece_unweighted(bins=10)", "top label; 10 equal-width bins; left-closed; the last bin closed; p = 0 counted; edges i*(1/B); (1/B') sum_bins |mean p - mean y|, B' bins that have rows"},
		{1, 0, "ks", "positive class; max_j |S_j|, S_j = (1/N) sum_{p_i <= p_j} (y_i - p_i)"},
		{1, 0, "hosmer_lemeshow", "positive class; sum_g (O_g - E_g)^2 / (n_g p_g (1 - p_g)), O_g = sum y, E_g = sum p = n_g p_g; 10 groups of equal mass: " +
			"group j ends with all rows of the score of rank floor((N-1)*j/10), from 0"},
		{3, 0, "hosmer_lemeshow_p(groups=5,even,fitted)", "top label; P(chi-squared of G - 2 degrees of freedom >= hosmer_lemeshow), G groups that count; 5 groups of equal width, left-closed, the last closed"},
		{1, 0, "ici", "positive class; mean |p - c(p)|, c the isotonic regression of y on p, equal scores pooled"},
		{3, 0, "e90(smoother=loess,span=0.7)", "top label; 90% quantile of |p - c(p)|, c the lowess of y on p, span 0.7, delta 0.001, no robustness iterations; interpolated between rows"},
		{2, 0, "kuiper(event=top)", "top label; max_j S_j - min_j S_j, S_0 = 0 among them"},
		{3, 0, "calibration_intercept(unit_slope)", "top label; a of the logistic regression logit P(y=1) = a + logit p"},
		{2, 0, "corp_mcb(score=log)", "positive class; S - S_C, S = mean -ln of what was given to what happened, S_C of the scores recalibrated by isotonic regression"},
		{2, 0, "corp_mcb_floor(score=log)", "positive class; mean S - S_C where outcomes are drawn by the scores, S = mean -ln of what was given to what happened"},
		{2, 0, "corp_dsc(score=log)", "positive class; S_R - S_C, S_R the entropy of the base rate, S_C = mean -ln of what recalibrated scores give to what happened"},
		{2, 0, "corp_unc(score=log)", "positive class; S_R, the entropy of the base rate"},
		{1, 0, "auroc", "sum_g w+_g (W-_<g + w-_g/2) / (W+ W-) over cells g of equal probability"},
		{1, 0, "auroc(summation=majoring,thresholds=200)", "area under (FPR, TPR) at even thresholds, scores above them positive; thresholds=200; summation=majoring"},
		{1, 0, "auprc(area=trapezoid)", "area under (recall, precision) by trapezoids, at the ends of cells g of equal probability"},
		{1, 0, "auprc(area=average_precision)", "average precision: sum_g (dTP_g/TP) TP_g/(TP_g + FP_g), at the ends of cells g of equal probability"},
		{1, 0, "eaurc(replicates=20)", "aurc - [E - (N-E) (H(N) - H(N-E))]/N, E errors, H the harmonic numbers"},
		{3, 0, "oracle_accuracy", "(floor(f N) + right rows among the others)/N, f the fraction, least confident first, ties in random order; fraction=0.01"},
		{3, 0, "abstain_recall(most=7,fraction=0.5)", "errors among the floor(f N) rows / errors, f the fraction, least confident first, ties in random order; fraction=0.5; most=7"},
		{3, 0, "retention_accuracy(oracle,trapezoid)", "(1/(N+1)) sum_k (right among the k most confident + N - k)/N; trapezoid"},
		{3, 0, "retention_nll(trapezoid=false)", "(1/(N+1)) sum_k sum of NLL of the k most confident / k"},
		{2, 0, "brier_resolution(bins=5)", "mean |D_g - q|^2, D_g frequencies in the row's group g; groups are 5 equal-width bins of p(y = 1); uncertainty - resolution + reliability + within_bin = brier, mean sum_k (p_k - [y = k])^2"},
		{1, 0, "brier_uncertainty(bins=5)", "q (1 - q), q the base rate of class 1; groups are 5 equal-width bins of p(y = 1); uncertainty - resolution + reliability + within_bin = brier, mean (p - y)^2"},
		{1, score.BrierMinusOne, "brier_uncertainty(as_coded=um)", "1 - sum_j q_j^2, q the base rates, as uncertainty_metrics has it; groups are rows of one predicted class; uncertainty - resolution + reliability + within_bin = brier, mean sum_k (p_k - [y = k])^2 - 1"},
		{2, 0, "brier_resolution(by=class)", "mean |D_g - q|^2, D_g frequencies in the row's group g; groups are rows of one predicted class; uncertainty - resolution + reliability + within_bin = brier, mean sum_k (p_k - [y = k])^2"},
		{9, 0, "ece(bins=4)", "top label; 4 equal-width bins; left-closed; the last bin closed; p = 0 counted; edges i*(1/B); (1/N) sum_bins |sum (p - y)|"},
	} {
		m := list(t, c.metric, c.classes)
		e := fill(t, Spec{Classes: c.classes, Metrics: m, Brier: c.brier}, nil)
		if got := e.Text(m[0]); got != c.want {
			t.Errorf("%s: %q, want %q", c.metric, got, c.want)
		}
	}
}

// FuzzEvaluationUnmarshal looks for bytes that make reading a state fail in another way than with an error, or that are
// read and written differently. Data that are no state have their checksum put right, or nearly all would end there.
func FuzzEvaluationUnmarshal(f *testing.F) {
	for i, s := range specs(f) {
		if i%3 == 0 {
			s.Base.Bins = min(s.Base.Bins, 3)
			f.Add(state(f, fill(f, s, predictions(uint64(i), 5, s.Classes, i%2 == 0))))
		}
	}
	for _, c := range unlike(f) {
		f.Add(state(f, c.e))
	}
	f.Add([]byte{})
	f.Add([]byte(stateMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		try := func(b []byte) {
			e := new(Evaluation)
			if err := e.UnmarshalBinary(b); err != nil {
				return
			}
			again, err := e.AppendBinary(nil)
			if err != nil || !bytes.Equal(again, b) {
				t.Fatalf("read, and written differently: %v", err)
			}
			for _, m := range e.Spec.Metrics {
				if !Describe(m.Name).random { // these take long, of what the others look at too
					e.Value(m)
				}
				e.Fields(m)
				_ = e.Text(m)
			}
			if e.Spec.Shape().HasClasses() {
				e.Diagram().Bins(e.Spec.Level)
			}
		}
		try(b)
		try(check.Reseal(b))
	})
}

// Scores outside [0,1], which unchecked predictions have, are in no cell: an answer over the other rows would be wrong, so there is none.
func TestOutside(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 0, 0, 0}}
	p.Rows, p.Classes, p.F64 = 5, 1, []float64{-0.2, 1.3, 0.4, 0.6, 0.7}
	list, err := ParseMetrics("all,ece(bins=7),ece(zero=own),brier_resolution(by=class),retention_nll(oracle),auroc(thresholds=9)", Shape{Classes: 1})
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Spec{Classes: 1, Metrics: list})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.AddSource(&source{p: p}, &metrics.Options{Unchecked: true}); err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		v, d := e.Value(m), Describe(m.Name)
		// By cells or entries, but not by bins of all rows or by predicted class.
		kept := d.event != nil && len(m.args) == 0 || m.Name == "ace" || m.Name == "tace" || d.ofTwo && m.String() != "brier_resolution(by=class)" || m.Name == "retention_nll" || m.Name == "e_calibration"
		if says := strings.Contains(v.Reason, "outside [0,1]"); says != kept || math.IsNaN(v.Value) != kept || v.Bound != 0 {
			t.Errorf("%v: %v, %q", m, v.Value, v.Reason)
		}
	}
}

// The posterior of ECE has the mean score of each bin within it, which need not be so of bins by other scores than the mean's.
func TestPosteriorNeedsOwnScores(t *testing.T) {
	p := predictions(32, 200, 3, false)
	p.ConfidenceScores = make([]float64, 200)
	e := fill(t, Spec{Classes: 3, Metrics: list(t, "ece,ece_bayes_mean,ece_bayes_q90(as_coded,bins=10)", 3), Scored: true}, p)
	for i, m := range e.Spec.Metrics {
		v := e.Value(m)
		if math.IsNaN(v.Value) != (i > 0) || i > 0 && !strings.Contains(v.Reason, "the caller's confidence scores") {
			t.Errorf("%v: %v, %q", m, v.Value, v.Reason)
		}
	}
}

// What a posterior has no option for is told with those that it has.
func TestPosteriorOptions(t *testing.T) {
	for metric, want := range map[string]string{
		"ece_bayes_mean(event=positive)": `there is no option "event"; there are bins=N, `, "ece_bayes_q10(folds=3)": "as_coded, draws=10000",
		"ece_bayes_q50(adaptive)": "not for adaptive ones", "ece_bayes_q90(norm=l2)": "its name says the norm",
	} {
		if _, err := ParseMetrics(metric, Shape{Classes: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", metric, err, want)
		}
	}
	list(t, "ece_bayes_mean(bins=9,closed=left,one=overflow,zero=first,index=floor,blog_edges=false,as_coded,draws=109)", 1)
}

// Draws of a posterior are bounded: by memory, and with bins by time.
func TestDraws(t *testing.T) {
	if _, err := ParseMetrics("ece_bayes_mean(draws=1000001)", Shape{Classes: 1}); err == nil || !strings.Contains(err.Error(), "from 100 to 1000000") {
		t.Errorf("%v", err)
	}
	for bins, ok := range map[int]bool{134: true, 135: false} {
		_, err := New(Spec{Classes: 1, Metrics: list(t, fmt.Sprintf("ece_bayes_mean(bins=%d,draws=1000000)", bins), 1)})
		if ok != (err == nil) || !ok && !strings.Contains(err.Error(), "take fewer") {
			t.Errorf("%d bins: %v", bins, err)
		}
	}
}

// What a spec does not say that rows have is not answered without.
func TestUnsaid(t *testing.T) {
	p := predictions(31, 40, 1, false)
	decided, scored := *p, *p
	decided.Decisions, scored.ConfidenceScores = make([]int32, 40), make([]float64, 40)
	for want, q := range map[string]*metrics.Predictions{"rows with decisions": &decided, "rows with confidence scores": &scored} {
		e := fill(t, Spec{Classes: 1, Metrics: list(t, "default", 1)}, nil)
		if err := e.AddSource(&source{p: q}, nil); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %q", err, want)
		}
		said := fill(t, Spec{Classes: 1, Metrics: list(t, "default", 1), Decided: q == &decided, Scored: q == &scored}, q)
		if said.Loss.Len() != 40 {
			t.Errorf("%s: %d rows", want, said.Loss.Len())
		}
	}
}
