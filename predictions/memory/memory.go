// Package memory reads arrays in the memory of the process that started this one, as files. Nothing is copied beside what is read, several goroutines
// read at the same time, and the array may be read again.
//
// The system has to allow it: Linux does for a process of the same user, unless a security module wants the process to say so first, or forbids it.
package memory

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Refused is what errors say if the memory cannot be read, for programs that then hand the array over in another way.
const Refused = "the memory of the calling process cannot be read"

// refused is the error of memory that cannot be read. It wraps nothing: what it comes from may be called a missing permission, which a user would
// look for at a file.
type refused struct{ why error }

func (r refused) Error() string { return Refused + ": " + r.why.Error() }

// FS opens arrays in memory by names of the form
//
//	/proc/PID/mem/ADDRESS/SIZE/HEADER/NUMBER
//
// in which the numbers are decimal, and HEADER is base64, as in URLs, of the bytes before those in memory. PID is the process that started this
// one, and NUMBER tells names of one array apart. No file can have such a name. All other names are files of the operating system.
type FS struct{}

// Is reports whether a name is one of an array in memory.
func Is(name string) bool {
	_, err := parse(name)
	return err == nil
}

// Open opens an array, or a file of the operating system.
func (FS) Open(name string) (fs.File, error) {
	a, err := parse(name)
	if err != nil {
		f, err := os.Open(name)
		if err != nil {
			return nil, err // not a nil *os.File, which would be a file
		}
		return f, nil
	}
	if err := a.probe(); err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: refused{err}}
	}
	return &file{array: a}, nil
}

// Stat describes an array, or a file of the operating system.
func (FS) Stat(name string) (fs.FileInfo, error) {
	if a, err := parse(name); err == nil {
		return info{a}, nil
	}
	return os.Stat(name)
}

// array is where the bytes of an array are.
type array struct {
	pid     int
	header  []byte
	address uint64
	size    int64 // without the header
}

var errName = errors.New("it names no array in memory")

func parse(name string) (*array, error) {
	rest, ok := strings.CutPrefix(name, "/proc/")
	part := strings.Split(rest, "/")
	if !ok || len(part) != 6 || part[1] != "mem" {
		return nil, errName
	}
	pid, err1 := strconv.Atoi(part[0])
	address, err2 := strconv.ParseUint(part[2], 10, 63)
	size, err3 := strconv.ParseInt(part[3], 10, 63)
	header, err4 := base64.RawURLEncoding.DecodeString(part[4])
	_, err5 := strconv.ParseUint(part[5], 10, 63)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil || pid <= 0 || size < 0 || uint64(size) > 1<<63-address {
		return nil, errName
	}
	return &array{pid, header, address, size}, nil
}

// patience is how long the process may take to allow reading, once it knows the number of this one.
const patience = 200 * time.Millisecond

// probe reads the first and the last byte.
func (a *array) probe() error {
	if a.size == 0 {
		return nil
	}
	var b [1]byte
	err := a.read(b[:], 0)
	for start := time.Now(); err != nil && time.Since(start) < patience; err = a.read(b[:], 0) {
		time.Sleep(time.Millisecond)
	}
	if err == nil {
		err = a.read(b[:], a.size-1)
	}
	return err
}

// read fills p with the bytes from one on. The number of a process that has ended may soon be that of another one.
func (a *array) read(p []byte, at int64) error {
	if os.Getppid() != a.pid {
		return errors.New("the process that has the array has ended, or is not the parent of candor")
	}
	return read(p, a.pid, a.address+uint64(at))
}

// file is an open array.
type file struct {
	*array
	at int64
}

func (f *file) Stat() (fs.FileInfo, error) { return info{f.array}, nil }
func (f *file) Close() error               { return nil }

func (f *file) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	head := int64(len(f.header))
	if off < head {
		n = copy(p, f.header[off:])
	}
	at := off + int64(n) - head
	part := p[n:]
	if left := max(0, f.size-at); int64(len(part)) > left {
		part, err = part[:left], io.EOF
	}
	if len(part) > 0 {
		if err := f.read(part, at); err != nil {
			return n, refused{err}
		}
	}
	return n + len(part), err
}

// info describes an array as a regular file that never changes.
type info struct{ *array }

func (i info) Name() string     { return "memory" }
func (i info) Size() int64      { return int64(len(i.header)) + i.size }
func (info) Mode() fs.FileMode  { return 0o400 }
func (info) ModTime() time.Time { return time.Unix(0, 0) }
func (info) IsDir() bool        { return false }
func (info) Sys() any           { return nil }
