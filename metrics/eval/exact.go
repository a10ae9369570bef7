package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// exactly is the option to compute a metric over ordered scores from every row, whatever the number of distinct scores.
var exactly = choice{name: "exact"}

// withExact adds the option to a metric that is computed from ordered scores alone.
func (d *Descriptor) withExact() {
	if d.uncut == (d.own.index(gridOwn.name) >= 0) || d.Name == "ece_sweep" || d.Name == "hosmer_lemeshow" || d.Name == "hosmer_lemeshow_p" {
		return
	}
	check, own := d.check, d.own
	d.own = append(own[:len(own):len(own)], exactly)
	d.Options = d.own.String()
	all := d.own
	d.check = func(m Metric) error {
		for _, a := range m.args {
			if all.index(a.name) < 0 {
				return fmt.Errorf("there is no option %q; there are %s", a.name, all)
			}
			if _, err := exactly.read(a.value); a.name == exactly.name && err != nil {
				return err
			}
		}
		if err := check(choices{exactly}.without(m)); err != nil {
			return err
		}
		if all.of(m, exactly.name) != 0 && own.index(average.name) >= 0 && own.of(m, average.name) != 0 {
			return errors.New("exact is for class 1 of two classes; with average= leave it out")
		}
		return nil
	}
}

// exact reports whether the metric is computed from every row.
func (m Metric) exact() bool {
	d := Describe(m.Name)
	return d.own.index(exactly.name) >= 0 && d.own.of(m, exactly.name) != 0
}

// RoomError reports that the rows of metrics with the option exact need more memory than Spec.Memory allows.
type RoomError struct{ Reason string }

func (e *RoomError) Error() string { return e.Reason }

// WithoutExact says what to do where no rows can be kept.
const WithoutExact = "leave exact out, and the value is the same up to 262,144 distinct scores, and has a bound beyond"

// KeepsRows returns the metrics that keep every row and therefore have no state, or "" if there are none.
func (e *Evaluation) KeepsRows() string { return e.Spec.KeepsRows() }

func (s *Spec) KeepsRows() string {
	var names []string
	for _, m := range s.Metrics {
		if s.describe(m).own.index(exactly.name) >= 0 && m.exact() {
			names = append(names, m.String())
		}
	}
	return strings.Join(names, ", ")
}

// CheckRows returns a *RoomError if metrics may not keep this many rows.
func (e *Evaluation) CheckRows(rows int64) error {
	each := cells.KeptBytes(e.Spec.Classes)
	if len(e.plan.rows) == 0 || e.plan.most == 0 || rows <= e.plan.most/each {
		return nil
	}
	remedy := "raise " + setting.Memory.String()
	if n := e.plan.keep(); e.Remedy != nil && rows <= 1<<58/each/n {
		remedy = e.Remedy(rows * each * n)
	}
	return &RoomError{Reason: fmt.Sprintf("%s: %d rows take %d bytes and there is room for %d: %s, or leave exact out", e.Spec.KeepsRows(), rows, rows*each, e.plan.most, remedy)}
}

// exactRows returns an evaluation that uses every row in place of cells.
func (e *Evaluation) exactRows() *Evaluation {
	type rows struct{}
	return remember(e, rows{}, func() *Evaluation {
		x := *e
		x.memo, x.top, x.rank, x.sorted = nil, nil, nil, map[calib.Event]*cells.Sorted{}
		for i, event := range e.plan.rows {
			x.sorted[event] = e.rows[i].Sorted(e.Threads)
		}
		return &x
	})
}

// rising returns the ordered scores of an event: cells, or every row.
func (e *Evaluation) rising(event calib.Event) cells.Rising {
	if e.sorted != nil {
		return e.sorted[event]
	}
	return e.cells(event)
}

// noRowsKept returns the reason why there is no answer from every row, or "" if there is one.
func (e *Evaluation) noRowsKept() string {
	switch {
	case e.Spec.Scored:
		return "exact keeps rows by their probabilities, and the order is that of the caller's confidence scores: leave exact out"
	case e.Audit.Weighted:
		return "exact keeps rows without weights: leave exact out"
	}
	if err := e.CheckRows(e.Audit.Rows); err != nil {
		return err.Error()
	}
	return ""
}

// plainFields drops the field exact if it is off, as it is for most metrics.
func plainFields(f []Field) []Field {
	f = slices.DeleteFunc(f, func(f Field) bool { return f.Name == exactly.name && f.Value == false })
	if len(f) == 0 {
		return nil
	}
	return f
}
