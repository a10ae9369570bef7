package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/regress"
)

// ComparisonSchema is the schema of a Comparison's JSON.
const ComparisonSchema = "candor-compare/1"

// Named is a document with the name of what was evaluated.
type Named struct {
	Name string
	*Document
}

// Comparison holds documents side by side: evaluations of the same rows by the same metrics.
type Comparison struct {
	Sets        []Named
	Differences *Differences // nil if the sets were not read side by side
	Skills      []RelativeSkill
	Dropped     *Dropped // rows that not every set has; nil if all have all
	Warnings    []string // about the whole comparison
}

// Dropped says how many rows are left out of a comparison because not every set has them.
type Dropped struct {
	Rows int64
	By   []string // the columns by which rows are matched
}

// Text says it in words.
func (d *Dropped) Text() string {
	by := strings.Join(visible.Texts(d.By), ", ")
	if d.Rows == 1 {
		return "1 row is left out, as its " + by + " is not in every set"
	}
	return Count(d.Rows) + " rows are left out, as their " + by + " is not in every set"
}

// SetNotes returns the notes of each set that a function says, behind the name of the set; one that all sets have stands once.
func (c *Comparison) SetNotes(of func(*Document) []string) (l []string) {
	all := make([][]string, len(c.Sets))
	for i, s := range c.Sets {
		all[i] = of(s.Document)
	}
	for i, s := range c.Sets {
		for _, w := range all[i] {
			shared := len(all) > 1
			for _, o := range all {
				shared = shared && slices.Contains(o, w)
			}
			switch {
			case shared && i > 0:
			case shared && strings.HasSuffix(w, " left out"):
				l = append(l, w+" of every set")
			case shared:
				l = append(l, "every set: "+w)
			default:
				l = append(l, visible.Text(s.Name)+": "+w)
			}
		}
	}
	return l
}

// RelativeSkill is the relative skill of the sets by a loss, in the order of the sets.
type RelativeSkill struct {
	Loss     string
	Baseline string // name of a set; "" if there is none
	Names    []string
	Skills   []regress.Skill
}

func (r *RelativeSkill) object() object {
	o := object{{"loss", r.Loss}}
	if r.Baseline != "" {
		o = append(o, field{"baseline", r.Baseline})
	}
	sets := make([]object, len(r.Names))
	for i, s := range r.Skills {
		sets[i] = object{{"name", r.Names[i]}, {"rows", s.Rows}, {"relative_skill", number(s.Relative)}}
		if r.Baseline != "" {
			sets[i] = append(sets[i], field{"scaled_relative_skill", number(s.Scaled)}, field{"ratio", number(s.Ratio)})
		}
	}
	return append(o, field{"sets", sets})
}

// JSON returns {"schema": "candor-compare/1", "sets": [...], "differences": [...]}, indented, with a final newline. Each set is its
// document with its name in front. Relative skills and warnings follow if there are any.
func (c *Comparison) JSON() ([]byte, error) {
	var out bytes.Buffer
	err := c.WriteJSON(&out)
	return out.Bytes(), err
}

// WriteJSON writes what JSON returns, with only a part of many groups in memory at a time.
func (c *Comparison) WriteJSON(w io.Writer) error {
	sets := make([]object, len(c.Sets))
	for i, s := range c.Sets {
		sets[i] = append(object{{"name", s.Name}, {"schema", Schema}}, s.object()...)
	}
	o := object{{"schema", ComparisonSchema}, {"sets", sets}}
	if d := c.Differences; d != nil {
		o = append(o, field{"says", d.Sentence()})
		if d.Adjust != compared.Holm {
			o = append(o, field{"adjust", d.Adjust.String()})
		}
		o = append(o, field{"differences", d.objects()})
		if len(d.Flips) > 0 {
			o = append(o, field{"flips", d.flips()})
		}
		if d.Groups != nil {
			o = append(o, field{"group_differences", d.groupsObject()})
		}
	}
	if d := c.Dropped; d != nil {
		o = append(o, field{"dropped", object{{"rows", d.Rows}, {"by", d.By}, {"reason", "not in every set"}}})
	}
	if len(c.Skills) > 0 {
		l := make([]object, len(c.Skills))
		for i := range c.Skills {
			l[i] = c.Skills[i].object()
		}
		o = append(o, field{"relative_skill", l})
	}
	if len(c.Warnings) > 0 {
		o = append(o, field{"warnings", c.Warnings})
	}
	return writeJSON(w, o)
}

// Best reports which sets have the best value of the i-th metric: where there are differences, the one that is decidedly better than
// every other set. Without them it is every set with the best value, unless all values are equal or the metric is neither better lower
// nor better higher.
func (c *Comparison) Best(i int) []bool {
	if c.Differences != nil {
		return c.Differences.best(c.Sets[0].Metrics[i].Key)
	}
	best := make([]bool, len(c.Sets))
	sign := map[eval.Direction]float64{eval.Lower: -1, eval.Higher: 1}[c.Sets[0].Metrics[i].Better]
	if sign == 0 {
		return best
	}
	most, least := math.Inf(-1), math.Inf(1)
	for _, s := range c.Sets {
		if v := s.Metrics[i].Value.Value; !math.IsNaN(v) {
			most, least = math.Max(most, sign*v), math.Min(least, sign*v)
		}
	}
	for j, s := range c.Sets {
		best[j] = most > least && sign*s.Metrics[i].Value.Value == most
	}
	return best
}

