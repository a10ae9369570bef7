package eval

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
)

// Options of metrics over ordered scores.
var (
	byEvent  = choices{ofEvent}
	corpOwn  = choices{ofEvent, {name: "score", words: []string{"squared", "log", "spherical"}}, {name: "replicates", whole: true, least: 20, most: 100000, unsaid: 200}}
	groupOwn = choices{ofEvent, {name: "groups", whole: true, least: 1, most: 1000, unsaid: calib.DefaultGroups}, {name: "even"}}
	iciOwn   = choices{ofEvent, {name: "smoother", words: []string{"rising", "loess"}},
		{name: "span", least: 0.001, most: 1, unsaid: binfree.DefaultSpan}, {name: "delta", most: 1, unsaid: binfree.DefaultDelta}}
	hosmerOwn = append(groupOwn[:len(groupOwn):len(groupOwn)], choice{name: "fitted"})
	coxOwn    = choices{ofEvent, {name: "unit_slope"}}
	beltOwn   = choices{ofEvent, {name: "fitted"}, {name: "degree", whole: true, least: 1, most: 4, unsaid: 4}}
	kernelOwn = choices{ofEvent, {name: "bandwidth", least: 0.001, most: 100, unsaid: binfree.DefaultBandwidth}}
	tcalOwn   = choices{ofEvent, {name: "bins", whole: true, most: 1 << 20}}
	bayesOwn  = choices{{name: "as_coded"}, {name: "draws", whole: true, least: 100, most: 1000000, unsaid: calib.DefaultDraws}}
	semiOwn   = choices{
		ofEvent,
		{name: "smoothing", words: []string{"kernel", "spline"}},
		{name: "weights", words: []string{"constant", "relative", "chi"}},
		{name: "folds", whole: true, least: 2, most: 100, unsaid: 5},
		{name: "truncation", least: 1e-9, most: 1, unsaid: 0.05},
		{name: "orthogonal"}, {name: "normalize"}, {name: "as_coded"},
	}
)

// plainEvent is the event of metrics that judge a probability, whatever the shape of the predictions: class 1 of two, the
// top label of more.
func plainEvent(_ calib.Options, classes int) calib.Event {
	if classes <= 2 {
		return calib.Positive
	}
	return calib.TopLabel
}

// event returns the event of a metric over ordered scores, whose options have been checked.
func (e *Evaluation) event(m Metric) calib.Event { return e.binning(m).Event }

// Keys for remember: the intermediate results of such metrics are stored by event, under a type for each kind.
type (
	sumsOf    calib.Event
	spiegelOf calib.Event
	smoothOf  calib.Event
	coxOf     struct {
		calib.Event
		binfree.CoxOptions
	}
	beltOf struct {
		calib.Event
		binfree.BeltOptions
	}
	kernelOf struct {
		calib.Event
		binfree.SKCEOptions
	}
	tcalOf struct {
		calib.Event
		binfree.TCalOptions
	}
	hosmerOf struct {
		calib.Event
		calib.HosmerLemeshowOptions
	}
	iciOf struct {
		calib.Event
		binfree.ICIOptions
	}
	corpOf struct {
		calib.Event
		binfree.CORPOptions
	}
	corpInterval struct {
		corpOf
		replicates int
	}
	bayesOf struct {
		binning
		calib.BayesianOptions
	}
	semiOf string // name of the metric
)

func (e *Evaluation) sums(m Metric) *binfree.PartialSums {
	event := e.event(m)
	return remember(e, sumsOf(event), func() *binfree.PartialSums { return binfree.PartialSumsOf(e.rising(event)) })
}

func (e *Evaluation) spiegelhalter(m Metric) binfree.Spiegelhalter {
	event := e.event(m)
	return remember(e, spiegelOf(event), func() binfree.Spiegelhalter { return binfree.SpiegelhalterOf(e.rising(event)) })
}

func (e *Evaluation) smooth(m Metric) *binfree.Smooth {
	event := e.event(m)
	return remember(e, smoothOf(event), func() *binfree.Smooth { return binfree.SmoothOf(e.rising(event)) })
}

func (e *Evaluation) cox(m Metric) *binfree.Cox {
	k := coxOf{e.event(m), binfree.CoxOptions{UnitSlope: coxOwn.of(m, "unit_slope") != 0}}
	return remember(e, k, func() *binfree.Cox { return binfree.CoxOf(e.rising(k.Event), &k.CoxOptions) })
}

func (e *Evaluation) belt(m Metric) *binfree.Belt {
	k := beltOf{e.event(m), binfree.BeltOptions{Fitted: beltOwn.of(m, "fitted") != 0, Degree: int(beltOwn.of(m, "degree"))}}
	return remember(e, k, func() *binfree.Belt { return binfree.BeltOf(e.rising(k.Event), &k.BeltOptions) })
}

func (e *Evaluation) kernel(m Metric) *binfree.SKCE {
	k := kernelOf{e.event(m), binfree.SKCEOptions{Bandwidth: kernelOwn.of(m, "bandwidth")}}
	return remember(e, k, func() *binfree.SKCE { return binfree.SKCEOf(e.rising(k.Event), &k.SKCEOptions) })
}

func (e *Evaluation) tcal(m Metric) *binfree.TCal {
	k := tcalOf{e.event(m), binfree.TCalOptions{Bins: int(tcalOwn.of(m, "bins"))}}
	return remember(e, k, func() *binfree.TCal { return binfree.TCalOf(e.rising(k.Event), &k.TCalOptions) })
}

func (e *Evaluation) ici(m Metric) *binfree.ICI {
	k := iciOf{Event: e.event(m)}
	if k.Curve = binfree.Curve(iciOwn.of(m, "smoother")); k.Curve == binfree.LoessCurve {
		k.Span, k.Delta = iciOwn.of(m, "span"), iciOwn.of(m, "delta")
	}
	return remember(e, k, func() *binfree.ICI { return binfree.ICIOf(e.rising(k.Event), &k.ICIOptions) })
}

