package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/predictions"
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

// warn tells what a user should know beside the result.
func warn(c *cobra.Command, format string, a ...any) {
	fmt.Fprintln(c.ErrOrStderr(), "candor: warning: "+message(fmt.Sprintf(format, a...)))
}
