package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	between = 2 // columns between those of a table, which begins one from the left
	// ofKey is the width of most names of metrics. Longer ones stand in a line of their own rather than take the room of meanings.
	ofKey = 18
	// fewMetrics have no headings of their families.
	fewMetrics = 16
)

// plain writes the metrics for a screen: a line each, or two where their meanings have no room beside the numbers.
func (d *Document) plain(w io.Writer, width int) error {
	if width <= 0 {
		width = DefaultWidth
	}
	head := []string{"Metric", "Value", d.levelText(), "What it says"}
	var rows [][]string
	var families []string // of the rows
	for i := range d.Metrics {
		m := &d.Metrics[i]
		if d.repeats(m) {
			continue
		}
		rows = append(rows, []string{m.Key, d.valueText(m), interval(m), d.gap(m), d.byChance(m)})
		families = append(families, eval.Describe(m.Name).Family())
	}
	size := make([]int, len(head)) // of the columns
	for c := range size {
		if c < 3 {
			size[c] = len(head[c])
		}
		for _, r := range rows {
			size[c] = max(size[c], len(r[c]))
		}
	}
	numbers := 1 + size[1] + size[2] + 2*between // and the margin
	beside := width-numbers-between-size[3] >= min(size[0], ofKey)
	room := width - numbers
	if beside {
		room -= between + size[3]
	}
	size[0] = min(size[0], max(room, len(head[0])))
	left := width - numbers - size[0] - between // of a meaning

	var b strings.Builder
	line := func(key, value, ends, meaning string) {
		s := fmt.Sprintf(" %s%*s  %-*s  %s", key, size[0]+between+size[1]-len(key), value, size[2], ends, meaning)
		b.WriteString(strings.TrimRight(s, " ") + "\n")
	}
	if !beside {
		head[3] = ""
	}
	line(head[0], head[1], head[2], head[3])
	put := func(r []string) {
		keys := strings.Split(fold(r[0], ",", size[0]), "\n")
		last := keys[len(keys)-1]
		for _, k := range keys[:len(keys)-1] {
			b.WriteString(" " + k + "\n")
		}
		if len(last) > size[0] && len(last)+1+len(r[1]) > size[0]+between+size[1] { // it may take what the number leaves
			b.WriteString(" " + last + "\n")
			last = ""
		}
		both := r[3]
		if r[4] != "" {
			both += " (" + r[4] + ")"
		}
		switch {
		case !beside:
			line(last, r[1], r[2], "")
			b.WriteString("   " + strings.ReplaceAll(Wrap(both, max(1, width-3)), "\n", "\n   ") + "\n")
		case len(both) <= left:
			line(last, r[1], r[2], both)
		case r[4] != "" && len(r[4]) <= left:
			line(last, r[1], r[2], r[4])
		default:
			line(last, r[1], r[2], r[3])
		}
	}
	if len(rows) <= fewMetrics {
		for _, r := range rows {
			put(r)
		}
	} else {
		for _, f := range eval.Families() {
			if slices.Contains(families, f) {
				b.WriteString("\n" + f + "\n")
			}
			for i, r := range rows {
				if families[i] == f {
					put(r)
				}
			}
		}
	}
	if l := d.clustersLine(); l != "" {
		b.WriteString("\n" + Wrap(l, width) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wideEnough is the width from which the diagram stands beside the table.
const wideEnough = 150

// Wide reports whether Screen writes the reliability diagram beside the metrics: if there is one, and width has room for both.
func (d *Document) Wide(width int) bool { return width >= wideEnough && d.Input.Classes > 0 }

// Screen writes the metrics as Table does in the format Plain, and the reliability diagram beside them if Wide says so. color adds ANSI
// colours. No line ends in a space.
func (d *Document) Screen(w io.Writer, color bool, width int) error {
	if !d.Wide(width) {
		return d.plain(w, width)
	}
	const gap, least = 4, 67 // least columns of the diagram
	var table, diagram strings.Builder
	if err := d.plain(&table, min(DefaultWidth, width-gap-least)); err != nil {
		return err
	}
	lines, wide := strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n"), 0
	for _, l := range lines {
		wide = max(wide, text.StringWidthWithoutEscSequences(l))
	}
	if err := d.Diagram(&diagram, color, width-wide-gap); err != nil {
		return err
	}
	beside := strings.Split(strings.TrimSuffix(diagram.String(), "\n"), "\n")
	for i := range max(len(lines), len(beside)) {
		l := ""
		if i < len(lines) {
			l = lines[i]
		}
		if i < len(beside) {
			l += strings.Repeat(" ", wide+gap-text.StringWidthWithoutEscSequences(l)) + beside[i]
		}
		if _, err := io.WriteString(w, strings.TrimRight(l, " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// repeats reports whether a metric is what ece stands for, and ece is there too.
func (d *Document) repeats(m *Metric) bool {
	ece := d.Find("ece")
	return ece != nil && m.Key != "ece" && d.namesake(ece) == m.Key
}

// byChance says what a metric is by chance, or under calibration; "" if that is not known, or is what its name suggests.
func (d *Document) byChance(m *Metric) string {
	switch {
	case m.Chance.Known:
		return chance(m.Chance)
	case m.Expected != 0:
		return short(m.Expected) + " if calibrated"
	}
	return ""
}

// unbroken is a space at which text of a narrow table is not broken. No name has one, since it cannot be seen and is written as \u00a0.
const unbroken = "\u00a0"

// narrow is a table that leaves columns out where a screen has no room for them.
type narrow struct {
	head    []string
	rows    [][]string
	numbers int   // the first column of numbers; those before it are text
	texts   int   // columns of text at the end
	wrapped int   // how wide the lines of the first column have to be at least if they are broken; 0 if they are not
	drop    []int // columns to leave out, the first of them first
	whole   int   // how many of these go before lines of the first column are broken
}

// without removes a column.
func (n *narrow) without(column int) {
	n.head = slices.Delete(slices.Clone(n.head), column, column+1)
	if column < n.numbers {
		n.numbers--
	}
	for i, r := range n.rows {
		n.rows[i] = slices.Delete(slices.Clone(r), column, column+1)
	}
	var drop []int
	for _, c := range n.drop {
		switch {
		case c > column:
			drop = append(drop, c-1)
		case c < column:
			drop = append(drop, c)
		}
	}
	n.drop = drop
}

// render writes the table, and returns the heads of the columns that it left out.
func (n *narrow) render(w io.Writer, f Format, width int) (left []string, err error) {
	if width <= 0 {
		width = DefaultWidth
	}
	keep := make([]bool, len(n.head))
	size := make([]int, len(n.head))
	used := 1 - between
	for c := range n.head {
		keep[c], size[c] = true, text.StringWidthWithoutEscSequences(n.head[c])
		for _, r := range n.rows {
			size[c] = max(size[c], text.LongestLineLen(r[c]))
		}
		used += size[c] + between
	}
	broken := 0 // columns that the first one gives up
	if f == Plain {
		spare := max(0, size[0]-n.wrapped)
		if n.wrapped == 0 {
			spare = 0
		}
		for k, c := range n.drop {
			if used <= width || k >= n.whole && used-spare <= width {
				break
			}
			keep[c], used = false, used-size[c]-between
			left = append(left, n.head[c])
		}
		broken = min(spare, max(0, used-width))
	}
	t := table.NewWriter()
	cells := func(l []string, body bool) (r table.Row) {
		for c, s := range l {
			if c == 0 && broken > 0 && body {
				s = Wrap(s, size[0]-broken)
			}
			s = strings.ReplaceAll(s, unbroken, " ")
			if keep[c] {
				r = append(r, s)
			}
		}
		return r
	}
	t.AppendHeader(cells(n.head, false))
	for _, r := range n.rows {
		t.AppendRow(cells(r, true))
	}
	texts := 0
	for c := range n.numbers {
		if keep[c] {
			texts++
		}
	}
	last := 0
	for c := range n.head[:len(n.head)-n.texts] {
		if keep[c] {
			last++
		}
	}
	slices.Sort(left)
	return left, render(w, t, f, texts+1, last)
}

// rest says how many rows and which columns a table leaves out; "" if none. all are the formats that have them.
func rest(rows int, what string, columns []string, all string) string {
	var l []string
	if rows > 0 {
		l = append(l, countOf(int64(rows), "more "+what))
	}
	if len(columns) > 0 {
		l = append(l, "no room for "+listed(columns, "and"))
	}
	if len(l) == 0 {
		return ""
	}
	return fmt.Sprintf("(%s: %v %s has all)", strings.Join(l, ", "), setting.Format, all)
}
