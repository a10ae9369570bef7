package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/candor-go/candor/metrics"
)

// BestSchema is the schema of a Best's JSON.
const BestSchema = "candor-recal-best/1"

// Best are recalibration methods that were compared, and the one that was chosen.
type Best struct {
	Rows, Clusters int64 // Clusters is 0 without clusters
	Folds          int
	Loss           string // a metric: "nll"
	Level          float64
	Methods        []Tried // the first is no recalibration
	Lowest, Chosen int     // indices of Methods
	Map            json.RawMessage
	Warnings       []string
}

// Tried is a method that was tried. Its numbers are by cross-fitting.
type Tried struct {
	Method, Title string
	Parameters    int
	Reason        string // why it has no fit; "" if it has one
	Loss          float64
	Infinite      int64 // rows of infinite loss
	Within        bool  // the interval of FromLowest has 0 in it
	FromLowest    TriedChange
	FromNone      TriedChange
}

// TriedChange is the loss of a method minus that of another one.
type TriedChange struct {
	Value    float64
	Interval metrics.Interval
	P        float64
}

// Says says in one sentence which method is chosen, what it does, and why it is not another one.
func (b *Best) Says() string {
	c, l := &b.Methods[b.Chosen], &b.Methods[b.Lowest]
	loss := say(b.Loss)
	size := func(t TriedChange, sign float64) string {
		i := metrics.Interval{Low: sign * t.Interval.Low, High: sign * t.Interval.High}
		if sign < 0 {
			i.Low, i.High = i.High, i.Low
		}
		if math.IsNaN(i.Low) {
			return number4(sign * t.Value)
		}
		n := decimals(i)
		return fmt.Sprintf("%s [%s, %s]", plain(sign*t.Value, n), plain(i.Low, n), plain(i.High, n))
	}
	tried := 0
	for _, m := range b.Methods {
		if m.Reason == "" {
			tried++
		}
	}
	s := c.Title + ": "
	switch d := c.FromNone; {
	case b.Chosen == 0:
		s += fmt.Sprintf("%s is %s as it is", loss, number4(c.Loss))
	case math.IsInf(d.Value, 0):
		s += fmt.Sprintf("%s is %s, and infinite before", loss, number4(c.Loss))
	case d.Value > 0:
		s += fmt.Sprintf("%s rises by %s, from %s to %s", loss, size(d, 1), number4(b.Methods[0].Loss), number4(c.Loss))
	default:
		s += fmt.Sprintf("%s falls by %s, from %s to %s", loss, size(d, -1), number4(b.Methods[0].Loss), number4(c.Loss))
	}
	switch {
	case tried == 1:
		return s + ", and no method could be fitted."
	case b.Chosen == b.Lowest:
		return s + fmt.Sprintf(", the lowest of %d candidates, and none with fewer parameters is within noise of it.", tried)
	}
	return s + fmt.Sprintf("; that of %s is the lowest, by %s, which is within noise, and takes %s in place of %s.", l.Title, size(c.FromLowest, 1),
		countOf(int64(l.Parameters), "parameter"), Count(int64(c.Parameters)))
}

// number4 formats a loss with four significant digits.
func number4(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case math.IsInf(v, 0):
		return "inf"
	case v == 0:
		return "0"
	}
	return strings.TrimSuffix(fmt.Sprintf("%#.4g", v), ".")
}

