package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestRecalMemory applies a map to predictions that take more memory than the process may have.
func TestRecalMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it writes 100 MB")
	}
	const rows, k = 250_000, 100
	d := newDir(t)
	bin := build(t)
	s := newSet(1, 400, k)
	m, x, out := d.at("m.json"), d.at("x.npy"), d.at("o.npy")
	printed(t, "recal", "fit", "temperature", d.put("few.npy", s.scores(t)), "--labels", d.put("labels.npy", s.labelFile(t)), "-o", m)
	sparse(t, x, "<f4", fmt.Sprintf("(%d, %d)", rows, k), int64(rows)*int64(k)*4)
	const most = 64
	c := exec.Command(bin, "recal", "apply", m, x, "-o", out, "--input", "logits", "--max-memory", fmt.Sprint(most, "MiB"))
	c.Stderr = new(bytes.Buffer)
	kib := peak(t, c)
	t.Logf("%d MiB resident for %d MiB of scores", kib>>10, rows*k*4>>20)
	if kib > most<<10 {
		t.Errorf("%d MiB resident at most, more than %d", kib>>10, most)
	}
	if fi, err := os.Stat(out); err != nil || fi.Size() < int64(rows)*int64(k)*4 {
		t.Error(err, fi)
	}
}

// TestRecalFitMemory: a fit stays within --max-memory, or says at once how much it takes, which then is enough.
func TestRecalFitMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it fits to thousands of classes")
	}
	d := newDir(t)
	bin := build(t)
	const rows, k = 30, 30_000
	s := newSet(1, rows, k)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	for _, m := range []string{"isotonic", "histogram(bins=10)"} {
		fit := func(memory int) (kib int64, errs string) {
			c := exec.Command(bin, "recal", "fit", m, x, "--labels", y, "--folds", "2", "--max-memory", fmt.Sprint(memory, "MiB"), "--threads", "2")
			b := new(bytes.Buffer)
			c.Stderr = b
			if memory > 64 {
				return peak(t, c), ""
			}
			if err := c.Run(); err == nil {
				t.Errorf("%s: it fits into %d MiB", m, memory)
			}
			return 0, b.String()
		}
		const before = "; pass --max-memory "
		_, errs := fit(64)
		at := strings.Index(errs, before)
		if at < 0 || !strings.Contains(errs, m+" of 30 rows x 30,000 classes takes about ") {
			t.Errorf("%s: %q does not say what is needed", m, errs)
			continue
		}
		var need int
		if _, err := fmt.Sscanf(errs[at+len(before):], "%dMiB", &need); err != nil || need > 300 {
			t.Errorf("%s: %d MiB, %v", m, need, err)
			continue
		}
		kib, _ := fit(need)
		t.Logf("%s: %d MiB resident of %d", m, kib>>10, need)
		if kib > int64(need)<<10 {
			t.Errorf("%s: %d MiB resident at most, more than %d", m, kib>>10, need)
		}
	}
}

// TestRecalToPipe: what is no regular file is written to, and that it cannot be is said.
func TestRecalToPipe(t *testing.T) {
	d := newDir(t)
	s := newSet(5, 8000, 3) // more than a pipe holds
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	m, mapPipe, pipe := d.at("m.json"), d.at("pipe.json"), d.at("pipe.npy")
	read := func(name string) chan []byte {
		got := make(chan []byte, 1)
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		go func() {
			defer close(got)
			f, err := os.Open(name)
			if err != nil {
				return
			}
			defer f.Close()
			b, _ := io.ReadAll(f)
			got <- b
		}()
		return got
	}
	fit := []string{"recal", "fit", "temperature", x, "--labels", y, "-o"}
	file := read(mapPipe)
	printed(t, append(fit, mapPipe)...)
	printed(t, append(fit, m)...)
	if b := <-file; !bytes.Equal(b, d.read(m)) {
		t.Errorf("%d bytes of a map came through the pipe", len(b))
	}
	array := read(pipe)
	printed(t, "recal", "apply", m, x, "-o", pipe)
	printed(t, "recal", "apply", m, x, "-o", d.at("o.npy"))
	if b := <-array; !bytes.Equal(b, d.read(d.at("o.npy"))) {
		t.Errorf("%d bytes came through the pipe", len(b))
	}
	full := d.at("full.npy")
	if err := os.Symlink("/dev/full", full); err != nil {
		t.Fatal(err)
	}
	refusedAs(t, d, exitUsage, []string{"recal", "apply", m, x, "-o", full}, "cannot write ", "no space left")
	refusedAs(t, d, exitUsage, append(fit, full), "cannot write ", "no space left")
	// A link stays, and what it names is replaced.
	d.put("old.npy", []byte("old"))
	if err := os.Symlink("old.npy", d.at("link.npy")); err != nil {
		t.Fatal(err)
	}
	printed(t, "recal", "apply", m, x, "-o", d.at("link.npy"))
	if !bytes.Equal(d.read(d.at("old.npy")), d.read(d.at("o.npy"))) {
		t.Error("what a link names is not replaced")
	}
}
