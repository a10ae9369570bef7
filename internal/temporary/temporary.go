// Package temporary makes files that do not outlast the process under the names that it gives them: they are renamed or removed,
// and RemoveAll removes those that a signal would leave behind.
package temporary

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// The existing files, by their names from Create. The lock is held while a file is made or removed, so that RemoveAll knows
// all of them.
var (
	mu    sync.Mutex
	files = map[string]*os.File{}
)

// Create makes an empty file with a new name in a folder, open for reading and writing. The umask applies to perm.
func Create(dir string, perm fs.FileMode) (*os.File, error) { return create(dir, "", perm) }

// CreateFor is Create for what Rename will give this name in the same folder. If the process is killed, Sweep finds it.
func CreateFor(path string, perm fs.FileMode) (*os.File, error) {
	return create(filepath.Dir(path), kindOf(path), perm)
}

// kindOf is what names of CreateFor have between the prefix and the digits. Systems limit names to 255 bytes.
func kindOf(path string) string {
	base := filepath.Base(path)
	return base[:min(len(base), 200)] + "-"
}

const prefix, digits = ".candor-", 16

func create(dir, kind string, perm fs.FileMode) (*os.File, error) {
	mu.Lock()
	defer mu.Unlock()
	for {
		name := filepath.Join(dir, fmt.Sprintf("%s%s%0*x", prefix, kind, digits, rand.Uint64()))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			files[name] = f
		}
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Sweep removes what killed processes have left of CreateFor with this path. A process that still writes it cannot rename it.
func Sweep(path string) error {
	dir := filepath.Dir(path)
	l, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range l {
		n, ok := strings.CutPrefix(e.Name(), prefix+kindOf(path))
		if ok = ok && len(n) == digits && strings.Trim(n, "0123456789abcdef") == "" && e.Type().IsRegular(); !ok {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Rename gives a file its final name, replacing any file of that name. Close the file first.
func Rename(f *os.File, path string) error {
	mu.Lock()
	defer mu.Unlock()
	err := os.Rename(f.Name(), path)
	if err == nil {
		delete(files, f.Name())
	}
	return err
}

// Remove closes and removes a file; it does not remove one that was renamed or removed already.
func Remove(f *os.File) {
	f.Close()
	mu.Lock()
	defer mu.Unlock()
	if files[f.Name()] == f {
		os.Remove(f.Name())
		delete(files, f.Name())
	}
}

// Hide removes the name of a file, which exists until it is closed. It returns false if the system does not allow that for
// open files; then Remove removes the file.
func Hide(f *os.File) bool {
	mu.Lock()
	defer mu.Unlock()
	if os.Remove(f.Name()) != nil {
		return false
	}
	delete(files, f.Name())
	return true
}

// RemoveAll removes all files, for a process that is about to end. Later calls that make, rename or remove a file block
// until then.
func RemoveAll() {
	mu.Lock() // never unlocked
	for name, f := range files {
		if os.Remove(name) != nil { // open files cannot be removed here
			f.Close()
			os.Remove(name)
		}
	}
	clear(files)
}
