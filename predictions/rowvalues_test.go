package predictions

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lossFile is a file of losses of n rows, with ids.
func lossFile(deflated bool, n int, change func(m *RowMark)) []byte {
	m := &RowMark{Format: RowFormat, Name: "ä", Task: "classification", Rows: int64(n), Classes: 3, ClassNames: []string{"a", "b", "c"}, Input: "logits", Metrics: []string{"nll", "brier"}, Columns: []string{"id"}}
	if change != nil {
		change(m)
	}
	mark, err := m.NPY()
	if err != nil {
		panic(err)
	}
	return npz(deflated, entry{"nll.npy", npy(1, ">f8", false, []int{n}, score)}, entry{"brier.npy", npy(2, "<f8", false, []int{n}, score)}, entry{"labels.npy", npy(1, ">i8", false, []int{n}, label(3))},
		entry{"decisions.npy", npy(1, "<i8", false, []int{n}, label(3))}, entry{"id.npy", npy(1, "<u2", false, []int{n}, label(60000))}, entry{"candor_rows.npy", mark})
}

func TestOpenRows(t *testing.T) {
	dir := t.TempDir()
	const n = 20_000 // several chunks
	for _, deflated := range []bool{false, true} {
		path := filepath.Join(dir, fmt.Sprint(deflated, ".npz"))
		if err := os.WriteFile(path, lossFile(deflated, n, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		var ids []string
		r, err := OpenRows(path, &RowOptions{Kept: []string{"id"}, Keep: func(rows int, cells []Cells) error {
			for i := range rows {
				ids = append(ids, string(cells[0].Text(i)))
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if m := r.Mark(); m.Name != "ä" || m.Classes != 3 || !slices.Equal(m.ClassNames, []string{"a", "b", "c"}) {
			t.Errorf("the mark is %+v", m)
		}
		columns, err := r.Choose([]string{"decisions", "accuracy", "brier", "labels", "nll"})
		if err != nil || !slices.Equal(columns, []string{"decisions", "brier", "nll"}) {
			t.Fatalf("columns %v, %v", columns, err)
		}
		if i := r.Info(); i.Rows != n || i.Classes != 3 || i.Weighted || i.Bytes != 3*8*n {
			t.Errorf("%+v", i)
		}
		open, err := Open([]string{path + ":nll"}, &Options{NoLabels: true, Kind: 1})
		if err != nil {
			t.Fatal(err)
		}
		var want []float64
		for c, err := open.Next(); err == nil; c, err = open.Next() {
			want = append(want, c.F64...)
			c.Recycle()
		}
		open.Close()
		at := 0
		for {
			c, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.Rows {
				row := c.F64[3*i : 3*i+3]
				if c.Number(i) != int64(at) || row[1] != row[2] || row[2] != want[at] || int32(row[0]) != c.Labels[i] || ids[at] == "" {
					t.Fatalf("row %d is %v, of label %d, want %v", at, row, c.Labels[i], want[at])
				}
				at++
			}
			c.Recycle()
		}
		if at != n || len(ids) != n || r.BytesRead() != 3*8*n {
			t.Errorf("%d rows, %d ids", at, len(ids))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if file, row := r.Locate(17); file != path || row != 17 {
			t.Errorf("row 17 is %d of %s", row, file)
		}
	}
}

// TestOpenRowsBad: what is wrong with a file names it, its array and what to do.
func TestOpenRowsBad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "base.npz")
	for _, c := range []struct {
		file []byte
		says string
	}{
		{lossFile(false, 9, func(m *RowMark) { m.Rows = 8 }), "base.npz:labels: its shape is (9,), and candor_rows says 8 rows"},
		{lossFile(false, 9, func(m *RowMark) { m.Rows = 0 }), "it says 0 rows"},
		{lossFile(false, 9, func(m *RowMark) { m.Task, m.Classes = "binary", 3 }), `3 classes of a task "binary"`},
		{lossFile(false, 9, func(m *RowMark) { m.Format = "" }), `its format is "", and candor-rows/1 is read`},
		{lossFile(false, 9, func(m *RowMark) { m.Columns = nil }), `no column "id" of the rows was kept in it: there is none`},
		{lossFile(false, 9, nil)[:900], "truncated or damaged .npz"},
		{npz(false, entry{"nll.npy", npy(1, "<f8", false, []int{9}, score)}), "it has no array candor_rows"},
		{npz(false, entry{"candor_rows.npy", npy(1, "<f8", false, []int{9}, score)}), "it is float64 (9,), not a text"},
		{npz(false, entry{"candor_rows.npy", append(npyHead(1, "{'descr': '<U1', 'fortran_order': False, 'shape': (), }"), '{', 0, 0, 0)}), `it is no JSON text: "{"`},
		{npz(false, entry{"candor_rows.npy", append(npyHead(1, "{'descr': '<U9', 'fortran_order': False, 'shape': (), }"), '{', 0, 0, 0)}), "truncated"},
		{npz(false, entry{"candor_rows.npy", append(npyHead(1, "{'descr': '<U1', 'fortran_order': False, 'shape': (), }"), 0, 0, 0, 0x7F)}), "it is no JSON text"},
		{npy(1, "<f8", false, []int{9}, score), "it has no array candor_rows"},
		{[]byte("a,b\n"), "base.npz: "},
	} {
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenRows(path, &RowOptions{Kept: []string{"id"}})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
	if _, err := OpenRows(filepath.Join(t.TempDir(), "none.npz"), &RowOptions{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
}

// FuzzRows: any file is read, or is an error.
func FuzzRows(f *testing.F) {
	for _, deflated := range []bool{false, true} {
		b := lossFile(deflated, 6, nil)
		f.Add(b)
		f.Add(b[:len(b)-20])
		for i := 0; i < len(b); i += 41 {
			c := bytes.Clone(b)
			c[i] ^= 0xFF
			f.Add(c)
		}
	}
	f.Add(binary.LittleEndian.AppendUint64(nil, math.Float64bits(1)))
	dir, err := os.MkdirTemp("", "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.RemoveAll(dir) })
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := os.CreateTemp(dir, "*.npz")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file.Name())
		if _, err := file.Write(b); err != nil {
			t.Fatal(err)
		}
		file.Close()
		r, err := OpenRows(file.Name(), &RowOptions{Kept: []string{"id"}, Keep: func(int, []Cells) error { return nil }})
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without text")
			}
			return
		}
		defer r.Close()
		m := r.Mark()
		if m.Classes == 0 {
			return
		}
		if _, err := r.Choose([]string{"nll", "decisions", "brier"}); err != nil {
			return
		}
		rows := int64(0)
		for {
			c, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return
			}
			rows += int64(c.Rows)
			c.Recycle()
		}
		if rows != m.Rows {
			t.Errorf("%d rows, and candor_rows says %d", rows, m.Rows)
		}
	})
}

// TestMarkDamaged: a letter of the mark that changed is damage, though what is left is a mark.
func TestMarkDamaged(t *testing.T) {
	b := lossFile(false, 5, nil)
	b[bytes.LastIndex(b, []byte("l\x00\x00\x00o\x00\x00\x00g\x00\x00\x00i\x00\x00\x00t\x00\x00\x00s"))] ^= 1
	path := filepath.Join(t.TempDir(), "t.npz")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRows(path, &RowOptions{}); err == nil || !strings.Contains(err.Error(), "CRC-32") {
		t.Error(err)
	}
}
