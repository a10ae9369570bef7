package predictions

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/predictions/internal/decimal"
	"github.com/klauspost/compress/zstd"
)

// text is the text of a file, which is read line by line.
type text struct {
	r       io.Reader
	closers []func()
	pending []byte // read, but not taken
	line    int64  // number of the next line
	packed  bool   // r decompresses
	ended   bool   // r is at its end
	open    bool   // its last line has no line end, or an open quote
	file    fs.File
	later   *Error // why nothing follows pending
}

// counted counts the bytes read.
type counted struct {
	r io.Reader
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// unread is a file whose first bytes were read already.
type unread struct {
	io.Reader
	io.Closer
	start []byte // those bytes
}

// sniff opens a path that can be read only once, and reports whether it starts like an .npy.
func sniff(path string) (*unread, bool, *Error) {
	f, closer := os.Stdin, io.NopCloser(nil)
	if path != "-" {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, false, cannotOpen(err)
		}
		closer = f
	}
	var b [16]byte // more than any format needs to be told
	n, err := io.ReadFull(f, b[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		closer.Close()
		return nil, false, cannotRead(err)
	}
	return &unread{io.MultiReader(bytes.NewReader(b[:n]), f), closer, b[:n]}, bytes.HasPrefix(b[:n], []byte(npyMagic)), nil
}

// statText describes a file, and reports whether it can be opened again.
func statText(from fs.FS, path string) (fi fs.FileInfo, regular bool, e *Error) {
	fi, err := statFile(from, path)
	switch {
	case err != nil:
		return nil, false, cannotOpen(err)
	case fi.IsDir():
		return nil, false, fault("name its files, as in "+filepath.Join(path, "*.csv"), "is a directory")
	}
	return fi, fi.Mode().IsRegular(), nil
}

// openText opens and decompresses a text file, or in if that is not nil. n, if not nil, counts the bytes read.
func openText(from fs.FS, path string, in io.ReadCloser, n *atomic.Int64) (*text, *Error) {
	t := &text{r: in, line: 1}
	if in != nil {
		t.closers = append(t.closers, func() { in.Close() })
	} else {
		f, err := openFile(from, path)
		if err != nil {
			return nil, cannotOpen(err)
		}
		t.r, t.file = f, f
		t.closers = append(t.closers, func() { f.Close() })
	}
	if n != nil {
		t.r = counted{t.r, n}
	}
	size := int64(-1)
	if t.file != nil {
		if fi, err := t.file.Stat(); err == nil && fi.Mode().IsRegular() {
			size = fi.Size()
		}
	}
	if e := t.decode(bufio.NewReaderSize(t.r, 64<<10), size, path); e != nil {
		t.close()
		return nil, e
	}
	return t, nil
}

// unpacked returns the Error of a failed decompression.
func unpacked(err error) *Error {
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return fault("decompress it on the way: zstd -dc -M2048MB FILE | "+setting.Stream.String(), "it is compressed by zstd with a window of more than %d MiB", zstdWindow>>20).because(err)
	}
	return fault("copy it again, or compress it again", "truncated or damaged: it cannot be decompressed: %v", err).because(err)
}

func (t *text) close() {
	for i := len(t.closers) - 1; i >= 0; i-- {
		t.closers[i]()
	}
	t.closers = nil
}

// read appends up to n bytes to b; fewer only at the end.
func (t *text) read(b []byte, n int) ([]byte, *Error) {
	k0 := len(b)
	k := copy(grow(&b, min(n, len(t.pending))), t.pending)
	t.pending = t.pending[k:]
	if k < n && t.later != nil {
		return b, t.later
	}
	for len(b) < k0+n && !t.ended {
		to := grow(&b, k0+n-len(b))
		m, err := t.r.Read(to)
		b = b[:len(b)-len(to)+m]
		switch {
		case err == io.EOF:
			t.ended = true
		case err != nil:
			return b, t.failed(err)
		}
	}
	return b, nil
}

// grow extends *b by n bytes and returns them.
func grow(b *[]byte, n int) []byte {
	k := len(*b)
	if cap(*b) < k+n {
		bigger := make([]byte, k, max(k+n, 2*cap(*b)))
		copy(bigger, *b)
		*b = bigger
	}
	*b = (*b)[:k+n]
	return (*b)[k:]
}

