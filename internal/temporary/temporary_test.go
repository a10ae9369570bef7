package temporary

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFiles: a file that is renamed stays, and nothing else does.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	list := func() []string {
		l, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	create := func() *os.File {
		f, err := Create(dir, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	kept, gone, hidden := create(), create(), create()
	if len(list()) != 3 {
		t.Fatalf("%v", list())
	}
	if _, err := hidden.WriteString("1234"); err != nil {
		t.Fatal(err)
	}
	if Hide(hidden) {
		var b [4]byte
		if _, err := hidden.ReadAt(b[:], 0); err != nil || string(b[:]) != "1234" {
			t.Errorf("%q, %v", b, err)
		}
		hidden.Close()
	} else {
		Remove(hidden)
	}
	Remove(gone)
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "kept")
	if err := Rename(kept, to); err != nil {
		t.Fatal(err)
	}
	Remove(kept)
	if l := list(); len(l) != 1 || l[0] != to {
		t.Errorf("%v", l)
	}
	create()
	create().Close()
	if Rename(create(), filepath.Join(dir, "no such folder", "x")) == nil {
		t.Error("it was renamed into no folder")
	}
	at := filepath.Join(dir, "a.state")
	for range 2 {
		f, err := CreateFor(at, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	others := []string{".candor-a.state-0123", ".candor-a.state-0123456789abcdeg", ".candor-b.state-0123456789abcdef", "candor-a.state-0123456789abcdef"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	n := len(list())
	if err := Sweep(at); err != nil || len(list()) != n-2 {
		t.Errorf("%v: %d files are left of %d", err, len(list()), n)
	}
	for _, name := range others {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if Sweep(filepath.Join(dir, "no such folder", "x")) == nil {
		t.Error("no folder was swept")
	}
	RemoveAll()
	if l := list(); len(l) != 1 || l[0] != to {
		t.Errorf("after the end %v", l)
	}
	mu.Unlock()
	if _, err := Create(filepath.Join(dir, "none"), 0o600); err == nil {
		t.Error("a file was made in no folder")
	}
}
