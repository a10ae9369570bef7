package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// The system sends the parent-death signal when the thread that started the child ends. The main thread lasts as long as the
// process.
func init() { runtime.LockOSThread() }

var errLimit = errors.New("the time limit ran out")

// A stopSignal is a signal that ended the command.
type stopSignal struct{ syscall.Signal }

func (s stopSignal) Error() string { return "ended by a signal: " + s.String() }

// run runs the program of the command line on the emulated machine, and returns the exit status.
func run(o *options) (int, error) {
	if err := dieWithParent(); err != nil {
		return statusMachine, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() { cancel(stopSignal{(<-signals).(syscall.Signal)}) }()
	ctx, stop := context.WithTimeoutCause(ctx, o.limit, errLimit)
	defer stop()

	dir, err := os.MkdirTemp(o.tmp, "bochs")
	if err != nil {
		return statusMachine, err
	}
	defer os.RemoveAll(dir)
	status, err := runIn(ctx, dir, o)
	var sig stopSignal
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return status, err
	case errors.As(cause, &sig):
		return statusSignaled + int(sig.Signal), cause
	default:
		return statusLimit, fmt.Errorf("%w: %v", cause, o.limit)
	}
}

// dieWithParent makes this process receive a signal, after which it can clean up, when its parent ends.
func dieWithParent() error {
	const setParentDeathSignal = 1
	parent := os.Getppid()
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, setParentDeathSignal, uintptr(syscall.SIGTERM), 0); e != 0 {
		return fmt.Errorf("prctl: %w", e)
	}
	if os.Getppid() != parent {
		return errors.New("the process that started this one is gone")
	}
	return nil
}

// runIn is run with a folder for its files.
func runIn(ctx context.Context, dir string, o *options) (int, error) {
	j := &job{Mark: "<bochs " + rand.Text() + "> ", Args: o.command[1:], Env: jobEnv(os.Environ())}
	program, err := exec.LookPath(o.command[0])
	if err != nil {
		return statusNotRun, err
	}
	m := &machine{dir: dir, image: filepath.Join(dir, "cd.iso"), still: o.still}
	files := filepath.Join(dir, "cd")
	if err := os.Mkdir(files, 0o777); err != nil {
		return statusMachine, err
	}
	if err := writeImage(ctx, m.image, files, o.kernel, program, j); err != nil {
		return statusMachine, err
	}
	if err := os.RemoveAll(files); err != nil {
		return statusMachine, err
	}
	for first := true; ; first = false {
		s, err := m.attempt(ctx, o, j)
		var f *failure
		if errors.As(err, &f) {
			fmt.Fprintln(os.Stderr, f.details)
			if first && !s.failed {
				fmt.Fprintf(os.Stderr, "bochs: %v; once more\n", f)
				continue
			}
		}
		if err != nil {
			return statusMachine, err
		}
		if s.ended == nil { // ctx is done
			return statusMachine, nil
		}
		if s.ended.reason != "" {
			return s.ended.status, errors.New(s.ended.reason)
		}
		return s.ended.status, nil
	}
}

// attempt boots the machine once. The output of the program goes to standard output and, if requested, through test2json;
// files of an earlier attempt are overwritten.
func (m *machine) attempt(ctx context.Context, o *options, j *job) (s *serialLine, err error) {
	out := io.Writer(os.Stdout)
	if o.json != "" {
		events, err := startTest2json(o.json, o.pkg)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, events.Close()) }()
		out = io.MultiWriter(out, events)
	}
	var (
		clock  cpuClock
		booted time.Duration
		watch  = &stopwatch{clock: clock.now}
	)
	s = &serialLine{
		mark:  j.Mark,
		start: func() { booted = clock.now() },
		line: func(line []byte) {
			watch.line(line)
			out.Write(line)
		},
	}
	started := time.Now()
	if err := m.boot(ctx, s, &clock); err != nil {
		return s, err
	}
	watch.next("")
	fmt.Fprintf(os.Stderr, "bochs: %.1f s of CPU in %.1f s, %.1f s of it until the program started\n",
		clock.now().Seconds(), time.Since(started).Seconds(), booted.Seconds())
	if o.times == "" {
		return s, nil
	}
	f, err := os.Create(o.times)
	if err != nil {
		return s, err
	}
	defer f.Close()
	if err := watch.report(f); err != nil {
		return s, err
	}
	return s, f.Close()
}

// A test2json is a process that turns the lines it receives into a file of events.
type test2json struct {
	io.WriteCloser
	cmd  *exec.Cmd
	file *os.File
}

func startTest2json(file, pkg string) (*test2json, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "tool", "test2json", "-t", "-p", pkg)
	cmd.Stdout, cmd.Stderr = f, os.Stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &test2json{in, cmd, f}, nil
}

// Close waits until everything is written.
func (t *test2json) Close() error {
	t.WriteCloser.Close()
	if err := errors.Join(t.cmd.Wait(), t.file.Close()); err != nil {
		return fmt.Errorf("test2json: %w", err)
	}
	return nil
}
