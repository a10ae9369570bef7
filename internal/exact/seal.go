package exact

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Reasons why bytes cannot be read, for errors.Is. Returned errors give details.
var (
	// ErrShort means that the data are incomplete.
	ErrShort = errors.New("too short")
	// ErrMagic means that the data are of another kind.
	ErrMagic = errors.New("not of this kind")
	// ErrDamaged means that the data are not what was written.
	ErrDamaged = errors.New("damaged")
	// ErrVersion means that another version of the program wrote the data.
	ErrVersion = errors.New("written in another version of the format")
)

const (
	sealHead = 4 + 2 + 8
	sealTail = 8
)

// Seal returns the payload in a frame that [Open] accepts and that detects any change: the magic (4 bytes), the version
// (uint16), the length of the payload (uint64), the payload, and the first 8 bytes of the SHA-256 of everything before.
// Numbers are little-endian. It panics if the magic is not 4 bytes long.
func Seal(magic string, version uint16, payload []byte) []byte {
	b := BeginSeal(make([]byte, 0, sealHead+len(payload)+sealTail), magic, version)
	return EndSeal(append(b, payload...), 0)
}

// BeginSeal appends the head of a frame to dst. The caller then appends the payload, and [EndSeal] ends the frame. The
// result is that of [Seal], without a second copy of the payload. It panics if the magic is not 4 bytes long.
func BeginSeal(dst []byte, magic string, version uint16) []byte {
	if len(magic) != 4 {
		panic("exact: a magic has 4 bytes")
	}
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint16(dst, version)
	return binary.LittleEndian.AppendUint64(dst, 0)
}

// EndSeal ends the frame that begins at b[at] and extends to the end of b. It panics if there is no room for a frame.
func EndSeal(b []byte, at int) []byte {
	frame := b[at:]
	binary.LittleEndian.PutUint64(frame[sealHead-8:sealHead], uint64(len(frame)-sealHead))
	sum := sha256.Sum256(frame)
	return append(b, sum[:sealTail]...)
}

// Open returns the version and the payload of the frame at the beginning of b, and the bytes after it; both are parts of b,
// not copies. The error wraps [ErrMagic] if b begins otherwise, [ErrShort] if it ends before the frame does, and
// [ErrDamaged] if the checksum differs; rest is then b. The caller must check the version. It panics if the magic is not 4
// bytes long.
func Open(magic string, b []byte) (version uint16, payload, rest []byte, err error) {
	if len(magic) != 4 {
		panic("exact: a magic has 4 bytes")
	}
	if len(b) < 4 {
		return 0, nil, b, fmt.Errorf("%w: %d bytes, of the 4 that begin a %q", ErrShort, len(b), magic)
	}
	if string(b[:4]) != magic {
		return 0, nil, b, fmt.Errorf("%w: begins with %q where %q is expected", ErrMagic, b[:4], magic)
	}
	if len(b) < sealHead+sealTail {
		return 0, nil, b, fmt.Errorf("%w: %d bytes, and the smallest %q has %d", ErrShort, len(b), magic, sealHead+sealTail)
	}
	version = binary.LittleEndian.Uint16(b[4:])
	n, room := binary.LittleEndian.Uint64(b[6:]), len(b)-sealHead-sealTail
	if n > uint64(room) {
		return 0, nil, b, fmt.Errorf("%w: a payload of %d bytes is announced, %d are there", ErrShort, n, room)
	}
	end := sealHead + int(n)
	sum := sha256.Sum256(b[:end])
	if string(sum[:sealTail]) != string(b[end:end+sealTail]) {
		return 0, nil, b, fmt.Errorf("%w: checksum differs", ErrDamaged)
	}
	return version, b[sealHead:end:end], b[end+sealTail:], nil
}
