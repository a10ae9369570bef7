package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A stopwatch tells how long each test of a test binary took, by its output under -test.v and by a clock. A test's time
// has that of its subtests in it. Tests that run at the same time are beyond it.
type stopwatch struct {
	clock func() time.Duration
	names []string // in the order they began
	took  map[string]time.Duration
	now   string // the test that runs
	since time.Duration
}

// line takes a line of the output.
func (s *stopwatch) line(line []byte) {
	text := strings.TrimLeft(string(line), "\x16")
	if name, ok := strings.CutPrefix(text, "=== RUN "); ok {
		s.next(strings.TrimSpace(name))
	} else if result, ok := strings.CutPrefix(text, "--- "); ok {
		// Under -test.v=test2json each test has such a line when it ends; under -test.v only those that are no subtests, and
		// the lines of theirs follow, indented.
		if words := strings.Fields(result); len(words) > 1 {
			s.next(above(words[1]))
		}
	}
}

// next says which test runs from now on, or "".
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

// above returns the name of the test that a subtest is part of, or "".
func above(name string) string { return name[:max(0, strings.LastIndexByte(name, '/'))] }

// report writes a line for each test: its seconds, its name.
func (s *stopwatch) report(w io.Writer) error {
	for _, name := range s.names {
		if _, err := fmt.Fprintf(w, "%.1f %s\n", s.took[name].Seconds(), name); err != nil {
			return err
		}
	}
	return nil
}
