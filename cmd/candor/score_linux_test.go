package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestScoreToPipe: what is no regular file is written to, not replaced; that it cannot be is said.
func TestScoreToPipe(t *testing.T) {
	d := newDir(t)
	s := newSet(5, 20_000, 3)
	x, y, pipe := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.at("pipe.npz")
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
		defer f.Close()
		b, _ := io.ReadAll(f)
		got <- b
	}()
	if code, _, errs := candor(t, "score", x, "--labels", y, "--metrics", "nll,brier", "-o", pipe); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if code, _, errs := candor(t, "score", x, "--labels", y, "--metrics", "nll,brier", "-o", d.at("file.npz")); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if b := <-got; !bytes.Equal(b, d.read(d.at("file.npz"))) {
		t.Errorf("%d bytes came through the pipe", len(b))
	}
	full := d.at("full.npy")
	if err := os.Symlink("/dev/full", full); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := candor(t, "score", x, "--labels", y, "-o", full); code != exitUsage || !strings.Contains(errs, "cannot write ") || !strings.Contains(errs, "no space left") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// A link stays, and what it names is replaced.
	d.put("old.csv", []byte("old"))
	if err := os.Symlink("old.csv", d.at("link.csv")); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := candor(t, "score", x, "--labels", y, "--metrics", "nll", "-o", d.at("link.csv")); code != 0 || !strings.HasPrefix(string(d.read(d.at("old.csv"))), "nll\n") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestScoreMemory writes values that take more memory than the process may have.
func TestScoreMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it writes 200 MB")
	}
	rows, most := 4_000_000, int64(64) // MiB
	if check.Full() {
		rows, most = 12_000_000, 256
	}
	dir := t.TempDir()
	bin, x, y := build(t), filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.npy")
	sparse(t, x, "<f4", fmt.Sprintf("(%d,)", rows), int64(rows)*4)
	sparse(t, y, "<i8", fmt.Sprintf("(%d,)", rows), int64(rows)*8)
	for _, out := range []string{"rows.npy", "rows.npz"} {
		c := exec.Command(bin, "score", x, "--labels", y, "--metrics", "nll,brier,entropy", "--on-invalid", "drop", "-o", filepath.Join(dir, out), "--max-memory", fmt.Sprint(most, "MiB"))
		c.Stderr = new(bytes.Buffer)
		kib := peak(t, c)
		fi, err := os.Stat(filepath.Join(dir, out))
		if err != nil || fi.Size() < int64(rows)*24 {
			t.Fatal(err, fi)
		}
		t.Logf("%d MiB resident for %d MiB of values", kib>>10, rows*24>>20)
		if kib > most<<10 {
			t.Errorf("%d MiB resident at most, more than %d", kib>>10, most)
		}
		os.Remove(filepath.Join(dir, out))
	}
}
