package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/jedib0t/go-pretty/v6/table"
)

// Format is the format of a table.
type Format string

// The formats.
const (
	Plain    Format = "table"    // for a terminal
	Markdown Format = "markdown" // for a page
	CSV      Format = "csv"      // for a spreadsheet, with all digits
)

// DefaultWidth is the width of plain text, in columns, if the terminal gives none.
const DefaultWidth = 100

// Table writes the metrics in the given format. Plain keeps to width columns where its numbers allow; 0 means DefaultWidth. No line
// ends in a space.
func (d *Document) Table(w io.Writer, f Format, width int) error {
	switch f {
	case CSV:
		return d.csv(w)
	case Markdown:
		t := table.NewWriter()
		t.AppendHeader(table.Row{"Metric", "Value", d.levelText(), "What it says"})
		for i := range d.Metrics {
			m := &d.Metrics[i]
			if d.repeats(m) {
				continue
			}
			mean := m.Mean
			if n := d.namesake(m); n != "" {
				mean += " (here " + n + ")"
			}
			if c := m.Chance; c.Known {
				mean += "; " + chance(c)
			}
			if m.Expected != 0 {
				mean += "; " + short(m.Expected) + " if calibrated"
			}
			t.AppendRow(table.Row{m.Key, d.valueText(m), interval(m), mean})
		}
		below := ""
		if l := d.clustersLine(); l != "" {
			below = "\n" + l + "\n"
		}
		_, err := io.WriteString(w, t.RenderMarkdown()+"\n"+below)
		return err
	}
	return d.plain(w, width)
}

func (d *Document) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	head := []string{"metric", "value", "low", "high", "level", "better", "meaning"}
	if d.Slices != nil {
		// The rows of the whole have no slice.
		rows := append([][]string{append([]string{"slice", "rows"}, head...)}, d.csvRows([]string{"", strconv.FormatInt(d.Input.Rows, 10)})...)
		return c.WriteAll(append(rows, d.Slices.csvRows()...))
	}
	if d.Tests == nil {
		return c.WriteAll(append([][]string{head}, d.csvRows(nil)...))
	}
	// The rows of the whole have empty values here.
	columns := d.Tests.Columns
	rows := [][]string{slices.Concat(visible.Texts(columns), []string{"rows"}, head)}
	rows = append(rows, d.csvRows(append(make([]string, len(columns)), strconv.FormatInt(d.Input.Rows, 10)))...)
	for _, g := range d.Groups {
		rows = append(rows, g.csvRows(append(visible.Texts(g.Values), strconv.FormatInt(g.Input.Rows, 10)))...)
	}
	rows = append(append(rows, d.Tests.csvRows()...), d.Tests.testRows()...)
	return c.WriteAll(rows)
}

// csvRows returns a row per metric, each after the cells of before.
func (d *Document) csvRows(before []string) (rows [][]string) {
	for i := range d.Metrics {
		m := &d.Metrics[i]
		rows = append(rows, slices.Concat(before, []string{m.Key, full(m.Value.Value), full(m.Interval.Low), full(m.Interval.High), full(m.Level), string(m.Better), m.Mean}))
	}
	return rows
}

func (d *Document) levelText() string {
	return strconv.FormatFloat(math.Round(1e8*d.level)/1e6, 'f', -1, 64) + "% interval"
}

// namesake names the metric that ece stands for if its event depends on the predictions; "" for other metrics.
func (d *Document) namesake(m *Metric) string {
	switch {
	case m.Name != "ece" || d.shape.Classes > 2 || m.Event == calib.ByShape:
		return ""
	case m.Event == calib.Positive:
		return "ece_positive"
	}
	return "ece_top_label"
}

// chance says what a calibrated model would show.
func chance(c eval.Chance) string {
	if c.P < 1e-300 {
		return fmt.Sprintf("floor %s, p < 1e-300", short(c.Floor))
	}
	return fmt.Sprintf("floor %s, p %.2g", short(c.Floor), c.P)
}

// gap returns the short meaning of a metric, which of ece says the event.
func (d *Document) gap(m *Metric) string {
	n := d.namesake(m)
	switch {
	case m.Short != eval.Describe("ece").Short: // of another norm
	case n == "ece_positive":
		return "gap of P(y = 1)"
	case n != "":
		return "gap of top label"
	}
	return m.Short
}

func (d *Document) valueText(m *Metric) string {
	if v := m.Value.Value; m.Whole && v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return Count(int64(v))
	}
	return short(m.Value.Value)
}

func interval(m *Metric) string {
	if !m.hasInterval() {
		return ""
	}
	return "[" + short(m.Interval.Low) + ", " + short(m.Interval.High) + "]"
}

// Texts returns the value and its interval as tables show them. The interval is "" if there is none.
func (m *Metric) Texts() (value, ends string) { return new(Document).valueText(m), interval(m) }

// short formats a value with about five digits.
func short(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 0):
		return fmt.Sprintf("%+v", v)
	case v == math.Trunc(v) && math.Abs(v) >= 10 && math.Abs(v) < 1e15:
		return Count(int64(v))
	case v == 0:
		return "0"
	case math.Abs(v) < 1e-4 || math.Abs(v) >= 1e6:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case math.Abs(v) < 10:
		return strconv.FormatFloat(v, 'f', 5, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// full formats a value with all digits; "" if undefined.
func full(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case math.IsInf(v, 0):
		return fmt.Sprintf("%+v", v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Wrap breaks text at spaces into lines of at most width columns. A longer word gets a line of its own.
func Wrap(s string, width int) string { return fold(s, " ", width) }

// fold breaks text after separators. A space is dropped at the break.
func fold(s, separator string, width int) string {
	var out strings.Builder
	n := 0
	for part := range strings.SplitAfterSeq(s, separator) {
		word := strings.TrimRight(part, " ")
		if n > 0 && n+utf8.RuneCountInString(word) > width {
			out.WriteByte('\n')
			n = 0
		}
		out.WriteString(part)
		n += utf8.RuneCountInString(part)
	}
	return strings.ReplaceAll(out.String(), " \n", "\n")
}
