package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/multilabel"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Multilabel is the result of an evaluation of several independent labels: a document per label, and the averages over labels.
type Multilabel struct {
	Input    Input // of all labels; Classes is 0
	Labels   int
	Metrics  []Metric // the averages; Count is the number of labels with a value
	State    string   // SHA-256 of the state
	Warnings []string

	e         *multilabel.Evaluation
	macro     *Document // holds the averages, for gates
	each      []label
	documents []*Document // of the labels if there are few; otherwise they are made on demand
}

// label is what tables show of a label.
type label struct {
	number int
	rate   float64
	bias   float64 // mean probability minus base rate
	p      float64 // p-value of the test that it is 0; NaN if there are too few rows
	side   int     // as in eval.Judgement
	values []float64
}

// fewLabels is the maximum number of labels whose documents are kept, at some 15 KB each.
const fewLabels = 256

// NewMultilabel returns the result of an evaluation of several labels.
func NewMultilabel(e *multilabel.Evaluation) *Multilabel {
	a := &e.Audit
	m := &Multilabel{e: e, Labels: e.Labels, Warnings: a.Warnings(), each: make([]label, e.Labels),
		Input: Input{Task: "multilabel", Rows: a.Rows, Dropped: a.Dropped, DType: a.DType.String(), Kind: a.Kind.String(), Weighted: a.Weighted}}
	if e.Labels <= fewLabels {
		m.documents = make([]*Document, e.Labels)
	}
	of := make([][]eval.Value, len(e.Spec.Metrics)) // of each metric, by label
	for i := range of {
		of[i] = make([]eval.Value, e.Labels)
	}
	states := make([]string, e.Labels)
	var first *Document
	e.Each(func(j int, one *eval.Evaluation) {
		d := Brief(one)
		l := label{number: j, rate: one.Loss.BaseRate(), bias: d.judged.Gap.Value, p: d.judged.P, side: d.judged.Side}
		if math.IsNaN(d.judged.Gap.Interval.Low) {
			l.p = math.NaN()
		}
		for i := range d.Metrics {
			of[i][j] = d.Metrics[i].Value
			l.values = append(l.values, d.Metrics[i].Value.Value)
		}
		m.each[j], states[j] = l, d.State
		if m.documents != nil {
			m.documents[j] = d
		}
		if j == 0 {
			first = d
		}
	})
	m.State = e.SHA256Of(states)
	if a.Classes == 0 {
		m.State = e.SHA256()
	}
	for i, v := range of {
		r := first.Metrics[i]
		r.Value = multilabel.MacroOf(v)
		r.Text, r.Whole = "mean over the labels: "+r.Text, false
		m.Metrics = append(m.Metrics, r)
		infinite := int64(0)
		for _, x := range v {
			if math.IsInf(x.Value, 0) {
				infinite++
			}
		}
		if infinite > 0 {
			m.Warnings = append(m.Warnings, fmt.Sprintf("%s is infinite for %s of %s, and so is their mean", r.Key, Count(infinite), countOf(int64(e.Labels), "label")))
		}
	}
	m.macro = &Document{Metrics: m.Metrics, level: e.Spec.Level, shape: e.Spec.Shape()}
	return m
}

// Document returns the document of a label, as for a binary task. It panics if there is no such label.
func (m *Multilabel) Document(label int) *Document {
	if m.documents != nil {
		return m.documents[label]
	}
	return Brief(m.e.Label(label))
}

// Label returns the name of a label, or its number if labels have no names, and the values of the metrics, which the caller must not
// change. It panics if there is no such label.
func (m *Multilabel) Label(label int) (name string, values []float64) {
	if m.e.Names == nil {
		return strconv.Itoa(label), m.each[label].values
	}
	return m.e.Names[label], m.each[label].values
}

// Verdict says in one line how far mean probabilities are from base rates, averaged over labels, and how many labels are too high or
// too low beyond chance, with Holm's correction for the number of labels.
func (m *Multilabel) Verdict() string {
	s := fmt.Sprintf("%s x %s", countOf(m.Input.Rows, "row"), countOf(int64(m.Labels), "label"))
	if m.Input.Rows == 0 {
		return s + ": nothing to judge."
	}
	var high, low, few int64
	mean, tests := 0.0, make([]float64, m.Labels)
	for i, l := range m.each {
		mean += math.Abs(l.bias) / float64(m.Labels)
		tests[i] = l.p
		if math.IsNaN(l.p) {
			few++
		}
	}
	for i, off := range eval.Holm(tests) {
		switch side := m.each[i].side; {
		case off && side > 0:
			high++
		case off && side < 0:
			low++
		}
	}
	s += fmt.Sprintf(": off by %s on average; %s too high, %s too low, %s undecided", points(mean), countOf(high, "label"), Count(low),
		Count(int64(m.Labels)-high-low-few))
	if few > 0 {
		s += fmt.Sprintf(", %s with too few rows to judge", Count(few))
	}
	return s + "."
}

