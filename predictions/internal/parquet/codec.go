package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// A codec is how pages are compressed, by its number in the format.
type codec int64

const (
	uncompressed codec = 0
	snappied     codec = 1
	gzipped      codec = 2
	brotlied     codec = 4
	zstded       codec = 6
	lz4Raw       codec = 7
)

// read reports whether pages of the codec are read.
func (c codec) read() bool {
	switch c {
	case uncompressed, snappied, gzipped, zstded, lz4Raw:
		return true
	}
	return c == brotlied && newBrotli != nil
}

// String returns the format's name of a codec that is not read.
func (c codec) String() string {
	switch c {
	case 3:
		return "LZO"
	case brotlied:
		return "Brotli"
	case 5:
		return "the deprecated LZ4 (not LZ4_RAW)"
	}
	return fmt.Sprintf("codec %d", int64(c))
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	// The size of a page is known, and what goes beyond is damage or a bomb.
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true))
})

var errSize = errors.New("its size is not what its header says")

// decode decompresses src and returns at most len(dst) bytes, in dst or elsewhere. What says or has more than that is an error, and takes no
// more memory.
func (c codec) decode(dst, src []byte) ([]byte, error) {
	switch c {
	case uncompressed:
		return src, nil
	case snappied:
		// The decoder would allocate what a block says.
		if n, k := binary.Uvarint(src); k <= 0 || n != uint64(len(dst)) {
			return nil, errSize
		}
		return snappy.Decode(dst, src)
	case gzipped:
		r, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return filled(dst, r)
	case brotlied:
		return filled(dst, newBrotli(bytes.NewReader(src)))
	case zstded:
		d, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		return d.DecodeAll(src, dst[:0:len(dst)])
	case lz4Raw:
		n, err := lz4.UncompressBlock(src, dst)
		if err != nil {
			return nil, err
		}
		return dst[:n], nil
	}
	panic("parquet: a codec that is not read")
}

// filled fills dst from a stream that ends with it.
func filled(dst []byte, r io.Reader) ([]byte, error) {
	n, err := io.ReadFull(r, dst)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return dst[:n], nil // too few bytes, which the caller says
	}
	if err != nil {
		return nil, err
	}
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return nil, errSize
	case err != io.EOF:
		return nil, err
	}
	return dst, nil
}
