package report

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
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

// Table writes the rows, as Plain or Markdown.
func (f *FlippedRows) Table(w io.Writer, form Format, width int) error {
	t := table.NewWriter()
	cells := func(l []string) (r table.Row) {
		for _, c := range l {
			if form == Plain {
				c = text.Snip(c, 24, "...")
			}
			r = append(r, c)
		}
		return r
	}
	t.AppendHeader(cells(f.Head))
	for _, l := range f.Rows {
		t.AppendRow(cells(l))
	}
	if form == Markdown {
		_, err := io.WriteString(w, t.RenderMarkdown()+"\n")
		return err
	}
	st := table.StyleLight
	st.Options = table.OptionsNoBordersAndSeparators
	st.Format.Header = text.FormatDefault
	t.SetStyle(st)
	t.SuppressTrailingSpaces()
	_, err := io.WriteString(w, t.Render()+"\n")
	return err
}