// Notes returns what a reader of the tables should also know.
func (m *Multilabel) Notes() []string {
	var l []string
	for i := range m.Metrics {
		if r := &m.Metrics[i]; r.Value.Count < int64(m.Labels) {
			l = append(l, r.Key+": "+r.Reason)
		}
	}
	return append(l, m.Warnings...)
}

// Table writes the averages over labels. CSV also has a line for each metric of each label; its column label is "macro" for averages.
func (m *Multilabel) Table(w io.Writer, f Format, width int) error {
	if f == CSV {
		return m.csv(w)
	}
	t := narrow{head: []string{"Metric", "Mean of labels", "Labels", "What it says"}, numbers: 1, texts: 1, drop: []int{3}}
	for i := range m.Metrics {
		r := &m.Metrics[i]
		mean := r.Mean
		if f == Plain {
			mean = m.macro.gap(r)
		}
		t.rows = append(t.rows, []string{r.Key, short(r.Value.Value), Count(r.Value.Count), mean})
	}
	_, err := t.render(w, f, width)
	return err
}

// render writes a table. The columns from and to, counted from 1, and those between are numbers.
func render(w io.Writer, t table.Writer, f Format, from, to int) error {
	if f == Markdown {
		_, err := io.WriteString(w, t.RenderMarkdown()+"\n")
		return err
	}
	st := table.StyleLight
	st.Options = table.OptionsNoBordersAndSeparators
	st.Format.Header = text.FormatDefault
	t.SetStyle(st)
	t.SuppressTrailingSpaces()
	var columns []table.ColumnConfig
	for k := from; k <= to; k++ {
		columns = append(columns, table.ColumnConfig{Number: k, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	_, err := io.WriteString(w, t.Render()+"\n")
	return err
}

// mostLabels is the maximum number of labels in a table on a terminal.
const mostLabels = 20

// shownOfLabels are the metrics in a table of labels. The first of them except auroc orders the labels. If the evaluation has none of
// them, the table has its first few metrics.
var shownOfLabels = []string{"ece", "auroc", "nll", "brier"}

// name returns what tables call a label: its name if it has one, or its number.
func (m *Multilabel) name(label int, f Format) string {
	if m.e.Names == nil {
		return strconv.Itoa(label)
	}
	return valueName(m.e.Names[label], f)
}

// columns returns the indices of the metrics in the table of labels, and of the one that orders its rows; -1 if none does.
func (m *Multilabel) columns() (at []int, by int) {
	by = -1
	for _, name := range shownOfLabels {
		if i := slices.IndexFunc(m.Metrics, func(r Metric) bool { return r.Key == name }); i >= 0 {
			if at = append(at, i); by < 0 && name != "auroc" {
				by = i
			}
		}
	}
	if len(at) == 0 {
		for i := range min(len(shownOfLabels), len(m.Metrics)) {
			at = append(at, i)
		}
	}
	return at, by
}

// LabelsTable writes a row of the main metrics for each label, in the format Plain or Markdown. Plain has the worst 20 labels by their
// ece, if that is among the metrics, else the first 20, and as many columns as fit in width (0 means DefaultWidth).
func (m *Multilabel) LabelsTable(w io.Writer, f Format, width int) error {
	at, by := m.columns()
	rows, title := slices.Clone(m.each), ""
	if f == Plain && len(rows) > mostLabels {
		title = fmt.Sprintf("The first %d of %s labels (%v csv has all)\n", mostLabels, Count(int64(m.Labels)), setting.Format)
		if by >= 0 {
			key := func(l label) float64 {
				if v := l.values[by]; !math.IsNaN(v) {
					return v
				}
				return math.Inf(-1)
			}
			slices.SortStableFunc(rows, func(a, b label) int { return cmp.Compare(key(b), key(a)) })
			title = fmt.Sprintf("The %d of %s labels with the largest %s (%v csv has all)\n", mostLabels, Count(int64(m.Labels)), m.Metrics[by].Key, setting.Format)
		}
		rows = rows[:mostLabels]
	}
	t := narrow{head: []string{"Label", "Positives", "Base rate"}}
	if m.Input.Weighted {
		t.head = []string{"Label", "Base rate"}
	}
	for k, i := range at {
		if k > 0 {
			t.drop = append([]int{len(t.head)}, t.drop...)
		}
		t.head = append(t.head, m.Metrics[i].Key)
	}
	for _, l := range rows {
		r := []string{m.name(l.number, f)}
		if !m.Input.Weighted {
			r = append(r, Count(int64(math.Round(l.rate*float64(m.Input.Rows)))))
		}
		r = append(r, short(l.rate))
		for _, i := range at {
			r = append(r, short(l.values[i]))
		}
		t.rows = append(t.rows, r)
	}
	if _, err := io.WriteString(w, title); err != nil {
		return err
	}
	if m.e.Names != nil {
		t.numbers = 1
	}
	left, err := t.render(w, f, width)
	said := rest(0, "", left, "csv")
	if err != nil || said == "" {
		return err
	}
	_, err = io.WriteString(w, Wrap(said, width)+"\n")
	return err
}

func (m *Multilabel) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"label", "metric", "value", "low", "high", "level", "better", "meaning"}); err != nil {
		return err
	}
	write := func(label string, l []Metric) error {
		for i := range l {
			r := &l[i]
			if err := c.Write([]string{label, r.Key, full(r.Value.Value), full(r.Interval.Low), full(r.Interval.High), full(r.Level), string(r.Better), r.Mean}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := write("macro", m.Metrics); err != nil {
		return err
	}
	for j := range m.Labels {
		if err := write(m.name(j, CSV), m.Document(j).Metrics); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// averages returns the averages by key.
func (m *Multilabel) averages() object {
	o := object{}
	for i := range m.Metrics {
		r := &m.Metrics[i]
		f := object{{"value", number(r.Value.Value)}, {"low", nil}, {"high", nil}, {"labels", r.Value.Count}, {"reason", r.Reason}, {"exact", r.Bound == 0}}
		if r.Bound != 0 {
			f = append(f, field{"grid_bound", number(r.Bound)})
		}
		o = append(o, field{r.Key, append(f, field{"better", r.Better}, field{"text", r.Text})})
	}
	return o
}

// ends returns the document before and after its labels. It has the names of labels if there are at most so many.
func (m *Multilabel) ends(names int) (head, tail object) {
	warnings := m.Warnings
	if warnings == nil {
		warnings = []string{}
	}
	in := object{{"rows", m.Input.Rows}, {"labels", m.Labels}, {"dtype", m.Input.DType}, {"kind", m.Input.Kind},
		{"dropped", m.Input.Dropped}, {"weighted", m.Input.Weighted}, {"task", m.Input.Task}}
	if m.e.Names != nil && len(m.e.Names) <= names {
		in = append(in, field{"label_names", m.e.Names})
	}
	head = object{{"schema", Schema}, {"input", in}, {"verdict", m.Verdict()}, {"metrics", m.averages()}}
	tail = object{{"state", object{{"sha256", m.State}}}, {"warnings", warnings}}
	return head, tail
}

// WriteJSON writes the document, indented, with a final newline. It writes one label at a time, so that the documents of many labels
// are not in memory at once. Each is the document of a binary task, with the number of the label.
func (m *Multilabel) WriteJSON(w io.Writer) error {
	head, tail := m.ends(len(m.e.Names))
	b := bufio.NewWriter(w)
	indented := func(v json.Marshaler, prefix string) ([]byte, error) {
		j, err := v.MarshalJSON()
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		err = json.Indent(&out, j, prefix, "  ")
		return out.Bytes(), err
	}
	j, err := indented(head, "")
	if err != nil {
		return err
	}
	b.Write(bytes.TrimSuffix(j, []byte("\n}")))
	b.WriteString(",\n  \"labels\": [")
	for i := range m.Labels {
		if j, err = indented(&numbered{i, m.Document(i)}, "    "); err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    ")
		b.Write(j)
	}
	if j, err = indented(tail, ""); err != nil {
		return err
	}
	b.WriteString("\n  ],")
	b.Write(bytes.TrimPrefix(j, []byte("{")))
	b.WriteByte('\n')
	return b.Flush()
}

// numbered returns the document of a label with its number in front.
type numbered struct {
	label int
	d     *Document
}

func (n *numbered) MarshalJSON() ([]byte, error) {
	b, err := n.d.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, `{"label":%d,`, n.label), b[1:]...), nil
}
