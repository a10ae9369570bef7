package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/temporary"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
)

// arrayFile is an .npy file being written. The place of every row is known in advance, so rows may arrive in any order.
type arrayFile struct {
	file   *os.File
	head   []byte
	failed atomic.Pointer[error]
}

// newArrayFile creates the file next to its final path or, if that is not a regular file, in the folder for temporary files.
func newArrayFile(path string, shape []int64, t metrics.DType) (*arrayFile, error) {
	a := &arrayFile{head: predictions.NPYHeader(shape, t)}
	var err error
	if a.file, err = scratchFile(path); err != nil {
		return nil, err
	}
	a.put(a.head, 0)
	return a, nil
}

// scratchFile creates a file next to a path or, if that is not a regular file, in the folder for temporary files.
func scratchFile(path string) (*os.File, error) {
	if replaced(path) {
		return besideFile(target(path))
	}
	return temporary.Create(os.TempDir(), 0o600)
}

// target follows a link, so that the link itself stays.
func target(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// replaced reports whether writing replaces the file; anything that is not a regular file is written to directly.
func replaced(path string) bool {
	if path == "-" {
		return false
	}
	fi, err := os.Stat(path)
	return err != nil || fi.Mode().IsRegular()
}

func (a *arrayFile) put(b []byte, at int64) {
	if _, err := a.file.WriteAt(b, at); err != nil {
		a.failed.CompareAndSwap(nil, &err)
	}
}

// failure returns the error of writing, if any.
func (a *arrayFile) failure() error {
	if e := a.failed.Load(); e != nil {
		return *e
	}
	return nil
}

// remove removes the file if it still exists.
func (a *arrayFile) remove() { temporary.Remove(a.file) }

// finish completes the file with what write writes or, if write is nil, with the array as it is.
func (a *arrayFile) finish(c *cobra.Command, path string, write func(io.Writer) error) error {
	if write == nil {
		if replaced(path) {
			return replace(a.file, target(path))
		}
		write = func(w io.Writer) error {
			if _, err := a.file.Seek(0, io.SeekStart); err != nil {
				return err
			}
			_, err := io.Copy(w, a.file)
			return err
		}
	}
	buffered := func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<20)
		if err := write(b); err != nil {
			return err
		}
		return b.Flush()
	}
	switch {
	case path == "-":
		return buffered(c.OutOrStdout())
	case !replaced(path):
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(buffered(f), f.Close())
	}
	f, err := besideFile(target(path))
	if err != nil {
		return err
	}
	defer temporary.Remove(f)
	if err := buffered(f); err != nil {
		return err
	}
	return replace(f, target(path))
}

// replace closes a file and gives it its final name.
func replace(f *os.File, path string) error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return temporary.Rename(f, path)
}
