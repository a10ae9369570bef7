//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/candor-go/candor/metrics/parallel"
)

// campaign is what a trial works with.
type campaign struct {
	full   bool
	seed   uint64
	dir    string        // an empty folder
	candor string        // the command
	soaks  time.Duration // how long commands run that run for long, if it is set

	picture  string // of the trial, a file beside the page's, if it draws one
	pictured []byte

	mu     sync.Mutex
	tries  int64
	faults []string
}

// some returns how many of n things are tried.
func (c *campaign) some(n int) int {
	if c.full {
		return n
	}
	return max(1, n/10)
}

// tried counts tries.
func (c *campaign) tried(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries += n
}

// fault records a fault.
func (c *campaign) fault(format string, a ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, a...))
}

// each calls f for i = 0 to n-1 on all CPUs, with random numbers that depend on the seed and on i alone, and returns an error of f.
func (c *campaign) each(n int, f func(i int, r *rand.Rand) error) (failed error) {
	stop := func(err error) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		failed = cmp.Or(failed, err)
		return failed != nil
	}
	parallel.Each(runtime.GOMAXPROCS(0), n, func() func(int) {
		return func(i int) {
			if !stop(nil) {
				stop(f(i, rand.New(rand.NewPCG(c.seed, uint64(i)))))
			}
		}
	})
	return failed
}

// command is a run of candor.
type command struct {
	dir   string
	args  []string
	env   []string
	stdin io.Reader

	program string        // candor unless it is set
	extra   *os.File      // file descriptor 3, if it is set
	limit   time.Duration // after which it hangs, if that is not after hangs
	// killed, if set, is called when the process has started; the process may be sent a signal.
	killed func(p *exec.Cmd)
}

// outcome is how a run ended.
type outcome struct {
	code           int // -1 if a signal ended it
	signal         syscall.Signal
	stdout, stderr []byte
	memory         int64 // the most, in bytes; at least what this process has, unless it was measured
	cpu, wall      time.Duration
	hung           bool
}

// hangs is how long a command may take that should need milliseconds.
const hangs = 2 * time.Minute

// run runs a command.
func (c *campaign) run(k command) (outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(k.limit, hangs))
	defer cancel()
	p := exec.CommandContext(ctx, cmp.Or(k.program, c.candor), k.args...)
	if k.extra != nil {
		p.ExtraFiles = []*os.File{k.extra}
	}
	var stdout, stderr bytes.Buffer
	p.Dir, p.Stdin, p.Stdout, p.Stderr = k.dir, k.stdin, &stdout, &stderr
	p.Env = append(p.Environ(), "TMPDIR="+k.dir, "CANDOR_ISA=")
	p.Env = append(p.Env, k.env...)
	p.WaitDelay = time.Second
	start := time.Now()
	if err := p.Start(); err != nil {
		return outcome{}, err
	}
	if k.killed != nil {
		k.killed(p)
	}
	p.Wait() // how it ended is in its state
	u := p.ProcessState.SysUsage().(*syscall.Rusage)
	o := outcome{code: p.ProcessState.ExitCode(), stdout: stdout.Bytes(), stderr: stderr.Bytes(), memory: int64(u.Maxrss) << 10,
		cpu: p.ProcessState.UserTime() + p.ProcessState.SystemTime(), wall: time.Since(start), hung: ctx.Err() != nil}
	if s := p.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		o.signal = s.Signal()
	}
	return o, nil
}

// launcher is the environment variable that makes this program start a command, and write to its file descriptor 3 what the command took. A
// process begins with the memory of the one that starts it, as the system counts it, so that must be small.
const launcher = "CAMPAIGN_LAUNCH"

// launch starts a command and returns its exit code.
func launch(args []string) int {
	p := exec.Command(args[0], args[1:]...)
	p.Stdin, p.Stdout, p.Stderr = os.Stdin, os.Stdout, os.Stderr
	p.Run() // how it ended is in its state
	u, ok := p.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 70
	}
	fmt.Fprintln(os.NewFile(3, "usage"), int64(u.Maxrss)<<10, int64(p.ProcessState.UserTime()+p.ProcessState.SystemTime()),
		int(p.ProcessState.Sys().(syscall.WaitStatus).Signal()))
	return p.ProcessState.ExitCode()
}

// measured runs a command and finds the memory and the time that it alone takes.
func (c *campaign) measured(k command) (outcome, error) {
	self, err := os.Executable()
	if err != nil {
		return outcome{}, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return outcome{}, err
	}
	defer r.Close()
	k.program, k.env, k.extra = self, append(k.env, launcher+"=1"), w
	k.args = append([]string{c.candor}, k.args...)
	o, err := c.run(k)
	w.Close()
	if err != nil || o.hung {
		return o, err
	}
	var cpu int64
	var signal int // -1 if there was none
	if _, err := fmt.Fscan(r, &o.memory, &cpu, &signal); err != nil {
		return o, fmt.Errorf("what the command took is not known: %w", err)
	}
	if o.cpu = time.Duration(cpu); signal > 0 {
		o.code, o.signal = -1, syscall.Signal(signal)
	}
	return o, nil
}

// must runs a command that has to succeed, and returns what it prints.
func (c *campaign) must(dir string, args ...string) ([]byte, error) {
	o, err := c.run(command{dir: dir, args: args})
	if err != nil {
		return nil, err
	}
	if o.code != 0 {
		return nil, fmt.Errorf("candor %s: exit %d: %s", strings.Join(args, " "), o.code, o.stderr)
	}
	return o.stdout, nil
}

// unsound says what is wrong with how a run ended, whatever its input was: "" if nothing is. An error is one line, or a line and advice.
func (o *outcome) unsound(most int64) string {
	switch {
	case o.hung:
		return fmt.Sprintf("it still ran after %v", hangs)
	case o.code < 0:
		return fmt.Sprintf("it ended by signal %v", o.signal)
	case o.code > 3:
		return fmt.Sprintf("exit code %d: %.200q", o.code, o.stderr)
	case bytes.Contains(o.stderr, []byte("goroutine ")):
		return fmt.Sprintf("a panic: %.200q", o.stderr)
	case o.code > 1 && len(bytes.TrimSpace(o.stderr)) == 0:
		return fmt.Sprintf("exit code %d without an error", o.code)
	case !utf8.Valid(o.stderr) || bytes.ContainsFunc(o.stderr, control):
		return fmt.Sprintf("control characters reach the terminal: %.200q", o.stderr)
	case o.memory > most:
		return fmt.Sprintf("%d MiB of memory", o.memory>>20)
	}
	return ""
}

func control(r rune) bool { return r != '\n' && r != '\t' && (r < ' ' || 0x7f <= r && r < 0xa0) }

// refused says whether a run ended with an error about its data or its files, and no answer.
func (o *outcome) refused() bool { return o.code == 2 || o.code == 3 }

// table is what a trial found.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the table as Markdown. Cells that are numbers stand to the right.
func (t *table) print(w io.Writer) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	marks := make([]string, len(t.head))
	for i := range marks {
		marks[i] = "---:"
		for _, r := range t.rows {
			if _, err := strconv.ParseFloat(strings.NewReplacer(",", "", "-", "0").Replace(r[i]), 64); err != nil {
				marks[i] = "---"
			}
		}
	}
	line(marks)
	for _, r := range t.rows {
		line(r)
	}
}

// thousands prints a whole number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// anchor is the link of a title.
func anchor(title string) string { return strings.ReplaceAll(strings.ToLower(title), " ", "-") }
