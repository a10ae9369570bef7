package main

import (
	"strings"
	"testing"
	"time"
)

func TestStopwatch(t *testing.T) {
	type timed struct {
		seconds float64
		line    string
	}
	for _, c := range []struct {
		what  string
		lines []timed
		want  string
	}{
		{"-test.v", []timed{
			{10, "=== RUN   TestA"},
			{1, "    a_test.go:1: words"},
			{1, "--- PASS: TestA (0.00s)"},
			{5, "=== RUN   TestB"},
			{0.5, "=== RUN   TestB/x"},
			{2, "=== RUN   TestB/y"},
			{4, "=== RUN   TestB/y/z"},
			{8, "--- FAIL: TestB (1.00s)"},
			{3, "    --- PASS: TestB/x (0.00s)"},
			{3, "=== RUN   TestC"},
			{1, "panic: no end"},
		}, "2.0 TestA\n14.5 TestB\n2.0 TestB/x\n12.0 TestB/y\n8.0 TestB/y/z\n1.0 TestC\n"},
		{"-test.v=test2json", []timed{
			{10, "\x16=== RUN   TestB"},
			{1, "\x16=== RUN   TestB/x"},
			{2, "\x16--- PASS: TestB/x (0.00s)"},
			{4, "\x16=== RUN   TestB/y"},
			{8, "\x16--- SKIP: TestB/y (0.00s)"},
			{16, "\x16=== NAME  TestB"},
			{16, "\x16--- PASS: TestB (1.00s)"},
			{32, "\x16=== NAME"},
		}, "47.0 TestB\n2.0 TestB/x\n8.0 TestB/y\n"},
	} {
		var now time.Duration
		s := stopwatch{clock: func() time.Duration { return now }}
		for _, l := range c.lines {
			now += time.Duration(l.seconds * float64(time.Second))
			s.line([]byte(l.line + "\n"))
		}
		s.next("")
		var b strings.Builder
		if err := s.report(&b); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.what, b.String(), c.want)
		}
	}
}
