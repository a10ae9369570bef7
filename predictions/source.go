package predictions

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"hash/crc32"
	"io"
	"os"

	"github.com/candor-go/candor/internal/temporary"
)

// source reads the data of one array: from front to back by read, or, if rows are put together from several places, anywhere
// through at.
type source struct {
	a       *array
	r       io.Reader   // the data in sequence; nil if at is set
	at      io.ReaderAt // the data from offset 0, of arrays that are read so
	check   bool        // r has more to say after the last byte: a checksum, or trailing bytes
	done    int64       // bytes that read returned
	closers []func() error
	file    *os.File // that the data are read from, nil of a pipe

	// Of stored members of an .npz that are read through at: what the checksum of the whole member must come to. See verify.
	sum     bool
	want    uint32
	headSum uint32
}

// damaged explains an error from inside an .npz.
func damaged(err error) *Error {
	const remedy = "copy it again, or write it again with numpy.savez"
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return fault(remedy, "damaged .npz: the data do not match their CRC-32").because(err)
	case errors.As(err, &corrupt):
		return fault(remedy, "damaged .npz: the compressed data are broken").because(err)
	case errors.Is(err, zip.ErrFormat), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault(remedy, "truncated or damaged .npz: a member does not have the length or the place that the zip directory says").because(err)
	}
	return cannotRead(err)
}

// open starts reading an array. Scattered data that cannot be read at random go through a temporary file without a name.
func (a *array) open() (*source, *Error) {
	s := &source{a: a}
	e := s.open()
	if e != nil {
		s.close()
		return nil, e.in(a.file)
	}
	return s, nil
}

func (s *source) open() *Error {
	a := s.a
	length, _ := a.bytes()
	if a.stream != nil {
		s.r, s.check = a.stream, true
		if a.closer != nil {
			s.closers = append(s.closers, a.closer.Close)
		}
		if a.scattered() {
			return s.spool(length)
		}
		return nil
	}
	f, err := os.Open(a.path)
	if err != nil {
		return cannotOpen(err)
	}
	s.closers = append(s.closers, f.Close)
	s.file = f
	if e := a.stamp.compare(f); e != nil {
		return e
	}
	if a.entry < 0 {
		data := io.NewSectionReader(f, a.header.size, length)
		if a.scattered() {
			s.at = data
		} else {
			s.r = data
		}
		return nil
	}

	z, e := readZip(f, a.stamp.size)
	if e != nil {
		return e
	}
	if a.entry >= len(z.File) {
		return changed()
	}
	zf := z.File[a.entry]
	if a.scattered() && zf.Method == zip.Store {
		at, err := zf.DataOffset()
		if err != nil {
			return damaged(err)
		}
		head := make([]byte, a.header.size)
		if _, err := f.ReadAt(head, at); err != nil {
			return damaged(err)
		}
		s.at = io.NewSectionReader(f, at+a.header.size, length)
		// Like archive/zip, take a sum of 0 for one that was not set.
		s.sum, s.want, s.headSum = zf.CRC32 != 0, zf.CRC32, crc32.ChecksumIEEE(head)
		return nil
	}
	r, err := zf.Open()
	if err != nil {
		return damaged(err)
	}
	s.closers = append(s.closers, r.Close)
	s.r, s.check = r, true
	if _, err := io.CopyN(io.Discard, r, a.header.size); err != nil {
		return damaged(err)
	}
	if a.scattered() {
		return s.spool(length)
	}
	return nil
}

