//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSignals: a signal leaves no temporary file, and the process ends by it; one that is ignored, as nohup has it, ends nothing.
func TestSignals(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newSet(1, 50, 3)
	for _, c := range []struct {
		signal syscall.Signal
		args   string // words; labels come from a pipe
		nohup  bool
	}{
		{syscall.SIGINT, "score x.npy --labels pipe --metrics nll -o out.npy", false},
		{syscall.SIGTERM, "score x.npy --labels pipe --metrics nll -o out.csv", false},
		{syscall.SIGHUP, "score x.npy --labels pipe --metrics nll -o -", false}, // in TMPDIR
		{syscall.SIGHUP, "score x.npy --labels pipe --metrics nll -o out.npy", true},
	} {
		if !c.nohup && signal.Ignored(c.signal) {
			continue // the tests themselves run under nohup, and so would the command
		}
		d := newDir(t)
		d.put("x.npy", s.scores(t))
		if err := syscall.Mkfifo(d.at("pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, strings.Fields(c.args)...)
		if c.nohup {
			cmd = exec.Command("nohup", append([]string{self}, strings.Fields(c.args)...)...)
		}
		cmd.Dir, cmd.Env = d.path, append(os.Environ(), "CANDOR_TEST_COMMAND=1", "TMPDIR="+d.path)
		if err := cmd.Start(); err != nil {
			t.Skip(err)
		}
		// The header comes, and no label.
		w, err := os.OpenFile(d.at("pipe"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		y := s.labelFile(t)
		if _, err := w.Write(y[:len(y)-4]); err != nil {
			t.Fatal(err)
		}
		left := func() []string {
			l, err := filepath.Glob(d.at(".candor-*"))
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		for wait := 0; len(left()) == 0; wait++ {
			if wait > 1000 {
				t.Fatal("there is no temporary file")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := cmd.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		if c.nohup {
			if _, err := w.Write(y[len(y)-4:]); err != nil {
				t.Fatal(err)
			}
			w.Close()
		}
		stuck := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
		err = cmd.Wait()
		stuck.Stop()
		w.Close()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if c.nohup {
			if _, gone := os.Stat(d.at("out.npy")); err != nil || gone != nil {
				t.Errorf("%v, ignored: %v, %v", c.signal, err, gone)
			}
		} else if !status.Signaled() || status.Signal() != c.signal {
			t.Errorf("%v: %v", c.signal, err)
		}
		if l := left(); len(l) > 0 {
			t.Errorf("%v leaves %v", c.signal, l)
		}
	}
}