// hosmer returns the test of Hosmer and Lemeshow. The choice of statistic does not affect the degrees of freedom.
func (e *Evaluation) hosmer(m Metric) calib.HosmerLemeshow {
	k := hosmerOf{e.event(m), calib.HosmerLemeshowOptions{Groups: int(groupOwn.of(m, "groups")), Even: groupOwn.of(m, "even") != 0, Fitted: hosmerOwn.of(m, "fitted") != 0}}
	return remember(e, k, func() calib.HosmerLemeshow { return calib.HosmerLemeshowOf(e.cells(k.Event), &k.HosmerLemeshowOptions) })
}

func (e *Evaluation) corp(m Metric) *binfree.CORP {
	k := corpOf{e.event(m), binfree.CORPOptions{Score: binfree.ProperScore(corpOwn.of(m, "score"))}}
	return remember(e, k, func() *binfree.CORP { return metrics.Must(binfree.CORPOf(e.rising(k.Event), &k.CORPOptions)) })
}

// Fit is the isotonic fit from which the corp_* metrics of the squared score are computed.
type Fit struct {
	*binfree.CORP
	Event      calib.Event // event whose probability the scores state
	Text       string      // the whole definition
	Histogram  []calib.Bin // fifty bins of the scores
	Resampling metrics.Resampling
}

// Fit returns the fit. It is nil if the spec has no such metric, or if there is no fit.
func (e *Evaluation) Fit() *Fit {
	for _, m := range e.Spec.Metrics {
		if strings.HasPrefix(m.Name, "corp_") && !m.exact() && corpOwn.of(m, "score") == 0 && !math.IsNaN(e.Value(m).Value) {
			bins, _ := calib.EvenOf(e.cells(e.event(m)), 50)
			return &Fit{e.corp(m), e.event(m), e.eventText(m) + "; isotonic regression, equal scores pooled", bins.Bins(e.Spec.Level),
				metrics.Resampling{Seed: e.Spec.Seed, Threads: e.Threads}}
		}
	}
	return nil
}

// BeltFit is the calibration belt from which the giviti metrics are computed.
type BeltFit struct {
	*binfree.Belt
	Event     calib.Event // event whose probability the scores state
	Histogram []calib.Bin // fifty bins of the scores
}

// Belt returns the calibration belt of the first giviti metric whose cells are kept. It is nil if the spec has none, or no rows.
func (e *Evaluation) Belt() *BeltFit {
	for _, m := range e.Spec.Metrics {
		if strings.HasPrefix(m.Name, "giviti") && !m.exact() && e.Audit.Rows > 0 {
			bins, _ := calib.EvenOf(e.cells(e.event(m)), 50)
			return &BeltFit{e.belt(m), e.event(m), bins.Bins(e.Spec.Level)}
		}
	}
	return nil
}

func (e *Evaluation) bayesian(m Metric) *calib.Bayesian {
	k := bayesOf{*e.binning(m), calib.BayesianOptions{AsCoded: bayesOwn.of(m, "as_coded") != 0, Draws: int(bayesOwn.of(m, "draws")), Seed: e.Spec.Seed}}
	return remember(e, k, func() *calib.Bayesian {
		return metrics.Must(calib.BayesianOf(e.parted(&k.binning).Partition, &k.BayesianOptions))
	})
}

