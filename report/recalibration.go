package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// RecalibrationSchema is the schema of a Recalibration's JSON.
const RecalibrationSchema = "candor-recal/1"

// Recalibration is a fitted map, with its effect on rows that were not used to fit it.
type Recalibration struct {
	Method        string
	Says          string          // what the map does, in one or two lines
	Map           json.RawMessage // the map file
	Folds         int
	Before, After *Document    // of the same rows and metrics; After is nil if a fold could not be fitted
	Reason        string       // why After is nil
	Differences   *Differences // after minus before, of the metrics that the map may change; nil if After is nil
	Temperatures  []AtTemperature
}

// AtTemperature holds the metrics of all rows with their logits divided by T.
type AtTemperature struct {
	T        float64
	NLL, ECE float64
	Note     string // what is special about this T, if anything
}

// Comparison returns the rows before and after recalibration, side by side.
func (r *Recalibration) Comparison() *Comparison {
	c := &Comparison{Sets: []Named{{"before", r.Before}}}
	if r.After != nil {
		c.Sets = append(c.Sets, Named{"after", r.After})
		c.Differences = r.Differences
	}
	return c
}

// Effect says in words what recalibration changes: "NLL falls by 0.013 [0.009, 0.017]." It is "" if nothing is compared.
func (r *Recalibration) Effect() string {
	d := r.Differences
	if d == nil {
		return ""
	}
	var parts, left []string // left are metrics that have no interval for one reason
	names := d.firstMetrics()
	for i, metric := range names {
		x := d.of(0, 1, metric)
		name, size := say(metric), d.size(x)
		switch falls := x.Value < 0; {
		case math.IsNaN(x.Interval.Low):
			left = append(left, name)
			if i+1 < len(names) {
				if next := d.of(0, 1, names[i+1]); math.IsNaN(next.Interval.Low) && next.Reason == x.Reason {
					continue
				}
			}
			verb := "is"
			if len(left) > 1 {
				verb = "are"
			}
			parts = append(parts, fmt.Sprintf("%s %s not compared, since %s", listed(left, "and"), verb, visible.Text(strings.TrimSuffix(x.Reason, "."))))
			left = nil
		case x.Value == 0 && x.Interval.Low == 0 && x.Interval.High == 0:
			parts = append(parts, name+" is the same in every row")
		case x.Outcome == compared.Undecided:
			parts = append(parts, fmt.Sprintf("no change of %s is shown: %s", name, size(x.Value, x.Interval)))
		case falls:
			parts = append(parts, fmt.Sprintf("%s falls by %s", name, size(-x.Value, metrics.Interval{Low: -x.Interval.High, High: -x.Interval.Low})))
		default:
			parts = append(parts, fmt.Sprintf("%s rises by %s", name, size(x.Value, x.Interval)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	s := strings.Join(parts, "; ") + "."
	if rest, ok := strings.CutPrefix(s, "no "); ok {
		return "No " + rest
	}
	return s
}

// JSON returns {"schema": "candor-recal/1", "method", "says", "map", "folds", "before", "after", "differences", "temperatures"},
// indented, with a final newline. "before" and "after" are documents of evaluations. If "after" and "differences" are null, "reason"
// says why. "temperatures" is omitted if there are none.
func (r *Recalibration) JSON() ([]byte, error) {
	o := object{{"schema", RecalibrationSchema}, {"method", r.Method}, {"says", r.Says}, {"map", r.Map}, {"folds", r.Folds}, {"before", r.Before}}
	if r.After != nil {
		o = append(o, field{"after", r.After})
	} else {
		o = append(o, field{"after", nil}, field{"reason", r.Reason})
	}
	if r.Differences != nil {
		o = append(o, field{"differences", r.Differences.objects()})
	} else {
		o = append(o, field{"differences", nil})
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

// TemperaturesTable writes NLL and ECE by T.
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
