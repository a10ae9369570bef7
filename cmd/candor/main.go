// Command candor tells how honest a model's probabilities are: calibration errors, proper scores and reliability of
// prediction files of any size, in one read.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/temporary"
)

// The exit codes.
const (
	exitDone  = 0
	exitGate  = 1  // a condition of --fail-if holds
	exitUsage = 2  // the command line is wrong, or an output cannot be written
	exitData  = 3  // the predictions or a state cannot be used
	exitFault = 70 // a fault of ours
)

func main() {
	catchSignals()
	code := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	temporary.RemoveAll() // what a fault of ours has left
	os.Exit(code)
}

// failure is an error with the exit code that it ends in.
type failure struct {
	code int
	kind string // that a JSON error has
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func usage(format string, a ...any) error {
	return &failure{exitUsage, "usage", fmt.Errorf(format, a...)}
}

func badOutput(format string, a ...any) error {
	return &failure{exitUsage, "output", fmt.Errorf(format, a...)}
}

func badData(err error) error { return &failure{exitData, "data", err} }

// gates are the conditions of --fail-if that hold.
type gates []string

func (g gates) Error() string { return "gate failed: " + strings.Join(g, "; gate failed: ") }

// failed ends the command if there are any.
func (g gates) failed() error {
	if len(g) == 0 {
		return nil
	}
	return &failure{exitGate, "gate", g}
}

// run executes a command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	asJSON := wantsJSON(args)
	defer func() {
		if r := recover(); r != nil {
			code = exitFault
			err := fmt.Errorf("a fault of candor itself: %v\n\n%s\nPlease report this with the command line and the lines above: https://github.com/candor-go/candor/issues", r, debug.Stack())
			if asJSON {
				writeError(stderr, &failure{exitFault, "fault", err})
				return
			}
			fmt.Fprintf(stderr, "candor: %v\n", err)
		}
	}()
	root := rootCommand()
	root.SetArgs(append([]string{}, args...)) // never nil, for which cobra would take the process's own
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	n := &noted{json: asJSON}
	if asJSON {
		root.SetErr(io.Discard) // where there is nothing but an error
	}
	err := root.ExecuteContext(context.WithValue(context.Background(), noteKey{}, n))
	if err == nil {
		return exitDone
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{exitUsage, "usage", err} // cobra's own: an unknown flag or command
	}
	if asJSON {
		writeError(stderr, f)
		return f.code
	}
	if g, ok := f.err.(gates); ok {
		for _, why := range g {
			fmt.Fprintln(stderr, message("candor: gate failed: "+why))
		}
		return f.code
	}
	fmt.Fprintln(stderr, message("candor: "+f.Error()))
	if f.code == exitUsage {
		fmt.Fprintln(stderr, "'candor help' and 'candor COMMAND --help' tell more")
	}
	return f.code
}

func rootCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "candor",
		Short: "Tell how honest a model's probabilities are",
		Long: `candor reads files of predictions once, whatever their size, and tells how honest their probabilities are:
calibration errors, proper scores, reliability, each with its interval.

Results go to standard output, all else to standard error. Exit codes: 0 done, 1 a gate failed (--fail-if), 2 the
command line is wrong or an output cannot be written, 3 the predictions or states cannot be used, 70 a fault of candor.
With --json an error is one JSON object on standard error, where nothing else is; docs/json.md describes it.`,
		Example: `  candor eval                                            a small real sample
  candor eval probs.npy --labels labels.npy
  candor eval logits.npz --input logits --json`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		Version:       versionText(),
	}
	c.SetVersionTemplate(versionLine())
	// Without RunE a word that is no command would print the help and end well.
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		hint := ""
		if l := c.SuggestionsFor(args[0]); len(l) > 0 {
			hint = " (did you mean " + l[0] + "?)"
		}
		return usage("there is no command %q%s", args[0], hint)
	}
	c.SuggestionsMinimumDistance = 2
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%v", err) })
	c.AddCommand(evalCommand(), mergeCommand(), compareCommand(), scoreCommand(), recalCommand(), inspectCommand(), metricsCommand(), versionCommand())
	return c
}
