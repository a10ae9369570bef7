package main

import (
	"strings"
	"testing"
	"time"
)

func TestStopwatch(t *testing.T) {
	var now time.Duration
	s := stopwatch{clock: func() time.Duration { return now }}
	for _, l := range []struct {
		seconds float64
		line    string
	}{
		{10, "=== RUN   TestA\n"},
		{1, "    a_test.go:1: words\n"},
		{1, "--- PASS: TestA (0.00s)\n"},
		{5, "\x16=== RUN   TestB\n"},
		{0.5, "\x16=== RUN   TestB/x\n"},
		{2, "\x16=== RUN   TestB/y\n"},
		{4, "\x16=== RUN   TestB/y/z\n"},
		{8, "\x16--- FAIL: TestB (1.00s)\n"},
		{3, "    --- PASS: TestB/x (0.00s)\n"},
		{3, "=== RUN   TestC\n"},
		{1, "panic: no end\n"},
	} {
		now += time.Duration(l.seconds * float64(time.Second))
		s.line([]byte(l.line))
	}
	s.next("")
	var b strings.Builder
	if err := s.report(&b); err != nil {
		t.Fatal(err)
	}
	const want = "2.0 TestA\n14.5 TestB\n2.0 TestB/x\n12.0 TestB/y\n8.0 TestB/y/z\n1.0 TestC\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
