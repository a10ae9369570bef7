package predictions

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/bzip2"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/candor-go/candor/internal/setting"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// decode makes a text of what a file begins with: it is decompressed, and UTF-16 becomes UTF-8. size is that of the file, which a zip
// needs; it is below 0 of a pipe.
func (t *text) decode(b *bufio.Reader, size int64, path string) *Error {
	start, err := b.Peek(6)
	if err != nil && err != io.EOF {
		return cannotRead(err)
	}
	begins := func(s string) bool { return bytes.HasPrefix(start, []byte(s)) }
	switch {
	case len(start) == 0:
		return fault("was the program that wrote it interrupted?", "empty file")
	case begins("\x1f\x8b"):
		z, err := gzip.NewReader(b)
		if err != nil {
			return unpacked(err)
		}
		t.r = z
	case begins("\x28\xb5\x2f\xfd"):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return unpacked(err)
		}
		t.r = z
		t.closers = append(t.closers, z.Close)
	case begins("BZh") && len(start) > 3 && '1' <= start[3] && start[3] <= '9':
		t.r = bzip2.NewReader(b)
	case begins("\xfd7zXZ\x00"):
		return fault(remedyOf("decompress it on the way: xz -dc FILE | "+setting.Stream.String(), path), "xz compression is not supported")
	case begins("PK\x03\x04"):
		return t.unzip(size, path)
	default:
		return t.decodeText(b, path)
	}
	t.packed = true
	return t.decodeText(bufio.NewReaderSize(t.r, 64<<10), path)
}

// zstdWindow is the largest window that is read, for which there is memory: that of zstd --ultra and --long. The program itself reads no
// larger one either unless it is told to.
const zstdWindow = 128 << 20

// unzip reads the one file of a zip.
func (t *text) unzip(size int64, path string) *Error {
	at, ok := t.file.(io.ReaderAt)
	if !ok || size < 0 {
		return fault("write it to a file and name that, or unzip it on the way: unzip -p FILE | "+setting.Stream.String(), "a zip is read from its end")
	}
	z, e := readZip(at, size)
	if e != nil {
		return e
	}
	if k := looksZipped(z); k.what != "" {
		return fault(remedyOf(cmp.Or(k.table, k.remedy), path), "not a table: it looks like %s", k.what)
	}
	var one *zip.File
	for _, f := range z.File {
		switch {
		case strings.HasSuffix(f.Name, "/") || strings.HasPrefix(f.Name, "__MACOSX/"):
		case one != nil:
			return fault("unzip it, and name the file", "a zip with several files: %q and %q", cut(one.Name), cut(f.Name))
		default:
			one = f
		}
	}
	if one == nil {
		return fault("was it written to its end?", "a zip without a file")
	}
	r, err := one.Open()
	if err != nil {
		return unpacked(err)
	}
	t.r, t.packed = r, true
	t.closers = append(t.closers, func() { r.Close() })
	return t.decodeText(bufio.NewReaderSize(r, 64<<10), path)
}

// decodeText reads UTF-16 that begins with its mark as UTF-8. A file of another kind is an error.
func (t *text) decodeText(b *bufio.Reader, path string) *Error {
	head, err := b.Peek(sniffed)
	start := head[:min(2, len(head))]
	if err != nil && err != io.EOF && len(start) < 2 {
		return t.failed(err)
	}
	if s := string(start); s == "\xff\xfe" || s == "\xfe\xff" {
		_, _ = b.Discard(2)
		t.r = &utf16Reader{r: b, low: s == "\xff\xfe"}
		return nil
	}
	t.r = b
	return notTable(head, path)
}

// failed explains a read that failed.
func (t *text) failed(err error) *Error {
	if t.packed {
		return unpacked(err)
	}
	return cannotRead(err)
}

// utf16Reader turns UTF-16 into UTF-8. What is no UTF-16 becomes the replacement character.
type utf16Reader struct {
	r    *bufio.Reader
	low  bool // the first byte of two is the lower one
	rest []byte
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	n := 0
	for {
		k := copy(p[n:], u.rest)
		n, u.rest = n+k, u.rest[k:]
		if n == len(p) || n > 0 && u.r.Buffered() < 4 {
			return n, nil
		}
		c, err := u.unit()
		if err != nil {
			return n, err
		}
		if utf16.IsSurrogate(rune(c)) {
			next, err := u.unit()
			if err != nil && err != io.EOF {
				return 0, err
			}
			u.rest = utf8.AppendRune(u.rest[:0], utf16.DecodeRune(rune(c), rune(next)))
			continue
		}
		u.rest = utf8.AppendRune(u.rest[:0], rune(c))
	}
}

// unit reads one unit of two bytes.
func (u *utf16Reader) unit() (uint16, error) {
	var b [2]byte
	if _, err := io.ReadFull(u.r, b[:]); err != nil {
		return 0, err // half a unit is an io.ErrUnexpectedEOF
	}
	if u.low {
		return uint16(b[0]) | uint16(b[1])<<8, nil
	}
	return uint16(b[1]) | uint16(b[0])<<8, nil
}
