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
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/candor-go/candor/internal/temporary"
)

// The exit codes.
const (
	exitDone  = 0
	exitGate  = 1  // a condition of --fail-if holds, or one of --require does not
	exitUsage = 2  // the command line is wrong, or an output cannot be written
	exitData  = 3  // the predictions or a state cannot be used
	exitFault = 70 // an internal error
)

func main() {
	catchSignals()
	code := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	temporary.RemoveAll() // left over by an internal error
	os.Exit(code)
}

// failure is an error with its exit code.
type failure struct {
	code int
	kind string // for a JSON error
	at   place  // place for a JSON error, if err has none
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage returns an error of the command line. The part after the last "; " is the advice, also for programs.
func usage(format string, a ...any) error {
	return &failure{exitUsage, "usage", place{Remedy: remedyIn(format, a)}, fmt.Errorf(format, a...)}
}

// badOutput returns an error in writing output, with advice as in usage.
func badOutput(format string, a ...any) error {
	return &failure{exitUsage, "output", place{Remedy: remedyIn(format, a)}, fmt.Errorf(format, a...)}
}

func badData(err error) error {
	if f := (*failure)(nil); errors.As(err, &f) {
		return err // it says what kind of error it is
	}
	return &failure{exitData, "data", place{}, err}
}

// badAt returns an error for bad data at a place. The remedy is appended to the text.
func badAt(at place, format string, a ...any) error {
	err := fmt.Errorf(format+"; %s", append(a, at.Remedy)...)
	return badData(&placed{err.Error(), at, errors.Unwrap(err)})
}

// about adds the file that an error concerns, for programs.
func about(err error, file string) error {
	var f *failure
	if errors.As(err, &f) {
		f.at.File = file
	}
	return err
}

// remedyIn returns the part after the last "; " of a format, or of the error at the end of the format. Searching the format
// ensures that text from the user is not taken for advice.
func remedyIn(format string, a []any) string {
	const mark = "; "
	if i := strings.LastIndex(format, mark); i >= 0 {
		rest := format[i+len(mark):]
		verbs := strings.Count(strings.ReplaceAll(rest, "%%", ""), "%")
		return fmt.Sprintf(rest, a[len(a)-verbs:]...)
	}
	if len(a) > 0 && strings.HasSuffix(format, "%v") {
		if err, ok := a[len(a)-1].(error); ok {
			if _, remedy, ok := cutLast(err.Error(), mark); ok {
				return remedy
			}
		}
	}
	return ""
}

// cutLast splits a text at the last mark.
func cutLast(s, mark string) (before, after string, found bool) {
	if i := strings.LastIndex(s, mark); i >= 0 {
		return s[:i], s[i+len(mark):], true
	}
	return s, "", false
}

// run executes a command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	args, inFile := fileArgs(args)
	asJSON := wantsJSON(args)
	defer func() {
		if r := recover(); r != nil {
			code = exitFault
			err := fmt.Errorf("a bug in candor: %v\n\n%s\nPlease report this with the command line and the lines above: https://github.com/candor-go/candor/issues", r, debug.Stack())
			if asJSON {
				writeError(stderr, &failure{exitFault, "fault", place{}, err})
				return
			}
			fmt.Fprintf(stderr, "candor: %v\n", err)
		}
	}()
	root := rootCommand()
	root.SetArgs(append([]string{}, args...)) // never nil, since cobra would use the process's own arguments
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	n := &noted{json: asJSON}
	if asJSON {
		root.SetErr(io.Discard) // if there is only an error
	}
	err := inFile
	if err == nil {
		err = root.ExecuteContext(context.WithValue(context.Background(), noteKey{}, n))
	}
	if err == nil {
		return exitDone
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{exitUsage, "usage", place{}, err} // from cobra: an unknown flag or command
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
		Long: `candor reads prediction files of any size in one pass and measures how honest their probabilities are: calibration
errors, proper scores and reliability, each with its interval. Results go to standard output, everything else to standard
error.`,
		Example: `  candor eval                                            a small real sample
  candor eval probs.npy --labels labels.npy
  candor eval logits.npz --input logits --json`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
	}
	// Cobra's own flag prints by package text/template, with which the linker keeps every method of every type: a quarter of the program.
	version := c.Flags().BoolP("version", "v", false, "print the version")
	c.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "label" {
			name = "labels"
		}
		return pflag.NormalizedName(name)
	})
	// Without RunE an unknown command would print the help and succeed.
	c.RunE = func(c *cobra.Command, args []string) error {
		if *version {
			_, err := io.WriteString(c.OutOrStdout(), versionLine())
			return err
		}
		if len(args) == 0 {
			return c.Help()
		}
		hint := ""
		if l := c.SuggestionsFor(args[0]); len(l) > 0 {
			hint = " (did you mean " + l[0] + "?)"
		}
		return usage("there is no command %q%s; 'candor help' lists them", args[0], hint)
	}
	c.SuggestionsMinimumDistance = 2
	c.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		if completing(c) {
			completeFlags(c.Root())
			return nil
		}
		if slices.Contains(args, "") {
			return usage("an argument is empty; name a file there, or leave it out")
		}
		return nil
	}
	c.SetFlagErrorFunc(flagFault)
	c.AddCommand(commands()...)
	installHelp(c)
	fillFlags(c)
	return c
}
