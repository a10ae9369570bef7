package ci

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/candor-go/candor/report"
)

// family is a metric family of OpenMetrics, with its samples.
type family struct {
	name, unit, help string
	samples          bytes.Buffer
}

// families collects the samples of each family, whose lines have to stand together.
type families struct {
	list   []*family
	byName map[string]*family
}

// add adds a sample. help is that of the family's first one.
func (f *families) add(name, unit, help string, labels []Label, v float64) {
	of := f.byName[name]
	if of == nil {
		of = &family{name: name, unit: unit, help: help}
		if f.byName == nil {
			f.byName = map[string]*family{}
		}
		f.list, f.byName[name] = append(f.list, of), of
	}
	of.samples.WriteString(name)
	for i, l := range labels {
		mark := byte(',')
		if i == 0 {
			mark = '{'
		}
		of.samples.WriteByte(mark)
		of.samples.WriteString(l.Name + `="` + escapeLabel(l.Value) + `"`)
	}
	if len(labels) > 0 {
		of.samples.WriteByte('}')
	}
	of.samples.WriteString(" " + exact(v) + "\n")
}

// writeOpenMetrics writes a gauge for each metric, and one for each end of its interval. Options of a metric, a set and a part are labels.
// What has no value is left out.
func writeOpenMetrics(w io.Writer, r *Result) error {
	var f families
	for i, o := range r.Gates {
		if slices.ContainsFunc(r.Gates[:i], func(p report.Outcome) bool {
			return p.Gate.String() == o.Gate.String() && p.Gate.Required() == o.Gate.Required()
		}) {
			continue // given twice, and a sample is there once
		}
		v, kind := 0.0, "fail_if"
		if o.Gate.Required() {
			kind = "require"
		}
		if o.Failed {
			v = 1
		}
		f.add("candor_gate_failed", "", "1 if the gate failed, 0 if it passed.", []Label{{"kind", kind}, {"gate", o.Gate.String()}}, v)
	}
	for i := range r.Sets {
		set := &r.Sets[i]
		var of []Label
		if set.Name != "" {
			of = []Label{{"set", set.Name}}
		}
		f.add("candor_rows", "rows", "Number of rows that were evaluated.", of, float64(set.Rows))
		f.add("candor_dropped_rows", "rows", "Number of invalid rows that were left out.", of, float64(set.Dropped))
		for k := range set.Metrics {
			f.metric(&set.Metrics[k], of)
		}
		if set.Parts == nil {
			continue
		}
		for p := range set.Parts {
			labels := append(of[:len(of):len(of)], labelsOf(p.Of)...)
			f.add("candor_rows", "rows", "Number of rows that were evaluated.", labels, float64(p.Rows))
			for k := range p.Metrics {
				f.metric(&p.Metrics[k], labels)
			}
		}
	}
	for i := range r.Deltas {
		d := &r.Deltas[i]
		m := d.Metric
		m.Name, m.Short = "delta_"+d.Name, "difference in "+d.Name+", set b minus set a"
		f.metric(&m, []Label{{"a", d.A}, {"b", d.B}})
	}
	var b bytes.Buffer
	for _, of := range f.list {
		fmt.Fprintf(&b, "# TYPE %s gauge\n", of.name)
		if of.unit != "" {
			fmt.Fprintf(&b, "# UNIT %s %s\n", of.name, of.unit)
		}
		fmt.Fprintf(&b, "# HELP %s %s\n", of.name, escapes.Replace(of.help))
		b.Write(of.samples.Bytes())
	}
	b.WriteString("# EOF\n")
	_, err := w.Write(b.Bytes())
	return err
}

// metric adds the value of a metric and the ends of its interval.
func (f *families) metric(m *report.Metric, labels []Label) {
	name := "candor_" + m.Name
	if _, options, ok := strings.Cut(strings.TrimSuffix(m.Key, ")"), "("); ok {
		labels = append(labels[:len(labels):len(labels)], Label{"options", options})
	}
	if !math.IsNaN(m.Value.Value) {
		f.add(name, "", sentence(m.Short), labels, m.Value.Value)
	}
	of := ends(m)
	for _, end := range []string{"low", "high"} {
		if v, ok := of[end]; ok {
			which := map[string]string{"low": "Lower", "high": "Upper"}[end]
			f.add(name+"_"+end, "", fmt.Sprintf("%s end of the %s%% interval of %s.", which, exact(math.Round(1e8*m.Level)/1e6), m.Name), labels, v)
		}
	}
}

// sentence makes a sentence of a few words.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// labelsOf returns the labels of a part with names that OpenMetrics takes, and that differ from candor's own: a column "site" is
// group_site. Names that are equal then are numbered.
func labelsOf(of []Label) []Label {
	l := make([]Label, len(of))
	seen := map[string]bool{}
	for i, o := range of {
		name := o.Name
		if name != "label" && name != "member" || len(of) > 1 {
			name = "group_" + name
		}
		name = strings.Map(func(c rune) rune {
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
				return c
			}
			return '_'
		}, name)
		unique := name
		for n := 2; seen[unique]; n++ {
			unique = fmt.Sprintf("%s_%d", name, n)
		}
		seen[unique] = true
		l[i] = Label{unique, o.Value}
	}
	return l
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// escapeLabel escapes the value of a label. What a reader may refuse or take for the end of a line, and what is not UTF-8, is written as in
// Go, in quotes. So is a value that begins with a quote, and different values stay different.
func escapeLabel(s string) string {
	if !utf8.ValidString(s) || strings.ContainsAny(s, "\r\x00\u0085\u2028\u2029\v\f\x1c\x1d\x1e") || strings.HasPrefix(s, `"`) {
		s = strconv.Quote(s)
	}
	return escapes.Replace(s)
}