// inOrder returns the metrics over ordered scores and the posterior of ECE.
func inOrder() []Descriptor {
	d := []Descriptor{
		{
			Name: "smooth_ece", event: plainEvent, own: byEvent, value: smooth,
			Short:   "mean gap, smoothed",
			Meaning: "smooth calibration error: mean gap after smoothing by a width equal to the gap",
			Formula: "the s at which integral |(1/N) sum (y - p) K_s(t, p)| dt = s, K_s the normal kernel of width s reflected at 0 and 1",
			Range:   "[0, 1]", Better: Lower, Source: "Blasiok and Nakkiran 2023",
		},
		{
			Name: "ks", event: plainEvent, own: byEvent, value: ks,
			Short:   "largest cumulative gap",
			Meaning: "largest cumulative gap up to any score, divided by N: the Kolmogorov-Smirnov distance",
			Formula: "max_j |S_j|, S_j = (1/N) sum_{p_i <= p_j} (y_i - p_i)", Range: "[0, 1]", Better: Lower,
			Source: "Gupta et al. 2021; Arrieta-Ibarra et al. 2022",
		},
		{
			Name: "ks_p", event: plainEvent, own: byEvent, value: ksP,
			Short:   "p-value of ks",
			Meaning: "p-value of calibration by ks: with enough rows it falls to 0 for every real model",
			Formula: "P(max |B| >= ks N / sqrt(sum p(1-p))), B Brownian motion on [0,1]", Range: "[0, 1]", Better: Neither,
			Source: "Arrieta-Ibarra et al. 2022",
		},
		{
			Name: "kuiper", event: plainEvent, own: byEvent, value: kuiper,
			Short:   "largest gap of a range",
			Meaning: "largest cumulative gap over any range of scores, divided by N: Kuiper's distance",
			Formula: "max_j S_j - min_j S_j, S_0 = 0 among them", Range: "[0, 1]", Better: Lower,
			Source: "Arrieta-Ibarra et al. 2022",
		},
		{
			Name: "kuiper_p", event: plainEvent, own: byEvent, value: kuiperP,
			Short:   "p-value of kuiper",
			Meaning: "p-value of calibration by kuiper: with enough rows it falls to 0 for every real model",
			Formula: "P(max B - min B >= kuiper N / sqrt(sum p(1-p))), B Brownian motion on [0,1]", Range: "[0, 1]", Better: Neither,
			Source: "Feller 1951; Arrieta-Ibarra et al. 2022",
		},
		{
			Name: "skce", event: plainEvent, own: kernelOwn, value: skce,
			Short:   "squared kernel gap",
			Meaning: "squared kernel calibration error, unbiased: mean over pairs of rows of the product of their gaps, weighted by how near their scores are",
			Formula: "sum_{i != j} (y_i - p_i)(y_j - p_j) exp(-|p_i - p_j|/h) / (N(N-1))", Range: "[-1, 1]", Better: Zero,
			Source: "Widmann et al. 2019",
		},
		{
			Name: "skce_p", event: plainEvent, own: kernelOwn, value: skceP,
			Short:   "p-value of skce",
			Meaning: "p-value of calibration by skce: with enough rows it falls to 0 for every real model",
			Formula: "P(skce of outcomes drawn by the scores >= skce), by the gamma distribution of its first three moments", Range: "[0, 1]", Better: Neither,
			Source: "Widmann et al. 2019; Pearson 1895",
		},
		{
			Name: "mmce", event: plainEvent, own: kernelOwn, value: mmce,
			Short:   "root of kernel gaps",
			Meaning: "maximum mean calibration error: root of the mean over all pairs of rows, each row with itself too, of the product of their gaps, weighted by how near their scores are",
			Formula: "sqrt(sum_ij (y_i - p_i)(y_j - p_j) exp(-|p_i - p_j|/h) / N^2)", Range: "[0, 1]", Better: Lower,
			Source: "Kumar et al. 2018",
		},
		{
			Name: "tcal", event: plainEvent, own: tcalOwn, value: tcal,
			Short:   "debiased squared gaps",
			Meaning: "statistic of T-Cal: squared gaps of bins of equal width, less the terms of single rows, so that calibrated scores have 0 on average",
			Formula: "T_m = (1/N) sum_b ((sum e)^2 - sum e^2) / n_b, e = y - p, over m bins of equal width, m = tcal_bins", Range: "[-1, 1]", Better: Zero,
			Source: "Lee et al. 2023",
		},
		{
			Name: "tcal_bins", event: plainEvent, own: tcalOwn, value: tcalBins,
			Short:   "of that statistic",
			Meaning: "number of bins with the strongest evidence against calibration: of 2, 4, 8 and so on, the one with the smallest p-value",
			Formula: "arg min_m P_m, m = 2, 4, 8, ... up to the first m >= N^2 / ln N", Range: "[1, +Inf]", Better: Neither,
			Source: "Lee et al. 2023",
		},
		{
			Name: "tcal_p", event: plainEvent, own: tcalOwn, value: tcalP,
			Short:   "p-value of tcal",
			Meaning: "p-value of calibration by tcal, which allows for the choice of the bins: with enough rows it falls to 0 for every real model",
			Formula: "min(1, B min_m P_m), P_m = P(T_m of outcomes drawn by the scores >= T_m), by the gamma distribution of its first three moments; B numbers of bins that part the rows differently", Range: "[0, 1]", Better: Neither,
			Source: "Lee et al. 2023; Pearson 1895",
		},
		{
			Name: "spiegelhalter_z", event: plainEvent, own: byEvent, value: spiegelhalterZ,
			Short:   "surplus brier, in sd",
			Meaning: "Spiegelhalter's Z: Brier score minus its expected value if the scores are right, in standard deviations",
			Formula: "sum (y-p)(1-2p) / sqrt(sum (1-2p)^2 p(1-p))", Range: "[-Inf, +Inf]", Better: Zero, Source: "Spiegelhalter 1986",
		},
		{
			Name: "spiegelhalter_p", event: plainEvent, own: byEvent, value: spiegelhalterP,
			Short:   "p-value of Spiegelhalter",
			Meaning: "two-sided p-value of Spiegelhalter's Z: with enough rows it falls to 0 for most real models",
			Formula: "P(|normal| >= |Z|)", Range: "[0, 1]", Better: Neither, Source: "Spiegelhalter 1986",
		},
		{
			Name: "hosmer_lemeshow", event: plainEvent, own: groupOwn, value: hosmerLemeshow,
			Short:   "chi^2 of risk groups",
			Meaning: "Hosmer-Lemeshow statistic: squared gaps of groups of similar risk, each divided by its variance",
			Formula: "sum_g (O_g - E_g)^2 / (n_g p_g (1 - p_g)), O_g = sum y, E_g = sum p = n_g p_g", Range: "[0, +Inf]", Better: Lower,
			Source: "Hosmer and Lemeshow 1980",
		},
		{
			Name: "hosmer_lemeshow_p", event: plainEvent, own: hosmerOwn, value: hosmerLemeshowP,
			Short:   "p-value by risk groups",
			Meaning: "p-value of hosmer_lemeshow: with enough rows it falls to 0 for every real model",
			Formula: "P(chi-squared of G degrees of freedom >= hosmer_lemeshow), G groups that count; fitted: of G - 2", Range: "[0, 1]", Better: Neither,
			Source: "Hosmer and Lemeshow 1980",
		},
		{
			Name: "giviti", event: plainEvent, own: beltOwn, check: beltOK, value: giviti((*binfree.Belt).Statistic),
			Short:   "polynomial vs scores",
			Meaning: "statistic of the GiViTI calibration test: twice the gain in log-likelihood of a polynomial of the logits over the scores",
			Formula: "2 (l(b) - l(p)), l the log-likelihood, b of logit P(y=1) = sum_{k <= m} b_k (logit p)^k", Range: "[0, +Inf]", Better: Lower,
			Source: "Finazzi et al. 2011; Nattino et al. 2014",
		},
		{
			Name: "giviti_degree", event: plainEvent, own: beltOwn, check: beltOK, value: givitiDegree,
			Short:   "of that polynomial",
			Meaning: "degree m of the polynomial of giviti: raised from 1 as long as one more coefficient is significant at 5%",
			Formula: "the first m, from 1 (fitted: 2), with 2 (l_{m+1} - l_m) < 3.84, at most 4", Range: "[1, 4]", Better: Neither,
			Source: "Finazzi et al. 2011; Nattino et al. 2014",
		},
		{
			Name: "giviti_p", event: plainEvent, own: beltOwn, check: beltOK, value: giviti((*binfree.Belt).P),
			Short:   "p-value of giviti",
			Meaning: "p-value of calibration by giviti, which allows for the choice of the degree: with enough rows it falls to 0 for every real model",
			Formula: "P(C + sum_{j < m} X_j >= giviti), C chi-squared of 2 degrees (fitted: 1, and m - 2 terms), X_j of 1, given X_j > 3.84", Range: "[0, 1]", Better: Neither,
			Source: "Nattino et al. 2014; Nattino et al. 2016",
		},
		{
			Name: "ici", event: plainEvent, own: iciOwn, check: iciOK, value: ici((*binfree.ICI).Mean),
			Short:   "mean gap to a fit",
			Meaning: "integrated calibration index: mean distance of scores from a smooth fit of frequencies",
			Formula: "mean |p - c(p)|", Range: "[0, 1]; loess [0, +Inf]", Better: Lower, Source: "Austin and Steyerberg 2019",
		},
		{
			Name: "e50", event: plainEvent, own: iciOwn, check: iciOK, value: ici(percentile(50)),
			Short:   "median gap to a fit",
			Meaning: "median distance of scores from a smooth fit of frequencies, over the rows",
			Formula: "50% quantile of |p - c(p)|", Range: "[0, 1]; loess [0, +Inf]", Better: Lower, Source: "Austin and Steyerberg 2019",
		},
		{
			Name: "e90", event: plainEvent, own: iciOwn, check: iciOK, value: ici(percentile(90)),
			Short:   "90% of gaps to a fit",
			Meaning: "90% quantile of the distance of scores from a smooth fit of frequencies, over the rows",
			Formula: "90% quantile of |p - c(p)|", Range: "[0, 1]; loess [0, +Inf]", Better: Lower, Source: "Austin and Steyerberg 2019",
		},
		{
			Name: "calibration_slope", event: plainEvent, own: byEvent, value: slope,
			Short:   "below 1: too extreme",
			Meaning: "slope of the outcome on the logit of the score: below 1 scores are too extreme",
			Formula: "b of the logistic regression logit P(y=1) = a + b logit p", Range: "[-Inf, +Inf]", Better: Neither,
			Source: "Cox 1958; Miller et al. 1991",
		},
		{
			Name: "calibration_intercept", event: plainEvent, own: coxOwn, value: intercept,
			Short:   "log odds at score 1/2",
			Meaning: "log odds of the event where the score says 1/2; unit_slope: by how much logits are too low",
			Formula: "a of the logistic regression logit P(y=1) = a + b logit p; unit_slope: with b = 1", Range: "[-Inf, +Inf]", Better: Zero,
			Source: "Cox 1958; Miller et al. 1991",
		},
		{
			Name: "corp_mcb", event: plainEvent, own: corpOwn, random: true, value: corp((*binfree.CORP).MCB, func(i *binfree.CORPIntervals) metrics.Interval { return i.MCB }),
			Short:   "loss by miscalibration",
			Meaning: "miscalibration: how much the best monotone recalibration would lower mean (p - y)^2",
			Formula: "S - S_C, S = mean (p - y)^2, S_C of the scores recalibrated by isotonic regression", Range: "[0, 1]; log [0, +Inf]", Better: Lower,
			Source: "Dimitriadis, Gneiting and Jordan 2021",
		},
		{
			Name: "corp_mcb_floor", event: plainEvent, own: corpOwn, random: true, value: corpFloor,
			Short:   "mean mcb by chance",
			Meaning: "the corp_mcb that perfect calibration would show on average with these scores",
			Formula: "mean S - S_C where outcomes are drawn by the scores", Range: "[0, 1]; log [0, +Inf]", Better: Neither,
			Source: "candor",
		},
		{
			Name: "corp_dsc", event: plainEvent, own: corpOwn, random: true, value: corp((*binfree.CORP).DSC, func(i *binfree.CORPIntervals) metrics.Interval { return i.DSC }),
			Short:   "gain by discrimination",
			Meaning: "discrimination: how much lower mean (p - y)^2 of the recalibrated scores is than that of the base rate",
			Formula: "S_R - S_C, S_R of the base rate", Range: "[0, 1/4]; log [0, ln 2]", Better: Higher,
			Source: "Dimitriadis, Gneiting and Jordan 2021",
		},
		{
			Name: "corp_unc", event: plainEvent, own: corpOwn, random: true, value: corp((*binfree.CORP).UNC, func(i *binfree.CORPIntervals) metrics.Interval { return i.UNC }),
			Short:   "loss of the base rate",
			Meaning: "uncertainty: mean (p - y)^2 of the base rate; mean (p - y)^2 = mcb - dsc + unc",
			Formula: "S_R = mean (ybar - y)^2", Range: "[0, 1/4]; log [0, ln 2]", Better: Neither,
			Source: "Dimitriadis, Gneiting and Jordan 2021",
		},
		{
			Name: "spce", Named: true, check: semiOK, event: plainEvent, own: semiOwn, random: true, value: semiparametric,
			Short:   "rms gap without bins",
			Meaning: "semiparametric root-mean-square calibration error, by cross-fitted frequencies",
			Formula: "sqrt(max(0, mean w (p-y)(p-c))), c the frequency at p fitted to the other folds", Range: "[0, 1]; weights [0, +Inf]", Better: Lower,
			Source: "google/uncertainty_metrics",
		},
	}
	for i := range d {
		d[i].applies, d[i].uncut, d[i].text = always, true, orderText
		d[i].Options = d[i].own.String()
		if d[i].check == nil {
			d[i].check = d[i].own.check
		}
	}
	for _, q := range []struct {
		name, short, meaning string
		value                func(*calib.Bayesian) float64
	}{
		{"mean", "posterior mean of ece", "posterior mean of ece: too high near calibration, where it is about sqrt(2) ece_floor", (*calib.Bayesian).Mean},
		{"q10", "90% sure ece is above", "10% quantile of the posterior of ece", quantile(0.1)},
		{"q50", "posterior median of ece", "median of the posterior of ece", quantile(0.5)},
		{"q90", "90% sure ece is below", "90% quantile of the posterior of ece", quantile(0.9)},
	} {
		d = append(d, Descriptor{
			Name: "ece_bayes_" + q.name, applies: always, event: byShape, own: bayesOwn, random: true, check: bayesOK,
			Short: q.short, Meaning: q.meaning, Options: fixedOptions + ", " + bayesOwn.String(),
			Formula: "sum_bins |q_1b - mu_b (q_0b + q_1b)|, q ~ Dirichlet(1/(2B) + counts), mu_b ~ Normal((c_b + sum p)/(n_b+1), w^2/(12(n_b+1))) cut to the bin",
			Range:   "[0, 1]", Better: Lower, Source: "google/uncertainty_metrics", text: bayesText,
			value: func(e *Evaluation, m Metric) Value {
				if e.Spec.Scored {
					return none(math.NaN(), 0, "", "its prior has the mean score of a bin within the bin, and bins are of the caller's confidence scores")
				}
				b := e.bayesian(m)
				v := Value{Value: q.value(b), Interval: metrics.NoInterval(), Reason: "its own spread is in ece_bayes_q10 to ece_bayes_q90"}
				if b.Reason() != "" {
					v.Reason = b.Reason()
				}
				_, bound := e.partition(m)
				v.Bound = unknown(bound)
				return v
			},
		})
	}
	return append(d, Descriptor{
		Name: "e_calibration", applies: always, check: noOptions, keeps: ofBets,
		Short:   "bet payoff: 20 rejects",
		Meaning: "e-value against calibration: what bets against the scores return per unit staked; 20 or more rejects calibration at 5%, however often it is looked at",
		Formula: betsFormula, Range: "[0, +Inf]", Better: Neither,
		Source: "Ville 1939; Shafer 2021; Waudby-Smith and Ramdas 2024",
		value: func(e *Evaluation, m Metric) Value {
			a := statisticOf[*binfree.EProcess](e, rows, ofBets(&e.Spec, m)[0].key)
			v := none(a.Value(), 0, "evidence, not an estimate: calibrated scores have a mean of 1", a.Reason())
			if math.IsInf(v.Value, 0) || v.Value == 0 {
				v.Note = fmt.Sprintf("e_calibration is beyond the range of float64: its base-10 logarithm is %.6g", a.Log()/math.Ln10)
			}
			return v
		},
		text: func(e *Evaluation, _ Metric) string {
			what := "the true class is 1"
			if e.Spec.betOn() == calib.TopLabel {
				what = "the top label is right"
				if e.Audit.Decided {
					what = "the caller's decision is right"
				}
			}
			formula, look := betsFormula, "after any row"
			if e.Spec.Cluster != "" {
				formula = "(1/16) sum over lambda = +-2^-1, ..., +-2^-8 of exp sum_g ln(1 + lambda m_g), m_g the mean of y_i - p_i in cluster g"
				look = "whenever the clusters so far are complete"
			}
			return formula + ", y whether " + what + "; for rows that come once, in an order that outcomes did not choose; may be looked at " + look + "; " +
				"20 or more rejects at 5% (Ville's inequality)"
		},
	})
}

