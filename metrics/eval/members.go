package eval

import (
	"math"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

var (
	needsMembers   = need{"it is for ensembles (%v)", []any{setting.OfMembers}}
	needsBoth      = need{"it is for ensembles (%v) and for the parameters of Dirichlet distributions (%v)", []any{setting.OfMembers, setting.OfDirichlet}}
	needsDirichlet = need{"it is for the parameters of Dirichlet distributions (%v)", []any{setting.OfDirichlet}}
)

const oneMember = "a single member has nobody to compare with"

func ofMany(s Shape) bool      { return s.HasClasses() && s.Members > 0 }
func ofDirichlet(s Shape) bool { return s.Kind == metrics.Dirichlet }
func ofEither(s Shape) bool    { return ofMany(s) || ofDirichlet(s) }

// Options of metrics over members.
var (
	noOwn      = choices{}
	faultOwn   = choices{{name: "conditional"}}
	unlikeOwn  = choices{{name: "normalised"}}
	klOwn      = choices{{name: "all_pairs"}, {name: "generalized"}, {name: "clip"}}
	distOwn    = choices{{name: "p", least: 1, most: 100, unsaid: 1}}
	uncertain  = statistic{"uncertainty", joint, func() any { return ensemble.NewUncertainty() }}
	parameters = statistic{"knowledge", rows, func() any { return ensemble.NewKnowledge() }}
)

// ofUncertainty returns the accumulator of the uncertainty of an ensemble, or of Dirichlet distributions.
func ofUncertainty(s *Spec, _ Metric) []statistic {
	if s.Members > 0 {
		return []statistic{uncertain}
	}
	return []statistic{parameters}
}

// uncertainty returns the answer for a measure of uncertainty or likelihood.
func uncertainty(m ensemble.Measure) func(e *Evaluation, _ Metric) Value {
	return func(e *Evaluation, _ Metric) Value {
		v := Value{Method: normal}
		if e.Spec.Members == 0 {
			k := statisticOf[*ensemble.Knowledge](e, rows, parameters.key)
			switch m {
			case ensemble.TotalUncertainty:
				v.Value, v.Interval = k.Total(), k.TotalInterval(e.Spec.Level)
			case ensemble.DataUncertainty:
				v.Value, v.Interval = k.Data(), k.DataInterval(e.Spec.Level)
			default:
				v.Value, v.Interval = k.Knowledge(), k.KnowledgeInterval(e.Spec.Level)
			}
			return v
		}
		u := statisticOf[*ensemble.Uncertainty](e, joint, uncertain.key)
		v.Value, v.Interval = u.Value(m), u.Interval(m, e.Spec.Level)
		if n := u.InfiniteRows(m); n > 0 {
			where := " in all members"
			if m == ensemble.GibbsNLL {
				where = " in a member"
			}
			v.Count, v.Reason = n, gaveNothing(n)+where+others(n, e.Audit.Rows, u.Finite(m))
		}
		return v
	}
}

// diverse returns the options of a measure of diversity.
func (l choices) diverse(m Metric) (o ensemble.DiversityOptions) {
	on := func(name string) bool { return l.index(name) >= 0 && l.of(m, name) != 0 }
	o.Conditional, o.AllPairs, o.Generalized = on("conditional"), on("all_pairs"), on("generalized")
	if on("clip") {
		o.Clip = 1e-7
	}
	if l.index("p") >= 0 {
		o.P = l.of(m, "p")
	}
	return o
}

// ofDiversity returns the accumulator of a measure of diversity. Each measure has its own, since their costs differ.
func ofDiversity(of ensemble.Measure) func(s *Spec, m Metric) []statistic {
	return func(_ *Spec, m Metric) []statistic {
		o := Describe(m.Name).own.diverse(m)
		o.Measures = of
		return []statistic{{"diversity " + m.String(), joint, func() any { return metrics.Must(ensemble.NewDiversity(&o)) }}}
	}
}

// diversity returns the answer for a measure of diversity.
func diversity(of ensemble.Measure) func(e *Evaluation, m Metric) Value {
	return func(e *Evaluation, m Metric) Value {
		d := statisticOf[*ensemble.Diversity](e, joint, "diversity "+m.String())
		v := Value{Value: d.Value(of), Interval: d.Interval(of, e.Spec.Level), Method: normal}
		if l := Describe(m.Name).own; l.index("normalised") >= 0 && l.of(m, "normalised") != 0 {
			v.Value, v.Interval = d.DisagreementOver(d.Error()), metrics.NoInterval()
		}
		switch {
		case e.Spec.Members == 1 && of != ensemble.VarianceBound && of != ensemble.BregmanKLVariance:
			v.Value, v.Interval, v.Reason = math.NaN(), metrics.NoInterval(), oneMember
		case math.IsInf(v.Value, 1):
			n, what := d.InfiniteRows(of), "a class that one member holds possible and another does not"
			if of == ensemble.BregmanKLVariance {
				what = "no class that all members hold possible"
			}
			v.Count, v.Reason = n, rowsHave(n)+" "+what+others(n, e.Audit.Rows, d.Finite(of))
		case math.IsNaN(v.Value) && of == ensemble.DoubleFault:
			v.Reason = "a member is never wrong"
		case math.IsNaN(v.Value):
			v.Reason = "scores outside [0,1] have no such divergence"
		case math.IsNaN(v.Interval.Low):
			v.Reason = "no interval is computed"
		}
		return v
	}
}

// inMembers returns the metrics of ensembles and of Dirichlet distributions.
func inMembers() []Descriptor {
	l := []Descriptor{
		{
			Name: "mutual_information", Default: true, needs: needsMembers, applies: ofMany, own: noOwn,
			Short: "disagreement, in nats", Meaning: "mutual information of class and member: how much the members disagree, in nats",
			Formula: "mean (H(mean_m p_m) - mean_m H(p_m))", Range: "[0, ln M]", Better: Neither, Source: "Depeweg et al. 2018",
			value: uncertainty(ensemble.MutualInformation), keeps: ofUncertainty,
		},
		{
			Name: "knowledge_uncertainty", Default: true, needs: needsDirichlet, applies: ofDirichlet, own: noOwn,
			Short: "what it does not know", Meaning: "mutual information of class and distribution: what the model does not know, in nats",
			Formula: "mean (H(a/a0) - sum_k (a_k/a0) (psi(a0+1) - psi(a_k+1))), a0 = sum_k a_k", Range: "[0, ln K]", Better: Neither, Source: "Malinin and Gales 2018",
			value: uncertainty(ensemble.MutualInformation), keeps: ofUncertainty,
		},
		{
			Name: "total_uncertainty", needs: needsBoth, applies: ofEither, own: noOwn,
			Short: "entropy of the mean p", Meaning: "entropy of the mean probabilities, in nats",
			Formula: "mean H(mean_m p_m); of parameters mean H(a/a0)", Range: "[0, ln K]", Better: Neither, Source: "Depeweg et al. 2018; Malinin and Gales 2018",
			value: uncertainty(ensemble.TotalUncertainty), keeps: ofUncertainty,
		},
		{
			Name: "data_uncertainty", needs: needsBoth, applies: ofEither, own: noOwn,
			Short: "mean entropy of members", Meaning: "expected data uncertainty: the mean entropy of the members, or of draws from the distribution, in nats",
			Formula: "mean_i mean_m H(p_m); of parameters mean sum_k (a_k/a0) (psi(a0+1) - psi(a_k+1))", Range: "[0, ln K]", Better: Neither,
			Source: "Depeweg et al. 2018; Malinin and Gales 2018", value: uncertainty(ensemble.DataUncertainty), keeps: ofUncertainty,
		},
		{
			Name: "ensemble_nll", needs: needsMembers, applies: ofMany, own: noOwn,
			Short: "nll of members' mean p", Meaning: "negative log-likelihood of the members' mean probability, finite even where that underflows",
			Formula: "mean -ln mean_m p_m(y)", Range: "[0, Inf]", Better: Lower, Source: "uncertainty_metrics (ensemble cross-entropy)",
			value: uncertainty(ensemble.EnsembleNLL), keeps: ofUncertainty,
		},
		{
			Name: "gibbs_nll", needs: needsMembers, applies: ofMany, own: noOwn,
			Short: "mean nll of members", Meaning: "mean negative log-likelihood of the members, at least ensemble_nll",
			Formula: "mean_i mean_m -ln p_m(y)", Range: "[0, Inf]", Better: Lower, Source: "uncertainty_metrics (Gibbs cross-entropy)",
			value: uncertainty(ensemble.GibbsNLL), keeps: ofUncertainty,
		},
	}
	for _, d := range []struct {
		of ensemble.Measure
		Descriptor
	}{
		{ensemble.Disagreement, Descriptor{Default: true, own: unlikeOwn,
			Short: "pairs that disagree", Meaning: "share of pairs of members whose top classes differ; normalised by the members' mean error",
			Formula: "mean over rows and pairs m < m' of [argmax p_m != argmax p_m']", Range: "[0, 1]", Source: "Kuncheva and Whitaker 2003; Fort et al. 2019 (normalised)"}},
		{ensemble.DoubleFault, Descriptor{own: faultOwn, Better: Lower,
			Short: "pairs both wrong", Meaning: "share of pairs of members that are both wrong; conditional: of those whose first is",
			Formula: "mean over rows and pairs m < m' of [m wrong][m' wrong]", Range: "[0, 1]", Source: "Giacinto and Roli 2001; conditional: uncertainty_metrics"}},
		{ensemble.AverageKL, Descriptor{own: klOwn,
			Short: "mean KL of pairs", Meaning: "mean Kullback-Leibler divergence between pairs of members, in nats; all_pairs: over all M^2 pairs, also of a member with itself",
			Formula: "mean over rows and pairs m < m' of sum_k p_m ln(p_m/p_m'), 0 ln 0 = 0", Range: "[0, Inf]", Source: "uncertainty_metrics (average_kl); generalized: edward2"}},
		{ensemble.LogitKL, Descriptor{own: noOwn,
			Short: "mean KL of softmaxes", Meaning: "mean Kullback-Leibler divergence between members of the softmax of their scores, even if these are probabilities, in nats",
			Formula: "mean over rows and pairs m < m' of KL(softmax(s_m) || softmax(s_m'))", Range: "[0, Inf]", Source: "uncertainty_metrics (logit_kl_divergence)"}},
		{ensemble.CosineSimilarity, Descriptor{own: noOwn,
			Short: "mean cosine of pairs", Meaning: "mean cosine between the probabilities of pairs of members: 1 if they agree",
			Formula: "mean over rows and pairs m < m' of p_m . p_m' / (|p_m| |p_m'|)", Range: "[0, 1]", Source: "uncertainty_metrics (cosine_distance, which is the similarity)"}},
		{ensemble.LpDistance, Descriptor{own: distOwn,
			Short: "mean distance of pairs", Meaning: "mean distance between the probabilities of pairs of members",
			Formula: "mean over rows and pairs m < m' of (sum_k |p_m - p_m'|^p)^(1/p)", Range: "[0, 2]", Source: "uncertainty_metrics (lp_distance)"}},
		{ensemble.BregmanKLVariance, Descriptor{own: noOwn,
			Short: "mean KL to the centre", Meaning: "mean Kullback-Leibler divergence from the members' centre (the mean of their logarithms) to the members, in nats; rows are divided by their sums first",
			Formula: "mean_i mean_m KL(softmax(mean ln p) || p_m/sum_k p_m)", rules: []Field{{"rows", "divided by their sums"}}, Range: "[0, Inf]", Source: "Gupta et al. 2022; robustness_metrics"}},
		{ensemble.VarianceBound, Descriptor{own: noOwn,
			Short: "ensemble's least gain", Meaning: "variance over members of the label's probability, relative to its largest: the least that the ensemble gains over its members",
			Formula: "mean_i mean_m ((p_m(y) - mean p(y)) / max p(y))^2 / 2", Range: "[0, 1/2]", Source: "Masegosa 2020"}},
	} {
		d.Name = d.of.String()
		d.needs, d.applies = needsMembers, ofMany
		d.value, d.keeps = diversity(d.of), ofDiversity(d.of)
		if d.Better == "" {
			d.Better = Neither
		}
		l = append(l, d.Descriptor)
	}
	for i := range l {
		l[i].Options, l[i].check = l[i].own.String(), l[i].own.check
		if strings.TrimSpace(l[i].Options) == "" {
			l[i].own = nil
		}
	}
	return l
}
