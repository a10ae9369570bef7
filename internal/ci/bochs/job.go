package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Where things are in the emulated machine.
const (
	initPath    = "/init" // this program; the kernel starts what has this name
	jobPath     = "/job"
	programPath = "/program"
	workPath    = "/work" // the program's working folder
)

// A job is what process 1 of the emulated machine has to do.
type job struct {
	Mark string   // stands in front of what process 1 says on the serial line, and is nowhere else
	Args []string // for the program
	Env  []string // the program's environment
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

// jobEnv returns the program's environment, of the command's.
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

// alive is the byte that process 1 writes now and then, so that a long test differs from a machine that stands still.
const alive = 0

// What process 1 says, each on a line behind the mark.
const (
	wordStart  = "start"   // the program's output begins
	wordExit   = "exit "   // the program ended, with this status
	wordNotRun = "not run" // the program was not started: the reason follows
)

// An ending is how a program ended.
type ending struct {
	status int
	reason string // why it was not started, or ""
}

// A serialLine takes what comes over the serial line of the emulated machine. It passes on what the program writes, line
// by line, and keeps what process 1 says for itself.
type serialLine struct {
	mark   string
	start  func()            // is called before the first line
	line   func(line []byte) // takes a line of the program, with its newline if it had one
	began  bool              // the program's output has begun
	ended  *ending           // nil until process 1 said it
	failed bool              // a test failed, or the program panicked
	before bytes.Buffer      // what came before the program's output: the kernel's words
	part   []byte            // a line whose end is still to come
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

// close takes what has no newline.
func (s *serialLine) close() {
	if len(s.part) > 0 {
		s.take()
	}
}

// take takes a line. The mark may stand behind words of the program, whose last line need not have an end.
func (s *serialLine) take() {
	line := s.part
	s.part = s.part[:0]
	words, said, marked := bytes.Cut(line, []byte(s.mark))
	switch {
	case s.ended != nil: // the kernel says good-bye
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

// hear takes what process 1 says. What it does not know is no ending.
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

// failing reports whether a line of a test binary says that something is wrong. With -test.v=test2json a byte stands in
// front of some lines.
func failing(line []byte) bool {
	line = bytes.TrimLeft(line, " \x16")
	for _, start := range []string{"--- FAIL", "FAIL", "panic:", "fatal error:", "SIG"} {
		if bytes.HasPrefix(line, []byte(start)) {
			return true
		}
	}
	return false
}
