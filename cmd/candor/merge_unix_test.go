//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestMergeEndless: what does not begin as a state is not read on, and what does is read as far as there is memory.
func TestMergeEndless(t *testing.T) {
	d := newDir(t)
	a, _ := states(t, d)
	head := d.read(a)[:14]
	code, out, errs := candor(t, "merge", "/dev/zero")
	if code != exitData || out != "" || !strings.Contains(errs, "/dev/zero: not a state that can be read") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	pipe := d.at("pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err != nil {
			return
		}
		defer w.Close()
		for b := head; err == nil; b = make([]byte, 1<<20) {
			_, err = w.Write(b)
		}
	}()
	code, out, errs = candor(t, "merge", a, pipe, "--max-memory", "60MiB")
	if code != exitData || out != "" || !strings.Contains(errs, pipe+": more than 10485760 bytes are too many for a state") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
