package exact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSealOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "payload")
		version := rapid.Uint16().Draw(t, "version")
		b := Seal("CNDR", version, payload)
		if c := EndSeal(append(BeginSeal([]byte("head"), "CNDR", version), payload...), 4); string(c) != "head"+string(b) {
			t.Fatalf("% x after a head, % x", c, b)
		}
		v, p, rest, err := Open("CNDR", append(bytes.Clone(b), "tail"...))
		if err != nil || v != version || !bytes.Equal(p, payload) || string(rest) != "tail" {
			t.Fatalf("version %d, payload % x, rest %q, error %v", v, p, rest, err)
		}
		// Any one bit, and any cut.
		i := rapid.IntRange(0, 8*len(b)-1).Draw(t, "bit")
		c := bytes.Clone(b)
		c[i/8] ^= 1 << (i % 8)
		if _, p, rest, err := Open("CNDR", c); err == nil || p != nil || !bytes.Equal(rest, c) {
			t.Fatalf("bit %d changed: error %v", i, err)
		}
		n := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if _, _, _, err := Open("CNDR", b[:n]); !errors.Is(err, ErrShort) {
			t.Fatalf("%d of %d bytes: error %v", n, len(b), err)
		}
	})
}

func TestSealLayout(t *testing.T) {
	b := Seal("CNDR", 0x0102, []byte{7, 8})
	if !bytes.Equal(b[:16], []byte{'C', 'N', 'D', 'R', 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 7, 8}) || len(b) != 24 {
		t.Errorf("% x", b)
	}
	// sha256 of the 16 bytes above, by sha256sum.
	if want := []byte{0x5f, 0x2e, 0x2b, 0xc9, 0x3f, 0xa6, 0x4a, 0x09}; !bytes.Equal(b[16:], want) {
		t.Errorf("checksum % x, want % x", b[16:], want)
	}
}

func TestOpenErrors(t *testing.T) {
	good := Seal("CNDR", 1, []byte("payload"))
	long := bytes.Clone(good)
	binary.LittleEndian.PutUint64(long[6:], math.MaxUint64)
	far := bytes.Clone(good)
	binary.LittleEndian.PutUint64(far[6:], 8)
	damaged := bytes.Clone(good)
	damaged[15] ^= 1
	for _, c := range []struct {
		name string
		b    []byte
		kind error
		text string
	}{
		{"nothing", nil, ErrShort, "0 bytes"},
		{"three bytes", good[:3], ErrShort, "3 bytes"},
		{"another magic", []byte("PK\x03\x04 and so on"), ErrMagic, `begins with "PK\x03\x04" where "CNDR" is expected`},
		{"a magic alone", good[:4], ErrShort, "4 bytes"},
		{"half a head", good[:10], ErrShort, "10 bytes"},
		{"a huge length", long, ErrShort, "18446744073709551615 bytes is announced, 7 are there"},
		{"a length beyond the data", far, ErrShort, "8 bytes is announced, 7 are there"},
		{"a changed byte", damaged, ErrDamaged, "damaged: checksum differs"},
	} {
		if _, p, rest, err := Open("CNDR", c.b); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || p != nil || !bytes.Equal(rest, c.b) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.text)
		}
	}
	mustPanic(t, "exact: a magic has 4 bytes", func() { Seal("CND", 1, nil) })
	mustPanic(t, "exact: a magic has 4 bytes", func() { Open("CANDO", nil) })
}

func TestOpenAliasesSafely(t *testing.T) {
	b := Seal("CNDR", 1, []byte("ab"))
	_, p, _, _ := Open("CNDR", b)
	_ = append(p, 'x')
	if _, _, _, err := Open("CNDR", b); err != nil {
		t.Error("appending to the payload wrote into the frame")
	}
}

func TestCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u8, u16, u32, u64 := rapid.Byte().Draw(t, "u8"), rapid.Uint16().Draw(t, "u16"), rapid.Uint32().Draw(t, "u32"), rapid.Uint64().Draw(t, "u64")
		i64, f64 := rapid.Int64().Draw(t, "i64"), math.Float64frombits(rapid.Uint64().Draw(t, "f64"))
		str, raw := rapid.String().Draw(t, "str"), rapid.SliceOf(rapid.Byte()).Draw(t, "raw")
		var s Sum
		for _, a := range rapid.SliceOfN(anyTerm(), 0, 5).Draw(t, "terms") {
			a.add(&s)
		}
		e := Enc{}
		e.U8(u8)
		e.U16(u16)
		e.U32(u32)
		e.U64(u64)
		e.I64(i64)
		e.F64(f64)
		e.Str(str)
		e.Bytes(raw)
		e.Sum(&s)
		e.U64(2)
		e.U16(1)
		e.U16(2)

		read := func(d *Dec) bool {
			ok := d.U8() == u8 && d.U16() == u16 && d.U32() == u32 && d.U64() == u64 && d.I64() == i64 && same(d.F64(), f64)
			ok = ok && d.Str() == str && bytes.Equal(d.Bytes(), raw)
			got := d.Sum()
			return ok && got.Equal(&s) && d.Count(2) == 2 && d.U16() == 1 && d.U16() == 2
		}
		if d := NewDec(e.B); !read(d) || d.Done() != nil {
			t.Fatalf("not what was written: %v", d.Done())
		}
		d := NewDec(e.B[:rapid.IntRange(0, len(e.B)-1).Draw(t, "cut")])
		if read(d); !errors.Is(d.Err(), ErrShort) || d.Done() != d.Err() {
			t.Fatalf("cut short: %v", d.Err())
		}
		d = NewDec(append(e.B, 0))
		if !read(d) || d.Err() != nil || !errors.Is(d.Done(), ErrDamaged) {
			t.Fatalf("a byte too many: %v", d.Done())
		}
	})
}