const betsFormula = "(1/16) sum over lambda = +-2^-1, ..., +-2^-8 of exp sum_i ln(1 + lambda (y_i - p_i))"

// betOn returns the event that e_calibration bets on.
func (s *Spec) betOn() calib.Event {
	if s.Choices != NoChoices {
		return calib.TopLabel
	}
	return plainEvent(s.Base, s.Classes)
}

// ofBets returns the accumulator of e_calibration.
func ofBets(s *Spec, _ Metric) []statistic {
	event := s.betOn()
	return []statistic{{fmt.Sprintf("bets on event %d", event), rows, func() any { return binfree.NewEProcess(event) }}}
}

func quantile(q float64) func(*calib.Bayesian) float64 {
	return func(b *calib.Bayesian) float64 { return b.Quantile(q) }
}

// bayesText describes the bins and the posterior.
func bayesText(e *Evaluation, m Metric) string {
	t := e.text(e.binning(m)) + "; " + Describe(m.Name).Formula
	if bayesOwn.of(m, "as_coded") != 0 {
		t = e.text(e.binning(m)) + "; sum_bins q_1b/sum q_1 |q_1b/(q_0b + q_1b) - mu_b|, q ~ Dirichlet(1/B + counts), " +
			"mu_b ~ Normal((c_b + sum p)/(n_b+1), w/(12(n_b+1))) cut to the bin"
	}
	return fmt.Sprintf("%s; %d draws", t, int(bayesOwn.of(m, "draws")))
}

