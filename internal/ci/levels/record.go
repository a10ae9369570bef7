package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

const recordName = "kernel/asm/levels.txt"

const recordHead = `# What each kernel was last proven on: level, kernel, and hashes of its instructions, of its Go definition and of the tests
# that compare the two. Written by .ci/levels -update after they passed at that level; compared by .ci/run.
`

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// readRecord returns the lines of the record by level and name; none if there is no file.
func readRecord(root string) (map[string]string, error) {
	lines := map[string]string{}
	b, err := os.ReadFile(filepath.Join(root, recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return lines, nil
	} else if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 5 {
			return nil, fmt.Errorf("%s:%d: %d words, want 5", recordName, n+1, len(f))
		}
		lines[f[0]+" "+f[1]] = line
	}
	return lines, nil
}

func writeRecord(root string, now []kernel) error {
	var b strings.Builder
	b.WriteString(recordHead)
	for _, k := range now {
		b.WriteString(k.line() + "\n")
	}
	name := filepath.Join(root, recordName)
	if err := os.WriteFile(name+".new", []byte(b.String()), 0o666); err != nil {
		return err
	}
	fmt.Printf("levels: recorded %d lines in %s\n", len(now), recordName)
	return os.Rename(name+".new", name)
}

// A proof states that a test passed which compares a kernel's code with its definition; all three are given by their hashes.
type proof struct{ level, test, kernel, code, definition, testHash string }

func (p proof) String() string {
	return strings.Join([]string{p.level, p.test, p.kernel, p.code, p.definition, p.testHash}, " ")
}

// readTable reads the output of -table.
func readTable(name string) (lines []proof, err error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 6 {
			return nil, fmt.Errorf("%s is no table of levels", name)
		}
		lines = append(lines, proof{f[0], f[1], f[2], f[3], f[4], f[5]})
	}
	return lines, nil
}

// store is the file of proofs.
type store struct {
	name   string
	proofs map[string]bool
}

func openStore() (*store, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	s := &store{filepath.Join(dir, "candor", "proofs"), map[string]bool{}}
	b, err := os.ReadFile(s.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		s.proofs[strings.TrimSpace(line)] = true
	}
	return s, nil
}

// proves reports whether every comparison test of the kernel has passed with its current code.
func (s *store) proves(k kernel) bool {
	return !slices.ContainsFunc(k.tests, func(t test) bool {
		return !s.proofs[proof{k.level, t.name, k.name, k.code, k.definition, t.hash}.String()]
	})
}

// remember adds to the store the lines of a table whose tests passed according to logs, at the levels that ran there.
func (s *store) remember(table []proof, logs []string) error {
	added := 0
	for _, name := range logs {
		ran, passed, err := readLog(name)
		if err != nil {
			return err
		}
		for _, p := range table {
			if line := p.String(); ran[p.level] && passed[p.test] && !s.proofs[line] {
				s.proofs[line] = true
				added++
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(s.name), 0o777); err != nil {
		return err
	}
	lines := make([]string, 0, len(s.proofs))
	for line := range s.proofs {
		lines = append(lines, line+"\n")
	}
	slices.Sort(lines)
	fmt.Printf("levels: %d new proofs\n", added)
	if err := os.WriteFile(s.name+".new", []byte(strings.Join(lines, "")), 0o666); err != nil {
		return err
	}
	return os.Rename(s.name+".new", s.name)
}

var ranLevels = regexp.MustCompile(`levels compared: \[([a-z0-9 ]*)\]`)

// readLog reads the output of go test -json for the kernels: the levels that were compared, and the tests that passed
// completely.
func readLog(name string) (ran, passed map[string]bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	ran, passed = map[string]bool{}, map[string]bool{}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(s.Bytes(), &e) != nil {
			continue
		}
		switch top, _, _ := strings.Cut(e.Test, "/"); {
		case e.Action == "output" && top == "TestLevelsRan":
			if m := ranLevels.FindStringSubmatch(e.Output); m != nil {
				for _, l := range strings.Fields(m[1]) {
					ran[l] = true
				}
			}
		case e.Action == "pass" && e.Test == top && top != "":
			passed[top] = true
		}
	}
	// A subtest that failed or was skipped leaves its test unproven, whatever the result of the test.
	f.Seek(0, 0)
	s = bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var e struct{ Action, Test string }
		if json.Unmarshal(s.Bytes(), &e) == nil && (e.Action == "fail" || e.Action == "skip") {
			top, _, _ := strings.Cut(e.Test, "/")
			delete(passed, top)
		}
	}
	if !passed["TestLevelsRan"] {
		clear(ran)
	}
	return ran, passed, s.Err()
}

// prove runs the tests of kernels whose level can run here, natively or by qemu, and stores what passed.
func prove(root string, s *store, stale []kernel) error {
	native := []string{"generic"}
	for _, l := range levels {
		if l.arch == runtime.GOARCH && cpuHas(l.name) {
			native = append(native, l.name)
		}
	}
	for _, arch := range []string{"amd64", "arm64"} {
		var todo []kernel
		for _, k := range stale {
			here := arch == runtime.GOARCH && slices.Contains(native, k.level)
			emulated := arch != runtime.GOARCH && arch == "arm64" && k.level == "neon"
			if (here || emulated) && !s.proves(k) {
				todo = append(todo, k)
			}
		}
		if len(todo) == 0 {
			continue
		}
		args := []string{"test", "-json", "-short", "-count=1", "-timeout=60m", "-run=^(TestLevelsRan|" + strings.Join(testsOf(todo), "|") + ")$"}
		env := append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0", "CANDOR_ISA=", "CANDOR_REQUIRE_ISA="+strings.Join(native, ","))
		if arch != runtime.GOARCH {
			args = append(args, "-exec=qemu-aarch64-static -cpu max")
			env = append(env, "CANDOR_REQUIRE_ISA=generic,neon")
		}
		fmt.Printf("levels: running the tests of %d lines on %s\n", len(todo), arch)
		if err := s.runTests(root, todo, append(args, "./kernel"), env); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) runTests(root string, todo []kernel, args, env []string) error {
	log, err := os.CreateTemp("", "levels")
	if err != nil {
		return err
	}
	defer os.Remove(log.Name())
	defer log.Close()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, env, log, os.Stderr
	failed := cmd.Run()
	var table []proof
	for _, k := range todo {
		for _, t := range k.tests {
			table = append(table, proof{k.level, t.name, k.name, k.code, k.definition, t.hash})
		}
	}
	if err := s.remember(table, []string{log.Name()}); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), failed)
	}
	return nil
}

// cpuHas reports whether this machine's CPU supports a level.
func cpuHas(level string) bool {
	if level == "neon" {
		return true // every arm64 CPU has it
	}
	out, err := exec.Command("go", "run", "./cmd/candor", "version", "--cpu").Output()
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "detected" {
			have := f[1]
			return have == level || have == "avx512" && level == "avx2"
		}
	}
	return false
}
