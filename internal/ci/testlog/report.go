package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// report collects the contents of a log.
type report struct {
	out      io.Writer
	skips    []skip // tests that may skip
	where    []string
	whole    bool // all tests have run, so each of the skips must occur
	packages map[string]*outcome
	failures int
	found    []bool              // skips that occur in the log
	builds   map[string][]string // output of the compiler by package
	levels   []string            // levels that the kernels' tests reported
}

// outcome is the result of a package's tests.
type outcome struct {
	passed, skipped int
	output          map[string][]string // by test, "" for the package itself, until the test passes
}

func newReport(out io.Writer, skips []skip, where []string) *report {
	return &report{out: out, skips: skips, where: where, found: make([]bool, len(skips)), packages: map[string]*outcome{}, builds: map[string][]string{}}
}

// read reads a log. A line that is not JSON, such as one of a program that go test starts, is passed on.
func (r *report) read(in io.Reader) error {
	b := bufio.NewReader(in)
	for {
		line, err := b.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(r.out, "%s", line)
			} else {
				r.add(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (r *report) add(e event) {
	if e.Action == "build-output" {
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
		return
	}
	if e.Action == "build-fail" {
		r.fail(e.ImportPath, "does not build", r.builds[e.ImportPath])
		return
	}
	o := r.packages[e.Package]
	if o == nil {
		o = &outcome{output: map[string][]string{}}
		r.packages[e.Package] = o
	}
	if e.Action == "run" {
		for i, s := range r.skips {
			r.found[i] = r.found[i] || s.is(e.Package, e.Test)
		}
	}
	switch {
	case e.Action == "output":
		if m := compared.FindStringSubmatch(e.Output); m != nil {
			r.levels = append(r.levels, strings.ReplaceAll(m[1], " ", ","))
		}
		o.output[e.Test] = append(o.output[e.Test], e.Output)
	case e.Test == "":
		r.ended(e, o)
	case e.Action == "pass":
		o.passed++
		delete(o.output, e.Test)
	case e.Action == "skip":
		o.skipped++
		if !may(r.skips, r.where, e.Package, e.Test) {
			r.fail(e.Package+" "+e.Test, "skipped, and the list of skips does not have it", o.output[e.Test])
		}
		delete(o.output, e.Test)
	case e.Action == "fail":
		r.fail(e.Package+" "+e.Test, "failed", o.output[e.Test])
		delete(o.output, e.Test)
	}
}

// ended processes the event that closes a package.
func (r *report) ended(e event, o *outcome) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.out, "ok  %6.1f s  %s: %d passed", e.Elapsed, e.Package, o.passed)
		if o.skipped > 0 {
			fmt.Fprintf(r.out, ", %d skipped", o.skipped)
		}
		fmt.Fprintln(r.out)
	case "fail":
		// A program that ends in the middle of a test leaves the output of that test, which contains the reason.
		var left []string
		for _, test := range slices.Sorted(maps.Keys(o.output)) {
			left = append(left, o.output[test]...)
		}
		r.fail(e.Package, fmt.Sprintf("failed after %.1f s", e.Elapsed), left)
	}
}

func (r *report) fail(what, why string, output []string) {
	r.failures++
	fmt.Fprintf(r.out, "FAIL %s %s\n", what, why)
	for _, line := range output {
		if line != "" && !strings.HasPrefix(line, "=== ") {
			fmt.Fprintf(r.out, "    %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
}

// compared matches a line in the output of the kernels' tests.
var compared = regexp.MustCompile(`levels compared: \[([a-z0-9 ]*)\]`)

// end returns an error unless each of the packages ran a test, nothing failed, and the kernels, if they are one of the
// packages, were compared at exactly these levels.
func (r *report) end(levels string, packages []string) error {
	if levels != "" && slices.ContainsFunc(packages, func(p string) bool { return strings.HasSuffix(p, "/kernel") }) {
		if len(r.levels) == 0 || slices.ContainsFunc(r.levels, func(l string) bool { return l != levels }) {
			r.fail("levels", fmt.Sprintf("compared %v, want %s", r.levels, levels), nil)
		}
	}
	for _, p := range packages {
		if o := r.packages[p]; o == nil || o.passed == 0 {
			r.fail(p, "ran no test", nil)
		}
	}
	for i, s := range r.skips {
		if r.whole && !r.found[i] {
			r.fail(s.pkg+" "+s.test, "is in the list of skips, and there is no such test", nil)
		}
	}
	tests := 0
	for _, o := range r.packages {
		tests += o.passed
	}
	if r.failures > 0 {
		return fmt.Errorf("%d failures", r.failures)
	}
	if tests == 0 {
		return errors.New("no test ran")
	}
	return nil
}
