package predictions

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }",
		`{"shape": (3L,), "fortran_order": True, "descr": "|b1"}`,
		"{'descr': [('a', '<f4'), ('b\\'', '>i2', (2, 3))], 'fortran_order': False, 'shape': ()}",
		"{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (1, 2, 3,)}",
		"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}",
		"{'descr': '<f4', 'shape': (-1,)}", "{", "", "{}", "[[[[", "{'descr': [')']", "{'descr': ['\\",
	} {
		for v := byte(1); v <= 3; v++ {
			f.Add(npyHead(v, s))
		}
	}
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{"))
	f.Add([]byte("\x80\x04\x95"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, size := range []int64{int64(len(b)), -1} {
			var h header
			var e *Error
			if n := allocated(func() { h, e = readHeader(bytes.NewReader(b), size, "") }); n > 1<<20+8*uint64(min(len(b), maxHeader)) {
				t.Errorf("%d bytes allocated for a header in a file of %d", n, len(b))
			}
			if e != nil {
				if e.Error() == "" {
					t.Error("an error without text")
				}
				continue
			}
			if h.size > int64(len(b)) {
				t.Errorf("header of %d bytes in a file of %d", h.size, len(b))
			}
			if n, ok := h.bytes(); ok && n < 0 {
				t.Errorf("%d bytes of data", n)
			}
			for _, d := range h.shape {
				if d < 0 {
					t.Errorf("shape %v", h.shape)
				}
			}
			// What is read can be written and read back.
			if h.dtype.kind != '[' && !strings.ContainsAny(h.descr, `'"`) {
				order := "False"
				if h.fortran {
					order = "True"
				}
				text := "{'descr': '" + h.descr + "', 'fortran_order': " + order + ", 'shape': " + shapeText(h.shape) + ", }"
				var again header
				if e := again.parse(text); e != nil || again.descr != h.descr || again.fortran != h.fortran || shapeText(again.shape) != shapeText(h.shape) {
					t.Errorf("%q read as %+v, %v", text, again, e)
				}
			}
		}
	})
}

func FuzzReader(f *testing.F) {
	m := npy(1, "<f4", false, []int{6, 3}, score)
	l := npy(1, "<i8", false, []int{6}, label(3))
	f.Add(m, l)
	f.Add(npy(3, ">f8", true, []int{6, 3}, score), npy(2, "|u1", true, []int{6, 1}, label(3)))
	f.Add(npy(1, "<f2", false, []int{6}, score), l)
	f.Add(npy(1, "<u2", true, []int{6, 2}, score), l)
	f.Add(m[:140], l[:130])
	for _, deflated := range []bool{false, true} {
		for _, order := range []bool{false, true} {
			box := npz(deflated, entry{"probs.npy", npy(1, "<f4", order, []int{6, 3}, score)}, entry{"labels.npy", l}, entry{"weights.npy", npy(1, "<f2", false, []int{6}, ones)})
			f.Add(box, []byte{})
			f.Add(box[:len(box)-20], l)
			for i := 0; i < len(box); i += 37 {
				b := bytes.Clone(box)
				b[i] ^= 0xFF
				f.Add(b, []byte{})
			}
		}
	}
	dir, err := os.MkdirTemp("", "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.RemoveAll(dir) })
	f.Fuzz(func(t *testing.T, scores, labels []byte) {
		// Workers are processes, and their names differ.
		s, err := os.CreateTemp(dir, "scores")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(s.Name())
		s.Write(scores)
		s.Close()
		o := Options{BFloat16: true, BufferBytes: 4096}
		if len(labels) > 0 {
			path := filepath.Join(dir, filepath.Base(s.Name())+"-labels")
			if err := os.WriteFile(path, labels, 0o600); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(path)
			o.Labels = []string{path}
		}
		n := allocated(func() {
			check := func(err error) {
				var e *Error
				if err != nil && (!errors.As(err, &e) || e.Reason == "") {
					t.Errorf("error %T %v", err, err)
				}
			}
			_, err := Inspect(s.Name())
			check(err)
			r, err := Open([]string{s.Name()}, &o)
			check(err)
			if err != nil {
				return
			}
			defer r.Close()
			rows := int64(0)
			for range 100 { // a deflated member may be long
				c, err := r.Next()
				if err == io.EOF {
					if rows != r.Info().Rows {
						t.Errorf("%d rows, want %d", rows, r.Info().Rows)
					}
					break
				}
				check(err)
				if err != nil {
					break
				}
				if c.First != rows || c.Rows < 1 || len(c.Labels) != c.Rows || c.Classes != r.Info().Classes {
					t.Errorf("chunk at %d of %d rows", c.First, c.Rows)
				}
				rows += int64(c.Rows)
				c.Recycle()
			}
		})
		// A zip's directory and each of its members may need as much memory as the file is long.
		if limit := 4<<20 + 64*uint64(len(scores)+len(labels)); n > limit {
			t.Errorf("%d bytes allocated for files of %d and %d, want at most %d", n, len(scores), len(labels), limit)
		}
	})
}

func FuzzMembers(f *testing.F) {
	f.Add(cube("<f4", false, 0, 3, 6, 2, false), uint8(0))
	f.Add(cube(">f8", true, 0, 3, 6, 2, false), uint8(0))
	f.Add(cube("<f2", true, 1, 3, 6, 2, false), uint8(1))
	f.Add(cube("<bf16", false, 0, 3, 6, 1, true), uint8(2))
	f.Add(memberFile("<f4", false, 0, 6, 2), uint8(4))
	l := npy(1, "<i8", false, []int{6}, label(2))
	for _, deflated := range []bool{false, true} {
		for _, order := range []bool{false, true} {
			box := npz(deflated, entry{"members.npy", cube("<f4", order, 0, 3, 6, 2, false)}, entry{"labels.npy", l}, entry{"weights.npy", l})
			for i := 0; i < len(box); i += 37 {
				b := bytes.Clone(box)
				b[i] ^= 0xFF
				f.Add(b, uint8(0))
			}
		}
	}
	dir, err := os.MkdirTemp("", "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.RemoveAll(dir) })
	f.Fuzz(func(t *testing.T, members []byte, how uint8) {
		s, err := os.CreateTemp(dir, "members")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(s.Name())
		s.Write(members)
		s.Close()
		paths := []string{s.Name()}
		if how&4 != 0 {
			paths = append(paths, s.Name())
		}
		n := allocated(func() {
			_, err := readAllMembers(paths, &Options{BFloat16: true, BufferBytes: 4096, NoLabels: how&8 != 0, MemberAxis: int(how & 1), BinaryMembers: how&2 != 0})
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Reason == "") {
				t.Errorf("error %T %v", err, err)
			}
		})
		// A deflated array may be a thousand times as long as its file, and be in a chunk and in a tile.
		if limit := 16<<20 + 4<<10*uint64(len(members)); n > limit {
			t.Errorf("%d bytes allocated for a file of %d, want at most %d", n, len(members), limit)
		}
	})
}
