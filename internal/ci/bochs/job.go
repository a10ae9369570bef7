package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Paths in the emulated machine.
const (
	initPath    = "/init" // this program; the kernel starts the file with this name
	jobPath     = "/job"
	programPath = "/program"
	workPath    = "/work" // the program's working folder
)

// A job is the task of process 1 in the emulated machine.
type job struct {
	Mark string   // prefix of what process 1 itself writes to the serial line; it occurs nowhere else
	Args []string // arguments of the program
	Env  []string // environment of the program
}

func (j *job) encode() ([]byte, error) { return json.Marshal(j) }

func decodeJob(data []byte) (*job, error) {
	j := new(job)
	if err := json.Unmarshal(data, j); err != nil {
		return nil, fmt.Errorf("%s: %w", jobPath, err)
	}
	return j, nil
}

// runtimeVariables are the variables that the Go runtime of the program reads.
var runtimeVariables = []string{"GODEBUG", "GOGC", "GOMEMLIMIT", "GOTRACEBACK"}

// jobEnv returns the environment of the program, taken from that of the command.
func jobEnv(environ []string) []string {
	env := []string{"HOME=/tmp", "PATH=/", "TMPDIR=/tmp"}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "CANDOR_") || slices.Contains(runtimeVariables, name) {
			env = append(env, kv)
		}
	}
	return env
}

// alive is the byte that process 1 writes regularly, to distinguish a long test from a machine that hangs.
const alive = 0

// Messages of process 1, each on a line after the mark.
const (
	wordStart  = "start"   // the program's output begins
	wordExit   = "exit "   // the program ended, with this status
	wordNotRun = "not run" // the program was not started; the reason follows
)

// An ending says how a program ended.
type ending struct {
	status int
	reason string // why it was not started, or ""
}

// A serialLine processes the output on the serial line of the emulated machine. It passes on the output of the program, line
// by line, and interprets the messages of process 1.
type serialLine struct {
	mark   string
	start  func()            // called before the first line
	line   func(line []byte) // receives a line of the program, including its newline if it had one
	began  bool              // the output of the program has begun
	ended  *ending           // nil until process 1 reports it
	failed bool              // a test failed, or the program panicked
	before bytes.Buffer      // kernel messages before the program's output
	part   []byte            // an incomplete line
}

// Write never fails.
func (s *serialLine) Write(b []byte) (int, error) {
	for _, c := range b {
		if c == alive {
			continue
		}
		s.part = append(s.part, c)
		if c == '\n' {
			s.take()
		}
	}
	return len(b), nil
}

// close processes a last line without newline.
func (s *serialLine) close() {
	if len(s.part) > 0 {
		s.take()
	}
}

// take processes a line. The mark may follow output of the program whose last line has no newline.
func (s *serialLine) take() {
	line := s.part
	s.part = s.part[:0]
	words, said, marked := bytes.Cut(line, []byte(s.mark))
	switch {
	case s.ended != nil: // shutdown messages of the kernel
	case !s.began:
		s.before.Write(words)
	case len(words) > 0:
		if failing(words) {
			s.failed = true
		}
		s.line(words)
	}
	if marked && s.ended == nil {
		s.hear(strings.TrimSpace(string(said)))
	}
}

// hear processes a message of process 1. An unknown message is no ending.
func (s *serialLine) hear(said string) {
	if said == wordStart && !s.began {
		s.began = true
		s.start()
	}
	if text, ok := strings.CutPrefix(said, wordExit); ok {
		if status, err := strconv.Atoi(text); err == nil && status >= 0 && status <= 255 {
			s.ended = &ending{status: status}
		}
	}
	if text, ok := strings.CutPrefix(said, wordNotRun); ok {
		s.ended = &ending{status: statusNotRun, reason: strings.TrimLeft(text, ": ")}
	}
}

// failing reports whether a line from a test binary indicates a failure. With -test.v=test2json some lines have a byte in
// front.
func failing(line []byte) bool {
	line = bytes.TrimLeft(line, " \x16")
	for _, start := range []string{"--- FAIL", "FAIL", "panic:", "fatal error:", "SIG"} {
		if bytes.HasPrefix(line, []byte(start)) {
			return true
		}
	}
	return false
}
