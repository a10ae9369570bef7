package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// RecalibrationSchema names the layout of a Recalibration's document.
const RecalibrationSchema = "candor-recal/1"

// Recalibration is a fitted map, and what it does for rows that it has not seen.
type Recalibration struct {
	Method        string
	Says          string          // what the map does, in a line or two
	Map           json.RawMessage // its file
	Folds         int
	Before, After *Document // of the same rows and metrics; After is nil where some fold has no fit
	Reason        string    // why there is no After
	Temperatures  []AtTemperature
}

// AtTemperature is what all rows have where their logits are divided by T.
type AtTemperature struct {
	T        float64
	NLL, ECE float64
	Note     string // which T it is, if it is a certain one
}

// Comparison returns the rows before and after, side by side.
func (r *Recalibration) Comparison() Comparison {
	c := Comparison{{"before", r.Before}}
	if r.After != nil {
		c = append(c, Named{"after", r.After})
	}
	return c
}

// JSON returns {"schema": "candor-recal/1", "method", "says", "map", "folds", "before", "after", "temperatures"}, indented, with a
// newline at its end. "before" and "after" are documents as an evaluation's; "after" is null where "reason" says why, and there is
// "temperatures" where there are any.
func (r *Recalibration) JSON() ([]byte, error) {
	o := object{{"schema", RecalibrationSchema}, {"method", r.Method}, {"says", r.Says}, {"map", r.Map}, {"folds", r.Folds}, {"before", r.Before}}
	if r.After != nil {
		o = append(o, field{"after", r.After})
	} else {
		o = append(o, field{"after", nil}, field{"reason", r.Reason})
	}
	if r.Temperatures != nil {
		l := make([]object, len(r.Temperatures))
		for i, t := range r.Temperatures {
			l[i] = object{{"temperature", number(t.T)}, {"nll", number(t.NLL)}, {"ece", number(t.ECE)}}
		}
		o = append(o, field{"temperatures", l})
	}
	b, err := marshal(o)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// TemperaturesTable writes NLL and ECE against T.
func (r *Recalibration) TemperaturesTable(w io.Writer, f Format) error {
	if f == CSV {
		rows := [][]string{{"temperature", "nll", "ece"}}
		for _, t := range r.Temperatures {
			rows = append(rows, []string{full(t.T), full(t.NLL), full(t.ECE)})
		}
		return csv.NewWriter(w).WriteAll(rows)
	}
	t := table.NewWriter()
	t.AppendHeader(table.Row{"T", "nll", "ece", ""})
	for _, v := range r.Temperatures {
		t.AppendRow(table.Row{strings.TrimSuffix(fmt.Sprintf("%#.4g", v.T), "."), fmt.Sprintf("%.4f", v.NLL), fmt.Sprintf("%.4f", v.ECE), v.Note})
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
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 1, Align: text.AlignRight}, {Number: 2, Align: text.AlignRight}, {Number: 3, Align: text.AlignRight}})
	_, err := io.WriteString(w, t.Render()+"\n")
	return err
}
