package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A stopwatch measures the time of each test from the output of a test binary under -test.v and a clock. The time of a test
// includes its subtests. It does not support parallel tests.
type stopwatch struct {
	clock func() time.Duration
	names []string // in the order of their start
	took  map[string]time.Duration
	now   string // the running test
	since time.Duration
}

// line processes a line of the output.
func (s *stopwatch) line(line []byte) {
	text := strings.TrimLeft(string(line), "\x16")
	if name, ok := strings.CutPrefix(text, "=== RUN "); ok {
		s.next(strings.TrimSpace(name))
	} else if result, ok := strings.CutPrefix(text, "--- "); ok {
		// Under -test.v=test2json each test has such a line when it ends. Under -test.v only top-level tests do, and those
		// of their subtests follow, indented.
		if words := strings.Fields(result); len(words) > 1 {
			s.next(above(words[1]))
		}
	}
}

// next sets the test that runs from now on; "" for none.
func (s *stopwatch) next(name string) {
	t := s.clock()
	for of := s.now; of != ""; of = above(of) {
		s.took[of] += t - s.since
	}
	s.now, s.since = name, t
	if _, ok := s.took[name]; !ok && name != "" {
		if s.took == nil {
			s.took = make(map[string]time.Duration)
		}
		s.took[name] = 0
		s.names = append(s.names, name)
	}
}

// above returns the name of the test that contains a subtest, or "".
func above(name string) string { return name[:max(0, strings.LastIndexByte(name, '/'))] }

// report writes a line for each test, with its seconds and its name.
func (s *stopwatch) report(w io.Writer) error {
	for _, name := range s.names {
		if _, err := fmt.Fprintf(w, "%.1f %s\n", s.took[name].Seconds(), name); err != nil {
			return err
		}
	}
	return nil
}
