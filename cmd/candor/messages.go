package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
)

// nextLine stands between the lines of an error that has several.
const nextLine = "\n        "

// message is text for standard error, which may have names of files and columns in it: a terminal obeys none of it.
func message(s string) string {
	return strings.Join(visible.Texts(strings.Split(s, nextLine)), nextLine)
}

// warnOf tells what the reader of files has noted.
func warnOf(c *cobra.Command, r reader) {
	if t, ok := r.(*predictions.ForecastReader); ok {
		for _, n := range t.Notes() {
			warn(c, "%s", n)
		}
	}
}

// noted are the notes of a command whose errors are JSON: they go to its document.
type noted struct {
	json bool
	list []string
}

// noteKey is where a command's context has them.
type noteKey struct{}

// notedBy returns the notes that the command's document is to have.
func notedBy(c *cobra.Command) []string {
	if n, ok := c.Context().Value(noteKey{}).(*noted); ok {
		return n.list
	}
	return nil
}

// warn tells what a user should know beside the result.
func warn(c *cobra.Command, format string, a ...any) { tell(c, "candor: warning: ", format, a...) }

// tell writes a line behind a prefix to standard error, or notes it without that for the document.
func tell(c *cobra.Command, prefix, format string, a ...any) {
	text := fmt.Sprintf(format, a...)
	if n, ok := c.Context().Value(noteKey{}).(*noted); ok && n.json {
		n.list = append(n.list, text)
		return
	}
	text = prefix + message(text)
	if s := screenOf(c.ErrOrStderr()); s.terminal && prefix == "" {
		text = report.Wrap(text, s.width)
	}
	fmt.Fprintln(c.ErrOrStderr(), text)
}

// notesAreJSON tells whether what a command notes goes to its document.
func notesAreJSON(c *cobra.Command) bool {
	n, ok := c.Context().Value(noteKey{}).(*noted)
	return ok && n.json
}