// Columns of a comparison's table.
const (
	padding = 2 // of each column
	star    = 2 // before a value
)

// shown returns the comparison with names that are safe in tables.
func (c *Comparison) shown() *Comparison {
	n := *c
	n.Sets = slices.Clone(c.Sets)
	for i := range n.Sets {
		n.Sets[i].Name = visible.Text(n.Sets[i].Name)
	}
	return &n
}

// Table writes a row per metric and a column per set in the given format. Plain marks the best value of a row with a star. It puts
// intervals beside values if width (0 means DefaultWidth) has room for all sets, otherwise below them, and leaves them out if only values
// have room. Sets that do not fit beside each other then go into several tables, with their intervals. No line ends in a space.
func (c *Comparison) Table(w io.Writer, f Format, width int) error {
	c = c.shown()
	switch {
	case len(c.Sets) == 0:
		return nil
	case f == CSV:
		return c.csv(w)
	case f == Markdown:
		return c.markdown(w)
	}
	if width <= 0 {
		width = DefaultWidth
	}
	names := make([]string, len(c.Sets))
	for i := range names {
		names[i] = c.Sets[i].Name
	}
	for i, n := range briefNames(names) {
		c.Sets[i].Name = n // of a copy
	}
	const legible, word = 6, 20 // of a name, whose column may hold nothing but dashes, and of its longest word
	key, beside, below := len("Metric"), 0, 0
	for _, s := range c.Sets {
		below = max(below, min(len(s.Name), legible))
		for _, w := range strings.FieldsFunc(s.Name, func(r rune) bool { return strings.ContainsRune(parting, r) }) {
			below = max(below, min(text.StringWidthWithoutEscSequences(w)+1, word))
		}
	}
	beside = below
	value := below
	for i := range c.Sets[0].Metrics {
		key = max(key, len(c.Sets[0].Metrics[i].Key))
		for _, s := range c.Sets {
			m := &s.Metrics[i]
			v, e := len(s.valueText(m)), len(interval(m))
			beside, below, value = max(beside, v+1+e), max(below, v, e), max(value, v)
		}
	}
	key = min(key, max(len("Metric"), width/3))
	cell, separator := beside+star, " "
	fits := func() bool { return 1-padding+key+padding+len(c.Sets)*(cell+padding) <= width }
	bare := false
	if !fits() {
		cell, separator = below+star, "\n  "
	}
	if !fits() {
		was := cell
		if cell, bare = value+star, true; !fits() {
			cell, bare = was, false
		}
	}
	if bare {
		separator = ""
	}
	n := max(1, (width-key-padding)/(cell+padding))
	if bare {
		n = len(c.Sets)
	}
	for from := 0; from < len(c.Sets); from += n {
		if from > 0 {
			fmt.Fprintln(w)
		}
		if err := c.plain(w, from, min(from+n, len(c.Sets)), key, cell, separator); err != nil {
			return err
		}
	}
	if !bare {
		return nil
	}
	_, err := io.WriteString(w, Wrap(rest(0, "", []string{"intervals"}, "csv, markdown or json"), width)+"\n")
	return err
}

// briefNames returns names without the words that all have in common at their beginning and at their end, if some are long.
func briefNames(names []string) []string {
	const long = 12
	head, tail := sharedWords(names)
	if head == "" && tail == "" || !slices.ContainsFunc(names, func(n string) bool { return len(n) > long }) {
		return names
	}
	l := make([]string, len(names))
	for i, n := range names {
		l[i] = n[len(head) : len(n)-len(tail)]
	}
	return l
}

// sharedWords returns what all names begin and end with, of whole words and with what parts them from the others, so that something is
// left of each name.
func sharedWords(names []string) (head, tail string) {
	if len(names) < 2 {
		return "", ""
	}
	fits := func(head, tail string) bool {
		for _, n := range names {
			if !strings.HasPrefix(n, head) || !strings.HasSuffix(n, tail) || len(n) <= len(head)+len(tail) {
				return false
			}
		}
		return true
	}
	for i, r := range names[0] {
		if end := i + utf8.RuneLen(r); strings.ContainsRune(parting, r) && fits(names[0][:end], "") {
			head = names[0][:end]
		}
	}
	for i := len(names[0]) - 1; i >= 0; i-- {
		if strings.IndexByte(parting, names[0][i]) >= 0 && fits(head, names[0][i:]) {
			tail = names[0][i:]
		}
	}
	return head, tail
}

