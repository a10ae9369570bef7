package eval

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics/score"
)

// Metric is a metric with options, by name.
type Metric struct {
	Name string
	args []arg // sorted by name, in canonical spelling
}

type arg struct{ name, value string }

// String returns the canonical spelling, "ece(bins=30,closed=right)", which is the metric's key in documents. Options that
// were given are kept even if they equal the default, since the meaning of a metric without them depends on the Base of the
// Spec.
func (m Metric) String() string {
	if len(m.args) == 0 {
		return m.Name
	}
	s := make([]string, len(m.args))
	for i, a := range m.args {
		s[i] = a.name
		if a.value != "" {
			s[i] += "=" + a.value
		}
	}
	return m.Name + "(" + strings.Join(s, ",") + ")"
}

// ParseMetrics parses a list such as "ece,ece(bins=30,closed=right),brier(form=minus_one)". "default" and "all" stand for
// the default set and for all metrics of predictions of this shape.
func ParseMetrics(list string, of Shape) ([]Metric, error) {
	var out []Metric
	seen := map[string]bool{}
	add := func(m Metric) {
		if k := m.String(); !seen[k] {
			seen[k] = true
			out = append(out, m)
		}
	}
	parts, err := splitList(list)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		switch p {
		case "default", "all":
			for i := range table {
				if d := table[i].In(of); d.applies(of) && !d.Named && (p == "all" || d.inDefault(of)) {
					add(Metric{Name: d.Name})
				}
			}
			continue
		}
		m, err := ParseMetric(p)
		if err != nil {
			return nil, err
		}
		d := Describe(m.Name).In(of)
		if !d.applies(of) {
			return nil, fmt.Errorf("metric %s: %s", m.Name, d.appliesTo())
		}
		if err := d.check(m); err != nil { // the name may have other options where its meaning differs
			return nil, fmt.Errorf("metric %s: %w", m.Name, err)
		}
		add(m)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no metric is named in %q", list)
	}
	return out, nil
}

// splitList splits at commas outside parentheses.
func splitList(s string) (parts []string, err error) {
	depth, from := 0, 0
	take := func(to int) {
		if p := strings.TrimSpace(s[from:to]); p != "" {
			parts = append(parts, p)
		}
		from = to + 1
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				take(i)
			}
		}
		if depth < 0 || depth > 1 {
			return nil, fmt.Errorf("%q: the parentheses do not match", s)
		}
	}
	if depth != 0 {
		return nil, fmt.Errorf("%q: a parenthesis is open", s)
	}
	take(len(s))
	return parts, nil
}

// ParseMetric parses one metric, such as "ece(bins=30, closed=right)".
func ParseMetric(s string) (Metric, error) {
	name, rest, open := strings.Cut(s, "(")
	m := Metric{Name: strings.TrimSpace(name)}
	d := Describe(m.Name)
	if d == nil {
		if said, ok := elsewhere[strings.ToLower(m.Name)]; ok {
			return m, fmt.Errorf("there is no metric %q%s", m.Name, said)
		}
		return m, fmt.Errorf("there is no metric %q%s; %v lists them", m.Name, similar(m.Name), setting.Described)
	}
	if open {
		inner, ok := strings.CutSuffix(strings.TrimSpace(rest), ")")
		if !ok {
			return m, fmt.Errorf("%q: it is NAME or NAME(OPTION=VALUE,...)", s)
		}
		for _, a := range strings.Split(inner, ",") {
			if a = strings.TrimSpace(a); a == "" {
				continue
			}
			n, v, _ := strings.Cut(a, "=")
			m.args = append(m.args, d.canonical(strings.TrimSpace(n), strings.TrimSpace(v)))
		}
	}
	sort.SliceStable(m.args, func(i, j int) bool { return m.args[i].name < m.args[j].name })
	for i := 1; i < len(m.args); i++ {
		if m.args[i].name == m.args[i-1].name {
			return m, fmt.Errorf("metric %s: option %s is given twice", m.Name, m.args[i].name)
		}
	}
	if err := d.check(m); err != nil {
		return m, fmt.Errorf("metric %s: %w", m.Name, err)
	}
	return m, nil
}

