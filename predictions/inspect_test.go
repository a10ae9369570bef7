package predictions

import (
	"bytes"
	"errors"
	"io"
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInspect(t *testing.T) {
	m := npy(2, ">f4", true, []int{9, 3}, score)
	l := npy(1, "<i8", false, []int{9}, label(3))
	object := append(npyHead(1, "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"), make([]byte, 77)...)
	records := append(npyHead(3, "{'descr': [('ä', '<f4'), ('it\\'s', '<i2', (2,))], 'fortran_order': False, 'shape': (2,), }"), make([]byte, 16)...)
	scalar := npy(1, "<f8", false, nil, score)
	logits := Array{Name: "logits", Descr: ">f4", DType: "float32", Shape: []int64{9, 3}, Fortran: true, BigEndian: true, Bytes: 108, Version: "2.0"}
	y := Array{Name: "y", Descr: "<i8", DType: "int64", Shape: []int64{9}, Bytes: 72, Version: "1.0"}
	deflated := func(a Array) Array {
		a.Deflated = true
		return a
	}
	box := save(t, "box.npz", npz(true, entry{"logits.npy", m}, entry{"readme.txt", nil}, entry{"y.npy", l}))
	for _, c := range []struct {
		path string
		want []Array
	}{
		{save(t, "logits.npy", m), []Array{logits}},
		{save(t, "a.npz", npz(false, entry{"logits.npy", m}, entry{"y.npy", l})), []Array{logits, y}},
		{box, []Array{deflated(logits), deflated(y)}},
		{box + ":y", []Array{deflated(y)}},
		{save(t, "o.npy", object), []Array{{Name: "o", Descr: "|O", DType: "object", Shape: []int64{3}, Bytes: 77, Version: "1.0"}}},
		{save(t, "r.npy", records), []Array{{Name: "r", Descr: "[('ä', '<f4'), ('it\\'s', '<i2', (2,))]", DType: "structured", Shape: []int64{2}, Bytes: 16, Version: "3.0"}}},
		{save(t, "s.npy", scalar), []Array{{Name: "s", Descr: "<f8", DType: "float64", Shape: []int64{}, Bytes: 8, Version: "1.0"}}},
	} {
		got, err := Inspect(c.path)
		if err != nil {
			t.Error(err)
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", filepath.Base(c.path), d)
		}
	}
	_, err := Inspect(save(t, "cut.npy", m[:len(m)-1]))
	wantError(t, err, "cut.npy: truncated: header says 9 x 3 float32 = 108 bytes of data, file has 107;")
	_, err = Inspect(save(t, "bad.npz", npz(false, entry{"p.npy", []byte("x")})))
	wantError(t, err, "bad.npz:p: not an .npy")
	_, err = Inspect(filepath.Join(t.TempDir(), "none.npy"))
	wantError(t, err, "no such file")
}

func TestWriteNPY(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		data  any
		descr string
		value func(int) float64
	}{
		{[]int64{3, 4}, gen[float32](12), "<f4", score},
		{[]int64{12, 1}, gen[float64](12), "<f8", score},
		{[]int64{12}, []int32{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}, "<i4", label(3)},
		{[]int64{2, 2}, []int64{-1, math.MaxInt32, 0, 5}, "<i8", func(i int) float64 { return []float64{-1, math.MaxInt32, 0, 5}[i] }},
		{[]int64{2}, Half{0x3C00, 0xC000}, "<f2", func(i int) float64 { return []float64{1, -2}[i] }},
		{[]int64{2}, []uint16{0x3F80, 1}, "<u2", func(i int) float64 { return []float64{0x3F80, 1}[i] }},
		{[]int64{}, []float64{0}, "<f8", score},
		{[]int64{0, 7}, []float32{}, "<f4", score},
	} {
		var b bytes.Buffer
		if err := WriteNPY(&b, c.shape, c.data); err != nil {
			t.Fatal(err)
		}
		shape := make([]int, len(c.shape))
		for i, d := range c.shape {
			shape[i] = int(d)
		}
		want := npy(1, c.descr, false, shape, c.value)
		// Headers may differ in spaces, so compare data and parsed headers.
		hw, e1 := readHeader(bytes.NewReader(want), int64(len(want)), "")
		hg, e2 := readHeader(bytes.NewReader(b.Bytes()), int64(b.Len()), "")
		if e1 != nil || e2 != nil {
			t.Fatal(e1, e2)
		}
		if d := cmp.Diff(want[hw.size:], b.Bytes()[hg.size:]); d != "" || hg.size%64 != 0 || hg.descr != hw.descr || !cmp.Equal(hg.shape, hw.shape) {
			t.Errorf("%v %s: header %+v, data %s", c.shape, c.descr, hg, d)
		}
	}
	broken := errors.New("disk full")
	if err := WriteNPY(failing{broken}, []int64{1}, []float32{1}); err != broken {
		t.Errorf("error %v, want %v", err, broken)
	}
	for _, c := range []struct {
		shape []int64
		data  any
	}{
		{[]int64{3}, []float32{1}},
		{[]int64{-1, -1}, []float32{1}},
		{[]int64{1 << 62, 1 << 62}, []float32{}},
		{[]int64{1}, []string{"a"}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("WriteNPY(%v, %T) did not panic", c.shape, c.data)
				}
			}()
			WriteNPY(io.Discard, c.shape, c.data)
		}()
	}
}

func gen[T float32 | float64](n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(score(i))
	}
	return out
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
