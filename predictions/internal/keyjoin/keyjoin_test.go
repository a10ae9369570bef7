package keyjoin

import (
	"errors"
	"slices"
	"testing"
)

func TestAppend(t *testing.T) {
	of := func(s ...string) (key string) {
		var b []byte
		for _, s := range s {
			b = Append(b, []byte(s))
		}
		return string(b)
	}
	for _, same := range [][]string{
		{"2026-11-23", "2026-11-23 00:00:00", "2026-11-23T00:00:00.000", "2026-11-23T00:00", " 2026-11-23 "},
		{"2026-11-23 06:30:00", "2026-11-23T06:30", "2026-11-23T06:30:00.000000"},
		{"2026-11-23 06:30:00.5", "2026-11-23T06:30:00.500"},
		{"2026-11-23 00:00:00+00:00", "2026-11-23T00:00:00Z", "2026-11-23T00:00:00.0+0000"},
	} {
		for _, s := range same {
			if of(s) != of(same[0]) {
				t.Errorf("%q has the key %q, and %q has %q", s, of(s), same[0], of(same[0]))
			}
		}
	}
	all := []string{"1", "01", "1.0", "", "2026-11-23", "2026-11-23 06:30:00", "2026-11-23 06:30:00+00:00", "2026-11-23 06:30:00+02:00", "2026-11-23 later", "2026-11-23T6", "2026-11-23 06:30:00.5"}
	for i, a := range all {
		for _, b := range all[:i] {
			if of(a) == of(b) {
				t.Errorf("%q and %q have one key", a, b)
			}
		}
	}
	if of("a", "bc") == of("ab", "c") {
		t.Error("columns run together")
	}
	key := of("01", "", "x y")
	if p := Parts(key); !slices.Equal(p, []string{"01", "", "x y"}) {
		t.Errorf("parts are %q", p)
	}
	if s := Describe([]string{"a", "b"}, key); s != "a=01, b=, x y" {
		t.Errorf("it is described as %q", s)
	}
	Parts("\xff\xff")
}

func TestIndex(t *testing.T) {
	x := NewIndex[int](290, 8)
	for i, key := range []string{"a", "b", "a", "c", "d"} {
		err := x.Set([]byte(key), i)
		if (i == 4) != errors.Is(err, ErrMemory) {
			t.Fatalf("%q: %v", key, err)
		}
	}
	if v, ok := x.Get([]byte("a")); v != 2 || !ok || x.Len() != 3 {
		t.Errorf("a has %d %v of %d", v, ok, x.Len())
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]string{"0.10": "0.1", " 1e-1": "0.1", "-0": "0", "25.0": "25", "x": "", "nan": "", "": ""} {
		if _, got, ok := Number([]byte(text)); got != want || ok != (want != "") {
			t.Errorf("%q is %q", text, got)
		}
	}
}
