package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/sliced"
)

// Slices are the slices of an evaluation, worst first.
type Slices struct {
	Columns []sliced.Column
	Options sliced.ListOptions
	List    []sliced.Slice
	Left    int    // slices with fewer rows than Options.MinRows
	Reason  string // why there are none
	// Clustered says that rows are of clusters, by which slices are tested; those of fewer than sliced.MinClusters are not.
	Clustered bool
	Exact     bool // each distinct score of each finest slice has a cell
	Worst     *eval.Multicalibration
	Gap       *eval.Multicalibration

	most int // number of slices that JSON has, the worst first; 0 for all
}

// WithList returns the slices with at most so many in their JSON, the worst first. What is said of all slices stays.
func (s *Slices) WithList(most int) *Slices {
	c := *s
	c.most = most
	return &c
}

// SlicesOf returns the slices of an evaluation.
func SlicesOf(e *sliced.Evaluation, o sliced.ListOptions) *Slices {
	s := &Slices{Columns: e.Columns, Options: o, Worst: e.Multicalibration(false), Gap: e.LargestGap(), Clustered: e.Whole().Spec.Cluster != "", Exact: e.Exact()}
	s.List, s.Left, s.Reason = e.List(o)
	return s
}

// significant returns how many slices are miscalibrated after adjustment.
func (s *Slices) significant() (n int) {
	for i := range s.List {
		if s.List[i].Adjusted < 1-s.Options.Level {
			n++
		}
	}
	return n
}

// tested returns how many slices are tested.
func (s *Slices) tested() (n int) {
	for i := range s.List {
		if x := &s.List[i]; x.P == x.P {
			n++
		}
	}
	return n
}

// method names the adjustment in documents.
func (s *Slices) method() string {
	if s.Options.Adjust == sliced.BenjaminiHochberg {
		return "bh"
	}
	return "holm"
}

// Sentence says how many slices are miscalibrated, and which segment is the worst.
func (s *Slices) Sentence() string {
	if s.Reason != "" {
		return "Slices: none, since " + s.Reason + "."
	}
	name := map[string]string{"holm": "Holm", "bh": "Benjamini and Hochberg"}[s.method()]
	var b strings.Builder
	tested := s.tested()
	switch n := s.significant(); {
	case tested == 0 && s.Clustered && len(s.List) > 0:
		fmt.Fprintf(&b, "Slices: none is tested, since none has %s.", countOf(sliced.MinClusters, "cluster"))
	case len(s.List) == 0:
		fmt.Fprintf(&b, "Slices: none has %s rows.", Count(s.Options.MinRows))
	case n == 0:
		fmt.Fprintf(&b, "Slices: none of %s is off in the large (p adjusted by %s).", Count(int64(tested)), name)
	default:
		verb := "are"
		if n == 1 {
			verb = "is"
		}
		fmt.Fprintf(&b, "Slices: %s of %s %s off in the large (p adjusted by %s).", Count(int64(n)), countOf(int64(tested), "slice"), verb, name)
	}
	if n := len(s.List) - tested; n > 0 && tested > 0 {
		verb := "are"
		if n == 1 {
			verb = "is"
		}
		fmt.Fprintf(&b, " %s of fewer than %s %s not tested.", countOf(int64(n), "slice"), countOf(sliced.MinClusters, "cluster"), verb)
	}
	if w := s.Worst; w.Reason == "" && len(w.Worst) > 0 {
		var of []string
		for _, v := range w.Worst {
			of = append(of, condition(v[0], v[1], Markdown))
		}
		fmt.Fprintf(&b, " The segment with the largest ECCE: %s, of %s.", strings.Join(of, ", "), countOf(w.Rows, "row"))
	}
	return b.String()
}

// mostSlices is the largest number of slices in a table on a terminal.
const mostSlices = 20

// Table writes a row for each slice, in the format Plain or Markdown. Plain has the first 20.
func (s *Slices) Table(w io.Writer, f Format, width int) error {
	if len(s.List) == 0 {
		return nil
	}
	// In columns 0 to 7; the names of slices may be broken.
	t := narrow{head: []string{"slice", "rows", "mean score", "frequency", "gap", s.levelText(), "p", "p adjusted"}, numbers: 1, wrapped: 24, drop: []int{6, 2, 3, 5}, whole: 3}
	shown := s.List
	if f == Plain && len(shown) > mostSlices {
		shown = shown[:mostSlices]
	}
	for i := range shown {
		x := &shown[i]
		var of []string
		for k, c := range x.Columns {
			of = append(of, strings.ReplaceAll(condition(c, x.Values[k], f), " ", unbroken))
		}
		ends := ""
		if x.Interval.Low == x.Interval.Low {
			ends = "[" + short(x.Interval.Low) + ", " + short(x.Interval.High) + "]"
		}
		t.rows = append(t.rows, []string{strings.Join(of, ", "), Count(x.Rows), short(x.Mean), short(x.Frequency), short(x.Gap), ends, pText(x.P), pText(x.Adjusted)})
	}
	left, err := t.render(w, f, width)
	said := rest(len(s.List)-len(shown), "slice", left, "csv, markdown or json")
	if err != nil || f == Markdown || said == "" {
		return err
	}
	if width <= 0 {
		width = DefaultWidth
	}
	_, err = io.WriteString(w, Wrap(said, width)+"\n")
	return err
}

