// Command testlog reads what go test -json prints and says what came of it: a line for each package, and the whole output
// of what failed. It fails where a test failed, where a package ran no test, where a test skipped that the list of skips
// does not have, and where the kernels were compared at other levels than those asked for.
//
//	go test -json PACKAGES | testlog [-log FILE] [-skips FILE] [-where WORD,...] [-whole] [-levels LEVEL,...] PACKAGE...
//
// The arguments are the import paths of the packages that have to be in the log.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

type options struct {
	log, skips, where, levels string
	whole                     bool
}

func main() {
	var o options
	flag.StringVar(&o.log, "log", "", "write what was read to this `file` too")
	flag.StringVar(&o.skips, "skips", "", "the `file` with the tests that may skip; without it, none may")
	flag.StringVar(&o.where, "where", "", "what this run is, in `words` of that file with commas between")
	flag.BoolVar(&o.whole, "whole", false, "the log has every test, so each line of that file has to name one")
	flag.StringVar(&o.levels, "levels", "", "the `levels` at which the kernels have to be compared, where they are in the log")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, o options, packages []string) error {
	if o.log != "" {
		f, err := os.Create(o.log)
		if err != nil {
			return err
		}
		defer f.Close()
		in = io.TeeReader(in, f)
	}
	skips, err := readSkips(o.skips)
	if err != nil {
		return err
	}
	r := newReport(out, skips, strings.Split(o.where, ","))
	r.whole = o.whole
	if err := r.read(in); err != nil {
		return err
	}
	return r.end(o.levels, packages)
}