// mostDraws limits bins times draws; the limit takes one or two minutes. A separate limit on draws keeps memory below 16 MB.
const mostDraws = 1 << 27

// bayesOK checks the options of the bins, which have fixed edges, and those of the posterior.
func bayesOK(m Metric) error {
	for _, a := range m.args {
		if i := bayesOwn.index(a.name); i >= 0 {
			if _, err := bayesOwn[i].read(a.value); err != nil {
				return err
			}
		} else if n := a.name; !strings.Contains(" "+fixedOptions+",", " "+n+"=") && !strings.Contains(" "+fixedOptions+",", " "+n+",") &&
			n != "adaptive" && n != "norm" { // evenOnly says more about these
			return fmt.Errorf("there is no option %q; there are %s, %s", n, fixedOptions, bayesOwn)
		}
	}
	return evenOnly(bayesOwn.without(m))
}

// none returns a Value without interval. The reason is why, or for NaN reason if that is not empty.
func none(v, bound float64, why, reason string) Value {
	if reason != "" && math.IsNaN(v) {
		why = reason
	}
	return Value{Value: v, Interval: metrics.NoInterval(), Bound: bound, Reason: why}
}

func smooth(e *Evaluation, m Metric) Value {
	v, bound := e.smooth(m).ECE()
	return none(v, bound, noSound, "")
}

