package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// Scaled holds results after temperature scaling. It is not part of the state.
type Scaled struct {
	Temperature Value       // of a fit to all rows
	Rows        *Evaluation // by ScaledSpec, with each row scaled by a temperature fitted to other rows; nil if there is none
	Reason      string      // reason why there is none
}

// ScaledMetrics have values if Evaluation.Scaled is set. Documents then include them without being asked.
const ScaledMetrics = "temperature,nll_temperature_scaled,brier_temperature_scaled,ece_temperature_scaled"

// ScaledSpec returns the spec for evaluating the scaled rows.
func (e *Evaluation) ScaledSpec() Spec {
	s := Spec{Classes: e.Spec.Classes, Choices: e.Spec.Choices, Base: e.Spec.Base, Brier: e.Spec.Brier, Level: e.Spec.Level, Cluster: e.Spec.Cluster}
	m, err := ParseMetrics("nll,brier,ece", s.Shape())
	if err != nil {
		panic(err)
	}
	s.Metrics = m
	return s
}

// Answered returns the metrics that a document has: those of the spec, and ScaledMetrics if there are scaled rows.
func (e *Evaluation) Answered() []Metric {
	if e.Scaled == nil {
		return e.Spec.Metrics
	}
	more, err := ParseMetrics(ScaledMetrics, e.Spec.Shape())
	if err != nil {
		panic(err)
	}
	l := slices.Clone(e.Spec.Metrics)
	for _, m := range more {
		if !slices.ContainsFunc(l, func(o Metric) bool { return o.String() == m.String() }) {
			l = append(l, m)
		}
	}
	return l
}

const (
	crossFitted = "of each row by the temperature of the other folds' rows"
)

var toOneModel = need{"it is for the classes of one model, by %v", []any{setting.Scaled}}

// notScaled returns the reason for missing values of scaled rows.
func notScaled() string {
	return fmt.Sprintf("the rows were not scaled: %v does it, which reads them several times, and no state has it", setting.Scaled)
}

func ofOneModel(s Shape) bool { return s.HasClasses() && s.Members == 0 }

// isAfterScaling reports whether a metric is one of ScaledMetrics.
func isAfterScaling(m Metric) bool { return slices.Contains(strings.Split(ScaledMetrics, ","), m.Name) }

// afterScaling returns the value of a metric of the scaled rows.
func afterScaling(e *Evaluation, m Metric) Value {
	none := func(why string) Value {
		return Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: why}
	}
	name, ofRows := strings.CutSuffix(m.Name, "_temperature_scaled")
	switch {
	case e.Scaled == nil:
		return none(notScaled())
	case !ofRows:
		return e.Scaled.Temperature
	case e.Scaled.Rows == nil:
		return none(e.Scaled.Reason)
	}
	return e.Scaled.Rows.Value(Metric{Name: name})
}

func afterScalingText(e *Evaluation, m Metric) string {
	name, ofRows := strings.CutSuffix(m.Name, "_temperature_scaled")
	if e.Scaled == nil || !ofRows || e.Scaled.Rows == nil {
		return Describe(m.Name).Formula
	}
	return e.Scaled.Rows.Text(Metric{Name: name}) + "; after temperature scaling, " + crossFitted
}

func inScaled() []Descriptor {
	l := []Descriptor{
		{
			Name:    "temperature",
			Short:   "divisor of logits",
			Meaning: "the T that minimizes NLL when logits are divided by it: above 1 if the model is overconfident",
			Formula: "argmin_{T > 0} mean -ln softmax(z/T)_y, z = ln p of probabilities; binary: sigmoid(z/T)", Range: "(0, +Inf)", Better: Neither,
			Source: "Guo et al. 2017",
		},
		{
			Name:    "nll_temperature_scaled",
			Short:   "nll after scaling",
			Meaning: "NLL of the rows after temperature scaling, " + crossFitted + ": what models should be compared by",
			Formula: "nll of softmax(z/T), T fitted to the other folds", Range: "[0, +Inf]", Better: Lower, Source: "Ashukha et al. 2020",
		},
		{
			Name:    "brier_temperature_scaled",
			Short:   "brier after scaling",
			Meaning: "Brier score of the rows after temperature scaling, " + crossFitted,
			Formula: "brier of softmax(z/T), T fitted to the other folds", Range: "[0, 2]", Better: Lower, Source: "Ashukha et al. 2020",
		},
		{
			Name:    "ece_temperature_scaled",
			Short:   "ece after scaling",
			Meaning: "ECE of the rows after temperature scaling, " + crossFitted,
			Formula: "ece of softmax(z/T), T fitted to the other folds", Range: "[0, 1]", Better: Lower, Source: "Ashukha et al. 2020; Guo et al. 2017",
		},
	}
	for i := range l {
		d := &l[i]
		d.Named, d.applies, d.needs, d.check = true, ofOneModel, toOneModel, noOptions
		d.value, d.text = afterScaling, afterScalingText
	}
	return l
}