// spool copies the data to a temporary file, so that columns or members can be read from it.
func (s *source) spool(length int64) *Error {
	what, remedy := "in Fortran order", "set TMPDIR to a folder with room, or save the array in C order (numpy.ascontiguousarray)"
	if s.a.planes {
		what, remedy = "with a member after the other", "set TMPDIR to a folder with room, or save the array by itself as an .npy file"
	}
	f, err := temporary.Create(os.TempDir(), 0o600)
	if err != nil {
		return fault(remedy, "no temporary file for an array %s: %v", what, err).because(err)
	}
	// Without a name the file goes with the process. Where open files cannot be removed, it is once it is closed.
	hidden := temporary.Hide(f)
	s.closers = append(s.closers, func() error {
		err := f.Close()
		if !hidden {
			temporary.Remove(f)
		}
		return err
	})
	var failed error
	n, err := io.Copy(f, &noting{io.LimitReader(s.r, length), &failed})
	switch {
	case failed != nil:
		return s.explain(failed, n)
	case err != nil:
		return fault(remedy, "its %d bytes %s do not fit into a temporary file: %v", length, what, err).because(err)
	case n < length:
		return s.explain(io.ErrUnexpectedEOF, n)
	}
	s.done = n
	if e := s.finish(); e != nil {
		return e
	}
	s.r, s.check, s.at = nil, false, io.NewSectionReader(f, 0, length)
	return nil
}

// noting keeps the error of a read, so that it can be told from one of the write beside it.
type noting struct {
	r   io.Reader
	err *error
}

func (n *noting) Read(p []byte) (int, error) {
	m, err := n.r.Read(p)
	if err != nil && err != io.EOF {
		*n.err = err
	}
	return m, err
}

// explain turns a failure after n bytes of data into an Error.
func (s *source) explain(err error, n int64) *Error {
	a := s.a
	short := err == io.EOF || err == io.ErrUnexpectedEOF
	if e := s.unchanged(); e != nil {
		return e.in(a.file) // which is why
	}
	switch {
	case a.entry >= 0:
		return damaged(err).in(a.file)
	case short:
		return a.truncated(n)
	}
	return cannotRead(err).in(a.file)
}

// read fills p with the next bytes of data. There must be so many left.
func (s *source) read(p []byte) *Error {
	n, err := io.ReadFull(s.r, p)
	s.done += int64(n)
	if err != nil {
		return s.explain(err, s.done)
	}
	return nil
}

// unchanged returns an Error if somebody has written to the file since its header was read.
func (s *source) unchanged() *Error {
	if s.file == nil {
		return nil
	}
	return s.a.stamp.compare(s.file)
}

// verify compares the zip's checksum with those of consecutive parts of the data, of length bytes each. They were summed beside
// each other, each from its start to its end, and the sum of one after the other follows from theirs, so the data need no second
// read.
func (s *source) verify(parts []uint32, length int64) *Error {
	shift := shiftCRC(length)
	sum := s.headSum
	for _, p := range parts {
		sum = mulCRC(shift, sum) ^ p
	}
	if sum != s.want {
		if e := s.unchanged(); e != nil {
			return e.in(s.a.file)
		}
		return damaged(zip.ErrChecksum).in(s.a.file)
	}
	return nil
}

// readAt fills p with the data at an offset.
func (s *source) readAt(p []byte, off int64) *Error {
	n, err := s.at.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return s.explain(err, off+int64(n))
}

// finish checks what stands behind the last byte of data: the zip's checksum, or nothing. Nobody may have written to the file meanwhile.
func (s *source) finish() *Error {
	if e := s.unchanged(); e != nil {
		return e.in(s.a.file)
	}
	if !s.check {
		return nil
	}
	s.check = false
	var b [1]byte
	n, err := io.ReadFull(s.r, b[:])
	switch {
	case n > 0:
		length, _ := s.a.bytes()
		return fault("an .npy file holds one array: save each in a file of its own",
			"too long: header says %s %s = %d bytes of data, and more follow", timesText(s.a.headerShape()), s.a.dtype, length).in(s.a.file)
	case err != io.EOF:
		return s.explain(err, s.done)
	}
	return nil
}

func (s *source) close() error {
	var first error
	for _, c := range s.closers {
		if err := c(); err != nil && first == nil {
			first = err
		}
	}
	s.closers = nil
	return first
}
