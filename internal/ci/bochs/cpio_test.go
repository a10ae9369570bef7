package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// An entry is what a reader finds.
type entry struct {
	name         string
	mode         uint64
	major, minor uint64
	data         string
}

// readCPIO reads an archive by the format's description: a magic number, 13 numbers of 8 hexadecimal digits, the name
// with its final 0, zeros up to a multiple of 4, the data, zeros up to a multiple of 4.
func readCPIO(b []byte) (list []entry, err error) {
	at := 0
	next := func(n int) []byte {
		if n < 0 || n > len(b)-at {
			err = fmt.Errorf("at %d: %d bytes are missing", at, n)
			return make([]byte, max(n, 1))
		}
		at += n
		return b[at-n : at]
	}
	zeros := func() {
		for _, c := range next((4 - at%4) % 4) {
			if c != 0 && err == nil {
				err = fmt.Errorf("before %d: filled with %#x", at, c)
			}
		}
	}
	numbers := map[uint64]bool{}
	for err == nil {
		if magic := next(6); err == nil && string(magic) != "070701" {
			return nil, fmt.Errorf("at %d: magic number %q", at-6, magic)
		}
		var f [13]uint64
		for i := range f {
			if f[i], err = strconv.ParseUint(string(next(8)), 16, 64); err != nil {
				return nil, err
			}
		}
		ino, links, size, length := f[0], f[4], int(f[6]), int(f[11])
		name := next(length)
		zeros()
		data := next(size)
		zeros()
		if err != nil {
			return nil, err
		}
		if name[length-1] != 0 {
			return nil, fmt.Errorf("name %q has no end", name)
		}
		if string(name) == "TRAILER!!!\x00" {
			if at != len(b) {
				return nil, fmt.Errorf("%d bytes after the end", len(b)-at)
			}
			return list, nil
		}
		if numbers[ino] || links == 0 {
			return nil, fmt.Errorf("%s: number %d, %d links", name, ino, links)
		}
		numbers[ino] = true
		list = append(list, entry{string(name[:length-1]), f[1], f[9], f[10], string(data)})
	}
	return nil, err
}

func TestCPIO(t *testing.T) {
	var b bytes.Buffer
	c := cpioWriter{w: &b}
	var want []entry
	c.dir("dev")
	c.device("dev/console", 0o600, 5, 1)
	want = append(want, entry{"dev", 0o40755, 0, 0, ""}, entry{"dev/console", 0o20600, 5, 1, ""})
	for n := range 9 { // each way a name and data can be out of step with 4
		name, data := "a/"+string(bytes.Repeat([]byte{'n'}, n+1)), string(bytes.Repeat([]byte{byte(n), 0xFF}, n*n))[:n*n]
		c.file(name, 0o755, []byte(data))
		want = append(want, entry{name, 0o100755, 0, 0, data})
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	got, err := readCPIO(b.Bytes())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("read %v, error %v, want %v", got, err, want)
	}
	const first = "070701" + "00000001" + "000041ED" + "00000000" + "00000000" + "00000002" + "00000000" + "00000000" +
		"00000000" + "00000000" + "00000000" + "00000000" + "00000004" + "00000000" + "dev\x00\x00\x00"
	if head := b.Bytes()[:len(first)]; string(head) != first {
		t.Errorf("it begins with %q, want %q", head, first)
	}
}

// A full is a writer that takes n bytes.
type full struct{ n int }

var errFull = errors.New("full")

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.n {
		return 0, errFull
	}
	f.n -= len(b)
	return len(b), nil
}

func TestCPIOError(t *testing.T) {
	c := cpioWriter{w: &full{150}}
	c.dir("d")
	c.file("d/f", 0o644, []byte("x"))
	if err := c.close(); err != errFull {
		t.Errorf("error %v, want %v", err, errFull)
	}
}