func ks(e *Evaluation, m Metric) Value {
	v, bound := e.sums(m).KS()
	return none(v, bound, "no interval; ks_p is its p-value", "")
}

func kuiper(e *Evaluation, m Metric) Value {
	v, bound := e.sums(m).Kuiper()
	return none(v, bound, "no interval; kuiper_p is its p-value", "")
}

const pValue = "a p-value, not an estimate"

func ksP(e *Evaluation, m Metric) Value {
	s := e.sums(m)
	return none(s.KSP(), s.KSPBound(), pValue, s.Reason())
}

func kuiperP(e *Evaluation, m Metric) Value {
	s := e.sums(m)
	return none(s.KuiperP(), s.KuiperPBound(), pValue, s.Reason())
}

const unbiased = "variance of the mean over pairs, as a line of the error; rows taken as independent"

func skce(e *Evaluation, m Metric) Value {
	k := e.kernel(m)
	v, bound := k.Value()
	return Value{Value: v, Bound: bound, Interval: k.Interval(e.Spec.Level), Method: unbiased, Reason: k.Reason()}
}

func skceP(e *Evaluation, m Metric) Value {
	k := e.kernel(m)
	v, bound := k.P()
	return none(v, bound, pValue, k.Reason())
}

func mmce(e *Evaluation, m Metric) Value {
	v, bound := e.kernel(m).MMCE()
	return none(v, bound, "no interval; that of skce is of its square without the pairs of rows with themselves", "")
}

func tcal(e *Evaluation, m Metric) Value {
	t := e.tcal(m)
	v, bound := t.Value()
	why := "chosen by tests, not an estimate; calibration_error_squared is one"
	if tcalOwn.of(m, "bins") != 0 {
		why = "a test's statistic, whose p-value is tcal_p; calibration_error_squared has an interval"
	}
	return none(v, bound, why, t.Reason())
}

func tcalBins(e *Evaluation, m Metric) Value {
	t := e.tcal(m)
	if t.Reason() != "" {
		return none(math.NaN(), math.NaN(), "", t.Reason())
	}
	_, bound := t.P()
	return none(float64(t.Bins()), bound, "chosen by tests, not an estimate", "")
}

func tcalP(e *Evaluation, m Metric) Value {
	t := e.tcal(m)
	v, bound := t.P()
	return none(v, bound, pValue, t.Reason())
}

func spiegelhalterZ(e *Evaluation, m Metric) Value {
	s := e.spiegelhalter(m)
	return none(s.Z, s.Bound, "a test's statistic, whose p-value is spiegelhalter_p", s.Reason)
}

func spiegelhalterP(e *Evaluation, m Metric) Value {
	s := e.spiegelhalter(m)
	return none(s.P, s.PBound, pValue, s.Reason)
}

func hosmerLemeshow(e *Evaluation, m Metric) Value {
	h := e.hosmer(m)
	return none(h.Statistic, h.Bound, "a test's statistic, whose p-value is hosmer_lemeshow_p", h.Reason)
}

func hosmerLemeshowP(e *Evaluation, m Metric) Value {
	h := e.hosmer(m)
	switch {
	case h.Reason != "" || h.Degrees > 0:
	case h.Groups == 0:
		h.Reason = "no group has a variance: all scores are 0 or 1, and right"
	default:
		h.Reason = fmt.Sprintf("no degrees of freedom are left: %d of groups, less 2 of the fit", h.Groups)
	}
	v := none(h.P, h.Bound, pValue, h.Reason)
	if h.Few > 0 && !math.IsNaN(h.P) {
		v.Note = fmt.Sprintf("fewer than 5 events, or than 5 rows without, are expected in %d of %d groups: the chi-squared distribution is only approximate there", h.Few, h.Groups)
	}
	return v
}

// giviti returns the answer of the calibration belt for its statistic or its p-value.
func giviti(answer func(*binfree.Belt) (value, bound float64)) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		b := e.belt(m)
		v, bound := answer(b)
		why := pValue
		if m.Name == "giviti" {
			why = "a test's statistic, whose p-value is giviti_p"
		}
		r := none(v, bound, why, b.Reason())
		if n := b.LeftOut(); n > 0 && !math.IsNaN(v) {
			r.Note = leftOutOfFit(n)
		}
		return r
	}
}

func givitiDegree(e *Evaluation, m Metric) Value {
	b := e.belt(m)
	if b.Reason() != "" {
		return none(math.NaN(), math.NaN(), "", b.Reason())
	}
	_, bound := b.Statistic()
	return none(float64(b.Degree()), bound, "chosen by tests, not an estimate", "")
}