// canonical returns the canonical spelling of a value: integers without sign and leading zeros, other numbers in as few
// digits as possible, switches without "=true".
func (d *Descriptor) canonical(name, value string) arg {
	i := d.own.index(name)
	real := name == "threshold" || i >= 0 && !d.own[i].whole && d.own[i].words == nil
	if n, err := strconv.Atoi(value); err == nil {
		value = strconv.Itoa(n)
	} else if v, err := strconv.ParseFloat(value, 64); err == nil && real {
		value = strconv.FormatFloat(v, 'g', -1, 64)
	}
	if value == "true" {
		value = ""
	}
	return arg{name, value}
}

// elsewhere maps names that metrics have in other systems to candor's name, or to the reason why there is none.
var elsewhere = func() map[string]string {
	l := map[string]string{}
	called := func(name string, others ...string) {
		for _, o := range others {
			l[o] = "; candor calls it " + name
		}
	}
	called("auroc", "auc", "roc_auc", "roc_auc_score", "rocauc", "c_statistic")
	called("auprc", "pr_auc", "average_precision", "average_precision_score", "ap")
	called("nll", "log_loss", "logloss", "cross_entropy", "ce", "neg_log_likelihood")
	called("brier", "brier_score", "brier_score_loss")
	called("rmsce", "rms_calibration_error")
	called("ace", "adaptive_ece")
	called("ece_unweighted", "average_calibration_error")
	called("sce", "classwise_ece", "cwece", "static_calibration_error")
	called("ece", "expected_calibration_error", "calibration_error")
	called("mce", "maximum_calibration_error", "max_calibration_error")
	called("smooth_ece", "smece")
	called("accuracy", "acc", "accuracy_score")
	called("calibration_slope", "cox_slope", "slope")
	called("calibration_intercept", "cox_intercept", "intercept")
	called("base_rate", "prevalence", "event_rate")
	called("hosmer_lemeshow", "hl", "hosmer", "hoslem")
	called("ici", "integrated_calibration_index", "eavg")
	called("oe_ratio", "o_e", "oe")
	called("coverage(level=L)", "picp")
	called("mae", "mean_absolute_error")
	called("rmse", "root_mean_squared_error")
	l["mse"] = "; use brier for probabilities, rmse, its square root, for regression"
	l["mean_squared_error"] = l["mse"]
	for _, n := range []string{"f1", "f1_score", "precision", "recall", "mcc", "kappa"} {
		l[n] = ": it judges decisions at one threshold, and candor judges probabilities"
	}
	return l
}()

// similar returns a hint with the most similar metric name, or "" if none is similar.
func similar(n string) string {
	best, least := "", max(1, len(n)/3)+1
	for i := range table {
		name := table[i].Name
		d := distance(strings.ToLower(n), name)
		// A common prefix counts as similar, whatever follows it.
		if len(n) >= 3 && strings.HasPrefix(name, n) {
			d = min(d, 1)
		}
		if d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance returns the edit distance of a and b: insertions, deletions, changes and swaps of neighbours.
func distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			d := above[j]
			if a[i] != b[j] {
				d = 1 + min(above[j], above[j+1], row[j])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			row[j+1] = d
		}
	}
	return row[len(b)]
}

var brierForms = []string{"default", "sum", "minus_one", "binary", "per_class"}

// only returns the value of a metric's only option and whether it is given; hint is its syntax for errors.
func (m Metric) only(name, hint string) (value string, given bool, err error) {
	for _, a := range m.args {
		if a.name != name {
			return "", false, fmt.Errorf("there is no option %q; there is %s", a.name, hint)
		}
		value, given = a.value, true
	}
	return value, given, nil
}

// form returns the Brier form of a metric.
func (m Metric) form(base score.BrierForm) (score.BrierForm, error) {
	v, given, err := m.only("form", "form="+strings.Join(brierForms, "|"))
	if err != nil || !given {
		return base, err
	}
	for i, n := range brierForms {
		if n == v {
			return score.BrierForm(i), nil
		}
	}
	return 0, fmt.Errorf("form is %q; it is one of %s", v, strings.Join(brierForms, ", "))
}