// JSON returns the document, indented, with a final newline.
func (b *Best) JSON() ([]byte, error) {
	change := func(t TriedChange) object {
		return object{{"value", number(t.Value)}, {"low", number(t.Interval.Low)}, {"high", number(t.Interval.High)}, {"p", number(t.P)}}
	}
	var l []object
	for _, m := range b.Methods {
		o := object{{"method", m.Method}}
		if m.Reason != "" {
			l = append(l, append(o, field{"reason", m.Reason}))
			continue
		}
		l = append(l, append(o, field{"parameters", m.Parameters}, field{"loss", number(m.Loss)}, field{"infinite_rows", m.Infinite},
			field{"from_lowest", change(m.FromLowest)}, field{"from_none", change(m.FromNone)}, field{"within_noise", m.Within}))
	}
	o := object{{"schema", BestSchema}, {"says", b.Says()}, {"chosen", b.Methods[b.Chosen].Method}, {"lowest", b.Methods[b.Lowest].Method}, {"loss", b.Loss},
		{"level", b.Level}, {"folds", b.Folds}, {"rows", b.Rows}}
	if b.Clusters > 0 {
		o = append(o, field{"clusters", b.Clusters})
	}
	o = append(o, field{"methods", l}, field{"map", b.Map}, field{"warnings", append([]string{}, b.Warnings...)})
	j, err := marshal(o)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, j, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// rising returns the methods by rising loss, and behind them those without a fit.
func (b *Best) rising() []*Tried {
	var l []*Tried
	for i := range b.Methods {
		l = append(l, &b.Methods[i])
	}
	key := func(t *Tried) float64 {
		if t.Reason != "" {
			return math.Inf(1)
		}
		return t.Loss
	}
	slices.SortStableFunc(l, func(x, y *Tried) int {
		switch a, b := key(x), key(y); {
		case a < b || a == b && x.Reason == "" && y.Reason != "":
			return -1
		case a > b || a == b && x.Reason != "" && y.Reason == "":
			return 1
		}
		return 0
	})
	return l
}

// note says what is special about a method.
func (b *Best) note(t *Tried) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t == &b.Methods[b.Chosen] && b.Chosen == b.Lowest:
		return "chosen: the lowest"
	case t == &b.Methods[b.Chosen]:
		return "chosen: the simplest within noise"
	case t == &b.Methods[b.Lowest]:
		return "the lowest"
	case t.Infinite > 0:
		return "probability 0 for the true class of " + countOf(t.Infinite, "row")
	case t.Within:
		return "within noise"
	}
	return ""
}

// Table writes the methods by rising loss.
func (b *Best) Table(w io.Writer, f Format, width int) error {
	if f == CSV {
		rows := [][]string{{"method", "parameters", "loss", "infinite_rows", "from_lowest", "from_lowest low", "from_lowest high", "from_none", "from_none low", "from_none high", "within_noise",
			"chosen", "reason"}}
		for i := range b.Methods {
			t := &b.Methods[i]
			if t.Reason != "" {
				rows = append(rows, append(append([]string{t.Method}, make([]string, 11)...), t.Reason))
				continue
			}
			rows = append(rows, []string{t.Method, strconv.Itoa(t.Parameters), full(t.Loss), strconv.FormatInt(t.Infinite, 10), full(t.FromLowest.Value), full(t.FromLowest.Interval.Low),
				full(t.FromLowest.Interval.High), full(t.FromNone.Value), full(t.FromNone.Interval.Low), full(t.FromNone.Interval.High), strconv.FormatBool(t.Within), strconv.FormatBool(i == b.Chosen), ""})
		}
		return csv.NewWriter(w).WriteAll(rows)
	}
	t := table.NewWriter()
	t.AppendHeader(table.Row{"Method", "Parameters", b.Loss, "Above the lowest", ""})
	for _, m := range b.rising() {
		if m.Reason != "" {
			t.AppendRow(table.Row{m.Method, "", "", "", m.Reason})
			continue
		}
		above := ""
		if i := m.FromLowest.Interval; !math.IsNaN(i.Low) && m != &b.Methods[b.Lowest] {
			n := decimals(i)
			above = fmt.Sprintf("%s [%s, %s]", plain(m.FromLowest.Value, n), plain(i.Low, n), plain(i.High, n))
		}
		t.AppendRow(table.Row{m.Method, Count(int64(m.Parameters)), number4(m.Loss), above, b.note(m)})
	}
	if f == Markdown {
		_, err := io.WriteString(w, t.RenderMarkdown()+"\n")
		return err
	}
	st := table.StyleLight
	st.Options = table.OptionsNoBordersAndSeparators
	st.Format.Header = text.FormatDefault
	t.SetStyle(st)
	t.SuppressTrailingSpaces()
	columns := []table.ColumnConfig{{Number: 2, Align: text.AlignRight}, {Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight}}
	if width > 0 {
		columns = append(columns, table.ColumnConfig{Number: 5, WidthMax: max(20, width-62), WidthMaxEnforcer: text.WrapSoft})
	}
	t.SetColumnConfigs(columns)
	_, err := io.WriteString(w, t.Render()+"\n")
	return err
}
