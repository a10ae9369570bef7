// Command testlog reads what go test -json prints and says what came of it: a line for each package, and the whole output
// of what failed. It fails where a test failed, where a package ran no test, where a test skipped that the list of skips
// does not have, and where the kernels were compared at other levels than those asked for.
//
//	go test -json PACKAGES | testlog [-log FILE] [-skips FILE] [-where WORD,...] [-levels LEVEL,...] PACKAGE...
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

func main() {
	log := flag.String("log", "", "write what was read to this `file` too")
	list := flag.String("skips", "", "the `file` with the tests that may skip; without it, none may")
	where := flag.String("where", "", "what this run is, in `words` of that file with commas between")
	levels := flag.String("levels", "", "the `levels` at which the kernels have to be compared, where they are in the log")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *log, *list, strings.Split(*where, ","), *levels, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, log, list string, where []string, levels string, packages []string) error {
	if log != "" {
		f, err := os.Create(log)
		if err != nil {
			return err
		}
		defer f.Close()
		in = io.TeeReader(in, f)
	}
	may, err := readSkips(list, where)
	if err != nil {
		return err
	}
	r := newReport(out, may)
	if err := r.read(in); err != nil {
		return err
	}
	return r.end(levels, packages)
}
