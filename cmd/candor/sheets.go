package main

import (
	"bytes"
	"encoding/csv"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
)

// sheet is a table of text, for commands whose results are no metrics.
type sheet struct {
	head []string
	rows [][]string
}

func (s *sheet) add(cells ...string) { s.rows = append(s.rows, visible.Texts(cells)) }

// csv writes the table as CSV.
func (s *sheet) csv(w io.Writer) error {
	return csv.NewWriter(w).WriteAll(append([][]string{s.head}, s.rows...))
}

// markdown writes the table as Markdown.
func (s *sheet) markdown(w io.Writer) error {
	var b bytes.Buffer
	line := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			b.WriteString(" " + strings.NewReplacer("|", `\|`, "\n", " ").Replace(c) + " |")
		}
		b.WriteString("\n")
	}
	line(s.head)
	b.WriteString(strings.Repeat("| --- ", len(s.head)) + "|\n")
	for _, r := range s.rows {
		line(r)
	}
	_, err := b.WriteTo(w)
	return err
}

// sheetForm holds the flags of commands that print a table of text, or a document.
type sheetForm struct{ output }

// write prints a result: text as a table, or the others made from what it says.
func (f *sheetForm) write(c *cobra.Command, text []byte, s *sheet, json func(w io.Writer) error) error {
	var b bytes.Buffer
	var err error
	switch f.format {
	case "json":
		err = json(&b)
	case "csv":
		err = s.csv(&b)
	case "markdown":
		err = s.markdown(&b)
	default:
		b.Write(text)
	}
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(b.Bytes())
	return err
}
