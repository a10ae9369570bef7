package score

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
)

// rowFunc writes the values of a block's rows.
type rowFunc = func(dst []float64, b *metrics.Block)

// rowMetric is an entry of the table of metrics with a value for each row.
type rowMetric struct {
	name    string
	need    metrics.Need
	usual   bool   // in the default set
	named   bool   // left out of lists of all metrics, because it repeats another
	samples bool   // for samples; the others are for classes
	option  string // its option, or ""
	// of returns the metric for an option's value, or "" if none is given, and a number of classes.
	of func(value string, classes int) (fresh func() rowFunc, err error)
}

// plain is a metric without options that keeps no memory between blocks.
func plain(f rowFunc) func(string, int) (func() rowFunc, error) {
	return func(string, int) (func() rowFunc, error) { return func() rowFunc { return f }, nil }
}

// rowTable has the metrics in the order of listings.
var rowTable = []rowMetric{
	{name: "accuracy", usual: true, of: plain(hits)},
	{name: "top5_accuracy", need: metrics.NeedRank, of: func(_ string, classes int) (func() rowFunc, error) {
		if classes <= 5 {
			return nil, fmt.Errorf("it is for more than five classes")
		}
		return plain(topHits(5))("", classes)
	}},
	{name: "topk_accuracy", need: metrics.NeedRank, named: true, option: "k", of: topKRows},
	{name: "confidence", usual: true, of: plain(confidences)},
	{name: "overconfidence", of: plain(func(dst []float64, b *metrics.Block) {
		for i := range dst {
			dst[i] = b.Score[i] - float64(b.Right[i])
		}
	})},
	{name: "nll", usual: true, option: "clip", of: nllRows},
	{name: "brier", need: metrics.NeedSpread, usual: true, option: "form", of: brierRows},
	{name: "spherical", need: metrics.NeedSpread, of: plain(spherical)},
	{name: "rps", need: metrics.NeedRows, of: plain(RankedRule.rows)},
	{name: "entropy", need: metrics.NeedSpread, usual: true, of: plain(entropies)},
	{name: "crps", need: metrics.NeedSpread, usual: true, samples: true, of: crpsRows(CRPSV)},
	{name: "crps_fair", need: metrics.NeedSpread, samples: true, of: crpsRows(CRPSFair)},
	{name: "crps_pwm", need: metrics.NeedSpread, named: true, samples: true, of: crpsRows(CRPSPWM)},
	{name: "crps_rolled", need: metrics.NeedSpread | metrics.NeedRows, samples: true, of: crpsRows(CRPSRolled)},
}

func topKRows(value string, classes int) (func() rowFunc, error) {
	k, err := 5, error(nil)
	if value != "" {
		k, err = strconv.Atoi(value)
	}
	if err != nil || k < 1 || k > maxTopK {
		return nil, fmt.Errorf("k is %q; it is a whole number from 1 to %d", value, maxTopK)
	}
	return plain(topHits(k))("", classes)
}

const mostClip = 0.1 // ClippedNLL allows more, but nobody uses it

// nllRows needs only what nll needs, because rows are not rescaled.
func nllRows(value string, classes int) (func() rowFunc, error) {
	if value == "" {
		return plain(nlls)(value, classes)
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v >= 0 && v <= mostClip) {
		return nil, fmt.Errorf("clip is %q; it is a number from 0 to %v", value, mostClip)
	}
	return plain(NLLOptions{Clip: v}.rows)(value, classes)
}

var brierNames = []string{"default", "sum", "minus_one", "binary", "per_class"}

func brierRows(value string, classes int) (func() rowFunc, error) {
	f := BrierDefault
	if value != "" {
		i := slices.Index(brierNames, value)
		if i < 0 {
			return nil, fmt.Errorf("form is %q; it is one of %s", value, strings.Join(brierNames, ", "))
		}
		f = BrierForm(i)
	}
	if f == BrierBinary && classes > 2 {
		return nil, fmt.Errorf("the form binary is for binary tasks and two classes")
	}
	scale, shift := f.of(classes)
	return plain(func(dst []float64, b *metrics.Block) {
		squares(dst, b)
		if f == BrierDefault {
			return
		}
		for i, v := range dst {
			dst[i] = float64(scale*v) + shift
		}
	})("", classes)
}

func crpsRows(f CRPSForm) func(string, int) (func() rowFunc, error) {
	return func(string, int) (func() rowFunc, error) {
		return func() rowFunc {
			r := &sampleRows{}
			return func(dst []float64, b *metrics.Block) {
				r.sums(b, f == CRPSRolled)
				copy(dst, r.scores(f, b.Classes))
			}
		}, nil
	}
}

// is reports whether the metric is for predictions of a kind.
func (m *rowMetric) is(k metrics.Kind) bool {
	return k <= metrics.Samples && m.samples == (k == metrics.Samples)
}

// RowNames returns the names of all metrics with a value for each row of predictions of a kind.
func RowNames(k metrics.Kind) []string {
	var l []string
	for i := range rowTable {
		if m := &rowTable[i]; m.is(k) {
			l = append(l, m.name)
		}
	}
	return l
}

// RowMetrics returns the metrics with a value for each row of predictions of a kind and number of classes (or samples),
// without options: the default set if usual is set, otherwise all except those that repeat another.
func RowMetrics(k metrics.Kind, classes int, usual bool) []metrics.RowMetric {
	var l []metrics.RowMetric
	for i := range rowTable {
		m := &rowTable[i]
		if !m.is(k) || m.named || usual && !m.usual {
			continue
		}
		if fresh, err := m.of("", classes); err == nil {
			l = append(l, metrics.RowMetric{Name: m.name, Need: m.need, New: fresh})
		}
	}
	return l
}

// ParseRowMetric returns the metric with a given spelling, for example "nll" or "brier(form=sum)", for predictions of a kind
// and number of classes (or samples). If the kind has no metric of that name, the error wraps metrics.ErrNoRows; otherwise
// it says what is wrong with the options or the classes.
//
// A row's values are the terms of the mean of Loss or SampleCRPS: 1 for a hit and 0 otherwise; overconfidence is the
// confidence minus that.
func ParseRowMetric(spelling string, k metrics.Kind, classes int) (metrics.RowMetric, error) {
	name, inner, open := strings.Cut(strings.TrimSpace(spelling), "(")
	name = strings.TrimSpace(name)
	fail := func(err error) (metrics.RowMetric, error) {
		return metrics.RowMetric{}, fmt.Errorf("metric %s: %w", name, err)
	}
	at := slices.IndexFunc(rowTable, func(m rowMetric) bool { return m.name == name && m.is(k) })
	if at < 0 {
		return fail(metrics.ErrNoRows)
	}
	m := &rowTable[at]
	value := ""
	if open {
		var ok bool
		if inner, ok = strings.CutSuffix(inner, ")"); !ok || strings.ContainsAny(inner, "()") {
			return metrics.RowMetric{}, fmt.Errorf("%q: it is NAME or NAME(OPTION=VALUE)", spelling)
		}
		option, v, _ := strings.Cut(inner, "=")
		option, v = strings.TrimSpace(option), strings.TrimSpace(v)
		switch {
		case option == "":
		case m.option == "":
			return fail(fmt.Errorf("it takes no options"))
		case option != m.option:
			return fail(fmt.Errorf("there is no option %q; there is %s", option, m.option))
		case v == "":
			return fail(fmt.Errorf("option %s has no value", option))
		default:
			if n, err := strconv.Atoi(v); err == nil {
				v = strconv.Itoa(n)
			}
			value, name = v, name+"("+option+"="+v+")"
		}
	}
	fresh, err := m.of(value, classes)
	if err != nil {
		return fail(err)
	}
	return metrics.RowMetric{Name: name, Need: m.need, New: fresh}, nil
}
