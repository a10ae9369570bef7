package parquet

import (
	"encoding/binary"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// thrift reads Thrift's compact protocol, in which footers and page headers are written. It allocates nothing.
type thrift struct {
	b   []byte
	pos int
}

// Types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

// mostNested bounds how deeply structures of the footer and groups of the schema may be nested.
const mostNested = 64

var (
	errShort   = columns.Wrong("", "it ends too early")
	errGarbled = columns.Wrong("", "it does not follow the format")
)

func (t *thrift) byte() (byte, error) {
	if t.pos >= len(t.b) {
		return 0, errShort
	}
	t.pos++
	return t.b[t.pos-1], nil
}

func (t *thrift) uvarint() (uint64, error) {
	v, n := binary.Uvarint(t.b[t.pos:])
	if n == 0 {
		return 0, errShort
	}
	if n < 0 {
		return 0, errGarbled
	}
	t.pos += n
	return v, nil
}

func (t *thrift) int() (int64, error) {
	u, err := t.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

// bytes passes over n bytes.
func (t *thrift) bytes(n uint64) error {
	if n > uint64(len(t.b)-t.pos) {
		return errShort
	}
	t.pos += int(n)
	return nil
}

// text returns a string.
func (t *thrift) text() (string, error) {
	n, err := t.uvarint()
	if err != nil {
		return "", err
	}
	from := t.pos
	err = t.bytes(n)
	return string(t.b[from:t.pos]), err
}

// number reads a field that should be an integer of 16 bits or more.
func (t *thrift) number(to *int64, kind byte) (bool, error) {
	if kind < thriftI16 || kind > thriftI64 {
		return true, errGarbled
	}
	v, err := t.int()
	*to = v
	return true, err
}

// structs calls read for each structure of a list.
func (t *thrift) structs(kind byte, read func() error) error {
	if kind != thriftList {
		return errGarbled
	}
	n, elem, err := t.list()
	if err == nil && n > 0 && elem != thriftStruct {
		err = errGarbled
	}
	for ; n > 0 && err == nil; n-- {
		err = read()
	}
	return err
}

// fields calls visit for each field of a structure. What visit reports as false is skipped; otherwise it has read the value.
func (t *thrift) fields(depth int, visit func(id int64, kind byte) (bool, error)) error {
	if depth > mostNested {
		return errGarbled
	}
	for id := int64(0); ; {
		head, err := t.byte()
		if err != nil || head == 0 {
			return err
		}
		kind := head & 15
		if delta := int64(head >> 4); delta != 0 {
			id += delta
		} else if id, err = t.int(); err != nil {
			return err
		}
		done, err := visit(id, kind)
		if err == nil && !done {
			err = t.skip(depth, kind, false)
		}
		if err != nil {
			return err
		}
	}
}

// list returns the number of elements of a list, of which each takes a byte at least, and their type.
func (t *thrift) list() (n int, kind byte, err error) {
	head, err := t.byte()
	if err != nil {
		return 0, 0, err
	}
	size := uint64(head >> 4)
	if size == 15 {
		if size, err = t.uvarint(); err != nil {
			return 0, 0, err
		}
	}
	if size > uint64(len(t.b)-t.pos) {
		return 0, 0, errShort
	}
	return int(size), head & 15, nil
}

func none(int64, byte) (bool, error) { return false, nil }

// skip passes over a value. Booleans have a byte in lists and none as fields.
func (t *thrift) skip(depth int, kind byte, inList bool) error {
	switch kind {
	case thriftTrue, thriftFalse:
		if inList {
			return t.bytes(1)
		}
		return nil
	case thriftByte:
		return t.bytes(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := t.uvarint()
		return err
	case thriftDouble:
		return t.bytes(8)
	case thriftUUID:
		return t.bytes(16)
	case thriftBinary:
		n, err := t.uvarint()
		if err != nil {
			return err
		}
		return t.bytes(n)
	case thriftList, thriftSet:
		n, elem, err := t.list()
		for ; n > 0 && err == nil; n-- {
			err = t.element(depth+1, elem)
		}
		return err
	case thriftMap:
		n, err := t.uvarint()
		if err != nil || n == 0 {
			return err
		}
		kinds, err := t.byte()
		for ; n > 0 && err == nil; n-- {
			if err = t.element(depth+1, kinds>>4); err == nil {
				err = t.element(depth+1, kinds&15)
			}
		}
		return err
	case thriftStruct:
		return t.fields(depth+1, none)
	}
	return errGarbled
}

// element passes over an element of a list, set or map.
func (t *thrift) element(depth int, kind byte) error {
	if depth > mostNested {
		return errGarbled
	}
	return t.skip(depth, kind, true)
}

// Types of pages.
const (
	pageData   = 0
	pageIndex  = 1
	pageDict   = 2
	pageDataV2 = 3
)

// Encodings of values and levels.
const (
	encodingPlain       = 0
	encodingPlainDict   = 2
	encodingRLE         = 3
	encodingBitPacked   = 4
	encodingDelta       = 5
	encodingDeltaLength = 6
	encodingDeltaBytes  = 7
	encodingRLEDict     = 8
	encodingSplit       = 9
)

// header is what is needed of a page's header.
type header struct {
	size         int // of the header
	kind         int64
	uncompressed int64
	compressed   int64
	crc          uint32
	hasCRC       bool

	values   int64
	encoding int64
	// Of data pages: the encodings of levels of version 1, and the bytes of levels of version 2, whose values may be uncompressed.
	defEncoding, repEncoding int64
	defBytes, repBytes       int64
	plainBody                bool
}

// coded reports whether it is of data that are dictionary numbers.
func (h *header) coded() bool {
	return h.kind != pageDict && (h.encoding == encodingPlainDict || h.encoding == encodingRLEDict)
}

// readHeader reads the header at the start of b.
func readHeader(b []byte) (h header, err error) {
	t := &thrift{b: b}
	h.kind, h.values = -1, -1
	err = t.fields(0, func(id int64, kind byte) (bool, error) {
		switch {
		case id == 1:
			return t.number(&h.kind, kind)
		case id == 2:
			return t.number(&h.uncompressed, kind)
		case id == 3:
			return t.number(&h.compressed, kind)
		case id == 4:
			var crc int64
			h.hasCRC = true
			done, err := t.number(&crc, kind)
			h.crc = uint32(crc)
			return done, err
		case kind != thriftStruct:
		case id == 5:
			return true, t.fields(1, func(id int64, kind byte) (bool, error) {
				switch id {
				case 1:
					return t.number(&h.values, kind)
				case 2:
					return t.number(&h.encoding, kind)
				case 3:
					return t.number(&h.defEncoding, kind)
				case 4:
					return t.number(&h.repEncoding, kind)
				}
				return false, nil
			})
		case id == 7:
			return true, t.fields(1, func(id int64, kind byte) (bool, error) {
				switch id {
				case 1:
					return t.number(&h.values, kind)
				case 2:
					return t.number(&h.encoding, kind)
				}
				return false, nil
			})
		case id == 8:
			return true, t.fields(1, func(id int64, kind byte) (bool, error) {
				switch id {
				case 1:
					return t.number(&h.values, kind)
				case 4:
					return t.number(&h.encoding, kind)
				case 5:
					return t.number(&h.defBytes, kind)
				case 6:
					return t.number(&h.repBytes, kind)
				case 7:
					h.plainBody = kind == thriftFalse
					return true, nil
				}
				return false, nil
			})
		}
		return false, nil
	})
	h.size = t.pos
	if err == nil && (h.uncompressed < 0 || h.compressed < 0 || h.defBytes < 0 || h.repBytes < 0) {
		err = errGarbled
	}
	return h, err
}
