package report

import (
	"fmt"
	"io"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// mostMembers is the maximum number of members in a table on a terminal.
const mostMembers = 20

// MembersTable writes a row of metrics for each member, after a row for the ensemble if it has any of these metrics, in the format
// Plain or Markdown. If there are many members, Plain has the first ones, the mean and the range.
func (d *Document) MembersTable(w io.Writer, f Format, width int) error {
	t := table.NewWriter()
	head, ensemble, asked := table.Row{"Model"}, table.Row{"ensemble"}, false
	for _, m := range d.Members[0].Metrics {
		head = append(head, m.Key)
		if e := d.Find(m.Key); e != nil {
			ensemble, asked = append(ensemble, short(e.Value.Value)), true
		} else {
			ensemble = append(ensemble, "")
		}
	}
	t.AppendHeader(head)
	if asked {
		t.AppendRow(ensemble)
	}
	shown := len(d.Members)
	if f == Plain && shown > mostMembers {
		shown = mostMembers / 2
	}
	for i := range d.Members[:shown] {
		r := table.Row{fmt.Sprintf("member %d", i)}
		for _, m := range d.Members[i].Metrics {
			r = append(r, short(m.Value.Value))
		}
		t.AppendRow(r)
	}
	if shown < len(d.Members) {
		least, mean, most := table.Row{"least of all"}, table.Row{"mean of all"}, table.Row{"most of all"}
		for k := range d.Members[0].Metrics {
			lo, hi, sum := math.Inf(1), math.Inf(-1), 0.0
			for i := range d.Members {
				v := d.Members[i].Metrics[k].Value.Value
				lo, hi, sum = math.Min(lo, v), math.Max(hi, v), sum+v
			}
			least, mean, most = append(least, short(lo)), append(mean, short(sum/float64(len(d.Members)))), append(most, short(hi))
		}
		t.AppendRows([]table.Row{least, mean, most})
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
	var columns []table.ColumnConfig
	for k := range d.Members[0].Metrics {
		columns = append(columns, table.ColumnConfig{Number: k + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	_, err := io.WriteString(w, t.Render()+"\n")
	return err
}
