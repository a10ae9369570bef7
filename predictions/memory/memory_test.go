package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain is also the process that reads: its argument is a name, and it writes what is there.
func TestMain(m *testing.M) {
	if name := os.Getenv("CANDOR_MEMORY_NAME"); name != "" {
		b, err := fs.ReadFile(FS{}, name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.Write(b)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestUnwrapped: a permission that the system denies is not taken for that of a file.
func TestUnwrapped(t *testing.T) {
	if err := error(&fs.PathError{Err: refused{fs.ErrPermission}}); errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), Refused) {
		t.Error(err)
	}
}

// TestFile: a file is read at any place, and ends where the array does.
func TestFile(t *testing.T) {
	a := &array{header: []byte("abc")}
	f := &file{array: a}
	for _, c := range []struct {
		off  int64
		room int
		want string
		err  error
	}{{0, 2, "ab", nil}, {0, 3, "abc", nil}, {1, 9, "bc", io.EOF}, {3, 1, "", io.EOF}, {99, 1, "", io.EOF}, {-1, 1, "", fs.ErrInvalid}} {
		p := make([]byte, c.room)
		n, err := f.ReadAt(p, c.off)
		if string(p[:n]) != c.want || !errors.Is(err, c.err) {
			t.Errorf("at %d: %q, %v", c.off, p[:n], err)
		}
	}
	if fi, err := f.Stat(); err != nil || fi.Size() != 3 || !fi.Mode().IsRegular() {
		t.Error(fi, err)
	}
}

// TestNames: other names are those of files.
func TestNames(t *testing.T) {
	for _, name := range []string{"", "p.npy", "/proc/1/mem", "/proc/1/mem/2/3", "/proc/x/mem/1/2//0", "/proc/1/mem/-1/2//0", "/proc/1/mem/1/-2//0", "/proc/1/mem/1/2/=/0", "/proc/0/mem/1/2//0", "/proc/1/mem/1/2/", "/proc/1/mem/1/2//x",
		"/proc/1/maps/1/2//0", "/proc/1/mem/9223372036854775807/9223372036854775807//0", "a/proc/1/mem/1/2//0"} {
		if Is(name) {
			t.Errorf("%q is taken for an array", name)
		}
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(FS{}, path); err != nil || string(b) != "y" {
		t.Errorf("%q, %v", b, err)
	}
	if fi, err := (FS{}).Stat(path); err != nil || fi.Size() != 1 {
		t.Error(fi, err)
	}
	if _, err := (FS{}).Open(path + "z"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
