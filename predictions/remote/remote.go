// Package remote reads files at URLs, as an fs.FS whose files are read at any place: by GET requests of ranges of bytes, which are tried
// again when a connection or a server fails. It knows no cloud: a presigned URL of an object store is a URL like any other.
//
// What follows the question mark of a URL is a credential. It is sent to the server alone: the names of files, and so messages and what is
// written, do not have it.
package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// Memory is about how much memory an open file takes.
const Memory = 16 << 20

// FS opens files at URLs that it was told of, and all other names as files of the operating system. Its methods may be called by several
// goroutines.
type FS struct {
	client *http.Client
	pause  time.Duration // before the second attempt
	stall  time.Duration // without any bytes

	mu    sync.Mutex
	files map[string]*object
}

// Is reports whether a name is a URL that can be read.
func Is(name string) bool {
	return strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://")
}

// New returns an FS that knows no URL. The client is nil for one of its own.
func New(client *http.Client) *FS {
	if client == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression = true
		t.MaxIdleConnsPerHost = 16
		client = &http.Client{Transport: t}
	}
	own := *client
	own.CheckRedirect = redirect
	return &FS{client: &own, pause: 200 * time.Millisecond, stall: 30 * time.Second, files: map[string]*object{}}
}

var errUnsafe = errors.New("the server redirects from https to http")

// redirect lets a request be sent on, as far as that keeps what is secret: the URL that was asked for stays unknown to the next server,
// and nobody who listens on the way can read what was asked for over TLS.
func redirect(next *http.Request, before []*http.Request) error {
	next.Header.Del("Referer")
	if next.URL.Scheme != "https" && before[len(before)-1].URL.Scheme == "https" {
		return errUnsafe
	}
	if len(before) >= 10 {
		return errors.New("the server redirects 10 times")
	}
	return nil
}

// Add returns the name by which the FS opens a URL: the URL without query and password.
func (f *FS) Add(address string) (name string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !Is(address) {
		return "", errors.New("it is not a URL as https://host/path")
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	name = shown.String()
	u.Fragment = ""
	f.mu.Lock()
	defer f.mu.Unlock()
	if o, ok := f.files[name]; ok && o.address != u.String() {
		return "", fmt.Errorf("two URLs differ only in what follows the question mark, or in the user: %s", name)
	} else if !ok {
		f.files[name] = &object{from: f, name: name, address: u.String()}
	}
	return name, nil
}

// Len returns the number of URLs.
func (f *FS) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.files)
}

func (f *FS) object(name string) *object {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files[name]
}

// Open opens a URL by its name from Add, or a file of the operating system.
func (f *FS) Open(name string) (fs.File, error) {
	o := f.object(name)
	if o == nil {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		return file, nil
	}
	if err := o.probe(); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	o.mu.Lock()
	o.open++
	o.mu.Unlock()
	return &file{o: o}, nil
}

// Stat describes a URL by its name from Add, or a file of the operating system.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	o := f.object(name)
	if o == nil {
		return os.Stat(name)
	}
	if err := o.probe(); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return info{o}, nil
}

// file is an open object.
type file struct {
	o      *object
	at     int64
	closed bool
}

var (
	_ fs.StatFS   = (*FS)(nil)
	_ io.ReaderAt = (*file)(nil)
)

func (f *file) Stat() (fs.FileInfo, error) { return info{f.o}, nil }

func (f *file) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 {
		err = nil // it comes again
	}
	return n, err
}

func (f *file) ReadAt(p []byte, at int64) (int, error) { return f.o.readAt(p, at) }

func (f *file) Close() error {
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	f.o.mu.Lock()
	defer f.o.mu.Unlock()
	if f.o.open--; f.o.open == 0 {
		f.o.windows = nil
	}
	return nil
}

// info describes an object.
type info struct{ o *object }

func (i info) Name() string       { return path.Base(i.o.name) }
func (i info) Size() int64        { return i.o.size }
func (i info) Mode() fs.FileMode  { return 0o444 }
func (i info) ModTime() time.Time { return i.o.modified }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }
