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
	if _, err := OpenFields("tEST", 4, b); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), ": 3, and this program reads 4") {
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

// TestFields: one list writes every kind of field and reads it again; the bytes are those of Enc.
func TestFields(t *testing.T) {
	type state struct {
		b          uint8
		x, y       bool
		u16        uint16
		i          int
		u64, v     uint64
		i64, n     int64
		f          float64
		str        string
		bytes      []byte
		sum        Sum
		items      []int64
		listed     int
		wrongAfter bool
	}
	format := Format{Name: "exact.state", Magic: "tEST", Version: 3}
	list := func(s *state) func(f *Fields) {
		return func(f *Fields) {
			Byte(f, &s.b)
			f.Flags(&s.x, &s.y)
			f.U16(&s.u16)
			f.Int(&s.i)
			f.U64(&s.u64)
			f.Uvarint(&s.v)
			f.I64(&s.i64)
			f.N(&s.n)
			f.F64(&s.f)
			f.Str(&s.str)
			f.Part(func(dst []byte) ([]byte, error) { return append(dst, s.bytes...), nil }, func(b []byte) error { s.bytes = b; return nil })
			f.Sum(&s.sum)
			Slice(f, &s.items, 8, func(v *int64) { f.I64(v); s.listed++ })
			f.Must(!s.wrongAfter, "what is wrong")
		}
	}
	a := state{b: 200, y: true, u16: 513, i: 1<<31 - 1, u64: 1 << 63, v: 300, i64: -5, n: 7, f: -0.5, str: "four", bytes: []byte{1, 2},
		items: []int64{3, -4, 5}}
	a.sum.AddFloat(0.1)
	got, err := format.Append([]byte("before"), list(&a))
	if err != nil {
		t.Fatal(err)
	}
	var e Enc
	e.U8(200)
	e.U8(2)
	e.U16(513)
	e.U32(1<<31 - 1)
	e.U64(1 << 63)
	e.Uvarint(300)
	e.I64(-5)
	e.I64(7)
	e.F64(-0.5)
	e.Str("four")
	e.Bytes([]byte{1, 2})
	e.Sum(&a.sum)
	e.U64(3)
	e.I64(3)
	e.I64(-4)
	e.I64(5)
	if want := append([]byte("before"), Seal("tEST", 3, e.B)...); string(got) != string(want) {
		t.Fatalf("the bytes are\n%x\nwant\n%x", got, want)
	}
	got = got[len("before"):]
	var b state
	if err := format.Read(got, list(&b)); err != nil {
		t.Fatal(err)
	}
	again, err := format.Append(nil, list(&b))
	if err != nil || string(again) != string(got) {
		t.Errorf("written again: %x (%v)\nwant %x", again, err, got)
	}
	for n := range got {
		if err := format.Read(got[:n], list(&state{})); err == nil || !strings.HasPrefix(err.Error(), "exact.state: ") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if b := (state{i: 5}); Replace(format, got[:9], &b, func(s *state, f *Fields) { list(s)(f) }) == nil || b.i != 5 {
		t.Error("a damaged state replaces another")
	} else if err := Replace(format, got, &b, func(s *state, f *Fields) { list(s)(f) }); err != nil || b.i != a.i || b.str != a.str {
		t.Errorf("Replace: %v", err)
	}
	if err := format.Read(got, list(&state{wrongAfter: true})); !errors.Is(err, ErrDamaged) || err.Error() != "exact.state: "+ErrDamaged.Error()+": what is wrong" {
		t.Errorf("Must: %v", err)
	}
	for what, damage := range map[string]func(*Enc){
		"a flag too many":    func(e *Enc) { e.U8(200); e.U8(4) },
		"a number too large": func(e *Enc) { e.U8(200); e.U8(2); e.U16(513); e.U32(1 << 31) },
		"a count below 0": func(e *Enc) {
			e.U8(200)
			e.U8(2)
			e.U16(513)
			e.U32(1)
			e.U64(1)
			e.Uvarint(1)
			e.I64(1)
			e.I64(-1)
		},
	} {
		var e Enc
		damage(&e)
		if err := format.Read(Seal("tEST", 3, append(e.B, make([]byte, 200)...)), list(&state{})); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	full := errors.New("full")
	out, err := format.Append([]byte("before"), func(f *Fields) { f.I64(&a.i64); f.Fail(full); f.Fail(errors.New("later")) })
	if !errors.Is(err, full) || string(out) != "before" {
		t.Errorf("Fail: %q, %v", out, err)
	}
}

// TestPartFails: a part that cannot be written ends the state, and one that cannot be read is damaged; neither is asked after an error.
func TestPartFails(t *testing.T) {
	format, fail := Format{Name: "exact.state", Magic: "tEST", Version: 3}, errors.New("fail")
	never := func([]byte) error { t.Error("a part is read"); return nil }
	part := func(f *Fields) {
		f.Part(func(dst []byte) ([]byte, error) { return append(dst, 1), fail }, never)
		f.Part(func(dst []byte) ([]byte, error) { t.Error("a part is written"); return dst, nil }, never)
	}
	if out, err := format.Append([]byte("before"), part); !errors.Is(err, fail) || string(out) != "before" {
		t.Errorf("written: %q, %v", out, err)
	}
	var e Enc
	e.Bytes([]byte{7, 8})
	e.U64(3) // bytes that do not follow
	err := format.Read(Seal("tEST", 3, e.B), func(f *Fields) {
		f.Part(nil, func(b []byte) error {
			if string(b) != "\x07\x08" {
				t.Errorf("read: %x", b)
			}
			return nil
		})
		f.Part(nil, never)
	})
	if !errors.Is(err, ErrShort) {
		t.Errorf("a short part: %v", err)
	}
	err = format.Read(Seal("tEST", 3, e.B), func(f *Fields) { f.Part(nil, func([]byte) error { return fail }) })
	if !errors.Is(err, ErrDamaged) || !errors.Is(err, fail) {
		t.Errorf("a damaged part: %v", err)
	}
}

// TestFieldsEndAtAnError: items that say that more follow than do are not made.
func TestFieldsEndAtAnError(t *testing.T) {
	var e Enc
	e.U64(1 << 40)
	var items []int64
	err := Format{Name: "exact.state", Magic: "tEST", Version: 3}.Read(Seal("tEST", 3, e.B), func(f *Fields) {
		Slice(f, &items, 8, func(v *int64) { t.Error("an item is read") })
	})
	if !errors.Is(err, ErrShort) || len(items) != 0 {
		t.Errorf("%d items, %v", len(items), err)
	}
}
