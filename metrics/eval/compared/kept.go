package compared

import (
	"errors"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/metrics/score"
)

// kept says what is kept of rows, so that the metrics of a spec can be compared.
type kept struct {
	losses  []loss
	hits    bool // who was right: accuracy
	decided bool // how often decisions differ, and who is right then: models of classes
	joint   bool // the rows by the scores of both models
	byLabel bool // some loss has sums by label
	means   bool // some loss is of regress.MeanRowMetric
}

// loss is a value of each row whose mean, or a function of it, is compared.
type loss struct {
	metrics.RowMetric
	byLabel bool                           // sums by label are kept
	each    bool                           // the losses of each model are kept too
	column  func(*metrics.Block) []float64 // the column of a block that has the losses; nil if they must be computed
	squares bool                           // the model's evaluation has computed the losses: its Brier scores
}

// method is how a metric's difference is found.
type method uint8

const (
	none        method = iota
	ofMean             // the mean difference of a loss
	ofHits             // accuracy: who was right where the other was wrong
	ofRoot             // root of a mean
	ofExp              // exponential of a mean
	ofSkill            // 1 - mean / reference
	ofAUROC            // of class 1
	ofTopAUROC         // of the top label
	ofAURC             // and the other areas of selective classification
	ofEAURC            //
	ofAUGRC            //
	ofSlope            // of the calibration line
	ofIntercept        //
	ofSquares          // calibration_error_squared
	ofLives            // of survival, by the influence of rows
)

// comparedBy returns how a metric is compared, with the loss of a row if it is by a loss.
func comparedBy(s *eval.Spec, m eval.Metric) (method, metrics.RowMetric) {
	binary := s.Classes == 1
	plain := m.String() == m.Name
	byRow := func(as method, name string) (method, metrics.RowMetric) {
		l, err := rowMetric(s, name)
		if err != nil {
			return none, l
		}
		return as, l
	}
	switch {
	case s.Kind == metrics.Survival:
		if eval.HasInfluence(m) && m.Name != "event_share_km" {
			return ofLives, metrics.RowMetric{}
		}
		return none, metrics.RowMetric{}
	case !s.Shape().HasClasses():
		switch m.Name {
		case "rmse":
			return byRow(ofRoot, "squared_error")
		case "mae":
			return byRow(ofMean, "abs_error")
		}
		if l, err := regress.MeanRowMetric(m.String(), s.Kind, s.Levels, s.Law); err == nil {
			return ofMean, l
		}
		return byRow(ofMean, m.String())
	case m.Name == "accuracy":
		return ofHits, metrics.RowMetric{}
	case m.Name == "bias", m.Name == "mean_p":
		if !binary {
			return none, metrics.RowMetric{}
		}
		return ofMean, meanP
	case m.Name == "perplexity":
		return byRow(ofExp, "nll")
	case m.Name == "brier_skill":
		return byRow(ofSkill, "brier")
	case m.Name == "nll_skill":
		return byRow(ofSkill, "nll")
	case m.Name == "brier" && plain && s.Brier != score.BrierDefault:
		return byRow(ofMean, "brier(form="+brierForms[s.Brier]+")")
	case s.Scored:
		return none, metrics.RowMetric{}
	}
	if plain {
		by := map[string]method{"calibration_auc": ofTopAUROC, "aurc": ofAURC, "eaurc": ofEAURC, "augrc": ofAUGRC, "calibration_error_squared": ofSquares}[m.Name]
		if binary && by == none {
			by = map[string]method{"auroc": ofAUROC, "calibration_slope": ofSlope, "calibration_intercept": ofIntercept}[m.Name]
		}
		if by != none {
			return by, metrics.RowMetric{}
		}
	}
	return byRow(ofMean, m.String())
}

// NeedsScores reports whether differences of a metric need the scores of rows, of which clusters keep more than of means.
func NeedsScores(s *eval.Spec, m eval.Metric) bool {
	by, _ := comparedBy(s, m)
	return by >= ofAUROC && by < ofLives
}

// HasInterval reports whether differences of a metric have intervals by a spec, as far as the rows allow.
func HasInterval(s *eval.Spec, m eval.Metric) bool {
	if name, is := ofScaled(m); is {
		m = eval.Metric{Name: name}
	}
	by, _ := comparedBy(s, m)
	return by != none
}

var brierForms = []string{"default", "sum", "minus_one", "binary", "per_class"}

// meanP is the probability of class 1 of a binary task. Two models' biases differ as it does, since they have the same rows.
var meanP = metrics.RowMetric{Name: "mean_p", New: func() func([]float64, *metrics.Block) {
	return func(dst []float64, b *metrics.Block) { copy(dst, b.Stats.Positive) }
}}

// rowMetric returns the values of rows whose mean a metric is, or an error that wraps metrics.ErrNoRows.
func rowMetric(s *eval.Spec, name string) (metrics.RowMetric, error) {
	if s.Shape().HasClasses() {
		return score.ParseRowMetric(name, s.Kind, s.Classes)
	}
	l, err := regress.ParseRowMetric(name, s.Kind, s.Levels)
	if err == nil && s.Kind == metrics.Normals {
		l, err = regress.LawRowMetric(name, s.Law)
	}
	if errors.Is(err, metrics.ErrNoRows) {
		l, err = score.ParseRowMetric(name, s.Kind, s.Classes)
	}
	return l, err
}

// keptFor returns what the metrics of a spec need.
func keptFor(s *eval.Spec) (k kept) {
	k.decided = s.Shape().HasClasses()
	for _, m := range s.Metrics {
		by, l := comparedBy(s, m)
		switch by {
		case none, ofLives:
		case ofHits:
			k.hits = true
		case ofMean, ofRoot, ofExp, ofSkill:
			if !s.Shape().HasClasses() {
				_, err := regress.MeanRowMetric(l.Name, s.Kind, s.Levels, s.Law)
				k.means = k.means || err == nil
			}
			at := k.loss(l.Name)
			if at < 0 {
				k.losses = append(k.losses, loss{RowMetric: l})
				at = len(k.losses) - 1
				switch {
				case l.Name == meanP.Name:
					k.losses[at].column = func(b *metrics.Block) []float64 { return b.Stats.Positive }
				case l.Name == "nll" && s.Shape().HasClasses():
					k.losses[at].column = func(b *metrics.Block) []float64 { return b.Stats.NLL }
				case l.Name == "brier" && s.Shape().HasClasses():
					k.losses[at].squares = true
				}
			}
			if by == ofSkill {
				k.losses[at].byLabel, k.byLabel = true, true
			}
			if by == ofRoot || by == ofExp {
				k.losses[at].each = true
			}
		default:
			k.joint = true
		}
	}
	return k
}

// loss returns the number of a loss, -1 if it is not kept.
func (k *kept) loss(name string) int {
	for i := range k.losses {
		if k.losses[i].Name == name {
			return i
		}
	}
	return -1
}

// needs returns the columns that blocks must carry.
func (k *kept) needs() (n metrics.Need) {
	for i := range k.losses {
		n |= k.losses[i].Need
	}
	return n
}
