package main

import (
	"fmt"
	"io"
)

// Types of files, as in the mode of an entry.
const (
	modeDir    = 0o040000
	modeDevice = 0o020000 // character device
	modeFile   = 0o100000
)

// A cpioWriter writes an archive in cpio's "newc" format, which Linux uses for its initial files. The first error of the
// underlying writer is kept, and close returns it.
type cpioWriter struct {
	w   io.Writer
	n   int // bytes written
	ino int
	err error
}

// dir adds a folder, after the folders that contain it.
func (c *cpioWriter) dir(name string) { c.entry(name, modeDir|0o755, 0, 0, nil) }

// file adds a file with these permissions.
func (c *cpioWriter) file(name string, perm uint32, data []byte) {
	c.entry(name, modeFile|perm&0o777, 0, 0, data)
}

// device adds a character device.
func (c *cpioWriter) device(name string, perm, major, minor uint32) {
	c.entry(name, modeDevice|perm&0o777, major, minor, nil)
}

// close writes the end of the archive.
func (c *cpioWriter) close() error {
	c.ino = -1 // the end has number 0
	c.entry("TRAILER!!!", 0, 0, 0, nil)
	return c.err
}

// entry writes a header, the name and the data, each padded to a multiple of 4 bytes. Owner, group and time are 0.
func (c *cpioWriter) entry(name string, mode, major, minor uint32, data []byte) {
	c.ino++
	links := 1
	if mode&modeDir != 0 {
		links = 2
	}
	c.write(fmt.Appendf(nil, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		c.ino, mode, 0, 0, links, 0, len(data), 0, 0, major, minor, len(name)+1, 0))
	c.write(append([]byte(name), 0))
	c.pad()
	c.write(data)
	c.pad()
}

func (c *cpioWriter) pad() { c.write(make([]byte, -c.n&3)) }

func (c *cpioWriter) write(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
	c.n += len(b)
}
