package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// choice is an option of a particular metric: one of some words, the first of which is the default; a number in a range; or
// a switch.
type choice struct {
	name        string
	words       []string
	least, most float64
	unsaid      float64 // default of a number
	whole       bool    // the number is an integer
}

// String returns the syntax of the option with its possible values.
func (c *choice) String() string {
	switch {
	case c.words != nil:
		return c.name + "=" + strings.Join(c.words, "|")
	case c.isSwitch():
		return c.name
	}
	return c.name + "=" + plainly(c.unsaid)
}

// plainly formats a number without exponent.
func plainly(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (c *choice) isSwitch() bool { return c.words == nil && c.least == c.most }

// read parses a value: it returns the index of a word, a number, or 1 for a switch that is on.
func (c *choice) read(value string) (float64, error) {
	switch {
	case c.words != nil:
		if i := slices.Index(c.words, value); i >= 0 {
			return float64(i), nil
		}
		return 0, fmt.Errorf("%s is %q; it is one of %s", c.name, value, strings.Join(c.words, ", "))
	case c.isSwitch():
		switch value {
		case "":
			return 1, nil
		case "false":
			return 0, nil
		}
		return 0, fmt.Errorf("%s is %q; it is a switch", c.name, value)
	}
	kind := "number"
	if c.whole {
		kind = "whole number"
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v >= c.least && v <= c.most) || c.whole && v != float64(int64(v)) {
		return 0, fmt.Errorf("%s is %q; it is a %s from %s to %s", c.name, value, kind, plainly(c.least), plainly(c.most))
	}
	return v, nil
}

// choices is the list of a metric's own options.
type choices []choice

func (l choices) String() string {
	s := make([]string, len(l))
	for i := range l {
		s[i] = l[i].String()
	}
	return strings.Join(s, ", ")
}

func (l choices) index(name string) int {
	return slices.IndexFunc(l, func(c choice) bool { return c.name == name })
}

// check parses all options of a metric, which must be in l.
func (l choices) check(m Metric) error {
	for _, a := range m.args {
		i := l.index(a.name)
		if i < 0 {
			if len(l) == 0 {
				return fmt.Errorf("it takes no options")
			}
			return fmt.Errorf("there is no option %q; there are %s", a.name, l)
		}
		if _, err := l[i].read(a.value); err != nil {
			return err
		}
	}
	return nil
}

// of returns the value of an option of a checked metric, or its default.
func (l choices) of(m Metric, name string) float64 {
	c := &l[l.index(name)]
	for _, a := range m.args {
		if a.name == name {
			v, _ := c.read(a.value)
			return v
		}
	}
	return c.unsaid
}

// without returns the metric without these options.
func (l choices) without(m Metric) Metric {
	m.args = slices.DeleteFunc(slices.Clone(m.args), func(a arg) bool { return l.index(a.name) >= 0 })
	return m
}

// fields returns the options with their values.
func (l choices) fields(m Metric) []Field {
	var f []Field
	for i := range l {
		c := &l[i]
		v := l.of(m, c.name)
		switch {
		case c.words != nil:
			f = append(f, Field{c.name, c.words[int(v)]})
		case c.isSwitch():
			f = append(f, Field{c.name, v != 0})
		case c.whole:
			f = append(f, Field{c.name, int(v)})
		default:
			f = append(f, Field{c.name, v})
		}
	}
	return f
}

// draws reports whether the metric draws random numbers. If replicates are optional, it does only if some are requested.
func (m Metric) draws() bool {
	d := Describe(m.Name)
	return d.random && (d.own.index("replicates") < 0 || d.own.of(m, "replicates") > 0)
}

// formula appends the options to a metric's formula: numbers, except unused ones and those that affect only intervals, and
// words and switches other than the default. Some options have a formula of their own.
func (l choices) formula(f string, m Metric) string {
	s := ""
	for i := range l {
		c := &l[i]
		v := l.of(m, c.name)
		said := c.name + "=" + plainly(v)
		switch {
		case c.words != nil:
			said = c.name + "=" + c.words[int(v)]
		case c.isSwitch():
			said = c.name
		}
		if v == c.unsaid && (v == 0 && c.name != "score" || v < 0) || c.name == repeats.name {
			continue
		}
		if own, ok := formulaWith[m.Name+"("+said+")"]; ok {
			f = own
			continue
		}
		if own, ok := formulaWith[m.Name+"("+c.name+")"]; ok {
			f = own
		}
		s += "; " + said
	}
	return f + s
}

// formulaWith holds formulas of metrics with an option that changes them.
var formulaWith = map[string]string{
	"rmsce_debiased(variance=kumar)":     "sqrt(max(0, sum_bins (n_b/N) (gap_b^2 - ybar_b (1 - ybar_b)/(n_b - 1)))), ybar_b = mean y, n_b >= 2",
	"auprc(area=trapezoid)":              "area under (recall, precision) by trapezoids, at the ends of cells g of equal probability",
	"auprc(area=davis_goadrich)":         "area under (recall, precision) with TP and FP interpolated in cells g of equal probability",
	"ood_auprc_in(area=trapezoid)":       "area under (recall, precision) by trapezoids, lowest scores first, in-distribution rows positive",
	"ood_auprc_in(area=davis_goadrich)":  "area under (recall, precision) with TP and FP interpolated, lowest scores first, in-distribution rows positive",
	"ood_auprc_out(area=trapezoid)":      "area under (recall, precision) by trapezoids, highest scores first, out-of-distribution rows positive",
	"ood_auprc_out(area=davis_goadrich)": "area under (recall, precision) with TP and FP interpolated, highest scores first, out-of-distribution rows positive",
	"auroc(average=macro)":               "(1/C) sum_k A_k over the C classes present, A_k = sum_g w+_g (W-_<g + w-_g/2) / (W+ W-) over cells g of equal p_k, + rows of class k",
	"auroc(average=weighted)":            "sum_k W_k A_k / sum_k W_k, W_k the weight of class k, A_k = sum_g w+_g (W-_<g + w-_g/2) / (W+ W-) over cells g of equal p_k, + rows of class k",
	"auroc(average=micro)":               "sum_g w+_g (W-_<g + w-_g/2) / (W+ W-) over cells g of equal entries p_ik of all rows and classes, + those with k = y_i",
	"auroc(average=ovo)":                 "(1/(C(C-1))) sum_{a != b} A(a|b) over the C classes present, A(a|b) the area among rows of classes a and b in the order of p_a, + rows of a, equal ones counting half",
	"auroc(average=ovo_weighted)":        "sum_{a != b} (n_a + n_b) A(a|b) / sum_{a != b} (n_a + n_b), A(a|b) the area among rows of classes a and b in the order of p_a, + rows of a, equal ones counting half",
	"auroc(max_fpr)":                     "(1 + (A - m^2/2)/(m - m^2/2))/2, A the area under (FPR, TPR) up to FPR m = max_fpr, straight through cells of equal probability",
	"auroc(thresholds)":                  "area under (FPR, TPR) at even thresholds, scores above them positive",
	"auprc(thresholds)":                  "area under (recall, precision) at even thresholds, scores above them positive",
	"oracle_auc(thresholds)":             "area at even thresholds, each without the errors of the rows next to it, f of them by the fraction, as robustness_metrics sums it",
	"oracle_auc(within)":                 "area under (FPR, TPR), at each threshold without the errors of the rows no further from it",
	"oracle_auc(curve=pr)":               "average precision, at each threshold without the errors of the floor(f N) rows next to it, f the fraction",
	"retention_accuracy(oracle)":         "(1/(N+1)) sum_k (right among the k most confident + N - k)/N",
	"retention_nll(oracle)":              "(1/(N+1)) sum_k sum of NLL of the k most confident / N",
	"average_kl(all_pairs)":              "mean over rows and all M^2 pairs, of a member with itself too, of sum_k p_m ln(p_m/p_m'), 0 ln 0 = 0",
	"average_kl(generalized)":            "mean over rows and pairs m < m' of sum_k (p_m ln(p_m/p_m') - p_m + p_m'), 0 ln 0 = 0",
	"qwcrps(emphasis=centre)":            "mean 2 integral p (1 - p) (1[y < q_p] - p)(q_p - y) dp",
	"qwcrps(emphasis=left)":              "mean 2 integral (1 - p)^2 (1[y < q_p] - p)(q_p - y) dp",
	"qwcrps(emphasis=right)":             "mean 2 integral p^2 (1[y < q_p] - p)(q_p - y) dp",
	"rms_calibration(form=quantile)":     "sqrt(mean_j (P(y <= q_j) - p_j)^2), p_j = j/B, j = 0..B",
	"disagreement(normalised)":           "disagreement / (mean error rate of the members + 1e-7)",
	"double_fault(conditional)":          "mean over pairs m < m' of P(m' wrong | m wrong)",
}

// ofEvent is the option that selects the event of metrics over ordered scores. The meaning of "shape" depends on the
// predictions and on the metric. The words are those of calib.Options, in the order of the event numbers.
var ofEvent = choice{name: "event", words: []string{"shape", "top", "positive"}}
