package exact

import (
	"errors"
	"strings"
	"testing"
)

func TestOpenFields(t *testing.T) {
	var e Enc
	e.U32(7)
	e.Str("seven")
	b := Seal("tEST", 3, e.B)
	d, err := OpenFields("tEST", 3, b)
	if err != nil {
		t.Fatal(err)
	}
	if n, s := d.U32(), d.Str(); n != 7 || s != "seven" || d.Done() != nil {
		t.Errorf("read %d and %q: %v", n, s, d.Err())
	}
	if _, err := OpenFields("tEST", 4, b); err == nil || !strings.Contains(err.Error(), "version 3") {
		t.Errorf("another version: %v", err)
	}
	if _, err := OpenFields("oTHR", 3, b); !errors.Is(err, ErrMagic) {
		t.Errorf("another magic: %v", err)
	}
	if _, err := OpenFields("tEST", 3, append(b[:len(b):len(b)], 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte follows: %v", err)
	}
	b[12] ^= 1
	if _, err := OpenFields("tEST", 3, b); err == nil {
		t.Error("a changed byte is read")
	}
}