// lines reads whole lines into b: as many as fit in size bytes, but at least one; none only at the end or before an error. If the last
// line of a file has no line end, it adds one. decimal.Pad spare bytes follow the lines.
func (t *text) lines(b []byte, size int, separator byte) (out []byte, last bool, e *Error) {
	var q quoting
	for n := size; ; n = len(b) {
		b, e = t.read(b, min(n, maxLine-len(b)))
		last = e != nil || t.ended && len(t.pending) == 0
		if last && e == nil && len(b) > 0 {
			b = t.endLine(b)
		}
		end := q.lastLine(b, separator)
		if last && e == nil && q.open >= 0 {
			e = fault(quotesRemedy, openQuote).on(t.line + int64(bytes.Count(b[:q.open], []byte{'\n'})))
		}
		if end == 0 && !last && len(b) >= maxLine {
			last, e = true, longLine(t.line)
		}
		if end == 0 && !last {
			continue
		}
		if tail := b[end:]; len(tail) > 0 && e == nil {
			t.pending = append(append(make([]byte, 0, len(tail)+len(t.pending)), tail...), t.pending...)
			last = false
		}
		b = b[:end]
		t.line += int64(bytes.Count(b, []byte{'\n'}))
		grow(&b, decimal.Pad)
		return b[:end], last, e
	}
}

// endLine adds a line end to the last line if it has none.
func (t *text) endLine(b []byte) []byte {
	n := len(b)
	if n > 0 && b[n-1] == '\n' {
		return b
	}
	t.open = n > 0 && b[n-1] != '"'
	return append(b, '\n')
}

// longLine returns the Error of a line of more than maxLine bytes.
func longLine(line int64) *Error {
	return fault("is a quote not closed, or is it not a table?", "a line is longer than 32 MiB").on(line)
}

// header reads the first line.
func (t *text) header() ([]byte, *Error) {
	var l firstLine
	for b := []byte(nil); ; {
		first := len(b) == 0
		b, t.later = t.read(b, headerBytes)
		if first {
			b = bytes.TrimPrefix(b, []byte("\ufeff"))
		}
		if t.ended {
			b = t.endLine(b)
		}
		end := l.end(b)
		switch {
		case end > 0:
			t.pending = bytes.Clone(b[end:])
			t.line = 1 + int64(bytes.Count(b[:end], []byte{'\n'}))
			return b[:end], nil
		case t.later != nil:
			return nil, t.later
		case t.ended:
			return nil, fault(quotesRemedy, openQuote).on(1)
		case len(b) >= maxLine:
			return nil, longLine(1)
		}
	}
}

// quoting tracks quotes in a text.
type quoting struct {
	at   int // scanned so far
	open int // position of the open quote; -1 if none is open
	end  int // end of the last whole line
}

// lastLine returns the end of the last whole line in b, whose first part was scanned before; 0 if there is none.
func (q *quoting) lastLine(b []byte, separator byte) int {
	if q.at == 0 {
		q.open = -1
	}
	for q.at < len(b) {
		if q.open >= 0 {
			// A doubled quote closes and opens again.
			i := bytes.IndexByte(b[q.at:], '"')
			if i < 0 {
				q.at = len(b)
				break
			}
			q.at += i + 1
			if q.at < len(b) && b[q.at] == '"' {
				q.at++
				continue
			}
			if q.at == len(b) {
				// It may be half of a doubled quote: decide when more is known.
				q.at--
				break
			}
			q.open = -1
			continue
		}
		i := bytes.IndexByte(b[q.at:], '"')
		part := b[q.at:]
		if i >= 0 {
			part = part[:i]
		}
		if j := bytes.LastIndexByte(part, '\n'); j >= 0 {
			q.end = q.at + j + 1
		}
		if i < 0 {
			q.at = len(b)
			break
		}
		at := q.at + i
		q.at = at + 1
		if at == 0 || b[at-1] == '\n' || b[at-1] == separator {
			q.open = at
		}
	}
	return q.end
}

// firstLine finds the end of the first line of a text. The separator is not known yet, so a quote may open after any of them.
type firstLine struct {
	at     int // scanned so far
	quoted bool
}

// end returns the end of the first line in b, whose first part was scanned before; 0 if there is none.
func (l *firstLine) end(b []byte) int {
	for ; l.at < len(b); l.at++ {
		switch c := b[l.at]; {
		case c == '"' && l.quoted:
			l.quoted = false
		case c == '"':
			l.quoted = l.at == 0 || opens(b[l.at-1]) || b[l.at-1] == '"'
		case c == '\n' && !l.quoted:
			return l.at + 1
		}
	}
	return 0
}

func opens(c byte) bool {
	return c == '\n' || c == ',' || c == '\t' || c == ';' || c == '|' || c == ' '
}
