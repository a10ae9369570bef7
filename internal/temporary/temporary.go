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
	"sync"
)

// There are files, by their names as Create made them. The lock is held while one appears or goes, so that RemoveAll knows them all.
var (
	mu    sync.Mutex
	files = map[string]*os.File{}
)

// Create makes an empty file of a new name in a folder, to be read and written, with the permissions perm, of which the umask takes some.
func Create(dir string, perm fs.FileMode) (*os.File, error) {
	mu.Lock()
	defer mu.Unlock()
	for {
		name := filepath.Join(dir, fmt.Sprintf(".candor-%016x", rand.Uint64()))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			files[name] = f
		}
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Rename gives a file its lasting name, in place of what has that. Close it first.
func Rename(f *os.File, path string) error {
	mu.Lock()
	defer mu.Unlock()
	err := os.Rename(f.Name(), path)
	if err == nil {
		delete(files, f.Name())
	}
	return err
}

// Remove closes and removes a file; one that was renamed or removed stays as it is.
func Remove(f *os.File) {
	f.Close()
	mu.Lock()
	defer mu.Unlock()
	if files[f.Name()] == f {
		os.Remove(f.Name())
		delete(files, f.Name())
	}
}

// Hide removes the name of a file, which lives on until it is closed. It returns false where the system keeps names of open files: then
// Remove takes the file away.
func Hide(f *os.File) bool {
	mu.Lock()
	defer mu.Unlock()
	if os.Remove(f.Name()) != nil {
		return false
	}
	delete(files, f.Name())
	return true
}

// RemoveAll removes all files, for a process that is about to end: whoever makes, renames or removes one afterwards waits for that end.
func RemoveAll() {
	mu.Lock() // and never unlocked
	for name, f := range files {
		if os.Remove(name) != nil { // where open files cannot be removed
			f.Close()
			os.Remove(name)
		}
	}
	clear(files)
}
