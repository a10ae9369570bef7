// Package keyjoin joins rows of files by the texts of some of their columns, which are a row's key.
package keyjoin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// Append appends the text of a column to a key. Texts of one date or time give equal keys: 2026-11-23, 2026-11-23 00:00:00 and
// 2026-11-23T00:00:00.000 are one. Other texts are taken as they are: "01" is not "1".
func Append(key, text []byte) []byte {
	var b [40]byte
	text = appendCanonical(b[:0], bytes.TrimSpace(text))
	return append(binary.AppendUvarint(key, uint64(len(text))), text...)
}

// Parts returns the texts of a key.
func Parts(key string) (texts []string) {
	for key != "" {
		n, w := binary.Uvarint([]byte(key[:min(len(key), binary.MaxVarintLen64)]))
		if w <= 0 || n > uint64(len(key)-w) {
			return texts
		}
		texts, key = append(texts, key[w:w+int(n)]), key[w+int(n):]
	}
	return texts
}

// Describe returns a key for messages, as location=01, horizon=2.
func Describe(columns []string, key string) string {
	var b strings.Builder
	for i, text := range Parts(key) {
		if i > 0 {
			b.WriteString(", ")
		}
		if i < len(columns) {
			b.WriteString(columns[i])
			b.WriteByte('=')
		}
		b.WriteString(text)
	}
	return b.String()
}

// appendCanonical appends the one text that stands for all of a date or time; other texts as they are.
func appendCanonical(dst, text []byte) []byte {
	const date, seconds = len("2026-11-23"), len("2026-11-23 06:30:00")
	if len(text) <= date || len(text) > 40 || !like(text[:date], "dddd-dd-dd") || text[date] != ' ' && text[date] != 'T' {
		return append(dst, text...)
	}
	clock, rest := text[date+1:], []byte(nil)
	switch {
	case len(text) >= seconds && like(clock[:8], "dd:dd:dd"):
		clock, rest = clock[:8], clock[8:]
	case len(clock) >= 5 && like(clock[:5], "dd:dd"):
		clock, rest = append(bytes.Clone(clock[:5]), ":00"...), clock[5:]
	default:
		return append(dst, text...)
	}
	fraction := 0
	if len(rest) > 0 && rest[0] == '.' {
		for fraction = 1; fraction < len(rest) && rest[fraction] >= '0' && rest[fraction] <= '9'; fraction++ {
		}
	}
	zone := rest[fraction:]
	switch string(zone) {
	case "", "+00:00":
	case "Z", "+0000", "+00":
		zone = []byte("+00:00")
	default:
		return append(dst, text...)
	}
	part := bytes.TrimRight(bytes.TrimRight(rest[:fraction], "0"), ".")
	dst = append(dst, text[:date]...)
	if string(clock) == "00:00:00" && len(part) == 0 && len(zone) == 0 {
		return dst
	}
	return append(append(append(append(dst, ' '), clock...), part...), zone...)
}

// like reports whether a text has digits where the pattern has d, and its other characters.
func like(text []byte, pattern string) bool {
	for i := range len(pattern) {
		if c := text[i]; pattern[i] == 'd' && (c < '0' || c > '9') || pattern[i] != 'd' && c != pattern[i] {
			return false
		}
	}
	return true
}

// ErrMemory says that keys and values take more memory than they may.
var ErrMemory = errors.New("keys take too much memory")

// Index has a value for each key, within a limit of memory.
type Index[V any] struct {
	values map[string]V
	left   int64
	each   int64 // bytes of a value
}

// NewIndex returns an Index that takes about this many bytes at most, of values of a size.
func NewIndex[V any](bytes, each int64) *Index[V] {
	return &Index[V]{map[string]V{}, bytes, each}
}

// Get returns the value of a key.
func (x *Index[V]) Get(key []byte) (V, bool) {
	v, ok := x.values[string(key)]
	return v, ok
}

// Set sets the value of a key, new or not.
func (x *Index[V]) Set(key []byte, v V) error {
	if _, ok := x.values[string(key)]; !ok {
		if x.left -= int64(len(key)) + x.each + 64; x.left < 0 {
			return ErrMemory
		}
	}
	x.values[string(key)] = v
	return nil
}

// Len returns the number of keys.
func (x *Index[V]) Len() int { return len(x.values) }

// Number returns the number in a text, in the one spelling that equal numbers have, and whether it is a number.
func Number(text []byte) (v float64, canonical string, ok bool) {
	v, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
	if err != nil || v != v {
		return 0, "", false
	}
	if v == 0 {
		v = 0 // without a sign
	}
	return v, strconv.FormatFloat(v, 'g', -1, 64), true
}
