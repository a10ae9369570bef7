package lmeval

import (
	"bytes"
	"os"
	"testing"
)

// TestDamaged reads every truncation of two lines, and every change of a bit: an error, or documents, and nothing else.
func TestDamaged(t *testing.T) {
	for _, pattern := range []string{"one/samples_full_2026*", "one/samples_blank_2026*"} {
		b, err := os.ReadFile(only(t, written+pattern))
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfterN(b, []byte("\n"), 3)
		whole := bytes.Join(lines[:2], nil)
		read := func(b []byte) int {
			docs, err := Read(bytes.NewReader(b), &Options{})
			if err != nil {
				return -1
			}
			for _, d := range docs {
				if d.Label < 0 || int(d.Label) >= len(d.Scores) {
					t.Fatalf("choice %d of %d is right", d.Label, len(d.Scores))
				}
			}
			return len(docs)
		}
		for i := range whole {
			want := -1
			switch i {
			case 0:
				want = 0
			case len(lines[0]) - 1, len(lines[0]):
				want = 1
			case len(whole) - 1:
				want = 2
			}
			if n := read(whole[:i]); n != want {
				t.Fatalf("%d of %d bytes are %d documents, and not %d", i, len(whole), n, want)
			}
			for bit := range 8 {
				c := bytes.Clone(whole)
				c[i] ^= 1 << bit
				read(c)
			}
		}
	}
}