// beltOK checks the options of the calibration belt: a fitted model has no first degree.
func beltOK(m Metric) error {
	if err := beltOwn.check(m); err != nil {
		return err
	}
	if beltOwn.of(m, "fitted") != 0 && beltOwn.of(m, "degree") < 2 {
		return errors.New("with fitted, degree is 2, 3 or 4")
	}
	return nil
}

// ici returns the answer for the calibration index or for a quantile.
func ici(answer func(*binfree.ICI) (value, bound float64)) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		c := e.ici(m)
		v, bound := answer(c)
		return none(v, bound, noSound, c.Reason())
	}
}

func percentile(percent int) func(*binfree.ICI) (value, bound float64) {
	return func(c *binfree.ICI) (value, bound float64) { return c.Quantile(percent) }
}

// iciOK checks the options of ici; two of them do not apply to the isotonic fit.
func iciOK(m Metric) error {
	if err := iciOwn.check(m); err != nil {
		return err
	}
	for _, a := range m.args {
		if (a.name == "span" || a.name == "delta") && iciOwn.of(m, "smoother") == 0 {
			return fmt.Errorf("%s is for smoother=loess; give that too", a.name)
		}
	}
	return nil
}

const wald = "Wald's, of the information matrix; rows taken as independent"

// coefficient returns the Value of a coefficient of the Cox fit, with a note on rows left out.
func coefficient(c *binfree.Cox, v, bound float64, i metrics.Interval) Value {
	r := Value{Value: v, Bound: bound, Interval: i, Method: wald, Reason: c.IntervalReason()}
	if n := c.LeftOut(); n > 0 && !math.IsNaN(v) {
		r.Note = leftOutOfFit(n)
	}
	return r
}

func leftOutOfFit(rows int64) string {
	return fmt.Sprintf("%s of a score of exactly 0 or 1 left out of the fit: the logit is infinite", rowsText(rows))
}

func rowsText(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

func slope(e *Evaluation, m Metric) Value {
	c := e.cox(Metric{Name: "calibration_intercept", args: m.args})
	v, bound := c.Slope()
	return coefficient(c, v, bound, c.SlopeInterval(e.Spec.Level))
}

func intercept(e *Evaluation, m Metric) Value {
	c := e.cox(m)
	v, bound := c.Intercept()
	return coefficient(c, v, bound, c.InterceptInterval(e.Spec.Level))
}

// corp returns the answer for a term of the decomposition.
func corp(term func(*binfree.CORP) (value, bound float64), of func(*binfree.CORPIntervals) metrics.Interval) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		c := e.corp(m)
		v, bound := term(c)
		r := Value{Value: v, Bound: bound, Interval: of(e.corpIntervals(m)), Method: corpMethod, Reason: c.IntervalReason()}
		if math.IsInf(v, 0) {
			r.Reason = "scores of 0 or 1 were wrong"
		}
		return r
	}
}

func corpFloor(e *Evaluation, m Metric) Value {
	return none(e.corpIntervals(m).Floor, unknown(boundOf(e.corp(m).MCB())), "a mean under calibration, not an estimate", e.corp(m).IntervalReason())
}

func boundOf(_, bound float64) float64 { return bound }

func (e *Evaluation) corpIntervals(m Metric) *binfree.CORPIntervals {
	k := corpInterval{corpOf{e.event(m), binfree.CORPOptions{Score: binfree.ProperScore(corpOwn.of(m, "score"))}}, int(corpOwn.of(m, "replicates"))}
	return remember(e, k, func() *binfree.CORPIntervals {
		i := e.corp(m).Intervals(e.Spec.Level, &metrics.Resampling{Seed: e.Spec.Seed, Replicates: k.replicates, Threads: e.Threads})
		return &i
	})
}

const corpMethod = "multinomial bootstrap of the cells with the bias taken off; rows taken as independent"

// semiparametric answers spce.
func semiparametric(e *Evaluation, m Metric) Value {
	type answer struct {
		*binfree.Semiparametric
		err error
	}
	a := remember(e, semiOf(m.String()), func() answer {
		o := e.semiOptions(m)
		s, err := binfree.SemiparametricOf(e.rising(e.event(m)), &o)
		return answer{s, err}
	})
	if a.err != nil {
		return none(math.NaN(), 0, "", strings.TrimPrefix(a.err.Error(), "calib: "))
	}
	method := "from the root of the mean square - z*SE to the root of it + z*SE, or to the largest error that is not rejected if that is larger; rows taken as independent"
	if semiOwn.of(m, "as_coded") != 0 {
		method = "normal interval of the squared error; rows taken as independent"
	}
	return Value{Value: a.RMS(), Interval: a.Interval(e.Spec.Level), Bound: a.Bound, Method: method}
}

func (e *Evaluation) semiOptions(m Metric) binfree.SemiparametricOptions {
	on := func(name string) bool { return semiOwn.of(m, name) != 0 }
	return binfree.SemiparametricOptions{
		Folds: int(semiOwn.of(m, "folds")), Truncation: semiOwn.of(m, "truncation"), Weights: binfree.ErrorWeights(semiOwn.of(m, "weights")),
		Smoother: binfree.Smoother(semiOwn.of(m, "smoothing")), Orthogonal: on("orthogonal"), Normalize: on("normalize"), AsCoded: on("as_coded"),
		Seed: e.Spec.Seed, Threads: e.Threads,
	}
}