// Shortened says what tables on a terminal leave out of names; "" if nothing.
func (c *Comparison) Shortened() string {
	names := make([]string, len(c.Sets))
	for i := range c.Sets {
		names[i] = visible.Text(c.Sets[i].Name)
	}
	if slices.Equal(briefNames(names), names) {
		return ""
	}
	var parts []string
	head, tail := sharedWords(names)
	for _, s := range []string{head, tail} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return "Names stand in tables without " + listed(parts, "and") + "."
}

// foldName breaks a name into lines of at most width columns, behind what parts its words, and within a word only where that is wider.
func foldName(name string, width int) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(parting, r) })
	if len(words) == 0 {
		words = []string{name}
	}
	for _, w := range words {
		if text.StringWidthWithoutEscSequences(w)+1 > width {
			return text.WrapHard(name, width)
		}
	}
	var out strings.Builder
	used, from := 0, 0
	take := func(to int) {
		part := name[from:to]
		n := text.StringWidthWithoutEscSequences(part)
		if used > 0 && used+n > width {
			out.WriteByte('\n')
			used = 0
		}
		out.WriteString(part)
		used, from = used+n, to
	}
	for i, r := range name {
		if strings.ContainsRune(parting, r) {
			take(i + utf8.RuneLen(r))
		}
	}
	take(len(name))
	return strings.ReplaceAll(out.String(), " \n", "\n")
}

// parting are the characters that part the words of names.
const parting = " -_./:,+"

// plain writes the sets c.Sets[from:to].
func (c *Comparison) plain(w io.Writer, from, to, key, cell int, separator string) error {
	head := table.Row{"Metric"}
	for _, s := range c.Sets[from:to] {
		head = append(head, "  "+strings.ReplaceAll(foldName(s.Name, cell-star), "\n", "\n  "))
	}
	t := table.NewWriter()
	t.AppendHeader(head)
	for i := range c.Sets[0].Metrics {
		row := table.Row{fold(c.Sets[0].Metrics[i].Key, ",", key)}
		best := c.Best(i)
		for j := from; j < to; j++ {
			m := &c.Sets[j].Metrics[i]
			v := "  "
			if best[j] {
				v = "* "
			}
			v += c.Sets[j].valueText(m)
			if e := interval(m); e != "" && separator != "" {
				v += separator + e
			}
			row = append(row, v)
		}
		t.AppendRow(row)
	}
	st := table.StyleLight
	st.Options = table.OptionsNoBordersAndSeparators
	st.Format.Header = text.FormatDefault
	t.SetStyle(st)
	t.SuppressTrailingSpaces()
	_, err := io.WriteString(w, t.Render()+"\n")
	return err
}

func (c *Comparison) markdown(w io.Writer) error {
	t := table.NewWriter()
	head := table.Row{"Metric"}
	for _, s := range c.Sets {
		head = append(head, s.Name)
	}
	t.AppendHeader(head)
	for i := range c.Sets[0].Metrics {
		row := table.Row{c.Sets[0].Metrics[i].Key}
		best := c.Best(i)
		for j, s := range c.Sets {
			m := &s.Metrics[i]
			v := s.valueText(m)
			if best[j] {
				v = "**" + v + "**"
			}
			if e := interval(m); e != "" {
				v += " " + e
			}
			row = append(row, v)
		}
		t.AppendRow(row)
	}
	_, err := io.WriteString(w, t.RenderMarkdown()+"\n")
	return err
}

// csv writes a column for each set's value and two for its interval, and five for each difference. If rows are grouped, the columns of
// groups and their numbers of rows come first, and differences of groups follow those of all rows.
func (c *Comparison) csv(w io.Writer) error {
	head := []string{"metric", "level", "better"}
	for _, s := range c.Sets {
		head = append(head, s.Name, s.Name+" low", s.Name+" high")
	}
	if d := c.Differences; d != nil {
		more, _ := d.csvColumns(c.Sets[0].Metrics[0].Key)
		head = append(head, more...)
	}
	var before []string // the cells of groups, which are empty for all rows
	if d := c.Differences; d != nil && d.Groups != nil {
		head = slices.Concat(visible.Texts(d.Groups.Columns), []string{"rows"}, head)
		before = append(make([]string, len(d.Groups.Columns)), strconv.FormatInt(d.Rows, 10))
	}
	rows := [][]string{head}
	for i := range c.Sets[0].Metrics {
		m := &c.Sets[0].Metrics[i]
		row := append(slices.Clone(before), m.Key, full(m.Level), string(m.Better))
		for _, s := range c.Sets {
			m := &s.Metrics[i]
			row = append(row, full(m.Value.Value), full(m.Interval.Low), full(m.Interval.High))
		}
		if d := c.Differences; d != nil {
			_, more := d.csvColumns(m.Key)
			row = append(row, more...)
		}
		rows = append(rows, row)
	}
	if before != nil {
		rows = append(rows, c.Differences.csvGroups(len(c.Sets))...)
	}
	return csv.NewWriter(w).WriteAll(rows)
}