// Name names the i-th slice: site = north, age = [40, 60).
func (s *Slices) Name(i int) string {
	x := &s.List[i]
	var of []string
	for k, c := range x.Columns {
		of = append(of, condition(c, x.Values[k], Markdown))
	}
	return strings.Join(of, ", ")
}

// condition returns what the rows of a slice have in common.
func condition(column, value string, f Format) string {
	equal := " = "
	if end, ok := strings.CutPrefix(value, "< "); ok || strings.HasPrefix(value, "> ") {
		if !ok {
			end = value[2:]
		}
		if _, err := strconv.ParseFloat(end, 64); err == nil { // a bin beyond the edges
			equal = " "
		}
	}
	return valueName(column, f) + equal + valueName(value, f)
}

// csvRows returns the rows of all slices, each after the cells of the slice.
func (s *Slices) csvRows() (rows [][]string) {
	level := full(s.Options.Level)
	for i := range s.List {
		x := &s.List[i]
		before := []string{s.Name(i), fmt.Sprint(x.Rows)}
		ends := level
		if math.IsNaN(x.Interval.Low) {
			ends = ""
		}
		rows = append(rows,
			append(slices.Clone(before), "slice_gap", full(x.Gap), full(x.Interval.Low), full(x.Interval.High), ends, "", "mean score minus share of rows with the event"),
			append(slices.Clone(before), "slice_p", full(x.P), "", "", "", "", "test of the number of events"),
			append(slices.Clone(before), "slice_p_adjusted", full(x.Adjusted), "", "", "", "", "the same, adjusted for the number of slices"))
	}
	return rows
}

func (s *Slices) levelText() string { return fmt.Sprintf("%s%% interval", short(100*s.Options.Level)) }

func (s *Slices) object() object {
	columns := make([]object, len(s.Columns))
	for i, c := range s.Columns {
		edges := any(nil)
		if c.Edges != nil {
			l := make([]any, len(c.Edges))
			for k, x := range c.Edges {
				l[k] = number(x)
			}
			edges = l
		}
		columns[i] = object{{"name", c.Name}, {"score", c.Score}, {"edges", edges}}
	}
	list := make([]object, len(s.List))
	if s.most > 0 && len(list) > s.most {
		list = list[:s.most]
	}
	for i := range list {
		x := &s.List[i]
		by := object{}
		for k, c := range x.Columns {
			by = append(by, field{c, x.Values[k]})
		}
		list[i] = object{{"slice", by}, {"rows", x.Rows}, {"events", x.Events}, {"mean_score", number(x.Mean)}, {"frequency", number(x.Frequency)},
			{"gap", number(x.Gap)}, {"low", number(x.Interval.Low)}, {"high", number(x.Interval.High)}, {"level", s.Options.Level},
			{"p", number(x.P)}, {"p_adjusted", number(x.Adjusted)}}
		if s.Clustered {
			list[i] = append(list[i], field{"clusters", x.Clusters})
		}
	}
	worst, gap := any(nil), any(nil)
	if m := s.Worst; m.Reason == "" {
		by := object{}
		for _, v := range m.Worst {
			by = append(by, field{v[0], v[1]})
		}
		worst = object{{"segment", by}, {"rows", m.Rows}, {"segments", m.Segments}, {"error_bound", number(m.Bound)}}
	}
	if m := s.Gap; m.Reason == "" {
		gap = object{{"compared", m.Cells}, {"draws", m.Draws}}
	}
	reason := any(nil)
	if s.Reason != "" {
		reason = s.Reason
	}
	return object{{"columns", columns}, {"min_rows", s.Options.MinRows}, {"adjust", s.method()}, {"left_out", s.Left}, {"exact", s.Exact}, {"reason", reason},
		{"multicalibration", worst}, {"largest_gap", gap}, {"list", list}}
}
