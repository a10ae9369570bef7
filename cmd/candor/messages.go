package main

import (
	"fmt"
	"strings"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/report"
	"github.com/spf13/cobra"
)

// nextLine separates the lines of an error.
const nextLine = "\n        "

// message escapes text for standard error, without what follows a question mark in a URL, which may be a credential. It may contain names of files and columns, which must not control the terminal.
func message(s string) string {
	s = withoutQueries(s)
	return strings.Join(visible.Texts(strings.Split(s, nextLine)), nextLine)
}

// warnOf passes on the notes of a reader.
func warnOf(c *cobra.Command, r reader) {
	if t, ok := tableOf(r); ok {
		for _, n := range t.Notes() {
			warn(c, "%s", n)
		}
	}
}

// noted collects the notes of a command whose errors are JSON; they are part of its document.
type noted struct {
	json bool
	list []string
}

// noteKey is the key of noted in a command's context.
type noteKey struct{}

// notedBy returns the notes for the command's document.
func notedBy(c *cobra.Command) []string {
	if n, ok := c.Context().Value(noteKey{}).(*noted); ok {
		return n.list
	}
	return nil
}

// warn tells the user something that accompanies the result.
func warn(c *cobra.Command, format string, a ...any) { tell(c, "candor: warning: ", format, a...) }

// tell writes a line with a prefix to standard error, or adds it without the prefix to the notes of the document.
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

// notesAreJSON reports whether notes are part of the command's document.
func notesAreJSON(c *cobra.Command) bool {
	n, ok := c.Context().Value(noteKey{}).(*noted)
	return ok && n.json
}