// orderText describes a metric over ordered scores: the event, the formula, and options that change it.
func orderText(e *Evaluation, m Metric) string {
	d := Describe(m.Name)
	formula := d.Formula
	switch {
	case strings.HasPrefix(m.Name, "giviti"):
		formula = givitiText(m)
	case strings.HasPrefix(m.Name, "tcal"):
		formula = tcalText(m)
	case d.own.index("bandwidth") >= 0:
		formula += "; h = " + plainly(kernelOwn.of(m, "bandwidth"))
	case m.Name == "spce":
		formula = e.semiOptions(m).Text()
	case d.own.index("smoother") >= 0:
		formula += iciText(m)
	case strings.HasPrefix(m.Name, "hosmer_lemeshow"):
		formula = hosmerText(m)
	case m.Name == "calibration_intercept" && coxOwn.of(m, "unit_slope") != 0:
		formula = "a of the logistic regression logit P(y=1) = a + logit p"
	case ofScore(m) == binfree.Logarithmic:
		formula = map[string]string{
			"corp_mcb":       "S - S_C, S = mean -ln of what was given to what happened, S_C of the scores recalibrated by isotonic regression",
			"corp_mcb_floor": "mean S - S_C where outcomes are drawn by the scores, S = mean -ln of what was given to what happened",
			"corp_dsc":       "S_R - S_C, S_R the entropy of the base rate, S_C = mean -ln of what recalibrated scores give to what happened",
			"corp_unc":       "S_R, the entropy of the base rate",
		}[m.Name]
	case ofScore(m) == binfree.Spherical:
		formula = map[string]string{
			"corp_mcb":       "S - S_C, S = mean 1 - p_y/|p|, S_C of the scores recalibrated by isotonic regression",
			"corp_mcb_floor": "mean S - S_C where outcomes are drawn by the scores, S = mean 1 - p_y/|p|",
			"corp_dsc":       "S_R - S_C, S_R the spherical loss of the base rate, S_C = mean 1 - c_y/|c| of recalibrated scores c",
			"corp_unc":       "S_R, the spherical loss of the base rate",
		}[m.Name]
	}
	return e.eventText(m) + "; " + formula
}

// hosmerText describes a metric of the Hosmer-Lemeshow test.
func hosmerText(m Metric) string {
	formula, _, _ := strings.Cut(Describe(m.Name).Formula, "; ")
	if hosmerOwn.of(m, "fitted") != 0 {
		formula = strings.Replace(formula, "of G degrees", "of G - 2 degrees", 1)
	}
	n := plainly(groupOwn.of(m, "groups"))
	if groupOwn.of(m, "even") != 0 {
		return formula + "; " + n + " groups of equal width, left-closed, the last closed"
	}
	return formula + "; " + n + " groups of equal mass: group j ends with all rows of the score of rank floor((N-1)*j/" + n + "), from 0"
}

// givitiText describes a metric of the calibration belt.
func givitiText(m Metric) string {
	formula := Describe(m.Name).Formula
	most := plainly(beltOwn.of(m, "degree"))
	first, law := "1", "C chi-squared of 2 degrees, X_j of 1, given X_j > 3.84"
	if beltOwn.of(m, "fitted") != 0 {
		first, law = "2", "C chi-squared of 1 degree, X_j of 1, given X_j > 3.84"
		formula = strings.Replace(formula, "sum_{j < m}", "sum_{j < m - 1}", 1)
	}
	switch before, _, cut := strings.Cut(formula, ", C chi"); {
	case m.Name == "giviti_degree":
		return "the first m, from " + first + ", with 2 (l_{m+1} - l_m) < 3.84, at most " + most + "; l the log-likelihood of logit P(y=1) = sum_{k <= m} b_k (logit p)^k"
	case cut:
		return before + ", " + law + "; m from " + first + " to at most " + most
	}
	return formula + ", m = giviti_degree from " + first + " to at most " + most
}

// tcalText describes a metric of T-Cal.
func tcalText(m Metric) string {
	formula := Describe(m.Name).Formula
	bins := tcalOwn.of(m, "bins")
	switch n := plainly(bins); {
	case bins == 0:
		return formula
	case m.Name == "tcal_bins":
		return "m = " + n
	case m.Name == "tcal_p":
		return "P(T_m of outcomes drawn by the scores >= T_m), by the gamma distribution of its first three moments, m = " + n
	default:
		return strings.Replace(formula, "m = tcal_bins", "m = "+n, 1)
	}
}

// iciText describes the curve of ici, and the quantiles of the distances from it.
func iciText(m Metric) string {
	t := ", c the isotonic regression of y on p, equal scores pooled"
	if iciOwn.of(m, "smoother") != 0 {
		t = fmt.Sprintf(", c the lowess of y on p, span %s, delta %s, no robustness iterations", plainly(iciOwn.of(m, "span")), plainly(iciOwn.of(m, "delta")))
	}
	if m.Name != "ici" {
		t += "; interpolated between rows"
	}
	return t
}

// ofScore returns the score that a metric decomposes; Squared for other metrics.
func ofScore(m Metric) binfree.ProperScore {
	if !strings.HasPrefix(m.Name, "corp_") {
		return binfree.Squared
	}
	return binfree.ProperScore(corpOwn.of(m, "score"))
}

// semiOK checks the options of spce. It rejects the option that reproduces an error which depends on the order of rows,
// since that is unknown here.
func semiOK(m Metric) error {
	if err := semiOwn.check(m); err != nil {
		return err
	}
	if semiOwn.of(m, "as_coded") != 0 && semiOwn.of(m, "smoothing") != 0 && semiOwn.of(m, "weights") != 0 {
		return errors.New("with as_coded a spline's weights depend on the order of the rows, which no state keeps; leave out as_coded, smoothing=spline or weights")
	}
	return nil
}

// eventText names the event whose scores the metric uses.
func (e *Evaluation) eventText(m Metric) string {
	b := e.binning(m)
	s, _, _ := strings.Cut(b.Options.Text(), ";")
	if e.Audit.Decided && !e.Spec.Correct && b.Event == calib.TopLabel {
		s += "; the caller's decisions"
	}
	return s
}
