package report

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/text"
)

// FlippedRows are the first rows whose decisions differ between sets, as a file has all of them.
type FlippedRows struct {
	Head []string
	Rows [][]string
	All  int64  // rows in the file
	File string // its name
}

// Sentence says where the rows are; "" if there are none.
func (f *FlippedRows) Sentence() string {
	n := int64(len(f.Rows))
	switch {
	case n == 0:
		return ""
	case n == f.All:
		return fmt.Sprintf("Rows whose decisions differ, as in %s:", f.File)
	}
	return fmt.Sprintf("The first %d rows whose decisions differ; %s has these and %s more:", n, f.File, Count(f.All-n))
}

// Table writes the rows, as Plain or Markdown. Plain has as many columns as fit in width (0 means DefaultWidth).
func (f *FlippedRows) Table(w io.Writer, form Format, width int) error {
	cells := func(l []string) (r []string) {
		for _, c := range l {
			if form == Plain {
				c = text.Snip(c, 24, "...")
			}
			r = append(r, c)
		}
		return r
	}
	t := narrow{head: cells(f.Head), numbers: len(f.Head)}
	for _, l := range f.Rows {
		t.rows = append(t.rows, cells(l))
	}
	for c := len(f.Head) - 1; c > 1; c-- {
		t.drop = append(t.drop, c)
	}
	left, err := t.render(w, form, width)
	if err == nil && len(left) > 0 {
		_, err = io.WriteString(w, Wrap(fmt.Sprintf("(no room for %s: %s has all)", listed(left, "and"), f.File), width)+"\n")
	}
	return err
}
