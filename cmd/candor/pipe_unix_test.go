//go:build unix

package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// TestStateToPipe: what is no regular file is written to, not replaced.
func TestStateToPipe(t *testing.T) {
	d := newDir(t)
	s := newSet(5, 200, 3)
	x, y, pipe := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.at("pipe")
	evaluate(t, x, "--labels", y, "--state", d.at("s.state"))
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte)
	go func() {
		f, err := os.Open(pipe)
		if err != nil {
			close(got)
			return
		}
		b, _ := io.ReadAll(f)
		f.Close() // first: what writes to the pipe next must not find this reader
		got <- b
	}()
	evaluate(t, x, "--labels", y, "--state", pipe)
	if b := <-got; !bytes.Equal(b, d.read(d.at("s.state"))) {
		t.Errorf("%d bytes came through the pipe", len(b))
	}
	if fi, err := os.Lstat(pipe); err != nil || fi.Mode()&fs.ModeNamedPipe == 0 {
		t.Error("the pipe was replaced")
	}
	// Predictions and labels may come through one as well.
	for _, from := range []string{x, y} {
		b := d.read(from)
		go os.WriteFile(pipe, b, 0)
		args := []string{pipe, "--labels", y}
		if from == y {
			args = []string{x, "--labels", pipe}
		}
		if e := evaluate(t, args...); e.Input.Rows != 200 {
			t.Errorf("%d rows", e.Input.Rows)
		}
	}
}
