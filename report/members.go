package report

import (
	"fmt"
	"io"
	"math"
)

// mostMembers is the maximum number of members in a table on a terminal.
const mostMembers = 20

// MembersTable writes a row of metrics for each member, after a row for the ensemble if it has any of these metrics, in the format
// Plain or Markdown. If there are many members, Plain has the first ones, the mean and the range, and as many
// metrics as fit in width (0 means DefaultWidth).
func (d *Document) MembersTable(w io.Writer, f Format, width int) error {
	t := narrow{head: []string{"Model"}, numbers: 1}
	ensemble, asked := []string{"ensemble"}, false
	for i, m := range d.Members[0].Metrics {
		if i > 0 {
			t.drop = append([]int{len(t.head)}, t.drop...)
		}
		t.head = append(t.head, m.Key)
		if e := d.Find(m.Key); e != nil {
			ensemble, asked = append(ensemble, short(e.Value.Value)), true
		} else {
			ensemble = append(ensemble, "")
		}
	}
	if asked {
		t.rows = append(t.rows, ensemble)
	}
	shown := len(d.Members)
	if f == Plain && shown > mostMembers {
		shown = mostMembers / 2
	}
	for i := range d.Members[:shown] {
		r := []string{fmt.Sprintf("member %d", i)}
		for _, m := range d.Members[i].Metrics {
			r = append(r, short(m.Value.Value))
		}
		t.rows = append(t.rows, r)
	}
	if shown < len(d.Members) {
		least, mean, most := []string{"least of all"}, []string{"mean of all"}, []string{"most of all"}
		for k := range d.Members[0].Metrics {
			lo, hi, sum := math.Inf(1), math.Inf(-1), 0.0
			for i := range d.Members {
				v := d.Members[i].Metrics[k].Value.Value
				lo, hi, sum = math.Min(lo, v), math.Max(hi, v), sum+v
			}
			least, mean, most = append(least, short(lo)), append(mean, short(sum/float64(len(d.Members)))), append(most, short(hi))
		}
		t.rows = append(t.rows, least, mean, most)
	}
	left, err := t.render(w, f, width)
	if said := rest(0, "", left, "json"); err == nil && said != "" {
		_, err = io.WriteString(w, Wrap(said, width)+"\n")
	}
	return err
}