func TestDecSticks(t *testing.T) {
	d := NewDec([]byte{1, 2, 3})
	if d.U16(); d.Err() != nil {
		t.Fatal(d.Err())
	}
	if v := d.U64(); v != 0 || !errors.Is(d.Err(), ErrShort) {
		t.Fatalf("%d, %v", v, d.Err())
	}
	first := d.Err()
	if want := "too short: byte 2: 8 bytes expected, 1 left"; first.Error() != want {
		t.Errorf("%q, want %q", first, want)
	}
	s := d.Sum()
	// One byte is left, and none of it may be read after the error.
	if d.U8() != 0 || d.U16() != 0 || d.U32() != 0 || d.I64() != 0 || d.F64() != 0 || d.Str() != "" || d.Bytes() != nil || !s.IsZero() || d.Count(1) != 0 {
		t.Error("a value after an error")
	}
	if d.Err() != first || d.Done() != first {
		t.Errorf("%v replaced %v", d.Err(), first)
	}
}

func TestDecSaysWhere(t *testing.T) {
	var e Enc
	e.Sum(sumOf(1))
	e.U16(3)
	d := NewDec(e.B)
	d.Sum()
	d.U64()
	if want := "too short: byte 25: 8 bytes expected, 2 left"; d.Err() == nil || d.Err().Error() != want {
		t.Errorf("%v, want %q", d.Err(), want)
	}
	e = Enc{}
	e.U8(1)
	d = NewDec(e.B)
	d.U8()
	d.Sum()
	if want := "byte 1: exact: sum: too short: 25 bytes expected, 0 left"; d.Err() == nil || d.Err().Error() != want {
		t.Errorf("%v, want %q", d.Err(), want)
	}
}

func TestDecBelievesNoLength(t *testing.T) {
	var huge Enc
	huge.U64(math.MaxUint64)
	huge.U8(1)
	for name, f := range map[string]func(*Dec){
		"Str":   func(d *Dec) { d.Str() },
		"Bytes": func(d *Dec) { d.Bytes() },
		"Count": func(d *Dec) { d.Count(1) },
	} {
		d := NewDec(huge.B)
		if f(d); !errors.Is(d.Err(), ErrShort) {
			t.Errorf("%s: %v", name, d.Err())
		}
	}
	var e Enc
	e.U64(3)
	e.B = append(e.B, make([]byte, 11)...)
	if d := NewDec(e.B); d.Count(4) != 0 || d.Err() == nil {
		t.Error("3 items of 4 bytes in 11")
	}
	if d := NewDec(append(e.B, 0)); d.Count(4) != 3 || d.Err() != nil {
		t.Error("3 items of 4 bytes in 12")
	}
}

func TestCodecNaN(t *testing.T) {
	var e Enc
	e.F64(math.Float64frombits(0xfff8000000000001))
	if !bytes.Equal(e.B, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}) {
		t.Errorf("% x", e.B)
	}
	if d := NewDec(e.B); !math.IsNaN(d.F64()) || d.Done() != nil {
		t.Error(d.Done())
	}
	e.B[0] = 1
	if d := NewDec(e.B); d.F64() != 0 || !errors.Is(d.Err(), ErrDamaged) {
		t.Error("another NaN was accepted")
	}
	e = Enc{}
	e.F64(math.Copysign(0, -1))
	if d := NewDec(e.B); !math.Signbit(d.F64()) {
		t.Error("-0 became 0")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte{})
	f.Add(Seal("CNDR", 1, nil))
	f.Add(append(Seal("CNDR", 2, []byte("payload")), "tail"...))
	f.Add(Seal("OTHR", 1, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		version, payload, rest, err := Open("CNDR", b)
		if err != nil {
			if !errors.Is(err, ErrShort) && !errors.Is(err, ErrMagic) && !errors.Is(err, ErrDamaged) {
				t.Fatalf("an error of no kind: %v", err)
			}
			if payload != nil || len(rest) != len(b) {
				t.Fatal("an error, and a value")
			}
			// The checksum keeps the fuzzer out, so the same bytes are tried as a payload as well.
			if _, p, r, err := Open("CNDR", Seal("CNDR", 3, b)); err != nil || !bytes.Equal(p, b) || len(r) != 0 {
				t.Fatalf("not read back: %v", err)
			}
			d := NewDec(b)
			for d.Err() == nil {
				switch d.U8() % 10 {
				case 0:
					d.U8()
				case 1:
					d.U16()
				case 2:
					d.U32()
				case 3:
					d.U64()
				case 4:
					d.I64()
				case 5:
					d.F64()
				case 6:
					d.Str()
				case 7:
					d.Bytes()
				case 8:
					d.Sum()
				case 9:
					if n := d.Count(3); n > len(b)/3 {
						t.Fatalf("%d items of 3 bytes in %d", n, len(b))
					}
				}
			}
			return
		}
		if used := b[:len(b)-len(rest)]; !bytes.Equal(Seal("CNDR", version, payload), used) {
			t.Fatal("accepted what Seal does not write")
		}
	})
}
